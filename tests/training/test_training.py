"""Batched training against loops of single runs, torch's own optimisers and autograd."""

import numpy as np
import pytest
import torch

from lib.data.synthetic import two_moons_with_gap
from lib.geometry.level_sets import bend, distance_to_data, zero_level_set
from lib.models.mlps import MlpBatch, draw_mlps
from lib.training.ensembles import train
from lib.training.objectives import cross_entropy, spectral_decoupling
from lib.training.optimisers import Adam, Sgd
from lib.training.seeds import seed_generators


def batch_of_moons(seeds=3, n=20):
    draws = [two_moons_with_gap(n, 0.1, rng=np.random.default_rng(k)) for k in range(seeds)]
    return tuple(torch.tensor(np.stack(parts)) for parts in zip(*draws, strict=True))


def plain_copy(network):
    """The same network, of one seed and one hidden layer, built from torch's own layers."""
    layers = []
    for weight, bias in zip(network.weights, network.biases, strict=True):
        linear = torch.nn.Linear(*weight.shape[1:], dtype=weight.dtype)
        linear.weight.data, linear.bias.data = weight[0].T.detach().clone(), bias[0, 0].detach().clone()
        layers += [linear, torch.nn.ReLU()]
    return torch.nn.Sequential(*layers[:-1])


OPTIMISERS = [
    (Sgd(0.1, 0.9, 0.01), lambda values: torch.optim.SGD(values, 0.1, momentum=0.9, weight_decay=0.01)),
    (Sgd(0.1), lambda values: torch.optim.SGD(values, 0.1)),
    (Adam(0.01, weight_decay=0.01), lambda values: torch.optim.Adam(values, 0.01, weight_decay=0.01)),
]


@pytest.mark.parametrize(("ours", "theirs"), OPTIMISERS)
def test_batch_equals_a_loop_with_the_optimisers_of_torch(ours, theirs):
    inputs, labels = batch_of_moons()
    network, objective = draw_mlps((2, 7, 5, 1), seed_generators(0, 3)), spectral_decoupling(0.1)
    batch = train(network, inputs, labels, objective=objective, optimiser=ours, steps=30).network(inputs)
    for k in range(3):
        single = plain_copy(network.seed(k))
        optimiser = theirs(single.parameters())
        for _ in range(30):
            optimiser.zero_grad()
            objective(single(inputs[k]).T, labels[k]).sum().backward()
            optimiser.step()
        np.testing.assert_allclose(batch[k].detach(), single(inputs[k]).detach()[:, 0], rtol=1e-9, atol=1e-12)


def test_batch_of_one_equals_its_row():
    inputs, labels = batch_of_moons()
    network = draw_mlps((2, 7, 1), seed_generators(0, 3))
    settings = {"objective": cross_entropy, "optimiser": Sgd(0.1, 0.9), "steps": 20}
    whole = train(network, inputs, labels, **settings).network
    alone = train(network.seed(1), inputs[1], labels[1], **settings).network
    np.testing.assert_allclose(whole.seed(1)(inputs[1]).detach(), alone(inputs[1]).detach(), rtol=1e-10)


def test_run_in_two_parts_equals_one_run():
    inputs, labels = batch_of_moons()
    network = draw_mlps((2, 7, 1), seed_generators(0, 3))
    settings = {"objective": cross_entropy, "optimiser": Adam(0.01)}
    first = train(network, inputs, labels, steps=12, **settings)
    second = train(first.network, inputs, labels, steps=8, memory=first.memory, **settings)
    once = train(network, inputs, labels, steps=20, **settings)
    assert torch.equal(second.network(inputs), once.network(inputs))


def test_training_leaves_the_given_network_alone_and_records_where_asked():
    inputs, labels = batch_of_moons()
    network = draw_mlps((2, 7, 1), seed_generators(0, 3))
    before = network(inputs).detach().clone()
    run = train(
        network,
        inputs,
        labels,
        objective=cross_entropy,
        optimiser=Sgd(0.1),
        steps=5,
        record=lambda trained: trained(inputs),
        record_at=(0, 3, 5),
    )
    assert torch.equal(network(inputs), before)
    assert run.steps == (0, 3, 5)
    assert torch.equal(run.recorded[0], before)
    assert torch.equal(run.recorded[-1], run.network(inputs))
    assert not run.recorded[-1].requires_grad


def test_draws_depend_on_their_generator_only():
    many, few = draw_mlps((2, 4, 1), seed_generators(5, 3)), draw_mlps((2, 4, 1), seed_generators(6, 1))
    assert torch.equal(many.weights[0][1], few.weights[0][0])
    assert many.weights[1].abs().max() <= 0.5


def test_spectral_decoupling_is_the_gradient_of_its_parts():
    logits = torch.linspace(-2, 2, 6, dtype=torch.float64).reshape(1, 6).requires_grad_()
    labels = torch.tensor([1.0, -1, 1, -1, 1, 1], dtype=torch.float64)
    (slope,) = torch.autograd.grad(spectral_decoupling(0.3)(logits, labels).sum(), logits)
    expected = (-labels * torch.sigmoid(-labels * logits) + 0.3 * logits) / 6
    np.testing.assert_allclose(slope, expected.detach(), rtol=1e-12)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: draw_mlps((2, 3, 2), seed_generators(0, 1)), "widths"),
        (lambda: draw_mlps((2, 3, 1), []), "generators"),
        (lambda: MlpBatch([torch.zeros(1, 2, 3)], [torch.zeros(1, 1, 3)]), "last of weights has 3"),
        (lambda: spectral_decoupling(-1.0), "strength holds -1.0"),
        (lambda: two_moons_with_gap(1, 0.1, rng=np.random.default_rng(0)), "n is 1"),
        (lambda: zero_level_set(lambda points: np.ones(len(points))), "does not change its sign"),
        (lambda: bend([np.array([[0.0, 3.0]])]), "0 vertices"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_bad_objective_and_divergence_are_named():
    inputs, labels = batch_of_moons()
    network = draw_mlps((2, 7, 1), seed_generators(0, 3))
    with pytest.raises(ValueError, match=r"objective, returns shape \(\)"):
        train(network, inputs, labels, objective=lambda f, y: f.mean(), optimiser=Sgd(0.1), steps=1)
    with pytest.raises(ValueError, match="steps is -1"):
        train(network, inputs, labels, objective=cross_entropy, optimiser=Sgd(0.1), steps=-1)
    with pytest.raises(RuntimeError, match="a smaller step"):
        train(network, inputs, labels, objective=spectral_decoupling(1.0), optimiser=Sgd(1e6), steps=60)


@pytest.mark.parametrize("gap", [-0.1, 0.1])
def test_moons_have_their_gap(gap):
    inputs, labels = two_moons_with_gap(300, gap, rng=np.random.default_rng(0))
    assert (labels * inputs[:, 0]).min() == pytest.approx(gap, abs=0.03)
    assert labels.sum() == 0


def test_level_set_of_a_parabola():
    curves = zero_level_set(lambda points: points[:, 0] - points[:, 1] ** 2 + 0.5, points=401)
    vertices = np.concatenate(curves)
    np.testing.assert_allclose(vertices[:, 0], vertices[:, 1] ** 2 - 0.5, atol=1e-4)
    # The best line through a parabola on [-1, 1] is constant; the rest is sqrt(1/5 - 1/9).
    assert bend(curves) == pytest.approx(np.sqrt(4 / 45), rel=0.02)
    assert distance_to_data(curves, np.array([[-1.0, 0.0], [3.0, 0.0]])) == pytest.approx(0.5, abs=1e-3)
