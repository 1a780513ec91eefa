"""Networks of two types of neurons, with output weights that stay, trained on single examples.

[sarussi2021, Sec. 5.1, App. D, I and J]
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from experiments.comparison import rounded
from lib.geometry.patterns import largest_angle
from lib.models.two_layer import Start, TwoLayer
from lib.training.descent import gradient_descent
from lib.training.losses import LOGISTIC

Examples = tuple[np.ndarray, np.ndarray]  # inputs (n, d), labels +1 and -1 (n,)


@dataclass(frozen=True)
class TwoTypes:
    """Networks and descent; the paper gives none of the sizes, these are ours.

    There are ``neurons`` of each type with output weights of ``neurons**-0.5``, drawn with the standard
    deviation ``scale``, or in some settings ``large_scale``, and trained by stochastic gradient descent
    without replacement for ``epochs``.  Curves have ``points`` points after the start, evenly spaced in the
    logarithm of the epoch.
    """

    neurons: int = 20
    slope: float = 0.3
    scale: float = 1e-6
    large_scale: float = 0.1
    step: float = 3e-3
    epochs: int = 150
    points: int = 12


def drawn(config: TwoTypes, d: int, rng: np.random.Generator) -> TwoLayer:
    """The network before training, in d dimensions."""
    k = config.neurons
    return Start.two_sided(k, d, np.log(config.scale), rng=rng, v=k**-0.5).network(config.slope)


def trained(
    config: TwoTypes,
    examples: Examples,
    rng: np.random.Generator,
    look: Callable[[TwoLayer], dict],
) -> tuple[TwoLayer, dict]:
    """Draw a start and the order of the examples in each epoch; return the last network, and its curves."""
    x, y = examples
    n, d = x.shape
    epochs = np.unique([0, *np.geomspace(1, config.epochs, config.points).round().astype(int)])
    run = gradient_descent(
        drawn(config, d, rng),
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


def look_at(network: TwoLayer, x: np.ndarray, y: np.ndarray) -> dict[str, float]:
    """The largest angle (degrees) between neurons of a type, mean loss, and share of errors."""
    outputs = network(x)
    return {
        "angle": max(map(largest_angle, np.split(network.w, 2))),
        "loss": float(LOGISTIC.value(outputs, y).mean()),
        "error": float((y * outputs <= 0).mean()),
    }


def disagreements(neurons: np.ndarray, x: np.ndarray) -> int:
    """The number of examples about which neurons (k, d) disagree."""
    positive = neurons @ x.T > 0
    return int((positive.any(axis=0) & ~positive.all(axis=0)).sum())
