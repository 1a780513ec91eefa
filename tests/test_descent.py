"""Two-layer networks and their descent: gradients, batches of seeds, and the order of Euler's method."""

import numpy as np
import pytest
import torch

from lib.descent import gradient_descent
from lib.losses import EXPONENTIAL, HINGE, LOGISTIC, SQUARE, TWICE_LOGISTIC
from lib.networks import TwoLayer, balanced_network

LOSSES = [LOGISTIC, TWICE_LOGISTIC, EXPONENTIAL, HINGE, SQUARE]


def problem(seed=0, n=7, d=3, m=5, slope=0.2, scale=1.0):
    rng = np.random.default_rng(seed)
    network = balanced_network(m, d, scale, rng=rng, slope=slope)
    return network, rng.standard_normal((n, d)), rng.choice([-1.0, 1.0], n)


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
def test_slopes_are_the_derivatives_of_the_values(loss):
    f, y, h = np.linspace(-3, 2.9, 12), np.resize([1.0, -1.0], 12), 1e-6
    difference = (loss.value(f + h, y) - loss.value(f - h, y)) / (2 * h)
    np.testing.assert_allclose(loss.slope(f, y), difference, atol=1e-8 * np.exp(3))


def test_losses_do_not_overflow_where_they_need_not():
    assert LOGISTIC.value(np.array(-1e4), 1.0) == 1e4
    assert LOGISTIC.slope(np.array(1e4), 1.0) == 0


def test_gradients_agree_with_automatic_differentiation():
    network, inputs, labels = problem()
    w, a = (torch.tensor(value, requires_grad=True) for value in (network.w, network.a))
    f = torch.nn.functional.leaky_relu(torch.tensor(inputs) @ w.T, network.slope) @ a
    torch.nn.functional.softplus(-torch.tensor(labels) * f).sum().backward()
    in_w, in_a = network.gradients(inputs, LOGISTIC.slope(network(inputs), labels))
    np.testing.assert_allclose(in_w, w.grad, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(in_a, a.grad, rtol=1e-12, atol=1e-14)


def test_a_network_is_homogeneous_and_blind_to_the_order_of_its_neurons():
    network, inputs, _ = problem()
    order = np.random.default_rng(1).permutation(5)
    np.testing.assert_allclose(
        network.with_weights(2 * network.w, 3 * network.a)(inputs), 6 * network(inputs)
    )
    shuffled = network.with_weights(network.w[order], network.a[order])
    np.testing.assert_allclose(shuffled(inputs), network(inputs), rtol=1e-13)


def test_a_batch_of_seeds_equals_a_loop():
    networks = [problem(seed)[0] for seed in range(3)]
    _, inputs, labels = problem()
    batch = TwoLayer(np.stack([n.w for n in networks]), np.stack([n.a for n in networks]), slope=0.2)
    samples = np.random.default_rng(5).integers(0, 7, (40, 3))
    together = gradient_descent(batch, inputs, labels, LOGISTIC, step=0.1, steps=40, samples=samples)
    for k, network in enumerate(networks):
        alone = gradient_descent(network, inputs, labels, LOGISTIC, step=0.1, steps=40, samples=samples[:, k])
        np.testing.assert_allclose(together.network.w[k], alone.network.w, rtol=1e-12)


def test_one_sample_a_step_is_full_batch_when_there_is_one_example():
    network, inputs, labels = problem(n=1)
    stochastic = gradient_descent(
        network, inputs, labels, SQUARE, step=0.05, steps=30, samples=np.zeros(30, dtype=int)
    )
    full = gradient_descent(network, inputs, labels, SQUARE, step=0.05, steps=30)
    np.testing.assert_allclose(stochastic.network.w, full.network.w, rtol=1e-13)


def test_descent_approaches_its_flow_at_first_order_and_loses_balance_at_that_order():
    network, inputs, labels = problem(slope=1.0, scale=0.3)
    reference = gradient_descent(network, inputs, labels, SQUARE, step=1e-4, steps=10000).network.w
    steps = np.array([0.02, 0.01, 0.005])
    runs = [
        gradient_descent(network, inputs, labels, SQUARE, step=h, steps=round(1 / h)).network for h in steps
    ]
    errors = [abs(run.w - reference).max() for run in runs]
    imbalance = [abs(run.a**2 - (run.w**2).sum(axis=1)).max() for run in runs]
    for quantity in (errors, imbalance):
        order = np.polyfit(np.log(steps), np.log(quantity), 1)[0]
        assert order == pytest.approx(1, abs=0.1)


def test_records_are_taken_where_asked_and_the_second_layer_can_stay():
    network, inputs, labels = problem()
    run = gradient_descent(
        network,
        inputs,
        labels,
        LOGISTIC,
        step=0.1,
        steps=5,
        train_a=False,
        record=lambda n: n.a,
        record_at=[0, 3],
    )
    assert run.steps.tolist() == [0, 3]
    np.testing.assert_array_equal(run.recorded[1], network.a)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"inputs": np.ones((7, 2))}, "inputs has shape"),
        ({"labels": np.ones(3)}, "labels has shape"),
        ({"step": -1.0}, "step is -1.0"),
        ({"reduction": "median"}, "reduction is 'median'"),
        ({"samples": np.zeros(3, dtype=int)}, "samples has shape"),
    ],
)
def test_bad_input_is_named(change, message):
    network, inputs, labels = problem()
    arguments = {"inputs": inputs, "labels": labels, "loss": LOGISTIC, "step": 0.1, "steps": 5, **change}
    with pytest.raises(ValueError, match=message):
        gradient_descent(network, **arguments)


@pytest.mark.parametrize(
    ("w", "a", "slope", "message"),
    [
        (np.ones((2, 3)), np.ones(3), 0.0, "w has shape"),
        (np.full((2, 3), np.nan), np.ones(2), 0.0, "not finite"),
        (np.ones((2, 3)), np.ones(2), 1.5, "slope is 1.5"),
    ],
)
def test_networks_refuse_bad_weights(w, a, slope, message):
    with pytest.raises(ValueError, match=message):
        TwoLayer(w, a, slope)


def test_balanced_networks_are_balanced():
    network = balanced_network(6, 4, 1e-150, rng=np.random.default_rng(0))
    np.testing.assert_allclose(abs(network.a), np.linalg.norm(network.w, axis=1), rtol=1e-14)
    with pytest.raises(ValueError, match="signs is"):
        balanced_network(2, 4, 1.0, rng=np.random.default_rng(0), signs=np.array([1.0, 2.0]))
    with pytest.raises(ValueError, match="scale is -1"):
        balanced_network(2, 4, -1.0, rng=np.random.default_rng(0))
