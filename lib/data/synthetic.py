"""Families of synthetic data with exact geometry."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from lib.checks import choice, number


def circle(degrees: ArrayLike) -> np.ndarray:
    """Return the unit vectors of the plane at these angles (k,) in degrees, (k, 2)."""
    radians = np.deg2rad(np.atleast_1d(np.asarray(degrees, dtype=float)))
    return np.column_stack([np.cos(radians), np.sin(radians)])


def simplex(n: int, mu: float) -> np.ndarray:
    """Return n unit vectors of which any two have the cosine ``mu``, in [0, 1); shape (n, n)."""
    mu = number("mu", mu, 0.0, 1.0, "[)")
    return np.linalg.cholesky(mu + (1 - mu) * np.eye(n))


def cone_data(
    positive: int,
    negative: int,
    d: int,
    mu: float,
    *,
    rng: np.random.Generator,
    norms: tuple[float, float] = (1.0, 1.0),
) -> tuple[np.ndarray, np.ndarray]:
    """Draw data whose least signed cosine is exactly ``mu``: inputs (n, d), labels +1 then -1 (n,).

    The signed directions ``y_i x_i/|x_i|`` lie in the cone of half-angle ``arccos(mu)/2`` about the first
    axis, the first and the last at its opposite ends; norms are uniform between the two ``norms``.
    ``positive`` and ``negative`` count the data, two or more together; ``d`` is 2 or more.  Raises
    ``ValueError`` for ``mu`` outside (-1, 1).
    """
    n, half = positive + negative, np.arccos(number("mu", mu, -1.0, 1.0)) / 2
    angles = half * rng.uniform(size=n)
    across = rng.standard_normal((n, d - 1))
    across /= np.linalg.norm(across, axis=1)[:, None]
    angles[0] = angles[-1] = half
    across[-1] = -across[0]
    signed = np.column_stack([np.cos(angles), np.sin(angles)[:, None] * across])
    labels = np.repeat([1.0, -1.0], [positive, negative])
    return labels[:, None] * rng.uniform(*norms, size=n)[:, None] * signed, labels


SEPARABLE = ("circular", "wide", "orthant")


def separable_data(
    family: str, n: int, *, rng: np.random.Generator, decades: float = 0.0
) -> tuple[np.ndarray, np.ndarray]:
    """Draw ``n`` orthogonally separable data, positive ones first: inputs (n, d), labels (n,).

    Three families of signed directions.  "circular": `cone_data` in four dimensions.  "wide": a simplex with
    noise, whose margin is next to the least that its separation allows.  "orthant": cubes of the absolute
    values of five normal numbers.  Norms are spread over ``decades`` powers of ten.  Raises ``ValueError``
    for another family.
    """
    mu = 10 ** rng.uniform(-1.7, -0.3)
    if choice("family", family, SEPARABLE) == "circular":
        inputs, labels = cone_data(n - 1, 1, 4, mu, rng=rng)
        signed = labels[:, None] * inputs
    elif family == "wide":
        signed = np.sqrt(1 - mu) * np.eye(n, n + 1) + mu / 10 * rng.standard_normal((n, n + 1))
        signed[:, n] += np.sqrt(mu)
    else:
        signed = np.abs(rng.standard_normal((n, 5))) ** 3
    labels = np.where(np.arange(n) < rng.integers(1, n), 1.0, -1.0)
    sizes = labels * 10 ** rng.uniform(-decades / 2, decades / 2, n)
    return sizes[:, None] * signed / np.linalg.norm(signed, axis=1)[:, None], labels


def antipodal_gaussians(
    n: int, mean: ArrayLike, spread: float, *, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Draw n/2 positive points around ``mean`` (d,), then n/2 negative ones around ``-mean``.

    ``spread`` is the standard deviation in every direction, n is even.  Returns inputs (n, d), labels (n,).
    """
    labels = np.repeat([1.0, -1.0], n // 2)
    return labels[:, None] * np.asarray(mean) + spread * rng.standard_normal((n, np.size(mean))), labels


def two_moons_with_gap(n: int, gap: float, *, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Draw two half circles with a gap along the first axis: inputs (n, 2), labels +1 and -1 (n,).

    Scikit-learn's two moons, turned and moved until the tips of both lie at zero; their first coordinate c
    then becomes ``y (|c| + gap)``.  With ``gap > 0`` the classes lie ``2 gap`` apart, with ``gap < 0`` they
    overlap [pezeshki2021, Fig. 1].  Their noise has the standard deviation 0.1 before.
    """
    from sklearn.datasets import make_moons  # here, for it takes a second that the other families do not need

    points, classes = make_moons(n, noise=0.1, random_state=int(rng.integers(2**32)))
    labels = 2.0 * classes - 1.0
    height = points[:, 1] - 0.3 * labels
    height -= height.mean()
    return np.column_stack([labels * (np.abs(height) + gap), points[:, 0] - 0.5]), labels


def orthonormal_inputs(n: int, d: int, *, rng: np.random.Generator) -> np.ndarray:
    """Draw n orthonormal vectors in d dimensions, uniformly distributed; shape (n, d).

    Raises ``ValueError`` for more vectors than dimensions.
    """
    if n > d:
        raise ValueError(f"n is {n}, d {d}; allowed: n up to d")
    q, r = np.linalg.qr(rng.standard_normal((d, n)))
    return (q * np.sign(np.diag(r))).T


def orthonormal_classes(
    positive: int, negative: int, spread: float, *, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Draw orthonormal inputs (n, n + 2) with ``positive`` and ``negative`` real labels (n,), positive first.

    Sizes of labels are uniform between 1 - ``spread`` and 1 + ``spread``; those of the negative ones are then
    scaled so that all of them together have 0.4 to 0.8 times the norm of the positive ones.
    """
    n = positive + negative
    labels = rng.uniform(1 - spread, 1 + spread, n) * np.repeat([1, -1], [positive, negative])
    ratio = np.linalg.norm(labels[:positive]) / np.linalg.norm(labels[positive:])
    labels[positive:] *= rng.uniform(0.4, 0.8) * ratio
    return orthonormal_inputs(n, n + 2, rng=rng), labels
