"""Attacks on chapters: their theory is changed a little, and what no check notices is listed.

``python -m executable_claims.run.attack [part/name ...] [--jobs N] [--sample N]``.  A process executes a
chapter; before each statement that may be changed it forks, and the copy goes on with the changed statement.
Theory is what feeds the target of a check, a value that the page says, or a curve of a figure (not of a live
one).
A change has been *noticed* if a check refused: ``verify``, ``beside`` or an ``assert``.  One that moves
nothing that is compared, said or drawn is none of theory.  A crash, or a run without an end, is no notice,
and counted apart.  The rest survives, and a person says in ``results/attacks.json`` for what reason.
Modules that a book names are read with the chapter that imports them (:mod:`.inlining`).

What measures is changed too (:mod:`.misreadings`), and counted apart, as ``measuring``.  Such a change counts
where it moves what is measured and not what this should be.
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
from executable_claims.claims.comparison import MISSED
from executable_claims.claims.configuration import Book
from executable_claims.run.chapters import code_cells
from executable_claims.run.coverage import BESIDE, calls, covered, drawers, drawn, said, shown, users
from executable_claims.run.dependencies import IMPORTS
from executable_claims.run.inlining import inlined_statements
from executable_claims.run.misreadings import misreadings
from executable_claims.run.moves import comparing, draw, misread, moved, refusing, saying
from executable_claims.run.results import change_result, code_key, read_results, run_chapters
from executable_claims.run.script import (
    Statement,
    bound,
    called,
    enter,
    execute,
    feeding,
    forked,
    names,
    sites,
)

FORM = "{place}: {before} -> {after}\n    moves {moves}; {reason}"
RULE = "3-"  # what is counted: entries of another rule are as those of other code
FACTOR = 1.05
SLOWER = 2  # a change that makes a chapter so much slower is given up
OPPOSITE = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult}
THEORY = {"theory", "geometry"}  # in the dotted name of a module; a project's other modules simulate


class Change(NamedTuple):
    """A small change: its place, what becomes of what; which statement it is that changes, and into what."""

    words: dict[str, str]
    number: int
    statement: ast.stmt
    measures: bool = False


Changes = dict[str, Change]
Statements = Sequence[Statement]


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


def read_chapter(book: Book, page: Path) -> tuple[Statements, Changes]:
    """Return the statements of a chapter with their cells, and its changes, in the order of these."""
    placed = inlined_statements(book, page)
    changes = {**misread_chapter(book, placed), **change_theory(book, placed)}
    return placed, dict(sorted(changes.items(), key=lambda item: item[1].number))


def change_theory(book: Book, placed: Statements) -> Changes:
    """Return the changes of what feeds a target, a value said or a curve."""
    statements = [statement.code for statement in placed]
    checks = {*book.checks, BESIDE, *users(statements, book.checks)}
    drawing = drawers(statements)
    roots = [[*targets(one, checks), *(value for _, value in said(one, book.said))] for one in statements]
    lines = [[code for curve in drawn(one, drawing) for code in curve] for one in statements]
    made = set().union(*(bound(one) for one in statements if not isinstance(one, IMPORTS)))
    theory, used = feeding(statements, names(*(one for each in roots + lines for one in each)))
    changes: Changes = {}
    for number, statement in enumerate(statements):
        parts = [statement] if number in theory else roots[number] + lines[number]
        found: list[Any] = [site for part in parts for site in sites(part)]
        found = [site for site in found if getattr(site, "name", "") not in drawing]
        # A target that no arithmetic makes, as a constant that is named, is larger itself.
        found += [root for root in roots[number] if isinstance(root, ast.Call) and not names(root) & made]
        if isinstance(statement, ast.ImportFrom) and THEORY & {*(statement.module or "").split(".")}:
            found = [statement]
        for each, (before, after, form) in [(one, form) for one in found for form in forms(one, used)]:
            changes |= altered(placed, number, each, before, after, form)
    return changes


def misread_chapter(book: Book, placed: Statements) -> Changes:
    """Return the misreadings of what feeds a measurement."""
    statements = [statement.code for statement in placed]
    checks = {"Clause", *book.checks, *users(statements, book.checks)}
    measured = [each for one in statements for call in calls(one, checks) for each in measurements(call)]
    changes: Changes = {}
    for number in sorted(feeding(statements, names(*measured))[0]):
        for each, form in misreadings(statements[number]):
            changes |= altered(
                placed, number, each, ast.unparse(each), ast.unparse(form), form, measures=True
            )
    return changes


def measurements(call: ast.Call) -> list[ast.expr]:
    """Return what a check measures: its tables, or what it is given as such."""
    given = [keyword.value for keyword in call.keywords if keyword.arg == "measured"]
    return [*call.args, *given]


def altered(
    placed: Statements, number: int, part: Any, before: str, after: str, form: ast.AST, **kind: bool
) -> Changes:
    """Return the change of a part of a statement, by its words."""
    words = {"place": placed[number].place(part.lineno), "before": before, "after": after}
    other = ast.fix_missing_locations(copy.deepcopy(placed[number].code, {id(part): form}))
    return {"{place}: {before} -> {after}".format(**words): Change(words, number, other, **kind)}


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
    (placed, changes), seen, place = read_chapter(book, page), list[list](), list[int]()
    figures = [one.metadata.get("mystnb", {}).get("figure", {}).get("name") for one in code_cells(page)]
    variables = enter(book, page, _larger=larger)
    home: Any = sys.modules["executable_claims.claims.verify"]
    executable_claims.verify = home.verify = comparing(home.verify, seen)
    executable_claims.beside = refusing(executable_claims.beside, "beside")
    IPython.display.display = saying(seen)

    def run(start: int = 0, end: int = len(placed), other: ast.stmt | None = None) -> dict:
        for number in range(start, end):
            code, cell, _ = placed[number]
            place.append(cell)
            execute([code if other is None or number > start else other], variables)
            if cell not in [statement.cell for statement in placed[number + 1 : number + 2]]:
                draw(figures[cell - 1] or f"the figure of cell {cell}", seen)
        return {"seen": seen, "seconds": time.process_time()}

    if "error" in (known := forked(run)):
        raise ValueError(f"fails as it is: {known['error']}")

    def attempt(change: Change) -> dict:
        try:
            judge = misread if change.measures else moved
            moves = judge(known["seen"], run(change.number, other=change.statement)["seen"])
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


def sampled(changes: Changes, size: int) -> list[str]:
    """Return so many changes of each kind, or all if there are not more, each with the same chance."""
    kinds = [[text for text, one in changes.items() if one.measures == kind] for kind in (False, True)]
    digests = {text: hashlib.sha256(text.encode()).digest() for text in changes}
    return [text for kind in kinds for text in sorted(kind, key=digests.__getitem__)[:size]]


def closed(entry: dict, key: str, changes: Changes, tried: Sequence[str], coverage: Mapping) -> dict:
    """Return the counts of a chapter, and its survivors with the reasons that are known."""
    own = {text: one for text, one in changes.items() if not one.measures}
    if entry.get("key") == key and entry["tried"] >= len({*own} & {*tried}):  # by another run
        return {name: value for name, value in entry.items() if name != "partial"}
    done = {text: found for text, found in finished(entry, key).items() if text in tried}
    other = {text: one for text, one in changes.items() if one.measures}
    measuring = counted(entry.get("measuring", {}), other, done)
    return {"key": key, **counted(entry, own, done), "coverage": coverage, "measuring": measuring}


def counted(entry: Mapping, changes: Changes, done: Mapping[str, dict]) -> dict:
    """Return what became of the changes of a kind, and the survivors with the reasons that are known."""
    explained = [*entry.get("survivors", ()), *entry.get("reasons", ())]
    reasons = {(each["before"], each["after"]): each["reason"] for each in explained if each["reason"]}
    found = {text: done[text] for text in changes if text in done}
    counts = Counter(one["outcome"] for one in found.values())
    refused = Counter(one["claim"] for one in found.values() if "claim" in one)
    survivors, untried = [], []  # of what this sample leaves out, the reasons
    for text, one in changes.items():
        reason = reasons.get((one.words["before"], one.words["after"]), "")
        if moves := found.get(text, {}).get("moves"):
            survivors.append({**one.words, "moves": moves, "reason": reason})
        elif text not in found and reason:
            untried.append({**one.words, "reason": reason})
    numbers = {name: counts[name] for name in ("noticed", "moves_nothing", "crashed", "survived")}
    left = {"reasons": untried} if untried else {}
    counted = {
        "changes": len(changes),
        "tried": len(found),
        **numbers,
        "refused": dict(sorted(refused.items())),
    }
    return {**counted, "survivors": survivors, **left}


def attack(book: Book, name: str, page: Path, sample: int) -> str:
    """Try the changes of a chapter that have not been tried, and return in words what became of all."""
    path, key, changes = book.folder("attacks"), RULE + code_key(book, page), read_chapter(book, page)[1]
    if all(one.measures for one in changes.values()):
        raise ValueError("has nothing to change: no target is computed from anything")
    entry, tried, log = read_results(path).get(name, {}), sampled(changes, sample), list[str]()
    if entry.get("key") != key or entry["tried"] + entry["measuring"]["tried"] < len(tried):
        for text, found in outcomes(book, page, {*finished(entry, key), *set(changes).difference(tried)}):
            change_result(path, name, with_change, key, text, found)
        done = finished(read_results(path)[name], key)
        ends = {text: found for text, found in done.items() if "by" in found}
        log = [f"{name}, {text}\n    {one['outcome']}: {one['by']}" for text, one in ends.items()]
        change_result(path, name, closed, key, changes, tried, covered(shown(book, page)))
        entry = read_results(path)[name]
    for kind, part in (("", entry), (", what measures", entry["measuring"])):
        log += [f"{name}{kind}, {FORM.format(**one)}" for one in part["survivors"]]
        counts = [f"{number} {word}" for word, number in part.items() if isinstance(number, int)]
        explained = sum(bool(one["reason"]) for one in part["survivors"])
        log.append(f"{name}{kind}: {', '.join(counts)}, {explained} of them with a reason")
    return "\n".join(log)


def main(arguments: Sequence[str] | None = None) -> None:
    """Attack the chapters that are named, or all, and exit with 1 if one fails as it is."""
    parser = ArgumentParser(
        description="Change the theory of chapters a little, and list what no check notices."
    )
    parser.add_argument("--sample", type=int, default=sys.maxsize, help="so many changes a chapter, not all")
    run_chapters(attack, "attacks", parser, arguments)


if __name__ == "__main__":
    main()
