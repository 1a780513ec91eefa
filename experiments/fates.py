"""What becomes of plain samples: a census of the ends of the flow; and how long neurons wait for a datum.

[sarussi2021, Secs. 1, 5 and 7: straight boundaries from small starts]
"""

from dataclasses import dataclass, replace

import numpy as np

from experiments.comparison import rounded
from experiments.registry import Experiment
from lib.data.synthetic import antipodal_gaussians
from lib.flow import gradient_flow
from lib.geometry.level_sets import boundary_bend
from lib.geometry.programs import extended_agreement_program, separation
from lib.models.two_layer import Start, TwoLayer
from lib.training.losses import LOGISTIC

BENT = 0.1  # degrees: straight boundaries are straight to rounding


@dataclass(frozen=True)
class PlainSamples:
    """Two Gaussian classes in the plane that a line separates, as they come, and the starts.

    A seed draws ``samples`` of ``examples`` points, half of them around ``mean``, half around its opposite,
    of standard deviation ``spread``, and for each of the ``widths``, numbers of neurons of a type, one
    Gaussian start, which is taken at all ``scales``.  The flow of the first layer, for the leaky ``slope``,
    is followed to the time of natural logarithm ``horizon``.
    """

    samples: int = 10
    examples: int = 20
    mean: tuple[float, float] = (1.0, 0.6)
    spread: float = 0.6
    slope: float = 0.1
    widths: tuple[int, ...] = (2, 8)
    scales: tuple[float, ...] = (1.0, 1e-2, 1e-4)
    horizon: float = 1e4


def side(network: TwoLayer, x: np.ndarray, y: np.ndarray) -> str:
    """Return where a network is: "perfect", on a "kink" or "other" with its neurons right on their own class.

    Else it is "outside" of this set.  ``x`` are (n, d), ``y`` (n,); of the neurons the first half is for +1.
    """
    products = network.w @ x.T
    own = np.repeat([1.0, -1.0], len(network.w) // 2)[:, None] == y
    if products[own].min() <= 0:
        return "outside"
    other = products[~own]
    if np.abs(other).min() < 1e-9 * products[own].max():
        return "kink"
    return "perfect" if other.max() < 0 else "other"


def end_of_flow(network: TwoLayer, x: np.ndarray, y: np.ndarray, horizon: float) -> TwoLayer:
    """Return the direction of the network at a late time, (m, d)."""
    run = gradient_flow(network, x, y, LOGISTIC, train="first", rtol=1e-7, log_until=horizon)
    lengths = np.exp(run.log_norms[-1] - run.log_norms[-1].max())
    return network.with_weights(lengths[:, None] * run.directions[-1], network.a)


def _sample(config: PlainSamples, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, float]:
    """Draw until a line separates the classes, by the margin that is returned too."""
    while True:
        x, y = antipodal_gaussians(config.examples, config.mean, config.spread, rng=rng)
        if (found := separation(x, y)).separable:
            return x, y, found.margin


def run_census(config: PlainSamples, seed: int, device: str = "cpu") -> dict:
    """Follow flows on the samples of a seed; return lists over the samples.

    ``margins`` are those of the separating lines, ``foretold`` is the `side` of the solution of the extended
    program.  ``fates`` has, by width and scale, the `side` of the network at the end, where "outside" is told
    apart: "straight" or "bent", by the boundary; ``bends`` has its bend in degrees.
    """
    rng, margins, foretold = np.random.default_rng(seed), [], []
    names = [(f"{k}", f"{scale:g}") for k in config.widths for scale in config.scales]
    fates: dict = {f"{k}": {f"{scale:g}": [] for scale in config.scales} for k in config.widths}
    bends: dict = {f"{k}": {f"{scale:g}": [] for scale in config.scales} for k in config.widths}
    for number in range(config.samples):
        x, y, margin = _sample(config, rng)
        margins.append(rounded(margin))
        pair = extended_agreement_program(x, y, config.slope).x.reshape(2, 2)
        foretold.append(side(TwoLayer(pair, np.array([1.0, -1.0]), config.slope), x, y))
        for k, scale in names:
            starts, width = np.random.default_rng([seed, number, int(k)]), int(k)
            start = Start.two_sided(width, 2, np.log(float(scale)), rng=starts, v=width**-0.5)
            last = end_of_flow(start.network(config.slope), x, y, config.horizon)
            bend, fate = boundary_bend(last), side(last, x, y)
            bends[k][scale].append(round(bend, 3))
            fates[k][scale].append(("bent" if bend > BENT else "straight") if fate == "outside" else fate)
    return {"margins": margins, "foretold": foretold, "fates": fates, "bends": bends}


def _fingerprint_of(config: PlainSamples) -> PlainSamples:
    return replace(config, samples=2, examples=10, widths=config.widths[:1], horizon=100.0)


@dataclass(frozen=True)
class ThreePoints:
    """The points (1, 0) and, for each of the ``heights`` h, (-sqrt(1 - h^2), h), positive, and (-1, 0).

    Two neurons of output weights 1 and -1 start at ``scale``, the first of them right on the first point.
    """

    heights: tuple[float, ...] = (0.4, 0.126, 0.04, 0.0126, 0.004)
    slope: float = 0.1
    scale: float = 1e-3


def run_waiting(config: ThreePoints, seed: int, device: str = "cpu") -> dict:
    """Follow the flow until the first neuron comes to the kink of the second point.

    Returns the ``times``, and the ``neurons`` (2, 2) just before; a seed draws the start.
    """
    draws = np.random.default_rng(seed)
    w = config.scale * (np.array([[1.0, 0.0], [-1.0, 0.0]]) + 0.2 * draws.standard_normal((2, 2)))
    times, neurons = [], []
    for height in config.heights:
        x = np.array([[1.0, 0.0], [-np.sqrt(1 - height**2), height], [-1.0, 0.0]])
        network, log_until = TwoLayer(w, np.array([1.0, -1.0]), config.slope), np.log(1e3 / height**2)
        options = {"train": "first", "rtol": 1e-9, "log_until": log_until}
        run = gradient_flow(network, x, np.array([1.0, 1.0, -1.0]), LOGISTIC, **options)
        time = next(one.time for one in run.events if one[1:] == (0, 1, True))
        times.append(time)
        neurons.append(run.network_at(time * (1 - 1e-9)).w.tolist())
    return {"times": times, "neurons": neurons}


WAITING = Experiment(
    "sarussi2021-waiting",
    "How long two neurons wait for the second of three points",
    full=ThreePoints(),
    quick=ThreePoints(heights=(0.2, 0.1)),
    metrics_of=run_waiting,
    fingerprint_of=lambda config: replace(config, heights=(0.2,)),
    devices=("cpu",),
)
CENSUS = Experiment(
    "sarussi2021-census",
    "Where the flow ends on plain Gaussian samples, by scale and width of the start",
    full=PlainSamples(),
    quick=PlainSamples(samples=4, examples=12, widths=(2,), scales=(1e-2,), horizon=1e3),
    metrics_of=run_census,
    fingerprint_of=_fingerprint_of,
    devices=("cpu",),
)
