# %%NBQA-CELL-SEP476b88
from time import process_time

import matplotlib.pyplot as plt
import numpy as np
import sympy as sp
from scipy.stats import norm

from executable_claims import Variant, verify
from lib import figures
from lib.flow.weights import weights_flow
from lib.prose import say
from lib.seeds import generator
from lib.theory.two_inputs import neuron, pair
from lib.training.descent import gradient_descent
from lib.training.losses import LOGISTIC

figures.use_style()
started = process_time()


# %%NBQA-CELL-SEP476b88
def plane(alpha, beta, a, n1, n2, p=0.5):
    return p * alpha - (1 - p) * beta + np.hypot(p * n1, (1 - p) * n2) * a


def bend(alpha, beta, a, n1, n2, p=0.5):
    q, R = 1 - p, np.hypot(p * n1, (1 - p) * n2)
    S = p * q * (q * n2**2 * alpha + p * n1**2 * beta) / R**2
    return a * S**2 / (4 * p * q) + a**2 * S * (q * n2**2 - p * n1**2) / (6 * R)


def won_share(n1, n2, p=0.5):
    first, second = np.array([p * n1, (1 - p) * n2]) / np.hypot(p * n1, (1 - p) * n2)
    return 0.5 + (np.arcsin(first / 2**0.5) - np.arcsin(second / 2**0.5)) / np.pi


# %%NBQA-CELL-SEP476b88
def winners(states, n1, n2, p, draws, horizon, **accuracy):
    """+1 or -1, shape (k,): the class that captures, by raw weights; time counts in 1/R."""
    n1, n2, p = (np.broadcast_to(each, len(states[2])) for each in (n1, n2, p))
    rates = np.transpose([p, 1 - p] / np.hypot(p * n1, (1 - p) * n2))
    inputs = pair(n1, n2, rng=draws)
    # Until the capture the ReLU passes both inputs, as the linear network does.
    at, times = neuron(states, inputs, rng=draws, slope=1.0), [0, horizon]
    run = weights_flow(at, inputs, [1, -1], LOGISTIC, times, rates=rates, **accuracy)
    return np.sign(run.a[-1, :, 0])


def starts(scale, n1, n2, draws, count):
    """Normal starts that are active on both inputs, (3, count)."""
    states = scale * draws.standard_normal((3, count)) * [[n1], [n2], [1.0]]
    states[:2] = np.abs(states[:2])
    return states


def simulated_share(n1, n2, p, draws, count, scale=0.05):
    """Share of small starts that class +1 wins."""
    few = starts(scale, n1, n2, draws, count)
    return np.mean(winners(few, n1, n2, p, draws, 40.0, rtol=1e-6) > 0)


# %%NBQA-CELL-SEP476b88
fig, axes = figures.panels(1)
frequencies, fine = np.linspace(0.05, 0.95, 7), np.linspace(0.001, 0.999, 200)
off = []
for n1, n2, colour in ((1.0, 1.0, figures.SIMULATION), (1.5, 0.6, figures.CONTRAST)):
    dots = [simulated_share(n1, n2, p, generator(1), 600) for p in frequencies]
    axes.plot(frequencies, dots, "o", color=colour, markersize=5)
    off += [dot - won_share(n1, n2, p) for dot, p in zip(dots, frequencies)]
    axes.plot(fine, [won_share(n1, n2, p) for p in fine], **figures.DASHED)
axes.annotate("norms 1.5 and 0.6", (0.03, 0.68), color=figures.CONTRAST)
axes.annotate("equal norms", (0.62, 0.42), color=figures.SIMULATION)
axes.set(xlabel="frequency $p$ of class $+1$", ylabel="share won by class $+1$")
say(nine=100 * float(won_share(1.0, 1.0, 0.9)), off=float(np.abs(off).max()))
plt.show()


# %%NBQA-CELL-SEP476b88
a0, S, p, q, m, n, R, t = sp.symbols("a_0 S p q m n R t", positive=True)
a = a0 * sp.exp(-R * t / 2)
alpha, beta = S / p - p * m**2 * a / R, S / q + q * n**2 * a / R
N = a**2 * (q**2 * n**2 * beta - p**2 * m**2 * alpha) / 4
N -= R * a * (p * alpha**2 + q * beta**2) / 4
v0 = -sp.integrate(sp.expand(sp.exp(-R * t / 2) * N), (t, 0, sp.oo))
law = a0 * S**2 / (4 * p * q) + a0**2 * S * (q * n**2 - p * m**2) / (6 * R)
assert sp.simplify((v0 - law).subs(q, 1 - p)) == 0
"the integral is the bend"


# %%NBQA-CELL-SEP476b88
def borders(alpha, beta, n1, n2, p, draws, arms=31):
    """The output weights at which the winner changes, by trying networks; arrays of cases."""
    R = np.hypot(p * n1, (1 - p) * n2)
    flat = -plane(alpha, beta, 0.0, n1, n2, p) / R
    half = 4 * np.abs(bend(alpha, beta, flat, n1, n2, p)) / R
    low, width = flat - half, 2 * half
    many = [np.repeat(each, arms) for each in (alpha, beta, n1, n2, p)]
    for _ in range(4):
        width = width / (arms + 1)
        tried = low[:, None] + width[:, None] * np.arange(1, arms + 1)
        states = [*many[:2], tried.ravel()]
        won = winners(states, *many[2:], draws, 90.0, rtol=1e-12, atol=1e-15)
        low = low + (won.reshape(tried.shape) < 0).sum(axis=1) * width
    return low + width / 2


# Any weights; one class rare; one response far larger than the other.
kinds = [((0.3, 0.7), (0.5, 2)), ((0.03, 0.1), (0.5, 2)), ((0.3, 0.7), (5, 20))]
cases = []
for kind, (rare, apart) in enumerate(kinds):
    draws = generator(10 + kind)
    for _ in range(5):
        (n1, n2), p = np.exp(draws.uniform(-1, 1, 2)), draws.uniform(*rare)
        p = draws.choice([p, 1 - p])
        larger = draws.uniform(*apart) ** draws.choice([-1, 1])
        alpha = (
            0.03 * np.sqrt(np.hypot(p * n1, (1 - p) * n2) * (1 - p) / p) / max(larger, 1)
        )
        cases.append((alpha, alpha * p / (1 - p) * larger, n1, n2, p))
alpha, beta, *others = np.transpose(cases)
found = []
for size in (1, 0.5):
    a = borders(size * alpha, size * beta, *others, generator(13))
    state = (size * alpha, size * beta, a, *others)
    n1, n2, p = others
    first_term = p * (1 - p) * ((1 - p) * n2**2 * state[0] + p * n1**2 * state[1]) ** 2
    first_term *= a / 4 / np.hypot(p * n1, (1 - p) * n2) ** 4
    found.append(plane(*state) / np.array([bend(*state), first_term]))
ratios, first_terms = (4 * found[1] - found[0]) / 3
verify(
    "combes2018-ours-plane",
    measured=ratios,
    predicted=1.0,
    atol=2e-5,
    because="four sections by 32 leave 6e-6 in both sizes; the second correction is the square of "
    "the first, 1e-4",
    control=Variant("the first term alone", measured=first_terms, share=0.8),
)


# %%NBQA-CELL-SEP476b88
count, settings, few = 500, [], []
for kind, rare in enumerate([(0.3, 0.7), (0.01, 0.1), (0.9, 0.99)]):
    draws = generator(20 + kind)
    for _ in range(5):
        (n1, n2), p = np.exp(draws.uniform(-1, 1, 2)), draws.uniform(*rare)
        few.append(starts(0.05, n1, n2, draws, count))
        settings.append((n1, n2, p))
n1, n2, p = np.transpose(settings)
many = (np.repeat(each, count) for each in (n1, n2, p))
won = winners(np.hstack(few), *many, generator(23), 40.0, rtol=1e-6).reshape(15, count)
by_pull = p * n1 / (p * n1 + (1 - p) * n2)
verify(
    "combes2018-ours-share",
    measured=(won > 0).mean(axis=1),
    predicted=won_share(n1, n2, p),
    atol=float(norm.isf(1e-4 / 30)) * 0.5 / np.sqrt(count) + 2e-3,
    because="the binomial law of fifteen shares, a false alarm in 1e4 runs, and the bend",
    control=Variant("in proportion to p |x|", predicted=by_pull, share=0.4),
)


# %%NBQA-CELL-SEP476b88
def wrong_share(n1, n2, grid=300):
    """Share of normal starts between plane and surface, over their variance."""
    half_normal = norm.isf((np.arange(grid) + 0.5) / grid / 2)
    alpha, beta, R = n1 * half_normal[:, None], n2 * half_normal, np.hypot(n1, n2) / 2
    a = (beta - alpha) / (2 * R)
    return np.mean(norm.pdf(a) * np.abs(bend(alpha, beta, a, n1, n2))) / R


def simulated_wrong(scale, n1, n2, draws, count=400):
    """The same, by raw networks in a band of three times the predicted width about the plane."""
    (alpha, beta, _), R = starts(1.0, n1, n2, draws, count), np.hypot(n1, n2) / 2
    flat = (beta - alpha) / (2 * R)
    band = 3 * scale**2 * np.abs(bend(alpha, beta, flat, n1, n2)) / R
    a = flat + band * draws.uniform(-1, 1, count)
    actual = winners(scale * np.array([alpha, beta, a]), n1, n2, 0.5, draws, 400.0)
    return np.mean(2 * band * norm.pdf(a) * (actual != np.sign(a - flat)))


fig, axes = figures.panels(1, height=2.6)
scales = np.geomspace(0.05, 1.0, 6)
wrong = np.array([simulated_wrong(scale, 1.5, 0.6, generator(42)) for scale in scales])
law = wrong_share(1.5, 0.6) * scales**2
axes.loglog(scales, wrong, "o", color=figures.SIMULATION)
axes.loglog(scales, law, **figures.DASHED)
axes.set(xlabel="standard deviation of the weights", ylabel="wrong share")
say(tenth=float(wrong_share(1.5, 0.6)), gap=100 * float(np.abs(wrong / law - 1)[:3].max()))
say(one=100 * float(wrong[-1]))
plt.show()


# %%NBQA-CELL-SEP476b88
draws, p = generator(70), 0.8
few = starts(0.05, 1.5, 0.6, draws, 400)
actual = winners(few, 1.5, 0.6, p, draws, 100.0)
told = np.sign(plane(*few, 1.5, 0.6, p))
say(tilted=100 * float(np.mean(told != actual)))
say(level=100 * float(np.mean(np.sign(plane(*few, 1.5, 0.6)) != actual)))
x = pair(1.5, 0.6, rng=draws)
order = (draws.random((1000, 400)) >= p).astype(int)
network = neuron(few, x, rng=draws)
run = gradient_descent(network, x, [1, -1], LOGISTIC, step=0.1, steps=1000, samples=order)
say(noisy=100 * float(np.mean(np.sign(run.network.a[:, 0]) != told)))


# %%NBQA-CELL-SEP476b88
say(seconds=process_time() - started)
