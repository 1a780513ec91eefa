"""A problem does what its parts do together, and its two flows, at any scale, are one."""

import numpy as np
import pytest
from flow.problems import unbalanced

from lib.data.synthetic import cone_data
from lib.flow import gradient_flow
from lib.models.two_layer import Start, TwoLayer
from lib.problem import Problem
from lib.training.descent import gradient_descent
from lib.training.losses import LOGISTIC, SQUARE

TIMES = np.array([0.0, 0.3, 1.0, 2.0])
# Separable: no neuron slides along a boundary, which raw weights could not follow.
CLOUD, CLOUD_LABELS = cone_data(3, 3, 3, 0.2, rng=np.random.default_rng(5))
UNEVEN = np.array([0.5, 0.1, 0.2, 1.0, 0.3, 0.7])


def cloud(share=None, loss=LOGISTIC, scale=0.4):
    return Problem(CLOUD, CLOUD_LABELS, unbalanced(4, 3, 1, scale), loss, share)


@pytest.mark.parametrize("share", [None, 1.0, UNEVEN])
def test_both_flows_follow_the_same_loss_down(share):
    problem = cloud(share)
    run, raw = problem.flow(until=2.0), problem.raw(TIMES)
    np.testing.assert_allclose(raw.w, run.at(TIMES).w, atol=1e-7)
    losses = problem.total_loss(raw)
    np.testing.assert_allclose(losses, run.loss(TIMES), atol=1e-7)
    assert (np.diff(losses) < 0).all()


@pytest.mark.parametrize("log_scale", [-20.0, -100.0])
def test_the_raw_flow_is_as_exact_from_small_weights(log_scale):
    problem = Problem(CLOUD, CLOUD_LABELS, Start.gaussian(4, 3, 0.0, rng=np.random.default_rng(2)), SQUARE)
    small = problem.scaled(log_scale)
    directions = [
        w / np.linalg.norm(w, axis=-1, keepdims=True)
        for w in (small.raw(TIMES).w, small.flow(until=2.0).at(TIMES).w)
    ]
    np.testing.assert_allclose(*directions, atol=1e-6)


@pytest.mark.parametrize(("reduction", "share"), [("mean", None), ("sum", 1.0)])
def test_the_reductions_are_shares(reduction, share):
    problem = cloud(share)
    task = problem.network, CLOUD, CLOUD_LABELS, LOGISTIC
    plain = gradient_flow(*task, until=1.0, reduction=reduction)
    np.testing.assert_allclose(problem.flow(until=1.0).network_at().w, plain.network_at().w, rtol=1e-12)
    steps = gradient_descent(*task, step=0.1, steps=20, reduction=reduction).network
    np.testing.assert_allclose(problem.descent(0.1, 20).network.w, steps.w, rtol=1e-12)


def test_descent_on_drawn_examples_takes_the_loss_of_one():
    samples = np.random.default_rng(0).integers(0, 6, 30)
    drawn = [cloud(share).descent(0.1, 30, samples=samples).network.w for share in (None, 1.0)]
    np.testing.assert_array_equal(*drawn)


def test_only_the_first_layer_moves_where_it_alone_is_trained():
    problem = cloud().but(train="first")
    for network in (problem.flow(until=1.0).network_at(), problem.descent(0.1, 10).network):
        np.testing.assert_allclose(network.a, problem.network.a, rtol=1e-14)
        assert np.abs(network.w - problem.network.w).max() > 1e-3
    with pytest.raises(ValueError, match="train is 'first', allowed: 'both'"):
        problem.raw(TIMES)


def test_forces_are_those_at_zero_outputs():
    problem = cloud(UNEVEN)
    np.testing.assert_array_equal(problem.forces, UNEVEN * CLOUD_LABELS / 2)
    tiny = Problem(CLOUD, CLOUD_LABELS, problem.start, SQUARE, UNEVEN).scaled(-60.0)
    phase = tiny.but(start=TwoLayer.balanced(tiny.network.w, np.sign(tiny.network.a)))
    np.testing.assert_allclose(
        phase.alignment().at(TIMES)[0], phase.flow(until=2.0).at(TIMES).directions, atol=1e-9
    )


def test_some_neurons_alone_are_a_problem_of_their_own():
    problem = cloud()
    pair = problem.only(np.array([0, 2])).network
    np.testing.assert_allclose(pair.w, problem.network.w[[0, 2]], rtol=1e-14)
    np.testing.assert_allclose(problem.scaled(np.log(4.0)).network.w, 4 * problem.network.w, rtol=1e-14)


def test_a_problem_keeps_what_it_was_given():
    inputs = CLOUD.copy()
    problem = Problem(inputs, CLOUD_LABELS, TwoLayer(np.eye(3), np.ones(3)), SQUARE)
    inputs[:] = 0
    np.testing.assert_array_equal(problem.inputs, CLOUD)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"labels": CLOUD_LABELS[:4]}, r"labels has shape \(4,\), inputs \(6, 3\)"),
        ({"share": [1.0, 2.0]}, r"share has shape \(2,\), allowed: \(\) or \(6,\)"),
        ({"train": "last"}, "train is 'last', allowed: 'both', 'first'"),
        ({"inputs": CLOUD * np.nan}, "inputs holds nan, allowed: real numbers"),
    ],
)
def test_what_does_not_fit_is_named(fields, message):
    with pytest.raises(ValueError, match=message):
        cloud().but(**fields)


def test_descent_needs_data_that_count_alike():
    with pytest.raises(ValueError, match=r"share holds \[0.1 0.2\], allowed: one number for all data"):
        cloud(UNEVEN).descent(0.1, 1)
