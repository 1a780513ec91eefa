"""The seeds of the chapters, and how BOOK_SEED moves them."""

import numpy as np
import pytest

from lib.seeds import APART, book_seed, generator


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


@pytest.mark.parametrize("k", [-1, 0.5, APART, "0"])
def test_a_seed_that_is_none_is_named(k):
    with pytest.raises(ValueError, match=r"^k "):
        book_seed(k)
