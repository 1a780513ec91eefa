"""The live figures: they stand in the place of a picture, and all that they offer moves something."""

import re
from functools import partial

import pytest

from tests.site.conftest import PAGES, forget_errors, opened

# The names of the live figures and the pages that are tried: where each has sentences that set its state.
LIVE = {
    "explorer": "explorer",
    "neuron_orbits": "moving",
    "one_point": "moving",
    "starving": "moving",
    "two_clocks": "moving",
    "two_logistics": "moving",
    "whole_curve": "moving",
}
# A state in which each control of the explorer has something to move.
TRAINED = "?time=2&scale=-1&strength=-1&penalty=ridge&loss=logistic"
OF_WHAT_FOLLOWS = ("a click adds",)
SETTLED = """(frame) => {
  const [before, now] = [frame.lookedAt, frame.innerHTML];
  frame.lookedAt = now;
  return before === now && !now.includes("…");
}"""
PHONE = {"width": 390, "has_touch": True, "is_mobile": True}
# How the pages are opened for the tests of figures, which may share one: each moves its own figure.
HOW = {
    "on a phone from the disk": {"width": 390},
    "on a desktop from the disk": {"width": 1280},
    "without scripts": {"java_script_enabled": False},
    "in print": {},
    "controls": {},
    "handles": {},
    "fingers": PHONE,
    "sentences": {},
}


def anchor(name):
    return f"#fig-live-{name.replace('_', '-')}"


def live(*ways):
    """Give a test each live figure by its name, and its page, opened in some of the ways of ``HOW``."""
    given = [(name, (LIVE[name], how)) for name in LIVE for how in ways]
    ids = [f"{name}-{how}" for name, (_, how) in given]
    return pytest.mark.parametrize(("name", "stage"), given, indirect=["stage"], ids=ids)


@pytest.fixture(scope="module")
def stage(request, browser, address, disk):
    """A page opened once for the tests of its figures."""
    page, how = request.param
    place = address if how in ("controls", "handles", "fingers", "sentences") else disk
    query = TRAINED + anchor("explorer") if (page, how) == ("explorer", "controls") else ""
    shown = opened(browser, f"{place}/book/{page}.html{query}", **HOW[how])
    shown.emulate_media(media="print" if how == "in print" else "screen")
    yield shown
    shown.context.close()


@pytest.fixture
def page(stage):
    """A page that other tests have seen; an error until the test is over fails it."""
    yield stage
    assert forget_errors(stage) == []


@pytest.fixture
def figure(page, name):
    """The live figure of that name on the screen of its page, drawn."""
    figure = page.locator(f"[data-live={name}]")
    figure.scroll_into_view_if_needed()
    settle(figure)
    return figure


@pytest.fixture
def open_live(open_page, address):
    """Open the page of a live figure, return the page and the figure when the figure is drawn."""

    def opened(name, query="", **options):
        page = open_page(f"{address}/book/{LIVE[name]}.html{query}{anchor(name)}", **options)
        figure = page.locator(f"[data-live={name}]")
        settle(figure)
        return page, figure

    return opened


def drawn(figure):
    """What stands on the ground of the planes; the ground may be refined a moment later."""
    parts = figure.locator("svg > g:not(.live-ground) > :not([style*=none])")
    return parts.evaluate_all("all => all.map((one) => one.outerHTML.replaceAll(' style=\"\"', '')).join('')")


def settle(figure):
    """Wait until what is computed after a change is there."""
    figure.page.wait_for_function(SETTLED, arg=figure.element_handle(), polling=200)


def swipe(page, start, end):
    """Draw a finger over a touch screen, from one point to another."""
    session = page.context.new_cdp_session(page)
    for k in range(13):
        x, y = (a + (b - a) * k / 12 for a, b in zip(start, end, strict=True))
        touch = {"type": "touchMove" if k else "touchStart", "touchPoints": [{"x": x, "y": y}]}
        session.send("Input.dispatchTouchEvent", touch)
    session.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})


def drag(page, start, end):
    page.mouse.move(*start)
    page.mouse.down()
    page.mouse.move(*end, steps=12)
    page.mouse.up()


def outcome(figure):
    return figure.locator(".live-outcome").inner_text()


def test_these_are_all_live_figures(site):
    sources = ((site / page).read_text(encoding="utf-8") for page in PAGES)
    assert {name for source in sources for name in re.findall(r'data-live="(\w+)"', source)} == {*LIVE}


@live("on a phone from the disk", "on a desktop from the disk")
def test_a_live_figure_moves_from_the_disk_in_the_place_of_its_picture(page, name):
    figure = page.locator("figure", has=page.locator(f"[data-live={name}]"))
    assert len(figure.locator("figcaption").inner_text()) > 40
    assert not figure.locator(".drawing").is_visible()
    assert page.locator(".output script[src*=live]").count() == 0, "an empty box is left where it stood"
    before, words = drawn(figure), outcome(figure)
    figure.locator("input").first.press("Home")
    assert drawn(figure) != before and outcome(figure) != words
    size = "svg => svg.getBoundingClientRect().width / svg.viewBox.baseVal.width * 12"
    assert figure.locator(".live-figure svg").last.evaluate(size) >= 9, "the labels are too small"


@live("without scripts", "in print")
def test_under_a_live_figure_lies_a_picture(page, name):
    frame = page.locator(f"[data-live={name}]")
    assert frame.count() == 1 and not frame.is_visible()
    picture = page.locator(f"figure{anchor(name)} .drawing")
    assert picture.is_visible() and picture.bounding_box()["height"] > 150


def changes(control):
    """What can be done to a slider or a choice: a step, or each of its options that is not chosen."""
    if control.get_attribute("type") == "range":
        at_end = control.input_value() == control.get_attribute("max")
        return [partial(control.press, "ArrowLeft" if at_end else "ArrowRight")]
    values = control.locator("option").evaluate_all("all => all.map((option) => option.value)")
    others = [value for value in values if value != control.input_value()]
    return [partial(control.select_option, value) for value in others]


@live("controls")
def test_every_control_moves_something(figure):
    for label in figure.locator("label").all()[::-1]:  # a choice of "start from" would bring other settings
        said, control = label.locator("span").inner_text(), label.locator("input, select")
        for change in changes(control):
            before = drawn(figure)
            change()
            settle(figure)
            assert (drawn(figure) != before) != (said in OF_WHAT_FOLLOWS), said


@live("handles")
def test_every_handle_obeys_the_arrow_keys_and_tells_where_it_is(figure):
    handles = figure.locator(".live-handle:visible").all()
    assert handles
    for handle in handles:
        place, words = handle.get_attribute("transform"), handle.get_attribute("aria-valuetext")
        moved = []
        for one, back in (("ArrowRight", "ArrowLeft"), ("ArrowUp", "ArrowDown")):
            handle.press(one)
            moved.append(
                place != handle.get_attribute("transform") and words != handle.get_attribute("aria-valuetext")
            )
            handle.press(back)
            assert handle.get_attribute("transform") == place
        assert any(moved)


def middle(box):
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


@live("fingers")
def test_a_finger_drags_every_handle_as_a_mouse_does(page, figure):
    for handle in figure.locator(".live-handle:visible").all():
        plane = handle.locator("xpath=ancestor::*[local-name()='svg']")
        plane.evaluate("svg => svg.scrollIntoView({ block: 'center' })")
        begun, scrolled = handle.get_attribute("transform"), page.evaluate("scrollY")
        start, centre = middle(handle.bounding_box()), middle(plane.bounding_box())
        end = [a + (45 if a < b else -45) for a, b in zip(start, centre, strict=True)]
        ends = []
        for move in (swipe, drag):
            move(page, start, end)
            ends.append(handle.get_attribute("transform"))
            figure.get_by_role("button", name="Start again").dispatch_event("click")
            assert handle.get_attribute("transform") == begun
        assert ends[0] == ends[1] != begun, handle.get_attribute("aria-label")
        assert page.evaluate("scrollY") == scrolled


@pytest.mark.parametrize("name", ["explorer", "neuron_orbits"])
def test_a_swipe_over_a_plane_scrolls_the_page_and_a_tap_sets_a_point(open_live, name):
    page, figure = open_live(name, **PHONE)
    plane = figure.locator("svg").first
    plane.evaluate("svg => svg.scrollIntoView({ block: 'center' })")
    before, scrolled, box = drawn(figure), page.evaluate("scrollY"), plane.bounding_box()
    x, y = box["x"] + 0.7 * box["width"], box["y"] + 0.7 * box["height"]
    swipe(page, (x, y), (x, y - 120))
    page.wait_for_function(f"scrollY > {scrolled + 60}")
    assert drawn(figure) == before
    plane.tap(position={"x": 0.7 * box["width"], "y": 0.7 * box["height"]})
    assert drawn(figure) != before


@live("sentences")
def test_a_sentence_sets_the_state_that_its_address_opens(page, figure, open_live, name):
    first, seen = drawn(figure), []
    links = page.locator(f".bd-article a[href^='?'][href$='{anchor(name)}']").all()
    for link in links:
        link.press("Enter")
        settle(figure)
        seen.append(drawn(figure))
    assert len(links) > 4 and len({first, *seen}) >= len(links)
    query = links[-1].get_attribute("href").partition("#")[0]
    assert drawn(open_live(name, query)[1]) == seen[-1]
    figure.get_by_role("button", name="Start again").click()
    assert drawn(figure) != seen[-1]


# What opens with a figure that moves, and which.
OPENING = {
    "index": "two_logistics",
    "sigmoidal_curves/closed_form": "neuron_orbits",
    "saddle_to_saddle/two_plateaus": "two_logistics",
    "early_alignment/alignment_time": "two_clocks",
    "neuron_clustering/agreement_regimes": "one_point",
    "gradient_starvation/spectral_decoupling": "starving",
}


@pytest.mark.parametrize("motion", ["no-preference", "reduce"])
@pytest.mark.parametrize("name", OPENING)
def test_a_figure_on_the_first_screen_moves_by_itself(open_page, disk, name, motion):
    page = open_page(f"{disk}/book/{name}.html", width=1366, reduced_motion=motion)
    figure = page.locator(f"[data-live={OPENING[name]}]")
    assert figure.locator("svg").first.bounding_box()["y"] < 620
    before = drawn(figure)
    page.wait_for_timeout(700)
    if motion == "reduce":
        assert drawn(figure) == before
        return
    figure.get_by_role("button", name="Pause").wait_for()
    for _ in range(40):
        if drawn(figure) != before:
            break
        page.wait_for_timeout(250)
    assert drawn(figure) != before
    figure.get_by_role("button", name="Start again").click()
    still = drawn(figure)
    page.wait_for_timeout(300)
    assert drawn(figure) == still, "who has touched it is the master"


def test_play_and_what_is_read_of_the_front_page_stand_on_a_small_screen(open_page, disk):
    page = open_page(f"{disk}/book/index.html", width=1366)
    for part in ("svg", ".live-buttons button", ".live-outcome"):
        box = page.locator(f"[data-live=two_logistics] {part}").last.bounding_box()
        assert box["y"] + box["height"] <= 600, part


def test_labels_keep_their_signs_and_equal_speeds_close_the_second_wait(open_live):
    _, figure = open_live("two_logistics", "?left=-1.5&right=0.75")
    assert "this wait is longer by 0.00" in outcome(figure)
    for name, key, least in (("blue", "ArrowDown", "0.40"), ("orange", "ArrowUp", "−0.40")):
        handle = figure.get_by_role("slider", name=f"Label of the {name} point")
        for _ in range(20):
            handle.press(f"Shift+{key}")
        assert handle.get_attribute("aria-valuetext") == least
