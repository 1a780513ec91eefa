"""A neuron on the boundary of its only datum: the flow of min2024, App. E.4, that has many solutions.

Exponential loss, input (1, 0), label +1, ReLU with slope 0 at zero; the neuron starts at w = (0, 1) with
output weight 1.  Staying for ever solves the flow, and so does leaving at any time.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from lib.arguments import broadcast, numbers
from lib.theory.roots import increasing_root

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(120)
_LONGEST = 1e12


def time_since_departure(angle: ArrayLike) -> np.ndarray:
    """Return ``int_0^s exp(sinh(2u)/2) du``, the time in which ``w_1`` grows from 0 to ``sinh(s)``.

    ``angle`` is s, from 0 to 2.5, of any shape; relative accuracy 1e-12.  Raises ``ValueError`` for other
    values.  [min2024, App. E.4; the closed form is ours]

    Example:

    >>> time_since_departure([0.0, 1.0]).round(6).tolist()
    [0.0, 2.280256]
    """
    s = numbers("angle", angle, 0.0, 2.5, "[]")
    total = np.zeros_like(s)
    for node, weight in zip(_NODES, _WEIGHTS, strict=True):  # Gauss's rule, all angles at once
        total += weight * np.exp(np.sinh(s * (node + 1)) / 2)
    return total * s / 2


def departing_neuron(times: ArrayLike, departure: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Return ``w_1`` and the output weight at ``times`` of the solution that leaves at ``departure``.

    Until then they are 0 and 1, afterwards ``sinh(s)`` and ``cosh(s)`` with s the inverse of
    :func:`lib.theory.boundary_departure.time_since_departure`.  Both arguments are times from 0 on, up to
    1e12, of shapes that broadcast.  Relative accuracy 1e-12 of s.  Raises ``ValueError`` for other
    values. [min2024, App. E.4; the closed form is ours]

    Example:

    >>> first, _ = departing_neuron(4.0, [0.0, 0.7, 3.0, 9.0])
    >>> first.round(9).tolist()
    [1.480988971, 1.380809856, 0.711128243, 0.0]
    """
    t, leave = broadcast(
        times=numbers("times", times, 0.0, _LONGEST, "[]"),
        departure=numbers("departure", departure, 0.0, _LONGEST, "[]"),
    )
    waited = np.maximum(t - leave, 0.0)

    def gap(s: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return time_since_departure(s) - waited, np.exp(np.sinh(2 * s) / 2)

    # The integrand is at least 1, so s never exceeds the time.
    s = increasing_root(gap, np.zeros_like(waited), np.minimum(waited, 2.5))
    return np.sinh(s), np.cosh(s)
