# %%NBQA-CELL-SEP476b88
from time import process_time

import matplotlib.pyplot as plt
import numpy as np
from scipy.integrate import solve_ivp
from scipy.special import expi, expit

from executable_claims import Variant, verify
from lib import figures
from lib.prose import say
from lib.seeds import generator

figures.use_style()
COLOURS = plt.rcParams["axes.prop_cycle"].by_key()["color"]
started = process_time()


# %%NBQA-CELL-SEP476b88
def softmax_margins(W, A, x, times):
    """Margins of all outputs k below the true one, shape (times, input, output)."""

    def velocity(_time, state):
        W, A = state.reshape(2, *x.shape)
        hidden = np.maximum(x @ W.T, 0)  # row k: all neurons on the input of class k
        powers = np.exp(hidden @ A.T)
        error = np.eye(len(x)) - powers / powers.sum(axis=1, keepdims=True)
        return np.append((error @ A * (hidden > 0)).T @ x, error.T @ hidden)

    start, options = np.append(W, A), {"method": "DOP853", "rtol": 1e-10, "atol": 1e-12}
    states = solve_ivp(velocity, (0, times[-1]), start, t_eval=times, **options).y.T
    split = states.reshape(-1, 2, *x.shape)
    outputs = np.maximum(x @ split[:, 0].swapaxes(1, 2), 0) @ split[:, 1].swapaxes(1, 2)
    return np.diagonal(outputs, axis1=1, axis2=2)[..., None] - outputs


def draw_classes(C, draws, obtuse, unlike=0.0):
    """Weights, inputs and starts; the first class has norm one and the margin 0.01."""
    sizes = np.exp(np.append(0, draws.uniform(-1, 1, C - 1)))
    u0 = np.exp(np.append(np.log(0.01), draws.uniform(np.log(1e-4), np.log(2), C - 1)))
    cosines = -obtuse * draws.uniform(0, 1 / C, (C, C))
    gram = np.tril(cosines, -1) + np.tril(cosines, -1).T + np.eye(C)
    x = (
        sizes[:, None]
        * np.linalg.cholesky(gram)
        @ np.linalg.qr(draws.normal(size=(C, C)))[0]
    )
    a = np.sqrt(u0 / sizes * np.sqrt(C / (C - 1)))
    on_inputs = np.diag(u0 / a) - draws.uniform(0, 0.1, (C, C)) * (1 - np.eye(C))
    A = np.diag(a) + draws.uniform(-0.3, 0.3, C)
    A -= unlike * a * draws.uniform(0, 1, (C, C)) * (1 - np.eye(C))
    return (on_inputs @ np.linalg.inv(x.T), A, x), sizes, u0


def clock_of(C, u):
    return (C - 1) * np.log(u) + expi(u)


times, first, read = np.linspace(0.5, 10, 20), {}, []
for C in (2, 3, 10, 100):
    for k in range(6 if C < 100 else 2):
        network, sizes, u0 = draw_classes(C, generator(100 * C + k), obtuse=k % 2)
        u = np.diagonal(np.roll(softmax_margins(*network, times), -1, 2), axis1=1, axis2=2)
        first[C] = u[:, 0]
        read.append((clock_of(C, u) - clock_of(C, u0)) / (2 * sizes * times[:, None]))
        read[-1] /= np.sqrt(C * (C - 1))
classes = np.concatenate([np.full(one.shape, one.shape[1]) for one in read], axis=1)
read = np.concatenate(read, axis=1)


# %%NBQA-CELL-SEP476b88
fig, axes = figures.panels(1)
grid, steepest = np.geomspace(0.01, 9, 3000), {}
for C, colour in zip(first, COLOURS, strict=True):
    axes.plot(times, expit(first[C] - np.log(C - 1)), ".", color=colour)
    passed = (clock_of(C, grid) - clock_of(C, 0.01)) / (2 * np.sqrt(C * (C - 1)))
    P = expit(grid - np.log(C - 1))
    axes.plot(passed, P, **figures.DASHED)
    axes.annotate(f"$C={C}$", (0.1, 1 / C + 0.025), color=colour)
    slopes = np.gradient(P, passed)
    steepest[f"slope_{C}"], steepest[f"when_{C}"] = slopes.max(), passed[slopes.argmax()]
    steepest[f"late_{C}"] = passed[slopes.argmax()] - np.interp(0.1, grid, passed)
axes.set(xlabel="time", ylabel="probability of the class", xlim=(-0.2, 10.2))
say(**steepest)
plt.show()


# %%NBQA-CELL-SEP476b88
verify(
    "combes2018-ours-classes",
    measured=read,
    predicted=1.0,
    rtol=1e-7,
    because="some hundred steps, each wrong by 1e-10 of u, times the sensitivity of the clock, about ten",
    control=Variant(
        "the gain 1 of one output in the second layer",
        measured=read * np.sqrt(classes / (classes - 1)),
        share=1.0,
    ),
)


# %%NBQA-CELL-SEP476b88
ages, found = np.array([0, 1e-4, 10, 10 + 1e-4]), []
for k in range(5):
    network, sizes, _ = draw_classes(5, generator(900 + k), obtuse=0, unlike=2.0)
    below = np.exp(-softmax_margins(*network, ages)).sum(axis=2) - 1  # 1 / P - 1
    clock = clock_of(5, np.log(4 / below))
    found.append((clock[1::2] - clock[::2]) / 1e-4 / (2 * sizes * np.sqrt(20)))
found = np.concatenate(found, axis=1)
say(slow=found[0].min(), fast=found[0].max())
say(slow_late=found[1].min(), fast_late=found[1].max())


# %%NBQA-CELL-SEP476b88
say(seconds=process_time() - started)
