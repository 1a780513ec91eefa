"""Arguments of the closed forms: real numbers in an interval, of shapes that broadcast."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike


def numbers(
    name: str, value: ArrayLike, low: float = -np.inf, high: float = np.inf, ends: str = "()"
) -> np.ndarray:
    """Return ``value`` as an array of floats, all of them between ``low`` and ``high``.

    ``ends`` says with brackets which ends belong to the interval: ``"[)"`` holds ``low`` and not ``high``.
    Raises ``ValueError`` with the name, the first entry outside and the interval.

    Example:

    >>> numbers("frequency", [0.2, 1], 0, 1, "(]")
    array([0.2, 1. ])
    """
    allowed = f"allowed: real numbers in {ends[0]}{low:g}, {high:g}{ends[1]}"
    try:
        if np.iscomplexobj(value):
            raise TypeError
        entries = np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        raise ValueError(f"{name} is {value!r}, {allowed}") from None
    above = entries >= low if ends[0] == "[" else entries > low
    below = entries <= high if ends[1] == "]" else entries < high
    if not (above & below).all():
        raise ValueError(f"{name} holds {entries[~(above & below)].flat[0]}, {allowed}")
    return entries


def broadcast(**arrays: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return the named arrays broadcast against each other, in their order.

    Raises ``ValueError`` with names and shapes if they do not fit.

    Example:

    >>> [part.shape for part in broadcast(times=np.zeros((3, 1)), norm=np.ones(4))]
    [(3, 4), (3, 4)]
    """
    try:
        return tuple(np.broadcast_arrays(*arrays.values()))
    except ValueError:
        shapes = ", ".join(f"{name} {np.shape(array)}" for name, array in arrays.items())
        raise ValueError(f"the shapes are {shapes}; allowed: shapes that broadcast") from None
