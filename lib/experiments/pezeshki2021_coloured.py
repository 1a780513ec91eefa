"""Coloured digits, whose colour predicts the label better than their shape, until it is reversed.

[pezeshki2021, Sec. 4, App. A.2, Tables 1 and 3, Fig. 4]
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
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

METHODS = (
    *("cross-entropy", "extrapolation", "invariant"),
    *("decoupled", "decoupled-as-printed", "decay-alone", "grey"),
)
CURVES = (
    *("training", "test", "colour", "shape", "following"),
    *("blank_plus", "blank_minus", "mean_plus", "mean_minus"),
)
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
    widths: tuple[int, ...] = (300, 256, 390, 300, 300, 300, 83)
    steps: tuple[int, ...] = (1000, 500, 500, 2000, 2000, 2000, 100)
    rates: tuple[float, ...] = (1e-4, 1e-3, 0.0004898536566546834, 1e-4, 1e-4, 1e-4, 0.0028171488133821726)
    annealing: tuple[int, ...] = (0, 100, 190, 450, 450, 450, 0)
    strengths: tuple[float, ...] = (0.0, 1e4, 91257.18613115903, 2e-5, 2e-5, 2e-5, 0.0)
    decays: tuple[float, ...] = (0.0, 1e-3, 0.00110794568, 0.0, 0.0, 0.0, 0.0008602868865288383)
    points: int = 40
    precision: str = "float32"


@dataclass(frozen=True, eq=False)
class ColouredImages:
    """Images of all seeds in their colours, and how likely each label is for them.

    ``images`` are (seeds, n, pixels), ``shapes`` and ``colours`` +1 and -1 (seeds, n), and ``chances``
    (2, seeds, n) the weights with which an image counts as one with the label +1 and as one with -1.
    """

    images: torch.Tensor
    shapes: torch.Tensor
    colours: torch.Tensor
    chances: torch.Tensor

    def accuracy(self, logits: torch.Tensor) -> torch.Tensor:
        """Return the share of labels that logits (seeds, n) have right, shape (seeds,)."""
        right = torch.where(logits > 0, self.chances[0], self.chances[1])
        return right.sum(dim=-1) / self.chances.sum(dim=(0, -1))


def paint(images: torch.Tensor, colours: torch.Tensor | float) -> torch.Tensor:
    """Return images in two channels, (seeds, n, 2 pixels): the first for the colour +1, half each for 0."""
    first = (1 + colours * torch.ones_like(images[..., 0])).unsqueeze(-1) / 2
    return torch.cat([first * images, (1 - first) * images], dim=-1)


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
        images, labels = np.tile(images, (1, 2, 1)), np.tile(labels, 2)
        noise = np.tile(np.broadcast_to(colour_noise, n), 2)
        chances = [
            np.where(labels == label, 1 - LABEL_NOISE, LABEL_NOISE)
            * np.where(colours == label, 1 - noise, noise)
            for label in (1, -1)
        ]
    else:
        draws = np.stack([rng.random((2, n)) for rng in rngs], axis=1)
        drawn = labels * np.where(draws[0] < LABEL_NOISE, -1, 1)
        colours = drawn * np.where(draws[1] < colour_noise, -1, 1)
        chances = [drawn > 0, drawn < 0]
    parts = (images, labels, colours, np.stack(chances))
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

    def risks(f: torch.Tensor, each: Callable[[torch.Tensor], torch.Tensor] = softplus) -> torch.Tensor:
        """Cross-entropy, or the mean of another function of -y f, in each environment, (seeds, 2)."""
        return (share * each(torch.stack([-f, f])[:, :, None])).sum((0, -1))

    def penalised(f: torch.Tensor, _: torch.Tensor, weight: float = 1.0) -> torch.Tensor:
        """Cross-entropy, times a weight, and the penalty of decoupling."""
        return weight * risks(f).mean(-1) + strength * (of_all * f.square()).sum(-1)

    def rex(f: torch.Tensor, _: torch.Tensor, weight: float = 1.0) -> torch.Tensor:
        """Risk extrapolation (V-REx): the sum of the risks over the weight, and their squared difference."""
        return risks(f).sum(-1) / weight + risks(f).diff().squeeze(-1).square()

    def irm(f: torch.Tensor, _: torch.Tensor, weight: float = 1.0) -> torch.Tensor:
        """Invariant risk minimisation, version 1: the risks, over the weight, and their squared slopes."""
        slopes = risks(f, lambda below: below * torch.sigmoid(below))  # in a factor of the logits
        return (risks(f) / weight + slopes.square()).mean(-1)

    objectives: dict[str, Callable[..., torch.Tensor]] = {"extrapolation": rex, "invariant": irm}
    objective = objectives.get(method, penalised)
    # Published with the risks over the strength at the end, and for decoupling times the strength.
    weights = dict.fromkeys(("extrapolation", "invariant", "decoupled"), strength) | {"decay-alone": 0.0}
    return objective, partial(objective, weight=weights.get(method, 1.0))


@torch.no_grad()
def _looks(network: torch.nn.Module, world: ColouredImages, test: ColouredImages, grey: bool) -> torch.Tensor:
    """What the ``CURVES`` show, (curves, seeds); of grey images the first two."""
    if grey:
        return torch.stack([one.accuracy(network(one.images)) for one in (world, test)])
    average = test.images.mean(dim=1, keepdim=True)
    blank = average.mean(dim=-1, keepdim=True).expand_as(average)
    shown = torch.cat([test.images, blank, average], dim=1)
    plus, minus = network(paint(shown, 1.0)), network(paint(shown, -1.0))
    blanks = [logits[:, k] for k in (-2, -1) for logits in (plus, minus)]
    plus, minus = plus[:, :-2], minus[:, :-2]
    accuracy = world.accuracy(network(paint(world.images, world.colours)))
    accuracies = accuracy, test.accuracy(torch.where(test.colours > 0, plus, minus))
    colour, shape = (plus - minus).mean(-1) / 2, (test.shapes * (plus + minus)).mean(-1) / 2
    following = ((plus > 0) & (minus < 0)).to(plus).mean(-1)
    return torch.stack([*accuracies, colour, shape, following, *blanks])


def _method(
    config: ColouredDigits, method: str, seeds: Sequence[int], world: ColouredImages, test: ColouredImages
) -> list[dict]:
    """The metrics of one method, one dictionary a seed."""
    width, steps, rate, annealing, strength, decay = (
        getattr(config, name)[METHODS.index(method)]
        for name in ("widths", "steps", "rates", "annealing", "strengths", "decays")
    )
    grey = method == "grey"
    seen = world.images if grey else paint(world.images, world.colours)
    start: torch.nn.Module | Run = draw_mlps(
        (seen.shape[-1], width, width, 1),
        [torch.Generator().manual_seed(seed) for seed in seeds],
        dtype=seen.dtype,
        initialisation="xavier",
    ).to(seen.device)
    times = {round(k * steps / config.points) for k in range(config.points + 1)} | {annealing}
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
            record=partial(_looks, world=world, test=test, grey=grey),
            record_at={k - done for k in times if done <= k <= until},
        )
        curves |= {done + k: look for k, look in zip(run.steps.tolist(), run.recorded, strict=True)}
        done = until
    values = torch.stack(list(curves.values()), dim=-1).permute(1, 0, 2).cpu()
    return [
        {"steps": list(curves)}
        | {name: [round(value, 3) for value in row.tolist()] for name, row in zip(CURVES, one, strict=False)}
        for one in values
    ]


def run_coloured_digits(config: ColouredDigits, seeds: Sequence[int], device: str = "cpu") -> list[dict]:
    """Train by each method, all seeds in one batch, and return for each seed its metrics by method.

    "cross-entropy" is that alone; "extrapolation" (V-REx) and "invariant" (IRM) know the two environments;
    "decoupled" multiplies cross-entropy plus mean squared logit by the strength, as the published code does
    after its annealing steps, and "decay-alone" has then the mean square without cross-entropy;
    "decoupled-as-printed" is Eq. 25, with twice the strength as its coefficient; "grey" sees the images
    without colours.

    After each of ``steps`` there are the accuracies ``training`` and ``test`` in the environments that a seed
    draws once for all methods, and, but for "grey", of the logits on the test images in both colours: half
    their mean difference (``colour``), the mean of their mean in the direction of the true digit (``shape``),
    and the share of images on which the answer is the colour (``following``); and the logits for two images
    without a digit in the colours +1 and -1: a ``blank`` one as bright as the others, and their ``mean``.
    """
    like = torch.empty(0, dtype=getattr(torch, config.precision), device=device)
    world, test = _draw(config, seeds, like)
    by_method = {method: _method(config, method, seeds, world, test) for method in METHODS}
    return [{method: metrics[k] for method, metrics in by_method.items()} for k in range(len(seeds))]


def _fingerprint_of(config: ColouredDigits) -> ColouredDigits:
    return replace(
        config,
        images="stand-in",
        training=200,
        tests=100,
        widths=(20,) * 7,
        steps=(20,) * 7,
        rates=(5e-3,) * 7,
        points=4,
        annealing=tuple(min(steps, 8) for steps in config.annealing),
    )


_TEST_SPLIT = ColouredDigits(
    images="test",
    training=3000,
    tests=2000,
    widths=(40, 64, 64, 40, 40, 40, 40),
    steps=(100, 300, 300, 6000, 6000, 6000, 100),
    rates=(3e-3, 1e-3, 1e-3, 3e-3, 3e-3, 3e-3, 5e-3),
    annealing=(0, 100, 100, 100, 100, 100, 0),
    strengths=(0.0, 1e4, 1e4, 2e-5, 2e-5, 2e-5, 0.0),
    decays=(0.0, 1e-3, 1e-3, 0.0, 0.0, 0.0, 1e-3),
    points=60,
)
# Without a draw of the noise there is none to memorise.
_EXPECTED = replace(_TEST_SPLIT, training=1500, noise="expected")
_QUICK = replace(
    _EXPECTED,
    images="digits",
    training=600,
    tests=500,
    steps=(60, 240, 240, 600, 150, 250, 80),
    rates=(5e-3, 1e-3, 1e-3, 5e-3, 5e-3, 5e-3, 5e-3),
    strengths=(0.0, 1e4, 1e4, 1e-3, 1e-3, 1e-3, 0.0),  # those of decoupling larger: a faster pace
    points=30,
)
register(
    Experiment(
        "pezeshki2021-table-1",
        "Coloured digits: five ways to train, decoupling as printed, and decay without cross-entropy",
        full=ColouredDigits(),
        quick=_QUICK,
        run=run_coloured_digits,
        fingerprint_of=_fingerprint_of,
        variants={"test-split": _TEST_SPLIT, "test-split-expected": _EXPECTED},
    )
)
