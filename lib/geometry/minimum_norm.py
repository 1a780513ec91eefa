"""The interpolating ReLU network of least norm: a convex program over activation patterns, with a proof.

A balanced neuron contributes ``a phi(<w, x>)`` at the cost ``a^2 + |w|^2 = 2 |a||w|``, so that ``|theta|^2
/ 2`` is the sum of the norms of the vectors ``|a| w``.  Vectors of one sign and one activation pattern can
be added up without a change of the outputs on the data or an increase of the cost.  So the least
``|theta|^2 / 2`` is a second-order cone program with one vector per sign and pattern; it equals the least
variation norm [boursier2022, Eq. 8].
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from itertools import product

import cvxpy
import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import nnls

from lib.checks import array, number, refuse_overflow
from lib.geometry.least_norm import SolverFailure
from lib.models.two_layer import TwoLayer
from lib.theory.orthogonal_data import lengths, same_length

MOST_DATA = 8  # 2^n patterns of either sign
_SOLVER = {"tol_gap_abs": 1e-10, "tol_gap_rel": 1e-10, "tol_feas": 1e-10}


@dataclass(frozen=True)
class MinimumNorm:
    """A solved minimum-norm problem and what proves that it is solved.

    ``value`` is the least ``|theta|^2 / 2``; ``network`` attains it.  ``duals`` (n,) are the multipliers of
    ``f(x_k) = y_k`` and ``lower_bound`` the value that they prove: any interpolator costs at least that
    much. ``primal_residual`` is the largest error of the network on the data.  ``stationarity`` is the
    largest violation of the condition that ``sum_k duals_k phi(<w, x_k>)`` lies between -1 and 1 for unit
    vectors w, and ``complementarity`` its largest distance from the sign of the output at the network's own
    directions, weighted with their share of the cost.

    Example:

    >>> solved = minimum_norm_interpolation([[1.0, 0.0], [0.0, 2.0]], [1.0, -1.0])
    >>> round(solved.value, 6), solved.duals.round(6).tolist(), solved.stationarity < 1e-6
    (1.5, [1.0, -0.5], True)
    """

    value: float
    network: TwoLayer
    duals: np.ndarray
    lower_bound: float
    primal_residual: float
    stationarity: float
    complementarity: float


def minimum_norm_interpolation(inputs: ArrayLike, labels: ArrayLike, *, slope: float = 0.0) -> MinimumNorm:
    """Find a (leaky) ReLU network of any width, without bias, with ``f(x_k) = y_k`` and the least squared
    norm.

    ``inputs`` is (n, d) with n at most 8, ``labels`` (n,) real, ``slope`` the leaky slope, from 0 to
    below 1. Solved by Clarabel through cvxpy, up to about 1e-8 of the value for data of any size; the
    minimiser need not be unique, the value is.  Raises ``ValueError`` for bad shapes, for labels that are
    all zero, and for data that no ReLU network without bias interpolates (a zero input with a label,
    inputs of one ray whose labels are not in proportion, or opposite inputs whose labels do not differ by
    a linear function), naming the data; :class:`lib.geometry.least_norm.SolverFailure` if the solver gives up or
    leaves a residual of 1e-6.  Source: [boursier2022, Eq. 8] for orthogonal inputs.

    Example:

    >>> solved = minimum_norm_interpolation([[-0.5, 1.0], [2.0, 1.0]], [-1.0, 1.0])
    >>> round(solved.value, 6), solved.network([[2.0, 1.0]]).round(6)
    (1.341641, array([1.]))
    """
    x, y = _checked(inputs, labels)
    slope = number("slope", slope, 0.0, 1.0, "[)")
    # Networks are homogeneous: solved for inputs of norm 1, in their span, with labels of at most 1.
    sizes = np.where(x.any(axis=1), lengths(x), 1.0)
    height = np.abs(y / sizes).max()
    directions = x / sizes[:, None]
    basis = np.linalg.qr(directions.T)[0] if x.shape[1] > len(x) else np.eye(x.shape[1])
    unit_x, unit_y = directions @ basis, y / sizes / height
    n, d = unit_x.shape
    cells = [(sign, np.array(on)) for sign in (1.0, -1.0) for on in product((False, True), repeat=n)]
    vectors = cvxpy.Variable((len(cells), d))
    heights = vectors @ unit_x.T
    sides = np.array([np.where(on, 1.0, -1.0) for _, on in cells])
    active = np.array([sign * np.where(on, 1.0, slope) for sign, on in cells])
    fits = cvxpy.sum(cvxpy.multiply(active, heights), axis=0) == unit_y
    problem = cvxpy.Problem(
        cvxpy.Minimize(cvxpy.sum(cvxpy.norm(vectors, axis=1))), [fits, cvxpy.multiply(sides, heights) >= 0]
    )
    with warnings.catch_warnings():
        # A solver that stops short of its tolerance says so; what it reached is measured below and returned.
        warnings.filterwarnings("ignore", message="Solution may be inaccurate")
        try:
            problem.solve(solver=cvxpy.CLARABEL, **_SOLVER)
        except cvxpy.SolverError as error:
            raise SolverFailure(
                f"Clarabel failed ({error}); inputs and labels of like size may help"
            ) from None
    if problem.status not in ("optimal", "optimal_inaccurate") or vectors.value is None:
        raise SolverFailure(
            f"Clarabel ended with the status {problem.status}; look for inputs that nearly share a ray"
        )
    signs = np.array([sign for sign, _ in cells])
    found = _certified(
        x, y, signs, height * vectors.value @ basis.T, -np.asarray(fits.dual_value) / sizes, slope
    )
    if found.primal_residual > 1e-6 * np.abs(y).max():
        raise SolverFailure(
            f"Clarabel left a residual of {found.primal_residual:.1e}; inputs may nearly share a ray, or "
            "labels over norms of inputs be too different in size"
        )
    return found


@refuse_overflow
def largest_response(inputs: ArrayLike, duals: ArrayLike, slope: float = 0.0) -> float:
    """Return the largest ``|sum_k duals_k phi(<w, x_k>)|`` over unit vectors w.

    ``inputs`` is (n, d) with n at most 8, ``duals`` (n,) real, ``slope`` that of phi, from 0 to 1.
    Raises ``ValueError`` for other arguments.  In the cone of one activation pattern the sum is linear,
    and its largest value on unit vectors is the length of the projection of its gradient on the cone,
    which is a non-negative least-squares problem.

    Example:

    >>> round(largest_response([[1.0, 0.0], [0.0, 1.0]], [3.0, -4.0]), 12)
    4.0
    """
    x, duals = array("inputs", inputs, ("n", "d")), array("duals", duals, ("n",))
    slope = number("slope", slope, 0.0, 1.0, "[]")
    same_length(inputs=len(x), duals=len(duals))
    _few(x)
    best = 0.0
    for on in product((False, True), repeat=len(x)):
        outward = np.where(on, -1.0, 1.0)[:, None] * x
        gradient = (np.where(on, 1.0, slope) * duals) @ x
        best = max(best, nnls(outward.T, gradient)[1], nnls(outward.T, -gradient)[1])
    return best


def _certified(
    x: np.ndarray, y: np.ndarray, signs: np.ndarray, vectors: np.ndarray, duals: np.ndarray, slope: float
) -> MinimumNorm:
    costs = lengths(vectors)
    kept = costs > 1e-7 * costs.sum()
    roots = np.sqrt(costs[kept])
    network = TwoLayer(vectors[kept] / roots[:, None], signs[kept] * roots, slope)
    value = float(costs.sum())
    response = largest_response(x, duals, slope)
    z = network.w / roots[:, None] @ x.T
    own = np.maximum(z, slope * z) @ duals
    return MinimumNorm(
        value=value,
        network=network,
        duals=duals,
        lower_bound=float(duals @ y / max(1.0, response)),
        primal_residual=float(np.abs(network(x) - y).max()),
        stationarity=max(0.0, response - 1),
        complementarity=float((costs[kept] / value * np.abs(own - signs[kept])).max()),
    )


def _few(x: np.ndarray) -> None:
    if len(x) > MOST_DATA:
        raise ValueError(f"inputs holds {len(x)} data, allowed: up to {MOST_DATA} (2^n patterns)")


def _checked(inputs: ArrayLike, labels: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    x, y = array("inputs", inputs, ("n", "d")), array("labels", labels, ("n",))
    same_length(inputs=len(x), labels=len(y))
    _few(x)
    if not y.any():
        raise ValueError("labels are all zero, allowed: others; the zero network interpolates these")
    norms = lengths(x)
    if (bad := np.flatnonzero((norms == 0) & (y != 0))).size:
        raise ValueError(
            f"inputs holds a zero vector at row {bad[0]}, its label is {y[bad[0]]:.6g}: "
            "no network without bias fits it"
        )
    rates = np.divide(y / np.abs(y).max(), norms / norms.max(), out=np.zeros_like(y), where=norms > 0)
    units = x / np.where(norms > 0, norms, 1.0)[:, None]
    for i in range(len(x)):
        for k in range(i):
            same_ray = norms[i] > 0 and norms[k] > 0 and lengths(units[i] - units[k]) < 1e-12
            if same_ray and abs(rates[i] - rates[k]) > 1e-12 * np.abs(rates).max():
                raise ValueError(
                    f"inputs {k} and {i} lie on one ray but their labels are not in proportion: "
                    "no ReLU network without bias fits them"
                )
    opposite = [(k, i) for i in range(len(x)) for k in range(i) if lengths(units[i] + units[k]) < 1e-12]
    if opposite:
        first, second = np.array(opposite).T
        odd = rates[first] - rates[second]
        missed = np.abs(odd - units[first] @ np.linalg.lstsq(units[first], odd, rcond=None)[0])
        if missed.max() > 1e-9 * np.abs(rates).max():
            raise ValueError(
                f"inputs holds opposite pairs, {', '.join(f'{k} and {i}' for k, i in opposite)}, at which a "
                "network without bias differs by a linear function, but the labels do not: no ReLU network "
                "fits them"
            )
    return x, y
