"""What becomes of plain samples: a census of the ends of the flow; and how long neurons wait for a datum.

[sarussi2021, Secs. 1, 5 and 7: straight boundaries from small starts]
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy.stats import norm

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


def chance_of_error(network: TwoLayer, mean: tuple[float, float], spread: float) -> float:
    """Return how often the sign is wrong at fresh points, of both classes as often.

    The sign is the same along a ray from the origin.  The direction of a Gaussian point of ``mean`` mu and
    standard deviation ``spread`` s has the density ``e^(-|mu|^2/2s^2) (1 + c Phi(c)/phi(c)) / 2 pi`` with
    ``c = <direction, mu>/s``; it is added up over 20,000 directions, good to 1e-4.
    """
    angles = np.linspace(0, 2 * np.pi, 20_000, endpoint=False)
    rays = np.column_stack([np.cos(angles), np.sin(angles)])
    c = rays @ mean / spread
    density = np.exp(-(np.hypot(*mean) ** 2) / (2 * spread**2)) * (1 + c * norm.cdf(c) / norm.pdf(c))
    signs = np.sign(network(rays))
    opposite = np.roll(signs, 10_000)  # negative points are opposite to positive ones
    return float((density * (2 - signs + opposite)).mean() / 4)


def _sample(config: PlainSamples, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, float]:
    """Draw until a line separates the classes, by the margin that is returned too."""
    while True:
        x, y = antipodal_gaussians(config.examples, config.mean, config.spread, rng=rng)
        if (line := separation(x, y)).separable:
            return x, y, line.margin


def run_census(config: PlainSamples, seed: int, device: str = "cpu") -> dict:
    """Follow flows on the samples of a seed; return lists over the samples.

    ``margins`` are those of the separating lines, ``foretold`` is the `side` of the solution of the extended
    program.  ``fates`` has, by width and scale, the `side` of the network at the end, where "outside" is told
    apart: "straight" or "bent", by the boundary; ``bends`` has its bend in degrees.  ``errors`` are the
    chances of error at fresh points, ``foretold_errors`` those of the solution of the program.
    """
    rng, fresh = np.random.default_rng(seed), (config.mean, config.spread)
    starts = [(f"{k}", f"{scale:g}") for k in config.widths for scale in config.scales]
    lists: dict = {"margins": [], "foretold": [], "foretold_errors": []}
    ends: dict = {
        name: {f"{k}": {f"{scale:g}": [] for scale in config.scales} for k in config.widths}
        for name in ("fates", "bends", "errors")
    }
    for number in range(config.samples):
        x, y, margin = _sample(config, rng)
        pair = extended_agreement_program(x, y, config.slope).x.reshape(2, 2)
        solution = TwoLayer(pair, np.array([1.0, -1.0]), config.slope)
        lists["margins"].append(rounded(margin))
        lists["foretold"].append(side(solution, x, y))
        lists["foretold_errors"].append(rounded(chance_of_error(solution, *fresh)))
        for k, scale in starts:
            draws, width = np.random.default_rng([seed, number, int(k)]), int(k)
            start = Start.two_sided(width, 2, np.log(float(scale)), rng=draws, v=width**-0.5)
            last = end_of_flow(start.network(config.slope), x, y, config.horizon)
            bend, fate = boundary_bend(last), side(last, x, y)
            if fate == "outside":
                fate = "bent" if bend > BENT else "straight"
            ends["fates"][k][scale].append(fate)
            ends["bends"][k][scale].append(round(bend, 3))
            ends["errors"][k][scale].append(rounded(chance_of_error(last, *fresh)))
    return lists | ends


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
        time = next(event.time for event in run.events if event[1:] == (0, 1, True))
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
