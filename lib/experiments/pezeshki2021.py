"""Boundaries between two moons, and coloured digits, whose colour predicts the label until it is reversed.

[pezeshki2021, Sec. 4, App. A, Figs. 2 to 4, Tables 1 and 3]
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
from lib.data.synthetic import two_moons_with_gap
from lib.experiments.registry import Experiment, register, rounded
from lib.geometry.level_sets import bend, distance_to_data, zero_level_set
from lib.models.features import decompose, tangent_features
from lib.models.mlps import MlpBatch, draw_mlps
from lib.training.descent import Run
from lib.training.ensembles import Optimiser, train
from lib.training.objectives import cross_entropy, spectral_decoupling

# Two moons


@dataclass(frozen=True)
class TwoMoons:
    """Data, network, training and settings of the experiment; the defaults are those of Figure 2.

    All ``settings`` train networks of one hidden layer (``width``) by steps (``step``, ``momentum``,
    ``weight_decay``) on the mean cross-entropy of two moons with a ``gap``, or differ from that in one thing:
    "overlap" has the negative gap, "decoupled" half of the ``strength`` times the mean squared logit added,
    "weight-decay" has ``strong_decay``, "longer" ten times the steps, "adam-short" and "adam-long" Adam with
    the steps ``adam``, "rotated" data turned by 45 degrees, "dropout" the probability 0.7, "batch-norm" that,
    "five-layers" four hidden ones.  The responses to ``features``, counted from 0 by strength, are recorded
    at ``points`` points after the start; the boundaries are kept of the seeds ``pictured``.
    """

    settings: tuple[str, ...] = ("overlap", "gap", "decoupled")
    examples: int = 300
    gap: float = 0.1
    width: int = 500
    step: float = 0.01
    momentum: float = 0.9
    steps: int = 10_000
    weight_decay: float = 2e-4
    strength: float = 0.006
    strong_decay: float = 0.01
    adam: tuple[float, float] = (1e-4, 3e-3)
    features: tuple[int, ...] = (1, 6)
    points: int = 50
    pictured: tuple[int, ...] = tuple(range(10))
    precision: str = "float32"


class _Dropout(torch.nn.Module):
    """Drop each unit with a probability, by draws of a generator on the CPU."""

    def __init__(self, probability: float, generator: torch.Generator) -> None:
        super().__init__()
        self.probability, self.generator = probability, generator

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        if not self.training:
            return hidden
        draws = torch.rand(hidden.shape, generator=self.generator, dtype=hidden.dtype)
        kept = (draws >= self.probability).to(hidden)
        return hidden * (kept / (1 - self.probability))


class _Regularised(torch.nn.Module):
    """A perceptron of one hidden layer, with other layers in the place of its activation."""

    def __init__(self, plain: MlpBatch, *between: torch.nn.Module) -> None:
        super().__init__()
        self.plain, self.between = plain, torch.nn.Sequential(*between)

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        """Return the logits, shape (1, n)."""
        (first, last), (inner, outer) = self.plain.weights, self.plain.biases
        hidden = self.between(torch.addmm(inner[0], inputs, first[0]))
        return torch.addmm(outer[0], hidden, last[0]).mT


def _start(config: TwoMoons, setting: str, seed: int) -> torch.nn.Module:
    """The network at initialisation, the same for each setting with the same architecture."""
    widths = (2, *[config.width] * (4 if setting == "five-layers" else 1), 1)
    generator, dtype = torch.Generator().manual_seed(seed), getattr(torch, config.precision)
    plain = draw_mlps(widths, [generator], dtype=dtype)
    if setting == "dropout":
        return _Regularised(plain, torch.nn.ReLU(), _Dropout(0.7, generator))
    if setting == "batch-norm":
        return _Regularised(plain, torch.nn.BatchNorm1d(config.width, dtype=dtype), torch.nn.ReLU())
    return plain


def _optimiser(config: TwoMoons, setting: str) -> Optimiser:
    if setting in ("adam-short", "adam-long"):
        rate = config.adam[setting == "adam-long"]
        return partial(torch.optim.Adam, lr=rate, weight_decay=config.weight_decay)
    decay = config.strong_decay if setting == "weight-decay" else config.weight_decay
    return partial(torch.optim.SGD, lr=config.step, momentum=config.momentum, weight_decay=decay)


def _boundary(function: Callable[[np.ndarray], np.ndarray], x: np.ndarray, y: np.ndarray) -> dict:
    """Measures of a function of points (n, 2), whose sign tells the moons ``x`` with the labels ``y``."""
    # Differences of a function that is linear almost everywhere, over much less than its pieces.
    across, along = (np.abs(function(x + shift) - function(x - shift)).mean() for shift in 0.01 * np.eye(2))
    fresh = two_moons_with_gap(2000, -0.3, rng=np.random.default_rng(0))
    measures: dict = {
        "accuracy": float((y * function(x) > 0).mean()),
        "accuracy_without_gap": float((fresh[1] * function(fresh[0]) > 0).mean()),
        "slope_ratio": float(along / across) if across else None,
    }
    try:
        curves = zero_level_set(function)
        return measures | {
            "margin": float(distance_to_data(curves, x)),
            "bend": float(bend(curves)),
            "boundary": [[[round(float(c), 3) for c in vertex] for vertex in curve[::4]] for curve in curves],
        }
    except ValueError:  # no boundary in the square, or hardly any
        return measures | {"margin": None, "bend": None, "boundary": []}


def _train_on_moons(config: TwoMoons, setting: str, seed: int, device: str) -> dict:
    """The metrics of one setting."""
    like = torch.empty(0, dtype=getattr(torch, config.precision), device=device)
    gap = -config.gap if setting == "overlap" else config.gap
    x, y = two_moons_with_gap(config.examples, gap, rng=np.random.default_rng(seed))
    angle = np.pi / 4 * (setting == "rotated")
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])

    def seen(points: np.ndarray) -> torch.Tensor:
        return torch.from_numpy(points @ turn).to(like)

    @torch.no_grad()
    def function(points: np.ndarray) -> np.ndarray:
        return run.network(seen(points))[0].double().cpu().numpy()

    start, inputs = _start(config, setting, seed).to(device), seen(x)
    steps = config.steps * (10 if setting == "longer" else 1)
    run = train(
        start,
        inputs,
        torch.from_numpy(y).to(like),
        objective=spectral_decoupling(config.strength) if setting == "decoupled" else cross_entropy,
        optimiser=_optimiser(config, setting),
        steps=steps,
        record=lambda network: network(inputs).double().cpu(),
        record_at={round(k * steps / config.points) for k in range(config.points + 1)},
    )
    logits = torch.cat(run.recorded)  # (times, n)
    losses = cross_entropy(logits, torch.from_numpy(y))
    metrics = {"steps": run.steps.tolist(), **_boundary(function, x, y)}
    if seed not in config.pictured:
        del metrics["boundary"]
    metrics |= {"loss": float(losses[-1]), "losses": rounded(losses)}
    if config.features:
        features = decompose(y[:, None] * tangent_features(start.cpu(), inputs.cpu()))
        z = features.responses(y * (logits - logits[0]).numpy())
        metrics["responses"] = rounded([z[:, j] for j in config.features])
        metrics["coherences"] = rounded(features.coherences[:10])
        metrics["final_responses"] = rounded(z[-1, :10])
    return metrics


def run_two_moons(config: TwoMoons, seeds: Sequence[int], device: str = "cpu") -> list[dict]:
    """Train in each setting, and return for each seed its metrics by setting.

    Each seed has its own moons and start, the same in all settings of one architecture.  ``margin`` is the
    distance of the boundary in the square ``[-2, 2]^2`` from the data, ``bend`` its root mean square distance
    from the best line (both ``None`` without a boundary there), ``slope_ratio`` the mean slope of the network
    along the gap over that across it, ``accuracy_without_gap`` that on new moons which overlap by 0.3.
    Rotated data are turned back first.  ``responses`` are those of the change of the outputs to the features
    of :func:`lib.models.features.decompose` before training.
    """
    return [
        {setting: _train_on_moons(config, setting, seed, device) for setting in config.settings}
        for seed in seeds
    ]


def _fingerprint_of_moons(config: TwoMoons) -> TwoMoons:
    return replace(
        config,
        examples=40,
        width=30,
        step=20 * config.step,
        steps=config.steps // 100,
        adam=(20 * config.adam[0], 10 * config.adam[1]),
        points=10,
        pictured=(),
    )


_PRACTICES = TwoMoons(
    settings=(
        *("gap", "weight-decay", "longer", "adam-short", "adam-long"),
        *("rotated", "dropout", "batch-norm", "five-layers", "decoupled"),
    ),
    weight_decay=0.0,
    features=(),
    pictured=(0,),
)
register(
    Experiment(
        "pezeshki2021-figure-2",
        "Two moons with and without a gap, and with spectral decoupling: boundaries and responses",
        full=TwoMoons(),
        # Cheaper, but for as long a time of the flow: ten times the steps' length, a tenth of their number.
        quick=TwoMoons(examples=100, width=100, step=0.1, steps=1000, precision="float64"),
        run=run_two_moons,
        fingerprint_of=_fingerprint_of_moons,
    )
)
register(
    Experiment(
        "pezeshki2021-figure-3",
        "Two moons with a gap: ten ways to train, of which one bends the boundary",
        full=_PRACTICES,
        # For the time of the published code, in a tenth of its steps.
        quick=replace(
            _PRACTICES, examples=60, width=150, step=0.1, steps=100, adam=(1e-3, 1e-2), precision="float64"
        ),
        run=run_two_moons,
        fingerprint_of=_fingerprint_of_moons,
        variants={
            # The published code makes a tenth of the steps that the text names.
            "published-code": replace(_PRACTICES, steps=1000),
        },
    )
)


# Coloured digits

METHODS = (
    *("cross-entropy", "extrapolation", "invariant"),
    *("decoupled", "decoupled-as-printed", "decay-alone", "grey"),
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
    """Images in their colours, and how likely each label is for them.

    ``images`` are (n, pixels), ``shapes`` and ``colours`` +1 and -1 (n,), and ``chances`` (2, n) the weights
    with which an image counts as one with the label +1 and as one with -1.
    """

    images: torch.Tensor
    shapes: torch.Tensor
    colours: torch.Tensor
    chances: torch.Tensor

    def accuracy(self, logits: torch.Tensor) -> torch.Tensor:
        """Return the share of labels that logits (..., n) have right, shape (...)."""
        right = torch.where(logits > 0, self.chances[0], self.chances[1])
        return right.sum(dim=-1) / self.chances.sum()


def paint(images: torch.Tensor, colours: torch.Tensor | float) -> torch.Tensor:
    """Return images in two channels, (n, 2 pixels): the first for the colour +1."""
    first = (1 + colours * torch.ones_like(images[:, 0]))[:, None] / 2
    return torch.cat([first * images, (1 - first) * images], dim=1)


def colour_images(
    images: np.ndarray,
    labels: np.ndarray,
    colour_noise: np.ndarray | float,
    like: torch.Tensor,
    rng: np.random.Generator | None = None,
) -> ColouredImages:
    """Flip labels with probability ``LABEL_NOISE`` and colour images by them, on the device of ``like``.

    ``images`` are (n, pixels), ``labels`` +1 and -1 (n,); the colour is the label after its flip, but for the
    probability ``colour_noise``, a number or one an image, (n,).  Without ``rng`` there are 2n images, each
    first in the colour +1 and then in the colour -1, and each counts for both labels as likely as they are:
    the mean over all draws.
    """
    n = len(labels)
    if rng is None:
        images, labels, colours = np.tile(images, (2, 1)), np.tile(labels, 2), np.repeat([1.0, -1.0], n)
        noise = np.tile(np.broadcast_to(colour_noise, n), 2)
        chances = [
            np.where(labels == label, 1 - LABEL_NOISE, LABEL_NOISE)
            * np.where(colours == label, 1 - noise, noise)
            for label in (1, -1)
        ]
    else:
        draws = rng.random((2, n))
        drawn = labels * np.where(draws[0] < LABEL_NOISE, -1, 1)
        colours = drawn * np.where(draws[1] < colour_noise, -1, 1)
        chances = [drawn > 0, drawn < 0]
    parts = (images, labels, colours, np.stack(chances))
    return ColouredImages(*(torch.from_numpy(part).to(like) for part in parts))


def _all_images(name: str) -> tuple[np.ndarray, np.ndarray]:
    """All images (n, pixels) with values in [0, 1], and their digits."""
    if name == "digits":
        images, digits = load_digits(return_X_y=True)
        return images / 16.0, digits
    images, digits = mnist(name)
    return images[:, ::2, ::2].reshape(len(images), -1) / 255.0, digits


def _draw(config: ColouredDigits, seed: int, like: torch.Tensor) -> tuple[ColouredImages, ColouredImages]:
    """The training environments, each with every second image, and the test environment."""
    images, digits = _all_images(config.images)
    labels, rng = np.where(digits > 4, 1, -1), np.random.default_rng(seed)
    first, rest = np.split(rng.permutation(len(digits))[: config.training + config.tests], [config.training])
    environments = np.resize(COLOUR_NOISE, config.training)
    drawn = rng if config.noise == "drawn" else None
    return (
        colour_images(images[first], labels[first], environments, like, drawn),
        colour_images(images[rest], labels[rest], REVERSED, like, drawn),
    )


def _objective(method: str, strength: float, world: ColouredImages) -> Callable[..., torch.Tensor]:
    """What is minimised, a function of logits (networks, n), labels that it does not use, and a weight.

    Each logit counts with the label +1 and with the label -1, as likely as they are in the world.
    """
    odd = torch.arange(len(world.colours), device=world.colours.device) % 2
    # Labels, networks, environments, images.
    member = world.chances[:, None, None] * torch.stack([1 - odd, odd])
    share = member / member.sum((0, -1), keepdim=True)
    of_all = world.chances.sum(0) / world.chances.sum()

    def risks(f: torch.Tensor, each: Callable[[torch.Tensor], torch.Tensor] = softplus) -> torch.Tensor:
        """Cross-entropy, or the mean of another function of -y f, in each environment, (networks, 2)."""
        return (share * each(torch.stack([-f, f])[:, :, None])).sum((0, -1))

    def penalised(f: torch.Tensor, _: torch.Tensor, weight: float) -> torch.Tensor:
        """Cross-entropy, times the weight, and the penalty of decoupling."""
        return weight * risks(f).mean(-1) + strength * (of_all * f.square()).sum(-1)

    def rex(f: torch.Tensor, _: torch.Tensor, weight: float) -> torch.Tensor:
        """Risk extrapolation (V-REx): the sum of the risks over the weight, and their squared difference."""
        return risks(f).sum(-1) / weight + risks(f).diff().squeeze(-1).square()

    def irm(f: torch.Tensor, _: torch.Tensor, weight: float) -> torch.Tensor:
        """Invariant risk minimisation, version 1: the risks, over the weight, and their squared slopes."""
        slopes = risks(f, lambda below: below * torch.sigmoid(below))  # in a factor of the logits
        return (risks(f) / weight + slopes.square()).mean(-1)

    return {"extrapolation": rex, "invariant": irm}.get(method, penalised)


@torch.no_grad()
def _look_at_colours(
    network: torch.nn.Module, world: ColouredImages, test: ColouredImages, grey: bool
) -> dict:
    """What the curves show; of grey images the first two."""
    if grey:
        return {
            "training": world.accuracy(network(world.images)),
            "test": test.accuracy(network(test.images)),
        }
    average = test.images.mean(dim=0, keepdim=True)
    shown = torch.cat([test.images, average.mean().expand_as(average), average])
    plus, minus = network(paint(shown, 1.0))[0], network(paint(shown, -1.0))[0]
    blank_plus, mean_plus = plus[-2:]
    blank_minus, mean_minus = minus[-2:]
    plus, minus = plus[:-2], minus[:-2]
    return {
        "training": world.accuracy(network(paint(world.images, world.colours))),
        "test": test.accuracy(torch.where(test.colours > 0, plus, minus)),
        "colour": (plus - minus).mean() / 2,
        "shape": (test.shapes * (plus + minus)).mean() / 2,
        "following": ((plus > 0) & (minus < 0)).to(plus).mean(),
        "blank_plus": blank_plus,
        "blank_minus": blank_minus,
        "mean_plus": mean_plus,
        "mean_minus": mean_minus,
    }


def _method(
    config: ColouredDigits, method: str, seed: int, world: ColouredImages, test: ColouredImages
) -> dict:
    """The metrics of one method."""
    width, steps, rate, annealing, strength, decay = (
        getattr(config, name)[METHODS.index(method)]
        for name in ("widths", "steps", "rates", "annealing", "strengths", "decays")
    )
    grey, objective = method == "grey", _objective(method, strength, world)
    seen = world.images if grey else paint(world.images, world.colours)
    generator = torch.Generator().manual_seed(seed)
    network = draw_mlps(
        (seen.shape[1], width, width, 1), [generator], dtype=seen.dtype, initialisation="xavier"
    )
    run: torch.nn.Module | Run = network.to(seen.device)
    times = {round(k * steps / config.points) for k in range(config.points + 1)} | {annealing}
    done, looks = 0, dict[int, dict]()
    # Published with the risks over the strength at the end, and for decoupling times the strength.
    at_end = dict.fromkeys(("extrapolation", "invariant", "decoupled"), strength) | {"decay-alone": 0.0}
    for until, weight in ((annealing, 1.0), (steps, at_end.get(method, 1.0))):
        run = train(
            run,
            seen,
            seen.new_ones(len(seen)),
            objective=partial(objective, weight=weight),
            optimiser=partial(torch.optim.Adam, lr=rate, weight_decay=2 * decay / weight if decay else 0),
            steps=until - done,
            record=partial(_look_at_colours, world=world, test=test, grey=grey),
            record_at={k - done for k in times if done <= k <= until},
        )
        looks |= {done + k: look for k, look in zip(run.steps.tolist(), run.recorded, strict=True)}
        done = until
    curves = {name: [round(look[name].item(), 3) for look in looks.values()] for name in looks[0]}
    return {"steps": list(looks), **curves}


def run_coloured_digits(config: ColouredDigits, seeds: Sequence[int], device: str = "cpu") -> list[dict]:
    """Train by each method, and return for each seed its metrics by method.

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
    metrics = []
    for seed in seeds:
        world, test = _draw(config, seed, like)
        metrics.append({method: _method(config, method, seed, world, test) for method in METHODS})
    return metrics


def _fingerprint_of_colours(config: ColouredDigits) -> ColouredDigits:
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
        fingerprint_of=_fingerprint_of_colours,
        variants={"test-split": _TEST_SPLIT, "test-split-expected": _EXPECTED},
    )
)
