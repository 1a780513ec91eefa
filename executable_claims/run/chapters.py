"""Chapters read without running them: their code, and the claims that their cells decide."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from functools import cache
from pathlib import Path

import jupytext
from IPython.core.inputtransformer2 import TransformerManager
from nbformat import NotebookNode

from executable_claims.claims.configuration import Book
from executable_claims.claims.verify import MIME

TABLE = "verify_all"
MAGIC = re.compile(r"^[ \t]*[%!]", re.M)
CHECK_TAG = "nbval-check-output"


@cache
def cells(path: Path) -> list[NotebookNode]:
    """The cells of a page."""
    return jupytext.read(path).cells


def code_cells(path: Path) -> list[NotebookNode]:
    """The cells of a page that are executed."""
    return [cell for cell in cells(path) if cell.cell_type == "code"]


def tree_of(cell: NotebookNode) -> ast.Module:
    """The code of a cell, in which IPython's magics are calls; ``SyntaxError`` for what is no Python."""
    return ast.parse(
        TransformerManager().transform_cell(cell.source) if MAGIC.search(cell.source) else cell.source
    )


@cache
def trees(path: Path) -> list[ast.Module]:
    """The code of a page, cell by cell; ``SyntaxError`` names the cell that is no Python."""
    code = []
    for number, cell in enumerate(code_cells(path), 1):
        try:
            code.append(tree_of(cell))
        except SyntaxError as error:
            raise SyntaxError(f"{path.name}, cell {number}, line {error.lineno}: {error.msg}") from None
    return code


def is_executed(path: Path) -> bool:
    """Whether a file is a page that has cells to execute."""
    return path.suffix == ".md" and "format_name: myst" in path.read_text(encoding="utf-8")[:400]


def executed(book: Book) -> list[Path]:
    """The pages of a book that have cells to execute; folders with a dot are those of editors."""
    pages = book.folder("pages")
    shown = (path for path in sorted(pages.rglob("*.md")) if "/." not in f"/{path.relative_to(pages)}")
    return [path for path in shown if is_executed(path)]


def chapters(book: Book) -> list[Path]:
    """The executed pages that lie in a part: those that must decide a claim."""
    return [path for path in executed(book) if path.parent != book.folder("pages")]


def decided(tree: ast.Module, checks: Collection[str]) -> list[str]:
    """The claims that the last expression of a cell decides: one that is meant to fail is caught."""
    last = tree.body[-1].value if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    parts = last.args if isinstance(last, ast.Call) and getattr(last.func, "id", None) == TABLE else [last]
    calls = [part for part in parts if isinstance(part, ast.Call)]
    claims = [call.args[0] for call in calls if getattr(call.func, "id", None) in checks and call.args]
    return [str(claim.value) for claim in claims if isinstance(claim, ast.Constant)]


def verdicts(outputs: Iterable[dict]) -> list[dict]:
    """The verdicts, or what is recorded of them, in a cell's outputs."""
    return [record for output in outputs for record in output.get("data", {}).get(MIME, [])]


def mistakes(book: Book) -> Iterator[tuple[set[Path], str]]:
    """What pages have wrong: one decides no claim, a cell is not compared, a claim is decided twice.

    Or what is recorded, or may take ``longer``, is no page.
    """
    pages: dict[str, set[Path]] = defaultdict(set)
    places: dict[str, list[str]] = defaultdict(list)
    yield from ((set(executed(book)), mistake) for mistake in strangers(book))
    for path in executed(book):
        name, text = path.relative_to(book.root).as_posix(), path.read_text(encoding="utf-8")
        claims = []
        for cell, tree in zip(code_cells(path), trees(path), strict=True):
            own = decided(tree, book.checks)
            if own and CHECK_TAG not in cell.metadata.get("tags", []):
                yield {path}, f"{name}: the cell that decides {own[0]} lacks the tag {CHECK_TAG}"
            claims += own
        if not claims and path.parent != book.folder("pages"):
            yield {path}, f"{name}: decides no claim, allowed: a chapter with a cell that ends in verify"
        for claim in set(claims):
            lines = [text.count("\n", 0, at.start()) + 1 for at in re.finditer(f"[\"']{claim}[\"']", text)]
            places[claim] += [f"{name}:{line}" for line in lines[: claims.count(claim)]]
            pages[claim].add(path)
    for claim, where in places.items():
        if len(where) > 1:
            yield pages[claim], f"{claim} is decided twice: {', '.join(where)}"


def strangers(book: Book) -> Iterator[str]:
    """Say what is recorded, or may take longer, and is no page."""
    names = {path.relative_to(book.folder("pages")).with_suffix("") for path in executed(book)}
    records = book.folder("recorded")
    for path in sorted(records.rglob("*.json")):
        if path.relative_to(records).with_suffix("") not in names:
            yield f"{path.relative_to(book.root)} is recorded of no page, allowed: to delete it"
    for name in sorted({*book.longer} - {name.as_posix() for name in names}):
        yield f"{name} may take longer, allowed: the name of a page that is executed"
