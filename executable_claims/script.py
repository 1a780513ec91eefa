"""A chapter as a script: its statements, what feeds what, and their execution in forked processes."""

import ast
import json
import os
import signal
import symtable
import sys
import tempfile
import types
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from unittest.mock import MagicMock

from executable_claims.chapters import trees
from executable_claims.configuration import Book


def called(node: ast.AST | None) -> str:
    """Return the last name of what a call calls."""
    function = node.func if isinstance(node, ast.Call) else None
    return getattr(function, "id", getattr(function, "attr", ""))


def names(*nodes: ast.AST) -> set[str]:
    """Return the names from outside that code reads."""
    tables = [symtable.symtable(ast.unparse(node), "", "exec") for node in nodes]
    found = {one.get_name() for table in tables for one in table.get_symbols() if one.is_referenced()}
    while tables := [inner for table in tables for inner in table.get_children()]:
        symbols = [one for table in tables for one in table.get_symbols()]
        found |= {one.get_name() for one in symbols if one.is_referenced() and one.is_global()}
    return found


def bound(statement: ast.stmt) -> set[str]:
    """Return the names that a statement binds or, as ``found.append(x)`` and ``found[k] = x`` do, alters."""
    symbols = symtable.symtable(ast.unparse(statement), "", "exec").get_symbols()
    found = {one.get_name() for one in symbols if one.is_assigned() or one.is_imported()}
    if isinstance(statement, ast.FunctionDef | ast.ClassDef):
        return found
    for node in ast.walk(statement):
        stored = isinstance(getattr(node, "ctx", None), ast.Store)
        inside = node if stored else getattr(node.value, "func", None) if isinstance(node, ast.Expr) else None
        if isinstance(inside, ast.Subscript | ast.Attribute):
            found |= names(inside.value)
    return found


def feeding(statements: Sequence[ast.stmt], wanted: Iterable[str]) -> tuple[set[int], set[str]]:
    """Return which statements names hang on, and all names met on the way."""
    binds = [bound(one) for one in statements]
    known, numbers = set(wanted), set[int]()
    while more := {k for k, one in enumerate(binds) if one & known} - numbers:
        numbers |= more
        known |= names(*(statements[k] for k in more))
    return numbers, known


def read_statements(page: Path) -> list[tuple[ast.stmt, int]]:
    """Return the statements of a chapter and the numbers of their cells."""
    return [(one, cell) for cell, tree in enumerate(trees(page), 1) for one in tree.body]


def enter(book: Book, page: Path, **given: object) -> dict:
    """Make this process a chapter's, silent; return the variables of its code, with those that are given."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    os.chdir(page.parent)
    sys.path[:0] = [str(page.parent), *book.python_path.split(os.pathsep)]
    sys.modules["__main__"] = module = types.ModuleType("__main__")
    vars(module).update(display=print, get_ipython=MagicMock(), **given)
    return vars(module)


def execute(statements: Iterable[ast.stmt], variables: dict) -> None:
    """Execute statements, one after the other."""
    for one in statements:
        exec(compile(ast.Module([one], []), "chapter", "exec"), variables)


def forked(work: Callable[[], dict], seconds: float = 0.0) -> dict:
    """Return what ``work`` returns in a copy of this process, or an error; 0 seconds are no limit."""
    with tempfile.TemporaryFile("w+") as file:
        if not (child := os.fork()):
            signal.setitimer(signal.ITIMER_PROF, seconds)  # of a core
            signal.setitimer(signal.ITIMER_REAL, 20 * seconds)  # for what waits, on a busy machine
            try:
                answer = work()
            except BaseException as error:
                answer = {"error": f"{type(error).__name__}: {error}"[:300]}
            json.dump(answer, file)
            file.flush()
            os._exit(0)
        os.waitpid(child, 0)
        file.seek(0)
        text = file.read()
    return json.loads(text) if text.endswith("}") else {"error": "no end, or a crash"}
