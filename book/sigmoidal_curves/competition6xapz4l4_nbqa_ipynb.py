# %%NBQA-CELL-SEP476b88
from time import process_time

import matplotlib.pyplot as plt
import numpy as np
import sympy as sp
from scipy.integrate import solve_ivp
from scipy.special import expit

from executable_claims import Variant, verify, verify_all
from lib import figures
from lib.flow import gradient_flow
from lib.flow.weights import weights_flow
from lib.models.two_layer import TwoLayer
from lib.prose import say
from lib.seeds import generator
from lib.theory.two_inputs import neuron, pair, saddle
from lib.training.descent import gradient_descent
from lib.training.losses import LOGISTIC

figures.use_style()
started = process_time()


# %%NBQA-CELL-SEP476b88
def backward(_time, state, n1, n2):
    alpha, beta, a = state
    gain, loss = expit(-a * alpha), expit(a * beta)
    return [-(n1**2) * a * gain, n2**2 * a * loss, beta * loss - alpha * gain]


def curve(case, side, reach=np.inf, first=None):
    """Half of the curve, where a has the sign side, from the saddle backwards up to |a| = reach."""
    c, n1, n2 = case
    s, stable, _ = saddle(*case)
    if first is None:  # a millionth along the stable direction
        along = np.array([n1**2 / (2 * stable), -(n2**2) / (2 * stable), 1.0])
        first = np.array([s, s, 0]) + 1e-6 * side * np.sqrt(c) * along
    ends = [lambda t, y, *_: min(y[0], y[1]), lambda t, y, *_: reach - abs(y[2])]
    ends[0].terminal = ends[1].terminal = True
    span = (0, -14 / stable + 1e3 / np.hypot(n1, n2))
    options = {"rtol": 1e-12, "atol": 1e-15, "dense_output": True, "args": (n1, n2)}
    return solve_ivp(backward, span, first, "DOP853", events=ends, **options)


def angle(states, n1, n2):
    return np.arctan2(states[1] / n2, states[0] / n1)


def unroll(phi, a, c, n1, n2):
    radius = np.sqrt(c + a**2)
    return np.stack([n1 * radius * np.cos(phi), n2 * radius * np.sin(phi), a + 0 * phi])


# %%NBQA-CELL-SEP476b88
fig, axes = figures.panels(1, height=3.6)
case, draws = (0.7, 1.5, 0.6), generator(1)
x = pair(*case[1:], rng=draws)
phi, weight = draws.uniform(0, np.pi / 2, 600), draws.uniform(-2, 2, 600)
at = neuron(unroll(phi, weight, *case), x, rng=draws)
run = gradient_descent(at, x, [1, -1], LOGISTIC, step=0.02, steps=2500, reduction="sum")
lost = (run.network.preactivations(x)[:, :, 0] <= 0).T
for k, colour in enumerate((figures.CONTRAST, figures.SIMULATION)):
    dots = np.degrees(phi[lost[k]]), weight[lost[k]]
    axes.plot(*dots, "o", color=colour, markersize=3, alpha=0.6)
    text = {"xycoords": "axes fraction", "va": "bottom", "ha": ("right", "left")[k]}
    axes.annotate(f"class ${'-+'[k]}1$ captures", (1 - k, 1.01), color=colour, **text)
line = np.hstack([curve(case, -1, 2.0).y[:, ::-1], curve(case, 1, 2.0).y])
axes.plot(np.degrees(angle(line, *case[1:])), line[2], **figures.DASHED)
axes.plot(np.degrees(np.arctan2(*case[1:])), 0, "D", color=figures.THEORY, markersize=7)
axes.set(xlabel="angle $\\varphi$ in degrees", ylabel="output weight $a$")
border = np.interp(weight, line[2], angle(line, *case[1:]))
wrong = np.where(phi < border, lost[0], lost[1]) | ~lost.any(axis=0)
say(dots=len(phi), wrong=int(wrong.sum()))
plt.show()


# %%NBQA-CELL-SEP476b88
alpha, beta, a, m, n, s = sp.symbols("alpha beta a m n s", positive=True)
gain, loss = 1 / (1 + sp.exp(a * alpha)), 1 / (1 + sp.exp(-a * beta))
field = sp.Matrix([m**2 * a * gain, -(n**2) * a * loss, alpha * gain - beta * loss])
surface = alpha**2 / m**2 + beta**2 / n**2 - a**2
moved = sp.simplify(sp.Matrix([surface]).jacobian([alpha, beta, a]) * field)[0]
at_rest = field.jacobian([alpha, beta, a]).subs({alpha: s, beta: s}).subs(a, 0)
rate = sp.symbols("rate")
rates = rate * (rate**2 + rate * s**2 / 2 - (m**2 + n**2) / 4)
assert (moved, sp.expand(at_rest.charpoly(rate).as_expr() - rates)) == (0, 0)
"the constant is constant, and the rates are right"


# %%NBQA-CELL-SEP476b88
def forward(states, norms, times, draws):
    """(alpha, beta, a) at the times, shape (times, 3, k), of the linear networks that start so."""
    inputs = pair(*norms, rng=draws)
    start = neuron(states, inputs, rng=draws, slope=1.0)
    run = weights_flow(start, inputs, [1, -1], LOGISTIC, [0, *times], rtol=1e-11)
    seen = np.moveaxis(run.preactivations(inputs)[1:, :, :, 0], -1, 1)
    return np.concatenate([seen, np.moveaxis(run.a[1:], -1, 1)], axis=1)


def winners(states, norms, draws, horizon=500.0):
    """+1 or -1, shape (k,): the class that captures; states (3, k), norms (2, k)."""
    last = forward(states, norms, [horizon], draws)[0]
    assert (last[:2].min(axis=0) < 0).all()  # all are captured
    return np.sign(last[2])


def settings(draws, low, high, count=5):
    """c, n1, n2 with norms from 0.4 to 2.7, and s^2 / R between low and high."""
    n1, n2 = np.exp(draws.uniform(-1, 1, (2, count)))
    size = np.exp(draws.uniform(*np.log([low, high]), count))
    return np.array([size * np.hypot(n1, n2) ** 3 / (n1 * n2) ** 2, n1, n2])


def slopes(outputs):
    return LOGISTIC.slope(outputs, np.array([1.0, -1.0]))


families = [(0.02, 0.1), (0.1, 0.7), (0.7, 2)]  # small, ordinary, large logits
cases = np.hstack([settings(generator(10 + k), *sizes) for k, sizes in enumerate(families)])
norms, points, draws = cases[1:], [], generator(13)
for case in cases.T:
    half = curve(case, draws.choice([-1, 1]), reach=2 * np.sqrt(case[0]))
    points.append(half.sol(half.t[-1] - draws.uniform(0.1, 1.0) / np.hypot(*case[1:])))
points = np.transpose(points)
angles = angle(points, *norms)


def bisected(a, cases, arms=31):
    many = np.repeat(cases, arms, axis=1)
    low, width = np.zeros(len(a)), np.full(len(a), np.pi / 2)
    for _ in range(7):
        width = width / (arms + 1)
        tried = low[:, None] + width[:, None] * np.arange(1, arms + 1)
        states = unroll(tried.ravel(), np.repeat(a, arms), *many)
        first = winners(states, many[1:], generator(14), 300.0).reshape(tried.shape) > 0
        low = low + first.sum(axis=1) * width
    return low + width / 2


found = bisected(points[2], cases)
say(agree=float(np.abs(found - angles).max()))


def linearised(case, draws, h=1e-5):
    """Extreme eigenvalues at the rest, by differences of raw gradients, and the speed there."""
    inputs = pair(*case[1:], rng=draws)
    s = saddle(*case)[0]

    def field(state):
        in_w, in_a = neuron(state, inputs, rng=draws).gradients(inputs, slopes)
        return -np.append(inputs @ in_w[0], in_a)

    rest, steps = np.array([s, s, 0]), h * np.eye(3)
    jacobian = [(field(rest + e) - field(rest - e)) / (2 * h) for e in steps]
    rates = np.sort(np.linalg.eigvals(np.transpose(jacobian)).real)
    return [rates[0], rates[-1], np.abs(field(rest)).max()]


def recipe_order(case, side):
    """The order in epsilon of the recipe's distance from the curve of its own surface."""
    s, gaps = saddle(*case)[0], []
    end = 0.5 * abs(curve(case, side, np.sqrt(case[0])).y[2, -1])
    for epsilon in (1e-3 * s, 1e-4 * s):
        first = np.array([s - side * epsilon, s + side * epsilon, 0.0])
        own = [np.sum(first[:2] ** 2 / case[1:] ** 2), *case[1:]]
        runs = curve(own, side, end, first), curve(own, side, end)
        gaps.append(np.subtract(*(angle(run.y[:, -1], *case[1:]) for run in runs)))
    return np.log10(gaps[0] / gaps[1])


_, stable, unstable = saddle(*cases)
undamped = np.array([-0.5, 0.5, 0])[:, None] * np.hypot(*norms)
flat = np.arccos(-points[2] / np.sqrt(cases[0] + points[2] ** 2)) - np.arctan2(*norms[::-1])
verify_all(
    verify(
        "combes2018-thm-3.4-saddle",
        measured=np.transpose([linearised(case, generator(15)) for case in cases.T]),
        predicted=np.stack([stable, unstable, 0 * stable]),
        atol=1e-7,
        because="second order in a step of 1e-5, and rounding over that step",
        control=Variant("no damping, as at zero logits", predicted=undamped, share=0.6),
    ),
    verify(
        "combes2018-thm-3.4-curve",
        measured=found,
        predicted=angles,
        atol=1e-9,
        because="seven sections by 32 leave 5e-11; the integrators' 1e-11 a step",
        control=Variant("the plane of small starts", predicted=flat, share=1),
    ),
    verify(
        "combes2018-a.8-recipe",
        measured=[recipe_order(case, side) for case in cases.T for side in (-1, 1)],
        predicted=np.repeat(1 + unstable / -stable, 2),
        atol=0.02,
        because="the next order is smaller by a power of epsilon, below 1e-3 here",
        control=Variant("an error as large as epsilon", predicted=1.0, share=1),
    ),
)


# %%NBQA-CELL-SEP476b88
def side(start, case):
    """The winner foretold by the curve, for one start with c > 0."""
    half = curve(case, np.sign(start[2]), abs(start[2]))
    if abs(half.y[2, -1]) < 0.999999 * abs(start[2]):  # the curve has left the strip before
        return np.sign(start[2])
    return np.sign(angle(half.y[:, -1], *case[1:]) - angle(start, *case[1:]))


def scattered(cases, draws):
    phi, a = draws.uniform([[0], [-2]], [[np.pi / 2], [2]], (2, len(cases[0])))
    return unroll(phi, a * np.sqrt(cases[0]), *cases)


draws = generator(30)
unit = np.ones((3, 15))  # norms 1 and c = 1, as in the paper's figures
close = [unroll(angles + gap, points[2], *cases) for gap in (-1e-5, 1e-5)]
tried = np.hstack([scattered(cases, draws), *close, scattered(unit, draws)])
theirs = np.hstack([cases, cases, cases, unit])
told = [side(start, case) for start, case in zip(tried.T, theirs.T)]
minus_c = np.repeat([0, 1, 25], 5) * draws.uniform(1, 2, 15)  # c = 0, -1 to -2, -25 to -50
minus_c, hard_norms = np.append(minus_c, unit[0]), np.hstack([norms, unit[:2]])
hard = hard_norms * draws.exponential(1, (2, 30)) * np.repeat([1, 1, 0.003, 1, 1, 1], 5)
hard[0, :5] *= 0.01  # class +1 has little but the sign of a
hard = np.array([*hard, np.sqrt(np.sum((hard / hard_norms) ** 2, axis=0) + minus_c)])
won = winners(tried, theirs[1:], generator(31)), winners(hard, hard_norms, generator(32))
exact = {"because": "a winner is one of two numbers"}
plane = np.sign(tried[0] - tried[1] + np.hypot(*theirs[1:]) * tried[2])
larger = [np.sign(starts[0] - starts[1]) for starts in (tried, hard)]
both, larger_both = (np.append(z[0][45:], z[1][15:]) for z in (won, larger))
verify_all(
    verify(
        "combes2018-thm-3.4-regions",
        measured=won[0],
        predicted=told,
        control=Variant("the plane of small starts", predicted=plane, share=0.1),
        **exact,
    ),
    verify(
        "combes2018-thm-3.4-negative",
        measured=won[1],
        predicted=1.0,
        control=Variant("the larger response wins", predicted=larger[1], share=0.2),
        **exact,
    ),
    verify(
        "combes2018-fig-7",
        measured=both,
        predicted=[*told[45:], *unit[0]],
        control=Variant("the larger response wins", predicted=larger_both, share=0.1),
        **exact,
    ),
)


# %%NBQA-CELL-SEP476b88
def swap(z):
    return np.stack([z[..., 1, :], z[..., 0, :], -z[..., 2, :]], axis=-2)


def squares(z, by):
    return np.sum((z[..., :2, :] / by) ** 2, axis=-2) - z[..., 2, :] ** 2


begun, times = tried[:, :15], [0.5, 1.0, 2.0]
size = np.sqrt(cases[0] + begun[2] ** 2)
moved = forward(begun, norms, times, generator(34))
mirrored, unswapped = (
    forward(swap(begun), by, times, generator(35)) / size for by in (norms[::-1], norms)
)
inputs = pair(*hard_norms, rng=draws)
in_w = neuron(hard, inputs, rng=draws).gradients(inputs, slopes)[0][:, 0]
fall = -np.sum(in_w * inputs[:, 1], axis=1) / hard_norms[1] ** 2
bare = (squares(moved, 1) - squares(begun, 1)) / size**2
same_sign = swap(moved) / size * [[1], [1], [-1]]
steps = {"atol": 1e-8, "because": "the integrator's 1e-11 a step over some hundred steps"}
verify_all(
    verify(
        "combes2018-thm-3.4-invariant",
        measured=(squares(moved, norms) - cases[0]) / size**2,
        predicted=0.0,
        control=Variant("the squares without the norms", measured=bare, share=0.9),
        **steps,
    ),
    verify(
        "combes2018-sym",
        measured=mirrored,
        predicted=swap(moved) / size,
        control=Variant("a keeps its sign", predicted=same_sign, share=0.3),
        printed=Variant("the norms stay where they are", measured=unswapped, share=0.9),
        **steps,
    ),
    verify(
        "combes2018-a.8-rate",
        measured=fall,
        at_most=-np.sqrt(minus_c) / 2,
        rtol=1e-12,
        because="rounding of one gradient",
        control=Variant("without the half", at_most=-np.sqrt(minus_c), share=0.2),
        printed=Variant("c for its root", at_most=-minus_c / 2, share=0.1),
    ),
)


# %%NBQA-CELL-SEP476b88
acute = np.array([[1.0, 0.0], [0.5, np.sqrt(0.75)]])
start = TwoLayer([[0.5, 0.2]], [0.5])
slide = gradient_flow(start, acute, [1, -1], LOGISTIC, until=200.0, reduction="sum")
say(held=float(slide.network_at().preactivations(acute)[1, 0]), touch=slide.events[0].time)


# %%NBQA-CELL-SEP476b88
say(seconds=process_time() - started)
