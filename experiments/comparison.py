"""When two structures of JSON are the same: a number counts as far as the scale of its list, no further.

Processors add in different orders.  The rounding of an entry of a list is that of the numbers which it was
computed with, and so of the list: a share of 1e-10 beside one of 0.5 has no digit that is not the
processor's.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any


def rounded(values: Any, digits: int = 4) -> Any:
    """Return numbers, in dictionaries, lists and arrays, with so many significant digits: records stay small.

    Arrays become lists; what is no float stays as it is.
    """
    if isinstance(values, float):
        return float(f"{values:.{digits - 1}e}")
    return _inside(values, partial(rounded, digits=digits))


def to_scale(values: Any, digits: int = 4) -> Any:
    """Return numbers as :func:`rounded` does, those in a list to so many digits of its largest float."""
    if isinstance(values, list | tuple):
        decimals = digits - _digits_before_the_point(values)
        # Without its sign, zero is the same text whatever was rounded to it.
        return [
            float(round(value, decimals)) + 0.0 if isinstance(value, float) else to_scale(value, digits)
            for value in values
        ]
    if isinstance(values, float):
        return rounded(values, digits)
    return _inside(values, partial(to_scale, digits=digits))


def _inside(values: Any, change: Callable[[Any], Any]) -> Any:
    if isinstance(values, Mapping):
        return {name: change(value) for name, value in values.items()}
    if hasattr(values, "tolist"):
        return change(values.tolist())
    return [change(value) for value in values] if isinstance(values, list | tuple) else values


def differences(
    before: Any, after: Any, place: str = "", digits: float = math.inf, unit: float | None = None
) -> Iterator[str]:
    """Yield in words, each with its place, where two structures of JSON differ; without ``digits``, exactly.

    A float may differ by a unit of that significant digit of its scale: the largest finite float of its list,
    before or after, or of the two.  So with four digits a change by more than a thousandth of the scale is
    always told, and one by less than a ten-thousandth never.  Everything else has to be equal; 1 and 1.0 are,
    1 and true are not.  ``unit`` is that of the list in which the two stand.
    """
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for name in dict.fromkeys((*before, *after)):
            inner = f"{place}.{name}".lstrip(".")
            yield from differences(before.get(name, "not there"), after.get(name, "not there"), inner, digits)
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        unit = _unit((*before, *after), digits)
        for k, pair in enumerate(zip(before, after, strict=True)):
            yield from differences(*pair, f"{place}[{k}]", digits, unit)
    elif not _same(before, after, _unit((before, after), digits) if unit is None else unit):
        yield f"{place} was {before}, is {after}"


def _same(before: Any, after: Any, unit: float) -> bool:
    if isinstance(before, float) and isinstance(after, float):
        # What was rounded to multiples of the unit differs by these, but for the binary form of its decimals.
        near = abs(before - after) <= (1 + 1e-9) * unit
        return near or before == after or (math.isnan(before) and math.isnan(after))
    return before == after and isinstance(before, bool) == isinstance(after, bool)


def _unit(numbers: Iterable[Any], digits: float) -> float:
    return 10.0 ** (_digits_before_the_point(numbers) - digits)


def _digits_before_the_point(numbers: Iterable[Any]) -> int:
    """Those of the largest finite float, negative for zeros that follow the point; 1 if it is zero."""
    sizes = (abs(number) for number in numbers if isinstance(number, float) and math.isfinite(number))
    return math.floor(math.log10(max(sizes, default=0.0) or 1.0)) + 1
