"""Runs the chapters with all draws shifted: no verdict may hang on a seed.

``python -m executable_claims.seeds [part/name ...] [--jobs N]`` runs every chapter under twenty shifts as
pytest does, and notes after each what was found.  What was run of a chapter whose code, and what it reaches,
is the same is not run again.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from executable_claims.configuration import Book
from executable_claims.results import change_result, code_key, read_results, run_chapters

SHIFTS = range(1, 21)


def passes(book: Book, page: Path, shift: int) -> bool:
    """Whether all verdicts of a page are as recorded with the draws shifted."""
    run = [sys.executable, "-m", "pytest", "-q", "-n", "0", str(page)]
    environment = {**os.environ, book.seed: str(shift)}
    return subprocess.run(run, cwd=book.root, env=environment, capture_output=True).returncode == 0


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
    for shift in SHIFTS:
        entry = known(read_results(path).get(name, {}), key)
        if shift not in (*entry["passed"], *entry["failed"]):
            kind = "passed" if passes(book, page, shift) else "failed"
            change_result(path, name, with_shift, key, shift, kind)
    if failed := read_results(path)[name]["failed"]:
        raise ValueError(f"fails with {book.seed}={', '.join(map(str, failed))}")
    return f"{name}: no verdict changed under {len(SHIFTS)} shifts"


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the chapters named, or all, and exit with 1 if a verdict changes."""
    run_chapters(draw_anew, "Run the chapters with all draws shifted.", arguments)


if __name__ == "__main__":
    main()
