"""Two integrators of one flow against closed forms, and the laws of the flow."""

import numpy as np
import pytest

from lib.flow.neuron import angle_flow, neuron_flow
from lib.models.two_layer import TwoLayer
from lib.theory.hyperbolic_neuron import death_time, equivalent_neuron, escape_time, time_to_logit
from lib.theory.learning_curves import logit
from lib.training.descent import gradient_descent
from lib.training.losses import LOGISTIC

TIMES = np.linspace(0, 40, 81)


@pytest.mark.parametrize("norm", [0.3, 1.0, 2.5])
def test_balanced_neuron_follows_the_closed_form(norm):
    path = neuron_flow(norm * 0.2, 0.2, TIMES, norm=norm)
    assert np.allclose(path.logit, logit(TIMES, norm * 0.04, norm), rtol=1e-10)


def test_invariant_is_kept_by_every_neuron():
    h, a, norm = np.array([0.5, 0.2, 0.9]), np.array([0.1, 0.8, -0.2]), 1.3
    path = neuron_flow(h, a, TIMES, norm=norm)
    invariant = path.h**2 - norm**2 * path.a**2
    assert np.allclose(invariant, invariant[0], atol=1e-10)


def test_two_integrators_agree():
    h, a = np.array([0.5, 0.2, 0.9, 0.4]), np.array([0.1, 0.8, -0.2, -0.1])
    for label in (1, -1):
        first = neuron_flow(h, label * a, TIMES, norm=1.3, label=label)
        second = angle_flow(h, label * a, TIMES, norm=1.3, label=label)
        assert np.allclose(first.h, second.h, rtol=1e-10)
        assert np.allclose(first.a, second.a, rtol=1e-10, atol=1e-12)
        assert np.allclose(first.turns[2:], second.turns[2:], rtol=1e-9)
        assert np.isinf(first.turns[:2]).all() and np.isinf(second.turns[:2]).all()


def test_label_mirrors_the_output_weight():
    first = neuron_flow(0.5, 0.3, TIMES, norm=0.7)
    second = neuron_flow(0.5, -0.3, TIMES, norm=0.7, label=-1)
    assert np.allclose(first.h, second.h, rtol=1e-12)
    assert np.allclose(first.a, -second.a, rtol=1e-12)


def test_events_match_the_series():
    dead = neuron_flow(1.0, -1.1, TIMES)
    assert dead.deaths[0] == pytest.approx(death_time(1.0, -1.1), rel=1e-11)
    after = dead.times > dead.deaths[0]
    assert (dead.h[after] == 0).all() and np.ptp(dead.a[after]) == 0
    assert dead.a[-1, 0] == pytest.approx(-np.sqrt(0.21), rel=1e-11)
    escaped = neuron_flow(1.0, -0.9, TIMES)
    assert escaped.turns[0] == pytest.approx(escape_time(1.0, -0.9), rel=1e-11)
    assert np.allclose(time_to_logit(escaped.logit, 1.0, -0.9), TIMES, rtol=1e-9, atol=1e-9)


def test_equal_neurons_die_together_and_others_go_on():
    path = neuron_flow([1.0, 1.0, 0.5, -1.0], [-1.5, -1.5, 0.5, 2.0], TIMES)
    assert path.deaths[0] == path.deaths[1] < np.inf
    assert np.isinf(path.deaths[2:]).all()
    assert (path.h[:, 3] == -1).all() and (path.a[:, 3] == 2).all()
    assert path.logit[-1] > 2


def test_any_times_can_be_asked_for():
    """Deaths before the first time, or no time at all, change nothing."""
    h, a = [1.0, 0.7, 0.5], [-1.5, -1.1, 0.5]
    full = neuron_flow(h, a, np.linspace(0, 9, 10))
    late, start = neuron_flow(h, a, [9.0]), neuron_flow(h, a, [0.0])
    np.testing.assert_allclose(late.h[0], full.h[-1], rtol=1e-10)
    np.testing.assert_allclose(late.deaths, full.deaths, rtol=1e-10)
    assert np.isfinite(full.deaths[:2]).all() and full.deaths[0] != full.deaths[1]
    np.testing.assert_array_equal([start.h[0], start.a[0]], [h, a])
    np.testing.assert_allclose(angle_flow(0.5, 0.5, [0.0]).h, [[0.5]], rtol=1e-15)


def test_one_neuron_stands_for_many():
    h, a = np.array([0.5, 0.2, 0.9, 0.4]), np.array([0.1, 0.8, -0.2, -0.1])
    one = neuron_flow(*equivalent_neuron(h, a, 1.3), TIMES, norm=1.3)
    assert np.allclose(neuron_flow(h, a, TIMES, norm=1.3).logit, one.logit, rtol=1e-9)


def test_gradient_descent_converges_at_first_order():
    x, norm = np.array([[1.2, 0.5]]), 1.3
    start = TwoLayer(np.array([[0.3, -0.2]]), np.array([0.4]))
    target = neuron_flow(start.w @ x[0], start.a, [10.0], norm=norm).logit[0]
    errors = [
        abs(gradient_descent(start, x, [1], LOGISTIC, step=10 / n, steps=n).network(x)[0] - target)
        for n in (100, 200, 400)
    ]
    assert np.allclose(np.log2(np.array(errors[:-1]) / errors[1:]), 1, atol=0.1)


@pytest.mark.parametrize("scale", [1e-150, 1e-30, 1e-12])
def test_tiny_starts_are_followed_to_their_digits(scale):
    """Until the logit is noticeable the flow is linear: ``h + norm a`` grows as ``exp(norm t / 2)``."""
    norm, times = 1.3, np.array([0.0, 5.0, 10.0])
    path = neuron_flow(np.array([3.0, 2.0]) * scale, np.array([1.0, -0.5]) * scale, times, norm=norm)
    plus, minus = np.array([4.3, 1.35]) * scale, np.array([1.7, 2.65]) * scale
    grown = np.exp(norm * times / 2)[:, None]
    np.testing.assert_allclose(path.h, (plus * grown + minus / grown) / 2, rtol=1e-10)
    np.testing.assert_allclose(path.a, (plus * grown - minus / grown) / (2 * norm), rtol=1e-10)


def test_neurons_of_any_size_die_at_their_own_time():
    alone, many = (neuron_flow(h, a, TIMES) for h, a in ((1.0, -1.1), ([1.0, 1e-8], [-1.1, -1.5e-8])))
    assert many.deaths[0] == pytest.approx(alone.deaths[0], rel=1e-9)
    assert many.deaths[1] < 0.8 * many.deaths[0]


def test_angle_flow_refuses_what_it_cannot_follow():
    with pytest.raises(ValueError, match="dies before"):
        angle_flow(1.0, -1.1, TIMES)
    with pytest.raises(ValueError, match="active"):
        angle_flow(-1.0, 1.0, TIMES)
