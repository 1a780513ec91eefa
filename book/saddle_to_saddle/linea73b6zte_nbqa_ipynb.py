# %%NBQA-CELL-SEP476b88
from time import process_time

import matplotlib.pyplot as plt
import numpy as np
import sympy as sp
from scipy.optimize import linprog

from executable_claims import Variant, verify, verify_all
from lib import figures
from lib.flow.weights import weights_flow
from lib.prose import say
from lib.seeds import generator
from lib.theory.orthogonal import grouped_start
from lib.training.losses import SQUARE

figures.use_style()
started = process_time()


# %%NBQA-CELL-SEP476b88
inputs, labels = np.array([(-0.5, 1.0), (2.0, 1.0)]), np.array([-1.0, 1.0])
grid = np.linspace(-3, 4, 141)
line = 0.8 * grid - 0.6
learnt = 0.4 * np.maximum(0, grid + 0.5) - 0.4 * np.maximum(0, 2 - grid)


def window_cost(M):
    """The cost of the line on [-M, M], for M of at least the root of 3; derived below."""
    return 2 * np.cos(np.arctan(0.75) - np.pi / 6 + np.arctan(1 / M))


# %%NBQA-CELL-SEP476b88
def end_of_flow(seed, m, scale):
    """The network at the end, from a start with both groups, in raw weights."""
    start = grouped_start(m, inputs, labels, rng=generator(seed)).scaled(np.log(scale))
    until = 60 - 4 * np.log(scale)
    options = {"rates": 1 / 2, "rtol": 1e-8, "atol": 1e-10 * min(scale, 1)}
    run = weights_flow(start.network(), inputs, labels, SQUARE, [0, until], **options)
    return run.with_weights(run.w[-1], run.a[-1])


def cost(network):
    return (network.w**2).sum() / 2 + (network.a**2).sum() / 2


def program(M, count=400):
    """The line on [-M, M] by a linear program: kinks at the points where it is asked for."""
    angles = np.append(2 * np.pi * np.arange(count) / count + 0.001, 0)
    edges = np.arctan2([M, M, -M, -M], [1, -1, 1, -1])
    w = np.column_stack([np.cos(angles), np.sin(angles)])
    w = np.vstack([w, np.column_stack([np.cos(edges), np.sin(edges)]), [0, 1]])
    with np.errstate(divide="ignore"):
        kinks = -w[:, 1] / w[:, 0]
    spots = np.unique(np.round(np.append(kinks[np.abs(kinks) < M], [-M, M]), 12))
    response = np.maximum(np.column_stack([spots, np.ones(len(spots))]) @ w.T, 0)
    weights = 1 / np.maximum(1, np.abs(spots))[:, None]  # rows of like size
    return linprog(
        np.ones(2 * len(w)), A_eq=weights * np.hstack([response, -response]),
        b_eq=weights[:, 0] * (0.8 * spots - 0.6), bounds=(0, None), method="highs",
    ).fun  # fmt: skip


# %%NBQA-CELL-SEP476b88
shown = end_of_flow(0, 30, 1e-8)
windows = np.array([1.8, 2.5, 4, 8, 20, 60, 300])
programs = np.array([program(M) for M in windows])
outputs = shown(np.column_stack([grid, np.ones(len(grid))]))
fig, (left, right) = figures.panels(2)
left.plot(grid, line, color=figures.THEORY, linestyle=":", lw=1.2)
left.plot(grid, outputs, color=figures.SIMULATION)
left.plot(grid, learnt, **figures.DASHED)
left.plot(inputs[:, 0], labels, "o", color=figures.THEORY, zorder=5)
left.annotate("line", (2.7, 2.2), color=figures.THEORY, ha="right")
left.annotate("learnt", (3.9, 0.6), color=figures.SIMULATION, ha="right")
left.set(xlabel=r"$\xi$", ylabel="function")
wide = np.geomspace(np.sqrt(3), 400, 200)
right.semilogx(windows, programs, "o", color=figures.CONTRAST)
right.semilogx(wide, window_cost(wide), **figures.DASHED)
right.axhline(3 / np.sqrt(5), color=figures.SIMULATION, lw=1)
right.annotate("learnt", (100, 1.36), color=figures.SIMULATION)
right.annotate("line", (100, 1.9), color=figures.CONTRAST)
right.set(xlabel="M", ylabel="cost", ylim=(1.2, 2.05), xticks=[2, 10, 100])
right.set_xticklabels(["2", "10", "100"])
right.minorticks_off()
say(figure_gap=np.abs(outputs - learnt).max(), shown_cost=cost(shown))
plt.show()


# %%NBQA-CELL-SEP476b88
xi = sp.Symbol("xi", real=True)
root, tenth = sp.sqrt(3), sp.Rational(1, 10)
k, b = 1 / root, 8 * tenth / root - 6 * tenth
pair = 8 * tenth * (sp.Max(0, xi - k) - sp.Max(0, k - xi)) + b
exact = 6 * tenth + 8 * tenth * root
zeros = [sp.simplify(pair.subs(xi, at) - (8 * at - 6) * tenth) for at in range(-3, 4)]
zeros += [sp.simplify(16 * tenth * sp.sqrt(1 + k**2) - b - exact)]
zeros += [sp.simplify(root / 2 * 16 * tenth + 12 * tenth / 2 - exact)]
theta = sp.Symbol("theta")
c, d = 2 / root * sp.sin(sp.pi / 3 - theta), 2 / root * sp.sin(theta)
zeros += [sp.simplify(sp.expand_trig(2 * c + d - 2 * sp.cos(theta)))]
zeros += [
    sp.simplify(sp.expand_trig(2 * sp.cos(sp.atan(sp.Rational(3, 4)) - sp.pi / 6)) - exact)
]
assert all(zero == 0 for zero in zeros)
f"{len(zeros)} terms are zero"


# %%NBQA-CELL-SEP476b88
widths = np.repeat([5, 30, 60], 5)
small = [end_of_flow(k, int(m), 1e-8) for k, m in enumerate(widths)]
large = [end_of_flow(k, int(m), 0.5) for k, m in enumerate(widths)]
on_line = np.column_stack([grid, np.ones(len(grid))])
say(above=sum(cost(network) > 0.6 + 0.8 * np.sqrt(3) for network in large))


# %%NBQA-CELL-SEP476b88
verify_all(
    verify(
        "boursier2022-sec5-linear",
        measured=[network(on_line) for network in small],
        predicted=np.tile(learnt, (15, 1)),
        atol=1e-5,
        because="components that never move keep their size 1e-8, times ten for inputs and sums; the "
        "integrator 1e-8 a step over some hundred",
        control=Variant(
            "the linear interpolator", predicted=np.tile(line, (15, 1)), share=0.6
        ),
    ),
    verify(
        "boursier2022-sec5-f1",
        measured=[cost(network) for network in small],
        at_most=(1 - 5e-5) * programs.max(),
        because="a network costs at least what its function does; 5e-5 is the error of the program, "
        "whose window costs less than the line",
        control=Variant(
            "a start of scale 1/2", measured=[cost(network) for network in large], share=0.6
        ),
    ),
    verify(
        "boursier2022-ours-line",
        measured=programs,
        predicted=window_cost(windows),
        rtol=5e-5,
        because="half a step of 1/400 of the circle costs 1/cos(h/2) - 1 = 3.1e-5",
        control=Variant(
            "pairs of neurons alone, twice the slope vector", predicted=2.0, share=1.0
        ),
    ),
)


# %%NBQA-CELL-SEP476b88
uneven = [network.with_weights(2 * network.w, network.a / 2) for network in small]
assert all((one(on_line) == two(on_line)).all() for one, two in zip(small, uneven))
verify(
    "boursier2022-sec3.2-l2",
    measured=[cost(other) / cost(network) for other, network in zip(uneven, small)],
    predicted=17 / 8,
    atol=1e-6,
    because="the flow keeps balance to 1e-8 a step",
    control=Variant("the function determines the cost", predicted=1.0, share=1.0),
)


# %%NBQA-CELL-SEP476b88
say(seconds=process_time() - started)
