"""Dropout and batch normalisation of stacked perceptrons, against torch's own layers seed by seed."""

from copy import deepcopy
from functools import partial

import numpy as np
import pytest
import torch

from lib.experiments.pezeshki2021 import _BatchNormalised, _Dropout
from lib.models.mlps import draw_mlps, seed_generators
from lib.training.ensembles import train
from lib.training.objectives import cross_entropy

SEEDS, N = 3, 24
INPUTS = torch.randn((SEEDS, N, 2), generator=torch.Generator().manual_seed(0), dtype=torch.float64)
LABELS = torch.where(INPUTS[..., 0] * INPUTS[..., 1] > 0, 1.0, -1.0).double()
ADAM = partial(torch.optim.Adam, lr=0.01)


def perceptrons(seed=0, count=SEEDS):
    return draw_mlps((2, 6, 5, 1), seed_generators(seed, count))


def test_training_with_batch_norm_equals_a_loop_over_networks_of_torch():
    start = perceptrons()
    run = train(_BatchNormalised(start), INPUTS, LABELS, objective=cross_entropy, optimiser=ADAM, steps=15)
    for k in range(SEEDS):
        layers, one = [], start.seed(k)
        for weight, bias in zip(one.weights, one.biases, strict=True):
            linear = torch.nn.Linear(*weight.shape[1:], dtype=weight.dtype)
            linear.weight.data, linear.bias.data = weight[0].T.detach(), bias[0, 0].detach()
            layers += [linear, torch.nn.BatchNorm1d(weight.shape[2], dtype=weight.dtype), torch.nn.ReLU()]
        single = torch.nn.Sequential(*layers[:-2])
        optimiser = ADAM(single.parameters())
        for _ in range(15):
            optimiser.zero_grad()
            cross_entropy(single(INPUTS[k]).T, LABELS[k]).sum().backward()
            optimiser.step()
        expected = single.eval()(INPUTS[k])[:, 0].detach()
        # Adam divides by the root of tiny second moments: rounding grows to about 1e-9 in 15 steps.
        for network, given in ((run.network, INPUTS), (run.network.seed(k), INPUTS[[k]])):
            logits = network(given)[k if len(given) > 1 else 0].detach()
            np.testing.assert_allclose(logits, expected, rtol=1e-7, atol=1e-8)


def test_dropped_units_have_their_share_and_scale():
    start = draw_mlps((2, 400, 1), seed_generators(0, 2))
    for value in start.parameters():
        value.data.fill_(1.0)
    network, inputs = _Dropout(start, 0.3, seed_generators(0, 2)), torch.ones(500, 2, dtype=torch.float64)
    with torch.no_grad():
        # All units are 3, so the logit counts those that are kept.
        kept = (network(inputs) - 1) * 0.7 / 3
        np.testing.assert_allclose(network.eval()(inputs), 1201, rtol=1e-14)
    assert (abs(kept - kept.round()) < 1e-9).all()
    # Five standard deviations of the share of 500 times 400, and of the variance of 500 binomial numbers.
    assert kept.mean().item() / 400 == pytest.approx(0.7, abs=5 * np.sqrt(0.21 / 200_000))
    assert kept.var(dim=1).numpy() == pytest.approx(400 * 0.21, rel=5 * np.sqrt(2 / 500))
    assert abs(np.corrcoef(kept.numpy())[0, 1]) < 5 / np.sqrt(500)


@pytest.mark.parametrize(
    "make", [_BatchNormalised, lambda plain: _Dropout(plain, 0.4, seed_generators(9, 3))]
)
def test_runs_go_on_where_they_stopped_and_leave_the_given_network_alone(make):
    start = make(perceptrons())
    settings = {"objective": cross_entropy, "optimiser": ADAM}
    first = train(start, INPUTS, LABELS, steps=5, **settings)
    second = train(first, INPUTS, LABELS, steps=4, **settings).network
    once = train(start, INPUTS, LABELS, steps=9, **settings).network
    assert torch.equal(second(INPUTS), once(INPUTS))
    assert start.training and not once.training
    untouched = train(deepcopy(start), INPUTS, LABELS, steps=9, **settings).network
    assert torch.equal(untouched(INPUTS), once(INPUTS))


def test_each_seed_drops_units_by_its_own_generator():
    settings = {"objective": cross_entropy, "optimiser": ADAM, "steps": 12}
    many = train(_Dropout(perceptrons(), 0.4, seed_generators(9, SEEDS)), INPUTS, LABELS, **settings).network
    for k in range(SEEDS):
        start = _Dropout(perceptrons(k, 1), 0.4, seed_generators(9 + k, 1))
        alone = train(start, INPUTS[[k]], LABELS[[k]], **settings).network
        for network in (alone, many.seed(k)):
            np.testing.assert_allclose(
                network(INPUTS[[k]])[0].detach(), many(INPUTS)[k].detach(), rtol=1e-9, atol=1e-12
            )
