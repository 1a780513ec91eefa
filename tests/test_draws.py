"""Draws belong to the name, the family and the seed that their rows tell; a table has all that is said."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lib.draws import draws, grid, runs, table
from lib.seeds import generator, named

FAMILIES = {"narrow": 0.1, "wide": {"scale": 10.0}}


def normal(scale, rng):
    return scale * rng.standard_normal()


def value_of(x):
    """Say the number that was drawn."""
    return {"measured": x}


def test_a_row_tells_how_its_draw_is_made_again():
    rows = table(value_of, draws("normals", normal, FAMILIES, each=3))
    assert (
        list(rows) == ["family", "seed", "measured"] and list(rows["family"]) == ["narrow"] * 3 + ["wide"] * 3
    )
    scales = {"narrow": 0.1, "wide": 10.0}
    again = [
        normal(scales[family], generator(seed))
        for family, seed in zip(rows["family"], rows["seed"], strict=True)
    ]
    assert list(rows["measured"]) == again and len(set(again)) == 6


@given(st.text(max_size=5), st.text(max_size=5))
def test_names_that_differ_in_their_sum_share_no_seed(name, other):
    first, second = (named(each) for each in (name, other))
    block = set(range(first, first + 1000))
    assert (second in block) == (first == second) and (name != other or first == second)


def test_the_books_seed_moves_all_draws(monkeypatch):
    before = table(value_of, draws("normals", normal, FAMILIES))
    monkeypatch.setenv("BOOK_SEED", "3")
    now = table(value_of, draws("normals", normal, FAMILIES))
    assert list(now["seed"]) == list(before["seed"]) and not set(now["measured"]) & set(before["measured"])


def test_a_run_is_made_once_and_measured_in_several_grains():
    made = []

    def run(x):
        made.append(x)
        return np.array([x, 2 * x, 3 * x])

    def passages(path):
        for time, x in enumerate(path):
            yield {"time": time, "measured": x}

    paths = runs(run, draws("normals", normal, FAMILIES))
    fine, coarse = table(passages, paths), table(lambda path: {"measured": path[-1]}, paths)
    assert len(made) == 10 and len(fine) == 30 and len(coarse) == 10
    assert list(fine) == ["family", "seed", "time", "measured"]
    assert list(fine["measured"][fine["time"] == 2]) == list(coarse["measured"])


def test_a_grid_has_every_combination_and_its_values_are_columns():
    rows = table(lambda angle, size: {"measured": angle * size}, grid(angle=[1, 2, 3], size=[10.0, 20.0]))
    assert len(rows) == 6 and (rows["measured"] == rows["angle"] * rows["size"]).all()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: draws("none", normal, {}), "families of 'none' is {}, allowed: one or more"),
        (lambda: draws("none", normal, FAMILIES, each=0), "each is 0"),
        (
            lambda: draws("many", normal, FAMILIES, each=501),
            "number is 1000, allowed: a whole number below 1000",
        ),
        (lambda: table(value_of, []), "value_of measures nothing"),
        (lambda: table(lambda x: [x], grid(x=[1])), "<lambda> says 1, allowed: rows"),
    ],
)
def test_what_no_table_is_made_of_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()
