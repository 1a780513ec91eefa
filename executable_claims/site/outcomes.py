"""What a build has found of the claims, kept in the Sphinx environment, and the places of pages that show it.

A verdict gets here only with the card that the output of an executed cell has become; every page asks here,
so that none can show a verdict that no cell produced.  *Not here* comes from the ledger, with its reason,
*not yet* from nowhere.  The places are filled once every chapter has been read.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util import logging
from sphinx.util.docutils import SphinxRole

from executable_claims.claims.configuration import find_book
from executable_claims.claims.ledger import NOT_HERE, NOT_YET, Claim, Erratum, Paper, find_claim, read_ledger
from executable_claims.run.chapters import mistakes, undecided
from executable_claims.site.layout import details, lay_out, pending

LOGGER = logging.getLogger(__name__)
OURS = "ours"
SERIOUS = ("refuted", "corrected", NOT_YET, NOT_HERE, "stand-in", "verified")
KINDS = ("claim", "verdict", "scorecard", "erratum")  # of ids on pages; the id of a claim follows
IN_HTML = "data-claim="  # the place for a verdict in HTML that a page's cells have made
PLACE = re.compile(rf'<span {IN_HTML}"([\w.-]+)">[^<]*</span>')


@dataclass
class Outcomes:
    """``records`` of the claims that cells have decided, and ``pages`` by the ids of what stands on them.

    ``figures`` has by page the picture near the card of each claim.  ``dependent`` are the pages that show
    what others have found; they are written anew if ``shown``, all that they showed, has changed, and read
    anew if the ledger has other ``files``.
    """

    records: dict[str, dict] = field(default_factory=dict)
    pages: dict[str, str] = field(default_factory=dict)
    figures: dict[str, dict[str, dict]] = field(default_factory=dict)
    dependent: set[str] = field(default_factory=set)
    shown: str = ""
    files: set[str] = field(default_factory=set)

    def verdict(self, claim: Claim) -> str:
        """What is known of a claim: the verdict of its cell, or that it has none, here or so far."""
        if claim.id in self.records:
            return self.records[claim.id]["verdict"]
        return NOT_HERE if claim.expected == NOT_HERE else NOT_YET

    def counts(self, claims: Iterable[Claim]) -> dict[str, int]:
        """How many of the claims have which verdict, the most serious one first."""
        counts = Counter(map(self.verdict, claims))
        return {verdict: counts[verdict] for verdict in SERIOUS if counts[verdict]}

    def tally(self, key: str = "") -> dict[str, int]:
        """Count claims by verdict, plus 'claims' and 'decided' (by a cell): of a paper, of all, or our own.

        ``key`` is a paper's, empty for all papers, or ``OURS``; the book's own statements count for no paper.
        Raises ``ValueError`` for another key.
        """
        papers = {paper.key: paper for paper in read_ledger()}
        if key not in ("", OURS, *papers):
            raise ValueError(f"key is {key!r}, allowed: {', '.join([OURS, *papers])}, or none for all papers")
        asked = [papers[key]] if key in papers else papers.values()
        claims = [claim for paper in asked for claim in paper.claims if bool(claim.ours) == (key == OURS)]
        verdicts = Counter(map(self.verdict, claims))
        decided = len(claims) - verdicts[NOT_YET] - verdicts[NOT_HERE]
        return {verdict: verdicts[verdict] for verdict in SERIOUS} | {
            "claims": len(claims),
            "decided": decided,
        }

    def anchors(self, claim: Claim) -> dict[str, str]:
        """Where pages speak of a claim, an id each: its card, its lines in lists, its erratum."""
        ids = {kind: f"{kind}-{claim.id}" for kind in KINDS} | {"erratum": f"erratum-{erratum_of(claim)}"}
        return {kind: name for kind, name in ids.items() if name in self.pages}


def outcomes(env: BuildEnvironment) -> Outcomes:
    """What the build has found."""
    return env.__dict__.setdefault("claim_outcomes", Outcomes())


def ledger_files(env: BuildEnvironment) -> list[Path]:
    """The files of the book's ledger."""
    return sorted(find_book(Path(env.srcdir)).folder("ledger").glob("*.yml"))


def errata_of(paper: Paper) -> list[Erratum]:
    """What is false as printed, in the list of errata or in a claim that no list has."""
    known = {claim for note in (*paper.errata, *paper.remarks) for claim in note.claims}
    single = [claim for claim in paper.claims if claim.wrong and claim.id not in known]
    return [
        *paper.errata,
        *(Erratum(c.id, c.paper, c.place, c.statement, c.wrong, c.corrected, (c.id,)) for c in single),
    ]


def erratum_of(claim: Claim) -> str:
    """The erratum or remark that is about a claim; empty if there is none."""
    [paper] = (paper for paper in read_ledger() if paper.key == claim.paper)
    notes = (note.id for note in (*errata_of(paper), *paper.remarks) if claim.id in note.claims)
    return next(notes, "")


def forget_page(app: Sphinx, env: BuildEnvironment, docname: str) -> None:
    known = outcomes(env)
    gone = {name for name, page in known.pages.items() if page == docname}
    known.records = {name: record for name, record in known.records.items() if f"claim-{name}" not in gone}
    known.pages = {name: page for name, page in known.pages.items() if name not in gone}
    known.dependent.discard(docname)


def pages_of_other_files(
    app: Sphinx, env: BuildEnvironment, added: set, changed: set, removed: set
) -> list[str]:
    """The pages that show the ledger, if it has other files than in the last build."""
    known = outcomes(env)
    before, known.files = known.files, {path.name for path in ledger_files(env)}
    return sorted(known.dependent - added - removed) if known.files != before else []


def warn(app: Sphinx, env: BuildEnvironment, docnames: list[str]) -> None:
    """Say what is wrong with the claims that the chapters, as they stand now, decide."""
    book = find_book(Path(env.srcdir))
    for mistake in [*(mistake for _, mistake in mistakes(book)), *undecided(book)]:
        LOGGER.warning(mistake)


def note_page(app: Sphinx, page: nodes.document) -> None:
    """Note the verdicts of a page, where it speaks of claims, and whether it shows verdicts of others.

    The figure of a claim is the last one before its card, or else the first one after it.
    """
    known, docname = outcomes(app.env), app.env.docname
    figures: list[dict] = []
    cards: dict[str, int] = {}
    for node in page.findall(nodes.Element):
        if isinstance(node, details) and "record" in node:
            record = node.attributes.pop("record")
            claim = record["claim"]["id"]
            if claim in known.records:
                LOGGER.warning(
                    "%s is decided on %s too", claim, known.pages[f"claim-{claim}"], location=docname
                )
            made = app.emit_firstresult("claim-records", docname, find_claim(claim))
            known.records[claim] = record | {"commands": list(made or ())}
            cards[claim] = max(0, len(figures) - 1)
        elif (
            isinstance(node, nodes.figure)
            and node["ids"]
            and (image := next(node.findall(nodes.image), None))
        ):
            figures.append({"id": node["ids"][0], "uri": image["uri"], "alt": image.get("alt", "")})
        if isinstance(node, pending) or (isinstance(node, nodes.raw) and IN_HTML in node.astext()):
            known.dependent.add(docname)
        known.pages |= {name: docname for name in node["ids"] if name.startswith(KINDS)}
    known.figures[docname] = {claim: figures[k] for claim, k in cards.items() if figures}


def pages_to_rewrite(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """The pages that show verdicts of other pages, if what they show may have changed."""
    known = outcomes(env)
    before, known.shown = known.shown, json.dumps([known.records, known.pages], sort_keys=True)
    return sorted(known.dependent) if known.shown != before else []


class FillPlaceholders(SphinxPostTransform):
    """Lays out what waits for all chapters."""

    default_priority = 5

    def run(self, **options: Any) -> None:
        for node in list(self.document.findall(pending)):
            node.replace_self(self.filled(**node.non_default_attributes()))
        for node in self.document.findall(nodes.raw):
            if IN_HTML in node.astext():
                node.children = [nodes.Text(PLACE.sub(lambda place: self.html(place[1]), node.astext()))]

    def filled(self, template: str, **data: Any) -> list[nodes.Node]:
        """What a template says of the outcomes."""
        tools = (self.address, self.measured, self.report, find_claim, read_ledger)
        data |= {tool.__name__: tool for tool in tools}
        return lay_out(template, known=outcomes(self.env), here=self.env.docname, **data)

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
