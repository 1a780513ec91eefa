"""Gradient flow of raw weights by SciPy: a second route, without directions, events and scales."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.integrate import solve_ivp

from lib.models import deep
from lib.models.two_layer import TwoLayer
from lib.training.losses import LOGISTIC, Loss


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

    options = {"t_eval": times, "rtol": rtol, "atol": atol}
    solution, unpack = _integrated([network.w, network.a], gradients, times[-1], **options)
    return network.with_weights(*unpack(solution.y.T))


def layers_flow(
    layers: Sequence[np.ndarray], inputs: ArrayLike, labels: ArrayLike, until: float
) -> Callable[[ArrayLike], list[np.ndarray]]:
    """Integrate the gradient flow of the summed cross-entropy, and return the layers as a function of time.

    ``layers``, ``inputs`` and ``labels`` as in `lib.models.deep`.  The function takes times from 0 to
    ``until``, of shape () or (T,), and returns layers with the axis of the times in front.  DOP853, as
    `weights_flow`.
    """
    size = max(np.abs(weights).max() for weights in layers)
    options = {"dense_output": True, "rtol": 1e-10, "atol": 1e-13 * size}
    gradients = lambda parts: deep.gradients(parts, inputs, labels, LOGISTIC.slope)  # noqa: E731
    solution, unpack = _integrated(layers, gradients, until, **options)
    return lambda times: unpack(solution.sol(times).T)


def _integrated(
    parts: Sequence[np.ndarray],
    gradients: Callable[[list[np.ndarray]], Sequence[np.ndarray]],
    until: float,
    **options: Any,
) -> tuple[Any, Callable[[np.ndarray], list[np.ndarray]]]:
    """Return SciPy's solution for all parts in one state, and what makes states (..., size) parts again."""
    cuts = np.cumsum([0, *(part.size for part in parts)]).tolist()
    places = [(slice(*ends), part.shape) for *ends, part in zip(cuts, cuts[1:], parts, strict=False)]

    def unpack(states: np.ndarray) -> list[np.ndarray]:
        return [states[..., place].reshape(states.shape[:-1] + shape) for place, shape in places]

    def velocity(_time: float, state: np.ndarray) -> np.ndarray:
        return -np.concatenate([part.ravel() for part in gradients(unpack(state))])

    start = np.concatenate([part.ravel() for part in parts])
    return solve_ivp(velocity, (0, until), start, "DOP853", **options), unpack
