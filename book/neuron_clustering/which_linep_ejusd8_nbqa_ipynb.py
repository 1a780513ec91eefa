# %%NBQA-CELL-SEP476b88
from contextlib import suppress
from itertools import count
from time import process_time

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import minimize

from executable_claims import Variant, verify, verify_all
from lib import figures
from lib.data.synthetic import antipodal_gaussians, separable_data
from lib.flow import gradient_flow
from lib.geometry import programs
from lib.geometry.level_sets import boundary_angles
from lib.geometry.patterns import perfect_agreement_margin
from lib.geometry.programs import agreement_program, linear_svm
from lib.models.two_layer import Start, TwoLayer
from lib.prose import say
from lib.seeds import generator
from lib.training.losses import LOGISTIC

figures.use_style()
started = process_time()


# %%NBQA-CELL-SEP476b88
def normal(slope):
    """The normal of the line of program (8) for the six points, by the formula."""
    three, six = SIX[2], -SIX[5]
    b = 2 * slope / (1 + slope**2) * three @ six
    return (six @ six - b) * three + (three @ three - b) * six


SIX = np.array([[1, -0.7], [2.2, 1.7], [0.8, 0.2], [-1, 0.3], [-1, 0.8], [-0.5, 0.3]])


# %%NBQA-CELL-SEP476b88
K, signs = 3, np.repeat([1.0, -1.0], 3)


def polar(x):
    return np.degrees(np.arctan2(x[1], x[0]))


def flow(inputs, labels, slope, draws, log_scale=0.0):
    start = Start.two_sided(K, inputs.shape[1], log_scale, rng=draws, v=K**-0.5)
    options = {"train": "first", "rtol": 1e-7, "log_until": 1e6}
    return gradient_flow(start.network(slope), inputs, labels, LOGISTIC, **options)


def weights(run, log_time):
    """The first layer (2k, d), the w before the u."""
    at = run.at(log_times=[log_time])
    return (np.exp(at.log_norms)[..., None] * at.directions)[0]


def tilt(run, log_time):
    """Degrees from the hard-margin line to the two rays of the boundary."""
    last = run.network_at()
    rays = boundary_angles(last.with_weights(weights(run, log_time), last.a))
    return (rays - polar(hard)) % 180 - 90


hard = linear_svm(SIX, signs).x
SLOPES = np.array([0.05, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.95])
trained = [flow(SIX, signs, a, generator(i), log_scale=-7.0) for i, a in enumerate(SLOPES)]
tilts = np.array([[tilt(run, s) for run in trained] for s in (10, 100, 1e4, 1e6)])
theory = np.array([polar(normal(a)) - polar(hard) for a in SLOPES])
say(apart=theory[1], six_gap=np.abs(tilts[-1] - theory[:, None]).max())
say(early_low=tilts[0].min(), early_high=tilts[0].max())


# %%NBQA-CELL-SEP476b88
def across(n):
    return np.outer([-n[1], n[0]] / np.linalg.norm(n), [-3, 3])


fig, (left, right) = figures.panels(2, height=3.6)
for x, mark in zip(SIX, "+++___"):
    left.plot(*x, mark, color=figures.THEORY, markersize=11, markeredgewidth=2)
w, u = np.split(agreement_program(SIX, signs, 0.1).x, 2)
for p in (w - 0.1 * u, u - 0.1 * w):
    left.plot(*((p / (p @ p))[:, None] + across(p)), color=figures.THEORY, linewidth=0.7)
wide = {"color": figures.SIMULATION, "linewidth": 5, "alpha": 0.5}
for ray in np.radians(boundary_angles(trained[1].network_at())):
    left.plot([0, 3 * np.cos(ray)], [0, 3 * np.sin(ray)], **wide)
left.plot(*across(normal(0.1)), **figures.DASHED)
left.plot(*across(hard), color=figures.THIRD)
left.text(1.0, 1.15, "hard margin", color=figures.THIRD)
left.text(-0.3, -1.9, "trained", color=figures.SIMULATION)
left.set(aspect="equal", xlim=(-1.8, 2.6), ylim=(-2, 2.4))
left.set(xlabel="first coordinate", ylabel="second coordinate")
fine = np.linspace(0.02, 1, 99)
right.plot(fine, [polar(normal(a)) - polar(hard) for a in fine], **figures.DASHED)
for k, mark, colour, spot, name in (
    (0, "x", figures.CONTRAST, (0.72, 14.1), "10"),
    (1, "^", figures.FOURTH, (0.68, 6.6), "100"),
    (3, "o", figures.SIMULATION, (0.06, 11), "10^6"),
):
    right.plot(SLOPES, tilts[k, :, 0], mark, color=colour)
    right.text(*spot, rf"$\ln t={name}$", color=colour)
right.axhline(0, color=figures.THIRD)
right.text(0.03, 0.4, "hard margin", color=figures.THIRD)
right.set(xlabel=r"slope $\alpha$", ylabel="angle to the hard margin (degrees)")
plt.show()


# %%NBQA-CELL-SEP476b88
def overlapping(draws):
    """Antipodal classes, some signed points of which have negative products."""
    while True:
        inputs, labels = antipodal_gaussians(10, (1, 0.5), 0.5, rng=draws)
        signed = labels[:, None] * inputs
        if (signed @ signed.T).min() < 0 < (signed @ [1, 0.5]).min():
            return inputs, labels


def growth(run):
    """What the means gain, times v k, while ln t grows by 1: shape (2 d,)."""
    gained = (weights(run, 1e6) - weights(run, 1e5)) / 9e5
    return K**0.5 * gained.reshape(2, K, -1).mean(axis=1).ravel()


def mirror(normal, slope):
    return np.append(normal, -normal) / (1 + slope)


def circular(draws):
    return separable_data("circular", 8, rng=draws, decades=1)


def simplex(draws):
    return separable_data("wide", 5, rng=draws, decades=1)


def relative(each):
    return np.concatenate([x / np.linalg.norm(y) for x, y in zip(each, pairs)])


families, cases, dropped = (circular, simplex, overlapping), [], []
for family, (draw, slope) in enumerate(zip(families, (0.1, 0.5, 0.3)), 1):
    for draws in map(generator, count(100 * family)):
        data = draw(draws)
        case = flow(*data, slope, draws), agreement_program(*data, slope).x, data, slope
        least_product = perfect_agreement_margin(*np.split(weights(case[0], 1e6), 2), *data)
        (cases if family < 3 or least_product > 1e-4 else dropped).append(case)
        if len(cases) == 5 * family:
            break
runs, pairs, samples, slopes = zip(*cases)
margins = [mirror(linear_svm(*data).x, slope) for data, slope in zip(samples, slopes)]
say(tried=5 + len(dropped))
verify(
    "sarussi2021-thm-6.2b",
    measured=relative(map(growth, runs)),
    predicted=relative(pairs),
    atol=1e-6,
    because="the rest is what rho moves over 9e5; it is at rest by then, and moves by less than (w, u)",
    control=Variant("the hard-margin pair", predicted=relative(margins), share=0.9),
)


# %%NBQA-CELL-SEP476b88
def least(data, slope, sign=1):
    """The least |w|^2 + |u|^2 over p+ and p-, and w + u relative to w - u there."""
    inputs, labels = data
    form = np.array([[1 + slope**2, 2 * sign * slope], [2 * sign * slope, 1 + slope**2]])
    form = np.kron(form / (1 - slope**2) ** 2, np.eye(inputs.shape[1]))
    rows = np.hstack([inputs * (labels > 0)[:, None], inputs * (labels < 0)[:, None]])
    first = np.kron([1, -1], linear_svm(inputs, labels).x)
    limits = {"type": "ineq", "fun": lambda p: rows @ p - 1, "jac": lambda p: rows}
    rule = {"method": "SLSQP", "tol": 1e-12, "jac": lambda p: 2 * form @ p}
    found = minimize(lambda p: p @ form @ p, first, constraints=limits, **rule)
    plus, minus = np.split(found.x, 2)
    return found.fun, ratio(plus + slope * minus, minus + slope * plus)


def ratio(w, u):
    return np.linalg.norm(w + u) / np.linalg.norm(w - u)


def means(run):
    return weights(run, 1e6).reshape(2, K, -1).mean(axis=1)


values, ratios = zip(*map(least, samples, slopes))
others = [least(*case, sign=-1)[0] for case in zip(samples, slopes)]
verify_all(
    verify(
        "sarussi2021-eq-8",
        measured=[pair @ pair for pair in pairs],
        predicted=values,
        rtol=1e-9,
        because="the method stops where a step changes the value by less than 1e-12",
        control=Variant("the other sign of the mixed term", predicted=others, share=0.9),
    ),
    verify(
        "sarussi2021-def-6.3",
        measured=[ratio(*means(run)) for run in runs],
        predicted=ratios,
        atol=1e-4,
        because="directions are off by rho over ln t = 1e6, and rho is below 100 times (w, u)",
        control=Variant("mean w = - mean u", predicted=0.0, share=0.9),
    ),
)


# %%NBQA-CELL-SEP476b88
def gains(turn):
    """The growth of the means, and the theory; the last point is turned about h."""
    around = np.array([0, 2.1, 4.2]), np.array([0, np.pi]), np.zeros(1)
    for seed, slope in zip(range(400, 415), np.linspace(0.05, 0.8, 15)):
        draws, first = generator(seed), around[seed % 3]
        n, angles = len(first), np.append(first, [1, 1 + np.pi + turn])
        radii = draws.uniform(0.2, 0.8, n + 2) * np.append(np.full(n, n > 1), [1, 1])
        aside = radii * np.array([np.cos(angles), np.sin(angles)])
        signed = np.vstack([np.ones(n + 2), aside]).T
        labels = np.repeat([1.0, -1.0], [n, 2])
        run = flow(labels[:, None] * signed, labels, slope, draws)
        yield growth(run), mirror(np.eye(3)[0], slope)


gained, known = zip(*gains(0.0))
verify(
    "sarussi2021-ours-same-line",
    measured=gained,
    predicted=known,
    atol=1e-5,
    because="rho moves over 9e5, by less than nine",
    control=Variant("one point turned", measured=[g for g, _ in gains(0.01)], share=0.5),
)


# %%NBQA-CELL-SEP476b88
def best(inputs, labels, slope, draws):
    """The largest margin found over the formula, and |w + u| / |w - u| of that network."""
    linear, outputs, found = linear_svm(inputs, labels), np.repeat([0.7, -0.7], 2), []
    given = draws.standard_normal((10, 4, inputs.shape[1]))
    for w in [np.outer(outputs, linear.x), *given]:
        with suppress(programs.Infeasible, programs.SolverFailure):
            cell = programs.cell_program(TwoLayer(w, outputs, slope), inputs, labels)
            pair = cell.x.reshape(2, 2, -1).mean(axis=1)
            found.append((linear.norm / cell.norm / (0.7 + 0.7 * slope), ratio(*pair)))
    return max(found)


symmetric, halved = [], []
for seed in range(500, 515):
    draws, slope = generator(seed), (0.1, 0.3, 0.5, 0.7, 0.9)[seed % 5]
    inputs, labels = families[seed % 3](draws)
    halved.append(best(inputs, labels, slope, draws))
    both = np.vstack([inputs, -inputs]), np.append(labels, -labels)
    symmetric.append(best(*both, slope, draws))
verify(
    "sarussi2021-eq-8-symmetric",
    measured=symmetric,
    predicted=[(1.0, 0.0)] * 15,
    atol=1e-9,
    because="active-set solutions are exact to rounding",
    control=Variant("without the reflections", measured=halved, share=0.8),
)


# %%NBQA-CELL-SEP476b88
def products(draw, seed, slope):
    """Products of all stacked points, with eigenvalues; by the formulas; without labels."""
    inputs, ends = draw(generator(seed))[0], np.array([(1 + slope) ** 2, (1 - slope) ** 2])
    n, inputs = len(inputs), inputs / np.linalg.norm(inputs, axis=1)[:, None]
    twice, labels = np.tile(inputs, (2, 1)), np.repeat([1, -1], n)
    stacked = programs.agreement_features(twice, labels, slope)
    gram, same = inputs @ inputs.T, ends.mean()
    roots = np.sort(np.outer(ends, np.linalg.eigvalsh(gram)), axis=None)
    yield np.append(stacked @ stacked.T, np.linalg.eigvalsh(stacked @ stacked.T))
    for other in (-2 * slope, same):
        yield np.append(np.kron([[same, other], [other, same]], gram), roots)


tasks = [(draw, 600 + i, (i + 1) / 6) for draw in families for i in range(5)]
entries, formulas, blind = map(np.concatenate, zip(*(products(*task) for task in tasks)))
verify_all(
    verify(
        "sarussi2021-eq-8-kernel",
        measured=entries,
        predicted=formulas,
        atol=1e-12,
        because="an identity; rounding of products, and of eigenvalues up to 40",
        control=Variant("a kernel that does not see labels", predicted=blind, share=0.4),
    ),
    verify(
        "sarussi2021-fig-4",
        measured=tilts[-1].T,
        predicted=[theory, theory],
        atol=np.abs(tilts[-1] - tilts[-2]).max() / 60,
        because="from ln t = 1e6 on an angle like 1/ln t falls by 1/99 of its fall since 1e4",
        control=Variant("the hard-margin line", predicted=0.0, share=1),
        data="six points in the plane",
    ),
)


# %%NBQA-CELL-SEP476b88
def between(m, n):
    return abs((polar(m) - polar(n) + 90) % 180 - 90)


def line(pair):
    return np.subtract(*np.split(np.ravel(pair), 2))


gauss = [antipodal_gaussians(40, (2, 1.5), 0.6, rng=generator(800 + i)) for i in range(20)]
near = [between(line(agreement_program(*g, 0.1).x), linear_svm(*g).x) for g in gauss]
offs = [between(line(means(run)), line(pair)) for run, pair, *_ in dropped]
wrong = [perfect_agreement_margin(*np.split(p, 2), *data) < 0 for _, p, data, _ in dropped]
say(gauss=np.median(near), dropped=len(offs), off=max(offs, default=0.0), wrong=sum(wrong))


# %%NBQA-CELL-SEP476b88
say(seconds=process_time() - started)
