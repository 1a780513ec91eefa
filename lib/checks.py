"""Arguments of public functions: what they must be, and the ``ValueError`` that says what they are instead.

Every error names the argument, shows what it got and says what is allowed.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection
from functools import wraps
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike

_Function = TypeVar("_Function", bound=Callable[..., Any])


def numbers(
    name: str, value: ArrayLike, low: float = -np.inf, high: float = np.inf, ends: str = "()"
) -> np.ndarray:
    """Return ``value`` as an array of floats, all of them between ``low`` and ``high``.

    ``ends`` says with brackets which ends belong to the interval: ``"[)"`` holds ``low`` and not ``high``.
    Raises ``ValueError`` with the name, the first entry outside and the interval; numbers written as text are
    refused too.

    Example:

    >>> numbers("frequency", [0.2, 1], 0, 1, "(]")
    array([0.2, 1. ])
    """
    allowed = f"allowed: real numbers in {ends[0]}{low:g}, {high:g}{ends[1]}"
    try:
        given = np.asarray(value)
        texts = given.dtype == object and any(isinstance(part, (str, bytes)) for part in given.flat)
        if given.dtype.kind not in "biufO" or texts:
            raise TypeError
        with np.errstate(over="ignore"):  # a long double may become infinite
            entries = given.astype(float, copy=False)
    except (TypeError, ValueError, OverflowError):
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


def array(
    name: str,
    value: ArrayLike,
    shape: tuple[int | str, ...] = (),
    low: float = -np.inf,
    high: float = np.inf,
    ends: str = "()",
) -> np.ndarray:
    """Return ``value`` as an array of floats of one shape, its entries as in :func:`numbers`.

    Each entry of ``shape`` is a length, or a letter for any length from 1 on; a letter that comes twice
    means the same length.  Raises ``ValueError`` with the name, the shape and the allowed one.

    Example:

    >>> array("inputs", [[1, 2], [3, 4], [5, 6]], ("n", 2)).shape
    (3, 2)
    """
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


def number(name: str, value: Any, low: float = -np.inf, high: float = np.inf, ends: str = "()") -> float:
    """Return ``value`` as one float in an interval, written as in :func:`numbers`.

    Raises ``ValueError`` with the name, the value and the interval.

    Example:

    >>> number("slope", 0, 0, 1, "[]")
    0.0
    """
    return float(array(name, value, (), low=low, high=high, ends=ends))


def whole(name: str, value: Any, low: int = 0) -> int:
    """Return ``value`` as an integer from ``low`` on, below ``2**63``.

    Raises ``ValueError`` with name and value for all else, numbers written as text and booleans among it.

    Example:

    >>> whole("steps", 10.0)
    10
    """
    refusal = ValueError(f"{name} is {value!r}, allowed: whole numbers from {low} on, below 2**63")
    if isinstance(value, (bool, np.bool_, str)):
        raise refusal
    try:
        found = int(value) if np.ndim(value) == 0 else None
    except (TypeError, ValueError, OverflowError):
        raise refusal from None
    if found is None or found != value or not low <= found < 2**63:
        raise refusal
    return found


def wholes(name: str, value: ArrayLike, low: float = 0, high: float = np.inf) -> np.ndarray:
    """Return ``value``, whole numbers from ``low`` to ``high``, as an array of floats of any shape.

    Raises ``ValueError`` with the name and the first entry that is not whole or outside.

    Example:

    >>> wholes("width", [2, 3.0], 1)
    array([2., 3.])
    """
    entries = numbers(name, value)
    wrong = entries[(entries != np.floor(entries)) | (entries < low) | (entries > high)]
    if wrong.size:
        raise ValueError(f"{name} holds {wrong[0]}, allowed: whole numbers from {low:g} to {high:g}")
    return entries


def signs(name: str, value: ArrayLike, shape: tuple[int | str, ...] = ()) -> np.ndarray:
    """Return ``value``, labels or signs +1 and -1, as floats of a shape written as in :func:`array`.

    Raises ``ValueError`` with the name and the first entry that is neither.

    Example:

    >>> signs("labels", [1, -1], ("n",))
    array([ 1., -1.])
    """
    entries = array(name, value, shape)
    if (other := entries[np.abs(entries) != 1]).size:
        raise ValueError(f"{name} holds {other.flat[0]}, allowed: +1 and -1")
    return entries


def choice(name: str, value: Any, allowed: Collection[str]) -> str:
    """Return ``value`` if it is one of the ``allowed`` words; raises ``ValueError`` with name and words.

    Example:

    >>> choice("reduction", "mean", ("mean", "sum"))
    'mean'
    """
    if not isinstance(value, str) or value not in allowed:
        raise ValueError(f"{name} is {value!r}, allowed: {', '.join(map(repr, allowed))}")
    return value


def generator(name: str, value: Any) -> np.random.Generator:
    """Return ``value`` if it is a generator of random numbers; raises ``ValueError`` with the name.

    Example:

    >>> generator("rng", 0)
    Traceback (most recent call last):
    ValueError: rng is 0, allowed: a numpy.random.Generator, as numpy.random.default_rng(0) is
    """
    if not isinstance(value, np.random.Generator):
        raise ValueError(
            f"{name} is {value!r}, allowed: a numpy.random.Generator, as numpy.random.default_rng(0) is"
        )
    return value


def refuse_overflow(function: _Function) -> _Function:
    """Return the function, with a ``ValueError`` where it overflows, divides by zero or knows no number.

    The error names the arguments, those of the outermost function that is decorated.  For functions that are
    right for all arguments but those at the edges of the range of floats, where a step on the way leaves it.

    Example:

    >>> @refuse_overflow
    ... def area(side):
    ...     return np.square(side)
    >>> area(1e200)
    Traceback (most recent call last):
    ValueError: side: too large or too small for floats, overflow encountered in square; allowed: other sizes
    """
    names = ", ".join(name for name in inspect.signature(function).parameters if name != "self")

    @wraps(function)
    def guarded(*given: Any, **named: Any) -> Any:
        if np.geterr()["over"] == "raise":  # called by a decorated function, which names its own arguments
            return function(*given, **named)
        try:
            with np.errstate(over="raise", divide="raise", invalid="raise"):
                return function(*given, **named)
        except ArithmeticError as error:
            raise ValueError(
                f"{names}: too large or too small for floats, {error.args[-1]}; allowed: other sizes"
            ) from None

    return cast(_Function, guarded)
