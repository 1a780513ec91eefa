"""Seeds of the chapters' draws, all of them moved together by the environment variable ``BOOK_SEED``.

No verdict of the book hangs on a seed: with another ``BOOK_SEED`` every chapter draws other data and other
networks, and comes to the same verdicts.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from lib.checks import whole, wholes

if TYPE_CHECKING:
    import scipy.stats  # takes half a second

APART = 10**6
BLOCK = 1000  # seeds of a name
FALSE_ALARM = 1e-4  # the chance that a true claim is refused, of all entries of a check together


def shift() -> int:
    """Return ``BOOK_SEED``, or 0; ``ValueError`` unless it is a whole number from 0 to 10^12."""
    text = os.environ.get("BOOK_SEED") or "0"
    if not (text.isascii() and text.isdigit() and int(text) <= 10**12):
        raise ValueError(f"BOOK_SEED is {text!r}, allowed: a whole number from 0 to 10^12")
    return int(text)


def book_seed(k: int) -> int:
    """Return the ``k``-th seed of a chapter, ``k`` itself at ``BOOK_SEED`` 0; for trainers and experiments.

    Two values of ``BOOK_SEED`` never share a seed.  Raises ``ValueError`` unless ``k`` is a whole number from
    0 to 999,999.
    """
    if whole("k", k) >= APART:
        raise ValueError(f"k is {k!r}, allowed: a whole number below {APART}")
    return int(k) + APART * shift()


def generator(k: int) -> np.random.Generator:
    """Return numpy's generator of the ``k``-th seed of a chapter, :func:`lib.seeds.book_seed`."""
    return np.random.default_rng(book_seed(k))


def named(name: str, number: int = 0) -> int:
    """Return which of a chapter's seeds belongs to a name, and to the ``number``-th draw under it.

    Two names of a chapter share one with a chance of about 1e-3 a pair.  Raises ``ValueError`` unless the
    number is a whole one from 0 to 999.
    """
    if whole("number", number) >= BLOCK:
        raise ValueError(f"number is {number!r}, allowed: a whole number below {BLOCK}")
    return zlib.crc32(name.encode()) % (APART // BLOCK) * BLOCK + number


def draws(families: Sequence[Any], first: int, each: int = 5) -> Iterator[tuple[Any, np.random.Generator]]:
    """Yield every family ``each`` times, with the generators of the chapter's seeds from ``first`` on.

    A family is anything that tells how to draw; the generators are those of :func:`lib.seeds.generator`, a
    new one each time.  Raises ``ValueError`` unless ``each`` is a whole number from 1 on.
    """
    for k in range(whole("each", each, 1) * len(families)):
        yield families[k // each], generator(first + k)


def likely_range(law: scipy.stats.distributions.rv_frozen, entries: int, sides: int = 2) -> tuple[Any, Any]:
    """Return the least and the largest value that a check may find of a law, as its parameters are shaped.

    Of so many ``entries`` with this law some lies beyond them, on one of the ``sides`` (1 or 2) that are
    checked, with a chance of at most 1e-4, by Bonferroni's inequality.  ``law`` is a frozen distribution of
    `scipy.stats`.  Raises ``ValueError`` unless there are entries and sides.
    """
    chance = FALSE_ALARM / (whole("entries", entries, 1) * wholes("sides", sides, 1, 2))
    return law.ppf(chance), law.isf(chance)
