"""Attacks on chapters: their theory is changed a little, and what no check notices is listed.

``python -m executable_claims.run.attack [part/name ...] [--jobs N] [--sample N]``.  A process executes a
chapter; before each statement that may be changed (:mod:`.changes`) it forks, and the copy goes on with the
changed statement.  A change has been *noticed* if a check refused: ``verify``, ``beside`` or an ``assert``.
One that moves nothing that is compared, said or drawn is none of theory.  A crash, or a run without an end,
is no notice, and counted apart.  The rest survives, and a person says in ``results/attacks.json`` for what
reason.  Modules that a book names are read with the chapter that imports them (:mod:`.inlining`).

What measures is changed too (:mod:`.misreadings`), and counted apart, as ``measuring``.  Such a change counts
where it moves what is measured and not what this should be.
"""

from __future__ import annotations

import builtins
import functools
import hashlib
import re
import sys
import time
import types
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import IPython.display

import executable_claims
from executable_claims.claims.configuration import Book
from executable_claims.run.changes import FACTOR, Change, Changes, read_chapter
from executable_claims.run.chapters import code_cells
from executable_claims.run.coverage import covered, shown
from executable_claims.run.moves import comparing, draw, misread, moved, refusing, saying
from executable_claims.run.results import change_result, code_key, read_results, run_chapters
from executable_claims.run.script import FORKS, enter, execute, forked

FORM = "{place}: {before} -> {after}\n    moves {moves}; {reason}"
RULE = "3-"  # what is counted: entries of another rule are as those of other code
SIZE = re.compile(r" (by \S+ of [^\s;]+|in another shape)")  # how far something moves
SLOWER = 2  # a change that makes a chapter so much slower is given up


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
    (chapter, changes), seen, place = read_chapter(book, page), list[list](), list[int]()
    figures = [cell.metadata.get("mystnb", {}).get("figure", {}).get("name") for cell in code_cells(page)]
    variables = enter(book, page)
    vars(builtins)["_larger"] = larger
    home: Any = import_module("executable_claims.claims.verify")
    executable_claims.verify = home.verify = comparing(home.verify, seen)
    executable_claims.beside = refusing(executable_claims.beside, "beside")
    IPython.display.display = saying(seen)

    def run(start: int = 0, end: int = len(chapter), change: Change | None = None) -> dict:
        for number in range(start, end):
            code, cell, module = chapter[number]
            place.append(cell)
            space = vars(import_module(module)) if module else variables
            execute([change.code if change and number == start else code], space)
            if cell not in [statement.cell for statement in chapter[number + 1 : number + 2]]:
                draw(figures[cell - 1] or f"the figure of cell {cell}", seen)
        return {"seen": seen, "seconds": time.process_time()}

    if "error" in (known := forked(run)):
        raise ValueError(f"fails as it is: {known['error']}")

    def attempt(change: Change) -> dict:
        try:
            judge = misread if change.measures else moved
            moves = judge(known["seen"], run(change.number, change=change)["seen"])
        except Exception as error:
            return ended(error, f"cell {place[-1]}")
        return {"outcome": "survived", "moves": moves} if moves else {"outcome": "moves_nothing"}

    at = 0
    for text, change in changes.items():  # in the order of the statements
        if text not in done:
            run(at, change.number)
            at = change.number
            outcome = forked(functools.partial(attempt, change), 2 + SLOWER * known["seconds"])
            yield text, outcome if "outcome" in outcome else {"outcome": "crashed", "by": outcome["error"]}


def ended(error: Exception, place: str) -> dict:
    """The outcome of a change that ends in an error: a check has refused it, or it crashed."""
    text = str(error).partition("; tolerance")[0]
    if isinstance(error, AssertionError):
        claim = getattr(error, "claim", "assert")
        return {"outcome": "noticed", "claim": claim, "by": f"{place}: {text}"[:200]}
    return {"outcome": "crashed", "by": f"{place}: {type(error).__name__}: {text}"[:200]}


def finished(entry: Mapping, key: str) -> dict[str, dict]:
    """The outcomes of a chapter whose code has that key, by change, before it was interrupted."""
    partial = entry.get("partial", {})
    return partial["finished"] if partial.get("key") == key else {}


def with_change(entry: dict, key: str, text: str, outcome: dict) -> dict:
    """An entry to which the outcome of a change is added."""
    return {**entry, "partial": {"key": key, "finished": {**finished(entry, key), text: outcome}}}


def of_kind(changes: Changes, measures: bool) -> Changes:
    """Return the changes of theory, or of what measures."""
    return {text: change for text, change in changes.items() if change.measures == measures}


def sampled(changes: Changes, size: int) -> list[str]:
    """Return so many changes of each kind, or all if there are not more, each with the same chance."""
    digests = {text: hashlib.sha256(text.encode()).digest() for text in changes}
    kinds = (of_kind(changes, measures) for measures in (False, True))
    return [text for kind in kinds for text in sorted(kind, key=digests.__getitem__)[:size]]


def closed(entry: dict, key: str, changes: Changes, tried: Sequence[str], coverage: Mapping) -> dict:
    """Return the counts of a chapter, and its survivors with the reasons that are known."""
    theory, measuring = of_kind(changes, False), of_kind(changes, True)
    if entry.get("key") == key and entry["tried"] >= len({*theory} & {*tried}):  # by another run
        return {name: value for name, value in entry.items() if name != "partial"}
    done = {text: outcome for text, outcome in finished(entry, key).items() if text in tried}
    counts = counted(entry.get("measuring", {}), measuring, done)
    return {"key": key, **counted(entry, theory, done), "coverage": coverage, "measuring": counts}


def counted(entry: Mapping, changes: Changes, done: Mapping[str, dict]) -> dict:
    """Return what became of the changes of a kind, and the survivors with the reasons that are known."""
    explained = [each for name in ("survivors", "reasons") for each in entry.get(name, ()) if each["reason"]]
    survivors = []
    for text, change in changes.items():
        if moves := done.get(text, {}).get("moves"):
            survivor = {**change.words, "moves": moves}
            reason = next((each["reason"] for each in explained if excuses(each, survivor)), "")
            survivors.append(survivor | {"reason": reason})
    left = {(c.words["before"], c.words["after"]) for text, c in changes.items() if text not in done}
    untried = [  # of what this sample leaves out, the reasons
        each
        for each in explained
        if (each["before"], each["after"]) in left and not any(excuses(each, other) for other in survivors)
    ]
    tried = [outcome for text, outcome in done.items() if text in changes]
    counts = Counter(outcome["outcome"] for outcome in tried)
    refused = Counter(outcome["claim"] for outcome in tried if "claim" in outcome)
    return {
        "changes": len(changes),
        "tried": len(tried),
        **{name: counts[name] for name in ("noticed", "moves_nothing", "crashed", "survived")},
        "refused": dict(sorted(refused.items())),
        "survivors": survivors,
        **({"reasons": untried} if untried else {}),
    }


def excuses(explained: Mapping, survivor: Mapping) -> bool:
    """Tell whether a reason is of this change too: of the same words, and what moves, if it says so."""
    before, after = (SIZE.sub("", each.get("moves", "")) for each in (explained, survivor))
    same = all(explained[name] == survivor[name] for name in ("before", "after"))
    return same and before in ("", after)


def attack(book: Book, name: str, page: Path, sample: int) -> str:
    """Try the changes of a chapter that have not been tried, and return in words what became of all."""
    if not FORKS:
        raise ValueError("is not attacked: that asks for a system with fork, as Linux, macOS and WSL are")
    path, key, changes = book.folder("attacks"), RULE + code_key(book, page), read_chapter(book, page)[1]
    if not of_kind(changes, measures=False):
        raise ValueError("has nothing to change: no target is computed from anything")
    entry, tried, log = read_results(path).get(name, {}), sampled(changes, sample), list[str]()
    if entry.get("key") != key or entry["tried"] + entry["measuring"]["tried"] < len(tried):
        for text, outcome in outcomes(book, page, {*finished(entry, key), *set(changes).difference(tried)}):
            change_result(path, name, with_change, key, text, outcome)
        for text, outcome in finished(read_results(path)[name], key).items():
            if "by" in outcome:
                log.append(f"{name}, {text}\n    {outcome['outcome']}: {outcome['by']}")
        change_result(path, name, closed, key, changes, tried, covered(shown(book, page)))
        entry = read_results(path)[name]
    return "\n".join([*log, *said_of(name, entry), *said_of(f"{name}, what measures", entry["measuring"])])


def said_of(name: str, entry: Mapping) -> Iterator[str]:
    """Say which changes of a kind survived, and how many had which outcome."""
    yield from (f"{name}, {FORM.format(**survivor)}" for survivor in entry["survivors"])
    counts = [f"{number} {word}" for word, number in entry.items() if isinstance(number, int)]
    explained = sum(bool(survivor["reason"]) for survivor in entry["survivors"])
    yield f"{name}: {', '.join(counts)}, {explained} of them with a reason"


def main(arguments: Sequence[str] | None = None) -> None:
    """Attack the chapters that are named, or all, and exit with 1 if one fails as it is."""
    parser = ArgumentParser(
        description="Change the theory of chapters a little, and list what no check notices."
    )
    parser.add_argument("--sample", type=int, default=sys.maxsize, help="so many changes a chapter, not all")
    run_chapters(attack, "attacks", parser, arguments)


if __name__ == "__main__":
    main()
