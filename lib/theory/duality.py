"""Ridge-regularised cross-entropy of a linearised network, and its dual: fixed points and flows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import entr, expit, log1p, wrightomega


@dataclass(frozen=True)
class FeatureProblem:
    """Signed tangent features ``Y Phi = U S V^T`` and a ridge strength [pezeshki2021, Eq. 7 and 9].

    ``u`` has shape (n, r) with orthonormal columns, ``strengths`` (r,) are the singular values, ``ridge`` is
    the factor of half the squared norm of the parameters, the loss being summed over the n examples.  The
    rotation V plays no part.  Raises ``ValueError`` for columns that are not orthonormal and other shapes.
    """

    u: np.ndarray
    strengths: np.ndarray
    ridge: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "u", np.asarray(self.u, dtype=float))
        object.__setattr__(self, "strengths", np.asarray(self.strengths, dtype=float))
        if self.u.ndim != 2 or self.strengths.shape != self.u.shape[1:]:
            raise ValueError(
                f"u has shape {self.u.shape}, strengths {self.strengths.shape}; allowed: (n, r) and (r,)"
            )
        excess = np.abs(self.u.T @ self.u - np.eye(self.u.shape[1])).max()
        if not excess < 1e-8:
            raise ValueError(f"u has columns that are not orthonormal: U^T U is off by {excess:.2g}")
        if not (self.strengths >= 0).all():
            raise ValueError(f"strengths holds {self.strengths.min()}, allowed: zero or more")
        if not self.ridge > 0:
            raise ValueError(f"ridge is {self.ridge}, allowed: positive numbers")

    @classmethod
    def from_features(cls, signed_features: np.ndarray, ridge: float) -> FeatureProblem:
        """Decompose ``Y Phi``, shape (n, m), and take its features as they come, with unspecified signs."""
        u, strengths, _ = np.linalg.svd(signed_features, full_matrices=False)
        return cls(u, strengths, ridge)

    @property
    def coupling(self) -> np.ndarray:
        """The matrix ``A = U S^2 U^T / ridge`` of the dual, shape (n, n)."""
        return (self.u * self.strengths**2) @ self.u.T / self.ridge

    def responses(self, dual: np.ndarray) -> np.ndarray:
        """Return the feature responses ``z = S^2 U^T p / ridge`` [pezeshki2021, Eq. 18].

        ``dual`` has shape (..., n), the responses (..., r).
        """
        return dual @ self.u * self.strengths**2 / self.ridge


def primal_value(problem: FeatureProblem, coordinates: np.ndarray) -> float:
    """Return ``sum log(1 + exp(-q)) + ridge |c|^2 / 2`` at ``c = V^T theta``, where ``q = U S c``."""
    signed = problem.u @ (problem.strengths * coordinates)
    return np.logaddexp(0, -signed).sum() + problem.ridge * coordinates @ coordinates / 2


def dual_value(problem: FeatureProblem, dual: np.ndarray, offset: np.ndarray | float = 0.0) -> float:
    """Return ``sum H(p) - p.offset - p A p / 2`` with ``offset = Y f_0`` [pezeshki2021, Eq. 15]."""
    along = problem.strengths * (dual @ problem.u)
    return entropy(dual).sum() - np.sum(dual * offset) - along @ along / (2 * problem.ridge)


def entropy(probability: np.ndarray) -> np.ndarray:
    """Return the entropy of a coin in nats; zero at 0 and 1, ``-inf`` outside [0, 1]."""
    return entr(probability) + entr(1 - np.asarray(probability))


def lone_dual(coupling: np.ndarray | float) -> np.ndarray:
    """Return the root of ``-log p = a p``, which is ``W(a)/a`` with Lambert's W, for ``a > 0``."""
    # W(a) is the Wright omega function of log a, which neither over- nor underflows.
    return wrightomega(np.log(coupling)) / coupling


def primal_fixed_point(
    problem: FeatureProblem, offset: np.ndarray | float = 0.0, *, tolerance: float = 1e-12
) -> np.ndarray:
    """Return the minimiser ``c = V^T theta``, shape (r,), of the primal problem by Newton's method.

    ``offset`` (n,) adds the signed outputs ``Y f_0`` at initialisation.  Feature responses are ``S c``.
    Raises ``RuntimeError`` when 100 steps do not bring the step below ``tolerance``.
    """
    signed_features = problem.u * problem.strengths

    def newton(c: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        p = expit(-signed_features @ c - offset)
        gradient = problem.ridge * c - signed_features.T @ p
        hessian = (signed_features.T * (p * (1 - p))) @ signed_features + problem.ridge * np.eye(c.size)
        return gradient, np.linalg.solve(hessian, gradient)

    def value(c: np.ndarray) -> float:
        return np.logaddexp(0, -signed_features @ c - offset).sum() + problem.ridge * c @ c / 2

    return _damped_newton(np.zeros(problem.strengths.size), newton, value, lambda c: 1.0, tolerance)


def dual_fixed_point(
    problem: FeatureProblem, offset: np.ndarray | float = 0.0, *, tolerance: float = 1e-12
) -> np.ndarray:
    """Return the maximiser p, shape (n,), of :func:`dual_value`: the fixed point of [pezeshki2021, Eq. 17].

    Found by Newton's method in p; raises ``RuntimeError`` when 100 steps do not reach ``tolerance``, the
    relative size of the last step.
    """
    coupling = problem.coupling
    return _dual_newton(
        coupling,
        slope=lambda p: log1p(-p) - np.log(p) - offset,
        curvature=lambda p: 1 / (p * (1 - p)),
        value=lambda p: entropy(p).sum() - np.sum(p * offset) - p @ coupling @ p / 2,
        upper=1.0,
        tolerance=tolerance,
    )


def primal_responses(problem: FeatureProblem) -> np.ndarray:
    """Return the feature responses z, shape (r,), at the minimum of the primal problem (Newton in theta)."""
    return problem.strengths * primal_fixed_point(problem)


def dual_responses(problem: FeatureProblem) -> np.ndarray:
    """Return the feature responses z, shape (r,), at the maximum of the dual problem (Newton in p)."""
    return problem.responses(dual_fixed_point(problem))


def truncated_fixed_point(problem: FeatureProblem, *, tolerance: float = 1e-12) -> np.ndarray:
    """Return the fixed point p, shape (n,), of ``p' = -log p - (A + I) p`` [pezeshki2021, Eq. 19]."""
    coupling = problem.coupling + np.eye(problem.u.shape[0])
    return _dual_newton(
        coupling,
        slope=lambda p: -np.log(p),
        curvature=lambda p: 1 / p,
        value=lambda p: (entr(p) + p).sum() - p @ coupling @ p / 2,
        upper=np.inf,
        tolerance=tolerance,
    )


def _dual_newton(
    coupling: np.ndarray,
    *,
    slope: Callable[[np.ndarray], np.ndarray],
    curvature: Callable[[np.ndarray], np.ndarray],
    value: Callable[[np.ndarray], float],
    upper: float,
    tolerance: float,
) -> np.ndarray:
    """Maximise a separable concave function minus ``p A p / 2`` over ``0 < p < upper``."""

    def newton(p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        gradient = coupling @ p - slope(p)
        # Entries of p span many decades; scaled by the root of the curvature the system is well conditioned.
        root = 1 / np.sqrt(curvature(p))
        scaled = np.eye(p.size) + root[:, None] * coupling * root
        return gradient, root * np.linalg.solve(scaled, root * gradient)

    start = lone_dual(np.diag(coupling) + 1.0)
    return _damped_newton(
        np.minimum(start, 0.5), newton, lambda p: -value(p), lambda p: p, tolerance, lower=0.0, upper=upper
    )


def _damped_newton(
    x: np.ndarray,
    newton: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]],
    value: Callable[[np.ndarray], float],
    scale: Callable[[np.ndarray], np.ndarray | float],
    tolerance: float,
    *,
    lower: float = -np.inf,
    upper: float = np.inf,
) -> np.ndarray:
    """Minimise a strictly convex function; steps are halved until they stay inside and descend (Armijo)."""
    for _ in range(100):
        gradient, step = newton(x)
        if np.max(np.abs(step) / scale(x)) < tolerance:
            return x - step
        here, size, slack = value(x), 1.0, 1e-14 * (1 + abs(value(x)))
        while True:
            trial = x - size * step
            inside = (trial > lower).all() and (trial < upper).all()
            if inside and value(trial) <= here - 0.1 * size * gradient @ step + slack:
                break
            size /= 2
            if size < 1e-12:
                raise RuntimeError(
                    "the line search of Newton's method found no descent; check the scaling of the data"
                )
        x = trial
    raise RuntimeError(
        "Newton's method did not converge in 100 steps; a larger ridge makes the problem easier"
    )
