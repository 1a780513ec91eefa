"""The ledger and `verify`: what passes, what is refused, and that no false proof is accepted."""

import json
import re
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from executable_claims.claims import ledger
from executable_claims.claims.clauses import Clause
from executable_claims.claims.comparison import beside, compare, deviations, notices, part, resolution
from executable_claims.claims.ledger import Claim, Paper, Thing
from executable_claims.claims.ledger_file import read_paper
from executable_claims.claims.processor import kernels
from executable_claims.claims.verdict import MIME, Variant, verify_all
from executable_claims.claims.verify import LISTENERS, ClaimFailed, verify
from executable_claims.site.cards import allowed

WORDS = "A sentence that says what is claimed."
BASE = Claim("toy-a", "toy", "Theorem 1", "Theorem 1", "identity", WORDS, "Statement.", "verified")
LISTED = (
    BASE,
    replace(BASE, id="toy-b", expected="corrected", wrong="A factor.", corrected="Repaired."),
    replace(BASE, id="toy-c", expected="refuted", wrong="All of it."),
    replace(BASE, id="toy-d", expected="stand-in"),
    replace(BASE, id="toy-e", expected="not here", reason="The data are lost."),
    replace(
        BASE,
        id="toy-f",
        statement="It doubles, and it is positive, as everything is.",
        says=("It doubles", "it is positive", {"everything": "toy-a"}),
        over={"power": "1 to 3"},
    ),
    replace(
        BASE,
        id="toy-g",
        expected="corrected",
        wrong="A sign.",
        corrected="Up, then down.",
        says=("Up", "down"),
    ),
)
FINITE = st.floats(-1e6, 1e6)
VALUES = np.array([1.0, 2.0])
PRINTED = Variant("as printed", predicted=3.0)


@pytest.fixture(autouse=True)
def toy_ledger(monkeypatch):
    """The ledger is that of one paper with a claim for each verdict."""
    papers = (Paper("toy", "Title", "Authors", 2020, LISTED, (), ()),)
    monkeypatch.setattr(ledger, "read_ledger", lambda: papers)


def check(claim_id="toy-a", table=None, **changes):
    arguments = {
        "measured": 1.0,
        "predicted": 1.0,
        "atol": 1e-9,
        "because": "float arithmetic",
        "control": Variant("a dropped factor", predicted=2.0),
    }
    return verify(claim_id, *([] if table is None else [table]), **{**arguments, **changes})


# --- comparisons -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("names", [["predicted"], ["at_most"], ["at_least"], ["at_most", "at_least"]])
@given(st.data(), arrays(float, st.integers(1, 5), elements=FINITE), st.floats(0, 0.5), st.floats(0, 10))
def test_an_entry_holds_within_absolute_plus_relative_tolerance(names, data, values, rtol, atol):
    near = st.sampled_from([*values, values[0] + 2 * atol]) | FINITE
    targets = {name: data.draw(near | arrays(float, len(values), elements=near), name) for name in names}
    outside = set()
    for name, target in targets.items():
        for k, entry in enumerate(np.broadcast_to(target, values.shape)):
            allowed = Fraction(atol) + Fraction(rtol) * abs(Fraction(entry))
            low, high, value = Fraction(entry) - allowed, Fraction(entry) + allowed, Fraction(values[k])
            assume(value == entry or min(abs(value - low), abs(value - high)) > 1e-9 * (1 + allowed))
            if (name != "at_most" and value < low) or (name != "at_least" and value > high):
                outside.add(k)
    comparison = compare(values, targets, rtol, atol)
    assert (comparison.failing, comparison.size, comparison.holds) == (len(outside), len(values), not outside)


def test_the_entry_shown_is_the_worst_in_units_of_its_tolerance():
    shown = compare([1.0, 100.0, 3.0], {"predicted": [1.0, 101.0, 3.5]}, rtol=0.1)
    assert (shown.measured, shown.predicted, shown.error, shown.size) == (3.0, 3.5, 0.5, 3)
    assert shown.quartiles == (1.0, 1.0, 3.0, 3.0, 100.0)
    kept = compare([0.1, 0.85, 0.5], {"at_most": [0.3, 0.9, 0.9], "at_least": 0.0})
    assert (kept.measured, kept.at_most, kept.at_least, kept.error) == (0.85, 0.9, 0.0, 0.0)


@given(arrays(float, st.integers(1, 5), elements=st.floats(0.1, 10)), st.floats(0, 0.5), st.booleans())
def test_of_two_bounds_the_one_that_is_missed_is_shown_with_its_tolerance(values, rtol, upwards):
    """A second bound from which all entries are far changes nothing of what is shown."""
    name, other, by = ("at_most", "at_least", 0.4) if upwards else ("at_least", "at_most", 2.5)
    bound, far = by * values.copy(), 1e-3 if upwards else 1e3
    alone = compare(values, {name: bound}, rtol)
    for targets in ({name: bound, other: far}, {other: far, name: bound}):
        both = compare(values, targets, rtol)
        assert replace(both, **{other: None}) == alone and getattr(both, other) == far
    assert alone.tolerance == rtol * getattr(alone, name)


def test_an_error_as_large_as_its_tolerance_holds_and_one_beyond_the_largest_float_never():
    assert compare(1.5, {"predicted": 1.0}, atol=0.5).holds
    assert not compare(1e308, {"predicted": -1.5e308}, rtol=0.9).holds


@given(st.data(), arrays(float, st.integers(1, 5), elements=FINITE), st.floats(0, 0.5), st.floats(0, 10))
def test_a_value_beside_its_law_is_itself_or_refused(data, values, rtol, atol):
    near = st.sampled_from([*values, values[0] + 2 * atol]) | FINITE
    law = data.draw(near | arrays(float, len(values), elements=near))
    if compare(values, {"predicted": law}, rtol, atol).holds:
        assert beside(values, law, rtol=rtol, atol=atol) is values
    else:
        with pytest.raises(AssertionError, match=r"^beside its law: measured "):
            beside(values, law, rtol=rtol, atol=atol)


@pytest.mark.parametrize(
    ("given_", "message"),
    [
        ((np.nan, 1.0), "measured holds nan, allowed: finite numbers"),
        ((1.0, np.inf), "predicted holds inf, allowed: finite numbers"),
        (("one", 1.0), "measured is 'one', allowed: real numbers"),
        (([], 1.0), "measured is empty"),
        ((1.0, [1.0, 2.0]), r"predicted has shape \(2,\), but measured has shape \(\)"),
        ((VALUES, VALUES), "predicted is measured itself, allowed: what another route gives"),
    ],
)
def test_bad_input_beside_a_law_is_refused(given_, message):
    with pytest.raises(ValueError, match=message):
        beside(*given_, rtol=0.1)
    for name, value in (("rtol", 1.0), ("rtol", -0.1), ("atol", -0.1), ("atol", np.nan)):
        with pytest.raises(ValueError, match=f"{name} "):
            beside(1.0, 2.0, **{name: value})


# --- resolution --------------------------------------------------------------------------------------------


def moved_by(r, targets, scale=None):
    """The ways in which a theory may be wrong by ``r``: targets of all entries, each kind that can move."""
    step = {name: np.where(t == 0, scale or 0.0, np.abs(t)) for name, t in targets.items()}
    ways = {"predicted": (1, -1), "at_most": (-1,), "at_least": (1,)}
    return [
        {name: t + way * r * step[name]}
        for name, t in targets.items()
        if step[name].any()
        for way in ways[name]
    ]


@pytest.mark.parametrize("names", [["predicted"], ["at_most"], ["at_least"], ["at_most", "at_least"]])
@given(
    st.data(),
    arrays(float, st.integers(1, 5), elements=st.floats(-100, 100).map(lambda x: round(x, 3))),
    st.floats(0, 0.5),
    st.floats(1e-3, 10),
    st.sampled_from([None, 0.3, 7.0]),
)
def test_the_resolution_is_where_the_comparison_begins_to_fail(names, data, values, rtol, atol, scale):
    """The other route: move the targets by a little less and a little more, and compare."""
    ends = {"predicted": (-0.9, 0.9), "at_most": (-0.9, 50), "at_least": (-50, 0.9)}
    off = {name: st.floats(*both).map(lambda x: round(x, 3)) for name, both in ends.items()}
    zero = st.booleans()
    targets = {
        name: np.array([0.0 if data.draw(zero) else value + atol * data.draw(off[name]) for value in values])
        for name in names
    }
    assume(compare(values, targets, rtol, atol).holds)
    least, words = resolution(values, targets, rtol, atol, scale)
    if least is None:
        assert scale is None and not any(target.any() for target in targets.values())
        return
    assert words
    for r, each in ((0.999 * least - 1e-9, any), (1.001 * least + 1e-9, None)):
        fails = [not compare(values, one, rtol, atol).holds for one in moved_by(max(r, 0.0), targets, scale)]
        assert not all(fails) if each else all(fails)


def test_the_resolution_of_a_zero_needs_a_scale_and_is_in_units_of_it():
    assert resolution(1e-3, {"predicted": 0.0}, atol=2e-3) == (None, "a target of zero, without a scale")
    assert resolution(1e-3, {"predicted": 0.0}, atol=2e-3, scale=10.0)[0] == pytest.approx(3e-4)
    assert check(measured=0.0, predicted=0.0, scale=5.0).resolution == pytest.approx(2e-10)
    assert resolution([0.0, 1.0], {"predicted": [0.0, 1.0]}, atol=0.5)[0] == 0.5


def test_what_no_error_of_the_theory_would_fail_is_refused():
    for rtol in (1.0, 1.5):
        with pytest.raises(ValueError, match=rf"toy-a: rtol is {rtol}, allowed: a number from 0 to below 1"):
            check(rtol=rtol, control=Variant("the other sign", predicted=-9.0, measured=1e9))


def test_a_resolution_is_said_in_words():
    assert notices(0.002, "predicted", 1.0) == "would notice 0.2 %"
    assert notices(3e-9, "predicted", 1.0) == "would notice a part in 10⁸"
    assert notices(0.0, "at_most", 1.0) == "would notice anything"
    assert notices(0.03, "at_most", 1.0) == "the data come within 3 % of the bound"
    assert notices(1.5e-5, "predicted", 1.0) == "would notice 0.0015 %"
    for bounds, measured, room in (
        ({"at_most": 151.0}, 1.0, "room: 150 times"),
        ({"at_least": -150.0}, -1.0, "room: 150 times"),
        ({"at_least": 1.0}, 4.0, "room: 4 times"),
        ({"at_most": -1.0}, -4.0, "room: 4 times"),
        ({"at_most": 1.0}, -4.0, "room: the bound could be zero"),
        # Of two bounds the one with more room decides.
        ({"at_least": 1.0, "at_most": 100.0}, 50.0, "room: 50 times"),
        ({"at_least": 30.0, "at_most": 60.0}, 50.0, "room: 1.7 times"),
        ({"at_least": 0.0, "at_most": 1.0}, 0.999, "the data come within 0.1 % of the bound"),
    ):
        assert resolution(measured, bounds)[1] == room
    assert part(25.0) == "a factor 26"


# --- false proofs: each way in which a check can be none ---------------------------------------------------


@pytest.mark.parametrize(
    "claim", [claim for claim in LISTED if not claim.says], ids=lambda claim: claim.expected
)
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
        verdict = refuted if printed is False else "stand-in" if data else "verified"
        failures = {
            "fails: measured 1, predicted 2": not holds,
            "the control passes, so the check could not have failed: another theory": control,
            "the printed statement holds after all: as printed": printed,
            f"the ledger expects '{claim.expected}', the cell found '{verdict}'": verdict != claim.expected,
        }
        if failure := next((text for text, made in failures.items() if made), None):
            with pytest.raises(ClaimFailed, match=rf"{claim.id} \(Theorem 1\):? {failure}"):
                check(claim.id, **arguments)
        else:
            assert check(claim.id, **arguments).verdict == claim.expected


@given(st.integers(1, 20), st.integers(0, 20), st.sampled_from([0.05, 0.5, 0.9, 1.0]))
def test_a_control_fails_in_the_share_of_the_entries_that_it_states(size, failing, share):
    failing = min(failing, size)
    broken = Variant("fails in some entries", measured=np.arange(size) < failing, share=share)
    others = {"measured": np.zeros(size), "predicted": 0.0, "control": PRINTED, "printed": PRINTED}
    for claim_id, role in (("toy-a", "control"), ("toy-b", "control"), ("toy-b", "printed")):
        arguments = {**others, "printed": None if claim_id == "toy-a" else PRINTED, role: broken}
        if failing >= 1 and failing / size >= share:
            varied = getattr(check(claim_id, **arguments), role)
            assert (varied.comparison.failing, varied.comparison.size, varied.share) == (failing, size, share)
        else:
            with pytest.raises(ClaimFailed, match=r"passes|holds after all|in too few entries"):
                check(claim_id, **arguments)


def test_a_variant_is_compared_with_what_it_changes_and_else_with_the_claims_own():
    for changed, compared in (
        ({"measured": 2.0}, (2.0, 1.0)),
        ({"predicted": 2.0}, (1.0, 2.0)),
        ({"measured": 3.0, "predicted": 2.0}, (3.0, 2.0)),
    ):
        comparison = check(control=Variant("changed", **changed)).control.comparison
        assert (comparison.measured, comparison.predicted) == compared
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
        elsewhere = Variant("another and the opposite", measured=[0.1, 0.9], **{opposite: 0.5}, share=0.5)
        assert check(**inside, control=elsewhere).control.comparison.failing == 1
        sharper = {"at_most": 0.1, "at_least": 0.9}[bound]
        assert check(**inside, control=Variant("a sharper bound", **{bound: sharper})).verdict == "verified"
        equal = Variant("exactly 0.4", predicted=0.4)
        with pytest.raises(ValueError, match="equality without a tolerance"):
            check(**inside, atol=0.0, control=equal)
        assert check(**inside, control=equal).control.comparison.failing == 2


def test_another_theory_within_the_tolerance_is_refused_although_it_fails():
    near = {"measured": [1.08, 1.0], "predicted": 1.0, "atol": 0.1}
    with pytest.raises(ValueError, match=r"toy-a: control 'near' is farther .* in 0 % of the 2 entries"):
        check(**near, control=Variant("near", predicted=[0.95, 0.95], share=0.5))
    far = Variant("far in one entry", predicted=[0.8, 0.95], share=0.5)
    assert check(**near, control=far).control.fails


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"measured": np.nan}, "toy-a: measured holds nan"),
        ({"measured": 2**53 + 1}, "measured holds integers beyond 2"),
        ({"measured": [10**20]}, "measured holds integers beyond 2"),
        ({"measured": [], "predicted": []}, "measured is empty"),
        ({"measured": [1.0, 1.0], "predicted": [1.0]}, "predicted has shape .*, but measured has"),
        ({"predicted": None}, "give either predicted, or at_most"),
        ({"at_most": 3.0}, "give either predicted, or at_most"),
        ({"because": "  "}, "because is '  ', allowed: a phrase"),
        ({"rtol": -1.0}, "rtol is -1.0, allowed: a number from 0"),
        ({"atol": np.inf}, "atol holds inf"),
        ({"scale": 0.0}, "scale is 0.0, allowed: a number above 0"),
        ({"families": " "}, "families is ' ', allowed: a phrase"),
        ({"control": Variant("broken", measured=np.inf)}, "control 'broken': measured holds inf"),
        ({"printed": Variant("broken", measured=[])}, "printed 'broken': measured is empty"),
        (
            {"control": None},
            "control is None, allowed: a theory that a reasonable person",
        ),
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
            for share in (-0.1, 0.0, 1.1, np.nan)
        ),
    ],
)
def test_a_variant_says_what_it_changes(fields, message):
    with pytest.raises(ValueError, match=message):
        Variant(**fields)


# --- what a verdict shows ----------------------------------------------------------------------------------


def test_the_text_is_free_of_computed_digits_and_the_record_has_them_and_the_kernels():
    first, second = (check(measured=x, predicted=x, atol=1e-9 * x) for x in (1 + 1e-11, 1 - 1e-11))
    assert repr(first) == repr(second)
    assert first.record()["kernels"] == kernels()
    bundle = first._repr_mimebundle_()
    assert bundle["text/plain"] == repr(first)
    assert json.loads(json.dumps(bundle[MIME]))[0]["comparison"]["measured"] == 1 + 1e-11


def test_the_text_says_what_was_compared_and_in_which_part_the_variants_fail():
    arguments = {"measured": [0.5] * 4, "predicted": None, "at_most": 1.0, "rtol": 0.1, "atol": 0.0}
    control = Variant("tenfold", measured=[0.5, 5.0, 5.0, 5.0], share=0.75)
    printed = Variant("lower", at_most=0.1, share=1)
    assert repr(check("toy-b", **arguments, control=control, printed=printed)).splitlines() == [
        "corrected: toy-b (Theorem 1)",
        "  at most, each entry: float arithmetic",
        "  control fails in at least 75 % of the entries, as it must: tenfold",
        "  as printed it fails in all entries: lower",
    ]
    assert repr(check("toy-d", data="digits")).splitlines()[1:] == [
        "  predicted: float arithmetic",
        "  control fails, as it must: a dropped factor",
        "  shown on stand-in data: digits",
    ]


def test_several_verdicts_are_shown_together():
    first, other = check(), check("toy-b", printed=PRINTED)
    both = verify_all(first, other)
    assert repr(both) == f"{first!r}\n{other!r}"
    assert both._repr_mimebundle_()[MIME] == [first.record(), other.record()]
    with pytest.raises(ValueError, match="verdicts"):
        verify_all(first, "verified: toy-b")


# --- the ledger --------------------------------------------------------------------------------------------

ENTRY = f"""- id: toy-a
  place: P
  about: Lemma 3
  kind: identity
  in_words: {WORDS}
  statement: S
  expected: verified
"""
VALID = f"paper: {{key: toy, title: T, authors: A, year: 2020, arxiv: x}}\nclaims:\n{ENTRY}"
NOTE = "- {id: toy-1, place: P, printed: A, wrong: B, repair: C, claims: [toy-z]}\n"
TWICE = "- {id: toy-a, place: P, printed: A, wrong: B, repair: C}\n"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (VALID, "", "allowed: a mapping of paper, claims, errata and remarks"),
        (VALID, "claims: []", "'paper'.*; allowed"),
        (VALID, "paper: [", "line 2"),
        (VALID, "paper: {key: toy}\nclaims: []", "title is missing"),
        (VALID, VALID + "- claim", "allowed: a mapping"),
        (VALID, VALID + "notes: []", "unknown list notes"),
        ("kind: identity", "kind: poem", "3: toy-a: kind is 'poem', allowed: 'identity'"),
        ("expected: verified", "expected: maybe", "toy-a: expected is 'maybe', allowed"),
        ("expected: verified", "expected: refuted", r"toy-a: says \(\), allowed for 'refuted': \('wrong'"),
        ("expected: verified", "expected: corrected\n  wrong: W", "'corrected': .*'wrong', 'corrected'"),
        ("expected: verified", "expected: not here", "allowed for 'not here': .*'reason'"),
        ("statement: S", "statement: S\n  colour: red", "toy-a: unknown field colour, allowed: id, paper"),
        ("statement: S", "statement: S\n  statement: T", "statement is given twice.*line 3"),
        (f"  in_words: {WORDS}\n", "", "3: toy-a: field in_words is missing"),
        ("  about: Lemma 3\n", "", "toy-a: field about is missing"),
        (
            "about: Lemma 3",
            "about: the lemma",
            "toy-a: about is 'the lemma', allowed: one or more of Theorem",
        ),
        ("about: Lemma 3", "about: Lemma 3 (ii)", "toy-a: about is"),
        (WORDS, "It grows like $t$ and so on.", "toy-a: in_words is 'It grows"),
        (WORDS, "No full stop at the end", "toy-a: in_words is 'No full"),
        ("statement: S", "statement: S\n  shown: proven", "toy-a: shown is 'proven', allowed: '', 'proved'"),
        ("statement: S", "statement: S\n  ours: yes", "3: toy-a: ours is True, allowed: a text"),
        (f"in_words: {WORDS}", "in_words:", "3: toy-a: in_words is None, allowed: a text"),
        ("year: 2020", "year: soon", "paper: year is 'soon', allowed: a number"),
        ("statement: S", "statement: S\n  says: S", "3: toy-a: says is 'S', allowed: a list"),
        ("statement: S", "statement: S\n  over: [r]", "3: toy-a: over is \\['r'\\], allowed: a mapping"),
        ("title: T", "journal: J, title: T", "paper: unknown field journal"),
        ("id: toy-a", "id: toy-a/b", "toy-a/b: an id starts with 'toy' and a dash"),
        ("statement: S", "statement: S\n  ours: new", "toy-a: near is the nearest known work"),
        ("statement: S", "statement: S\n  near: a book", "toy-a: near is the nearest known work"),
        ("id: toy-a", "id: toya", "toya: an id starts with 'toy' and a dash"),
        (ENTRY, 2 * ENTRY, "toy-a: the id is used twice"),
        (ENTRY, 2 * ENTRY, "the same words for 2 claims"),
        ("claims:\n", f"errata:\n{NOTE}claims:\n", "toy-1: claims that are not listed: toy-z"),
        ("claims:\n", f"remarks:\n{NOTE}claims:\n", "toy-1: claims that are not listed: toy-z"),
        ("claims:\n", f"errata:\n{TWICE}claims:\n", "toy-a: the id is used twice"),
    ],
)
def test_a_ledger_file_with_a_mistake_is_refused(tmp_path, old, new, message):
    path = tmp_path / "toy.yml"
    path.write_text(VALID)
    assert read_paper(path).claims == (replace(BASE, place="P", about="Lemma 3", statement="S"),)
    path.write_text(VALID.replace(old, new))
    with pytest.raises(ValueError, match=rf"(?s)toy\.yml:.*{message}"):
        read_paper(path)


def test_all_mistakes_of_a_file_are_said_at_once(tmp_path):
    path = tmp_path / "toy.yml"
    path.write_text(
        VALID.replace("Lemma 3", "it").replace("identity", "poem") + ENTRY + "  colour: red\n" + ENTRY
    )
    with pytest.raises(ValueError) as refused:
        read_paper(path)
    for part_of_it in (
        "unknown field colour",
        "kind is 'poem'",
        "about is 'it'",
        "used twice",
        "the same words",
    ):
        assert part_of_it in str(refused.value)


def test_things_are_sorted_by_number_and_numbers_before_letters():
    named = replace(BASE, about="Theorem 10, Theorem 2.1, Lemma B.2, Lemma 3").things
    assert named[0] == Thing("Theorem", "10") and named[0].slug == "theorem-10"
    assert [thing.number for thing in sorted(named, key=lambda thing: thing.order)] == [
        "2.1",
        "3",
        "10",
        "B.2",
    ]


# --- tables ------------------------------------------------------------------------------------------------

TABLE = {
    "family": ["wide", "wide", "narrow"],
    "seed": [3, 4, 3],
    "power": [1.0, 2.0, 4.0],
    "measured": [1.0, 2.0, 4.0 + 1e-10],
    "predicted": [1.0, 2.0, 4.0],
    "cubed": [1.0, 8.0, 64.0],
}
CUBE = Variant("the cube", predicted="cubed", share=0.6)


def test_a_table_is_compared_as_its_columns_are():
    by_name, by_hand = (
        check(measured=None, predicted=None, table=TABLE, control=CUBE),
        check(
            measured=TABLE["measured"],
            predicted=TABLE["predicted"],
            control=replace(CUBE, predicted=TABLE["cubed"]),
        ),
    )
    assert by_name.comparison == by_hand.comparison and by_name.control == by_hand.control
    bound = {**TABLE, "at_most": [2.0, 3.0, 5.0]}
    del bound["predicted"]
    control = Variant("tenth", at_most=[0.1, 0.2, 0.4])
    assert check(measured=None, predicted=None, table=bound, control=control).comparison.at_most is not None


def test_a_table_says_what_was_drawn_and_which_row_is_the_worst():
    verdict = check(measured=None, predicted=None, table=TABLE, control=CUBE, families="by hand")
    assert verdict.families == "by hand; wide 2, narrow 1; power 1 to 4 (3 values)"
    twice = {name: column * 2 for name, column in TABLE.items()}
    again = check(measured=None, predicted=None, table=twice, control=CUBE)
    assert again.families == "wide 2, narrow 1; power 1 to 4 (3 values)", "of a draw there may be two rows"
    assert verdict.row == "family narrow, seed 3, power 4"
    assert verdict.row not in repr(verdict) and verdict.row in verdict._repr_mimebundle_()["text/html"]
    wrong = {**TABLE, "measured": [1.0, 2.5, 4.0]}
    with pytest.raises(ClaimFailed, match=r"fails at family wide, seed 4, power 2: measured 2\.5"):
        check(measured=None, predicted=None, table=wrong, control=CUBE)


def test_each_row_may_have_a_tolerance_of_its_own():
    rows = {"measured": [1.0, 2.0], "predicted": [1.1, 2.0], "error": [0.2, 1e-3], "wrong": [1.5, 2.1]}
    control = Variant("wrong", predicted="wrong")
    verdict = check(table=rows, measured=None, predicted=None, atol="error", control=control)
    assert verdict.comparison.tolerance == 0.2 and (verdict.least_atol, verdict.atol) == (1e-3, 0.2)
    assert allowed(verdict.record()).startswith("0.2 absolute (by row, from 0.001 on): float arithmetic")
    assert verdict.resolution == pytest.approx(1e-3 / 2)
    with pytest.raises(ClaimFailed, match="1 of 2 entries outside"):
        check(
            table={**rows, "error": [0.05, 1.0]}, measured=None, predicted=None, atol="error", control=control
        )
    for wrong, message in (
        ([0.2, -1.0], "atol holds -1"),
        ([0.2], r"atol has shape \(1,\)"),
        ("none", "atol is 'none'"),
    ):
        with pytest.raises(ValueError, match=message):
            check(table=rows, measured=None, predicted=None, atol=wrong, control=control)


def test_values_that_differ_by_rounding_are_one():
    table = {"r": [0.3, 0.1 + 0.2, 0.1], "measured": [1.0, 2.0, 3.0], "predicted": [1.0, 2.0, 3.0 + 1e-12]}
    control = Variant("larger", predicted=9.0)
    assert (
        check(measured=None, predicted=None, table=table, control=control).families
        == "r 0.1 to 0.3 (2 values)"
    )


def test_rows_without_a_key_do_not_count_in_its_range():
    table = {"r": [1.0, np.nan, 3.0], "measured": [1.0, 2.0, 3.0], "predicted": [1.0, 2.0, 3.0 + 1e-12]}
    control = Variant("larger", predicted=9.0)
    assert (
        "r 1 to 3 (2 values)" in check(measured=None, predicted=None, table=table, control=control).families
    )


def test_a_variant_names_columns_or_has_a_table_of_its_own():
    larger = {name: column[:2] for name, column in TABLE.items()} | {"measured": [3.0, 9.0]}
    control = Variant("a larger one", table=larger)
    verdict = check(measured=None, predicted=None, table=TABLE, control=control)
    assert (verdict.control.comparison.size, verdict.control.comparison.failing) == (2, 2)
    named = replace(control, table={**TABLE, "measured": TABLE["cubed"]}, share=0.6)
    assert check(measured=None, predicted=None, table=TABLE, control=named).control.comparison.failing == 2


def test_a_variant_with_a_table_of_its_own_may_have_another_target_there():
    """It is then compared with that target alone, as if its columns were given by hand."""
    table = {"measured": [1.0, 2.0, 4.0], "at_most": [2.0, 3.0, 5.0]}
    other = {"measured": [3.0, 9.0, 64.0], "at_most": [100.0] * 3, "law": [1.0, 2.0, 4.0]}
    by_name = Variant("others", table=other, predicted="law")
    by_hand = Variant("others", measured=other["measured"], predicted=other["law"])
    first, second = (
        check(measured=None, predicted=None, table=table, control=control) for control in (by_name, by_hand)
    )
    assert first.control == second.control


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"predicted": "squared"}, "toy-a: predicted is 'squared', allowed: a column of the table, family"),
        ({"predicted": "measured"}, "predicted is the measured column 'measured'"),
        ({"control": Variant("no", measured="cube")}, "measured is 'cube', allowed: a column"),
        ({"table": {**TABLE, "predicted": TABLE["measured"]}}, "predicted is measured itself"),
        ({"table": {**TABLE, "predicted": TABLE["power"][:2]}}, "predicted has shape"),
        ({"table": None}, "measured is missing"),
    ],
)
def test_what_a_table_does_not_have_is_refused(changes, message):
    arguments = {"measured": None, "predicted": None, "table": TABLE, "control": CUBE, **changes}
    with pytest.raises(ValueError, match=message):
        check(**arguments)


def test_columns_of_truths_are_compared_as_zero_and_one():
    rows = {"measured": [True, False], "predicted": [1.0, 0.0], "wrong": [False, True]}
    control = Variant("the opposite", predicted="wrong")
    assert check(table=rows, measured=None, predicted=None, atol=0.0, control=control).comparison.size == 2
    with pytest.raises(ValueError, match="predicted is measured itself"):
        check(table={**rows, "predicted": [True, False]}, measured=None, predicted=None, control=control)


def test_counts_may_have_equal_bits():
    table = {"family": ["a"] * 3, "measured": [0, 3, 5], "predicted": [0, 3, 5]}
    control = Variant("one more", predicted=[1, 4, 6])
    assert check(measured=None, predicted=None, table=table, atol=0.0, control=control).families == "a 3"


# --- clauses and ranges ------------------------------------------------------------------------------------

POWERS = {
    "power": [1, 2, 3],
    "measured": [2.0, 4.0, 8.0],
    "predicted": [2.0, 4.0, 8.0 + 1e-12],
    "one": [1.0] * 3,
}
SHARED = {"because": "float arithmetic", "atol": 1e-9, "control": Variant("always one", predicted="one")}
DOUBLES = Clause("It doubles", POWERS)
NEGATIVE = Variant("of the other sign", measured=[-2.0, -4.0, -8.0])
POSITIVE = Clause("it is positive", POWERS, at_least=0.0, predicted=None, control=NEGATIVE)


def test_each_clause_has_a_comparison_of_its_own_and_shares_what_it_does_not_give():
    verdict = verify("toy-f", DOUBLES, POSITIVE, **SHARED)
    assert [clause.clause for clause in verdict.clauses] == ["It doubles", "it is positive"]
    assert [clause.comparison.at_least for clause in verdict.clauses] == [None, 0.0]
    assert (
        verdict.others[0].control.what == "of the other sign"
        and verdict.families == "power 1 to 3 (3 values)"
    )
    assert [line.split(":")[0] for line in str(verdict).splitlines()].count("  clause") == 2
    assert [clause["clause"] for clause in verdict.record()["others"]] == ["it is positive"]


@pytest.mark.parametrize(
    ("clauses", "message"),
    [
        ([DOUBLES], "toy-f: 'it is positive' is compared by nothing, allowed: one Clause for each phrase"),
        ([DOUBLES, DOUBLES, POSITIVE], "'It doubles' is compared 2 times"),
        (
            [DOUBLES, POSITIVE, Clause("everything", POWERS)],
            "the clause 'everything' is compared, allowed: It doubles",
        ),
        ([POWERS], "a table is compared beside clauses"),
        ([], "'It doubles' is compared by nothing"),
        (
            [DOUBLES, Clause("it is positive", POWERS, at_lest=0.0)],
            "at_lest is given, it is positive, allowed: measured",
        ),
        ([DOUBLES, Clause("it is positive", POWERS, control=None)], "control is None"),
    ],
)
def test_a_clause_that_is_not_compared_once_is_refused(clauses, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        verify("toy-f", *clauses, **SHARED)


def test_an_impostor_must_fail_besides_the_control():
    early = Variant("a step too early", measured=[1.0, 2.0, 4.0])
    verdict = check(table=POWERS, measured=None, predicted=None, **SHARED, impostor=early)
    assert "  impostor fails in all entries, as it must: a step too early" in str(verdict)
    assert verdict.record()["impostor"]["comparison"]["failing"] == 3
    with pytest.raises(ClaimFailed, match="what lacks that which is claimed passes too: the same"):
        same = Variant("the same, but for rounding", measured=[2.0, 4.0, 8.0 + 1e-13])
        check(table=POWERS, measured=None, predicted=None, **SHARED, impostor=same)


def test_a_clause_fails_by_its_phrase():
    low = Clause("it is positive", POWERS, at_least=3.0, predicted=None, control=NEGATIVE)
    with pytest.raises(
        ClaimFailed, match=r"toy-f \(Theorem 1\), it is positive fails at power 1: measured 2"
    ):
        verify("toy-f", DOUBLES, low, **SHARED)


def test_one_clause_that_is_false_as_printed_corrects_the_claim():
    up = Clause("Up", POWERS)
    down = Clause("down", POWERS, printed=Variant("as printed", predicted="one"))
    assert verify("toy-g", up, down, **SHARED).verdict == "corrected"
    with pytest.raises(ClaimFailed, match="expects 'corrected', the cell found 'verified'"):
        verify("toy-g", up, Clause("down", POWERS), **SHARED)


@pytest.mark.parametrize(
    ("over", "column", "message"),
    [
        ({"power": "each"}, [1, 1, 2], "power has the values [1, 2], allowed: 3 or more"),
        ({"power": "1 to 4"}, [1, 2, 3], "power goes from 1 to 3, allowed: from 1 to 4"),
        ({"width": "each"}, [1, 2, 3], "no table has a column 'width'"),
        (
            {"power": "towards 0"},
            [1.0, 0.1, 0.02],
            "power goes towards 0 over 1.7 decades, allowed: 2 or more",
        ),
        ({"power": "towards 0"}, [1.0, 0.1, 0.01], None),
        ({"power": "towards infinity"}, [0, 1, 1000], None),
        ({"log_scale": "towards 0"}, [-1.0, -3.0, -6.0], None),
        ({"power": "0.5 to 2"}, [0.5, 1, 2.5], None),
    ],
)
def test_what_is_said_over_a_range_is_compared_over_it(over, column, message, monkeypatch):
    claims = (replace(BASE, over=over),)
    monkeypatch.setattr(
        ledger, "read_ledger", lambda: (Paper("toy", "Title", "Authors", 2020, claims, (), ()),)
    )
    name = "log_scale" if "log_scale" in over else "power"
    arguments = {"table": {**POWERS, name: column}, "measured": None, "predicted": None, **SHARED}
    if message is None:
        assert check(**arguments).verdict == "verified"
    else:
        with pytest.raises(ValueError, match=re.escape(message)):
            check(**arguments)


@pytest.mark.parametrize(
    ("first", "second", "wide"),
    [
        ([0], [0, 1, 2], True),
        ([0, 1], [1, 2], True),
        ([0, 1, 2], [0], True),
        ([0, 1], [0, 1], False),
        ([1, 2], [1], False),
        ([], [0, 1, 2], True),
    ],
)
def test_a_range_may_be_covered_by_the_tables_of_all_clauses_together(first, second, wide):
    """The first rows of powers are those of one clause, the second of the other; no rows: no such column."""
    rows = {**POWERS, "predicted": np.add(POWERS["measured"], 1e-12), "less": [-2.0, -4.0, -8.0]}
    tables = [
        {name: np.take(column, part or [0]) for name, column in rows.items()} for part in (first, second)
    ]
    if not first:
        del tables[0]["power"]
    less = Variant("of the other sign", measured="less")
    clauses = (
        Clause("It doubles", tables[0]),
        Clause("it is positive", tables[1], at_least=0.0, predicted=None, control=less),
    )
    if wide:
        assert verify("toy-f", *clauses, **SHARED).verdict == "verified"
    else:
        with pytest.raises(ValueError, match="toy-f: power has the values"):
            verify("toy-f", *clauses, **SHARED)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ("  says: [Statement]\n", "says ['Statement'], allowed: two phrases or more"),
        ("  says: [Statement, and more]\n", "says 'and more', allowed: words of the statement"),
        ("  says: [Statement, {a: b, c: d}]\n", "says {'a': 'b', 'c': 'd'}, allowed: a phrase"),
        ("  says: [Statement, {ment: toy-x}]\n", "'ment' is decided by 'toy-x', allowed: another entry"),
        ("  over: {n: some}\n", "over n is 'some', allowed: each, towards 0, towards infinity, or numbers"),
        ("  over: {n: 3 to 2}\n", "over n is '3 to 2'"),
    ],
)
def test_what_an_entry_says_wrongly_of_its_clauses_is_named(tmp_path, fields, message):
    path = tmp_path / "toy.yml"
    path.write_text(VALID.replace("statement: S\n", "statement: Statement\n" + fields))
    with pytest.raises(ValueError, match=re.escape(f"toy-a: {message}")):
        read_paper(path)


@pytest.mark.parametrize("phrase", [r"x\le y", r"So $x\le", r"$x\le y$ and \alpha"])
def test_a_phrase_does_not_cut_a_formula(tmp_path, phrase):
    path = tmp_path / "toy.yml"
    fields = f"statement: 'So $x\\le y$ and \\alpha hold'\n  says: [So, '{phrase}']\n"
    path.write_text(VALID.replace("statement: S\n", fields))
    with pytest.raises(ValueError, match="whole formulas with their dollar signs"):
        read_paper(path)


ALONE = """
import sys

class Refused:
    def find_spec(self, name, path=None, target=None):
        top = name.partition(".")[0]
        if top not in {*sys.stdlib_module_names, "numpy", "executable_claims"}:
            raise ModuleNotFoundError(f"{name} is not there")

sys.meta_path.insert(0, Refused())
from executable_claims import Variant, verify

given = {"measured": 1.0, "predicted": 1.0, "rtol": 1e-9, "because": "rounding"}
print(verify("The law holds.", **given, control=Variant("twice as much", predicted=2.0)))
"""


def test_a_claim_is_decided_without_a_book_and_with_numpy_alone(tmp_path):
    done = subprocess.run([sys.executable, "-c", ALONE], cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout.startswith("verified: The law holds."), done.stderr


# --- without a book, and what is said of a failure and of controls -----------------------------------------


def test_a_sentence_is_a_claim_and_its_printed_form_may_fail():
    verdict = check("Two routes lead to one.")
    assert repr(verdict).startswith("verified: Two routes lead to one.\n")
    assert check("It is one, not three.", printed=PRINTED).verdict == "corrected"
    for blank in ("", " ", 3):
        with pytest.raises(ValueError, match="allowed: a sentence that says what is claimed, or the id"):
            check(blank)


@settings(max_examples=40)
@given(arrays(float, array_shapes(min_dims=1, max_dims=2, max_side=5), elements=st.floats(-9, 9)))
def test_a_failure_lists_the_entries_outside_the_worst_first(values):
    deviation = deviations(values, {"at_most": 1.0, "at_least": -2.0}, atol=0.5)
    outside = [place for place in np.ndindex(values.shape) if not -2.5 <= values[place] <= 1.5]
    head, *lines = deviation.table(rows=4).splitlines()
    assert head.split() == ["entry", "measured", "at", "most", "at", "least", "off", "by", "allowed"]
    listed = [line for line in lines if "[" in line]
    assert len(listed) == min(4, len(outside)) and (f"and {len(outside) - 4} more" in lines) == (
        len(outside) > 4
    )
    places = [tuple(map(int, re.findall(r"\d+", line.partition("]")[0]))) for line in listed]
    assert set(places) <= {*outside}
    offs = [max(values[place] - 1, -2 - values[place]) for place in places]
    assert offs == sorted(offs, reverse=True)
    assert [float(line.split()[-2]) for line in listed] == pytest.approx(offs, rel=1e-2)


def test_each_of_several_controls_must_fail_and_is_said():
    several = [Variant("twice as much", predicted=2.0), Variant("half as much", predicted=0.5)]
    verdict = check(control=several)
    assert [control.what for control in verdict.controls] == ["twice as much", "half as much"]
    assert repr(verdict).count("control fails, as it must") == 2
    near = Variant("nearly the same", predicted=1.5, measured=1.5)
    with pytest.raises(ClaimFailed, match=r"the control passes.*nearly the same"):
        check(control=[*several, near])
    with pytest.raises(ValueError, match=r"control is \[\], allowed: a theory"):
        check(control=[])


@settings(max_examples=40)
@given(st.floats(1e-3, 1e3), st.floats(1e-6, 0.1), st.floats(2.0, 50.0))
def test_the_distance_of_a_control_is_in_tolerances_and_beyond_a_hundredfold_nobody_believed_it(
    scale, rtol, times
):
    for factor, believable in ((1 + times * rtol, True), (times * 102.5, False)):
        control = Variant("another", predicted=factor * scale)
        made = check(measured=scale, predicted=scale, atol=rtol * scale, control=control).control
        assert made.distance == pytest.approx(abs(factor - 1) / rtol, rel=1e-9)
        assert made.believable == believable and ("nobody would have" in made.far) != believable
    exact = check(measured=3, predicted=3, atol=0.0, control=Variant("four", predicted=4)).control
    assert exact.distance is None and exact.believable


def test_the_distance_is_that_of_the_share_that_must_fail():
    control = Variant("other", measured=np.array([1.0, 1.3, 1.2, 5.0]), share=0.75)
    assert check(measured=np.ones(4), atol=0.1, control=control).control.distance == pytest.approx(2.0)


def test_numbers_of_the_same_bits_are_refused_where_some_may_differ_but_not_whole_ones():
    values = np.array([1.5, 2.25])
    with pytest.raises(ValueError, match="predicted is measured itself, allowed: what another route gives"):
        check(measured=values, predicted=values.copy(), control=Variant("twice", predicted=2 * values))
    for given_ in (
        {"measured": [1, 2], "predicted": [1, 2]},
        {"measured": values, "predicted": values.copy()},
    ):
        exact = {"atol": 0.0} if given_["measured"] is values else {}
        assert check(**given_, **exact, control=Variant("nine", predicted=9.0)).verdict == "verified"


def test_a_listener_is_told_each_verdict():
    told = []
    LISTENERS.append(told.append)
    try:
        verdict = check()
    finally:
        LISTENERS.remove(told.append)
    assert told == [verdict]
