# %%NBQA-CELL-SEP476b88
from time import process_time

import matplotlib.pyplot as plt
import numpy as np
from scipy.integrate import solve_ivp

from executable_claims import Variant, verify, verify_all
from lib import figures
from lib.data.synthetic import orthonormal_classes
from lib.flow import gradient_flow
from lib.flow.alignment import alignment_phase
from lib.geometry.programs import minimum_norm_interpolation
from lib.models.two_layer import Start
from lib.prose import say
from lib.seeds import generator
from lib.theory.orthogonal import class_directions, grouped_start
from lib.training.descent import spherical_descent
from lib.training.losses import SQUARE

figures.use_style()
started = process_time()


# %%NBQA-CELL-SEP476b88
def coefficient(labels, E):
    """The chi of the theorem, and what it would be if no neuron turned."""
    plus = labels > 0
    high, low = np.linalg.norm(labels[plus]), np.linalg.norm(labels[~plus])
    e, c = labels[plus] / high, E[np.ix_(plus, ~plus)] @ -labels[~plus] / low
    seen = (c > 0).astype(float)

    def velocity(_, state):
        zeta, rho, s = *np.split(state[:-1], 2), state[-1]
        ds = 2 * low * (1 - s) * s
        dzeta = seen * (low * (1 - s) * (c - zeta) - rho)
        drho = low * (ds * zeta + s * dzeta) - high * (rho + e * (e @ rho))
        return np.concatenate([dzeta, drho, [ds]])

    begin = np.concatenate([seen * c, 0 * c, [1e-9]])
    end = solve_ivp(velocity, (0, 28 / low), begin, "LSODA", rtol=1e-9, atol=1e-12)
    return low * e @ end.y[: len(c), -1], low * e @ (seen * c)


# %%NBQA-CELL-SEP476b88
def tilted(inputs, E, delta):
    """Unit vectors with the inner products delta E."""
    values, vectors = np.linalg.eigh(np.eye(len(E)) + delta * E)
    return vectors @ np.diag(np.sqrt(values)) @ vectors.T @ inputs


def problem(positive, negative, m, sees, draws):
    """Orthonormal inputs, labels, E with entries up to 1, and a start of scale 1."""
    inputs, labels = orthonormal_classes(positive, negative, 0.5, rng=draws)
    plus = labels > 0
    ratio = np.linalg.norm(labels[~plus]) / np.linalg.norm(labels[plus])
    labels[plus] *= draws.uniform(1.5, 2) * ratio
    E = draws.uniform(-1, 1, (len(labels), len(labels)))
    E = np.triu(E, 1) + np.triu(E, 1).T
    between = sees * np.abs(E[np.ix_(plus, ~plus)])
    E[np.ix_(plus, ~plus)], E[np.ix_(~plus, plus)] = between, between.T
    start = grouped_start(m, inputs, labels, rng=draws)
    while m == 2 and np.abs(start.directions @ inputs.T).min() < 0.1:
        start = grouped_start(m, inputs, labels, rng=draws)
    return inputs, labels, E, start


def excess(inputs, labels, E, start, delta, power):
    """Half the squared norm above the least, from the scale 10^-power, and the run."""
    x = tilted(inputs, E, delta)
    small = start.scaled(-power * np.log(10))
    options = {"until": 1e5, "loss_below": 1e-15, "rtol": 1e-8}
    run = gradient_flow(small, x, labels, SQUARE, **options)
    least = minimum_norm_interpolation(x, labels).value
    return np.exp(2 * run.log_norms[-1]).sum() - least, run


# %%NBQA-CELL-SEP476b88
shown = problem(2, 2, 12, 1, generator(1))
deltas = np.logspace(-5, -1.5, 7)
fig, (axis, losses) = figures.panels(2)
found = {}
for power, colour in ((10, figures.CONTRAST), (20, figures.SIMULATION)):
    found[power] = np.array([excess(*shown, delta, power)[0] for delta in deltas])
    axis.loglog(deltas, found[power], "o", color=colour, markersize=4)
chi, _ = coefficient(shown[1], shown[2])
axis.loglog(deltas, chi * deltas, **figures.DASHED)
level = abs(excess(*shown, 0, 10)[0])
figures.label_curve(axis, 1.2e-5, 2e-4, r"from $10^{-10}$", figures.CONTRAST)
figures.label_curve(axis, 5e-4, 5e-5 * chi, r"from $10^{-20}$", figures.SIMULATION)
axis.set(xlabel=r"$\delta$", ylabel="excess")
for delta, colour in (
    (0, figures.SIMULATION),
    (0.01, figures.THIRD),
    (0.05, figures.CONTRAST),
):
    _, run = excess(*shown, delta, 20)
    times = np.linspace(0, run.times[-1], 500)
    losses.plot(times, run.loss(times), color=colour)
losses.set(xlabel="time", ylabel="loss")
large = found[20][deltas > 1e-4] / (chi * deltas[deltas > 1e-4])
say(law_gap=np.abs(large - 1).max(), floor=level)
plt.show()


# %%NBQA-CELL-SEP476b88
families = [(2, 2, 2, 1), (1, 3, 2, 1), (3, 2, 2, [[1], [-1], [1]])]
pairs, laws = [], []
for k in range(15):
    drawn = problem(*families[k // 5], generator(10 + k))
    pairs.append([excess(*drawn, delta, 20)[0] for delta in (1e-3, 1e-2)])
    laws.append(coefficient(drawn[1], drawn[2]))
pairs, laws = np.array(pairs), np.array(laws)
slopes = np.log10(pairs[:, 1] / pairs[:, 0])
say(least_chi=laws[:, 0].min(), most_chi=laws[:, 0].max())
say(turning=1 - (laws[:, 0] / laws[:, 1]).mean())


# %%NBQA-CELL-SEP476b88
verify_all(
    verify(
        "boursier2022-sec3.2-delta",
        measured=slopes,
        predicted=1.0,
        atol=0.03,
        because="the next order is a few times delta, 1e-2, in a logarithm to base ten",
        control=Variant("an excess of second order", predicted=2.0, share=1.0),
        printed=Variant(
            "once delta is far above lambda the limit is another one", predicted=0.0
        ),
    ),
    verify(
        "boursier2022-ours-delta",
        measured=pairs[:, 0],
        predicted=1e-3 * laws[:, 0],
        rtol=0.02,
        because="the next order is a few times delta, 1e-3; the part left of the idle weights is less",
        control=Variant(
            "the negative group does not turn", predicted=1e-3 * laws[:, 1], share=1.0
        ),
    ),
)


# %%NBQA-CELL-SEP476b88
apart, touching = (
    [excess(*problem(2, 2, 2, sees, generator(30 + k)), 0.05, 20)[0] for k in range(5)]
    for sees in (-1, 1)
)
say(apart=np.abs(apart).max(), touching=min(touching))


# %%NBQA-CELL-SEP476b88
verify(
    "boursier2022-ours-apart",
    measured=apart,
    predicted=0.0,
    atol=1e-6,
    because="a loss of 1e-15 leaves residuals of 1e-7, which the norm follows with a factor of order one",
    control=Variant("positive products between the classes", measured=touching, share=1.0),
)


# %%NBQA-CELL-SEP476b88
def quantised(n, d, draws, steps=6000):
    """Directions in the limit of 500 neurons, and distances of 40 others from them and from class sums."""
    inputs = draws.standard_normal((n, d))
    labels = draws.uniform(0.5, 1.5, n) * np.resize([1, -1], n)
    many = Start.gaussian(500, d, 0.0, rng=draws)
    phase = alignment_phase(many.directions, many.signs, inputs, labels / n, sliding=True)
    rates = phase.asymptotics[0]
    grows = np.isfinite(rates) & (rates > 0)
    limit, _ = phase.at([40 / rates[grows].min()])
    ends = np.unique(np.round(np.column_stack([limit[0], many.signs])[grows], 5), axis=0)
    on_boundary = (np.abs(ends[:, :-1] @ inputs.T) < 1e-4).any(axis=1)
    few = Start.gaussian(40, d, -60 * np.log(10), rng=draws)
    step = 90 / rates[grows].max() / steps
    end = spherical_descent(few, inputs, labels, SQUARE, step=step, steps=steps).network
    grown = end.log_norms > few.log_norms + 12
    sums = np.array(class_directions(inputs, labels)) * [[1], [-1]]
    sums /= np.linalg.norm(sums, axis=1)[:, None]

    def nearest(goals, signs):
        apart = np.linalg.norm(end.directions[grown][:, None] - goals, axis=-1)
        return np.where(few.signs[grown, None] == signs, apart, 2.0).min(axis=1)

    found = nearest(ends[:, :-1], ends[:, -1]), nearest(sums, np.array([1, -1]))
    return *found, len(ends), on_boundary.mean()


sizes = [(5, 2), (6, 4), (8, 6)]
drawn = [quantised(*sizes[k // 5], generator(60 + k)) for k in range(15)]
near_end, near_sum = (np.concatenate([one[k] for one in drawn]) for k in (0, 1))
counts = np.array([one[2] for one in drawn])
say(ends_mean=counts.mean(), ends_most=counts.max())
say(ends_on=np.mean([one[3] for one in drawn]))


# %%NBQA-CELL-SEP476b88
verify(
    "boursier2022-sec3.2-alignment",
    measured=near_end,
    predicted=0.0,
    atol=0.045,
    because="sliding neurons jump across their boundary by a step, 90/6000 of their rate; up to "
    "three boundaries",
    control=Variant("the class sums, as for orthogonal inputs", near_sum, share=0.5),
)


# %%NBQA-CELL-SEP476b88
say(seconds=process_time() - started)
