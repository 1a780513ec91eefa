"""Smooth pieces and events of balanced starts, against exact solutions, other integrators and symmetries."""

import numpy as np
import pytest
from scipy.optimize import brentq

from lib.flow import gradient_flow
from lib.flow.alignment import alignment_phase
from lib.flow.coordinates import Referred, Span, fitting
from lib.flow.run import Run
from lib.flow.trajectory import Task, Weights
from lib.models.two_layer import Start, TwoLayer
from lib.training.descent import spherical_descent
from lib.training.losses import EXPONENTIAL, LOGISTIC, SQUARE
from tests.flow.problems import TWO_LABELS, TWO_POINTS


def start(m, d, log_scale, seed=0):
    return Start.gaussian(m, d, log_scale, rng=np.random.default_rng(seed))


def some_data(n=6, d=3, seed=5):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, d)), rng.choice([-1.0, 1.0], size=n)


@pytest.mark.parametrize("power", [3, 30, 1000])
def test_one_neuron_follows_the_logistic_function(power):
    # u = |w|^2 obeys u' = 2 u (y - u) when the neuron points along its only, normalised, input.
    y, log_start = 1.5, -2 * power * np.log(10)
    half_time = (np.log(y - np.exp(log_start)) - log_start) / (2 * y)
    start = Start([[1.0, 0.0]], [log_start / 2], [1])
    run = gradient_flow(start, [[1.0, 0.0]], [y], SQUARE, until=half_time + 8)
    times = half_time + np.linspace(-2, 4, 13)
    exact = y / (1 + np.exp(-2 * y * (times - half_time)))
    np.testing.assert_allclose(run.outputs(times)[:, 0], exact, rtol=1e-8)
    assert run.stopped.startswith("time reached")


@pytest.mark.parametrize("height", [1e-9, 1e-7, 1e-5, 1e-3])
def test_a_neuron_that_grazes_a_boundary_meets_it_twice(height):
    # w = (1 - p exp(-3 t), 2 - q exp(-t)) while only the first two data are seen; the product with the third
    # has its maximum, the height, at exp(-2 t) = q / (3 p).
    q = 1.8
    p = 4 * q**3 / (27 * (1 + height) ** 2)
    inputs = np.array([[3**0.5, 0], [0, 1], [1, -1]])
    network = TwoLayer([[1 - p, 2 - q]], [1.0])
    run = gradient_flow(network, inputs, [3**0.5, 2, 0], SQUARE, until=3.0, train="first", reduction="sum")
    assert [(event.datum, event.entering) for event in run.events] == [(2, True), (2, False)]

    def product(t):
        return -1 - p * np.exp(-3 * t) + q * np.exp(-t)

    top = 0.5 * np.log(3 * p / q)
    ends = [brentq(product, 0, top), brentq(product, top, 3)]
    times = [event.time for event in run.events]
    # The third datum pulls back by at most its height; at so small a slope roots move far.
    np.testing.assert_allclose(times, ends, atol=3e-6 + 2 * height)


def test_sum_is_the_mean_in_faster_time():
    x, y = some_data()
    first = start(5, 3, np.log(0.2))
    mean = gradient_flow(first, x, y, LOGISTIC, until=6.0)
    total = gradient_flow(first, x, y, LOGISTIC, until=1.0, reduction="sum")
    np.testing.assert_allclose(total.log_norms[-1], mean.log_norms[-1], atol=1e-8)


def test_rotating_inputs_and_neurons_changes_nothing():
    x, y = some_data()
    first = start(6, 3, np.log(1e-3))
    turn = np.linalg.qr(np.random.default_rng(1).standard_normal((3, 3)))[0]
    one = gradient_flow(first, x, y, SQUARE, until=8.0)
    turned = Start(first.directions @ turn, first.log_norms, first.signs)
    other = gradient_flow(turned, x @ turn, y, SQUARE, until=8.0)
    np.testing.assert_allclose(one.log_norms[-1], other.log_norms[-1], atol=1e-7)
    np.testing.assert_allclose(one.directions[-1] @ turn, other.directions[-1], atol=1e-7)


def test_loss_never_increases_and_dense_output_meets_the_steps():
    first = start(30, 2, np.log(1e-3), seed=3)
    run = gradient_flow(first, TWO_POINTS, TWO_LABELS, SQUARE, until=40.0)
    assert (np.diff(run.loss()) <= 1e-12).all()
    directions, log_norms, *_ = run.at(run.times)
    np.testing.assert_allclose(directions, run.directions, atol=1e-9)
    np.testing.assert_allclose(log_norms, run.log_norms, atol=1e-9)
    np.testing.assert_allclose(run.network_at()(TWO_POINTS), run.outputs()[-1], rtol=1e-12)


def test_tighter_tolerance_converges():
    x, y = some_data()
    first = start(8, 3, np.log(0.1))
    ends = [gradient_flow(first, x, y, SQUARE, until=10.0, rtol=r).log_norms[-1] for r in (1e-6, 1e-9, 1e-12)]
    coarse, fine = (np.abs(end - ends[2]).max() for end in ends[:2])
    assert fine < 1e-6 < 100 * coarse and fine < coarse / 10


def test_a_frozen_unit_stays_when_its_force_turns():
    # After the overshoot of label 1 its residual is negative, and could pull the frozen neuron back.
    w = 0.1 * np.array([[1, -0.2, -0.3], [0.3, 0.5, -0.3], [0.2, 0.2, 1]])
    norms, s, y = np.linalg.norm(w, axis=1), np.array([1, 1, -1.0]), np.array([1, 1, -3.0])
    run = gradient_flow(Start(w / norms[:, None], np.log(norms), s), np.eye(3), y, SQUARE, until=60.0)
    frozen = {(e.neuron, e.datum): e.time for e in run.events if not e.entering}
    overshoot = run.times[run.outputs()[:, 0] > 1 + 1e-3]
    assert frozen[2, 0] < overshoot[0]
    np.testing.assert_allclose(run.directions[-1][2, :2], 0, atol=1e-9)
    assert np.abs(run.outputs()[-1] - y).max() < 1e-4


def sliding_problem(seed):
    """Draw directions, norms and signs of six neurons, and five points in four dimensions with labels."""
    rng = np.random.default_rng(seed)
    x, y = rng.standard_normal((5, 4)), rng.choice([-1.0, 1.0], 5)
    w = rng.standard_normal((6, 4))
    norms = np.linalg.norm(w, axis=1)
    return w / norms[:, None], norms, np.resize([1.0, -1.0], 6), x, y


LATE_RELEASES = (5, 12, 24, 38)  # a release due at an event, hidden by another neuron's crossing soon after


SLIDING = [
    seed
    for seed in range(100, 160)
    if alignment_phase(*(p := sliding_problem(seed))[:1], *p[2:], until=0.8, sliding=True).sliding.any()
][:30]


@pytest.mark.parametrize("seed", [*LATE_RELEASES, *SLIDING])
def test_sliding_flow_tends_to_the_exact_phase_as_the_scale_vanishes(seed):
    assert len(SLIDING) == 30
    v, norms, s, x, y = sliding_problem(seed)
    times = np.linspace(0, 0.8, 41)
    exact, _ = alignment_phase(v, s, x, y, sliding=True).at(times)
    errors = []
    for scale in (1e-4, 1e-5):
        run = gradient_flow(Start(v, np.log(scale * norms), s), x, y, EXPONENTIAL, until=0.8, reduction="sum")
        assert run.evaluations > 100  # integrated from the start, not by the closed forms
        errors.append(np.abs(run.at(times)[0] - exact).max())
    # The forces differ by the outputs, of order scale^2: a hundredth (allowed: twice that), plus an error of
    # at most rtol = 1e-10 as a root mean square over the 30 components in each step.
    assert errors[1] <= errors[0] / 50 + np.sqrt(30) * 1e-10 * len(run.times)


@pytest.mark.parametrize("seed", [3, 5, 12, 24])  # with seed 3, one neuron slides on two boundaries
def test_spherical_descent_converges_to_the_sliding_flow_at_first_order(seed):
    v, norms, s, x, y = sliding_problem(seed)
    start = (v, np.log(0.3 * norms), s, x, y, SQUARE)
    exact = gradient_flow(Start(*start[:3]), *start[3:], until=1.0, reduction="sum")
    on_zero = (np.abs(exact.directions[-1] @ x.T) < 1e-12).sum(axis=1)
    assert on_zero.max() == (2 if seed == 3 else 1)
    etas = 2.0 ** -np.arange(8, 14)
    errors = []
    for eta in etas:
        run = spherical_descent(Start(*start[:3]), *start[3:], step=len(y) * eta, steps=round(1 / eta))
        errors.append(np.abs(run.network.directions - exact.directions[-1]).max())
    # Steps chatter across the boundary with a phase of their own, so single ratios scatter about 2.
    assert 0.8 < np.polyfit(np.log(etas), np.log(errors), 1)[0] < 1.2


@pytest.mark.parametrize("seed", [3, 4, 7, 11])
def test_units_do_not_chatter_when_the_loss_is_a_rounding_error(seed):
    rng = np.random.default_rng(seed)
    x, y, g = rng.standard_normal((4, 5)), rng.standard_normal(4), rng.standard_normal((20, 5))
    norms, s = np.linalg.norm(g, axis=1), rng.choice([-1.0, 1.0], size=20)
    start = Start(g / norms[:, None], np.log(0.05 * norms), s)
    run = gradient_flow(start, x, y, SQUARE, until=150.0, max_steps=600)
    assert run.stopped.startswith("time reached")
    assert SQUARE.value(run.outputs()[-1], y).mean() < 1e-19


@pytest.mark.parametrize("train", ["both", "first"])
def test_events_are_located_however_short_the_time(train):
    """Where the loss begins at e^55, activations change within times like 1e-24."""
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((4, 3)), rng.choice([-1.0, 1.0], 4)
    v = rng.standard_normal((5, 3))
    v, s = v / np.linalg.norm(v, axis=1)[:, None], rng.choice([-1.0, 1.0], 5)
    first, how = Start(v, np.full(5, 1.4), s, np.full(5, 1.8)), {"train": train, "until": 1.0}
    loose, tight = (gradient_flow(first, x, y, EXPONENTIAL, rtol=rtol, **how) for rtol in (1e-9, 1e-12))
    assert 0 < tight.events[0].time < 1e-20
    np.testing.assert_allclose(loose.network_at().w, tight.network_at().w, atol=1e-6)


def test_a_weight_near_zero_is_measured_by_its_size_before():
    start = Weights(np.eye(3), np.full(3, -9.0), np.ones(3), np.zeros(3))
    later = start._replace(log_norms=np.array([-np.inf, -50.0, -8.0]))
    before = Referred(start, trains_outputs=False)
    np.testing.assert_allclose(before.renewed(later).inner, [-9.0, -9.0 - 2 * np.log(10), -8.0])


def test_trial_stages_that_overflow_are_rejected():
    # From a loss of e^20 the first trial steps overshoot beyond the largest float.
    run = gradient_flow(Start([[1.0]], [1.5], [-1]), [[1.0]], [1.0], EXPONENTIAL, train="both", until=3.0)
    q0, q = run.outputs()[[0, -1], 0]
    assert q0 == pytest.approx(-np.exp(3.0)) and run.stopped == "time reached 3"
    # One negative neuron only shrinks: q' = 2 q exp(-q) * (-1), exactly balanced.
    rates = np.diff(run.outputs()[:, 0])
    assert (rates > 0).all() and q < 0


@pytest.mark.parametrize("rtol", [1e-3, 1e-4])
def test_no_activation_change_is_lost_at_loose_tolerances(rtol):
    """The patterns that the events give are the signs of the pre-activations, all along the dense output."""
    events = 0
    for seed in (6, 8, 9, 14, 17, 18):
        rng = np.random.default_rng(seed)
        x, y = rng.standard_normal((8, 2)), rng.choice([-1.0, 1.0], 8)
        first = Start.gaussian(12, 2, np.log(0.3), rng=rng)
        run = gradient_flow(first, x, y, SQUARE, until=10.0, rtol=rtol, reduction="sum")
        times = np.unique(np.linspace(run.times[:-1], run.times[1:], 12))
        z = run.at(times).directions @ x.T
        on = np.broadcast_to(run.directions[0] @ x.T > 0, z.shape).copy()
        for event in run.events:
            on[times > event.time, event.neuron, event.datum] = event.entering
        events += len(run.events)
        # Near an event the dense output may be off by its error, but not all along a quarter of a step.
        wrong = (on != (z > 0)) & (np.abs(z) > 10 * rtol)
        assert not (wrong[2:] & wrong[1:-1] & wrong[:-2]).any(), seed
    assert events > 60


@pytest.mark.parametrize("balanced", [True, False])
def test_the_errors_of_forces_are_those_of_the_worst_step_that_the_tolerance_admits(balanced):
    """An error of a step is ``rtol`` as a root mean square over the state; the worst is along a gradient."""
    x, y = some_data()
    first = start(5, 3, np.log(0.5))
    outputs = first.log_outputs + (0.0 if balanced else 0.3)
    weights = Weights(first.directions, first.log_norms, first.signs, outputs)
    task, span = Task(x, y, SQUARE, np.full(6, 0.2)), Span(x, weights.directions)
    run = Run(weights, fitting(weights, trains_outputs=True), span, task, 0.3, 1e-6)
    run.align(1.0)
    field, state = run.field, run.state()
    changes = []
    for gradient in field.gradients(state):
        worst = 1e-6 * np.sqrt(state.size) * gradient / np.linalg.norm(gradient)
        moved, here = (field.outputs(*field.coordinates.split(at)) for at in (state + worst, state))
        changes.append(0.2 * np.abs(moved - here)[len(changes)])
    # Balanced coordinates count what lengthens a direction as well: more than the worst, by less than a half.
    assert (field.errors(state) >= np.multiply(0.9999, changes)).all()
    assert (field.errors(state) <= np.multiply(1.5 if balanced else 1.0001, changes)).all()
