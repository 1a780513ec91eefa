# %%NBQA-CELL-SEP476b88
from time import process_time

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import linprog

from executable_claims import Variant, verify, verify_all
from lib import figures
from lib.flow import gradient_flow
from lib.models.two_layer import TwoLayer
from lib.prose import say
from lib.seeds import generator
from lib.training.descent import gradient_descent
from lib.training.losses import EXPONENTIAL, HINGE, LOGISTIC, Loss

figures.use_style()
started = process_time()


# %%NBQA-CELL-SEP476b88
def rays(*degrees):
    return np.column_stack([np.cos(np.radians(degrees)), np.sin(np.radians(degrees))])


fig, axes = figures.panels(1, height=3.4)
a = 0.2 * np.repeat([1.0, -1.0], 3)
six, inputs = TwoLayer(0.4 * rays(28, 70, 122, 210, 250, 300), a), rays(65, 115, 215, 295)
inputs *= np.array([1.0, 0.6, 0.8, 1.2])[:, None]
samples = generator(1).integers(4, size=60)
kept = {"record": lambda now: now.w, "record_at": range(61), "samples": samples}
run = gradient_descent(six, inputs, [1, 1, -1, -1], LOGISTIC, step=1.0, steps=60, **kept)
path = np.array(run.recorded)
for j in range(6):
    colour = (figures.SIMULATION, figures.CONTRAST)[j // 3]
    axes.plot(*path[:, j].T, color=colour, linewidth=1.2)
    axes.plot(*path[0, j], "o", color=colour, markersize=3.5)
for n, end in enumerate(inputs):
    colour = (figures.SIMULATION, figures.CONTRAST)[n // 2]
    axes.annotate("", end, (0, 0), arrowprops={"arrowstyle": "->", "color": colour})
for colour, first in ((figures.SIMULATION, 25), (figures.CONTRAST, 205)):
    arc = 2.2 * rays(*range(first, first + 101, 5))
    axes.fill(*np.vstack([[0, 0], arc]).T, color=colour, alpha=0.1, linewidth=0)
axes.annotate("$x$", inputs[0] + [0.06, -0.02], color=figures.SIMULATION)
for edge in 2.2 * rays(25, 125, 205, 305):
    axes.plot(*np.column_stack([[0, 0], edge]), **figures.DASHED)
axes.annotate("class $+1$", (0.65, 1.6), color=figures.SIMULATION)
axes.annotate("class $-1$", (-1.7, -1.5), color=figures.CONTRAST)
axes.set(xlabel="$w_1$", ylabel="$w_2$", aspect="equal")
plt.show()


# %%NBQA-CELL-SEP476b88
def descend(network, x, y, loss, step):
    in_w, in_a = network.gradients(x, lambda f: loss.slope(f, y))
    return TwoLayer(network.w - step * in_w, network.a - step * in_a)


# %%NBQA-CELL-SEP476b88
y, own, d = np.repeat([1.0, -1.0], (5, 2)), np.repeat([1.0, -1.0], 3), 8


def draw(family, rng, tilt=1e-6):
    """Seven inputs that satisfy (H1): "blocks", "rotated", "edge" or "cones"."""
    if family == "cones":
        x = rng.standard_normal((7, d))
        x *= rng.uniform(0.2, 0.99, (7, 1)) / np.linalg.norm(x[:, 1:], axis=1)[:, None]
        x[:, 0] = y
    else:
        block = (y[:, None] > 0) == (np.arange(d) < d // 2)
        x = block * (1e-3 + rng.random((7, d)) ** (6 if family == "edge" else 1))
        x -= (tilt if family == "edge" else 0) * ~block * x.mean(axis=0)
    if family == "rotated":
        x = x @ np.linalg.qr(rng.standard_normal((d, d)))[0]
    return x * np.exp(rng.uniform(-2, 2, (7, 1))) / np.linalg.norm(x, axis=1)[:, None]


def start(x, rng, scale=None):
    """Ten networks with three neurons a class that satisfy (H2) and (H3)."""
    unit, side = x / np.linalg.norm(x, axis=1)[:, None], own[:, None] * y
    pull, w = side @ unit, rng.standard_normal((10, 6, d))
    need = (-side * (w @ unit.T) / (side * (pull @ unit.T))).max(axis=-1)
    w += 1.01 * np.maximum(need, 0)[..., None] * pull
    if not (x[:5] @ x[5:].T).any():  # the first neuron is zero on the other class
        w[:, 0] *= (x[:5] > 0).any(axis=0)
    assert ((w @ x.T > 0) == (side > 0)).all(), "the start does not satisfy (H2)"
    sizes = np.full((10, 1), scale) if scale else 10 ** rng.uniform(-4, 0.7, (10, 1))
    w *= sizes[..., None] / np.linalg.norm(w, axis=-1)[..., None]
    return TwoLayer(w, sizes * np.exp(rng.uniform(-1, 1, (10, 6))) * own)


def batches(rng, batch, largest_step, steps=120):
    """Batches and steps at random; the steps are divided by the size of the batch."""
    for _ in range(steps):
        some = rng.permutation(7)[: rng.integers(1, batch + 1)]
        yield some, 10 ** rng.uniform(-3, np.log10(largest_step)) / len(some)


def train(network, x, loss, rng, batch=7, largest_step=1e3, steps=120):
    """Counts of wrong signs and zeros, and the least steps of <w_j, x> and y_j a_j."""
    seen, signs, table = [], np.sign(network.a), network.preactivations(x) > 0
    for some, step in batches(rng, batch, largest_step, steps):
        after = descend(network, x[some], y[some], loss, step)
        z, sizes = after.preactivations(x), np.linalg.norm(after.w, axis=-1)[:, None]
        sizes = sizes * np.linalg.norm(x, axis=1)[:, None]
        raised, grown = z - network.preactivations(x), signs * (after.a - network.a)
        low, entered = table & (z <= 0), ~table & (z > 1e-12 * sizes)
        counts = [q.sum(axis=(1, 2)) for q in (low | entered, ~table & (z >= 0), entered)]
        least = (np.where(table, raised, 0) / sizes).min(axis=(1, 2))
        seen.append([*counts, least, (grown / np.abs(after.a)).min(axis=1)])
        network = after
    return np.array(seen)  # (steps, five quantities, networks)


def influence(net, x, loss, rng, largest_step):
    """How far the other class moves the neurons, |B| being kept, relative to the weights."""
    parts = [TwoLayer(net.w[:, own == c], net.a[:, own == c]) for c in (1, -1)]
    for some, step in batches(rng, 7, largest_step):
        net = descend(net, x[some], y[some], loss, step)
        mine = [some[y[some] == c] for c in (1, -1)]
        parts = [descend(p, x[m], y[m], loss, step) for p, m in zip(parts, mine)]
    w = np.concatenate([part.w for part in parts], axis=1)
    return (np.linalg.norm(net.w - w, axis=-1) / np.linalg.norm(w, axis=-1)).max()


def events(net, x):
    """Changes of activation along the gradient flow of three of the networks."""
    ones = [TwoLayer(net.w[i], net.a[i]) for i in range(3)]
    return sum(len(gradient_flow(o, x, y, LOGISTIC, until=100).events) for o in ones)


def broken(what, x, rng, scale=0.05):
    """Inputs of norm one, and networks, with one hypothesis broken."""
    x = x / np.linalg.norm(x, axis=1)[:, None]
    if what == "across":  # an input has a tenth of one of the other class added
        x[5] += 0.1 * x[0]
    if what == "within":  # an input has an obtuse angle with its own class
        x[0] = -0.1 * x[0] - x[5]
    x /= np.linalg.norm(x, axis=1)[:, None]
    net = start(x, rng, scale)
    w, a = net.w.copy(), net.a * np.where((what == "sign") & (np.arange(6) == 1), -1, 1)
    if what == "active":  # one neuron is active on an input of the other class
        w[:, 0] += (0.1 * scale - w[:, 0] @ x[5])[:, None] * x[5]
    return x, TwoLayer(w, a)


def separable(x, labels):
    """Whether a linear program finds v with y <v, x> at least 1."""
    bounds = {"b_ub": -np.ones(len(x)), "bounds": (None, None)}
    return float(linprog(0 * x[0], -labels[:, None] * x, **bounds).status == 0)


# %%NBQA-CELL-SEP476b88
absolute = Loss("absolute", lambda f, y: abs(f - y), lambda f, y: np.sign(f - y))
found = {}
for number in range(20):
    rng, family = (
        generator(10 + number),
        ("blocks", "rotated", "edge", "cones")[number // 5],
    )
    x, blocks = draw(family, rng), draw("blocks", rng)
    net, other = start(x, rng), (HINGE, EXPONENTIAL)[number % 2]
    bent, false = broken("across", blocks, rng), broken("sign", x, rng)
    positive, shuffled = rng.random((10, 4)), np.repeat([1.0, -1.0], 5)
    short = {"largest_step": 0.1}
    kinds = {
        "single": train(net, x, LOGISTIC, rng, batch=1),
        "batch": train(net, x, LOGISTIC, rng),
        "loss": train(net, x, other, rng),
        "absolute": train(start(x, rng, 0.05), x, absolute, rng, largest_step=10),
        "bent": train(bent[1], bent[0], LOGISTIC, rng, batch=1, largest_step=1),
        "false": train(false[1], false[0], LOGISTIC, rng, **short),
        "flow": [events(net, x), events(false[1], false[0])],
        "alone": [
            max(influence(net, x, loss, rng, 1e3) for loss in (LOGISTIC, other)),
            influence(bent[1], bent[0], LOGISTIC, rng, 1),
        ],
        "apart": [separable(x, y), separable(positive, shuffled)],
    }
    right = ("blocks", "rotated", "edge", "rotated")[number // 5]  # orthogonal, three ways
    for kind, inputs, step in (
        ("right", draw(right, rng, tilt=0), 1e3),
        ("wide", draw("edge", rng, tilt=0.2), 0.1),
        ("any", draw("cones", rng), 0.1),
    ):
        net = start(inputs, rng, None if kind == "right" else 0.05)
        either = TwoLayer(net.w, net.a * rng.choice([-1, 1], net.a.shape))
        kinds[kind] = train(either, inputs, LOGISTIC, rng, largest_step=step)
    for kind, value in kinds.items():
        found.setdefault(kind, []).append(value)
found = {kind: np.array(values) for kind, values in found.items()}


# %%NBQA-CELL-SEP476b88
def total(kind, column=0):
    return found[kind][:, :, column].sum(axis=(1, 2))


def least(kind, columns=(3, 4)):
    return found[kind][:, :, columns].min(axis=(1, 2, 3))


def every(batch, loss, flow):
    """Wrong signs for batches, for other losses, and along the flow."""
    return [total(batch), total(loss), found["flow"][:, flow]]


none = {
    "predicted": 0.0,
    "because": "a count of signs; a zero counts as positive beyond 1e-12 of the norms",
}
same = {"predicted": 0.0, "atol": 1e-12, "because": "the same sums in another order"}
ulps = {"at_least": 0.0, "atol": 1e-14, "because": "rounding of sums of eight products"}
sure = {"predicted": 1.0, "because": "the linear program is feasible or not"}
mixed = Variant("all products of two inputs positive", found["apart"][:, 1], share=0.5)
tenth = "an input has a tenth of one of the other class added"
bent = Variant(tenth, total("bent"), share=0.8)
moved = Variant(tenth, found["alone"][:, 1], share=0.8)
zeros = Variant("'non-negative' instead of 'positive'", total("single", 1), share=1 / 4)
false = Variant("one output weight has the wrong sign", least("false", [4]), share=0.8)
rising = "an output weight of the wrong sign, or a loss that rises beyond margin one"
rises = np.minimum(least("single"), np.minimum(least("batch"), least("loss")))
verify_all(
    verify("combes2018-h1", measured=found["apart"][:, 0], control=mixed, **sure),
    verify(
        "combes2018-lem-3.1a", measured=total("single"), control=bent, printed=zeros, **none
    ),
    verify("combes2018-lem-3.1b", measured=rises, control=false, **ulps),
    verify("combes2018-lem-3.1c", measured=found["alone"][:, 0], control=moved, **same),
    verify(
        "combes2018-lem-3.1-steps",
        measured=every("batch", "loss", 0),
        control=Variant(rising, every("false", "absolute", 1), share=0.8),
        **none,
    ),
)


# %%NBQA-CELL-SEP476b88
for what in ("across", "within", "active", "sign"):
    for name, scale in (("small", 0.05), ("large", 5.0)):
        changed = 0
        for i in range(10):
            rng = generator(80 + i)
            x, net = broken(what, draw("blocks", rng), rng, scale)
            seen = train(net, x, LOGISTIC, rng, 1, largest_step=1, steps=300)
            changed += int(seen[:, 0].any(axis=0).sum())
        say(**{f"{what}_{name}": changed})


# %%NBQA-CELL-SEP476b88
obtuse = Variant("classes at an obtuse angle", total("wide", 2), share=0.5)
h1_only = Variant("any classes that satisfy (H1)", total("any", 2), share=0.5)
verify(
    "combes2018-rows", measured=total("right", 2), control=obtuse, printed=h1_only, **none
)


# %%NBQA-CELL-SEP476b88
say(seconds=process_time() - started)
