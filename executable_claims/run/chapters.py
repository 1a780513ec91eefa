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
from executable_claims.claims.ledger import NOT_HERE, NOT_YET, read_ledger
from executable_claims.claims.verdict import MIME

TABLE = "verify_all"
MAGIC = re.compile(r"^[ \t]*[%!]", re.M)
CELL = re.compile(r"^`{3,}\{code-cell\}", re.M)
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


def files(book: Book, kind: str) -> list[Path]:
    """The files of a kind among the pages of a book; folders with a dot, and ``_build``, are of programs."""
    pages = book.folder("pages")
    paths = ((path, f"/{path.relative_to(pages).as_posix()}") for path in sorted(pages.rglob(kind)))
    return [path for path, name in paths if "/." not in name and "/_build/" not in name]


def executed(book: Book) -> list[Path]:
    """The pages of a book that have cells to execute."""
    return [path for path in files(book, "*.md") if is_executed(path)]


def chapters(book: Book) -> list[Path]:
    """The executed pages that lie in a part, which must decide a claim, and others that do."""
    parts = book.folder("pages")
    return [path for path in executed(book) if path.parent != parts or claims_on(path, book)]


def claims_on(path: Path, book: Book) -> list[str]:
    """The claims that the cells of a page decide."""
    return [claim for tree in trees(path) for claim in decided(tree, book.checks)]


def called(node: ast.AST | None) -> str:
    """Return the last name of what a call calls."""
    function = node.func if isinstance(node, ast.Call) else None
    return getattr(function, "id", getattr(function, "attr", ""))


def decided(tree: ast.Module, checks: Collection[str]) -> list[str]:
    """The claims that the last expression of a cell decides: one that is meant to fail is caught.

    The expression may be a name that the cell has given to a verdict.
    """
    last = tree.body[-1].value if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    if isinstance(last, ast.Name):
        last = kept(tree).get(last.id)
    parts = last.args if isinstance(last, ast.Call) and called(last) == TABLE else [last]
    calls = [part for part in parts if isinstance(part, ast.Call) and called(part) in checks]
    claims = [call.args[0] for call in calls if call.args]
    return [str(claim.value) for claim in claims if isinstance(claim, ast.Constant)]


def kept(tree: ast.Module) -> dict[str, ast.expr]:
    """What a cell gives names to, by these."""
    assigned = (statement for statement in tree.body if isinstance(statement, ast.Assign))
    return {name.id: each.value for each in assigned for name in each.targets if isinstance(name, ast.Name)}


def verdicts(outputs: Iterable[dict]) -> list[dict]:
    """The verdicts, or what is recorded of them, in a cell's outputs."""
    return [record for output in outputs for record in output.get("data", {}).get(MIME, [])]


def mistakes(book: Book) -> Iterator[tuple[set[Path], str]]:
    """What pages have wrong: one decides no claim, a cell is not compared, a claim is decided twice.

    Or what is recorded, or may take ``longer``, is no page.
    """
    pages: dict[str, set[Path]] = defaultdict(set)
    places: dict[str, list[str]] = defaultdict(list)
    yield from ((set(executed(book)), mistake) for mistake in (*strangers(book), *unexecuted(book)))
    for path in executed(book):
        name, text = path.relative_to(book.root).as_posix(), path.read_text(encoding="utf-8")
        claims = []
        for cell, tree in zip(code_cells(path), trees(path), strict=True):
            own = decided(tree, book.checks)
            hidden = [key for key, value in kept(tree).items() if called(value) in book.checks]
            if hidden and not own:
                yield {path}, f"{name}: {hidden[0]} keeps a verdict; allowed: a cell that ends with it"
            if own and CHECK_TAG not in cell.metadata.get("tags", []):
                yield {path}, f"{name}: the cell that decides {own[0]} lacks the tag {CHECK_TAG}"
            claims += own
            if sentence := next((claim for claim in own if len(claim.split()) > 1), ""):
                yield {path}, f"{name}: decides {sentence!r}, allowed: the id of an entry of the ledger"
        if not claims and path.parent != book.folder("pages"):
            yield {path}, f"{name}: decides no claim, allowed: a chapter with a cell that ends in verify"
        for claim in set(claims):
            lines = [text.count("\n", 0, at.start()) + 1 for at in re.finditer(f"[\"']{claim}[\"']", text)]
            places[claim] += [f"{name}:{line}" for line in lines[: claims.count(claim)]]
            pages[claim].add(path)
    for claim, where in places.items():
        if len(where) > 1:
            yield pages[claim], f"{claim} is decided twice: {', '.join(where)}"


def undecided(book: Book) -> Iterator[str]:
    """Say which claims no cell of a strict book decides, although a verdict is expected."""
    known = {claim for path in executed(book) for claim in claims_on(path, book)}
    claims = (claim for paper in read_ledger(book.folder("ledger")) for claim in paper.claims)
    for claim in claims if book.strict else ():
        if claim.id not in known and claim.expected not in (NOT_HERE, NOT_YET):
            yield f"{claim.id} is expected: {claim.expected}, and no cell decides it; allowed: {NOT_YET}"


def unexecuted(book: Book) -> Iterator[str]:
    """Say which files look like chapters, and are none."""
    for path in files(book, "*.ipynb"):
        yield f"{path.relative_to(book.root)} is not run, allowed: what 'jupytext --to md:myst' makes of it"
    for path in files(book, "*.md"):
        if not is_executed(path) and CELL.search(path.read_text(encoding="utf-8")):
            said = "has cells and is not run, allowed: with 'format_name: myst' in its head"
            yield f"{path.relative_to(book.root)} {said} ('jupytext --set-formats md:myst')"


def strangers(book: Book) -> Iterator[str]:
    """Say what is recorded, or may take longer, and is no page."""
    names = {path.relative_to(book.folder("pages")).with_suffix("") for path in executed(book)}
    records = book.folder("recorded")
    for path in sorted(records.rglob("*.json")):
        if path.relative_to(records).with_suffix("") not in names:
            yield f"{path.relative_to(book.root)} is recorded of no page, allowed: to delete it"
    for name in sorted({*book.longer} - {name.as_posix() for name in names}):
        yield f"{name} may take longer, allowed: the name of a page that is executed"
