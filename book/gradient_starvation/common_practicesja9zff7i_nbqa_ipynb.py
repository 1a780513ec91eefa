# %%NBQA-CELL-SEP476b88
from functools import partial
from time import process_time

import matplotlib.pyplot as plt
import numpy as np
from scipy.integrate import solve_ivp
from scipy.optimize import linprog
from scipy.special import expit, gamma
from scipy.stats import ortho_group, sem
from scipy.stats import t as student

from executable_claims import Variant, verify, verify_all
from lib import figures
from lib.data.synthetic import two_moons_with_gap
from lib.experiments.claims import verify_recorded
from lib.experiments.records import recorded
from lib.experiments.registry import quick
from lib.geometry.level_sets import bend, distance_to_data, zero_level_set
from lib.geometry.programs import least_norm
from lib.prose import say
from lib.seeds import generator

figures.use_style()
started = process_time()


# %%NBQA-CELL-SEP476b88
KEYS = "gap weight-decay rotated batch-norm five-layers dropout longer adam-short adam-long"
LABELS = """none, weight decay, data turned, batch normalisation, five layers, dropout,
 ten times the steps, Adam at 0.0001, Adam at 0.003"""
PRACTICES = dict(zip(KEYS.split(), map(str.strip, LABELS.split(","))))
OTHERS, SEEDS = KEYS.split()[1:7], range(5)
NINE = "gap", *OTHERS, "adam-long", "decoupled"


def relative(runs):
    """For each practice the bend of each seed over that of spectral decoupling."""

    def ratio(one, name):
        return one[name]["bend"] / one["decoupled"]["bend"]

    return {name: np.array([ratio(one, name) for one in runs]) for name in PRACTICES}


published = recorded("pezeshki2021-figure-3", "published-code")
one_long = recorded("pezeshki2021-figure-3").metrics
bends = {
    "10,000 steps": relative(one_long),
    "1,000 steps": relative(published.metrics),
    "small, live": relative(quick("pezeshki2021-figure-3", SEEDS)),
}
of_adam = [found["adam-long"].mean() for found in bends.values()]
say(recorded_seeds=len(published.seeds), adam_full=of_adam[0], adam_code=of_adam[1])
say(most_other=max(found[name].mean() for found in bends.values() for name in OTHERS))
slow, fast = one_long[0]["longer"], published.metrics[0]["adam-long"]
say(chance=(5 * 35 + 1) / 36**5, longer_loss=slow["loss"], longer_bend=slow["bend"])
say(adam_loss=fast["loss"], adam_bend=fast["bend"])


def ranks(runs):
    """Shares of networks in which two ways bend most, and in which another is ahead of Adam."""
    orders = [sorted(NINE, key=lambda name: one[name]["bend"]) for one in runs]

    def share(name):
        return np.mean([{*o[-2:]} == {name, "decoupled"} for o in orders])

    behind = [o[-1 - (o[-1] == "decoupled")] != "adam-long" for o in orders]
    return dict(
        measured=share("adam-long"),
        at_least=0.8,
        because="were all alike, four of five would have a chance of three in a million",
        control=Variant("ten times the steps in Adam's place", measured=share("longer")),
        printed=Variant("another practice is ahead of Adam", measured=np.mean(behind)),
    )


verify_recorded(
    "pezeshki2021-fig-3", ranks, "pezeshki2021-figure-3", "published-code", seeds=SEEDS
)


# %%NBQA-CELL-SEP476b88
COLOURS = figures.CONTRAST, figures.SIMULATION, figures.THIRD
fig, axis = figures.panels(height=3.5)
for nth, ((title, dots_of), tone) in enumerate(zip(bends.items(), COLOURS)):
    for line, dots in enumerate(dots_of.values()):
        height = line + 0.2 * (nth - 1)
        axis.plot(dots, 0 * dots + height, ".", alpha=0.3, markersize=4, color=tone)
        axis.plot(dots.mean(), height, "o", markersize=6, color=tone)
    axis.annotate(title, (0.56, nth), color=tone, va="center")
axis.axvline(1, **figures.DASHED)
axis.set(yticks=range(len(PRACTICES)), yticklabels=PRACTICES.values(), xlim=(0, 1.25))
axis.set(xlabel="bend over that of spectral decoupling", ylim=(8.6, -0.6))
plt.show()


# %%NBQA-CELL-SEP476b88
def adam(rate=0.003, beta1=0.9, beta2=0.999, pooled=()):
    """Adam as a map from gradients (S, N) to steps and scales; sizes may be pooled."""
    m, v, k = 0.0, 0.0, 0

    def rule(g):
        nonlocal m, v, k
        k += 1
        m, v = beta1 * m + (1 - beta1) * g, beta2 * v + (1 - beta2) * g**2
        sizes = v / (1 - beta2**k)
        for group in pooled:
            sizes[:, group] = sizes[:, group].mean(axis=1, keepdims=True)
        scales = 1 / (np.sqrt(sizes) + 1e-8)
        return -rate * scales * m / (1 - beta1**k), scales

    return rule


# %%NBQA-CELL-SEP476b88
DRAWS, EXAMPLES, WIDTH = 12, 60, 100
N, LEVELS = 4 * WIDTH + 1, np.array([0.1, 0.05, 0.02, 0.01])
moons = [two_moons_with_gap(EXAMPLES, 0.1, rng=generator(k)) for k in range(DRAWS)]
x, y = (np.stack(parts) for parts in zip(*moons))
draws = [generator(100 + k).uniform(-1, 1, N) for k in range(DRAWS)]
start = np.stack(draws) / np.sqrt(np.repeat([2, WIDTH], [3 * WIDTH, WIDTH + 1]))
TENSORS = [slice(0, 2 * WIDTH), slice(2 * WIDTH, 3 * WIDTH), slice(3 * WIDTH, 4 * WIDTH)]


def weights(theta):
    """Inner weights (..., 2, m) and biases, outer weights (..., m) and bias of theta (..., N)."""
    inner, b, a, c = np.split(theta, [2 * WIDTH, 3 * WIDTH, 4 * WIDTH], axis=-1)
    return inner.reshape(*inner.shape[:-1], 2, WIDTH), b[..., None, :], a[..., None, :], c


def signed_tangents(theta):
    """Outputs (S, n) of the networks on their data, and gradients (S, n, N) times labels."""
    inner, b, a, c = weights(theta)
    hidden = x @ inner + b
    on, relu = (hidden > 0) * a, np.maximum(hidden, 0)
    parts = [on * x[..., :1], on * x[..., 1:], on, relu, np.ones_like(x[..., :1])]
    return (relu * a).sum(axis=-1) + c, y[:, :, None] * np.concatenate(parts, axis=2)


outputs_at_start, signed = signed_tangents(start)


def descend(rule, linear=True):
    """Displacements (levels, S, N) when the loss of each draw first reaches a level, and scales."""
    theta, found = np.zeros((DRAWS, N)), np.full((len(LEVELS), DRAWS, N), np.nan)
    rows, q, scales = signed, 0 * y, np.zeros((DRAWS, N))
    while np.isnan(found[-1]).any():
        step, current = rule(-(expit(-q)[:, None] @ rows)[:, 0] / EXAMPLES)
        going = np.isnan(found[-1, :, :1])
        theta, scales = theta + step * going, np.where(going, current, scales)
        if linear:
            q = (rows @ theta[:, :, None])[..., 0]
        else:
            outputs, rows = signed_tangents(start + theta)
            q = y * (outputs - outputs_at_start)
        reached = np.logaddexp(0, -q).mean(axis=1) <= LEVELS[:, None]
        if (new := reached & np.isnan(found[..., 0])).any():
            found = np.where(new[..., None], theta, found)
    return found, scales


def flow(kernel, back):
    """The exact flow with a kernel (n, n) of signed features, for one draw; ``back`` gives theta."""

    def loss(alpha):
        return np.logaddexp(0, -kernel @ alpha).mean()

    events = [lambda _, alpha, level=level: loss(alpha) - level for level in LEVELS]
    events[-1].terminal = True

    def velocity(_, alpha):
        return expit(-kernel @ alpha) / np.trace(kernel)

    options = {"method": "LSODA", "events": events, "rtol": 1e-7, "atol": 1e-12}
    run = solve_ivp(velocity, (0, 1e9), np.zeros(EXAMPLES), **options)
    return np.array([back(alpha[0]) for alpha in run.y_events])


def flows(scales):
    """Displacements (levels, S, N) along the flow with a fixed diagonal."""
    runs = [flow((z * d) @ z.T, lambda a: d * (z.T @ a)) for z, d in zip(signed, scales)]
    return np.stack(runs, axis=1)


def function(displacement, k, linear, points):
    """Values in the plane of what draw k with this displacement (N,) computes."""
    (inner, b, a, _), (d_inner, d_b, d_a, d_c) = weights(start[k]), weights(displacement)
    hidden, change = points @ inner + b, points @ d_inner + d_b
    on, outer = hidden > 0, a + d_a
    if linear:
        return (on * (a * change + hidden * d_a)).sum(axis=1) + d_c
    return (np.maximum(hidden + change, 0) * outer - on * hidden * a).sum(axis=1) + d_c


def measured(displacements, linear=True):
    """Input margins and bends (S, 2) of displacements (S, N)."""
    found = []
    for k, one in enumerate(displacements):
        curves = zero_level_set(partial(function, one, k, linear), points=61)
        found.append((distance_to_data(curves, x[k]), bend(curves)))
    return np.array(found)


ONE = np.ones((DRAWS, N))
turn = np.linalg.qr(generator(50).normal(size=(N, N)))[0]


def sign_step(g):
    return (-0.03 * np.linalg.norm(g, axis=1)[:, None] * np.sign(g), ONE)


def turned(rule):
    """The rule in another basis of the weights."""

    def back(step, scales):
        return (step @ turn, scales)

    return lambda g: back(*rule(g @ turn.T))


def softened(rows, power):
    """The displacement at the last level of the flow that is whitened to a power."""
    values, vectors = np.linalg.eigh(rows @ rows.T)
    kernel = (vectors * np.maximum(values, 1e-10 * values[-1]) ** (1 - power)) @ vectors.T
    return flow(kernel, lambda alpha: np.linalg.pinv(rows) @ (kernel @ alpha))[-1]


def last(rule):
    return measured(descend(rule)[0][-1])


def part(name):
    return 100 * (mean[name] - mean["gradient flow"]) / gain


def power(k):
    return np.interp(kept["Adam"][:, k].mean(), ruler[:, k], powers)


def error_of(values, chance):
    return student.ppf(1 - chance, DRAWS - 1) * sem(values)


def against(name):
    return kept[name] - kept["gradient flow"]


ways, scales = descend(adam())
scales = np.where(np.abs(signed).sum(axis=1) > 0, scales, 0)  # none for a dead unit
courses = {
    "Adam": (ways, True),
    "Adam, network": (descend(adam(), linear=False)[0], False),
    "gradient": (flows(ONE), True),
    "gradient, network": (descend(lambda g: (-0.2 * g, ONE), linear=False)[0], False),
    "last scales": (flows(scales), True),
}
seen = {
    name: np.array([measured(one, linear) for one in paths])
    for name, (paths, linear) in courses.items()
}
order = np.add.outer(np.arange(4) * WIDTH, generator(60).permutation(WIDTH)).ravel()
kept = {
    "gradient flow": seen["gradient"][-1],
    "Adam, one scale": last(adam(pooled=[slice(None)])),
    "sign, basis turned": last(turned(sign_step)),
    "one scale a tensor": last(adam(pooled=TENSORS)),
    "sign": last(sign_step),
    "Adam, basis turned": last(turned(adam())),
    "scales shuffled": measured(flows(scales[:, np.append(order, N - 1)])[-1]),
    "last scales": seen["last scales"][-1],
    "Adam": seen["Adam"][-1],
    "without momentum": last(adam(beta1=0.0)),
    "whitened": measured([np.linalg.pinv(rows) @ np.ones(EXAMPLES) for rows in signed]),
}
mean = {name: found[:, 0].mean() for name, found in kept.items()}
gain = mean["Adam"] - mean["gradient flow"]
say(width=WIDTH, examples=EXAMPLES, draws=DRAWS, still=part("without momentum"))
say(margin_adam=mean["Adam"], margin_plain=mean["gradient flow"])
say(margin_white=mean["whitened"], margin_frozen=mean["last scales"])
SHARES = ["one", "both", "tensor", "memoryless", "turned", "exchanged", "explained"]
say(**{short: part(name) for short, name in zip(SHARES, list(kept)[1:])})
powers = np.arange(6) / 10
ruler = np.stack([measured([softened(z, g) for z in signed]).mean(axis=0) for g in powers])
slopes = []
for z, d in zip(signed, scales):
    _, s, vt = np.linalg.svd(z, full_matrices=False)
    slopes.append(np.polyfit(np.log(s**2), np.log(vt**2 @ d), 1, w=s > 0.01 * s[0])[0])
say(gamma_margin=power(0), gamma_bend=power(1), raised=-np.mean(slopes))
hard = [least_norm(z, np.ones(EXAMPLES)).x for z in signed]
box, goal = [(-1, 1)] * N + [(None, None)], np.append(np.zeros(N), -1)
rows_of = [np.column_stack([-z, np.ones(EXAMPLES)]) for z in signed]
flat = [linprog(goal, rows, np.zeros(EXAMPLES), bounds=box).x[:N] for rows in rows_of]
hard, flat = (measured(each)[:, 0].mean() for each in (hard, flat))
say(hard=hard, flat=flat, ends=flat - hard, gain=gain)
over = {name: found[:, :, 0].mean(axis=1) for name, found in seen.items()}
say(network_adam=over["Adam, network"][-1], network_plain=over["gradient, network"][-1])
network = (seen["Adam, network"] - seen["gradient, network"])[-1, :, 1]
more = np.column_stack([against("Adam"), network])
single = against("Adam, one scale").mean(axis=0)
missing = (kept["Adam"] - kept["last scales"])[:, 0] / gain
shares = 1 - missing.mean() + np.array([-1, 1]) * error_of(missing, 1e-4 / 2)
verify_all(
    verify(
        "pezeshki2021-ours-adam",
        measured=more.mean(axis=0) - error_of(more, 1e-4 / 3),
        at_least=0.0,
        because="means of the draws, less their errors at a joint chance of 1e-4",
        control=Variant("one scale for all weights", measured=single, share=1),
    ),
    verify(
        "pezeshki2021-ours-adam-scales",
        measured=shares,
        at_least=0.9,
        at_most=1.1,
        because="a mean of the draws, with its error to both sides at a chance of 1e-4",
        control=Variant("scales exchanged", measured=part("scales shuffled") / 100),
    ),
)


# %%NBQA-CELL-SEP476b88
fig, (left, right) = figures.panels(2, height=3.9, width_ratios=(1, 1.05))
theory = np.transpose([over["gradient"], over["last scales"]])
left.semilogx(LEVELS, theory, **figures.DASHED)
left.plot(LEVELS, over["Adam"], "o", color=figures.SIMULATION)
left.plot(LEVELS, over["Adam, network"], "s", color=figures.CONTRAST)
left.plot(LEVELS, over["gradient, network"], "o", color=figures.THIRD)
left.annotate("Adam,\nlinear", (0.095, 0.13), color=figures.SIMULATION)
left.annotate("Adam,\nnetwork", (0.0125, 0.151), color=figures.CONTRAST, ha="left")
left.annotate("gradient,\nnetwork", (0.016, 0.088), color=figures.THIRD, ha="left")
left.set(xlabel="mean loss", ylabel="input margin", ylim=(0, 0.24), xlim=(0.11, 0.009))
left.set(xticks=[0.1, 0.03, 0.01], xticklabels=["0.1", "0.03", "0.01"])
left.minorticks_off()
shown = list(kept)[:-1]
for row, name in enumerate(shown):
    style = {"color": figures.THEORY if row in (0, 7) else figures.SIMULATION}
    right.plot(kept[name][:, 0], [row] * DRAWS, ".", alpha=0.35, markersize=4, **style)
    right.plot(mean[name], row, "o", **style)
for name in ("gradient flow", "last scales"):
    right.axvline(mean[name], **figures.DASHED | {"linewidth": 1})
right.set(yticks=range(len(shown)), yticklabels=shown, xlabel="input margin at loss 0.01")
right.invert_yaxis()
plt.show()


# %%NBQA-CELL-SEP476b88
along, whole = [], []
for k, n in enumerate((2, 8, 30)):
    draw = generator(300 + k)
    decades = draw.choice([-1, 1], n) * 10 ** draw.uniform(-3, 0, n)
    constant = n * gamma(n / 2) / gamma((n + 1) / 2) / np.sqrt(np.pi)
    for g in (draw.normal(size=n), np.eye(n)[0], decades):
        turns, e = ortho_group.rvs(n, 2000, draw), g / np.linalg.norm(g)
        steps = np.einsum("kij,ki->kj", turns, np.sign(turns @ g))
        error = steps.std(axis=0, ddof=1) / np.sqrt(len(steps))
        along.extend((steps.mean(axis=0) - constant * e) / error)
        whole.append(((steps @ e).mean() - np.sqrt(n)) / (error @ np.abs(e)))
verify(
    "pezeshki2021-ours-basis",
    measured=along,
    predicted=0.0,
    atol=5.5,
    because="in standard errors: over a hundred entries, a chance of some 1e-5",
    control=Variant("the whole length of the step", measured=whole, share=1),
)


# %%NBQA-CELL-SEP476b88
say(seconds=process_time() - started)
