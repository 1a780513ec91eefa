"""Data that are multiples of each other, whose activations change at one boundary."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lib.flow import gradient_flow
from lib.flow.alignment import alignment_phase
from lib.flow.lines import Lines
from lib.training.losses import EXPONENTIAL, LOGISTIC, SQUARE


def problem(seed, n=5, m=4, d=2):
    """Return directions, signs, inputs of which the second and third are multiples of the first, labels."""
    rng = np.random.default_rng(seed)
    x, v, s = rng.standard_normal((n, d)), rng.standard_normal((m, d)), rng.choice([-1.0, 1.0], m)
    x[1], x[2] = -2 * x[0], 0.5 * x[0]
    return v / np.linalg.norm(v, axis=1)[:, None], s, x, rng.choice([-1.0, 1.0], n)


@given(st.integers(0, 10**6), st.sampled_from([0.0, 0.3, 1.0]))
@settings(max_examples=30, deadline=None)
def test_lines_have_the_drifts_of_their_data(seed, slope):
    v, _, x, _ = problem(seed)
    pulls, lines = np.random.default_rng(seed).standard_normal(len(x)), Lines(x)
    merged, rest = lines.merged(pulls, slope)
    for unit in v:
        by_data = (np.where(x @ unit > 0, 1.0, slope) * pulls) @ x
        by_lines = (np.where(lines.inputs @ unit > 0, 1.0, slope) * merged) @ lines.inputs + rest
        np.testing.assert_allclose(by_lines, by_data, atol=1e-13)


def test_nearly_collinear_data_have_lines_of_their_own():
    assert len(Lines(np.array([[1.0, 0.0], [1.0, 1e-11]])).first) == 2
    assert len(Lines(np.array([[1.0, 1.0], [-0.1, -0.1], [3.0, 3.0]])).first) == 1


@pytest.mark.parametrize("slope", [0.0, 0.3])
@pytest.mark.parametrize("seed", [2, 3, 8])
def test_aligning_on_lines_is_the_limit_of_small_steps(seed, slope):
    v, s, x, _ = problem(seed)
    forces = np.random.default_rng(seed).standard_normal(len(x))
    exact = alignment_phase(v, s, x, forces, slope=slope, sliding=True).at([1.0])[0][0]
    steps, errors = 2 ** np.arange(7, 13), []
    for count in steps:
        e = v
        for _ in range(count):
            e = e + s[:, None] * (np.where(e @ x.T > 0, 1.0, slope) * forces) @ x / count
            e = e / np.linalg.norm(e, axis=1)[:, None]
        errors.append(np.linalg.norm(e - exact))
    # Of first order; steps chatter across boundaries with a phase of their own.
    assert -1.3 < np.polyfit(np.log(steps), np.log(errors), 1)[0] < -0.7


def test_a_change_on_a_line_is_an_event_of_each_of_its_data():
    v, s, x, _ = problem(0)
    forces = np.random.default_rng(0).standard_normal(len(x))
    phase = alignment_phase(v, s, x, forces, sliding=True)
    pattern = v @ x.T > 0
    for time, neuron, datum, entering in phase.events:
        assert pattern[neuron, datum] != entering
        pattern[neuron, datum] = entering
        assert phase.patterns_at([time])[0, neuron, datum] == entering
    assert len(phase.events) and (pattern == phase.patterns).all()
    moving = np.abs(phase.at([50.0])[0][0] @ x.T) > 1e-9
    assert ((phase.at([50.0])[0][0] @ x.T > 0) == phase.patterns)[moving].all()


@pytest.mark.parametrize("slope", [0.0, 0.3])
@pytest.mark.parametrize("train", ["both", "first"])
def test_two_labels_of_one_datum_are_twice_their_mean(train, slope):
    """For the square loss that is so, however far apart the labels are and whatever slides."""
    for seed in range(4):
        v, s, x, y = problem(seed)
        spread, x = np.linspace(1.0, 3.0, 4), np.vstack([x[1:], x[1:]])
        labels = np.append(y[1:], y[1:])
        ends = [
            gradient_flow(
                v, np.full(4, -1.0), s, x, labels + change, SQUARE, until=3.0, train=train, slope=slope
            ).directions[-1]
            for change in (0.0, np.append(spread, -spread))
        ]
        np.testing.assert_allclose(ends[0], ends[1], atol=1e-8)


@pytest.mark.parametrize("slope", [0.0, 0.3])
@pytest.mark.parametrize("train", ["both", "first"])
def test_flows_with_opposite_data_are_the_limit_of_small_steps(train, slope):
    for seed in (1, 4):
        v, s, x, y = problem(seed)
        run = gradient_flow(
            v, np.full(4, -1.0), s, x, y, LOGISTIC, until=4.0, train=train, slope=slope, reduction="sum"
        )
        end, outputs, distances = run.network(), run.outputs([4.0])[0], []
        np.testing.assert_allclose(end(x), outputs, atol=1e-12)
        for count in (2000, 8000):
            w, a = v * np.exp(-1.0), s * (np.exp(-1.0) if train == "both" else 1.0)
            for _ in range(count):
                z = w @ x.T
                gates = np.where(z > 0, 1.0, slope)
                drive = (gates * -LOGISTIC.slope(a @ (gates * z), y)) @ x * 4.0 / count
                w, a = w + a[:, None] * drive, a + (drive * w).sum(axis=1) * (train == "both")
            distances.append(np.abs(w - end.w).max())
        assert distances[1] < 0.5 * distances[0] and distances[1] < 2e-3


def test_two_opposite_data_that_push_one_way_do_not_hold_a_unit():
    """Below zero the second pushes it up, above zero the first: it passes, as no share in between rests."""
    inputs, labels = np.array([[1.0, 0.0], [-2.0, 0.0]]), np.array([1.0, -1.0])
    run = gradient_flow(
        [[-0.6, 0.8]], [-1.0], [1], inputs, labels, LOGISTIC, train="first", until=20.0, reduction="sum"
    )
    events = [(event.datum, event.entering) for event in run.events]
    assert sorted(events) == [(0, True), (1, False)] and run.outputs([20.0])[0, 0] > 1


def test_units_that_leave_the_origin_go_on_in_few_steps():
    """Two units wait at zero until the forces turn; their tolerance is that of before."""
    data = np.array([[-0.528], [1.056], [-0.398], [-0.791], [-2.248]]), np.array([1.0, 1.0, 1.0, -1.0, -1.0])
    run = gradient_flow(
        np.sign([[1], [1], [1], [-1], [-1], [1], [-1], [-1]]), np.full(8, -1.0),
        [-1, -1, 1, -1, -1, -1, -1, 1], *data, EXPONENTIAL,
        log_outputs=[0.0, 1.15, 0.19, 0.58, -2.1, -0.11, 1.02, 0.89], train="first",
        reduction="sum", until=2.4,
    )  # fmt: skip
    assert run.stopped == "time reached 2.4" and len(run.times) < 1000
    assert any(event.entering and event.neuron == 0 for event in run.events)
