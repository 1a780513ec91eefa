"""From alignment to the fit of each class on orthogonally separable data: times, exact curves, bounds.

After alignment each class is fitted by neurons of its own.  Conventions of min2024: losses are summed over
data, the network is balanced, ``z_i = y_i x_i``; ``loss`` is "exponential", ``exp(-q)`` of the margin q, or
"twice logistic", ``2 log(1 + exp(-q))``, which both have slope -1 at margin zero.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.integrate import solve_ivp
from scipy.special import expi, expit, exprel

from lib.arguments import array, broadcast, choice, number, numbers, refuse_overflow
from lib.theory.cone_constants import AlignmentConstants
from lib.theory.orthogonal_data import lengths
from lib.theory.roots import increasing_root

LOSSES = ("exponential", "twice logistic")
_SERIES = [1 / (k * np.prod(np.arange(1.0, k + 1))) for k in range(20, 0, -1)]  # below 1e-20 for q < 1
_LARGEST = 709.0  # SciPy's Ei overflows soon after; Ei(709) is 1.2e305


def slope_error_constant(loss: str, radius: ArrayLike) -> np.ndarray:
    """Return the least C with ``|-dl/df - y| <= C |f|`` for all outputs ``|f| <= radius``, at label 1.

    ``loss`` is "exponential" (C is ``(e^r - 1)/r``: e - 1 for outputs up to 1, where the paper has 2),
    "twice logistic" (1/2) or "square" (1); ``radius`` is positive, of any shape; infinite where it
    overflows.  Raises ``ValueError`` for other values.  [min2024, Lemma 2; the values are ours]

    Example:

    >>> float(slope_error_constant("exponential", 1.0).round(6))
    1.718282
    """
    r = numbers("radius", radius, 0.0)
    if choice("loss", loss, (*LOSSES, "square")) == "exponential":
        with np.errstate(over="ignore"):
            return exprel(r)
    return np.full(r.shape, 0.5 if loss == "twice logistic" else 1.0)


@refuse_overflow
def refined_alignment_time(n_class: ArrayLike, mu: ArrayLike, x_min: ArrayLike) -> np.ndarray:
    """Return ``6/(sqrt(mu) n_class X_min)``, the time from t_1 until all cosines with the sum are 1/4.

    ``n_class`` counts the data of the class, from 1; ``mu`` in (0, 1], ``x_min`` positive; all broadcast.
    Raises ``ValueError`` for other values.  [min2024, Eq. 37-38]

    Example:

    >>> float(refined_alignment_time(3, 0.25, 1.0))
    4.0
    """
    n, mu, x = broadcast(
        n_class=numbers("n_class", n_class, 1.0, ends="[)"),
        mu=numbers("mu", mu, 0.0, 1.0, "(]"),
        x_min=numbers("x_min", x_min, 0.0),
    )
    return 6 / (np.sqrt(mu) * n * x)


@refuse_overflow
def proved_fitting_time(
    constants: AlignmentConstants,
    n_class: ArrayLike,
    w_min: ArrayLike,
    log_scale: ArrayLike,
    aligned: ArrayLike,
) -> np.ndarray:
    """Return the paper's bound on t_2 of one class, the first time its largest output exceeds 1/4.

    ``t_1 + 6/c + (4/c) (ln(2/(scale^2 sqrt(mu) X_min W_min^2)) + 4 n X_max t_1)``, ``c = sqrt(mu) n_class
    X_min``.  ``constants`` are those of the data, ``n_class`` counts the data of the class, ``w_min`` is
    the least norm of a neuron at scale 1, ``log_scale`` the logarithm of the scale, ``aligned`` the time
    t_1, zero or more; all broadcast.  Raises ``ValueError`` for other values.  [min2024, Eq. 36, 39]

    Example:

    >>> constants = AlignmentConstants(2, 0.25, 0.5, 0.5, 0.7, 1.0, 1.0)
    >>> float(proved_fitting_time(constants, 1, 1.0, -100.0, 0.5).round(2))
    1655.59
    """
    n, w, log, start = broadcast(
        n_class=numbers("n_class", n_class, 1.0, constants.n, "[]"),
        w_min=numbers("w_min", w_min, 0.0),
        log_scale=numbers("log_scale", log_scale),
        aligned=numbers("aligned", aligned, 0.0, ends="[)"),
    )
    speed = np.sqrt(constants.mu) * n * constants.x_min
    gap = np.log(2) - 2 * log - np.log(constants.mu) / 2 - np.log(constants.x_min) - 2 * np.log(w)
    return start + (6 + 4 * (gap + 4 * constants.n * constants.x_max * start)) / speed


@refuse_overflow
def log_group_bound(
    n: ArrayLike, x_max: ArrayLike, aligned: ArrayLike, log_squared_norm: ArrayLike
) -> np.ndarray:
    """Return the logarithm of ``exp(-4 n X_max t_1) sum_j |w_j(0)|^2``, below which no group falls by t_1.

    ``log_squared_norm`` is the logarithm of the sum at time 0, ``n`` the number of data, from 1, ``x_max``
    positive, ``aligned`` the time t_1, zero or more; all broadcast.  Raises ``ValueError`` for other values.
    [min2024, Lemma 13]

    Example:

    >>> float(log_group_bound(5, 1.0, 0.5, -100.0))
    -110.0
    """
    n, x, t, log = broadcast(
        n=numbers("n", n, 1.0, ends="[)"),
        x_max=numbers("x_max", x_max, 0.0),
        aligned=numbers("aligned", aligned, 0.0, ends="[)"),
        log_squared_norm=numbers("log_squared_norm", log_squared_norm),
    )
    return log - 4 * n * x * t


@refuse_overflow
def fitting_time(total: ArrayLike, log_scale: ArrayLike) -> np.ndarray:
    """Return the leading term ``ln(1/scale)/|x_+-|`` of the time at which a class is fitted.

    ``total`` is the class sum (d,), not zero, divided by n for the mean loss; ``log_scale`` has any
    shape.  The paper's O((1/n) log(1/scale)) hides the imbalance of the classes.  Raises ``ValueError``
    for other values. Ours, for [min2024, Theorem 1 (ii)].

    Example:

    >>> fitting_time([3.0, 4.0], [-10.0, -1e4]).tolist()
    [2.0, 2000.0]
    """
    rate = lengths(array("total", total, ("d",)))
    if not rate:
        raise ValueError("total is the zero vector, allowed: other sums")
    return -numbers("log_scale", log_scale) / rate


def idle_exponent(drift: ArrayLike, total: ArrayLike) -> np.ndarray:
    """Return the power of the scale that a neuron stuck with a smaller drift has reached at the class's fit.

    ``1 - drift/total``: its norm is of the order of scale to this power.  ``drift`` is the length of its own
    drift, zero or more, ``total`` that of the class sum, at least as large; they broadcast.  Raises
    ``ValueError`` for other values.  Ours; [min2024, App. A.3] says that such neurons do not grow.

    Example:

    >>> float(idle_exponent(1.0, 2.0))
    0.5
    """
    size = numbers("total", total, 0.0)
    own, size = broadcast(drift=numbers("drift", drift, 0.0, ends="[)"), total=size)
    if (own > size).any():
        raise ValueError(
            f"drift holds {own[own > size].flat[0]}, allowed: up to total, {size[own > size].flat[0]}"
        )
    return (size - own) / size


@refuse_overflow
def class_fitting_time(
    signed_inputs: ArrayLike, log_squared_norm: ArrayLike, *, level: float = 0.25, loss: str = "exponential"
) -> np.ndarray:
    """Return when the largest margin of a class reaches ``level``, up to errors that vanish with the scale.

    ``signed_inputs`` (k, d) are the ``z_i`` of the class, none zero, no two with a negative product; x is
    their sum.  ``log_squared_norm``, of any shape, is the c of ``ln sum_j |w_j(t)|^2 = 2 |x| t + c`` for
    the neurons that fit the class, while outputs are negligible: the log-sum-exp of twice their log-norms
    at time 0 plus the offsets that :func:`lib.flow.alignment.alignment_phase` finds.  ``level`` is
    between 0 and 700.  The leading term is :func:`lib.theory.class_fitting.fitting_time`; the rest is the
    delay by saturation of one neuron that leaves zero along x, from an integration to a relative 1e-11.
    Raises ``ValueError`` for other arguments.  Ours, for [min2024, Theorem 1 (ii)].

    Example:

    >>> class_fitting_time([[2.0, 0.0]], [-100.0, -1000.0]).round(6).tolist()
    [24.546773, 249.546773]
    """
    z = array("signed_inputs", signed_inputs, ("k", "d"))
    if not (norms := lengths(z)).all():
        raise ValueError(f"signed_inputs holds a zero row, at index {norms.argmin()}, allowed: other inputs")
    scale = norms.max()
    z = z / scale
    if (products := z @ z.T).min() < -1e-12:
        i, k = np.unravel_index(products.argmin(), products.shape)
        raise ValueError(
            f"signed_inputs {i} and {k} have the product {products[i, k] * scale**2:.3g}, allowed: 0 or more"
        )
    constant = numbers("log_squared_norm", log_squared_norm)
    level = number("level", level, 0.0, 700.0, "(]")
    exponential = choice("loss", loss, LOSSES) == "exponential"
    total = z.sum(axis=0)
    rate = np.linalg.norm(total)
    direction = total / rate
    # From margins of 1e-14 level on, in the log-norm rho as the variable: no step is wasted on waiting.
    log_scale, log_level = np.log(scale), np.log(level)
    small = (np.log(1e-14) + min(log_level, 0.0) - np.log((z @ direction).max()) - log_scale) / 2

    def field(rho: float, state: np.ndarray) -> np.ndarray:
        v = state[:-1]
        margins = np.exp(2 * rho + log_scale) * (z @ v)
        push = (np.exp(-margins) if exponential else 2 * expit(-margins)) @ z
        speed = v @ push
        return np.append(push / speed - v, 1 / speed)

    def reached(rho: float, state: np.ndarray) -> float:
        return 2 * rho + log_scale - log_level + np.log((z @ state[:-1]).max())

    reached.terminal = True  # type: ignore[attr-defined]
    start = np.append(direction, 0.0)
    span = (small, small + (40 + max(log_level, 0.0)) / 2 + 10)
    run = solve_ivp(field, span, start, method="DOP853", events=reached, rtol=1e-12, atol=1e-13)
    return (run.y_events[0][0][-1] + (2 * small - constant) / (2 * rate)) / scale


def _primitive(log_margin: np.ndarray, exponential: bool) -> np.ndarray:
    """Return ``2 |x| t`` up to a constant as a function of the logarithm of the margin."""
    q = np.exp(np.minimum(log_margin, np.log(_LARGEST)))
    near = q < 1
    series = np.where(near, q, 0.5) * np.polyval(_SERIES, np.where(near, q, 0.5))
    integral = np.where(near, np.euler_gamma + log_margin + series, expi(np.where(near, 1.0, q)))
    return integral if exponential else (log_margin + integral) / 2


@refuse_overflow
def datum_fitting_time(
    log_margin: ArrayLike, log_start: ArrayLike, norm: ArrayLike = 1.0, *, loss: str = "exponential"
) -> np.ndarray:
    """Return the time in which a neuron aligned with the one datum of its class raises its margin.

    From ``exp(log_start)`` to ``exp(log_margin)``, at most 709, as natural logarithms of any size;
    ``norm`` is that of the datum, positive; all broadcast.  Exact: ``2 |x| t`` is the increase of
    ``Ei(q)``, or of ``(ln q + Ei(q))/2`` for the twice logistic loss; relative accuracy 1e-13 of the
    larger of the two terms subtracted.  Raises ``ValueError`` for other values.  Ours.

    Example:

    >>> float(datum_fitting_time(np.log(0.25), -2000.0).round(6))
    999.440121
    """
    exponential = choice("loss", loss, LOSSES) == "exponential"
    last, first, norm = broadcast(
        log_margin=numbers("log_margin", log_margin, high=np.log(_LARGEST), ends="(]"),
        log_start=numbers("log_start", log_start, high=np.log(_LARGEST), ends="(]"),
        norm=numbers("norm", norm, 0.0),
    )
    return (_primitive(last, exponential) - _primitive(first, exponential)) / (2 * norm)


@refuse_overflow
def datum_log_margin(
    times: ArrayLike, log_start: ArrayLike, norm: ArrayLike = 1.0, *, loss: str = "exponential"
) -> np.ndarray:
    """Return the logarithm of the margin of a neuron aligned with the one datum of its class, at ``times``.

    The inverse of :func:`lib.theory.class_fitting.datum_fitting_time`: ``times`` are zero or more, with
    ``2 norm t`` at most 1e305, ``log_start`` the logarithm of the margin at time 0, ``norm`` that of the
    datum, positive; all broadcast.  Absolute accuracy 1e-14 times ``1 + |log_start| + 2 norm t exp(-q)``.
    Raises ``ValueError`` for other values.  Ours.

    Example:

    >>> datum_log_margin([0.0, 999.0, 1010.0], -2000.0).round(6).tolist()
    [-2000.0, -2.12331, 1.40305]
    """
    exponential = choice("loss", loss, LOSSES) == "exponential"
    t, first, norm = broadcast(
        times=numbers("times", times, 0.0, ends="[)"),
        log_start=numbers("log_start", log_start, high=np.log(_LARGEST), ends="(]"),
        norm=numbers("norm", norm, 0.0),
    )
    if (norm > 5e304 / np.maximum(t, 1)).any():
        raise ValueError(f"times hold {t.max()} and norm {norm.max()}, allowed: 2 norm times up to 1e305")
    target = _primitive(first, exponential) + 2 * norm * t
    # Ei(q) > gamma + ln q, so that the logarithm of the margin never exceeds its linear growth.
    high = np.minimum(np.log(_LARGEST), first + 2 * norm * t)

    def gap(log_margin: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        slope = np.exp(np.minimum(np.exp(log_margin), _LARGEST))
        return _primitive(log_margin, exponential) - target, slope if exponential else (1 + slope) / 2

    return increasing_root(gap, first, np.maximum(high, first), unit=1.0)
