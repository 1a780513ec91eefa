"""How neurons fall from the sum of their class, with the other class and without it [min2024, Sec. 4]."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from experiments.comparison import rounded
from experiments.registry import Experiment
from lib.data.digits import digits_pair
from lib.geometry.patterns import cosine
from lib.models.two_layer import TwoLayer
from lib.training.descent import gradient_descent
from lib.training.losses import EXPONENTIAL

SIGNS = {"positive": 1, "negative": -1}


@dataclass(frozen=True)
class Fall:
    """Data, network and descent.

    Digits, ``images`` and ``per_class`` are those of :func:`lib.data.digits.digits_pair`.  Weights start as
    Gaussians of the standard ``deviation``; the loss is the mean of ``exp(-y f)``.  Curves have ``points``
    points after the start.  The neurons of a sign part from the other class at the last point at which the
    squared spectral norm is below ``parting``.
    """

    images: str = "train"
    positive: int = 1
    negative: int = 0
    per_class: int | None = None
    neurons: int = 50
    deviation: float = 1e-6
    step: float = 2e-2
    iterations: int = 1500
    points: int = 75
    parting: float = 1e-3


def _mean_cosines(networks: Sequence[TwoLayer], sign: int, total: np.ndarray) -> np.ndarray:
    """The cosine of the mean neuron of a sign with ``total``, of each network."""
    return np.array([cosine(network.w[sign * network.a > 0].mean(axis=0), total) for network in networks])


def run_fall(config: Fall, seed: int, device: str = "cpu") -> dict:
    """Train by gradient descent on all images, and then each sign on its own class alone.

    For each sign there are the curves of the cosine of its mean neuron with the sum of its class, ``both``
    in the network, and ``alone`` from the parting on, where the neurons of that sign see only the images of
    their own class.  ``within`` is what the latter is short of 1 at the end, over what the former is.
    """
    inputs, labels = digits_pair(
        config.positive, config.negative, images=config.images, per_class=config.per_class
    )
    draws = np.random.default_rng(seed)
    weights = config.deviation * draws.standard_normal((config.neurons, inputs.shape[1] + 1))
    clock = np.unique(np.linspace(0, config.iterations, config.points + 1).astype(int))
    descent = partial(
        gradient_descent, record=lambda network: network, reduction="sum", step=config.step / len(labels)
    )
    networks = descent(
        TwoLayer(weights[:, 1:], weights[:, 0]),
        inputs,
        labels,
        EXPONENTIAL,
        steps=config.iterations,
        record_at=clock,
    ).recorded
    norms = np.array([np.linalg.norm(network.w, 2) ** 2 for network in networks])
    part = int(np.flatnonzero(norms < config.parting)[-1])
    losses = [EXPONENTIAL.value(network(inputs), labels).mean() for network in networks]
    seen = {"iterations": clock.tolist(), "parting": int(clock[part])}
    curves = {"squared_spectral_norm": norms, "loss": np.array(losses)}
    for name, sign in SIGNS.items():
        own, mine = labels == sign, sign * networks[part].a > 0
        alone = descent(
            TwoLayer(networks[part].w[mine], networks[part].a[mine]),
            inputs[own],
            labels[own],
            EXPONENTIAL,
            steps=int(clock[-1] - clock[part]),
            record_at=clock[part:] - clock[part],
        ).recorded
        total = inputs[own].sum(axis=0)
        curves[f"both_{name}"] = _mean_cosines(networks, sign, total)
        curves[f"alone_{name}"] = _mean_cosines(alone, sign, total)
    within = {
        name: float((1 - curves[f"alone_{name}"][-1]) / (1 - curves[f"both_{name}"][-1])) for name in SIGNS
    }
    return seen | rounded(curves) | {"within": within}


_SHORT = {"images": "stand-in", "per_class": 40, "neurons": 10, "deviation": 1e-4}
FALL = Experiment(
    "min2024-fall",
    "How neurons fall from the sum of their class, with the other class and without it",
    full=Fall(),
    quick=Fall(images="digits", step=8e-2, iterations=1000, points=50),
    metrics_of=run_fall,
    fingerprint_of=partial(replace, **_SHORT, iterations=300, points=30),
    variants={"test-split": Fall(images="test")},
    devices=("cpu",),
)
