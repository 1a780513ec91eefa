"""How readers and machines come to the site: previews of links, the root, a miss, one file for the disk."""

import json
import os
import re
import subprocess
import zipfile

import pytest

from executable_claims.claims.ledger import NOT_HERE, read_ledger
from tests.site.conftest import CHAPTERS

ADDRESS = os.environ.get("BOOK_ADDRESS", "").rstrip("/")
MARKUP = re.compile(r"[\\${}<>]|\bTODO\b|None\b|&\w+;")


@pytest.fixture(scope="module")
def heads(soups):
    """What the heads of all pages say of them: properties and contents."""
    return {
        path: [
            (tag.get("name") or tag.get("property"), tag["content"]) for tag in soup.select("meta[content]")
        ]
        for path, soup in soups.items()
    }


def test_every_page_has_one_description_without_markup(heads):
    for path, properties in heads.items():
        [text] = [content for name, content in properties if name == "description"]
        assert 50 <= len(text) <= 300, f"{path}: {text}"
        if not path.startswith("c/"):  # sets and brackets stand in the statements of claims
            assert not MARKUP.search(text), f"{path}: {text}"
        assert len([name for name, _ in properties if name == "viewport"]) == 1, path
    assert sum(dict(heads[path])["description"].startswith("At the end you will") for path in CHAPTERS) > 60


def test_a_preview_says_what_the_page_says(heads):
    for path, properties in heads.items():
        found = dict(properties)
        if path != "404.html":
            assert found["og:description"] == found["description"] and found["og:title"], path
            assert ("og:image" in found) == bool(ADDRESS), "previews need whole addresses"


def test_the_root_opens_the_book_and_has_a_link_to_it(browser, disk, site, soups):
    soup = soups["index.html"]
    assert soup.title.text == soup.h1.text == "Learning Dynamics, Executed"
    page = browser.new_page(java_script_enabled=False)
    page.goto(f"{disk}/index.html")
    page.wait_for_url("**/book/index.html")
    assert (site / soup.a["href"]).exists()


@pytest.mark.parametrize("place", ["nothing", "book/nothing.html", "a/b/c"])
def test_a_miss_shows_a_page_with_ways_on(open_page, address, place):
    page = open_page(f"{address}/{place}", width=360)
    assert "no such page" in page.title() and "no such page" in page.inner_text("h1")
    page.errors[:] = [error for error in page.errors if "404" not in error]
    links = page.locator("a")
    assert links.count() == 3
    for link in links.all():
        box = link.bounding_box()
        assert box["height"] >= 24
        if not ADDRESS:  # else the links lead to where the site will be
            assert page.request.get(link.evaluate("link => link.href")).ok


def test_machines_are_told_where_the_pages_are(site):
    robots = (site / "robots.txt").read_text()
    assert "Allow: /" in robots and ("Sitemap: " in robots) == bool(ADDRESS)
    assert (site / "sitemap.xml").exists() == bool(ADDRESS)
    if ADDRESS:
        listed = re.findall(r"<loc>(.*?)</loc>", (site / "sitemap.xml").read_text())
        assert len(listed) > 400 and all(place.startswith(f"{ADDRESS}/") for place in listed)
        assert all((site / place.removeprefix(f"{ADDRESS}/")).exists() for place in listed)


def test_all_claims_are_one_file_with_its_commit_and_date(site, soups):
    content = json.loads((site / "claims.json").read_text())
    assert re.fullmatch(r"[0-9a-f]{12}( with uncommitted changes)?|unknown.*", content["commit"])
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", content["date"])
    known = {claim.id: claim for paper in read_ledger() for claim in paper.claims}
    entries = {entry["claim"]["id"]: entry for entry in content["claims"]}
    assert entries.keys() == known.keys() and len(content["claims"]) == len(known)
    for name, entry in entries.items():
        assert (entry["comparison"] is None) == (entry["verdict"] in ("not yet", NOT_HERE))
        assert (entry["verdict"] == NOT_HERE) == (known[name].expected == NOT_HERE)
    for page in ("scorecard", "run_it"):
        assert soups[f"book/{page}.html"].select("a[href='../claims.json']")


def test_the_whole_site_is_one_file(site):
    subprocess.run(["make", "zip"], cwd=site.parents[1], check=True, capture_output=True)
    with zipfile.ZipFile(site.parent / "learning-dynamics-executed.zip") as packed:
        names = {name for name in packed.namelist() if not name.endswith("/")}
    assert names == {path.relative_to(site).as_posix() for path in site.rglob("*") if path.is_file()}
