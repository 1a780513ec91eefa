"""Gradient flow of ReLU neurons on one input with the cross-entropy loss, by two integrators.

State: pre-activations ``h_j = <w_j, x>`` and output weights ``a_j``; the logit ``u`` is the sum of
``a_j h_j`` over the neurons with ``h_j > 0``.  The flow is ``h_j' = norm^2 a_j y sigmoid(-y u)``,
``a_j' = h_j y sigmoid(-y u)`` for active neurons and rest for the others [combes2018, Eqs. 1 and 16].
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.integrate import solve_ivp
from scipy.special import expit

TOLERANCE = {"rtol": 1e-12, "atol": 1e-14}


@dataclass(frozen=True)
class NeuronPath:
    """Neurons along time: ``h`` and ``a`` have shape (times, m).

    ``deaths[j]`` is the time at which ``h_j`` reached zero and ``turns[j]`` the first time at which ``a_j``
    changed sign; both are infinite if that did not happen.
    """

    times: np.ndarray
    h: np.ndarray
    a: np.ndarray
    deaths: np.ndarray
    turns: np.ndarray

    @property
    def logit(self) -> np.ndarray:
        """The logit at each time."""
        return np.sum(np.maximum(self.h, 0) * self.a, axis=1)


def _checked(
    h0: ArrayLike, a0: ArrayLike, times: ArrayLike, norm: float, label: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    h, a = np.atleast_1d(np.asarray(h0, dtype=float)), np.atleast_1d(np.asarray(a0, dtype=float))
    times = np.asarray(times, dtype=float)
    if h.ndim != 1 or h.shape != a.shape or not np.isfinite([h, a]).all():
        raise ValueError(f"h0 has shape {h.shape}, a0 {a.shape}; allowed: finite numbers, both (m,)")
    if times.ndim != 1 or len(times) == 0 or times[0] < 0 or not (np.diff(times) > 0).all():
        raise ValueError("times must be an increasing list of numbers from zero on")
    if not (np.isfinite(norm) and norm > 0):
        raise ValueError(f"norm is {norm}, allowed: positive numbers")
    if label not in (-1, 1):
        raise ValueError(f"label is {label}, allowed: +1 or -1")
    return h, a, times


def neuron_flow(
    h0: ArrayLike, a0: ArrayLike, times: ArrayLike, *, norm: float = 1.0, label: int = 1
) -> NeuronPath:
    """Integrate the flow by DOP853 from time zero and return the neurons at ``times``.

    ``h0`` and ``a0`` are numbers or have shape (m,), ``times`` increases from zero or later, ``label`` is +1
    or -1.  The integration stops where an active ``h_j`` reaches zero, sets it to rest and goes on.  Raises
    ``ValueError`` naming a bad argument.
    """
    h, a, times = _checked(h0, a0, times, norm, label)
    m = len(h)
    active = h > 0
    deaths, turns = np.full(m, np.inf), np.full(m, np.inf)
    kept_h, kept_a = np.empty((len(times), m)), np.empty((len(times), m))
    now, done = 0.0, 0

    def velocity(_: float, state: np.ndarray) -> np.ndarray:
        h, a = state[:m] * active, state[m:] * active
        pull = label * expit(-label * np.dot(a, h))
        return np.concatenate([norm**2 * a * pull, h * pull])

    def crossing(index: int, terminal: bool) -> object:
        def event(_: float, state: np.ndarray) -> float:
            return state[index]

        event.terminal, event.direction = terminal, -1 if terminal else 0
        return event

    while True:
        alive = np.flatnonzero(active)
        events = [crossing(j, True) for j in alive] + [crossing(m + j, False) for j in alive]
        solution = solve_ivp(
            velocity,
            (now, times[-1]),
            np.concatenate([h, a]),
            method="DOP853",
            t_eval=times[done:],
            events=events,
            **TOLERANCE,
        )
        new = len(solution.t)
        kept_h[done : done + new], kept_a[done : done + new] = solution.y[:m].T, solution.y[m:].T
        done += new
        for j, found in zip(alive, solution.t_events[len(alive) :], strict=True):
            if len(found):
                turns[j] = min(turns[j], found[0])
        if done == len(times):
            return NeuronPath(times, kept_h, kept_a, deaths, turns)
        k = next(k for k in range(len(alive)) if len(solution.t_events[k]))
        now, state = solution.t_events[k][-1], solution.y_events[k][-1]
        a = state[m:].copy()
        dying = active & (state[:m] <= TOLERANCE["rtol"] * np.max(np.abs(h)))  # equal neurons die together
        dying[alive[k]] = True
        h = np.where(dying, 0.0, state[:m])
        deaths[dying], active = now, active & ~dying


def angle_flow(
    h0: ArrayLike, a0: ArrayLike, times: ArrayLike, *, norm: float = 1.0, label: int = 1
) -> NeuronPath:
    """Integrate the one hyperbolic angle by which all active neurons move together, up to the first death.

    ``h_j +- y norm a_j`` grows as ``exp(+-s / 2)`` with ``s' = 2 norm sigmoid(-y u)``: one equation for any
    number of neurons.  Arguments as in :func:`neuron_flow`.  Raises ``ValueError`` for a neuron that is not
    active, or that dies before the last time.
    """
    h, a, times = _checked(h0, a0, times, norm, label)
    if not (h > 0).all():
        raise ValueError(f"h0 holds {h.min()}, allowed: positive numbers (active neurons)")
    plus, minus = h + label * norm * a, h - label * norm * a
    rising, falling = np.sum(plus**2) / (4 * norm), np.sum(minus**2) / (4 * norm)

    def velocity(_: float, s: np.ndarray) -> np.ndarray:
        return 2 * norm * expit(-(rising * np.exp(s) - falling * np.exp(-s)))

    turning = np.flatnonzero((label * a < 0) & (plus > 0))
    events = [lambda _, s, at=at: s[0] - at for at in np.log(minus[turning] / plus[turning])]
    solution = solve_ivp(
        velocity, (0.0, times[-1]), [0.0], method="DOP853", t_eval=times, events=events or None, **TOLERANCE
    )
    half = solution.y[0][:, None] / 2
    path_h = (plus * np.exp(half) + minus * np.exp(-half)) / 2
    path_a = label * (plus * np.exp(half) - minus * np.exp(-half)) / (2 * norm)
    if (path_h <= 0).any():
        j = int(np.argwhere(path_h <= 0)[0, 1])
        raise ValueError(f"neuron {j}, started at ({h[j]}, {a[j]}), dies before the last time {times[-1]}")
    turns = np.full(len(h), np.inf)
    for j, found in zip(turning, solution.t_events or (), strict=True):
        turns[j] = found[0] if len(found) else np.inf
    return NeuronPath(times, path_h, path_a, np.full(len(h), np.inf), turns)
