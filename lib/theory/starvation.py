"""Gradient starvation at the fixed points: closed forms, perturbation theory and the exact sign law.

Two examples and two features of strengths s1, s2 are coupled by ``delta``, the columns of U being
``(sqrt(1 - delta^2), delta)`` and ``(-delta, sqrt(1 - delta^2))``; ``ridge`` is positive, and z2 is the
response of the second feature.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from lib.checks import array, broadcast, number, numbers, refuse_overflow, whole
from lib.theory.decoupling import decoupled_response
from lib.theory.dual_forms import lone_dual
from lib.theory.duality import FeatureProblem, dual_fixed_point


def rotation(delta: ArrayLike) -> np.ndarray:
    """Return the matrix U of two features, shape (..., 2, 2), coupled by ``delta`` (...) in (-1, 1).

    Raises ``ValueError`` for other couplings.  [pezeshki2021, Eq. 23]

    Example:

    >>> rotation(0.6)
    array([[ 0.8, -0.6],
           [ 0.6,  0.8]])
    """
    sine = numbers("delta", delta, -1, 1)
    rest = np.sqrt((1 - sine) * (1 + sine))
    return np.stack([np.stack([rest, -sine], axis=-1), np.stack([sine, rest], axis=-1)], axis=-2)


def two_features(delta: float, s1: float, s2: float, ridge: float) -> FeatureProblem:
    """Return the problem of two examples and two features of strengths s1, s2, coupled by ``delta``.

    Strengths are zero or more.  Raises ``ValueError`` for other values.

    Example:

    >>> two_features(0.6, 2.0, 1.0, ridge=0.5).coupling.round(12)
    array([[5.84, 2.88],
           [2.88, 4.16]])
    """
    strengths = [number(name, value, 0, ends="[)") for name, value in (("s1", s1), ("s2", s2))]
    return FeatureProblem(rotation(number("delta", delta, -1, 1)), np.array(strengths), ridge)


@refuse_overflow
def equal_strength_dual(strength: ArrayLike, ridge: ArrayLike) -> np.ndarray:
    """Return the common p of Eq. 19's fixed point with equal strengths and a square matrix U.

    It is ``W(a) / a`` with ``a = strength^2 / ridge + 1``; the positive arguments broadcast.  Raises
    ``ValueError`` for other values.  [pezeshki2021, Eq. 20, repaired]

    Example:

    >>> equal_strength_dual([0.1, 2.5], ridge=0.02).round(6)
    array([0.483908, 0.013688])
    """
    s, penalty = broadcast(strength=numbers("strength", strength, 0), ridge=numbers("ridge", ridge, 0))
    return lone_dual(s / penalty * s + 1)


@refuse_overflow
def equal_strength_responses(u: ArrayLike, strength: float, ridge: float) -> np.ndarray:
    """Return the exact responses z, shape (r,), with equal strengths and a square matrix U: ``q U^T 1``.

    All examples have the same signed output q, with ``sigma(-q) = (ridge / strength^2) q``.  For two features
    coupled by ``delta`` above 0, ``|z2|`` is largest at s1 = s2, and this is its peak.  ``u`` is (n, n),
    orthogonal; ``strength`` and ``ridge`` are positive.  Raises ``ValueError`` for other values.
    [pezeshki2021, Eq. 20, without the truncation of Eq. 19]

    Example:

    >>> equal_strength_responses(rotation(0.5), 2.0, ridge=0.01).round(6)
    array([6.120438, 1.639967])
    """
    strength = number("strength", strength, 0)
    square = array("u", u, ("n", "n"))
    problem = FeatureProblem(square, np.full(len(square), strength), ridge)
    return decoupled_response(problem.ridge / strength / strength) * square.sum(axis=0)


def permuted_dual(problem: FeatureProblem) -> np.ndarray:
    """Return p, shape (n,), of Eq. 19's fixed point with U a permutation [pezeshki2021, Eq. 21, repaired].

    Raises ``ValueError`` naming the hypothesis when U is not a permutation matrix, up to signs.

    Example:

    >>> permuted_dual(FeatureProblem([[0.0, 1.0], [1.0, 0.0]], [2.0, 1.0], ridge=0.5)).round(6)
    array([0.34997 , 0.186557])
    """
    pattern = np.abs(problem.u)
    if pattern.shape[0] != pattern.shape[1] or not np.allclose(pattern.max(axis=1), 1):
        raise ValueError(
            "problem has a u that is no signed permutation matrix, the hypothesis of [pezeshki2021, Eq. 21]"
        )
    carried = pattern.argmax(axis=1)
    return lone_dual(problem.strengths[carried] ** 2 / problem.ridge + 1)


def uncoupled_dual(problem: FeatureProblem) -> np.ndarray:
    """Return p, shape (n,), of Eq. 19 without the off-diagonal entries of A + I [pezeshki2021, Eq. 45].

    Example:

    >>> uncoupled_dual(two_features(0.1, 3.0, 2.0, ridge=0.01)).round(6)
    array([0.005756, 0.011088])
    """
    return lone_dual(np.diag(problem.coupling) + 1)


def perturbed_dual(problem: FeatureProblem) -> np.ndarray:
    """Return ``(A + I + diag(1/p0))^{-1} (1 - log p0)``, shape (n,) [pezeshki2021, Lemma 1].

    It is one Newton step on Eq. 19 from ``p0`` of :func:`lib.theory.starvation.uncoupled_dual`; its error is
    of second order in ``delta (s1^2 - s2^2) / s2^2``.

    Example:

    >>> perturbed_dual(two_features(0.1, 3.0, 2.0, ridge=0.01)).round(6)
    array([0.005265, 0.01056 ])
    """
    p0 = uncoupled_dual(problem)
    matrix = problem.coupling + np.eye(p0.size) + np.diag(1 / p0)
    return np.linalg.solve(matrix, 1 - np.log(p0))


@refuse_overflow
def perturbed_responses(delta: ArrayLike, s1: ArrayLike, s2: ArrayLike, ridge: ArrayLike) -> np.ndarray:
    """Return (z1, z2) of Lemma 1 to first order in ``delta``, shape (..., 2).

    The arguments broadcast to (...); ``delta`` is real, the others are positive.  Shortened: with ``W_i =
    W(s_i^2/ridge + 1)`` it is ``z1 = s1^2/ridge (e^-W1 + delta (W2 e^-W1 + e^-W2)/(1 + W1))``, and z2 with
    the indices exchanged and the sign of ``delta`` reversed.  Raises ``ValueError`` for other values.
    [pezeshki2021, Eq. 51, repaired, and 52]

    Example:

    >>> perturbed_responses([0.0, 0.1], 3.0, 2.0, ridge=0.01).round(6)
    array([[5.156422, 4.480523],
           [5.695883, 4.017629]])
    """
    coupling, a, p = _two_lone(delta, s1, s2, ridge)
    own, other = -np.log(p), -np.log(p[..., ::-1])
    change = coupling[..., None] * [1, -1] * (other * p + p[..., ::-1]) / (1 + own)
    return a * (p + change)


@refuse_overflow
def perturbed_derivative(delta: ArrayLike, s1: ArrayLike, s2: ArrayLike, ridge: ArrayLike) -> np.ndarray:
    """Return dz2/ds1^2 of the first-order response; it is exact for s1 next to s2, too.

    The arguments broadcast; ``delta`` is real, the others are positive.  With ``p_i = e^-W_i`` it is ``-delta
    (s2/ridge)^2 p1 p2 (1 - e^(W2 - W1)) / ((1 + W1) (1 + W2))``, at a relative error below 1e-13.  Raises
    ``ValueError`` for other values.  [pezeshki2021, Eq. 53]

    Example:

    >>> perturbed_derivative(0.1, [1.0, 3.0], 2.0, ridge=0.01).round(6)
    array([ 0.124747, -0.003706])
    """
    coupling, a, p = _two_lone(delta, s1, s2, ridge)
    first, second, penalty = broadcast(
        s1=numbers("s1", s1), s2=numbers("s2", s2), ridge=numbers("ridge", ridge)
    )
    w = -np.log(p)
    # W1 - W2 =: D solves D + log(1 + D/W2) = log((a1 + 1)/(a2 + 1)); for s1 near s2 the difference cancels.
    growth = (first - second) / penalty * (first + second) / (a[..., 1] + 1)
    near, apart = np.abs(growth) < 0.5, w[..., 0] - w[..., 1]
    target = np.log1p(np.where(near, growth, 0))
    root = np.where(near, apart, 0)
    for _ in range(3):
        root = root - (root + np.log1p(root / w[..., 1]) - target) / (1 + 1 / (w[..., 1] + root))
    apart = np.where(near, root, apart)
    shares = p[..., 0] / (1 + w[..., 0]) * (a[..., 1] * p[..., 1]) / (1 + w[..., 1])
    return coupling * shares * np.expm1(-apart) / penalty


def _two_lone(
    delta: ArrayLike, s1: ArrayLike, s2: ArrayLike, ridge: ArrayLike
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return delta (...), ``s_i^2 / ridge`` and Eq. 19's fixed points without coupling, both (..., 2)."""
    positive = {"s1": numbers("s1", s1, 0), "s2": numbers("s2", s2, 0), "ridge": numbers("ridge", ridge, 0)}
    coupling, first, second, penalty = broadcast(delta=numbers("delta", delta), **positive)
    strengths = np.stack([first, second], axis=-1)
    a = strengths / penalty[..., None] * strengths
    return coupling, a, lone_dual(a + 1)


def response_derivatives(problem: FeatureProblem, dual: ArrayLike | None = None) -> np.ndarray:
    """Return the exact ``dz_k/ds_j^2`` at the fixed point of Eq. 17, shape (r, r) with k along the rows.

    From the implicit function theorem: for ``k != j`` it is
    ``-(s_k^2/ridge^2) (u_j.p) u_k.(D + A)^{-1} u_j`` with ``D = diag(1/(p(1-p)))``, in all
    ``(I + C G)^{-1} diag(U^T p)/ridge`` with ``C = S^2/ridge``, ``G = U^T D^{-1} U``.  The relative error of
    an entry is some 1e-13, but where terms of different signs cancel.  ``dual`` p (n,) is the fixed point,
    computed when not given.  Raises ``ValueError`` for a dual of another shape or outside (0, 1).

    Example:

    >>> response_derivatives(two_features(0.3, 3.0, 2.0, ridge=0.01)).round(4)
    array([[ 0.1322, -0.0324],
           [-0.0145,  0.166 ]])
    """
    p = dual_fixed_point(problem) if dual is None else array("dual", dual, (len(problem.u),), 0, 1)
    # U is orthogonal, so the least entry of D^{-1} can be taken out of G, which leaves little to cancel.
    least = p[np.argmin(p * (1 - p))]
    above = (p - least) * ((0.5 - p) + (0.5 - least))
    inner = least * (1 - least) * np.eye(problem.strengths.size) + (problem.u.T * above) @ problem.u
    root = np.maximum(problem.strengths / np.sqrt(problem.ridge), 1e-150)  # zero strengths as a limit
    inverse = np.linalg.inv(np.eye(root.size) + root[:, None] * inner * root)
    return root[:, None] * inverse / root * (problem.u.T @ p) / problem.ridge


def starved_share(problem: FeatureProblem, raised: int) -> float:
    """Return the share of the other responses that shrink in size when the strength of one feature grows.

    ``raised``, from 0 to r - 1, is the index of that feature; the derivatives are those of
    :func:`lib.theory.starvation.response_derivatives`.  Raises ``ValueError`` for another index and for a
    single feature.

    Example:

    >>> [starved_share(two_features(delta, 3.0, 2.0, 0.01), 0) for delta in (0.3, -0.3)]
    [1.0, 0.0]
    """
    features = problem.strengths.size
    if features < 2:
        raise ValueError("problem has one feature, allowed: two or more")
    raised = whole("raised", raised)
    if raised >= features:
        raise ValueError(f"raised is {raised}, allowed: whole numbers below {features}")
    dual = dual_fixed_point(problem)
    growth = np.sign(problem.responses(dual)) * response_derivatives(problem, dual)[:, raised]
    return float(np.mean(np.delete(growth, raised) < 0))


def starvation_sign(delta: ArrayLike, s1: ArrayLike, s2: ArrayLike) -> np.ndarray:
    """Return the sign of ``d|z2|/ds1^2`` at the exact fixed point, for any ridge; the arguments broadcast.

    It is ``-sign(delta) sign(s1^2 - s2^2)`` for every coupling but ``delta^2 = 1/2``, where the derivative
    is zero (and z2 with it, for positive ``delta``).  Strengths are positive.  Raises ``ValueError`` for a
    coupling outside (-1, 1) and other strengths.

    Example:

    >>> starvation_sign([0.3, -0.3, 0.3, 0.9], [3.0, 3.0, 1.0, 3.0], 2.0)
    array([-1,  1,  1, -1])
    """
    coupling, first, second = broadcast(
        delta=numbers("delta", delta, -1, 1), s1=numbers("s1", s1, 0), s2=numbers("s2", s2, 0)
    )
    return (-np.sign(coupling) * np.sign(first - second)).astype(int)


def square_loss_responses(problem: FeatureProblem) -> np.ndarray:
    """Return the fixed point z, shape (r,), of ``sum (1 - q)^2/2 + ridge |theta|^2/2``: no starvation.

    Example:

    >>> [square_loss_responses(two_features(0.5, s1, 2.0, 0.01))[1].round(6).item() for s1 in (2.0, 9.0)]
    [0.365113, 0.365113]
    """
    squares = problem.strengths**2
    return squares / (squares + problem.ridge) * problem.u.sum(axis=0)
