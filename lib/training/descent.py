"""Gradient descent and stochastic gradient descent of two-layer networks in NumPy, many seeds at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from lib.checks import array, choice, number, numbers, signs, whole
from lib.models.two_layer import TwoLayer
from lib.training.losses import Loss


@dataclass(frozen=True, eq=False)
class Descent:
    """A run: ``recorded[k]`` is what ``record`` returned after ``steps[k]`` steps.

    ``network`` is the network after the last step.

    Example: the weights of ``f(x) = a max(0, w x)`` at the start and after two steps towards ``f(1) = 1``.

    >>> from lib.training.losses import SQUARE
    >>> run = gradient_descent(TwoLayer([[0.5]], [0.5]), [[1.0]], [1.0], SQUARE, step=0.1, steps=2,
    ...                        record=lambda network: network.a.item())
    >>> run.steps, [round(a, 4) for a in run.recorded]
    (array([0, 2]), [0.5, 0.5757])
    """

    network: TwoLayer
    steps: np.ndarray
    recorded: tuple


class Diverged(ArithmeticError):
    """A descent whose weights are no longer finite; ``run`` is the :class:`lib.training.descent.Descent` until then.

    ``run.network`` is the last network with finite weights, ``run.steps`` and ``run.recorded`` are what was
    recorded, and ``taken`` counts the steps that led to ``run.network``.

    Example: too long a step.  The error keeps what was recorded.

    >>> from lib.training.losses import SQUARE
    >>> try:
    ...     gradient_descent(TwoLayer([[2.0]], [2.0], slope=1), [[1.0]], [1.0], SQUARE, step=1, steps=50,
    ...                      record=lambda network: network.a.item(), record_at=range(51))
    ... except Diverged as error:
    ...     print(error.taken, error.run.recorded[:3])
    6 (2.0, -4.0, 56.0)
    """

    def __init__(self, run: Descent, taken: int, steps: int, step: float) -> None:
        super().__init__(
            f"weights are not finite after step {taken + 1} of {steps}: take steps shorter than {step:g}; "
            f"run holds the {len(run.steps)} records and the network of {taken} steps"
        )
        self.run = run
        self.taken = taken


def gradient_descent(
    network: TwoLayer,
    inputs: ArrayLike,
    labels: ArrayLike,
    loss: Loss,
    *,
    step: float,
    steps: int,
    reduction: str = "mean",
    train_a: bool = True,
    samples: ArrayLike | None = None,
    record: Callable[[TwoLayer], Any] = lambda network: None,
    record_at: ArrayLike | None = None,
) -> Descent:
    """Run ``steps`` steps ``theta <- theta - step * gradient`` from ``network``.

    ``inputs`` is (n, d), ``labels`` (n,): +1 and -1 for losses of classification.  ``reduction`` of the loss
    over data is "mean" or "sum".  With ``samples`` (whole numbers from 0 to n - 1, shape (steps, ...) where
    ... are the network's leading axes) each step uses only the loss of the example of that index: stochastic
    gradient descent whose randomness the caller has drawn.  ``train_a=False`` keeps the second layer fixed.
    ``record`` is called with the network at the step counts ``record_at`` (whole numbers from 0, the start,
    to ``steps``; default: start and end), once each and in their order in time.  Until a fixed time the run
    differs from the gradient flow by ``O(step)``.

    Raises ``ValueError`` naming a bad argument, and :class:`lib.training.descent.Diverged`, which keeps what was
    recorded, when the weights of one of the networks are no longer finite.

    Example: a linear network (slope 1) of one unit, fitted to two points on a line.

    >>> from lib.training.losses import SQUARE
    >>> run = gradient_descent(TwoLayer([[0.3]], [0.3], slope=1), [[1.0], [2.0]], [2.0, 4.0], SQUARE,
    ...                        step=0.1, steps=100)
    >>> run.network([[1.0]]).round(6)
    array([2.])
    """
    if not isinstance(network, TwoLayer):
        raise ValueError(f"network is {network!r}, allowed: a TwoLayer")
    if not isinstance(loss, Loss):
        raise ValueError(f"loss is {loss!r}, allowed: a Loss such as lib.training.losses.LOGISTIC")
    inputs = array("inputs", inputs, ("n", network.w.shape[-1]))
    labels = (signs if loss.classifies else array)("labels", labels, (len(inputs),))
    step, steps = number("step", step, 0), whole("steps", steps)
    choice("reduction", reduction, ("mean", "sum"))
    wanted = _whole_numbers("record_at", [0, steps] if record_at is None else record_at, steps)
    recording = set(wanted.ravel().tolist())
    examples = None if samples is None else _whole_numbers("samples", samples, len(inputs) - 1)
    if examples is not None and examples.shape != (steps, *network.a.shape[:-1]):
        raise ValueError(f"samples has shape {examples.shape}, allowed: {(steps, *network.a.shape[:-1])}")
    scale = step / len(labels) if reduction == "mean" and examples is None else step
    kept = [(0, record(network))] if 0 in recording else []
    x, y = inputs, labels
    for k in range(1, steps + 1):
        if examples is not None:
            x, y = inputs[examples[k - 1]][..., None, :], labels[examples[k - 1]][..., None]
        with np.errstate(over="ignore", invalid="ignore"):
            in_w, in_a = network.gradients(x, partial(_slopes, loss, y))
            w, a = network.w - scale * in_w, network.a - scale * in_a if train_a else network.a
        try:
            network = network.with_weights(w, a)
        except ValueError:  # only the numbers can be wrong: shapes and slope are those of the step before
            raise Diverged(_descent(network, kept), k - 1, steps, step) from None
        if k in recording:
            kept.append((k, record(network)))
    return _descent(network, kept)


def _slopes(loss: Loss, labels: np.ndarray, outputs: np.ndarray) -> np.ndarray:
    return loss.slope(outputs, labels)


def _descent(network: TwoLayer, kept: list[tuple[int, Any]]) -> Descent:
    return Descent(network, np.array([k for k, _ in kept], dtype=int), tuple(value for _, value in kept))


def _whole_numbers(name: str, value: ArrayLike, last: int) -> np.ndarray:
    entries = numbers(name, value, 0, last, "[]")
    if (broken := entries[entries % 1 != 0]).size:
        raise ValueError(f"{name} holds {broken.flat[0]}, allowed: whole numbers from 0 to {last}")
    return entries.astype(int)
