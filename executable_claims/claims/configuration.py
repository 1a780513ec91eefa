"""Where a book keeps its pages, its ledger and its records: a table of its pyproject.toml."""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cache
from pathlib import Path

TABLE = "executable-claims"
START = "EXECUTABLE_CLAIMS_BOOK"  # where a build says, to itself and to what it starts, where its book is


class NoBook(ValueError):
    """A folder that belongs to no book."""


@dataclass(frozen=True)
class Book:
    """The folders and files of a book, relative to its ``root``.

    ``modules`` are the folders that the book's own modules are imported from.  ``data`` maps such a module to
    the files that it reads, ``by_name`` are modules that are loaded by the names in them, ``inlined`` are
    packages whose modules are attacked with the chapters that import them.  ``seed`` is the environment
    variable that draws everything anew.  ``checks`` are the functions that decide the claim that
    they are given first, ``said`` those that give values to the prose.  ``longer`` are pages that may take
    more than ``seconds`` of processor time, with what they may take.  In a ``strict`` book each claim that is
    expected to have a verdict is decided by a cell.
    """

    root: Path
    pages: str = "book"
    ledger: str = "book/claims"
    recorded: str = "tests/recorded"
    lock: str = "constraints.txt"
    attacks: str = "results/attacks.json"
    seeds: str = "results/seeds.json"
    kernels: str = "results/kernels.json"
    seed: str = "BOOK_SEED"
    checks: Sequence[str] = ("verify",)
    said: Sequence[str] = ("glue", "say")
    seconds: float = 30.0
    longer: Mapping[str, float] = field(default_factory=dict)
    modules: Sequence[str] = (".",)
    data: Mapping[str, Sequence[str]] = field(default_factory=dict)
    by_name: str = ""
    strict: bool = True
    inlined: Sequence[str] = ()

    def folder(self, name: str) -> Path:
        """Return the path that the field of that name says."""
        return self.root / getattr(self, name)

    @property
    def shift(self) -> int:
        """By how much the environment shifts all seeds; 0, or nothing, is what is recorded.

        Raises ``ValueError`` for what is no whole number from 0 to 10^12.
        """
        given = os.environ.get(self.seed) or "0"
        if not (given.isascii() and given.isdigit() and int(given) <= 10**12):
            raise ValueError(f"{self.seed} is {given!r}, allowed: a whole number from 0 to 10^12")
        return int(given)

    @property
    def python_path(self) -> str:
        """The variable ``PYTHONPATH`` of a process that runs a page: the book's modules, then what it was."""
        folders = [str(self.root / folder) for folder in self.modules]
        return os.pathsep.join([*folders, *filter(None, [os.environ.get("PYTHONPATH")])])


def find_book(start: Path | None = None) -> Book:
    """Return the book that a folder, by default that of the build or the current one, belongs to.

    It is the nearest folder above whose pyproject.toml has the table ``[tool.executable-claims]``.  Raises
    :class:`NoBook` if there is none, and ``ValueError`` if the table has an unknown field.
    """
    start = start or Path(os.environ.get(START) or Path.cwd())
    for folder in (start, *start.parents):
        if (folder / "pyproject.toml").is_file() and (book := _book_at(folder)):
            return book
    raise NoBook(f"start is {str(start)!r}, allowed: one in a book, with [tool.{TABLE}] in pyproject.toml")


def read_json(path: Path) -> dict:
    """Return what a file of results or records holds; ``ValueError`` names the line that breaks it."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except json.JSONDecodeError as error:
        raise ValueError(f"{path}:{error.lineno}: {error.msg} in column {error.colno}") from None
    if not isinstance(content, dict):
        raise ValueError(f"{path}:1: is a {type(content).__name__}, allowed: an object")
    return content


@cache
def _book_at(root: Path) -> Book | None:
    settings = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    table = settings.get("tool", {}).get(TABLE)
    known = sorted({each.name for each in fields(Book)} - {"root"})
    if unknown := ", ".join(sorted(set(table or ()).difference(known))):
        raise ValueError(f"{root}: [tool.{TABLE}] has {unknown}; allowed: {', '.join(known)}")
    return None if table is None else Book(root, **table)
