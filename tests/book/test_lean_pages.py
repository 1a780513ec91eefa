"""Pages are served without what they do not need; what is written in unknown ways is refused."""

from types import SimpleNamespace

import footer
import pytest
from hover_previews import article
from lean_pages import SWITCH, lean, with_switch

VIEWPORT = '<meta name="viewport" content="width=device-width">\n'
THEME = '<link href="_static/styles/theme.css?digest=1" rel="stylesheet">'
ICONS = '<script src="_static/scripts/fontawesome.js?digest=1"></script>\n'
LOADED = '<script src="_static/switch.classic.js"></script>'
TOGGLE = '<summary><span class="toctree-toggle"></span></summary>'
FOLD = '<details class="hide above-input"></details>'


def test_a_page_is_served_without_what_it_does_not_need():
    page = lean(f"<head>{VIEWPORT}{VIEWPORT}{THEME}{ICONS}{LOADED}</head>{TOGGLE}", "page.html")
    assert page == (
        f'<head>{VIEWPORT}<link href="_static/basic.css" rel="stylesheet">'
        '<script defer src="_static/switch.classic.js"></script></head>'
        '<summary aria-label="Chapters below"><span class="toctree-toggle"></span></summary>'
    )
    assert lean(page, "page.html") == page


@pytest.mark.parametrize(
    "written",
    [
        ICONS.replace("scripts/", "js/"),
        THEME.replace("_static/styles", "assets/styles"),
        TOGGLE.replace("<summary>", '<summary class="x">'),
        '<script type="text/x-thebe-config" id="t">{}</script>',
    ],
)
def test_what_the_theme_writes_in_another_way_is_refused(written):
    with pytest.raises(ValueError, match=r"a/page\.html has '.*', which stands in no form that is known"):
        lean(f"<head>{VIEWPORT}</head>{written}", "a/page.html")


def test_several_folds_have_one_switch_below_the_title_and_a_page_without_title_is_refused():
    assert with_switch(f"<h1>T</h1>{FOLD}{FOLD}", "page") == f"<h1>T</h1>{SWITCH}{FOLD}{FOLD}"
    assert with_switch(f"<h1>T</h1>{FOLD}", "page") == f"<h1>T</h1>{FOLD}"
    with pytest.raises(ValueError, match="a/page has folds and no place for their switch, allowed: after <p"):
        with_switch(FOLD + FOLD, "a/page")


def test_a_page_without_a_title_or_an_article_is_refused(monkeypatch):
    monkeypatch.setattr(footer, "running_heads", lambda app, page: "")
    monkeypatch.setattr(footer, "imprint", lambda app, page: "")
    monkeypatch.setattr(footer, "page_keys", lambda env: {})
    with pytest.raises(ValueError, match="a/page has no title, allowed: pages with"):
        footer.write(SimpleNamespace(env=None), "a/page", {"body": "<h2>T</h2>"}, object())
    with pytest.raises(ValueError, match="a/page has no article, allowed: pages of the theme"):
        article("a/page", "<main></main>")
