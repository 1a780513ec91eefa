"""Roots of increasing functions, for whole arrays of them at once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from lib.arguments import numbers

_STEPS = 200
_RELATIVE = 4 * np.finfo(float).eps


def increasing_root(
    function: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]], low: np.ndarray, high: np.ndarray
) -> np.ndarray:
    """Return the roots of increasing functions in the brackets ``low`` to ``high``, arrays of one shape.

    ``function`` maps an array of that shape to values and positive slopes.  Newton's method, halving the
    bracket instead wherever a step leaves it or is not half as long as the step before; each entry rests as
    soon as its step is down to rounding.  A root outside its bracket gives the nearer end.  Raises
    ``ValueError`` for brackets of different shapes, upside down or not finite.

    Example:

    >>> import numpy as np
    >>> increasing_root(lambda x: (x**2 - [4.0, 9.0], 2 * x), np.ones(2), np.full(2, 5.0))
    array([2., 3.])
    """
    low, high = numbers("low", low), numbers("high", high)
    if low.shape != high.shape or (low > high).any():
        raise ValueError(f"low is {low} and high {high}, allowed: arrays of one shape with low <= high")
    x, previous = (low + high) / 2, high - low
    resting = np.zeros(x.shape, dtype=bool)
    for _ in range(_STEPS):
        value, slope = function(x)
        low, high = np.where(value <= 0, x, low), np.where(value >= 0, x, high)
        new = x - value / slope
        safe = (new >= low) & (new <= high) & (np.abs(new - x) <= previous / 2)
        new = np.where(safe, new, low + (high - low) / 2)
        previous, x = np.abs(new - x), np.where(resting, x, new)
        resting |= previous <= _RELATIVE * np.abs(x)
        if resting.all():
            break
    return x
