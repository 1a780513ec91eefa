# %%NBQA-CELL-SEP476b88
from time import process_time

import matplotlib.pyplot as plt
import numpy as np
import torch
from scipy.special import expit

from executable_claims import Variant, verify, verify_all
from lib import figures
from lib.data.synthetic import two_moons_with_gap
from lib.geometry.level_sets import distance_to_data, zero_level_set
from lib.geometry.programs import least_norm
from lib.models.mlps import draw_mlps, seed_generators
from lib.prose import say
from lib.seeds import book_seed, generator
from lib.training.ensembles import train
from lib.training.objectives import cross_entropy, spectral_decoupling

figures.use_style()
started = process_time()


# %%NBQA-CELL-SEP476b88
def tangents(net, x):
    """The gradients (n, 4h + 1) of the outputs of a ReLU network with one hidden layer."""
    w, b, a = net
    before = x @ w + b
    on = (before > 0) * a
    return np.hstack([on * x[:, :1], on * x[:, 1:], on, before.clip(0), 0 * on[:, :1] + 1])


def two_ends(signed):
    """The hard-margin solution, and the shortest theta with all margins 1."""
    hard = least_norm(signed, np.ones(len(signed)))
    return hard, np.linalg.lstsq(signed, np.ones(len(signed)))[0]


# %%NBQA-CELL-SEP476b88
def minima(signed, logs, penalty=0.0):
    """The minima of the loss for ridges exp(-log), by Newton's method with steps that must descend."""
    u, s, vt = np.linalg.svd(signed, full_matrices=False)
    x, short, before = u * s, np.zeros(len(s)), 1.0
    for log in logs:
        short, before = short * log / before, log
        for _ in range(300):
            q = x @ short
            pull, hold = np.exp(log - np.logaddexp(0, q)), penalty * np.exp(log)
            slope = short - x.T @ (pull - hold * q)
            bend = np.eye(len(s)) + (x.T * (pull * expit(q) + hold)) @ x
            move = np.linalg.solve(bend, slope)
            size = np.abs(x @ move).max() + 1e-300
            short = short - move * np.log1p(size) / size
            if size < 1e-9 * (1 + np.abs(q).max()):
                break
        yield short @ vt


def outputs(net, theta):
    """The linearised network as a function of points (k, 2)."""
    (w, b, a), parts = net, theta[:-1].reshape(4, -1)
    slopes, offsets = parts[:2] * a + parts[3] * w, parts[2] * a + parts[3] * b
    return lambda x: ((x @ w + b > 0) * (x @ slopes + offsets)).sum(axis=1) + theta[-1]


def untrained(k, size=100):
    drawn = draw_mlps((2, size, 1), seed_generators(book_seed(1000 + k), 1))
    w, a = (part[0].detach().numpy() for part in drawn.weights)
    return w, drawn.biases[0][0, 0].detach().numpy(), a[:, 0]


def spread(hard):
    """The constant D of item 2, and the entropy of the weights."""
    w = hard.duals[hard.duals > 0] / hard.duals.sum()
    return w @ np.log(w.max() / w), w @ np.log(1 / w)


def hidden(signed, theta):
    return (signed @ theta).min() / np.linalg.norm(theta)


def moons(gap):
    return lambda draws: two_moons_with_gap(100, gap, rng=draws)


KAPPA, GRID = 0.006, np.linspace(1, 36, 36)
net, (x, y) = untrained(0), moons(0.1)(generator(0))
signed = y[:, None] * tangents(net, x)
hard, equal = two_ends(signed)
curves = [[hidden(signed, one) for one in minima(signed, GRID, k)] for k in (0, KAPPA)]
curves = hard.norm * np.array(curves)
clock = np.linspace(0.8, 33, 400)  # t, so that the ridge is exp(-t) / t
law, level = 1 - spread(hard)[0] / clock, hard.norm / np.linalg.norm(equal)
say(reached=curves[0][19], foreseen=np.interp(20, clock + np.log(clock), law))


# %%NBQA-CELL-SEP476b88
fig, (left, right) = figures.panels(2, height=3.3)
for curve, colour in zip(curves, (figures.SIMULATION, figures.CONTRAST)):
    left.plot(GRID, curve, color=colour, linewidth=3, alpha=0.5)
left.plot(clock + np.log(clock), law, **figures.DASHED)
left.axhline(level, **figures.DASHED)
left.annotate("cross-entropy", (14, 0.86), color=figures.SIMULATION)
left.annotate("spectral\ndecoupling", (15.5, 0.33), color=figures.CONTRAST)
left.set(xlabel=r"$\ln(1/\nu)$", ylabel="hidden margin / maximum", ylim=(0, 1.08))
right.plot(*x.T, "o", markersize=3, color=figures.THEORY, alpha=0.7)
near, far = (zero_level_set(outputs(net, theta), points=81) for theta in (hard.x, equal))
for boundary, colour in ((near, figures.SIMULATION), (far, figures.CONTRAST)):
    for curve in boundary:
        right.plot(*curve.T, color=colour)
right.set(xlabel="$x_1$", ylabel="$x_2$", xlim=(-1.6, 1.6), ylim=(-1.9, 1.9))
say(near=distance_to_data(near, x), far=distance_to_data(far, x))
say(level=level, level_error=abs(curves[1][-1] / level - 1))
plt.show()


# %%NBQA-CELL-SEP476b88
def stretched(draws):
    u, _, vt = np.linalg.svd(draws.normal(size=(5, 8)), full_matrices=False)
    return u * [4.0, 2.0, 1.0, 0.5, 0.2] @ vt


def of_a_network(draws):
    drawn = draws.normal(size=(2, 60)), draws.normal(size=60), draws.normal(size=60)
    points, labels = draws.normal(size=(8, 2)), draws.choice([-1.0, 1.0], 8)
    return labels[:, None] * tangents(drawn, points) / np.sqrt(60)


def gaussian(n, size):
    return lambda draws: draws.normal(size=(n, size)) / np.sqrt(size)


FAMILIES = gaussian(6, 12), stretched, of_a_network, gaussian(5, 400)
problems = [f(generator(10 * i + k)) for i, f in enumerate(FAMILIES) for k in range(5)]
solved = [two_ends(one)[0] for one in problems]
TIMES = np.array([0.5, 1, 2, 5, 10, 20, 40, 75, 150, 300, 600])
falls, levels = [], []
for one, best in zip(problems, solved):
    path = minima(one, TIMES + np.log(TIMES) * (TIMES > 1))
    lost = [(1 - hidden(one, theta) * best.norm) * t for theta, t in zip(path, TIMES)]
    falls.append(2 * lost[-1] - lost[-2])
    *_, decoupled = minima(one, [1.0, 10, 20, 32], 0.1)
    levels.append(hidden(one, decoupled))
ones = [np.linalg.solve(one @ one.T, np.ones(len(one))) for one in problems]
largest = [1 / best.norm for best in solved] + [1.0] * len(solved)
constants, entropies = np.transpose([spread(best) for best in solved])
verify_all(
    verify(
        "pezeshki2021-ours-margin-rate",
        measured=falls,
        predicted=constants,
        atol=0.011,
        because="to 1/t^2, from t = 300 and 600; a weight of 1/t adds (ln t)/t, and may be missed",
        control=Variant("the entropy of the weights", predicted=entropies, share=0.9),
    ),
    verify(
        "pezeshki2021-ours-equal-margins",
        measured=levels + [float((best.duals > 0).all()) for best in solved],
        predicted=[one.sum() ** -0.5 for one in ones]
        + [float((one > 0).all()) for one in ones],
        rtol=1e-9,
        because="a ridge of e^-32 over a penalty of 0.1 and squared strengths from 0.04 on",
        control=Variant("the largest hidden margin", predicted=largest, share=0.3),
    ),
)


# %%NBQA-CELL-SEP476b88
def circles(draws):
    angle, y = draws.uniform(0, 2 * np.pi, 100), np.repeat([1.0, -1.0], 50)
    radius = 1 + 0.4 * y + draws.normal(0, 0.1, 100)
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle)]), y


def band(draws):
    x, y = draws.uniform([0.1, -1.5], [1.3, 1.5], (100, 2)), np.repeat([1.0, -1.0], 50)
    return x * np.column_stack([y, np.ones(100)]), y


DATA = {"moons with a gap": moons(0.1), "moons that overlap": moons(-0.2)}
DATA |= {"moons far apart": moons(0.8), "two circles": circles, "band between": band}
DRAWS, RUNS, DECAY = 24, 8, 2e-4
NETS = [untrained(k) for k in range(DRAWS)]


def features(family, k):
    x, y = family(generator(200 + k))
    return x, y[:, None] * tangents(NETS[k], x)


def compared(family, solutions, count):
    """The hidden margins of two solutions, then their input margins, for some draws."""
    rows = []
    for k in range(count):
        x, signed = features(family, k)
        pair = solutions(signed)
        rows.append([hidden(signed, theta) for theta in pair])
        rows[-1] += [input_margin(outputs(NETS[k], theta), x) for theta in pair]
    return np.array(rows)


def trained(family, objective):
    inputs, labels = zip(*[family(generator(200 + k)) for k in range(RUNS)])
    data = torch.tensor(np.stack(inputs)), torch.tensor(np.stack(labels))
    start = draw_mlps((2, 100, 1), seed_generators(book_seed(1000), RUNS))

    def sgd(weights):
        return torch.optim.SGD(weights, lr=0.1, momentum=0.9, weight_decay=DECAY)

    end = train(start, *data, objective=objective, optimiser=sgd, steps=1000).network
    w, a, b, c = (part.detach().numpy() for part in (*end.weights, *end.biases))

    def of(k):
        return lambda x: (x @ w[k] + b[k]).clip(0) @ a[k, :, 0] + c[k, 0, 0]

    return np.array([input_margin(of(k), x) for k, x in enumerate(inputs)])


def two_margins(name):
    """The least share of the largest hidden margin at t = 40, and mean differences in their errors."""
    shares, found = [], at_ends[name]
    for k in range(4):
        signed = features(DATA[name], k)[1]
        *_, theta = minima(signed, [1.0, 5, 10, 20, 40 + np.log(40)])
        shares.append(hidden(signed, theta) / found[k, 0])
    gained = found[:, 0] - found[:, 1], gains[name], networks[name]
    return [min(shares), *map(in_errors, gained)]


def input_margin(f, x):
    return distance_to_data(zero_level_set(f, points=61), x)


def in_errors(values):
    return values.mean() / values.std(ddof=1) * np.sqrt(len(values))


def ends(signed):
    return [getattr(one, "x", one) for one in two_ends(signed)]  # as vectors


def lost(parts):
    return [-in_errors(each) for each in (np.concatenate(parts), *parts)]


at_ends, networks = {}, {}
for name, family in DATA.items():
    at_ends[name] = compared(family, ends, DRAWS)
    networks[name] = trained(family, spectral_decoupling(KAPPA))
    networks[name] -= trained(family, cross_entropy)
gains = {name: found[:, 3] - found[:, 2] for name, found in at_ends.items()}
verify_all(
    verify(
        "pezeshki2021-sec-5-margin",
        measured=two_margins("moons with a gap"),
        at_least=[1 / (1 + np.log(100) / 35), 3, 3, 3],
        because="least margins above 35 at t = 40; three standard errors, found at some ten",
        control=Variant("moons that overlap", two_margins("moons that overlap"), share=1 / 4),
    ),
    verify(
        "pezeshki2021-ours-margin-reversed",
        measured=lost([gains[name] for name in list(DATA)[1:]]),
        at_least=[4, 0, 0, 0, 0],
        because="together by four standard errors, found at twelve; each found at four or more",
        control=Variant("moons with a gap", measured=lost([gains["moons with a gap"]] * 4)),
    ),
)


# %%NBQA-CELL-SEP476b88
def possible(x, y):
    return np.linalg.norm((x[:, None] - x)[y > 0][:, y < 0], axis=2).min() / 2


def straight(x, y):
    """The input margin of the best straight line, negative if there is none."""
    angles = np.linspace(-np.pi / 2, np.pi / 2, 721)
    along = x @ np.array([np.cos(angles), np.sin(angles)])
    return (along[y > 0].min(axis=0) - along[y < 0].max(axis=0)).max() / 2


def shares(family, found):
    """What cross-entropy, spectral decoupling and a straight line keep."""
    drawn = [family(generator(200 + k)) for k in range(len(found))]
    kept = np.column_stack([found[:, 2:], [straight(*each) for each in drawn]])
    return kept / [[possible(*each)] for each in drawn]


GAPS = np.array([-0.6, -0.4, -0.2, 0.0, 0.2, 0.4, 0.6, 0.8, 1.2, 1.6])
kept = [shares(moons(gap / 2), compared(moons(gap / 2), ends, 12)) for gap in GAPS]
mean, error = np.mean(kept, axis=1), np.std(kept, axis=1, ddof=1) / np.sqrt(12)
fig, (left, right) = figures.panels(2, height=3.6)
for j, colour in enumerate((figures.SIMULATION, figures.CONTRAST)):
    left.errorbar(GAPS, mean[:, j], yerr=2 * error[:, j], color=colour)
left.plot(GAPS[3:], mean[3:, 2], **figures.DASHED)
left.annotate("cross-entropy", (-0.6, 0.93), color=figures.SIMULATION)
left.annotate("spectral\ndecoupling", (0.8, 0.5), color=figures.CONTRAST)
left.annotate("best line", (0.25, 0.3), color=figures.THEORY)
left.set(xlabel="gap (negative: overlap)", ylabel="input margin / $B$", ylim=(0, 1))
SHOWN = (gains, 0.15, figures.SIMULATION), (networks, -0.15, figures.CONTRAST)
for row, name in enumerate(DATA):
    for values, shift, colour in SHOWN:
        bar = 2 * values[name].std(ddof=1) / np.sqrt(len(values[name]))
        place = values[name].mean(), shift - row
        right.errorbar(*place, xerr=bar, fmt="o", markersize=4, color=colour)
right.axvline(0, color=figures.THEORY, linewidth=0.8)
right.annotate("linearised", (0.03, -3.4), color=figures.SIMULATION)
right.annotate("trained", (0.03, -3.9), color=figures.CONTRAST)
right.set(yticks=-np.arange(5), yticklabels=[name.replace(" ", "\n", 1) for name in DATA])
right.set(xlabel="difference of input margins")
plt.show()
rest = [shares(DATA[name], at_ends[name]).mean(axis=0) for name in list(DATA)[3:]]
say(cheap=100 * min(one[0] for one in rest), wound=100 * max(one[1] for one in rest))
say(kept_low=100 * mean[:, 1].min(), kept_high=100 * mean[:, 1].max())
say(from_line=100 * np.abs(mean[5:, 0] - mean[5:, 2]).max())


# %%NBQA-CELL-SEP476b88
say(draws=DRAWS, runs=RUNS, norm_hard=hard.norm, norm_equal=np.linalg.norm(equal))
say(others=max(abs(networks[name].mean()) for name in list(DATA)[3:]))
NETS = [untrained(k, 500) for k in range(8)]
wide = np.array([shares(f, compared(f, ends, 8)).mean(axis=0) for f in DATA.values()])
ahead = 100 * (wide[:, 1] - wide[:, 0])
say(wide_low=100 * wide[:, 1].min(), wide_high=100 * wide[:, 1].max())
say(lead_wide=ahead[0], lead=100 * (mean[4, 1] - mean[4, 0]), behind=-ahead[2])
say(even=np.abs(ahead[[1, 3, 4]]).max())
gap = at_ends["moons with a gap"]
say(gap_kept=100 * np.median(gap[:, 1] / gap[:, 0]), gap_hard=gap[:, 2].mean())
say(gap_equal=gap[:, 3].mean(), seconds=process_time() - started)
