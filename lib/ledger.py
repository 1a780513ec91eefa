"""The ledger: what each paper claims, and what is wrong as printed, read from ``book/claims/<paper>.yml``."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import yaml

LEDGER_FOLDER = Path(__file__).resolve().parents[1] / "book" / "claims"
KINDS = ("identity", "inequality", "asymptotic", "convergence", "qualitative", "statistical")
VERDICTS = ("verified", "corrected", "refuted", "stand-in")


@dataclass(frozen=True)
class Claim:
    """One entry of the ledger: what a paper claims, and what the book expects to find."""

    id: str
    paper: str
    place: str
    kind: str
    statement: str
    expected: str
    hypotheses: str = ""
    wrong: str = ""
    corrected: str = ""


@dataclass(frozen=True)
class Erratum:
    """One entry of the errata page: what is wrong as printed, and the repair."""

    id: str
    paper: str
    place: str
    printed: str
    wrong: str
    repair: str
    claims: tuple[str, ...] = ()


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


def read_paper(path: Path) -> Paper:
    """Read and validate one ledger file.

    Raises ``ValueError`` naming the file and the entry for an unknown field or kind, a foreign id, or a
    corrected or refuted claim that does not say what is wrong.
    """
    content = yaml.safe_load(path.read_text(encoding="utf-8"))
    head = content["paper"]

    def entry(kind: type, fields: Mapping) -> Claim | Erratum:
        where = f"{path.name}: {fields.get('id', 'entry without id')}"
        if not str(fields.get("id", "")).startswith(head["key"] + "-"):
            raise ValueError(f"{where}: an id starts with {head['key']!r} and a dash")
        try:
            return kind(paper=head["key"], **fields)
        except TypeError as error:
            raise ValueError(f"{where}: {error}") from None

    claims = tuple(entry(Claim, fields) for fields in content["claims"])
    errata = tuple(
        entry(Erratum, {**fields, "claims": tuple(fields.get("claims", ()))})
        for fields in content.get("errata", ())
    )
    for claim in claims:
        where = f"{path.name}: {claim.id}"
        if claim.kind not in KINDS:
            raise ValueError(f"{where}: kind {claim.kind!r} is none of {', '.join(KINDS)}")
        if claim.expected not in VERDICTS:
            raise ValueError(f"{where}: expected {claim.expected!r} is none of {', '.join(VERDICTS)}")
        if claim.expected in ("corrected", "refuted") and not claim.wrong:
            raise ValueError(f"{where}: a {claim.expected} claim says what is wrong")
        if (claim.expected == "corrected") != bool(claim.corrected):
            raise ValueError(f"{where}: 'corrected' is given exactly when the expected verdict is corrected")
    ids = [claim.id for claim in claims] + [erratum.id for erratum in errata]
    if repeated := {name for name in ids if ids.count(name) > 1}:
        raise ValueError(f"{path.name}: ids used twice: {', '.join(sorted(repeated))}")
    if unknown := {name for erratum in errata for name in erratum.claims} - {claim.id for claim in claims}:
        raise ValueError(f"{path.name}: errata name claims that are not listed: {', '.join(sorted(unknown))}")
    return Paper(
        **{key: head[key] for key in ("key", "title", "authors", "year", "arxiv")},
        claims=claims,
        errata=errata,
    )


@cache
def read_ledger(folder: Path = LEDGER_FOLDER) -> tuple[Paper, ...]:
    """Read every ledger file of ``folder``, in alphabetical order."""
    return tuple(read_paper(path) for path in sorted(folder.glob("*.yml")))


def find_claim(claim_id: str, ledger: tuple[Paper, ...] | None = None) -> Claim:
    """Return the claim of that id; an unknown id raises ``ValueError`` naming the nearest ones."""
    papers = read_ledger() if ledger is None else ledger
    claims = {claim.id: claim for paper in papers for claim in paper.claims}
    if claim_id not in claims:
        nearest = difflib.get_close_matches(claim_id, claims, n=3, cutoff=0.0)
        raise ValueError(f"claim_id {claim_id!r} is not in the ledger; nearest: {', '.join(nearest)}")
    return claims[claim_id]
