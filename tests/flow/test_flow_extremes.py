"""The entry point of the flow at extreme starts, losses and times."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.special import expit

from lib.flow import gradient_flow
from lib.flow.coordinates import Span
from lib.flow.late import Implicit, Late
from lib.flow.run import Explicit, Run
from lib.flow.trajectory import Reason, Stop, Task, Weights
from lib.models.two_layer import Start
from lib.training.losses import EXPONENTIAL, HINGE, LOGISTIC, SQUARE

RNG = np.random.default_rng(0)
CLOUD, LABELS = RNG.standard_normal((4, 3)), np.array([1.0, -1.0, 1.0, -1.0])
DIRECTIONS, SIGNS = RNG.standard_normal((5, 3)), np.array([1, -1, 1, -1, 1])
DIRECTIONS /= np.linalg.norm(DIRECTIONS, axis=1)[:, None]


@pytest.mark.parametrize("train", ["both", "first"])
@pytest.mark.parametrize("log_outputs", [-22.0, -19.0])
def test_the_weights_at_time_zero_are_those_of_the_start(train, log_outputs):
    run = gradient_flow(
        Start(DIRECTIONS, np.full(5, -20.0), SIGNS, np.full(5, log_outputs)), CLOUD, LABELS, SQUARE,
        train=train, until=1.0,
    )  # fmt: skip
    start = run.at([0.0])
    np.testing.assert_allclose(start.directions[0], DIRECTIONS, atol=1e-14)
    np.testing.assert_allclose(start.log_norms[0], -20.0, rtol=1e-14)
    np.testing.assert_allclose(start.log_outputs[0], log_outputs, rtol=1e-14)


def test_a_unit_held_at_the_origin_is_exactly_zero():
    # Above zero the first datum pushes down, below zero the second pushes up: w = 0 attracts.
    run = gradient_flow(
        Start([[1.0]], [-1.0], [1], [0.0]),
        [[1.0], [-1.0]],
        [-1.0, -1.0],
        SQUARE,
        train="first",
        slope=0.1,
        until=30.0,
    )
    assert np.isneginf(run.log_norms[-1, 0]) and not run.directions[-1].any()
    np.testing.assert_array_equal(run.outputs([30.0]), 0.0)


def test_trial_stages_that_overflow_are_rejected():
    # From a loss of e^20 the first trial steps overshoot beyond the largest float.
    run = gradient_flow(Start([[1.0]], [1.5], [-1]), [[1.0]], [1.0], EXPONENTIAL, train="both", until=3.0)
    q0, q = run.outputs()[[0, -1], 0]
    assert q0 == pytest.approx(-np.exp(3.0)) and run.stopped == "time reached 3"
    # One negative neuron only shrinks: q' = 2 q exp(-q) * (-1), exactly balanced.
    rates = np.diff(run.outputs()[:, 0])
    assert (rates > 0).all() and q < 0


def test_a_long_rest_at_the_margin_survives_huge_trial_steps():
    run = gradient_flow(
        Start(DIRECTIONS, np.full(5, -1e5), SIGNS), CLOUD, LABELS, HINGE, until=1e12, max_steps=2000
    )
    assert run.stopped == "time reached 1e+12"
    losses = HINGE.value(run.outputs(), LABELS).mean(axis=1)
    assert (np.diff(losses) < 1e-12).all()


@pytest.mark.parametrize(
    ("case", "message"),
    [
        ((200.0, 1, 200.0, "both"), "log_norms holds 200 with log_outputs 200"),
        ((200.0, 1, 101.0, "first"), "log_norms holds 200"),
        ((4.0, -1, 4.0, "both"), "the exponential loss is inf"),
    ],
)
def test_starts_that_overflow_are_refused(case, message):
    log_norm, sign, log_output, train = case
    with pytest.raises(ValueError, match=message):
        start = Start([[1.0]], [log_norm], [sign], [log_output])
        gradient_flow(start, [[1.0]], [1.0], EXPONENTIAL, train=train, until=1.0)


SPREAD = np.random.default_rng(1).standard_normal((6, 2))
AROUND = np.random.default_rng(1).standard_normal((10, 2))[6:]
AROUND /= np.linalg.norm(AROUND, axis=1)[:, None]


@pytest.mark.parametrize("log_norm", [-50.0, -500.0])
def test_a_held_unit_that_shrinks_stays_on_its_boundary(log_norm):
    """Its direction is unstable: an error across the boundary grows by as much as the unit shrinks."""
    inputs = np.array([[0.0, 1.0], [1.0, -0.5], [-1.0, -0.5]])
    # The first two data push the first unit onto the boundary of the first, and towards the origin there.
    run = gradient_flow(
        Start([[1.0, 0.0], [-0.8, -0.6]], [log_norm, -1.0], [1, 1]),
        inputs,
        [-1.0, -1.0, 1.0],
        LOGISTIC,
        until=600.0,
    )
    np.testing.assert_allclose(run.directions[:, 0], np.tile([1.0, 0.0], (len(run.times), 1)), atol=1e-11)
    np.testing.assert_allclose(run.log_norms[:, 0], log_norm - run.times / 6, atol=1e-7)


def test_a_held_unit_of_any_scale_lets_go():
    """Of two units alike but for their size, far below any output, both leave their boundary at one time."""
    labels = np.sign(SPREAD[:, 0] + 0.3 * SPREAD[:, 1])
    ends = [
        gradient_flow(
            Start(np.vstack([AROUND, AROUND[:1]]), [-9.0] * 4 + [log_norm], [1, -1, 1, -1, 1]), SPREAD,
            labels, LOGISTIC, until=4e3,
        )
        for log_norm in (-100.0, -1000.0)
    ]  # fmt: skip
    for run in ends:
        assert any(event.neuron == 4 for event in run.events)
    np.testing.assert_allclose(ends[0].directions[-1, 4], ends[1].directions[-1, 4], atol=1e-6)
    np.testing.assert_allclose(ends[0].log_norms[-1, 4] - 900, ends[1].log_norms[-1, 4], atol=1e-4)


@pytest.mark.parametrize("slope", [0.0, 0.3])
def test_a_tiny_first_layer_passes_the_origin(slope):
    # The first unit is pushed through zero at a time of 1e-1000; the second has to start from there.
    run = gradient_flow(
        Start([[1.0], [-1.0]], [-2302.0, -2300.0], [1, -1], [0.0, 0.0]), [[1.0]], [-1.0], LOGISTIC,
        train="first", slope=slope, until=2.0,
    )  # fmt: skip

    def field(_t, w):
        z = np.where(w > 0, w, slope * w)
        force = -expit(z[0] - z[1])
        return force * np.where(w > 0, 1.0, slope) * [1, -1]

    exact = solve_ivp(field, (0, 2), [-1e-300 * slope, 1e-300 * slope], rtol=1e-10, atol=1e-12).y[:, -1]
    weights = np.exp(run.log_norms[-1]) * run.directions[-1, :, 0]
    np.testing.assert_allclose(weights, exact, atol=1e-8)


def test_tiny_units_that_die_do_not_stop_the_others():
    labels = np.sign(SPREAD[:, 0] + 0.3 * SPREAD[:, 1])
    run = gradient_flow(
        Start(AROUND, np.full(4, -2302.0), [1, -1, 1, -1], np.zeros(4)), SPREAD, labels, LOGISTIC,
        train="first", until=1e3,
    )  # fmt: skip
    assert run.stopped == "time reached 1000" and np.isneginf(run.log_norms[-1]).any()
    losses = LOGISTIC.value(run.outputs(), labels).mean(axis=1)
    assert losses[-1] < 0.5 and (np.diff(losses) < 1e-12).all()


@pytest.mark.parametrize("log_until", [1.1, 3.3, 7.7, 33.0, 720.0, 1234.5])
def test_the_last_log_time_is_the_one_asked_for(log_until):
    run = gradient_flow(Start([[1.0]], [0.0], [1]), [[1.0]], [1.0], LOGISTIC, log_until=log_until)
    assert run.log_times[-1] == log_until and run.stopped == f"log time reached {log_until:g}"
    assert run.at(log_times=[log_until]).log_norms[0, 0] == pytest.approx(run.log_norms[-1, 0], abs=1e-9)


MIXED = np.array([[1.0, 0.2], [-0.5, 1.0], [0.3, -1.0], [-1.0, -0.4], [0.9, 0.8]])
MIXED_LABELS = np.array([1.0, 1.0, -1.0, 1.0, -1.0])


def test_what_cannot_be_separated_comes_to_rest_at_the_least_loss():
    # One unit of slope 1 is logistic regression, whose loss is strictly convex here.
    run = gradient_flow(
        Start([[0.6, 0.8]], [-2.0], [1], [0.0]), MIXED, MIXED_LABELS, LOGISTIC,
        train="first", slope=1.0, log_until=1e8,
    )  # fmt: skip
    pull = (expit(-MIXED_LABELS * run.outputs()[-1]) * MIXED_LABELS) @ MIXED
    assert run.stopped == "log time reached 1e+08" and np.abs(pull).max() < 1e-9


def test_a_datum_that_no_neuron_sees_does_not_hold_the_others_up():
    inputs, labels = np.array([[1.0, 0.2], [0.8, -0.3], [-1.0, 0.0]]), np.array([1.0, 1.0, 1.0])
    runs = [
        gradient_flow(
            Start([[1.0, 0.0]], [-1.0], [1], [0.0]), inputs[:n], labels[:n], LOGISTIC,
            train="first", reduction="sum", log_until=1e5,
        )
        for n in (3, 2)
    ]  # fmt: skip
    assert runs[0].outputs()[-1, :2].min() == pytest.approx(1e5, rel=1e-3)
    np.testing.assert_allclose(runs[0].outputs()[-1, :2], runs[1].outputs()[-1], rtol=1e-7)
    assert runs[0].outputs()[-1, 2] == 0


def test_a_network_that_sees_nothing_rests():
    run = gradient_flow(
        Start([[-1.0, 0.0]], [-2.0], [1]), [[1.0, 0.0], [1.0, 0.1]], [1, -1], LOGISTIC, log_until=1e8
    )
    assert run.stopped == "log time reached 1e+08" and run.log_times[-1] == 1e8
    np.testing.assert_array_equal(run.log_norms, -2.0)


def test_forces_that_balance_but_for_faint_ones_are_named():
    # The first two data are one, with both labels; the margin of the third grows as log t for ever.
    run = gradient_flow(
        Start([[0.6, 0.8]], [-1.0], [1], [0.0]), [[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]], [1, -1, 1], LOGISTIC,
        train="first", slope=1.0, log_until=1e4,
    )  # fmt: skip
    assert run.stopped.startswith("the forces balanced at log time") and run.log_times[-1] < 1e4
    # w' = exp(-w) / 3 at the end.
    assert run.outputs()[-1, 2] == pytest.approx(run.log_times[-1] - np.log(3), rel=1e-3)


@pytest.mark.parametrize("until", [1e5, 1e12, 1e100])
def test_a_stiff_flow_reaches_any_time(until):
    # Linear regression in an overdetermined case, with rates 1 and 1e4: at rest at the least squares.
    inputs = np.array([[1.0, 0.1], [0.3, 100.0], [1.0, -80.0]])
    labels = np.array([1.0, 2.0, -1.0])
    run = gradient_flow(
        Start([[0.6, 0.8]], [0.0], [1]),
        inputs,
        labels,
        SQUARE,
        train="first",
        slope=1.0,
        until=until,
        rtol=1e-9,
    )
    exact = inputs @ np.linalg.lstsq(inputs, labels)[0]
    assert run.stopped == f"time reached {until:g}"
    np.testing.assert_allclose(run.outputs([until])[0], exact, atol=1e-7)


def run_to_one(train, loss):
    """Return a run of five unbalanced units on four data up to the time 1."""
    start = Weights(DIRECTIONS, np.full(5, -0.5), SIGNS * 1.0, np.linspace(-1.0, 0.0, 5))
    run = Run(start, Span(CLOUD, DIRECTIONS), Task(CLOUD, LABELS, loss, np.full(4, 0.25)), train, 0.2, 1e-10)
    run.align(1.0)
    run.integrate(Explicit(run, 1.0), 0.0, 1000)
    return run


@pytest.mark.parametrize("train", ["both", "first"])
@pytest.mark.parametrize("loss", [SQUARE, LOGISTIC, EXPONENTIAL], ids=lambda loss: loss.name)
def test_the_implicit_method_agrees_with_the_explicit_one(train, loss):
    implicit, explicit = run_to_one(train, loss), run_to_one(train, loss)
    implicit.integrate(Implicit(implicit, 4.0), 0.0, 1000)
    explicit.integrate(Explicit(explicit, 4.0), 0.0, 1000)
    times = np.linspace(0.0, 4.0, 17)
    ends = [run.trajectory(Stop(Reason.TIME, "")).outputs(times) for run in (implicit, explicit)]
    np.testing.assert_allclose(ends[0], ends[1], atol=1e-7)


@pytest.mark.parametrize("train", ["both", "first"])
@pytest.mark.parametrize("method", [Implicit, Late])
def test_the_jacobian_of_the_implicit_method_is_the_derivative(train, method):
    run = run_to_one(train, LOGISTIC)
    method = method(run, 30.0)
    state = method.solver(None).y
    steps = 1e-6 * np.eye(len(state))
    numeric = [
        (method.velocity(1.0, state + step) - method.velocity(1.0, state - step)) / 2e-6 for step in steps
    ]
    np.testing.assert_allclose(method.jacobian(1.0, state), np.transpose(numeric), atol=1e-8)


@pytest.mark.parametrize("m", [1, 3])
def test_what_moves_as_the_logarithm_of_time_is_followed_as_far_as_rounding_allows(m):
    """The first three data balance; the margin q of the last obeys ``q' = m exp(-q) / 4`` at late times."""
    inputs = np.array([[1.0, 0.0], [1.5, 0.0], [-1.0, 0.0], [0.3, 1.0]])
    run = gradient_flow(
        Start(np.tile([0.6, 0.8], (m, 1)), np.linspace(-1.0, 0.0, m), np.ones(m), np.zeros(m)), inputs,
        [1, -1, 1, 1], LOGISTIC,
        train="first", slope=1.0, until=1e40,
    )  # fmt: skip
    assert run.stopped == "time reached 1e+40" or "too faint to be followed" in run.stopped
    assert run.log_times[-1] > 30 and (run.log_times > 12).sum() < 400
    late = run.log_times > 25
    # Steps err by 1e-9 of weights of size 90 at most, and the balance is off by 1/t at exp(25).
    np.testing.assert_allclose(run.outputs()[late, 3], run.log_times[late] + np.log(m / 4), atol=2e-7)


@pytest.mark.parametrize("train", ["both", "first"])
def test_events_are_located_however_short_the_time(train):
    """Where the loss begins at e^55, activations change within times like 1e-24."""
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((4, 3)), rng.choice([-1.0, 1.0], 4)
    v = rng.standard_normal((5, 3))
    v, s = v / np.linalg.norm(v, axis=1)[:, None], rng.choice([-1.0, 1.0], 5)
    loose, tight = (
        gradient_flow(
            Start(v, np.full(5, 1.4), s, np.full(5, 1.8)), x, y, EXPONENTIAL,
            train=train, until=1.0, rtol=rtol,
        )
        for rtol in (1e-9, 1e-12)
    )  # fmt: skip
    assert 0 < tight.events[0].time < 1e-20
    np.testing.assert_allclose(loose.network_at().w, tight.network_at().w, atol=1e-6)
