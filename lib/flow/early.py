"""The early phase of a small start, in closed form: outputs are negligible, and the forces constant.

Balanced neurons follow `lib.flow.alignment`.  For the others, let D be a neuron's drive while no activation
changes, ``e`` its direction and ``p = <w, e>``.  With both layers trained ``p + a`` grows as ``exp(|D| t)``
and ``p - a`` decays as ``exp(-|D| t)``; with the first layer alone ``p`` grows by ``a |D| t``; the part of w
orthogonal to e rests.  Durations are kept as logarithms: a first layer of size 1e-1000 aligns in a time of
that size.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.optimize import brentq
from scipy.special import logsumexp

from lib.flow.alignment import alignment_phase
from lib.flow.boundaries import ROUNDING, Boundaries
from lib.flow.trajectory import Event, Moment, Piece, Weights

_TIMES = 64  # times recorded during a balanced early phase
_OVER = 0.1  # natural logarithm of the factor by which the outputs may pass the ceiling
_LONGEST = 600.0  # natural logarithm of |D| t, at most: its exponential is a float
_LONG_AGO = 1e4  # natural logarithm of the ratio of two times of one stage, at most

_Step = tuple[Moment, Piece]
"""A moment, and the path before."""


def log_output_bound(weights: Weights, inputs: np.ndarray) -> np.ndarray:
    """Return the logarithm of ``sum_j |a_j| |w_j| max_i |x_i|``, at least the largest output."""
    longest = np.log(np.linalg.norm(inputs, axis=1).max())
    return logsumexp(weights.log_norms + weights.log_outputs, axis=-1) + longest


def balanced_phase(
    start: Weights, inputs: np.ndarray, forces: np.ndarray, slope: float, ceiling: float, until: float
) -> tuple[list[_Step], list[Event]]:
    """Return steps up to outputs of size ``exp(ceiling)`` or the time ``until``, and the events."""
    data = start.directions, start.signs, inputs, forces
    phase = alignment_phase(*data, slope=slope, until=until, sliding=True)

    def path(times: np.ndarray, _log_times: np.ndarray) -> Weights:
        directions, growth = phase.at(times)
        log_norms = growth + start.log_norms
        return Weights(directions, log_norms, np.broadcast_to(start.signs, log_norms.shape), log_norms)

    def excess(times: np.ndarray) -> np.ndarray:
        return log_output_bound(path(times, times), inputs) - ceiling

    low, end = 0.0, until
    over = excess(np.array([until]))[0]
    # Log-norms are convex in time, since <D_j, direction> never falls; so the ceiling is passed once.
    while over > _OVER:
        grid = np.linspace(low, end, _TIMES + 1)
        values = excess(grid)
        above = max(int(np.argmax(values >= 0)), 1)
        low, end, over = grid[above - 1], grid[above], values[above]
    times = np.linspace(0, end, _TIMES + 1)[1:]
    weights = path(times, times)
    steps: list[_Step] = [
        (Moment(float(t), float(t), float(np.log(t)), Weights(*(part[k] for part in weights))), path)
        for k, t in enumerate(times)
    ]
    return steps, [Event(*event) for event in phase.events[phase.events.time <= end].tolist()]


class Stage:
    """The closed form of one stage: constant drives (m, d) from given weights on."""

    def __init__(self, start: Weights, drives: np.ndarray, *, trains_outputs: bool) -> None:
        self.start, self.trains_outputs = start, trains_outputs
        self.speed = np.linalg.norm(drives, axis=1)
        self.along = drives / np.where(self.speed > 0, self.speed, 1.0)[:, None]
        # In units of the larger layer when both are trained, of |w| (unless it is zero) otherwise.
        self.unit = np.maximum(start.log_norms, start.log_outputs)
        if not trains_outputs:
            self.unit = np.where(np.isneginf(start.log_norms), start.log_outputs, start.log_norms)
        w = start.directions * np.exp(start.log_norms - self.unit)[:, None]
        self.p = np.einsum("md,md->m", w, self.along)
        self.across = w - self.p[:, None] * self.along
        self.a = start.signs * (np.exp(start.log_outputs - self.unit) if trains_outputs else 1.0)
        with np.errstate(divide="ignore"):
            self.log_rate = np.log(self.speed) + (0.0 if trains_outputs else start.log_outputs - self.unit)

    def after(self, log_durations: np.ndarray) -> Weights:
        """Return the weights (k, m, ...) after durations given by their logarithms (k,)."""
        logs = np.asarray(log_durations, dtype=float)[:, None] + self.log_rate
        w, a, shift = self._both_layers(logs) if self.trains_outputs else self._first_layer(logs)
        norms = np.linalg.norm(w, axis=-1)
        with np.errstate(divide="ignore"):
            log_norms = np.log(norms) + shift + self.unit
            outer = shift + self.unit if self.trains_outputs else self.start.log_outputs
            log_outputs = np.log(np.abs(a)) + outer
        return Weights(w / np.where(norms > 0, norms, 1.0)[..., None], log_norms, np.sign(a), log_outputs)

    def _both_layers(self, logs: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return w (k, m, d) and a (k, m) over ``exp(shift)``, and the shift (k, m), at logs of ``|D| t``."""
        growth = np.exp(np.minimum(logs, _LONGEST))
        rising, across = (self.p + self.a) / 2, self.across * np.exp(-growth)[..., None]
        # A neuron with nothing that rises or rests is on its way to zero, and in units of what falls.
        vanishing = (rising == 0) & (self.across == 0).all(axis=1)
        shift = np.where(vanishing, -growth, growth)
        falling = (self.p - self.a) / 2 * np.exp(-growth - shift)
        return across + (rising + falling)[..., None] * self.along, rising - falling, shift

    def _first_layer(self, logs: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return w over ``exp(shift)``, a as it is, and the shift, as `_both_layers`."""
        # In units of the start, later of |D| t; from zero in these at once, however short the time is.
        unit = np.maximum(logs, 0.0)
        from_zero = (self.p == 0) & (self.across == 0).all(axis=1)
        gain = np.exp(np.where(from_zero, 0.0, logs - unit))
        w = self.across * np.exp(-unit)[..., None]
        w = w + (self.p * np.exp(-unit) + self.a * gain)[..., None] * self.along
        return w, np.broadcast_to(self.a, unit.shape), np.where(from_zero, logs, unit)

    def log_crossings(self, state: np.ndarray, inputs: np.ndarray) -> np.ndarray:
        """Return the logarithms of the times at which pairs (m, n) leave the side of their ``state``."""
        rest, push = self.across @ inputs.T, self.along @ inputs.T
        p, a = self.p[:, None], self.a[:, None]
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            if not self.trains_outputs:
                # Leaves at rest + (p + a r) push = 0, if a push leads away from the state.
                away = (state * a * push < 0) & (state != 0)
                ratio = np.where(away, -(rest + p * push) / (a * push), np.inf)
                return np.log(np.maximum(ratio, 0.0)) - self.log_rate[:, None]
            # push P E^2 + rest E + push Q = 0 with E = exp(|D| t) > 1, falling through zero on this side.
            quadratic, constant = push * (p + a) / 2, push * (p - a) / 2
            discriminant = rest**2 - 4 * quadratic * constant
            half = -(rest + np.copysign(np.sqrt(np.maximum(discriminant, 0)), rest)) / 2
            roots = np.stack([half / quadratic, constant / half])
            slopes = state * (2 * quadratic * roots + rest)
            # A pair that rounding has put beyond its boundary, as a neuron like its own crossed it, follows.
            valid = (roots >= 1 - ROUNDING) & (slopes < 0) & (discriminant > 0) & (state != 0)
            growth = np.log(np.where(valid, np.maximum(roots, 1.0), np.inf)).min(axis=0)
            return np.log(growth) - self.log_rate[:, None]

    def log_turns(self) -> np.ndarray:
        """Return the logarithms of the times (m,) at which output weights change their sign."""
        if not self.trains_outputs:
            return np.full(len(self.p), np.inf)
        with np.errstate(divide="ignore", invalid="ignore"):
            growth = 0.5 * np.log((self.p - self.a) / (self.p + self.a))
            return np.where((growth > 0) & (self.a * self.p < 0), np.log(growth) - self.log_rate, np.inf)


def general_phase(
    start: Weights, boundaries: Boundaries, forces: np.ndarray, ceiling: float, until: float,
    change: Callable[[float, Weights, list[tuple[int, int]]], tuple[Weights, Boundaries]], *,
    trains_outputs: bool,
) -> list[_Step]:  # fmt: skip
    """Return steps as `balanced_phase`, one for each stage.

    At each activation change ``change``, of time, weights and pairs, returns the weights with those pairs on
    their boundary, and what the boundaries then are.
    """
    steps, over, inputs = list[_Step](), False, boundaries.lines.data
    time, log_time, weights = 0.0, -np.inf, start
    while not over:
        stage = Stage(weights, boundaries.drive(forces), trains_outputs=trains_outputs)
        crossings = stage.log_crossings(boundaries.state, inputs)
        turns = np.where((boundaries.state == 0).any(axis=1), stage.log_turns(), np.inf)
        with np.errstate(divide="ignore"):
            left = np.log(max(until - time, 0.0))
        log_step = min(crossings.min(), turns.min(), left)
        turning = turns <= log_step + ROUNDING  # neurons alike turn together

        def excess(log_step: float, stage: Stage = stage) -> float:
            return float(log_output_bound(stage.after(np.array([log_step])), inputs)[0]) - ceiling

        # The ceiling may end the last stage before its time, or before what would end it otherwise.
        over, pairs = log_step == left, list[tuple[int, int]]()
        if excess(log_step) >= 0:
            # Far below the ceiling the bound falls off as a cliff, where Brent's method bisects: many steps.
            log_step = brentq(excess, log_step - _LONG_AGO, log_step, xtol=1e-12, maxiter=1000)
            over = True
        elif log_step == crossings.min():
            pairs = [(int(j), int(i)) for j, i in np.argwhere(crossings == log_step)]
        elif log_step == turns.min():
            pairs = [(int(j), int(i)) for j, i in np.argwhere(turning[:, None] & (boundaries.state == 0))]
        (_, time, log_time, weights), path = _step(stage, time, log_time, log_step)
        if not over:
            # Rounding may leave an output weight that turns on its old side.
            signs = np.where(turning, -stage.start.signs, weights.signs)
            weights, boundaries = change(time, weights._replace(signs=signs), pairs)
        steps.append((Moment(time, time, log_time, weights), path))
    return steps


def _step(stage: Stage, time: float, log_time: float, log_step: float) -> _Step:
    """Return the end of a stage and its path as a function of times and their logarithms."""

    def path(_times: np.ndarray, log_times: np.ndarray) -> Weights:
        # log(t - t0), from the logarithms, which do not underflow; the first stage begins at t0 = 0.
        gap = np.minimum(log_time - log_times, 0.0) if np.isfinite(log_time) else -np.inf
        with np.errstate(divide="ignore"):
            return stage.after(log_times + np.log(-np.expm1(gap)))

    end = Weights(*(part[0] for part in stage.after(np.array([log_step]))))
    time += float(np.exp(log_step))
    return Moment(time, time, float(np.logaddexp(log_time, log_step)), end), path
