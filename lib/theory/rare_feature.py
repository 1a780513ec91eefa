"""Draws of one ReLU neuron on a frequent feature and a rare one, orthogonal to it [combes2018, Section 6].

All inputs of a class hold the feature ``x1``, a share ``rate`` of them also ``x2``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from lib.models.two_layer import TwoLayer
from lib.theory.two_classes import neuron, pair


@dataclass(frozen=True, eq=False)
class Case:
    """A ``rate``, ``k = |x2|^2 / |x1|^2``, the ``norm`` of x1, a network of one neuron, features (2, 3).

    ``start`` is ``(<w, x1>, <w, x2>, a)``.
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
    """Draw a case from each of fifteen generators, with ``<w, x2> = lead(rng, family) k rate <w, x1>``.

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
