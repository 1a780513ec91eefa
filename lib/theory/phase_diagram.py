"""How likely the fates of a ReLU neuron are at random starts, and how slowly it decays on the line between.

Fates and notation of :mod:`lib.theory.hyperbolic_neuron`; starts ``h``, ``norm a`` are independent centred
normals [combes2018, Section 3.3 and Figure 2, left].
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from lib.arguments import broadcast, numbers, refuse_overflow


def fate_probabilities(ratio: ArrayLike = 1.0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the probabilities that a neuron learns, dies after being active, and is inactive at once.

    ``ratio`` is the standard deviation of ``h`` divided by that of ``norm a``: it is 1 if all weights have
    the same one, for any norm and dimension; then they are 3/8, 1/8 and 1/2.  Exact to rounding.  Raises
    ``ValueError`` for ratios that are not positive.

    Example:

    >>> [part.round(4).tolist() for part in fate_probabilities([1.0, 1 / 0.7])]
    [[0.375, 0.4028], [0.125, 0.0972], [0.5, 0.5]]
    """
    ratio = numbers("ratio", ratio, 0.0)
    turn = np.arctan2(1.0, ratio) / (2 * np.pi)  # the angle between the line h = -norm a and the axis h = 0
    return 0.5 - turn, turn, np.full_like(ratio, 0.5)


def failure_probability(width: ArrayLike, ratio: ArrayLike = 1.0) -> np.ndarray:
    """Return the probability that none of ``width`` neurons learns, ``(5/8)^width`` for ratio 1.

    Neurons that learn keep learning in company, and one is enough: the failures of [combes2018, Section 3.3]
    are those of narrow networks.  ``ratio`` as in :func:`fate_probabilities`; arguments broadcast.  Raises
    ``ValueError`` for widths below 0.

    Example:

    >>> failure_probability([1, 2, 3, 5]).round(4).tolist()
    [0.625, 0.3906, 0.2441, 0.0954]
    """
    width, ratio = broadcast(
        width=numbers("width", width, 0.0, ends="[)"), ratio=numbers("ratio", ratio, 0.0)
    )
    return (1 - fate_probabilities(ratio)[0]) ** width


@refuse_overflow
def decay_time_bounds(u1: ArrayLike, u0: ArrayLike, norm: ArrayLike = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """Return bounds of the time a neuron on the line ``h = -norm a`` needs from logit ``u0`` to ``u1``.

    ``log(u0 / u1) / (2 norm) <= t <= log(u0 / u1) / norm`` for ``u0 <= u1 < 0`` [combes2018, Eq. 23, whose
    factor ``1 / (2 norm)`` is missing].  The exact time:
    :func:`lib.theory.hyperbolic_neuron.time_to_logit`.  Raises ``ValueError`` for other logits.

    Example:

    >>> low, high = decay_time_bounds(-1e-5, -1.0)
    >>> low.round(3), high.round(3)
    (np.float64(5.756), np.float64(11.513))
    """
    u1, u0, norm = broadcast(
        u1=numbers("u1", u1, high=0.0), u0=numbers("u0", u0, high=0.0), norm=numbers("norm", norm, 0.0)
    )
    if (u1 < u0).any():
        raise ValueError(f"u1 holds {u1[u1 < u0][0]}, allowed: at least u0, {u0[u1 < u0][0]}")
    decades = np.log(-u0) - np.log(-u1)
    return decades / (2 * norm), decades / norm
