"""The papers' numbers beside ours: what we measured for each, with its spread over seeds, as a table.

Theirs stand in a file a paper, ``<paper>.yml``: each table and figure of a paper, those with numbers under
``places``, with one entry a number, the others under ``without_numbers``.  Ours come from the metrics of
experiments, run at reduced size or recorded, by a :class:`Reading`, or from any other computation as a
:class:`Measurement`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from jinja2 import Environment, StrictUndefined

from experiments.records import RECORDS, NoRecord, command, recorded
from experiments.registry import find
from lib.checks import choice

TEMPLATE = Path(__file__).with_name("comparison.html")


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
        values += [{**shared, **number} for number in place["values"]]
    return PaperNumbers(
        content["paper"],
        content["figures"],
        content["tables"],
        tuple(PaperValue(paper=content["paper"], **_with_claims(number)) for number in values),
        tuple(Wordless(**_with_claims(place)) for place in content["without_numbers"]),
    )


def _with_claims(entry: dict) -> dict:
    return {**entry, "claims": tuple(entry.get("claims", ()))}


@cache
def read_papers(folder: Path) -> tuple[PaperNumbers, ...]:
    """Read the files of all papers in a folder, in alphabetical order; ``ValueError`` if there are none."""
    if not (paths := sorted(folder.glob("*.yml"))):
        raise ValueError(f"folder is {str(folder)!r}, allowed: one with a file <paper>.yml for each paper")
    return tuple(map(read_numbers, paths))


@dataclass(frozen=True)
class Measurement:
    """Our values for one number of a paper, one a seed, ``None`` where what is measured did not happen.

    ``label`` says what was measured on, ``anchor`` is the id of the record's place on the page, and a
    ``remark`` says why the values are not to be compared with the paper's.
    """

    values: tuple[float | None, ...]
    label: str = ""
    anchor: str = ""
    remark: str = ""

    @property
    def happened(self) -> list[float]:
        """The values without the ``None`` among them."""
        return [value for value in self.values if value is not None]

    @property
    def spread(self) -> tuple[float, float, float]:
        """Least value, median and largest value over the seeds where it happened, which there must be."""
        return min(self.happened), float(np.median(self.happened)), max(self.happened)


@dataclass(frozen=True)
class Reading:
    """How a number of a paper is read from an experiment: ``value(metrics of a seed, configuration)``.

    ``value`` returns a number, or ``None`` where what is measured did not happen; ``configuration`` is a
    dictionary.  ``variants`` are those whose records count, and ``remarks`` say of some variants, "quick"
    among them, why they are not to be compared with the paper.
    """

    experiment: str
    value: Callable[[Mapping[str, Any], Mapping[str, Any]], float | None]
    variants: tuple[str, ...] = ("full",)
    remarks: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for variant in self.remarks:
            choice("variant of a remark", variant, ("quick", *self.variants))

    def measure(self, metrics: Sequence[Mapping[str, Any]], variant: str) -> Measurement:
        """Read the number from the metrics of a run of that variant, a dictionary for each seed."""
        config = asdict(find(self.experiment).config(variant))
        values = tuple(self.value(of_seed, config) for of_seed in metrics)
        label = f"{len(values)} seed{'s' * (len(values) > 1)}"
        return Measurement(values, label, remark=self.remarks.get(variant, ""))

    def recorded(self, folder: Path = RECORDS) -> tuple[Measurement, ...]:
        """Read the number from the records that there are, in the order of the variants."""
        measurements = []
        for variant in self.variants:
            try:
                record = recorded(self.experiment, variant, folder)
            except NoRecord:
                continue
            values = tuple(self.value(of_seed, record.config) for of_seed in record.metrics)
            parts = [variant] * (variant != "full") + [record.size]
            remark = self.remarks.get(variant, "")
            measurements.append(Measurement(values, ", ".join(parts), record.anchor, remark))
        return tuple(measurements)

    def command(self) -> str:
        """Return the command that makes the first of the records."""
        return command(self.experiment, self.variants[0])


@dataclass(frozen=True)
class Row:
    """A number of a paper, ours at reduced size or in closed form (``quick``), and ours on record.

    ``instead`` is what is shown in the place of a record where there is none; by default it says not yet.
    """

    paper: PaperValue
    quick: Measurement | None = None
    recorded: tuple[Measurement, ...] = ()
    instead: str = ""

    @property
    def best(self) -> Measurement | None:
        """What comes nearest to the paper's own size: the first record, else the quick measurement."""
        return self.recorded[0] if self.recorded else self.quick


def show_number(value: float) -> str:
    """Return a number as HTML: four significant digits, all of those before the decimal point."""
    size = abs(value)
    if size >= 1e15 or 0 < size < 1e-3:
        digits, exponent = f"{value:.1e}".split("e")
        return f"{float(digits):g}·10<sup>{int(exponent)}</sup>".replace("-", "−")
    return (f"{value:,.0f}" if size >= 1e4 else f"{value:.4g}").replace("-", "−")


def show_spread(measurement: Measurement, unit: str = "") -> str:
    """Return median and range over the seeds as HTML, and in how many of them it did not happen."""
    happened, seeds = len(measurement.happened), len(measurement.values)
    if not happened:
        return f"never in {seeds}"
    low, median, high = map(show_number, measurement.spread)
    spread = "" if low == high else f" ({low} to {high})"
    absent = "" if happened == seeds else f", not in {seeds - happened} of {seeds}"
    return median + unit + spread + absent


def comparison_table(rows: Sequence[Row]) -> str:
    """Return a table in HTML, the rows of one place under a heading; the site fills in the verdicts."""
    places = []
    for _, group in groupby(rows, key=lambda row: row.paper.place):
        together = list(group)
        origins = {row.paper.origin for row in together}
        places.append((together, origins.pop() if len(origins) == 1 else ""))
    template = Environment(autoescape=True, undefined=StrictUndefined).from_string(
        TEMPLATE.read_text("utf-8")
    )
    return template.render(places=places, number=show_number, spread=show_spread)
