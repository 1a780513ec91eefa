"""Neurons that cluster on pairs of digits [sarussi2021, Sec. 5.1 and App. D, Figs. 2, 6 and 7]."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import expit

from lib.checks import choice, number, whole
from lib.data.digits import digits_pair
from lib.experiments.registry import Experiment, register
from lib.geometry.patterns import cluster_radius, largest_angle
from lib.models.two_layer import Start, TwoLayer
from lib.theory.clustering import linear_region, sharp_factor
from lib.training.losses import LOGISTIC

DIGITS = frozenset(range(10))
SETTINGS = ("small-start", "large-start", "long-steps")


@dataclass(frozen=True)
class DigitPairs:
    """Data, network and descent of the experiment; the paper gives none of the sizes, these are ours.

    ``images`` are those of MNIST's "train" or "test" split, or scikit-learn's "digits", with pixels in
    [0, 1]; of each of the ``pairs`` (the positive digit first) a share ``held_out`` is kept for testing.
    Networks have ``neurons`` of each type with output weights of ``neurons**-0.5``, and are trained by
    stochastic gradient descent on single examples, without replacement, for ``epochs``.  The ``settings``:
    "small-start" draws weights of standard deviation ``scale`` and makes steps of length ``step``,
    "large-start" draws weights of ``large_scale``, "long-steps" makes steps of ``long_step``.  Curves have
    ``points`` points after the start, evenly spaced in the logarithm of the epoch.  Raises ``ValueError``
    naming a field with a forbidden value.

    Example:

    >>> DigitPairs(images="digits", pairs=((4, 9),), epochs=20).neurons
    20
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

    def __post_init__(self) -> None:
        choice("images", self.images, ("train", "test", "digits"))
        for pair in self.pairs:
            if not isinstance(pair, tuple) or len({whole("pairs", digit) for digit in pair} & DIGITS) != 2:
                raise ValueError(f"pairs holds {pair}, allowed: pairs of different digits 0 to 9")
        for setting in self.settings:
            choice("settings", setting, SETTINGS)
        for name in ("neurons", "epochs", "points"):
            whole(name, getattr(self, name), 1)
        for name in ("scale", "large_scale", "step", "long_step"):
            number(name, getattr(self, name), low=0)
        number("slope", self.slope, 0, 1, "(]")
        number("held_out", self.held_out, 0, 1)


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


def _train(config: DigitPairs, setting: str, images: _Images, rng: np.random.Generator) -> dict:
    """The metrics of one setting on one pair."""
    scale = config.large_scale if setting == "large-start" else config.scale
    step = config.long_step if setting == "long-steps" else config.step
    k, d = config.neurons, images.inputs.shape[1]
    start = Start.two_sided(k, d, np.log(scale), rng=rng, v=k**-0.5).network(config.slope)
    places = [np.flatnonzero(image) for image in images.inputs]
    examples = [
        (label, place, image[place])
        for label, place, image in zip(images.labels, places, images.inputs, strict=True)
    ]
    epochs = [0, *sorted({round(e) for e in np.geomspace(1, config.epochs, config.points)})]
    weights, seen = start.w.T.copy(), [_look(start, images)]
    for epoch in range(1, config.epochs + 1):
        order = rng.permutation(len(examples))
        _pass(weights, start.a, config.slope, step, [examples[i] for i in order])
        if epoch in epochs:
            network = start.with_weights(weights.T, start.a)
            seen.append(_look(network, images))
    w, u = np.split(network.w, 2)
    factor = float(sharp_factor(config.slope, k)) * (1 + 1e-12)
    return {
        "epochs": epochs,
        **{name: [_rounded(one[name]) for one in seen] for name in seen[0]},
        "outside_sharp": _rounded(_outside(w, u, images.inputs, factor)),
        "outside_sharp_test": _rounded(_outside(w, u, images.test_inputs, factor)),
    }


def _rounded(value: float) -> float:
    """Four significant digits, for records that stay small."""
    return float(f"{value:.3e}")


def run_digit_pairs(config: DigitPairs, seeds: Sequence[int], device: str = "cpu") -> list[dict]:
    """Train on each pair in each setting; return for each seed its metrics by pair and setting.

    A seed draws the examples held out, the start and the order of the examples in each epoch, the same for
    each setting.  The curves, at ``epochs``: the cluster ``radius`` r, the ``distance`` of the two mean
    neurons, the largest ``angle`` (degrees) between neurons of a type, the share of the images ``outside`` of
    the region ``|<w_mean - u_mean, x>| >= 2 r |x|`` of Theorem 5.1, for training and testing, the number of
    training images about which neurons of a type disagree (of the worse type), mean loss, and share of
    errors.  ``outside_sharp`` is the share at the end with the sharp factor in the place of 2.  MNIST is
    read as :func:`lib.data.digits.mnist` reads it.  Raises ``ValueError`` for seeds that are no whole numbers
    from 0 on, or another device than "cpu".

    Example:

    >>> config = DigitPairs(images="digits", pairs=((0, 1),), settings=("small-start",), epochs=20)
    >>> [metrics] = run_digit_pairs(config, [0])
    >>> one = metrics["0-1"]["small-start"]
    >>> one["outside"][0], one["outside"][-1] < 0.1, one["error_test"][-1]
    (1.0, True, 0.0)
    """
    choice("device", device, ("cpu",))
    metrics = []
    for seed in [whole("seeds", seed) for seed in seeds]:
        by_pair = {}
        for pair in config.pairs:
            images = _split(config, pair, np.random.default_rng([seed, *pair]))
            by_pair[f"{pair[0]}-{pair[1]}"] = {
                "examples": [len(images.labels), len(images.test_labels)],
                **{
                    setting: _train(config, setting, images, np.random.default_rng([seed, *pair, 1]))
                    for setting in config.settings
                },
            }
        metrics.append(by_pair)
    return metrics


def _small(config: DigitPairs) -> DigitPairs:
    """On images of 8 x 8 pixels, which are shorter and fewer: longer steps make up for it."""
    return replace(config, images="digits", step=0.02, long_step=1.0, epochs=20, points=8)


_MORE = DigitPairs(pairs=((0, 6), (1, 7), (2, 3), (4, 9), (5, 8)), settings=SETTINGS[:2])
register(
    Experiment(
        "sarussi2021-figure-2",
        "Neurons cluster on two pairs of digits, until the network is linear on the images",
        full=DigitPairs(),
        quick=_small(DigitPairs()),
        run=run_digit_pairs,
        variants={"test-split": DigitPairs(images="test")},
    )
)
register(
    Experiment(
        "sarussi2021-figure-6",
        "Neurons cluster on five more pairs of digits, each digit once",
        full=_MORE,
        quick=_small(_MORE),
        run=run_digit_pairs,
        variants={"test-split": replace(_MORE, images="test")},
        seeds=5,
    )
)
