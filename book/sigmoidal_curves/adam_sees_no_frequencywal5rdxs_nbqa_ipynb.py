# %%NBQA-CELL-SEP476b88
from time import process_time

import matplotlib.pyplot as plt
import numpy as np
from scipy.special import expit
from scipy.stats import t as student

from executable_claims import Variant, verify
from lib import figures
from lib.models.two_layer import TwoLayer
from lib.prose import say
from lib.seeds import generator

figures.use_style()
started = process_time()


# %%NBQA-CELL-SEP476b88
def adam(weights, gradient, rate, steps, eps=1e-14, beta2=0.99):
    """Weights after each step; gradient(weights, k) is that of step k = 0, 1, ..."""
    mean = square = 0.0
    for n in range(1, steps + 1):
        g = gradient(weights, n - 1)
        mean = 0.9 * mean + 0.1 * g
        square = beta2 * square + (1 - beta2) * g**2
        size = np.sqrt(square / (1 - beta2**n)) + eps
        weights = weights - rate * mean / (1 - 0.9**n) / size
        yield weights


# %%NBQA-CELL-SEP476b88
def steps_needed(p, size, u0, rate, picks=None, beta2=0.99):
    """Steps until each kind has confidence 0.95: full batch, or the examples picked (run, step)."""

    def gradient(z, k):
        weight = p if picks is None else picks[:, k, None] == np.arange(len(p))
        return weight * -size * expit(-size * z[0] * z[1]) * z[::-1]

    runs, steps = (1, 10**5) if picks is None else picks.shape
    start = np.sqrt(u0 / size) * np.ones(
        (2, runs, len(p))
    )  # the part of w along x, and |a|
    needed = np.ones((runs, len(p)))
    for z in adam(start, gradient, rate, steps, beta2=beta2):
        below = size * z[0] * z[1] < np.log(19)
        if not below.any():
            return needed
        needed += below
    raise RuntimeError("not all kinds were learnt")


p = np.geomspace(1, 2e-3, 15)
p /= p.sum()
batch = steps_needed(p, 1.0, 0.1, 0.01)[0]
picks = generator(70).choice(15, size=(10, 50_000), p=p)
single = steps_needed(p, 1.0, 0.1, 0.01, picks).mean(axis=0)
w, draws_needed = np.sqrt([0.1, 0.1]), 0  # plain descent, balanced: both weights alike
while w.prod() < np.log(19):
    w, draws_needed = w + 0.1 * expit(-w.prod()) * w[::-1], draws_needed + 1
waits = generator(71).negative_binomial(draws_needed, p, (10, 15)).mean(axis=0)
root = batch * np.sqrt(p + 0.01) / p
fig, axes = figures.panels(1)
rows = [
    ("plain descent, one example", waits + draws_needed, draws_needed / p),
    ("Adam, one example", single, root),
    ("Adam, full batch", batch, 0 * p + batch[0]),
]
for (_, steps, theory), colour in zip(
    rows, (figures.CONTRAST, figures.SIMULATION, figures.THIRD)
):
    axes.loglog(p, steps, "o", color=colour, markersize=4)
    axes.loglog(p, theory, **figures.DASHED)
for (text, *_), at in zip(rows, [(1.25e-2, 2e4), (7e-4, 2.3e3), (7e-4, 200)]):
    axes.annotate(text, at)
axes.axvline(0.01, color=figures.THEORY, linestyle=":")
axes.set(xlabel="frequency", ylabel="steps to confidence 0.95")
say(gap=np.abs(single / root - 1).max(), hundred=batch[0])
plt.show()


# %%NBQA-CELL-SEP476b88
joint, alone, same = [], [], []
for family in range(3):
    for k in range(6):
        draws = generator(80 + 6 * family + k)
        p = [
            np.arange(1.0, 21) ** -3,
            np.geomspace(1, 1e-4, 20),
            draws.exponential(size=20),
        ]
        p, eps, rate = (
            p[family] / p[family].sum(),
            (1e-3, 1e-8)[k % 2],
            (0.005, 0.02)[k // 3],
        )
        sizes, u0 = np.exp(draws.uniform(-1, 1, 20)), np.exp(draws.uniform(-7, 0, 20))
        x, y, a = np.diag(sizes), np.resize([1.0, -1.0], 20), np.sqrt(u0 / sizes)

        def of_network(z, _):
            now = TwoLayer(z[:-1].T, z[-1])
            in_w, in_a = now.gradients(x, -p * y * expit(-y * now(x)))
            return np.vstack([in_w.T, in_a])

        def of_one(z, _):
            return -sizes * expit(-sizes * z[0] * z[1]) * z[::-1]

        *_, network = adam(np.vstack([np.diag(a), y * a]), of_network, rate, 300, eps)
        joint.append([np.diag(network), y * network[-1]])
        for kept, one in ((alone, eps / p), (same, eps)):
            *_, end = adam(np.array([a, a]), of_one, rate, 300, one)
            kept.append(end)


# %%NBQA-CELL-SEP476b88
verify(
    "combes2018-ours-adam",
    measured=joint,
    predicted=np.array(alone),
    rtol=1e-9,
    because="rounding of 300 steps",
    control=Variant("the same epsilon for all kinds", predicted=np.array(same), share=0.6),
)


# %%NBQA-CELL-SEP476b88
ratio, room, plain = [], [], []
for family, p in enumerate(np.array([[0.6, 0.3, 0.1], [0.5, 0.4, 0.1], [0.8, 0.1, 0.1]])):
    for k in range(3):
        draws = generator(120 + 3 * family + k)
        size, u0 = np.exp(draws.uniform(-1, 1, 3)), np.exp(draws.uniform(-7, 0, 3))
        full = steps_needed(p, size, u0, 0.001)[0]
        picks = draws.choice(3, size=(30, int(6 * full.max())), p=p)
        needed = steps_needed(p, size, u0, 0.001, picks) * np.sqrt(p) / full
        error = needed.std(axis=0, ddof=1) / np.sqrt(30)
        ratio.append(needed.mean(axis=0) - 1)
        room.append(student.isf(1e-4 / 54, 29) * error + 0.01 / p + 100 / full)
        plain.append(needed.mean(axis=0) * np.sqrt(p) - 1)


# %%NBQA-CELL-SEP476b88
verify(
    "combes2018-ours-adam-root",
    measured=np.divide(ratio, room),
    predicted=0.0,
    atol=1.0,
    because="units of: sampling error, one draw's share of the memory, the memory's share of the run",
    control=Variant(
        "one over the frequency, as for plain descent",
        measured=np.divide(plain, room),
        share=0.9,
    ),
)


# %%NBQA-CELL-SEP476b88
def slow_kind(p):
    def field(z, _):
        return -p * expit(-z[0] * z[1]) * z[::-1]

    run = adam(np.sqrt([0.1, 0.1]), field, 0.01, 20_000, eps=1e-3)
    return next(n for n, z in enumerate(run, start=1) if z.prod() > np.log(19))


x = np.linalg.qr(generator(90).standard_normal((20, 20)))[0]
p, y = np.arange(1.0, 21) ** -3, np.resize([1.0, -1.0], 20)
p /= p.sum()


def turned(z, _):
    now = TwoLayer(z[:-1].T, z[-1])
    in_w, in_a = now.gradients(x, -p * y * expit(-y * now(x)))
    return np.vstack([in_w.T, in_a])


start, needed = np.sqrt(0.1) * np.vstack([x.T, y]), np.ones(20)
for z in adam(start, turned, 0.01, 3000):
    needed += y * TwoLayer(z[:-1].T, z[-1])(x) < np.log(19)
say(often=slow_kind(0.1), rarely=slow_kind(1e-4), first=needed.min(), last=needed.max())


# %%NBQA-CELL-SEP476b88
say(seconds=process_time() - started)
