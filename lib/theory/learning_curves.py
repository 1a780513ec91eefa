"""Closed forms of the learning curve of one balanced ReLU neuron trained on one input with the cross-entropy.

The neuron has pre-activation ``h = <w, x>``, output weight ``a`` and logit ``u = a h``; ``norm`` is ``|x|``
and the label is +1 (for a label of -1 change the sign of ``a``).  Gradient flow conserves
``c = h^2 - norm^2 a^2``, and balanced means ``c = 0`` [combes2018, Section 3.2]; for other starts see
:func:`lib.theory.hyperbolic_neuron.logit`.

Several inputs at once [combes2018, Appendix A.7]: for m orthogonal inputs of one norm and equal
pre-activations, trained on the sum of their losses, each logit is that of one input of norm ``sqrt(m)
norm``; for m copies of one input it is that of ``m norm``.  With the mean loss the factors are
``1 / sqrt(m)`` and 1.  Several balanced neurons are one, whose logit is the sum of theirs.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy import special
from scipy.optimize import brentq, minimize_scalar
from scipy.special import expit, lambertw

from lib.checks import array, broadcast, number, numbers, refuse_overflow
from lib.theory.log_integral import (
    inverse_from_logarithm,
    inverse_log_integral,
    inverse_log_integral_negative,
    log_integral,
    log_of_log_integral,
)


@refuse_overflow
def logit(times: ArrayLike, u0: ArrayLike, norm: ArrayLike = 1.0) -> np.ndarray:
    """Return the logit of a balanced neuron, ``h0 = norm |a0|``, which starts at ``u0``.

    Arguments broadcast.  From ``u0 > 0`` the logit grows, ``u = F^-1(2 norm t + F(u0))`` with ``F(u) =
    log|u| + Ei(u)`` [combes2018, Theorem 3.2]; from ``u0 < 0`` it decays to zero, ``F(u) = F(u0) - 2 norm t``
    [combes2018, Appendix A.6 integrated].  Relative accuracy 1e-15 times the larger of 10 and ``|log
    |u0||``, and from ``u0 < 0`` also times ``1 + norm t``; nothing overflows.  Raises ``ValueError`` for
    negative times, ``u0`` zero or below -1e300, and norms that are not positive.

    Example:

    >>> logit([0.0, 3.0, 1e6], [[0.1], [-0.1]]).round(6).tolist()
    [[0.1, 1.048564, 17.295107], [-0.1, -0.004753, -0.0]]
    """
    times, u0, norm = broadcast(
        times=numbers("times", times, 0.0, ends="[)"),
        u0=numbers("u0", u0, -1e300, ends="[)"),
        norm=numbers("norm", norm, 0.0),
    )
    if (u0 == 0).any():
        raise ValueError("u0 holds 0, allowed: positive or negative numbers; a neuron at zero never moves")
    result = np.empty(times.shape)
    with np.errstate(over="ignore", divide="ignore", under="ignore"):
        rise = 2 * norm * times
        log_rise = np.log(2) + np.log(norm) + np.log(times)
    down, far = u0 < 0, (u0 > 20) | (rise > 1e300)
    up, far = (u0 > 0) & ~far, (u0 > 0) & far
    result[up] = inverse_log_integral(rise[up] + log_integral(u0[up]))
    result[down] = inverse_log_integral_negative(log_integral(u0[down]) - np.minimum(rise[down], 1e4))
    start = log_of_log_integral(np.maximum(u0[far], 1.0))  # where F or the rise may overflow: add logarithms
    result[far] = inverse_from_logarithm(np.logaddexp(log_rise[far], start))
    return np.maximum(result, u0)  # no rounding below the start


@refuse_overflow
def probability(
    times: ArrayLike, u0: ArrayLike, norm: ArrayLike = 1.0, frequency: ArrayLike = 1.0
) -> np.ndarray:
    """Return the probability given to the true class when its input is drawn with this frequency.

    Time is step size times number of steps; the frequency in (0, 1] rescales it [combes2018, Eq. 3].
    Arguments broadcast; errors as in :func:`logit`.

    Example:

    >>> probability([10, 20, 30], 0.01, norm=1.5, frequency=0.3).round(4).tolist()
    [0.6514, 0.9397, 0.978]
    """
    frequency = numbers("frequency", frequency, 0.0, 1.0, "(]")
    times, frequency = broadcast(times=numbers("times", times, 0.0, ends="[)"), frequency=frequency)
    return expit(logit(times * frequency, u0, norm))


@refuse_overflow
def growth_law(times: ArrayLike, norm: ArrayLike = 1.0) -> np.ndarray:
    """Return ``log(2 norm t) + log log(2 norm t)``, which the logit follows up to o(1).

    It lies below the logit at late times: by 0.12 for ``norm t = 1e4``, 0.02 for 1e100.  Raises
    ``ValueError`` where ``2 norm t`` is not above 1.

    Example:

    >>> (logit([1e4, 1e100], 0.1) - growth_law([1e4, 1e100])).round(3).tolist()
    [0.123, 0.019]
    """
    times, norm = broadcast(times=numbers("times", times, 0.0), norm=numbers("norm", norm, 0.0))
    logarithm = np.log(2 * norm) + np.log(times)
    if not (logarithm > 0).all():
        place = np.unravel_index(np.argmin(logarithm), logarithm.shape)
        raise ValueError(f"times holds {times[place]}, allowed: above 1 / (2 norm), {0.5 / norm[place]}")
    return logarithm + np.log(logarithm)


def _half_bound(times: ArrayLike, u0: ArrayLike, norm: ArrayLike) -> tuple[np.ndarray, ...]:
    """Return ``u0``, ``log(norm t)`` and ``log(norm t + e^(u0/2))``."""
    times, u0, norm = broadcast(
        times=numbers("times", times, 0.0, ends="[)"),
        u0=numbers("u0", u0, 0.0),
        norm=numbers("norm", norm, 0.0),
    )
    with np.errstate(divide="ignore"):
        logarithm = np.log(norm) + np.log(times)
    return u0, logarithm, u0 / 2 + np.logaddexp(0, logarithm - u0 / 2)


def loose_bound(times: ArrayLike, u0: ArrayLike, norm: ArrayLike = 1.0) -> np.ndarray:
    """Return ``2 log(norm t + e^(u0/2))``, an upper bound of the logit for c = 0 [combes2018, Eq. 19].

    Arguments broadcast; ``u0`` is positive, and so is ``norm``.  Twice the logit in the end.  Relative
    accuracy 1e-15 times ``1 + |log norm| + |log t|``; nothing overflows.  Raises ``ValueError`` as
    :func:`logit` does.

    Example:

    >>> float(loose_bound(1e6, 0.1).round(2)), float(logit(1e6, 0.1).round(2))
    (27.63, 17.3)
    """
    return 2 * _half_bound(times, u0, norm)[2]


@refuse_overflow
def sharp_bound(times: ArrayLike, u0: ArrayLike, norm: ArrayLike = 1.0) -> np.ndarray:
    """Return ``log(4 norm t log(norm t + e^(u0/2)) + e^u0)``, an upper bound tight up to log 2 + o(1).

    From ``(e^u)' = 2 norm u e^u / (1 + e^u) <= 2 norm u`` and the loose bound for ``u``.  Arguments, accuracy
    and errors as in :func:`loose_bound`.

    Example:

    >>> float(sharp_bound(1e6, 0.1).round(2))
    17.83
    """
    u0, logarithm, half = _half_bound(times, u0, norm)
    return u0 + np.logaddexp(0, np.log(4) + logarithm + np.log(half) - u0)


def curvature(u: ArrayLike, b: ArrayLike = 0.0) -> np.ndarray:
    """Return ``1 - 3 sigmoid(u) + u / (b^2 + u^2)``, whose sign is that of the curve's second derivative.

    ``b = |c| / (2 norm)``; the neuron learns, that is ``u' = 2 norm sqrt(b^2 + u^2) sigmoid(-u)``.  Arguments
    broadcast.  Raises ``ValueError`` for negative b, and for ``u = 0`` where b is 0.

    Example:

    >>> curvature([0.5, 0.8883679076, 2.0]).round(6).tolist()
    [1.132622, 0.0, -1.142391]
    """
    u, b = broadcast(u=numbers("u", u), b=numbers("b", b, 0.0, ends="[)"))
    size = np.hypot(u, b)
    if (size == 0).any():
        raise ValueError("u holds 0 where b is 0, allowed: other numbers; that neuron never moves")
    return 1 - 3 * expit(u) + u / size / size


def _critical_invariant(u: float) -> float:
    return u / (3 * expit(u) - 1) - u**2


LOGIT_INFLECTION = 1 + float(lambertw(np.exp(-1)).real)
"""The logit itself inflects where ``u = 1 + e^-u`` (c = 0)."""

CURVE_INFLECTION = float(brentq(curvature, 0.5, 1.5, xtol=1e-15))
"""The probability inflects at this logit, where ``1/u + 1 = 3 sigmoid(u)`` (c = 0)."""

LARGEST_SIGMOIDAL_INVARIANT = float(
    np.sqrt(
        -minimize_scalar(lambda u: -_critical_invariant(u), bounds=(0.1, 0.8), options={"xatol": 1e-10}).fun
    )
)
"""From ``|c| / (2 norm)`` of this size on the curve has no convex part at positive logits."""


def curve_inflections(b: float) -> tuple[float, ...]:
    """Return the positive logits at which the probability inflects, for ``b = |c| / (2 norm)``.

    One if b is zero, two below :data:`LARGEST_SIGMOIDAL_INVARIANT`, none from there on.  Relative accuracy
    1e-14 divided by the root of b's relative distance from that number.  Raises ``ValueError`` for b negative
    or between 0 and 1e-140.

    Example:

    >>> [round(u, 4) for u in curve_inflections(0.2)], curve_inflections(0.6)
    ([0.0208, 0.8573], ())
    """
    b = number("b", b, 0.0, ends="[)")
    if b == 0:
        return (CURVE_INFLECTION,)
    if b < 1e-140:
        raise ValueError(f"b is {b}, allowed: 0, and numbers from 1e-140 on")
    turn = float(minimize_scalar(lambda u: -curvature(u, b), bounds=(0.0, 1.0), options={"xatol": 1e-10}).x)
    if b >= LARGEST_SIGMOIDAL_INVARIANT or curvature(turn, b) <= 0:
        return ()
    # Below b^2 / 4 the curvature is under -1/4; the smaller root is near b^2 / 2 for small b.
    return tuple(
        float(brentq(curvature, *ends, args=(b,), xtol=1e-300, rtol=1e-15, maxiter=2000))
        for ends in ((b**2 / 4, turn), (turn, 2.0))
    )


@refuse_overflow
def time_ratio(
    confidence: ArrayLike,
    u01: ArrayLike,
    u02: ArrayLike,
    norms: tuple[float, float],
    frequencies: tuple[float, float],
) -> np.ndarray:
    """Return ``t_2 / t_1`` for the times at which two balanced classes reach a confidence.

    They start at logits ``u01, u02 > 0`` of their own labels; these and the confidence, in (1/2, 1),
    broadcast.  Equal starts give ``norm_1 frequency_1 / (norm_2 frequency_2)`` at any confidence
    [combes2018, Corollary 3.3], other starts tend to it as the confidence tends to 1.  Raises ``ValueError``
    for a confidence already reached at a start, norms not positive and frequencies outside (0, 1].

    Example:

    >>> time_ratio([0.9, 0.99, 0.9999], 0.01, 0.05, (1.0, 1.0), (0.5, 0.5)).round(4).tolist()
    [0.7846, 0.9186, 0.9974]
    """
    rates = array("norms", norms, (2,), 0.0) * array("frequencies", frequencies, (2,), 0.0, 1.0, "(]")
    target, u01, u02 = broadcast(
        confidence=special.logit(numbers("confidence", confidence, 0.5, 1.0)),
        u01=numbers("u01", u01, 0.0),
        u02=numbers("u02", u02, 0.0),
    )
    reached = target <= np.maximum(u01, u02)
    if reached.any():
        raise ValueError(
            f"confidence holds {expit(target[reached][0])}, allowed: above that of the starts, u01 = "
            f"{u01[reached][0]} and u02 = {u02[reached][0]}"
        )
    first, second = (
        (log_integral(target) - log_integral(u0)) / rate for u0, rate in zip((u01, u02), rates, strict=True)
    )
    return second / first
