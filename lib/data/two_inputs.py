"""Two orthogonal inputs, and the ReLU neurons that see them in a given state [combes2018, Sections 3, 6].

Inputs ``x1`` and ``x2`` have norms ``n1`` and ``n2``; the neuron's state is ``(alpha, beta, a)`` with the
responses ``alpha = <w, x1>`` and ``beta = <w, x2>``.  Arguments broadcast; leading axes are cases.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from lib.models.two_layer import TwoLayer


def pair(n1: ArrayLike, n2: ArrayLike, *, rng: np.random.Generator) -> np.ndarray:
    """Draw two orthogonal inputs of these norms in three dimensions, shape (..., 2, 3)."""
    norms = np.stack(np.broadcast_arrays(n1, n2), axis=-1)
    frame = np.linalg.qr(rng.standard_normal((*norms.shape[:-1], 3, 3)))[0]
    return frame[..., :2, :] * norms[..., None]


def neuron(state: ArrayLike, inputs: np.ndarray, *, rng: np.random.Generator, slope: float = 0.0) -> TwoLayer:
    """Return networks of one neuron, with ``state`` (3, ...) on ``inputs`` (..., 2, 3).

    The part of ``w`` that sees neither input is drawn; its length is of the order of the rest.
    """
    alpha, beta, a = np.asarray(state, dtype=float)
    parts = np.stack([alpha, beta], axis=-1) / np.sum(inputs**2, axis=-1)
    seen = parts[..., None, :] @ inputs
    unseen = np.cross(inputs[..., 0, :], inputs[..., 1, :]) * rng.standard_normal((*a.shape, 1))
    lengths = np.linalg.norm(seen, axis=-1) / np.prod(np.linalg.norm(inputs, axis=-1), axis=-1)[..., None]
    return TwoLayer(seen + (lengths * unseen)[..., None, :], a[..., None], slope)
