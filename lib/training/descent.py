"""Gradient descent of two-layer networks in NumPy, plain, stochastic and spherical; the run of every trainer.

Leading axes of the weights (seeds, say) are networks that do not see each other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from lib.checks import choice, number, whole, wholes
from lib.models.two_layer import Start, TwoLayer
from lib.training.losses import LOGISTIC, Loss, examples


@dataclass(frozen=True, eq=False)
class TrainingRun:
    """A run of a trainer: ``recorded[k]`` is what ``record`` returned after ``steps[k]`` steps.

    ``network`` is the network after ``made`` steps, from which a trainer goes on; ``memory`` is what the
    optimiser remembers then, where there is one.
    """

    network: Any
    steps: np.ndarray
    recorded: tuple
    made: int
    memory: Any = None


class Diverged(ArithmeticError):
    """Weights, logits or objective are no longer finite: the steps are too long.

    ``run`` is the :class:`TrainingRun` until then, as of every error of a trainer.  Where networks of a stack
    are lost and the others went on, ``seeds`` names them.
    """

    run: TrainingRun
    seeds: tuple[int, ...] = ()


def run_steps(
    network: Any,
    step: Callable[[Any, int], Any],
    steps: int,
    record: Callable[[Any], Any],
    record_at: Iterable[int] | None,
    shown: Callable[[Any], Any] = lambda network: network,
    memory: Callable[[], Any] = lambda: None,
) -> TrainingRun:
    """Make ``network = step(network, k)`` for k from 0 to ``steps - 1``, record on the way, and lose nothing.

    Every error, ``KeyboardInterrupt`` too, leaves with the :class:`TrainingRun` until then as its attribute
    ``run``.  ``record`` and ``record_at`` are those of the trainers, which call this; ``shown`` makes the
    network of what steps, ``memory`` returns what the optimiser remembers.
    """
    wanted = set(wholes("record_at", [0, steps] if record_at is None else [*record_at], 0, steps).tolist())
    recorded: dict[int, Any] = {}
    made = 0

    def run() -> TrainingRun:
        at = np.array([*recorded], dtype=int)
        return TrainingRun(shown(network), at, tuple(recorded.values()), made, memory())

    try:
        if 0 in wanted:
            recorded[0] = record(shown(network))
        while made < steps:
            network = step(network, made)
            made += 1
            if made in wanted:
                recorded[made] = record(shown(network))
    except BaseException as error:
        error.run = run()  # type: ignore[attr-defined]
        error.add_note(f"the attribute run of this error has the run until step {made} of {steps}")
        raise
    return run()


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
    record_at: Iterable[int] | None = None,
) -> TrainingRun:
    """Run ``steps`` steps ``theta <- theta - step * gradient`` from ``network``.

    ``inputs`` is (n, d), ``labels`` (n,): +1 and -1 for losses of classification.  ``reduction`` of the loss
    over data is "mean" or "sum".  With ``samples`` (whole numbers from 0 to n - 1, shape (steps, ...) where
    ... are the network's leading axes) each step uses only the loss of the example of that index: stochastic
    gradient descent whose randomness the caller has drawn.  ``train_a=False`` keeps the second layer fixed.
    ``record`` is called with the network at the step counts ``record_at`` (whole numbers from 0, the start,
    to ``steps``; default: start and end), once each and in their order in time.

    Raises ``ValueError`` naming a bad argument, and :class:`Diverged`, which keeps the run until then, when
    the weights of one of the networks are no longer finite.
    """
    if not isinstance(network, TwoLayer):
        raise ValueError(f"network is {network!r}, allowed: a TwoLayer")
    x, y = examples(inputs, labels, network.w.shape[-1], loss)
    step, steps, drawn = number("step", step, 0), whole("steps", steps), None
    count = len(y) if choice("reduction", reduction, ("mean", "sum")) == "mean" else 1
    if samples is not None:
        drawn, count = wholes("samples", samples, 0, len(y) - 1).astype(int), 1
        if drawn.shape != (steps, *network.a.shape[:-1]):
            raise ValueError(f"samples has shape {drawn.shape}, allowed: {(steps, *network.a.shape[:-1])}")
    scale = step / count

    def descend(now: TwoLayer, k: int) -> TwoLayer:
        some, signs = (x, y) if drawn is None else (x[drawn[k]][..., None, :], y[drawn[k]][..., None])
        with np.errstate(over="ignore", invalid="ignore"):
            in_w, in_a = now.gradients(some, lambda outputs: loss.slope(outputs, signs))
            w, a = now.w - scale * in_w, now.a - scale * in_a if train_a else now.a
        try:
            return now.with_weights(w, a)
        except ValueError:  # only the numbers can be wrong: shapes and slope are those of the step before
            raise Diverged(
                f"weights are not finite after step {k + 1}: take steps shorter than {step:g}"
            ) from None

    return run_steps(network, descend, steps, record, record_at)


def loss_scaled_descent(
    network: TwoLayer,
    inputs: ArrayLike,
    labels: ArrayLike,
    *,
    step: float,
    steps: int,
    record: Callable[[TwoLayer, float], Any] = lambda network, log_time: None,
    record_at: Iterable[int] | None = None,
) -> TrainingRun:
    """Train the first layer on the mean logistic loss L by steps ``step / L``, at losses of any size.

    Margins grow by about equal amounts a step.  Arguments are those of :func:`gradient_descent`; ``record``
    is called with the network and the logarithm of the time, the sum of the steps, which is also the run's
    ``memory``.  Raises ``ValueError`` naming a bad argument.  [lyu2020]
    """
    if not isinstance(network, TwoLayer) or network.w.ndim != 2:
        raise ValueError(
            f"network is {type(network).__name__} {np.shape(getattr(network, 'w', 0))}, allowed: "
            "one TwoLayer, of weights (m, d)"
        )
    x, y = examples(inputs, labels, network.w.shape[-1], LOGISTIC)
    log_step, steps = np.log(number("step", step, 0) / len(y)), whole("steps", steps)
    signed, log_time = y[:, None] * x, -np.inf

    def descend(now: TwoLayer, k: int) -> TwoLayer:
        nonlocal log_time
        z = x @ now.w.T
        margins = y * (np.maximum(z, now.slope * z) @ now.a)
        log_losses = np.where(margins > 30, -margins, np.log(np.logaddexp(0, -np.minimum(margins, 30))))
        least = log_losses.max()
        log_loss = least + np.log(np.exp(log_losses - least).mean())
        forces = np.exp(log_step - log_loss - np.logaddexp(0, margins))
        slopes = np.where(z > 0, forces[:, None], now.slope * forces[:, None])
        log_time = float(np.logaddexp(log_time, log_step + np.log(len(y)) - log_loss))
        return now.with_weights(now.w + now.a[:, None] * (slopes.T @ signed), now.a)

    return run_steps(
        network, descend, steps, lambda now: record(now, log_time), record_at, memory=lambda: log_time
    )


def spherical_descent(
    start: Start,
    inputs: ArrayLike,
    labels: ArrayLike,
    loss: Loss,
    *,
    step: float,
    steps: int,
    record: Callable[[Start], Any] = lambda network: None,
    record_at: Iterable[int] | None = None,
) -> TrainingRun:
    """Run ``steps`` steps for the directions and log-norms of balanced ReLU networks, at any scale.

    The loss is the mean over data.  One step is ``rho <- rho + step * s <D, v>`` and ``v <- v + step * s D``,
    normalised: of first order like a plain step.  That one keeps ``a_j^2 - |w_j|^2`` only up to
    ``O(step^2)``, so that a shrinking neuron can lose its balance and then flip the sign of its output; this
    one keeps balance and signs.

    ``start`` is balanced.  Data and ``record_at`` are as in :func:`gradient_descent`.  ``record`` is called
    with the network as a ``Start``, which the run's ``network`` is too.  Errors as of
    :func:`gradient_descent`.
    """
    if not isinstance(start, Start) or not np.array_equal(start.log_norms, start.log_outputs):
        raise ValueError(f"start is {start!r}, allowed: a balanced Start")
    x, y = examples(inputs, labels, start.directions.shape[-1], loss)
    step, steps = number("step", step, 0), whole("steps", steps)
    share, s = 1 / len(y), start.signs

    def descend(now: tuple[np.ndarray, np.ndarray], k: int) -> tuple[np.ndarray, np.ndarray]:
        v, rho = now
        z = v @ x.T
        active = z > 0
        with np.errstate(over="ignore", invalid="ignore"):
            outputs = np.einsum("...m,...mn->...n", s * np.exp(2 * rho), active * z)
            forces = -share * loss.slope(outputs, y)
            drive = s[..., None] * ((active * forces[..., None, :]) @ x)
            rho = rho + step * (drive * v).sum(axis=-1)
            v = v + step * drive
            v /= np.linalg.norm(v, axis=-1, keepdims=True)
        if not np.isfinite(rho).all():
            raise Diverged(f"norms are not finite after step {k + 1}: take steps shorter than {step:g}")
        return v, rho

    first = (start.directions, start.log_norms)
    return run_steps(first, descend, steps, record, record_at, shown=lambda now: Start(now[0], now[1], s))
