"""How far what the claims measured has moved from the record: information for who maintains a book.

Whether a claim holds, :func:`.verify` alone decides.  But a bug that moves numbers inside their tolerance
changes no verdict, so what the claims measured at ``BOOK_SEED`` 0 is recorded, with the kernels that computed
it (see ``processor``).  Which entry is the worst is chance when all errors are rounding, so two things are
compared that do not depend on it: the worst deviation in units of its tolerance, and five order statistics of
the entries (of a single number, the number).  The unit is

* for a prediction, the tolerance;
* for bounds, which mostly have none, the distance to the bound, and for the order statistics no more than
  their own size: under a generous bound a small number could otherwise grow manyfold;
* in any case rounding: what moves by less has not moved.  Counts, and what else is compared without a
  tolerance, move by infinitely many units.

On the kernels of the record a number may move by half a unit, and resolution and tolerances may at most
double; on other kernels it may move by a unit.  Where it is not known which they were, nothing is asked.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import inf
from typing import Any, NamedTuple

from executable_claims.claims.comparison import MISSED, targets_of

SAME, OTHER = 0.5, 1.0  # by how much a number may move, on the kernels of the record and on others
SAID = 0.1  # from this on a movement is said
ROUNDING = 1e-12


class Movement(NamedTuple):
    """How far numbers moved: ``by`` in units of the tolerance; ``words`` say how, empty for no movement."""

    by: float
    words: str


def values(record: Mapping[str, Any]) -> dict[str, Any]:
    """What is recorded of the numbers of a verdict, and of its other clauses by their phrases.

    Tolerances, the worst entry and the order statistics.
    """
    others = {clause["clause"]: numbers(clause) for clause in record["others"]}
    return {**numbers(record), **({"others": others} if others else {})}


def numbers(record: Mapping[str, Any]) -> dict[str, Any]:
    """What is recorded of the numbers of one comparison."""
    comparison = record["comparison"]
    names = ("measured", *MISSED, "tolerance")
    worst = {name: comparison[name] for name in names if comparison[name] is not None}
    others = {name: record[name] for name in ("rtol", "atol", "resolution")}
    return {**worst, **others, "quartiles": [*comparison["quartiles"]]}


def distance(record: Mapping[str, Any], value: float) -> float:
    """How far a number is from the prediction, or from the nearer bound."""
    return min(abs(value - target) for target in targets_of(record).values())


def rounding(record: Mapping[str, Any]) -> float:
    """How far a number may be off by rounding.

    It is in units of the largest one, but of 1 if that is more for what may be a difference of numbers of
    order one: what is compared with zero, and what lies under a bound.
    """
    size = max(map(abs, [*record["quartiles"], record["measured"], record.get("predicted", 0.0)]))
    return ROUNDING * (size if record.get("predicted") else max(1.0, size))


def deviation(before: Mapping[str, Any], now: Mapping[str, Any]) -> float:
    """How far the worst deviation moved, in units of its tolerance, which may be another one now.

    For bounds the unit is the old distance from the bound, if that is more.  Infinite if what had to be equal
    has moved.
    """
    first, last = (distance(record, record["measured"]) for record in (before, now))
    units = before["tolerance"], now["tolerance"]
    if "predicted" not in before:
        units = (max(before["tolerance"], first),) * 2
    if abs(last - first) <= rounding(before):
        return 0.0
    return abs(last / units[1] - first / units[0]) if all(units) else inf


def steps(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[tuple[float, float, float]]:
    """The order statistics, then and now, and by how many units of their tolerance each moved."""
    moves = []
    for old, new in dict.fromkeys(zip(before["quartiles"], now["quartiles"], strict=True)):
        unit = before["atol"] + before["rtol"] * abs(old)
        if "predicted" not in before:
            unit = max(unit, min(abs(old), distance(before, old)))
        apart = abs(new - old)
        by = 0.0 if apart <= rounding(before) else apart / unit if unit else inf
        moves.append((old, new, by))
    return moves


def clauses(before: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[tuple[str, Mapping, Mapping]]:
    """The comparisons of a claim, then and now, by the phrases of those that are not its first one."""
    yield "", before, now
    others = before.get("others", {}), now.get("others", {})
    yield from ((phrase, others[0][phrase], others[1][phrase]) for phrase in others[0] if phrase in others[1])


def movement(before: Mapping[str, Any], now: Mapping[str, Any]) -> Movement:
    """How far what a claim measured is from its record; infinitely far if it is compared in another way."""
    phrases = [" and ".join(["the first clause", *record.get("others", ())]) for record in (before, now)]
    if phrases[0] != phrases[1]:
        return Movement(inf, f"had {phrases[0]}, and has {phrases[1]}")
    moves = [(*moved(then, here), phrase) for phrase, then, here in clauses(before, now)]
    by, words, phrase = max(moves, key=lambda move: move[0])
    return Movement(by, f"{phrase}: {words}" if phrase and words else words)


def moved(before: Mapping[str, Any], now: Mapping[str, Any]) -> Movement:
    """How far one comparison is from its record."""
    kinds = [" and ".join(targets_of(record)) for record in (before, now)]
    if kinds[0] != kinds[1]:
        return Movement(inf, f"was compared with {kinds[0]}, and is with {kinds[1]}")
    old, new, by = max(steps(before, now), key=lambda step: step[2])
    worst = deviation(before, now)
    words = f"{old:.10g} became {new:.10g}" if by >= worst else "the worst deviation moved"
    return Movement(max(by, worst), words if max(by, worst) else "")


def doubled(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """In words, which of resolution and tolerances have more than doubled."""
    return [
        f"the {name} {before[name]:.2g} became {now[name] if now[name] is None else format(now[name], '.2g')}"
        for name in ("resolution", "rtol", "atol")
        if before[name] is not None and (now[name] is None or now[name] > 2 * before[name] + ROUNDING)
    ]


def too_far(before: Mapping[str, Any], now: Mapping[str, Any], then: Mapping, here: Mapping) -> list[str]:
    """In words, what has moved too far for the kernels of the record, ``then``, and the present ones."""
    if not then:
        return []
    far, may = movement(before, now), SAME if then == here else OTHER
    words = [word for _, *both in clauses(before, now) for word in doubled(*both)] if then == here else []
    if far.by > may:
        words.append(f"{far.words}, by {far.by:.2g} of its tolerance, and may by {may}")
    return words
