# %%NBQA-CELL-SEP476b88
from time import process_time
from types import SimpleNamespace

import matplotlib.pyplot as plt
import numpy as np

from executable_claims import Variant, verify
from lib import figures
from lib.data.synthetic import SEPARABLE, antipodal_gaussians, separable_data
from lib.flow import gradient_flow
from lib.geometry.level_sets import boundary_angles, boundary_bend
from lib.geometry.patterns import largest_angle, least_signed_cosine
from lib.geometry.programs import agreement_program, least_norm, linear_svm
from lib.models.two_layer import Start, TwoLayer
from lib.prose import say
from lib.seeds import generator
from lib.training.descent import gradient_descent
from lib.training.losses import LOGISTIC

figures.use_style()
started = process_time()


# %%NBQA-CELL-SEP476b88
def two_classes(n, draws):
    """Antipodal Gaussian classes, drawn until they are orthogonally separable."""
    while True:
        drawn = antipodal_gaussians(n, (2, 1.5), 0.6, rng=draws)
        if least_signed_cosine(*drawn) > 0:
            return drawn


def trained(draws):
    """Data, a start, and what it becomes from a small and from a large scale."""
    data = two_classes(20, draws)
    start = Start.two_sided(50, 2, 0.0, rng=draws, v=50**-0.5).network(0.1)
    order = np.concatenate([draws.permutation(20) for _ in range(100)])
    setting = {"step": 0.05, "steps": 2000, "samples": order, "train_a": False}
    starts = [start.with_weights(scale * start.w, start.a) for scale in (1e-4, 1.0)]
    runs = [gradient_descent(one, *data, LOGISTIC, **setting) for one in starts]
    return data, start, [run.network for run in runs]


def off_line(network):
    """By how many degrees the boundary misses a line; 90 if it has more than two rays."""
    return boundary_bend(network) if len(boundary_angles(network)) == 2 else 90.0


def widest(network):
    return max(largest_angle(group) for group in np.split(network.w, 2))


drawings = [trained(generator(k)) for k in range(5)]
drawn_data, drawn_start, pair = drawings[0]
fig, axes = figures.panels(2, height=3.3)
for one, network, name in zip(axes, pair, ("small start", "large start")):
    tips = network.w / np.linalg.norm(network.w, axis=1)[:, None]
    x, y = drawn_data
    for sign, mark, colour in (1, "+", figures.SIMULATION), (-1, "_", figures.CONTRAST):
        one.plot(*x[y == sign].T, mark, color=colour, alpha=0.6)
        one.plot(*tips[network.a * sign > 0].T, ".", color=colour)
    for ray in np.radians(boundary_angles(network)):
        one.plot([0, 4 * np.cos(ray)], [0, 4 * np.sin(ray)], color=figures.THIRD)
    one.set(aspect="equal", xlim=(-4, 4), ylim=(-4, 4), title=name, xlabel="$x_1$")
axes[0].set_ylabel("$x_2$")
bends = np.array([[off_line(net) for net in nets] for *_, nets in drawings])
spreads = np.array([[widest(net) for net in nets] for *_, nets in drawings])
say(small_angle=spreads[:, 0].max(), large_angle=spreads[:, 1].min())
say(large_least=bends[:, 1].min(), large_most=bends[:, 1].max(), small=bends[:, 0].max())
plt.show()


# %%NBQA-CELL-SEP476b88
verify(
    "sarussi2021-fig-1",
    measured=bends[:, 0],
    at_most=1.0,
    because="degrees: a ray so turned ends 0.017 of its length aside, the width of a drawn line",
    control=Variant("large starts, as many epochs", measured=bends[:, 1], share=0.6),
    data="five draws of antipodal Gaussian classes with 20 points, sizes of ours",
)


# %%NBQA-CELL-SEP476b88
def stages(rows, p):
    """Velocity of the limit flow, and when the next datum becomes right, or joins."""
    tiny = 1e-10 * np.abs(p).max()
    if p.min() < -tiny:
        wrong = p < -tiny
        pull = rows[wrong].sum(axis=0) / len(p)
        return pull, (-p[wrong] / (rows[wrong] @ pull)).min()
    tied = p <= p.min() + tiny
    shortest = least_norm(rows[tied], np.ones(tied.sum())).x
    pull = shortest / (shortest @ shortest)
    late = pull @ pull - rows @ pull
    joins = ~tied & (late > 1e-12 * (pull @ pull))
    return pull, ((p - p.min())[joins] / late[joins]).min(initial=np.inf)


def small_start(rows, p):
    return (rows.mean(axis=0) / 2, np.inf)


def limit_flow(start, inputs, labels, velocity=stages, beyond=1.0):
    """Corners (clock, smallest margin, weights), by default up to agreement."""
    side, w, clock, corners, entry = np.outer(start.a, labels), start.w, 0.0, [], None
    right = side * (w @ inputs.T) > 0
    while entry is None or corners[-1][1] < beyond * entry:
        slopes = np.where(right == (side > 0), 1.0, start.slope)
        rows = ((slopes * side).T[:, :, None] * inputs[:, None]).reshape(len(labels), -1)
        p = rows @ w.ravel()
        pull, event = velocity(rows, p)
        pull = pull.reshape(w.shape)
        crossing = np.where(right, np.inf, -(w @ inputs.T) / (pull @ inputs.T))
        first = np.unravel_index(crossing.argmin(), crossing.shape)
        step = min(crossing[first], event, clock or np.inf)  # the clock doubles at most
        corners.append((clock, p.min(), w))
        entry = p.min() if entry is None and right.all() else entry
        right[first] |= crossing[first] <= step
        w, clock = w + step * pull, clock + step
    return corners


def constant(*task):
    return max(0.0, limit_flow(*task)[-1][1])


# %%NBQA-CELL-SEP476b88
def scattered(kind):
    return lambda draws: separable_data(kind, 4, rng=draws, decades=1)


families = lambda draws: two_classes(6, draws), scattered("wide"), scattered("orthant")


def flow(case, scale, log_until=1e7, most=100_000):
    start = case.start.with_weights(scale * case.start.w, case.start.a)
    how = {"train": "first", "rtol": 1e-7, "max_steps": most}
    return gradient_flow(start, *case.data, LOGISTIC, log_until=log_until, **how)


def entry_of(case, run):
    """The logarithm of the time at which the last product becomes right."""
    products = case.side * (run.directions @ case.data[0].T)
    return run.log_times[np.flatnonzero(products.min(axis=(1, 2)) < 1e-9).max()]


def weights(run, log_times):
    at = run.at(log_times=log_times)
    return np.exp(at.log_norms)[..., None] * at.directions


def large(draw, slope, seed):
    """A start that is wrong on a datum, its constant c, and its flows from 400/c and 800/c."""
    draws, case = generator(seed), SimpleNamespace(runs=[])
    while not case.runs or not all("log time" in run.stopped for run in case.runs):
        case.data = x, y = draw(draws)
        start = Start.two_sided(2, x.shape[1], 0.0, rng=draws, v=2**-0.5).network(slope)
        case.start, case.side = start, np.outer(np.sign(start.a), y)
        case.c = constant(start, x, y)
        wrong = case.c > 0 and (y * start(x)).min() < 0
        case.runs = [flow(case, ln_t / case.c, most=400) for ln_t in (400, 800) if wrong]
    case.entries = [entry_of(case, run) for run in case.runs]
    return case


cases = [
    large(draw, slope, 10 * family + k)
    for family, draw in enumerate(families, 1)
    for k, slope in enumerate((0.5, 0.3, 0.2, 0.1, 0.05))
]


# %%NBQA-CELL-SEP476b88
def bend_of(w):
    return off_line(case.start.with_weights(w, case.start.a))


fig, (left, right) = figures.panels(2, height=3.1)
off_small, off_large, scales = [], [], np.geomspace(1e-3, 10, 5)
for case, colour in (cases[0], figures.SIMULATION), (cases[5], figures.CONTRAST):
    T0 = limit_flow(case.start, *case.data, velocity=small_start)[-1][0]
    every = np.append(scales, np.array([400, 800]) / case.c)
    logs = [entry_of(case, flow(case, scale, log_until=1e4)) for scale in scales]
    left.loglog(every, np.logaddexp(0, [*logs, *case.entries]), "o", color=colour)
    for line, ends in (T0, (7e-4, 0.3)), (case.c, (1, 800)):
        left.loglog(ends, line * np.array(ends), **figures.DASHED)
    off_small.append(abs(np.exp(logs[0]) / (T0 * scales[0]) - 1))
    off_large.append(abs(case.entries[1] / 800 - 1))
say(off_small=max(off_small), off_large=max(off_large))
left.set(xlabel=r"scale $\lambda$", ylabel=r"$\ln(1+t_e)$")
case = cases[0]
ratios = np.geomspace(0.02, 5, 200) * case.c
shades = figures.FOURTH, figures.THIRD, figures.SIMULATION
for scale, colour, width in zip((3, 20, 800 / case.c), shades, (2, 2, 4)):
    curve = [bend_of(w) for w in weights(flow(case, scale, log_until=1e4), ratios * scale)]
    right.semilogx(ratios / case.c, curve, color=colour, linewidth=width, alpha=0.6)
clocks, margins, path = map(np.array, zip(*limit_flow(case.start, *case.data, beyond=5)))
fine = np.interp(ratios, margins, clocks)
path = np.array([np.interp(fine, clocks, track) for track in path.reshape(len(path), -1).T])
shape = [bend_of(w) for w in path.T.reshape(-1, *case.start.w.shape)]
right.semilogx(ratios / case.c, shape, **figures.DASHED)
right.axvline(1, color=figures.THEORY, linewidth=0.6)
right.set(xlabel=r"$\ln t/(c\lambda)$", ylabel="bend (degrees)")
plt.show()


# %%NBQA-CELL-SEP476b88
def turned(inputs, labels):
    """The same data, but the first signed product with the last is -0.05 of what it was."""
    x, last = labels[0] * inputs[0], labels[-1] * inputs[-1]
    moved = x - 1.05 * (x @ last) / (last @ last) * last
    return np.vstack([labels[0] * moved, inputs[1:]]), labels


def least_excess(inputs, labels, slope, scale, draws):
    """The least rise of a product in a step, above its bound (zero for negative cosines)."""
    start = Start.two_sided(3, inputs.shape[1], np.log(scale), rng=draws).network(slope)
    order, seen = draws.integers(len(labels), size=200), []

    def look(net):
        return seen.append((net.w @ inputs.T, labels * net(inputs)))

    how = {"train_a": False, "record": look, "record_at": range(201), "samples": order}
    gradient_descent(start, inputs, labels, LOGISTIC, step=0.1, steps=200, **how)
    products, margins = map(np.array, zip(*seen))
    forces = 1 / (1 + np.exp(margins[np.arange(200), order]))
    gram = np.maximum(0, np.outer(labels, labels) * (inputs @ inputs.T))[order]
    rises = np.outer(start.a, labels) * np.diff(products, axis=0)
    return (rises - 0.1 * slope * (forces[:, None] * gram)[:, None]).min()


excesses, broken = [], []
for family, kind in enumerate(SEPARABLE):
    for k, how in enumerate(((0.01, 1), (0.1, 0.01), (0.3, 3), (0.9, 0.1), (1.0, 1))):
        draws = generator(100 + 10 * family + k)
        data = separable_data(kind, 8, rng=draws, decades=1)
        excesses.append(least_excess(*data, *how, draws))
        broken.append(least_excess(*turned(*data), *how, draws))
verify(
    "sarussi2021-orthogonally-separable",
    measured=excesses,
    at_least=0.0,
    atol=1e-12,
    because="products below 1000 are rounded to 1e-13",
    control=Variant("one slightly negative product", measured=broken, share=0.9),
)


# %%NBQA-CELL-SEP476b88
def shortest(case):
    """The limit of the perfect regime, from program (8), for two neurons a type."""
    pair = agreement_program(*case.data, case.start.slope).x.reshape(2, -1)
    return np.repeat(pair, 2, axis=0) / (2 * case.start.a[0])


first = [case.side * (case.start.w @ case.data[0].T) for case in cases]
final = [case.side * (shortest(case) @ case.data[0].T) for case in cases]
naive = [case.c / (-p / gain).max() for case, p, gain in zip(cases, first, final)]
increments = np.array([np.diff(case.entries)[0] / 400 for case in cases])
wrongs, off = [(p < 0).sum() for p in first], np.abs(increments - 1)
say(least_wrong=min(wrongs), most_wrong=max(wrongs), worst=off.max(), median=np.median(off))
verify(
    "sarussi2021-large-init-time",
    measured=increments,
    predicted=1.0,
    atol=24 / 400,
    because="at most 24 signs change, and each may shift ln t by a number of order 1",
    control=Variant("straight to the limit", measured=increments * naive, share=0.5),
)


# %%NBQA-CELL-SEP476b88
def speed(case):
    return np.diff(weights(case.runs[1], [1e6, 1e7]), axis=0)[0] / 9e6


def size(case):
    return 800 / case.c * np.linalg.norm(case.start.w)


def far_off(v, case):
    return np.linalg.norm(v - shortest(case)) * 9e6 / (2 * size(case))


def hard_margin(case):
    """Neurons along the normal of the hard margin, of the length that fits best."""
    normal = np.outer(np.sign(case.start.a), linear_svm(*case.data).x)
    return normal * (normal * shortest(case)).sum() / (normal**2).sum()


other = [far_off(hard_margin(case), case) for case in cases]
say(late_bend=max(off_line(case.runs[1].network_at()) for case in cases[:5]))
verify(
    "sarussi2021-large-init",
    measured=[far_off(speed(case), case) for case in cases],
    at_most=1.0,
    atol=1e-3,
    because="what is left of the start moves by less than twice its size; 0.001 for the integrator",
    control=Variant("the hard margin", measured=other, share=0.9),
)


# %%NBQA-CELL-SEP476b88
points, bent, case = np.array([[1, 0], [-(0.75**0.5), 0.5], [-1, 0]]), [], cases[5]
for k in range(10):
    start = Start.two_sided(2, 2, 0.0, rng=generator(300 + k), v=2**-0.5).network(0.1)
    three = SimpleNamespace(start=start, data=(points, [1, 1, -1]))
    bent.append(off_line(flow(three, 30.0, log_until=1e6).network_at()) > 1)
silent = case.start.w.copy()
silent[0] = -np.linalg.pinv(case.data[0]).sum(axis=1)
starts = [TwoLayer(silent, case.start.a, slope) for slope in (0.1, 0.01, 0.001)]
slow = [start.slope * constant(start, *case.data) for start in starts]
say(drawn_c=constant(drawn_start, *drawn_data), drawn_end=np.log(2000 * 0.05))
say(bent=sum(bent), slow_1=slow[0], slow_2=slow[1], slow_3=slow[2])


# %%NBQA-CELL-SEP476b88
say(seconds=process_time() - started)
