"""A learning problem: data, labels, a start and a loss under one name, with what is done with them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from lib.checks import choice, numbers
from lib.flow.alignment import AlignmentPhase, alignment_phase
from lib.flow.gradient import gradient_flow
from lib.flow.trajectory import Trajectory
from lib.flow.weights import weights_flow
from lib.models.two_layer import Start, TwoLayer
from lib.training.descent import TrainingRun, gradient_descent
from lib.training.losses import Loss


@dataclass(frozen=True, eq=False)
class Problem:
    """A two-layer network at its start, and what it learns: ``sum_i share_i l(f(x_i), y_i)``.

    ``inputs`` (n, d) and ``labels`` (n,); ``start`` is a `Start`, of any scale, or a `TwoLayer`; ``share`` is
    what a datum counts, one number or (n,): 1 is the sum, and by default 1/n, the mean.  ``train`` is "both"
    layers, or "first".  What the arguments must be is said by what is done with them.  Raises ``ValueError``
    unless there are as many labels as inputs, and shares for them.
    """

    inputs: np.ndarray
    labels: np.ndarray
    start: Start | TwoLayer
    loss: Loss
    share: ArrayLike | None = None
    train: str = "both"

    def __post_init__(self) -> None:
        choice("train", self.train, ("both", "first"))
        for name in ("inputs", "labels"):
            object.__setattr__(self, name, numbers(name, getattr(self, name)).copy())
        if self.inputs.ndim < 2 or self.labels.shape != self.inputs.shape[-2:-1]:
            raise ValueError(
                f"labels has shape {self.labels.shape}, inputs {self.inputs.shape}; allowed: (n,) and "
                "(..., n, d)"
            )
        if (shape := np.shape(np.asarray(1 if self.share is None else self.share))) not in (
            (),
            self.labels.shape,
        ):
            raise ValueError(f"share has shape {shape}, allowed: () or {self.labels.shape}")

    @property
    def shares(self) -> np.ndarray:
        """What each datum counts in the loss, (n,)."""
        share = 1 / len(self.labels) if self.share is None else self.share
        return np.broadcast_to(np.asarray(share, dtype=float), self.labels.shape)

    @property
    def forces(self) -> np.ndarray:
        """The forces on negligible outputs, minus the slopes of the loss at zero, (n,)."""
        return -self.shares * self.loss.slope(np.zeros_like(self.labels), self.labels)

    @property
    def network(self) -> TwoLayer:
        """The start in floats."""
        return self.start if isinstance(self.start, TwoLayer) else self.start.network()

    def but(self, **fields: Any) -> Problem:
        """Return the problem with other ``fields``."""
        return replace(self, **fields)

    def scaled(self, log_factor: float) -> Problem:
        """Return the problem from weights that are ``exp(log_factor)`` times as large."""
        return self.but(start=self._start.scaled(log_factor))

    def only(self, neurons: np.ndarray | slice) -> Problem:
        """Return the problem of some neurons alone: their indices (k,), a mask (m,), or a slice."""
        return self.but(start=self._start.neurons(neurons))

    def total_loss(self, network: TwoLayer) -> np.ndarray:
        """Return the loss of a network, or of a stack of them, (...)."""
        return self.loss.value(network(self.inputs), self.labels) @ self.shares

    def alignment(self, **options: Any) -> AlignmentPhase:
        """Return how directions turn while the outputs are negligible, by `lib.flow.alignment`."""
        start = self._start
        return alignment_phase(start.directions, start.signs, self.inputs, self.forces, **options)

    def flow(self, **options: Any) -> Trajectory:
        """Return the gradient flow, with the options of `lib.flow.gradient.gradient_flow`, ``until`` say."""
        task = (self.start, self.inputs, self.labels, self.loss)
        return gradient_flow(*task, train=self.train, reduction="sum", weights=self.shares, **options)

    def raw(self, times: ArrayLike, *, rtol: float = 1e-10) -> TwoLayer:
        """Return the networks at ``times`` (T,) by the other route, `lib.flow.weights.weights_flow`.

        Its absolute tolerance is a hundredth of ``rtol`` in units of the largest weight of the start, so that
        it means the same at every scale that floats can hold.  Raises ``ValueError`` unless both layers are
        trained.
        """
        choice("train", self.train, ("both",))
        network = self.network
        size = max(np.abs(network.w).max(), np.abs(network.a).max())
        clock = numbers("times", times).tolist()
        task = (network, self.inputs, self.labels, self.loss, clock)
        return weights_flow(*task, rates=self.shares, rtol=rtol, atol=0.01 * rtol * size)

    def descent(self, step: float, steps: int, **options: Any) -> TrainingRun:
        """Return a run of `lib.training.descent.gradient_descent`, with its other options.

        With ``samples`` a step takes the loss of one example, whatever its share.  Raises ``ValueError``
        unless all data count alike.
        """
        shares = self.shares
        if (shares != shares[0]).any():
            raise ValueError(f"share holds {np.unique(shares)[:2]}, allowed: one number for all data")
        length = step if options.get("samples") is not None else step * shares[0]
        task = (self.network, self.inputs, self.labels, self.loss)
        options |= {"step": length, "steps": steps, "train_a": self.train == "both"}
        return gradient_descent(*task, reduction="sum", **options)

    @property
    def _start(self) -> Start:
        return Start.of(self.start) if isinstance(self.start, TwoLayer) else self.start
