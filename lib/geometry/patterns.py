"""Activation patterns and cones: how data lie to each other, which neurons see which, how neurons cluster.

``inputs`` are (n, d) without zero rows, ``labels`` (n,) are +1 and -1, neurons are (m, d).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike


def lengths(vectors: ArrayLike) -> np.ndarray:
    """Return the norms of vectors (..., d) along the last axis, also where their squares are no floats."""
    vectors = np.asarray(vectors, dtype=float)
    _, exponents = np.frexp(np.abs(vectors).max(axis=-1))
    return np.ldexp(np.linalg.norm(np.ldexp(vectors, -exponents[..., None]), axis=-1), exponents)


def unit_vectors(vectors: ArrayLike) -> np.ndarray:
    """Return vectors (..., d) divided by their norms, whatever these are; zero vectors stay zero."""
    sizes = lengths(vectors)[..., None]
    return np.asarray(vectors, dtype=float) / np.where(sizes > 0, sizes, 1.0)


def least_signed_cosine(inputs: ArrayLike, labels: ArrayLike) -> float:
    """Return mu, the least ``cos(y_i x_i, y_k x_k)`` over pairs of different data; 1 for a single datum.

    Positive mu is orthogonal separability [min2024, Assumption 1].
    """
    signed = np.sign(labels)[:, None] * unit_vectors(inputs)
    cosines = signed @ signed.T
    return float(cosines[~np.eye(len(cosines), dtype=bool)].min(initial=1.0))


def cosine(u: ArrayLike, v: ArrayLike) -> np.ndarray:
    """Return the cosine of the angle between vectors (..., d) along the last axis, shape (...)."""
    return (unit_vectors(u) * unit_vectors(v)).sum(axis=-1)


def regions(patterns: ArrayLike, labels: ArrayLike) -> np.ndarray:
    """Return where neurons lie, given patterns (..., m, n), as strings (..., m).

    "dead": no datum is active, also where the data are of one sign; "S+": exactly the positive data are
    active; "S-": exactly the negative data are; "other": none of these.  [min2024, Sec. 3]
    """
    active, positive = np.asarray(patterns, dtype=bool), np.asarray(labels) > 0
    names = np.full(active.shape[:-1], "other", dtype="<U5")
    names[(active == positive).all(axis=-1)] = "S+"
    names[(active == ~positive).all(axis=-1)] = "S-"
    names[~active.any(axis=-1)] = "dead"
    return names


def cluster_radius(*groups: ArrayLike) -> float:
    """Return the largest distance of a neuron from the mean of its own group; each group is (k, d).

    [sarussi2021, Sec. 5]
    """
    arrays = [np.asarray(group) for group in groups]
    return max(float(np.linalg.norm(group - group.mean(axis=0), axis=1).max()) for group in arrays)


def largest_angle(neurons: ArrayLike) -> float:
    """Return the largest angle between two of the neurons (k, d), in degrees; exact next to 0 and 180 too."""
    unit = unit_vectors(neurons)
    apart = np.linalg.norm(unit[:, None] - unit, axis=-1).max()
    together = np.linalg.norm(unit[:, None] + unit, axis=-1).min()
    return float(np.degrees(2 * np.arctan2(apart, together)))
