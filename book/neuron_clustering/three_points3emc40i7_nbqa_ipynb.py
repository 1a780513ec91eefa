# %%NBQA-CELL-SEP476b88
from itertools import product
from time import process_time

import matplotlib.pyplot as plt
import numpy as np
from scipy.special import wrightomega

from executable_claims import Variant, verify, verify_all
from lib import figures
from lib.flow import gradient_flow
from lib.geometry.level_sets import boundary_angles, boundary_bend
from lib.geometry.programs import Infeasible, cell_program, least_norm
from lib.models.two_layer import TwoLayer
from lib.prose import say
from lib.seeds import generator
from lib.training.descent import gradient_descent
from lib.training.losses import LOGISTIC

figures.use_style()
started = process_time()


# %%NBQA-CELL-SEP476b88
def three_points(psi):
    angle = np.radians(psi)
    inputs = np.array([(1, 0), (np.cos(angle), np.sin(angle)), (-1, 0)])
    return inputs, np.array([1.0, 1.0, -1.0])


def critical(psi):
    c = -np.cos(np.radians(psi))
    return min(c / (1 - c), (1 - c) / c)


# %%NBQA-CELL-SEP476b88
K = 4
OUTPUTS = K**-0.5 * np.repeat([1.0, -1.0], K)


def random_start(psi, slope, wrong, scale, draws):
    """Gaussian neurons of this scale, of which the first ``wrong`` of the w do not serve x_2."""
    w, x = scale * draws.normal(size=(2 * K, 2)), three_points(psi)[0][1]
    sides = np.where(np.arange(K) < wrong, -1, 1) * np.sign(w[:K] @ x)
    w[:K] *= sides[:, None]
    return TwoLayer(w, OUTPUTS, slope)


def end(psi, slope, counts):
    """The program of item 2 for so many neurons of each role: network, margin, consistent or not."""
    x, _ = three_points(psi)
    sizes = np.array([*counts, K])
    rows = []
    for at_x2 in (1, slope):  # the two slopes that the u can have at x_2
        slopes = np.array(
            [[1, slope, slope], [1, 1, slope], [slope, 1, 1], [slope, at_x2, 1]]
        )
        signed = slopes.T * [1, 1, 1, -1] * np.array([[1], [1], [-1]])
        rows += [(K**-0.5 * np.sqrt(sizes) * signed)[..., None] * x[:, None]]
    present = sizes > 0
    rows = np.concatenate(rows)[:, present].reshape(6, -1)
    solved = least_norm(rows, np.ones(6))
    groups = np.zeros((4, 2))
    groups[present] = solved.x.reshape(-1, 2) / np.sqrt(sizes[present])[:, None]
    signs = np.array([[1, -1, 0], [1, 1, 0], [-1, 1, 0], [0, 0, 1]])
    consistent = ((groups @ x.T * signs)[present][signs[present] != 0] > 0).all()
    network = TwoLayer(np.repeat(groups, sizes, axis=0), OUTPUTS, slope)
    return network, 1 / solved.norm, consistent


def flow(network, psi, log_until):
    task = *three_points(psi), LOGISTIC
    return gradient_flow(network, *task, log_until=log_until, train="first", rtol=1e-7)


def serving(network, psi):
    return (network.w[:K] @ three_points(psi)[0][1] > 0).sum()


def can_last(psi, slope):
    """Whether an end is consistent in which two of four w leave out x_2."""
    return any(end(psi, slope, (2, both, 2 - both))[2] for both in range(3))


def last_split(psi):
    """The slope below the critical one up to which a split can last, by bisection."""
    low, high = 0.0, critical(psi)
    while high - low > 1e-3:
        middle = (low + high) / 2
        low, high = (middle, high) if can_last(psi, middle) else (low, middle)
    return low


# %%NBQA-CELL-SEP476b88
FACTORS = 0.15, 0.4, 0.65, 0.9, 1.15
grid = [(p, f * critical(p)) for p, f in product(range(96, 175, 9), FACTORS)]
grid = [place for place in grid if place[1] < 1]
runs = [
    flow(random_start(*place, 2, 1e-9, generator(1000 + k)), place[0], 1e6)
    for k, place in enumerate(grid)
]
below = np.array([slope < critical(psi) for psi, slope in grid])
groups = np.array([serving(r.network_at(1e-4), p) for r, (p, _) in zip(runs, grid)])
bends = np.array([boundary_bend(run.network_at()) for run in runs])
able = below & [can_last(*place) for place in grid]
say(could=able.sum(), lasted=(bends[able] > 1).sum())
between = below & ~able
say(gap=between.sum(), between=(bends[between] < 1e-9).sum())
say(small=below.sum(), split=(groups[below] == 2).sum())

fig, (left, right) = figures.panels(2, height=3.4)
for chosen, colour in (
    (below & (bends > 1), figures.SIMULATION),
    (below & (bends < 1), figures.CONTRAST),
    (~below, figures.THIRD),
):
    left.plot(*np.array(grid)[chosen].T, "o", color=colour, markersize=4)
fine = np.linspace(92, 178, 44)
left.plot(fine, [critical(psi) for psi in fine], **figures.DASHED)
fine = np.linspace(92, 133, 30)
left.plot(fine, [last_split(psi) for psi in fine], **figures.DASHED)
left.annotate("one group", (150, 0.55), color=figures.THIRD)
left.annotate("split,\nthen\nstraight", (89, 0.66), color=figures.CONTRAST)
left.annotate("split, bent", (152, 0.2), color=figures.SIMULATION)
left.annotate(r"$\alpha_c$", (126, 0.9))
left.set(xlabel=r"angle $\psi$ of $x_2$ (degrees)", ylabel=r"slope $\alpha$")
shown = flow(random_start(150, 0.1, 2, 1e-9, generator(1)), 150, 1e6).network_at()
program = end(150, 0.1, (2, 0, 2))[0]
for x, y in zip(*three_points(150)):
    side = figures.SIMULATION if y > 0 else figures.CONTRAST
    right.plot(*x, "+" if y > 0 else "_", color=side, markersize=11)
for j, w in enumerate(shown.w / np.linalg.norm(shown.w, axis=1).max()):
    colour = figures.SIMULATION if j < K else figures.CONTRAST
    right.annotate("", w, (0, 0), arrowprops={"arrowstyle": "->", "color": colour})
for network, style in (
    (shown, {"color": figures.THIRD, "linewidth": 3, "alpha": 0.6}),
    (program, figures.DASHED),
):
    for ray in np.radians(boundary_angles(network)):
        right.plot([0, 1.3 * np.cos(ray)], [0, 1.3 * np.sin(ray)], **style)
right.annotate("$x_1$", (1, 0), xytext=(4, 6), textcoords="offset points")
right.annotate("$x_2$", three_points(150)[0][1], xytext=(-6, 8), textcoords="offset points")
right.annotate("$x_3$", (-1, 0), xytext=(-12, -14), textcoords="offset points")
right.set(aspect="equal", xlim=(-1.35, 1.35), ylim=(-1.35, 1.35), xlabel="first coordinate")
right.set_ylabel("second coordinate")
say(shown_bend=boundary_bend(shown), shown_program=boundary_bend(program))
plt.show()


# %%NBQA-CELL-SEP476b88
TRIED = list(product((100, 112, 130, 150, 168), (0.5, 0.8, 0.95, 1.05, 1.25, 1.6)))


def early(psi, factor, draws, steps=1000):
    """How many of the w serve x_2 at the start, and after the early time."""
    slope, delta = factor * critical(psi), abs(factor - 1) * critical(psi)
    start = random_start(psi, slope, draws.integers(1, K), 1e-6 * delta**2, draws)
    step = 1e-3 * delta / steps
    task = *three_points(psi), LOGISTIC
    end = gradient_descent(start, *task, step=step, steps=steps, train_a=False).network
    return serving(start, psi), serving(end, psi)


first, counted = np.transpose([early(*one, generator(k)) for k, one in enumerate(TRIED)])
psis, slopes = np.array([(psi, factor * critical(psi)) for psi, factor in TRIED]).T
cosines = -np.cos(np.radians(psis))
come = slopes > cosines / (1 - cosines)  # those that do not serve x_2 turn to it
leave = slopes > (1 - cosines) / cosines  # those that serve it turn away
theory = np.select([come, leave], [K, 0], first)
one_sided = np.where(come, K, first)
verify(
    "sarussi2021-split-threshold",
    measured=counted,
    predicted=theory,
    because="a count",
    control=Variant("only the wrong side can change", predicted=one_sided, share=0.25),
)


# %%NBQA-CELL-SEP476b88
COUNTS = [(i, j, K - i - j) for i in range(K + 1) for j in range(K + 1 - i)]


def gained(run):
    """What the neurons gain while ln t grows by 1, shape (2 K, 2)."""
    at = run.at(log_times=[1e5, 1e6])
    return np.diff(np.exp(at.log_norms)[..., None] * at.directions, axis=0)[0] / 9e5


def end_of(network, psi, slope):
    """The end for the roles that the w of this network have, neuron by neuron, and whether they are roles."""
    positive = network.w[:K] @ three_points(psi)[0][:2].T > 0
    role = np.select([positive.all(axis=1), positive[:, 1]], [1, 2], 0)
    program, _, consistent = end(psi, slope, np.bincount(role, minlength=3))
    order = np.append(np.argsort(np.argsort(role, kind="stable")), range(K, 2 * K))
    return program.w[order], consistent and positive.any(axis=1).all()


def largest_clustered(psi, slope):
    """The largest margin of a clustered network, over all cells of one w and one u."""
    inputs, labels = three_points(psi)
    sectors = np.radians(psi / 2 + np.array([0, 90, 180, 270]))
    sides, best = np.column_stack([np.cos(sectors), np.sin(sectors)]), 0.0
    for w, u in product(sides, sides):
        try:
            pair = TwoLayer(np.array([w, u]), np.array([1.0, -1.0]), slope)
            best = max(best, 1 / cell_program(pair, inputs, labels).norm)
        except Infeasible:
            continue
    return best


more = [(p, f * critical(p), n) for p, f, n in product((105, 127, 150), (0.3, 0.8), (1, 3))]
late = [
    flow(random_start(p, a, n, 1e-9, generator(2000 + k)), p, 1e6)
    for k, (p, a, n) in enumerate(more)
]
places = grid + [one[:2] for one in more]
numbers = [sum(end(*place, counts)[2] for counts in COUNTS) for place in places]
say(fewest=min(numbers), most=max(numbers))
reached, ends, together = [], [], []
for place, run in zip(places, runs + late):
    program, consistent = end_of(run.network_at(), *place)
    reached.append(gained(run))
    ends.append(program if consistent else np.full((2 * K, 2), np.inf))
    together.append(end(*place, (0, K, 0))[0].w)


def gain(psi, factor):
    """The margin over the norm at the end of a flow, relative to the largest clustered one."""
    slope, (inputs, labels) = factor * critical(psi), three_points(psi)
    last = flow(random_start(psi, slope, 2, 1e-9, generator(psi)), psi, 1e6).network_at()
    margin = (labels * last(inputs)).min() / np.linalg.norm(last.w)
    return margin / largest_clustered(psi, slope)


verify_all(
    verify(
        "sarussi2021-ours-split-ends",
        measured=reached,
        predicted=ends,
        atol=1e-6,
        because="the rest moves by less than 0.9 over 9e5",
        control=Variant("all neurons together", predicted=together, share=0.3),
    ),
    verify(
        "sarussi2021-split-beats-clustered",
        measured=[gain(psi, 0.5) for psi in (140, 150, 160, 170)],
        at_least=1.0,
        because="the flow's margin is one that a network has; the programs are solved to rounding",
        control=Variant(
            "at the angles where it does not pay",
            measured=[gain(*one) for one in ((115, 0.3), (125, 0.4), (130, 0.5))],
        ),
    ),
)


# %%NBQA-CELL-SEP476b88
def margins_of_pair(slope, draws, log_times=np.linspace(-4, 14, 10)):
    """The common margin of a symmetric pair by the flow, the closed form, and the control."""
    dimension = draws.integers(2, 5)
    x, w = draws.normal(size=dimension), draws.normal(size=(K, dimension))
    w[:2] *= [[np.sign(w[0] @ x)], [-np.sign(w[1] @ x)]]
    start = TwoLayer(np.append(w, -w, axis=0), OUTPUTS, slope)
    pair = [x, -x], [1, -1], LOGISTIC
    run = gradient_flow(start, *pair, log_until=14, train="first")
    at, first, rate = run.at(log_times=log_times), start([x])[0], x @ x / 2
    for each in np.exp(at.log_norms)[..., None] * at.directions:
        yield TwoLayer(each, OUTPUTS, slope)([x])[0]
    for factor in ((1 + slope) ** 2, 1 + slope**2):
        yield from np.log(
            wrightomega(first + np.exp(first) + rate * factor * np.exp(log_times))
        )


tries = enumerate(np.repeat([0.05, 0.35, 0.6, 0.8, 1.0], 2), 3000)
pairs = np.array([[*margins_of_pair(slope, generator(k))] for k, slope in tries])
followed, closed, apart = np.split(pairs, 3, axis=1)
verify(
    "sarussi2021-symmetric-pair",
    measured=followed,
    predicted=closed,
    rtol=1e-7,
    atol=1e-9,
    because="steps are solved to 1e-10, and there are fewer than 1000",
    control=Variant("1 + slope^2 for (1 + slope)^2", predicted=apart, share=0.5),
)


# %%NBQA-CELL-SEP476b88
def fewest_serving(scale):
    run = flow(random_start(150, 1.05 * critical(150), 2, scale, generator(3)), 150, 6.0)
    w = run.at(log_times=np.linspace(-12.0, 5.9, 400)).directions[:, :K]
    return int((w @ three_points(150)[0][1] > 0).sum(axis=1).min())


say(small_left=fewest_serving(1e-6), large_left=fewest_serving(0.1))


# %%NBQA-CELL-SEP476b88
say(seconds=process_time() - started)
