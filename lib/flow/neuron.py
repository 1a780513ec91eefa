"""Gradient flow of ReLU neurons on one input with the cross-entropy loss, by two integrators.

State: pre-activations ``h_j = <w_j, x>`` and output weights ``a_j``; the logit ``u`` is the sum of
``a_j h_j`` over the neurons with ``h_j > 0``.  The flow is ``h_j' = norm^2 a_j y sigmoid(-y u)``,
``a_j' = h_j y sigmoid(-y u)`` for active neurons and rest for the others [combes2018, Eqs. 1 and 16].
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from operator import itemgetter

import numpy as np
from numpy.typing import ArrayLike
from scipy.integrate import solve_ivp
from scipy.special import expit

from lib.checks import array, number, numbers, signs
from lib.flow.crossings import Crossing

RELATIVE, ABSOLUTE = 1e-12, 1e-14  # tolerances of a step, the second in units of each neuron's size


@dataclass(frozen=True)
class NeuronPath:
    """Neurons along time: ``h`` and ``a`` have shape (times, m).

    ``deaths[j]`` is the time at which ``h_j`` reached zero and ``turns[j]`` the first time at which ``a_j``
    changed sign; both are infinite if that did not happen.

    Example: a neuron whose output weight has the wrong sign, a little too large to escape.

    >>> path = neuron_flow(1.0, -1.1, [0.0, 2.0, 9.0])
    >>> path.deaths.round(6), path.turns, path.logit.round(3)
    (array([2.662142]), array([inf]), array([-1.1  , -0.076,  0.   ]))
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
) -> tuple[np.ndarray, np.ndarray, np.ndarray, float, float]:
    h = array("h0", np.atleast_1d(numbers("h0", h0)), ("m",))
    a = array("a0", np.atleast_1d(numbers("a0", a0)), h.shape)
    times = array("times", times, ("times",), 0, ends="[)")
    if not (np.diff(times) > 0).all():
        raise ValueError(f"times holds {times}, allowed: increasing numbers from 0 on")
    return h, a, times, number("norm", norm, 0), float(signs("label", label))


def neuron_flow(
    h0: ArrayLike, a0: ArrayLike, times: ArrayLike, *, norm: float = 1.0, label: int = 1
) -> NeuronPath:
    """Integrate the flow by DOP853 from time zero and return the neurons at ``times``.

    ``h0`` and ``a0`` are numbers or have shape (m,), ``times`` (times,) increases from zero or later,
    ``norm`` is the length of the input, ``label`` +1 or -1.  The integration stops where an active ``h_j``
    reaches zero, sets it to rest and goes on.  A step may err by 1e-12 of each number plus 1e-14 of the
    neuron's size at the start, so that starts of any size are followed.  Raises ``ValueError`` naming a bad
    argument.

    Example: two active neurons and one that sees nothing.

    >>> path = neuron_flow([0.5, 0.2, -0.3], [0.1, -0.1, 1.0], [0.0, 10.0])
    >>> path.h.round(6)
    array([[ 0.5     ,  0.2     , -0.3     ],
           [ 1.899373,  0.335306, -0.3     ]])
    """
    h, a, times, norm, y = _checked(h0, a0, times, norm, label)
    m = len(h)
    sizes = np.hypot(h, norm * a)
    absolute = ABSOLUTE * np.concatenate([sizes, sizes / norm])
    active = h > 0
    deaths, turns = np.full(m, np.inf), np.full(m, np.inf)
    kept_h, kept_a = np.empty((len(times), m)), np.empty((len(times), m))
    now, done = 0.0, 0

    def velocity(_: float, state: np.ndarray) -> np.ndarray:
        h, a = state[:m] * active, state[m:] * active
        pull = y * expit(-y * np.dot(a, h))
        return np.concatenate([norm**2 * a * pull, h * pull])

    while now < times[-1]:
        alive = np.flatnonzero(active)
        solution = solve_ivp(
            velocity,
            (now, times[-1]),
            np.concatenate([h, a]),
            method="DOP853",
            t_eval=times[done:],
            events=[Crossing(itemgetter(j), -1) for j in alive]
            + [Crossing(itemgetter(m + j), 0, terminal=False) for j in alive],
            rtol=RELATIVE,
            atol=np.where(absolute > 0, absolute, ABSOLUTE),
        )
        new = len(solution.t)
        # Without times before a death SciPy returns an empty list.
        path = np.reshape(solution.y, (2, m, new)).transpose(0, 2, 1)
        kept_h[done : done + new], kept_a[done : done + new] = path
        done += new
        for j, found in zip(alive, solution.t_events[len(alive) :], strict=True):
            if len(found):
                turns[j] = min(turns[j], found[0])
        if done == len(times):
            break
        k = next(k for k in range(len(alive)) if len(solution.t_events[k]))
        now, state = solution.t_events[k][-1], solution.y_events[k][-1]
        a = state[m:].copy()
        dying = active & (state[:m] <= RELATIVE * np.abs(h))  # equal neurons die together
        dying[alive[k]] = True
        h = np.where(dying, 0.0, state[:m])
        deaths[dying], active = now, active & ~dying
    kept_h[done:], kept_a[done:] = h, a
    return NeuronPath(times, kept_h, kept_a, deaths, turns)


def angle_flow(
    h0: ArrayLike, a0: ArrayLike, times: ArrayLike, *, norm: float = 1.0, label: int = 1
) -> NeuronPath:
    """Integrate the one hyperbolic angle by which all active neurons move together, up to the first death.

    ``h_j +- y norm a_j`` grows as ``exp(+-s / 2)`` with ``s' = 2 norm sigmoid(-y u)``: one equation for any
    number of neurons.  Arguments as in :func:`lib.flow.neuron.neuron_flow`.  Raises ``ValueError`` for a
    neuron that is not active, or that dies before the last time, and for other bad arguments.

    Example: the times at which two output weights change sign.

    >>> angle_flow([0.9, 0.4], [-0.2, -0.1], [0.0, 5.0], norm=1.3).turns.round(6)
    array([0.434238, 0.495867])
    """
    h, a, times, norm, y = _checked(h0, a0, times, norm, label)
    if not (h > 0).all():
        raise ValueError(f"h0 holds {h.min()}, allowed: positive numbers (active neurons)")
    plus, minus = h + y * norm * a, h - y * norm * a
    rising, falling = np.sum(plus**2) / (4 * norm), np.sum(minus**2) / (4 * norm)

    def velocity(_: float, s: np.ndarray) -> np.ndarray:
        return 2 * norm * expit(-(rising * np.exp(s) - falling * np.exp(-s)))

    turning = np.flatnonzero((y * a < 0) & (plus > 0))
    ends = np.log(minus[turning] / plus[turning])
    solution = solve_ivp(
        velocity,
        (0.0, times[-1]),
        [0.0],
        method="DOP853",
        t_eval=times,
        events=[Crossing(_distance_to(end), 0, terminal=False) for end in ends] or None,
        rtol=RELATIVE,
        atol=ABSOLUTE,
    )
    half = (solution.y[0] if times[-1] > 0 else np.zeros(1))[:, None] / 2
    path_h = (plus * np.exp(half) + minus * np.exp(-half)) / 2
    path_a = y * (plus * np.exp(half) - minus * np.exp(-half)) / (2 * norm)
    if (path_h <= 0).any():
        dead = int(np.argwhere(path_h <= 0)[0, 1])
        raise ValueError(
            f"neuron {dead}, started at h0 = {h[dead]}, a0 = {a[dead]}, dies before the last time "
            f"{times[-1]}; neuron_flow goes on"
        )
    turns = np.full(len(h), np.inf)
    for j, found in zip(turning, solution.t_events or (), strict=True):
        turns[j] = np.append(found, np.inf)[0]
    return NeuronPath(times, path_h, path_a, np.full(len(h), np.inf), turns)


def _distance_to(end: float) -> Callable[[np.ndarray], float]:
    return lambda state: state[0] - end
