# %%NBQA-CELL-SEP476b88
from fractions import Fraction
from time import process_time

import matplotlib.pyplot as plt
import numpy as np
import sympy as sp
from scipy.optimize import minimize, minimize_scalar

from executable_claims import Variant, verify, verify_all
from lib import figures
from lib.data.synthetic import SEPARABLE, separable_data
from lib.flow.alignment import alignment_phase
from lib.flow.weights import weights_flow
from lib.geometry.patterns import least_signed_cosine, regions
from lib.models.two_layer import TwoLayer
from lib.prose import say
from lib.seeds import generator
from lib.theory.alignment import alignment_constants, cap_constant, class_sums
from lib.training.losses import TWICE_LOGISTIC

figures.use_style()
started = process_time()


# %%NBQA-CELL-SEP476b88
def longest(c):
    """The number A, for c = min(zeta_2, mu^2), without cancellation."""
    return np.log1p(np.sqrt(1 - c)) - np.log(c) / 2


def stages(w, inputs, labels):
    """Duration, |x_a| and n_a of each finished stage of neurons with s = 1, in closed form."""
    phase = alignment_phase(w, np.ones(len(w)), inputs, labels)
    over = np.isfinite(phase.starts[1:])
    lasted = phase.starts[1:][over] - phase.starts[:-1][over]
    sizes = np.linalg.norm(phase.drifts[:-1][over], axis=1)
    return lasted, sizes, phase.stage_patterns[:-1][over].sum(axis=1)


# %%NBQA-CELL-SEP476b88
def problem(family, k, most=25, neurons=60):
    """Gaussian neurons, for odd k one near the repelling sum, and data with labels."""
    draws = generator(k)
    n = int(draws.integers(3, most + 1))
    inputs, labels = separable_data(family, n, rng=draws, decades=k % 3)
    w = draws.standard_normal((neurons, inputs.shape[1]))
    if k % 2:
        repelling = class_sums(inputs, labels)[1]
        near = 10 ** draws.uniform(-8, -1) * draws.standard_normal(inputs.shape[1])
        w[0] = repelling / np.linalg.norm(repelling) + near
    return w, inputs, labels


def meeting(w, inputs, labels, datum, expected, around=1e-3, scale=1e-8, least=1.0):
    """When a raw neuron, of norm ``least`` or more, meets a datum: from two heights shortly before."""
    clock = expected - around * np.array([2, 1])
    network, loss = TwoLayer(scale * w[None], [scale * np.linalg.norm(w)]), TWICE_LOGISTIC
    exactness = {"rtol": 1e-13, "atol": 1e-13 * scale * least}
    raw = weights_flow(network, inputs, labels, loss, [0.0, *clock], **exactness).w[1:, 0]
    first, second = raw @ inputs[datum] / np.linalg.norm(raw, axis=1)
    return clock[1] - second * around / (second - first)


def pair(mu):
    return np.array([[1.0, 0.0], [mu, np.sqrt(1 - mu**2)]])


def of(w, *data):
    return alignment_constants(w, np.ones(len(w)), *data)


def circle(deg):
    return np.column_stack([np.cos(np.deg2rad(deg)), np.sin(np.deg2rad(deg))])


pair_mus = np.array([0.5, 0.1, 1e-2, 1e-3, 1e-4])
just_active, ones = np.array([1e-6, -1.0]), np.ones(2)
pair_laws = longest(pair_mus**2)
pairs = [meeting(just_active, pair(mu), ones, 1, t) for mu, t in zip(pair_mus, pair_laws)]
problems = [problem(family, 20 + k) for family in SEPARABLE for k in range(20)]
found = [(of(*one), *stages(*one)) for one in problems]
least = np.array([min(c.zeta_2, c.mu**2) for c, *_ in found])
turns = np.array([(lasted * sizes).max() for _, lasted, sizes, _ in found])
fig, (left, axes) = figures.panels(2, height=3.3, width_ratios=(1, 2))
p, q = 1.1 * circle([60])[0], 0.8 * circle([120])[0]
from_zero = {"angles": "xy", "scale_units": "xy", "scale": 1, "color": figures.THEORY}
for arrow, name in ((p, "$P$"), (p + q, "$x_a$"), (q, "$N$")):
    left.quiver(0, 0, *arrow, **from_zero, width=0.012)
    left.text(*1.15 * arrow, name, ha="center", va="center")
wedge = np.vstack([[0, 0], circle(np.linspace(-30, 30, 30))])
left.fill(*wedge.T, color=figures.SIMULATION, alpha=0.25, linewidth=0)
left.text(0.7, 0.0, "$w$", color=figures.SIMULATION, ha="center", va="center")
left.set(aspect="equal", xlim=(-0.7, 1.1), ylim=(-0.6, 2.0))
left.axis("off")
sines = np.geomspace(1e-8, 0.7, 300)
axes.plot(sines, longest(sines**2), **figures.DASHED)
axes.plot(sines, 4 / sines**2, color=figures.FOURTH)
axes.plot(np.sqrt(least), turns, "o", color=figures.SIMULATION, markersize=3)
axes.plot(pair_mus, pairs, "o", color=figures.CONTRAST, markersize=8, fillstyle="none")
axes.set(xscale="log", yscale="log", ylim=(0.1, 1e4), xlabel=r"$\min(\sqrt{\zeta_2},\mu)$")
axes.set_ylabel(r"longest stage $\times\,\Vert x_a\Vert$")
axes.text(1e-7, 40, "$A$, the law", color=figures.THEORY)
axes.text(2e-6, 1, "60 problems", color=figures.SIMULATION)
axes.text(7e-6, 16, "pairs", color=figures.CONTRAST)
axes.text(1.3e-2, 3e3, "the paper", color=figures.FOURTH, ha="right")
say(pair_gap=np.abs(pairs / pair_laws - 1).max())
plt.show()


# %%NBQA-CELL-SEP476b88
def least_drift(inputs, labels):
    """The least |x_a|/(n_a X_min) over all sets of active data."""
    signed, n = labels[:, None] * inputs, len(labels)
    chosen = (np.arange(1, 2**n)[:, None] >> np.arange(n)) & 1
    sums = np.linalg.norm(chosen @ signed, axis=1) / chosen.sum(axis=1)
    return sums.min() / np.linalg.norm(inputs, axis=1).min()


def widest_caps(inputs, labels):
    """For both sums: sin^2 of the widest cap, by search; least cos^2 over all data, and the own class."""
    signed = labels[:, None] * inputs / np.linalg.norm(inputs, axis=1)[:, None]
    for label, total in zip((1, -1), class_sums(inputs, labels)):
        centre = label * total / np.linalg.norm(total)

        def distance(w):
            return ((w - centre) ** 2).sum()

        outside = [{"type": "ineq", "fun": lambda w, z=z: -(w @ z)} for z in signed]

        def search(one):
            return minimize(distance, 0 * centre, constraints=[one], tol=1e-14).x

        largest = max(np.linalg.norm(search(one)) for one in outside)  # a projection's norm
        squares = (signed @ centre) ** 2
        yield 1 - largest**2, squares.min(), squares[labels == label].min()


def nearing(w, inputs, labels):
    """The largest later cosine with x_-, less the first one, and less the larger of the first and 0."""
    phase = alignment_phase(w, np.ones(len(w)), inputs, labels)
    clock = np.linspace(0, phase.events.time.max(initial=1.0), 60)
    repelling = class_sums(inputs, labels)[1]
    cosines = phase.at(clock)[0] @ (repelling / np.linalg.norm(repelling))
    gain = cosines - cosines[0]
    return gain.max(), (cosines - np.maximum(cosines[0], 0)).max()


def draw(family, k):
    return separable_data(family, k % 7 + 3, rng=generator(k), decades=k % 3)


sets = [draw(family, 100 + k) for family in SEPARABLE for k in range(12)]
drifts = np.array([least_drift(*data) for data in sets])
roots = np.sqrt([least_signed_cosine(*data) for data in sets])
few = [draw(family, 200 + 7 * k) for family in SEPARABLE for k in range(5)]
caps, least_squares, own = np.array([cap for data in few for cap in widest_caps(*data)]).T
away = np.array([nearing(*one) for one in problems])
verify_all(
    verify(
        "min2024-lem11",
        measured=drifts / roots,
        at_least=1.0,
        because="every set of active data is tried; the least is above 1 by far more than rounding",
        control=Variant("n_a X_min itself", measured=drifts, share=0.3),
    ),
    verify(
        "min2024-lem8",
        measured=caps,
        predicted=least_squares,
        atol=1e-6,
        because="a distance to 1e-14 gives the nearest point to 1e-7, and the cosine to less",
        control=Variant("over the data of the own class", predicted=own, share=0.5),
    ),
    verify(
        "min2024-barrier",
        measured=away[:, 1],
        at_most=0.0,
        atol=1e-12,
        because="closed forms in double precision; cosines are compared with the larger of the first and 0",
        control=Variant("the cosine with x_- never rises", measured=away[:, 0], share=0.3),
    ),
)


# %%NBQA-CELL-SEP476b88
beta = sp.symbols("beta", positive=True)
g = sp.atanh(sp.sin(beta))
assert sp.simplify(sp.diff(g, beta) - 1 / sp.cos(beta)) == 0
assert sp.simplify(sp.diff(g, beta, 2) - sp.sin(beta) / sp.cos(beta) ** 2) == 0
least_slack = minimize_scalar(
    lambda c: 4 / c / longest(c), bounds=(1e-3, 0.999), method="bounded"
)
say(slack=least_slack.fun)


# %%NBQA-CELL-SEP476b88
def raw_longest(w, inputs, labels, scale=1e-12):
    """The longest stage times |x_a| of raw weights, from below: grid points with one pattern, less one."""
    end = 20 / np.linalg.norm(class_sums(inputs, labels), axis=1).max()  # norms up to e^20
    units, clock = w / np.linalg.norm(w, axis=1)[:, None], np.linspace(0, end, 2000)
    network = TwoLayer(scale * units, np.full(len(w), scale))
    exactness = {"rtol": 1e-9, "atol": 1e-11 * scale}
    raw = weights_flow(network, inputs, labels, TWICE_LOGISTIC, clock, **exactness).w
    heights = raw / np.linalg.norm(raw, axis=2, keepdims=True) @ inputs.T
    active = heights > 1e-9 * np.linalg.norm(inputs, axis=1)  # the dead rest on a boundary
    turns = clock[1] * np.linalg.norm((labels * active) @ inputs, axis=2)
    stays = (active[1:] == active[:-1]).all(axis=2) & (regions(active[1:], labels) != "S+")
    largest = current = np.zeros(len(w))
    for same, turn in zip(stays, turns[1:]):
        current = np.where(same, current + turn, 0)
        largest = np.maximum(largest, current)
    return largest.max()


def paper(c):
    return min(c.zeta, c.xi) * np.sqrt(c.mu) * c.x_min / 4


few = [problem(family, 420 + k, most=8, neurons=20) for family in SEPARABLE for k in (2, 4)]
raw_turns = np.array([raw_longest(*one) for one in few])
raw_laws = [longest(min(c.zeta_2, c.mu**2)) for c in (of(*one) for one in few)]
say(raw_largest=np.max(raw_turns / raw_laws))
close = np.array([1e-2, 1e-3, 1e-4])
starts = zip(np.column_stack([np.cos(close), np.sin(close)]), close)
negative, times = (np.eye(2)[:1], -np.ones(1), 0), longest(np.sin(close) ** 2)
dying = np.array([meeting(w, *negative, t, least=d) for (w, d), t in zip(starts, times)])
attained = [*(pairs / pair_laws), *(dying / times)]
shares = np.array([*(turns / longest(least)), *(raw_turns / raw_laws), *attained])
equal = np.append(np.zeros(len(shares) - len(attained)), np.ones(len(attained)))
printed = [paper(c) * (lasted * active).max() for c, lasted, _, active in found]
say(paper_largest=max(printed))
verify_all(
    verify(
        "min2024-ours-stage",
        measured=shares,
        at_most=1.0,
        at_least=equal,
        atol=1e-4,
        because="raw weights: directions to 1e-9 over the least speed, 1e-4; grids only shorten",
        control=Variant("half of it", measured=2 * shares, share=0.3),
    ),
    verify(
        "min2024-stage",
        measured=printed,
        at_most=1.0,
        because="closed forms, far below the bound",
        control=Variant("without min(zeta, xi)", measured=dying / 4, share=1),
    ),
)


# %%NBQA-CELL-SEP476b88
def longest_path(positive, negative):
    """The largest sum of 1/n_a, where a step gains positive data, loses negative ones, or both."""
    best = {(positive, 0): Fraction(0)}
    for p in range(positive, -1, -1):
        for q in range(negative + 1):
            if p + q and (p, q) not in best:
                after = [best[i, j] for i, j in best if i >= p and j <= q]
                best[p, q] = Fraction(1, p + q) + max(after)
    return float(max(best.values()))


def harmonic(k):
    return sum(1 / np.arange(1, k + 1))


def formula(p, q):
    return harmonic(q) + 0.5 * (q > 0) + harmonic(p - 1)


def slowest(n):
    return max([formula(p, n - p) for p in range(1, n + 1)] + [harmonic(n)])


sizes = np.array([(p, q) for p in range(1, 10) for q in range(10)])
sums = np.array([formula(*size) for size in sizes])
ns = np.arange(2, 100)
worst = np.array([slowest(n) for n in ns])
verify_all(
    verify(
        "min2024-path",
        measured=sums,
        predicted=[longest_path(*size) for size in sizes],
        rtol=1e-12,
        because="sums of at most 20 fractions in double precision",
        control=Variant(
            "without the stage at D = 0", measured=sums - 0.5 * (sizes[:, 1] > 0), share=0.8
        ),
    ),
    verify(
        "min2024-path-log",
        measured=4 * worst - 16 * np.log(ns),
        at_most=0.0,
        because="the least margin, at n = 2, is about 5",
        control=Variant("with 8 ln n", measured=4 * worst - 8 * np.log(ns), share=0.9),
        printed=Variant("at n = 1", measured=4 * slowest(1) - 16 * np.log(1)),
    ),
)


# %%NBQA-CELL-SEP476b88
def cost(family, k):
    """Differences of the times at which the raw neuron leaves S_-, over ln 10; the norms of x_- and x_+."""
    inputs, labels = draw(family, k)
    attracting, repelling = class_sums(inputs, labels)
    axes, speed = np.linalg.svd(repelling[None])[2], np.linalg.norm(repelling)
    inputs = inputs @ axes.T * np.sign(axes[0] @ repelling)  # x_- along the first axis
    first_axis, *_, across = np.eye(len(axes))
    widest, times = np.sqrt(cap_constant(inputs, labels)) / 2, []  # inside S_-
    for delta in min(widest, 1e-2) * np.array([1, 0.1, 0.01]):
        w = first_axis + delta * across
        first = alignment_phase(w[None], [1], inputs, labels).events[0]
        expected = first.datum, first.time, 1e-3 / speed, 1e-6, delta
        times.append(meeting(w, inputs, labels, *expected))
    return np.diff(times) / np.log(10), speed, np.linalg.norm(attracting)


drawn = [cost(family, 300 + 3 * k) for k in range(2) for family in SEPARABLE]
slopes, speeds, others = (np.vstack(part) for part in zip(*drawn))
verify(
    "min2024-assump2",
    measured=slopes * speeds,
    predicted=1.0,
    atol=1e-3,
    because="balance to 1e-13 of the start, over the square of delta, 1e-5; lines over a thousandth "
    "of the time unit: 1e-6",
    control=Variant("at the rate of x_+", measured=slopes * others, share=1),
)


# %%NBQA-CELL-SEP476b88
say(seconds=process_time() - started)
