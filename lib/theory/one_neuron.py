"""The clock of a balanced ReLU neuron with the cross-entropy loss.

A neuron on one input has pre-activation ``h = <w, x>``, output weight ``a`` and logit ``u = a h``; it is
balanced if ``h = |x| a > 0``.  Along the gradient flow ``F(u) = log u + Ei(u)`` then grows at the constant
rate ``2 |x|`` [combes2018, Theorem 3.2].  Arguments broadcast.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expi, expit


def log_integral(u: ArrayLike) -> np.ndarray:
    """Return ``F(u) = log u + Ei(u)`` for u above 0, of any shape; it increases from minus infinity."""
    return np.log(u) + expi(u)


def inverse_log_integral(value: ArrayLike) -> np.ndarray:
    """Return the ``u > 0`` with ``log(u) + Ei(u) = value``, for arrays of any shape, to rounding.

    Halley's method in ``log u``, of which F is a convex function, from above: ``F(u) >= 2 log(u) + gamma``,
    and ``u <= log F + log log F + 1`` for F of 2 or more.
    """
    value = np.asarray(value, dtype=float)
    large = np.log(np.maximum(value, 2.0))
    log_u = np.where(value < 2, (value - np.euler_gamma) / 2, np.log(large + np.log(large) + 1))
    for _ in range(4):  # 3 reach rounding
        u = np.exp(log_u)
        newton = (log_u + expi(u) - value) / (1 + np.exp(u))
        log_u = log_u - newton / (1 - newton * u * expit(u) / 2)
    return np.exp(log_u)
