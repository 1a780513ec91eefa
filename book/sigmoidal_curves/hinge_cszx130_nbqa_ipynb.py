# %%NBQA-CELL-SEP476b88
from time import process_time

import matplotlib.pyplot as plt
import numpy as np
import sympy as sp
from scipy.optimize import brentq
from scipy.special import expi, expit
from scipy.stats import t as student

from executable_claims import Variant, verify, verify_all
from lib import figures
from lib.flow import gradient_flow
from lib.models.two_layer import TwoLayer
from lib.prose import say
from lib.seeds import generator
from lib.theory.one_neuron import inverse_log_integral, log_integral
from lib.training.descent import gradient_descent
from lib.training.losses import HINGE, LOGISTIC

figures.use_style()
started = process_time()


# %%NBQA-CELL-SEP476b88
def hinge_output(T, h0, a0, size):
    """Output at T = 2 p |x| t, class +1, h0 > 0."""
    u0, E0 = a0 * h0, (h0**2 + (size * a0) ** 2) / (2 * size)
    b = abs((h0 + size * a0) * (h0 - size * a0)) / (2 * size)
    u = np.minimum(u0 * np.cosh(T) + E0 * np.sinh(T), 1)
    if h0 < -size * a0:
        u = np.where(np.arcsinh(-u0 / b) < T, 0, u)
    return u if u0 < 1 else np.full_like(T, u0)


# %%NBQA-CELL-SEP476b88
def stochastic(loss, pair, inputs, samples, step):
    """Margins at every step of runs of one example a step, shape (steps + 1, seeds, 2)."""
    steps, seeds = samples.shape
    many = TwoLayer(np.tile(pair.w, (seeds, 1, 1)), np.tile(pair.a, (seeds, 1)))
    options = {"step": step, "steps": steps, "record_at": range(steps + 1)}
    options |= {"samples": samples, "record": lambda network: [1, -1] * network(inputs)}
    return np.array(gradient_descent(many, inputs, [1, -1], loss, **options).recorded)


def two_classes(draws, u0, sizes):
    """Two inputs at an obtuse angle, and a balanced neuron for each, with a part across both."""
    frame, turn = np.linalg.qr(draws.standard_normal((3, 3)))[0], draws.uniform(0, 1)
    inputs = [frame[0], np.cos(turn) * frame[1] - np.sin(turn) * frame[0]]
    a = np.sqrt(u0 / sizes)
    w = a[:, None] * (inputs + np.outer(draws.standard_normal(2), frame[2]))
    return TwoLayer(w, a * [1, -1]), inputs * sizes[:, None]


def margins(run, times):
    """Margins along a flow of the raw weights, which rests after its end."""
    return run.outputs(np.minimum(times, run.times[-1])) * run.task.labels


# %%NBQA-CELL-SEP476b88
fig, (left, right) = figures.panels(2)
T, colours = np.linspace(0, 4, 161), (figures.SIMULATION, figures.CONTRAST, figures.THIRD)
for k, (h, a) in enumerate([(0.2, 0.2), (0.9, -0.5), (0.5, -0.9), (0.7, -0.7), (1.5, 0.9)]):
    flow = gradient_flow(TwoLayer([[h, 0.3]], [a]), [[1.0, 0.0]], [1], HINGE, until=2.0)
    left.plot(T, margins(flow, T / 2)[:, 0], color=(*colours, figures.FOURTH, "#666633")[k])
    left.plot(T, hinge_output(T, h, a, 1.0), **figures.DASHED)
p, sizes, step, u0 = 0.3, np.array([1.5, 1.0]), 0.005, 0.01
T = 2 * p * sizes[0] * step * np.arange(round(9 / (2 * p * sizes[0] * step)) + 1)
pair, inputs = two_classes(generator(0), u0, sizes)
samples = (generator(1).random((len(T) - 1, 100)) >= p).astype(int)
runs = (stochastic(loss, pair, inputs, samples, step) for loss in (LOGISTIC, HINGE))
soft, hard = (run[:, :, 0] for run in runs)
law = hinge_output(T, pair.w[0] @ inputs[0], pair.a[0], sizes[0])
curves = [(expit(soft), expit(inverse_log_integral(log_integral(u0) + T)))]
curves += [(hard, law), ((1 + hard) / 2, (1 + law) / 2)]
texts = ("cross-entropy", (5.6, 0.47)), ("$u$", (4, 0.2)), ("$(1+u)/2$", (0.3, 0.75))
for (sample, theory), (text, at), colour in zip(curves, texts, colours, strict=True):
    band = np.quantile(sample, (0.05, 0.95), axis=1)
    right.fill_between(T, *band, color=colour, alpha=0.3)
    right.plot(T, theory, **figures.DASHED)
    right.annotate(text, at, color=colour)
left.set(xlabel="$T$", ylabel="output $u$")
right.set(xlabel="$T$", ylabel="confidence $P$")
gap = max(float(np.abs(np.median(s, axis=1) - theory).max()) for s, theory in curves)
say(sgd_gap=gap, rest=hard[-1].max(), rest_most=(1 + step * sizes[0]) ** 2)
plt.show()


# %%NBQA-CELL-SEP476b88
h0, a0, n, T = sp.symbols("h0 a0 n T", real=True)
grow, fade = (h0 + n * a0) * sp.exp(T / 2), (h0 - n * a0) * sp.exp(-T / 2)
h, a, R = (grow + fade) / 2, (grow - fade) / (2 * n), (h0 + n * a0) ** 2 / (4 * n)
E0, b_squared = (h0**2 + n**2 * a0**2) / (2 * n), (h0**2 - n**2 * a0**2) ** 2 / (4 * n**2)
at_stop = (1 + sp.sqrt(1 + b_squared)) / (2 * R)  # exp(T_1)
residuals = [sp.diff(h, T) - n * a / 2, sp.diff(a, T) - h / (2 * n)]  # T = 2 p |x| t
residuals += [a * h - (a0 * h0 * sp.cosh(T) + E0 * sp.sinh(T)).rewrite(sp.exp)]
residuals += [R * at_stop - b_squared / (4 * R) / at_stop - 1]
assert [sp.simplify(r) for r in residuals] == [0] * 4
"four residuals are zero"


# %%NBQA-CELL-SEP476b88
def log_uniform(draws, low, high):
    return float(np.exp(draws.uniform(np.log(low), np.log(high))))


def one_input(draws, ratio, u0):
    """A start with |x| a = ratio h and margin u0 on a random input: network, data, (h, a, |x|)."""
    size, label = log_uniform(draws, 0.05, 20), draws.choice([-1, 1])
    x = draws.standard_normal(3)
    x, h = x * size / np.linalg.norm(x), np.sqrt(u0 * size / ratio)
    w, a = (x + np.cross(x, draws.standard_normal(3))) * h / size**2, ratio * h / size
    return TwoLayer([w], [label * a]), (x[None], [label]), (h, a, size)


# Least and largest |x| |a| / h, the sign of a, and the least and largest |u0|.
kinds = [(1e-3, 1e3, 1, 1e-6, 0.9), (0.05, 20, 1, 1.001, 10), (0.05, 0.9, -1, 1e-6, 5)]
kinds += [(1.1, 20, -1, 1e-6, 5), (0.99, 1.01, -1, 1e-6, 5)]
found, law, printed = [], [], []
for k, draws in enumerate(map(generator, range(100, 125))):
    low, high, sign, least, most = kinds[k // 5]
    ratio = (low, high)[k % 2] if k >= 20 else log_uniform(draws, low, high)
    u0 = sign * log_uniform(draws, least, most)
    network, data, (h, a, size) = one_input(draws, sign * ratio, u0)
    E0, c = (h**2 + (size * a) ** 2) / (2 * size), (h + size * a) * (h - size * a)
    b, s = abs(c) / (2 * size), np.array([0.1, 0.3, 0.5, 0.7, 0.9, 1, 1.1, 1.2])
    end = np.log((1 + np.hypot(1, b)) * 2 * size / (h + size * a) ** 2) if a * h < 1 else 2
    T = s * (np.arcsinh(-a * h / b) if h < -size * a else end)
    run = gradient_flow(network, *data, HINGE, until=T[-1] / (2 * size))
    theory, angle = hinge_output(T, h, a, size), np.arccosh(E0 / b)
    scale = np.hypot(b, theory)  # what u is made of
    found.append(margins(run, T / (2 * size))[:, 0] / scale)
    law.append(theory / scale)
    printed.append(np.minimum(1, b * np.sinh(angle + T)) / scale)


# %%NBQA-CELL-SEP476b88
seeds, passed, bands, rooted = 60, [], [], []
spans = [(1e-5, 1e-3, 0.1, 0.4), (0.01, 0.5, 0.1, 0.4), (1e-3, 0.1, 0.05, 0.1)]  # u0 and p
for k, draws in enumerate(map(generator, range(300, 315))):
    low, high, rarest, rare = spans[k // 5]
    u0 = np.exp(draws.uniform(np.log(low), np.log(high), 2))
    sizes, p = np.exp(draws.uniform(-1, 1, 2)), draws.uniform(rarest, rare)
    step, shares = 0.04 / sizes.max(), np.array([p, 1 - p])
    whole = np.log(1 / u0) / (2 * shares * sizes)
    steps = round(1.5 * whole.max() / step + 30 / p)
    samples = (draws.random((steps, seeds)) >= p).astype(int)
    path = stochastic(HINGE, *two_classes(draws, u0, sizes), samples, step)
    for goal, time in ((np.sqrt(u0), whole / 2), (1.0, whole)):
        first = step * (path >= goal * (1 - 1e-9)).argmax(axis=0)
        error = first.std(axis=0, ddof=1) / np.sqrt(seeds)
        passed.append(first.mean(axis=0) / error)
        for early, kept in ((time, bands), (time * np.sqrt(2 * shares), rooted)):
            late = early * (1 + step * sizes / 2) + step / shares
            kept.append([early / error, late / error])


# %%NBQA-CELL-SEP476b88
(least, most), (low, high) = (np.moveaxis(kept, 1, 0) for kept in (bands, rooted))
root = "the speed goes as the root of the frequency"
positive = {"measured": found[:10], "predicted": printed[:10], "share": 0.5}
verify_all(
    verify(
        "combes2018-thm-5.1a",
        measured=passed,
        at_least=least,
        at_most=most,
        atol=float(student.isf(1e-4 / (2 * np.size(passed)), seeds - 1)),
        because="Student's t for sixty means, a false alarm in 1e4 runs; "
        "descent is late by half a step's growth, and by one step at most",
        control=Variant(root, at_least=low, at_most=high, share=0.5),
    ),
    verify(
        "combes2018-thm-5.1b",
        measured=found,
        predicted=law,
        atol=1e-6,
        because="1e-10 a step, some hundred steps, and a hundred times as much at the edge",
        control=Variant("the paper's formula everywhere", predicted=printed, share=0.5),
        printed=Variant("min(1, .) on the starts with a > 0", **positive),
    ),
)


# %%NBQA-CELL-SEP476b88
fixed = brentq(lambda u: expit(u) - u, 0, 1)


def crossover(u0):
    def lead(u):
        return log_integral(u) - np.log(expit(u)) - expi(u0)

    return expit(brentq(lead, u0, fixed, xtol=1e-14))


# %%NBQA-CELL-SEP476b88
def passage(run, goal):
    """The time at which the margin is the goal."""
    return brentq(lambda t: margins(run, [t])[0, 0] - goal, 0, run.times[-1], xtol=1e-14)


kinds = [(1, 1, 1, 1e-8, 1e-3), (1, 1, 1, 1e-3, 0.05), (1, 1, 1, 0.05, 0.5)]  # balanced
kinds += [(0.01, 100, 1, 1e-8, 0.3), (0.05, 0.99, -1, 1e-4, 3)]
tasks = [(P, P) for P in (0.66, 0.8, 0.99)] + [(P, 2 * P - 1) for P in (0.51, 0.7, 0.99)]
starts, crossed, behind, gained, early, prices, finals = ([] for _ in range(7))
for k, draws in enumerate(map(generator, range(400, 425))):
    low, high, sign, small, large = kinds[k // 5]
    u0, late = sign * log_uniform(draws, small, large), np.exp([25.0, 40, 60])
    network, data, (*_, size) = one_input(draws, sign * log_uniform(draws, low, high), u0)
    fast = gradient_flow(network, *data, HINGE, until=60 / size)
    slow = gradient_flow(network, *data, LOGISTIC, until=3000 / size)
    soft, hard = (lambda t, run=run: margins(run, [t])[0, 0] for run in (slow, fast))
    for P, goal in tasks:
        if u0 < goal:
            t = passage(fast, goal)
            more = np.log(2) / size if k < 15 and goal != P else 0
            behind.append(expit(soft((1 + (sign > 0)) * t + more)) - P)
            gained.append(expit(soft(t / (1 - P))) - P)
    if k < 15:
        starts.append(u0)
        crossed.append(hard(brentq(lambda t: expit(soft(t)) - hard(t), 0, fast.times[-1])))
        early.append(expit(soft(passage(fast, 0.51))) - 0.51)
        finals.append([2 * size * fast.times[-1] / np.log(1 / u0)])
        slow = gradient_flow(network, *data, LOGISTIC, log_until=60.0)
        cost = np.logaddexp(0, margins(slow, late)[:, 0])  # log(1 / delta)
        prices.append([cost, 2 * size * late * np.exp(-cost)])


# %%NBQA-CELL-SEP476b88
fig, axes = figures.panels(1, height=2.4)
grid = np.geomspace(1e-8, 0.65, 200)
axes.semilogx(grid, [crossover(u) for u in grid], **figures.DASHED)
axes.plot(starts, crossed, "o", color=figures.SIMULATION, markersize=4)
axes.axhline(fixed, color=figures.THEORY, linewidth=0.6)
axes.annotate("hinge loss first", (1e-7, 0.58))
axes.annotate("cross-entropy first", (1.5e-2, 0.482))
axes.set(xlabel="initial output $u_0$", ylabel="confidence $P$", ylim=(0.47, 0.68))
say(fixed=fixed, small=crossover(0.01), large=crossover(0.3))
plt.show()


# %%NBQA-CELL-SEP476b88
(cost, relative), ones = np.moveaxis(prices, 1, 0), np.ones((15, 1))
leading = 0.5 + np.sqrt(np.array(starts) / 2) / 4
gain = "the gain at the end, 1 + e^u, all the way"
no_log = np.hstack([relative, finals])
verify_all(
    verify(
        "combes2018-fig-5r",
        measured=behind,
        at_most=0.0,
        atol=1e-7,
        because="inequalities; the integrator's 1e-10 a step over some hundred steps",
        control=Variant(gain, measured=gained, share=0.5),
        printed=Variant("reading u, at P = 0.51", measured=early, share=0.25),
    ),
    verify(
        "combes2018-ours-hinge-crossover",
        measured=crossed,
        predicted=[crossover(u0) for u0 in starts],
        rtol=1e-6,
        because="the integrator's 1e-10 a step over some hundred steps",
        control=Variant("the leading term for small u0", predicted=leading, share=0.6),
    ),
    verify(
        "combes2018-fig-5r-diverges",
        measured=np.hstack([relative * cost, finals]),
        at_least=np.hstack([1 + 1 / cost, ones]),
        at_most=np.hstack([1 + 1 / cost + 3 / cost**2, ones]),
        atol=1e-6,
        because="with L = log 1/delta > 20 the next term is 2/L^2 + 6/L^3 + ... < 3/L^2",
        control=Variant("growth like 1/delta", measured=no_log, share=0.7),
    ),
)


# %%NBQA-CELL-SEP476b88
say(seconds=process_time() - started)
