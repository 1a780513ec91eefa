"""Square loss on orthogonal inputs from small scales: groups, plateaus, and the limit.

Inputs x_k (n, d) are orthogonal with norms ``R_k``, labels (n,) are real.  The labels of one sign act as one:
the positive ones through the vector ``D_+ = sum_k y_k x_k / n``, the negative ones through ``D_-``.  While
the outputs are negligible neuron j grows like ``exp(omega_j t + kappa_j)``.  The neurons of ``S_+`` (positive
sign, active on all positive labels) grow fastest among the positive ones and fit all positive labels at once;
those of ``S_-`` do the same for the negative labels.  The squared norms ``u_+`` and ``u_-`` of the two groups
are then logistic functions of time [boursier2022, Sec. 4.2], and the rates and offsets of the exact alignment
phase give their half-times and the limit in closed form.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, logsumexp, softmax

from lib.flow.alignment import alignment_phase
from lib.geometry.patterns import lengths, unit_vectors
from lib.models.two_layer import Start


class Pair(NamedTuple):
    """One value, of any type, for the positive labels and one for the negative ones."""

    positive: Any
    negative: Any


def class_directions(inputs: ArrayLike, labels: ArrayLike) -> Pair:
    """Return ``D_+`` and ``D_-``, each (d,): the sums of ``y_k x_k / n`` over the labels of one sign.

    Inputs need not be orthogonal.  [boursier2022, Sec. 3]
    """
    y = np.asarray(labels, dtype=float)
    weighted = y[:, None] * np.asarray(inputs) / len(y)
    return Pair(weighted[y > 0].sum(axis=0), weighted[y < 0].sum(axis=0))


def _norms(parts: Iterable[np.ndarray]) -> Pair:
    return Pair(*(float(np.linalg.norm(part)) for part in parts))


def class_heights(inputs: ArrayLike, labels: ArrayLike) -> Pair:
    """Return the norms of ``y_k/R_k`` over the positive and over the negative labels.

    They are the squared norms that the two groups of a minimum-norm interpolator have.
    """
    scaled = np.asarray(labels) / lengths(inputs)
    return _norms((scaled[scaled > 0], scaled[scaled < 0]))


def minimum_squared_norm(inputs: ArrayLike, labels: ArrayLike) -> float:
    """Return the least ``|theta|^2`` of an interpolator of orthogonal inputs, ``2 (|(y/R)_+| + |(y/R)_-|)``.

    For unit norms it is [boursier2022, Prop. 1].
    """
    return 2 * sum(class_heights(inputs, labels))


def aligned_groups(directions: ArrayLike, signs: ArrayLike, inputs: ArrayLike, labels: ArrayLike) -> Pair:
    """Return the indices of ``S_+`` and of ``S_-``: neurons active on all labels of their own sign.

    ``directions`` (m, d) have any norms, ``signs`` (m,) are +1 and -1.  Active means ``<w, x> > 0``; the
    paper admits 0, where a neuron never becomes active.  [boursier2022, Eq. 5-6]
    """
    s, y = np.asarray(signs), np.asarray(labels)
    # Seen by more than what rounding makes of a neuron on a boundary.
    seen = unit_vectors(directions) @ unit_vectors(inputs).T > 1e-15
    return Pair(*(np.flatnonzero((s == sign) & seen[:, sign * y > 0].all(axis=1)) for sign in (1, -1)))


def grouped_start(m: int, inputs: ArrayLike, labels: ArrayLike, *, rng: np.random.Generator) -> Start:
    """Draw Gaussian starts of scale 1 with ``m`` neurons until neither ``S_+`` nor ``S_-`` is empty."""
    while True:
        start = Start.gaussian(m, np.shape(inputs)[1], 0.0, rng=rng)
        if all(group.size for group in aligned_groups(start.directions, start.signs, inputs, labels)):
            return start


@dataclass(frozen=True)
class TwoPlateaus:
    """The limit of small scales: groups, rates, half-times, and what follows from them.

    ``n`` is the number of labels; ``groups`` are the index arrays of ``S_+`` and ``S_-``; ``rates`` are
    ``|D_+|`` and ``|D_-|``; ``heights`` the final squared norms of the groups; ``half_times`` the times at
    which half of each is reached.  ``directions`` (m, d), ``log_norms`` and output ``signs`` (m,) describe
    the limit theta*: neurons outside the groups have log-norm -inf.  ``idle_log_norms`` (m,) are the
    log-norms that the other neurons are left with, to leading order (-inf for the groups).  ``label_norms``
    are ``|y_+|`` and ``|y_-|``.
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

    def _ages(self, times: ArrayLike) -> np.ndarray:
        pairs = zip(self.rates, self.half_times, strict=True)
        return np.array([2 * rate * (np.asarray(times) - half) for rate, half in pairs])

    def fitted(self, times: ArrayLike) -> np.ndarray:
        """Return the fitted parts of the two groups at times of any shape, (2, ...): logistic functions."""
        return expit(self._ages(times))

    def loss(self, times: ArrayLike) -> np.ndarray:
        """Return ``sum_k (f(x_k) - y_k)^2 / (2n)`` at times of any shape."""
        missing = expit(-self._ages(times))
        return np.tensordot(np.square(self.label_norms), missing**2, axes=1) / (2 * self.n)

    @property
    def limit(self) -> Start:
        """The limit theta* as a start; in it the neurons outside the groups are zero."""
        return Start(self.directions, self.log_norms, self.signs)

    @property
    def idle_distance(self) -> float:
        """The distance of the flow's limit to theta*, to leading order: the norm of the other neurons."""
        return float(np.exp((np.log(2) + logsumexp(2 * self.idle_log_norms)) / 2))


def two_plateaus(start: Start, inputs: ArrayLike, labels: ArrayLike) -> TwoPlateaus:
    """Predict the whole flow of a balanced start of small scale on orthogonal inputs, mean square loss.

    For labels of both signs, none zero, norms of inputs that are equal within a class, and non-empty ``S_+``
    and ``S_-``.  The error vanishes with the scale, like :attr:`TwoPlateaus.idle_distance`.
    [boursier2022, Eq. 20, 28, Lemma 12; half-times, shares and idle norms are ours]
    """
    x, y, s = np.asarray(inputs, dtype=float), np.asarray(labels, dtype=float), start.signs
    alignment_rates, alignment_offsets = alignment_phase(start.directions, s, x, y / len(y)).asymptotics
    offsets, vectors = start.log_norms + alignment_offsets, class_directions(x, y)
    groups, heights = aligned_groups(start.directions, s, x, y), class_heights(x, y)
    rates, halves = _norms(vectors), []
    directions, log_norms = np.zeros((len(s), x.shape[1])), np.full(len(s), -np.inf)
    for sign, group, height, rate, vector in zip((1, -1), groups, heights, rates, vectors, strict=True):
        halves.append(float((np.log(height) - logsumexp(2 * offsets[group])) / (2 * rate)))
        directions[group] = sign * vector / rate
        log_norms[group] = (np.log(height) + np.log(softmax(2 * offsets[group]))) / 2
    idle = offsets + alignment_rates * np.where(s > 0, *halves)
    idle[np.concatenate(groups)] = -np.inf
    sizes = _norms((y[y > 0], y[y < 0]))
    return TwoPlateaus(len(y), groups, rates, heights, Pair(*halves), s, directions, log_norms, idle, sizes)


def largest_epsilon(labels: ArrayLike, *, as_printed: bool = False) -> float:
    """Return the largest epsilon that the phase lemmas admit for orthonormal inputs with these labels (n,).

    It satisfies ``(1 + 3 eps) max(1 - alpha, 1/r) <= 1 - eps`` and ``(1 + 3 r eps) (1 - beta) <= 1 - eps``,
    with ``r = |y_+|/|y_-|`` after exchanging the classes if needed, ``alpha = min y_k^2 / (2 |y_+|^2)`` over
    the larger class and beta likewise over the other.  It is 0 for ``r = 1``, where no epsilon is admitted.
    ``as_printed`` divides by ``|D_+|^2`` instead of ``n^2 |D_+|^2``, as [boursier2022, App. B.2] does by
    mistake.
    """
    y = np.asarray(labels, dtype=float)
    larger, smaller = sorted((y[y > 0], y[y < 0]), key=np.linalg.norm, reverse=True)
    ratio = np.linalg.norm(smaller) / np.linalg.norm(larger)
    factor = len(y) ** 2 if as_printed else 1
    classes = (larger, smaller)
    alpha, beta = (factor * (np.abs(part).min() / np.linalg.norm(part)) ** 2 / 2 for part in classes)
    slower, others = max(1 - alpha, ratio), 1 - beta
    first = (1 - slower) / (1 + 3 * slower)
    return float(min(first, (1 - others) * ratio / (ratio + 3 * max(others, 0.0))))
