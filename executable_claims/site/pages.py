"""Pages that lay out the ledger with its verdicts: scoreboard, scorecard, errata, remarks, a page a paper."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from executable_claims.claims.ledger import (
    CONTENTS,
    STATEMENTS,
    VERDICTS,
    Claim,
    Erratum,
    Paper,
    Thing,
    read_ledger,
)
from executable_claims.site.layout import lay_out, pending
from executable_claims.site.outcomes import errata_of, ledger_files

NOTES: dict[str, Callable[[Paper], Iterable[Erratum]]] = {
    "errata": errata_of,
    "remarks": lambda paper: paper.remarks,
}


class LedgerDirective(SphinxDirective):
    """A directive that lays out the ledger, with placeholders for the verdicts."""

    def papers(self) -> dict[str, Paper]:
        """The papers by their keys: of all the ledger, or the one that the directive's argument names."""
        for path in ledger_files(self.env):
            self.env.note_dependency(str(path))
        papers = {paper.key: paper for paper in read_ledger()}
        if unknown := set(self.arguments).difference(papers):
            raise self.error(f"no ledger for {', '.join(unknown)!r}; there are {', '.join(papers)}")
        return {key: paper for key, paper in papers.items() if key in (self.arguments or papers)}

    def parsed(self, text: str) -> list[nodes.Node]:
        return self.state.inline_text(text, self.lineno)[0]

    def lay_out(self, template: str, **data: Any) -> list[nodes.Node]:
        return lay_out(template, self.parsed, page=self.env.docname, **data)


class Scoreboard(LedgerDirective):
    """``{scoreboard}``: one row a paper and one for our own statements, one column a verdict."""

    def run(self) -> list[nodes.Node]:
        self.papers()
        return [pending(template="scoreboard.xml", columns=["claims", *VERDICTS])]


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


def groups_of(claims: Iterable[Claim]) -> dict[Thing, list[Claim]]:
    """The claims by what they are about."""
    groups: dict[Thing, list[Claim]] = {}
    for claim in claims:
        groups.setdefault(claim.things[0], []).append(claim)
    return groups


def naming(groups: Mapping[Thing, Iterable[Claim]]) -> dict[Thing, list[Thing]]:
    """For all that the claims name the groups whose claims do so, its own first."""
    by_thing: dict[Thing, list[Thing]] = {thing: [thing] for thing in groups}
    for group, claims in groups.items():
        for thing in (thing for claim in claims for thing in claim.things):
            if group not in by_thing.setdefault(thing, []):
                by_thing[thing].append(group)
    return by_thing


def beyond(place: str, heading: str) -> str:
    """What a place says beyond the heading, ``Lemma 3``, that its claim stands under."""
    kind, _, number = map(re.escape, heading.partition(" "))
    return re.sub(rf"^{kind} (?:{number}|\({number}\))(?:$|[,;] )", "", place)


@dataclass(frozen=True)
class Entry:
    """What a page says of a thing: its name, the name of a figure or nothing, and a sentence or none."""

    name: str
    figure: str
    said: list[nodes.Node]


@dataclass(frozen=True)
class Part:
    """A heading, the text below it and the entries below that."""

    title: str
    text: list[nodes.Node] = field(default_factory=list)
    entries: list[Entry] = field(default_factory=list)


class Verdicts(LedgerDirective):
    """``{verdicts} key``: every claim of a paper under the thing that it is about, and our own at the end.

    The content has all things as fields, ``:Theorem 1, fig-name: A sentence.``, in the paper's order; of what
    is neither an equation nor a passage it says something.  A paragraph is a heading; the first one, with a
    list below it, is the paper in brief, and the contents stand there.
    """

    required_arguments = 1
    has_content = True

    def run(self) -> list[nodes.Node]:
        [paper] = self.papers().values()
        theirs = [claim for claim in paper.claims if not claim.ours]
        groups = groups_of(theirs)
        named = naming(groups)
        about = {
            thing: [claim for claim in groups[of[0]] if thing in claim.things] for thing, of in named.items()
        }
        numbered = {"key": paper.key, "naming": named}
        return self.lay_out(
            "paper.xml",
            **numbered,
            contents=pending(template="contents.xml", theirs=theirs, about=about, kinds=CONTENTS, **numbered),
            parts=self.parts([thing.name for thing in groups]),
            groups={thing.name: (thing, claims) for thing, claims in groups.items()},
            ours=[claim for claim in paper.claims if claim.ours],
            statements=STATEMENTS,
            beyond=beyond,
            make_id=nodes.make_id,
            picture=self.picture,
        )

    def picture(self, figure: str) -> list[nodes.Node]:
        """The picture of a figure, if the book has one."""
        picture = self.env.app.emit_firstresult("claim-picture", figure)
        return [picture] if picture else []

    def parts(self, things: Collection[str]) -> list[Part]:
        """The content as headings with what is below them; refuse one that does not fit the ledger."""
        content = nodes.container()
        self.state.nested_parse(self.content, self.content_offset, content)
        parts: list[Part] = []
        for node in content.children:
            if isinstance(node, nodes.paragraph):
                parts.append(Part(node.astext()))
            elif not parts:
                raise self.error("the content begins with a heading")
            elif isinstance(node, nodes.field_list):
                for name, body in node.children:
                    thing, _, figure = name.astext().partition(", ")
                    said = [part for block in body.children for part in block.children]
                    parts[-1].entries.append(Entry(thing, figure, said))
            else:
                parts[-1].text.append(node)
        entries = [entry for part in parts for entry in part.entries]
        names = [entry.name for entry in entries]
        silent = [e.name for e in entries if not e.said and e.name.split()[0] in STATEMENTS]
        for what, wrong in (
            ("are not in the content", set(things).difference(names)),
            ("are not in the ledger", set(names).difference(things)),
            ("stand twice", {name for name in names if names.count(name) > 1}),
            ("lack a sentence", set(silent)),
        ):
            if wrong:
                how = "all that the ledger's entries are about, once, as fields ':Theorem 1: A sentence.'"
                raise self.error(f"{what}: {', '.join(sorted(wrong))}; allowed: {how}")
        return parts
