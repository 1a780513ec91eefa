"""Sentences that say several things, or something over a range: each of these has its comparison.

An entry of the ledger lists what it says (``says``) and what it speaks over (``over``).  A check then takes a
:class:`Clause` for each phrase that no neighbouring entry decides, and tables with a column of each name.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

EACH, LIMITS = "each", ("towards 0", "towards infinity")
ENDS = re.compile(r"(\S+) to (\S+)")
FORMULA = re.compile(r"(\${1,2})[^$]+\1")
VALUES = 3  # so many are fewest over which something is said
DECADES = 2.0  # what goes towards a limit goes so far at least


class Clause:
    """One comparison of a check: the phrase of the entry that it decides, and arguments as of ``verify``.

    What is not given here is taken from the check.
    """

    def __init__(self, says: str, table: Mapping[str, ArrayLike] | None = None, **check: Any) -> None:
        self.says, self.table, self.check = says, table, check

    def __repr__(self) -> str:
        return f"Clause({self.says!r}, ...)"


def phrases(says: Sequence[str | Mapping[str, str]]) -> dict[str, str]:
    """Return the phrases of an entry, and the id of the entry that decides each, empty for its own."""
    deciding: dict[str, str] = {}
    for phrase in says:
        deciding |= {phrase: ""} if isinstance(phrase, str) else phrase
    return deciding


def own_phrases(says: Sequence[str | Mapping[str, str]]) -> list[str]:
    """Return the phrases that an entry decides itself."""
    return [phrase for phrase, by in phrases(says).items() if not by]


def mistakes(says: Any, over: Any, statement: str, own: str, ids: Sequence[str]) -> Iterator[str]:
    """Say what an entry has wrong in what it says and in what it speaks over."""
    whole = " ".join(statement.split())
    if says and len(says) < 2:
        yield f"says {says!r}, allowed: two phrases or more; a sentence that says one thing lists nothing"
    for said in says:
        if not isinstance(said, str) and not (isinstance(said, Mapping) and len(said) == 1):
            yield f"says {said!r}, allowed: a phrase, or a phrase and the id of the entry that decides it"
            continue
        [(phrase, by)] = phrases([said]).items()
        if phrase not in whole:
            yield f"says {phrase!r}, allowed: words of the statement"
        if re.search(r"[$\\]", FORMULA.sub("", phrase)):
            yield f"says {phrase!r}, allowed: words, and whole formulas with their dollar signs"
        if by and (by not in ids or by == own):
            yield f"{phrase!r} is decided by {by!r}, allowed: another entry of this ledger"
    for name, span in over.items():
        if not isinstance(span, str) or not (span in (EACH, *LIMITS) or bounds(span)):
            yield f"over {name} is {span!r}, allowed: {EACH}, {', '.join(LIMITS)}, or numbers, low to high"


def bounds(span: str) -> tuple[float, float] | None:
    """Return the ends of a range that is claimed, ``1e-3 to 20``; ``None`` for what is none."""
    try:
        low, high = map(float, ENDS.fullmatch(span).groups())  # type: ignore[union-attr]
    except (AttributeError, ValueError):
        return None
    return (low, high) if low < high else None


def refuse_other(says: Sequence[str | Mapping[str, str]], clauses: Sequence[Clause]) -> None:
    """Raise ``ValueError`` unless each phrase that an entry has to decide is compared once."""
    compared, asked = Counter(clause.says for clause in clauses), own_phrases(says)
    for phrase in asked:
        if (times := compared[phrase]) != 1:
            how = f"compared {times} times" if times else "compared by nothing"
            raise ValueError(f"{phrase!r} is {how}, allowed: one Clause for each phrase of the entry")
    if other := [phrase for phrase in compared if phrase not in asked]:
        raise ValueError(f"the clause {other[0]!r} is compared, allowed: {', '.join(asked) or 'none'}")


def refuse_narrow(over: Mapping[str, str], tables: Sequence[Mapping[str, ArrayLike]]) -> None:
    """Raise ``ValueError`` unless what is claimed over a range is compared over it."""
    for name, span in over.items():
        columns = [np.asarray(table[name]) for table in tables if name in table]
        if not columns:
            raise ValueError(
                f"no table has a column {name!r}, allowed: one with the {name} that is spoken over"
            )
        values = np.unique(np.concatenate(columns))
        if len(values) < VALUES:
            raise ValueError(f"{name} has the values {values.tolist()}, allowed: {VALUES} or more")
        refuse_short(name, span, values)


def refuse_short(name: str, span: str, values: np.ndarray) -> None:
    """Raise ``ValueError`` unless values reach the ends of a range, or go far towards a limit."""
    if (ends := bounds(span)) is not None:
        if values[0] > ends[0] or values[-1] < ends[1]:
            raise ValueError(f"{name} goes from {values[0]:.6g} to {values[-1]:.6g}, allowed: from {span}")
    elif span in LIMITS:
        sizes = np.abs(values[values != 0])
        logs = values / np.log(10) if name.startswith("log") else np.log10(sizes)
        decades = np.ptp(logs)
        if decades < DECADES:
            raise ValueError(f"{name} goes {span} over {decades:.2g} decades, allowed: {DECADES:g} or more")
