# %%NBQA-CELL-SEP476b88
from time import process_time

import matplotlib.pyplot as plt
import numpy as np
from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.special import expit
from scipy.stats import binom, norm

from executable_claims import Variant, verify, verify_all
from lib import figures
from lib.models.two_layer import TwoLayer
from lib.prose import say
from lib.seeds import generator
from lib.training.descent import gradient_descent
from lib.training.losses import LOGISTIC, SQUARE

figures.use_style()
started = process_time()


# %%NBQA-CELL-SEP476b88
def learns(h, a, size, pace):  # pace is the step times |x|; one network a row
    logit = (a * np.maximum(h, 0)).sum(axis=-1, keepdims=True)
    k = pace * expit(-logit)
    return (h > 0) & (h + np.maximum(1, k) * size * a > 0)


# %%NBQA-CELL-SEP476b88
def network_of(h, a, x, draws):
    """Networks with these h and a on x, shape (networks, m); w has a random part across x."""
    across = draws.standard_normal((*h.shape, x.shape[1]))
    across -= across @ x.T / (x @ x.T) * x
    return TwoLayer(h[..., None] * x / (x @ x.T) + across, a)


def survives(h, a, x, pace, draws, steps=200):
    """Whether each neuron is active after so many steps, above the line h + |x| a = 0."""
    size = np.linalg.norm(x)
    start = network_of(h, a, x, draws)
    run = gradient_descent(start, x, [1], LOGISTIC, step=pace / size, steps=steps)
    h, a = run.network.preactivations(x)[:, 0], run.network.a
    return (h > 0) & (h + size * a > 0)


def along_x(size, draws):
    x = draws.standard_normal((1, 3))
    return size * x / np.linalg.norm(x)


fig, axes = figures.panels(1, height=3.6)
draws = generator(1)
x, h, a = along_x(1.0, draws), draws.uniform(0, 4, (500, 1)), draws.uniform(-2, 1, (500, 1))
alive = survives(h, a, x, 10, draws)
for some, colour in ((alive, figures.SIMULATION), (~alive, figures.CONTRAST)):
    axes.plot(a[some], h[some], "o", color=colour, markersize=3)
heights = np.linspace(0, 4, 200)
for pace, at in (
    (1, (-1.97, 2.1)),
    (3, (-1.36, 4.06)),
    (10, (-0.51, 4.06)),
    (100, (-0.14, 4.06)),
):
    edge = [brentq(lambda c: h - c * max(1, pace * expit(c * h)), 0, 4) for h in heights]
    axes.plot(-np.array(edge), heights, **figures.DASHED)
    axes.annotate(f"{pace}", at, annotation_clip=False)
axes.set(xlim=(-2, 1), ylim=(0, 4), xlabel="output weight $a$")
axes.set_ylabel("pre-activation $h$")
say(wrong=int((alive != learns(h, a, 1.0, 10)).sum()), starts=len(h))
plt.show()


# %%NBQA-CELL-SEP476b88
met, ruled, small = [], [], []
for i in range(15):
    draws, m = generator(10 + i), (1, 2, 5)[i // 5]
    size, pace = np.exp(draws.uniform(np.log([0.1, 0.5]), np.log([10, 100])))
    x = along_x(size, draws)
    h, a = draws.standard_normal((2, 180, m)) * np.sqrt([[[size]], [[1 / size]]])
    a[60:120, 0] = -np.abs(a[60:120, 0])
    h[60:120, 0] = -size * a[60:120, 0] * pace ** draws.random(60)
    u0 = -np.exp(draws.uniform(-4, 3, 60)) * np.where(m > 1, draws.choice([-1, 1], 60), 1)
    k0 = np.maximum(1, pace * expit(-u0))
    a[120:, 0] = -np.sqrt(np.abs(u0) / (k0 * size))
    h[120:, 0] = -k0 * size * a[120:, 0]
    if m > 1:  # the last neuron brings the network to the logit u0
        h[120:, -1] = np.sqrt(size)
        others = (a * np.maximum(h, 0))[120:, :-1].sum(axis=1)
        a[120:, -1] = (u0 - others) / np.sqrt(size)
    h[120:, 0] *= 1 + draws.choice([-1e-6, 1e-6], 60)
    met.append(survives(h, a, x, pace, draws)[:, 0])
    ruled.append(learns(h, a, size, pace)[:, 0])
    small.append(learns(h, a, size, 0)[:, 0])


def root(c, pace):
    """The height above which a neuron with a = -c survives, |x| = 1."""
    return brentq(lambda h: h - c * max(1, pace * expit(c * h)), 0, (1 + pace) * c + 1)


def share(pace):
    def tail(c):
        return norm.pdf(c) * norm.sf(root(c, pace))

    return 0.25 + quad(tail, 0, 8, epsabs=1e-9, limit=200)[0]


def counts(shares):
    """What counts of 4000 can be, all at once, with one false alarm in 1e4 runs."""
    alarm, shares = 1e-4 / (2 * len(paces)), np.asarray(shares)
    low, high = binom.ppf(alarm, 4000, shares), binom.isf(alarm, 4000, shares)
    return {"at_least": low, "at_most": high}


draws, paces = generator(40), np.geomspace(0.5, 500, 10)
x, lived = along_x(1.0, draws), []
for pace in paces:
    start = draws.standard_normal((2, 4000, 1))
    lived.append(survives(*start, x, pace, draws).sum())
verify_all(
    verify(
        "combes2018-ours-large-steps",
        measured=np.array(met, float),
        predicted=np.array(ruled, float),
        because="yes or no for each neuron",
        control=Variant(
            "the rule of small steps", predicted=np.array(small, float), share=0.2
        ),
    ),
    verify(
        "combes2018-ours-large-share",
        measured=lived,
        **counts([share(pace) for pace in paces]),
        because="ten binomial counts, a false alarm in 1e4 runs",
        control=Variant(
            "three of eight, as with small steps", **counts([3 / 8] * 10), share=0.5
        ),
    ),
)


# %%NBQA-CELL-SEP476b88
fig, axes = figures.panels(1, height=2.6)
mean, grid = np.array(lived) / 4000, np.geomspace(0.4, 600, 60)
error = 2 * np.sqrt(mean * (1 - mean) / 4000)
axes.errorbar(paces, mean, error, fmt="o", color=figures.SIMULATION)
axes.semilogx(grid, [share(pace) for pace in grid], **figures.DASHED)
axes.set(xlabel="step size", ylabel="share that learns", ylim=(0.2, 0.42))
largest = np.abs(mean - [share(pace) for pace in paces]).max()
say(share_gap=float(largest), at_3=share(3), at_10=share(10), at_100=share(100))
plt.show()


# %%NBQA-CELL-SEP476b88
draws = generator(60)
h, a = np.abs(draws.standard_normal((2, 2000, 1)))
x = along_x(1.0, draws)
run = gradient_descent(network_of(h, a, x, draws), x, [1], SQUARE, step=1.0, steps=200)
say(square=float(100 * (run.network.preactivations(x)[:, 0] <= 0).mean()))


# %%NBQA-CELL-SEP476b88
say(seconds=process_time() - started)
