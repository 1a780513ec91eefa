"""What live figures say, and where they are after going forward and back, is what the library computes."""

import json
import re
from html import unescape
from pathlib import Path

import numpy as np
import pytest
from classic_scripts import classic
from py_mini_racer import MiniRacer
from scipy.special import expit

from lib.figures import live
from lib.flow import gradient_flow
from lib.geometry.level_sets import boundary_angles
from lib.geometry.programs import agreement_program, linear_svm
from lib.models.two_layer import Start, TwoLayer
from lib.seeds import generator
from lib.theory.orthogonal import two_plateaus
from lib.training.losses import LOGISTIC
from tests.site.test_live_numbers import PAIR

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
const said = (parameters, states) => {
  const frame = thing();
  frame.dataset = { parameters: JSON.stringify(parameters) };
  const figure = m.show(frame);
  return states.map((state) => (figure.set(state), figure.outcome.textContent));
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
    return [float(word) for word in re.findall(r"\d+\.\d+|\d+", sentence)]


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
