# %%NBQA-CELL-SEP476b88
from collections import namedtuple
from itertools import count, islice, product
from time import process_time

import matplotlib.pyplot as plt
import mpmath as mp
import numpy as np
import sympy as sp
from scipy.optimize import brentq, nnls
from scipy.special import logsumexp

from executable_claims import Variant, verify, verify_all
from lib import figures
from lib.data.synthetic import antipodal_gaussians
from lib.flow import gradient_flow
from lib.geometry.programs import cell_program, linear_svm
from lib.models.two_layer import Start, TwoLayer
from lib.prose import say
from lib.seeds import generator
from lib.training.descent import gradient_descent
from lib.training.losses import EXPONENTIAL, LOGISTIC

figures.use_style()
started = process_time()


# %%NBQA-CELL-SEP476b88
def smoothed(margins, mean=False):
    """G of margins (..., n), also where losses underflow; of the mean loss for S, if asked."""
    losses = np.logaddexp(0, -np.minimum(margins, 30))
    logs = np.where(margins < 30, np.log(losses), -margins)
    log_sum = logsumexp(logs, axis=-1) - mean * np.log(margins.shape[-1])
    small = log_sum < -30
    return np.where(small, -log_sum, -np.log(np.expm1(np.exp(np.where(small, 0, log_sum)))))


# %%NBQA-CELL-SEP476b88
CLOCK = np.concatenate([np.arange(-3, 20, 0.1), np.geomspace(20, 1e4, 100), [9.5e5, 1e6]])


# At these times: weights (T, 2k, d), lengths (T,), margins (T, n); the last network and its task.
Watched = namedtuple("Watched", "run ends weights lengths margins")


def read(weights, network, inputs, labels):
    many = TwoLayer(weights, np.broadcast_to(network.a, weights.shape[:2]), network.slope)
    outputs = many(np.broadcast_to(inputs, (len(weights), *inputs.shape)))
    return np.linalg.norm(weights, axis=(1, 2)), labels * outputs


def watch(network, *task):
    """The flow, or None if it comes to rest at a saddle, or creeps past one."""
    how = {"train": "first", "log_until": 1e6, "rtol": 1e-7, "max_steps": 1000}
    run = gradient_flow(network, *task, LOGISTIC, **how)
    if run.log_times[-1] == 1e6:
        at = run.at(log_times=CLOCK)
        weights = np.exp(at.log_norms)[..., None] * at.directions
        ends = run.network_at(), *task
        return Watched(run, ends, weights, *read(weights, network, *task))


def around(draws, places):
    return np.array(places) + 0.25 * draws.standard_normal((12, 2))


def lopsided(draws):
    return around(draws, [*many, [0.5, -1]]), np.repeat([1.0, -1.0], [11, 1])


many, square = (
    [[1, 0.3]] * 11,
    [[1, 1]] * 3 + [[-1, -1]] * 3 + [[1, -1]] * 3 + [[-1, 1]] * 3,
)


def corners(draws):
    return (around(draws, square), np.repeat([1.0, -1.0], 6))


def biased(draws, d):
    inputs, labels = antipodal_gaussians(12, np.full(d, 1.5), 0.4, rng=draws)
    return np.column_stack([inputs + 0.3, np.ones(12)]), labels


def from_starts(family, slope, k, first, *d):
    for draws in map(generator, count(first)):
        inputs, labels = family(draws, *d)
        start = Start.two_sided(k, inputs.shape[1], 0.0, rng=draws, v=k**-0.5)
        if flow := watch(start.network(slope), inputs, labels):
            yield flow


settings = (lopsided, 0.2, 3, 0), (corners, 0.2, 4, 100), (biased, 1.0, 3, 200, 1)
settings += (biased, 0.1, 3, 300, 2), (biased, 0.0, 3, 400, 4)
flows = [flow for setting in settings for flow in islice(from_starts(*setting), 5)]


# %%NBQA-CELL-SEP476b88
fig, axes = figures.panels(height=3.5)
best = [1 / cell_program(*flow.ends).norm for flow in flows]
colours = figures.SIMULATION, figures.CONTRAST, figures.THIRD
for i, name, colour in zip((0, 5, 15), ("lopsided", "corners", "with a bias"), colours):
    lengths, margins = flows[i].lengths, flows[i].margins
    axes.semilogx(CLOCK, smoothed(margins) / lengths, color=colour, linewidth=3, alpha=0.6)
    axes.semilogx(CLOCK, margins.min(axis=1) / lengths, color=colour, linewidth=1)
    axes.plot([20, 1e4], [best[i], best[i]], **figures.DASHED)
    axes.text(9e3, best[i] + 0.03, name, color=colour, ha="right")
axes.axhline(0, color=figures.THEORY, linewidth=0.8)
axes.text(9e3, 0.02, r"$S=\ln2$", ha="right")
axes.set(xlim=(1, 1e4), ylim=(-0.4, None), xlabel=r"$\ln t$", ylabel="margin over length")
last = [flow.margins[-1].min() / flow.lengths[-1] for flow in flows]
say(margin_gap=np.abs(np.divide(last, best) - 1).max())
plt.show()


# %%NBQA-CELL-SEP476b88
draws, samples = generator(500), [q for flow in flows for q in flow.margins[::100]]
for n, m in zip(draws.integers(2, 40, 20), draws.uniform(-1, 6, 20)):
    spread = 10 ** draws.uniform(-3, 2, n)
    samples += [m + 1e-6 * draws.random(n), m + draws.standard_normal(n), m + spread]
gap = np.array([q.min() - smoothed(q) for q in samples])
n = np.array([len(q) for q in samples])
m = np.minimum([q.min() for q in samples], 30)  # beyond 30 the bound is ln n to 1e-12
edge = np.log(np.expm1(n * np.log1p(np.exp(-m)))) + m
wrong = [LOGISTIC.value(q, 1)[q.min(axis=1) <= 0] for q in (flow.margins for flow in flows)]
sums, means = np.transpose([(e.sum(1).min(), e.mean(1).min()) for e in wrong if len(e)])
say(excess=LOGISTIC.value(np.append(np.full(11, 30.0), 0), 1).sum() - np.log(2))
bounds, ln2 = {"at_least": 0 * gap, "at_most": edge}, np.log(2)
limit = Variant("ln n for all margins", at_most=np.log(n), share=0.1)
mean = Variant("a mean loss of ln 2", measured=means, share=0.8)
how = {"atol": 1e-9, "because": "inequalities; margins up to 1e6 are rounded to 1e-10"}
verify_all(
    verify("sarussi2021-eq-6", measured=gap, control=limit, **bounds, **how),
    verify("sarussi2021-assumption-6.1", measured=sums, at_least=ln2, control=mean, **how),
)


# %%NBQA-CELL-SEP476b88
q, x = sp.symbols("q x", real=True)
loss = sp.log(1 + sp.exp(-q))
h, g = -sp.log(loss), -sp.log(sp.exp(sp.exp(-x)) - 1)
s = sp.exp(-x)
assert sp.simplify(sp.diff(h, q) - (1 - sp.exp(-loss)) / loss) == 0
assert sp.simplify(sp.diff(g, x) - s / (1 - sp.exp(-s))) == 0
assert sp.simplify(h.subs(q, g) - x) == 0 and h.subs(q, 0) == -sp.log(sp.log(2))


# %%NBQA-CELL-SEP476b88
def log_loss(q):
    return mp.log1p(mp.exp(-q))


def soft(q):
    return -mp.log(0.95 * log_loss(q) + 0.05 * log_loss(-q))


def slopes(curve, points):
    return np.array([float(mp.diff(curve, p)) for p in points])


def rising(curve):
    return np.diff(slopes(curve, late) * late)


mp.mp.dps = 30
h_of, g_of = lambda q: -mp.log(log_loss(q)), lambda x: -mp.log(mp.expm1(mp.exp(-x)))
wide, late = np.linspace(-10, 40, 101), np.linspace(0, 40, 81)
b, ratio = 2 * float(h_of(0)), []
for curve, edge in ((g_of, b), (h_of, float(g_of(b)))):
    far = edge + 10 ** np.linspace(-6, 1.5, 60)
    ratio.append([slopes(curve, far) / slopes(curve, t * far) for t in (0.5, 0.7, 0.99)])
most = np.broadcast_to([[[1.0]], [[1.1]]], np.shape(ratio))
say(worst_ratio=np.max(ratio[1]))
draws, blend = generator(501), np.repeat([0, 0.1, 1e3], 5)[:, None, None]
x, signs = draws.standard_normal(4), np.tile(np.repeat([1.0, -1.0], 3), (15, 1))
w = x + blend * draws.standard_normal((15, 6, 4))
step = (signs[:, :, None] * x + blend * draws.standard_normal((15, 6, 4))) / 9
jump = TwoLayer(w + step, signs, 0.2)([x]) - TwoLayer(w, signs, 0.2)([x])
jump = abs(jump[:, 0]) / (np.linalg.norm(x) * np.linalg.norm(step, axis=(1, 2)) * 6**0.5)
n, few = np.arange(1, 31), wide[:51]
root = [brentq(lambda mean: -np.log(np.expm1(k * mean)), 1e-3 / k, 3 / k) for k in n]
fine, known = [float(mp.exp(-h_of(q))) for q in few], LOGISTIC.value(few, 1)
half = Variant("the root of k only", at_most=0.5**0.5, share=0.3)
tail = Variant("exponential loss", predicted=EXPONENTIAL.value(few, 1), share=0.9)
label = Variant("smoothed labels", measured=slopes(soft, wide), share=0.5)
flat = Variant("smoothed labels", measured=rising(soft), share=0.5)
one = Variant("the constant 1 for h too", at_most=1.0, share=0.2)
mean = Variant("a mean loss of ln 2", predicted=np.log(2) + 0 * n, share=0.9)
up, fall, ln2 = slopes(h_of, wide), rising(h_of), np.log(2) / n
how = {"rtol": 1e-9, "because": "the numbers have at least ten digits"}
verify_all(
    verify("sarussi2021-app-E-A1", measured=jump, at_most=1.0, control=half, **how),
    verify("sarussi2021-app-E-B3.1", measured=fine, predicted=known, control=tail, **how),
    verify("sarussi2021-app-E-B3.2", measured=up, at_least=0.0, control=label, **how),
    verify("sarussi2021-app-E-B3.3", measured=fall, at_least=0.0, control=flat, **how),
    verify("sarussi2021-app-E-B3.4", measured=ratio, at_most=most, control=one, **how),
    verify("sarussi2021-app-E-B4", measured=root, predicted=ln2, control=mean, **how),
)


# %%NBQA-CELL-SEP476b88
def rises(flow, mean=False):
    """Changes of the smoothed margin between readings, from its first positive value on."""
    values = smoothed(flow.margins, mean) / flow.lengths
    return np.diff(values[np.argmax(values > 0) :])


def unit(vectors):
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)


def kinks(network, inputs, *_):
    return np.abs(unit(inputs) @ unit(network.w).T) < 1e-6


say(readings=len(CLOCK), flows=len(flows))
say(sliding=sum(kinks(*flow.ends).any() for flow in flows))
up, mean = (np.concatenate([rises(flow, mean) for flow in flows]) for mean in (False, True))
means = Variant("the mean loss for the sum", measured=mean, share=0.2)
how = {"atol": 1e-6, "because": "solved to 1e-7 a step, with few steps between readings"}
verify("sarussi2021-lyu-li-monotone", measured=up, at_least=0.0, control=means, **how)


# %%NBQA-CELL-SEP476b88
def conditions(network, inputs, labels):
    """Residual and slack of the Karush-Kuhn-Tucker conditions, with the best multipliers."""
    margins, on_kink = labels * network(inputs), kinks(network, inputs)
    w, margins, columns, slack = network.w / margins.min(), margins / margins.min(), [], []
    for i in np.flatnonzero(margins < 1.001):
        s = np.where(inputs[i] @ w.T > 0, 1.0, network.slope)
        for ends in product((network.slope, 1.0), repeat=on_kink[i].sum()):
            s[on_kink[i]] = ends
            columns.append(np.outer(labels[i] * network.a * s, inputs[i]).ravel())
            slack.append(margins[i] - 1)
    multipliers, rest = nnls(np.array(columns).T, w.ravel())
    return rest / np.linalg.norm(w), multipliers @ slack / max(multipliers.sum(), 1e-9)


def hard_margin(network, inputs, labels):
    w = np.outer(np.sign(network.a), linear_svm(inputs, labels).x)
    return conditions(network.with_weights(w, network.a), inputs, labels)[0]


off = [unit(flow.weights[-1].ravel()) - unit(cell_program(*flow.ends).x) for flow in flows]
found = [(*conditions(*flow.ends), np.linalg.norm(away)) for flow, away in zip(flows, off)]
pairs = [hard_margin(*flow.ends) for flow in flows[:5] + flows[15:]]
pair = Variant("the hard-margin pair", measured=pairs, share=0.9)
how = {"atol": 1e-3, "because": "the limit times ln t and a bounded rest, below 1000 of it"}
verify("sarussi2021-lyu-li-kkt", measured=found, predicted=0.0, control=pair, **how)


# %%NBQA-CELL-SEP476b88
def differences(flow):
    """Of each type, from its first neuron: after the last change of sign, and at the end."""
    last = max((event.time for event in flow.run.events), default=0.0) * (1 + 1e-9)
    both = np.reshape([flow.run.network_at(last).w, flow.weights[-1]], (2, 2, 3, -1))
    first, end = both[:, :, 1:] - both[:, :, :1]
    weights = np.arange(first.shape[-1]) < first.shape[-1] - 1
    return first.ravel(), end.ravel(), (first * weights).ravel()


products = [(flow.weights[-1] @ flow.ends[1].T).reshape(2, 3, -1) for flow in flows[10:]]
agreed = [f for f, z in zip(flows[10:], products) if (z * z[:, :1]).min() > 1]
first, end, bare = map(np.concatenate, zip(*map(differences, agreed)))
say(agreed=len(agreed))
equal = Variant("biases become equal", predicted=bare, share=0.2)
how = {"atol": 1e-8, "because": "conserved to rounding, 1e-10 for weights of 1e6"}
verify("sarussi2021-app-K-thm-6.1", measured=end, predicted=first, control=equal, **how)


# %%NBQA-CELL-SEP476b88
task = np.array([[1, 0]] * 15 + [[-0.5, 1], [-1, -0.3]]), np.repeat([1.0, -1.0], [16, 1])
start = TwoLayer(np.array([[3.8, 5.5], [-3.8, -5.5]]) / 1.2, [1.0, -1.0], 0.2)
copies, steps, falls = watch(start, *task), 150, []
smooth, least = (
    part / copies.lengths for part in (smoothed(copies.margins), copies.margins.min(1))
)
fig, (left, right) = figures.panels(2, height=3.1)
left.plot(CLOCK[:200], smooth[:200], color=figures.SIMULATION, linewidth=3, alpha=0.6)
left.plot(CLOCK[:200], least[:200], color=figures.SIMULATION, linewidth=1)
left.axhline(1 / cell_program(*copies.ends).norm, **figures.DASHED)
left.set(xlabel=r"$\ln t$", ylabel="margin over length", ylim=(0, None))
how = {"step": 8.0, "steps": steps, "train_a": False, "record_at": range(steps + 1)}
how["record"] = lambda network: network.w
single = generator(502).integers(0, 17, steps), figures.CONTRAST
for how["samples"], colour in (single, (None, figures.SIMULATION)):
    path = gradient_descent(start, *task, LOGISTIC, **how).recorded
    lengths, margins = read(np.array(path), start, *task)
    right.plot(smoothed(margins) / lengths, color=colour)
    falls.append((np.diff(smoothed(margins) / lengths) < -1e-12).sum())
right.set(xlabel="step")
say(copies_sum=LOGISTIC.value(copies.margins[0], 1).sum())
say(copies_fall=100 * (1 - least.min() / least[0]), sgd_falls=falls[0], gd_falls=falls[1])
plt.show()


# %%NBQA-CELL-SEP476b88
say(seconds=process_time() - started)
