"""The constants of data and start on which the bounds of early alignment stand.

``z_i = y_i x_i`` are the signed data, of cosines at least mu > 0 (Assumption 1 of min2024).  Inputs are
(n, d), labels +1 and -1 (n,).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from lib.geometry.patterns import cosine, least_signed_cosine, unit_vectors
from lib.geometry.programs import separation


@dataclass(frozen=True)
class AlignmentConstants:
    """The constants of Theorem 1 for one data set and start.

    ``n`` data, least signed cosine ``mu``, ``zeta_1`` of :func:`cap_constant`, ``zeta_2`` of
    :func:`start_constant` (0 where nothing can be promised), ``kappa`` of :func:`cone_margin`, least and
    largest norm of the inputs.
    """

    n: int
    mu: float
    zeta_1: float
    zeta_2: float
    kappa: float
    x_min: float
    x_max: float

    @property
    def xi(self) -> float:
        """The largest xi of Lemma 9, which is mu^2 exactly."""
        return self.mu**2

    @property
    def zeta(self) -> float:
        """The smaller of the two; the paper prints the larger."""
        return min(self.zeta_1, self.zeta_2)


def alignment_constants(
    w: ArrayLike, signs: ArrayLike, inputs: ArrayLike, labels: ArrayLike
) -> AlignmentConstants:
    """Return the constants for neurons (m, d) with output signs (m,).

    Raises ``ValueError`` when mu is not positive (Assumption 1), naming the pair of data.
    """
    norms = np.linalg.norm(inputs, axis=1)
    if (mu := least_signed_cosine(inputs, labels)) <= 0:
        signed = np.asarray(labels)[:, None] * inputs / norms[:, None]
        i, k = np.unravel_index(np.argmin(signed @ signed.T), (len(norms), len(norms)))
        raise ValueError(
            f"inputs {i} and {k} with their labels have the signed cosine {mu:.3g}, allowed: above 0, "
            "orthogonal separability (Assumption 1 of min2024)"
        )
    return AlignmentConstants(
        n=len(norms),
        mu=mu,
        zeta_1=cap_constant(inputs, labels),
        zeta_2=start_constant(w, signs, inputs, labels),
        kappa=cone_margin(inputs, labels),
        x_min=float(norms.min()),
        x_max=float(norms.max()),
    )


def class_sums(inputs: ArrayLike, labels: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Return ``x_+`` and ``x_-``, the sums of the positive and of the negative inputs, (d,) each.

    [min2024, Assumption 2]
    """
    x, y = np.asarray(inputs, dtype=float), np.asarray(labels)
    return x[y > 0].sum(axis=0), x[y < 0].sum(axis=0)


def cap_constant(inputs: ArrayLike, labels: ArrayLike) -> float:
    """Return the least upper bound of the zeta_1 of Lemma 8; at least mu^2 under Assumption 1.

    It is the least squared cosine of any datum, of either class, with ``x_+`` or ``x_-`` (those that are
    present).  [min2024, Lemma 8; the value is ours]
    """
    sums = [total for total in class_sums(inputs, labels) if total.any()]
    return float(min((cosine(inputs, total) ** 2).min() for total in sums))


def start_constant(w: ArrayLike, signs: ArrayLike, inputs: ArrayLike, labels: ArrayLike) -> float:
    """Return zeta_2: one minus the largest squared positive cosine of a neuron with the sum that repels it.

    ``w`` is (m, d), ``signs`` (m,).  Right to the last digits for neurons close to the sum; 1 if none has a
    positive cosine.  [min2024, Eq. 26]
    """
    plus, minus = class_sums(inputs, labels)
    s, units, sine2 = np.asarray(signs), unit_vectors(w), [1.0]
    for total, chosen in ((minus, units[s > 0]), (plus, units[s < 0])):
        if total.any() and len(chosen):
            unit = unit_vectors(total)
            along = chosen @ unit
            # sin^2 from the orthogonal part: 1 - cos^2 has no digits left for a neuron near the sum.
            across = np.linalg.norm(chosen - along[:, None] * unit, axis=1)
            sine2.append(float(np.where(along > 0, across**2, 1.0).min()))
    return min(sine2)


def cone_margin(inputs: ArrayLike, labels: ArrayLike) -> float:
    """Return kappa, the largest ``min_i <c, z_i/|z_i|>`` over unit vectors c; 0 if no c makes it positive.

    It is the distance of the origin from the convex hull of the signed directions, and under Assumption 1 at
    least ``sqrt(mu + (1 - mu)/n) >= sqrt(mu)``.  Values below some 1e-7 are not told from 0.  Ours.
    """
    return separation(unit_vectors(inputs), labels).margin
