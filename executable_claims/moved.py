"""How far the numbers behind a verdict may move from the record before a test fails, although it stands.

A verdict says that numbers are within a tolerance; a bug that moves them inside it changes no text.  So what
the claims measured at ``BOOK_SEED`` 0 is recorded.  Which entry is the worst is chance when all errors are
rounding, so two things are compared that do not depend on it: the worst deviation in units of its tolerance,
and five order statistics of the entries (of a single number, the number).  They may move

* for a prediction, by a tenth of the tolerance;
* for bounds, which mostly have none, by a tenth of the distance to the bound, and the order statistics by no
  more than a tenth of themselves: under a generous bound a small number could otherwise grow to many times
  its size;
* its resolution, how wrong a theory it would notice, may at most double;
* in any case by rounding, of the number or of sums of numbers of order one.  Counts and other numbers that
  are compared without a tolerance may not move beyond that.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

SHARE = 0.1
ROUNDING = 1e-12
BOUNDS = ("at_most", "at_least")


def values(record: Mapping[str, Any]) -> dict[str, Any]:
    """What is recorded of a verdict: the claim, its tolerances, the worst entry and the order statistics."""
    comparison = record["comparison"]
    kept = ("measured", "predicted", *BOUNDS, "tolerance")
    worst = {name: comparison[name] for name in kept if comparison[name] is not None}
    tolerances = {name: record[name] for name in ("rtol", "atol")}
    found = {**worst, **tolerances, "resolution": record["resolution"]}
    return {"claim": record["claim"]["id"], **found, "quartiles": [*comparison["quartiles"]]}


def rounding(value: float) -> float:
    return ROUNDING * max(1.0, abs(value))


def room(value: float, one: Mapping[str, Any]) -> float:
    """The distance of a number to the nearer of the bounds of the worst entry."""
    return min(abs(value - one[name]) for name in BOUNDS if name in one)


def allowance(value: float, one: Mapping[str, Any]) -> float:
    """How far an order statistic may move from ``value``."""
    tolerance = one["atol"] + one["rtol"] * abs(value)
    if "predicted" not in one:
        tolerance = max(tolerance, min(abs(value), room(value, one)))
    return max(SHARE * tolerance, rounding(value))


def deviation(one: Mapping[str, Any], other: Mapping[str, Any]) -> tuple[float, float]:
    """How far the worst entry of ``one`` is from its target, and how far this may move to that of ``other``.

    In units of the tolerances, which differ between entries, where both are compared with a prediction.
    """
    if "predicted" not in one:
        away = room(one["measured"], one)
        return away, max(SHARE * max(one["tolerance"], away), rounding(one["measured"]))
    scale = one["tolerance"] if one["tolerance"] and other["tolerance"] else 1.0
    return abs(one["measured"] - one["predicted"]) / scale, max(
        SHARE * one["tolerance"] / scale, rounding(one["predicted"]) / scale
    )


def coarser(before: float | None, now: float | None) -> list[str]:
    """In words, whether a check would notice only errors twice as large as before."""
    if before is None or (now is not None and now <= 2 * before + ROUNDING):
        return []
    return [f"the resolution {before:.2g} became {'none' if now is None else f'{now:.2g}'}, which may double"]


def moved(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """In words, what has moved too far between two records of one claim."""
    if ("predicted" in before) != ("predicted" in now):
        return [f"{before['claim']}: a prediction became a bound, or a bound a prediction"]
    found = [
        f"{old:.10g} became {new:.10g}, which may move by {allowance(old, before):.2g}"
        for old, new in dict.fromkeys(zip(before["quartiles"], now["quartiles"], strict=True))
        if abs(new - old) > allowance(old, before)
    ]
    (old, may), (new, _) = deviation(before, now), deviation(now, before)
    if abs(new - old) > may:
        found.append(f"the worst deviation {old:.4g} became {new:.4g}, which may move by {may:.2g}")
    found += coarser(before["resolution"], now["resolution"])
    return [f"{before['claim']}: {text}" for text in found]
