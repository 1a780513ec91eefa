"""Coloured digits, whose colour predicts the label better than their shape, until it is reversed.

[pezeshki2021, Sec. 4, App. A.2, Tables 1 and 3, Fig. 4]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import torch
from sklearn.datasets import load_digits
from torch.nn.functional import softplus

from lib.data.digits import mnist
from lib.experiments.registry import Experiment, register
from lib.models.mlps import draw_mlps
from lib.training.descent import Run
from lib.training.ensembles import train
from lib.training.objectives import Objective

METHODS = ("cross-entropy", "extrapolation", "invariant", "decoupled", "decoupled-as-printed", "grey")
LABEL_NOISE = 0.25
COLOUR_NOISE = (0.2, 0.1)  # in the two training environments
REVERSED = 0.9  # in the test environment


@dataclass(frozen=True)
class ColouredDigits:
    """Data, networks and training of the experiment; the defaults are those of the published code.

    ``images`` are those of MNIST's "train" or "test" split, every second pixel each way, or scikit-learn's
    "digits".  Of each seed's random order the first ``training`` make the two training environments, the next
    ``tests`` the test environment.  ``noise`` is "drawn", one label and one colour for each image, or
    "expected": each image stands with both labels in both colours, weighted with their probabilities, which
    is what infinitely many draws for the same images would give.

    The other fields have an entry for each of ``METHODS``: ``widths`` of the two hidden layers, ``steps`` of
    Adam of the length ``rates``, the ``annealing`` steps before the method's own objective starts, its
    ``strengths``, and the ``decays``, coefficients of the squared parameters.  Those of "extrapolation" are
    its own published ones, for the paper names none, and those of "grey" are from the code of invariant risk
    minimisation.  Curves have ``points`` points after the start.
    """

    images: str = "train"
    training: int = 50_000
    tests: int = 10_000
    noise: str = "drawn"
    widths: tuple[int, ...] = (300, 256, 390, 300, 300, 83)
    steps: tuple[int, ...] = (1000, 500, 500, 2000, 2000, 100)
    rates: tuple[float, ...] = (1e-4, 1e-3, 0.0004898536566546834, 1e-4, 1e-4, 0.0028171488133821726)
    annealing: tuple[int, ...] = (0, 100, 190, 450, 0, 0)
    strengths: tuple[float, ...] = (0.0, 1e4, 91257.18613115903, 2e-5, 2e-5, 0.0)
    decays: tuple[float, ...] = (0.0, 1e-3, 0.00110794568, 0.0, 0.0, 0.0008602868865288383)
    points: int = 40
    precision: str = "float32"


@dataclass(frozen=True, eq=False)
class ColouredImages:
    """Images of all seeds in their colours, and how likely each label is for them.

    ``images`` are (seeds, n, pixels), ``colours`` +1 and -1 (seeds, n), and ``chances`` (2, seeds, n) the
    weights with which an image counts as one with the label +1 and as one with the label -1.
    """

    images: torch.Tensor
    colours: torch.Tensor
    chances: torch.Tensor

    def inputs(self, *, coloured: bool = True, blank: bool = False) -> torch.Tensor:
        """Return the images in two channels, shape (seeds, n, 2 pixels).

        Not ``coloured``, half of an image is in each channel; ``blank``, each pixel is the mean of its seed.
        """
        mean = self.images.mean(dim=(1, 2), keepdim=True)
        images = mean.expand_as(self.images) if blank else self.images
        first = (1 + self.colours * coloured).unsqueeze(-1) / 2
        return torch.cat([first * images, (1 - first) * images], dim=-1)

    def accuracy(self, logits: torch.Tensor) -> torch.Tensor:
        """Return the share of labels that logits (seeds, n) have right, shape (seeds,)."""
        positive, negative = self.chances
        return torch.where(logits > 0, positive, negative).sum(dim=-1) / self.chances.sum(dim=(0, -1))

    def entropy(self, logits: torch.Tensor) -> torch.Tensor:
        """Return the mean entropy, in nats, of the labels that logits (seeds, n) predict, shape (seeds,)."""
        entropies = torch.distributions.Bernoulli(logits=logits.double()).entropy()
        weights = self.chances.sum(dim=0)
        return (weights * entropies).sum(dim=-1) / weights.sum(dim=-1)


def colour_images(
    images: np.ndarray,
    labels: np.ndarray,
    colour_noise: np.ndarray | float,
    like: torch.Tensor,
    rngs: Sequence[np.random.Generator] | None = None,
) -> ColouredImages:
    """Flip labels with probability ``LABEL_NOISE`` and colour images by them, on the device of ``like``.

    ``images`` are (seeds, n, pixels), ``labels`` +1 and -1 (seeds, n); the colour is the label after its
    flip, but for the probability ``colour_noise``, a number or one an image, (n,).  Each seed draws with its
    own of the ``rngs``.  Without these there are 2n images, each first in the colour +1 and then in the
    colour -1, and each counts for both labels as likely as they are: the mean over all draws.
    """
    seeds, n = labels.shape
    if rngs is None:
        colours = np.repeat([[1.0, -1.0]], n, axis=1).repeat(seeds, axis=0)
        both, twice = np.tile(labels, 2), np.tile(np.broadcast_to(colour_noise, n), 2)
        chances = [
            np.where(both == label, 1 - LABEL_NOISE, LABEL_NOISE)
            * np.where(colours == label, 1 - twice, twice)
            for label in (1, -1)
        ]
        images = np.tile(images, (1, 2, 1))
    else:
        draws = np.stack([rng.random((2, n)) for rng in rngs], axis=1)
        drawn = labels * np.where(draws[0] < LABEL_NOISE, -1, 1)
        colours = drawn * np.where(draws[1] < colour_noise, -1, 1)
        chances = [drawn > 0, drawn < 0]
    parts = (images, colours, np.stack(chances))
    return ColouredImages(*(torch.from_numpy(np.ascontiguousarray(part)).to(like) for part in parts))


def _all_images(name: str) -> tuple[np.ndarray, np.ndarray]:
    """All images (n, pixels) with values in [0, 1], and their digits."""
    if name == "digits":
        images, digits = load_digits(return_X_y=True)
        return images / 16.0, digits
    images, digits = mnist(name)
    return images[:, ::2, ::2].reshape(len(images), -1) / 255.0, digits


def _draw(
    config: ColouredDigits, seeds: Sequence[int], like: torch.Tensor
) -> tuple[ColouredImages, ColouredImages]:
    """The training environments, each with every second image, and the test environment."""
    images, digits = _all_images(config.images)
    if config.training + config.tests > len(digits):
        raise ValueError(f"training + tests is above {len(digits)}, the number of images; allowed: up to it")
    labels, rngs = np.where(digits > 4, 1, -1), [np.random.default_rng(seed) for seed in seeds]
    orders = np.stack([rng.permutation(len(digits))[: config.training + config.tests] for rng in rngs])
    drawn = rngs if config.noise == "drawn" else None
    parts = (
        (orders[:, : config.training], np.resize(COLOUR_NOISE, config.training)),
        (orders[:, config.training :], REVERSED),
    )
    world, test = (
        colour_images(images[chosen], labels[chosen], flips, like, drawn) for chosen, flips in parts
    )
    return world, test


def _objectives(method: str, strength: float, world: ColouredImages) -> tuple[Objective, Objective]:
    """What is minimised during the annealing steps, and after them; the labels are those of the world.

    Each logit counts with the label +1 and with the label -1, as likely as they are.
    """
    odd = torch.arange(world.colours.shape[1], device=world.colours.device) % 2
    member = world.chances[:, :, None] * torch.stack([1 - odd, odd])  # labels, seeds, environments, images
    share = member / member.sum((0, -1), keepdim=True)
    of_all = world.chances.sum(0) / world.chances.sum((0, -1))[:, None]

    def risks(logits: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Cross-entropy in each environment, and its slope in a factor of the logits; (seeds, 2) each."""
        below = torch.stack([-logits, logits])[:, :, None]
        return (share * softplus(below)).sum((0, -1)), (share * below * torch.sigmoid(below)).sum((0, -1))

    def decoupled(coefficient: float, scale: float) -> Objective:
        """Spectral decoupling [pezeshki2021, Eq. 25]."""

        def objective(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
            penalty = (of_all * logits.square()).sum(dim=-1)
            return scale * (risks(logits)[0].mean(dim=-1) + coefficient * penalty)

        return objective

    def extrapolation(strength: float, scale: float) -> Objective:
        """Risk extrapolation (V-REx): the sum of the two risks and ``strength`` their squared difference."""

        def objective(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
            first, second = risks(logits)[0].unbind(dim=-1)
            return scale * (first + second + strength * (first - second).square())

        return objective

    def invariant(strength: float, scale: float) -> Objective:
        """Invariant risk minimisation, version 1: a penalty on slopes in a factor of the logits."""

        def objective(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
            values, slopes = risks(logits)
            return scale * (values + strength * slopes.square()).mean(dim=-1)

        return objective

    if method in ("extrapolation", "invariant"):  # published with everything over the strength at the end
        make = extrapolation if method == "extrapolation" else invariant
        return make(1.0, 1.0), make(strength, 1 / strength)
    printed = decoupled(strength, 1.0)
    return printed, decoupled(1.0, strength) if method == "decoupled" else printed


def _method(
    config: ColouredDigits, method: str, seeds: Sequence[int], world: ColouredImages, test: ColouredImages
) -> list[dict]:
    """The metrics of one method, one dictionary a seed."""
    width, steps, rate, annealing, strength, decay = (
        getattr(config, name)[METHODS.index(method)]
        for name in ("widths", "steps", "rates", "annealing", "strengths", "decays")
    )
    grey = method == "grey"
    seen, unseen = (one.images if grey else one.inputs() for one in (world, test))
    start: torch.nn.Module | Run = draw_mlps(
        (seen.shape[-1], width, width, 1),
        [torch.Generator().manual_seed(seed) for seed in seeds],
        dtype=seen.dtype,
        initialisation="xavier",
    ).to(seen.device)

    def accuracies(network: torch.nn.Module) -> torch.Tensor:
        return torch.stack([world.accuracy(network(seen)), test.accuracy(network(unseen))])

    times = {round(k * steps / config.points) for k in range(config.points + 1)}
    divided = strength if method in ("extrapolation", "invariant") else 1.0
    done, curves = 0, dict[int, torch.Tensor]()
    phases = zip((annealing, steps), _objectives(method, strength, world), (1.0, divided), strict=True)
    for until, objective, divisor in phases:
        start = run = train(
            start,
            seen,
            seen.new_ones(seen.shape[1]),
            objective=objective,
            optimiser=partial(torch.optim.Adam, lr=rate, weight_decay=2 * decay / divisor),
            steps=until - done,
            record=accuracies,
            record_at={k - done for k in times if done <= k <= until},
        )
        curves |= {done + k: pair for k, pair in zip(run.steps.tolist(), run.recorded, strict=True)}
        done = until
    training, tested = torch.stack(list(curves.values()), dim=-1).cpu()
    metrics = [
        {"steps": list(curves), "training": _decimals(one), "test": _decimals(other)}
        for one, other in zip(training, tested, strict=True)
    ]
    return metrics if grey else [a | b for a, b in zip(metrics, _probes(run.network, test), strict=True)]


@torch.no_grad()
def _probes(network: torch.nn.Module, test: ColouredImages) -> list[dict]:
    """Accuracy and entropy on digits and blank images, coloured and grey, one dictionary a seed."""
    found: list[dict] = [{} for _ in test.colours]
    for colour in ("coloured", "grey"):
        for shape in ("digits", "blanks"):
            logits = network(test.inputs(coloured=colour == "coloured", blank=shape == "blanks"))
            pairs = zip(_decimals(test.accuracy(logits)), _decimals(test.entropy(logits)), strict=True)
            for one, (accuracy, entropy) in zip(found, pairs, strict=True):
                one[f"{colour}_{shape}"] = {"accuracy": accuracy, "entropy": entropy}
    return found


def _decimals(values: torch.Tensor) -> list[float]:
    return [round(value, 4) for value in values.tolist()]


def run_coloured_digits(config: ColouredDigits, seeds: Sequence[int], device: str = "cpu") -> list[dict]:
    """Train by each method, all seeds in one batch, and return for each seed its metrics by method.

    "cross-entropy" is that alone; "extrapolation" (V-REx) and "invariant" (IRM) know the two environments;
    "decoupled" multiplies cross-entropy plus mean squared logit by the strength, as the published code does
    after its annealing steps; "decoupled-as-printed" is Eq. 25, with twice the strength as its coefficient;
    "grey" sees the images without colours.  ``training`` and ``test`` are accuracies after each of ``steps``,
    in the environments that a seed draws once for all methods.  The others have the accuracy and the entropy,
    in nats, of the final network on the digits and on blank images of the test environment, in their colours
    or half in each channel.
    """
    like = torch.empty(0, dtype=getattr(torch, config.precision), device=device)
    world, test = _draw(config, seeds, like)
    by_method = {method: _method(config, method, seeds, world, test) for method in METHODS}
    return [{method: metrics[k] for method, metrics in by_method.items()} for k in range(len(seeds))]


def _fingerprint_of(config: ColouredDigits) -> ColouredDigits:
    return replace(
        config,
        images="stand-in",
        training=400,
        tests=100,
        widths=(20,) * 6,
        steps=tuple(steps // 10 for steps in config.steps),
        rates=tuple(5 * rate for rate in config.rates),
        annealing=tuple(steps // 10 for steps in config.annealing),
        points=5,
    )


_TEST_SPLIT = ColouredDigits(
    images="test",
    training=8000,
    tests=2000,
    # The published widths, steps and rates where that is cheap; elsewhere fewer and longer steps.
    widths=(64, 64, 64, 64, 64, 83),
    steps=(200, 500, 500, 1000, 1000, 100),
    rates=(1e-3, 1e-3, ColouredDigits.rates[2], 1e-3, 1e-3, ColouredDigits.rates[5]),
    annealing=(0, 100, 190, 100, 0, 0),
)
register(
    Experiment(
        "pezeshki2021-table-1",
        "Coloured digits: five ways to train, and spectral decoupling as printed; blanks and grey digits",
        full=ColouredDigits(),
        quick=ColouredDigits(
            images="digits",
            training=1200,
            tests=500,
            widths=(40,) * 6,
            steps=(120, 120, 120, 300, 150, 50),
            rates=(5e-3, 5e-3, 1e-2, 5e-3, 5e-3, 5e-3),
            annealing=(0, 40, 40, 50, 0, 0),
            strengths=(0.0, 1e4, 1e4, 2e-5, 2e-5, 0.0),
            decays=(0.0, 3e-3, 5e-3, 0.0, 0.0, 1e-3),
            points=20,
            precision="float64",
        ),
        run=run_coloured_digits,
        fingerprint_of=_fingerprint_of,
        variants={
            "test-split": _TEST_SPLIT,
            # Without a draw of the noise there is none to memorise.
            "test-split-expected": replace(_TEST_SPLIT, training=3000, noise="expected"),
        },
    )
)
