"""Outcomes of executed pages, kept for the site, whoever executed them: a build, or the tests.

Every page has its own cache, in a folder that its key names (see ``dependencies``); myst-nb, which looks
there while it reads the page, only puts the outputs in.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from jupyter_cache import get_cache
from jupyter_cache.base import CacheBundleIn
from myst_nb.core.read import read_myst_markdown_notebook
from nbformat import NotebookNode

from executable_claims.claims.configuration import Book

KEPT = 4  # outcomes of a page: a change that is taken back need not be executed again


def read_page(page: Path) -> NotebookNode:
    """A page as a notebook without outputs."""
    text = page.read_text(encoding="utf-8")
    return read_myst_markdown_notebook(text, add_source_map=True, path=page)


def cache_folder(book: Book, page: Path, key: str) -> Path:
    """Where the outcome of a page with that key is kept."""
    name = ".".join(page.relative_to(book.root).with_suffix("").parts)
    return book.root / "_build" / ".jupyter_cache" / name / key


def has_outcome(book: Book, page: Path, key: str) -> bool:
    """Whether the outcome of a page with that key is kept."""
    folder = cache_folder(book, page, key)
    if not folder.exists():
        return False
    try:
        get_cache(folder).match_cache_notebook(read_page(page))
    except KeyError:
        return False
    return True


def keep_outcome(book: Book, page: Path, key: str, executed: NotebookNode, seconds: float) -> None:
    """Keep what a page, as a notebook with outputs, has come to, and how many seconds that took."""
    folder = cache_folder(book, page, key)
    outcome = CacheBundleIn(executed, str(page), data={"execution_seconds": seconds})
    get_cache(folder).cache_notebook_bundle(outcome, check_validity=False, overwrite=True)
    for old in sorted(folder.parent.iterdir(), key=lambda each: each.stat().st_mtime)[:-KEPT]:
        shutil.rmtree(old)


def executed_page(book: Book, page: Path, key: str) -> NotebookNode:
    """A page as a notebook with the outputs that are kept of it."""
    return get_cache(cache_folder(book, page, key)).merge_match_into_notebook(read_page(page))[1]
