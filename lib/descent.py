"""Gradient descent and stochastic gradient descent of two-layer networks in NumPy, many seeds at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from lib.losses import Loss
from lib.networks import TwoLayer


@dataclass(frozen=True)
class Descent:
    """A finished run: ``recorded[k]`` is what ``record`` returned after ``steps[k]`` steps."""

    network: TwoLayer
    steps: np.ndarray
    recorded: tuple


def gradient_descent(
    network: TwoLayer,
    inputs: np.ndarray,
    labels: np.ndarray,
    loss: Loss,
    *,
    step: float,
    steps: int,
    reduction: str = "mean",
    train_a: bool = True,
    samples: np.ndarray | None = None,
    record: Callable[[TwoLayer], object] = lambda network: None,
    record_at: np.ndarray | None = None,
) -> Descent:
    """Run ``steps`` steps ``theta <- theta - step * gradient`` from ``network``.

    ``inputs`` is (n, d), ``labels`` (n,).  ``reduction`` of the loss over data is "mean" or "sum".  With
    ``samples`` (integers, shape (steps, ...) where ... are the network's leading axes) each step uses only
    the example of that index: stochastic gradient descent whose randomness the caller has drawn.
    ``train_a=False`` keeps the second layer fixed.  ``record`` is called at the step counts ``record_at``
    (0 is the start; default: start and end).  Raises ``ValueError`` naming a bad argument.
    """
    inputs, labels = np.asarray(inputs, dtype=float), np.asarray(labels, dtype=float)
    if inputs.ndim != 2 or inputs.shape[1] != network.w.shape[-1]:
        raise ValueError(f"inputs has shape {inputs.shape}, allowed: (n, {network.w.shape[-1]})")
    if labels.shape != inputs.shape[:1]:
        raise ValueError(f"labels has shape {labels.shape}, allowed: {inputs.shape[:1]}")
    if not step > 0:
        raise ValueError(f"step is {step}, allowed: positive numbers")
    if reduction not in ("mean", "sum"):
        raise ValueError(f"reduction is {reduction!r}, allowed: 'mean' or 'sum'")
    if samples is not None and samples.shape != (steps, *network.a.shape[:-1]):
        raise ValueError(f"samples has shape {samples.shape}, allowed: {(steps, *network.a.shape[:-1])}")
    scale = step / len(labels) if reduction == "mean" and samples is None else step
    wanted = {0, steps} if record_at is None else {int(k) for k in record_at}
    kept: list[tuple[int, object]] = [(0, record(network))] if 0 in wanted else []
    for k in range(1, steps + 1):
        if samples is None:
            in_w, in_a = network.gradients(inputs, loss.slope(network(inputs), labels))
        else:
            in_w, in_a = _one_example_gradients(network, inputs[samples[k - 1]], labels[samples[k - 1]], loss)
        network = network.with_weights(
            network.w - scale * in_w, network.a - scale * in_a if train_a else network.a
        )
        if k in wanted:
            kept.append((k, record(network)))
    return Descent(network, np.array([k for k, _ in kept]), tuple(value for _, value in kept))


def _one_example_gradients(
    network: TwoLayer, x: np.ndarray, y: np.ndarray, loss: Loss
) -> tuple[np.ndarray, np.ndarray]:
    """Gradients when each network of the batch sees an example of its own: x (..., d), y (...)."""
    z = np.einsum("...md,...d->...m", network.w, x)
    output = np.einsum("...m,...m->...", np.maximum(z, network.slope * z), network.a)
    weights = np.where(z > 0, 1.0, network.slope) * loss.slope(output, y)[..., None]
    return (weights * network.a)[..., None] * x[..., None, :], weights * z
