"""Decision boundaries between two moons [pezeshki2021, Sec. 4, App. A.1, Figs. 2 and 3]."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import partial
from typing import cast

import numpy as np
import torch

from lib.data.synthetic import two_moons_with_gap
from lib.experiments.registry import Experiment, register, rounded
from lib.geometry.level_sets import bend, distance_to_data, zero_level_set
from lib.models.features import Features, decompose, tangent_features
from lib.models.mlps import MlpBatch, draw_mlps
from lib.training.ensembles import Optimiser, train
from lib.training.objectives import cross_entropy, spectral_decoupling

CHANGES = (
    "weight-decay",
    "longer",
    "adam-short",
    "adam-long",
    "rotated",
    "dropout",
    "batch-norm",
    "five-layers",
)


@dataclass(frozen=True)
class TwoMoons:
    """Data, network, training and settings of the experiment; the defaults are those of Figure 2.

    All ``settings`` train networks of one hidden layer (``width``) by steps (``step``, ``momentum``,
    ``weight_decay``) on the mean cross-entropy of two moons with a ``gap``, or differ from that in one thing:
    "overlap" has the negative gap, "decoupled" half of the ``strength`` times the mean squared logit added,
    "weight-decay" has ``strong_decay``, "longer" ten times the steps, "adam-short" and "adam-long" Adam with
    the steps ``adam``, "rotated" data turned by 45 degrees, "dropout" the probability 0.7, "batch-norm" that,
    "five-layers" four hidden ones.  The responses to ``features``, counted from 0 by strength, are recorded
    at ``points`` points after the start; the boundaries are kept of the seeds ``pictured``.
    """

    settings: tuple[str, ...] = ("overlap", "gap", "decoupled")
    examples: int = 300
    gap: float = 0.1
    width: int = 500
    step: float = 0.01
    momentum: float = 0.9
    steps: int = 10_000
    weight_decay: float = 2e-4
    strength: float = 0.006
    strong_decay: float = 0.01
    adam: tuple[float, float] = (1e-4, 3e-3)
    features: tuple[int, ...] = (1, 6)
    points: int = 50
    pictured: tuple[int, ...] = tuple(range(10))
    precision: str = "float32"


@dataclass(frozen=True)
class _Draw:
    """The data of all seeds as the networks see them, and the turn that brings them there."""

    inputs: torch.Tensor
    labels: torch.Tensor
    turn: np.ndarray


def _draw(config: TwoMoons, setting: str, seeds: Sequence[int], kind: dict) -> _Draw:
    gap = -config.gap if setting == "overlap" else config.gap
    moons = [two_moons_with_gap(config.examples, gap, rng=np.random.default_rng(seed)) for seed in seeds]
    angle = np.pi / 4 * (setting == "rotated")
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    inputs, labels = (np.stack(parts) for parts in zip(*moons, strict=True))
    return _Draw(torch.tensor(inputs @ turn, **kind), torch.tensor(labels, **kind), turn)


class _BatchNormalised(torch.nn.Module):
    """Stacked perceptrons with batch normalisation before each activation."""

    def __init__(self, plain: MlpBatch) -> None:
        super().__init__()
        self.plain = plain
        # Seeds and units are channels alike.
        sizes = [bias.shape[0] * bias.shape[2] for bias in plain.biases[:-1]]
        self.norms = torch.nn.ModuleList(
            torch.nn.BatchNorm1d(size, dtype=plain.biases[0].dtype) for size in sizes
        )

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        """Return the logits, shape (seeds, n)."""
        hidden = inputs.expand(len(self.plain.weights[0]), -1, -1)
        for weight, bias, norm in zip(self.plain.weights, self.plain.biases, self.norms, strict=False):
            hidden = torch.baddbmm(bias, hidden, weight).transpose(0, 1)
            hidden = norm(hidden.flatten(start_dim=1)).view(hidden.shape).transpose(0, 1).relu()
        return torch.baddbmm(self.plain.biases[-1], hidden, self.plain.weights[-1]).squeeze(-1)

    def seed(self, k: int) -> _BatchNormalised:
        """Return a copy of the network of one seed, in evaluation mode."""
        one = _BatchNormalised(self.plain.seed(k)).to(self.plain.biases[0].device).eval()
        for norm, every in zip(one.norms, self.norms, strict=True):
            of_all = {name: value for name, value in every.state_dict().items() if value.ndim}
            norm.load_state_dict(
                {name: value.view(-1, norm.num_features)[k] for name, value in of_all.items()}, strict=False
            )
        return one


class _Dropout(torch.nn.Module):
    """Stacked perceptrons that drop each hidden unit with a probability, each seed by its own generator."""

    def __init__(self, plain: MlpBatch, probability: float, generators: Sequence[torch.Generator]) -> None:
        super().__init__()
        self.plain, self.probability, self.generators = plain, probability, deepcopy(generators)

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        """Return the logits, shape (seeds, n)."""
        hidden = inputs.expand(len(self.generators), -1, -1)
        *inner, (weight, bias) = zip(self.plain.weights, self.plain.biases, strict=True)
        for inner_weight, inner_bias in inner:
            hidden = torch.baddbmm(inner_bias, hidden, inner_weight).relu()
            if self.training:
                shape, dtype = hidden.shape[1:], hidden.dtype
                draws = [torch.rand(shape, generator=each, dtype=dtype) for each in self.generators]
                kept = (torch.stack(draws) >= self.probability).to(hidden)
                hidden = hidden * (kept / (1 - self.probability))
        return torch.baddbmm(bias, hidden, weight).squeeze(-1)

    def seed(self, k: int) -> MlpBatch:
        """Return a copy of the network of one seed as it is in evaluation mode."""
        return self.plain.seed(k)


Networks = MlpBatch | _BatchNormalised | _Dropout


def _start(config: TwoMoons, setting: str, seeds: Sequence[int]) -> Networks:
    """The networks at initialisation, the same for each setting with the same architecture."""
    widths = (2, *[config.width] * (4 if setting == "five-layers" else 1), 1)
    generators = [torch.Generator().manual_seed(seed) for seed in seeds]
    plain = draw_mlps(widths, generators, dtype=getattr(torch, config.precision))
    if setting == "batch-norm":
        return _BatchNormalised(plain)
    return _Dropout(plain, 0.7, generators) if setting == "dropout" else plain


def _optimiser(config: TwoMoons, setting: str) -> Optimiser:
    if setting in ("adam-short", "adam-long"):
        rate = config.adam[setting == "adam-long"]
        return partial(torch.optim.Adam, lr=rate, weight_decay=config.weight_decay)
    decay = config.strong_decay if setting == "weight-decay" else config.weight_decay
    return partial(torch.optim.SGD, lr=config.step, momentum=config.momentum, weight_decay=decay)


def _features(start: Networks, draw: _Draw) -> list[Features]:
    """The tangent features of each seed before training, times its labels."""
    found = []
    for k in range(len(draw.inputs)):
        signs = draw.labels[k].double().cpu().numpy()[:, None]
        found.append(decompose(signs * tangent_features(start.seed(k).cpu(), draw.inputs[k].cpu())))
    return found


def _boundary(network: torch.nn.Module, draw: _Draw, kind: dict) -> dict:
    """Measures of a network of one seed, of its boundary in the coordinates of the data before their turn."""

    def function(points: np.ndarray) -> np.ndarray:
        with torch.no_grad():
            return network(torch.tensor(points @ draw.turn, **kind))[0].double().cpu().numpy()

    points = draw.inputs[0].double().cpu().numpy() @ draw.turn.T
    labels = draw.labels[0].double().cpu().numpy()
    # Differences of a function that is linear almost everywhere, over much less than its pieces.
    across, along = (
        np.abs(function(points + shift) - function(points - shift)).mean() for shift in 0.01 * np.eye(2)
    )
    fresh = two_moons_with_gap(2000, -0.3, rng=np.random.default_rng(0))
    measures: dict = {
        "accuracy": float((labels * function(points) > 0).mean()),
        "accuracy_without_gap": float((fresh[1] * function(fresh[0]) > 0).mean()),
        "slope_ratio": float(along / across) if across else None,
    }
    try:
        curves = zero_level_set(function)
        return measures | {
            "margin": float(distance_to_data(curves, points)),
            "bend": float(bend(curves)),
            "boundary": [[[round(float(c), 3) for c in vertex] for vertex in curve[::4]] for curve in curves],
        }
    except ValueError:  # no boundary in the square, or hardly any
        return measures | {"margin": None, "bend": None, "boundary": []}


def _setting(config: TwoMoons, setting: str, seeds: Sequence[int], device: str) -> list[dict]:
    """The metrics of one setting, one dictionary a seed."""
    kind = {"dtype": getattr(torch, config.precision), "device": device}
    draw = _draw(config, setting, seeds, kind)
    start = _start(config, setting, seeds).to(device)
    steps = config.steps * (10 if setting == "longer" else 1)
    strength = config.strength if setting == "decoupled" else 0.0
    run = train(
        start,
        draw.inputs,
        draw.labels,
        objective=spectral_decoupling(strength) if strength else cross_entropy,
        optimiser=_optimiser(config, setting),
        steps=steps,
        record=lambda network: network(draw.inputs).double(),
        record_at={round(k * steps / config.points) for k in range(config.points + 1)},
    )
    logits = torch.stack(run.recorded)
    losses = torch.stack([cross_entropy(one, draw.labels.double()) for one in logits])
    responses = (draw.labels.double() * (logits - logits[0])).cpu().numpy()
    features = _features(start, draw) if config.features else []
    metrics = []
    for k, seed in enumerate(seeds):
        one = _Draw(draw.inputs[k : k + 1], draw.labels[k : k + 1], draw.turn)
        measures = _boundary(cast(Networks, run.network).seed(k), one, kind)
        if seed not in config.pictured:
            del measures["boundary"]
        measures |= {
            "loss": float(losses[-1, k]),
            "losses": rounded(losses[:, k]),
        }
        if features:
            z = features[k].responses(responses[:, k])
            measures["responses"] = rounded([z[:, j] for j in config.features])
            measures["coherences"] = rounded(features[k].coherences[:10])
            measures["final_responses"] = rounded(z[-1, :10])
        metrics.append({"steps": run.steps.tolist(), **measures})
    return metrics


def run_two_moons(config: TwoMoons, seeds: Sequence[int], device: str = "cpu") -> list[dict]:
    """Train in each setting, all seeds in one batch, and return for each seed its metrics by setting.

    Each seed has its own moons and start, the same in all settings of one architecture.  ``margin`` is the
    distance of the boundary in the square ``[-2, 2]^2`` from the data, ``bend`` its root mean square distance
    from the best line (both ``None`` without a boundary there), ``slope_ratio`` the mean slope of the network
    along the gap over that across it, ``accuracy_without_gap`` that on new moons which overlap by 0.3.
    Rotated data are turned back first.  ``responses`` are those of the change of the outputs to the features
    of :func:`lib.models.features.decompose` before training.
    """
    by_setting = {setting: _setting(config, setting, seeds, device) for setting in config.settings}
    return [{setting: metrics[k] for setting, metrics in by_setting.items()} for k in range(len(seeds))]


def _fingerprint_of(config: TwoMoons) -> TwoMoons:
    return replace(
        config,
        examples=40,
        width=30,
        step=20 * config.step,
        steps=config.steps // 100,
        adam=(20 * config.adam[0], 10 * config.adam[1]),
        points=10,
        pictured=(),
    )


_PRACTICES = TwoMoons(settings=("gap", *CHANGES, "decoupled"), weight_decay=0.0, features=(), pictured=(0,))
register(
    Experiment(
        "pezeshki2021-figure-2",
        "Two moons with and without a gap, and with spectral decoupling: boundaries and responses",
        full=TwoMoons(),
        # Cheaper, but for as long a time of the flow: ten times the steps' length, a tenth of their number.
        quick=TwoMoons(examples=100, width=100, step=0.1, steps=1000, precision="float64"),
        run=run_two_moons,
        fingerprint_of=_fingerprint_of,
    )
)
register(
    Experiment(
        "pezeshki2021-figure-3",
        "Two moons with a gap: ten ways to train, of which one bends the boundary",
        full=_PRACTICES,
        # For the time of the published code, in a tenth of its steps.
        quick=replace(
            _PRACTICES, examples=60, width=150, step=0.1, steps=100, adam=(1e-3, 1e-2), precision="float64"
        ),
        run=run_two_moons,
        fingerprint_of=_fingerprint_of,
        variants={
            # The published code makes a tenth of the steps that the text names.
            "published-code": replace(_PRACTICES, steps=1000),
        },
    )
)
