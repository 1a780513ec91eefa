"""The field of the flow in coordinates, with the states of its boundaries and kinks."""

from __future__ import annotations

import numpy as np

from lib.flow.boundaries import Boundaries
from lib.flow.coordinates import Balanced, Coordinates, Referred
from lib.flow.kinks import HELD, SHORT, HingeKinks
from lib.flow.trajectory import Weights
from lib.training.losses import Loss


class Field:
    """The velocity of states, as long as no activation and no datum of a hinge loss changes its state.

    Arguments as in :func:`lib.flow.gradient.gradient_flow`.

    Example:

    >>> from lib.training.losses import SQUARE
    >>> start = Weights(np.array([[1.0, 0.0]]), np.zeros(1), np.ones(1), np.zeros(1))
    >>> field = Field(start, np.array([[1.0, 0.0]]), np.array([3.0]), SQUARE, "both", "mean", 0.0, 1e-10)
    >>> _ = field.boundaries.start(start.directions)
    >>> field.field(0.0, field.state_of(start))
    array([0., 0., 2.])
    """

    def __init__(
        self,
        start: Weights,
        inputs: np.ndarray,
        labels: np.ndarray,
        loss: Loss,
        train: str,
        reduction: str,
        slope: float,
        rtol: float,
    ) -> None:
        self.inputs, self.labels, self.loss = inputs, labels, loss
        self.slope, self.rtol = slope, rtol
        self.share = 1 / len(labels) if reduction == "mean" else 1.0
        self.boundaries = Boundaries(inputs, len(start.signs), slope)
        self.trains_outputs = train == "both"
        self.balanced = self.trains_outputs and bool((start.log_norms == start.log_outputs).all())
        self.coordinates: Coordinates = (
            Balanced(start.signs, inputs.shape[1])
            if self.balanced
            else Referred(start, trains_outputs=self.trains_outputs)
        )
        self.kinks: HingeKinks | None = None
        self.evaluations = 0

    def state_of(self, weights: Weights) -> np.ndarray:
        return self.coordinates.pack(weights)

    def outputs(self, v: np.ndarray, c: np.ndarray) -> np.ndarray:
        return c @ (self.boundaries.gates * (v @ self.inputs.T))

    def forces(self, state: np.ndarray, v: np.ndarray, c: np.ndarray) -> np.ndarray:
        """Return the forces (n,) of a state with its v and c."""
        if self.kinks is None:
            return -self.share * self.loss.slope(self.outputs(v, c), self.labels)
        needed = (self.kinks.state == HELD).any()
        gradients = self.margin_gradients(state) if needed else np.zeros((len(self.labels), 1))
        return self.share * self.labels * self.kinks.shares(gradients)

    def margin_gradients(self, state: np.ndarray) -> np.ndarray:
        """Return the gradients of the margins in the weights (n, m d), or of both layers (n, m d + m)."""
        w, log_norms, signs, log_outputs = self.weights(state)
        a = signs * np.exp(log_outputs)
        gates = self.boundaries.gates
        in_w = (a[:, None] * gates).T[:, :, None] * self.inputs[:, None]
        for j, projection in zip(self.boundaries.held, self.boundaries.projections, strict=True):
            in_w[:, j] = in_w[:, j] @ projection
        rows = in_w.reshape(len(self.labels), -1)
        if self.trains_outputs:
            rows = np.hstack([rows, (gates * np.exp(log_norms)[:, None] * (w @ self.inputs.T)).T])
        return self.labels[:, None] * rows

    def weights(self, state: np.ndarray) -> Weights:
        return self.coordinates.weights(state)

    def split(self, state: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return self.coordinates.split(state)

    def outgrown(self, state: np.ndarray) -> bool:
        return self.coordinates.outgrown(state)

    def errors(self, state: np.ndarray) -> np.ndarray:
        """Return the errors of the forces (n,) that the error of one step can explain.

        The step's error is at most ``rtol`` as a root mean square over the state; it moves an output by at
        most its norm times that of the output's gradient.
        """
        v, c = self.split(state)
        gates, z = self.boundaries.gates, v @ self.inputs.T
        steepness = self.coordinates.steepness(c, gates, z, self.boundaries.norms)
        return self.force_errors(c @ (gates * z), self.rtol * np.sqrt(state.size) * steepness)

    def force_errors(self, outputs: np.ndarray, shift: np.ndarray) -> np.ndarray:
        low, here, high = (self.loss.slope(outputs + k * shift, self.labels) for k in (-1, 0, 1))
        # The smaller change: a kink of the loss is no error.
        return self.share * np.minimum(np.abs(high - here), np.abs(here - low))

    def total_loss(self, state: np.ndarray) -> float:
        outputs = self.outputs(*self.split(state))
        values = self.loss.value(outputs, self.labels)
        # A datum held at its margin has no loss, whatever rounding says.
        return float(self.share * (values if self.kinks is None else values[self.kinks.state == SHORT]).sum())

    def has_loss_below(self, threshold: float, state: np.ndarray) -> bool:
        return self.total_loss(state) <= threshold

    def field(self, _time: float, state: np.ndarray) -> np.ndarray:
        self.evaluations += 1
        v, c = self.coordinates.split(state)
        drive = self.boundaries.drive(self.forces(state, v, c))
        if self.boundaries.held.size:
            v = self.boundaries.steady(v, np.copysign(1.0, c)[:, None] * drive)
        return self.coordinates.velocity(state, v, drive)

    def kink_distances(self, state: np.ndarray) -> np.ndarray:
        assert self.kinks is not None
        shares = self.kinks.shares(self.margin_gradients(state))
        return self.kinks.distances(self.labels * self.outputs(*self.split(state)), shares)

    def cross_kinks(self, state: np.ndarray, data: list[int]) -> None:
        assert self.kinks is not None
        self.kinks.state[data] = HELD
        self.kinks.settle(self.margin_gradients(state))
