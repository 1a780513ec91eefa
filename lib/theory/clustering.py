"""Clustered leaky networks: when clusters make the boundary linear, and how slowly training clusters them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np
from scipy.optimize import linprog
from scipy.special import wrightomega

from lib.least_norm import ProgramSolution


def sharp_factor(slope: float, k: int) -> float:
    """Return the best factor C in: ``|<w_mean - u_mean, x>| > C r |x|`` implies that a network has that sign.

    ``slope`` in (0, 1] is the leaky slope, ``k`` the number of neurons of each type, r the cluster radius.
    The paper proves the statement with C = 2.  [sarussi2021, Theorem 5.1]
    """
    _check_slope(slope)
    if k < 1:
        raise ValueError(f"k is {k}, allowed: 1 or more")
    if k % 2 == 0:
        return (1 - slope) / (1 + slope)
    m = k // 2
    return (1 - slope) * m / (m + slope * (m + 1))


def largest_flip(slope: float, k: int) -> float:
    """Return the largest ``<w_mean - u_mean, x> / (r |x|)`` at which a network is not positive, by programs.

    Only the 2k products with x matter, each within 1 of the mean of its group (``r = |x| = 1``).  For every
    number of positive products in either group the problem is linear; the answer is the largest of those
    optima.
    """
    _check_slope(slope)
    spread = np.eye(k) - np.full((k, k), 1 / k)
    none = np.zeros((k, k))
    near = np.vstack([np.hstack([s * spread, none]) for s in (1, -1)])
    near = np.vstack([near, np.hstack([near[:, k:], near[:, :k]])])
    best = -np.inf
    for active_w, active_u in product(range(k + 1), repeat=2):
        on = np.concatenate([np.arange(k) < active_w, np.arange(k) < active_u])
        output = np.where(on, 1.0, slope) * np.repeat([1.0, -1.0], k)
        limits = [(0, None) if positive else (None, 0) for positive in on]
        answer = linprog(
            -np.repeat([1.0, -1.0], k) / k,
            A_ub=np.vstack([near, output]),
            b_ub=np.append(np.ones(4 * k), 0.0),
            bounds=limits,
            method="highs",
        )
        if answer.status == 0:
            best = max(best, -answer.fun)
    return float(best)


def flipping_network(slope: float, k: int, excess: float) -> tuple[np.ndarray, np.ndarray]:
    """Return products (k,), (k,) with an input for which an even network is ``excess`` past its sign change.

    The w products vanish, half of the u products lie one radius above their mean and half below; the mean of
    the w minus the mean of the u is ``sharp_factor + excess`` radii.
    """
    if k % 2:
        raise ValueError(f"k is {k}, allowed: even numbers")
    mean = -(sharp_factor(slope, k) + excess)
    return np.zeros(k), mean + np.repeat([1.0, -1.0], k // 2)


def smoothed_margin(margins: np.ndarray, norm: float) -> float:
    """Return ``-log(exp(sum_i log(1 + exp(-q_i))) - 1) / norm`` for margins q (n,).  [sarussi2021, Eq. 6]

    Evaluated through the logarithm of the summed loss, so that margins of any size are allowed.
    """
    margins = np.asarray(margins, dtype=float)
    least = margins.min()
    if least > 30:
        # Here expm1 of the summed loss equals the sum of exp(-q) to rounding.
        return float((least - np.log(np.exp(least - margins).sum())) / norm)
    total = np.logaddexp(0, -margins).sum()
    return float(-(total + np.log(-np.expm1(-total))) / norm)


def smoothed_margin_gap(margins: np.ndarray, norm: float) -> float:
    """Return the bound ``(log((1 + e^-m)^n - 1) + m) / norm`` on normalised minus smoothed margin.

    ``m`` is the least of the ``margins`` (n,), ``norm`` that of the weights.
    """
    margins = np.asarray(margins, dtype=float)
    least, n = margins.min(), len(margins)
    return float((np.log(np.expm1(n * np.logaddexp(0, -least))) + least) / norm)


def required_smoothed_margin(slope: float, v: float, k: int, radius: float, beta: float = 0.0) -> float:
    """Return what the smoothed margin must exceed for no w neuron to call a positive point negative.

    ``slope * v * (sqrt(k) * radius - k * beta)``, with ``radius`` the largest input norm and ``beta`` the
    margin of the agreement regime.  [sarussi2021, Theorem 6.2, Assumption 3, as reconstructed from Eq. 28-30]
    """
    return slope * v * (np.sqrt(k) * radius - k * beta)


def largest_slope_for_assumption_three(relative_margin: float) -> float:
    """Return below which leaky slope symmetric data can meet Assumption 3: ``rho / (sqrt(2) - rho)``.

    ``relative_margin`` rho is the linear margin over the largest input norm, between 0 and 1.
    """
    if not 0 < relative_margin <= 1:
        raise ValueError(f"relative_margin is {relative_margin}, allowed: above 0, up to 1")
    return relative_margin / (np.sqrt(2) - relative_margin)


def critical_slope(degrees: float) -> float:
    """Return the leaky slope below which three points split the neurons that start small.

    The points are ``(1, 0)`` and the unit vector at ``degrees`` (90 to 180), both positive, and ``(-1, 0)``,
    negative.  A w neuron starts to follow ``sum_i y_i phi'(<w, x_i>) x_i``, which depends on its direction
    only; with c = ``-cos(degrees)`` that field has two attracting directions, one in each half-plane of the
    second point, exactly for slopes below ``min(c / (1 - c), (1 - c) / c)``, and one attracting direction
    above.
    """
    if not 90 < degrees < 180:
        raise ValueError(f"degrees is {degrees}, allowed: between 90 and 180")
    c = -np.cos(np.radians(degrees))
    return float(min(c / (1 - c), (1 - c) / c))


def symmetric_pair_margin(
    time: np.ndarray, q0: float, *, slope: float, k: int, v: float, norm: float
) -> np.ndarray:
    """Return the margin of the points ``(x, +), (-x, -)`` along gradient flow of the mean loss, at ``time``.

    All ``w_j`` equal, ``u_j = -w_j``, ``norm = |x|``, initial margin ``q0 >= 0``:
    ``q + exp(q)`` grows at the constant rate ``v^2 k (1 + slope)^2 norm^2 / 2``.
    """
    _check_slope(slope)
    rate = 0.5 * v**2 * k * (1 + slope) ** 2 * norm**2
    return np.log(wrightomega(q0 + np.exp(q0) + rate * np.asarray(time, dtype=float)))


@dataclass(frozen=True)
class LogarithmicLaw:
    """The limit of ``direction error * log(n / L)``, and the bounded part of the weights that causes it."""

    constant: float
    residual: np.ndarray


def logarithmic_law(
    solution: ProgramSolution, features: np.ndarray, outside: np.ndarray | None = None
) -> LogarithmicLaw:
    """Return the law by which the mean weights of an agreement regime approach their limit.

    ``solution`` is the minimum-norm solution with ``features @ x >= 1``.  The weights grow as ``g x +
    residual``: on support vectors ``<z_i, residual> + log(dual_i)`` is a constant, here zero (another value
    only shifts g). ``outside`` is the component of the weights orthogonal to all support vectors, late in the
    flow: only the other points move it, and it comes to rest.  It may be left out when the support vectors
    span the space, otherwise ``ValueError`` is raised.  The support vectors must be linearly independent.
    """
    support = solution.duals > 0
    rows = features[support]
    missing = rows.shape[1] - np.linalg.matrix_rank(rows)
    if missing and outside is None:
        raise ValueError(
            f"the support vectors leave {missing} dimensions free: give outside, where the flow rests in them"
        )
    residual, *_ = np.linalg.lstsq(rows, -np.log(solution.duals[support]), rcond=None)
    if outside is not None:
        residual = residual + outside
    direction = solution.x / solution.norm
    across = residual - direction * (direction @ residual)
    return LogarithmicLaw(float(np.linalg.norm(across) / solution.norm), residual)


def _check_slope(slope: float) -> None:
    if not 0 < slope <= 1:
        raise ValueError(f"slope is {slope}, allowed: above 0 (leaky), up to 1 (linear)")
