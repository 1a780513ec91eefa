# %%NBQA-CELL-SEP476b88
from time import process_time

import matplotlib.pyplot as plt
import numpy as np
from scipy.integrate import quad, solve_ivp
from scipy.optimize import brentq, minimize
from scipy.special import entr, expit

from executable_claims import Variant, verify, verify_all
from lib import figures
from lib.prose import say
from lib.seeds import generator
from lib.theory.dual import rotation

figures.use_style()
started = process_time()


# %%NBQA-CELL-SEP476b88
def common_margin(penalty):
    """The root q of sigma(-q) = penalty q."""
    return brentq(lambda q: expit(-q) - penalty * q, 0, 1 / penalty, xtol=1e-14)


def flow(signed, penalty, times, *, ridge=0.0, target=0.0, whiten=False):
    """Margins (T, n) along the gradient flow in theta, from zero, of the signed features (n, P)."""
    pull = np.linalg.pinv(signed) if whiten else signed.T

    def velocity(_, theta):
        q = signed @ theta
        return pull @ (expit(-q) - penalty * (q - target)) - ridge * theta

    start, options = np.zeros(signed.shape[1]), {"method": "LSODA", "rtol": 1e-10}
    run = solve_ivp(velocity, (0, times[-1]), start, t_eval=times, atol=1e-12, **options)
    return run.y.T @ signed.T


def features_of(delta, s1):
    return rotation(delta) * [s1, 2.0]


def half_time(delta, s1, penalty, level):
    """When z_2 reaches a level for the first time."""
    z2 = (flow(features_of(delta, s1), penalty, CLOCK) @ rotation(delta))[:, 1]
    k = np.argmax(z2 >= level)
    return np.interp(level, z2[: k + 1], CLOCK[: k + 1])


KAPPA, STRENGTHS = 0.002, np.arange(2.0, 7.0)
CLOCK = np.concatenate([[0], np.geomspace(1e-3, 2000, 3000)])
margin = common_margin(KAPPA)
end = margin * rotation(0.5).sum(axis=0)
paths = [flow(features_of(0.5, s), KAPPA, CLOCK) @ rotation(0.5) for s in STRENGTHS]


def slowdown(delta, penalty):
    level = margin * rotation(delta).sum(axis=0)[1] / 2
    return half_time(delta, 6.0, penalty, level) / half_time(delta, 2.0, penalty, level)


slow = {delta: [slowdown(delta, penalty) for penalty in (KAPPA, 0.0)] for delta in (0.5, 0)}
say(slow_with=slow[0.5][0], slow_without=slow[0.5][1], slow_alone=max(slow[0]))


# %%NBQA-CELL-SEP476b88
def lone_times(margins, penalty):
    """Times at which the solution of dq/dt = sigma(-q) - penalty q, q(0) = 0, has these margins."""

    def speed(q):
        return expit(-q) - penalty * q

    pieces = zip(np.concatenate([[0], margins[:-1]]), margins)
    return np.cumsum(
        [quad(lambda q: 1 / speed(q), *ends, epsrel=1e-12)[0] for ends in pieces]
    )


DASHED = figures.DASHED | {"zorder": 3}
fig, (left, right) = figures.panels(2, height=3.2)
for width, path in zip(np.linspace(1.5, 3.5, 5), paths):
    style = {"color": figures.SIMULATION, "linewidth": width, "alpha": 0.6}
    left.plot(*path.T, **style)
    right.plot(CLOCK[1:], path[1:, 1] / end[1], **style)
left.plot([0, end[0]], [0, end[1]], **DASHED)
left.plot(*end, "o", markersize=10, markerfacecolor="none", color=figures.THEORY)
left.annotate("$s_1=2$", (3.2, 1.1), ha="right", color=figures.SIMULATION)
left.annotate("$s_1=6$", (5.6, 0.2), color=figures.SIMULATION)
left.set(xlabel="response $z_1$", ylabel="response $z_2$")
shares = np.linspace(0.01, 0.995, 80)
right.plot(lone_times(shares * margin, KAPPA) / 4, shares, **DASHED)
right.annotate("$s_1=2$", (0.9, 0.62), color=figures.SIMULATION, ha="right")
right.annotate("$s_1=6$", (14, 0.4), color=figures.SIMULATION)
right.set(xscale="log", xlim=(0.03, 400), xlabel="time $t$", ylabel="$z_2$ over its end")
plt.show()


# %%NBQA-CELL-SEP476b88
def gaussian(draws):
    return draws.normal(size=(4, 12))


def of_a_network(draws, n=5, width=30):
    """Gradients of sum_j a_j max(<w_j, x>, 0), all parameters, at n points of the plane, with labels."""
    w, a = draws.normal(size=(width, 2)), draws.normal(size=width) / np.sqrt(width)
    x, y = draws.normal(size=(n, 2)), draws.choice([-1.0, 1.0], n)
    on = (x @ w.T > 0) * a
    parts = [np.maximum(x @ w.T, 0) / np.sqrt(width), on * x[:, :1], on * x[:, 1:]]
    return y[:, None] * np.hstack(parts)


def stretched(draws):
    u, _, vt = np.linalg.svd(draws.normal(size=(4, 6)), full_matrices=False)
    return u * [4.0, 2.0, 0.8, 0.2] @ vt


FAMILIES = gaussian, of_a_network, stretched
independent = [f(generator(10 * i + k)) for i, f in enumerate(FAMILIES) for k in range(5)]
both = independent + [generator(50 + k).normal(size=(8, 4)) for k in range(5)]
penalty, target = 0.1, 0.5
root = common_margin(penalty)
rest = penalty + penalty * root * (1 - penalty * root)


def last(signed, **options):
    """The margins when the slowest feature has decayed by e^-30."""
    slowest = np.linalg.svd(signed)[1].min() ** 2 * rest
    return flow(signed, penalty, [0.0, 30 / slowest], **options)[-1]


def dual_flow(matrix, start, times=(0.01, 0.1, 1.0)):
    """The gradient flow of the dual problem, p at some times; ``matrix`` is U U'."""

    def velocity(_, p):
        return np.log((1 - p) / p) - matrix @ p / penalty

    options = {"t_eval": times, "method": "LSODA", "rtol": 1e-10, "atol": 1e-12}
    return solve_ivp(velocity, (0, times[-1]), start, **options).y.T.ravel()


def coupled_and_single(signed, draws):
    u, start = (
        np.linalg.svd(signed, full_matrices=False)[0],
        draws.uniform(0.1, 0.9, len(signed)),
    )
    singles = [dual_flow(np.eye(1), [each]) for each in start]
    kept = dual_flow(signed @ signed.T * len(signed) / np.sum(signed**2), start)
    return dual_flow(u @ u.T, start), np.transpose(singles).ravel(), kept


def duals(signed, through=None):
    """The maximum of the dual problem, by descent in p; ``through`` is the matrix for U."""
    u = np.linalg.svd(signed, full_matrices=False)[0] if through is None else through

    def value(a):
        return np.sum((u.T @ expit(a)) ** 2) / 2 / penalty - np.sum(
            entr(expit(a)) + entr(expit(-a))
        )

    return -minimize(value, np.full(len(signed), -1.0), tol=1e-10).fun


def least_loss(signed):
    def loss(q):
        return np.logaddexp(0, -q).sum() + penalty / 2 * np.sum(q**2)

    return minimize(lambda theta: loss(signed @ theta), 0 * signed[0], tol=1e-10).fun


def excess(q, y):
    return expit(-q) - penalty * (q - y * target)


signs = [
    np.where(generator(90 + k).random(len(one)) < 0.5, -1.0, 1.0)
    for k, one in enumerate(both)
]
moved = [last(one, target=target * y) for one, y in zip(independent, signs)]
wanted = [
    [brentq(excess, -9, 90, (each,), 1e-14) for each in y]
    for _, y in zip(independent, signs)
]
free = [last(one) for one in independent]
decayed = [flow(one, 0.0, [0.0, 300.0], ridge=penalty)[-1] for one in independent]
pairs = [coupled_and_single(one, generator(30 + k)) for k, one in enumerate(independent)]
in_dual, alone, kept = map(np.concatenate, zip(*pairs))
verify_all(
    verify(
        "pezeshki2021-eq-27",
        measured=np.concatenate([*free, in_dual]),
        predicted=np.concatenate([np.full(np.size(np.concatenate(free)), root), alone]),
        rtol=1e-7,
        because="integrated to 1e-10; every feature has decayed by e^-30",
        control=Variant(
            "weight decay instead", measured=np.concatenate([*decayed, kept]), share=0.9
        ),
    ),
    verify(
        "pezeshki2021-eq-28",
        measured=np.concatenate(moved),
        predicted=np.concatenate(wanted),
        rtol=1e-7,
        because="as before",
        control=Variant("without the target", predicted=root, share=0.9),
    ),
    verify(
        "pezeshki2021-eq-26",
        measured=[least_loss(one) for one in both],
        predicted=[duals(one) for one in both],
        rtol=1e-8,
        because="gradients below 1e-8 at either end; the errors of the values are their squares",
        control=Variant(
            "the strengths kept", predicted=[duals(one, one) for one in both], share=0.9
        ),
        printed=Variant(
            "|p| for |U'p|",
            predicted=[duals(one, np.eye(len(one))) for one in both],
            share=1 / 4,
        ),
    ),
)


# %%NBQA-CELL-SEP476b88
def descended(s1, penalty, step):
    """When z_2 reaches half of its end, by descent on the responses with this step."""
    u, squares, z = rotation(0.5), np.array([s1, 2.0]) ** 2, np.zeros(2)
    for count in range(10**6):
        new = z + step * squares * (u.T @ expit(-u @ z) - penalty * z)
        if new[1] >= end[1] / 2:
            return step * (count + (end[1] / 2 - z[1]) / (new[1] - z[1]))
        z = new


def extrapolated(s1):
    return 2 * descended(s1, KAPPA, 0.002) - descended(s1, KAPPA, 0.004)


def relaxation(signed, draws):
    """Displacements of the features over the first one, at three times, and squares of the strengths."""
    u, s, _ = np.linalg.svd(signed, full_matrices=False)
    first = 1e-6 * draws.choice([-1.0, 1.0], len(s))
    times = np.array([0.3, 1.0, 3.0]) / (s[0] ** 2 * rest)

    def velocity(t, z):
        return s**2 * (u.T @ expit(-u @ z) - penalty * z)

    options = {"t_eval": times, "method": "DOP853", "rtol": 1e-12, "atol": 1e-15}
    found = solve_ivp(velocity, (0, times[-1]), root * u.sum(axis=0) + first, **options).y.T
    return (found - root * u.sum(axis=0)) / first, times, s**2


def falls(rate):
    return np.concatenate(
        [np.exp(-np.outer(times, squares * rate)).ravel() for _, times, squares in near]
    )


COUPLINGS = 0.5, 0.6, -0.3
ends = [
    [flow(features_of(d, s), KAPPA, [0, 3e3])[-1] for s in STRENGTHS] for d in COUPLINGS
]
ridged = [
    [flow(features_of(d, s), 0.0, [0, 3e3], ridge=KAPPA)[-1] for s in STRENGTHS]
    for d in COUPLINGS
]
near = [relaxation(one, generator(70 + k)) for k, one in enumerate(independent)]
verify_all(
    verify(
        "pezeshki2021-fig-6-right-a",
        measured=ends,
        predicted=margin,
        rtol=1e-7,
        because="integrated to 1e-10; every feature has decayed by e^-30",
        control=Variant("weight decay instead", measured=ridged, share=0.9),
    ),
    verify(
        "pezeshki2021-fig-6-right-b",
        measured=slow[0.5][0],
        predicted=extrapolated(6.0) / extrapolated(2.0),
        rtol=1e-4,
        because="the squares of the steps, times rates of up to 36, over times of about 3",
        control=Variant("as without a penalty", predicted=slow[0.5][1]),
        printed=Variant("no effect on the course", predicted=1.0),
    ),
    verify(
        "pezeshki2021-ours-late-rates",
        measured=np.concatenate([found.ravel() for found, _, _ in near]),
        predicted=falls(rest),
        atol=1e-4,
        because="displaced by 1e-6: the second order is some 1e-5 of it",
        control=Variant(
            "the rate of the penalty alone", predicted=falls(penalty), share=0.4
        ),
    ),
)


# %%NBQA-CELL-SEP476b88
def flat(parts):
    return np.concatenate([np.ravel(part) for part in parts])


reached = np.array([0.2, 0.5, 0.8, 0.95]) * root
when = {each: lone_times(reached, each) for each in (penalty, 0.0)}
clocks = {each: np.concatenate([[0], times]) for each, times in when.items()}
whitened = [
    flow(one, each, clocks[each], whiten=True)[1:] for each in clocks for one in independent
]
plain = [
    flow(one, each, clocks[each] / np.mean(np.linalg.svd(one)[1] ** 2))[1:]
    for each in clocks
    for one in independent
]
course = [np.repeat(reached[:, None], paths.shape[1], axis=1) for paths in whitened]
verify(
    "pezeshki2021-ours-whitened",
    measured=flat(whitened),
    predicted=flat(course),
    rtol=1e-7,
    because="integrated to 1e-10, over at most some ten steps of its growth",
    control=Variant("the plain gradient", measured=flat(plain), share=0.9),
)


# %%NBQA-CELL-SEP476b88
crowded = flow(both[-5], penalty, [0.0, 1e4])[-1]
say(least_margin=crowded.min(), largest_margin=crowded.max(), root=root)
k = np.argmax(paths[-1][:, 1] >= end[1] / 2)
say(half=end[1] / 2, first_done=100 * paths[-1][k, 0] / end[0])
far, slowest = np.abs(paths[-1] - end), 4 * KAPPA * (1 + margin * (1 - KAPPA * margin))
late = (CLOCK > 10) & (far[:, 1] < 1e-3) & (far[:, 1] > 1e-4)
say(dragged=-np.polyfit(CLOCK[late], np.log(far[late, 0]), 1)[0] / slowest)


# %%NBQA-CELL-SEP476b88
say(seconds=process_time() - started)
