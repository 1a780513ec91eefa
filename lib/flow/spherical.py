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

from lib.flow.trajectory import checked_start
from lib.losses import Loss


@dataclass(frozen=True)
class SphericalDescent:
    """A finished run: ``recorded[k]`` is what ``record`` returned after ``steps[k]`` steps."""

    directions: np.ndarray
    log_norms: np.ndarray
    steps: np.ndarray
    recorded: tuple


def spherical_descent(
    directions: np.ndarray,
    log_norms: np.ndarray,
    signs: np.ndarray,
    inputs: np.ndarray,
    labels: np.ndarray,
    loss: Loss,
    *,
    step: float,
    steps: int,
    reduction: str = "mean",
    slope: float = 0.0,
    record: Callable[[np.ndarray, np.ndarray], object] = lambda directions, log_norms: None,
    record_at: np.ndarray | None = None,
) -> SphericalDescent:
    """Run ``steps`` steps of size ``step`` for networks of directions (..., m, d) and log-norms (..., m).

    ``signs`` is (m,) or (..., m), ``inputs`` (n, d), ``labels`` (n,); leading axes (seeds, say) are
    independent networks.  ``record(directions, log_norms)`` is called at the step counts ``record_at``
    (default: start and end).  At a boundary the derivative of the activation is ``slope``.  Raises
    ``ValueError`` naming a bad argument.
    """
    v, rho, s, x, y = checked_start(directions, log_norms, signs, inputs, labels, reduction)
    if not step > 0:
        raise ValueError(f"step is {step}, allowed: positive numbers")
    share = 1 / len(y) if reduction == "mean" else 1.0
    wanted = {0, steps} if record_at is None else {int(k) for k in record_at}
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
    return SphericalDescent(v, rho, np.array([k for k, _ in kept]), tuple(value for _, value in kept))
