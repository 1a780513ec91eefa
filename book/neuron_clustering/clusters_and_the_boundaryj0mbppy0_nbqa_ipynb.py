# %%NBQA-CELL-SEP476b88
from itertools import count, islice, product
from time import process_time

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import brentq

from executable_claims import Variant, verify, verify_all
from lib import figures
from lib.data.synthetic import antipodal_gaussians
from lib.flow import gradient_flow
from lib.geometry.level_sets import boundary_angles
from lib.geometry.patterns import cluster_radius
from lib.models.two_layer import Start, TwoLayer
from lib.prose import say
from lib.seeds import generator
from lib.theory.clustering import largest_flip
from lib.training.losses import LOGISTIC

figures.use_style()
started = process_time()


# %%NBQA-CELL-SEP476b88
def sharp(slope, k):
    """The constant C; m / (m + slope m) for even k = 2m."""
    m = k // 2
    return (1 - slope) * m / (m + slope * (k - m))


def extremal(slope, k, excess=0.0):
    """Neurons with r = 1, for k > 1, and <gap, x> = C + excess at x = (1, 0)."""
    m = k // 2
    apart = np.repeat([1.0, -1.0, 0.0], [m, m, k - 2 * m])
    w = np.column_stack([np.zeros(k), np.full(k, 5.0)])
    u = np.column_stack([apart - sharp(slope, k) - excess, np.full(k, 10.0)])
    return w, u


# %%NBQA-CELL-SEP476b88
def network(w, u, a):
    return TwoLayer(np.vstack([w, u]), np.repeat([1.0, -1.0], len(w)), a)


def on_circle(radians):
    return np.column_stack([np.cos(radians), np.sin(radians)])


def gap_of(w, u):
    return w.mean(axis=0) - u.mean(axis=0)


def reach(w, u, slope):
    """The largest |<gap, x>|, |x| = 1, with another sign: on a boundary ray, or along the gap."""
    both, gap = network(w, u, slope), gap_of(w, u)
    rays = on_circle(np.radians(boundary_angles(both)))
    wrong = (both([gap, -gap]) * [1, -1] <= 0).any()
    return max(np.abs(rays @ gap).max(initial=0), wrong * np.linalg.norm(gap))


def output(s, k, gap):
    return network(*extremal(s, k, gap - sharp(s, k)), s)([[1.0, 0.0]])[0]


SLOPES = 0.01, 0.1, 0.3, 0.6, 0.9
cases = list(product(SLOPES, range(2, 6)))
programs = [largest_flip(slope, k) for slope, k in cases]
moved = [brentq(lambda gap: output(s, k, gap), 1e-9, 1.5, xtol=1e-13) for s, k in cases]
constants = [sharp(slope, k) for slope, k in cases]


# %%NBQA-CELL-SEP476b88
K, LATE, last = 2, (1e4, 1e5), {"log_until": 1e5, "train": "first", "rtol": 1e-6}


def ending_in_a_regime(kind, slope, first):
    """Flows from Gaussian starts whose neurons agree in the end, clear of the kinks."""
    for draws in map(generator, count(first)):
        start = Start.two_sided(K, 2, 0.0, rng=draws, v=K**-0.5).network(slope)
        inputs, labels = antipodal_gaussians(12, (1, 1), 0.4, rng=draws)
        inputs[6:] = -inputs[:6] if kind == "symmetric" else inputs[6:]
        inputs += (kind == "shifted") * np.array([1.0, -1.0])
        run = gradient_flow(start, inputs, labels, LOGISTIC, **last)
        ends = (run.directions[-1] @ run.inputs.T).reshape(2, K, -1)
        if (ends * ends[:, :1]).min() > 1e-3:
            yield run


def tilts(run, log_time):
    """Degrees from the boundary to the line of the means, and at most: zero by item 4."""
    at = run.at(log_times=[log_time])
    w, u = np.split((np.exp(at.log_norms)[..., None] * at.directions)[0], 2)
    gap, r = gap_of(w, u), cluster_radius(w, u)
    length, line = np.linalg.norm(gap), np.arctan2(*gap[::-1]) - np.pi / 2
    width = np.arcsin(min(1, sharp(run.slope, K) * r / length))
    edges = on_circle([line - width, line + width]) @ w.mean(axis=0)
    bent = np.abs(edges).min() < r or edges.prod() < 0
    return np.degrees([np.arcsin(reach(w, u, run.slope) / length), bent * width])


families = ("antipodal", 0.1, 10), ("shifted", 0.2, 100), ("symmetric", 0.3, 200)
runs = [run for family in families for run in islice(ending_in_a_regime(*family), 5)]
fan, three = (on_circle(np.radians(a)) for a in ([0, 100, 190, 280], [0, 150, 180]))
start = TwoLayer(1e-3 * fan, K**-0.5 * np.array([1, 1, -1, -1]), 0.1)
split = gradient_flow(start, three, [1, 1, -1], LOGISTIC, **last)


# %%NBQA-CELL-SEP476b88
fig, (left, right) = figures.panels(2, height=3.1)
for k, colour, x, y in (4, figures.SIMULATION, 0.36, 0.56), (3, figures.THIRD, 0.1, 0.44):
    left.plot(np.linspace(0, 1, 99), sharp(np.linspace(0, 1, 99), k), **figures.DASHED)
    left.plot(SLOPES, programs[k - 2 :: 4], "o", color=colour)
    left.plot(SLOPES, moved[k - 2 :: 4], "x", color=colour, markersize=11)
    left.text(x, y, f"$k={k}$", color=colour)
left.axhline(2, color=figures.CONTRAST)
left.text(0.4, 1.82, "factor of the paper", color=figures.CONTRAST)
left.set(xlabel=r"slope $\alpha$", ylabel=r"$\langle\bar w-\bar u,x\rangle$ over $r|x|$")
clock, bent = np.geomspace(5, 1e4, 60), [run for run in runs[10:] if tilts(run, 1e5)[1]]
colours = [figures.SIMULATION] * 4 + [figures.THIRD] + [figures.CONTRAST] * 2
for run, colour in zip([*runs[:2], *runs[5:7], split, *bent[:2]], colours):
    right.loglog(clock, [max(1e-6, tilts(run, s)[0]) for s in clock], color=colour)
right.loglog(clock, [tilts(bent[0], s)[1] for s in clock], **figures.DASHED)
right.text(30, 3e-4, "general", color=figures.SIMULATION)
right.text(6e2, 8e-2, "symmetric", color=figures.CONTRAST)
right.text(2e2, 22, "three points", color=figures.THIRD)
right.set(xlabel=r"$\ln t$", ylabel="angle (degrees)", ylim=(1e-4, 90))
off_programs, off = np.abs(np.array([programs, moved]) - constants).max(axis=1)
say(off=off, off_programs=off_programs)
plt.show()


# %%NBQA-CELL-SEP476b88
def farthest(w, u, slope, x):
    """The largest |<gap, (x, 1)>| with another sign, in units of r |(x, 1)| and of r |x|."""
    z = np.column_stack([x, np.ones(len(x))])
    heights = z @ gap_of(w, u) / cluster_radius(w, u)
    wrong = network(w, u, slope)(z) * heights <= 0
    return [np.abs(wrong * heights / np.linalg.norm(at, axis=1)).max() for at in (z, x)]


draws, leaky, relu, biased = generator(0), [], [], []
for k, slope in enumerate(SLOPES, 2):
    clouds = draws.normal(0, 1, (2, 1, 2)) + 0.1 * draws.standard_normal((2, k, 2))
    decades = draws.standard_normal((2, k, 2)) * 10 ** draws.uniform(-1, 1, (2, k, 1))
    turned = np.array(extremal(slope, k)) @ np.linalg.qr(draws.normal(0, 1, (2, 2)))[0]
    for values, a in ((leaky, slope), (relu, 0.0)):
        values += [reach(*p, a) / cluster_radius(*p) for p in (clouds, decades, turned)]
    for size in (0.01, 0.1, 1.0):
        x, sizes = draws.standard_normal((1000, 3)), 10 ** draws.uniform(-3, 1, 1000)
        x *= (np.append(size, sizes[1:]) / np.linalg.norm(x, axis=1))[:, None]
        frame = [np.append(x[0], 1.0) / np.hypot(1, size), [x[0, 1], -x[0, 0], 0, 0]]
        means, spread = (draws.standard_normal((2, m, 4)) for m in (1, k))
        clusters = [extremal(slope, k, -1e-6) @ np.array(frame), means / 2 + spread]
        clusters += [means / 2 + spread * [0, 0, 0, 1]]
        biased += [farthest(*neurons, slope, x) for neurons in clusters]
with_one, raw = np.transpose(biased)
even_everywhere = [(1 - s) / (1 + s) for s, k in cases]
say(worst=max(leaky), with_one=with_one.max())
verify_all(
    verify(
        "sarussi2021-thm-5.1-sharp",
        measured=[programs, moved],
        predicted=[constants, constants],
        atol=1e-6,
        because="the programs meet their constraints within 1e-7, and the root is found to 1e-13",
        control=Variant("even k for odd k too", predicted=[even_everywhere] * 2, share=0.5),
    ),
    verify(
        "sarussi2021-thm-5.1",
        measured=leaky,
        at_most=2.0,
        because="an inequality; in the plane the rays of the boundary are exact to rounding",
        control=Variant("the same weights with ReLU", measured=relu, share=0.3),
    ),
    verify(
        "sarussi2021-app-K-thm-5.1",
        measured=with_one,
        at_most=2.0,
        because="an inequality, for (x, 1)",
        control=Variant("|x| in place of |(x, 1)|", measured=raw, share=0.2),
    ),
)


# %%NBQA-CELL-SEP476b88
def outputs(slope, g, h):
    """sign(g - h) f / v of 81 networks of four neurons a type with these mean products."""
    a, b, c, d = np.array(list(product((0, 0.5, 1), repeat=4))).T
    z = np.array([g + a, g - a, g + b, g - b, h + c, h - c, h + d, h - d])
    return np.sign(g - h) * (np.repeat([1, -1], 4) @ np.maximum(z, slope * z))


C, sides = sharp(0.2, 4), np.linspace([-1.57, -1.55], [1.57, 1.55], 48).T
points = np.array(list(product(*sides)))
wrong = np.array([outputs(0.2, *point).min() <= 0 for point in points])
theory = np.abs(points[:, 0] - points[:, 1]) <= C * (1 - np.abs(points.max(axis=1)))
say(misplaced=(wrong != theory).sum(), dots=len(points))
fig, axes = figures.panels(height=3.8)
axes.plot(*points[wrong].T, ".", color=figures.SIMULATION, markersize=4)
axes.plot([1, 0, -1, -C, 1], [1, -C, -1, 0, 1], **figures.DASHED)
axes.plot([1, 1, -1, -1, 1], [1, -1, -1, 1, 1], color=figures.THEORY, linewidth=1)
axes.plot([[0.4, -1.6], [1.6, -0.4]], [[-1.6, 0.4], [-0.4, 1.6]], color=figures.CONTRAST)
axes.set(xlabel=r"$\bar g$", ylabel=r"$\bar h$", aspect="equal")
plt.show()


# %%NBQA-CELL-SEP476b88
def worst_turn(w, radius):
    """The largest |<mean, x>| / (r |x|) over inputs x orthogonal to a neuron."""
    mean, squares = w.mean(axis=0), (w**2).sum(axis=1)
    inputs = mean - (w @ mean / squares)[:, None] * w
    return (inputs @ mean / np.linalg.norm(inputs, axis=1)).max() / radius(w)


def mean_square(w):
    return np.sqrt(((w - w.mean(axis=0)) ** 2).sum(axis=1).mean())


draws, flocks, edges = generator(2), [], []
for near in 10 ** draws.uniform([-2, -2, -2, -1, -1], [-1.7, -1.7, -1.7, 0.2, 0.2]):
    mean, apart = draws.standard_normal(6), 0.2 * draws.standard_normal((5, 6))
    flocks += [mean + apart, mean + np.eye(5)[:, :1] * apart[0], 100 * mean + apart]
    edges += [(1, 1 - near), (near - 1, -1), (1, 1 + near)]
turns, loose = ([worst_turn(w, r) for w in flocks] for r in (cluster_radius, mean_square))
halves = [abs(g - h) / 2 / max(abs(g), abs(h)) for g, h in draws.standard_normal((15, 2))]
slopes, edges = draws.uniform(0.05, 0.3, 15), np.array(edges)
least = [outputs(*case).min() for case in zip(slopes, *edges.T)]
inside = [outputs(*case).min() for case in zip(slopes, *0.9 * edges.T)]
verify_all(
    verify(
        "sarussi2021-cor-C.1",
        measured=[*turns, *halves],
        at_most=1.0,
        because="inequalities of Cauchy and Schwarz and of the triangle",
        control=Variant("r a root mean square", measured=[*loose, *halves], share=0.15),
    ),
    verify(
        "sarussi2021-prop-C.1",
        measured=least,
        at_least=4 * slopes * np.abs(edges[:, 0] - edges[:, 1]),
        rtol=1e-9,
        because="f is at least v k alpha |D| there; rounding",
        control=Variant("means a tenth inside the square", measured=inside, share=0.5),
    ),
)


# %%NBQA-CELL-SEP476b88
angles, allowed = np.moveaxis([[tilts(run, s) for s in LATE] for run in runs], 2, 0)
exact, stay = (allowed == 0).all(axis=1), (tilts(split, s)[0] for s in LATE)
say(exact=exact[:10].sum(), exact_symmetric=exact[10:].sum(), widest=allowed.max())
verify(
    "sarussi2021-ours-tilt",
    measured=angles,
    at_most=allowed,
    atol=1e-7,
    because="rays of the boundary nearer than 1e-9 radians are merged",
    control=Variant("three points", measured=15 * [list(stay)], share=1),
)


# %%NBQA-CELL-SEP476b88
fig, axes = figures.panels(2, height=3.4)
pair, axis = np.array([[[1.0, 0.3]], [[-0.2, 1.0]]]), np.linspace(-2, 2, 201)
mesh = np.stack(np.meshgrid(axis, axis), axis=-1)
style = {"linestyles": "solid", "linewidths": 0.9, "colors": figures.THEORY}
for one, slope in zip(axes, (0.2, 0.0)):
    values = network(*pair, slope)(mesh.reshape(-1, 2)).reshape(201, 201)
    one.contour(axis, axis, values, np.linspace(-1.5, 1.5, 12), **style)
    one.set(aspect="equal", xlim=(-2, 2), ylim=(-2, 2), xticks=[], yticks=[])
axes[0].plot(*np.outer([0.7, 1.2], [-2, 2]), color=figures.SIMULATION, linewidth=2.5)
silent = np.maximum(mesh @ pair[0, 0], mesh @ pair[1, 0])
axes[1].contourf(axis, axis, silent, [-9, 0], colors=figures.CONTRAST, alpha=0.5)
plt.show()


# %%NBQA-CELL-SEP476b88
def cell_gradients(w, u):
    """In the four cells: finite differences, the formula, and that of a linear network."""
    for signs in np.array(list(product((1, -1), repeat=2))):
        x = np.linalg.solve([w, u], signs * np.linalg.norm([w, u], axis=1))
        steps = x + 1e-4 * np.vstack([np.eye(2), -np.eye(2)])
        up, down = network([w] * 3, [u] * 3, 0.3)(steps).reshape(2, 2)
        p, q = np.where(signs > 0, 1.0, 0.3)
        yield np.array([(up - down) / 6e-4, p * w - q * u, w - u]) / np.linalg.norm([w, u])


def sine(w, u, a):
    return reach(*np.tile([[w], [u]], (1, 4, 1)), a) / np.linalg.norm(w - u)


def silent(w, u, a):
    return np.mean(network([w], [u], a)(around) == 0)


draws, around = generator(3), on_circle(np.linspace(0, 2 * np.pi, 20001)[1:])
between = np.array([*draws.uniform(0.3, 2.8, 10), 0.02, 0.05, 1.6, 3.1, 3.12])
first, sizes = draws.uniform(0, 6, 15), 10 ** draws.uniform(-1, 1, (2, 15, 1))
pairs = list(zip(sizes[0] * on_circle(first), sizes[1] * on_circle(first + between)))
slopes = np.array([list(cell_gradients(*pair)) for pair in pairs])
zero, filled = ([silent(*pair, slope) for pair in pairs] for slope in (0.0, 1e-3))
verify_all(
    verify(
        "sarussi2021-cor-6.1",
        measured=[sine(*pair, 0.3) for pair in pairs],
        predicted=0.0,
        atol=1e-8,
        because="rays nearer than 1e-9 radians are merged",
        control=Variant("ReLU", measured=[sine(*pair, 0.0) for pair in pairs], share=0.9),
    ),
    verify(
        "sarussi2021-fig-3",
        measured=slopes[:, :, 0],
        predicted=slopes[:, :, 1],
        atol=1e-6,
        because="f is linear in a cell; rounding of differences over a step of 1e-4",
        control=Variant("one gradient, v k (w - u)", predicted=slopes[:, :, 2], share=0.5),
    ),
    verify(
        "sarussi2021-fig-5",
        measured=zero,
        predicted=0.5 - between / (2 * np.pi),
        atol=1e-4,
        because="either edge of the wedge is found to one of 20000 directions",
        control=Variant("slope 0.001", measured=filled, share=0.8),
    ),
)


# %%NBQA-CELL-SEP476b88
say(seconds=process_time() - started)
