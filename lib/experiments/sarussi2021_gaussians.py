"""Neurons that agree on Gaussian classes [sarussi2021, App. I and J, Figs. 8 and 9]."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from lib.checks import choice, number, whole
from lib.data.synthetic import antipodal_gaussians
from lib.experiments.registry import Experiment, register
from lib.flow.agreement import agreement_end
from lib.geometry.patterns import agreement, largest_angle, perfect_agreement_margin
from lib.geometry.programs import agreement_program, extended_agreement_program
from lib.models.two_layer import Start, TwoLayer
from lib.training.descent import gradient_descent
from lib.training.losses import LOGISTIC

SETTINGS = ("small-start", "large-start", "without-outlier")


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
    continues to the time of natural logarithm ``horizon``.  Raises ``ValueError`` naming a field with a
    forbidden value.

    Example:

    >>> GaussianClasses(dimension=2, outlier=(4.0, 140.0), mean=2.0).slope
    0.3
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

    def __post_init__(self) -> None:
        for setting in self.settings:
            choice("settings", setting, SETTINGS)
        for name in ("dimension", "neurons", "epochs", "points"):
            whole(name, getattr(self, name), 1)
        if whole("examples", self.examples, 2) % 2:
            raise ValueError(f"examples is {self.examples}, allowed: even numbers from 2")
        for name in ("mean", "spread", "scale", "large_scale", "step", "horizon"):
            number(name, getattr(self, name), low=0)
        number("slope", self.slope, 0, 1, "(]")
        if self.outlier is not None:
            if not isinstance(self.outlier, tuple) or len(self.outlier) != 2 or self.dimension < 2:
                raise ValueError(
                    f"outlier is {self.outlier} in dimension {self.dimension}, "
                    "allowed: a distance and an angle, from dimension 2 on"
                )
            number("outlier", self.outlier[0], low=0)
            number("outlier", self.outlier[1])


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


def _look(network: TwoLayer, x: np.ndarray, y: np.ndarray) -> dict[str, float]:
    """What is recorded of the network of one seed."""
    w, u = np.split(network.w, 2)
    outputs = network(x)
    calls = [neurons @ x.T > 0 for neurons in (w, u)]
    return {
        # A w neuron is in the perfect regime if it calls all examples by their labels, a u neuron if none.
        "share_w": float((calls[0] == (y > 0)).all(axis=1).mean()),
        "share_u": float((calls[1] == (y < 0)).all(axis=1).mean()),
        "disagreements_w": float((calls[0].any(axis=0) & ~calls[0].all(axis=0)).sum()),
        "disagreements_u": float((calls[1].any(axis=0) & ~calls[1].all(axis=0)).sum()),
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
        "leaves": _rounded(log_time) if log_time < np.inf else None,
    }


def _train(config: GaussianClasses, setting: str, seeds: Sequence[int]) -> list[dict]:
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
            _look(TwoLayer(w, a, config.slope), *each)
            for w, a, each in zip(networks.w, networks.a, data, strict=True)
        ],
        record_at=n * epochs,
    )
    ends = zip(run.network.w, run.network.a, data, zip(*run.recorded, strict=True), strict=True)
    return [
        {
            "epochs": epochs.tolist(),
            **{name: [_rounded(one[name]) for one in seen] for name in seen[0]},
            **_afterwards(TwoLayer(w, a, config.slope), *each, config.horizon),
        }
        for w, a, each, seen in ends
    ]


def _rounded(value: float) -> float:
    """Four significant digits, for records that stay small."""
    return float(f"{value:.3e}")


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
    Raises ``ValueError`` for seeds that are no whole numbers from 0 on, or another device than "cpu".

    Example:

    >>> config = GaussianClasses(dimension=20, examples=40, neurons=10, epochs=10, horizon=1.0)
    >>> [metrics] = run_gaussian_classes(config, [0])
    >>> metrics["small-start"]["share_w"][-1], metrics["small-start"]["regime"]
    (1.0, 'perfect')
    """
    choice("device", device, ("cpu",))
    chosen = [whole("seeds", seed) for seed in seeds]
    by_setting = {setting: _train(config, setting, chosen) for setting in config.settings}
    return [
        {
            **_limit(*_draw(config, seed), config.slope),
            **{setting: metrics[k] for setting, metrics in by_setting.items()},
        }
        for k, seed in enumerate(chosen)
    ]


def _fingerprint_of(config: GaussianClasses) -> GaussianClasses:
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
        fingerprint_of=_fingerprint_of,
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
        fingerprint_of=_fingerprint_of,
        devices=("cpu",),
    )
)
