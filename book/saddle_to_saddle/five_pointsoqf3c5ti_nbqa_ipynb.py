# %%NBQA-CELL-SEP476b88
from time import process_time

import matplotlib.pyplot as plt
import numpy as np
import sympy as sp

from executable_claims import Variant, verify, verify_all
from lib import figures
from lib.flow import gradient_flow
from lib.geometry.programs import largest_response, minimum_norm_interpolation
from lib.models.two_layer import Start
from lib.prose import say
from lib.seeds import generator
from lib.training.descent import spherical_descent
from lib.training.losses import SQUARE

figures.use_style()
started = process_time()


# %%NBQA-CELL-SEP476b88
positions = np.array([-1.5, -1.0, 0.0, 0.25, 2.0])
inputs = np.column_stack([positions, np.ones(5)])
labels = np.array([0.7, -0.3, -0.3, 0.4, 0.2])
least = 26 / 5 + 51 * np.sqrt(17) / 70
linear = np.array([-4 / 35, 3 / 7])
PAPER_SCALE = np.log(1e-4 / np.sqrt(60))
CLOCK, STEP = 2e-3, 0.1


def spherical(draws, m, log_scale, moments):
    """Many networks at once, by descent that keeps balance and signs; at the flow times."""
    starts = [Start.gaussian(m, 2, log_scale, rng=generator(k)) for k in draws]
    parts = ("directions", "log_norms", "signs")
    batch = Start(*[np.stack([getattr(one, part) for one in starts]) for part in parts])
    at = [round(time / STEP) for time in moments]
    options = dict(step=STEP, steps=max(at), record_at=at, record=lambda now: now)
    run = spherical_descent(batch, inputs, labels, SQUARE, **options)
    seen = dict(zip(run.steps.tolist(), run.recorded))
    return [seen[step] for step in at]


def costs(batch):
    return np.exp(2 * batch.log_norms).sum(axis=-1)


def errors(batch):
    """The mean squared error 2L of every network."""
    active = np.maximum(batch.directions @ inputs.T, 0)
    outputs = ((batch.signs * np.exp(2 * batch.log_norms))[..., None] * active).sum(axis=-2)
    return ((outputs - labels) ** 2).mean(axis=-1)


def groups(directions, log_norms, signs, apart=0.02):
    """Neurons of one sign and direction, up to an angle: (kink, sign, left, cost), large ones."""
    size = np.exp(2 * (log_norms - log_norms.max()))
    angles = np.arctan2(directions[:, 1], directions[:, 0])
    found = []
    for j in (j for j in np.argsort(angles) if size[j] >= 1e-3):
        if found and signs[j] == found[-1][1] and angles[j] - found[-1][0] < apart:
            found[-1][2] += np.exp(2 * log_norms[j]) * directions[j]
        else:
            found.append([angles[j], signs[j], np.exp(2 * log_norms[j]) * directions[j]])
        found[-1][0] = angles[j]
    return [(-v[1] / v[0], s, v[0] < 0, np.hypot(*v)) for _, s, v in found]


# %%NBQA-CELL-SEP476b88
iterations = (15_000, 94_000, 150_000, 300_000)
paper_draws = range(40, 52)
times = np.arange(0.0, 1000.0, 4.0)
moments = [CLOCK * k for k in iterations] + [800, 900, 1200, *times]
paper_states = spherical(paper_draws, 60, PAPER_SCALE, moments)
paper_states, path = paper_states[:7], paper_states[7:]
grid = np.linspace(-2.2, 9.5, 800)
on_grid = np.column_stack([grid, np.ones(800)])
fig, axes = figures.panels(2, rows=2, height=2.1, sharex=True, sharey=True)
for state, iteration, axis in zip(paper_states, iterations, axes.flat):
    one = Start(state.directions[0], state.log_norms[0], state.signs[0])
    axis.plot(grid, one.network()(on_grid), color=figures.SIMULATION)
    axis.plot(positions, labels, "o", color=figures.THEORY, markersize=4)
    for kink, sign, left, _ in groups(one.directions, one.log_norms, one.signs):
        colour = figures.CONTRAST if sign > 0 else figures.FOURTH
        height = one.network()([[kink, 1.0]])[0]
        axis.plot(kink, height, "<" if left else ">", color=colour, markersize=7)
    axis.set(title=f"iteration {iteration:,}", xlim=(-2.2, 9.5), ylim=(-1.8, 1.2))
axes[1, 1].annotate("least cost, dashed", (1.2, -1.1), color=figures.THEORY)
hull = np.array([-1.5, -5 / 12, 0.25, 2.0])
axes[1, 1].plot(hull, [0.7, -22 / 15, 0.4, 0.2], **figures.DASHED)
axes[0, 1].annotate("positive groups", (2.6, -0.7), color=figures.CONTRAST)
axes[1, 0].annotate("a negative group", (3, -0.9), color=figures.FOURTH)
fig.supxlabel(r"$\xi$", fontsize="medium", color=figures.THEORY)
plt.show()


# %%NBQA-CELL-SEP476b88
fig, axis = figures.panels(1, height=2.6)
ratios = [costs(now) / least for now in path]
axis.plot(times / CLOCK, ratios, color=figures.SIMULATION, lw=0.8)
axis.axhline(1 + np.linalg.norm(linear) / least, **figures.DASHED)
axis.axhline(1, color=figures.THEORY, linewidth=0.6)
axis.annotate("1.0541", (1e4, 1.08), color=figures.THEORY)
axis.annotate("least", (1.2e4, 0.93), color=figures.THEORY, va="top")
axis.set(xlabel="iteration of the paper", ylabel="cost / least cost", ylim=(0, 1.25))
axis.xaxis.set_major_formatter("{x:,.0f}")
say(end_low=ratios[-1].min(), end_high=ratios[-1].max())
plt.show()


# %%NBQA-CELL-SEP476b88
def response(w):
    return sum(c * sp.Max(0, w[0] * k + w[1]) for c, k in zip(q, xi))


def side(z, r):
    return r * sp.Max(0, z) + (1 - r) * sp.Max(0, -z)


def f(t):
    return sum(c * side(t - k, r) for c, k, r in parts)


Q, root = sp.Rational, sp.sqrt(17)
xi = [Q(-3, 2), Q(-1), Q(0), Q(1, 4), Q(2)]
y = [Q(7, 10), Q(-3, 10), Q(-3, 10), Q(2, 5), Q(1, 5)]
q = [Q(34, 13), Q(-3), -Q(43, 13) - root, Q(48, 13) + 8 * root / 7, -root / 7]
exact = Q(26, 5) + 51 * root / 70
one, two = (sp.Integer(1), Q(5, 12)), (sp.Integer(1), -Q(1, 4))
zeros = [sum(q), sum(c * k for c, k in zip(q, xi)), sum(map(sp.Mul, q, y)) - exact]
for w, sign in ((one, 1), (two, -1)):
    size = sp.sqrt(w[0] ** 2 + w[1] ** 2)
    zeros += [response(w) - sign * size, response([-part for part in w]) - sign * size]
shares = sp.symbols("r1 r2")  # of right neurons at -5/12 and at 1/4
parts = [(Q(24, 5), -Q(5, 12), shares[0]), (-Q(102, 35), Q(1, 4), shares[1])]
solved = sp.solve([f(t) - v for t, v in zip(xi, y)], shares)
assert all(sp.simplify(zero) == 0 for zero in zeros)
assert all(0 < share < 1 for share in solved.values())
program = minimum_norm_interpolation(inputs, labels)
assert abs(largest_response(inputs, np.array(q, dtype=float), 0.0) - 1) < 1e-12
assert abs(program.value / least - 1) < 1e-7 and abs(program.lower_bound / least - 1) < 1e-7
f"{len(zeros)} terms are zero; shares of right neurons {', '.join(map(str, solved.values()))}"


# %%NBQA-CELL-SEP476b88
def steady(residual, sign):
    """The rates and kinks of the directions in which neurons of a sign can grow."""
    found = []
    sets = [np.arange(5) <= k for k in range(5)] + [np.arange(5) > k for k in range(4)]
    for active in sets:
        force = sign * (active * residual) @ inputs / 5
        if (active == (inputs @ force > 0)).all():
            rate = float(np.linalg.norm(force))
            found.append((round(rate, 4), round(float(-force[1] / force[0]), 3)))
    return sorted(found, reverse=True)


first_rates = steady(labels, +1)
assert not steady(labels, -1)
first_rates


# %%NBQA-CELL-SEP476b88
line = np.polynomial.Polynomial.fit(positions[2:], labels[2:], 1)
at_saddle = np.append([0.0, -0.3], labels[2:] - line(positions[2:]))
level = (at_saddle**2).mean()
((rate_minus, kink_minus),) = steady(at_saddle, -1)
say(directions=len(first_rates), kink_1=first_rates[0][1], kink_3=first_rates[2][1])
say(level=level, kink_minus=kink_minus, rate_minus=rate_minus)
say(level_gap=np.abs(errors(paper_states[1]) / level - 1).max())


# %%NBQA-CELL-SEP476b88
def late_rate(held=True):
    """The least eigenvalue of the linearised flow at the limit."""
    left, negative = np.array([-12.0, -5.0]) / 13, np.array([-4.0, 1.0]) / np.sqrt(17)
    size = np.linalg.norm(linear)
    total = np.zeros((5, 5))
    for cost, v in ((5.2, left), (least - 5.2, negative), (size, linear / size)):
        seen = np.maximum(inputs @ v, 0)
        free = np.outer(seen > 0, seen > 0) * (inputs @ inputs.T)
        bound = held and v is negative
        total += cost * (np.outer(seen, seen) + (np.outer(seen, seen) if bound else free))
    return np.linalg.eigvalsh(total / 5)[0]


def counted(now):
    return [len(groups(*v)) for v in zip(now.directions, now.log_norms, now.signs)]


small_states = [
    spherical(range(60 + 5 * k, 65 + 5 * k), m, -12 * np.log(10), [450, 1500])
    for k, m in enumerate((50, 150))
]
start = Start.gaussian(30, 2, PAPER_SCALE, rng=generator(40))
flow = gradient_flow(start, inputs, labels, SQUARE, until=900, rtol=1e-8)
(twin,) = spherical([40], 30, PAPER_SCALE, [900])
flow_excess = np.exp(2 * flow.log_norms[-1]).sum() - least
ends = [paper_states[6], *(states[-1] for states in small_states)]
ended = [costs(now)[errors(now) < 1e-9] - least for now in ends]
excess = np.concatenate([[flow_excess], *ended]) / np.linalg.norm(linear)
counts = counted(paper_states[1])
small_counts = np.concatenate([counted(states[0]) for states in small_states])
share_at_end = errors(paper_states[3]) / (labels**2).mean()
rates = np.log(errors(paper_states[4]) / errors(paper_states[5])) / 200
rates = np.append(rates, np.log(np.divide(*flow.loss([800.0, 900.0]))) / 200)
free_rate = late_rate(held=False)
apart = np.abs(linear).sum() / np.linalg.norm(linear)
cone = 1 / np.cos(np.arctan(0.5) / 2) - 1
say(late_low=errors(paper_states[3]).min(), late_high=errors(paper_states[3]).max())
small = excess[1 + len(ended[0]) :]
say(cone=cone, small_low=small.min(), small_high=small.max())
say(
    flow_excess=excess[0],
    twin_excess=(costs(twin)[0] - least) / np.linalg.norm(linear),
    mu=late_rate(),
)


# %%NBQA-CELL-SEP476b88
verify_all(
    verify(
        "boursier2022-ours-five-points",
        measured=excess,
        predicted=1.0,
        rtol=cone,
        because="the angle in which all-active left neurons can spread",
        control=Variant("one neuron for slope, one for height", predicted=apart, share=1.0),
    ),
    verify(
        "boursier2022-fig-4c",
        measured=float(np.median(counts)),
        predicted=3,
        because="a count, the median of twelve draws: a draw may lack neurons of one kind",
        control=Variant(
            "the smaller start, at its saddle", measured=np.median(small_counts)
        ),
        printed=Variant("two groups", predicted=2),
    ),
    verify(
        "boursier2022-fig-4e",
        measured=rates,
        predicted=late_rate(),
        rtol=cone,
        because="the all-active part of H varies by this share, as its cost; steps of 0.1 add a "
        "third of a per cent",
        control=Variant("the negative group free to turn", predicted=free_rate, share=1.0),
        printed=Variant("zero at iteration 300,000", share_at_end, at_most=1e-4, share=1.0),
    ),
)


# %%NBQA-CELL-SEP476b88
def construction(positions, labels):
    """Least cost and linear part, by lines through neighbouring points; kinks as in the text."""
    first, _, middle, last = np.diff(labels) / np.diff(positions)
    gap = labels[1] - first * positions[1] - labels[2] + middle * positions[2]
    kinks = np.array([gap / (middle - first), positions[3]])
    changes = np.array([middle - first, last - middle])
    cost = (np.abs(changes) * np.hypot(1, kinks)).sum()
    part = np.array([last, labels[4] - last * positions[4]])
    shares = np.linalg.solve([changes, -changes * kinks], part)
    assert ((shares > 0) & (shares < 1)).all()
    return cost, part


moved, moved_gaps = [], []
for k in range(5):
    draws = generator(80 + k)
    shift, lift = draws.uniform(-0.02, 0.02, (2, 5))
    cost, part = construction(positions + shift, labels + lift)
    points = inputs + np.column_stack([shift, np.zeros(5)])
    begin = Start.gaussian(60, 2, -8 * np.log(10), rng=draws)
    end = spherical_descent(begin, points, labels + lift, SQUARE, step=STEP, steps=12_000)
    moved.append(1 + np.linalg.norm(part) / cost)
    moved_gaps.append(abs(costs(end.network) / cost - moved[-1]))
say(moved_gap=max(moved_gaps), moved_low=min(moved), moved_high=max(moved))


# %%NBQA-CELL-SEP476b88
say(seconds=process_time() - started)
