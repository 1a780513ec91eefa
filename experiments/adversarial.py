"""Adversarial networks on eight Gaussians, by three losses [combes2018, Sec. 5, Fig. 5 left, App. E.1]."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from itertools import product

import torch
from torch.nn.functional import relu, softplus

from experiments.comparison import rounded
from experiments.registry import Experiment
from lib.models.mlps import MlpBatch, draw_mlps

Logits = torch.Tensor
LOSSES: dict[str, tuple[Callable[[Logits, Logits], Logits], Callable[[Logits], Logits]]] = {
    # Of the discriminator, on real and on generated points; of the generator.
    "cross-entropy": (lambda real, made: softplus(-real) + softplus(made), lambda made: softplus(-made)),
    "zero-sum": (lambda real, made: softplus(-real) + softplus(made), lambda made: -softplus(made)),
    "hinge": (lambda real, made: relu(1 - real) + relu(1 + made), lambda made: -made),
}


@dataclass(frozen=True)
class EightGaussians:
    """Data, networks and training of the experiment; the defaults are the paper's where it says them.

    Real points are drawn around eight places on the unit circle, with each of the standard ``deviations``.
    Both networks have ``hidden`` layers; the generator's input are ``noise`` normal numbers.  Adam trains
    them with ``step`` and ``betas`` for ``iterations``; each of ``schedules`` has the points in a batch and
    the steps of the discriminator for one of the generator.  The paper does not say deviations, iterations,
    schedule, and the generator's loss.  ``points`` are looked at after each of ``looks`` equal parts.
    """

    deviations: tuple[float, ...] = (0.02, 0.1)
    schedules: tuple[tuple[int, int], ...] = ((64, 1), (256, 1), (64, 5))
    hidden: tuple[int, ...] = (256,) * 4
    noise: int = 128
    step: float = 1e-4
    betas: tuple[float, float] = (0.5, 0.9)
    iterations: int = 40_000
    points: int = 2000
    looks: int = 10
    precision: str = "float32"


def run_eight_gaussians(config: EightGaussians, seed: int, device: str = "cpu") -> dict:
    """Train by each loss, on each deviation and schedule, from one start; return the metrics of a seed.

    "cross-entropy" has the generator minimise the loss of generated points called real, "zero-sum" maximise
    the discriminator's loss; with "hinge" it maximises the discriminator's output.  For each schedule
    (``batch_64_steps_1``), deviation in per cent (``width_2``) and loss there are, after each part of the
    training, the number of ``modes`` that hold at least one point of a hundred within three deviations, the
    share of the points ``near`` any, and the mean ``distance`` from the nearest.
    """
    return {
        f"batch_{batch}_steps_{steps}": _by_loss_and_width(config, batch, steps, seed, device)
        for batch, steps in config.schedules
    }


def _stack(widths: tuple[int, ...], count: int, seed: int, like: torch.Tensor) -> MlpBatch:
    """Equal perceptrons; with two outputs, the points of a generator stand where a logit would."""
    starts = [torch.Generator().manual_seed(seed) for _ in range(count)]
    return draw_mlps(widths, starts, dtype=like.dtype).to(like.device)


def _by_loss_and_width(config: EightGaussians, batch: int, steps: int, seed: int, device: str) -> dict:
    """Train all losses on all deviations with one schedule, in one stack; return metrics by deviation."""
    like = torch.empty(0, dtype=getattr(torch, config.precision), device=device)
    draws = torch.Generator().manual_seed(seed)
    angles = torch.arange(8).to(like) * (torch.pi / 4)
    places = torch.stack([angles.cos(), angles.sin()], dim=1)
    cases = list(product(config.deviations, LOSSES))
    widths = torch.tensor([width for width, _ in cases]).to(like)[:, None, None]
    generator = _stack((config.noise, *config.hidden, 2), len(cases), 2 * seed, like)
    discriminator = _stack((2, *config.hidden, 1), len(cases), 2 * seed + 1, like)
    optimisers = [
        torch.optim.Adam(network.parameters(), lr=config.step, betas=config.betas, fused=True)
        for network in (generator, discriminator)
    ]

    def normal(rows: int, columns: int) -> torch.Tensor:
        return torch.randn(rows, columns, generator=draws, dtype=like.dtype).to(like)

    def losses(part: int, *logits: torch.Tensor) -> torch.Tensor:
        """The sum of the mean losses of discriminators (part 0) or generators (1)."""
        each = [LOSSES[loss][part](*(stack[k] for stack in logits)) for k, (_, loss) in enumerate(cases)]
        return torch.stack(each).mean(dim=1).sum()

    def descend(network: MlpBatch, optimiser: torch.optim.Optimizer, loss: torch.Tensor) -> None:
        parameters = list(network.parameters())
        for parameter, slope in zip(parameters, torch.autograd.grad(loss, parameters), strict=True):
            parameter.grad = slope
        optimiser.step()

    seen: list[tuple[torch.Tensor, ...]] = []
    for k in range(config.iterations):
        for _ in range(steps):
            chosen = places[torch.randint(8, (batch,), generator=draws)]
            real = chosen + widths * normal(batch, 2)
            with torch.no_grad():
                made = generator(normal(batch, config.noise))
            logits = discriminator(torch.cat([real, made], dim=1)).split(batch, dim=1)
            descend(discriminator, optimisers[1], losses(0, *logits))
        made = generator(normal(batch, config.noise))
        descend(generator, optimisers[0], losses(1, discriminator(made)))
        if (k + 1) % (config.iterations // config.looks) == 0:
            with torch.no_grad():
                seen.append(_coverage(generator(normal(config.points, config.noise)), places, widths))
    return {
        f"width_{100 * width:g}": {
            loss: {
                name: rounded([look[number][cases.index((width, loss))].item() for look in seen])
                for number, name in enumerate(("modes", "near", "distance"))
            }
            for loss in LOSSES
        }
        for width in config.deviations
    }


def _coverage(points: torch.Tensor, places: torch.Tensor, widths: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """Of stacked points (stack, n, 2): how many places are held, the share near one, the mean distance."""
    distance, nearest = torch.cdist(points, places.expand(len(points), -1, -1)).min(dim=-1)
    near = distance < 3 * widths[:, :, 0]
    held = torch.stack([(near & (nearest == k)).double().mean(dim=1) for k in range(len(places))])
    return (held >= 0.01).sum(dim=0), near.double().mean(dim=1), distance.double().mean(dim=1)


# A quarter of the width, and a tenth of the iterations, which are ten times as long.
NARROW = EightGaussians(hidden=(64,) * 4, step=1e-3, iterations=4000)
FIGURE_5 = Experiment(
    "combes2018-figure-5",
    "Adversarial networks on eight Gaussians, by the hinge loss and by the cross-entropy",
    full=EightGaussians(),
    quick=EightGaussians(hidden=(32,) * 4, step=2e-3, iterations=200, looks=2, schedules=((64, 1),)),
    metrics_of=run_eight_gaussians,
    fingerprint_of=partial(
        replace,
        deviations=(0.1, 0.2),
        schedules=((20, 2),),
        hidden=(8, 8),
        noise=4,
        step=1e-2,
        iterations=20,
        points=200,
        looks=2,
        precision="float64",
    ),
    variants={
        "narrow": NARROW,
        # Where the losses differ: more seeds.
        "narrow-small-batch": replace(NARROW, deviations=(0.02,), schedules=((64, 1),)),
    },
)
