"""Coloured digits: what their colours say, and what the experiment with them shows at reduced size."""

import dataclasses
import functools

import numpy as np
import pytest
import torch
from torch.nn.functional import binary_cross_entropy_with_logits

from lib.experiments import pezeshki2021 as experiment
from lib.experiments.pezeshki2021 import METHODS, colour_images, paint
from lib.experiments.registry import find
from lib.models.mlps import draw_mlps, seed_generators

NAME = "pezeshki2021-table-1"
LIKE = torch.empty(0, dtype=torch.float64)


def drawn(count, noise=0.1):
    rng = np.random.default_rng(7)
    images, labels = rng.random((count, 3)), rng.choice([-1.0, 1.0], count)
    return images, labels, colour_images(images, labels, noise, LIKE, rng)


class TestColours:
    def test_a_colour_agrees_with_its_label_as_often_as_it_should(self):
        count = 40_000
        for noise in (0.1, 0.9):
            _, clean, some = drawn(count, noise)
            labels = some.chances[0] - some.chances[1]
            # Shares of independent draws, within five standard deviations of at most 1/(2 sqrt(count)).
            assert np.isclose((labels == some.colours).double().mean(), 1 - noise, atol=2.5 * count**-0.5)
            assert np.isclose((labels.numpy() == clean).mean(), 0.75, atol=2.5 * count**-0.5)

    def test_expected_chances_are_the_mean_of_the_draws(self):
        images, labels, _ = drawn(1)
        expected = colour_images(images, labels, 0.2, LIKE)
        count = 40_000
        often = np.repeat(images, count, axis=0), np.repeat(labels, count)
        many = colour_images(*often, 0.2, LIKE, np.random.default_rng(0))
        for k, colour in enumerate((1, -1)):
            shares = (many.chances * (many.colours == colour)).mean(-1)
            assert np.allclose(shares, expected.chances[:, k], atol=2.5 * count**-0.5)

    def test_an_image_stands_in_the_channel_of_its_colour(self):
        _, _, some = drawn(5)
        channels, first = paint(some.images, some.colours).view(5, 2, 3), some.colours > 0
        assert torch.equal(channels[:, 0], first[:, None] * some.images)
        assert torch.equal(channels[:, 1], ~first[:, None] * some.images)
        assert torch.equal(paint(some.images[~first], -1.0), channels[~first].flatten(1))


def risks_and_penalties(world, logits):
    """The risk of a network in each environment, and its squared slope in a factor of the logits."""
    risks, penalties = [], []
    for environment in range(2):
        weights = world.chances[:, environment::2].flatten()
        both = logits[environment::2].repeat(2)
        targets = torch.tensor([1.0, 0.0], dtype=torch.float64).repeat_interleave(len(both) // 2)
        factor = torch.ones((), dtype=torch.float64, requires_grad=True)
        each = binary_cross_entropy_with_logits(factor * both, targets, reduction="none")
        risk = (weights * each).sum() / weights.sum()
        penalties.append(torch.autograd.grad(risk, factor)[0].square().item())
        risks.append(risk.item())
    return np.array(risks), np.array(penalties)


@pytest.mark.parametrize("noise", ["drawn", "expected"])
@pytest.mark.parametrize("method", ["decoupled", "extrapolation", "invariant"])
def test_objectives_are_those_of_the_published_codes(method, noise):
    images, labels, world = drawn(60)
    if noise == "expected":
        world = colour_images(images, labels, 0.1, LIKE)
    n = len(world.colours)
    logits = torch.randn((2, n), generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    objective = experiment._objective(method, 0.03, world)
    values = [objective(logits, torch.ones(n), weight=weight).numpy() for weight in (1.0, 40.0)]
    for k in range(2):
        (first, second), penalties = risks_and_penalties(world, logits[k])
        counts = world.chances.sum(0).numpy()
        square = (counts * logits[k].numpy() ** 2).sum() / counts.sum()
        for weight, value in zip((1, 40), values, strict=True):
            expected = weight * (first + second) / 2 + 0.03 * square
            if method == "invariant":
                expected = (first + second) / 2 / weight + penalties.mean()
            elif method == "extrapolation":
                expected = (first + second) / weight + (first - second) ** 2
            # Sums of 240 numbers at most, in another order.
            np.testing.assert_allclose(value[k], expected, rtol=1e-13)


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
    world, test = experiment._draw(config, 0, LIKE)
    trained, runs = experiment.train, []
    monkeypatch.setattr(experiment, "train", lambda *a, **b: runs.append(trained(*a, **b)) or runs[-1])
    experiment._method(config, method, 0, world, test)
    inputs = world.images if method == "grey" else paint(world.images, world.colours)
    network = draw_mlps((inputs.shape[-1], 5, 5, 1), seed_generators(0, 1), initialisation="xavier")
    moving = torch.optim.Adam(network.parameters(), lr=rate)
    objective = experiment._objective(method, strength, world)
    for weight in (1, 1, *(1 if method == "grey" else strength,) * 2):
        moving.zero_grad()
        ridge = decay / weight * sum(value.square().sum() for value in network.parameters())
        (objective(network(inputs), None, weight).sum() + ridge).backward()
        moving.step()
    with torch.no_grad():
        np.testing.assert_allclose(runs[-1].network(inputs), network(inputs), rtol=1e-8, atol=1e-10)


def test_each_seed_draws_its_own_images_and_start():
    config = dataclasses.replace(find(NAME).quick, steps=(0,) * 7, annealing=(0,) * 7, points=1)
    (world, test), other = (experiment._draw(config, seed, LIKE) for seed in (0, 1))
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
    return experiment.run_coloured_digits(config, [0, 1])


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
