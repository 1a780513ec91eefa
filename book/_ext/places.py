"""Reads in a claim's place what it is about: a theorem, a figure, a section of the paper."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from lib.claims.ledger import Claim

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


def groups_of(claims: Iterable[Claim]) -> dict[Thing, Group]:
    """The claims by what they are about."""
    about: dict[Thing, list[Claim]] = {}
    for claim in claims:
        about.setdefault(thing_of(claim.place), []).append(claim)
    return {thing: Group(thing, tuple(listed)) for thing, listed in about.items()}


def groups_naming(groups: Sequence[Group]) -> dict[Thing, list[Group]]:
    """For all that the places name the groups whose claims do so, its own first."""
    naming: dict[Thing, list[Group]] = {group.thing: [group] for group in groups}
    for group in groups:
        for thing in dict.fromkeys(thing for claim in group.claims for thing in things_named(claim.place)):
            listed = naming.setdefault(thing, [])
            if group not in listed:
                listed.append(group)
    return naming
