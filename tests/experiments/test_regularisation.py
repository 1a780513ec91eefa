"""Two moons: dropout and batch normalisation against torch's own layers, and the measures of a boundary."""

import numpy as np
import pytest
import torch

from lib.data.synthetic import two_moons_with_gap
from lib.experiments import pezeshki2021
from lib.experiments.pezeshki2021 import TwoMoons, _boundary, _Dropout, _optimiser, _start
from lib.training.ensembles import train
from lib.training.objectives import cross_entropy

CONFIG = TwoMoons(width=6, step=0.05, precision="float64")
INPUTS = torch.randn((24, 2), generator=torch.Generator().manual_seed(0), dtype=torch.float64)
LABELS = torch.where(INPUTS.prod(dim=1) > 0, 1.0, -1.0).double()


def trained(start, steps, setting="gap"):
    optimiser = _optimiser(CONFIG, setting)
    return train(start, INPUTS, LABELS, objective=cross_entropy, optimiser=optimiser, steps=steps)


def test_training_with_batch_norm_is_that_of_torch():
    start = _start(CONFIG, "batch-norm", 0)
    layers = [torch.nn.Linear(2, 6), torch.nn.BatchNorm1d(6), torch.nn.ReLU(), torch.nn.Linear(6, 1)]
    network = torch.nn.Sequential(*layers).double()
    for layer, weight, bias in zip(layers[::3], start.plain.weights, start.plain.biases, strict=True):
        layer.weight.data, layer.bias.data = weight[0].T.detach().clone(), bias[0, 0].detach().clone()
    optimiser = torch.optim.SGD(network.parameters(), lr=0.05, momentum=0.9, weight_decay=2e-4)
    for _ in range(15):
        optimiser.zero_grad()
        cross_entropy(network(INPUTS).T, LABELS).sum().backward()
        optimiser.step()
    expected = network.eval()(INPUTS).T.detach()
    np.testing.assert_allclose(trained(start, 15).network(INPUTS).detach(), expected, rtol=1e-9, atol=1e-12)


def test_dropped_units_have_their_share_and_scale():
    layer, hidden = _Dropout(0.3, torch.Generator().manual_seed(0)), torch.full((500, 400), 3.0)
    first, second = layer(hidden), layer(hidden)
    assert torch.equal(layer.eval()(hidden), hidden)
    assert {round(value, 5) for value in first.unique().tolist()} == {0, round(3 / 0.7, 5)}
    kept = first > 0
    # Five standard deviations of the share of 500 times 400, and of the variance of 500 binomial numbers.
    assert kept.double().mean().item() == pytest.approx(0.7, abs=5 * np.sqrt(0.21 / 200_000))
    assert kept.double().sum(dim=1).var().item() == pytest.approx(400 * 0.21, rel=5 * np.sqrt(2 / 500))
    both = (kept & (second > 0)).double().mean().item()
    assert both == pytest.approx(0.49, abs=5 * np.sqrt(0.25 / 200_000))


@pytest.mark.parametrize("setting", ["batch-norm", "dropout"])
def test_runs_go_on_where_they_stopped_and_leave_the_given_network_alone(setting):
    start = _start(CONFIG, setting, 0)
    halfway = trained(start, 5)
    once = trained(start, 9).network
    assert torch.equal(trained(halfway, 4).network(INPUTS), once(INPUTS))
    assert start.training and not once.training
    assert torch.equal(trained(_start(CONFIG, setting, 0), 9).network(INPUTS), once(INPUTS))


def test_measures_of_a_straight_boundary():
    x, y = two_moons_with_gap(300, 0.1, rng=np.random.default_rng(5))
    measures = _boundary(lambda points: points[:, 0], x, y)
    assert measures["accuracy"] == 1 and measures["bend"] < 1e-12 and measures["slope_ratio"] < 1e-12
    # It lies between the moons, 0.1 from each but for the noise.
    assert measures["margin"] == pytest.approx(0.1, abs=0.02)
    assert 0.5 < measures["accuracy_without_gap"] < 1
    nowhere = _boundary(lambda points: np.ones(len(points)), x, y)
    assert (nowhere["margin"], nowhere["bend"], nowhere["slope_ratio"]) == (None, None, None)


def test_each_seed_draws_its_own_moons_and_start(monkeypatch):
    config = TwoMoons(examples=20, width=5, steps=1, points=1, features=())
    starts = [_start(config, "gap", seed) for seed in (0, 1)]
    assert not torch.equal(starts[0].weights[0], starts[1].weights[0])
    monkeypatch.setattr(pezeshki2021, "_start", lambda *_: starts[0])
    one, other = pezeshki2021.run_two_moons(config, (0, 1))
    assert one["gap"]["losses"][0] != other["gap"]["losses"][0]
