"""Event-driven gradient flow of both layers of a balanced two-layer (leaky) ReLU network.

With balanced layers, ``a_j = s_j |w_j|``, the flow lives on the directions ``v_j`` and the log-norms
``rho_j``:

    d rho_j/dt = s_j <D_j, v_j>,    d v_j/dt = s_j (D_j - <D_j, v_j> v_j),
    D_j = sum_i phi'(<v_j, x_i>) F_i x_i,

with forces ``F_i = -dl/df(x_i)``, divided by n for the mean [boursier2022, Eq. 9].  Log-norms make an
initial scale of 1e-1000 as cheap as 1e-6.  As long as the outputs are too small to change the forces the
exact closed forms of `lib.flow.alignment` are used.  After that, each change of an activation is located on
the dense output, the state of the unit is chosen as `lib.flow.boundaries` says, and the integrator (DOP853)
starts anew.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.integrate import DOP853
from scipy.optimize import brentq
from scipy.special import logsumexp

from lib.flow.alignment import alignment_phase
from lib.flow.boundaries import ON, Boundaries
from lib.flow.trajectory import Event, Trajectory, checked_start
from lib.losses import Loss

_LOOKS = np.array([0.25, 0.5, 0.75, 1.0])  # where in a step the activations are compared with their states
_ALIGNMENT_TIMES = 64  # times recorded during the exact early phase
_STALL = 200  # events in a row without progress of time


def gradient_flow(
    directions: np.ndarray,
    log_norms: np.ndarray,
    signs: np.ndarray,
    inputs: np.ndarray,
    labels: np.ndarray,
    loss: Loss,
    *,
    until: float,
    reduction: str = "mean",
    slope: float = 0.0,
    rtol: float = 1e-10,
    loss_below: float = 0.0,
    max_steps: int = 100_000,
) -> Trajectory:
    """Integrate the gradient flow from a balanced start until time ``until``, and return its trajectory.

    ``directions`` (m, d) are unit vectors, ``log_norms`` (m,) real numbers of any size, ``signs`` (m,) the
    signs of the output weights; ``inputs`` (n, d), ``labels`` (n,); ``slope`` of the leaky ReLU.  ``rtol``
    bounds the local error of a step, as a root mean square over directions and log-norms (that is, relative
    to the norms).  Outputs below ``1e-6 * rtol`` of the loss slope are neglected (exact early phase).  The
    run ends early when the total loss is at most ``loss_below``, after ``max_steps`` steps, or if events
    accumulate; ``stopped`` says which.  A loss with a kink is integrated by ever smaller steps across it.
    Once the forces are as small as their error (the square loss near the square of ``rtol``), a unit that
    meets a boundary stays there.
    Raises ``ValueError`` naming a bad argument.
    """
    v, rho, s, x, y = checked_start(directions, log_norms, signs, inputs, labels, reduction)
    if v.ndim != 2:
        raise ValueError(f"directions has shape {v.shape}, allowed: (m, d), one network at a time")
    for name, value, allowed in (("until", until, until > 0), ("rtol", rtol, 0 < rtol < 1)):
        if not (allowed and np.isfinite(value)):
            raise ValueError(
                f"{name} is {value}, allowed: positive and finite{', below 1' * (name == 'rtol')}"
            )
    if not 0 <= slope <= 1:
        raise ValueError(f"slope is {slope}, allowed: 0 (ReLU) to 1 (linear)")
    run = _Run(v, rho, s, x, y, loss, reduction, slope, rtol)
    run.align(until)
    return run.integrate(until, loss_below, max_steps)


class _Run:
    """One integration: the field, the boundaries' states, and what has been recorded so far."""

    def __init__(self, v, rho, signs, inputs, labels, loss, reduction, slope, rtol) -> None:
        self.signs, self.inputs, self.labels, self.loss, self.slope = signs, inputs, labels, loss, slope
        self.share = 1 / len(labels) if reduction == "mean" else 1.0
        self.shape, self.split, self.rtol = v.shape, v.size, rtol
        self.boundaries = Boundaries(inputs, signs, slope)
        self.times, self.states, self.pieces, self.events = [0.0], [self.pack(v, rho)], [], []
        self.evaluations = 0

    def pack(self, v: np.ndarray, rho: np.ndarray) -> np.ndarray:
        return np.concatenate([v.ravel(), rho])

    def unpack(self, state: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Split states (..., m d + m) into unit vectors and log-norms."""
        v = state[..., : self.split].reshape(*state.shape[:-1], *self.shape)
        return v / np.linalg.norm(v, axis=-1, keepdims=True), state[..., self.split :]

    def output(self, state: np.ndarray) -> np.ndarray:
        v, rho = self.unpack(state)
        # A trial stage of a step that will be rejected can overshoot; it must not overflow.
        norms2 = np.exp(np.minimum(2 * rho, 300.0))
        return (self.signs * norms2) @ (self.boundaries.gates * (v @ self.inputs.T))

    def forces(self, state: np.ndarray) -> np.ndarray:
        return -self.share * self.loss.slope(self.output(state), self.labels)

    def errors(self, state: np.ndarray) -> np.ndarray:
        """Return the errors of the forces (n,) that the error of one step can explain.

        The step's error is at most ``rtol`` as a root mean square over the state; it moves an output by at
        most its norm times that of the output's gradient.
        """
        v, rho = self.unpack(state)
        gates, norms2 = self.boundaries.gates, np.exp(2 * np.minimum(rho, 150.0))[:, None]
        gradient2 = norms2**2 * gates**2 * (self.boundaries.norms**2 + 4 * (v @ self.inputs.T) ** 2)
        shift = self.rtol * np.sqrt(state.size * gradient2.sum(axis=0))
        output = self.output(state)
        low, here, high = (self.loss.slope(output + k * shift, self.labels) for k in (-1, 0, 1))
        # The smaller change: a kink of the loss is no error.
        return self.share * np.minimum(np.abs(high - here), np.abs(here - low))

    def total_loss(self, state: np.ndarray) -> float:
        return float(self.share * self.loss.value(self.output(state), self.labels).sum())

    def field(self, _time: float, state: np.ndarray) -> np.ndarray:
        self.evaluations += 1
        v, _ = self.unpack(state)
        drive = self.boundaries.drive(self.forces(state))
        growth = (drive * v).sum(axis=1)
        return self.pack(drive - growth[:, None] * v, growth)

    def align(self, until: float) -> None:
        """Follow the closed forms while the outputs are negligible, and set the boundaries' states."""
        v, rho = self.unpack(self.states[0])
        slopes = self.loss.slope(np.zeros(len(self.labels)), self.labels)
        ceiling = np.log(1e-6 * self.rtol * np.abs(slopes).max() / np.linalg.norm(self.inputs, axis=1).max())

        def excess(log_norms: np.ndarray) -> np.ndarray:
            return logsumexp(2 * log_norms, axis=-1) - ceiling

        if excess(rho) < 0:
            phase = alignment_phase(
                v, self.signs, self.inputs, -self.share * slopes, slope=self.slope, until=until, sliding=True
            )

            def path(times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
                directions, growth = phase.at(times)
                return directions, growth + rho

            grid = np.linspace(0, until, 1001)
            above = np.flatnonzero(excess(path(grid)[1]) >= 0)
            end = until
            if above.size:
                bracket = grid[above[0] - 1], grid[above[0]]
                end = brentq(lambda t: excess(path(np.array([t]))[1])[0], *bracket)
            times = np.linspace(0, end, _ALIGNMENT_TIMES + 1)[1:]
            self.times.extend(times)
            self.states.extend(self.pack(*state) for state in zip(*path(times), strict=True))
            self.pieces.extend([path] * len(times))
            events = phase.events[phase.events.time <= end]
            self.events.extend(Event(float(t), int(j), int(i), bool(on)) for t, j, i, on in events)
        state = self.states[-1]
        for neuron in self.boundaries.start(self.unpack(state)[0]):
            self.boundaries.settle(neuron, self.forces(state), self.errors(state))

    def integrate(self, until: float, loss_below: float, max_steps: int) -> Trajectory:
        stopped, solver, stalled, first = "", None, 0, None
        if self.times[-1] >= until:
            stopped = f"time reached {until:.6g}"
        while not stopped:
            if solver is None:
                first = None if first is None else min(first, until - self.times[-1])
                # The error that matters is that of the directions and of the logarithms, whatever their size.
                options = {"atol": self.rtol, "rtol": 1e-13, "first_step": first}
                solver = DOP853(self.field, self.times[-1], self.states[-1], until, **options)
            message = solver.step()
            if solver.status == "failed":
                stopped = f"the step size underflowed at time {solver.t:.6g}: {message}"
                break
            first = solver.step_size
            dense = solver.dense_output()
            time, pairs = self.next_event(dense, solver.t_old, solver.t)
            stalled = stalled + 1 if pairs and time - self.times[-1] <= 1e-14 * time else 0
            self.record(time, dense(time), dense)
            if pairs:
                self.change(pairs)
                solver = None
            if self.total_loss(self.states[-1]) <= loss_below:
                stopped = f"the loss reached {loss_below:.3g}"
            elif time >= until:
                stopped = f"time reached {until:.6g}"
            elif len(self.times) > max_steps:
                stopped = f"{max_steps} steps were taken before time {until:.6g}"
            elif stalled > _STALL:
                stopped = f"events accumulate at time {time:.6g}"
        return self.trajectory(stopped)

    def record(self, time: float, state: np.ndarray, dense: Callable) -> None:
        self.times.append(time)
        self.states.append(state)
        self.pieces.append(lambda times: self.unpack(dense(times).T))

    def next_event(self, dense: Callable, start: float, end: float) -> tuple[float, list[tuple[int, int]]]:
        """Return the first time in a step at which some pairs change their state, and these pairs."""
        before, errors = start, self.errors(dense(start))
        for look in start + (end - start) * _LOOKS:
            state = dense(look)
            outdated = self.boundaries.outdated(self.unpack(state)[0], self.forces(state), errors)
            if outdated.any():
                pairs = [tuple(pair) for pair in np.argwhere(outdated)]
                times = [self.locate(self.distance(dense, errors, pair), before, look) for pair in pairs]
                first = min(times)
                return first, [pair for pair, t in zip(pairs, times, strict=True) if t == first]
            before = look
        return end, []

    def distance(self, dense: Callable, errors: np.ndarray, pair: tuple) -> Callable[[float], float]:
        """Return how far a pair is from changing its state, as a function of time in a step."""

        def distance(time: float) -> float:
            state = dense(time)
            return self.boundaries.distance(self.unpack(state)[0][pair[0]], self.forces(state), errors, *pair)

        return distance

    def locate(self, distance: Callable[[float], float], before: float, after: float) -> float:
        if distance(before) <= 0:
            return before
        return brentq(distance, before, after, xtol=1e-15 * max(after, 1e-3), rtol=1e-15)

    def change(self, pairs: list[tuple[int, int]]) -> None:
        """Put pairs on their boundary, choose their neurons' states anew, and record gains and losses."""
        v, rho = self.unpack(self.states[-1])
        forces, errors = self.forces(self.states[-1]), self.errors(self.states[-1])
        was_on = self.boundaries.state == ON
        for pair in pairs:
            v = self.boundaries.arrive(*pair, v)
        self.states[-1] = self.pack(v, rho)
        for neuron in {neuron for neuron, _ in pairs}:
            self.boundaries.settle(neuron, forces, errors)
        is_on = self.boundaries.state == ON
        for neuron, datum in np.argwhere(is_on != was_on):
            entering = bool(is_on[neuron, datum])
            self.events.append(Event(self.times[-1], int(neuron), int(datum), entering))

    def trajectory(self, stopped: str) -> Trajectory:
        directions, log_norms = self.unpack(np.array(self.states))
        return Trajectory(
            np.array(self.times), directions, log_norms, self.signs, self.inputs, self.slope,
            tuple(self.events), stopped, self.evaluations, tuple(self.pieces),
        )  # fmt: skip
