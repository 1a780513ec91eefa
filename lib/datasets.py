"""Data of the book: synthetic families with exact geometry, and small images that ship with scikit-learn."""

from __future__ import annotations

import numpy as np
from sklearn.datasets import load_digits, make_moons


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
    Raises ``ValueError`` for fewer than two data, ``d`` below 2, ``mu`` outside (-1, 1) or bad norms.
    """
    n = positive + negative
    if positive < 0 or negative < 0 or n < 2:
        raise ValueError(
            f"positive is {positive}, negative {negative}; allowed: counts with a sum of 2 or more"
        )
    if d < 2:
        raise ValueError(f"d is {d}, allowed: 2 or more")
    if not -1 < mu < 1:
        raise ValueError(f"mu is {mu}, allowed: between -1 and 1")
    if not 0 < norms[0] <= norms[1] < np.inf:
        raise ValueError(f"norms is {norms}, allowed: a positive lower and an upper end")
    half = np.arccos(mu) / 2
    angles = half * rng.uniform(size=n)
    across = rng.standard_normal((n, d - 1))
    across /= np.linalg.norm(across, axis=1)[:, None]
    angles[0] = angles[-1] = half
    across[-1] = -across[0]
    signed = np.column_stack([np.cos(angles), np.sin(angles)[:, None] * across])
    labels = np.repeat([1.0, -1.0], [positive, negative])
    return labels[:, None] * rng.uniform(*norms, size=n)[:, None] * signed, labels


def simplex_data(n: int, mu: float) -> np.ndarray:
    """Return n unit vectors in n dimensions, any two of which have cosine ``mu``; shape (n, n).

    Raises ``ValueError`` unless ``-1/(n-1) <= mu <= 1``.
    """
    if n < 1 or not (n == 1 or -1 / (n - 1) <= mu <= 1):
        raise ValueError(f"mu is {mu} for n = {n}, allowed: from -1/(n-1) to 1")
    # The symmetric square root of the Gram matrix (1 - mu) I + mu 1 1^T.
    small = np.sqrt(1 - mu)
    return small * np.eye(n) + (np.sqrt(1 + (n - 1) * mu) - small) / n


def digits_pair(positive: int, negative: int, *, centred: bool = True) -> tuple[np.ndarray, np.ndarray]:
    """Return scikit-learn's images of two digits, pixels in [0, 1]: inputs (n, 64), labels +1 and -1 (n,).

    ``centred`` subtracts the mean image of the pair, so that the two class sums are opposite.
    Raises ``ValueError`` for anything but two different digits.
    """
    if positive == negative or not {positive, negative} <= set(range(10)):
        raise ValueError(f"positive is {positive}, negative {negative}; allowed: two different digits 0 to 9")
    images, digits = load_digits(return_X_y=True)
    chosen = np.isin(digits, (positive, negative))
    inputs = images[chosen] / 16.0
    return inputs - centred * inputs.mean(axis=0), np.where(digits[chosen] == positive, 1.0, -1.0)


def antipodal_gaussians(
    n: int, mean: np.ndarray, spread: float, *, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Draw n/2 positive points around ``mean`` (d,), then n/2 negative ones around ``-mean``; n is even.

    ``spread`` is the standard deviation in every direction.  Returns inputs (n, d) and labels (n,).
    """
    mean = np.asarray(mean, dtype=float)
    if n < 2 or n % 2:
        raise ValueError(f"n is {n}, allowed: even numbers from 2")
    if not spread >= 0:
        raise ValueError(f"spread is {spread}, allowed: zero or more")
    labels = np.repeat([1.0, -1.0], n // 2)
    return labels[:, None] * mean + spread * rng.standard_normal((n, len(mean))), labels


def outlier_data(
    distance: float, degrees: float, *, rng: np.random.Generator, per_class: int = 20
) -> tuple[np.ndarray, np.ndarray]:
    """Draw two tight classes around ``(2, 0)`` and ``(-2, 0)`` in the plane, and one more positive point.

    That last positive point sits at polar coordinates (``distance``, ``degrees``), before the negative class.
    """
    around = 0.3 * rng.standard_normal((2, per_class, 2))
    angle = np.radians(degrees)
    outlier = distance * np.array([[np.cos(angle), np.sin(angle)]])
    inputs = np.vstack([around[0] + [2.0, 0.0], outlier, around[1] - [2.0, 0.0]])
    return inputs, np.repeat([1.0, -1.0], [per_class + 1, per_class])


def six_points() -> tuple[np.ndarray, np.ndarray]:
    """Return six planar points whose agreement program and linear hard-margin classifier differ widely."""
    inputs = [(1, -0.7), (2.2, 1.7), (0.8, 0.2), (-1, 0.3), (-1, 0.8), (-0.5, 0.3)]
    return np.array(inputs, dtype=float), np.repeat([1.0, -1.0], 3)


def three_points(degrees: float = 150.0) -> tuple[np.ndarray, np.ndarray]:
    """Return ``(1, 0)`` and the unit vector at ``degrees``, both positive, and ``(-1, 0)``, negative."""
    angle = np.radians(degrees)
    return np.array([(1, 0), (np.cos(angle), np.sin(angle)), (-1, 0)]), np.array([1.0, 1.0, -1.0])


def two_moons_with_gap(
    n: int, gap: float, *, rng: np.random.Generator, noise: float = 0.1
) -> tuple[np.ndarray, np.ndarray]:
    """Draw two half circles with a gap along the first axis: inputs (n, 2), labels +1 and -1 (n,).

    Scikit-learn's two moons, turned and moved until the tips of both lie at zero; their first coordinate c
    then becomes ``y (|c| + gap)``.  With ``gap > 0`` the classes lie ``2 gap`` apart, with ``gap < 0`` they
    overlap [pezeshki2021, Fig. 1].  Raises ``ValueError`` for ``n`` below 2.
    """
    if n < 2:
        raise ValueError(f"n is {n}, allowed: 2 or more")
    points, classes = make_moons(n, noise=noise, random_state=int(rng.integers(2**32)))
    labels = 2.0 * classes - 1.0
    along = points[:, 0] - 0.5
    height = points[:, 1] - 0.3 * labels
    height -= height.mean()
    return np.column_stack([labels * (np.abs(height) + gap), along]), labels


def orthonormal_inputs(n: int, d: int, *, rng: np.random.Generator) -> np.ndarray:
    """Draw n orthonormal vectors in d dimensions, uniformly distributed; shape (n, d).

    Raises ``ValueError`` for more vectors than dimensions.
    """
    if not 1 <= n <= d:
        raise ValueError(f"n is {n}, allowed: 1 to d = {d}")
    q, r = np.linalg.qr(rng.standard_normal((d, n)))
    return (q * np.sign(np.diag(r))).T


def orthogonal_pair() -> tuple[np.ndarray, np.ndarray]:
    """Return two orthogonal points, a number and a constant 1, labels -1 and 1 [boursier2022, Sec. 5]."""
    return np.array([(-0.5, 1.0), (2.0, 1.0)]), np.array([-1.0, 1.0])


def five_on_a_line() -> tuple[np.ndarray, np.ndarray]:
    """Return five numbers with a constant 1, far from orthogonal, and real labels [boursier2022, Fig. 4]."""
    numbers = np.array([-1.5, -1.0, 0.0, 0.25, 2.0])
    return np.column_stack([numbers, np.ones(5)]), np.array([0.7, -0.3, -0.3, 0.4, 0.2])
