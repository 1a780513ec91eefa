"""Coloured digits, whose colour predicts the label until it is reversed [pezeshki2021, Sec. 4, App. A.2]."""

from dataclasses import dataclass, replace
from functools import partial

import torch

from experiments.colours import ColouredImages, draw_environments, paint
from experiments.environments import over_environments
from experiments.registry import Experiment
from lib.models.mlps import draw_mlps
from lib.training.descent import TrainingRun
from lib.training.ensembles import train

METHODS = (
    *("cross-entropy", "extrapolation", "invariant"),
    *("decoupled", "decoupled-as-printed", "decay-alone", "grey"),
)


@dataclass(frozen=True)
class ColouredDigits:
    """Data, networks and training of the experiment; the defaults are those of the published code.

    ``images``, ``training``, ``tests`` and ``noise`` are those of
    :func:`experiments.colours.draw_environments`.

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


@torch.no_grad()
def _look_at_colours(
    network: torch.nn.Module, world: ColouredImages, test: ColouredImages, grey: bool
) -> dict:
    """What the curves show; of grey images the first two."""
    if grey:
        sets = {"training": world, "test": test}
        return {name: world.accuracy(network(world.images)) for name, world in sets.items()}
    average = test.images.mean(dim=0, keepdim=True)
    shown = torch.cat([test.images, average.mean().expand_as(average), average])
    both = network(paint(shown, 1.0))[0], network(paint(shown, -1.0))[0]
    plus, minus = both[0][:-2], both[1][:-2]
    return {
        "training": world.accuracy(network(paint(world.images, world.colours))),
        "test": test.accuracy(torch.where(test.colours > 0, plus, minus)),
        "colour": (plus - minus).mean() / 2,
        "shape": (test.shapes * (plus + minus)).mean() / 2,
        "following": ((plus > 0) & (minus < 0)).to(plus).mean(),
        **{"blank_plus": both[0][-2], "blank_minus": both[1][-2]},
        **{"mean_plus": both[0][-1], "mean_minus": both[1][-1]},
    }


def _method(
    config: ColouredDigits, method: str, seed: int, world: ColouredImages, test: ColouredImages
) -> dict:
    """The metrics of one method."""
    width, steps, rate, annealing, strength, decay = (
        getattr(config, name)[METHODS.index(method)]
        for name in ("widths", "steps", "rates", "annealing", "strengths", "decays")
    )
    grey, objective = method == "grey", over_environments(method, strength, world.chances)
    seen = world.images if grey else paint(world.images, world.colours)
    generator = torch.Generator().manual_seed(seed)
    network = draw_mlps(
        (seen.shape[1], width, width, 1), [generator], dtype=seen.dtype, initialisation="xavier"
    )
    run: torch.nn.Module | TrainingRun = network.to(seen.device)
    times = {round(k * steps / config.points) for k in range(config.points + 1)} | {annealing}
    done, looks = 0, dict[int, dict]()
    # Published with the risks over the strength at the end, and for decoupling times the strength.
    at_end = dict.fromkeys(METHODS, 1.0) | {"decay-alone": 0.0}
    at_end |= dict.fromkeys(("extrapolation", "invariant", "decoupled"), strength)
    for until, weight in ((annealing, 1.0), (steps, at_end[method])):
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


def run_coloured_digits(config: ColouredDigits, seed: int, device: str = "cpu") -> dict:
    """Train by each method, and return the metrics of a seed by method.

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
    world, test = draw_environments(config.images, config.training, config.tests, config.noise, seed, like)
    return {method: _method(config, method, seed, world, test) for method in METHODS}


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
# Rates, widths, switch and noise as published; decoupling goes on to four times the published 2,001 steps.
_PUBLISHED = replace(
    ColouredDigits(),
    images="test",
    training=1000,
    tests=1000,
    steps=(1000, 500, 500, 8000, 2000, 0, 100),
    annealing=(0, 100, 190, 450, 450, 0, 0),
)
_QUICK = replace(
    _EXPECTED,
    images="digits",
    training=400,
    tests=300,
    steps=(60, 240, 240, 300, 150, 150, 80),
    rates=(5e-3, 1e-3, 1e-3, 5e-3, 5e-3, 5e-3, 5e-3),
    strengths=(0.0, 1e4, 1e4, 1e-2, 2e-5, 1e-2, 0.0),  # that of decoupling larger: a faster pace
    points=30,
)
TABLE_1 = Experiment(
    "pezeshki2021-table-1",
    "Coloured digits: five ways to train, decoupling as printed, and decay without cross-entropy",
    full=ColouredDigits(),
    quick=_QUICK,
    metrics_of=run_coloured_digits,
    fingerprint_of=_fingerprint_of_colours,
    variants={"published": _PUBLISHED, "test-split": _TEST_SPLIT, "test-split-expected": _EXPECTED},
)
