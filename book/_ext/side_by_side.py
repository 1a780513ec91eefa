"""The papers' numbers beside ours: what we measured for each, with its spread over seeds, as a table.

Ours come from the metrics of experiments, run at reduced size or recorded, by a
:class:`side_by_side.Reading`, or from any other computation as a :class:`side_by_side.Measurement`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
from paper_values import PaperValue

from lib.checks import number
from lib.experiments.records import RECORDS, NoRecord, command, recorded, seeds_in_words
from lib.experiments.registry import find

NOT_YET = '<span class="not-yet">not yet</span>'


@dataclass(frozen=True)
class Measurement:
    """Our values for one number of a paper, one a seed, ``None`` where what is measured did not happen.

    ``label`` says what was measured on, ``anchor`` is the id of the record's place on the page, and a
    ``remark`` says why the values are not to be compared with the paper's.  Raises ``ValueError`` for no
    values, and for one that is not finite.

    Example:

    >>> times = Measurement((5254.0, None, 5102.0), "3 seeds")
    >>> times.median, times.low, times.high
    (5178.0, 5102.0, 5254.0)
    """

    values: tuple[float | None, ...]
    label: str = ""
    anchor: str = ""
    remark: str = ""

    def __post_init__(self) -> None:
        if not self.values:
            raise ValueError("values is (), allowed: at least one number or None")
        for value in self.values:
            if value is not None:
                number("values", value)

    @property
    def happened(self) -> list[float]:
        """The values without the ``None`` among them."""
        return [value for value in self.values if value is not None]

    @property
    def median(self) -> float | None:
        """The median over the seeds; ``None`` if it never happened."""
        return float(np.median(self.happened)) if self.happened else None

    @property
    def low(self) -> float | None:
        """The least value; ``None`` if it never happened."""
        return min(self.happened, default=None)

    @property
    def high(self) -> float | None:
        """The largest value; ``None`` if it never happened."""
        return max(self.happened, default=None)


@dataclass(frozen=True)
class Reading:
    """How a number of a paper is read from an experiment: ``value(metrics of a seed, configuration)``.

    ``value`` returns a number, or ``None`` where what is measured did not happen; ``configuration`` is a
    dictionary.  ``variants`` are those whose records count, and ``remarks`` say of some variants, "quick"
    among them, why they are not to be compared with the paper.  Raises ``ValueError`` for an unknown
    experiment or variant.

    Example:

    >>> final = Reading("boursier2022-figure-6", lambda metrics, config: metrics["final_error"])
    >>> final.measure([{"final_error": 1e-9}, {"final_error": 3e-9}], "quick").median
    2e-09
    """

    experiment: str
    value: Callable[[Mapping[str, Any], Mapping[str, Any]], float | None]
    variants: tuple[str, ...] = ("full",)
    remarks: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        known = find(self.experiment).configurations
        for name, given in (("variants", self.variants), ("remarks", self.remarks)):
            if unknown := set(given) - set(known):
                raise ValueError(f"{name} holds {min(unknown, key=str)!r}, allowed: {', '.join(known)}")

    def measure(self, metrics: Sequence[Mapping[str, Any]], variant: str) -> Measurement:
        """Read the number from the metrics of a run of that variant, a dictionary for each seed."""
        config = dataclasses.asdict(find(self.experiment).config(variant))
        values = tuple(self.value(one, config) for one in metrics)
        return Measurement(values, seeds_in_words(len(values)), remark=self.remarks.get(variant, ""))

    def recorded(self, folder: Path = RECORDS) -> tuple[Measurement, ...]:
        """Read the number from the records that there are, in the order of the variants."""
        found = []
        for variant in self.variants:
            try:
                record = recorded(self.experiment, variant, folder)
            except NoRecord:
                continue
            values = tuple(self.value(one, record.config) for one in record.metrics)
            parts = [variant] * (variant != "full") + [record.size] + ["stale"] * bool(record.stale())
            found.append(Measurement(values, ", ".join(parts), record.anchor, self.remarks.get(variant, "")))
        return tuple(found)

    def command(self) -> str:
        """Return the command that makes the first of the records."""
        return command(self.experiment, self.variants[0])


@dataclass(frozen=True)
class Row:
    """A number of a paper, ours at reduced size or in closed form (``quick``), and ours on record.

    ``instead`` is what is shown in the place of a record where there is none; by default it says not yet.

    Example:

    >>> third = PaperValue("toy-1", "toy", "Table 1", "A third", "x", 0.33, error=0.005, origin="rounded")
    >>> Row(third, Measurement((1 / 3,))).best.median
    0.3333333333333333
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
    """Return a number as HTML: four significant digits, all of those before the decimal point.

    Raises ``ValueError`` for what is no finite number.

    Example:

    >>> show_number(75312.4), show_number(0.78549), show_number(1.6e-4)
    ('75,312', '0.7855', '1.6·10<sup>−4</sup>')
    """
    value = number("value", value)
    size = abs(value)
    if size >= 1e15 or 0 < size < 1e-3:
        digits, exponent = f"{value:.1e}".split("e")
        return f"{float(digits):g}·10<sup>{int(exponent)}</sup>".replace("-", "−")
    return (f"{value:,.0f}" if size >= 1e4 else f"{value:.4g}").replace("-", "−")


def show_spread(measurement: Measurement, unit: str = "") -> str:
    """Return median and range over the seeds as HTML, and in how many seeds it did not happen.

    Raises ``ValueError`` for anything but a measurement.

    Example:

    >>> show_spread(Measurement((3.0, 1.0, 2.0, None)), "%")
    '2 % (1 to 3), not in 1 of 4'
    """
    if not isinstance(measurement, Measurement):
        raise ValueError(f"measurement is {measurement!r}, allowed: a Measurement")
    values = measurement.happened
    if not values:
        return f"never in {len(measurement.values)}"
    text = show_number(float(np.median(values))) + _unit(unit)
    low, high = show_number(min(values)), show_number(max(values))
    if low != high:
        text += f" ({low} to {high})"
    missed = len(measurement.values) - len(values)
    return text + f", not in {missed} of {len(measurement.values)}" * bool(missed)


def _unit(unit: str) -> str:
    return f" {escape(unit)}" if unit and unit != "iterations" else ""


def comparison_table(rows: Sequence[Row]) -> str:
    """Return a table in HTML, the rows of one place under a heading; verdicts are filled in by the site.

    Raises ``ValueError`` for anything but rows, and for none.

    Example:

    >>> third = PaperValue("toy-1", "toy", "Table 1", "A third", "x", 0.33, error=0.005, origin="rounded")
    >>> html = comparison_table([Row(third, Measurement((1 / 3,), "closed form"))])
    >>> "0.3333" in html, "not yet" in html
    (True, True)
    """
    if not rows or not all(isinstance(row, Row) for row in rows):
        raise ValueError(f"rows is {rows!r}, allowed: at least one Row")
    heads = ("Quantity", "Paper", "Ours, quick", "Ours, recorded", "Verdict")
    lines = [
        '<table class="comparison"><thead><tr>',
        *(f"<th>{head}</th>" for head in heads),
        "</tr></thead>",
    ]
    for _, group in groupby(rows, key=lambda row: row.paper.place):
        together = list(group)
        origins = {row.paper.origin for row in together}
        common = origins.pop() if len(origins) == 1 else ""
        lines += ["<tbody>", _heading(together[0].paper, common)]
        for row in together:
            cells = (
                _quantity(row.paper),
                _paper(row.paper, common),
                NOT_YET if row.quick is None else _ours(row.quick, row.paper.unit),
                "".join(_ours(one, row.paper.unit) for one in row.recorded) or row.instead or NOT_YET,
                _verdicts(row.paper),
            )
            described = zip(heads, cells, strict=True)
            texts = "".join(f'<td data-label="{head}">{cell}</td>' for head, cell in described)
            lines.append(f"<tr>{texts}</tr>")
        lines.append("</tbody>")
    return "\n".join([*lines, "</table>"])


def _heading(value: PaperValue, origin: str) -> str:
    about = "; ".join(filter(None, [escape(value.title), f"±: {escape(origin)}" * bool(origin)]))
    return f'<tr class="place"><th colspan="5">{escape(value.place)} <small>{about}</small></th></tr>'


def _small(text: str) -> str:
    return f" <small>{text}</small>" if text else ""


def _quantity(value: PaperValue) -> str:
    unit = f", {value.unit}" if value.unit == "iterations" else ""
    return escape(value.quantity + unit) + _small(escape(value.note))


def _paper(value: PaperValue, common: str) -> str:
    side = "" if value.relation == "is" else f"{value.relation} "
    error = "" if value.error is None else f" ± {show_number(value.error)}"
    origin = "" if value.origin == common else escape(value.origin)
    return side + (value.printed or show_number(value.value)) + error + _unit(value.unit) + _small(origin)


def _ours(measurement: Measurement, unit: str) -> str:
    label = escape(measurement.label)
    if measurement.anchor:
        label = f'<a href="#{escape(measurement.anchor)}">{label}</a>'
    about = "; ".join(filter(None, [label, escape(measurement.remark)]))
    return f"<div>{show_spread(measurement, unit)}{_small(about)}</div>"


def _verdicts(value: PaperValue) -> str:
    return (
        " ".join(f'<span data-claim="{escape(name)}">{escape(name)}</span>' for name in value.claims) or "–"
    )
