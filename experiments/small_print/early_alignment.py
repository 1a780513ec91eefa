"""Small claims of [min2024]: each function measures one, or a few that are alike, and returns a table.

Columns before ``measured`` say where a row is from.  Data are orthogonally separable with separation mu
unless said otherwise, starts are balanced, and the limit is that of a small start, `Problem.alignment`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
from numpy.linalg import norm
from numpy.random import Generator
from numpy.typing import ArrayLike
from pandas import DataFrame
from scipy.optimize import brentq, minimize
from scipy.signal import find_peaks
from scipy.stats import binom

from executable_claims import Variant
from experiments.records import recorded
from lib.data.digits import digits_pair
from lib.data.synthetic import SEPARABLE, circle, separable_data, simplex
from lib.draws import Draw, draws, grid, runs, table
from lib.flow.equation import first_passage
from lib.flow.trajectory import Weights
from lib.geometry.patterns import cosine, least_signed_cosine, regions, unit_vectors
from lib.models.two_layer import Start, TwoLayer
from lib.problem import Problem
from lib.seeds import likely_range
from lib.theory.alignment import cap_constant, class_sums, start_constant
from lib.training.losses import EXPONENTIAL, LOGISTIC, SQUARE, TWICE_LOGISTIC, Loss

Row = dict[str, Any]
Data = tuple[np.ndarray, np.ndarray]
TWO = {  # least and largest cosine of two unit signed data, and the label of the second
    "two data of a class": (0.003, 0.3, 1.0),
    "two close data": (0.999, 0.9999, 1.0),
    "one datum a class": (0.02, 0.5, -1.0),
    "two classes next to orthogonal": (1e-4, 1e-3, -1.0),
}


def families(*more: str, **options: Any) -> dict[str, Row]:
    """Return the three families of separable data and others, with options of how to draw."""
    return {family: {"family": family, **options} for family in (*SEPARABLE, *more)}


def near_families(**options: Any) -> dict[str, Row]:
    """Return the three families again, with neurons near the class sums that repel them."""
    return {
        f"{family}, near what repels": {"family": family, "near": True, **options} for family in SEPARABLE
    }


def on_data(w: ArrayLike, signs: ArrayLike, data: Data, loss: Loss = TWICE_LOGISTIC) -> Problem:
    """Return the problem of a balanced start on inputs and labels that count 1 each."""
    return Problem(*data, TwoLayer.balanced(w, signs), loss, share=1.0)


def separated(family: str, most: int = 9, *, rng: Generator) -> Data:
    """Draw three to ``most`` separable data, their norms over up to two decades, or two."""
    if family not in TWO:
        return separable_data(family, int(rng.integers(3, most + 1)), rng=rng, decades=float(rng.integers(3)))
    low, high, label = TWO[family]
    labels = np.array([1.0, label])
    return labels[:, None] * simplex(2, np.exp(rng.uniform(np.log(low), np.log(high)))), labels


def few_data(family: str, count: int = 300, *, rng: Generator) -> Problem:
    """Draw Gaussian neurons of both signs on up to six data."""
    inputs, labels = separated(family, 6, rng=rng)
    w = rng.standard_normal((count, inputs.shape[1]))
    return on_data(w, np.resize([1.0, -1.0], count), (inputs, labels))


def neurons(family: str, near: bool = False, *, rng: Generator) -> Problem:
    """Draw sixty Gaussian neurons on up to 25 data, or 1e-8 to 0.1 away from the sums that repel them."""
    data = separated(family, 25, rng=rng)
    w, signs = rng.standard_normal((60, data[0].shape[1])), np.resize([1.0, -1.0], 60)
    if near:
        distances = 10 ** rng.uniform(-8, -1, (60, 1))
        w = np.resize(unit_vectors(class_sums(*data))[::-1], w.shape) + distances * w
    return on_data(w, signs, data)


def many_neurons(name: str) -> list[Draw]:
    """Draw neurons on three families of data, in half of the draws near the sums that repel them."""
    return draws(name, neurons, families() | near_families(), each=10)


def sums(problem: Problem, own: bool = False) -> np.ndarray:
    """Return the unit vector along the class sum that repels each neuron, or along that of its class."""
    x_plus, x_minus = unit_vectors(class_sums(problem.inputs, problem.labels))
    return np.where((problem.network.a[:, None] > 0) == own, x_plus, x_minus)


def separation(problem: Problem) -> tuple[float, float]:
    """Return mu and X_min."""
    return least_signed_cosine(problem.inputs, problem.labels), norm(problem.inputs, axis=1).min()


def lemma_11() -> DataFrame:
    """Measure |x_a| / (n_a X_min) of all sets of active data [min2024, Lemma 11]."""

    def drifts(data: Data) -> Row:
        """Compare the norms of all sums of signed data with the root of mu."""
        inputs, labels = data
        n, mu = len(labels), least_signed_cosine(*data)
        active = (np.arange(1, 2**n)[:, None] >> np.arange(n)) & 1
        n_a = active.sum(axis=1)
        sizes = norm(active @ (labels[:, None] * inputs), axis=1)
        return {
            "mu": mu,
            "n_a": n_a,
            "measured": sizes / (n_a * norm(inputs, axis=1).min()),
            "at_least": np.sqrt(mu),
            "without_root": 1.0,
        }

    return table(drifts, draws("Lemma 11", separated, families("two close data"), each=12))


def lemma_8() -> DataFrame:
    """Measure zeta_1 of the widest caps about x_+ in S_+ and x_- in S_-, by search [min2024, Lemma 8]."""

    def outside(centre: np.ndarray, z: np.ndarray) -> float:
        """Return the largest cosine with the centre on the other side of a datum, by search."""
        beyond = {"type": "ineq", "fun": lambda w: -(w @ z)}
        start = np.zeros_like(centre)
        nearest = minimize(lambda w: ((w - centre) ** 2).sum(), start, constraints=[beyond], tol=1e-14)
        return float(norm(nearest.x))

    def caps(data: Data) -> list[Row]:
        """Compare the widest cap about each sum with the least squared cosine of it with a datum."""
        inputs, labels = data
        signed, rows = unit_vectors(labels[:, None] * inputs), []
        for label, total in zip((1, -1), class_sums(*data), strict=True):
            centre = label * total / norm(total)
            squares = (signed @ centre) ** 2
            row = {"mu": least_signed_cosine(*data), "label": label}
            row["measured"] = 1 - max(outside(centre, z) for z in signed) ** 2
            row |= {"predicted": squares.min(), "own": squares[labels == label].min()}
            rows.append(row | {"square": row["mu"] ** 2})
        return rows

    return table(caps, draws("Lemma 8", separated, families("one datum a class")))


def barrier() -> DataFrame:
    """Measure by how much the cosine with x_- rises while it is positive [min2024, Appendix C.2]."""

    def largest_rise(course: np.ndarray) -> np.ndarray:
        """Return the largest rise from one of the times (T, m) to the next, (m,)."""
        return np.diff(course, axis=0).max(axis=0)

    def rises(problem: Problem) -> Row:
        """Compare each neuron's cosine with the sum that repels it at sixty times."""
        phase = problem.alignment()
        v = phase.at(np.linspace(0, phase.events.time.max(initial=1.0), 60))[0]
        repelling, attracting = ((v * sums(problem, own)).sum(axis=-1) for own in (False, True))
        return {
            "neuron": np.arange(v.shape[1]),
            "measured": largest_rise(np.maximum(repelling, 0)),
            "at_most": 0.0,
            "any_cosine": largest_rise(repelling),
            "attracting": largest_rise(np.maximum(attracting, 0)),
        }

    return table(rises, many_neurons("barrier"))


def longest(c: ArrayLike) -> np.ndarray:
    """Return the number A, artanh sqrt(1 - c) for c = min(zeta_2, mu^2), without cancellation."""
    return np.log1p(np.sqrt(1 - np.asarray(c))) - np.log(c) / 2


def finished_stages(problem: Problem) -> Row:
    """Measure each finished stage of a neuron, times |x_a| and times n_a, beside A and the paper's bounds."""
    phase, signs = problem.alignment(), np.sign(problem.network.a)
    over = np.isfinite(phase.starts[1:])
    lasted, neuron = phase.starts[1:][over] - phase.starts[:-1][over], np.nonzero(over)[1]
    active = phase.stage_patterns[:-1][over].sum(axis=1)
    (mu, X_min), zeta_1 = separation(problem), cap_constant(problem.inputs, problem.labels)
    alone = [
        start_constant([w], [sign], problem.inputs, problem.labels)
        for w, sign in zip(problem.network.w, signs, strict=True)
    ]
    zeta_2, unit = np.array(alone)[neuron], 1 / (np.sqrt(mu) * X_min)
    law = longest(np.minimum(zeta_2, mu**2))
    corrected = 4 * unit / np.minimum(zeta_2, min(zeta_1, mu**2))
    return {
        "neuron": neuron,
        "n_a": active,
        "measured": lasted * norm(phase.drifts[:-1][over], axis=1),
        "law": law,
        "mu_alone": longest(mu**2),
        "times_n_a": lasted * active,
        "bound": np.minimum(law * unit, corrected),
        "without_constants": 4 * unit,
        "printed": 4 * unit / np.minimum(np.maximum(zeta_1, zeta_2), mu**2),
    }


def near_two_data(delta: float) -> Problem:
    """Return a neuron at an angle of ``delta`` to the only datum that repels it, of two nearly on a line."""
    inputs, labels = np.array([[1.0, 0.02], [-1.0, 0.0]]), np.array([1.0, -1.0])
    return on_data([[-np.cos(delta), np.sin(delta)]], [1.0], (inputs, labels))


def stages() -> DataFrame:
    """Measure all finished stages of many neurons [min2024, Appendix C.2]."""

    def two(*, rng: Generator) -> Problem:
        """Draw a neuron at an angle of 1e-8 to 1 to the only datum that repels it."""
        return near_two_data(10 ** rng.uniform(-8, 0))

    return table(finished_stages, [*many_neurons("stages"), *draws("two data", two, {"two data": {}})])


def stages_near_x_minus() -> DataFrame:
    """Measure the first stage of a neuron that starts at small angles to what repels it."""
    rows = table(lambda delta: finished_stages(near_two_data(delta)), grid(delta=[1e-4, 1e-6, 1e-8]))
    return rows[rows["n_a"] == 1]


def meeting_time(problem: Problem, datum: int, expected: float, around: float = 1e-3) -> float:
    """Measure when the only neuron meets a datum, by raw weights of size 1e-8, from two heights before."""
    clock = expected - around * np.array([2.0, 1.0])
    raw = problem.scaled(-8 * np.log(10)).raw(np.append(0, clock), rtol=1e-13).w[1:, 0]
    first, second = unit_vectors(raw) @ problem.inputs[datum]
    return clock[1] - second * around / (second - first)


def longest_stages() -> DataFrame:
    """Measure by raw weights the stages of neurons for which the number A is attained."""

    def stage(case: str, c: float) -> Row:
        """Compare the time on one datum of norm 1: barely active on it beside another, or nearly along it."""
        root, datum = np.sqrt(c), 0
        problem = on_data([[np.sqrt(1 - c), root]], [1.0], (np.eye(2)[:1], -np.ones(1)))
        if case == "two data":
            problem, datum = on_data([[1e-6, -1.0]], [1.0], (simplex(2, root), np.ones(2))), 1
        law = float(longest(c))
        return {
            "measured": meeting_time(problem, datum, law),
            "predicted": law,
            "not_squared": float(longest(root)),
        }

    return table(stage, grid(case=["two data", "one that repels"], c=[0.25, 1e-2, 1e-4, 1e-6, 1e-8]))


def harmonic(k: int) -> float:
    """Return the sum of 1/1, ..., 1/k."""
    return float(np.sum(1 / np.arange(1, k + 1)))


def travel_sum(positive: int, negative: int) -> float:
    """Return the paper's largest sum of 1/n_a, of a neuron that dies where no datum is positive."""
    return harmonic(negative) + 0.5 * (min(positive, negative) > 0) + harmonic(positive - 1)


def longest_path() -> DataFrame:
    """Measure the largest sum of 1/n_a over all orders of activation, by search [min2024, Figure 15]."""

    def search(positive: int, negative: int) -> float:
        """Return the largest sum over all paths that gain positive or lose negative data."""
        best = {(positive, 0): Fraction(0)}
        for p in range(positive, -1, -1):
            for q in range(negative + 1):
                if p + q and (p, q) not in best:
                    after = [best[i, j] for i, j in best if i >= p and j <= q]
                    best[p, q] = Fraction(1, p + q) + max(after)
        return float(max(best.values()))

    def path_sums(positive: int, negative: int) -> Row:
        """Compare it with the paper's path, and with that which gains before it loses."""
        first = [1 / (negative - lost) for lost in range(negative)]
        then = [1 / 2] * (negative > 0) + [1 / gained for gained in range(1, positive)]
        gains = [1 / (gained + negative) for gained in range(positive)] if negative else []
        loses = [1 / (positive + left) for left in range(1, negative + 1)]
        return {
            "measured": search(positive, negative),
            "predicted": travel_sum(positive, negative),
            "path": sum(first + then),
            "gains_first": sum(gains + loses),
            "without_middle": travel_sum(positive, negative) - 0.5 * (negative > 0),
        }

    return table(path_sums, grid(positive=range(1, 10), negative=range(10)))


def travel_time(least: int, most: int) -> DataFrame:
    """Measure four times the travel sums of all splits of ``least`` to ``most`` data, beside ln n."""

    def split(n: int) -> Row:
        """Compare the sums of all splits of n data with multiples of ln n."""
        logs = np.full(n + 1, np.log(n))
        return {
            "positive": np.arange(n + 1),
            "measured": [4 * travel_sum(p, n - p) for p in range(n + 1)],
            "sharper": 9.11 * logs,
            "limit": 8 * logs,
            "printed": 16 * logs,
        }

    return table(split, grid(n=range(least, most + 1)))


def leaving_s_minus() -> DataFrame:
    """Measure by raw weights what a smaller angle to x_- costs a neuron [min2024, Assumption 2]."""

    def leaving_time(w: np.ndarray, data: Data) -> float:
        """Return when a neuron first meets a datum."""
        problem = on_data([w], [1.0], data)
        first = problem.alignment().events[0]
        return meeting_time(problem, first.datum, first.time, float(1e-3 / norm(class_sums(*data)[1])))

    def cost(data: Data) -> Row:
        """Compare times per logarithm of the angle with the inverse length of x_-."""
        x_plus, x_minus = class_sums(*data)
        centre, across = unit_vectors(x_minus), np.linalg.svd(x_minus[None])[2][-1]
        widest = np.sqrt(cap_constant(*data)) / 2  # inside S_-
        delta = min(widest, 1e-2) * 10.0 ** np.array([0, -1, -2, -3])
        times = [leaving_time(centre + angle * across, data) for angle in delta]
        tilted = [leaving_time(centre + (widest + angle) * across, data) for angle in delta]
        return {
            "delta": delta[1:],
            "measured": -np.diff(times) / np.diff(np.log(delta)),
            "predicted": 1 / norm(x_minus),
            "rate_of_x_plus": 1 / norm(x_plus),
            "tilted": -np.diff(tilted) / np.diff(np.log(delta)),
        }

    return table(cost, draws("Assumption 2", separated, families(), each=2))


def without_dead_region(closed: bool = True) -> DataFrame:
    """Measure which neurons end in neither S_+ nor S_-, without a free half-space [min2024, Section 3.1].

    Unless ``closed`` there are two data alone, so that some half-space is free.
    """

    def surrounded(dimension: int, *, rng: Generator) -> Problem:
        """Draw 200 neurons, and data of both classes about opposite simplices."""
        corners = np.vstack([np.eye(dimension - 1), -np.ones(dimension - 1)]) / 4
        across = np.repeat(corners, 2, axis=0) if closed else np.outer([1, 1.04], corners[0])
        signs, labels = np.resize([1.0, -1.0], 200), np.resize([1.0, -1.0], len(across))
        basis = np.linalg.qr(rng.standard_normal((dimension, dimension)))[0]
        signed = np.column_stack([np.ones(len(labels)), across]) @ basis
        data = (labels * rng.uniform(0.5, 2, len(labels)))[:, None] * signed, labels
        return on_data(rng.standard_normal((200, dimension)), signs, data)

    def elsewhere(problem: Problem) -> Row:
        """Count the neurons that are in neither region at the end."""
        ends = regions(problem.alignment().patterns, problem.labels)
        return {"measured": (~np.isin(ends, ["S+", "S-"])).mean(), "predicted": 0.0}

    dimensions = {f"{dimension} dimensions": dimension for dimension in (2, 3, 4, 5)}
    return table(elsewhere, draws(f"all around {closed}", surrounded, dimensions))


def mislabelled(problem: Problem) -> Problem:
    """Return the problem with one label of the larger class changed."""
    labels = problem.labels.copy()
    labels[0 if labels.sum() >= 0 else -1] *= -1
    return problem.but(labels=labels)


def equation_46() -> DataFrame:
    """Measure s_j <z_i, -gradient in w_j> of unit z_i in units of |a_j| and forces [min2024, Eq. 46]."""

    def unbalanced(family: str, *, rng: Generator) -> Problem:
        """Draw forty neurons with output weights of any size, and the exponential loss."""
        problem = few_data(family, 40, rng=rng)
        a = problem.network.a * rng.exponential(size=40)
        return problem.but(start=TwoLayer(problem.network.w, a), loss=EXPONENTIAL)

    def products(problem: Problem) -> np.ndarray:
        """Return the products of the living neurons with all data, (neurons x data,)."""
        network, x, y = problem.network, problem.inputs, problem.labels
        slopes = problem.loss.slope(network(x), y)
        drive = np.abs(network.a) * ((network.w @ x.T > 0) @ np.abs(slopes * norm(x, axis=1)))
        along = network.gradients(x, slopes)[0] @ (y[:, None] * unit_vectors(x)).T
        falls, living = -np.sign(network.a)[:, None] * along, drive > 0
        return (falls[living] / drive[living, None]).ravel()

    def descent(problem: Problem) -> Row:
        """Compare the products with mu."""
        measured, mu = products(problem), separation(problem)[0]
        row = {"measured": measured, "at_least": mu, "root": np.sqrt(mu), "gradient": -measured}
        return row | {"wrong_label": products(mislabelled(problem))}

    return table(descent, draws("Equation 46", unbalanced, families("two data of a class")))


def gaussian_groups() -> DataFrame:
    """Measure how often one of k Gaussian neurons sees an own datum [min2024, Section 3.1]."""
    count, most = 80_000, 3

    def sees(family: str, narrow: bool = False, *, rng: Generator) -> np.ndarray:
        """Draw data, perhaps with positive ones in a narrow cone, and which neurons see a positive one."""
        inputs, labels = separated(family, 6, rng=rng)
        own = inputs[labels > 0]
        own = inputs[0] + 0.05 * (own - inputs[0]) if narrow else own
        heights = rng.standard_normal((most, count, inputs.shape[1])) @ own.T
        return np.any(heights > 0, axis=2)

    def shares(seen: np.ndarray) -> Row:
        """Compare the shares of groups of one to three neurons with 1 - 2^-k."""
        k = np.arange(1, most + 1)
        law = 1 - 0.5**k
        return {
            "k": k,
            "measured": np.maximum.accumulate(seen).mean(axis=1),
            "at_least": law,
            "room": law - likely_range(binom(count, law), 30 * most, sides=1)[0] / count,
            "three_quarters": 1 - 0.25**k,
        }

    narrow = {f"{family}, narrow": {"family": family, "narrow": True} for family in SEPARABLE}
    return table(shares, draws("Gaussian groups", sees, families() | narrow))


def survivors() -> DataFrame:
    """Measure which neurons that see an own datum end in their region, and which others."""

    def shares(problem: Problem) -> Row:
        """Count the neurons of both kinds."""
        network, phase = problem.network, problem.alignment()
        own = np.sign(network.a)[:, None] == problem.labels
        sees = (own & (network.w @ problem.inputs.T > 0)).any(axis=1)
        arrived = regions(phase.patterns, problem.labels) == np.where(network.a > 0, "S+", "S-")
        return {"measured": arrived[sees].mean(), "predicted": 1.0, "blind": arrived[~sees].mean()}

    return table(shares, draws("survivors", few_data, families()))


def figure_9() -> DataFrame:
    """Measure the power of the scale that sizes follow at the fit of orthogonal data [min2024, Figure 9]."""
    scales = -np.log(10) * np.array([100, 150, 200, 300])

    def orthogonal(low: float, high: float, *, rng: Generator) -> np.ndarray:
        """Draw norms of two to four data."""
        return rng.uniform(low, high, rng.integers(2, 5))

    def at_fit(norms: np.ndarray, log_scale: float) -> Weights:
        """Return a neuron active on all data, and one on each alone, at half of the loss."""
        n, ones = len(norms), np.ones(len(norms))
        w = np.vstack([ones, 2 * np.eye(n) - 1]) / np.sqrt(n)
        start = Start(w, np.full(n + 1, log_scale), np.ones(n + 1))
        until = (4 - log_scale) / norm(norms) + 4
        run = Problem(np.diag(norms), ones, start, TWICE_LOGISTIC, share=1.0).flow(until=until)
        fit = first_passage(lambda time: run.loss([time])[0], n * np.log(2), np.array([0, until]))
        return run.at([fit])

    def powers(norms: np.ndarray) -> Row:
        """Compare slopes between scales with 1 - |x_i| / |x_+|, and with 0 for the neuron along x_+."""
        ends = [at_fit(norms, log_scale) for log_scale in scales]
        sizes = np.array([end.log_norms[0] for end in ends])
        active = np.array([(end.directions[0] > 0).sum(axis=1) for end in ends[1:]])
        n, ratio = len(norms), np.tile([1, *norms / norm(norms)], 3)
        return {
            "log_scale": np.repeat(scales[1:], n + 1),
            "measured": (np.diff(sizes, axis=0) / np.diff(scales)[:, None]).ravel(),
            "predicted": 1 - ratio,
            "squares": 1 - ratio**2,
            "active": active.ravel(),
            "as_at_start": np.tile([n] + [1] * n, 3),
            "all": n,
        }

    norms = {"norms 0.6 to 1.2": {"low": 0.6, "high": 1.2}, "equal norms": {"low": 1.0, "high": 1.0}}
    return table(powers, draws("Figure 9", orthogonal, norms, each=3))


def held_on_boundaries() -> DataFrame:
    """Measure which neurons a boundary holds from both sides, in the limit [min2024, Appendix E.2]."""

    def held(problem: Problem) -> float:
        """Return the share of neurons that slide in the end."""
        return float(problem.alignment(sliding=True).sliding.any(axis=1).mean())

    def shares(problem: Problem) -> Row:
        """Count them with right labels and with a wrong one."""
        return {"measured": held(problem), "predicted": 0.0, "wrong_label": held(mislabelled(problem))}

    return table(shares, draws("held", few_data, families()))


def filippov_rates() -> DataFrame:
    """Measure rates of the products with data on a boundary, of any weight there [min2024, Appendix F]."""

    def rates(problem: Problem) -> list[Row]:
        """Put neurons on each boundary in turn, and compare with mu times the active lengths."""
        x, w = problem.labels[:, None] * problem.inputs, problem.network.w
        lengths, mu, rows = norm(x, axis=1), separation(problem)[0], []
        for i, unit in enumerate(unit_vectors(x)):
            on = w - np.outer(w @ unit, unit)
            others = (on @ x.T > 0) & (np.arange(len(x)) != i)
            others = others[others.any(axis=1)]
            bound = others @ lengths
            for weight in (0.0, 0.5, 1.0):
                row = {"weight": weight, "measured": others @ x @ unit + weight * lengths[i]}
                rows.append(row | {"at_least": mu * bound, "root": np.sqrt(mu) * bound})
        return rows

    return table(rates, draws("Appendix F", few_data, families("two data of a class", count=100)))


def dead_on_own_boundary(problem: Problem) -> Row:
    """Measure the share of neurons that end dead on the boundary of an own datum."""
    phase, own = problem.alignment(), np.sign(problem.network.a)[:, None] == problem.labels
    heights = np.abs(phase.directions[phase.last] @ unit_vectors(problem.inputs).T)
    dead = ~phase.patterns.any(axis=1)
    return {"measured": (dead & (own & (heights < 1e-12)).any(axis=1)).mean(), "predicted": 0.0}


def remark_7() -> DataFrame:
    """Measure how many Gaussian neurons may leave the dead region [min2024, Remark 7]."""
    return table(dead_on_own_boundary, draws("Remark 7", few_data, families()))


def appendix_E4() -> DataFrame:
    """Measure the same of a neuron placed on the boundary of the only datum [min2024, Appendix E.4]."""

    def placed(height: float) -> Row:
        """Put it on either side."""
        return dead_on_own_boundary(on_data([[0, height]], [1.0], (np.eye(2)[:1], np.ones(1))))

    return table(placed, grid(height=[1.0, -1.0]))


def largest_scale() -> DataFrame:
    """Measure the largest log-scale at which the time T of Lemma 1 lasts until t_1 [min2024, Section 3.1]."""

    def scale(n: int, m: int, X_max: float, t_1: float) -> Row:
        """Solve T = t_1, and compare with the exponential of -4 n X_max t_1 over the root of m."""

        def spare(log_scale: float) -> float:
            """Return T - t_1."""
            return (-log_scale - np.log(m) / 2) / (4 * n * X_max) - t_1

        root = np.log(m) / 2
        return {
            "measured": brentq(spare, -1e5, 10, xtol=1e-12),
            "predicted": -4 * n * X_max * t_1 - root,
            "without_four": -n * t_1 - root,
        }

    return table(scale, grid(n=[2, 5, 20], m=[4, 50], X_max=[0.3, 1.0, 3.0], t_1=[1.0, 20.0]))


def two_scales(numbers: ArrayLike) -> DataFrame:
    """Measure epsilon_2 / epsilon_1 of so many data and separations down to 1e-6 [min2024, Section 3.3]."""

    def ratio(n: int, mu: float) -> Row:
        """Compare exp(-n log(n) / sqrt(mu)) with sqrt(mu) / n."""
        return {"measured": np.exp(-n * np.log(n) / np.sqrt(mu)) * n / np.sqrt(mu), "at_most": 0.5}

    return table(ratio, grid(n=np.ravel(numbers), mu=np.geomspace(1e-6, 1, 30)))


def seeing(data: Data, count: int, rng: Generator) -> Problem:
    """Draw Gaussian neurons of both signs, each of which sees a datum of its class, or its opposite does."""
    w, signs = rng.standard_normal((count, data[0].shape[1])), np.resize([1.0, -1.0], count)
    sees = ((w @ data[0].T > 0) & (signs[:, None] == data[1])).any(axis=1)
    return on_data(np.where(sees, 1, -1)[:, None] * w, signs, data)


def four_neurons(family: str, decades: float = 1.0, *, rng: Generator) -> Problem:
    """Draw four neurons that see a datum of their class, on three to six data."""
    n, spread = int(rng.integers(3, 7)), rng.uniform(0, decades)
    return seeing(separable_data(family, n, rng=rng, decades=spread), 4, rng)


def planar_neurons(*, rng: Generator) -> Problem:
    """Draw the same on Gaussian data in the plane, of neurons that never slide in the limit."""

    def slides(problem: Problem) -> bool:
        """Whether a neuron is held on a boundary at some time."""
        try:
            problem.alignment()
        except ValueError:
            return True
        return False

    while True:
        n = int(rng.integers(3, 6))
        many = seeing((rng.standard_normal((n, 2)), np.resize([1.0, -1.0], n)), 40, rng)
        free = [j for j in range(40) if not slides(many.only(slice(j, j + 1)))]
        if len(free) >= 4:
            return many.only(np.array(free[:4]))


def separable_problems() -> list[Draw]:
    """Draw four neurons on separable data."""
    return draws("four neurons", four_neurons, families())


def planar_problems() -> list[Draw]:
    """Draw four neurons on Gaussian data in the plane."""
    return draws("planar neurons", planar_neurons, {"planar Gaussian": {}})


@dataclass(frozen=True)
class LateFlow:
    """A flow from a balanced start of a scale, from alignment on: its start, and networks (T,) at times."""

    start: TwoLayer
    scale: float
    networks: TwoLayer
    clock: np.ndarray


def late_flow(problem: Problem, scale: float = 1e-3) -> LateFlow:
    """Follow a flow to time 24, from when all neurons are active on exactly the data of their class."""
    clock = np.linspace(0, 24, 73)
    networks = problem.scaled(np.log(scale)).raw(clock, rtol=1e-9)
    own = np.sign(problem.network.a)[:, None] == problem.labels
    begin = np.argmax(((networks.w @ problem.inputs.T > 0) == own).all(axis=(1, 2)))
    start = TwoLayer(scale * problem.network.w, scale * problem.network.a)
    return LateFlow(start, scale, TwoLayer(networks.w[begin:], networks.a[begin:]), clock[begin:])


def late_flows() -> list[Draw]:
    """Follow flows from the scale 1e-3 on data of norm 1."""
    return runs(late_flow, draws("late flows", four_neurons, families(decades=0.0)))


def appendix_D3(flows: list[Draw]) -> DataFrame:
    """Measure the entries of W'W - aa' of a class after alignment [min2024, Appendix D.3]."""

    def pairs(network: TwoLayer) -> np.ndarray:
        """Return the entries of two different neurons of one sign, (..., pairs)."""
        products = network.w @ np.swapaxes(network.w, -1, -2)
        entries = products - network.a[..., :, None] * network.a[..., None, :]
        return entries[..., [0, 1], [2, 3]]  # signs take turns

    def invariance(flow: LateFlow) -> Row:
        """Compare later entries with those at t_1."""
        first, *later = pairs(flow.networks)
        return {
            "time": np.repeat(flow.clock[1:], 2),
            "measured": np.ravel(later),
            "predicted": np.tile(first, len(later)),
            "at_start": np.tile(pairs(flow.start), len(later)),
        }

    return table(invariance, flows)


def low_rank(flows: list[Draw]) -> DataFrame:
    """Measure |W|_F^2 after alignment, beside the squared spectral norm [min2024, Theorem 1]."""

    def one_datum_each(*, rng: Generator) -> LateFlow:
        """Follow neurons along two unit data of opposite classes of a small signed cosine."""
        inputs, labels = separated("two classes next to orthogonal", rng=rng)
        return late_flow(on_data(inputs, labels, (inputs, labels)), 1e-9)

    def norms(flow: LateFlow) -> Row:
        """Compare it with twice the square of the largest singular value, and a term for the scale."""
        squares = np.linalg.svd(flow.networks.w, compute_uv=False) ** 2
        slack = 4 * np.sqrt(len(flow.start.a)) * (flow.start.a**2).max() / flow.scale
        return {
            "time": flow.clock,
            "measured": squares.sum(axis=1),
            "at_most": 2 * squares[:, 0] + slack,
            "sharper": 1.9 * squares[:, 0] + slack,
        }

    single = draws("low rank", one_datum_each, {"one datum a class": {}}, each=3)
    return table(norms, [*flows, *single])


@dataclass(frozen=True)
class SmallFlow:
    """A flow from a scale that Lemma 3 allows: networks (T,) at parts (T,) of the time T of the lemma."""

    problem: Problem
    scale: float
    networks: TwoLayer
    parts: np.ndarray

    @property
    def sizes(self) -> tuple[int, int, float, float]:
        """Numbers n of data and m of neurons, X_max and W_max."""
        x, w = self.problem.inputs, self.networks.w[0] / self.scale
        return len(x), len(w), norm(x, axis=1).max(), norm(w, axis=1).max()

    @property
    def most(self) -> float:
        """The most that lambda m X_max W_max^2 e^{2 n X_max t} becomes, times lambda: it bounds outputs."""
        _, m, X_max, W_max = self.sizes
        return X_max * W_max**2 * self.scale**1.5 * m**0.75

    @property
    def outputs(self) -> np.ndarray:
        """Sizes of outputs, (T, n)."""
        return np.abs(self.networks(self.problem.inputs))

    @property
    def errors(self) -> np.ndarray:
        """How far dv/dt by backpropagation is from the limit, (T, m)."""
        x, y, networks = self.problem.inputs, self.problem.labels, self.networks
        size = norm(networks.w, axis=-1)[..., None]
        v, slope = networks.w / size, self.problem.loss.slope
        gradient = networks.gradients(x, lambda outputs: slope(outputs, y))[0]
        gates = np.where(networks.preactivations(x) > 0, 1.0, networks.slope) * y[:, None]
        drive = np.sign(networks.a)[..., None] * (np.swapaxes(gates, -1, -2) @ x)
        error = -gradient / size - drive
        return norm(error - (error * v).sum(axis=-1, keepdims=True) * v, axis=-1)


def small_flow(problem: Problem, q: float, slope: float = 0.0, longer: float = 1.0) -> SmallFlow:
    """Follow a flow from the share ``q`` of the largest scale of Lemma 3 up to a multiple of its T."""
    w, signs = problem.network.w, np.sign(problem.network.a)
    n, m, X_max = len(problem.labels), len(w), norm(problem.inputs, axis=1).max()
    scale = q / (4 * np.sqrt(m) * X_max * norm(w, axis=1).max() ** 2)
    parts, T = np.linspace(0, longer, 40), -np.log(np.sqrt(m) * scale) / (4 * n * X_max)
    raw = problem.but(start=TwoLayer.balanced(scale * w, signs, slope)).raw(parts * T, rtol=1e-8)
    # Balanced to the last digit: the integrator's 1e-10 would count beside the smallest outputs.
    return SmallFlow(problem, scale, TwoLayer.balanced(raw.w, signs, slope), parts)


def copies(loss: Loss) -> Problem:
    """Return one unit datum five times; neurons of length 1/2 along it, but one nearly across."""
    w = np.tile([0.5, 0.0], (64, 1))
    w[0] = 0.5 * np.array([np.cos(np.deg2rad(89)), np.sin(np.deg2rad(89))])
    return on_data(w, np.ones(64), (np.tile([1.0, 0.0], (5, 1)), np.ones(5)), loss)


OUTPUTS = np.concatenate([-np.geomspace(1, 0.01, 40), np.geomspace(0.01, 1, 40)])
LOSSES = {loss.name: loss for loss in (EXPONENTIAL, TWICE_LOGISTIC, SQUARE)}


def small_flows() -> list[Draw]:
    """Follow small starts on all kinds of data, with leaky slopes, by three losses."""

    def flow(make: Any, slopes: Sequence[float], loss: str, *, rng: Generator, **options: Any) -> SmallFlow:
        """Draw a problem, a slope and a scale down to a thousandth of the largest."""
        problem = make(**options, rng=rng).but(loss=LOSSES[loss])
        return small_flow(problem, rng.choice([0.9, 1e-3]), rng.choice(slopes))

    separable = {
        f"{family}, {loss}": {"make": four_neurons, "slopes": (0, 0.5, 1), "loss": loss, "family": family}
        for family in SEPARABLE
        for loss in LOSSES
    }
    planar = {
        f"planar Gaussian, {loss}": {"make": planar_neurons, "slopes": (0, 1), "loss": loss}
        for loss in LOSSES
    }
    return draws("small flows", flow, separable | planar, each=3)


def copied_flows(longer: float = 1.0) -> list[Draw]:
    """Follow starts on copies of one datum, which come next to the bounds, perhaps for longer."""

    def flow(loss: str, q: float) -> SmallFlow:
        """Follow one of a scale."""
        return small_flow(copies(LOSSES[loss]), q, longer=longer)

    drawn = runs(flow, grid(loss=LOSSES, q=[0.9, 0.1, 1e-2, 1e-4]))
    return [
        Draw({"family": f"copies, {draw.keys['loss']}", "seed": k}, draw.given)
        for k, draw in enumerate(drawn)
    ]


def wrong_signs() -> list[Draw]:
    """Draw, at one time, a neuron of the wrong sign on copies of a datum, whose output is next to -1."""

    def moment(*, rng: Generator) -> SmallFlow:
        """Return it with a neuron across, for which Lemma 4 is attained."""
        w = np.sqrt(rng.uniform(0.99, 1)) * np.array([[1, 0], [1e-6 * np.cos(1.57), 1e-6 * np.sin(1.57)]])
        network = TwoLayer.balanced(w, [-1.0, 1.0])
        problem = copies(EXPONENTIAL).but(start=network)
        return SmallFlow(problem, 1.0, TwoLayer(w[None], network.a[None]), np.zeros(1))

    return draws("wrong sign", moment, {"a neuron of the wrong sign": {}})


def lemma_3_norms(flows: list[Draw]) -> DataFrame:
    """Measure squared norms up to T, beside at most half of the paper's bound [min2024, Lemma 3]."""

    def squares(flow: SmallFlow) -> Row:
        """Compare those of each neuron at each time with lambda^(3/2) W_max^2 / m^(1/4)."""
        _, m, X_max, _ = flow.sizes
        measured = (flow.networks.w**2).sum(axis=-1)
        return {
            "part_of_T": np.repeat(flow.parts, m),
            "measured": measured.ravel(),
            "at_most": flow.most / (m * X_max),
        }

    return table(squares, flows)


def lemma_3_outputs(flows: list[Draw]) -> DataFrame:
    """Measure outputs up to T, beside at most half of the paper's bound [min2024, Lemma 3]."""

    def outputs(flow: SmallFlow) -> Row:
        """Compare that of each datum at each time with lambda^(3/2) X_max W_max^2 m^(3/4)."""
        sizes = flow.outputs
        return {
            "part_of_T": np.repeat(flow.parts, sizes.shape[1]),
            "measured": sizes.ravel(),
            "at_most": flow.most,
        }

    return table(outputs, flows)


def lemma_2() -> DataFrame:
    """Measure how far the slope of a loss is from the label, for outputs up to 1 [min2024, Lemma 2]."""

    def off(loss: str, label: float) -> Row:
        """Compare with (e - 1) |f|, which is less than the paper's 2 |f|."""
        measured, size = np.abs(LOSSES[loss].slope(OUTPUTS, label) + label), np.abs(OUTPUTS)
        return {"f": OUTPUTS, "measured": measured, "at_most": np.expm1(1) * size, "of_square": size}

    return table(off, grid(loss=LOSSES, label=(1.0, -1.0)))


def lemma_4(flows: list[Draw]) -> DataFrame:
    """Measure how far turns are from those of a neuron alone [min2024, Lemmas 1 and 4]."""

    def steepest(loss: Loss, largest: float) -> float:
        """Return the largest change of the slope over the output, for outputs of this size."""
        outputs = np.linspace(-largest, largest, 400)
        return (np.abs(loss.slope(outputs, 1.0) + 1) / np.abs(outputs)).max()

    def turns(flow: SmallFlow) -> Row:
        """Compare the errors with the largest output at the time, and with the bound of Lemma 1."""
        n, m, X_max, _ = flow.sizes
        errors, outputs = flow.errors, flow.outputs.max(axis=1)
        by_outputs = n * X_max * np.repeat(outputs, m)
        bound = n * X_max * flow.most * steepest(flow.problem.loss, 2 * flow.most)
        return {
            "part_of_T": np.repeat(flow.parts, m),
            "measured": errors.ravel(),
            "at_most": np.expm1(1) * by_outputs,
            "of_square": by_outputs,
            "up_to_T": bound,
            "half": bound / 2,
        }

    return table(turns, flows)


def largest_rate(problem: Problem) -> float:
    """Return the largest rate G of a ReLU neuron, by directions in the plane or along class sums."""
    x, y = problem.inputs, problem.labels
    v = circle(np.arange(360)) if x.shape[1] == 2 else unit_vectors(class_sums(x, y))
    return np.abs(np.maximum(v @ x.T, 0) @ y).max()


def balance() -> DataFrame:
    """Measure s_j a_j / |w_j| until the fit, from the size 0.3, of three slopes [min2024, Remark 2]."""

    def leaky(family: str, slope: float, *, rng: Generator) -> tuple[Problem, float]:
        """Draw a problem of this slope; on data in general it is 1, without kinks, where no neuron slides."""
        problem = four_neurons(family, rng=rng) if family in SEPARABLE else planar_neurons(rng=rng)
        return problem, slope

    def ratios(problem: Problem, slope: float, factor: float, clock: np.ndarray) -> np.ndarray:
        """Return it over its first value, from output weights that are so many times the norms, (T x m,)."""
        w, a = 0.3 * problem.network.w, 0.3 * factor * problem.network.a
        run = problem.but(start=TwoLayer(w, a, slope)).raw(clock, rtol=1e-8)
        return (run.a / norm(run.w, axis=-1) / (factor * np.sign(a))).ravel()

    def course(drawn: tuple[Problem, float]) -> Row:
        """Compare a balanced start with one, and with one of smaller output weights."""
        problem, slope = drawn
        clock = np.linspace(0, 4 / largest_rate(problem), 30)
        full, half = (ratios(problem, slope, factor, clock) for factor in (1.0, 0.5))
        return {"measured": full, "predicted": 1.0, "half": half}

    kinds = [*product(SEPARABLE, (0.0, 0.5, 1.0)), ("planar Gaussian", 1.0)]
    named = {f"{family}, slope {slope:g}": {"family": family, "slope": slope} for family, slope in kinds}
    return table(course, draws("balance", leaky, named, each=2))


@dataclass(frozen=True)
class EarlyFlow:
    """Raw directions (T, m, d) from a scale, those of the limit, and cosines with data met at their times."""

    scale: float
    v: np.ndarray
    limit: np.ndarray
    cosines: np.ndarray

    @property
    def gaps(self) -> np.ndarray:
        """How far directions are from the limit, (T x m,)."""
        return norm(self.v - self.limit, axis=-1).ravel()


def early_flow(problem: Problem, scale: float, stretch: float = 1.0) -> EarlyFlow:
    """Follow a flow in stretched time to the last event, or while outputs from 1e-6 are small."""
    phase, unit = problem.but(loss=TWICE_LOGISTIC).alignment(), 1 / largest_rate(problem)
    last = min(phase.events.time.max(initial=unit), 4 * unit)
    events = phase.events[phase.events.time < last]
    clock = np.unique(np.append(np.linspace(0, last, 20), events.time))
    v = unit_vectors(problem.scaled(np.log(scale)).raw(stretch * clock, rtol=1e-8).w)
    there = v[np.searchsorted(clock, events.time), events.neuron]
    cosines = cosine(there, problem.inputs[events.datum])
    return EarlyFlow(scale, v, phase.at(clock)[0], cosines)


def early_flows(drawn: list[Draw], scales: Sequence[float]) -> list[Draw]:
    """Follow flows of problems from several scales."""
    return [Draw(draw.keys, (early_flow(draw.value, scale),)) for draw in drawn for scale in scales]


def turns_alone(flows: list[Draw]) -> DataFrame:
    """Measure how far raw directions are from the limit [min2024, Eq. 4]."""

    def gaps(flow: EarlyFlow) -> Row:
        """Compare all neurons at all times."""
        return {"scale": flow.scale, "measured": flow.gaps, "predicted": 0.0}

    return table(gaps, flows)


def times_of_turns(flows: list[Draw]) -> DataFrame:
    """Measure cosines with the data that neurons meet, at the times of the limit [min2024, Eq. 4]."""

    def meetings(flow: EarlyFlow) -> Row:
        """Compare them with zero."""
        return {"scale": flow.scale, "measured": flow.cosines, "predicted": 0.0}

    return table(meetings, flows)


def stretched_time(drawn: list[Draw], stretch: float, scale: float = 1e-6) -> DataFrame:
    """Measure how far turns by the logistic loss are from the limit in another time [min2024, Lemma 2]."""

    def gaps(problem: Problem) -> Row:
        """Compare all neurons at all times."""
        flow = early_flow(problem.but(loss=LOGISTIC), scale, stretch)
        return {"measured": flow.gaps, "predicted": 0.0}

    return table(gaps, drawn)


def lemma_2_logistic() -> DataFrame:
    """Measure by differences how far the slope of the logistic loss is from y / 2 [min2024, Lemma 2]."""

    def slope(value: Callable[[np.ndarray], np.ndarray], step: float = 1e-5) -> np.ndarray:
        """Return minus the slope of a function at the outputs."""
        return (value(OUTPUTS - step) - value(OUTPUTS + step)) / (2 * step)

    def off(label: float) -> Row:
        """Compare with c |f| / 2, which implies 2 c |f|, for c = 1/2."""
        logistic = slope(lambda outputs: LOGISTIC.value(outputs, label))
        steep = slope(lambda outputs: np.exp(-5 * label * outputs) / 10)
        return {
            "f": OUTPUTS,
            "measured": np.abs(logistic - label / 2),
            "at_most": np.abs(OUTPUTS) / 4,
            "twice": np.abs(OUTPUTS) / 8,
            "steep": np.abs(steep - label / 2),
            "from_label": np.abs(logistic - label),
            "printed": 2 * np.abs(OUTPUTS),
        }

    return table(off, grid(label=(1.0, -1.0)))


@dataclass(frozen=True)
class ClassFit:
    """A class from a small start until after its fit: its sum, neurons, margins and forces at times (T,)."""

    total: np.ndarray
    largest_rate: float
    entry: np.ndarray
    clock: np.ndarray
    t_1: float
    w: np.ndarray
    margins: np.ndarray
    force: np.ndarray

    @property
    def fitting(self) -> np.ndarray:
        """Which times are not after the fit, where a margin is 1/4, (T,)."""
        return np.maximum.accumulate(self.margins.max(axis=1)) <= 0.25

    @property
    def log_squares(self) -> np.ndarray:
        """Logarithms of the sum of squared norms, (T,)."""
        return np.log((self.w**2).sum(axis=(1, 2)))


def class_fits(problem: Problem, scale: float = 1e-9) -> list[ClassFit]:
    """Follow a flow until both classes are fitted."""
    phase, totals = problem.alignment(), np.array(class_sums(problem.inputs, problem.labels))
    rates, t_1 = norm(totals, axis=1), phase.events.time.max()
    signs = np.sign(problem.network.a)
    entry = np.zeros(len(signs))
    np.maximum.at(entry, phase.events.neuron, phase.events.time)
    turn = np.arctanh(0.25) / rates[np.where(signs > 0, 0, 1)]
    end = t_1 + (np.log(1 / scale) + 8) / rates.min()
    parts = np.linspace(0, t_1, 30), np.linspace(t_1, end, 200), turn, entry + turn
    clock = np.unique(np.concatenate(parts))
    run = problem.scaled(np.log(scale)).raw(clock, rtol=1e-8)
    margins, ends = problem.labels * run(problem.inputs), regions(phase.patterns, problem.labels)
    fits = []
    for label, region, total in zip((1, -1), ("S+", "S-"), totals, strict=True):
        own, members = problem.labels == label, ends == region
        force = np.abs(problem.loss.slope(margins[:, own], 1.0)) @ problem.inputs[own]
        course = clock, t_1, run.w[:, members], margins[:, own], force
        fits.append(ClassFit(total, rates.max(), entry[members], *course))
    return fits


def fits_of_classes() -> list[Draw]:
    """Follow both classes from alignment to fit: all kinds of data, and two for which bounds are attained."""

    def living(family: str, near: bool = False, *, rng: Generator) -> Problem:
        """Draw neurons with one alive in each class, perhaps near what repels them, and the loss."""
        while True:
            data = separable_data(family, int(rng.integers(3, 7)), rng=rng, decades=near / 2)
            w, signs = rng.standard_normal((4, data[0].shape[1])), np.resize([1.0, -1.0], 4)
            if near:
                w, signs = unit_vectors(class_sums(*data))[::-1] + 0.03 * w[:2], signs[:2]
            problem = on_data(w, signs, data, (EXPONENTIAL, TWICE_LOGISTIC)[rng.integers(2)])
            phase = problem.alignment()
            if phase.events.size and {"S+", "S-"} <= set(regions(phase.patterns, problem.labels)):
                return problem

    def repelled(*, rng: Generator) -> Problem:
        """Draw one datum a class, and a neuron at an angle of 1e-5 to 1e-4 to that which repels it."""
        data = np.array([[1.0, 0.02], [-1.0, 0.0]]), np.array([1.0, -1.0])
        return on_data([[-1.0, 10 ** rng.uniform(-5, -4)], [-1.0, 0.0]], data[1], data, EXPONENTIAL)

    def late(*, rng: Generator) -> Problem:
        """Draw two data that nearly coincide, and a neuron about to enter far from their sum."""
        own = simplex(2, 1 - 10 ** rng.uniform(-7, -6))
        entering = np.array([own[1, 1], -own[1, 0]]) - 1e-9 * own[1]
        data = np.vstack([own, -own[:1]]), np.array([1.0, 1.0, -1.0])
        return on_data([entering, -own[0]], [1.0, -1.0], data, EXPONENTIAL)

    drawn = draws("fits", living, families() | near_families(), each=3)
    drawn += draws("repelled", repelled, {"one datum a class": {}}, each=3)
    return runs(class_fits, [*drawn, *draws("late", late, {"two data nearly one": {}}, each=3)])


def lemma_13(fits: list[Draw]) -> DataFrame:
    """Measure the fall of the log of a class's sum of squared norms up to t_1 [min2024, Lemma 13]."""

    def falls(both: list[ClassFit]) -> Iterator[Row]:
        """Compare with -2 G t_1, which is at least -4 n X_max t_1."""
        for fit in both:
            squares, allowed = fit.log_squares, -2 * fit.largest_rate * fit.t_1
            fall = squares[np.searchsorted(fit.clock, fit.t_1)] - squares[0]
            yield {"measured": fall, "at_least": allowed, "sharper": 0.9 * allowed}

    return table(falls, fits)


def lemma_14(fits: list[Draw]) -> DataFrame:
    """Measure steps of the log of a class's sum of squared norms [min2024, Lemma 14]."""

    def steps(both: list[ClassFit]) -> Iterator[Row]:
        """Measure them at all times, and say which are after t_1."""
        for fit in both:
            steps, after = np.diff(fit.log_squares), fit.clock[:-1] >= fit.t_1
            yield {"measured": steps, "at_least": 0.0, "after": after}

    return table(steps, fits)


def pulls(fits: list[Draw]) -> DataFrame:
    """Measure the pull on a class after t_1: cosine with its sum, and length [min2024, Appendix D.2]."""

    def pull(both: list[ClassFit]) -> Iterator[Row]:
        """Compare with 1 / cosh(1/8) and e^(-1/4) |x_+|, and say which times are before the fit."""
        for fit in both:
            after = fit.clock >= fit.t_1
            force, size = fit.force[after], norm(fit.total)
            yield {
                "measured": cosine(force, fit.total),
                "before_fit": fit.fitting[after],
                "length": norm(force, axis=1),
                "least_cosine": 1 / np.cosh(1 / 8),
                "along_the_sum": 1.0,
                "least_length": np.exp(-1 / 4) * size,
                "full_length": size,
            }

    return table(pull, fits)


def refined_alignment(fits: list[Draw], from_start: bool = False) -> DataFrame:
    """Measure cosines with the class sum until the fit, from 0.256 / |x_+| after a neuron's entry into S_+.

    Or after the start.  [min2024, Equations 37 and 38]
    """

    def cosines(both: list[ClassFit]) -> Iterator[Row]:
        """Compare each neuron at all such times with 1/4."""
        for fit in both:
            turn = np.arctanh(0.25) / norm(fit.total)
            for j, entry in enumerate(fit.entry):
                times = fit.fitting & (fit.clock >= turn + (0 if from_start else entry))
                yield {"neuron": j, "measured": cosine(fit.w[times, j], fit.total), "at_least": 0.25}

    return table(cosines, fits)


@dataclass(frozen=True)
class PlanarRun:
    """A run in the plane that is not balanced: output weights before, network after, speed of the loss."""

    before: np.ndarray
    after: TwoLayer
    problem: Problem
    speed: np.ndarray


def planar_run(spread: float, ratio: float, *, rng: Generator) -> PlanarRun:
    """Draw signed data within an angle, with class sums of this ratio, and follow 20 neurons from 1e-9."""
    each = int(rng.integers(2, 4))
    angles, y = rng.uniform(-spread, spread, 2 * each), np.repeat([1.0, -1.0], each)
    angles[[0, -1]] = [-spread, spread]
    x = (y * rng.uniform(0.6, 1.2, 2 * each))[:, None] * circle(angles)
    longer, shorter = norm(class_sums(x, y), axis=1)
    x[y < 0] *= longer / shorter / ratio
    network = TwoLayer(1e-9 * rng.standard_normal((20, 2)), 1e-9 * rng.standard_normal(20))
    problem = Problem(x, y, network, EXPONENTIAL)
    clock = np.linspace(0, (np.log(1e9) + 6) * len(y) * ratio / longer, 401)
    run = problem.raw(clock, rtol=1e-4)
    after = TwoLayer(run.w[-1], run.a[-1])
    return PlanarRun(network.a, after, problem, -np.gradient(problem.total_loss(run), clock))


def figure_6(ratio: float = 1.7, each: int = 5) -> DataFrame:
    """Measure in the plane which neurons end in a wrong place, and drops of the loss [min2024, Figure 6]."""

    def strays(run: PlanarRun, signs: np.ndarray) -> int:
        """Count neurons that are neither dead nor in the cone of their sign."""
        ends = regions(unit_vectors(run.after.w) @ run.problem.inputs.T > 1e-5, run.problem.labels)
        return int(((ends != np.where(signs > 0, "S+", "S-")) & (ends != "dead")).sum())

    def counts(run: PlanarRun) -> Row:
        """Count them, and the peaks of the speed of the loss."""
        return {
            "measured": strays(run, run.after.a),
            "none": 0,
            "by_first_signs": strays(run, run.before),
            "drops": len(find_peaks(run.speed, height=0.1 * run.speed.max())[0]),
            "two": 2,
        }

    spreads = {"within 5 degrees": 2.5, "within 40 degrees": 20.0, "within 89 degrees": 44.5}
    cones = {name: {"spread": spread, "ratio": ratio} for name, spread in spreads.items()}
    return table(counts, draws(f"Figure 6, {ratio}", planar_run, cones, each=each))


def sign_changes() -> DataFrame:
    """Measure how many output weights change their sign, data next to one ray [min2024, Section 4]."""
    count = 15_000

    def signs(ratio: float, *, rng: Generator) -> tuple[float, np.ndarray]:
        """Draw deviations of this ratio, and return it with the signs at each step of descent, (41, m)."""
        network = TwoLayer(1e-9 * rng.standard_normal((count, 2)), 1e-9 * ratio * rng.standard_normal(count))
        x = np.array([[1.0], [-1.5]]) * circle(rng.uniform(-0.5, 0.5, 2))
        problem = Problem(x, np.array([1.0, -1.0]), network, EXPONENTIAL)
        reading = {"record": lambda network: np.sign(network.a), "record_at": range(41)}
        return ratio, np.array(problem.descent(0.25, 40, **reading).recorded)

    def shares(drawn: tuple[float, np.ndarray]) -> Row:
        """Compare the share that has changed with arctan(1/r) / pi, and count the changes."""
        ratio, course = drawn
        law = np.arctan(1 / ratio) / np.pi
        low, high = likely_range(binom(count, law), 3)
        return {
            "r": ratio,
            "measured": (course[-1] != course[0]).mean(),
            "at_least": low / count,
            "at_most": high / count,
            "all_that_may": 0.5 / np.sqrt(1 + ratio**2),
            "changes": (course[1:] != course[:-1]).sum(axis=0).max(),
            "once": 1,
            "never": 0,
        }

    ratios = {f"r = {ratio}": ratio for ratio in (0.25, 1.0, 4.0)}
    return table(shares, draws("signs", signs, ratios, each=1))


PAIRS = {(1, 0): "test-split", (3, 8): "test-split-3-8", (1, 7): "test-split-1-7"}
IMAGES = "MNIST's test images (the paper: its training images)"
Metrics = Sequence[Mapping[str, Any]]


def on_record(pair: tuple[int, int]) -> Metrics:
    """Return what was measured of ten starts on two digits [min2024, Figure 5]."""
    return recorded("min2024-figure-5", PAIRS[pair]).metrics


def mean_neurons(metrics: Metrics) -> Row:
    """Say what the last plot of Figure 5 claims of the ends of all starts [min2024, Figure 5]."""

    def cosines(of: Metrics) -> list[list[float]]:
        """Return the cosines of both mean neurons with the means of their classes, a row a start."""
        names = ("mean_cosine_positive", "mean_cosine_negative")
        return [[start[name][-1] for name in names] for start in of]

    return {
        "measured": cosines(metrics),
        "at_least": 0.9,
        "because": "the threshold of alignment; ten starts, all above 0.93",
        "families": "ten starts at the end of the record",
        "control": Variant("the digits 3 and 8", cosines(on_record((3, 8)))),
        "data": IMAGES,
    }


def signs_of_pairs(pair: tuple[int, int], centred: bool = True) -> list[float]:
    """Return the shares of right signs of pairs of small images, of different and equal labels."""
    x, y = digits_pair(*pair, centred=centred)
    i, k = np.triu_indices(len(y), 1)
    same, products = y[i] == y[k], (x @ x.T)[i, k]
    return [(products[~same] < 0).mean(), (products[same] > 0).mean()]


def assumption_1(metrics: Metrics) -> Row:
    """Say what is claimed of most pairs of images, on record and small [min2024, Assumption 1]."""
    others = [on_record((3, 8)), on_record((1, 7))]
    shares = [of[0]["data"]["pairs_of_right_sign_by_class"].values() for of in (metrics, *others)]
    centred, uncentred = ([signs_of_pairs(pair, way) for pair in PAIRS] for way in (True, False))
    return {
        "measured": [*map(list, shares), *centred],
        "at_least": 0.6,
        "because": "most is more than half; the least share is 0.62",
        "families": "three pairs of digits, on record and small",
        "control": Variant("images not centred", measured=uncentred, share=0.5),
        "data": "MNIST's test images and 8x8 images (the paper: MNIST's training images)",
    }


def sums_of_images() -> DataFrame:
    """Measure the cosine of the class sums of centred images [min2024, Section 4]."""

    def sums(positive: int, negative: int) -> Row:
        """Compare that of small images with -1, and that of images which are not centred."""
        data, uncentred = (digits_pair(positive, negative, centred=way) for way in (True, False))
        angle, other = (cosine(*class_sums(*images)) for images in (data, uncentred))
        return {"measured": angle, "predicted": -1.0, "not_centred": other}

    drawn = [
        Draw({"digits": f"{positive} and {negative}"}, (positive, negative)) for positive, negative in PAIRS
    ]
    return table(sums, drawn)


def cosines_at_start(metrics: Metrics) -> DataFrame:
    """Measure extreme cosines of neurons with class sums at the start [min2024, Section 4]."""

    def extremes(start: Mapping[str, Any], number: int) -> Row:
        """Read them there, and at iteration 2000."""
        names = [f"{end}_cosine_{sign}" for end in ("least", "largest") for sign in ("positive", "negative")]
        later = start["iterations"].index(2000)
        return {
            "start": number,
            "curve": names,
            "measured": [abs(start[name][0]) for name in names],
            "turned": [abs(start[name][later]) for name in names],
        }

    return table(extremes, [Draw({}, (start, k)) for k, start in enumerate(metrics)])


def stable_ranks(metrics: Metrics) -> DataFrame:
    """Measure the stable rank at the end of each start [min2024, Section 4]."""
    ranks = [start["stable_rank"][-1] for start in metrics]
    return DataFrame({"start": range(len(ranks)), "measured": ranks})


def training_losses(metrics: Metrics) -> DataFrame:
    """Measure losses at the end by both training schemes, from 1 at the start [min2024, Section 4]."""

    def ends(start: Mapping[str, Any], number: int) -> Iterator[Row]:
        """Read them there, and after seven passes."""
        for scheme in ("both", "first"):
            loss, seven = start[scheme]["loss"], start[scheme]["iterations"].index(49)
            yield {"start": number, "layers": scheme, "measured": loss[-1], "seven_passes": loss[seven]}

    return table(ends, [Draw({}, (start, k)) for k, start in enumerate(metrics)])
