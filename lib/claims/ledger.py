"""The ledger: what each paper claims, and what is wrong as printed, read from ``book/claims/<paper>.yml``."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import yaml

LEDGER_FOLDER = Path(__file__).resolve().parents[2] / "book" / "claims"
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


@dataclass(frozen=True)
class Claim:
    """One entry of the ledger: what a paper claims, and what the book expects to find.

    ``kind`` is one of ``KINDS`` and ``expected`` one of ``VERDICTS``; ``wrong`` and ``corrected`` say what is
    wrong as printed and how it is repaired, ``reason`` why a claim is not decided here.  ``ours`` marks a
    statement of the book that the paper does not make.
    """

    id: str
    paper: str
    place: str
    kind: str
    statement: str
    expected: str
    hypotheses: str = ""
    wrong: str = ""
    corrected: str = ""
    reason: str = ""
    ours: bool = False


@dataclass(frozen=True)
class Erratum:
    """One entry of the errata page: what is wrong as printed, the repair, and the claims that it touches."""

    id: str
    paper: str
    place: str
    printed: str
    wrong: str
    repair: str
    claims: Sequence[str] = ()


@dataclass(frozen=True)
class Paper:
    """A paper of the book with its claims and errata, as read from one ledger file."""

    key: str
    title: str
    authors: str
    year: int
    arxiv: str
    claims: tuple[Claim, ...]
    errata: tuple[Erratum, ...]


_Entry = TypeVar("_Entry", Claim, Erratum)


def read_paper(path: Path) -> Paper:
    """Read and validate one ledger file.

    Raises ``ValueError`` naming the file and the entries for a file of another form, an unknown field, kind
    or verdict, an id that is foreign or used twice, and remarks that do not go with the expected verdict.
    """
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
        key = content["paper"]["key"]
        claims = tuple(_entry(Claim, key, fields) for fields in content["claims"])
        errata = tuple(_entry(Erratum, key, fields) for fields in content.get("errata", ()))
        paper = Paper(**content["paper"], claims=claims, errata=errata)
    except (yaml.YAMLError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{path.name}: {error}; allowed: a mapping of paper, claims and errata") from None
    if mistakes := "; ".join(_mistakes(paper)):
        raise ValueError(f"{path.name}: {mistakes}")
    return paper


def _entry(kind: type[_Entry], key: str, fields: Mapping[str, Any]) -> _Entry:
    try:
        return kind(paper=key, **fields)
    except TypeError as error:
        raise TypeError(f"{fields.get('id', 'entry without id')}: {error}") from None


def _mistakes(paper: Paper) -> Iterator[str]:
    """What the entries of a ledger file have wrong, in words."""
    claims = [claim.id for claim in paper.claims]
    for name, count in Counter([*claims, *(erratum.id for erratum in paper.errata)]).items():
        if not str(name).startswith(f"{paper.key}-"):
            yield f"{name}: an id starts with {paper.key!r} and a dash"
        if count > 1:
            yield f"{name}: the id is used twice"
    for erratum in paper.errata:
        if unknown := set(erratum.claims).difference(claims):
            yield f"{erratum.id}: claims that are not listed: {', '.join(sorted(unknown))}"
    for claim in paper.claims:
        if claim.kind not in KINDS:
            yield f"{claim.id}: kind {claim.kind!r} is none of {', '.join(KINDS)}"
        if claim.expected not in VERDICTS:
            yield f"{claim.id}: expected {claim.expected!r} is none of {', '.join(VERDICTS)}"
        elif (remarks := tuple(name for name in REMARKS if getattr(claim, name))) != VERDICTS[claim.expected]:
            yield f"{claim.id}: says {remarks}, allowed for {claim.expected!r}: {VERDICTS[claim.expected]}"


@cache
def read_ledger() -> tuple[Paper, ...]:
    """Read every ledger file of the book, by name."""
    return tuple(read_paper(path) for path in sorted(LEDGER_FOLDER.glob("*.yml")))


def find_claim(claim_id: str) -> Claim:
    """Return the claim of that id; an unknown id raises ``ValueError`` naming the nearest ones."""
    claims = {claim.id: claim for paper in read_ledger() for claim in paper.claims}
    if claim_id not in claims:
        nearest = difflib.get_close_matches(str(claim_id), claims, n=3, cutoff=0.0)
        raise ValueError(f"claim_id {claim_id!r} is not in the ledger; nearest: {', '.join(nearest)}")
    return claims[claim_id]
