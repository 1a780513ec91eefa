"""Small claims of [pezeshki2021] on trained networks: of two moons and of coloured digits.

Functions return tables, columns before ``measured`` say where a row is from; or, for a claim that is checked
on a record and on a reduced run, the arguments of ``verify`` from the metrics of all seeds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np
import torch
from numpy.random import Generator
from pandas import DataFrame
from scipy.spatial.distance import cdist

from executable_claims import Variant
from experiments.records import recorded
from experiments.registry import find
from lib.data.synthetic import two_moons_with_gap
from lib.draws import Draw, draws, table
from lib.geometry.level_sets import bend, distance_to_data, zero_level_set
from lib.geometry.programs import separation
from lib.models.mlps import draw_mlps, seed_generators
from lib.seeds import book_seed, generator, named
from lib.training.ensembles import train
from lib.training.objectives import spectral_decoupling

Row = dict[str, Any]
Metrics = Sequence[Mapping[str, Any]]

# Two moons: Sections 2.1 and 4, Figure 2.

NETWORKS = 12


@dataclass(frozen=True)
class Setting:
    """Two moons with a gap, and how networks are trained on them."""

    gap: float
    strength: float = 0.0  # of spectral decoupling
    decay: float = 2e-4


SETTINGS = {
    "overlap": Setting(-0.1),
    "gap": Setting(0.1),
    "decoupled": Setting(0.1, strength=0.006),
    "decayed": Setting(0.1, decay=0.01),
}


def moons(gap: float, *, rng: Generator) -> tuple[np.ndarray, np.ndarray]:
    """Draw 300 points and labels."""
    return two_moons_with_gap(300, gap, rng=rng)


def separable_by_a_line() -> DataFrame:
    """Measure whether a line separates 300 points of two moons, each answer with a proof [Fig. 2a]."""

    def separable(drawn: tuple[np.ndarray, np.ndarray]) -> Row:
        x, y = drawn
        answer = separation(np.column_stack([x, np.ones(len(x))]), y).separable
        return {"measured": answer, "tangent_features": 1}

    answers = table(separable, draws("lines", moons, {"overlap": -0.1, "gap": 0.1}, each=10))
    answers["predicted"] = answers["family"] == "gap"
    return answers


def steepness(f: Callable[[np.ndarray], np.ndarray], curves: Sequence[np.ndarray]) -> float:
    """Return the mean slope of a function on its zero line, by differences."""
    line, steps = np.concatenate(curves), 1e-4 * np.eye(2)
    return np.linalg.norm([(f(line + step) - f(line - step)) / 2e-4 for step in steps], axis=0).mean()


@cache
def boundaries(name: str) -> dict[str, float]:
    """Return the means over the networks of a setting, trained for 1,000 steps at ten times the paper's rate.

    ``sure`` is of the points reflected in x_2 that lie 0.5 or more from all data the part that is given its
    old class with a chance above 99 per cent, ``wrong`` that of wrong answers on moons that overlap by 0.3.
    """
    setting = SETTINGS[name]
    rngs = [generator(named(f"moons {setting.gap}", k)) for k in range(NETWORKS)]
    x, y = map(np.stack, zip(*(two_moons_with_gap(100, setting.gap, rng=rng) for rng in rngs), strict=True))
    run = train(
        draw_mlps((2, 100, 1), seed_generators(book_seed(named("networks")), NETWORKS)),
        torch.tensor(x),
        torch.tensor(y),
        objective=spectral_decoupling(setting.strength),
        optimiser=partial(torch.optim.SGD, lr=0.1, momentum=0.9, weight_decay=setting.decay),
        steps=1000,
    )
    looks = [look(run.network.seed(k), x[k], y[k]) for k in range(NETWORKS)]
    return {key: float(np.mean([seen[key] for seen in looks])) for key in looks[0]}


def look(network: torch.nn.Module, x: np.ndarray, y: np.ndarray) -> dict[str, float]:
    """Return what `boundaries` has the mean of, for one network."""

    def f(points: np.ndarray) -> np.ndarray:
        return network(torch.tensor(points))[0].detach().numpy()

    curves, reflected = zero_level_set(f, half_width=1.5, points=61), x * [1, -1]
    far = reflected[cdist(reflected, x).min(axis=1) > 0.5]
    classes = y[cdist(reflected, x).min(axis=1) > 0.5]
    fresh_x, fresh_y = two_moons_with_gap(2000, -0.3, rng=generator(named("fresh moons")))
    return {
        "bend": bend(curves),
        "margin": distance_to_data(curves, x) / (cdist(x[y > 0], x[y < 0]).min() / 2),
        "slope": steepness(f, curves),
        "sure": (classes * f(far) > np.log(99)).mean(),
        "wrong": (fresh_y * f(fresh_x) <= 0).mean(),
    }


def almost_straight() -> DataFrame:
    """Measure the mean bend of the boundary with the gap, at the paper's size and here [Fig. 2b]."""
    metrics = recorded("pezeshki2021-figure-2").metrics
    gap, overlap = (
        [np.mean([seed[name]["bend"] for seed in metrics]), boundaries(name)["bend"]]
        for name in ("gap", "overlap")
    )
    networks = ["10 of the paper's size, on record", f"{NETWORKS} of 100 units"]
    return DataFrame({"networks": networks, "measured": gap, "at_most": 0.02, "overlap": overlap})


def loss_and_margin() -> DataFrame:
    """Measure mean loss and mean margin, over the widest possible one, at the paper's size [Sec. 2.1]."""
    record = recorded("pezeshki2021-figure-2")
    drawn = [two_moons_with_gap(300, 0.1, rng=np.random.default_rng(seed)) for seed in record.seeds]
    widest = [cdist(x[y > 0], x[y < 0]).min() / 2 for x, y in drawn]
    row = {"networks": len(widest)}
    for name, prefix in (("gap", ""), ("decoupled", "decoupled_")):
        row[f"{prefix}loss"] = np.mean(record.values(f"{name}.loss"))
        row[f"{prefix}margin"] = np.mean(record.values(f"{name}.margin") / widest)
    return DataFrame([row]).rename(columns={"loss": "measured"})


def compared_boundaries() -> DataFrame:
    """Measure the part of points far away that is sure, and signs of differences between settings.

    ``sharper`` is how much steeper the output is on the boundary with the gap than with overlap, ``worse``
    the same of wrong answers; ``curved`` and ``wider`` are what decoupling adds to bend and margin.
    """
    overlap, gap, decoupled, decayed = map(boundaries, SETTINGS)
    sure = {"measured": gap["sure"], "decoupled_sure": decoupled["sure"], "overlap_sure": overlap["sure"]}
    differences = {
        "sharper": gap["slope"] - overlap["slope"],
        "decoupled_sharper": decoupled["slope"] - overlap["slope"],
        "worse": gap["wrong"] - overlap["wrong"],
        "decoupled_worse": decoupled["wrong"] - gap["wrong"],
        "curved": decoupled["bend"] - gap["bend"],
        "decayed_curved": decayed["bend"] - gap["bend"],
        "wider": decoupled["margin"] - gap["margin"],
        "decayed_wider": decayed["margin"] - gap["margin"],
    }
    signs = {name: np.sign(difference) for name, difference in differences.items()}
    return DataFrame([{"networks": NETWORKS} | sure | signs])


# Coloured digits: Section 4, Table 1 and Figure 4.

TABLE_1, EXPECTED = "pezeshki2021-table-1", "test-split-expected"
IMAGES = "8 x 8 digits, and 1,500 of MNIST's test images, with expected noise"
NEAR = "near is nine tenths of the training images, and 0.87 of what the shape alone gives"
DRAWN = "two networks for the small digits, five for MNIST's; each with images of its own"
SWITCH = find(TABLE_1).quick.annealing[3]  # of decoupling, the same on record


def late(metrics: Metrics, method: str, quantity: str) -> np.ndarray:
    """Return a quantity at the steps of a method, from the switch of decoupling on, (seeds, steps)."""
    since = np.array(metrics[0][method]["steps"]) >= SWITCH * (method[:3] == "dec")
    return np.array([seed[method][quantity] for seed in metrics])[:, since]


def accuracies(metrics: Metrics, method: str) -> np.ndarray:
    """Return training and test accuracy at the end, (2, seeds)."""
    return np.array([late(metrics, method, name)[:, -1] for name in ("training", "test")])


def at_the_top(metrics: Metrics) -> np.ndarray:
    """Return both accuracies of decoupling where that on the test images is highest, (2, seeds)."""
    training, test = (late(metrics, "decoupled", name) for name in ("training", "test"))
    best, each = test.argmax(axis=1), np.arange(len(test))
    return np.array([training[each, best], test[each, best]])


def plain(metrics: Metrics) -> Row:
    """Check the row of cross-entropy, in the mean, for the test accuracy creeps when all is learnt."""
    training, test = (late(metrics, "cross-entropy", name) for name in ("training", "test"))
    return {
        "measured": [training[:, -1].mean(), test[training >= 0.84].mean()],
        "predicted": [0.85, 0.1],
        "atol": 0.02,
        "because": "from when the colour is learnt on, in the mean less than one image in forty is answered "
        "otherwise, which changes 0.8 at most",
        "families": DRAWN,
        "control": Variant("by the shape", predicted=0.75),
        "data": IMAGES,
    }


def grey(metrics: Metrics) -> Row:
    """Check the oracle."""
    return {
        "measured": accuracies(metrics, "grey"),
        "at_least": 0.7,
        "at_most": 0.75,
        "because": "0.75 less half of the misread shapes, of which one in ten is allowed",
        "families": DRAWN,
        "control": Variant("with colours", measured=accuracies(metrics, "cross-entropy")),
        "data": IMAGES,
    }


def beside_both(pair: np.ndarray, metrics: Metrics) -> np.ndarray:
    """Return the mean test accuracy, of (2, seeds), over that on training images, and over the oracle's."""
    training, test = pair.mean(axis=1)
    return test / np.array([training, accuracies(metrics, "grey")[1].mean()])


def decoupled(metrics: Metrics) -> Row:
    """Check that the test accuracy of decoupling is near both others."""
    usual = beside_both(accuracies(metrics, "cross-entropy"), metrics)
    return {
        "measured": beside_both(at_the_top(metrics), metrics),
        "at_least": [0.9, 0.87],
        "because": NEAR,
        "families": DRAWN,
        "control": Variant("cross-entropy", measured=usual),
        "data": IMAGES,
    }


def printed_loss(metrics: Metrics) -> Row:
    """Check how much of the gap between the accuracies the printed loss leaves."""
    whole = -np.diff(accuracies(metrics, "cross-entropy"), axis=0)
    return {
        "measured": -np.diff(accuracies(metrics, "decoupled-as-printed"), axis=0) / whole,
        "at_least": 5 / 6,
        "because": "nearly all of it is five sixths",
        "families": DRAWN,
        "control": Variant("the loss of the code", measured=-np.diff(at_the_top(metrics), axis=0) / whole),
    }


def passing_phase(metrics: Metrics) -> Row:
    """Check the mean answers: by the colour at the switch, then by the shape, by the colour at the end."""
    shares = late(metrics, "decoupled", "following")
    start, turned, end = shares[:, 0].mean(), 1 - shares.min(axis=1).mean(), shares[:, -1].mean()
    return {
        "measured": [start, turned, end],
        "at_least": [0.9, 0.8, 0.75],
        "because": "most images are nine tenths at first, four fifths, and three quarters at the end",
        "families": DRAWN,
        "control": Variant("the shape for good", measured=[start, turned, 1 - turned], share=0.3),
    }


def environments(method: str) -> DataFrame:
    """Measure the mean test accuracy of a method over that on the training images, and over the oracle's."""
    metrics = recorded(TABLE_1, EXPECTED).metrics
    beside, usual = (beside_both(accuracies(metrics, name), metrics) for name in (method, "cross-entropy"))
    keys = {"networks": len(metrics), "beside": ["training", "grey"]}
    return DataFrame(keys | {"measured": beside, "at_least": [0.9, 0.87], "usual": usual})


def decay_alone() -> DataFrame:
    """Measure the highest test accuracy of decay without labels beside that of decoupling."""
    metrics = recorded(TABLE_1, EXPECTED).metrics
    top, decoupled_top = (late(metrics, name, "test").max(axis=1) for name in ("decay-alone", "decoupled"))
    claim = {"measured": top, "at_least": decoupled_top}
    unchanged = accuracies(metrics, "cross-entropy")[1]
    return DataFrame({"network": 1 + np.arange(len(metrics))} | claim | {"unchanged": unchanged})


def blank(seed: Mapping[str, Any], method: str, at: int) -> list[float]:
    """Return the logits of a blank image in both colours, towards the label of the colour."""
    return [seed[method]["blank_plus"][at], -seed[method]["blank_minus"][at]]


def blank_images() -> DataFrame:
    """Measure what networks of cross-entropy say of coloured blank images at the end [Fig. 4]."""

    def logits(seed: Mapping[str, Any]) -> Row:
        end, start = (blank(seed, "cross-entropy", at) for at in (-1, 0))
        return {"colour": [1, -1], "measured": end, "at_least": 5.0, "untrained": start}

    metrics = recorded(TABLE_1, "published").metrics
    return table(logits, [Draw({"network": number}, (seed,)) for number, seed in enumerate(metrics, 1)])


def at_the_stop() -> DataFrame:
    """Measure the part of test images that is answered by the colour, and logits of blank ones, in the mean.

    With decoupling at the published stop, beside cross-entropy, and four times the steps.
    """
    metrics = recorded(TABLE_1, "published").metrics
    stop = metrics[0]["decoupled"]["steps"].index(2000)
    following = [seed["decoupled"]["following"][stop] for seed in metrics]
    usual = [seed["cross-entropy"]["following"][-1] for seed in metrics]
    blanks, later = ([blank(seed, "decoupled", at) for seed in metrics] for at in (stop, -1))
    means = {"measured": np.mean(following), "usual": np.mean(usual)}
    means |= {"blank": np.mean(blanks), "blank_later": np.mean(later)}
    row = {"networks": len(metrics)} | means
    return DataFrame([row])
