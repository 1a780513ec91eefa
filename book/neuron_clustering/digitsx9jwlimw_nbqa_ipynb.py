# %%NBQA-CELL-SEP476b88
from itertools import product
from time import process_time

import matplotlib.pyplot as plt
import numpy as np
from scipy.special import expit

from executable_claims import Variant, verify, verify_all
from lib import figures
from lib.data.digits import digits_pair
from lib.experiments.claims import verify_recorded
from lib.experiments.records import recorded
from lib.prose import say
from lib.seeds import generator

figures.use_style()
started = process_time()


# %%NBQA-CELL-SEP476b88
table = recorded("sarussi2021-table", "test-split")
FIGURE, MORE = "sarussi2021-figure-2", "sarussi2021-figure-6"
record, more = recorded(FIGURE, "test-split"), recorded(MORE, "test-split")
FIELDS = table.config["settings"]
SLOPES, STEPS, SCALES = (
    np.unique(one) for one in zip(*(map(float, f.split()) for f in FIELDS))
)
V = table.config["neurons"] ** -0.5
PAPER, BEST = ("outside", "outside_test"), ("outside_sharp", "outside_sharp_test")


def curves(metrics, pair, setting, name):
    """A metric (draws, epochs); epochs 0 and 1 come first."""
    return np.array([one[pair][setting][name] for one in metrics])


def last(metrics, pair, setting, *names):
    """The largest of these metrics at the end, by draw."""
    found = [np.array(curves(metrics, pair, setting, name)) for name in names]
    return np.max([one.reshape(len(one), -1)[:, -1] for one in found], axis=0)


def field(pair, *names):
    """The same in the table (draws, slopes, steps, scales)."""
    found = [last(table.metrics, pair, setting, *names) for setting in FIELDS]
    return np.transpose(found).reshape(-1, len(SLOPES), len(STEPS), len(SCALES))


def theory(pair):
    """The radius of the first hundred steps, and of the start."""
    return np.hypot(STEPS[:, None] * V / 2 * field(pair, "count"), SCALES * np.sqrt(784))


off = {pair: np.log(field(pair, "radius") / theory(pair)) for pair in ("0-1", "3-5")}
colours = figures.SIMULATION, figures.THIRD, figures.CONTRAST
fig, (left, right) = figures.panels(2, height=3.4)
for pair, part, colour in (
    ("3-5", np.s_[:, :, 2:], colours[2]),
    ("3-5", np.s_[:, :, :2], colours[1]),
    ("0-1", np.s_[:], colours[0]),
):
    values = [one[part] for one in (theory(pair), field(pair, "radius"))]
    left.loglog(
        *(one[..., 0].ravel() for one in values), "o", color=colour, ms=4, alpha=0.7
    )
    left.loglog(
        *(one[..., 1:].ravel() for one in values), "+", color=colour, ms=4, alpha=0.7
    )
left.plot([1e-4, 4], [1e-4, 4], **figures.DASHED)
left.text(1e-2, 4e-4, "0 and 1", color=colours[0])
left.text(1.2e-4, 0.06, r"3 and 5, $\eta\leq 0.003$", color=colours[1])
left.text(1.2e-4, 1.6, r"3 and 5, $\eta\geq 0.01$", color=colours[2])
left.set(xlabel="radius, theory", ylabel="radius at the end", ylim=(1e-4, 10))
for data, pair, name, colour in (
    (more, "5-8", "radius", colours[2]),
    (record, "3-5", "radius", colours[0]),
    (record, "3-5", "distance", colours[1]),
):
    epochs = data.metrics[0][pair]["small-start"]["epochs"][1:]
    lines = curves(data.metrics, pair, "small-start", name)[:, 1:].T
    right.loglog(epochs, lines, color=colour, linewidth=1)
right.text(1.3, 1.4, "gap, 3 and 5", color=colours[1])
right.text(5, 0.1, "radius, 5 and 8", color=colours[2])
right.text(3, 9e-4, "radius, 3 and 5", color=colours[0])
right.set(xlabel="epoch", ylabel="length", ylim=(6e-4, 5))
near, short = np.abs(off["0-1"][..., 0]), np.abs(off["3-5"][:, :, :2, 0])
say(easy_off=np.exp(np.median(near)), easy_most=np.exp(near.max()))
say(short_off=np.exp(np.median(short)), short_most=np.exp(short.max()))
say(start_off=np.exp(np.abs(off["0-1"][:, :, 0, 1:]).max()))
say(long_off=np.exp(np.median(off["3-5"][:, :, 3:, 0])))
say(table_draws=len(table.seeds), table_k=table.config["neurons"])
say(table_epochs=table.config["epochs"])
plt.show()


# %%NBQA-CELL-SEP476b88
fig, axes = figures.panels(3, rows=2, height=2.5)
for row, pair in zip(axes, ("0-1", "3-5")):
    paper, best = (100 * np.median(field(pair, *n), axis=0) for n in (PAPER, BEST))
    for k, axis in enumerate(row):
        axis.imshow(
            paper[k].T, cmap="Oranges", vmin=0, vmax=220, aspect="auto", origin="lower"
        )
        axis.grid(False)
        for i, j in np.ndindex(paper[k].shape):
            axis.text(
                i, j + 0.12, f"{paper[k][i, j]:.0f}", ha="center", color="black", fontsize=9
            )
            axis.text(
                i, j - 0.32, f"{best[k][i, j]:.0f}", ha="center", color="black", fontsize=7
            )
        axis.set_xticks(range(5), ["$10^{-3}$", "", "$10^{-2}$", "", "$10^{-1}$"])
        axis.set_yticks(range(3), ["$10^{-6}$", "$10^{-3}$", "$10^{-1}$"])
        axis.set_title(f"{pair.replace('-', ' and ')}, slope {SLOPES[k]}", fontsize=9)
    row[0].set_ylabel(r"scale $\lambda$")
axes[1, 1].set_xlabel(r"step $\eta$")
plt.show()


# %%NBQA-CELL-SEP476b88
K, ORDER = 6, 50  # neurons of each type, steps


def width(w):
    groups = w.reshape(2, K, -1)
    return np.linalg.norm(groups - groups.mean(axis=1, keepdims=True), axis=2).max()


def early(images, labels, seen, slope):
    """The radius of the process without step, scale and v, after each image."""
    signs, omega, path = np.repeat([1.0, -1.0], K), np.zeros((2 * K, len(images[0]))), []
    for x, y in zip(images, labels):
        slopes = np.where((omega @ x if path else seen) > 0, 1, slope)
        omega += np.outer(signs * slopes, y * x)
        path.append(width(omega))
    return path


# %%NBQA-CELL-SEP476b88
def descended(images, labels, start, slope, step=1e-14, scale=1e-28):
    """The radius over half of step times v, by descent on the logistic loss."""
    a, w = K**-0.5 * np.repeat([1.0, -1.0], K), scale * start
    for x, y in zip(images, labels):
        z = w @ x
        q = y * (a @ np.where(z > 0, z, slope * z))
        slopes = a * np.where(z > 0, 1, slope)
        w = w + np.outer(step * expit(-q) * y * slopes, x)
    return width(w) / (step * K**-0.5 / 2)


def spread_lengths(draws):
    labels = draws.choice([-1.0, 1.0], ORDER)
    clouds = draws.standard_normal((ORDER, 8)) + labels[:, None]
    return clouds * 10 ** draws.uniform(-1.2, 0.3, (ORDER, 1)), labels


families = (
    lambda draws: digits_pair(3, 5, centred=False),
    lambda draws: digits_pair(0, 1),
    spread_lengths,
)
widths, limits, halves = [], [], []
for k, (slope, family) in enumerate(product((0.1, 0.3, 0.6), families)):
    for draw in range(5):
        draws = generator(100 * k + draw)
        images, labels = family(draws)
        order = draws.permutation(len(labels))[:ORDER]
        images, labels = images[order], labels[order]
        start = draws.standard_normal((2 * K, images.shape[1]))
        seen, length = start @ images[0], np.linalg.norm(images[0])
        sides = (seen > 0).reshape(2, K).sum(axis=1)
        m = max([0, *(max(p, K - p) for p in sides if 0 < p < K)])
        widths += [descended(images[:n], labels[:n], start, slope) for n in (ORDER, 1)]
        limits += [early(images, labels, seen, slope)[-1], (1 - slope) * m / K * length]
        halves += 2 * [(1 - slope) / 2 * length]
verify(
    "sarussi2021-ours-step-sets-radius",
    measured=widths,
    predicted=limits,
    atol=1e-14 * ORDER**2 * 20**3,
    because="the bound of the page on 2 sigma - 1, for images of length up to 20, and twice for a mean",
    control=Variant("one step, neurons halved", predicted=halves, share=0.6),
)


# %%NBQA-CELL-SEP476b88
def gains(metrics, pair, setting):
    """The gain after the first epoch in ln r and in the logarithm of the gap, by draw."""
    both = (curves(metrics, pair, setting, name) for name in ("radius", "distance"))
    return [np.log(curve[:, -1] / curve[:, 1]) for curve in both]


def frozen(metrics):
    def share(setting):
        pairs = [gains(metrics, pair, setting) for pair in metrics[0]]
        return [np.mean(np.abs(inner) < 0.5 * outer) for inner, outer in pairs]

    return dict(
        measured=share("small-start"),
        at_least=0.6,
        because="more than half of 3, 5 or 10 draws is a share of 0.6 or more",
        control=Variant("long steps", measured=share("long-steps"), share=0.5),
    )


both = [gains(record.metrics, p, "small-start") for p in ("0-1", "3-5")]
inner, outer = np.swapaxes(both, 0, 1)
usual = np.sort(np.abs(inner).ravel())[:-1]
say(most_change=np.exp(usual.max()))
say(apart_01=np.exp(np.median(outer[0])), apart_35=np.exp(np.median(outer[1])))
say(long_draws=len(record.seeds), long_epochs=record.config["epochs"])
say(long_step=record.config["step"], control_step=record.config["long_step"])
verify_recorded("sarussi2021-ours-frozen-radius", frozen, FIGURE, "test-split")


# %%NBQA-CELL-SEP476b88
def nearly_zero(metrics, pair, setting):
    return last(metrics, pair, setting, *PAPER) < 0.05


def tight(metrics, pair, setting):
    """Whether ratio and angle fall after the first epoch, and the ratio ends below one half."""
    radius, gap, angle = (
        curves(metrics, pair, setting, name) for name in ("radius", "distance", "angle")
    )
    ratio = radius / gap
    falls = [curve[:, -1] < curve[:, 1] for curve in (ratio, angle)]
    return np.all([*falls, ratio[:, -1] < 0.5], axis=0)


def in_most_draws(what, skip=0, remark=""):
    """All pairs but the ``skip`` worst."""

    def check(metrics):
        def shares(setting):
            return np.sort([what(metrics, p, setting).mean() for p in metrics[0]])[skip:]

        return dict(
            measured=shares("small-start"),
            at_least=0.6,
            because="more than half of 3, 5 or 10 draws is a share of 0.6 or more",
            control=Variant("a large start", measured=shares("large-start")),
            data=f"MNIST's test images, sizes of ours{remark}",
        )

    return check


def counted(yes):
    return f"{yes.sum()} of {len(yes)}"


def small(what, source, *rest):
    return what(source.metrics, rest[0], "small-start", *rest[1:])


for pair, name in (("0-1", "01"), ("3-5", "35")):
    say(**{f"zero_{name}": counted(small(nearly_zero, record, pair))})
    say(**{f"tight_{name}": counted(small(tight, record, pair))})
say(zero_58=counted(small(nearly_zero, more, "5-8")), more_draws=len(more.seeds))
say(worst_35=small(last, record, "3-5", *PAPER).max())
say(usual_angle=np.sort(small(last, record, "3-5", "angle"))[-2])
say(large=record.config["large_scale"])
say(large_radius=np.median(last(record.metrics, "0-1", "large-start", "radius")))
most_pairs = in_most_draws(nearly_zero, 1, "; all of five pairs but 5 and 8")
verify_all(
    verify_recorded("sarussi2021-fig-2", in_most_draws(nearly_zero), FIGURE, "test-split"),
    verify_recorded("sarussi2021-fig-6", most_pairs, MORE, "test-split"),
    verify_recorded("sarussi2021-fig-7", in_most_draws(tight), FIGURE, "test-split"),
)


# %%NBQA-CELL-SEP476b88
unit = record.config["long_step"] * V / 2
sizes = [curves(record.metrics, p, "long-steps", "radius") / unit for p in ("0-1", "3-5")]
torn = curves(record.metrics, "3-5", "long-steps", "disagreements")
say(torn=np.median(torn[:, 1]), torn_of=record.metrics[0]["3-5"]["examples"][0])
say(kept_01=np.median(sizes[0][:, -1]))
say(torn_first=np.median(sizes[1][:, 1]), torn_last=np.median(sizes[1][:, -1]))
say(factor_1=(1 - 0.1) / (1 + 0.1), factor_3=(1 - 0.3) / (1 + 0.3))
say(best_35=small(last, record, "3-5", *BEST).max())
coarse, fine = (np.median(field("0-1", *n)[:, 0, -1, 0]) for n in (PAPER, BEST))
say(coarse=coarse, fine=fine)
say(least_large=min(field(p, *PAPER)[..., -1].min() for p in ("0-1", "3-5")))
hard = curves(more.metrics, "5-8", "small-start", "radius")
say(calm=more.metrics[0]["5-8"]["small-start"]["epochs"][5])
say(calm_change=np.abs(hard[:, 5] / hard[:, 1] - 1).max())
growth = hard[:, -1] / hard[:, 5]
burst = growth > 2
say(burst=burst.sum(), burst_least=growth[burst].min(), burst_most=growth.max())
many, errors = (small(last, more, "5-8", n) for n in ("disagreements", "error"))
say(
    burst_images=many[burst].min(),
    burst_error=errors[burst].max(),
    calm_error=errors[~burst].max(),
)


# %%NBQA-CELL-SEP476b88
say(seconds=process_time() - started)
