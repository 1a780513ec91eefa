"""The planar examples of an unbalanced small start [min2024, App. A.4, Figs. 6 to 9]."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.signal import find_peaks

from lib.checks import array, generator, number, whole
from lib.flow.gradient import gradient_flow
from lib.flow.trajectory import Trajectory
from lib.training.losses import EXPONENTIAL

_NEURONS, _DEVIATION, _STEP = 50, 1e-6, 2e-3
_PROMINENCE = 0.1  # part of the largest speed by which a drop stands out


def planar_flow(
    inputs: ArrayLike, labels: ArrayLike, iterations: int, *, rng: np.random.Generator, rtol: float = 1e-6
) -> Trajectory:
    """Return the flow of the paper's 50 neurons for so many ``iterations`` of its step 2e-3.

    ``inputs`` are (n, 2), ``labels`` (n,); weights of both layers start as Gaussians of size 1e-6, and the
    loss is the mean exponential one.  ``rtol`` as in :func:`lib.flow.gradient.gradient_flow`.  Raises
    ``ValueError`` naming a bad argument.

    Example:

    >>> run = planar_flow(np.eye(2), [1, 1], 9000, rng=np.random.default_rng(0))
    >>> float(run.times[-1]), bool((run.outputs()[-1] > 0).all())
    (18.0, True)
    """
    x, draw = array("inputs", inputs, ("n", 2)), generator("rng", rng)
    w, a = _DEVIATION * draw.standard_normal((_NEURONS, 2)), _DEVIATION * draw.standard_normal(_NEURONS)
    norms = np.linalg.norm(w, axis=1)
    return gradient_flow(
        w / norms[:, None],
        np.log(norms),
        np.sign(a),
        x,
        labels,
        EXPONENTIAL,
        until=_STEP * whole("iterations", iterations, 1),
        log_outputs=np.log(np.abs(a)),
        rtol=number("rtol", rtol, 1e-13, 1, "[)"),
    )


def drop_count(times: ArrayLike, losses: ArrayLike) -> int:
    """Return how many drops a loss has: peaks of its speed of fall that stand out by a tenth of the highest.

    ``times`` (T,) increase, ``losses`` (T,) are those at them; T is 3 or more.  Raises ``ValueError`` naming
    a bad argument.

    Example:

    >>> times = np.linspace(0, 20, 401)
    >>> drop_count(times, 2 - np.tanh(times - 5) - np.tanh(times - 12))
    2
    """
    t = array("times", times, ("T",))
    if len(t) < 3 or (np.diff(t) <= 0).any():
        raise ValueError(f"times is {t}, allowed: 3 or more increasing times")
    speed = -np.gradient(array("losses", losses, t.shape), t)
    return len(find_peaks(speed, prominence=_PROMINENCE * speed.max())[0])
