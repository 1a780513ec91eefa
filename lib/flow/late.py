"""Late stretches of a flow, by an implicit method in a time without the loss.

The loss of a separating network decays like 1/t, while in rescaled time, ``ds = L dt``, all is of order one
for ever: ``dtheta/ds = sum_i (|l'_i| / sum_k l_k) grad q_i`` with margins ``q_i``, where the weights of the
data react to differences of margins much faster than anything else: Radau's method with the exact Jacobian.
The time is carried along as ``log(1 + t)``.  The loss of data that no neuron sees never falls, and is left
out of L.  Where the forces balance, though none of them vanishes, the network rests.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import final

import numpy as np
from scipy.integrate import DenseOutput, OdeSolver, Radau
from scipy.optimize import brentq

from lib.flow.boundaries import Boundaries
from lib.flow.coordinates import TRIAL, Referred
from lib.flow.field import Field, Forces
from lib.flow.methods import Explicit, Method, Stretch, time_reached
from lib.flow.run import Run
from lib.flow.trajectory import Moment, Piece, Reason, Stop, Task, Trajectory, Weights
from lib.training.losses import Tail

_EXPLICIT_STEPS = 2000  # at most, before the late phase begins
_NEWTON = 1e-9  # tolerance below which the implicit method's equations drown in rounding
_BALANCE = 1e-9  # the sum of forces, relative to their sizes, that counts as their error
_FAINT = 1e-6  # a force of less than this part of all may be that of a datum whose margin grows for ever
_ESCAPE = 1e-6  # a rest is a saddle if something grows from it at more than this part of the largest rate
_NONE, _TINY = -1e300, 1e-300  # the logarithm of no loss at all, and what is as good as nothing
_LAST_PLAIN = 690.0  # natural logarithm of the last time that plain time is used for
_AHEAD = 10.0  # factor by which the clock grows before its tolerance, relative to that much, is chosen anew
_EARLY = 0.1  # the late phase begins when the loss has fallen to this fraction of its value at zero output


def late_flow(run: Run, tail: Tail, log_until: float, loss_below: float, max_steps: int) -> Trajectory:
    """Follow a flow of a loss with a tail from its start, first in plain time, then in rescaled time."""
    until = float(np.exp(min(log_until, _LAST_PLAIN)))
    run.align(until)
    zero = np.zeros(len(run.task.labels))
    fallen = _EARLY * float(run.task.share @ run.task.loss.value(zero, run.task.labels))
    # A loss of zero is never reached, though in floats it is.
    asked = loss_below or -1.0
    stop = run.integrate(Explicit(until), max(asked, fallen), min(max_steps, _EXPLICIT_STEPS))
    # Its last step may end the run as well: by the loss that was asked for, before the time, before the rest.
    # A loss that has only fallen, a tolerance out of reach and many steps are where the late phase starts.
    if run.field.has_loss_below(asked, run.state()):
        return run.trajectory(Stop(Reason.LOSS, f"the loss reached {asked:.3g}"))
    if log_until <= _LAST_PLAIN and run.now.time >= until:
        return run.trajectory(run.ends_at(log_until))
    if len(run.moments) > max_steps or stop.reason is Reason.EVENTS:
        return run.trajectory(stop)
    stop = run.integrate(Late(log_until, TailForces(run.field.task, tail)), asked, max_steps)
    if stop.reason is Reason.TIME:
        stop = run.ends_at(log_until)
    return run.trajectory(stop)


class TailForces(Forces):
    """The forces over the total loss of the data that are seen, ``c_i |l'_i| / sum_k c_k l_k``."""

    def __init__(self, task: Task, tail: Tail) -> None:
        super().__init__(task)
        self.tail, self.log_share = tail, np.log(task.share) + tail.log_factor

    def scaled(self, outputs: np.ndarray, boundaries: Boundaries) -> tuple[np.ndarray, np.ndarray]:
        """Return the forces (..., n), and the logarithm (...) of the loss that they are divided by."""
        margins = self.task.labels * outputs
        log_losses, log_slopes = self.tail.log_value(margins) + self.log_share, self.tail.log_slope(margins)
        # What no neuron sees moves none: its loss, which stays for ever, would slow the clock down.
        total = _log_sum_exp(log_losses if boundaries.all_seen else log_losses[..., boundaries.seen])
        sizes = np.exp(np.minimum(log_slopes + (self.log_share - total[..., None]), TRIAL))
        return self.task.labels * (sizes if boundaries.all_seen else sizes * boundaries.decides), total

    def at(self, outputs: np.ndarray, boundaries: Boundaries) -> np.ndarray:
        return self.scaled(outputs, boundaries)[0]

    def errors(self, outputs: np.ndarray, shift: np.ndarray, boundaries: Boundaries) -> np.ndarray:
        return np.abs(self.at(outputs, boundaries)) * np.expm1(np.minimum(shift, 1.0))

    def rates(self, outputs: np.ndarray, boundaries: Boundaries) -> np.ndarray:
        """Return the derivatives (n, n) of the forces in the outputs."""
        forces, labels = self.at(outputs, boundaries), self.task.labels
        bends = np.abs(forces) * self.tail.slope_rate(labels * outputs)
        return np.outer(forces, forces) + np.diag(bends)


def _log_sum_exp(logs: np.ndarray) -> np.ndarray:
    """Return ``log sum exp`` over the last axis; SciPy's takes ten times as long for a dozen numbers."""
    largest = logs.max(axis=-1, initial=_NONE)
    return largest + np.log(np.exp(logs - largest[..., None]).sum(axis=-1, initial=_TINY))


@final
@dataclass(frozen=True)
class Late(Method):
    """The continuation of a run in rescaled time; a state is that of the weights, then ``log(1 + t)``.

    ``log_until`` is the natural logarithm of the last time, and ``law`` has the forces in rescaled time.
    """

    log_until: float
    law: TailForces

    def enters(self, field: Field, now: Moment) -> tuple[Field, float]:
        coordinates = Referred(now.weights, trains_outputs=field.coordinates.trains_outputs)
        rtol = max(field.rtol, _NEWTON)
        return replace(field, coordinates=coordinates, rtol=rtol, law=self.law), 0.0

    def velocity(self, field: Field, _s: float, state: np.ndarray) -> np.ndarray:
        """Return the velocity (size + 1,) of a state in the time of the method."""
        inner, velocity = state[:-1], np.empty(len(state))
        v, c = field.coordinates.split(inner)
        forces, log_loss = self.law.scaled(field.outputs(v, c), field.boundaries)
        velocity[:-1] = field.driven(inner, v, c, forces)
        velocity[-1] = np.exp(min(-log_loss - state[-1], TRIAL))
        return velocity

    def jacobian(self, field: Field, _s: float, state: np.ndarray) -> np.ndarray:
        """Return the derivatives of `velocity`: those of the weights, then the clock's."""
        inner, jacobian = state[:-1], np.zeros((len(state), len(state)))
        outputs = field.outputs(*field.coordinates.split(inner))
        forces, log_loss = self.law.scaled(outputs, field.boundaries)
        speed = np.exp(min(-log_loss - state[-1], TRIAL))
        jacobian[:-1, :-1] = self._rates(field, inner)
        # d log L / d margin = -|l'_i| / sum l.
        jacobian[-1, :-1], jacobian[-1, -1] = speed * (forces @ field.gradients(inner)), -speed
        return jacobian

    def start(self, field: Field, now: Moment, first_step: float | None) -> Stretch:
        field, state = field.fitted(now.weights)
        clock = float(np.logaddexp(0.0, now.log_time))
        ahead = min(_AHEAD * max(1.0, clock), max(1.0, self.log_until))
        tolerances = np.append(np.full(len(state), field.rtol), field.rtol * ahead)
        solver = Radau(
            partial(self.velocity, field), now.s, np.append(state, clock), np.inf, rtol=1e-13,
            atol=tolerances, jac=partial(self.jacobian, field), first_step=first_step,
        )  # fmt: skip
        return Stretch(field, solver, ahead)

    def of_weights(self, states: np.ndarray) -> np.ndarray:
        return states[..., :-1]

    def end_of_step(self, solver: OdeSolver, dense: DenseOutput) -> tuple[float, Stop | None]:
        if _log_time(solver.y[-1]) < self.log_until:
            return solver.t, None
        end = _when(dense, self.log_until, solver.t_old, solver.t)
        return end, time_reached(self.log_until, "log time")

    def moment(
        self, field: Field, dense: DenseOutput, start: float, s: float, state: np.ndarray
    ) -> tuple[Moment, Piece]:
        read = field.coordinates.weights

        def path(_times: np.ndarray, log_times: np.ndarray) -> Weights:
            first, last = (_log_time(dense(end)[-1]) for end in (start, s))
            times = [_when(dense, min(t, last), start, s) if t > first else start for t in log_times]
            return read(dense(np.array(times)).T[:, :-1])

        with np.errstate(over="ignore"):
            time = float(np.expm1(state[-1]))
        return Moment(s, time, float(_log_time(state[-1])), read(state[:-1])), path

    def outgrown(self, stretch: Stretch, state: np.ndarray) -> bool:
        inner = stretch.field.coordinates.outgrown(state[:-1])
        return inner or bool(state[-1] > stretch.log_last)

    def at_rest(self, field: Field, now: Moment) -> Stop | None:
        state = field.coordinates.pack(now.weights)
        forces = field.forces(state, *field.coordinates.split(state))
        pushes = field.boundaries.gates * np.abs(forces) * field.boundaries.lines.norms
        sums = pushes.sum(axis=1)
        drive = field.boundaries.drive(forces)
        if (np.sqrt(np.vecdot(drive, drive)) > _BALANCE * sums).any():
            return None
        balanced = f"the forces balanced at log time {now.log_time:.6g}"
        shares = (pushes / np.where(sums > 0, sums, 1.0)[:, None]).max(axis=0)
        if ((shares > 0) & (shares < _FAINT)).any():
            return Stop(Reason.FAINT, f"{balanced}, but for faint ones that will act later")
        rates = np.linalg.eigvals(self._rates(field, state))
        if rates.real.max() > _ESCAPE * np.abs(rates).max():
            return Stop(Reason.SADDLE, f"{balanced}, at a saddle")
        return time_reached(self.log_until, "log time")

    def _rates(self, field: Field, state: np.ndarray) -> np.ndarray:
        """Return the derivatives (size, size) of the velocity in a state, the clock apart."""
        coordinates, boundaries = field.coordinates, field.boundaries
        v, c = coordinates.split(state)
        # What each datum of force one adds to the velocity, (n, size).
        velocities = coordinates.velocity(state, v, boundaries.drives())
        block = velocities.T @ self.law.rates(field.outputs(v, c), boundaries) @ field.gradients(state)
        # Under the drives that there are the velocity is affine in the state: its value at zero and at ones.
        probes = np.vstack([np.zeros(len(state)), np.eye(len(state))])
        drive = boundaries.drive(field.forces(state, v, c))
        at_probes = coordinates.velocity(probes, coordinates.split(probes)[0], drive)
        at_probes = np.broadcast_to(at_probes, probes.shape)
        return block + (at_probes[1:] - at_probes[0]).T


def _when(dense: DenseOutput, target: float, start: float, end: float) -> float:
    """Return the rescaled time of a step at which the logarithm of time is ``target``."""
    distance = lambda s: _log_time(dense(s)[-1]) - target  # noqa: E731
    return float(brentq(distance, start, end, xtol=1e-14 * end, rtol=1e-15))


def _log_time(clock: float) -> float:
    """Return ``log t`` of ``log(1 + t)``, for times from the beginning of the late phase on."""
    return clock + float(np.log(-np.expm1(-clock)))
