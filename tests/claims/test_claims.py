"""The ledger and `verify`: what passes, what is refused, and that no false proof is accepted."""

import json
from dataclasses import replace
from fractions import Fraction
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from lib.claims import ledger, recorded
from lib.claims.ledger import KINDS, VERDICTS, Claim, Paper, read_ledger, read_paper
from lib.claims.verify import MIME, ClaimFailed, Variant, compare, verify, verify_all

BASE = Claim("toy-a", "toy", "Theorem 1", "identity", "Statement.", "verified")
LISTED = (
    BASE,
    replace(BASE, id="toy-b", expected="corrected", wrong="A factor.", corrected="Repaired."),
    replace(BASE, id="toy-c", expected="refuted", wrong="All of it."),
    replace(BASE, id="toy-d", expected="stand-in"),
    replace(BASE, id="toy-e", expected="not here", reason="The data are lost."),
)
FINITE = st.floats(-1e6, 1e6)
PRINTED = Variant("as printed", predicted=3.0)


@pytest.fixture(autouse=True)
def toy_ledger(monkeypatch):
    """The ledger is that of one paper with a claim for each verdict."""
    papers = (Paper("toy", "Title", "Authors", 2020, "0000.00000", LISTED, ()),)
    monkeypatch.setattr(ledger, "read_ledger", lambda: papers)


def check(claim_id="toy-a", **changes):
    arguments = {
        "measured": 1.0,
        "predicted": 1.0,
        "atol": 1e-9,
        "because": "float arithmetic",
        "control": Variant("a dropped factor", predicted=2.0),
    }
    return verify(claim_id, **{**arguments, **changes})


# --- comparisons -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("names", [["predicted"], ["at_most"], ["at_least"], ["at_most", "at_least"]])
@given(st.data(), arrays(float, st.integers(1, 5), elements=FINITE), st.floats(0, 0.5), st.floats(0, 10))
def test_an_entry_holds_within_absolute_plus_relative_tolerance(names, data, values, rtol, atol):
    near = st.sampled_from([*values, values[0] + 2 * atol]) | FINITE
    targets = {name: data.draw(near | arrays(float, len(values), elements=near), name) for name in names}
    outside = set()
    for name, target in targets.items():
        for k, one in enumerate(np.broadcast_to(target, values.shape)):
            allowed = Fraction(atol) + Fraction(rtol) * abs(Fraction(one))
            low, high, value = Fraction(one) - allowed, Fraction(one) + allowed, Fraction(values[k])
            assume(value == one or min(abs(value - low), abs(value - high)) > 1e-9 * (1 + allowed))
            if (name != "at_most" and value < low) or (name != "at_least" and value > high):
                outside.add(k)
    found = compare(values, targets, rtol, atol)
    assert (found.failing, found.size, found.holds) == (len(outside), len(values), not outside)


def test_the_entry_shown_is_the_worst_in_units_of_its_tolerance():
    shown = compare([1.0, 100.0, 3.0], {"predicted": [1.0, 101.0, 3.5]}, rtol=0.1)
    assert (shown.measured, shown.predicted, shown.error, shown.size) == (3.0, 3.5, 0.5, 3)
    assert shown.quartiles == (1.0, 1.0, 3.0, 3.0, 100.0)
    kept = compare([0.1, 0.85, 0.5], {"at_most": [0.3, 0.9, 0.9], "at_least": 0.0})
    assert (kept.measured, kept.at_most, kept.at_least, kept.error) == (0.85, 0.9, 0.0, 0.0)


def test_an_error_as_large_as_its_tolerance_holds_and_one_beyond_the_largest_float_never():
    assert compare(1.5, {"predicted": 1.0}, atol=0.5).holds
    assert not compare(1e308, {"predicted": -1.5e308}, rtol=2.0).holds


# --- false proofs: each way in which a check can be none ---------------------------------------------------


@pytest.mark.parametrize("claim", LISTED, ids=lambda claim: claim.expected)
def test_a_verdict_is_given_only_if_everything_is_as_it_must_be(claim):
    """All combinations: the claim holds or not, its control, its printed form, stand-in data or not."""
    # What is predicted where 1 is measured, so that the comparison holds or fails.
    theory = {True: 1 + 1e-12, False: 2.0}
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
        failures = {
            "fails: measured 1, predicted 2": not holds,
            "the control passes, so the check could not have failed: another theory": control,
            "the printed statement holds after all: as printed": printed,
            f"the ledger expects '{claim.expected}', the cell found '{found}'": found != claim.expected,
        }
        if failure := next((text for text, made in failures.items() if made), None):
            with pytest.raises(ClaimFailed, match=rf"{claim.id} \(Theorem 1\):? {failure}"):
                check(claim.id, **arguments)
        else:
            assert check(claim.id, **arguments).verdict == claim.expected


@given(st.integers(1, 20), st.integers(0, 20), st.sampled_from([0.0, 0.05, 0.5, 0.9, 1.0]))
def test_a_control_fails_in_the_share_of_the_entries_that_it_states(size, failing, share):
    failing = min(failing, size)
    broken = Variant("fails in some entries", measured=np.arange(size) < failing, share=share)
    others = {"measured": np.zeros(size), "predicted": 0.0, "control": PRINTED, "printed": PRINTED}
    for claim_id, role in (("toy-a", "control"), ("toy-b", "control"), ("toy-b", "printed")):
        arguments = {**others, "printed": None if claim_id == "toy-a" else PRINTED, role: broken}
        if failing >= 1 and failing / size >= share:
            found = getattr(check(claim_id, **arguments), role)
            assert (found.comparison.failing, found.comparison.size, found.share) == (failing, size, share)
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
        elsewhere = Variant("another and the opposite", measured=[0.1, 0.9], **{opposite: 0.5})
        assert check(**inside, control=elsewhere).control.comparison.failing == 1
        sharper = {"at_most": 0.1, "at_least": 0.9}[bound]
        assert check(**inside, control=Variant("a sharper bound", **{bound: sharper})).verdict == "verified"
        equal = Variant("exactly 0.4", predicted=0.4)
        with pytest.raises(ValueError, match="equality without a tolerance"):
            check(**inside, atol=0.0, control=equal)
        assert check(**inside, control=equal).control.comparison.failing == 2


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"measured": np.nan}, "toy-a: measured holds nan"),
        ({"measured": [], "predicted": []}, "measured is empty"),
        ({"measured": [1.0, 1.0], "predicted": [1.0]}, "predicted has shape .*, but measured has"),
        ({"predicted": None}, "give either predicted, or at_most"),
        ({"at_most": 3.0}, "give either predicted, or at_most"),
        ({"because": "  "}, "because is '  ', allowed: a phrase"),
        ({"rtol": -1.0}, "rtol holds -1.0"),
        ({"atol": np.inf}, "atol holds inf"),
        ({"control": Variant("broken", measured=np.inf)}, "control 'broken': measured holds inf"),
        ({"printed": Variant("broken", measured=[])}, "printed 'broken': measured is empty"),
        ({"control": None}, "control is None, allowed: a Variant"),
        ({"printed": "a factor"}, "printed is 'a factor', allowed: a Variant"),
        ({"data": ""}, "data is '', allowed: a phrase"),
        ({"claim_id": "toy-aa"}, "'toy-aa' is not in the ledger; nearest: toy-a"),
    ],
)
def test_what_cannot_be_compared_is_refused_by_name(changes, message):
    with pytest.raises(ValueError, match=message):
        check(**changes)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"what": "the same"}, "'the same' changes nothing"),
        ({"what": " ", "predicted": 1.0}, "what is ' ', allowed: a phrase"),
        *(
            ({"what": "half", "predicted": 2.0, "share": share}, "'half': share")
            for share in (-0.1, 1.1, np.nan)
        ),
    ],
)
def test_a_variant_says_what_it_changes(fields, message):
    with pytest.raises(ValueError, match=message):
        Variant(**fields)


# --- what a verdict shows ----------------------------------------------------------------------------------


def test_the_text_is_free_of_measured_digits_and_the_record_has_them():
    first, second = check(measured=1 + 1e-11), check(measured=1 - 1e-11)
    assert repr(first) == repr(second)
    bundle = first._repr_mimebundle_()
    assert bundle["text/plain"] == repr(first)
    assert json.loads(json.dumps(bundle[MIME]))["comparison"]["measured"] == 1 + 1e-11


def test_the_text_says_what_was_compared_and_in_which_part_the_variants_fail():
    arguments = {"measured": [0.5] * 4, "predicted": None, "at_most": 1.0, "rtol": 0.1, "atol": 0.0}
    control = Variant("tenfold", measured=[0.5, 5.0, 5.0, 5.0], share=0.75)
    printed = Variant("lower", at_most=0.1, share=1)
    assert repr(check("toy-b", **arguments, control=control, printed=printed)).splitlines() == [
        "corrected: toy-b (Theorem 1)",
        "  at most, each entry (rtol 0.1, atol 0: float arithmetic)",
        "  control fails in at least 75 % of the entries, as it must: tenfold",
        "  as printed it fails in all entries: lower",
    ]
    assert repr(check("toy-d", data="digits")).splitlines()[1:] == [
        "  predicted 1 (rtol 0, atol 1e-09: float arithmetic)",
        "  control fails, as it must: a dropped factor",
        "  shown on stand-in data: digits",
    ]


def test_several_verdicts_are_shown_together():
    one, other = check(), check("toy-b", printed=PRINTED)
    both = verify_all(one, other)
    assert repr(both) == f"{one!r}\n{other!r}"
    assert both._repr_mimebundle_()[MIME] == [one.record(), other.record()]
    with pytest.raises(ValueError, match="verdicts"):
        verify_all(one, "verified: toy-b")


# --- claims that rest on a record --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("quick", "full", "failure"),
    [
        ([1, 2], [3, 4], None),
        ([1, 5], [3, 4], r"^at the reduced size: toy-a .* fails: measured 5"),
        ([1, 1], [3, 4], r"^at the reduced size: toy-a .* the control passes"),
        ([1, 2], [3, 5], r"^on the record \(slow\): toy-a .* fails: measured 5"),
        ([1, 2], [1, 1], r"^on the record \(slow\): toy-a .* the control passes"),
    ],
)
def test_a_claim_that_rests_on_a_record_is_checked_at_the_reduced_size_too(monkeypatch, quick, full, failure):
    metrics = {("squares", (5, 6)): quick, ("squares", "slow"): SimpleNamespace(metrics=full)}
    monkeypatch.setattr(recorded, "quick", lambda *asked: metrics[asked])
    monkeypatch.setattr(recorded, "recorded", lambda *asked: metrics[asked])

    def at_most_4(metrics):
        control = Variant("three times as much", measured=3 * max(metrics))
        return {"measured": max(metrics), "at_most": 4, "because": "they are counts", "control": control}

    def decide():
        return recorded.verify_recorded("toy-a", at_most_4, "squares", "slow", seeds=(5, 6))

    if failure:
        with pytest.raises(ClaimFailed, match=failure):
            decide()
    else:
        assert decide().comparison.measured == 4


# --- the ledger --------------------------------------------------------------------------------------------

ENTRY = "- {id: toy-a, place: P, kind: identity, statement: S, expected: verified}\n"
VALID = f"paper: {{key: toy, title: T, authors: A, year: 2020, arxiv: x}}\nclaims:\n{ENTRY}"
ERRATA = "errata:\n- {id: toy-1, place: P, printed: A, wrong: B, repair: C, claims: [toy-z]}\nclaims:"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (VALID, "", "allowed: a mapping of paper, claims and errata"),
        (VALID, "claims: []", "'paper'; allowed"),
        (VALID, "paper: [", "line 1"),
        (VALID, "paper: {key: toy}\nclaims: []", "missing .* 'title'"),
        (VALID, VALID + "- claim", "allowed: a mapping"),
        ("kind: identity", "kind: poem", "toy-a: kind 'poem' is none of"),
        ("expected: verified", "expected: maybe", "toy-a: expected 'maybe' is none of"),
        ("expected: verified", "expected: refuted", r"toy-a: says \(\), allowed for 'refuted': \('wrong'"),
        ("expected: verified", "expected: corrected, wrong: W", "'corrected': .*'wrong', 'corrected'"),
        ("expected: verified", "expected: not here", "allowed for 'not here': .*'reason'"),
        ("statement: S", "statement: S, colour: red", "toy-a: .*colour"),
        ("id: toy-a", "id: toya", "toya: an id starts with 'toy' and a dash"),
        (ENTRY, 2 * ENTRY, "toy-a: the id is used twice"),
        ("claims:", ERRATA, "toy-1: claims that are not listed: toy-z"),
    ],
)
def test_a_ledger_file_with_a_mistake_is_refused(tmp_path, old, new, message):
    path = tmp_path / "toy.yml"
    path.write_text(VALID)
    assert read_paper(path).claims == (Claim("toy-a", "toy", "P", "identity", "S", "verified"),)
    path.write_text(VALID.replace(old, new))
    with pytest.raises(ValueError, match=rf"(?s)^toy\.yml: .*{message}"):
        read_paper(path)


def test_the_ledger_lists_the_claims_of_five_papers():
    papers = {paper.key: paper for paper in read_ledger()}
    assert set(papers) == {"boursier2022", "combes2018", "min2024", "pezeshki2021", "sarussi2021"}
    claims = [claim for paper in papers.values() for claim in paper.claims]
    assert {claim.kind for claim in claims} == set(KINDS)
    assert {claim.expected for claim in claims} == set(VERDICTS)
    for paper in papers.values():
        assert sum(not claim.ours for claim in paper.claims) >= 50
