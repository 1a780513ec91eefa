"""Figure 4 of [boursier2022]: five points on a line, learnt by plain descent at the published step and scale.

Functions return rows and columns; columns before ``measured`` say where a row is from.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.linalg import norm
from pandas import DataFrame

from lib.draws import Draw
from lib.models.two_layer import Start, TwoLayer
from lib.seeds import generator, named
from lib.training.descent import spherical_descent
from lib.training.losses import SQUARE

Row = dict[str, Any]

POINTS = np.array([[-1.5, 1], [-1, 1], [0, 1], [0.25, 1], [2, 1]])
LABELS = np.array([0.7, -0.3, -0.3, 0.4, 0.2])
NEURONS = 60
SADDLE, LEAVING, LAST = 94_000, 150_000, 300_000  # iterations of the frames (c), (d) and (e)
MOMENTS = range(SADDLE, LAST + 1, 2_000)
BEGUN = 0.364  # the loss of a draw that has begun to leave the saddle, over the first one

LEVELS = np.array([0.2, 0.15, 0.1, 0.05, 0.02])  # the loss over that of the zero network
BEGINNING, WAITING = np.linspace(0.36, 0.25, 5), np.arange(5) * 6_000 + SADDLE
LIMIT = 5.2, np.arctan2(-5, -12)  # the cost of the left group, and its angle


def plain_descent(seeds: Collection[int], iterations: range) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield networks (w, a), of an axis for the seeds, of the paper's plain descent at the iterations."""
    scale = np.log(1e-4 / np.sqrt(NEURONS))
    starts = [Start.gaussian(NEURONS, 2, scale, rng=generator(seed)).network() for seed in seeds]
    w, a = np.stack([start.w for start in starts]), np.stack([start.a for start in starts])
    transposed = np.ascontiguousarray(POINTS.T)
    for k in range(max(iterations) + 1):
        if k in iterations:
            yield w.copy(), a.copy()
        seen = np.maximum(w @ transposed, 0)
        r = (np.vecmat(a, seen) - LABELS) * (2e-3 / 5)
        move = ((seen > 0) * r[:, None]) @ POINTS
        move *= a[..., None]
        a -= np.matvec(seen, r)
        w -= move


@dataclass(frozen=True)
class Course:
    """A draw's networks at the moments of its plain descent."""

    networks: list[TwoLayer]

    @cached_property
    def loss(self) -> np.ndarray:
        """The loss at the moments, over that of the zero network."""
        misfits = [network(POINTS) - LABELS for network in self.networks]
        return np.sum(np.square(misfits), axis=1) / (LABELS**2).sum()

    def at(self, iteration: int) -> float:
        """Return the loss at an iteration."""
        return float(self.loss[MOMENTS.index(iteration)])


def courses_of(count: int) -> list[Draw]:
    """Follow so many draws by plain descent."""
    seeds = [named("plain descent", k) for k in range(count)]
    frames = list(plain_descent(seeds, MOMENTS))
    return [
        Draw({"seed": seed}, (Course([TwoLayer(w[k], a[k]) for w, a in frames]),))
        for k, seed in enumerate(seeds)
    ]


def leavers_of(courses: list[Draw]) -> list[Draw]:
    """Return the draws that have begun to leave the saddle when the paper's has."""
    return [course for course in courses if course.value.at(LEAVING) < BEGUN]


def groups_of(network: TwoLayer) -> Iterator[Row]:
    """Yield groups of one sign and direction with a thousandth of the cost or more: kink and side."""
    cost = norm(network.w, axis=1) * np.abs(network.a)
    angle, sign = np.arctan2(network.w[:, 1], network.w[:, 0]), np.sign(network.a)
    order = np.lexsort((angle, sign))
    order = order[cost[order] > 1e-6 * cost.sum()]
    apart = (np.diff(angle[order]) > 0.02) | (np.diff(sign[order]) != 0)
    for members in np.split(order, np.flatnonzero(apart) + 1):
        w = (np.abs(network.a[members, None]) * network.w[members]).sum(axis=0)
        if (share := cost[members].sum() / cost.sum()) > 1e-3:
            yield {"share": share, "kink": -w[1] / w[0], "right": w[0] > 0}


def at_saddle(network: TwoLayer) -> Row:
    """Count the groups at the saddle, those active to the right, and their share of the cost."""
    groups = DataFrame(groups_of(network))
    right, left = groups[groups["right"]], groups[~groups["right"]]
    row = {"measured": len(groups), "large": (groups["share"] > 0.1).sum(), "right": len(right)}
    row |= {"share": right["share"].sum(), "kink": left["kink"].iloc[0]}
    return row | {"three": 3, "two": 2, "one": 1, "at_end": -5 / 12}


def at_first_saddle(course: Course) -> Row:
    """Count the same of a draw's plain descent."""
    return at_saddle(course.networks[0])


def small_saddles(decades: tuple[int, ...], each: int = 3) -> Iterator[Draw]:
    """Yield networks at the saddle of flows from scales so small that a third group is not seen."""
    scales = np.repeat(-np.log(10) * np.array(decades), each)
    seeds = [named("small scales", k) for k in range(len(scales))]
    start = Start.stack(
        [
            Start.gaussian(NEURONS, 2, scale, rng=generator(seed))
            for scale, seed in zip(scales, seeds, strict=True)
        ]
    )
    steps = round(-167 * scales.min())  # the saddle is reached, and not left
    end = spherical_descent(start, POINTS, LABELS, SQUARE, step=0.1, steps=steps).network.network()
    for k, scale in enumerate(scales):
        yield Draw({"log_scale": scale, "seed": seeds[k]}, (TwoLayer(end.w[k], end.a[k]),))


def left_group(network: TwoLayer) -> tuple[float, float]:
    """Return the cost of the positive neurons that see the left, and its mean angle."""
    members = (network.a > 0) & (network.w < 0).all(axis=1)
    total = (np.abs(network.a[members, None]) * network.w[members]).sum(axis=0)
    return float(norm(total)), float(np.arctan2(total[1], total[0]))


def left_course(course: Course) -> tuple[np.ndarray, ...]:
    """Return the loss over time, and how far the left group has grown and turned to its limit."""
    group = np.transpose([left_group(network) for network in course.networks])
    parts = [(now - now[0]) / (end - now[0]) for now, end in zip(group, LIMIT, strict=True)]
    return course.loss, *parts


def gains(loss: np.ndarray, part: np.ndarray, levels: np.ndarray) -> np.ndarray:
    """Return what is added to a part from one level of the loss to the next."""
    return np.diff(np.interp(-levels, -loss, part))


def growing(course: Course) -> Row:
    """Measure the growth while the loss falls, and at the saddle."""
    loss, grown, _ = left_course(course)
    row: Row = {"loss": LEVELS[:-1], "measured": gains(loss, grown, LEVELS)}
    row |= {"least": 0.09, "of_the_loss": -np.diff(LEVELS) / loss[0]}
    return row | {"at_the_saddle": np.diff(np.interp(WAITING, MOMENTS, grown))}


def turning(course: Course) -> Row:
    """Measure the turn while the loss falls, and when it begins to fall."""
    loss, grown, turned = left_course(course)
    row: Row = {"loss": LEVELS[:-1], "measured": gains(loss, turned, LEVELS)}
    row |= {"least": 0.13, "grown": gains(loss, grown, LEVELS)}
    return row | {"before": gains(loss, turned, BEGINNING)}


def beginning(course: Course) -> Row:
    """Measure which part of the growth is over when a twentieth, or half, of the turn is."""
    _, grown, turned = left_course(course)
    early, middle = np.interp([0.05, 0.5], turned, grown)
    return {"measured": early, "predicted": 0.327, "together": 0.05, "half_way": middle}


def last_loss(course: Course) -> Row:
    """Read the last loss; it is to be zero, or as at the saddle where no negative neuron sees a datum."""
    saddle = course.networks[0]
    active = ((saddle.a < 0) & (saddle.w @ POINTS.T > 0).any(axis=1)).any()
    row = {"active": bool(active), "measured": course.at(LAST), "leaving": course.at(LEAVING)}
    return row | {"predicted": 0.0 if active else course.at(SADDLE)}


def stuck_or_left(courses: list[Draw]) -> list[Draw]:
    """Return the draws that have begun to leave the saddle, and those that cannot."""
    return [
        course
        for course in courses
        if course.value.at(LEAVING) < BEGUN or not last_loss(course.value)["active"]
    ]
