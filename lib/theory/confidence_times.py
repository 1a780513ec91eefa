"""Times at which one ReLU neuron reaches a confidence, with the hinge loss and with the cross-entropy.

Notation of `lib.theory.hinge`.  For a balanced start, ``h0 = norm |a0|``, times depend on the logit ``u0 =
a0 h0``, the rate ``frequency norm`` and the confidence alone [combes2018, Section 5 and Figure 5, right].
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, logit

from lib.arguments import broadcast, numbers, refuse_overflow
from lib.theory.hinge import time_to_margin
from lib.theory.log_integral import log_integral
from lib.theory.roots import increasing_root

LARGEST_CROSSOVER_START = 0.6590460684074066
"""From this logit on, where ``u = sigmoid(u)``, the cross-entropy is never the faster of the two losses."""


@refuse_overflow
def time_to_confidence(
    confidence: ArrayLike,
    h0: ArrayLike,
    a0: ArrayLike,
    norm: ArrayLike = 1.0,
    frequency: ArrayLike = 1.0,
    label: ArrayLike = 1,
    convention: str = "output",
) -> np.ndarray:
    """Return the first time at which the confidence, in [1/2, 1], is reached; infinite if it never is.

    A hinge network has no probability: by the convention ``"output"`` the margin is the confidence
    [combes2018, Section 5], by ``"affine"`` the confidence is ``(1 + margin) / 2``.  Raises ``ValueError``
    for other conventions, confidences outside [1/2, 1], and as :func:`lib.theory.hinge.weights` does.

    Example:

    >>> time_to_confidence(0.75, 0.1, 0.1).round(6), time_to_confidence(
    ...     0.75, 0.1, 0.1, convention="affine"
    ... ).round(6)
    (np.float64(2.158744), np.float64(1.956012))
    """
    confidence = numbers("confidence", confidence, 0.5, 1.0, "[]")
    if convention not in ("output", "affine"):
        raise ValueError(f"convention is {convention!r}, allowed: 'output' and 'affine'")
    target = confidence if convention == "output" else 2 * confidence - 1
    return time_to_margin(target, h0, a0, norm, frequency, label)


@refuse_overflow
def cross_entropy_time(
    confidence: ArrayLike, u0: ArrayLike, norm: ArrayLike = 1.0, frequency: ArrayLike = 1.0
) -> np.ndarray:
    """Return when a balanced neuron of logit ``u0 > 0`` gives its class this probability, in [1/2, 1).

    It is ``(F(logit) - F(u0)) / (2 rate)``, the cross-entropy's companion of :func:`time_to_confidence`
    [combes2018, Eq. 15].  Raises ``ValueError`` for arguments outside these ranges.

    Example:

    >>> cross_entropy_time([0.5, 0.9, 0.99], 0.01).round(2).tolist()
    [0.0, 7.57, 20.03]
    """
    target = logit(numbers("confidence", confidence, 0.5, 1.0, "[)"))
    u0 = numbers("u0", u0, 0.0, 700.0, "(]")
    rate = numbers("norm", norm, 0.0) * numbers("frequency", frequency, 0.0, 1.0, "(]")
    target, u0, rate = broadcast(confidence=target, u0=u0, norm=rate)
    return (log_integral(np.maximum(target, u0)) - log_integral(u0)) / (2 * rate)


def crossover_confidence(u0: ArrayLike) -> np.ndarray:
    """Return the confidence below which the cross-entropy is faster, if the hinge output is the confidence.

    ``u0`` is the logit of a balanced start, below :data:`LARGEST_CROSSOVER_START`; norm and frequency drop
    out.  The crossover is ``sigmoid(u)`` with ``F(u) - log sigmoid(u) = Ei(u0)``, close to
    ``sigmoid(sqrt(u0 / 2))`` for small ``u0``.  By the affine convention there is none: the hinge loss is
    always faster.  Relative accuracy 1e-14.  Raises ``ValueError`` for other ``u0``.

    Example:

    >>> crossover_confidence([0.0001, 0.01, 0.1, 0.3]).round(3).tolist()
    [0.502, 0.517, 0.555, 0.599]
    """
    u0 = numbers("u0", u0, 0.0, LARGEST_CROSSOVER_START)
    target = log_integral(u0) - np.log(u0)

    def residual(logarithm: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        u = np.exp(logarithm)
        slope = 1 + np.exp(u) - u * expit(-u)
        return log_integral(u) + np.logaddexp(0, -u) - target, slope

    # F(u) - log sigmoid(u) exceeds 2 log u + gamma, and equals Ei(u0) only at a u between u0 and this bound.
    low, high = np.log(u0), np.minimum((target - np.euler_gamma) / 2, np.log(LARGEST_CROSSOVER_START))
    return expit(np.exp(increasing_root(residual, low, np.maximum(low, high), unit=1.0)))
