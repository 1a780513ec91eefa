"""A chapter with the code of its own modules: what stands in them is attacked as if it stood in a cell.

A book names the packages of such modules (``inlined``).  Before ``from package.module import name, ...``
stand those statements of the module that the names hang on, in its order; they are executed in the module.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from pathlib import Path

from executable_claims.claims.configuration import Book
from executable_claims.run.dependencies import IMPORTS, find_file
from executable_claims.run.script import Statement, feeding, read_statements


def inlined_statements(book: Book, page: Path) -> list[Statement]:
    """Return the statements of a chapter, with those of the modules that are read with it.

    Raises ``ValueError`` for an import of such a module in another form.
    """
    done: set[tuple[str, int]] = set()
    cells = read_statements(page)
    return [inner for statement in cells for inner in expanded(statement, book, None, done)]


def expanded(
    statement: Statement, book: Book, wanted: Collection[str] | None, done: set[tuple[str, int]]
) -> Iterator[Statement]:
    """Yield a statement after what it imports, but what is ``done``: what is ``wanted``, or all."""
    if module := inlined_module(statement, book):
        if (file := find_file(module, book)) is None:
            raise ValueError(f"{statement.place(statement.code.lineno)}: there is no module {module}")
        body = ast.parse(file.read_text(encoding="utf-8")).body
        names = {alias.name for alias in getattr(statement.code, "names", ())}
        numbers, known = feeding(body, names if wanted is None else names & {*wanted})
        for number in sorted(numbers):
            if (module, number) not in done:
                done.add((module, number))
                yield from expanded(Statement(body[number], statement.cell, module), book, known, done)
    yield statement


def inlined_module(statement: Statement, book: Book) -> str:
    """Return the module that a statement imports from, if it is read with its chapter, or ``""``.

    Raises ``ValueError`` unless it imports names at the top, as they are.
    """
    for node in (node for node in ast.walk(statement.code) if isinstance(node, IMPORTS)):
        names = {alias.name for alias in node.names}
        modules = {node.module or ""} if isinstance(node, ast.ImportFrom) else names
        for package in book.inlined:
            inside = [name for name in modules if f"{name}.".startswith(f"{package}.")]
            renamed = "*" in names or any(alias.asname for alias in node.names)
            plain = isinstance(node, ast.ImportFrom) and node is statement.code and package not in inside
            if inside and (renamed or not plain):
                raise ValueError(
                    f"{statement.place(node.lineno)}: {ast.unparse(node)}, allowed of a module that is read "
                    f"with its chapter: from {package}.<module> import <name>, ... at the top, without as"
                )
            if inside:
                return inside[0]
    return ""
