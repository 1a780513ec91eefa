# %%NBQA-CELL-SEP476b88
from time import process_time

import matplotlib.pyplot as plt
import numpy as np
import sympy as sp
from scipy.integrate import quad, solve_ivp
from scipy.optimize import brentq, minimize_scalar
from scipy.special import expit, factorial, hyp0f1

from executable_claims import Variant, verify, verify_all
from lib import figures
from lib.prose import say
from lib.seeds import generator

figures.use_style()
started = process_time()


# %%NBQA-CELL-SEP476b88
def arch(u):
    """The b^2 for which the curvature vanishes at the logit u."""
    return u / (3 * expit(u) - 1) - u**2


top = minimize_scalar(lambda u: -arch(u), bounds=(0.1, 0.8), options={"xatol": 1e-12}).x
b_star, u_star = np.sqrt(arch(top)), brentq(arch, 0.5, 1.5, xtol=1e-15)
say(u_star=u_star, p_star=100 * expit(u_star), b_star=b_star)


def zeros(b):
    """The logits u > 0 at which the curve inflects."""
    sides = [(top, u_star + 1e-9)] if b == 0 else [(b**2 / 4, top), (top, u_star)]
    return [brentq(lambda u: arch(u) - b**2, *side) for side in sides if b < b_star]


# %%NBQA-CELL-SEP476b88
n = np.arange(1, 71)  # for R up to 30 and S up to 15: beyond, digits are lost like e^S


def clock(u, b):
    """2 |x| t at the logits u, up to a constant: the series."""
    u, b = (np.asarray(v, dtype=float)[..., None] for v in (u, b))
    large = (np.hypot(b, u) + np.abs(u)) / 2
    R, S = (np.where(v > 0, large, b**2 / (4 * large)) for v in (u, -u))
    B = hyp0f1(n + 1, -(b**2) / 4)
    terms = B * (R**n - (-S) ** n) / (n * factorial(n))
    return ((1 + hyp0f1(1, -(b**2) / 4)) * np.log(R))[..., 0] + terms.sum(axis=-1)


# %%NBQA-CELL-SEP476b88
def train(layer, x, logits):
    """Weights (w_j, a_j), time t, and integral of 2 |x| sigma(-u) dt at the logits, by DOP853."""

    def rate(u, state):
        w, a = np.split(state[:-2].reshape(layer.shape), [-1], axis=1)
        h = w @ x
        gradient = np.column_stack([a * (h > 0)[:, None] * x, np.maximum(h, 0)])
        rest = [1 + np.exp(u), 2 * np.linalg.norm(x)]
        return np.append(gradient, rest) / np.sum(gradient**2)

    begin = layer[:, -1] @ np.maximum(layer[:, :-1] @ x, 0), logits[-1]
    options = {"method": "DOP853", "rtol": 1e-12, "atol": 1e-14, "t_eval": logits}
    run = solve_ivp(rate, begin, np.append(layer, [0, 0]), **options).y.T
    return run[:, :-2].reshape(-1, *layer.shape), run[:, -2], run[:, -1]


# %%NBQA-CELL-SEP476b88
def draw(u0, b, side, draws):
    """An input in three dimensions and a neuron (w, a); c has the sign of the side."""
    x, across = draws.standard_normal((2, 3))
    x *= np.exp(draws.uniform(-3, 3)) / np.linalg.norm(x)
    size, parts = np.linalg.norm(x), (np.hypot(b, u0) + np.array([u0, -u0])) / 2
    plus, minus = 2 * np.sqrt(size * parts) * [1, side]
    across -= (across @ x) * x / size**2
    w = (plus + minus) / 2 * (x / size + across) / size
    return x, size, np.append(w, (plus - minus) / (2 * size))[None]


def inflections(u0, b, side, draws):
    """Logits at which the slope of P(t) has a maximum or minimum, on the way from u0 to 4."""
    x, _, start = draw(u0, b, side, draws)
    u = u0 + (4 - u0) * np.linspace(0, 1, 2000)[1:] ** 2
    slope = np.diff(expit(u)) / np.diff(train(start, x, u)[1])
    bend = np.sign(np.diff(slope))
    k = np.flatnonzero(bend[1:] != bend[:-1]) + 1
    left, middle, right = slope[k - 1], slope[k], slope[k + 1]
    vertex = (left - right) / (left - 2 * middle + right) / 2  # of a parabola
    u = (u[1:] + u[:-1]) / 2
    return u[k] + vertex * (u[k + 1] - u[k - 1]) / 2


draws = generator(30)
power, tilted = draws.uniform(-2, -1, (3, 5)), []
widths = [*10 ** (power[0] + 0.9), *(1 - 10 ** power[1]), *(1 + 10 ** (2.5 * power[2] + 3))]
for b in b_star * np.array(widths):
    at = zeros(b) or [0.3, 0.6]
    tilted += [(u0, b) for u0 in (1e-3 * min(b, 1) ** 2, sum(at) / 2, at[-1] + 0.1)]
lows, highs = np.log(np.transpose([(1e-6, 1e-2), (0.1, 0.87), (0.9, 1.25)]))
balanced = [(u0, 0.0) for u0 in np.exp(draws.uniform(lows, highs, (5, 3))).ravel()]
cases = enumerate(balanced + tilted)
seen = {case: inflections(*case, (-1) ** k, draws) for k, case in cases}


# %%NBQA-CELL-SEP476b88
fig, (left, right) = figures.panels(2)
grid = np.geomspace(0.005, 4, 200)
for b, colour in zip((0, 0.2, 0.5, 1), plt.rcParams["axes.prop_cycle"]):
    h, a = (np.sqrt(np.hypot(b, grid[0]) + s * b) for s in (1, -1))
    times = train(np.array([[h, a]]), np.ones(1), grid[1:])[1]
    left.plot(np.append(0, times), expit(grid), **colour, label=f"$b={b:g}$")
    left.plot((clock(grid, b) - clock(grid[0], b)) / 2, expit(grid), **figures.DASHED)
left.legend(loc="lower right", reverse=True, labelcolor="linecolor")
left.set(xlabel="time $t$", ylabel="probability of the class", xlim=(-0.3, 12))
hump = np.linspace(1e-6, u_star - 1e-9, 400)
right.fill_betweenx(hump, 0, np.sqrt(arch(hump)), color=figures.SIMULATION, alpha=0.2)
right.plot(np.sqrt(arch(hump)), hump, **figures.DASHED)
for (_, b), at in seen.items():
    right.plot([b] * len(at), at, "o", color=figures.SIMULATION, markersize=4, zorder=4)
right.annotate("convex", (0.15, 0.33))
right.annotate("concave", (0.55, 0.8))
right.set(xlabel="$b=|c|/2\\|x\\|$", ylabel="logit $u$", xlim=(-0.01, 0.8), ylim=(0, 1.1))
gaps = [np.abs(v - np.array(zeros(b))).min() for (_, b), at in seen.items() for v in at]
say(gap=float(max(gaps)))
plt.show()


# %%NBQA-CELL-SEP476b88
rows = []
for family, (side, low, high) in enumerate([(1, 0.01, 1), (1, -4, -0.1), (-1, 0.01, 1)]):
    draws = generator(10 + family)
    for u0, b in zip(draws.uniform(low, high, 5), np.exp(draws.uniform(-3.5, 2.3, 5))):
        x, size, start = draw(u0, b, side, draws)
        u = u0 + np.array([0.1, 1, 2, 4, 8])
        weights, t, turned = train(start, x, u)
        run = np.vstack([start, weights[:, 0]])
        h, a = run[:, :-1] @ x, run[:, -1]
        begin, ends = np.arcsinh(u0 / b), np.arcsinh(u / b)
        c, R = h**2 - size**2 * a**2, (h + size * a) ** 2 / (4 * size)
        theta = np.log(np.abs((h + size * a) / (h - size * a)))[1:]
        integral = [
            quad(lambda s: 1 + np.exp(b * np.sinh(s)), begin, end)[0] for end in ends
        ]
        row = {"c": c / c[0], "plain": (h**2 - a**2) / (h**2 - a**2)[0]}
        row |= {"theta": theta, "angle": begin + turned, "slow": begin + turned / 2}
        row |= {"swept": -train(start, x, [1e-3 * u0])[2][0]}
        near, lost = np.arcsinh(1e-3 * u0 / b), np.arcsinh(size * u0 / abs(c[0]))
        cosh = np.arccosh((h**2 + size**2 * a**2)[0] / abs(c[0]))
        row |= {"theta0": begin - near, "lost": lost - near, "cosh": cosh - near}
        row |= {"integral": integral, "no_one": integral - ends + begin, "t": 2 * size * t}
        row |= {"series": clock(u, b) - clock(u0, b), "on_R": np.diff(clock(R, 0)).cumsum()}
        rows.append(row)
m = {name: np.array([row[name] for row in rows]) for name in rows[0]}
why = "DOP853 at 1e-12 a step, some hundred steps, read between steps"
ode = {"rtol": 1e-7, "atol": 1e-8, "because": why}
no_norm = Variant("h^2 - a^2, without the squared norm", measured=m["plain"], share=0.7)
half = Variant("the angle at half the speed", predicted=m["slow"], share=0.7)
lost = Variant("|x| u0 / |c|, with the 2 lost", predicted=m["lost"], share=1)
cosh = Variant("the inverse of cosh", predicted=m["cosh"], share=0.3)
vertex = {"predicted": m["theta0"], "control": lost, "printed": cosh}
drop = Variant("the 1 in the integrand dropped", predicted=m["no_one"], share=0.8)
F = Variant("F(R): B_n = 1, and S left out", predicted=m["on_R"], share=0.8)
time, c, series = {"measured": m["t"], **ode}, m["c"], m["series"]
turn = {"measured": m["theta"], "predicted": m["angle"], **ode}
verify_all(
    verify("combes2018-thm-3.2-invariant", measured=c, predicted=1, control=no_norm, **ode),
    verify("combes2018-eq-20", **turn, control=half),
    verify("combes2018-theta0", measured=m["swept"], **vertex, **ode),
    verify("combes2018-eq-22-time", **time, predicted=m["integral"], control=drop),
    verify("combes2018-ours-series", **time, predicted=series, control=F),
)


# %%NBQA-CELL-SEP476b88
u, b, q = sp.symbols("u b q", positive=True)
sigma = 1 / (1 + sp.exp(-u))
speed = sigma * (1 - sigma) ** 2 * sp.sqrt(b**2 + u**2)  # of P, over 2|x|
bend = 3 * u * q * (2 + q) / (2 - q) ** 3 - 6 * q / (2 - q) ** 2 - 2
bound = sp.Rational(3, 2) * (2 + q) - 6 * q - 2 * (2 - q) ** 2
residuals = [
    sp.diff(sp.log(speed), u) - (1 - 3 * sigma + u / (b**2 + u**2)),
    sp.diff(u / (3 * sigma - 1) - u**2, u, 2) - bend.subs(q, sp.exp(-u)),
    bound + 5 - sp.Rational(7, 2) * q + 2 * q**2,
]
assert [sp.simplify(r) for r in residuals] == [0] * 3 and sp.discriminant(bound, q) < 0
"three residuals are zero, and the bound has no real root"


# %%NBQA-CELL-SEP476b88
def summary(cases, inflect):
    """Number of inflections above the start, and the first and the last, or the start."""
    above = [(u0, [at for at in inflect(u0, b) if at > u0]) for u0, b in cases]
    return [[len(at), min(at, default=u0), max(at, default=u0)] for u0, at in above]


found, found_off = (summary(cases, lambda *c: seen[c]) for cases in (balanced, tilted))
theory, theory_off = (summary(cases, lambda _, b: zeros(b)) for cases in (balanced, tilted))
later = summary(balanced, lambda *_: [brentq(lambda u: u - 1 - np.exp(-u), 1, 2)])
twice = summary(tilted, lambda _, b: zeros(2 * b))
one = summary(tilted, lambda *_: [u_star])
always = np.array(theory) * [0, 1, 1] + [1, 0, 0]
on_line, off_line = {"predicted": theory}, {"predicted": theory_off}
on_line["control"] = Variant("where the logit inflects", predicted=later, share=0.6)
on_line["printed"] = Variant("one inflection from any start", predicted=always, share=0.1)
off_line["control"] = Variant("b = |c|/|x|, a factor of 2", predicted=twice, share=0.3)
off_line["printed"] = Variant("one inflection, as for c = 0", predicted=one, share=0.6)
why = "samples are 0.004 apart; its square, times 50 near the top of the arch; counts are exact"
near = {"atol": 1e-3, "because": why}
verify_all(
    verify("combes2018-thm-3.2-sigmoidal", measured=found, **on_line, **near),
    verify("combes2018-fig-2r-shape", measured=found_off, **off_line, **near),
)


# %%NBQA-CELL-SEP476b88
def saved(u0, b, side, draws, logits):
    """1 - t_c / t_0 on inputs of one norm."""
    x, size, start = draw(u0, b, side, draws)
    even = np.append(x / size, 1)[None] * np.sqrt(u0 / size)
    return 1 - np.divide(*[train(one, x, logits)[1] for one in (start, even)])


far, fading, draws = np.array([30.0, 60, 120]), [], generator(60)
widths = draws.uniform([0.5, 1, 2], [1, 2, 3], (5, 3)).ravel()
for k, (b, u0) in enumerate(zip(widths, np.exp(draws.uniform(-4, 1, 15)))):
    fading.append(saved(u0, b, (-1) ** k, draws, far) * 2 * far**2 / b**2)

order = np.tile(12 / far**2, (15, 1))
law, alone = ({"at_least": v - order, "at_most": v + order} for v in (1 + 2 / far, 1))
why = "the next term is (8 - 3 b^2 / 4) / u^2, and the one after it some 6 / u of that"
speeds = Variant("the ratio of the speeds at u: bracket 1", **alone, share=1)
verify("combes2018-fig-2r-c", measured=fading, **law, because=why, control=speeds)


# %%NBQA-CELL-SEP476b88
layer_times, ones, sums = [], [], []
for family, (low, tilts) in enumerate([(-2, (0.1, 2)), (-2, (-0.9, 0.9)), (-7, (0.1, 2))]):
    draws = generator(70 + family)
    for count in draws.integers(3, 9, 5):
        x, size, _ = draw(1, 1, 1, draws)
        h = np.exp(draws.uniform(low, 0, count)) * np.sqrt(size)
        a = h / size * draws.uniform(*tilts, count)
        layer = np.column_stack([np.outer(h, x) / size**2, a])
        idle = layer * [-1, -1, -1, 1] if family == 1 else layer[:0]
        u = h @ a + np.array([0.1, 1, 2, 4, 8])
        layer_times.append(2 * size * train(np.vstack([layer, idle]), x, u)[1])
        together = np.prod([np.linalg.norm(h + s * size * a) for s in (1, -1)])
        for c, table in ((together, ones), (abs(h @ h - size**2 * a @ a), sums)):
            table.append(clock(u, c / (2 * size)) - clock(h @ a, c / (2 * size)))

of = {"predicted": np.array(ones)}
of["control"] = Variant("one with the sum of the c_j", predicted=np.array(sums), share=0.8)
verify("combes2018-ours-equivalent-neuron", measured=layer_times, **of, **ode)


# %%NBQA-CELL-SEP476b88
def gain(u0, b, side, draws):
    """Log of the times to some logits at one norm over those at a larger one, same (h0, a0)."""
    (x, _, start), more = draw(u0, b, side, draws), draws.uniform(1.1, 1.5)
    u = abs(u0) + np.array([0.1, 0.5, 2, 8])
    return np.log(np.divide(*[train(start * [k, k, k, 1], x / k, u)[1] for k in (more, 1)]))


faster, slower = [], []
for family, (side, high) in enumerate([(1, 1), (-1, 1), (1, 0)]):
    draws = generator(80 + family)
    for u0, b in zip(draws.uniform(0, 1, 5), np.exp(draws.uniform(-3, 2, 5))):
        faster.append(gain(high * u0, b, side, draws))
        slower.append(gain(-u0 - 0.1, 0.02 * u0, 1, draws))

why = "a question of signs; the integrator errs by 1e-12 a step"
down = Variant("a negative output weight", measured=slower, share=0.6)
verify("combes2018-fig-2r-norm", measured=faster, at_least=0, because=why, control=down)


# %%NBQA-CELL-SEP476b88
layer = np.array([[0.3, 0.1], [0.3, 0.1], [0.3, -0.9]])
b = np.prod(np.linalg.norm(layer @ [[1, 1], [1, -1]], axis=0)) / 2
say(with_death=train(layer, np.ones(1), [4])[1][0])
say(without_death=(clock(4, b) - clock(np.prod(layer, axis=1).sum(), b)) / 2)
early, late = 100 * saved(0.05, 1.0, 1, generator(90), [0.5, np.log(1e4)])
say(early=early, late=late, seconds=process_time() - started)
