"""The ledger: what each paper claims, and what is wrong as printed, read from one YAML file a paper."""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from executable_claims import clauses
from executable_claims.configuration import find_book

KINDS = ("identity", "inequality", "asymptotic", "convergence", "qualitative", "statistical")
NOT_HERE = "not here"
# What there is to say beside the statement, and what of it a claim says that is expected to get a verdict.
REMARKS = ("wrong", "corrected", "reason")
VERDICTS: dict[str, tuple[str, ...]] = {
    "verified": (),
    "corrected": ("wrong", "corrected"),
    "refuted": ("wrong",),
    "stand-in": (),
    NOT_HERE: ("reason",),
}
# What has a number in a paper, as the contents of its page have it.
CONTENTS = {
    "Theorems": ("Theorem", "Proposition", "Corollary", "Fact"),
    "Lemmas": ("Lemma",),
    "Setting": ("Definition", "Assumption", "Remark"),
    "Figures": ("Figure",),
    "Tables": ("Table",),
    "Equations": ("Equation",),
    "Sections": ("Section", "Appendix"),
}
THINGS = [kind for kinds in CONTENTS.values() for kind in kinds]
STATEMENTS = THINGS[: THINGS.index("Equation")]  # a claim about one gets a sentence on the paper's page
THING = re.compile(rf"({'|'.join(THINGS)}) ((?:[A-Z](?:\.?\d+)*|\d+)(?:\.\d+)*)")
WRITTEN = {"str": str, "int": int}  # what fields of these types hold
SHOWN = ("proved", "argued", "observed")
OURS = ("", "not in the paper", "new")


@dataclass(frozen=True)
class Thing:
    """A theorem, a figure, a section: what a paper gives a number."""

    kind: str
    number: str

    @property
    def name(self) -> str:
        """The thing as the ledger writes it."""
        return f"{self.kind} {self.number}"

    @property
    def slug(self) -> str:
        """The name as a part of an address."""
        return self.name.lower().replace(".", "-").replace(" ", "-")

    @property
    def order(self) -> list[tuple[int, int, str]]:
        """A key that sorts numbers by size, and before letters."""
        parts = re.findall(r"\d+|[A-Z]", self.number)
        return [(0, int(part), "") if part.isdigit() else (1, 0, part) for part in parts]


@dataclass(frozen=True)
class Claim:
    """One entry of the ledger: what a paper claims, and what the book expects to find.

    ``about`` names the theorem, figure or section that it is about, then others that ``place`` mentions;
    ``in_words`` is one plain sentence without symbols: the claim as it is true, repaired if need be, or as
    it is printed if it is refuted.  ``kind`` is one of ``KINDS`` and ``expected`` one of ``VERDICTS``;
    ``wrong`` and ``corrected`` say what is wrong as printed and how it is repaired, ``reason`` why a claim is
    not decided here.  ``shown`` says what the book has beyond the check, one of ``SHOWN``.  ``ours`` marks a
    statement of the book that the paper does not make; beside a new one stands in ``near`` the nearest known
    work.  ``says`` lists the phrases of a statement that says several things, with the id of the entry that
    decides one elsewhere; ``over`` names what it speaks over, and how far (see ``clauses``).
    """

    id: str
    paper: str
    place: str
    about: str
    kind: str
    in_words: str
    statement: str
    expected: str
    hypotheses: str = ""
    wrong: str = ""
    corrected: str = ""
    reason: str = ""
    shown: str = ""
    ours: str = ""
    near: str = ""
    says: Sequence[str | Mapping[str, str]] = ()
    over: Mapping[str, str] = field(default_factory=dict)

    @property
    def headline(self) -> str:
        """The claim in words where its verdict does not stand beside it."""
        return f"False as printed: {self.in_words}" if self.expected == "refuted" else self.in_words

    @property
    def things(self) -> tuple[Thing, ...]:
        """What it is about, the first one above all."""
        return tuple(Thing(*named) for named in THING.findall(self.about))


@dataclass(frozen=True)
class Erratum:
    """What is wrong as printed, the repair, and the claims that it touches; or a remark, of the same form."""

    id: str
    paper: str
    place: str
    printed: str
    wrong: str
    repair: str
    claims: Sequence[str] = ()


@dataclass(frozen=True)
class Paper:
    """A paper of the book with its claims, errata and remarks, as read from one ledger file."""

    key: str
    title: str
    authors: str
    year: int
    claims: tuple[Claim, ...]
    errata: tuple[Erratum, ...]
    remarks: tuple[Erratum, ...]
    arxiv: str = ""


class Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """Reads YAML, and refuses a field that is given twice, of which it would keep the last."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict:
        """Return what a node maps."""
        for name, count in Counter(name.value for name, _ in node.value).items():
            if count > 1:
                raise yaml.constructor.ConstructorError(
                    problem=f"{name} is given twice", problem_mark=node.start_mark
                )
        return super().construct_mapping(node, deep)


def read_paper(path: Path) -> Paper:
    """Read and validate one ledger file.

    Raises ``ValueError`` that names the file and all its mistakes: another form, a field that is unknown,
    missing or given twice, an unknown kind or verdict, an id that is foreign or used twice, a claim without a
    sentence in words or that names nothing it is about, and remarks that do not go with the expected verdict.
    """
    text = path.read_text(encoding="utf-8")
    mistakes: list[str] = []
    try:
        content = yaml.load(text, Loader)
        head = content.pop("paper")
        for name, kind in (("claims", Claim), ("errata", Erratum), ("remarks", Erratum)):
            entries = [{"paper": head["key"], **fields} for fields in content.pop(name, None) or ()]
            head[name] = tuple(filter(None, (_entry(kind, fields, mistakes) for fields in entries)))
        mistakes += [f"unknown list {name}" for name in content]
        paper = _entry(Paper, head, mistakes)
    except (yaml.YAMLError, KeyError, TypeError, AttributeError) as error:
        what = error if isinstance(error, yaml.YAMLError) else repr(error)
        raise ValueError(
            f"{path.name}: {what}; allowed: a mapping of paper, claims, errata and remarks"
        ) from None
    if mistakes := [*mistakes, *(_mistakes(paper) if paper else ())]:
        raise ValueError("\n".join(f"{path.name}:{_line(text, one)} {one}" for one in mistakes))
    return paper


def _entry(kind: type, given: Mapping[str, Any], mistakes: list[str]) -> Any:
    """The entry with these fields; ``None``, and what is wrong with them noted, if they do not fit."""
    known = {one.name: one for one in fields(kind)}
    wrong = [f"unknown field {name}, allowed: {', '.join(known)}" for name in sorted({*given} - {*known})]
    wrong += [
        f"field {name} is missing"
        for name, one in known.items()
        if one.default is one.default_factory is MISSING and name not in given
    ]
    for name, value in given.items():
        kind_of = str(known[name].type) if name in known else ""
        if not isinstance(value, WRITTEN.get(kind_of, object)):
            wrong.append(f"{name} is {value!r}, allowed: a {'text' if kind_of == 'str' else 'number'}")
    called = given.get("id", f"{kind.__name__.lower()} without id" if kind is not Paper else "paper")
    mistakes += [f"{called}: {one}" for one in wrong]
    return None if wrong else kind(**given)


def _line(text: str, mistake: str) -> str:
    """Where the id stands that a mistake begins with; empty if it stands nowhere."""
    found = re.search(rf"^\s*-?\s*id: [\"']?{re.escape(mistake.partition(':')[0])}[\"']?\s*$", text, re.M)
    return f"{text.count(chr(10), 0, found.start()) + 1}:" if found else ""


def _mistakes(paper: Paper) -> Iterator[str]:
    """What the entries of a ledger file have wrong, in words."""
    claims = [claim.id for claim in paper.claims]
    notes = [*paper.errata, *paper.remarks]
    for name, count in Counter([*claims, *(note.id for note in notes)]).items():
        if not re.fullmatch(rf"{re.escape(paper.key)}-[\w.-]+", name):
            yield f"{name}: an id starts with {paper.key!r} and a dash; letters, digits, dots, dashes follow"
        if count > 1:
            yield f"{name}: the id is used twice"
    for note in notes:
        if unknown := set(note.claims).difference(claims):
            yield f"{note.id}: claims that are not listed: {', '.join(sorted(unknown))}"
    for words, count in Counter(claim.in_words for claim in paper.claims).items():
        if count > 1:
            yield f"the same words for {count} claims: {words}"
    for claim in paper.claims:
        yield from (f"{claim.id}: {mistake}" for mistake in _claim_mistakes(claim))
        said = clauses.mistakes(claim.says, claim.over, claim.corrected or claim.statement, claim.id, claims)
        yield from (f"{claim.id}: {mistake}" for mistake in said)


def _claim_mistakes(claim: Claim) -> Iterator[str]:
    for name, allowed in (("kind", KINDS), ("expected", VERDICTS), ("shown", ("", *SHOWN)), ("ours", OURS)):
        if (found := getattr(claim, name)) not in allowed:
            yield f"{name} is {found!r}, allowed: {', '.join(map(repr, allowed))}"
    if claim.expected in VERDICTS:
        remarks = tuple(name for name in REMARKS if getattr(claim, name))
        if remarks != VERDICTS[claim.expected]:
            yield f"says {remarks}, allowed for {claim.expected!r}: {VERDICTS[claim.expected]}"
    if bool(claim.near) != (claim.ours == "new"):
        yield "near is the nearest known work of what is ours and new, and of nothing else"
    if ", ".join(thing.name for thing in claim.things) != claim.about or not claim.about:
        yield f"about is {claim.about!r}, allowed: one or more of {', '.join(THINGS)}, each with its number"
    if not re.fullmatch(r"[^$\\]{20,240}[.!?]", claim.in_words):
        yield f"in_words is {claim.in_words!r}, allowed: a sentence of 20 to 240 letters without symbols"


def read_ledger(folder: Path | None = None) -> tuple[Paper, ...]:
    """Return the papers of every ledger file of a folder, by name; by default of the book one is in."""
    return _papers(folder or find_book().folder("ledger"))


@cache
def _papers(folder: Path) -> tuple[Paper, ...]:
    return tuple(read_paper(path) for path in sorted(folder.glob("*.yml")))


def find_claim(claim_id: str) -> Claim:
    """Return the claim of that id; an unknown id raises ``ValueError`` naming the nearest ones."""
    claims = {claim.id: claim for paper in read_ledger() for claim in paper.claims}
    if claim_id not in claims:
        nearest = difflib.get_close_matches(str(claim_id), claims, n=3, cutoff=0.0)
        raise ValueError(f"claim_id {claim_id!r} is not in the ledger; nearest: {', '.join(nearest)}")
    return claims[claim_id]
