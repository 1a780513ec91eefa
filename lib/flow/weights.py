"""Gradient flow of raw weights by SciPy: a second route, without directions, events and scales."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.integrate import solve_ivp

from lib.models import deep
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

    slopes = lambda outputs: np.multiply(rates, loss.slope(outputs, labels))  # noqa: E731
    gradients = lambda parts: network.with_weights(*parts).gradients(inputs, slopes)  # noqa: E731
    options = {"t_eval": times, "rtol": rtol, "atol": atol}
    found, unpack = _integrated([network.w, network.a], gradients, times[-1], **options)
    return network.with_weights(*unpack(found.y.T))


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
    gradients = lambda parts: deep.gradients(parts, inputs, labels)  # noqa: E731
    found, unpack = _integrated(layers, gradients, until, **options)
    return lambda times: unpack(found.sol(times).T)


def _integrated(
    parts: Sequence[np.ndarray],
    gradients: Callable[[list[np.ndarray]], Sequence[np.ndarray]],
    until: float,
    **options: Any,
) -> tuple[Any, Callable[[np.ndarray], list[np.ndarray]]]:
    """Return SciPy's solution for all parts in one state, and what makes states (..., size) parts again."""
    cuts = np.cumsum([part.size for part in parts])[:-1]

    def unpack(states: np.ndarray) -> list[np.ndarray]:
        pieces = np.split(states, cuts, axis=-1)
        return [v.reshape(*states.shape[:-1], *part.shape) for v, part in zip(pieces, parts, strict=True)]

    def velocity(_time: float, state: np.ndarray) -> np.ndarray:
        return -np.concatenate([part.ravel() for part in gradients(unpack(state))])

    start = np.concatenate([part.ravel() for part in parts])
    return solve_ivp(velocity, (0, until), start, "DOP853", **options), unpack
