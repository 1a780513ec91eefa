"""The live figures: what they draw is what the library computes, and every control moves something."""

import json
from itertools import product

import numpy as np
import pytest
from bs4 import BeautifulSoup
from scipy.integrate import solve_ivp
from scipy.special import expit

from lib.flow import gradient_flow
from lib.geometry.level_sets import boundary_angles
from lib.geometry.programs import agreement_program, extended_agreement_program, linear_svm
from lib.models.two_layer import TwoLayer
from lib.theory.dual import FeatureProblem, primal_responses, rotation, two_features
from lib.training.losses import LOGISTIC

MOVING = "book/moving.html"
# A state of each figure that is not its first one, and the label of a handle that obeys the arrow keys.
FIGURES = {
    "starving": ({"s1": "1", "delta": "-0.3", "penalty": "decoupling"}, "Strength of feature 1"),
    "one_point": ({"place": "1,2", "slope": "0.6", "time": "10"}, "The point that is dragged"),
}
HANDLES = [pytest.param(name, label, id=name) for name, (_, label) in FIGURES.items()]


@pytest.fixture(scope="module")
def call(browser, address):
    """Call an exported function of a live figure's module for many lists of arguments."""
    page = browser.new_page()
    page.goto(f"{address}/{MOVING}")

    def called(module, name, arguments):
        script = "([module, name, all]) => import(module).then((m) => all.map((each) => m[name](...each)))"
        return page.evaluate(script, [f"/_static/live/{module}.js", name, arguments])

    yield called
    page.close()


def opened(open_page, address, name, state=None):
    query = "?" + "&".join(f"{key}={value}" for key, value in state.items()) if state else ""
    page = open_page(f"{address}/{MOVING}{query}#fig-live-{name.replace('_', '-')}")
    return page, page.locator(f"[data-live={name}]")


def drawn(figure):
    """What stands on the ground of the planes; the ground may be refined a moment later."""
    layers = figure.locator("svg > g:not(.live-ground)")
    return layers.evaluate_all("all => all.map((one) => one.innerHTML).join('')")


@pytest.mark.parametrize("name", FIGURES)
def test_every_control_moves_something(open_page, address, name):
    page, figure = opened(open_page, address, name)
    for control in figure.locator("input, select").all():
        before = drawn(figure)
        if control.evaluate("one => one.tagName") == "SELECT":
            control.select_option(index=1)
        else:
            control.press("End" if control.input_value() != control.get_attribute("max") else "Home")
        assert drawn(figure) != before
    assert page.errors == []


@pytest.mark.parametrize("name", FIGURES)
def test_a_link_sets_a_state(open_page, address, name):
    state = FIGURES[name][0]
    page, figure = opened(open_page, address, name, state)
    opening = drawn(figure)
    assert opening != drawn(opened(open_page, address, name)[1])
    page.evaluate("history.replaceState(null, '', location.pathname)")
    figure.get_by_role("button", name="Start again").click()
    assert drawn(figure) != opening
    query = "&".join(f"{key}={value}" for key, value in state.items())
    anchor = f"?{query}#fig-live-{name.replace('_', '-')}"
    page.evaluate("href => document.querySelector('.bd-article a.internal[href^=\"?\"]').href = href", anchor)
    page.locator(f'a[href="{anchor}"]').evaluate("link => link.click()")
    assert drawn(figure) == opening and page.errors == []


@pytest.mark.parametrize("name", FIGURES)
def test_links_of_the_page_name_what_a_figure_has(open_page, address, name):
    page, figure = opened(open_page, address, name)
    first = drawn(figure)
    links = page.locator(f"a[href^='?'][href$='#fig-live-{name.replace('_', '-')}']").all()
    seen = []
    for link in links:
        link.evaluate("one => one.click()")
        seen.append(drawn(figure))
    assert len(seen) >= 4 and len({first, *seen}) >= len(seen)


@pytest.mark.parametrize(("name", "label"), HANDLES)
def test_a_handle_obeys_the_arrow_keys(open_page, address, name, label):
    _, figure = opened(open_page, address, name)
    handle = figure.get_by_role("slider", name=label)
    place, words = handle.get_attribute("transform"), handle.get_attribute("aria-valuetext")
    handle.press("ArrowRight")
    assert handle.get_attribute("transform") != place and handle.get_attribute("aria-valuetext") != words
    handle.press("ArrowLeft")
    assert handle.get_attribute("transform") == place


STRENGTHS = [(0.5, 5.0), (1.0, 2.0), (2.0, 2.0), (3.0, 2.0), (5.0, 0.5)]
COUPLINGS = [-0.65, -0.3, 0.0, 0.01, 0.5, 0.65]
WEIGHTS = [-2.0, -1.0, 0.0]


def states(penalty):
    for (s1, s2), delta, weight in product(STRENGTHS, COUPLINGS, WEIGHTS):
        yield {"s1": s1, "s2": s2, "delta": delta, "weight": weight, "penalty": penalty}


def problem(state, factor=1.0):
    return two_features(state["delta"], factor * state["s1"], state["s2"], 10 ** state["weight"])


def test_starving_ends_where_the_library_does(call):
    found, wanted = [], []
    for penalty in ("ridge", "decoupling"):
        cases = list(states(penalty))
        found += call("two_features", "end", [[state] for state in cases])
        for one in cases:
            decoupled = FeatureProblem(rotation(one["delta"]), np.ones(2), 10 ** one["weight"])
            wanted.append(primal_responses(problem(one) if penalty == "ridge" else decoupled))
    np.testing.assert_allclose(found, wanted, rtol=1e-10)
    margins = call("two_features", "commonMargin", [[10**weight] for weight in WEIGHTS])
    for margin, weight in zip(margins, WEIGHTS, strict=True):
        lone = FeatureProblem(np.eye(1), np.ones(1), 10**weight)
        np.testing.assert_allclose(margin, primal_responses(lone)[0], rtol=1e-10)


def test_starving_or_feeding_is_the_library_s(call):
    cases = list(states("ridge"))
    effects = np.array(call("two_features", "effect", [[state] for state in cases]))
    ends = np.array([primal_responses(problem(state)) for state in cases])
    places = [[one["delta"], z.tolist()] for one, z in zip(cases, ends, strict=True)]
    signs = np.array(call("two_features", "signAt", places))
    step = 1e-4
    raised, lowered = (
        np.array([primal_responses(problem(state, np.exp(by)))[1] for state in cases]) for by in (step, -step)
    )
    slopes = (raised - lowered) / (2 * step * ends[:, 1])
    np.testing.assert_allclose(effects, slopes, atol=1e-6)
    clear = np.abs(slopes) > 1e-7
    assert clear.mean() > 0.6
    np.testing.assert_array_equal(signs[clear], np.sign(slopes[clear]))
    corollary = [-np.sign(one["delta"] * (one["s1"] - one["s2"])) for one in cases]
    np.testing.assert_array_equal(np.sign(slopes[clear]), np.array(corollary)[clear])
    assert not np.any(call("two_features", "effect", [[state] for state in states("decoupling")]))


@pytest.mark.parametrize("penalty", ["ridge", "decoupling"])
def test_starving_takes_the_way_of_the_flow(call, penalty):
    clock = np.linspace(-2, 4, 25)
    cases = [state for state in states(penalty) if state["delta"] in (-0.3, 0.5) and state["weight"] < 0]
    paths = call("two_features", "path", [[state, clock.tolist()] for state in cases])
    for state, path in zip(cases, paths, strict=True):
        features = rotation(state["delta"]) * [state["s1"], state["s2"]]
        weight = 10 ** state["weight"]

        def velocity(_, theta, features=features, weight=weight):
            q = features @ theta
            if penalty == "ridge":
                return features.T @ expit(-q) - weight * theta
            return features.T @ (expit(-q) - weight * q)

        options = {"method": "LSODA", "rtol": 1e-11, "atol": 1e-13, "t_eval": 10**clock}
        theta = solve_ivp(velocity, (0, 1e4), np.zeros(2), **options).y.T
        np.testing.assert_allclose(path, theta * [state["s1"], state["s2"]], atol=1e-6)


@pytest.fixture(scope="module")
def six(site):
    """The points, labels and first neurons that the page gives to the figure."""
    soup = BeautifulSoup((site / MOVING).read_text(encoding="utf-8"), "html.parser")
    given = json.loads(soup.select_one("[data-live=one_point]")["data-parameters"])
    return {key: np.array(value, float) for key, value in given.items()}


def with_point(place, six):
    return np.vstack([place, six["inputs"]]), np.append(1.0, six["labels"])


def called_regime(solution, inputs, labels):
    w, u = solution.reshape(2, 2)
    own = np.concatenate([inputs[labels > 0] @ w, inputs[labels < 0] @ u])
    other = np.concatenate([inputs[labels > 0] @ u, inputs[labels < 0] @ w])
    if own.min() <= 0:
        return "outside"
    if np.abs(other).min() < 1e-9 * own.max():
        return "kink"
    return "perfect" if other.max() < 0 else "other"


def test_the_map_of_one_point_is_the_library_s(call, six):
    data = {"inputs": six["inputs"].tolist(), "labels": six["labels"].tolist()}
    axis = np.linspace(-2.9, 2.9, 14)
    cases = list(product(axis, axis, (0.05, 0.1, 0.6, 1.0)))
    forecasts = call("one_point", "forecast", [[[x, y], data, slope] for x, y, slope in cases])
    tasks = [with_point((x, y), six) for x, y, _ in cases]
    hards = call("explorer/programs", "hardMargin", [[each.tolist() for each in task] for task in tasks])
    seen = set()
    for (_, _, slope), (inputs, labels), forecast, hard in zip(cases, tasks, forecasts, hards, strict=True):
        try:
            solved = extended_agreement_program(inputs, labels, slope)
        except ValueError:
            seen.add("none")
            assert forecast is None and hard is None
            continue
        seen.add(forecast["regime"])
        assert forecast["regime"] == called_regime(solved.x, inputs, labels)
        np.testing.assert_allclose(forecast["w"] + forecast["u"], solved.x, atol=1e-8 * solved.norm)
        if forecast["regime"] == "perfect":
            line = agreement_program(inputs, labels, slope).x
            np.testing.assert_allclose(forecast["w"] + forecast["u"], line, atol=1e-8 * solved.norm)
        np.testing.assert_allclose(hard, linear_svm(inputs, labels).x, rtol=1e-8)
    assert seen == {"none", "perfect", "kink", "other", "outside"}


PLACES = [(1, 2, 0.1), (-1, 1.2, 0.1), (-1, -1.2, 0.1), (0, -2, 0.1), (-1, 1.2, 0.6)]
BENT = [False, True, False, False, False]


def test_the_boundary_of_one_point_is_the_library_s(call, six):
    logs = [3.0, 10.0, 30.0]
    signs = np.repeat([1.0, -1.0], 3) / np.sqrt(3)
    for (x, y, slope), bent in zip(PLACES, BENT, strict=True):
        inputs, labels = with_point((x, y), six)
        start = 0.01 * six["start"]
        weights = call(
            "clustered",
            "train",
            [[start.tolist(), inputs.tolist(), labels.tolist(), slope, [-3.0, *logs]]],
        )[0][1:]
        angles = call("clustered", "rays", [[one, slope] for one in weights])
        network = TwoLayer(start, signs, slope)
        run = gradient_flow(network, inputs, labels, LOGISTIC, log_until=30.0, train="first", rtol=1e-7)
        at = run.at(log_times=logs)
        for k, found in enumerate(angles):
            own = boundary_angles(network.with_weights(np.array(weights[k]), signs))
            np.testing.assert_allclose(found, own, atol=1e-8)
            wanted = np.exp(at.log_norms[k])[:, None] * at.directions[k]
            np.testing.assert_allclose(found, boundary_angles(network.with_weights(wanted, signs)), atol=0.3)
        bends = call("one_point", "bend", [[angles[-1]]])[0]
        assert (bends > 10) == bent and (bends < 0.5) != bent
