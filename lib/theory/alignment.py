"""The constants of data and start on which the bounds of early alignment stand.

``z_i = y_i x_i`` are the signed data, of cosines at least mu > 0 (Assumption 1 of min2024).  Inputs are
(n, d), labels +1 and -1 (n,).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from lib.geometry.patterns import cosine, unit_vectors


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
