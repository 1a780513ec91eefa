"""The explorer: what it computes is what the library computes."""

import re

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import expit

from lib.geometry.level_sets import boundary_angles
from lib.geometry.patterns import least_signed_cosine, regions
from lib.geometry.programs import Infeasible, agreement_program, linear_svm
from lib.models.two_layer import Start, TwoLayer
from lib.seeds import generator
from lib.theory.orthogonal import grouped_start, two_plateaus
from lib.training.descent import gradient_descent
from lib.training.losses import EXPONENTIAL, LOGISTIC, SQUARE, Loss
from tests.live.scripts import call

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
  return path;
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
def test_a_thousand_steps_are_those_of_the_library(loss, penalty):
    for slope, d, trains_a in CASES:
        draws = generator(0)
        x, y = draws.standard_normal((6, d)), np.repeat([1.0, -1.0], 3)
        network = TwoLayer(draws.standard_normal((5, d)) / 3, draws.standard_normal(5) / 3, slope)
        theirs = [*library_path(network, x, y, LOSSES[loss], penalty, trains_a)]
        data = {"inputs": x.ravel().tolist(), "labels": y.tolist(), "n": 6}
        rule = {"loss": loss, "step": STEP, "penalty": penalty, "strength": STRENGTH}
        ours = call("live/explorer/training", RUN, as_script(network, trains_a), data, rule, STEPS)
        np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize("seed", range(4))
def test_the_drops_are_those_of_the_library(seed):
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


def test_a_class_that_no_neuron_sees_whole_has_no_drop():
    network = TwoLayer([[1.0, -1.0], [1.0, -2.0]], [1.0, -1.0])
    plus, minus = call("live/explorer/drops", "m.drops", as_script(network), np.eye(2).tolist(), [1.0, -1.0])
    assert plus is not None and minus is None


def test_programs_and_cosines_are_those_of_the_library():
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


def test_the_census_and_the_balanced_margin_are_right():
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


def test_the_field_and_its_boundary_are_those_of_the_network():
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


def test_a_start_is_what_it_is_called():
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


REPLAYED = """(network, data, rule, far, back) => {
  const run = new m.Training(network, data, rule);
  const tells = () => ({ f: run.now.f, losses: Object.fromEntries(run.now.losses) });
  const state = () => [run.made, run.lost, [...run.fitted].map(String), run.network, tells()];
  return [far, back].map((goal) => (run.advance(goal), state()));
}"""


@pytest.mark.parametrize("penalty", ["none", "ridge"])
@pytest.mark.parametrize(("step", "back"), [(0.05, 15), (5.0, 1)])
def test_a_run_that_went_back_is_in_the_state_of_one_that_was_never_ahead(penalty, step, back):
    """In all that it tells: also when a label was half fitted, and where a run that is lost was not yet."""
    network = {"w": [0.3, 0.1, -0.2, 0.4], "a": [0.5, 0.7], "m": 2, "d": 2, "slope": 0.3, "trainsA": True}
    data = {"inputs": [1.0, 0.2, 0.3, 1.0, -1.0, 0.5], "labels": [1.0, 1.0, -1.0], "n": 3}
    rule = {"loss": "square", "step": step, "penalty": penalty, "strength": 0.01}
    network, data = ({key: np.array(v).tolist() for key, v in part.items()} for part in (network, data))
    ahead, replayed = call("live/explorer/training", REPLAYED, network, data, rule, 400, back)
    _, straight = call("live/explorer/training", REPLAYED, network, data, rule, 0, back)
    assert replayed == straight and ahead[2] != straight[2]


@pytest.mark.parametrize(
    ("inputs", "asked"),
    [
        ([[0.0, 0.0], [1.0, 1.0]], "points away from the origin"),
        ([[1.0, 1.0], [1.0, 1.0]], "no two points at one place"),
        ([[1.0, 1.0], [-1.0, 1.0]], ""),
    ],
)
def test_the_strip_promises_one_margin_only_for_points_that_can_have_it(inputs, asked):
    state = {
        "slope": 0.3,
        "start": "fixed",
        "loss": "logistic",
        "penalty": "decoupling",
        "scale": -1,
        "strength": -1,
    }
    start = {"w": [1.0, 0.2, -0.4, 0.3], "a": [0.5, -0.5], "m": 2, "d": 2, "slope": 0.3}
    script = """(start, x, y, state) =>
        m.strip(m.foretold(start, x, y, state), { network: start }, x, y, [1, 1]).at(-1).text"""
    said = call("live/explorer/theory", script, start, inputs, [1, -1], state)
    assert f"asks for {asked}." in said if asked else "to one value" in said


def test_the_strip_says_the_lines_and_margins_of_the_library():
    rng, settings = generator(1), {"slope": 0.3, "start": "fixed", "loss": "logistic", "penalty": "none"}
    script = """(start, x, y, state) => m.strip(m.foretold(start, x, y, state), { network: start }, x, y, [])
        .map(({ text }) => text)"""
    start = {"w": [1.0, 0.2, -0.4, 0.3], "a": [0.5, -0.5], "m": 2, "d": 2, "slope": 0.3}
    for _ in range(5):
        labels = np.repeat([1.0, -1.0], 4)
        inputs = labels[:, None] * rng.standard_normal(2) * 2 + 0.3 * rng.standard_normal((8, 2))
        state = {**settings, "scale": -1, "strength": -1}
        *_, agreement, line, _ = call(
            "live/explorer/theory", script, start, inputs.tolist(), labels.tolist(), state
        )
        hard, program = linear_svm(inputs, labels).x, agreement_program(inputs, labels, 0.3).x
        normals = (np.subtract(*np.split(program, 2)), hard)
        # The two rays of a linear network lie on the line.
        lines = [boundary_angles(TwoLayer([n, -n], [1.0, -1.0], 0.5))[0] % 180 for n in normals]
        found = re.findall(r"(\d+)°", line)
        apart = (np.array(found, float) - lines + 90) % 180 - 90
        assert len(found) == 2 and np.abs(apart).max() <= 0.51
        assert f"margin {1 / np.linalg.norm(hard):.2f}" in agreement
