"""Constants of orthogonally separable data and of a start on them: zeta, xi, kappa, and the least drift.

``z_i = y_i x_i`` are the signed data.  Under Assumption 1 of min2024 their cosines are at least mu > 0, and
the drift of a neuron is the sum ``x_a`` of its active signed data.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from lib.checks import array, broadcast, number, numbers, refuse_overflow, whole
from lib.checks import signs as checked_signs
from lib.geometry.patterns import cosine
from lib.geometry.separation import labelled_data, separation
from lib.theory.orthogonal_data import lengths, same_length


@refuse_overflow
def class_sums(inputs: ArrayLike, labels: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Return ``x_+`` and ``x_-``, the sums of the positive and of the negative inputs, (d,) each.

    ``inputs`` is (n, d) without zero rows, ``labels`` (n,) of +1 and -1; the sum of an absent class is zero.
    Raises ``ValueError`` for other data.  [min2024, Assumption 2]

    Example:

    >>> plus, minus = class_sums([[1, 0], [2, 1], [-3, 0]], [1, 1, -1])
    >>> plus.tolist(), minus.tolist()
    ([3.0, 1.0], [-3.0, 0.0])
    """
    x, y = labelled_data(inputs, labels)
    return x[y > 0].sum(axis=0), x[y < 0].sum(axis=0)


@refuse_overflow
def cap_constant(inputs: ArrayLike, labels: ArrayLike) -> float:
    """Return the least upper bound of the zeta_1 of Lemma 8; at least mu^2 under Assumption 1.

    It is the least squared cosine of any datum, of either class, with ``x_+`` or ``x_-`` (those that are
    present), for data as in :func:`lib.theory.cone_constants.class_sums`.  Raises ``ValueError`` for other
    data.  [min2024, Lemma 8; the value is ours]

    Example:

    >>> round(cap_constant([[3, 0], [0, 4]], [1, 1]), 12)
    0.36
    """
    sums = [total for total in class_sums(inputs, labels) if total.any()]
    if not sums:
        raise ValueError("inputs of either class sum to zero, allowed: data of Assumption 1 of min2024")
    return float(min((cosine(inputs, total) ** 2).min() for total in sums))


@refuse_overflow
def start_constant(w: ArrayLike, signs: ArrayLike, inputs: ArrayLike, labels: ArrayLike) -> float:
    """Return zeta_2: one minus the largest squared positive cosine of a neuron with the sum that repels it.

    ``w`` (m, d) without zero rows and ``signs`` (m,) are the neurons and their output signs, the data as in
    :func:`lib.theory.cone_constants.class_sums`.  Right to the last digits for neurons close to the sum; 1
    if none has a positive cosine.  Raises ``ValueError`` for other arguments.  [min2024, Eq. 26]

    Example:

    >>> round(start_constant([[-3.0, 4.0]], [1], [[1, 0], [-1, 0]], [1, -1]), 12)
    0.64
    """
    plus, minus = class_sums(inputs, labels)
    neurons, s = array("w", w, ("m", "d")), checked_signs("signs", signs, ("m",))
    same_length(w=len(neurons), signs=len(s))
    same_length(**{"axis 1 of w": neurons.shape[1], "axis 1 of inputs": len(plus)})
    sizes = lengths(neurons)
    if not sizes.all():
        raise ValueError(f"w holds a zero row, at index {int(np.argmin(sizes))}, allowed: other neurons")
    # Divided by the largest entries first, so that neurons of any size have directions.
    units = neurons / np.abs(neurons).max(axis=1)[:, None]
    units /= np.linalg.norm(units, axis=1)[:, None]
    sine2 = [1.0]
    for total, chosen in ((minus, units[s > 0]), (plus, units[s < 0])):
        if total.any() and len(chosen):
            unit = total / lengths(total)
            along = chosen @ unit
            # sin^2 from the orthogonal part: 1 - cos^2 has no digits left for a neuron near the sum.
            across = np.linalg.norm(chosen - along[:, None] * unit, axis=1)
            sine2.append(float(np.where(along > 0, across**2, 1.0).min()))
    return min(sine2)


def cone_margin(inputs: ArrayLike, labels: ArrayLike) -> float:
    """Return kappa, the largest ``min_i <c, z_i/|z_i|>`` over unit vectors c; 0 if no c makes it positive.

    It is the distance of the origin from the convex hull of the signed directions.  Under Assumption 1 it is
    at least ``sqrt(mu + (1 - mu)/n) >= sqrt(mu)``.  Data as in :func:`lib.theory.cone_constants.class_sums`;
    values below some 1e-7 are not told from 0.  Raises ``ValueError`` for other data.  Ours.

    Example:

    >>> round(cone_margin([[2, 0], [0, -3]], [1, -1]), 12)
    0.707106781187
    """
    x, y = labelled_data(inputs, labels)
    return separation(x / lengths(x)[:, None], y).margin


@refuse_overflow
def least_drift(
    active: ArrayLike, mu: ArrayLike, x_min: ArrayLike, *, as_printed: bool = False
) -> np.ndarray:
    """Return the least length ``sqrt(n_a (1 + mu (n_a - 1))) X_min`` of a drift of ``active`` data.

    Attained by n_a data of norm ``x_min`` and equal cosines ``mu``; ``as_printed`` gives the smaller bound
    ``sqrt(mu) n_a X_min``.  ``active`` is 0 or more, ``mu`` from 0 to 1, ``x_min`` positive; all broadcast.
    Raises ``ValueError`` for other values.  [min2024, Lemma 11]

    Example:

    >>> float(least_drift(4, 0.25, 1.0)), float(least_drift(4, 0.25, 1.0, as_printed=True))
    (2.6457513110645907, 2.0)
    """
    n, mu, x = broadcast(
        active=numbers("active", active, 0.0, ends="[)"),
        mu=numbers("mu", mu, 0.0, 1.0, "[]"),
        x_min=numbers("x_min", x_min, 0.0),
    )
    return np.sqrt(mu) * n * x if as_printed else np.sqrt(n * (1 + mu * np.maximum(n - 1, 0))) * x


def least_crossing_speed(mu: ArrayLike, x_min: ArrayLike, *, as_printed: bool = False) -> np.ndarray:
    """Return ``mu X_min``, below which no neuron crosses the boundary of a datum it gains, for small scale.

    The speed is ``|d/dt <w/|w|, z_i/|z_i|>|`` at ``<w, z_i> = 0``; a drift of one datum of norm X_min and
    cosine mu attains it.  ``as_printed`` gives the smaller bound ``mu^(3/2) X_min / 2``.  ``mu`` is from
    0 to 1, ``x_min`` positive; they broadcast.  Raises ``ValueError`` for other values.  [min2024, Eq.
    7-8, App. C; the value is ours]

    Example:

    >>> float(least_crossing_speed(0.25, 2.0)), float(least_crossing_speed(0.25, 2.0, as_printed=True))
    (0.5, 0.125)
    """
    mu, x = broadcast(mu=numbers("mu", mu, 0.0, 1.0, "[]"), x_min=numbers("x_min", x_min, 0.0))
    return mu**1.5 * x / 2 if as_printed else mu * x


@dataclass(frozen=True)
class AlignmentConstants:
    """The constants of Theorem 1 for one data set and start.

    ``n`` data, least signed cosine ``mu``, ``zeta_1`` of :func:`lib.theory.cone_constants.cap_constant`,
    ``zeta_2`` of :func:`lib.theory.cone_constants.start_constant` (0 where nothing can be promised),
    ``kappa`` of :func:`lib.theory.cone_constants.cone_margin`, least and largest norm of the inputs.  Raises
    ``ValueError`` for values outside their ranges.

    Example:

    >>> constants = AlignmentConstants(4, 0.5, 0.5, 0.4, 0.8, 1.0, 1.2)
    >>> constants.zeta, constants.xi
    (0.4, 0.25)
    """

    n: int
    mu: float
    zeta_1: float
    zeta_2: float
    kappa: float
    x_min: float
    x_max: float

    def __post_init__(self) -> None:
        whole("n", self.n, 1)
        for name in ("mu", "zeta_1", "kappa"):
            number(name, getattr(self, name), 0.0, 1 + 1e-12, "(]")
        number("zeta_2", self.zeta_2, 0.0, 1 + 1e-12, "[]")
        number("x_max", self.x_max, number("x_min", self.x_min, 0.0), ends="[)")

    @property
    def xi(self) -> float:
        """The largest xi of Lemma 9, which is mu^2 exactly."""
        return self.mu**2

    @property
    def zeta(self) -> float:
        """The smaller of the two; the paper prints the larger."""
        return min(self.zeta_1, self.zeta_2)
