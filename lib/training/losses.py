"""Losses of one example: value, slope in the network's output, and what a flow has to know of them.

The values and slopes are the bare formulas, in float64, for arrays, numbers and lists that broadcast against
each other; they stand in inner loops and check nothing: the trainers and integrators do, once.  Their
relative error is below 1e-15, for outputs up to 1e307 in size and wherever they are normal numbers.  What
exceeds the largest float is infinite, without a warning: the exponential loss beyond ``-y f = 709.78``, the
square loss beyond ``|f - y| = 1.9e154``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit

from lib.checks import array, signs

_Function = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Tail:
    """Logarithms of a loss ``l(q)`` that decays like ``exp(-q)``, which do not underflow as the loss does.

    ``log_value`` is ``log l`` and ``log_slope`` is ``log |dl/dq|``, but for ``log_factor``, which is added to
    both; ``slope_rate`` is the derivative of ``log_slope``.  They take margins ``q = y f`` of any size.
    """

    log_value: _Function
    log_slope: _Function
    slope_rate: _Function
    log_factor: float = 0.0


@dataclass(frozen=True)
class Loss:
    """A loss ``l(f, y)`` of an output ``f`` and a label ``y``, vectorised.

    ``value`` and ``slope`` (the derivative in ``f``) take outputs and labels that broadcast against each
    other and return an array of their common shape.  ``classifies`` says that labels are +1 and -1, otherwise
    they are real numbers.  ``kink`` is the margin ``y f`` at which the slope of a loss that is linear on
    either side gets less steep, and ``tail`` what a flow needs to go on to late times.
    """

    name: str
    value: Callable[[ArrayLike, ArrayLike], np.ndarray]
    slope: Callable[[ArrayLike, ArrayLike], np.ndarray]
    classifies: bool = True
    kink: float | None = None
    tail: Tail | None = None


def examples(inputs: ArrayLike, labels: ArrayLike, d: int, loss: Loss) -> tuple[np.ndarray, np.ndarray]:
    """Return inputs (n, d) and labels (n,) as floats; ``ValueError`` unless the loss takes them."""
    if not isinstance(loss, Loss):
        raise ValueError(f"loss is {loss!r}, allowed: a Loss such as lib.training.losses.LOGISTIC")
    x = array("inputs", inputs, ("n", d))
    return x, (signs if loss.classifies else array)("labels", labels, (len(x),))


def of_margin(
    name: str, value: _Function, slope: _Function, *, kink: float | None = None, tail: Tail | None = None
) -> Loss:
    """Return the loss ``value(-y f)``, where ``slope`` is the derivative of ``value``."""

    def at(f: ArrayLike, y: ArrayLike) -> np.ndarray:
        return value(np.multiply(np.negative(y, dtype=float), f, dtype=float))

    def derivative(f: ArrayLike, y: ArrayLike) -> np.ndarray:
        minus = np.negative(y, dtype=float)
        return minus * slope(np.multiply(minus, f, dtype=float))

    return Loss(name, at, derivative, kink=kink, tail=tail)


def _exp(s: np.ndarray) -> np.ndarray:
    with np.errstate(over="ignore"):
        return np.exp(s)


def _square(f: ArrayLike, y: ArrayLike) -> np.ndarray:
    with np.errstate(over="ignore"):
        return 0.5 * np.subtract(f, y, dtype=float) ** 2


def log_logistic(margins: np.ndarray) -> np.ndarray:
    """Return ``log(log(1 + exp(-q)))`` for margins of any size."""
    # Above 36 the loss is exp(-q) to rounding, and its logarithm needs no exponential.
    return np.where(margins > 36, -margins, np.log(np.logaddexp(0, -np.minimum(margins, 36.0))))


_LOGISTIC_TAIL = Tail(log_logistic, lambda q: -np.logaddexp(0, q), lambda q: -expit(q))

LOGISTIC = of_margin("logistic", lambda s: np.logaddexp(0, s), expit, tail=_LOGISTIC_TAIL)
"""Cross-entropy of a sigmoid, ``log(1 + exp(-y f))``; its slope at ``f = 0`` is ``-y/2``."""

TWICE_LOGISTIC = of_margin(
    "twice logistic", lambda s: 2 * np.logaddexp(0, s), lambda s: 2 * expit(s),
    tail=replace(_LOGISTIC_TAIL, log_factor=float(np.log(2))),
)  # fmt: skip
"""``2 log(1 + exp(-y f))``, normalised so that its slope at ``f = 0`` is ``-y`` [min2024, App. B]."""

EXPONENTIAL = of_margin(
    "exponential", _exp, _exp, tail=Tail(np.negative, np.negative, lambda q: -np.ones_like(q))
)
"""``exp(-y f)``; its slope at ``f = 0`` is ``-y``."""

HINGE = of_margin("hinge", lambda s: np.maximum(0, 1 + s), lambda s: s > -1, kink=1.0)
"""``max(0, 1 - y f)``; at the kink its slope is 0."""

SQUARE = Loss("square", _square, lambda f, y: np.subtract(f, y, dtype=float), classifies=False)
"""``(f - y)^2 / 2``; its slope at ``f = 0`` is ``-y``."""
