# %%NBQA-CELL-SEP476b88
from functools import partial
from itertools import combinations
from time import process_time

import matplotlib.pyplot as plt
import numpy as np
import torch
from scipy.optimize import minimize
from scipy.spatial.distance import cdist
from scipy.special import expit
from scipy.stats import t
from torch.func import functional_call, jvp

from executable_claims import Variant, verify, verify_all
from lib import figures
from lib.data.synthetic import two_moons_with_gap
from lib.experiments.records import recorded
from lib.geometry.level_sets import bend, distance_to_data, zero_level_set
from lib.geometry.programs import separation
from lib.models.features import tangent_features
from lib.models.mlps import draw_mlps, seed_generators
from lib.prose import say
from lib.seeds import book_seed, generator
from lib.training.ensembles import train
from lib.training.objectives import cross_entropy, spectral_decoupling

figures.use_style()
started = process_time()


# %%NBQA-CELL-SEP476b88
def predict(net, x, y, penalty):
    """c, votes, responses, p and outputs at the minimum of the convex problem."""
    signed = y[:, None] * tangent_features(net, torch.tensor(x))
    squares, u = (part[..., ::-1] for part in np.linalg.eigh(signed @ signed.T))
    kept = squares > 1e-6 * squares[0]
    squares, u, ridge = squares[kept], u[:, kept], 2e-4 * len(y)
    c = squares / ridge
    z, _ = minimum(u, (penalty + 1 / c) ** -0.5)
    p = expit(-u @ z)
    theta = signed.T @ (p - penalty * u @ z) / ridge
    return c, u, z, p, linearised(net, theta)


# %%NBQA-CELL-SEP476b88
def minimum(u, scale):
    """Place and value of the minimum of the cross-entropy plus the sum of (z/scale)^2/2."""
    rows = u * scale

    def loss(a):
        return np.logaddexp(0, -rows @ a).sum() + a @ a / 2

    def slope(a):
        return a - rows.T @ expit(-rows @ a)

    def doubt(a):
        return expit(rows @ a) * expit(-rows @ a)

    def curvature(a):
        return np.eye(len(a)) + (rows.T * doubt(a)) @ rows

    ways = {"method": "trust-exact", "jac": slope, "hess": curvature, "tol": 1e-8}
    found = minimize(loss, 0 * scale, **ways)
    return scale * found.x, found.fun


def linearised(net, theta):
    """The output of a network to first order in a change of its parameters, as a function."""
    at = {name: part.detach() for name, part in net.named_parameters()}
    parts = torch.tensor(theta).split([part.numel() for part in at.values()])
    change = {name: part.view_as(at[name]) for name, part in zip(at, parts)}

    def call(points, values):
        return functional_call(net, values, (torch.tensor(points),))

    return lambda points: jvp(partial(call, points), (at,), (change,))[1][0].numpy()


SETTINGS = {"overlap": (-0.1, 0.0), "gap": (0.1, 0.0), "decoupled": (0.1, 0.006)}


def untrained(units, count):
    return draw_mlps(
        (2, units, 1), seed_generators(book_seed(0), count), dtype=torch.float32
    ).double()


def moons(gap, examples, count):
    draws = [two_moons_with_gap(examples, gap, rng=generator(k)) for k in range(count)]
    return [np.stack(part) for part in zip(*draws)]


few = partial(moons, examples=300, count=10)
many = partial(moons, examples=100, count=30)


def summary(responses, bends, margins):
    """Leading and bending responses, bends and margins of the networks."""
    z = np.abs(responses)
    return np.array([z[:, 1], np.linalg.norm(z[:, 3:10], axis=1), bends, margins])


def shapes(functions, points):
    curves = [zero_level_set(one, half_width=1.5, points=61) for one in functions]
    return [*map(bend, curves)], [*map(distance_to_data, curves, points)]


def foretell(start, name, draw):
    gap, penalty = SETTINGS[name]
    x, y = draw(gap)
    found = [predict(start.seed(k), x[k], y[k], penalty) for k in range(len(x))]
    responses = np.array([one[2][:10] for one in found])
    return found, summary(responses, *shapes([one[4] for one in found], x))


def of_record(name):
    return summary(*([seed[name][key] for seed in record] for key in keys))


record = recorded("pezeshki2021-figure-2").metrics
network = untrained(500, 10)
large = {name: foretell(network, name, few) for name in SETTINGS}
keys = "final_responses", "bend", "margin"
cosines = []
for (_, u, *_), x, y in zip(large["gap"][0], *few(0.1)):
    linear = np.linalg.qr(y[:, None] * np.column_stack([np.ones(300), x]))[0]
    cosines.append(np.linalg.svd(linear.T @ u[:, :3])[1].min())
say(linear=min(cosines))


def least_loss(name, kept):
    """The mean minimum of L with the strongest features only."""

    def scale(c):
        return (SETTINGS[name][1] + 1 / c[:kept]) ** -0.5

    return np.mean([minimum(u[:, :kept], scale(c))[1] for c, u, *_ in large[name][0]])


def vote(one):
    return abs(one[1][:, 1] @ one[3]) / one[3].sum()


def tell(key, of):
    return say(**{f"{key}_{name}": of(name) for name in SETTINGS})


for row, key in enumerate(("z", "b", "bend")):
    tell(key, lambda name: of_record(name)[row].mean())
    tell(key + "_foretold", lambda name: large[name][1][row].mean())
tell("rest", rest := lambda name: np.mean([one[3].sum() for one in large[name][0]]))
tell("straight", lambda name: least_loss(name, 3))
tell("all", lambda name: least_loss(name, None))
votes = [np.mean([*map(vote, large[name][0])]) for name in ("gap", "overlap")]
say(vote_ratio=np.divide(*votes), rest_ratio=rest("overlap") / rest("gap"))
say(bending_ratio=(large["gap"][1][1] / large["overlap"][1][1]).mean())


# %%NBQA-CELL-SEP476b88
colours = figures.SIMULATION, figures.CONTRAST, figures.THIRD
_, axes = figures.panels(3, height=3.1, sharey=True)
for axis, name, colour in zip(axes, SETTINGS, colours):
    x, y = (part[0] for part in few(SETTINGS[name][0]))
    axis.scatter(*x.T, s=3, c=np.where(y > 0, "#999999", "#444444"))
    for seed in record:
        for curve in seed[name]["boundary"]:
            axis.plot(*np.array(curve).T, color=colour, linewidth=0.8, alpha=0.7)

    def mean(points):
        return np.mean([found[4](points) for found in large[name][0]], axis=0)

    for curve in zero_level_set(mean, points=65):
        axis.plot(*curve.T, **figures.DASHED | {"linewidth": 2.2})
    axis.set_title(name if name != "decoupled" else "gap, decoupled")
    axis.set(xlim=(-1.5, 1.5), ylim=(-1.9, 1.9), xlabel="$x_1$", aspect="equal")
axes[0].set(ylabel="$x_2$")
plt.show()


# %%NBQA-CELL-SEP476b88
def descended(k):
    """Both sides of the formula times s_j, and the right one with plain votes."""
    shape, rng = ((8, 20), (20, 4), (1, 3))[k % 3], generator(100 + k)
    a = rng.standard_normal(shape) * 10 ** rng.uniform(-1, 1, (shape[0], 1))
    nu, kappa = 10 ** rng.uniform(-2, 0), 0.1 * (k % 2)

    def total(q, x):
        return np.logaddexp(0, -q).sum() + (nu * x @ x + kappa * q @ q) / 2

    def loss(x):
        return total(a @ x, x)

    def slope(x):
        return nu * x - a.T @ (expit(-a @ x) - kappa * (a @ x))

    x = minimize(loss, 0 * a[0], jac=slope, options={"gtol": 1e-6}).x
    (u, s, _), p = np.linalg.svd(a, full_matrices=False), expit(-a @ x)
    left = (kappa + nu / s**2) * (u.T @ a @ x)
    return s * (left, p @ u, p.sum() * u.mean(axis=0))


left, right, plain = np.hstack([*map(descended, range(24))])
verify(
    "pezeshki2021-ours-response",
    measured=left,
    predicted=right,
    atol=20**0.5 * 1e-6,
    because="times s_j; the slope in 20 parameters is below 1e-6 each",
    control=Variant("plain mean vote", predicted=plain, share=0.5),
)


# %%NBQA-CELL-SEP476b88
start = untrained(100, 30)


def trained(gap, penalty, decay=2e-4):
    x, y = map(torch.tensor, many(gap))
    sgd = partial(torch.optim.SGD, lr=0.1, momentum=0.9, weight_decay=decay)
    loss = spectral_decoupling(penalty) if penalty else cross_entropy
    run = train(start, x, y, objective=loss, optimiser=sgd, steps=1000)
    return run.network, x, y


networks = {name: trained(*setting) for name, setting in SETTINGS.items()}
networks["decay"] = trained(0.1, 0.0, decay=0.01)


# %%NBQA-CELL-SEP476b88
def outputs_of(one):
    return lambda points: one(torch.tensor(points))[0].detach().numpy()


def measure(name):
    network, x, y = networks[name]
    q, q_start = ((y * one(x)).detach().numpy() for one in (network, start))
    votes = small["gap" if name == "decay" else name][0]
    z = np.array([(q - q_start)[k] @ votes[k][1][:, :10] for k in range(30)])
    functions = [outputs_of(network.seed(k)) for k in range(30)]
    return z, summary(z, *shapes(functions, x.numpy())), q


def least(values):
    """Lower ends of Student's intervals for means over thirty networks."""
    error = np.std(values, axis=-1, ddof=1) / 30**0.5
    return np.mean(values, axis=-1) - t.ppf(1 - 1e-4, 29) * error


def gains(rows, one, other):
    return least(np.log(live[one][rows] / live[other][rows]))


def line(x, y):
    return separation(np.column_stack([x, np.ones(300)]), y).separable


def straight(name):
    return -least(-live[name][2])


def moves(one, other):
    return np.hstack([gains([0], one, other), gains([1], other, one)])


def with_decoupling(value):
    return Variant("with decoupling", measured=value, share=0.5)


def with_decay(value, share=1.0):
    return Variant("strong weight decay", measured=value, share=share)


small = {name: foretell(start, name, many) for name in SETTINGS}
measured = {name: measure(name) for name in networks}
live = {name: found[1] for name, found in measured.items()}
lines = np.array([[*map(line, *few(gap))] for gap in (-0.1, 0.1)], dtype=int)
fits = [[1 * (one[3].max() < 0.5) for one in large[name][0]] for name in ("overlap", "gap")]
student = "ends of Student's intervals, each wrong once in 10,000"
positive = {"at_least": 0, "because": student}
halved = {"at_least": np.log(2), "because": "nearer to a line; " + student}
limit = {"at_most": 0.05, "because": "the claim's limit; " + student}
no_yes = {"predicted": [[0] * 10, [1] * 10], "because": "yes or no, each with a proof"}
by_features = Variant("separation by the features", predicted=fits, share=0.4)
bent = with_decoupling(gains([2], "overlap", "decoupled"))
clear, near = gains([2, 3], "decoupled", "gap"), with_decay(gains([3], "decay", "gap"))
overlapping = Variant("overlap", measured=straight("overlap"), share=1)
shared = with_decoupling(moves("decoupled", "overlap"))
verify_all(
    verify("pezeshki2021-fig-2a", measured=lines, control=by_features, **no_yes),
    verify(
        "pezeshki2021-fig-1", measured=gains([2], "overlap", "gap"), control=bent, **halved
    ),
    verify("pezeshki2021-fig-2b", measured=straight("gap"), control=overlapping, **limit),
    verify("pezeshki2021-fig-2c", measured=clear, control=near, **positive),
    verify(
        "pezeshki2021-fig-2d", measured=moves("gap", "overlap"), control=shared, **positive
    ),
)


# %%NBQA-CELL-SEP476b88
def unexplained(told):
    """Half of each change between settings, less the part of it that was not foretold."""

    def moved(of):
        return np.log([of[b][:2] / of[a][:2] for a, b in combinations(SETTINGS, 2)])

    def size(change):
        return np.linalg.norm(change, axis=1)

    return least(size(moved(live)) / 2 - size(moved(live) - moved(told)))


def straightened(foretold):
    """Foretold changes less half of the true ones, and half as much again less the foretold."""

    def bends(of):
        return (of["overlap"][-2] + of["decoupled"][-2]) / 2 - of["gap"][-2]

    def change(of):
        return np.array([bends(of), of["decoupled"][-1] - of["gap"][-1]])

    true, told = change(live), change(foretold)
    return np.minimum(least(told - true / 2), least(1.5 * true - told))


def midway(x, y):
    def nearest(points, label):
        return cdist(points, x[y == label]).min(axis=1)

    return lambda points: nearest(points, -1) - nearest(points, 1)


def alone(name):
    return [(u.sum(axis=0) / (1 + 1 / c))[:10] for c, u, *_ in small[name][0]]


learned = {name: found[1] for name, found in small.items()}
blunt = {name: summary(alone(name), *learned[name][2:]) for name in SETTINGS}
data = {name: many(gap) for name, (gap, _) in SETTINGS.items()}
middle = {name: np.array(shapes(map(midway, x, y), x)) for name, (x, y) in data.items()}
tell("ratio", lambda name: np.exp(np.log(live[name][1] / learned[name][1]).mean()))
squares = Variant("squared error", measured=unexplained(blunt), share=1)
halfway = Variant("midway curve", measured=straightened(middle), share=1)
told, boundary = unexplained(learned), straightened(learned)
verify_all(
    verify(
        "pezeshki2021-ours-kernel-responses", measured=told, control=squares, **positive
    ),
    verify(
        "pezeshki2021-ours-kernel-boundary", measured=boundary, control=halfway, **positive
    ),
)


# %%NBQA-CELL-SEP476b88
def beyond(name):
    network, x, y = networks[name]
    rows = []
    for one, points, labels in zip(map(network.seed, range(30)), x.numpy(), y.numpy()):
        outputs, mirrored = outputs_of(one), points * [1, -1]
        far = cdist(mirrored, points).min(axis=1) > 0.5
        sure = labels * outputs(mirrored) > np.log(99)
        rows.append((sure[far].mean(), (fresh_y * outputs(fresh_x) > 0).mean()))
    return np.array(rows).T


def sure(name):
    return [-least(-losses[name]), -least(-live[name][3] / largest)]


def worse(name):
    return least(outside["overlap"][1] - outside[name][1])


fresh_x, fresh_y = two_moons_with_gap(2000, -0.3, rng=generator(99))
outside = {name: beyond(name) for name in SETTINGS}
losses = {name: np.logaddexp(0, -measured[name][2]).mean(axis=1) for name in SETTINGS}
largest = np.array([cdist(x[y > 0], x[y < 0]).min() / 2 for x, y in zip(*data["gap"])])
tell("slope", lambda name: np.mean([seed[name]["slope_ratio"] for seed in record]))
tell("sure", lambda name: 100 * outside[name][0].mean())
tell("ood", lambda name: 100 * outside[name][1].mean())
tell("loss", lambda name: losses[name].mean())
tell("share", lambda name: 100 * (live[name][3] / largest).mean())
said = {"because": "the limits are the claim's; " + student}
near, most = {"at_most": [0.01, 0.5], **said}, {"at_least": 0.9, **said}
weak = with_decay(moves("gap", "decay"), share=1 / 2)
less_sure = with_decoupling(sure("decoupled"))
less_mirrored = with_decoupling(least(outside["decoupled"][0]))
no_worse = with_decoupling(worse("decoupled"))
mirrored = least(outside["gap"][0])
verify_all(
    verify(
        "pezeshki2021-fig-2e", measured=moves("gap", "decoupled"), control=weak, **positive
    ),
    verify(
        "pezeshki2021-sec-2.1-confidence", measured=sure("gap"), control=less_sure, **near
    ),
    verify(
        "pezeshki2021-sec-2.1-invariance", measured=mirrored, control=less_mirrored, **most
    ),
    verify("pezeshki2021-sec-2.1-ood", measured=worse("gap"), control=no_worse, **positive),
)


# %%NBQA-CELL-SEP476b88
say(seconds=process_time() - started)
