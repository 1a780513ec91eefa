"""What a claim is about, and what a paper's page says of each thing, in which order."""

import re
from types import SimpleNamespace

import pytest
from docutils import nodes
from docutils.parsers.rst import DirectiveError
from hover_previews import moved
from mathematics import plain

from executable_claims.claims.ledger import STATEMENTS, VERDICTS, Thing, read_ledger
from executable_claims.site.outcomes import NOT_YET, SERIOUS, Outcomes
from executable_claims.site.pages import Verdicts, beyond, groups_of, naming
from tests.book.test_book import BOOK

FIELD = re.compile(r"^:([A-Z]\w+ [A-Z\d.]+)(?:, (fig-[\w-]+))?: ?(.*(?:\n  .*)*)$", re.M)
papers = pytest.mark.parametrize("paper", read_ledger(), ids=lambda paper: paper.key)


def fields(paper):
    """The things of a paper's page, with their figures and sentences."""
    return FIELD.findall((BOOK / "papers" / f"{paper.key}.md").read_text(encoding="utf-8"))


def theirs(paper):
    return [claim for claim in paper.claims if not claim.ours]


@papers
def test_every_claim_of_a_paper_is_in_one_group(paper):
    groups = groups_of(theirs(paper))
    listed = [claim.id for claims in groups.values() for claim in claims]
    assert sorted(listed) == sorted(one.id for one in theirs(paper))
    assert len({thing.slug for thing in groups}) == len(groups)


@papers
def test_all_that_a_claim_names_leads_to_a_group_with_a_claim_that_names_it(paper):
    groups = groups_of(theirs(paper))
    found = naming(groups)
    assert set(found) == {thing for claim in theirs(paper) for thing in claim.things}
    for thing, leads in found.items():
        assert leads[0] == thing or thing not in groups
        assert len(set(leads)) == len(leads)
        assert set(leads) == {one for one in groups if any(thing in claim.things for claim in groups[one])}


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
    assert beyond(place, "Lemma 3") == shown
    assert beyond(place, "") == place


def test_verdicts_are_counted_with_the_most_serious_first():
    assert set(SERIOUS) == {*VERDICTS, NOT_YET}
    paper = read_ledger()[0]
    for claims in (theirs(paper), theirs(paper)[:3]):
        known = Outcomes(records={claim.id: {"verdict": claim.expected} for claim in claims[1:]})
        counts = known.counts(claims)
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
