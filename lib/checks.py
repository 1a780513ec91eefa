"""Checks of arguments at the doors of the library: what they must be, and the ``ValueError`` that says so.

Every error names the argument, shows what it got and says what is allowed.  Shapes are written as tuples of
lengths and letters: a letter is any length from 1 on, and the same one where it comes twice.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
from numpy.typing import ArrayLike


def numbers(
    name: str, value: ArrayLike, low: float = -np.inf, high: float = np.inf, ends: str = "()"
) -> np.ndarray:
    """Return ``value`` as an array of floats of any shape, all of them between ``low`` and ``high``.

    ``ends`` says with brackets which ends belong to the interval: ``"[)"`` holds ``low`` and not ``high``.
    Numbers written as text are refused.
    """
    allowed = f"allowed: real numbers in {ends[0]}{low:g}, {high:g}{ends[1]}"
    try:
        entries = np.asarray(value)
        if entries.dtype.kind not in "biufO":
            raise TypeError
        entries = entries.astype(float, copy=False)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{name} is {value!r}, {allowed}") from None
    above = entries >= low if ends[0] == "[" else entries > low
    below = entries <= high if ends[1] == "]" else entries < high
    if not (above & below).all():
        raise ValueError(f"{name} holds {entries[~(above & below)].flat[0]}, {allowed}")
    return entries


def array(
    name: str,
    value: ArrayLike,
    shape: tuple[int | str, ...] = (),
    low: float = -np.inf,
    high: float = np.inf,
    ends: str = "()",
) -> np.ndarray:
    """Return ``value`` as an array of floats of this shape, its entries as in :func:`numbers`."""
    entries = numbers(name, value, low, high, ends)
    lengths: dict[str, int] = {}
    fits = entries.ndim == len(shape) and all(
        length == (lengths.setdefault(wanted, length) if isinstance(wanted, str) else wanted) and length > 0
        for wanted, length in zip(shape, entries.shape, strict=True)
    )
    if not fits:
        allowed = ", ".join(str(length) for length in shape) + "," * (len(shape) == 1)
        raise ValueError(f"{name} has shape {entries.shape}, allowed: ({allowed})")
    return entries


def filled(name: str, value: ArrayLike, shape: tuple[int | str, int | str]) -> np.ndarray:
    """Return ``value`` as an array of floats of this shape, none of whose rows is zero."""
    rows = array(name, value, shape)
    if (zero := np.flatnonzero(~rows.any(axis=1))).size:
        raise ValueError(f"{name} holds a zero row, at index {zero[0]}; allowed: other rows")
    return rows


def number(name: str, value: Any, low: float = -np.inf, high: float = np.inf, ends: str = "()") -> float:
    """Return ``value`` as one float in an interval, written as in :func:`numbers`."""
    return float(array(name, value, (), low, high, ends))


def whole(name: str, value: Any, low: int = 0) -> int:
    """Return ``value`` as an integer from ``low`` on; text and booleans are refused."""
    try:
        integer = None if isinstance(value, bool) else int(value)
    except (TypeError, ValueError, OverflowError):
        integer = None
    if integer is None or integer != value or integer < low:
        raise ValueError(f"{name} is {value!r}, allowed: whole numbers from {low} on")
    return integer


def wholes(name: str, value: ArrayLike, low: float, high: float) -> np.ndarray:
    """Return ``value``, whole numbers from ``low`` to ``high``, as an array of floats of any shape."""
    entries = numbers(name, value)
    if (wrong := entries[(entries != np.floor(entries)) | (entries < low) | (entries > high)]).size:
        raise ValueError(f"{name} holds {wrong[0]}, allowed: whole numbers from {low:g} to {high:g}")
    return entries


def signs(name: str, value: ArrayLike, shape: tuple[int | str, ...] = ()) -> np.ndarray:
    """Return ``value``, labels or signs +1 and -1, as floats of this shape."""
    entries = array(name, value, shape)
    if (other := entries[np.abs(entries) != 1]).size:
        raise ValueError(f"{name} holds {other.flat[0]}, allowed: +1 and -1")
    return entries


def choice(name: str, value: Any, allowed: Collection[str]) -> str:
    """Return ``value`` if it is one of the ``allowed`` words."""
    if not isinstance(value, str) or value not in allowed:
        raise ValueError(f"{name} is {value!r}, allowed: {', '.join(map(repr, allowed))}")
    return value
