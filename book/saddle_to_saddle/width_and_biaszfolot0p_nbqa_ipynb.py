# %%NBQA-CELL-SEP476b88
from itertools import combinations, count
from time import process_time

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import binom

from executable_claims import Variant, verify, verify_all
from lib import figures
from lib.data.synthetic import orthonormal_inputs
from lib.flow import gradient_flow
from lib.flow.weights import weights_flow
from lib.models.two_layer import Start, TwoLayer
from lib.prose import say
from lib.seeds import generator
from lib.theory.orthogonal import minimum_squared_norm
from lib.training.losses import SQUARE

figures.use_style()
started = process_time()


# %%NBQA-CELL-SEP476b88
def excess(can_fit, labels):
    """The race for the labels of one sign: the sum of the |y_g| over |y|."""
    squares, to_go, total = labels**2, np.ones(len(can_fit)), 0.0
    while can_fit.any():
        rates = np.sqrt(can_fit @ squares)
        waits = np.divide(to_go, rates, out=np.full(len(rates), np.inf), where=rates > 0)
        first = np.argmin(waits)
        to_go, total = to_go - rates * waits[first], total + rates[first]
        left = ~can_fit[first]
        can_fit, squares = can_fit[:, left], squares[left]
    return total / np.linalg.norm(labels)


# %%NBQA-CELL-SEP476b88
LABELS = {
    "one size": lambda n, rng: 1 + 1e-3 * rng.uniform(-1, 1, n),
    "uniform": lambda n, rng: rng.uniform(0.4, 1.6, n),
    "a decade": lambda n, rng: 10 ** rng.uniform(-1, 0, n),
}


def probability(positive, negative, m):
    p, q = 2.0 ** (-positive - 1), 2.0 ** (-negative - 1)
    return 1 - (1 - p) ** m - (1 - q) ** m + (1 - p - q) ** m


def both_signs(sets, labels):
    """The excess of a race for the labels of both signs; None if one is not covered."""
    if not all(seen.any(axis=0).all() for seen in sets):
        return None
    parts = [excess(*pair) for pair in zip(sets, labels)]
    return np.average(parts, weights=[np.linalg.norm(y) for y in labels])


def mean_excess(sizes, n, m, rng, draws):
    """The mean over races with n labels of each sign, all covered, and its standard error."""
    found = []
    for _ in range(draws):
        positive = rng.binomial(m, 0.5)
        sets = [rng.random((k, n)) < 0.5 for k in (positive, m - positive)]
        found.append(both_signs(sets, [sizes(n, rng) for _ in sets]))
    found = [r for r in found if r is not None]
    return np.mean(found), np.std(found) / np.sqrt(len(found))


def flow_and_race(n, m, power, rng):
    """The excess of the flow from 10^-power, labels uniform, and of its race, or None."""
    inputs = orthonormal_inputs(2 * n, 2 * n, rng=rng)
    labels = np.append(LABELS["uniform"](n, rng), -LABELS["uniform"](n, rng))
    start = Start.gaussian(m, 2 * n, -power * np.log(10), rng=rng)
    seen = (start.directions @ inputs.T > 0) & (start.signs[:, None] * labels > 0)
    raced = both_signs((seen[:, :n], seen[:, n:]), (labels[:n], labels[n:]))
    if raced is None:
        return None
    until = 3 * power * 2 * n / np.abs(labels).min()
    run = gradient_flow(start, inputs, labels, SQUARE, until=until, loss_below=1e-8)
    least = minimum_squared_norm(inputs, labels)
    return 2 * np.exp(2 * run.log_norms[-1]).sum() / least, raced


def raced_flows(m, power):
    found = [flow_and_race(10, m, power, generator(m + i)) for i in range(6)]
    return np.array([pair for pair in found if pair is not None]).T


widths, curves, rng = (20, 40, 100, 300, 1000, 3000, 10_000), {}, generator(0)
for name, sizes in LABELS.items():
    draws = [300 if m < 2000 else 60 for m in widths]
    table = [mean_excess(sizes, 10, m, rng, d) for m, d in zip(widths, draws)]
    curves[name] = np.array(table)
dots = {m: raced_flows(m, 100) for m in (20, 60, 200)}
smaller = raced_flows(20, 300)
say(**dict(zip(("narrow", "hundred", "thousand"), curves["uniform"][:5:2, 0])))
say(chance=probability(10, 10, 100), error=max(c[:, 1].max() for c in curves.values()))
gaps = np.concatenate([flows - raced for flows, raced in dots.values()])
twenty, after = (float(np.mean(raced - flows)) for flows, raced in (dots[20], smaller))
say(gap=-float(gaps.mean()), gap_twenty=twenty, gap_smaller=after)

many, rng, deficits, two_halves = {}, generator(3), [], []
for name, sizes in LABELS.items():
    for n, m in [(100, 100), (1000, 100), (10_000, 100), (100_000, 100), (1000, 1000)]:
        drawn = [sizes(n, rng) for _ in range(5)]
        many[name, n, m] = [excess(rng.random((m, n)) < 0.5, labels) for labels in drawn]
        squares = drawn[0] ** 2
        effective = squares.sum() ** 2 / (squares**2).sum()
        unit = np.log2(effective) * np.sqrt(np.log(m) / (2 * effective))
        deficits.append((1 + np.sqrt(2) - np.mean(many[name, n, m])) / unit)
        two_halves.append((np.sqrt(2) - np.mean(many[name, n, m])) / unit)
last = [np.mean(found) for (_, n, _), found in many.items() if n == 100_000]
say(fewest=min(last), most=max(last))


# %%NBQA-CELL-SEP476b88
fig, (left, right) = figures.panels(2)
for curve in curves.values():
    left.semilogx(widths, curve[:, 0], **figures.DASHED)
left.annotate("one size", (700, 1.22))
left.annotate("over a decade", (23, 1.06))
left.annotate("flows", (300, 1.4), color=figures.SIMULATION)
for m, (flows, raced) in dots.items():
    side_by_side = m * 1.08 ** (np.arange(len(flows)) - 2.5)
    left.plot(side_by_side, raced, "_", color=figures.THEORY, markersize=7)
    left.plot(side_by_side, flows, "o", color=figures.SIMULATION, markersize=3)
for k, name in enumerate(LABELS):
    color = (figures.SIMULATION, figures.CONTRAST, figures.THIRD)[k]
    for n in (100, 1000, 10_000, 100_000):
        at = np.full(5, n * 1.25 ** (k - 1))
        right.semilogx(at, many[name, n, 100], "o", color=color, markersize=3)
    right.annotate(name, (6000, 2.0 - 0.07 * k), color=color)
right.axhline(1 + np.sqrt(2), **figures.DASHED)
right.annotate(r"$1+\sqrt{2}$", (100, 2.44))
left.set(xlabel="neurons $m$", ylabel="excess $R$ of the squared norm")
right.set(xlabel="labels $n$", ylabel="excess $R$", ylim=(None, 2.52))
plt.show()


# %%NBQA-CELL-SEP476b88
def share_of_starts(positive, negative, m, draws, rng):
    """Share of Gaussian starts for which neither S_+ nor S_- is empty."""
    n = positive + negative
    inputs = orthonormal_inputs(n, n, rng=rng)
    signs = np.repeat([1, -1], [positive, negative])
    both = 0
    for _ in range(10):
        seen = rng.standard_normal((draws // 10, m, n)) @ inputs.T > 0
        own = rng.choice([-1, 1], size=(draws // 10, m))
        whole = [
            (seen[..., signs == s].all(axis=-1) & (own == s)).any(axis=1) for s in (1, -1)
        ]
        both += np.sum(whole[0] & whole[1])
    return both / draws


sizes, rng = [(1, 1, 3), (2, 1, 6), (2, 2, 20), (3, 3, 30), (4, 2, 40)], generator(1)
shares = [share_of_starts(*size, 10_000, rng) for size in sizes]
any_sign = [
    1 - (1 - 2.0**-k) ** m - (1 - 2.0**-j) ** m + (1 - 2.0**-k) ** m * (1 - 2.0**-j) ** m
    for k, j, m in sizes
]
growing = 8 * np.array([2, 4, 8, 16])
seen_growing = [share_of_starts(3, 2, m, 4000, rng) for m in growing]
longer = [share_of_starts(6, 2, m, 1000, rng) for m in growing]


# %%NBQA-CELL-SEP476b88
verify_all(
    verify(
        "boursier2022-asm-3a",
        measured=seen_growing,
        at_least=1 - 2 * np.exp(-growing / 16),
        atol=0.04,
        because="five standard errors of 4000 draws, each at most 0.008",
        control=Variant("three positive labels more", measured=longer, share=0.5),
    ),
    verify(
        "boursier2022-ours-groups",
        measured=shares,
        predicted=[probability(*size) for size in sizes],
        atol=0.0225,
        because="four and a half standard errors of 10000 draws, each at most 0.005",
        control=Variant("neurons of either sign would do", predicted=any_sign, share=0.6),
    ),
)


# %%NBQA-CELL-SEP476b88
def width_needed(positive, negative):
    low, high = 1, 2
    while probability(positive, negative, high) < 0.95:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        enough = probability(positive, negative, middle) >= 0.95
        low, high = (low, middle) if enough else (middle, high)
    return high


def width_covering(n):
    """The least width at which each of n labels is seen by a neuron of its sign, with 95 %."""
    return next(m for m in count(1) if (1 - 0.75**m) ** n >= 0.95)


classes = np.arange(4, 15)
even = np.array([width_needed(k, k) for k in classes])
uneven = np.array([width_needed(k, 1) for k in classes])
covering = np.array([[width_covering(2 * k), width_covering(k + 1)] for k in classes]).T
say(ten=int(even[6]), six=int(even[2]), cover=int(covering[0, 6]))


# %%NBQA-CELL-SEP476b88
verify(
    "boursier2022-asm-3b",
    measured=np.array([even[1:] / even[:-1], uneven[1:] / uneven[:-1]]),
    predicted=2,
    rtol=0.025,
    because="log(1 - p) against -p is p / 2 in relative size, up to 1 in 64, and a width is rounded "
    "up, 1 in 95",
    control=Variant(
        "the width at which every label is covered",
        measured=covering[:, 1:] / covering[:, :-1],
        share=1.0,
    ),
)


# %%NBQA-CELL-SEP476b88
def symmetric(n, size):
    """One neuron for each set of `size` of n labels: the sets, and the excess of the flow."""
    sets = np.array([np.isin(range(n), chosen) for chosen in combinations(range(n), size)])
    start = TwoLayer(1e-3 * np.where(sets, 1, -1) / np.sqrt(n), np.full(len(sets), 1e-3))
    rate = np.sqrt(size) / n
    times, options = [0, (np.log(1e3) + 12) / rate], {"rates": 1 / n, "atol": 1e-12}
    end = weights_flow(start, np.eye(n), np.ones(n), SQUARE, times, **options)
    return sets, (end.w[-1] ** 2).sum() / np.sqrt(n)


pairs = [(3, 2), (4, 3), (5, 2), (5, 3), (5, 4)]
shared = [symmetric(*pair) for pair in pairs]
in_turn = [excess(sets, np.ones(sets.shape[1])) for sets, _ in shared]
nearly = {n: 1 / binom.sf(np.ceil(n / 1.2**2) - 1, n, 0.5) for n in (100, 200)}
say(nearly_100=nearly[100], nearly_200=nearly[200])


# %%NBQA-CELL-SEP476b88
verify(
    "boursier2022-ours-narrow-bound",
    measured=[found for _, found in shared],
    predicted=[np.sqrt(n / size) for n, size in pairs],
    atol=1e-4,
    because="the inactive components keep their squares, at most 1e-6 for each of ten neurons, and "
    "residuals decay by e^-24",
    control=Variant(
        "the sets are fitted one after the other", predicted=in_turn, share=1.0
    ),
)


# %%NBQA-CELL-SEP476b88
verify(
    "boursier2022-ours-narrow-limit",
    measured=deficits,
    at_least=0.0,
    at_most=1.0,
    because="the two sides of the estimate; a mean of five races has a standard error of (10 log2(n) "
    "log(m))^(-1/2), at most 0.07",
    control=Variant(
        "the second arrival fits the rest, so two halves", measured=two_halves, share=1.0
    ),
)


# %%NBQA-CELL-SEP476b88
say(seconds=process_time() - started)
