"""One run of the event-driven flow: the field, smooth pieces, the events that end them, and the record."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.integrate import DOP853, DenseOutput, OdeSolver
from scipy.linalg import LinAlgWarning
from scipy.optimize import brentq

from lib.flow.boundaries import HELD, ON, SHORT, Boundaries, HingeKinks
from lib.flow.coordinates import Balanced, Coordinates, Referred, Span
from lib.flow.early import balanced_phase, general_phase, log_output_bound
from lib.flow.trajectory import Event, Piece, Reason, Stop, Task, Trajectory, Weights

_LOOKS = np.array([0.25, 0.5, 0.75, 1.0])  # where in a step the activations are compared with their states
_NEGLECTED = 0.1  # part of the tolerance that the early phase may neglect of the forces
_STALL = 200  # events in a row without progress of time


class Forces:
    """The forces ``F_i = -share_i dl/df(x_i)`` of a task, as functions of its outputs (n,)."""

    def __init__(self, task: Task) -> None:
        self.task = task

    def at(self, outputs: np.ndarray) -> np.ndarray:
        """Return the forces (n,)."""
        return -self.task.share * self.task.loss.slope(outputs, self.task.labels)

    def errors(self, outputs: np.ndarray, shift: np.ndarray) -> np.ndarray:
        """Return by how much the forces (n,) change when the outputs move by ``shift`` (n,)."""
        low, here, high = (self.task.loss.slope(outputs + k * shift, self.task.labels) for k in (-1, 0, 1))
        # The smaller change: a kink of the loss is no error.
        return self.task.share * np.minimum(np.abs(high - here), np.abs(here - low))

    def rates(self, outputs: np.ndarray) -> np.ndarray:
        """Return the derivatives (n, n) of the forces in the outputs."""
        width = 1e-5 * np.maximum(np.abs(outputs), 1.0)
        low, high = (self.task.loss.slope(outputs + k * width, self.task.labels) for k in (-1, 1))
        return np.diag(-self.task.share * (high - low) / (2 * width))


@dataclass
class Field:
    """The velocity of states, as long as no activation and no datum of a hinge loss changes its state."""

    task: Task
    boundaries: Boundaries
    coordinates: Coordinates
    law: Forces
    trains_outputs: bool
    rtol: float
    kinks: HingeKinks | None = None
    evaluations: int = 0

    @property
    def balanced(self) -> bool:
        return isinstance(self.coordinates, Balanced)

    def outputs(self, v: np.ndarray, c: np.ndarray) -> np.ndarray:
        return c @ (self.boundaries.gates * (v @ self.task.inputs.T))

    def forces(self, state: np.ndarray, v: np.ndarray, c: np.ndarray) -> np.ndarray:
        """Return the forces (n,) of a state with its v and c."""
        if self.kinks is None:
            return self.law.at(self.outputs(v, c))
        needed = (self.kinks.state == HELD).any()
        gradients = self.margin_gradients(state) if needed else np.zeros((len(self.task.labels), 1))
        return self.task.share * self.task.labels * self.kinks.shares(gradients)

    def gradients(self, state: np.ndarray) -> np.ndarray:
        """Return the gradients (n, size) of the outputs in a state."""
        return self.coordinates.gradients(state, self.boundaries.gates, self.task.inputs)

    def margin_gradients(self, state: np.ndarray) -> np.ndarray:
        """Return the gradients of the margins in the weights that are trained, times the data's weights."""
        w, log_norms, signs, log_outputs = self.coordinates.weights(state)
        a = signs * np.exp(log_outputs)
        gates, inputs = self.boundaries.gates, self.task.inputs
        in_w = (a[:, None] * gates).T[:, :, None] * inputs[:, None]
        for j, projection in zip(self.boundaries.held, self.boundaries.projections, strict=True):
            in_w[:, j] = in_w[:, j] @ projection
        rows = in_w.reshape(len(inputs), -1)
        if self.trains_outputs:
            rows = np.hstack([rows, (gates * np.exp(log_norms)[:, None] * (w @ inputs.T)).T])
        return (self.task.share / self.task.share.max() * self.task.labels)[:, None] * rows  # ratios matter

    def errors(self, state: np.ndarray) -> np.ndarray:
        """Return the errors of the forces (n,) that the error of one step can explain."""
        # It is at most rtol as a root mean square over the state, and moves an output along its gradient.
        shift = self.rtol * np.sqrt(state.size) * np.linalg.norm(self.gradients(state), axis=1)
        return self.law.errors(self.outputs(*self.coordinates.split(state)), shift)

    def has_loss_below(self, threshold: float, state: np.ndarray) -> bool:
        values = self.task.loss.value(self.outputs(*self.coordinates.split(state)), self.task.labels)
        if self.kinks is not None:  # a datum held at its margin has no loss, whatever rounding says
            values = np.where(self.kinks.state == SHORT, values, 0.0)
        return float(self.task.share @ values) <= threshold

    def velocity(self, state: np.ndarray) -> np.ndarray:
        self.evaluations += 1
        v, c = self.coordinates.split(state)
        drive = self.boundaries.drive(self.forces(state, v, c))
        if self.boundaries.held.size:
            v = self.boundaries.steady(v, np.copysign(1.0, c)[:, None] * drive)
        return self.coordinates.velocity(state, v, drive)

    def distances(self, state: np.ndarray, errors: np.ndarray, held: np.ndarray) -> np.ndarray:
        """Return how far all pairs, and then all data of a hinge loss, are from changing their state.

        Of the neurons that are held on a boundary, only those given let go.
        """
        v, c = self.coordinates.split(state)
        pairs, data = self.boundaries.distances(v), np.empty(0)
        if held.size:
            # Not np.sign: the factors of tiny neurons underflow to a signed zero.
            signs, forces = np.copysign(1.0, c), self.forces(state, v, c)
            for neuron in held:
                grip = self.boundaries.grip(neuron, signs, forces, errors)
                pairs[neuron] = np.where(np.isfinite(grip), grip, pairs[neuron])
        if self.kinks is not None:
            shares = self.kinks.shares(self.margin_gradients(state))
            data = self.kinks.distances(self.task.labels * self.outputs(v, c), shares)
        return np.append(pairs, data)

    def cross_kinks(self, state: np.ndarray, data: list[int]) -> None:
        assert self.kinks is not None
        self.kinks.state[data] = HELD
        self.kinks.settle(self.margin_gradients(state))


class Run:
    """One integration, from the start to the reason why it stops."""

    def __init__(self, start: Weights, span: Span, task: Task, train: str, slope: float, rtol: float) -> None:
        reduced = task._replace(inputs=span.inputs)
        both = train == "both"
        balanced = both and bool((start.log_norms == start.log_outputs).all())
        coordinates: Coordinates = Referred(start, trains_outputs=both)
        if balanced:
            coordinates = Balanced(start.signs, span.inputs.shape[1])
        boundaries = Boundaries(span.inputs, len(start.signs), slope)
        self.field = Field(reduced, boundaries, coordinates, Forces(reduced), both, rtol)
        self.span, self.task, self.slope = span, task, slope
        self.times, self.log_times, self.recorded = [0.0], [-np.inf], [start]
        self.pieces: list[Piece] = []
        self.events: list[Event] = []

    def last_state(self) -> np.ndarray:
        return self.field.coordinates.pack(self.recorded[-1])

    def align(self, until: float) -> None:
        """Follow the closed forms while the outputs are negligible, and set the boundaries' states."""
        field, start = self.field, self.recorded[0]
        inputs, labels, loss, share = field.task
        slopes = loss.slope(np.zeros(len(labels)), labels)
        ceiling = np.log(_NEGLECTED * field.rtol) + np.log(np.abs(slopes).max())
        tiny = log_output_bound(start, inputs) < ceiling
        if tiny and field.balanced:
            steps, events = balanced_phase(start, inputs, -share * slopes, self.slope, ceiling, until)
            for step in steps:
                self.record(*step)
            self.events.extend(events)
        self._settle_start()
        if tiny and not field.balanced:
            for step in general_phase(
                start, field.boundaries, -share * slopes, ceiling, until, self._turn,
                trains_outputs=field.trains_outputs,
            ):  # fmt: skip
                self.record(*step)

    def _settle_start(self) -> None:
        """Set the states of boundaries and kinks from the last weights recorded."""
        field, weights = self.field, self.recorded[-1]
        at_zero = field.boundaries.start(weights.directions)
        state = self.last_state()
        v, c = field.coordinates.split(state)
        if field.task.loss.name == "hinge":
            field.kinks = HingeKinks(field.task.labels * field.outputs(v, c))
            field.kinks.settle(field.margin_gradients(state))
        forces, errors = field.forces(state, v, c), field.errors(state)
        for neuron in at_zero:
            field.boundaries.settle(neuron, weights.signs, forces, errors)

    def _turn(self, time: float, weights: Weights, pairs: list[tuple[int, int]]) -> Weights:
        """Put pairs on their boundary, choose their neurons' states anew, and record gains and losses."""
        field, boundaries = self.field, self.field.boundaries
        vanished = field.coordinates.vanished(weights.log_norms)
        field.coordinates = field.coordinates.renewed(weights)
        w, state = weights.directions, field.coordinates.pack(weights)
        was_on = boundaries.state == ON
        for pair in pairs:
            if vanished[pair[0]]:
                w = np.where(np.arange(len(w))[:, None] == pair[0], 0.0, w)
            else:
                w = boundaries.arrive(pair, w)
        forces, errors = field.forces(state, *field.coordinates.split(state)), field.errors(state)
        sizes = np.linalg.norm(w, axis=1)
        with np.errstate(divide="ignore"):
            log_norms = weights.log_norms + (0.0 if field.balanced else np.log(sizes))
        w = w / np.where(sizes > 0, sizes, 1.0)[:, None]
        weights = weights._replace(directions=w, log_norms=log_norms)
        signs = weights.signs
        if field.trains_outputs and not field.balanced:  # just after: some may pass zero here
            passing = weights.log_outputs < weights.log_norms + np.log(1e-12)
            growth = np.einsum("md,md->m", boundaries.drive(forces), weights.directions)
            signs = np.where(passing, np.sign(growth), signs)
        for neuron in {neuron for neuron, _ in pairs}:
            choose = boundaries.cross_origin if vanished[neuron] else boundaries.settle
            choose(neuron, signs, forces, errors)
        is_on = boundaries.state == ON
        for neuron, datum in np.argwhere(is_on != was_on):
            self.events.append(Event(time, int(neuron), int(datum), bool(is_on[neuron, datum])))
        return weights

    def integrate(self, method: Explicit, loss_below: float, max_steps: int) -> Stop:
        """Follow smooth pieces from the last weights recorded on, and return why the run stops."""
        if rest := method.at_rest():
            return rest
        field, solver, stalled = self.field, method.solver(None), 0
        while True:
            message = _step(solver)
            if solver.status == "failed":
                return Stop(Reason.FAILED, f"the integrator failed at time {self.times[-1]:.6g}: {message}")
            dense, before = solver.dense_output(), method.s
            end, stop = method.end_of_step(dense, solver.t_old, solver.t)
            s, pairs, data = self._next_event(method, dense, solver.t_old, end)
            state = solver.y if s == solver.t else dense(s)
            turning = bool(pairs or data)
            stalled = stalled + 1 if turning and s - before <= 1e-14 * abs(s) else 0
            method.advance(dense, solver.t_old, s, state)
            inner = method.of_weights(state)
            if data:
                field.cross_kinks(inner, data)
            low, outgrown = field.has_loss_below(loss_below, inner), method.outgrown(state)
            if pairs:
                self.recorded[-1] = self._turn(self.times[-1], self.recorded[-1], pairs)
            if low:
                return Stop(Reason.LOSS, f"the loss reached {loss_below:.3g}")
            if stop and s == end:
                return stop
            if rest := method.at_rest():
                return rest
            if len(self.times) > max_steps:
                return Stop(Reason.STEPS, f"{max_steps} steps were taken up to time {self.times[-1]:.6g}")
            if stalled > _STALL:
                return Stop(Reason.EVENTS, f"events accumulate at time {self.times[-1]:.6g}")
            if turning or outgrown:
                solver = method.solver(solver.step_size)

    def record(self, time: float, log_time: float, weights: Weights, piece: Piece) -> None:
        self.times.append(time)
        self.log_times.append(log_time)
        self.recorded.append(weights)
        self.pieces.append(piece)

    def _next_event(
        self, method: Explicit, dense: DenseOutput, start: float, end: float
    ) -> tuple[float, list[tuple[int, int]], list[int]]:
        """Return the first time in a step at which some pairs, or data, change their state, and these."""
        field, boundaries, before = self.field, self.field.boundaries, start
        looks, held, n = start + (end - start) * _LOOKS, boundaries.held, boundaries.state.shape[1]
        delicate = bool(held.size) or field.kinks is not None
        v, _ = field.coordinates.split(method.of_weights(dense(looks).T))
        if not delicate and (boundaries.distances(v) >= 0).all():
            return end, [], []
        errors = field.errors(method.of_weights(dense(start)))

        def distance(s: float, what: int | slice, held: np.ndarray) -> np.ndarray:
            return field.distances(method.of_weights(dense(s)), errors, held)[what]

        for look in looks:
            # Numbers of pairs, row by row, and beyond them of data.
            changing = np.flatnonzero(distance(look, slice(None), held) < 0)
            if changing.size:
                times = [_locate(distance, (k, held[held == k // n]), before, look) for k in changing]
                first, pairs = min(times), boundaries.state.size
                now = changing[np.array(times) == first].tolist()
                return first, [divmod(k, n) for k in now if k < pairs], [k - pairs for k in now if k >= pairs]
            before = look
        return end, [], []

    def trajectory(self, stop: Stop) -> Trajectory:
        """Return what was computed so far, in the space of the data."""
        parts = [np.array(part) for part in zip(*self.recorded, strict=True)]
        weights = self.span.lift(Weights(*parts))
        lifted = [lambda *times, piece=piece: self.span.lift(piece(*times)) for piece in self.pieces]
        return Trajectory(
            np.array(self.times), np.array(self.log_times), *weights, self.task, self.slope,
            tuple(self.events), stop.reason, stop.text, self.field.evaluations, tuple(lifted),
        )  # fmt: skip


class Explicit:
    """The method of most flows: DOP853 in plain time, from the last weights of a run up to ``until``.

    Others replace what they do otherwise, in a time ``s`` of their own with the end ``last``.
    """

    def __init__(self, run: Run, until: float) -> None:
        self.run, self.until = run, until
        self.s, self.last = run.times[-1], until

    def renewed_state(self) -> np.ndarray:
        """Return the last weights recorded as a state, in coordinates that fit them."""
        self.run.field.coordinates = self.run.field.coordinates.renewed(self.run.recorded[-1])
        return self.run.last_state()

    def solver(self, first_step: float | None) -> OdeSolver:
        """Return a solver that starts from the last weights recorded."""
        field, state = self.run.field, self.renewed_state()
        first_step = first_step and min(first_step, self.last - self.s)
        # The error that matters is relative to the weights of a neuron: in these coordinates it is absolute.
        options = {"rtol": 1e-13, "atol": field.rtol, "first_step": first_step}
        with _trials():
            solver = DOP853(lambda _, y: field.velocity(y), self.s, state, self.last, **options)
        if np.isnan(solver.h_abs):  # the trial stage that a first step is chosen by overflowed
            solver.h_abs = np.spacing(max(self.s, 1e-290))
        return solver

    def of_weights(self, states: np.ndarray) -> np.ndarray:
        """Return the part of states (..., size) that the weights make, in the field's coordinates."""
        return states

    def end_of_step(self, dense: DenseOutput, start: float, end: float) -> tuple[float, Stop | None]:
        """Return where a step from ``start`` to ``end`` is cut, and why the run stops there, if it does."""
        return end, time_reached(self.until) if end >= self.last else None

    def advance(self, dense: DenseOutput, start: float, s: float, state: np.ndarray) -> None:
        """Go to ``s`` within a step from ``start``, and record the weights there and the path to them."""
        self.s, read = s, self.run.field.coordinates.weights
        log_time = float(np.log(s)) if s > 0 else -np.inf
        self.run.record(s, log_time, read(state), lambda times, _log_times: read(dense(times).T))

    def outgrown(self, state: np.ndarray) -> bool:
        """Say whether the solver should start anew, with coordinates that fit a state."""
        return self.run.field.coordinates.outgrown(state)

    def at_rest(self) -> Stop | None:
        """Say why the run stops here, since its time is over or nothing moves any more, if it does."""
        return time_reached(self.until) if self.s >= self.last else None


def time_reached(until: float, of: str = "time") -> Stop:
    return Stop(Reason.TIME, f"{of} reached {until:.6g}")


def _trials() -> np.errstate:
    """Let trial stages overflow, which are then rejected."""
    return np.errstate(over="ignore", invalid="ignore")


def _step(solver: OdeSolver) -> str | None:
    """Take a step, and return why it failed, if it did."""
    with _trials(), warnings.catch_warnings():
        warnings.simplefilter("error", LinAlgWarning)
        try:
            return solver.step()
        except LinAlgWarning:
            solver.status = "failed"
            return "rounding hides what still moves"


def _locate(distance: Callable, what: tuple, before: float, after: float) -> float:
    """Return when the distance, of a time and ``what``, falls to zero."""
    if distance(before, *what) <= 0:
        return before
    # At a large loss whole runs are over within times like 1e-36: no absolute scale of time is small.
    xtol = max(1e-15 * (after - before), np.finfo(float).tiny)
    return float(brentq(distance, before, after, args=what, xtol=xtol, rtol=1e-15))
