"""Small claims of [boursier2022]: each function measures one, or a few that are alike, and returns a table.

Columns before ``measured`` say where a row is from.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.linalg import matrix_power, norm, solve
from numpy.random import Generator
from numpy.typing import ArrayLike
from pandas import DataFrame
from scipy.special import expit

from experiments.small_print.saddle_to_saddle_phases import (
    TEN,
    Row,
    Runs,
    Setting,
    grouped_problem,
    rested,
    squared_gradient,
    tabled,
)
from lib.data.synthetic import orthonormal_classes, orthonormal_inputs
from lib.draws import draws, grid, runs, table
from lib.flow.equation import solution
from lib.flow.trajectory import Trajectory
from lib.geometry.programs import minimum_norm_interpolation
from lib.models.two_layer import Start, TwoLayer
from lib.problem import Problem
from lib.seeds import generator, named
from lib.theory.orthogonal import (
    TwoPlateaus,
    aligned_groups,
    class_directions,
    grouped_start,
    minimum_squared_norm,
)
from lib.training.descent import spherical_descent
from lib.training.losses import SQUARE

FLOWS = {
    "2+2 labels": {"positive": 2, "negative": 2, "m": 6, "spread": 0.5},
    "1+3 labels": {"positive": 1, "negative": 3, "m": 8, "spread": 0.1},
    "4+1 labels": {"positive": 4, "negative": 1, "m": 10, "spread": 0.9},
}
LOG_SCALES = (-3 * TEN, -5 * TEN, -8 * TEN)


def layers() -> DataFrame:
    """Measure how the layers of neurons change, balanced and with output weights of their own [Lemma 1]."""

    def drawn(positive: int, negative: int, m: int, spread: float, *, rng: Generator) -> Problem:
        inputs, labels = orthonormal_classes(positive, negative, spread, rng=rng)
        net = Start.gaussian(4, inputs.shape[1], -TEN, rng=rng).network()
        both = TwoLayer(np.array([net.w] * 2), np.array([net.a, 0.1 * rng.standard_normal(4)]))
        return Problem(inputs, labels, both, SQUARE)

    def changes(problem: Problem) -> Iterator[Row]:
        times = np.linspace(0, 12, 25)
        run = problem.raw(times, rtol=1e-6)
        lengths = norm(run.w, axis=-1)
        for k, kind in enumerate(("balanced", "unbalanced")):
            a, w = run.a[:, k], lengths[:, k]
            squares, norms, flips = a**2 - w**2, np.abs(a) - w, np.sign(a) != np.sign(a[0])
            yield {
                "layers": kind,
                "time": np.repeat(times, 4),
                "neuron": np.tile(np.arange(4), len(times)),
                "measured": (squares - squares[0]).ravel(),
                "predicted": 0.0,
                "norms": (norms - norms[0]).ravel(),
                "flips": flips.ravel().astype(float),
            }

    return table(changes, draws("layers", drawn, FLOWS))


def smooth_slopes(problem: Problem, until: float, value: float, width: float = 1e-12) -> np.ndarray:
    """Return the derivatives (m, n) in the end if the unit's is a logistic function, ``value`` at zero."""
    inputs, labels, net = problem.inputs, problem.labels, problem.network
    cut, shift = net.w.size, np.log(value / (1 - value))

    def lifts(state: np.ndarray) -> np.ndarray:
        return state[:cut].reshape(net.w.shape) @ inputs.T / width + shift

    def velocity(state: np.ndarray) -> np.ndarray:
        lift, a = lifts(state), state[cut:]
        active = width * np.logaddexp(0, lift)
        missing = (labels - a @ active) / len(labels)
        in_w = (a[:, None] * expit(lift) * missing) @ inputs
        return np.concatenate([in_w.ravel(), active @ missing])

    state = np.concatenate([net.w.ravel(), net.a])
    return expit(lifts(solution(velocity, state, [0, until], rtol=1e-8, scale=1e4 * width)[-1]))


def resting_slopes() -> DataFrame:
    """Measure the derivative of a smooth unit where that of the flow rests at zero [Section 2.1]."""

    def slopes(problem: Problem) -> Iterator[Row]:
        few = problem.only(slice(3)).scaled(-6 * TEN)
        run = few.flow(until=40.0)
        last = max((event.time for event in run.events), default=0.0)
        until = min(1.5 * last + 1, (last + 40) / 2)
        neurons, data = np.nonzero(np.abs(run.at(until).directions[0] @ few.inputs.T) < 1e-10)
        for value in (0.1, 0.9) if len(data) else ():
            measured = smooth_slopes(few, until, value)[neurons, data]
            row = {"at_zero": value, "neuron": neurons, "datum": data, "measured": measured}
            yield row | {"predicted": 0.0, "chosen": value}

    return table(slopes, draws("resting", grouped_problem, FLOWS))


@dataclass(frozen=True)
class Solutions:
    """A flow that stays at boundaries, its limit, and other solutions of the same start."""

    log_scale: float
    problem: Problem
    rng: Generator

    @cached_property
    def theory(self) -> TwoPlateaus:
        """Half-times and the limit."""
        return Setting(self.problem).plateaus

    @cached_property
    def stays(self) -> Trajectory:
        """The flow until both classes are fitted."""
        until = max(self.theory.half_times) + 20 / min(self.theory.rates)
        return self.problem.flow(until=until, rtol=1e-8)

    @cached_property
    def rests(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Times, and which units rest there (T, m, n): free to leave, and held."""
        times = np.linspace(0, self.stays.times[-1], 301)[:-1]
        at, residuals = self.stays.at(times), self.problem.labels - self.stays.outputs(times)
        lifts = at.signs[..., None] * residuals[:, None]
        rests = np.abs(at.directions @ self.problem.inputs.T) < 1e-12
        return times, rests & (lifts > 1e-7), rests & (lifts < -1e-7)

    @property
    def has_choice(self) -> bool:
        """Whether some unit is free while a label is missed by a ten-thousandth."""
        times, free, _ = self.rests
        missed = np.abs(self.problem.labels - self.stays.outputs(times))[:, None]
        return bool((free & (missed > 1e-4 * norm(self.problem.labels))).any())

    def leave(self, time: float, units: np.ndarray) -> TwoLayer:
        """Return the network in the end if these units leave their boundary at a time."""
        net = self.stays.network_at(time)
        w = net.w + 1e-9 * norm(net.w, axis=1)[:, None] * (units @ self.problem.inputs)
        begin = self.problem.but(start=net.with_weights(w, net.a))
        return begin.flow(until=self.stays.times[-1] - time, rtol=1e-8).network_at()

    def first_chance(self, which: int) -> tuple[float, np.ndarray]:
        """Return when units are free to leave (which = 1) or held (2) for the first time, and which ones."""
        chance = self.rests[which].any(axis=(1, 2)).argmax()
        return self.rests[0][chance], self.rests[which][chance]

    def random_chance(self) -> TwoLayer:
        """Return the end if half of the units that are free leave at a random time."""
        times, free, _ = self.rests
        half = free & (self.rng.random(free.shape[1:]) < 0.5)
        chances = np.flatnonzero(half.any(axis=(1, 2)))
        time = self.rng.choice(chances) if chances.size else 0
        return self.leave(times[time], half[time])

    @cached_property
    def ends(self) -> dict[str, TwoLayer]:
        """The networks in the end, by what units at zero do."""
        leaving, some = self.leave(*self.first_chance(1)), self.random_chance()
        return {"stay": self.stays.network_at(), "leave": leaving, "some leave": some}


def choices() -> Runs:
    """Draw starts whose flow from the largest scale has a choice, and follow them from three scales."""

    def with_choice(*, rng: Generator, **family: Any) -> tuple[Problem, Generator]:
        while True:
            problem = grouped_problem(**family, rng=rng)
            if Solutions(LOG_SCALES[0], problem.scaled(LOG_SCALES[0]), rng).has_choice:
                return problem, rng

    def follow(drawn: tuple[Problem, Generator]) -> list[Solutions]:
        problem, rng = drawn
        return [Solutions(scale, problem.scaled(scale), rng) for scale in LOG_SCALES]

    return runs(follow, draws("choices", with_choice, FLOWS))


@tabled
def leaving(solutions: list[Solutions], which: str) -> Row:
    """Tell which of the units that are free, or held, are off their boundary in the end [Section 2.1]."""
    flow, number = solutions[0], {"free": 1, "held": 2}[which]
    time, units = flow.first_chance(number)
    end = flow.ends["leave"] if which == "free" else flow.leave(time, units)
    neurons, data = np.nonzero(units)
    left = (end.w @ flow.problem.inputs.T)[units] > 1e-7 * norm(end.w[neurons], axis=1)
    row = {"neuron": neurons, "datum": data, "measured": left.astype(float)}
    return row | {"predicted": 1.0, "unique": 0.0}


@tabled
def misfits(solutions: list[Solutions]) -> Iterator[Row]:
    """Measure the residuals of each solution, over all labels, in the end and between the fits."""
    for flow in solutions:
        inputs, labels, theory = flow.problem.inputs, flow.problem.labels, flow.theory
        between = flow.stays.outputs(np.mean(theory.half_times))[0] - labels
        for name, end in flow.ends.items():
            yield {
                "log_scale": flow.log_scale,
                "units_at_zero": name,
                "datum": np.arange(len(labels)),
                "measured": (end(inputs) - labels) / norm(labels),
                "predicted": 0.0,
                "idle": theory.idle_distance**2 / norm(labels),
                "between": between / norm(labels),
            }


def distance(network: TwoLayer, other: TwoLayer) -> float:
    """Return the distance of two networks."""
    return np.hypot(norm(network.w - other.w), norm(network.a - other.a))


@tabled
def limit_distances(solutions: list[Solutions]) -> Iterator[Row]:
    """Measure the distance of each solution from theta*, and what idle neurons make it."""
    for flow in solutions:
        theory, limit = flow.theory, flow.theory.limit.network()
        idle, start = theory.idle_distance, flow.problem.network
        own = np.sqrt((start.w**2).sum() + (start.a**2).sum())
        for name, end in flow.ends.items():
            yield {
                "log_scale": flow.log_scale,
                "units_at_zero": name,
                "measured": distance(end, limit),
                "predicted": idle,
                "start": own,
                "from_staying": distance(end, flow.ends["stay"]),
                "between": distance(flow.stays.network_at(np.mean(theory.half_times)), limit),
                "error": 0.5 * idle**3 / min(theory.heights) + own + 1e-7,
            }


def origin() -> DataFrame:
    """Measure the loss along a small neuron in the direction of D_+, and the gradient [Section 3.2]."""

    def rows(problem: Problem) -> Iterator[Row]:
        force = class_directions(problem.inputs, problem.labels).positive
        rate, size = norm(force), 1e-3
        zero = TwoLayer(0 * force[None], np.zeros(1))
        for sign in (1, -1):
            neuron = TwoLayer.balanced(size / np.sqrt(2) * force[None] / rate, [sign])
            change = problem.total_loss(neuron) - problem.total_loss(zero)
            yield {
                "sign": sign,
                "measured": 2 * change / size**2 / rate,
                "predicted": -float(sign),
                "maximum": -1.0,
                "gradient": np.sqrt(squared_gradient(problem, zero)) / rate,
                "gradient_nearby": np.sqrt(squared_gradient(problem, neuron)) / rate,
            }

    return table(rows, draws("origin", grouped_problem, FLOWS))


def probability(positive: int, negative: int, m: int) -> float:
    """Return the probability that neither S_+ nor S_- is empty. [ours]"""
    p, q = 2.0 ** (-positive - 1), 2.0 ** (-negative - 1)
    return 1 - (1 - p) ** m - (1 - q) ** m + (1 - p - q) ** m


def groups_drawn(positive: int, starts: int) -> DataFrame:
    """Measure the share of Gaussian starts with both groups, for 2 negative labels [Assumption 3]."""

    def shares(*, rng: Generator) -> list[Row]:
        n, rows = positive + 2, []
        for m in (64, 128, 192):
            seen = rng.standard_normal((starts, m, n)) @ orthonormal_inputs(n, n, rng=rng).T > 0
            own = rng.choice([-1, 1], size=(starts, m))
            plus = seen[..., :positive].all(axis=-1) & (own > 0)
            minus = seen[..., positive:].all(axis=-1) & (own < 0)
            share = np.mean(plus.any(axis=1) & minus.any(axis=1))
            rows.append({"m": m, "starts": starts, "measured": share, "predicted": 1.0})
        return rows

    return table(list, draws(f"groups of {positive}", shares, {f"{positive}+2 labels": {}}, each=1))


def groups_counted() -> DataFrame:
    """Count the patterns of signs and of what is seen with both groups, by the formula. [ours]"""

    def count(positive: int, negative: int, m: int) -> Row:
        bits = np.arange(2 ** (positive + negative + 1))
        plus = bits % 2**positive == 2**positive - 1
        minus = bits // 2**positive % 2**negative == 2**negative - 1
        kinds = np.where(bits >> (positive + negative), plus, 2 * minus)
        both = kinds
        for _ in range(m - 1):
            both = (both[:, None] | kinds).ravel()
        p, q = 1 - 2.0**-positive, 1 - 2.0**-negative
        return {
            "measured": np.sum(both == 3),
            "predicted": len(both) * probability(positive, negative, m),
            "either_sign": len(both) * (1 - p**m - q**m + (p * q) ** m),
        }

    narrow = grid(positive=(1, 2), negative=(1, 2), m=(2, 3))
    return table(
        count, narrow + grid(positive=[1], negative=[1], m=[6]) + grid(positive=[3], negative=[2], m=[3])
    )


def widths_needed() -> DataFrame:
    """Measure the least widths for 95 %, and by how much a label more raises them [Section 3.2]."""

    def least(positive: int, negative: int) -> int:
        return 1 + bisect_left(range(1, 10**6), 0.95, key=lambda m: probability(positive, negative, m))

    def covering(labels: int) -> int:
        return next(m for m in range(1, 99) if (1 - 0.75**m) ** (2 * labels) >= 0.95)

    def ratio(positive: int, negative: str) -> Row:
        pairs = [(k, k if negative == "as many" else 1) for k in (positive, positive + 1)]
        widths, covers = [least(*pair) for pair in pairs], [covering(pair[0]) for pair in pairs]
        row = {"measured": widths[1] / widths[0], "predicted": 2.0, "covered": covers[1] / covers[0]}
        return row | {"width": widths[0], "cover": covers[0]}

    return table(ratio, grid(positive=range(7, 14), negative=("as many", "one")))


def class_starts(n: int, log_factor: float, count: int) -> list[Problem]:
    """Draw starts of so many times the scale m^(-1/2), for n labels of 1 and n of -0.7."""
    inputs, labels = np.eye(2 * n), np.repeat([1.0, -0.7], n)

    def start(*, rng: Generator) -> Problem:
        drawn = grouped_start(16, inputs, labels, rng=rng).scaled(log_factor - np.log(16) / 2)
        return Problem(inputs, labels, drawn, SQUARE)

    return [draw.value for draw in draws(f"starts of {n}", start, {"": {}}, each=count)]


def least_rates(problems: list[Problem]) -> np.ndarray:
    """Return the least squared gradients over L, over 4 |D_-|, while the second class waits, (k,)."""
    theories = [Setting(problem).plateaus for problem in problems]
    rate, second = theories[0].rates.negative, theories[0].label_norms.negative ** 2
    until = 20 / rate + max(0, *(max(theory.half_times) for theory in theories))
    nets = [problem.network for problem in problems]
    batch = TwoLayer(np.array([net.w for net in nets]), np.array([net.a for net in nets]))
    run = problems[0].but(start=batch).raw(np.linspace(0, until, 250), rtol=3e-4)
    losses = problems[0].total_loss(run) + 1e-300
    saddle = second / (2 * len(problems[0].labels))
    between = (losses < (losses[0] + saddle) / 2) & (losses > saddle / 1000)
    rates = squared_gradient(problems[0], run) / losses
    return np.where(between, rates, np.inf).min(axis=0) / (4 * rate)


def mean_rates() -> DataFrame:
    """Measure the mean of the least |grad L|^2 / L between the fits, at three scales [Section 3.2]."""

    counts = {0.0: 15, -TEN: 70, -6 * TEN: 1}

    def mean(log_scale: float) -> Row:
        count = counts[log_scale]
        rates = [least_rates(class_starts(n, log_scale, count)) for n in (2, 3)]
        return {"draws": 2 * count, "measured": np.mean(rates), "at_least": 0.21}

    return table(mean, grid(log_scale=counts))


def general_inputs(n: int, d: int, *, rng: Generator) -> Problem:
    """Draw Gaussian inputs with labels of both signs, and forty neurons of scale 1e-60."""
    x, y = rng.standard_normal((n, d)), rng.uniform(0.5, 1.5, n) * np.resize([1, -1], n)
    return Problem(x, y, Start.gaussian(40, d, -60 * TEN, rng=rng), SQUARE)


def nearest_goals(start: Start, goals: np.ndarray, signs: np.ndarray) -> np.ndarray:
    """Return the distance of each neuron from the nearest goal of its sign."""
    apart = norm(start.directions[:, None] - goals, axis=-1)
    return np.where(start.signs[:, None] == signs, apart, np.inf).min(axis=1)


def endings() -> DataFrame:
    """Measure how far grown neurons are from where the exact flow turns five hundred [Section 3.2]."""

    def ending(problem: Problem) -> Row:
        many = Start.gaussian(500, problem.inputs.shape[1], 0.0, rng=generator(named("five hundred")))
        phase = problem.but(start=many).alignment(sliding=True)
        rates = phase.asymptotics[0]
        grows = np.isfinite(rates) & (rates > 0)
        limits = phase.at([40 / rates[grows].min()])[0][0][grows]
        step, data = 90 / rates[grows].max() / 2000, (problem.inputs, problem.labels, SQUARE)
        start = end = Start.of(problem.network)
        for part, steps in ((1, 2000), (6, 900), (30, 900)):  # on a boundary long steps err
            end = spherical_descent(end, *data, step=step / part, steps=steps).network
        grown = np.flatnonzero(end.log_norms > start.log_norms + 16)
        sums = np.array(class_directions(*data[:2])) * [[1], [-1]]
        sums /= norm(sums, axis=1)[:, None]
        return {
            "neuron": grown,
            "measured": nearest_goals(end, limits, many.signs[grows])[grown],
            "predicted": 0.0,
            "from_sums": nearest_goals(end, sums, np.array([1, -1]))[grown],
        }

    sizes = {"5 inputs in the plane": (5, 2), "6 in four dimensions": (6, 4), "8 in six": (8, 6)}
    families = {name: {"n": n, "d": d} for name, (n, d) in sizes.items()}
    return table(ending, draws("endings", general_inputs, families))


@dataclass(frozen=True)
class Tilted:
    """A start with both groups, inputs with the products delta E, and labels; E itself."""

    problem: Problem
    products: np.ndarray


TILT = 2e-4  # delta


def tilted(positive: int, negative: int, m: int, between: ArrayLike, *, rng: Generator) -> Tilted:
    """Draw nearly orthonormal inputs, with products of the signs ``between`` across the classes."""
    inputs, labels = orthonormal_classes(positive, negative, 0.5, rng=rng)
    plus = labels > 0
    labels[plus] *= rng.uniform(1.5, 2) * norm(labels[~plus]) / norm(labels[plus])
    upper = np.triu(rng.uniform(-1, 1, (len(labels), len(labels))), 1)
    E = upper + upper.T
    E[np.ix_(plus, ~plus)] = np.abs(E[np.ix_(plus, ~plus)]) * between
    E[np.ix_(~plus, plus)] = E[np.ix_(plus, ~plus)].T
    values, vectors = np.linalg.eigh(np.eye(len(labels)) + TILT * E)
    x = vectors * np.sqrt(values) @ vectors.T @ inputs
    while True:
        start = grouped_start(m, inputs, labels, rng=rng)
        if np.abs(start.directions @ inputs.T).min() > 0.01:  # the tilt must not move one across
            return Tilted(Problem(x, labels, start.scaled(-100 * TEN), SQUARE), E)


def excess_law(case: Tilted) -> tuple[float, float]:
    """Return chi, and what it would be if no neuron turned."""
    y = case.problem.labels
    plus = y > 0
    high, low = float(norm(y[plus])), float(norm(y[~plus]))
    e, c = y[plus] / high, case.products[np.ix_(plus, ~plus)] @ -y[~plus] / low
    seen = (c > 0).astype(float)

    def velocity(state: np.ndarray) -> np.ndarray:
        (zeta, rho), s = np.split(state[:-1], 2), state[-1]
        ds = 2 * low * (1 - s) * s
        dzeta = seen * (low * (1 - s) * (c - zeta) - rho)
        drho = low * (ds * zeta + s * dzeta) - high * (rho + e * (e @ rho))
        return np.concatenate([dzeta, drho, [ds]])

    begin = np.concatenate([seen * c, 0 * c, [1e-9]])
    end = solution(velocity, begin, [0.0, 28 / low], rtol=1e-9)[-1]
    return low * float(e @ end[: len(c)]), low * float(e @ (seen * c))


def tilt_excesses() -> DataFrame:
    """Measure the excess of half the squared norm over delta, from 1e-100 with both groups [Section 3.2]."""

    def excess(case: Tilted) -> Row:
        flow = case.problem.flow(until=1e5, loss_below=1e-15, rtol=1e-8)
        least = minimum_norm_interpolation(case.problem.inputs, case.problem.labels).value
        law, still = excess_law(case)
        return {
            "measured": (np.exp(2 * flow.log_norms[-1]).sum() - least) / TILT,
            "predicted": law,
            "unturned": still,
        }

    kinds = {
        "2+2 labels": (2, 2, 6, 1),
        "1+3 labels, two neurons": (1, 3, 2, 1),
        "3+2 labels, one product negative": (3, 2, 6, [[1], [-1], [1]]),
        "2+2 labels, negative products": (2, 2, 4, -1),
    }
    names = ("positive", "negative", "m", "between")
    families = {name: dict(zip(names, kind, strict=True)) for name, kind in kinds.items()}
    return table(excess, draws("tilted", tilted, families))


def pairs() -> DataFrame:
    """Measure what two neurons come to, one for each sign, and if one label is not covered [Section 3.1]."""

    def pair(positive: int, negative: int, *, rng: Generator) -> Problem:
        labels = np.repeat([1.0, -0.7], (positive, negative))
        w = np.abs(rng.standard_normal((2, len(labels)))) * np.exp(-4 * TEN)
        w[0, labels < 0] *= rng.choice([-1, 1])
        w[1, labels > 0] *= rng.choice([-1, 1])
        blind = w.copy()
        blind[0, 0] *= -1
        both = TwoLayer.balanced(np.array([w, blind]), [1, -1])
        return Problem(np.eye(len(labels)), labels, both, SQUARE)

    def ends(problem: Problem) -> Row:
        inputs, labels = problem.inputs, problem.labels
        until = (1.1 * 4 * TEN + 40) * len(labels) / norm(labels[labels < 0])
        run = problem.raw([0, until], rtol=1e-8)
        sizes = (run.w[-1] ** 2).sum(axis=(-1, -2)) + (run.a[-1] ** 2).sum(axis=-1)
        norms = sizes / minimum_squared_norm(inputs, labels)
        losses = problem.total_loss(run)[-1] / problem.total_loss(TwoLayer(0 * run.w[0], run.a[0]))
        row = {"quantity": ["squared norm", "loss"], "measured": [norms[0], losses[0]]}
        return row | {"predicted": [1.0, 0.0], "blind": [norms[1], losses[1]]}

    families = {f"{k}+{j} labels": {"positive": k, "negative": j} for k, j in ((1, 1), (2, 1), (3, 3))}
    return table(ends, draws("pairs", pair, families))


def no_idle(positive: int, negative: int, low: float, high: float, *, rng: Generator) -> Problem:
    """Draw two neurons in each group and no others, with a ratio of the classes from low to high."""
    n, sizes = positive + negative, rng.uniform(0.5, 1.5, positive + negative)
    own = np.arange(n) < positive
    labels = np.where(own, rng.uniform(low, high) * sizes / norm(sizes[own]), -sizes / norm(sizes[~own]))
    signs = np.array([1.0, 1.0, -1.0, -1.0])
    seen = rng.standard_normal((4, n))
    seen = np.where(np.outer(signs, labels) > 0, np.abs(seen), seen)
    inputs = orthonormal_inputs(n, n, rng=rng)
    return Problem(inputs, labels, Start.of(TwoLayer.balanced(seen @ inputs, signs)), SQUARE)


def lowest(values: np.ndarray) -> float:
    """Return the minimum of the parabola through the least value and its neighbours."""
    k = int(np.argmin(values))
    slope, bend = (values[k + 1] - values[k - 1]) / 2, np.diff(values[k - 1 : k + 2], 2)[0]
    return values[k] - slope**2 / (2 * bend)


def nearest(problem: Problem) -> tuple[float, float]:
    """Return logarithms of the least |grad L|^2 / L and distance from theta_S between the fits."""
    theory = Setting(problem).plateaus
    run = problem.flow(until=theory.half_times.negative, rtol=1e-8)
    nets = rested(run.networks_at(np.linspace(*theory.half_times, 400)), problem.inputs)
    goal = theory.limit.network()
    saddle = TwoLayer.balanced(goal.w * (goal.a > 0)[:, None], np.sign(goal.a))
    away = ((nets.w - saddle.w) ** 2).sum(axis=(1, 2)) + ((nets.a - saddle.a) ** 2).sum(axis=1)
    rates = squared_gradient(problem, nets) / problem.total_loss(nets)
    return lowest(np.log(rates)), lowest(np.log(away) / 2)


def nearest_powers() -> DataFrame:
    """Measure the powers of lambda in the least |grad L|^2 / L and distance from theta_S [Theorem 1]."""

    def powers(problem: Problem) -> Row:
        up, down = Setting(problem).rates
        r = up / down
        scales = np.log([1e-4, 1e-5]) * (2 * r + 1) / (2 * (r - 1))
        far, near = (np.array(nearest(problem.scaled(scale))) for scale in scales)
        slope, away = (far - near) / (scales[0] - scales[1])
        return {
            "r": r,
            "measured": slope,
            "predicted": 4 * (r - 1) / (2 * r + 1),
            "rate_of_directions": 2 * (r - 1) / (r + 1),
            "distance": away,
            "power_of_distance": 2 * (r - 1) / (2 * r + 1),
            "half_of_it": (r - 1) / (r + 1),
        }

    families = {
        "1+1 labels": {"positive": 1, "negative": 1, "low": 1.1, "high": 1.3},
        "3+2 labels": {"positive": 3, "negative": 2, "low": 1.5, "high": 2.5},
        "2+3 labels": {"positive": 2, "negative": 3, "low": 2.5, "high": 4.0},
    }
    return table(powers, draws("nearest", no_idle, families))


@dataclass(frozen=True)
class Unbalanced:
    """A start with output weights of its own, its flow from 1e-30, and S_+ after the alignment."""

    start: Start
    problem: Problem
    run: Trajectory
    positive: np.ndarray

    @property
    def excess(self) -> float:
        """The squared norm in the end over the least one."""
        squares = np.exp(2 * self.run.log_norms[-1]) + np.exp(2 * self.run.log_outputs[-1])
        return squares.sum() / minimum_squared_norm(self.problem.inputs, self.problem.labels)


def unbalanced_flow(problem: Problem, start: Start) -> Unbalanced:
    """Follow a start, and read the groups by the signs and by what is seen after the alignment."""
    labels, n = problem.labels, len(problem.labels)
    until = 1.5 * (1.1 * 30 * TEN + 40) * n / norm(labels[labels < 0])
    small = problem.but(start=start).scaled(-30 * TEN)
    run = small.flow(until=until, loss_below=1e-16, rtol=1e-9)
    early = run.at(10 * TEN * n / norm(labels[labels > 0]))
    seen = np.where(early.directions[0] > 1e-9, 1.0, -1.0)
    groups = aligned_groups(seen, early.signs[0], problem.inputs, labels)
    return Unbalanced(start, problem, run, groups.positive if groups.negative.size else groups.negative)


def unbalanced_flows() -> Runs:
    """Draw sixteen neurons with output weights of their own until both groups are there."""

    def with_groups(positive: int, negative: int, *, rng: Generator) -> Unbalanced:
        labels = np.repeat([1.0, -0.7], (positive, negative))
        problem = Problem(np.eye(len(labels)), labels, TwoLayer(np.eye(len(labels)), labels), SQUARE)
        while True:
            drawn, a = Start.gaussian(16, len(labels), 0.0, rng=rng), rng.standard_normal(16)
            start = Start(drawn.directions, drawn.log_norms, np.sign(a), np.log(np.abs(a)))
            if (flow := unbalanced_flow(problem, start)).positive.size:
                return flow

    families = {f"{k}+{j} labels": {"positive": k, "negative": j} for k, j in ((1, 1), (2, 1), (2, 2))}
    return draws("unbalanced", with_groups, families)


@tabled
def unbalanced_norms(flow: Unbalanced) -> Row:
    """Measure the squared norm in the end over the least, and the share of changed signs [Section 3.2]."""
    changed = np.mean(flow.run.signs[-1] != flow.run.signs[0])
    return {"measured": flow.excess, "predicted": 1.0, "changed": changed}


@tabled
def misread_norms(flow: Unbalanced) -> Row:
    """Measure the same without S_+, but for a neuron that is in it at the start, and changes its sign."""
    remaining, start = np.delete(np.arange(16), flow.positive), flow.start.network()
    false = np.where(flow.problem.labels > 0, 0.1, 1.0)
    other = TwoLayer(np.vstack([start.w[remaining], false]), np.append(start.a[remaining], 0.1))
    return {"measured": unbalanced_flow(flow.problem, Start.of(other)).excess, "predicted": 1.0}


FIVE = np.column_stack([[-1.5, -1.0, 0.0, 0.25, 2.0], np.ones(5)])
FIVE_LABELS = np.array([0.7, -0.3, -0.3, 0.4, 0.2])
GOAL = np.mean(FIVE_LABELS**2) / 4  # half of the loss of the zero function
LARGE = np.array([10.0, 1e3, 1e4])


def figure_5_start(kind: str, *, rng: Generator) -> Problem:
    """Draw sixty neurons of the scale m^(-1/2) on the paper's five points, or on orthonormal inputs."""
    inputs, labels = FIVE, FIVE_LABELS
    if kind == "orthogonal":
        inputs, labels = np.eye(4), np.array([1.0, 0.5, -0.7, -0.3])
    net = Start.gaussian(60, inputs.shape[1], -np.log(60) / 2, rng=rng).network()
    w, a = net.w, net.a
    if kind == "antisymmetric":
        w, a = np.tile(w[:30], (2, 1)), np.concatenate([a[:30], -a[:30]])
    if kind == "unbalanced":
        a = rng.standard_normal(60) / np.sqrt(60)
    return Problem(inputs, labels, TwoLayer(w, a), SQUARE)


@dataclass(frozen=True)
class LargeStart:
    """The paper's descent from three scales of a problem (3,), and the losses from the first one.

    The step of 2e-3 at 10 m^(-1/2) is scaled with the kernel.
    """

    problem: Problem
    start: TwoLayer
    end: TwoLayer
    losses: np.ndarray


STEPS, STEP = 2500, 0.2  # of the descent, over the squared scale


def large_starts(*kinds: str) -> Runs:
    """Follow five draws of each kind by the paper's descent from larger scales."""

    def descend(problem: Problem) -> LargeStart:
        step, losses, inputs = STEP / LARGE[:, None] ** 2, [], problem.inputs
        start = net = TwoLayer(LARGE[:, None, None] * problem.network.w, LARGE[:, None] * problem.network.a)
        for _ in range(STEPS):
            residuals = net(inputs) - problem.labels
            losses.append((residuals[0] ** 2).mean() / 2)
            in_w, in_a = net.gradients(inputs, problem.shares * residuals)
            net = net.with_weights(net.w - step[:, :, None] * in_w, net.a - step * in_a)
        return LargeStart(problem, start, net, np.array(losses))

    return runs(descend, draws("figure 5", figure_5_start, {kind: {"kind": kind} for kind in kinds}))


@tabled
def movements(run: LargeStart) -> Row:
    """Measure by which power of the scale weights move, from 1e3 to 1e4 times m^(-1/2) [Fig. 5, App. A.1]."""
    moved = ((run.end.w - run.start.w) ** 2).sum((-1, -2)) + ((run.end.a - run.start.a) ** 2).sum(-1)
    relative = np.sqrt(moved / ((run.start.w**2).sum((-1, -2)) + (run.start.a**2).sum(-1)))
    return {
        "measured": np.log10(relative[2] / relative[1]),
        "predicted": 0.0 if np.abs(run.start(run.problem.inputs)[0]).max() > 1e-9 else -2.0,
        "inverse": -1.0,
        "lazy": -2.0,
        "near": relative[0],
        "far": relative[2],
        "time": STEP / 100 * (run.losses > GOAL).sum(),
    }


def tangent_change(run: LargeStart, scale: int, points: np.ndarray, both: bool) -> np.ndarray:
    """Return how the function changes at points (k, d) if the kernel of both layers, or of a, is kept."""
    problem, n = run.problem, len(run.problem.labels)
    start = run.start.with_weights(run.start.w[scale], run.start.a[scale])
    x = np.vstack([problem.inputs, points])
    z = start.preactivations(x)
    active = (z > 0) * start.a
    kernel = np.maximum(z, 0) @ np.maximum(z, 0).T + both * (active @ active.T) * (x @ x.T)
    own = kernel[:n, :n]
    fitted = np.eye(n) - matrix_power(np.eye(n) - STEP / LARGE[scale] ** 2 / n * own, STEPS)
    return kernel[n:, :n] @ solve(own, fitted @ (problem.labels - start(problem.inputs)))


@tabled
def kernel_gaps(run: LargeStart, scale: int) -> Row:
    """Measure how far the learned function is from the tangent kernel's, over the largest label [Fig. 5]."""
    x = np.linspace(-1.4, 1.9, 12)  # between the data
    points, unit = np.column_stack([x, np.ones(12)]), np.abs(run.problem.labels).max()
    change = (run.end(points) - run.start(points))[scale]
    return {
        "scale": LARGE[scale],
        "x": x,
        "measured": (change - tangent_change(run, scale, points, both=True)) / unit,
        "predicted": 0.0,
        "last_layer": (change - tangent_change(run, scale, points, both=False)) / unit,
    }


def small_times(large: float) -> DataFrame:
    """Measure the time to half of the labels' loss from 1e-4 m^(-1/2), over a large start's [Fig. 5]."""

    def half(problem: Problem) -> Row:
        start = Start.of(problem.network).scaled(-4 * TEN)
        time = problem.but(start=start).flow(until=400, loss_below=GOAL, rtol=1e-6).times[-1]
        wait = np.log(1e4) + 1
        return {"time": time, "measured": time / large, "at_least": 2 * wait, "wait": wait}

    return table(half, draws("small", figure_5_start, {"balanced": {"kind": "balanced"}}, each=2))


@dataclass(frozen=True)
class Slider:
    """A small balanced neuron on the boundary of the second of two inputs, which pushes it back.

    While it shrinks like ``exp(-kappa t)``, the forces ``below`` and ``above`` push it back.
    """

    inputs: np.ndarray
    labels: np.ndarray

    @property
    def kappa(self) -> float:
        """The rate at which it shrinks."""
        return -self.labels[0] * self.inputs[0, 0] / 2

    @property
    def below(self) -> float:
        """The force p_1 from below the boundary."""
        return self.labels[0] * self.inputs[0, 1] / 2

    @property
    def above(self) -> float:
        """The force p_2 from above it."""
        return -self.labels[1] / 2 - self.below


@dataclass(frozen=True)
class Descent:
    """When output weights of a batch change sign in descent (K, m), infinite for never, and losses (K,).

    Times between two steps are those of a line; losses belong to the iterations that are asked for.
    """

    flips: np.ndarray
    losses: dict[int, np.ndarray]


def descend(
    batch: TwoLayer, data: tuple[np.ndarray, np.ndarray], steps: np.ndarray, last: int, at: Collection = ()
) -> Descent:
    """Follow a batch with ``data``, inputs and labels, and a step of each (K,) until all signs change."""
    w, a, (inputs, labels), step = batch.w, batch.a, data, steps[:, None]
    first, losses = np.full(a.shape, np.inf), {}
    for k in range(last):
        z = w @ np.swapaxes(inputs, -1, -2)
        missing = labels - np.vecmat(a, np.maximum(z, 0))
        if k in at:
            losses[k] = (missing**2).mean(axis=-1) / 2
        pulls = (z > 0) * (missing / labels.shape[-1])[:, None]
        w = w + (step * a)[..., None] * (pulls @ inputs)
        new = a + step * np.vecdot(pulls, z)
        if (turned := (new * a < 0) & np.isinf(first)).any():
            first[turned] = (step * (k + a / np.where(turned, a - new, 1.0)))[turned]
            if np.isfinite(first).all():
                break
        a = new
    return Descent(first, losses)


def draw_slider(sizes: tuple, ratios: tuple, *, rng: Generator) -> Slider:
    """Draw an obtuse angle and two negative labels between which a neuron slides."""
    cosine, first = -rng.uniform(*sizes), rng.uniform(0.5, 2)
    inputs = np.array([[np.sqrt(1 - cosine**2), cosine], [0, 1]])
    return Slider(inputs, np.array([-first, first * cosine / rng.uniform(*ratios)]))


def flip_constants(sliders: list[Slider], step: float, balance: float) -> np.ndarray:
    """Return eta p_1 p_2 exp(2 kappa t) / kappa at the flips t (K,); steps eta are ``step`` over kappa."""
    kappa = np.array([slider.kappa for slider in sliders])
    product = np.array([slider.below * slider.above for slider in sliders])
    data = np.array([slider.inputs for slider in sliders]), np.array([slider.labels for slider in sliders])
    w = np.tile([1e-3, 0.0], (len(sliders), 1, 1))
    times = descend(TwoLayer(w, balance * w[..., 0]), data, step / kappa, int(9 / step)).flips[:, 0]
    return step * product * np.exp(2 * kappa * times) / kappa**2


def flip_times() -> DataFrame:
    """Measure when descent flips the sign of a neuron that slides and shrinks. [ours]"""
    families = {
        "cosines near 0": {"sizes": (0.1, 0.4), "ratios": (0.2, 0.8)},
        "cosines near -1": {"sizes": (0.5, 0.9), "ratios": (0.2, 0.8)},
        "one side weak": {"sizes": (0.3, 0.7), "ratios": (0.9, 0.95)},
    }
    drawn, rows = draws("flips", draw_slider, families), []
    for step in (4e-2, 4e-3, 4e-4):
        both = [flip_constants([draw.value for draw in drawn], step, balance) for balance in (1.0, 0.999)]
        for draw, measured, unbalanced in zip(drawn, *both, strict=True):
            row = {**draw.keys, "step": step, "measured": measured, "predicted": 8.0}
            row |= {"unbalanced": unbalanced, "one_side": 8 * draw.value.above / draw.value.below}
            rows.append(row | {"error": 100 * step})
    return DataFrame(rows)


@dataclass(frozen=True)
class FivePoints:
    """Starts of the paper's Figure 4, their flows until time 60, and descents with three steps."""

    flows: list[Trajectory]
    descents: dict[float, Descent]


FLIP_STEPS, FLIP_TIMES = (8e-3, 4e-3, 2e-3), (30, 45, 59)


def five_points() -> FivePoints:
    """Follow three starts of Figure 4 by the flow, and by descent down to the paper's step."""

    def start(*, rng: Generator) -> Problem:
        drawn = Start.gaussian(60, 2, -4 * TEN - np.log(60) / 2, rng=rng)
        return Problem(FIVE, FIVE_LABELS, drawn, SQUARE)

    problems = [draw.value for draw in draws("figure 4", start, {"": {}}, each=3)]
    flows = [problem.flow(until=60.0, rtol=1e-9) for problem in problems]
    nets = [problem.network for problem in problems]
    batch = TwoLayer(np.array([net.w for net in nets]), np.array([net.a for net in nets]))
    data, descents = (FIVE[None], FIVE_LABELS[None]), {}
    for step in FLIP_STEPS:
        at = [round(time / step) for time in FLIP_TIMES]
        descents[step] = descend(batch, data, np.full(3, step), round(60 / step), at)
    return FivePoints(flows, descents)


def loss_orders(points: FivePoints) -> DataFrame:
    """Measure by which power of the step the loss of descent departs from that of the flow [Fig. 4]."""

    def order(start: int, step: float) -> Iterator[Row]:
        for time in FLIP_TIMES:
            own, other = (points.flows[k].loss([time])[0] for k in (start, (start + 1) % 3))
            losses = [points.descents[h].losses[round(time / h)][start] for h in (step, step / 2)]
            powers = [np.log2(np.abs((losses[0] - loss) / (losses[1] - loss))) for loss in (own, other)]
            row = {"time": time, "measured": powers[0], "predicted": 1.0, "second": 2.0}
            yield row | {"of_another": powers[1], "error": 4 * step}

    return table(order, grid(start=range(3), step=FLIP_STEPS[:-1]))


def falls(points: FivePoints) -> DataFrame:
    """Measure how much a log-norm falls in the flow from a flip to that with half the step [Fig. 4].

    Of neurons that still slide at the later flip; one that has left its boundary does not shrink as before.
    """

    def fall(start: int, step: float) -> Iterator[Row]:
        flow = points.flows[start]
        longer, shorter = (points.descents[h].flips[start] for h in (step, step / 2))
        largest = int(flow.log_norms[-1].argmax())
        for neuron in np.flatnonzero(np.isfinite(shorter)):
            at = flow.at([longer[neuron], shorter[neuron]])
            drop = at.log_norms[0] - at.log_norms[1]
            row = {"neuron": neuron, "measured": drop[neuron], "predicted": np.log(2) / 2}
            row |= {"of_square": np.log(2), "of_grown": drop[largest]}
            if np.abs(at.directions[1, neuron] @ FIVE.T).min() < 1e-9:
                yield row

    return table(fall, grid(start=range(3), step=FLIP_STEPS[:-1]))


def flip_counts(points: FivePoints) -> DataFrame:
    """Count the output weights that have changed sign by time 60, with the paper's step [Fig. 4]."""

    def count(start: int) -> Row:
        signs = points.descents[FLIP_STEPS[-1]].flips[start]
        return {"measured": np.isfinite(signs).sum(), "predicted": 0.0}

    return table(count, grid(start=range(3)))
