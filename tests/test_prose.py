"""Numbers on a page: to the digits that they have room for, with their spread over the seeds."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from lib.prose import show_number, show_spread


@given(st.floats(-1e300, 1e300))
def test_a_number_is_shown_to_the_digits_that_it_has_room_for(value):
    shown = show_number(value).replace("−", "-").replace(",", "")
    digits, _, exponent = shown.partition("·10<sup>")
    read = float(digits + ("e" + exponent.removesuffix("</sup>") if exponent else ""))
    # Half a unit of the fourth digit, or of the second beside a power of ten.
    assert abs(read - value) <= (0.05 if exponent else 5e-4) * abs(value) * (1 + 1e-9)


@given(st.lists(st.none() | st.floats(-1e12, 1e12), min_size=1))
def test_a_spread_says_median_range_and_in_how_many_seeds_it_did_not_happen(values):
    happened = [value for value in values if value is not None]
    shown = show_spread(values, " %")
    if not happened:
        assert shown == f"never in {len(values)}"
        return
    missed = len(values) - len(happened)
    assert shown.startswith(f"{show_number(float(np.median(happened)))} %")
    assert (f"not in {missed} of {len(values)}" in shown) == bool(missed)
    low, high = show_number(min(happened)), show_number(max(happened))
    assert (f"({low} to {high})" in shown) == (low != high)
