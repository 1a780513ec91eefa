"""The function ``F(u) = log|u| + Ei(u)`` and its inverses on both half-lines.

Cross-entropy training of one neuron makes ``F(logit)`` grow linearly in time [combes2018, Eq. 2], so that
the learning curve is an inverse of ``F``.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import exp1, expi, expit

from lib.checks import numbers

_SERIES = [1 / (k * np.prod(np.arange(1.0, k + 1))) for k in range(26, 0, -1)]  # below 1e-21 for |u| < 1.7
_SMALL = 4.0  # F(u) <= 4 means u < 1.61, where the series is used
_FAR = 40.0  # from here on 40 terms of the asymptotic series reach rounding


def _entire_part(u: np.ndarray) -> np.ndarray:
    """Return ``Ei(u) - log|u| - gamma = sum_k u^k / (k k!)`` for ``|u| < 1.7``."""
    return u * np.polyval(_SERIES, u)


def _direct(u: np.ndarray) -> np.ndarray:
    with np.errstate(over="ignore"):
        return np.log(np.abs(u)) + expi(u)


def log_integral(u: ArrayLike) -> np.ndarray:
    """Return ``F(u) = log|u| + Ei(u)``, entry by entry, for arrays of any shape.

    Increasing from minus infinity on ``u > 0``; on ``u < 0`` increasing in ``|u|``.  Overflows to infinity
    from ``u = 709.8``.  Error 2e-15 times ``max(1, |F|)``.  Raises ``ValueError`` for zeros and values
    that are not finite.

    Example:

    >>> log_integral([-1.0, 1e-9, 1.0, 10.0]).round(6).tolist()
    [-0.219384, -40.869316, 1.895118, 2494.531561]
    """
    u = numbers("u", u)
    if (u == 0).any():
        raise ValueError("u holds 0, allowed: positive or negative numbers, as F is not defined at 0")
    return np.piecewise(
        u,
        [np.abs(u) < 1, u >= _FAR],  # SciPy's Ei errs by 3e-14 just above 40
        [lambda u: 2 * np.log(np.abs(u)) + np.euler_gamma + _entire_part(u), _far_f, _direct],
    )


def log_of_log_integral(u: ArrayLike) -> np.ndarray:
    """Return ``log F(u)`` for ``u >= 1``, also where ``F(u)`` itself overflows; relative error 3e-15.

    Raises ``ValueError`` for smaller entries and entries that are not finite.

    Example:

    >>> log_of_log_integral([1.0, 1e6]).round(6).tolist()
    [0.639281, 999986.18449]
    """
    return _log_f(numbers("u", u, 1.0, ends="[)"))


def _log_f(u: np.ndarray) -> np.ndarray:
    return np.piecewise(u, [u < _FAR], [lambda u: np.log(_direct(u)), _far_log_f])


def _far_log_f(u: np.ndarray) -> np.ndarray:
    return u - np.log(u) + np.log(_tail(u))


def _far_f(u: np.ndarray) -> np.ndarray:
    with np.errstate(over="ignore"):
        return np.exp(u) / u * _tail(u)


def _tail(u: np.ndarray) -> np.ndarray:
    tail = np.ones_like(u)
    for k in range(int(_FAR), 0, -1):  # sum_k k! / u^k by Horner's rule
        tail = 1 + tail * k / u
    return tail


def inverse_log_integral(value: ArrayLike) -> np.ndarray:
    """Return the ``u > 0`` with ``log(u) + Ei(u) = value``, for arrays of any shape.

    Relative accuracy 1e-15 times the condition number ``|value| / (1 + e^u)``, at least 1e-15.  For values
    below -1400 the result underflows to zero.  Raises ``ValueError`` for values that are not finite.

    Example:

    >>> inverse_log_integral([-40.869316, 1.895118, 1e300]).round(6).tolist()
    [0.0, 1.0, 697.321337]
    """
    value = numbers("value", value)
    return np.piecewise(
        value, [value <= _SMALL], [_inverse_small, lambda value: _inverse_large(np.log(value))]
    )


def _inverse_small(value: np.ndarray) -> np.ndarray:
    # Unknown log u.  With v = exp((value - gamma) / 2), u tends to v, and the start is right to two per cent.
    # Each step of Halley's method triples the number of digits; its second derivative is free.
    logarithm = (value - np.euler_gamma) / 2
    v = np.exp(logarithm)
    logarithm -= np.log1p(v / 2 - v**2 / 100)
    for _ in range(2):
        u = np.exp(logarithm)
        newton = (2 * logarithm + np.euler_gamma + _entire_part(u) - value) / (1 + np.exp(u))
        logarithm -= newton / (1 - newton * u * expit(u) / 2)
    return np.exp(logarithm)


def inverse_from_logarithm(logarithm: ArrayLike) -> np.ndarray:
    """Return the ``u`` with ``log F(u) = logarithm``, for ``logarithm >= log 4``; nothing overflows.

    Relative accuracy 1e-15.  Raises ``ValueError`` for smaller or non-finite entries.

    Example:

    >>> inverse_from_logarithm(log_of_log_integral([2.0, 1e6])).round(9).tolist()
    [2.0, 1000000.0]
    """
    return _inverse_large(numbers("logarithm", logarithm, np.log(_SMALL), ends="[)"))


def _inverse_large(logarithm: np.ndarray) -> np.ndarray:
    # log F(u) = u - log u + o(1) is nearly linear in u; the start, fitted, errs by 0.04 at most.
    u = logarithm + np.log(logarithm + 2.478 * np.log(logarithm) - 4.954 + 5.454 / logarithm)
    for _ in range(2):  # Halley's method
        log_f = _log_f(u)
        slope = np.exp(np.logaddexp(0, u) - log_f) / u
        newton = (log_f - logarithm) / slope
        u = u - newton / (1 - newton * (expit(u) - 1 / u - slope) / 2)
    return u


def inverse_log_integral_negative(value: ArrayLike) -> np.ndarray:
    """Return the ``u < 0`` with ``log|u| + Ei(u) = value``, for arrays of any shape.

    Relative accuracy 1e-15 times ``max(1, |value|)``.  For values below -1400 the result underflows to zero.
    Raises ``ValueError`` for values that are not finite or above 700 (where ``|u|`` overflows).

    Example:

    >>> inverse_log_integral_negative([-0.219384, 3.0]).round(6).tolist()
    [-1.0, -20.085537]
    """
    value = numbers("value", value, high=700.0, ends="(]")
    # F(-w) lies below both 2 log w + gamma and log w and is concave in log w: from the start, which lies left
    # of the root, Newton's steps never overshoot.
    logarithm = np.maximum((value - np.euler_gamma) / 2, value)
    for _ in range(6):
        below = np.piecewise(logarithm, [logarithm < 0], [_negative_series, lambda s: s - exp1(np.exp(s))])
        logarithm = logarithm - (below - value) / (1 + np.exp(-np.exp(logarithm)))
    return -np.exp(logarithm)


def _negative_series(logarithm: np.ndarray) -> np.ndarray:
    return 2 * logarithm + np.euler_gamma + _entire_part(-np.exp(logarithm))
