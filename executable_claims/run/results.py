"""Long runs over the chapters, and what they find: a file a command, by chapter, with a key of its code."""

from __future__ import annotations

import hashlib
import json
import os
import sys
import tempfile
from argparse import ArgumentParser
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from difflib import get_close_matches
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from filelock import FileLock

from executable_claims.claims.configuration import Book, find_book, read_json
from executable_claims.run.chapters import chapters, code_cells
from executable_claims.run.dependencies import ENGINE, dependencies


def code_key(book: Book, page: Path) -> str:
    """Return a digest of the code of a page and all that it reaches but the engine, which has tests."""
    code = "\n".join(cell.source for cell in code_cells(page))
    digests = dependencies(page, book).items()
    parts = [code, *(f"{name} {digest}" for name, digest in digests if not name.startswith(ENGINE))]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def read_results(path: Path) -> dict[str, dict]:
    """Return what has been found, by chapter."""
    return read_json(path) if path.exists() else {}


def change_result(path: Path, name: str, change: Callable[..., dict], *given: Any) -> None:
    """Write what a change that is ``given`` something makes of the entry of a chapter.

    All of it is written or nothing, and one process after the other does so: none loses what another found.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(Path(tempfile.gettempdir(), f"{hashlib.sha256(str(path).encode()).hexdigest()[:16]}.lock")):
        known = read_results(path)
        known[name] = change(known.get(name, {}), *given)
        text = json.dumps(dict(sorted(known.items())), indent=1, ensure_ascii=False)
        new = path.with_suffix(".new")
        new.write_text(text + "\n", encoding="utf-8")
        new.replace(path)


def run_chapters(
    work: Callable[..., str], results: str, parser: ArgumentParser, arguments: Sequence[str] | None
) -> None:
    """A command that does its ``work`` on the chapters named, or all, and prints what it returns in words.

    The work is given the book, the name and the page of a chapter, and what the parser has of its own; its
    ``results`` are in the file that this field of the book says.  Every chapter has a process of its own.  An
    error of a chapter is said, and the command then fails.
    """
    parser.add_argument("chapters", nargs="*", help="part/name; all if none is given")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="so many chapters at a time")
    options, book = vars(parser.parse_args(arguments)), find_book()
    asked, jobs = options.pop("chapters"), options.pop("jobs")
    pages = book.folder("pages")
    known = {page.relative_to(pages).with_suffix("").as_posix(): page for page in chapters(book)}
    if not known:
        parser.error(f"no chapter lies in {pages}: a page in a part, or one that decides a claim")
    for name in set(asked) - set(known):
        near = ", ".join(get_close_matches(name, known, 3, 0.3) or known)
        parser.error(f"chapters has {name!r}, allowed: a chapter of the book; nearest: {near}")
    try:
        read_results(book.folder(results))
    except ValueError as broken:
        parser.error(str(broken))
    os.environ |= {"OMP_NUM_THREADS": "1", "MPLBACKEND": "template"}
    with ProcessPoolExecutor(jobs, get_context("spawn"), max_tasks_per_child=1) as pool:
        runs = {name: pool.submit(work, book, name, known[name], **options) for name in asked or known}
        for name, run in runs.items():
            error = run.exception()
            print(f"{name} {error}" if error else run.result(), flush=True)
    sys.exit(any(run.exception() for run in runs.values()))
