"""Attacks on chapters: their theory is changed a little, and what no check notices is listed.

``python -m executable_claims.attack [part/name ...] [--jobs N] [--sample N]``.  A process executes a chapter;
before each statement that may be changed it forks, and the copy goes on with the changed statement.  Theory
is what feeds the target of a check, a value that the page says, or a curve of a figure (not of a live one).
A change has been *noticed* if a check refused: ``verify``, ``beside`` or an ``assert``.  One that moves
nothing that is compared, said or drawn is none of theory.  A crash, or a run without an end, is no notice,
and counted apart.  The rest survives, and a person says in ``results/attacks.json`` for what reason.
"""

import ast
import copy
import functools
import hashlib
import sys
import time
import types
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import IPython.display

import executable_claims
from executable_claims.chapters import code_cells
from executable_claims.comparison import MISSED
from executable_claims.configuration import Book
from executable_claims.coverage import BESIDE, covered, drawers, drawn, said, shown, users
from executable_claims.dependencies import IMPORTS
from executable_claims.moves import comparing, draw, moved, refusing, saying
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
    sites,
)

RULE = "2-"  # what is counted: entries of another rule are as those of other code
FACTOR = 1.05
SLOWER = 2  # a change that makes a chapter so much slower is given up
OPPOSITE = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult}
THEORY = {"theory", "geometry"}  # in the dotted name of a module; a project's other modules simulate


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


def read_chapter(book: Book, page: Path) -> tuple[list[tuple[ast.stmt, int]], dict[str, Change]]:
    """Return the statements of a chapter with their cells, and the changes of its theory."""
    pairs = read_statements(page)
    statements = [one for one, _ in pairs]
    checks = {*book.checks, BESIDE, *users(statements, book.checks)}
    drawing = drawers(statements)
    roots = [[*targets(one, checks), *(value for _, value in said(one, book.said))] for one in statements]
    lines = [[code for curve in drawn(one, drawing) for code in curve] for one in statements]
    made = set().union(*(bound(one) for one in statements if not isinstance(one, IMPORTS)))
    theory, used = feeding(statements, names(*(one for each in roots + lines for one in each)))
    changes: dict[str, Change] = {}
    for number, (statement, cell) in enumerate(pairs):
        parts = [statement] if number in theory else roots[number] + lines[number]
        found: list[Any] = [site for part in parts for site in sites(part)]
        found = [site for site in found if getattr(site, "name", "") not in drawing]
        # A target that no arithmetic makes, as a constant that is named, is larger itself.
        found += [root for root in roots[number] if isinstance(root, ast.Call) and not names(root) & made]
        if isinstance(statement, ast.ImportFrom) and THEORY & {*(statement.module or "").split(".")}:
            found = [statement]
        for each, (before, after, form) in [(one, form) for one in found for form in forms(one, used)]:
            words = {"place": f"cell {cell}, line {each.lineno}", "before": before, "after": after}
            other = ast.fix_missing_locations(copy.deepcopy(statement, {id(each): form}))
            changes.setdefault("{place}: {before} -> {after}".format(**words), Change(words, number, other))
    return pairs, changes


def larger(value: Any) -> Any:
    """Return floats, arrays, tuples of them, and functions of such results, made larger; the rest as is."""
    if isinstance(value, types.FunctionType | functools._lru_cache_wrapper):
        return functools.wraps(value)(lambda *given, **named: larger(value(*given, **named)))
    if type(value) in (tuple, list):
        return type(value)(map(larger, value))
    real = isinstance(value, float) or getattr(getattr(value, "dtype", None), "kind", "") in ("f", "c")
    return value * FACTOR if real else value


def outcomes(book: Book, page: Path, done: Iterable[str]) -> Iterator[tuple[str, dict]]:
    """Execute a chapter with each change that is not done; ``ValueError`` if it fails as it is."""
    (pairs, changes), seen, place = read_chapter(book, page), list[list](), list[int]()
    figures = [one.metadata.get("mystnb", {}).get("figure", {}).get("name") for one in code_cells(page)]
    variables = enter(book, page, _larger=larger)
    home: Any = sys.modules["executable_claims.verify"]
    executable_claims.verify = home.verify = comparing(home.verify, seen)
    executable_claims.beside = refusing(executable_claims.beside, "beside")
    IPython.display.display = saying(seen)

    def run(start: int = 0, end: int = len(pairs), other: ast.stmt | None = None) -> dict:
        for number in range(start, end):
            statement, cell = pairs[number]
            place.append(cell)
            execute([statement if other is None or number > start else other], variables)
            if cell not in [one for _, one in pairs[number + 1 : number + 2]]:
                draw(figures[cell - 1] or f"the figure of cell {cell}", seen)
        return {"seen": seen, "seconds": time.process_time()}

    if "error" in (known := forked(run)):
        raise ValueError(f"fails as it is: {known['error']}")

    def attempt(change: Change) -> dict:
        try:
            moves = moved(known["seen"], run(change.number, other=change.statement)["seen"])
        except Exception as error:
            refused, text = isinstance(error, AssertionError), str(error).partition("; tolerance")[0]
            found = {"outcome": "noticed", "claim": getattr(error, "claim", "assert")} if refused else {}
            text = text if refused else f"{type(error).__name__}: {text}"
            return {"outcome": "crashed", **found, "by": f"cell {place[-1]}: {text}"[:200]}
        return {"outcome": "survived", "moves": moves} if moves else {"outcome": "moves_nothing"}

    at = 0
    for text, change in changes.items():  # in the order of the statements
        if text not in done:
            run(at, change.number)
            at = change.number
            found = forked(functools.partial(attempt, change), 2 + SLOWER * known["seconds"])
            yield text, found if "outcome" in found else {"outcome": "crashed", "by": found["error"]}


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


def closed(
    entry: dict, key: str, changes: Mapping[str, Change], tried: Sequence[str], coverage: Mapping
) -> dict:
    """Return the counts of a chapter, and its survivors with the reasons that are known."""
    if entry.get("key") == key and entry["tried"] >= len(tried):  # by another run
        return {name: value for name, value in entry.items() if name != "partial"}
    reasons = {(one["before"], one["after"]): one["reason"] for one in entry.get("survivors", ())}
    done = finished(entry, key)
    counts = Counter(done[text]["outcome"] for text in tried)
    refused = Counter(done[text]["claim"] for text in tried if "claim" in done[text])
    survivors = []
    for text, (words, *_) in changes.items():
        if text in tried and (moves := done[text].get("moves")):
            reason = reasons.get((words["before"], words["after"]), "")
            survivors.append({**words, "moves": moves, "reason": reason})
    named = {name: counts[name] for name in ("noticed", "moves_nothing", "crashed", "survived")}
    found = {"key": key, "changes": len(changes), "tried": len(tried), **named, "coverage": coverage}
    return {**found, "refused": dict(sorted(refused.items())), "survivors": survivors}


def attack(book: Book, name: str, page: Path, sample: int) -> str:
    """Try the changes of a chapter that have not been tried, and return in words what became of all."""
    path, key, changes = book.folder("attacks"), RULE + code_key(book, page), read_chapter(book, page)[1]
    if not changes:
        raise ValueError("has nothing to change: no target is computed from anything")
    entry, tried, log = read_results(path).get(name, {}), sampled(changes, sample), list[str]()
    if entry.get("key") != key or entry["tried"] < len(tried):
        for text, found in outcomes(book, page, {*finished(entry, key), *set(changes).difference(tried)}):
            change_result(path, name, with_change, key, text, found)
        done = finished(read_results(path)[name], key)
        ends = {text: found for text, found in done.items() if "by" in found}
        log = [f"{name}, {text}\n    {one['outcome']}: {one['by']}" for text, one in ends.items()]
        change_result(path, name, closed, key, changes, tried, covered(shown(book, page)))
        entry = read_results(path)[name]
    form = "{place}: {before} -> {after}\n    moves {moves}; {reason}"
    log += [f"{name}, {form.format(**one)}" for one in entry["survivors"]]
    counts = [f"{number} {word}" for word, number in entry.items() if isinstance(number, int)]
    explained = sum(bool(one["reason"]) for one in entry["survivors"])
    return "\n".join([*log, f"{name}: {', '.join(counts)}, {explained} of them with a reason"])


def main(arguments: Sequence[str] | None = None) -> None:
    """Attack the chapters that are named, or all, and exit with 1 if one fails as it is."""
    parser = ArgumentParser(
        description="Change the theory of chapters a little, and list what no check notices."
    )
    parser.add_argument("--sample", type=int, default=sys.maxsize, help="so many changes a chapter, not all")
    run_chapters(attack, "attacks", parser, arguments)


if __name__ == "__main__":
    main()
