"""Data of the book: synthetic families with exact geometry, and small images that ship with scikit-learn."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from sklearn.datasets import load_digits, make_moons

from lib.checks import array, generator, number, whole


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
    ``ValueError`` for other counts, ``mu`` outside (-1, 1), and norms that are not positive or not in order.

    Example:

    >>> inputs, labels = cone_data(2, 1, 4, 0.25, rng=np.random.default_rng(0), norms=(1.0, 3.0))
    >>> inputs.shape, labels
    ((3, 4), array([ 1.,  1., -1.]))
    >>> signed = labels[:, None] * inputs / np.linalg.norm(inputs, axis=1)[:, None]
    >>> (signed @ signed.T).min().round(12)
    np.float64(0.25)
    """
    positive, negative, d = whole("positive", positive), whole("negative", negative), whole("d", d, 2)
    n = positive + negative
    if n < 2:
        raise ValueError(
            f"positive is {positive}, negative {negative}; allowed: counts with a sum of 2 or more"
        )
    mu = number("mu", mu, -1.0, 1.0)
    low, high = array("norms", norms, (2,), 0.0)
    if low > high:
        raise ValueError(f"norms is {norms}, allowed: a positive lower and an upper end")
    half, rng = np.arccos(mu) / 2, generator("rng", rng)
    angles = half * rng.uniform(size=n)
    across = rng.standard_normal((n, d - 1))
    across /= np.linalg.norm(across, axis=1)[:, None]
    angles[0] = angles[-1] = half
    across[-1] = -across[0]
    signed = np.column_stack([np.cos(angles), np.sin(angles)[:, None] * across])
    labels = np.repeat([1.0, -1.0], [positive, negative])
    return labels[:, None] * rng.uniform(low, high, size=n)[:, None] * signed, labels


def simplex_data(n: int, mu: float) -> np.ndarray:
    """Return n unit vectors in n dimensions, any two of which have cosine ``mu``; shape (n, n).

    ``n`` is from 1 on.  Raises ``ValueError`` unless ``-1/(n-1) <= mu <= 1``.

    Example:

    >>> vectors = simplex_data(3, -0.5)
    >>> (vectors @ vectors.T).round(12).tolist()
    [[1.0, -0.5, -0.5], [-0.5, 1.0, -0.5], [-0.5, -0.5, 1.0]]
    """
    n = whole("n", n, 1)
    mu = number("mu", mu, -1 / max(n - 1, 1), 1.0, "[]")
    # The symmetric square root of the Gram matrix (1 - mu) I + mu 1 1^T.
    small = np.sqrt(1 - mu)
    return small * np.eye(n) + (np.sqrt(max(1 + (n - 1) * mu, 0.0)) - small) / n


def digits_pair(positive: int, negative: int, *, centred: bool = True) -> tuple[np.ndarray, np.ndarray]:
    """Return scikit-learn's images of two digits, pixels in [0, 1]: inputs (n, 64), labels +1 and -1 (n,).

    ``centred`` subtracts the mean image of the pair, so that the two class sums are opposite.
    Raises ``ValueError`` for anything but two different digits.

    Example:

    >>> inputs, labels = digits_pair(1, 0)
    >>> inputs.shape, int((labels > 0).sum()), np.abs(inputs.sum(axis=0)).max() < 1e-12
    ((360, 64), 182, np.True_)
    """
    positive, negative = whole("positive", positive), whole("negative", negative)
    if positive == negative or not {positive, negative} <= set(range(10)):
        raise ValueError(f"positive is {positive}, negative {negative}; allowed: two different digits 0 to 9")
    images, digits = load_digits(return_X_y=True)
    chosen = np.isin(digits, (positive, negative))
    inputs = images[chosen] / 16.0
    return inputs - centred * inputs.mean(axis=0), np.where(digits[chosen] == positive, 1.0, -1.0)


def antipodal_gaussians(
    n: int, mean: ArrayLike, spread: float, *, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Draw n/2 positive points around ``mean`` (d,), then n/2 negative ones around ``-mean``; n is even.

    ``spread`` is the standard deviation in every direction, zero or more.  Returns inputs (n, d) and labels
    (n,).  Raises ``ValueError`` for other arguments.

    Example:

    >>> inputs, labels = antipodal_gaussians(4, [2.0, 0.0], 0.0, rng=np.random.default_rng(0))
    >>> inputs[:, 0].tolist(), labels.tolist()
    ([2.0, 2.0, -2.0, -2.0], [1.0, 1.0, -1.0, -1.0])
    """
    n, mean, spread = whole("n", n, 2), array("mean", mean, ("d",)), number("spread", spread, 0.0, ends="[)")
    if n % 2:
        raise ValueError(f"n is {n}, allowed: even numbers from 2")
    labels, rng = np.repeat([1.0, -1.0], n // 2), generator("rng", rng)
    return labels[:, None] * mean + spread * rng.standard_normal((n, len(mean))), labels


def outlier_data(
    distance: float, degrees: float, *, rng: np.random.Generator, per_class: int = 20
) -> tuple[np.ndarray, np.ndarray]:
    """Draw two tight classes around ``(2, 0)`` and ``(-2, 0)`` in the plane, and one more positive point.

    That last positive point sits at polar coordinates (``distance``, ``degrees``), before the negative
    class; ``distance`` is zero or more, ``per_class`` counts from 1.  Returns inputs (2 per_class + 1, 2)
    and labels. Raises ``ValueError`` for other arguments.

    Example:

    >>> inputs, labels = outlier_data(5.0, 90.0, rng=np.random.default_rng(0), per_class=3)
    >>> inputs[3].round(12).tolist(), labels.tolist()
    ([0.0, 5.0], [1.0, 1.0, 1.0, 1.0, -1.0, -1.0, -1.0])
    """
    distance, degrees = number("distance", distance, 0.0, ends="[)"), number("degrees", degrees)
    per_class, rng = whole("per_class", per_class, 1), generator("rng", rng)
    around = 0.3 * rng.standard_normal((2, per_class, 2))
    angle = np.radians(degrees)
    outlier = distance * np.array([[np.cos(angle), np.sin(angle)]])
    inputs = np.vstack([around[0] + [2.0, 0.0], outlier, around[1] - [2.0, 0.0]])
    return inputs, np.repeat([1.0, -1.0], [per_class + 1, per_class])


def six_points() -> tuple[np.ndarray, np.ndarray]:
    """Return six planar points whose agreement program and linear hard-margin classifier differ widely.

    Inputs are (6, 2), labels three of +1, then three of -1.

    Example:

    >>> inputs, labels = six_points()
    >>> inputs.shape, labels.sum()
    ((6, 2), np.float64(0.0))
    """
    inputs = [(1, -0.7), (2.2, 1.7), (0.8, 0.2), (-1, 0.3), (-1, 0.8), (-0.5, 0.3)]
    return np.array(inputs, dtype=float), np.repeat([1.0, -1.0], 3)


def three_points(degrees: float = 150.0) -> tuple[np.ndarray, np.ndarray]:
    """Return ``(1, 0)`` and the unit vector at ``degrees``, both positive, and ``(-1, 0)``, negative.

    Inputs are (3, 2), labels (3,).  Raises ``ValueError`` for an angle that is not finite.

    Example:

    >>> three_points(90.0)[0].round(12).tolist()
    [[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]]
    """
    degrees = number("degrees", degrees)
    angle = np.radians(degrees)
    return np.array([(1, 0), (np.cos(angle), np.sin(angle)), (-1, 0)]), np.array([1.0, 1.0, -1.0])


def two_moons_with_gap(
    n: int, gap: float, *, rng: np.random.Generator, noise: float = 0.1
) -> tuple[np.ndarray, np.ndarray]:
    """Draw two half circles with a gap along the first axis: inputs (n, 2), labels +1 and -1 (n,).

    Scikit-learn's two moons, turned and moved until the tips of both lie at zero; their first coordinate c
    then becomes ``y (|c| + gap)``.  With ``gap > 0`` the classes lie ``2 gap`` apart, with ``gap < 0`` they
    overlap [pezeshki2021, Fig. 1].  ``noise`` is the standard deviation before, zero or more.  Raises
    ``ValueError`` for ``n`` below 2 and other arguments.

    Example:

    >>> inputs, labels = two_moons_with_gap(100, 0.5, rng=np.random.default_rng(0))
    >>> inputs.shape, bool((labels * inputs[:, 0]).min() >= 0.5)
    ((100, 2), True)
    """
    n, gap, noise = whole("n", n, 2), number("gap", gap), number("noise", noise, 0.0, ends="[)")
    seed = generator("rng", rng).integers(2**32)
    points, classes = make_moons(n, noise=noise, random_state=int(seed))
    labels = 2.0 * classes - 1.0
    along = points[:, 0] - 0.5
    height = points[:, 1] - 0.3 * labels
    height -= height.mean()
    return np.column_stack([labels * (np.abs(height) + gap), along]), labels


def orthonormal_inputs(n: int, d: int, *, rng: np.random.Generator) -> np.ndarray:
    """Draw n orthonormal vectors in d dimensions, uniformly distributed; shape (n, d).

    Raises ``ValueError`` for more vectors than dimensions.

    Example:

    >>> vectors = orthonormal_inputs(3, 5, rng=np.random.default_rng(0))
    >>> bool(np.abs(vectors @ vectors.T - np.eye(3)).max() < 1e-14)
    True
    """
    n, d = whole("n", n, 1), whole("d", d, 1)
    if n > d:
        raise ValueError(f"n is {n}, d {d}; allowed: n up to d")
    q, r = np.linalg.qr(generator("rng", rng).standard_normal((d, n)))
    return (q * np.sign(np.diag(r))).T


def orthogonal_pair() -> tuple[np.ndarray, np.ndarray]:
    """Return two orthogonal points, a number and a constant 1, labels -1 and 1 [boursier2022, Sec. 5].

    Example:

    >>> inputs, labels = orthogonal_pair()
    >>> inputs.tolist(), float(inputs[0] @ inputs[1])
    ([[-0.5, 1.0], [2.0, 1.0]], 0.0)
    """
    return np.array([(-0.5, 1.0), (2.0, 1.0)]), np.array([-1.0, 1.0])


def five_on_a_line() -> tuple[np.ndarray, np.ndarray]:
    """Return five numbers with a constant 1, far from orthogonal, and real labels [boursier2022, Fig. 4].

    Example:

    >>> inputs, labels = five_on_a_line()
    >>> inputs[:, 0].tolist(), labels.tolist()
    ([-1.5, -1.0, 0.0, 0.25, 2.0], [0.7, -0.3, -0.3, 0.4, 0.2])
    """
    numbers = np.array([-1.5, -1.0, 0.0, 0.25, 2.0])
    return np.column_stack([numbers, np.ones(5)]), np.array([0.7, -0.3, -0.3, 0.4, 0.2])
