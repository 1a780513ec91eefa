"""Runs the chapters with all draws shifted: no verdict may hang on a seed.

``python -m executable_claims.seeds`` runs every chapter under twenty shifts as pytest does, and notes after
each what was found.  What was run of a chapter whose code, and what it reaches, is the same is not run again.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from joblib import Parallel, delayed

from executable_claims.configuration import Book, find_book
from executable_claims.results import chosen, code_key, read_results, write_result

SHIFTS = range(1, 21)


def passes(book: Book, page: Path, shift: int) -> bool:
    """Whether all verdicts of a page are as recorded with the draws shifted."""
    environment = {**os.environ, book.seed: str(shift), "OMP_NUM_THREADS": "1"}
    run = [sys.executable, "-m", "pytest", "-q", "-n", "0", str(page)]
    return subprocess.run(run, cwd=book.root, env=environment, capture_output=True).returncode == 0


def run_all(book: Book, pages: Mapping[str, Path], shifts: Sequence[int], jobs: int) -> list[str]:
    """Run what has not been run of the pages, and return in words what failed."""
    path = book.folder("seeds")
    results = read_results(path)
    for name, page in pages.items():
        now = code_key(book, page)
        if results.get(name, {}).get("key") != now:
            results[name] = {"key": now, "passed": [], "failed": []}
    known = {name: {*results[name]["passed"], *results[name]["failed"]} for name in pages}
    waiting = [(name, shift) for name in pages for shift in shifts if shift not in known[name]]
    runs = Parallel(jobs, prefer="threads", return_as="generator")
    found = runs(delayed(passes)(book, pages[name], shift) for name, shift in waiting)
    for (name, shift), passed in zip(waiting, found, strict=True):
        results[name]["passed" if passed else "failed"].append(shift)
        write_result(path, name, results[name])
    return [f"{name} fails with {book.seed}={shift}" for name in pages for shift in results[name]["failed"]]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the chapters named, or all, and exit with 1 if a verdict changes."""
    parser = argparse.ArgumentParser(description="Run the chapters with all draws shifted.")
    parser.add_argument("chapters", nargs="*", help="part/name; all if none is given")
    parser.add_argument("--shifts", type=int, default=len(SHIFTS), help="how many shifts")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    options, book = parser.parse_args(arguments), find_book()
    wanted = chosen(book, parser, options.chapters)
    if failed := run_all(book, wanted, SHIFTS[: options.shifts], options.jobs):
        raise SystemExit("\n".join(failed))
    print(f"{len(wanted)} chapters, {options.shifts} shifts: no verdict changed")


if __name__ == "__main__":
    main()
