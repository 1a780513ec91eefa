"""The phase lemmas for orthonormal inputs and small scales: times, bounds as printed, and the sharp laws.

The scale lambda enters by its natural logarithm ``log_scale``, so that scales like 1e-1760, where the last of
the bounds begins to say something, can be asked for.  The class of the larger norm is fitted first; r is the
ratio of the norms of the two classes, ``epsilon`` the small parameter of the lemmas (see
:func:`lib.theory.plateaus.largest_epsilon`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from lib.arguments import number, numbers, refuse_overflow
from lib.theory.orthogonal_data import check_labels, lengths


def _class_norms(labels: ArrayLike) -> tuple[int, float, float]:
    """Return n and the norms of the class that is fitted first and of the other one."""
    y = check_labels(labels)
    small, large = sorted((float(lengths(y[y > 0])), float(lengths(y[y < 0]))))
    return len(y), large, small


@dataclass(frozen=True)
class PhaseTimes:
    """Times of the phases, arrays of the shape of ``log_scale``.

    ``first_aligned`` is t_(+1), ``aligned`` is t_1 = t_(-1).  ``first_fitted`` and ``last_fitted`` are the
    bounds on t_2 and t_3, and from ``first_fitted`` to ``departure`` the flow is promised to stay at the
    saddle.  ``sharp_first`` and ``sharp_last`` are the leading terms ``ln(1/lambda)/|D|`` of the half-times,
    and ``sharp_t2`` and ``sharp_t3`` those of t_2 and t_3.

    Example:

    >>> times = phase_times([1.2, 1.1, -0.8, -0.75], 0.05, -800 * np.log(10))
    >>> bool(times.sharp_t2 < times.first_fitted < times.departure < times.sharp_t3 < times.last_fitted)
    True
    """

    first_aligned: np.ndarray
    aligned: np.ndarray
    first_fitted: np.ndarray
    departure: np.ndarray
    last_fitted: np.ndarray
    sharp_first: np.ndarray
    sharp_last: np.ndarray
    sharp_t2: np.ndarray
    sharp_t3: np.ndarray


@refuse_overflow
def phase_times(labels: ArrayLike, epsilon: float, log_scale: ArrayLike) -> PhaseTimes:
    """Return the times of the phases for orthonormal inputs and labels (n,), mean square loss.

    ``epsilon`` is between 0 and 1, ``log_scale`` negative, of any shape.  The corrections to the sharp terms
    are O(1); :class:`lib.theory.plateaus.TwoPlateaus` has them.  Raises ``ValueError`` for other arguments.
    Sources: [boursier2022, Eq. 12, 15, Lemmas 2-4, Fact 1]; the sharp laws ``(1 + epsilon/10)`` of t_2 and
    ``(1 + epsilon/58)`` of t_3 are ours.

    Example:

    >>> times = phase_times([2.0, -1.0], 0.1, -100.0)
    >>> [float(part) for part in (times.first_aligned, times.aligned, times.sharp_first, times.sharp_last)]
    [10.0, 20.0, 100.0, 200.0]
    """
    n, large, small = _class_norms(labels)
    epsilon = number("epsilon", epsilon, 0.0, 1.0)
    logs = -numbers("log_scale", log_scale, high=0.0)
    first, last = n * logs / large, n * logs / small
    return PhaseTimes(
        first_aligned=epsilon * first,
        aligned=epsilon * last,
        first_fitted=(1 + 3 * epsilon) * first,
        departure=(1 - epsilon) * last,
        last_fitted=(1 + 3 * epsilon * large / small) * last,
        sharp_first=first,
        sharp_last=last,
        sharp_t2=(1 + epsilon / 10) * first,
        sharp_t3=(1 + epsilon / 58) * last,
    )


@dataclass(frozen=True)
class LemmaBounds:
    """Natural logarithms of what the phase lemmas promise, arrays of the shape of ``log_scale``.

    ``misalignment``: 1 - cos to D of the first group at t_(+1), and of both at t_1 (Lemmas 2, 7, 8).
    ``norms_first_aligned``, ``norms_aligned``: the largest norm at t_(+1) and t_1 (Lemmas 2, 7, 8).
    ``least_norm_first``, ``least_norm_last``: norms of the groups from below, until t_(+1) and t_1 (Lemma 9).
    At t_2 (Lemmas 3, 10): ``direction_t2`` is ``|D| - <v, D>``, ``gap_t2`` the height that lacks,
    ``idle_t2`` the other norms.  ``saddle_distance``: distance from the saddle (Fact 1).  At t_3 (Lemmas 4,
    11): ``direction_t3``, ``gap_t3``, ``moved_t3`` (the first group since t_2), ``idle_t3`` and
    ``residual_t3``.  ``limit_distance_t3`` (Lemma 12), ``loss_t3`` (Lemma 13), and ``radius``, of the ball
    that the flow stays in (Theorem 2, Lemma 5).

    Example:

    >>> bounds = lemma_bounds([1.2, 1.1, -0.8, -0.75], 0.05, -1760 * np.log(10))
    >>> round(float(np.exp(bounds.radius)), 3)
    0.43
    """

    misalignment: np.ndarray
    norms_first_aligned: np.ndarray
    norms_aligned: np.ndarray
    least_norm_first: np.ndarray
    least_norm_last: np.ndarray
    direction_t2: np.ndarray
    gap_t2: np.ndarray
    idle_t2: np.ndarray
    saddle_distance: np.ndarray
    direction_t3: np.ndarray
    gap_t3: np.ndarray
    moved_t3: np.ndarray
    idle_t3: np.ndarray
    residual_t3: np.ndarray
    limit_distance_t3: np.ndarray
    loss_t3: np.ndarray
    radius: np.ndarray


@refuse_overflow
def lemma_bounds(
    labels: ArrayLike, epsilon: float, log_scale: ArrayLike, largest: float = 1.0, least: float = 1.0
) -> LemmaBounds:
    """Return the logarithms of all bounds of the phase lemmas for labels (n,) and orthonormal inputs.

    ``epsilon`` is between 0 and 1, ``log_scale`` negative of any shape, ``largest`` and ``least`` are the
    largest and the least norm of a neuron at scale 1.  Raises ``ValueError`` for other arguments.
    Source: [boursier2022, Lemmas 2-13, Theorem 2].

    Example:

    >>> bounds = lemma_bounds([2.0, -1.0], 0.1, [-100.0, -1000.0])
    >>> bounds.gap_t2.tolist(), bounds.idle_t2.round(3).tolist()
    ([-2.0, -20.0], [-9.307, -99.307])
    """
    _, large, small = _class_norms(labels)
    epsilon = number("epsilon", epsilon, 0.0, 1.0)
    log = numbers("log_scale", log_scale, high=0.0)
    largest = np.log(number("largest", largest, 0.0))
    least = np.log(number("least", least, 0.0))
    wide = epsilon * large / small
    two, three = np.log(2), np.log(3)
    return LemmaBounds(
        misalignment=two + epsilon * log,
        norms_first_aligned=two + largest + (1 - epsilon) * log,
        norms_aligned=two + largest + (1 - wide) * log,
        least_norm_first=least - two + (1 + epsilon) * log,
        least_norm_last=least - two + (1 + wide) * log,
        direction_t2=epsilon / 2 * log,
        gap_t2=epsilon / 5 * log,
        idle_t2=two + largest + epsilon * log,
        saddle_distance=epsilon / 5 * log,
        direction_t3=epsilon / 14 * log,
        gap_t3=epsilon / 29 * log,
        moved_t3=epsilon / 15 * log,
        idle_t3=three + largest + epsilon * log,
        residual_t3=epsilon / 14 * log,
        limit_distance_t3=epsilon / 31 * log,
        loss_t3=epsilon / 60 * log,
        radius=epsilon / 240 * log,
    )


@dataclass(frozen=True)
class SharpExponents:
    """The true powers of the scale, where the lemmas bound them.

    ``misalignment_first`` and ``misalignment_last``: 1 - cos of the first group at t_(+1) and of the second
    at t_1, where both lemmas have epsilon; ``misalignment_first_at_t1``: of the first group at t_1.
    ``idle_first`` and ``idle_last``: the largest norm that an idle neuron of the sign of either class can
    have when the class is fitted.  ``distance``: ``|theta - theta*|`` at the end.

    Example:

    >>> sharp_exponents([1.0, 1.0, -0.5], 0.01).misalignment_first
    0.02
    """

    misalignment_first: float
    misalignment_first_at_t1: float
    misalignment_last: float
    idle_first: float
    idle_last: float
    distance: float


def sharp_exponents(labels: ArrayLike, epsilon: float) -> SharpExponents:
    """Return the sharp exponents for orthonormal inputs and labels (n,); ``epsilon`` is between 0 and 1.

    A neuron that misses the least label of its class grows at the rate ``sqrt(|y|^2 - y_k^2)/n`` and reaches
    ``lambda^(1 - sqrt(1 - y_k^2/|y|^2))``; for equal labels about ``lambda^(1/(2 n_+))``, which is why the
    scale must be exponentially small in the number of labels.  A class of one label has no such neurons:
    exponent 1.  Raises ``ValueError`` for other arguments.  Ours.

    Example:

    >>> round(sharp_exponents([0.6, 0.8, -0.5], 0.01).distance, 12)
    0.2
    """
    y = check_labels(labels)
    epsilon = number("epsilon", epsilon, 0.0, 1.0)
    classes = sorted((y[y > 0], y[y < 0]), key=lengths, reverse=True)
    ratio = float(lengths(classes[0]) / lengths(classes[1]))
    missed = [(np.abs(part).min() / lengths(part)) ** 2 for part in classes]
    first, last = (
        1.0 if len(part) == 1 else float(share / (1 + np.sqrt(1 - share)))
        for part, share in zip(classes, missed, strict=True)
    )
    return SharpExponents(2 * epsilon, 2 * ratio * epsilon, 2 * epsilon, first, last, min(first, last))


@refuse_overflow
def saddle_loss(labels: ArrayLike, log_gap: ArrayLike = -np.inf) -> np.ndarray:
    """Return the mean loss at the second plateau: the smaller class unfitted, ``exp(log_gap)`` of the other.

    ``labels`` (n,) of both signs, ``log_gap`` of any shape the logarithm of the height that the first group
    lacks, -inf at the saddle itself.  At t_2 the first group alone contributes ``lambda^(2 epsilon / 5) /
    (2n)``.  Raises ``ValueError`` for other arguments.  Source: [boursier2022, Fact 1, Lemma 10]; the value
    is ours.

    Example:

    >>> float(saddle_loss([2.0, -1.0])), saddle_loss([2.0, -1.0], [0.0]).tolist()
    (0.25, [0.5])
    """
    n, _, small = _class_norms(labels)
    gap = numbers("log_gap", log_gap, -np.inf, np.inf, "[)")
    return (small**2 + np.exp(2 * gap)) / (2 * n)


def saddle_curvature(labels: ArrayLike) -> float:
    """Return the least curvature ``-|D|`` of the loss at the second plateau, D that of the smaller class.

    It is the second derivative along the unit vector ``(a, w) = (-1, D/|D|)/sqrt(2)`` of an idle neuron, up
    to the sign of D; the plateau is a strict saddle.  ``labels`` (n,) of both signs, orthonormal inputs.
    Raises ``ValueError`` for other labels.  Source: [boursier2022, Fact 1]; the value is ours.

    Example:

    >>> saddle_curvature([2.0, -1.0])
    -0.5
    """
    n, _, small = _class_norms(labels)
    return -small / n
