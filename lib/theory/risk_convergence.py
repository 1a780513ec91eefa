"""How long stochastic gradient descent needs for a small logistic loss on linearly separable data."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class RiskBound:
    """What Theorem 4.1 promises: at most ``epochs`` with a large loss, a small mean loss within ``steps``."""

    epochs: float
    steps: float


def risk_bound(
    epsilon: float,
    *,
    n: int,
    k: int,
    slope: float,
    v: float,
    step: float,
    radius: float,
    teacher: float,
    start: float,
) -> RiskBound:
    """Return the bound of Theorem 4.1 on stochastic gradient descent without replacement.

    ``epsilon`` is the mean loss to reach, ``radius`` the largest input norm, ``teacher`` the norm of a
    vector with ``y_i <w*, x_i> >= 1``, ``start`` the largest norm of an initial neuron.  [sarussi2021, Eq.
    20 and 27]
    """
    small = epsilon / (1 + 2 * k * step * v**2 * radius**2 * n)
    growth = n * (2 * step + 2 * k * step**2 * v**2 * radius**2)
    return _risk_bound(-np.expm1(-small), growth, n, k, slope, v, step, teacher, start)


def improved_risk_bound(
    epsilon: float,
    *,
    n: int,
    k: int,
    slope: float,
    v: float,
    step: float,
    radius: float,
    teacher: float,
    start: float,
) -> RiskBound:
    """Return a smaller bound: the growth of the norm is charged to the losses met instead of to the steps.

    Arguments as in :func:`risk_bound`.  A step with slope p = ``|l'|`` adds at most ``2 step p log(1/p)`` and
    ``2 k step^2 v^2 radius^2 p`` to the squared norm; by concavity, N steps whose slopes sum to S add at most
    ``S (2 step log(N/S) + 2 k step^2 v^2 radius^2)``.
    """
    large = -np.expm1(-epsilon / (1 + 2 * k * step * v**2 * radius**2 * n))
    growth = large * (2 * step * np.log(n / large) + 2 * k * step**2 * v**2 * radius**2)
    return _risk_bound(large, growth, n, k, slope, v, step, teacher, start)


def _risk_bound(
    large: float,
    growth: float,
    n: int,
    k: int,
    slope: float,
    v: float,
    step: float,
    teacher: float,
    start: float,
) -> RiskBound:
    """Solve ``a T = b sqrt(T) + c`` for T epochs, each with a slope ``large`` and norm growth ``growth``."""
    a = 2 * k * step * slope * v * large
    b = np.sqrt(2 * k * growth) * teacher
    c = 4 * k * start * teacher
    epochs = float(((b + np.sqrt(b**2 + 4 * a * c)) / (2 * a)) ** 2)
    return RiskBound(epochs, n * (epochs + 1))
