"""Which class captures a ReLU neuron active on both, in the notation of `lib.theory.shared_neuron`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.integrate import DOP853, solve_ivp

from lib.arguments import broadcast, number, numbers, refuse_overflow
from lib.theory.shared_neuron import pair, velocity

_EQUAL = (1.0, 1.0)


@dataclass(frozen=True)
class Capture:
    """The class, +1 or -1, that captured the neuron, the time, and h1, h2, a then; class 0 if none did.

    Example:

    >>> fate = capture(0.2, 0.9, 0.2)
    >>> fate.label, round(fate.time, 5), fate.state.round(3).tolist()
    (-1, 2.24654, [0.0, 1.055, -0.551])
    """

    label: int
    time: float
    state: np.ndarray


def _starts(h1: ArrayLike, h2: ArrayLike, a: ArrayLike) -> tuple[np.ndarray, ...]:
    return broadcast(h1=numbers("h1", h1, 0.0), h2=numbers("h2", h2, 0.0), a=numbers("a", a))


@refuse_overflow
def plane_side(
    h1: ArrayLike,
    h2: ArrayLike,
    a: ArrayLike,
    norms: tuple[float, float] = _EQUAL,
    rates: tuple[float, float] = _EQUAL,
) -> np.ndarray:
    """Return the class, +1 or -1 (0 on the plane itself), that captures a small neuron.

    While all logits are small the flow is linear, and its growing part has the sign of ``r1 h1 - r2 h2 +
    sqrt((r1 n1)^2 + (r2 n2)^2) a``: a plane which replaces the separating surface near the origin.
    Arguments broadcast.  Raises ``ValueError`` unless h1, h2, norms and rates are positive.

    Example:

    >>> plane_side(0.01, [0.01, 0.05], [0.01, 0.02]).tolist()
    [1, -1]
    """
    h1, h2, a = _starts(h1, h2, a)
    (n1, n2), (r1, r2) = pair("norms", norms), pair("rates", rates)
    return np.sign(r1 * h1 - r2 * h2 + np.hypot(r1 * n1, r2 * n2) * a).astype(int)


@refuse_overflow
def capture_probability(
    norms: tuple[float, float] = _EQUAL, rates: tuple[float, float] = _EQUAL, ratio: ArrayLike = 1.0
) -> np.ndarray:
    """Return the probability that class +1 captures a small neuron which is active on both classes.

    Weights are centred normals, those of the first layer with ``1 / ratio`` times the standard deviation of
    ``a``: the share of the octants ``h1, h2 > 0`` on one side of the plane of :func:`plane_side`, by the area
    of a spherical triangle, ``1/2 + (arcsin(r1 n1 / N) - arcsin(r2 n2 / N)) / pi`` with ``N^2 = (1 + ratio^2)
    ((r1 n1)^2 + (r2 n2)^2)``.  Relative accuracy 1e-15.  Raises ``ValueError`` unless all are positive.

    Example:

    >>> [capture_probability(rates=(p, 1 - p)).round(3).item() for p in (0.5, 0.7, 0.9)]
    [0.5, 0.635, 0.723]
    """
    first, second = pair("norms", norms) * pair("rates", rates)
    third = np.hypot(first, second) * numbers("ratio", ratio, 0.0)
    # Two positive angles: the first arcsine, and a right angle less the second.
    return (np.arctan2(first, np.hypot(third, second)) + np.arctan2(np.hypot(third, first), second)) / np.pi


@refuse_overflow
def capture_time_bound(
    h1: ArrayLike,
    h2: ArrayLike,
    a: ArrayLike,
    norms: tuple[float, float] = _EQUAL,
    rates: tuple[float, float] = _EQUAL,
) -> np.ndarray:
    """Return a time by which class +1 has captured a neuron with ``a >= sqrt(h1^2 + h2^2)``, for unit norms.

    In general for ``a >= 0`` and invariant ``c <= 0``.  ``2 h2 / (r2 n2^2 m)`` with ``m = sqrt(h1^2 / n1^2 -
    c)``, below which ``a`` never falls [combes2018, Appendix A.8, where the factor is another and false].
    Arguments broadcast.  Raises ``ValueError`` for other starts, and as :func:`plane_side` does.

    Example:

    >>> round(capture(0.1, 0.3, 0.4).time, 3), round(float(capture_time_bound(0.1, 0.3, 0.4)), 3)
    (1.494, 2.268)
    """
    h1, h2, a = _starts(h1, h2, a)
    (n1, n2), (_, r2) = pair("norms", norms), pair("rates", rates)
    lowest = np.hypot(h1 / n1, h2 / n2)
    if (wrong := a < lowest).any():
        raise ValueError(
            f"a holds {a[wrong][0]}, allowed: from {lowest[wrong][0]} on, where the invariant is at most 0"
        )
    b = h2 / n2
    return 2 * b / (r2 * n2 * np.sqrt(a - b) * np.sqrt(a + b))  # the last two make sqrt(h1^2 / n1^2 - c)


@refuse_overflow
def hinge_capture(
    h1: ArrayLike,
    h2: ArrayLike,
    a: ArrayLike,
    norms: tuple[float, float] = _EQUAL,
    rates: tuple[float, float] = _EQUAL,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the class, +1 or -1, that captures a neuron trained with the hinge loss, and the time.

    While both margins, ``a h1`` and ``-a h2``, are below 1 the flow is linear and cannot cross the plane of
    :func:`plane_side`: its side decides.  Arguments broadcast.  The time is nan for starts so large that a
    margin might reach 1 before, and infinite, with class 0, on the plane itself.  Relative accuracy 1e-14
    beside that of rounding the start.  Errors as in :func:`plane_side`.

    Example:

    >>> label, time = hinge_capture(0.1, [0.1, 0.2, 9.0], [0.1, -0.1, 0.1])
    >>> label.tolist(), time.round(4).tolist()
    ([1, -1, -1], [0.8105, 0.6626, nan])
    """
    h1, h2, a = _starts(h1, h2, a)
    (n1, n2), (r1, r2) = pair("norms", norms), pair("rates", rates)
    rate = np.hypot(r1 * n1, r2 * n2)
    side = plane_side(h1, h2, a, norms, rates)
    # Seen from the capturing class: s = r h - r' h' + rate a grows, and the other's response h' is lost where
    # r h - r' h' has increased by rate^2 h' / (r' n'^2).
    upper = side >= 0
    drawn, lost, weight = np.where(upper, h1, h2), np.where(upper, h2, h1), np.where(upper, a, -a)
    r_drawn, r_lost = np.where(upper, r1, r2), np.where(upper, r2, r1)
    n_drawn, n_lost = np.where(upper, n1, n2), np.where(upper, n2, n1)
    pull = r_drawn * drawn - r_lost * lost
    rising = (pull + rate * weight) / 2
    gain = rate**2 * lost / (r_lost * n_lost**2)
    middle = 2 * rising - pull - gain
    root = np.sqrt(middle**2 + 4 * rising * gain)
    with np.errstate(divide="ignore", invalid="ignore"):
        growth = np.where(middle >= 0, 2 * gain / (middle + root), (root - middle) / (2 * rising))
        time = np.where(side == 0, np.inf, np.log1p(growth) / rate)
        last = (rising * (1 + growth) - (pull - rising) / (1 + growth)) / rate
    # |a| is largest at an end; the responses grow by no more than the largest |a| makes them.
    largest = np.maximum(np.abs(weight), np.abs(last))
    reach = np.maximum(
        drawn + r_drawn * n_drawn**2 / (r_lost * n_lost**2) * lost,
        lost + r_lost * n_lost**2 * np.abs(weight) / rate,
    )
    return side, np.where((side != 0) & ~(largest * reach < 1), np.nan, time)


@refuse_overflow
def capture(
    h1: float,
    h2: float,
    a: float,
    norms: tuple[float, float] = _EQUAL,
    rates: tuple[float, float] = _EQUAL,
    until: float = 1e3,
) -> Capture:
    """Integrate one start until a response reaches zero, located as an event, or until the last time.

    DOP853; time and state to relative errors of about 1e-10.  Starts far above scale 10 are stiff and
    slow.  Raises ``ValueError`` unless h1, h2, norms, rates and until are positive numbers.

    Example:

    >>> fate = capture(0.1, 0.1, 0.1)
    >>> fate.label, round(fate.time, 5)
    (1, 1.62334)
    """
    start = np.array([number("h1", h1, 0.0), number("h2", h2, 0.0), number("a", a)])
    sizes, draws, until = pair("norms", norms), pair("rates", rates), number("until", until, 0.0)

    def lost(index: int) -> Callable[[float, np.ndarray], float]:
        def event(_: float, state: np.ndarray) -> float:
            return state[index]

        event.terminal = True  # type: ignore[attr-defined]
        event.direction = -1  # type: ignore[attr-defined]
        return event

    run = solve_ivp(
        lambda _, state: velocity(state, sizes, draws),
        (0.0, until),
        start,
        "DOP853",
        events=(lost(0), lost(1)),
        rtol=1e-12,
        atol=1e-14 * np.abs(start).max(),
    )
    for label, times, states in zip((-1, 1), run.t_events, run.y_events, strict=True):
        if len(times):
            return Capture(label, float(times[0]), states[0])
    return Capture(0, until, run.y[:, -1])


@refuse_overflow
def captors(
    h1: ArrayLike,
    h2: ArrayLike,
    a: ArrayLike,
    norms: tuple[float, float] = _EQUAL,
    rates: tuple[float, float] = _EQUAL,
    until: float = 1e3,
) -> np.ndarray:
    """Return the classes, +1, -1, or 0 for none by the last time, that capture these starts, arrays.

    All starts are integrated together and dropped once decided; local errors 1e-9 of each start's size.
    Arguments broadcast.  Errors as in :func:`capture`.

    Example:

    >>> captors([0.1, 0.2], [0.1, 0.9], [0.1, 0.2]).tolist()
    [1, -1]
    """
    starts = np.stack(_starts(h1, h2, a))
    sizes, draws, until = pair("norms", norms), pair("rates", rates), number("until", until, 0.0)
    states = starts.reshape(3, -1)
    scales = np.abs(states).max(axis=0)
    labels, open_ = np.zeros(states.shape[1], dtype=int), np.arange(states.shape[1])
    now, chunk = 0.0, 1.0
    while now < until and len(open_):
        stop = min(until, now + chunk)
        solver = DOP853(
            lambda _, flat: velocity(flat.reshape(3, -1), sizes, draws).ravel(),
            now,
            states.ravel(),
            stop,
            rtol=1e-9,
            atol=np.tile(1e-9 * scales[open_], 3),
        )
        while solver.status == "running":
            solver.step()
            h1_now, h2_now, _ = solver.y.reshape(3, -1)
            first = (labels[open_] == 0) & ((h1_now <= 0) | (h2_now <= 0))
            labels[open_[first]] = np.where(h2_now <= 0, 1, -1)[first]
        left = labels[open_] == 0
        states, open_ = solver.y.reshape(3, -1)[:, left], open_[left]
        now, chunk = stop, 2 * chunk
    return labels.reshape(starts.shape[1:])
