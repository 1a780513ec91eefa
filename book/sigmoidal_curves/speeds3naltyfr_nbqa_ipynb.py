# %%NBQA-CELL-SEP476b88
from collections import defaultdict
from time import process_time

import matplotlib.pyplot as plt
import numpy as np
import sympy as sp
from scipy.integrate import solve_ivp
from scipy.special import expi, expit

from executable_claims import Variant, verify, verify_all
from lib import figures
from lib.flow.weights import weights_flow
from lib.models.two_layer import TwoLayer
from lib.prose import say
from lib.seeds import generator
from lib.training.losses import LOGISTIC

figures.use_style()
COLOURS = plt.rcParams["axes.prop_cycle"].by_key()["color"]
started = process_time()


# %%NBQA-CELL-SEP476b88
def F(u):
    return np.log(u) + expi(u)


def equal_angles(n, cosine, size, basis):
    """n inputs of one norm, any two of them at the angle of this cosine."""
    return size * (np.sqrt(cosine) * basis[0] + np.sqrt(1 - cosine) * basis[1 : n + 1])


def balanced(x, u0):
    """A neuron with equal pre-activations h on the inputs x, balanced for the summed loss."""
    total = x.sum(axis=0)
    r, s = total @ x[0], len(x)
    h = np.sqrt(u0 * np.sqrt(r / s))
    return TwoLayer([h / r * total], [h * np.sqrt(s / r)])


# %%NBQA-CELL-SEP476b88
fig, (left, right) = figures.panels(2)
times, u0, grid = np.linspace(0, 12, 26), 0.01, np.geomspace(0.01, 8, 200)
rows = [
    (1, 1.0, "one"),
    (4, 0.0, "4 orthogonal"),
    (4, 0.5, "4 at 60°"),
    (4, 1.0, "4 copies"),
]
for (n, cosine, text), colour in zip(rows, COLOURS, strict=True):
    x = equal_angles(n, cosine, 1.0, np.eye(5))
    u = weights_flow(balanced(x, u0), x, np.ones(n), LOGISTIC, times)(x)[:, 0]
    speed = 2 * np.sqrt(n * (1 + (n - 1) * cosine))
    left.plot(times, expit(u), ".", color=colour)
    left.plot((F(grid) - F(u0)) / speed, expit(grid), **figures.DASHED)
    right.plot(times, F(u) - F(u0), ".", color=colour)
    right.plot(times, speed * times, **figures.DASHED)
    right.annotate(text, (12.3, 12 * speed), color=colour, va="center")
left.set(xlabel="time", ylabel="probability of the class", xlim=(-0.3, 12.3))
right.set(xlabel="time", ylabel="clock $F(u)-F(u_0)$", xlim=(0, 18), ylim=(0, 103))
plt.show()


# %%NBQA-CELL-SEP476b88
def rate(q):
    return wrong * (r * a * sp.diff(q, h) + s * h * sp.diff(q, a))


h, a, r, s = sp.symbols("h a r s", positive=True)
wrong = 1 / (1 + sp.exp(a * h))  # sigma(-u)
gap = sp.sqrt(s) * h - sp.sqrt(r) * a
residuals = [
    rate(gap) + sp.sqrt(r * s) * wrong * gap,
    (rate(a * h) - 2 * sp.sqrt(r * s) * a * h * wrong).subs(h, sp.sqrt(r / s) * a),
]
assert [sp.simplify(q) for q in residuals] == [0, 0]
"two residuals are zero"


# %%NBQA-CELL-SEP476b88
T = np.geomspace(0.1, 1e3, 10)


def speeds(network, x, y, clock=F):
    """Speed of the clock of the first input in units of 2|x|, from the flow of all weights."""
    times = np.append(0, T) / 2 / np.linalg.norm(x[0])
    margins = y[0] * weights_flow(network, x, y, LOGISTIC, times)(x)[:, 0]
    return (clock(margins[1:]) - clock(margins[0])) / T


# %%NBQA-CELL-SEP476b88
def join(neurons, signs=1.0):
    """One network of neurons, each with the same part of w perpendicular to the inputs."""
    w, a = (np.vstack([getattr(one, name) for one in neurons]) for name in ("w", "a"))
    return TwoLayer(w + aside, np.multiply(signs, a[:, 0]))


def as_printed(h, a, size, until):
    """Pre-activations and output weights at the end of the equations of Appendix A.4."""

    def sides(z):
        return (z[: len(h)], z[len(h) :], z[: len(h)] @ z[len(h) :])

    def slopes(h, a, u):
        return np.append(size**2 * a * expit(-u), h * np.exp(-u))

    def field(_, z):
        return slopes(*sides(z))

    return sides(
        solve_ivp(field, (0, until), np.append(h, a), rtol=1e-9, atol=1e-12).y[:, -1]
    )


read, counts, cosines = defaultdict(list), [], []
for family, (low, high) in enumerate([(1e-8, 1e-3), (1e-3, 1), (1, 6)]):
    draws = generator(10 + family)
    for _ in range(5):
        basis = np.linalg.qr(draws.standard_normal((8, 8)))[0]
        size, other = np.exp(draws.uniform(np.log(0.05), np.log(20), 2))
        u0, aside = np.exp(draws.uniform(np.log(low), np.log(high))), 0.5 * basis[7]
        n, cosine, angle = draws.integers(2, 6), *draws.uniform((0.05, 0.5), (0.95, 1))
        for key, rho in (("orthogonal", 0.0), ("angles", cosine), ("copies", 1.0)):
            x = equal_angles(n, rho, size, basis)
            read[key].append(speeds(join([balanced(x, u0)]), x, np.ones(n)))
        x = size * basis[:1]
        y = other * (np.cos(np.pi * angle) * basis[:1] + np.sin(np.pi * angle) * basis[1:2])
        both = join([balanced(x, u0), balanced(y, u0 / 2)], [-1, 1])
        for key, clock in (("mirror", F), ("wrong", lambda u: np.log(u) + expi(-u))):
            read[key].append(speeds(both, np.vstack([x, y]), np.array([-1, 1]), clock))
        group = join([balanced(x, share * u0) for share in draws.dirichlet(np.ones(n))])
        read["group"].append(speeds(group, x, np.ones(1)))
        stretch, tilt = draws.uniform(0.5, 2, (n, 1)), draws.uniform(-1, 2, n)
        uneven, until = TwoLayer(stretch * group.w, tilt * group.a), 20 / size
        end = weights_flow(uneven, x, np.ones(1), LOGISTIC, [0, until])
        h, a = uneven.w @ x[0], uneven.a
        found, printed = (end.w[1] @ x[0], end.a[1]), as_printed(h, a, size, until)[:2]
        for key, (h_end, a_end) in (("c", found), ("printed c", printed)):
            moved = h_end**2 - h**2 - size**2 * (a_end**2 - a**2)
            read[key] += (moved / (h_end**2 + size**2 * a_end**2).max()).tolist()
        counts.append([n])
        cosines.append([cosine])
counts, cosines = np.broadcast_to(counts, (15, 10)), np.broadcast_to(cosines, (15, 10))


# %%NBQA-CELL-SEP476b88
accuracy = {
    "rtol": 1e-6,
    "because": "steps good to 1e-10, weights to 1e-13 of 1e-5; a clock near -40, first read at 0.1",
}
roots, twice = np.sqrt(counts), 1 + (counts - 1) * cosines
like_copies = Variant("n times, as for copies", predicted=1.0 * counts, share=1.0)
like_axes = Variant("root n, as for orthogonal inputs", predicted=roots, share=1.0)
one_layer = Variant("1 + (n - 1) rho: the first layer's gain", predicted=twice, share=1.0)
verify_all(
    verify(
        "combes2018-eq-16",
        measured=read["mirror"],
        predicted=1.0,
        control=Variant("clock log|v| + Ei(v)", measured=read["wrong"], share=0.5),
        **accuracy,
    ),
    verify(
        "combes2018-a.4",
        measured=read["group"],
        predicted=1.0,
        control=Variant("m neurons: m times as fast", predicted=1.0 * counts, share=1.0),
        **accuracy,
    ),
    verify(
        "combes2018-a.4-invariant",
        measured=read["c"],
        predicted=0.0,
        atol=1e-6,
        because="some hundred steps of 1e-10, in units of the largest square",
        control=Variant("the equations as printed", measured=read["printed c"], share=0.8),
    ),
    verify(
        "combes2018-a.7-orthogonal",
        measured=read["orthogonal"],
        predicted=roots,
        control=like_copies,
        **accuracy,
    ),
    verify(
        "combes2018-a.7-copies",
        measured=read["copies"],
        predicted=1.0 * counts,
        control=like_axes,
        **accuracy,
    ),
    verify(
        "combes2018-ours-angles",
        measured=read["angles"],
        predicted=np.sqrt(counts * twice),
        control=one_layer,
        **accuracy,
    ),
)


# %%NBQA-CELL-SEP476b88
even, unlike = balanced(np.eye(5), 0.05), np.array([0.2, 0.6, 1.0, 1.4, 1.8])
uneven = TwoLayer(even.w * unlike * np.sqrt(5 / (unlike**2).sum()), even.a)
ages = np.array([0, 0.001, 5, 5.001, 200])
u = weights_flow(uneven, np.eye(5), np.ones(5), LOGISTIC, ages)(np.eye(5))
pace = (F(u[1:4:2]) - F(u[:4:2])) / 0.002 / np.sqrt(5)
say(first=u[0].min(), last=u[0].max(), apart=u[4].max() / u[4].min() - 1)
say(slow=pace[0].min(), fast=pace[0].max())
say(slow_late=pace[1].min(), fast_late=pace[1].max())


# %%NBQA-CELL-SEP476b88
say(seconds=process_time() - started)
