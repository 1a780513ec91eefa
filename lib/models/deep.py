"""Deep ReLU networks with one output, as lists of weight matrices [combes2018, Section 4].

A network of N layers is ``[W_1, ..., W_N]`` with shapes (..., m_i, m_{i-1}), ``m_0 = d`` and ``m_N = 1``;
leading axes are independent networks.  Inputs are rows (n, d), labels (n,) are +1 and -1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike


def _preactivations(layers: Sequence[np.ndarray], inputs: ArrayLike) -> list[np.ndarray]:
    preactivations = [np.asarray(inputs) @ np.swapaxes(layers[0], -1, -2)]
    for weights in layers[1:]:
        preactivations.append(np.maximum(preactivations[-1], 0) @ np.swapaxes(weights, -1, -2))
    return preactivations


def outputs(layers: Sequence[np.ndarray], inputs: ArrayLike) -> np.ndarray:
    """Return ``W_N relu(... relu(W_1 x))``, shape (..., n)."""
    return _preactivations(layers, inputs)[-1][..., 0]


def gradients(
    layers: Sequence[np.ndarray],
    inputs: ArrayLike,
    labels: ArrayLike,
    loss_slope: Callable[[np.ndarray, np.ndarray], np.ndarray],
) -> list[np.ndarray]:
    """Return the gradients of the summed loss in all layers, in their shapes.

    ``loss_slope`` maps outputs (..., n, 1) and labels (n, 1) to the derivatives of the loss of each example,
    as those of :mod:`lib.training.losses` do; at zero the derivative of the ReLU is 0.
    """
    *hidden, logits = _preactivations(layers, inputs)
    signal, backwards = loss_slope(logits, np.asarray(labels)[:, None]), []
    for weights, z in zip(layers[:0:-1], hidden[::-1], strict=True):
        backwards.append(np.swapaxes(signal, -1, -2) @ np.maximum(z, 0))
        signal = (signal @ weights) * (z > 0)
    backwards.append(np.swapaxes(signal, -1, -2) @ np.asarray(inputs))
    return backwards[::-1]
