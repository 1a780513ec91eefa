"""The papers' numbers beside ours: spreads, readings of runs and records, and the table."""

import ast
import dataclasses
import re

import numpy as np
import pytest
from bs4 import BeautifulSoup
from hypothesis import given
from hypothesis import strategies as st
from paper_values import PaperValue, read_papers
from side_by_side import Measurement, Reading, Row, comparison_table, show_number, show_spread

from lib.experiments.records import recorded
from tests.book import test_book
from tests.experiments.test_records import filled, write

PAGE = test_book.BOOK / "comparison.md"
FINITE = st.floats(-1e12, 1e12)
THIRD = PaperValue(
    "toy-1", "toy", "Table 1", "Thirds & more", "A third, <b>", 33.0, "%", error=0.5, origin="rounded"
)
SQUARE = Reading("counting", lambda metrics, config: metrics["square"] * config["scale"], ("full", "slow"))


@given(st.lists(st.none() | FINITE, min_size=1))
def test_the_spread_is_over_the_seeds_where_it_happened(values):
    measurement = Measurement(tuple(values))
    happened = [value for value in values if value is not None]
    if not happened:
        assert (measurement.median, measurement.low, measurement.high) == (None, None, None)
        assert show_spread(measurement) == f"never in {len(values)}"
        return
    assert measurement.median == np.median(happened)
    assert (measurement.low, measurement.high) == (min(happened), max(happened))
    missed = len(values) - len(happened)
    assert (f"not in {missed} of {len(values)}" in show_spread(measurement)) == bool(missed)


@given(st.floats(-1e300, 1e300))
def test_a_number_is_shown_to_the_digits_that_it_has_room_for(value):
    shown = show_number(value).replace("−", "-").replace(",", "")
    digits, _, exponent = shown.partition("·10<sup>")
    read = float(digits + ("e" + exponent.removesuffix("</sup>") if exponent else ""))
    # Half a unit of the fourth digit, or of the second beside a power of ten.
    assert abs(read - value) <= (0.05 if exponent else 5e-4) * abs(value) * (1 + 1e-9)


def test_a_reading_is_of_the_run_here_and_of_every_record_there_is(tmp_path):
    assert SQUARE.recorded(tmp_path) == ()
    quick = SQUARE.measure([{"square": 4.0}, {"square": 9.0}], "quick")
    assert (quick.values, quick.label) == ((0.4, pytest.approx(0.9)), "2 seeds")
    write(filled((0, 1, 3)), tmp_path)
    [full] = SQUARE.recorded(tmp_path)
    assert (full.values, full.label, full.anchor) == ((0, 1, 9), "3 seeds", "record-counting-full")


def test_a_record_of_other_code_is_called_stale(tmp_path):
    write(dataclasses.replace(filled((0, 1)), fingerprint={"metrics": {}}), tmp_path)
    assert recorded("counting", folder=tmp_path).stale()
    assert SQUARE.recorded(tmp_path)[0].label == "2 seeds, stale"


def test_the_table_names_each_cell_and_escapes_what_it_shows():
    second = dataclasses.replace(
        THIRD, id="toy-2", relation="below", claims=("combes2018-tab-1",), error=None, origin=""
    )
    rows = [
        Row(THIRD, Measurement((33.1, 33.4), "2 seeds"), instead="make it"),
        Row(second, recorded=(Measurement((30.0,), "1 seed", "record-x-full", "smaller"),)),
        Row(dataclasses.replace(THIRD, id="toy-3", place="Table 2")),
    ]
    soup = BeautifulSoup(comparison_table(rows), "html.parser")
    heads = [head.get_text() for head in soup.select("thead th")]
    assert [place.get_text() for place in soup.select("tr.place")] == [
        "Table 1 Thirds & more",
        "Table 2 Thirds & more; ±: rounded",
    ]
    cells = [row.select("td") for row in soup.select("tbody tr:not(.place)")]
    assert all([cell["data-label"] for cell in row] == heads for row in cells)
    texts = [[cell.get_text() for cell in row] for row in cells]
    assert texts[0] == [
        "A third, <b>",
        "33 ± 0.5 % rounded",
        "33.25 % (33.1 to 33.4) 2 seeds",
        "make it",
        "–",
    ]
    assert texts[1][1:] == ["below 33 %", "not yet", "30 % 1 seed; smaller", "combes2018-tab-1"]
    assert texts[2][2:4] == ["not yet", "not yet"]
    assert soup.select_one("td a")["href"] == "#record-x-full"
    assert soup.select_one("span[data-claim]")["data-claim"] == "combes2018-tab-1"
    assert len(soup.select("tbody")) == 2 and soup.find("b") is None


# The page


def test_the_figure_of_the_page_has_a_caption_and_visible_cells_are_short():
    test_book.test_every_figure_has_a_caption_and_a_description(PAGE)
    test_book.test_visible_cells_are_short(PAGE)


def test_no_number_of_ours_is_typed_into_the_page():
    """Every measurement comes from a name, which another line has computed."""
    found = 0
    for cell in test_book.code_cells(PAGE):
        for call in test_book.calls(cell.source, "Measurement"):
            parts = call.args[0].elts if isinstance(call.args[0], ast.Tuple) else [call.args[0]]
            assert all(any(isinstance(node, ast.Name) for node in ast.walk(part)) for part in parts)
            found += 1
    assert found >= 10


def test_the_page_shows_every_paper_and_measures_only_numbers_that_a_paper_has():
    source = PAGE.read_text(encoding="utf-8")
    assert set(re.findall(r'^show\("(\w+)"\)$', source, re.M)) == {paper.paper for paper in read_papers()}
