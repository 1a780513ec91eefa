# %%NBQA-CELL-SEP476b88
from time import process_time

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import minimize_scalar, newton

from executable_claims import Variant, verify, verify_all
from lib import figures
from lib.data.synthetic import orthonormal_classes
from lib.flow import gradient_flow
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
def limits(theory):
    """The saddle and the limit of the flow, as networks."""
    final = Start(theory.directions, theory.log_norms, theory.signs).network()
    positive = theory.signs > 0
    return final.with_weights(final.w * positive[:, None], final.a * positive), final


def distance(one, other, keep=slice(None)):
    return np.sqrt(
        ((one.w - other.w)[keep] ** 2).sum() + ((one.a - other.a)[keep] ** 2).sum()
    )


def predicted_distance(theory, start, inputs, labels, times):
    """The theorem's three terms."""
    rates, offsets = alignment_phase(
        start.directions, start.signs, inputs, labels / len(labels)
    ).asymptotics
    first, second = theory.fitted(times)
    missing = 2 * theory.heights.positive * (1 - np.sqrt(first)) ** 2
    stops = np.where(theory.signs > 0, theory.half_times.positive, np.inf)
    idle = np.isneginf(theory.log_norms)
    log_norms = start.log_norms + offsets + rates * np.minimum(times[:, None], stops)
    late = 2 * np.exp(2 * log_norms[:, idle]).sum(axis=1)
    return np.sqrt(missing + 2 * theory.heights.negative * second + late)


def followed(start, inputs, labels, count=25):
    """Theory, flow, times between the fits, and the distances measured there."""
    theory = two_plateaus(start, inputs, labels)
    first, second = theory.half_times
    run = gradient_flow(start, inputs, labels, SQUARE, until=second)
    times = np.linspace(
        first - 2 / theory.rates.positive, second - 1 / theory.rates.negative, count
    )
    saddle = limits(theory)[0]
    return theory, run, times, [distance(run.network_at(time), saddle) for time in times]


# %%NBQA-CELL-SEP476b88
draws = generator(3)
inputs, labels = orthonormal_classes(3, 3, 0.5, rng=draws)
six = grouped_start(100, inputs, labels, rng=draws)
fig, axes = figures.panels(1)
gaps, nearest = [], []
for power, colour in zip(
    (8, 30, 90), (figures.THIRD, figures.CONTRAST, figures.SIMULATION)
):
    small = six.scaled(-power * np.log(10))
    theory, _, times, found = followed(small, inputs, labels, 40)
    expected = predicted_distance(theory, small, inputs, labels, times)
    fine = np.linspace(times[0], times[-1], 400)
    curve = predicted_distance(theory, small, inputs, labels, fine)
    unit = np.log(10) * power / theory.rates.positive
    axes.semilogy(times / unit, found, "o", color=colour, markersize=3)
    axes.semilogy(fine / unit, curve, **figures.DASHED)
    axes.annotate(f"$10^{{-{power}}}$", (times[18] / unit, 1.6 * found[18]), color=colour)
    gaps.append(np.abs(found / expected - 1)[expected > 1e-6].max())
    nearest.append(min(found))
axes.set(xlabel=r"time $\times\,\Vert D_+\Vert/\log(1/\lambda)$", ylabel="distance")
say(gap_8=gaps[0], gap_90=gaps[2], nearest_8=nearest[0])
plt.show()


# %%NBQA-CELL-SEP476b88
def raw_shares(start, inputs, labels, log_scale):
    """Distances of the group's raw weights, brought to the saddle's norm, from two sets of shares."""
    group = two_plateaus(start, inputs, labels).groups.positive
    alone = Start(start.directions[group], start.log_norms[group], start.signs[group])
    alone, theory = (
        alone.scaled(log_scale),
        two_plateaus(start.scaled(log_scale), inputs, labels),
    )
    time, (force, _) = np.mean(theory.half_times), class_directions(inputs, labels)
    unit, height = force / theory.rates.positive, theory.heights.positive
    options = {"rates": 1 / len(labels), "rtol": 1e-9, "atol": 1e-6 * np.exp(log_scale)}
    raw = weights_flow(alone.network(), inputs, labels, SQUARE, [time], **options).w[0]
    raw *= np.sqrt(height / (raw**2).sum())
    shares = np.exp(theory.log_norms[group])
    naive = np.exp(alone.log_norms) * (1 + alone.directions @ unit)
    naive *= np.sqrt(height / (naive**2).sum())
    frozen = alone.network().w
    frozen = frozen - (frozen @ inputs.T * (labels > 0)) @ inputs
    apart = [np.linalg.norm(raw - sizes[:, None] * unit) for sizes in (shares, naive)]
    return *apart, np.linalg.norm(frozen)


def curvature(net, inputs, labels, size=1e-3):
    """Of the loss, as one silent neuron grows along minus D_-, in units of |D_-|."""
    force = class_directions(inputs, labels).negative
    w, a = net.w.copy(), net.a.copy()
    neuron = int(np.argmin(np.abs(a)))
    w[neuron] = -size / np.sqrt(2) * force / np.linalg.norm(force)
    a[neuron] = -size / np.sqrt(2)
    grown = SQUARE.value(net.with_weights(w, a)(inputs), labels).mean()
    return (
        2
        * (grown - SQUARE.value(net(inputs), labels).mean())
        / size**2
        / np.linalg.norm(force)
    )


def gradient_size(net, inputs, labels):
    """Largest entry of the gradient; a pre-activation that is zero up to rounding is zero."""
    active = net.preactivations(inputs) > 1e-12
    pulls = (active * SQUARE.slope(net(inputs), labels)[:, None]).T @ inputs
    return np.abs(pulls * net.a[:, None]).max()


families = [(3, 3, 100, 0.5), (2, 4, 60, 0.05), (5, 2, 200, 0.8)]
measured, expected, without_idle, nearby, raw = [], [], [], [], []
curvatures, at_limit, gradients = [], [], []
for k in range(15):
    positive, negative, m, spread = families[k // 5]
    draws = generator(10 + k)
    inputs, labels = orthonormal_classes(positive, negative, spread, rng=draws)
    start = grouped_start(m, inputs, labels, rng=draws)

    def idle(log):
        return two_plateaus(start.scaled(log), inputs, labels).idle_distance

    small = start.scaled(
        newton(lambda log: np.log(idle(log) ** 2 / 1e-5), -50, x1=-100, tol=1e-3)
    )
    theory, run, times, found = followed(small, inputs, labels)
    measured.append(found)
    expected.append(predicted_distance(theory, small, inputs, labels, times))
    first, second = theory.fitted(times)
    without_idle.append(
        np.sqrt(
            2 * theory.heights.positive * (1 - np.sqrt(first)) ** 2
            + 2 * theory.heights.negative * second
        )
    )
    saddle, final = limits(theory)
    now, group = run.network_at(np.mean(theory.half_times)), theory.groups.positive
    nearby.append(distance(now, saddle, group))
    if k % 5 < 3:
        raw += [raw_shares(start, inputs, labels, np.log(scale)) for scale in (1e-3, 1e-5)]
    gradients.append(gradient_size(saddle, inputs, labels))
    curvatures.append(curvature(saddle, inputs, labels))
    at_limit.append(curvature(final, inputs, labels))
assert max(gradients) < 1e-12
others = np.array(expected) ** 2 - np.array(without_idle) ** 2
raw, raw_naive, frozen = np.transpose(raw)
say(
    shares=max(nearby),
    raw=raw[1::2].max(),
    floor=float((2 * others > np.array(expected) ** 2).mean()),
)


# %%NBQA-CELL-SEP476b88
verify_all(
    verify(
        "boursier2022-ours-saddle",
        measured=measured,
        predicted=np.array(expected),
        rtol=2e-3,
        atol=1e-7,
        because="the squared size 1e-5 of the idle neurons, of which the logistic functions err by "
        "less than two thirds, over their size 3e-3; the integrator's 1e-10 a step over a thousand "
        "steps",
        control=Variant(
            "without the idle neurons", predicted=np.array(without_idle), share=0.3
        ),
    ),
    verify(
        "boursier2022-fact-1a",
        measured=raw,
        at_most=2 * frozen,
        because="the parts that never move, of the size of the start, twice since the shares move with them",
        control=Variant(
            "shares as if no coordinate were switched off", measured=raw_naive, share=0.5
        ),
    ),
    verify(
        "boursier2022-fact-1b",
        measured=curvatures,
        predicted=-1.0,
        rtol=1e-5,
        because="one-sided; the fourth order adds size^2 / 4 |y_-|, and rounding is 1e-16 / 1e-6",
        control=Variant("the same direction at the limit", measured=at_limit, share=1.0),
    ),
)


# %%NBQA-CELL-SEP476b88
def nearest_to_saddle(ratio, power):
    """The least distance from the saddle for labels of sizes r and 1 and two neurons."""
    inputs, labels = np.eye(2), np.array([ratio, -1.0])
    pair = Start([[0.8, 0.6], [0.6, 0.8]], [0.0, 0.0], [1, -1]).scaled(-power * np.log(10))
    theory = two_plateaus(pair, inputs, labels)
    run = gradient_flow(pair, inputs, labels, SQUARE, until=theory.half_times.negative)
    saddle = limits(theory)[0]

    def apart(time):
        return np.log(distance(run.network_at(time), saddle))

    return minimize_scalar(apart, bounds=theory.half_times, options={"xatol": 1e-6}).fun


ratios = np.array([1.25, 1.5, 2.0, 3.0])
logs = np.array([[nearest_to_saddle(r, power) for power in (8, 16)] for r in ratios])


# %%NBQA-CELL-SEP476b88
verify(
    "boursier2022-ours-nearest",
    measured=(logs[:, 0] - logs[:, 1]) / (8 * np.log(10)),
    predicted=2 * (ratios - 1) / (2 * ratios + 1),
    atol=0.01,
    because="a distance that is not small beside the size of the network, 0.1 at 1e-8 for the least ratio, "
    "errs by as much in relative size, over 8 log 10 = 18",
    control=Variant(
        "the first term falls at the rate |D| of the directions",
        predicted=(ratios - 1) / (ratios + 1),
        share=1.0,
    ),
)


# %%NBQA-CELL-SEP476b88
say(seconds=process_time() - started)
