"""Bounds and laws of the confidence in a rare feature when the frequent one of its class has been learnt.

Notation of `lib.theory.rare_feature`: frequent logit ``L = a h1``, rare logit ``a h2``, and ``ratio = |x2|^2
/ |x1|^2``.  From ``h2' <= frequency ratio h1'`` follows ``a h2 <= frequency ratio L`` [combes2018,
Section 6].
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit

from lib.checks import broadcast, numbers, refuse_overflow
from lib.theory.roots import increasing_root


def rare_confidence_bound(
    frequent_logit: ArrayLike, frequency: ArrayLike, ratio: ArrayLike = 1.0
) -> np.ndarray:
    """Return ``sigmoid(frequency ratio L)``, which bounds the confidence on the rare feature alone.

    For ``h1 >= h2 / (frequency ratio) > 0`` at the start and ``a > 0`` [combes2018, Theorem 6.1, with the
    norms it leaves out].  ``L = log((1 - delta) / delta)`` at confidence ``1 - delta``; arguments broadcast.
    Exact to rounding.  Raises ``ValueError`` unless ``L >= 0``, ``frequency`` is in (0, 1], ``ratio > 0``.

    Example:

    >>> rare_confidence_bound(np.log(99), [0.5, 0.2, 0.1, 0.01]).round(2).tolist()
    [0.91, 0.71, 0.61, 0.51]
    """
    return bound_from_start(frequent_logit, 0.0, 0.0, 0.0, frequency, ratio)


def bound_from_start(
    frequent_logit: ArrayLike,
    a: ArrayLike,
    h1: ArrayLike,
    h2: ArrayLike,
    frequency: ArrayLike,
    ratio: ArrayLike = 1.0,
) -> np.ndarray:
    """Return ``sigmoid(f ratio L + a (h2 - f ratio h1))`` for the responses ``h1, h2`` at the start.

    ``a`` is the output weight at the time where the frequent logit is L.  It bounds the confidence on the
    rare feature for ``h2 >= 0``; for ``h2 < 0`` the second term is left out [combes2018, Theorem D.2, with
    lambda for the alpha it prints].  Errors as in :func:`rare_confidence_bound`, and for ``a < 0``.

    Example:

    >>> root = np.sqrt(np.log(99))  # the fair start of Figure 6: h1 = h2 = 0.1, a = h1 in the end
    >>> bound_from_start(root**2, root, 0.1, 0.1, [0.5, 0.2, 0.1, 0.01]).round(4).tolist()
    [0.9172, 0.7485, 0.6576, 0.5642]
    """
    logit, a, h1, h2, frequency, ratio = broadcast(
        frequent_logit=numbers("frequent_logit", frequent_logit, 0.0, ends="[)"),
        a=numbers("a", a, 0.0, ends="[)"),
        h1=numbers("h1", h1),
        h2=numbers("h2", h2),
        frequency=numbers("frequency", frequency, 0.0, 1.0, "(]"),
        ratio=numbers("ratio", ratio, 0.0),
    )
    slope = frequency * ratio
    with np.errstate(over="ignore"):  # an infinite logit is a confidence of 1
        return expit(slope * logit + np.where(h2 >= 0, a * (h2 - slope * h1), 0.0))


@refuse_overflow
def linear_rare_logit(frequent_logit: ArrayLike, frequency: ArrayLike, ratio: ArrayLike = 1.0) -> np.ndarray:
    """Return the rare logit b of a linear model, without a hidden neuron, for a frequent logit L.

    Gradient flow of the exponential loss from zero weights gives ``b + k (e^b - 1) = ratio L`` with
    ``k = (1 - frequency) / frequency``: at first the bound's ``frequency ratio L``, in the end ``log(ratio L
    / k)``.  With the cross-entropy and ``ratio`` 1 the rare logit is above by less than 0.05, and below the
    bound.  ``frequent_logit`` is zero or more, ``frequency`` in (0, 1], ``ratio`` positive; all broadcast.
    Relative accuracy 1e-14.  Raises ``ValueError`` for other values.  Ours, for [combes2018, Section 6].

    Example:

    >>> linear_rare_logit([1e-6, 1.0, 1e3, 1e6], 0.1).round(7).tolist()
    [1e-07, 0.0957404, 4.7148067, 11.6182834]
    """
    logit, frequency, ratio = broadcast(
        frequent_logit=numbers("frequent_logit", frequent_logit, 0.0, ends="[)"),
        frequency=numbers("frequency", frequency, 0.0, 1.0, "(]"),
        ratio=numbers("ratio", ratio, 0.0),
    )
    weight, goal = (1 - frequency) / frequency, ratio * logit

    def excess(b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return b + weight * np.expm1(b) - goal, 1 + weight * np.exp(b)

    late = np.log1p(goal / np.where(weight > 0, weight, 1.0))
    high = np.minimum(np.where(weight > 0, late, np.inf), frequency * goal)
    return increasing_root(excess, np.zeros_like(goal), high)


@refuse_overflow
def invariant(h1: ArrayLike, h2: ArrayLike, a: ArrayLike, ratio: ArrayLike = 1.0) -> np.ndarray:
    """Return ``h1^2 + h2^2 / ratio - a^2``, which the flow conserves beside the paper's inequality.

    Example:

    >>> float(invariant(3.0, 4.0, 5.0))
    0.0
    """
    h1, h2, a, ratio = broadcast(
        h1=numbers("h1", h1), h2=numbers("h2", h2), a=numbers("a", a), ratio=numbers("ratio", ratio, 0.0)
    )
    return h1**2 + h2**2 / ratio - a**2


@refuse_overflow
def late_rare_logit(frequent_logit: ArrayLike, limit: ArrayLike, ratio: ArrayLike = 1.0) -> np.ndarray:
    """Return the rare logit for a frequent logit L once ``h2`` has reached its limit, ``limit a``.

    ``limit`` is that of `lib.theory.rare_feature.limit_response`.  After a small start ``a^2`` solves
    ``a^4 - (limit^2 / ratio) a^2 = L^2``: the rare logit grows like ``limit sqrt(L)``, not like the bound's
    ``frequency L``.  Exact up to terms of order ``exp(-limit sqrt(L))``.  Raises ``ValueError`` for negative
    L or limit.

    Example:

    >>> late_rare_logit([100.0, 1e4], 0.92324).round(2).tolist()
    [9.25, 92.33]
    """
    logit, limit, ratio = broadcast(
        frequent_logit=numbers("frequent_logit", frequent_logit, 0.0, ends="[)"),
        limit=numbers("limit", limit, 0.0, ends="[)"),
        ratio=numbers("ratio", ratio, 0.0),
    )
    square = limit**2 / ratio
    return limit * np.sqrt((square + np.hypot(square, 2 * logit)) / 2)
