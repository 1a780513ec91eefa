"""Default starts beside five theories: what is foretold is what the theories say where they are exact."""

import dataclasses

import numpy as np
import pytest
from scipy.special import expit

from experiments import ordinary_training
from experiments.registry import find
from lib.models.two_layer import TwoLayer
from lib.training.descent import gradient_descent
from lib.training.losses import LOGISTIC

INPUTS, LABELS = np.array([[1.0, 0.0, 0.0], [0.0, 2.0, 0.0]]), np.array([1.0, -1.0])


def test_neurons_that_have_turned_act_as_two_with_the_sizes_of_their_growing_parts():
    rng = np.random.default_rng(0)
    norms, outputs = 1e-3 * rng.uniform(0.5, 1.5, (2, 6))
    signs = np.repeat([1.0, -1.0], 3)
    w = norms[:, None] * np.where(signs[:, None] > 0, [1.0, 0.0, 0.0], [0.0, 1.0, 0.0])
    pair = ordinary_training.two_neurons((w, signs * outputs, 0.0), INPUTS, LABELS)
    sizes = np.sqrt(np.square((norms + outputs) / 2).reshape(2, 3).sum(axis=1))
    # Half of what does not grow is left of a product of layers.
    np.testing.assert_allclose(pair.a, sizes * [1, -1], rtol=1e-6)
    np.testing.assert_allclose(pair.w[:, :2], np.diag(sizes), atol=1e-9)


def test_frozen_features_are_followed_as_descent_on_them_does():
    rng = np.random.default_rng(1)
    w, a, x, y = (
        rng.normal(size=(5, 4)),
        rng.normal(size=5),
        rng.normal(size=(7, 4)),
        np.sign(rng.normal(size=5)),
    )
    active = x @ w.T > 0
    in_w = ((active * a)[:, :, None] * x[:, None, :]).reshape(7, -1)
    features = np.column_stack([in_w, active * (x @ w.T), np.ones(7)])
    first, theta, step = ordinary_training.outputs((w, a, 0.3), x), np.zeros(features.shape[1]), 1e-3
    for _ in range(500):
        f = first[:5] + features[:5] @ theta
        theta = theta + step * features[:5].T @ (y * expit(-y * f)) / 5
    found = ordinary_training.frozen((w, a, 0.3), x, y, np.array([0.1, 500 * step]))[-1]
    np.testing.assert_allclose(found, first + features @ theta, rtol=0, atol=2e-3)


def test_the_time_of_a_level_is_read_between_two_records():
    times, y = np.arange(50.0), np.ones(3)
    f = np.log(1 + times)[:, None] * np.ones(5)
    time, outputs = ordinary_training.at_level(times, f, y, float(LOGISTIC.value(1.5, 1)))
    assert time == pytest.approx(np.expm1(1.5), rel=0.02) and outputs == pytest.approx(
        np.full(5, 1.5), rel=0.01
    )
    assert ordinary_training.at_level(times, f, y, 1e-9)[0] == 0


def test_two_neurons_that_are_the_network_are_foretold_exactly():
    w = 1e-4 * np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    network = TwoLayer.balanced(w, [1.0, -1.0])
    pair = ordinary_training.two_neurons((w, network.a, 0.0), INPUTS, LABELS)
    ends = [
        gradient_descent(one, INPUTS, LABELS, LOGISTIC, step=0.05, steps=900).network(INPUTS)
        for one in (network, pair)
    ]
    np.testing.assert_allclose(ends[1], ends[0], rtol=1e-4)


def test_the_norm_of_two_neurons_is_that_of_the_labels_over_the_inputs_where_these_are_orthogonal():
    assert ordinary_training.least_norm(INPUTS, LABELS) == pytest.approx(1 + 1 / 2, rel=1e-6)


def test_neurons_along_the_two_are_aligned_and_agree():
    w = np.array([[1.0, 0, 0], [2, 0, 0], [0, 1, 0], [0, 3, 0]])
    layers = (w, np.array([1.0, 1, -1, -1]), 0.0)
    assert ordinary_training.directions(layers, INPUTS, np.eye(3)[:2]) == pytest.approx([1, 1, 1])


def test_networks_have_examples_of_their_own_and_their_labels():
    config = dataclasses.replace(find("ordinary-training").quick, networks=3)
    for task, labels in (("3 or 8", 2), ("cancer", 2), ("below five", 2)):
        x, y = ordinary_training.data(config, task, 0)
        assert x.shape[:2] == y.shape == (3, 350) and (x[..., -1] == 1).all()
        assert len(np.unique(y)) == labels and (y[0] != y[1]).any()
