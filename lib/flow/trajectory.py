"""Trajectories of two-layer networks in directions and log-norms, at any scale."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from lib.checks import numbers
from lib.models.two_layer import TwoLayer
from lib.training.losses import Loss


class Event(NamedTuple):
    """A neuron became active on a datum (``entering``), or ceased to be; a unit held at zero is inactive."""

    time: float
    neuron: int
    datum: int
    entering: bool


class Reason(Enum):
    """Why a run stopped."""

    TIME = "the time was reached"
    LOSS = "the loss is small enough"
    STEPS = "so many steps were taken"
    EVENTS = "events accumulate"
    SADDLE = "the forces balance at a saddle"
    FAINT = "the forces balance, but for some that are too faint"
    FAILED = "the integrator failed"


class Stop(NamedTuple):
    """The reason why a run stopped, and the text that says it with its numbers."""

    reason: Reason
    text: str


class Weights(NamedTuple):
    """Weights at any scale, as those of a `Start`; ``w = 0`` has direction 0 and log-norm -inf."""

    directions: np.ndarray
    log_norms: np.ndarray
    signs: np.ndarray
    log_outputs: np.ndarray

    @property
    def w(self) -> np.ndarray:
        """The weights of the first layer; those below the smallest float are zero."""
        return np.exp(self.log_norms)[..., None] * self.directions

    @property
    def balanced(self) -> bool:
        """Whether ``a_j = s_j |w_j|`` holds exactly for all neurons."""
        return bool((self.log_norms == self.log_outputs).all())


class Moment(NamedTuple):
    """Where a run stands: the time ``s`` of its method, the time, its logarithm, and the weights (m, ...)."""

    s: float
    time: float
    log_time: float
    weights: Weights


Piece = Callable[[np.ndarray, np.ndarray], Weights]
"""Maps times (k,) and their logarithms (k,) within one step to weights."""


class Task(NamedTuple):
    """Inputs (n, d), labels (n,), the loss, and the share (n,) of each datum's loss in the total one."""

    inputs: np.ndarray
    labels: np.ndarray
    loss: Loss
    share: np.ndarray


@dataclass(frozen=True)
class Trajectory:
    """A solution of the flow at the integrator's steps, and between them.

    ``times`` (T,) and their logarithms ``log_times`` (T,), which stay finite when times overflow;
    ``directions`` (T, m, d), ``log_norms``, ``signs`` and ``log_outputs`` (T, m) as in a `Start`; ``events``
    in order of time; ``reason`` is why the run ended, and ``stopped`` says it to people.
    """

    times: np.ndarray
    log_times: np.ndarray
    directions: np.ndarray
    log_norms: np.ndarray
    signs: np.ndarray
    log_outputs: np.ndarray
    task: Task
    slope: float
    events: tuple[Event, ...]
    reason: Reason
    stopped: str
    evaluations: int
    pieces: tuple[Piece, ...]

    @property
    def inputs(self) -> np.ndarray:
        """The inputs (n, d) that the network learns from."""
        return self.task.inputs

    @property
    def weights(self) -> Weights:
        """The weights at all of ``times``."""
        return Weights(self.directions, self.log_norms, self.signs, self.log_outputs)

    def at(self, times: ArrayLike | None = None, *, log_times: ArrayLike | None = None) -> Weights:
        """Return the weights at any times of the run (k,), or at their natural logarithms ``log_times``.

        A time that is later than the end by rounding, as the exponential of its logarithm may be, is the end.
        Raises ``ValueError`` for times outside the run, or for both or no times.
        """
        if (times is None) == (log_times is None):
            raise ValueError("times, log_times: give one of the two")
        last, last_log = self.times[-1], self.log_times[-1]
        rounding = 4 * np.finfo(float).eps * (1 + abs(last_log))
        with np.errstate(divide="ignore", over="ignore"):
            if times is not None:
                plain = numbers("times", times, 0, last * (1 + rounding), "[]")
                plain = np.minimum(np.atleast_1d(plain), last)
                logs = np.minimum(np.log(plain), last_log)
            elif log_times is not None:
                logs = numbers("log_times", log_times, high=last_log + rounding, ends="[]")
                logs = np.minimum(np.atleast_1d(logs), last_log)
                plain = np.exp(logs)
        piece = np.clip(np.searchsorted(self.log_times, logs, side="left") - 1, 0, len(self.pieces) - 1)
        parts = [np.empty((len(logs), *whole.shape[1:])) for whole in self.weights]
        for k in np.unique(piece):
            here = piece == k
            for part, values in zip(parts, self.pieces[k](plain[here], logs[here]), strict=True):
                part[here] = values
        return Weights(*parts)

    def outputs(self, times: ArrayLike | None = None) -> np.ndarray:
        """Return the network outputs on the training inputs, shape (k, n), by default at ``self.times``."""
        v, log_norms, signs, log_outputs = self.weights if times is None else self.at(times)
        z = v @ self.inputs.T
        return np.einsum("km,kmn->kn", signs * np.exp(log_norms + log_outputs), np.maximum(z, self.slope * z))

    def loss(self, times: ArrayLike | None = None) -> np.ndarray:
        """Return the total loss (k,), by default at ``self.times``."""
        return self.task.loss.value(self.outputs(times), self.task.labels) @ self.task.share

    def networks_at(self, times: ArrayLike | None = None, *, log_times: ArrayLike | None = None) -> TwoLayer:
        """Return the networks at times (k,) or at their logarithms, as one of weights (k, m, d) and (k, m).

        Norms below the smallest float are zero.  Raises ``ValueError`` as `at` does.
        """
        now = self.at(times, log_times=log_times)
        return TwoLayer(now.w, now.signs * np.exp(now.log_outputs), self.slope)

    def network_at(self, time: float | None = None, *, log_time: float | None = None) -> TwoLayer:
        """Return the network at a time or at its logarithm, as `networks_at` does; by default the last."""
        weights = self.weights if time is log_time is None else self.at(time, log_times=log_time)
        now = Weights(*(part[-1] for part in weights))
        return TwoLayer(now.w, now.signs * np.exp(now.log_outputs), self.slope)
