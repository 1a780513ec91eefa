# %%NBQA-CELL-SEP476b88
import matplotlib.pyplot as plt
import numpy as np

from lib import figures
from lib.geometry.level_sets import zero_level_set
from lib.seeds import generator
from lib.theory.orthogonal import grouped_start, two_plateaus
from lib.training.descent import gradient_descent
from lib.training.losses import SQUARE

figures.use_style()


# %%NBQA-CELL-SEP476b88
inputs, labels = np.array([(-0.5, 1.0), (2.0, 1.0)]), np.array([-1.0, 1.0])
start = grouped_start(20, inputs, labels, rng=generator(0)).scaled(np.log(1e-4))
step, counts = 10**-1.5, np.unique(np.geomspace(10, 20_000, 300).astype(int))
run = gradient_descent(
    start.network(),
    inputs,
    labels,
    SQUARE,
    step=step,
    steps=int(counts[-1]),
    record=lambda network: SQUARE.value(network(inputs), labels).mean(),
    record_at=counts,
)
trained, times = run.network, step * run.steps

fig, (plane, curve) = figures.panels(2)
colours = {1.0: figures.SIMULATION, -1.0: figures.CONTRAST}
longest = np.linalg.norm(trained.w, axis=1).max()
for w, a in zip(trained.w, trained.a):
    plane.plot(
        *np.outer([0, 1.9 / longest], w).T,
        color=colours[np.sign(a)],
        marker=".",
        markevery=[1],
        linewidth=1,
    )
for x, y in zip(inputs, labels):
    plane.plot(*x, "o", color=colours[y], markersize=9)
    plane.annotate(
        "+" if y > 0 else "−",
        x,
        color="white",
        ha="center",
        va="center_baseline",
        fontweight="bold",
    )
for line in zero_level_set(trained, half_width=2.4):
    plane.plot(*line.T, color=figures.THEORY, linewidth=2.2)
normal = labels / (inputs**2).sum(axis=1) @ inputs
plane.axline((0, 0), (-normal[1], normal[0]), **figures.DASHED)
plane.set(xlim=(-2.4, 2.4), ylim=(-2.4, 2.4), aspect="equal", xlabel="$x$", ylabel="$y$")
curve.semilogx(times, run.recorded, color=figures.SIMULATION)
curve.semilogx(times, two_plateaus(start, inputs, labels).loss(times), **figures.DASHED)
curve.set(xlabel="time (steps made times their length)", ylabel="loss")
plt.show()


# %%NBQA-CELL-SEP476b88
figures.live("explorer")
