"""What moves inside its tolerance is seen, and rounding is not; the log of the releases keeps all digits."""

import json
from dataclasses import asdict, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from executable_claims import Variant, verify
from executable_claims.drift import (
    Measured,
    Release,
    append_release,
    code_digest,
    main,
    moved,
    movement,
    movements,
    read_releases,
    values,
)

pytestmark = pytest.mark.usefixtures("in_demo")

FINITE = st.floats(-1e6, 1e6)
CLAIM = "may1976-fixed-point"


def release(date="2026-01-31", **measured):
    claims = {name: Measured("verified", value, 1.0, None, None, 0.5) for name, value in measured.items()}
    return Release(date, "0" * 16, {"python": "3.13.1"}, 3, claims)


@given(FINITE, FINITE, FINITE, st.floats(0, 3, allow_subnormal=False), st.integers(-20, 20))
def test_movement_is_in_units_of_the_tolerance_whatever_the_scale(off, predicted, tolerance, by, exponent):
    tolerance = abs(tolerance) + 1.0
    old = Measured("verified", predicted + off, predicted, None, None, tolerance)
    new = replace(old, measured=old.measured + np.copysign(by, off) * tolerance)
    # Sums of numbers up to 1e6 are rounded to about 1e-10.
    assert movement(old, new) == movement(new, old) == pytest.approx(by, abs=1e-8)
    assert movement(old, old) == 0
    # A tolerance that was widened on the way hides nothing.
    assert movement(old, replace(new, tolerance=100 * tolerance)) == movement(old, new)
    unit = 2.0**exponent
    sizes = ("measured", "predicted", "tolerance")
    scaled = [replace(one, **{size: getattr(one, size) * unit for size in sizes}) for one in (old, new)]
    assert movement(*scaled) == movement(old, new)


def test_movements_of_bounds_of_exact_numbers_and_of_other_comparisons():
    bound = Measured("verified", 0.6, None, 1.0, None, 0.0)
    assert movement(bound, replace(bound, measured=0.8)) == pytest.approx(0.5)
    exact = Measured("verified", 3.0, 3.0, None, None, 0.0)
    assert movement(exact, replace(exact, measured=4.0, predicted=4.0)) == 0
    assert movement(exact, replace(exact, measured=4.0)) == float("inf")
    assert movement(exact, bound) == float("inf")


def test_the_claims_that_moved_most_come_first_and_only_those_of_both_releases():
    found = movements(release(a=1.0, b=1.0, c=1.0), release(b=1.1, c=0.7, d=1.0))
    assert list(found) == ["c", "b"] and found["c"] == pytest.approx(0.6)


@given(FINITE, FINITE)
def test_the_log_keeps_all_digits_and_does_not_grow_without_a_change(tmp_path_factory, first, second):
    log = tmp_path_factory.mktemp("log") / "drift.jsonl"
    one, other = release(a=first), release("2026-02-28", a=second)
    assert append_release(one, log) and not append_release(replace(one, date="2026-02-01"), log)
    assert append_release(other, log) == (first != second)
    assert read_releases(log) == ((one, other) if first != second else (one,))


def test_the_digest_is_of_the_code_without_its_comments(tmp_path):
    path = tmp_path / "part" / "one.py"
    path.parent.mkdir()
    digests = []
    for text in ("x = 1\ndef f(): pass", '"""Doc."""\nx = 1  # one\ndef f():\n    "Doc."\n    pass', "x = 2"):
        path.write_text(text)
        digests.append(code_digest(tmp_path))
    path.rename(path.with_name("two.py"))
    assert digests[0] == digests[1] != digests[2] != code_digest(tmp_path)


def test_the_command_appends_what_a_build_has_written_once(tmp_path, capsys):
    verdict = verify(
        "may1976-fixed-point",
        measured=90.9,
        predicted=91,
        atol=0.5,
        because="rounded",
        control=Variant("half of it", measured=45.4),
    )
    claims, log = tmp_path / "claims.json", tmp_path / "drift.jsonl"
    undecided = {"claim": {"id": "may1976-two-cycle"}, "verdict": "not yet", "comparison": None}
    claims.write_text(json.dumps({"claims": [verdict.record(), undecided]}))
    for _ in range(2):
        main([str(claims), "--log", str(log)])
    printed = capsys.readouterr().out.splitlines()
    assert "1 of " in printed[0] and "appended" in printed[0] and "nothing appended" in printed[1]
    [found] = read_releases(log)
    assert list(found.claims) == ["may1976-fixed-point"]
    assert found.claims["may1976-fixed-point"].measured == 90.9
    assert asdict(found)["versions"].keys() >= {"python", "numpy"}


# Against the record


def recorded(measured, **theory):
    """What is recorded of a verdict; the control fails always."""
    far = np.max(np.abs(measured)) + 10.0
    control = Variant("far away", measured=np.full(np.shape(measured), -far if "at_least" in theory else far))
    arguments = {"because": "it is a test", "control": control, **theory}
    return values(verify(CLAIM, measured=measured, **arguments).record())


@given(st.floats(0.1, 1e3), st.floats(1e-6, 1e-2), st.floats(-1, 1), st.floats(-1, 1))
def test_a_number_may_move_by_a_tenth_of_its_tolerance(scale, rtol, first, second):
    atol = rtol * scale
    old, new = (
        recorded(scale * (1 + rtol * used), predicted=scale, atol=atol * 1.01) for used in (first, second)
    )
    apart = abs(first - second)
    if apart > 0.103:
        assert moved(old, new)
    if apart < 0.1:
        assert not moved(old, new)


@pytest.mark.parametrize("at", range(5))
def test_every_part_of_an_array_is_looked_at(at):
    theory = np.array([1.0, 2.0, 4.0, 8.0, 16.0])
    old = recorded([*theory], predicted=theory, rtol=0.1)
    for share, seen in ((0.05, False), (0.2, True)):
        new = theory * (1 + 0.1 * share * (np.arange(5) == at))
        assert bool(moved(old, recorded(new, predicted=theory, rtol=0.1))) == seen


def test_a_theory_that_moves_with_its_measurement_is_seen():
    old = recorded([1.0, 2.0, 3.0], predicted=[1.0, 2.0, 3.0], rtol=1e-3)
    assert moved(old, recorded([1.0, 2.01, 3.0], predicted=[1.0, 2.01, 3.0], rtol=1e-3))


def test_the_worst_of_many_entries_is_looked_at():
    theory = np.ones(99)
    old, new = (
        recorded(theory + used * (theory.cumsum() == 40), predicted=1.0, atol=0.1) for used in (0.01, 0.09)
    )
    assert any("the worst deviation" in text for text in moved(old, new))


def test_rounding_is_not_a_move_wherever_the_worst_entry_is():
    theory = np.geomspace(1e-3, 1e3, 50)
    noise = np.random.default_rng(0).uniform(-1e-14, 1e-14, (2, 50))
    for rtol in (1e-9, 1e-12):
        old, new = (recorded(theory * (1 + one), predicted=theory, rtol=rtol) for one in noise)
        assert old["measured"] != new["measured"], "the worst entry is another one"
        assert not moved(old, new)


def test_counts_may_not_move():
    old = recorded([0, 3, 5], predicted=[0, 3, 5])
    assert not moved(old, old)
    assert moved(old, recorded([0, 4, 5], predicted=[0, 4, 5]))


@pytest.mark.parametrize(
    ("bound", "old", "new", "seen"),
    [
        ({"at_most": 1.0}, 0.5, 0.54, False),
        ({"at_most": 1.0}, 0.5, 0.56, True),
        ({"at_most": 1.0}, 0.001, 0.002, True),  # twice as much, far below the bound
        ({"at_most": 1.0}, 0.999, 0.9995, True),  # half of the way to the bound
        ({"at_least": 0.0, "at_most": 1.0}, 0.95, 0.96, True),
        ({"at_least": 0.0}, 0.0, 1e-9, True),
        ({"at_least": 0.0}, 0.0, 1e-15, False),  # rounding
        ({"at_most": 1.0, "atol": 0.1}, 1.05, 1.055, False),
        ({"at_most": 1.0, "atol": 0.1}, 1.05, 1.07, True),
    ],
)
def test_a_number_under_a_bound_may_move_by_a_tenth_of_the_room_and_of_itself(bound, old, new, seen):
    found = [
        text for text in moved(recorded(old, **bound), recorded(new, **bound)) if "resolution" not in text
    ]
    assert bool(found) == seen


def test_a_resolution_may_double_and_no_more():
    old = recorded(1.0, predicted=1.0, rtol=1e-3)
    for rtol, seen in ((1.9e-3, False), (2.2e-3, True)):
        now = {**old, "resolution": recorded(1.0, predicted=1.0, rtol=rtol)["resolution"]}
        assert any("resolution" in text for text in moved(old, now)) == seen
    assert moved(old, {**old, "resolution": None}) and not moved({**old, "resolution": None}, old)
