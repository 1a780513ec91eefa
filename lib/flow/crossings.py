"""Zeros of functions of the state, as `scipy.integrate.solve_ivp` takes its events."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Crossing:
    """The zero of ``distance``, a function of the state (size,), where it rises (``direction`` 1), falls (-1)
    or either (0).  A ``terminal`` one ends the integration.

    Example: the half-life of a decay.

    >>> from scipy.integrate import solve_ivp
    >>> half = Crossing(lambda state: state[0] - 0.5, direction=-1)
    >>> run = solve_ivp(lambda t, state: -state, (0.0, 9.0), [1.0], events=half, rtol=1e-10, atol=1e-10)
    >>> run.t_events[0].round(6)
    array([0.693147])
    """

    distance: Callable[[np.ndarray], float]
    direction: int
    terminal: bool = True

    def __call__(self, _time: float, state: np.ndarray) -> float:
        return self.distance(state)
