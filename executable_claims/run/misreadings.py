"""Misreadings: small changes of what measures, which a check as large as its sentence notices.

Another time of reading, the start in place of the end, another index (a column, a neuron, a draw), another
reduction.
"""

import ast
import math
import re
from collections.abc import Iterator

from executable_claims.run.script import called

FACTORS = (0.8, 1.25)
READS = re.compile(r"(\w+_)?at")  # a call that reads a run at the time of its first argument
TIMES = re.compile(r"(log_)?(times?|until)")
REDUCTIONS = {
    "max": "mean",
    "min": "mean",
    "mean": "max",
    "median": "max",
    "any": "all",
    "all": "any",
    "argmax": "argmin",
    "argmin": "argmax",
}
NOTES = ("annotation", "returns", "decorator_list")
TYPES = re.compile("dict|list|set|tuple|[A-Z][a-z]\\w*")  # what stands in their brackets is read by nobody

Misreading = tuple[ast.expr, ast.expr]


def misreadings(node: ast.AST) -> Iterator[Misreading]:
    """The parts of code that read, and what each may become."""
    if isinstance(node, ast.Call):
        yield from other_times(node)
        yield from other_reductions(node)
    elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
        if TYPES.fullmatch(getattr(node.value, "id", "")):
            return
        yield from other_indices(node)
    for name, value in ast.iter_fields(node):
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and name not in NOTES:
                yield from misreadings(child)


def other_times(call: ast.Call) -> Iterator[Misreading]:
    """A run that is read, or ends, earlier or later, or is read at its start."""
    reads = READS.fullmatch(called(call))
    if reads and not call.args and not call.keywords:
        yield call, ast.Call(call.func, [ast.Constant(0.0)], [])
    for time in call.args[:1] if reads else ():
        yield from ((time, product(factor, time)) for factor in (0.0, *FACTORS))
    for keyword in call.keywords:
        time, kind = keyword.value, TIMES.fullmatch(keyword.arg or "")
        for factor in FACTORS if kind else ():
            later = ast.BinOp(time, ast.Add(), ast.Constant(round(math.log(factor), 6)))
            yield time, later if kind and kind[1] else product(factor, time)


def product(factor: float, value: ast.expr) -> ast.expr:
    """Return code for a multiple."""
    return ast.BinOp(ast.Constant(factor), ast.Mult(), value)


def other_reductions(call: ast.Call) -> Iterator[Misreading]:
    """The mean in place of the largest, all in place of any, and back."""
    function, other = call.func, REDUCTIONS.get(called(call))
    if other and isinstance(function, ast.Attribute):  # the built-in functions have no mean
        reduction = ast.Attribute(function.value, other, function.ctx)
        yield call, ast.Call(reduction, call.args, call.keywords)


def other_indices(read: ast.Subscript) -> Iterator[Misreading]:
    """The next column, the first in place of the last, and the one before that of a name."""
    whole = read.slice
    for index in whole.elts if isinstance(whole, ast.Tuple) else [whole]:
        if isinstance(index, ast.Constant) and type(index.value) is int:
            yield index, ast.Constant(index.value + 1)
        elif isinstance(index, ast.UnaryOp) and isinstance(index.operand, ast.Constant):
            yield index, ast.Constant(0)
        elif isinstance(index, ast.Name):
            yield index, ast.BinOp(index, ast.Sub(), ast.Constant(1))
