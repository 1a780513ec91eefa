"""Hinge loss on many inputs, a rare feature and a shared neuron: closed forms against integrated flows."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.integrate import solve_ivp

from lib.theory.hinge_batch import batch_path
from lib.theory.neuron_capture import hinge_capture, plane_side
from lib.theory.rare_feature_hinge import hinge_rare_margin, hinge_training
from lib.theory.rare_feature_laws import invariant

small = st.floats(-3, -0.5).map(lambda power: 10.0**power)
rates = st.floats(0.2, 2)
TIGHT = {"method": "DOP853", "rtol": 1e-12, "atol": 1e-14}


def until(function, start, reached):
    """Integrate from the start until a quantity of the state becomes zero."""

    def event(_, state):
        return reached(state)

    event.terminal = True
    run = solve_ivp(lambda _, state: function(state), (0, 1e4), start, events=event, **TIGHT)
    return run.t_events[0][0], run.y_events[0][0]


@settings(max_examples=30)
@given(h1=small, h2=small, a=small, frequency=st.floats(0.01, 0.99), ratio=st.floats(0.2, 5))
def test_rare_feature_matches_its_flow(h1, h2, a, frequency, ratio):
    run = hinge_training(h1, h2, a, frequency, ratio)

    def both(state):
        h1, h2, a = state
        return a, frequency * ratio * a, h1 + frequency * h2

    def alone(state):
        return (1 - frequency) * state[2], 0.0, (1 - frequency) * state[0]

    first, state = until(both, (h1, h2, a), lambda s: s[2] * (s[0] + s[1]) - 1)
    assert np.allclose([run.time[0], run.h1[0], run.h2[0], run.a[0]], [first, *state], rtol=1e-9)
    second, state = until(alone, state, lambda s: s[2] * s[0] - 1)
    assert np.allclose([run.time[1], run.h1[1], run.h2[1], run.a[1]], [first + second, *state], rtol=1e-9)
    kept = invariant(run.h1[0], run.h2[0], run.a[0], ratio) - invariant(h1, h2, a, ratio)
    assert abs(kept) < 1e-13 * run.a[0] ** 2 * (1 + 1 / ratio)


def test_small_starts_end_at_the_closed_rare_margin():
    frequency, ratio = np.array([[0.5], [0.2], [0.01]]), np.array([0.3, 1.0, 4.0])
    run = hinge_training(1e-60, 1e-60, 1e-60, frequency, ratio)
    assert np.allclose((run.a * run.h2)[1], hinge_rare_margin(frequency, ratio), rtol=1e-12)
    slope = frequency * ratio
    assert np.allclose((run.a * run.h2)[0], slope / (1 + slope), rtol=1e-12)
    assert (hinge_rare_margin(frequency, ratio) < slope).all()
    assert hinge_rare_margin(1e-12, 1.0) == pytest.approx(1e-12, rel=1e-11)


def test_a_start_at_the_first_stop_stays_there():
    run = hinge_training(0.5, 0.5, 1.0, 0.3)
    assert run.time[0] == pytest.approx(0, abs=1e-15)
    assert run.h1[0] * run.a[0] == pytest.approx(0.5)


@settings(max_examples=40)
@given(h1=small, h2=small, a=st.floats(-0.3, 0.3), n1=rates, n2=rates, r1=rates, r2=rates)
def test_captures_match_their_flow(h1, h2, a, n1, n2, r1, r2):
    drive = r1 * h1 - r2 * h2 + np.hypot(r1 * n1, r2 * n2) * a
    assume(abs(drive) > 1e-3 * (h1 + h2))
    label, time = hinge_capture(h1, h2, a, (n1, n2), (r1, r2))
    assert label == plane_side(h1, h2, a, (n1, n2), (r1, r2))
    assume(not np.isnan(time))

    def velocity(state):
        h1, h2, a = state
        assert a * h1 < 1 and -a * h2 < 1
        return r1 * n1**2 * a, -r2 * n2**2 * a, r1 * h1 - r2 * h2

    found, state = until(velocity, (h1, h2, a), lambda s: s[0] * s[1] if s[0] > 0 and s[1] > 0 else -1.0)
    assert time == pytest.approx(found, rel=1e-8)
    assert label == (1 if state[1] < state[0] else -1)


def test_the_plane_decides_also_when_a_margin_is_reached_first():
    """Gradient descent with the hinge loss, 2,000 starts of scale 0.3, in two settings."""
    rng = np.random.default_rng(0)
    for norms, draws in (((1.0, 1.0), (1.0, 1.0)), ((1.5, 0.6), (0.5, 0.5))):
        h1, h2 = 0.3 * np.abs(rng.standard_normal((2, 2000))) * np.array(norms)[:, None]
        a = 0.3 * rng.standard_normal(2000)
        expected, _ = hinge_capture(h1, h2, a, norms, draws)
        label = np.zeros(2000)
        for _ in range(4000):
            pull1, pull2 = draws[0] * (a * h1 < 1), draws[1] * (-a * h2 < 1)
            step1, step2 = norms[0] ** 2 * a * pull1, -(norms[1] ** 2) * a * pull2
            h1, h2, a = h1 + 0.01 * step1, h2 + 0.01 * step2, a + 0.01 * (h1 * pull1 - h2 * pull2)
            label = np.where(label == 0, np.where(h2 <= 0, 1, np.where(h1 <= 0, -1, 0)), label)
        assert (label != 0).all()
        # a start closer to the plane than a step can be thrown across
        assert np.mean(label != expected) < 2e-3


def test_batch_path_matches_its_flow_until_the_first_margin():
    rng = np.random.default_rng(2)
    inputs, w0, a0 = rng.uniform(0, 1, (5, 8)), rng.uniform(0, 0.1, 8), 0.05

    def velocity(_, state):
        active = inputs[state[-1] * (inputs @ state[:-1]) < 1]
        return [*(state[-1] * active.sum(axis=0)), np.sum(active @ state[:-1])]

    def learnt(_, state):
        return np.max(state[-1] * (inputs @ state[:-1])) - 1

    learnt.terminal = True
    run = solve_ivp(velocity, (0, 10), [*w0, a0], events=learnt, t_eval=np.linspace(0, 0.2, 21), **TIGHT)
    w, a = batch_path(run.t, inputs, w0, a0)
    assert len(run.t) > 5
    assert np.allclose(np.column_stack([w, a]), run.y.T, rtol=1e-10)
    stop = run.t_events[0][0]
    w, a = batch_path(stop * np.array([1 - 1e-9, 1 + 1e-9, 1e9]), inputs, w0, a0)
    assert np.isfinite(a[0]) and np.isnan(a[1:]).all() and np.isnan(w[1:]).all()
