"""The live figures: what they draw is what the library computes, and every control moves something."""

import numpy as np
import pytest

from lib.flow import gradient_flow
from lib.flow.alignment import alignment_phase
from lib.models.two_layer import Start
from lib.seeds import generator
from lib.theory.alignment import alignment_constants
from lib.theory.orthogonal import two_plateaus
from lib.training.losses import EXPONENTIAL, SQUARE

PAIR = np.array([(-0.5, 1.0), (2.0, 1.0)])
CLASSES = np.array([1, 1, -1, -1])
SEPARABLE = [(20, 55, 160, 190), (5, 70, 165, 190), (20, 20, 160, 200), (0, 40, 180, 200)]
OTHERS = [(20, 80, 150, 250), (10, 130, 160, 190), (10, 60, 70, 240), (0, 90, 45, 200)]


@pytest.fixture(scope="module")
def module(browser, address):
    """Call a function of JavaScript with the exports of a live module and arguments."""
    page = browser.new_page()
    page.goto(f"{address}/_static/book.css")

    def called(name, function, *arguments):
        script = f"(given) => import('/_static/live/{name}.js').then((m) => ({function})(m, ...given))"
        return page.evaluate(script, list(arguments))

    yield called
    page.close()


def circle(degrees):
    angles = np.deg2rad(degrees)
    return np.column_stack([np.cos(angles), np.sin(angles)])


def polar(start):
    angles = np.arctan2(start.directions[:, 1], start.directions[:, 0])
    parts = zip(angles.tolist(), start.log_norms.tolist(), start.signs.tolist(), strict=True)
    return [{"angle": angle, "logNorm": log_norm, "sign": sign} for angle, log_norm, sign in parts]


@pytest.mark.parametrize("power", [2, 8, 1000])
@pytest.mark.parametrize("labels", [(-1.0, 1.0), (-1.5, 0.75), (-2.0, 0.5)])
def test_the_waits_and_the_loss_are_those_of_the_two_plateaus(module, labels, power):
    start = Start.gaussian(60, 2, 0.0, rng=generator(0))
    theory = two_plateaus(start.scaled(-power * np.log(10)), PAIR, labels)
    times = np.linspace(0, 1.2 * max(theory.half_times), 60)
    script = """(m, starts, inputs, labels, power, times) => {
        const flow = m.plateaus(starts, inputs, labels, power);
        return [flow.halfTimes, times.map((t) => m.loss(t, flow))];
    }"""
    halves, losses = module("plateaus", script, polar(start), PAIR.tolist(), labels, power, times.tolist())
    np.testing.assert_allclose(halves, theory.half_times, rtol=1e-14, atol=1e-14)
    # The logistic functions turn an error of 1e-14 of a half-time of up to 1e4 into 1e-10 of themselves.
    np.testing.assert_allclose(losses, theory.loss(times), rtol=1e-10)


@pytest.mark.parametrize("labels", [(-1.0, 1.0), (-1.5, 0.75)])
def test_the_neurons_are_those_of_the_flow(module, labels):
    scaled = Start.gaussian(60, 2, 0.0, rng=generator(0))
    start = scaled.scaled(-8 * np.log(10))
    half_times = two_plateaus(start, PAIR, labels).half_times
    times = np.linspace(0, 1.2 * max(half_times), 60)
    script = """(m, starts, inputs, labels, times, at) => {
        const flow = m.plateaus(starts, inputs, labels, 8);
        const neurons = times.map((t) => m.neuronsAt(t, flow));
        const outputs = neurons.map((all) => m.learned(at, all));
        return [neurons.map((all) => all.map((n) => [n.angle, n.logNorm])), outputs];
    }"""
    drawn, outputs = module("plateaus", script, polar(scaled), PAIR.tolist(), labels, times.tolist(), 1.3)
    angles, log_norms = np.moveaxis(np.array(drawn), 2, 0)
    run = gradient_flow(start, PAIR, labels, SQUARE, until=times[-1], rtol=1e-11)
    at = run.at(times)
    # What the theory leaves out is of the order of the squared scale, 1e-16; the flow's errors are larger.
    np.testing.assert_allclose(np.stack([np.cos(angles), np.sin(angles)], 2), at.directions, atol=1e-8)
    np.testing.assert_allclose(log_norms, at.log_norms, atol=1e-8)
    exact = [run.network_at(time)(np.array([[1.3, 1.0]]))[0] for time in times]
    np.testing.assert_allclose(outputs, exact, atol=1e-8)


FAN, SIGNS = circle(3 * np.arange(120) + 2.2), np.resize([1, -1], 120)
NEURONS = polar(Start(FAN, np.zeros(120), SIGNS))


def turned(module, degrees):
    script = """(m, neurons, angles, labels) => {
        const story = m.turning(neurons, angles, labels);
        const changes = story.paths.flatMap((path, j) => path.slice(1).flatMap(({ from, active }, k) =>
            active.flatMap((now, i) => (now === path[k].active[i] ? [] : [[j, i, Number(now), from]]))));
        return [changes, m.anglesAt(story, 1.5), m.wrongChanges(story).flat().length];
    }"""
    changes, angles, wrong = module("clocks", script, NEURONS, np.deg2rad(degrees).tolist(), CLASSES.tolist())
    return np.array(sorted(changes)), np.array(angles), wrong


@pytest.mark.parametrize("degrees", SEPARABLE + OTHERS)
def test_the_neurons_turn_as_in_the_exact_alignment(module, degrees):
    changes, angles, wrong = turned(module, degrees)
    phase = alignment_phase(FAN, SIGNS, circle(degrees), CLASSES, sliding=True)
    expected = np.array(sorted([j, i, entering, time] for time, j, i, entering in phase.events.tolist()))
    np.testing.assert_array_equal(changes[:, :3], expected[:, :3])
    np.testing.assert_allclose(changes[:, 3], expected[:, 3], rtol=0, atol=1e-9)
    np.testing.assert_allclose(circle(np.rad2deg(angles)), phase.at([1.5])[0][0], atol=1e-9)
    neurons, data, entering = expected[:, :3].astype(int).T
    against = entering != (SIGNS[neurons] == CLASSES[data])
    assert wrong == against.sum()
    assert not wrong or degrees in OTHERS


@pytest.mark.parametrize("degrees", SEPARABLE)
def test_the_bounds_are_those_of_the_chapter(module, degrees):
    given = np.deg2rad(degrees).tolist(), CLASSES.tolist(), NEURONS
    drawn = module("separation", "(m, ...given) => m.bounds(...given)", *given)
    c = alignment_constants(FAN, SIGNS, circle(degrees), CLASSES)
    ours = (2 + 3 * np.log1p(1 / c.mu) - np.log(c.zeta_2)) / (c.kappa * c.x_min)
    printed = 16 * np.log(c.n) / (min(c.zeta, c.xi) * np.sqrt(c.mu) * c.x_min)
    np.testing.assert_allclose([drawn["ours"], drawn["printed"]], [ours, printed], rtol=1e-7)


@pytest.mark.parametrize(
    "degrees, power", [(SEPARABLE[0], 1), (SEPARABLE[0], 8), (SEPARABLE[1], 50), (OTHERS[0], 8)]
)
def test_the_loss_is_halved_when_the_flow_says(module, degrees, power):
    script = "(m, neurons, a, y, power) => m.halved(m.training(m.turning(neurons, a, y), power))"
    half = module("clocks", script, NEURONS, np.deg2rad(degrees).tolist(), CLASSES.tolist(), power)
    start = Start(FAN, np.full(120, -power * np.log(10)), SIGNS)
    until = {"until": 1.01 * half, "reduction": "sum", "rtol": 1e-8}
    run = gradient_flow(start, circle(degrees), CLASSES, EXPONENTIAL, **until)
    before, after = run.loss([0.998 * half, 1.002 * half]) / run.loss([0.0])
    assert before > 0.5 > after


def figure_of(open_page, address, name, query=""):
    page = open_page(f"{address}/book/moving.html{query}#fig-live-{name.replace('_', '-')}")
    return page, page.locator(f"[data-live={name}]")


def outcome(figure):
    return figure.locator(".live-outcome").inner_text()


def test_every_control_of_the_waits_moves_something(open_page, address):
    page, figure = figure_of(open_page, address, "two_logistics")
    seen = [outcome(figure)]
    for control in figure.locator("input").all():
        control.press("ArrowRight")
        seen.append(outcome(figure))
    for handle in figure.locator(".live-handle").all():
        handle.press("Shift+ArrowUp")
        handle.press("Shift+ArrowLeft")
        seen.append(outcome(figure))
    assert len(set(seen)) == len(seen) == 6
    ticks = figure.locator("svg").first.locator("text").all_text_contents()
    figure.locator("select").select_option("scaled")
    assert figure.locator("svg").first.locator("text").all_text_contents() != ticks
    assert page.errors == []


def test_labels_keep_their_signs_and_equal_speeds_close_the_second_wait(open_page, address):
    _, figure = figure_of(open_page, address, "two_logistics", "?left=-1.5&right=0.75")
    assert "adds 0.00 to this wait" in outcome(figure)
    for name, key in (("blue", "ArrowDown"), ("orange", "ArrowUp")):
        handle = figure.get_by_role("slider", name=f"Label of the {name} point")
        for _ in range(20):
            handle.press(f"Shift+{key}")
        assert handle.get_attribute("aria-valuetext") == {"blue": "0.40", "orange": "−0.40"}[name]


def test_a_sentence_of_the_front_page_sets_the_state(open_page, address):
    page = open_page(f"{address}/book/index.html")
    figure = page.locator("[data-live=two_logistics]")
    before = outcome(figure)
    page.get_by_role("link", name="longer they wait").click()
    assert outcome(figure) != before and "10⁻¹⁰⁰" in figure.inner_text()
    assert page.errors == []


def test_the_scale_moves_only_the_second_clock(open_page, address):
    page, figure = figure_of(open_page, address, "two_clocks", "?power=10")
    trained = "!document.querySelector('[data-live=two_clocks] .live-outcome').innerText.includes('…')"
    page.wait_for_function(trained)
    first = outcome(figure)
    figure.locator("input").nth(1).press("End")
    page.wait_for_function(trained)
    last = outcome(figure)
    assert first.split("; the loss is halved at ")[0] == last.split("; the loss is halved at ")[0]
    assert float(last.split("halved at ")[1].split(". ")[0]) > 80
    figure.get_by_role("slider", name="Positive datum 2").press("Shift+ArrowUp")
    assert outcome(figure).split("μ")[1] != last.split("μ")[1]
    assert page.errors == []


def test_data_turned_too_far_break_the_theorem(open_page, address):
    _, figure = figure_of(open_page, address, "two_clocks", "?degrees=5,125,160,190")
    assert "not orthogonally separable" in outcome(figure) and "changes go the wrong way" in outcome(figure)
    assert figure.locator("path.live-dots.contrast").count() == 1
