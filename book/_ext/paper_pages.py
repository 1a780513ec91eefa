"""Lays out one page a paper: what is known of each theorem, lemma, figure and table, in the paper's order.

A claim belongs to the thing that its place names.  The ledger gives the order of the things, but those of one
kind, the figures say, stand by their numbers: as few as possible are moved for that.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from claim_cards import (
    NOT_YET,
    LedgerDirective,
    badge,
    definitions,
    details,
    pending_pages,
    pending_verdict,
    summary,
    verdict_of,
)
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.transforms.post_transforms import SphinxPostTransform

from lib.claims.ledger import NOT_HERE, Claim, Paper, find_claim

# How a place writes each kind.  One that names several is about the first of the first of these families.
STATEMENTS = {
    "Theorem": "Theorems?",
    "Proposition": "Propositions?",
    "Lemma": "Lemmas?",
    "Corollary": "Corollar(?:y|ies)",
    "Fact": "Facts?",
    "Definition": "Definitions?",
    "Assumption": "Assumptions?",
    "Remark": "Remarks?",
    "Figure": r"(?:Figures?|Figs?\.)",
    "Table": "Tables?",
}
EQUATIONS = {"Equation": r"(?:Equations?|Eqs?\.)"}
PASSAGES = {"Section": "Sections?", "Appendix": "Appendi(?:x|ces)"}
FAMILIES = (STATEMENTS, EQUATIONS, PASSAGES)
KINDS = STATEMENTS | EQUATIONS | PASSAGES
CONTENTS = {
    "Theorems": ("Theorem", "Proposition", "Corollary", "Fact"),
    "Lemmas": ("Lemma",),
    "Setting": ("Definition", "Assumption", "Remark"),
    "Figures": ("Figure",),
    "Tables": ("Table",),
    "Equations": ("Equation",),
    "Sections": ("Section", "Appendix"),
}

NUMBER = r"\(?((?:[A-Z](?:\.?\d+)*|\d+)(?:\.\d+)*)\b\)?"
PART = r"(?: \((?:left|right|[a-z])\))?"
JOINT = r"(?:, and | and | to |, |-)"
PLAIN = re.sub(r"\((?=\(\?:\[A)", "(?:", NUMBER)
MENTION = re.compile(
    rf"(?<!after )(?<!before )(?<!below )\b(?P<kind>{'|'.join(KINDS.values())}) "
    rf"(?P<numbers>{PLAIN}{PART}(?:{JOINT}{PLAIN}{PART})*)"
)
RANGE = re.compile(r"\(?(\d+)\)?(?: to |-)\(?(\d+)\)?")
OTHERS = re.compile(r"\([A-Z]\w+ and [A-Z]\w+, [^)]*\)")  # theorems of other papers

PHRASES = {
    "verified": ("holds as printed", "hold as printed"),
    "corrected": ("holds after a correction", "hold after a correction"),
    "refuted": ("is false, and no small repair saves it", "are false, and no small repair saves them"),
    "stand-in": ("is shown on stand-in data", "are shown on stand-in data"),
    NOT_HERE: ("is not decided here", "are not decided here"),
    NOT_YET: ("is not checked so far", "are not checked so far"),
}
SERIOUS = ("refuted", "corrected", NOT_YET, NOT_HERE, "stand-in", "verified")


# --- what a claim is about ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Thing:
    """A theorem, a figure, a section: what a paper gives a number."""

    kind: str
    number: str

    @property
    def name(self) -> str:
        return f"{self.kind} {self.number}"

    @property
    def slug(self) -> str:
        return f"{self.kind}-{self.number}".lower().replace(".", "-")

    @property
    def order(self) -> list[tuple[int, int, str]]:
        """Numbers by size, and before letters."""
        parts = re.findall(r"\d+|[A-Z]", self.number)
        return [(0, int(part), "") if part.isdigit() else (1, 0, part) for part in parts]


@dataclass(frozen=True)
class Group:
    """A thing of a paper with the claims about it."""

    thing: Thing
    claims: tuple[Claim, ...]


def things_named(place: str) -> list[Thing]:
    """All that a place names, in its order; what it only comes after or before is not named."""
    found = []
    for mention in MENTION.finditer(OTHERS.sub("", place)):
        kind = next(kind for kind, form in KINDS.items() if re.fullmatch(form, mention["kind"]))
        found += [Thing(kind, number) for number in numbers_of(mention["numbers"])]
    return found


def numbers_of(text: str) -> Iterator[str]:
    """The numbers of a list like ``2, 4 and 10`` or ``14 to 17``."""
    filled = RANGE.sub(lambda ends: ", ".join(map(str, range(int(ends[1]), int(ends[2]) + 1))), text)
    return (number[1] for number in re.finditer(NUMBER, filled))


def thing_of(place: str) -> Thing:
    """What a claim at that place is about; ``ValueError`` for a place that names nothing."""
    for part in OTHERS.sub("", place).split(";"):
        named = things_named(part)
        for family in FAMILIES:
            if first := [thing for thing in named if thing.kind in family][:1]:
                return first[0]
    raise ValueError(
        f"place is {place!r}, allowed: one that names one of {', '.join(KINDS)}, with its number"
    )


def groups_of(claims: Iterable[Claim]) -> list[Group]:
    """The claims by what they are about, in the order of the page."""
    about: dict[Thing, list[Claim]] = {}
    for claim in claims:
        about.setdefault(thing_of(claim.place), []).append(claim)
    return [Group(thing, tuple(about[thing])) for thing in in_order(list(about))]


def in_order(things: Sequence[Thing]) -> list[Thing]:
    """Move as few things as possible so that those of each kind stand by their numbers."""
    kept = {thing for kind in KINDS for thing in longest_rise(of_kind(things, kind))}
    ordered = [thing for thing in things if thing in kept]
    for thing in sorted(set(things) - kept, key=lambda one: one.order):
        before = [k for k, one in enumerate(ordered) if one.kind == thing.kind and one.order < thing.order]
        after = [k for k, one in enumerate(ordered) if one.kind == thing.kind and one.order > thing.order]
        ordered.insert(before[-1] + 1 if before else after[0], thing)
    return ordered


def longest_rise(things: Sequence[Thing]) -> list[Thing]:
    """A longest part of a sequence in which the numbers grow, the latest of several."""
    best: list[list[Thing]] = []
    for thing in things:
        shorter = [rise for rise in best if rise[-1].order < thing.order]
        best.append([*max(reversed(shorter), key=len, default=[]), thing])
    return max(reversed(best), key=len, default=[])


def of_kind(things: Iterable[Thing], kind: str) -> list[Thing]:
    return [thing for thing in things if thing.kind == kind]


def groups_naming(groups: Sequence[Group]) -> dict[Thing, list[Group]]:
    """For all that the places name the groups whose claims do so, its own first."""
    naming: dict[Thing, list[Group]] = {group.thing: [group] for group in groups}
    for group in groups:
        for thing in dict.fromkeys(thing for claim in group.claims for thing in things_named(claim.place)):
            listed = naming.setdefault(thing, [])
            if group not in listed:
                listed.append(group)
    return naming


# --- what is known of it -----------------------------------------------------------------------------------


def verdict_sentence(counts: Mapping[str, int], ours: bool = False) -> str:
    """Say how many claims have which verdict: *3 of 5 claims hold as printed, 2 hold after a correction.*"""
    parts = [(counts[verdict], phrases) for verdict, phrases in PHRASES.items() if counts.get(verdict)]
    total = sum(count for count, _ in parts)
    if len(parts) == 1:
        who = {1: "It", 2: "Both claims"}.get(total, f"All {total} claims")
        said = f"{who} {parts[0][1][total > 1]}."
    else:
        (first, phrases), *others = parts
        said = f"{first} of {total} claims {phrases[first > 1]}"
        said += "".join(f", {count} {phrases[count > 1]}" for count, phrases in others) + "."
    return said.replace(" as printed", "") if ours else said


def verdict_counts(env: BuildEnvironment, claims: Iterable[str]) -> Counter:
    return Counter(verdict_of(env, find_claim(claim_id)) for claim_id in claims)


class pending_sentence(nodes.Inline, nodes.Element):
    """Placeholder for the sentence on the verdicts of some claims."""


class pending_legend(nodes.Inline, nodes.Element):
    """Placeholder for the verdicts of some claims, each in its colour."""


class pending_entry(nodes.Inline, nodes.Element):
    """Placeholder for a link in the contents, in the colour of the most serious verdict of its claims."""


class FillSentences(SphinxPostTransform):
    """Replaces the placeholders once every chapter has been read."""

    default_priority = 5

    def run(self, **options) -> None:
        for node in list(self.document.findall(pending_sentence)):
            counts = verdict_counts(self.env, node["claims"])
            node.replace_self(nodes.Text(verdict_sentence(counts, node["ours"])))
        for node in list(self.document.findall(pending_legend)):
            node.replace_self(self.legend(verdict_counts(self.env, node["claims"])))
        for node in list(self.document.findall(pending_entry)):
            node.replace_self(self.entry(node))

    def legend(self, counts: Mapping[str, int]) -> list[nodes.Node]:
        return [part for verdict in SERIOUS if counts[verdict] for part in (badge(verdict), nodes.Text(" "))]

    def entry(self, node: pending_entry) -> nodes.reference:
        counts = verdict_counts(self.env, node["claims"])
        worst = next(verdict for verdict in SERIOUS if counts[verdict])
        return nodes.reference(
            "",
            node["shown"],
            internal=True,
            refid=node["anchor"],
            reftitle=f"{node['name']}: {verdict_sentence(counts)}",
            classes=["verdict-badge", f"verdict-{worst.replace(' ', '-')}"],
        )


# --- the page ----------------------------------------------------------------------------------------------


class Verdicts(LedgerDirective):
    """``{verdicts} key``: every claim of a paper under the thing that it is about, and our own at the end."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        paper = self.named_paper()
        self.note_anchors(f"verdict-{claim.id}" for claim in paper.claims)
        ours = tuple(claim for claim in paper.claims if claim.ours)
        groups = groups_of(claim for claim in paper.claims if not claim.ours)
        naming = groups_naming(groups)
        order = self.section(f"{paper.key}-claims", "Claim by claim")
        order += [self.group(paper, group, naming[group.thing][1:]) for group in groups]
        page = [self.contents(paper, naming), order]
        if ours:
            beyond = self.section(f"{paper.key}-beyond", "Beyond the paper")
            beyond += nodes.paragraph(
                "", "Statements of ours that the paper does not make. ", self.sentence(ours)
            )
            beyond += [self.line(claim, claim.place) for claim in ours]
            page.append(beyond)
        return page

    def section(self, anchor: str, title: str, classes: Sequence[str] = ()) -> nodes.section:
        return nodes.section("", nodes.title("", title), ids=[anchor], classes=list(classes))

    def sentence(self, claims: Sequence[Claim]) -> pending_sentence:
        return pending_sentence(claims=[claim.id for claim in claims], ours=claims[0].ours)

    def contents(self, paper: Paper, naming: Mapping[Thing, list[Group]]) -> nodes.container:
        """All that has a number, by kind, each linked to the group of its claims."""
        theirs = [claim for claim in paper.claims if not claim.ours]
        said = nodes.paragraph("", "", self.sentence(theirs))
        legend = nodes.paragraph(
            "", "The colour of a number is the first of these that one of its claims has: "
        )
        legend += pending_legend(claims=[claim.id for claim in theirs])
        rows = []
        for title, kinds in CONTENTS.items():
            things = [
                one for kind in kinds for one in sorted(of_kind(naming, kind), key=lambda one: one.order)
            ]
            entries = nodes.paragraph()
            for thing in things:
                entries += [self.entry(paper, thing, naming[thing], len(kinds) > 1), nodes.Text(" ")]
            if things:
                rows.append((title, entries))
        return nodes.container("", said, definitions(rows), legend, classes=["verdict-contents"])

    def entry(self, paper: Paper, thing: Thing, naming: list[Group], whole: bool) -> pending_entry:
        own = naming[0].thing == thing
        claims = [one.id for one in naming[0].claims if own or thing in things_named(one.place)]
        anchor = f"{paper.key}-{naming[0].thing.slug}"
        shown = thing.name if whole else thing.number
        return pending_entry(claims=claims, name=thing.name, shown=shown, anchor=anchor)

    def group(self, paper: Paper, group: Group, elsewhere: list[Group]) -> nodes.section:
        minor = [] if group.thing.kind in STATEMENTS else ["verdict-minor"]
        section = self.section(f"{paper.key}-{group.thing.slug}", group.thing.name, minor)
        about = nodes.paragraph("", "", self.sentence(group.claims), classes=["verdict-sentence"])
        for other, before in zip(elsewhere, [" See also ", *[", "] * len(elsewhere)], strict=False):
            anchor = f"{paper.key}-{other.thing.slug}"
            about += [
                nodes.Text(before),
                nodes.reference("", other.thing.name, internal=True, refid=anchor),
            ]
        if elsewhere:
            about += nodes.Text(".")
        section += [about, *(self.line(claim, self.place(claim, group.thing)) for claim in group.claims)]
        return section

    def place(self, claim: Claim, thing: Thing) -> str:
        """What the place says beyond the heading that the claim stands under."""
        return "" if claim.place == thing.name else claim.place.removeprefix(f"{thing.name}, ")

    def line(self, claim: Claim, place: str) -> nodes.container:
        """The verdict, the statement that is true (or why none is), its hypotheses, and its address."""
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
        ):
            texts += [f"*{name}:* {text}"] if text else []
        body: list[nodes.Node] = [self.parsed(text) for text in texts]
        if claim.corrected:
            printed = [self.parsed(claim.statement), self.parsed(f"*Wrong:* {claim.wrong}")]
            body.append(details("", summary("", nodes.Text("As printed")), *printed, classes=["as-printed"]))
        return nodes.container("", head, *body, classes=["verdict-line"], ids=[f"verdict-{claim.id}"])


def setup(app: Sphinx) -> dict:
    for node in (pending_sentence, pending_legend, pending_entry):
        app.add_node(node)
    app.add_directive("verdicts", Verdicts)
    app.add_post_transform(FillSentences)
    return {"version": "1", "parallel_read_safe": False}
