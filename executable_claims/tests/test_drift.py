"""The log of the releases: it keeps all digits, grows only by changes, and says how far claims moved."""

import json
from dataclasses import asdict, replace

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
    movement,
    movements,
    read_releases,
)

pytestmark = pytest.mark.usefixtures("in_demo")

FINITE = st.floats(-1e6, 1e6)


def release(date="2026-01-31", **measured):
    claims = {name: Measured("verified", value, 1.0, None, None, 0.5) for name, value in measured.items()}
    return Release(date, "0" * 16, {"python": "3.13.1"}, 3, claims)


@given(FINITE, FINITE, FINITE, st.floats(-3, 3, allow_subnormal=False), st.integers(-20, 20))
def test_movement_is_in_units_of_the_tolerance_whatever_the_scale(
    measured, predicted, tolerance, by, exponent
):
    tolerance = abs(tolerance) + 1.0
    old = Measured("verified", measured, predicted, None, None, tolerance)
    new = replace(old, measured=measured + by * tolerance)
    # Sums of numbers up to 1e6 are rounded to about 1e-10.
    assert movement(old, new) == pytest.approx(abs(by), abs=1e-8)
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
    moved = movements(release(a=1.0, b=1.0, c=1.0), release(b=1.1, c=0.7, d=1.0))
    assert list(moved) == ["c", "b"] and moved["c"] == pytest.approx(0.6)


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
