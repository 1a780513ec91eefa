"""Coloured digits: the ridge, the draws, and what the experiment shows at reduced size."""

import dataclasses
import functools

import numpy as np
import pytest
import torch

from experiments import coloured_digits as experiment
from experiments.coloured_digits import METHODS
from experiments.colours import draw_environments, paint
from experiments.environments import over_environments
from experiments.registry import find
from lib.models.mlps import draw_mlps, seed_generators

NAME = "pezeshki2021-table-1"
LIKE = torch.empty(0, dtype=torch.float64)


def environments(config, seed):
    return draw_environments(config.images, config.training, config.tests, "expected", seed, LIKE)


@pytest.mark.parametrize("method", ["grey", "extrapolation", "invariant"])
def test_the_ridge_is_its_coefficient_times_the_squared_parameters(method, monkeypatch):
    """Steps before and after annealing, against a loss that has the ridge written out."""
    config = dataclasses.replace(
        find(NAME).quick,
        training=40,
        tests=20,
        widths=(5,) * 7,
        steps=(4,) * 7,
        annealing=(2,) * 7,
        points=1,
        precision="float64",
    )
    chosen = METHODS.index(method)
    decay, strength, rate = (one[chosen] for one in (config.decays, config.strengths, config.rates))
    assert decay > 0
    world, test = environments(config, 0)
    trained, runs = experiment.train, []
    monkeypatch.setattr(experiment, "train", lambda *a, **b: runs.append(trained(*a, **b)) or runs[-1])
    experiment._method(config, method, 0, world, test)
    inputs = world.images if method == "grey" else paint(world.images, world.colours)
    network = draw_mlps((inputs.shape[-1], 5, 5, 1), seed_generators(0, 1), initialisation="xavier")
    moving = torch.optim.Adam(network.parameters(), lr=rate)
    objective = over_environments(method, strength, world.chances)
    for weight in (1, 1, *(1 if method == "grey" else strength,) * 2):
        moving.zero_grad()
        ridge = decay / weight * sum(value.square().sum() for value in network.parameters())
        (objective(network(inputs), None, weight).sum() + ridge).backward()
        moving.step()
    with torch.no_grad():
        np.testing.assert_allclose(runs[-1].network(inputs), network(inputs), rtol=1e-8, atol=1e-10)


def test_each_seed_draws_its_own_images_and_start():
    config = dataclasses.replace(find(NAME).quick, steps=(0,) * 7, annealing=(0,) * 7, points=1)
    (world, test), other = (environments(config, seed) for seed in (0, 1))
    assert not torch.equal(world.images, other[0].images)
    starts = [experiment._method(config, "cross-entropy", seed, world, test) for seed in (0, 1)]
    assert starts[0]["blank_plus"] != starts[1]["blank_plus"]


@functools.cache
def small_run():
    config = dataclasses.replace(
        find(NAME).quick,
        training=300,
        tests=100,
        steps=(100,) * 7,
        annealing=(0, 60, 60, 60, 60, 60, 0),
        points=4,
        precision="float64",
    )
    return [experiment.run_coloured_digits(config, seed) for seed in (0, 1)]


class TestColouredDigits:
    def test_without_label_noise_to_memorise_training_accuracy_is_the_best_there_is(self):
        # 85 per cent by the colour, 75 by the shape.
        for one in small_run():
            assert one["cross-entropy"]["training"][-1] == pytest.approx(0.85, abs=0.01)
            assert one["grey"]["training"][-1] <= 0.75

    def test_test_accuracy_is_that_of_the_shares_of_answers(self):
        """An answer by the colour is right for a tenth, any other one for a quarter at least."""
        for one in small_run():
            for method in METHODS[:-1]:
                share, tested = (np.array(one[method][name]) for name in ("following", "test"))
                # Three decimals of each are on record.
                assert np.all(tested >= 0.1 * share + 0.25 * (1 - share) - 1e-3)
                assert np.all(tested <= 0.1 * share + 0.9 * (1 - share) + 1e-3)
