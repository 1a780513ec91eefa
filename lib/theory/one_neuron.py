"""A ReLU neuron on one input with the cross-entropy loss, in closed form.

The neuron has pre-activation ``h = <w, x>``, output weight ``a`` and logit ``u = a h``; ``norm`` is ``|x|``
and the label is +1 (for -1 change the sign of ``a``).  Gradient flow is ``h' = norm^2 a sigmoid(-u)``, ``a' =
h sigmoid(-u)`` and conserves ``c = h^2 - norm^2 a^2`` [combes2018, Appendix A.3].  Balanced means ``c = 0``;
off balance the half-width of the hyperbola, ``b = |c| / (2 norm)``, is all that matters.  A neuron learns if
``h > 0`` and ``h + norm a > 0``, dies in finite time if ``0 < h < -norm a``, and never moves if ``h <= 0``
[combes2018, Section 3.3].  Arguments broadcast.

Several balanced neurons are one, whose logit is the sum of theirs, and m orthogonal inputs of one norm and
equal pre-activations, trained on the sum of their losses, are one input of norm ``sqrt(m) norm`` [combes2018,
Appendix A.7].
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.integrate import tanhsinh
from scipy.optimize import brentq, minimize_scalar
from scipy.special import exp1, expi, expit, lambertw

_SERIES = [1 / (k * np.prod(np.arange(1.0, k + 1))) for k in range(26, 0, -1)]  # below 1e-21 for |u| < 1.7


def log_integral(u: ArrayLike) -> np.ndarray:
    """Return ``F(u) = log|u| + Ei(u)`` for u other than 0, of any shape.

    Increasing from minus infinity on ``u > 0``; on ``u < 0`` increasing in ``|u|``.  The logit of a balanced
    neuron makes it grow linearly in time [combes2018, Eq. 2].

    >>> log_integral([-1.0, 1e-9, 1.0, 10.0]).round(6).tolist()
    [-0.219384, -40.869316, 1.895118, 2494.531561]
    """
    return np.log(np.abs(u)) + expi(u)


def inverse_log_integral(value: ArrayLike) -> np.ndarray:
    """Return the ``u > 0`` with ``log(u) + Ei(u) = value``, for arrays of any shape, to rounding.

    Halley's method in ``log u``, of which F is a convex function, from above: ``F(u) >= 2 log(u) + gamma``,
    and ``u <= log F + log log F + 1`` for F of 2 or more.

    >>> inverse_log_integral([-40.869316, 1.895118, 1e300]).round(6).tolist()
    [0.0, 1.0, 697.321337]
    """
    value = np.asarray(value, dtype=float)
    large = np.log(np.maximum(value, 2.0))
    log_u = np.where(value < 2, (value - np.euler_gamma) / 2, np.log(large + np.log(large) + 1))
    for _ in range(4):  # 3 reach rounding
        u = np.exp(log_u)
        newton = (log_u + expi(u) - value) / (1 + np.exp(u))
        log_u = log_u - newton / (1 - newton * u * expit(u) / 2)
    return np.exp(log_u)


def _entire_part(u: np.ndarray) -> np.ndarray:
    """Return ``Ei(u) - log|u| - gamma = sum_k u^k / (k k!)`` for ``|u| < 1.7``."""
    return u * np.polyval(_SERIES, u)


def _inverse_negative(value: np.ndarray) -> np.ndarray:
    """Return the ``u < 0`` with ``log|u| + Ei(u) = value``."""
    # F(-w) lies below both 2 log w + gamma and log w and is concave in log w: from the start, which lies left
    # of the root, Newton's steps never overshoot.
    logarithm = np.maximum((value - np.euler_gamma) / 2, value)
    for _ in range(6):
        below = np.piecewise(
            logarithm,
            [logarithm < 0],
            [lambda s: 2 * s + np.euler_gamma + _entire_part(-np.exp(s)), lambda s: s - exp1(np.exp(s))],
        )
        logarithm = logarithm - (below - value) / (1 + np.exp(-np.exp(logarithm)))
    return -np.exp(logarithm)


def logit(times: ArrayLike, u0: ArrayLike, norm: ArrayLike = 1.0) -> np.ndarray:
    """Return the logit of a balanced neuron, ``h0 = norm |a0|``, which starts at ``u0``, not zero.

    From ``u0 > 0`` the logit grows, ``u = F^-1(F(u0) + 2 norm t)`` [combes2018, Theorem 3.2]; from ``u0 < 0``
    it decays to zero, ``F(u) = F(u0) - 2 norm t`` [combes2018, Appendix A.6 integrated].  Times up to some
    1e300, and ``u0`` up to 700.

    >>> logit([0.0, 3.0, 1e6], [[0.1], [-0.1]]).round(6).tolist()
    [[0.1, 1.048564, 17.295107], [-0.1, -0.004753, -0.0]]
    """
    times, u0, norm = np.broadcast_arrays(np.asarray(times, dtype=float), u0, norm)
    result, up = np.empty(times.shape), u0 > 0
    moved = log_integral(u0) + np.where(up, 2, -2) * norm * times
    result[up], result[~up] = inverse_log_integral(moved[up]), _inverse_negative(moved[~up])
    return np.maximum(result, u0)  # no rounding below the start


def curvature(u: ArrayLike, b: ArrayLike = 0.0) -> np.ndarray:
    """Return ``1 - 3 sigmoid(u) + u / (b^2 + u^2)``, whose sign is that of the curve's second derivative.

    The neuron learns, that is ``u' = 2 norm sqrt(b^2 + u^2) sigmoid(-u)``.
    """
    return 1 - 3 * expit(u) + u / (np.square(b) + np.square(u))


LOGIT_INFLECTION = 1 + float(lambertw(np.exp(-1)).real)
"""The logit itself inflects where ``u = 1 + e^-u`` (c = 0)."""

CURVE_INFLECTION = float(brentq(curvature, 0.5, 1.5, xtol=1e-15))
"""The probability inflects at this logit, where ``1/u + 1 = 3 sigmoid(u)`` (c = 0)."""

LARGEST_SIGMOIDAL_INVARIANT = float(
    np.sqrt(
        -minimize_scalar(
            lambda u: u**2 - u / (3 * expit(u) - 1), bounds=(0.1, 0.8), options={"xatol": 1e-10}
        ).fun
    )
)
"""From ``|c| / (2 norm)`` of this size on the curve has no convex part at positive logits."""


def curve_inflections(b: float) -> tuple[float, ...]:
    """Return the positive logits at which the probability inflects, for ``b = |c| / (2 norm)``.

    One if b is zero, two below :data:`LARGEST_SIGMOIDAL_INVARIANT`, none from there on.

    >>> [round(u, 4) for u in curve_inflections(0.2)], curve_inflections(0.6)
    ([0.0208, 0.8573], ())
    """
    if b == 0:
        return (CURVE_INFLECTION,)
    turn = float(minimize_scalar(lambda u: -curvature(u, b), bounds=(0.0, 1.0), options={"xatol": 1e-10}).x)
    if b >= LARGEST_SIGMOIDAL_INVARIANT or curvature(turn, b) <= 0:
        return ()
    # Below b^2 / 4 the curvature is under -1/4; the smaller root is near b^2 / 2 for small b.
    return tuple(
        float(brentq(curvature, *ends, args=(b,), xtol=1e-300, rtol=1e-15, maxiter=2000))
        for ends in ((b**2 / 4, turn), (turn, 2.0))
    )


def equivalent_neuron(h: ArrayLike, a: ArrayLike, norm: float = 1.0) -> tuple[float, float]:
    """Return ``(h, a)`` of the one neuron whose logit is that of these active neurons, shape (m,), together.

    In ``(h + norm a)^2 / (4 norm)`` and ``(h - norm a)^2 / (4 norm)``, whose difference is the logit, neurons
    add.  The invariant is at least the sum of the neurons' own, with equality only if all ``(h_j - norm a_j)
    / (h_j + norm a_j)`` agree.  Valid while every neuron stays active.

    >>> h, a = equivalent_neuron([1.0, 0.5], [0.5, 1.0])
    >>> round(h, 6), round(a, 6), round(h * a, 6)  # the logit is 1 * 0.5 + 0.5 * 1
    (1.414214, 0.707107, 1.0)
    """
    h, b = np.asarray(h), norm * np.asarray(a)
    rising, falling = np.linalg.norm(h + b), np.linalg.norm(h - b)
    return float(rising + falling) / 2, float(rising - falling) / (2 * norm)


def time_to_logit(u1: ArrayLike, h0: ArrayLike, a0: ArrayLike, norm: ArrayLike = 1.0) -> np.ndarray:
    """Return the time at which an active neuron started at ``(h0, a0)`` has logit ``u1``.

    ``u1`` is at least the initial logit, and at most 700, or 0 for a neuron that dies.  The time is the
    integral of ``(1 + e^v) / sqrt(v^2 + b^2)`` over the logits passed, divided by ``2 norm`` [combes2018,
    Eqs. 20 to 22]; for b = 0 the increase of :func:`log_integral`, infinite where the way leads to zero.
    At logit 0 the output weight of a neuron with ``0 < -norm a0 < h0`` changes its sign, and one with
    ``0 < h0 < -norm a0`` dies.  By double-exponential quadrature, to some 1e-13.

    >>> time_to_logit([0.0, 6.0], 1.0, [[0.0], [-0.9]]).round(6).tolist()
    [[0.0, 44.455933], [2.620921, 49.210256]]
    """
    scaled = np.multiply(norm, a0)
    b = np.abs(np.add(h0, scaled) * np.subtract(h0, scaled)) / np.multiply(2, norm)
    u0, u1, b = np.broadcast_arrays(np.multiply(h0, a0), np.asarray(u1, dtype=float), b)
    with np.errstate(divide="ignore", invalid="ignore"):
        turned = np.where(b > 0, np.arcsinh(u1 / b) - np.arcsinh(u0 / b), np.abs(np.log(u1 / u0)))
    turned = np.where((b == 0) & (u0 * u1 <= 0), np.where(u0 == u1, 0.0, np.inf), turned)
    base = np.clip(0.0, u0, u1)  # next to 0 the integrand changes at the scale of b
    late, early = (
        tanhsinh(_excess, 0.0, 1.0, args=(base, end - base, b), minlevel=4, rtol=1e-13).integral
        for end in (u1, u0)
    )
    return (2 * turned + late - early) / np.multiply(2, norm)


def _excess(share: np.ndarray, base: np.ndarray, way: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return ``(e^v - 1) / sqrt(v^2 + b^2)`` times the way, at that share of the way from the base."""
    v = base + way * share
    return way * np.expm1(v) / np.maximum(np.hypot(v, b), np.finfo(float).tiny)
