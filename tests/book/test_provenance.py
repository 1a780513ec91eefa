"""What pages say of where they are from, and what links to them show."""

from types import SimpleNamespace
from urllib.parse import parse_qs, urlsplit
from xml.etree import ElementTree

import footer
import provenance
import pytest
from bs4 import BeautifulSoup
from entrances import tags
from look import render
from sphinx.errors import ExtensionError


def test_an_address_is_one_of_the_web_or_none(monkeypatch):
    for text, meant in (("", ""), ("https://a.org/b/", "https://a.org/b"), ("http://a.org", "http://a.org")):
        monkeypatch.setenv("BOOK_REPOSITORY", text)
        assert provenance.repository() == meant
    monkeypatch.setenv("BOOK_REPOSITORY", "git@a.org:b")
    with pytest.raises(ExtensionError, match=r"BOOK_REPOSITORY is 'git@a\.org:b', allowed: .*http"):
        provenance.repository()


def test_the_site_s_address_becomes_sphinx_s(monkeypatch):
    monkeypatch.setenv("BOOK_ADDRESS", "https://a.org/b")
    monkeypatch.delenv("BOOK_REPOSITORY", raising=False)
    config = SimpleNamespace(html_baseurl="", html_theme_options={})
    provenance.configure(None, config)
    assert config.html_baseurl == "https://a.org/b/" and config.html_theme_options == {}


def test_a_report_arrives_as_it_was_written(monkeypatch):
    monkeypatch.setenv("BOOK_REPOSITORY", "https://a.org/b")
    address = urlsplit(provenance.report_address("a & b", "100 %\n#1"))
    assert address.path == "/b/issues/new"
    assert parse_qs(address.query) == {"title": ["a & b"], "body": ["100 %\n#1"]}


@pytest.mark.parametrize(("taken", "said"), [(0.2, "1 s"), (1.6, "2 s"), (119.7, "120 s")])
def test_the_time_of_a_run_is_in_whole_seconds_and_never_none(monkeypatch, taken, said):
    monkeypatch.setattr(footer, "seconds_taken", lambda env, docname: taken)
    assert footer.run_time(None, "page") == said


def test_tags_say_what_the_preview_says_whatever_its_characters():
    title, text = 'The "book"', "a < b & c, λ ≤ 'μ'"
    config = SimpleNamespace(html_title="Book", html_baseurl="https://a.org/")
    soup = BeautifulSoup(tags(SimpleNamespace(config=config), "p.html", title, text), "html.parser")
    found = {tag.get("name") or tag.get("property"): tag["content"] for tag in soup.find_all("meta")}
    assert (found["og:title"], found["og:site_name"]) == (title, "Book")
    assert found["description"] == found["og:description"] == text
    assert (found["og:image"], found["og:url"]) == (
        "https://a.org/_static/picture.png",
        "https://a.org/p.html",
    )
    config.html_baseurl = ""
    assert "og:url" not in tags(SimpleNamespace(config=config), "p.html", title, text)


def test_a_site_map_is_xml_with_whole_addresses():
    tree = ElementTree.fromstring(
        render("sitemap.xml", base="https://a.org/", addresses=["a.html", "b&c.html"]).encode()
    )
    assert [place.text for place in tree.findall(".//{*}loc")] == [
        "https://a.org/a.html",
        "https://a.org/b&c.html",
    ]


def test_an_error_is_reported_by_a_form_by_mail_or_as_a_text_to_copy(monkeypatch):
    claim = SimpleNamespace(id="toy-a")
    monkeypatch.delenv("BOOK_REPOSITORY", raising=False)
    monkeypatch.delenv("BOOK_CONTACT", raising=False)
    assert provenance.report_claim(None, "book/part/page", claim) == "../../c/toy-a.html#report"
    monkeypatch.setenv("BOOK_CONTACT", "a@b.org")
    address = urlsplit(provenance.report_claim(None, "book/part/page", claim))
    assert (address.scheme, address.path) == ("mailto", "a@b.org") and "+" not in address.query
    assert parse_qs(address.query)["body"][0].startswith("Claim: toy-a\nCommit: ")
    monkeypatch.setenv("BOOK_REPOSITORY", "https://a.org/b")
    assert provenance.report_claim(None, "book/part/page", claim).startswith("https://a.org/b/issues/new?")
