"""Neurons that align with two digits before they grow [min2024, Sec. 4, App. A.4, A.5, Figs. 5, 10 to 13]."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike
from scipy.signal import find_peaks

from lib.data.digits import digits_pair
from lib.experiments.registry import Experiment, register, rounded
from lib.flow.gradient import gradient_flow
from lib.flow.trajectory import Trajectory
from lib.models.two_layer import TwoLayer
from lib.training.ensembles import train
from lib.training.losses import EXPONENTIAL

SIGNS = ("positive", "negative")
KINDS = ("least", "mean", "largest")


@dataclass(frozen=True)
class TwoDigits:
    """Data, network and descent of the experiment; the defaults are the paper's.

    ``images`` are those of MNIST's "train" or "test" split, or scikit-learn's "digits", ``per_class`` so many
    of each digit, all if ``None``.  Weights start as Gaussians of the standard ``deviation``.  The loss is
    the mean of ``exp(-y f)``: the paper names none, and this one gives its iteration counts.  Curves have
    ``points`` points after the start.
    """

    images: str = "train"
    positive: int = 1
    negative: int = 0
    per_class: int | None = None
    neurons: int = 50
    deviation: float = 1e-6
    step: float = 2e-3
    iterations: int = 15_000
    points: int = 150
    precision: str = "float32"


class _TwoLayers(torch.nn.Module):
    """Networks ``relu(x W) v`` without biases: W of shape (seeds, d, h), v of shape (seeds, h, 1)."""

    def __init__(self, w: torch.Tensor, v: torch.Tensor) -> None:
        super().__init__()
        self.w = torch.nn.Parameter(w)
        self.v = torch.nn.Parameter(v)

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        """Return the logits (seeds, n) of inputs (n, d)."""
        return (torch.relu(inputs @ self.w) @ self.v).squeeze(-1)


def _exponential(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    return torch.exp(-labels * logits).mean(dim=-1)


def _data(config: TwoDigits) -> tuple[np.ndarray, np.ndarray]:
    """Centred images (n, pixels) and labels (n,)."""
    return digits_pair(config.positive, config.negative, images=config.images, per_class=config.per_class)


def _facts(x: np.ndarray, y: np.ndarray) -> dict:
    """How far the data obey Assumption 1: inner products of the sign of the pair of labels."""
    counts = np.zeros((2, 2), dtype=int)  # rows: other class, same class; columns: pairs, those that obey
    ends = [np.inf, -np.inf]
    for rows in np.array_split(np.arange(len(y)), -(-len(y) // 1000)):  # by parts, since the whole is large
        products, same = x[rows] @ x.T, y[rows, None] * y > 0
        others = np.arange(len(y)) != rows[:, None]
        obeys = np.where(same, products > 0, products < 0)
        for k in range(2):
            counts[k] += [(others & (same == k)).sum(), (others & (same == k) & obeys).sum()]
        ends = [min(ends[0], products.min()), max(ends[1], products.max())]
    sums = [(np.where(y == sign, 1.0, 0.0) @ x) for sign in (1, -1)]
    return {
        "examples": [int((y == sign).sum()) for sign in (1, -1)],
        "pairs_of_right_sign": float(counts[:, 1].sum() / counts[:, 0].sum()),
        "pairs_of_right_sign_by_class": {
            "other": float(counts[0, 1] / counts[0, 0]),
            "same": float(counts[1, 1] / counts[1, 0]),
        },
        "inner_products": [float(end) for end in ends],
        "cosine_of_class_sums": float(sums[0] @ sums[1] / np.linalg.norm(sums[0]) / np.linalg.norm(sums[1])),
    }


def _look(network: Any, x: torch.Tensor, y: torch.Tensor, sums: list[np.ndarray]) -> list[dict]:
    """What is recorded of each seed: loss, accuracy, spectrum of W, cosines of the neurons of each sign."""
    logits = network(x)
    losses, accuracies = _exponential(logits, y).tolist(), (y * logits > 0).double().mean(dim=-1).tolist()
    weights = zip(network.w.double().cpu().numpy(), network.v.double().cpu().numpy()[..., 0], strict=True)
    seen = []
    for loss, accuracy, (w, v) in zip(losses, accuracies, weights, strict=True):
        spectrum = np.linalg.svd(w, compute_uv=False) ** 2
        cosines = [_cosines(w.T[sign * v > 0], total) for sign, total in zip((1, -1), sums, strict=True)]
        seen.append(
            {
                "loss": loss,
                "accuracy": accuracy,
                "squared_spectral_norm": float(spectrum[0]),
                "stable_rank": float(spectrum.sum() / spectrum[0]),
            }
            | {
                f"{kind}_cosine_{name}": value
                for name, row in zip(SIGNS, cosines, strict=True)
                for kind, value in zip(KINDS, row, strict=True)
            }
        )
    return seen


def _cosines(neurons: np.ndarray, total: np.ndarray) -> list[float | None]:
    """Least and largest cosine of the neurons with a class sum, and that of their mean; None without any."""
    if not len(neurons):
        return [None] * len(KINDS)
    unit, mean = total / np.linalg.norm(total), neurons.mean(axis=0)
    cosines = neurons @ unit / np.linalg.norm(neurons, axis=1)
    return [float(cosines.min()), float(mean @ unit / np.linalg.norm(mean)), float(cosines.max())]


def _first(iterations: list[int], true: list[bool]) -> int | None:
    """The first iteration at which something holds."""
    return next((k for k, holds in zip(iterations, true, strict=True) if holds), None)


def _metrics(iterations: list[int], seen: list[dict]) -> dict:
    """The metrics of one seed from what was seen of it at the iterations."""
    least = [min(one[f"least_cosine_{name}"] or -1.0 for name in SIGNS) for one in seen]
    return {
        "iterations": iterations,
        **rounded({name: [one[name] for one in seen] for name in seen[0]}),
        "all_aligned": _first(iterations, [cosine > 0.9 for cosine in least]),
        "stable_rank_below_two": _first(iterations, [one["stable_rank"] < 2 for one in seen]),
        "norm_grows": _first(iterations, [one["squared_spectral_norm"] > 0.1 for one in seen]),
        "loss_falls": _first(iterations, [one["loss"] < 0.9 for one in seen]),
        "final": seen[-1],
    }


def run_two_digits(config: TwoDigits, seeds: Sequence[int], device: str = "cpu") -> list[dict]:
    """Train from Gaussian starts by gradient descent on all images, and return the metrics of each seed.

    ``data`` are facts of the images, the same for each seed.  Cosines are with the sum of the class, of the
    neurons whose output weight has its sign at the moment: the least, the largest, and that of their mean.
    The first iterations are recorded, on the grid of the curves, at which all cosines exceed 0.9, the stable
    rank is below 2, the squared spectral norm exceeds 0.1 and the loss is below 0.9; ``None`` if it never
    happens.  MNIST is read as :func:`lib.data.digits.mnist` reads it.
    """
    generators = [torch.Generator().manual_seed(seed) for seed in seeds]
    x, y = _data(config)
    facts = _facts(x, y)
    sums = [(y == sign) @ x for sign in (1, -1)]
    kind = {"dtype": getattr(torch, config.precision), "device": device}
    inputs, labels = torch.tensor(x, **kind), torch.tensor(y, **kind)
    w, v = (
        torch.stack([torch.randn(shape, generator=each, dtype=torch.float64) for each in generators])
        for shape in ((x.shape[1], config.neurons), (config.neurons, 1))
    )
    run = train(
        _TwoLayers((config.deviation * w).to(**kind), (config.deviation * v).to(**kind)),
        inputs,
        labels,
        objective=_exponential,
        optimiser=partial(torch.optim.SGD, lr=config.step),
        steps=config.iterations,
        record=lambda network: _look(network, inputs, labels, sums),
        record_at={round(k * config.iterations / config.points) for k in range(config.points + 1)},
    )
    by_seed = zip(*run.recorded, strict=True)
    return [{"data": facts, **_metrics(run.steps.tolist(), list(seen))} for seen in by_seed]


def planar_flow(
    inputs: ArrayLike, labels: ArrayLike, iterations: int, *, rng: np.random.Generator, rtol: float = 1e-6
) -> Trajectory:
    """Return the flow of the planar examples for so many ``iterations`` of their step 2e-3.

    ``inputs`` are (n, 2), ``labels`` (n,) +1 and -1.  There are 50 neurons, the weights of both layers start
    as Gaussians of size 1e-6, and the loss is the mean exponential one.  [min2024, App. A.4, Figs. 6 to 9]
    """
    w, a = 1e-6 * rng.standard_normal((50, 2)), 1e-6 * rng.standard_normal(50)
    until = 2e-3 * iterations
    return gradient_flow(TwoLayer(w, a), inputs, labels, EXPONENTIAL, until=until, rtol=rtol)


def drop_count(times: np.ndarray, losses: np.ndarray) -> int:
    """Return how many drops a loss (T,) has at increasing times (T,).

    They are the peaks of its speed of fall that stand out by a tenth of the highest.
    """
    speed = -np.gradient(losses, times)
    return len(find_peaks(speed, prominence=0.1 * speed.max())[0])


def _fingerprint_of(config: TwoDigits) -> TwoDigits:
    return replace(
        config,
        images="stand-in",
        per_class=40,
        neurons=10,
        deviation=config.deviation**0.5,
        step=4 * config.step,
        iterations=600,
        points=40,
    )


_TEST = TwoDigits(images="test")
register(
    Experiment(
        "min2024-figure-5",
        "Neurons align with the digits 0 and 1 before their norms grow",
        full=TwoDigits(),
        quick=TwoDigits(images="digits", step=2e-2, iterations=1500, points=75),
        run=run_two_digits,
        fingerprint_of=_fingerprint_of,
        variants={
            "test-split": _TEST,
            "test-split-3-8": replace(_TEST, positive=3, negative=8),
            "test-split-1-7": replace(_TEST, positive=1, negative=7),
            "digits": TwoDigits(images="digits", step=6e-3),
        },
    )
)


@dataclass(frozen=True)
class TwoPhases(TwoDigits):
    """Data, network and descent in parts of the images; the defaults are the paper's.

    The fields are those of :class:`TwoDigits`, and ``batch_size``, how many images a step uses.  Curves are
    recorded at the start, after every step of the first two passes over the images, and then at the end of
    passes, about ``points`` of them, in equal ratios.  Where they stop the paper does not say.
    """

    iterations: int = 4_200
    points: int = 90
    batch_size: int = 2000


def _changes(network: Any, x: torch.Tensor, y: torch.Tensor) -> list[tuple[float, float, float]]:
    """Loss, and how fast the gradient flow of all images would change norms and directions, of each seed."""
    w, v = network.w, network.v
    z = x @ w
    losses = torch.exp(-y * (torch.relu(z) @ v).squeeze(-1))
    pull = (x.T @ ((z > 0) * (y * losses / len(y)).unsqueeze(-1))) * v.mT
    along, norms = (pull * w).sum(dim=1), w.norm(dim=1)
    across = pull - w * (along / norms**2).unsqueeze(1)
    found = losses.mean(dim=-1), 2 * along.sum(dim=-1), (across.norm(dim=1) / norms).sum(dim=-1)
    return list(zip(*(part.tolist() for part in found), strict=True))


def _metrics_of_phases(iterations: list[int], seen: Sequence[tuple[float, float, float]]) -> dict:
    """The metrics of one seed and one way to train, from what was seen of it at the iterations."""
    losses, norms, directions = np.transpose(seen)
    start = int((norms > 0.05 * norms.max()).argmax())
    curves = {"loss": losses, "norm_change": norms, "direction_change": directions}
    return {
        "iterations": iterations,
        **rounded(curves),
        "largest_norm_change": float(norms.max()),
        "largest_direction_change": float(directions.max()),
        "direction_peak": iterations[int(directions.argmax())],
        "norms_start": iterations[start],
        "directions_when_norms_start": float(directions[start] / directions.max()),
    }


def run_two_phases(config: TwoPhases, seeds: Sequence[int], device: str = "cpu") -> list[dict]:
    """Train both layers, then the first alone with output weights +-1, and return the metrics of each seed.

    ``both`` and ``first`` hold the curves of the loss over all images, and of the changes that a short step
    of gradient descent on all images would make, in units of its length: ``norm_change`` is the sum over the
    neurons of ``d|w|^2/dt``, ``direction_change`` that of ``|d(w/|w|)/dt|``.  ``norms_start`` is the first
    recorded iteration at which the former exceeds a twentieth of its largest value, and
    ``directions_when_norms_start`` the latter at that iteration, as a part of its largest value.  ``data``
    are facts of the images, the same for each seed.  Both ways to train have the same first layer at the
    start and the same order of images.  MNIST is read as :func:`lib.data.digits.mnist` reads it.
    """
    generators = [torch.Generator().manual_seed(seed) for seed in seeds]
    x, y = _data(config)
    in_a_pass = -(-len(y) // config.batch_size)
    passes = config.iterations // in_a_pass
    ends = {round(k) * in_a_pass for k in np.geomspace(1, passes, config.points)}
    kind = {"dtype": getattr(torch, config.precision), "device": device}
    inputs, labels = torch.tensor(x, **kind), torch.tensor(y, **kind)

    def drawn(*shape: int) -> torch.Tensor:
        return torch.stack([torch.randn(shape, generator=each, dtype=torch.float64) for each in generators])

    w, v = drawn(x.shape[1], config.neurons), drawn(config.neurons, 1)
    starts = {"both": config.deviation * v, "first": torch.where(v > 0, 1.0, -1.0)}
    found: list[dict] = [{"data": _facts(x, y)} for _ in seeds]
    for name, output_weights in starts.items():
        network = _TwoLayers((config.deviation * w).to(**kind), output_weights.to(**kind))
        network.v.requires_grad_(name == "both")
        run = train(
            network,
            inputs,
            labels,
            objective=_exponential,
            optimiser=partial(torch.optim.SGD, lr=config.step),
            steps=passes * in_a_pass,
            batch_size=config.batch_size,
            generators=generators,
            record=lambda network: _changes(network, inputs, labels),
            record_at=ends | {*range(2 * in_a_pass)},
        )
        for metrics, seen in zip(found, zip(*run.recorded, strict=True), strict=True):
            metrics[name] = _metrics_of_phases(run.steps.tolist(), seen)
    return found


def _fingerprint_of_phases(config: TwoPhases) -> TwoPhases:
    """Seven steps a pass, as in the configurations recorded."""
    return replace(
        config,
        images="stand-in",
        per_class=40,
        neurons=10,
        deviation=config.deviation**0.5,
        step=4 * config.step,
        iterations=420,
        points=30,
        batch_size=12,
    )


register(
    Experiment(
        "min2024-figure-12",
        "Neurons of two digits turn before they grow, with both layers and with the first alone",
        full=TwoPhases(),
        quick=TwoPhases(images="digits", batch_size=57, step=2e-2, iterations=1050, points=60),
        run=run_two_phases,
        fingerprint_of=_fingerprint_of_phases,
        # Parts of the images such that a pass takes seven steps, as with the paper's 12,665 images.
        variants={"test-split": TwoPhases(images="test", batch_size=334)},
    )
)
