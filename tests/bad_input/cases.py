"""What a case of bad input is, and strategies for values that arguments forbid."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy


@dataclass(frozen=True)
class Case:
    """A public function, arguments by name that it takes, and for each what it must refuse.

    ``bad`` maps an argument to a strategy of forbidden values; each must raise ``ValueError`` with a message
    that names the argument.
    """

    call: Callable
    valid: dict[str, Any]
    bad: dict[str, SearchStrategy]


NOT_FINITE = st.sampled_from([np.nan, np.inf, -np.inf])
NEGATIVE = st.floats(max_value=-1e-9, allow_infinity=False) | st.just(-np.inf) | st.just(np.nan)
NOT_POSITIVE = st.just(0.0) | NEGATIVE
NOT_WHOLE = st.sampled_from([0.5, -1, np.nan, np.inf, "three", "3", None, True, 2**63, [1, [2]]])
NOT_SIGNS = st.floats().filter(lambda value: abs(value) != 1)
NOT_NUMBERS = st.sampled_from(["abc", "1", 1j, None, [object()], 10**400, [1, [2]], np.datetime64("2000")])
NOT_GENERATORS = st.sampled_from([0, None, np.random, np.random.RandomState(0)])


def outside(low: float, high: float) -> SearchStrategy:
    """Return numbers below ``low`` or above ``high``, and values that are not finite."""
    return (
        st.floats(max_value=low, exclude_max=True)
        | st.floats(min_value=high, exclude_min=True)
        | st.just(np.nan)
    )


def holding(array: np.ndarray, values: SearchStrategy) -> SearchStrategy:
    """Return copies of an array with one entry replaced by a forbidden value."""
    array = np.asarray(array, dtype=float)

    def put(place: int, value: float) -> np.ndarray:
        changed = array.copy()
        changed.flat[place] = value
        return changed

    return st.builds(put, st.integers(0, array.size - 1), values)


def misshapen(array: np.ndarray) -> SearchStrategy:
    """Return arrays of finite entries with an axis more, one less, or one entry more on an axis."""
    array = np.asarray(array, dtype=float)
    longer = [np.concatenate([array, array.take([0], axis)], axis) for axis in range(array.ndim)]
    fewer = [array[0]] if array.ndim else []
    return st.sampled_from([array[None], *fewer, *longer])
