"""Gradient flow of raw weights by SciPy: a second route, without directions, events and scales."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike
from scipy.integrate import solve_ivp

from lib.models.two_layer import TwoLayer
from lib.training.losses import Loss


def weights_flow(
    network: TwoLayer,
    inputs: ArrayLike,
    labels: ArrayLike,
    loss: Loss,
    times: Sequence[float],
    *,
    rates: ArrayLike = 1.0,
    rtol: float = 1e-10,
    atol: float = 1e-13,
) -> TwoLayer:
    """Integrate ``theta' = -gradient of sum_i rates_i l(f(x_i), y_i)`` and return the networks at the times.

    ``network`` may have leading axes, ``inputs`` (..., n, d) belong to them, ``labels`` and ``rates``
    are (n,) or (..., n); ``times`` (T,) increase, from 0 on.  The networks have weights (T, ..., m, d) and (T, ..., m).
    DOP853 in all weights at once; where an activation changes its order is lost, and its steps get short.

    >>> from lib.training.losses import SQUARE
    >>> run = weights_flow(TwoLayer([[1e-3]], [1e-3]), [[1.0]], [1.0], SQUARE, [0.0, 40.0])
    >>> run([[1.0]]).round(6).tolist()
    [[1e-06], [1.0]]
    """
    split, shape = network.w.size, network.w.shape

    def velocity(_time: float, state: np.ndarray) -> np.ndarray:
        now = network.with_weights(state[:split].reshape(shape), state[split:].reshape(shape[:-1]))
        parts = now.gradients(inputs, lambda outputs: np.multiply(rates, loss.slope(outputs, labels)))
        return -np.concatenate([part.ravel() for part in parts])

    start = np.concatenate([network.w.ravel(), network.a.ravel()])
    found = solve_ivp(velocity, (0, times[-1]), start, "DOP853", times, rtol=rtol, atol=atol).y.T
    return network.with_weights(
        found[:, :split].reshape(-1, *shape), found[:, split:].reshape(-1, *shape[:-1])
    )
