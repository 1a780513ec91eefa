"""The papers' pages and the claims' addresses, as a reader gets them."""

from collections import Counter
from urllib.parse import urldefrag, urljoin

import pytest

from executable_claims.claims.ledger import read_ledger
from tests.site.conftest import CHAPTERS, beyond

PAPERS = read_ledger()
CLAIMS = [claim for paper in PAPERS for claim in paper.claims]
IN_VIEW = """(one) => {
  const box = one.getBoundingClientRect();
  return box.height && box.top < innerHeight && box.bottom > 0;
}"""
papers = pytest.mark.parametrize("paper", PAPERS, ids=lambda paper: paper.key)


@pytest.fixture(scope="session")
def shown(soups):
    """The verdict of every claim as the scorecard shows it."""
    rows = soups["book/scorecard.html"].select("tr.scorecard-row")
    return {row["id"].removeprefix("scorecard-"): row.select_one(".verdict-badge").text for row in rows}


@pytest.fixture
def page_of(soups):
    return lambda paper: soups[f"book/papers/{paper.key}.html"]


@papers
def test_every_claim_stands_once_on_its_paper_s_page_with_its_verdict(page_of, shown, paper):
    lines = page_of(paper).select(".verdict-line")
    found = {line["id"].removeprefix("verdict-"): line for line in lines}
    assert len(found) == len(lines) and set(found) == {claim.id for claim in paper.claims}
    for name, line in found.items():
        assert line.select_one(".verdict-badge").text == shown[name]
        assert line.select_one("a.claim-address")["href"] == f"../../c/{name}.html"


@papers
def test_a_thing_shows_the_verdict_of_each_of_its_parts_with_the_cell_that_decides_it(page_of, paper):
    sections = page_of(paper).select("section:has(> .verdict-lines)")
    assert len(sections) > 20
    for section in sections:
        parts = section.select(".verdict-parts .verdict-badge")
        lines = section.select(":scope > .verdict-lines > .verdict-line > .claim-head .verdict-badge")
        assert [part.text for part in parts] == [line.text for line in lines], section["id"]
        for part in parts:
            linked = part.find_parent("a", class_="verdict-link")
            assert (linked is None) == (part.text in ("not yet", "not here")), section["id"]


@papers
def test_the_brief_of_a_paper_is_short_and_stands_before_its_claims(page_of, paper):
    brief = page_of(paper).find("section", id=f"{paper.key}-in-brief")
    assert brief.h2 and 3 <= len(brief.ul.select("li")) <= 5 and brief.select_one(".verdict-contents")
    assert not brief.find_previous(class_="verdict-line")


@papers
def test_the_front_page_says_in_short_what_the_page_of_the_paper_does(soups, page_of, paper):
    brief = page_of(paper).select_one(f"#{paper.key}-in-brief > ul")
    [short] = brief.select(".in-short")
    assert brief.text.strip().startswith(short.text)
    [said] = soups["book/index.html"].select(f"table.map td:has(a[href='papers/{paper.key}.html'])")
    assert said.text.rstrip().endswith(f"{short.text}.")


@papers
def test_the_badges_of_a_page_count_its_claims(page_of, shown, paper):
    badges = page_of(paper).select(".verdict-contents > p .verdict-badge")
    counts = {name: int(count) for name, _, count in (badge.text.rpartition(" ") for badge in badges)}
    assert counts == Counter(shown[claim.id] for claim in paper.claims if not claim.ours)


def test_every_part_of_the_sidebar_begins_with_the_page_of_its_paper(soups):
    captions = soups["book/index.html"].select("nav.bd-links summary:has(.caption-text)")
    first = [caption.find_next("ul").a for caption in captions]
    links = sorted((link for link in first if "papers/" in link["href"]), key=lambda link: link["href"])
    for link, paper in zip(links, sorted(PAPERS, key=lambda paper: paper.key), strict=True):
        assert paper.key in link["href"] and str(paper.year) in link.text
        assert link.text.strip().startswith("Paper: ")


def test_the_list_by_question_has_every_chapter_once_with_its_minutes(soups):
    rows = soups["book/by_question.html"].select("table.questions tbody tr")
    cells = [[cell.get_text(" ", strip=True) for cell in row.select("td")] for row in rows]
    listed = [urljoin("book/", row.select_one("td:nth-child(2) a")["href"]) for row in rows]
    assert sorted(listed) == CHAPTERS
    assert all(question.endswith("?") and 1 <= int(minutes) <= 60 for question, _, minutes in cells)


@papers
def test_the_contents_name_all_that_has_a_heading(page_of, paper):
    linked = {link["href"] for link in page_of(paper).select(".verdict-contents a.verdict-badge")}
    assert {f"#{heading.parent['id']}" for heading in page_of(paper).select("section > h3")} <= linked


def test_every_claim_has_an_address_that_says_what_a_preview_needs_and_leads_on(site, soups, shown, records):
    assert {path.stem for path in (site / "c").glob("*")} == {claim.id for claim in CLAIMS}
    for claim in CLAIMS:
        soup = soups[f"c/{claim.id}.html"]
        title = soup.title.text
        assert title == f"{claim.about}, {claim.paper}: {shown[claim.id]}"
        about = {tag.get("name") or tag.get("property"): tag.get("content") for tag in soup.select("meta")}
        assert about["og:title"] == title and about["og:description"] == about["description"]
        assert about["description"] == claim.headline == soup.h1.text.replace("’", "'")
        assert soup.select_one(".verdict-badge").text == shown[claim.id]
        decided = shown[claim.id] not in ("not yet", "not here")
        clauses = [[name.text for name in one.select("dt")] for one in soup.select(".claim-numbers-beside")]
        assert bool(clauses) == decided
        parts = [records[claim.id], *records[claim.id]["others"]] if decided else []
        for beside, part in zip(clauses, parts, strict=True):
            known = [name for name in beside if name not in ("Printed form", "Impostor")]
            assert known == ["Measured", "Theory", "Control", *["Control"] * len(part["more_controls"])]
        versions = [name.text for name in soup.select(".claim-versions h2")]
        repaired = "As it is" if claim.corrected else "What is wrong"
        assert versions == (["As printed", repaired] if claim.wrong else [])
        assert claim.id in soup.find(id="cite").find_next("pre").text
        assert ("pytest" in soup.main.text) == decided
        anchors = {urldefrag(link["href"]).fragment for link in soup.select("ul a")}
        assert {f"verdict-{claim.id}", f"scorecard-{claim.id}"} <= anchors
        assert (f"claim-{claim.id}" in anchors) == decided
        assert bool(claim.wrong) <= any(anchor.startswith("erratum-") for anchor in anchors)


def test_an_address_of_what_rests_on_a_record_says_how_to_make_it(soups):
    page = soups["c/pezeshki2021-tab-1-sd.html"]
    command = (
        "python -m experiments --records _build/anew run pezeshki2021-table-1 --variant test-split-expected"
    )
    assert command in page.main.text
    assert command in soups["book/papers/pezeshki2021.html"].find(id="verdict-pezeshki2021-tab-1-sd").text
    assert "experiments run" not in soups["c/min2024-lem3.html"].main.text


def test_a_picture_is_a_figure_of_the_chapter_that_it_links_to(soups, site):
    places = ".verdict-pictured .finding-picture a, .claim-figure > a"
    pictures = [(path, link) for path, soup in soups.items() for link in soup.select(places)]
    assert len(pictures) > len(CLAIMS) / 2
    for path, link in pictures:
        chapter, _, figure = link["href"].partition("#")
        assert soups[urljoin(path, chapter)].find(id=figure).name == "figure"
        if drawn := link.select_one(".drawing"):
            assert drawn["aria-label"].strip() and path.startswith("c/")
        else:
            assert link.img["alt"].strip() and (site / path).parent.joinpath(link.img["src"]).exists()


def test_an_address_lends_its_citation_and_its_report(open_page, disk):
    page = open_page(f"{disk}/c/min2024-lem3.html", permissions=["clipboard-read", "clipboard-write"])
    for box in page.locator(".claim-copied").all():
        box.get_by_role("button").click()
        box.get_by_text("Copied").wait_for()
        assert page.evaluate("navigator.clipboard.readText()") == box.locator("pre").text_content()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["min2024-lem3", "min2024-thm1.1-t1", "combes2018-fig-5l"])
def test_an_address_opens_from_the_disk_on_a_phone(open_page, disk, name, scheme):
    page = open_page(f"{disk}/c/{name}.html", width=360, color_scheme=scheme)
    assert beyond(page) <= 1
    assert page.evaluate("document.documentElement.dataset.theme") == scheme
    page.locator(f".claim-places a[href$='#verdict-{name}']").click()
    page.locator(f"[id='verdict-{name}']").wait_for()
    assert page.url.endswith(f"#verdict-{name}")


# What readers ask, and how they find it from the landing page in at most three clicks: where a link stands,
# its words, where they land, and what they read there.
ASKED = {
    "whether Theorem 1 of min2024 is true and at what scale": [
        ("article", "Min, Mallada, Vidal 2024", "#min2024-in-brief > ul", "Theorem 1 is true"),
        (".verdict-contents", "Theorem 1", "#min2024-theorem-1", "corrected"),
        ("#min2024-theorem-1 li:has-text('the scale')", "corrected", "#claim-min2024-thm1-eps", "Eq. (28)"),
    ],
    "what is wrong in Figure 7 of boursier2022": [
        ("article", "Boursier, Pillaud-Vivien, Flammarion 2022", "#boursier2022-in-brief", "Figure"),
        (
            ".verdict-contents dd >> nth=3",
            "7",
            "#boursier2022-figure-7",
            "two components explain the share 0.7",
        ),
        ("#boursier2022-figure-7", "verified", "#claim-boursier2022-fig-7b", "two principal components"),
    ],
    "whether spectral decoupling helps on coloured digits": [
        ("article", "All chapters by question", "article", "help on coloured digits"),
        ("table.questions >> nth=-2", "A fast colour", "h1:visible", "comes back"),
    ],
    "how to run a chapter and to report an error": [
        ("article", "Run it, cite it", "article", "make book"),
        (
            ".bd-sidebar-secondary",
            "Correct it",
            "#correct-it",
            "send the id, the commit and the changed cell",
        ),
    ],
}


@pytest.mark.parametrize("asked", ASKED)
def test_a_reader_finds(open_page, disk, asked):
    page = open_page(f"{disk}/book/index.html")
    for within, words, place, said in ASKED[asked]:
        page.locator(within).get_by_role("link", name=words, exact=words.isdigit()).first.click()
        there = page.locator(place, has_text=said).first
        page.wait_for_function(IN_VIEW, arg=there.element_handle())
