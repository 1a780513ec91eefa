# %%NBQA-CELL-SEP476b88
from itertools import pairwise
from time import process_time

import matplotlib.pyplot as plt
import numpy as np
from scipy.integrate import quad
from scipy.special import expit

from executable_claims import Variant, verify
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
def death_time(h, a, size, j=0):
    """Time at which neuron j of the network (h, a) dies, |x| = size."""
    plus, minus = h + size * a, h - size * a
    dies = (h > 0) & (plus < 0)
    ends = np.where(
        dies, np.log(np.where(dies, minus, 1) / np.where(dies, -plus, 1)), np.inf
    )

    def slowness(s):
        part = plus**2 * np.exp(s) - minus**2 * np.exp(-s)
        return (1 + np.exp(part[(h > 0) & (s < ends)].sum() / (4 * size))) / (2 * size)

    cuts = np.unique([0, *ends[dies & (ends <= ends[j])]])
    pieces = pairwise(cuts)
    return sum(quad(slowness, *piece, epsabs=0, epsrel=1e-11)[0] for piece in pieces)


# %%NBQA-CELL-SEP476b88
def killed(h, a, x, draws, until):
    """Times at which the neurons of one network die in the flow of all weights, else until."""
    across = draws.standard_normal((len(h), 3))
    across -= across @ x.T / (x @ x.T) * x
    w = h[:, None] * x / (x @ x.T) + across * np.abs(h[:, None]) / np.linalg.norm(x)
    run = gradient_flow(TwoLayer(w, a), x, [1], LOGISTIC, until=until, rtol=1e-13)
    times = np.full(len(h), float(until))
    for event in run.events:
        times[event.neuron] = event.time
    return times


def along_x(size, draws):
    x = draws.standard_normal((1, 3))
    return size * x / np.linalg.norm(x)


fig, axes = figures.panels(1)
draws, grid, dots = generator(1), np.linspace(0, 1, 101), np.arange(0.1, 1.01, 0.1)
x, curve = along_x(1.0, draws), []
for size in grid:
    curve.append(death_time(np.array([1, size]), np.array([-1.1, size]), 1.0))
met = []
for size in dots:
    pair = np.array([1, size]), np.array([-1.1, size])
    met.append(killed(*pair, x, draws, 4e7)[0])
axes.semilogy(dots, met, "o", color=figures.SIMULATION)
axes.semilogy(grid, curve, **figures.DASHED)
axes.axhline(curve[0], color=figures.THEORY, linestyle=":")
axes.set(xlabel="start of the neighbour, $a=h$", ylabel="time of death")
say(
    alone=curve[0],
    tenth=curve[10],
    half=curve[50],
    full=f"{curve[100] / 1e6:.0f}",
    beside_gap=float(np.abs(np.array(met) / curve[10::10] - 1).max()),
)
plt.show()


# %%NBQA-CELL-SEP476b88
found, theory, single = [], [], []
for i in range(15):
    draws, m = generator(10 + i), (2, 5, 5)[i // 5]
    size = np.exp(draws.uniform(*np.log([0.1, 10])))
    x, h = along_x(size, draws), np.abs(draws.standard_normal(m)) * np.sqrt(size)
    a = draws.standard_normal(m) / np.sqrt(size)
    a[0] = -draws.uniform(1, 1 + (1, 1, 1e-3)[i // 5]) * h[0] / size  # dies
    a[1] = np.abs(a[1])  # learns
    until, times = 1e6 / size, killed(h, a, x, draws, 1e6 / size)
    for j in np.flatnonzero(h + size * a < 0):
        with np.errstate(over="ignore"):
            found.append(times[j])
            theory.append(min(death_time(h, a, size, j), until))
            single.append(min(death_time(h[[j]], a[[j]], size), until))
verify(
    "combes2018-ours-delay",
    measured=found,
    predicted=theory,
    rtol=1e-6,
    because="1e-13 a step, over some thousand steps; late u is large, and its error enters the time "
    "as a factor",
    control=Variant("the time alone", predicted=single, share=0.8),
)


# %%NBQA-CELL-SEP476b88
def flow(h0, a0, x, draws, times):
    """Gradient flow of all weights of one neuron, and its h and a at the times."""
    across = np.cross(x[0], draws.standard_normal(3)) / (x @ x.T)
    start = TwoLayer(h0 * (x / (x @ x.T) + across), [a0])
    run = gradient_flow(start, x, [1], LOGISTIC, until=times[-1], rtol=1e-13)
    at = run.at(times)
    heights = np.exp(at.log_norms[:, 0]) * (at.directions[:, 0] @ x[0])
    return run, heights, at.signs[:, 0] * np.exp(at.log_outputs[:, 0])


fig, (plane, curve) = figures.panels(2)
times, draws, chances = np.linspace(0, 20, 201), generator(40), []
x, death = along_x(1.0, draws), death_time(np.array([1.0]), np.array([-1.1]), 1.0)
plane.plot([-2, 0, 0, -2, 2], [2, 0, np.nan, 0, 0], **figures.DASHED)
curve.plot([0, 20, np.nan, death, death], [0.5, 0.5, np.nan, 0, 1], **figures.DASHED)
for start, colour, mark, every in (
    ((1.1, -1.0), figures.SIMULATION, "-", 1),
    ((1.0, -1.1), figures.CONTRAST, "o", 5),
):
    run, heights, weights = flow(*start, x, draws, times)
    chances.append(expit(run.outputs(times)[:, 0]))
    plane.plot(weights, heights, color=colour)
    plane.plot(start[1], start[0], "o", color=colour)
    curve.plot(times[::every], chances[-1][::every], mark, color=colour, markersize=4)
plane.set(xlim=(-2, 2), ylim=(-0.5, 3), xlabel="output weight $a$")
plane.set_ylabel("pre-activation $h$")
curve.set(xlim=(0, 20), ylim=(0, 1), xlabel="time", ylabel="probability $P$")
say(twin_gap=float(np.abs(np.subtract(*chances))[times < death].max()), death=death)
plt.show()


# %%NBQA-CELL-SEP476b88
figures.live("neuron_orbits")


# %%NBQA-CELL-SEP476b88
def reached(s, plus, minus, size):
    """The time of the flow at the learning time s."""

    def slowness(r):
        return 1 + np.exp((plus**2 * np.exp(r) - minus**2 * np.exp(-r)) / (4 * size))

    return quad(slowness, 0, s, epsabs=0, epsrel=1e-12)[0] / (2 * size)


flows, law, frozen = [], [], []
for i in range(15):
    draws, (low, high) = generator(50 + i), ((1e-3, 1e-2), (0.01, 1), (1, 15))[i // 5]
    size = np.exp(draws.uniform(*np.log([0.05, 20])))
    x, u0 = along_x(size, draws), -np.exp(draws.uniform(*np.log([low, high])))
    a0 = -np.sqrt(-u0 / size)
    h0 = -size * a0 * draws.uniform(0.05, 0.999)
    plus, minus = h0 + size * a0, h0 - size * a0
    end = death_time(np.array([h0]), np.array([a0]), size)
    s = np.log(minus / abs(plus)) * np.linspace(0.05, 0.95, 19)
    logits = (plus**2 * np.exp(s) - minus**2 * np.exp(-s)) / (4 * size)
    times = [reached(r, plus, minus, size) for r in s]
    run = flow(h0, a0, x, draws, [1.1 * end])[0]
    twin, _, weights = flow(-size * a0, -h0 / size, x, draws, [*times, end])
    both = [run.outputs(times)[:, 0], twin.outputs(times)[:, 0]]
    flows.append([*np.ravel(both), run.events[0].time / end, 1 + weights[-1] / abs(a0)])
    law.append([*logits, *logits, 1, 1])
    even = np.array(times) * size  # s, if the slope of the loss were one half
    even = (plus**2 * np.exp(even) - minus**2 * np.exp(-even)) / (4 * size)
    frozen.append([*even, *even, s[-1] / 0.95 / size / end, 1])
verify(
    "combes2018-ours-twins",
    measured=flows,
    predicted=law,
    rtol=1e-7,
    because="1e-13 a step; errors grow against h by e^s, here at most some 1e3",
    control=Variant(
        "the slope of the loss frozen at one half", predicted=frozen, share=0.8
    ),
)


# %%NBQA-CELL-SEP476b88
draws, x = generator(80), np.array([[1.0, 0.0, 0.0]])
w, a = draws.standard_normal((600, 5, 3)), draws.standard_normal((600, 5))
h = w[..., 0]
doomed = (h > 0) & (h + a < 0) & ((h > 0) & (h + a > 0)).any(axis=1, keepdims=True)
both = np.array([1.0, 0.5]), np.array([-1.1, 0.5])
mirrored = np.array([1.1, 0.5]), np.array([-1.0, 0.5])
run = gradient_descent(
    TwoLayer(w, a),
    x,
    [1],
    LOGISTIC,
    step=0.9,
    steps=5000,
    record=lambda now: 100 * (now.preactivations(x)[:, 0][doomed] > 0).mean(),
    record_at=(150, 5000),
)
times, pair = np.linspace(0, 0.999 * death_time(*both, 1.0), 50), []
for start in both, mirrored:
    w = np.pad(start[0][:, None], ((0, 0), (0, 2)))
    flown = gradient_flow(
        TwoLayer(w, start[1]), x, [1], LOGISTIC, until=times[-1], rtol=1e-13
    )
    pair.append(flown.outputs(times)[:, 0])
say(pair_death=times[-1] / 0.999, pair_gap=float(np.abs(np.subtract(*pair)).max()))
say(doomed=int(doomed.sum()), alive_150=run.recorded[0], alive_5000=run.recorded[1])


# %%NBQA-CELL-SEP476b88
say(seconds=process_time() - started)
