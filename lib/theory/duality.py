"""Ridge-regularised cross-entropy of a linearised network, and its dual: fixed points and flows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit

from lib.checks import array, number, numbers, refuse_overflow
from lib.theory.dual_forms import entropy, lone_dual
from lib.theory.newton import EXPONENTIAL, LOGISTIC, damped_newton, dual_newton


@dataclass(frozen=True)
class FeatureProblem:
    """Signed tangent features ``Y Phi = U S V^T`` and a ridge strength [pezeshki2021, Eq. 7 and 9].

    ``u`` has shape (n, r) with orthonormal columns, ``strengths`` (r,) are the singular values, ``ridge`` is
    the factor of half the squared norm of the parameters, the loss being summed over the n examples (for a
    mean loss it is n times the weight decay).  The rotation V plays no part.  Raises ``ValueError`` for
    columns that are not orthonormal up to 1e-8, other shapes, negative strengths, a ridge that is not
    positive, and where squared strengths over the ridge exceed 1e300.

    Example:

    >>> problem = FeatureProblem(np.eye(2), [2.0, 1.0], ridge=0.5)
    >>> problem.coupling
    array([[8., 0.],
           [0., 2.]])
    >>> problem.responses([0.1, 0.2])
    array([0.8, 0.4])
    """

    u: np.ndarray
    strengths: np.ndarray
    ridge: float

    def __post_init__(self) -> None:
        u = array("u", self.u, ("n", "r"), -1 - 1e-8, 1 + 1e-8)
        object.__setattr__(self, "u", u)
        object.__setattr__(self, "strengths", array("strengths", self.strengths, u.shape[1:], 0, ends="[)"))
        object.__setattr__(self, "ridge", number("ridge", self.ridge, 0))
        with np.errstate(over="ignore"):
            largest = float(self.strengths.max() ** 2 / self.ridge)
        if not largest < 1e300:
            raise ValueError(
                f"strengths go up to {self.strengths.max():g} and ridge is {self.ridge:g}, allowed: squared "
                "strengths over the ridge below 1e300"
            )
        excess = np.abs(u.T @ u - np.eye(u.shape[1])).max()
        if not excess < 1e-8:
            raise ValueError(f"u has columns that are not orthonormal: U^T U is off by {excess:.2g}")

    @classmethod
    def from_features(cls, signed_features: ArrayLike, ridge: float) -> FeatureProblem:
        """Decompose ``Y Phi``, shape (n, m), and take its features as they come, with unspecified signs."""
        matrix = array("signed_features", signed_features, ("n", "m"))
        u, strengths, _ = np.linalg.svd(matrix, full_matrices=False)
        return cls(u, strengths, ridge)

    @property
    def coupling(self) -> np.ndarray:
        """The matrix ``A = U S^2 U^T / ridge`` of the dual, shape (n, n)."""
        return (self.u * self.strengths**2) @ self.u.T / self.ridge

    def responses(self, dual: ArrayLike) -> np.ndarray:
        """Return the feature responses ``z = S^2 U^T p / ridge`` [pezeshki2021, Eq. 18].

        ``dual`` has shape (..., n), the responses (..., r).  Raises ``ValueError`` for other shapes.
        """
        p = numbers("dual", dual)
        if p.ndim < 1 or p.shape[-1] != len(self.u):
            raise ValueError(f"dual has shape {p.shape}, allowed: (..., {len(self.u)})")
        return p @ self.u * self.strengths**2 / self.ridge


@refuse_overflow
def primal_value(problem: FeatureProblem, coordinates: ArrayLike) -> float:
    """Return ``sum log(1 + exp(-q)) + ridge |c|^2 / 2`` at ``c = V^T theta``, where ``q = U S c``.

    ``coordinates`` c is (r,), in units of the parameters.  Raises ``ValueError`` for other shapes and values.
    [pezeshki2021, Eq. 9, with the ridge counted once]

    Example:

    >>> round(primal_value(FeatureProblem(np.eye(2), [2.0, 1.0], ridge=0.5), [0.0, 0.0]), 6)
    1.386294
    """
    c = array("coordinates", coordinates, problem.strengths.shape)
    signed = problem.u @ (problem.strengths * c)
    return float(np.logaddexp(0, -signed).sum() + problem.ridge * c @ c / 2)


def dual_value(problem: FeatureProblem, dual: ArrayLike, offset: ArrayLike = 0.0) -> float:
    """Return ``sum H(p) - p.offset - p A p / 2`` with ``offset = Y f_0`` [pezeshki2021, Eq. 15].

    ``dual`` p (n,) has entries from 0 to 1; ``offset``, (n,) or one number, holds the signed outputs at
    initialisation, at most 1e10 in size.  No value of the primal problem lies below it; at the fixed points
    the two are equal.  Raises ``ValueError`` for other shapes and values.

    Example:

    >>> problem = FeatureProblem(np.eye(2), [2.0, 1.0], ridge=0.5)
    >>> round(dual_value(problem, dual_fixed_point(problem)), 6)
    0.867448
    >>> round(primal_value(problem, primal_fixed_point(problem)), 6)
    0.867448
    """
    p = array("dual", dual, (len(problem.u),), 0, 1, "[]")
    along = problem.strengths * (p @ problem.u)
    return float(entropy(p).sum() - p @ _offset(problem, offset) - along @ along / (2 * problem.ridge))


def contraction_rate(problem: FeatureProblem) -> float:
    """Return the rate at which solutions of the dual flow approach each other, wherever they start.

    ``|p(t) - p'(t)| <= exp(-rate t) |p(0) - p'(0)|`` along Eq. 17, with the rate ``4 + min eigenvalue of A``,
    because ``1/(p (1 - p)) >= 4``.  Below full rank it is 4.  [pezeshki2021, Theorem 1, sharpened]

    Example:

    >>> contraction_rate(FeatureProblem(np.eye(2), [2.0, 1.0], ridge=0.5))
    6.0
    """
    full = problem.u.shape[0] == problem.u.shape[1]
    return 4.0 + (float(problem.strengths.min() ** 2) / problem.ridge if full else 0.0)


def relaxation_rates(problem: FeatureProblem) -> np.ndarray:
    """Return the rates, increasing, shape (r,), at which gradient flow approaches the primal minimum at last.

    They are the eigenvalues of the Hessian there, ``ridge + S U^T diag(p (1 - p)) U S``; parameters outside
    the span of the features decay at the rate ``ridge``.

    Example:

    >>> relaxation_rates(FeatureProblem(np.eye(2), [2.0, 2.0], ridge=0.01)).round(3)
    array([0.054, 0.054])
    """
    p, features = dual_fixed_point(problem), problem.u * problem.strengths
    return problem.ridge + np.linalg.eigvalsh((features.T * (p * (1 - p))) @ features)


@refuse_overflow
def primal_fixed_point(
    problem: FeatureProblem, offset: ArrayLike = 0.0, *, tolerance: float = 1e-12
) -> np.ndarray:
    """Return the minimiser ``c = V^T theta``, shape (r,), of the primal problem by Newton's method.

    ``offset``, (n,) or one number, at most 1e10 in size, adds the signed outputs ``Y f_0`` at initialisation.
    Feature responses are ``S c``.  Raises ``ValueError`` for other shapes and values, ``RuntimeError`` when
    200 steps do not bring the step below ``tolerance``, relative to c.

    Example:

    >>> primal_fixed_point(FeatureProblem([[1.0]], [1.0], ridge=0.5)).round(6)
    array([0.674832])
    """
    signed_features, given = problem.u * problem.strengths, _offset(problem, offset)

    def newton(c: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        p = expit(-signed_features @ c - given)
        gradient = problem.ridge * c - signed_features.T @ p
        hessian = (signed_features.T * (p * (1 - p))) @ signed_features + problem.ridge * np.eye(c.size)
        return gradient, np.linalg.solve(hessian, gradient)

    def value(c: np.ndarray) -> float:
        return float(np.logaddexp(0, -signed_features @ c - given).sum() + problem.ridge * c @ c / 2)

    return damped_newton(np.zeros(problem.strengths.size), newton, value, _step(tolerance))


def dual_fixed_point(
    problem: FeatureProblem, offset: ArrayLike = 0.0, *, tolerance: float = 1e-12
) -> np.ndarray:
    """Return the maximiser p, shape (n,), of :func:`lib.theory.duality.dual_value`.

    It is the fixed point of [pezeshki2021, Eq. 17], ``log((1-p)/p) = A p + offset``, found by Newton's
    method in the dual; ``offset`` as in :func:`lib.theory.duality.dual_value`.  The entries, from 0 to 1, may
    span hundreds of decades, and have a relative error of about ``tolerance``.  Raises ``ValueError`` for
    other shapes and values, ``RuntimeError`` when the method does not converge, which for a coupling above
    1e6 of inseparable features can happen; the primal problem is easier there.

    Example:

    >>> p = dual_fixed_point(FeatureProblem(np.eye(2), [2.0, 1.0], ridge=0.5))
    >>> abs(np.log((1 - p) / p) - [8.0, 2.0] * p).max() < 1e-14
    np.True_
    """
    return LOGISTIC.mean(_links(problem, _offset(problem, offset), _step(tolerance)))


def primal_responses(problem: FeatureProblem) -> np.ndarray:
    """Return the feature responses z, shape (r,), at the minimum of the primal problem (Newton in theta).

    Example:

    >>> problem = FeatureProblem(np.eye(2), [2.0, 1.0], ridge=0.5)
    >>> np.allclose(primal_responses(problem), dual_responses(problem), rtol=1e-14)
    True
    """
    return problem.strengths * primal_fixed_point(problem)


@refuse_overflow
def dual_responses(problem: FeatureProblem, offset: ArrayLike = 0.0) -> np.ndarray:
    """Return the feature responses z, shape (r,), at the maximum of the dual problem (Newton in p).

    They are ``S^2 U^T p / ridge``, or where that would cancel ``U^T (q - offset)`` with the signed outputs
    ``q = log((1-p)/p)``, and accurate to 1e-12 of the largest.  ``offset`` and errors as of
    :func:`lib.theory.duality.dual_fixed_point`.

    Example:

    >>> dual_responses(FeatureProblem(np.eye(2), [2.0, 1.0], ridge=0.5)).round(6)
    array([1.481549, 0.674832])
    """
    given = _offset(problem, offset)
    links = _links(problem, given, _step(1e-12))
    from_dual = problem.responses(LOGISTIC.mean(links))
    cancels = problem.strengths**2 / problem.ridge > 1
    return np.where(cancels, -(links + given) @ problem.u, from_dual)


def truncated_fixed_point(problem: FeatureProblem, *, tolerance: float = 1e-12) -> np.ndarray:
    """Return the fixed point p, shape (n,), of ``p' = -log p - (A + I) p`` [pezeshki2021, Eq. 19].

    It is near that of Eq. 17 where p is small.  Errors as of :func:`lib.theory.duality.dual_fixed_point`.

    Example:

    >>> p = truncated_fixed_point(FeatureProblem(np.eye(2), [2.0, 1.0], ridge=0.5))
    >>> np.allclose(p, lone_dual([9.0, 3.0]), rtol=1e-14)
    True
    """
    start = lone_dual(np.diag(problem.coupling) + 1)
    root = np.hstack([_root(problem), np.eye(len(start))])
    return EXPONENTIAL.mean(dual_newton(root, np.zeros(len(start)), start, EXPONENTIAL, _step(tolerance)))


def _links(problem: FeatureProblem, offset: np.ndarray, tolerance: float) -> np.ndarray:
    """Return ``log(p/(1-p))`` at the maximum of the dual problem."""
    start = np.minimum(lone_dual(np.diag(problem.coupling) + 1), 0.5)
    return dual_newton(_root(problem), offset, start, LOGISTIC, tolerance)


def _root(problem: FeatureProblem) -> np.ndarray:
    """Return a matrix R with ``R R^T = A``."""
    return problem.u * problem.strengths / np.sqrt(problem.ridge)


def _offset(problem: FeatureProblem, offset: ArrayLike) -> np.ndarray:
    n, given = len(problem.u), numbers("offset", offset)
    return np.broadcast_to(array("offset", given, (n,) if given.ndim else (), -1e10, 1e10, "[]"), (n,))


def _step(tolerance: float) -> float:
    return number("tolerance", tolerance, 1e-15, 1, "[)")
