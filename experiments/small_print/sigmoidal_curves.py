"""Small claims of [combes2018]: each function measures one, or a few that are alike, and returns a table.

Columns before ``measured`` say where a row is from.  A neuron on an input of norm ``|x|`` has response ``h``,
output weight ``a`` and logit ``u = a h``; ``c = h^2 - |x|^2 a^2`` is conserved, and ``b = |c| / 2|x|``.
On two orthogonal inputs of two classes its state is ``(alpha, beta, a)``, as in `lib.data.two_inputs`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise, product
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike
from pandas import DataFrame
from scipy.integrate import quad, solve_ivp
from scipy.optimize import linprog
from scipy.special import expi, expit

from experiments.records import Record
from lib.data.two_inputs import neuron, pair
from lib.draws import Draw, draws, grid, table
from lib.flow.equation import solution
from lib.models.deep import gradients, outputs
from lib.models.two_layer import TwoLayer
from lib.problem import Problem
from lib.seeds import generator, named
from lib.theory.one_neuron import log_integral
from lib.training.losses import LOGISTIC

Row = dict[str, Any]
CLOCK = np.geomspace(0.1, 1e3, 10)  # times in units of 1 / 2|x|
NORMS = {"norms 0.05 to 0.3": (0.05, 0.3), "0.4 to 0.8": (0.4, 0.8), "2 to 20": (2.0, 20.0)}
LOGITS = {"small logits": 0.05, "ordinary ones": 0.3, "large ones": 1.2}
LABELS = np.array([1.0, -1.0])
RATES = (0.5, 0.2, 0.1, 0.01)  # the paper's, of the rare feature


def log_uniform(rng: Generator, low: float, high: float) -> float:
    """Draw a number whose logarithm is uniform."""
    return float(np.exp(rng.uniform(np.log(low), np.log(high))))


# The mirror image, and several neurons on one input


def two_neurons(low: float, high: float, *, rng: Generator) -> Problem:
    """Draw two inputs at an obtuse angle, of class -1 and +1, each with a balanced neuron of its own."""
    size, other = (log_uniform(rng, 0.05, 20) for _ in range(2))
    u0, angle = log_uniform(rng, low, high), np.pi * rng.uniform(0.5, 1)
    inputs = np.array([[size, 0, 0], [other * np.cos(angle), other * np.sin(angle), 0]])
    a = np.sqrt([u0 / size, u0 / 2 / other])
    start = TwoLayer((a / [size, other])[:, None] * inputs, a * [-1, 1])
    return Problem(inputs, np.array([-1.0, 1.0]), start, LOGISTIC, share=1.0)


def mirror_clock() -> DataFrame:
    """Measure how fast the clock of class -1, F(-v), goes in units of 2|x| [Eq. 16]."""

    def clock_speed(problem: Problem) -> Row:
        """Compare the speed from the start to ten times with one."""
        size = np.linalg.norm(problem.inputs[0])
        v = problem.raw(np.append(0, CLOCK) / 2 / size)(problem.inputs)[:, 0]
        return {
            "norm": size,
            "T": CLOCK,
            "measured": (log_integral(-v[1:]) - log_integral(-v[0])) / CLOCK,
            "predicted": 1.0,
            "wrong_sign": (np.log(-v[1:]) + expi(v[1:])) / CLOCK,
        }

    logits = {"tiny logits": (1e-8, 1e-3), "ordinary ones": (1e-3, 1.0), "large ones": (1.0, 6.0)}
    families = {name: {"low": low, "high": high} for name, (low, high) in logits.items()}
    return table(clock_speed, draws("mirror", two_neurons, families))


def unequal(size: float, *, rng: Generator) -> Problem:
    """Draw two to five neurons that are active on one input of norm about ``size``, not balanced."""
    count = rng.integers(2, 6)
    x = size * rng.uniform(0.5, 2) * np.array([1.0, 0, 0])
    norm = np.linalg.norm(x)
    h = np.sqrt(norm) * rng.uniform(0.3, 1, count)
    a = h / norm * rng.uniform(-1, 1.5, count)
    return Problem(x[None], np.ones(1), TwoLayer(np.outer(h, x / norm**2), a), LOGISTIC)


def printed_flow(h: np.ndarray, a: np.ndarray, size: float, until: float) -> np.ndarray:
    """Return h and a, (2, m), at the end of the equations as A.4 prints them."""

    def velocity(state: np.ndarray) -> np.ndarray:
        """Return the derivatives: a has h e^-u for h / (1 + e^u)."""
        h, a = state
        return np.array([size**2 * a * expit(-(h @ a)), h * np.exp(-(h @ a))])

    return solution(velocity, [h, a], [0, until], rtol=1e-9, method="RK45")[1]


def neuron_invariants() -> DataFrame:
    """Measure how c_j of each of several neurons moves, over the largest square [Appendix A.4]."""

    def movement(problem: Problem) -> Row:
        """Compare the movement with zero, by the flow and by the equations as printed."""
        x = problem.inputs[0]
        size = np.linalg.norm(x)
        networks = problem.raw(np.array([0.0, 20 / size]))
        h, a = networks.w @ x, networks.a
        printed = printed_flow(h[0], a[0], float(size), float(20 / size))

        def moved(end: np.ndarray) -> np.ndarray:
            """Return by how much c_j is another one at the end."""
            squares = end**2 - np.array([h[0] ** 2, a[0] ** 2])
            return (squares[0] - size**2 * squares[1]) / (end[0] ** 2 + size**2 * end[1] ** 2).max()

        return {
            "neuron": np.arange(len(a[0])),
            "norm": size,
            "measured": moved(np.array([h[1], a[1]])),
            "predicted": 0.0,
            "as_printed": moved(printed),
        }

    sizes = {"short inputs": 0.1, "ordinary ones": 1.0, "long ones": 10.0}
    return table(movement, draws("neurons of one input", unequal, sizes))


# One neuron off balance: Section 3.2 and Appendix A.3


@dataclass(frozen=True)
class OffBalance:
    """An active neuron on an input of norm ``size``: its first logit, ``b``, and the sign of ``c``."""

    size: float
    u0: float
    b: float
    side: int
    larger: float  # another norm

    @property
    def layers(self) -> np.ndarray:
        """Pre-activation and output weight at the start, (2,)."""
        sums = np.sqrt(2 * self.size * (np.hypot(self.b, self.u0) + np.array([self.u0, -self.u0])))
        plus, minus = sums * [1, self.side]
        return np.array([(plus + minus) / 2, (plus - minus) / (2 * self.size)])

    @property
    def c(self) -> float:
        """The conserved number, from the layers."""
        h, a = self.layers
        return float(h**2 - self.size**2 * a**2)

    @property
    def origin(self) -> Row:
        """What a row says of the neuron."""
        return {"norm": self.size, "b": self.b, "u0": self.u0}


def off_balance(side: int, *, rng: Generator) -> OffBalance:
    """Draw a neuron: norms 0.05 to 20, b 0.05 to 7, logits 0.02 to 1."""
    size, u0, b = np.exp(rng.uniform([-3, -4, -3], [3, 0, 2])).tolist()
    return OffBalance(size, u0, b, side, size * log_uniform(rng, 1.001, 10))


def neurons_off_balance(name: str) -> list[Draw]:
    """Draw neurons of both signs of c."""
    return draws(name, off_balance, {"c above zero": 1, "c below zero": -1}, each=8)


def follow(layers: ArrayLike, size: float, logits: np.ndarray) -> np.ndarray:
    """Return h, a and the time of a neuron at ``logits`` (n,) by the flow in the logit, (3, n)."""

    def rates(u: float, state: np.ndarray) -> np.ndarray:
        """Return the derivatives of h, a and the time in the logit."""
        h, a = state[:2]
        return np.array([size**2 * a, h, 1 + np.exp(u)]) / (h**2 + size**2 * a**2)

    h0, a0 = np.asarray(layers)
    course = solve_ivp(rates, (h0 * a0, logits[-1]), [h0, a0, 0.0], "DOP853", logits, rtol=1e-12, atol=1e-14)
    return course.y


def time_integral(start: float, end: float, b: float, constant: float = 1.0) -> float:
    """Return the integral of (1 + e^v) / sqrt(b^2 + v^2), in which ``constant`` stands for the 1."""
    return float(quad(lambda v: (constant + np.exp(v)) / np.hypot(b, v), start, end)[0])


def theta_0() -> DataFrame:
    """Measure the hyperbolic angle at the start [Appendix A.3, below Eq. 22]."""

    def angle(start: OffBalance) -> Row:
        """Compare the angle just after the start, by a logarithm, with the inverse cosine."""
        (h0, a0), norm = start.layers, start.size
        h, a, _ = follow(start.layers, norm, start.u0 + np.array([1e-9, 0.1]))[:, 0]
        return {
            **start.origin,
            "measured": np.log(abs((h + norm * a) / (h - norm * a))),
            "predicted": np.arccosh((h0**2 + norm**2 * a0**2) / abs(start.c)),
            "two_lost": np.arcsinh(norm * start.u0 / abs(start.c)),
        }

    return table(angle, neurons_off_balance("theta 0"))


def times_to_angles() -> DataFrame:
    """Measure the time to a logit, b sinh(theta), times 2|x| [Appendix A.3, last display]."""

    def spent(start: OffBalance) -> Row:
        """Compare times at five logits with the integral."""
        logits = start.u0 + np.array([0.1, 1, 2, 4, 8])
        return {
            **start.origin,
            "u": logits,
            "measured": 2 * start.size * follow(start.layers, start.size, logits)[2],
            "predicted": [time_integral(start.u0, u, start.b) for u in logits],
            "one_dropped": [time_integral(start.u0, u, start.b, constant=0) for u in logits],
        }

    return table(spent, neurons_off_balance("times to angles"))


def times_of_norms() -> DataFrame:
    """Measure the time to a logit on a longer input over that on the input [Section 3.2, Fig. 2 right]."""

    def ratio(start: OffBalance) -> Row:
        """Compare the ratio from the same h and a with that of the integrals."""
        norm, larger, (h, a) = start.size, start.larger, np.abs(start.layers)
        u0, logits = h * a, h * a + np.array([0.1, 0.5, 2, 8])

        def time(size: float, u: float) -> float:
            """Return the time to a logit on an input of that norm."""
            return time_integral(u0, u, abs(h**2 - size**2 * a**2) / (2 * size)) / (2 * size)

        return {
            "norm": norm,
            "longer": larger / norm,
            "u": logits,
            "measured": follow((h, a), larger, logits)[2] / follow((h, a), norm, logits)[2],
            "predicted": [time(larger, u) / time(norm, u) for u in logits],
            "same_time": 1.0,
            "by_the_norm": norm / larger,
        }

    return table(ratio, neurons_off_balance("times of norms"))


def fading() -> DataFrame:
    """Measure what c changes of the time to a large logit, over b^2 / 2u^2 [Section 3.2, Fig. 2 right]."""

    def effect(start: OffBalance) -> Row:
        """Compare the effect at three logits with its law, whose next terms are below 60 / u^3."""
        b, logits = 0.5 + 2.5 * start.b / np.exp(2), np.array([30.0, 60, 120])
        tilted = OffBalance(1.0, start.u0, b, start.side, 1.0).layers
        even = np.sqrt([start.u0, start.u0])
        times, even_times = (follow(layers, 1.0, logits)[2] for layers in (tilted, even))
        law, rest = 1 + 2 / logits + (8 - 3 * b**2 / 4) / logits**2, 60 / logits**3
        return {
            "b": b,
            "u": logits,
            "measured": (1 - times / even_times) * 2 * logits**2 / b**2,
            "at_least": law - rest,
            "at_most": law + rest,
            "least_of_speeds": 1 - rest,
            "most_of_speeds": 1 + rest,
        }

    return table(effect, neurons_off_balance("fading"))


def beside_saxe(logits: tuple[float, ...]) -> DataFrame:
    """Measure the logit over the solution of u' = 2u(s - u) [Section 3.2, before Eq. 2]."""

    def over_logistic(logit: float) -> Row:
        """Compare the logit, from 1e-6 on, with the solution for s = |x| / 2, and for s = |x|."""
        time = follow((1e-3, 1e-3), 1.0, np.array([logit]))[2, 0]
        half, whole = (s / (1 + (s * 1e6 - 1) * np.exp(-2 * s * time)) for s in (0.5, 1.0))
        return {
            "logit": logit,
            "measured": logit / half,
            "predicted": 1.0,
            "whole_norm": logit / whole,
            "logistic": half,
            "s": 0.5,
            "norm": 1.0,
        }

    return table(over_logistic, grid(logit=logits))


# Two classes, one neuron: Section 3.4 and Appendix A.8


@dataclass(frozen=True)
class Shared:
    """A neuron on two orthogonal inputs of two classes: their norms, and its state in units of ``size``."""

    norms: np.ndarray
    size: float
    problem: Problem

    @classmethod
    def at(cls, state: ArrayLike, norms: ArrayLike, rng: Generator, size: float = 1.0) -> Shared:
        """Return a neuron in a state, (3,), on inputs drawn with these norms, (2,)."""
        inputs = pair(*np.asarray(norms), rng=rng)
        start = neuron(state, inputs, rng=rng)
        return cls(np.asarray(norms), size, Problem(inputs, LABELS, start, LOGISTIC, share=1.0))

    @property
    def state(self) -> np.ndarray:
        """Responses and output weight at the start, (3,)."""
        return self.states([0.0])[0]

    def states(self, times: ArrayLike) -> np.ndarray:
        """Return (alpha, beta, a) along the flow of the sum of the two losses, (T, 3)."""
        clock = np.asarray(times)
        run = self.problem.flow(until=max(float(clock[-1]), 1e-9))
        networks = [run.network_at(time) for time in clock]
        return np.array(
            [[*network.preactivations(self.problem.inputs)[:, 0], network.a[0]] for network in networks]
        )

    def steps(self) -> np.ndarray:
        """Return minus the gradient of each loss alone in terms of the state, (2, 3)."""
        gradients = [
            self.problem.network.gradients(x[None], LOGISTIC.slope(self.problem.network(x[None]), y))
            for x, y in zip(self.problem.inputs, LABELS, strict=True)
        ]
        return -np.array([[*(w @ self.problem.inputs.T)[0], a[0]] for w, a in gradients])

    def swapped(self, norms: np.ndarray) -> Shared:
        """Return the neuron with the classes exchanged, on inputs of these norms."""
        return Shared.at(exchanged(self.state), norms, directions(), self.size)


def exchanged(states: np.ndarray) -> np.ndarray:
    """Return states (..., 3) with the classes exchanged."""
    return states[..., [1, 0, 2]] * [1, 1, -1]


def two_norms(logit: float, rng: Generator) -> tuple[np.ndarray, float]:
    """Draw norms from 0.4 to 2.7, and return the responses at which logits are so large."""
    norms = np.exp(rng.uniform(-1, 1, 2))
    return norms, float(np.sqrt(logit * np.hypot(*norms)))


def undecided(logit: float, *, rng: Generator) -> Shared:
    """Draw a neuron with responses alike and an output weight of either sign."""
    norms, size = two_norms(logit, rng)
    state = size * np.array([*rng.uniform(0.5, 1.5, 2), rng.uniform(-1, 1) / norms.max()])
    return Shared.at(state, norms, rng, size)


def early_states(shared: Shared) -> np.ndarray:
    """Return the states at two times, before the fight is over, (2, 3)."""
    return shared.states(np.array([0.3, 1.0]) / np.hypot(*shared.norms))


def shared_invariant() -> DataFrame:
    """Measure how c of a neuron with two inputs moves, over the squared size [Theorem 3.4]."""

    def movement(shared: Shared) -> Row:
        """Compare the movement with zero, with the norms in it and without them."""
        start, later = shared.state, early_states(shared)

        def moved(norms: ArrayLike) -> np.ndarray:
            """Return by how much the difference of squares is another one."""
            first, then = (((x[..., :2] / norms) ** 2).sum(-1) - x[..., 2] ** 2 for x in (start, later))
            return (then - first) / shared.size**2

        return {
            "time": [0.3, 1.0],
            "measured": moved(shared.norms),
            "predicted": 0.0,
            "without_norms": moved(1.0),
        }

    return table(movement, draws("invariant", undecided, LOGITS))


def symmetry() -> DataFrame:
    """Measure the states from the exchanged start, beside those of the start exchanged [Appendix A.8]."""

    def pictures(shared: Shared) -> Row:
        """Compare with the norms exchanged as well, with a of one sign, and with the norms as they were."""
        picture = exchanged(early_states(shared)) / shared.size
        return {
            "coordinate": ["alpha", "beta", "a"] * 2,
            "measured": (early_states(shared.swapped(shared.norms[::-1])) / shared.size).ravel(),
            "predicted": picture.ravel(),
            "same_sign": (picture * [1, 1, -1]).ravel(),
            "norms_kept": (early_states(shared.swapped(shared.norms)) / shared.size).ravel(),
        }

    return table(pictures, draws("symmetry", undecided, LOGITS))


def sampled_steps() -> DataFrame:
    """Measure the mean of a step over its two draws, an update of one loss each [Eq. 4]."""

    def mean_step(shared: Shared) -> Row:
        """Compare with half of the equations."""
        (alpha, beta, a), (n1, n2) = shared.state, shared.norms
        gain, loss = 1 / (1 + np.exp(a * alpha)), 1 / (1 + np.exp(-a * beta))
        equations = np.array([n1**2 * a * gain, -(n2**2) * a * loss, alpha * gain - beta * loss])
        return {
            "coordinate": ["alpha", "beta", "a"],
            "measured": shared.steps().mean(axis=0),
            "predicted": equations / 2,
            "both_inputs": equations,
        }

    return table(mean_step, draws("sampled", undecided, LOGITS))


def backwards(state: ArrayLike, norms: np.ndarray, weight: float) -> float:
    """Return the angle at which the orbit followed backwards reaches a size of a."""

    def velocity(_time: float, now: np.ndarray) -> list[float]:
        """Return minus the flow."""
        gain, loss = expit(-now[2] * now[0]), expit(now[2] * now[1])
        in_a = now[1] * loss - now[0] * gain
        return [-(norms[0] ** 2) * now[2] * gain, norms[1] ** 2 * now[2] * loss, in_a]

    def far(_time: float, now: np.ndarray) -> float:
        """Return what vanishes at that size."""
        return float(weight - abs(now[2]))

    far.terminal = True  # type: ignore[attr-defined]
    course = solve_ivp(velocity, (0, 1e4), state, "DOP853", events=far, rtol=1e-13, atol=1e-16)
    alpha, beta, _ = course.y[:, -1]
    return float(np.arctan2(beta / norms[1], alpha / norms[0]))


def saddle(c: float, n1: float, n2: float) -> tuple[float, float, float]:
    """Return ``s`` and the two rates, the negative one first, of the rest ``alpha = beta = s, a = 0``.

    ``c = alpha^2 / n1^2 + beta^2 / n2^2 - a^2`` above 0; the flow is that of the sum of the two losses.
    """
    s_squared, squares = c / (n1**-2 + n2**-2), n1**2 + n2**2
    stable = -(s_squared / 2 + np.sqrt(s_squared**2 / 4 + squares)) / 2
    return np.sqrt(s_squared), stable, -squares / (4 * stable)  # from their product: nothing cancels


def curve_angle(c: float, norms: np.ndarray, a: float) -> float:
    """Return the angle of the curve between winners at an output weight, from its tangent at the rest."""
    rest, stable, _ = saddle(c, *norms)
    tangent = np.array([norms[0] ** 2, -(norms[1] ** 2), 2 * stable]) / (2 * stable)
    first = np.array([rest, rest, 0]) + np.sign(a) * 1e-6 * np.sqrt(c) * tangent
    return backwards(first, norms, abs(a))


def velocity(state: np.ndarray, norms: np.ndarray) -> np.ndarray:
    """Return the velocity of a state (3,) by gradients of the weights, both losses together."""
    return Shared.at(state, norms, directions()).steps().sum(axis=0)


def speeds_at_rest() -> DataFrame:
    """Measure how fast the flow moves at the point of rest [Theorem 3.4]."""

    def speeds(drawn: tuple[np.ndarray, float]) -> Row:
        """Compare with zero, in units of the size, and with a point where the angles are equal."""
        norms, s = drawn
        even = s * norms / norms.mean()
        return {
            **{"norm": norms[0], "other_norm": norms[1], "s": s, "coordinate": ["alpha", "beta", "a"]},
            "measured": velocity(np.array([s, s, 0.0]), norms) / s,
            "predicted": 0.0,
            "equal_angles": velocity(np.array([*even, 0.0]), norms) / s,
        }

    return table(speeds, draws("rest", two_norms, LOGITS))


def rates_at_rest() -> DataFrame:
    """Measure the rates at which the flow goes to and from the point of rest [Theorem 3.4]."""

    def rates(drawn: tuple[np.ndarray, float]) -> Row:
        """Compare the extreme eigenvalues, by differences, with the text's, and with no damping."""
        norms, s = drawn
        _, *predicted = saddle(s**2 * (norms**-2.0).sum(), *norms)
        point, h = np.array([s, s, 0.0]), 1e-5 * np.eye(3)
        jacobian = np.transpose([velocity(point + e, norms) - velocity(point - e, norms) for e in h]) / 2e-5
        return {
            **{"norm": norms[0], "other_norm": norms[1], "s": s, "rate": ["stable", "unstable"]},
            "measured": np.sort(np.linalg.eigvals(jacobian).real)[[0, 2]],
            "predicted": predicted,
            "undamped": np.hypot(*norms) / 2 * np.array([-1, 1]),
        }

    return table(rates, draws("rest", two_norms, LOGITS))


def recipe_orders() -> DataFrame:
    """Measure the order of the error of the paper's recipe for its curve [Appendix A.8]."""

    def order(drawn: tuple[np.ndarray, float]) -> Row:
        """Compare the error's exponent in epsilon with the ratio of the rates."""
        norms, s = drawn
        _, stable, unstable = saddle(s**2 * (norms**-2.0).sum(), *norms)
        gaps = []
        for epsilon in (2e-4 * s, 1e-4 * s):
            first, weight = np.array([s - epsilon, s + epsilon, 0.0]), s / np.hypot(*norms) / 10
            c = float((first[:2] ** 2 / norms**2).sum())
            gaps.append(backwards(first, norms, weight) - curve_angle(c, norms, weight))
        return {
            "norm": norms[0],
            "other_norm": norms[1],
            "measured": np.log2(gaps[0] / gaps[1]),
            "predicted": 1 + unstable / -stable,
            "first_order": 1.0,
        }

    return table(order, draws("recipe", two_norms, LOGITS))


def negative_c(minus_c: float, response: float, *, rng: Generator) -> Shared:
    """Draw a neuron of this c, with responses in units of the norms."""
    norms = np.exp(rng.uniform(-1, 1, 2))
    responses = response * rng.uniform(0.5, 1, 2)
    return Shared.at([*responses * norms, np.sqrt((responses**2).sum() + minus_c)], norms, rng)


def fall_of_beta() -> DataFrame:
    """Measure how fast beta falls where c is below zero, over the squared norm [Appendix A.8]."""

    def fall(shared: Shared) -> Row:
        """Compare the gradient with the bounds: the root of -c, c as printed, and without the half."""
        alpha, beta, a = shared.state
        root = np.sqrt(a**2 - ((np.array([alpha, beta]) / shared.norms) ** 2).sum())
        return {
            "c": -(root**2),
            "measured": shared.steps().sum(axis=0)[1] / shared.norms[1] ** 2,
            "at_most": -root / 2,
            "without_half": -root,
            "as_printed": -(root**2) / 2,
        }

    families = {
        "c = -1.5, tiny responses": {"minus_c": 1.5, "response": 1e-4},
        "c = -0.4": {"minus_c": 0.4, "response": 0.3},
        "c = -30, tiny responses": {"minus_c": 30.0, "response": 1e-4},
    }
    return table(fall, draws("fall of beta", negative_c, families))


def after_capture() -> DataFrame:
    """Measure times from the capture on to three logits, times 2|x| [Section 3.4, the shape]."""

    def captured(logit: float, *, rng: Generator) -> Shared:
        """Draw a neuron that class +1 wins."""
        norms, size = two_norms(logit, rng)
        parts = rng.uniform([1, 0.3, 0.1], [1.5, 0.9, 0.5])
        state = size * parts * [1, min(1, norms[1] / norms[0]), 1 / norms[0]]
        return Shared.at(state, norms, rng, size)

    def shape(shared: Shared) -> Row:
        """Compare with the law of one neuron off balance, and with that of a balanced one."""
        norms, (alpha, beta, a) = shared.norms, shared.state
        run = shared.problem.flow(until=300.0 / norms[0])
        after = np.array([0.1, 1.0, 5.0]) / norms[0]
        first, *logits = run.outputs(run.events[0].time + np.append(0, after))[:, 0]
        b = norms[0] * abs((alpha / norms[0]) ** 2 + (beta / norms[1]) ** 2 - a**2) / 2
        return {
            "norm": norms[0],
            "u": logits,
            "measured": 2 * norms[0] * after,
            "predicted": [time_integral(first, u, b) for u in logits],
            "balanced": log_integral(logits) - log_integral(first),
        }

    return table(shape, draws("after the capture", captured, LOGITS))


def three_starts() -> DataFrame:
    """Measure the confidences long after the three starts of the figure [Fig. 3 right]."""

    def ends(start: tuple[float, float, float]) -> Row:
        """Compare the probability of each true class at the time e^20 with the figure's."""
        shared = Shared.at(start, (1.0, 1.0), directions())
        outputs = shared.problem.flow(log_until=20.0).outputs()[-1]
        return {
            "start": str(start),
            "class": LABELS,
            "measured": expit(outputs * LABELS),
            "predicted": FIGURE_3[start],
            "by_sign_of_a": [1.0, 0.5] if start[2] > 0 else [0.5, 0.5],
        }

    return table(ends, grid(start=FIGURE_3))


FIGURE_3 = {(0.1, 0.1, 0.1): [1.0, 0.5], (0.2, 0.9, 0.2): [0.5, 1.0], (1.0, 0.0, -1.1): [0.5, 0.5]}


def winner(shared: Shared) -> float:
    """Return the sign of the output weight long after the capture: 1 where beta has reached zero."""
    return float(np.sign(shared.problem.flow(until=500.0 / shared.norms.max()).network_at().a[0]))


def on_hyperboloid(c: float, least: float, most: float, *, rng: Generator) -> tuple[float, float]:
    """Draw an output weight, and return it with c."""
    return c, rng.uniform(least, most)


def winners_by_angle() -> DataFrame:
    """Measure who wins from starts on two hyperboloids, norms 1 [Fig. 7]."""

    def winners(drawn: tuple[float, float]) -> Row:
        """Compare with the side of the curve for c = 1, and with class +1 for c = -1."""
        c, a = drawn
        border = curve_angle(c, np.ones(2), a) if c > 0 else np.pi / 2
        angles = np.array([0.02, border - 0.05, min(border, np.pi / 2 - 0.08) + 0.05, np.pi / 2 - 0.02])
        radius = np.sqrt(c + a**2)
        states = np.transpose([radius * np.cos(angles), radius * np.sin(angles), np.full(4, a)])
        return {
            "c": c,
            "a": a,
            "angle": angles,
            "measured": [winner(Shared.at(state, (1.0, 1.0), directions())) for state in states],
            "predicted": np.where(angles < border, 1.0, -1.0),
            "by_the_diagonal": np.where(angles < np.pi / 4, 1.0, -1.0),
        }

    families = {
        "c = 1, a below 0": {"c": 1.0, "least": -0.6, "most": -0.2},
        "c = 1, a above 0": {"c": 1.0, "least": 0.2, "most": 0.6},
        "c = -1, a above 0": {"c": -1.0, "least": 1.1, "most": 2.0},
    }
    return table(winners, draws("hyperboloids", on_hyperboloid, families, each=3))


def large_starts() -> DataFrame:
    """Measure who wins where one coordinate is thirty times the others [Section 3.4, after Theorem 3.4]."""

    def winners(drawn: tuple[np.ndarray, float]) -> Row:
        """Compare with class +1 for large alpha or a, and class -1 for large beta."""
        norms, s = drawn
        starts = {
            "alpha": [30 * s, s, 0.0],
            "a": [s, s, 30 * s / norms.min()],
            "beta": [s, 30 * s, s / norms.max()],
        }
        return {
            "large": list(starts),
            "measured": [winner(Shared.at(state, norms, directions())) for state in starts.values()],
            "predicted": [1.0, 1.0, -1.0],
            "by_sign_of_a": 1.0,
        }

    return table(winners, draws("large starts", two_norms, LOGITS, each=2))


def capture_orders() -> DataFrame:
    """Measure the order, in the size of the start, of the largest logit at the capture [Section 3.4]."""

    def first_state(least: float, most: float, *, rng: Generator) -> tuple[np.ndarray, np.ndarray]:
        """Draw norms, and a direction of the start in units of these, with the output weight in a range."""
        norms = np.exp(rng.uniform(-1, 1, 2))
        return norms, rng.uniform([0.5, 0.5, least], [1, 1, most]) * [*norms, 1]

    def order(drawn: tuple[np.ndarray, np.ndarray]) -> Row:
        """Compare the exponent between two sizes with two."""
        norms, direction = drawn
        logits = []
        for size in (1e-3, 1e-4):
            problem = Shared.at(size * direction, norms, directions()).problem
            run = problem.flow(until=300.0)
            logits.append(np.abs(run.outputs([run.events[0].time])).max())
        return {"measured": np.log10(logits[0] / logits[1]), "predicted": 2.0, "as_the_size": 1.0}

    families = {
        "a below 0": {"least": -1.0, "most": -0.3},
        "a near 0": {"least": -0.3, "most": 0.3},
        "a above 0": {"least": 0.3, "most": 1.0},
    }
    return table(order, draws("capture", first_state, families, each=3))


def directions() -> Generator:
    """Return the generator of the directions of two inputs, on which nothing hangs."""
    return generator(named("directions"))


# A rare feature: Table 1, Figures 6 and 10


def rare_descent(step: float, *, rng: Generator) -> tuple[Problem, float, Generator]:
    """Draw ten inputs, some of which have the rare feature, and a start with beta = rate alpha."""
    count = int(rng.integers(1, 10))
    features = pair(1.0, 1.0, rng=rng)
    start = neuron((0.2, 0.02 * count, rng.uniform(0.1, 0.5)), features, rng=rng)
    inputs = np.array([features.sum(axis=0)] * count + [features[0]] * (10 - count))
    return Problem(inputs, np.ones(10), start, LOGISTIC), step, rng


def frequent_ahead() -> DataFrame:
    """Measure beta over rate times alpha at steps of descent from equality [Eq. 8]."""

    def lead(drawn: tuple[Problem, float, Generator]) -> Row:
        """Compare with 1 for all inputs a step, and see what one example a step does."""
        problem, step, rng = drawn
        steps = np.arange(0, 301, 10)
        rate = float((problem.inputs != problem.inputs[-1]).any(axis=1).mean())
        frequent = problem.inputs[-1]
        features = np.array([frequent, problem.inputs[0] - frequent])

        def ratios(**samples: Any) -> np.ndarray:
            """Return the ratio at the recorded steps."""
            reading = {"record": lambda now: features @ now.w[0], "record_at": steps}
            alpha, beta = np.transpose(problem.descent(step, 300, **samples, **reading).recorded)
            return beta / (rate * alpha)

        return {
            "rate": rate,
            "step": step,
            "at": steps,
            "measured": ratios(),
            "at_most": 1.0,
            "one_example": ratios(samples=rng.integers(0, 10, 300)),
        }

    return table(
        lead, draws("ahead", rare_descent, {f"steps of {step:g}": step for step in (0.1, 1.0, 10.0)})
    )


def rare_at(
    goals: Sequence[float] | np.ndarray, rate: float, state: tuple[float, float, float]
) -> np.ndarray:
    """Return the rare logit and a / alpha where the frequent logit has these values, unit norms, (2, n)."""
    alpha, beta, a = state
    times = np.append(0, np.geomspace(1e-3, 1e5, 20000))
    start = TwoLayer(np.array([[alpha, beta]]), np.array([a]))
    inputs, shares = np.array([[1.0, 1.0], [1.0, 0.0]]), np.array([rate, 1 - rate])
    flow = Problem(inputs, np.ones(2), start, LOGISTIC, shares).raw(times)
    (responses, rare), weight = flow.w[:, 0].T, flow.a[:, 0]
    logits = weight * responses
    return np.array([np.interp(goals, logits, part) for part in (weight * rare, weight / responses)])


def favoured(rate: float, learnt: float, favour: float = 1.0) -> tuple[float, float, float]:
    """Return a state with ``learnt`` of the frequent logit log 9, and beta = favour rate alpha."""
    first = np.sqrt(learnt * np.log(9))
    return first, favour * rate * first, first


def bound_by_start() -> DataFrame:
    """Measure the rare logit at confidence 0.9 in the frequent one, from many starts [Fig. 10]."""

    def rare_logit(rate: float, learnt: float, favour: float) -> Row:
        """Compare with the bound, and with that of the share of all features."""
        return {
            **{"rate": rate, "learnt": learnt, "favour": favour},
            "measured": rare_at([np.log(9)], rate, favoured(rate, learnt, favour))[0],
            "at_most": rate * np.log(9),
            "share_of_features": rate / (1 + rate) * np.log(9),
        }

    return table(rare_logit, grid(rate=RATES, learnt=(1 - 1e-6, 0.5, 1e-2, 1e-6), favour=(1.0, 0.5)))


def starts_on_the_edge() -> DataFrame:
    """Measure the rare logit and confidence from just before the end, where beta = rate alpha [Fig. 10]."""
    printed = dict(zip(RATES, (0.750, 0.608, 0.555, 0.506), strict=True))

    def rare_logit(rate: float) -> Row:
        """Compare with the bound, which a start from a millionth of the logit does not reach."""
        late, early = (
            float(rare_at([np.log(9)], rate, favoured(rate, learnt))[0, 0]) for learnt in (1 - 1e-6, 1e-6)
        )
        return {
            "rate": rate,
            "measured": late,
            "predicted": rate * np.log(9),
            "early": early,
            "confidence": expit(late),
            "printed": printed[rate],
            "at_99": expit(rate * np.log(99)),
        }

    return table(rare_logit, grid(rate=RATES))


def plotted_bound() -> DataFrame:
    """Measure the rare logit from the start of the figure, a0 up to 0.1 [Fig. 6]."""

    def rare_logits(rate: float, a0: float) -> Row:
        """Compare at four confidences with the curve, and with the bound of Table 1."""
        confidence = np.array([0.75, 0.9, 0.99, 0.9999])
        logits = np.log(confidence / (1 - confidence))
        return {
            **{"rate": rate, "a0": a0, "confidence": confidence},
            "measured": rare_at(logits, rate, (0.1, 0.1, a0))[0],
            "at_most": rate * logits + 0.1 * (1 - rate) * np.sqrt(logits),
            "table_1": rate * logits,
        }

    return table(rare_logits, grid(rate=RATES, a0=(0.1, 0.03, 0.001)))


def weight_over_response() -> DataFrame:
    """Measure a / alpha from tiny starts at five frequent logits [Appendix D]."""

    def ratios(rate: float) -> Row:
        """Compare with the two bounds, the upper one with half of the square as well."""
        logits = np.array([1e-2, 0.1, 1.0, np.log(99), 8.0])
        return {
            **{"rate": rate, "logit": logits},
            "measured": rare_at(logits, rate, (1e-4, 1e-4 * rate, 1e-4))[1],
            "at_least": 1.0,
            "at_most": np.sqrt(1 + rate**2),
            "half_the_square": np.sqrt(1 + rate**2 / 2),
        }

    return table(ratios, grid(rate=RATES))


# A lone neuron that does not start among the learners


@dataclass(frozen=True)
class Lone:
    """One input of norm ``size``, and neurons on it, each a network of its own."""

    size: float
    inputs: np.ndarray
    h: np.ndarray
    a: np.ndarray
    across: np.ndarray  # parts of w that the input does not see, (m, 3)

    def at(self, h: np.ndarray, label: float) -> Problem:
        """Return what neurons with these pre-activations learn."""
        w = h[:, None] * self.inputs / self.size**2 + self.across
        start = TwoLayer(w[:, None], self.a[:, None])
        return Problem(self.inputs, np.array([label]), start, LOGISTIC)


def lone(low: float, high: float, *, rng: Generator) -> Lone:
    """Draw an input and eighty normal starts in units in which h and |x| a are alike."""
    size, direction = log_uniform(rng, low, high), np.array([0.0, 1, 0])  # h is that of w to the last digit
    h, a = rng.standard_normal((2, 80)) * np.sqrt([[size], [1 / size]])
    across = rng.standard_normal((80, 3))
    across -= np.outer(across @ direction, direction)
    return Lone(size, size * direction[None], h, a, across)


def lone_neurons(name: str) -> list[Draw]:
    """Draw inputs of three ranges of norms."""
    return draws(name, lone, {name: {"low": low, "high": high} for name, (low, high) in NORMS.items()})


def inactive_neurons() -> DataFrame:
    """Measure how far ten steps move a neuron, in units of its scale [Section 3.3]."""

    def movement(neurons: Lone) -> Row:
        """Compare with zero where h is not above zero; the same starts with h above zero move."""

        def moved(h: np.ndarray) -> np.ndarray:
            """Return how far each network's weights have gone."""
            problem = neurons.at(h, 1.0)
            start, end = problem.network, problem.descent(0.5 / neurons.size, 10).network
            return np.abs(end.w - start.w).max(axis=(1, 2)) + np.abs(end.a - start.a)[:, 0] * neurons.size

        at_most_zero = -np.abs(neurons.h)
        at_most_zero[:10] = 0.0
        return {
            "norm": neurons.size,
            "h": at_most_zero,
            "measured": moved(at_most_zero),
            "predicted": 0.0,
            "active": moved(np.abs(neurons.h)),
        }

    return table(movement, lone_neurons("inactive"))


def mirrored_diagram() -> DataFrame:
    """Measure the probability of class -1 at |x| t = 250 from starts in the plane [Fig. 2 left]."""

    def ends(neurons: Lone) -> Row:
        """Compare with 1 above the mirror image of the diagram's line, one half below it."""
        h, size = neurons.h, neurons.size
        network = neurons.at(h, -1.0).descent(1 / size, 250).network

        def diagram(a: np.ndarray) -> np.ndarray:
            """Return where the diagram of class +1 says that a neuron ends."""
            return np.where((h > 0) & (h + size * a > 0), 1, 0.5)

        return {
            "norm": size,
            "measured": expit(-network(neurons.inputs)[:, 0]),
            "predicted": diagram(-neurons.a),
            "not_mirrored": diagram(neurons.a),
        }

    return table(ends, lone_neurons("mirrored diagram"))


def times_on_the_line() -> DataFrame:
    """Measure the time to a logit from starts with h = -|x| a [Eq. 23]."""

    def spent(neurons: Lone) -> Row:
        """Compare with the logarithms' bounds, with |x|^2 for |x|, and with the bound as printed."""
        size, x = neurons.size, neurons.inputs[0]
        u0 = -np.exp(neurons.a[0] * np.sqrt(size))
        times = np.linspace(0.25, 10, 40) / size
        start = TwoLayer(np.sqrt(-u0 * size) * x[None] / size**2, -np.sqrt([-u0 / size]))
        flow = Problem(neurons.inputs, np.ones(1), start, LOGISTIC).raw(times, rtol=1e-13)
        logarithm = np.log(u0 / flow(neurons.inputs)[:, 0])
        return {
            **{"norm": size, "u0": u0},
            "measured": times,
            "at_least": logarithm / 2 / size,
            "at_most": logarithm / size,
            "squared_norm": logarithm / 2 / size**2,
            "twice_by_squared_norm": logarithm / size**2,
            "as_printed": logarithm,
        }

    return table(spent, lone_neurons("on the line"))


# Classes that point apart are separable


def classes_apart(kind: str, *, rng: Generator) -> np.ndarray:
    """Draw five inputs of each class, (10, 8): in orthogonal blocks, rotated, or at obtuse angles."""
    first = np.repeat([True, False], 5)
    blocks = (first[:, None] == (np.arange(8) < 4)) * rng.uniform(1e-3, 1, (10, 8))
    if kind == "rotated":
        blocks = blocks @ np.linalg.qr(rng.standard_normal((8, 8)))[0]
    if kind == "obtuse":
        blocks -= 1e-6 * np.where(first[:, None], blocks[5:].mean(0), blocks[:5].mean(0))
    return blocks * np.exp(rng.uniform(-2, 2, (10, 1)))


def separability() -> DataFrame:
    """Measure whether a linear program finds v with y <v, x> >= 1 for unit inputs [Section 2, (H1)]."""
    labels = np.repeat([1.0, -1.0], 5)

    def separable(x: np.ndarray) -> float:
        """Return 1 if it does."""
        rows = -labels[:, None] * x / np.linalg.norm(x, axis=1)[:, None]
        program = linprog(np.zeros(x.shape[1]), rows, -np.ones(len(x)), bounds=(None, None))
        return float(program.status == 0)

    def row(x: np.ndarray) -> Row:
        """Compare with 1; inputs all of whose products are positive need not be."""
        positive = np.abs(x[:, :3] + x[:, 4:7])
        return {"measured": separable(x), "predicted": 1.0, "all_positive": separable(positive)}

    families = {"orthogonal blocks": "orthogonal", "rotated": "rotated", "obtuse by a millionth": "obtuse"}
    return table(row, draws("apart", classes_apart, families))


# Adversarial networks

LOSSES = ("cross-entropy", "zero-sum", "hinge")
Modes = dict[str, DataFrame]


def modes_held(wide: Record, small_batch: Record) -> DataFrame:
    """Return the modes of eight that generators hold, the mean of the last three looks [Figure 5].

    ``wide`` has all settings, ``small_batch`` more seeds of narrow modes with batches of 64 and one step.
    """

    def modes(width: int, steps: int, batch: int, loss: str) -> Row:
        """Read one loss in one setting, from the record that has most seeds of it."""
        record = small_batch if (width, steps, batch) == (2, 1, 64) else wide
        looks = record.values(f"batch_{batch}_steps_{steps}.width_{width}.{loss}.modes")
        return {"seed": list(record.seeds), "measured": looks[:, -3:].mean(axis=1)}

    settings = grid(width=(2, 10), steps=(1, 5), batch=(64, 256), loss=LOSSES)
    recorded = [draw for draw in settings if (draw.keys["steps"], draw.keys["batch"]) != (5, 256)]
    return table(modes, recorded)


def median_modes(held: DataFrame) -> Modes:
    """Return the medians over seeds: of wide and narrow modes, with one and with five steps."""
    medians = held.groupby(["width", "batch", "steps", "loss"], as_index=False)["measured"].median()
    return {
        "wide": medians.query("width == 10 and steps == 1"),
        "narrow": medians.query("width == 2 and steps == 1"),
        "wide, five steps": medians.query("width == 10 and steps == 5"),
        "narrow, five steps": medians.query("width == 2 and steps == 5"),
    }


def mean_modes(held: DataFrame) -> DataFrame:
    """Return the means over seeds with narrow modes and one step, a column a loss.

    The column ``error`` is the standard error of what the hinge loss keeps more than the usual one.
    """
    narrow = held.query("width == 2 and steps == 1")
    of_seeds = narrow.pivot_table("measured", ["batch", "seed"], "loss")
    gains = of_seeds["hinge"] - of_seeds["cross-entropy"]
    means = of_seeds.groupby("batch").mean()
    return means.assign(error=gains.groupby("batch").sem()).reset_index()


# Deep networks: independent modes, Appendix B


Layers = list[np.ndarray]
OF_INPUTS = np.array([1.0, 1.0, -1.0, -1.0])


@dataclass(frozen=True)
class DeepClasses:
    """A deep network at its start, the classes of the neurons of each layer, inputs and a step size."""

    layers: Layers
    owners: list[np.ndarray]
    inputs: np.ndarray
    step: float

    @property
    def masks(self) -> list[np.ndarray]:
        """Which hidden weights join neurons of one class."""
        return [above[:, None] == below for below, above in pairwise(self.owners)]

    def hidden(self, change: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> DeepClasses:
        """Return the network with other hidden weights: ``change`` takes them and the classes above."""
        first, *hidden, last = self.layers
        changed = [change(w, above) for w, above in zip(hidden, self.owners[1:], strict=True)]
        return replace(self, layers=[first, *changed, last])

    def alone(self, label: float) -> tuple[DeepClasses, list[Any]]:
        """Return the network of one class, and where its weights stand in each layer."""
        rows = [*(np.flatnonzero(owners == label) for owners in self.owners), np.arange(1)]
        columns = [np.arange(self.inputs.shape[1]), *rows[:-1]]
        blocks = [np.ix_(*pair) for pair in zip(rows, columns, strict=True)]
        layers = [w[block] for w, block in zip(self.layers, blocks, strict=True)]
        return replace(self, layers=layers), blocks

    def course(self, labels: np.ndarray = OF_INPUTS, steps: int = 60) -> list[Layers]:
        """Return the layers at the start and after each step on the summed loss of these classes."""
        x, path = self.inputs[np.isin(OF_INPUTS, labels)], [self.layers]
        for _ in range(steps):
            moves = gradients(path[-1], x, labels, LOGISTIC.slope)
            path.append([w - self.step * move for w, move in zip(path[-1], moves, strict=True)])
        return path


def deep_inputs(orthogonal: bool, rng: Generator) -> np.ndarray:
    """Draw two inputs a class, (4, 4): the classes orthogonal, or at obtuse angles."""
    positive, first = rng.uniform(0.4, 1, (4, 2)), OF_INPUTS[:, None] > 0
    if orthogonal:
        return np.hstack([positive * first, positive * ~first])
    around = np.radians(rng.uniform(60, 120, 4) + 90 * (1 - OF_INPUTS))
    size, height = rng.uniform(0.5, 2, 4), rng.uniform(0.05, 0.2, 4)
    flat = size[:, None] * np.column_stack([np.cos(around), np.sin(around)])
    return np.column_stack([flat, size * height * OF_INPUTS, np.zeros(4)])


def deep_classes(N: int, step: float, *, kind: str, rng: Generator) -> DeepClasses:
    """Draw a network of N layers that obeys the conditions: diagonal hidden matrices, or full blocks."""
    x = deep_inputs(kind == "diagonal, orthogonal classes", rng)
    full = kind == "full blocks of unequal widths"
    widths = rng.integers(1, 4, (N - 1, 2)) if full else np.full((N - 1, 2), 2)
    owners = [np.repeat([1.0, -1.0], pair) for pair in widths]
    own = owners[0][:, None] == OF_INPUTS
    first = rng.uniform(0.3, 1, own.shape) * own @ x
    first[:, 3] += (x[:, 3] == 0).all() * rng.normal(size=len(first))
    hidden = []
    for below, above in pairwise(owners):
        among = above[:, None] == below if full else np.eye(4)
        hidden.append(among * rng.uniform(0.2 if full else 0.7, 1, (len(above), len(below))))
    last = rng.uniform(0.5, 1, len(owners[-1])) * owners[-1]
    return DeepClasses([first, *hidden, last[None]], owners, x, step)


def kept_conditions(network: DeepClasses, path: list[Layers]) -> Row:
    """Count what breaks a condition after each step, and measure the least growth of weights."""
    own, (before, after) = network.owners[0][:, None] == OF_INPUTS, (path[:-1], path[1:])
    rows = []
    for old, new in zip(before, after, strict=True):
        broken = np.sum((new[0] @ network.inputs.T > 0) != own) + np.sum(new[-1] * network.owners[-1] <= 0)
        growth = [np.min(new[-1] * network.owners[-1] - old[-1] * network.owners[-1])]
        for low, high, same in zip(old[1:-1], new[1:-1], network.masks, strict=True):
            broken += np.sum(high[~same] != 0) + np.sum(high < 0) + np.sum((high * same).max(axis=1) <= 0)
            growth.append(np.min((high - low)[same]))
        reach = np.linalg.norm(new[0], axis=1)[:, None] * np.linalg.norm(network.inputs, axis=1)
        rise = ((new[0] - old[0]) @ network.inputs.T / reach)[own].min()
        rows.append({"measured": broken, "growth": min(growth), "rise": rise})
    return {name: np.array([row[name] for row in rows]) for name in rows[0]}


def apart_from_alone(network: DeepClasses, path: list[Layers]) -> np.ndarray:
    """Measure how far weights are from those of their class trained alone, relatively, after each step."""
    distances = np.zeros(len(path) - 1)
    for label in (1.0, -1.0):
        single, blocks = network.alone(label)
        courses = zip(path[1:], single.course(OF_INPUTS[label == OF_INPUTS])[1:], strict=True)
        for k, (layers, lone) in enumerate(courses):
            for w, block, own in zip(layers, blocks, lone, strict=True):
                distances[k] = max(distances[k], np.abs(w[block] - own).max() / np.abs(own).max())
    return distances


def deep_variant(network: DeepClasses, variant: str) -> DeepClasses:
    """Return the network as it was drawn, or with a condition broken."""
    if variant == "half joined":
        return network.hidden(lambda weights, above: weights + 0.5 * (weights == 0))
    if variant == "joined":
        return network.hidden(lambda weights, above: weights + 0.01 * (weights == 0))
    if variant == "as printed":
        return network.hidden(lambda weights, above: weights * above[:, None])
    if variant == "wrong sign":
        *others, last = network.layers
        return replace(network, layers=[*others, last * np.where(np.arange(last.size) == 0, -1, 1)])
    return network


def deep_networks() -> list[Draw]:
    """Draw networks of three kinds, of three depths, for three step sizes."""
    kinds = ("diagonal, orthogonal classes", "diagonal, obtuse", "full blocks of unequal widths")
    families = {kind: {"kind": kind} for kind in kinds}
    return [
        draw
        for N, step in product((3, 4, 6), (0.05, 0.5, 50))
        for draw in draws(f"deep {N} {step}", partial(deep_classes, N, step), families, each=1)
    ]


def deep_conditions(variant: str = "") -> DataFrame:
    """Measure what lasts in deep networks of two classes, step by step [Appendix B]."""

    def conditions(drawn: DeepClasses) -> Row:
        """Compare what breaks, growth and the distance from the lone class with zero."""
        network = deep_variant(drawn, variant)
        path = network.course()
        origin = {"layers": len(network.layers), "step_size": network.step}
        return {**origin, **kept_conditions(network, path), "alone": apart_from_alone(network, path)}

    return table(conditions, deep_networks())


def deep_margins() -> DataFrame:
    """Measure the margins of deep networks of two classes, step by step [Appendix B].

    By the last layer alone ``e^m`` grows by at least ``step H^2 / 2`` a step, where ``H`` is the norm of the
    activities below it at the start.
    """

    def read(network: DeepClasses) -> np.ndarray:
        """Return the margins over time, (steps + 1, 4)."""
        return np.array([OF_INPUTS * outputs(layers, network.inputs) for layers in network.course()])

    def margins(network: DeepClasses) -> Row:
        """Compare the margins after each step with the least that the last layer makes of them."""
        m, printed, joined = (
            read(deep_variant(network, variant)) for variant in ("", "as printed", "half joined")
        )
        each = np.eye(len(network.owners[-1]))[:, None]  # for one neuron of the last hidden layer
        square = sum(outputs([*network.layers[:-1], neuron], network.inputs) ** 2 for neuron in each)
        grown = network.step * np.arange(1, len(m))[:, None] * square / 2
        return {
            "layers": len(network.layers),
            "step_size": network.step,
            "input": np.tile(np.arange(4), len(grown)),
            "measured": m[1:].ravel(),
            "at_least": np.log(np.exp(m[0]) + grown).ravel(),
            "exponential": (m[0] + grown).ravel(),
            "as_printed": printed[1:].ravel(),
            "rise": (np.diff(m, axis=0) / (1 + np.abs(m[1:]))).ravel(),
            "joined_rise": (np.diff(joined, axis=0) / (1 + np.abs(joined[1:]))).ravel(),
        }

    return table(margins, deep_networks())
