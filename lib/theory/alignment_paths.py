"""Paths of activation counts in early alignment: how long a neuron can travel before it arrives.

A stage with ``n_a`` active data lasts at most a constant over ``n_a``, so that sums of ``1/n_a`` along
paths bound the time of arrival.  Counts are those of the positive and of the negative data, for a neuron
of positive output sign; for the other sign exchange them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import digamma

from lib.checks import broadcast, whole, wholes

_MOST_PAIRS = 1e5  # of counts: what a second or two can visit


def _harmonic(n: np.ndarray) -> np.ndarray:
    return digamma(n + 1) + np.euler_gamma


def maximal_path_sum(positive: ArrayLike, negative: ArrayLike) -> np.ndarray:
    """Return ``H_(n-) + 1/2 + H_(n+ - 1)``, the sum of 1/n_a along the maximal path; H the harmonic numbers.

    Without negative data it is ``H_(n+ - 1)``.  ``positive`` counts from 1, ``negative`` from 0; they
    broadcast.  Raises ``ValueError`` for other counts. [min2024, App. C.2]

    Example:

    >>> maximal_path_sum([2, 2], [0, 1]).round(12).tolist()
    [1.0, 2.5]
    """
    plus, minus = broadcast(positive=wholes("positive", positive, 1), negative=wholes("negative", negative))
    return np.where(minus > 0, _harmonic(minus) + 0.5, 0.0) + _harmonic(plus - 1)


def longest_path_sum(positive: int, negative: int) -> float:
    """Return the largest sum of 1/n_a over all admissible paths to (n_+, 0), by dynamic programming.

    A step gains any number of positive data, loses any number of negative data, or both, and avoids (0, 0).
    ``positive`` counts from 1, ``negative`` from 0, with at most 1e5 pairs of counts between them:
    :func:`maximal_path_sum` takes more.  Raises ``ValueError`` for other counts.

    Example:

    >>> longest_path_sum(2, 1)
    2.5
    """
    positive, negative = whole("positive", positive, 1), whole("negative", negative)
    if (positive + 1) * (negative + 1) > _MOST_PAIRS:
        raise ValueError(
            f"positive is {positive}, negative {negative}; allowed: at most {_MOST_PAIRS:g} pairs of counts "
            "from 0 on up to these, maximal_path_sum takes more"
        )
    # A longest path goes on to a neighbour, and so from equal left - gained to where that is less by one.
    longest = np.full(positive + 2, -np.inf)  # by the number gained
    longest[positive] = 0.0
    for difference in range(1 - positive, negative + 1):
        low, high = max(0, -difference), min(positive, negative - difference) + 1
        active = 2 * np.arange(low, high) + difference
        onward = np.maximum(longest[low:high], longest[low + 1 : high + 1])
        longest[low:high] = onward + np.where(active > 0, 1 / np.maximum(active, 1), 0.0)
    return float(longest[0])


def worst_path_sum(n: int) -> float:
    """Return the largest sum of 1/n_a for n data of any split, for neurons that reach their region or die.

    A neuron that arrives takes longest for the most even split; a dying one loses its ``n_-`` data one by
    one, which takes ``H_(n-)``.  ``n`` is from 1 on, of any size.  Raises ``ValueError`` for other counts.

    Example:

    >>> [worst_path_sum(n) for n in (1, 2, 3)]
    [1.0, 1.5, 2.5]
    """
    n = whole("n", n, 1)
    return float(max(maximal_path_sum(n - n // 2, n // 2), _harmonic(np.asarray(n))))
