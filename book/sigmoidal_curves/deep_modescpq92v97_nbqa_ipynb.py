# %%NBQA-CELL-SEP476b88
from time import process_time

import matplotlib.pyplot as plt
import numpy as np
from scipy.special import expit

from executable_claims import Variant, verify
from lib import figures
from lib.models.deep import diagonal, gradients, outputs
from lib.prose import say
from lib.seeds import generator

figures.use_style()
started = process_time()


# %%NBQA-CELL-SEP476b88
def trained(layers, x, y, step, steps, **options):
    for _ in range(steps):
        moves = gradients(layers, x, y, **options)
        layers = [w - step * move for w, move in zip(layers, moves)]
    return layers


# %%NBQA-CELL-SEP476b88
fig, both = figures.panels(2, height=2.8, sharey=True)
x, y = np.array([[1.0, 0.0], [-0.48, 0.64]]), np.array([1.0, -1.0])
COLOURS = figures.SIMULATION, figures.CONTRAST


def probabilities(signs, rows):
    sizes = np.full((4, 2), 0.5)
    sizes[1:3, 1] *= signs
    layers, kept = diagonal(sizes, x, y), []
    for _ in range(300):
        kept.append(expit(y[rows] * outputs(layers, x[rows])))
        layers = trained(layers, x[rows], y[rows], 0.1, 1)
    return np.transpose(kept)


times = 0.1 * np.arange(300)
for axes, signs, title in zip(
    both, (1, -1), ("signs in the last layer", "signs in each layer")
):
    for curve, colour in zip(probabilities(signs, [0, 1]), COLOURS):
        axes.plot(times, curve, color=colour)
    axes.set(xlabel="time (step size times steps)", title=title)
for k in (0, 1):
    both[0].plot(times, probabilities(1, [k])[0], **figures.DASHED)
both[0].set_ylabel("probability of the true class")
both[1].annotate("class $+1$", (17, 0.9), color=COLOURS[0])
both[1].annotate("class $-1$", (17, 0.53), color=COLOURS[1])
plt.show()


# %%NBQA-CELL-SEP476b88
OWN, LABELS = np.arange(4) < 2, np.array([1.0, 1.0, -1.0, -1.0])
SAME = OWN[:, None] == OWN


def draw_inputs(family, draws):
    """Two inputs a class, in rows: exactly orthogonal classes, or obtuse ones."""
    positive = draws.uniform(0.2, 1, (4, 2))
    if family == 0:
        return np.hstack([positive * OWN[:, None], positive * ~OWN[:, None]])
    around = np.radians(draws.uniform(60, 120, 4) + 180 * ~OWN)  # cones of sixty degrees
    size, height = draws.uniform(0.5, 2, 4), draws.uniform(0.05, 0.2, 4)
    flat = size[:, None] * np.column_stack([np.cos(around), np.sin(around)])
    return np.column_stack([flat, size * height * LABELS, np.zeros(4)])


def draw_network(family, N, x, draws):
    """Weights that obey the conditions; the first layer has a part orthogonal to the data."""
    first = draws.uniform(0.3, 1, (4, 4)) * SAME @ x
    first[:, 3] += (family > 0) * draws.normal(size=4)
    diagonals = draws.uniform(0.7, 1, (N - 2, 4, 1)) * np.eye(4)
    hidden = diagonals + (family == 2) * draws.uniform(0, 0.5, (N - 2, 4, 4)) * SAME
    return first, diagonals, hidden, draws.uniform(0.5, 1, (1, 4)) * LABELS


def summary(layers, x, step, **options):
    """Margins after 100 steps; largest weight between classes, largest loss within one."""
    after = trained(layers, x, LABELS, step, 100, **options)
    inner, before = np.array(after[1:-1]), np.array(layers[1:-1])
    between, loss = np.abs(inner * ~SAME).max(), np.max((before - inner) * SAME)
    return [*(LABELS * outputs(after, x)), between, max(loss, 0.0)]


together, alone, printed, leaky, sloped = [], [], [], [], []
for k, (family, N, step) in enumerate(
    (family, N, step)
    for family in range(3)
    for N in (3, 3, 4, 5, 6)
    for step in (0.05, 1, 50)
):
    draws = generator(100 + k)
    x = draw_inputs(family, draws)
    first, diagonals, hidden, last = draw_network(family, N, x, draws)
    assert np.all((x @ x.T > 0) == SAME) and np.all((first @ x.T > 0) == SAME)
    margins = []
    for part in (OWN, ~OWN):
        inner = [w[np.ix_(part, part)] for w in hidden]
        single = [first[part], *inner, last[:, part]]
        single = trained(single, x[part], LABELS[part], step, 100)
        margins += list(LABELS[part] * outputs(single, x[part]))
    alone.append([*margins, 0.0, 0.0])
    for kept, inner in (
        (together, hidden),
        (printed, diagonals * LABELS),
        (leaky, hidden + 0.01 * ~SAME),
    ):
        kept.append(summary([first, *inner, last], x, step))
    sloped.append(summary([first, *hidden, last], x, step, slope_at_zero=1.0))
small = slice(None, None, 3)  # the step 0.05
margins, leaks, slopes = (np.array(runs)[small] for runs in (alone, leaky, sloped))
say(
    least=float(expit(margins[:, :4].min())),
    leak=float(leaks[:, 4].max()),
    leak_gap=100 * float(np.abs(leaks[:, :4] / margins[:, :4] - 1).max()),
    slope=float(slopes[:, 4].max()),
    slope_gap=float(np.abs(np.array(sloped)[:, :4] / np.array(alone)[:, :4] - 1).max()),
)


# %%NBQA-CELL-SEP476b88
verify(
    "combes2018-b-modes",
    measured=together,
    predicted=alone,
    rtol=1e-10,
    because="rounding in sums of a few products over a hundred steps; weights have no tolerance",
    control=Variant(
        "weights of a hundredth between the classes", measured=leaky, share=0.7
    ),
    printed=Variant("hidden diagonals negative for class -1", measured=printed, share=0.3),
)


# %%NBQA-CELL-SEP476b88
say(seconds=process_time() - started)
