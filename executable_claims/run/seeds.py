"""Runs the chapters with all draws shifted: no verdict may hang on a seed.

``python -m executable_claims.run.seeds [part/name ...] [--jobs N]`` runs every chapter under twenty shifts,
and notes after each whether all its checks came out as the ledger expects.  A process imports what is not the
book's own, which may draw when it is imported, and forks for each shift; where the system cannot, each shift
has a process that begins anew.  What was run of a chapter whose code, and what it reaches, is the same is not
run again.
"""

from __future__ import annotations

import os
from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from executable_claims.claims.configuration import Book
from executable_claims.run.dependencies import IMPORTS, is_foreign
from executable_claims.run.results import change_result, code_key, read_results, run_chapters
from executable_claims.run.script import FORKS, enter, execute, forked, read_statements

SHIFTS = range(1, 21)


def failures(book: Book, page: Path, shifts: Sequence[int]) -> Iterator[tuple[int, str]]:
    """Yield each shift with what is wrong with the chapter's draws so shifted; nothing is an empty text."""
    if not FORKS:
        yield from ((shift, alone(book, page, shift)) for shift in shifts)
        return
    statements = [statement.code for statement in read_statements(page)]
    variables = enter(book, page)
    imports = [code for code in statements if isinstance(code, IMPORTS) and is_foreign(code, book, page)]
    execute(imports, variables)

    def run() -> dict:
        execute((code for code in statements if code not in imports), variables)
        return {}

    for shift in shifts:
        os.environ[book.seed] = str(shift)
        yield shift, forked(run).get("error", "")


def alone(book: Book, page: Path, shift: int) -> str:
    """What is wrong with a chapter's draws so shifted, run in a process that begins anew."""
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        error = pool.submit(execute_shifted, book, page, shift).exception()
    return f"{type(error).__name__}: {error}"[:300] if error else ""


def execute_shifted(book: Book, page: Path, shift: int) -> None:
    """Run a chapter in this process with its draws shifted; raises what a check raises."""
    os.environ[book.seed] = str(shift)
    variables = enter(book, page)
    execute((statement.code for statement in read_statements(page)), variables)


def known(entry: dict, key: str) -> dict:
    """What has been found of a chapter whose code has that key."""
    return entry if entry.get("key") == key else {"key": key, "passed": [], "failed": []}


def with_shift(entry: dict, key: str, shift: int, kind: str) -> dict:
    """An entry to which a shift is added."""
    entry = known(entry, key)
    return {**entry, kind: sorted({*entry[kind], shift})}


def draw_anew(book: Book, name: str, page: Path) -> str:
    """Run a chapter under the shifts that it was not run under; ``ValueError`` if a verdict changes."""
    path, key = book.folder("seeds"), code_key(book, page)
    entry = known(read_results(path).get(name, {}), key)
    left = [shift for shift in SHIFTS if shift not in (*entry["passed"], *entry["failed"])]
    errors = {}
    for shift, error in failures(book, page, left) if left else ():
        errors[shift] = error
        change_result(path, name, with_shift, key, shift, "failed" if error else "passed")
    if failed := read_results(path)[name]["failed"]:
        said = "; ".join(f"{book.seed}={shift} {errors.get(shift, '')}".strip() for shift in failed)
        raise ValueError(f"fails with {said}")
    return f"{name}: no verdict changed under {len(SHIFTS)} shifts"


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the chapters named, or all, and exit with 1 if a verdict changes."""
    parser = ArgumentParser(description="Run the chapters with all draws shifted.")
    run_chapters(draw_anew, "seeds", parser, arguments)


if __name__ == "__main__":
    main()
