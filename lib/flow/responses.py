"""Gradient flows of a linearised network under cross-entropy, in its feature responses and in the dual."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
from scipy.integrate import ODEintWarning, odeint
from scipy.special import expit, log1p, logit

from lib.theory.duality import FeatureProblem


def primal_flow(
    problem: FeatureProblem, times: np.ndarray, *, start: np.ndarray | None = None, rtol: float = 1e-10
) -> np.ndarray:
    """Return feature responses z, shape (times, r), of gradient flow ``z' = S^2 U^T sigma(-U z) - ridge z``.

    This is gradient flow on the parameters, read in the responses; ``start`` is z at time 0 (default zero).
    """
    u, squares = problem.u, problem.strengths**2

    def velocity(_: float, z: np.ndarray) -> np.ndarray:
        return squares * (u.T @ expit(-u @ z)) - problem.ridge * z

    return _integrate(velocity, np.zeros(squares.size) if start is None else start, times, rtol)


def decoupled_flow(
    u: np.ndarray, strengths: np.ndarray, penalty: float, times: np.ndarray, *, rtol: float = 1e-10
) -> np.ndarray:
    """Return z, shape (times, r), of gradient flow from zero with ``penalty |f|^2 / 2`` on the outputs.

    The flow of the parameters, in the responses, is ``z' = S^2 (U^T sigma(-U z) - penalty z)``.
    """
    squares = np.asarray(strengths, dtype=float) ** 2

    def velocity(_: float, z: np.ndarray) -> np.ndarray:
        return squares * (u.T @ expit(-u @ z) - penalty * z)

    return _integrate(velocity, np.zeros(squares.size), times, rtol)


def dual_flow(
    problem: FeatureProblem, start: np.ndarray, times: np.ndarray, *, rtol: float = 1e-10
) -> np.ndarray:
    """Return p, shape (times, n), of the dual flow ``p' = log((1-p)/p) - A p`` [pezeshki2021, Eq. 17].

    Integrated in ``log p``, because p falls over many decades; ``start`` has entries in (0, 1).  From a start
    with large ``A p`` the flow dips to ``exp(-A p)`` first; where that underflows ``RuntimeError`` says so.
    """
    coupling = problem.coupling

    def velocity(_: float, log_p: np.ndarray) -> np.ndarray:
        p = np.exp(log_p)
        return (log1p(-p) - log_p - coupling @ p) / p

    start = np.asarray(start, dtype=float)
    if not ((start > 0) & (start < 1)).all():
        raise ValueError(f"start is {start}, allowed: entries between 0 and 1")
    try:
        with np.errstate(over="raise", divide="raise", invalid="raise"):
            return np.exp(_integrate(velocity, np.log(start), times, rtol))
    except FloatingPointError:
        raise RuntimeError(
            "the dual flow dips below the smallest number; start nearer to zero, or use mirror_flow"
        ) from None


def mirror_flow(
    problem: FeatureProblem, start: np.ndarray, times: np.ndarray, *, rtol: float = 1e-10
) -> np.ndarray:
    """Return p, shape (times, n), of the mirror flow ``w' = -w - A sigma(w)``, with ``w`` the logit of p.

    It has the fixed points of [pezeshki2021, Eq. 17] and, unlike it, a velocity that is globally Lipschitz.
    """
    coupling = problem.coupling
    return expit(_integrate(lambda _, w: -w - coupling @ expit(w), logit(start), times, rtol))


def _integrate(
    velocity: Callable[[float, np.ndarray], np.ndarray], start: np.ndarray, times: np.ndarray, rtol: float
) -> np.ndarray:
    times = np.asarray(times, dtype=float)
    if times.ndim != 1 or not (np.diff(times) > 0).all() or not times[0] >= 0:
        raise ValueError("times is not an increasing array of times from 0 on")
    start = np.asarray(start, dtype=float)
    steps = times if times[0] == 0 else np.concatenate([[0.0], times])
    # LSODA by odeint: scipy's solve_ivp calls the same routine, but step by step from Python.
    with warnings.catch_warnings():
        warnings.simplefilter("error", ODEintWarning)
        try:
            path = odeint(velocity, start, steps, tfirst=True, rtol=rtol, atol=rtol, mxstep=100_000)
        except ODEintWarning as problem:
            raise RuntimeError(f"the flow could not be integrated: {problem}") from None
    return path[len(steps) - len(times) :]
