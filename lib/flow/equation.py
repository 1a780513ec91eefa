"""Ordinary differential equations of a few unknowns, of which chapters make their other routes."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

from lib.checks import array, number


def solution(
    velocity: Callable[[np.ndarray], ArrayLike],
    state: ArrayLike,
    times: ArrayLike,
    *,
    rtol: float = 1e-10,
    scale: float = 1.0,
    method: str = "LSODA",
) -> np.ndarray:
    """Return the states (T, ...) at ``times`` (T,) of ``x' = velocity(x)`` from ``state`` (...) at time 0.

    ``times`` increase, from 0 on.  Errors of a step are below ``rtol`` times the state, and a hundredth of it
    times ``scale`` where the state is smaller.  ``method`` is SciPy's; LSODA finds out by itself what is
    stiff.  Raises ``ValueError`` for other times, and ``ArithmeticError`` where the solver gives up, with the
    time that it reached.
    """
    first, clock = np.asarray(state, dtype=float), array("times", times, ("T",), 0, ends="[)")
    if (np.diff(clock) < 0).any():
        raise ValueError(
            f"times holds {clock[1:][np.diff(clock) < 0][0]} after a later one, allowed: increasing"
        )
    options = {"rtol": number("rtol", rtol, 0), "atol": 0.01 * rtol * number("scale", scale, 0)}

    def flat(_time: float, x: np.ndarray) -> np.ndarray:
        return np.ravel(velocity(x.reshape(first.shape)))

    run = solve_ivp(flat, (0.0, clock[-1]), first.ravel(), method, t_eval=clock, **options)
    if not run.success or not np.isfinite(run.y).all():
        reached = run.t[-1] if len(run.t) else 0.0
        raise ArithmeticError(
            f"the solver gave up after time {reached:.6g} of {clock[-1]:.6g}: {run.message}"
        )
    return run.y.T.reshape(len(clock), *first.shape)


def first_passage(
    value: Callable[[float], float], level: float, times: ArrayLike, *, xtol: float = 1e-12
) -> float:
    """Return when ``value`` reaches ``level`` for the first time, to a relative ``xtol`` of the times.

    ``value`` maps a time to a number and is continuous; ``times`` (T,) increase and are so dense that it does
    not come and go between two of them.  Raises ``ValueError`` if it has no passage among them.
    """
    clock = array("times", times, ("T",))
    above = float(value(clock[0])) - level
    if above == 0:
        return float(clock[0])
    for early, late in pairwise(clock):
        if (float(value(late)) - level) * above <= 0:
            return float(brentq(lambda time: float(value(time)) - level, early, late, rtol=xtol, xtol=1e-300))
    raise ValueError(f"level is {level}, allowed: one that is reached from {clock[0]:g} to {clock[-1]:g}")
