"""Dropout and batch normalisation of batches of networks, against torch's own layers seed by seed."""

import numpy as np
import pytest
import torch

from lib.experiments.layers import BatchNorm, Dropout
from lib.models.mlps import draw_mlps, gradient_function
from lib.training.ensembles import train
from lib.training.objectives import cross_entropy
from lib.training.optimisers import Adam, Sgd
from lib.training.seeds import seed_generators


def hidden(seeds=3, n=20, features=4):
    return torch.randn(seeds, n, features, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


def data(seeds=3, n=24):
    inputs = hidden(seeds, n, 2)
    return inputs, torch.where(inputs[..., 0] * inputs[..., 1] > 0, 1.0, -1.0).double()


@pytest.mark.parametrize("momentum", [0.0, 0.1, 1.0])
def test_batch_norm_is_that_of_torch_for_each_seed(momentum):
    norm = BatchNorm(3, 4, momentum=momentum, epsilon=1e-3)
    theirs = [torch.nn.BatchNorm1d(4, eps=1e-3, momentum=momentum, dtype=torch.float64) for _ in range(3)]
    with torch.no_grad():
        for values, name in ((norm.weight, "weight"), (norm.bias, "bias")):
            values.normal_(generator=torch.Generator().manual_seed(1))
            for k in range(3):
                getattr(theirs[k], name).copy_(values[k, 0])
    for n in (20, 2, 7):
        units = hidden(n=n)
        ours = norm(units)
        for k in range(3):
            np.testing.assert_allclose(ours[k].detach(), theirs[k](units[k]).detach(), rtol=1e-12, atol=1e-14)
    for k, their in enumerate(theirs):
        np.testing.assert_allclose(norm.mean[k, 0], their.running_mean, rtol=1e-12)
        np.testing.assert_allclose(norm.variance[k, 0], their.running_var, rtol=1e-12)
        np.testing.assert_allclose(
            norm.eval()(hidden())[k].detach(), their.eval()(hidden()[k]).detach(), rtol=1e-12, atol=1e-14
        )


def test_training_with_batch_norm_equals_a_loop_over_networks_of_torch():
    inputs, labels = data()
    start = draw_mlps((2, 6, 5, 1), seed_generators(0, 3), batch_norm=True)
    run = train(start, inputs, labels, objective=cross_entropy, optimiser=Adam(0.01), steps=15)
    for k in range(3):
        layers, one = [], start.seed(k)
        for i, (weight, bias) in enumerate(zip(one.weights, one.biases, strict=True)):
            linear = torch.nn.Linear(*weight.shape[1:], dtype=weight.dtype)
            linear.weight.data, linear.bias.data = weight[0].T.detach(), bias[0, 0].detach()
            norms = [torch.nn.BatchNorm1d(weight.shape[2], dtype=weight.dtype), torch.nn.ReLU()]
            layers += [linear, *(norms if i < 2 else [])]
        single = torch.nn.Sequential(*layers)
        optimiser = torch.optim.Adam(single.parameters(), 0.01)
        for _ in range(15):
            optimiser.zero_grad()
            cross_entropy(single(inputs[k]).T, labels[k]).sum().backward()
            optimiser.step()
        expected = single.eval()(inputs[k])[:, 0].detach()
        # Adam divides by the root of tiny second moments: rounding grows to about 1e-9 in 15 steps.
        np.testing.assert_allclose(run.network(inputs)[k].detach(), expected, rtol=1e-7, atol=1e-8)


def test_dropout_has_the_statistics_of_torch():
    units, count = torch.ones(2, 400, 500, dtype=torch.float64), 400 * 500
    kept = Dropout(0.3, seed_generators(0, 2))(units)
    torch_kept = torch.nn.functional.dropout(units, 0.3)
    assert set(kept.unique().tolist()) == set(torch_kept.unique().tolist()) == {0.0, 1 / 0.7}
    # Five standard deviations of the share of zeros.
    bound = 5 * np.sqrt(0.3 * 0.7 / count)
    for draw in (*kept, *torch_kept):
        assert (draw == 0).double().mean().item() == pytest.approx(0.3, abs=bound)
    # Masks of seeds, rows and features are not correlated.
    zero = (kept == 0).double() - 0.3
    neighbours = (zero[0] * zero[1], zero[:, 1:] * zero[:, :-1], zero[..., 1:] * zero[..., :-1])
    for product in neighbours:
        assert abs(product.mean().item()) < 5 * 0.21 / np.sqrt(product.numel())


def test_dropout_at_rest_is_the_identity():
    units = hidden()
    assert torch.equal(Dropout(0.5, seed_generators(0, 3)).eval()(units), units)
    assert torch.equal(Dropout(0.0, seed_generators(0, 3))(units), units)


@pytest.mark.parametrize(
    "layers", [{"dropout": 0.4}, {"batch_norm": True}, {"dropout": 0.2, "batch_norm": True}]
)
def test_each_seed_trains_as_alone(layers):
    inputs, labels = data()
    start = draw_mlps((2, 8, 6, 1), seed_generators(3, 3), **layers)
    settings = {"objective": cross_entropy, "optimiser": Sgd(0.1, 0.9), "steps": 12}
    many = train(start, inputs, labels, **settings).network
    for k in range(3):
        alone = train(start.seed(k), inputs[k], labels[k], **settings).network
        np.testing.assert_allclose(
            many(inputs)[k].detach(), alone(inputs[k])[0].detach(), rtol=1e-9, atol=1e-12
        )
        again = draw_mlps((2, 8, 6, 1), seed_generators(3 + k, 1), **layers)
        np.testing.assert_array_equal(again(inputs[k]).detach(), start.seed(k)(inputs[k]).detach())


def test_dropout_continues_where_it_stopped_and_leaves_the_given_network_alone():
    inputs, labels = data()
    start = draw_mlps((2, 8, 1), seed_generators(0, 3), dropout=0.5, batch_norm=True)
    settings = {"objective": cross_entropy, "optimiser": Sgd(0.1, 0.9)}
    first = train(start, inputs, labels, steps=5, **settings)
    second = train(first.network, inputs, labels, steps=4, memory=first.memory, **settings)
    once = train(start, inputs, labels, steps=9, **settings)
    assert torch.equal(second.network(inputs), once.network(inputs))
    assert start.training and not once.network.training
    assert torch.equal(start.norms[0].mean, torch.zeros(3, 1, 8, dtype=torch.float64))


def test_gradients_by_hand_equal_those_of_autograd():
    inputs, labels = data()
    for widths in ((2, 1), (2, 9, 1), (2, 9, 7, 5, 1)):
        network = draw_mlps(widths, seed_generators(0, 3))
        for given, signs in ((inputs, labels), (inputs[0], labels[0])):
            values, by_hand = gradient_function(network)(
                given, lambda logits, y=signs: cross_entropy(logits, y)
            )
            expected = cross_entropy(network(given), signs)
            slopes = torch.autograd.grad(expected.sum(), list(network.parameters()))
            np.testing.assert_allclose(values, expected.detach(), rtol=1e-14)
            for ours, theirs in zip(by_hand, slopes, strict=True):
                np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-16)


def test_xavier_draws_have_their_bounds():
    network = draw_mlps((30, 50, 1), seed_generators(0, 4), initialisation="xavier")
    for weight, bias in zip(network.weights, network.biases, strict=True):
        bound = np.sqrt(6 / (weight.shape[1] + weight.shape[2]))
        assert 0.9 * bound < weight.abs().max() <= bound
        assert not bias.any()
    # The variance of a uniform draw is bound^2 / 3; four standard deviations of its estimate.
    first = network.weights[0].detach()
    error = 4 * np.sqrt(4 / 5 / first.numel())
    assert first.square().mean().item() == pytest.approx(6 / 80 / 3, rel=error)
