# %%NBQA-CELL-SEP476b88
from time import process_time

import matplotlib.pyplot as plt
import numpy as np
import sympy as sp
from scipy.optimize import brentq
from scipy.special import expit, logsumexp

from executable_claims import Variant, verify, verify_all
from lib import figures
from lib.data.synthetic import orthonormal_classes
from lib.flow import gradient_flow
from lib.flow.weights import weights_flow
from lib.models.two_layer import Start
from lib.prose import say
from lib.seeds import generator
from lib.theory.orthogonal import class_directions, grouped_start, two_plateaus
from lib.training.losses import SQUARE

figures.use_style()
started = process_time()


# %%NBQA-CELL-SEP476b88
def grown(theory, run, times):
    log_norms = run.at(times).log_norms
    sizes = [np.exp(2 * log_norms[:, group]).sum(axis=1) for group in theory.groups]
    return np.array(sizes) / np.array(theory.heights)[:, None]


def flow_of(start, inputs, labels, waits=30):
    theory = two_plateaus(start, inputs, labels)
    until = max(theory.half_times) + waits / min(theory.rates)
    return theory, gradient_flow(start, inputs, labels, SQUARE, until=until, rtol=1e-12)


# %%NBQA-CELL-SEP476b88
draws = generator(3)
six_inputs, six_labels = orthonormal_classes(3, 3, 0.5, rng=draws)
six = grouped_start(100, six_inputs, six_labels, rng=draws)
theory, run = flow_of(six.scaled(-12 * np.log(10)), six_inputs, six_labels)
times = np.linspace(0, max(theory.half_times) + 8 / theory.rates.negative, 400)
fig, (left, right) = figures.panels(2)
heights = np.array(theory.heights)[:, None]
parts, closed = grown(theory, run, times), theory.fitted(times)
norms = heights * parts
for k, name in enumerate(("$u_+$", "$u_-$")):
    colour = (figures.SIMULATION, figures.CONTRAST)[k]
    left.plot(times, norms[k], color=colour)
    left.plot(times, heights[k] * closed[k], **figures.DASHED)
    left.annotate(name, (times[-1], 0.9 * norms[k, -1]), color=colour, ha="right", va="top")
right.plot(times, run.loss(times), color=figures.SIMULATION)
right.plot(times, theory.loss(times), **figures.DASHED)
left.set(xlabel="time", ylabel="squared norm of a group")
right.set(xlabel="time", ylabel="loss", ylim=(0, None))
for k in (0, 1):
    height, rate, half = theory.heights[k], theory.rates[k], theory.half_times[k]
    say(**{f"height_{k + 1}": height, f"rate_{k + 1}": rate, f"half_{k + 1}": half})
lost = np.abs(run.loss(times) - theory.loss(times)).max() / run.loss([0.0])[0]
say(fit_gap=float(np.abs(parts - closed).max()), loss_gap=float(lost))
plt.show()


# %%NBQA-CELL-SEP476b88
t, tau, D, H, b = sp.symbols("t tau D H b", positive=True)  # cosine tanh(b) at the start
cosine, rho = sp.tanh(D * t + b), sp.log(sp.cosh(D * t + b) / sp.cosh(b))
offset = sp.limit((1 + sp.exp(-2 * (D * t + b))) / (1 + sp.exp(-2 * b)), t, sp.oo)
u = H / (1 + sp.exp(-2 * D * (t - tau)))
residuals = [
    sp.diff(cosine, t) - D * (1 - cosine**2),
    sp.diff(rho, t) - D * cosine,
    offset - (1 + sp.tanh(b)) / 2,
    sp.diff(u, t) - 2 * D * (1 - u / H) * u,
]
assert all(sp.simplify(r.rewrite(sp.exp)) == 0 for r in residuals)
f"{len(residuals)} residuals are zero"


# %%NBQA-CELL-SEP476b88
def raw_parts(start, inputs, labels, log_scale=-5 * np.log(10)):
    group = np.concatenate(two_plateaus(start, inputs, labels).groups)
    alone = Start(start.directions[group], start.log_norms[group], start.signs[group])
    alone = alone.scaled(log_scale + np.log(np.abs(labels).max()) / 2)
    theory = two_plateaus(alone, inputs, labels)
    ages = np.array([-1.5, 0.0, 1.5])
    times = np.sort(
        [h + ages / r for h, r in zip(theory.half_times, theory.rates)], axis=None
    )
    options = {"rates": 1 / len(labels), "rtol": 1e-8, "atol": 1e-11 * np.exp(log_scale)}
    raw = weights_flow(alone.network(), inputs, labels, SQUARE, times, **options)
    sizes, naive, forces = [], [], class_directions(inputs, labels)
    for k, part in enumerate(theory.groups):  # naive: no neuron has anything to switch off
        rate, height = theory.rates[k], theory.heights[k]
        cosines = np.abs(alone.directions[part] @ forces[k]) / rate
        offsets = alone.log_norms[part] + np.log((1 + cosines) / 2)
        naive.append(expit(2 * rate * times + logsumexp(2 * offsets) - np.log(height)))
        sizes.append((raw.w[:, part] ** 2).sum(axis=(1, 2)) / height)
    return np.array(sizes), theory.fitted(times), np.array(naive)


families = [(3, 3, 100, 0.5, 1, 1), (2, 4, 60, 0.05, 0.01, 1)]
families += [(5, 2, 100, 0.8, 1, 1), (3, 3, 60, 0.5, 1, 0.1)]
problems = []
for k in range(20):
    positive, negative, m, spread, size, second = families[k // 5]
    draws = generator(10 + k)
    inputs, labels = orthonormal_classes(positive, negative, spread, rng=draws)
    labels = size * np.where(labels < 0, second * labels, labels)
    problems.append((grouped_start(m, inputs, labels, rng=draws), inputs, labels))
raw, raw_theory, raw_naive = np.swapaxes(
    [raw_parts(*problem) for problem in problems[::2]], 0, 1
)
say(raw_gap=np.abs(raw - raw_theory).max())


# %%NBQA-CELL-SEP476b88
def missed(start, inputs, labels, log_scale):
    theory = two_plateaus(start, inputs, labels)
    sees = (start.directions @ inputs.T > 0) & (start.signs[:, None] * labels > 0)
    omega = np.linalg.norm(sees * labels, axis=1) / len(labels)
    parts = omega / np.where(start.signs > 0, *theory.rates)
    sizes = np.exp(2 * (theory.idle_log_norms + (1 - parts) * log_scale))
    own = (start.signs == [[1], [-1]]) / np.array(theory.heights)[:, None]
    return own @ (sizes * parts), own @ sizes


# %%NBQA-CELL-SEP476b88
def half_times_of(theory, run):
    return [
        brentq(lambda t: grown(theory, run, [t])[k, 0] - 0.5, h - 9 / r, h + 9 / r)
        for k, (r, h) in enumerate(zip(theory.rates, theory.half_times))
    ]


targets = np.array([1e-3, 1e-5])
flows, errors, wrong_errors, ends, wrong_ends, log_scales = [], [], [], [], [], []
for start, inputs, labels in problems:
    for target in targets:

        def excess(log):
            return np.log((missed(start, inputs, labels, log)[0].max() + 1e-300) / target)

        log_scales.append(brentq(excess, -9000, 0, rtol=1e-6))
        theory, run = flow_of(start.scaled(log_scales[-1]), inputs, labels)
        ages, rates = np.linspace(-9, 9, 15), np.array(theory.rates)[:, None]
        halves = np.array(theory.half_times)[:, None]
        times = np.sort(halves + ages / rates, axis=None)
        parts = grown(theory, run, times)
        errors.append(np.abs(parts - theory.fitted(times)).max())
        wrong_errors.append(np.abs(parts - expit(rates * (times - halves))).max())
        formula, whole = missed(start, inputs, labels, log_scales[-1])
        ends.append(1 - grown(theory, run, [run.times[-1]])[formula.argmax(), 0])
        wrong_ends.append(whole[formula.argmax()])
        flows.append((theory, run))
half_times = np.array([half_times_of(*flow) for flow in flows]).reshape(20, 2, 2)
rates = np.array([theory.rates for theory, _ in flows[::2]])
delays = half_times[:, 1] - half_times[:, 0]
slopes = delays / -np.diff(np.reshape(log_scales, (20, 2)), axis=1)
single = [np.abs(labels).max() / len(labels) for _, _, labels in problems]
say(
    largest_power=-max(log_scales) / np.log(10),
    smallest_power=-min(log_scales) / np.log(10),
)


# %%NBQA-CELL-SEP476b88
verify_all(
    verify(
        "boursier2022-ours-half-times",
        measured=raw,
        predicted=raw_theory,
        atol=1e-4,
        because="1e-8 an integrator's step over some thousand steps, ten times for steps over a switch",
        control=Variant(
            "offsets as if no coordinate were switched off", predicted=raw_naive, share=0.3
        ),
    ),
    verify(
        "boursier2022-eq-20",
        measured=errors,
        at_most=np.tile(2 * targets, 20),
        because="twice what the idle neurons fit at the end, for they also shift the half-time",
        control=Variant("the rate |D| in place of 2 |D|", measured=wrong_errors, share=1.0),
    ),
    verify(
        "boursier2022-ours-error",
        measured=ends,
        predicted=np.tile(targets, 20),
        rtol=0.01,
        because="the next order is a few times the part missed, which is 1e-3 or 1e-5",
        control=Variant("their whole squared norm", predicted=wrong_ends, share=0.9),
    ),
    verify(
        "boursier2022-thm-1e",
        measured=slopes * rates,
        predicted=1.0,
        atol=1e-4,
        because="a part 1e-3 missed moves a half-time by 1e-3 / |D|, over 30 / |D| between the scales",
        control=Variant(
            "each label by itself",
            measured=slopes * np.reshape(single, (20, 1)),
            share=0.9,
        ),
    ),
)


# %%NBQA-CELL-SEP476b88
def nearest(theory, run):
    first, second = grown(
        theory, run, np.linspace(min(theory.half_times) - 5, max(theory.half_times), 60)
    )
    return np.sqrt((1 - np.sqrt(first)) ** 2 + second).min()


kept = {"even": [], "drawn": []}
for start, inputs, labels in problems[:5]:
    first, second = np.linalg.norm(labels[labels > 0]), np.linalg.norm(labels[labels < 0])
    even = np.where(labels < 0, labels * first / second, labels)
    for name, y in (("even", even), ("drawn", labels)):
        runs = [flow_of(start.scaled(-power * np.log(10)), inputs, y) for power in (30, 60)]
        near, far = np.diff([half_times_of(*run) for run in runs], axis=1)[:, 0]
        wait = (far - near) * first / len(y) / (30 * np.log(10))
        excess = np.exp(2 * runs[1][1].log_norms[-1]).sum() / sum(runs[1][0].heights) - 1
        kept[name].append((wait, excess, *[nearest(*run) for run in runs]))
even, drawn = (np.array(kept[name]).T for name in ("even", "drawn"))
say(near_30=even[2].mean(), near_60=even[3].mean())
say(drawn_30=drawn[2].mean(), drawn_60=drawn[3].mean())


# %%NBQA-CELL-SEP476b88
verify(
    "boursier2022-asm-2",
    measured=even[:2],
    predicted=0.0,
    atol=0.01,
    because="the idle neurons' squared size, under a half at 1e-30 (over 69) and 1e-2 at 1e-60",
    control=Variant(
        "the labels as drawn",
        measured=drawn[:2],
        share=0.5,
    ),
)


# %%NBQA-CELL-SEP476b88
say(seconds=process_time() - started)
