"""Newton's method for smooth convex problems, and for the dual of a ridge-regularised loss."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from scipy.special import entr, expit, logit

_STEPS = 200


def damped_newton(
    start: np.ndarray,
    newton: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]],
    value: Callable[[np.ndarray], float],
    tolerance: float,
    trials: Callable[[np.ndarray, np.ndarray], Iterable[np.ndarray]] = lambda x, step: (x - step,),
) -> np.ndarray:
    """Minimise a function with one stationary point, from ``start`` (n,).

    ``newton`` returns the gradient at x and the step to be subtracted, ``value`` the function.  Steps are
    halved until one of the ``trials`` for it, by default ``x - step``, descends (Armijo), and the lowest is
    taken.  Stops when the step falls below ``tolerance (1 + max |x|)``.  Raises ``RuntimeError`` when 200
    steps do not do it.

    Example:

    >>> damped_newton(np.ones(1), lambda x: (np.sinh(x), np.tanh(x)), lambda x: np.cosh(x).item(), 1e-9)
    array([0.])
    """
    x = start
    for _ in range(_STEPS):
        gradient, step = newton(x)
        if np.abs(step).max() < tolerance * (1 + np.abs(x).max()):
            return x - step
        here, size = value(x), 1.0
        slack = 1e-14 * (1 + abs(here))
        while True:
            lowest = min(trials(x, size * step), key=value)
            if value(lowest) <= here - 0.1 * size * gradient @ step + slack:
                break
            size /= 2
            if size < 1e-12:
                raise RuntimeError(
                    "the line search of Newton's method found no descent; a larger ridge makes it easier"
                )
        x = lowest
    raise RuntimeError(f"Newton's method did not converge in {_STEPS} steps; a larger ridge makes it easier")


@dataclass(frozen=True)
class Family:
    """A loss in the dual: p as a function of its ``link`` w, and the convex function of p with that slope.

    ``mean`` maps w to p, ``slope`` w to ``dp/dw``, ``value`` p to the sum of the convex function.

    Example:

    >>> LOGISTIC.mean(LOGISTIC.link(0.3)).round(12)
    np.float64(0.3)
    """

    mean: Callable[[np.ndarray], np.ndarray]
    link: Callable[[np.ndarray], np.ndarray]
    slope: Callable[[np.ndarray], np.ndarray]
    value: Callable[[np.ndarray], float]


# Minus the entropy of coins, and p log p - p.
LOGISTIC = Family(
    expit, logit, lambda w: expit(w) * expit(-w), lambda p: -float((entr(p) + entr(1 - p)).sum())
)
EXPONENTIAL = Family(np.exp, np.log, np.exp, lambda p: -float((entr(p) + p).sum()))


def dual_newton(
    root: np.ndarray, offset: np.ndarray, start: np.ndarray, family: Family, tolerance: float
) -> np.ndarray:
    """Return ``link(p)``, shape (n,), where ``link(p) + A p + offset = 0``.

    ``A = R R^T`` with ``root`` R (n, r).  Newton's method in the link of p, so that entries of p may span any
    number of decades; each step is tried in p as well, which follows linear relations between entries.  A is
    never formed: where its entries are large and p is not small, ``A p`` would be lost in the rounding of p.
    A large A is reached in stages, each from the solution of the one before.  ``start`` (n,) is a first p.
    Raises ``RuntimeError`` when 200 steps of a stage are not enough.

    Example:

    >>> p = np.exp(dual_newton(np.array([[2.0]]), np.zeros(1), np.array([0.5]), EXPONENTIAL, 1e-12))
    >>> (p * np.exp(4 * p)).round(12)
    array([1.])
    """
    largest = max(float((root**2).sum(axis=1).max()) / 1e3, 1.0)
    w = family.link(start)
    for share in np.geomspace(1 / largest, 1, 1 + int(np.ceil(np.log10(largest) / 2))):
        w = _dual_stage(root * np.sqrt(share), offset, w, family, tolerance)
    return w


def _dual_stage(
    root: np.ndarray, offset: np.ndarray, start: np.ndarray, family: Family, tolerance: float
) -> np.ndarray:
    def newton(w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        weight = family.slope(w)
        residual = w + root @ (root.T @ family.mean(w)) + offset
        inner = np.eye(root.shape[1]) + (root.T * weight) @ root
        return weight * residual, residual - root @ np.linalg.solve(inner, root.T @ (weight * residual))

    def value(w: np.ndarray) -> float:
        p = family.mean(w)
        along = root.T @ p
        found = family.value(p) + float(p @ offset + along @ along / 2)
        return found if np.isfinite(found) else np.inf

    def trials(w: np.ndarray, step: np.ndarray) -> list[np.ndarray]:
        with np.errstate(divide="ignore", invalid="ignore"):
            other = family.link(family.mean(w) - family.slope(w) * step)
        # Small steps in p would bring the rounding of p next to 1 into w.
        useful = np.abs(step).max() > 1e-3 and np.isfinite(other).all()
        return [w - step, other] if useful else [w - step]

    # A trial may overflow, and is refused for its infinite value.
    with np.errstate(over="ignore", invalid="ignore"):
        return damped_newton(start, newton, value, tolerance, trials)
