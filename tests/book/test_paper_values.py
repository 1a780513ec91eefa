"""The papers' numbers: every table and figure is there, and each number was copied as the ledger has it."""

import math
import re

import pytest

from executable_claims.configuration import find_book
from executable_claims.ledger import find_claim, read_ledger
from experiments.side_by_side import read_papers

PAPERS = {paper.paper: paper for paper in read_papers(find_book().root / "book" / "paper_values")}
VALUES = [value for paper in PAPERS.values() for value in paper.values]


def numbered(place):
    """The kind of a place and its numbers: of Figures 14 to 17 all four."""
    kind, rest = re.fullmatch(r"(Figure|Table)s? (.*)", place).groups()
    if ends := re.match(r"(\d+) to (\d+)", rest):
        return {(kind, number) for number in range(int(ends[1]), int(ends[2]) + 1)}
    return {(kind, int(number)) for number in re.findall(r"\d+", rest)}


@pytest.mark.parametrize("paper", PAPERS)
def test_every_table_and_figure_of_a_paper_is_listed(paper):
    places = {value.place for value in PAPERS[paper].values}
    places |= {other.place for other in PAPERS[paper].without_numbers}
    extent = {"Figure": PAPERS[paper].figures, "Table": PAPERS[paper].tables}
    expected = {(kind, k + 1) for kind, count in extent.items() for k in range(count)}
    assert set().union(*map(numbered, places)) == expected


def test_numbers_are_decided_by_claims_of_their_own_paper():
    assert set(PAPERS) <= {paper.key for paper in read_ledger()}
    for paper in PAPERS.values():
        for one in (*paper.values, *paper.without_numbers):
            assert {find_claim(claim).paper for claim in one.claims} <= {paper.paper}


def test_every_number_is_well_formed():
    ids = [value.id for value in VALUES]
    assert len(ids) == len(set(ids))
    for value in VALUES:
        assert value.id.startswith(f"{value.paper}-") and math.isfinite(value.value), value.id
        assert value.relation in ("is", "above", "below"), value.id
        assert (value.error is None) == (not value.origin) and not (value.error or 0) < 0, value.id
        digits = len(value.printed.partition(".")[2])
        assert value.printed in ("", f"{value.value:.{digits}f}"), value.id


def test_numbers_that_the_ledger_quotes_are_those_of_the_tables():
    """Two transcriptions of the same tables, captions and sentences."""
    quoted = 0
    for paper in read_ledger():
        for claim in paper.claims:
            said = re.search(r"the paper(?: prints|:)([^)]*)", claim.statement)
            if said:
                ours = {value.value for value in VALUES if claim.id in value.claims}
                numbers = {float(number) for number in re.findall(r"\d+(?:\.\d+)?", said[1])}
                assert numbers <= ours, claim.id
                quoted += len(numbers)
    assert quoted >= 15


@pytest.mark.parametrize("claim", ["combes2018-tab-1", "boursier2022-fig-3"])
def test_the_tables_hold_no_number_that_the_ledger_does_not_state(claim):
    stated = {float(number) for number in re.findall(r"\d+(?:\.\d+)?", find_claim(claim).statement)}
    assert {value.value for value in VALUES if claim in value.claims} <= stated
