"""Activation boundaries, data that share one, and kinks of the hinge loss: what holds, and what lets go."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lib.flow import gradient_flow
from lib.flow.alignment import alignment_phase
from lib.flow.boundaries import BEYOND, HELD, SHORT, Boundaries, Contact, Kinks, Lines, held_drift
from lib.models.two_layer import Start, TwoLayer
from lib.training.losses import EXPONENTIAL, HINGE, LOGISTIC, SQUARE
from tests.flow.problems import CLOUD, CLOUD_LABELS, unbalanced

DRAWN = np.random.default_rng(1).standard_normal((10, 2))
SPREAD, AROUND = DRAWN[:6], DRAWN[6:] / np.linalg.norm(DRAWN[6:], axis=1)[:, None]
SPREAD_LABELS = np.sign(SPREAD[:, 0] + 0.3 * SPREAD[:, 1])


def problem(seed, n=5, m=4, d=2):
    """Return directions, signs, inputs of which the second and third are multiples of the first, labels."""
    rng = np.random.default_rng(seed)
    x, v, s = rng.standard_normal((n, d)), rng.standard_normal((m, d)), rng.choice([-1.0, 1.0], m)
    x[1], x[2] = -2 * x[0], 0.5 * x[0]
    return v / np.linalg.norm(v, axis=1)[:, None], s, x, rng.choice([-1.0, 1.0], n)


def start_of(v, s, train):
    return Start(v, np.full(4, -1.0), s, np.full(4, -1.0 if train == "both" else 0.0))


@given(st.integers(0, 10**6), st.sampled_from([0.0, 0.3, 1.0]))
@settings(max_examples=30, deadline=None)
def test_lines_have_the_drifts_of_their_data(seed, slope):
    v, _, x, _ = problem(seed)
    pulls, lines = np.random.default_rng(seed).standard_normal(len(x)), Lines(x)
    merged, rest = lines.merged(pulls, slope)
    for unit in v:
        by_data = (np.where(x @ unit > 0, 1.0, slope) * pulls) @ x
        by_lines = (np.where(lines.inputs @ unit > 0, 1.0, slope) * merged) @ lines.inputs + rest
        np.testing.assert_allclose(by_lines, by_data, atol=1e-13)


def test_nearly_collinear_data_have_lines_of_their_own():
    assert len(Lines(np.array([[1.0, 0.0], [1.0, 1e-11]])).first) == 2
    assert len(Lines(np.array([[1.0, 1.0], [-0.1, -0.1], [3.0, 3.0]])).first) == 1


@pytest.mark.parametrize("slope", [0.0, 0.3])
@pytest.mark.parametrize(
    ("lines", "seed"), [(True, 2), (True, 3), (True, 8), *((False, k) for k in range(1, 6))]
)
def test_aligning_is_the_limit_of_small_steps_also_on_lines_and_boundaries(lines, seed, slope):
    rng = np.random.default_rng(seed)
    v, s, x, _ = problem(seed) if lines else problem(seed, n=5, m=4, d=3)
    if not lines:
        x[1:3] = rng.standard_normal((2, 3))
    forces = rng.standard_normal(len(x))
    exact = alignment_phase(v, s, x, forces, slope=slope, sliding=True).at([1.0])[0][0]
    steps, errors = 2 ** np.arange(7, 13), []
    for count in steps:
        e = v
        for _ in range(count):
            e = e + s[:, None] * (np.where(e @ x.T > 0, 1.0, slope) * forces) @ x / count
            e = e / np.linalg.norm(e, axis=1)[:, None]
        errors.append(np.linalg.norm(e - exact))
    # Of first order; steps chatter across boundaries with a phase of their own.
    assert -1.4 < np.polyfit(np.log(steps), np.log(errors), 1)[0] < -0.7


@pytest.mark.parametrize("seed", [0, 1])
def test_events_give_the_patterns_all_along_also_of_data_on_one_line(seed):
    v, s, x, _ = problem(seed)
    forces = np.random.default_rng(0).standard_normal(len(x))
    phase = alignment_phase(v, s, x, forces, sliding=True)
    pattern, ends = v @ x.T > 0, np.append(phase.events.time[1:], 50.0)
    for (time, neuron, datum, entering), end in zip(phase.events, ends, strict=True):
        assert pattern[neuron, datum] != entering
        pattern[neuron, datum] = entering
        z = phase.at([(time + end) / 2])[0][0] @ x.T
        assert ((z > 0) == pattern)[np.abs(z) > 1e-9].all()
    assert len(phase.events) and (pattern == phase.patterns).all()


@pytest.mark.parametrize("slope", [0.0, 0.3])
@pytest.mark.parametrize("train", ["both", "first"])
def test_two_labels_of_one_datum_are_twice_their_mean(train, slope):
    """For the square loss that is so, however far apart the labels are and whatever slides."""
    how = {"until": 3.0, "train": train, "slope": slope}
    for seed in range(4):
        v, s, x, y = problem(seed)
        start, x, y = start_of(v, s, train), np.tile(x[1:], (2, 1)), np.tile(y[1:], 2)
        spread = np.append(np.linspace(1.0, 3.0, 4), -np.linspace(1.0, 3.0, 4))
        ends = [gradient_flow(start, x, y + change, SQUARE, **how).directions[-1] for change in (0, spread)]
        np.testing.assert_allclose(ends[0], ends[1], atol=1e-8)


@pytest.mark.parametrize("slope", [0.0, 0.3])
@pytest.mark.parametrize("train", ["both", "first"])
def test_flows_with_opposite_data_are_the_limit_of_small_steps(train, slope):
    for seed in (1, 4):
        v, s, x, y = problem(seed)
        run = gradient_flow(
            start_of(v, s, train), x, y, LOGISTIC, until=4.0, train=train, slope=slope, reduction="sum"
        )
        end, outputs, distances = run.network_at(), run.outputs([4.0])[0], []
        np.testing.assert_allclose(end(x), outputs, atol=1e-12)
        for count in (2000, 8000):
            w, a = v * np.exp(-1.0), s * (np.exp(-1.0) if train == "both" else 1.0)
            for _ in range(count):
                z = w @ x.T
                gates = np.where(z > 0, 1.0, slope)
                drive = (gates * -LOGISTIC.slope(a @ (gates * z), y)) @ x * 4.0 / count
                w, a = w + a[:, None] * drive, a + (drive * w).sum(axis=1) * (train == "both")
            distances.append(np.abs(w - end.w).max())
        assert distances[1] < 0.5 * distances[0] and distances[1] < 2e-3


def test_units_that_leave_the_origin_go_on_in_few_steps():
    """Two units wait at zero until the forces turn; their tolerance is that of before."""
    data = np.array([[-0.528], [1.056], [-0.398], [-0.791], [-2.248]]), np.array([1.0, 1.0, 1.0, -1.0, -1.0])
    directions, signs = [[1], [1], [1], [-1], [-1], [1], [-1], [-1]], [-1, -1, 1, -1, -1, -1, -1, 1]
    start = Start(directions, np.full(8, -1.0), signs, [0.0, 1.15, 0.19, 0.58, -2.1, -0.11, 1.02, 0.89])
    run = gradient_flow(start, *data, EXPONENTIAL, train="first", reduction="sum", until=2.4)
    assert run.stopped == "time reached 2.4" and len(run.times) < 1000
    assert any(event.entering and event.neuron == 0 for event in run.events)


@pytest.mark.parametrize("slope", [0.0, 0.3])
def test_shares_that_hold_a_unit_are_complementary_to_its_rates(slope):
    rng = np.random.default_rng(0)
    for _ in range(200):
        x = rng.standard_normal((5, 4))
        x[4] = x[0]  # boundaries may coincide
        pulls = rng.standard_normal(5) * 10 ** rng.uniform(-6, 0, size=5)
        bound, active = rng.random((2, 5)) < 0.5
        shares, _, rates = held_drift(Contact(pulls, active & ~bound, bound, x, slope, np.zeros(4)))
        attracting, small = bound & (pulls < 0), 1e-12 * np.abs(pulls).sum() * (x**2).sum()
        assert ((shares >= 0) & (shares <= 1))[attracting].all() and not shares[~attracting].any()
        assert (rates[attracting & (shares < 1)] < small).all()
        assert (rates[attracting & (shares > 0)] > -small).all()


def test_forces_that_are_nothing_beside_others_hold_no_unit():
    pulls, bound = np.array([1e10, -1e-318, -1e-318]), np.array([False, True, True])
    shares, drift, _ = held_drift(Contact(pulls, ~bound, bound, np.eye(3), 0.0, np.zeros(3)))
    assert not shares.any() and drift.tolist() == [1e10, 0.0, 0.0]


def test_a_unit_held_at_the_origin_is_exactly_zero():
    # Above zero the first datum pushes down, below zero the second pushes up: w = 0 attracts.
    how = {"train": "first", "slope": 0.1, "until": 30.0}
    run = gradient_flow(Start([[1.0]], [-1.0], [1], [0.0]), [[1.0], [-1.0]], [-1.0, -1.0], SQUARE, **how)
    assert np.isneginf(run.log_norms[-1, 0]) and not run.directions[-1].any()
    np.testing.assert_array_equal(run.outputs([30.0]), 0.0)


@pytest.mark.parametrize("log_norm", [-50.0, -500.0])
@pytest.mark.parametrize("angle", [0.0, 0.7])
def test_a_held_unit_that_shrinks_stays_on_its_boundary(log_norm, angle):
    """Its direction is unstable: an error across the boundary grows by as much as the unit shrinks."""
    turn = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    inputs = np.array([[0.0, 1.0], [1.0, -0.5], [-1.0, -0.5]]) @ turn
    # The first two data push the first unit onto the boundary of the first, and towards the origin there.
    start = Start(np.array([[1.0, 0.0], [-0.8, -0.6]]) @ turn, [log_norm, -1.0], [1, 1])
    run = gradient_flow(start, inputs, [-1.0, -1.0, 1.0], LOGISTIC, until=600.0)
    np.testing.assert_allclose(run.directions[:, 0], np.tile(turn[0], (len(run.times), 1)), atol=1e-11)
    np.testing.assert_allclose(run.log_norms[:, 0], log_norm - run.times / 6, atol=1e-7)


def test_a_held_unit_of_any_scale_lets_go():
    """Of two units alike but for their size, far below any output, both leave their boundary at one time."""
    ends = []
    for log_norm in (-100.0, -1000.0):
        start = Start(np.vstack([AROUND, AROUND[:1]]), [-9.0] * 4 + [log_norm], [1, -1, 1, -1, 1])
        ends.append(gradient_flow(start, SPREAD, SPREAD_LABELS, LOGISTIC, until=4e3))
    for run in ends:
        assert any(event.neuron == 4 for event in run.events)
    np.testing.assert_allclose(ends[0].directions[-1, 4], ends[1].directions[-1, 4], atol=1e-6)
    np.testing.assert_allclose(ends[0].log_norms[-1, 4] - 900, ends[1].log_norms[-1, 4], atol=1e-4)


def test_tiny_units_that_die_do_not_stop_the_others():
    start = Start(AROUND, np.full(4, -2302.0), [1, -1, 1, -1], np.zeros(4))
    run = gradient_flow(start, SPREAD, SPREAD_LABELS, LOGISTIC, train="first", until=1e3)
    assert run.stopped == "time reached 1000" and np.isneginf(run.log_norms[-1]).any()
    assert run.loss()[-1] < 0.5 and (np.diff(run.loss()) < 1e-12).all()


def test_a_held_unit_whose_output_changes_its_sign_has_two_ways_on():
    """Both sides then push away from the boundary: the flow goes below it, the mirrored one goes above."""
    network = unbalanced(5, 3, seed=2)
    run = gradient_flow(network, CLOUD, CLOUD_LABELS, HINGE, until=0.7)
    turned = run.signs[:, 0] != run.signs[0, 0]
    at_zero = np.abs(run.directions[:, 0] @ CLOUD[2]) < 1e-9
    assert turned.any() and at_zero[~turned].any() and not at_zero[-1]
    assert run.directions[-1, 0] @ CLOUD[2] < 0
    ahead = network.w.copy()
    ahead[0] += 2e-2 * CLOUD[2]  # never held: it is above the boundary when its output turns
    above = gradient_flow(TwoLayer(ahead, network.a), CLOUD, CLOUD_LABELS, HINGE, until=0.7)
    assert above.directions[-1, 0] @ CLOUD[2] > 0


def test_hinge_data_are_held_at_their_margin():
    # Two data of one class, close to each other: the first to reach its margin is pushed over by the other.
    x, y = np.array([[1.0, 0.0], [-0.9, 0.5]]), np.array([1.0, 1.0])
    network = TwoLayer(np.array([[0.5, 0.1]]), np.array([1.0]), slope=1.0)
    run = gradient_flow(network, x, y, HINGE, train="first", until=200.0)
    margins = run.outputs(np.linspace(0, run.times[-1], 200)) * y
    held = np.abs(margins - 1) < 1e-9
    # A linear model: with both margins short, the second wins; then the first recovers, the second held.
    assert held.sum() > 20 and run.stopped == "the loss reached 0"
    np.testing.assert_allclose(margins[-1], np.maximum(margins[-1], 1.0), atol=1e-9)
    inside = np.flatnonzero(held.any(axis=1) & ~held.all(axis=1))
    short = margins[inside].min(axis=1)
    # Held at the margin, the other datum moves on by the part of its gradient that leaves the first alone.
    rate = np.diff(short) / (run.times[-1] / 199)
    gram = x @ x.T / 2
    expected = gram[0, 0] - gram[0, 1] ** 2 / gram[1, 1], gram[1, 1] - gram[0, 1] ** 2 / gram[0, 0]
    assert np.abs(rate[1:-1, None] - expected).min(axis=1).max() < 1e-6


def test_a_neuron_at_the_origin_goes_where_its_pattern_carries_it():
    """Afterwards the rate of each pair has the sign of its state, or it is held; else the flow would hang."""
    for seed in range(200):
        rng = np.random.default_rng(seed)
        x, forces = rng.standard_normal((4, 3)), rng.standard_normal(4)
        sign, w = rng.choice([-1.0, 1.0], 1), rng.standard_normal((1, 3))
        before = Boundaries.at(w, Lines(x), 0.0)
        beyond = before.past_origin(0, sign, forces, np.zeros(4))
        rates = sign[0] * x @ beyond.drive(forces)[0]
        assert (beyond.state[0] * rates >= -1e-9).all()
        np.testing.assert_array_equal(
            before.state, np.sign(w @ x.T)
        )  # those that it came from are as they were


def kinks_at(*margins):
    return Kinks.at(np.array(margins), HINGE, 1.0)


@pytest.mark.parametrize("size", [1e-20, 1.0, 1e20])
def test_a_datum_at_its_hinge_margin_leaves_only_when_something_moves_it(size):
    gradients = size * np.eye(2)
    resting = kinks_at(1.0, 1.5)
    for _ in range(2):  # a second decision changes nothing
        resting = resting.settled(gradients)
        assert resting.state.tolist() == [HELD, BEYOND] and not resting.pushes(gradients).any()
    for rate, state in ((1.0, BEYOND), (-0.5, HELD), (-2.0, SHORT)):
        # The other datum, short of its margin, moves the first at this rate.
        gradients = size * np.array([[1.0, 0.0], [rate, 1.0]])
        kinks = kinks_at(1.0, 0.2).settled(gradients)
        assert kinks.state.tolist() == [state, SHORT]
        assert kinks.pushes(gradients)[0] == pytest.approx({BEYOND: 0.0, HELD: 0.5, SHORT: 1.0}[state])
    # The second is pushed back to its margin with all of its force, and no longer holds the first down.
    three = kinks_at(1.0, 1.0, 0.2).settled(size * np.array([[1.0, 0.0], [-1.0, 1.0], [1.5, -3.0]]))
    assert three.state.tolist() == [BEYOND, SHORT, SHORT]
    for push, stays in ((-0.1, False), (0.0, True), (0.3, True), (1.0, True), (1.5, False)):
        assert (resting.distances(np.array([1.0, 1.5]), np.array([push, 0.0]))[0] >= 0) == stays


def test_rounding_at_a_hinge_margin_is_no_event_of_its_own():
    """A datum that has just come to its margin, or left it, is within rounding of it: that ends no step."""
    rng = np.random.default_rng(54)
    x, y = rng.standard_normal((7, 2)), rng.choice([-1.0, 1.0], 7)
    network = TwoLayer(0.5 * rng.standard_normal((3, 2)), 0.5 * rng.standard_normal(3))
    coarse, fine = (gradient_flow(network, x, y, HINGE, until=8.0, rtol=rtol) for rtol in (1e-10, 1e-12))
    assert coarse.stopped == "time reached 8" and len(coarse.times) < 100
    np.testing.assert_allclose(coarse.network_at().w, fine.network_at().w, atol=1e-8)
