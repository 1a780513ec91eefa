# %%NBQA-CELL-SEP476b88
from dataclasses import replace
from time import process_time

import matplotlib.pyplot as plt
import numpy as np
import sympy as sp
from scipy.integrate import solve_ivp

from executable_claims import Variant, verify, verify_all
from lib import figures
from lib.data.synthetic import SEPARABLE, separable_data
from lib.experiments.claims import verify_recorded
from lib.experiments.records import recorded
from lib.experiments.registry import find, quick
from lib.flow.weights import weights_flow
from lib.models.two_layer import TwoLayer
from lib.prose import say
from lib.seeds import book_seed, generator
from lib.theory.alignment import alignment_constants
from lib.training.losses import EXPONENTIAL, TWICE_LOGISTIC

figures.use_style()
started = process_time()


# %%NBQA-CELL-SEP476b88
def duration(w, pull, length, excess):
    """How long the path takes from w to w + length * pull; excess is a^2 - |w|^2."""
    size = np.linalg.norm(pull)
    along = w @ pull / size
    across = np.sqrt(excess + w @ w - along**2)
    until = np.arcsinh((along + length * size) / across)
    return (until - np.arcsinh(along / across)) / size


# %%NBQA-CELL-SEP476b88
def turn(w, sign, inputs, labels, r):
    """The corners of the path from the unit vector w, and the times at them."""
    active, corners, times = inputs @ w > 0, [w], [0.0]
    while True:
        pull = sign * labels[active] @ inputs[active]
        heights, speeds = inputs @ w, inputs @ pull
        nearing = (speeds != 0) & (active != (speeds > 0))
        if not nearing.any():
            return np.array(corners), np.array(times)
        lengths = np.where(nearing, -heights / np.where(nearing, speeds, 1), np.inf)
        k = lengths.argmin()
        times.append(times[-1] + duration(w, pull, lengths[k], r**2 - 1))
        w, active[k] = w + lengths[k] * pull, ~active[k]
        corners.append(w)


# %%NBQA-CELL-SEP476b88
def growth(r, scale, neurons=6, size=np.sqrt(2.6)):
    """When an output reaches ln 2, so that its loss has halved; for large r."""
    factor = size / 4 * neurons * (r * scale) ** 2
    grid = np.linspace(0, np.arcsinh(np.log(2) / factor) / (2 * size), 2000)
    return np.trapezoid(np.exp(factor * np.sinh(2 * size * grid)), grid)


# %%NBQA-CELL-SEP476b88
def simplex(n, mu):
    return np.linalg.cholesky(mu + (1 - mu) * np.eye(n))  # of cosines mu


def unit(v):
    return v / np.linalg.norm(v, axis=-1, keepdims=True)


square = np.array([1.0, 1.0, -1.0, -1.0])
four = square[:, None] * simplex(4, 0.3), square
drawn = unit(generator(1).standard_normal((90, 4)))  # six that see a datum of each class
own = drawn[(drawn @ four[0].T > 0).reshape(90, 2, 2).any(axis=2).all(axis=1)][:6]
both_signs = np.vstack([own, own]), np.repeat([1.0, -1.0], 6)  # the output starts at zero


def frozen_flow(network, inputs, labels, loss, times, **exactness):
    """The flow of the first layer alone: networks with weights (T, m, d) and (T, m)."""

    def slopes(f):
        return loss.slope(f, labels)

    def at(flat):
        return network.with_weights(flat.reshape(network.w.shape), network.a)

    def velocity(_, flat):
        return -at(flat).gradients(inputs, slopes)[0].ravel()

    options = {"method": "DOP853", "t_eval": times, **exactness}
    y = solve_ivp(velocity, (0, times[-1]), network.w.ravel(), **options).y
    shape = (len(times), *network.w.shape)
    return TwoLayer(y.T.reshape(shape), np.broadcast_to(network.a, shape[:2]))


def two_clocks(flow, scale, output, guess):
    """Raw weights: when all are aligned, when a loss has halved, and the mean turn until then."""
    w, signs = both_signs
    network = TwoLayer(scale * w, output * signs)
    clock = np.append(0, np.geomspace(1e-4, 2, 500) * guess)
    run = flow(network, *four, EXPONENTIAL, clock, rtol=1e-6, atol=1e-9 * scale)
    margins = (square * run(four[0])).max(axis=1)
    active = run.w @ four[0].T > 1e-7 * scale
    region = signs[:, None] * square > 0
    aligned = (~active.any(axis=2) | (active == region).all(axis=2)).all(axis=1)
    k = np.argmax(margins > np.log(2))
    halved = np.interp(np.log(2), margins[k - 1 : k + 1], clock[k - 1 : k + 1])
    angles = np.degrees(np.arccos(np.clip((unit(run.w) * w).sum(axis=2), -1, 1)))
    turned_by = np.interp(halved, clock, angles.mean(axis=1))
    return clock[aligned.argmax()] if aligned.any() else np.nan, halved, turned_by


# %%NBQA-CELL-SEP476b88
def clocks(scale, r):
    """The two times in theory, then what raw weights give."""
    turned = max(turn(*one, *four, r)[1][-1] for one in zip(*both_signs))
    guess = min(grown := growth(r, scale), 2 / (r * scale) ** 2)
    return turned, grown, *two_clocks(weights_flow, scale, r * scale, guess)


products = np.geomspace(1e-6, 10, 8)  # r times the square of the scale
ratios = {1e-3: products * 1e6, 1e-2: products[5:] * 1e4}
seen = {at: np.array([clocks(at, r) for r in ratios[at]]) for at in ratios}
fig, (left, right) = figures.panels(2, height=3.2)
turned, grown, aligned_at, halved_at, _ = seen[1e-3].T
for points, colour in ((aligned_at, figures.SIMULATION), (halved_at, figures.CONTRAST)):
    left.plot(ratios[1e-3], points, "o", color=colour, markersize=4)
left.plot(ratios[1e-3], np.transpose([turned, grown]), **figures.DASHED)
left.set(xscale="log", yscale="log", xlabel="$r$", ylabel="time", ylim=(1e-8, 100))
left.text(1.5, 2e-2, "turned", color=figures.SIMULATION)
left.text(1.5, 10, "grown", color=figures.CONTRAST)
for place, text in ((1e3, r"$1/\lambda$"), (1e6, r"$1/\lambda^2$")):
    left.axvline(place, color=figures.THEORY, linewidth=0.7)
    left.text(1.2 * place, 4, text)
alone = np.array([two_clocks(frozen_flow, one, 1.0, 2.0) for one in products[2:]])
right.plot(products, seen[1e-3][:, -1], "o", color=figures.SIMULATION, markersize=4)
right.plot(products[5:], seen[1e-2][:, -1], "o", color=figures.THIRD, ms=10, mfc="none")
right.plot(products[2:], alone[:, 2], **figures.DASHED)
right.set(xscale="log", xlim=(5e-5, 20), xlabel=r"$r\lambda^2$", ylabel="turn (degrees)")
say(turn_gap=np.abs(aligned_at / turned - 1)[:3].max(), grow_first=grown[0] / halved_at[0])
say(grow_gap=np.abs(grown / halved_at - 1)[1:4].max())
plt.show()


# %%NBQA-CELL-SEP476b88
u, r, X, p, q, y = sp.symbols("u r X p q y", positive=True)
side = sp.asinh((p + u * X) / q) / X  # |w|^2 + excess is (p + u X)^2 + q^2
assert sp.simplify(sp.diff(side, u) ** -2 - (p + u * X) ** 2 - q**2) == 0
assert sp.simplify(r * sp.sinh(X * side.subs({p: 0, q: r})) - u * X) == 0
layers = (sp.cosh(y) + r * sp.sinh(y)) * (r * sp.cosh(y) + sp.sinh(y))
product = r * sp.cosh(2 * y) + (1 + r**2) / 2 * sp.sinh(2 * y)
assert sp.simplify((layers - product).rewrite(sp.exp)) == 0
"a side of the path, the turn from a right angle, and the product of the layers"


# %%NBQA-CELL-SEP476b88
def problem(family, k, m=4):
    draws = generator(k)
    inputs, labels = separable_data(family, int(draws.integers(3, 5)), rng=draws)
    w, signs = draws.standard_normal((40, inputs.shape[1])), np.resize([1.0, -1.0], 40)
    turns = [len(turn(*one, inputs, labels, 1.0)[1]) > 1 for one in zip(unit(w), signs)]
    return unit(w)[turns][:m], signs[turns][:m], inputs, labels


def off_the_corners(w, signs, inputs, labels, r, frozen=False, scale=1e-8):
    """Distance of raw directions from the corners, at the times of turn and at the guess."""
    paths = [turn(*one, inputs, labels, r) for one in zip(w, signs)]
    guesses = [turn(*one, inputs, labels, 1)[1] / r for one in zip(w, signs)]
    clock = np.unique(np.concatenate([times for _, times in paths] + guesses))
    flow = frozen_flow if frozen else weights_flow
    exact = {"rtol": 1e-7, "atol": 1e-10 * scale}
    network = TwoLayer(scale * w, scale * r * signs)
    raw = unit(flow(network, inputs, labels, TWICE_LOGISTIC, clock, **exact).w)

    def off(j, times):
        return raw[clock.searchsorted(times), j] - unit(paths[j][0])

    ours = [np.abs(off(j, times)).max() for j, (_, times) in enumerate(paths)]
    return max(ours), max(np.abs(off(j, times)).max() for j, times in enumerate(guesses))


def in_bound(w, signs, inputs, labels, r):
    """The time of the turn over our bound, and over that of the balanced start divided by r."""
    c, rho = alignment_constants(w, signs, inputs, labels), np.sqrt(r**2 - 1)
    ours = np.arcsinh((1 + 1 / c.mu) / rho) + np.arcsinh(1 / rho)
    balanced = (2 + 3 * np.log1p(1 / c.mu) - np.log(c.zeta_2)) / r
    end = max(turn(*one, inputs, labels, r)[1][-1] for one in zip(w, signs))
    return end * c.kappa * c.x_min / np.array([ours, balanced])


draws = [problem(family, 10 + k) for family in SEPARABLE for k in range(5)]
gaps = [off_the_corners(*one, *way) for one in draws for way in ((3, False), (1e8, True))]
gaps = np.array(gaps)
many = [problem(family, 30 + k, 12) for family in SEPARABLE for k in range(5)]
two = np.array([[1, 0.01], [-1, 0.01]])
many.append((unit(two[1:] + np.array([[0, 1e-8]])), np.ones(1), two, np.array([1.0, -1.0])))
start = np.array([[np.cos(np.pi / 3), -np.sin(np.pi / 3)]]), np.ones(1)
planar = [(*start, simplex(2, mu), np.ones(2)) for mu in (1e-2, 1e-3, 1e-4)]
shares = np.array([in_bound(*one, r) for one in many + planar for r in (1.01, 3, 1e4)])
in_plane = np.array([in_bound(*one, 1e6)[1] for one in planar])
say(path_gap=gaps[:, 0].max(), bound_share=shares[:, 0].max())


# %%NBQA-CELL-SEP476b88
verify_all(
    verify(
        "min2024-ours-axis",
        measured=gaps[:, 0],
        predicted=0.0,
        atol=1e-4,
        because="steps of the integrator err by 1e-7; some hundred steps, and twice that at a corner",
        control=Variant("the balanced clock, r times as fast", gaps[:, 1], share=0.9),
    ),
    verify(
        "min2024-ours-axis-bound",
        measured=shares[:, 0],
        at_most=1.0,
        because="closed forms, to rounding; the raw weights of the check above follow them",
        control=Variant("the balanced bound over r", measured=in_plane, share=1.0),
    ),
)


# %%NBQA-CELL-SEP476b88
both_layers = np.stack([seen[1e-3][5:], seen[1e-2]])[..., [4, 3]].transpose(2, 0, 1)
both_layers[1] *= np.stack([products[5:] / at for at in (1e-3, 1e-2)]) ** 2
frozen = np.broadcast_to(alone[3:, [2, 1]].T[:, None], both_layers.shape)
of_scale = np.broadcast_to(alone[1:3, [2, 1]].T[..., None], both_layers.shape)
verify(
    "min2024-ours-axis-border",
    measured=both_layers,
    predicted=frozen,
    rtol=3e-4,
    because="two grids with steps of 2% err by 1e-4; a changes by half of 1/(r scale)^4, 5e-5",
    control=Variant("the first layer's scale decides", predicted=of_scale, share=0.9),
)


# %%NBQA-CELL-SEP476b88
two_ways = recorded("min2024-figure-12", "test-split")
experiment = find("min2024-figure-12")
kinds = "direction_change", "norm_change"


def descent(step, deviation=1e-6, iterations=700):
    """One start on the images of scikit-learn, by steps of another length."""
    changed = {"step": step, "deviation": deviation, "iterations": iterations}
    return experiment.run(replace(experiment.quick, **changed), (book_seed(0),), "cpu")


rates = np.median([one["first"]["direction_change"] for one in two_ways.metrics], axis=0)
say(rate_start=rates[0], rate_one=rates[1], rate_pass=rates[7], turn_time=50 / rates[0])
say(step_turns=2e-3 * rates[0] / 50, later_turn=np.degrees(2e-3 * rates[1:7].sum() / 50))
say(peak=np.median(two_ways.values("both.direction_peak")))
say(starts=np.median(two_ways.values("both.norms_start")))


def growing(layers, first=0):
    """The rate of the norms when directions turn fastest, over its largest, of each start."""

    def of_start(one):
        turning, norms = (np.array(one[layers][kind])[first:] for kind in kinds)
        return norms[turning.argmax()] / norms.max()

    return lambda metrics: [of_start(one) for one in metrics]


larger = descent(2e-2, deviation=0.03, iterations=350)
rule = "growth begins, in the record, at a twentieth of the largest rate"
images = "MNIST's test images (the paper: its training images)"


def with_both_layers(metrics):
    control = Variant("a start of deviation 0.03", growing("both")(larger))
    found = {"measured": growing("both")(metrics), "at_most": 0.05}
    return dict(**found, because=rule, control=control, data=images)


def with_the_first_alone(metrics):
    control = Variant("from the first step on", growing("first", 1)(metrics), share=0.9)
    printed = Variant("once per pass", growing("first", 7)(metrics), share=0.9)
    found = {"measured": growing("first")(metrics), "at_most": 0.05}
    return dict(**found, because=rule, control=control, printed=printed, data=images)


two_ways


# %%NBQA-CELL-SEP476b88
fig, (left, right) = figures.panels(2, height=2.8, sharey=True)
fine = [(step, descent(step)[0]["first"]) for step in (2e-8, 2e-5)]
fine.append((2e-2, quick("min2024-figure-12")[0]["first"]))
stored = [(2e-3, one["both"]) for one in two_ways.metrics]
for panel, shown in ((left, stored), (right, fine)):
    for kind, colour in zip(kinds, (figures.SIMULATION, figures.CONTRAST)):
        top = max(max(curves[kind]) for _, curves in shown)
        for tick, curves in shown:
            moments = tick * np.array(curves["iterations"])[1:]
            panel.plot(moments, np.array(curves[kind])[1:] / top, color=colour, alpha=0.7)
right.axvspan(0.14, 14, color=figures.THEORY, alpha=0.2, linewidth=0)
left.set(xscale="log", xlabel="time", ylabel="rate, over its largest", title="both layers")
right.set(xscale="log", xlabel="time", title="the first layer alone")
left.text(0.01, 0.6, "directions", color=figures.SIMULATION)
left.text(0.2, 0.85, "norms", color=figures.CONTRAST)
plt.show()


# %%NBQA-CELL-SEP476b88
verify_all(
    verify_recorded("min2024-fig12", with_both_layers, "min2024-figure-12", "test-split"),
    verify_recorded(
        "min2024-fig13", with_the_first_alone, "min2024-figure-12", "test-split"
    ),
)


# %%NBQA-CELL-SEP476b88
fan = unit(generator(3).standard_normal((80, 4))), np.resize([1.0, -1.0], 80)
for name, r in (("flip_half", 0.5), ("flip_tenth", 0.1)):
    network = TwoLayer(1e-8 * fan[0], 1e-8 * r * fan[1])
    end = weights_flow(network, *four, TWICE_LOGISTIC, [0.0, 5.0], rtol=1e-4, atol=1e-15)
    say(**{name: np.mean(end.a[-1] * fan[1] < 0)})
say(lazy_angle=alone[-1, 2])


# %%NBQA-CELL-SEP476b88
say(seconds=process_time() - started)
