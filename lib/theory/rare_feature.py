"""A feature that is rare within its class, starved of gradient by one that is always there.

Every input of the class holds the feature ``x1``, a share ``frequency`` of them also ``x2``.  One active
neuron with responses ``h1 = <w, x1>``, ``h2 = <w, x2>`` and output weight ``a > 0`` learns by cross-entropy::

    h1' = |x1|^2 a (f g12 + (1 - f) g1),      h2' = |x2|^2 a f g12,
    a' = f (h1 + h2) g12 + (1 - f) h1 g1,     g1 = sigmoid(-a h1),  g12 = sigmoid(-a (h1 + h2))

[combes2018, Eq. 8; for unit norms h1, h2 are its alpha, beta].  Here ``|x1| = 1`` and ``ratio = |x2|^2 /
|x1|^2``; for ``|x1| = s`` multiply ``h1, h2`` by the root of s, divide ``a`` by it and time by s.

The frequent logit ``L = a h1`` grows like the logarithm of time.  In the slow time ``dtau = dt / (1 + e^L)``
all velocities are bounded, and with ``y = sqrt(L)`` for the clock, as done here, a confidence of 1 - 1e-1000
costs no more than one of 1 - 1e-10.  Integrated by DOP853 to relative errors of about 1e-10.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.integrate import solve_ivp
from scipy.special import expit

from lib.arguments import array, broadcast, number, numbers, refuse_overflow

_RTOL = 1e-12
_ONSET = 1e-7  # root of the logit at which an infinitesimal start is handed to the integrator
_LATEST = 1e7  # root of the logit by which the rare response has long settled
_LATE = 10.0  # root of the logit from which time is a quadrature: its equation becomes stiff
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(60)
_REACH = 40.0  # logits before the last whose share of the time is above rounding


@dataclass(frozen=True)
class StarvationCurve:
    """The neuron when the frequent logit has given values; all fields have the shape of these.

    ``log_time`` is the logarithm of the time since the start, infinite after an infinitesimal one.

    Example:

    >>> curve = starvation_curve([2.0, 1e6], frequency=0.3, start=(0.1, 0.1, 0.1))
    >>> curve.rare_logit.round(3).tolist(), curve.log_time.round(2).tolist()
    ([0.629, 702.503], [1.95, 999985.85])
    """

    frequent_logit: np.ndarray
    h1: np.ndarray
    h2: np.ndarray
    a: np.ndarray
    log_time: np.ndarray

    @property
    def rare_logit(self) -> np.ndarray:
        """The logit ``a h2`` of an input with the rare feature alone."""
        return self.a * self.h2


def _velocity(
    y: float | np.ndarray, state: np.ndarray, frequency: float | np.ndarray, ratio: float | np.ndarray
) -> np.ndarray:
    """Return the velocities of h1, h2, a and slow time with respect to ``y = sqrt(a h1)``."""
    h1, h2, a = state
    frequent, rare = a * h1, a * h2
    # g12 / g1 = (1 + e^L) / (1 + e^(L + R)), without overflow since L + R > 0
    share = frequency * np.exp(-rare) * (1 + np.exp(-frequent)) / (1 + np.exp(-frequent - rare))
    dh1, dh2 = a * (share + (1 - frequency)), ratio * a * share  # no rounding of the share to 1
    da = (h1 + h2) * share + h1 * (1 - frequency)
    pace = 2 * y / (da * h1 + a * dh1)
    return np.stack([dh1 * pace, dh2 * pace, da * pace, pace])


@refuse_overflow
def starvation_curve(
    frequent_logit: ArrayLike,
    frequency: float,
    ratio: float = 1.0,
    start: tuple[float, float, float] | None = None,
) -> StarvationCurve:
    """Return the neuron at these values of the frequent logit L, an array of any shape [combes2018, Eq. 8].

    ``start`` is ``(h1, h2, a)`` with ``h1 > 0``, ``a > 0``, ``h1 + h2 > 0``; without it the start is
    infinitesimal, where all small starts end up: ``h1 : h2 : a = 1 : f ratio : sqrt(1 + f^2 ratio)``.
    Relative errors about 1e-10.  Raises ``ValueError`` for other starts, L below its initial value ``a h1``
    (1e-14 without a start), ``frequency`` outside (0, 1), ``ratio`` not positive.

    Example:

    >>> delta = np.array([1e-2, 1e-4, 1e-12])
    >>> curve = starvation_curve(np.log(1 / delta - 1), frequency=0.1)
    >>> (1 / (1 + np.exp(-curve.rare_logit))).round(4).tolist()
    [0.6013, 0.6774, 0.8421]
    """
    frequency, ratio = number("frequency", frequency, 0.0, 1.0), number("ratio", ratio, 0.0)
    if start is None:
        state, onset = _onset(np.array(frequency), np.array(ratio)), _ONSET
        logits = numbers("frequent_logit", frequent_logit, _ONSET**2)
    else:
        state = array("start", start, (3,))
        if not (state[0] > 0 and state[2] > 0 and state[0] + state[1] > 0):
            raise ValueError(f"start is {start}, allowed: (h1, h2, a) with h1 > 0, h1 + h2 > 0 and a > 0")
        logits = numbers("frequent_logit", frequent_logit, state[0] * state[2] * (1 - 1e-12), ends="[)")
        onset = float(np.sqrt(state[0] * state[2]))

    if not logits.size:
        return StarvationCurve(*[np.empty(logits.shape)] * 5)
    y = np.maximum(np.sqrt(logits), onset)
    path, scaled = _paths(state, onset, max(y.max(), onset * (1 + 1e-15)), frequency, ratio)
    h1, h2, a = path(y)
    if start is None:
        return StarvationCurve(logits, h1, h2, a, np.full(logits.shape, np.inf))
    reach = np.sqrt(np.maximum(logits[..., None] - _REACH * (1 + _NODES) / 2, onset**2))
    pace = _velocity(reach, path(reach), frequency, ratio)[3] / (2 * reach)
    late = _REACH / 2 * np.sum(_WEIGHTS * np.exp(-_REACH * (1 + _NODES) / 2) * pace, axis=-1)
    with np.errstate(divide="ignore"):
        log_time = np.logaddexp(0, logits) + np.log(np.where(y < max(_LATE, onset + 5), scaled(y), late))
    return StarvationCurve(logits, h1, h2, a, log_time)


def _paths(
    state: np.ndarray, onset: float, last: float, frequency: float, ratio: float
) -> tuple[Callable, Callable]:
    """Return h1, h2, a and ``t / (1 + e^L)`` (the latter early only) as functions of ``y``."""

    def early_velocity(y: float, state: np.ndarray) -> np.ndarray:
        dh1, dh2, da, pace = _velocity(y, state[:3], frequency, ratio)
        return np.array([dh1, dh2, da, pace - 2 * y * expit(y**2) * state[3]])

    def late_velocity(y: float, state: np.ndarray) -> np.ndarray:
        return _velocity(y, state, frequency, ratio)[:3]

    size = np.abs(state).max()
    options = {"method": "DOP853", "rtol": _RTOL, "dense_output": True}
    middle = min(last, max(_LATE, onset + 5))
    atol = [1e-3 * _RTOL * size] * 3 + [1e-15]
    early = solve_ivp(early_velocity, (onset, middle), [*state, 0.0], atol=atol, **options)
    if last > middle:
        late = solve_ivp(late_velocity, (middle, last), early.y[:3, -1], atol=atol[:3], **options)

    def path(y: np.ndarray) -> np.ndarray:
        flat = np.ravel(y)
        states = early.sol(np.minimum(flat, middle))[:3]
        if last > middle:
            states = np.where(flat <= middle, states, late.sol(np.maximum(flat, middle)))
        return states.reshape(3, *np.shape(y))

    return path, lambda y: early.sol(np.minimum(np.ravel(y), middle))[3].reshape(np.shape(y))


def _onset(frequency: np.ndarray, ratio: np.ndarray) -> np.ndarray:
    slope = np.sqrt(1 + frequency**2 * ratio)
    return (
        _ONSET
        / np.sqrt(slope)
        * np.stack([np.ones_like(slope), frequency * ratio * np.ones_like(slope), slope])
    )


@refuse_overflow
def limit_response(frequency: ArrayLike, ratio: ArrayLike = 1.0) -> np.ndarray:
    """Return the limit of ``h2`` after an infinitesimal start; the rare response stops growing.

    About ``1.136 sqrt(frequency ratio)`` for rare features.  Relative errors about 1e-11 for ``frequency
    ratio`` from 1e-6 on; the arguments broadcast, and are integrated together.  Raises ``ValueError`` unless
    ``frequency`` is in (0, 1) and ``ratio`` positive.

    Example:

    >>> limit_response([0.5, 0.3, 0.2, 0.1, 0.05]).round(4).tolist()
    [0.9232, 0.6743, 0.5356, 0.3687, 0.2573]
    """
    rates, ratios = broadcast(
        frequency=numbers("frequency", frequency, 0.0, 1.0), ratio=numbers("ratio", ratio, 0.0)
    )
    if not rates.size:
        return np.empty(rates.shape)
    shape, rates, ratios = rates.shape, rates.ravel(), ratios.ravel()

    def velocity(y: float, state: np.ndarray) -> np.ndarray:
        return _velocity(y, state.reshape(3, -1), rates, ratios)[:3].ravel()

    def settled(y: float, state: np.ndarray) -> float:
        return np.max(y * velocity(y, state).reshape(3, -1)[1] / state.reshape(3, -1)[1]) - 1e-14

    settled.terminal = True  # type: ignore[attr-defined]
    solution = solve_ivp(
        velocity,
        (_ONSET, _LATEST),
        _onset(rates, ratios).ravel(),
        "DOP853",
        t_eval=[_LATEST],  # no steps on the way need be kept
        events=settled,
        rtol=_RTOL,
        atol=1e-20,
    )
    last = solution.y_events[0] if solution.status == 1 else solution.y.T
    return last[-1].reshape(3, -1)[1].reshape(shape)
