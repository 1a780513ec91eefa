"""One ReLU neuron active on both classes: which class captures it.

Two orthogonal inputs of labels +1 and -1 with norms ``norms`` are drawn at rates ``rates``; the neuron has
responses ``h1 = <w, x1>``, ``h2 = <w, x2>``, both positive, and output weight ``a``.  For the cross-entropy

    h1' = r1 n1^2 a g1,   h2' = -r2 n2^2 a g2,   a' = r1 h1 g1 - r2 h2 g2,
    g1 = sigmoid(-a h1),  g2 = sigmoid(a h2)

[combes2018, Eq. 4, whose alpha, beta, z are h1, h2, a and whose rates are 1; sampling both classes equally
has rates 1/2].  The response that reaches zero first is lost for good, and the other class has captured the
neuron.  A start on the separating surface goes to a saddle instead.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.integrate import solve_ivp
from scipy.optimize import OptimizeResult
from scipy.special import expit

from lib.arguments import array, broadcast, number, numbers, refuse_overflow

_EQUAL = (1.0, 1.0)


@dataclass(frozen=True)
class Saddle:
    """The stationary point ``(h1, h2, 0)``, its two rates and the unit vectors along which they act.

    ``stable < 0 < unstable`` are eigenvalues of the linearised flow, the third is zero (along the family of
    saddles); the directions have components h1, h2, a with positive a.

    Example:

    >>> at = saddle(4.0)
    >>> at.point.round(4).tolist(), at.stable_direction.round(4).tolist()
    ([1.4142, 1.4142, 0.0], [-0.3251, 0.3251, 0.8881])
    """

    point: np.ndarray
    stable: float
    unstable: float
    stable_direction: np.ndarray
    unstable_direction: np.ndarray


def pair(name: str, values: ArrayLike) -> np.ndarray:
    """Return two positive numbers as an array; raises ``ValueError`` for anything else.

    Example:

    >>> pair("norms", (1, 2))
    array([1., 2.])
    """
    return array(name, values, (2,), 0.0)


def velocity(state: np.ndarray, norms: np.ndarray, rates: np.ndarray) -> np.ndarray:
    """Return the velocities of h1, h2, a, stacked along the first axis as the state is [combes2018, Eq. 4].

    Example:

    >>> float(velocity(np.array([1.0, 0.5, 0.0]), np.ones(2), np.ones(2))[2])
    0.25
    """
    h1, h2, a = state
    pull1, pull2 = rates[0] * expit(-a * h1), rates[1] * expit(a * h2)
    return np.stack([norms[0] ** 2 * a * pull1, -(norms[1] ** 2) * a * pull2, h1 * pull1 - h2 * pull2])


@refuse_overflow
def invariant(h1: ArrayLike, h2: ArrayLike, a: ArrayLike, norms: tuple[float, float] = _EQUAL) -> np.ndarray:
    """Return ``c = h1^2 / n1^2 + h2^2 / n2^2 - a^2``, kept at any rates [combes2018, Theorem 3.4].

    Raises ``ValueError`` for norms that are not two positive numbers, and responses that are not numbers.

    Example:

    >>> invariant([0.1, 0.2], [0.1, 0.9], [0.1, 0.2]).round(2).tolist()
    [0.01, 0.81]
    """
    n1, n2 = pair("norms", norms)
    h1, h2, a = broadcast(h1=numbers("h1", h1), h2=numbers("h2", h2), a=numbers("a", a))
    return (h1 / n1) ** 2 + (h2 / n2) ** 2 - a**2


@refuse_overflow
def saddle(c: float, norms: tuple[float, float] = _EQUAL, rates: tuple[float, float] = _EQUAL) -> Saddle:
    """Return the saddle on the hyperboloid of invariant ``c > 0`` [combes2018, Theorem 3.4].

    There ``r1 h1 = r2 h2`` and ``a = 0``.  Relative accuracy 1e-15.  Raises ``ValueError`` for ``c <= 0``,
    where no saddle is, and norms or rates that are not two positive numbers.

    Example:

    >>> saddle(1.0).point.round(4).tolist(), round(saddle(1.0).stable, 5), round(saddle(1.0).unstable, 5)
    ([0.7071, 0.7071, 0.0], -0.84307, 0.59307)
    """
    c = number("c", c, 0.0)
    (n1, n2), (r1, r2) = pair("norms", norms), pair("rates", rates)
    h1, h2 = np.array([r2, r1]) * np.sqrt(c) / np.hypot(r2 / n1, r1 / n2)
    damping, drive = (r1 * h1**2 + r2 * h2**2) / 4, (r1 * n1) ** 2 + (r2 * n2) ** 2
    stable = -(damping + np.hypot(damping, np.sqrt(drive))) / 2
    unstable = -drive / (4 * stable)
    directions = [np.array([r1 * n1**2 / (2 * e), -r2 * n2**2 / (2 * e), 1.0]) for e in (stable, unstable)]
    unit = [direction / np.linalg.norm(direction) for direction in directions]
    return Saddle(np.array([h1, h2, 0.0]), float(stable), float(unstable), *unit)


@refuse_overflow
def separating_curve(
    a: ArrayLike, c: float, norms: tuple[float, float] = _EQUAL, rates: tuple[float, float] = _EQUAL
) -> tuple[np.ndarray, np.ndarray]:
    """Return ``(h1, h2)`` of the separating curve on the hyperboloid of invariant c, at output weights ``a``.

    The stable manifold of the saddle, by integration backwards in time from it: the other orbits approach
    it then, so that errors shrink.  Entries are nan where the curve has left ``h1, h2 > 0``.  A start of the
    same ``a`` and c with larger ``h1`` is captured by class +1, with smaller ``h1`` by class -1.  Relative
    errors about 1e-10 for c up to 100.  Raises ``ValueError`` as :func:`saddle` does.

    Example:

    >>> h1, h2 = separating_curve([0.0, 0.3, 1.5], c=1.0)
    >>> h1.round(6).tolist(), h2.round(6).tolist()
    ([0.707107, 0.538486, nan], [0.707107, 0.894445, nan])
    """
    a = numbers("a", a)
    at = saddle(c, norms, rates)
    found = np.full((2, a.size), np.nan)
    for sign in (1, -1):
        side = np.flatnonzero(sign * a.ravel() >= 0)
        reach = sign * a.ravel()[side]
        near = reach <= _offset(c)  # the tangent is exact to the square of the offset
        slope = sign * at.stable_direction[:2] / at.stable_direction[2]
        found[:, side[near]] = at.point[:2, None] + slope[:, None] * reach[near]
        if not near.all():
            wanted, places = np.unique(reach[~near], return_inverse=True)
            run = _branch(c, norms, rates, sign, wanted[-1], wanted)
            values = np.full((2, len(wanted)), np.nan)
            values[:, : len(run.t)] = run.y
            found[:, side[~near]] = values[:, places]
    return found[0].reshape(a.shape), found[1].reshape(a.shape)


@refuse_overflow
def curve_end(
    c: float, norms: tuple[float, float] = _EQUAL, rates: tuple[float, float] = _EQUAL
) -> np.ndarray:
    """Return where the separating curve leaves ``h1, h2 > 0``: its output weight for a > 0 and for a < 0.

    From these weights on every start of this c is captured by class +1 (-1).  An end is infinite if the
    curve never leaves: for large c, above 3.2722 for unit norms and rates, the response that should vanish
    stops shrinking as its class is learnt.  Relative accuracy 1e-9.  Errors as in :func:`saddle`.

    Example:

    >>> curve_end(1.0).round(5).tolist(), curve_end(9.0).tolist()
    ([1.47378, -1.47378], [inf, -inf])
    """
    ends, last = [], 1e6 * max(1.0, np.sqrt(number("c", c, 0.0)))
    for sign in (1, -1):
        run = _branch(c, norms, rates, sign, last)
        ends.append(sign * (run.t_events[0][0] if len(run.t_events[0]) else np.inf))
    return np.array(ends)


def _offset(c: float) -> float:
    return 1e-6 * float(np.sqrt(c))


def _branch(
    c: float,
    norms: tuple[float, float],
    rates: tuple[float, float],
    sign: int,
    last: float,
    wanted: np.ndarray | None = None,
) -> OptimizeResult:
    """Integrate h1, h2 along the curve from the saddle, with ``|a|`` for the clock."""
    at, sizes, draws = saddle(c, norms, rates), pair("norms", norms), pair("rates", rates)
    shrinking = 0 if sign > 0 else 1

    def slope(size: float, h: np.ndarray) -> np.ndarray:
        speed = velocity(np.array([*h, sign * size]), sizes, draws)
        return sign * speed[:2] / speed[2]

    def left(_: float, h: np.ndarray) -> float:
        return h[shrinking]

    def stays(size: float, h: np.ndarray) -> float:
        return size * h[shrinking] - 60  # all that can still be lost is of order exp(-60)

    left.terminal = True  # type: ignore[attr-defined]
    stays.terminal = wanted is None  # type: ignore[attr-defined]
    start = at.point + sign * _offset(c) * at.stable_direction / at.stable_direction[2]
    return solve_ivp(
        slope, (_offset(c), last), start[:2], "DOP853", wanted, events=(left, stays), rtol=1e-12, atol=1e-14
    )
