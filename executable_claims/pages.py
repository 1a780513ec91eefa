"""Pages that lay out the ledger with its verdicts: the scoreboard, the scorecard, the errata and remarks."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from executable_claims.cards import (
    NOT_YET,
    OURS,
    claim_reference,
    definitions,
    dependent_pages,
    ledger_pages,
    pending_paper,
    pending_resolution,
    pending_text,
    pending_verdict,
)
from executable_claims.configuration import find_book
from executable_claims.ledger import VERDICTS, Claim, Erratum, Paper, read_ledger


class LedgerDirective(SphinxDirective):
    """A directive that lays out the ledger, with placeholders for the verdicts."""

    def prepare(self) -> tuple[Paper, ...]:
        dependent_pages(self.env).add(self.env.docname)
        for path in find_book(Path(self.env.srcdir)).folder("ledger").glob("*.yml"):
            self.env.note_dependency(str(path))
        return read_ledger()

    def named_paper(self) -> Paper:
        """The paper whose key is the directive's argument."""
        papers = {paper.key: paper for paper in self.prepare()}
        if self.arguments[0] not in papers:
            raise self.error(f"no ledger for {self.arguments[0]!r}; there are {', '.join(papers)}")
        return papers[self.arguments[0]]

    def parsed(self, text: str) -> nodes.paragraph:
        container = nodes.container()
        self.state.nested_parse(StringList(text.splitlines(), source=self.env.docname), 0, container)
        blocks = (block.children if isinstance(block, nodes.paragraph) else [block] for block in container)
        return nodes.paragraph("", "", *(node for block in blocks for node in block))

    def note_anchors(self, anchors: Iterable[str]) -> None:
        ledger_pages(self.env).update(dict.fromkeys(anchors, self.env.docname))

    def permalink(self, claim: Claim, shown: nodes.Node) -> nodes.reference:
        """A link to the address of a claim."""
        return claim_reference(self.env.docname, claim.id, shown)

    def table(
        self, headings: list[str], rows: list[tuple[dict, list[nodes.Node]]], classes: list[str]
    ) -> nodes.table:
        table = nodes.table(classes=classes)
        group = nodes.tgroup(cols=len(headings))
        table += group
        group += [nodes.colspec(colwidth=1) for _ in headings]
        head, body = nodes.thead(), nodes.tbody()
        group += [head, body]
        head += nodes.row("", *(nodes.entry("", nodes.paragraph("", name)) for name in headings))
        for attributes, cells in rows:
            body += nodes.row("", *(nodes.entry("", cell) for cell in cells), **attributes)
        return table


class Scoreboard(LedgerDirective):
    """``{scoreboard}``: one row a paper and one for our own statements, one column a verdict."""

    def run(self) -> list[nodes.Node]:
        papers = self.prepare()
        columns = ["claims", *VERDICTS, NOT_YET]

        def count(argument: str) -> nodes.paragraph:
            return nodes.paragraph("", "", pending_text(what="tally", argument=argument))

        rows = []
        for paper in papers:
            title = nodes.paragraph("", "", pending_paper(paper=paper.key))
            rows.append(({}, [title, *(count(f"{paper.key} {name.replace(' ', '_')}") for name in columns)]))
        for title, prefix in (("All papers", ""), ("Our own statements", f"{OURS} ")):
            name = nodes.paragraph("", "", nodes.strong("", title))
            rows.append(({}, [name, *(count(prefix + column.replace(" ", "_")) for column in columns)]))
        return [self.table(["Paper", *columns], rows, ["scoreboard"])]


class Scorecard(LedgerDirective):
    """``{scorecard}``: every claim of every paper a row."""

    def run(self) -> list[nodes.Node]:
        rows = [
            (
                {
                    "classes": ["scorecard-row", paper.key, *([OURS] if claim.ours else [])],
                    "ids": [f"scorecard-{claim.id}"],
                },
                self.cells(claim),
            )
            for paper in self.prepare()
            for claim in paper.claims
        ]
        self.note_anchors(attributes["ids"][0] for attributes, _ in rows)
        table = self.table(["Verdict", "Claim", "What is claimed"], rows, ["scorecard"])
        return [nodes.container("", table, classes=["scorecard-frame"])]

    def cells(self, claim: Claim) -> list[nodes.Node]:
        name = nodes.paragraph("", "", self.permalink(claim, nodes.literal("", claim.id)))
        said = (claim.place, claim.kind, claim.shown, f"ours: {claim.ours}" if claim.ours else "")
        place = self.parsed("; ".join(filter(None, said)))
        place["classes"].append("claim-place")
        verdict = nodes.paragraph("", "", pending_verdict(claim=claim.id))
        found = nodes.paragraph("", "", pending_resolution(claim=claim.id), classes=["claim-place"])
        words = [nodes.paragraph("", claim.in_words)]
        words += [self.parsed(f"*Not here:* {claim.reason}")] if claim.reason else []
        return [
            nodes.container("", verdict, found),
            nodes.container("", name, place),
            nodes.container("", *words),
        ]


class Notes(LedgerDirective):
    """What is printed wrongly, the evidence, and the repair: of the paper named, or of each in a section."""

    optional_arguments = 1

    def listed(self, paper: Paper) -> Iterable[Erratum]:
        raise NotImplementedError

    def run(self) -> list[nodes.Node]:
        if self.arguments:
            return self.entries(self.named_paper())
        sections = []
        for paper in self.prepare():
            if entries := self.entries(paper):
                section = nodes.section("", nodes.title("", paper.key), ids=[f"{self.name}-{paper.key}"])
                sections.append(section)
                section += entries
        return sections

    def entries(self, paper: Paper) -> list[nodes.container]:
        entries = [self.entry(note) for note in self.listed(paper)]
        self.note_anchors(entry["ids"][0] for entry in entries)
        return entries

    def entry(self, note: Erratum) -> nodes.container:
        box = nodes.container(classes=["erratum"], ids=[f"erratum-{note.id}"])
        place = nodes.strong("", "", *self.parsed(note.place).children)
        box += nodes.paragraph("", "", place, classes=["claim-head"])
        evidence = nodes.paragraph("", "" if note.claims else "read in the text; no cell rests on it")
        for claim in note.claims:
            evidence += [
                pending_verdict(claim=claim),
                nodes.Text(" "),
                nodes.literal("", claim),
                nodes.Text(" "),
            ]
        texts = {"Printed": note.printed, "Wrong": note.wrong, "Repair": note.repair}
        rows = [(term, self.parsed(text)) for term, text in texts.items() if text]
        box += definitions([*rows, ("Evidence", evidence)])
        return box


class Errata(Notes):
    """``{errata} key``: what is false as printed, in the list of errata or in a claim that no list has."""

    def listed(self, paper: Paper) -> Iterable[Erratum]:
        known = {claim for note in (*paper.errata, *paper.remarks) for claim in note.claims}
        single = (claim for claim in paper.claims if claim.wrong and claim.id not in known)
        return [*paper.errata, *map(as_erratum, single)]


class Remarks(Notes):
    """``{remarks} key``: misprints, units and missing words, with which nothing is false."""

    def listed(self, paper: Paper) -> Iterable[Erratum]:
        return paper.remarks


def as_erratum(claim: Claim) -> Erratum:
    """A claim that is wrong as printed, as an entry of the list of errata."""
    return Erratum(
        claim.id, claim.paper, claim.place, claim.statement, claim.wrong, claim.corrected, (claim.id,)
    )


def setup(app: Sphinx) -> None:
    """Register the directives that lay out the ledger."""
    app.add_directive("scoreboard", Scoreboard)
    app.add_directive("scorecard", Scorecard)
    app.add_directive("errata", Errata)
    app.add_directive("remarks", Remarks)
