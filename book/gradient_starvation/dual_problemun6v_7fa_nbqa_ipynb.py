# %%NBQA-CELL-SEP476b88
from time import process_time

import matplotlib.pyplot as plt
import numpy as np
from scipy.integrate import solve_ivp
from scipy.optimize import minimize
from scipy.special import entr, expit, logit

from executable_claims import Variant, verify, verify_all
from lib import figures
from lib.prose import say
from lib.seeds import generator
from lib.theory.dual import rotation

figures.use_style()
started = process_time()


# %%NBQA-CELL-SEP476b88
@np.errstate(over="ignore", divide="ignore", invalid="ignore")  # trial steps, rejected
def dual_flow(coupling, start, times, offset=0.0):
    """Solutions (T, n) of the dual flow, integrated in a = ln((1 - p) / p), which knows no edges."""

    def excess(a, p):
        return coupling @ p + offset - a

    def velocity(_, a):
        return excess(a, expit(-a)) / (expit(a) * expit(-a))

    def jacobian(_, a):
        p, doubt = expit(-a), expit(a) * expit(-a)
        slopes = -(coupling * doubt + np.eye(len(a))) / doubt[:, None]
        return slopes + np.diag(excess(a, p) * (1 - 2 * p) / doubt)

    options = {"jac": jacobian, "t_eval": times, "rtol": 1e-9, "atol": 1e-11}
    run = solve_ivp(velocity, (0, times[-1]), -logit(start), "Radau", **options)
    assert run.success, run.message
    return expit(-run.y.T)


# %%NBQA-CELL-SEP476b88
SIZES = (8, 20), (30, 5), (6, 3)
data = [generator(k).normal(size=size) for k, size in enumerate(SIZES)]
data[1] *= np.geomspace(0.05, 3, 5)
data[2][1], data[2][2] = -data[2][0], 0
couplings = {ridge: data[0] @ data[0].T / ridge for ridge in (200.0, 20.0, 5.0)}
pairs = {ridge: generator(9).uniform(0.1, 0.9, (2, 8)) for ridge in couplings}
clock = np.linspace(0, 1.5, 61)
fig, (left, right) = figures.panels(2, height=3.2)
line, entropy = np.linspace(-3, 4, 200), lambda p: entr(p) + entr(1 - p)
left.plot(line, np.logaddexp(0, -line), color=figures.SIMULATION, linewidth=2)
for p, place in ((0.1, (-2.9, 0.75)), (0.5, (2.4, -0.3)), (0.9, (-1.0, -0.45))):
    left.plot(line, entropy(p) - p * line, **figures.DASHED)
    left.annotate(f"$p={p}$", place)
left.set(xlabel="margin $q$", ylabel="loss of an example", ylim=(-0.6, 3.6))
for ridge, colour in zip(couplings, (figures.SIMULATION, figures.CONTRAST, figures.THIRD)):
    one, other = (dual_flow(couplings[ridge], start, clock) for start in pairs[ridge])
    distance = np.linalg.norm(one - other, axis=1)
    fall = distance / distance[0]
    right.semilogy(clock, fall, color=colour)
    if ridge == 200:
        say(fall_time=np.interp(np.log(100), -np.log(fall), clock))
    right.annotate(
        rf"$\nu={ridge:g}$", (1.52, fall[-1]), color=colour, annotation_clip=False
    )
right.semilogy(clock, np.exp(-4 * clock), **figures.DASHED)
right.set(xlabel="time $t$", ylabel="distance of two solutions", ylim=(1e-5, 1.5))
say(fall=100, law_time=np.log(100) / 4)
plt.show()


# %%NBQA-CELL-SEP476b88
def coupling(signed, ridge):
    return signed @ signed.T / ridge


CASES = [(signed, ridge) for signed in data for ridge in (0.1, 1.0, 10.0)]
matrices = [coupling(*case) for case in CASES]


def least(signed, ridge, offset=0.0):
    def margins(t):
        return signed @ t + offset

    def doubts(t):
        return expit(margins(t)) * expit(-margins(t))

    def value(t):
        return np.logaddexp(0, -margins(t)).sum() + ridge / 2 * t @ t

    def slope(t):
        return ridge * t - signed.T @ expit(-margins(t))

    def bend(t):
        return ridge * np.eye(len(t)) + (signed.T * doubts(t)) @ signed

    start = np.zeros(signed.shape[1])
    near = minimize(value, start, jac=slope, hess=bend, method="trust-exact").x
    for _ in range(4):
        near = near - np.linalg.solve(bend(near), slope(near))
    return near, value(near)


def dual_end(a, offset=0.0):
    return dual_flow(a, np.full(len(a), 0.1), [0.0, 12.0], offset)[-1]


def dual_value(signed, ridge, p, offset=0.0):
    return entropy(p).sum() - np.sum(p * offset) - np.sum((signed.T @ p) ** 2) / 2 / ridge


def excess(factor):
    """How far the weights, for a penalty with another factor, are from a fixed point."""
    margins = [x @ least(x, ridge * factor(x))[0] for x, ridge in CASES]
    return flat([a @ expit(-q) - q for a, q in zip(matrices, margins)])


def parameters(duals):
    return flat([x.T @ p / ridge for (x, ridge), p in zip(CASES, duals)])


def formula(power):
    return flat(
        [s**power * (u.T @ p) / ridge for (u, s), p, (_, ridge) in zip(parts, ends, CASES)]
    )


flat = np.concatenate
ends = [dual_end(a) for a in matrices]
apart = [dual_end(np.diag(np.diag(a))) for a in matrices]
primal = [least(*case) for case in CASES]
margins = [signed @ theta for (signed, _), (theta, _) in zip(CASES, primal)]
weights = [expit(-q) for q in margins]
starts = [generator(20 + k).normal(0, 0.5, len(a)) for k, a in enumerate(matrices)]
shifted = [dual_end(a, start) for a, start in zip(matrices, starts)]
parts = [np.linalg.svd(signed, full_matrices=False)[:2] for signed, _ in CASES]
verify_all(
    verify(
        "pezeshki2021-eq-13",
        measured=[dual_value(*case, p) for case, p in zip(CASES, ends)],
        predicted=[value for _, value in primal],
        rtol=1e-12,
        because="values are flat at an optimum: errors of 1e-9 cost 1e-16; sums of 30 terms in floats",
        control=Variant(
            "all weights 1/2",
            measured=[dual_value(*case, 0 * p + 0.5) for case, p in zip(CASES, ends)],
            share=0.9,
        ),
    ),
    verify(
        "pezeshki2021-eq-14",
        measured=parameters(ends),
        predicted=flat([theta for theta, _ in primal]),
        atol=1e-6,
        because="p to 1e-9, over ridges from 0.1 on, times entries below 100",
        control=Variant(
            "the weights of examples alone", measured=parameters(apart), share=0.9
        ),
    ),
    verify(
        "pezeshki2021-eq-17a",
        measured=flat(ends),
        predicted=flat(weights),
        atol=1e-7,
        because="integrated to 1e-9 of ln((1 - p) / p); distances fall by e^-48",
        control=Variant("the weights of examples alone", measured=flat(apart), share=0.9),
    ),
    verify(
        "pezeshki2021-eq-9",
        measured=excess(lambda _: 1),
        predicted=0.0,
        atol=1e-7,
        because="gradients of 1e-10 in theta, over ridges from 0.1 on, times features below 100",
        control=Variant("no factor 1/2", measured=excess(lambda _: 2), share=0.9),
        printed=Variant("the penalty counted n times", measured=excess(len), share=0.9),
    ),
    verify(
        "pezeshki2021-eq-18",
        measured=flat([u.T @ q for (u, _), q in zip(parts, margins)]),
        predicted=formula(2),
        atol=1e-6,
        because="as the parameters",
        control=Variant("strengths not squared", predicted=formula(1), share=0.9),
    ),
    verify(
        "pezeshki2021-eq-15",
        measured=[
            dual_value(*case, p, start) for case, p, start in zip(CASES, shifted, starts)
        ],
        predicted=[least(*case, start)[1] for case, start in zip(CASES, starts)],
        rtol=1e-12,
        because="as the values before",
        control=Variant(
            "the term left out of the value alone",
            measured=[dual_value(*case, p) for case, p in zip(CASES, shifted)],
            share=0.9,
        ),
        printed=Variant(
            "without initial outputs",
            measured=[dual_value(*case, p) for case, p in zip(CASES, ends)],
        ),
    ),
)


# %%NBQA-CELL-SEP476b88
def jacobian_top(a, p, step=1e-6):
    """The largest eigenvalue of the Jacobian of the dual flow."""

    def velocity(p):
        return np.log((1 - p) / p) - a @ p

    moves = step * np.eye(len(p)) * np.minimum(p, 1 - p)
    columns = [(velocity(p + m) - velocity(p - m)) / (2 * m.sum()) for m in moves]
    return np.linalg.eigvals(np.array(columns)).real.max()


def depth(path, a):
    """How far a path from the starts below stays inside the cube, over the bound of the text."""
    bound = min(1e-6, expit(-np.abs(a).sum(axis=1).max()))
    return np.minimum(path, 1 - path).min() / bound


def corner(a, k):
    return np.where(generator(k).random(len(a)) < 0.5, 1e-6, 1 - 1e-6)


def square_flow(a, start):
    """The dual flow of the squared error, which is linear."""
    values, modes = np.linalg.eigh(a + np.eye(len(start)) / 2)
    end = modes.sum(axis=0) / values
    return (np.exp(-np.outer(times, values)) * (start @ modes - end) + end) @ modes.T


def rates(a, draws, clock=np.linspace(0, 1, 11)):
    one, other = (dual_flow(a, draws.uniform(0.2, 0.8, len(a)), clock) for _ in range(2))
    distance = np.linalg.norm(one - other, axis=1)
    return -np.log(distance[1:] / distance[0]) / clock[1:]


SOFT = [(signed, ridge) for signed in data for ridge in (2.0, 20.0, 2000.0)]
times = np.append(np.geomspace(1e-9, 5, 60), 12)
soft = [coupling(*case) for case in SOFT]
begun = [corner(a, 50 + k) for k, a in enumerate(soft)]
paths = [dual_flow(a, p, np.append(0, times))[1:] for a, p in zip(soft, begun)]
leaving = [square_flow(a, p) for a, p in zip(soft, begun)]
ending = flat([expit(-x @ least(x, ridge)[0]) for x, ridge in SOFT])
bare = [dual_end(np.diag(np.diag(a))) for a in soft]
ranks = [np.linalg.matrix_rank(a, tol=1e-10 * np.linalg.norm(a)) for a in matrices]
tops = [jacobian_top(a, p) for a, p in zip(matrices, ends)]
rotated = [rotation(0.5) * [s, 2.0] for s in range(2, 7)]


def primal_path(signed, until):
    def velocity(_, theta):
        return signed.T @ expit(-signed @ theta) - 0.01 * theta

    run = solve_ivp(
        velocity, (0, until), np.zeros(2), method="LSODA", rtol=1e-11, atol=1e-13
    )
    return rotation(0.5).T @ signed @ run.y


def dual_path(signed, until):
    clock = np.append(0, np.geomspace(1e-9, until, 600))
    p = dual_flow(coupling(signed, 0.01), np.full(2, 1e-8), clock)
    return rotation(0.5).T @ coupling(signed, 0.01) @ p.T


def half_way(path):
    return np.interp(path[0, -1] / 2, path[0], path[1])


gone = [(primal_path(one, 4000), dual_path(one, 6)) for one in rotated]
halves = np.array([[half_way(path) for path in pair] for pair in gone])
say(apart=100 * np.abs(halves[1:, 1] / halves[1:, 0] - 1).min())
verify_all(
    verify(
        "pezeshki2021-eq-17b",
        measured=[depth(path, a) for path, a in zip(paths, soft)],
        at_least=1.0,
        rtol=1e-6,
        because="ln((1 - p) / p), up to 14, to 1e-9 of itself",
        control=Variant(
            "the squared error, whose tangents have finite slopes",
            measured=[depth(path, a) for path, a in zip(leaving, soft)],
            share=0.5,
        ),
    ),
    verify(
        "pezeshki2021-eq-17c",
        measured=ranks,
        predicted=np.repeat([8, 5, 3], 3),
        because="the rank, counted; eigenvalues are known to 1e-14 of the largest",
        control=Variant("parameters", predicted=np.repeat([20, 5, 3], 3), share=1 / 3),
        printed=Variant("definite", predicted=np.repeat([8, 30, 6], 3), share=2 / 3),
    ),
    verify(
        "pezeshki2021-eq-17d",
        measured=flat([a @ p < 0 for a, p in zip(matrices, ends)]),
        predicted=flat(margins) < 0,
        because="yes or no, example by example",
        control=Variant(
            "raised for the half of larger weights",
            predicted=flat([p > np.median(p) for p in ends]),
            share=0.05,
        ),
        printed=Variant("never raised", predicted=False, share=0.1),
    ),
    verify(
        "pezeshki2021-thm-1a",
        measured=tops,
        at_most=-4.0,
        atol=1e-4,
        because="central differences with relative steps of 1e-6",
        control=Variant("the rate of the squared distance", at_most=-8.0, share=0.5),
    ),
    verify(
        "pezeshki2021-thm-1b",
        measured=flat([path[-1] for path in paths]),
        predicted=ending,
        atol=1e-7,
        because="as the weights before; the starts are near corners of the cube",
        control=Variant("the weights of examples alone", measured=flat(bare), share=0.9),
    ),
    verify(
        "pezeshki2021-ours-contraction",
        measured=flat([rates(a, generator(70 + k)) for k, a in enumerate(soft)]),
        at_least=4.0,
        atol=1e-5,
        because="solutions to 1e-9, at most e^-4 = 0.02 apart where the rate is near 4",
        control=Variant("the rate of the squared distance", at_least=8.0, share=0.6),
    ),
    verify(
        "pezeshki2021-fig-6-left-b",
        measured=flat([one[:, -1] for one, _ in gone]),
        predicted=flat([other[:, -1] for _, other in gone]),
        rtol=1e-7,
        because="integrated to 1e-9 or better; all modes have decayed by e^-24 or more",
        control=Variant(
            "one way", measured=halves[:, 0], predicted=halves[:, 1], share=0.8
        ),
    ),
)


# %%NBQA-CELL-SEP476b88
lopsided = dual_flow(10 * np.eye(2)[::-1], np.array([0.2, 0.1]), [0.0, 12.0])[-1]
say(taken=lopsided[0], left=lopsided[1])


# %%NBQA-CELL-SEP476b88
say(seconds=process_time() - started)
