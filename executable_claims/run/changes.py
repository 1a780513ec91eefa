"""Small changes of a chapter: of its theory, and of what measures.

Theory is what feeds the target of a check, a value that the page says, or a curve of a figure (not of a live
one).  What measures is misread (:mod:`.misreadings`).
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from executable_claims.claims.comparison import MISSED
from executable_claims.claims.configuration import Book
from executable_claims.run.coverage import BESIDE, calls, drawers, drawn, said, users
from executable_claims.run.dependencies import IMPORTS
from executable_claims.run.inlining import inlined_statements
from executable_claims.run.misreadings import misreadings, product
from executable_claims.run.script import Statement, bound, called, feeding, names, sites

FACTOR = 1.05
OPPOSITE = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult}
THEORY = {"theory", "geometry"}  # in the dotted name of a module; a project's other modules simulate


class Change(NamedTuple):
    """A small change: its place, what becomes of what; which statement it is that changes, and into what."""

    words: dict[str, str]
    number: int
    code: ast.stmt
    measures: bool = False


Changes = dict[str, Change]


def read_chapter(book: Book, page: Path) -> tuple[Sequence[Statement], Changes]:
    """Return the statements of a chapter, and its changes by their words, in the order of the statements."""
    chapter = inlined_statements(book, page)
    changes = {**misread_chapter(book, chapter), **change_theory(book, chapter)}
    return chapter, dict(sorted(changes.items(), key=lambda item: item[1].number))


def change_theory(book: Book, chapter: Sequence[Statement]) -> Changes:
    """Return the changes of what feeds a target, a value said or a curve."""
    codes = [statement.code for statement in chapter]
    checks = {*book.checks, BESIDE, *users(codes, book.checks)}
    drawing = drawers(codes)
    roots = [[*targets(code, checks), *(value for _, value in said(code, book.said))] for code in codes]
    curves = [[column for curve in drawn(code, drawing) for column in curve] for code in codes]
    made = set[str]().union(*(bound(code) for code in codes if not isinstance(code, IMPORTS)))
    theory, used = feeding(codes, names(*chain.from_iterable(roots + curves)))
    changes: Changes = {}
    for number, code in enumerate(codes):
        parts = [code] if number in theory else roots[number] + curves[number]
        places: list[Any] = [site for part in parts for site in sites(part)]
        places = [site for site in places if getattr(site, "name", "") not in drawing]
        # A target that no arithmetic makes, as a constant that is named, is larger itself.
        places += [root for root in roots[number] if isinstance(root, ast.Call) and not names(root) & made]
        if isinstance(code, ast.ImportFrom) and THEORY & {*(code.module or "").split(".")}:
            places = [code]
        for place in places:
            for before, after, form in forms(place, used):
                changes |= altered(chapter, number, place, before, after, form)
    return changes


def misread_chapter(book: Book, chapter: Sequence[Statement]) -> Changes:
    """Return the misreadings of what feeds a measurement."""
    codes = [statement.code for statement in chapter]
    checks = {"Clause", *book.checks, *users(codes, book.checks)}
    measured = [value for code in codes for call in calls(code, checks) for value in measurements(call)]
    changes: Changes = {}
    for number in sorted(feeding(codes, names(*measured))[0]):
        for place, form in misreadings(codes[number]):
            words = ast.unparse(place), ast.unparse(form)
            changes |= altered(chapter, number, place, *words, form, measures=True)
    return changes


def altered(
    chapter: Sequence[Statement],
    number: int,
    part: Any,
    before: str,
    after: str,
    form: ast.AST,
    measures: bool = False,
) -> Changes:
    """Return the change of a part of a statement, by its words."""
    words = {"place": chapter[number].place(part.lineno), "before": before, "after": after}
    code = ast.fix_missing_locations(copy.deepcopy(chapter[number].code, {id(part): form}))
    return {"{place}: {before} -> {after}".format(**words): Change(words, number, code, measures)}


def measurements(call: ast.Call) -> list[ast.expr]:
    """Return what a check measures: its tables, or what it is given as such."""
    return [*call.args, *(keyword.value for keyword in call.keywords if keyword.arg == "measured")]


def targets(node: ast.AST, checks: set[str]) -> Iterator[ast.expr]:
    """What the checks in a statement compare with; what is measured too where only a number is typed."""
    if called(node) == "Variant":
        return
    arguments = dict[Any, Any]()
    if isinstance(node, ast.Dict):
        keys = [getattr(key, "value", "") for key in node.keys]
        arguments = dict(zip(keys, node.values, strict=True))
    elif isinstance(node, ast.Call):
        arguments = {keyword.arg: keyword.value for keyword in node.keywords}
        if called(node) in checks:
            yield from node.args[1:]
            yield from (keyword.value for keyword in node.keywords if keyword.arg is None)
    theory = [value for name, value in arguments.items() if name in MISSED]
    yield from theory
    if theory and not names(*theory) and "measured" in arguments:
        yield arguments["measured"]
    for child in ast.iter_child_nodes(node):
        yield from targets(child, checks)


def forms(site: ast.AST, used: set[str]) -> Iterator[tuple[str, str, ast.AST]]:
    """What a site may become, in words and as code; of an import, each function that is used is larger."""
    if isinstance(site, ast.expr):
        others = other_arithmetic(site) if isinstance(site, ast.BinOp) else [product(FACTOR, site)]
        yield from ((ast.unparse(site), ast.unparse(form), form) for form in others)
    elif isinstance(site, ast.stmt):
        functions = {site.name} if isinstance(site, ast.FunctionDef) else bound(site) & used
        for name in sorted(functions):
            both: list[ast.stmt] = [site, *ast.parse(f"{name} = _larger({name})").body]
            yield f"{name}(...)", f"{FACTOR} * {name}(...)", ast.If(ast.Constant(True), both, [])


def other_arithmetic(site: ast.BinOp) -> Iterator[ast.expr]:
    """The arithmetic with a number made larger, another sign, or one side lost."""
    left, sign, right = site.left, site.op, site.right
    yield from (ast.BinOp(number, sign, right) for number in scaled(left))
    yield from (ast.BinOp(left, sign, number) for number in scaled(right))
    if isinstance(sign, ast.Pow):
        yield ast.BinOp(left, sign, ast.BinOp(right, ast.Div(), ast.Constant(2)))
    if type(sign) in OPPOSITE:
        yield ast.BinOp(left, OPPOSITE[type(sign)](), right)
        # That a number written out is lost is seen sooner than 5 % of it.
        if not scaled(right):
            yield left
        if not scaled(left):
            yield without_left(sign, right)


def without_left(sign: ast.operator, right: ast.expr) -> ast.expr:
    """What is left of arithmetic whose left side is zero, or one in a product."""
    if isinstance(sign, ast.Sub):
        return ast.UnaryOp(ast.USub(), right)
    return ast.BinOp(ast.Constant(1), sign, right) if isinstance(sign, ast.Div) else right


def scaled(node: ast.expr) -> list[ast.expr]:
    """A number written out made larger; nothing for other code, and for zero."""
    value: Any = node.value if isinstance(node, ast.Constant) else None
    number = type(value) in (int, float) and value != 0
    return [ast.Constant(float(f"{FACTOR * value:.6g}"))] if number else []
