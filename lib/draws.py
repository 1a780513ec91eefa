"""What a chapter draws, and tables of what it measures on it: one row a draw, named by where it is from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from lib.checks import whole
from lib.seeds import generator, named

if TYPE_CHECKING:
    from pandas import DataFrame


@dataclass(frozen=True)
class Draw:
    """One thing to measure: ``keys`` say where it is from; a measure gets ``given`` and ``options``."""

    keys: Mapping[str, Any]
    given: tuple = ()
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def value(self) -> Any:
        """What was drawn, or what a run made of it."""
        return self.given[0]


def draws(name: str, make: Callable[..., Any], families: Mapping[str, Any], each: int = 5) -> list[Draw]:
    """Draw every family so many times, from seeds that belong to the name.

    ``families`` maps the name of each to the first argument of ``make``, or to a mapping of its keywords;
    ``make`` takes the generator as ``rng``.  A draw has the keys ``family`` and ``seed``, which
    :func:`lib.seeds.generator` makes the same generator from.  Raises ``ValueError`` without families, and
    unless ``each`` is a whole number from 1 on.
    """
    if not families:
        raise ValueError(f"families of {name!r} is {families!r}, allowed: one or more")
    seeds = (named(name, number) for number in range(len(families) * whole("each", each, 1)))
    return [
        drawn(make, family, arguments, next(seeds))
        for family, arguments in families.items()
        for _ in range(each)
    ]


def drawn(make: Callable[..., Any], family: str, arguments: Any, seed: int) -> Draw:
    """Make one draw of a family."""
    given, options = ((), arguments) if isinstance(arguments, Mapping) else ((arguments,), {})
    value = make(*given, **options, rng=generator(seed))
    return Draw({"family": family, "seed": seed}, (value,))


def grid(**axes: Iterable) -> list[Draw]:
    """Return all combinations of values, to measure by keyword; there is no chance in them."""
    return [
        Draw(keys, (), keys)
        for keys in (dict(zip(axes, each, strict=True)) for each in product(*axes.values()))
    ]


def runs(run: Callable[..., Any], drawn: Iterable[Draw]) -> list[Draw]:
    """Return what each draw comes to, made once, under the same keys."""
    return [Draw(draw.keys, (run(*draw.given, **draw.options),)) for draw in drawn]


def table(measure: Callable[..., Any], drawn: Iterable[Draw]) -> DataFrame:
    """Return what is measured of the draws as a data frame: their keys, then what a measure says.

    ``measure`` returns a row, a mapping by the names of its columns, or yields several; entries that are
    arrays of one length are as many rows.  Raises ``ValueError`` if it says something else, or no row.
    """
    from pandas import DataFrame, concat  # take most of a second

    rows = [{**draw.keys, **row} for draw in drawn for row in said(measure, draw)]
    if not rows:
        raise ValueError(f"{measure.__name__} measures nothing, allowed: a row or more of each draw")
    frames = [DataFrame(row if any(map(np.ndim, row.values())) else [row]) for row in rows]
    return concat(frames, ignore_index=True)


def said(measure: Callable[..., Any], draw: Draw) -> Iterator[Mapping[str, Any]]:
    """Yield the rows that a measure says of a draw."""
    answer = measure(*draw.given, **draw.options)
    for row in [answer] if isinstance(answer, Mapping) else answer:
        if not isinstance(row, Mapping):
            raise ValueError(f"{measure.__name__} says {row!r}, allowed: rows, columns by their names")
        yield row
