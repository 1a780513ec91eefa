"""Closed forms of the learning curve of one balanced ReLU neuron trained on one input with the cross-entropy.

The neuron has pre-activation ``h = <w, x>``, output weight ``a`` and logit ``u = a h``; ``norm`` is ``|x|``
and the label is +1 (for a label of -1 change the sign of ``a``).  Gradient flow conserves
``c = h^2 - norm^2 a^2``, and balanced means ``c = 0`` [combes2018, Section 3.2].
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq, minimize_scalar
from scipy.special import expit, lambertw

from lib.theory.log_integral import (
    inverse_from_logarithm,
    inverse_log_integral,
    inverse_log_integral_negative,
    log_integral,
    log_of_log_integral,
)


def _positive(**arguments: ArrayLike) -> None:
    for name, value in arguments.items():
        entries = np.asarray(value, dtype=float)
        if not (np.isfinite(entries) & (entries > 0)).all():
            raise ValueError(f"{name} holds {np.min(entries)}, allowed: positive numbers")


def _not_negative(times: ArrayLike) -> np.ndarray:
    times = np.asarray(times, dtype=float)
    if not (np.isfinite(times) & (times >= 0)).all():
        raise ValueError(f"times holds {np.min(times)}, allowed: zero and positive numbers")
    return times


def logit(times: ArrayLike, u0: ArrayLike, norm: ArrayLike = 1.0) -> np.ndarray:
    """Return the logit of a balanced neuron, ``h0 = norm |a0|``, which starts at ``u0``.

    Arguments broadcast.  From ``u0 > 0`` the logit grows, ``u = F^-1(2 norm t + F(u0))``
    [combes2018, Theorem 3.2]; from ``u0 < 0`` it decays to zero, ``F(u) = F(u0) - 2 norm t``
    [combes2018, Appendix A.6 integrated].  Raises ``ValueError`` for negative times, ``u0 = 0``, bad norms.
    """
    times, u0 = np.broadcast_arrays(_not_negative(times) * np.asarray(norm, dtype=float), u0)
    _positive(norm=norm)
    result = np.empty(times.shape)
    low, high = u0 < 20, u0 >= 20
    up, down = low & (u0 > 0), u0 < 0
    if (u0 == 0).any():
        raise ValueError("u0 holds 0, allowed: positive or negative numbers; a neuron at zero never moves")
    result[up] = inverse_log_integral(2 * times[up] + log_integral(u0[up]))
    result[down] = inverse_log_integral_negative(log_integral(u0[down]) - 2 * times[down])
    with np.errstate(divide="ignore"):  # F(u0) may overflow: add logarithms
        target = np.logaddexp(np.log(2 * times[high]), log_of_log_integral(u0[high]))
    result[high] = inverse_from_logarithm(target)
    return result


def probability(
    times: ArrayLike, u0: ArrayLike, norm: ArrayLike = 1.0, frequency: ArrayLike = 1.0
) -> np.ndarray:
    """Return the probability given to the true class when its input is drawn with this frequency.

    Time is step size times number of steps; the frequency in (0, 1] rescales it [combes2018, Eq. 3].
    """
    _positive(frequency=frequency)
    if (np.asarray(frequency) > 1).any():
        raise ValueError(f"frequency holds {np.max(frequency)}, allowed: (0, 1]")
    return expit(logit(np.asarray(times) * frequency, u0, norm))


def growth_law(times: ArrayLike, norm: float = 1.0) -> np.ndarray:
    """Return ``log(2 norm t) + log log(2 norm t)``, which the logit follows up to o(1).

    Raises ``ValueError`` where ``2 norm t`` is not above 1.
    """
    scaled = 2 * norm * np.asarray(times, dtype=float)
    if not (scaled > 1).all():
        raise ValueError(f"2 * norm * times holds {np.min(scaled)}, allowed: above 1")
    return np.log(scaled) + np.log(np.log(scaled))


def loose_bound(times: ArrayLike, u0: float, norm: float = 1.0) -> np.ndarray:
    """Return ``2 log(norm t + e^(u0/2))``, an upper bound of the logit for c = 0 [combes2018, Eq. 19]."""
    return 2 * np.log(norm * _not_negative(times) + np.exp(u0 / 2))


def sharp_bound(times: ArrayLike, u0: float, norm: float = 1.0) -> np.ndarray:
    """Return ``log(4 norm t log(norm t + e^(u0/2)) + e^u0)``, an upper bound tight up to log 2 + o(1).

    From ``(e^u)' = 2 norm u e^u / (1 + e^u) <= 2 norm u`` and the loose bound for ``u``.
    """
    half = norm * _not_negative(times)
    return np.log(4 * half * np.log(half + np.exp(u0 / 2)) + np.exp(u0))


def curvature(u: ArrayLike, b: ArrayLike = 0.0) -> np.ndarray:
    """Return ``1 - 3 sigmoid(u) + u / (b^2 + u^2)``, whose sign is that of the curve's second derivative.

    ``b = |c| / (2 norm)``; the neuron learns, that is ``u' = 2 norm sqrt(b^2 + u^2) sigmoid(-u)``.
    """
    u = np.asarray(u, dtype=float)
    return 1 - 3 * expit(u) + u / (np.asarray(b) ** 2 + u**2)


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

    One if b is zero, two below :data:`LARGEST_SIGMOIDAL_INVARIANT`, none from there on.
    """
    if not b >= 0:
        raise ValueError(f"b is {b}, allowed: zero and positive numbers")
    if b == 0:
        return (CURVE_INFLECTION,)
    if b >= LARGEST_SIGMOIDAL_INVARIANT:
        return ()
    turn = float(minimize_scalar(lambda u: -curvature(u, b), bounds=(0.0, 1.0), options={"xatol": 1e-10}).x)
    return tuple(
        float(brentq(curvature, *ends, args=(b,), xtol=1e-15)) for ends in ((0.0, turn), (turn, 2.0))
    )


def time_ratio(
    confidence: ArrayLike,
    u01: float,
    u02: float,
    norms: tuple[float, float],
    frequencies: tuple[float, float],
) -> np.ndarray:
    """Return ``t_2 / t_1`` for the times at which two balanced classes, started at logits ``u01, u02 > 0`` of
    their own labels, reach a confidence in (1/2, 1) [combes2018, Corollary 3.3]."""
    confidence = np.asarray(confidence, dtype=float)
    target = np.log(confidence / (1 - confidence))
    if not (target > max(u01, u02)).all():
        raise ValueError(f"confidence holds {np.min(confidence)}, already reached at the start")
    first, second = (
        (log_integral(target) - log_integral(u0)) / (2 * norm * frequency)
        for u0, norm, frequency in zip((u01, u02), norms, frequencies, strict=True)
    )
    return second / first
