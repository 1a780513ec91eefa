"""Numbers that a chapter computes and its prose and tables quote."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from IPython.display import display

from lib.checks import number

_PREFIX = "application/papermill.record/"


def say(**values: float | int | str) -> None:
    """Make values available to the prose of the same page as ``{glue:text}`name:.3g```, with full digits.

    Raises ``ValueError`` naming a value that is neither text nor one finite number.
    """
    for name, value in values.items():
        if not isinstance(value, str):
            number(name, value)
        text = value if isinstance(value, str) else repr(value.item() if hasattr(value, "item") else value)
        display(
            {_PREFIX + "text/plain": text},
            metadata={"scrapbook": {"name": name, "mime_prefix": _PREFIX}},
            raw=True,
        )


def show_number(value: float) -> str:
    """Return a number as HTML: four significant digits, all of those before the decimal point."""
    size = abs(value)
    if size >= 1e15 or 0 < size < 1e-3:
        digits, exponent = f"{value:.1e}".split("e")
        return f"{float(digits):g}·10<sup>{int(exponent)}</sup>".replace("-", "−")
    return (f"{value:,.0f}" if size >= 1e4 else f"{value:.4g}").replace("-", "−")


def show_spread(values: Sequence[float | None], unit: str = "") -> str:
    """Return median and range over the seeds as HTML; ``None`` is a seed in which it did not happen.

    >>> show_spread((3.0, 1.0, 2.0, None), " %")
    '2 % (1 to 3), not in 1 of 4'
    """
    happened = [value for value in values if value is not None]
    if not happened:
        return f"never in {len(values)}"
    low, high = show_number(min(happened)), show_number(max(happened))
    spread = "" if low == high else f" ({low} to {high})"
    missed = len(values) - len(happened)
    absent = f", not in {missed} of {len(values)}" if missed else ""
    return show_number(float(np.median(happened))) + unit + spread + absent
