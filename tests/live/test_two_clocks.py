"""Two classes: how the neurons turn, the bounds on it, and when the loss is halved, are the library's."""

import re

import numpy as np
import pytest

from lib.flow import gradient_flow
from lib.flow.alignment import alignment_phase
from lib.geometry.patterns import cosine, least_signed_cosine, regions
from lib.models.two_layer import Start
from lib.theory.alignment import cap_constant, class_sums, start_constant
from lib.training.losses import EXPONENTIAL
from tests.live.scripts import call, numbers, said

SEPARABLE = [(20, 55, 160, 190), (5, 70, 165, 190), (20, 20, 160, 200), (0, 40, 180, 200)]
OTHERS = [(20, 80, 150, 250), (10, 130, 160, 190), (10, 60, 70, 240), (0, 90, 45, 200)]
CLASSES = np.array([1, 1, -1, -1])


def circle(degrees):
    angles = np.deg2rad(degrees)
    return np.column_stack([np.cos(angles), np.sin(angles)])


STARTS, SIGNS = 3 * np.arange(120) + 2.2, np.resize([1, -1], 120)
FAN = circle(STARTS)
NEURONS = [
    {"angle": float(np.angle(np.exp(1j * np.deg2rad(start)))), "logNorm": 0.0, "sign": int(sign)}
    for start, sign in zip(STARTS, SIGNS, strict=True)
]


def aligned(degrees):
    return alignment_phase(FAN, SIGNS, circle(degrees), CLASSES, sliding=True)


def wrong_changes(phase):
    """How many changes of activation go against the class of the neuron."""
    events = phase.events
    return (events.entering != (SIGNS[events.neuron] == CLASSES[events.datum])).sum()


def bounds(degrees):
    """Our bound on the time of alignment and the paper's, as the chapter has them."""
    x = circle(degrees)
    mu = least_signed_cosine(x, CLASSES)
    zeta = min(cap_constant(x, CLASSES), start_constant(FAN, SIGNS, x, CLASSES))
    inside = ((FAN @ x.T > 0) == (CLASSES * SIGNS[:, None] < 0)).all(axis=1)
    repelling = np.where(SIGNS[:, None] > 0, *class_sums(x, CLASSES)[::-1])
    stays = np.arctanh(np.where(inside, cosine(FAN, repelling), 0)) / np.linalg.norm(repelling, axis=1)
    ours = stays.max() + np.arccosh(1 + (1 - mu) / mu**2)
    return ours, 16 * np.log(len(x)) / (min(zeta, mu**2) * np.sqrt(mu))


def is_halved(half, degrees, power):
    """Whether the flow halves its loss at that time."""
    start = Start(FAN, np.full(120, -power * np.log(10)), SIGNS)
    span = 0.002 * half + 0.005  # of the theory, and of two digits
    options = {"until": 1.01 * half + span, "reduction": "sum", "rtol": 1e-8}
    run = gradient_flow(start, circle(degrees), CLASSES, EXPONENTIAL, **options)
    before, after = run.loss([half - span, half + span]) / run.loss([0.0])
    return before > 0.5 > after


@pytest.mark.parametrize("degrees", SEPARABLE + OTHERS)
def test_the_neurons_turn_as_in_the_exact_alignment(degrees):
    script = """(neurons, angles, labels) => {
        const story = m.turning(neurons, angles, labels);
        const changes = story.paths.flatMap((path, j) => path.slice(1).flatMap(({ from, active }, k) =>
            active.flatMap((now, i) => (now === path[k].active[i] ? [] : [[j, i, Number(now), from]]))));
        return [changes, m.anglesAt(story, 1.5), m.wrongChanges(story).flat().length];
    }"""
    given = NEURONS, np.deg2rad(degrees).tolist(), CLASSES.tolist()
    changes, angles, wrong = call("live/clocks", script, *given)
    phase = aligned(degrees)
    expected = np.array(sorted([j, i, entering, time] for time, j, i, entering in phase.events.tolist()))
    changes = np.array(sorted(changes))
    np.testing.assert_array_equal(changes[:, :3], expected[:, :3])
    np.testing.assert_allclose(changes[:, 3], expected[:, 3], rtol=0, atol=1e-9)
    np.testing.assert_allclose(circle(np.rad2deg(angles)), phase.at([1.5])[0][0], atol=1e-9)
    assert wrong == wrong_changes(phase)
    assert not wrong or degrees in OTHERS


def words(degrees, power):
    parts = {"degrees": degrees, "labels": CLASSES.tolist(), "signs": SIGNS.tolist()}
    state = {"degrees": degrees, "power": power, "logtime": 0.0}
    [sentence] = said("two_clocks", {**parts, "starts": STARTS.tolist()}, state)
    return sentence.split("; ")


def test_the_scale_moves_only_the_second_clock():
    (first, *waits), (last, *longer) = (words(SEPARABLE[0], power) for power in (10, 50))
    assert first == last and numbers(longer[0])[0] > 4 * numbers(waits[0])[0]


@pytest.mark.parametrize("power", [1, 50])
def test_the_loss_is_halved_when_the_flow_says_at_any_scale(power):
    assert is_halved(numbers(words(SEPARABLE[0], power)[1])[0], SEPARABLE[0], power)


@pytest.mark.parametrize("degrees", [*SEPARABLE, *OTHERS[:2]])
def test_the_two_clocks_say_the_events_of_the_alignment_and_when_the_loss_is_halved(degrees):
    phase, (clock, *rest) = aligned(degrees), words(degrees, 8)
    last = phase.starts[phase.last]
    assert numbers(clock)[:3] == [1, (last <= 1).sum(), 120]
    if "the last one" in clock:
        assert numbers(clock)[3] == pytest.approx(last.max(), abs=0.00501)
    assert is_halved(numbers(rest[0])[0], degrees, 8)
    if degrees in SEPARABLE:
        assert "are aligned" in clock and "are orthogonally separable" in rest[0]
        mu, *both = re.search(r"μ = (\S+):.*is (\d+), the paper's (\S+)\.$", rest[0]).groups()
        ours, printed = bounds(degrees)
        assert float(mu) == pytest.approx(least_signed_cosine(circle(degrees), CLASSES), abs=0.00501)
        assert numbers(both[0])[0] == pytest.approx(ours, abs=0.501)
        assert numbers(both[1])[0] == pytest.approx(printed, rel=0.05)
    else:
        found = regions(phase.patterns, CLASSES)
        astray = (found != "dead") & (found != np.where(SIGNS > 0, "S+", "S-"))
        assert "not orthogonally separable" in rest[0] and "have settled" in clock
        assert numbers(rest[-1])[-2:] == [wrong_changes(phase), astray.sum()]
