"""The papers' pages and the claims' addresses, as a reader gets them."""

from collections import Counter
from urllib.parse import urldefrag

import pytest
from claim_addresses import plain
from paper_pages import verdict_sentence

from lib.claims.ledger import read_ledger

PAPERS = read_ledger()
CLAIMS = [claim for paper in PAPERS for claim in paper.claims]


@pytest.fixture(scope="session")
def shown(soups, site):
    """The verdict of every claim as the scorecard shows it."""
    rows = soups[site / "book" / "scorecard.html"].select("tr.scorecard-row")
    return {row["id"].removeprefix("scorecard-"): row.select_one(".verdict-badge").text for row in rows}


@pytest.mark.parametrize("paper", PAPERS, ids=lambda paper: paper.key)
def test_every_claim_stands_once_on_its_paper_s_page_with_its_verdict(soups, site, shown, paper):
    lines = soups[site / "book" / "papers" / f"{paper.key}.html"].select(".verdict-line")
    found = {line["id"].removeprefix("verdict-"): line for line in lines}
    assert len(found) == len(lines) and set(found) == {claim.id for claim in paper.claims}
    for name, line in found.items():
        assert line.select_one(".verdict-badge").text == shown[name]
        assert line.select_one("a.claim-address")["href"] == f"../../c/{name}.html"


@pytest.mark.parametrize("paper", PAPERS, ids=lambda paper: paper.key)
def test_the_sentence_of_a_group_counts_its_lines(soups, site, paper):
    soup = soups[site / "book" / "papers" / f"{paper.key}.html"]
    sections = [
        section for section in soup.select("section") if section.find(class_="verdict-line", recursive=False)
    ]
    assert len(sections) > 20
    for section in sections:
        badges = section.select(":scope > .verdict-line .verdict-badge")
        ours = section["id"].endswith("-beyond")
        said = verdict_sentence(Counter(badge.text for badge in badges), ours)
        assert said in section.find("p", recursive=False).text, section["id"]


@pytest.mark.parametrize("paper", PAPERS, ids=lambda paper: paper.key)
def test_the_contents_name_all_that_has_a_heading(soups, site, paper):
    soup = soups[site / "book" / "papers" / f"{paper.key}.html"]
    linked = {link["href"] for link in soup.select(".verdict-contents a.verdict-badge")}
    assert {f"#{heading.parent['id']}" for heading in soup.select("section > h3")} <= linked


def test_every_claim_has_an_address_and_no_other_is_left(site):
    assert {path.stem for path in (site / "c").glob("*")} == {claim.id for claim in CLAIMS}


def test_an_address_says_what_a_preview_needs_and_leads_on(soups, site, shown):
    for claim in CLAIMS:
        soup = soups[site / "c" / f"{claim.id}.html"]
        title = soup.title.text
        assert title == f"{claim.paper}, {plain(claim.place)}: {shown[claim.id]}"
        about = {
            meta.get("name") or meta.get("property"): meta.get("content") for meta in soup.select("meta")
        }
        assert about["og:title"] == title and about["og:description"] == about["description"]
        assert 10 < len(about["description"]) <= 300
        assert len(soup.select(".verdict-line")) == len(soup.select("h1")) == 1
        assert len(soup.select("details.as-printed[open]")) == bool(claim.corrected)
        anchors = {urldefrag(link["href"]).fragment for link in soup.select("ul a")}
        assert {f"verdict-{claim.id}", f"scorecard-{claim.id}"} <= anchors
        assert (f"claim-{claim.id}" in anchors) == (shown[claim.id] not in ("not yet", "not here"))
        assert bool(claim.wrong) <= any(anchor.startswith("erratum-") for anchor in anchors)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["min2024-lem3", "min2024-thm1.1-t1", "combes2018-fig-5l"])
def test_an_address_opens_from_the_disk_on_a_phone(open_page, site, name, scheme):
    page = open_page(f"{site.as_uri()}/c/{name}.html", width=360, color_scheme=scheme)
    assert page.errors == []
    beyond = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    assert page.evaluate(beyond) <= 1
    assert page.evaluate("document.documentElement.dataset.theme") == scheme
    page.locator("ul a").first.click()
    page.locator(f"[id='verdict-{name}']").wait_for()
    assert page.url.endswith(f"#verdict-{name}")
