"""The function ``F(u) = log|u| + Ei(u)`` and its inverses on both half-lines.

Cross-entropy training of one neuron makes ``F(logit)`` grow linearly in time [combes2018, Eq. 2], so that
the learning curve is an inverse of ``F``.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import exp1, expi

_SERIES = [1 / (k * np.prod(np.arange(1.0, k + 1))) for k in range(26, 0, -1)]  # below 1e-21 for |u| < 1.7
_SMALL = 4.0  # F(u) <= 4 means u < 1.61, where the series is used
_FAR = 40.0  # from here on 40 terms of the asymptotic series reach rounding


def _entire_part(u: np.ndarray) -> np.ndarray:
    """Return ``Ei(u) - log|u| - gamma = sum_k u^k / (k k!)`` for ``|u| < 1.7``."""
    return u * np.polyval(_SERIES, u)


def log_integral(u: ArrayLike) -> np.ndarray:
    """Return ``F(u) = log|u| + Ei(u)``, entry by entry, for arrays of any shape.

    Increasing from minus infinity on ``u > 0``; on ``u < 0`` increasing in ``|u|``.  Overflows to infinity
    from ``u = 710``.  Raises ``ValueError`` for zeros and values that are not finite.
    """
    u = np.asarray(u, dtype=float)
    if not np.isfinite(u).all() or (u == 0).any():
        raise ValueError("u holds zeros or values that are not finite; F is defined off zero")
    near = np.abs(u) < 1
    series = 2 * np.log(np.abs(u)) + np.euler_gamma + _entire_part(np.where(near, u, 0.5))
    with np.errstate(over="ignore"):
        direct = np.log(np.abs(u)) + expi(np.where(near, 1.0, u))
    return np.where(near, series, direct)


def log_of_log_integral(u: ArrayLike) -> np.ndarray:
    """Return ``log F(u)`` for ``u >= 1``, also where ``F(u)`` itself overflows."""
    u = np.asarray(u, dtype=float)
    if not (u >= 1).all():
        raise ValueError(f"u holds {np.min(u)}, allowed: numbers from 1, where F is positive")
    near = np.where(u < _FAR, u, 1.0)
    far = np.maximum(u, _FAR)
    tail = np.ones_like(far)
    for k in range(int(_FAR), 0, -1):  # sum_k k! / u^k by Horner's rule
        tail = 1 + tail * k / far
    return np.where(u < _FAR, np.log(np.log(near) + expi(near)), far - np.log(far) + np.log(tail))


def inverse_log_integral(value: ArrayLike) -> np.ndarray:
    """Return the ``u > 0`` with ``log(u) + Ei(u) = value``, for arrays of any shape.

    Relative accuracy 1e-15 times the condition number ``|value| / (1 + e^u)``, at least 1e-15.  Raises
    ``ValueError`` for values that are not finite.
    """
    value = np.asarray(value, dtype=float)
    if not np.isfinite(value).all():
        raise ValueError("value holds entries that are not finite; allowed: real numbers")
    small = value <= _SMALL
    large = inverse_from_logarithm(np.log(np.where(small, _SMALL, value)))
    return np.where(small, _inverse_small(np.where(small, value, 0.0)), large)


def _inverse_small(value: np.ndarray) -> np.ndarray:
    # Unknown log u: the residual is convex there and the start lies right of the root, so that each step of
    # Halley's method, whose second derivative is free, moves towards the root.  Five steps reach rounding.
    logarithm = np.minimum((value - np.euler_gamma) / 2, np.log(1.7))
    for _ in range(5):
        u = np.exp(logarithm)
        residual = 2 * logarithm + np.euler_gamma + _entire_part(u) - value
        slope, bend = 1 + np.exp(u), u * np.exp(u)
        logarithm = logarithm - 2 * residual * slope / (2 * slope**2 - residual * bend)
    return np.exp(logarithm)


def inverse_from_logarithm(logarithm: ArrayLike) -> np.ndarray:
    """Return the ``u`` with ``log F(u) = logarithm``, for ``logarithm >= log 4``; nothing overflows.

    Raises ``ValueError`` for smaller or non-finite entries.
    """
    logarithm = np.asarray(logarithm, dtype=float)
    if not (np.isfinite(logarithm) & (logarithm >= np.log(_SMALL))).all():
        raise ValueError("logarithm holds entries below log 4 or not finite; allowed: log 4 and above")
    # log F(u) = u - log u + o(1) is nearly linear in u, and Newton's method needs six steps everywhere.
    u = logarithm + np.log(logarithm + np.log1p(logarithm))
    for _ in range(6):
        u = np.maximum(u, 1.2)
        log_f = log_of_log_integral(u)
        slope = np.exp(np.logaddexp(0, u) - log_f) / u
        u = u - (log_f - logarithm) / slope
    return u


def inverse_log_integral_negative(value: ArrayLike) -> np.ndarray:
    """Return the ``u < 0`` with ``log|u| + Ei(u) = value``, for arrays of any shape.

    Relative accuracy 1e-15 times ``max(1, |value|)``.  For values below -1400 the result underflows to zero.
    Raises ``ValueError`` for values that are not finite or above 700 (where ``|u|`` overflows).
    """
    value = np.asarray(value, dtype=float)
    if not (np.isfinite(value) & (value <= 700)).all():
        raise ValueError("value holds entries above 700 or not finite; allowed: real numbers up to 700")
    # F(-w) lies below both 2 log w + gamma and log w and is concave in log w: from the start, which lies left
    # of the root, Newton's steps never overshoot.
    logarithm = np.maximum((value - np.euler_gamma) / 2, value)
    for _ in range(6):
        w = np.exp(logarithm)
        near = w < 1
        series = 2 * logarithm + np.euler_gamma + _entire_part(-np.where(near, w, 0.5))
        residual = np.where(near, series, logarithm - exp1(np.where(near, 1.0, w))) - value
        logarithm = logarithm - residual / (1 + np.exp(-w))
    return -np.exp(logarithm)
