"""Times, angles and error bounds of early alignment, as printed and as repaired.

Conventions of min2024: the loss is summed over data, its slope at output zero is ``-y``, the network of width
m is balanced, and ``w_j(0) = scale * shape_j``; ``w_max`` is the largest norm of a shape, ``x_min`` and
``x_max`` are the least and the largest norm of an input.  Scales enter by their natural logarithm, so that
scales below the smallest float can be asked for.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from lib.checks import broadcast, number, numbers, refuse_overflow, whole
from lib.geometry.patterns import require_orthogonally_separable
from lib.theory.cone_constants import (
    AlignmentConstants,
    cap_constant,
    class_sums,
    cone_margin,
    least_drift,
    start_constant,
)
from lib.theory.orthogonal_data import lengths


@refuse_overflow
def alignment_constants(
    w: ArrayLike, signs: ArrayLike, inputs: ArrayLike, labels: ArrayLike
) -> AlignmentConstants:
    """Return the constants of Theorem 1 for neurons (m, d), signs (m,), inputs (n, d) and labels (n,).

    Neurons and inputs are not zero, signs and labels +1 and -1.  Raises ``ValueError`` when mu is not
    positive (Assumption 1), naming the pair of data, and for other arguments.

    Example:

    >>> constants = alignment_constants([[0.0, 1.0]], [1], [[1.0, 0.0], [0.6, 0.8]], [1, 1])
    >>> round(constants.mu, 12), round(constants.zeta, 12), constants.zeta_2
    (0.6, 0.8, 1.0)
    """
    zeta_2 = start_constant(w, signs, inputs, labels)
    norms = lengths(np.asarray(inputs, dtype=float))
    return AlignmentConstants(
        n=len(norms),
        mu=require_orthogonally_separable(inputs, labels),
        zeta_1=cap_constant(inputs, labels),
        zeta_2=zeta_2,
        kappa=cone_margin(inputs, labels),
        x_min=float(norms.min()),
        x_max=float(norms.max()),
    )


def _shares(**values: ArrayLike) -> dict[str, np.ndarray]:
    return {name: numbers(name, value, 0.0, 1.0, "(]") for name, value in values.items()}


def _positive(**values: ArrayLike) -> dict[str, np.ndarray]:
    return {name: numbers(name, value, 0.0) for name, value in values.items()}


def _stages(constant: np.ndarray) -> np.ndarray:
    """Return ``2 artanh sqrt(1 - constant)`` without the cancellation for small constants."""
    return 2 * np.log1p(np.sqrt(1 - constant)) - np.log(constant)


def stage_time(active: ArrayLike, constant: ArrayLike, mu: ArrayLike, x_min: ArrayLike) -> np.ndarray:
    """Return the longest time a neuron can stay with ``active`` data before it changes its pattern.

    ``4 / (constant sqrt(mu) n_a X_min)``; ``constant`` is min(zeta, xi), in (0, 1] like ``mu``; ``active``
    and ``x_min`` are positive; all broadcast.  Raises ``ValueError`` for other values.  [min2024, App. C.2]

    Example:

    >>> float(stage_time(2, 0.25, 0.25, 1.0))
    16.0
    """
    c, mu, n, x = broadcast(**_shares(constant=constant, mu=mu), **_positive(active=active, x_min=x_min))
    with np.errstate(over="ignore"):
        return 4 / c / np.sqrt(mu) / n / x


@refuse_overflow
def sharp_stage_time(drift: ArrayLike, constant: ArrayLike) -> np.ndarray:
    """Return the same for small scale, from the exact solution: ``2 artanh sqrt(1 - constant)/|x_a|``.

    ``drift`` is ``|x_a|``, positive; ``constant`` in (0, 1]; they broadcast.  Attained.  Raises
    ``ValueError`` for other values.  Ours.

    Example:

    >>> float(sharp_stage_time(2.0, 0.25).round(6))
    1.316958
    """
    size, c = broadcast(**_positive(drift=drift), **_shares(constant=constant))
    return _stages(c) / size


@refuse_overflow
def repaired_stage_time(
    active: ArrayLike, constant: ArrayLike, mu: ArrayLike, x_min: ArrayLike
) -> np.ndarray:
    """Return ``4 artanh sqrt(1 - constant) / (sqrt(n_a (1 + mu (n_a - 1))) X_min)``: the stage time with
    logarithms for the powers of mu.

    Arguments as of :func:`lib.theory.alignment_bounds.stage_time`; valid while outputs are at most 1/4, which
    costs the factor 2 over :func:`lib.theory.alignment_bounds.sharp_stage_time`.  Ours, for [min2024, App.
    C.2].

    Example:

    >>> float(repaired_stage_time(2, 0.25, 0.25, 1.0).round(6))
    3.331669
    """
    c, mu, n, x = broadcast(**_shares(constant=constant, mu=mu), **_positive(active=active, x_min=x_min))
    return 2 * _stages(c) / least_drift(n, mu, x)


def proved_time(n: ArrayLike, mu: ArrayLike, constant: ArrayLike, x_min: ArrayLike) -> np.ndarray:
    """Return the paper's bound ``16 ln n/(constant sqrt(mu) X_min)`` on t_1, ``constant`` = min(zeta, xi).

    It holds for n >= 2 with zeta = min(zeta_1, zeta_2).  ``n`` is from 1 on, ``mu`` and ``constant`` in
    (0, 1], ``x_min`` positive; all broadcast.  Raises ``ValueError`` for other values.  [min2024, App.
    C.2]

    Example:

    >>> float(proved_time(2, 0.25, 0.0625, 1.0).round(3))
    354.891
    """
    count = numbers("n", n, 1.0, ends="[)")
    c, mu, count, x = broadcast(**_shares(constant=constant, mu=mu), n=count, **_positive(x_min=x_min))
    with np.errstate(over="ignore"):
        return 16 * np.log(count) / c / np.sqrt(mu) / x


def _start_log(constants: AlignmentConstants) -> float:
    return float(-np.log(constants.zeta_2)) if constants.zeta_2 else np.inf


def repaired_time(constants: AlignmentConstants) -> float:
    """Return ``(2 + 3 ln(1 + 1/mu) + ln(1/zeta_2))/(kappa X_min)``, a bound on t_1 for small scale.

    Infinite for zeta_2 = 0.  Ours, derived in the chapter on the alignment time.

    Example:

    >>> round(repaired_time(AlignmentConstants(4, 0.5, 0.5, 0.4, 0.8, 1.0, 1.2)), 4)
    7.7652
    """
    logs = 2 + 3 * np.log1p(1 / constants.mu) + _start_log(constants)
    return float(logs / (constants.kappa * constants.x_min))


def headline_time(constants: AlignmentConstants) -> float:
    """Return ``(2 + 6/e + 3 ln(n + 1) + ln(1/zeta_2))/(sqrt(mu) X_min)``, the rate of the paper's headline.

    It is never below :func:`repaired_time`.  Ours, derived in the chapter on the alignment time.

    Example:

    >>> round(headline_time(AlignmentConstants(4, 0.5, 0.5, 0.4, 0.8, 1.0, 1.2)), 4)
    14.0741
    """
    logs = 2 + 6 / np.e + 3 * np.log(constants.n + 1) + _start_log(constants)
    return float(logs / (np.sqrt(constants.mu) * constants.x_min))


@refuse_overflow
def turning_time(start: ArrayLike, end: ArrayLike, drift: ArrayLike) -> np.ndarray:
    """Return the time in which the angle to a constant drift falls from ``start`` to ``end`` (radians).

    ``drift`` is its length, positive; the time is ``ln(tan(start/2)/tan(end/2))/drift``, negative if the
    angle would have to rise.  Angles lie between 0 and pi; all broadcast.  Near pi a start loses digits
    like any angle there; a neuron at the angle delta from a repelling sum ``x_-`` needs ``ln(2/delta)/|x_-|``
    to leave it. Raises ``ValueError`` for other values.

    Example:

    >>> float(turning_time(np.pi / 2, 2 * np.arctan(np.exp(-3.0)), 1.5).round(12))
    2.0
    """
    first = numbers("start", start, 0.0, np.pi)
    last = numbers("end", end, 0.0, np.pi)
    first, last, size = broadcast(start=first, end=last, **_positive(drift=drift))
    return (np.log(np.tan(first / 2)) - np.log(np.tan(last / 2))) / size


@refuse_overflow
def negligible_window(n: int, m: int, x_max: float, log_scale: ArrayLike) -> np.ndarray:
    """Return T, the time until which Lemma 3 bounds norms and outputs; negative when it is empty.

    ``n`` data, ``m`` neurons, ``x_max`` positive, ``log_scale`` of any shape.  Raises ``ValueError`` for
    other values.  [min2024, Lemma 3]

    Example:

    >>> float(negligible_window(2, 1, 0.5, -100.0))
    25.0
    """
    n, m, x_max = whole("n", n, 1), whole("m", m, 1), number("x_max", x_max, 0.0)
    return -(0.5 * np.log(m) + numbers("log_scale", log_scale)) / (4 * n * x_max)


@refuse_overflow
def window_slack(inputs: ArrayLike, labels: ArrayLike) -> float:
    """Return how many times longer than T the bound of Lemma 3 on the outputs holds, as the scale vanishes.

    ``2 n X_max / max(|x_+|, |x_-|)``, at least 2: outputs grow at twice the rate of the larger class sum, and
    from scale^2 to scale.  Data as in :func:`lib.theory.cone_constants.class_sums`.  Raises ``ValueError``
    for other data.  Ours, for [min2024, Lemma 3].

    Example:

    >>> window_slack([[1.0, 0.0], [0.0, 1.0], [-3.0, -4.0]], [1, 1, -1])
    6.0
    """
    largest = max(float(lengths(total)) for total in class_sums(inputs, labels))
    if not largest:
        raise ValueError("inputs of either class sum to zero, allowed: data of Assumption 1 of min2024")
    norms = lengths(np.asarray(inputs, dtype=float))
    return float(2 * len(norms) * norms.max() / largest)


def log_norm_bound(m: int, w_max: float, log_scale: ArrayLike) -> np.ndarray:
    """Return the logarithm of ``2 scale W_max^2/sqrt(m)``, the bound on ``|w_j|^2`` up to T.

    ``m`` neurons, ``w_max`` positive, ``log_scale`` of any shape.  Raises ``ValueError`` for other values.
    [min2024, Lemma 3]

    Example:

    >>> float(np.exp(log_norm_bound(4, 1.0, 0.0)))
    1.0
    """
    m, w_max = whole("m", m, 1), number("w_max", w_max, 0.0)
    return np.log(2) + 2 * np.log(w_max) - np.log(m) / 2 + numbers("log_scale", log_scale)


def log_output_bound(m: int, x_max: float, w_max: float, log_scale: ArrayLike) -> np.ndarray:
    """Return the logarithm of ``2 scale sqrt(m) X_max W_max^2``, the bound on ``|f(x_i)|`` up to T.

    ``m`` neurons, ``x_max`` and ``w_max`` positive, ``log_scale`` of any shape.  Raises ``ValueError`` for
    other values.  [min2024, Lemma 3]

    Example:

    >>> float(np.exp(log_output_bound(4, 3.0, 1.0, 0.0)).round(12))
    12.0
    """
    x_max = number("x_max", x_max, 0.0)
    return log_norm_bound(m, w_max, log_scale) + np.log(m) + np.log(x_max)


def log_direction_error_bound(n: int, m: int, x_max: float, w_max: float, log_scale: ArrayLike) -> np.ndarray:
    """Return the logarithm of ``4 scale n sqrt(m) X_max^2 W_max^2``, the bound on the error of directions.

    ``n`` data, ``m`` neurons, ``x_max`` and ``w_max`` positive, ``log_scale`` of any shape.  Raises
    ``ValueError`` for other values.  [min2024, Lemma 1]

    Example:

    >>> float(np.exp(log_direction_error_bound(2, 4, 1.0, 1.0, 0.0)).round(12))
    16.0
    """
    n, x_max = whole("n", n, 1), number("x_max", x_max, 0.0)
    return log_output_bound(m, x_max, w_max, log_scale) + np.log(2 * n) + np.log(x_max)


def log_largest_scale(constants: AlignmentConstants, m: int, w_max: float) -> float:
    """Return the logarithm of the largest scale that Theorem 1 allows, with the factor 8 that its use needs.

    ``m`` neurons, ``w_max`` positive.  Minus infinity for zeta_2 = 0.  Raises ``ValueError`` for other
    values. [min2024, Eq. 28; the first bound is printed with 4]

    Example:

    >>> round(log_largest_scale(AlignmentConstants(4, 0.5, 0.5, 0.4, 0.8, 1.0, 1.2), 6, 2.0), 2)
    -2409.98
    """
    c, m, w_max = constants, whole("m", m, 1), number("w_max", w_max, 0.0)
    least = min(c.zeta, c.xi)
    if least == 0:
        return -np.inf
    smooth = min(c.mu, least) * np.sqrt(c.mu) * c.x_min / (8 * np.sqrt(m) * c.n * c.x_max**2)
    in_time = -0.5 * np.log(m) - 64 * c.n * c.x_max * np.log(c.n) / (least * np.sqrt(c.mu) * c.x_min)
    return float(min(np.log(smooth) - 2 * np.log(w_max), in_time))
