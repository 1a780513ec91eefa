"""Stiff and late stretches of a flow, by an implicit method.

Near its end a flow is stiff: steps of an explicit method stay as short as the fastest direction demands,
while nothing moves any more, or only as the logarithm of time.  Radau's method with the exact Jacobian then
takes steps of any length, in the logarithm of time (`Implicit`).

The loss of a separating network decays like 1/t, while in rescaled time, ``ds = L dt``, all is of order one
for ever (`Late`): ``dtheta/ds = sum_i (|l'_i| / sum_k l_k) grad q_i`` with margins ``q_i``, where the weights
of the data react to differences of margins much faster than anything else.  The time is carried along as
``log(1 + t)``.  The loss of data that no neuron sees never falls, and is left out of L.
Where the forces balance, though none of them vanishes, the network rests.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from scipy.integrate import DenseOutput, OdeSolver, Radau
from scipy.optimize import brentq
from scipy.special import expit, logsumexp

from lib.flow.boundaries import HELD, ON
from lib.flow.coordinates import TRIAL, Referred
from lib.flow.run import Explicit, Field, Forces, Run, time_reached
from lib.flow.trajectory import Reason, Stop, Trajectory, Weights
from lib.training.losses import EXPONENTIAL, LOGISTIC, TWICE_LOGISTIC

_EXPLICIT_STEPS = 2000  # before a flow may count as stiff
_MANY_STEPS = 2000  # it is stiff if more than so many are left
_LARGEST = 600  # entries of a state, at most: the Jacobian of larger ones costs more than explicit steps
_NEWTON = 1e-9  # tolerance below which the implicit method's equations drown in rounding
_BALANCE = 1e-9  # the sum of forces, relative to their sizes, that counts as their error
_ROUNDING = 1e-16  # error of a force relative to it
_DROWNED = 1e-4  # motion by rounding that hides what faint forces do
_COARSEST = 1e-6  # tolerance, at most, where rounding moves the state by more than it should be
_FAINT = 1e-6  # a force of less than this part of all may be that of a datum whose margin grows for ever
_LAST_PLAIN = 690.0  # natural logarithm of the last time that plain time is used for
_AHEAD = 10.0  # factor by which the clock grows before its tolerance, relative to that much, is chosen anew
_EARLY = 0.1  # the late phase begins when the loss has fallen to this fraction of its value at zero output


def log_logistic(margins: np.ndarray) -> np.ndarray:
    """Return ``log(log(1 + exp(-q)))`` for margins of any size."""
    # Above 36 the loss is exp(-q) to rounding, and its logarithm needs no exponential.
    return np.where(margins > 36, -margins, np.log(np.logaddexp(0, -np.minimum(margins, 36.0))))


TAILS: dict[str, tuple[Callable, Callable, Callable, float]] = {
    # log l, log |dl/dq| and the derivative of the latter in the margin q, and what is added to both logs
    LOGISTIC.name: (log_logistic, lambda q: -np.logaddexp(0, q), lambda q: -expit(q), 0.0),
    TWICE_LOGISTIC.name: (log_logistic, lambda q: -np.logaddexp(0, q), lambda q: -expit(q), np.log(2)),
    EXPONENTIAL.name: (np.negative, np.negative, lambda q: -np.ones_like(q), 0.0),
}


def plain_flow(run: Run, until: float, loss_below: float, max_steps: int) -> Trajectory:
    """Follow a flow from its start up to the time ``until``."""
    run.align(until)
    explicit = Explicit(run, until)
    stop = run.integrate(explicit, loss_below, min(max_steps, _EXPLICIT_STEPS))
    if stop.reason is not Reason.STEPS or len(run.times) > max_steps:
        return run.trajectory(stop)
    many = until - run.times[-1] > _MANY_STEPS * np.diff(run.times[-_EXPLICIT_STEPS // 10 :]).max()
    stiff = many and len(run.last_state()) <= _LARGEST and run.field.kinks is None
    return run.trajectory(run.integrate(Implicit(run, until) if stiff else explicit, loss_below, max_steps))


def late_flow(run: Run, log_until: float, loss_below: float, max_steps: int) -> Trajectory:
    """Follow a flow from its start, first in plain time, then in rescaled time up to ``exp(log_until)``."""
    until = float(np.exp(min(log_until, _LAST_PLAIN)))
    run.align(until)
    zero = np.zeros(len(run.task.labels))
    fallen = _EARLY * float(run.task.share @ run.task.loss.value(zero, run.task.labels))
    explicit = Explicit(run, until)
    stop = run.integrate(explicit, max(loss_below, fallen), min(max_steps, _EXPLICIT_STEPS))
    if stop.reason is Reason.TIME and log_until <= _LAST_PLAIN:
        run.log_times[-1], stop = log_until, time_reached(log_until, "log time")
    ended = run.log_times[-1] >= log_until or run.field.has_loss_below(loss_below, run.last_state())
    if ended or len(run.times) > max_steps or stop.reason is Reason.EVENTS:
        return run.trajectory(stop)
    # A loss of zero is never reached, though in floats it is.
    stop = run.integrate(Late(run, log_until), loss_below or -1.0, max_steps)
    if stop.reason is Reason.TIME:
        run.log_times[-1] = log_until  # without rounding
    return run.trajectory(stop)


def _referred(run: Run) -> Field:
    """Return the field of a run in units of references, at a tolerance that an implicit method can keep."""
    coordinates = Referred(run.recorded[-1], trains_outputs=run.field.trains_outputs)
    return replace(run.field, coordinates=coordinates, rtol=max(run.field.rtol, _NEWTON))


def _rates(field: Field, state: np.ndarray) -> np.ndarray:
    """Return the derivatives (size, size) of the velocity in a state, in units of references."""
    coordinates, boundaries = field.coordinates, field.boundaries
    assert isinstance(coordinates, Referred)
    v, c = coordinates.split(state)
    drives = (boundaries.drive(force) for force in np.eye(len(field.task.labels)))
    # What each datum of force one adds to the velocity, (n, size).
    velocities = np.array([coordinates.velocity(state, v, drive) for drive in drives])
    block = velocities.T @ field.law.rates(field.outputs(v, c)) @ field.gradients(state)
    return block + coordinates.coupling(boundaries.drive(field.forces(state, v, c)))


def _noise(field: Field, state: np.ndarray, time: float) -> np.ndarray:
    """Return how far rounding of the drives moves the state while the time grows by a factor of e."""
    v, c = field.coordinates.split(state)
    pushes = field.boundaries.gates * np.abs(field.forces(state, v, c))
    motion = field.coordinates.velocity(np.abs(state), np.abs(v), pushes @ np.abs(field.task.inputs))
    try:  # directions that come to rest fast are moved the less
        response = np.linalg.inv(np.eye(len(state)) / time - _rates(field, state))
    except np.linalg.LinAlgError:
        return np.full(len(state), np.inf)
    return _ROUNDING * np.abs(response) @ motion


def _rest(run: Run, time: float, log_time: float, end: Stop, faint: Stop | None) -> Stop | None:
    """Say why a run stops where its drives balance: ``faint`` where faint forces take part, ``end`` where it
    rests up to a time."""
    field, state = run.field, run.last_state()
    forces = field.forces(state, *field.coordinates.split(state))
    pushes = field.boundaries.gates * np.abs(forces) * field.boundaries.norms
    sums = pushes.sum(axis=1)
    if (np.linalg.norm(field.boundaries.drive(forces), axis=1) > _BALANCE * sums).any():
        return None
    shares = (pushes / np.where(sums > 0, sums, 1.0)[:, None]).max(axis=0)
    if ((shares > 0) & (shares < _FAINT)).any():
        return faint
    rates = np.linalg.eigvals(_rates(field, state))
    if rates.real.max() > _FAINT * np.abs(rates).max():
        return Stop(Reason.SADDLE, f"{_balanced(run)}, at a saddle")
    rest = run.recorded[-1]

    def path(_times: np.ndarray, log_times: np.ndarray) -> Weights:
        return Weights(*(np.repeat(part[None], len(log_times), axis=0) for part in rest))

    run.record(time, log_time, rest, path)
    return end


def _balanced(run: Run) -> str:
    return f"the forces balanced at log time {run.log_times[-1]:.6g}"


class Implicit(Explicit):
    """The continuation of a run by Radau's method, in the logarithm of time, up to the time ``until``."""

    def __init__(self, run: Run, until: float) -> None:
        run.field = _referred(run)
        self.run, self.until = run, until
        self.s, self.last, self.drift = run.log_times[-1], float(np.log(until)), np.zeros(1)

    def velocity(self, s: float, state: np.ndarray) -> np.ndarray:
        return np.exp(s) * self.run.field.velocity(state)

    def jacobian(self, s: float, state: np.ndarray) -> np.ndarray:
        return np.exp(s) * _rates(self.run.field, state)

    def solver(self, first_step: float | None) -> OdeSolver:
        self.renewed, field, state = self.s, self.run.field, self.renewed_state()
        first_step = first_step and min(first_step, self.last - self.s)
        # Errors that rounding makes anyway need no short steps.
        self.drift = _noise(field, state, np.exp(self.s))
        tolerances = np.clip(self.drift, field.rtol, max(field.rtol, _COARSEST))
        return Radau(
            self.velocity, self.s, state, self.last,
            rtol=1e-13, atol=tolerances, jac=self.jacobian, first_step=first_step,
        )  # fmt: skip

    def advance(self, dense: DenseOutput, start: float, s: float, state: np.ndarray) -> None:
        self.s, read = s, self.run.field.coordinates.weights
        time = float(np.exp(s)) if s < self.last else self.until
        self.run.record(time, s, read(state), lambda _times, log_times: read(dense(log_times).T))

    def outgrown(self, state: np.ndarray) -> bool:
        return super().outgrown(state) or self.s > self.renewed + 1

    def at_rest(self) -> Stop | None:
        end = time_reached(self.until)
        rest = super().at_rest() or _rest(self.run, self.until, self.last, end, None)
        if rest is None and self.drift.max() > _DROWNED:
            rest = Stop(Reason.FAINT, f"{_balanced(self.run)}, but for some too faint to be followed")
        return rest


class _TailForces(Forces):
    """The forces over the total loss of the data that are seen, ``c_i |l'_i| / sum_k c_k l_k``."""

    def __init__(self, field: Field) -> None:
        super().__init__(field.task)
        self.log_value, self.log_slope, self.log_slope_rate, factor = TAILS[field.task.loss.name]
        self.boundaries, self.log_share = field.boundaries, np.log(field.task.share) + factor

    def shares(self, outputs: np.ndarray) -> tuple[np.ndarray, float]:
        """Return the sizes of the forces (n,), and the logarithm of the loss that they are divided by."""
        margins, state = self.task.labels * outputs, self.boundaries.state
        # What no neuron sees moves none: its loss, which stays for ever, would slow the clock down.
        seen = (state == ON).any(axis=0) | (self.boundaries.slope > 0)
        log_losses = self.log_value(margins) + self.log_share
        total = float(logsumexp(log_losses[seen])) if seen.any() else -np.inf
        decides = seen | (state == HELD).any(axis=0)
        shares, log_slopes = np.zeros(len(margins)), self.log_slope(margins) + self.log_share
        shares[decides] = np.exp(np.minimum(log_slopes[decides] - total, TRIAL))
        return shares, total

    def at(self, outputs: np.ndarray) -> np.ndarray:
        return self.task.labels * self.shares(outputs)[0]

    def errors(self, outputs: np.ndarray, shift: np.ndarray) -> np.ndarray:
        return self.shares(outputs)[0] * np.expm1(np.minimum(shift, 1.0))

    def rates(self, outputs: np.ndarray) -> np.ndarray:
        shares, _ = self.shares(outputs)
        bends = shares * self.log_slope_rate(self.task.labels * outputs)
        return self.task.labels[:, None] * (np.outer(shares, shares) + np.diag(bends)) * self.task.labels


class Late(Explicit):
    """The continuation of a run in rescaled time; a state is that of the weights, then ``log(1 + t)``."""

    def __init__(self, run: Run, log_until: float) -> None:
        self.law = _TailForces(run.field)
        run.field = replace(_referred(run), law=self.law)
        self.run, self.log_until = run, log_until
        self.s, self.clock = 0.0, float(np.log1p(run.times[-1]))

    def velocity(self, _s: float, state: np.ndarray) -> np.ndarray:
        field, inner = self.run.field, state[:-1]
        field.evaluations += 1
        v, c = field.coordinates.split(inner)
        shares, log_loss = self.law.shares(field.outputs(v, c))
        drive = field.boundaries.drive(field.task.labels * shares)
        clock = np.exp(np.minimum(-log_loss - state[-1], TRIAL))
        return np.append(field.coordinates.velocity(inner, v, drive), clock)

    def jacobian(self, _s: float, state: np.ndarray) -> np.ndarray:
        """Return the derivatives of `velocity`: those of the weights, then the clock's."""
        field, inner = self.run.field, state[:-1]
        shares, log_loss = self.law.shares(field.outputs(*field.coordinates.split(inner)))
        speed = np.exp(np.minimum(-log_loss - state[-1], TRIAL))
        # d log L / d margin = -|l'_i| / sum l.
        by_weights = speed * ((shares * field.task.labels) @ field.gradients(inner))
        block = _rates(field, inner)
        return np.block([[block, np.zeros((len(block), 1))], [by_weights[None], np.full((1, 1), -speed)]])

    def solver(self, first_step: float | None) -> OdeSolver:
        self.ahead = min(_AHEAD * max(1.0, self.clock), max(1.0, self.log_until))
        state, rtol = np.append(self.renewed_state(), self.clock), self.run.field.rtol
        tolerances = np.append(np.full(len(state) - 1, rtol), rtol * self.ahead)
        return Radau(
            self.velocity, self.s, state, np.inf,
            rtol=1e-13, atol=tolerances, jac=self.jacobian, first_step=first_step,
        )  # fmt: skip

    def of_weights(self, states: np.ndarray) -> np.ndarray:
        return states[..., :-1]

    def end_of_step(self, dense: DenseOutput, start: float, end: float) -> tuple[float, Stop | None]:
        if _log_time(dense(end)[-1]) < self.log_until:
            return end, None
        return _when(dense, self.log_until, start, end), time_reached(self.log_until, "log time")

    def advance(self, dense: DenseOutput, start: float, s: float, state: np.ndarray) -> None:
        self.s, self.clock, read = s, float(state[-1]), self.run.field.coordinates.weights

        def path(_times: np.ndarray, log_times: np.ndarray) -> Weights:
            first, last = (_log_time(dense(end)[-1]) for end in (start, s))
            times = [_when(dense, min(t, last), start, s) if t > first else start for t in log_times]
            return read(dense(np.array(times)).T[:, :-1])

        with np.errstate(over="ignore"):
            time = float(np.expm1(self.clock))
        self.run.record(time, float(_log_time(self.clock)), read(state[:-1]), path)

    def outgrown(self, state: np.ndarray) -> bool:
        return super().outgrown(state[:-1]) or state[-1] > self.ahead

    def at_rest(self) -> Stop | None:
        faint = Stop(Reason.FAINT, f"{_balanced(self.run)}, but for faint ones that will act later")
        with np.errstate(over="ignore"):
            until, end = float(np.exp(self.log_until)), time_reached(self.log_until, "log time")
        return _rest(self.run, until, self.log_until, end, faint)


def _when(dense: DenseOutput, target: float, start: float, end: float) -> float:
    """Return the rescaled time of a step at which the logarithm of time is ``target``."""
    distance = lambda s: _log_time(dense(s)[-1]) - target  # noqa: E731
    return float(brentq(distance, start, end, xtol=1e-14 * end, rtol=1e-15))


def _log_time(clock: float) -> float:
    """Return ``log t`` of ``log(1 + t)``, for times from the beginning of the late phase on."""
    return clock + float(np.log(-np.expm1(-clock)))
