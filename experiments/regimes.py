"""Agreement regimes, in which a network is decided by two mean neurons, and how Gaussian classes reach them.

[sarussi2021, Sec. 6, App. F, I and J, Figs. 8 and 9]
"""

from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq

from experiments.comparison import rounded
from experiments.registry import Experiment
from experiments.two_types import Examples, TwoTypes, disagreements, look_at, trained
from lib.checks import choice
from lib.data.synthetic import antipodal_gaussians
from lib.flow.gradient import gradient_flow
from lib.geometry.programs import Infeasible, agreement_program, extended_agreement_program
from lib.models.two_layer import TwoLayer
from lib.training.losses import LOGISTIC

LOOKS = 4  # in a step of the integrator
BEFORE = -30.0  # logarithm of a time at which nothing has moved yet, relative to the first step


@dataclass(frozen=True)
class GaussianClasses(TwoTypes):
    """Two types of neurons, and the classes that they are trained on.

    Two classes of half of the ``examples`` each lie around ``mean`` times the first axis and its opposite,
    with standard deviation ``spread`` in each of ``dimension`` directions.  ``outlier`` is the place of one
    more positive example in the plane of the first two axes: its distance from zero, and its angle with the
    first axis in degrees; ``None`` for none.  The ``settings``: "small-start" has ``scale``, "large-start"
    ``large_scale``, "without-outlier" is a small start on the classes alone.  After training the flow
    continues to the time of natural logarithm ``horizon`` (the records of 2026 counted ``ds = L dt``).
    """

    settings: tuple[str, ...] = ("small-start", "large-start")
    dimension: int = 200
    examples: int = 400
    mean: float = 6.0
    spread: float = 1.0
    outlier: tuple[float, float] | None = None
    neurons: int = 50
    scale: float = 1e-4
    large_scale: float = 0.3
    step: float = 0.01
    epochs: int = 100
    points: int = 10
    horizon: float = 1e4


def perfect_agreement_margin(w: np.ndarray, u: np.ndarray, inputs: np.ndarray, labels: np.ndarray) -> float:
    """Return the least of ``y_i <w_j, x_i>`` and ``-y_i <u_j, x_i>``, divided by the norm of all neurons.

    ``w`` and ``u`` are (k, d), or (d,) for one neuron of each type.  Positive exactly in the perfect
    agreement regime.  [sarussi2021, Definition 6.3]
    """
    signed = labels[:, None] * inputs
    least = min((w @ signed.T).min(), -(u @ signed.T).max())
    return float(least / np.hypot(np.linalg.norm(w), np.linalg.norm(u)))


def agreement_end(
    network: TwoLayer, inputs: ArrayLike, labels: ArrayLike, *, log_until: float, rtol: float = 1e-9
) -> tuple[float, TwoLayer]:
    """Return when the flow of the first layer leaves a neural agreement regime, and the network there.

    In the regime all neurons of one output sign classify every input alike and move with one velocity: their
    offsets from their mean stay, and the two means, times the roots of their numbers of neurons, follow the
    flow of a network of two neurons.  It is followed on the mean logistic loss up to the time of natural
    logarithm ``log_until``, and left where the first neuron reaches a kink.  ``network`` has weights (m, d)
    and output weights +v and -v, both present; ``inputs`` are (n, d), ``labels`` (n,) +1 and -1.  The time is
    ``log(1 + t)``, infinite if the regime lasts, with the network at ``log_until`` then.  Raises
    ``ValueError`` for a network outside every agreement regime.  [sarussi2021, Definition 6.2 and App. F]
    """
    x = np.asarray(inputs, dtype=float)
    own = np.where(network.a > 0, 0, 1)
    means = np.array([network.w[own == side].mean(axis=0) for side in (0, 1)])
    roots = np.sqrt(np.bincount(own))
    offsets, sides = network.w - means[own], np.sign(means @ x.T)[own]
    if (wrong := np.argwhere(sides * network.preactivations(x).T <= 0)).size:
        neuron, datum = wrong[0]
        raise ValueError(
            f"network is in no agreement regime: neuron {neuron} classifies input {datum} otherwise than the "
            "mean of its type does"
        )
    pair = TwoLayer(roots[:, None] * means, roots * np.abs(network.a).max() * [1, -1], network.slope)
    run = gradient_flow(pair, x, labels, LOGISTIC, log_until=log_until, train="first", rtol=rtol)

    def neurons(log_time: float) -> np.ndarray:
        pair = run.at(log_times=log_time)
        return offsets + (np.exp(pair.log_norms[0] - np.log(roots))[:, None] * pair.directions[0])[own]

    # A neuron that slides along its kink has left too, on whichever side of it rounding puts it.
    hair = 1e-9 * np.abs(network.w).max() * np.abs(x).max()

    def room(log_time: float) -> float:
        return float((sides * (neurons(log_time) @ x.T)).min()) - hair

    before = run.log_times[1] + BEFORE
    for step in run.log_times[1:]:
        for look in np.linspace(before, step, LOOKS + 1)[1:]:
            if room(look) < 0:
                end = brentq(room, before, look, xtol=1e-12) if room(before) > 0 else before
                return float(np.logaddexp(0, end)), network.with_weights(neurons(end), network.a)
            before = look
    return np.inf, network.with_weights(neurons(run.log_times[-1]), network.a)


def _draw(config: GaussianClasses, seed: int) -> Examples:
    """The examples of a seed, the outlier last."""
    mean = config.mean * np.eye(config.dimension)[0]
    x, y = antipodal_gaussians(config.examples, mean, config.spread, rng=np.random.default_rng(seed))
    if config.outlier is None:
        return x, y
    distance, angle = config.outlier[0], np.radians(config.outlier[1])
    place = np.zeros((1, config.dimension))
    place[0, :2] = distance * np.cos(angle), distance * np.sin(angle)
    return np.vstack([x, place]), np.append(y, 1.0)


def _look_at_regimes(network: TwoLayer, x: np.ndarray, y: np.ndarray) -> dict[str, float]:
    w, u = np.split(network.w, 2)
    return {
        # A w neuron is in the perfect regime if it classifies all examples rightly, a u neuron if none.
        "share_w": float(((w @ x.T > 0) == (y > 0)).all(axis=1).mean()),
        "share_u": float(((u @ x.T > 0) == (y < 0)).all(axis=1).mean()),
        "disagreements_w": disagreements(w, x),
        "disagreements_u": disagreements(u, x),
        **look_at(network, x, y),
    }


def _limit(x: np.ndarray, y: np.ndarray, slope: float) -> dict:
    """Where the flow of a clustered network ends, by programs."""
    try:
        w, u = np.split(agreement_program(x, y, slope).x, 2)
    except Infeasible:
        return {"certificate": None, "limit": None}
    certificate = perfect_agreement_margin(w, u, x, y)
    limit = "perfect"
    if certificate <= 0:
        end = extended_agreement_program(x, y, slope).x
        responses = x @ end.reshape(2, -1).T / np.linalg.norm(end)
        limit = "kink" if np.abs(responses).min() < 1e-9 else "other"  # active kinks are solved to rounding
    return {"certificate": certificate, "limit": limit}


def _afterwards(network: TwoLayer, x: np.ndarray, y: np.ndarray, horizon: float) -> dict:
    """In which regime the network is, and the logarithm of the time after which the flow leaves it."""
    w, u = np.split(network.w, 2)
    if disagreements(w, x) or disagreements(u, x):
        return {"regime": "none", "leaves": None}
    log_time, _ = agreement_end(network, x, y, log_until=horizon)
    return {
        "regime": "perfect" if perfect_agreement_margin(w, u, x, y) > 0 else "other",
        "leaves": rounded(log_time) if log_time < np.inf else None,
    }


def _regimes(config: GaussianClasses, setting: str, seed: int) -> dict:
    """The metrics of one setting."""
    choice("settings", setting, ("small-start", "large-start", "without-outlier"))
    x, y = _draw(config, seed)
    if setting == "without-outlier":
        x, y = x[:-1], y[:-1]
    sized = replace(config, scale=config.large_scale) if setting == "large-start" else config
    look = partial(_look_at_regimes, x=x, y=y)
    network, curves = trained(sized, (x, y), np.random.default_rng([seed, 1]), look)
    return curves | _afterwards(network, x, y, config.horizon)


def run_gaussian_classes(config: GaussianClasses, seed: int, device: str = "cpu") -> dict:
    """Train in each setting; return the metrics of a seed by setting.

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
    """
    settings = {setting: _regimes(config, setting, seed) for setting in config.settings}
    return _limit(*_draw(config, seed), config.slope) | settings


def _fingerprint_of_classes(config: GaussianClasses) -> GaussianClasses:
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
FIGURE_8 = Experiment(
    "sarussi2021-figure-8",
    "All neurons enter the perfect agreement regime on two Gaussian classes in high dimension",
    full=GaussianClasses(),
    quick=GaussianClasses(dimension=50, examples=80, mean=5.0, neurons=10, epochs=20, points=6),
    metrics_of=run_gaussian_classes,
    fingerprint_of=_fingerprint_of_classes,
    devices=("cpu",),
)
FIGURE_9 = Experiment(
    "sarussi2021-figure-9",
    "Neurons agree outside the perfect regime on two Gaussian classes with an outlier",
    full=_OUTLIER,
    quick=replace(_OUTLIER, neurons=8, step=0.02, epochs=150, points=6, horizon=100.0),
    metrics_of=run_gaussian_classes,
    fingerprint_of=_fingerprint_of_classes,
    devices=("cpu",),
)
