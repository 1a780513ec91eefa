"""Neurons that align with two digits before they grow [min2024, Sec. 4, App. A.4, Figs. 5, 10 and 11]."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import torch

from lib.checks import choice, number, whole
from lib.data.digits import digits_pair
from lib.experiments.registry import Experiment, register
from lib.training.ensembles import train

SIGNS = ("positive", "negative")
KINDS = ("least", "mean", "largest")


@dataclass(frozen=True)
class TwoDigits:
    """Data, network and descent of the experiment; the defaults are the paper's.

    ``images`` are those of MNIST's "train" or "test" split, or scikit-learn's "digits", ``per_class`` so many
    of each digit, all if ``None``.  Weights start as Gaussians of the standard ``deviation``.  The loss is
    the mean of ``exp(-y f)``: the paper names none, and this one gives its iteration counts.  Curves have
    ``points`` points after the start.  Raises ``ValueError`` naming a field with a forbidden value.

    Example:

    >>> TwoDigits(images="digits", iterations=100).neurons
    50
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

    def __post_init__(self) -> None:
        choice("images", self.images, ("train", "test", "digits"))
        choice("precision", self.precision, ("float32", "float64"))
        for name in ("neurons", "iterations", "points"):
            whole(name, getattr(self, name), 1)
        for name in ("deviation", "step"):
            number(name, getattr(self, name), low=0)
        if self.per_class is not None:
            whole("per_class", self.per_class, 1)


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
        **{name: [_rounded(one[name]) for one in seen] for name in seen[0]},
        "all_aligned": _first(iterations, [cosine > 0.9 for cosine in least]),
        "stable_rank_below_two": _first(iterations, [one["stable_rank"] < 2 for one in seen]),
        "norm_grows": _first(iterations, [one["squared_spectral_norm"] > 0.1 for one in seen]),
        "loss_falls": _first(iterations, [one["loss"] < 0.9 for one in seen]),
        "final": seen[-1],
    }


def _rounded(value: float | None) -> float | None:
    """Four significant digits, for records that stay small."""
    return None if value is None else float(f"{value:.3e}")


def run_two_digits(config: TwoDigits, seeds: Sequence[int], device: str = "cpu") -> list[dict]:
    """Train from Gaussian starts by gradient descent on all images, and return the metrics of each seed.

    ``data`` are facts of the images, the same for each seed.  Cosines are with the sum of the class, of the
    neurons whose output weight has its sign at the moment: the least, the largest, and that of their mean.
    The first iterations are recorded, on the grid of the curves, at which all cosines exceed 0.9, the stable
    rank is below 2, the squared spectral norm exceeds 0.1 and the loss is below 0.9; ``None`` if it never
    happens.  MNIST is read as :func:`lib.data.digits.mnist` reads it.  Raises ``ValueError`` for seeds that
    are no whole numbers from 0 on, or a device other than "cpu" and "cuda".

    Example:

    >>> config = TwoDigits(images="digits", step=2e-2, iterations=1000, points=20)
    >>> [metrics] = run_two_digits(config, [0])
    >>> metrics["data"]["examples"], metrics["all_aligned"], metrics["loss_falls"]
    ([182, 178], 650, 900)
    """
    choice("device", device, ("cpu", "cuda"))
    generators = [torch.Generator().manual_seed(whole("seeds", seed)) for seed in seeds]
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


_TEST = TwoDigits(images="test")
register(
    Experiment(
        "min2024-figure-5",
        "Neurons align with the digits 0 and 1 before their norms grow",
        full=TwoDigits(),
        quick=TwoDigits(images="digits", step=2e-2, iterations=1500, points=75),
        run=run_two_digits,
        variants={
            "test-split": _TEST,
            "test-split-3-8": replace(_TEST, positive=3, negative=8),
            "test-split-1-7": replace(_TEST, positive=1, negative=7),
            "digits": TwoDigits(images="digits", step=6e-3),
        },
    )
)
