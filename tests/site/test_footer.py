"""What a chapter says of itself: how to run it, to cite it and to correct it, by keyboard and on a phone."""

import os
import re

import pytest

from tests.site.conftest import CHAPTERS, beyond

REPOSITORY = os.environ.get("BOOK_REPOSITORY", "")


@pytest.fixture(scope="module")
def feet(soups):
    """What stands at the feet of pages."""
    found = {path: soup.find_all("nav", class_="chapter-foot") for path, soup in soups.items()}
    return {path: feet for path, feet in found.items() if feet}


def test_every_chapter_has_one_foot_and_a_link_to_it(feet, soups, site):
    assert sorted(feet) == CHAPTERS
    for path, [foot] in feet.items():
        [link] = soups[path].select(".chapter-actions a")
        assert link["href"] == f"#{foot['id']}"
        assert (site / path).parent.joinpath(foot.select_one("a[download]")["href"]).exists()
        names = [a.text for a in foot.select("a")]
        assert ("Binder" in names, "Colab" in names, "This is wrong" in names) == (bool(REPOSITORY),) * 3
        assert {"How to run the book", "How to correct it"} <= set(names)


def test_every_executed_page_says_how_long_it_runs(soups, site):
    sources = site / "_sources"
    offered = {path.relative_to(sources).with_suffix(".html") for path in sources.rglob("*.ipynb")}
    said = {path: [one.text for one in soup.select(".run-time")] for path, soup in soups.items()}
    assert {path for path, texts in said.items() if texts} == set(map(str, offered))
    assert all(
        re.fullmatch(r"Read in \d+ minutes, runs in [1-9]\d* s", text)
        for texts in said.values()
        for text in texts
    )


def test_an_entry_names_the_chapter_the_book_and_the_commit(feet, soups):
    keys = set()
    for path, [foot] in feet.items():
        entry, soup = foot.pre.text, soups[path]
        title = soup.h1.find(string=True, recursive=False)
        fields = dict(re.findall(r"^  (\w+) += \{(.*)\},?$", entry, re.M))
        keys.add(re.match(r"@\w+\{([\w:-]+),", entry)[1])
        assert fields["title"] == title and fields["booktitle"] == "Learning Dynamics, Executed", path
        assert soup.select_one("h1 .section-number").text == f"{fields['chapter']}. "
        assert re.fullmatch(r"20\d\d", fields["year"]) and fields["note"].startswith("Commit ")
        assert entry.count("{") == entry.count("}")
        assert ("url" in fields) == ("BOOK_ADDRESS" in os.environ)
    assert len(keys) == len(feet)


@pytest.mark.parametrize("width", [360, 1280])
def test_the_entry_is_copied_by_keyboard(open_page, disk, width):
    clipboard = ["clipboard-read", "clipboard-write"]
    page = open_page(f"{disk}/book/early_alignment/alignment_time.html", width=width, permissions=clipboard)
    page.locator(".chapter-actions a").press("Enter")
    foot = page.locator("nav.chapter-foot")
    page.wait_for_function("scrollY > 1000")
    foot.get_by_role("button", name="Copy BibTeX").press("Enter")
    foot.get_by_text("Copied").wait_for()
    assert page.evaluate("navigator.clipboard.readText()") == foot.locator("pre").text_content()
    foot.locator("summary").press("Enter")
    assert foot.locator("pre").is_visible()
    assert beyond(page) <= 0
