"""Runs the chapters with all draws shifted: no verdict may hang on a seed.

``python -m executable_claims.seeds`` runs every chapter under twenty shifts as pytest does, and notes after
each what was found.  What was run of a chapter whose code, and what it reaches, is the same is not run again.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

from executable_claims.chapters import chapters, code_cells
from executable_claims.configuration import Book, find_book
from executable_claims.dependencies import key

SHIFTS = range(1, 21)


def code_key(book: Book, page: Path) -> str:
    """Return a digest of the code of a page and of all that it reaches."""
    code = "\n".join(cell.source for cell in code_cells(page))
    return hashlib.sha256(f"{key(page, code, book)} {code}".encode()).hexdigest()[:16]


def name_of(book: Book, page: Path) -> str:
    return page.relative_to(book.folder("pages")).with_suffix("").as_posix()


def passes(book: Book, page: Path, shift: int) -> bool:
    """Whether all verdicts of a page are as recorded with the draws shifted."""
    environment = {**os.environ, book.seed: str(shift), "OMP_NUM_THREADS": "1"}
    run = [sys.executable, "-m", "pytest", "-q", "-n", "0", str(page)]
    return subprocess.run(run, cwd=book.root, env=environment, capture_output=True).returncode == 0


def read_results(book: Book) -> dict[str, dict]:
    """Return what was found of each chapter: the key of its code, and which shifts passed and failed."""
    path = book.folder("seeds")
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def write_results(book: Book, results: dict[str, dict]) -> None:
    """Write what has been found, all of it or nothing."""
    path = book.folder("seeds")
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_suffix(".partial")
    new.write_text(json.dumps(dict(sorted(results.items())), indent=1) + "\n", encoding="utf-8")
    new.replace(path)


def run_all(book: Book, pages: Sequence[Path], shifts: Sequence[int], jobs: int) -> list[str]:
    """Run what has not been run of the pages, and return in words what failed."""
    results = read_results(book)
    waiting = []
    for page in pages:
        name, now = name_of(book, page), code_key(book, page)
        if results.get(name, {}).get("key") != now:
            results[name] = {"key": now, "passed": [], "failed": []}
        known = {*results[name]["passed"], *results[name]["failed"]}
        waiting += [(page, shift) for shift in shifts if shift not in known]
    with ThreadPoolExecutor(jobs) as pool:
        running = {pool.submit(passes, book, page, shift): (page, shift) for page, shift in waiting}
        try:
            for done in as_completed(running):
                page, shift = running[done]
                found = results[name_of(book, page)]["passed" if done.result() else "failed"]
                found[:] = sorted([*found, shift])
                write_results(book, results)
        except KeyboardInterrupt:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    names = [name_of(book, page) for page in pages]
    return [f"{name} fails with {book.seed}={shift}" for name in names for shift in results[name]["failed"]]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the chapters named, or all, and exit with 1 if a verdict changes."""
    parser = argparse.ArgumentParser(description="Run the chapters with all draws shifted.")
    parser.add_argument("chapters", nargs="*", help="part/name; all if none is given")
    parser.add_argument("--shifts", type=int, default=len(SHIFTS), help="how many shifts")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    options = parser.parse_args(arguments)
    book = find_book()
    pages = {name_of(book, page): page for page in chapters(book)}
    if unknown := set(options.chapters) - set(pages):
        parser.error(f"no chapter {', '.join(sorted(unknown))}, allowed: {', '.join(pages)}")
    wanted = [pages[name] for name in options.chapters or pages]
    if failed := run_all(book, wanted, SHIFTS[: options.shifts], options.jobs):
        raise SystemExit("\n".join(failed))
    print(f"{len(wanted)} chapters, {options.shifts} shifts: no verdict changed")


if __name__ == "__main__":
    main()
