"""Ridge-regularised cross-entropy of a linearised network, and its minimum.

The loss is ``sum log(1 + exp(-q)) + ridge |theta|^2 / 2`` with the signed outputs ``q = Y Phi theta``; in the
dual, p_i is the probability of the wrong label.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize, root
from scipy.special import expit


@dataclass(frozen=True)
class FeatureProblem:
    """Signed tangent features ``Y Phi = U S V^T`` and a ridge strength [pezeshki2021, Eq. 7 and 9].

    ``u`` has shape (n, r) with orthonormal columns, ``strengths`` (r,) are the singular values, ``ridge`` is
    the factor of half the squared norm of the parameters, the loss being summed over the n examples (for a
    mean loss it is n times the weight decay).  The rotation V plays no part.
    """

    u: np.ndarray
    strengths: np.ndarray
    ridge: float

    @property
    def coupling(self) -> np.ndarray:
        """The matrix ``A = U S^2 U^T / ridge`` of the dual, shape (n, n)."""
        return (self.u * self.strengths**2) @ self.u.T / self.ridge

    def responses(self, dual: ArrayLike) -> np.ndarray:
        """Return the feature responses ``z = S^2 U^T p / ridge``, (..., r), of p (..., n) [Eq. 18]."""
        return np.asarray(dual) @ self.u * self.strengths**2 / self.ridge


def rotation(delta: float) -> np.ndarray:
    """Return the matrix U (2, 2) of two features coupled by ``delta`` in (-1, 1) [pezeshki2021, Eq. 23]."""
    rest = np.sqrt((1 - delta) * (1 + delta))
    return np.array([[rest, -delta], [delta, rest]])


def two_features(delta: float, s1: float, s2: float, ridge: float) -> FeatureProblem:
    """Return the problem of two examples and two features of strengths s1, s2, coupled by ``delta``."""
    return FeatureProblem(rotation(delta), np.array([s1, s2]), ridge)


def primal_responses(problem: FeatureProblem) -> np.ndarray:
    """Return the feature responses z, shape (r,), at the minimum of the loss, found in the parameters."""
    strengths = problem.strengths / np.sqrt(problem.ridge)  # of parameters times this root
    features = problem.u * strengths

    def loss(c: np.ndarray) -> float:
        return c @ c / 2 + np.logaddexp(0, -features @ c).sum()

    def gradient(c: np.ndarray) -> np.ndarray:
        return c - features.T @ expit(-features @ c)

    def hessian(c: np.ndarray) -> np.ndarray:
        p = expit(-features @ c)
        return np.eye(c.size) + (features.T * (p * (1 - p))) @ features

    near = minimize(loss, np.zeros(strengths.size), jac=gradient, hess=hessian, method="trust-exact").x
    return strengths * polished_root(gradient, hessian, near)


def polished_root(
    function: Callable[[np.ndarray], np.ndarray],
    jacobian: Callable[[np.ndarray], np.ndarray],
    start: np.ndarray,
) -> np.ndarray:
    """Return the root of a ``function`` of vectors (r,) near ``start``, to rounding.

    Newton's method after that of Levenberg: what is sought may span many decades.  Raises ``RuntimeError``
    where the method does not converge, which for a coupling above 1e5 can happen.
    """
    with np.errstate(over="ignore"):  # a trial step may overflow, and is refused
        x = root(function, start, jac=jacobian, method="lm", options={"xtol": 1e-14, "ftol": 1e-14}).x
    for _ in range(2):  # down to rounding
        step = np.linalg.solve(jacobian(x), function(x))
        x = x - step
    if not np.abs(step).max() <= 1e-9 * (1 + np.abs(x).max()):
        raise RuntimeError("the fixed point was not found; a larger ridge makes it easier")
    return x
