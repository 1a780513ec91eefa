"""The comparison of records: it tells what is of the size of a field, and not how a processor rounds."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.comparison import differences, rounded, to_scale

SIZES = st.floats(1e-30, 1e30)
SIGNS = st.sampled_from([1, -1])
ENTRIES = st.lists(st.floats(-1, 1), max_size=5)
FLOATS = st.floats(-1e300, 1e300) | st.sampled_from([math.nan, math.inf, -math.inf])
LEAVES = st.none() | st.booleans() | st.integers() | FLOATS | st.text(max_size=3)
STRUCTURES = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text("abc", min_size=1), inner, max_size=4)
    ),
)


def told(before, after, digits=4):
    return [*differences(before, after, digits=digits)]


@given(SIZES, SIGNS, ENTRIES, st.floats(-1, 1), SIGNS, st.data())
def test_a_change_by_a_thousandth_of_the_scale_is_told_wherever_it_is(size, sign, entries, entry, up, data):
    """Of the larger scale of the two, which the change may have made."""
    k = data.draw(st.integers(0, len(entries)))
    before = [sign * size, *(size * other for other in entries)]
    before.insert(k, size * entry)
    after = [*before]
    after[k] += up * 1.003e-3 * size
    assert told({"a": before}, {"a": after}) == [f"a[{k}] was {before[k]}, is {after[k]}"]


@given(SIZES, SIGNS, ENTRIES, st.lists(st.floats(-9e-5, 9e-5), min_size=6, max_size=6))
def test_rounding_of_a_small_entry_beside_a_large_one_is_not_told(size, sign, entries, errors):
    before = [sign * size, *(size * entry for entry in entries)]
    after = [number + size * error for number, error in zip(before, errors, strict=False)]
    assert not told({"a": before}, {"a": after})


def test_shares_that_another_processor_rounds_otherwise_are_the_same():
    shares = [0.5683, 0.4317, 2.091e-07, 8.646e-11]
    assert not told(shares, [*shares[:3], 8.626e-11]) and not told(shares, to_scale(shares))
    assert to_scale(shares) == [0.5683, 0.4317, 0.0, 0.0]
    assert told({"share": 8.646e-11}, {"share": 8.626e-11})


@given(SIZES, SIZES, SIGNS)
def test_every_field_and_every_inner_list_has_its_own_scale(size, other, sign):
    before = {"a": size, "b": [[other], [size, None], {"c": other}], "d": other}
    after = {"a": size, "b": [[other], [size, None], {"c": other * (1 + sign * 2e-3)}], "d": other}
    assert [text.split(" was ")[0] for text in told(before, after)] == ["b[2].c"]
    after["b"][0] = [other * (1 + sign * 2e-3)]
    assert [text.split(" was ")[0] for text in told(before, after)] == ["b[0][0]", "b[2].c"]


@given(SIZES, st.integers(-3, 3), SIGNS)
def test_lone_floats_may_differ_by_a_unit_of_the_fourth_digit(value, steps, sign):
    digits, exponent = f"{value:.3e}".split("e")
    one, other = (sign * float(f"{int(digits.replace('.', '')) + k}e{int(exponent) - 3}") for k in (0, steps))
    if float(f"1e{exponent}") <= abs(other) < float(f"1e{int(exponent) + 1}"):
        expected = [] if abs(steps) <= 1 else [f"x was {one}, is {other}"]
        assert told({"x": one}, {"x": other}) == expected


@given(STRUCTURES)
def test_a_structure_is_the_same_as_itself_and_as_it_is_to_scale(structure):
    assert not [*differences(structure, structure)] and not told(structure, to_scale(structure))
    once = to_scale(structure)
    assert not [*differences(to_scale(once), once)]


@given(STRUCTURES, STRUCTURES)
def test_what_is_told_does_not_depend_on_the_order(one, other):
    assert len(told(one, other)) == len(told(other, one))
    assert len(told(one, other)) <= len([*differences(one, other)])


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ({"a": {"b": 1}}, {"a": {"b": 2}}, "a.b was 1, is 2"),
        ({"a": 1000000}, {"a": 1000001}, "a was 1000000, is 1000001"),
        ({"a": 1}, {"a": 1, "b": None}, "b was not there, is None"),
        ({"a": [{"b": 1.0}, {}]}, {"a": [{}, {}]}, "a[0].b was 1.0, is not there"),
        ({"a": [1.0]}, {"a": [1.0, 1.0]}, "a was [1.0], is [1.0, 1.0]"),
        ({"a": [1.0]}, {"a": {"0": 1.0}}, "a was [1.0], is {'0': 1.0}"),
        ({"a": 0.0}, {"a": 1e-30}, "a was 0.0, is 1e-30"),
        ({"a": None}, {"a": 1.0}, "a was None, is 1.0"),
        ({"a": [0.0, 1.0]}, {"a": [None, 1.0]}, "a[0] was 0.0, is None"),
        ({"a": 1.0}, {"a": -1.0}, "a was 1.0, is -1.0"),
        ({"a": True}, {"a": 1}, "a was True, is 1"),
        ({"a": [False]}, {"a": [0.0]}, "a[0] was False, is 0.0"),
        ({"a": 10**6}, {"a": 10.0**6 + 1}, "a was 1000000, is 1000001.0"),
        ({"a": [math.nan, 1.0]}, {"a": [0.0, 1.0]}, "a[0] was nan, is 0.0"),
        ({"a": [math.inf, 1.0]}, {"a": [math.inf, 2.0]}, "a[1] was 1.0, is 2.0"),
        ({"a": [math.inf, 1.0]}, {"a": [-math.inf, 1.0]}, "a[0] was inf, is -inf"),
        ({"a": [10**6, 0.1]}, {"a": [10**6, 0.2]}, "a[1] was 0.1, is 0.2"),
    ],
)
def test_what_differs_is_named_with_its_place(before, after, expected):
    assert told(before, after) == [expected]
    assert not told(before, before)


def test_a_whole_number_may_be_a_float():
    assert not [*differences({"a": [179, 0.5], "b": 2.0}, {"a": [179.0, 0.5], "b": 2})]


def test_without_a_number_of_digits_the_last_bit_is_told():
    before, after = [1e4, 2e-5], [1e4, 2.0000000000000004e-5]
    assert [*differences(before, after)] == [f"[1] was {before[1]}, is {after[1]}"]
    assert not told(before, after)


def test_numbers_are_rounded_to_the_scale_of_their_lists():
    given = {"a": (1.23456, 1.23456e-3, None, "b", 7), "b": 1.23456e-3, "c": np.array([[123456.0], [7.0]])}
    assert to_scale(given) == {"a": [1.235, 0.001, None, "b", 7], "b": 0.001235, "c": [[123500.0], [7.0]]}
    assert math.copysign(1, to_scale([1.0, -1e-9])[1]) == 1


@given(st.floats(-1e30, 1e30))
def test_a_lone_number_is_rounded_to_its_own_digits(number):
    assert to_scale(number) == rounded(number)
    assert to_scale([number]) == pytest.approx([rounded(number)], rel=1e-15)


def test_numbers_are_rounded_wherever_they_stand():
    given = {"a": (1.23456, None, "b"), "c": np.array([123456.0, 7.0]), "d": 10**6}
    assert rounded(given) == {"a": [1.235, None, "b"], "c": [123500.0, 7.0], "d": 10**6}
