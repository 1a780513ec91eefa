# %%NBQA-CELL-SEP476b88
from time import process_time

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import brentq

from executable_claims import Variant, verify, verify_all
from lib import figures
from lib.data.synthetic import SEPARABLE, separable_data
from lib.flow import gradient_flow
from lib.flow.alignment import alignment_phase
from lib.flow.weights import weights_flow
from lib.geometry.patterns import regions
from lib.models.two_layer import Start, TwoLayer
from lib.prose import say
from lib.seeds import generator
from lib.training.losses import TWICE_LOGISTIC

figures.use_style()
started = process_time()


# %%NBQA-CELL-SEP476b88
def late_share(mu, clock):
    edge = np.exp(clock) * np.tan(np.arcsin(mu) / 2)
    return np.maximum(0.5 - 2 / np.pi * np.arctan(edge), 0)


def clock_at_fit(log_scale, mu, w):
    """The clock when the data have the margin of half the loss."""
    phase = alignment_phase(w, np.ones(len(w)), pair(mu), np.ones(2))
    (rates, offsets), size = phase.asymptotics, np.sqrt(2 + 2 * mu)
    total = np.exp(2 * offsets[rates > size - 1e-9]).sum()
    margin = np.log(1 + np.sqrt(2))
    return (np.log(2 * margin / total / size) / 2 - log_scale) / size


# %%NBQA-CELL-SEP476b88
def pair(mu):
    return np.array([[1.0, 0.0], [mu, np.sqrt(1 - mu**2)]])


def circle(rad):
    return np.column_stack([np.cos(rad), np.sin(rad)])


fan = circle(2 * np.pi * (np.arange(60) + 0.5) / 60)


def raw_share(log_scale, mu):
    """The late share at the fit, of raw weights."""
    scale, data, ones = np.exp(log_scale), pair(mu), np.ones(2)
    times = np.linspace(0, clock_at_fit(log_scale, mu, fan) + 0.3, 400)
    network, exactness = (
        TwoLayer(scale * fan, scale * np.ones(60)),
        {"rtol": 1e-6, "atol": 1e-8 * scale},
    )
    raw = weights_flow(network, data, ones, TWICE_LOGISTIC, times, **exactness)
    losses = TWICE_LOGISTIC.value(raw(data), ones).sum(axis=1)
    assert losses[-1] < losses[0] / 2
    active = raw.w[np.argmax(losses < losses[0] / 2)] @ data.T > 1e-6 * scale
    return (active.sum(axis=1) == 1).mean()


def sizes_at_fit(inputs, log_scale, raw=False):
    """Log-norms at the fit of a neuron active on all data, and of one for each datum alone."""
    n, ones = len(inputs), np.ones(len(inputs))
    w = np.vstack([ones, 2 * np.eye(n) - 1]) / np.sqrt(n)
    start = Start(w, np.full(n + 1, log_scale), signs=np.ones(n + 1))
    until = (4 - log_scale) / np.linalg.norm(inputs.sum(axis=0)) + 4
    run = gradient_flow(start, inputs, ones, TWICE_LOGISTIC, until=until, reduction="sum")
    fit = brentq(lambda time: run.loss([time])[0] - n * np.log(2), 0, until)
    if not raw:
        return run.at([fit]).log_norms[0]
    exactness = {"rtol": 1e-11, "atol": 1e-13 * np.exp(log_scale)}
    end = weights_flow(start.network(), inputs, ones, TWICE_LOGISTIC, [0, fit], **exactness)
    return np.log(np.linalg.norm(end.w[-1], axis=1))


fig, (left, right) = figures.panels(2, height=3.2)
colours = figures.SIMULATION, figures.CONTRAST, figures.THIRD
found, expected, printed = [], [], []
for power, colour in zip((3, 5, 7), colours):
    log_scale = -power * np.log(10)
    threshold = 2 * np.exp(log_scale / np.sqrt(2))
    mus = threshold * np.array([0.03, 0.3, 0.8, 1.5, 3])
    found.append([raw_share(log_scale, mu) for mu in mus])
    expected.append([late_share(mu, clock_at_fit(log_scale, mu, fan)) for mu in mus])
    printed.append([late_share(mu, -log_scale / 2) for mu in mus])
    fine = threshold * np.geomspace(0.01, 3, 60)
    curve = [late_share(mu, clock_at_fit(log_scale, mu, fan)) for mu in fine]
    left.plot(fine, curve, **figures.DASHED)
    left.plot(mus, found[-1], "o", color=colour, markersize=4)
    left.text(mus[0] * 0.3, 0.53, rf"$10^{{-{power}}}$", color=colour)
left.set(
    xscale="log", xlabel=r"separation $\mu$", ylabel="late at the fit", ylim=(-0.02, 0.6)
)
decades = np.array([-2, -50, -100, -150, -200, -250, -300])
sizes = np.array([sizes_at_fit(np.eye(2), k * np.log(10)) for k in decades]) / np.log(10)
for column, slope, name, colour in (
    (0, 0, "active on both", colours[0]),
    (1, 1 - 0.5**0.5, "on one", colours[1]),
):
    right.plot(decades, sizes[-1, column] + slope * (decades + 300), **figures.DASHED)
    right.plot(decades, sizes[:, column], "o", color=colour, markersize=4)
    right.text(-290, sizes[3, column] - 12, name, color=colour)
right.set(xlabel=r"$\log_{10}\lambda$", ylabel=r"$\log_{10}$ size at the fit")
found, expected, printed = np.array(found), np.array(expected), np.array(printed)
meets = -np.log(np.tan(np.arcsin(1e-4) / 2))  # the clock from which on none is late
needed = np.exp(np.sqrt(2 + 2e-4) * (clock_at_fit(0.0, 1e-4, fan) - meets))
say(share_gap=np.abs(found - expected).max(), needed=needed)
plt.show()


# %%NBQA-CELL-SEP476b88
verify(
    "min2024-ours-stragglers",
    measured=found,
    predicted=expected,
    atol=2 / 60,
    because="sixty directions: less than one too many or too few on each of two sides",
    control=Variant("the clock ln(1/lambda)/n", predicted=printed, share=0.4),
)


# %%NBQA-CELL-SEP476b88
def triangles(mu, clock=7.0):
    c = mu * np.exp(clock) / 2
    r = np.sqrt(1 + 2 * c**2)
    share = (np.arccos(c / r) + np.arccos(np.sqrt(2) * c / r) - np.pi / 4) / (2 * np.pi)
    return share + np.where(mu == 0, 3 / np.sqrt(2) - 2, 0) / 8


def late_in_figure(mu, k, runs=40, neurons=50, step=2e-3):
    """The late share with positive output weights at the clock 7, over all runs."""
    draws, data = generator(k), pair(mu)
    w, a = (
        1e-6 * draws.standard_normal((runs, neurons, 2)),
        1e-6 * draws.standard_normal((runs, neurons)),
    )
    for _ in range(round(14 / step)):
        heights = w @ data.T
        felt = np.maximum(heights, 0)
        forces = np.exp(-np.einsum("rj,rji->ri", a, felt))[:, None] / 2
        w, a = (
            w + step * a[..., None] * ((heights > 0) * forces @ data),
            a + step * (felt * forces).sum(axis=2),
        )
    return (((w @ data.T > 0).sum(axis=2) == 1) & (a > 0)).mean()


figure_mus = np.append(np.sin([1e-2, 3e-3, 1e-3, 1e-4]), 0)
shares = np.array([late_in_figure(mu, 10 + k) for k, mu in enumerate(figure_mus[:-1])])
shares = np.append(shares, late_in_figure(0.0, 14, runs=600, step=2e-2))
theory, neurons = triangles(figure_mus), np.append([2000] * 4, 30_000)
spread = np.sqrt(theory * (1 - theory) / neurons)
balanced = late_share(figure_mus, 7.0) / 2
say(wide=50 * late_in_figure(np.sin(0.1), 16), wide_theory=50 * triangles(np.sin(0.1)))
say(narrow=50 * shares[2], narrow_theory=50 * theory[2])
say(none=50 * shares[4], none_theory=50 * theory[4])
verify(
    "min2024-fig7",
    measured=(shares - theory) / spread,
    predicted=0.0,
    atol=4.5,
    because="standard errors of a share of 2000 or 30000 neurons; five within 4.5 but for a chance of 1e-4",
    control=Variant(
        "as from a balanced start", measured=(shares - balanced) / spread, share=0.8
    ),
)


# %%NBQA-CELL-SEP476b88
def exponents(norms, low, high, raw=False):
    ends = [sizes_at_fit(np.diag(norms), -k * np.log(10), raw) for k in (low, high)]
    return (ends[0] - ends[1])[1:] / ((high - low) * np.log(10))


norms = [np.ones(2), *(generator(20 + k).uniform(0.6, 1.2, 2 + k % 3) for k in range(5))]
measured = np.concatenate([exponents(one, 100, 300) for one in norms])
raw = np.concatenate([exponents(one, 10, 14, raw=True) for one in norms])
ratio = np.concatenate([one / np.linalg.norm(one) for one in norms])
say(raw_gap=np.abs(raw - 1 + ratio).max())
verify(
    "min2024-fig9",
    measured=[*measured, *raw],
    predicted=np.tile(1 - ratio, 2),
    atol=2e-3,
    because="at 1e-10 the lonely neurons have squares below 1e-2, over four decades: 1e-2/9.2",
    control=Variant("squares of the norms", predicted=np.tile(1 - ratio**2, 2), share=0.9),
    printed=Variant("no growth", predicted=1.0, share=1),
)


# %%NBQA-CELL-SEP476b88
def share_in_own(inputs, labels, neurons, k):
    """The share of Gaussian neurons with s = 1 that end in S+, in the limit of small scale."""
    w = generator(k).standard_normal((neurons, inputs.shape[1]))
    phase = alignment_phase(w, np.ones(neurons), inputs, labels)
    return (regions(phase.patterns, labels) == "S+").mean()


def labels_of(k):
    return np.append(np.ones(k), [-1.0, -1.0])


counts = np.arange(1, 7)
ends = np.array([share_in_own(np.eye(k + 2), labels_of(k), 4000, 30 + k) for k in counts])
powers = 0.5**counts
error = np.sqrt(powers * (1 - powers) / 4000)
draws = [(family, generator(40 + k)) for family in SEPARABLE for k in range(5)]
data = [separable_data(family, int(rng.integers(3, 26)), rng=rng) for family, rng in draws]
shares = [share_in_own(*one, 1000, 50 + k) for k, one in enumerate(data)]
one_active = 1 - powers
verify_all(
    verify(
        "min2024-boursier-width",
        measured=(ends - powers) / error,
        predicted=0.0,
        atol=4.5,
        because="standard errors of a share of 4000; six within 4.5 but for a chance of 1e-4",
        control=Variant(
            "active on one datum", measured=(ends - one_active) / error, share=0.8
        ),
    ),
    verify(
        "min2024-a3-width",
        measured=shares,
        at_least=0.5,
        atol=0.07,
        because="4.4 standard errors of a share of 1000, fifteen at once: a chance of 1e-4",
        control=Variant("orthogonal data", measured=ends[1:], share=1),
    ),
)


# %%NBQA-CELL-SEP476b88
say(lonely=1e-6 ** (1 - 0.5**0.5))
say(seconds=process_time() - started)
