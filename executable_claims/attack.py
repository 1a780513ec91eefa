"""Attacks on chapters: their theory is changed a little, and what no check notices is listed.

``python -m executable_claims.attack [part/name ...] [--jobs N]``.  A process executes a chapter; before each
statement that may be changed it forks, and the copy goes on with the changed statement.  A change with which
something fails, has another shape or takes too long has been noticed; one that moves no target is none of
theory; the rest survives, and a person says in ``results/attacks.json`` for what reason.
"""

import argparse
import ast
import copy
import fcntl
import functools
import json
import os
import re
import signal
import sys
import tempfile
import time
import types
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from difflib import get_close_matches
from itertools import product
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

import executable_claims
from executable_claims.chapters import CHECKS, chapters, code_cells
from executable_claims.comparison import MISSED
from executable_claims.configuration import Book, find_book
from executable_claims.dependencies import MAGIC
from executable_claims.seeds import code_key, name_of

FACTOR, ROUNDING = 1.05, 1e-9  # what moves by less of its size has not moved
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
Changes = dict[str, tuple[int, ast.stmt]]  # in words: which statement it is that changes, and into what
LISTS = (ast.List, ast.ListComp, ast.Tuple, ast.JoinedStr)  # are joined and repeated by + and *


def called(node: Any) -> str:
    """Return the last name of what a call calls."""
    function = node.func if isinstance(node, ast.Call) else None
    return getattr(function, "id", getattr(function, "attr", ""))


def names(node: ast.AST, context: type = ast.Load) -> set[str]:
    """Return the names that code reads, or stores, without arguments and what is stored in loops inside."""
    walked = list(ast.walk(node))
    loops = [one.target for one in walked if isinstance(one, ast.comprehension)]
    stores = [one for each in [node] * isinstance(node, ast.FunctionDef) + loops for one in ast.walk(each)]
    inside = {one.id for one in stores if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}
    inside |= {one.arg for one in walked if isinstance(one, ast.arg)}
    return {one.id for one in walked if isinstance(one, ast.Name) and isinstance(one.ctx, context)} - inside


def bound(statement: ast.stmt) -> set[str]:
    """Return the names that a statement binds or, as ``found.append(x)`` and ``found[k] = x`` do, alters."""
    if isinstance(statement, ast.FunctionDef | ast.ClassDef):
        return {statement.name}
    found = names(statement, ast.Store)
    for node in ast.walk(statement):
        stored = isinstance(getattr(node, "ctx", None), ast.Store)
        inside = node if stored else getattr(node.value, "func", None) if isinstance(node, ast.Expr) else None
        if isinstance(inside, ast.Subscript | ast.Attribute):
            found |= names(inside.value)
        found |= {(one.asname or one.name).partition(".")[0] for one in [node] if isinstance(one, ast.alias)}
    return found


def feeding(statements: Sequence[ast.stmt], wanted: Iterable[str]) -> tuple[set[int], set[str]]:
    """Return which statements names hang on, and all names met on the way."""
    known, numbers = set(wanted), set()
    while more := {k for k, one in enumerate(statements) if bound(one) & known} - numbers:
        numbers |= more
        known = known.union(*(names(statements[k]) for k in more))
    return numbers, known


def targets(node: ast.AST, checks: set[str]) -> Iterator[ast.AST]:
    """What the checks in a statement compare with; what is measured too where only a number is typed."""
    if called(node) == "Variant":
        return
    given: list[tuple[Any, Any]] = [(one.arg, one.value) for one in getattr(node, "keywords", ())]
    if isinstance(node, ast.Dict):
        given = [(getattr(k, "value", ""), one) for k, one in zip(node.keys, node.values, strict=True)]
    elif called(node) in checks:  # or a function of the chapter that makes some
        yield from [*node.args[1:], *(one for name, one in given if name is None)]  # type: ignore[attr-defined]
    own = [one for name, one in given if name in MISSED]
    yield from own
    if own and not any(map(names, own)):
        yield from (one for name, one in given if name == "measured")
    for child in ast.iter_child_nodes(node):
        yield from targets(child, checks)


def sites(node: ast.AST) -> Iterator[Any]:
    """The arithmetic and the functions in code, but for settings, layout and data, which is what draws."""
    changeable = isinstance(node, ast.BinOp | ast.FunctionDef)
    data = changeable and any(DRAWS.fullmatch(called(one)) for one in ast.walk(node))
    joined = any(isinstance(getattr(node, one, None), LISTS) for one in ("left", "right"))
    if changeable and not data and not joined:
        yield node
    for child in ast.iter_child_nodes(node) if not LAYOUTS.fullmatch(called(node)) else ():
        setting = SETTINGS.fullmatch(getattr(child, "arg", None) or "")
        kept = isinstance(child, ast.FunctionDef) or not data
        if kept and not setting and child is not getattr(node, "slice", None):
            yield from sites(child)


def forms(node: Any, used: set[str]) -> Iterator[ast.AST]:
    """What a site may become; that a number written out is lost is seen sooner than 5 % of it."""
    if not isinstance(node, ast.BinOp):
        for name in {node.name} if isinstance(node, ast.FunctionDef) else sorted(bound(node) & used):
            yield ast.If(ast.Constant(True), [node, *ast.parse(f"{name} = _larger({name})").body], [])
        return
    (left, right), sign = (node.left, node.right), node.op
    values = [getattr(one, "value", 0) if isinstance(one, ast.Constant) else 0 for one in (left, right)]
    first, second = (one if type(one) in (int, float) else 0 for one in values)
    if first:
        yield ast.BinOp(ast.Constant(float(f"{FACTOR * first:.6g}")), sign, right)
    if second:
        yield ast.BinOp(left, sign, ast.Constant(float(f"{FACTOR * second:.6g}")))
    if isinstance(sign, ast.Pow):
        yield ast.BinOp(left, sign, ast.BinOp(right, ast.Div(), ast.Constant(2)))
    elif type(sign) in OPPOSITE:
        alone = {ast.Sub: ast.UnaryOp(ast.USub(), right), ast.Div: ast.BinOp(ast.Constant(1), sign, right)}
        yield ast.BinOp(left, OPPOSITE[type(sign)](), right)
        yield from [left] * (not second) + [alone.get(type(sign), right)] * (not first)


def read_chapter(page: Path) -> tuple[list[ast.stmt], set[int], Changes]:
    """Return the statements of a chapter, which of them its checks need, and the changes of its theory."""
    codes = enumerate((MAGIC.sub("", cell.source) for cell in code_cells(page)), 1)
    pairs = [(one, cell) for cell, code in codes for one in ast.parse(code).body]
    statements = [one for one, _ in pairs]
    makers = [one for one in statements if isinstance(one, ast.FunctionDef) and names(one) & {*CHECKS}]
    checks = {*CHECKS, *(one.name for one in makers)}
    roots = [list(targets(one, checks)) for one in statements]
    numbers, used = feeding(statements, set().union(*(names(root) for each in roots for root in each)))
    changes: Changes = {}
    for number, (statement, cell) in enumerate(pairs):
        found = [each for one in ([statement] if number in numbers else roots[number]) for each in sites(one)]
        if isinstance(statement, ast.ImportFrom) and THEORY & {*(statement.module or "").split(".")}:
            found = [statement]
        for site, form in [(site, form) for one in found for site, form in product([one], forms(one, used))]:
            other = copy.deepcopy(statement, {id(site): ast.fix_missing_locations(form)})
            grown = f"{form.body[-1].targets[0].id}(...)" if isinstance(form, ast.If) else ""  # type: ignore
            before, after = (grown, f"{FACTOR} * {grown}") if grown else map(ast.unparse, (site, form))
            text = f"cell {cell}, line {site.lineno}: {before} -> {after}"
            changes.setdefault(text, (number, ast.fix_missing_locations(other)))
    imports = (ast.Import, ast.ImportFrom)
    deciding = {k for k, one in enumerate(statements) if names(one) & checks or isinstance(one, imports)}
    needed = deciding | feeding(statements, set().union(*(names(statements[k]) for k in deciding)))[0]
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
        entries = {name: list(zip(old[name], new[name], strict=True)) for name in (*old, *new)}
        size = {name: max((abs(x) for x, _ in pairs), default=0.0) for name, pairs in entries.items()}
        far = {name: max((abs(x - y) for x, y in pairs), default=0.0) for name, pairs in entries.items()}
        moved = [name for name in old if not far[name] <= ROUNDING * (size[name] or 1.0)]
        own = [name for name in moved if not name.startswith("control")]
        typed = all(x == round(x) for name in MISSED for x in old.get(name, ()))
        # A control that moves alone counts too: it shows something else than it says.
        if (moved and not own) or any(typed or name != "measured" for name in own):
            moves += [f"{name} of {claim} by {far[name]:.2g} of {size[name]:.2g}" for name in own or moved]
    return {"outcome": "survived", "moves": "; ".join(moves)} if moves else {"outcome": "moves_nothing"}


def forked(work: Callable[[], dict], seconds: float = 0.0) -> dict:
    """Return what ``work`` returns in a copy of this process, or an error; 0 seconds are no limit."""
    with tempfile.TemporaryFile("w+") as file:
        if not (child := os.fork()):
            signal.setitimer(signal.ITIMER_PROF, seconds)  # of a core
            signal.setitimer(signal.ITIMER_REAL, 20 * seconds)  # for what waits, on a busy machine
            try:
                answer = work()
            except BaseException as error:
                answer = {"outcome": "noticed", "error": f"{type(error).__name__}: {error}"[:300]}
            json.dump(answer, file)
            file.flush()
            os._exit(0)
        os.waitpid(child, 0)
        file.seek(0)
        text = file.read()
    return json.loads(text) if text.endswith("}") else {"outcome": "noticed", "error": "no end, or a crash"}


def outcomes(book: Book, page: Path, done: Iterable[str]) -> Iterator[tuple[str, dict]]:
    """Execute a chapter with each change that is not done; ``ValueError`` if it fails as it is."""
    (statements, needed, changes), seen = read_chapter(page), []
    os.chdir(page.parent)
    sys.path[:0] = [str(page.parent), *(str(book.root / one) for one in book.modules)]
    sys.modules["__main__"] = module = types.ModuleType("__main__")
    vars(module).update(_larger=larger, display=print)
    home = sys.modules["executable_claims.verify"]
    executable_claims.verify = home.verify = noting(home.verify, seen)  # type: ignore[attr-defined, assignment]

    def execute(*first: ast.stmt, start: int = 0, end: int = len(statements)) -> dict:
        for one in [*first, *(statements[k] for k in sorted(needed) if start <= k < end)]:
            exec(compile(ast.Module([one], []), "chapter", "exec"), vars(module))
        return {"seen": seen, "seconds": time.process_time()}

    if "error" in (known := forked(execute)):
        needed = set(range(len(statements)))  # something needed was left out: the drawings as well
        if "error" in (known := forked(execute)):
            raise ValueError(known["error"])

    def attempt(number: int, changed: ast.stmt) -> dict:
        return judged(known["seen"], execute(changed, start=number + 1)["seen"])

    at = 0
    for text, (number, changed) in changes.items():  # in the order of the statements
        if text not in done and number in needed:
            execute(start=at, end=number)
            at = number
            yield text, forked(functools.partial(attempt, number, changed), 2 + 5 * known["seconds"])


def read_results(book: Book) -> dict[str, Any]:
    """Return what has been found, by chapter."""
    path = book.folder("attacks")
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def write_result(book: Book, name: str, entry: dict) -> None:
    """Write what has been found of one chapter, all of it or nothing, one process after the other."""
    path = book.folder("attacks")
    path.parent.mkdir(parents=True, exist_ok=True)
    folder = os.open(path.parent, os.O_RDONLY)
    fcntl.flock(folder, fcntl.LOCK_EX)
    text = json.dumps(dict(sorted({**read_results(book), name: entry}.items())), indent=1, ensure_ascii=False)
    path.with_suffix(".new").write_text(text + "\n", encoding="utf-8")
    path.with_suffix(".new").replace(path)
    os.close(folder)


def summed(changes: Iterable[str], finished: dict[str, dict], old: dict[str, Any]) -> dict[str, Any]:
    """Return the counts of a chapter, and its survivors with the reasons that are known."""
    reasons = {(one["before"], one["after"]): one["reason"] for one in old.get("survivors", ())}
    tried = {text: finished[text] for text in changes if text in finished}
    counts = Counter(one["outcome"] for one in tried.values())
    form = re.compile("(?P<place>.*?): (?P<before>.*) -> (?P<after>.*)", re.S)
    found = [(form.fullmatch(text), one["moves"]) for text, one in tried.items() if "moves" in one]
    survivors = [{**match.groupdict(), "moves": moves} for match, moves in found if match]
    for one in survivors:
        one["reason"] = reasons.get((one["before"], one["after"]), "")
    named = {name: counts[name] for name in ("noticed", "moves_nothing", "survived")}
    return {"changes": len(tried), **named, "survivors": survivors}


def attack(book: Book, name: str, page: Path) -> str:
    """Try the changes of a chapter that have not been tried, and return what survives in words."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what the chapter prints
    digest = code_key(book, page)
    entry = read_results(book).get(name, {})
    if entry.get("key") != digest:
        partial = entry.get("partial", {})
        finished = dict(partial["finished"]) if partial.get("key") == digest else {}
        for text, found in outcomes(book, page, set(finished)):
            finished[text] = found
            write_result(book, name, {**entry, "partial": {"key": digest, "finished": finished}})
        entry = {"key": digest, **summed(read_chapter(page)[2], finished, entry)}
        write_result(book, name, entry)
    form = "{place}: {before} -> {after}\n    moves {moves}; {reason}"
    lines = [f"{name}, {form.format(**one)}" for one in entry["survivors"]]
    counts = [f"{number} {word}" for word, number in entry.items() if isinstance(number, int)]
    explained = sum(bool(one["reason"]) for one in entry["survivors"])
    return "\n".join([*lines, f"{name}: {', '.join(counts)}, {explained} of them with a reason"])


def main(arguments: Sequence[str] | None = None) -> None:
    """Attack the chapters that are named, or all, and exit with 1 if one fails as it is."""
    parser = argparse.ArgumentParser(prog="attack", description=__doc__.partition("\n")[0])
    parser.add_argument("chapters", nargs="*", help="part/name; all if none is given")
    parser.add_argument("--jobs", type=int, default=1, help="so many chapters at a time")
    options, book = parser.parse_args(arguments), find_book()
    pages = {name_of(book, page): page for page in chapters(book)}
    for name in set(options.chapters) - set(pages):
        near = ", ".join(get_close_matches(name, pages, 3, 0.3) or pages)
        parser.error(f"chapters has {name!r}, allowed: a chapter of the book; nearest: {near}")
    os.environ |= {"OMP_NUM_THREADS": "1", "MPLBACKEND": "Agg"}
    with ProcessPoolExecutor(options.jobs, get_context("spawn"), max_tasks_per_child=1) as pool:
        runs = {name: pool.submit(attack, book, name, pages[name]) for name in options.chapters or pages}
        for name, run in runs.items():
            error = run.exception()
            print(f"{name} fails as it is: {error}" if error else run.result(), flush=True)
    sys.exit(any(run.exception() for run in runs.values()))


if __name__ == "__main__":
    main()
