"""What moves inside its tolerance is told, what moves too far for its kernels fails, rounding is neither."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from executable_claims import Variant, verify
from executable_claims.run.drift import deviation, movement, too_far, values

pytestmark = pytest.mark.usefixtures("in_demo")

CLAIM = "may1976-ours-exponent"
HERE, THERE = {"openblas": "Zen"}, {"openblas": "Haswell"}


def recorded(measured, **theory):
    """What is recorded of a verdict; the control fails always."""
    far = 2 * np.max(np.abs(measured)) + 10.0
    control = Variant("far away", measured=np.full(np.shape(measured), -far if "at_least" in theory else far))
    arguments = {"because": "it is a test", "control": control, **theory}
    return values(verify(CLAIM, measured=measured, **arguments).record())


def moved(old, new):
    """What has moved too far on the kernels of the record."""
    return too_far(old, new, HERE, HERE)


@pytest.mark.parametrize(("kernels", "may"), [(HERE, 0.5), (THERE, 1.0)])
@given(st.floats(0.1, 1e3), st.floats(1e-6, 1e-2), st.floats(-1, 1), st.floats(-1, 1))
def test_a_number_may_move_by_half_of_its_tolerance_and_by_all_on_other_kernels(
    kernels, may, scale, rtol, first, second
):
    atol = rtol * scale
    old, new = (
        recorded(scale * (1 + rtol * used), predicted=scale, atol=atol * 1.01) for used in (first, second)
    )
    apart = abs(first - second)
    if apart > 1.03 * may:
        assert too_far(old, new, HERE, kernels)
    if apart < may:
        assert not too_far(old, new, HERE, kernels)
    assert not too_far(old, new, {}, kernels), "of unknown kernels nothing is asked"
    if apart > 1e-4:
        assert movement(old, new).by == pytest.approx(apart / 1.01, rel=1e-4) and movement(old, new).words


@pytest.mark.parametrize("at", range(5))
def test_every_part_of_an_array_is_looked_at(at):
    theory = np.array([1.0, 2.0, 4.0, 8.0, 16.0])
    old = recorded([*theory], predicted=theory, rtol=0.1)
    for share, seen in ((0.4, False), (0.6, True)):
        new = theory * (1 + 0.1 * share * (np.arange(5) == at))
        assert bool(moved(old, recorded(new, predicted=theory, rtol=0.1))) == seen


def test_a_theory_that_moves_with_its_measurement_is_seen():
    old = recorded([1.0, 2.0, 3.0], predicted=[1.0, 2.0, 3.0], rtol=1e-3)
    assert moved(old, recorded([1.0, 2.0101, 3.0], predicted=[1.0, 2.01, 3.0], rtol=1e-3))


def test_the_worst_of_many_entries_is_looked_at():
    theory, spike = np.linspace(1, 2, 99), np.arange(99) == 40
    old, new = (recorded(theory + used * spike, predicted=theory, atol=0.1) for used in (0.01, 0.09))
    assert any("the worst deviation" in text for text in moved(old, new))


def test_rounding_is_not_a_move_wherever_the_worst_entry_is():
    theory = np.geomspace(1e-3, 1e3, 50)
    noise = np.random.default_rng(0).uniform(-1e-14, 1e-14, (2, 50))
    for rtol in (1e-9, 1e-12):
        old, new = (recorded(theory * (1 + error), predicted=theory, rtol=rtol) for error in noise)
        assert old["measured"] != new["measured"], "the worst entry is another one"
        assert not moved(old, new)


def test_a_small_number_moves_in_units_of_its_own():
    old = recorded(1e-14, predicted=1e-14, rtol=1e-3)
    assert not moved(old, recorded(1.00001e-14, predicted=1e-14, rtol=1e-3))
    for new in (9e-13, 1.0009e-14):
        assert moved(old, recorded(new, predicted=new, rtol=1e-3))


@given(st.floats(-20, 20), st.floats(0, 20), st.integers(-20, 20))
def test_the_worst_deviation_moves_in_units_of_its_tolerance(predicted, by, exponent):
    unit = 2.0**exponent
    old = {
        "measured": (predicted + 1) * unit,
        "predicted": predicted * unit,
        "tolerance": unit,
        "quartiles": [],
    }
    new = {**old, "measured": (predicted + 1 + by) * unit}
    assert deviation(old, new) == deviation(new, old) == pytest.approx(by, abs=1e-9)
    # With another tolerance it is the part that is used of each.
    wider = {**old, "tolerance": 4 * unit, "measured": (predicted + 3) * unit}
    assert deviation(old, wider) == pytest.approx(0.25)


def test_what_is_compared_in_another_way_has_moved():
    bound = recorded([1.0], at_most=2.0)
    assert moved(bound, recorded([1.0], at_least=0.0)) and moved(bound, recorded([1.0], predicted=1.0))
    assert moved(recorded([1.0], at_least=0.0, at_most=2.0), bound)


def test_counts_may_not_move():
    old = recorded([0, 3, 5], predicted=[0, 3, 5])
    assert not moved(old, old)
    assert moved(old, recorded([0, 4, 5], predicted=[0, 4, 5]))


@pytest.mark.parametrize(
    ("bound", "old", "new", "seen"),
    [
        ({"at_most": 1.0}, 0.5, 0.7, False),
        ({"at_most": 1.0}, 0.5, 0.8, True),
        ({"at_most": 1.0}, 0.001, 0.002, True),  # twice as much, far below the bound
        ({"at_most": 1.0}, 0.999, 0.9996, True),  # over half of the way to the bound
        ({"at_least": 0.0, "at_most": 1.0}, 0.95, 0.96, False),
        ({"at_least": 0.0, "at_most": 1.0}, 0.95, 0.98, True),
        ({"at_least": 0.0}, 0.0, 1e-9, True),
        ({"at_least": 0.0}, 0.0, 1e-15, False),  # rounding
        ({"at_most": 1.0, "atol": 0.1}, 1.02, 1.06, False),
        ({"at_most": 1.0, "atol": 0.1}, 1.02, 1.08, True),
    ],
)
def test_a_number_under_a_bound_may_move_by_half_of_the_room_and_of_itself(bound, old, new, seen):
    words = [
        text for text in moved(recorded(old, **bound), recorded(new, **bound)) if "of its tolerance" in text
    ]
    assert bool(words) == seen


def test_a_resolution_may_double_and_no_more():
    old = recorded(1.0, predicted=1.0, rtol=1e-3)
    for rtol, seen in ((1.9e-3, False), (2.2e-3, True)):
        now = {**old, "resolution": recorded(1.0, predicted=1.0, rtol=rtol)["resolution"]}
        assert any("resolution" in text for text in moved(old, now)) == seen
        assert not too_far(old, now, HERE, THERE)
    assert moved(old, {**old, "resolution": None}) and not moved({**old, "resolution": None}, old)


def test_a_tolerance_may_double_and_no_more():
    old = recorded(1.0, predicted=1.0, rtol=1e-3, atol=1e-5)
    for name in ("rtol", "atol"):
        assert not moved(old, {**old, name: 2 * old[name]})
        assert any(name in text for text in moved(old, {**old, name: 2.1 * old[name]}))


def test_what_moves_in_another_clause_is_seen_and_a_clause_that_is_gone():
    first, other = recorded(1.0, predicted=1.0, atol=1e-3), recorded(2.0, predicted=2.0, atol=1e-3)
    moved_other = recorded(2.0009, predicted=2.0, atol=1e-3)
    old = {**first, "others": {"it grows": other}}
    assert moved(old, {**first, "others": {"it grows": moved_other}})[0].startswith("it grows: 2 became")
    assert movement(old, first).by == np.inf and not moved(old, old)


@pytest.mark.parametrize("name", ["rtol", "atol", "resolution"])
def test_in_every_clause_a_tolerance_may_double_and_no_more(name):
    first, other = (recorded(value, predicted=value, rtol=1e-3, atol=1e-5) for value in (1.0, 2.0))
    for factor, seen in ((2.0, False), (2.1, True)):
        coarser = {**other, name: factor * other[name]}
        now = {**first, "others": {"it grows": other, "it stays": coarser}}
        assert (
            any(name in text for text in moved({**now, "others": dict.fromkeys(now["others"], other)}, now))
            == seen
        )
