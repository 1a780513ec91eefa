"""The papers' pages and the claims' addresses, as a reader gets them."""

from collections import Counter
from urllib.parse import urldefrag

import pytest
from plain_text import plain

from lib.claims.ledger import read_ledger

PAPERS = read_ledger()
CLAIMS = [claim for paper in PAPERS for claim in paper.claims]
papers = pytest.mark.parametrize("paper", PAPERS, ids=lambda paper: paper.key)


@pytest.fixture(scope="session")
def shown(soups, site):
    """The verdict of every claim as the scorecard shows it."""
    rows = soups[site / "book" / "scorecard.html"].select("tr.scorecard-row")
    return {row["id"].removeprefix("scorecard-"): row.select_one(".verdict-badge").text for row in rows}


@papers
def test_every_claim_stands_once_on_its_paper_s_page_with_its_verdict(soups, site, shown, paper):
    lines = soups[site / "book" / "papers" / f"{paper.key}.html"].select(".verdict-line")
    found = {line["id"].removeprefix("verdict-"): line for line in lines}
    assert len(found) == len(lines) and set(found) == {claim.id for claim in paper.claims}
    for name, line in found.items():
        assert line.select_one(".verdict-badge").text == shown[name]
        assert line.select_one("a.claim-address")["href"] == f"../../c/{name}.html"


@papers
def test_a_thing_shows_the_verdict_of_each_of_its_parts_with_the_cell_that_decides_it(soups, site, paper):
    soup = soups[site / "book" / "papers" / f"{paper.key}.html"]
    sections = [
        section for section in soup.select("section") if section.select_one(":scope > .verdict-lines")
    ]
    assert len(sections) > 20
    for section in sections:
        parts = section.select(".verdict-parts .verdict-badge")
        lines = section.select(":scope > .verdict-lines > .verdict-line > .claim-head .verdict-badge")
        assert [part.text for part in parts] == [line.text for line in lines], section["id"]
        for part in parts:
            linked = part.find_parent("a", class_="verdict-link")
            assert (linked is None) == (part.text in ("not yet", "not here")), section["id"]


@papers
def test_a_picture_of_a_thing_is_a_figure_of_the_chapter_that_it_links_to(soups, site, paper):
    page = site / "book" / "papers" / f"{paper.key}.html"
    pictures = soups[page].select(".verdict-pictured .finding-picture a")
    assert len(pictures) > 8
    for link in pictures:
        chapter, _, figure = link["href"].partition("#")
        assert soups[(page.parent / chapter).resolve()].find(id=figure).name == "figure"
        image = link.img
        assert image["alt"].strip() and image["loading"] == "lazy"


@papers
def test_the_brief_of_a_paper_is_short_and_stands_before_its_claims(soups, site, paper):
    soup = soups[site / "book" / "papers" / f"{paper.key}.html"]
    brief = soup.find("section", id=f"{paper.key}-in-brief")
    assert brief.h2 and 3 <= len(brief.ul.select("li")) <= 5 and brief.select_one(".verdict-contents")
    assert not brief.find_previous(class_="verdict-line")


def test_the_badges_of_a_page_count_its_claims(soups, site, shown):
    for paper in PAPERS:
        soup = soups[site / "book" / "papers" / f"{paper.key}.html"]
        badges = soup.select(".verdict-contents > p .verdict-badge")
        counts = {text.rpartition(" ")[0]: int(text.rpartition(" ")[2]) for text in (b.text for b in badges)}
        assert counts == Counter(shown[claim.id] for claim in paper.claims if not claim.ours)


def test_every_part_of_the_sidebar_begins_with_the_page_of_its_paper(soups, site):
    bar = soups[site / "book" / "index.html"].select_one("nav.bd-links")
    first = {
        caption.text.strip(): caption.find_next("ul").select_one("a") for caption in bar.select("p.caption")
    }
    papers = {name: link for name, link in first.items() if "papers/" in link["href"]}
    assert len(papers) == len(PAPERS)
    for link in papers.values():
        paper = next(one for one in PAPERS if one.key in link["href"])
        assert str(paper.year) in link.text and link.text.strip().startswith("Paper: ")
    numbers = [link.text.split(".")[0].strip() for link in bar.select("li.toctree-l1 > a")]
    chapters = [int(number) for number in numbers if number.isdigit()]
    assert len(chapters) > 30 and chapters == list(range(1, len(chapters) + 1))


def test_the_list_by_question_has_every_chapter_once_with_its_minutes(soups, site):
    rows = soups[site / "book" / "by_question.html"].select("table.questions tbody tr")
    cells = [[cell.get_text(" ", strip=True) for cell in row.select("td")] for row in rows]
    chapters = [row.select_one("td:nth-child(2) a")["href"] for row in rows]
    folders = {"sigmoidal_curves", "saddle_to_saddle", "early_alignment", "neuron_clustering"}
    wanted = {
        f"{path.parent.name}/{path.name}"
        for path in (site / "book").glob("*/*.html")
        if path.parent.name in folders | {"gradient_starvation"}
    }
    assert sorted(chapters) == sorted(wanted)
    assert all(question.endswith("?") and 1 <= int(minutes) <= 60 for question, _, minutes in cells)


@papers
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


@pytest.fixture
def landing(open_page, site):
    page = open_page(f"{site.as_uri()}/book/index.html")
    page.clicks = 0

    def follow(within, words):
        page.locator(within).get_by_role("link", name=words).first.click()
        page.wait_for_load_state("load")
        page.clicks += 1

    page.follow = follow
    yield page
    assert page.clicks <= 3 and page.errors == []


def seen(page, selector):
    """The text of what is in view, once it is."""
    page.wait_for_function(
        """selector => [...document.querySelectorAll(selector)].some(one => {
            const box = one.getBoundingClientRect();
            return box.height && box.top < innerHeight && box.bottom > 0;
        })""",
        arg=selector,
    )
    return page.locator(selector).first.inner_text()


def test_a_reader_finds_whether_theorem_1_of_min2024_is_true_and_at_what_scale(landing):
    landing.follow("article", "Min, Mallada, Vidal 2024")
    brief = seen(landing, "#min2024-in-brief > ul")
    assert "Theorem 1 is true" in brief and "the scale of Eq. (28)" in brief
    landing.follow(".verdict-contents", "Theorem 1")
    said = seen(landing, "#min2024-theorem-1")
    assert "Part 1" in said and "Part 2" in said and "corrected" in said and "verified" in said
    landing.follow("#min2024-theorem-1 .verdict-parts li:has-text('the scale')", "verified")
    assert "Eq. (28)" in seen(landing, "#claim-min2024-thm1-eps")


def test_a_reader_finds_what_is_wrong_in_figure_7_of_boursier2022(landing):
    landing.follow("article", "Boursier, Pillaud-Vivien, Flammarion 2022")
    landing.locator(".verdict-contents dd").nth(3).get_by_role("link", name="7", exact=True).click()
    landing.clicks += 1
    assert "two components explain the share 0.7" in seen(landing, "#boursier2022-figure-7")
    landing.follow("#boursier2022-figure-7", "verified")
    assert "two principal components" in seen(landing, "#claim-boursier2022-fig-7b")


def test_a_reader_finds_whether_spectral_decoupling_helps_on_coloured_digits(landing):
    assert "does hardly better than plain training" in landing.locator("article").inner_text()
    landing.follow("article", "list by question")
    assert "help on coloured digits" in landing.locator("table.questions").last.inner_text()
    landing.follow("table.questions >> nth=-1", "Sixty-eight per cent")
    assert "passing phase" in seen(landing, "h1")
    assert landing.locator("#claim-pezeshki2021-tab-1-sd .verdict-badge").first.text_content() == "refuted"


def test_a_reader_finds_how_to_run_a_chapter_and_how_to_report_an_error(landing):
    landing.follow("article", "Another page")
    assert "make book" in seen(landing, "article pre")
    correct = landing.locator("section", has_text="Something here is wrong").last
    correct.scroll_into_view_if_needed()
    assert "send the id, the commit and the changed cell" in correct.inner_text()
