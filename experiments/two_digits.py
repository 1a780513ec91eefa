"""Neurons that align with two digits before they grow [min2024, Sec. 4, App. A.5, Figs. 5, 10 to 13]."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import torch

from experiments.comparison import rounded
from experiments.registry import Experiment
from lib.data.digits import digits_pair
from lib.geometry.patterns import cosine
from lib.models.mlps import MlpBatch
from lib.theory.alignment import class_sums
from lib.training.ensembles import train

SIGNS = ("positive", "negative")


@dataclass(frozen=True)
class TwoDigits:
    """Data, network and descent of the experiment; the defaults are the paper's.

    Digits, ``images`` and ``per_class`` are those of :func:`lib.data.digits.digits_pair`.  Weights start as
    Gaussians of the standard ``deviation``.  The loss is the mean of ``exp(-y f)``: the paper names none, and
    this one gives its iteration counts.  Curves have ``points`` points after the start.
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


def _exponential(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    return torch.exp(-labels * logits).mean(dim=-1)


def _data(config: TwoDigits) -> tuple[np.ndarray, np.ndarray]:
    """Centred images (n, pixels) and labels (n,)."""
    return digits_pair(config.positive, config.negative, images=config.images, per_class=config.per_class)


def _facts(x: np.ndarray, y: np.ndarray) -> dict:
    """How far the data obey Assumption 1: inner products of the sign of the pair of labels."""
    positive, negative = x[y > 0], x[y < 0]
    own, cross = (positive @ positive.T, negative @ negative.T), positive @ negative.T
    # Of a class, each pair is there twice, and each image with itself, which is no pair.
    right = {"other": (cross < 0).sum(), "same": sum((part > 0).sum() - len(part) for part in own) / 2}
    pairs = {"other": cross.size, "same": sum(part.size - len(part) for part in own) / 2}
    products = (*own, cross)
    return {
        "examples": [len(positive), len(negative)],
        "pairs_of_right_sign": float(sum(right.values()) / sum(pairs.values())),
        "pairs_of_right_sign_by_class": {name: float(right[name] / pairs[name]) for name in pairs},
        "inner_products": [float(min(map(np.min, products))), float(max(map(np.max, products)))],
        "cosine_of_class_sums": float(cosine(*class_sums(x, y))),
    }


def _trained(
    config: TwoDigits,
    seed: int,
    device: str,
    data: tuple[np.ndarray, np.ndarray],
    look: Callable[[Any, torch.Tensor, torch.Tensor], Mapping[str, float]],
    points: Collection[int],
    *,
    batch_size: int | None = None,
    first_alone: bool = False,
) -> tuple[list[int], dict[str, np.ndarray]]:
    """Train from a Gaussian start up to the last of the ``points``, without biases.

    With ``first_alone`` the output weights are the signs of the Gaussian ones, and stay.  Returned are the
    points in their order, and the curves of what ``look`` has seen at them.
    """
    generator, kind = torch.Generator().manual_seed(seed), {"dtype": getattr(torch, config.precision)}
    inputs, labels = (torch.tensor(part, device=device, **kind) for part in data)
    w, v = (
        torch.randn((1, *shape), generator=generator, dtype=torch.float64)
        for shape in ((inputs.shape[1], config.neurons), (config.neurons, 1))
    )
    weights = [config.deviation * w, v.sign() if first_alone else config.deviation * v]
    network = MlpBatch(weights, [torch.zeros_like(part[:, :1]) for part in weights]).to(device, **kind)
    network.biases.requires_grad_(False)
    network.weights[1].requires_grad_(not first_alone)
    run = train(
        network,
        inputs,
        labels,
        objective=_exponential,
        optimiser=partial(torch.optim.SGD, lr=config.step),
        steps=max(points),
        batch_size=batch_size,
        generators=[generator] if batch_size else None,
        record=lambda network: look(network, inputs, labels),
        record_at=points,
    )
    curves = {name: np.array([seen[name] for seen in run.recorded]) for name in run.recorded[0]}
    return run.steps.tolist(), curves


# Figure 5: both layers, all images


def _look(network: Any, x: torch.Tensor, y: torch.Tensor, sums: tuple[np.ndarray, np.ndarray]) -> dict:
    """Loss, accuracy, spectrum of W, cosines of the neurons of each sign."""
    logits = network(x)
    w, v = (part[0].double().cpu().numpy() for part in network.weights)
    spectrum = np.linalg.svd(w, compute_uv=False) ** 2
    seen = {
        "loss": _exponential(logits, y).item(),
        "accuracy": (y * logits > 0).double().mean().item(),
        "squared_spectral_norm": float(spectrum[0]),
        "stable_rank": float(spectrum.sum() / spectrum[0]),
    }
    for name, sign, total in zip(SIGNS, (1, -1), sums, strict=True):
        neurons = w.T[sign * v[:, 0] > 0]
        cosines = cosine(neurons, total)
        seen[f"least_cosine_{name}"] = float(cosines.min())
        seen[f"mean_cosine_{name}"] = float(cosine(neurons.mean(axis=0), total))
        seen[f"largest_cosine_{name}"] = float(cosines.max())
    return seen


def run_two_digits(config: TwoDigits, seed: int, device: str = "cpu") -> dict:
    """Train from a Gaussian start by gradient descent on all images, and return the metrics of a seed.

    ``data`` are facts of the images, the same for each seed.  Cosines are with the sum of the class, of the
    neurons whose output weight has its sign at the moment: the least, the largest, and that of their mean.
    The first iterations are recorded, on the grid of the curves, at which all cosines exceed 0.9, the stable
    rank is below 2, the squared spectral norm exceeds 0.1 and the loss is below 0.9; ``None`` if it never
    happens.
    """
    data = _data(config)
    points = {round(k * config.iterations / config.points) for k in range(config.points + 1)}
    iterations, curves = _trained(config, seed, device, data, partial(_look, sums=class_sums(*data)), points)
    events = {
        "all_aligned": np.minimum(*(curves[f"least_cosine_{name}"] for name in SIGNS)) > 0.9,
        "stable_rank_below_two": curves["stable_rank"] < 2,
        "norm_grows": curves["squared_spectral_norm"] > 0.1,
        "loss_falls": curves["loss"] < 0.9,
    }
    return {
        "data": _facts(*data),
        "iterations": iterations,
        **rounded(curves),
        **{name: iterations[int(true.argmax())] if true.any() else None for name, true in events.items()},
        "final": {name: float(curve[-1]) for name, curve in curves.items()},
    }


# Figures 12 and 13: parts of the images, both layers and the first alone


def _changes(network: Any, x: torch.Tensor, y: torch.Tensor) -> dict[str, float]:
    """Loss, and how fast the gradient flow of all images would change norms and directions."""
    w, v = network.weights
    z = x @ w
    losses = torch.exp(-y * (torch.relu(z) @ v).squeeze(-1))
    pull = (x.T @ ((z > 0) * (y * losses / len(y)).unsqueeze(-1))) * v.mT
    along, norms = (pull * w).sum(dim=1), w.norm(dim=1)
    across = pull - w * (along / norms**2).unsqueeze(1)
    return {
        "loss": losses.mean().item(),
        "norm_change": 2 * along.sum().item(),
        "direction_change": (across.norm(dim=1) / norms).sum().item(),
    }


def _phases(iterations: list[int], curves: Mapping[str, np.ndarray]) -> dict:
    """The metrics of one way to train, from its curves."""
    norms, directions = curves["norm_change"], curves["direction_change"]
    start = int((norms > 0.05 * norms.max()).argmax())
    return {
        "iterations": iterations,
        **rounded(curves),
        "largest_norm_change": float(norms.max()),
        "largest_direction_change": float(directions.max()),
        "direction_peak": iterations[int(directions.argmax())],
        "norms_start": iterations[start],
        "directions_when_norms_start": float(directions[start] / directions.max()),
    }


def run_two_phases(config: TwoPhases, seed: int, device: str = "cpu") -> dict:
    """Train both layers, then the first alone with output weights +-1, and return the metrics of a seed.

    ``both`` and ``first`` hold the curves of the loss over all images, and of the changes that a short step
    of gradient descent on all images would make, in units of its length: ``norm_change`` is the sum over the
    neurons of ``d|w|^2/dt``, ``direction_change`` that of ``|d(w/|w|)/dt|``.  ``norms_start`` is the first
    recorded iteration at which the former exceeds a twentieth of its largest value, and
    ``directions_when_norms_start`` the latter at that iteration, as a part of its largest value.  ``data``
    are facts of the images, the same for each seed.  Both ways to train have the same first layer at the
    start and the same order of images.
    """
    data = _data(config)
    in_a_pass = -(-len(data[1]) // config.batch_size)
    ends = np.geomspace(1, config.iterations // in_a_pass, config.points)
    points = {*range(2 * in_a_pass), *(round(k) * in_a_pass for k in ends)}
    trained = partial(_trained, config, seed, device, data, _changes, points, batch_size=config.batch_size)
    ways = {"both": trained(), "first": trained(first_alone=True)}
    return {"data": _facts(*data)} | {name: _phases(*way) for name, way in ways.items()}


_SHORT = {"images": "stand-in", "per_class": 40, "neurons": 10, "deviation": 1e-3, "step": 8e-3}
FIGURE_5 = Experiment(
    "min2024-figure-5",
    "Neurons align with the digits 0 and 1 before their norms grow",
    full=TwoDigits(),
    quick=TwoDigits(images="digits", step=2e-2, iterations=1500, points=75),
    metrics_of=run_two_digits,
    fingerprint_of=partial(replace, **_SHORT, iterations=600, points=40),
    variants={
        "test-split": TwoDigits(images="test"),
        "test-split-3-8": TwoDigits(images="test", positive=3, negative=8),
        "test-split-1-7": TwoDigits(images="test", positive=1, negative=7),
    },
)
FIGURE_12 = Experiment(
    "min2024-figure-12",
    "Neurons of two digits turn before they grow, with both layers and with the first alone",
    full=TwoPhases(),
    quick=TwoPhases(images="digits", batch_size=57, step=2e-2, iterations=1050, points=60),
    metrics_of=run_two_phases,
    # Seven steps a pass, as in the configurations recorded.
    fingerprint_of=partial(replace, **_SHORT, iterations=420, points=30, batch_size=12),
    # Parts of the images such that a pass takes seven steps, as with the paper's 12,665 images.
    variants={"test-split": TwoPhases(images="test", batch_size=334)},
)
