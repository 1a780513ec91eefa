"""One point among six: the regime of its place, and the boundary of the network, are the library's."""

import json
import re
from html import unescape
from itertools import product

import numpy as np
import pytest

from lib.figures import live
from lib.flow import gradient_flow
from lib.geometry.level_sets import boundary_angles
from lib.geometry.programs import agreement_program, extended_agreement_program, linear_svm
from lib.models.two_layer import TwoLayer
from lib.seeds import generator
from lib.training.losses import LOGISTIC
from tests.live.scripts import call, numbers, said

SIX = np.array([(2.2, 0.3), (1.8, -0.35), (1.5, 0.05), (-1.0, 0.1), (-0.8, -0.15), (-1.2, 0.05)])
LABELS = np.repeat([1.0, -1.0], 3)


def with_point(place, others=SIX):
    return np.vstack([place, others]), np.append(1.0, LABELS)


def called_regime(solution, inputs, labels):
    w, u = solution.reshape(2, 2)
    own = np.concatenate([inputs[labels > 0] @ w, inputs[labels < 0] @ u])
    other = np.concatenate([inputs[labels > 0] @ u, inputs[labels < 0] @ w])
    if own.min() <= 0:
        return "outside"
    if np.abs(other).min() < 1e-9 * own.max():
        return "kink"
    return "perfect" if other.max() < 0 else "other"


def test_a_live_figure_is_given_all_digits():
    drawn = generator(0).standard_normal((3, 2))
    given = re.search('data-parameters="([^"]*)"', live("one_point", drawn=drawn, third=1 / 3).data)[1]
    assert json.loads(unescape(given)) == {"drawn": drawn.tolist(), "third": 1 / 3}


def test_the_map_of_one_point_is_the_library_s():
    data = {"inputs": SIX.tolist(), "labels": LABELS.tolist()}
    axis = np.linspace(-2.9, 2.9, 14)
    seen = set()
    for x, y, slope in product(axis, axis, (0.05, 0.1, 0.6, 1.0)):
        inputs, labels = with_point((x, y))
        forecast = call("live/one_point", "m.forecast", [x, y], data, slope)
        hard = call("live/explorer/programs", "m.hardMargin", inputs.tolist(), labels.tolist())
        try:
            solved = extended_agreement_program(inputs, labels, slope)
        except ValueError:
            seen.add("none")
            assert forecast is None and hard is None
            continue
        seen.add(forecast["regime"])
        assert forecast["regime"] == called_regime(solved.x, inputs, labels)
        np.testing.assert_allclose(forecast["w"] + forecast["u"], solved.x, atol=1e-8 * solved.norm)
        if forecast["regime"] == "perfect":
            line = agreement_program(inputs, labels, slope).x
            np.testing.assert_allclose(forecast["w"] + forecast["u"], line, atol=1e-8 * solved.norm)
        np.testing.assert_allclose(hard, linear_svm(inputs, labels).x, rtol=1e-8)
    assert seen == {"none", "perfect", "kink", "other", "outside"}


def angle(one, other):
    return np.degrees(np.arccos(min(1.0, abs(one @ other) / np.linalg.norm(one) / np.linalg.norm(other))))


@pytest.mark.parametrize(
    ("place", "slope", "time"),
    [
        ((1, 2), 0.1, 12),
        ((-1, 1.2), 0.1, 30),
        ((-1, 1.2), 0.6, 30),
        ((-2.5, -0.5), 0.1, 12),
        ((0, -2), 0.3, 3),
    ],
)
def test_the_sentence_says_the_boundary_the_lines_and_the_regime(place, slope, time):
    rng = generator(3)
    x, y = with_point(place, LABELS[:, None] * [1.2, 0.8] + 0.3 * rng.standard_normal((6, 2)))
    start = rng.standard_normal((6, 2))
    given = {"inputs": x[1:].tolist(), "labels": LABELS.tolist(), "start": start.tolist()}
    [sentence] = said("one_point", given, {"place": place, "slope": slope, "scale": -2, "time": time})
    try:
        program = extended_agreement_program(x, y, slope).x
    except ValueError:
        assert sentence == "No line through the origin separates the points."
        return
    network = TwoLayer(0.01 * start, LABELS / np.sqrt(3), slope)
    run = gradient_flow(network, x, y, LOGISTIC, log_until=float(time), train="first", rtol=1e-7)
    network, normal = run.network_at(), np.subtract(*np.split(program, 2))
    rays = boundary_angles(network)
    np.testing.assert_allclose(call("live/clustered", "m.rays", network.w.tolist(), slope), rays, atol=1e-8)
    boundary, apart, regime = sentence.removesuffix(".").split(". ")
    assert boundary.startswith(f"At ln t = {time} the boundary ")
    see = (network.w[:3] @ place > 0).sum()
    assert ("see the point" in boundary or "sees the point" in boundary) == (see < 3)
    bend = abs(180 - abs(rays[1] - rays[0])) if len(rays) == 2 else None
    if "straight" in boundary:
        ray = [np.cos(np.radians(rays[0])), np.sin(np.radians(rays[0]))]
        assert bend < 0.8 and numbers(boundary)[1] == pytest.approx(90 - angle(normal, ray), abs=0.4)
    else:
        assert numbers(boundary)[1] == pytest.approx(bend, abs=0.8)
    assert numbers(apart)[0] == pytest.approx(angle(normal, linear_svm(x, y).x), abs=0.501)
    words = {
        "perfect": "agree with",
        "kink": "on the kink",
        "other": "like the w",
        "outside": "its own class",
    }
    assert words[called_regime(program, x, y)] in regime
