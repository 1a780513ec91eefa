"""The look of this book's site: its parts, in the order in which they come to a page and to what is built.

A part that changes pages, or writes beside them, does so after those that stand before it here.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from joblib import Memory
from sphinx.application import Sphinx

from executable_claims.run.dependencies import digest

PARTS = (
    # What pages say.
    *(
        "borrowed",
        "questions",
        "provenance",
        "contents",
        "api_reference",
        "drawings",
        "typography",
        "notebooks",
    ),
    # What stands around it.
    *("classic_scripts", "footer", "lean_pages", "entrances", "mathematics"),
    # What is made of all pages.
    *("search_index", "hover_previews", "css_purge"),
)
AFTER_THE_THEME = 900
FOLDER = Path(__file__).parent / "templates"
TEMPLATES = Environment(loader=FileSystemLoader(FOLDER), autoescape=True, undefined=StrictUndefined)


def render(template: str, **data) -> str:
    """Return what a template of the site makes of data, which may hold markup."""
    return TEMPLATES.get_template(template).render(data)


def on_page(app: Sphinx, change: Callable[..., None]) -> None:
    """Let ``change`` see every page when the theme has made its parts."""
    app.connect("html-page-context", change, AFTER_THE_THEME)


def after_build(app: Sphinx, write: Callable[[Sphinx], None]) -> None:
    """Let ``write`` do its part after every build of pages that has not failed."""

    def written(app: Sphinx, exception: Exception | None) -> None:
        if exception is None and app.builder.format == "html":
            write(app)

    app.connect("build-finished", written, AFTER_THE_THEME)


@cache
def remembered(root: Path, function: Callable, *made_by: str) -> Callable:
    """Return a function with a memory, on disk, of what it returned while its module was as it is now.

    What else than its arguments it depends on is said by the texts that it is ``made_by``.
    """
    code = Path(inspect.getfile(function)).read_text(encoding="utf-8")
    folder = Path(root, "_build", "remembered", digest("".join([code, *made_by]))[:16])
    return Memory(folder, verbose=0).cache(function)


def setup(app: Sphinx) -> dict:
    """Set up all parts, which are extensions of Sphinx themselves."""
    for part in PARTS:
        app.setup_extension(part)
    return {"version": "1", "parallel_read_safe": False, "parallel_write_safe": False}
