# %%NBQA-CELL-SEP476b88
from time import process_time

import matplotlib.pyplot as plt
import numpy as np

from executable_claims import Variant, verify, verify_all
from lib import figures
from lib.flow import gradient_flow
from lib.models.two_layer import Start
from lib.prose import say
from lib.seeds import generator
from lib.theory.orthogonal import aligned_groups, class_directions, two_plateaus
from lib.training.descent import gradient_descent
from lib.training.losses import SQUARE

figures.use_style()
started = process_time()


# %%NBQA-CELL-SEP476b88
pair_inputs, pair_labels = np.array([(-0.5, 1.0), (2.0, 1.0)]), np.array([-1.0, 1.0])
scale = np.log(1e-6 / np.sqrt(60))


def pair_start(log_scale, seed=0):
    return Start.gaussian(60, 2, log_scale, rng=generator(seed))


def flow_of(start):
    theory = two_plateaus(start, pair_inputs, pair_labels)
    until = max(theory.half_times) + 30 / min(theory.rates)
    return theory, gradient_flow(start, pair_inputs, pair_labels, SQUARE, until=until)


# %%NBQA-CELL-SEP476b88
theory, run = flow_of(pair_start(scale))
limit = Start(theory.directions, theory.log_norms, theory.signs).network()
positive = theory.signs > 0
saddle = limit.with_weights(limit.w * positive[:, None], limit.a * positive)
numbers = np.linspace(-3, 4, 141)
points = np.column_stack([numbers, np.ones(141)])
fig, axes = figures.panels(4, height=2.2, sharey=True)
for axis, count, goal in zip(axes, (0, 4000, 8000, 15000), (None, None, saddle, limit)):
    axis.plot(numbers, run.network_at(2e-3 * count)(points), color=figures.SIMULATION)
    axis.plot(numbers, goal(points) if goal else 0 * numbers, **figures.DASHED)
    axis.plot(pair_inputs[:, 0], pair_labels, "o", color=figures.CONTRAST, markersize=4)
    axis.set(title=f"{count}", xlabel="input")
axes[0].set(ylabel="$f$", ylim=(-2.6, 2.6))
left = numbers[(numbers >= -0.5) & (numbers <= 2)]
linear = np.abs(limit(np.column_stack([left, 1 + 0 * left])) - (0.8 * left - 0.6)).max()
say(
    leading=-scale / (np.sqrt(5) / 2),
    linear=float(linear),
    tau_1=theory.half_times.positive,
    tau_2=theory.half_times.negative,
)
plt.show()


# %%NBQA-CELL-SEP476b88
def descended(tick, steps, log_scale=scale, seeds=40):
    """Networks after 4000, 8000 and 15000 steps, and the mean square at every fiftieth.

    A step 1e-3 on 2L is one of 2e-3 on L.
    """
    nets = [pair_start(log_scale, seed).network() for seed in range(seeds)]
    every = range(0, steps + 1, 50)
    run = gradient_descent(
        nets[0].with_weights(np.array([n.w for n in nets]), np.array([n.a for n in nets])),
        pair_inputs,
        pair_labels,
        SQUARE,
        step=tick,
        steps=steps,
        record=lambda net: net,
        record_at=every,
    )
    squares = np.array(
        [((net(pair_inputs) - pair_labels) ** 2).mean(axis=-1) for net in run.recorded]
    )
    return [run.recorded[count // 50] for count in (4000, 8000, 15000)], squares


forces = np.array(class_directions(pair_inputs, pair_labels))
units = forces / np.linalg.norm(forces, axis=1)[:, None]
grouped = np.array(
    [
        [
            np.isin(np.arange(60), group)
            for group in aligned_groups(s.directions, s.signs, pair_inputs, pair_labels)
        ]
        for s in map(lambda seed: pair_start(scale, seed), range(40))
    ]
)


def aligned(net, members):
    """Worst misalignment of the members, and the largest norm, for each start."""
    norms = np.linalg.norm(net.w, axis=-1)
    own = np.where(net.a[..., None] > 0, units[0], -units[1])
    cosines = (net.w * own).sum(axis=-1) / norms
    return np.transpose(
        [1 - np.where(members, cosines, 1).min(axis=-1), norms.max(axis=-1)]
    )


def kinks(net):
    """For each start, the distance of the farthest kink of a grown neuron from where the limit has it."""
    grown = np.abs(net.a) > 0.01 * np.abs(net.a).max(axis=-1, keepdims=True)
    places = -net.w[..., 1] / net.w[..., 0] - np.where(net.a > 0, -0.5, 2.0)
    return np.abs(np.where(grown, places, 0)).max(axis=-1)


def leaves(squares, every=50):
    """Steps at which the two plateaus have been left by a thousandth, and by half of a label."""
    return np.median([(squares > level).sum(axis=0) * every for level in LEVELS], axis=1)


LEVELS = 0.999, 0.499, 0.5 + 0.5 / 4, 0.5 / 4
looks, squares = descended(2e-3, 15000)
slow_looks, slow_squares = descended(1e-3, 28000)
larger_squares = descended(2e-3, 15000, scale + np.log(100))[1]
left_at, slow_left_at, larger_at = map(leaves, (squares, slow_squares, larger_squares))
ends = np.column_stack([looks[2](pair_inputs), kinks(looks[2])])
slow_ends = np.column_stack([slow_looks[2](pair_inputs), kinks(slow_looks[2])])
members = grouped.any(axis=1)
theories = [
    two_plateaus(pair_start(scale, seed), pair_inputs, pair_labels) for seed in range(40)
]
halves = np.array([theory.half_times for theory in theories]) / 2e-3
say(
    spread=halves[:, 0].std(),
    late=float(np.abs(np.median(halves, axis=0) - left_at[2:]).max()),
)
say(early_1=left_at[0], early_2=left_at[1], late_1=left_at[2], late_2=left_at[3])
say(larger_1=larger_at[0], larger_2=larger_at[2])


# %%NBQA-CELL-SEP476b88
half = "the reading of the text, a time of 1e-3 an iteration"
verify_all(
    verify(
        "boursier2022-fig-2b",
        measured=aligned(looks[0], members),
        at_most=0.01,
        because="a hundredth is what a figure shows; forty starts",
        control=Variant(
            "all neurons align, not only the groups",
            measured=aligned(looks[0], np.ones_like(members)),
            share=0.5,
        ),
    ),
    verify(
        "boursier2022-fig-2c",
        measured=looks[1](pair_inputs),
        predicted=np.tile([0.0, 1.0], (40, 1)),
        atol=0.05,
        because="a twentieth of the labels is what a figure shows; forty starts",
        control=Variant(half, measured=slow_looks[1](pair_inputs), share=0.5),
    ),
    verify(
        "boursier2022-fig-2d",
        measured=ends,
        predicted=np.tile([-1.0, 1.0, 0.0], (40, 1)),
        atol=0.05,
        because="a twentieth of the labels is what a figure shows; forty starts",
        control=Variant(half, measured=slow_ends, share=0.3),
    ),
    verify(
        "boursier2022-fig-3",
        measured=[5000.0, 11000.0],
        at_least=left_at[:2],
        at_most=left_at[2:],
        because="medians of forty starts; from a fall by a thousandth to half of the label",
        control=Variant(
            "a start a hundred times larger",
            at_least=larger_at[:2],
            at_most=larger_at[2:],
            share=1.0,
        ),
        printed=Variant(
            half, at_least=slow_left_at[:2], at_most=slow_left_at[2:], share=1.0
        ),
    ),
)


# %%NBQA-CELL-SEP476b88
say(seconds=process_time() - started)
