"""When, within a step, something changes its state: the first of several distances that falls to zero."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from scipy.optimize import brentq

_LOOKS = np.linspace(0, 1, 5)  # where in a step distances are looked at
_DIPS = 8  # so often a look is added where some distance seems to be least


def first_change(
    distances: Callable[[float | np.ndarray], np.ndarray], distance: Callable[[int, float], float],
    start: float, end: float,
) -> tuple[float, np.ndarray]:  # fmt: skip
    """Return when the first distances fall below zero, and their indices: the end and none if none does.

    ``distances`` are those (k,) at a time, or (T, k) at times (T,), and ``distance`` is one of them alone.
    """
    times = start + (end - start) * _LOOKS
    seen = distances(times)
    for _ in range(_DIPS):
        if (seen[1:] < 0).any() or not (dips := _dips(times, seen)).size:
            break
        times = np.sort(np.append(times, dips))
        seen = distances(times)
    passed = (seen[1:] < 0).any(axis=1)
    if not passed.any():
        return end, np.empty(0, dtype=int)
    look = int(passed.argmax())
    before, after = times[look : look + 2]
    at_before, at_after = seen[look : look + 2]
    changing = np.flatnonzero(at_after < 0)
    at_once = changing[at_before[changing] <= 0]
    if at_once.size:
        return before, at_once
    while True:
        # The first by its chord, unless others turn out to have changed before.
        chords = at_before[changing] / (at_before - at_after)[changing]
        first = changing[chords.argmin()]
        after = _zero(partial(distance, first), before, after)
        at_after = distances(after)
        earlier = np.flatnonzero(at_after < min(at_after[first], 0.0))
        if not earlier.size:
            return after, changing[at_after[changing] == at_after[first]]
        changing = earlier


def _dips(times: np.ndarray, distances: np.ndarray) -> np.ndarray:
    """Return when parabolas through three neighbouring rows (T, m) would be less than half their lowest."""
    t = times[:, None]
    with np.errstate(all="ignore"):  # where there is no parabola, nothing is below zero
        slopes = np.diff(distances, axis=0) / np.diff(t, axis=0)
        bend = np.diff(slopes, axis=0) / (t[2:] - t[:-2])
        lowest = (t[:-2] + t[1:-1]) / 2 - slopes[:-1] / (2 * bend)
        depth = distances[:-2] + (lowest - t[:-2]) * (slopes[:-1] + bend * (lowest - t[1:-1]))
        inside = (t[:-2] < lowest) & (lowest < t[2:])
        seen = np.minimum(np.minimum(distances[:-2], distances[1:-1]), distances[2:])
    return np.unique(lowest[(bend > 0) & inside & (depth < seen / 2)])


def _zero(distance: Callable[[float], float], before: float, after: float) -> float:
    """Return when a distance, above zero before, falls to zero."""
    for end, sign in ((before, 1), (after, -1)):  # on which side an end is, rounding may decide anew
        if sign * distance(end) <= 0:
            return end
    # At a large loss whole runs are over within times like 1e-36: no absolute scale of time is small.
    xtol = max(1e-15 * (after - before), np.finfo(float).tiny)
    return float(brentq(distance, before, after, xtol=xtol, rtol=1e-15))
