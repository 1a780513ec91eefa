"""What a claim is about, in which order the things of a paper stand, and what is said of their verdicts."""

import re

import pytest
from claim_addresses import moved, plain
from claim_cards import NOT_YET
from hypothesis import given
from hypothesis import strategies as st
from paper_pages import KINDS, PHRASES, Thing, groups_of, in_order, thing_of, things_named, verdict_sentence

from lib.claims.ledger import VERDICTS, read_ledger

NUMBERS = st.integers(1, 99).map(str) | st.from_regex(r"[1-9A-K]\.[1-9]", fullmatch=True)
THINGS = st.builds(Thing, st.sampled_from(sorted(KINDS)), NUMBERS)
COUNTS = st.dictionaries(st.sampled_from((*VERDICTS, NOT_YET)), st.integers(1, 50), min_size=1)


@given(
    THINGS, st.sampled_from(["", ", part 2", " (a)", " (i), proof", ", rate; Appendix D.3", "; Theorem 1"])
)
def test_a_place_is_about_what_it_names_first_with_all_its_parts(thing, rest):
    assert thing_of(thing.name + rest) == thing
    assert (
        thing_of(f"Section 2, {thing.name}{rest}" if thing.kind in ("Theorem", "Figure") else thing.name)
        == thing
    )


@pytest.mark.parametrize(
    ("place", "name", "named"),
    [
        ("Equations 12 and 13", "Equation 12", 2),
        ("Equations (28)-(29)", "Equation 28", 2),
        ("Eqs. (7) and (8)", "Equation 7", 2),
        ("Figs. 3 (left) and 7", "Figure 3", 2),
        ("Appendix C.2, Figures 14 to 17", "Figure 14", 5),
        ("Equation (11) and Lemma 6", "Lemma 6", 2),
        ("Section 3.1, text after Lemma 3.1", "Section 3.1", 1),
        ("Section 3, Eq. 5; Appendix E, Assumption B2", "Equation 5", 4),
        ("Section 3 and Appendix F (Lyu and Li, Theorem A.8; Ji and Telgarsky, Theorem 3.1)", "Section 3", 2),
        ("Assumption B3.1", "Assumption B3.1", 1),
    ],
)
def test_lists_ranges_and_passages_around_a_theorem(place, name, named):
    assert thing_of(place).name == name and len(things_named(place)) == named


def test_a_place_without_a_thing_is_refused():
    with pytest.raises(ValueError, match="Theorem"):
        thing_of("somewhere")


@given(st.lists(THINGS, unique=True))
def test_things_of_a_kind_stand_by_their_numbers_and_nothing_is_lost(things):
    ordered = in_order(things)
    assert sorted(ordered, key=str) == sorted(things, key=str) and in_order(ordered) == ordered
    for kind in KINDS:
        orders = [thing.order for thing in ordered if thing.kind == kind]
        assert orders == sorted(orders)


@pytest.mark.parametrize("paper", read_ledger(), ids=lambda paper: paper.key)
def test_every_claim_of_a_paper_is_in_one_group(paper):
    theirs = [claim for claim in paper.claims if not claim.ours]
    groups = groups_of(theirs)
    assert sorted(claim.id for group in groups for claim in group.claims) == sorted(one.id for one in theirs)
    assert len({group.thing.slug for group in groups}) == len(groups)


@given(COUNTS)
def test_the_sentence_counts_every_verdict(counts):
    said = verdict_sentence(counts)
    total = sum(counts.values())
    for verdict, count in counts.items():
        phrase = PHRASES[verdict][count > 1]
        before = "It|Both claims|All \\d+ claims" if len(counts) == 1 else f"{count}( of {total} claims)?"
        assert re.search(rf"(^|, )({before}) {phrase}[,.]", said)
    numbers = list(map(int, re.findall(r"\d+", said.replace(f" of {total} ", " "))))
    assert sum(numbers) == (total if len(counts) > 1 or total > 2 else 0)
    assert "printed" not in verdict_sentence(counts, ours=True)


def test_tex_becomes_text():
    assert plain(r"$\|w_j(t)\|^2\le2\lambda W_{\max}^2/\sqrt m$") == "‖w_j(t)‖^2≤2λW_max^2/√m"
    assert (
        plain(r"$$\frac{\ln(1/\lambda)}{\|x_\pm\|}+O(1)$$ *as* $\theta^*$")
        == "(ln (1/λ))/(‖x_±‖)+O(1) as θ^*"
    )


@pytest.mark.parametrize("paper", read_ledger(), ids=lambda paper: paper.key)
def test_no_tex_is_left_in_a_description(paper):
    for claim in paper.claims:
        for text in (claim.place, claim.corrected or claim.statement):
            assert not re.search(r"[\\$]", plain(text)), claim.id


def test_links_lead_from_the_address_where_they_led_from_the_page():
    links = ["../a/b.html#c", "#d", "https://arxiv.org", "../../c/e.html"]
    line = "".join(f'<a class="x" href="{link}">' for link in links)
    there = re.findall('href="([^"]*)"', moved(line, "book/papers/p.html"))
    assert there == ["../book/a/b.html#c", "../book/papers/p.html#d", "https://arxiv.org", "e.html"]
