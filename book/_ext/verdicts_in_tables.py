"""Fills verdicts into HTML that a page's cells have made, at each ``<span data-claim="id">id</span>``."""

from __future__ import annotations

import re
from html import escape

from claim_cards import dependent_pages, verdict_of, verdicts
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform

from lib.claims.ledger import find_claim

PLACE = re.compile(r'<span data-claim="([^"]+)">[^<]*</span>')


def badge(claim_id: str, verdict: str, page: str = "") -> str:
    """The verdict as HTML, linked to the card of the claim on ``page`` if a cell has decided it."""
    kind = verdict.replace(" ", "-")
    html = f'<span class="verdict-badge verdict-{kind}" title="{escape(claim_id)}">{verdict}</span>'
    return f'<a class="verdict-link" href="{page}#claim-{escape(claim_id)}">{html}</a>' if page else html


class FillVerdicts(SphinxPostTransform):
    """Replaces the places once every chapter has been read."""

    default_priority = 6

    def run(self, **options) -> None:
        for node in self.document.findall(nodes.raw):
            if "data-claim=" in node.astext():
                filled = PLACE.sub(lambda place: self.filled(place.group(1)), node.astext())
                node.children = [nodes.Text(filled)]

    def filled(self, claim_id: str) -> str:
        entry = verdicts(self.env).get(claim_id)
        page = self.app.builder.get_relative_uri(self.env.docname, entry["docname"]) if entry else ""
        return badge(claim_id, verdict_of(self.env, find_claim(claim_id)), page)


def note_page(app: Sphinx, doctree: nodes.document) -> None:
    """A page with such places is written anew in every build."""
    if any("data-claim=" in node.astext() for node in doctree.findall(nodes.raw)):
        dependent_pages(app.env).add(app.env.docname)


def setup(app: Sphinx) -> dict:
    app.add_post_transform(FillVerdicts)
    app.connect("doctree-read", note_page)
    return {"version": "1", "parallel_read_safe": False}
