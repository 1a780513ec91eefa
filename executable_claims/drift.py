"""How far what the claims measured has moved from the record; a test says what has moved too far.

A verdict says that numbers are within a tolerance; a bug that moves them inside it changes no text.  So what
the claims measured at ``BOOK_SEED`` 0 is recorded.  Which entry is the worst is chance when all errors are
rounding, so two things are compared that do not depend on it: the worst deviation in units of its tolerance,
and five order statistics of the entries (of a single number, the number).  They may move

* for a prediction, by a tenth of the tolerance;
* for bounds, which mostly have none, by a tenth of the distance to the bound, and the order statistics by no
  more than a tenth of themselves: under a generous bound a small number could otherwise grow manyfold;
* in any case by rounding.  Counts and what else is compared without a tolerance may not move beyond that.

A resolution may at most double.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import inf
from typing import Any

from executable_claims.comparison import MISSED, targets_of

SHARE = 0.1
ROUNDING = 1e-12


def values(record: Mapping[str, Any]) -> dict[str, Any]:
    """What is recorded of a verdict: the claim, its tolerances, the worst entry and the order statistics."""
    comparison = record["comparison"]
    kept = ("measured", *MISSED, "tolerance")
    worst = {name: comparison[name] for name in kept if comparison[name] is not None}
    others = {name: record[name] for name in ("rtol", "atol", "resolution")}
    return {"claim": record["claim"]["id"], **worst, **others, "quartiles": [*comparison["quartiles"]]}


def distance(record: Mapping[str, Any], value: float) -> float:
    """How far a number is from the prediction, or from the nearer bound."""
    return min(abs(value - target) for target in targets_of(record).values())


def movement(before: Mapping[str, Any], now: Mapping[str, Any]) -> float:
    """How far the worst deviation moved, in units of its tolerance, which may be another one now.

    For bounds the unit is the old distance from the bound, if that is more.  Infinite if what had to be equal
    has moved.
    """
    first, last = (distance(one, one["measured"]) for one in (before, now))
    units = before["tolerance"], now["tolerance"]
    if "predicted" not in before:
        units = (max(before["tolerance"], first),) * 2
    if abs(last - first) <= rounding(before):
        return 0.0
    return abs(last / units[1] - first / units[0]) if all(units) else inf


def rounding(record: Mapping[str, Any]) -> float:
    """How far a number may be off by rounding.

    It is in units of the largest one, but of 1 if that is more for what may be a difference of numbers of
    order one: what is compared with zero, and what lies under a bound.
    """
    size = max(map(abs, [*record["quartiles"], record["measured"], record.get("predicted", 0.0)]))
    return ROUNDING * (size if record.get("predicted") else max(1.0, size))


def moved(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """In words, what has moved too far between two records of one claim."""
    kinds = ["and ".join(targets_of(one)) for one in (before, now)]
    if kinds[0] != kinds[1]:
        return [f"{before['claim']}: was compared with {kinds[0]}, and is with {kinds[1]}"]
    found = []
    for one, other in dict.fromkeys(zip(before["quartiles"], now["quartiles"], strict=True)):
        tolerance = before["atol"] + before["rtol"] * abs(one)
        if "predicted" not in before:
            tolerance = max(tolerance, min(abs(one), distance(before, one)))
        if abs(other - one) > (may := max(SHARE * tolerance, rounding(before))):
            found.append(f"{one:.10g} became {other:.10g}, which may move by {may:.2g}")
    if (by := movement(before, now)) > SHARE:
        found.append(f"the worst deviation moved by {by:.2g} of its tolerance, and may by {SHARE}")
    resolution, coarser = before["resolution"], now["resolution"]
    if resolution is not None and (coarser is None or coarser > 2 * resolution + ROUNDING):
        found.append(
            f"the resolution {resolution:.2g} became {coarser and f'{coarser:.2g}'}, which may double"
        )
    return [f"{before['claim']}: {text}" for text in found]
