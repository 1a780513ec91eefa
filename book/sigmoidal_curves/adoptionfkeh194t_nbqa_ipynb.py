# %%NBQA-CELL-SEP476b88
from time import process_time

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import binom

from executable_claims import Variant, verify, verify_all
from lib import figures
from lib.flow import gradient_flow
from lib.models.two_layer import TwoLayer
from lib.prose import say
from lib.seeds import generator
from lib.training.descent import gradient_descent
from lib.training.losses import LOGISTIC

figures.use_style()
started = process_time()


# %%NBQA-CELL-SEP476b88
def plane(*degrees):
    return np.column_stack([np.cos(np.radians(degrees)), np.sin(np.radians(degrees))])


fig, axes = figures.panels(1, height=3.4)
two, x = TwoLayer([[[1.0, -0.4]], [[1.0, 0.4]]], [[-1.2], [-1.2]]), plane(0, 120)
kept = {"record": lambda now: now.w[:, 0], "record_at": range(801), "reduction": "sum"}
run = gradient_descent(two, x, [1, -1], LOGISTIC, step=0.01, steps=800, **kept)
path = np.array(run.recorded)
for j, colour in enumerate((figures.SIMULATION, figures.CONTRAST)):
    axes.plot(*path[:, j].T, color=colour)
    axes.plot(*path[0, j], "o", color=colour, markersize=4)
    axes.annotate("", x[j], (0, 0), arrowprops={"arrowstyle": "->", "color": colour})
    axes.annotate(f"$x_{j + 1}$", x[j] + [(0.02, 0.05), (-0.2, 0)][j], color=colour)
for edge in 1.2 * plane(30, 90, 210, 270):
    axes.plot(*np.column_stack([[0, 0], edge]), **figures.DASHED)
axes.set(xlabel="$w_1$", ylabel="$w_2$", aspect="equal")
plt.show()


# %%NBQA-CELL-SEP476b88
def adopted_share(theta, r):
    phi = theta - np.pi / 2
    D = phi - np.arcsin(np.sin(phi) / np.sqrt(1 + r**2))
    return D / (np.arctan(r) + D)


# %%NBQA-CELL-SEP476b88
def wrong_sign(theta, r, count, rng, norms=(1.5, 0.8), d=3):
    """Neurons with a < 0 that are active on x_1 alone, whether they are dying, and the inputs."""
    x = np.zeros((2, d))
    x[0, 0], x[1, :2] = norms[0], norms[1] * np.array([np.cos(theta), np.sin(theta)])
    w, a = rng.standard_normal((5 * count, d)), -r * abs(rng.standard_normal(5 * count))
    seen = np.flatnonzero((w @ x[0] > 0) & (w @ x[1] <= 0))[:count]
    return w[seen], a[seen], x, w[seen] @ x[0] < -norms[0] * a[seen]


def towards(w, x):
    """The product of x_2 with the part of w orthogonal to x_1."""
    return w @ x[1] - w @ x[0] * (x[0] @ x[1]) / (x[0] @ x[0])


# %%NBQA-CELL-SEP476b88
def adopted(w, a, x, step=0.02):
    """Whether gradient descent makes each neuron (a network of its own) one of class -1."""
    nets, size = TwoLayer(w[:, None], a[:, None]), np.linalg.norm(x[0])
    options = {"step": step / size, "steps": 1000, "reduction": "sum"}
    run = gradient_descent(nets, x, [1, -1], LOGISTIC, **options)
    h1, h2 = np.moveaxis(run.network.preactivations(x)[:, :, 0], 1, 0)
    return (h1 <= 0) & (h2 > 0)


fig, axes = figures.panels(1)
degrees, grid, runs = np.arange(100, 161, 20), np.linspace(90, 180, 91), []
for r, colour, at in (
    (1.0, figures.SIMULATION, (112, 0.25)),
    (1 / 3, figures.CONTRAST, (146, 0.1)),
):
    for theta, d in zip(np.radians(degrees), (2, 3, 5, 8), strict=True):
        rng = generator(60 + len(runs))
        *neurons, dies = wrong_sign(theta, r, 6000, rng, np.exp(rng.uniform(-1, 1, 2)), d)
        w, a, x = neurons[0][dies], neurons[1][dies], neurons[2]
        slack = 0.02 * np.abs(a * (x[0] @ x[1])) / np.linalg.norm(x[0])
        extra = np.mean(towards(w, x) + slack > 0) - np.mean(towards(w, x) > 0)
        ends = adopted(w, a, x)
        runs.append([adopted_share(theta, r), ends.mean(), extra, len(w)])
    mean, count = np.array(runs)[-4:, [1, 3]].T
    error = np.sqrt(mean * (1 - mean) / count)
    axes.errorbar(degrees, mean, 2 * error, fmt="o", color=colour)
    axes.plot(grid, adopted_share(np.radians(grid), r), **figures.DASHED)
    axes.annotate(f"$r={'1' if r == 1 else '1/3'}$", at, color=colour)
axes.set(xlabel="angle between the classes (degrees)", ylabel="share adopted")
theory, shares, extra, counts = np.array(runs).T
line = (grid - 90) / 180 - adopted_share(np.radians(grid), 1.0)
say(
    gap=float(100 * np.abs(shares - theory).max()),
    noise=float(200 * np.sqrt(theory * (1 - theory) / counts).max()),
    at_120=float(100 * theory[1]),
    line=float(np.abs(line).max()),
)
plt.show()


# %%NBQA-CELL-SEP476b88
w, a, x, dies = wrong_sign(np.radians(140), 1.0, 6000, generator(80))
turned = adopted(w, a, x)
say(
    above_adopted=float(100 * np.mean(turned[~dies])),
    above_part=float(100 * np.sum(turned & ~dies) / np.sum(turned)),
)


# %%NBQA-CELL-SEP476b88
def single(rng, scale, dying):
    """A neuron near one of the two criteria, and the two inputs."""
    angle, norms = np.radians(rng.uniform(95, 175)), np.exp(rng.uniform(-1, 1, 2))
    x = np.array([[1, 0, 0], [np.cos(angle), np.sin(angle), 0]]) * norms[:, None]
    w1, lean = scale * rng.uniform(0.3, 1.5), rng.uniform(-1 if dying else 0, 1)
    w2 = lean * w1 * -np.cos(angle) / np.sin(angle)  # active on x_2 from lean = 1 on
    a = -w1 * (rng.uniform(1.1, 2) if dying else rng.uniform(0.3, 0.95))
    return TwoLayer([[w1, w2, scale * rng.standard_normal()]], [a]), x


ruled, flowed, needs, met = [], [], [], []
for i in range(120):
    dying = i % 2 == 0
    net, x = single(generator(100 + i), (1.0, 1e-3, 5.0)[i // 2 % 3], dying)
    options = {"until": 60 / np.linalg.norm(x[0]), "reduction": "sum"}
    run = gradient_flow(net, x, [1, -1], LOGISTIC, **options)
    if dying:
        end = run.network_at().preactivations(x)[:, 0]
        flowed.append(float(end[0] <= 0 < end[1]))
        ruled.append(float(towards(net.w[0], x) > 0))
    else:
        h = net.preactivations(x)[0, 0]
        least = np.sqrt(h**2 - x[0] @ x[0] * net.a[0] ** 2)
        needed = least * -(x[0] @ x[1]) / (x[0] @ x[0])
        needs.append(float(towards(net.w[0], x) > needed))
        met.append(float(any(event.datum == 1 for event in run.events)))


def counted(share):
    """Which shares can be found, with one false alarm in 1e4, and the doubtful ones besides."""
    low, high = (binom.ppf(q, counts, share) / counts for q in (1e-4 / 16, 1 - 1e-4 / 16))
    return {"at_least": low, "at_most": high + extra}


because = "one false alarm in 1e4 of eight counts; what a finite step can add is counted"
free = adopted_share(np.radians(np.tile(degrees, 2)), 1e9)
free = Variant("the output weight plays no part", **counted(free), share=0.6)
none = Variant("class +1 alone moves it: none is adopted", predicted=0.0, share=0.2)
same = Variant(
    "as for a dying neuron: if the product is positive", predicted=1.0, share=0.2
)
exact = "zero or one for each neuron; the flow locates the changes of sign"
verify_all(
    verify(
        "combes2018-ours-adoption",
        measured=flowed,
        predicted=ruled,
        because=exact,
        control=none,
    ),
    verify(
        "combes2018-ours-above",
        measured=met,
        predicted=needs,
        because=exact,
        control=same,
    ),
    verify(
        "combes2018-ours-adopted-share",
        measured=shares,
        **counted(theory),
        because=because,
        control=free,
    ),
)


# %%NBQA-CELL-SEP476b88
w, a, x, dies = wrong_sign(np.pi, 1.0, 1000, generator(90))
x[1, 1] = 0.0  # exactly opposite
w, a = w[dies], a[dies]
say(opposite=float(100 * adopted(w, a, x).mean()))


# %%NBQA-CELL-SEP476b88
w, a, x, dies = wrong_sign(np.radians(120), 1.0, 400, generator(91))
lean, known = towards(w[dies], x) > 0, np.ones(8)
crowd = TwoLayer(np.vstack([w[dies], known[:, None] * x[0]]), np.append(a[dies], known))
options = {"step": 2e-3, "steps": 20000, "reduction": "sum"}
run = gradient_descent(crowd, x, [1, -1], LOGISTIC, **options)
h1, h2 = run.network.preactivations(x)[:, : dies.sum()]
say(
    crowd=int(dies.sum()),
    crowd_died=int(np.sum(h1 <= 0)),
    crowd_wrong=int(np.sum((h2 > 0)[h1 <= 0] != lean[h1 <= 0])),
)


# %%NBQA-CELL-SEP476b88
say(seconds=process_time() - started)
