"""Convex programs that name the limits of training, solved exactly and returned with their certificates."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import linprog, nnls

from lib.networks import TwoLayer


@dataclass(frozen=True)
class ProgramSolution:
    """A solved program: ``x`` (the minimiser), ``duals`` (one multiplier a constraint) and its residuals.

    ``primal_residual`` is the largest violation of a constraint; ``dual_residual`` the largest violation of
    stationarity, sign and complementary slackness.  Both are zero for an exact solution.
    """

    x: np.ndarray
    duals: np.ndarray
    primal_residual: float
    dual_residual: float

    @property
    def norm(self) -> float:
        return float(np.linalg.norm(self.x))


def least_norm(rows: np.ndarray, bounds: np.ndarray, *, name: str = "program") -> ProgramSolution:
    """Minimise ``|x|^2 / 2`` subject to ``rows @ x >= bounds``.

    ``rows`` is (n, p), ``bounds`` (n,); the multipliers satisfy ``x = rows.T @ duals``.  Solved as a
    non-negative least-squares problem, an active-set method, so that a solution is exact up to rounding
    [Lawson and Hanson, Solving Least Squares Problems, chapter 23].  Raises ``ValueError`` naming the program
    and the rows of an infeasible combination when no ``x`` (of a norm below a million, in the units of the
    bounds) satisfies the constraints.
    """
    rows, bounds = np.asarray(rows, dtype=float), np.asarray(bounds, dtype=float)
    if rows.ndim != 2 or rows.shape[0] == 0 or bounds.shape != rows.shape[:1]:
        raise ValueError(
            f"rows has shape {rows.shape}, bounds {bounds.shape}; allowed: (n, p) and (n,), n > 0"
        )
    if not (np.isfinite(rows).all() and np.isfinite(bounds).all()):
        raise ValueError("rows or bounds holds values that are not finite")
    scale = np.linalg.norm(rows, axis=1)
    if not scale.all():
        raise ValueError(f"rows holds a zero row, at index {int(np.argmin(scale))}")
    unit_rows, unit_bounds = rows / scale[:, None], bounds / scale
    size = np.abs(unit_bounds).max() or 1.0
    target = np.append(np.zeros(rows.shape[1]), 1.0)
    stacked = np.vstack([unit_rows.T, unit_bounds / size])
    weights, _ = nnls(stacked, target, maxiter=50 * max(stacked.shape))
    residual = target - stacked @ weights
    if residual[-1] < 1e-12:
        guilty = np.flatnonzero(weights > 1e-9 * weights.max())
        raise ValueError(
            f"{name} has no feasible point: a non-negative combination of constraints "
            f"{guilty[:8].tolist()} contradicts itself (the data are not separable in the sense it asks for)"
        )
    duals = weights * size / (residual[-1] * scale)
    x = _polish(rows, bounds, duals > 0, rows.T @ duals)
    return ProgramSolution(x, duals, *_residuals(rows, bounds, x, duals))


def _polish(rows: np.ndarray, bounds: np.ndarray, active: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Project the solution onto its active constraints, which removes the rounding of the weights."""
    correction, *_ = np.linalg.lstsq(rows[active], bounds[active] - rows[active] @ x, rcond=None)
    return x + correction


def _residuals(rows: np.ndarray, bounds: np.ndarray, x: np.ndarray, duals: np.ndarray) -> tuple[float, float]:
    slack = rows @ x - bounds
    primal = max(0.0, float(-slack.min()))
    dual = max(
        float(np.abs(x - rows.T @ duals).max()),
        float(np.abs(duals * slack).max()),
        max(0.0, float(-duals.min())),
    )
    return primal, dual


def linear_svm(inputs: np.ndarray, labels: np.ndarray) -> ProgramSolution:
    """Solve the linear hard-margin problem ``min |w|^2 / 2`` subject to ``y_i <w, x_i> >= 1``, without bias.

    ``inputs`` is (n, d), ``labels`` (n,) of +1 and -1; the margin is ``1 / norm``.  Raises ``ValueError`` for
    data that no hyperplane through the origin separates.
    """
    inputs, labels = _binary(inputs, labels)
    return least_norm(labels[:, None] * inputs, np.ones(len(labels)), name="the linear hard-margin problem")


def agreement_features(inputs: np.ndarray, labels: np.ndarray, slope: float) -> np.ndarray:
    """Return the stacked points ``(x, -slope x)`` of positive, ``(-slope x, x)`` of negative ones, (n, 2d).

    Their products with ``(w, u)`` are the margins of a clustered network in the perfect agreement regime.
    Source: [sarussi2021, App. G.2].
    """
    inputs, labels = _binary(inputs, labels)
    if not 0 <= slope <= 1:
        raise ValueError(f"slope is {slope}, allowed: 0 to 1")
    first, second = np.where(labels > 0, 1.0, -slope), np.where(labels > 0, -slope, 1.0)
    return np.hstack([first[:, None] * inputs, second[:, None] * inputs])


def agreement_program(inputs: np.ndarray, labels: np.ndarray, slope: float) -> ProgramSolution:
    """Solve program (8): the limit direction ``(w, u)`` of a network in the perfect agreement regime.

    ``min (|w|^2 + |u|^2) / 2`` subject to ``<w - slope u, x> >= 1`` on positive and ``<u - slope w, x> >=
    1`` on negative points; ``x`` of the solution is ``w`` followed by ``u``.  Raises ``ValueError`` for data
    that no hyperplane through the origin separates, although the program itself asks less: with ``slope <
    1`` it is feasible as soon as each class lies in a half-space of its own.  Source: [sarussi2021, Eq. 8].
    """
    linear_svm(inputs, labels)
    features = agreement_features(inputs, labels, slope)
    return least_norm(features, np.ones(len(features)), name="program (8)")


def extended_agreement_program(inputs: np.ndarray, labels: np.ndarray, slope: float) -> ProgramSolution:
    """Solve program (8) without its assumption on how a neuron type calls the points of the opposite class.

    ``min (|w|^2 + |u|^2) / 2`` subject to ``<w, x> - phi(<u, x>) >= 1`` on positive and
    ``<u, x> - phi(<w, x>) >= 1`` on negative points, ``phi`` the leaky ReLU; two linear rows a point, the
    first n for the branch of slope ``slope``.  Raises ``ValueError`` if infeasible.
    """
    rows = np.vstack([agreement_features(inputs, labels, branch) for branch in (slope, 1.0)])
    return least_norm(rows, np.ones(len(rows)), name="the extended program (8)")


def cell_program(network: TwoLayer, inputs: np.ndarray, labels: np.ndarray) -> ProgramSolution:
    """Maximise the normalised margin over first-layer weights with the activation pattern of ``network``.

    ``min |w|^2 / 2`` subject to margins of at least 1 (the first n rows), where no neuron changes the sign
    of its response to any input (the other rows, which are the kinks); ``x`` of the solution, shaped (m, d),
    lists the neurons.  Raises ``ValueError`` if infeasible.  Source: [sarussi2021, App. F].
    """
    inputs, labels = _binary(inputs, labels)
    on = network.preactivations(inputs) > 0
    slopes = np.where(on, 1.0, network.slope) * network.a * labels[:, None]
    margins = (slopes[:, :, None] * inputs[:, None]).reshape(len(inputs), -1)
    kinks = [
        np.kron(np.eye(len(network.a))[j], np.where(on[:, j : j + 1], inputs, -inputs))
        for j in range(on.shape[1])
    ]
    rows = np.vstack([margins, *kinks])
    return least_norm(
        rows, np.repeat([1.0, 0.0], [len(inputs), len(rows) - len(inputs)]), name="the program of this cell"
    )


def flippable_points(inputs: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Tell for each point whether some vector calls the opposite class rightly and this point wrongly.

    Returns booleans (n,): True at a negative point ``x`` if some ``v`` has ``<v, x'> >= 1`` on all positive
    points and ``<v, x> >= 1`` (then ``V+`` is not empty), and the same with the classes exchanged.  One
    linear program a point; the margin asked for is immaterial, since ``v`` can be scaled.  Source:
    [sarussi2021, Sec. 6.2].
    """
    inputs, labels = _binary(inputs, labels)
    answers = []
    for x, label in zip(inputs, labels, strict=True):
        rows = np.vstack([inputs[labels != label], x]) * -label
        rows = rows / np.linalg.norm(rows, axis=1)[:, None]
        status = linprog(
            np.zeros(inputs.shape[1]),
            A_ub=-rows,
            b_ub=-np.ones(len(rows)),
            bounds=(None, None),
            method="highs",
        ).status
        if status not in (0, 2):
            raise ValueError(f"the linear program of point {len(answers)} ended with status {status}")
        answers.append(status == 0)
    return np.array(answers)


def _binary(inputs: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    inputs, labels = np.asarray(inputs, dtype=float), np.asarray(labels, dtype=float)
    if inputs.ndim != 2 or labels.shape != inputs.shape[:1]:
        raise ValueError(f"inputs has shape {inputs.shape}, labels {labels.shape}; allowed: (n, d) and (n,)")
    if not np.isin(labels, (-1, 1)).all() or len(set(labels)) < 2:
        raise ValueError(f"labels are {sorted(set(labels.tolist()))}, allowed: +1 and -1, both present")
    return inputs, labels
