"""What a claim is about, and what a paper's page says of each thing, in which order."""

import re
from types import SimpleNamespace

import pytest
from claim_addresses import moved
from claim_cards import NOT_YET
from docutils import nodes
from docutils.parsers.rst import DirectiveError
from hypothesis import given
from hypothesis import strategies as st
from paper_pages import SERIOUS, Verdicts, verdict_counts
from places import KINDS, STATEMENTS, Thing, groups_of, thing_of, things_named
from plain_text import plain

from lib.claims.ledger import VERDICTS, read_ledger
from tests.book.test_book import BOOK

FIELD = re.compile(r"^:([A-Z]\w+ [A-Z\d.]+)(?:, (fig-[\w-]+))?: ?(.*(?:\n  .*)*)$", re.M)
NUMBERS = st.integers(1, 99).map(str) | st.from_regex(r"[1-9A-K]\.[1-9]", fullmatch=True)
THINGS = st.builds(Thing, st.sampled_from(sorted(KINDS)), NUMBERS)
papers = pytest.mark.parametrize("paper", read_ledger(), ids=lambda paper: paper.key)


def fields(paper):
    """The things of a paper's page, with their figures and sentences."""
    return FIELD.findall((BOOK / "papers" / f"{paper.key}.md").read_text(encoding="utf-8"))


def theirs(paper):
    return [claim for claim in paper.claims if not claim.ours]


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


@papers
def test_every_claim_of_a_paper_is_in_one_group(paper):
    groups = groups_of(theirs(paper))
    listed = [claim.id for group in groups.values() for claim in group.claims]
    assert sorted(listed) == sorted(one.id for one in theirs(paper))
    assert len({thing.slug for thing in groups}) == len(groups)


@papers
def test_the_things_of_a_kind_stand_by_their_numbers(paper):
    """Equations are left out: a paper speaks of them where it needs them."""
    things = [Thing(*name.split()) for name, _, _ in fields(paper)]
    assert {thing.name for thing in things} == {thing.name for thing in groups_of(theirs(paper))}
    for kind in STATEMENTS:
        orders = [thing.order for thing in things if thing.kind == kind and thing.number[0].isdigit()]
        assert orders == sorted(orders), kind


@papers
def test_no_two_sentences_of_a_page_are_bare_verdicts(paper):
    said = [text for _, _, text in fields(paper)]
    assert sum(text in ("True.", "True as printed.") for text in said) <= len(said) / 10


def directive(*content):
    """The directive with a content that is parsed already: headings, and names of things with sentences."""

    def parse(lines, offset, parent):
        for node in content:
            if isinstance(node, str):
                parent += nodes.paragraph("", node)
                continue
            fields = nodes.field_list()
            for name, text in node.items():
                body = nodes.field_body("", *([nodes.paragraph("", text)] if text else []))
                fields += nodes.field("", nodes.field_name("", name), body)
            parent += fields

    made = Verdicts.__new__(Verdicts)
    made.content, made.content_offset = [], 0
    made.state = SimpleNamespace(nested_parse=parse)
    return made


def test_the_content_is_headings_with_the_things_below_them():
    first, second = directive(
        "One", {"Theorem 1, fig-a": "Right.", "Equation 2": ""}, "Two", {"Lemma 3": "Wrong."}
    ).parts(dict.fromkeys(["Theorem 1", "Equation 2", "Lemma 3"]))
    assert (first.title, second.title) == ("One", "Two")
    assert [(entry.name, entry.figure, len(entry.said)) for entry in first.entries] == [
        ("Theorem 1", "fig-a", 1),
        ("Equation 2", "", 0),
    ]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"Lemma 3": "Right."}, "not in the content: Theorem 1"),
        ({"Lemma 3": "Right.", "Theorem 1": "Right.", "Lemma 4": "Right."}, "not in the ledger: Lemma 4"),
        ({"Lemma 3": "Right.", "Theorem 1": "Right.", "Lemma 3, fig-a": "Right."}, "twice: Lemma 3"),
        ({"Lemma 3": "", "Theorem 1": "Right."}, "lack a sentence: Lemma 3"),
    ],
)
def test_a_content_that_does_not_fit_the_ledger_is_refused(fields, message):
    with pytest.raises(DirectiveError) as refused:
        directive("One", fields).parts(dict.fromkeys(["Theorem 1", "Lemma 3"]))
    assert message in refused.value.msg


@pytest.mark.parametrize(
    ("place", "shown"),
    [
        ("Lemma 3", ""),
        ("Lemma (3)", ""),
        ("Lemma 3, time; Lemma 10 (i)", "time; Lemma 10 (i)"),
        ("Lemma 3; Eq. 4", "Eq. 4"),
        ("Lemma 3 (i)", "Lemma 3 (i)"),
        ("Lemma 3.1", "Lemma 3.1"),
    ],
)
def test_a_place_does_not_say_its_heading_again(place, shown):
    assert directive().place(SimpleNamespace(place=place), Thing("Lemma", "3")) == shown


def test_verdicts_are_counted_with_the_most_serious_first():
    assert set(SERIOUS) == {*VERDICTS, NOT_YET}
    paper = read_ledger()[0]
    for claims in (theirs(paper), theirs(paper)[:3]):
        found = {claim.id: {"record": {"verdict": claim.expected}} for claim in claims[1:]}
        counts = verdict_counts(SimpleNamespace(claim_verdicts=found), [claim.id for claim in claims])
        assert sum(counts.values()) == len(claims) and counts[NOT_YET] == 1
        assert list(counts) == [verdict for verdict in SERIOUS if verdict in counts]


def test_tex_becomes_text():
    assert plain(r"$\|w_j(t)\|^2\le2\lambda W_{\max}^2/\sqrt m$") == "‖w_j(t)‖^2≤2λW_max^2/√m"
    assert (
        plain(r"$$\frac{\ln(1/\lambda)}{\|x_\pm\|}+O(1)$$ *as* $\theta^*$")
        == "(ln (1/λ))/(‖x_±‖)+O(1) as θ^*"
    )


@papers
def test_no_tex_is_left_in_a_description(paper):
    for claim in paper.claims:
        for text in (claim.place, claim.corrected or claim.statement):
            assert not re.search(r"[\\$]", plain(text)), claim.id


def test_links_lead_from_the_address_where_they_led_from_the_page():
    links = ["../a/b.html#c", "#d", "https://arxiv.org", "../../c/e.html"]
    line = "".join(f'<a class="x" href="{link}">' for link in links)
    there = re.findall('href="([^"]*)"', moved(line, "book/papers/p.html", "c"))
    assert there == ["../book/a/b.html#c", "../book/papers/p.html#d", "https://arxiv.org", "e.html"]
