"""The ledger and `verify`: what passes, what is refused, and that no false proof is accepted."""

import dataclasses
import json
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from lib.claims.ledger import KINDS, VERDICTS, Claim, Paper, find_claim, read_ledger, read_paper
from lib.claims.verify import MIME, ClaimFailed, Variant, compare, verify, verify_all

BASE = Claim("toy-a", "toy", "Theorem 1", "identity", "Statement.", "verified")
CORRECTED = dataclasses.replace(
    BASE, id="toy-b", expected="corrected", wrong="A factor.", corrected="Repaired."
)
REFUTED = dataclasses.replace(BASE, id="toy-c", expected="refuted", wrong="All of it.")
STAND_IN = dataclasses.replace(BASE, id="toy-d", expected="stand-in")
NOT_HERE = dataclasses.replace(BASE, id="toy-e", expected="not here", reason="The data are lost.")
LISTED = (BASE, CORRECTED, REFUTED, STAND_IN, NOT_HERE)
TOY = (Paper("toy", "Title", "Authors", 2020, "0000.00000", LISTED, ()),)
FINITE = st.floats(-1e6, 1e6)
PRINTED = Variant("as printed", predicted=3.0)
PROPER = {
    "toy-a": {},
    "toy-b": {"printed": PRINTED},
    "toy-c": {"printed": PRINTED},
    "toy-d": {"data": "digits"},
}


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


# --- comparisons -------------------------------------------------------------------------------------------


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


@given(arrays(float, st.integers(1, 5), elements=FINITE), FINITE, FINITE)
def test_of_two_bounds_both_must_be_kept(values, low, high):
    found = compare(values, at_least=low, at_most=high)
    assert found.failing == np.sum((values < low) | (values > high))
    assert compare([1.02], at_least=0.9, at_most=1.0).failing == 1


def test_the_entry_shown_is_the_worst_in_units_of_its_tolerance():
    shown = compare([1.0, 100.0, 3.0], predicted=[1.0, 101.0, 3.5], rtol=0.1)
    assert (shown.measured, shown.predicted, shown.size, shown.failing) == (3.0, 3.5, 3, 1)


# --- false proofs: each way in which a check can be none ---------------------------------------------------


@pytest.mark.parametrize("claim", LISTED, ids=lambda claim: claim.expected)
def test_a_verdict_is_given_only_if_everything_is_as_it_must_be(claim):
    """All combinations: the claim holds or not, its control, its printed form, stand-in data or not."""
    theory = {True: 1.0, False: 2.0}  # predicted where 1 is measured, so that the comparison holds or fails
    answers = (True, False)
    for holds, control, printed, data in product(answers, answers, (None, *answers), (None, "digits")):
        arguments = {
            "predicted": theory[holds],
            "control": Variant("another theory", predicted=theory[control]),
            "printed": None if printed is None else Variant("as printed", predicted=theory[printed]),
            "data": data,
        }
        refuted = "corrected" if claim.corrected else "refuted"
        found = refuted if printed is False else "stand-in" if data else "verified"
        if holds and not control and not printed and found == claim.expected:
            assert check(claim.id, **arguments).verdict == claim.expected
        else:
            with pytest.raises(ClaimFailed, match=claim.id):
                check(claim.id, **arguments)


@pytest.mark.parametrize("claim_id", PROPER)
def test_a_control_that_passes_is_refused_for_every_kind_of_verdict(claim_id):
    assert check(claim_id, **PROPER[claim_id]).verdict == find_claim(claim_id, TOY).expected
    with pytest.raises(ClaimFailed, match="the control passes, so the check could not have failed"):
        moved = Variant("moved by less than the tolerance", predicted=1 + 1e-12)
        check(claim_id, **PROPER[claim_id], control=moved)


@pytest.mark.parametrize("claim_id", ["toy-b", "toy-c"])
def test_a_printed_form_that_holds_is_refused(claim_id):
    with pytest.raises(ClaimFailed, match="the printed statement holds after all"):
        check(claim_id, printed=Variant("as printed", predicted=1.0))


@given(st.integers(1, 20), st.integers(0, 20), st.sampled_from([None, 0.05, 0.5, 0.9, 1.0]))
def test_a_control_fails_in_the_share_of_the_entries_that_it_states(size, failing, share):
    failing = min(failing, size)
    values = np.zeros(size)
    broken = np.arange(size) < failing
    enough = failing >= 1 and (share is None or failing / size >= share)
    for claim_id, roles in (("toy-a", ["control"]), ("toy-b", ["control", "printed"])):
        for role in roles:
            others = {"control": Variant("c", predicted=1.0), "printed": PRINTED if len(roles) > 1 else None}
            changed = {role: Variant("fails in some entries", measured=broken, share=share)}
            arguments = {"measured": values, "predicted": 0.0, **others, **changed}
            if enough:
                found = getattr(check(claim_id, **arguments), role)
                assert (found.comparison.failing, found.comparison.size, found.share) == (
                    failing,
                    size,
                    share,
                )
            else:
                with pytest.raises(ClaimFailed, match=r"passes|holds after all|in too few entries"):
                    check(claim_id, **arguments)


def test_a_variant_is_compared_with_what_it_changes_and_else_with_the_claims_own():
    for changed, compared in (
        ({"measured": 2.0}, (2.0, 1.0)),
        ({"predicted": 2.0}, (1.0, 2.0)),
        ({"measured": 3.0, "predicted": 2.0}, (3.0, 2.0)),
    ):
        found = check(control=Variant("changed", **changed)).control.comparison
        assert (found.measured, found.predicted) == compared
    with pytest.raises(ClaimFailed, match="the control passes"):
        check(control=Variant("changed in both, so that they agree", measured=2.0, predicted=2.0))


def test_what_would_pass_or_fail_whatever_was_measured_is_refused():
    values = np.array([0.2, 0.5])
    with pytest.raises(ValueError, match="predicted is measured itself"):
        check(measured=values, predicted=values)
    for bound, opposite in (("at_most", "at_least"), ("at_least", "at_most")):
        inside = {"measured": [0.5, 0.5], "predicted": None, bound: 0.5}
        with pytest.raises(ValueError, match="'the opposite' is the negation of the claim"):
            check(**inside, control=Variant("the opposite", **{opposite: 0.5}))
        sharper = {"at_most": 0.1, "at_least": 0.9}[bound]
        assert check(**inside, control=Variant("a sharper bound", **{bound: sharper})).verdict == "verified"
        equal = Variant("exactly 0.4", predicted=0.4)
        with pytest.raises(ValueError, match="equality without a tolerance"):
            check(**inside, atol=0.0, control=equal)
        assert check(**inside, control=equal).control.comparison.failing == 2


@pytest.mark.parametrize(
    ("claim_id", "changes", "message"),
    [
        ("toy-a", {"printed": PRINTED}, "expects 'verified', the cell found 'refuted'"),
        ("toy-b", {}, "expects 'corrected', the cell found 'verified'"),
        ("toy-a", {"data": "digits"}, "found 'stand-in'"),
        ("toy-e", {}, "expects 'not here', the cell found 'verified'"),
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
        ({"atol": np.inf}, "atol holds inf"),
        ({"control": Variant("broken", measured=np.inf)}, "control 'broken': measured holds inf"),
        ({"printed": Variant("broken", measured=[])}, "printed 'broken': measured is empty"),
        ({"control": None}, "control is None, allowed: a Variant"),
        ({"data": ""}, "data is '', allowed: a phrase"),
    ],
)
def test_what_cannot_be_compared_is_refused_by_name(changes, message):
    with pytest.raises(ValueError, match=message):
        check(**changes)


def test_a_variant_says_what_it_changes():
    with pytest.raises(ValueError, match="'the same' changes nothing"):
        Variant("the same")
    with pytest.raises(ValueError, match="what is ' ', allowed: a phrase"):
        Variant(" ", predicted=1.0)
    for share in (0, 1.1, np.nan):
        with pytest.raises(ValueError, match="share"):
            Variant("a dropped factor", predicted=2.0, share=share)


# --- what a verdict shows ----------------------------------------------------------------------------------


def test_the_text_is_free_of_measured_digits_and_the_record_has_them():
    first, second = check(measured=1 + 1e-11), check(measured=1 - 1e-11)
    assert repr(first) == repr(second)
    bundle = first._repr_mimebundle_()
    assert bundle["text/plain"] == repr(first)
    assert json.loads(json.dumps(bundle[MIME]))["comparison"]["measured"] == 1 + 1e-11
    assert "control fails, as it must: a dropped factor" in repr(first)
    assert "as printed it fails: as printed" in repr(check("toy-b", printed=PRINTED))
    assert "shown on stand-in data: digits" in repr(check("toy-d", data="digits"))


def test_several_verdicts_are_shown_together_each_with_its_own_check():
    one, other = check(), check("toy-b", printed=PRINTED, atol=1e-3)
    both = verify_all(one, other)
    assert repr(both) == f"{one!r}\n{other!r}"
    assert both._repr_mimebundle_()[MIME] == [one.record(), other.record()]
    for wrong in ([], [one], [one, one], [one, "verified: toy-b"]):
        with pytest.raises(ValueError, match="verdicts"):
            verify_all(*wrong)


# --- the ledger --------------------------------------------------------------------------------------------


def test_an_unknown_claim_names_the_nearest():
    with pytest.raises(ValueError, match="'toy-aa' is not in the ledger; nearest: toy-a"):
        find_claim("toy-aa", TOY)


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
        ("kind: identity", "kind: poem", "kind 'poem' is none of"),
        ("expected: verified", "expected: maybe", "expected 'maybe' is none of"),
        ("expected: verified", "expected: refuted", "a refuted claim says what is wrong"),
        ("expected: verified", "expected: corrected, wrong: W", "'corrected' is given exactly when"),
        ("expected: verified", "expected: not here", "'reason' is given exactly when"),
        ("statement: S", "statement: S, colour: red", "toy-a: .*colour"),
        (
            "claims:",
            "claims:\n- {id: toy-a, place: P, kind: identity, statement: S, expected: verified}",
            "twice",
        ),
        (
            "claims:",
            "errata:\n- {id: toy-1, place: P, printed: A, wrong: B, repair: C, claims: [toy-z]}\nclaims:",
            "toy-z",
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
    claims = [claim for paper in papers.values() for claim in paper.claims]
    assert {claim.kind for claim in claims} == set(KINDS)
    assert {claim.expected for claim in claims} == set(VERDICTS)
    for paper in papers.values():
        assert sum(not claim.ours for claim in paper.claims) >= 50
