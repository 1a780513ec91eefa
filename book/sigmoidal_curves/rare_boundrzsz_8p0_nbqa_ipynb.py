# %%NBQA-CELL-SEP476b88
from time import process_time

import matplotlib.pyplot as plt
import numpy as np
from scipy.special import expit

from executable_claims import Variant, verify, verify_all
from lib import figures
from lib.flow.weights import weights_flow
from lib.models.two_layer import TwoLayer
from lib.prose import say
from lib.seeds import generator
from lib.theory.two_inputs import cases, neuron, pair
from lib.training.descent import gradient_descent
from lib.training.losses import LOGISTIC

figures.use_style()
started = process_time()


# %%NBQA-CELL-SEP476b88
def on_the_way(network, features, rate, times):
    """alpha, beta and a along the flow of all weights; rate and both squared norms."""
    inputs, rates = [features[0] + features[1], features[0]], [rate, 1 - rate]
    run = weights_flow(network, inputs, [1.0, 1.0], LOGISTIC, times, rates=rates)
    alpha, beta = features @ run.w[:, 0].T
    return np.broadcast_arrays(
        alpha, beta, run.a[:, 0], rate, *(features**2).sum(axis=1)[:, None]
    )


def unit(rate, alpha0, beta0, a0, times):
    """Frequent and rare logit, unit norms in the plane."""
    network = TwoLayer([[alpha0, beta0]], [a0])
    alpha, beta, a, *_ = on_the_way(network, np.eye(2), rate, times)
    return a * alpha, a * beta


# %%NBQA-CELL-SEP476b88
fig, axes = figures.panels(1, height=3.2)
times = np.geomspace(1e-2, 1e4, 200)
for rate, colour, place in (
    (0.5, figures.SIMULATION, (6.3, 0.86)),
    (0.1, figures.CONTRAST, (6.3, 0.59)),
    (0.01, figures.THIRD, (6.3, 0.525)),
):
    L, r = unit(rate, 0.1, 0.1 * rate, 0.1, times)
    axes.plot(L, expit(r), color=colour)
    axes.plot(L, expit(rate * L), **figures.DASHED)
    axes.annotate(f"$\\lambda={rate:g}$", place, color=colour)
    if rate == 0.1:
        say(reached=expit(np.interp(np.log(99), L, r)), promise=expit(0.1 * np.log(99)))
marks = np.array([0.5, 0.9, 0.99, 0.999, 0.9999])
axes.set_xticks(np.log(marks / (1 - marks)), [f"{mark:g}" for mark in marks])
axes.set(xlabel="confidence on the frequent feature", ylabel="on the rare one")
plt.show()


# %%NBQA-CELL-SEP476b88
late = np.geomspace(1e-2, 1e6, 30)


def flows(lead, seed):
    """Outcomes of fifteen flows, each (15, 31)."""
    found = [
        on_the_way(case.network, case.features, case.rate, [0, *late])
        for case in cases(lead, map(generator, range(seed, seed + 15)))
    ]
    return np.transpose(found, (1, 0, 2))


def leads(draw):
    """Largest beta / (rate alpha) on the way of descent from equality; steps 0.1, 1 and 10."""
    found = []
    for draws, step in [(generator(40 + j), 10.0 ** (j // 5 - 1)) for j in range(15)]:
        n = draws.integers(1, 10)  # of ten inputs have both features
        x = pair(1.0, 1.0, rng=draws)
        start = neuron((0.2, 0.02 * n, draws.uniform(0.1, 0.5)), x, rng=draws)
        data = [x.sum(axis=0)] * n + [x[0]] * (10 - n), np.ones(10), LOGISTIC
        options = {"samples": draw(draws), "record": lambda now, x=x: x @ now.w[0]}
        see = {"step": step, "steps": 300, "record_at": range(301)}
        run = gradient_descent(start, *data, **see, **options)
        alpha, beta = np.transpose(run.recorded)
        found.append(np.max(10 * beta / (n * alpha)))
    return found


def logits(flow):
    """Rare logit, and the bound without the start."""
    alpha, beta, a, rate, square1, square2 = flow
    return a * np.maximum(beta, 0), square2 / square1 * rate * a * alpha


favoured = flows(lambda draws, family: draws.uniform(0, 1) if family < 2 else 1.0, 10)
ahead = flows(lambda draws, family: 10 ** draws.uniform(0.5, 2.5), 30)
negative = flows(lambda draws, family: -draws.uniform(0, 10 ** (family - 1)), 50)


# %%NBQA-CELL-SEP476b88
(r, bound), (r_ahead, bound_ahead), (r_negative, bound_negative) = map(
    logits, (favoured, ahead, negative)
)
alpha, beta, a, rate, square1, square2 = ahead
start = a * (beta[:, :1] - square2 / square1 * rate * alpha[:, :1])
integrated = {"rtol": 1e-7, "because": "relative 1e-10 a step over some hundred steps"}
verify_all(
    verify(
        "combes2018-eq-8",
        measured=leads(lambda d: None),
        at_most=1.0,
        rtol=1e-12,
        because="float arithmetic; holds at every step of any size",
        control=Variant(
            "one example a step", leads(lambda d: d.integers(0, 10, 300)), share=0.5
        ),
    ),
    verify(
        "combes2018-thm-6.1",
        measured=r,
        at_most=bound,
        control=Variant(
            "beta0 > 3 k lambda alpha0", r_ahead, at_most=bound_ahead, share=0.4
        ),
        printed=Variant(
            "lambda L also where k > 1",
            at_most=np.prod(favoured[[0, 2, 3]], axis=0),
            share=0.05,
        ),
        **integrated,
    ),
    verify(
        "combes2018-d.2a",
        measured=r_negative,
        at_most=bound_negative,
        control=Variant("what starts inactive stays inactive", at_most=0.0, share=0.2),
        **integrated,
    ),
    verify(
        "combes2018-d.2b",
        measured=r_ahead,
        at_most=bound_ahead + start,
        control=Variant("the start left out", at_most=bound_ahead, share=0.4),
        printed=Variant(
            "with the coefficients of w", at_most=bound_ahead + start / square2, share=0.05
        ),
        **integrated,
    ),
)


# %%NBQA-CELL-SEP476b88
shares, nine, root = np.array([0.5, 0.2, 0.1, 0.01]), np.log(9), np.sqrt(np.log(99))


def at_logit(goals, rate, alpha0, beta0, a0):
    """Rare logit where the frequent one has these values, unit norms."""
    fine = np.geomspace(1e-3, 1e5, 20000)
    return np.interp(goals, *unit(rate, alpha0, beta0, a0, [0, *fine]))


near, far = (
    [at_logit(nine, q, y, q * y, y) for q in shares]
    for y in np.sqrt(nine * np.array([1 - 1e-6, 1e-6]))
)


def beyond(a0, confidences):
    """Rare logit beyond the curve of Fig. 6, from alpha0 = beta0 = 0.1 and this a0."""
    L = np.log(confidences) - np.log1p(-np.array(confidences))

    def curve(rate):
        return rate * L + 0.1 * (1 - rate) * np.sqrt(L)

    return [at_logit(L, rate, 0.1, 0.1, a0) - curve(rate) for rate in (0.9, 0.7, *shares)]


upper, near_half = [0.75, 0.9, 0.99, 0.9999], [0.515, 0.52, 0.525, 0.53]
say(excess=np.max(beyond(0.1, near_half)))
say(with_start=expit(0.01 * root**2 + 0.099 * root), without_start=expit(0.01 * root**2))

tiny = np.concatenate(
    [favoured[:, :5], negative[:, :5]], axis=1
)  # unit norms, small starts
sure = tiny[0] * tiny[2] > np.log(99)
ratio, top = (tiny[2] / tiny[0])[sure], np.sqrt(1 + tiny[3][sure] ** 2)
kept = (tiny[2][:, :1] / tiny[0])[sure]


# %%NBQA-CELL-SEP476b88
verify_all(
    verify(
        "combes2018-fig-10",
        measured=expit(near),
        predicted=expit(shares * nine),
        atol=1e-6,
        because="a millionth of the logit is left to learn",
        control=Variant("from a millionth of L", measured=expit(far), share=1),
    ),
    verify(
        "combes2018-fig-6",
        measured=[beyond(a0, upper) for a0 in (0.1, 0.03, 0.001)],
        at_most=0.0,
        because="the nearest flow stays below by far more than its error",
        control=Variant("a0 = 10", measured=[beyond(10.0, upper)] * 3, share=0.6),
        printed=Variant("confidences up to 0.53", measured=[beyond(0.1, near_half)] * 3),
    ),
    verify(
        "combes2018-d-order",
        measured=ratio,
        at_least=1.0,
        at_most=top,
        atol=2e-5,
        because="half the square of the start, below 1e-4, over that of alpha, above 3",
        control=Variant("a stays near its start", measured=kept, share=1),
    ),
    verify(
        "combes2018-starvation",
        measured=r,
        at_least=np.broadcast_to(r[:, :1], r.shape),
        because="a and beta do not fall",
        rtol=1e-9,
        control=Variant("starts inactive on the rare feature", r_negative, share=0.2),
        printed=Variant("not on the right side of the threshold", at_most=0.0, share=1),
    ),
)


# %%NBQA-CELL-SEP476b88
say(seconds=process_time() - started)
