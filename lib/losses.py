"""Losses of one example: value, and slope in the network's output."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import expit


@dataclass(frozen=True)
class Loss:
    """A loss ``l(f, y)`` of an output and a label, vectorised.

    ``value`` and ``slope`` (the derivative in ``f``) take arrays of equal shape.  ``classifies`` says that
    labels are +1 and -1, otherwise they are real numbers.
    """

    name: str
    value: Callable[[np.ndarray, np.ndarray], np.ndarray]
    slope: Callable[[np.ndarray, np.ndarray], np.ndarray]
    classifies: bool = True


LOGISTIC = Loss("logistic", lambda f, y: np.logaddexp(0, -y * f), lambda f, y: -y * expit(-y * f))
"""Cross-entropy of a sigmoid, ``log(1 + exp(-y f))``; its slope at ``f = 0`` is ``-y/2``."""

TWICE_LOGISTIC = Loss(
    "twice logistic", lambda f, y: 2 * np.logaddexp(0, -y * f), lambda f, y: -2 * y * expit(-y * f)
)
"""``2 log(1 + exp(-y f))``, normalised so that its slope at ``f = 0`` is ``-y`` [min2024, App. B]."""

EXPONENTIAL = Loss("exponential", lambda f, y: np.exp(-y * f), lambda f, y: -y * np.exp(-y * f))
"""``exp(-y f)``; its slope at ``f = 0`` is ``-y``."""

HINGE = Loss("hinge", lambda f, y: np.maximum(0, 1 - y * f), lambda f, y: np.where(y * f < 1, -y, 0.0))
"""``max(0, 1 - y f)``; at the kink its slope is 0."""

SQUARE = Loss("square", lambda f, y: 0.5 * (f - y) ** 2, lambda f, y: f - y, classifies=False)
"""``(f - y)^2 / 2``; its slope at ``f = 0`` is ``-y``."""
