"""High-dimensional inputs that are almost orthogonal [boursier2022, App. A.2, Figs. 6 and 7]."""

from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import torch

from experiments.comparison import rounded
from experiments.registry import Experiment
from lib.models.two_layer import Start, TwoLayer
from lib.training.descent import spherical_descent
from lib.training.losses import SQUARE


@dataclass(frozen=True)
class HighDimension:
    """Sizes of the experiment; the defaults are the paper's.

    ``step`` is that of gradient descent on the mean squared error ``2 L``, as in the published code, so that
    an iteration is a flow time of ``2 step``.  ``stages`` are the iterations at which neurons are looked at,
    ``points`` how many points the curves have after the start, ``pictured`` the seeds whose neurons are kept.
    """

    examples: int = 75
    dimension: int = 150
    neurons: int = 200
    teacher: int = 6
    scale: float = 1e-20
    step: float = 1e-3
    iterations: int = 200_000
    stages: tuple[int, ...] = (0, 40_000, 80_000, 200_000)
    points: int = 200
    pictured: tuple[int, ...] = (4,)


def _layer(generator: torch.Generator, outputs: int, inputs: int, deviation: float) -> torch.Tensor:
    torch.empty(outputs, inputs).uniform_(generator=generator)  # the default that the code overwrites
    return torch.empty(outputs, inputs).normal_(std=deviation, generator=generator)


def _teacher(config: HighDimension, generator: torch.Generator) -> tuple[torch.Tensor, torch.Tensor]:
    hidden = _layer(generator, config.teacher, config.dimension, (config.teacher * config.dimension) ** -0.5)
    return hidden, _layer(generator, 1, config.teacher, config.teacher**-0.5)


def teacher(config: HighDimension, seed: int) -> TwoLayer:
    """Return the network that gives the labels of a seed."""
    hidden, output = _teacher(config, torch.Generator().manual_seed(seed))
    return TwoLayer(hidden.double().numpy(), output[0].double().numpy())


def draw(config: HighDimension, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Inputs (n, d), labels (n,), start (m, d) of unit scale and output signs (m,) of a seed.

    The draws, and those that it makes and drops, are in the order of the published code, whose seed is 4.
    """
    generator = torch.Generator().manual_seed(seed)
    hidden, output = _teacher(config, generator)
    inputs = torch.randn(config.examples, config.dimension, generator=generator)
    labels = torch.relu(inputs @ hidden.T) @ output[0]
    start = _layer(generator, config.neurons, config.dimension, 1.0)
    torch.empty(1, config.neurons).uniform_(generator=generator)
    signs = 2 * torch.bernoulli(torch.full((1, config.neurons), 0.5), generator=generator)[0] - 1
    x, y, w, s = (part.double().numpy() for part in (inputs, labels, start, signs))
    return x, y, w, s


def _explained(weights: np.ndarray) -> np.ndarray:
    """The share of each principal component, largest first, without centring, as in the published code."""
    variances = np.linalg.svd(weights, compute_uv=False) ** 2
    return variances / variances.sum()


def run_high_dimension(config: HighDimension, seed: int, device: str = "cpu") -> dict:
    """Train on the data and from the start of the published code's draws, and return the metrics of a seed.

    The steps are those of :func:`lib.training.descent.spherical_descent`, which keep balance and signs.
    Errors are mean squares, as the paper's figure shows them.  ``saddle_level`` is the mean square of the
    labels of the class with the smaller force ``|D|``, the loss when the other class is fitted.  A drop that
    does not come within the run is ``None``.
    """
    x, y, start, signs = draw(config, seed)
    norms = np.linalg.norm(start, axis=1)
    log_scale = np.log(config.scale) - np.log(config.neurons * config.dimension) / 2
    iterations = sorted({round(k * config.iterations / config.points) for k in range(config.points + 1)})
    run = spherical_descent(
        Start(start / norms[:, None], np.log(norms) + log_scale, signs),
        x,
        y,
        SQUARE,
        step=2 * config.step,
        steps=config.iterations,
        record=lambda now: now,
        record_at={*iterations, *config.stages},
    )
    seen: dict[int, Start] = dict(zip(run.steps.tolist(), run.recorded, strict=True))
    networks = [seen[k].network() for k in iterations]
    errors = [float(np.mean((network(x) - y) ** 2)) for network in networks]
    final = networks[-1].w

    def first_below(level: float) -> int | None:
        return next((k for k, error in zip(iterations, errors, strict=True) if error < level), None)

    classes = {sign: sign * y > 0 for sign in (1, -1)}
    forces = {sign: (y * own) @ x / config.examples for sign, own in classes.items()}
    sizes = {sign: float(np.linalg.norm(force)) for sign, force in forces.items()}
    slower = min(sizes, key=lambda sign: sizes[sign])
    saddle = float(np.mean((y * classes[slower]) ** 2))
    active = start @ x.T > 0
    unit = x / np.linalg.norm(x, axis=1)[:, None]
    metrics = {
        "positive_labels": int(classes[1].sum()),
        "forces": [*sizes.values()],
        "neurons_active_on_a_whole_class": [
            int(active[signs == sign][:, own].all(axis=1).sum()) for sign, own in classes.items()
        ],
        "largest_cosine": float(np.abs(unit @ unit.T - np.eye(len(x))).max()),
        "iterations": iterations,
        "mean_squared_error": rounded(errors),
        "explained_by_two": rounded([float(_explained(network.w)[:2].sum()) for network in networks]),
        "saddle_level": saddle,
        # Half way from the start to the saddle, and from there to zero.
        "first_drop": first_below((errors[0] + saddle) / 2),
        "second_drop": first_below(saddle / 2),
        "final_error": errors[-1],
        "final_explained": rounded(_explained(final)[:10]),
        "stages": [{"iteration": k, **_stage(seen[k], forces)} for k in config.stages],
    }
    if seed in config.pictured:
        plane = np.linalg.svd(final, full_matrices=False)[2][:2]
        metrics["pictures"] = [_picture(seen[k].network().w @ plane.T) for k in config.stages]
        metrics["output_signs"] = signs.astype(int).tolist()
    return metrics


def _stage(now: Start, forces: dict[int, np.ndarray]) -> dict:
    """Median cosine of the neurons of each output sign with the force of their class; their squared norms.

    The cosine is ``None`` where the class has no examples.
    """
    cosines: list[float | None] = []
    squares = []
    for sign, force in forces.items():
        own, size = now.signs == sign, np.linalg.norm(force)
        cosines.append(float(np.median(now.directions[own] @ (sign * force)) / size) if size > 0 else None)
        squares.append(float(np.exp(2 * now.log_norms[own]).sum()))
    return {"median_cosines": cosines, "squared_norms": squares}


def _picture(flat: np.ndarray) -> dict:
    """Angles and lengths of the neurons' projections (m, 2) on the plane of the two final components."""
    angles, lengths = np.arctan2(flat[:, 1], flat[:, 0]), np.linalg.norm(flat, axis=1)
    return {"angles": rounded(angles), "lengths": rounded(lengths)}


FIGURE_6 = Experiment(
    "boursier2022-figure-6",
    "Two clusters of neurons on 75 almost orthogonal inputs: loss, saddle and principal components",
    full=HighDimension(),
    quick=HighDimension(
        examples=15,
        dimension=120,
        neurons=40,
        scale=1e-8,
        step=0.05,
        iterations=2000,
        stages=(0, 400, 800, 2000),
        pictured=(0,),
    ),
    metrics_of=run_high_dimension,
    # In this time short steps bring a small network to its alignment, long ones to the end.
    fingerprint_of=partial(
        replace,
        examples=12,
        dimension=60,
        neurons=20,
        scale=1e-10,
        iterations=4000,
        stages=(0, 800, 4000),
        points=40,
        pictured=(0,),
    ),
    devices=("cpu",),
    variants={
        # The same time of the flow in steps fifty times as long.
        "long-steps": HighDimension(step=0.05, iterations=4000, stages=(0, 800, 1600, 4000)),
    },
)
