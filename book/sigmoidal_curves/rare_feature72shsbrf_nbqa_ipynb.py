# %%NBQA-CELL-SEP476b88
from time import process_time

import matplotlib.pyplot as plt
import numpy as np
from scipy.integrate import solve_ivp
from scipy.special import expit

from executable_claims import Variant, verify
from lib import figures
from lib.flow import gradient_flow
from lib.models.two_layer import TwoLayer
from lib.prose import say
from lib.seeds import generator
from lib.theory.two_inputs import cases, neuron, pair
from lib.training.descent import gradient_descent
from lib.training.losses import HINGE, LOGISTIC

figures.use_style()
started = process_time()


# %%NBQA-CELL-SEP476b88
def trained(start, features, rate, logits):
    """alpha, beta and a of one neuron when the frequent logit, the clock, has these values."""
    inputs, frequent = np.array([features.sum(axis=0), features[0]]), features[:1]
    w, a = start.w[0], start.a[0]

    def velocity(_logit, state):
        now = TwoLayer(state[None, :-1], state[-1:])
        # The loss's slopes divided by that on x1: only their ratio matters to this clock.
        logs = np.logaddexp(0, now(frequent)) - np.logaddexp(0, now(inputs))
        in_w, in_a = now.gradients(inputs, np.exp(np.minimum(logs, 500)) * [rate, 1 - rate])
        pace = frequent[0] @ in_w[0] * state[-1] + state[:-1] @ frequent[0] * in_a[0]
        return np.append(in_w, in_a) / max(pace, 1e-30)

    span, options = (start(frequent)[0], logits[-1]), {"rtol": 1e-10, "atol": 1e-13}
    run = solve_ivp(velocity, span, np.append(w, a), "DOP853", logits, **options).y
    return np.vstack([features @ run[:-1], run[-1:]])


def rare(rate, alpha0, beta0, a0, logits):
    """Rare logit, unit norms."""
    _, beta, a = trained(TwoLayer([[alpha0, beta0]], [a0]), np.eye(2), rate, logits)
    return a * beta


def stochastic(rate, steps, seeds, draws):
    """Frequent and rare logit of runs of one example a step, shape (steps, seeds, 2)."""
    w, a = np.tile([[0.1, 0.1 * rate]], (seeds, 1, 1)), np.full((seeds, 1), 0.1)
    samples = (draws.random((steps[-1], seeds)) >= rate).astype(int)
    options = {"step": 0.2, "steps": steps[-1], "samples": samples, "record_at": steps}

    def see(network):
        return network(np.eye(2))

    inputs = [[1, 1], [1, 0]]
    run = gradient_descent(TwoLayer(w, a), inputs, [1, 1], LOGISTIC, record=see, **options)
    return np.array(run.recorded)


# %%NBQA-CELL-SEP476b88
fig, (left, right) = figures.panels(2, height=3.2)
counted, grid = np.geomspace(40, 8000, 12).astype(int), np.linspace(0.011, 9.3, 80)
gaps, colours = [], (figures.SIMULATION, figures.CONTRAST, figures.THIRD)
for rate, colour in zip((0.5, 0.1), colours):
    small = rate, 0.1, 0.1 * rate, 0.1
    L, r = stochastic(rate, counted, 30, generator(1)).mean(axis=1).T
    left.plot(grid, expit(rare(*small, grid)), color=colour)
    left.plot(L, expit(r), "o", color=colour, markersize=4)
    left.plot(grid, expit(rate * grid), **figures.DASHED)
    gaps.append(np.abs(expit(r) - expit(rare(*small, L))).max())
left.annotate("$\\lambda=0.5$", (7, 0.86), color=figures.SIMULATION)
left.annotate("$\\lambda=0.1$", (7, 0.58), color=figures.CONTRAST)
marks = np.array([0.5, 0.9, 0.99, 0.999, 0.9999])
left.set_xticks(np.log(marks / (1 - marks)), [f"{mark:g}" for mark in marks])
left.set(xlabel="confidence on the frequent feature", ylabel="on the rare one")
span, options = np.geomspace(1e-2, 1e3, 25), {"rtol": 1e-10, "atol": 1e-13}
b = solve_ivp(lambda s, b: np.exp(-s * b), (0, 1e3), [0], t_eval=span**0.5, **options).y[0]
for q, colour in zip((0.5, 0.1, 0.01), colours):
    r = rare(q, 1e-2, 1e-2 * q, 1e-2 * np.hypot(1, q), span / q)
    right.loglog(span, r, "o", color=colour, markersize=4, label=f"$\\lambda={q:g}$")
for theory in (span, span**0.5 * b, span**0.5 * b[-1]):
    right.loglog(span, theory, **figures.DASHED)
right.annotate("paper's bound", (20, 60), ha="right")
right.legend(loc="lower right")
right.set(
    ylim=(5e-3, 2e2),
    xlabel="rate times frequent logit, $\\lambda L$",
    ylabel="rare logit $r$",
)
say(gap=max(gaps))
plt.show()


# %%NBQA-CELL-SEP476b88
def slope(alpha, beta, rate, k=1.0, size=1.0, c=0.0):
    """d beta / d alpha, with the output weight from the invariant."""
    a = np.sqrt((alpha**2 + beta**2 / k) / size**2 - c)
    log_ratio = np.logaddexp(0, a * alpha) - np.logaddexp(0, a * (alpha + beta))
    return k * rate / (rate + (1 - rate) * np.exp(np.minimum(-log_ratio, 700)))


def limit(rate, k=1.0, size=1.0, alpha0=0.0, beta0=0.0, a0=0.0):
    """beta in the end; without a start, from an infinitesimal one with c = 0."""
    c = (alpha0**2 + beta0**2 / k) / size**2 - a0**2
    span = (max(alpha0, -beta0), 1e4 * size)  # inactive on x1 + x2 before

    def field(alpha, beta):
        return slope(alpha, beta, rate, k, size, c)

    return solve_ivp(field, span, [beta0], method="DOP853", rtol=1e-11, atol=1e-13).y[0, -1]


# %%NBQA-CELL-SEP476b88
found, law, line, late = [], [], [], np.array([1e8])
for sign in (1, -1):

    def lead(draws, _, sign=sign):
        return sign * draws.uniform(0, 3)

    for case in cases(lead, map(generator, range(70, 85))):
        rate, k, size = case.rate, case.k, case.norm
        _, beta, a = trained(case.network, case.features, rate, late)
        found.append((a * beta / np.sqrt(late))[0])
        law.append(limit(rate, k, size, *case.start) / np.sqrt(size))
        line.append((np.log1p(k * rate / (1 - rate) * late) / np.sqrt(late))[0])


# %%NBQA-CELL-SEP476b88
verify(
    "combes2018-ours-root",
    measured=found,
    predicted=law,
    rtol=3e-6,
    because="the next order, (beta^2 / |x2|^2 - c) |x1| / 4L, is below 2e-6 for these starts",
    control=Variant(
        "as without a hidden layer: r = log(1 + k lambda L / (1 - lambda))",
        predicted=line,
        share=1,
    ),
)


# %%NBQA-CELL-SEP476b88
rescaled = []
for draws, family in [(generator(110 + j), j // 5) for j in range(15)]:
    q, (alpha0, a0) = 10.0 ** -draws.integers(3, 5), 10 ** draws.uniform(-5, -3, 2)
    rescaled.append(
        rare(q, alpha0, family * draws.uniform(0, 1) * q * alpha0, a0, span[6:] / q)
    )
verify(
    "combes2018-ours-rare-small",
    measured=rescaled,
    predicted=np.tile((span**0.5 * b)[6:], (15, 1)),
    rtol=1e-3,
    because="what is left out is of relative order lambda, and alpha0 / alpha at the start",
    control=Variant(
        "as without a hidden layer: r = log(1 + lambda L)",
        predicted=np.tile(np.log1p(span[6:]), (15, 1)),
        share=1,
    ),
)


# %%NBQA-CELL-SEP476b88
small, nine = (0.1, 1e-3, 1e-4, 1e-3), np.log(9)
promised, clock = nine / 0.1, np.linspace(1, 60, 6000)
needed = np.interp(nine, rare(*small, clock), clock)
decades = (needed - promised) / np.log(10) - np.log10(needed / promised)
say(needed=needed, promised=promised, decades=decades)
say(b_limit=b[-1], half=limit(0.5) / 0.5**0.5)


# %%NBQA-CELL-SEP476b88
def pace(L, r):
    return 1 / (1 + 9 * np.exp(np.logaddexp(0, L + r) - np.logaddexp(0, L)))


linear = solve_ivp(pace, (0, 1e3), [0.0], "DOP853", rtol=1e-9, atol=1e-12).y[0, -1]
say(linear=linear, layered=rare(*small, [1e3])[0])


# %%NBQA-CELL-SEP476b88
def hinge_margin(rate):
    beta = rate / np.sqrt((1 + rate) * np.hypot(1, rate))
    return beta * np.sqrt((beta**2 + np.sqrt(beta**4 + 4)) / 2)


say(hinge_tenth=hinge_margin(0.1))


# %%NBQA-CELL-SEP476b88
tenths, ends = np.array([0.1, 0.3, 0.5, 0.7, 0.9]), []
for rate in tenths:
    for draws in map(generator, (90, 91, 92)):
        x = pair(1.0, 1.0, rng=draws)
        start = neuron(1e-6 * draws.uniform(0.5, 1.5, 3), x, rng=draws)
        task = [x[0] + x[1], x[0]], [1, 1], HINGE
        run = gradient_flow(start, *task, weights=[rate, 1 - rate], until=150)
        end = np.exp(run.log_norms[-1] + run.log_outputs[-1]) * run.directions[-1, 0]
        ends.append(x[1] @ end)
verify(
    "combes2018-ours-rare-hinge",
    measured=ends,
    predicted=np.repeat(hinge_margin(tenths), 3),
    atol=5e-6,
    because="beta - lambda alpha keeps its value at the start, below 1.5e-6",
    control=Variant(
        "the margin when both features stop, lambda / (1 + lambda)",
        predicted=np.repeat(tenths / (1 + tenths), 3),
        share=1,
    ),
)


# %%NBQA-CELL-SEP476b88
say(seconds=process_time() - started)
