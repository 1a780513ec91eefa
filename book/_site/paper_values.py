"""What the papers' tables and figures say in numbers, read from ``book/paper_values/<paper>.yml``.

A file lists each table and figure of its paper: those with numbers under ``places``, with one entry a number,
the others under ``without_numbers``.  It holds nothing of ours.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import yaml

VALUES_FOLDER = Path(__file__).resolve().parents[1] / "paper_values"


@dataclass(frozen=True)
class PaperValue:
    """One number of a table or figure, in ``unit``, at a ``place`` with a ``title``.

    ``relation`` is "is" for a number that is printed or read off, and "above" or "below" for a figure that
    shows in words only on which side of ``value`` the quantity lies.  ``error`` is the uncertainty of the
    number, in its unit, and ``origin`` where it comes from: rounding, a standard deviation, the reading.
    ``printed`` is the number with the zeros at its end that the paper prints, if it does.
    ``claims`` are those of the ledger that decide whether it holds.
    """

    id: str
    paper: str
    place: str
    title: str
    quantity: str
    value: float
    unit: str = ""
    relation: str = "is"
    error: float | None = None
    origin: str = ""
    claims: tuple[str, ...] = ()
    note: str = ""
    printed: str = ""


@dataclass(frozen=True)
class Wordless:
    """A table or figure without a number to compare: ``what`` it shows, and the claims that decide it."""

    place: str
    what: str
    claims: tuple[str, ...] = ()


@dataclass(frozen=True)
class PaperNumbers:
    """The numbers of one paper in its order, what it shows without numbers, and how many places it has."""

    paper: str
    figures: int
    tables: int
    values: tuple[PaperValue, ...]
    without_numbers: tuple[Wordless, ...]


def read_numbers(path: Path) -> PaperNumbers:
    """Read one file; what an entry of ``places`` says beside its ``values`` holds for each of these."""
    content = yaml.safe_load(path.read_text(encoding="utf-8"))
    values = []
    for place in content["places"]:
        shared = {name: given for name, given in place.items() if name != "values"}
        values += [{**shared, **one} for one in place["values"]]
    return PaperNumbers(
        content["paper"],
        content["figures"],
        content["tables"],
        tuple(PaperValue(paper=content["paper"], **_with_claims(one)) for one in values),
        tuple(Wordless(**_with_claims(one)) for one in content["without_numbers"]),
    )


def _with_claims(entry: dict) -> dict:
    return {**entry, "claims": tuple(entry.get("claims", ()))}


@cache
def read_papers() -> tuple[PaperNumbers, ...]:
    """Read the files of all papers, in alphabetical order."""
    return tuple(read_numbers(path) for path in sorted(VALUES_FOLDER.glob("*.yml")))
