"""One run of the event-driven flow: smooth pieces, the events that end them, and the record."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from scipy.integrate import DenseOutput, OdeSolver
from scipy.linalg import LinAlgWarning
from scipy.optimize import brentq

from lib.flow.boundaries import HELD, ON, Boundaries, Lines
from lib.flow.coordinates import Balanced, Coordinates, Referred, Span
from lib.flow.early import balanced_phase, general_phase, log_output_bound
from lib.flow.field import Field, Forces
from lib.flow.methods import Explicit, Stretch, time_reached, trials
from lib.flow.trajectory import Event, Moment, Piece, Reason, Stop, Task, Trajectory, Weights

_LOOKS = np.linspace(0, 1, 5)  # where in a step the activations are compared with their states
_SOON = np.insert(_LOOKS, 1, 4.0 ** -np.arange(10, 1, -1))  # after an event: the step is as long as the last
_DIPS = 8  # so often a look is added where some activation seems to be nearest to its boundary
_NEGLECTED = 0.1  # part of the tolerance that the early phase may neglect of the forces
_STALL = 200  # events in a row without progress of time


class Run:
    """One integration, from the start to the reason why it stops."""

    def __init__(self, start: Weights, span: Span, task: Task, train: str, slope: float, rtol: float) -> None:
        reduced = task._replace(inputs=span.inputs)
        both = train == "both"
        self.balanced = both and bool((start.log_norms == start.log_outputs).all())
        coordinates: Coordinates = Referred(start, trains_outputs=both)
        if self.balanced:
            coordinates = Balanced(start.signs, span.inputs.shape[1])
        boundaries = Boundaries.at(span.directions, Lines(span.inputs), slope)
        self.field = Field(reduced, boundaries, coordinates, Forces(reduced), both, rtol)
        self.span, self.task, self.slope = span, task, slope
        self.moments = [Moment(0.0, 0.0, -np.inf, start)]
        self.pieces: list[Piece] = []
        self.events: list[Event] = []
        self.evaluations = 0
        self.turned_at = np.nan

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
        if tiny and self.balanced:
            steps, events = balanced_phase(start, inputs, -share * slopes, self.slope, ceiling, until)
            for step in steps:
                self.record(*step)
            self.events.extend(events)
        self._settle_start()
        if tiny and not self.balanced:
            for step in general_phase(
                start, self.field.boundaries, -share * slopes, ceiling, until, self._turn,
                trains_outputs=field.trains_outputs,
            ):  # fmt: skip
                self.record(*step)

    def _settle_start(self) -> None:
        """Set the states of boundaries and kinks from the last weights recorded."""
        weights, state, boundaries = self.now.weights, self.state(), self.field.boundaries
        boundaries = Boundaries.at(weights.directions, boundaries.lines, self.slope)
        field = replace(self.field, boundaries=boundaries).with_kinks(state)
        forces, errors = field.forces(state, *field.coordinates.split(state)), field.errors(state)
        for neuron in np.flatnonzero((boundaries.state == HELD).any(axis=1)).tolist():
            boundaries = boundaries.settled(neuron, weights.signs, forces, errors)
        self.field = replace(field, boundaries=boundaries)

    def _turn(
        self, time: float, weights: Weights, pairs: list[tuple[int, int]]
    ) -> tuple[Weights, Boundaries]:
        """Put pairs on their boundary, choose their neurons' states anew, and record gains and losses.

        Return the weights there, and the boundaries from there on.
        """
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
        with np.errstate(divide="ignore"):
            log_norms = weights.log_norms + (0.0 if self.balanced else np.log(sizes))
        w = w / np.where(sizes > 0, sizes, 1.0)[:, None]
        weights = weights._replace(directions=w, log_norms=log_norms)
        signs = weights.signs
        if field.trains_outputs and not self.balanced:  # just after: some may pass zero here
            passing = weights.log_outputs < weights.log_norms + np.log(1e-12)
            growth = np.einsum("md,md->m", field.boundaries.drive(forces), weights.directions)
            signs = np.where(passing, np.sign(growth), signs)
        for neuron in {neuron for neuron, _ in pairs}:
            chosen = boundaries.past_origin if vanished[neuron] else boundaries.settled
            boundaries = chosen(neuron, signs, forces, errors)
        is_on = boundaries.state == ON
        for neuron, datum in np.argwhere(is_on != (field.boundaries.state == ON)):
            self.events.append(Event(time, int(neuron), int(datum), bool(is_on[neuron, datum])))
        self.field = replace(field, boundaries=boundaries)
        return weights, boundaries

    def integrate(self, method: Explicit, loss_below: float, max_steps: int) -> Stop:
        """Follow smooth pieces from the last moment recorded on, and return why the run stops."""
        self.field, s = method.enters(self.field, self.now)
        self.moments[-1] = self.now._replace(s=s)
        stretch, stalled = method.start(self.field, self.now, None), 0
        stop = method.at_rest(stretch.field, self.now)
        while stop is None:
            before = self.now.s
            turning, outgrown, stop = self._advance(method, stretch, loss_below)
            s = self.now.s
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

    def _advance(
        self, method: Explicit, stretch: Stretch, loss_below: float
    ) -> tuple[bool, bool, Stop | None]:
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
        if pairs or data:
            self.turned_at = s
        if low:
            stop = Stop(Reason.LOSS, f"the loss reached {loss_below:.3g}")
        elif s < end:
            stop = None
        return bool(pairs or data), outgrown, stop

    def _next_event(
        self, method: Explicit, solver: OdeSolver, dense: DenseOutput, end: float
    ) -> tuple[float, list[tuple[int, int]], list[int]]:
        """Return the first time in a step at which some pairs, or data, change their state, and these."""
        field, held, n = self.field, self.field.boundaries.held, len(self.task.labels)
        errors = field.errors(method.of_weights(solver.y_old)) if held.size else np.empty(0)

        def distances(s: float | np.ndarray, held: np.ndarray = held) -> np.ndarray:
            # Numbers of pairs, row by row, and beyond them of data.
            return field.distances(method.of_weights(dense(s).T), errors, held)

        looks = solver.t_old + (end - solver.t_old) * (_SOON if solver.t_old == self.turned_at else _LOOKS)
        ahead = distances(looks)
        for _ in range(_DIPS):
            if (ahead[1:] < 0).any() or not (dips := _dips(looks, ahead)).size:
                break
            looks = np.sort(np.append(looks, dips))
            ahead = distances(looks)
        if not (ahead[1:] < 0).any():
            return end, [], []
        look = int((ahead[1:] < 0).any(axis=1).argmax())
        before, after = looks[look : look + 2]
        here, there = ahead[look : look + 2]
        changing = np.flatnonzero(there < 0)
        first, now = before, changing[here[changing] <= 0]
        while not now.size:
            # The one that a chord lets change first, unless others turn out to have changed before.
            k = changing[np.argmin(here[changing] / (here - there)[changing])]
            first = _locate(lambda s: float(distances(s, held[held == k // n])[k]), before, after)  # noqa: B023
            there, after = distances(first), first
            now, earlier = changing[there[changing] == there[k]], there < min(there[k], 0.0)
            if earlier.any():
                now, changing = now[:0], np.flatnonzero(earlier)
        pairs, turned = field.boundaries.state.size, now.tolist()
        return first, [divmod(k, n) for k in turned if k < pairs], [k - pairs for k in turned if k >= pairs]

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


def _dips(times: np.ndarray, distances: np.ndarray) -> np.ndarray:
    """Return when parabolas through three neighbouring rows (T, m) would be less than half their lowest."""
    t = times[:, None]
    with np.errstate(all="ignore"):  # where there is no parabola, nothing is below zero
        slopes = np.diff(distances, axis=0) / np.diff(t, axis=0)
        bend = np.diff(slopes, axis=0) / (t[2:] - t[:-2])
        lowest = (t[:-2] + t[1:-1]) / 2 - slopes[:-1] / (2 * bend)
        depth = distances[:-2] + (lowest - t[:-2]) * (slopes[:-1] + bend * (lowest - t[1:-1]))
        inside = (t[:-2] < lowest) & (lowest < t[2:])
        seen = np.minimum(np.minimum(distances[:-2], distances[1:-1]), distances[2:])
    return np.unique(lowest[(bend > 0) & inside & (depth < seen / 2)])


def _locate(distance: Callable[[float], float], before: float, after: float) -> float:
    """Return when a distance, above zero before, falls to zero."""
    for end, sign in ((before, 1), (after, -1)):  # on which side an end is, rounding may decide anew
        if sign * distance(end) <= 0:
            return end
    # At a large loss whole runs are over within times like 1e-36: no absolute scale of time is small.
    xtol = max(1e-15 * (after - before), np.finfo(float).tiny)
    return float(brentq(distance, before, after, xtol=xtol, rtol=1e-15))
