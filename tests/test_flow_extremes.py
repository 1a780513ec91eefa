"""The entry point of the flow at extreme starts, losses and times."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.special import expit

from lib.flow import gradient_flow
from lib.losses import EXPONENTIAL, HINGE, LOGISTIC, SQUARE

RNG = np.random.default_rng(0)
CLOUD, LABELS = RNG.standard_normal((4, 3)), np.array([1.0, -1.0, 1.0, -1.0])
DIRECTIONS, SIGNS = RNG.standard_normal((5, 3)), np.array([1, -1, 1, -1, 1])
DIRECTIONS /= np.linalg.norm(DIRECTIONS, axis=1)[:, None]


@pytest.mark.parametrize("train", ["both", "first"])
@pytest.mark.parametrize("log_outputs", [-22.0, -19.0])
def test_the_weights_at_time_zero_are_those_of_the_start(train, log_outputs):
    run = gradient_flow(
        DIRECTIONS, np.full(5, -20.0), SIGNS, CLOUD, LABELS, SQUARE,
        log_outputs=np.full(5, log_outputs), train=train, until=1.0,
    )  # fmt: skip
    start = run.at([0.0])
    np.testing.assert_allclose(start.directions[0], DIRECTIONS, atol=1e-14)
    np.testing.assert_allclose(start.log_norms[0], -20.0, rtol=1e-14)
    np.testing.assert_allclose(start.log_outputs[0], log_outputs, rtol=1e-14)


def test_a_unit_held_at_the_origin_is_exactly_zero():
    # Above zero the first datum pushes down, below zero the second pushes up: w = 0 attracts.
    run = gradient_flow(
        [[1.0]], [-1.0], [1], [[1.0], [-1.0]], [-1.0, -1.0], SQUARE, train="first", slope=0.1, until=30.0
    )
    assert np.isneginf(run.log_norms[-1, 0]) and not run.directions[-1].any()
    np.testing.assert_array_equal(run.outputs([30.0]), 0.0)


def test_trial_stages_that_overflow_are_rejected():
    # From a loss of e^20 the first trial steps overshoot beyond the largest float.
    run = gradient_flow([[1.0]], [1.5], [-1], [[1.0]], [1.0], EXPONENTIAL, train="both", until=3.0)
    q0, q = run.outputs()[[0, -1], 0]
    assert q0 == pytest.approx(-np.exp(3.0)) and run.stopped == "time reached 3"
    # One negative neuron only shrinks: q' = 2 q exp(-q) * (-1), exactly balanced.
    rates = np.diff(run.outputs()[:, 0])
    assert (rates > 0).all() and q < 0


def test_a_long_rest_at_the_margin_survives_huge_trial_steps():
    run = gradient_flow(DIRECTIONS, np.full(5, -1e5), SIGNS, CLOUD, LABELS, HINGE, until=1e12, max_steps=2000)
    assert run.stopped == "time reached 1e+12"
    losses = HINGE.value(run.outputs(), LABELS).mean(axis=1)
    assert (np.diff(losses) < 1e-12).all()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"log_norms": [200.0]}, "log_norms holds 200 with log_outputs 200"),
        ({"log_norms": [200.0], "train": "first", "log_outputs": [101.0]}, "log_norms holds 200"),
        ({"log_norms": [4.0], "signs": [-1]}, "the exponential loss is inf"),
    ],
)
def test_starts_that_overflow_are_refused(change, message):
    good = {"directions": [[1.0]], "log_norms": [0.0], "signs": [1], "inputs": [[1.0]], "labels": [1.0]}
    with pytest.raises(ValueError, match=message):
        gradient_flow(**{**good, **change}, loss=EXPONENTIAL, until=1.0)


SPREAD = np.random.default_rng(1).standard_normal((6, 2))
AROUND = np.random.default_rng(1).standard_normal((10, 2))[6:]
AROUND /= np.linalg.norm(AROUND, axis=1)[:, None]


@pytest.mark.parametrize("log_norm", [-50.0, -500.0])
def test_a_held_unit_that_shrinks_stays_on_its_boundary(log_norm):
    """Its direction is unstable: an error across the boundary grows by as much as the unit shrinks."""
    inputs = np.array([[0.0, 1.0], [1.0, -0.5], [-1.0, -0.5]])
    # The first two data push the first unit onto the boundary of the first, and towards the origin there.
    run = gradient_flow(
        [[1.0, 0.0], [-0.8, -0.6]], [log_norm, -1.0], [1, 1], inputs, [-1.0, -1.0, 1.0], LOGISTIC, until=600.0
    )
    np.testing.assert_allclose(run.directions[:, 0], np.tile([1.0, 0.0], (len(run.times), 1)), atol=1e-11)
    np.testing.assert_allclose(run.log_norms[:, 0], log_norm - run.times / 6, atol=1e-7)


def test_a_held_unit_of_any_scale_lets_go():
    """Of two units alike but for their size, far below any output, both leave their boundary at one time."""
    labels = np.sign(SPREAD[:, 0] + 0.3 * SPREAD[:, 1])
    ends = [
        gradient_flow(
            np.vstack([AROUND, AROUND[:1]]), [-9.0] * 4 + [log_norm], [1, -1, 1, -1, 1], SPREAD, labels,
            LOGISTIC, until=4e3,
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
        [[1.0], [-1.0]], [-2302.0, -2300.0], [1, -1], [[1.0]], [-1.0], LOGISTIC,
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
        AROUND, np.full(4, -2302.0), np.array([1, -1, 1, -1]), SPREAD, labels, LOGISTIC,
        train="first", until=1e3,
    )  # fmt: skip
    assert run.stopped == "time reached 1000" and np.isneginf(run.log_norms[-1]).any()
    losses = LOGISTIC.value(run.outputs(), labels).mean(axis=1)
    assert losses[-1] < 0.5 and (np.diff(losses) < 1e-12).all()
