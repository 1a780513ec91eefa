"""Roots of increasing functions, for whole arrays of them at once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

_STEPS = 200
_RELATIVE = 4 * np.finfo(float).eps


def increasing_root(
    function: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]], low: np.ndarray, high: np.ndarray
) -> np.ndarray:
    """Return the roots of increasing functions in the brackets ``low`` to ``high``, arrays of one shape.

    ``function`` maps an array of that shape to values and positive slopes.  Newton's method, halving the
    bracket instead wherever a step leaves it or is not half as long as the step before; it stops when all
    steps are down to rounding.  A root outside its bracket gives the nearer end.

    Example:

    >>> import numpy as np
    >>> increasing_root(lambda x: (x**2 - [4.0, 9.0], 2 * x), np.ones(2), np.full(2, 5.0))
    array([2., 3.])
    """
    low, high = np.array(low, dtype=float), np.array(high, dtype=float)
    x, previous = (low + high) / 2, high - low
    for _ in range(_STEPS):
        value, slope = function(x)
        low, high = np.where(value <= 0, x, low), np.where(value >= 0, x, high)
        new = x - value / slope
        safe = (new >= low) & (new <= high) & (np.abs(new - x) <= previous / 2)
        new = np.where(safe, new, low + (high - low) / 2)
        previous, x = np.abs(new - x), new
        if (previous <= _RELATIVE * np.abs(x)).all():
            break
    return x
