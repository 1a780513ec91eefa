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
from scipy.special import expit, log_expit, logsumexp, softmax

from lib.checks import array, numbers, refuse_overflow
from lib.checks import signs as checked_signs
from lib.theory.orthogonal_alignment import orthogonal_alignment
from lib.theory.orthogonal_data import (
    Pair,
    active_inputs,
    check_labels,
    check_orthogonal,
    class_directions,
    class_heights,
    lengths,
    same_length,
)


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

    >>> start = np.eye(2), [-50.0, -50.0], [1, -1]
    >>> theory = two_plateaus(*start, np.eye(2), [2.0, -1.0])
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

    def squared_norms(self, times: ArrayLike) -> Pair:
        """Return ``u_+`` and ``u_-`` at times of any shape: logistic functions of rate ``2 |D|``.

        Raises ``ValueError`` for times that are not finite.
        """
        times = numbers("times", times)
        positive, negative = (
            height * expit(2 * rate * (times - half))
            for height, rate, half in zip(self.heights, self.rates, self.half_times, strict=True)
        )
        return Pair(positive, negative)

    def loss(self, times: ArrayLike) -> np.ndarray:
        """Return ``sum_k (f(x_k) - y_k)^2 / (2n)`` at times of any shape: two squared logistic functions.

        Raises ``ValueError`` for times that are not finite.
        """
        with np.errstate(over="ignore"):
            return np.exp(self.log_loss(times))

    def log_loss(self, times: ArrayLike) -> np.ndarray:
        """Return the logarithm of :meth:`loss`, also where the loss itself underflows."""
        times = numbers("times", times)
        logs = [
            2 * (np.log(norm) + log_expit(-2 * rate * (times - half)))
            for norm, rate, half in zip(self.label_norms, self.rates, self.half_times, strict=True)
        ]
        return np.logaddexp(*logs) - np.log(2 * self.n)

    def log_gap_times(self, log_gaps: ArrayLike) -> Pair:
        """Return the times at which ``u_+`` and ``u_-`` lack ``exp(log_gaps)`` of their heights.

        ``log_gaps`` has any shape and lies below the logarithms of both heights; the times t_2 and t_3 of
        the phase lemmas have the gaps ``epsilon/5`` and ``epsilon/29`` times the logarithm of the scale.
        Raises ``ValueError`` for larger gaps.  Source: [boursier2022, Eq. 17 and 23].
        """
        gaps = numbers("log_gaps", log_gaps, high=min(np.log(self.heights)))
        positive, negative = (
            half + (np.log(height) + np.log1p(-np.exp(gaps - np.log(height))) - gaps) / (2 * rate)
            for height, rate, half in zip(self.heights, self.rates, self.half_times, strict=True)
        )
        return Pair(positive, negative)

    @property
    def idle_distance(self) -> float:
        """The distance of the flow's limit to theta*, to leading order: the norm of the other neurons."""
        return float(np.exp(self.log_idle_distance))

    @property
    def log_idle_distance(self) -> float:
        """The logarithm of :attr:`idle_distance`, -inf when all neurons are in the groups."""
        return float((np.log(2) + logsumexp(2 * self.idle_log_norms)) / 2)


def aligned_groups(directions: ArrayLike, signs: ArrayLike, inputs: ArrayLike, labels: ArrayLike) -> Pair:
    """Return the indices of ``S_+`` and of ``S_-``: neurons active on all labels of their own sign.

    ``directions`` (m, d) of any norms, ``signs`` (m,) of +1 and -1, ``inputs`` (n, d), ``labels``
    (n,) real.  Active means ``<w, x> > 0``; the paper admits 0, where a neuron never becomes active.
    Raises ``ValueError`` for other shapes or signs.  Source: [boursier2022, Eq. 5-6].

    Example:

    >>> groups = aligned_groups([[1, 1], [1, -1], [-1, 1]], [1, 1, -1], np.eye(2), [2.0, -1.0])
    >>> groups.positive.tolist(), groups.negative.tolist()
    ([0, 1], [2])
    """
    x, y = array("inputs", inputs, ("n", "d")), array("labels", labels, ("n",))
    v, s = array("directions", directions, ("m", "d")), checked_signs("signs", signs, ("m",))
    same_length(inputs=len(x), labels=len(y))
    same_length(directions=len(v), signs=len(s))
    seen = active_inputs(v, x)
    positive, negative = (np.flatnonzero((s == sign) & seen[:, sign * y > 0].all(axis=1)) for sign in (1, -1))
    return Pair(positive, negative)


@refuse_overflow
def two_plateaus(
    directions: ArrayLike, log_norms: ArrayLike, signs: ArrayLike, inputs: ArrayLike, labels: ArrayLike
) -> TwoPlateaus:
    """Predict the whole flow of a balanced start of small scale on orthogonal inputs, mean square loss.

    ``directions`` (m, d) are unit vectors, ``log_norms`` (m,) natural logarithms of the norms ``|w_j|``,
    of any size, ``signs`` (m,) those of ``a_j = s_j |w_j|``, ``inputs`` (n, d), ``labels`` (n,).  Norms
    of inputs may differ between the classes, not within one.  The error vanishes with the scale, like
    :attr:`lib.theory.plateaus.TwoPlateaus.idle_distance`.  Raises ``ValueError`` naming the hypothesis
    that the data or the start violate: orthogonal inputs, equal norms in a class, labels of both signs,
    non-empty ``S_+`` and ``S_-``. Sources: [boursier2022, Eq. 20, 28, Lemma 12]; half-times, shares and
    idle norms are ours.

    Example:

    >>> start = [[0.8, 0.6], [0.6, 0.8], [0.0, 1.0]], [-1e4, -1e4, -1e4], [1, -1, -1]
    >>> theory = two_plateaus(*start, np.eye(2), [1.0, -1.0])
    >>> [round(half, 2) for half in theory.half_times], theory.idle_log_norms
    ([20000.37, 19999.48], array([-inf, -inf, -inf]))
    """
    x, y = check_orthogonal(inputs), check_labels(labels)
    same_length(inputs=len(x), labels=len(y))
    phase = orthogonal_alignment(directions, signs, x, y / len(y))
    groups = aligned_groups(directions, signs, x, y)
    s, rho = checked_signs("signs", signs, ("m",)), array("log_norms", log_norms, ("m",))
    same_length(signs=len(s), log_norms=len(rho))
    norms = lengths(x)
    for sign in (1, -1):
        inside = np.flatnonzero(sign * y > 0)
        if np.ptp(norms[inside]) > 1e-9 * norms[inside].max():
            low, high = inside[norms[inside].argmin()], inside[norms[inside].argmax()]
            raise ValueError(
                f"equal norms within a class fail for inputs {low} and {high}: the neurons turn while "
                "they grow, and the logistic form is lost"
            )
    for group, name in zip(groups, ("S_+", "S_-"), strict=True):
        if not group.size:
            raise ValueError(f"Assumption 3 fails: {name} is empty at this start; use greedy_limit")
    vectors = class_directions(x, y)
    rates = Pair(float(lengths(vectors.positive)), float(lengths(vectors.negative)))
    heights = class_heights(x, y)
    offsets = rho + phase.offsets
    positive, negative = (
        float((np.log(height) - logsumexp(2 * offsets[group])) / (2 * rate))
        for height, rate, group in zip(heights, rates, groups, strict=True)
    )
    limit_directions, limit_log_norms = np.zeros((len(s), x.shape[1])), np.full(len(s), -np.inf)
    idle = offsets + phase.rates * np.where(s > 0, positive, negative)
    for sign, group, height, vector in zip((1, -1), groups, heights, vectors, strict=True):
        limit_directions[group] = sign * vector / lengths(vector)
        limit_log_norms[group] = (np.log(height) + np.log(softmax(2 * offsets[group]))) / 2
        idle[group] = -np.inf
    label_norms = Pair(float(lengths(y[y > 0])), float(lengths(y[y < 0])))
    halves = Pair(positive, negative)
    return TwoPlateaus(
        len(y), groups, rates, heights, halves, s, limit_directions, limit_log_norms, idle, label_norms
    )


@refuse_overflow
def largest_epsilon(labels: ArrayLike, *, as_printed: bool = False) -> float:
    """Return the largest epsilon that the phase lemmas admit for orthonormal inputs with these labels (n,).

    It satisfies ``(1 + 3 eps) max(1 - alpha, 1/r) <= 1 - eps`` and ``(1 + 3 r eps) (1 - beta) <= 1 - eps``,
    with ``r = |y_+|/|y_-|`` after exchanging the classes if needed, ``alpha = min y_k^2 / (2 |y_+|^2)`` over
    the larger class and beta likewise over the other.  It is 0 for ``r = 1``, where no epsilon is admitted.
    ``as_printed`` divides by ``|D_+|^2`` instead of ``n^2 |D_+|^2``, as [boursier2022, App. B.2] does by
    mistake.  Raises ``ValueError`` for labels of one sign, or zero.

    Example:

    >>> round(largest_epsilon([1.2, 1.1, -0.8, -0.75]), 6)
    0.053013
    """
    y = check_labels(labels)
    large, small = sorted((y[y > 0], y[y < 0]), key=lengths, reverse=True)
    ratio = lengths(small) / lengths(large)
    factor = len(y) ** 2 if as_printed else 1
    alpha, beta = (factor * (np.abs(part).min() / lengths(part)) ** 2 / 2 for part in (large, small))
    slower, others = max(1 - alpha, ratio), 1 - beta
    first = (1 - slower) / (1 + 3 * slower)
    return float(min(first, (1 - others) * ratio / (ratio + 3 * max(others, 0.0))))
