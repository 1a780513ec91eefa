"""What long runs over the chapters found, kept in one file a command: by chapter, with a key of its code."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from argparse import ArgumentParser
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path

from executable_claims.chapters import chapters, code_cells
from executable_claims.configuration import Book
from executable_claims.dependencies import ENGINE, dependencies


def code_key(book: Book, page: Path) -> str:
    """Return a digest of the code of a page and all that it reaches but the engine, which has tests."""
    code = "\n".join(cell.source for cell in code_cells(page))
    found = dependencies(page, code, book).items()
    parts = [code, *(f"{name} {digest}" for name, digest in found if not name.startswith(ENGINE))]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def chosen(book: Book, parser: ArgumentParser, names: Sequence[str]) -> dict[str, Path]:
    """Return the chapters that are named, or all, as part/name; an unknown one ends the command."""
    pages = book.folder("pages")
    known = {page.relative_to(pages).with_suffix("").as_posix(): page for page in chapters(book)}
    for name in set(names) - set(known):
        near = ", ".join(get_close_matches(name, known, 3, 0.3) or known)
        parser.error(f"chapters has {name!r}, allowed: a chapter of the book; nearest: {near}")
    return {name: known[name] for name in names or known}


def read_results(path: Path) -> dict[str, dict]:
    """Return what has been found, by chapter."""
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def write_result(path: Path, name: str, entry: dict) -> None:
    """Write what has been found of one chapter, all of it or nothing, one process after the other."""
    path.parent.mkdir(parents=True, exist_ok=True)
    folder = os.open(path.parent, os.O_RDONLY)
    fcntl.flock(folder, fcntl.LOCK_EX)
    text = json.dumps(dict(sorted({**read_results(path), name: entry}.items())), indent=1, ensure_ascii=False)
    new = path.with_suffix(".new")
    new.write_text(text + "\n", encoding="utf-8")
    new.replace(path)
    os.close(folder)
