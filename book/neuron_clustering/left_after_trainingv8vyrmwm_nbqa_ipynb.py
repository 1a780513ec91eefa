# %%NBQA-CELL-SEP476b88
from contextlib import suppress
from itertools import count, islice, product
from time import process_time

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import brentq
from scipy.special import logsumexp

from executable_claims import Variant, verify
from lib import figures
from lib.data.synthetic import antipodal_gaussians
from lib.experiments.claims import verify_recorded
from lib.experiments.records import recorded
from lib.flow import gradient_flow
from lib.flow.agreement import agreement_end
from lib.geometry.patterns import perfect_agreement_margin
from lib.geometry.programs import agreement_program, separation
from lib.models.two_layer import Start, TwoLayer
from lib.prose import say
from lib.seeds import generator
from lib.training.descent import gradient_descent
from lib.training.losses import LOGISTIC

figures.use_style()
started = process_time()


# %%NBQA-CELL-SEP476b88
def lines(theta, task, memory=1.0):
    """A and B of item 3, each (2K, n), from all neurons late in the regime, if v v k = 1."""
    support = task.program.duals > 0
    rows, target = task.rows[support], np.log(len(task.rows) * task.program.duals[support])
    rho = memory * theta - np.linalg.pinv(rows) @ (memory * rows @ theta + target)
    return task.signed(rho), task.signed(task.limit)


def time_of_leaving(theta, task, memory=1.0):
    """The least ln t = -A/B."""
    start, slope = lines(theta, task, memory)
    return (-start[slope < 0] / slope[slope < 0]).min()


# %%NBQA-CELL-SEP476b88
K, UNTIL = 3, 100  # neurons of a type, with output weights K**-0.5, so that v v k = 1


class Task:
    """Program (8), the rows z_i, the limit and the certificate (-2 for inseparable data)."""

    def __init__(self, inputs, labels, slope):
        self.inputs, self.labels, self.slope, self.certificate = inputs, labels, slope, -2.0
        with suppress(ValueError):
            self.program = agreement_program(inputs, labels, slope)
            halves = [np.split(each, 2, -1) for each in (self.program.rows, self.program.x)]
            both = [np.hstack([w] * K + [u] * K) / K**0.5 for w, u in halves]
            self.rows, self.limit = both
            self.certificate = perfect_agreement_margin(*halves[1], inputs, labels)

    def signed(self, theta):
        """Products (2K, n) that are positive in the perfect regime."""
        sides = np.repeat([1.0, -1.0], K)[:, None] * self.labels
        return sides * (np.reshape(theta, (2 * K, -1)) @ self.inputs.T)


def pace(task):
    """kappa, the rate at which the late flow comes to its straight lines in ln t."""
    duals, gaps = task.program.duals, task.rows @ task.limit - 1
    support = task.rows[duals > 0] * np.sqrt(duals[duals > 0])[:, None]
    return min(1.0, gaps[duals == 0].min(), np.linalg.eigvalsh(support @ support.T).min())


def trained(task, draws):
    """The network after a thousand steps of descent from a small start."""
    start = Start.two_sided(K, task.inputs.shape[1], np.log(1e-4), rng=draws, v=K**-0.5)
    problem = start.network(task.slope), task.inputs, task.labels, LOGISTIC
    how = {"step": UNTIL / 1000, "steps": 1000, "train_a": False}
    return gradient_descent(*problem, **how).network


def departure(network, task, log_until=1e4):
    """Log time at which a product is zero; all neurons at half of it; the flow."""
    how = {"log_until": log_until, "train": "first", "rtol": 1e-5}
    run = gradient_flow(network, task.inputs, task.labels, LOGISTIC, **how)
    at_edge = [task.signed(each).min() < 1e-9 for each in run.directions]
    left = run.log_times[np.argmax(at_edge)] if any(at_edge) else np.inf
    return left, weights(run, max(0, min(left, log_until) / 2)).ravel(), run


def weights(run, log_time):
    at = run.at(log_times=[log_time])
    return (np.exp(at.log_norms)[..., None] * at.directions)[0]


def classes(kind, draws, slope):
    """For one draw of the noise, the task by the mean; the last coordinate may be a bias."""
    kinds = dict(plain=(8, 8, 5), biased=(12, 12, 5), high=(50, 50, 50), uneven=(6, 14, 6))
    *sizes, d = kinds[kind]
    labels = np.repeat([1.0, -1.0], sizes)
    noise = (draws.laplace if kind == "uneven" else draws.normal)(0, 1, (len(labels), d))
    noise[:, -1] = 1.0 if kind == "biased" else noise[:, -1]
    return lambda mean: Task(noise + mean * np.outer(labels, np.eye(d)[0]), labels, slope)


def place(family, certificate):
    """The mean at which the classes, moved together, first have this certificate."""

    def short(mean):
        return family(mean).certificate - certificate

    means = np.linspace(10, 0.2, 50)
    at = next((k for k, mean in enumerate(means) if short(mean) < 0), 0)
    return brentq(short, means[at], means[at - 1], xtol=1e-9) if at else means[0]


def placed(kind, slope, first, certificate):
    """Tasks of this certificate, with networks in the perfect regime after training."""
    for draws in map(generator, count(first)):
        family = classes(kind, draws, slope)
        task = family(place(family, certificate))
        network = trained(task, draws)
        near = abs(task.certificate / certificate - 1) < 0.1
        if near and task.signed(network.w).min() > 0:
            yield task, network, family


def leaving_late(*which, least=20, **how):
    """Flows that leave after ln t = least / kappa: task, network, time, neurons, run."""
    for task, network, _ in placed(*which):
        left, *rest = departure(network, task, **how)
        if least < pace(task) * left < np.inf:
            yield task, network, left, *rest


# %%NBQA-CELL-SEP476b88
how = {"least": 8, "log_until": 1e3}
shown, _, shown_left, half, run = next(leaving_late("plain", 0.3, 0, -0.02, **how))
fig, (left, right) = figures.panels(2, height=3.1)
clock = np.linspace(np.log(UNTIL), shown_left, 200)
paths = np.array([shown.signed(weights(run, log_time)) for log_time in clock])
straight = lines(half, shown)
for spot in zip(*np.unravel_index(np.argsort(paths.min(0), None)[:12], paths[0].shape)):
    left.plot(clock, paths[:, *spot], color=figures.SIMULATION, linewidth=3, alpha=0.5)
    left.plot(clock, straight[0][spot] + straight[1][spot] * clock, **figures.DASHED)
left.plot(shown_left, 0, "o", color=figures.CONTRAST, fillstyle="none", markersize=10)
left.text(0.95 * shown_left, -0.7, "it leaves", color=figures.CONTRAST, ha="right")
left.set(xlabel=r"$\ln t$", ylabel="product with a datum, signed", ylim=(-1, 6))

family, points = next(placed("high", 0.5, 50, -0.01))[2], []
border = place(family, 0.0)
for mean in border - np.geomspace(border / 20, border / 500, 4):
    task, network = family(mean), trained(family(mean), generator(60))
    if task.signed(network.w).min() > 0:
        when, late, _ = departure(network, task, 3e3)
        points.append((2 * mean, when, time_of_leaving(late, task)))
distances, measured, said = np.transpose(points)
right.semilogy(distances, said, **figures.DASHED)
right.semilogy(distances, measured, "o", color=figures.SIMULATION)
right.axvline(2 * border, color=figures.THIRD)
right.text(2 * border, measured[0], "$c=0$ ", color=figures.THIRD, ha="right")
right.set(xlabel="distance of the means", ylabel=r"$\ln t$ of leaving", ylim=(10, None))
say(trained_until=np.log(UNTIL), shown_left=shown_left, longest=measured[-1])
start_gap, *_, end_gap = 100 * np.abs(said / measured - 1)
say(shown_said=time_of_leaving(half, shown), start_gap=start_gap, end_gap=end_gap)
plt.show()


# %%NBQA-CELL-SEP476b88
def after_training(slope, mean, seed):
    """Share in the regime, c, loss; then log time of leaving, whether proved, and the control."""
    draws = generator(seed)
    task = classes("high", draws, slope)(mean)
    inputs, labels, network = task.inputs, task.labels, trained(task, draws)
    share = (task.signed(network.w) > 0).all(axis=1).mean()
    found = share, task.certificate, LOGISTIC.value(network(inputs), labels).mean()
    if share < 1:
        return *found, np.nan, False, False
    left, last = agreement_end(network, inputs, labels, log_until=1e6, rtol=1e-6)
    smoothed = -logsumexp(-labels * last(inputs)) / np.linalg.norm(last.w)
    depth = (task.signed(task.limit) / np.linalg.norm(inputs, axis=1)).min()  # beta / gamma
    proved = smoothed**2 > task.program.norm**-2 - (depth / task.program.norm**2) ** 2
    joined = (np.vstack([inputs[labels > 0], x]) for x in inputs[labels < 0])
    flips = any(separation(points, np.ones(len(points))).separable for points in joined)
    return *found, left, proved and depth > 0, flips


cases = list(product((0.2, 0.5), (2.25, 3, 4), (70, 71, 72)))
slopes, means, _ = np.transpose(cases)
table = np.transpose([after_training(*case) for case in cases]).astype(float)
shares, certificates, losses, leaving, proved, flips = table
inside, goes = shares == 1, np.isfinite(leaving)
say(tried=len(cases), entered=inside.sum(), gone=goes.sum(), proved=proved.sum())
say(remain=(inside & ~goes).sum(), worst_loss=losses[inside].max())
say(latest=leaving[goes].max(initial=0), uncertain=int(flips[inside].sum()))
verify(
    "sarussi2021-par-from-training",
    measured=goes[inside],
    predicted=certificates[inside] < 0,
    because="yes or no; a flow with c < 0 is missed only if it leaves after ln t = 1e6",
    control=Variant("the cone condition decides", predicted=flips[inside], share=0.2),
    printed=Variant("who enters stays", predicted=0 * flips[inside]),
)


# %%NBQA-CELL-SEP476b88
fig, (left, right) = figures.panels(2, height=3.1)
colours = np.where(slopes < 0.3, figures.SIMULATION, figures.CONTRAST)
apart = 2 * means + np.where(slopes < 0.3, -0.04, 0.04)
left.scatter(apart, shares, color=colours, alpha=0.6)
for group, marker in ((inside & ~goes, "o"), (goes, "v"), (~inside, "x")):
    right.scatter(apart[group], certificates[group], color=colours[group], marker=marker)
left.text(5.3, 0.3, "slope 0.2", color=figures.SIMULATION)
left.text(5.3, 0.2, "slope 0.5", color=figures.CONTRAST)
right.axhline(0, **figures.DASHED)
left.set(xlabel="distance of the means", ylabel="perfect share", ylim=(-0.05, 1.05))
right.set(xlabel="distance of the means", ylabel="certificate $c$")
plt.show()


# %%NBQA-CELL-SEP476b88
easy = recorded("sarussi2021-figure-8")
say(**{f"high_{name}": easy.config[name] for name in ("examples", "dimension", "mean")})
say(high_certificate=min(one["certificate"] for one in easy.metrics))


def all_perfect(metrics):
    """The shares of the neurons of either type in the perfect regime, draw by draw."""

    def ends(one):
        return [one["share_w"][-1], one["share_u"][-1]]

    large = [ends(one["large-start"]) for one in metrics]
    return dict(
        measured=[ends(one["small-start"]) for one in metrics],
        predicted=1,
        because="counts of neurons",
        control=Variant("a large start", measured=large, share=0.9),
        data="Gaussian classes of our sizes, means 12 standard deviations apart",
    )


verify_recorded("sarussi2021-fig-8", all_perfect, "sarussi2021-figure-8", seeds=(0,))


# %%NBQA-CELL-SEP476b88
late, which = [], (("plain", 0.3, 100), ("biased", 0.2, 200), ("uneven", 0.6, 300))
for family in which:
    late += islice(leaving_late(*family, -0.002), 5)
times = np.array([left for _, _, left, *_ in late])
said = np.array([time_of_leaving(half, task) for task, _, _, half, _ in late])
forgetful = [time_of_leaving(half, task, 0.0) for task, _, _, half, _ in late]
say(late=len(late), late_first=times.min(), late_last=times.max())
say(late_gap=np.abs(said / times - 1).max())
verify(
    "sarussi2021-ours-leave-time",
    measured=times,
    predicted=said,
    rtol=1e-3,
    because="half way at most exp(-10) = 5e-5 of the approach is left, times 20 for constants",
    control=Variant("multipliers without memory", predicted=forgetful, share=0.9),
)


# %%NBQA-CELL-SEP476b88
ray = np.array([np.cos(np.radians(130)), np.sin(np.radians(130))])
four, labels = np.array([[3.0, 0], ray, [-3.0, 0], -ray]), np.array([1, 1, -1, -1])
near = 0.1 * np.array([ray[1], -ray[0]]) + 0.002 * ray
pair = TwoLayer(np.array([near, -near]), np.array([1.0, -1.0]), 0.1)
run = gradient_flow(pair, four, labels, LOGISTIC, log_until=100, train="first")
signed = labels * np.array([[1], [-1]]) * (run.directions @ four.T)
edge = run.log_times[signed.min(axis=(1, 2)) < 1e-9]
say(four_out=edge[0], four_back=edge[-1], four_c=Task(four, labels, 0.1).certificate)
say(four_loss=LOGISTIC.value(pair(four), labels).sum() / np.log(2))


# %%NBQA-CELL-SEP476b88
def in_agreement(outlier):
    """Networks that fit and agree in each type: whether just one type is perfect; the rest."""
    for draws in map(generator, count(400)):
        inputs, labels = antipodal_gaussians(40, (2.0, 0.0), 0.3, rng=draws)
        if outlier:
            inputs, labels = np.vstack([inputs, [-3.06, 2.57]]), np.append(labels, 1.0)
        network = trained(task := Task(inputs, labels, 0.5), draws)
        groups = task.signed(network.w).reshape(2, K, -1) > 0
        if (groups == groups[:, :1]).all() and (labels * network(inputs) > 0).all():
            yield groups[0].all() != groups[1].all(), network, inputs, labels


found, plain = (list(islice(in_agreement(outlier), 6)) for outlier in (True, False))
ends = [agreement_end(*rest, log_until=30, rtol=1e-6)[0] for one, *rest in found if one]
record = [one["small-start"] for one in recorded("sarussi2021-figure-9").metrics]
apart = [one for one in record if {one["share_w"][-1], one["share_u"][-1]} == {0, 1}]
say(agreed=len(found), elsewhere=len(ends), elsewhere_gone=np.isfinite(ends).sum())
say(last_leaves=max(ends, default=0), apart_draws=len(apart), outlier_draws=len(record))
verify(
    "sarussi2021-fig-9",
    measured=np.mean([one_type for one_type, *_ in found]),
    at_least=1 / 6,
    because="the claim says that it can happen: in one network at least",
    control=Variant(
        "without the outlier", measured=np.mean([one_type for one_type, *_ in plain])
    ),
    data="two Gaussian classes of 20 points and an outlier, sizes of our choice",
)


# %%NBQA-CELL-SEP476b88
say(seconds=process_time() - started)
