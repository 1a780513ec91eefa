"""What live figures say, and where they are after going forward and back, is what the library computes."""

import json
import re
from html import unescape
from pathlib import Path

import numpy as np
import pytest
from classic_scripts import classic
from py_mini_racer import MiniRacer
from scipy.integrate import solve_ivp
from scipy.special import expit

from lib.figures import live
from lib.flow import gradient_flow
from lib.flow.alignment import alignment_phase
from lib.geometry.level_sets import boundary_angles
from lib.geometry.patterns import cosine, least_signed_cosine, regions
from lib.geometry.programs import agreement_program, extended_agreement_program, linear_svm
from lib.models.two_layer import Start, TwoLayer
from lib.seeds import generator
from lib.theory.alignment import cap_constant, class_sums, start_constant
from lib.theory.dual import FeatureProblem, primal_responses, rotation
from lib.theory.orthogonal import two_plateaus
from lib.training.losses import EXPONENTIAL, LOGISTIC, TWICE_LOGISTIC
from tests.site.test_live_numbers import CLASSES, FAN, PAIR, SIGNS, called_regime, circle, problem

LIVE = Path(__file__).parents[2] / "book" / "_static" / "live"
# A page without a screen: each of its things has any property and can be called, and keeps what is set.
PAGE = """
const thing = () => new Proxy(function () {}, {
  get: (all, key) => {
    if (key === Symbol.toPrimitive) return () => 340;
    if (key === Symbol.iterator) return function* () {};
    return Object.hasOwn(all, key) && all[key] !== undefined ? all[key] : (all[key] = thing());
  },
  set: (all, key, value) => { all[key] = value; return true; },
  apply: () => thing(),
});
Object.assign(globalThis, { document: thing(), matchMedia: thing(), performance: { now: () => 0 } });
const later = [];
Object.assign(globalThis, { setTimeout: (run) => later.push(run), clearTimeout: () => later.pop() });
const said = (parameters, states) => {
  const frame = thing();
  frame.dataset = { parameters: JSON.stringify(parameters) };
  const figure = m.show(frame);
  return states.map((state) => {
    figure.set(state);
    while (later.length) later.pop()();
    return figure.outcome.textContent;
  });
};
"""


@pytest.fixture
def call():
    """Call a function with the exports `m` of a live figure's module, and return what it returns."""

    def called(module, function, *given):
        engine, script = MiniRacer(), classic(LIVE / f"{module}.js")
        exports = f"globalThis.m = module_{script.count('const module_') - 1};\n}})();\n"
        engine.eval(PAGE + script.removesuffix("})();\n") + exports)
        return json.loads(engine.eval(f"JSON.stringify(({function})(...{json.dumps(given)}))"))

    return called


def numbers(sentence):
    return [float(word) for word in re.findall(r"\d+\.\d+|\d+", sentence.replace(",", ""))]


def test_a_live_figure_is_given_all_digits():
    drawn = generator(0).standard_normal((3, 2))
    given = re.search('data-parameters="([^"]*)"', live("one_point", drawn=drawn, third=1 / 3).data)[1]
    assert json.loads(unescape(given)) == {"drawn": drawn.tolist(), "third": 1 / 3}


def test_the_two_logistics_say_the_waits_of_the_two_plateaus(call):
    start = Start.gaussian(60, 2, 0.0, rng=generator(0))
    parts = ("directions", "log_norms", "signs")
    given = {**{name: getattr(start, name).tolist() for name in parts}, "inputs": PAIR.tolist()}
    cases = [(-1.0, 1.0, 8), (-1.5, 0.6, 3), (-0.4, 2.5, 100)]
    states = [{"left": left, "right": right, "power": power, "time": 1} for left, right, power in cases]
    sentences = call("two_logistics", "said", {**given, "labels": [-1, 1]}, states)
    for (*labels, power), sentence in zip(cases, sentences, strict=True):
        waits = []
        for log_scale in -np.log(10) * np.array([power, power + 1]):
            halves = sorted(two_plateaus(start.scaled(log_scale), PAIR, labels).half_times)
            waits.append((*halves, halves[1] - halves[0]))
        wanted = [*waits[0], waits[1][2] - waits[0][2]]
        assert "both points are fitted" in sentence
        np.testing.assert_allclose(numbers(sentence)[1:], wanted, rtol=1e-12, atol=0.0501)
        assert numbers(sentence)[-1] == pytest.approx(wanted[-1], abs=0.00501)


@pytest.mark.parametrize("norm", [0.5, 1.0, 2.0])
@pytest.mark.parametrize(("h", "a"), [(0.4, -0.1), (1.1, 0.9), (0.3, -1.9), (0.9, 0.05), (0.02, 0.03)])
def test_a_neuron_bends_passes_and_dies_when_the_flow_does(call, h, a, norm):
    [sentence] = call("neuron_orbits", "said", {}, [{"h": h, "a": a, "norm": norm}])
    script = "(h, a, norm) => m.inflections(m.orbit(h, a, 20, 0.01, norm), norm).map(([t]) => t)"
    bends = call("neuron_orbits", script, h, a, norm)
    flow = gradient_flow(TwoLayer([[h / norm]], [a]), [[norm]], [1.0], LOGISTIC, until=20.0)
    times = np.linspace(0, 20, 2001)
    p, ended = expit(flow.outputs(times)[:, 0]), np.isneginf(flow.at(times).log_norms[:, 0])
    alive = times < (death := times[ended][0] if ended.any() else np.inf)
    turned = np.flatnonzero(np.diff(np.sign(np.diff(p[alive], 2))))
    np.testing.assert_allclose(bends, times[turned + 1], atol=0.03)
    fate = call("neuron_orbits", "m.fate", h, a, norm)
    assert (fate == "dies") == (h < -norm * a) and (fate == "learns" or "dies at time" in sentence)
    if ended.any():
        assert numbers(sentence)[0] == pytest.approx(death, abs=0.06)
    elif fate == "learns":
        assert ("only flattens", "is an S", "bends twice")[len(turned)] in sentence or p.max() < 0.9
        assert p.max() < 0.9 or numbers(sentence)[1] == pytest.approx(times[np.argmax(p >= 0.9)], abs=0.06)


def trained_responses(state, times):
    """The responses of two features at some times of the gradient flow of all parameters from zero."""
    features, weight = rotation(state["delta"]) * [state["s1"], state["s2"]], 10 ** state["weight"]
    ridge = state["penalty"] == "ridge"

    def velocity(_, theta):
        q = features @ theta
        return features.T @ (expit(-q) - (0.0 if ridge else weight * q)) - (weight * theta if ridge else 0.0)

    options = {"method": "LSODA", "rtol": 1e-10, "atol": 1e-12, "t_eval": times}
    return solve_ivp(velocity, (0, times[-1]), np.zeros(2), **options).y.T * [state["s1"], state["s2"]]


FEATURES = [(3, 2, 0.5, -2.0), (1, 4, 0.3, -1.0), (3, 2, -0.4, -1.5), (2, 2, 0.5, -1.0), (1, 3, 0.0, -2.0)]


@pytest.mark.parametrize("time", [-1.0, 1.0])
def test_starving_says_the_ends_and_what_a_little_more_strength_does(call, time):
    keys = ("s1", "s2", "delta", "weight")
    states = [{**dict(zip(keys, each, strict=True)), "time": time, "penalty": "ridge"} for each in FEATURES]
    for state, sentence in zip(states, call("starving", "said", {}, states), strict=True):
        end, (now,) = primal_responses(problem(state)), trained_responses(state, [10**time])
        wanted = [*end, np.linalg.norm(now - end)]
        np.testing.assert_allclose(numbers(sentence)[:3], wanted, atol=0.00501)
        more, less = (primal_responses(problem(state, factor))[1] for factor in np.exp([1e-4, -1e-4]))
        effect = (more - less) / (2e-4 * end[1])
        if abs(effect) < 1e-7:
            assert ("not coupled" if state["delta"] == 0 else "strengths are equal") in sentence
        else:
            words = ("falls by", "starves") if effect < 0 else ("grows by", "feeds")
            assert all(word in sentence for word in words)
            assert numbers(sentence)[3] == pytest.approx(abs(effect), rel=0.05)


@pytest.mark.parametrize(("s1", "delta"), [(3.0, 0.5), (1.0, -0.4), (2.0, 0.3)])
def test_decoupled_responses_end_alike_on_ways_that_bend_or_not(call, s1, delta):
    state = {"s1": s1, "s2": 2.0, "delta": delta, "weight": -1.0, "penalty": "decoupling", "time": 4.0}
    [sentence] = call("starving", "said", {}, [state])
    end = primal_responses(FeatureProblem(rotation(delta), np.ones(2), 0.1))
    way = trained_responses(state, 10 ** np.linspace(-2, 4, 241))
    assert "less than a millionth away" in sentence
    bent = np.abs(way @ [end[1], -end[0]]).max() / np.linalg.norm(end)
    assert ("the way is straight" in sentence) == (s1 == 2.0)
    np.testing.assert_allclose(numbers(sentence), [*end, *([bent] * (s1 != 2.0))], atol=0.00501)


DEGREES = [(20, 55, 160, 190), (5, 70, 165, 190), (20, 80, 150, 250), (10, 130, 160, 190)]


@pytest.mark.parametrize("degrees", DEGREES)
def test_the_two_clocks_say_the_events_of_the_alignment_and_when_the_loss_is_halved(call, degrees):
    starts = np.degrees(np.arctan2(FAN[:, 1], FAN[:, 0])).tolist()
    given = {"degrees": degrees, "labels": CLASSES.tolist(), "starts": starts, "signs": SIGNS.tolist()}
    [sentence] = call("two_clocks", "said", given, [{"degrees": degrees, "power": 8, "logtime": 0.0}])
    x = circle(degrees)
    phase, (clock, *rest) = alignment_phase(FAN, SIGNS, x, CLASSES, sliding=True), sentence.split("; ")
    last = phase.starts[phase.last]
    assert numbers(clock)[:3] == [1, (last <= 1).sum(), 120]
    if "the last one" in clock:
        assert numbers(clock)[3] == pytest.approx(last.max(), abs=0.00501)
    half = numbers(rest[0])[0]
    start = Start(FAN, np.full(120, -8 * np.log(10)), SIGNS)
    run = gradient_flow(start, x, CLASSES, EXPONENTIAL, until=1.1 * half, reduction="sum", rtol=1e-8)
    before, after = run.loss([0.998 * half, 1.002 * half]) / run.loss([0.0])
    assert before > 0.5 > after
    if (mu := least_signed_cosine(x, CLASSES)) > 0:
        zeta = min(cap_constant(x, CLASSES), start_constant(FAN, SIGNS, x, CLASSES))
        inside = ((FAN @ x.T > 0) == (CLASSES * SIGNS[:, None] < 0)).all(axis=1)
        repelling = np.where(SIGNS[:, None] > 0, *class_sums(x, CLASSES)[::-1])
        stays = np.arctanh(np.where(inside, cosine(FAN, repelling), 0)) / np.linalg.norm(repelling, axis=1)
        ours = stays.max() + np.arccosh(1 + (1 - mu) / mu**2)
        printed = 16 * np.log(len(x)) / (min(zeta, mu**2) * np.sqrt(mu))
        assert "are aligned" in clock and "are orthogonally separable" in sentence
        said = re.search(r"μ = (\S+):.*is (\d+), the paper's (\S+)\.$", sentence).groups()
        np.testing.assert_allclose(numbers(" ".join(said))[:2], [mu, ours], atol=0.501)
        assert float(said[0]) == pytest.approx(mu, abs=0.00501)
        assert numbers(said[2])[0] == pytest.approx(printed, rel=0.05)
    else:
        neuron, datum, entering = phase.events.neuron, phase.events.datum, phase.events.entering
        wrong = (entering != (SIGNS[neuron] == CLASSES[datum])).sum()
        found = regions(phase.patterns, CLASSES)
        astray = (found != "dead") & (found != np.where(SIGNS > 0, "S+", "S-"))
        assert "not orthogonally separable" in sentence and "have settled" in clock
        assert numbers(rest[-1])[-2:] == [wrong, astray.sum()]


def angle(one, other):
    return np.degrees(np.arccos(min(1.0, abs(one @ other) / np.linalg.norm(one) / np.linalg.norm(other))))


@pytest.mark.parametrize(
    ("place", "slope", "time"),
    [
        ((1, 2), 0.1, 12),
        ((-1, 1.2), 0.1, 30),
        ((-1, 1.2), 0.6, 30),
        ((-2.5, -0.5), 0.1, 12),
        ((0, -2), 0.3, 3),
    ],
)
def test_one_point_says_the_boundary_the_lines_and_the_regime(call, place, slope, time):
    rng, y = generator(3), np.repeat([1.0, -1.0], [4, 3])
    x = np.vstack([place, y[1:, None] * [1.2, 0.8] + 0.3 * rng.standard_normal((6, 2))])
    start, signs = rng.standard_normal((6, 2)), np.repeat([1.0, -1.0], 3) / np.sqrt(3)
    given = {"inputs": x[1:].tolist(), "labels": y[1:].tolist(), "start": start.tolist()}
    state = {"place": place, "slope": slope, "scale": -2, "time": time}
    [sentence] = call("one_point", "said", given, [state])
    try:
        program = extended_agreement_program(x, y, slope).x
    except ValueError:
        assert sentence == "No line through the origin separates the points."
        return
    network = TwoLayer(0.01 * start, signs, slope)
    run = gradient_flow(network, x, y, LOGISTIC, log_until=float(time), train="first", rtol=1e-7)
    rays, normal = boundary_angles(run.network_at()), np.subtract(*np.split(program, 2))
    boundary, apart, called = sentence.removesuffix(".").split(". ")
    assert boundary.startswith(f"At ln t = {time} the boundary ")
    w = run.network_at().w[:3]
    see = (w @ place > 0).sum()
    assert ("see the point" in boundary or "sees the point" in boundary) == (see < 3)
    bend = abs(180 - abs(rays[1] - rays[0])) if len(rays) == 2 else None
    if "straight" in boundary:
        ray = [np.cos(np.radians(rays[0])), np.sin(np.radians(rays[0]))]
        assert bend < 0.8 and numbers(boundary)[1] == pytest.approx(90 - angle(normal, ray), abs=0.4)
    else:
        assert numbers(boundary)[1] == pytest.approx(bend, abs=0.8)
    assert numbers(apart)[0] == pytest.approx(angle(normal, linear_svm(x, y).x), abs=0.501)
    words = {
        "perfect": "agree with",
        "kink": "on the kink",
        "other": "like the w",
        "outside": "its own class",
    }
    assert words[called_regime(program, x, y)] in called


REPLAYED = """(network, data, rule, far, back) => {
  const run = new m.Training(network, data, rule);
  const tells = () => ({ f: run.now.f, losses: Object.fromEntries(run.now.losses) });
  const state = () => [run.made, run.lost, [...run.fitted].map(String), run.network, tells()];
  return [far, back].map((goal) => (run.advance(goal), state()));
}"""


@pytest.mark.parametrize("penalty", ["none", "ridge"])
@pytest.mark.parametrize(("step", "back"), [(0.05, 15), (5.0, 1)])
def test_a_run_that_went_back_is_in_the_state_of_one_that_was_never_ahead(call, penalty, step, back):
    """In all that it tells: also when a label was half fitted, and where a run that is lost was not yet."""
    network = {"w": [0.3, 0.1, -0.2, 0.4], "a": [0.5, 0.7], "m": 2, "d": 2, "slope": 0.3, "trainsA": True}
    data = {"inputs": [1.0, 0.2, 0.3, 1.0, -1.0, 0.5], "labels": [1.0, 1.0, -1.0], "n": 3}
    rule = {"loss": "square", "step": step, "penalty": penalty, "strength": 0.01}
    network, data = ({key: np.array(v).tolist() for key, v in part.items()} for part in (network, data))
    ahead, replayed = call("explorer/training", REPLAYED, network, data, rule, 400, back)
    _, straight = call("explorer/training", REPLAYED, network, data, rule, 0, back)
    assert replayed == straight and ahead[2] != straight[2]


def test_the_strip_says_the_lines_and_margins_of_the_library(call):
    rng, settings = generator(1), {"slope": 0.3, "start": "fixed", "loss": "logistic", "penalty": "none"}
    script = """(start, x, y, state) => m.strip(m.foretold(start, x, y, state), { network: start }, x, y, [])
        .map(({ text }) => text)"""
    start = {"w": [1.0, 0.2, -0.4, 0.3], "a": [0.5, -0.5], "m": 2, "d": 2, "slope": 0.3}
    for _ in range(5):
        labels = np.repeat([1.0, -1.0], 4)
        inputs = labels[:, None] * rng.standard_normal(2) * 2 + 0.3 * rng.standard_normal((8, 2))
        state = {**settings, "scale": -1, "strength": -1}
        *_, agreement, line, _ = call(
            "explorer/theory", script, start, inputs.tolist(), labels.tolist(), state
        )
        hard, program = linear_svm(inputs, labels).x, agreement_program(inputs, labels, 0.3).x
        normals = (np.subtract(*np.split(program, 2)), hard)
        # The two rays of a linear network lie on the line.
        lines = [boundary_angles(TwoLayer([n, -n], [1.0, -1.0], 0.5))[0] % 180 for n in normals]
        found = re.findall(r"(\d+)°", line)
        apart = (np.array(found, float) - lines + 90) % 180 - 90
        assert len(found) == 2 and np.abs(apart).max() <= 0.51
        assert f"margin {1 / np.linalg.norm(hard):.2f}" in agreement


def test_the_whole_curve_says_the_losses_and_when_the_classes_are_due(call):
    start = Start.gaussian(24, 2, 0.0, rng=generator(2))
    given = {name: getattr(start, name).tolist() for name in ("directions", "log_norms", "signs")}
    inputs, labels = np.array([[1, 0.3], [0.4, 0.8], [-0.3, -0.4]]), np.array([1, 1, -1])
    phase = alignment_phase(start.directions, start.signs, inputs, labels)
    rate, gain = phase.asymptotics
    cases = [(1, 0.0), (3, 0.8), (8, 1.5), (3, 0.8)]
    states = [{"power": power, "time": time} for power, time in cases]
    sentences = call("whole_curve", "said", given, states)
    assert sentences[1] == sentences[3]
    for (power, time), sentence in zip(cases, sentences, strict=True):
        run = gradient_flow(
            start.scaled(-power * np.log(10)), inputs, labels, TWICE_LOGISTIC, until=40, reduction="sum"
        )
        due = []
        for label in (1, -1):
            total = np.linalg.norm(inputs[labels == label].sum(axis=0))
            alive = (start.signs == label) & (rate > 0.99 * total)
            size = 0.5 * np.log(np.exp(2 * (start.log_norms + gain)[alive]).sum())
            due.append(max(0.0, (power * np.log(10) - size) / total))
        network, two, _, *said = numbers(sentence)
        assert network == pytest.approx(run.loss([10**time])[0], abs=6e-4)
        assert two == pytest.approx(network, rel=10.0 ** (1 - 2 * min(power, 2)))
        np.testing.assert_allclose(said, due, atol=0.051)
