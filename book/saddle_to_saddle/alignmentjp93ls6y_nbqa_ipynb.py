# %%NBQA-CELL-SEP476b88
from time import process_time

import matplotlib.pyplot as plt
import numpy as np
import sympy as sp

from executable_claims import Variant, verify
from lib import figures
from lib.data.synthetic import orthonormal_classes
from lib.flow.alignment import alignment_phase
from lib.flow.weights import weights_flow
from lib.models.two_layer import Start
from lib.prose import say
from lib.seeds import generator
from lib.theory.orthogonal import class_directions, grouped_start, two_plateaus
from lib.training.losses import SQUARE

figures.use_style()
started = process_time()


# %%NBQA-CELL-SEP476b88
theta, c0, omega, q = sp.symbols("theta c0 omega q", positive=True)
c = c0 + omega * theta  # along the force; q is the squared length across it
A = sp.sqrt(c**2 + q)
rates = [sp.diff(c, theta) * A - omega * A, sp.diff(A, theta) * A - omega * c]
rates += [sp.diff(sp.log(A + c) / omega, theta) - 1 / A]
assert all(sp.simplify(rate) == 0 for rate in rates)
f"{len(rates)} residuals are zero"


# %%NBQA-CELL-SEP476b88
def log_p(w, b):
    return np.log(np.linalg.norm(w) + w @ b / np.linalg.norm(b))


def rate_and_offset(w, pulls):
    active, clock, time = w > 0, 0.0, 0.0
    bad = [k for k in range(len(w)) if active[k] and pulls[k] < 0]
    for k in sorted(bad, key=lambda k: w[k] / -pulls[k]):
        b, due = active * pulls, clock + w[k] / -pulls[k]
        moved = w + (due - clock) * b
        time += (log_p(moved, b) - log_p(w, b)) / np.linalg.norm(b)
        w, clock, active[k] = moved, due, False
    b, omega = active * pulls, np.linalg.norm(active * pulls)
    kappa = log_p(w, b) - np.log(2) - omega * time if omega else np.log(np.linalg.norm(w))
    return omega, kappa


# %%NBQA-CELL-SEP476b88
FAMILIES = [(3, 3, 8, 0.5), (2, 4, 6, 0.6), (4, 3, 20, 0.5)]


def problem(k, m):
    positive, negative, d, spread = FAMILIES[k // 5]
    draws = generator(10 + k)
    _, labels = orthonormal_classes(positive, negative, spread, rng=draws)
    if k // 5 == 2:
        first, second = np.linalg.norm(labels[:positive]), np.linalg.norm(labels[positive:])
        labels[positive:] *= first / second
    return Start.gaussian(m, d, 0.0, rng=draws), np.eye(positive + negative, d), labels


def parts(start, inputs, labels):
    """Of every neuron: pre-activations and the rest, and the pulls."""
    w = np.exp(start.log_norms)[:, None] * start.directions
    rest = np.linalg.norm(w[:, len(labels) :], axis=1)
    pulls = start.signs[:, None] * np.append(labels, 0) / len(labels)
    return np.column_stack([w @ inputs.T, rest]), pulls


def offsets(start, inputs, labels):
    return np.transpose(
        [rate_and_offset(*neuron) for neuron in zip(*parts(start, inputs, labels))]
    )


def without_switches(start, inputs, labels):
    """Offsets as if only the good labels had ever been active."""
    w, pulls = parts(start, inputs, labels)
    b, norms = (w > 0) * np.maximum(pulls, 0), np.linalg.norm(w, axis=1)
    along = (w * b).sum(axis=1) / np.maximum(np.linalg.norm(b, axis=1), 1e-300)
    return np.log(np.where(along > 0, (norms + along) / 2, norms))


def raw_log_norms(start, inputs, labels, log_scale, times, rtol):
    """Log-norms, less that of the scale, and directions, from raw weights."""
    options = {
        "rates": 1 / len(labels),
        "rtol": rtol,
        "atol": 0.1 * rtol * np.exp(log_scale),
    }
    network = start.scaled(log_scale).network()
    w = weights_flow(network, inputs, labels, SQUARE, times, **options).w
    norms = np.linalg.norm(w, axis=-1)
    return np.log(norms) - log_scale, w / norms[..., None]


def fastest(inputs, labels):
    return max(np.linalg.norm(force) for force in class_directions(inputs, labels))


found, expected, naive, gap_to_lib = [], [], [], []
for k in range(15):
    start, inputs, labels = problem(k, 6)
    unit = fastest(inputs, labels)
    times, log_scale = np.array([60, 120]) / unit, -(100 + 50 * (k % 2)) * np.log(10)
    log_norms, _ = raw_log_norms(start, inputs, labels, log_scale, times, 1e-7)
    omegas, kappas = offsets(start, inputs, labels)
    slopes = np.diff(log_norms, axis=0)[0] / np.diff(times)
    found.append([slopes / unit, log_norms[1] - omegas * times[1]])
    expected.append([omegas / unit, kappas])
    naive.append([omegas / unit, without_switches(start, inputs, labels)])
    phase = alignment_phase(start.directions, start.signs, inputs, labels / len(labels))
    gap_to_lib.append(np.abs(phase.asymptotics[1] + start.log_norms - kappas).max())
assert max(gap_to_lib) < 1e-9
say(raw_gap=np.abs(np.array(found) - expected).max())


# %%NBQA-CELL-SEP476b88
verify(
    "boursier2022-eq-28",
    measured=found,
    predicted=np.array(expected),
    atol=2e-4,
    because="1e-7 an integrator's step, over a thousand steps, and the steps over the switches",
    control=Variant(
        "offsets as if no label were switched off", predicted=np.array(naive), share=0.25
    ),
)


# %%NBQA-CELL-SEP476b88
def latest(group):
    return group[np.argmax(last[group])]


draws = generator(3)
_, six_labels = orthonormal_classes(3, 3, 0.5, rng=draws)
six_inputs = np.eye(6, 8)
six = grouped_start(100, six_inputs, six_labels, rng=draws)
omegas, kappas = offsets(six, six_inputs, six_labels)
log_scale = -12 * np.log(10)
theory = two_plateaus(six.scaled(log_scale), six_inputs, six_labels)
fast, slow = theory.rates
early = np.linspace(0, 5 / fast, 60)
behind_at = theory.half_times.positive - np.log(100) / (2 * fast)
end = theory.half_times.negative + 6 / slow
log_norms, _ = raw_log_norms(
    six, six_inputs, six_labels, log_scale, [*early, behind_at, end], 1e-7
)

phase = alignment_phase(six.directions, six.signs, six_inputs, six_labels / 6)
last = np.nanmax(np.where(np.isfinite(phase.starts), phase.starts, np.nan), axis=0)
idle = np.setdiff1d(np.arange(100), np.concatenate(theory.groups))
positive, negative = theory.groups
shown = {
    "$S_+$, largest share": (positive[np.argmax(kappas[positive])], figures.SIMULATION),
    "$S_+$, least share": (positive[np.argmin(kappas[positive])], figures.SIMULATION),
    "$S_-$": (latest(negative), figures.CONTRAST),
    "idle": (min(idle[omegas[idle] > 0], key=lambda j: omegas[j]), figures.THIRD),
    "no good label": (latest(idle[omegas[idle] == 0]), figures.FOURTH),
}
fig, (left, right) = figures.panels(2, height=3.4)
for name, (j, colour) in shown.items():
    left.plot(early * fast, log_norms[:60, j], color=colour)
    left.plot(early * fast, kappas[j] + omegas[j] * early, **figures.DASHED)
    left.plot(
        last[j] * fast, np.interp(last[j], early, log_norms[:60, j]), "o", color=colour
    )
    figures.label_curve(left, 5, log_norms[59, j], name, colour)
left.set(
    xlabel=r"time $\times\,\Vert D_+\Vert$", ylabel=r"$\log\Vert w_j\Vert-\log\lambda$"
)
left.set(xlim=(0, 8.6), xticks=[0, 1, 2, 3, 4, 5])
share_gap = 0
for group, colour, name in zip(
    theory.groups, (figures.SIMULATION, figures.CONTRAST), ("$S_+$", "$S_-$")
):
    final = np.exp(2 * log_norms[-1, group])
    given = np.exp(2 * kappas[group])
    right.plot(given / given.sum(), final / final.sum(), "o", color=colour, markersize=4)
    share_gap = max(share_gap, np.abs(final / final.sum() * given.sum() / given - 1).max())
    top = np.argmax(given)
    spot = (0.88 * given[top] / given.sum(), final[top] / final.sum())
    right.annotate(name, spot, color=colour, ha="right")
right.plot([0.01, 1], [0.01, 1], **figures.DASHED)
right.set(
    xscale="log", yscale="log", xlabel="share, from the start", ylabel="share at the end"
)
plt.show()

pulled = (six.signs > 0) & (omegas > 0)
behind = (kappas + omegas * behind_at - log_norms[60])[pulled]
expected_behind = (omegas / fast / 2 * theory.fitted(behind_at)[0])[pulled]
say(share_gap=share_gap, behind=np.abs(behind / expected_behind - 1).max())


# %%NBQA-CELL-SEP476b88
orders = []
for k in range(15):
    start, inputs, labels = problem(k, 3)
    times = np.array([1, 2]) / fastest(inputs, labels)
    phase = alignment_phase(start.directions, start.signs, inputs, labels / len(labels))
    sphere, _ = phase.at(times)
    apart = []
    for power in (2.5, 3.5):
        _, true = raw_log_norms(start, inputs, labels, -power * np.log(10), times, 1e-11)
        apart.append(np.linalg.norm(true - sphere, axis=-1).max(axis=1))
    orders.append(np.log10(apart[0] / apart[1]))


# %%NBQA-CELL-SEP476b88
verify(
    "boursier2022-eq-10",
    measured=orders,
    predicted=2.0,
    atol=0.02,
    because="the next order is the squared norm of the network, a few 1e-2 at the larger scale",
    control=Variant(
        "the order of the weights, not of the outputs", predicted=1.0, share=1.0
    ),
)


# %%NBQA-CELL-SEP476b88
groups = theory.groups
for power in (1, 3):
    log_scale = -power * np.log(10)
    until = end + (np.log(1e-12) - log_scale) / slow
    log_norms, _ = raw_log_norms(six, six_inputs, six_labels, log_scale, [until], 1e-6)
    worst = 0
    for group in groups:
        shares = np.exp(2 * np.array([log_norms[-1, group], kappas[group]]))
        shares /= shares.sum(axis=1, keepdims=True)
        worst = max(worst, np.abs(shares[0] / shares[1] - 1).max())
    say(**{f"share_{power}": worst})
roots = np.linalg.cholesky(0.3 + 0.7 * np.eye(6))
correlated = np.hstack([roots, np.zeros((6, 2))])
for name, data in (("entered", correlated), ("entered_orthonormal", six_inputs)):
    phase = alignment_phase(six.directions, six.signs, data, six_labels / 6, sliding=True)
    say(**{name: int(phase.events.entering.sum())})


# %%NBQA-CELL-SEP476b88
say(seconds=process_time() - started)
