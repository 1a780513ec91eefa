"""Neurons that turn first and grow later, if both layers are trained [min2024, App. A.5, Figs. 12 and 13]."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch

from lib.checks import choice, whole
from lib.experiments import min2024
from lib.experiments.min2024 import TwoDigits
from lib.experiments.registry import Experiment, register
from lib.training.ensembles import train


@dataclass(frozen=True)
class TwoPhases(TwoDigits):
    """Data, network and descent in parts of the images; the defaults are the paper's.

    The fields are those of :class:`lib.experiments.min2024.TwoDigits`, and ``batch_size``, how many images a
    step uses.  Curves are recorded at the end of passes over the images, about ``points`` of them, in equal
    ratios.  Where they stop the paper does not say.  Raises ``ValueError`` naming a field with a forbidden
    value.

    Example:

    >>> TwoPhases(images="digits", batch_size=57).deviation
    1e-06
    """

    iterations: int = 4_200
    points: int = 90
    batch_size: int = 2000

    def __post_init__(self) -> None:
        super().__post_init__()
        whole("batch_size", self.batch_size, 1)


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


def _metrics(iterations: list[int], seen: Sequence[tuple[float, float, float]]) -> dict:
    """The metrics of one seed and one way to train, from what was seen of it at the iterations."""
    losses, norms, directions = np.transpose(seen)
    start = int((norms > 0.05 * norms.max()).argmax())
    curves = {"loss": losses, "norm_change": norms, "direction_change": directions}
    return {
        "iterations": iterations,
        **{name: [float(f"{value:.3e}") for value in curve] for name, curve in curves.items()},
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

    Raises ``ValueError`` for seeds that are no whole numbers from 0 on, fewer iterations than a pass over the
    images takes, and a device other than "cpu" and "cuda".

    Example: when norms start to grow, directions have almost stopped turning; not with one layer.

    >>> config = TwoPhases(images="digits", per_class=60, batch_size=20, step=4e-2, iterations=600, points=30)
    >>> [metrics] = run_two_phases(config, [0])
    >>> metrics["both"]["directions_when_norms_start"] < 0.1 < metrics["first"]["directions_when_norms_start"]
    True
    """
    choice("device", device, ("cpu", "cuda"))
    generators = [torch.Generator().manual_seed(whole("seeds", seed)) for seed in seeds]
    x, y = min2024._data(config)
    in_a_pass = -(-len(y) // config.batch_size)
    passes = config.iterations // in_a_pass
    if not passes:
        raise ValueError(f"config.iterations is {config.iterations}, allowed: from {in_a_pass} on, a pass")
    kind = {"dtype": getattr(torch, config.precision), "device": device}
    inputs, labels = torch.tensor(x, **kind), torch.tensor(y, **kind)

    def drawn(*shape: int) -> torch.Tensor:
        return torch.stack([torch.randn(shape, generator=each, dtype=torch.float64) for each in generators])

    w, v = drawn(x.shape[1], config.neurons), drawn(config.neurons, 1)
    starts = {"both": config.deviation * v, "first": torch.where(v > 0, 1.0, -1.0)}
    found: list[dict] = [{"data": min2024._facts(x, y)} for _ in seeds]
    for name, output_weights in starts.items():
        network = min2024._TwoLayers((config.deviation * w).to(**kind), output_weights.to(**kind))
        network.v.requires_grad_(name == "both")
        run = train(
            network,
            inputs,
            labels,
            objective=min2024._exponential,
            optimiser=partial(torch.optim.SGD, lr=config.step),
            steps=passes * in_a_pass,
            batch_size=config.batch_size,
            generators=generators,
            record=lambda network: _changes(network, inputs, labels),
            record_at={round(k) * in_a_pass for k in np.geomspace(1, passes, config.points)},
        )
        for metrics, seen in zip(found, zip(*run.recorded, strict=True), strict=True):
            metrics[name] = _metrics(run.steps.tolist(), seen)
    return found


register(
    Experiment(
        "min2024-figure-12",
        "Neurons of two digits turn before they grow, unless only the first layer is trained",
        full=TwoPhases(),
        quick=TwoPhases(images="digits", batch_size=57, step=2e-2, iterations=1050, points=60),
        run=run_two_phases,
        # Parts of the images such that a pass takes seven steps, as with the paper's 12,665 images.
        variants={"test-split": TwoPhases(images="test", batch_size=334)},
    )
)
