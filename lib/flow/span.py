"""Exact reduction of a flow to the span of its data."""

from __future__ import annotations

import numpy as np

from lib.flow.trajectory import Weights


class Span:
    """Coordinates of inputs (n, d) in their span, and of unit vectors ``directions`` (m, d) in it and across.

    The part of a weight vector across the span never moves, and of it only the length matters: it becomes
    one more coordinate, zero for all inputs.  ``inputs`` is (n, r) or (n, r + 1), ``directions`` alike.
    Data that already fill their space are left as they are.
    """

    def __init__(self, inputs: np.ndarray, directions: np.ndarray) -> None:
        _, sizes, rows = np.linalg.svd(inputs, full_matrices=False)
        rank = int((sizes > sizes[0] * max(inputs.shape) * np.finfo(float).eps).sum())
        self.original, self.inputs, self.directions = inputs, inputs, directions
        self.basis: np.ndarray | None = None
        if rank + 1 >= inputs.shape[1]:
            return
        self.basis = rows[:rank]
        inside = directions @ self.basis.T
        across = directions - inside @ self.basis
        lengths = np.linalg.norm(across, axis=1)
        self.across = across / np.where(lengths > 0, lengths, 1.0)[:, None]
        self.inputs = np.hstack([inputs @ self.basis.T, np.zeros((len(inputs), 1))])
        self.directions = np.hstack([inside, lengths[:, None]])

    def lift(self, weights: Weights) -> Weights:
        """Return weights of reduced directions (..., m, r + 1) in the space of the data."""
        if self.basis is None:
            return weights
        inside, across = weights.directions[..., :-1], weights.directions[..., -1:]
        return weights._replace(directions=inside @ self.basis + across * self.across)
