"""Trajectories of two-layer networks in directions and log-norms, and checks of their starts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from lib import checks
from lib.checks import array, choice, number, numbers, whole
from lib.models.two_layer import TwoLayer


class Event(NamedTuple):
    """A neuron became active on a datum (``entering``), or ceased to be; a unit held at zero is inactive.

    Example:

    >>> Event(time=2.5, neuron=3, datum=0, entering=True).datum
    0
    """

    time: float
    neuron: int
    datum: int
    entering: bool


class Weights(NamedTuple):
    """The weights of two-layer networks at any scale: ``w = exp(log_norms) * directions``, (..., m, d), and
    ``a = signs * exp(log_outputs)``, (..., m).  A neuron with ``w = 0`` has direction 0 and log-norm -inf.

    Example:

    >>> tiny = Weights(np.eye(2), np.full(2, -2302.6), np.array([1, -1]), np.full(2, -2302.6))
    >>> (tiny.log_norms / np.log(10)).round()
    array([-1000., -1000.])
    """

    directions: np.ndarray
    log_norms: np.ndarray
    signs: np.ndarray
    log_outputs: np.ndarray


Piece = Callable[[np.ndarray, np.ndarray], Weights]
"""Maps times (k,) and their logarithms (k,) within one step to weights."""


@dataclass(frozen=True)
class Trajectory:
    """A solution of the flow at the integrator's steps, and between them.

    ``times`` (T,) and their logarithms ``log_times`` (T,), which stay finite when times overflow;
    ``directions`` (T, m, d), ``log_norms`` (T, m), ``signs`` (T, m) and ``log_outputs`` (T, m) as in
    :class:`lib.flow.trajectory.Weights`; ``events`` in order of time; ``stopped`` says why the run ended;
    ``evaluations`` counts evaluations of the field.

    Example:

    >>> from lib.flow import gradient_flow
    >>> from lib.training.losses import SQUARE
    >>> run = gradient_flow([[1.0, 0.0]], [-20.0], [1], [[1.0, 0.0]], [2.0], SQUARE, until=30.0)
    >>> run.outputs([5.0, 30.0]).round(6)
    array([[0.],
           [2.]])
    >>> run.stopped
    'time reached 30'
    """

    times: np.ndarray
    log_times: np.ndarray
    directions: np.ndarray
    log_norms: np.ndarray
    signs: np.ndarray
    log_outputs: np.ndarray
    inputs: np.ndarray
    slope: float
    events: tuple[Event, ...]
    stopped: str
    evaluations: int
    pieces: tuple[Piece, ...]

    @property
    def weights(self) -> Weights:
        """The weights at all of ``times``."""
        return Weights(self.directions, self.log_norms, self.signs, self.log_outputs)

    def at(self, times: ArrayLike | None = None, *, log_times: ArrayLike | None = None) -> Weights:
        """Return the weights at any times of the run (k,), or at their natural logarithms ``log_times``.

        Raises ``ValueError`` for times outside the run, or for both or no times.
        """
        if (times is None) == (log_times is None):
            raise ValueError("times, log_times: give one of the two")
        with np.errstate(divide="ignore", over="ignore"):
            if times is not None:
                plain = np.atleast_1d(numbers("times", times, 0, self.times[-1], "[]"))
                logs = np.log(plain)
            elif log_times is not None:
                logs = np.atleast_1d(numbers("log_times", log_times, high=self.log_times[-1], ends="[]"))
                plain = np.exp(logs)
        piece = np.clip(np.searchsorted(self.log_times, logs, side="left") - 1, 0, len(self.pieces) - 1)
        parts = [np.empty((len(logs), *whole.shape[1:])) for whole in self.weights]
        for k in np.unique(piece):
            here = piece == k
            for part, values in zip(parts, self.pieces[k](plain[here], logs[here]), strict=True):
                part[here] = values
        return Weights(*parts)

    def outputs(self, times: ArrayLike | None = None) -> np.ndarray:
        """Return the network outputs on the training inputs, shape (k, n), by default at ``self.times``."""
        v, log_norms, signs, log_outputs = self.weights if times is None else self.at(times)
        z = v @ self.inputs.T
        return np.einsum("km,kmn->kn", signs * np.exp(log_norms + log_outputs), np.maximum(z, self.slope * z))

    def network(self, k: int = -1) -> TwoLayer:
        """Return the network at ``times[k]``; norms below the smallest float are zero."""
        v, log_norms, signs, log_outputs = (part[k] for part in self.weights)
        return TwoLayer(np.exp(log_norms)[:, None] * v, signs * np.exp(log_outputs), self.slope)


def network(directions: ArrayLike, log_norms: ArrayLike, signs: ArrayLike, slope: float = 0.0) -> TwoLayer:
    """Return the balanced network of directions (..., m, d), log-norms (..., m) and output signs (m,).

    A neuron of log-norm -inf is zero.  Raises ``ValueError`` naming the bad argument, among them norms that
    overflow.

    Example:

    >>> network([[0.6, 0.8]], [np.log(2)], [-1]).a
    array([-2.])
    """
    v, rho = numbers("directions", directions), numbers("log_norms", log_norms, high=709.0, ends="[]")
    if v.ndim < 2 or v.shape[:-1] != rho.shape:
        raise ValueError(
            f"directions has shape {v.shape}, log_norms {rho.shape}; allowed: (..., m, d) and (..., m)"
        )
    norms = np.exp(rho)
    return TwoLayer(norms[..., None] * v, checks.signs("signs", signs, rho.shape[-1:]) * norms, slope)


def checked_start(
    directions: ArrayLike,
    log_norms: ArrayLike,
    signs: ArrayLike,
    inputs: ArrayLike,
    labels: ArrayLike,
    reduction: str,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return the arrays of a start as floats: directions (..., m, d) of length 1, log-norms (..., m), signs
    (m,) or (..., m), inputs (n, d), labels (n,).

    Raises ``ValueError`` naming the bad one.

    Example:

    >>> checked_start([[2.0, 0.0]], [0.0], [1], [[1.0, 1.0]], [1.0], "mean")
    Traceback (most recent call last):
    ...
    ValueError: directions holds a vector of length 2, allowed: 1; add its logarithm to log_norms
    """
    v, x = numbers("directions", directions), array("inputs", inputs, ("n", "d"))
    if v.ndim < 2 or v.shape[-1] != x.shape[1] or not v.size:
        raise ValueError(f"directions has shape {v.shape}, inputs {x.shape}; allowed: (..., m, d) and (n, d)")
    lengths = np.linalg.norm(v, axis=-1)
    if (wrong := np.abs(lengths - 1) > 1e-9).any():
        raise ValueError(
            f"directions holds a vector of length {lengths[wrong].flat[0]:.6g}, allowed: 1; "
            "add its logarithm to log_norms"
        )
    rho, y = array("log_norms", log_norms, v.shape[:-1]), array("labels", labels, x.shape[:1])
    s = numbers("signs", signs)
    s = checks.signs("signs", s, v.shape[:-1] if s.ndim > 1 else v.shape[-2:-1])
    choice("reduction", reduction, ("mean", "sum"))
    if (zero := np.flatnonzero(~x.any(axis=1))).size:
        raise ValueError(f"inputs holds a zero vector at row {zero[0]}; no neuron sees it, leave it out")
    return v, rho, s, x, y


def gaussian_start(
    m: int, d: int, log_scale: float, *, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draw ``w_j = lambda g_j`` with standard Gaussian ``g_j`` and signs with equal odds.

    ``log_scale`` is the natural logarithm of lambda, of any size.  Returns directions (m, d), log-norms
    (m,) and signs (m,); the draw does not depend on the scale.  Raises ``ValueError`` naming a bad argument.

    Example: weights of size 1e-1000.

    >>> directions, log_norms, signs = gaussian_start(3, 2, -2302.585, rng=np.random.default_rng(0))
    >>> log_norms.round(), signs
    (array([-2304., -2303., -2303.]), array([1., 1., 1.]))
    """
    m, d, log_scale = whole("m", m, 1), whole("d", d, 1), number("log_scale", log_scale)
    g = checks.generator("rng", rng).standard_normal((m, d))
    signs = rng.choice([-1.0, 1.0], size=m)
    norms = np.linalg.norm(g, axis=1)
    return g / norms[:, None], np.log(norms) + log_scale, signs
