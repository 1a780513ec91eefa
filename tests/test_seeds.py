"""The seeds of the chapters, and how BOOK_SEED moves them."""

import numpy as np
import pytest
from scipy.stats import binom, norm
from scipy.stats import t as student

from executable_claims.configuration import find_book
from lib.seeds import APART, book_seed, draws, generator, likely_range, shift


@pytest.mark.parametrize("setting", [None, "", "0"])
def test_without_a_book_seed_the_draws_are_those_of_numpy(monkeypatch, setting):
    monkeypatch.delenv("BOOK_SEED", raising=False)
    if setting is not None:
        monkeypatch.setenv("BOOK_SEED", setting)
    for k in (0, 7, 999_999):
        assert book_seed(k) == k
        assert (generator(k).random(5) == np.random.default_rng(k).random(5)).all()


def test_no_two_book_seeds_share_a_draw(monkeypatch):
    seeds = set()
    for setting in ("0", "1", "7", str(10**12)):
        monkeypatch.setenv("BOOK_SEED", setting)
        seeds |= {book_seed(k) for k in (0, 1, APART - 1)}
    assert len(seeds) == 12 and max(seeds) < 2**63


@pytest.mark.parametrize("setting", ["-1", "1.5", "seven", "²", str(10**12 + 1)])
def test_a_book_seed_that_is_none_is_named(monkeypatch, setting):
    monkeypatch.setenv("BOOK_SEED", setting)
    with pytest.raises(ValueError, match=r"BOOK_SEED is '.*', allowed: a whole number from 0"):
        generator(0)


@pytest.mark.parametrize(
    "setting",
    [
        *("0", "7", "007", "1.5", "seven", "²"),
        *(
            pytest.param(
                setting, marks=pytest.mark.xfail(strict=True, reason="the engine reads it otherwise")
            )
            for setting in ("", "-3", "+5", "٣", str(10**12 + 1))
        ),
    ],
)
def test_a_book_seed_is_the_same_for_the_draws_and_for_the_engine(monkeypatch, setting):
    monkeypatch.setenv("BOOK_SEED", setting)
    read = []
    for reader in (shift, lambda: find_book().shift):
        try:
            read.append(reader())
        except ValueError:
            read.append(None)
    assert read[0] == read[1]


@pytest.mark.parametrize("k", [-1, 0.5, APART, "0"])
def test_a_seed_that_is_none_is_named(k):
    with pytest.raises(ValueError, match=r"^k "):
        book_seed(k)


@pytest.mark.parametrize("each", [1, 5])
def test_every_family_is_drawn_equally_often_each_time_with_the_next_seed(monkeypatch, each):
    for setting in ("0", "3"):
        monkeypatch.setenv("BOOK_SEED", setting)
        found = list(draws("abc", 20, each))
        assert "".join(family for family, _ in found) == "a" * each + "b" * each + "c" * each
        for k, (_, rng) in enumerate(found):
            assert rng.random() == generator(20 + k).random()


@pytest.mark.parametrize("arguments", [(0, 0), (0, 1.5), (-1, 5)])
def test_draws_that_are_none_are_named(arguments):
    with pytest.raises(ValueError, match=r"^(each|k) is"):
        list(draws("a", *arguments))


@pytest.mark.parametrize(
    "law", [norm(), student(29), binom(2000, 0.5)], ids=["normal", "Student", "binomial"]
)
@pytest.mark.parametrize(("entries", "sides"), [(1, 1), (1, 2), (60, 2)])
def test_all_entries_together_leave_the_range_once_in_ten_thousand(law, entries, sides):
    low, high = likely_range(law, entries, sides)
    below, above = law.cdf(low - 1e-9), law.sf(high + 1e-9)
    outside = entries * (above if sides == 1 else below + above)
    assert outside <= 1.001e-4
    nearer = law.cdf(low + 1e-9), law.sf(high - 1e-9)
    assert entries * sides * min(nearer) >= 0.999e-4, "no narrower range does"


def test_parameters_may_be_arrays():
    shares = np.array([0.1, 0.5])
    low, high = likely_range(binom(4000, shares), 10)
    for k, share in enumerate(shares):
        assert (low[k], high[k]) == likely_range(binom(4000, share), 10)


@pytest.mark.parametrize("wrong", [(0, 2), (1.5, 2), (1, 0), (1, 3)])
def test_entries_that_are_none_are_named(wrong):
    with pytest.raises(ValueError, match=r"^(entries is|sides holds)"):
        likely_range(norm(), *wrong)
