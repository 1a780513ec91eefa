"""The look of this book's site: its parts, in the order in which they come to a page and to what is built.

A part that changes pages, or writes beside them, does so after those that stand before it here.  Each is kept
by hand for the reason beside it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from docutils import nodes
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from joblib import Memory
from sphinx.application import Sphinx

from executable_claims.run.dependencies import digest

PARTS = (
    # What pages say.
    "borrowed",  # MyST embeds files, and neither figures nor sentences of pages that are read later
    "questions",  # no package orders pages by what they answer, or counts minutes without code and cards
    "provenance",  # commit, versions and forms for errors are of this build, and of claims
    "contents",  # Sphinx numbers sections, not the pages below a chapter, and folds no part of its menu
    "api_reference",  # sphinx-apidoc writes pages into the sources, autosummary a page for each name
    "drawings",  # a picture of Matplotlib has the colours of one theme, and no panels that stack on a phone
    "typography",  # Docutils lets a line break before a comma, and puts displays into paragraphs
    "portable",  # pip makes wheels of packages, not of a ledger and records beside them
    "notebooks",  # nbconvert leaves MyST's roles in the text, and the computed numbers out
    # What stands around it.
    "classic_scripts",  # browsers load no modules from the disk, and bundlers need Node
    "footer",  # the theme prints no origin, and cites no chapter
    "lean_pages",  # themes load scripts and icons for what no page here has, before the text
    "entrances",  # sphinxext-opengraph shows TeX; sphinx-sitemap and -notfound-page know no pages of claims
    "mathematics",  # MathJax in the browser is a megabyte of script, and moves the page while it typesets
    # What is made of all pages.
    "search_index",  # Sphinx's search finds words, and neither claims, theorems nor figures
    "hover_previews",  # sphinx-tippy takes its script from the network, and formulas before they are typeset
    "css_purge",  # purgecss needs Node
)
AFTER_THE_THEME = 900
FOLDER = Path(__file__).parent / "templates"
TEMPLATES = Environment(loader=FileSystemLoader(FOLDER), autoescape=True, undefined=StrictUndefined)

Context = dict[str, Any]
"""What the template of a page gets."""


def render(template: str, **data: Any) -> str:
    """Return what a template of the site makes of data, which may hold markup."""
    return TEMPLATES.get_template(template).render(data)


def on_page(app: Sphinx, change: Callable[[Sphinx, str, Context, nodes.document | None], None]) -> None:
    """Let ``change`` see the context of every page, of its name, when the theme has made its parts."""

    def changed(
        app: Sphinx, page: str, template: str, context: Context, doctree: nodes.document | None
    ) -> None:
        change(app, page, context, doctree)

    app.connect("html-page-context", changed, AFTER_THE_THEME)


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
