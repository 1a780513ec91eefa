"""The contract of the methods that integrate smooth pieces of a flow, and the one of most flows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import NamedTuple, final

import numpy as np
from scipy.integrate import DOP853, DenseOutput, OdeSolver

from lib.flow.field import Field
from lib.flow.trajectory import Moment, Piece, Reason, Stop


class Stretch(NamedTuple):
    """What one solver follows: its field, and the logarithm of the time up to which its tolerances hold."""

    field: Field
    solver: OdeSolver
    log_last: float = np.inf


class Method(ABC):
    """What a method has to do that follows a run in a time ``s`` of its own, which grows with the flow's.

    It writes into nothing: neither into itself nor into a run, a field or a moment.
    """

    @abstractmethod
    def enters(self, field: Field, now: Moment) -> tuple[Field, float]:
        """Return the field that the method follows, and its time, from a moment that another has reached."""

    @abstractmethod
    def start(self, field: Field, now: Moment, first_step: float | None) -> Stretch:
        """Return the stretch that starts from a moment, with a first step of a given length if any.

        Its solver runs in ``s``, and its state has the weights in coordinates that fit them.
        """

    @abstractmethod
    def of_weights(self, states: np.ndarray) -> np.ndarray:
        """Return the part of states (..., size) that the weights make, in the field's coordinates."""

    @abstractmethod
    def end_of_step(self, solver: OdeSolver, dense: DenseOutput) -> tuple[float, Stop | None]:
        """Return where the last step of a solver is cut, and why the run stops there, if it does."""

    @abstractmethod
    def moment(
        self, field: Field, dense: DenseOutput, start: float, s: float, state: np.ndarray
    ) -> tuple[Moment, Piece]:
        """Return the moment at ``s`` in a step from ``start``, and the path from there to it."""

    @abstractmethod
    def outgrown(self, stretch: Stretch, state: np.ndarray) -> bool:
        """Say whether another stretch should start, with coordinates that fit a state."""

    @abstractmethod
    def at_rest(self, field: Field, now: Moment) -> Stop | None:
        """Say why the run stops here, since its time is over or nothing moves any more, if it does."""


@final
@dataclass(frozen=True)
class Explicit(Method):
    """The method of most flows: DOP853 in plain time, up to the time ``until``."""

    until: float

    def enters(self, field: Field, now: Moment) -> tuple[Field, float]:
        return field, now.time

    def start(self, field: Field, now: Moment, first_step: float | None) -> Stretch:
        field, state = field.fitted(now.weights)
        first_step = first_step and min(first_step, self.until - now.s)
        # The error that matters is relative to the weights of a neuron: in these coordinates it is absolute.
        options = {"rtol": 1e-13, "atol": field.rtol, "first_step": first_step}
        with trials():
            solver = DOP853(lambda _, y: field.velocity(y), now.s, state, max(self.until, now.s), **options)
        if np.isnan(solver.h_abs):  # the trial stage that a first step is chosen by overflowed
            solver.h_abs = np.spacing(max(now.s, 1e-290))
        return Stretch(field, solver)

    def of_weights(self, states: np.ndarray) -> np.ndarray:
        return states

    def end_of_step(self, solver: OdeSolver, dense: DenseOutput) -> tuple[float, Stop | None]:
        return solver.t, time_reached(self.until) if solver.t >= self.until else None

    def moment(
        self, field: Field, dense: DenseOutput, start: float, s: float, state: np.ndarray
    ) -> tuple[Moment, Piece]:
        read, log_time = field.coordinates.weights, float(np.log(s)) if s > 0 else -np.inf
        return Moment(s, s, log_time, read(state)), lambda times, _log_times: read(dense(times).T)

    def outgrown(self, stretch: Stretch, state: np.ndarray) -> bool:
        return stretch.field.coordinates.outgrown(state)

    def at_rest(self, field: Field, now: Moment) -> Stop | None:
        return time_reached(self.until) if now.s >= self.until else None


def time_reached(until: float, of: str = "time") -> Stop:
    """Return the stop at a time, or at its logarithm."""
    return Stop(Reason.TIME, f"{of} reached {until:.6g}")


def trials() -> np.errstate:
    """Let trial stages overflow, which are then rejected."""
    return np.errstate(over="ignore", invalid="ignore")
