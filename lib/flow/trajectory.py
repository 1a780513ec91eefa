"""Trajectories of balanced two-layer networks in directions and log-norms, and checks of their starts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from lib.networks import TwoLayer


class Event(NamedTuple):
    """A neuron became active on a datum (``entering``), or ceased to be; a unit held at zero is inactive."""

    time: float
    neuron: int
    datum: int
    entering: bool


@dataclass(frozen=True)
class Trajectory:
    """A solution of the flow at the integrator's steps, and between them.

    ``times`` (T,), ``directions`` (T, m, d), ``log_norms`` (T, m); ``events`` in order of time; ``stopped``
    says why the run ended; ``evaluations`` counts evaluations of the field.
    """

    times: np.ndarray
    directions: np.ndarray
    log_norms: np.ndarray
    signs: np.ndarray
    inputs: np.ndarray
    slope: float
    events: tuple[Event, ...]
    stopped: str
    evaluations: int
    pieces: tuple[Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]], ...]

    def at(self, times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return directions (k, m, d) and log-norms (k, m) at any times of the run (k,).

        Raises ``ValueError`` for times outside the run.
        """
        times = np.atleast_1d(np.asarray(times, dtype=float))
        if not ((times >= self.times[0]) & (times <= self.times[-1])).all():
            raise ValueError(
                f"times reach from {times.min()} to {times.max()}, allowed: 0 to {self.times[-1]}"
            )
        piece = np.clip(np.searchsorted(self.times, times, side="left") - 1, 0, len(self.pieces) - 1)
        directions = np.empty((len(times), *self.directions.shape[1:]))
        log_norms = np.empty((len(times), self.log_norms.shape[1]))
        for k in np.unique(piece):
            here = piece == k
            directions[here], log_norms[here] = self.pieces[k](times[here])
        return directions, log_norms

    def outputs(self, times: np.ndarray | None = None) -> np.ndarray:
        """Return the network outputs on the training inputs, shape (k, n), by default at ``self.times``."""
        v, rho = (self.directions, self.log_norms) if times is None else self.at(times)
        z = v @ self.inputs.T
        return np.einsum("km,kmn->kn", self.signs * np.exp(2 * rho), np.maximum(z, self.slope * z))

    def network(self, k: int) -> TwoLayer:
        """Return the network at ``times[k]``; norms below the smallest float are zero."""
        return network(self.directions[k], self.log_norms[k], self.signs, self.slope)


def network(directions: np.ndarray, log_norms: np.ndarray, signs: np.ndarray, slope: float = 0.0) -> TwoLayer:
    """Return the balanced network of directions (..., m, d), log-norms (..., m) and output signs (m,)."""
    norms = np.exp(log_norms)
    return TwoLayer(norms[..., None] * directions, signs * norms, slope)


def checked_start(
    directions: np.ndarray,
    log_norms: np.ndarray,
    signs: np.ndarray,
    inputs: np.ndarray,
    labels: np.ndarray,
    reduction: str,
) -> tuple[np.ndarray, ...]:
    """Return the arrays of a start as floats; raise ``ValueError`` naming the bad one."""
    arrays = {
        "directions": directions, "log_norms": log_norms, "signs": signs, "inputs": inputs, "labels": labels
    }  # fmt: skip
    v, rho, s, x, y = (np.asarray(value, dtype=float) for value in arrays.values())
    for name, value in zip(arrays, (v, rho, s, x, y), strict=True):
        if not np.isfinite(value).all():
            raise ValueError(f"{name} holds values that are not finite")
    if x.ndim != 2 or v.ndim < 2 or v.shape[-1] != x.shape[1]:
        raise ValueError(f"directions has shape {v.shape}, inputs {x.shape}; allowed: (..., m, d) and (n, d)")
    if np.abs(np.linalg.norm(v, axis=-1) - 1).max() > 1e-9:
        raise ValueError(
            "directions are not unit vectors; divide by the norms and add their logarithms to log_norms"
        )
    for name, value, shape in (("log_norms", rho, v.shape[:-1]), ("labels", y, x.shape[:1])):
        if value.shape != shape:
            raise ValueError(f"{name} has shape {value.shape}, allowed: {shape}")
    if s.shape not in (v.shape[-2:-1], v.shape[:-1]) or not np.isin(s, (-1, 1)).all():
        raise ValueError(f"signs has shape {s.shape}; allowed: {v.shape[-2:-1]}, entries +1 or -1")
    if reduction not in ("mean", "sum"):
        raise ValueError(f"reduction is {reduction!r}, allowed: 'mean' or 'sum'")
    if (np.linalg.norm(x, axis=1) == 0).any():
        raise ValueError(f"inputs holds a zero vector at row {np.linalg.norm(x, axis=1).argmin()}")
    return v, rho, s, x, y


def gaussian_start(
    m: int, d: int, log_scale: float, *, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draw ``w_j = lambda g_j`` with standard Gaussian ``g_j`` and signs with equal odds.

    ``log_scale`` is the natural logarithm of lambda, of any size.  Returns directions (m, d), log-norms
    (m,) and signs (m,); the draw does not depend on the scale.
    """
    g = rng.standard_normal((m, d))
    signs = rng.choice([-1.0, 1.0], size=m)
    norms = np.linalg.norm(g, axis=1)
    return g / norms[:, None], np.log(norms) + log_scale, signs
