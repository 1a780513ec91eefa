"""Small claims of [pezeshki2021] on linearised networks: each function measures one and returns a table.

Columns before ``measured`` say where a row is from.  Labels y are +1 or -1, outputs are linear in the
parameters theta, and ``q`` are the outputs times the labels.  The features ``Y Phi = U S V^T`` have responses
``z = U^T q``; ``ridge`` is the factor of half the squared norm of theta, the loss being summed over examples,
and ``A = U S^2 U^T / ridge`` couples the chances p of the wrong labels, the variables of the dual problem.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial
from itertools import product
from typing import Any

import mpmath as mp
import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike
from pandas import DataFrame
from scipy.linalg import expm, fractional_matrix_power
from scipy.optimize import OptimizeResult, brentq, minimize, minimize_scalar
from scipy.special import entr, expit, lambertw, logit
from scipy.stats import norm

from lib.draws import Draw, draws, grid, runs, table
from lib.flow.equation import solution
from lib.geometry.programs import linear_svm
from lib.seeds import likely_range
from lib.theory.dual import FeatureProblem, polished_root, primal_responses, rotation, two_features

Row = dict[str, Any]
Map = Callable[[np.ndarray], np.ndarray]
Family = Callable[[Generator], np.ndarray]


@dataclass(frozen=True, eq=False)
class Training:
    """The cross-entropy of a network that is linear in theta, summed over examples, with two penalties.

    ``signed`` (n, P) are the gradients of the outputs times the labels, ``ridge`` counts half the squared
    norm of theta, ``penalty`` half the squared distance of q from ``target``, (n,) or a number; ``start``,
    the same, is q at theta = 0.
    """

    signed: np.ndarray
    ridge: float = 0.0
    penalty: float = 0.0
    target: ArrayLike = 0.0
    start: ArrayLike = 0.0

    def margins(self, theta: np.ndarray) -> np.ndarray:
        """Return q, (n,)."""
        return self.signed @ theta + self.start

    def loss(self, theta: np.ndarray) -> float:
        """Return the loss with both penalties."""
        q = self.margins(theta)
        penalties = self.ridge * theta @ theta + self.penalty * np.sum((q - self.target) ** 2)
        return np.logaddexp(0, -q).sum() + penalties / 2

    def gradient(self, theta: np.ndarray) -> np.ndarray:
        """Return the gradient of the loss, (P,)."""
        q = self.margins(theta)
        return self.ridge * theta + self.signed.T @ (self.penalty * (q - self.target) - expit(-q))

    def hessian(self, theta: np.ndarray) -> np.ndarray:
        """Return the second derivatives of the loss, (P, P)."""
        q = self.margins(theta)
        curvature = self.penalty + expit(q) * expit(-q)
        return self.ridge * np.eye(len(theta)) + (self.signed.T * curvature) @ self.signed

    @cached_property
    def minimum(self) -> np.ndarray:
        """The theta of least norm that minimises the loss: by a trust region, then by Newton's method."""
        start = np.zeros(self.signed.shape[1])
        theta = minimize(self.loss, start, jac=self.gradient, hess=self.hessian, method="trust-exact").x
        for _ in range(4):
            theta = theta - np.linalg.lstsq(self.hessian(theta), self.gradient(theta))[0]
        return theta

    @property
    def last_margins(self) -> np.ndarray:
        """The margins q at the minimum, (n,)."""
        return self.margins(self.minimum)

    @property
    def coupling(self) -> np.ndarray:
        """The matrix A of the dual problem, (n, n)."""
        return self.signed @ self.signed.T / self.ridge

    @cached_property
    def chances(self) -> np.ndarray:
        """The fixed point of the dual flow, Equation 17, (n,)."""
        return dual_fixed_point(self.coupling, self.start)

    @property
    def features(self) -> FeatureProblem:
        """The features of the problem."""
        u, strengths, _ = np.linalg.svd(self.signed, full_matrices=False)
        return FeatureProblem(u, strengths, self.ridge)


def lone_chance(entry: ArrayLike) -> np.ndarray:
    """Return W(a) / a, the root of log p + a p = 0, with Lambert's W."""
    return lambertw(entry).real / np.asarray(entry)


def dual_fixed_point(coupling: np.ndarray, start: ArrayLike = 0.0) -> np.ndarray:
    """Return p with log((1 - p) / p) = A p + start, (n,) [Eq. 17]."""
    first = logit(np.minimum(lone_chance(np.diag(coupling) + 1), 0.5))
    return fixed_point(coupling, expit, lambda w: expit(w) * expit(-w), first, start)


def simplified_fixed_point(coupling: np.ndarray) -> np.ndarray:
    """Return p with -log p = (A + I) p, (n,) [Eq. 19]."""
    matrix = coupling + np.eye(len(coupling))
    return fixed_point(matrix, np.exp, np.exp, np.log(lone_chance(np.diag(matrix))))


def fixed_point(
    matrix: np.ndarray, chance: Map, slope: Map, first: np.ndarray, start: ArrayLike = 0.0
) -> np.ndarray:
    """Return ``chance`` of w, which has the derivative ``slope``, at w + matrix chance(w) + start = 0."""
    w = polished_root(
        lambda w: w + matrix @ chance(w) + start, lambda w: np.eye(len(w)) + matrix * slope(w), first
    )
    return chance(w)


# The network: Section 3.2.

UNITS = 200_000


def norm_ratio(shape: tuple[int, int], *, rng: Generator) -> float:
    """Return the mean squared norm of ReLU layers (width, d) over that of their input."""
    width, d = shape
    x = rng.uniform(0.01, 30) * np.sin(1.0 + np.arange(d))  # entries of both signs
    hidden = np.maximum(rng.normal(size=(UNITS // width, width, d)) @ x, 0)
    return np.mean(np.sum(2 / width * hidden**2, axis=-1)) / (x @ x)


def layer_ratio() -> DataFrame:
    """Measure by how much a ReLU layer changes the squared norm, with 200,000 units in all [Eq. 1].

    The mean over the units has the standard deviation root of 5 / 200,000, as the square of max(0, h) has the
    mean 1/2 and the variance 3/2 - 1/4 if h is Gaussian.
    """
    shapes = {"one unit": (1, 2), "20 units": (20, 5), "200 units": (200, 20)}
    luck = float(likely_range(norm(scale=np.sqrt(5 / UNITS)), 2 * len(shapes))[1])

    def ratio(ratio: float) -> Row:
        return {"measured": ratio, "predicted": 1.0, "linear": ratio / 2, "luck": luck}

    return table(ratio, draws("layers", norm_ratio, shapes, each=2))


def begun(shape: tuple[int, int], *, rng: Generator) -> Training:
    """Draw examples and parameters with columns of sizes over a factor 30, and outputs at the start."""
    return Training(rng.normal(size=shape) * np.geomspace(0.1, 3, shape[1]), start=rng.normal(size=shape[0]))


def feature_responses() -> DataFrame:
    """Measure U^T Y (f - f_0) beside S V^T theta after 300 steps of descent [Eq. 6 to 8]."""

    def responses(problem: Training) -> Row:
        u, strengths, v = np.linalg.svd(problem.signed, full_matrices=False)
        theta = np.zeros(problem.signed.shape[1])
        for _ in range(300):
            theta = theta - problem.gradient(theta) / np.sum(problem.signed**2)
        outputs, predicted = problem.margins(theta), strengths * (v @ theta)
        claim = {"measured": u.T @ (outputs - problem.start), "predicted": predicted}
        return {"feature": 1 + np.arange(len(strengths))} | claim | {"with_start": u.T @ outputs}

    shapes = {"6 x 9 matrices": (6, 9), "12 x 4 ones": (12, 4), "3 x 40 ones": (3, 40)}
    return table(responses, draws("responses", begun, shapes))


# Tangents: Lemma 2 and Table 4.

FAR = np.linspace(-30, 30, 61)


def entropy(p: ArrayLike) -> np.ndarray:
    """Return the entropy of a coin with the chance p."""
    return entr(p) + entr(1 - np.asarray(p))


def loss_slope(q: ArrayLike) -> np.ndarray:
    """Return the derivative of log(1 + e^-q) by a central difference."""
    up, down = (np.logaddexp(0, -(np.asarray(q) + step)) for step in (1e-5, -1e-5))
    return (up - down) / 2e-5


def highest_line(height: Callable[[Any], Any], q: float, low: float = 0, high: float = 1) -> OptimizeResult:
    """Search the p, from ``low`` to ``high``, at which the line ``height(p) - p q`` is highest."""
    options = {"bounds": (low, high), "method": "bounded", "options": {"xatol": 1e-12}}
    return minimize_scalar(lambda p: p * q - height(p), **options)


def lower_lines() -> DataFrame:
    """Measure the cross-entropy beside the lines of Lemma 2 of any chance, at margins from -30 to 30."""

    def line(p: float) -> Row:
        claim = {"measured": np.logaddexp(0, -FAR), "at_least": entropy(p) - p * FAR}
        return {"margin": FAR} | claim | {"in_bits": entropy(p) / np.log(2) - p * FAR}

    return table(line, grid(p=[*np.linspace(0, 1, 41), *expit(-FAR)]))


def touching_line() -> DataFrame:
    """Measure the line of Lemma 2 whose slope is that of the cross-entropy, by differences."""

    def line(margin: float) -> Row:
        p = np.clip(-loss_slope(margin), 0, 1)
        claim = {"measured": entropy(p) - p * margin, "predicted": np.logaddexp(0, -margin)}
        return claim | {"right_label": entropy(p) - (1 - p) * margin}

    return table(line, grid(margin=FAR))


def highest_lines() -> DataFrame:
    """Measure the largest of the lines of Equation 11 and of Table 4, and where the first is attained."""

    def parabola(margin: float, factor: float, low: float = -20, high: float = 20) -> float:
        return -highest_line(lambda p: p - factor * p**2, margin, low, high).fun

    def lines(margin: float) -> Row:
        slope, hinge = loss_slope(margin), max(0.0, 1 - margin)
        chance = {"measured": highest_line(entropy, margin).x, "minus_slope": -slope}
        hinge_loss = {"hinge_line": -highest_line(float, margin).fun, "hinge_loss": hinge}
        squared_error = {"square_line": parabola(margin, 1 / 4), "squared_error": (1 - margin) ** 2}
        others = {"slope": slope, "right_label": 1 + slope, "squared_hinge": hinge**2}
        others |= {"chances_only": parabola(margin, 1 / 4, 0, 1), "printed": parabola(margin, 1 / 2)}
        return chance | hinge_loss | squared_error | others

    return table(lines, grid(margin=np.linspace(-6, 6, 25)))


# The dual problem: Equations 9 to 18.


def wide(rng: Generator) -> np.ndarray:
    """Return fewer examples than parameters."""
    return rng.normal(size=(8, 20))


def many(rng: Generator) -> np.ndarray:
    """Return more examples than parameters, of very different sizes."""
    return rng.normal(size=(30, 4)) * np.geomspace(0.1, 3, 4)


def contradictory(rng: Generator) -> np.ndarray:
    """Return examples of which one has both labels, another is zero, with parameters to spare."""
    examples = rng.normal(size=(6, 9))
    examples[1], examples[2] = -examples[0], 0
    return examples


EXAMPLES = {
    "8 x 20 matrices": wide,
    "30 x 4 ones of unequal columns": many,
    "6 x 9 ones with an example of both labels and one that is zero": contradictory,
}


def decayed(family: Family, start: float = 0.0, *, rng: Generator) -> Training:
    """Draw examples of a family, a ridge from 0.1 to 10 and outputs at the start of a size ``start``."""
    signed, ridge = family(rng), 10 ** rng.uniform(-1, 1)
    return Training(signed, ridge, start=start * rng.normal(size=len(signed)))


def dual_problems(start: float = 0.0) -> list[Draw]:
    """Draw problems of the three families."""
    return draws("dual problems", partial(decayed, start=start), EXAMPLES)


def last_margins() -> DataFrame:
    """Measure the margins at the minimum in theta beside A p at the fixed point of the dual flow [Eq. 9].

    ``pull`` is where the term -A p then moves the chance, down 1 or up -1, ``side`` whether the example is
    right (1) or wrong (-1).
    """

    def margins(problem: Training) -> Row:
        n, ridge, p = len(problem.signed), problem.ridge, problem.chances
        no_half, n_times = (replace(problem, ridge=k * ridge).last_margins for k in (2, n))
        measured, predicted = problem.last_margins, problem.coupling @ p
        claim = {"measured": measured, "predicted": predicted, "no_half": no_half, "n_times": n_times}
        large_raised = np.where(p > np.median(p), -1, 1)
        signs = {"pull": np.sign(predicted), "side": np.sign(measured), "large_raised": large_raised}
        return {"ridge": ridge, "example": 1 + np.arange(n)} | claim | signs

    return table(margins, dual_problems())


def last_parameters() -> DataFrame:
    """Measure the parameters at the minimum beside those that the dual variables give [Eq. 14]."""

    def parameters(problem: Training) -> Row:
        alone = dual_fixed_point(np.diag(np.diag(problem.coupling)))
        predicted, by_alone = (problem.signed.T @ p / problem.ridge for p in (problem.chances, alone))
        keys = {"ridge": problem.ridge, "parameter": 1 + np.arange(len(predicted))}
        return keys | {"measured": problem.minimum, "predicted": predicted, "alone": by_alone}

    return table(parameters, dual_problems())


def last_responses() -> DataFrame:
    """Measure the responses at the minimum beside S^2 U^T p over the ridge [Eq. 18]."""

    def responses(problem: Training) -> Row:
        features = problem.features
        predicted = features.responses(problem.chances)
        keys = {"ridge": problem.ridge, "feature": 1 + np.arange(len(predicted))}
        measured, not_squared = problem.last_margins @ features.u, predicted / features.strengths
        return keys | {"measured": measured, "predicted": predicted, "not_squared": not_squared}

    return table(responses, dual_problems())


def least_loss() -> DataFrame:
    """Measure the least loss beside the value of the dual problem, with outputs at the start [Eq. 5, 15]."""

    def value(problem: Training) -> Row:
        def dual(p: np.ndarray, start: ArrayLike) -> float:
            return np.sum(entropy(p) - p * start) - p @ problem.coupling @ p / 2

        p, printed = problem.chances, dual(replace(problem, start=0.0).chances, 0.0)
        claim = {"measured": problem.loss(problem.minimum), "predicted": dual(p, problem.start)}
        return {"ridge": problem.ridge} | claim | {"term_lost": dual(p, 0.0), "printed": printed}

    return table(value, dual_problems(start=0.5))


def least_eigenvalue() -> DataFrame:
    """Measure the least eigenvalue of U S^2 U^T over the largest, and the rank of the gradients [Eq. 17]."""

    def eigenvalue(problem: Training) -> Row:
        n, parameters = problem.signed.shape
        values, strengths = np.linalg.eigvalsh(problem.coupling), problem.features.strengths
        positive = strengths[strengths > 1e-10 * strengths[0]]
        least, independent = values[0] / values[-1], np.linalg.matrix_rank(problem.signed) == n
        claim = {"measured": least, "least_strength": (positive[-1] / strengths[0]) ** 2}
        return claim | {"definite": least > 1e-10, "independent": independent, "spare": parameters >= n}

    return table(eigenvalue, dual_problems())


def slowest_rate() -> DataFrame:
    """Measure the largest eigenvalue of the Jacobian of the dual flow at its fixed point [Thm. 1].

    A coupling of the norm 1e-3 comes near the bound: there the chances are near 1/2.
    """

    def rate(coupling: np.ndarray) -> float:
        """Return the eigenvalue, by central differences."""
        p = dual_fixed_point(coupling)
        steps = 1e-5 * np.minimum(p, 1 - p)
        up, down = (np.log((1 - x) / x) - x @ coupling for x in (p + np.diag(steps), p - np.diag(steps)))
        return np.linalg.eigvals((up - down) / (2 * steps[:, None])).real.max()

    def rates(problem: Training) -> Row:
        norms = np.array([np.linalg.norm(problem.coupling), 1e-3])
        measured = [rate(problem.coupling * size / norms[0]) for size in norms]
        return {"norm_of_A": norms, "measured": measured, "at_most": -4.0, "of_squares": -8.0}

    return table(rates, dual_problems())


# The ways of Figure 6, with the ridge 0.01 and the second strength 2.

COUPLINGS, STRENGTHS, RIDGE = (0.5, 0.6), (2.0, 3.0, 4.0, 5.0, 6.0), 0.01


def primal_path(problem: FeatureProblem, times: np.ndarray) -> np.ndarray:
    """Return the responses (T, r) along gradient flow in theta, from zero."""
    signed = problem.u * problem.strengths

    def velocity(theta: np.ndarray) -> np.ndarray:
        return signed.T @ expit(-signed @ theta) - problem.ridge * theta

    return solution(velocity, 0 * problem.strengths, times, rtol=1e-11) @ signed.T @ problem.u


def dual_path(problem: FeatureProblem, times: np.ndarray) -> np.ndarray:
    """Return the responses (T, r) along the dual flow from p = 1e-8, integrated in log((1 - p) / p)."""
    start = np.full(len(problem.u), -logit(1e-8))

    def velocity(w: np.ndarray) -> np.ndarray:
        return (problem.coupling @ expit(-w) - w) / (expit(w) * expit(-w))

    return problem.responses(expit(-solution(velocity, start, times, rtol=1e-11)))


@cache
def ways_of_figure(delta: float, s1: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the responses along both flows, (801, 2) each, over their own times."""
    problem = two_features(delta, s1, 2.0, RIDGE)
    primal = primal_path(problem, np.append(0, np.geomspace(1e-3, 4000, 800)))
    return primal, dual_path(problem, np.append(0, np.geomspace(1e-9, 6, 800)))


def ends_of_ways() -> DataFrame:
    """Measure the responses at the ends of both flows of Figure 6, left."""

    def ends(delta: float, s1: float) -> Row:
        primal, dual = ways_of_figure(delta, s1)
        problem = two_features(delta, s1, 2.0, RIDGE)
        simplified = problem.responses(simplified_fixed_point(problem.coupling))
        return {"response": [1, 2], "measured": primal[-1], "predicted": dual[-1], "simplified": simplified}

    return table(ends, grid(delta=COUPLINGS, s1=STRENGTHS))


def distance_of_ways() -> DataFrame:
    """Measure how far the flows of Figure 6, left, are apart in z_2, over its end, where z_1 is half-way."""

    def half_way(path: np.ndarray) -> float:
        """Return the second response where the first is half of its end."""
        return np.interp(path[-1, 0] / 2, path[:, 0], path[:, 1])

    def distance(delta: float, s1: float) -> float:
        primal, dual = ways_of_figure(delta, s1)
        return abs(half_way(primal) - half_way(dual)) / primal[-1, 1]

    def distances(delta: float, s1: float) -> Row:
        return {"measured": distance(delta, s1), "equal_strengths": distance(delta, STRENGTHS[0])}

    return table(distances, grid(delta=COUPLINGS, s1=STRENGTHS[1:]))


# Small chances: Equation 19.


def steep(rng: Generator) -> np.ndarray:
    """Return six orthogonal examples with strengths over a factor six."""
    return np.linalg.qr(rng.normal(size=(6, 6)))[0] * [5, 3, 2, 1.5, 1, 0.8]


def taught(rng: Generator) -> np.ndarray:
    """Return 20 examples labelled by a unit vector and moved, so that twice the vector separates them."""
    x, w = rng.normal(size=(20, 6)), rng.normal(size=6)
    return x * np.sign(x @ w)[:, None] + w / np.linalg.norm(w) / 2


SEPARABLE = {"8 x 20 matrices": wide, "ones of six strengths": steep, "ones labelled by a vector": taught}


def separable(family: Family, *, rng: Generator) -> np.ndarray:
    """Draw signed gradients that some theta separates."""
    return family(rng)


def contradicted(signed: np.ndarray) -> np.ndarray:
    """Return the gradients with those of the first example once more, with the other label."""
    return np.vstack([signed, -signed[:1]])


def at_ridges(drawn: list[Draw], *ridges: float) -> list[Draw]:
    """Return the problem of each draw at every ridge."""
    pairs = product(drawn, ridges)
    return [Draw({**draw.keys, "ridge": ridge}, (Training(draw.value, ridge),)) for draw, ridge in pairs]


def sum_of_chances() -> DataFrame:
    """Measure the sum of the chances beside its bound, as the ridge vanishes [before Eq. 19].

    The separating theta is the shortest one.  Orthonormal examples at a tiny ridge come near the bound.
    """

    def total(problem: Training) -> Row:
        n, ridge = len(problem.signed), problem.ridge
        size = linear_svm(problem.signed, np.ones(n)).norm
        bound, no_log = (ridge * size * np.sqrt(2 * n + (size * k) ** 2) for k in (np.log(ridge), 1))
        return {"measured": problem.chances.sum(), "at_most": bound, "no_logarithm": no_log}

    orthonormal = [Draw({"family": f"{n} orthonormal rows", "seed": 0}, (np.eye(n),)) for n in (1, 12)]
    drawn = at_ridges(draws("small chances", separable, SEPARABLE), 1e-1, 1e-2, 1e-3)
    return table(total, drawn + at_ridges(orthonormal, 1e-30, 1e-100))


def left_out(p: ArrayLike) -> np.ndarray:
    """Return what Equation 19 leaves out, -p - ln(1 - p)."""
    return -np.asarray(p) - np.log1p(-np.asarray(p))


def error_of_simplified(problem: Training) -> tuple[float, float]:
    """Return the weighted root mean square of Equation 19's error in ln p, and the least weight."""
    p, simplified = problem.chances, simplified_fixed_point(problem.coupling)
    error = np.log(simplified / p)
    weights = (simplified - p) / error
    return np.sqrt(weights @ error**2 / weights.sum()), weights.min()


def simplified_flow() -> DataFrame:
    """Measure the error of the fixed point of Equation 19 in ln p beside its bound.

    The separable families are at the ridge 1e-3, at 0.1 they have an example of both labels.  Features that
    are nearly zero, at 1, attain the bound.
    """

    def error(problem: Training) -> Row:
        size, least = error_of_simplified(problem)
        bound, of_mean = left_out(problem.chances.max()) / (1 + least), left_out(problem.chances.mean())
        return {"measured": size, "at_most": bound, "of_mean": of_mean}

    blank = [Draw({"family": f"{n} rows nearly zero", "seed": 0}, (np.full((n, 1), 1e-9),)) for n in (1, 7)]
    drawn = draws("small chances", separable, SEPARABLE)
    problems = at_ridges(drawn, 1e-3) + at_ridges(runs(contradicted, drawn), 0.1) + at_ridges(blank, 1.0)
    return table(error, problems)


def inseparable_ends() -> DataFrame:
    """Measure the same where one example has both labels, at a ridge of 1e-3, beside half of that at 0.1."""

    def ends(signed: np.ndarray) -> Row:
        problems = [Training(signed, ridge) for ridge in (1e-3, 0.1)]
        small, large = (error_of_simplified(problem)[0] for problem in problems)
        return {"measured": small, "at_most": large / 2, "largest_chance": problems[0].chances.max()}

    return table(ends, runs(contradicted, draws("small chances", separable, SEPARABLE)))


# No coupling, and a small one: Equations 20 to 22.


def log_ridge(rng: Generator) -> float:
    """Draw a ridge from 0.01 to 5."""
    return np.exp(rng.uniform(np.log(0.01), np.log(5)))


def equal_strengths(n: int, *, rng: Generator) -> FeatureProblem:
    """Draw n features of one strength from 0.6 to 4.5 and random orthogonal votes."""
    votes = np.linalg.qr(rng.normal(size=(n, n)))[0]
    return FeatureProblem(votes, np.full(n, np.exp(rng.uniform(-0.5, 1.5))), log_ridge(rng))


def permuted(n: int, *, rng: Generator) -> FeatureProblem:
    """Draw n features of different strengths, each of which belongs to another example."""
    strengths = np.exp(rng.uniform(-0.5, 1.5) + rng.uniform(0.2, 0.5) * np.arange(n))
    return FeatureProblem(np.eye(n)[np.roll(np.arange(n), 1)], strengths, log_ridge(rng))


FEATURES = {"three features": 3, "four features": 4, "six features": 6}


def simplified_responses(problem: FeatureProblem) -> np.ndarray:
    """Return the responses (r,) at the fixed point of Equation 19."""
    return problem.responses(simplified_fixed_point(problem.coupling))


def equal_features() -> DataFrame:
    """Measure chances and responses of equally strong features, as many as examples [Eq. 20]."""

    def ends(problem: FeatureProblem) -> Row:
        (n, _), strength, ridge = problem.u.shape, problem.strengths[0], problem.ridge
        fewer = replace(problem, u=problem.u[:, 1:], strengths=problem.strengths[1:])
        uneven = simplified_responses(replace(problem, strengths=strength * np.linspace(1, 1.1, n)))
        closed, printed = lambertw(strength**2 / ridge + np.array([1, ridge])).real / (strength**2 + ridge)
        keys = {"ridge": ridge, "strength": strength, "example": 1 + np.arange(n)}
        chances = {"measured": simplified_fixed_point(problem.coupling), "predicted": ridge * closed}
        others = {"one_fewer": simplified_fixed_point(fewer.coupling), "printed": ridge * printed}
        response, law = simplified_responses(problem), strength**2 * closed * problem.u.sum(axis=0)
        return keys | chances | others | {"response": response, "law": law, "uneven": uneven}

    return table(ends, draws("equal strengths", equal_strengths, FEATURES))


def turned(problem: FeatureProblem) -> FeatureProblem:
    """Return the problem with its votes turned a little."""
    turn = np.triu(np.ones_like(problem.u), 1)
    return replace(problem, u=problem.u @ expm(0.2 * (turn - turn.T) / np.linalg.norm(turn - turn.T)))


def permuted_features() -> DataFrame:
    """Measure chances and responses where each feature belongs to one example [Eq. 21]."""

    def ends(problem: FeatureProblem) -> Row:
        squares, ridge, other = problem.strengths**2, problem.ridge, turned(problem)
        closed = lambertw(squares / ridge + 1).real / (squares + ridge)
        measured, by_turned = (simplified_fixed_point(each.coupling) for each in (problem, other))
        chances = {"measured": measured, "predicted": problem.u @ (ridge * closed)}
        others = {"turned": by_turned, "printed": ridge * closed}
        responses = {"response": simplified_responses(problem), "law": squares * closed}
        responses |= {"turned_response": simplified_responses(other)}
        return {"ridge": ridge, "example": 1 + np.arange(len(squares))} | chances | others | responses

    return table(ends, draws("permuted votes", permuted, FEATURES))


def without_coupling(coupling: np.ndarray) -> np.ndarray:
    """Return the chances of Equation 19 without the entries outside the diagonal."""
    return lone_chance(np.diag(coupling) + 1)


def lemma_1(coupling: np.ndarray) -> np.ndarray:
    """Return the chances of Equation 22."""
    first = without_coupling(coupling)
    return np.linalg.solve(coupling + np.diag(1 + 1 / first), 1 - np.log(first))


def weakly_coupled(n: int, *, rng: Generator) -> FeatureProblem:
    """Draw features of strengths over a factor seven, whose votes turn by a matrix of the norm 1/5."""
    turn = rng.normal(size=(n, n))
    votes = expm((turn - turn.T) / np.linalg.norm(turn - turn.T) / 5)
    return FeatureProblem(votes, np.exp(np.linspace(1.5, -0.5, n) + rng.uniform(-0.2, 0.2, n)), 0.1)


def order_of_lemma() -> DataFrame:
    """Measure with which power of the coupling the error of Lemma 1 vanishes [Eq. 22 and 42 to 49].

    The power is that of the largest relative error at three couplings, halved twice, extrapolated.
    """

    def order(couplings: list[np.ndarray], approximation: Map, exact: Map) -> float:
        errors = [np.abs(approximation(each) / exact(each) - 1).max() for each in couplings]
        coarse, fine = -np.diff(np.log2(errors))
        return 2 * fine - coarse

    def orders(problem: FeatureProblem) -> Iterator[Row]:
        for coupling in (4e-2, 4e-3, 3.9e-4):
            votes = [fractional_matrix_power(problem.u, coupling / part).real for part in (1, 2, 4)]
            matrices = [replace(problem, u=u).coupling for u in votes]
            claim = {"measured": order(matrices, lemma_1, simplified_fixed_point), "predicted": 2.0}
            without_step = order(matrices, without_coupling, simplified_fixed_point)
            printed = order(matrices, lemma_1, dual_fixed_point)
            others = {"without_step": without_step, "printed": printed, "left": 1e-3 + 20 * coupling**2}
            yield {"coupling": coupling} | claim | others

    families = {"two features": 2, "four features": 4, "six features": 6}
    return table(orders, draws("small couplings", weakly_coupled, families))


def unequal_pair(ridge: float, *, rng: Generator) -> FeatureProblem:
    """Draw two features of unequal strengths, not yet coupled."""
    weaker = np.exp(rng.uniform(0, 1.5))
    return two_features(0.0, weaker * np.exp(rng.uniform(0.4, 2)), weaker, ridge)


def error_of_lemma() -> DataFrame:
    """Measure the largest relative error of Lemma 1, over its law, at small couplings [Eq. 22].

    The ratio at a coupling and at half of it, extrapolated to none.
    """

    def error(pair: FeatureProblem, delta: float) -> float:
        coupling = replace(pair, u=rotation(delta)).coupling
        return np.abs(lemma_1(coupling) / simplified_fixed_point(coupling) - 1).max()

    def ratios(pair: FeatureProblem) -> Iterator[Row]:
        stronger, weaker = lambertw(1 + pair.strengths**2 / pair.ridge).real
        first, second = pair.strengths**2
        unit = (second + pair.ridge) / (first - second)  # delta over epsilon
        for epsilon in (2e-1, 2e-2, 2e-3):
            law = (epsilon * weaker) ** 2 / (2 * (1 + stronger) ** 3)
            wide, close = error(pair, epsilon * unit) / law, 4 * error(pair, epsilon * unit / 2) / law
            row = {"coupling": epsilon * unit, "measured": 2 * close - wide, "predicted": 1.0}
            yield row | {"one_root": 1 + stronger, "of_delta": unit**2, "left": epsilon**2}

    families = {f"weight decay {ridge}": ridge for ridge in (0.001, 0.05, 1.0)}
    return table(ratios, draws("unequal strengths", unequal_pair, families, each=10))


# The formulas of Appendix B.4.


@dataclass(frozen=True, eq=False)
class Pair:
    """Two features coupled by ``delta``; ``a`` and ``b`` are the squares of their strengths [App. B.4]."""

    delta: float
    a: float
    b: float
    ridge: float

    @property
    def problem(self) -> FeatureProblem:
        """The problem in floats."""
        return two_features(self.delta, np.sqrt(self.a), np.sqrt(self.b), self.ridge)

    @property
    def parts(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """W_1 and W_2, the ridge times e^W_1 and e^W_2, and D_1 and D_2."""
        squares = np.array([self.a, self.b])
        w = lambertw(1 + squares / self.ridge).real
        return w, self.ridge * np.exp(w), self.ridge * (1 + np.exp(w)) + squares

    @property
    def keys(self) -> Row:
        """Where a row is from."""
        return {"delta": self.delta, "ratio": self.a / self.b, "ridge": self.ridge}


def pair_of_features(ratios: tuple[float, float], *, rng: Generator) -> Pair:
    """Draw a coupling from 0.1 to 0.6, a ridge from 0.01 to 1.3 and squares with a ratio over 1 as given."""
    b, excess = np.exp(rng.uniform(-1, 2)), np.exp(rng.uniform(*np.log(ratios)))
    return Pair(rng.uniform(0.1, 0.6), b * (1 + excess), b, np.exp(rng.uniform(*np.log([0.01, 1.3]))))


def pairs() -> list[Draw]:
    """Draw pairs whose squared strengths are apart, and nearly equal ones."""
    return draws(
        "pairs", pair_of_features, {"pairs apart": (0.2, 5.0), "nearly equal ones": (1e-6, 1e-2)}, each=10
    )


def equation_44(pair: Pair) -> np.ndarray:
    """Return the first diagonal entry, the one outside and the second diagonal entry."""
    d, a, b, r = pair.delta, pair.a, pair.b, pair.ridge
    first, second = (1 - d**2) * a + d**2 * b, (1 - d**2) * b + d**2 * a
    return np.array([first + r, d * np.sqrt(1 - d**2) * (a - b), second + r]) / r


def matrix_of_pair() -> DataFrame:
    """Measure the entries of A + I beside Equation 44."""

    def entries(pair: Pair) -> Row:
        d, a, b, r = pair.delta, pair.a, pair.b, pair.ridge
        measured = (pair.problem.coupling + np.eye(2))[[0, 0, 1], [0, 1, 1]]
        first_order = np.array([a + r, d * (a - b), b + r]) / r
        claim = {"measured": measured, "predicted": equation_44(pair), "first_order": first_order}
        return pair.keys | {"entry": ["1, 1", "1, 2", "2, 2"]} | claim

    return table(entries, pairs())


def appendix_b4(pair: Pair, inside: float) -> np.ndarray:
    """Return the printed chances of Lemma 1; ``inside`` is the delta in the arguments of W."""
    d, a, b, r, f = pair.delta, pair.a, pair.b, pair.ridge, inside**2
    w1, w2 = lambertw([(r - f * a + f * b + a) / r, (r + f * (a - b) + b) / r]).real
    cross, e1, e2 = d * np.sqrt(1 - d**2) * (b - a), r * np.exp(w1), r * np.exp(w2)
    below = (r + d**2 * (a - b) + e2 + b) * (r + d**2 * b - (d**2 - 1) * a + e1)
    below += d**2 * (d**2 - 1) * (a - b) ** 2
    above = (w2 + 1) * (cross + e2 * (w1 + 1)), (w1 + 1) * (cross + e1 * (w2 + 1))
    return r * np.array(above) / below


def chances_of_pair() -> DataFrame:
    """Measure the chances without coupling, by bisection [Eq. 45], and those of Lemma 1 [App. B.4]."""

    def chances(pair: Pair) -> Row:
        diagonal = np.diag(pair.problem.coupling) + 1
        roots = [brentq(lambda p, a=a: np.log(p) + a * p, 1e-9, 1, xtol=1e-16) for a in diagonal]
        first_order = lone_chance(1 + np.array([pair.a, pair.b]) / pair.ridge)
        alone = {"measured": roots, "predicted": lone_chance(equation_44(pair)[[0, 2]])}
        lemma = {"lemma": lemma_1(pair.problem.coupling), "closed_lemma": appendix_b4(pair, pair.delta)}
        others = {"first_order": first_order, "first_order_lemma": appendix_b4(pair, 0.0)}
        return pair.keys | {"example": [1, 2]} | alone | lemma | others

    return table(chances, pairs())


def exact_responses(delta: mp.mpf, a: mp.mpf, pair: Pair) -> mp.matrix:
    """Return the responses of Lemma 1 at another coupling and first squared strength, in mpmath's digits."""
    b, r, c = pair.b, pair.ridge, mp.sqrt(1 - delta**2)
    u = mp.matrix([[c, -delta], [delta, c]])
    matrix = u * mp.diag([a, b]) * u.T / r + mp.eye(2)
    first = [mp.lambertw(matrix[i, i]).real / matrix[i, i] for i in (0, 1)]
    right = mp.matrix([1 - mp.log(p) for p in first])
    chances = mp.lu_solve(matrix + mp.diag([1 / p for p in first]), right)
    return mp.diag([a / r, b / r]) * u.T * chances


def first_order(pair: Pair, feature: int) -> float:
    """Return the response of Lemma 1 to feature 0 or 1, to first order in delta, by fifty digits."""
    with mp.workdps(50):
        slope = mp.diff(lambda delta: exact_responses(delta, pair.a, pair)[feature], 0)
        return float(exact_responses(mp.mpf(0), pair.a, pair)[feature] + slope * pair.delta)


def mixed_derivative(pair: Pair) -> float:
    """Return the derivative of the second response by delta, at 0, and by the first squared strength."""
    with mp.workdps(50):
        return float(mp.diff(lambda delta, a: exact_responses(delta, a, pair)[1], (0, pair.a), (1, 1)))


def relative_growth(pair: Pair) -> float:
    """Return the same derivative by the logarithm of the first squared strength, over W_2."""
    return mixed_derivative(pair) * pair.a / pair.parts[0][1]


def equation_51(pair: Pair, factor: float, bracket: float) -> float:
    """Return the first response, with these squares of strengths before the bracket and in it."""
    (w1, w2), (e1, _), (d1, d2) = pair.parts
    correction = factor * (w2 + 1) * (pair.ridge + e1 + bracket) / (d1 * d2)
    return pair.a * (w1 + 1) / d1 + pair.delta * correction


def equation_52(pair: Pair, factor: float) -> float:
    """Return the second response, with this square of a strength before the bracket."""
    (w1, w2), (_, e2), (d1, d2) = pair.parts
    correction = factor * (w1 + 1) * (pair.ridge + e2 + pair.a) / (d1 * d2)
    return pair.b * (w2 + 1) / d2 - pair.delta * correction


def equation_53(pair: Pair, squared: int) -> float:
    """Return the derivative; which of D_1 (0) and D_2 (1) is squared."""
    (w1, _), (e1, e2), d = pair.parts
    return -pair.delta * pair.b * (e1 - e2) * (w1 + 1) / (d[0] * d[1] * d[squared])


def responses_of_pair() -> DataFrame:
    """Measure the responses of Lemma 1 to first order, and the derivative of the second [Eq. 51 to 54].

    ``weaker`` is the growth where the first feature is the weaker one.
    """

    def responses(pair: Pair) -> Row:
        a, b = pair.a, pair.b
        first = {"measured": first_order(pair, 0), "predicted": equation_51(pair, a, b)}
        first |= {"own_inside": equation_51(pair, a, a), "printed": equation_51(pair, b, b)}
        second = {"second": first_order(pair, 1), "equation_52": equation_52(pair, b)}
        second |= {"other_before": equation_52(pair, a)}
        slope = {"slope": pair.delta * mixed_derivative(pair), "equation_53": equation_53(pair, 0)}
        slope |= {"other_squared": equation_53(pair, 1)}
        growth = {"growth": relative_growth(pair), "weaker": relative_growth(replace(pair, a=b, b=a))}
        return pair.keys | first | second | slope | growth

    return table(responses, pairs())


# The penalty on the outputs: Equation 28 and Figure 6, right.


def root_margin(penalty: float, target: float = 0.0) -> float:
    """Return the root q of sigma(-q) = penalty (q - target)."""
    return brentq(lambda q: expit(-q) - penalty * (q - target), -20, 200, xtol=1e-13)


def square(rng: Generator) -> np.ndarray:
    """Return as many examples as parameters, stretched over a factor twenty."""
    u, _, vt = np.linalg.svd(rng.normal(size=(4, 4)))
    return u * [4.0, 2.0, 0.8, 0.2] @ vt


def targeted(family: Family, *, rng: Generator) -> Training:
    """Draw independent gradients of a family, labels, a penalty from 0.02 to 1 and a target from -2 to 2."""
    signed = family(rng)
    target = rng.uniform(-2, 2) * rng.choice([-1.0, 1.0], len(signed))
    return Training(signed, penalty=np.exp(rng.uniform(np.log(0.02), 0)), target=target)


def penalised_margins() -> DataFrame:
    """Measure the margins at the minimum with a penalty that pulls the outputs to a target [Eq. 28].

    ``signed_target`` is the target times the label.
    """

    def margins(problem: Training) -> Row:
        penalty, targets = problem.penalty, np.asarray(problem.target)
        predicted = [root_margin(penalty, target) for target in targets]
        claim = {"measured": problem.last_margins, "predicted": predicted}
        return {"penalty": penalty, "signed_target": targets} | claim | {"untargeted": root_margin(penalty)}

    families = {"8 x 20 matrices": wide, "ones of six strengths": steep, "4 x 4 ones": square}
    return table(margins, draws("targets", targeted, families))


def decoupled_responses() -> DataFrame:
    """Measure the responses at the minimum with the penalty 0.002 as s_1 goes from 2 to 6 [Fig. 6, right]."""

    def responses(delta: float, s1: float) -> Row:
        votes, penalty = rotation(delta), 0.002
        problem = Training(votes * [s1, 2.0], penalty=penalty)
        measured, predicted = problem.last_margins @ votes, root_margin(penalty) * votes.sum(axis=0)
        decayed = replace(problem, penalty=0, ridge=penalty).last_margins @ votes
        return {"response": [1, 2], "measured": measured, "predicted": predicted, "decayed": decayed}

    return table(responses, grid(delta=(0.5, 0.6, -0.3), s1=STRENGTHS))


# Which feature starves which: Sections 3.1 and 3.4, Figure 6, left.


def least_squares() -> DataFrame:
    """Measure the responses at the minimum of the squared error, over the root of n [Sec. 3.1 and 5]."""

    def responses(problem: Training) -> Row:
        u, s, ridge = problem.features.u, problem.features.strengths, problem.ridge
        rows = np.vstack([u * s, np.sqrt(ridge) * np.eye(len(s))])
        target = np.concatenate([np.ones(len(u)), np.zeros(len(s))])
        measured = s * np.linalg.lstsq(rows, target)[0] / np.sqrt(len(u))
        predicted = s**2 / (s**2 + ridge) * u.sum(axis=0) / np.sqrt(len(u))
        keys, other = {"ridge": ridge, "feature": 1 + np.arange(len(s))}, primal_responses(problem.features)
        return keys | {"measured": measured, "predicted": predicted, "logistic": other / np.sqrt(len(u))}

    families = {"8 x 20 matrices": wide, "30 x 4 ones of unequal columns": many, "4 x 4 ones": square}
    return table(responses, draws("squared error", decayed, families))


def coupled_pair(sign: int, *, rng: Generator) -> FeatureProblem:
    """Draw two features, the first stronger; the coupling is 0.01 to 0.999, not near the root of 1/2."""
    near, far = np.exp(rng.uniform(np.log(0.01), np.log(0.69))), 1 - np.exp(rng.uniform(-7, np.log(0.28)))
    s2, ridge = np.exp(rng.uniform(-1, 1)), np.exp(rng.uniform(-4, 0))
    delta = sign * rng.choice([near, far])
    return two_features(delta, s2 * np.exp(rng.uniform(0.1, 2)), s2, ridge)


def effect_of_strength(sign: int = 1) -> DataFrame:
    """Measure by how much the logarithm of the second response changes with that of s_1 [Thm. 2].

    ``sign`` is that of the coupling.
    """

    def effect(problem: FeatureProblem) -> Row:
        step = np.array([1e-3, 0])
        ends = [replace(problem, strengths=problem.strengths * np.exp(h)) for h in (step, -step)]
        up, down = (np.log(abs(primal_responses(end)[1])) for end in ends)
        return {"delta": problem.u[1, 0], "measured": (up - down) / 2e-3, "at_most": 0.0}

    return table(effect, draws("coupled pairs", coupled_pair, {"coupled pairs": sign}, each=40))


def leading_feature(agrees: bool, *, rng: Generator) -> FeatureProblem:
    """Draw 3 to 12 features of strengths from 1 to 10; the strongest may agree with all labels."""
    n = rng.integers(3, 13)
    votes = rng.normal(size=(n, n))
    votes[:, 0] = np.abs(votes[:, 0]) if agrees else votes[:, 0]
    strengths = np.sort(np.exp(rng.uniform(0, np.log(10), n)))[::-1]
    return FeatureProblem(np.linalg.qr(votes)[0], strengths, np.exp(rng.uniform(np.log(0.01), 0)))


def share_lowered(problem: FeatureProblem) -> float:
    """Return the share of responses but the first that fall with s_1, by the derivative of the minimum."""
    u, squares = problem.u, problem.strengths**2
    training = Training(u * problem.strengths, problem.ridge)
    theta = polished_root(training.gradient, training.hessian, np.zeros(len(u)))
    z = problem.strengths * theta
    doubt = expit(u @ z) * expit(-u @ z)
    pulled = z * (np.arange(len(z)) == 0)  # U^T p = ridge z / s^2, differentiated
    change = np.linalg.solve(np.diag(problem.ridge / squares) + (u.T * doubt) @ u, pulled)
    return (change * z < 0)[1:].mean()


def mean_share_lowered() -> DataFrame:
    """Measure the mean share of responses that the leading feature lowers, over many problems [Sec. 3.1]."""

    def mean(agrees: bool, problems: int) -> float:
        drawn = draws(f"leading, {agrees}", leading_feature, {"leading": agrees}, problems)
        return float(np.mean([share_lowered(draw.value) for draw in drawn]))

    def means(problems: int) -> Row:
        agreeing, random = (mean(agrees, problems) for agrees in (True, False))
        return {"measured": agreeing, "at_least": 2 / 3, "random_votes": random}

    return table(means, grid(problems=[1000]))


def ends_of_figure(sign: int = 1) -> DataFrame:
    """Measure the signs of the steps of both last responses as s_1 goes from 2 to 6 [Fig. 6, left].

    ``sign`` is that of the coupling.
    """

    def steps(delta: float, s1: float) -> Row:
        before, after = (primal_responses(two_features(sign * delta, s, 2.0, RIDGE)) for s in (s1 - 1, s1))
        first, second = np.sign(after - before)
        return {"measured": first, "second": second}

    return table(steps, grid(delta=COUPLINGS, s1=STRENGTHS[1:]))


def bulge_of_way() -> DataFrame:
    """Measure how far the way lies off the straight line to its end, relative to it [Fig. 6, left].

    With equal strengths, and with the first one 3.
    """

    def bulge(delta: float, s1: float) -> np.ndarray:
        """Return the distances at three times."""
        way = primal_path(two_features(delta, s1, 2.0, RIDGE), np.array([0.05, 0.5, 5, 4000]))
        end = way[-1]
        return np.abs(way[:-1, 0] * end[1] - way[:-1, 1] * end[0]) / (end @ end)

    def bulges(delta: float) -> Row:
        times = [0.05, 0.5, 5]
        return {"time": times, "measured": bulge(delta, 2.0), "predicted": 0.0, "unequal": bulge(delta, 3.0)}

    return table(bulges, grid(delta=(0.5, 0.6, -0.5, -0.6)))
