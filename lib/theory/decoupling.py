"""Fixed points of spectral decoupling, the penalty on the square of a network's outputs."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, wrightomega

from lib.checks import array, broadcast, number, numbers, refuse_overflow
from lib.theory.duality import FeatureProblem, dual_responses
from lib.theory.roots import increasing_root


@refuse_overflow
def decoupled_response(penalty: ArrayLike, target: ArrayLike = 0.0) -> np.ndarray:
    """Return the root q of ``sigma(-q) = penalty (q - target)`` [pezeshki2021, Eq. 27; with target, Eq. 28].

    It is the signed response of every example at the fixed point of spectral decoupling, with the loss ``sum
    log(1 + exp(-q)) + penalty (q - target)^2 / 2``, when the tangent features have full row rank; ``target``
    is ``y gamma``.  ``penalty`` is positive, ``target`` real; they broadcast.  ``q - target`` has a relative
    error below 1e-14, for penalties from 1e-300 to 1e300.  Raises ``ValueError`` for other values.

    Example:

    >>> decoupled_response([0.002, 0.012, 0.088], [0.0, 2.5, -0.44]).round(6)
    array([4.66512 , 3.999535, 1.549855])
    """
    weight, goal = broadcast(penalty=numbers("penalty", penalty, 0), target=numbers("target", target))
    scale = np.log(weight)

    def excess(y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        q = goal + np.exp(y)
        return y + scale + np.logaddexp(0, q), 1 + np.exp(y) * expit(q)

    # y = log(q - target): the root lies below both bounds, and the slope is at least 1.
    above = np.log(wrightomega(np.maximum(-goal - scale, 0)))
    above = np.minimum(above, -scale - np.logaddexp(0, goal))
    x = np.exp(increasing_root(excess, above - 1 - np.abs(excess(above)[0]), above, unit=1.0))
    # One step in x itself removes the rounding of log(penalty).
    p = expit(-goal - x)
    return goal + x - (weight * x - p) / (weight + p * (1 - p))


@refuse_overflow
def decoupled_problem(u: ArrayLike, penalty: float) -> FeatureProblem:
    """Return the problem whose dual is that of spectral decoupling for any rank: ``A = U U^T / penalty``.

    ``u`` (n, r) has orthonormal columns, ``penalty`` is positive.  The strengths drop out; its responses are
    those of the decoupled network.  Raises ``ValueError`` for other values.
    [pezeshki2021, Eq. 26, repaired]

    Example:

    >>> decoupled_problem(np.eye(3)[:, :2], 0.5).coupling
    array([[2., 0., 0.],
           [0., 2., 0.],
           [0., 0., 0.]])
    """
    columns = array("u", u, ("n", "r"))
    return FeatureProblem(columns, np.ones(columns.shape[1]), number("penalty", penalty, 0))


@refuse_overflow
def decoupled_responses(u: ArrayLike, penalty: float, target: ArrayLike = 0.0) -> np.ndarray:
    """Return the fixed point z, shape (r,), of spectral decoupling for features of any rank and strength.

    It minimises ``sum log(1 + exp(-q)) + penalty |q - target|^2 / 2`` over ``q = U z``.  ``u`` (n, r) has
    orthonormal columns, ``penalty`` is positive, ``target``, (n,) or one number of size up to 1e8, holds ``y
    gamma``.  With square U all q are those of :func:`lib.theory.decoupling.decoupled_response`; with fewer
    features than examples these stay coupled through ``U U^T``.  Raises ``ValueError`` for other values.
    [pezeshki2021, Eqs. 26 to 28, repaired]

    Example:

    >>> u = np.array([[0.6], [0.8]])
    >>> u @ decoupled_responses(u, 0.1), decoupled_response(0.1).round(6)
    (array([1.3806333, 1.8408444]), np.float64(1.633506))
    """
    problem = decoupled_problem(u, penalty)
    n, given = len(problem.u), numbers("target", target)
    aimed = np.broadcast_to(array("target", given, (n,) if given.ndim else (), -1e8, 1e8, "[]"), (n,))
    along = aimed @ problem.u
    return along + dual_responses(problem, problem.u @ along)
