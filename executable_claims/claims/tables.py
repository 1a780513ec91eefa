"""Tables of measurements: columns by name, whose first ones, before ``measured``, say where a row is from.

A table is a mapping of columns of one length, as a data frame of pandas is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from itertools import count
from typing import Any

import numpy as np

from executable_claims.claims.comparison import MISSED

MEASURED, FAMILY, SEED = "measured", "family", "seed"
Table = Mapping[str, Any]


def named(table: Table, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is ``given``, or else the names of the columns that are called as what is compared.

    Raises ``ValueError`` for a target that is the measured column.
    """
    known = {role: value for role, value in given.items() if value is not None}
    if not set(known) & set(MISSED):
        known |= {role: role for role in MISSED if role in table}
    known.setdefault(MEASURED, MEASURED)
    for role in set(known) & set(MISSED):
        if isinstance(known[role], str) and known[role] == known[MEASURED]:
            raise ValueError(
                f"{role} is the measured column {known[role]!r}, allowed: what another route gives"
            )
    return known


def array(table: Table | None, role: str, value: Any) -> Any:
    """A column that is meant by its name, as an array; other values as they are, and all without a table.

    Raises ``ValueError`` for a name that is no column.
    """
    if table is None or not isinstance(value, str):
        return value
    if value not in table:
        raise ValueError(f"{role} is {value!r}, allowed: a column of the table, {', '.join(table)}")
    return np.asarray(table[value])


def keys(table: Table) -> list[str]:
    """The columns that say where a row is from: those before the measured one."""
    names = list(table)
    return names[: names.index(MEASURED)] if MEASURED in names else []


def drawn(table: Table) -> str:
    """Say how many draws of which family there are, and over what else the rows range, as counted."""
    parts = []
    names = keys(table)
    if FAMILY in names:
        families = list(map(str, np.asarray(table[FAMILY])))
        # Of one draw there may be several rows.
        rows = dict.fromkeys(
            zip(families, np.asarray(table[SEED]) if SEED in table else count(), strict=False)
        )
        counts = Counter(family for family, _ in rows)
        parts.append(", ".join(f"{family} {number}" for family, number in counts.items()))
    for name in names:
        if name not in (FAMILY, SEED):
            parts.append(f"{name.replace('_', ' ')} {span(np.asarray(table[name]))}")
    return "; ".join(parts)


def span(column: np.ndarray) -> str:
    """Say the range of numbers and how many they are, or the words of a column."""
    values = np.unique(column)
    if values.dtype.kind not in "iuf":
        return ", ".join(map(str, values))
    values = values[~np.isnan(values)]  # rows of other draws have no such key
    # What is equal but for rounding is one value.
    count = len({f"{value:.9g}" for value in values.tolist()})
    if count == 1:
        return f"{values[0]:.3g}"
    return f"{values[0]:.3g} to {values[-1]:.3g} ({count} values)"


def place(table: Table, entry: int) -> str:
    """Say where the row of that number is from."""
    cells = {name.replace("_", " "): np.asarray(table[name])[entry] for name in keys(table)}
    return ", ".join(
        f"{name} {format(cell, '.6g') if isinstance(cell, np.floating) else cell}"
        for name, cell in cells.items()
    )
