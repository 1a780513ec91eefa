"""Lemmas of [boursier2022] on the phases: each function measures one, or a few alike, and returns a table.

Columns before ``measured`` say where a row is from.  Sizes are powers of ten.  A start has the scale 1, and a
flow starts ``10^-power`` times as large; ``eps`` is the paper's.  Class 0 has the positive labels: its group
``S_+`` fits them in phase 2; ``S_-`` fits class 1 in phase 3.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial, wraps
from typing import Any, Concatenate, NamedTuple, ParamSpec, cast

import numpy as np
from numpy.linalg import norm
from numpy.random import Generator
from numpy.typing import ArrayLike
from pandas import DataFrame, concat
from scipy.optimize import brentq
from scipy.special import beta, expit, hyp2f1, logit

from lib.data.synthetic import orthonormal_classes, orthonormal_inputs
from lib.draws import Draw, draws, runs, table
from lib.flow.alignment import AlignmentPhase
from lib.flow.equation import first_passage
from lib.flow.trajectory import Trajectory
from lib.flow.weights import weights_flow
from lib.models.two_layer import Start, TwoLayer
from lib.problem import Problem
from lib.theory.orthogonal import TwoPlateaus, grouped_start, largest_epsilon, two_plateaus
from lib.training.losses import SQUARE

Row = dict[str, Any]
Runs = list[Draw]
Options = ParamSpec("Options")

TEN, TWO = np.log(10), np.log10(2)
SIGNS = np.array([1, -1])  # of the classes
GROUPS = {"S_+": 0, "S_-": 1}
TIMES = {"t_+1": 0, "t_1": 1}
DECADES = (3, 10, 20, 40)  # of lambda^eps in the first phase
RAW_SCALES = (-10 * TEN, -20 * TEN, -40 * TEN)
ROUNDING = 1e-12  # of outputs in the flow
POWERS = (3, 4, 5, 7, 9, 12, 16, 21, 28, 38, 50, 67, 100)
SLACK = 1e-3  # of a leading order, in powers of ten


class Phase(NamedTuple):
    """A phase after the first: its class, and the powers of lambda^eps in what ends it, (i) to (iii)."""

    number: int
    turned: float
    missing: float
    factor: int  # of c lambda^eps


PHASES = {2: Phase(0, 1 / 2, 1 / 5, 2), 3: Phase(1, 1 / 14, 1 / 29, 3)}
LOOSE = 1 / 14  # the power in (iv)


def grouped_problem(
    positive: int,
    negative: int,
    m: int,
    spread: float,
    *,
    r: float | None = None,
    size: float = 1.0,
    rng: Generator,
) -> Problem:
    """Draw a start of scale 1 with both groups; ``r``, if given, is the ratio of the classes."""
    inputs, labels = orthonormal_classes(positive, negative, spread, rng=rng)
    if r is not None:
        labels[positive:] *= norm(labels[:positive]) / norm(labels[positive:]) / r
    return Problem(inputs, size * labels, grouped_start(m, inputs, labels, rng=rng), SQUARE)


@dataclass(frozen=True)
class Setting:
    """A problem, a scale and an epsilon: what the lemmas define, and leading orders by the start alone."""

    problem: Problem
    eps: float = 0.0
    power: float = 0.0

    @property
    def start(self) -> Start:
        """The start, of scale 1."""
        return cast(Start, self.problem.start)

    @property
    def log(self) -> float:
        """log(1 / lambda)."""
        return self.power * TEN

    @cached_property
    def path(self) -> AlignmentPhase:
        """The exact path while the outputs are negligible, of norms 1 at the start."""
        return self.problem.alignment()

    @cached_property
    def plateaus(self) -> TwoPlateaus:
        """Groups, rates, half-times and the limit."""
        return two_plateaus(self.start.scaled(-self.log), self.problem.inputs, self.problem.labels)

    @property
    def rates(self) -> np.ndarray:
        """|D_+| and |D_-|, (2,)."""
        return np.array(self.plateaus.rates)

    def tilts(self, number: int, directions: np.ndarray) -> np.ndarray:
        """Return 1 - cos to the class of directions (..., d)."""
        gaps = directions - self.plateaus.directions[self.plateaus.groups[number][0]]
        return (gaps**2).sum(axis=-1) / 2

    def log_tilts(self, number: int, time: float) -> np.ndarray:
        """Return log 1 - cos (k,) of a group: the tangent of half of the angle falls at the rate |D|."""
        last = tuple(part[self.plateaus.groups[number]] for part in self.path.last)
        half = np.arcsin(np.sqrt(self.tilts(number, self.path.directions[last]) / 2))
        log_half = np.log(np.tan(half)) - self.rates[number] * (time - self.path.starts[last])
        return np.log(2) + 2 * log_half - np.log1p(np.exp(2 * log_half))

    @property
    def marks(self) -> np.ndarray:
        """The times of Figure 1, (4,)."""
        up, down = self.rates
        parts = np.array([self.eps, 1 + 3 * self.eps, 1 - self.eps, 1 + 3 * up / down * self.eps])
        return self.log * parts / [down, up, down, down]

    def bound(self, part: float) -> float:
        """Return the decimal logarithm of lambda^(part eps)."""
        return -part * self.eps * self.power

    def others(self, phase: Phase) -> tuple[np.ndarray, float]:
        """Return who must stay small in a phase, all but S_+ or the idle ones, and their log-bound."""
        grown = np.concatenate(self.plateaus.groups[: phase.number + 1])
        largest = np.log10(phase.factor) + self.start.log_norms.max() / TEN
        return np.delete(np.arange(len(self.start.signs)), grown), largest + self.bound(1)

    @property
    def ends_by_theory(self) -> np.ndarray:
        """When the logistic functions lack what (ii) leaves: t_2 and t_3, (2,)."""
        missing = 10 ** np.array([self.bound(phase.missing) for phase in PHASES.values()])
        lead = np.log(self.plateaus.heights / missing - 1) / (2 * self.rates)
        return self.plateaus.half_times + lead

    def log_norms_by_theory(self, times: ArrayLike) -> np.ndarray:
        """Return the decimal log-norms (T, m), by the clock of the sign of each neuron."""
        omega, kappa = self.path.asymptotics
        clock, rates = np.reshape(times, (-1, 1)), self.rates
        clocks = clock - np.logaddexp(0, 2 * rates * (clock - self.plateaus.half_times)) / (2 * rates)
        growth = kappa + omega * clocks[:, (self.start.signs < 0).astype(int)]
        return (self.start.log_norms - self.log + growth) / TEN

    def log_distances_by_theory(self, times: ArrayLike, classes: int) -> np.ndarray:
        """Return the decimal log-distances (T,) from theta_S, of 1 class, or from theta*, of 2."""
        part, heights = self.plateaus.fitted(times), np.reshape(self.plateaus.heights, (2, 1))
        goals = np.reshape(np.arange(2) < classes, (2, 1))
        groups = (heights * (goals - np.sqrt(part)) ** 2).sum(axis=0)
        idle = 10 ** (2 * self.log_norms_by_theory(times)[:, self.others(PHASES[3])[0]])
        return np.log10(2 * (groups + idle.sum(axis=1))) / 2

    def idle_pull(self, number: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return b (k,), q (k, n) and final squares (k,) of idle neurons that see a label of a class."""
        own = np.maximum(SIGNS[number] * self.problem.labels, 0) / self.plateaus.heights[number]
        seen = (self.start.directions @ self.problem.inputs.T > 0) * own
        b, logs = norm(seen, axis=1), self.plateaus.idle_log_norms
        idle = (self.start.signs == SIGNS[number]) & (b > 0) & np.isfinite(logs)
        return b[idle], (seen - b[:, None] ** 2 * own)[idle], np.exp(2 * logs[idle])

    def still_parts(self, number: int) -> np.ndarray:
        """Return what never moves of the weights (k, d) of a group, over their norms in the limit."""
        members, inputs = self.plateaus.groups[number], self.problem.inputs
        w, target = self.problem.network.w[members], self.plateaus.directions[members[0]]
        other = SIGNS[number] * self.problem.labels < 0
        w = w - (np.maximum(w @ inputs.T, 0) * other) @ inputs
        shrunk = np.exp(-self.log - self.plateaus.log_norms[members])
        return shrunk[:, None] * (w - np.outer(w @ target, target))

    def turns_by_theory(self, number: int, time: float) -> np.ndarray:
        """Return |D| - <v, D> (k,) in a group, turned by idle neurons, and by what never moves."""
        b, q, squares = self.idle_pull(number)
        p = self.plateaus.fitted(time)[number]
        # The integral of s^(b - 1/2) (1 - s)^(-3/2) up to p.
        integrals = p ** (b + 0.5) / (b + 0.5) * hyp2f1(b + 0.5, 1.5, b + 1.5, p)
        turn = -np.sqrt((1 - p) / p) / (2 * self.plateaus.heights[number]) * (squares * integrals / b) @ q
        away = self.still_parts(number) / np.sqrt(p) + turn @ self.problem.inputs
        return self.rates[number] / 2 * norm(away, axis=1) ** 2

    def loose_force_by_theory(self, time: float) -> float:
        """Return what the positive labels lack, over n, long after their fit."""
        b, q, squares = self.idle_pull(0)
        height, own = self.plateaus.heights[0], self.problem.labels > 0
        sizes = np.exp(2 * self.plateaus.log_norms[self.plateaus.groups[0]])
        turned = (squares * beta(b + 0.5, 0.5)) @ q + sizes @ self.still_parts(
            0
        ) @ self.problem.inputs.T * own
        age = self.rates[0] * (time - self.plateaus.half_times[0])
        return np.hypot(height * expit(-2 * age), norm(turned) * np.exp(-age)) / len(own)


@dataclass(frozen=True)
class Course(Setting):
    """The flow of a setting, and the ends of its phases by the paper's definition."""

    rtol: float = 1e-11

    @cached_property
    def run(self) -> Trajectory:
        """The flow until nine time constants after all is fitted."""
        until = max(self.marks[-1], *self.plateaus.half_times) + 9 / self.rates[1]
        return self.problem.scaled(-self.log).flow(until=until, rtol=self.rtol)

    def missing(self, number: int, times: ArrayLike) -> np.ndarray:
        """Return |y| - u of a class, (T,)."""
        log_norms = self.run.at(times).log_norms[:, self.plateaus.groups[number]]
        return self.plateaus.heights[number] - np.exp(2 * log_norms).sum(axis=1)

    def turned(self, number: int, times: ArrayLike) -> np.ndarray:
        """Return |D| - <v, D> of a group, (T, k)."""
        directions = self.run.at(times).directions[:, self.plateaus.groups[number]]
        return self.rates[number] * self.tilts(number, directions)

    def loose_force(self, times: ArrayLike) -> np.ndarray:
        """Return the norm of the residuals on positive labels over n, (T,)."""
        labels = self.problem.labels
        return norm((labels - self.run.outputs(times))[:, labels > 0], axis=1) / len(labels)

    def log_distances(self, times: ArrayLike, classes: int) -> np.ndarray:
        """Return the decimal log-distances (T,) from theta_S, of 1 class, or from theta*, of 2."""
        network, limit = self.run.networks_at(times), self.plateaus.limit.network()
        fitted = (limit.a > 0) | (classes == 2)
        in_w = ((network.w - fitted[:, None] * limit.w) ** 2).sum(axis=(1, 2))
        return np.log10(in_w + ((network.a - fitted * limit.a) ** 2).sum(axis=1)) / 2

    def conditions(self, phase: Phase, times: ArrayLike) -> np.ndarray:
        """Return how far the first of the conditions is that end a phase, (T,): at zero it is met."""
        neurons, most = self.others(phase)
        met = [
            self.turned(phase.number, times).max(axis=1) - 10 ** self.bound(phase.turned),
            10 ** self.bound(phase.missing) - self.missing(phase.number, times),
            self.run.at(times).log_norms[:, neurons].max(axis=1) / TEN - most,
        ]
        if phase.number == 1:
            loose = self.loose_force(times) - 10 ** self.bound(LOOSE)
            met.append(np.where(np.asarray(times) >= self.t_2, loose, -1))
        return np.max(met, axis=0)

    def first_met(self, phase: Phase) -> float:
        """Return the first time of a phase at which a condition is met, or else the last one."""
        low, end = self.eps * self.log / self.rates[phase.number], self.run.times[-1]
        fine = self.plateaus.half_times[phase.number] + np.linspace(-20, 40, 80) / self.rates[1]
        grid = np.unique(np.clip([*np.linspace(low, end, 40), *fine], low, end))
        met = self.conditions(phase, grid) >= 0
        k = int(met.argmax())
        if k == 0:
            return low if met[0] else end
        return first_passage(lambda time: self.conditions(phase, [time])[0], 0.0, grid[k - 1 : k + 1])

    @cached_property
    def t_2(self) -> float:
        """The end of the second phase."""
        return self.first_met(PHASES[2])

    @cached_property
    def ends(self) -> np.ndarray:
        """The ends of the second and the third phase, (2,)."""
        return np.array([self.t_2, self.first_met(PHASES[3])])


def tabled(
    measure: Callable[Concatenate[Any, Options], Row | Iterator[Row]],
) -> Callable[Concatenate[Runs, Options], DataFrame]:
    """Return the function that makes the table of what is measured of each run."""

    @wraps(measure)
    def of_runs(measured: Runs, *given: Options.args, **named: Options.kwargs) -> DataFrame:
        return table(lambda run: measure(run, *given, **named), measured)

    return of_runs


def first_phases() -> Runs:
    """Draw starts of which the ratio of the classes is large or just above 1."""
    families = {
        "2+4 labels": {"positive": 2, "negative": 4, "m": 60, "spread": 0.05},
        "4+2 labels": {"positive": 4, "negative": 2, "m": 60, "spread": 0.8},
        "3+4 labels, r = 1.02": {"positive": 3, "negative": 4, "m": 60, "spread": 0.5, "r": 1.02},
    }
    return runs(Setting, draws("first phases", grouped_problem, families))


@tabled
def norms(phase: Setting, at: str) -> Iterator[Row]:
    """Compare all norms at t_+1 with 2 c lambda^(1-eps), at t_1 with 2 c lambda^(1-r eps) [Lemmas 7i, 2iii].

    ``power`` is that of the scale at which the largest eps for the labels makes lambda^eps so small.
    """
    rate, log_norms = phase.rates[TIMES[at]], phase.start.log_norms
    for decades in DECADES:
        growth, times = decades * phase.rates[0] / rate, decades * TEN / rate * np.array([1, 1.2])
        measured, later = (phase.path.at(times)[1] + log_norms) / TEN
        yield {
            "scale_to_eps": 10.0**-decades,
            "power": decades / largest_epsilon(phase.problem.labels),
            "neuron": np.arange(len(log_norms)),
            "measured": measured,
            "at_most": TWO + log_norms.max() / TEN + growth,
            "nine_tenths": TWO + log_norms.max() / TEN + 0.9 * growth,
            "later": later,
        }


@tabled
def cosines(phase: Setting, group: str, at: str) -> Iterator[Row]:
    """Compare 1 - cos of a group and its class with twice the true power of lambda [Lemmas 7ii, 2i, 2ii].

    That is 2 eps times the rate of the class over that of the time, and 2 eps or more.
    """
    rate, number = phase.rates[TIMES[at]], GROUPS[group]
    neurons = phase.plateaus.groups[number]
    for decades in DECADES:
        power = 2 * decades * phase.rates[number] / rate
        yield {
            "scale_to_eps": 10.0**-decades,
            "neuron": neurons,
            "measured": phase.log_tilts(number, decades * TEN / rate) / TEN,
            "at_most": TWO - power,
            "sharper": TWO - 1.1 * power,
            "at_start": np.log10(phase.tilts(number, phase.start.directions[neurons])),
        }


def nearly_good(problem: Problem) -> Problem:
    """Return the problem with all parts of neurons but those along the labels of their sign a hundredth."""
    net, x = problem.network, problem.inputs
    good = (np.maximum(net.w @ x.T, 0) * (np.outer(net.a, problem.labels) > 0)) @ x
    return problem.but(start=Start.of(TwoLayer.balanced(good + (net.w - good) / 100, np.sign(net.a))))


@tabled
def norms_until(phase: Setting, group: str) -> Iterator[Row]:
    """Compare norms until t_+1 or t_1 with the first length along the labels of the sign [Lemma 9].

    It is above the printed bound, half of the least norm times lambda^eps or lambda^(r eps), where this power
    is small; else that is the bound.
    """
    number = GROUPS[group]
    rate, members = phase.rates[number], phase.plateaus.groups[number]
    times = np.linspace(0, 1, 81) ** 2 * DECADES[0] * TEN / rate
    own = phase.problem.inputs[phase.problem.labels * SIGNS[number] > 0]
    shrunk = 10 ** (-DECADES[0] * phase.rates[0] / rate)
    starts = {"as drawn": phase, "the rest a hundredth": Setting(nearly_good(phase.problem))}
    for name, setting in starts.items():
        log_norms = setting.path.at(times)[1] + setting.start.log_norms
        seen = norm(setting.problem.network.w[members] @ own.T, axis=1)
        first = np.maximum(seen, np.exp(setting.start.log_norms.min()) / 2 * shrunk)
        yield {
            "start": name,
            "neuron": np.tile(members, len(times)),
            "time": np.repeat(times, len(members)),
            "measured": np.exp(log_norms[:, members]).ravel(),
            "at_least": np.tile(first, len(times)),
            "tenth_above": np.tile(1.1 * first, len(times)),
        }


@dataclass(frozen=True)
class RawPhase:
    """Three neurons of each group at most in the flow of raw weights from three scales.

    ``weights`` (T, 3, m, d) are over the scale, at ``times`` (T,) to t_1 for lambda^eps = e^-9.
    """

    setting: Setting
    times: np.ndarray
    weights: np.ndarray


def raw_phases(phases: Runs) -> Runs:
    """Follow the groups from three scales in raw weights."""

    def follow(phase: Setting) -> RawPhase:
        some = phase.problem.only(np.concatenate([group[:3] for group in phase.plateaus.groups]))
        times = np.sort([*np.linspace(0, 9, 91) / phase.rates[1], 9 / phase.rates[0]])
        scales, net = np.exp(RAW_SCALES)[:, None], some.network
        batch = TwoLayer(scales[..., None] * net.w, scales * net.a)
        sizes = np.append(np.repeat(scales, net.w.size), np.repeat(scales, net.a.size))
        options: Row = {"rates": some.shares, "rtol": 1e-6, "atol": 1e-7 * sizes}
        flow = weights_flow(batch, some.inputs, some.labels, SQUARE, times.tolist(), **options)
        return RawPhase(Setting(some), times, flow.w / scales[..., None])

    return runs(follow, phases)


@tabled
def preactivations(raw: RawPhase, group: str, labels: str) -> Iterator[Row]:
    """Compare pre-activations on the labels of a class with those at the start that are negative, or zero.

    At t_+1 for S_+, at t_1 for S_-, over the scale 1e-40 [Lemmas 7iii, 8iii].
    """
    number, problem = GROUPS[group], raw.setting.problem
    data = np.flatnonzero(problem.labels * SIGNS[GROUPS[labels]] > 0)
    end = np.searchsorted(raw.times, 9 / raw.setting.rates[number])
    for neuron in raw.setting.plateaus.groups[number]:
        first, last = raw.weights[[0, end], -1, neuron] @ problem.inputs[data].T
        held = np.minimum(first, 0)
        row = {"neuron": neuron, "datum": data, "measured": last - held, "predicted": 0.0}
        yield row | {"at_start": first - held, "all": last}


@tabled
def alignment_times(raw: RawPhase) -> Iterator[Row]:
    """Compare the time to 1 - cos = 0.01 from each scale with that on the path without outputs [App. B.3]."""
    setting = raw.setting

    def passing(number: int, directions: np.ndarray) -> np.ndarray:
        logs = -np.log(setting.tilts(number, directions))
        return np.array([np.interp(-np.log(0.01), log, raw.times) for log in logs.T])

    for number, group in enumerate(setting.plateaus.groups):
        limit = passing(number, setting.path.at(raw.times)[0][:, group])
        for k, log_scale in enumerate(RAW_SCALES):
            w = raw.weights[:, k, group]
            yield {
                "log_scale": log_scale,
                "neuron": group,
                "measured": passing(number, w / norm(w, axis=-1)[..., None]),
                "predicted": limit,
                "logarithmic": limit * log_scale / RAW_SCALES[0],
            }


def phase_problems() -> Runs:
    """Draw problems with both groups and r above 1.25."""
    families = {
        "2+2 labels": {"positive": 2, "negative": 2, "m": 24, "spread": 0.1, "size": 2},
        "1+2 labels": {"positive": 1, "negative": 2, "m": 16, "spread": 0.3, "size": 5},
        "4+2 labels": {"positive": 4, "negative": 2, "m": 40, "spread": 0.1, "size": 2},
    }
    return draws("phases", grouped_problem, families)


def courses_from(problems: Runs, power: float | None = None) -> Runs:
    """Follow problems from the scale of a power, or from that at which idle neurons are seen."""
    courses = []
    for draw in problems:
        setting = Setting(draw.value, eps=min(0.05, largest_epsilon(draw.value.labels)))
        course = Course(draw.value, setting.eps, visible_power(setting) if power is None else power)
        courses.append(Draw({**draw.keys, "log_scale": -course.log, "eps": course.eps}, (course,)))
    return courses


def visible_power(setting: Setting, share: float = 1e-4) -> float:
    """Return the power from which idle neurons come to this squared size, so that their effect is seen.

    Or a larger one, for at t_+1 and t_1 groups must be within half of the condition (i), which would end a
    phase before any fit.
    """

    def excess(power: float) -> float:
        small = replace(setting, power=power)
        over = [2 * np.log(small.plateaus.idle_distance) - np.log(share)]
        for number, part, *_ in PHASES.values():
            rate = small.rates[number]
            tilt = setting.log_tilts(number, setting.eps * small.log / rate).max()
            over.append(np.log(2 * rate) + tilt - TEN * small.bound(part))
        return max(over)

    return brentq(excess, 0.1, 900, xtol=1e-3)


def bounded(measured: ArrayLike, printed: float, law: ArrayLike, slack: float = SLACK) -> Row:
    """Return what is measured with the printed bound, or the leading order where this is smaller."""
    law = np.asarray(law)
    at_most = np.minimum(printed, law + slack)
    return {"measured": measured, "at_most": at_most, "printed": printed, "law": law, "sharper": 1.1 * law}


@tabled
def end_times(course: Course, phase: int) -> Row:
    """Compare t_2 |D_+| / log(1/lambda) with 1 + 3 eps, t_3 |D_-| with 1 + 3 r eps [Lemmas 3, 4]."""
    number = PHASES[phase].number
    unit = course.log / course.rates[number]
    law = course.ends_by_theory[number] / unit
    row = bounded(course.ends[number] / unit, course.marks[2 * number + 1] / unit, law)
    return row | {"sharper": 0.99 * law}


@tabled
def turns(course: Course, phase: int) -> Row:
    """Compare |D| - <v, D> in the group with lambda^(eps/2), lambda^(eps/14) [Lemmas 3i, 4i]."""
    number, part, *_ = PHASES[phase]
    time = course.ends[number]
    law = np.log10((np.sqrt(course.turns_by_theory(number, time)) + 1e-11) ** 2)
    measured = np.log10(course.turned(number, time)[0] + ROUNDING**2)
    return {"neuron": course.plateaus.groups[number], **bounded(measured, course.bound(part), law, 0.05)}


@tabled
def fits(course: Course, phase: int) -> Row:
    """Compare |y| - u with lambda^(eps/5), lambda^(eps/29) [Lemmas 3ii, 4ii]."""
    number, _, part, _ = PHASES[phase]
    missing = np.maximum(course.missing(number, course.ends[number])[0], ROUNDING)
    row = {"measured": np.log10(missing), "predicted": course.bound(part)}
    return row | {"next_power": course.bound(part / (1 - part))}


@tabled
def other_norms(course: Course, phase: int) -> Row:
    """Compare norms but those of S_+ with 2 c lambda^eps, of idle ones with 3 c lambda^eps [3iii, 4iv]."""
    time = course.ends[PHASES[phase].number]
    neurons, printed = course.others(PHASES[phase])
    law = course.log_norms_by_theory(time)[0, neurons]
    measured = course.run.at(time).log_norms[0, neurons] / TEN
    return {"neuron": neurons, **bounded(measured, printed, law)}


@tabled
def positive_losses(course: Course) -> Row:
    """Compare the loss on positive labels at t_2 with lambda^(2 eps/5) / 2n [after Lemma 3]."""
    n = len(course.problem.labels)
    return {
        "measured": np.log10(n / 2 * course.loose_force(course.t_2)[0] ** 2),
        "predicted": course.bound(2 / 5) - np.log10(2 * n),
        "sum": course.bound(2 / 5) - TWO,
        "as_printed": course.bound(1 / 5) - np.log10(2 * n),
    }


@tabled
def last_losses(course: Course) -> Row:
    """Compare the loss at t_3 with lambda^(eps/60) [Lemma 13]."""
    law = course.bound(2 / 29) - np.log10(2 * len(course.problem.labels))
    return bounded(np.log10(course.run.loss(course.ends)[1]), course.bound(1 / 60), law)


@tabled
def saddle_distances(course: Course) -> Row:
    """Compare the distance from theta_S between the fits with lambda^(eps/5), and before them [Fact 1]."""
    _, early, late, _ = course.marks
    times = late - (late - early) * np.linspace(0, 1, 15) ** 2
    # Norms of groups are right to 1e-8 and better.
    law = np.log10(10 ** course.log_distances_by_theory(times, 1) + 1e-7)
    before = early * (1 - 3 * course.eps) / (1 + 3 * course.eps)
    row = {"time": times, **bounded(course.log_distances(times, 1), course.bound(1 / 5), law)}
    return row | {"before": course.log_distances(before, 1)[0]}


@tabled
def stairs(course: Course) -> Row:
    """Compare the loss over the first one at the four times of Figure 1 with its stairs."""
    part = (course.rates[1] / norm(course.rates)) ** 2
    bare = course.log / np.array([np.inf, *course.rates, course.rates[1]])
    return {
        "end": ["alignment", "first fit", "wait", "second fit"],
        "measured": course.run.loss(course.marks) / course.run.loss([0.0]),
        "predicted": [1.0, part, part, 0.0],
        "without_margins": course.run.loss(bare) / course.run.loss([0.0]),
    }


@tabled
def moves(course: Course) -> Row:
    """Compare how far neurons of S_+ move in the third phase with lambda^(eps/15) [Lemma 4iii]."""
    group = course.plateaus.groups[0]
    w = course.run.at(course.ends).w[:, group]
    part = course.plateaus.fitted(course.ends_by_theory[0])[0]
    law = course.plateaus.log_norms[group] / TEN + np.log10(1 - np.sqrt(part))
    return {"neuron": group, **bounded(np.log10(norm(w[1] - w[0], axis=1)), course.bound(1 / 15), law)}


@tabled
def loose_forces(course: Course) -> Row:
    """Compare what is missing on positive labels at t_3, over n, with lambda^(eps/14) [Lemma 11iv]."""
    law = np.log10(course.loose_force_by_theory(course.ends[1]) + ROUNDING)
    measured = np.log10(course.loose_force(course.ends)[1] + ROUNDING)
    return bounded(measured, course.bound(LOOSE), law, 0.05)


@tabled
def limit_distances(course: Course, part: float, constants: int = 0) -> Row:
    """Compare distances from theta* with lambda^(part eps), from t_3 to time constants later [12, Thm. 2]."""
    times = course.ends[1] + np.linspace(0, constants, 3 * constants + 1) / course.rates[1]
    times = np.minimum(times, course.run.times[-1])
    law = np.log10(10 ** course.log_distances_by_theory(times, 2) + 3e-11)  # of the flow's rounding
    return {"time": times, **bounded(course.log_distances(times, 2), course.bound(part), law)}


@tabled
def final_losses(course: Course) -> Row:
    """Measure the last loss, and that half-way between the fits, over the first one [Theorem 1]."""
    between = np.mean(course.plateaus.half_times)
    first, saddle, last = course.run.loss([0.0, between, course.run.times[-1]])
    return {"measured": last / first, "predicted": 0.0, "at_the_saddle": saddle / first}


def half_times(course: Course) -> np.ndarray:
    """Return the half-times (2,): the logit of what is fitted is a line in time."""
    halves = []
    for number, half in enumerate(course.plateaus.half_times):
        times = half + np.array([-0.5, 0.5]) / course.rates[number]
        part = 1 - course.missing(number, times) / course.plateaus.heights[number]
        halves.append(np.interp(0.0, logit(part), times))
    return np.array(halves)


def delays(small: Runs, larger: Runs) -> DataFrame:
    """Measure how half-times grow, over log(1/lambda) / |D| [after Theorem 1]."""

    def delay(later: Course, sooner: Course) -> Row:
        slopes = (half_times(later) - half_times(sooner)) / (later.log - sooner.log)
        row = {"class": ["positive", "negative"], "measured": slopes * later.rates, "predicted": 1.0}
        return row | {"single_label": slopes * np.abs(later.problem.forces).max()}

    pairs = [Draw(far.keys, (far.value, near.value)) for far, near in zip(small, larger, strict=True)]
    return table(delay, pairs)


STATEMENTS: dict[str, Callable[[Runs], DataFrame]] = {
    "3t": partial(end_times, phase=2),
    "3i": partial(turns, phase=2),
    "3ii": partial(fits, phase=2),
    "3iii": partial(other_norms, phase=2),
    "3l": positive_losses,
    "fact": saddle_distances,
    "4t": partial(end_times, phase=3),
    "4i": partial(turns, phase=3),
    "4ii": partial(fits, phase=3),
    "4iii": moves,
    "4iv": partial(other_norms, phase=3),
    "11iv": loose_forces,
    "12": partial(limit_distances, part=1 / 31),
    "13": last_losses,
}


def leading_orders(courses: Runs, *statements: str) -> DataFrame:
    """Return what lemmas bound, beside the closed forms of the start and the printed bounds. [ours]"""
    columns = ["family", "seed", "log_scale", "statement", "measured", "law", "printed"]
    tables = [STATEMENTS[name](courses).assign(statement=name) for name in statements]
    return concat(tables, ignore_index=True)[columns]


def holds(course: Course, statement: str) -> bool:
    """Return whether a statement holds as it is printed, what has a law to a hundredth of a decade."""
    with np.errstate(all="ignore"):  # there are no leading orders of large scales
        rows = STATEMENTS[statement]([Draw({}, (course,))])
    if "printed" in rows:
        return bool((rows["measured"] <= rows["printed"]).all())
    return bool((abs(rows["measured"] - rows["predicted"]) < 0.01).all())


def largest_scales(courses: Runs) -> dict[str, str]:
    """Return from which power of ten on each statement holds, in the first course of each family."""

    @cache
    def at(course: Course, power: int) -> Course:
        return replace(course, power=power, rtol=1e-4)

    first = {draw.keys["family"]: draw.value for draw in reversed(courses)}.values()
    scales = {}
    for name in STATEMENTS:
        least = [
            bisect_left(POWERS, True, key=lambda power: holds(at(course, power), name)) for course in first
        ]
        scales[f"from_{name}"] = f"1e-{POWERS[max(least)]}"
    return scales


def outgrown(each: int = 3) -> DataFrame:
    """Measure the idle neuron that grows fastest where only the printed alpha admits eps [App. B.2]."""

    def steep(*, rng: Generator) -> Problem:
        labels, inputs = np.repeat([1.0, -0.4], [6, 2]), orthonormal_inputs(8, 8, rng=rng)
        return Problem(inputs, labels, grouped_start(200, inputs, labels, rng=rng), SQUARE)

    def fastest(problem: Problem) -> Row:
        eps = np.mean([largest_epsilon(problem.labels, as_printed=printed) for printed in (True, False)])
        setting = Setting(problem, float(eps), 60)
        neurons, at_most = setting.others(PHASES[2])
        neuron = neurons[setting.path.asymptotics[0][neurons].argmax()]
        run = problem.scaled(-setting.log).flow(until=setting.ends_by_theory[0], rtol=1e-5)
        return {"eps": eps, "measured": run.log_norms[-1, neuron] / TEN, "at_most": at_most}

    return table(fastest, draws("printed alpha", steep, {"6+2 labels": {}}, each=each))


def squared_gradient(problem: Problem, network: TwoLayer) -> np.ndarray:
    """Return the squared gradients (...) of the loss."""
    slopes = problem.shares * problem.loss.slope(network(problem.inputs), problem.labels)
    in_w, in_a = network.gradients(problem.inputs, slopes)
    return (in_w**2).sum(axis=(-1, -2)) + (in_a**2).sum(axis=-1)


def rested(network: TwoLayer, inputs: np.ndarray) -> TwoLayer:
    """Return networks in which what is zero up to rounding is not active, on orthonormal inputs."""
    seen, lengths = network.w @ inputs.T, norm(network.w, axis=-1)[..., None]
    at_zero = np.abs(seen) < 1e-12 * lengths
    return network.with_weights(network.w - (at_zero * (seen + 1e-13 * lengths)) @ inputs, network.a)


def seeing_neurons(family: str, *, rng: Generator) -> Problem:
    """Draw twelve balanced neurons that see the labels of their sign, or two with equality in Lemma 14."""
    inputs, labels = orthonormal_classes(3, 3, 0.5, rng=rng)
    signs = np.repeat([1, -1], 6)
    seen = rng.exponential(size=(12, 6))
    seen *= np.where(np.outer(signs, labels) > 0, 1, rng.choice([-1, 1]))
    if family == "over two decades":
        seen *= np.exp(rng.uniform(-4, 1, (12, 1)))
    if family == "sharp":
        signs, first = np.array([1, -1]), np.maximum(labels, 0)
        second = (labels < 0) * rng.uniform(0.5, 2, len(labels))
        second *= np.sqrt(-labels @ second) / (second @ second) ** 0.75
        seen = np.array([first / (first @ first) ** 0.25, second])
        seen[seen == 0] = -1e-13  # not active, whatever the rounding
    return Problem(inputs, labels, TwoLayer.balanced(seen @ inputs, signs), SQUARE)


def gradients() -> DataFrame:
    """Measure the squared gradient over 2 L times the least squared norm of a sign over n [Lemma 14]."""

    def over_bound(problem: Problem) -> Row:
        net = problem.network

        def ratio(other: TwoLayer) -> float:
            least = min((other.w[sign * other.a > 0] ** 2).sum() for sign in (1, -1))
            bound = 2 * problem.total_loss(other) * least / len(problem.labels)
            return squared_gradient(problem, other) / bound

        away = -np.outer(np.abs(net.a), problem.inputs.sum(axis=0))
        return {
            "measured": ratio(net),
            "at_least": 1.0,
            "unbalanced": ratio(net.with_weights(3 * net.w, net.a / 3)),
            "turned_away": ratio(TwoLayer.balanced(away, np.sign(net.a))),
        }

    names = ("over two decades", "of like sizes", "sharp")
    return table(over_bound, draws("Lemma 14", seeing_neurons, dict(zip(names, names, strict=True))))


def path_lengths(courses: Runs) -> DataFrame:
    """Measure paths of flows over the root of L(0) / alpha, with the best alpha on them [Remark 1]."""

    def row(length: float, values: np.ndarray, slopes: np.ndarray) -> Row:
        measured = length / np.sqrt(values[0] / np.min(slopes / values))
        return {"measured": measured, "at_most": 2.0, "root": np.sqrt(2), "half": 1.0}

    def hill(waves: float, *, rng: Generator) -> Row:
        x = np.linspace(rng.uniform(1, 6), 1e-3, 2000)
        return row(x[0], x**2 + waves * np.sin(x) ** 2, (2 * x + waves * np.sin(2 * x)) ** 2)

    def network(course: Course) -> Row:
        problem = course.problem
        times = np.minimum(course.ends[1] + np.linspace(0, 4, 41) / course.rates[1], course.run.times[-1])
        nets = rested(course.run.networks_at(times), problem.inputs)
        steps = np.diff(nets.w, axis=0), np.diff(nets.a, axis=0)
        length = np.hypot(norm(steps[0], axis=(1, 2)), norm(steps[1], axis=1)).sum()
        return row(length, problem.total_loss(nets), squared_gradient(problem, nets))

    hills = draws("hills", hill, {"parabolas": {"waves": 0.0}, "x^2 + 3 sin^2 x": {"waves": 3.0}})
    nets = [Draw({**draw.keys, "family": "after t_3"}, (network(draw.value),)) for draw in courses]
    return table(dict, hills + nets)


def largest_growths() -> DataFrame:
    """Measure the largest solution over g(0) + c/a at four ages b t / a, and as printed [Lemma 16]."""
    ages = np.array([0.5, 1, 2, 4])

    def constants(low: float, high: float, part: float, first: str, *, rng: Generator) -> Row:
        a, c = rng.uniform(low, high), rng.uniform(0.5, 5)
        start = {"random": rng.uniform(0, 1), "zero": 0.0, "c/a": c / a}[first]
        return {"a": a, "b": a**2 * part * rng.uniform(0.5, 1), "c": c, "start": start}

    def largest(drawn: Row) -> Row:
        a, b, c, start = drawn.values()
        exponents = (-a + np.array([1, -1]) * np.sqrt(a**2 + 4 * b)) / 2
        grown = np.exp(np.outer(exponents, ages * a / b))

        def solution(drive: float) -> np.ndarray:
            return np.linalg.solve([[1, 1], exponents], [start, drive - a * start]) @ grown

        return {
            **drawn,
            "age": ages,
            "measured": solution(c) / (start + c / a),
            "at_most": 1 + np.exp(ages),
            "without_one": 0.99 * np.exp(ages),
            "as_printed": solution(c / a) / (start + c),
        }

    families = {
        "small a, g(0) random": {"low": 0.05, "high": 0.5, "part": 0.05, "first": "random"},
        "large a, tiny b, g(0) = 0": {"low": 1, "high": 10, "part": 1e-6, "first": "zero"},
        "g(0) = c/a": {"low": 0.2, "high": 2, "part": 0.5, "first": "c/a"},
    }
    return table(largest, draws("Lemma 16", constants, families))
