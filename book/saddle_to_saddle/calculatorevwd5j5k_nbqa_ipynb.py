# %%NBQA-CELL-SEP476b88
from time import process_time
from types import SimpleNamespace

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import brentq
from scipy.special import logsumexp

from executable_claims import Variant, verify
from lib import figures
from lib.data.synthetic import orthonormal_classes
from lib.flow import gradient_flow
from lib.flow.weights import weights_flow
from lib.models.two_layer import Start
from lib.prose import say
from lib.seeds import generator
from lib.theory.orthogonal import grouped_start, largest_epsilon, two_plateaus
from lib.training.losses import SQUARE

figures.use_style()
started, TEN = process_time(), np.log(10)


# %%NBQA-CELL-SEP476b88
def log_distance(theory):
    """The logarithm of the distance from the limit: all idle neurons, both layers."""
    return (np.log(2) + logsumexp(2 * theory.idle_log_norms)) / 2


def calculate(start, inputs, labels, accuracy):
    """Scale and times for a wanted accuracy, without training."""

    def at(log_scale):
        return two_plateaus(start.scaled(log_scale), inputs, labels)

    size = np.sqrt(2 * sum(at(0.0).heights))

    def gap(log):
        return log_distance(at(log)) - np.log(accuracy * size)

    log_scale = brentq(gap, -2e4, 20, xtol=1e-9)
    theory = at(log_scale)
    saddle = theory.label_norms.negative**2 / (2 * len(labels))
    levels = (theory.loss(0.0) + saddle) / 2, saddle / 100
    times = [
        brentq(lambda t: theory.loss(t) - level, half - 9 / rate, half + 9 / rate)
        for level, half, rate in zip(levels, theory.half_times, theory.rates)
    ]
    return SimpleNamespace(log_scale=log_scale, theory=theory, size=size, times=times)


# %%NBQA-CELL-SEP476b88
PRINTED = {"Fact 1": 5, "Lemma 12": 31, "Theorem 2": 240}
COLOURS = dict(zip(PRINTED, (figures.THIRD, figures.CONTRAST, figures.FOURTH)))


def problem(k):
    """Three families of labels, five draws of data and network each."""
    families = [(3, 3, 100, 0.5), (2, 4, 60, 0.05), (5, 2, 100, 0.6)]
    positive, negative, m, spread = families[k // 5]
    draws = generator(10 + k)
    inputs, labels = orthonormal_classes(positive, negative, spread, rng=draws)
    return grouped_start(m, inputs, labels, rng=draws), inputs, labels


def followed(start, inputs, labels):
    """The flow to its end, and its distance from the limit."""
    theory = two_plateaus(start, inputs, labels)
    until = max(theory.half_times) + 25 / min(theory.rates)
    run = gradient_flow(start, inputs, labels, SQUARE, until=until)
    limit = Start(theory.directions, theory.log_norms, theory.signs).network()
    end = run.network_at()
    return run, np.sqrt(((end.w - limit.w) ** 2).sum() + ((end.a - limit.a) ** 2).sum())


def decimals_asked(labels, size, accuracy):
    """N such that the printed power of 10^-N is the accuracy times the size."""
    epsilon = largest_epsilon(labels)
    return {
        name: -parts * np.log10(accuracy * size) / epsilon
        for name, parts in PRINTED.items()
    }


# %%NBQA-CELL-SEP476b88
problems, WANTED = [problem(k) for k in range(15)], 0.01
answers = [calculate(*one, WANTED) for one in problems]
places = np.array([-answer.log_scale / TEN for answer in answers])
asked = [
    decimals_asked(one[2], answer.size, WANTED) for one, answer in zip(problems, answers)
]
start, inputs, labels = problems[0]
size, powers = answers[0].size, np.linspace(4, 1.3 * places[0], 6)
reached = [followed(start.scaled(-p * TEN), inputs, labels)[1] / size for p in powers]
law = [
    two_plateaus(start.scaled(-p * TEN), inputs, labels).idle_distance / size
    for p in powers
]
fig, (left, right) = figures.panels(2)
left.semilogy(-powers, reached, "o", color=figures.SIMULATION)
left.semilogy(-powers, law, **figures.DASHED)
for column, (name, parts) in enumerate(PRINTED.items()):
    bound = 10 ** (-powers * largest_epsilon(labels) / parts) / size
    left.semilogy(-powers, bound, color=COLOURS[name])
    counts = np.array([one[name] for one in asked])
    right.semilogy(
        column + 1 + np.linspace(-0.2, 0.2, 15), counts, ".", color=COLOURS[name]
    )
    say(
        **{f"asked_{column}": np.median(counts), f"times_{column}": (counts / places).min()}
    )
right.semilogy(np.linspace(-0.2, 0.2, 15), places, ".", color=figures.SIMULATION)
right.set_xticks(range(4), ["suffices", *PRINTED], fontsize="small")
left.set(xlabel=r"$\log_{10}\lambda$", ylabel=r"accuracy $d/\Vert\theta^*\Vert$")
right.set(ylabel="decimal places of the scale")
say(places=np.median(places), least=places.min(), most=places.max())
say(law_gap=np.abs(np.divide(reached, law) - 1)[-2:].max())
plt.show()


# %%NBQA-CELL-SEP476b88
def gamma(start, inputs, labels):
    """The least exponent of an idle neuron, from two scales so small that it alone counts."""
    one, two = (
        log_distance(two_plateaus(start.scaled(log), inputs, labels))
        for log in (-8e3, -16e3)
    )
    return (one - two) / 8e3


def in_raw_weights(start, inputs, labels, answer):
    """Distance from the limit and the two times in raw weights, inputs turned to coordinate vectors."""
    seen = start.directions @ inputs.T
    rest = np.sqrt(np.maximum(0, 1 - (seen**2).sum(axis=1)))
    turned = Start(np.column_stack([seen, rest]), start.log_norms, start.signs)
    units, theory = np.eye(len(labels), len(labels) + 1), answer.theory
    ask = [
        t + part / r
        for t, r in zip(answer.times, theory.rates)
        for part in (-0.01, 0, 0.01)
    ]
    until = max(theory.half_times) + 25 / min(theory.rates)
    options = {
        "rates": 1 / len(labels),
        "rtol": 1e-7,
        "atol": 1e-9 * np.exp(answer.log_scale),
    }
    raw = weights_flow(turned.network(), units, labels, SQUARE, [0, *ask, until], **options)
    losses = np.array([((outputs - labels) ** 2).mean() / 2 for outputs in raw(units)])
    times = [
        np.interp(-theory.loss(time), -losses[k : k + 3], ask[k - 1 : k + 2])
        for time, k in zip(answer.times, (1, 4))
    ]
    limit = two_plateaus(turned, units, labels)
    limit = Start(limit.directions, limit.log_norms, limit.signs).network()
    gaps = ((raw.w[-1] - limit.w) ** 2).sum() + ((raw.a[-1] - limit.a) ** 2).sum()
    return np.sqrt(gaps), times


measured, predicted, naive = [], [], []
for one, answer in zip(problems, answers):
    start, inputs, labels = one
    small, rates = start.scaled(answer.log_scale), np.array(answer.theory.rates)
    run, distance = followed(small, inputs, labels)

    def level(t):
        return answer.theory.loss(t)

    seen = [
        brentq(lambda t: run.loss([t])[0] - level(time), time - 1 / rate, time + 1 / rate)
        for time, rate in zip(answer.times, rates)
    ]
    measured.append([100 * distance / answer.size, *(seen * rates)])
    predicted.append([100 * WANTED, *(answer.times * rates)])
    rough = np.log(WANTED) / gamma(*one)
    wrong = two_plateaus(start.scaled(rough), inputs, labels).idle_distance
    naive.append([100 * wrong / answer.size, *[-answer.log_scale] * 2])
for k in (0, 5, 10):
    start, inputs, labels = problems[k]
    small, rates = start.scaled(answers[k].log_scale), np.array(answers[k].theory.rates)
    distance, seen = in_raw_weights(small, inputs, labels, answers[k])
    measured.append([100 * distance / answers[k].size, *(seen * rates)])
    predicted.append(predicted[k])
    naive.append(naive[k])
d = WANTED * np.array([answer.size for answer in answers])
say(worst=np.abs(np.subtract(measured, predicted)).max() / d.max() ** 2)
say(
    largest_d=d.max(), off=np.abs(np.array(naive)[:, 1:] - np.array(predicted)[:, 1:]).max()
)


# %%NBQA-CELL-SEP476b88
verify(
    "boursier2022-ours-calculator",
    measured=measured,
    predicted=predicted,
    atol=d.max() ** 2,
    because="accuracy in per cent and times in their units: the idle neurons' squared size d^2",
    control=Variant("leading order", predicted=naive, share=0.9),
)


# %%NBQA-CELL-SEP476b88
coarse = []
for one in problems[:5]:
    answer = calculate(*one, 0.3)
    coarse.append(followed(one[0].scaled(answer.log_scale), *one[1:])[1] / answer.size)
say(coarse_low=min(coarse), coarse_high=max(coarse))
say(first_low=places[:5].min(), first_high=places[:5].max())


# %%NBQA-CELL-SEP476b88
say(seconds=process_time() - started)
