"""What the search finds stands somewhere."""

from types import SimpleNamespace

import pytest
import search_index

from executable_claims.ledger import read_ledger
from executable_claims.outcomes import Outcomes


def test_a_claim_is_found_where_it_stands_and_refused_where_it_does_not(monkeypatch):
    paper = read_ledger()[0]
    known = Outcomes(pages={f"scorecard-{claim.id}": "book/list" for claim in paper.claims})
    monkeypatch.setattr(search_index, "outcomes", lambda env: known)
    places = {name: address for _, name, _, address, _ in search_index.claims(SimpleNamespace(), (paper,))}
    assert places == {claim.id: f"book/list.html#scorecard-{claim.id}" for claim in paper.claims}
    lost = known.pages.popitem()[0]
    with pytest.raises(ValueError, match=f"{lost} is on no page, allowed: claims with a card or"):
        list(search_index.claims(SimpleNamespace(), (paper,)))
