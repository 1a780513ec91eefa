"""Compares arrays with what they should be, and says how wrong a theory would be noticed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

# By how much each kind of target is missed; negative is the distance to a bound that is kept.
MISSED: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "predicted": lambda values, target: abs(values - target),
    "at_most": lambda values, target: values - target,
    "at_least": lambda values, target: target - values,
}
# Which way a wrong theory may move each kind of target: up (1) or down (-1).
MOVES = {"predicted": (1, -1), "at_most": (-1,), "at_least": (1,)}
SUPERSCRIPTS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
EXACT = 2**53  # integers up to here are floats
EVEN = 0.5  # from this tightening on a bound is said to have room


@dataclass(frozen=True)
class Comparison:
    """The worst entry of a measurement against its targets, as plain floats.

    ``error`` and ``tolerance`` belong to the ``entry`` shown, the one with the largest error in units of its
    tolerance; ``size`` counts the entries and ``failing`` those outside.  ``quartiles`` are the least, the
    three quartiles and the largest of the measured entries: they tell when the other entries move.
    """

    measured: float
    error: float
    tolerance: float
    size: int
    failing: int
    entry: int
    quartiles: tuple[float, ...]
    predicted: float | None = None
    at_most: float | None = None
    at_least: float | None = None

    @property
    def holds(self) -> bool:
        """Whether every entry is within its tolerance."""
        return self.failing == 0

    def __str__(self) -> str:
        shown = named(targets_of(vars(self)), 6)
        return (
            f"measured {self.measured:.6g}, {shown}, off by {self.error:.3g} where "
            f"{self.tolerance:.3g} is allowed ({self.failing} of {self.size} entries outside)"
        )


def targets_of(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the targets among the values given, by name."""
    return {name: given[name] for name in MISSED if given.get(name) is not None}


def named(targets: Mapping[str, float], digits: int) -> str:
    """Say targets with their names."""
    return ", ".join(f"{name.replace('_', ' ')} {value:.{digits}g}" for name, value in targets.items())


def number(name: str, value: float, most: float = np.inf, positive: bool = False) -> float:
    """Return ``value`` as a float that is not negative and at most ``most``, or raise ``ValueError``."""
    entry = numbers(name, value)
    if entry.shape or not (entry > 0 if positive else entry >= 0) or entry > most:
        least = "a number above 0" if positive else "a number from 0"
        raise ValueError(f"{name} is {value!r}, allowed: {least}{f' to {most:g}' if most < np.inf else ''}")
    return float(entry)


def numbers(name: str, value: ArrayLike) -> np.ndarray:
    """Return ``value`` as an array of finite floats, or raise ``ValueError``."""
    try:
        given = np.asarray(value)
        if given.dtype.kind not in "biufO":
            raise TypeError
        entries = given.astype(float, copy=False)
        whole = given if given.dtype.kind in "iuO" else np.zeros(0)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{name} is {value!r}, allowed: real numbers") from None
    if any(abs(integer) > EXACT for integer in whole.ravel().tolist() if isinstance(integer, int)):
        raise ValueError(f"{name} holds integers beyond 2^53, allowed: what floats hold exactly")
    if not np.isfinite(entries).all():
        raise ValueError(f"{name} holds {entries[~np.isfinite(entries)].flat[0]}, allowed: finite numbers")
    return entries


def broadcast(
    measured: ArrayLike, targets: Mapping[str, ArrayLike]
) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Return the measured entries, and the targets in their shape.

    Raises ``ValueError`` for empty or non-finite arrays, other shapes, and for targets that are missing or
    both a prediction and a bound.
    """
    if not targets or ("predicted" in targets and len(targets) > 1):
        raise ValueError("give either predicted, or at_most and/or at_least")
    values = numbers("measured", measured)
    if values.size == 0:
        raise ValueError("measured is empty: nothing would be compared")
    theory = {}
    for name, target in targets.items():
        entries = numbers(name, target)
        if entries.shape not in ((), values.shape):
            raise ValueError(f"{name} has shape {entries.shape}, but measured has shape {values.shape}")
        theory[name] = np.broadcast_to(entries, values.shape)
    return values, theory


def allowance(atol: ArrayLike, values: np.ndarray) -> np.ndarray:
    """Return an absolute tolerance for all entries or for each, or raise ``ValueError``."""
    entries = numbers("atol", atol)
    if not entries.shape:
        return np.asarray(number("atol", float(entries)))
    if entries.shape != values.shape:
        raise ValueError(f"atol has shape {entries.shape}, but measured has shape {values.shape}")
    if (entries < 0).any():
        raise ValueError(f"atol holds {entries.min()}, allowed: numbers from 0")
    return entries


@dataclass(frozen=True)
class Deviations:
    """What is measured beside its targets, entry by entry; the arrays on misses have a row a target.

    ``excess`` is by how much a target is missed, negative where a bound is kept, ``errors`` what of it is
    positive, ``allowed`` the tolerance, and ``ratios`` the errors in units of it.
    """

    values: np.ndarray
    theory: Mapping[str, np.ndarray]
    excess: np.ndarray
    errors: np.ndarray
    allowed: np.ndarray
    ratios: np.ndarray

    @property
    def misses(self) -> np.ndarray:
        """The largest error of each entry in units of its tolerance, as a flat array."""
        return self.ratios.max(axis=0).ravel()

    @property
    def size(self) -> float:
        """The largest of the numbers compared."""
        return float(max(np.abs(each).max() for each in (self.values, *self.theory.values())))

    def distance(self, share: float) -> float | None:
        """Return how many tolerances a share of the entries is off; ``None`` where nothing is allowed."""
        least = np.sort(self.misses)[::-1][max(1, round(share * self.values.size)) - 1]
        return float(least) if np.isfinite(least) else None

    def table(self, rows: int = 5) -> str:
        """Write the entries outside, the worst first: where they stand, and what is compared there."""
        failing = [entry for entry in np.argsort(-self.misses, kind="stable") if self.misses[entry] > 1]
        names = (name.replace("_", " ") for name in self.theory)
        lines = [["entry", "measured", *names, "off by", "allowed"]]
        for entry in failing[:rows]:
            place = ", ".join(map(str, np.unravel_index(entry, self.values.shape)))
            numbers = [each.flat[entry] for each in (self.values, *self.theory.values())]
            target = self.ratios.reshape(len(self.theory), -1)[:, entry].argmax()
            offs = [each[target].flat[entry] for each in (self.errors, self.allowed)]
            digits = [f"{number:.6g}" for number in numbers] + [f"{off:.3g}" for off in offs]
            lines.append([f"[{place}]", *digits])
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        written = ["  ".join(map(str.rjust, line, widths)) for line in lines]
        return "\n".join([*written, *[f"and {len(failing) - rows} more"] * (len(failing) > rows)])


def deviations(
    measured: ArrayLike, targets: Mapping[str, ArrayLike], rtol: float = 0.0, atol: ArrayLike = 0.0
) -> Deviations:
    """Hold an array beside a prediction, or bounds, entry by entry.

    ``targets`` holds ``predicted``, or ``at_most``, ``at_least`` or both, which must both be kept: scalars,
    or arrays of the shape of ``measured``, as ``atol`` may be too.  An entry holds within
    ``atol + rtol * |target|``.  Raises ``ValueError`` as :func:`broadcast` does, for negative tolerances, and
    for an ``rtol`` from 1 on.
    """
    if (rtol := number("rtol", rtol)) >= 1:
        raise ValueError(f"rtol is {rtol!r}, allowed: a number from 0 to below 1")
    values, theory = broadcast(measured, targets)
    atol = allowance(atol, values)
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        excess = np.stack([MISSED[name](values, target) for name, target in theory.items()])
        errors = np.maximum(excess, 0.0)
        allowed = atol + rtol * np.abs(np.stack([*theory.values()]))
        ratios = np.where(errors > 0, errors / allowed, 0.0)
    ratios[np.isnan(ratios)] = np.inf  # where both are beyond the largest float: outside
    return Deviations(values, theory, excess, errors, allowed, ratios)


def compare(
    measured: ArrayLike, targets: Mapping[str, ArrayLike], rtol: float = 0.0, atol: ArrayLike = 0.0
) -> Comparison:
    """Compare an array with a prediction, or bounds, as :func:`deviations` does; return its worst entry."""
    return worst(deviations(measured, targets, rtol, atol))


def worst(deviation: Deviations) -> Comparison:
    """Return the worst entry: the one with the largest error in units of its tolerance.

    Among entries without error it is the one nearest to its bound.
    """
    size = deviation.values.size
    last = np.lexsort((deviation.excess.ravel(), deviation.ratios.ravel()))[-1]
    entry = last % size
    return Comparison(
        measured=float(deviation.values.flat[entry]),
        error=float(deviation.errors.flat[last]),
        tolerance=float(deviation.allowed.flat[last]),
        size=size,
        failing=int((deviation.misses > 1).sum()),
        entry=int(entry),
        quartiles=tuple(np.quantile(deviation.values, [0, 0.25, 0.5, 0.75, 1], method="lower").tolist()),
        **{name: float(target.flat[entry]) for name, target in deviation.theory.items()},
    )


def beside(measured: Any, predicted: ArrayLike, *, rtol: float = 0.0, atol: ArrayLike = 0.0) -> Any:
    """Return what was measured, a number or an array, if it agrees with the law that it stands beside.

    It costs prose and figures no line: ``say(gain=beside(gain, 2 * np.log(q), rtol=0.01))``.  ``predicted``,
    ``rtol`` and ``atol`` are as in :func:`compare`.  Raises ``AssertionError`` if an entry lies outside, and
    ``ValueError`` as :func:`compare` does, and for an array beside itself.
    """
    if predicted is measured and isinstance(measured, np.ndarray):
        raise ValueError("predicted is measured itself, allowed: what another route gives")
    comparison = compare(measured, {"predicted": predicted}, rtol, atol)
    if not comparison.holds:
        raise AssertionError(f"beside its law: {comparison}")
    return measured


def resolution(
    measured: ArrayLike,
    targets: Mapping[str, ArrayLike],
    rtol: float = 0.0,
    atol: ArrayLike = 0.0,
    scale: float | None = None,
) -> tuple[float | None, str]:
    """Return how wrong a theory the comparison would notice, whichever way it is wrong, also in words.

    It is the smallest ``r`` beyond which :func:`compare` fails when all targets ``t`` become ``t + r |t|``
    and when they become ``t - r |t|``; a bound is tightened, and of two both are.  A target of zero moves by
    ``r * scale``.  ``None`` if all targets are zero and there is no scale.

    A prediction that moves up fails where ``t - rtol |t|``, which increases with ``t``, exceeds
    ``measured + atol``; so the entry gives up at one value of ``t``, and the first entry decides.
    """
    values, theory = broadcast(measured, targets)
    atol = allowance(atol, values)
    rooms: list[tuple[float, str, float]] = []
    for name, target in theory.items():
        steps = np.where(target == 0, 0.0 if scale is None else scale, np.abs(target))
        for way in MOVES[name] if steps.any() else ():
            edge = way * values + atol
            last = edge / (1 - rtol * np.sign(edge))
            with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
                room = np.where(steps > 0, (last - way * target) / steps, np.inf)
            rooms.append((max(0.0, float(room.min())), name, float(target.flat[room.argmin()])))
    if not rooms:
        return None, "a target of zero, without a scale"
    return max(rooms)[0], notices(*max(rooms))


def notices(least: float, name: str, target: float) -> str:
    """Say a resolution in words; the target of that name is the one that decides."""
    if least == 0:
        return "would notice anything"
    if name == "predicted":
        return f"would notice {part(least)}"
    if least < EVEN:
        return f"the data come within {part(least)} of the bound"
    towards_zero = target > 0 if name == "at_most" else target < 0
    if towards_zero and least >= 1:
        return "room: the bound could be zero"
    return f"room: {short(1 / (1 - least) if towards_zero else 1 + least)} times"


def part(share: float) -> str:
    """Say a relative error as a reader does; what is tiny as a power of ten that is not smaller."""
    if share >= 10:
        return f"a factor {short(1 + share)}"
    if share >= 1e-6:
        return f"{short(100 * share)} %"
    power = int(0.01 - np.log10(share))  # 1e-9, but for rounding, is a part in 10 to the 9
    return f"a part in 10{str(power).translate(SUPERSCRIPTS)}"


def short(value: float) -> str:
    """Write a number from 1e-4 to 1e6 with two digits, and no exponent."""
    return f"{float(f'{value:.2g}'):.6g}" if value < 1e6 else f"{value:.0e}"
