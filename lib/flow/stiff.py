"""Stiff stretches of a flow, by an implicit method.

Near its end a flow is stiff: steps of an explicit method stay as short as the fastest direction demands,
while nothing moves any more, or only as the logarithm of time.  Radau's method with the exact Jacobian then
takes steps of any length, in the logarithm of time.  It is used when an explicit method has taken many steps
and would need many more, in plain flows here and in rescaled time in `lib.flow.late`.  Where the forces
balance, though none of them vanishes, the network rests.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
from scipy.integrate import OdeSolver, Radau
from scipy.linalg import LinAlgWarning

from lib.flow.coordinates import Referred
from lib.flow.run import Run
from lib.flow.trajectory import Piece, Trajectory, Weights

_EXPLICIT_STEPS = 2000  # before a flow may count as stiff
_MANY_STEPS = 2000  # it is stiff if more than so many are left
_LARGEST = 600  # entries of a state, at most: the Jacobian of larger ones costs more than explicit steps
_NEWTON = 1e-9  # tolerance below which the implicit method's equations drown in rounding
_BALANCE = 1e-9  # the sum of forces, relative to their sizes, that counts as their error
_ROUNDING = 1e-16  # error of a force relative to it
_DROWNED = 1e-4  # motion by rounding that hides what faint forces do
_COARSEST = 1e-6  # tolerance, at most, where rounding moves the state by more than it should be
_FAINT = 1e-6  # a force of less than this part of all may be that of a datum whose margin grows for ever


def plain_flow(run: Run, until: float, loss_below: float, max_steps: int) -> Trajectory:
    """Follow a flow from its start up to the time ``until``.

    Example: a linear model that learns at rates 1 and 1e4.

    >>> from lib.flow.span import Span
    >>> from lib.training.losses import SQUARE
    >>> x = np.diag([1.0, 100.0])
    >>> start = Weights(np.array([[0.6, 0.8]]), np.zeros(1), np.ones(1), np.zeros(1))
    >>> run = Run(start, Span(x, start.directions), np.ones(2), SQUARE, "first", "sum", 1.0, 1e-10)
    >>> flow = plain_flow(run, 1e9, 0.0, 10_000)
    >>> flow.stopped, flow.outputs()[-1].round(9)
    ('time reached 1e+09', array([1., 1.]))
    """
    run.align(until)
    stopped = run.integrate(until, loss_below, min(max_steps, _EXPLICIT_STEPS))
    if "steps were taken" not in stopped or len(run.times) > max_steps:
        return run.trajectory(stopped)
    many = until - run.times[-1] > _MANY_STEPS * np.diff(run.times[-_EXPLICIT_STEPS // 10 :]).max()
    if many and len(run.last_state()) <= _LARGEST and run.kinks is None:
        run = StiffRun(run, until)
    return run.trajectory(run.integrate(until, loss_below, max_steps))


class StiffRun(Run):
    """The continuation of a run by an implicit method, in the logarithm of time, up to the time ``until``.

    Example:

    >>> from lib.flow.span import Span
    >>> from lib.training.losses import SQUARE
    >>> x = np.diag([1.0, 100.0])
    >>> start = Weights(np.array([[0.6, 0.8]]), np.zeros(1), np.ones(1), np.zeros(1))
    >>> run = Run(start, Span(x, start.directions), np.ones(2), SQUARE, "first", "sum", 1.0, 1e-10)
    >>> run.align(0.1), run.integrate(0.1, 0.0, 1000)
    (None, 'time reached 0.1')
    >>> stiff = StiffRun(run, 1e9)
    >>> stiff.integrate(1e9, 1e-20, 1000), len(stiff.times) < 500
    ('the loss reached 1e-20', True)
    """

    def __init__(self, run: Run, until: float) -> None:
        vars(self).update(vars(run))
        self.until = until
        self.referred = Referred(self.recorded[-1], trains_outputs=self.trains_outputs)
        self.coordinates, self.balanced = self.referred, False
        self.rtol = max(self.rtol, _NEWTON)
        self.s, self.drift = self.log_times[-1], np.zeros(1)

    def of_weights(self, state: np.ndarray) -> np.ndarray:
        """Return the part of a state that the weights make."""
        return state

    def gradients(self, state: np.ndarray) -> np.ndarray:
        return self.referred.gradients(self.of_weights(state), self.boundaries.gates, self.inputs)

    def velocities(self, state: np.ndarray) -> np.ndarray:
        """Return what each datum of force one adds to the velocity, (n, size)."""
        v, _ = self.split(state)
        inner = self.of_weights(state)
        drives = (self.boundaries.drive(force) for force in np.eye(len(self.labels)))
        return np.array([self.referred.velocity(inner, v, drive) for drive in drives])

    def force_rates(self, outputs: np.ndarray) -> np.ndarray:
        """Return the derivatives (n, n) of the forces in the outputs (n,)."""
        width = 1e-5 * np.maximum(np.abs(outputs), 1.0)
        low, high = (self.loss.slope(outputs + k * width, self.labels) for k in (-1, 1))
        return np.diag(-self.share * (high - low) / (2 * width))

    def rates(self, state: np.ndarray) -> np.ndarray:
        """Return the derivatives of the weights' velocity in the weights of a state."""
        v, c = self.split(state)
        forces = self.forces(state, v, c)
        block = self.velocities(state).T @ self.force_rates(self.outputs(v, c)) @ self.gradients(state)
        return block + self.referred.coupling(self.boundaries.drive(forces))

    def field(self, s: float, state: np.ndarray) -> np.ndarray:
        return np.exp(s) * super().field(s, state)

    def jacobian(self, s: float, state: np.ndarray) -> np.ndarray:
        return np.exp(s) * self.rates(state)

    def integrate(self, until: float, loss_below: float, max_steps: int) -> str:
        return super().integrate(float(np.log(until)), loss_below, max_steps)

    def step(self, solver: OdeSolver) -> str | None:
        with warnings.catch_warnings():
            warnings.simplefilter("error", LinAlgWarning)
            try:
                return solver.step()
            except LinAlgWarning:
                solver.status = "failed"
                return "rounding hides what still moves"

    def end_of_step(self, dense: Callable, start: float, end: float, until: float) -> tuple[float, str]:
        return end, self.end()[2] if end >= until else ""

    def advance(self, s: float, state: np.ndarray, weights: Weights, piece: Piece) -> None:
        self.s = s
        self.record(float(np.exp(s)) if s < np.log(self.until) else self.until, s, weights, piece)

    def piece(self, dense: Callable, start: float, end: float) -> Piece:
        read = self.coordinates.reader()
        return lambda _times, log_times: read(dense(log_times).T)

    def noise(self) -> np.ndarray:
        """Return how far rounding of the drives moves the state while the time grows by a factor of e."""
        state, time = self.last_state(), np.exp(self.s)
        v, c = self.split(state)
        pushes = self.boundaries.gates * np.abs(self.forces(state, v, c))
        motion = self.referred.velocity(np.abs(state), np.abs(v), pushes @ np.abs(self.inputs))
        try:  # directions that come to rest fast are moved the less
            response = np.linalg.inv(np.eye(len(state)) / time - self.rates(state))
        except np.linalg.LinAlgError:
            return np.full(len(state), np.inf)
        return _ROUNDING * np.abs(response) @ motion

    def outgrown(self, state: np.ndarray) -> bool:
        return super().outgrown(state) or self.s > self.renewed + 1

    def tolerances(self, state: np.ndarray) -> np.ndarray:
        # Errors that rounding makes anyway need no short steps.
        self.drift = self.noise()
        return np.clip(self.drift, self.rtol, max(self.rtol, _COARSEST))

    def solver(self, first_step: float | None, until: float) -> OdeSolver:
        self.coordinates.renew(self.recorded[-1])
        self.renewed = self.s
        state, first_step = self.last_state(), first_step and min(first_step, until - self.s)
        return Radau(
            self.field, self.s, state, until,
            rtol=1e-13, atol=self.tolerances(state), jac=self.jacobian, first_step=first_step,
        )  # fmt: skip

    def balance(self) -> tuple[bool, bool]:
        """Say whether the drives of all neurons balance, and whether faint forces take part in them."""
        state = self.last_state()
        forces = self.forces(state, *self.split(state))
        pushes = self.boundaries.gates * np.abs(forces) * self.boundaries.norms
        sums = pushes.sum(axis=1)
        drives = np.linalg.norm(self.boundaries.drive(forces), axis=1)
        shares = (pushes / np.where(sums > 0, sums, 1.0)[:, None]).max(axis=0)
        return bool((drives <= _BALANCE * sums).all()), bool(((shares > 0) & (shares < _FAINT)).any())

    def at_rest(self) -> str:
        balanced, faint = self.balance()
        here = f"at log time {self.log_times[-1]:.6g}"
        if self.drift.max() > _DROWNED and not (balanced and not faint):
            return f"the forces balanced {here}, but for some too faint to be followed"
        if not balanced:
            return ""
        if faint:
            return self.faint(here)
        rates = np.linalg.eigvals(self.rates(self.last_state()))
        if rates.real.max() > _FAINT * np.abs(rates).max():
            return f"the forces balanced {here}, at a saddle"
        time, log_time, reached = self.end()
        rest = self.recorded[-1]

        def path(_times: np.ndarray, log_times: np.ndarray) -> Weights:
            return Weights(*(np.repeat(part[None], len(log_times), axis=0) for part in rest))

        self.record(time, log_time, rest, path)
        return reached

    def faint(self, _here: str) -> str:
        """Say why the run stops where the forces balance but for faint ones: in plain flows it goes on."""
        return ""

    def end(self) -> tuple[float, float, str]:
        """Return the time that is to be reached, its logarithm, and what is said of it."""
        return self.until, float(np.log(self.until)), f"time reached {self.until:.6g}"
