"""One stage of the alignment flow: the closed form of a unit whose activation pattern stays as it is.

With a constant drift ``g``, ``e = g/|g|`` and ``c`` the cosine between ``w(0)`` and ``e``, the solution of
``dw/dt = |w| g`` has ``|w(t)|/|w(0)| = E (1 + c)/2 + (1 - c)/(2 E)`` with ``E = exp(|g| t)``; its part
orthogonal to ``e`` is constant.  Everything is written in logarithms, so that nothing overflows.
"""

from __future__ import annotations

import numpy as np

EXACTLY_OPPOSITE = 1e-14  # distance to the unstable direction -e below which a unit is on it


def split(
    directions: np.ndarray, drifts: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return ``|g|``, the unit vector ``e``, and the cosine and sine of the angle between direction and e.

    ``directions`` and ``drifts`` are (..., d), the directions of length 1.
    """
    speed = np.linalg.norm(drifts, axis=-1)
    e = drifts / np.where(speed > 0, speed, 1.0)[..., None]
    cosine = np.einsum("...d,...d->...", directions, e)
    sine = np.linalg.norm(directions - cosine[..., None] * e, axis=-1)
    return speed, e, cosine, np.where((cosine < 0) & (sine < EXACTLY_OPPOSITE), 0.0, sine)


def halves(cosine: np.ndarray, sine: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return log((1+c)/2) and log((1-c)/2) without the cancellation near c = -1 and c = 1."""
    large = (1 + np.abs(cosine)) / 2
    with np.errstate(divide="ignore"):
        log_large, log_small = np.log(large), np.log(sine**2 / (4 * large))
    return np.where(cosine >= 0, log_large, log_small), np.where(cosine >= 0, log_small, log_large)


def advance(
    directions: np.ndarray, log_norms: np.ndarray, drifts: np.ndarray, durations: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return directions (..., d) and log-norms (...) after ``durations`` of one stage with given drifts."""
    speed, e, cosine, sine = split(directions, drifts)
    log_plus, log_minus = halves(cosine, sine)
    growing, shrinking = log_plus + speed * durations, log_minus - speed * durations
    log_growth = np.logaddexp(growing, shrinking)
    across = (directions - cosine[..., None] * e) * np.exp(-np.where(sine > 0, log_growth, np.inf))[..., None]
    along = np.exp(growing - log_growth) - np.exp(shrinking - log_growth)
    moved = across + along[..., None] * e
    still = speed == 0
    moved /= np.where(still, 1.0, np.linalg.norm(moved, axis=-1))[..., None]
    return np.where(still[..., None], directions, moved), log_norms + np.where(still, 0.0, log_growth)


def crossing_times(directions: np.ndarray, drifts: np.ndarray, inputs: np.ndarray) -> np.ndarray:
    """Return the time to ``<w, x_i> = 0`` on the current closed form, (m, n).

    It is for pairs that move: infinite when there is no zero, and 0 when it has passed.  ``directions`` and
    ``drifts`` are (m, d), ``inputs`` (n, d).
    """
    speed, e, cosine, sine = split(directions, drifts)
    log_plus, log_minus = halves(cosine, sine)
    with np.errstate(divide="ignore", invalid="ignore"):
        across = (directions - cosine[:, None] * e) @ inputs.T
        ratio = -across / (e @ inputs.T)
        root = np.hypot(ratio, sine[:, None])
        # E = exp(|g| t) solves ratio = (1+c)/2 E - (1-c)/2 / E; the form without cancellation is taken.
        log_time = np.where(
            ratio >= 0,
            np.log(ratio + root) - np.log(2) - log_plus[:, None],
            np.log(2) + log_minus[:, None] - np.log(root - ratio),
        )
        times = log_time / speed[:, None]
    times[np.isnan(times) | (sine == 0)[:, None]] = np.inf
    return np.maximum(times, 0.0)
