"""A ReLU neuron on one input with the cross-entropy loss, wherever it starts.

Gradient flow of pre-activation ``h = <w, x>`` and output weight ``a`` (label +1; for -1 change the sign of
``a``) is ``h' = norm^2 a sigmoid(-u)``, ``a' = h sigmoid(-u)`` with logit ``u = a h``.  In the coordinates

    rising = (h + norm a)^2 / (4 norm),     falling = (h - norm a)^2 / (4 norm)

the logit is ``rising - falling``; the one grows as the other decays, and their product is ``(c / (4
norm))^2`` with the invariant ``c = h^2 - norm^2 a^2`` [combes2018, Appendix A.3].  The three fates are those
of [combes2018, Section 3.3]: a neuron learns if ``h > 0`` and ``h + norm a > 0``; with ``0 < h < -norm a`` it
dies in finite time, its pre-activation reaching zero; on the line between, ``h = -norm a``, its logit decays
to zero forever.  A neuron with ``h <= 0`` is inactive and never moves.

All arguments broadcast.  Results are as accurate as rounding ``h0``, ``a0`` and ``norm`` leaves them, and
1e-12, while ``|h0|``, ``|a0|`` are zero or within 1e-100 and 1e100, ``norm`` within 1e-50 and 1e50.  Larger
ones, and norms outside, raise ``ValueError``.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from lib.checks import array, broadcast, number, numbers, refuse_overflow
from lib.theory import learning_curves
from lib.theory.hyperbolic_clock import LARGEST_LOGIT, angle, clock, excess
from lib.theory.roots import increasing_root


def _neuron(
    h: ArrayLike, a: ArrayLike, norm: ArrayLike, at: str = "", **first: np.ndarray
) -> tuple[np.ndarray, ...]:
    """Return the first argument if any, h, norm * a and norm, checked and broadcast; errors say h0 for h."""
    named = {
        name + at: numbers(name + at, value, -1e100, 1e100, "[]") for name, value in (("h", h), ("a", a))
    }
    named["norm"] = numbers("norm", norm, 1e-50, 1e50, "[]")
    *before, weight, norm = broadcast(**first, **named)
    return *before, norm * weight, norm


def rising_and_falling(h: ArrayLike, a: ArrayLike, norm: ArrayLike = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """Return ``(h + norm a)^2 / (4 norm)`` and ``(h - norm a)^2 / (4 norm)``, entry by entry.

    Raises ``ValueError`` for norms that are not positive.

    Example:

    >>> rising, falling = rising_and_falling(1.0, [0.5, -0.5])
    >>> rising.tolist(), falling.tolist(), (rising - falling).tolist()
    ([0.5625, 0.0625], [0.0625, 0.5625], [0.5, -0.5])
    """
    h, b, norm = _neuron(h, a, norm)
    return (h + b) ** 2 / (4 * norm), (h - b) ** 2 / (4 * norm)


def invariant(h: ArrayLike, a: ArrayLike, norm: ArrayLike = 1.0) -> np.ndarray:
    """Return ``c = h^2 - norm^2 a^2``, which gradient flow conserves [combes2018, Eqs. 1 and 13].

    Gradient descent with step size s multiplies it by ``1 - (s norm sigmoid(-u))^2`` in each step.  Relative
    accuracy 1e-15, divided by the relative distance of h from ``norm |a|``.

    Example:

    >>> invariant([2.0, 1.0], [1.0, 1.0]).tolist()
    [3.0, 0.0]
    """
    h, b, _ = _neuron(h, a, norm)
    return (h + b) * (h - b)


def fate(h: ArrayLike, a: ArrayLike, norm: ArrayLike = 1.0) -> np.ndarray:
    """Return 1 for a neuron that learns, -1 for one that dies or is inactive, 0 on the line between.

    An integer for each entry [combes2018, Section 3.3 and Figure 2, left].  Raises ``ValueError`` for norms
    that are not positive.

    Example:

    >>> fate([1.0, 1.0, 1.0, -1.0], [-0.9, -1.0, -1.1, 3.0]).tolist()
    [1, 0, -1, -1]
    """
    h, b, _ = _neuron(h, a, norm)
    return np.where(h > 0, np.sign(h + b), -1).astype(int)


@refuse_overflow
def equivalent_neuron(h: ArrayLike, a: ArrayLike, norm: float = 1.0) -> tuple[float, float]:
    """Return ``(h, a)`` of the one neuron whose logit is that of these active neurons, shape (m,), together.

    Rising and falling parts add.  Its invariant ``c`` is at least the sum of the neurons' own, with equality
    only if all ``(h_j - norm a_j) / (h_j + norm a_j)`` agree.  Valid while every neuron stays active.  Raises
    ``ValueError`` naming the first neuron that is not active.

    Example:

    >>> h, a = equivalent_neuron([1.0, 0.5], [0.5, 1.0])
    >>> round(h, 6), round(a, 6), round(h * a, 6)  # the logit is 1 * 0.5 + 0.5 * 1
    (1.414214, 0.707107, 1.0)
    """
    h, a = array("h", h, ("m",)), array("a", a, ("m",))
    if not (h > 0).all():
        j = int(np.argmin(h > 0))
        raise ValueError(f"h[{j}] is {h[j]}: neuron {j} is not active, allowed: positive pre-activations")
    size = number("norm", norm, 0.0)
    broadcast(h=h, a=a)
    rising, falling = np.linalg.norm(h + size * a), np.linalg.norm(h - size * a)
    return float(rising + falling) / 2, float(rising - falling) / (2 * size)


def _place(h: np.ndarray, b: np.ndarray, norm: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the logit and half the distance of the hyperbola's branches, ``|c| / (2 norm)``."""
    return h * b / norm, np.abs(h + b) * np.abs(h - b) / (2 * norm)


def time_to_logit(u1: ArrayLike, h0: ArrayLike, a0: ArrayLike, norm: ArrayLike = 1.0) -> np.ndarray:
    """Return the time at which the neuron started at ``(h0, a0)`` has logit ``u1``.

    ``u1`` is at least the initial logit, and at most 700, or 0 for a neuron that does not learn; infinite for
    0 on the line ``h0 = -norm a0`` [combes2018, Eqs. 20 to 22, and
    :func:`lib.theory.hyperbolic_clock.clock`].  Raises ``ValueError`` for other ``u1`` and for ``h0 <= 0``.

    Example:

    >>> time_to_logit([0.0, 6.0], 1.0, [[0.0], [-0.9]]).round(6).tolist()
    [[0.0, 44.455933], [2.620921, 49.210256]]
    """
    u1, h, b, norm = _neuron(h0, a0, norm, "0", u1=numbers("u1", u1))
    if not (h > 0).all():
        raise ValueError(f"h0 holds {h[h <= 0][0]}, allowed: positive numbers; other neurons never move")
    u0, width = _place(h, b, norm)
    highest = np.where(h + b > 0, LARGEST_LOGIT, 0.0)
    wrong = (u1 < u0) | (u1 > highest)
    if wrong.any():
        raise ValueError(
            f"u1 holds {u1[wrong][0]}, allowed: from the initial logit {u0[wrong][0]} to {highest[wrong][0]}"
        )
    return clock(u0, u1, width) / (2 * norm)


def escape_time(h0: ArrayLike, a0: ArrayLike, norm: ArrayLike = 1.0) -> np.ndarray:
    """Return when the output weight of a neuron with ``a0 < 0`` and ``h0 > -norm a0`` changes sign.

    There ``h`` has its minimum, the square root of c [combes2018, Section 3.3].  Raises ``ValueError`` for
    other starts.

    Example:

    >>> escape_time(1.0, [-0.9, -0.999]).round(6).tolist()
    [2.620921, 7.202917]
    """
    h, b, norm = _neuron(h0, a0, norm, "0")
    if not ((b < 0) & (h + b > 0)).all():
        raise ValueError("h0 or a0 holds a start outside 0 < -norm * a0 < h0, allowed: these alone escape")
    u0, width = _place(h, b, norm)
    return clock(u0, np.zeros_like(u0), width) / (2 * norm)


def death_time(h0: ArrayLike, a0: ArrayLike, norm: ArrayLike = 1.0) -> np.ndarray:
    """Return when the pre-activation of a neuron with ``0 < h0 < -norm a0`` reaches zero, for good.

    Its output weight is ``-sqrt(-c) / norm`` then [combes2018, Section 3.3, where it "tends to" zero].
    Raises ``ValueError`` for other starts.

    Example:

    >>> death_time(1.0, [-1.1, -1.001]).round(6).tolist()
    [2.662142, 7.203286]
    """
    h, b, norm = _neuron(h0, a0, norm, "0")
    if not ((h > 0) & (h + b < 0)).all():
        raise ValueError("h0 or a0 holds a start outside 0 < h0 < -norm * a0, allowed: these alone die")
    u0, width = _place(h, b, norm)
    return clock(u0, np.zeros_like(u0), width) / (2 * norm)


def _move(times: ArrayLike, h0: ArrayLike, a0: ArrayLike, norm: ArrayLike) -> tuple[np.ndarray, ...]:
    """Return the logit, the angle on the hyperbola passed through, h0, norm * a0 and norm.

    The logit of a dead neuron, or one that dies until then, is nan.
    """
    times, h, b, norm = _neuron(h0, a0, norm, "0", times=numbers("times", times, 0.0, ends="[)"))
    u0, width = _place(h, b, norm)
    logit, turned = np.where(h > 0, u0, np.nan), np.zeros(h.shape)
    if (logit > LARGEST_LOGIT).any():
        raise ValueError(f"h0 and a0 have the logit {np.nanmax(logit)}, allowed: up to {LARGEST_LOGIT:g}")
    still = (h > 0) & (h + b == 0)  # on the line, where the width is zero
    if still.any():
        logit[still] = learning_curves.logit(times[still], u0[still], norm[still])
        with np.errstate(divide="ignore"):
            turned[still] = np.log(u0[still] / logit[still])
    moving = (h > 0) & (h + b != 0) & (times > 0)
    if moving.any():
        parts = (array[moving] for array in (times, h, b, norm, u0, width))
        logit[moving], turned[moving] = _solve(*parts)
    return logit, turned, h, b, norm


def _solve(
    times: np.ndarray, h: np.ndarray, b: np.ndarray, norm: np.ndarray, u0: np.ndarray, width: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return logit and angle of neurons that learn or die, by inverting the clock."""
    sum_, learns = h + b, h + b > 0
    with np.errstate(over="ignore"):  # infinite for a neuron long dead
        goal = 2 * norm * times
    base = np.where(learns, np.maximum(u0, 1.0), 0.0)
    whole_angle = angle(u0, base, width)
    before, start = excess(u0, width), excess(base, width)
    until_base = 2 * whole_angle + start - before
    dead, late = ~learns & (goal >= until_base), learns & (goal > until_base)
    # Up to a logit of 1 the angle is the unknown, whose time is nearly linear; above, it is the logit u, and
    # log(time + shift) is nearly linear, as the time grows like e^u / sqrt(u^2 + b^2).
    shift = (1 + np.exp(base)) / np.hypot(base, width)
    last = np.full(h.shape, LARGEST_LOGIT)
    longest = 2 * angle(base, last, width) + excess(last, width) - start
    if (late & (goal - until_base > longest)).any():
        raise ValueError(f"times holds {times.max()}, allowed: until the logit is {LARGEST_LOGIT:g}")

    def turn(s: np.ndarray) -> np.ndarray:
        return u0 * np.exp(-s) + sum_**2 / (2 * norm) * np.sinh(s)

    def residual(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        s, u = np.where(late, whole_angle, x), np.where(late, np.maximum(x, base), base)
        u = np.where(late, u, np.minimum(turn(s), base))
        slope, passed = 1 + np.exp(u), excess(u, width)
        since = 2 * angle(base, np.maximum(u, base), width) + passed - start + shift
        early_value = 2 * s + passed - before - goal
        late_value = np.log(since) - level
        late_slope = slope / np.hypot(np.where(late, u, 1.0), width) / since
        return np.where(late, late_value, early_value), np.where(late, late_slope, slope)

    # The time grows at least by e^u / sqrt(u^2 + b^2) with its shift, and at most 4 times that.
    least, most = base, last
    level = np.log(np.where(late, goal - until_base, 0.0) + shift)
    for _ in range(2):
        least = np.maximum(base, level + np.log(np.hypot(least, width)) - np.log(4))
        most = np.clip(level + np.log(np.hypot(most, width)), least, last)
    high = np.minimum(goal, whole_angle)  # the time grows faster than the angle, and at most 1 + e^base times
    low = np.where(dead, high, high / (1 + np.exp(base)))
    root = increasing_root(residual, np.where(late, least, low), np.where(late, most, high))
    s = np.where(late, whole_angle, root)
    u = np.where(late, root, turn(s))
    s = np.where(late, angle(u0, np.maximum(u, u0), width), s)
    return np.where(dead, np.nan, u), np.where(dead, whole_angle, s)


def logit(times: ArrayLike, h0: ArrayLike, a0: ArrayLike, norm: ArrayLike = 1.0) -> np.ndarray:
    """Return the logit at these times, the inverse of :func:`time_to_logit`; 0 for a neuron not active.

    It depends on ``norm times``, the initial logit and ``c / norm`` alone.  Raises ``ValueError`` for
    negative times, an initial logit above 700 and times so late (from about 1e200) that the logit passes 700.

    Example:

    >>> logit([0.0, 2.0, 20.0], 1.0, [[0.1], [-0.9], [-1.1]]).round(6).tolist()
    [[0.1, 1.192659, 4.904641], [-0.9, -0.063943, 4.495741], [-1.1, -0.076281, 0.0]]
    """
    return np.nan_to_num(_move(times, h0, a0, norm)[0])


def weights(
    times: ArrayLike, h0: ArrayLike, a0: ArrayLike, norm: ArrayLike = 1.0
) -> tuple[np.ndarray, np.ndarray]:
    """Return ``(h, a)`` at these times: ``h + norm a`` has grown by ``e^(s/2)``, ``h - norm a`` decayed so.

    The angle s grows as the neuron moves along its hyperbola [combes2018, Eqs. 20 to 22]; a neuron that dies
    keeps ``h = 0`` from then on.  Errors as in :func:`logit`.

    Example:

    >>> h, a = weights([0.0, 2.0, 20.0], 1.0, -1.1)
    >>> h.round(6).tolist(), a.round(6).tolist()
    ([1.0, 0.157429, 0.0], [-1.1, -0.484545, -0.458258])
    """
    value, s, h, b, norm = _move(times, h0, a0, norm)
    shrink, grow = np.exp(-s / 2), (h + b) * np.sinh(np.where(h + b == 0, 0.0, s / 2))
    dead = np.isnan(value) & (h > 0)
    response, weight = np.where(dead, 0.0, h * shrink + grow), (b * shrink + grow) / norm
    # The sum loses the digits of a weight that has crossed zero; the logit has kept them.
    learning = value > 0
    return response, np.where(learning, value / np.where(learning, response, 1.0), weight)
