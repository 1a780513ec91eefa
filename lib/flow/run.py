"""One run of the event-driven flow: smooth pieces, the events that end them, and what was recorded."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.integrate import DOP853, OdeSolver
from scipy.optimize import brentq

from lib.flow.boundaries import ON
from lib.flow.early import balanced_phase, general_phase, log_output_bound
from lib.flow.field import Field
from lib.flow.kinks import HingeKinks
from lib.flow.span import Span
from lib.flow.trajectory import Event, Piece, Trajectory, Weights
from lib.training.losses import Loss

_LOOKS = np.array([0.25, 0.5, 0.75, 1.0])  # where in a step the activations are compared with their states
_NEGLECTED = 0.1  # part of the tolerance that the early phase may neglect of the forces
_STALL = 200  # events in a row without progress of time


def _trials() -> np.errstate:
    """Let trial stages overflow, which are then rejected."""
    return np.errstate(over="ignore", invalid="ignore")


class Run(Field):
    """One integration, from the start to the reason why it stops.

    Example: two stretches of one run.

    >>> from lib.training.losses import SQUARE
    >>> start = Weights(np.array([[1.0, 0.0]]), np.zeros(1), np.ones(1), np.zeros(1))
    >>> span = Span(np.array([[1.0, 0.0]]), start.directions)
    >>> run = Run(start, span, np.array([2.0]), SQUARE, "both", "mean", 0.0, 1e-10)
    >>> run.align(9.0), run.integrate(1.0, 0.0, 1000), run.integrate(9.0, 0.0, 1000)
    (None, 'time reached 1', 'time reached 9')
    >>> run.trajectory("done").outputs([9.0]).round(12)
    array([[2.]])
    """

    def __init__(
        self,
        start: Weights,
        span: Span,
        labels: np.ndarray,
        loss: Loss,
        train: str,
        reduction: str,
        slope: float,
        rtol: float,
    ) -> None:
        super().__init__(start, span.inputs, labels, loss, train, reduction, slope, rtol)
        self.span = span
        self.times, self.log_times, self.recorded = [0.0], [-np.inf], [start]
        self.pieces: list[Piece] = []
        self.events: list[Event] = []
        self.s = 0.0

    def align(self, until: float) -> None:
        """Follow the closed forms while the outputs are negligible, and set the boundaries' states."""
        start = self.recorded[0]
        slopes = self.loss.slope(np.zeros(len(self.labels)), self.labels)
        ceiling = np.log(_NEGLECTED * self.rtol) + np.log(np.abs(slopes).max())
        tiny = log_output_bound(start, self.inputs) < ceiling
        if tiny and self.balanced:
            steps, events = balanced_phase(
                start, self.inputs, -self.share * slopes, self.slope, ceiling, until
            )
            for time, weights, piece in steps:
                self.record(time, float(np.log(time)), weights, piece)
            self.events.extend(events)
        self.settle_start()
        if tiny and not self.balanced:
            for time, log_time, weights, piece in general_phase(
                start, self.boundaries, -self.share * slopes, ceiling, until, self.turn,
                trains_outputs=self.trains_outputs,
            ):  # fmt: skip
                self.record(time, log_time, weights, piece)
        self.s = self.times[-1]

    def settle_start(self) -> None:
        """Set the states of boundaries and kinks from the last weights recorded."""
        weights = self.recorded[-1]
        at_zero = self.boundaries.start(weights.directions)
        state = self.state_of(weights)
        v, c = self.split(state)
        if self.loss.name == "hinge":
            self.kinks = HingeKinks(self.labels * self.outputs(v, c))
            self.kinks.settle(self.margin_gradients(state))
        forces, errors = self.forces(state, v, c), self.errors(state)
        for neuron in at_zero:
            self.boundaries.settle(neuron, weights.signs, forces, errors)

    def turn(self, time: float, weights: Weights, pairs: list[tuple[int, int]]) -> Weights:
        """Put pairs on their boundary, choose their neurons' states anew, and record gains and losses."""
        vanished = self.coordinates.vanished(weights.log_norms)
        self.coordinates.renew(weights)
        w, state = weights.directions, self.state_of(weights)
        was_on = self.boundaries.state == ON
        for pair in pairs:
            if vanished[pair[0]]:
                w = np.where(np.arange(len(w))[:, None] == pair[0], 0.0, w)
            else:
                w = self.boundaries.arrive(pair, w)
        forces, errors = self.forces(state, *self.split(state)), self.errors(state)
        sizes = np.linalg.norm(w, axis=1)
        with np.errstate(divide="ignore"):
            log_norms = weights.log_norms + (0.0 if self.balanced else np.log(sizes))
        w = w / np.where(sizes > 0, sizes, 1.0)[:, None]
        weights = weights._replace(directions=w, log_norms=log_norms)
        signs = self.signs_after(weights, forces)
        for neuron in {neuron for neuron, _ in pairs}:
            choose = self.boundaries.cross_origin if vanished[neuron] else self.boundaries.settle
            choose(neuron, signs, forces, errors)
        is_on = self.boundaries.state == ON
        for neuron, datum in np.argwhere(is_on != was_on):
            self.events.append(Event(time, int(neuron), int(datum), bool(is_on[neuron, datum])))
        return weights

    def signs_after(self, weights: Weights, forces: np.ndarray) -> np.ndarray:
        """Return the signs of the output weights just after a time, also of those that pass zero there."""
        if self.balanced or not self.trains_outputs:
            return weights.signs
        passing = weights.log_outputs < weights.log_norms + np.log(1e-12)
        growth = np.einsum("md,md->m", self.boundaries.drive(forces), weights.directions)
        return np.where(passing, np.sign(growth), weights.signs)

    def solver(self, first_step: float | None, until: float) -> OdeSolver:
        # The error that matters is relative to the weights of a neuron: in these coordinates it is absolute.
        self.coordinates.renew(self.recorded[-1])
        first_step = first_step and min(first_step, until - self.s)
        options = {"rtol": 1e-13, "atol": self.rtol, "first_step": first_step}
        with _trials():
            solver = DOP853(self.field, self.s, self.last_state(), until, **options)
        if np.isnan(solver.h_abs):  # the trial stage that a first step is chosen by overflowed
            solver.h_abs = np.spacing(max(self.s, 1e-290))
        return solver

    def last_state(self) -> np.ndarray:
        return self.state_of(self.recorded[-1])

    def integrate(self, until: float, loss_below: float, max_steps: int) -> str:
        """Follow smooth pieces from the last weights recorded on, and return why the run stops."""
        if self.s >= until:
            return f"time reached {until:.6g}"
        if rest := self.at_rest():
            return rest
        solver, stalled = self.solver(None, until), 0
        while True:
            with _trials():
                message = self.step(solver)
            if solver.status == "failed":
                return f"the integrator failed at time {self.times[-1]:.6g}: {message}"
            dense = solver.dense_output()
            end, stopped = self.end_of_step(dense, solver.t_old, solver.t, until)
            s, pairs, data = self.next_event(dense, solver.t_old, end)
            state = solver.y if s == solver.t else dense(s)
            turning = bool(pairs or data)
            stalled = stalled + 1 if turning and s - self.s <= 1e-14 * abs(s) else 0
            self.advance(s, state, self.weights(state), self.piece(dense, solver.t_old, s))
            if data:
                self.cross_kinks(state, data)
            low, outgrown = self.has_loss_below(loss_below, state), self.outgrown(state)
            if pairs:
                self.recorded[-1] = self.turn(self.times[-1], self.recorded[-1], pairs)
            if low:
                return f"the loss reached {loss_below:.3g}"
            if stopped and s == end:
                return stopped
            if rest := self.at_rest():
                return rest
            if len(self.times) > max_steps:
                return f"{max_steps} steps were taken up to time {self.times[-1]:.6g}"
            if stalled > _STALL:
                return f"events accumulate at time {self.times[-1]:.6g}"
            if turning or outgrown:
                solver = self.solver(solver.step_size, until)

    def step(self, solver: OdeSolver) -> str | None:
        """Take a step, and return why it failed, if it did."""
        return solver.step()

    def end_of_step(self, dense: Callable, start: float, end: float, until: float) -> tuple[float, str]:
        """Return where a step from ``start`` to ``end`` is cut, and why the run stops there, if it does."""
        return end, f"time reached {until:.6g}" if end >= until else ""

    def at_rest(self) -> str:
        """Say why the run stops since nothing moves any more, if it does."""
        return ""

    def advance(self, s: float, state: np.ndarray, weights: Weights, piece: Piece) -> None:
        """Go to ``s``, the integrator's own time, and record the weights there."""
        self.s = s
        self.record(s, float(np.log(s)) if s > 0 else -np.inf, weights, piece)

    def piece(self, dense: Callable, start: float, end: float) -> Piece:
        read = self.coordinates.reader()
        return lambda times, _log_times: read(dense(times).T)

    def record(self, time: float, log_time: float, weights: Weights, piece: Piece) -> None:
        self.times.append(time)
        self.log_times.append(log_time)
        self.recorded.append(weights)
        self.pieces.append(piece)

    def next_event(
        self, dense: OdeSolver, start: float, end: float
    ) -> tuple[float, list[tuple[int, int]], list[int]]:
        """Return the first time in a step at which some pairs, or data, change their state, and these."""
        looks = start + (end - start) * _LOOKS
        states = dense(looks).T
        v, c = self.split(states)
        changes = self.boundaries.left(v)
        delicate = bool(self.boundaries.held.size) or self.kinks is not None
        if not (delicate or changes.any()):
            return end, [], []
        errors = self.errors(dense(start))
        before = start
        for look, state, changed, v_look, c_look in zip(looks, states, changes, v, c, strict=True):
            data: list[int] = []
            if delicate:
                forces = self.forces(state, v_look, c_look)
                # Not np.sign: the factors of tiny neurons underflow to a signed zero.
                changed = changed | self.boundaries.slipped(np.copysign(1.0, c_look), forces, errors)
                if self.kinks is not None:
                    data = np.flatnonzero(self.kink_distances(state) < 0).tolist()
            if changed.any() or data:
                pairs = [(int(j), int(i)) for j, i in np.argwhere(changed)]
                found = [self.locate(self.pair_distance(dense, errors, pair), before, look) for pair in pairs]
                found += [self.locate(self.datum_distance(dense, datum), before, look) for datum in data]
                first = min(found)
                return (
                    first,
                    [pair for pair, t in zip(pairs, found, strict=False) if t == first],
                    [datum for datum, t in zip(data, found[len(pairs) :], strict=True) if t == first],
                )
            before = look
        return end, [], []

    def pair_distance(self, dense: Callable, errors: np.ndarray, pair: tuple[int, int]) -> Callable:
        """Return how far a pair is from changing its state, as a function of the integrator's time."""

        def distance(s: float) -> float:
            state = dense(s)
            v, c = self.split(state)
            if self.boundaries.state[pair]:
                return self.boundaries.side(pair, v[pair[0]])
            return self.boundaries.grip(pair, np.copysign(1.0, c), self.forces(state, v, c), errors)

        return distance

    def datum_distance(self, dense: Callable, datum: int) -> Callable[[float], float]:
        """Return how far a datum is from its kink, as `pair_distance`."""
        return lambda s: float(self.kink_distances(dense(s))[datum])

    def locate(self, distance: Callable[[float], float], before: float, after: float) -> float:
        if distance(before) <= 0:
            return before
        # At a large loss whole runs are over within times like 1e-36: no absolute scale of time is small.
        xtol = max(1e-15 * (after - before), np.finfo(float).tiny)
        return float(brentq(distance, before, after, xtol=xtol, rtol=1e-15))

    def trajectory(self, stopped: str) -> Trajectory:
        """Return what was computed so far, in the space of the data."""
        parts = [np.array(part) for part in zip(*self.recorded, strict=True)]
        directions, log_norms, signs, log_outputs = self.span.lift(Weights(*parts))
        lifted = [lambda *times, piece=piece: self.span.lift(piece(*times)) for piece in self.pieces]
        return Trajectory(
            np.array(self.times), np.array(self.log_times), directions, log_norms, signs, log_outputs,
            self.span.original, self.slope, tuple(self.events), stopped, self.evaluations, tuple(lifted),
        )  # fmt: skip
