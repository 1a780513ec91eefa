# %%NBQA-CELL-SEP476b88
from itertools import product
from time import process_time

import matplotlib.pyplot as plt
import numpy as np
from scipy.special import expit

from executable_claims import Variant, verify, verify_all
from lib import figures
from lib.data.synthetic import two_moons_with_gap
from lib.models.features import decompose
from lib.prose import say
from lib.seeds import generator

figures.use_style()
started = process_time()


# %%NBQA-CELL-SEP476b88
def predicted_error(kernel, drift, y):
    """The vector e of the theorem, for the limit of K and the matrix D as a function of R."""

    def velocity(state):
        f, R, e = state
        p = expit(-y * f)
        r, doubt = y * p, p * (1 - p)
        return np.array([kernel @ r, r, drift(R) @ r - kernel @ (doubt * e)])

    return flow(velocity, np.zeros((3, len(y))), 2 * STEPS)[2]


# %%NBQA-CELL-SEP476b88
TIME, STEPS, WIDTHS, COUNTS = 4.0, 12, np.array([64, 256, 1024, 4096]), (64, 64, 32, 16)
# Slopes are written in the value h of a unit, curvatures in h and the slope d.
VALUE = {"tanh": np.tanh, "softplus": lambda z: np.log1p(np.exp(z))}
VALUE["ReLU"] = lambda z: np.sqrt(2) * np.maximum(z, 0)
SLOPE = {"tanh": lambda h: 1 - h * h, "softplus": lambda h: 1 - np.exp(-h)}
SLOPE["ReLU"] = lambda h: np.sqrt(2) * (h > 0)
CURVATURE = {"tanh": lambda h, d: -2 * h * d, "softplus": lambda h, d: d * (1 - d)}


def flow(velocity, state, steps):
    """The end of a flow by the method of Runge and Kutta, of fourth order."""
    h = TIME / steps
    for _ in range(steps):
        one = velocity(state)
        two = velocity(state + h / 2 * one)
        three = velocity(state + h / 2 * two)
        state = state + h / 6 * (one + 2 * two + 2 * three + velocity(state + h * three))
    return state


def trained(kind, a, w, mass, eps, x, y):
    """Ends f and f_lin of networks sum(mass a phi) / eps, relative changes of Phi and K."""
    mass, state = mass[:, None], np.concatenate([a[..., None], w], axis=-1)

    def gram(h):
        return np.swapaxes(mass * h, -1, -2) @ h

    def kernel(h, b):
        return gram(h) + gram(b) * (x @ x.T)

    def outputs(state, h):
        return (mass * state[..., :1] * h).sum(axis=-2) / eps

    def size(h, b):
        return np.sqrt(np.trace(kernel(h, b), axis1=-2, axis2=-1))

    def layer(state):
        h = VALUE[kind](state[..., 1:] @ x.T)
        return h, state[..., :1] * SLOPE[kind](h)

    def velocity(state):
        h, b = layer(state)
        r = y * expit(y * (start - outputs(state, h)))
        return eps * np.concatenate([h @ r[..., None], (b * r[..., None, :]) @ x], axis=-1)

    h, b = layer(state)
    k, start = kernel(h, b), outputs(state, h)
    state = flow(velocity, state, STEPS)

    def linear(f):
        return (k @ (y * expit(-y * f))[..., None])[..., 0]

    late = layer(state)
    moved = size(late[0] - h, late[1] - b) / size(h, b)
    changed = np.divide(*np.linalg.norm([kernel(*late) - k, k], axis=(-1, -2)))
    return outputs(state, late[0]) - start, flow(linear, 0 * start, STEPS), moved, changed


def smooth_drift(kind, moments, w, mass, x):
    """The limit of K, and D as a function of R, for a law of w and E[a], E[a^2], E[a^3]."""
    h, g = VALUE[kind](w @ x.T), x @ x.T
    d = SLOPE[kind](h)

    def mean(left, right):
        return (left.T * mass) @ right

    def drift(R):
        A, B = (h @ R)[:, None], (d * R) @ g
        half = moments[0] * (mean(d * B, h) + mean(d, A * d) * g)
        half += moments[2] * mean(CURVATURE[kind](h, d) * B, d) * g
        return half + half.T

    return mean(h, h) + moments[1] * mean(d, d) * g, drift


def moons(n, k):
    """Points of two moons with a constant coordinate, and labels."""
    points, y = two_moons_with_gap(n, 0.1, rng=generator(k))
    return np.column_stack([points, np.ones(n)]), y


def ends(kind, readouts, m, count, data, k=0, eps=None):
    """Outputs of trained networks of width m with Gaussian w, and logarithms of all errors."""
    draws, size, eps = generator(m + k), (count, m, data[0].shape[1]), eps or m**-0.5
    units = draws.choice(readouts, (count, m)), draws.normal(size=size), np.full(m, 1 / m)
    f, linear, *changes = trained(kind, *units, eps, *data)
    sizes = np.linalg.norm([f - linear, linear], axis=-1)
    return f, linear, np.log([sizes[0] / sizes[1], *changes])


def halved(kind, units, sizes, data):
    """Two limits of (f - f_lin) / eps, from the large and from the small two of three sizes."""
    small = [np.subtract(*trained(kind, *units, eps, *data)[:2]) / eps for eps in sizes]
    return 2 * np.array(small[1:]) - small[:2]


def exponents(runs):
    """Slopes over ln m for f, Phi and K, and how far off by chance and the next order."""
    weights = np.linalg.pinv(np.vander(np.log(WIDTHS[1:]), 2))[0]
    parts = [run[2] for run in runs[1:]]
    spread = np.sqrt(np.mean([part.var(axis=1, ddof=1) for part in parts], axis=0))
    chance, order = np.sqrt((weights**2 / COUNTS[1:]).sum()), np.exp(parts[0][1]).mean()
    off = 4.5 * spread * chance + order / np.log(16)
    return np.array([weights @ [part.mean(axis=1) for part in parts], off])


nodes, weights = np.polynomial.hermite_e.hermegauss(8)
POINTS = np.array([*product(nodes, repeat=3)])
MASS = np.prod([*product(weights / weights.sum(), repeat=3)], axis=1)
DATA, BOTH, ONE, SKEWED = moons(8, 0), [1.0, -1.0], [1.0], [2.0, -0.5, -0.5, -0.5, -0.5]
CASES = {"softplus, $a=\\pm1$": ("softplus", BOTH), "softplus, $a=1$": ("softplus", ONE)}
CASES |= {"tanh, $a=1$": ("tanh", ONE), "scaling $1/m$": ("tanh", BOTH), "": ("ReLU", BOTH)}
runs = {}
for name, case in CASES.items():
    eps = 1 if "1/m" in name else None  # the sum over m, and time multiplied by m
    runs[name] = [ends(*case, *size, DATA, eps=eps) for size in zip(WIDTHS, COUNTS)]
both, one, odd, flat, relu = (exponents(run) for run in runs.values())
f, linear, _ = runs["softplus, $a=1$"][-1]
drift = smooth_drift("softplus", (1, 1, 1), POINTS, MASS, DATA[0])
theory = predicted_error(*drift, DATA[1])
off = np.linalg.norm(64 * (f - linear).mean(axis=0) - theory) / np.linalg.norm(theory)
say(slope_both=both[0][0], slope_one=one[0][0], slope_odd=odd[0][0], distance=100 * off)
say(phi=both[0][1], kernel=both[0][2], masks=relu[0][1], slope_relu=relu[0][0])


# %%NBQA-CELL-SEP476b88
fig, axes = figures.panels(height=3.0)
colours = figures.SIMULATION, figures.CONTRAST, figures.THIRD, figures.FOURTH
for (name, run), colour in zip(runs.items(), colours):
    dots = np.array([np.exp(end[2][0]).mean() for end in run])
    axes.loglog(WIDTHS, dots, "o", color=colour)
    figures.label_curve(axes, 4400, dots[-1], name, colour)
    if colour in colours[::2]:
        axes.loglog(WIDTHS, dots[2] * 1024 / WIDTHS, **figures.DASHED)
size = np.linalg.norm(theory) / np.linalg.norm(linear.mean(axis=0))
axes.loglog(WIDTHS, size / np.sqrt(WIDTHS), **figures.DASHED)
axes.set(xlabel="width $m$", ylabel="relative error", xlim=(50, 14000))
axes.set(xticks=WIDTHS, xticklabels=WIDTHS)
axes.minorticks_off()
plt.show()


# %%NBQA-CELL-SEP476b88
problems = []
kinds = ("softplus", ONE, 0), ("softplus", SKEWED, 0), ("tanh", SKEWED, 0.5)
for (kind, a, shift), k in product(kinds, range(5)):
    w, data = POINTS + shift, moons(7, 80 + k)
    units = np.repeat(a, len(w)), np.tile(w, (len(a), 1)), np.tile(MASS, len(a)) / len(a)
    coarse, fine = halved(kind, units, (0.01, 0.005, 0.0025), data)
    moments = np.mean([np.power(a, j) for j in (1, 2, 3)], axis=1)
    drifts = [smooth_drift(kind, moments * [1, 1, c], w, MASS, data[0]) for c in (1, 0)]
    e, other = [predicted_error(*drift, data[1]) for drift in drifts]
    problems.append(np.array([fine, e, other, fine - coarse]) / np.abs(e).max())
limits, theories, mean_only, tolerance = np.hstack(problems)
four, bounds = np.array([both, one, odd, relu]), np.array([[-0.5, -0.5, -0.5, -0.25]] * 2).T
slopes, off = np.swapaxes(four[:3, :, [0, 2]], 0, 1)
verify_all(
    verify(
        "pezeshki2021-eq-2",
        measured=four[:, 0, :1] - four[:, 1, :1],
        at_most=bounds[:, :1],
        because="exponents less 4.5 standard errors and the next order",
        control=Variant("scaling 1/m", measured=flat[0, :1] - four[:, 1, :1], share=0.7),
    ),
    verify(
        "pezeshki2021-eq-4",
        measured=four[:, 0, 1:] - four[:, 1, 1:],
        at_most=bounds,
        because="as before; 1/4 for the masks of ReLU, see below",
        control=Variant("scaling 1/m", measured=flat[0, 1:] - four[:, 1, 1:], share=0.7),
    ),
    verify(
        "pezeshki2021-ours-width",
        measured=(slopes - [[-1, -1], [-0.5, -0.5], [-1, -1]]) / off,
        predicted=0.0,
        atol=1.0,
        because="in units of 4.5 standard errors and the next order, the change of the features",
        control=Variant("1/2 whatever the signs", measured=(slopes + 0.5) / off, share=0.6),
    ),
    verify(
        "pezeshki2021-ours-drift",
        measured=limits,
        predicted=theories,
        atol=np.abs(tolerance).max(),
        because="limits by halving the small number twice, known up to one more halving",
        control=Variant("the mean of a alone", predicted=mean_only, share=0.8),
    ),
)


# %%NBQA-CELL-SEP476b88
def relu_drift(x):
    """The limit of K, and D as a function of R, for ReLU and readouts +-1."""
    g, norms = x @ x.T, np.linalg.norm(x, axis=1)
    angle = np.arccos(np.clip(g / np.outer(norms, norms), -1, 1))
    kernel = (np.outer(norms, norms) * np.sin(angle) + 2 * (np.pi - angle) * g) / np.pi

    def pulls(R):
        return norms * np.abs(R)

    return kernel, lambda R: -g * np.add.outer(pulls(R), pulls(R)) / np.sqrt(4 * np.pi)


def gaussian_units(x, draws):
    """A Gaussian law in the plane on points that are dense where an example has its kink."""
    kinks = np.arctan2(x[:, 1], x[:, 0])[:, None] + np.pi * np.array([0.5, -0.5])
    kinks = np.sort(kinks.ravel() % (2 * np.pi))[:, None, None]
    sectors = np.diff(kinks, axis=0, append=kinks[:1] + 2 * np.pi)
    radii = np.arange(0.1, 6, 0.2)[:, None]
    part = (np.arange(100) + draws.uniform(size=(len(kinks), 30, 1))) / 100
    turn = kinks + sectors * part**3 * (10 - 15 * part + 6 * part**2)
    w = np.stack([radii * np.cos(turn), radii * np.sin(turn)], axis=-1).reshape(-1, 2)
    mass = (sectors * (part - part**2) ** 2 * radii * np.exp(-(radii**2) / 2)).ravel()
    return np.repeat(BOTH, len(w)), np.tile(w, (2, 1)), np.tile(mass, 2) / mass.sum() / 2


problems = []
for between, k in product(([0.0], [0.0, 0.5], [0.0, 0.15, 0.4]), range(5)):
    draws = generator(90 + k)
    n, turn = len(between), np.pi * (np.array(between) + draws.uniform(0, 2))
    y, lengths = draws.choice(BOTH, n), 10 ** draws.uniform(-0.5, 0.5, n)
    x = (y * lengths * [np.cos(turn), np.sin(turn)]).T
    coarse, fine = halved("ReLU", gaussian_units(x, draws), (0.08, 0.04, 0.02), (x, y))
    e = predicted_error(*relu_drift(x), y)
    problems.append(np.array([fine, e, fine - coarse]) / np.abs(e).max())
found, limit, difference = np.hstack(problems)
verify(
    "pezeshki2021-ours-relu",
    measured=found,
    predicted=limit,
    atol=np.abs(difference).max(),
    because="limits by halving the small number twice, known up to one more halving",
    control=Variant("random signs rescue the kernel", predicted=0.0, share=0.9),
)


# %%NBQA-CELL-SEP476b88
(points, y), line = moons(60, 1), np.linspace(-2.2, 2.2, 61)
plane = np.array([(first, second, 1.0) for second in line for first in line])
kernel = relu_drift(np.vstack([points, plane]))[0][:, :60]
features = decompose(y[:, None] * (phi := np.linalg.cholesky(kernel[:60])))
votes = y[:, None] * features.u[:, :3] / features.strengths[:3]
fields = (kernel[60:] @ votes).T.reshape(3, 61, 61)
fig, panels = figures.panels(3, height=2.7, sharey=True)
colour = np.where(y > 0, figures.CONTRAST, figures.SIMULATION)
for j, (axes, field) in enumerate(zip(panels, fields)):
    levels = np.abs(field).max() * np.linspace(-1, 1, 20)
    axes.contourf(line, line, field, levels, cmap="PuOr_r", alpha=0.6)
    axes.contour(line, line, field, [0], colors=figures.THEORY)
    fill = np.where(features.u[:, j] > 0, colour, "white")
    axes.scatter(*points[:, :2].T, s=14, c=fill, edgecolors=colour, linewidths=0.9)
    axes.set(title=f"feature {j + 1}, $s$ = {features.strengths[j]:.1f}", aspect="equal")
    axes.set(xlabel="$x_1$", ylabel="" if j else "$x_2$")
plt.show()


# %%NBQA-CELL-SEP476b88
ratios, least = [], {1: [], -1: []}
for k, (m, d, scale) in enumerate(product((16, 256), (2, 20), (0.1, 1.0, 30.0))):
    x = scale * np.sin(1.0 + np.arange(d))
    h = np.maximum(generator(20 + k).normal(size=(400, m, d)) @ x, 0)
    ratios.append((h**2).sum(axis=1) / (m * x @ x))
average, error = np.mean(ratios, axis=1), np.std(ratios, axis=1) / 20
start = generator(2).normal(size=60)
end = flow(lambda t: phi.T @ (y * expit(-y * (start + phi @ t))), 0 * phi[0], 200)
responses = [features.responses(y * (phi @ end + kept * start)) for kept in (0, 1)]
for k, sign in product(range(60), least):
    matrix = (
        generator(60 + k).uniform(0.2, 1, (9, 30)) * np.append(sign, np.ones(8))[:, None]
    )
    least[sign].append((matrix @ decompose(matrix).v[:, 0]).min())
verify_all(
    verify(
        "pezeshki2021-eq-1",
        measured=(2 * average - 1) / (2 * error),
        predicted=0.0,
        atol=4.8,
        because="standard errors of means over 400 networks; 4.8 for twelve settings at once",
        control=Variant("factor 1", measured=(average - 1) / error, share=0.9),
    ),
    verify(
        "pezeshki2021-eq-8",
        measured=responses[0] - features.strengths * (end @ features.v),
        predicted=0.0,
        atol=1e-9,
        because="an identity, in float arithmetic with responses below 100",
        control=Variant("start kept", measured=responses[1] - responses[0], share=0.9),
    ),
    verify(
        "pezeshki2021-def-1",
        measured=least[1],
        at_least=0.0,
        because="changes of the margins in a step along the oriented feature: a sign",
        control=Variant("one vote turned", measured=least[-1], share=0.9),
    ),
)


# %%NBQA-CELL-SEP476b88
say(seconds=process_time() - started)
