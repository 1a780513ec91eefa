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
from scipy.optimize import nnls

from lib.networks import TwoLayer

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
    """

    value: float
    network: TwoLayer
    duals: np.ndarray
    lower_bound: float
    primal_residual: float
    stationarity: float
    complementarity: float


def minimum_norm_interpolation(inputs: np.ndarray, labels: np.ndarray, *, slope: float = 0.0) -> MinimumNorm:
    """Find a (leaky) ReLU network of any width, without bias, with ``f(x_k) = y_k`` and the least squared
    norm.

    ``inputs`` is (n, d) with n at most 8, ``labels`` (n,) real, ``slope`` the leaky slope.  Solved by
    Clarabel through cvxpy; the minimiser need not be unique, the value is.  Raises ``ValueError`` for bad
    shapes, for labels that are all zero, and for data that no ReLU network without bias interpolates (a
    zero input with a label, or inputs of one ray whose labels are not in proportion), naming the data.
    """
    x, y = _checked(inputs, labels)
    if not 0 <= slope < 1:
        raise ValueError(f"slope is {slope}, allowed: 0 (ReLU) to below 1")
    n, d = x.shape
    cells = [(sign, np.array(on)) for sign in (1.0, -1.0) for on in product((False, True), repeat=n)]
    vectors = cvxpy.Variable((len(cells), d))
    heights = vectors @ x.T
    sides = np.array([np.where(on, 1.0, -1.0) for _, on in cells])
    active = np.array([sign * np.where(on, 1.0, slope) for sign, on in cells])
    fits = cvxpy.sum(cvxpy.multiply(active, heights), axis=0) == y
    problem = cvxpy.Problem(
        cvxpy.Minimize(cvxpy.sum(cvxpy.norm(vectors, axis=1))), [fits, cvxpy.multiply(sides, heights) >= 0]
    )
    with warnings.catch_warnings():
        # A solver that stops short of its tolerance says so; what it reached is measured below and returned.
        warnings.filterwarnings("ignore", message="Solution may be inaccurate")
        problem.solve(solver=cvxpy.CLARABEL, **_SOLVER)
    if problem.status not in ("optimal", "optimal_inaccurate"):
        raise ValueError(
            f"inputs and labels admit no interpolating ReLU network (solver says {problem.status})"
        )
    signs = np.array([sign for sign, _ in cells])
    return _certified(x, y, signs, vectors.value, -np.asarray(fits.dual_value), slope)


def largest_response(inputs: np.ndarray, duals: np.ndarray, slope: float = 0.0) -> float:
    """Return the largest ``|sum_k duals_k phi(<w, x_k>)|`` over unit vectors w, duals (n,).

    In the cone of one activation pattern the sum is linear, and its largest value on unit vectors is the
    length of the projection of its gradient on the cone, which is a non-negative least-squares problem.
    """
    x = np.asarray(inputs, dtype=float)
    best = 0.0
    for on in product((False, True), repeat=len(x)):
        outward = np.where(on, -1.0, 1.0)[:, None] * x
        gradient = (np.where(on, 1.0, slope) * duals) @ x
        best = max(best, nnls(outward.T, gradient)[1], nnls(outward.T, -gradient)[1])
    return best


def _certified(
    x: np.ndarray, y: np.ndarray, signs: np.ndarray, vectors: np.ndarray, duals: np.ndarray, slope: float
) -> MinimumNorm:
    costs = np.linalg.norm(vectors, axis=1)
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


def _checked(inputs: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    x, y = np.asarray(inputs, dtype=float), np.asarray(labels, dtype=float)
    if x.ndim != 2 or y.shape != x.shape[:1] or not len(x):
        raise ValueError(f"inputs has shape {x.shape}, labels {y.shape}; allowed: (n, d) and (n,), n > 0")
    if not (np.isfinite(x).all() and np.isfinite(y).all()):
        raise ValueError("inputs or labels holds values that are not finite")
    if len(x) > MOST_DATA:
        raise ValueError(f"inputs holds {len(x)} data, allowed: up to {MOST_DATA} (2^n patterns)")
    if not y.any():
        raise ValueError("labels are all zero; the zero network interpolates them")
    norms = np.linalg.norm(x, axis=1)
    if (bad := np.flatnonzero((norms == 0) & (y != 0))).size:
        raise ValueError(
            f"input {bad[0]} is zero, its label {y[bad[0]]:.6g}: no network without bias fits it"
        )
    for i in range(len(x)):
        for k in range(i):
            same_ray = norms[i] * norms[k] > 0 and x[i] @ x[k] >= (1 - 1e-12) * norms[i] * norms[k]
            if same_ray and abs(y[i] / norms[i] - y[k] / norms[k]) > 1e-12 * np.abs(y / norms.max()).max():
                raise ValueError(
                    f"inputs {k} and {i} lie on one ray but their labels are not in proportion: "
                    "no ReLU network without bias fits them"
                )
    return x, y
