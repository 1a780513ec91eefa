"""Where a book keeps its pages, its ledger and its records: a table of its pyproject.toml."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from pathlib import Path
from typing import Any

TABLE = "executable-claims"


@dataclass(frozen=True)
class Book:
    """The folders and files of a book, relative to its ``root``.

    ``modules`` are the folders that the book's own modules are imported from.  ``data`` maps such a module to
    the files that it reads, ``by_name`` are modules that are loaded by the names in them.  ``seed`` is the
    environment variable that draws everything anew.  ``longer`` are pages that may take more than ``seconds``
    of processor time, with what they may take.  ``code`` and ``versions`` are what a release of the log
    depends on.
    """

    root: Path
    pages: str = "book"
    ledger: str = "book/claims"
    recorded: str = "tests/recorded"
    lock: str = "constraints.txt"
    log: str = "results/drift.jsonl"
    attacks: str = "results/attacks.json"
    seeds: str = "results/seeds.json"
    seed: str = "BOOK_SEED"
    seconds: float = 30.0
    longer: Mapping[str, float] = field(default_factory=dict)
    modules: tuple[str, ...] = (".",)
    data: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    by_name: str = ""
    code: str = "lib"
    versions: tuple[str, ...] = ("numpy",)

    def folder(self, name: str) -> Path:
        """Return the path that the field of that name says."""
        return self.root / getattr(self, name)

    @property
    def shift(self) -> int:
        """By how much the environment shifts all seeds; 0 is what is recorded."""
        return int(os.environ.get(self.seed, "0"))


def find_book(start: Path | None = None) -> Book:
    """Return the book that a folder, by default the current one, belongs to.

    It is the nearest folder above whose pyproject.toml has the table ``[tool.executable-claims]``.  Raises
    ``ValueError`` if there is none, or if the table has an unknown field.
    """
    return _book_at((start or Path.cwd()).resolve())


@cache
def _book_at(start: Path) -> Book:
    for folder in (start, *start.parents):
        path = folder / "pyproject.toml"
        if path.is_file():
            table = tomllib.loads(path.read_text(encoding="utf-8")).get("tool", {}).get(TABLE)
            if table is not None:
                return _read(folder, table)
    raise ValueError(
        f"start is {str(start)!r}, allowed: one in a book, with [tool.{TABLE}] in pyproject.toml"
    )


def _read(root: Path, table: Mapping[str, Any]) -> Book:
    known = {each.name for each in fields(Book)} - {"root"}
    if unknown := sorted(set(table) - known):
        allowed = ", ".join(sorted(known))
        raise ValueError(f"{root}: [tool.{TABLE}] has {', '.join(unknown)}; allowed: {allowed}")
    lists = {name: tuple(value) for name, value in table.items() if isinstance(value, list)}
    return Book(root, **{**table, **lists})
