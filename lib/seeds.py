"""Seeds of the chapters' draws, all of them moved together by the environment variable ``BOOK_SEED``.

No verdict of the book hangs on a seed: with another ``BOOK_SEED`` every chapter draws other data and other
networks, and comes to the same verdicts.
"""

from __future__ import annotations

import os

import numpy as np

from lib.checks import whole

APART = 10**6


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
