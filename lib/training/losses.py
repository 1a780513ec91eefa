"""Losses of one example: value, and slope in the network's output.

The values and slopes are the bare formulas, in float64, for arrays, numbers and lists that broadcast against
each other; they stand in inner loops and check nothing: the trainers and integrators do, once.  Their
relative error is below 1e-15, for outputs up to 1e307 in size and wherever they are normal numbers.  What
exceeds the largest float is infinite, without a warning: the exponential loss beyond ``-y f = 709.78``, the
square loss beyond ``|f - y| = 1.9e154``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit


@dataclass(frozen=True)
class Loss:
    """A loss ``l(f, y)`` of an output ``f`` and a label ``y``, vectorised.

    ``value`` and ``slope`` (the derivative in ``f``) take outputs and labels that broadcast against each
    other and return an array of their common shape.  ``classifies`` says that labels are +1 and -1, otherwise
    they are real numbers.
    """

    name: str
    value: Callable[[ArrayLike, ArrayLike], np.ndarray]
    slope: Callable[[ArrayLike, ArrayLike], np.ndarray]
    classifies: bool = True


def _of_margin(
    name: str, value: Callable[[np.ndarray], np.ndarray], slope: Callable[[np.ndarray], np.ndarray]
) -> Loss:
    """Return the loss ``value(-y f)``, where ``slope`` is the derivative of ``value``."""

    def at(f: ArrayLike, y: ArrayLike) -> np.ndarray:
        return value(np.multiply(np.negative(y, dtype=float), f, dtype=float))

    def derivative(f: ArrayLike, y: ArrayLike) -> np.ndarray:
        minus = np.negative(y, dtype=float)
        return minus * slope(np.multiply(minus, f, dtype=float))

    return Loss(name, at, derivative)


def _exp(s: np.ndarray) -> np.ndarray:
    with np.errstate(over="ignore"):
        return np.exp(s)


def _square(f: ArrayLike, y: ArrayLike) -> np.ndarray:
    with np.errstate(over="ignore"):
        return 0.5 * np.subtract(f, y, dtype=float) ** 2


LOGISTIC = _of_margin("logistic", lambda s: np.logaddexp(0, s), expit)
"""Cross-entropy of a sigmoid, ``log(1 + exp(-y f))``; its slope at ``f = 0`` is ``-y/2``."""

TWICE_LOGISTIC = _of_margin("twice logistic", lambda s: 2 * np.logaddexp(0, s), lambda s: 2 * expit(s))
"""``2 log(1 + exp(-y f))``, normalised so that its slope at ``f = 0`` is ``-y`` [min2024, App. B]."""

EXPONENTIAL = _of_margin("exponential", _exp, _exp)
"""``exp(-y f)``; its slope at ``f = 0`` is ``-y``."""

HINGE = _of_margin("hinge", lambda s: np.maximum(0, 1 + s), lambda s: s > -1)
"""``max(0, 1 - y f)``; at the kink its slope is 0."""

SQUARE = Loss("square", _square, lambda f, y: np.subtract(f, y, dtype=float), classifies=False)
"""``(f - y)^2 / 2``; its slope at ``f = 0`` is ``-y``."""
