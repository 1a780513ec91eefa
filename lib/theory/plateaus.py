"""Square loss on orthogonal inputs from small scales: two plateaus, their closed forms, and the limit.

While the outputs are negligible neuron j grows like ``exp(omega_j t + kappa_j)``.  The neurons of ``S_+``
(positive sign, active on all positive labels) grow fastest among the positive ones and fit all positive
labels at once; those of ``S_-`` do the same for the negative labels.  The squared norms ``u_+`` and ``u_-``
of the two groups are then logistic functions of time [boursier2022, Sec. 4.2], and the rates and offsets of
the exact alignment phase give their half-times and the limit in closed form.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import expit, logsumexp, softmax

from lib.flow.alignment import alignment_phase
from lib.flow.trajectory import checked_start


class Pair(NamedTuple):
    """One number (or array) for the positive labels and one for the negative ones."""

    positive: float | np.ndarray
    negative: float | np.ndarray


def check_orthogonal(inputs: np.ndarray, *, unit: bool = False, rtol: float = 1e-9) -> None:
    """Raise ``ValueError`` naming the hypothesis and the offending pair unless inputs are orthogonal.

    ``unit`` asks for unit norms too [boursier2022, Assumption 1].
    """
    norms = np.linalg.norm(inputs, axis=1)
    cosines = np.abs(inputs @ inputs.T / np.outer(norms, norms)) - np.eye(len(inputs))
    if cosines.max() > rtol:
        i, k = np.unravel_index(cosines.argmax(), cosines.shape)
        raise ValueError(
            f"Assumption 1 (orthogonal inputs) fails for inputs {i} and {k}: "
            f"their cosine is {cosines[i, k]:.3g}"
        )
    if unit and np.abs(norms - 1).max() > rtol:
        k = np.abs(norms - 1).argmax()
        raise ValueError(f"Assumption 1 (inputs of norm 1) fails for input {k}: its norm is {norms[k]:.6g}")


def check_labels(labels: np.ndarray) -> None:
    """Raise ``ValueError`` unless no label is zero and both signs occur."""
    if not np.all(labels):
        raise ValueError(f"Assumption 2 (no label zero) fails for label {int(np.argmin(np.abs(labels)))}")
    if not ((labels > 0).any() and (labels < 0).any()):
        raise ValueError("labels of one sign only; the two plateaus need both signs")


def class_directions(inputs: np.ndarray, labels: np.ndarray) -> Pair:
    """Return ``D_+`` and ``D_-``, each (d,): the sums of ``y_k x_k / n`` over the labels of one sign."""
    weighted = labels[:, None] * inputs / len(labels)
    return Pair(weighted[labels > 0].sum(axis=0), weighted[labels < 0].sum(axis=0))


def class_heights(inputs: np.ndarray, labels: np.ndarray) -> Pair:
    """Return the norms of ``y_k/|x_k|`` over the positive and over the negative labels.

    They are the squared norms that the two groups of a minimum-norm interpolator of orthogonal inputs have.
    """
    scaled = labels / np.linalg.norm(inputs, axis=1)
    return Pair(float(np.linalg.norm(scaled[labels > 0])), float(np.linalg.norm(scaled[labels < 0])))


def minimum_squared_norm(inputs: np.ndarray, labels: np.ndarray) -> float:
    """Return the least ``|theta|^2`` of an interpolator of orthogonal inputs of any norms.

    This is ``2 (|(y/R)_+| + |(y/R)_-|)`` with ``R_k = |x_k|``; for unit norms it is [boursier2022, Prop. 1].
    Raises ``ValueError`` for inputs that are not orthogonal.
    """
    check_orthogonal(inputs)
    return 2 * sum(class_heights(inputs, labels))


@dataclass(frozen=True)
class TwoPlateaus:
    """The limit of small scales: groups, rates, half-times, and what follows from them.

    ``groups`` are the index arrays of ``S_+`` and ``S_-``; ``rates`` are ``|D_+|`` and ``|D_-|``;
    ``heights`` the final squared norms of the groups; ``half_times`` the times at which half of each is
    reached.  ``directions`` (m, d) and ``log_norms`` (m,) describe the limit theta*: neurons outside the
    groups have log-norm -inf. ``idle_log_norms`` (m,) are the log-norms that the other neurons are left
    with, to leading order.
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

    def squared_norms(self, times: np.ndarray) -> Pair:
        """Return ``u_+`` and ``u_-`` at times (k,): logistic functions of rate ``2 |D|``."""
        return Pair(
            *(
                height * expit(2 * rate * (np.asarray(times) - half))
                for height, rate, half in zip(self.heights, self.rates, self.half_times, strict=True)
            )
        )

    def loss(self, times: np.ndarray) -> np.ndarray:
        """Return ``sum_k (f(x_k) - y_k)^2 / (2n)`` at times (k,): two squared logistic functions."""
        unfitted = (
            (norm * expit(-2 * rate * (np.asarray(times) - half))) ** 2
            for norm, rate, half in zip(self.label_norms, self.rates, self.half_times, strict=True)
        )
        return sum(unfitted) / (2 * self.n)

    @property
    def idle_distance(self) -> float:
        """The distance of the flow's limit to theta*, to leading order: the norm of the other neurons."""
        return float(np.sqrt(2) * np.exp(logsumexp(2 * self.idle_log_norms) / 2))


def two_plateaus(
    directions: np.ndarray, log_norms: np.ndarray, signs: np.ndarray, inputs: np.ndarray, labels: np.ndarray
) -> TwoPlateaus:
    """Predict the whole flow of a balanced start of small scale on orthogonal inputs, mean square loss.

    ``directions`` (m, d), ``log_norms`` (m,), ``signs`` (m,), ``inputs`` (n, d), ``labels`` (n,).  Norms
    may differ between the classes, not within one.  Raises ``ValueError`` naming the hypothesis that the
    data or the start violate: orthogonal inputs, equal norms in a class, labels of both signs, non-empty
    ``S_+`` and ``S_-``. Sources: [boursier2022, Eq. 20, 28, Lemma 12]; half-times, shares and idle norms
    are ours.
    """
    v, rho, s, x, y = checked_start(directions, log_norms, signs, inputs, labels, "mean")
    check_orthogonal(x)
    check_labels(y)
    norms = np.linalg.norm(x, axis=1)
    for sign in (1, -1):
        inside = np.flatnonzero(sign * y > 0)
        if np.ptp(norms[inside]) > 1e-9 * norms[inside].max():
            low, high = inside[norms[inside].argmin()], inside[norms[inside].argmax()]
            raise ValueError(
                f"equal norms within a class fail for inputs {low} and {high}: the neurons turn while "
                "they grow, and the logistic form is lost"
            )
    groups = aligned_groups(v, s, x, y)
    for group, name in zip(groups, ("S_+", "S_-"), strict=True):
        if not group.size:
            raise ValueError(f"Assumption 3 fails: {name} is empty at this start; use greedy_limit")
    rates = Pair(*(float(np.linalg.norm(D)) for D in class_directions(x, y)))
    heights = class_heights(x, y)
    omega, kappa = alignment_phase(v, s, x, y / len(y)).asymptotics
    offsets = rho + kappa
    half_times = Pair(
        *(
            float((np.log(height) - logsumexp(2 * offsets[group])) / (2 * rate))
            for height, rate, group in zip(heights, rates, groups, strict=True)
        )
    )
    limit_directions, limit_log_norms = np.zeros_like(v), np.full(len(s), -np.inf)
    idle = offsets + omega * np.where(s > 0, *half_times)
    for sign, group, height, D in zip((1, -1), groups, heights, class_directions(x, y), strict=True):
        limit_directions[group] = sign * D / np.linalg.norm(D)
        limit_log_norms[group] = (np.log(height) + np.log(softmax(2 * offsets[group]))) / 2
        idle[group] = -np.inf
    label_norms = Pair(float(np.linalg.norm(y[y > 0])), float(np.linalg.norm(y[y < 0])))
    return TwoPlateaus(
        len(y), groups, rates, heights, half_times, s, limit_directions, limit_log_norms, idle, label_norms
    )


def aligned_groups(directions: np.ndarray, signs: np.ndarray, inputs: np.ndarray, labels: np.ndarray) -> Pair:
    """Return the indices of ``S_+`` and of ``S_-`` [boursier2022, Eq. 5-6]."""
    seen = directions @ inputs.T >= 0
    return Pair(
        *(np.flatnonzero((signs == sign) & seen[:, sign * labels > 0].all(axis=1)) for sign in (1, -1))
    )


def groups_probability(n_positive: int, n_negative: int, m: int) -> float:
    """Return the probability that a Gaussian start of width m leaves neither ``S_+`` nor ``S_-`` empty.

    For orthonormal inputs a neuron is in ``S_+`` with probability ``2^-(n_+ + 1)``, independently of the
    others.
    """
    p, q = 2.0 ** -(n_positive + 1), 2.0 ** -(n_negative + 1)
    return 1 - (1 - p) ** m - (1 - q) ** m + (1 - p - q) ** m


def width_needed(n_positive: int, n_negative: int, probability: float) -> int:
    """Return the least width at which :func:`groups_probability` reaches ``probability`` (below 1)."""
    if not 0 < probability < 1:
        raise ValueError(f"probability is {probability}, allowed: between 0 and 1")
    high = 1
    while groups_probability(n_positive, n_negative, high) < probability:
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        enough = groups_probability(n_positive, n_negative, middle) >= probability
        low, high = (low, middle) if enough else (middle, high)
    return high


def largest_epsilon(labels: np.ndarray, *, as_printed: bool = False) -> float:
    """Return the largest epsilon that the phase lemmas admit for orthonormal inputs with these labels (n,).

    It satisfies ``(1 + 3 eps) max(1 - alpha, 1/r) <= 1 - eps`` and ``(1 + 3 r eps) (1 - beta) <= 1 - eps``,
    with ``r = |y_+|/|y_-|`` after exchanging the classes if needed and ``alpha = min y_k^2 / (2 |y_+|^2)``.
    ``as_printed`` divides by ``|D_+|^2`` instead of ``n^2 |D_+|^2``, as [boursier2022, App. B.2] does by
    mistake.
    """
    y = np.asarray(labels, dtype=float)
    check_labels(y)
    large, small = sorted((y[y > 0], y[y < 0]), key=np.linalg.norm, reverse=True)
    r = np.linalg.norm(large) / np.linalg.norm(small)
    factor = len(y) ** 2 if as_printed else 1
    alpha, beta = (factor * (part**2).min() / (2 * (part**2).sum()) for part in (large, small))
    slower, others = max(1 - alpha, 1 / r), 1 - beta
    return float(min((1 - slower) / (1 + 3 * slower), (1 - others) / (1 + 3 * r * max(others, 0.0))))
