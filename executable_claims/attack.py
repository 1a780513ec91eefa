"""Attacks on chapters: their theory is changed a little, and what no check notices is listed.

``python -m executable_claims.attack [part/name ...] [--jobs N] [--sample N]``.  A process executes a chapter;
before each statement that may be changed it forks, and the copy goes on with the changed statement.  A
change with which something fails, has another shape or takes too long has been noticed; one that moves no
target is none of theory; the rest survives, and a person says in ``results/attacks.json`` for what reason.
"""

import ast
import copy
import functools
import hashlib
import re
import sys
import time
import types
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import executable_claims
from executable_claims.comparison import MISSED
from executable_claims.configuration import Book
from executable_claims.dependencies import IMPORTS
from executable_claims.results import change_result, code_key, read_results, run_chapters
from executable_claims.script import (
    bound,
    called,
    enter,
    execute,
    feeding,
    forked,
    names,
    read_statements,
)

FACTOR = 1.05
ROUNDING = 1e-6  # what moves by less of its size, as what a solver finds does, has not moved
SLOWER = 2  # a change that makes the checks of a chapter so much slower is noticed
OPPOSITE = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult}
THEORY = {"theory", "geometry"}  # in the dotted name of a module; a project's other modules simulate
# Arguments that say how something is computed or checked, and calls that draw or lay out.
SETTINGS = re.compile(
    "rtol|atol|tol|xtol|epsrel|epsabs|method|t_eval|size|width|steps?|dt|seed|axis|dtype|num|maxiter|bracket|"
    "bounds|x0|share|because|families|scale|control|printed"
)
DRAWS = re.compile("(standard_)?normal|uniform|choice|integers|random|exponential|permutation")
LAYOUTS = re.compile(
    DRAWS.pattern + "|(lin|geom|log)space|arange|range|zeros|ones|eye|full|repeat|tile|reshape|generator|"
    "default_rng|isf|ppf|Variant"
)
LISTS = (ast.List, ast.ListComp, ast.Tuple, ast.JoinedStr)  # are joined and repeated by + and *


class Change(NamedTuple):
    """A small change: its place, what becomes of what; which statement it is that changes, and into what."""

    words: dict[str, str]
    number: int
    statement: ast.stmt


def targets(node: ast.AST, checks: set[str]) -> Iterator[ast.expr]:
    """What the checks in a statement compare with; what is measured too where only a number is typed."""
    if called(node) == "Variant":
        return
    given: list[tuple[Any, Any]] = [(one.arg, one.value) for one in getattr(node, "keywords", ())]
    if isinstance(node, ast.Dict):
        given = [(getattr(k, "value", ""), one) for k, one in zip(node.keys, node.values, strict=True)]
    elif isinstance(node, ast.Call) and called(node) in checks:
        yield from [*node.args[1:], *(one for name, one in given if name is None)]
    own = [one for name, one in given if name in MISSED]
    yield from own
    if own and not names(*own):
        yield from (one for name, one in given if name == "measured")
    for child in ast.iter_child_nodes(node):
        yield from targets(child, checks)


def sites(node: ast.AST) -> Iterator[ast.BinOp | ast.FunctionDef]:
    """The arithmetic and the functions in code, but for settings, layout and data, which is what draws."""
    changeable = isinstance(node, ast.BinOp | ast.FunctionDef)
    data = changeable and any(DRAWS.fullmatch(called(one)) for one in ast.walk(node))
    joined = isinstance(node, ast.BinOp) and isinstance(node.left, LISTS) | isinstance(node.right, LISTS)
    if changeable and not data and not joined:
        yield node
    for child in ast.iter_child_nodes(node) if not LAYOUTS.fullmatch(called(node)) else ():
        kept = isinstance(child, ast.FunctionDef) or not data
        setting = SETTINGS.fullmatch(getattr(child, "arg", None) or "")
        if kept and not setting and child is not getattr(node, "slice", None):
            yield from sites(child)


def forms(site: Any, used: set[str]) -> Iterator[tuple[str, str, ast.AST]]:
    """What a site may become, in words and as code; of an import, each function that is used is larger."""
    if isinstance(site, ast.expr) and not isinstance(site, ast.BinOp):
        grown = ast.BinOp(ast.Constant(FACTOR), ast.Mult(), site)
        yield ast.unparse(site), ast.unparse(grown), grown
        return
    if not isinstance(site, ast.BinOp):
        for name in {site.name} if isinstance(site, ast.FunctionDef) else sorted(bound(site) & used):
            grown = [site, *ast.parse(f"{name} = _larger({name})").body]
            yield f"{name}(...)", f"{FACTOR} * {name}(...)", ast.If(ast.Constant(True), grown, [])
        return
    left, sign, right = site.left, site.op, site.right
    found: list[ast.expr] = [ast.BinOp(one, sign, right) for one in scaled(left)]
    found += [ast.BinOp(left, sign, one) for one in scaled(right)]
    if isinstance(sign, ast.Pow):
        found.append(ast.BinOp(left, sign, ast.BinOp(right, ast.Div(), ast.Constant(2))))
    elif type(sign) in OPPOSITE:
        found.append(ast.BinOp(left, OPPOSITE[type(sign)](), right))
        alone = {ast.Sub: ast.UnaryOp(ast.USub(), right), ast.Div: ast.BinOp(ast.Constant(1), sign, right)}
        # That a number written out is lost is seen sooner than 5 % of it.
        found += [] if scaled(right) else [left]
        found += [] if scaled(left) else [alone.get(type(sign), right)]
    yield from ((ast.unparse(site), ast.unparse(form), form) for form in found)


def scaled(node: ast.expr) -> list[ast.expr]:
    """A number written out made larger; nothing for other code, and for zero."""
    value = node.value if isinstance(node, ast.Constant) and type(node.value) in (int, float) else 0
    return [ast.Constant(float(f"{FACTOR * value:.6g}"))] if value else []


def read_chapter(book: Book, page: Path) -> tuple[list[ast.stmt], set[int], dict[str, Change]]:
    """Return the statements of a chapter, which of them its checks need, and the changes of its theory."""
    pairs = read_statements(page)
    statements = [one for one, _ in pairs]
    makers = [one for one in statements if isinstance(one, ast.FunctionDef) and names(one) & {*book.checks}]
    checks = {*book.checks, *(one.name for one in makers)}
    always = (*IMPORTS, ast.Assert)
    deciding = {k for k, one in enumerate(statements) if names(one) & checks or isinstance(one, always)}
    needed = deciding | feeding(statements, names(*(statements[k] for k in deciding)))[0]
    roots = [list(targets(one, checks)) for one in statements]
    made = set().union(*(bound(one) for one in statements if not isinstance(one, IMPORTS)))
    theory, used = feeding(statements, names(*(root for each in roots for root in each)))
    changes: dict[str, Change] = {}
    for number in sorted(needed):
        statement, cell = pairs[number]
        parts = [statement] if number in theory else roots[number]
        found: list[Any] = [site for part in parts for site in sites(part)]
        # A target that no arithmetic makes, as a constant that is named, is larger itself.
        found += [root for root in roots[number] if isinstance(root, ast.Call) and not names(root) & made]
        if isinstance(statement, ast.ImportFrom) and THEORY & {*(statement.module or "").split(".")}:
            found = [statement]
        for each, (before, after, form) in [(one, form) for one in found for form in forms(one, used)]:
            words = {"place": f"cell {cell}, line {each.lineno}", "before": before, "after": after}
            other = ast.fix_missing_locations(copy.deepcopy(statement, {id(each): form}))
            changes.setdefault("{place}: {before} -> {after}".format(**words), Change(words, number, other))
    return statements, needed, changes


def larger(value: Any) -> Any:
    """Return floats, arrays, tuples of them, and functions of such results, made larger; the rest as is."""
    if isinstance(value, types.FunctionType | functools._lru_cache_wrapper):
        return functools.wraps(value)(lambda *given, **named: larger(value(*given, **named)))
    if type(value) in (tuple, list):
        return type(value)(map(larger, value))
    real = isinstance(value, float) or getattr(getattr(value, "dtype", None), "kind", "") in ("f", "c")
    return value * FACTOR if real else value


def noting(verify: Callable, seen: list) -> Callable:
    """Return a ``verify`` that notes the numbers that it compares, those of its variants as well."""

    def noted(claim: str, **given: Any) -> Any:
        record = {}
        for role in ("", "printed ", "control "):
            values = getattr(given.get(role[:-1]), "__dict__", {}) if role else given
            both = [name for name in ("measured", *MISSED) if values.get(name) is not None]
            record |= {role + name: np.asarray(values[name], float).ravel().tolist() for name in both}
        seen.append([claim, record])
        return verify(claim, **given)

    return noted


def judged(before: list, after: list) -> dict[str, str]:
    """Return what becomes of a change that fails no check, and how far it moves what of which claim."""
    moves: list[str] = []
    for (claim, old), (_, new) in zip(before, after, strict=True):  # fails for another shape
        size = {name: max(map(abs, values), default=0.0) for name, values in old.items()}
        pairs = {name: zip(values, new[name], strict=True) for name, values in old.items()}
        far = {name: max((abs(x - y) for x, y in each), default=0.0) for name, each in pairs.items()}
        moved = [name for name in old if not far[name] <= ROUNDING * (size[name] or 1.0)]
        own = [name for name in moved if not name.startswith("control")]
        typed = all(x == round(x) for name in MISSED for x in old.get(name, ()))
        # A control that moves alone counts too: it shows something else than it says.
        if (moved and not own) or any(typed or name != "measured" for name in own):
            moves += [f"{name} of {claim} by {far[name]:.2g} of {size[name]:.2g}" for name in own or moved]
    return {"outcome": "survived", "moves": "; ".join(moves)} if moves else {"outcome": "moves_nothing"}


def outcomes(book: Book, page: Path, done: Iterable[str]) -> Iterator[tuple[str, dict]]:
    """Execute a chapter with each change that is not done; ``ValueError`` if it fails as it is."""
    (statements, needed, changes), seen = read_chapter(book, page), []
    variables = enter(book, page, _larger=larger)
    home = sys.modules["executable_claims.verify"]
    executable_claims.verify = home.verify = noting(home.verify, seen)  # type: ignore[attr-defined, assignment]

    def run(*first: ast.stmt, start: int = 0, end: int = len(statements)) -> dict:
        execute([*first, *(statements[k] for k in sorted(needed) if start <= k < end)], variables)
        return {"seen": seen, "seconds": time.process_time()}

    if "error" in (known := forked(run)):
        needed = set(range(len(statements)))  # something needed was left out: the drawings as well
        if "error" in (known := forked(run)):
            raise ValueError(f"fails as it is: {known['error']}")

    def attempt(change: Change) -> dict:
        return judged(known["seen"], run(change.statement, start=change.number + 1)["seen"])

    at = 0
    for text, change in changes.items():  # in the order of the statements
        if text not in done:
            run(start=at, end=change.number)
            at = change.number
            found = forked(functools.partial(attempt, change), 2 + SLOWER * known["seconds"])
            yield text, {"outcome": "noticed", **found}


def finished(entry: Mapping, key: str) -> dict[str, dict]:
    """What was found of a chapter whose code has that key, by change, before it was interrupted."""
    partial = entry.get("partial", {})
    return partial["finished"] if partial.get("key") == key else {}


def with_change(entry: dict, key: str, text: str, found: dict) -> dict:
    """An entry to which what was found of a change is added."""
    partial = {"key": key, "finished": {**finished(entry, key), text: found}}
    return {**entry, "partial": partial}


def sampled(changes: Mapping[str, Change], size: int) -> list[str]:
    """Return so many changes, or all if there are not more, each with the same chance."""
    return sorted(changes, key=lambda text: hashlib.sha256(text.encode()).digest())[:size]


def closed(entry: dict, key: str, changes: Mapping[str, Change], tried: Sequence[str]) -> dict:
    """Return the counts of a chapter, and its survivors with the reasons that are known."""
    if entry.get("key") == key and entry["tried"] >= len(tried):  # by another run
        return {name: value for name, value in entry.items() if name != "partial"}
    reasons = {(one["before"], one["after"]): one["reason"] for one in entry.get("survivors", ())}
    done = finished(entry, key)
    counts = Counter(done[text]["outcome"] for text in tried)
    survivors = []
    for text, (words, *_) in changes.items():
        if text in tried and (moves := done[text].get("moves")):
            reason = reasons.get((words["before"], words["after"]), "")
            survivors.append({**words, "moves": moves, "reason": reason})
    named = {name: counts[name] for name in ("noticed", "moves_nothing", "survived")}
    return {"key": key, "changes": len(changes), "tried": len(tried), **named, "survivors": survivors}


def attack(book: Book, name: str, page: Path, sample: int) -> str:
    """Try the changes of a chapter that have not been tried, and return what survives in words."""
    path, key, changes = book.folder("attacks"), code_key(book, page), read_chapter(book, page)[2]
    if not changes:
        raise ValueError("has nothing to change: no target is computed from anything")
    entry, tried = read_results(path).get(name, {}), sampled(changes, sample)
    if entry.get("key") != key or entry["tried"] < len(tried):
        for text, found in outcomes(book, page, {*finished(entry, key), *set(changes).difference(tried)}):
            change_result(path, name, with_change, key, text, found)
        change_result(path, name, closed, key, changes, tried)
        entry = read_results(path)[name]
    form = "{place}: {before} -> {after}\n    moves {moves}; {reason}"
    lines = [f"{name}, {form.format(**one)}" for one in entry["survivors"]]
    counts = [f"{number} {word}" for word, number in entry.items() if isinstance(number, int)]
    explained = sum(bool(one["reason"]) for one in entry["survivors"])
    return "\n".join([*lines, f"{name}: {', '.join(counts)}, {explained} of them with a reason"])


def main(arguments: Sequence[str] | None = None) -> None:
    """Attack the chapters that are named, or all, and exit with 1 if one fails as it is."""
    parser = ArgumentParser(
        description="Change the theory of chapters a little, and list what no check notices."
    )
    parser.add_argument("--sample", type=int, default=sys.maxsize, help="so many changes a chapter, not all")
    run_chapters(attack, "attacks", parser, arguments)


if __name__ == "__main__":
    main()
