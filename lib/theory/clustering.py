"""Clustered leaky networks: where clusters make the sign of a network linear, and which data cluster neurons.

The network is ``f(x) = v sum_j (phi(<w_j, x>) - phi(<u_j, x>))`` with k neurons of each type, ``phi`` the
leaky ReLU, ``slope`` in (0, 1] its slope for negative arguments.  The cluster radius is the largest distance
of a neuron from the mean of its type.
"""

from __future__ import annotations

from itertools import product

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import linprog

from lib.checks import array, broadcast, number, numbers, refuse_overflow, whole, wholes
from lib.geometry.patterns import cluster_radius


def sharp_factor(slope: ArrayLike, k: ArrayLike) -> np.ndarray:
    """Return the best factor C in: ``|<w_mean - u_mean, x>| > C r |x|`` implies that a network has that sign.

    ``slope`` in (0, 1] is the leaky slope, ``k`` (whole, 1 or more) the number of neurons of each type, r the
    cluster radius; the arguments broadcast.  With ``m = floor(k/2)`` it is ``(1 - slope) m / (m + slope (k -
    m))``, which for even k is ``(1 - slope) / (1 + slope)``.  The paper proves the statement with C = 2.
    Raises ``ValueError`` for other values.  [sarussi2021, Theorem 5.1]

    Example:

    >>> sharp_factor(0.5, [1, 2, 3]).round(6)
    array([0.      , 0.333333, 0.25    ])
    """
    slopes, widths = broadcast(slope=numbers("slope", slope, 0, 1, "(]"), k=wholes("k", k, 1))
    half = widths // 2
    return (1 - slopes) * half / (half + slopes * (widths - half))


def largest_flip(slope: float, k: int) -> float:
    """Return the largest ``<w_mean - u_mean, x> / (r |x|)`` at which a network is not positive, by programs.

    Only the 2k products with x matter, each within 1 of the mean of its group (``r = |x| = 1``).  For every
    number of positive products in either group the problem is linear; the answer is the largest of those
    ``(k + 1)^2`` optima, some 2 ms each.  It uses no theory, and is within 1e-10 of
    :func:`lib.theory.clustering.sharp_factor`.  ``slope`` in (0, 1], ``k`` 1 or more; raises ``ValueError``
    for other values.

    Example:

    >>> round(largest_flip(0.5, 3), 9)
    0.25
    """
    slope, k = number("slope", slope, 0, 1, "(]"), whole("k", k, 1)
    spread = np.eye(k) - np.full((k, k), 1 / k)
    none = np.zeros((k, k))
    near = np.vstack([np.hstack([s * spread, none]) for s in (1, -1)])
    near = np.vstack([near, np.hstack([near[:, k:], near[:, :k]])])
    best = -np.inf
    for active_w, active_u in product(range(k + 1), repeat=2):
        on = np.concatenate([np.arange(k) < active_w, np.arange(k) < active_u])
        output = np.where(on, 1.0, slope) * np.repeat([1.0, -1.0], k)
        limits = [(0, None) if positive else (None, 0) for positive in on]
        answer = linprog(
            -np.repeat([1.0, -1.0], k) / k,
            A_ub=np.vstack([near, output]),
            b_ub=np.append(np.ones(4 * k), 0.0),
            bounds=limits,
            method="highs",
        )
        if answer.status == 0:
            best = max(best, -answer.fun)
    return float(best)


def flipping_network(slope: float, k: int, excess: float) -> tuple[np.ndarray, np.ndarray]:
    """Return products (k,), (k,) with an input for which an even network is ``excess`` past its sign change.

    The w products vanish, half of the u products lie one radius above their mean and half below; the mean of
    the w minus the mean of the u is ``sharp_factor + excess`` radii.  ``slope`` in (0, 1], ``k`` even; raises
    ``ValueError`` for other values.

    Example:

    >>> flipping_network(0.5, 2, excess=0.0)
    (array([0., 0.]), array([ 0.66666667, -1.33333333]))
    """
    k = whole("k", k, 1)
    if k % 2:
        raise ValueError(f"k is {k}, allowed: even numbers")
    mean = -(sharp_factor(number("slope", slope, 0, 1, "(]"), k) + number("excess", excess))
    return np.zeros(k), mean + np.repeat([1.0, -1.0], k // 2)


@refuse_overflow
def linear_region(w: ArrayLike, u: ArrayLike, inputs: ArrayLike, factor: float = 2.0) -> np.ndarray:
    """Tell which inputs a network calls as ``<w_mean - u_mean, x>`` does, because of its clusters.

    Returns ``|<w_mean - u_mean, x_i>| >= factor r |x_i|``, booleans (n,), for neurons ``w`` and ``u`` (k, d),
    inputs (n, d) and r the cluster radius.  The statement is proved for any leaky slope with the ``factor`` 2
    of the paper, and for one slope with any factor above :func:`lib.theory.clustering.sharp_factor`.  Raises
    ``ValueError`` for other shapes and negative factors.  [sarussi2021, Theorem 5.1]

    Example:

    >>> linear_region([[1.0, 0.1], [1.0, -0.1]], [[-1.0, 0.0], [-1.0, 0.0]], [[1.0, 0.0], [0.1, 5.0]])
    array([ True, False])
    """
    first, second = _pair(w, u)
    data = array("inputs", inputs, ("n", first.shape[1]))
    gap = first.mean(axis=0) - second.mean(axis=0)
    reach = number("factor", factor, 0, ends="[)") * cluster_radius(first, second)
    return np.abs(data @ gap) >= reach * np.linalg.norm(data, axis=1)


@refuse_overflow
def region_cosine(w: ArrayLike, u: ArrayLike, factor: float = 2.0) -> float:
    """Return ``factor r / |w_mean - u_mean|``: inputs of at least that cosine lie in the linear region.

    The cosine is that of the angle, or its supplement, with ``w_mean - u_mean``.  The region is empty when
    the value exceeds 1; it is infinite for equal means.  Arguments and errors as of
    :func:`lib.theory.clustering.linear_region`.  [sarussi2021, Eq. 7]

    Example:

    >>> round(region_cosine([[1.0, 0.1], [1.0, -0.1]], [[-1.0, 0.0], [-1.0, 0.0]]), 12)
    0.1
    """
    first, second = _pair(w, u)
    gap = float(np.linalg.norm(first.mean(axis=0) - second.mean(axis=0)))
    reach = number("factor", factor, 0, ends="[)") * cluster_radius(first, second)
    return reach / gap if gap else np.inf


def _pair(w: ArrayLike, u: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    first, second = array("w", w, ("k", "d")), array("u", u, ("k", "d"))
    if first.shape != second.shape:
        raise ValueError(f"w has shape {first.shape}, u {second.shape}; allowed: (k, d) for both")
    return first, second


def relu_zero_share(w: ArrayLike, u: ArrayLike) -> np.ndarray:
    """Return the share of directions on which a perfectly clustered ReLU network vanishes.

    It is ``1/2 - angle(w, u) / (2 pi)``, the share of the cone on which neither ``w`` nor ``u`` is active;
    both have shape (..., d), not zero, and broadcast.  A leaky network, ``slope > 0``, vanishes on none of
    it.  Raises ``ValueError`` for other shapes and zero vectors.  [sarussi2021, App. D.1]

    Example:

    >>> relu_zero_share([1.0, 0.0], [[2.0, 0.0], [0.0, 3.0], [-1.0, 0.0]])
    array([0.5 , 0.25, 0.  ])
    """
    units = []
    for name, value in (("w", w), ("u", u)):
        vectors = numbers(name, value)
        longest = np.abs(vectors).max(axis=-1, keepdims=True, initial=0) if vectors.ndim else vectors
        if not vectors.ndim or not longest.all():
            raise ValueError(f"{name} has shape {vectors.shape}, allowed: (..., d), without zero vectors")
        units.append(vectors / longest / np.linalg.norm(vectors / longest, axis=-1, keepdims=True))
    first, second = broadcast(w=units[0], u=units[1])
    apart, together = (np.linalg.norm(first + sign * second, axis=-1) for sign in (-1, 1))
    return np.arctan2(together, apart) / np.pi


def critical_slope(degrees: ArrayLike) -> np.ndarray:
    """Return the leaky slope below which three points split the neurons that start small.

    The points are ``(1, 0)`` and the unit vector at ``degrees`` (any shape, between 90 and 180), both
    positive, and ``(-1, 0)``, negative.  A w neuron starts to follow ``sum_i y_i phi'(<w, x_i>) x_i``, which
    depends on its direction only; with c = ``-cos(degrees)`` that field has two attracting directions, one in
    each half-plane of the second point, exactly for slopes below ``min(c / (1 - c), (1 - c) / c)``, and one
    attracting direction above.  Relative error below 1e-14; raises ``ValueError`` for other angles.

    Example:

    >>> critical_slope([120.0, 150.0]).round(6)
    array([1.      , 0.154701])
    """
    angle = numbers("degrees", degrees, 90, 180)
    # Neither c nor 1 - c cancels at its end of the range.
    c, rest = np.sin(np.radians(angle - 90)), 2 * np.sin(np.radians((180 - angle) / 2)) ** 2
    return np.minimum(c / rest, rest / c)


@refuse_overflow
def symmetric_pair_margin(
    time: ArrayLike, q0: ArrayLike, *, slope: ArrayLike, k: ArrayLike, v: ArrayLike, norm: ArrayLike
) -> np.ndarray:
    """Return the margin of the points ``(x, +), (-x, -)`` along gradient flow of the mean logistic loss.

    All ``w_j`` are equal and ``u_j = -w_j``; ``time`` is zero or more, ``q0`` the initial margin (real),
    ``slope`` in (0, 1], ``k`` the number of neurons of each type, ``v`` positive, ``norm = |x|``; all
    broadcast.  ``q + exp(q)`` grows at the constant rate ``v^2 k (1 + slope)^2 norm^2 / 2``.

    The error is below 1e-15 of the larger of ``|q0|`` and ``|q|``, for ``rate * time`` up to 1e300.  Raises
    ``ValueError`` for other values.

    Example:

    >>> symmetric_pair_margin([0.0, 1.0, 1e12], 1.0, slope=1.0, k=1, v=1.0, norm=1.0).round(6)
    array([ 1.      ,  1.450981, 28.324168])
    """
    slopes, width = numbers("slope", slope, 0, 1, "(]"), numbers("k", k, 1, ends="[)")
    rate = 0.5 * width * (numbers("v", v, 0) * (1 + slopes) * numbers("norm", norm, 0)) ** 2
    gained = rate * numbers("time", time, 0, ends="[)")
    gained, start = broadcast(time=gained, q0=numbers("q0", q0))
    # The growth g solves g + exp(q0) (exp(g) - 1) = gained; both sides are divided by exp(q0) where q0 > 0.
    low, weight = np.minimum(start, 0), np.exp(-np.maximum(start, 0))
    target = weight * gained
    # Newton's method from above, for the left side is convex and increases.
    growth = np.minimum(target / (weight + np.exp(low)), np.log1p(target) - low)
    for _ in range(60):
        small = np.expm1(np.minimum(growth, 1)) * np.exp(low)
        rise = np.where(growth < 1, small, np.exp(low + growth) - np.exp(low))
        step = (weight * growth + rise - target) / (weight + rise + np.exp(low))
        growth = np.maximum(growth - step, 0)
        if (np.abs(step) <= 2e-16 * growth).all():
            break
    return start + growth
