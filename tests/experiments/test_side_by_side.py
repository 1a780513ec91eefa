"""The papers' numbers beside ours: readings of runs and records, and the table."""

import ast
import re
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments import side_by_side
from experiments.records import NoRecord
from experiments.side_by_side import Measurement, Reading, read_papers, show_number, show_spread
from tests.book import test_book

PAGE = test_book.BOOK / "comparison.md"
SQUARE = Reading("counting", lambda metrics, config: metrics["square"] * config["scale"], ("full", "slow"))


@dataclass(frozen=True)
class Counting:
    scale: float


@given(st.floats(-1e300, 1e300))
def test_a_number_is_shown_to_the_digits_that_it_has_room_for(value):
    shown = show_number(value).replace("−", "-").replace(",", "")
    digits, _, exponent = shown.partition("·10<sup>")
    read = float(digits + ("e" + exponent.removesuffix("</sup>") if exponent else ""))
    # Half a unit of the fourth digit, or of the second beside a power of ten.
    assert abs(read - value) <= (0.05 if exponent else 5e-4) * abs(value) * (1 + 1e-9)


@given(st.lists(st.none() | st.floats(-1e12, 1e12), min_size=1))
def test_median_and_range_are_over_the_seeds_where_it_happened(values):
    measurement = Measurement(tuple(values))
    shown = show_spread(measurement, " %")
    happened = [value for value in values if value is not None]
    if not happened:
        assert shown == f"never in {len(values)}"
        return
    low, median, high = map(show_number, (min(happened), np.median(happened), max(happened)))
    missed = len(values) - len(happened)
    assert shown.startswith(f"{median} %")
    assert (f"({low} to {high})" in shown) == (low != high)
    assert (f"not in {missed} of {len(values)}" in shown) == bool(missed)


def test_a_reading_is_of_the_run_here_and_of_every_record_there_is(monkeypatch):
    def recorded(name, variant, folder):
        if (name, variant) != ("counting", "slow"):
            raise NoRecord
        metrics = [{"square": 0}, {"square": 1}, {"square": 9}]
        about = {"size": "3 seeds", "anchor": "record-counting-slow"}
        return SimpleNamespace(config={"scale": 2}, metrics=metrics, **about)

    monkeypatch.setattr(side_by_side, "recorded", recorded)
    monkeypatch.setattr(
        side_by_side, "find", lambda name: SimpleNamespace(config=lambda variant: Counting(0.1))
    )
    quick = SQUARE.measure([{"square": 4.0}, {"square": 9.0}], "quick")
    assert (quick.values, quick.label) == ((0.4, pytest.approx(0.9)), "2 seeds")
    [slow] = SQUARE.recorded()
    assert (slow.values, slow.label, slow.anchor) == (
        (0, 2, 18),
        "slow, 3 seeds",
        "record-counting-slow",
    )


def test_a_remark_is_about_a_variant_that_is_read():
    with pytest.raises(ValueError, match=r"variant of a remark is 'slow-', allowed: 'quick', 'full', 'slow'"):
        Reading("counting", SQUARE.value, ("full", "slow"), {"slow-": "shorter"})


def test_a_folder_without_papers_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"folder is '.*', allowed: one with a file <paper>\.yml"):
        read_papers(tmp_path)


def test_no_number_of_ours_is_typed_into_the_page():
    """Every measurement comes from a name, which another line has computed."""
    found = 0
    for cell in test_book.code_cells(PAGE):
        for call in test_book.calls(cell.source, "Measurement"):
            parts = call.args[0].elts if isinstance(call.args[0], ast.Tuple) else [call.args[0]]
            assert all(any(isinstance(node, ast.Name) for node in ast.walk(part)) for part in parts)
            found += 1
    assert found >= 10


def test_the_page_shows_every_paper():
    source = PAGE.read_text(encoding="utf-8")
    assert set(re.findall(r'^show\("(\w+)"\)$', source, re.M)) == {
        paper.paper for paper in read_papers(PAGE.parent / "paper_values")
    }
