"""What a card says of a verdict, and how the claims are counted."""

import numpy as np
import pytest

from executable_claims import Variant, verify
from executable_claims.claims.ledger import NOT_HERE, VERDICTS, read_ledger
from executable_claims.site.cards import line_numbers
from executable_claims.site.outcomes import NOT_YET, OURS, Outcomes, erratum_of


def decided(claim_id="combes2018-tab-1", **changes):
    control = Variant("another law", predicted=np.array([1.0, 5.0, 5.0, 5.0]), share=0.75)
    arguments = {"measured": np.arange(1.0, 5.0), "predicted": np.arange(1.0, 5.0) + 0.1, "atol": 0.25}
    return verify(
        claim_id, **{**arguments, "because": "it is rounded", "control": control, **changes}
    ).record()


def test_the_line_of_a_card_shows_measured_predicted_and_control():
    assert line_numbers(decided()) == [
        *("measured 3", "predicted 3.1 ± 0.25", "would notice 8.5 %", "control fails in 3 of 4")
    ]
    single = decided(measured=2.0, predicted=None, at_most=3.0, atol=0.0, control=Variant("no", measured=4.0))
    assert line_numbers(single) == [
        "measured 2",
        "at most 3",
        "the data come within 33 % of the bound",
        "control fails",
    ]


def test_the_papers_claims_and_ours_are_counted_apart():
    claims = [claim for paper in read_ledger() for claim in paper.claims]
    ours = next(claim for claim in claims if claim.ours)
    theirs = next(claim for claim in claims if not claim.ours and claim.expected == "verified")
    known = Outcomes(records={one.id: {"verdict": "verified"} for one in (ours, theirs)})
    whole, own = known.tally(), known.tally(OURS)
    assert whole["claims"] + own["claims"] == len(claims) and own["claims"] == sum(
        bool(one.ours) for one in claims
    )
    assert (whole["decided"], own["decided"]) == (whole["verified"], own["verified"]) == (1, 1)
    assert whole[NOT_HERE] == sum(one.expected == NOT_HERE for one in claims) > 0
    for counts in (whole, own):
        assert sum(counts[verdict] for verdict in VERDICTS) == counts["claims"]
    papers = [known.tally(paper.key) for paper in read_ledger()]
    assert all(sum(paper[name] for paper in papers) == whole[name] for name in ("claims", "decided", NOT_YET))
    with pytest.raises(ValueError, match="key is 'min2023', allowed: ours, "):
        known.tally("min2023")
    with pytest.raises(KeyError):
        whole["verifed"]


@pytest.mark.parametrize("paper", read_ledger(), ids=lambda paper: paper.key)
def test_a_card_links_to_the_erratum_about_its_claim(paper):
    notes = {one.id: one for one in (*paper.errata, *paper.remarks)}
    for claim in paper.claims:
        if about := [name for name, note in notes.items() if claim.id in note.claims]:
            assert erratum_of(claim) == about[0]
        else:
            assert erratum_of(claim) == (claim.id if claim.wrong else "")
