"""A rare feature trained with the hinge loss, in closed form: the loss does not cure its starvation.

The model of :mod:`lib.theory.rare_feature` with the loss ``max(0, 1 - margin)``: inputs ``x1 + x2`` (a
share ``frequency`` of the class) have margin ``a (h1 + h2)``, the others, ``x1`` alone, ``a h1``.  With ``h2
>= 0`` the former reach margin 1 first.  Until then the flow is linear,

    h1' = a,     h2' = frequency ratio a,     a' = h1 + frequency h2,

afterwards ``h2`` rests and ``h1' = (1 - frequency) a``, ``a' = (1 - frequency) h1`` until ``a h1 = 1``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from lib.arguments import broadcast, numbers, refuse_overflow
from lib.theory import hinge
from lib.theory.roots import increasing_root


@dataclass(frozen=True)
class HingeTraining:
    """Responses and output weight at the two stops of training, and the times of these.

    Each field has the two stops along its first axis, and the shape of the starts behind it.

    Example:

    >>> run = hinge_training(0.01, 0.01, 0.01, frequency=0.2)
    >>> (run.a * run.h1).round(4).tolist(), (run.a * (run.h1 + run.h2)).round(4).tolist()
    ([0.8272, 1.0], [1.0, 1.1896])
    """

    time: np.ndarray
    h1: np.ndarray
    h2: np.ndarray
    a: np.ndarray


@refuse_overflow
def hinge_rare_margin(frequency: ArrayLike, ratio: ArrayLike = 1.0) -> np.ndarray:
    """Return the margin ``a h2`` of the rare feature alone when training ends, after an infinitesimal start.

    The first inputs stop learning at the rare margin ``frequency ratio / (1 + frequency ratio)``; in the end
    it is a little below ``frequency ratio``.  Arguments broadcast; relative accuracy 1e-15.  Raises
    ``ValueError`` unless ``frequency`` is in (0, 1) and ``ratio`` positive.

    Example:

    >>> hinge_rare_margin([0.5, 0.2, 0.1, 0.01]).round(5).tolist()
    [0.40074, 0.18228, 0.09532, 0.00995]
    """
    frequency, ratio = broadcast(
        frequency=numbers("frequency", frequency, 0.0, 1.0), ratio=numbers("ratio", ratio, 0.0)
    )
    slope = frequency * ratio
    growth = np.sqrt(1 + frequency * slope)  # a / h1, and the rate of growth
    # At the first stop growth h1^2 (1 + slope) = 1; then a^2 - h1^2 stays, and a h1 becomes 1.
    difference = frequency * slope / growth / (1 + slope)
    last = np.sqrt((difference + np.hypot(difference, 2)) / 2)
    return last * slope / np.sqrt(growth * (1 + slope))


def hinge_training(
    h1: ArrayLike, h2: ArrayLike, a: ArrayLike, frequency: ArrayLike, ratio: ArrayLike = 1.0
) -> HingeTraining:
    """Return the neuron at the two stops of its training, from any start with ``a (h1 + h2) <= 1``.

    ``h1, a > 0``, ``h2 >= 0``, ``frequency`` in (0, 1), ``ratio = |x2|^2 / |x1|^2 > 0``, ``|x1| = 1``;
    arguments broadcast.  Relative accuracy 1e-13 for starts down to 1e-100.  Raises ``ValueError`` for
    others.

    Example:

    >>> hinge_training(1e-6, 1e-6, 1e-6, [0.5, 0.1]).time.round(3).tolist()
    [[12.084, 13.656], [12.488, 13.709]]
    """
    h1, h2, a, frequency, ratio = broadcast(
        h1=numbers("h1", h1, 0.0),
        h2=numbers("h2", h2, 0.0, ends="[)"),
        a=numbers("a", a, 0.0),
        frequency=numbers("frequency", frequency, 0.0, 1.0),
        ratio=numbers("ratio", ratio, 0.0),
    )
    over = a * (h1 + h2) > 1
    if over.any():
        raise ValueError(f"a holds {a[over][0]}, allowed: up to 1 / (h1 + h2), {1 / (h1 + h2)[over][0]}")
    slope = frequency * ratio
    growth = np.sqrt(1 + frequency * slope)
    drive = h1 + frequency * h2

    def move(angle: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return a and the growth of h1 when ``growth time`` is this angle; all terms are positive."""
        small, half = np.sinh(angle), np.sinh(angle / 2)
        return (
            a * np.cosh(angle) + drive / growth * small,
            (2 * drive * half**2 + growth * a * small) / growth**2,
        )

    def residual(angle: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        weight, gain = move(angle)
        sum_ = h1 + h2 + (1 + slope) * gain
        pull = (drive + growth**2 * gain) / growth
        return np.log(weight) + np.log(sum_), pull / weight + (1 + slope) * weight / growth / sum_

    # The weight exceeds (a + drive / growth) e^angle / 2, and the sum does not shrink.
    longest = -np.log((a + drive / growth) / 2) - np.log(h1 + h2)
    angle = increasing_root(residual, np.zeros_like(a), np.maximum(longest, 0.0))
    first, gain = move(angle)
    stop1, stop2 = h1 + gain, h2 + slope * gain
    rest = hinge.time_to_margin(1.0, stop1, first, 1.0, 1 - frequency)
    last1, last = hinge.weights(rest, stop1, first, 1.0, 1 - frequency)
    return HingeTraining(
        time=np.stack([angle / growth, angle / growth + rest]),
        h1=np.stack([stop1, last1]),
        h2=np.stack([stop2, stop2]),
        a=np.stack([first, last]),
    )
