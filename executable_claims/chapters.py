"""Chapters read without running them: their code, and the claims that their cells decide."""

from __future__ import annotations

import ast
import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import jupytext
from nbformat import NotebookNode

from executable_claims.configuration import Book
from executable_claims.verify import MIME

CHECKS = ("verify", "verify_recorded")
TABLE = "verify_all"
CHECK_TAG = "nbval-check-output"


@cache
def cells(path: Path) -> list[NotebookNode]:
    """The cells of a page."""
    return jupytext.read(path).cells


def code_cells(path: Path) -> list[NotebookNode]:
    """The cells of a page that are executed."""
    return [cell for cell in cells(path) if cell.cell_type == "code"]


def is_executed(path: Path) -> bool:
    """Whether a file is a page that has cells to execute."""
    return path.suffix == ".md" and "format_name: myst" in path.read_text(encoding="utf-8")[:400]


def executed(book: Book) -> list[Path]:
    """The pages of a book that have cells to execute."""
    return [path for path in sorted(book.folder("pages").rglob("*.md")) if is_executed(path)]


def chapters(book: Book) -> list[Path]:
    """The executed pages that lie in a part: those that must decide a claim."""
    return [path for path in executed(book) if path.parent != book.folder("pages")]


def decided(cell: NotebookNode) -> list[str]:
    """The claims that the cell's last expression decides: one that is meant to fail is caught."""
    last = ast.parse(cell.source).body[-1:]
    if not last or not isinstance(last[0], ast.Expr) or not isinstance(last[0].value, ast.Call):
        return []
    call = last[0].value
    found = call.args if getattr(call.func, "id", None) == TABLE else [call]
    checks = (one for one in found if isinstance(one, ast.Call) and getattr(one.func, "id", None) in CHECKS)
    return [str(one.args[0].value) for one in checks if one.args and isinstance(one.args[0], ast.Constant)]


def verdicts(outputs: Iterable[dict]) -> list[dict]:
    """The verdicts, or what is recorded of them, in a cell's outputs."""
    return [one for output in outputs for one in output.get("data", {}).get(MIME, [])]


def recorded(book: Book) -> list[dict]:
    """What is recorded of the claims that the book decides, one mapping a claim."""
    files = sorted(book.folder("recorded").rglob("*.json"))
    cells = [outputs for path in files for outputs in json.loads(path.read_text(encoding="utf-8")).values()]
    return [one for outputs in cells for one in verdicts(outputs)]


def mistakes(book: Book) -> Iterator[str]:
    """What the chapters of a book have wrong: one that decides no claim, a claim decided twice."""
    places: dict[str, list[str]] = defaultdict(list)
    for path in executed(book):
        found = [claim for cell in code_cells(path) for claim in decided(cell)]
        name = path.relative_to(book.root).as_posix()
        if not found and path in chapters(book):
            yield f"{name}: decides no claim, allowed: a chapter with a cell that ends in verify"
        text = path.read_text(encoding="utf-8")
        for claim in found:
            line = text.partition(f'"{claim}"')[0].count("\n") + 1
            places[claim].append(f"{name}:{line}")
    for claim, where in places.items():
        if len(where) > 1:
            yield f"{claim} is decided twice: {', '.join(where)}"
