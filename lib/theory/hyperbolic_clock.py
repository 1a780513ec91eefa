"""The clock of a ReLU neuron off the balanced diagonal: time as a function of the logit, in closed form.

Between logits ``u0`` and ``u1`` passes the time ``T / (2 norm)``, with ``b = |c| / (2 norm)`` and

    T = integral from u0 to u1 of (1 + e^v) / sqrt(v^2 + b^2) dv

[combes2018, Eqs. 20 to 22].  For b = 0 it is the increase of ``log|u| + Ei(u)``.  The paper knows no closed
form for the others, but there is a convergent series: with ``P - Q = u``, ``P + Q = sqrt(u^2 + b^2)`` and the
Bessel functions ``B_n = 0F1(n + 1; -b^2 / 4)``, ``T`` is the increase of

    (1 + B_0) log P + sum_{n >= 1} B_n (P^n - (-Q)^n) / (n n!).

It is used where ``b < |u| <= 1``; elsewhere, where its terms grow large and cancel, the integrand is smooth
and Gauss's rule on panels of doubling length exact to rounding.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from lib.checks import broadcast, numbers, refuse_overflow

LARGEST_LOGIT = 700.0
"""Times to larger logits overflow."""

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(28)
_REACH = 40.0  # what lies further below a large logit is rounding
_TERMS = 24
_BLOCK = 5_000  # integrals at a time, for the cache


@refuse_overflow
def clock(u0: ArrayLike, u1: ArrayLike, b: ArrayLike) -> np.ndarray:
    """Return ``T``, that is ``2 norm`` times the time from logit ``u0`` to logit ``u1 >= u0``.

    Arguments broadcast.  Infinite if ``b = 0`` and the way leads to or across zero.  As accurate as changes
    of ``u0`` and ``u1`` by 1e-15 of themselves leave it, and 1e-13.  Raises ``ValueError`` for ``u1 < u0``,
    ``u1 > 700`` and negative b.

    Example:

    >>> clock(-1.0, [0.0, 1.0, 5.0], [[0.0], [0.5]]).round(6).tolist()
    [[inf, inf, inf], [2.421024, 6.170884, 45.531898]]
    """
    u0, u1, b = broadcast(
        u0=numbers("u0", u0),
        u1=numbers("u1", u1, high=LARGEST_LOGIT, ends="(]"),
        b=numbers("b", b, 0.0, ends="[)"),
    )
    if (u1 < u0).any():
        raise ValueError(f"u1 holds {u1[u1 < u0][0]}, allowed: at least u0, {u0[u1 < u0][0]}")
    blocked = (b == 0) & (u0 <= 0) & (u1 >= 0)
    b = np.where(blocked, 1.0, b)
    return np.where(blocked & (u0 < u1), np.inf, 2 * angle(u0, u1, b) + excess(u1, b) - excess(u0, b))


def angle(u0: np.ndarray, u1: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return ``arcsinh(u1 / b) - arcsinh(u0 / b)``, for ``b = 0`` the logarithm of the larger logit's share.

    Arrays of one shape; the relative error is 1e-15 beside that of rounding ``u0`` and ``u1``.

    Example:

    >>> angle(np.array([1.0, 1.0]), np.array([2.0, 2.0]), np.array([0.0, 1e9]))
    array([6.93147181e-01, 1.00000000e-09])
    """
    r0, r1 = np.hypot(u0, b), np.hypot(u1, b)
    sign0, sign1 = np.where(u0 < 0, -1.0, 1.0), np.where(u1 < 0, -1.0, 1.0)
    opposite = sign0 != sign1
    result = np.asarray(sign1 * np.log(np.abs(u1) + r1) - sign0 * np.log(np.abs(u0) + r0))
    result -= 2 * np.log(np.where(opposite, b, 1.0))
    # A small difference cancels above; its hyperbolic sine (u1 r0 - u0 r1) / b^2 does not, rewritten.
    near = np.abs(result) < 0.5
    r1, opposite = r1[near], opposite[near]
    u0, u1, r0, b = u0[near] / r1, u1[near] / r1, r0[near] / r1, b[near] / r1
    total = np.where(opposite | (u1 == 0), 1.0, u1 * r0 + u0)
    same = (u1 - u0) * (u1 + u0) / total
    result[near] = np.arcsinh(np.where(opposite, (u1 * r0 - u0) / np.where(opposite, b, 1.0) ** 2, same))
    return result


def excess(u: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the integral of ``(e^v - 1) / sqrt(v^2 + b^2)`` from 0 to ``u <= 700``, to 1e-15 of itself or b.

    Arrays of one shape.

    Example:

    >>> from scipy.special import expi  # b = 0: Ei(u) - log u - gamma
    >>> excess(np.array([3.0]), np.zeros(1)) - (expi(3.0) - np.log(3.0) - np.euler_gamma) < 1e-14
    array([ True])
    """
    core = np.clip(u, -1.0, 1.0)
    total = np.empty(u.shape)
    near, outside = np.abs(core) <= np.where(u == 0, 1.0, b), np.abs(u) > 1
    total[near] = _gauss(lambda v, b: np.expm1(v) / np.hypot(v, b), 0 * core[near], core[near], b[near])
    total[~near] = _series(core[~near], b[~near])
    total[outside] += _outer(u[outside], b[outside])
    return total


def _gauss(
    function: Callable[..., np.ndarray], low: np.ndarray, high: np.ndarray, *parameters: np.ndarray
) -> np.ndarray:
    """Return integrals of a function from low (n,) to high (n,); its parameters have the shape of these."""
    middle, half = (high + low) / 2, (high - low) / 2
    total = np.empty_like(half)
    for first in range(0, len(half), _BLOCK):
        block = slice(first, first + _BLOCK), None
        values = function(middle[block] + half[block] * _NODES, *(part[block] for part in parameters))
        total[block[0]] = values @ _WEIGHTS
    return half * total


def _outer(u: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the part of the excess beyond 1 or -1."""
    sign, size = np.sign(u), np.abs(u)
    edges = [np.minimum(size, 2.0**k) for k in range(7)]
    panels = [*pairwise(edges), (np.maximum(edges[-1], size - _REACH), size)]
    scale = np.maximum(b, 1.0)  # the integrand is 1 / sqrt((v / scale)^2 + (b / scale)^2): nothing overflows
    total = np.zeros_like(u)

    def integrand(v: np.ndarray, b: np.ndarray, scale: np.ndarray, sign: np.ndarray) -> np.ndarray:
        return np.exp(sign * v) / np.sqrt((v / scale) ** 2 + (b / scale) ** 2)

    for low, high in panels:
        live = high > low
        parameters = (part[live] for part in (b, scale, sign))
        total[live] += _gauss(integrand, low[live], high[live], *parameters) / scale[live]
    return sign * (total - angle(np.ones_like(size), size, b))


def _series(u: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the excess for ``b <= |u| <= 1`` by the series of the module's text, less its value at 0."""
    x = (b / 2) ** 2
    larger = (np.abs(u) + np.hypot(u, b)) / 2
    rising, falling = np.where(u >= 0, larger, x / larger), np.where(u >= 0, x / larger, larger)
    total = (_bessel(0, x) - 1) * np.sign(u) * np.log(larger / np.maximum(b / 2, np.finfo(float).tiny))
    powers = np.stack([rising, -falling, b / 2, -b / 2])
    terms = np.ones_like(powers)
    for n in range(1, _TERMS):
        terms = terms * powers / n
        total += _bessel(n, x) / n * (terms[0] - terms[1] - terms[2] + terms[3])
    return total


def _bessel(n: int, x: np.ndarray) -> np.ndarray:
    """Return ``0F1(n + 1; -x)`` for ``x`` from 0 to 1/4, by its power series."""
    total = np.ones_like(x)
    for k in range(9, 0, -1):
        total = 1 - total * x / (k * (n + k))
    return total
