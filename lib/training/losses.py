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

    Example: a loss of one's own serves wherever the library's do.

    >>> absolute = Loss("absolute", lambda f, y: abs(f - y), lambda f, y: np.sign(f - y), classifies=False)
    >>> absolute.slope(np.array([0.5, 2.5]), 1.0)
    array([-1.,  1.])
    >>> LOGISTIC.value([0, 1e4], -1)
    array([6.93147181e-01, 1.00000000e+04])
    """

    name: str
    value: Callable[[ArrayLike, ArrayLike], np.ndarray]
    slope: Callable[[ArrayLike, ArrayLike], np.ndarray]
    classifies: bool = True


def _minus(y: ArrayLike) -> np.ndarray:
    return np.negative(y, dtype=float)


def _below(f: ArrayLike, y: ArrayLike) -> np.ndarray:
    """Return the negative margin ``-y f``."""
    return np.multiply(_minus(y), f, dtype=float)


def _softplus(f: ArrayLike, y: ArrayLike) -> np.ndarray:
    return np.logaddexp(0, _below(f, y))


def _sigmoid(f: ArrayLike, y: ArrayLike) -> np.ndarray:
    return _minus(y) * expit(_below(f, y))


def _twice_softplus(f: ArrayLike, y: ArrayLike) -> np.ndarray:
    return 2 * _softplus(f, y)


def _twice_sigmoid(f: ArrayLike, y: ArrayLike) -> np.ndarray:
    return 2 * _sigmoid(f, y)


def _exponential(f: ArrayLike, y: ArrayLike) -> np.ndarray:
    with np.errstate(over="ignore"):
        return np.exp(_below(f, y))


def _exponential_slope(f: ArrayLike, y: ArrayLike) -> np.ndarray:
    return _minus(y) * _exponential(f, y)


def _hinge(f: ArrayLike, y: ArrayLike) -> np.ndarray:
    return np.maximum(0, 1 + _below(f, y))


def _hinge_slope(f: ArrayLike, y: ArrayLike) -> np.ndarray:
    return _minus(y) * (_below(f, y) > -1)


def _square(f: ArrayLike, y: ArrayLike) -> np.ndarray:
    with np.errstate(over="ignore"):
        return 0.5 * _square_slope(f, y) ** 2


def _square_slope(f: ArrayLike, y: ArrayLike) -> np.ndarray:
    return np.subtract(f, y, dtype=float)


LOGISTIC = Loss("logistic", _softplus, _sigmoid)
"""Cross-entropy of a sigmoid, ``log(1 + exp(-y f))``; its slope at ``f = 0`` is ``-y/2``."""

TWICE_LOGISTIC = Loss("twice logistic", _twice_softplus, _twice_sigmoid)
"""``2 log(1 + exp(-y f))``, normalised so that its slope at ``f = 0`` is ``-y`` [min2024, App. B]."""

EXPONENTIAL = Loss("exponential", _exponential, _exponential_slope)
"""``exp(-y f)``; its slope at ``f = 0`` is ``-y``."""

HINGE = Loss("hinge", _hinge, _hinge_slope)
"""``max(0, 1 - y f)``; at the kink its slope is 0."""

SQUARE = Loss("square", _square, _square_slope, classifies=False)
"""``(f - y)^2 / 2``; its slope at ``f = 0`` is ``-y``."""
