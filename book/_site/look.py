"""The look of this book's site: its parts, in the order in which they come to a page and to what is built."""

from __future__ import annotations

import api_reference
import classic_scripts
import colophon
import descriptions
import entrances
import findings
import first_screen
import fragments
import icons
import inline_figures
import mathematics
import notebooks
import numbering
import offline_site
import print_in_light
import provenance
import questions
import sheets
import things
import typography
from sphinx.application import Sphinx

PARTS = (
    *(questions, provenance, offline_site, first_screen, sheets, icons, mathematics, notebooks, numbering),
    *(colophon, descriptions, entrances, findings, inline_figures, things, fragments, api_reference),
    *(typography, classic_scripts, print_in_light),
)


def setup(app: Sphinx) -> dict:
    """Set up all parts."""
    for part in PARTS:
        part.setup(app)
    return {"version": "1", "parallel_read_safe": False, "parallel_write_safe": False}
