"""How the cost of the event-driven flow grows: with examples, neurons, dimension and activation changes."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from lib.data.synthetic import orthonormal_inputs
from lib.flow import gradient_flow
from lib.flow.trajectory import Trajectory
from lib.models.two_layer import Start
from lib.training.losses import SQUARE

SIZES = {
    "n": (4, 8, 16, 32),
    "m": (16, 32, 64, 128),
    "d": (32, 64, 128, 256),
    "alive": (4, 8, 16, 32, 64),
}


def grown(*, n: int = 8, m: int = 64, d: int = 32, alive: int | None = None) -> Trajectory:
    """The flow of n orthonormal inputs in d dimensions with m neurons, over 30 times of growth.

    Only the first ``alive`` neurons (default: all) are Gaussian; the others point away from all data, so that
    they never move or change, though they cost as much as any.
    """
    rng = np.random.default_rng(0)
    inputs, labels = orthonormal_inputs(n, d, rng=rng), np.resize([1.0, -1.0], n)
    start = Start.gaussian(m, d, np.log(0.01), rng=rng)
    if alive is not None:
        start.directions[alive:] = -inputs.sum(axis=0) / np.sqrt(n)
    until = 30 / np.sqrt(n / 2)  # the classes' sums, which drive the growth, have norm sqrt(n / 2)
    return gradient_flow(start, inputs, labels, SQUARE, until=until, reduction="sum")


@dataclass(frozen=True)
class Largest:
    """The run with the largest size of each axis, for the measurement of memory."""

    n: Callable[[], Trajectory]
    m: Callable[[], Trajectory]
    d: Callable[[], Trajectory]


largest = Largest(*(partial(grown, **{axis: SIZES[axis][-1]}) for axis in ("n", "m", "d")))


def measure(rounds: int) -> dict[str, list[dict[str, float]]]:
    """Return seconds (least of some rounds), evaluations, steps and events for every size of an axis."""
    points: dict[tuple[str, int], list[float]] = {
        (axis, size): [] for axis, sizes in SIZES.items() for size in sizes
    }
    runs = {}
    for _ in range(rounds):
        for (axis, size), seconds in points.items():
            start = time.perf_counter()
            runs[axis, size] = grown(**{axis: size})
            seconds.append(time.perf_counter() - start)
    table: dict[str, list[dict[str, float]]] = {axis: [] for axis in SIZES}
    for (axis, size), seconds in points.items():
        run = runs[axis, size]
        table[axis].append(
            {
                "size": size,
                "seconds": min(seconds),
                "evaluations": run.evaluations,
                "steps": len(run.times) - 1,
                "events": len(run.events),
            }
        )
    return table
