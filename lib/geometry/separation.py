"""Separability and cones: the largest margin of a set of points, the nearest point of a cone, with proofs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize

from lib.checks import array, generator, refuse_overflow, signs, whole
from lib.geometry.least_norm import Infeasible, least_norm, nonnegative_least_squares


@dataclass(frozen=True)
class Separation:
    """The largest margin with which a unit vector calls points positive, and the proof that it is.

    ``margin`` is the least product of ``normal`` (d,), a unit vector, with a point; both are zero when no
    vector has positive products with all points.  ``weights`` (n,), zero or more with sum 1, combine the
    points to a vector of length ``bound``, and no margin exceeds it.

    Example:

    >>> round(largest_margin([[2.0, 0.0], [0.0, 2.0]]).margin, 12)
    1.414213562373
    """

    margin: float
    normal: np.ndarray
    weights: np.ndarray
    bound: float

    @property
    def separable(self) -> bool:
        """Whether some vector has positive products with all points."""
        return self.margin > 0

    @property
    def gap(self) -> float:
        """How far the margin can be from the largest: ``bound - margin``, zero up to rounding."""
        return self.bound - self.margin


@refuse_overflow
def largest_margin(points: ArrayLike) -> Separation:
    """Return the unit vector v that makes ``min_i <v, p_i>`` the largest, or weights that show there is none.

    ``points`` is (n, d) without zero rows.  The margin is the distance of the origin from the convex hull of
    the points.  Margins below some 1e-7 of the points' norms are not told from rounding.  Raises
    ``ValueError`` for other shapes, zero points and values that are not finite.

    Example:

    >>> found = largest_margin([[1.0, 0.0], [-1.0, 1.0], [0.0, -1.0]])
    >>> found.separable, found.weights.round(6), found.bound < 1e-12
    (False, array([0.333333, 0.333333, 0.333333]), True)
    """
    vectors = array("points", points, ("n", "d"))
    if not (sizes := np.abs(vectors).max(axis=1)).all():
        raise ValueError(f"points holds a zero row, at index {int(np.argmin(sizes))}")
    scale = sizes.max()
    unit = vectors / scale  # squares of the points themselves could under- or overflow
    try:
        solution = least_norm(unit, np.ones(len(unit)))
    except Infeasible as refusal:
        normal, weights, margin = np.zeros(unit.shape[1]), refusal.weights, 0.0
    else:
        normal, weights = solution.x / solution.norm, solution.duals / solution.duals.sum()
        margin = float((unit @ normal).min() * scale)
    return Separation(margin, normal, weights, float(np.linalg.norm(weights @ unit) * scale))


@refuse_overflow
def separation(inputs: ArrayLike, labels: ArrayLike) -> Separation:
    """Return the hyperplane through the origin that separates two classes best, or the proof there is none.

    ``inputs`` is (n, d) without zero rows, ``labels`` (n,) of +1 and -1; the margin is that of ``label *
    input``, as in :func:`lib.geometry.separation.largest_margin`.  For a hyperplane with a bias append a column of
    ones.  Raises ``ValueError`` for other shapes and values.

    Example:

    >>> line = [[0.0], [1.0], [3.0]]
    >>> with_bias = np.column_stack([line, np.ones(3)])
    >>> separation(with_bias, [-1, -1, 1]).separable, separation(with_bias, [-1, 1, -1]).separable
    (True, False)
    """
    inputs, labels = labelled_data(inputs, labels)
    return largest_margin(labels[:, None] * inputs)


def labelled_data(inputs: ArrayLike, labels: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Return inputs (n, d) without zero rows and labels (n,) of +1 and -1 as floats.

    Raises ``ValueError`` for other shapes and values, naming a zero input.

    Example:

    >>> labelled_data([[1, 2]], [-1])
    (array([[1., 2.]]), array([-1.]))
    """
    inputs = array("inputs", inputs, ("n", "d"))
    if not (sizes := np.abs(inputs).max(axis=1)).all():
        raise ValueError(f"inputs holds a zero row, at index {int(np.argmin(sizes))}; allowed: other inputs")
    return inputs, signs("labels", labels, (len(inputs),))


@dataclass(frozen=True)
class ConeProjection:
    """The point of a cone that is nearest to a given point, and the proof that it is.

    ``nearest`` (d,) is ``weights @ generators`` with ``weights`` (n,) of zero or more, ``distance`` that to
    the point, ``normal`` (d,) the difference, point minus nearest.  ``dual_residual`` is the largest
    violation of the two conditions that make it the nearest: ``normal`` has no positive product with a unit
    vector along a generator, and is orthogonal to ``nearest``.

    Example:

    >>> project_on_cone([1.0, -2.0], [[1.0, 0.0], [1.0, 1.0]]).nearest
    array([1., 0.])
    """

    nearest: np.ndarray
    weights: np.ndarray
    normal: np.ndarray
    distance: float
    dual_residual: float

    @property
    def outside(self) -> bool:
        """Whether ``normal`` proves the point outside: its length exceeds what rounding could make of it."""
        return self.distance > 1e-10 * float(np.linalg.norm(self.normal + self.nearest))


@refuse_overflow
def project_on_cone(point: ArrayLike, generators: ArrayLike) -> ConeProjection:
    """Return the point nearest to ``point`` (d,) in the cone of non-negative combinations of ``generators``.

    ``generators`` is (n, d) without zero rows.  Raises ``ValueError`` for other shapes, zero generators and
    values that are not finite.

    Example:

    >>> found = project_on_cone([0.0, 3.0], [[1.0, 1.0], [1.0, 0.0]])
    >>> found.outside, round(found.distance, 6), found.dual_residual < 1e-15
    (True, 2.12132, True)
    """
    generators = array("generators", generators, ("n", "d"))
    point = array("point", point, (generators.shape[1],))
    lengths = np.linalg.norm(generators, axis=1)
    if not lengths.all():
        raise ValueError(f"generators holds a zero row, at index {int(np.argmin(lengths))}")
    unit = generators / lengths[:, None]
    weights, distance = nonnegative_least_squares(unit.T, point)
    nearest = weights @ unit
    normal = point - nearest
    residual = max(0.0, float((unit @ normal).max()), abs(float(normal @ nearest)))
    return ConeProjection(nearest, weights / lengths, normal, distance, residual)


@refuse_overflow
def largest_cosine_outside(
    inputs: ArrayLike, labels: ArrayLike, *, rng: np.random.Generator, attempts: int = 3
) -> float:
    """Return the largest ``cos(z, w)``, z in the cone of ``z_i = y_i x_i`` and w with some ``<w, z_i> <= 0``.

    A numerical search (SLSQP from ``attempts`` random starts for each i) that uses no theory; its value is
    the ``sqrt(1 - xi)`` of Lemma 9, and 0 if no cosine is positive.  ``inputs`` is (n, d) without zero rows,
    ``labels`` (n,) of +1 and -1, ``attempts`` at least 1.  Raises ``ValueError`` for other shapes and values.
    [min2024, Lemma 9]

    Example:

    >>> largest = largest_cosine_outside([[1.0, 0.0], [0.8, 0.6]], [1, 1], rng=np.random.default_rng(0))
    >>> round(largest, 6)
    0.6
    """
    inputs, labels = labelled_data(inputs, labels)
    rng = generator("rng", rng)
    signed = labels[:, None] * inputs / np.linalg.norm(inputs, axis=1)[:, None]
    (n, d), best = signed.shape, 0.0

    def opposite(u: np.ndarray) -> float:
        z, w = u[:n] @ signed, u[n:]
        lengths = np.linalg.norm(z) * np.linalg.norm(w)
        return -float(z @ w / lengths) if lengths else 0.0

    for i in np.repeat(np.arange(n), whole("attempts", attempts, 1)):
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
