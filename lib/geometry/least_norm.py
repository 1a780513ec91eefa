"""The vector of least norm that satisfies linear inequalities, and the numbers that prove it.

Every solution carries its multipliers and residuals; every refusal carries a combination of the constraints
that contradicts itself (Farkas' lemma).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import nnls

from lib.checks import array, refuse_overflow


class Infeasible(ValueError):
    """Raised for constraints that no vector satisfies.

    ``weights``, one a constraint, are zero or more and sum to 1: the rows, weighted with them, add up to
    zero, their bounds to a positive number.

    Example:

    >>> try:
    ...     least_norm([[1.0, 0.0], [-1.0, 0.0]], [1.0, 1.0])
    ... except Infeasible as refusal:
    ...     refusal.weights
    array([0.5, 0.5])
    """

    def __init__(self, message: str, weights: np.ndarray) -> None:
        super().__init__(message)
        self.weights = weights


class SolverFailure(RuntimeError):
    """Raised when a solver neither solves a program nor proves that it has no solution; says what may help.

    Example:

    >>> issubclass(SolverFailure, RuntimeError)
    True
    """


@dataclass(frozen=True)
class ProgramSolution:
    """A candidate for ``min |x|^2 / 2`` subject to ``rows @ x >= bounds``, and how far it is from optimal.

    ``x`` (p,) is the candidate, ``duals`` (n,) has one multiplier a constraint.  ``primal_residual`` is the
    largest violation of a constraint; ``dual_residual`` the largest violation of stationarity (``x = rows.T @
    duals``), sign (``duals >= 0``) and complementary slackness; ``gap`` the value ``|x|^2 / 2`` minus the
    lower bound ``bounds @ duals - |rows.T @ duals|^2 / 2`` that the multipliers prove.  All three are zero
    for an exact solution.

    Example:

    >>> solution = least_norm([[1.0, 1.0]], [2.0])
    >>> solution.x.round(12), solution.duals.round(12), abs(solution.gap) < 1e-12
    (array([1., 1.]), array([1.]), True)
    """

    x: np.ndarray
    duals: np.ndarray
    primal_residual: float
    dual_residual: float
    gap: float

    @property
    def norm(self) -> float:
        """The norm of ``x``; for a max-margin program the margin is its inverse."""
        return float(np.linalg.norm(self.x))


@refuse_overflow
def certify(rows: ArrayLike, bounds: ArrayLike, x: ArrayLike, duals: ArrayLike) -> ProgramSolution:
    """Measure how far ``x`` and ``duals`` are from solving the program of least norm.

    The program is ``min |x|^2 / 2`` subject to ``rows @ x >= bounds``, with ``rows`` (n, p), ``bounds`` (n,),
    ``x`` (p,), ``duals`` (n,).  Raises ``ValueError`` for other shapes and values that are not finite.

    Example:

    >>> certify([[1.0, 1.0]], [2.0], x=[1.0, 0.5], duals=[1.0]).primal_residual
    0.5
    """
    rows = array("rows", rows, ("n", "p"))
    bounds = array("bounds", bounds, (len(rows),))
    x, duals = array("x", x, (rows.shape[1],)), array("duals", duals, (len(rows),))
    slack, combined = rows @ x - bounds, rows.T @ duals
    primal = max(0.0, float(-slack.min()))
    dual = max(
        float(np.abs(x - combined).max()), float(np.abs(duals * slack).max()), max(0.0, float(-duals.min()))
    )
    # |x|^2/2 - bounds.duals + |combined|^2/2, written without the cancellation of its large terms.
    gap = float(np.sum((x - combined) ** 2) / 2 + duals @ slack)
    return ProgramSolution(x, duals, primal, dual, gap)


@refuse_overflow
def least_norm(rows: ArrayLike, bounds: ArrayLike, *, name: str = "the program") -> ProgramSolution:
    """Minimise ``|x|^2 / 2`` subject to ``rows @ x >= bounds``.

    ``rows`` is (n, p) without zero rows, ``bounds`` (n,).  Solved as a non-negative least-squares problem by
    an active-set method and then exactly on the active constraints, so that residuals are those of rounding:
    about 1e-16 times the condition of the active rows [Lawson and Hanson, Solving Least Squares Problems,
    chapter 23].

    Raises :class:`lib.geometry.least_norm.Infeasible`, a ``ValueError``, with the ``name`` of the program and the
    combination of constraints that contradicts itself; :class:`lib.geometry.least_norm.SolverFailure` when rounding
    hides whether there is a solution (its norm would be above some 1e7, in units of bounds over rows).

    Example:

    >>> solution = least_norm([[1.0, 0.0], [1.0, 1.0], [3.0, 1.0]], [1.0, 3.0, 0.0])
    >>> solution.x.round(12), solution.duals.round(12), abs(solution.gap) < 1e-12
    (array([1.5, 1.5]), array([0. , 1.5, 0. ]), True)
    """
    rows = array("rows", rows, ("n", "p"))
    bounds = array("bounds", bounds, (len(rows),))
    # The longest entry first: the square of a subnormal or huge row would under- or overflow.
    longest = np.abs(rows).max(axis=1, keepdims=True)
    if not longest.all():
        raise ValueError(f"rows holds a zero row, at index {int(np.argmin(longest))}")
    lengths = np.linalg.norm(rows / longest, axis=1) * longest[:, 0]
    unit, target = rows / lengths[:, None], bounds / lengths
    size = max(target.max(), 0.0) or 1.0
    # The distance of (0, 1) from the cone of the columns (row, bound) is 1 / sqrt(1 + |x|^2) for the
    # solution x, and zero if there is none.
    stacked = np.vstack([unit.T, target / size])
    weights, distance = nonnegative_least_squares(stacked, np.append(np.zeros(unit.shape[1]), 1.0))
    active = np.flatnonzero(weights)
    x, *_ = np.linalg.lstsq(unit[active], target[active] / size, rcond=None)
    violation = float((target / size - unit @ x).max())
    if violation > 1e-7 and distance < 1e-6:
        farkas = weights / lengths
        raise Infeasible(_contradiction(name, farkas / farkas.sum(), rows), farkas / farkas.sum())
    if violation > 1e-7:
        raise SolverFailure(
            f"{name} was not solved: a constraint is violated by {violation:.1e}; rows that are nearly "
            "dependent may be merged, or the data be scaled"
        )
    duals = np.zeros(len(rows))
    multipliers, *_ = np.linalg.lstsq(unit[active].T, x, rcond=None)
    duals[active] = np.maximum(multipliers, 0) * size / lengths[active]
    return certify(rows, bounds, x * size, duals)


def nonnegative_least_squares(matrix: ArrayLike, target: ArrayLike) -> tuple[np.ndarray, float]:
    """Return the ``weights >= 0`` that minimise ``|matrix @ weights - target|``, and that distance.

    ``matrix`` is (p, n), ``target`` (p,), the weights (n,).  Raises ``ValueError`` for other shapes and
    values that are not finite, :class:`lib.geometry.least_norm.SolverFailure` when the active-set method does not
    settle.

    Example:

    >>> nonnegative_least_squares([[1.0, 0.0], [0.0, 1.0]], [2.0, -3.0])
    (array([2., 0.]), 3.0)
    """
    matrix = array("matrix", matrix, ("p", "n"))
    target = array("target", target, (len(matrix),))
    try:
        weights, distance = nnls(matrix, target, maxiter=50 * max(matrix.shape))
    except RuntimeError:
        raise SolverFailure(
            f"the active-set method did not settle on a matrix of shape {matrix.shape}; remove columns that "
            "repeat others, or scale the data"
        ) from None
    return weights, float(distance)


def _contradiction(name: str, weights: np.ndarray, rows: np.ndarray) -> str:
    guilty = np.argsort(-weights)[: np.count_nonzero(weights > 1e-9)]
    shown = ", ".join(f"{weights[i]:.3g} of {i}" for i in guilty[:6]) + ", ..." * (len(guilty) > 6)
    return (
        f"{name} has no feasible point: its rows (label times input, for data that no hyperplane separates) "
        f"add up to a vector of length {np.linalg.norm(weights @ rows):.1e}, their bounds to a positive "
        f"number, with the weights {shown}"
    )
