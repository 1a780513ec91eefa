"""Activation patterns and cones: how data lie to each other, which neurons see which, how neurons cluster.

``inputs`` are (n, d) without zero rows, ``labels`` (n,) are +1 and -1, neurons are (m, d).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize, nnls


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


def distance_to_cone(point: ArrayLike, generators: ArrayLike) -> float:
    """Return the distance of a point (d,) from the cone of non-negative combinations of generators (n, d)."""
    return float(nnls(unit_vectors(generators).T, np.asarray(point, dtype=float))[1])


def largest_cosine_outside(
    inputs: ArrayLike, labels: ArrayLike, *, rng: np.random.Generator, attempts: int = 3
) -> float:
    """Return the largest ``cos(z, w)``, z in the cone of ``z_i = y_i x_i`` and w with some ``<w, z_i> <= 0``.

    A numerical search (SLSQP from ``attempts`` random starts for each i) that uses no theory; its value is
    the ``sqrt(1 - xi)`` of the lemma, and 0 if no cosine is positive.  [min2024, Lemma 9]
    """
    signed = np.asarray(labels)[:, None] * unit_vectors(inputs)
    (n, d), best = signed.shape, 0.0

    def opposite(u: np.ndarray) -> float:
        z, w = u[:n] @ signed, u[n:]
        lengths = np.linalg.norm(z) * np.linalg.norm(w)
        return -float(z @ w / lengths) if lengths else 0.0

    for i in np.repeat(np.arange(n), attempts):
        found = minimize(
            opposite,
            np.append(rng.uniform(size=n), rng.standard_normal(d)),
            method="SLSQP",
            tol=1e-14,
            bounds=[(0, 1)] * n + [(-2, 2)] * d,
            constraints=[
                {"type": "ineq", "fun": lambda u, i=i: -u[n:] @ signed[i]},
                {"type": "ineq", "fun": lambda u: u[:n].sum() - 0.5},
            ],
        )
        # A short w meets its constraint within the solver's slack, whatever its direction.
        if found.success and found.x[n:] @ signed[i] <= 1e-9 * np.linalg.norm(found.x[n:]):
            best = max(best, -float(found.fun))
    return best


def regions(patterns: ArrayLike, labels: ArrayLike) -> np.ndarray:
    """Return where neurons lie, given patterns (..., m, n), as strings (..., m).

    "dead": no datum is active, also where the data are of one sign; "S+": exactly the positive data are
    active; "S-": exactly the negative data are; "other": none of these.  [min2024, Sec. 3]

    >>> regions([[True, False], [False, False], [True, True]], [1, -1])
    array(['S+', 'dead', 'other'], dtype='<U5')
    """
    active, positive = np.asarray(patterns, dtype=bool), np.asarray(labels) > 0
    found = np.full(active.shape[:-1], "other", dtype="<U5")
    found[(active == positive).all(axis=-1)] = "S+"
    found[(active == ~positive).all(axis=-1)] = "S-"
    found[~active.any(axis=-1)] = "dead"
    return found


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


def agreement(neurons: ArrayLike, inputs: ArrayLike) -> tuple[np.ndarray, float]:
    """Return how neurons (k, d) classify the inputs (n, d), and with which margin they agree.

    The margin is the least, over inputs, of ``max(min_j <w_j, x_i>, min_j -<w_j, x_i>)``, positive exactly
    when the neurons classify every input alike.  The signs (n,) are those of the classes, by the larger of
    the two where neurons disagree.  Two groups that both agree form a neural agreement regime.
    [sarussi2021, Definition 6.2]
    """
    responses = np.asarray(neurons) @ np.transpose(inputs)
    above, below = responses.min(axis=0), -responses.max(axis=0)
    return np.where(above >= below, 1.0, -1.0), float(np.maximum(above, below).min())


def perfect_agreement_margin(w: ArrayLike, u: ArrayLike, inputs: ArrayLike, labels: ArrayLike) -> float:
    """Return the least of ``y_i <w_j, x_i>`` and ``-y_i <u_j, x_i>``, divided by the norm of all neurons.

    ``w`` and ``u`` are (k, d), or (d,) for one neuron of each type.  Positive exactly in the perfect
    agreement regime.  [sarussi2021, Definition 6.3]
    """
    signed = np.asarray(labels)[:, None] * np.asarray(inputs)
    first, second = np.asarray(w), np.asarray(u)
    least = min((first @ signed.T).min(), -(second @ signed.T).max())
    return float(least / np.hypot(np.linalg.norm(first), np.linalg.norm(second)))
