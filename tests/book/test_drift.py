"""The drift log: it keeps all digits, grows only when something changed, and says how far claims moved."""

import dataclasses
import json
import re
import warnings

import drift
import matplotlib.pyplot as plt
import pytest
from drift import LOG, Measured, Release, append_release, main, movement, movements, read_releases
from hypothesis import given
from hypothesis import strategies as st

from lib.claims.ledger import read_ledger
from lib.claims.verify import Variant, compare, verify
from tests.book import test_book

FINITE = st.floats(-1e6, 1e6)
POSITIVE = st.floats(1e-6, 1e6)
VERDICT = verify(
    "combes2018-tab-1",
    measured=90.9,
    predicted=91,
    atol=0.5,
    because="rounded",
    control=Variant("half of it", measured=45.4),
)


def of(comparison, verdict="verified"):
    kept = dataclasses.asdict(comparison)
    return Measured(verdict, **{name: kept[name] for name in list(kept) if name in Measured.__annotations__})


@given(FINITE, FINITE, POSITIVE)
def test_what_is_used_and_what_is_left_say_whether_a_claim_holds(measured, predicted, atol):
    found = compare(measured, predicted=predicted, atol=atol)
    one = of(found)
    slack = 1e-9 * (abs(measured) + abs(predicted) + atol)
    if abs(one.room) > slack:
        assert (one.room > 0) == (one.used < 1) == found.holds


@given(FINITE, st.none() | FINITE, st.none() | FINITE, POSITIVE)
def test_the_room_between_bounds_is_to_the_nearer_one(measured, low, high, atol):
    if low is None and high is None:
        return
    room = Measured("verified", measured, None, high, low, atol).room
    sides = [abs(bound - measured) for bound in (low, high) if bound is not None]
    if all(bound is None or side * (bound - measured) >= 0 for bound, side in ((low, -1), (high, 1))):
        assert room == pytest.approx(min(sides) + atol)


@given(FINITE, FINITE, FINITE, st.floats(-3, 3), st.integers(-20, 20))
def test_movement_is_in_units_of_the_tolerance_whatever_the_scale(
    measured, predicted, tolerance, by, exponent
):
    tolerance = abs(tolerance) + 1.0
    old = Measured("verified", measured, predicted, None, None, tolerance)
    new = dataclasses.replace(old, measured=measured + by * tolerance)
    # Sums of numbers up to 1e6 are rounded to about 1e-10.
    assert movement(old, new) == pytest.approx(abs(by), abs=1e-8)
    assert movement(old, old) == 0
    scaled = [
        dataclasses.replace(
            one,
            **{name: getattr(one, name) * 2.0**exponent for name in ("measured", "predicted", "tolerance")},
        )
        for one in (old, new)
    ]
    assert movement(*scaled) == movement(old, new)


def test_another_worst_entry_at_rounding_error_is_no_movement():
    old = Measured("verified", 2.975406 + 1e-15, 2.975406, None, None, 1e-9)
    new = Measured("verified", 1.43 - 1e-15, 1.43, None, None, 1e-9)
    assert movement(old, new) < 1e-5


def test_movements_of_bounds_of_exact_numbers_and_of_other_comparisons():
    bound = Measured("verified", 0.6, None, 1.0, None, 0.0)
    assert movement(bound, dataclasses.replace(bound, measured=0.8)) == pytest.approx(0.5)
    exact = Measured("verified", 3.0, 3.0, None, None, 0.0)
    assert movement(exact, dataclasses.replace(exact, measured=4.0, predicted=4.0)) == 0
    assert movement(exact, dataclasses.replace(exact, measured=4.0)) == float("inf")
    assert movement(exact, bound) == float("inf")


def release(date="2026-01-31", **measured):
    claims = {name: Measured("verified", value, 1.0, None, None, 0.5) for name, value in measured.items()}
    return Release(date, "0" * 16, {"python": "3.13.1"}, 3, claims)


@given(FINITE, FINITE)
def test_the_log_keeps_all_digits_and_does_not_grow_without_a_change(tmp_path_factory, first, second):
    log = tmp_path_factory.mktemp("log") / "drift.jsonl"
    one, other = release(a=first), release("2026-02-28", a=second)
    assert append_release(one, log) and not append_release(dataclasses.replace(one, date="2026-02-01"), log)
    assert append_release(other, log) == (first != second)
    assert read_releases(log) == ((one, other) if first != second else (one,))


@pytest.mark.parametrize("field", ["digest", "versions", "listed", "claims"])
def test_a_change_of_anything_but_the_date_is_a_new_release(tmp_path, field):
    changed = {"digest": "1" * 16, "versions": {"python": "3.13.2"}, "listed": 4, "claims": {}}
    log = tmp_path / "drift.jsonl"
    assert append_release(release(a=1.0), log)
    assert append_release(dataclasses.replace(release(a=1.0), **{field: changed[field]}), log)


def test_the_claims_that_moved_most_come_first_and_only_those_of_both_releases():
    moved = movements(release(a=1.0, b=1.0, c=1.0), release(b=1.1, c=0.7, d=1.0))
    assert list(moved) == ["c", "b"] and moved["c"] == pytest.approx(0.6)


def test_the_digest_is_of_the_code_of_lib_without_its_comments(tmp_path, monkeypatch):
    monkeypatch.setattr(drift, "ROOT", tmp_path)
    (tmp_path / "lib" / "part").mkdir(parents=True)
    path = tmp_path / "lib" / "part" / "one.py"
    digests = []
    for text in ("x = 1", "x = 1  # one", "x = 2"):
        path.write_text(text)
        digests.append(drift.code_digest())
    assert digests[0] == digests[1] != digests[2]


def test_the_command_appends_what_a_build_has_written_once(tmp_path, capsys):
    claims, log = tmp_path / "claims.json", tmp_path / "drift.jsonl"
    claims.write_text(json.dumps([VERDICT.record()]))
    assert [main([str(claims), "--log", str(log)]) for _ in range(2)] == [0, 0]
    printed = capsys.readouterr().out.splitlines()
    assert "1 of " in printed[0] and "appended" in printed[0] and "nothing appended" in printed[1]
    [found] = read_releases(log)
    assert found.claims["combes2018-tab-1"].measured == 90.9
    log.write_text("{}\n")
    assert main([str(claims), "--log", str(log)]) == 2
    assert "line 1 is no release" in capsys.readouterr().err


def test_the_log_of_the_book_can_be_read_and_is_of_claims():
    listed = {claim.id for paper in read_ledger() for claim in paper.claims}
    releases = read_releases()
    assert LOG.exists() == bool(releases)
    assert not releases or len(set(releases[-1].claims) & listed) >= 60
    assert list(releases) == sorted(releases, key=lambda one: one.date)


@pytest.mark.parametrize(
    ("releases", "said"),
    [
        ([], "There is no release yet."),
        ([release(a=1.0)], "There is only one release so far"),
        ([release(a=1.0), release("2026-02-28", a=1.2, b=1.0)], "Of 1 claims .* 1 have moved"),
        ([release(a=1.0), release("2026-02-28", a=1.0), release("2026-03-31", a=1.0)], "0 have moved"),
    ],
)
def test_the_page_shows_any_number_of_releases(releases, said, monkeypatch, capsys):
    renamed = [
        dataclasses.replace(one, claims={f"combes2018-{name}": each for name, each in one.claims.items()})
        for one in releases
    ]
    monkeypatch.setattr(drift, "read_releases", lambda: tuple(renamed))
    names = {}
    with plt.rc_context(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*non-interactive")
        for cell in test_book.code_cells(test_book.BOOK / "drift.md"):
            exec(compile(cell.source, "drift.md", "exec"), names)
        plt.close("all")
    capsys.readouterr()
    assert re.search(said, names["what"])
    assert len(names["rows"]) == len(releases)
    assert bool(names["largest"]) == ("1 have" in said)


def test_the_page_has_captions_and_short_cells():
    path = test_book.BOOK / "drift.md"
    test_book.test_every_figure_has_a_caption_and_a_description(path)
    test_book.test_visible_cells_are_short(path)
