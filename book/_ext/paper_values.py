"""What the papers' tables and figures say in numbers, read from ``book/paper_values/<paper>.yml``.

A file lists each table and figure of its paper: those with numbers under ``places``, with one entry a number,
the others under ``without_numbers``.  It holds nothing of ours.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from lib.checks import choice, number
from lib.claims.ledger import LEDGER_FOLDER, find_claim

VALUES_FOLDER = LEDGER_FOLDER.parent / "paper_values"
RELATIONS = ("is", "above", "below")


def _check_claims(claims: tuple[str, ...]) -> None:
    for claim in claims:
        try:
            find_claim(claim)
        except ValueError as error:
            raise ValueError(f"claims: {error}") from None


@dataclass(frozen=True)
class PaperValue:
    """One number of a table or figure, in ``unit``, at a ``place`` with a ``title``.

    ``relation`` is "is" for a number that is printed or read off, and "above" or "below" for a figure that
    shows in words only on which side of ``value`` the quantity lies.  ``error`` is the uncertainty of the
    number, in its unit, and ``origin`` where it comes from: rounding, a standard deviation, the reading.
    ``printed`` is the number with the zeros at its end that the paper prints, if it does.
    ``claims`` are those of the ledger that decide whether it holds.  Raises ``ValueError`` for a value that
    is not finite, a negative error, an error without origin or the reverse,
    another number ``printed``, and an unknown claim or relation.

    Example:

    >>> third = PaperValue("toy-1", "toy", "Table 1", "A third", "x", 0.33, error=0.005, origin="rounded")
    >>> third.error
    0.005
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

    def __post_init__(self) -> None:
        number("value", self.value)
        if self.printed and self.printed != f"{self.value:.{len(self.printed.partition('.')[2])}f}":
            raise ValueError(f"printed is {self.printed!r}, allowed: {self.value} with zeros after it")
        choice("relation", self.relation, RELATIONS)
        if self.error is not None:
            number("error", self.error, 0)
        if (self.error is not None) != bool(self.origin):
            raise ValueError(f"origin is {self.origin!r}, error {self.error}; allowed: both or neither")
        _check_claims(self.claims)


@dataclass(frozen=True)
class Wordless:
    """A table or figure without a number to compare: ``what`` it shows, and the claims that decide it.

    Raises ``ValueError`` for an unknown claim.

    Example:

    >>> Wordless("Figure 1", "a drawing of the network").claims
    ()
    """

    place: str
    what: str
    claims: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        _check_claims(self.claims)


@dataclass(frozen=True)
class PaperNumbers:
    """The numbers of one paper in its order, and what it shows without numbers.

    Example:

    >>> [one.paper for one in read_papers()][:2]
    ['boursier2022', 'combes2018']
    """

    paper: str
    values: tuple[PaperValue, ...]
    without_numbers: tuple[Wordless, ...]


def read_numbers(path: Path | str) -> PaperNumbers:
    """Read and validate one file.

    What an entry of ``places`` says beside its ``values`` holds for each of these.  Raises ``ValueError``
    naming the file, and the entry if there is one, for another form, an unknown field, a foreign or repeated
    id, and whatever :class:`paper_values.PaperValue` refuses.

    Example:

    >>> read_numbers(VALUES_FOLDER / "combes2018.yml").values[0].place
    'Table 1'
    """
    path = Path(path)
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
        key, places = content["paper"], content["places"]
        shared = [{name: given for name, given in place.items() if name != "values"} for place in places]
        entries = [
            {**above, **one} for above, place in zip(shared, places, strict=True) for one in place["values"]
        ]
        others = [dict(one) for one in content["without_numbers"]]
    except (OSError, yaml.YAMLError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(
            f"path {path.name}: {error}; allowed: a mapping of paper, places with values, and without_numbers"
        ) from None
    values = tuple(_entry(PaperValue, one, path.name, paper=key) for one in entries)
    without_numbers = tuple(_entry(Wordless, one, path.name) for one in others)
    ids = [value.id for value in values]
    for name in ids:
        if ids.count(name) > 1 or not str(name).startswith(f"{key}-"):
            raise ValueError(
                f"path {path.name}: {name}: an id is used once and starts with {key!r} and a dash"
            )
    return PaperNumbers(key, values, without_numbers)


def _entry(kind: type, fields: Mapping[str, Any], file: str, **more: str) -> Any:
    try:
        return kind(**more, **{**fields, "claims": tuple(fields.get("claims", ()))})
    except (TypeError, ValueError) as error:
        raise ValueError(f"path {file}: {fields.get('id', fields.get('place'))}: {error}") from None


@cache
def read_papers(folder: Path | str = VALUES_FOLDER) -> tuple[PaperNumbers, ...]:
    """Read every file of ``folder``, in alphabetical order; a folder without one is a ``ValueError``.

    Example:

    >>> sum(len(paper.values) for paper in read_papers()) > 50
    True
    """
    papers = tuple(read_numbers(path) for path in sorted(Path(folder).glob("*.yml")))
    if not papers:
        raise ValueError(f"folder is {str(folder)!r}, allowed: a folder with a file <paper>.yml")
    return papers
