# %%NBQA-CELL-SEP476b88
from time import process_time

import matplotlib.pyplot as plt
import numpy as np
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

from executable_claims import Variant, verify, verify_all
from lib import figures
from lib.flow import gradient_flow
from lib.flow.weights import weights_flow
from lib.models.two_layer import TwoLayer
from lib.prose import say
from lib.seeds import generator
from lib.training.descent import gradient_descent
from lib.training.losses import HINGE, LOGISTIC

figures.use_style()
started = process_time()


# %%NBQA-CELL-SEP476b88
def turn(v, X, t):
    """Weights v = (w, a) a time t later."""
    size, a = np.linalg.norm(X), v[-1]
    e = X / (size or 1)  # nothing pushes in the end
    H, cosh, sinh = v[:-1] @ e, np.cosh(size * t), np.sinh(size * t)
    return np.append(v[:-1] + (H * (cosh - 1) + a * sinh) * e, a * cosh + H * sinh)


def margins(v, inputs):
    return v[-1] * inputs @ v[:-1]


# %%NBQA-CELL-SEP476b88
def stretches(v, inputs):
    """Of each stretch: when it begins, the weights there, and the sum that pushes."""
    t, found = 0.0, []
    while (push := margins(v, inputs) < 1 - 1e-9).any():
        X = inputs[push].sum(axis=0)
        found.append((t, v, X))

        def first(s):
            return margins(turn(v, X, s), inputs[push]).max() - 1

        length = brentq(first, 0, 60 / np.linalg.norm(X))
        t, v = t + length, turn(v, X, length)
    return [*found, (t, v, 0 * X)]


# %%NBQA-CELL-SEP476b88
def follow(law, inputs, times):
    """Margins by the law, shape (times, inputs)."""
    now = np.searchsorted([begin for begin, _, _ in law], times, side="right") - 1
    pieces = zip(times, (law[k] for k in now), strict=True)
    return np.array([margins(turn(v, X, t - begin), inputs) for t, (begin, v, X) in pieces])


def class_flow(v, inputs, label, until, loss=HINGE):
    """Flow of the raw weights on the sum of the losses."""
    network, labels = TwoLayer([v[:-1]], [label * v[-1]]), np.full(len(inputs), label)
    return gradient_flow(network, inputs, labels, loss, until=until, reduction="sum")


def flow_margins(run, times):
    """Margins along a flow, which rests after its end."""
    return run.outputs(np.minimum(times, run.times[-1])) * run.task.labels


three = np.array([[1.2, 0.3, 0.0], [0.4, 0.7, 0.3], [0.2, 0.1, 0.5]])
v = np.array([0.08, 0.05, 0.03, 0.1])
times, parts = np.linspace(0, 2, 201), stretches(v, three)
one_end = brentq(lambda t: follow(parts[:1], three, [t]).min() - 1, 0, 5)
seeds, step = 100, 0.002
many = TwoLayer(np.tile(v[:3], (seeds, 1, 1)), np.full((seeds, 1), v[3]))
options = {"step": step, "steps": 3000, "record_at": range(0, 3001, 15)}
options |= {"samples": generator(0).integers(0, 3, (3000, seeds))}
options |= {"record": lambda network: network(three)}
drawn = np.array(gradient_descent(many, three, np.ones(3), HINGE, **options).recorded)
theory = follow(parts, three, times)
gap = float(abs(np.median(drawn, axis=1) - theory).max())
say(class_end=parts[-1][0], one_end=one_end, gap=gap)


# %%NBQA-CELL-SEP476b88
fig, axes = figures.panels(1, height=2.8)
measured = flow_margins(class_flow(v, three, 1.0, 2.0), times)
colours = figures.SIMULATION, figures.CONTRAST, figures.THIRD
for k, colour in enumerate(colours):
    band = np.quantile(drawn[:, :, k], (0.05, 0.95), axis=1)
    axes.fill_between(times, *band, color=colour, alpha=0.25, linewidth=0)
    axes.plot(times, measured[:, k], color=colour)
    axes.plot(times, theory[:, k], **figures.DASHED)
    axes.annotate(f"$u_{k + 1}$", (2.02, theory[-1, k]), color=colour, va="center")
axes.plot(times, follow(parts[:1], three, times), ":", color=figures.THEORY)
axes.set(xlabel="$t$", ylabel="margin", ylim=(0, 2.5), xlim=(0, 2.1))
plt.show()


# %%NBQA-CELL-SEP476b88
def log_uniform(draws, low, high):
    return float(np.exp(draws.uniform(np.log(low), np.log(high))))


weights, halves, wholes = [], [], []
kinds = [(1e-3, 0.1, 1e-6, 1e-3), (0.1, 0.9, 1e-3, 0.5), (0.99, 0.9995, 1e-6, 0.9)]
for k, draws in enumerate(map(generator, range(130, 145))):
    low, high, least, most = kinds[k // 5]  # of |x| a / h and of u
    ratio, u0 = log_uniform(draws, low, high), log_uniform(draws, least, most)
    size, label = log_uniform(draws, 0.05, 20), draws.choice([-1.0, 1.0])
    e, across = np.linalg.qr(draws.standard_normal((3, 2)))[0].T
    H, a = np.sqrt(u0 / (size * ratio)), np.sqrt(u0 * ratio / size)
    c = size**2 * (H**2 - a**2)
    angle = np.arccosh(size**2 * (H**2 + a**2) / c)
    stop = np.arcsinh(2 * size / c) - angle  # where (c / 2 |x|) sinh(angle + 2 tau) is 1
    tau = stop / 2 * np.array([0.1, 0.3, 0.5, 0.7, 0.9])
    network = TwoLayer([H * (e + 2 * across)], [label * a])
    run = weights_flow(network, [size * e], [label], HINGE, tau / size)
    weights.append([run.preactivations([size * e])[:, 0, 0], size * abs(run.a[:, 0])])
    for theta, kept in ((angle / 2 + tau, halves), (angle + tau, wholes)):
        kept.append(np.sqrt(c) * np.array([np.cosh(theta), np.sinh(theta)]))
exact = {"rtol": 1e-6, "because": "the integrator's 1e-10 a step over some hundred steps"}
whole = Variant("the whole angle of u, not half of it", predicted=wholes, share=0.7)
verify("combes2018-c.1", measured=weights, predicted=halves, control=whole, **exact)


# %%NBQA-CELL-SEP476b88
before, first_law, across, after, law, alone, pushing = ([] for _ in range(7))
for k, draws in enumerate(map(generator, range(600, 615))):
    m, aside = int(draws.integers(2, 6)), draws.standard_normal(6)
    norms = np.exp(draws.uniform(-1.2, 1.2, (m, 1)))
    orthogonal = norms * np.linalg.qr(draws.standard_normal((6, m)))[0].T
    parallel = norms * (1 + 0.1 * draws.standard_normal((m, 6)))
    inputs = (orthogonal, parallel, norms * draws.random((m, 6)))[k // 5]
    w = draws.random(m) @ inputs
    while (inputs @ (w + aside)).min() <= 0:
        aside /= 2
    scales = log_uniform(draws, 1e-3, 0.3), log_uniform(draws, 1e-3, 0.3)
    v = np.append(scales[0] * (w + aside), scales[1])
    parts = stretches(v, inputs)
    (_, _, X), first, end = parts[0], parts[1][0], parts[-1][0]
    flow = class_flow(v, inputs, draws.choice([-1.0, 1.0]), 1.2 * end)
    early, late = np.linspace(0, first, 7)[1:-1], np.linspace(first, 1.1 * end, 12)[1:]
    along = [(0.0, np.append(v[:-1] @ X / (X @ X) * X, v[-1]), X)]
    for kept, now in ((first_law, parts[:1]), (across, along)):
        kept.extend(follow(now, inputs, early).ravel())
    for kept, now in ((law, parts), (alone, parts[:1])):
        kept.extend(follow(now, inputs, late).ravel())
    before.extend(flow_margins(flow, early).ravel())
    after.extend(flow_margins(flow, late).ravel())
after, law, alone = map(np.array, (after, law, alone))


# %%NBQA-CELL-SEP476b88
unfinished = after < 1 - 1e-6
cut = {"measured": after[unfinished], "predicted": alone[unfinished], "share": 0.9}
verify_all(
    verify(
        "combes2018-c.2",
        measured=before,
        predicted=first_law,
        control=Variant("without the part of w across X", predicted=across, share=0.5),
        printed=Variant("after the first departure, the unfinished inputs", **cut),
        **exact,
    ),
    verify(
        "combes2018-ours-hinge-class",
        measured=after,
        predicted=law,
        control=Variant("a margin rests at 1", predicted=np.minimum(law, 1), share=0.3),
        **exact,
    ),
)


# %%NBQA-CELL-SEP476b88
def held(t, v):
    """Velocity of (w, a) while the first margin is held."""
    w, a = v[:2], v[2]
    (h1, h2), gram = pair @ w, pair @ pair.T
    s = -(a**2 * gram[0, 1] + h1 * h2) / (a**2 * gram[0, 0] + h1**2)
    X = s * pair[0] + pair[1]
    return np.append(a * X, w @ X)


def arrive(t, v):
    return margins(v, pair)[1] - 1


pair, v = np.array([[1.0, 0.0], [-0.4, 0.5]]), np.array([0.1, 0.3, 0.1])
parts, flow = stretches(v, pair), class_flow(v, pair, 1.0, 9.0)
arrive.terminal = True
by_share = solve_ivp(held, (parts[1][0], 9), parts[1][1], events=arrive, rtol=1e-8)
times = np.linspace(0, 4, 401)
fig, axes = figures.panels(1, height=2.4)
law = follow(parts, pair, times)
for k, colour in enumerate((figures.SIMULATION, figures.CONTRAST)):
    axes.plot(times, flow_margins(flow, times)[:, k], color=colour)
    axes.plot(times, law[:, k], **figures.DASHED)
axes.annotate("$u_1$", (1.7, 0.45), color=figures.SIMULATION)
axes.annotate("$u_2$", (2.7, 0.2), color=figures.CONTRAST)
axes.set(xlabel="$t$", ylabel="margin")
say(fallen=law[times > parts[1][0], 0].min(), held_end=flow.times[-1])
say(share_end=by_share.t[-1])
plt.show()


# %%NBQA-CELL-SEP476b88
behind, v = np.array([[1.0, 0.0], [0.4, 1.0]]), np.array([0.1, -1.0, 0.1])
hard, soft = (class_flow(v, behind, 1.0, 300.0, loss) for loss in (HINGE, LOGISTIC))


def preactivation(run, t):
    now = run.at([t])
    return float(np.exp(now.log_norms[0, 0]) * now.directions[0, 0] @ behind[1])


say(left_behind=preactivation(hard, hard.times[-1]))
say(opened=brentq(lambda t: preactivation(soft, t), 0, 300))


# %%NBQA-CELL-SEP476b88
say(seconds=process_time() - started)
