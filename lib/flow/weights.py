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
    are (n,) or (..., n); ``times`` (T,) increase, from 0 on.  The networks have weights (T, ..., m, d)
    and (T, ..., m).
    DOP853 in all weights at once; where an activation changes its order is lost, and its steps get short.
    """
    x, shares, slope = np.asarray(inputs, dtype=float), np.asarray(rates, dtype=float), network.slope

    def gradients(parts: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        """Return those of `TwoLayer.gradients`, without making a network of every stage of a step."""
        w, a = parts
        z = w @ np.swapaxes(x, -1, -2)
        gates = np.where(z > 0, 1.0, slope)
        active = gates * z
        slopes = shares * loss.slope(np.vecmat(a, active), labels)
        return a[..., None] * ((gates * slopes[..., None, :]) @ x), np.matvec(active, slopes)

    cut = network.w.size

    def unpack(states: np.ndarray) -> list[np.ndarray]:
        parts = (states[..., :cut], network.w.shape), (states[..., cut:], network.a.shape)
        return [part.reshape(states.shape[:-1] + shape) for part, shape in parts]

    def velocity(_time: float, state: np.ndarray) -> np.ndarray:
        return -np.concatenate([part.ravel() for part in gradients(unpack(state))])

    start = np.concatenate([network.w.ravel(), network.a.ravel()])
    options = {"t_eval": times, "rtol": rtol, "atol": atol}
    solution = solve_ivp(velocity, (0, times[-1]), start, "DOP853", **options)
    return network.with_weights(*unpack(solution.y.T))
