"""The ledger and `verify`: what passes, what is refused, and that a wrong theory cannot pass."""

import dataclasses
import json
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from lib.claims.comparisons import compare
from lib.claims.ledger import Claim, Paper, find_claim, read_ledger, read_paper
from lib.claims.verify import MIME, ClaimFailed, Variant, verify

BASE = Claim("toy-a", "toy", "Theorem 1", "identity", "Statement.", "verified")
CORRECTED = dataclasses.replace(
    BASE, id="toy-b", expected="corrected", wrong="A factor.", corrected="Repaired."
)
REFUTED = dataclasses.replace(BASE, id="toy-c", expected="refuted", wrong="All of it.")
STAND_IN = dataclasses.replace(BASE, id="toy-d", expected="stand-in")
TOY = (Paper("toy", "Title", "Authors", 2020, "0000.00000", (BASE, CORRECTED, REFUTED, STAND_IN), ()),)
FINITE = st.floats(-1e6, 1e6)


def check(claim_id="toy-a", **changes):
    arguments = {
        "measured": 1.0,
        "predicted": 1.0,
        "atol": 1e-9,
        "because": "float arithmetic",
        "control": Variant("a dropped factor", predicted=2.0),
        "ledger": TOY,
    }
    return verify(claim_id, **{**arguments, **changes})


@given(arrays(float, st.integers(1, 5), elements=FINITE), st.floats(1e-6, 1e-2))
def test_a_prediction_within_tolerance_holds_and_one_outside_fails(values, atol):
    assert compare(values, predicted=values, atol=atol).holds
    wrong = values.copy()
    wrong[-1] += 3 * atol + 1e-9 * abs(values[-1])
    assert not compare(wrong, predicted=values, atol=atol).holds


@given(FINITE, FINITE, st.floats(0, 0.5), st.floats(0, 10))
def test_the_tolerance_is_absolute_plus_relative_to_the_target(measured, target, rtol, atol):
    error = abs(Fraction(measured) - Fraction(target))
    allowed = Fraction(atol) + Fraction(rtol) * abs(Fraction(target))
    assume(abs(error - allowed) > 1e-9 * (1 + allowed))
    assert compare(measured, predicted=target, rtol=rtol, atol=atol).holds == (error <= allowed)


@given(arrays(float, st.integers(1, 5), elements=FINITE), FINITE)
def test_bounds_are_one_sided_and_mirror_each_other(values, bound):
    assert compare(values, at_most=bound).holds == (values <= bound).all()
    assert compare(values, at_most=bound).holds == compare(-values, at_least=-bound).holds


def test_the_entry_shown_is_the_worst_in_units_of_its_tolerance():
    shown = compare([1.0, 100.0, 3.0], predicted=[1.0, 101.0, 3.5], rtol=0.1)
    assert (shown.measured, shown.predicted, shown.size, shown.failing) == (3.0, 3.5, 3, 1)


@given(st.floats(0.1, 10), st.floats(1.01, 5))
def test_a_deliberately_wrong_theory_is_rejected(truth, factor):
    with pytest.raises(ClaimFailed, match=r"toy-a \(Theorem 1\) fails"):
        check(measured=truth, predicted=truth * factor, control=Variant("half of it", predicted=truth / 2))


def test_a_control_that_passes_is_refused():
    with pytest.raises(ClaimFailed, match="the control passes"):
        check(control=Variant("moved by less than the tolerance", predicted=1 + 1e-12))


def test_the_verdicts():
    printed = Variant("as printed", predicted=3.0)
    assert check().verdict == "verified"
    assert check("toy-b", printed=printed).verdict == "corrected"
    assert check("toy-c", printed=printed).verdict == "refuted"
    assert check("toy-d", data="digits").verdict == "stand-in"


@pytest.mark.parametrize(
    ("claim_id", "changes", "message"),
    [
        (
            "toy-a",
            {"printed": Variant("as printed", predicted=3.0)},
            "expects 'verified', the cell found 'refuted'",
        ),
        ("toy-b", {}, "expects 'corrected', the cell found 'verified'"),
        ("toy-b", {"printed": Variant("as printed", predicted=1.0)}, "the printed statement holds after all"),
        ("toy-a", {"data": "digits"}, "found 'stand-in'"),
    ],
)
def test_a_verdict_that_differs_from_the_ledger_fails(claim_id, changes, message):
    with pytest.raises(ClaimFailed, match=message):
        check(claim_id, **changes)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"measured": np.nan}, "measured holds nan"),
        ({"measured": [], "predicted": []}, "measured is empty"),
        (
            {"measured": [1.0, 1.0], "predicted": [1.0]},
            r"predicted has shape \(1,\), but measured has shape \(2,\)",
        ),
        ({"predicted": None}, "give either predicted, or at_most"),
        ({"at_most": 3.0}, "give either predicted, or at_most"),
        ({"because": "  "}, "because is '  ', allowed: a phrase"),
        ({"rtol": -1.0}, "rtol holds -1.0"),
        (
            {"control": Variant("broken", measured=np.inf)},
            "control 'broken': measured holds inf",
        ),
        ({"control": None}, "control is None, allowed: a Variant"),
        ({"printed": "as printed"}, "printed is 'as printed', allowed: a Variant"),
        ({"data": ""}, "data is '', allowed: a phrase"),
    ],
)
def test_what_cannot_be_compared_is_refused_by_name(changes, message):
    with pytest.raises(ValueError, match=message):
        check(**changes)


def test_a_variant_says_what_it_changes():
    with pytest.raises(ValueError, match="'the same' changes nothing"):
        Variant("the same")


@pytest.mark.parametrize("sign", [-1, 1])
def test_an_error_beyond_the_largest_float_is_never_within_a_tolerance(sign):
    largest = sign * np.finfo(float).max
    for target in ("predicted", "at_most" if sign > 0 else "at_least"):
        found = compare([0.0, largest], **{target: -largest}, rtol=1.5)
        assert (found.error, found.failing) == (np.inf, 1)
    assert compare([largest], predicted=largest).holds


@given(arrays(float, st.integers(1, 5), elements=FINITE), FINITE, st.integers(0, 4))
def test_the_order_of_the_entries_does_not_matter(values, target, shift):
    one, other = (compare(np.roll(values, by), predicted=target, rtol=0.1, atol=1.0) for by in (0, shift))
    assert one.failing == other.failing and one.error / one.tolerance == other.error / other.tolerance


def test_numbers_of_every_kind_are_compared_in_double_precision():
    for measured in (3, True + 2, Fraction(3), np.float32(3), [[3]], np.array(3, "int8")):
        assert compare(measured, predicted=3).holds
        assert not compare(measured, predicted=np.nextafter(3, 4)).holds


def test_verify_demands_a_control_and_a_reason():
    for missing in ("control", "because"):
        arguments = {"measured": 1, "predicted": 1, "because": "b", "control": Variant("c", predicted=2)}
        del arguments[missing]
        with pytest.raises(TypeError, match=missing):
            verify("toy-a", **arguments)


def test_an_unknown_claim_names_the_nearest():
    with pytest.raises(ValueError, match="'toy-aa' is not in the ledger; nearest: toy-a"):
        find_claim("toy-aa", TOY)


def test_the_text_is_free_of_measured_digits_and_the_record_has_them():
    first, second = check(measured=1 + 1e-11), check(measured=1 - 1e-11)
    assert repr(first) == repr(second)
    bundle = first._repr_mimebundle_()
    assert bundle["text/plain"] == repr(first)
    assert json.loads(json.dumps(bundle[MIME]))["comparison"]["measured"] == 1 + 1e-11
    assert "control fails, as it must: a dropped factor" in repr(first)


VALID = """
paper: {key: toy, title: T, authors: A, year: 2020, arxiv: x}
claims:
- {id: toy-a, place: P, kind: identity, statement: S, expected: verified}
"""


@pytest.mark.parametrize("content", ["", "claims: []", "paper: [", "paper: {key: toy}", VALID + "- claim"])
def test_a_file_that_is_no_ledger_is_refused_by_name(tmp_path, content):
    with pytest.raises(ValueError, match="folder is"):
        read_ledger(tmp_path)
    path = tmp_path / "toy.yml"
    path.write_text(content)
    with pytest.raises(ValueError, match=r"^toy\.yml: "):
        read_paper(str(path))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("id: toy-a", "id: other-a", "an id starts with 'toy' and a dash"),
        ("kind: identity", "kind: poem", "kind 'poem' is none of"),
        ("expected: verified", "expected: maybe", "expected 'maybe' is none of"),
        ("expected: verified", "expected: refuted", "a refuted claim says what is wrong"),
        ("expected: verified", "expected: corrected, wrong: W", "'corrected' is given exactly when"),
        ("statement: S", "statement: S, colour: red", "toy-a: .*colour"),
        (
            "claims:",
            "claims:\n- {id: toy-a, place: P, kind: identity, statement: S, expected: verified}",
            "twice",
        ),
    ],
)
def test_a_ledger_file_with_a_mistake_is_refused(tmp_path, old, new, message):
    path = tmp_path / "toy.yml"
    path.write_text(VALID)
    assert read_paper(path).claims[0].id == "toy-a"
    path.write_text(VALID.replace(old, new))
    with pytest.raises(ValueError, match=message):
        read_paper(path)


def test_the_ledger_lists_the_claims_of_five_papers():
    papers = {paper.key: paper for paper in read_ledger()}
    assert set(papers) == {"boursier2022", "combes2018", "min2024", "pezeshki2021", "sarussi2021"}
    for paper in papers.values():
        assert len(paper.claims) >= 50, f"{paper.key} lists only {len(paper.claims)} claims"
