"""What a link leads to, on its page or on another, shows itself."""

import json
import posixpath
import re

import pytest

from tests.site.conftest import PAGES, unfold

# Ids that two elements of a page have, but for those that the theorems come with.
DOUBLED = """() => {
  const ids = [...document.querySelectorAll("[id]")].map((element) => element.id);
  return ids.filter((id, k) => id !== "proof-content" && ids.indexOf(id) < k);
}"""
# What is on another page than the link that leads to it, and words of it.
ELSEWHERE = {
    "citation": ("early_alignment/alignment_time", "a[href*='references.html#']", "arxiv.org"),
    "theorem": ("early_alignment/how_small", "a[href*='alignment_time.html#thm']", "(Early alignment)"),
    "equation": ("early_alignment/how_small", "a[href*='alignment_time.html#equation']", "(20."),
    "card": ("papers/min2024", "a.verdict-link", "control"),
    "erratum": ("papers/min2024", "a[href*='errata.html#erratum']", "Printed"),
    "chapter": (
        "sigmoidal_curves/phase_diagram",
        "a[href$='closed_form.html']",
        "has a closed form",
    ),
}


@pytest.fixture(scope="module")
def fragments(site):
    """The HTML that is stored for links to other pages: page -> anchor -> HTML."""
    scripts = (path.read_text(encoding="utf-8") for path in (site / "_static" / "fragments").rglob("*.js"))
    parts = (
        re.fullmatch(r'// \w+\n\(window.fragments \?\?= \{\}\)\["(.*?)"\] = (.*);\n', text)
        for text in scripts
    )
    return {part[1]: json.loads(part[2]) for part in parts}


@pytest.fixture
def preview(open_page, disk):
    """Open a page, let the pointer rest on what is selected in it, and return the preview with that."""

    def previewed(name, selector):
        page = open_page(f"{disk}/book/{name}.html")
        unfold(page)
        link = page.locator(f".bd-article {selector}").last
        link.scroll_into_view_if_needed()
        link.hover()
        preview = page.locator(".preview")
        preview.wait_for()
        assert page.evaluate(DOUBLED) == []
        return preview, link

    return previewed


@pytest.mark.parametrize("kind", ["equation-eq", "thm", "fig"])
def test_what_a_link_points_to_shows_itself_and_goes(preview, kind):
    shown, link = preview("gradient_starvation/tangent_features", f"a.internal[href^='#{kind}']")
    assert shown.locator("mjx-container, svg").count() > 0
    box = shown.bounding_box()
    assert box["x"] >= 0 and box["x"] + box["width"] <= 1280
    shown.page.keyboard.press("Escape")
    assert shown.is_hidden()
    link.focus()
    shown.wait_for()
    assert link.get_attribute("aria-describedby") == "preview"
    link.blur()
    assert shown.is_hidden()


@pytest.mark.parametrize("kind", ELSEWHERE)
def test_what_stands_on_another_page_shows_itself(preview, kind):
    name, selector, expected = ELSEWHERE[kind]
    shown, _ = preview(name, selector)
    assert expected in shown.inner_text()
    shown.hover()
    shown.page.wait_for_timeout(400)
    assert shown.is_visible(), "the pointer cannot move into the preview"
    shown.page.mouse.move(1, 1)
    shown.wait_for(state="hidden")


def test_previews_come_over_http_too_and_by_the_keyboard(open_page, address):
    name, selector, expected = ELSEWHERE["theorem"]
    page = open_page(f"{address}/book/{name}.html")
    page.keyboard.press("Tab")
    page.locator(f".bd-article {selector}").first.focus()
    page.locator(".preview", has_text=expected).wait_for()
    page.keyboard.press("Escape")
    assert page.locator(".preview").is_hidden()


def test_a_finger_follows_a_link_at_the_first_tap(open_page, disk):
    name, selector, _ = ELSEWHERE["chapter"]
    page = open_page(f"{disk}/book/{name}.html", width=390, has_touch=True)
    page.locator(f".bd-article {selector}").first.tap()
    page.wait_for_url("**/closed_form.html")


def test_every_page_has_its_fragments_and_they_lead_to_what_is_there(fragments, site):
    assert sorted(f"{name}.html" for name in fragments) == PAGES
    for name, parts in fragments.items():
        for anchor, html in parts.items():
            assert all(found.startswith("preview-") for found in re.findall(r' id="([^"]*)"', html)), name
            for target in re.findall(r' (?:href|src)="([^"#?]*)', html):
                if not re.match(r"[a-z]+:", target):
                    inside = posixpath.normpath(posixpath.join("fragments", target))
                    assert (site / inside).exists(), f"{name}#{anchor}: {target}"
