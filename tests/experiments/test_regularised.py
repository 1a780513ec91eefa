"""Dropout and batch normalisation, against torch's own layers, and through the trainer."""

from functools import partial

import numpy as np
import pytest
import torch

from experiments.regularised import Dropout, Regularised
from lib.models.mlps import draw_mlps, seed_generators
from lib.training.ensembles import train
from lib.training.objectives import cross_entropy

INPUTS = torch.randn((24, 2), generator=torch.Generator().manual_seed(0), dtype=torch.float64)
LABELS = torch.where(INPUTS.prod(dim=1) > 0, 1.0, -1.0).double()
SGD = partial(torch.optim.SGD, lr=0.05, momentum=0.9, weight_decay=2e-4)


def drawn(kind):
    """A network of six units that has what is named."""
    [generator] = seed_generators(0, 1)
    plain = draw_mlps((2, 6, 1), [generator])
    if kind == "dropout":
        return Regularised(plain, torch.nn.ReLU(), Dropout(0.7, generator))
    return Regularised(plain, torch.nn.BatchNorm1d(6, dtype=torch.float64), torch.nn.ReLU())


def trained(start, steps):
    return train(start, INPUTS, LABELS, objective=cross_entropy, optimiser=SGD, steps=steps)


def test_training_with_batch_norm_is_that_of_torch():
    start = drawn("batch-norm")
    layers = [torch.nn.Linear(2, 6), torch.nn.BatchNorm1d(6), torch.nn.ReLU(), torch.nn.Linear(6, 1)]
    network = torch.nn.Sequential(*layers).double()
    for layer, weight, bias in zip(layers[::3], start.plain.weights, start.plain.biases, strict=True):
        layer.weight.data, layer.bias.data = weight[0].T.detach().clone(), bias[0, 0].detach().clone()
    optimiser = SGD(network.parameters())
    for _ in range(15):
        optimiser.zero_grad()
        cross_entropy(network(INPUTS).T, LABELS).sum().backward()
        optimiser.step()
    expected = network.eval()(INPUTS).T.detach()
    np.testing.assert_allclose(trained(start, 15).network(INPUTS).detach(), expected, rtol=1e-9, atol=1e-12)


def test_dropped_units_have_their_share_and_scale():
    layer, hidden = Dropout(0.3, torch.Generator().manual_seed(0)), torch.full((500, 400), 3.0)
    first, second = layer(hidden), layer(hidden)
    assert torch.equal(layer.eval()(hidden), hidden)
    assert {round(value, 5) for value in first.unique().tolist()} == {0, round(3 / 0.7, 5)}
    kept = first > 0
    # Five standard deviations of the share of 500 times 400, and of the variance of 500 binomial numbers.
    assert kept.double().mean().item() == pytest.approx(0.7, abs=5 * np.sqrt(0.21 / 200_000))
    assert kept.double().sum(dim=1).var().item() == pytest.approx(400 * 0.21, rel=5 * np.sqrt(2 / 500))
    both = (kept & (second > 0)).double().mean().item()
    assert both == pytest.approx(0.49, abs=5 * np.sqrt(0.25 / 200_000))


@pytest.mark.parametrize("kind", ["batch-norm", "dropout"])
def test_runs_go_on_where_they_stopped_and_leave_the_given_network_alone(kind):
    start = drawn(kind)
    halfway = trained(start, 5)
    once = trained(start, 9).network
    assert torch.equal(trained(halfway, 4).network(INPUTS), once(INPUTS))
    assert start.training and not once.training
    assert torch.equal(trained(drawn(kind), 9).network(INPUTS), once(INPUTS))
