"""Roots of increasing functions, for whole arrays of them at once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from lib.checks import number, numbers

_STEPS = 200
_RELATIVE = 4 * np.finfo(float).eps
_NOISE = 1e-14  # a refused Newton step of this size is the rounding of the function


def increasing_root(
    function: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]],
    low: np.ndarray,
    high: np.ndarray,
    *,
    unit: float = 0.0,
) -> np.ndarray:
    """Return the roots of increasing functions in the brackets ``low`` to ``high``, arrays of one shape.

    ``function`` maps an array of that shape to values and positive slopes.  Newton's method, halving the
    bracket instead wherever a step leaves it or is not half as long as the Newton step before; each entry
    rests as soon as its step is down to its own rounding, or below 1e-14 of it to that of the function; for
    this an entry counts as no smaller than ``unit``: 1 where the unknown is a logarithm.  A root outside its
    bracket gives the nearer end.  Raises ``ValueError`` for brackets of different shapes, upside down or not
    finite, and negative units.

    Example:

    >>> import numpy as np
    >>> increasing_root(lambda x: (x**2 - [4.0, 9.0], 2 * x), np.ones(2), np.full(2, 5.0))
    array([2., 3.])
    """
    low, high = numbers("low", low), numbers("high", high)
    if low.shape != high.shape or (low > high).any():
        raise ValueError(f"low is {low} and high {high}, allowed: arrays of one shape with low <= high")
    least = number("unit", unit, 0, ends="[)")
    x, previous, ends = (low + high) / 2, high - low, (low, high)
    resting = np.zeros(x.shape, dtype=bool)
    for _ in range(_STEPS):
        value, slope = function(x)
        low, high = np.where(value <= 0, x, low), np.where(value >= 0, x, high)
        step = -value / slope
        new = x + step
        safe = (new >= low) & (new <= high) & (np.abs(step) <= previous / 2)
        size = np.maximum(np.abs(x), least)
        noise = ~safe & (np.abs(step) <= _NOISE * size)
        new = np.where(noise, np.clip(new, *ends), np.where(safe, new, low + (high - low) / 2))
        moved, previous = np.abs(new - x), np.where(safe, np.abs(step), high - low)
        x = np.where(resting, x, new)
        resting |= noise | (moved <= _RELATIVE * size)
        if resting.all():
            break
    return x
