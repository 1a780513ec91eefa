"""The explorer: whatever it offers moves something, and its addresses lead back to it."""

import numpy as np
import pytest


def outcome(page):
    return page.inner_text(".live-outcome")


@pytest.fixture
def opened(open_page, address):
    return lambda query="", **options: open_page(
        f"{address}/book/explorer.html?{query}#fig-live-explorer", **options
    )


def test_play_fits_both_points_when_the_theory_says(opened):
    page = opened("time=2.3")
    page.wait_for_function("document.querySelector('.live-outcome').innerText.includes('1,985')")
    assert "all points are on their side" in outcome(page)
    drops = page.inner_text(".live-theory li:nth-child(2)")
    numbers = [float(word) for word in drops.replace(")", " ").split() if word.replace(".", "").isdigit()]
    assert len(numbers) == 4
    np.testing.assert_allclose(numbers[::2], numbers[1::2], rtol=0.03)
    page.get_by_role("button", name="Rewind").click()
    assert "Before training" in outcome(page)
    page.get_by_role("button", name="One step").click()
    assert "After 1 steps" in outcome(page)
    page.get_by_role("button", name="Play").click()
    page.wait_for_function("parseInt(document.querySelector('.live-outcome').innerText.slice(6)) > 3")
    page.get_by_role("button", name="Pause").click()


def test_points_are_added_moved_flipped_and_removed(opened):
    page = opened()
    knobs = page.locator(".live-handle:visible")
    words = lambda k: knobs.nth(k).get_attribute("aria-valuetext")  # noqa: E731
    assert [words(0), words(1)] == ["orange, x -0.5, y 1", "blue, x 2, y 1"]
    page.get_by_role("button", name="Add a point").click()
    assert words(2) == "blue, x 0.5, y -0.5"
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Shift+ArrowUp")
    page.keyboard.press("Enter")
    assert words(2) == "orange, x 0.45, y -0.25"
    page.get_by_role("button", name="Flip its class").click()
    assert words(2) == "blue, x 0.45, y -0.25"
    box = page.locator(".live-explorer-plane").bounding_box()
    page.mouse.click(box["x"] + 0.7 * box["width"], box["y"] + 0.75 * box["height"])
    assert knobs.count() == 4
    x, y = (knobs.nth(1).bounding_box()[side] for side in ("x", "y"))
    page.mouse.move(x + 14, y + 14)
    page.mouse.down()
    page.mouse.move(x - 60, y + 40, steps=3)
    page.mouse.up()
    assert knobs.count() == 4 and words(1) != "blue, x 2, y 1"
    page.mouse.dblclick(*(knobs.nth(3).bounding_box()[side] + 14 for side in ("x", "y")))
    assert knobs.count() == 3
    knobs.nth(2).focus()
    page.keyboard.press("Delete")
    page.get_by_role("button", name="Remove it").click()
    page.get_by_role("button", name="Remove it").click()
    assert knobs.count() == 1, "the last point stays"


def test_two_taps_on_a_point_remove_it(opened):
    page = opened(width=390, has_touch=True, is_mobile=True)
    knobs = page.locator(".live-handle:visible")
    knobs.first.tap()
    knobs.first.tap()
    page.wait_for_function("document.querySelectorAll('.live-handle:not([style*=none])').length === 1")


def test_a_link_keeps_points_settings_and_steps(opened, open_page):
    query = "preset=outlier&time=2&slope=0.5&points=1,0,1,-1,0.5,-1,0.3,0.4,1"
    page = opened(query)
    ready = "document.querySelector('.live-outcome').innerText.startsWith('After 990 steps')"
    page.wait_for_function(ready)
    assert page.locator(".live-handle:visible").count() == 3
    page.evaluate("navigator.clipboard.writeText = async (text) => { window.copied = text; }")
    page.get_by_role("button", name="Copy link").click()
    page.wait_for_function("window.copied")
    again = open_page(page.evaluate("copied"))
    again.wait_for_function(ready)
    assert outcome(again) == outcome(page)
    words = [each.inner_text(".live-theory") for each in (page, again)]
    assert words[0] == words[1] and "program (8)" in words[0]
    again.get_by_role("button", name="Start again").click()
    assert again.locator(".live-handle:visible").count() == 6, "the preset as it was"


@pytest.mark.parametrize(
    "query", ["points=9,9,1&loss=hinge&preset=constructor", "points=1,1&loss=constructor", "points=1,1,2"]
)
def test_what_is_not_allowed_is_left_out_of_an_address(opened, query):
    page = opened(query)
    assert page.locator(".live-handle:visible").count() == 2 and "Before training" in outcome(page)


def test_each_theorem_has_its_chapter_and_says_when_it_does_not_apply(opened, site):
    page = opened("preset=alignment&slope=0.5")
    items = page.locator(".live-theory li")
    assert items.count() == 5
    for link in items.locator("a").evaluate_all("all => all.map(a => a.getAttribute('href'))"):
        assert (site / "book" / link).exists(), link
    assert "asks for ReLU" in items.first.inner_text() and items.first.locator(".live-aside").count() == 1


def test_a_point_at_the_origin_is_no_datum_of_the_theorem(opened):
    item = opened("points=0,0,1").locator(".live-theory li").first
    assert "points away from the origin" in item.inner_text() and item.locator(".live-aside").count() == 1


def test_a_dead_network_is_called_dead(opened):
    page = opened("step=0&scale=0&width=200&time=3")
    page.wait_for_function("/dead|9,990/.test(document.querySelector('.live-outcome').innerText)")
    assert "dead" in outcome(page) and "wrong side" not in outcome(page)


@pytest.mark.parametrize("width", [360, 390])
def test_on_a_phone_picture_and_play_are_on_one_screen(opened, width):
    page = opened(width=width)
    top = page.locator(".live-explorer-plane").bounding_box()["y"]
    play = page.get_by_role("button", name="Play").bounding_box()
    assert play["y"] + play["height"] - top < 640
    assert not page.get_by_label("penalty").is_visible()
    page.locator(".live-group summary").click()
    assert page.get_by_label("penalty").is_visible()
