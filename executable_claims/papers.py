"""Lays out one page a paper: what is known of each theorem, lemma, figure and table, in the paper's order.

The page gives the order, one sentence a thing and its figure; the verdicts and the claims are the ledger's.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.transforms.post_transforms import SphinxPostTransform

from executable_claims.cards import (
    NOT_YET,
    badge,
    definitions,
    details,
    pending_pages,
    pending_verdict,
    summary,
    verdict_of,
)
from executable_claims.ledger import NOT_HERE, STATEMENTS, Claim, Paper, Thing, find_claim
from executable_claims.pages import LedgerDirective

CONTENTS = {
    "Theorems": ("Theorem", "Proposition", "Corollary", "Fact"),
    "Lemmas": ("Lemma",),
    "Setting": ("Definition", "Assumption", "Remark"),
    "Figures": ("Figure",),
    "Tables": ("Table",),
    "Equations": ("Equation",),
    "Sections": ("Section", "Appendix"),
}
SERIOUS = ("refuted", "corrected", NOT_YET, NOT_HERE, "stand-in", "verified")


def verdict_counts(env: BuildEnvironment, claims: Iterable[str]) -> dict[str, int]:
    """How many of the claims have which verdict, the most serious one first."""
    counts = Counter(verdict_of(env, find_claim(claim_id)) for claim_id in claims)
    return {verdict: counts[verdict] for verdict in SERIOUS if counts[verdict]}


class pending_counts(nodes.Inline, nodes.Element):
    """Placeholder for the verdicts of some claims, each in its colour and with their number."""


class pending_entry(nodes.Inline, nodes.Element):
    """Placeholder for a link in the contents, in the colour of the most serious verdict of its claims."""


class FillVerdicts(SphinxPostTransform):
    """Replaces the placeholders once every chapter has been read."""

    default_priority = 5

    def run(self, **options) -> None:
        for node in list(self.document.findall(pending_counts)):
            node.replace_self(self.badges(verdict_counts(self.env, node["claims"])))
        for node in list(self.document.findall(pending_entry)):
            node.replace_self(self.entry(node))

    def badges(self, counts: Mapping[str, int]) -> list[nodes.Node]:
        shown: list[nodes.Node] = []
        for verdict, count in counts.items():
            marked = badge(verdict)
            marked += nodes.Text(f" {count}")
            shown += [marked, nodes.Text(" ")]
        return shown

    def entry(self, node: pending_entry) -> nodes.reference:
        counts = verdict_counts(self.env, node["claims"])
        said = ", ".join(f"{count} {verdict}" for verdict, count in counts.items())
        return nodes.reference(
            "",
            node["shown"],
            internal=True,
            refid=node["anchor"],
            reftitle=f"{node['name']}: {said}",
            classes=["verdict-badge", f"verdict-{next(iter(counts)).replace(' ', '-')}"],
        )


@dataclass(frozen=True)
class Group:
    """A thing of a paper with the claims about it."""

    thing: Thing
    claims: tuple[Claim, ...]


def groups_of(claims: Iterable[Claim]) -> dict[Thing, Group]:
    """The claims by what they are about."""
    about: dict[Thing, list[Claim]] = {}
    for claim in claims:
        about.setdefault(claim.things[0], []).append(claim)
    return {thing: Group(thing, tuple(listed)) for thing, listed in about.items()}


def groups_naming(groups: Sequence[Group]) -> dict[Thing, list[Group]]:
    """For all that the claims name the groups whose claims do so, its own first."""
    naming: dict[Thing, list[Group]] = {group.thing: [group] for group in groups}
    for group in groups:
        for thing in dict.fromkeys(thing for claim in group.claims for thing in claim.things):
            listed = naming.setdefault(thing, [])
            if group not in listed:
                listed.append(group)
    return naming


@dataclass
class Part:
    """A heading, the text below it and the entries below that."""

    title: str
    text: list[nodes.Node] = field(default_factory=list)
    entries: list[Entry] = field(default_factory=list)


@dataclass(frozen=True)
class Entry:
    """What a page says of a thing: its name, the name of a figure or nothing, and a sentence or none."""

    name: str
    figure: str
    said: list[nodes.Node]


class Verdicts(LedgerDirective):
    """``{verdicts} key``: every claim of a paper under the thing that it is about, and our own at the end.

    The content has all things as fields, ``:Theorem 1, fig-name: A sentence.``, in the paper's order; of what
    is neither an equation nor a passage it says something.  A paragraph is a heading; the first one, with a
    list below it, is the paper in brief, and the contents stand there.
    """

    required_arguments = 1
    has_content = True

    def run(self) -> list[nodes.Node]:
        paper = self.named_paper()
        self.note_anchors(f"verdict-{claim.id}" for claim in paper.claims)
        ours = tuple(claim for claim in paper.claims if claim.ours)
        theirs = groups_of(claim for claim in paper.claims if not claim.ours)
        groups = {thing.name: group for thing, group in theirs.items()}
        naming = groups_naming(list(groups.values()))
        page = []
        for part in self.parts(groups):
            section = self.section(f"{paper.key}-{nodes.make_id(part.title)}", part.title)
            section += part.text
            section += [self.group(paper, groups[entry.name], naming, entry) for entry in part.entries]
            page.append(section)
        page[0] += self.contents(paper, naming)
        if ours:
            beyond = self.section(f"{paper.key}-beyond", "Beyond the paper")
            beyond += nodes.paragraph("", "Statements of ours that the paper does not make.")
            beyond += self.claims(ours, [claim.place for claim in ours])
            page.append(beyond)
        return page

    def parts(self, groups: Mapping[str, Group]) -> list[Part]:
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
                parts[-1].entries += map(self.entry_of, node.children)
            else:
                parts[-1].text.append(node)
        entries = [entry for part in parts for entry in part.entries]
        names = [entry.name for entry in entries]
        silent = [e.name for e in entries if not e.said and e.name.split()[0] in STATEMENTS]
        for what, wrong in (
            ("are not in the content", set(groups) - set(names)),
            ("are not in the ledger", set(names) - set(groups)),
            ("stand twice", {name for name in names if names.count(name) > 1}),
            ("lack a sentence", set(silent)),
        ):
            if wrong:
                raise self.error(f"of what has a number {what}: {', '.join(sorted(wrong))}")
        return parts

    def entry_of(self, listed: nodes.field) -> Entry:
        name, body = listed.children
        thing, _, figure = name.astext().partition(", ")
        return Entry(thing, figure, [part for block in body.children for part in block.children])

    def section(self, anchor: str, title: str, classes: Sequence[str] = ()) -> nodes.section:
        return nodes.section("", nodes.title("", title), ids=[anchor], classes=list(classes))

    def contents(self, paper: Paper, naming: Mapping[Thing, list[Group]]) -> nodes.container:
        """All that has a number, by kind, each linked to the group of its claims."""
        theirs = [claim.id for claim in paper.claims if not claim.ours]
        said = nodes.paragraph("", f"The paper's {len(theirs)} claims: ", pending_counts(claims=theirs))
        said += nodes.Text("A number below has the colour of the first of these that one of its claims has.")
        rows = []
        for title, kinds in CONTENTS.items():
            entries = nodes.paragraph()
            for kind in kinds:
                things = [thing for thing in naming if thing.kind == kind]
                for thing in sorted(things, key=lambda one: one.order):
                    entries += [self.link(paper, thing, naming[thing], len(kinds) > 1), nodes.Text(" ")]
            if entries.children:
                rows.append((title, entries))
        return nodes.container("", said, definitions(rows), classes=["verdict-contents"])

    def link(self, paper: Paper, thing: Thing, naming: list[Group], whole: bool) -> pending_entry:
        own = naming[0].thing == thing
        claims = [one.id for one in naming[0].claims if own or thing in one.things]
        anchor = f"{paper.key}-{naming[0].thing.slug}"
        shown = thing.name if whole else thing.number
        return pending_entry(claims=claims, name=thing.name, shown=shown, anchor=anchor)

    def group(
        self, paper: Paper, group: Group, naming: Mapping[Thing, list[Group]], entry: Entry
    ) -> nodes.section:
        minor = [] if group.thing.kind in STATEMENTS else ["verdict-minor"]
        section = self.section(f"{paper.key}-{group.thing.slug}", group.thing.name, minor)
        claims, lines = self.claims(group.claims, [self.place(one, group.thing) for one in group.claims])
        text = nodes.container("", *self.said(paper, entry, naming[group.thing][1:]), claims)
        if entry.figure:
            picture = self.env.app.emit_firstresult("claim-picture", entry.figure)
            text = nodes.container("", text, *filter(None, [picture]), classes=["verdict-pictured"])
        section += [text, lines]
        return section

    def said(self, paper: Paper, entry: Entry, elsewhere: Sequence[Group]) -> list[nodes.paragraph]:
        """The sentence on a thing, and links to the other groups with claims about it."""
        said = nodes.paragraph("", "", *entry.said)
        for position, other in enumerate(elsewhere):
            said += nodes.Text(", " if position else " See also ")
            anchor = f"{paper.key}-{other.thing.slug}"
            said += nodes.reference("", other.thing.name, internal=True, refid=anchor)
        if elsewhere:
            said += nodes.Text(".")
        return [said] if said.children else []

    def place(self, claim: Claim, thing: Thing) -> str:
        """What the place says beyond the heading that the claim stands under."""
        number = re.escape(thing.number)
        return re.sub(rf"^{thing.kind} (?:{number}|\({number}\))(?:$|[,;] )", "", claim.place)

    def claims(self, claims: Sequence[Claim], places: Sequence[str]) -> tuple[nodes.bullet_list, details]:
        """The verdicts, each linked to the cell that decides it, and what they are about, folded."""
        listed = nodes.bullet_list(classes=["verdict-parts"])
        for claim, place in zip(claims, places, strict=True):
            item = nodes.paragraph("", "", pending_verdict(claim=claim.id))
            if place:
                item += [nodes.Text(" "), *self.parsed(place).children]
            listed += nodes.list_item("", item)
        shown = "The claim in full" if len(claims) == 1 else f"The {len(claims)} claims in full"
        lines = [self.line(claim, place) for claim, place in zip(claims, places, strict=True)]
        return listed, details("", summary("", nodes.Text(shown)), *lines, classes=["verdict-lines"])

    def line(self, claim: Claim, place: str) -> nodes.container:
        """The verdict, the claim in words, what is true of it (or why nothing is), and its address."""
        head = nodes.paragraph("", "", pending_verdict(claim=claim.id), classes=["claim-head"])
        if place:
            head += nodes.inline("", "", *self.parsed(place).children, classes=["claim-place"])
        links = nodes.inline("", "", self.permalink(claim, nodes.Text(f"# {claim.id}")))
        links += pending_pages(claim=claim.id)
        head += links
        texts = [claim.corrected or claim.statement]
        for name, text in (
            ("Hypotheses", claim.hypotheses),
            ("Wrong", "" if claim.corrected else claim.wrong),
            ("Not here", claim.reason),
            ("In the book", claim.shown),
            ("Nearest known work", claim.near),
        ):
            texts += [f"*{name}:* {text}"] if text else []
        body: list[nodes.Node] = [nodes.paragraph("", claim.in_words), *map(self.parsed, texts)]
        if claim.corrected:
            printed = [self.parsed(claim.statement), self.parsed(f"*Wrong:* {claim.wrong}")]
            body.append(details("", summary("", nodes.Text("As printed")), *printed, classes=["as-printed"]))
        return nodes.container("", head, *body, classes=["verdict-line"], ids=[f"verdict-{claim.id}"])


def setup(app: Sphinx) -> None:
    """Register the page of a paper; ``claim-picture`` asks for the picture of a figure, by its name."""
    app.add_event("claim-picture")
    for node in (pending_counts, pending_entry):
        app.add_node(node)
    app.add_directive("verdicts", Verdicts)
    app.add_post_transform(FillVerdicts)
