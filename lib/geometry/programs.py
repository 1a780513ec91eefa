"""Convex programs that name the limits of training, solved exactly and returned with their proofs.

Every solution holds its multipliers, which prove how far it can be from optimal; every refusal holds a
combination of the constraints that contradicts itself (Farkas' lemma).
"""

from __future__ import annotations

import warnings
from contextlib import suppress
from dataclasses import dataclass
from itertools import combinations, product

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import lsq_linear, nnls

from lib.checks import array, filled, number, signs
from lib.geometry.patterns import lengths
from lib.models.two_layer import TwoLayer

MOST_DATA = 8  # 2^n patterns of either sign
_TOLERANCES = {"tol_gap_abs": 1e-10, "tol_gap_rel": 1e-10, "tol_feas": 1e-10}


class Infeasible(ValueError):
    """Raised for constraints that no vector satisfies.

    ``weights``, one a constraint, are zero or more and sum to 1: the rows, weighted with them, add up to
    zero, their bounds to a positive number.
    """

    def __init__(self, message: str, weights: np.ndarray) -> None:
        super().__init__(message)
        self.weights = weights


class SolverFailure(RuntimeError):
    """Raised when a solver neither solves a program nor proves it infeasible; says what may help."""


@dataclass(frozen=True)
class ProgramSolution:
    """The solution of ``min |x|^2 / 2`` subject to ``rows @ x >= bounds``, and the proof that it is one.

    ``rows`` (n, p) and ``bounds`` (n,) are the program, ``x`` (p,) is the solution, ``duals`` (n,) has one
    multiplier a constraint, zero or more: no ``x`` has less than ``bounds @ duals - |rows.T @ duals|^2 / 2``.
    """

    rows: np.ndarray
    bounds: np.ndarray
    x: np.ndarray
    duals: np.ndarray

    @property
    def norm(self) -> float:
        """The norm of ``x``; for a max-margin program the margin is its inverse."""
        return float(np.linalg.norm(self.x))


def least_norm(rows: ArrayLike, bounds: ArrayLike) -> ProgramSolution:
    """Minimise ``|x|^2 / 2`` subject to ``rows @ x >= bounds``.

    ``rows`` is (n, p) without zero rows, ``bounds`` (n,).  Solved as a non-negative least-squares problem by
    an active-set method and then exactly on the active constraints, so that residuals are those of rounding:
    about 1e-16 times the condition of the active rows [Lawson and Hanson, Solving Least Squares Problems,
    chapter 23].

    Raises ``ValueError`` for other shapes and values; :class:`Infeasible`, a ``ValueError``;
    :class:`SolverFailure` when rounding hides whether there is a solution (its norm would be above some 1e7,
    in units of bounds over rows).
    """
    rows = filled("rows", rows, ("n", "p"))
    bounds = array("bounds", bounds, (len(rows),))
    sizes = lengths(rows)
    unit, target = rows / sizes[:, None], bounds / sizes
    size = max(target.max(), 0.0) or 1.0
    # The distance of (0, 1) from the cone of the columns (row, bound) is 1 / sqrt(1 + |x|^2) for the
    # solution x, and zero if there is none.
    stacked = np.vstack([unit.T, target / size])
    try:
        weights, distance = _nearest(stacked, np.append(np.zeros(unit.shape[1]), 1.0))
    except RuntimeError as error:
        raise SolverFailure(f"{error} Remove rows that repeat others, or scale the data.") from None
    active = np.flatnonzero(weights)
    x, *_ = np.linalg.lstsq(unit[active], target[active] / size, rcond=None)
    excess = target / size - unit @ x
    # A small bound beside large ones has a tolerance of its own, down to the rounding of x.
    violated = excess > 1e-7 * np.abs(target) / size + 1e-10 * np.linalg.norm(x)
    if violated.any() and distance < 1e-6:
        farkas = weights / sizes
        farkas /= farkas.sum()
        guilty = ", ".join(map(str, np.flatnonzero(farkas > 1e-9)))
        raise Infeasible(f"no x has rows @ x >= bounds: the rows {guilty} contradict each other", farkas)
    if violated.any():
        raise SolverFailure(
            f"a constraint is violated by {excess.max():.1e}: merge rows that nearly depend, or scale them"
        )
    duals = np.zeros(len(rows))
    multipliers, *_ = np.linalg.lstsq(unit[active].T, x, rcond=None)
    if (multipliers < 0).any():  # of rows that depend on each other, which others can do without
        multipliers, _ = _nearest(unit[active].T, x)
    duals[active] = multipliers * size / sizes[active]
    return ProgramSolution(rows, bounds, x * size, duals)


@dataclass(frozen=True)
class Separation:
    """The largest margin with which a unit vector calls ``points`` (n, d) positive, and the proof that it is.

    ``normal`` (d,) is the unit vector, zero when none has positive products with all points; ``weights``
    (n,), zero or more with sum 1, are the proof.
    """

    points: np.ndarray
    normal: np.ndarray
    weights: np.ndarray

    @property
    def margin(self) -> float:
        """The least product of the unit vector with a point."""
        return float((self.points @ self.normal).min())

    @property
    def bound(self) -> float:
        """The length of the points' combination with the weights, which no margin exceeds."""
        return float(np.linalg.norm(self.weights @ self.points))

    @property
    def separable(self) -> bool:
        """Whether some vector has positive products with all points."""
        return self.margin > 0


def separation(inputs: ArrayLike, labels: ArrayLike) -> Separation:
    """Return the hyperplane through the origin that separates two classes best, or the proof there is none.

    ``inputs`` is (n, d) without zero rows, ``labels`` (n,) of +1 and -1; the points are ``label * input``,
    and the margin is the distance of the origin from their convex hull.  Margins below some 1e-7 of the
    points' norms are not told from rounding.  For a hyperplane with a bias append a column of ones.  Raises
    ``ValueError`` for other shapes and values.
    """
    inputs, labels = _labelled(inputs, labels)
    points = labels[:, None] * inputs
    try:
        solution = least_norm(points, np.ones(len(points)))
    except Infeasible as refusal:
        return Separation(points, np.zeros(points.shape[1]), refusal.weights)
    return Separation(points, solution.x / solution.norm, solution.duals / solution.duals.sum())


def linear_svm(inputs: ArrayLike, labels: ArrayLike) -> ProgramSolution:
    """Solve the linear hard-margin problem ``min |w|^2 / 2`` subject to ``y_i <w, x_i> >= 1``, without bias.

    ``inputs`` is (n, d) without zero rows, ``labels`` (n,) of +1 and -1; the margin is ``1 / norm``, the
    support vectors have positive ``duals`` (n,).  Raises ``ValueError`` for other shapes and values,
    :class:`Infeasible` for data that no hyperplane through the origin separates.
    """
    inputs, labels = _labelled(inputs, labels)
    return least_norm(labels[:, None] * inputs, np.ones(len(labels)))


def agreement_features(inputs: ArrayLike, labels: ArrayLike, slope: float) -> np.ndarray:
    """Return the stacked points ``(x, -slope x)`` of positive, ``(-slope x, x)`` of negative ones, (n, 2d).

    Their products with ``(w, u)`` are the margins ``y_i f(x_i)`` of a clustered network, ``f(x) = phi(<w,
    x>) - phi(<u, x>)``, in the perfect agreement regime.  ``inputs`` is (n, d) without zero rows, ``labels``
    (n,) of +1 and -1, ``slope`` in [0, 1] that of ``phi``.  Raises ``ValueError`` for other shapes and
    values.  [sarussi2021, App. G.2]
    """
    inputs, labels = _labelled(inputs, labels)
    slope = number("slope", slope, 0, 1, "[]")
    first, second = np.where(labels > 0, 1.0, -slope), np.where(labels > 0, -slope, 1.0)
    return np.hstack([first[:, None] * inputs, second[:, None] * inputs])


def agreement_program(inputs: ArrayLike, labels: ArrayLike, slope: float) -> ProgramSolution:
    """Solve program (8): the limit direction ``(w, u)`` of a network in the perfect agreement regime.

    ``min (|w|^2 + |u|^2) / 2`` subject to ``agreement_features @ (w, u) >= 1``; ``x`` of the solution is
    ``w`` followed by ``u``.  It is the limit of training where all ``y_i <w, x_i>`` and ``-y_i <u, x_i>`` are
    positive.  Arguments as of :func:`agreement_features`.  Raises ``ValueError`` for other shapes and values,
    :class:`Infeasible` for data that no hyperplane through the origin separates, although the program itself
    asks less: with ``slope < 1`` it is feasible as soon as each class lies in a half-space of its own.
    [sarussi2021, Eq. 8]
    """
    linear_svm(inputs, labels)
    features = agreement_features(inputs, labels, slope)
    return least_norm(features, np.ones(len(features)))


def extended_agreement_program(inputs: ArrayLike, labels: ArrayLike, slope: float) -> ProgramSolution:
    """Solve program (8) without its assumption on how a neuron type calls the points of the opposite class.

    ``min (|w|^2 + |u|^2) / 2`` subject to ``<w, x> - phi(<u, x>) >= 1`` on positive and
    ``<u, x> - phi(<w, x>) >= 1`` on negative points, ``phi`` the leaky ReLU; two linear rows a point, the
    first n for the branch of slope ``slope``.  ``x`` of the solution is ``w`` followed by ``u``.  Its margin
    ``1 / norm`` is at most that of program (8), and equal where the solution of (8) lies in the perfect
    agreement regime.  Arguments and errors as of :func:`agreement_program`.
    """
    rows = np.vstack([agreement_features(inputs, labels, branch) for branch in (slope, 1.0)])
    return least_norm(rows, np.ones(len(rows)))


def cell_program(network: TwoLayer, inputs: ArrayLike, labels: ArrayLike) -> ProgramSolution:
    """Maximise the normalised margin over first-layer weights with the activation pattern of ``network``.

    ``min |w|^2 / 2`` subject to margins of at least 1 (the first n rows), where no neuron changes the sign
    of its response to any input (the other m n rows, neuron by neuron, which are the kinks); ``x`` of the
    solution, shaped (m, d), lists the neurons.  A response of zero counts as negative.

    ``network`` has weights (m, d), ``inputs`` is (n, d) without zero rows, ``labels`` (n,) of +1 and -1.
    Raises ``ValueError`` for other shapes and values, :class:`Infeasible` if no weights with that pattern
    have positive margins.  [sarussi2021, App. F]
    """
    inputs, labels = _labelled(inputs, labels)
    array("network.w", network.w, ("m", inputs.shape[1]))
    on = network.preactivations(inputs) > 0
    slopes = np.where(on, 1.0, network.slope) * network.a * labels[:, None]
    if (silent := np.flatnonzero(~slopes.any(axis=1))).size:
        raise Infeasible(
            f"network is constant near input {silent[0]}, whose margin is zero in all of its cell",
            np.eye(len(inputs))[silent[0]],
        )
    margins = (slopes[:, :, None] * inputs[:, None]).reshape(len(inputs), -1)
    kinks = [
        np.kron(np.eye(len(network.a))[j], np.where(on[:, j : j + 1], inputs, -inputs))
        for j in range(on.shape[1])
    ]
    rows = np.vstack([margins, *kinks])
    bounds = np.repeat([1.0, 0.0], [len(inputs), len(rows) - len(inputs)])
    return least_norm(rows, bounds)


@dataclass(frozen=True)
class MinimumNorm:
    """A network that interpolates, and what bounds the cost of every other one.

    ``network`` fits ``inputs`` (n, d) and ``labels`` (n,) up to ``primal_residual``; ``value`` is its cost
    ``|theta|^2 / 2``, and ``duals`` (n,), multipliers of ``f(x_k) = y_k``, prove ``lower_bound``.
    """

    inputs: np.ndarray
    labels: np.ndarray
    network: TwoLayer
    duals: np.ndarray

    @property
    def value(self) -> float:
        """``|theta|^2 / 2`` of the network."""
        return float((np.sum(self.network.w**2) + np.sum(self.network.a**2)) / 2)

    @property
    def primal_residual(self) -> float:
        """The largest error of the network on the data."""
        return float(np.abs(self.network(self.inputs) - self.labels).max())

    @property
    def lower_bound(self) -> float:
        """A cost below which no interpolator lies, for any multipliers: they are first made feasible."""
        response = largest_response(self.inputs, self.duals, self.network.slope)
        return float(self.duals @ self.labels / max(1.0, response))


def minimum_norm_interpolation(inputs: ArrayLike, labels: ArrayLike, *, slope: float = 0.0) -> MinimumNorm:
    """Find a (leaky) ReLU network of any width, without bias, that fits labels at the least squared norm.

    A balanced neuron contributes ``a phi(<w, x>)`` at the cost ``(a^2 + |w|^2) / 2 = |a w|``.  Vectors ``|a|
    w`` of one sign and one activation pattern can be added up without a change of the outputs on the data or
    an increase of the cost: a second-order cone program with one vector per sign and pattern, whose value is
    the least variation norm [boursier2022, Eq. 8].  Solved by Clarabel through cvxpy, up to about 1e-8 of the
    value; the minimiser need not be unique, the value is.

    ``inputs`` is (n, d) with n at most 8, ``labels`` (n,) real and not all zero, ``slope`` the leaky slope,
    from 0 to below 1.  Raises ``ValueError`` for other shapes and values, and for data that no ReLU network
    without bias interpolates, naming two on one ray; :class:`SolverFailure` if the solver gives up or leaves
    a residual of 1e-6.
    """
    import cvxpy  # takes seconds, and few who import this module solve this program

    x = array("inputs", inputs, ("n", "d"))
    y = array("labels", labels, (len(x),))
    slope = number("slope", slope, 0.0, 1.0, "[)")
    if len(x) > MOST_DATA:
        raise ValueError(f"inputs holds {len(x)} data, allowed: up to {MOST_DATA} (2^n patterns)")
    if not y.any():
        raise ValueError("labels are all zero, allowed: others; the zero network interpolates these")
    norms = np.linalg.norm(x, axis=1)
    for i, k in combinations(range(len(x)), 2):  # a zero input lies on every ray
        apart, off = norms[i] * x[k] - norms[k] * x[i], norms[i] * y[k] - norms[k] * y[i]
        on_one_ray = np.linalg.norm(apart) <= 1e-12 * norms[i] * norms[k]
        if on_one_ray and abs(off) > 1e-12 * np.abs([norms[i] * y[k], norms[k] * y[i]]).max():
            raise ValueError(f"inputs {i} and {k} lie on one ray, allowed: with labels in proportion")
    # Networks are homogeneous: solved for inputs of norm 1, in their span, with labels of at most 1.
    sizes = np.where(x.any(axis=1), np.linalg.norm(x, axis=1), 1.0)
    height = np.abs(y / sizes).max()
    directions = x / sizes[:, None]
    basis = np.linalg.qr(directions.T)[0] if x.shape[1] > len(x) else np.eye(x.shape[1])
    unit_x, unit_y = directions @ basis, y / sizes / height
    cells = [(sign, np.array(on)) for sign in (1.0, -1.0) for on in product((False, True), repeat=len(x))]
    vectors = cvxpy.Variable((len(cells), unit_x.shape[1]))
    heights = vectors @ unit_x.T
    sides = np.array([np.where(on, 1.0, -1.0) for _, on in cells])
    active = np.array([sign * np.where(on, 1.0, slope) for sign, on in cells])
    fits = cvxpy.sum(cvxpy.multiply(active, heights), axis=0) == unit_y
    problem = cvxpy.Problem(
        cvxpy.Minimize(cvxpy.sum(cvxpy.norm(vectors, axis=1))), [fits, cvxpy.multiply(sides, heights) >= 0]
    )
    with warnings.catch_warnings(), suppress(cvxpy.SolverError):
        # A solver that stops short of its tolerance says so; what it reached is measured below.
        warnings.filterwarnings("ignore", message="Solution may be inaccurate")
        problem.solve(solver=cvxpy.CLARABEL, **_TOLERANCES)
    if problem.status in ("infeasible", "infeasible_inaccurate"):
        raise ValueError(
            "no ReLU network without bias fits these inputs and labels: it is zero at zero, and at "
            "opposite inputs it differs by a linear function"
        )
    if vectors.value is None:
        raise SolverFailure(f"Clarabel ended with the status {problem.status}; merge inputs that share a ray")
    solved = np.asarray(vectors.value)
    costs = np.linalg.norm(solved, axis=1)
    alive = costs > 1e-11 * costs.sum()
    roots = np.sqrt(height * costs[alive])
    w = height * solved[alive] @ basis.T / roots[:, None]
    network = TwoLayer(w, np.array([sign for sign, _ in cells])[alive] * roots, slope)
    solution = MinimumNorm(x, y, network, -np.asarray(fits.dual_value) / sizes)
    if solution.primal_residual > 1e-6 * np.abs(y).max():
        raise SolverFailure(
            f"Clarabel left a residual of {solution.primal_residual:.1e}; inputs may nearly share a ray, or "
            "labels over norms of inputs be too different in size"
        )
    return solution


def largest_response(inputs: np.ndarray, duals: np.ndarray, slope: float) -> float:
    """Return the largest ``|sum_k duals_k phi(<w, x_k>)|`` over unit vectors w; inputs (n, d), duals (n,).

    In the cone of one activation pattern the sum is linear, and its largest value on unit vectors is the
    length of the projection of its gradient on the cone, which is a non-negative least-squares problem.
    """
    best = 0.0
    for on in product((False, True), repeat=len(inputs)):
        outward = np.where(on, -1.0, 1.0)[:, None] * inputs
        gradient = (np.where(on, 1.0, slope) * duals) @ inputs
        best = max(best, _nearest(outward.T, gradient)[1], _nearest(outward.T, -gradient)[1])
    return best


def _nearest(columns: np.ndarray, target: np.ndarray) -> tuple[np.ndarray, float]:
    """Return the weights, zero or more, of the sum of columns that is nearest to the target, and how far."""
    weights, distance = nnls(columns, target, maxiter=50 * max(columns.shape))
    measured = float(np.linalg.norm(columns @ weights - target))
    if abs(measured - distance) > 1e-9 * np.linalg.norm(target):
        # Where columns depend on each other, SciPy may return others than it means (scipy/scipy#25389).
        weights = lsq_linear(columns, target, (0, np.inf), method="bvls", tol=1e-15).x
        distance = float(np.linalg.norm(columns @ weights - target))
    return weights, distance


def _labelled(inputs: ArrayLike, labels: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    inputs = filled("inputs", inputs, ("n", "d"))
    return inputs, signs("labels", labels, (len(inputs),))
