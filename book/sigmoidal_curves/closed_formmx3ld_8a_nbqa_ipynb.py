# %%NBQA-CELL-SEP476b88
from time import process_time

import matplotlib.pyplot as plt
import numpy as np
import sympy as sp
from scipy import stats
from scipy.special import expi, expit

from executable_claims import Variant, verify, verify_all
from lib import figures
from lib.flow import gradient_flow
from lib.flow.weights import weights_flow
from lib.models.two_layer import TwoLayer
from lib.prose import say
from lib.seeds import generator
from lib.theory.one_neuron import inverse_log_integral
from lib.theory.two_inputs import balanced_runs
from lib.training.losses import LOGISTIC

figures.use_style()
started = process_time()


# %%NBQA-CELL-SEP476b88
def F(u):
    return np.log(u) + expi(u)


def logit(T, u0):
    return inverse_log_integral(F(u0) + T)


# %%NBQA-CELL-SEP476b88
u0 = 0.01


def stochastic_curves(p, sizes, step, times, seeds, draws):
    """Probability of the true class in runs of one example a step, shape (times, seeds, 2)."""
    steps = np.round(np.asarray(times) / step).astype(int)
    samples = (draws.random((steps[-1], seeds)) >= p).astype(int)
    return balanced_runs(samples, sizes, u0, step, steps)


def closed_curves(p, sizes, times):
    speed = 2 * np.array([p, 1 - p]) * sizes
    return expit(logit(speed * np.asarray(times)[:, None], u0))


# %%NBQA-CELL-SEP476b88
fig, axes = figures.panels(1)
times = np.linspace(0, 40, 161)
sample = stochastic_curves(0.3, (1.5, 0.8), 0.1, times, 100, generator(1))
theory = closed_curves(0.3, (1.5, 0.8), times)
for k, colour in enumerate((figures.SIMULATION, figures.CONTRAST)):
    band = np.quantile(sample[:, :, k], (0.05, 0.95), axis=1)
    axes.fill_between(times, *band, color=colour, alpha=0.3, linewidth=0)
    axes.plot(times, sample[:, :2, k], color=colour, linewidth=0.7)
    axes.plot(times, theory[:, k], **figures.DASHED)
axes.annotate("class $-1$: $p\\|x\\|=0.56$", (0.2, 0.92), color=figures.CONTRAST)
axes.annotate("class $+1$: $p\\|x\\|=0.45$", (17.5, 0.76), color=figures.SIMULATION)
axes.set(xlabel="time $t$ (step size times steps)", ylabel="probability of the true class")
say(sgd_gap=float(np.abs(sample.mean(axis=1) - theory).max()))
reached = {P: float(F(np.log(P / (1 - P))) - F(u0)) for P in (0.6, 0.9, 0.99, 0.999)}
say(
    **{f"reach_{1000 * P:.0f}": T for P, T in reached.items()},
    later=float(F(0.01) - F(1e-4)),
)
plt.show()


# %%NBQA-CELL-SEP476b88
ages, seeds = np.array([8.0, 16.0, 24.0]), 200
from_law, from_root_law = [], []
for k, ends in enumerate([(0.1, 0.2), (0.2, 0.4), (0.6, 0.8)]):
    draws = generator(20 + k)
    p, sizes = draws.uniform(*ends), tuple(draws.uniform(0.5, 1.5, 2))
    sample = stochastic_curves(p, sizes, 0.0025, ages, seeds, draws)
    error = sample.std(axis=1, ddof=1) / np.sqrt(seeds)
    roots = np.sqrt(np.array([p, 1 - p]) / 2)  # equal to p at one half
    root_law = expit(logit(2 * roots * sizes * ages[:, None], u0))
    from_law.append((sample.mean(axis=1) - closed_curves(p, sizes, ages)) / error)
    from_root_law.append((sample.mean(axis=1) - root_law) / error)


# %%NBQA-CELL-SEP476b88
verify(
    "combes2018-eq-3",
    measured=from_law,
    predicted=0.0,
    atol=float(stats.t.isf(1e-4 / 36, seeds - 1)) + 1,
    because="Student's t for eighteen means, a false alarm in 1e4 runs, and one standard error for the step",
    control=Variant(
        "the speed goes as the root of the frequency (equal at one half)",
        measured=from_root_law,
        share=0.8,
    ),
)


# %%NBQA-CELL-SEP476b88
h, a, size, u = sp.symbols("h a size u", positive=True)
flow = {h: size**2 * a / (1 + sp.exp(a * h)), a: h / (1 + sp.exp(a * h))}
rate = {q: sum(sp.diff(q, v) * flow[v] for v in flow) for q in (h - size * a, a * h)}
residuals = [
    rate[h - size * a] + size * (h - size * a) / (1 + sp.exp(a * h)),
    (rate[a * h] - 2 * size * a * h / (1 + sp.exp(a * h))).subs(h, size * a),
    sp.diff(sp.log(u) + sp.Ei(u), u) - (1 + sp.exp(u)) / u,
]
assert [sp.simplify(r) for r in residuals] == [0, 0, 0]
"three residuals are zero"


# %%NBQA-CELL-SEP476b88
clock = np.geomspace(0.1, 1e4, 40)  # the theorem's T


def simulated(w, a, x, times):
    """Logits and balances h / |x| a along the flow of all weights of one neuron."""
    network = TwoLayer(np.atleast_2d(w), [a])
    run = weights_flow(network, x, [1.0], LOGISTIC, times)
    h, a = run.preactivations(x)[:, 0, 0], run.a[:, 0]
    return h * a, h / (np.linalg.norm(x) * a)


found, balance, tilted, unbalanced, starts = [], [], [], [], []
for family, (low, high) in enumerate([(1e-8, 1e-3), (1e-3, 1), (1, 6)]):
    draws = generator(10 + family)
    for _ in range(5):
        x, across = np.linalg.qr(draws.standard_normal((3, 2)))[0].T
        size, start = np.exp(
            [draws.uniform(*np.log(ends)) for ends in ((0.05, 20), (low, high))]
        )
        a = np.sqrt(start / size)
        for tilt, runs in ((1, (found, balance)), (1.2, (tilted, unbalanced))):
            w = a * (tilt * x + 3 * across)
            curves = simulated(w, a / tilt, size * x[None], clock / (2 * size))
            for kept, curve in zip(runs, curves):
                kept.append(curve)
        starts.append([start])


# %%NBQA-CELL-SEP476b88
accuracy = {
    "rtol": 1e-7,
    "because": "the integrator's 1e-10 a step over some hundred steps",
}
off_balance = "the same logits at the start, with h = 1.44 |x| a"
verify_all(
    verify(
        "combes2018-eq-14",
        measured=balance,
        predicted=1.0,
        control=Variant(off_balance, measured=unbalanced, share=0.3),
        **accuracy,
    ),
    verify(
        "combes2018-thm-3.2-closed",
        measured=found,
        predicted=logit(clock, np.array(starts)),
        control=Variant(off_balance, measured=tilted, share=1.0),
        **accuracy,
    ),
)


# %%NBQA-CELL-SEP476b88
log_T = np.geomspace(20, np.log(10) * 1000, 40)


def late_logit(size, u0):
    """Logit at the late times, by the flow of all weights."""
    x, across, a = size * np.array([0.6, 0.8]), np.array([-0.8, 0.6]), np.sqrt(u0 / size)
    network = TwoLayer([a * (x / size + across)], [a])
    run = gradient_flow(
        network, [x], [1], LOGISTIC, log_until=log_T[-1] - np.log(2 * size) + 1
    )
    late = run.at(log_times=log_T - np.log(2 * size))
    return np.exp(late.log_norms + late.log_outputs)[:, 0] * (late.directions @ x)[:, 0]


late_starts = [(0.05, 1e-8), (1.0, 0.1), (20.0, 5.0)]  # |x| and u0
u_late = np.array([late_logit(*start) for start in late_starts])
left_over = u_late - log_T - np.log(log_T)
next_term = (np.log(log_T) - 1) / log_T


# %%NBQA-CELL-SEP476b88
fig, (left, right) = figures.panels(2)
T = np.geomspace(3, 1e10, 200)
left.semilogx(T, logit(T, 0.1), color=figures.SIMULATION)
bound = 2 * np.log(T / 2 + np.exp(0.05))
for theory in (np.log(T), np.log(T) + np.log(np.log(T)), bound):
    left.plot(T, theory, **figures.DASHED)
for text, at in (("$\\log T$", (3e7, 12)), ("paper's bound", (2e3, 32))):
    left.annotate(text, at)
left.annotate("logit", (3e7, 22), color=figures.SIMULATION, ha="right")
left.set(xlabel="$T$", ylabel="logit")
for k, dots in enumerate(left_over):
    right.loglog(log_T[k::3], dots[k::3], "o", markersize=4)
right.loglog(log_T, next_term, **figures.DASHED)
right.annotate("$(\\log\\log T-1)/\\log T$", (300, 0.03))
right.set(xlabel="$\\log T$", ylabel="logit $-\\log T-\\log\\log T$")
million = float(logit(2e6, 0.1))
say(million=million, ratio=million / np.log(1e6), bound=2 * np.log(1e6 + np.exp(0.05)))
plt.show()


# %%NBQA-CELL-SEP476b88
loglog = np.log(log_T)
law = next_term - ((loglog - 2) ** 2 + 1) / (2 * log_T**2)  # one order more
third_order = (loglog / log_T) ** 3
log_t = log_T - np.log(2 * np.array(late_starts)[:, :1])
away = (loglog + abs(log_T - log_t) + 1) / log_t
log_half = log_T - np.log(2)
upper = 2 * np.log(clock / 2 + np.exp(np.array(starts) / 2))
single = np.log(clock / 2 + np.exp(np.array(starts)))
verify_all(
    verify(
        "combes2018-growth",
        measured=u_late / log_t,
        at_least=1 - away,
        at_most=1 + away,
        because="the terms of order log log t and 1 of the law, divided by log t",
        control=Variant(
            "twice log t, as the paper's bound",
            at_least=2 - away,
            at_most=2 + away,
            share=1.0,
        ),
    ),
    verify(
        "combes2018-ours-end",
        measured=left_over,
        at_least=np.tile(law - third_order, (3, 1)),
        at_most=np.tile(law + third_order, (3, 1)),
        atol=3e-6,
        because="more than ten times the next term of the expansion; the flow is good to 1e-9 of a "
        "logit of 2e3",
        control=Variant(
            "time without the factor 2, T = |x| t",
            measured=u_late - log_half - np.log(log_half),
            share=1.0,
        ),
    ),
    verify(
        "combes2018-eq-19",
        measured=found - upper,
        at_most=0.0,
        because="an inequality, strict after t = 0, on the fifteen flows above",
        control=Variant(
            "the logarithm once: log(|x| t + e^u0)", measured=found - single, share=0.5
        ),
    ),
)


# %%NBQA-CELL-SEP476b88
gains = [2 * np.log((1 + np.sqrt(1 + ((r**2 - r**-2) / 2) ** 2)) / 2) for r in (1.2, 2.0)]
times = np.arange(0, 20, 0.1)
alone = stochastic_curves(1.0, (1.0, 1.0), 0.1, times, 1, generator(2))[:, 0, 0]
say(
    gain=gains[0],
    gain_2=gains[1],
    found_gain=float(F(tilted[0][-1]) - F(starts[0][0]) - clock[-1]),
    wait=2 * np.log(1e4),
    finite=float(np.abs(alone - expit(logit(2 * times, u0))).max()),
)


# %%NBQA-CELL-SEP476b88
say(seconds=process_time() - started)
