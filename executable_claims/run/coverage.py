"""Checked coverage of a page: of the values that it says and the curves it draws, what a check reaches.

It is the coverage of Schuler and Zeller (2011), by what feeds what: nothing is executed.  The statements of a
page are followed back from what its checks compare, name by name, those of a loop twice, as one round reads
what the last one made.  A function, of the page or of the book's modules, is looked into where it is used.
Columns of a check are reached, and what is computed of them by what is reached; a formula of typed numbers
is not, nor is what functions alone have made, unless it is said where they are called.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from executable_claims.claims.configuration import Book
from executable_claims.run.dependencies import IMPORTS, is_foreign
from executable_claims.run.inlining import inlined_module, inlined_statements
from executable_claims.run.script import GROWS, assigned, bound, called, listed, names, sites

BESIDE = "beside"
ABOUT = re.compile("because|families|data|rtol|atol|scale")  # what a check says, and within what it compares
# Methods of matplotlib's axes that draw data.
DRAWING = re.compile(
    "plot|semilog[xy]|loglog|scatter|errorbar|step|stairs|stem|barh?|hist|fill|fill_betweenx?|imshow|matshow|"
    "pcolor(mesh)?|contourf?|quiver|[vh]lines|ax[vh]?line"
)
DEFINITIONS = (ast.FunctionDef, ast.ClassDef)
TYPED = "a formula of typed numbers"
NONE: Mapping[str, Any] = {}


@dataclass(frozen=True)
class Shown:
    """A value that a page says or, without a name, a curve; where; and what of it no check reaches."""

    name: str
    cell: int
    line: int
    unreached: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.name or 'a curve'} (cell {self.cell}, line {self.line}: {', '.join(self.unreached)})"


class Step(NamedTuple):
    """A statement without others in it, its cell, the names that it binds or alters, and those made anew."""

    statement: ast.stmt
    cell: int
    binds: frozenset[str]
    anew: frozenset[str]


def steps(statement: ast.stmt, cell: int, sure: bool = True, aliases: Mapping = NONE) -> list[Step]:
    """Return a statement as steps: what is in a loop stands there twice.

    ``sure`` says that it is executed whenever what follows is; ``aliases`` are names of what loops go over.
    """
    heads: list[tuple[ast.expr | None, ast.expr]] = []
    if isinstance(statement, ast.For):
        heads = [(statement.target, statement.iter)]
        over = listed(statement.iter)
        over = over.union(*(aliases.get(name, ()) for name in over))
        aliases = {**aliases, **dict.fromkeys(listed(statement.target), over)}
    elif isinstance(statement, ast.With):
        heads = [(item.optional_vars, item.context_expr) for item in statement.items]
    elif isinstance(statement, ast.While | ast.If):
        heads = [(None, statement.test)]
    elif not isinstance(statement, ast.Try):
        binds, anew = bound(statement), assigned(statement)
        drawing = isinstance(statement, ast.Expr) and called(statement.value) not in GROWS
        more = set[str]().union(*(aliases.get(name, ()) for name in binds - anew if not drawing))
        anew = anew if sure and not isinstance(statement, ast.AugAssign) else frozenset()
        return [Step(statement, cell, binds | more, anew)]
    head = [ast.Assign([target], value) if target else ast.Expr(value) for target, value in heads]
    sequence = [step for part in head for step in steps(ast.copy_location(part, statement), cell, sure)]
    blocks = [getattr(statement, name, []) for name in ("body", "orelse", "finalbody")]
    blocks += [handler.body for handler in getattr(statement, "handlers", [])]
    sure = sure and isinstance(statement, ast.For | ast.With)
    sequence += [step for block in blocks for part in block for step in steps(part, cell, sure, aliases)]
    return sequence * (2 if isinstance(statement, ast.For | ast.While) else 1)


def calls(node: ast.AST, wanted: Collection[str]) -> list[ast.Call]:
    """Return the calls in code of functions with these names."""
    return [part for part in ast.walk(node) if isinstance(part, ast.Call) and called(part) in wanted]


def compared(call: ast.Call) -> list[ast.expr]:
    """Return what makes a check: the function, and what it compares."""
    named = [keyword.value for keyword in call.keywords if not ABOUT.fullmatch(keyword.arg or "")]
    return [call.func, *map(bare, call.args), *named]


def bare(node: Any) -> ast.expr:
    """Return an argument without its star."""
    return node.value if isinstance(node, ast.Starred) else node


def said(node: ast.AST, functions: Collection[str]) -> Iterator[tuple[str, ast.expr]]:
    """The values in code that the prose quotes, by their names: ``say(gain=x)``, or ``glue("gain", x)``."""
    for call in calls(node, functions):
        if len(call.args) > 1:
            yield str(getattr(call.args[0], "value", "")) or ast.unparse(call.args[0]), call.args[1]
        for name, value in () if call.args else [(keyword.arg, keyword.value) for keyword in call.keywords]:
            if name is None and isinstance(value, ast.Dict):
                yield from zip(map(ast.unparse, filter(None, value.keys)), value.values, strict=False)
            elif name is None and isinstance(value, ast.DictComp):
                values = ast.ListComp(value.value, value.generators)
                yield ast.unparse(value.key), ast.copy_location(values, value)
            else:
                yield name or ast.unparse(value), value


def drawn(node: ast.AST, functions: Mapping[str, set[int]] = NONE) -> Iterator[list[ast.expr]]:
    """What is drawn in code, a list a curve, by methods of axes and by functions; those as of ``drawers``."""
    for call in (part for part in ast.walk(node) if isinstance(part, ast.Call)):
        method = isinstance(call.func, ast.Attribute) and DRAWING.fullmatch(called(call))
        if method or called(call) in functions:
            axes = functions.get(called(call), ())
            yield [bare(argument) for k, argument in enumerate(call.args) if k not in axes]


def users(statements: Iterable[ast.stmt], wanted: Collection[str]) -> set[str]:
    """Return the functions that use something with one of these names."""
    functions = [each for each in statements if isinstance(each, ast.FunctionDef)]
    return {function.name for function in functions if names(function) & {*wanted}}


def drawers(statements: Iterable[ast.stmt]) -> dict[str, set[int]]:
    """Return the functions that draw, and which of their arguments they draw on."""
    functions = {}
    for function in (each for each in statements if isinstance(each, ast.FunctionDef) and any(drawn(each))):
        methods = [node.value for node in ast.walk(function) if isinstance(node, ast.Attribute)]
        axes = {getattr(node, "id", "") for node in methods}
        functions[function.name] = {k for k, each in enumerate(function.args.args) if each.arg in axes}
    return functions


def arithmetic(node: ast.AST) -> bool:
    """Whether code computes, but for settings and layout."""
    return any(isinstance(site, ast.BinOp) for site in sites(node))


class Page:
    """The steps of a page, and what its checks reach: pairs of a step's statement and a name that it makes.

    ``kinds`` says what each step makes outside of what the checks reach: a *column*, made of such, *typed*
    numbers, or something else, which is empty.
    """

    def __init__(self, book: Book, path: Path) -> None:
        placed = [each for each in inlined_statements(book, path) if not inlined_module(each, book)]
        statements = [statement.code for statement in placed]
        self.steps = [step for statement in placed for step in steps(statement.code, statement.cell)]
        imports = [each for each in statements if isinstance(each, IMPORTS) and is_foreign(each, book, path)]
        self.foreign = set[str]().union(*map(bound, imports))
        self.checks = {*book.checks, BESIDE, *users(statements, book.checks)}
        self.functions = book.said, drawers(statements)
        self.reached, self.kinds = self.sliced(), list[str]()
        for k, step in enumerate(self.steps):
            kinds = {*self.sources([step.statement], k).values()}
            other = isinstance(step.statement, (*DEFINITIONS, *IMPORTS)) or "" in kinds
            typed = "function" not in kinds and not arithmetic(step.statement)
            self.kinds.append("" if other else "column" if "column" in kinds else "typed" if typed else "")

    def makers(self, code: Iterable[ast.AST], at: int) -> dict[tuple[int, str], int]:
        """Return what makes the names that code reads there, and the steps that do; not foreign imports."""
        places, looked_up, wanted = dict[tuple[int, str], int](), set[str](), names(*code) - self.foreign
        while new := wanted - looked_up:
            looked_up |= new
            for name in new:
                for k in range(at - 1, -1, -1):
                    if name in self.steps[k].binds:
                        statement = self.steps[k].statement
                        places[id(statement), name] = k
                        inside = names(statement) if isinstance(statement, DEFINITIONS) else set()
                        wanted |= inside - self.foreign
                        if name in self.steps[k].anew:
                            break
        return places

    def sliced(self) -> set[tuple[int, str]]:
        """Return what the checks are made of."""
        reached, new = set[tuple[int, str]](), dict[tuple[int, str], int]()
        for k, (statement, _, binds, _) in enumerate(self.steps):
            checks = [] if isinstance(statement, DEFINITIONS) else calls(statement, self.checks)
            reached |= {(id(statement), name) for name in binds if checks}
            code = [value for call in checks for value in compared(call)]
            new |= self.makers([statement.test] if isinstance(statement, ast.Assert) else code, k)
        while new:
            reached |= {*new}
            plain = {k for k in new.values() if not isinstance(self.steps[k].statement, DEFINITIONS)}
            makers = [self.makers([self.steps[k].statement], k) for k in plain]
            new = {pair: k for places in makers for pair, k in places.items() if pair not in reached}
        return reached

    def sources(self, code: Iterable[ast.AST], at: int) -> dict[str, str]:
        """Return by name what makes what code reads there: as ``kinds``, or a function that checks reach."""
        kinds: dict[str, str] = {}
        for pair, k in self.makers(code, at).items():
            function = isinstance(self.steps[k].statement, (*DEFINITIONS, *IMPORTS))
            kind = self.kinds[k]
            if pair in self.reached and kind != "typed":
                kind = "function" if function else "column"
            kinds[pair[1]] = min(kind, kinds.get(pair[1], kind))  # in the order of the alphabet
        return kinds

    def unreached(self, code: Sequence[ast.AST], at: int) -> tuple[str, ...]:
        """Return the names that code reads there and no check reaches."""
        if any(calls(node, {BESIDE}) for node in code):
            return ()
        kinds = self.sources(code, at)
        typed = {*kinds.values()} <= {"typed"} and any(map(arithmetic, code))
        return (TYPED,) if typed else tuple(sorted(name for name, kind in kinds.items() if not kind))

    def shown(self) -> list[Shown]:
        """Return what the page says and draws, in its order."""
        places = dict[tuple, Shown]()  # of a loop, what the second round shows
        for k, (statement, cell, *_) in enumerate(self.steps):
            if not isinstance(statement, DEFINITIONS):
                values = [(name, [value]) for name, value in said(statement, self.functions[0])]
                curves = [("", code) for code in drawn(statement, self.functions[1]) if names(*code)]
                for name, code in values + curves:
                    at = cell, code[0].lineno, code[0].col_offset
                    places[name, *at] = Shown(name, *at[:2], self.unreached(code, k))
        return [*places.values()]


def shown(book: Book, path: Path) -> list[Shown]:
    """Return the values that a page says and the curves that it draws, and what of them no check reaches."""
    return Page(book, path).shown()


def covered(shown: Sequence[Shown]) -> dict[str, Any]:
    """Return how many values are said and how many curves drawn, and what of them no check reaches."""
    values = [value for value in shown if value.name]
    curves = [curve for curve in shown if not curve.name]
    return {
        "said": len(values),
        "unreached": [str(value) for value in values if value.unreached],
        "curves": len(curves),
        "curves_unreached": sum(bool(curve.unreached) for curve in curves),
    }
