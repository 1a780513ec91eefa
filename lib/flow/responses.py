"""Gradient flows of a linearised network under cross-entropy, in its feature responses and in the dual."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike
from scipy.integrate import ODEintWarning, odeint
from scipy.special import expit, log1p, logit

from lib.checks import array, number
from lib.theory.duality import FeatureProblem


def primal_flow(
    problem: FeatureProblem, times: ArrayLike, *, start: ArrayLike | None = None, rtol: float = 1e-10
) -> np.ndarray:
    """Return feature responses z, shape (times, r), of gradient flow ``z' = S^2 U^T sigma(-U z) - ridge z``.

    This is gradient flow on the parameters, read in the responses; ``start`` (r,) is z at time 0 (default
    zero), ``times`` increase from 0 on, ``rtol`` in [1e-12, 1) is the relative and absolute tolerance of a
    step.  Raises ``ValueError`` for other values, ``RuntimeError`` when the integrator gives up.

    Example:

    >>> from lib.theory.starvation import two_features
    >>> primal_flow(two_features(0.5, 6.0, 2.0, 0.01), [0.0, 1.0, 5000.0]).round(4)
    array([[0.    , 0.    ],
           [4.9356, 0.3423],
           [9.071 , 1.1853]])
    """
    u, squares = problem.u, problem.strengths**2
    initial = np.zeros(squares.size) if start is None else array("start", start, squares.shape)

    def velocity(_: float, z: np.ndarray) -> np.ndarray:
        return squares * (u.T @ expit(-u @ z)) - problem.ridge * z

    return _integrate(velocity, initial, times, rtol)


def decoupled_flow(
    u: ArrayLike, strengths: ArrayLike, penalty: float, times: ArrayLike, *, rtol: float = 1e-10
) -> np.ndarray:
    """Return z, shape (times, r), of gradient flow from zero with ``penalty |f|^2 / 2`` on the outputs.

    The flow of the parameters, in the responses, is ``z' = S^2 (U^T sigma(-U z) - penalty z)``.  ``u`` (n, r)
    has orthonormal columns, ``strengths`` is (r,), ``penalty`` positive; ``times``, ``rtol`` and errors as of
    :func:`lib.flow.responses.primal_flow`.

    Example:

    >>> from lib.theory.starvation import rotation
    >>> decoupled_flow(rotation(0.5), [6.0, 2.0], 0.002, [8.0, 5000.0]).round(4)
    array([[6.5465, 0.8577],
           [6.3727, 1.7076]])
    """
    weight = number("penalty", penalty, 0)
    problem = FeatureProblem(np.asarray(u, dtype=float), np.asarray(strengths, dtype=float), weight)
    columns, squares = problem.u, problem.strengths**2

    def velocity(_: float, z: np.ndarray) -> np.ndarray:
        return squares * (columns.T @ expit(-columns @ z) - weight * z)

    return _integrate(velocity, np.zeros(squares.size), times, rtol)


def dual_flow(
    problem: FeatureProblem, start: ArrayLike, times: ArrayLike, *, rtol: float = 1e-10
) -> np.ndarray:
    """Return p, shape (times, n), of the dual flow ``p' = log((1-p)/p) - A p`` [pezeshki2021, Eq. 17].

    Integrated in ``log p``, because p falls over many decades; ``start`` (n,) has entries in (0, 1),
    ``times`` and ``rtol`` are those of :func:`lib.flow.responses.primal_flow`.  From a start with large ``A
    p`` the flow dips to ``exp(-A p)`` first; where that underflows ``RuntimeError`` says so.  Raises
    ``ValueError`` for other values.

    Example:

    >>> from lib.theory.duality import dual_fixed_point
    >>> problem = FeatureProblem(np.eye(2), [2.0, 1.0], ridge=0.5)
    >>> end = dual_flow(problem, [0.1, 0.9], [0.0, 10.0])[-1]
    >>> bool(abs(end - dual_fixed_point(problem)).max() < 1e-9)
    True
    """
    coupling = problem.coupling

    def velocity(_: float, log_p: np.ndarray) -> np.ndarray:
        p = np.exp(log_p)
        return (log1p(-p) - log_p - coupling @ p) / p

    initial = np.log(array("start", start, (len(problem.u),), 0, 1))
    try:
        with np.errstate(over="raise", divide="raise", invalid="raise"):
            return np.exp(_integrate(velocity, initial, times, rtol))
    except FloatingPointError:
        raise RuntimeError(
            "the dual flow dips below the smallest number; start nearer to zero, or use mirror_flow"
        ) from None


def mirror_flow(
    problem: FeatureProblem, start: ArrayLike, times: ArrayLike, *, rtol: float = 1e-10
) -> np.ndarray:
    """Return p, shape (times, n), of the mirror flow ``w' = -w - A sigma(w)``, with ``w`` the logit of p.

    It has the fixed points of [pezeshki2021, Eq. 17] and, unlike it, a velocity that is globally Lipschitz.
    Arguments and errors as of :func:`lib.flow.responses.dual_flow`, but every start is possible.

    Example:

    >>> problem = FeatureProblem(np.eye(2), [2.0, 1.0], ridge=0.5)
    >>> mirror_flow(problem, [0.1, 0.9], [0.0, 50.0]).round(6)
    array([[0.1     , 0.9     ],
           [0.185194, 0.337416]])
    """
    coupling = problem.coupling
    initial = logit(array("start", start, (len(problem.u),), 0, 1))
    return expit(_integrate(lambda _, w: -w - coupling @ expit(w), initial, times, rtol))


def _integrate(
    velocity: Callable[[float, np.ndarray], np.ndarray], start: np.ndarray, times: ArrayLike, rtol: float
) -> np.ndarray:
    wanted, tolerance = array("times", times, ("times",), 0, ends="[)"), number("rtol", rtol, 1e-12, 1, "[)")
    if not (np.diff(wanted) > 0).all():
        raise ValueError("times is not increasing, allowed: an increasing array of times from 0 on")
    if len(wanted) == 1 and not wanted[0]:
        return start[None].copy()
    steps = wanted if wanted[0] == 0 else np.concatenate([[0.0], wanted])
    # LSODA by odeint: scipy's solve_ivp calls the same routine, but step by step from Python.
    with warnings.catch_warnings():
        warnings.simplefilter("error", ODEintWarning)
        try:
            path = odeint(velocity, start, steps, tfirst=True, rtol=tolerance, atol=tolerance, mxstep=100_000)
        except ODEintWarning as failure:
            raise RuntimeError(
                f"the flow could not be integrated ({failure}); try a larger rtol or nearer times"
            ) from None
    return path[len(steps) - len(wanted) :]
