"""The look of this book's site: its parts, in the order in which they come to a page and to what is built."""

from __future__ import annotations

from sphinx.application import Sphinx

PARTS = (
    *("borrowed", "questions", "provenance", "offline_site", "first_screen", "sheets", "icons"),
    *("mathematics", "notebooks", "numbering", "colophon", "descriptions", "entrances", "findings"),
    *("inline_figures", "things", "fragments", "api_reference", "typography"),
    *("classic_scripts", "print_in_light"),
)


def setup(app: Sphinx) -> dict:
    """Set up all parts, which are extensions of Sphinx themselves."""
    for part in PARTS:
        app.setup_extension(part)
    return {"version": "1", "parallel_read_safe": False, "parallel_write_safe": False}
