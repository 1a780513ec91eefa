# %%NBQA-CELL-SEP476b88
from collections import namedtuple
from time import process_time
from typing import NamedTuple

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import brentq
from scipy.special import expit, lambertw

from executable_claims import Variant, verify, verify_all
from lib import figures
from lib.data.synthetic import antipodal_gaussians, separable_data
from lib.geometry.programs import cell_program, linear_svm
from lib.models.two_layer import TwoLayer
from lib.prose import say
from lib.seeds import generator
from lib.training.descent import gradient_descent
from lib.training.losses import LOGISTIC

figures.use_style()
started = process_time()


# %%NBQA-CELL-SEP476b88
def largest(a, b, c):
    """The largest T with a T <= b sqrt(T) + c."""
    return ((b + np.sqrt(b * b + 4 * a * c)) / (2 * a)) ** 2


def paper_bound(task, epsilon, slope_of_loss=lambda loss: -np.expm1(-loss)):
    n, step, kappa, length = task.n, task.step, task.kappa, task.length
    a = step * task.gain * slope_of_loss(epsilon / (1 + n * kappa))
    b = length * np.sqrt(n * step * (2 + kappa))
    start = np.sqrt(2 * task.k) * np.linalg.norm(task.w, axis=1).max()
    return largest(a, b, 2 * start * length)


# %%NBQA-CELL-SEP476b88
def least_sum(task, epsilon):
    """The s of item 2."""

    def excess(s):
        return task.kappa * s - np.log1p(-s) / task.n - epsilon

    return brentq(excess, 0, 1 - 1e-15)


def our_bound(task, epsilon, logarithm=1):
    s, A, kappa = least_sum(task, epsilon), task.A, task.kappa
    b = A * np.sqrt(task.step * (2 * logarithm * np.log(task.n / s) + kappa))
    return largest(task.step, b, 2 * A * np.linalg.norm(task.w)) / s


# %%NBQA-CELL-SEP476b88
class Task(NamedTuple):
    """Data, a start w (2k, d), the slope alpha, the output weight v and the step eta."""

    inputs: np.ndarray
    labels: np.ndarray
    w: np.ndarray
    slope: float
    v: float
    step: float

    n = property(lambda task: len(task.labels))
    k = property(lambda task: len(task.w) // 2)
    a = property(lambda task: task.v * np.repeat([1.0, -1.0], task.k))
    teacher = property(lambda task: linear_svm(task.inputs, task.labels).x)
    radius = property(lambda task: np.linalg.norm(task.inputs, axis=1).max())
    kappa = property(lambda task: 2 * task.k * task.step * (task.v * task.radius) ** 2)
    gain = property(lambda task: 2 * task.k * task.slope * task.v)
    length = property(lambda task: np.sqrt(2 * task.k) * np.linalg.norm(task.teacher))
    A = property(lambda task: task.length / task.gain)


Path = namedtuple("Path", "task weights margins sigmas sums losses")  # sums over epochs


def descend(tasks, epochs, draws):
    """Paths side by side, of the same n, k and slope; step and v enter by v sqrt(step) only."""
    one, many, roots = tasks[0], len(tasks), np.sqrt([[task.step] for task in tasks])
    orders = draws.permuted(np.tile(np.arange(one.n), (epochs, many, 1)), axis=2)
    orders = orders.transpose(0, 2, 1).reshape(-1, many)
    starts = np.stack([task.w for task in tasks]) / roots[:, :, None]
    network = TwoLayer(starts, np.stack([task.a for task in tasks]) * roots, one.slope)
    data = (np.concatenate([task[i] for task in tasks]) for i in (0, 1))
    order = {"samples": orders + one.n * np.arange(many), "steps": len(orders), "step": 1.0}
    watch = {"record": lambda now: now.w, "record_at": range(len(orders) + 1)}
    run = gradient_descent(network, *data, LOGISTIC, train_a=False, **order, **watch)
    paths = []
    for i, task in enumerate(tasks):
        weights = np.array([w[i] for w in run.recorded]) * roots[i]
        stack = TwoLayer(weights, np.tile(task.a, (len(weights), 1)), task.slope)
        margins = task.labels * stack(task.inputs)
        drawn = np.take_along_axis(margins[:-1], orders[:, [i]], axis=1)
        sigmas = expit(-drawn[:, 0])
        sums, losses = sigmas.reshape(-1, task.n).sum(axis=1), LOGISTIC.value(margins, 1)
        paths.append(Path(task, weights, margins, sigmas, sums, losses.mean(axis=1)))
    return paths


# %%NBQA-CELL-SEP476b88
def repeated(c):
    return (np.tile(inputs, (c, 1)), np.tile(labels, c))


def in_law(task, epsilon):
    return constant / (epsilon * task.n) - 1


inputs, labels = antipodal_gaussians(10, (2, 1), 0.5, rng=generator(0))
start, copies = 0.1 * generator(1).standard_normal((6, 2)), np.array([1, 2, 4, 8, 16])
tasks = [Task(*repeated(c), start, 0.3, 3**-0.5, 0.1) for c in copies]
task, epsilons = tasks[0], np.geomspace(0.3, 1e-3, 9)
path = descend([task], 1200, generator(2))[0]
low = [descend([one], 12000 // one.n, generator(3))[0].losses < 3e-3 for one in tasks]
last = TwoLayer(path.weights[-1], task.a, task.slope)
constant = cell_program(last, inputs, labels).norm ** 2 / task.step
steps = np.array([np.argmax(path.losses < e) for e in epsilons])
fig, (left, right) = figures.panels(2, height=3.3)
names, forms = ("paper's bound", "our bound", "law"), (paper_bound, our_bound, in_law)
colours = (figures.CONTRAST, figures.THIRD, figures.SIMULATION)
for name, bound, colour in zip(names, forms, colours, strict=True):
    curve = [task.n * (bound(task, e) + 1) for e in epsilons]
    other = [one.n * (bound(one, 3e-3) + 1) for one in tasks]
    left.loglog(1 / epsilons, curve, **{**figures.DASHED, "color": colour})
    right.loglog(10 * copies, other, **{**figures.DASHED, "color": colour})
    left.text(900, curve[4] / 20, name, color=colour, ha="right")
    say(**{f"power_{name[0]}": np.log2(other[-1] / other[-2])})
    say(**{f"times_{name[0]}": curve[-1] / steps[-1]})
left.loglog(1 / epsilons, steps, "o", color=figures.SIMULATION)
right.loglog(10 * copies, np.argmax(low, axis=1), "o", color=figures.SIMULATION)
left.set(xlabel=r"$1/\varepsilon$", ylabel="steps")
right.set(xlabel=r"$n$, at $\varepsilon=0.003$")
say(law_gap=abs(steps[-1] * epsilons[-1] / constant - 1))
say(last_steps=int(steps[-1]), last_loss=epsilons[-1])
plt.show()


# %%NBQA-CELL-SEP476b88
def one_step(k, d, draws, h=1e-5):
    """A step, the derivative along the weights, a free network: by differences, formula, without phi'."""
    w, x = draws.standard_normal((2 * k, d)) / np.sqrt(k * d), draws.standard_normal(d)
    a, free = 0.7 * np.repeat([1.0, -1.0], k), np.exp(draws.standard_normal(2 * k))

    def output(w, a=a):
        return TwoLayer(w, a, 0.3)(x[None])[0]

    def loss(w):
        return np.logaddexp(0, output(w))  # of the label -1

    def change(f, way):
        return (f(w + h * way) - f(w - h * way)) / (2 * h)

    measured = [-change(loss, e) for e in np.eye(w.size).reshape(-1, *w.shape)]
    measured += [change(output, w), output(w, a * free)]
    ends, sigma = [output(w), output(w * free[:, None])], -np.expm1(-loss(w))

    def law(slopes):
        return [*(-sigma * (a * slopes)[:, None] * x).ravel(), *ends]

    return np.array([measured, law(np.where(w @ x > 0, 1.0, 0.3)), law(np.ones(2 * k))])


steps = [one_step(k, d, generator(10 + k)) for k, d in ((1, 2), (3, 5), (10, 20))]
by_difference, by_formula, without = np.concatenate(steps, axis=1)
verify(
    "sarussi2021-eq-4",
    measured=by_difference,
    predicted=by_formula,
    atol=1e-7,
    because="quotients of differences over 1e-5 err by 1e-10 times the cube of an input",
    control=Variant("without the slopes of the neurons", predicted=without, share=0.2),
)


# %%NBQA-CELL-SEP476b88
def drawn_task(family, n, k, slope, draws):
    if family == "bias":
        raw = 10 ** draws.uniform(-1, 0) * draws.standard_normal((n, 4))
        inputs = np.column_stack([raw, np.ones(n)])
        heights = inputs @ draws.standard_normal(5)
        labels = np.sign(heights - np.median(heights))
    else:
        inputs, labels = separable_data(family, n, rng=draws, decades=1.0)
        inputs = np.pad(inputs, ((0, 0), (0, 5 - inputs.shape[1])))
    radius, v = np.linalg.norm(inputs, axis=1).max(), 10 ** draws.uniform(-1, 0.5)
    step = 10 ** draws.uniform(-1, 0) / (2 * k * (v * radius) ** 2)
    scale = 10 ** draws.uniform(-3, -1) / (v * radius)
    return Task(inputs, labels, scale * draws.standard_normal((2 * k, 5)), slope, v, step)


def gains(path):
    """Least gain of F over 2 k step v sigma, largest sigma q, square and drift over their bounds."""
    task, steps, sigmas = path.task, np.diff(path.weights, axis=0), path.sigmas
    drift = np.abs(np.diff(path.margins[:: task.n], axis=0)).max(axis=1)
    seen = sigmas > 1e-6
    product = np.einsum("tjd,j,d->t", steps, task.a, task.teacher) / task.v
    norms, squares = ((part**2).sum(axis=(1, 2)) for part in (path.weights, steps))
    return (
        (product / sigmas)[seen].min() / (2 * task.k * task.step * task.v),
        (np.diff(norms) - squares).max() / (2 * task.step),
        (squares / sigmas**2)[seen].max() / (task.step * task.kappa),
        (drift / path.sums).max() / task.kappa,
    )


paths, shapes = [], ((2, 1, 1.0), (4, 3, 0.3), (6, 8, 0.1))
for shape, seed in zip(shapes, (100, 200, 300), strict=True):
    families = [("circular", "orthant", "bias")[i // 5] for i in range(15)]
    tasks = [drawn_task(f, *shape, generator(seed + i)) for i, f in enumerate(families)]
    paths += descend(tasks, 700, generator(seed + 50))
product, cross, square, drift = np.transpose([gains(path) for path in paths])
W, slopes = lambertw(1 / np.e).real, np.array([path.task.slope for path in paths])
least = (product / slopes).min()
biased = np.arange(45) % 15 > 9
with_one = np.array([square, drift])[:, biased]
lost = 1 - np.array([path.task.radius for path in paths])[biased] ** -2.0  # max |x|^2 / R^2
say(lambert=W, least_gain=least, most_cross=cross.max(), most_square=square.max())
verify_all(
    verify(
        "sarussi2021-thm-4.1-eq14",
        measured=product,
        at_least=slopes,
        rtol=1e-6,
        because="a step with sigma above 1e-6 has eight digits left beside weights of size 1e2",
        control=Variant("without the slope alpha", at_least=1.0, share=0.4),
    ),
    verify(
        "sarussi2021-thm-4.1-eq15",
        measured=[cross / W, square],
        at_most=1.0,
        rtol=1e-6,
        because="rounding, as for F",
        control=Variant("with 1/4 for W(1/e)", measured=[4 * cross, square], share=0.4),
    ),
    verify(
        "sarussi2021-thm-4.1-eq26",
        measured=drift,
        at_most=1.0,
        because="a bound, by the triangle inequality",
        control=Variant("only the neurons of one type", measured=2 * drift, share=0.15),
    ),
    verify(
        "sarussi2021-app-K-thm-4.1",
        measured=with_one,
        at_most=1.0,
        rtol=1e-6,
        because="bounds; rounding, as for F",
        control=Variant("|x| for |(x, 1)| in R", measured=with_one / lost, share=0.25),
    ),
)


# %%NBQA-CELL-SEP476b88
def bad_epochs(path, epsilon):
    """Epochs before the first good one, by the largest loss drawn and by the sum of the sigma."""
    task, losses = path.task, -np.log1p(-path.sigmas).reshape(-1, path.task.n)
    by_loss = losses.max(axis=1) <= epsilon / (1 + task.n * task.kappa)
    goods = by_loss, path.sums < least_sum(task, epsilon)
    return [np.argmax(np.append(good, True)) for good in goods]  # all if none is good


def bound(form, **how):
    return np.array([form(path.task, 0.1, **how) for path in paths])


by_loss, by_sum = np.transpose([bad_epochs(path, 0.1) for path in paths])
papers, ours = bound(paper_bound), bound(our_bound)
hinge = bound(paper_bound, slope_of_loss=lambda loss: 1.0)
near, far = (ours / by_sum)[:15], (papers / by_loss)[:15]  # the smallest shape
say(near_ours=np.median(near[by_sum[:15] < 700]), better=np.median(papers / ours))
say(near_paper=np.median(far[by_loss[:15] < 700]))
verify_all(
    verify(
        "sarussi2021-thm-4.1",
        measured=by_loss,
        at_most=papers,
        because="a bound, proved above",
        control=Variant("every mistake counts fully", at_most=hinge, share=0.15),
    ),
    verify(
        "sarussi2021-thm-4.1-improved",
        measured=by_sum,
        at_most=ours,
        because="a bound, proved above",
        control=Variant("no logarithm", at_most=bound(our_bound, logarithm=0), share=0.1),
    ),
)


# %%NBQA-CELL-SEP476b88
start = np.column_stack([-np.ones(4), generator(5).standard_normal(4)])
unseen = Task(np.eye(2), np.array([1.0, -1.0]), start, 0.0, 0.5, 0.5)
say(dead=LOGISTIC.value(descend([unseen], 2000, generator(6))[0].margins[-1, 0], 1))


# %%NBQA-CELL-SEP476b88
say(seconds=process_time() - started)
