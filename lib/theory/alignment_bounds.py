"""Times, angles and error bounds of early alignment, as printed and as repaired.

Conventions of min2024: the loss is summed over data, its slope at output zero is ``-y``, the network is
balanced, and ``w_j(0) = scale * shape_j``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import nnls

from lib.geometry import cosine, least_signed_cosine


def class_sums(inputs: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return ``x_+`` and ``x_-``, the sums of the positive and of the negative inputs, (d,) each.

    [min2024, Assumption 2]
    """
    inputs, labels = np.asarray(inputs, dtype=float), np.asarray(labels, dtype=float)
    return inputs[labels > 0].sum(axis=0), inputs[labels < 0].sum(axis=0)


def cap_constant(inputs: np.ndarray, labels: np.ndarray) -> float:
    """Return the least upper bound of the zeta_1 of Lemma 8; at least mu^2 under Assumption 1.

    It is the least squared cosine of a datum with ``x_+`` and with ``x_-`` (a class that is present).
    """
    sums = [total for total in class_sums(inputs, labels) if total.any()]
    return float(min((cosine(inputs, total) ** 2).min() for total in sums))


def start_constant(w: np.ndarray, signs: np.ndarray, inputs: np.ndarray, labels: np.ndarray) -> float:
    """Return zeta_2: one minus the largest squared positive cosine of a neuron with the sum that repels it.

    ``w`` (m, d) and ``signs`` (m,) are the neurons and their output signs.  [min2024, Eq. 26]
    """
    plus, minus = class_sums(inputs, labels)
    w, signs = np.asarray(w, dtype=float), np.asarray(signs)
    sine2 = [1.0]
    for total, chosen in ((minus, w[signs > 0]), (plus, w[signs < 0])):
        if total.any() and len(chosen):
            unit = total / np.linalg.norm(total)
            along = chosen @ unit
            # sin^2 from the orthogonal part: 1 - cos^2 has no digits left for a neuron near the sum.
            across = np.linalg.norm(chosen - along[:, None] * unit, axis=1) / np.linalg.norm(chosen, axis=1)
            sine2.append(float(np.where(along > 0, across**2, 1.0).min()))
    return min(sine2)


def cone_margin(inputs: np.ndarray, labels: np.ndarray) -> float:
    """Return kappa, the largest ``min_i <c, z_i/|z_i|>`` over unit vectors c; 0 if no c makes it positive.

    It is the distance of the origin from the convex hull of the signed directions, found as a non-negative
    least-squares problem.  Under Assumption 1 it is at least ``sqrt(mu + (1 - mu)/n) >= sqrt(mu)``.
    """
    signed = np.sign(labels)[:, None] * inputs / np.linalg.norm(inputs, axis=1)[:, None]
    # min over s, lambda of |s sum lambda_i z_i|^2 + (1 - s)^2 is N^2/(1 + N^2), N the distance sought.
    system = np.vstack([signed.T, np.ones(len(signed))])
    residual = nnls(system, np.append(np.zeros(signed.shape[1]), 1.0))[1]
    return float(residual / np.sqrt(max(1 - residual**2, np.finfo(float).tiny)))


@dataclass(frozen=True)
class AlignmentConstants:
    """The constants of Theorem 1 for one data set and start; ``xi = mu^2`` exactly."""

    n: int
    mu: float
    zeta_1: float
    zeta_2: float
    kappa: float
    x_min: float
    x_max: float

    @property
    def xi(self) -> float:
        return self.mu**2

    @property
    def zeta(self) -> float:
        """The smaller of the two; the paper prints the larger."""
        return min(self.zeta_1, self.zeta_2)


def alignment_constants(
    w: np.ndarray, signs: np.ndarray, inputs: np.ndarray, labels: np.ndarray
) -> AlignmentConstants:
    """Return the constants of Theorem 1 for neurons (m, d), signs (m,), inputs (n, d) and labels (n,).

    Raises ``ValueError`` when mu is not positive (Assumption 1).
    """
    mu = least_signed_cosine(inputs, labels)
    if mu <= 0:
        raise ValueError(f"the least signed cosine is {mu:.3g}; Assumption 1 of min2024 needs it above 0")
    lengths = np.linalg.norm(inputs, axis=1)
    return AlignmentConstants(
        n=len(inputs),
        mu=mu,
        zeta_1=cap_constant(inputs, labels),
        zeta_2=start_constant(w, signs, inputs, labels),
        kappa=cone_margin(inputs, labels),
        x_min=float(lengths.min()),
        x_max=float(lengths.max()),
    )


def stage_time(active: np.ndarray, constant: float, mu: float, x_min: float) -> np.ndarray:
    """Return the longest time a neuron can stay with ``active`` data before it changes its pattern.

    ``constant`` is min(zeta, xi).  [min2024, App. C.2]
    """
    return 4 / (constant * np.sqrt(mu) * np.asarray(active) * x_min)


def sharp_stage_time(drift: np.ndarray, constant: float) -> np.ndarray:
    """Return the same for small scale, from the exact solution: ``2 artanh sqrt(1 - constant)/|x_a|``.

    ``drift`` is ``|x_a|``.
    """
    cosine_bound = np.sqrt(1 - constant)
    # 2 artanh(c) = ln((1 + c)/(1 - c)) with 1 - c^2 = constant, without the cancellation near c = 1.
    return (2 * np.log1p(cosine_bound) - np.log(constant)) / np.asarray(drift)


def proved_time(n: int, mu: float, constant: float, x_min: float) -> float:
    """Return the paper's bound ``16 ln n/(constant sqrt(mu) X_min)`` on t_1, ``constant`` = min(zeta, xi).

    It holds for n >= 2 with zeta = min(zeta_1, zeta_2).  [min2024, App. C.2]
    """
    return float(16 * np.log(n) / (constant * np.sqrt(mu) * x_min))


def repaired_time(constants: AlignmentConstants) -> float:
    """Return ``(2 + 3 ln(1 + 1/mu) + ln(1/zeta_2))/(kappa X_min)``, a bound on t_1 for small scale.

    Ours, derived in the chapter on the alignment time.
    """
    logs = 2 + 3 * np.log1p(1 / constants.mu) - np.log(constants.zeta_2)
    return float(logs / (constants.kappa * constants.x_min))


def headline_time(constants: AlignmentConstants) -> float:
    """Return ``(2 + 6/e + 3 ln(n + 1) + ln(1/zeta_2))/(sqrt(mu) X_min)``, the rate of the paper's headline.

    It is never below :func:`repaired_time`.  Ours, derived in the chapter on the alignment time.
    """
    logs = 2 + 6 / np.e + 3 * np.log(constants.n + 1) - np.log(constants.zeta_2)
    return float(logs / (np.sqrt(constants.mu) * constants.x_min))


def maximal_path_sum(positive: int, negative: int) -> float:
    """Return ``H_(n-) + 1/2 + H_(n+ - 1)``, the sum of 1/n_a along the maximal path (n_+ >= 1)."""
    if negative == 0:
        return float((1 / np.arange(1, positive)).sum())
    return float((1 / np.arange(1, negative + 1)).sum() + 0.5 + (1 / np.arange(1, positive)).sum())


def longest_path_sum(positive: int, negative: int) -> float:
    """Return the largest sum of 1/n_a over all admissible paths to (n_+, 0), by dynamic programming.

    A step gains any number of positive data, loses any number of negative data, or both, and avoids (0, 0).
    """
    longest = np.full((positive + 1, negative + 1), -np.inf)
    for gained in range(positive, -1, -1):
        for left in range(negative + 1):
            if gained == positive and left == 0:
                longest[gained, left] = 0.0
            elif gained + left > 0:
                onward = longest[gained:, : left + 1].copy()
                onward[0, left] = -np.inf
                longest[gained, left] = 1 / (gained + left) + onward.max()
    return float(longest[np.isfinite(longest)].max())


def worst_path_sum(n: int) -> float:
    """Return the largest sum of 1/n_a for n data of any split, for neurons that reach their region or die.

    A dying neuron loses its ``n_-`` data one by one, which takes ``H_(n-)``.
    """
    alive = (maximal_path_sum(positive, n - positive) for positive in range(1, n + 1))
    return max(*alive, float((1 / np.arange(1, n + 1)).sum()), 0.0)


def turning_time(start: np.ndarray, end: np.ndarray, drift: np.ndarray) -> np.ndarray:
    """Return the time in which the angle to a constant drift falls from ``start`` to ``end`` (radians).

    ``drift`` is its length; ``ln(tan(start/2)/tan(end/2))/drift``, the closed form in the plane.
    """
    return (np.log(np.tan(np.asarray(start) / 2)) - np.log(np.tan(np.asarray(end) / 2))) / drift


def negligible_window(n: int, m: int, x_max: float, log_scale: float) -> float:
    """Return T, the time until which Lemma 3 bounds norms and outputs; negative when it is empty.

    ``log_scale`` is the logarithm of the scale, so that scales below the smallest float can be asked for.
    [min2024, Lemma 3]
    """
    return -(0.5 * np.log(m) + log_scale) / (4 * n * x_max)


def log_norm_bound(m: int, w_max: float, log_scale: float) -> float:
    """Return the logarithm of ``2 scale W_max^2/sqrt(m)``, the bound on ``|w_j|^2`` up to T.

    [min2024, Lemma 3]
    """
    return float(np.log(2 * w_max**2 / np.sqrt(m)) + log_scale)


def log_output_bound(m: int, x_max: float, w_max: float, log_scale: float) -> float:
    """Return the logarithm of ``2 scale sqrt(m) X_max W_max^2``, the bound on ``|f(x_i)|`` up to T.

    [min2024, Lemma 3]
    """
    return float(np.log(2 * np.sqrt(m) * x_max * w_max**2) + log_scale)


def log_direction_error_bound(n: int, m: int, x_max: float, w_max: float, log_scale: float) -> float:
    """Return the logarithm of ``4 scale n sqrt(m) X_max^2 W_max^2``, the bound on the error of directions.

    [min2024, Lemma 1]
    """
    return float(np.log(4 * n * np.sqrt(m) * x_max**2 * w_max**2) + log_scale)


def log_largest_scale(constants: AlignmentConstants, m: int, w_max: float) -> float:
    """Return the logarithm of the largest scale that Theorem 1 allows, with the factor 8 that its use needs.

    [min2024, Eq. 28; the first bound is printed with 4]
    """
    c = constants
    least = min(c.zeta, c.xi)
    smooth = min(c.mu, least) * np.sqrt(c.mu) * c.x_min / (8 * np.sqrt(m) * c.n * c.x_max**2 * w_max**2)
    in_time = -0.5 * np.log(m) - 64 * c.n * c.x_max * np.log(c.n) / (least * np.sqrt(c.mu) * c.x_min)
    return float(min(np.log(smooth), in_time))


def fitting_time(total: np.ndarray, log_scale: float) -> float:
    """Return the leading term ``ln(1/scale)/|x_+-|`` of the time at which a class is fitted.

    ``total`` is the class sum (d,), divided by n for the mean loss.
    """
    return float(-log_scale / np.linalg.norm(total))
