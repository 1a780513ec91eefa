"""One run of the event-driven flow: smooth pieces, the events that end them, and the record."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
from scipy.integrate import DenseOutput, OdeSolver
from scipy.linalg import LinAlgWarning

from lib.flow.boundaries import HELD, ON, ROUNDING, Boundaries, Lines
from lib.flow.coordinates import Coordinates, Span
from lib.flow.early import balanced_phase, general_phase, log_output_bound
from lib.flow.events import first_change
from lib.flow.field import Field, Forces
from lib.flow.methods import Method, Stretch, time_reached, trials
from lib.flow.trajectory import Event, Moment, Piece, Reason, Stop, Task, Trajectory, Weights

_NEGLECTED = 0.1  # part of the tolerance that the early phase may neglect of the forces
_STALL = 200  # events in a row without progress of time


class Run:
    """One integration, from the start to the reason why it stops."""

    def __init__(
        self, start: Weights, coordinates: Coordinates, span: Span, task: Task, slope: float, rtol: float
    ) -> None:
        reduced = task._replace(inputs=span.inputs)
        boundaries = Boundaries.at(span.directions, Lines(span.inputs), slope)
        self.field = Field(reduced, boundaries, coordinates, Forces(reduced), rtol)
        self.span, self.task, self.slope = span, task, slope
        self.moments = [Moment(0.0, 0.0, -np.inf, start)]
        self.pieces: list[Piece] = []
        self.events: list[Event] = []
        self.evaluations = 0

    @property
    def now(self) -> Moment:
        """The last moment recorded."""
        return self.moments[-1]

    def record(self, moment: Moment, piece: Piece) -> None:
        """Record a moment, and the path that leads to it."""
        self.moments.append(moment)
        self.pieces.append(piece)

    def state(self) -> np.ndarray:
        """Return the state now, in the field's coordinates."""
        return self.field.coordinates.pack(self.now.weights)

    def ends_at(self, log_time: float) -> Stop:
        """Follow what has come to rest up to a logarithm of time, or correct the last one for rounding."""
        now, rest = self.now._replace(log_time=log_time), self.now.weights
        if self.now.log_time >= log_time - 1e-9 * (1 + abs(log_time)):
            self.moments[-1] = now
            return time_reached(log_time, "log time")

        def path(_times: np.ndarray, log_times: np.ndarray) -> Weights:
            return Weights(*(np.repeat(part[None], len(log_times), axis=0) for part in rest))

        with np.errstate(over="ignore"):
            self.record(now._replace(time=float(np.exp(log_time))), path)
        return time_reached(log_time, "log time")

    def align(self, until: float) -> None:
        """Follow the closed forms while the outputs are negligible, and set the boundaries' states."""
        field, start = self.field, self.now.weights
        inputs, labels, loss, share = field.task
        slopes = loss.slope(np.zeros(len(labels)), labels)
        ceiling = np.log(_NEGLECTED * field.rtol) + np.log(np.abs(slopes).max())
        tiny = log_output_bound(start, inputs) < ceiling
        balanced = start.balanced and field.coordinates.trains_outputs
        if tiny and balanced:
            steps, events = balanced_phase(start, inputs, -share * slopes, self.slope, ceiling, until)
            for step in steps:
                self.record(*step)
            self.events.extend(events)
        self._settle_start()
        if tiny and not balanced:
            for step in general_phase(
                start, self.field.boundaries, -share * slopes, ceiling, until, self._turn,
                trains_outputs=field.coordinates.trains_outputs,
            ):  # fmt: skip
                self.record(*step)

    def _settle_start(self) -> None:
        """Set the states of boundaries and kinks from the last weights recorded."""
        weights, state, boundaries = self.now.weights, self.state(), self.field.boundaries
        boundaries = Boundaries.at(weights.directions, boundaries.lines, self.slope)
        field = replace(self.field, boundaries=boundaries).with_kinks(state)
        forces, errors = field.forces(state, *field.coordinates.split(state)), field.errors(state)
        at_zero = np.flatnonzero((boundaries.state == HELD).any(axis=1)).tolist()
        boundaries = boundaries.settled(at_zero, weights.signs, forces, errors)
        self.field = replace(field, boundaries=boundaries)

    def _turn(
        self, time: float, weights: Weights, pairs: list[tuple[int, int]]
    ) -> tuple[Weights, Boundaries]:
        """Put pairs on their boundary, choose their neurons' states anew, and record gains and losses.

        Return the weights there, and the boundaries from there on.
        """
        # In this order: by references that fit, no neuron has vanished.
        vanished = self.field.coordinates.vanished(weights.log_norms)
        field, state = self.field.fitted(weights)
        forces, errors = field.forces(state, *field.coordinates.split(state)), field.errors(state)
        boundaries, w = field.boundaries, weights.directions.copy()
        for neuron, datum in pairs:
            if vanished[neuron]:
                w[neuron] = 0.0
            else:
                boundaries, w[neuron] = boundaries.arrived(neuron, datum, w[neuron])
        sizes = np.linalg.norm(w, axis=1)
        with np.errstate(divide="ignore"):  # balanced ones keep their norms, which are their outputs' as well
            log_norms = weights.log_norms if weights.balanced else weights.log_norms + np.log(sizes)
        w = w / np.where(sizes > 0, sizes, 1.0)[:, None]
        weights = weights._replace(directions=w, log_norms=log_norms)
        signs = weights.signs
        if field.coordinates.trains_outputs:  # just after: some may pass zero here, as da/dt = <D, w> says
            passing = weights.log_outputs < weights.log_norms + np.log(ROUNDING)
            growth = np.einsum("md,md->m", field.boundaries.drive(forces), weights.directions)
            signs = np.where(passing, np.sign(growth), signs)
        turning = {neuron for neuron, _ in pairs}
        at_origin = [neuron for neuron in turning if vanished[neuron]]
        boundaries = boundaries.settled([*turning.difference(at_origin)], signs, forces, errors)
        for neuron in at_origin:
            boundaries = boundaries.past_origin(neuron, signs, forces, errors)
        is_on = boundaries.state == ON
        for neuron, datum in np.argwhere(is_on != (field.boundaries.state == ON)):
            self.events.append(Event(time, int(neuron), int(datum), bool(is_on[neuron, datum])))
        self.field = replace(field, boundaries=boundaries)
        return weights, boundaries

    def integrate(self, method: Method, loss_below: float, max_steps: int) -> Stop:
        """Follow smooth pieces from the last moment recorded on, and return why the run stops."""
        self.field, s = method.enters(self.field, self.now)
        self.moments[-1] = self.now._replace(s=s)
        stretch, stalled = method.start(self.field, self.now, None), 0
        stop = method.at_rest(stretch.field, self.now)
        while stop is None:
            before = self.now.s
            turning, outgrown, stop = self._advance(method, stretch, loss_below)
            s = self.now.s
            # Events that are no further apart than rounding of the time is.
            stalled = stalled + 1 if turning and s - before <= 1e-14 * abs(s) else 0
            stop = stop or method.at_rest(self.field, self.now)
            if stop is None and len(self.moments) > max_steps:
                stop = Stop(Reason.STEPS, f"{max_steps} steps were taken up to time {self.now.time:.6g}")
            if stop is None and stalled > _STALL:
                stop = Stop(Reason.EVENTS, f"events accumulate at time {self.now.time:.6g}")
            if stop is not None or turning or outgrown:
                self.evaluations += stretch.solver.nfev
            if stop is None and (turning or outgrown):
                stretch = method.start(self.field, self.now, stretch.solver.step_size)
        return stop

    def _advance(self, method: Method, stretch: Stretch, loss_below: float) -> tuple[bool, bool, Stop | None]:
        """Take a step, up to the first event in it, and record where it ends.

        Return whether there was an event, whether the stretch is outgrown, and why the run stops, if it does.
        """
        self.field, solver, _ = stretch
        field, message = self.field, _step(solver)
        if solver.status == "failed":
            text = f"the integrator failed at time {self.now.time:.6g}: {message}"
            return False, False, Stop(Reason.FAILED, text)
        dense = solver.dense_output()
        end, stop = method.end_of_step(solver, dense)
        s, pairs, data = self._next_event(method, solver, dense, end)
        state = solver.y if s == solver.t else dense(s)
        moment, path = method.moment(field, dense, solver.t_old, s, state)
        inner = method.of_weights(state)
        self.field = field = field.at_kinks(data, inner)
        low, outgrown = field.has_loss_below(loss_below, inner), method.outgrown(stretch, state)
        if pairs:
            moment = moment._replace(weights=self._turn(moment.time, moment.weights, pairs)[0])
        self.record(moment, path)
        if low:
            stop = Stop(Reason.LOSS, f"the loss reached {loss_below:.3g}")
        elif s < end:
            stop = None
        return bool(pairs or data), outgrown, stop

    def _next_event(
        self, method: Method, solver: OdeSolver, dense: DenseOutput, end: float
    ) -> tuple[float, list[tuple[int, int]], list[int]]:
        """Return the first time in a step at which some pairs, or data, change their state, and these."""
        field, held, n = self.field, self.field.boundaries.held, len(self.task.labels)
        errors = field.errors(method.of_weights(solver.y_old)) if held.size else np.empty(0)

        def distances(s: float | np.ndarray, held: np.ndarray = held) -> np.ndarray:
            # Numbers of pairs, row by row, and beyond them of data.
            return field.distances(method.of_weights(dense(s).T), errors, held)

        def distance(index: int, s: float) -> float:
            return float(distances(s, held[held == index // n])[index])

        s, changed = first_change(distances, distance, solver.t_old, end)
        pairs, indices = field.boundaries.state.size, changed.tolist()
        return s, [divmod(k, n) for k in indices if k < pairs], [k - pairs for k in indices if k >= pairs]

    def trajectory(self, stop: Stop) -> Trajectory:
        """Return what was computed so far, in the space of the data."""
        _, times, log_times, recorded = zip(*self.moments, strict=True)
        weights = self.span.lift(Weights(*(np.array(part) for part in zip(*recorded, strict=True))))
        lifted = [lambda *times, piece=piece: self.span.lift(piece(*times)) for piece in self.pieces]
        return Trajectory(
            np.array(times), np.array(log_times), *weights, self.task, self.slope,
            tuple(self.events), stop.reason, stop.text, self.evaluations, tuple(lifted),
        )  # fmt: skip


def _step(solver: OdeSolver) -> str | None:
    """Take a step, and return why it failed, if it did."""
    with trials(), warnings.catch_warnings():
        warnings.simplefilter("error", LinAlgWarning)
        try:
            return solver.step()
        except LinAlgWarning:
            solver.status = "failed"
            return "rounding hides what still moves"
