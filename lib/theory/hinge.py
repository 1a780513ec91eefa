"""Closed forms of the learning curve of one ReLU neuron trained on one input with the hinge loss.

The neuron has pre-activation ``h = <w, x>`` and output weight ``a``; ``norm`` is ``|x|``, the label is +1
or -1 and ``q = label * a * max(h, 0)`` is the margin, whose loss is ``max(0, 1 - q)``.  The input is drawn
with a frequency, and time is step size times number of steps.  While ``h > 0`` and ``q < 1`` gradient flow
is linear, ``h' = frequency norm^2 label a``, ``a' = frequency label h`` [combes2018, Section 5 and Appendix
C]: with ``rate = frequency norm`` the sum ``h + norm label a`` grows as ``exp(rate t)`` and the difference
decays as its inverse.  The neuron stops for good where ``q`` reaches 1, and dies where ``h`` reaches 0.

No sum below cancels except where its value itself crosses zero.  Relative errors stay below 1e-13 (against
mpmath), divided by the relative distance of ``h0`` from ``-norm label a0`` where that is small; nothing
overflows while ``|h0|``, ``norm |a0|`` are zero or within 1e-100 and 1e100, ``norm`` within 1e-50 and 1e50.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from lib.arguments import broadcast, numbers, refuse_overflow


def _start(
    first: ArrayLike,
    name: str,
    h0: ArrayLike,
    a0: ArrayLike,
    norm: ArrayLike,
    frequency: ArrayLike,
    label: ArrayLike,
) -> tuple[np.ndarray, ...]:
    """Return first, h0, label * norm * a0, norm and the rate ``frequency * norm``, checked and broadcast."""
    sign = numbers("label", label)
    if not (np.abs(sign) == 1).all():
        raise ValueError(f"label holds {sign[np.abs(sign) != 1].flat[0]}, allowed: +1 and -1")
    norm = numbers("norm", norm, 0.0)
    rate = norm * numbers("frequency", frequency, 0.0, 1.0, "(]")
    scaled = norm * sign * numbers("a0", a0)
    return broadcast(**{name: first, "h0": numbers("h0", h0), "a0": scaled, "norm": norm, "frequency": rate})


def _angle_to_margin(target: np.ndarray, h: np.ndarray, b: np.ndarray, norm: np.ndarray) -> np.ndarray:
    """Return ``rate * t`` at which the margin reaches the target, infinite if it never does."""
    start = np.maximum(h, 0) * b / norm
    rising = (h + b) ** 2 / (4 * norm)
    # With g = exp(2 rate t) - 1: rising g^2 + (2 rising - target) g = target - start, by the stable formula.
    middle = 2 * rising - target
    root = np.hypot(target, (h + b) * (h - b) / (2 * norm))
    with np.errstate(divide="ignore", invalid="ignore"):
        growth = np.where(middle >= 0, 2 * (target - start) / (middle + root), (root - middle) / (2 * rising))
        angle = np.log1p(growth) / 2
    lost = (h <= 0) | ((h + b <= 0) & (target > 0)) | ((h + b == 0) & (target == 0))
    return np.where(target <= start, 0.0, np.where(lost, np.inf, angle))


def _angle(
    times: np.ndarray, h: np.ndarray, b: np.ndarray, norm: np.ndarray, rate: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return ``rate * t`` where the neuron moves, stopped where it ends, and who is dead and who trained."""
    moving = (h > 0) & (np.maximum(h, 0) * b < norm)
    dying = moving & (h + b < 0)
    death = np.where(dying, np.log1p(2 * np.where(dying, h / np.where(dying, -(h + b), 1), 0)) / 2, np.inf)
    end = np.minimum(death, _angle_to_margin(np.ones_like(h), h, b, norm))
    with np.errstate(over="ignore"):
        angle = np.where(moving, np.minimum(rate * times, end), 0.0)
    over = moving & (angle >= end)
    return angle, over & dying, over & ~dying


def _sinh(total: np.ndarray, angle: np.ndarray) -> np.ndarray:
    return np.sinh(np.where(total == 0, 0.0, angle))  # a vanishing sum stays zero, however late


@refuse_overflow
def weights(
    times: ArrayLike,
    h0: ArrayLike,
    a0: ArrayLike,
    norm: ArrayLike = 1.0,
    frequency: ArrayLike = 1.0,
    label: ArrayLike = 1,
) -> tuple[np.ndarray, np.ndarray]:
    """Return ``(h, a)`` at these times, of the broadcast shape of the arguments, from any start.

    ``h = h0 exp(-s) + (h0 + norm a0) sinh(s)`` and likewise ``norm a`` (label +1), ``s = rate t`` stopped
    at the margin 1, or at the death of the neuron.  They keep ``h^2 - norm^2 a^2`` [combes2018, Eq. 27].
    Raises ``ValueError`` for negative times, a norm that is not positive, a frequency outside (0, 1], and
    labels other than +1 and -1.

    Example:

    >>> h, a = weights([0.0, 1.0], 1.0, -1.5)  # dies at time log(5) / 2
    >>> h.round(6).tolist(), a.round(6).tolist()
    ([1.0, 0.0], [-1.5, -1.118034])
    """
    times, h, b, norm, rate = _start(
        numbers("times", times, 0.0, ends="[)"), "times", h0, a0, norm, frequency, label
    )
    angle, dead, trained = _angle(times, h, b, norm, rate)
    shrink, grow = np.exp(-angle), (h + b) * _sinh(h + b, angle)
    response, weight = np.where(dead, 0.0, h * shrink + grow), (b * shrink + grow) / norm
    # The sum loses the digits of a weight that has crossed zero; the margin has kept them.
    crossed = trained & (b < 0) & (response > 0)
    return response, np.where(crossed, 1 / np.where(crossed, response, 1.0), weight) * np.asarray(label)


@refuse_overflow
def margin(
    times: ArrayLike,
    h0: ArrayLike,
    a0: ArrayLike,
    norm: ArrayLike = 1.0,
    frequency: ArrayLike = 1.0,
    label: ArrayLike = 1,
) -> np.ndarray:
    """Return the margin at these times, of the broadcast shape of the arguments, from any start.

    From a balanced start it is ``min(1, u0 exp(2 rate t))`` [combes2018, Theorem 5.1]; the printed formula
    for the others holds for ``label a0 >= 0``.  A margin from 1 on stays, a dead neuron has margin 0.
    Raises ``ValueError`` as :func:`weights` does.

    Example:

    >>> margin([0.0, 1.0, 5.0], 0.1, 0.1).round(6).tolist()
    [0.01, 0.073891, 1.0]
    >>> margin([0.0, 9.0], [[2.0], [-1.0], [1.0]], [[3.0], [1.0], [-2.0]]).round(6).tolist()
    [[6.0, 6.0], [0.0, 0.0], [-2.0, 0.0]]
    """
    times, h, b, norm, rate = _start(
        numbers("times", times, 0.0, ends="[)"), "times", h0, a0, norm, frequency, label
    )
    angle, dead, trained = _angle(times, h, b, norm, rate)
    start = np.maximum(h, 0) * b / norm
    value = start * np.exp(-2 * angle) + (h + b) ** 2 / (2 * norm) * _sinh(h + b, 2 * angle)
    return np.where(dead, 0.0, np.where(trained, 1.0, value))


@refuse_overflow
def time_to_margin(
    target: ArrayLike,
    h0: ArrayLike,
    a0: ArrayLike,
    norm: ArrayLike = 1.0,
    frequency: ArrayLike = 1.0,
    label: ArrayLike = 1,
) -> np.ndarray:
    """Return the first time at which the margin is at least ``target``, at most 1; infinite if it never is.

    Target 1 gives the end of training, target 0 the death of a dying neuron.  As accurate as rounding the
    initial margin leaves it.  Raises ``ValueError`` for targets above 1, and as :func:`weights` does.

    Example:

    >>> time_to_margin([0.5, 1.0], 0.1, 0.1).round(6).tolist()  # log(50) / 2 and log(100) / 2
    [1.956012, 2.302585]
    >>> float(time_to_margin(0.1, 1.0, -1.5))
    inf
    """
    target, h, b, norm, rate = _start(
        numbers("target", target, high=1.0, ends="(]"), "target", h0, a0, norm, frequency, label
    )
    return _angle_to_margin(target, h, b, norm) / rate
