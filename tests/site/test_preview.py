"""An equation, a theorem or a figure shows itself at a link to it."""

import pytest


@pytest.mark.parametrize("kind", ["equation-eq", "thm", "fig"])
def test_what_a_link_points_to_shows_itself_and_goes(open_page, disk, kind):
    page = open_page(f"{disk}/book/gradient_starvation/tangent_features.html")
    link = page.locator(f".bd-article a.internal[href^='#{kind}']").last
    link.scroll_into_view_if_needed()
    link.hover()
    preview = page.locator(".preview")
    preview.wait_for()
    assert (
        preview.locator("mjx-container, svg").count() > 0 and page.locator("[id=preview] [id]").count() == 0
    )
    box = preview.bounding_box()
    assert box["x"] >= 0 and box["x"] + box["width"] <= 1280
    page.keyboard.press("Escape")
    assert preview.is_hidden()
    link.focus()
    assert preview.is_visible() and link.get_attribute("aria-describedby") == "preview"
    page.evaluate("document.activeElement.blur()")
    assert preview.is_hidden() and page.errors == []
