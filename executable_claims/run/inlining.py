"""A chapter with the code of its own modules: what stands in them is attacked as if it stood in a cell.

A book names the packages of such modules (``inlined``).  ``from package.module import name, ...`` is
replaced by those statements of the module that the names hang on, in its order, and they run among the
variables of the chapter.  So a name may stand for one thing only, in the cells and the modules together.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

from executable_claims.claims.configuration import Book
from executable_claims.run.dependencies import IMPORTS, find_file
from executable_claims.run.script import Statement, assigned, feeding, read_statements


def inlined_statements(book: Book, page: Path) -> list[Statement]:
    """Return the statements of a chapter, with those of the modules that are read with it.

    Raises ``ValueError`` for an import of such a module in another form, and for a name of two meanings.
    """
    done: set[tuple[str, int]] = set()
    statements = [
        inner for statement in read_statements(page) for inner in expanded(statement, book, None, done)
    ]
    refuse_clashes(statements)
    return statements


def expanded(
    statement: Statement, book: Book, wanted: Collection[str] | None, done: set[tuple[str, int]]
) -> Iterator[Statement]:
    """Yield what a statement stands for, but what is ``done``; of an import, what is ``wanted``, or all."""
    if not (module := inlined_module(statement, book)):
        yield statement
        return
    name, file = module, find_file(module, book)
    if file is None:
        raise ValueError(f"{statement.place(statement.code.lineno)}: there is no module {name}")
    asked = {alias.name for alias in getattr(statement.code, "names", ())}
    body = ast.parse(file.read_text(encoding="utf-8")).body
    numbers, known = feeding(body, asked if wanted is None else asked & {*wanted})
    place = file.relative_to(book.root).as_posix()
    for number in sorted(numbers):
        if (place, number) not in done:
            done.add((place, number))
            yield from expanded(Statement(body[number], statement.cell, place), book, known, done)


def inlined_module(statement: Statement, book: Book) -> str:
    """Return the module that a statement imports from, if it is read with its chapter, or ``""``.

    Raises ``ValueError`` unless it imports names at the top, as they are.
    """
    for node in ast.walk(statement.code):
        if not isinstance(node, IMPORTS):
            continue
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


def refuse_clashes(statements: Iterable[Statement]) -> None:
    """Raise ``ValueError`` if a name is bound in two files, to other things."""
    meanings: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for statement in statements:
        for name in assigned(statement.code):
            meanings[name][statement.module].add(meaning(statement.code, name))
    for name, files in meanings.items():
        if len({frozenset(texts) for texts in files.values()}) > 1:
            places = " and ".join(sorted(file or "a cell" for file in files))
            raise ValueError(f"{name} is bound in {places}, allowed: one thing for a name of both")


def meaning(code: ast.stmt, name: str) -> str:
    """Return in words what a statement binds a name to."""
    if isinstance(code, ast.Import):
        sources = [alias.name for alias in code.names if name == alias.asname]
        return f"import {sources or name}"
    if isinstance(code, ast.ImportFrom):
        sources = [alias.name for alias in code.names if name == (alias.asname or alias.name)]
        return f"{code.module} {sources}"
    return ast.unparse(code)
