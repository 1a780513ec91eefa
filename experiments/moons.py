"""Boundaries between two moons, in ten ways to train [pezeshki2021, Sec. 2.1, App. A.1, Figs. 2 and 3]."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import torch

from experiments.comparison import rounded
from experiments.registry import Experiment
from experiments.regularised import Dropout, Regularised
from lib.checks import choice
from lib.data.synthetic import two_moons_with_gap
from lib.geometry.level_sets import bend, distance_to_data, zero_level_set
from lib.models.features import tangent_features
from lib.models.mlps import draw_mlps
from lib.training.ensembles import Optimiser, train
from lib.training.objectives import cross_entropy, spectral_decoupling

SETTINGS = (
    *("gap", "overlap", "decoupled", "weight-decay", "longer", "adam-short", "adam-long"),
    *("rotated", "dropout", "batch-norm", "five-layers"),
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
class AveragedMoons(TwoMoons):
    """Two moons for the output averaged over seeds, as the figures have it.

    ``outputs`` of each seed are kept on a ``grid`` of so many points a side in ``[-1.2, 1.2]^2``.
    """

    grid: int = 15


def _start(config: TwoMoons, setting: str, seed: int) -> torch.nn.Module:
    """The network at initialisation, the same for each setting with the same architecture."""
    widths = (2, *[config.width] * (4 if setting == "five-layers" else 1), 1)
    generator, dtype = torch.Generator().manual_seed(seed), getattr(torch, config.precision)
    plain = draw_mlps(widths, [generator], dtype=dtype)
    if setting == "dropout":
        return Regularised(plain, torch.nn.ReLU(), Dropout(0.7, generator))
    if setting == "batch-norm":
        return Regularised(plain, torch.nn.BatchNorm1d(config.width, dtype=dtype), torch.nn.ReLU())
    return plain


def _optimiser(config: TwoMoons, setting: str) -> Optimiser:
    if setting in ("adam-short", "adam-long"):
        rate = config.adam[setting == "adam-long"]
        return partial(torch.optim.Adam, lr=rate, weight_decay=config.weight_decay)
    decay = config.strong_decay if setting == "weight-decay" else config.weight_decay
    return partial(torch.optim.SGD, lr=config.step, momentum=config.momentum, weight_decay=decay)


def _boundary(function: Callable[[np.ndarray], np.ndarray], x: np.ndarray, y: np.ndarray) -> dict:
    """Measures of a function of points (n, 2), whose sign tells the moons ``x`` with the labels ``y``."""
    # Differences of a function that is linear almost everywhere, over much less than its pieces.
    across, along = (np.abs(function(x + shift) - function(x - shift)).mean() for shift in 0.01 * np.eye(2))
    fresh = two_moons_with_gap(2000, -0.3, rng=np.random.default_rng(0))
    measures: dict = {
        "accuracy": float((y * function(x) > 0).mean()),
        "accuracy_without_gap": float((fresh[1] * function(fresh[0]) > 0).mean()),
        "slope_ratio": float(along / across) if across else None,
    }
    try:
        curves = zero_level_set(function)
        lines = [curve[::4].round(3).tolist() for curve in curves]
        measures |= {"margin": float(distance_to_data(curves, x)), "bend": float(bend(curves))}
        return measures | {"boundary": lines}
    except ValueError:  # no boundary in the square, or hardly any
        return measures | {"margin": None, "bend": None, "boundary": []}


def votes(signed_features: np.ndarray) -> np.ndarray:
    """Return the votes U (n, r) of ``Y Phi = U S V^T``, (n, parameters), features of decreasing strength.

    A singular decomposition leaves the sign of each pair ``(u_j, v_j)`` open.  Here each feature votes for
    the labels on the whole: the entries of ``u_j`` sum to zero or more, and if they cancel, the largest is
    positive.  Strengths below 1e-10 times the largest are dropped.  [pezeshki2021, Definition 1]
    """
    u, strengths, _ = np.linalg.svd(signed_features, full_matrices=False)
    u = u[:, strengths > 1e-10 * strengths[0]]
    total, largest = u.sum(axis=0), u[np.abs(u).argmax(axis=0), np.arange(u.shape[1])]
    cancel = np.abs(total) <= 1e-12 * np.sqrt(len(u))
    return u * np.sign(np.where(cancel, largest, total))


def _train_on_moons(config: TwoMoons, setting: str, seed: int, device: str) -> dict:
    """The metrics of one setting."""
    choice("settings", setting, SETTINGS)
    like = torch.empty(0, dtype=getattr(torch, config.precision), device=device)
    gap = -config.gap if setting == "overlap" else config.gap
    x, y = two_moons_with_gap(config.examples, gap, rng=np.random.default_rng(seed))
    angle = np.pi / 4 * (setting == "rotated")
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])

    def seen(points: np.ndarray) -> torch.Tensor:
        return torch.from_numpy(points @ turn).to(like)

    @torch.no_grad()
    def function(points: np.ndarray) -> np.ndarray:
        return run.network(seen(points))[0].double().cpu().numpy()

    start, inputs = _start(config, setting, seed).to(device), seen(x)
    steps = config.steps * (10 if setting == "longer" else 1)
    run = train(
        start,
        inputs,
        torch.from_numpy(y).to(like),
        objective=spectral_decoupling(config.strength) if setting == "decoupled" else cross_entropy,
        optimiser=_optimiser(config, setting),
        steps=steps,
        record=lambda network: network(inputs).double().cpu(),
        record_at={round(k * steps / config.points) for k in range(config.points + 1)},
    )
    logits = torch.cat(run.recorded)  # (times, n)
    losses = cross_entropy(logits, torch.from_numpy(y))
    metrics = {"steps": run.steps.tolist(), **_boundary(function, x, y)}
    if seed not in config.pictured:
        del metrics["boundary"]
    metrics |= {"loss": float(losses[-1]), "losses": rounded(losses)}
    if isinstance(config, AveragedMoons):
        axis = np.linspace(-1.2, 1.2, config.grid)
        grid = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
        metrics["outputs"] = rounded(function(grid), 3)
    if config.features:
        u = votes(y[:, None] * tangent_features(start.cpu(), inputs.cpu()))
        z = y * (logits - logits[0]).numpy() @ u
        metrics["responses"] = rounded([z[:, j] for j in config.features])
        metrics["coherences"] = rounded((u.sum(axis=0) / np.sqrt(len(u)))[:10])
        metrics["final_responses"] = rounded(z[-1, :10])
    return metrics


def run_two_moons(config: TwoMoons, seed: int, device: str = "cpu") -> dict:
    """Train in each setting, and return the metrics of a seed by setting.

    Each seed has its own moons and start, the same in all settings of one architecture.  ``margin`` is the
    distance of the boundary in the square ``[-2, 2]^2`` from the data, ``bend`` its root mean square distance
    from the best line (both ``None`` without a boundary there), ``slope_ratio`` the mean slope of the network
    along the gap over that across it, ``accuracy_without_gap`` that on new moons which overlap by 0.3.
    Rotated data are turned back first.  ``responses`` are those of the change of the outputs to the features
    of :func:`votes` before training, ``coherences`` how far these agree with the labels, from 0 to 1.
    """
    return {setting: _train_on_moons(config, setting, seed, device) for setting in config.settings}


def _fingerprint_of_moons(config: TwoMoons) -> TwoMoons:
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


_PRACTICES = TwoMoons(
    settings=(
        *("gap", "weight-decay", "longer", "adam-short", "adam-long"),
        *("rotated", "dropout", "batch-norm", "five-layers", "decoupled"),
    ),
    weight_decay=0.0,
    features=(),
    pictured=(0,),
)
# At the published schedule: what the figure rests on, and the one practice that bends the boundary.
_TEN_NETWORKS = AveragedMoons(
    settings=("gap", "adam-long", "decoupled"), weight_decay=0.0, features=(), points=10, pictured=()
)
FIGURE_2 = Experiment(
    "pezeshki2021-figure-2",
    "Two moons with and without a gap, and with spectral decoupling: boundaries and responses",
    full=TwoMoons(),
    # Cheaper, but for as long a time of the flow: ten times the steps' length, a tenth of their number.
    quick=TwoMoons(examples=100, width=100, step=0.1, steps=1000, precision="float64"),
    metrics_of=run_two_moons,
    fingerprint_of=_fingerprint_of_moons,
)
FIGURE_3 = Experiment(
    "pezeshki2021-figure-3",
    "Two moons with a gap: ten ways to train, of which one bends the boundary",
    full=_PRACTICES,
    # What the figure rests on, in a hundredth of the steps, which are ten times as long.
    quick=replace(
        _TEN_NETWORKS,
        examples=60,
        width=150,
        step=0.1,
        steps=100,
        adam=(1e-3, 1e-2),
        precision="float64",
    ),
    metrics_of=run_two_moons,
    fingerprint_of=_fingerprint_of_moons,
    variants={
        "published-code": replace(_PRACTICES, steps=1000),  # a tenth of the steps
        "ten-networks": _TEN_NETWORKS,
    },
)
