"""The ledger: what each paper claims, and what is wrong as printed, read from ``book/claims/<paper>.yml``."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import yaml

LEDGER_FOLDER = Path(__file__).resolve().parents[2] / "book" / "claims"
KINDS = ("identity", "inequality", "asymptotic", "convergence", "qualitative", "statistical")
NOT_HERE = "not here"
VERDICTS = ("verified", "corrected", "refuted", "stand-in", NOT_HERE)


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


_Entry = TypeVar("_Entry", Claim, Erratum)


def read_paper(path: Path | str) -> Paper:
    """Read and validate one ledger file.

    Raises ``ValueError`` naming the file and the entry for a file of another form, an unknown field or kind,
    a foreign id, a corrected or refuted claim that does not say what is wrong, or one that is not decided
    here and does not say why.
    """
    path = Path(path)
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except yaml.YAMLError as error:
        raise ValueError(f"{path.name}: {error}") from None
    try:
        head = {key: content["paper"][key] for key in ("key", "title", "authors", "year", "arxiv")}
        listed, wrong = ([dict(fields) for fields in content.get(key, ())] for key in ("claims", "errata"))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ValueError(
            f"{path.name}: {error}; allowed: a mapping of paper (key, title, authors, year, arxiv), claims "
            "and errata"
        ) from None
    claims = tuple(_entry(Claim, fields, head["key"], path.name) for fields in listed)
    errata = tuple(
        _entry(Erratum, {**fields, "claims": tuple(fields.get("claims", ()))}, head["key"], path.name)
        for fields in wrong
    )
    for claim in claims:
        _check_claim(claim, f"{path.name}: {claim.id}")
    ids = [claim.id for claim in claims] + [erratum.id for erratum in errata]
    if repeated := {name for name in ids if ids.count(name) > 1}:
        raise ValueError(f"{path.name}: ids used twice: {', '.join(sorted(repeated))}")
    if unknown := {name for erratum in errata for name in erratum.claims} - {claim.id for claim in claims}:
        raise ValueError(f"{path.name}: errata name claims that are not listed: {', '.join(sorted(unknown))}")
    return Paper(**head, claims=claims, errata=errata)


def _entry(kind: type[_Entry], fields: Mapping[str, Any], key: str, file: str) -> _Entry:
    where = f"{file}: {fields.get('id', 'entry without id')}"
    if not str(fields.get("id", "")).startswith(f"{key}-"):
        raise ValueError(f"{where}: an id starts with {key!r} and a dash")
    try:
        return kind(paper=key, **fields)
    except TypeError as error:
        raise ValueError(f"{where}: {error}") from None


def _check_claim(claim: Claim, where: str) -> None:
    if claim.kind not in KINDS:
        raise ValueError(f"{where}: kind {claim.kind!r} is none of {', '.join(KINDS)}")
    if claim.expected not in VERDICTS:
        raise ValueError(f"{where}: expected {claim.expected!r} is none of {', '.join(VERDICTS)}")
    if claim.expected in ("corrected", "refuted") and not claim.wrong:
        raise ValueError(f"{where}: a {claim.expected} claim says what is wrong")
    if (claim.expected == "corrected") != bool(claim.corrected):
        raise ValueError(f"{where}: 'corrected' is given exactly when the expected verdict is corrected")
    if (claim.expected == NOT_HERE) != bool(claim.reason):
        raise ValueError(f"{where}: 'reason' is given exactly when the expected verdict is not here")
    if not isinstance(claim.ours, bool):
        raise ValueError(f"{where}: ours is {claim.ours!r}, allowed: true or false")


@cache
def read_ledger(folder: Path | str = LEDGER_FOLDER) -> tuple[Paper, ...]:
    """Read every ledger file of ``folder``, by name; a folder without one is a ``ValueError``."""
    papers = tuple(read_paper(path) for path in sorted(Path(folder).glob("*.yml")))
    if not papers:
        raise ValueError(f"folder is {str(folder)!r}, allowed: a folder with a ledger file <paper>.yml")
    return papers


def find_claim(claim_id: str, ledger: tuple[Paper, ...] | None = None) -> Claim:
    """Return the claim of that id; an unknown id raises ``ValueError`` naming the nearest ones.

    ``ledger`` is the book's unless given.
    """
    papers = read_ledger() if ledger is None else ledger
    claims = {claim.id: claim for paper in papers for claim in paper.claims}
    if not isinstance(claim_id, str) or claim_id not in claims:
        nearest = difflib.get_close_matches(str(claim_id), claims, n=3, cutoff=0.0)
        raise ValueError(f"claim_id {claim_id!r} is not in the ledger; nearest: {', '.join(nearest)}")
    return claims[claim_id]
