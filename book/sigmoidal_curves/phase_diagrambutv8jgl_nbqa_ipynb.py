# %%NBQA-CELL-SEP476b88
from time import process_time

import matplotlib.pyplot as plt
import numpy as np
import sympy as sp
from scipy.special import expi, expit
from scipy.stats import binom

from executable_claims import Variant, verify, verify_all
from lib import figures
from lib.flow.weights import weights_flow
from lib.models.two_layer import TwoLayer
from lib.prose import say
from lib.seeds import generator
from lib.training.descent import gradient_descent
from lib.training.losses import LOGISTIC

figures.use_style()
started = process_time()


# %%NBQA-CELL-SEP476b88
def along_x(size, draws):
    x = draws.standard_normal((1, 3))
    return size * x / np.linalg.norm(x)


def one_neuron(h0, a0, x, draws):
    """Networks of one neuron each, with these h and a on x; w has as large a part across x."""
    across = draws.standard_normal((len(h0), 3))
    across -= across @ x.T / (x @ x.T) * x
    w = h0[:, None] * x / (x @ x.T) + np.abs(h0[:, None]) / np.linalg.norm(x) * across
    return TwoLayer(w[:, None], a0[:, None])


def trained(start, x, pace, steps, label=1, **options):
    """Gradient descent with steps of size pace / |x| on the input x, shape (1, d)."""
    step = pace / np.linalg.norm(x)
    return gradient_descent(start, x, [label], LOGISTIC, step=step, steps=steps, **options)


def watched(start, x, pace, steps):
    """a and h at every step, shape (steps + 1, networks)."""
    look = {"record": lambda now: (now.a[:, 0], now.preactivations(x)[:, 0, 0])}
    run = trained(start, x, pace, steps, record_at=range(steps + 1), **look)
    return np.array(run.recorded).transpose(1, 0, 2)


# %%NBQA-CELL-SEP476b88
fig, axes = figures.panels(1, height=4.0)
size, wide, draws = 0.7, np.linspace(-2, 2, 801), generator(1)
x, blue, orange = along_x(size, draws), figures.SIMULATION, figures.CONTRAST
shade, dashed = {"alpha": 0.12, "linewidth": 0}, figures.DASHED | {"linewidth": 1}
axes.fill_between([-2, 0, 2], [1.4, 0, 0], 1.6, color=blue, **shade)
axes.fill_between([-2, 0], [1.4, 0], 0, color=orange, **shade)
axes.fill_between([-2, 2], -0.3, 0, color=figures.THEORY, **shade)
learning = [(0.35, -0.4), (0.9, -1.05), (1.3, -1.6), (0.6, 0.0), (0.15, 1.2)]
dying = [(0.3, -1.5), (0.9, -1.45), (1.08, -1.85), (1.2, -1.72)]
kept = []
for starts, colour in ((learning, blue), (dying, orange)):
    h0, a0 = np.array(starts).T
    a, h = watched(one_neuron(h0, a0, x, draws), x, 0.05 * size, 1200)
    c = h0**2 - (size * a0) ** 2
    kept.append(np.abs(h**2 - (size * a) ** 2 - c)[h > 0].max())
    axes.plot(a[::20], h[::20], "o", color=colour, markersize=3.5)
    axes.plot(a0, h0, "o", color=colour, markerfacecolor="none", markersize=8)
    for start, invariant in zip(a0, c, strict=True):
        side = wide[((size * wide) ** 2 + invariant >= 0) & (wide * start > -1e-9)]
        arc = side if invariant < 0 else wide
        axes.plot(arc, np.sqrt((size * arc) ** 2 + invariant), **dashed)
axes.plot(-np.sqrt(-c) / size, 0 * c, "x", color=orange, markersize=8, markeredgewidth=2)
axes.annotate("learns", (0.25, 1.35), color=blue)
axes.annotate("dies", (-1.93, 0.25), color=orange)
axes.annotate("inactive", (0.9, -0.2))
axes.set(xlim=(-2, 2), ylim=(-0.3, 1.6), xlabel="output weight $a$")
axes.set_ylabel("pre-activation $h$")
say(kept=float(max(kept)))
plt.show()


# %%NBQA-CELL-SEP476b88
h, a = sp.symbols("h a", real=True)
n, k, g = sp.symbols("n k g", positive=True)  # g is sigma(-u), k is step * n * g
flow, residuals = {h: n**2 * a * g, a: h * g}, []
residuals.append((h + n * a) ** 2 - (h - n * a) ** 2 - 4 * n * a * h)
for sign in (1, -1):
    side = h + sign * n * a
    residuals.append(sum(sp.diff(side, v) * flow[v] for v in flow) - sign * n * g * side)
    stepped = side.subs({h: h + k * n * a, a: a + k * h / n}, simultaneous=True)
    residuals.append(stepped - (1 + sign * k) * side)
assert [sp.expand(r) for r in residuals] == [0] * 5
"five residuals are zero"


# %%NBQA-CELL-SEP476b88
def rule(h0, a0, slope):
    return np.where((h0 > 0) & (h0 + slope * a0 > 0), 1, 0.5)


def fates(h0, a0, x, pace, draws):
    """P at the end; how often a turns positive; share of steps in which h falls just if a < 0."""
    a, h = watched(one_neuron(h0, a0, x, draws), x, pace, int(150 / pace))
    right = ((np.diff(h, axis=0) < 0) == (a[:-1] < 0)).mean(axis=0)
    turns = np.diff(a > 0, axis=0).sum(axis=0)
    return [expit(a[-1] * np.maximum(h[-1], 0)), turns, right, (h > 0).sum(axis=0)], h


found, rules, mirrored, moved, strayed, life, longest = [[] for _ in range(7)]
paces, norms = (0.3, 0.9, 1.0), ((0.05, 0.3), (0.4, 0.8), (2, 20))
far, near = 1 + np.append(1e-6, np.geomspace(1e-6, 10, 39)), slice(60, 100)
for i in range(15):
    draws, pace, ends = generator(10 + i), paces[i % 3], norms[i // 5]
    size = np.exp(draws.uniform(*np.log(ends)))
    x, (h0, a0) = along_x(size, draws), draws.standard_normal((2, 140)) * np.sqrt(size)
    a0 /= size
    a0[40:100] = -np.sqrt(np.exp(draws.uniform(*np.log([0.01, 15]), 60)) / size)
    h0[40:60] = -a0[40:60] * size ** draws.random(20)
    h0[near] = -size * a0[near] * far
    h0[100:], a0[100:] = -size * a0[near], -h0[near] / size
    run, heights = fates(h0, a0, x, pace, draws)
    found.append(run[:3])
    moved.append([np.ptp(heights[:, h0 < 0], axis=0).max(), np.ptp(heights, axis=0)[40:]])
    strayed.append(fates(h0[near], a0[near], x, 1.5, draws)[0][:3])
    rules.append([rule(h0, a0, size), rule(h0, a0, 1), rule(h0, -a0, size)])
    other = trained(one_neuron(h0, -a0, x, draws), x, pace, int(150 / pace), label=-1)
    mirrored.append(expit(-other.network(x)[:, 0]))
    life.append([run[0], pace * run[3]])
    longest.append([np.full(40, 0.5), np.log((far + 1) / (far - 1)) + pace])
found, (ours, flat, plain) = np.array(found), np.array(rules).transpose(1, 0, 2)
ends, above = found[:, 0], found[:, :, near]
life, longest = np.array(life), np.array(longest)
enough = "a start at 1e-6 turns before |x| t = 45; then 1 - P is at most 1 / (2 |x| t)"
late = {"atol": 0.01, "because": enough}
both = late | {"predicted": ours}
one = Variant("the line h = -a, of slope one", predicted=flat, share=0.2)
two = Variant("the diagram of class +1", predicted=plain, share=0.3)
active = Variant("active neurons", measured=np.concatenate([m[1] for m in moved]), share=1)
large = Variant("steps of 1.5 / |x|", measured=strayed, share=0.08)
over = Variant("the mirror images above the line", measured=life[..., near], share=1)
verify_all(
    verify("combes2018-fig-2l", measured=ends, **both, control=one),
    verify("combes2018-fig-2l-mirror", measured=mirrored, **both, control=two),
    verify(
        "combes2018-phase-inactive",
        measured=[m[0] for m in moved],
        predicted=0.0,
        because="an inactive neuron's gradient is zero",
        control=active,
    ),
    verify("combes2018-phase-2", measured=above, predicted=1.0, **late, control=large),
    verify(
        "combes2018-phase-3",
        measured=life[..., 100:],
        at_least=longest * [[1], [0]],
        at_most=longest,
        because="P is one half; the number of steps is rounded up",
        control=over,
    ),
)


# %%NBQA-CELL-SEP476b88
def F(u):
    return np.log(np.abs(u)) + expi(u)


ages = np.linspace(0.25, 10, 40)  # |x| t
clock, frozen, gaps, sizes = [[] for _ in range(4)]
for i in range(15):
    draws, (low, high) = generator(30 + i), ((1e-3, 1e-2), (0.01, 1), (1, 15))[i // 5]
    size, u0 = np.exp(draws.uniform(np.log([0.05, low]), np.log([20, high]))) * [1, -1]
    x, h0, a0 = along_x(size, draws), np.sqrt([-u0 * size]), -np.sqrt([-u0 / size])
    start = one_neuron(h0, a0, x, draws)
    run = weights_flow(start, x, [1.0], LOGISTIC, ages / size, rtol=1e-13, atol=1e-16)
    heights, weights = run.preactivations(x)[:, 0, 0, 0], run.a[:, 0, 0]
    clock.append([F(heights * weights) - F(u0), -heights / (size * weights)])
    frozen.append([F(u0 * np.exp(-ages)) - F(u0), np.ones(40)])
    gaps.append(np.log(u0 / (heights * weights)) / 2)
    sizes.append(np.full(40, size))
gaps, sizes = np.array(gaps), np.array(sizes)
slow = Variant("the slope of the loss frozen at one half", predicted=frozen, share=0.4)
square = gaps / sizes**2
norms = Variant("|x|^2 for |x|", at_least=square, at_most=2 * square, share=0.5)
lost = Variant("the factor 1/(2|x|) lost", at_least=2 * gaps, share=0.1)
line = {"measured": ages / sizes, "at_least": gaps / sizes, "at_most": 2 * gaps / sizes}
creep = {"measured": clock, "predicted": np.stack([[-2 * ages, np.ones(40)]] * 15)}
good = "1e-13 a step; errors grow against h by e^s, here at most some 1e6"
verify_all(
    verify("combes2018-phase-1", **creep, atol=1e-6, because=good, control=slow),
    verify(
        "combes2018-eq-23", **line, rtol=1e-6, because=good, control=norms, printed=lost
    ),
)


# %%NBQA-CELL-SEP476b88
fig, axes = figures.panels(1)
widths, failed, shares = np.arange(1, 8), [], []
for i, (ratio, colour) in enumerate(
    ((0.25, figures.THIRD), (1.0, figures.SIMULATION), (4.0, figures.CONTRAST))
):
    draws = generator(60 + i)
    x = along_x((0.2, 1.0, 5.0)[i], draws)
    for m in widths:
        w, a0 = draws.standard_normal((2000, m, 3)), draws.standard_normal((2000, m))
        end = trained(TwoLayer(w, ratio * a0), x, 0.9, 150).network(x)
        failed.append((end == 0).sum())
        shares.append((1 / 2 + np.arctan(ratio) / (2 * np.pi)) ** m)
    axes.semilogy(
        widths, np.array(failed[-7:]) / 2000, "o", color=colour, label=f"{ratio:g}"
    )
    axes.plot(widths, shares[-7:], **figures.DASHED)
axes.set(xlabel="number of neurons $m$", ylabel="share that fails")
ticks = [0.02, 0.05, 0.1, 0.2, 0.5]
axes.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
axes.set_yticks([], minor=True)
axes.legend(title="$\\tau_a/\\tau_w$", reverse=True)
for name, goal in (("hundred", 0.01), ("thousand", 0.001)):
    needed = [int(np.ceil(np.log(goal) / np.log(share))) for share in (5 / 8, 1 / 2)]
    say(**{name: needed[0], f"{name}_small": needed[1]})
plt.show()


# %%NBQA-CELL-SEP476b88
def counts(shares):
    """What the counts of 2000 can be, all at once, with one false alarm in 1e4 runs."""
    alarm, shares = 1e-4 / (2 * len(failed)), np.asarray(shares)
    low, high = binom.ppf(alarm, 2000, shares), binom.isf(alarm, 2000, shares)
    return {"at_least": low, "at_most": high}


verify(
    "combes2018-ours-width",
    measured=failed,
    **counts(shares),
    because="21 binomial counts, a false alarm in 1e4 runs",
    control=Variant(
        "only inactive neurons are lost",
        **counts(np.tile(0.5**widths, 3)),
        share=0.6,
    ),
)


# %%NBQA-CELL-SEP476b88
ends, lines, signed = [], [], []
for i, (degrees, norms) in enumerate(((90, (0.5, 2)), (90, (3, 1)), (150, (1, 1)))):
    draws, angle = generator(70 + i), np.deg2rad(degrees)
    x = np.array([[1.0, 0, 0], [np.cos(angle), np.sin(angle), 0]]) * np.transpose([norms])
    x[1, 0] *= degrees > 90  # exactly orthogonal
    w, a0 = draws.standard_normal((12000, 3)), draws.standard_normal(12000)
    seen = np.flatnonzero((w @ x[0] > 0) & (w @ x[1] <= 0))[:2000]
    w, a0 = w[seen], a0[seen]
    options = {"step": 1 / max(norms), "steps": 600, "reduction": "sum"}
    for kept, weights in ((ends, a0), (signed, np.abs(a0))):
        start = TwoLayer(w[:, None], weights[:, None])
        run = gradient_descent(start, x, [1, -1], LOGISTIC, **options)
        kept.append(run.network(x)[:, 0])
    lines.append(w @ x[0] + norms[0] * a0)
below = lines[2] < 0
say(
    from_above=float(100 * (ends[2][~below] <= 0).mean() * (~below).mean()),
    from_below=float(100 * below.mean()),
)
verify(
    "combes2018-nonzero-measure",
    measured=expit(np.concatenate([*ends[:2], ends[2][below]])),
    predicted=np.where(np.concatenate([*lines[:2], lines[2][below]]) > 0, 1, 0.5),
    atol=0.01,
    because="1 - P falls like 1 / (2 |x| t) once a start near the line has turned",
    control=Variant(
        "output weights with the sign of the class, (H3)",
        measured=expit(np.concatenate([*signed[:2], signed[2][below]])),
        share=0.2,
    ),
)


# %%NBQA-CELL-SEP476b88
say(seconds=process_time() - started)
