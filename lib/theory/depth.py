"""Closed forms of the learning curve of a deep balanced diagonal ReLU network.

With ``depth`` = N layers of weights, all of one size, one active path and one input of size ``norm``, the
logit obeys ``u' = N norm^(2/N) u^(2 - 2/N) / (1 + e^u)`` for the cross-entropy [combes2018, Eq. 5, repaired:
the positive diagonals of all layers but the last are needed].  The clock

    G(u) = 2 (u^e - 1) / e + (u^r - 1) / r + sum_{k >= 2} u^(k + e) / (k! (k + e)),   r = 2/N,  e = r - 1,

grows at the constant rate ``N norm^(2/N)``.  Up to a constant it is ``u^e / e (1 + 1F1(e; 1 + e; u))``, for
N = 2 it is ``log u + Ei(u)`` and for N = 4 ``-2 (1 + e^u) / sqrt(u) + 2 sqrt(pi) erfi(sqrt(u))``; as N grows
it tends to ``-(1 + e^u) / u + Ei(u)``.  This form has no singular depth from 2 to infinity.

Depths may be any real numbers from 2 on, logits lie between 1e-300 and 700; arguments broadcast.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, lambertw

from lib.arguments import broadcast, numbers
from lib.theory.roots import increasing_root

_FAR = 40.0  # from here on 40 terms of the asymptotic series reach rounding
_SMALLEST, _LARGEST = 1e-300, 700.0  # G overflows beyond
_SHIFT = 3.0  # log(G(u) - G(1) + 3) is nearly linear in u for u >= 1


def _box_cox(logarithm: np.ndarray, power: np.ndarray) -> np.ndarray:
    """Return ``(u^power - 1) / power`` from ``log u``, the logarithm itself for power 0."""
    safe = np.where(power == 0, 1.0, power)
    return np.where(power == 0, logarithm, np.expm1(safe * logarithm) / safe)


def _clock(u: np.ndarray, e: np.ndarray) -> np.ndarray:
    near = np.minimum(u, _FAR)
    top = int(30 + 3 * near.max(initial=0.0))
    total = np.zeros(np.broadcast_shapes(u.shape, e.shape))
    for k in range(top, 1, -1):  # sum_k u^k (1 + e) / (k! (k + e)) by Horner's rule, all terms positive
        total = (1 / (k + e) + total) * near / k
    total = total * near ** (1 + e)
    total = total + 2 * _box_cox(np.log(near), e) + _box_cox(np.log(near), 1 + e)
    far, tail = np.maximum(u, _FAR), np.ones_like(total)
    for k in range(int(_FAR) - 1, -1, -1):  # integral of u^(e - 1) e^u: sum_k (1 - e)_k / u^k
        tail = 1 + tail * (k + 1 - e) / far
    return np.where(u < _FAR, total, np.exp(far) * far ** (e - 1) * tail)


def _exponent(depth: ArrayLike, high_end: str) -> np.ndarray:
    with np.errstate(divide="ignore"):
        return 2 / numbers("depth", depth, 2.0, ends="[" + high_end) - 1


def clock(u: ArrayLike, depth: ArrayLike) -> np.ndarray:
    """Return ``G(u)``, increasing in ``u`` with ``G'(u) = u^(2/depth - 2) (1 + e^u)``; depth may be infinite.

    Relative to the largest of its terms, accurate to 1e-15 times the larger of 10 and ``|log u|``.  Raises
    ``ValueError`` for depths below 2 and logits outside [1e-300, 700].

    Example:

    >>> (clock(2.0, [2, 4, np.inf]) - clock(1.0, [2, 4, np.inf])).round(6)  # time from logit 1 to 2
    array([3.752264, 3.097411, 2.58287 ])
    """
    u, e = broadcast(u=numbers("u", u, _SMALLEST, _LARGEST, "[]"), depth=_exponent(depth, "]"))
    return _clock(u, e)


def inverse_clock(value: ArrayLike, depth: ArrayLike) -> np.ndarray:
    """Return the logit ``u`` with ``G(u) = value``; depth may be infinite.

    Relative error 1e-15 times the larger of 10 and ``|log u|``, times ``1 + |value| / (u G'(u))``.
    Safeguarded Newton's method on a transform of ``G`` that is nearly linear.  Raises ``ValueError`` for
    depths below 2 and values beyond those of 1e-300 and 700.

    Example:

    >>> inverse_clock(clock([1e-6, 0.5, 300.0], 8), 8).round(9).tolist()
    [1e-06, 0.5, 300.0]
    """
    value, e = broadcast(value=numbers("value", value), depth=_exponent(depth, "]"))
    one = _clock(np.ones_like(e), e)
    largest = _clock(np.full(e.shape, _LARGEST), e)
    smallest = _clock(np.full(e.shape, _SMALLEST), e)
    wrong = (value > largest) | (value < smallest)
    if wrong.any():
        allowed = f"G(1e-300) = {smallest[wrong][0]:g} to G(700) = {largest[wrong][0]:g}"
        raise ValueError(f"value holds {value[wrong][0]}, allowed: from {allowed}")
    small = value < one
    # Below 1, G(u) - G(1) is nearly 2 (u^e - 1) / e, and lies below it: invert that to get nearly log u.
    below = np.where(small, value - one, -1.0)
    goal = np.log1p(e * below / 2) / np.where(e == 0, 1.0, e) + np.where(e == 0, below / 2, 0.0)
    goal = np.where(small, goal, np.log(np.where(small, 0.0, value - one) + _SHIFT))

    def residual(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        u = np.where(small, np.exp(np.where(small, x, 0.0)), x)
        rise = _clock(u, e) - one
        low = np.where(small, rise, 0.0)
        scaled = 1 + e * low / 2
        straight = np.where(e == 0, low / 2, np.log1p(e * low / 2) / np.where(e == 0, 1.0, e))
        below_slope = u**e * (1 + np.exp(np.minimum(u, 1.0))) / (2 * scaled)
        shifted = np.where(small, 0.0, rise) + _SHIFT
        above_slope = np.where(small, 1.0, u) ** (e - 1) * (1 + np.exp(u)) / shifted
        value = np.where(small, straight, np.log(shifted)) - goal
        return value, np.where(small, below_slope, above_slope)

    # Above 1, G grows like u^(e - 1) e^u with e from -1 to 0.
    high = np.minimum(goal + 2 * np.log1p(np.abs(goal)) + 3, _LARGEST)
    ends = np.where(small, goal, np.maximum(goal - 1, 0.7)), np.where(small, 0.0, high)
    root = increasing_root(residual, *ends, unit=1.0)
    return np.where(small, np.exp(np.where(small, root, 0.0)), root)


def clock_rate(depth: ArrayLike, norm: ArrayLike = 1.0) -> np.ndarray:
    """Return ``N norm^(2/N)``, the growth of :func:`clock` per unit of time, at finite depth N.

    Raises ``ValueError`` for depths below 2 or infinite, and norms that are not positive.

    Example:

    >>> clock_rate([2, 4], 0.25).tolist()
    [0.5, 2.0]
    """
    depth, norm = numbers("depth", depth, 2.0, ends="[)"), numbers("norm", norm, 0.0)
    return np.multiply(depth, np.power(norm, 2 / depth))


def time_to_logit(u1: ArrayLike, u0: ArrayLike, depth: ArrayLike, norm: ArrayLike = 1.0) -> np.ndarray:
    """Return the time from logit ``u0`` to logit ``u1 >= u0`` at this depth [combes2018, Eq. 25, integrated].

    As accurate as changes of ``u0`` and ``u1`` by 1e-15 of themselves leave it.  Raises ``ValueError`` for
    ``u1 < u0`` and arguments outside their ranges.

    Example:

    >>> time_to_logit(np.log(99), [[0.5], [1e-4]], [2, 4, 8]).round(1).tolist()  # depth helps, then hurts
    [[15.8, 4.8, 2.0], [24.6, 103.8, 335.1]]
    """
    rate = clock_rate(depth, norm)
    first, last = broadcast(
        u0=numbers("u0", u0, _SMALLEST, _LARGEST, "[]"), u1=numbers("u1", u1, _SMALLEST, _LARGEST, "[]")
    )
    if (last < first).any():
        raise ValueError(f"u1 holds {last[last < first][0]}, allowed: at least u0, {first[last < first][0]}")
    return (clock(last, depth) - clock(first, depth)) / rate


def deep_logit(times: ArrayLike, u0: ArrayLike, depth: ArrayLike, norm: ArrayLike = 1.0) -> np.ndarray:
    """Return the logit of a balanced network of this depth that starts at ``u0 > 0``.

    Accuracy as in :func:`inverse_clock`.  Raises ``ValueError`` for negative times and arguments outside
    their ranges, also when the logit passes 700 (times about 1e300).

    Example:

    >>> deep_logit([0.0, 1.0, 10.0], 0.3, 4).round(6).tolist()
    [0.3, 0.85755, 5.77881]
    """
    rate = clock_rate(depth, norm)
    times, u0, e, rate = broadcast(
        times=numbers("times", times, 0.0, ends="[)"),
        u0=numbers("u0", u0, _SMALLEST, _LARGEST, "[]"),
        depth=_exponent(depth, ")"),
        norm=rate,
    )
    with np.errstate(over="ignore"):
        value = rate * times + _clock(u0, e)
    late = value > _clock(np.full(e.shape, _LARGEST), e)
    if late.any():
        raise ValueError(f"times holds {times[late][0]}, allowed: until the logit is {_LARGEST:g}")
    return np.maximum(inverse_clock(value, depth), u0)


def growth_law(times: ArrayLike, depth: ArrayLike, norm: ArrayLike = 1.0) -> np.ndarray:
    """Return ``log T + (2 - 2/N) log log T``, ``T = N norm^(2/N) t``, which the logit follows up to o(1).

    Raises ``ValueError`` where T is not above 1, and for depths below 2 or infinite.

    Example:

    >>> (deep_logit(1e100, 0.3, [2, 4, 8]) - growth_law(1e100, [2, 4, 8])).round(3).tolist()
    [0.019, 0.046, 0.064]
    """
    times, rate = broadcast(times=numbers("times", times, 0.0), norm=clock_rate(depth, norm))
    logarithm = np.log(times) + np.log(rate)
    if not (logarithm > 0).all():
        raise ValueError(f"times holds {times[logarithm <= 0][0]}, allowed: above 1 / (N norm^(2/N))")
    return logarithm + (1 - _exponent(depth, ")")) * np.log(logarithm)


def fastest_logit(depth: ArrayLike) -> np.ndarray:
    """Return the logit at which the logit itself grows fastest, ``p + W(p e^-p)`` with ``p = 2 - 2/N``.

    There ``u^p / (1 + e^u)`` is largest; W is Lambert's.  It is above :func:`inflection_logit`, where the
    probability does.  Relative accuracy 1e-15.  Raises ``ValueError`` for depths below 2; infinite depth is
    allowed.

    Example:

    >>> fastest_logit([2, 4, 8]).round(4).tolist()
    [1.2785, 1.7585, 1.9894]
    """
    power = 1 - _exponent(depth, "]")
    return power + np.real(lambertw(power * np.exp(-power)))


def inflection_logit(depth: ArrayLike) -> np.ndarray:
    """Return the logit at which the probability inflects, ``(2 - 2/N) / u + 1 = 3 sigmoid(u)``.

    Relative accuracy 1e-15.  Raises ``ValueError`` for depths below 2; infinite depth is allowed.

    Example:

    >>> inflection_logit([2, 4, 8]).round(4).tolist()
    [0.8884, 1.1655, 1.2927]
    """
    power = 1 - _exponent(depth, "]")

    def residual(u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return 3 * expit(u) - 1 - power / u, 3 * expit(u) * expit(-u) + power / u**2

    return increasing_root(residual, np.full(power.shape, 0.5), np.full(power.shape, 3.0))
