"""Margins of leaky networks late in training: smoothed margins, thresholds, and the law of their direction.

``exp(-f(q))`` is the logistic loss ``log(1 + exp(-q))`` of a margin q.  Its logarithm is what is computed, so
that margins of any size, 1e-300 as well as 1e300, are allowed; relative errors are below 1e-14 but where a
value crosses zero, there absolute errors are.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import exprel

from lib.checks import array, broadcast, numbers, refuse_overflow
from lib.geometry.least_norm import ProgramSolution


def loss_exponent(margins: ArrayLike) -> np.ndarray:
    """Return ``f(q) = -log log(1 + exp(-q))`` for margins q of any shape; it increases, like q for large q.

    Raises ``ValueError`` for values that are not finite.  [sarussi2021, App. E, Assumption B3]

    Example:

    >>> loss_exponent([-20.0, 0.0, 40.0]).round(3)
    array([-2.996,  0.367, 40.   ])
    """
    return -_log_loss(numbers("margins", margins))


def margin_of_exponent(exponent: ArrayLike) -> np.ndarray:
    """Return ``g(x) = -log(exp(exp(-x)) - 1)``, the inverse of :func:`lib.theory.margins.loss_exponent`.

    ``exponent`` has any shape, entries from -700 on.  Raises ``ValueError`` for other values.
    [sarussi2021, App. E, Assumption B3]

    Example:

    >>> margin_of_exponent(loss_exponent([-300.0, 0.1, 300.0])).round(9)
    array([-3.e+02,  1.e-01,  3.e+02])
    """
    x = numbers("exponent", exponent, -700, ends="[)")
    loss = np.exp(-x)
    return np.where(loss < 1, x - _log_exprel(loss), -loss - np.log(-np.expm1(-np.maximum(loss, 0.5))))


@refuse_overflow
def smoothed_margin(margins: ArrayLike, norm: ArrayLike) -> np.ndarray:
    """Return ``-log(exp(sum_i log(1 + exp(-q_i))) - 1) / norm`` for margins q (..., n).

    ``norm`` (...), positive, is that of the weights.  The result, of shape (...), is at most ``min_i q_i /
    norm``.  Raises ``ValueError`` for other shapes and values.  [sarussi2021, Eq. 6]

    Example:

    >>> smoothed_margin([[1.0, 3.0], [800.0, 900.0]], norm=2.0).round(6)
    array([  0.415077, 400.      ])
    """
    q, size = _margins(margins, norm)
    return (q[..., 0] - _shortfall(q)) / size


@refuse_overflow
def smoothed_margin_gap(margins: ArrayLike, norm: ArrayLike) -> np.ndarray:
    """Return the bound ``(log((1 + e^-m)^n - 1) + m) / norm`` on normalised minus smoothed margin.

    ``m`` is the least of the ``margins`` (..., n), ``norm`` (...), positive, that of the weights.  It tends
    to ``log(n) / norm`` for large margins, and is attained when all margins are equal.  Raises
    ``ValueError`` for other shapes and values.

    Example:

    >>> smoothed_margin_gap([[1.0, 3.0], [1e6, 1e6]], norm=1.0).round(6)
    array([0.861995, 0.693147])
    """
    q, size = _margins(margins, norm)
    return _shortfall(np.broadcast_to(q[..., :1], q.shape)) / size


def _margins(margins: ArrayLike, norm: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Return the margins in increasing order and the norms, of matching shapes."""
    q, size = numbers("margins", margins), numbers("norm", norm, 0)
    if q.ndim < 1 or not q.shape[-1]:
        raise ValueError(f"margins has shape {q.shape}, allowed: (..., n), n > 0")
    least, size = broadcast(margins=q[..., 0], norm=size)
    return np.broadcast_to(np.sort(q), (*least.shape, q.shape[-1])), size


def _shortfall(q: np.ndarray) -> np.ndarray:
    """Return ``log(exp(sum_i log(1 + exp(-q_i))) - 1) + q_0`` for margins in increasing order; it is >= 0."""
    least = q[..., 0]
    losses = np.logaddexp(0, -q).sum(axis=-1)
    # Small losses: the sum relative to exp(-q_0).  Large ones: the sum without its part -q_0.
    one = np.exp(-np.maximum(q, -1))
    ratio = np.where(one > 0, np.log1p(one) / np.where(one > 0, one, 1), 1)
    with np.errstate(over="ignore"):
        small = np.log(np.sum(np.exp(least[..., None] - q) * ratio, axis=-1)) + _log_exprel(losses)
    large = np.logaddexp(0, least) + np.logaddexp(0, -q[..., 1:]).sum(axis=-1)
    return np.where(losses < 1, small, large + np.log(-np.expm1(-np.maximum(losses, 0.5))))


def _log_exprel(total: np.ndarray) -> np.ndarray:
    """Return ``log((exp(t) - 1) / t)`` for t up to 1."""
    return np.log(exprel(np.minimum(total, 1)))


def _log_loss(q: np.ndarray) -> np.ndarray:
    """Return ``log log(1 + exp(-q))``; from 37 on it is -q up to rounding."""
    return np.where(q > 37, -q, np.log(np.logaddexp(0, -np.minimum(q, 37))))


@refuse_overflow
def required_smoothed_margin(
    slope: ArrayLike, v: ArrayLike, k: ArrayLike, radius: ArrayLike, beta: ArrayLike = 0.0
) -> np.ndarray:
    """Return what the smoothed margin must exceed for no w neuron to call a positive point negative.

    It is ``slope * v * (sqrt(k) * radius - k * beta)``, with ``slope`` in (0, 1], ``v`` positive, ``k``
    neurons of each type, ``radius`` the largest input norm and ``beta`` (zero or more) the margin of the
    agreement regime; all broadcast.  Raises ``ValueError`` for other values.  [sarussi2021, Theorem 6.2,
    Assumption 3, as reconstructed from Eq. 28-30]

    Example:

    >>> required_smoothed_margin([0.1, 0.5], v=1.0, k=4, radius=3.0).round(12)
    array([0.6, 3. ])
    """
    lean, width = numbers("slope", slope, 0, 1, "(]"), numbers("k", k, 1, ends="[)")
    scale, size = lean * numbers("v", v, 0), numbers("radius", radius, 0)
    kept = numbers("beta", beta, 0, ends="[)")
    scale, width, size, kept = broadcast(slope=scale, k=width, radius=size, beta=kept)
    return scale * (np.sqrt(width) * size - width * kept)


def largest_slope_for_assumption_three(relative_margin: ArrayLike) -> np.ndarray:
    """Return below which leaky slope symmetric data can meet Assumption 3: ``rho / (sqrt(2) - rho)``.

    ``relative_margin`` rho, of any shape, is the linear margin over the largest input norm, above 0 and up to
    1.  Where the value exceeds 1, for rho above ``1 / sqrt(2)``, every leaky slope will do.  Raises
    ``ValueError`` for other values.

    Example:

    >>> largest_slope_for_assumption_three([0.38, 0.5]).round(4)
    array([0.3674, 0.5469])
    """
    rho = numbers("relative_margin", relative_margin, 0, 1, "(]")
    return rho / (np.sqrt(2) - rho)


def symmetric_data_margin(
    slope: ArrayLike, v: ArrayLike, k: ArrayLike, linear_margin: ArrayLike
) -> np.ndarray:
    """Return the normalised margin that training reaches on symmetric data.

    It is ``v sqrt(k) (1 + slope) m / sqrt(2)``.  Data are symmetric when ``(-x, -y)`` is a datum with ``(x,
    y)``; the limit is ``u = -w`` along the linear max-margin direction, whose margin m is ``linear_margin``,
    positive.  ``slope`` in (0, 1], ``v`` positive, ``k`` neurons of each type; all broadcast.  Raises
    ``ValueError`` for other values.  [sarussi2021, Eq. 8]

    Example:

    >>> symmetric_data_margin([0.1, 1.0], v=1.0, k=2, linear_margin=1.0).round(12)
    array([1.1, 2. ])
    """
    lean, width = numbers("slope", slope, 0, 1, "(]"), numbers("k", k, 1, ends="[)")
    scale, margin = numbers("v", v, 0), numbers("linear_margin", linear_margin, 0)
    lean, scale, width, margin = broadcast(slope=lean, v=scale, k=width, linear_margin=margin)
    return scale * np.sqrt(width / 2) * (1 + lean) * margin


@dataclass(frozen=True)
class LogarithmicLaw:
    """The limit of ``direction error * log(n / L)``, and the bounded part of the weights that causes it.

    Example:

    >>> from lib.geometry.least_norm import least_norm
    >>> rows = [[1.0, 0.2], [0.3, 1.0]]
    >>> law = logarithmic_law(least_norm(rows, [1.0, 1.0]), rows)
    >>> round(law.constant, 6), law.residual.round(6)
    (0.073664, array([0.324888, 0.394969]))
    """

    constant: float
    residual: np.ndarray


@refuse_overflow
def logarithmic_law(
    solution: ProgramSolution, features: ArrayLike, outside: ArrayLike | None = None
) -> LogarithmicLaw:
    """Return the law by which the mean weights of an agreement regime approach their limit.

    ``solution`` is the minimum-norm solution with ``features @ x >= 1``, features (n, p).  The weights grow
    as ``g x + residual``: on support vectors ``<z_i, residual> + log(dual_i)`` is a constant, here zero
    (another value only shifts g).  ``outside`` (p,) is the component of the weights orthogonal to all support
    vectors, late in the flow: only the other points move it, and it comes to rest.  It may be left out when
    the support vectors span the space.  The distance of the direction of the weights from that of x, times
    ``log(n / L)`` with the mean loss L, tends to the ``constant`` of the result, which depends on the path
    through ``outside`` only.

    Raises ``ValueError`` for support vectors that do not span the space when ``outside`` is missing, for
    support vectors that are linearly dependent, and for other shapes.

    Example:

    >>> from lib.geometry.least_norm import least_norm
    >>> rows = [[1.0, 0.0, 0.0], [0.0, 2.0, 0.0]]
    >>> logarithmic_law(least_norm(rows, [1.0, 1.0]), rows, outside=[0.0, 0.0, 1.0]).residual.round(6)
    array([0.      , 0.693147, 1.      ])
    """
    x = array("solution", solution.x, ("p",))
    duals = array("solution", solution.duals, ("n",))
    rows = array("features", features, (len(duals), len(x)))[duals > 0]
    rank = int(np.linalg.matrix_rank(rows))
    if rank < len(rows):
        raise ValueError(
            f"features has {len(rows)} support vectors of rank {rank}, allowed: independent ones"
        )
    if rank < len(x) and outside is None:
        raise ValueError(
            f"the support vectors leave {len(x) - rank} dimensions free: give outside, where the flow rests "
            "in them"
        )
    residual, *_ = np.linalg.lstsq(rows, -np.log(duals[duals > 0]), rcond=None)
    if outside is not None:
        residual = residual + array("outside", outside, x.shape)
    direction = x / solution.norm
    across = residual - direction * (direction @ residual)
    return LogarithmicLaw(float(np.linalg.norm(across) / solution.norm), residual)
