# %%NBQA-CELL-SEP476b88
from time import process_time

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import brentq
from scipy.special import expit, logit

from executable_claims import Variant, verify, verify_all
from lib import figures
from lib.flow.weights import layers_flow
from lib.models.deep import balanced, diagonal, gradients, outputs
from lib.prose import say
from lib.seeds import generator
from lib.theory.one_neuron import time_between

figures.use_style()
started = process_time()
COLOURS = {2: figures.SIMULATION, 4: figures.THIRD, 8: figures.CONTRAST}


# %%NBQA-CELL-SEP476b88
Y = np.array([1.0, -1.0])
PAIR = np.array([[1.0, 0.0], [-0.6, 0.8]])  # one input a class, both of norm one


def arrivals(layers, goals, step):
    """Times at which descent brings class +1 to the logits, shape (runs, goals)."""
    logits = [outputs(layers, PAIR)[:, 0]]
    while logits[-1].min() < np.max(goals):
        layers = [w - step * g for w, g in zip(layers, gradients(layers, PAIR, Y))]
        logits.append(outputs(layers, PAIR)[:, 0])
    times = step * np.arange(len(logits))
    return np.array([np.interp(goals, run, times) for run in np.transpose(logits)])


# %%NBQA-CELL-SEP476b88
fig, both = figures.panels(2, height=2.8, sharey=True)
apart = []
for axes, low in zip(both, (0.5, 0.001)):
    goals = low + np.linspace(0.0, 1.0, 60) ** 2 * (logit(0.99) - low)
    for N, colour in COLOURS.items():
        run = arrivals(balanced([low], N, PAIR, Y), goals, 0.05)[0]
        theory = time_between(low, goals, N)
        apart.append(abs(run[-1] / theory[-1] - 1))
        axes.plot(run, expit(goals), color=colour, label=str(N))
        axes.plot(theory, expit(goals), **figures.DASHED)
        say(**{f"t{N}_{low}".replace(".", "_"): float(theory[-1])})
    axes.set(xlabel="time $t$", title=f"start at logit {low}")
both[0].set_ylabel("probability of the true class")
both[0].legend(title="layers", labelcolor="linecolor", loc="lower right")
say(apart=100 * max(apart))
plt.show()


# %%NBQA-CELL-SEP476b88
def threshold(N, M, size=1.0):
    return size * (M / N) ** (M * N / (2 * (N - M)))


def break_even(goal, N, M, size=1.0):
    """For required logits up to 30, above the threshold."""

    def lead(log_u0):
        u0 = np.exp(log_u0)
        return time_between(u0, goal, M, size) - time_between(u0, goal, N, size)

    return np.exp(brentq(lead, np.log(1e-100), np.log(threshold(N, M, size))))


# %%NBQA-CELL-SEP476b88
fig, axes = figures.panels(1)
asked, grid = np.array([0.8, 0.9, 0.97, 0.99, 0.999]), np.linspace(1, 7.6, 50)
away = []
for N, lowest, place in ((4, 1.2e-4, (0.81, 0.055)), (8, 4e-4, (0.9985, 0.0013))):
    starts = np.geomspace(lowest, 0.3, 24)
    deep, two = (arrivals(balanced(starts, n, PAIR, Y), logit(asked), 0.05) for n in (N, 2))
    dots = []
    for lead in (two - deep).T:
        i = np.flatnonzero(np.diff(np.sign(lead)))[0]
        dots.append(np.exp(np.interp(0, lead[i : i + 2], np.log(starts[i : i + 2]))))
    away += [dot / break_even(goal, N, 2) - 1 for dot, goal in zip(dots, logit(asked))]
    line = figures.DASHED | {"color": COLOURS[N]}
    axes.semilogy(expit(grid), [break_even(goal, N, 2) for goal in grid], **line)
    axes.semilogy(asked, dots, "o", color=COLOURS[N])
    axes.annotate(f"{N} layers", place, color=COLOURS[N])
axes.set_xscale("logit")
axes.set_xticks(asked, [f"{value:g}" for value in asked])
axes.xaxis.set_minor_formatter(plt.NullFormatter())
axes.annotate("before two layers", (0.985, 0.05))
axes.annotate("after two layers", (0.76, 5e-4))
axes.set(xlabel="required confidence", ylabel="initial logit $u_0$", ylim=(3e-5, 0.12))
say(away=100 * float(np.abs(away).max()))
say(**{f"even{part}": float(break_even(logit(part / 1000), 4, 2)) for part in (990, 999)})
plt.show()


# %%NBQA-CELL-SEP476b88
def flow_times(N, starts, goals, x):
    until = 1.05 * np.max(time_between(starts, goals, N, np.linalg.norm(x[0])))
    path = layers_flow(balanced(starts, N, x, Y), x, Y, until)

    def ahead(t, i):
        return outputs(path(t), x)[i, 0] - goals[i]

    return np.array([brentq(ahead, 0, until, args=(i,)) for i in range(len(goals))])


def deeper_first(N, M, starts, goals, x):
    return np.sign(flow_times(M, starts, goals, x) - flow_times(N, starts, goals, x))


apart = np.array([0.5, 0.9, 1.1, 2])
leads, without_norm, order, from_even = [], [], [], []
for family, (low, high) in enumerate([(0.05, 0.3), (0.5, 2), (5, 20)]):
    draws = generator(40 + family)
    for N, M in ((4, 2), (8, 2), (5, 3), (8, 4), (10, 6)):
        size = np.exp(draws.uniform(np.log(low), np.log(high)))
        even_speed, x = threshold(N, M, size), size * PAIR
        u = even_speed * apart
        leads.append(deeper_first(N, M, u, 1.02 * u, x))
        without_norm.append(np.sign(u - threshold(N, M)))
        goal = even_speed + draws.uniform(1, 5)
        start = break_even(goal, N, M, size)
        between = [1.02 * start, np.sqrt(start * even_speed), 0.95 * even_speed]
        starts = np.array(
            [start / 1.02, *between, np.sqrt(even_speed * goal), even_speed / 5]
        )
        goals = np.array([goal] * 5 + [0.9 * even_speed])
        order.append(deeper_first(N, M, starts, goals, x))
        from_even.append(np.sign(starts - even_speed))
late = [arrivals(balanced([1e-4], N, PAIR, Y), [logit(0.99)], 0.1)[0, 0] for N in COLOURS]
verify_all(
    verify(
        "combes2018-b-depth",
        measured=leads,
        predicted=np.tile(np.sign(apart - 1), (15, 1)),
        because="signs of differences of a per cent, by flows good to 1e-6",
        control=Variant("the norm plays no role", predicted=without_norm, share=0.3),
        printed=Variant(
            "four and eight layers need no more time than two from the logit 1e-4",
            measured=np.array(late[1:]) / late[0],
            at_most=1.0,
            share=1,
        ),
    ),
    verify(
        "combes2018-ours-break-even",
        measured=order,
        predicted=np.tile([-1, 1, 1, 1, 1, -1], (15, 1)),
        because="signs of differences of a thousandth, by flows good to 1e-6",
        control=Variant(
            "the start of equal speeds is the break-even start",
            predicted=from_even,
            share=0.4,
        ),
    ),
)


# %%NBQA-CELL-SEP476b88
fig, axes = figures.panels(1)
goal, starts = logit(0.99), np.array([1e-4, 1e-3, 1e-2, 1e-1])
layers, some = (
    np.unique(np.geomspace(2, 1000, 80).astype(int)),
    np.array([2, 3, 4, 8, 16, 32]),
)
dots = np.array([flow_times(N, starts, np.full(4, goal), PAIR) for N in some])
for k, start in enumerate(starts):
    axes.loglog(layers, [time_between(start, goal, N) for N in layers], **figures.DASHED)
    axes.loglog(some, dots[:, k], "o", color=f"C{k}")
    axes.annotate(f"{start:g}", (1100, time_between(start, goal, 1000)), va="center")
axes.set(xlabel="layers", ylabel="time to $P=0.99$", xlim=(1.8, 2500))
wait = np.array([time_between(1e-4, goal, N) for N in range(2, 1001)])
say(slowest=int(wait.argmax()) + 2, beats=int(np.argmax(wait[1:] < wait[0])) + 3)
say(**{f"wait{N}": float(wait[N - 2]) for N in (2, 4, 8, 16, 100, 800)})
say(between=threshold(100, 16))
plt.show()


# %%NBQA-CELL-SEP476b88
overtakes = brentq(lambda u: np.log(break_even(u, 8, 2)) - np.log(1e-4), 3, 20)
say(late=float(expit(-overtakes)), late_time=float(time_between(1e-4, overtakes, 2)))
say(**{f"same{N}": float(time_between(0.5**N, goal, N)) for N in (2, 4, 8, 16)})
for N in (2, 3, 4, 6, 8):
    ones = np.append(np.ones((N - 1, 2)), [[1e-4, 1e-4]], axis=0)
    say(**{f"one{N}": float(arrivals(diagonal(ones[None], PAIR, Y), [goal], 0.01)[0, 0])})
for N, low in ((2, 0.5), (8, 0.5), (2, 0.01), (8, 0.01)):
    change = arrivals(balanced([low], N, PAIR, Y), [goal], 0.5)[0, 0] / time_between(
        low, goal, N
    )
    say(**{f"step{N}_{low}".replace(".", "_"): 100 * (float(change) - 1)})
say(seconds=process_time() - started)
