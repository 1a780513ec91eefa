"""Gradient starvation at the fixed points: closed forms, perturbation theory and the exact sign law."""

from __future__ import annotations

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit, lambertw

from lib.theory.duality import FeatureProblem, dual_fixed_point, lone_dual


def rotation(delta: float) -> np.ndarray:
    """Return the 2 x 2 matrix U of two features coupled by ``delta`` in (-1, 1) [pezeshki2021, Eq. 23]."""
    if not -1 < delta < 1:
        raise ValueError(f"delta is {delta}, allowed: -1 to 1")
    rest = np.sqrt(1 - delta**2)
    return np.array([[rest, -delta], [delta, rest]])


def two_features(delta: float, s1: float, s2: float, ridge: float) -> FeatureProblem:
    """Return the problem of two examples and two features of strengths s1, s2, coupled by ``delta``."""
    return FeatureProblem(rotation(delta), np.array([s1, s2]), ridge)


def equal_strength_dual(strength: float, ridge: float) -> float:
    """Return the common p of Eq. 19's fixed point with equal strengths [pezeshki2021, Eq. 20, repaired]."""
    return float(lone_dual(strength**2 / ridge + 1))


def permuted_dual(problem: FeatureProblem) -> np.ndarray:
    """Return p, shape (n,), of Eq. 19's fixed point with U a permutation [pezeshki2021, Eq. 21, repaired].

    Raises ``ValueError`` naming the hypothesis when U is not a permutation matrix, up to signs.
    """
    pattern = np.abs(problem.u)
    if pattern.shape[0] != pattern.shape[1] or not np.allclose(pattern.max(axis=1), 1):
        raise ValueError("u is not a signed permutation matrix, the hypothesis of [pezeshki2021, Eq. 21]")
    carried = pattern.argmax(axis=1)
    return lone_dual(problem.strengths[carried] ** 2 / problem.ridge + 1)


def uncoupled_dual(problem: FeatureProblem) -> np.ndarray:
    """Return p, shape (n,), of Eq. 19 without the off-diagonal entries of A + I [pezeshki2021, Eq. 45]."""
    return lone_dual(np.diag(problem.coupling) + 1)


def perturbed_dual(problem: FeatureProblem) -> np.ndarray:
    """Return ``(A + I + diag(1/p0))^{-1} (1 - log p0)``, shape (n,) [pezeshki2021, Lemma 1].

    It is one Newton step on Eq. 19 from ``p0`` of :func:`uncoupled_dual`.
    """
    p0 = uncoupled_dual(problem)
    matrix = problem.coupling + np.eye(p0.size) + np.diag(1 / p0)
    return np.linalg.solve(matrix, 1 - np.log(p0))


def perturbed_responses(delta: float, s1: float, s2: float, ridge: float) -> np.ndarray:
    """Return (z1, z2) of Lemma 1 to first order in ``delta`` [pezeshki2021, Eq. 51, repaired, and 52].

    Shortened: with ``W_i = W(s_i^2/ridge + 1)`` it is
    ``z1 = s1^2/ridge (e^-W1 + delta (W2 e^-W1 + e^-W2)/(1 + W1))``, and z2 with the indices exchanged and the
    sign of ``delta`` reversed.
    """
    squares = np.array([s1, s2]) ** 2
    own = lambertw(squares / ridge + 1).real
    other = own[::-1]
    change = np.array([delta, -delta]) * (other * np.exp(-own) + np.exp(-other)) / (1 + own)
    return squares / ridge * (np.exp(-own) + change)


def perturbed_derivative(delta: float, s1: float, s2: float, ridge: float) -> float:
    """Return dz2/ds1^2 of the first-order response [pezeshki2021, Eq. 53]."""
    a1, a2 = s1**2 / ridge + 1, s2**2 / ridge + 1
    w1, w2 = lambertw(a1).real, lambertw(a2).real
    first, second = (ridge * (a + np.exp(w)) for a, w in ((a1, w1), (a2, w2)))
    return -delta * ridge * s2**2 * (np.exp(w1) - np.exp(w2)) * (w1 + 1) / (first**2 * second)


def response_derivatives(problem: FeatureProblem, dual: np.ndarray | None = None) -> np.ndarray:
    """Return the exact ``dz_k/ds_j^2`` at the fixed point of Eq. 17, shape (r, r) with k along the rows.

    From the implicit function theorem: for ``k != j`` it is
    ``-(s_k^2/ridge^2) (u_j.p) u_k.(D + A)^{-1} u_j`` with ``D = diag(1/(p(1-p)))``.
    ``dual`` is the fixed point, computed when not given.
    """
    p = dual_fixed_point(problem) if dual is None else dual
    along = problem.u.T @ p
    inverse = problem.u.T @ np.linalg.solve(problem.coupling + np.diag(1 / (p * (1 - p))), problem.u)
    indirect = -(problem.strengths**2)[:, None] * inverse * along / problem.ridge**2
    return indirect + np.diag(along / problem.ridge)


def starved_share(problem: FeatureProblem, raised: int) -> float:
    """Return the share of the other responses that shrink in size when the strength of one feature grows.

    ``raised`` is the index of that feature; the derivatives are those of :func:`response_derivatives`.
    """
    dual = dual_fixed_point(problem)
    growth = np.sign(problem.responses(dual)) * response_derivatives(problem, dual)[:, raised]
    return float(np.mean(np.delete(growth, raised) < 0))


def starvation_sign(delta: float, s1: float, s2: float) -> int:
    """Return the sign of ``d|z2|/ds1^2`` at the exact fixed point, for any ridge.

    It is ``-sign(delta) sign(s1^2 - s2^2)`` for every coupling but ``delta^2 = 1/2``, where the derivative
    is zero.  Raises ``ValueError`` for a coupling outside (-1, 1).
    """
    if not -1 < delta < 1:
        raise ValueError(f"delta is {delta}, allowed: -1 to 1")
    return int(-np.sign(delta) * np.sign(s1**2 - s2**2))


def square_loss_responses(problem: FeatureProblem) -> np.ndarray:
    """Return the fixed point z, shape (r,), of ``sum (1 - q)^2/2 + ridge |theta|^2/2``: no starvation."""
    squares = problem.strengths**2
    return squares / (squares + problem.ridge) * problem.u.sum(axis=0)


def decoupled_response(penalty: float, target: float = 0.0) -> float:
    """Return the root q of ``sigma(-q) = penalty (q - target)`` [pezeshki2021, Eq. 27; with target, Eq. 28].

    It is the signed response of every example at the fixed point of spectral decoupling when the tangent
    features have full row rank; ``target`` is ``y gamma``.
    """
    if not penalty > 0:
        raise ValueError(f"penalty is {penalty}, allowed: positive numbers")
    return brentq(
        lambda q: expit(-q) - penalty * (q - target), target, target + 1 / penalty, xtol=1e-14, rtol=1e-14
    )


def decoupled_problem(u: np.ndarray, penalty: float) -> FeatureProblem:
    """Return the problem whose dual is that of spectral decoupling for any rank: ``A = U U^T / penalty``.

    The strengths drop out; its responses are those of the decoupled network [pezeshki2021, Eq. 26, repaired].
    """
    return FeatureProblem(u, np.ones(np.asarray(u).shape[1]), penalty)
