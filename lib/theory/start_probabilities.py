"""How probable it is that a random start has the neurons it needs, and how wide it must be for that.

Directions are isotropic (Gaussian weights, say), output signs have equal odds, neurons are independent.  On
orthogonal inputs a neuron is active on each input with probability 1/2, independently.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln

from lib.checks import array, broadcast, number, whole, wholes
from lib.theory.orthogonal_data import lengths

_BLOCK = 1_000_000  # terms at a time


def _counts(
    n_positive: ArrayLike, n_negative: ArrayLike, m: ArrayLike, most: float = np.inf
) -> tuple[np.ndarray, ...]:
    return broadcast(
        n_positive=wholes("n_positive", n_positive, 1, most),
        n_negative=wholes("n_negative", n_negative, 1, most),
        m=wholes("m", m, 1),
    )


def groups_probability(n_positive: ArrayLike, n_negative: ArrayLike, m: ArrayLike) -> np.ndarray:
    """Return the probability that a start of width m leaves neither ``S_+`` nor ``S_-`` empty.

    A neuron is in ``S_+`` with probability ``2^-(n_+ + 1)``: it has the sign + and is active on all
    ``n_positive`` positive labels.  Arguments are whole numbers from 1 on and broadcast.  Relative accuracy
    1e-12 for any counts, also where the probability is tiny; it underflows to zero with ``2^-n``.  Raises
    ``ValueError`` for other arguments.  Ours, for [boursier2022, Assumption 3].

    Example:

    >>> groups_probability([3, 4], [3, 4], 60).round(4).tolist()
    [0.9587, 0.7231]
    """
    plus, minus, width = _counts(n_positive, n_negative, m)
    p, q = 2.0 ** -(plus + 1), 2.0 ** -(minus + 1)
    # P = P(S_+ occupied) P(S_- occupied) - (what the exclusion of both at once takes away).
    both = np.expm1(width * np.log1p(-p)) * np.expm1(width * np.log1p(-q))
    neither = np.exp(width * (np.log1p(-p) + np.log1p(-q)))
    lost = neither * -np.expm1(-width * np.log1p(p * q / (1 - p - q)))
    return np.where(width < 2, 0.0, both - lost)


def coverage_probability(n_positive: ArrayLike, n_negative: ArrayLike, m: ArrayLike) -> np.ndarray:
    """Return the probability that each label has a neuron of its sign that is active on it.

    This is what zero loss needs for small scales on orthogonal inputs.  If k of the m neurons have the
    sign +, it is ``(1 - 2^-k)^n_+ (1 - 2^-(m-k))^n_-``.  Arguments are whole numbers from 1 on, the first
    two up to 1e100, and broadcast.  Relative accuracy 1e-11.  Raises ``ValueError`` for other arguments.
    Ours; [boursier2022, Sec. 3.2] expects zero loss for any start.

    Example:

    >>> coverage_probability(10, 10, [10, 19, 30]).round(3).tolist()
    [0.376, 0.925, 0.996]
    """
    plus, minus, wide = _counts(n_positive, n_negative, m, 1e100)
    # A label is missed with probability (3/4)^m: from m = 4000 on that is less than 1e-499.
    width = np.minimum(wide, 4000.0).astype(int)
    k = np.arange(width.max(initial=1) + 1)
    factorials = gammaln(k + 1.0)
    with np.errstate(divide="ignore"):  # without neurons of a sign nothing is covered
        seen = np.log1p(-(2.0**-k))
    sums = np.empty(width.size)
    rows = max(_BLOCK // k.size, 1)
    for first in range(0, width.size, rows):
        block = slice(first, first + rows)
        p, q, n = (part.ravel()[block, None] for part in (plus, minus, width))
        other = np.maximum(n - k, 0)
        # Log-probabilities keep the digits of small tails; the sum of all takes out their common rounding.
        logs = factorials[n] - factorials[k] - factorials[other] - n * np.log(2)
        covered = np.where(k <= n, np.exp(logs + p * seen + q * seen[other]), 0.0).sum(axis=-1)
        sums[block] = covered / np.where(k <= n, np.exp(logs), 0.0).sum(axis=-1)
    return np.where(wide > 4000, 1.0, np.minimum(sums, 1.0).reshape(wide.shape))  # no rounding above 1


def _least_width(probability_of: Callable[[int], np.ndarray], probability: float) -> int:
    probability = number("probability", probability, 0.0, 1.0)
    high = 1
    while probability_of(high) < probability:
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if probability_of(middle) >= probability else (middle, high)
    return high


def width_needed(n_positive: int, n_negative: int, probability: float) -> int:
    """Return the least width at which :func:`lib.theory.start_probabilities.groups_probability` reaches
    ``probability``, a number between 0 and 1; it doubles with each label.

    Counts are whole numbers from 1 to 40.  Raises ``ValueError`` for other arguments.

    Example:

    >>> [width_needed(k, k, 0.95) for k in (1, 2, 10)]
    [13, 28, 7527]
    """
    plus, minus = whole("n_positive", n_positive, 1), whole("n_negative", n_negative, 1)
    for name, count in (("n_positive", plus), ("n_negative", minus)):
        number(name, count, 1, 40, "[]")
    return _least_width(lambda m: groups_probability(plus, minus, m), probability)


def coverage_width(n_positive: int, n_negative: int, probability: float) -> int:
    """Return the least width at which :func:`lib.theory.start_probabilities.coverage_probability` reaches
    ``probability``, a number between 0 and 1 - 1e-9; it grows like twice the binary logarithm of the counts.

    Counts are whole numbers from 1 on.  Raises ``ValueError`` for other arguments.

    Example:

    >>> [coverage_width(k, k, 0.95) for k in (1, 2, 10, 1000)]
    [13, 16, 21, 36]
    """
    plus, minus = whole("n_positive", n_positive, 1), whole("n_negative", n_negative, 1)
    probability = number("probability", probability, 0.0, 1 - 1e-9, "(]")
    return _least_width(lambda m: coverage_probability(plus, minus, m), probability)


def seen_probability(inputs: ArrayLike) -> float:
    """Return the probability that an isotropic neuron is active on one at least of one to three inputs.

    ``inputs`` is (n, d) with n at most 3, no input zero.  The complement is the solid angle where all
    pre-activations are negative, ``(1 + (2/pi) sum_(i<k) arcsin cos_ik) / 2^n`` for independent inputs.  Of
    more inputs in a half-plane the two extreme ones decide: pass these.  It is at least 1/2, which is why a
    random neuron seldom dies at once.  Raises ``ValueError`` for other arguments.  Source: [min2024, Sec.
    3.1] for the bound 1/2; the value is Sheppard's formula.

    Example:

    >>> seen_probability([[1, 0]]), seen_probability([[1, 0], [0, 1]])
    (0.5, 0.75)
    """
    x = array("inputs", inputs, ("n", "d"))
    if len(x) > 3:
        raise ValueError(f"inputs holds {len(x)} rows, allowed: 1 to 3")
    norms = lengths(x)
    if not norms.all():
        raise ValueError(
            f"inputs holds a zero vector at row {norms.argmin()}, allowed: vectors other than zero"
        )
    units = x / norms[:, None]
    i, k = np.triu_indices(len(x), 1)
    # arcsin(cos) as pi/2 minus the angle, which keeps its digits for inputs that are nearly parallel.
    angles = (
        2 * np.arctan2(lengths(units[i] - units[k]), lengths(units[i] + units[k])) if len(i) else np.zeros(0)
    )
    return float(1 - (1 + (2 / np.pi) * (np.pi / 2 - angles).sum()) / 2.0 ** len(x))
