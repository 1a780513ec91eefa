"""The event-driven flow from initial weights of size 1e-100, against the same from 1e-6, until it fits."""

from __future__ import annotations

import numpy as np

from benchmarks.measure import Comparison
from benchmarks.two_points import INPUTS, LABELS
from lib.flow import gradient_flow
from lib.flow.trajectory import Reason, Trajectory
from lib.models.two_layer import Start
from lib.theory.orthogonal import two_plateaus
from lib.training.losses import SQUARE


def start(power: int) -> Start:
    return Start.gaussian(60, 2, -power * np.log(10), rng=np.random.default_rng(0))


def until_fitted(power: int) -> tuple[int, Trajectory]:
    run = gradient_flow(start(power), INPUTS, LABELS, SQUARE, until=1e4, loss_below=1e-12)
    if run.reason is not Reason.LOSS:
        raise RuntimeError(f"the flow from 1e-{power} did not fit the data: {run.stopped}")
    return power, run


def error(result: tuple[int, Trajectory]) -> float:
    """The closed form is exact up to the square of the scale; both scales are far below the tolerance."""
    power, run = result
    return float(np.abs(run.loss() - two_plateaus(start(power), INPUTS, LABELS).loss(run.times)).max())


tiny = Comparison(
    title="Flow from weights of size 1e-100",
    plain_title="the same flow from 1e-6",
    ours=lambda: until_fitted(100),
    plain=lambda: until_fitted(6),
    error=error,
    error_of="loss, largest difference from the closed form",
    goal="at most 3 times the cost",
    needed=1 / 3,
    sound=1e-6,
    plain_rounds=10,
)
