"""What a chapter says of itself: how to run it, to cite it and to correct it, by keyboard and on a phone."""

import os
import re
from urllib.parse import urljoin

import pytest

CHAPTER = "book/early_alignment/alignment_time.html"
CLIPBOARD = ["clipboard-read", "clipboard-write"]
REPOSITORY = os.environ.get("BOOK_REPOSITORY", "")


@pytest.fixture(scope="module")
def chapters(soups, site):
    """The chapters of the parts, and what stands at their feet."""
    pages = {path: soup for path, soup in soups.items() if soup.select("a.btn-download-notebook-button")}
    parts = {path: soup for path, soup in pages.items() if path.parent.parent == site / "book"}
    return {path: (soup, soup.select("nav.chapter-foot")) for path, soup in parts.items()}


def test_every_chapter_has_one_foot_and_a_link_to_it(chapters, soups):
    assert len(chapters) > 60
    assert sum(len(soup.select("nav.chapter-foot")) for soup in soups.values()) == len(chapters)
    for path, (soup, feet) in chapters.items():
        assert len(feet) == 1, path
        [link] = soup.select(".chapter-actions a")
        assert link["href"] == f"#{feet[0]['id']}"
        assert (path.parent / feet[0].select_one("a[download]")["href"]).resolve().exists()
        names = [a.text for a in feet[0].select("a")]
        assert ("Binder" in names, "Colab" in names, "This is wrong" in names) == (bool(REPOSITORY),) * 3
        assert {"How to run the book", "How to correct it"} <= set(names)


def test_an_entry_names_the_chapter_the_book_and_the_commit(chapters):
    keys = set()
    for path, (soup, [foot]) in chapters.items():
        entry = foot.pre.text
        title = soup.h1.find(string=True, recursive=False)
        fields = dict(re.findall(r"^  (\w+) += \{(.*)\},?$", entry, re.M))
        keys.add(re.match(r"@\w+\{([\w:-]+),", entry)[1])
        assert fields["title"] == title and fields["booktitle"] == "Learning Dynamics, Executed", path
        assert soup.select_one("h1 .section-number").text == f"{fields['chapter']}. "
        assert re.fullmatch(r"20\d\d", fields["year"]) and fields["note"].startswith("Commit ")
        assert entry.count("{") == entry.count("}")
        assert ("url" in fields) == ("BOOK_ADDRESS" in os.environ)
    assert len(keys) == len(chapters)


@pytest.mark.parametrize("width", [360, 1280])
def test_the_entry_is_copied_by_keyboard(browser, site, width):
    context = browser.new_context(viewport={"width": width, "height": 800}, permissions=CLIPBOARD)
    page = context.new_page()
    page.goto(urljoin(f"{site.as_uri()}/", CHAPTER))
    page.locator(".chapter-actions a").press("Enter")
    foot = page.locator("nav.chapter-foot")
    page.wait_for_function("scrollY > 1000")
    for item in foot.locator("a, summary, button").all():
        assert item.bounding_box()["height"] >= 24 and item.bounding_box()["width"] >= 24
    foot.get_by_role("button", name="Copy BibTeX").press("Enter")
    foot.get_by_text("Copied").wait_for()
    assert page.evaluate("navigator.clipboard.readText()") == foot.locator("pre").text_content()
    foot.locator("summary").press("Enter")
    assert foot.locator("pre").is_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    context.close()
