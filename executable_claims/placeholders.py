"""Fills the placeholders of pages once every chapter has been read: their templates see the outcomes."""

from __future__ import annotations

import re

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util import logging
from sphinx.util.docutils import SphinxRole

from executable_claims.cards import resolution
from executable_claims.layout import lay_out, pending
from executable_claims.ledger import find_claim, read_ledger
from executable_claims.outcomes import IN_HTML, outcomes

LOGGER = logging.getLogger(__name__)
PLACE = re.compile(rf'<span {IN_HTML}"([\w.-]+)">[^<]*</span>')


class FillPlaceholders(SphinxPostTransform):
    """Lays out what waits for all chapters."""

    default_priority = 5

    def run(self, **options) -> None:
        for node in list(self.document.findall(pending)):
            node.replace_self(self.filled(**node.non_default_attributes()))
        for node in self.document.findall(nodes.raw):
            if IN_HTML in node.astext():
                node.children = [nodes.Text(PLACE.sub(lambda place: self.html(place[1]), node.astext()))]

    def filled(self, template: str, **data) -> list[nodes.Node]:
        """What a template says of the outcomes."""
        tools = (self.address, self.measured, self.report, find_claim, read_ledger, resolution)
        known = {"known": outcomes(self.env), "here": self.env.docname}
        return lay_out(template, **known, **{each.__name__: each for each in tools}, **data)

    def address(self, page: str, anchor: str = "") -> str:
        """The address of a page, or of what has an id there, from the page that is written."""
        uri = self.app.builder.get_relative_uri(self.env.docname, page)
        return f"{uri}#{anchor}" if anchor else uri

    def html(self, claim: str) -> str:
        """A verdict as HTML, linked to the card of the claim if a cell has decided it."""
        [made] = self.filled("verdict.xml", claim=claim)
        [badge] = made.findall(nodes.inline)
        shown = f'<span class="{" ".join(badge["classes"])}" title="{claim}">{badge.astext()}</span>'
        return f'<a class="verdict-link" href="{made["refuri"]}">{shown}</a>' if "refuri" in made else shown

    def report(self, claim: str) -> str | None:
        """Where one says that a verdict is wrong, if the book knows such a place."""
        return self.app.emit_firstresult("claim-report", self.env.docname, find_claim(claim))

    def measured(self, claim: str) -> str:
        """What the cell has measured that decides a claim."""
        if record := outcomes(self.env).records.get(claim):
            return f"{record['comparison']['measured']:.6g}"
        LOGGER.warning("no cell has decided the claim %s", claim, location=self.env.docname)
        return "not yet measured"


class Placeholder(SphinxRole):
    """``{tally}`min2024 verified``, ``{tally}`decided``, ``{tally}`ours claims``; ``{measured}`claim-id``."""

    def run(self) -> tuple[list[nodes.Node], list]:
        return [pending(template=f"{self.name}.xml", text=self.text)], []


def setup(app: Sphinx) -> None:
    """Register what fills placeholders; ``claim-report`` asks for the address where an error is reported."""
    app.add_event("claim-report")
    for name in ("tally", "measured"):
        app.add_role(name, Placeholder())
    app.add_post_transform(FillPlaceholders)
