# %%NBQA-CELL-SEP476b88
from time import process_time

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import brentq
from scipy.special import expit

from executable_claims import Variant, verify, verify_all
from lib import figures
from lib.flow.weights import layers_flow
from lib.models.deep import balanced, diagonal, gradients, outputs
from lib.prose import say
from lib.seeds import generator
from lib.theory.one_neuron import time_between

figures.use_style()
started = process_time()


# %%NBQA-CELL-SEP476b88
Y = np.array([1.0, -1.0])


def margin(layers, x, k=0):
    return Y[k] * outputs(layers, x)[..., k]


def reaching(path, x, goal, until, k=0):
    """Time at which the margin of class k is the goal."""
    return brentq(lambda t: margin(path(t), x, k) - goal, 0, until)


def own_speed(layers, x, k=0):
    """Speed of the margin of class k, from the gradient of its loss."""
    own = gradients(layers, x[k : k + 1], Y[k : k + 1])
    return sum((g**2).sum(axis=(-2, -1)) for g in own) / expit(-margin(layers, x, k))


# %%NBQA-CELL-SEP476b88
fig, (left, right) = figures.panels(2, height=2.8, sharey=True)
apart = []
pair, u0 = np.array([[1.0, 0.0], [-0.6, 0.8]]), 0.01  # one input a class, of norm one
times = np.linspace(0, 30, 400)


def draw(axes, layers, x, **style):
    path = layers_flow(layers, x, Y, times[-1])
    axes.plot(times, expit(margin(path(times), x)), **style)
    return path


for N, colour in ((2, figures.SIMULATION), (8, figures.CONTRAST)):
    for norm, width in ((1, 1.2), (4, 2.4)):
        x, style = norm * pair, {"color": colour, "linewidth": width}
        path = draw(left, balanced(u0, N, x, Y), x, **style)
        reached = np.linspace(u0, 4, 200)
        law = time_between(u0, reached, N, norm)
        left.plot(law, expit(reached), **figures.DASHED)
        apart.append(np.abs(expit(margin(path(law), x)) - expit(reached)).max())
for ratio, colour in ((1, figures.CONTRAST), (3, figures.THIRD), (10, figures.FOURTH)):
    spread = np.tile(ratio ** np.linspace(-0.5, 0.5, 8)[:, None], 2)
    draw(right, diagonal(spread * u0 ** (1 / 8), pair, Y), pair, color=colour)
right.plot(time_between(u0, reached, 8), expit(reached), **figures.DASHED)
for axes, text, place, colour in (
    (left, "2 layers", (13, 0.92), figures.SIMULATION),
    (left, "8 layers", (12, 0.7), figures.CONTRAST),
    (right, "balanced", (12, 0.8), figures.CONTRAST),
    (right, "3", (7.6, 0.7), figures.THIRD),
    (right, "10", (3.6, 0.7), figures.FOURTH),
):
    axes.annotate(text, place, color=colour)
say(apart=float(max(apart)))
left.set(xlabel="time $t$", ylabel="probability of the true class", xlim=(0, 25))
right.set(xlabel="time $t$", xlim=(0, 25))
plt.show()


# %%NBQA-CELL-SEP476b88
def inflection(N):
    return brentq(lambda u: (2 - 2 / N) / u + 1 - 3 * expit(u), 0.1, 5)


def compare_flows(N, u0, draws):
    """Times of balanced and uneven flows of two classes; speeds and steepest point of the former."""
    frame, angle = np.linalg.qr(draws.normal(size=(3, 3)))[0], draws.uniform(np.pi / 2, 3)
    norms = 0.05 * 40 ** draws.uniform() * np.array([1, draws.uniform(2, 10)])
    x = np.stack([frame[0], np.cos(angle) * frame[0] + np.sin(angle) * frame[1]])
    x, aside = x * norms[:, None], draws.uniform(-0.5, 0.5, (2, 1)) * frame[2]
    goals = np.geomspace(1.5 * u0, u0 + 5, 4)
    law = np.array([time_between(u0, goals, N, norm) for norm in norms])
    spread = np.exp(draws.permutation(np.linspace(-1, 1, N)) * draws.uniform(0.2, 1))
    sizes, until = spread[:, None] * (u0 / norms) ** (1 / N), 1.05 * law.max()
    path, other = (
        layers_flow([first + aside, *rest], x, Y, until)
        for first, *rest in (balanced(u0, N, x, Y), diagonal(sizes, x, Y))
    )
    even, uneven = (
        [[reaching(p, x, g, until, k) for g in goals] for k in (0, 1)]
        for p in (path, other)
    )
    speeds = [[own_speed(path(t), x, k) for t in even[k]] for k in (0, 1)]
    some = path(time_between(u0, np.linspace(u0, u0 + 3, 301), N, norms[0]))
    reached = margin(some, x)
    slopes = own_speed(some, x) * expit(reached) * expit(-reached)
    turns = np.sign(np.diff(slopes))
    steepest = reached[slopes.argmax()] if np.all(np.diff(turns) <= 0) else np.nan
    return even, law, uneven, speeds, norms, np.tile(goals, (2, 1)), steepest


DEPTHS, u0s = np.tile([2, 3, 4, 6, 10], 3), []
for family, (low, high) in enumerate([(1e-6, 1e-3), (0.01, 0.8), (1.5, 4)]):
    u0s += list(np.exp(generator(20 + family).uniform(np.log(low), np.log(high), 5)))
runs = [compare_flows(*case, generator(k)) for k, case in enumerate(zip(DEPTHS, u0s))]
even, law, uneven, speeds, norms, goals, steepest = map(np.array, zip(*runs))
stars = np.array([inflection(N) for N in DEPTHS])


def speed_law(N):
    N, norm = N[:, None, None], norms[:, :, None]
    return N * norm ** (2 / N) * goals ** (2 - 2 / N) * expit(-goals)


# %%NBQA-CELL-SEP476b88
verify_all(
    verify(
        "combes2018-eq-5",
        measured=speeds,
        predicted=speed_law(DEPTHS),
        rtol=1e-9,
        because="the balance is kept to the integrator's 1e-10 a step",
        control=Variant(
            "N counts hidden layers", predicted=speed_law(DEPTHS + 1), share=0.9
        ),
    ),
    verify(
        "combes2018-ours-depth-clock",
        measured=np.stack([even, uneven]),
        at_least=np.stack([law, 0 * law]),
        at_most=np.stack([law, law]),
        rtol=1e-6,
        because="the integrator's 1e-10 a step over some hundred steps, felt tenfold by times",
        control=Variant(
            "unequal layers need the same time",
            predicted=np.stack([law, law]),
            share=0.5,
        ),
    ),
)


# %%NBQA-CELL-SEP476b88
verify_all(
    verify(
        "combes2018-b-norm",
        measured=np.log(even[:, 0] / even[:, 1]) / np.log(norms[:, 1:] / norms[:, :1]),
        predicted=np.tile(2 / DEPTHS[:, None], 4),
        atol=4e-6,
        because="two times good to 1e-6, and norms that differ by a factor two or more",
        control=Variant("the inverse norm at every depth", predicted=1.0, share=0.8),
    ),
    verify(
        "combes2018-fig-4",
        measured=steepest,
        predicted=np.maximum(u0s, stars),
        atol=0.0101,
        because="the slope is looked at in steps of 0.01 of the logit",
        control=Variant(
            "two layers' inflection at every depth",
            predicted=np.maximum(u0s, stars[0]),
            share=0.5,
        ),
    ),
)


# %%NBQA-CELL-SEP476b88
ones = np.append(np.ones((7, 2)), [[0.0, 0.0]], axis=0)
path = layers_flow(diagonal(ones, pair, Y), pair, Y, 20)
say(from_zero=reaching(path, pair, np.log(99), 20))
say(four8=4 ** (2 / 8), star2=inflection(2), star8=inflection(8))
say(seconds=process_time() - started)
