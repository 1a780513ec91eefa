"""Spherical gradient descent: explicit steps for the directions and log-norms of balanced networks.

One step is ``rho <- rho + eta s <D, v>`` and ``v <- (v + eta s D)`` normalised.  Plain gradient descent
preserves ``a_j^2 - |w_j|^2`` only up to ``O(eta^2)`` a step, so a shrinking neuron can lose its balance and
then flip the sign of its output; these steps keep balance and signs exactly, at any scale, and are of first
order as well.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from lib import checks
from lib.checks import number, whole, wholes
from lib.flow.trajectory import checked_start
from lib.training.losses import Loss


@dataclass(frozen=True)
class SphericalDescent:
    """A finished run: ``recorded[k]`` is what ``record`` returned after ``steps[k]`` steps.

    ``directions`` (..., m, d) and ``log_norms`` (..., m) are those after the last step.

    Example: the size of one linear unit on its way to ``a w = 1``.

    >>> from lib.training.losses import SQUARE
    >>> run = spherical_descent([[1.0]], [-5.0], [1], [[1.0]], [1.0], SQUARE, step=0.1, steps=200,
    ...                         record=lambda directions, log_norms: np.exp(2 * log_norms).item(),
    ...                         record_at=[0, 50, 200])
    >>> run.steps, [round(size, 4) for size in run.recorded]
    (array([  0,  50, 200]), [0.0, 0.518, 1.0])
    """

    directions: np.ndarray
    log_norms: np.ndarray
    steps: np.ndarray
    recorded: tuple


def spherical_descent(
    directions: ArrayLike,
    log_norms: ArrayLike,
    signs: ArrayLike,
    inputs: ArrayLike,
    labels: ArrayLike,
    loss: Loss,
    *,
    step: float,
    steps: int,
    reduction: str = "mean",
    slope: float = 0.0,
    record: Callable[[np.ndarray, np.ndarray], object] = lambda directions, log_norms: None,
    record_at: ArrayLike | None = None,
) -> SphericalDescent:
    """Run ``steps`` steps of size ``step`` for networks of directions (..., m, d) and log-norms (..., m).

    ``directions`` have length 1, log-norms are natural logarithms of any size.  ``signs`` is (m,) or
    (..., m), ``inputs`` (n, d), ``labels`` (n,), +1 and -1 unless the loss is that of a regression; leading
    axes (seeds, say) are independent networks.  The loss is the ``reduction`` "mean" or "sum" over data.
    ``record(directions, log_norms)`` is called at the step counts ``record_at``, whole numbers from 0 to
    ``steps`` (default: start and end), in their order in time.  ``slope`` in [0, 1] is the leaky slope, and
    the derivative of the activation at a boundary.  Raises ``ValueError`` naming a bad argument.

    Example: two seeds at scale 1e-100 after 20 steps; only the directions have moved.

    >>> from lib.training.losses import LOGISTIC
    >>> v = [[[0.6, 0.8]], [[0.0, 1.0]]]
    >>> run = spherical_descent(v, [[-230.0], [-230.0]], [1], [[1.0, 0.0]], [1], LOGISTIC, step=0.1, steps=20)
    >>> run.directions[:, 0].round(3), run.log_norms[:, 0].round(2)
    (array([[0.932, 0.362],
           [0.   , 1.   ]]), array([-229.2, -230. ]))
    """
    v, rho, s, x, y = checked_start(directions, log_norms, signs, inputs, labels, reduction)
    if not isinstance(loss, Loss):
        raise ValueError(f"loss is {loss!r}, allowed: a Loss such as lib.training.losses.LOGISTIC")
    if loss.classifies:
        checks.signs("labels", y, y.shape)
    slope, step, steps = number("slope", slope, 0, 1, "[]"), number("step", step, 0), whole("steps", steps)
    wanted = set(wholes("record_at", [0, steps] if record_at is None else record_at, 0, steps).flat)
    share = 1 / len(y) if reduction == "mean" else 1.0
    kept: list[tuple[int, object]] = [(0, record(v, rho))] if 0 in wanted else []
    for k in range(1, steps + 1):
        z = v @ x.T
        gates = np.where(z > 0, 1.0, slope)
        output = np.einsum("...m,...mn->...n", s * np.exp(2 * rho), gates * z)
        forces = -share * loss.slope(output, y)
        drive = s[..., None] * ((gates * forces[..., None, :]) @ x)
        rho = rho + step * (drive * v).sum(axis=-1)
        v = v + step * drive
        v /= np.linalg.norm(v, axis=-1, keepdims=True)
        if k in wanted:
            kept.append((k, record(v, rho)))
    return SphericalDescent(
        v, rho, np.array([k for k, _ in kept], dtype=int), tuple(value for _, value in kept)
    )
