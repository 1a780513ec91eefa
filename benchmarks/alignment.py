"""The activation changes of 10,000 neurons in closed form, against event location by DOP853 one by one."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import mpmath as mp
import numpy as np
from scipy.integrate import solve_ivp

from benchmarks.measure import Comparison
from lib.data.synthetic import cone_data
from lib.flow.alignment import alignment_phase

NEURONS, MEASURED, UNTIL = 10_000, 20, 5.0
RNG = np.random.default_rng(0)
INPUTS, LABELS = cone_data(5, 5, 6, 0.1, rng=RNG, norms=(0.5, 2.0))
W = RNG.standard_normal((NEURONS, 6))
SIGNS = np.resize([1.0, -1.0], NEURONS)
FORCES = LABELS / len(LABELS)

Events = list[tuple[float, int]]


def ours() -> list[Events]:
    """Times and data of the changes of each of the first neurons; all neurons are followed."""
    events = alignment_phase(W, SIGNS, INPUTS, FORCES, until=UNTIL).events
    few = events[events.neuron < MEASURED]
    return [[(e.time, int(e.datum)) for e in few[few.neuron == j]] for j in range(MEASURED)]


def plain() -> list[Events]:
    return [follow(W[j], SIGNS[j]) for j in range(MEASURED)]


@dataclass(frozen=True)
class Boundary:
    """The boundary of a datum, where a path that crosses it in a ``direction`` ends."""

    x: np.ndarray
    direction: int
    terminal: bool = True

    def __call__(self, _: float, w: np.ndarray) -> float:
        return float(w @ self.x)


def follow(w: np.ndarray, sign: float) -> Events:
    """One neuron, restarted at each terminal event."""
    time, active = 0.0, INPUTS @ w > 0
    events: Events = []
    while True:

        def velocity(_: float, w: np.ndarray, active: np.ndarray = active) -> np.ndarray:
            return sign * np.linalg.norm(w) * ((active * FORCES) @ INPUTS)

        watches = [Boundary(x, -1 if on else 1) for x, on in zip(INPUTS, active, strict=True)]
        options = dict(method="DOP853", events=watches, rtol=1e-10, atol=1e-12)
        part = solve_ivp(velocity, (time, UNTIL), w, **options)
        if part.status != 1:
            return events
        datum = next(i for i, times in enumerate(part.t_events) if times.size)
        time, w = part.t[-1], part.y[:, -1]
        events.append((time, datum))
        active = np.where(np.arange(len(active)) == datum, ~active, active)


@cache
def reference() -> list[Events]:
    """The chain of closed forms with 40 digits."""
    with mp.workdps(40):
        return [exact(W[j], SIGNS[j]) for j in range(MEASURED)]


def exact(start: np.ndarray, sign: float) -> Events:
    data = [mp.matrix(x.tolist()) for x in INPUTS]
    w, time = mp.matrix(start.tolist()), mp.mpf(0)
    events: Events = []
    active = [dot(w, x) > 0 for x in data]
    while True:
        total = mp.zeros(len(w), 1)
        for on, force, x in zip(active, FORCES.tolist(), data, strict=True):
            if on:
                total += sign * mp.mpf(force) * x
        speed = mp.norm(total)
        if speed == 0:
            return events
        e = total / speed
        p = dot(w, e)
        q = w - p * e
        size = mp.norm(q)
        # w = q + p e with p = |q| sinh(speed t + const)
        waits = []
        for i, x in enumerate(data):
            along = dot(e, x)
            if along != 0 and (along > 0) != active[i]:
                wait = (mp.asinh(-dot(q, x) / along / size) - mp.asinh(p / size)) / speed
                waits.append((wait, i))
        wait, datum = min(waits, default=(mp.inf, -1))
        time += wait
        if time > UNTIL:
            return events
        events.append((time, datum))
        w = q + size * mp.sinh(mp.asinh(p / size) + speed * wait) * e
        active[datum] = not active[datum]


def dot(a: mp.matrix, b: mp.matrix) -> mp.mpf:
    return mp.fdot(a, b)


def error(events: list[Events]) -> float:
    """Largest error of a time, relative to the time; infinite when an event is missing or another one."""
    worst = 0.0
    for mine, true in zip(events, reference(), strict=True):
        if [datum for _, datum in mine] != [datum for _, datum in true]:
            return float("inf")
        worst = max([worst, *(float(abs(a - b) / b) for (a, _), (b, _) in zip(mine, true, strict=True))])
    return worst


ten_thousand = Comparison(
    title="Activation changes of 10,000 neurons",
    plain_title="scipy's DOP853 with event location, neuron by neuron (20 measured, times 500)",
    ours=ours,
    plain=plain,
    error=error,
    error_of="times of the changes of 20 neurons, relative",
    goal="at least 100",
    needed=100,
    share=MEASURED / NEURONS,
)
