"""Neurons that cluster on pairs of digits, and that agree on Gaussian classes.

Networks have ``neurons`` of each type with output weights of ``neurons**-0.5``, drawn with the standard
deviation ``scale``.  They are trained by stochastic gradient descent on single examples, without replacement,
for ``epochs``.  Curves have ``points`` points after the start, evenly spaced in the logarithm of the epoch.
The paper gives none of the sizes: these are ours.

[sarussi2021, Sec. 5.1, App. D, I and J, Figs. 2, 6 to 9]
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product

import numpy as np

from lib.data.digits import digits_pair
from lib.data.synthetic import antipodal_gaussians
from lib.experiments.registry import Experiment, register, rounded
from lib.flow.agreement import agreement_end
from lib.geometry.patterns import agreement, cluster_radius, largest_angle, perfect_agreement_margin
from lib.geometry.programs import Infeasible, agreement_program, extended_agreement_program
from lib.models.two_layer import Start, TwoLayer
from lib.theory.clustering import linear_region, sharp_factor
from lib.training.descent import gradient_descent
from lib.training.losses import LOGISTIC

_Examples = tuple[np.ndarray, np.ndarray]  # inputs (n, d), labels +1 and -1 (n,)


@dataclass(frozen=True)
class DigitPairs:
    """Data, network and descent of the experiment with digits.

    ``images`` are those of MNIST's "train" or "test" split, or scikit-learn's "digits", with pixels in
    [0, 1]; of each of the ``pairs`` (the positive digit first) a share ``held_out`` is kept for testing.
    The ``settings``: "small-start" has ``scale`` and steps of length ``step``, "large-start" has
    ``large_scale``, "long-steps" has ``long_step``; any other is a field of a table, slope, step and scale in
    one word with blanks.
    """

    images: str = "train"
    pairs: tuple[tuple[int, int], ...] = ((0, 1), (3, 5))
    settings: tuple[str, ...] = ("small-start", "large-start", "long-steps")
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
class GaussianClasses:
    """Data, network and descent of the experiments with Gaussian classes.

    Two classes of half of the ``examples`` each lie around ``mean`` times the first axis and its opposite,
    with standard deviation ``spread`` in each of ``dimension`` directions.  ``outlier`` is the place of one
    more positive example in the plane of the first two axes: its distance from zero, and its angle with the
    first axis in degrees; ``None`` for none.  The ``settings``: "small-start" has ``scale``, "large-start"
    ``large_scale``, "without-outlier" is a small start on the classes alone.  After training the flow
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


# What both share


def _start(config: DigitPairs | GaussianClasses, d: int, rng: np.random.Generator) -> TwoLayer:
    k = config.neurons
    return Start.two_sided(k, d, np.log(config.scale), rng=rng, v=k**-0.5).network(config.slope)


def _train(
    config: DigitPairs | GaussianClasses,
    examples: _Examples,
    rng: np.random.Generator,
    look: Callable[[TwoLayer], dict],
) -> tuple[TwoLayer, dict]:
    """Draw a start and the order of the examples in each epoch; return the last network, and its curves."""
    x, y = examples
    n, d = x.shape
    start = _start(config, d, rng)
    epochs = np.unique([0, *np.geomspace(1, config.epochs, config.points).round().astype(int)])
    run = gradient_descent(
        start,
        x,
        y,
        LOGISTIC,
        step=config.step,
        steps=n * config.epochs,
        train_a=False,
        samples=np.concatenate([rng.permutation(n) for _ in range(config.epochs)]),
        record=look,
        record_at=n * epochs,
    )
    curves = {name: [seen[name] for seen in run.recorded] for name in run.recorded[0]}
    return run.network, {"epochs": epochs.tolist(), **rounded(curves)}


def _look(network: TwoLayer, x: np.ndarray, y: np.ndarray) -> dict[str, float]:
    outputs = network(x)
    return {
        "angle": max(map(largest_angle, np.split(network.w, 2))),
        "loss": float(LOGISTIC.value(outputs, y).mean()),
        "error": float((y * outputs <= 0).mean()),
    }


def _disagreements(neurons: np.ndarray, x: np.ndarray) -> int:
    positive = neurons @ x.T > 0
    return int((positive.any(axis=0) & ~positive.all(axis=0)).sum())


# Pairs of digits


def _split(config: DigitPairs, pair: tuple[int, int], seed: int) -> tuple[_Examples, _Examples]:
    """The examples for training and those for testing."""
    x, y = digits_pair(*pair, images=config.images, centred=False)
    order = np.random.default_rng([seed, *pair]).permutation(len(y))
    test, kept = np.split(order, [round(config.held_out * len(y))])
    return (x[kept], y[kept]), (x[test], y[test])


def _outside(network: TwoLayer, x: np.ndarray, factor: float = 2.0) -> float:
    w, u = np.split(network.w, 2)
    return float((~linear_region(w, u, x, factor)).mean())


def _look_at_clusters(network: TwoLayer, training: _Examples, test: _Examples) -> dict[str, float]:
    w, u = np.split(network.w, 2)
    return {
        "radius": cluster_radius(w, u),
        "distance": float(np.linalg.norm(w.mean(axis=0) - u.mean(axis=0))),
        "outside": _outside(network, training[0]),
        "outside_test": _outside(network, test[0]),
        "disagreements": max(_disagreements(w, training[0]), _disagreements(u, training[0])),
        **_look(network, *training),
        "error_test": _look(network, *test)["error"],
    }


def _count(config: DigitPairs, examples: _Examples, rng: np.random.Generator) -> float:
    """The radius over half of step times v after a hundred steps: its limit for short steps, small starts."""
    x, y = examples
    start = _start(replace(config, scale=1e-26), x.shape[1], rng)
    first = rng.permutation(len(y))[:100]
    run = gradient_descent(start, x, y, LOGISTIC, step=1e-12, steps=len(first), train_a=False, samples=first)
    return 2e12 / start.a[0] * cluster_radius(*np.split(run.network.w, 2))


def _cluster(config: DigitPairs, setting: str, training: _Examples, test: _Examples, draw: list[int]) -> dict:
    """The metrics of one setting on one pair; ``draw`` seeds the start and the order of the examples."""
    sizes = {
        "small-start": (config.slope, config.step, config.scale),
        "large-start": (config.slope, config.step, config.large_scale),
        "long-steps": (config.slope, config.long_step, config.scale),
    }
    slope, step, scale = sizes[setting] if setting in sizes else map(float, setting.split())
    sized = replace(config, slope=slope, step=step, scale=scale)
    look = partial(_look_at_clusters, training=training, test=test)
    network, curves = _train(sized, training, np.random.default_rng(draw), look)
    factor = float(sharp_factor(slope, config.neurons)) * (1 + 1e-12)
    at_end = {
        "outside_sharp": _outside(network, training[0], factor),
        "outside_sharp_test": _outside(network, test[0], factor),
    }
    if setting not in sizes:
        at_end["count"] = _count(sized, training, np.random.default_rng(draw))
    return curves | rounded(at_end)


def _pair(config: DigitPairs, pair: tuple[int, int], seed: int) -> dict:
    training, test = _split(config, pair, seed)
    draw = [seed, *pair, 1]
    return {
        "examples": [len(training[1]), len(test[1])],
        **{setting: _cluster(config, setting, training, test, draw) for setting in config.settings},
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
    return [{"{}-{}".format(*pair): _pair(config, pair, seed) for pair in config.pairs} for seed in seeds]


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
        DigitPairs(pairs=((0, 6), (1, 7), (2, 3), (4, 9), (5, 8)), settings=("small-start", "large-start")),
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


# Gaussian classes


def _draw(config: GaussianClasses, seed: int) -> _Examples:
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
    w, u = np.split(network.w, 2)
    return {
        # A w neuron is in the perfect regime if it classifies all examples rightly, a u neuron if none.
        "share_w": float(((w @ x.T > 0) == (y > 0)).all(axis=1).mean()),
        "share_u": float(((u @ x.T > 0) == (y < 0)).all(axis=1).mean()),
        "disagreements_w": _disagreements(w, x),
        "disagreements_u": _disagreements(u, x),
        **_look(network, x, y),
    }


def _limit(x: np.ndarray, y: np.ndarray, slope: float) -> dict:
    """Where the flow of a clustered network ends, by programs."""
    try:
        w, u = np.split(agreement_program(x, y, slope).x, 2)
    except Infeasible:
        return {"certificate": None, "limit": None}
    certificate = perfect_agreement_margin(w, u, x, y)
    if certificate > 0:
        return {"certificate": certificate, "limit": "perfect"}
    end = extended_agreement_program(x, y, slope).x
    responses = x @ end.reshape(2, -1).T / np.linalg.norm(end)
    # Active kinks are solved for to rounding.
    return {"certificate": certificate, "limit": "kink" if np.abs(responses).min() < 1e-9 else "other"}


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


def _regimes(config: GaussianClasses, setting: str, seed: int) -> dict:
    """The metrics of one setting."""
    x, y = _draw(config, seed)
    if setting == "without-outlier":
        x, y = x[:-1], y[:-1]
    sized = replace(config, scale=config.large_scale) if setting == "large-start" else config
    look = partial(_look_at_regimes, x=x, y=y)
    network, curves = _train(sized, (x, y), np.random.default_rng([seed, 1]), look)
    return curves | _afterwards(network, x, y, config.horizon)


def run_gaussian_classes(config: GaussianClasses, seeds: Sequence[int], device: str = "cpu") -> list[dict]:
    """Train in each setting; return for each seed its metrics by setting.

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
    return [
        {
            **_limit(*_draw(config, seed), config.slope),
            **{setting: _regimes(config, setting, seed) for setting in config.settings},
        }
        for seed in seeds
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
