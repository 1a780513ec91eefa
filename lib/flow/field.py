"""The field that a flow follows as long as no activation, and no datum of a loss with a kink, changes."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from lib.flow.boundaries import HELD, Boundaries, Kinks
from lib.flow.coordinates import Coordinates
from lib.flow.trajectory import Task, Weights


class Forces:
    """The forces ``F_i = -share_i dl/df(x_i)`` of a task, as functions of its outputs (n,)."""

    def __init__(self, task: Task) -> None:
        self.task, self.minus_share = task, -task.share

    def at(self, outputs: np.ndarray, boundaries: Boundaries) -> np.ndarray:
        """Return the forces (..., n) at outputs (..., n), in the time of the method that follows them."""
        return self.minus_share * self.task.loss.slope(outputs, self.task.labels)

    def errors(self, outputs: np.ndarray, shift: np.ndarray, boundaries: Boundaries) -> np.ndarray:
        """Return by how much the forces (n,) change when the outputs move by ``shift`` (n,)."""
        low, here, high = (self.task.loss.slope(outputs + k * shift, self.task.labels) for k in (-1, 0, 1))
        # The smaller change: a kink of the loss is no error.
        return self.task.share * np.minimum(np.abs(high - here), np.abs(here - low))


@dataclass(frozen=True)
class Field:
    """The velocity of states under given boundaries and kinks of the loss: when these change, another."""

    task: Task
    boundaries: Boundaries
    coordinates: Coordinates
    law: Forces
    rtol: float
    kinks: Kinks | None = None

    def fitted(self, weights: Weights) -> tuple[Field, np.ndarray]:
        """Return the field in coordinates that fit weights (m, ...), and their state in these."""
        coordinates = self.coordinates.renewed(weights)
        return replace(self, coordinates=coordinates), coordinates.pack(weights)

    def outputs(self, v: np.ndarray, c: np.ndarray) -> np.ndarray:
        """Return the outputs (..., n) of scaled weights v (..., m, d) and factors c (..., m)."""
        return np.vecmat(c, self.boundaries.gates * (v @ self.task.inputs.T))

    def forces(self, state: np.ndarray, v: np.ndarray, c: np.ndarray) -> np.ndarray:
        """Return the forces (n,) of a state with its v and c; without kinks, of states (..., size)."""
        if self.kinks is None:
            return self.law.at(self.outputs(v, c), self.boundaries)
        needed = (self.kinks.state == HELD).any()
        gradients = self.margin_gradients(state) if needed else np.zeros((len(self.task.labels), 1))
        return self.task.share * self.task.labels * self.kinks.pushes(gradients)

    def gradients(self, state: np.ndarray) -> np.ndarray:
        """Return the gradients (n, size) of the outputs in a state."""
        return self.coordinates.gradients(state, self.boundaries.gates, self.task.inputs)

    def margin_gradients(self, state: np.ndarray) -> np.ndarray:
        """Return the gradients of the margins in the weights that are trained, times the data's weights."""
        w, log_norms, signs, log_outputs = self.coordinates.weights(state)
        gates, inputs = self.boundaries.gates, self.task.inputs
        a = signs * np.exp(log_outputs)
        rows = (a[:, None] * self.boundaries.drives()).reshape(len(inputs), -1)
        if self.coordinates.trains_outputs:
            rows = np.hstack([rows, (gates * np.exp(log_norms)[:, None] * (w @ inputs.T)).T])
        return (self.task.share / self.task.share.max() * self.task.labels)[:, None] * rows  # ratios matter

    def errors(self, state: np.ndarray) -> np.ndarray:
        """Return the errors of the forces (n,) that the error of one step can explain."""
        # It is at most rtol as a root mean square over the state, and moves an output along its gradient.
        gradients = self.gradients(state)
        shift = self.rtol * np.sqrt(state.size) * np.sqrt(np.vecdot(gradients, gradients))
        return self.law.errors(self.outputs(*self.coordinates.split(state)), shift, self.boundaries)

    def has_loss_below(self, threshold: float, state: np.ndarray) -> bool:
        """Say whether the total loss of a state is at most ``threshold``."""
        outputs, labels = self.outputs(*self.coordinates.split(state)), self.task.labels
        if self.kinks is not None:
            outputs = labels * self.kinks.clipped(labels * outputs)
        return float(self.task.share @ self.task.loss.value(outputs, labels)) <= threshold

    def velocity(self, state: np.ndarray) -> np.ndarray:
        """Return the velocity (size,) of a state."""
        v, c = self.coordinates.split(state)
        return self.driven(state, v, c, self.forces(state, v, c))

    def driven(self, state: np.ndarray, v: np.ndarray, c: np.ndarray, forces: np.ndarray) -> np.ndarray:
        """Return the velocity (size,) of a state with its v and c under forces (n,)."""
        drive = self.boundaries.drive(forces)
        if self.boundaries.complements:
            v = self.boundaries.steady(v, np.copysign(1.0, c), drive)
        return self.coordinates.velocity(state, v, drive)

    def distances(self, states: np.ndarray, errors: np.ndarray, held: np.ndarray) -> np.ndarray:
        """Return how far all pairs, and then all data of a loss with a kink, are from changing their state.

        ``states`` are (..., size).  Of the neurons that are held on a boundary, only those given let go,
        judged with the ``errors`` (n,) of the forces.
        """
        if self.kinks is not None and states.ndim > 1:
            return np.array([self.distances(state, errors, held) for state in states])
        v, c = self.coordinates.split(states)
        pairs = self.boundaries.distances(v)
        if held.size:
            # Not np.sign: the factors of tiny neurons underflow to a signed zero.
            grip = self.boundaries.grip(held, np.copysign(1.0, c), self.forces(states, v, c), errors)
            pairs[..., held, :] = np.where(np.isfinite(grip), grip, pairs[..., held, :])
        pairs = pairs.reshape(*states.shape[:-1], -1)
        if self.kinks is None:
            return pairs
        pushes = self.kinks.pushes(self.margin_gradients(states))
        data = self.kinks.distances(self.task.labels * self.outputs(v, c), pushes)
        return np.concatenate([pairs, data])

    def with_kinks(self, state: np.ndarray) -> Field:
        """Return the field with the kinks of the loss, if it has any, decided in a state."""
        if (kink := self.task.loss.kink) is None:
            return self
        margins = self.task.labels * self.outputs(*self.coordinates.split(state))
        kinks = Kinks.at(margins, self.task.loss, kink)
        return replace(self, kinks=kinks.settled(self.margin_gradients(state)))

    def at_kinks(self, data: list[int], state: np.ndarray) -> Field:
        """Return the field after some data, or none, have come to their kink in a state."""
        if self.kinks is None or not data:
            return self
        return replace(self, kinks=self.kinks.crossed(data, self.margin_gradients(state)))
