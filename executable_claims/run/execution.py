"""Executes pages on all cores before Sphinx reads them, each only if something it depends on has changed."""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path
from threading import Lock
from typing import Any

from joblib import Parallel, delayed
from myst_nb.sphinx_ import NbMetadataCollector
from nbclient import NotebookClient
from nbformat import NotebookNode
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.errors import ExtensionError
from sphinx.util import logging
from traitlets.config import Config

from executable_claims.claims.configuration import Book, find_book
from executable_claims.run.cache import cache_folder, executed_page, has_outcome, keep_outcome, read_page
from executable_claims.run.chapters import is_executed
from executable_claims.run.dependencies import key

LOGGER = logging.getLogger(__name__)
PARSING = Lock()  # CPython 3.11 counts the depth of a syntax tree for all threads together


def page_keys(env: BuildEnvironment) -> dict[str, str]:
    """The key of every executed page, as it was when this build began."""
    return env.__dict__.setdefault("page_keys", {})


def options(env: BuildEnvironment) -> Any:
    """The environment, to which myst-nb has added its options."""
    return env


def outcome_of(env: BuildEnvironment, docname: str) -> tuple[Book, Path, str]:
    """What names the outcome of a page: its book, its path and its key."""
    return find_book(Path(env.srcdir)), Path(env.doc2path(docname)), page_keys(env)[docname]


def current_key(env: BuildEnvironment, docname: str) -> str:
    with PARSING:
        return key(Path(env.doc2path(docname)), find_book(Path(env.srcdir)))


def find_changes(app: Sphinx, env: BuildEnvironment, added: set, changed: set, removed: set) -> list[str]:
    """Work out the keys of all pages; those whose key is another than in the last build are read again."""
    keys, before = page_keys(env), dict(page_keys(env))
    keys.clear()
    executed = (name for name in sorted(env.found_docs) if is_executed(Path(env.doc2path(name))))
    keys |= {name: current_key(env, name) for name in executed}
    again = {name for name, key in keys.items() if before.get(name) != key}
    return sorted(again - added - removed)


def execute_pages(app: Sphinx, env: BuildEnvironment, docnames: list[str]) -> None:
    """Execute the pages to be read that have no outcome yet; fail at the end if a cell of one failed."""
    executed = [name for name in docnames if name in page_keys(env)]
    waiting = [name for name in executed if not has_outcome(*outcome_of(env, name))]
    waiting.sort(key=lambda name: -os.path.getsize(env.doc2path(name)))  # long ones first

    failures: dict[str, Exception] = {}

    def attempt(docname: str) -> None:
        try:
            LOGGER.info("executed %s in %.1f s", docname, execute(env, docname))
        except Exception as error:  # a cell's, or the kernel's: the other pages go on
            LOGGER.info("executed %s: it failed", docname)
            failures[docname] = error

    Parallel(-1, prefer="threads")(delayed(attempt)(docname) for docname in waiting)
    if failures:
        tracebacks = [f"{docname}: {failures[docname]}" for docname in sorted(failures)]
        raise ExtensionError("\n".join([*tracebacks, f"execution failed of {', '.join(sorted(failures))}"]))


def execute(env: BuildEnvironment, docname: str) -> float:
    """Execute a page in its folder, with the book's modules, and keep its outcome; return the seconds."""
    book, path, began_with = outcome_of(env, docname)
    page = read_page(path)
    own = {"PYTHONPATH": book.python_path}
    variables = {"OMP_NUM_THREADS": "1", **os.environ, **own}
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as sockets:
        ipc = {"transport": "ipc", "ip": str(Path(sockets, "kernel"))}  # TCP is open to others, and warns
        client = NotebookClient(
            page,
            timeout=options(env).mystnb_config.execution_timeout,
            record_timing=False,  # would stand in the cells, which are matched with those of the page
            resources={"metadata": {"path": str(path.parent)}},
            config=Config(KernelManager=ipc),
        )
        client.execute(env=variables)
    seconds = time.perf_counter() - start
    if current_key(env, docname) != began_with:
        raise RuntimeError("what it depends on was changed while it was executed; build again")
    keep_outcome(book, path, began_with, page, seconds)
    return seconds


def choose_cache(app: Sphinx, docname: str, content: list[str]) -> None:
    """Let myst-nb look for the outputs of the page that is read next in that page's cache."""
    if docname in page_keys(app.env):
        folder = str(cache_folder(*outcome_of(app.env, docname)))
        options(app.env).mystnb_config = options(app.env).mystnb_config.copy(execution_cache_path=folder)


def executed_notebook(env: BuildEnvironment, docname: str) -> NotebookNode:
    """A page as a notebook with the outputs of its last execution."""
    return executed_page(*outcome_of(env, docname))


def seconds_taken(env: BuildEnvironment, docname: str) -> float:
    """How long the last execution of a page took, its kernel's start included."""
    return NbMetadataCollector.get_exec_data(env, docname)["runtime"]
