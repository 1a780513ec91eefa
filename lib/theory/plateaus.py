"""Square loss on orthogonal inputs from small scales: two plateaus, their closed forms, and the limit.

While the outputs are negligible neuron j grows like ``exp(omega_j t + kappa_j)``.  The neurons of ``S_+``
(positive sign, active on all positive labels) grow fastest among the positive ones and fit all positive
labels at once; those of ``S_-`` do the same for the negative labels.  The squared norms ``u_+`` and ``u_-``
of the two groups are then logistic functions of time [boursier2022, Sec. 4.2], and the rates and offsets of
the exact alignment phase give their half-times and the limit in closed form.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, logsumexp, softmax

from lib.flow.alignment import alignment_phase
from lib.models.two_layer import Start
from lib.theory.orthogonal import Pair, aligned_groups, class_directions, class_heights


@dataclass(frozen=True)
class TwoPlateaus:
    """The limit of small scales: groups, rates, half-times, and what follows from them.

    ``n`` is the number of labels; ``groups`` are the index arrays of ``S_+`` and ``S_-``; ``rates`` are
    ``|D_+|`` and ``|D_-|``; ``heights`` the final squared norms of the groups; ``half_times`` the times at
    which half of each is reached.  ``directions`` (m, d), ``log_norms`` and output ``signs`` (m,) describe
    the limit theta*: neurons outside the groups have log-norm -inf.  ``idle_log_norms`` (m,) are the
    log-norms that the other neurons are left with, to leading order (-inf for the groups).  ``label_norms``
    are ``|y_+|`` and ``|y_-|``.

    Example:

    >>> start = Start(np.eye(2), [-50.0, -50.0], [1, -1])
    >>> theory = two_plateaus(start, np.eye(2), [2.0, -1.0])
    >>> theory.heights, [round(time, 3) for time in theory.half_times]
    (Pair(positive=2.0, negative=1.0), [50.347, 100.0])
    >>> theory.loss([0.0, 75.0, 200.0]).round(3).tolist()
    [1.25, 0.25, 0.0]
    """

    n: int
    groups: Pair
    rates: Pair
    heights: Pair
    half_times: Pair
    signs: np.ndarray
    directions: np.ndarray
    log_norms: np.ndarray
    idle_log_norms: np.ndarray
    label_norms: Pair

    def loss(self, times: ArrayLike) -> np.ndarray:
        """Return ``sum_k (f(x_k) - y_k)^2 / (2n)`` at times of any shape: two squared logistic functions."""
        parts = (
            (norm * expit(-2 * rate * (np.asarray(times) - half))) ** 2
            for norm, rate, half in zip(self.label_norms, self.rates, self.half_times, strict=True)
        )
        return sum(parts) / (2 * self.n)

    @property
    def idle_distance(self) -> float:
        """The distance of the flow's limit to theta*, to leading order: the norm of the other neurons."""
        return float(np.exp((np.log(2) + logsumexp(2 * self.idle_log_norms)) / 2))


def two_plateaus(start: Start, inputs: ArrayLike, labels: ArrayLike) -> TwoPlateaus:
    """Predict the whole flow of a balanced start of small scale on orthogonal inputs, mean square loss.

    For labels of both signs, none zero, norms of inputs that are equal within a class, and non-empty ``S_+``
    and ``S_-`` (other starts: :func:`greedy_limit`).  The error vanishes with the scale, like
    :attr:`TwoPlateaus.idle_distance`.  [boursier2022, Eq. 20, 28, Lemma 12; half-times, shares and idle norms
    are ours]

    >>> start = Start([[0.8, 0.6], [0.6, 0.8], [0.0, 1.0]], [-1e4, -1e4, -1e4], [1, -1, -1])
    >>> theory = two_plateaus(start, np.eye(2), [1.0, -1.0])
    >>> [round(half, 2) for half in theory.half_times], theory.idle_log_norms
    ([20000.37, 19999.48], array([-inf, -inf, -inf]))
    """
    x, y, s = np.asarray(inputs, dtype=float), np.asarray(labels, dtype=float), start.signs
    alignment_rates, alignment_offsets = alignment_phase(start.directions, s, x, y / len(y)).asymptotics
    groups = aligned_groups(start.directions, s, x, y)
    vectors = class_directions(x, y)
    rates = Pair(float(np.linalg.norm(vectors.positive)), float(np.linalg.norm(vectors.negative)))
    heights = class_heights(x, y)
    offsets = start.log_norms + alignment_offsets
    positive, negative = (
        float((np.log(height) - logsumexp(2 * offsets[group])) / (2 * rate))
        for height, rate, group in zip(heights, rates, groups, strict=True)
    )
    limit_directions, limit_log_norms = np.zeros((len(s), x.shape[1])), np.full(len(s), -np.inf)
    idle = offsets + alignment_rates * np.where(s > 0, positive, negative)
    for sign, group, height, vector in zip((1, -1), groups, heights, vectors, strict=True):
        limit_directions[group] = sign * vector / np.linalg.norm(vector)
        limit_log_norms[group] = (np.log(height) + np.log(softmax(2 * offsets[group]))) / 2
        idle[group] = -np.inf
    label_norms = Pair(float(np.linalg.norm(y[y > 0])), float(np.linalg.norm(y[y < 0])))
    halves = Pair(positive, negative)
    return TwoPlateaus(
        len(y), groups, rates, heights, halves, s, limit_directions, limit_log_norms, idle, label_norms
    )
