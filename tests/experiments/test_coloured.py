"""Coloured digits: what their colours say, and what the experiment with them shows at reduced size."""

import dataclasses
import json

import numpy as np
import pytest
import torch

from lib.experiments import pezeshki2021_coloured as experiment
from lib.experiments.coloured import colour_images
from lib.experiments.registry import find
from lib.theory.two_cues import cue_posteriors
from lib.training.environments import Grouped, Irm, VRex
from lib.training.objectives import cross_entropy, spectral_decoupling, spectral_decoupling_as_coded
from tests.images import write_mnist

NAME = "pezeshki2021-table-1"


@pytest.fixture(scope="module")
def quick():
    """The metrics of the first three seeds of the quick configuration."""
    return find(NAME).run(find(NAME).quick, [0, 1, 2], "cpu")


def drawn(count, noise=0.1, seeds=2):
    rng = np.random.default_rng(7)
    images, labels = rng.random((seeds, count, 3)), rng.choice([-1.0, 1.0], (seeds, count))
    rngs = [np.random.default_rng(k) for k in range(seeds)]
    return images, labels, colour_images(images, labels, noise, rngs=rngs)


class TestColours:
    def test_a_colour_agrees_with_its_label_as_often_as_it_should(self):
        count = 40_000
        for noise in (0.1, 0.9):
            _, clean, some = drawn(count, noise)
            labels = some.chances[0] - some.chances[1]
            # Shares of independent draws, within five standard deviations of at most 1/(2 sqrt(count)).
            assert np.allclose((labels == some.colours).double().mean(-1), 1 - noise, atol=2.5 * count**-0.5)
            assert np.allclose((labels.numpy() == clean).mean(-1), 0.75, atol=2.5 * count**-0.5)

    def test_expected_chances_are_the_mean_of_the_draws(self):
        images, labels, _ = drawn(1, seeds=1)
        expected = colour_images(images, labels, 0.2)
        count = 40_000
        many = colour_images(
            np.repeat(images, count, axis=1),
            np.repeat(labels, count, axis=1),
            0.2,
            rngs=[np.random.default_rng(0)],
        )
        for k, colour in enumerate((1, -1)):
            shares = (many.chances * (many.colours == colour)).mean(-1)
            assert np.allclose(shares[:, 0], expected.chances[:, 0, k], atol=2.5 * count**-0.5)

    def test_who_knows_both_cues_can_be_as_right_as_their_posteriors_allow(self):
        """The best logit for each colour and shape reaches the accuracy that the closed form says."""
        images, labels, _ = drawn(50)
        some = colour_images(images, labels, 0.15)
        agreeing, opposed = cue_posteriors(0.85, 0.75)
        alike = some.colours == torch.from_numpy(np.tile(labels, 2))
        chance = torch.where(alike, agreeing, opposed)  # that the label is that of the shape
        logits = torch.from_numpy(np.tile(labels, 2)) * torch.logit(chance)
        best = (0.85 * 0.75 + 0.15 * 0.25) * agreeing + (0.85 * 0.25 + 0.15 * 0.75) * (1 - opposed)
        assert np.allclose(some.accuracy(logits), best, atol=1e-12)

    def test_inputs_without_colour_are_the_mean_over_both_colours(self):
        images, _, some = drawn(5)
        other = dataclasses.replace(some, colours=-some.colours)
        for blank in (False, True):
            mean = (some.inputs(blank=blank) + other.inputs(blank=blank)) / 2
            assert np.allclose(mean, some.inputs(coloured=False, blank=blank), atol=1e-15)
        assert np.allclose(some.inputs().reshape(2, 5, 2, 3).sum(2), images, atol=1e-15)

    def test_entropy_is_that_of_a_coin(self):
        some = drawn(4)[2]
        assert np.allclose(some.entropy(torch.zeros(2, 4)), np.log(2), atol=1e-15)
        assert np.allclose(some.entropy(torch.full((2, 4), -50.0)), 0, atol=1e-15)


class TestObjectives:
    """With drawn noise they are the library's own, of the labels that were drawn."""

    @pytest.mark.parametrize("method", experiment.METHODS)
    def test_objectives_are_those_of_the_published_codes(self, method):
        world = drawn(60)[2]
        logits = torch.randn(2, 60, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
        labels, groups = world.chances[0] - world.chances[1], torch.arange(60) % 2
        # Of environments of one size the mean risk is the mean over all examples.
        plain = Grouped(groups)(logits, labels)
        first, second = (cross_entropy(logits[:, k::2], labels[:, k::2]) for k in range(2))
        strength = 0.03 if "decoupled" in method else 40.0
        penalty = (Irm(groups, 1.0)(logits, labels) - plain, VRex(groups, 1.0)(logits, labels) - plain)
        expected = {
            "cross-entropy": (plain, plain),
            "grey": (plain, plain),
            "decoupled": (
                spectral_decoupling(0.06)(logits, labels),
                spectral_decoupling_as_coded(0.03)(logits, labels),
            ),
            "decoupled-as-printed": (spectral_decoupling(0.06)(logits, labels),) * 2,
            "invariant": (plain + penalty[0], plain / 40 + penalty[0]),
            "extrapolation": (
                first + second + (first - second) ** 2,
                (first + second) / 40 + (first - second) ** 2,
            ),
        }[method]
        used = strength if method not in ("cross-entropy", "grey") else 0.0
        for objective, value in zip(experiment._objectives(method, used, world), expected, strict=True):
            # Sums of 60 numbers in another order.
            assert np.allclose(objective(logits, torch.ones(60)), value, rtol=1e-13)


class TestColouredDigits:
    def test_metrics_are_plain_and_few(self, quick):
        assert json.loads(json.dumps(quick, allow_nan=False)) == quick
        assert len(json.dumps(quick[0])) < 10_000

    def test_a_seed_alone_gives_what_it_gives_among_others(self, quick):
        config = dataclasses.replace(find(NAME).quick, training=200, tests=100, points=2)
        alone = experiment.run_coloured_digits(config, [1])
        assert alone == experiment.run_coloured_digits(config, [0, 1])[1:]

    def test_colour_deceives_who_is_not_told(self, quick):
        """As Table 1 shows it: cross-entropy falls below chance, spectral decoupling as printed with it."""
        for metrics in quick:
            assert metrics["grey"]["test"][-1] > 0.65
            for method in ("cross-entropy", "decoupled-as-printed"):
                assert metrics[method]["training"][-1] > 0.85 and metrics[method]["test"][-1] < 0.4
            for method in ("extrapolation", "invariant", "decoupled"):
                assert metrics[method]["test"][-1] > metrics["cross-entropy"]["test"][-1] + 0.1
                assert metrics[method]["training"][-1] < metrics["cross-entropy"]["training"][-1]

    def test_decoupling_goes_on_after_its_annealing_steps_only(self, quick):
        steps = find(NAME).quick.annealing[experiment.METHODS.index("decoupled")]
        for metrics in quick:
            curve = dict(zip(metrics["decoupled"]["steps"], metrics["decoupled"]["test"], strict=True))
            assert max(curve[k] for k in curve if 0 < k <= steps) < 0.35 < curve[max(curve)]

    def test_without_label_noise_to_memorise_training_accuracy_is_the_best_there_is(self):
        config = dataclasses.replace(find(NAME).quick, noise="expected", training=300, tests=100, points=1)
        [metrics] = experiment.run_coloured_digits(config, [0])
        # 85 per cent by the colour, 75 by the shape.
        assert metrics["cross-entropy"]["training"][-1] == pytest.approx(0.85, abs=0.01)
        assert metrics["grey"]["training"][-1] <= 0.75

    def test_too_many_images_are_refused(self):
        config = dataclasses.replace(find(NAME).quick, training=1700)
        with pytest.raises(ValueError, match=r"training \+ tests is above 1797"):
            experiment.run_coloured_digits(config, [0])

    def test_every_second_pixel_of_mnist(self, tmp_path, monkeypatch):
        monkeypatch.setenv("LEARNING_DYNAMICS_MNIST", str(tmp_path))
        hashes = write_mnist(tmp_path)
        images, digits = experiment.mnist("test", hashes=hashes)
        monkeypatch.setattr(experiment, "mnist", lambda name: (images, digits))
        pixels, found = experiment._all_images("test")
        assert (
            np.array_equal(pixels.reshape(-1, 14, 14), images[:, ::2, ::2] / 255) and (found == digits).all()
        )
