"""Pages that lay out the ledger with its verdicts: the scoreboard, the scorecard, the errata and remarks."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from executable_claims.configuration import find_book
from executable_claims.layout import lay_out, pending
from executable_claims.ledger import VERDICTS, Erratum, Paper, read_ledger
from executable_claims.outcomes import NOT_YET, errata_of

NOTES: dict[str, Callable[[Paper], Iterable[Erratum]]] = {
    "errata": errata_of,
    "remarks": lambda paper: paper.remarks,
}


class LedgerDirective(SphinxDirective):
    """A directive that lays out the ledger, with placeholders for the verdicts."""

    def papers(self) -> dict[str, Paper]:
        """The papers by their keys: of all the ledger, or the one that the directive's argument names."""
        for path in find_book(Path(self.env.srcdir)).folder("ledger").glob("*.yml"):
            self.env.note_dependency(str(path))
        papers = {paper.key: paper for paper in read_ledger()}
        if unknown := set(self.arguments).difference(papers):
            raise self.error(f"no ledger for {', '.join(unknown)!r}; there are {', '.join(papers)}")
        return {key: paper for key, paper in papers.items() if key in (self.arguments or papers)}

    def parsed(self, text: str) -> list[nodes.Node]:
        return self.state.inline_text(text, self.lineno)[0]

    def lay_out(self, template: str, **data) -> list[nodes.Node]:
        return lay_out(template, self.parsed, page=self.env.docname, **data)


class Scoreboard(LedgerDirective):
    """``{scoreboard}``: one row a paper and one for our own statements, one column a verdict."""

    def run(self) -> list[nodes.Node]:
        self.papers()
        return [pending(template="scoreboard.xml", columns=["claims", *VERDICTS, NOT_YET])]


class Scorecard(LedgerDirective):
    """``{scorecard}``: every claim of every paper a row."""

    def run(self) -> list[nodes.Node]:
        claims = [claim for paper in self.papers().values() for claim in paper.claims]
        return self.lay_out("scorecard.xml", claims=claims)


class Notes(LedgerDirective):
    """``{errata} key``, ``{remarks} key``: of the paper named, or of each in a section.

    Errata are what is printed wrongly, with the evidence and the repair; remarks are misprints, units and
    missing words, with which nothing is false.
    """

    optional_arguments = 1

    def run(self) -> list[nodes.Node]:
        listed = {key: notes for key, paper in self.papers().items() if (notes := NOTES[self.name](paper))}
        return self.lay_out("errata.xml", listed=listed, kind=self.name, alone=bool(self.arguments))


def setup(app: Sphinx) -> None:
    """Register the directives that lay out the ledger."""
    app.add_directive("scoreboard", Scoreboard)
    app.add_directive("scorecard", Scorecard)
    for name in NOTES:
        app.add_directive(name, Notes)
