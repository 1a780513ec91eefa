"""The entry point of the flow at extreme starts, losses and times."""

import numpy as np
import pytest

from lib.flow import gradient_flow
from lib.losses import EXPONENTIAL, HINGE, SQUARE

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
