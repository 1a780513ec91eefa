"""Measurements compared with predictions and bounds, entry by entry."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from lib.checks import number, numbers


@dataclass(frozen=True)
class Comparison:
    """The worst entry of a measurement against its target, as plain floats.

    ``error`` and ``tolerance`` belong to the entry shown, the one with the largest error in units of its
    tolerance; ``size`` counts the entries and ``failing`` those outside.

    Example:

    >>> worst = compare([1.0, 2.1, 3.0], predicted=[1.0, 2.0, 3.0], atol=0.01)
    >>> worst.holds, worst.measured, worst.predicted, worst.failing, worst.size
    (False, 2.1, 2.0, 1, 3)
    >>> print(worst)
    measured 2.1, predicted 2, off by 0.1 where 0.01 is allowed (1 of 3 entries outside)
    """

    measured: float
    predicted: float | None
    at_most: float | None
    at_least: float | None
    error: float
    tolerance: float
    size: int
    failing: int

    @property
    def holds(self) -> bool:
        """Whether every entry is within its tolerance."""
        return self.failing == 0

    def __str__(self) -> str:
        targets = {"predicted": self.predicted, "at most": self.at_most, "at least": self.at_least}
        shown = ", ".join(f"{name} {value:.6g}" for name, value in targets.items() if value is not None)
        return (
            f"measured {self.measured:.6g}, {shown}, off by {self.error:.3g} where {self.tolerance:.3g} is "
            f"allowed ({self.failing} of {self.size} entries outside)"
        )


def _entries(name: str, value: ArrayLike, shape: tuple[int, ...] | None = None) -> np.ndarray:
    array = numbers(name, value)
    if array.size == 0:
        raise ValueError(f"{name} is empty: nothing would be compared")
    if shape is not None and array.shape not in ((), shape):
        raise ValueError(f"{name} has shape {array.shape}, but measured has shape {shape}")
    return array


def _excess(name: str, values: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Return by how much the values miss a target; negative is the distance to a bound that is kept."""
    with np.errstate(over="ignore"):
        return {"at_most": values - target, "at_least": target - values}.get(name, abs(values - target))


def _ratio(error: np.ndarray, allowed: np.ndarray) -> np.ndarray:
    forbidden = np.where(error > 0, np.inf, 0.0)
    with np.errstate(over="ignore"):
        return np.divide(error, allowed, out=forbidden, where=(allowed > 0) & np.isfinite(error))


def compare(
    measured: ArrayLike,
    *,
    predicted: ArrayLike | None = None,
    at_most: ArrayLike | None = None,
    at_least: ArrayLike | None = None,
    rtol: float = 0.0,
    atol: float = 0.0,
) -> Comparison:
    """Compare an array with a prediction, or with bounds, entry by entry.

    ``predicted``, ``at_most`` and ``at_least`` are scalars or have the shape of ``measured``; an entry holds
    within ``atol + rtol * |target|``.  Both bounds may be given.  An error beyond the largest float is
    outside any tolerance.  Raises ``ValueError`` for empty or non-finite arrays, other shapes, negative
    tolerances, and for targets that are missing or given as both a prediction and a bound.

    Example:

    >>> compare([0.99, 1.02], predicted=1.0, rtol=0.05).holds
    True
    >>> compare([0.99, 1.02], at_least=0.9, at_most=1.0)  # doctest: +ELLIPSIS
    Comparison(measured=1.02, predicted=None, at_most=1.0, at_least=0.9, error=0.02..., failing=1)
    """
    bounded = at_most is not None or at_least is not None
    if (predicted is not None) == bounded:
        raise ValueError("give either predicted, or at_most and/or at_least")
    rtol, atol = number("rtol", rtol, 0, ends="[)"), number("atol", atol, 0, ends="[)")
    values = _entries("measured", measured)
    targets = {
        name: np.broadcast_to(_entries(name, target, values.shape), values.shape)
        for name, target in (("predicted", predicted), ("at_most", at_most), ("at_least", at_least))
        if target is not None
    }
    excess = {name: _excess(name, values, target) for name, target in targets.items()}
    errors = {name: np.maximum(excess[name], 0.0) for name in targets}
    with np.errstate(over="ignore"):
        allowed = {name: atol + rtol * abs(target) for name, target in targets.items()}
    failing = np.any([(errors[name] > allowed[name]) | np.isinf(errors[name]) for name in targets], axis=0)
    # The entry shown has the largest error in units of its tolerance; among entries without error, the one
    # nearest to its bound.
    ratios = {name: _ratio(errors[name], allowed[name]) for name in targets}
    name, worst = max(
        ((name, np.lexsort((excess[name].ravel(), ratios[name].ravel()))[-1]) for name in targets),
        key=lambda pair: (ratios[pair[0]].flat[pair[1]], excess[pair[0]].flat[pair[1]]),
    )
    shown = {key: float(target.flat[worst]) for key, target in targets.items()}
    return Comparison(
        measured=float(values.flat[worst]),
        predicted=shown.get("predicted"),
        at_most=shown.get("at_most"),
        at_least=shown.get("at_least"),
        error=float(errors[name].flat[worst]),
        tolerance=float(allowed[name].flat[worst]),
        size=values.size,
        failing=int(failing.sum()),
    )
