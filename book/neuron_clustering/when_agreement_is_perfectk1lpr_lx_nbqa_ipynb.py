# %%NBQA-CELL-SEP476b88
from itertools import count, islice
from time import process_time

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import linprog, lsq_linear, minimize

from executable_claims import Variant, verify, verify_all
from lib import figures
from lib.data.synthetic import antipodal_gaussians, separable_data
from lib.flow import gradient_flow
from lib.geometry.patterns import distance_to_cone
from lib.geometry.programs import linear_svm, separation
from lib.models.two_layer import Start
from lib.prose import say
from lib.seeds import generator
from lib.training.losses import LOGISTIC

figures.use_style()
started = process_time()


# %%NBQA-CELL-SEP476b88
def reaches(inputs, labels):
    """delta(x), for each x the distance of the origin from the hull of x and the other class."""
    hulls = [np.vstack([inputs[labels != y], x]) for x, y in zip(inputs, labels)]
    return np.array([separation(points, np.ones(len(points))).bound for points in hulls])


# %%NBQA-CELL-SEP476b88
def mirror(x):
    return (np.vstack([x, -x]), np.repeat([1.0, -1.0], len(x)))


def mirrored(draws, d, n=6):
    return mirror(np.eye(2, d).sum(axis=0) + 0.4 * draws.standard_normal((n, d)))


def rate(x, moves):
    """The limit of delta*/eps for a symmetric sample x that moves to x + eps moves."""
    n, squares = len(x) // 2, []
    for i, zeta in enumerate(moves[:n] + moves[n:]):
        polar = np.vstack([-x[:n], x[i], -x[i]]).T
        for z in (zeta, -zeta):  # the part in N: the distance from its polar cone
            squares.append(2 * lsq_linear(polar, z, (0, np.inf), method="bvls").cost)
    return np.sqrt(max(squares)) / 2


fig, (left, right) = figures.panels(2, height=3.2)
draws, jitters, off, counted = generator(1), np.geomspace(1e-5, 1, 11), [], []
for d, colour, spot in ((2, figures.SIMULATION, (6, -12)), (5, figures.THIRD, (-34, 6))):
    (inputs, labels), moves = mirrored(draws, d), draws.standard_normal((12, d))
    found = [reaches(inputs + size * moves, labels).max() for size in jitters]
    law, tiny = rate(inputs, moves), reaches(inputs + 1e-4 * moves, labels)
    right.loglog(jitters, found, "o", color=colour, markersize=5)
    right.loglog(jitters, law * jitters, **figures.DASHED)
    right.axhline(1 / linear_svm(inputs, labels).norm, color=colour, linestyle=":")
    where = {"xytext": spot, "textcoords": "offset points", "color": colour}
    right.annotate(f"$d={d}$", (1e-3, law / 1e3), **where)
    off, counted = [*off, abs(tiny.max() / law * 1e4 - 1)], [*counted, (tiny > 1e-9).sum()]
    if d == 2:
        shown = labels[:, None] * (inputs + 0.15 * moves)
        ringed = reaches(inputs + 0.15 * moves, labels) > 1e-9
for y, colour, mark in ((1, figures.SIMULATION, "+"), (-1, figures.CONTRAST, "_")):
    left.plot(*shown[labels == y].T, mark, color=colour, markersize=8)
    angles = np.angle(shown[labels == y] @ [1, 1j] * np.exp(-0.25j * np.pi)) + np.pi / 4
    for edge in (angles.min(), angles.max()):
        left.plot([0, 3 * np.cos(edge)], [0, 3 * np.sin(edge)], color=colour, linewidth=1)
left.plot(*shown[ringed].T, "o", markersize=13, fillstyle="none", color=figures.THEORY)
left.set(aspect="equal", xlim=(-0.1, 2.2), ylim=(-0.1, 2.2), xlabel="first coordinate")
left.set_ylabel("second coordinate")
right.text(1e-5, 0.3, r"$\beta/s$", color=figures.THEORY)
right.set(xlabel=r"jitter $\varepsilon$", ylabel=r"$\delta^*$")
say(offending_plane=counted[0], offending_space=counted[1], law_off=max(off))
plt.show()


# %%NBQA-CELL-SEP476b88
def equal_cones(draws):
    """Three edges, stretched by other factors in the other class, and points inside."""
    edges = np.eye(3) + 0.4 * draws.uniform(size=(3, 3))
    inside = draws.dirichlet(np.ones(3), 4) @ edges
    negative = np.vstack([-edges * draws.uniform(0.5, 2, (3, 1)), -inside[2:]])
    return np.vstack([edges, inside[:2], negative]), np.repeat([1.0, -1.0], 5)


def offending(inputs, labels):
    """By linear programs: whether a vector with entries of at most 1 has only positive products."""
    d, found = inputs.shape[1], []
    for x, y in zip(inputs, labels):
        rows = np.vstack([inputs[labels != y], x])
        limits = np.column_stack([-rows, np.ones(len(rows))])
        box, zeros = [(-1, 1)] * d + [(None, None)], np.zeros(len(rows))
        found.append(-linprog(-np.eye(d + 1)[d], limits, zeros, bounds=box).fun)
    return np.array(found) > 1e-9


def outside(inputs, labels):
    """By distances: whether -x is outside of the cone of the other class."""
    far = [distance_to_cone(-x, inputs[labels != y]) for x, y in zip(inputs, labels)]
    return np.array(far) > 1e-9


def sharp(x, y):
    return sum((x[y != one] @ point > 0).any() for point, one in zip(x, y))


def moving(x, y, size):
    return (x + size * draws.standard_normal(x.shape), y)


def gaussian(draws, d):
    return antipodal_gaussians(8, 2 * np.eye(d)[0], 0.4, rng=draws)


def orthogonal(draws, kind="circular"):
    return separable_data(kind, 8, rng=draws, decades=1)


def aligned(draws, kind):
    return (lambda x, y: y[:, None] * x)(*orthogonal(draws, kind))[:4]


families = (
    *(lambda draws: mirrored(draws, 2, 4), equal_cones, lambda draws: gaussian(draws, 1)),
    lambda draws: moving(*mirrored(draws, 3, 4), 0.05),
    *(lambda draws: gaussian(draws, 2), lambda draws: gaussian(draws, 5), orthogonal),
)
draws = generator(2)
samples = [family(draws) for family in families for _ in range(5)]
general, half = samples[15:], samples[::2]
flags = [offending(*data) for data in samples]
counts = [sum(one) for one in flags]
scaled = [offending(x * 10 ** draws.uniform(-1, 1, (len(x), 1)), y) for x, y in half]
moved = [offending(x + draws.standard_normal(x.shape[1]), y) for x, y in half]
biased = [offending(np.column_stack([x, np.ones(len(x))]), y) for x, y in half]
mirrors = [mirror(aligned(draws, kind)) for kind in ("wide", "orthant") * 5]
mirrors += [mirrored(draws, d, 4) for d in (2, 5) * 5]
near_mirrors = [sum(offending(*moving(*data, 1e-3))) for data in mirrors]
acute = [sharp(*data) for data in samples]
say(passing=sum(count == 0 for count in counts[15:]), random=len(general))
verify_all(
    verify(
        "sarussi2021-assumption-4",
        measured=counts,
        predicted=[sum(outside(*data)) for data in samples],
        because="counts; rounding is 1e-15, and no product but those of rounding is below 1e-9",
        control=Variant("acute angles", predicted=acute, share=0.4),
        printed=Variant("none offends", measured=counts[15:30], predicted=0, share=1),
    ),
    verify(
        "sarussi2021-assumption-4-margin",
        measured=np.concatenate(scaled),
        predicted=np.concatenate([outside(*data) for data in half]),
        because="yes or no, for each input",
        control=Variant("moved, not scaled", measured=np.concatenate(moved), share=0.1),
    ),
    verify(
        "sarussi2021-lem-6.1",
        measured=[sum(offending(*data)) for data in mirrors],
        predicted=0,
        because="counts",
        control=Variant("a jitter of 0.001", measured=near_mirrors, share=1),
    ),
    verify(
        "sarussi2021-app-K-thm-6.2",
        measured=np.concatenate(biased),
        predicted=1,
        because="yes or no, for each input",
        control=Variant("no bias", measured=np.concatenate(flags[::2]), share=0.3),
        printed=Variant("none offends, as without a bias", predicted=0, share=1),
    ),
)


# %%NBQA-CELL-SEP476b88
def largest(inputs, labels):
    """The largest least product of a vector of length 1 with an input and the other class."""
    d, found = inputs.shape[1], [0.0]
    for x, y in zip(inputs, labels):
        rows = np.vstack([inputs[labels != y], x])
        above = {"type": "ineq", "fun": lambda z, rows=rows: rows @ z[:d] - z[d]}
        within = {"type": "ineq", "fun": lambda z: 1 - z[:d] @ z[:d]}
        how = {"method": "SLSQP", "constraints": [above, within], "tol": 1e-12}
        z = minimize(lambda z: -z[d], np.append(rows.mean(axis=0) / 9, -1), **how).x
        found.append(z[d] / max(1, np.linalg.norm(z[:d])))
    return max(found)


def quotient(x, y, moves, size):
    return max(reaches(x + size * moves, y)) / size


draws = generator(3)
margins = [1 / linear_svm(*data).norm for data in general]
near = [(*mirrored(draws, d), draws.standard_normal((12, d))) for d in (2, 3, 5) * 5]
halves = [np.linalg.norm(z[:6] + z[6:], axis=1).max() / 2 for *_, z in near]
reached = np.array([max(reaches(*data)) for data in general])
sums = [np.linalg.norm(x[y > 0][:, None] + x[y < 0], axis=2) for x, y in general]
shares = [2 * r / max(e.min(0).max(), e.min(1).max()) for r, e in zip(reached, sums)]
say(least_share=min(shares), most_share=max(shares))
verify_all(
    verify(
        "sarussi2021-ours-norm-bound",
        measured=[largest(*data) for data in general],
        predicted=reached,
        atol=1e-6,
        because="the maximiser stops at changes below 1e-12, constraints kept within 1e-8",
        control=Variant("the linear margin", predicted=margins, share=0.9),
    ),
    verify(
        "sarussi2021-ours-jitter",
        measured=[2 * quotient(*one, 1e-6) - quotient(*one, 2e-6) for one in near],
        predicted=[rate(x, z) for x, y, z in near],
        atol=1e-2,
        because="the square of 1e-6 over the angle from an edge to the next input, above 1e-5",
        control=Variant("without the projection", predicted=halves, share=0.6),
    ),
)


# %%NBQA-CELL-SEP476b88
K = 3  # neurons of each type, of output weights 3^(-1/2) and -3^(-1/2)


def highest_slope(inputs, labels):
    radius = np.linalg.norm(inputs, axis=1).max()
    return 1 / (np.sqrt(2) * linear_svm(inputs, labels).norm * radius - 1)


class End:
    """The end of a flow, and its quotients: both conditions of item 4 hold where these exceed 1."""

    def __init__(self, draws, family, slope, log_until):
        x, y = family(draws)
        self.slope = slope if slope < 0.9 else min(0.99, slope * highest_slope(x, y))
        start = Start.two_sided(K, x.shape[1], 0.0, rng=draws, v=K**-0.5)
        how = {"log_until": log_until, "train": "first", "rtol": 1e-6}
        last = gradient_flow(start.network(self.slope), x, y, LOGISTIC, **how).network_at()
        lengths = np.linalg.norm(last.w, axis=1)
        sides = (last.w / lengths[:, None] @ x.T).reshape(2, K, -1)
        self.agree = (sides * sides[:, :1]).min() > 1e-4
        self.perfect = bool((sides * np.multiply.outer([1, -1], y)[:, None] > 0).all())
        self.data, radius = (x, y), np.linalg.norm(x, axis=1).max()
        smoothed = -np.logaddexp.reduce(
            -y * last(x)
        )  # nL is the sum of exp(-q) up to rounding
        self.margin = smoothed / np.linalg.norm(last.w) / (self.slope * radius)
        self.length = np.abs(last.w @ x.T).min() / lengths.max() / max(reaches(x, y))


def five(family, slope, first, log_until=1e6):
    """Flows from Gaussian starts whose neurons agree at the end, clear of the kinks."""
    ends = (End(generator(k), family, slope, log_until) for k in count(first))
    return list(islice((end for end in ends if end.agree), 5))


def greatest(k, v, slope, x, draws):
    """The largest margin at x of 999 networks of norm 1 with <w_j, x> <= 0, many near the bound."""
    phi, sizes = lambda z: np.maximum(z, slope * z), np.geomspace(1e-6, 1, 999)
    w, u = sizes[:, None, None] * draws.standard_normal((2, 999, k, len(x)))
    w, u = w - np.multiply.outer(np.maximum(w @ x, 0), x) / (x @ x), u - x
    outputs = v * (phi(w @ x) - phi(u @ x)).sum(axis=1)
    return max(outputs / np.sqrt((w**2 + u**2).sum(axis=(1, 2))))


draws = generator(4)
sizes = [(k, *draws.uniform(0.05, 1, 2)) for k in (2, 3, 4) * 5]
points = [10 ** draws.uniform(-1, 1) * draws.standard_normal(d) for d in (2, 3, 4) * 5]
bounds = np.array([a * v * np.linalg.norm(x) for (_, v, a), x in zip(sizes, points)])
planar, spatial = (lambda draws: mirrored(draws, 2)), (lambda draws: mirrored(draws, 5))
steep = five(lambda draws: mirror(aligned(draws, "wide")), 1.2, 300)
flat = [*five(planar, 0.1, 100), *five(spatial, 0.9, 200)]
tried = [*flat, *steep]
limits, slopes = np.transpose([(highest_slope(*one.data), one.slope) for one in tried])
ratios = (1 + 1 / slopes) / (1 + 1 / limits)
verify_all(
    verify(
        "sarussi2021-eq-30",
        measured=[greatest(*one, x, draws) for one, x in zip(sizes, points)],
        predicted=bounds * np.sqrt([2, 3, 4] * 5),
        rtol=1e-3,
        because="an upper bound that moves of 1e-6 reach within 1e-6 over the length of x, above 1e-3",
        control=Variant("norms added up", predicted=bounds * ([2, 3, 4] * 5), share=1),
    ),
    verify(
        "sarussi2021-thm-6.2-assumption-3",
        measured=[one.margin for one in tried],
        predicted=ratios,
        rtol=1e-4,
        because="margins over ln t differ from their limits by offsets, below 100, over ln t",
        control=Variant("no root", predicted=np.sqrt(2) * ratios, share=1),
    ),
)


# %%NBQA-CELL-SEP476b88
def pair(draws):
    size, cosine = draws.uniform(3.8, 4.2), draws.uniform(0.33, 0.37)
    points = [[1, 0], [size * cosine, size * np.sqrt(1 - cosine**2)]]
    return points @ np.linalg.qr(draws.standard_normal((2, 2)))[0], np.array([1.0, -1.0])


spread = [lambda draws: gaussian(draws, 2), lambda draws: gaussian(draws, 5), orthogonal]
drawn = [one for i, each in enumerate(spread) for one in five(each, 0.1, 500 + 100 * i)]
assumed = [one for one in [*flat, *five(equal_cones, 0.05, 400)] if one.margin > 1]
bounded = [one for one in drawn if min(one.margin, one.length) > 1]
apart = [one for one in five(pair, 0.2, 800, 1e4) if one.margin > 1]
say(assumed=len(assumed), bounded=len(bounded), apart=len(apart))
unmet = [one.perfect for one in steep if one.margin < 1]
say(right=sum(one.perfect for one in drawn), unmet=len(unmet), unmet_perfect=sum(unmet))
split = Variant("Assumption 3 only", measured=[one.perfect for one in apart], share=1)
how = {"predicted": 1, "because": "yes or no", "control": split}
verify_all(
    verify("sarussi2021-thm-6.2a", measured=[one.perfect for one in assumed], **how),
    verify(
        "sarussi2021-ours-perfect-by-length",
        measured=[one.perfect for one in bounded],
        **how,
    ),
)


# %%NBQA-CELL-SEP476b88
say(seconds=process_time() - started)
