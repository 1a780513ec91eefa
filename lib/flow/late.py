"""The late phase of a classification, in loss-rescaled time ``ds = L dt``, by an implicit method.

The loss of a separating network decays like 1/t, so that plain time stretches without end, while ``d/ds`` is
of order one for ever: ``dtheta/ds = sum_i (|l'_i| / sum_k l_k) grad q_i`` with margins ``q_i``.  The weights
of the data in it, all from logarithms, react to differences of margins within ``|grad q|^-2``, much faster
than anything else: the equation is stiff, and Radau's method with the exact Jacobian is used.  The time is
carried along as ``log(1 + t)``, whose speed is ``exp(-log L - log(1 + t))``.

The loss of data that no neuron sees never falls, and is left out of L.  Where the forces of the others
balance, since these cannot be separated, the network rests.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit, logsumexp

from lib.flow.boundaries import HELD, ON
from lib.flow.coordinates import _TRIAL
from lib.flow.run import Run
from lib.flow.stiff import StiffRun
from lib.flow.trajectory import Piece, Trajectory, Weights
from lib.training.losses import EXPONENTIAL, LOGISTIC, TWICE_LOGISTIC, Loss

_LAST_PLAIN = 690.0  # natural logarithm of the last time that plain time is used for
_EARLY = 0.1  # the late phase begins when the loss has fallen to this fraction of its value at zero output
_PLAIN_STEPS = 2000  # or after this many steps


def log_logistic(margins: np.ndarray) -> np.ndarray:
    """Return ``log(log(1 + exp(-q)))`` for margins of any size.

    Example:

    >>> log_logistic(np.array([-1e3, 0.0, 1e8])).round(3)
    array([ 6.908e+00, -3.670e-01, -1.000e+08])
    """
    # Above 36 the loss is exp(-q) to rounding, and its logarithm needs no exponential.
    return np.where(margins > 36, -margins, np.log(np.logaddexp(0, -np.minimum(margins, 36.0))))


_LOGARITHMS: dict[str, tuple[Callable, Callable, Callable]] = {
    # log l, log |dl/dq| and the derivative of the latter, as functions of the margin q
    LOGISTIC.name: (log_logistic, lambda q: -np.logaddexp(0, q), lambda q: -expit(q)),
    TWICE_LOGISTIC.name: (
        lambda q: np.log(2) + log_logistic(q),
        lambda q: np.log(2) - np.logaddexp(0, q),
        lambda q: -expit(q),
    ),
    EXPONENTIAL.name: (np.negative, np.negative, lambda q: -np.ones_like(q)),
}


def has_tail(loss: Loss) -> bool:
    """Say whether a loss has the exponential tail that the late phase needs.

    Example:

    >>> has_tail(LOGISTIC)
    True
    """
    return loss.name in _LOGARITHMS


def late_flow(run: Run, log_until: float, loss_below: float, max_steps: int) -> Trajectory:
    """Follow a flow from its start, first in plain time, then in rescaled time up to ``exp(log_until)``.

    Example: the margin ``q = w^2`` of one neuron grows like ``log t + log log t``.

    >>> from lib.flow.span import Span
    >>> x = np.array([[1.0]])
    >>> start = Weights(x, np.zeros(1), np.ones(1), np.zeros(1))
    >>> run = Run(start, Span(x, x), np.ones(1), LOGISTIC, "both", "mean", 0.0, 1e-10)
    >>> flow = late_flow(run, 1e6, 0.0, 10_000)
    >>> flow.stopped, np.exp(2 * flow.log_norms[-1, 0]).round() - 1e6
    ('log time reached 1e+06', np.float64(15.0))
    """
    until = float(np.exp(min(log_until, _LAST_PLAIN)))
    run.align(until)
    zero = np.zeros(len(run.labels))
    fallen = _EARLY * run.share * float(run.loss.value(zero, run.labels).sum())
    stopped = run.integrate(until, max(loss_below, fallen), min(max_steps, _PLAIN_STEPS))
    if stopped.startswith("time") and log_until <= _LAST_PLAIN:
        run.log_times[-1], stopped = log_until, _reached(log_until)
    ended = run.log_times[-1] >= log_until or run.total_loss(run.last_state()) <= loss_below
    if ended or len(run.times) > max_steps or stopped.startswith("events"):
        return run.trajectory(stopped)
    late = LateRun(run, log_until)
    stopped = late.integrate(np.inf, loss_below, max_steps)
    if stopped == _reached(log_until):
        late.log_times[-1] = log_until  # without rounding
    return late.trajectory(stopped)


def _reached(log_until: float) -> str:
    return f"log time reached {log_until:.6g}"


class LateRun(StiffRun):
    """The continuation of a run in rescaled time; a state is that of the weights, then ``log(1 + t)``.

    Example:

    >>> from lib.flow.span import Span
    >>> x = np.array([[1.0]])
    >>> start = Weights(x, np.zeros(1), np.ones(1), np.zeros(1))
    >>> run = Run(start, Span(x, x), np.ones(1), LOGISTIC, "both", "mean", 0.0, 1e-10)
    >>> run.align(9.0), run.integrate(9.0, 0.0, 1000)
    (None, 'time reached 9')
    >>> late = LateRun(run, log_until=1e3)
    >>> late.integrate(np.inf, 0.0, 1000), late.last_state()[-1].round(6)
    ('log time reached 1000', np.float64(1000.0))
    """

    def __init__(self, run: Run, log_until: float) -> None:
        super().__init__(run, np.inf)
        self.log_until = log_until
        self.log_value, self.log_slope, self.log_slope_rate = _LOGARITHMS[self.loss.name]
        self.s, self.clock = 0.0, float(np.log1p(self.times[-1]))

    def data_weights(self, outputs: np.ndarray) -> tuple[np.ndarray, float]:
        """Return ``|l'_i| / sum_k l_k`` (n,) and the logarithm of the loss, of data that are seen."""
        margins, state = self.labels * outputs, self.boundaries.state
        # What no neuron sees moves none: its loss, which stays for ever, would slow the clock down.
        seen = (state == ON).any(axis=0) | (self.slope > 0)
        total = float(logsumexp(self.log_value(margins[seen]))) if seen.any() else -np.inf
        decides = seen | (state == HELD).any(axis=0)
        weights = np.zeros(len(margins))
        weights[decides] = np.exp(np.minimum(self.log_slope(margins[decides]) - total, _TRIAL))
        return weights, total + float(np.log(self.share))

    def forces(self, state: np.ndarray, v: np.ndarray, c: np.ndarray) -> np.ndarray:
        return self.labels * self.data_weights(self.outputs(v, c))[0]

    def force_errors(self, outputs: np.ndarray, shift: np.ndarray) -> np.ndarray:
        return self.data_weights(outputs)[0] * np.expm1(np.minimum(shift, 1.0))

    def has_loss_below(self, threshold: float, state: np.ndarray) -> bool:
        log_values = self.log_value(self.labels * self.outputs(*self.split(state)))
        return threshold > 0 and logsumexp(log_values) + np.log(self.share) <= np.log(threshold)

    def split(self, state: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return self.coordinates.split(state[..., :-1])

    def weights(self, state: np.ndarray) -> Weights:
        return self.coordinates.weights(state[..., :-1])

    def outgrown(self, state: np.ndarray) -> bool:
        return self.coordinates.outgrown(state[:-1])

    def of_weights(self, state: np.ndarray) -> np.ndarray:
        return state[..., :-1]

    def state_of(self, weights: Weights) -> np.ndarray:
        return np.append(self.coordinates.pack(weights), self.clock)

    def field(self, _s: float, state: np.ndarray) -> np.ndarray:
        self.evaluations += 1
        v, c = self.split(state)
        weights, log_loss = self.data_weights(self.outputs(v, c))
        velocity = self.coordinates.velocity(state[:-1], v, self.boundaries.drive(self.labels * weights))
        return np.append(velocity, np.exp(np.minimum(-log_loss - state[-1], 300.0)))

    def force_rates(self, outputs: np.ndarray) -> np.ndarray:
        weights, _ = self.data_weights(outputs)
        in_margins = np.outer(weights, weights) + np.diag(
            weights * self.log_slope_rate(self.labels * outputs)
        )
        return self.labels[:, None] * in_margins * self.labels

    def jacobian(self, _s: float, state: np.ndarray) -> np.ndarray:
        """Return the derivatives of `field`: those of the weights, then the clock's."""
        weights, log_loss = self.data_weights(self.outputs(*self.split(state)))
        speed = np.exp(np.minimum(-log_loss - state[-1], 300.0))
        # d log L / d margin = -|l'_i| / sum l.
        by_weights = speed * ((weights * self.labels) @ self.gradients(state))
        block = self.rates(state)
        return np.block([[block, np.zeros((len(block), 1))], [by_weights[None], np.full((1, 1), -speed)]])

    def tolerances(self, state: np.ndarray) -> np.ndarray:
        return np.append(np.full(len(state) - 1, self.rtol), self.rtol * max(1.0, self.log_until))

    def faint(self, here: str) -> str:
        return f"the forces balanced {here}, but for faint ones that will act later"

    def end(self) -> tuple[float, float, str]:
        with np.errstate(over="ignore"):
            return float(np.exp(self.log_until)), self.log_until, _reached(self.log_until)

    def end_of_step(self, dense: Callable, start: float, end: float, until: float) -> tuple[float, str]:
        """Return where a step from ``start`` to ``end`` is cut, and why the run stops there, if it does."""
        target = self.log_until
        if log_time(dense(end)[-1]) < target:
            return end, ""
        cut = brentq(lambda s: log_time(dense(s)[-1]) - target, start, end, xtol=1e-14 * end, rtol=1e-15)
        return float(cut), _reached(target)

    def advance(self, s: float, state: np.ndarray, weights: Weights, piece: Piece) -> None:
        self.s, self.clock = s, float(state[-1])
        with np.errstate(over="ignore"):
            self.record(float(np.expm1(self.clock)), float(log_time(self.clock)), weights, piece)

    def piece(self, dense: Callable, start: float, end: float) -> Piece:
        read = self.coordinates.reader()

        def path(_times: np.ndarray, log_times: np.ndarray) -> Weights:
            def s_of(target: float) -> float:
                low, high = (log_time(dense(s)[-1]) - target for s in (start, end))
                if low >= 0 or high <= 0:
                    return start if low >= 0 else end
                return float(brentq(lambda s: log_time(dense(s)[-1]) - target, start, end, rtol=1e-15))

            return read(dense(np.array([s_of(target) for target in log_times])).T[:, :-1])

        return path


def log_time(clock: float) -> float:
    """Return ``log t`` of ``log(1 + t)``, for times from the beginning of the late phase on.

    Example:

    >>> float(np.exp(log_time(np.log(3.0))).round(12)), log_time(1e8)
    (2.0, 100000000.0)
    """
    return clock + float(np.log(-np.expm1(-clock)))
