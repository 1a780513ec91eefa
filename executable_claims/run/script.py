"""A chapter as a script: its statements, what feeds what, and their execution in forked processes."""

import __future__

import ast
import json
import os
import re
import signal
import symtable
import sys
import tempfile
import types
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple
from unittest.mock import MagicMock

from executable_claims.claims.configuration import Book
from executable_claims.run.chapters import called, trees

# Arguments that say how something is computed or checked, and calls that draw or lay out.
SETTINGS = re.compile(
    "rtol|atol|tol|xtol|epsrel|epsabs|method|t_eval|size|width|steps?|dt|seed|axis|dtype|num|maxiter|bracket|"
    "bounds|x0|share|because|families|scale|control|impostor|printed"
)
DRAWS = re.compile("(standard_)?normal|uniform|choice|integers|random|exponential|permutation")
LAYOUTS = re.compile(
    DRAWS.pattern + "|(lin|geom|log)space|arange|range|zeros|ones|eye|full|repeat|tile|reshape|generator|"
    "default_rng|isf|ppf|Variant|annotate|text|set|legend"
)
GROWS = {"append", "extend", "add", "update", "insert"}
FORKS = hasattr(os, "fork")  # Windows does not
UNEVALUATED = __future__.annotations.compiler_flag  # of annotations, some names are there for types alone
LISTS = (ast.List, ast.ListComp, ast.Tuple, ast.JoinedStr)  # are joined and repeated by + and *


class Statement(NamedTuple):
    """A statement of a chapter, the number of its cell, and its module, if it does not stand there."""

    code: ast.stmt
    cell: int
    module: str = ""

    def place(self, line: int) -> str:
        """Say where a line of it stands."""
        home = f"{self.module.replace('.', '/')}.py" if self.module else f"cell {self.cell}"
        return f"{home}, line {line}"


def sites(node: ast.AST) -> Iterator[ast.BinOp | ast.FunctionDef]:
    """The arithmetic and the functions in code, but for settings, layout and data, which is what draws."""
    data = False
    if isinstance(node, ast.BinOp | ast.FunctionDef):
        data = any(DRAWS.fullmatch(called(part)) for part in ast.walk(node))
        joined = isinstance(node, ast.BinOp) and isinstance(node.left, LISTS) | isinstance(node.right, LISTS)
        if not data and not joined:
            yield node
    for child in ast.iter_child_nodes(node) if not LAYOUTS.fullmatch(called(node)) else ():
        kept = isinstance(child, ast.FunctionDef) or not data
        setting = SETTINGS.fullmatch(getattr(child, "arg", None) or "")
        if kept and not setting and child is not getattr(node, "slice", None):
            yield from sites(child)


def names(*nodes: ast.AST) -> set[str]:
    """Return the names from outside that code reads."""
    return set[str]().union(*map(reads, nodes))


@cache
def symbols(node: ast.AST) -> symtable.SymbolTable:
    """Return the names of code, and what it does with them."""
    return symtable.symtable(ast.unparse(node), "", "exec")


@cache
def reads(node: ast.AST) -> frozenset[str]:
    """Return the names from outside that a piece of code reads."""
    tables = [symbols(node)]
    read = {symbol.get_name() for symbol in tables[0].get_symbols() if symbol.is_referenced()}
    while tables := [inner for table in tables for inner in table.get_children()]:
        inside = [symbol for table in tables for symbol in table.get_symbols()]
        read |= {symbol.get_name() for symbol in inside if symbol.is_referenced() and symbol.is_global()}
    return frozenset(read)


@cache
def assigned(statement: ast.stmt) -> frozenset[str]:
    """Return the names that a statement binds."""
    known = symbols(statement).get_symbols()
    return frozenset(symbol.get_name() for symbol in known if symbol.is_assigned() or symbol.is_imported())


def listed(node: ast.AST) -> set[str]:
    """Return the names that stand as they are in a tuple, or in what a loop goes over."""
    whole = getattr(getattr(node, "func", None), "value", None)
    parts = [*getattr(node, "elts", ()), *getattr(node, "args", ()), *([whole] if whole else [])]
    return {node.id} if isinstance(node, ast.Name) else set[str]().union(*map(listed, parts))


@cache
def bound(statement: ast.stmt) -> frozenset[str]:
    """Return the names that a statement binds or, as ``rows.append(x)`` and ``rows[k] = x`` do, alters.

    What a loop appends to under the name of its target, it appends to something that it goes over.
    """
    altered, grown = set[str](), set[str]()
    nodes = [] if isinstance(statement, ast.FunctionDef | ast.ClassDef) else [*ast.walk(statement)]
    for node in nodes:
        stored = isinstance(getattr(node, "ctx", None), ast.Store)
        inside = node if stored else getattr(node.value, "func", None) if isinstance(node, ast.Expr) else None
        if isinstance(inside, ast.Subscript | ast.Attribute):
            altered |= names(inside.value)
            grown |= names(inside.value) if stored or called(getattr(node, "value", None)) in GROWS else set()
    for loop in reversed([node for node in nodes if isinstance(node, ast.For)]):  # inner ones first
        grown |= listed(loop.iter) if grown & listed(loop.target) else set()
    return assigned(statement) | altered | grown


def feeding(statements: Sequence[ast.stmt], wanted: Iterable[str]) -> tuple[set[int], set[str]]:
    """Return which statements names hang on, and all names met on the way."""
    binds = [bound(statement) for statement in statements]
    known, numbers = set(wanted), set[int]()
    while more := {k for k, binding in enumerate(binds) if binding & known} - numbers:
        numbers |= more
        known |= names(*(statements[k] for k in more))
    return numbers, known


def read_statements(page: Path) -> list[Statement]:
    """Return the statements of a chapter's cells."""
    return [Statement(code, cell) for cell, tree in enumerate(trees(page), 1) for code in tree.body]


def enter(book: Book, page: Path) -> dict:
    """Make this process a chapter's, silent; return the variables of its code."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    os.chdir(page.parent)
    sys.path[:0] = [str(page.parent), *book.python_path.split(os.pathsep)]
    sys.modules["__main__"] = module = types.ModuleType("__main__")
    vars(module).update(display=print, get_ipython=MagicMock())
    return vars(module)


def execute(statements: Iterable[ast.stmt], variables: dict) -> None:
    """Execute statements, one after the other."""
    for statement in statements:
        exec(compile(ast.Module([statement], []), "chapter", "exec", UNEVALUATED), variables)


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
        killed = os.WTERMSIG(os.waitpid(child, 0)[1])
        file.seek(0)
        text = file.read()
    if text.endswith("}"):
        return json.loads(text)
    late = killed in (signal.SIGPROF, signal.SIGALRM)
    return {"error": f"no end in {seconds:.0f} s" if late else f"a crash by signal {killed}"}
