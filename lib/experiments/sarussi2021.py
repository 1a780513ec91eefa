"""Neurons that cluster on pairs of digits, and that agree on Gaussian classes.

[sarussi2021, Sec. 5.1, App. D, I and J, Figs. 2, 6 to 9]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
from scipy.special import expit

from lib.data.digits import digits_pair
from lib.data.synthetic import antipodal_gaussians
from lib.experiments.registry import Experiment, register, rounded
from lib.flow.agreement import agreement_end
from lib.geometry.patterns import agreement, cluster_radius, largest_angle, perfect_agreement_margin
from lib.geometry.programs import agreement_program, extended_agreement_program
from lib.models.two_layer import Start, TwoLayer
from lib.theory.clustering import linear_region, sharp_factor
from lib.training.descent import gradient_descent
from lib.training.losses import LOGISTIC

SETTINGS = ("small-start", "large-start", "long-steps")


@dataclass(frozen=True)
class DigitPairs:
    """Data, network and descent of the experiment; the paper gives none of the sizes, these are ours.

    ``images`` are those of MNIST's "train" or "test" split, or scikit-learn's "digits", with pixels in
    [0, 1]; of each of the ``pairs`` (the positive digit first) a share ``held_out`` is kept for testing.
    Networks have ``neurons`` of each type with output weights of ``neurons**-0.5``, and are trained by
    stochastic gradient descent on single examples, without replacement, for ``epochs``.  The ``settings``:
    "small-start" draws weights of standard deviation ``scale`` and makes steps of length ``step``,
    "large-start" draws weights of ``large_scale``, "long-steps" makes steps of ``long_step``; any other is a
    field of a table, slope, step and scale in one word with blanks.  Curves have ``points`` points after the
    start, evenly spaced in the logarithm of the epoch.
    """

    images: str = "train"
    pairs: tuple[tuple[int, int], ...] = ((0, 1), (3, 5))
    settings: tuple[str, ...] = SETTINGS
    held_out: float = 0.3
    neurons: int = 20
    slope: float = 0.3
    scale: float = 1e-6
    large_scale: float = 0.1
    step: float = 3e-3
    long_step: float = 0.1
    epochs: int = 150
    points: int = 12


@dataclass(frozen=True)
class _Images:
    """Images and labels for training and for testing."""

    inputs: np.ndarray
    labels: np.ndarray
    test_inputs: np.ndarray
    test_labels: np.ndarray


def _split(config: DigitPairs, pair: tuple[int, int], rng: np.random.Generator) -> _Images:
    x, y = digits_pair(*pair, images=config.images, centred=False)
    order = rng.permutation(len(y))
    test, kept = np.split(order, [round(config.held_out * len(y))])
    return _Images(x[kept], y[kept], x[test], y[test])


def _pass(weights: np.ndarray, a: np.ndarray, slope: float, step: float, examples: Sequence[tuple]) -> None:
    """Make a step for each example, a change of ``weights`` (d, m) in place.

    An example is its label, the places of its pixels that are not zero, and their values: weights of the
    others, about four of five, do not change.
    """
    for label, places, values in examples:
        w = weights[places]
        z = values @ w
        slopes = np.where(z > 0, a, slope * a)
        weights[places] = w + np.outer((step * label * expit(-label * (slopes @ z))) * values, slopes)


def _look(network: TwoLayer, images: _Images) -> dict[str, float]:
    """What is recorded of a network."""
    w, u = np.split(network.w, 2)
    outputs, z = network(images.inputs), network.preactivations(images.inputs)
    types = np.split(z > 0, 2, axis=1)
    return {
        "radius": cluster_radius(w, u),
        "distance": float(np.linalg.norm(w.mean(axis=0) - u.mean(axis=0))),
        "angle": max(largest_angle(w), largest_angle(u)),
        "outside": _outside(w, u, images.inputs),
        "outside_test": _outside(w, u, images.test_inputs),
        "disagreements": max(int((one.any(axis=1) & ~one.all(axis=1)).sum()) for one in types),
        "loss": float(LOGISTIC.value(outputs, images.labels).mean()),
        "error": float((images.labels * outputs <= 0).mean()),
        "error_test": float((images.test_labels * network(images.test_inputs) <= 0).mean()),
    }


def _outside(w: np.ndarray, u: np.ndarray, inputs: np.ndarray, factor: float = 2.0) -> float:
    return float((~linear_region(w, u, inputs, factor)).mean())


def _count(start: TwoLayer, scale: float, slope: float, examples: Sequence[tuple]) -> dict[str, float]:
    """The radius over half of step times v after a hundred steps: its limit for short steps, small starts."""
    weights = (1e-26 / scale * start.w).T.copy()
    _pass(weights, start.a, slope, 1e-12, examples[:100])
    return {"count": rounded(2e12 / start.a[0] * cluster_radius(*np.split(weights.T, 2)))}


def _train(config: DigitPairs, setting: str, images: _Images, rng: np.random.Generator) -> dict:
    """The metrics of one setting on one pair."""
    named = (config.step, config.scale), (config.step, config.large_scale), (config.long_step, config.scale)
    sizes = dict(zip(SETTINGS, named, strict=True)).get(setting)
    slope, step, scale = (config.slope, *sizes) if sizes else map(float, setting.split())
    k, d = config.neurons, images.inputs.shape[1]
    start = Start.two_sided(k, d, np.log(scale), rng=rng, v=k**-0.5).network(slope)
    each = zip(images.labels, map(np.flatnonzero, images.inputs), images.inputs, strict=True)
    examples = [(label, places, image[places]) for label, places, image in each]
    epochs = [0, *sorted({round(e) for e in np.geomspace(1, config.epochs, config.points)})]
    orders = [rng.permutation(len(examples)) for _ in range(config.epochs)]
    weights, seen = start.w.T.copy(), [_look(start, images)]
    for epoch, order in enumerate(orders, 1):
        _pass(weights, start.a, slope, step, [examples[i] for i in order])
        if epoch in epochs:
            network = start.with_weights(weights.T, start.a)
            seen.append(_look(network, images))
    w, u = np.split(network.w, 2)
    factor = float(sharp_factor(slope, k)) * (1 + 1e-12)
    return {
        "epochs": epochs,
        **rounded({name: [one[name] for one in seen] for name in seen[0]}),
        "outside_sharp": rounded(_outside(w, u, images.inputs, factor)),
        "outside_sharp_test": rounded(_outside(w, u, images.test_inputs, factor)),
        **({} if sizes else _count(start, scale, slope, [examples[i] for i in orders[0]])),
    }


def run_digit_pairs(config: DigitPairs, seeds: Sequence[int], device: str = "cpu") -> list[dict]:
    """Train on each pair in each setting; return for each seed its metrics by pair and setting.

    A seed draws the examples held out, the start and the order of the examples in each epoch, the same for
    each setting.  The curves, at ``epochs``: the cluster ``radius`` r, the ``distance`` of the two mean
    neurons, the largest ``angle`` (degrees) between neurons of a type, the share of the images ``outside`` of
    the region ``|<w_mean - u_mean, x>| >= 2 r |x|`` of Theorem 5.1, for training and testing, the number of
    training images about which neurons of a type disagree (of the worse type), mean loss, and share of
    errors.  ``outside_sharp`` is the share at the end with the sharp factor in the place of 2, and ``count``,
    in a table, the radius after a hundred steps, in the limit of short steps and small starts, over half of
    step times output weight.  MNIST is read as :func:`lib.data.digits.mnist` reads it.
    """
    metrics: list[dict] = [{} for _ in seeds]
    for (k, seed), pair in product(enumerate(seeds), config.pairs):
        images = _split(config, pair, np.random.default_rng([seed, *pair]))
        metrics[k]["{}-{}".format(*pair)] = {
            "examples": [len(images.labels), len(images.test_labels)],
            **{
                setting: _train(config, setting, images, np.random.default_rng([seed, *pair, 1]))
                for setting in config.settings
            },
        }
    return metrics


def _small(config: DigitPairs) -> DigitPairs:
    """On images of 8 x 8 pixels, which are shorter and fewer: longer steps make up for it."""
    small = replace(config, images="digits", settings=config.settings[:3], step=0.02, long_step=1.0)
    return replace(small, epochs=20, points=8)


def _fingerprint_of(config: DigitPairs) -> DigitPairs:
    short = replace(config, images="stand-in", settings=config.settings[:3], held_out=0.5)
    return replace(short, neurons=5, step=2 * config.step, epochs=5, points=4)


_SIZES = product((0.1, 0.3, 0.6), (1e-3, 3e-3, 1e-2, 3e-2, 1e-1), (1e-6, 1e-3, 1e-1))
for figure, title, config in (
    (
        "figure-2",
        "Neurons cluster on two pairs of digits, until the network is linear on the images",
        DigitPairs(),
    ),
    (
        "figure-6",
        "Neurons cluster on five more pairs of digits, each digit once",
        DigitPairs(pairs=((0, 6), (1, 7), (2, 3), (4, 9), (5, 8)), settings=SETTINGS[:2]),
    ),
    (
        "table",  # not in the paper
        "Clusters on two pairs of digits, by slope, step and scale of the start",
        DigitPairs(settings=tuple("{} {} {}".format(*sizes) for sizes in _SIZES), epochs=20, points=2),
    ),
):
    register(
        Experiment(
            f"sarussi2021-{figure}",
            title,
            full=config,
            quick=_small(config),
            run=run_digit_pairs,
            fingerprint_of=_fingerprint_of,
            devices=("cpu",),
            variants={"test-split": replace(config, images="test")},
        )
    )


@dataclass(frozen=True)
class GaussianClasses:
    """Data, network and descent of the experiments; the paper gives none of the sizes, these are ours.

    Two classes of half of the ``examples`` each lie around ``mean`` times the first axis and its opposite,
    with standard deviation ``spread`` in each of ``dimension`` directions.  ``outlier`` is the place of one
    more positive example in the plane of the first two axes: its distance from zero, and its angle with the
    first axis in degrees; ``None`` for none.  Networks have ``neurons`` of each type with output weights of
    ``neurons**-0.5``, and are trained by stochastic gradient descent on single examples, without
    replacement, for ``epochs``.  The ``settings``: "small-start" draws weights of standard deviation
    ``scale``, "large-start" of ``large_scale``, "without-outlier" is a small start on the classes alone.
    Curves have ``points`` points after the start, evenly spaced in the logarithm of the epoch; the flow
    continues to the time of natural logarithm ``horizon`` (the records of 2026 counted ``ds = L dt``).
    """

    settings: tuple[str, ...] = ("small-start", "large-start")
    dimension: int = 200
    examples: int = 400
    mean: float = 6.0
    spread: float = 1.0
    outlier: tuple[float, float] | None = None
    neurons: int = 50
    slope: float = 0.3
    scale: float = 1e-4
    large_scale: float = 0.3
    step: float = 0.01
    epochs: int = 100
    points: int = 10
    horizon: float = 1e4


def _draw(config: GaussianClasses, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """The examples of a seed, the outlier last."""
    mean = config.mean * np.eye(config.dimension)[0]
    x, y = antipodal_gaussians(config.examples, mean, config.spread, rng=np.random.default_rng(seed))
    if config.outlier is None:
        return x, y
    distance, angle = config.outlier[0], np.radians(config.outlier[1])
    place = np.zeros((1, config.dimension))
    place[0, :2] = distance * np.cos(angle), distance * np.sin(angle)
    return np.vstack([x, place]), np.append(y, 1.0)


def _look_at_regimes(network: TwoLayer, x: np.ndarray, y: np.ndarray) -> dict[str, float]:
    """What is recorded of the network of one seed."""
    w, u = np.split(network.w, 2)
    outputs = network(x)
    positive = [neurons @ x.T > 0 for neurons in (w, u)]
    return {
        # A w neuron is in the perfect regime if it classifies all examples rightly, a u neuron if none.
        "share_w": float((positive[0] == (y > 0)).all(axis=1).mean()),
        "share_u": float((positive[1] == (y < 0)).all(axis=1).mean()),
        "disagreements_w": float((positive[0].any(axis=0) & ~positive[0].all(axis=0)).sum()),
        "disagreements_u": float((positive[1].any(axis=0) & ~positive[1].all(axis=0)).sum()),
        "angle": max(largest_angle(w), largest_angle(u)),
        "loss": float(LOGISTIC.value(outputs, y).mean()),
        "error": float((y * outputs <= 0).mean()),
    }


def _limit(x: np.ndarray, y: np.ndarray, slope: float) -> dict:
    """Where the flow of a clustered network ends, by programs."""
    certificate, kind = None, None
    try:
        pair = agreement_program(x, y, slope).x
        certificate = perfect_agreement_margin(pair[: x.shape[1]], pair[x.shape[1] :], x, y)
        if certificate > 0:
            return {"certificate": certificate, "limit": "perfect"}
        pair = extended_agreement_program(x, y, slope).x
        responses = x @ pair.reshape(2, -1).T / np.linalg.norm(pair)
        # Active kinks are solved for to rounding.
        kind = "kink" if np.abs(responses).min() < 1e-9 else "other"
    except ValueError:  # the program is infeasible
        pass
    return {"certificate": certificate, "limit": kind}


def _afterwards(network: TwoLayer, x: np.ndarray, y: np.ndarray, horizon: float) -> dict:
    """In which regime the network is, and the logarithm of the time after which the flow leaves it."""
    w, u = np.split(network.w, 2)
    if min(agreement(neurons, x)[1] for neurons in (w, u)) <= 0:
        return {"regime": "none", "leaves": None}
    log_time, _ = agreement_end(network, x, y, log_until=horizon)
    return {
        "regime": "perfect" if perfect_agreement_margin(w, u, x, y) > 0 else "other",
        "leaves": rounded(log_time) if log_time < np.inf else None,
    }


def _train_on_classes(config: GaussianClasses, setting: str, seeds: Sequence[int]) -> list[dict]:
    """The metrics of one setting, a dictionary a seed."""
    data = [_draw(config, seed) for seed in seeds]
    if setting == "without-outlier":
        data = [(x[: config.examples], y[: config.examples]) for x, y in data]
    scale = config.large_scale if setting == "large-start" else config.scale
    draws, k, n = [np.random.default_rng([seed, 1]) for seed in seeds], config.neurons, len(data[0][1])
    starts = [Start.two_sided(k, config.dimension, np.log(scale), rng=rng, v=k**-0.5) for rng in draws]
    networks = [start.network() for start in starts]
    orders = [np.concatenate([rng.permutation(n) for _ in range(config.epochs)]) for rng in draws]
    epochs = np.unique([0, *np.geomspace(1, config.epochs, config.points).round().astype(int)])
    run = gradient_descent(
        TwoLayer(np.stack([one.w for one in networks]), np.stack([one.a for one in networks]), config.slope),
        # The examples of all seeds in one list: each network draws from its own part of it.
        np.vstack([x for x, _ in data]),
        np.concatenate([y for _, y in data]),
        LOGISTIC,
        step=config.step,
        steps=n * config.epochs,
        train_a=False,
        samples=np.stack(orders, axis=1) + n * np.arange(len(seeds)),
        record=lambda networks: [
            _look_at_regimes(TwoLayer(w, a, config.slope), *each)
            for w, a, each in zip(networks.w, networks.a, data, strict=True)
        ],
        record_at=n * epochs,
    )
    ends = zip(run.network.w, run.network.a, data, zip(*run.recorded, strict=True), strict=True)
    return [
        {
            "epochs": epochs.tolist(),
            **rounded({name: [one[name] for one in seen] for name in seen[0]}),
            **_afterwards(TwoLayer(w, a, config.slope), *each, config.horizon),
        }
        for w, a, each, seen in ends
    ]


def run_gaussian_classes(config: GaussianClasses, seeds: Sequence[int], device: str = "cpu") -> list[dict]:
    """Train in each setting, all seeds in one batch; return for each seed its metrics by setting.

    A seed draws the examples, the start and the order of the examples in each epoch.  The curves, at
    ``epochs``: the share of the neurons of each type that are in the perfect agreement regime
    (``share_w``, ``share_u``), the number of examples about which neurons of a type disagree
    (``disagreements_w``, ``disagreements_u``), the largest ``angle`` (degrees) between neurons of a type,
    mean loss, and share of errors.  ``regime`` says whether the last network is in the "perfect" agreement
    regime, in an "other" one or in "none"; from there the gradient flow is followed, and ``leaves`` is
    ``log(1 + t)`` when it leaves the regime, ``None`` if it does not.

    Beside the settings: ``certificate`` is the margin with which the solution of program (8) is in the
    perfect regime itself; ``limit`` is where the flow of clustered networks ends, the "perfect" regime if
    that is positive, else a "kink" or an "other" regime.  They are ``None`` if the programs are infeasible.
    """
    by_setting = {setting: _train_on_classes(config, setting, seeds) for setting in config.settings}
    return [
        {
            **_limit(*_draw(config, seed), config.slope),
            **{setting: metrics[k] for setting, metrics in by_setting.items()},
        }
        for k, seed in enumerate(seeds)
    ]


def _fingerprint_of_classes(config: GaussianClasses) -> GaussianClasses:
    return replace(
        config,
        dimension=min(config.dimension, 20),
        examples=min(config.examples, 60),
        mean=min(config.mean, 4.0),
        neurons=8,
        step=2 * config.step,
        epochs=config.epochs // 5,
        points=5,
        horizon=100.0,
    )


_OUTLIER = GaussianClasses(
    settings=("small-start", "without-outlier"),
    dimension=2,
    examples=40,
    mean=2.0,
    spread=0.3,
    outlier=(4.0, 140.0),
    neurons=20,
    slope=0.5,
    scale=1e-3,
    epochs=300,
)
register(
    Experiment(
        "sarussi2021-figure-8",
        "All neurons enter the perfect agreement regime on two Gaussian classes in high dimension",
        full=GaussianClasses(),
        quick=GaussianClasses(dimension=50, examples=80, mean=5.0, neurons=10, epochs=20, points=6),
        run=run_gaussian_classes,
        fingerprint_of=_fingerprint_of_classes,
        devices=("cpu",),
    )
)
register(
    Experiment(
        "sarussi2021-figure-9",
        "Neurons agree outside the perfect regime on two Gaussian classes with an outlier",
        full=_OUTLIER,
        quick=replace(_OUTLIER, neurons=8, step=0.02, epochs=150, points=6, horizon=100.0),
        run=run_gaussian_classes,
        fingerprint_of=_fingerprint_of_classes,
        devices=("cpu",),
    )
)
