# %%NBQA-CELL-SEP476b88
import sys
import textwrap

import matplotlib.pyplot as plt
import numpy as np
from IPython.display import HTML
from scipy.integrate import solve_ivp
from scipy.optimize import brentq
from scipy.signal import find_peaks
from scipy.special import expit, logit

sys.path.insert(0, "_site")  # the site's own modules
from paper_values import read_papers
from side_by_side import (
    Measurement,
    Reading,
    Row,
    comparison_table,
)

from lib import figures
from lib.experiments.records import NoRecord, command, recorded
from lib.experiments.registry import quick
from lib.flow import gradient_flow
from lib.models.two_layer import Start, TwoLayer
from lib.prose import say
from lib.theory.dual import primal_responses, rotation, two_features
from lib.theory.orthogonal import two_plateaus
from lib.training.losses import EXPONENTIAL, LOGISTIC, SQUARE

figures.use_style()


# %%NBQA-CELL-SEP476b88
ours = {}

bounds = expit(logit([[0.99], [0.9999]]) * [0.5, 0.2, 0.1, 0.01])
for letter, bound in zip("abcdefgh", 100 * bounds.ravel()):
    ours[f"combes2018-tab-1-{letter}"] = Measurement((bound,), "closed form")

starts = {
    "green": (0.1, 0.1, 0.1),
    "yellow": (0.2, 0.9, 0.2),
    "failure": (1.0, 0.0, -1.1),
}
for name, (*weights, a) in starts.items():
    run = gradient_flow(
        TwoLayer([weights], [a]),
        np.eye(2),
        [1, -1],
        LOGISTIC,
        log_until=60.0,
        reduction="sum",
    )
    ours[f"combes2018-fig-3r-{name}"] = Measurement(
        (expit(run.outputs()[-1, 0]),), "flow to the time e⁶⁰"
    )

# With a colour of chance 1/2 the shape alone decides, and agrees with the label in 75 per cent.
shape_alone = expit(logit(0.75) + logit(0.5))
ours["pezeshki2021-tab-1-optimum"] = Measurement((100 * shape_alone,), "closed form")

weak, strong = (primal_responses(two_features(0.6, s1, 2.0, 0.01)) for s1 in (2.0, 6.0))
ours["pezeshki2021-fig-6-leading"] = Measurement(
    (strong[0] / weak[0],), "exact fixed point"
)
ours["pezeshki2021-fig-6-weaker"] = Measurement((strong[1] / weak[1],), "exact fixed point")


def decoupled_end(s1, penalty=0.01, u=rotation(0.6)):
    """The responses under spectral decoupling after a long time of gradient flow."""
    squares = np.array([s1, 2.0]) ** 2

    def field(_, z):
        return squares * (u.T @ expit(-u @ z) - penalty * z)

    return solve_ivp(field, (0, 1e4), np.zeros(2), "Radau", rtol=1e-10, atol=1e-12).y[:, -1]


ours["pezeshki2021-fig-6-decoupled"] = Measurement(
    (decoupled_end(6.0)[1] / decoupled_end(2.0)[1],), "flow to the time 10⁴"
)


# %%NBQA-CELL-SEP476b88
ITERATION = (
    2e-3  # the time of the flow that an iteration takes: the step 1e-3 on twice the loss
)
pair_inputs, pair_labels = np.array([[-0.5, 1.0], [2.0, 1.0]]), np.array([-1.0, 1.0])
five_inputs = np.column_stack([[-1.5, -1, 0, 0.25, 2], np.ones(5)])
five_labels = np.array([0.7, -0.3, -0.3, 0.4, 0.2])


def drawn(scale, seed):
    rng = np.random.default_rng(seed)
    return Start.gaussian(60, 2, np.log(scale / np.sqrt(60)), rng=rng)


def leaving(seed):
    """The iterations at which the loss has fallen by one per cent of its start below a plateau."""
    theory = two_plateaus(drawn(1e-6, seed), pair_inputs, pair_labels)
    middle, end = theory.half_times
    levels = ((0.99, 0.0, middle), (0.49, middle, end))
    times = [
        brentq(lambda t: 2 * theory.loss(t) - level, low, high)
        for level, low, high in levels
    ]
    return np.array(times) / ITERATION


def five_loss(scale, seed, times):
    start = drawn(scale, seed)
    run = gradient_flow(start, five_inputs, five_labels, SQUARE, until=times[-1], rtol=1e-6)
    return ((run.outputs(times) - five_labels) ** 2).mean(axis=1)


def kinks(seed):
    """How many kinks the function has after 15,000 iterations, of a hundredth of the largest at least."""
    start = drawn(1e-6, seed)
    run = gradient_flow(start, pair_inputs, pair_labels, SQUARE, until=15_000 * ITERATION)
    grid = np.arange(-6, 6, 0.05)
    outputs = run.network_at()(np.column_stack([grid, np.ones(len(grid))]))
    bends = np.abs(np.diff(outputs, n=2))
    return len(find_peaks(bends, prominence=0.01 * bends.max())[0])


ours["boursier2022-fig-2-kinks"] = Measurement(
    tuple(kinks(seed) for seed in range(10)), "flow, 10 seeds"
)
first, second = zip(*(leaving(seed) for seed in range(40)))
ours["boursier2022-fig-3-first"] = Measurement(first, "closed form, 40 seeds")
ours["boursier2022-fig-3-second"] = Measurement(second, "closed form, 40 seeds")

times = np.arange(1.0, 601)
curves = [five_loss(1e-4, seed, times) for seed in range(2)]
between = (times > 100) & (times < 400)
slowest = [
    times[between][np.gradient(np.log(curve), times)[between].argmax()] for curve in curves
]
ours["boursier2022-fig-4c-saddle"] = Measurement(
    tuple(np.array(slowest) / ITERATION), "flow, 2 seeds"
)
ours["boursier2022-fig-4e-loss"] = Measurement(
    tuple(curve[-1] for curve in curves), "flow, 2 seeds"
)
ours["boursier2022-fig-5-loss"] = Measurement(
    tuple(five_loss(10, seed, [10.0])[0] for seed in range(3)), "flow, 3 seeds"
)


# %%NBQA-CELL-SEP476b88
def planar_flow(inputs, labels, iterations, rng, rtol=1e-6):
    """So many iterations of step 2e-3 of 50 neurons from weights of size 1e-6, as a flow."""
    start = TwoLayer(1e-6 * rng.standard_normal((50, 2)), 1e-6 * rng.standard_normal(50))
    until = 2e-3 * iterations
    return gradient_flow(start, inputs, labels, EXPONENTIAL, until=until, rtol=rtol)


def drops(seed):
    """How many drops the loss has on two data of either class: high peaks of its speed of fall."""
    degrees, norms = np.deg2rad([20, 50, 150, 180]), np.array([1.2, 1.0, 0.7, 0.6])
    inputs = norms[:, None] * np.column_stack([np.cos(degrees), np.sin(degrees)])
    labels = np.array([1.0, 1.0, -1.0, -1.0])
    times = np.linspace(0, 80, 2001)
    run = planar_flow(inputs, labels, 40_000, np.random.default_rng(seed))
    losses = EXPONENTIAL.value(run.outputs(times), labels).mean(axis=1)
    speed = -np.gradient(losses, times)
    return len(find_peaks(speed, prominence=0.1 * speed.max())[0])


ours["min2024-fig-6-drops"] = Measurement(
    tuple(drops(seed) for seed in range(5)),
    "flow, 5 seeds",
    remark="four data of ours",
)


def stragglers(angle, seed, iterations=(7000, 21000)):
    """How many of 50 neurons have a positive output weight and see just one of the two data."""
    inputs = np.array([[1.0, 0.0], [np.sin(angle), np.cos(angle)]])
    rng = np.random.default_rng(seed)
    run = planar_flow(inputs, [1, 1], iterations[-1], rng, rtol=1e-8)
    at = run.at(2e-3 * np.array(iterations))
    one = (at.directions @ inputs.T > 0).sum(axis=-1) == 1
    return (one & (at.signs > 0)).sum(axis=1)


for angle, early, late in (
    (0.1, "7-stragglers", None),
    (0.001, "8-stragglers", "8-late"),
    (0.0, None, "9-stragglers"),
):
    counts = zip(*(stragglers(angle, seed) for seed in range(5)))
    for name, count in zip((early, late), counts):
        if name:
            ours[f"min2024-fig-{name}"] = Measurement(count, "flow, 5 seeds")


# %%NBQA-CELL-SEP476b88
def ratio(above, below):
    """One over the other, if both exist."""
    return None if above is None or below is None else above / below


def steps_of(length, metric):
    """A metric in iterations, at the step that the paper uses."""
    return lambda one, config: (
        None if one[metric] is None else one[metric] * config["step"] / length
    )


def over(above, below, metric):
    """A metric of one setting over that of another."""
    return lambda one, config: ratio(one[above][metric], one[below][metric])


def accuracy_of(images):
    """The accuracy in per cent where every training image has the light."""
    return lambda one, config: 100 * one["lit_100"][images]


def response_over(above, below, feature):
    """The response to a feature at the end in one setting over that in another."""
    return lambda one, config: (
        one[above]["responses"][feature][-1] / one[below]["responses"][feature][-1]
    )


def largest_bend(one, config):
    """The largest bend of all settings but spectral decoupling, over that of spectral decoupling."""
    bends = [setting["bend"] for name, setting in one.items() if name != "decoupled"]
    return ratio(None if None in bends else max(bends), one["decoupled"]["bend"])


def share_outside(pair):
    """The share of the digits of a pair outside the linear region, for training or testing."""
    return lambda one, config: (
        100
        * max(one[pair]["small-start"][name][-1] for name in ("outside", "outside_test"))
    )


def turning_once_a_pass(layers):
    """The largest change of directions from the end of the first pass on, of seven steps."""
    return lambda one, config: max(one[layers]["direction_change"][7:])


high = dict(
    experiment="boursier2022-figure-6",
    variants=("full", "long-steps"),
    remarks={"quick": "15 data, 40 neurons, scale 1e-8"},
)
images = dict(
    experiment="min2024-figure-5",
    variants=("full", "test-split"),
    remarks={"quick": "images of 8 × 8 pixels"},
)
phases = dict(
    experiment="min2024-figure-12",
    variants=("full", "test-split"),
    remarks={"quick": "images of 8 × 8 pixels"},
)
light = dict(
    experiment="combes2018-table-2",
    variants=("full", "test-split"),
    remarks={
        "quick": "digits of 8 × 8 pixels in the place of cats and dogs",
        "test-split": "handwritten digits in the place of cats and dogs",
    },
)
moons = dict(experiment="pezeshki2021-figure-2")
digits = dict(variants=("full", "test-split"), remarks={"quick": "images of 8 × 8 pixels"})
readings = {
    "combes2018-tab-2-training": Reading(value=accuracy_of("training"), **light),
    "combes2018-tab-2-modified": Reading(value=accuracy_of("modified"), **light),
    "combes2018-tab-2-real": Reading(value=accuracy_of("real"), **light),
    "boursier2022-fig-7a-saddle": Reading(
        value=lambda one, config: (
            None
            if one["second_drop"] is None
            else (one["first_drop"] + one["second_drop"]) / 2 * config["step"] / 1e-3
        ),
        **high,
    ),
    "boursier2022-fig-7a-loss": Reading(
        value=lambda one, config: one["final_error"] / one["mean_squared_error"][0],
        **high,
    ),
    "boursier2022-fig-7b-two": Reading(
        value=lambda one, config: 100 * sum(one["final_explained"][:2]), **high
    ),
    "min2024-fig-5-aligned": Reading(value=steps_of(2e-3, "all_aligned"), **images),
    "min2024-fig-5-grows": Reading(value=steps_of(2e-3, "norm_grows"), **images),
    "min2024-fig-5-below": Reading(
        value=lambda one, config: one["final"]["stable_rank"], **images
    ),
    "min2024-fig-5-rank": Reading(
        value=lambda one, config: one["final"]["stable_rank"], **images
    ),
    "min2024-fig-12-directions": Reading(value=turning_once_a_pass("both"), **phases),
    "min2024-fig-13-directions": Reading(value=turning_once_a_pass("first"), **phases),
    **{
        f"sarussi2021-fig-2-outside-{pair}": Reading(
            experiment="sarussi2021-figure-2", value=share_outside(pair), **digits
        )
        for pair in ("0-1", "3-5")
    },
    "sarussi2021-fig-6-outside": Reading(
        experiment="sarussi2021-figure-6",
        value=lambda one, config: max(share_outside(pair)(one, config) for pair in one),
        **digits,
    ),
    "sarussi2021-fig-7-ratio": Reading(
        experiment="sarussi2021-figure-2",
        value=lambda one, config: max(
            pair["small-start"]["radius"][-1] / pair["small-start"]["distance"][-1]
            for pair in one.values()
        ),
        **digits,
    ),
    "sarussi2021-fig-7-angle": Reading(
        experiment="sarussi2021-figure-2",
        value=lambda one, config: max(
            pair["small-start"]["angle"][-1] for pair in one.values()
        ),
        **digits,
    ),
    **{
        f"sarussi2021-fig-{figure}-share": Reading(
            experiment=f"sarussi2021-figure-{figure}",
            value=lambda one, config: (
                100
                * min(one["small-start"]["share_w"][-1], one["small-start"]["share_u"][-1])
            ),
        )
        for figure in (8, 9)
    },
    "sarussi2021-fig-9-disagreement": Reading(
        experiment="sarussi2021-figure-9",
        value=lambda one, config: max(
            one["small-start"][f"disagreements_{name}"][-1] for name in "wu"
        ),
    ),
    "pezeshki2021-fig-2b-bend": Reading(value=over("gap", "overlap", "bend"), **moons),
    "pezeshki2021-fig-2c-bend": Reading(value=over("decoupled", "gap", "bend"), **moons),
    "pezeshki2021-fig-2c-margin": Reading(
        value=over("decoupled", "gap", "margin"), **moons
    ),
    "pezeshki2021-fig-2b-loss": Reading(
        value=lambda one, config: one["gap"]["loss"], **moons
    ),
    "pezeshki2021-fig-2d-leading": Reading(
        value=response_over("gap", "overlap", 0), **moons
    ),
    "pezeshki2021-fig-2d-weaker": Reading(
        value=response_over("gap", "overlap", 1), **moons
    ),
    "pezeshki2021-fig-2e-leading": Reading(
        value=response_over("decoupled", "gap", 0), **moons
    ),
    "pezeshki2021-fig-2e-weaker": Reading(
        value=response_over("decoupled", "gap", 1), **moons
    ),
    "pezeshki2021-fig-3-bend": Reading(
        experiment="pezeshki2021-figure-3",
        value=largest_bend,
        variants=("full", "published-code"),
    ),
}


# %%NBQA-CELL-SEP476b88
def looked_at(one, method, config):
    """The end of the curves, and for decoupling, whose test accuracy rises and falls, their top."""
    if method != "decoupled":
        return -1
    switched = np.array(one[method]["steps"]) >= config["annealing"][3]
    return int(np.argmax(np.where(switched, one[method]["test"], 0)))


def percent(method, environment):
    """The accuracy of a method on the training or the test images."""
    return lambda one, config: (
        100 * one[method][environment][looked_at(one, method, config)]
    )


def blanks(one, method, config):
    """The chances of the label 1 for a blank image in the two colours."""
    k = looked_at(one, method, config)
    return expit([one[method][f"blank_{colour}"][k] for colour in ("plus", "minus")])


def blank_percent(method):
    """The accuracy on blank images: nine in ten have the label that their colour opposes."""
    return lambda one, config: (
        50
        * sum(
            0.1 if right else 0.9
            for right in (blanks(one, method, config) > 0.5) == [True, False]
        )
    )


def blank_entropy(method):
    return lambda one, config: np.mean(
        [-p * np.log(p) - (1 - p) * np.log1p(-p) for p in blanks(one, method, config)]
    )


coloured = dict(
    experiment="pezeshki2021-table-1",
    variants=("full", "test-split", "test-split-expected"),
    remarks={
        "quick": "images of 8 × 8 pixels",
        "test-split": "3,000 images in place of 50,000, smaller networks",
        "test-split-expected": "1,500 images, each with both labels in both colours",
    },
)
at_top = coloured | {
    "remarks": {
        variant: f"{remark}; when its test accuracy is highest"
        for variant, remark in coloured["remarks"].items()
    }
}
methods = {
    "erm": "cross-entropy",
    "rex": "extrapolation",
    "irm": "invariant",
    "sd": "decoupled",
    "oracle": "grey",
}
for name, method in methods.items():
    for environment in ("training", "test"):
        value, kind = percent(method, environment), at_top if name == "sd" else coloured
        readings[f"pezeshki2021-tab-1-{name}-{environment}"] = Reading(value=value, **kind)
for name, value in (
    ("blank-erm", blank_percent("cross-entropy")),
    ("blank-sd", blank_percent("decoupled")),
    ("blank-irm", blank_percent("invariant")),
    ("entropy-erm", blank_entropy("cross-entropy")),
    ("entropy-sd", blank_entropy("decoupled")),
    ("digit-erm", percent("cross-entropy", "test")),
    ("digit-sd", percent("decoupled", "test")),
):
    kind = at_top if name.endswith("sd") else coloured
    readings[f"pezeshki2021-fig-4-{name}"] = Reading(value=value, **kind)


# %%NBQA-CELL-SEP476b88
def row(value):
    """The row of one number of a paper."""
    if (reading := readings.get(value.id)) is None:
        exact = "–" if value.id in ours else ""
        return Row(value, ours.get(value.id), instead=exact)
    make = f"none yet; <code>{reading.command()}</code>"
    here = reading.measure(quick(reading.experiment), "quick")
    return Row(value, here, reading.recorded(), instead=make)


rows = {paper.paper: [row(value) for value in paper.values] for paper in read_papers()}
unknown = {*ours, *readings} - {one.paper.id for each in rows.values() for one in each}
assert not unknown, f"no paper has these numbers: {unknown}"
everything = [one for each in rows.values() for one in each]
say(
    count=len(everything),
    measured=sum(one.quick is not None for one in everything),
    on_record=sum(bool(one.recorded) for one in everything),
)


def show(paper):
    """The table of a paper, and what it shows without numbers."""
    rest = next(one for one in read_papers() if one.paper == paper).without_numbers
    items = [
        " ".join(
            [
                f"{one.place}: {one.what}",
                *(f'<span data-claim="{name}">{name}</span>' for name in one.claims),
            ]
        )
        for one in rest
    ]
    return HTML(
        comparison_table(rows[paper])
        + f'<p class="comparison-rest">Without a number to compare. {"; ".join(items)}.</p>'
    )


# %%NBQA-CELL-SEP476b88
shown = [
    one
    for one in everything
    if one.paper.relation == "is" and one.paper.value
    if one.best is not None and one.best.happened and not one.best.remark
]
# Names stand above what they name, so that the figure is as narrow as a phone.
names = {
    one.paper.id: textwrap.fill(f"{one.paper.place}: {one.paper.quantity}", 56)
    for one in shown
}
fig, axes = plt.subplots(figsize=(3.6, 0.9 + 0.34 * len(shown)))
at, above = 0.0, None
for one in shown:
    more = 0.45 * names[one.paper.id].count("\n")
    at += 0.8 * (one.paper.paper != above) + more
    write = dict(transform=axes.get_yaxis_transform(), va="bottom")
    if one.paper.paper != above:
        above = one.paper.paper
        axes.text(0, at - 0.85 - more, above, fontsize=9.5, weight="bold", **write)
    axes.text(0, at - 0.22, names[one.paper.id], fontsize=8, linespacing=1.1, **write)
    low, middle, top = (
        value / one.paper.value for value in (one.best.low, one.best.median, one.best.high)
    )
    share = (one.paper.error or 0) / one.paper.value
    axes.barh(at, 2 * share, 0.36, left=1 - share, color=figures.THEORY, alpha=0.3)
    axes.plot([1, 1], [at - 0.18, at + 0.18], **figures.DASHED | {"linestyle": "-"})
    axes.plot([low, top], [at, at], color=figures.SIMULATION)
    ground = figures.SIMULATION if one.recorded else "none"
    axes.plot(
        middle, at, "o", color=figures.SIMULATION, markerfacecolor=ground, markersize=5
    )
    at += 1
axes.set(xlabel="ours / the paper's", ylim=(at - 0.5, -0.7), yticks=[])
axes.tick_params(labelsize=9)
axes.spines["left"].set_visible(False)

sure = [one for one in shown if one.paper.error]
outside = [one for one in sure if abs(one.best.median - one.paper.value) > one.paper.error]
say(
    sure=len(sure),
    inside=len(sure) - len(outside),
    outside="; ".join(f"{one.paper.place}, {one.paper.quantity}" for one in outside)
    or "none",
)
plt.show()


# %%NBQA-CELL-SEP476b88
show("combes2018")


# %%NBQA-CELL-SEP476b88
show("boursier2022")


# %%NBQA-CELL-SEP476b88
show("min2024")


# %%NBQA-CELL-SEP476b88
show("sarussi2021")


# %%NBQA-CELL-SEP476b88
show("pezeshki2021")


# %%NBQA-CELL-SEP476b88
places = []  # of the records, where links from the tables lead
for name, variant in dict.fromkeys(
    (reading.experiment, variant)
    for reading in readings.values()
    for variant in reading.variants
):
    try:
        places.append(recorded(name, variant)._repr_html_())
    except NoRecord:
        make = f"{name}, {variant}: none yet; <code>{command(name, variant)}</code>"
        places.append(f'<p class="no-record">{make}</p>')
HTML("".join(places))
