"""The look of this book's site: its parts, in the order in which they come to a page and to what is built.

A part that changes pages, or writes beside them, does so after those that stand before it here.
"""

from __future__ import annotations

from sphinx.application import Sphinx

PARTS = (
    # What pages say.
    *("borrowed", "questions", "provenance", "findings", "numbering", "menu", "api_reference", "drawings"),
    *("typography", "notebooks"),
    # What stands around it.
    *("classic_scripts", "footer", "lean_pages", "link_previews", "mathematics"),
    # What is made of all pages.
    *("search_index", "hover_previews", "entrances", "css_purge"),
)


def setup(app: Sphinx) -> dict:
    """Set up all parts, which are extensions of Sphinx themselves."""
    for part in PARTS:
        app.setup_extension(part)
    return {"version": "1", "parallel_read_safe": False, "parallel_write_safe": False}
