"""Neurons that cluster on pairs of digits [sarussi2021, Sec. 5.1, App. D, Figs. 2, 6 and 7]."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial
from itertools import product

import numpy as np

from experiments.comparison import rounded
from experiments.registry import Experiment
from experiments.two_types import Examples, TwoTypes, disagreements, drawn, look_at, trained
from lib.data.digits import digits_pair
from lib.geometry.patterns import cluster_radius
from lib.models.two_layer import TwoLayer
from lib.training.descent import gradient_descent
from lib.training.losses import LOGISTIC


@dataclass(frozen=True)
class DigitPairs(TwoTypes):
    """Two types of neurons, and the digits that they are trained on.

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
    long_step: float = 0.1


def sharp_factor(slope: float, k: int) -> float:
    """Return the best factor C in: ``|<w_mean - u_mean, x>| > C r |x|`` implies that a network has that sign.

    r is the cluster radius.  With ``m = floor(k/2)`` it is ``(1 - slope) m / (m + slope (k - m))``, which for
    even k is ``(1 - slope) / (1 + slope)``.  The paper proves it with C = 2.  [sarussi2021, Theorem 5.1]
    """
    half = k // 2
    return (1 - slope) * half / (half + slope * (k - half))


def outside(network: TwoLayer, inputs: np.ndarray, factor: float = 2.0) -> np.ndarray:
    """Tell which inputs (n, d) are so near to a boundary that clusters do not tell on which side, (n,).

    That is ``|<w_mean - u_mean, x>| < factor r |x|``; for the others a network has the sign of the product.
    Proved for any leaky slope with the ``factor`` 2, and for one slope with any factor above
    :func:`sharp_factor`.  [sarussi2021, Theorem 5.1]
    """
    w, u = np.split(network.w, 2)
    gap = w.mean(axis=0) - u.mean(axis=0)
    return np.abs(inputs @ gap) < factor * cluster_radius(w, u) * np.linalg.norm(inputs, axis=1)


def _split(config: DigitPairs, pair: tuple[int, int], seed: int) -> tuple[Examples, Examples]:
    """The examples for training and those for testing."""
    x, y = digits_pair(*pair, images=config.images, centred=False)
    order = np.random.default_rng([seed, *pair]).permutation(len(y))
    test, training = np.split(order, [round(config.held_out * len(y))])
    return (x[training], y[training]), (x[test], y[test])


def _look_at_clusters(network: TwoLayer, training: Examples, test: Examples) -> dict[str, float]:
    w, u = np.split(network.w, 2)
    return {
        "radius": cluster_radius(w, u),
        "distance": float(np.linalg.norm(w.mean(axis=0) - u.mean(axis=0))),
        "outside": float(outside(network, training[0]).mean()),
        "outside_test": float(outside(network, test[0]).mean()),
        "disagreements": max(disagreements(w, training[0]), disagreements(u, training[0])),
        **look_at(network, *training),
        "error_test": look_at(network, *test)["error"],
    }


def _count(config: DigitPairs, examples: Examples, rng: np.random.Generator) -> float:
    """The radius over half of step times v after a hundred steps: its limit for short steps, small starts."""
    x, y = examples
    start = drawn(replace(config, scale=1e-26), x.shape[1], rng)
    first = rng.permutation(len(y))[:100]
    run = gradient_descent(start, x, y, LOGISTIC, step=1e-12, steps=len(first), train_a=False, samples=first)
    return 2e12 / start.a[0] * cluster_radius(*np.split(run.network.w, 2))


def _sizes_in(setting: str, named: Iterable[str]) -> tuple[float, float, float]:
    """Slope, step and scale that a setting says in numbers."""
    try:
        slope, step, scale = map(float, setting.split())
    except ValueError:
        allowed = f"{', '.join(map(repr, named))}, or slope, step and scale with blanks between"
        raise ValueError(f"settings holds {setting!r}, allowed: {allowed}") from None
    return slope, step, scale


def _cluster(config: DigitPairs, setting: str, training: Examples, test: Examples, draw: list[int]) -> dict:
    """The metrics of one setting on one pair; ``draw`` seeds the start and the order of the examples."""
    sizes = {
        "small-start": (config.slope, config.step, config.scale),
        "large-start": (config.slope, config.step, config.large_scale),
        "long-steps": (config.slope, config.long_step, config.scale),
    }
    slope, step, scale = sizes[setting] if setting in sizes else _sizes_in(setting, sizes)
    sized = replace(config, slope=slope, step=step, scale=scale)
    look = partial(_look_at_clusters, training=training, test=test)
    network, curves = trained(sized, training, np.random.default_rng(draw), look)
    factor = float(sharp_factor(slope, config.neurons)) * (1 + 1e-12)
    at_end = {
        "outside_sharp": float(outside(network, training[0], factor).mean()),
        "outside_sharp_test": float(outside(network, test[0], factor).mean()),
    }
    if setting not in sizes:
        at_end["count"] = _count(sized, training, np.random.default_rng(draw))
    return curves | rounded(at_end)


def run_digit_pairs(config: DigitPairs, seed: int, device: str = "cpu") -> dict:
    """Train on each pair in each setting; return the metrics of a seed by pair and setting.

    A seed draws the examples held out, the start and the order of the examples in each epoch, the same for
    each setting.  The curves, at ``epochs``: the cluster ``radius`` r, the ``distance`` of the two mean
    neurons, the largest ``angle`` (degrees) between neurons of a type, the share of the images ``outside`` of
    the region ``|<w_mean - u_mean, x>| >= 2 r |x|`` of Theorem 5.1, for training and testing, the number of
    training images about which neurons of a type disagree (of the worse type), mean loss, and share of
    errors.  ``outside_sharp`` is the share at the end with the sharp factor in the place of 2, and ``count``,
    in a table, the radius after a hundred steps, in the limit of short steps and small starts, over half of
    step times output weight.  MNIST is read as :func:`lib.data.digits.mnist` reads it.
    """
    by_pair = {}
    for pair in config.pairs:
        training, test = _split(config, pair, seed)
        draw = [seed, *pair, 1]
        by_pair["{}-{}".format(*pair)] = {
            "examples": [len(training[1]), len(test[1])],
            **{setting: _cluster(config, setting, training, test, draw) for setting in config.settings},
        }
    return by_pair


def _small(config: DigitPairs) -> DigitPairs:
    """On images of 8 x 8 pixels, which are shorter and fewer: longer steps make up for it."""
    digits = replace(config, images="digits", settings=config.settings[:3], step=0.02, long_step=1.0)
    return replace(digits, epochs=20, points=8)


def _fingerprint_of(config: DigitPairs) -> DigitPairs:
    short = replace(config, images="stand-in", settings=config.settings[:3], held_out=0.5)
    return replace(short, neurons=5, step=2 * config.step, epochs=5, points=4)


_SIZES = product((0.1, 0.3, 0.6), (1e-3, 3e-3, 1e-2, 3e-2, 1e-1), (1e-6, 1e-3, 1e-1))


def _experiment(name: str, title: str, full: DigitPairs) -> Experiment:
    variants = {"test-split": replace(full, images="test")}
    return Experiment(name, title, full, _small(full), run_digit_pairs, _fingerprint_of, variants, ("cpu",))


FIGURE_2 = _experiment(
    "sarussi2021-figure-2",
    "Neurons cluster on two pairs of digits, until the network is linear on the images",
    DigitPairs(),
)
FIGURE_6 = _experiment(
    "sarussi2021-figure-6",
    "Neurons cluster on five more pairs of digits, each digit once",
    DigitPairs(pairs=((0, 6), (1, 7), (2, 3), (4, 9), (5, 8)), settings=("small-start", "large-start")),
)
TABLE = _experiment(
    "sarussi2021-table",  # not in the paper
    "Clusters on two pairs of digits, by slope, step and scale of the start",
    DigitPairs(settings=tuple("{} {} {}".format(*sizes) for sizes in _SIZES), epochs=20, points=2),
)
