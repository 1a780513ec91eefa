"""The ledger: what each paper claims, and what is wrong as printed, one YAML file a paper."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from executable_claims.claims.configuration import find_book

KINDS = ("identity", "inequality", "asymptotic", "convergence", "qualitative", "statistical")
NOT_HERE, NOT_YET = "not here", "not yet"
# What there is to say beside the statement, and what of it a claim says that is expected to get a verdict.
REMARKS = ("wrong", "corrected", "reason")
VERDICTS: dict[str, tuple[str, ...]] = {
    "verified": (),
    "corrected": ("wrong", "corrected"),
    "refuted": ("wrong",),
    "stand-in": (),
    NOT_HERE: ("reason",),
    NOT_YET: (),
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

    @classmethod
    def stated(cls, sentence: str) -> Claim:
        """Return the claim that a sentence makes, which is in no ledger."""
        return cls(sentence, "", "", "", "", sentence, sentence, "verified")

    @property
    def name(self) -> str:
        """The id and where it stands, or the sentence of a claim that is in no ledger."""
        return f"{self.id} ({self.place})" if self.place else self.id

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


def read_ledger(folder: Path | None = None) -> tuple[Paper, ...]:
    """Return the papers of every ledger file of a folder, by name; by default of the book one is in."""
    return _papers(folder or find_book().folder("ledger"))


@cache
def _papers(folder: Path) -> tuple[Paper, ...]:
    from executable_claims.claims.ledger_file import read_paper  # brings PyYAML

    return tuple(read_paper(path) for path in sorted(folder.glob("*.yml")))


def find_claim(claim_id: str) -> Claim:
    """Return the claim of that id; an unknown id raises ``ValueError`` naming the nearest ones."""
    claims = {claim.id: claim for paper in read_ledger() for claim in paper.claims}
    if claim_id not in claims:
        nearest = difflib.get_close_matches(str(claim_id), claims, n=3, cutoff=0.0)
        raise ValueError(f"claim_id {claim_id!r} is not in the ledger; nearest: {', '.join(nearest)}")
    return claims[claim_id]
