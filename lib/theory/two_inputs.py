"""Two inputs: one ReLU neuron on both, of one class or two, or one for each [combes2018, Sections 3, 6].

Inputs ``x1`` and ``x2`` have norms ``n1`` and ``n2``; the neuron's state is ``(alpha, beta, a)`` with the
responses ``alpha = <w, x1>`` and ``beta = <w, x2>``.  Arguments broadcast; leading axes are cases.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit

from lib.models.two_layer import TwoLayer
from lib.training.descent import gradient_descent
from lib.training.losses import LOGISTIC


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


def saddle(c: ArrayLike, n1: ArrayLike, n2: ArrayLike) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return ``s`` and the two rates, the negative one first, of the rest ``alpha = beta = s, a = 0``.

    ``c = alpha^2 / n1^2 + beta^2 / n2^2 - a^2`` above 0; the flow is that of the sum of the two losses.

    >>> [float(part) for part in saddle(2.0, 1.0, 1.0)]
    [1.0, -1.0, 0.5]
    """
    s_squared = np.divide(c, np.power(n1, -2.0) + np.power(n2, -2.0))
    squares = np.square(n1) + np.square(n2)
    stable = -(s_squared / 2 + np.sqrt(s_squared**2 / 4 + squares)) / 2
    return np.sqrt(s_squared), stable, -squares / (4 * stable)  # from their product: nothing cancels


def balanced_runs(
    samples: np.ndarray, norms: tuple[float, float], u0: float, step: float, record_at: Iterable[int]
) -> np.ndarray:
    """Return the probabilities of the true class in runs of one example a step, (len(record_at), seeds, 2).

    Classes +1 and -1 are one input each, of these norms, at an obtuse angle; each has its balanced neuron,
    of initial logit ``u0``.  ``samples`` (steps, seeds) says which of the two is drawn, 0 or 1.
    """
    labels, directions = np.array([1.0, -1.0]), np.array([[1.0, 0.0], [-0.375, np.sqrt(1 - 0.375**2)]])
    inputs, sizes = directions * np.array(norms)[:, None], np.sqrt(u0 / np.array(norms))
    start = TwoLayer(directions * sizes[:, None], labels * sizes)
    steps, seeds = samples.shape
    run = gradient_descent(
        TwoLayer(np.tile(start.w, (seeds, 1, 1)), np.tile(start.a, (seeds, 1))),
        inputs,
        labels,
        LOGISTIC,
        step=step,
        steps=steps,
        samples=samples,
        record=lambda network: expit(labels * network(inputs)),
        record_at=record_at,
    )
    return np.array(run.recorded)


@dataclass(frozen=True, eq=False)
class Case:
    """One class with a frequent feature x1 in all inputs and a rare x2 in a share ``rate`` of them.

    The ``features`` are (2, 3), ``norm`` is that of x1, ``k = |x2|^2 / |x1|^2``; ``network`` has one neuron,
    of the state ``start``.
    """

    rate: float
    k: float
    norm: float
    start: tuple[float, float, float]
    network: TwoLayer
    features: np.ndarray


def cases(
    lead: Callable[[np.random.Generator, int], float], rngs: Iterable[np.random.Generator]
) -> Iterator[Case]:
    """Draw a case from each of fifteen generators, with ``beta = lead(rng, family) k rate alpha``.

    Five each of family 0, small starts and unit norms; 1, ordinary starts, norms of x1 and of x2 over x1
    between a tenth and ten; and 2, the same with a fourfold output weight.
    """
    for j, rng in enumerate(rngs):
        family, rate, norm, k = j // 5, rng.uniform(0.02, 0.9), 1.0, 1.0
        alpha, a = np.exp(rng.uniform(np.log(1e-4), np.log(1e-2), 2))
        if family > 0:
            norm, k = 10 ** rng.uniform(-1, 1), 10 ** rng.uniform(-2, 2)
            alpha, a = np.sqrt([norm, 1 / norm]) * rng.uniform(0.1, 0.6, 2)
            a *= 4 if family == 2 else 1
        start = alpha, lead(rng, family) * k * rate * alpha, a
        features = pair(norm, np.sqrt(k) * norm, rng=rng)
        yield Case(rate, k, norm, start, neuron(start, features, rng=rng), features)
