"""The explorer: what it computes is what the library computes, and whatever it offers moves something."""

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import expit

from lib.geometry.patterns import least_signed_cosine, regions
from lib.geometry.programs import Infeasible, agreement_program, linear_svm
from lib.models.two_layer import Start, TwoLayer
from lib.seeds import generator
from lib.theory.orthogonal import grouped_start, two_plateaus
from lib.training.descent import gradient_descent
from lib.training.losses import EXPONENTIAL, LOGISTIC, SQUARE, Loss

LOSSES = {"square": SQUARE, "logistic": LOGISTIC, "exponential": EXPONENTIAL}
CASES = [(0.0, 2, True), (0.3, 3, True), (1.0, 2, True), (0.3, 2, False)]  # slope, d, trains_a
STEP, STRENGTH, STEPS = 0.05, 0.03, 1000
RUN = """(network, data, rule, steps) => {
  const floats = (values) => Float64Array.from(values);
  const made = { ...network, w: floats(network.w), a: floats(network.a) };
  const points = { ...data, inputs: floats(data.inputs), labels: floats(data.labels) };
  const run = new m.Training(made, points, rule);
  const path = [];
  for (let k = 1; k <= steps; k += 1) {
    run.advance(k);
    path.push([...run.network.w, ...run.network.a]);
  }
  run.advance(37);
  return [path, [...run.network.w, ...run.network.a]];
}"""


def as_script(network, trains_a=True):
    m, d = network.w.shape
    parts = {"w": network.w.ravel().tolist(), "a": network.a.tolist(), "m": m, "d": d}
    return {**parts, "slope": network.slope, "trainsA": trains_a}


def library_path(network, x, y, loss, penalty, trains_a):
    """The weights after each step; spectral decoupling is part of the loss, weight decay of the step."""
    on_outputs, on_weights = (STRENGTH * (penalty == kind) for kind in ("decoupling", "ridge"))
    slope = lambda f, y: loss.slope(f, y) + on_outputs * f  # noqa: E731
    penalised = Loss("penalised", loss.value, slope, loss.classifies)
    for _ in range(STEPS):
        after = gradient_descent(network, x, y, penalised, step=STEP, steps=1, train_a=trains_a).network
        a = after.a - trains_a * STEP * on_weights * network.a
        network = network.with_weights(after.w - STEP * on_weights * network.w, a)
        yield np.concatenate([network.w.ravel(), network.a])


@pytest.mark.parametrize("penalty", ["none", "ridge", "decoupling"])
@pytest.mark.parametrize("loss", LOSSES)
def test_a_thousand_steps_are_those_of_the_library(call, loss, penalty):
    for slope, d, trains_a in CASES:
        draws = generator(0)
        x, y = draws.standard_normal((6, d)), np.repeat([1.0, -1.0], 3)
        network = TwoLayer(draws.standard_normal((5, d)) / 3, draws.standard_normal(5) / 3, slope)
        theirs = [*library_path(network, x, y, LOSSES[loss], penalty, trains_a)]
        data = {"inputs": x.ravel().tolist(), "labels": y.tolist(), "n": 6}
        rule = {"loss": loss, "step": STEP, "penalty": penalty, "strength": STRENGTH}
        ours, rewound = call("live/explorer/training", RUN, as_script(network, trains_a), data, rule, STEPS)
        np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-13)
        assert rewound == ours[36], "going back leads to the state of that step"


@pytest.mark.parametrize("seed", range(4))
def test_the_drops_are_those_of_the_library(call, seed):
    draws = generator(seed)
    frame = np.linalg.qr(draws.standard_normal((3, 3)))[0]
    x, y = frame * [[2.0], [0.5], [0.5]], np.array([1.0, -1.0, -1.0])
    start = grouped_start(12, x, y, rng=draws).scaled(-9.0)
    theory = two_plateaus(start, x, y)
    classes = call("live/explorer/drops", "m.drops", as_script(start.network()), x.tolist(), y.tolist())
    np.testing.assert_allclose([each["halfTime"] for each in classes], theory.half_times, rtol=1e-10)
    times = np.linspace(0, 1.5 * max(theory.half_times), 20)
    losses = [call("live/explorer/drops", "m.lossAt", t, classes, 3) for t in times]
    np.testing.assert_allclose(losses, theory.loss(times), rtol=1e-9, atol=1e-300)


def test_a_class_that_no_neuron_sees_whole_has_no_drop(call):
    network = TwoLayer([[1.0, -1.0], [1.0, -2.0]], [1.0, -1.0])
    plus, minus = call("live/explorer/drops", "m.drops", as_script(network), np.eye(2).tolist(), [1.0, -1.0])
    assert plus is not None and minus is None


def test_programs_and_cosines_are_those_of_the_library(call):
    draws, separable = generator(5), 0
    for k in range(30):
        n, d = int(draws.integers(2, 20)), 2 + k % 2
        y = np.where(np.arange(n) < n // 2, 1.0, -1.0)
        x = draws.standard_normal((n, d)) + (k % 5) * y[:, None] * np.eye(d)[0]
        given = x.tolist(), y.tolist()
        mu = call("live/explorer/programs", "m.leastSignedCosine", *given)
        assert mu == pytest.approx(least_signed_cosine(x, y), abs=1e-13)
        ours = call("live/explorer/programs", "m.hardMargin", *given)
        program = call("live/explorer/programs", "m.agreementProgram", *given, 0.2)
        try:
            theirs = linear_svm(x, y).x
        except Infeasible:
            assert ours is None
            continue
        separable += 1
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9 * np.abs(theirs).max())
        both = agreement_program(x, y, 0.2).x
        found = program["w"] + program["u"]
        np.testing.assert_allclose(found, both, rtol=1e-9, atol=1e-9 * np.abs(both).max())
    assert 5 < separable < 28


def test_the_census_and_the_balanced_margin_are_right(call):
    draws = generator(2)
    x, y = draws.standard_normal((3, 2)), np.array([1.0, 1.0, -1.0])
    network = TwoLayer(draws.standard_normal((200, 2)), draws.standard_normal(200))
    found = regions(network.preactivations(x).T > 0, y)
    own = np.where(network.a > 0, "S+", "S-")
    counted = call("live/explorer/theory", "m.census", as_script(network), x.tolist(), y.tolist())
    assert counted == {
        "own": int((found == own).sum()),
        "dead": int((found == "dead").sum()),
        "other": int(((found != own) & (found != "dead")).sum()),
    }
    products = network.preactivations(x).T * y * np.sign(network.a)[:, None]
    agree = int((products > 0).all(axis=1).sum())
    assert call("live/explorer/theory", "m.agreeing", as_script(network), x.tolist(), y.tolist()) == agree
    for strength in (1e-4, 0.1, 1.0):
        root = brentq(lambda q, k=strength: expit(-q) - k * q, 0, 50, xtol=1e-14)
        margin = call("live/explorer/theory", "m.decoupledMargin", "logistic", strength)
        assert margin == pytest.approx(root, rel=1e-12)


def test_the_field_and_its_boundary_are_those_of_the_network(call):
    draws, half, count = generator(3), 2.4, 41
    network = TwoLayer(draws.standard_normal((7, 3)), draws.standard_normal(7), 0.1)
    axis = np.linspace(-half, half, count)
    grid = np.stack([*np.meshgrid(axis, axis), np.ones((count, count))], axis=-1)
    values = call("live/explorer/field", "m.sampled", as_script(network), half, count)
    theirs = network(grid.reshape(-1, 3))
    np.testing.assert_allclose(values, theirs, rtol=1e-9, atol=1e-4 * np.abs(theirs).max())
    ends = np.array(call("live/explorer/field", "m.zeroLine", values, count)).reshape(-1, 2)
    points = np.column_stack([ends * (2 * half / (count - 1)) - half, np.ones(len(ends))])
    assert len(ends) > 20 and np.abs(network(points)).max() < 0.02 * np.abs(theirs).max()
    rows = call("live/explorer/field", "m.above", values, count, 1, 0.5)
    covered = sum(end - begin for _, begin, end in rows) / count**2
    assert covered == pytest.approx((theirs > 0.5).mean(), abs=0.03)


def test_a_start_is_what_it_is_called(call):
    for kind in ("balanced", "gaussian", "fixed"):
        given = {"m": 100, "d": 3, "scale": 0.01, "start": kind, "seed": 4, "slope": 0.5}
        drawn = call("live/explorer/network", "m.begin", given)
        w, a = (np.array(drawn[name]) for name in "wa")
        w = w.reshape(100, 3)
        assert w.std() == pytest.approx(0.01, rel=0.1) and abs(w.mean()) < 0.002
        norms = np.linalg.norm(w, axis=1)
        if kind == "balanced":
            np.testing.assert_allclose(np.abs(a), norms, rtol=1e-14)
            assert isinstance(Start.of(TwoLayer(w, a)), Start)
        assert drawn["trainsA"] == (kind != "fixed")
        assert (a > 0).mean() == pytest.approx(0.5, abs=0.15)


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
    for target in page.locator("[data-live=explorer] :is(button, select, summary)").all():
        assert target.bounding_box()["height"] >= 24
