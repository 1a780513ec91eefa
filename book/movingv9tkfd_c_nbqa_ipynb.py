# %%NBQA-CELL-SEP476b88
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import ListedColormap
from scipy.integrate import solve_ivp
from scipy.special import expit

from lib import figures
from lib.flow import gradient_flow
from lib.flow.alignment import alignment_phase
from lib.geometry.level_sets import boundary_angles
from lib.geometry.patterns import regions
from lib.geometry.programs import extended_agreement_program, linear_svm
from lib.models.two_layer import Start
from lib.prose import say
from lib.seeds import generator
from lib.theory.alignment import alignment_constants
from lib.theory.dual import primal_responses, rotation, two_features
from lib.theory.orthogonal import two_plateaus
from lib.training.losses import EXPONENTIAL, LOGISTIC, SQUARE

figures.use_style()


# %%NBQA-CELL-SEP476b88
pair_inputs, pair_labels = np.array([(-0.5, 1.0), (2.0, 1.0)]), np.array([-1.0, 1.0])
pair = Start.gaussian(60, 2, 0.0, rng=generator(0))


def waiting(power):
    """The limit of small scale and the flow from the scale ten to the power of -power."""
    start = pair.scaled(-power * np.log(10))
    theory = two_plateaus(start, pair_inputs, pair_labels)
    until = max(theory.half_times) + 4.5 / min(theory.rates)
    return theory, gradient_flow(start, pair_inputs, pair_labels, SQUARE, until=until)


theory, run = waiting(8)
now, times = 0.57 * run.times[-1], np.linspace(0, run.times[-1], 600)
fig, (loss, plane, function) = figures.panels(3, height=2.4)
loss.plot(times, run.loss(times), color=figures.SIMULATION)
loss.plot(times, theory.loss(times), **figures.DASHED)
loss.plot(now, run.loss([now]), "o", color=figures.SIMULATION)
past = run.at(now * np.linspace(0, 1, 200) ** 3)
radii = 1 + 0.64 * past.log_norms / (8 * np.log(10))
paths = radii[..., None] * past.directions
for groups, colour in zip(theory.groups, (figures.SIMULATION, figures.CONTRAST)):
    plane.plot(*np.moveaxis(paths[:, groups], 2, 0), color=colour, linewidth=0.7, alpha=0.5)
    plane.plot(*paths[-1, groups].T, "o", color=colour, markersize=3)
idle = np.setdiff1d(np.arange(60), np.concatenate(theory.groups))
plane.plot(*paths[-1, idle].T, "o", color=figures.THEORY, markersize=2)
for radius in (0.36, 1):
    plane.add_patch(
        plt.Circle((0, 0), radius, fill=False, edgecolor=figures.THEORY, linewidth=0.5)
    )
grid = np.linspace(-1.7, 3.2, 300)
learned = run.network_at(now)(np.column_stack([grid, np.ones_like(grid)]))
function.plot(grid, learned, color=figures.THEORY)
for x, y, colour in zip(pair_inputs, pair_labels, (figures.CONTRAST, figures.SIMULATION)):
    function.plot(x[0], y, "o", color=colour)
    plane.plot(*(1.12 * x / np.linalg.norm(x)), "o", color=colour)
loss.set(xlabel="time", ylabel="loss", ylim=(0, None))
plane.set(aspect="equal", xlim=(-1.2, 1.2), ylim=(-1.2, 1.2))
plane.axis("off")
function.set(xlabel="$x$", ylabel="$f(x)$", ylim=(-2, 2))
coarse, coarse_run = waiting(2)
times = np.linspace(0, coarse_run.times[-1], 300)
gaps = np.abs(coarse.loss(times) - coarse_run.loss(times)) / coarse_run.loss([0.0])
say(waiting_gap=gaps.max())
plt.show()


# %%NBQA-CELL-SEP476b88
figures.live(
    "two_logistics",
    directions=pair.directions,
    log_norms=pair.log_norms,
    signs=pair.signs,
    inputs=pair_inputs,
    labels=pair_labels,
)


# %%NBQA-CELL-SEP476b88
def circle(angles):
    return np.column_stack([np.cos(np.deg2rad(angles)), np.sin(np.deg2rad(angles))])


degrees, classes = np.array([20, 55, 160, 190]), np.array([1, 1, -1, -1])
starts, signs = 3 * np.arange(120) + 2.2, np.resize([1, -1], 120)
fan = circle(starts)
phase = alignment_phase(fan, signs, circle(degrees), classes)
last = np.array(
    [phase.events.time[phase.events.neuron == j].max(initial=0) for j in range(120)]
)
small = Start(fan, np.full(120, -8 * np.log(10)), signs)
run = gradient_flow(small, circle(degrees), classes, EXPONENTIAL, until=14, reduction="sum")
constants = alignment_constants(fan, signs, circle(degrees), classes)
ours = (2 + 3 * np.log1p(1 / constants.mu) - np.log(constants.zeta_2)) / constants.kappa
printed = 16 * np.log(4) / (min(constants.zeta, constants.xi) * np.sqrt(constants.mu))
fig, (plane, clocks) = figures.panels(2, height=3.0)
turned, ends = (
    phase.at([0.5])[0][0],
    np.where(last > 0.5, "on its way", regions(phase.patterns, classes)),
)
for end, colour, filled in (
    ("on its way", figures.THEORY, "none"),
    ("S+", figures.SIMULATION, "full"),
    ("S-", figures.THIRD, "full"),
    ("dead", figures.THEORY, "full"),
):
    rings = np.where(signs > 0, 1, 0.86)[ends == end, None] * turned[ends == end]
    plane.plot(*rings.T, "o", color=colour, markersize=3, fillstyle=filled)
for x, y in zip(circle(degrees), classes):
    plane.plot(
        *(0.6 * np.stack([0 * x, x]).T),
        color=figures.SIMULATION if y > 0 else figures.THIRD,
    )
plane.set(aspect="equal")
plane.axis("off")
times = np.geomspace(0.1, 14, 300)
clocks.plot(times, (last < times[:, None]).mean(axis=1), color=figures.SIMULATION)
clocks.plot(times, run.loss(times) / 4, color=figures.FOURTH)
for bound, name in ((ours, "our bound"), (printed, "the paper's")):
    clocks.axvline(bound, **figures.DASHED)
    clocks.text(bound, 1.05, name, ha="center")
clocks.text(0.12, 0.9, "aligned", color=figures.SIMULATION)
clocks.text(2, 0.3, "loss", color=figures.FOURTH)
clocks.set(xscale="log", xlim=(0.1, 1e6), ylim=(0, 1.15), xlabel="time")
plt.show()


# %%NBQA-CELL-SEP476b88
figures.live("two_clocks", degrees=degrees, labels=classes, starts=starts, signs=signs)


# %%NBQA-CELL-SEP476b88
SIX = np.array(
    [[2.2, 0.3], [1.8, -0.35], [1.5, 0.05], [-1, 0.1], [-0.8, -0.15], [-1.2, 0.05]]
)
SLOPE, PLACE = 0.1, np.array([-1.0, 1.2])
classes = np.repeat([1.0, -1.0], [4, 3])
first = Start.two_sided(3, 2, 0.0, rng=generator(1), v=3**-0.5).network(SLOPE)


def with_point(place):
    return np.vstack([place, SIX])


def sign_at(place):
    """Of <u, x> by the program for the point x at this place; not a number if no line separates."""
    try:
        solved = extended_agreement_program(with_point(place), classes, SLOPE)
    except ValueError:
        return np.nan
    product = solved.x[2:] @ place / solved.norm
    return np.sign(product) * (abs(product) > 1e-9)


axis = np.linspace(-3, 3, 61)
ground = np.array([[sign_at(np.array([x, y])) for x in axis] for y in axis])
small = first.with_weights(0.01 * first.w, first.a)
options = {"log_until": 30.0, "train": "first", "rtol": 1e-6}
trained = gradient_flow(small, with_point(PLACE), classes, LOGISTIC, **options).network_at()
limit = extended_agreement_program(with_point(PLACE), classes, SLOPE).x.reshape(2, 2)
fig, (left, right) = figures.panels(2, height=3.6)
shades = ListedColormap([figures.THIRD, figures.THEORY, figures.CONTRAST])
left.pcolormesh(
    axis, axis, ground, cmap=shades, alpha=0.16, vmin=-1, vmax=1, rasterized=True
)
for point, mark in zip(SIX, "+++___"):
    colour = figures.SIMULATION if mark == "+" else figures.CONTRAST
    left.plot(*point, mark, color=colour, markersize=9, markeredgewidth=2)
left.plot(*PLACE, "o", color=figures.SIMULATION)
for normal, style in (
    (limit[0] - limit[1], figures.DASHED),
    (linear_svm(with_point(PLACE), classes).x, {"color": figures.FOURTH, "linewidth": 1}),
):
    left.axline((0, 0), (-normal[1], normal[0]), **style)
for ray in np.radians(boundary_angles(trained)):
    left.plot([0, 9 * np.cos(ray)], [0, 9 * np.sin(ray)], color=figures.SIMULATION)
longest = np.linalg.norm(trained.w, axis=1).max()
for neuron, sign in zip(trained.w / longest, np.sign(trained.a)):
    colour = figures.SIMULATION if sign > 0 else figures.CONTRAST
    right.plot(*np.transpose([(0, 0), neuron]), color=colour)
    right.plot(*neuron, "o", color=colour, markersize=5)
circles = limit / np.linalg.norm(limit, axis=1).max()
right.plot(*circles.T, "o", markersize=11, fillstyle="none", color=figures.THEORY)
right.axline((0, 0), (-PLACE[1], PLACE[0]), **figures.DASHED)
left.set(aspect="equal", xlim=(-3, 3), ylim=(-3, 3), xlabel="first coordinate")
right.set(aspect="equal", xlim=(-1.1, 1.1), ylim=(-1.1, 1.1))
right.set(xlabel="neurons over the longest one")
plt.show()


# %%NBQA-CELL-SEP476b88
figures.live("one_point", inputs=SIX, labels=classes[1:], start=first.w)


# %%NBQA-CELL-SEP476b88
def ways(s1, s2, delta, ridge, times):
    """Responses (T, 2) along the gradient flow in the parameters, from zero."""
    u, strengths = rotation(delta), np.array([s1, s2])

    def velocity(_, z):
        return strengths**2 * (u.T @ expit(-u @ z)) - ridge * z

    options = {"method": "LSODA", "rtol": 1e-10, "atol": 1e-12, "t_eval": times}
    return solve_ivp(velocity, (0, times[-1]), np.zeros(2), **options).y.T


def end(s1):
    return primal_responses(two_features(DELTA, s1, S2, RIDGE))


RIDGE, DELTA, S2 = 0.01, 0.5, 2.0
fig, (plane, course) = figures.panels(2, height=3.0)
for strengths, colour in (
    (np.linspace(0.5, S2, 40), figures.THIRD),
    (np.linspace(S2, 5, 60), figures.CONTRAST),
):
    ends = np.array([end(s1) for s1 in strengths])
    plane.plot(*ends.T, color=colour, linewidth=1)
    course.plot(strengths, ends[:, 1], color=colour)
way = ways(3.0, S2, DELTA, RIDGE, np.append(0, np.geomspace(1e-2, 1e4, 200)))
plane.plot(*way.T, color=figures.SIMULATION)
plane.plot([0, 7.4], [0, 7.4 * end(S2)[1] / end(S2)[0]], **figures.DASHED)
plane.plot(*end(3.0), "o", markersize=9, fillstyle="none", color=figures.THEORY)
course.plot(3, end(3.0)[1], "o", color=figures.SIMULATION)
course.axvline(S2, **figures.DASHED)
course.annotate("$s_1=s_2$", (2.1, 0.05))
plane.set(xlim=(0, 10), ylim=(0, 2), xlabel="response $z_1$", ylabel="response $z_2$")
course.set(xlim=(0, 5), ylim=(0, 2), xlabel="strength $s_1$", ylabel="$z_2$ at the end")
plt.show()


# %%NBQA-CELL-SEP476b88
figures.live("starving")
