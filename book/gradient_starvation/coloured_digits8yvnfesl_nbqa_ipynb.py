# %%NBQA-CELL-SEP476b88
import sys
from functools import partial
from time import process_time

import matplotlib.pyplot as plt
import numpy as np
import torch
from scipy.optimize import brentq
from scipy.special import entr, expit
from sklearn.datasets import load_digits
from torch.nn.functional import softplus

from executable_claims import Variant, verify, verify_all
from lib import figures
from lib.experiments.claims import verify_recorded
from lib.experiments.pezeshki2021 import colour_images, paint
from lib.experiments.records import recorded
from lib.experiments.registry import find, quick
from lib.models.mlps import draw_mlps, seed_generators
from lib.prose import say
from lib.seeds import book_seed, generator
from lib.training.ensembles import train

sys.path.insert(0, "../_site")  # the site's own modules
from paper_values import VALUES_FOLDER, read_numbers

figures.use_style()
started = process_time()


# %%NBQA-CELL-SEP476b88
AGREE = np.array([0.75 * 0.85, 0.75 * 0.15])  # colour = label, for the colours s and -s
CHANCES = AGREE / (AGREE + np.array([0.25 * 0.15, 0.25 * 0.85]))  # of the label s


def logits(penalty):
    """Colour and shape at the minimum of cross-entropy plus penalty/2 times f^2."""

    def excess(f, p):
        return p - expit(f) - penalty * f

    agreeing, opposed = (brentq(excess, -9, 9, (p,), 1e-14) for p in CHANCES)
    return np.array([agreeing - opposed, agreeing + opposed]) / 2


START, END = logits(0), logits(2)


# %%NBQA-CELL-SEP476b88
NAME, SIZE = "pezeshki2021-table-1", "test-split-expected"
full, small, live = recorded(NAME, SIZE), find(NAME).quick, quick(NAME)
SWITCH = small.annealing[3]  # the same on record


def course(metrics, method, what):
    """A quantity over the steps, from the switch of decoupling on, one row a seed."""
    late = np.array(metrics[0][method]["steps"]) >= SWITCH * (method[:3] == "dec")
    return np.array([one[method][what] for one in metrics])[:, late]


def means(method, what):
    return course(full.metrics, method, what).mean(axis=0)


STEPS = np.array(full.metrics[0]["decoupled"]["steps"])
STEPS = STEPS[STEPS >= SWITCH]
path, colour, shape = (means("decoupled", what) for what in ("test", "colour", "shape"))
high = path.argmax()
say(end_colour=END[0], end_shape=END[1], last_colour=colour[-1], last_shape=shape[-1])
say(count=len(full.seeds), width=full.config["widths"][3], switch=SWITCH)
say(images=full.config["training"], steps=STEPS[-1], before=path[0], top=path.max())
say(top_step=STEPS[high], below_step=STEPS[high:][path[high:] < 0.5][0], last=path[-1])
say(printed_top=means("decoupled-as-printed", "test").max())


# %%NBQA-CELL-SEP476b88
fig, (left, right) = figures.panels(2, height=3.4)
shown = {
    "decoupled": (figures.SIMULATION, "code", (700, 0.53)),
    "decoupled-as-printed": (figures.CONTRAST, "as printed", (1100, 0.2)),
    "decay-alone": (figures.THIRD, "decay alone", (1250, 0.785)),
}
for method, (tint, label, place) in shown.items():
    for each in course(full.metrics, method, "test"):
        left.semilogx(STEPS, each, color=tint, alpha=0.3, linewidth=0.6)
    left.plot(STEPS, means(method, "test"), color=tint)
    left.annotate(label, place, color=tint)
for level, text in ((0.1, "by the colour"), (0.75, "by the shape")):
    left.axhline(level, **figures.DASHED)
    left.annotate(text, (105, level + 0.015 if level > 0.5 else level - 0.05))
left.set(ylim=(0, 0.9), xlabel="step", ylabel="test accuracy")
for values, tint, label, place, k in (
    (colour, figures.SIMULATION, "colour $h$", (150, 0.2), 0),
    (shape, figures.CONTRAST, "shape $g$", (520, 0.44), 1),
):
    right.loglog(STEPS, values, color=tint)
    right.plot([100, 130], [START[k]] * 2, **figures.DASHED)
    right.plot([1000, 6000], [END[k]] * 2, **figures.DASHED)
    right.annotate(label, place, color=tint)
right.set(xlabel="step", ylabel="logits on test images")
right.set(
    yticks=[0.05, 0.1, 0.2, 0.5, 1, 2], yticklabels=["0.05", "0.1", "0.2", "0.5", "1", "2"]
)
right.minorticks_off()
plt.show()


# %%NBQA-CELL-SEP476b88
LIKE = torch.empty(0)
SIZES = np.array([2e-5, 1e-3, 1e-2, 0.1, 1.0, 5.0])
pixels, digit = load_digits(return_X_y=True)
order = generator(0).permutation(len(digit))[:800]


def with_both(part, noise):
    """Images with both labels in both colours, first all in the colour 1, then all in -1."""
    labels = np.where(digit[part] > 4, 1, -1)
    return colour_images(pixels[part] / 16, labels, noise, LIKE)


world, usual, unseen = (
    with_both(*one)
    for one in ((order[:300], 0.15), (order[300:], 0.15), (order[300:], 0.9))
)
weights = world.chances / 300
sizes = torch.tensor(SIZES, dtype=torch.float32)[:, None]


def printed(f, _):
    """The loss of Equation 25, each network with a coefficient of its own."""
    square = weights.sum(dim=0) * sizes * f.square()
    return (weights[0] * softplus(-f) + weights[1] * softplus(f) + square).sum(dim=-1)


inputs, others = (paint(one.images, one.colours) for one in (world, unseen))
networks = draw_mlps(
    (128, 40, 40, 1),
    seed_generators(book_seed(0), len(SIZES)),
    dtype=torch.float32,
    initialisation="xavier",
)
adam = partial(torch.optim.Adam, lr=3e-3)
ones = torch.ones(len(inputs))
run = train(networks, inputs, ones, objective=printed, optimiser=adam, steps=250)
with torch.no_grad():
    swept = world.accuracy(run.network(inputs)) - unseen.accuracy(run.network(others))
    random = torch.tensor(generator(1).normal(size=(6, len(others))))
    outputs = torch.cat(
        [run.network(others), networks(others), -run.network(others), random]
    )
one_way, other = (part.numpy() > 0 for part in outputs.chunk(2, dim=1))
a, d = (one_way & ~other).mean(axis=1), (~one_way & other).mean(axis=1)
verify(
    "pezeshki2021-ours-gap",
    measured=(usual.accuracy(outputs) - unseen.accuracy(outputs)).numpy(),
    predicted=0.75 * (a - d),
    atol=1e-4,
    because="sums of 1,000 numbers of single precision, relative error 6e-8 each",
    control=Variant("without the opposite", predicted=0.75 * a, share=0.5),
)


# %%NBQA-CELL-SEP476b88
HERE = "8 x 8 digits, and 1,500 of MNIST's test images, with expected noise"


def last(metrics, method, *names):
    """Means over the seeds at the end."""
    return np.array([course(metrics, method, one)[:, -1].mean() for one in names])


def gap(metrics, method):
    return -np.diff(last(metrics, method, "training", "test"))


def by_the_colour(metrics):
    return dict(
        measured=last(metrics, "cross-entropy", "training", "test"),
        predicted=[0.85, 0.1],
        atol=0.02,
        because="less than one image in forty is answered otherwise, which changes 0.8 at most",
        control=Variant("by the shape", predicted=0.75, share=1),
        data=HERE,
    )


def by_the_shape(metrics):
    coloured = by_the_colour(metrics)["measured"]
    return dict(
        measured=last(metrics, "grey", "training", "test"),
        at_least=0.7,
        at_most=0.75,
        because="0.75 less half of the misread shapes, of which one in ten is allowed",
        control=Variant("with colours", measured=coloured, share=1),
        data=HERE,
    )


def no_gap(method):
    return lambda metrics: dict(
        measured=gap(metrics, method),
        predicted=0.0,
        atol=0.25,
        because="fewer than a third by the colour, less those by its opposite: 0.75/3",
        control=Variant("cross-entropy", measured=gap(metrics, "cross-entropy"), share=1),
        data=HERE,
    )


def table(method, what):
    return PAPER[f"pezeshki2021-tab-1-{method}-{what}"] / 100


gap_irm, gap_rex = (gap(full.metrics, one)[0] for one in ("invariant", "extrapolation"))
say(small_count=len(live), gap_irm=gap_irm, gap_rex=gap_rex)
PAPER = {
    one.id: one.value for one in read_numbers(VALUES_FOLDER / "pezeshki2021.yml").values
}
for one in ("irm", "rex"):
    say(**{f"paper_{one}": table(one, "training") - table(one, "test")})
verify_all(
    verify_recorded("pezeshki2021-tab-1-erm", by_the_colour, NAME, SIZE),
    verify_recorded("pezeshki2021-tab-1-oracle", by_the_shape, NAME, SIZE),
    verify_recorded("pezeshki2021-tab-1-irm", no_gap("invariant"), NAME, SIZE),
    verify_recorded("pezeshki2021-tab-1-rex", no_gap("extrapolation"), NAME, SIZE),
)


# %%NBQA-CELL-SEP476b88
say(agreeing=CHANCES[0], opposed=CHANCES[1])
say(less_colour=START[0] / END[0], less_shape=START[1] / END[1])


def as_cross_entropy(metrics):
    return dict(
        measured=np.append(swept.numpy(), gap(metrics, "decoupled-as-printed")),
        predicted=0.75,
        atol=0.25,
        because="at least two thirds by the colour, less those by its opposite: 0.75/3",
        control=Variant("IRM", measured=np.resize(gap(metrics, "invariant"), 7), share=1),
        printed=Variant("the gap closes", predicted=0.0, share=1),
        data=HERE,
    )


verify_recorded("pezeshki2021-tab-1-sd", as_cross_entropy, NAME, SIZE)


# %%NBQA-CELL-SEP476b88
def phases(metrics):
    """Answers by the colour: at the switch, when fewest are, at the end; means of the seeds."""
    shares = course(metrics, "decoupled", "following")
    return dict(
        measured=[shares[:, 0].mean(), shares.min(axis=1).mean(), shares[:, -1].mean()],
        predicted=[1.0, 0.0, 1.0],
        atol=0.5,
        because="most images are answered this way, or most are not",
        control=Variant(
            "the shape prevails for good", predicted=[1.0, 0.0, 0.0], share=0.3
        ),
    )


def as_high(metrics):
    def top(method):
        return course(metrics, method, "test").max(axis=1).mean()

    return dict(
        measured=top("decay-alone"),
        at_least=top("decoupled"),
        because="the same networks up to the switch, and no label that calls the colour back",
        control=Variant("all outputs shrink alike", measured=0.1),
    )


decay = means("decay-alone", "test")
say(small_steps=small.steps[3], decay_top=decay.max(), decay_last=decay[-1])
say(shape_before=shape[0], shape_top=shape[high])
say(colour_before=colour[0], colour_top=colour[high])
verify_all(
    verify_recorded("pezeshki2021-ours-passing-phase", phases, NAME, SIZE),
    verify_recorded("pezeshki2021-ours-decay-alone", as_high, NAME, SIZE),
)


# %%NBQA-CELL-SEP476b88
def noisy(method, what):
    return course(drawn.metrics, method, what).mean(axis=0)


drawn = recorded(NAME, "test-split")
say(highest_live=course(live, "decoupled", "test").max(), drawn_count=len(drawn.seeds))
say(drawn_images=drawn.config["training"], noisy_top=noisy("decoupled", "test").max())
say(noisy_last=noisy("decoupled", "test")[-1], erm_test=noisy("cross-entropy", "test")[-1])
say(erm_train=noisy("cross-entropy", "training")[-1])
say(noisy_printed=noisy("decoupled-as-printed", "test")[-1])
say(noisy_irm=gap(drawn.metrics, "invariant")[0])
say(noisy_rex=gap(drawn.metrics, "extrapolation")[0])
say(paper_erm_train=table("erm", "training"), paper_erm_test=table("erm", "test"))
say(sd_train=table("sd", "training"), sd_test=table("sd", "test"))
say(paper_digits=PAPER["pezeshki2021-fig-4-digit-sd"] / 100)
say(**{f"paper_{one}": PAPER[f"pezeshki2021-fig-4-entropy-{one}"] for one in ("erm", "sd")})


def picked(metrics, method, what):
    """A quantity of each network at the end, or when its test accuracy is highest."""
    tests, values = (course(metrics, method, one) for one in ("test", what))
    chosen = tests.argmax(axis=1) if method == "decoupled" else -1
    return values[np.arange(len(values)), chosen]


def blank(metrics, method):
    """How many follow the colour, mean entropy, mean logit of the colour."""
    plus, minus = (picked(metrics, method, f"blank_{one}") for one in ("plus", "minus"))
    chances = expit(np.array([plus, minus]))
    entropy = (entr(chances) + entr(1 - chances)).mean()
    return int(((plus > 0) & (minus < 0)).sum()), entropy, (plus - minus).mean() / 2


for size, metrics in (("drawn", drawn.metrics), ("expected", full.metrics)):
    followers, entropy, logit = blank(metrics, "decoupled")
    say(**{f"blank_{size}": followers, f"entropy_{size}": entropy})
    say(**{f"entropy_{size}_erm": blank(metrics, "cross-entropy")[1]})
say(blank_logit=logit, colour_tops=picked(full.metrics, "decoupled", "colour").mean())


# %%NBQA-CELL-SEP476b88
say(seconds=process_time() - started)
