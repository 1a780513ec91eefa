"""The entry point of the flow: starts of every kind, the weights of the data, losses, and how runs stop."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.special import expit

from lib.data.synthetic import orthonormal_inputs
from lib.flow import gradient_flow
from lib.flow.coordinates import Span
from lib.flow.trajectory import Reason
from lib.flow.weights import weights_flow
from lib.models.two_layer import Start, TwoLayer
from lib.training.descent import gradient_descent
from lib.training.losses import EXPONENTIAL, HINGE, LOGISTIC, SQUARE, TWICE_LOGISTIC, Loss
from tests.flow.problems import CLOUD, CLOUD_LABELS, UNIT, unbalanced

ALL = (SQUARE, LOGISTIC, TWICE_LOGISTIC, EXPONENTIAL, HINGE)


@pytest.mark.parametrize("loss", ALL, ids=lambda loss: loss.name)
@pytest.mark.parametrize("train", ["both", "first"])
@pytest.mark.parametrize("slope", [0.0, 0.3])
def test_descent_converges_to_the_flow_at_first_order(loss, train, slope):
    # Orthonormal inputs: no unit slides, so that the error of descent is smooth in the step.
    x, y = orthonormal_inputs(4, 4, rng=np.random.default_rng(2)), np.array([1.0, -1.0, 1.0, -1.0])
    start = unbalanced(7, 4, seed=3, slope=slope)
    end = gradient_flow(start, x, y, loss, train=train, until=3.0).network_at()

    def error(steps):
        run = gradient_descent(start, x, y, loss, step=3.0 / steps, steps=steps, train_a=train == "both")
        return np.linalg.norm(np.append(run.network.w - end.w, run.network.a - end.a))

    steps = 250 * 2 ** np.arange(5)
    errors = [error(count) for count in steps]
    assert errors[-1] < 3e-3
    # Kinks are passed at any fraction of a step: the slope holds on average.
    assert np.polyfit(np.log(steps), np.log(errors), 1)[0] == pytest.approx(-1, abs=0.4)


def test_weights_at_times_are_those_of_the_networks_that_have_the_outputs():
    run = gradient_flow(unbalanced(5, 3, 0), CLOUD, CLOUD_LABELS, SQUARE, until=3.0)
    times = np.array([0.0, 0.7, 3.0])
    np.testing.assert_allclose(run.networks_at(times)(CLOUD), run.outputs(times), rtol=1e-12)
    late = run.networks_at(log_times=np.log(times[1:]))
    np.testing.assert_allclose(late(CLOUD), run.outputs(times[1:]), rtol=1e-9)
    for one in (run.network_at(0.7), run.network_at(log_time=np.log(0.7))):
        np.testing.assert_allclose(one(CLOUD), run.outputs([0.7])[0], rtol=1e-9)
    np.testing.assert_allclose(run.network_at()(CLOUD), run.outputs([3.0])[0], rtol=1e-9)
    with pytest.raises(ValueError, match="give one of the two"):
        run.network_at(0.7, log_time=0.0)


def close_to_descent(run, network, x, y, loss, train, step, atol):
    options = {"step": step, "steps": round(run.times[-1] / step), "train_a": train == "both"}
    descent = gradient_descent(network, x, y, loss, **options).network
    np.testing.assert_allclose(run.network_at().w, descent.w, atol=atol)
    np.testing.assert_allclose(run.network_at().a, descent.a, atol=atol)


@pytest.mark.parametrize("loss", ALL, ids=lambda loss: loss.name)
@pytest.mark.parametrize("train", ["both", "first"])
@pytest.mark.parametrize("seed", [0, 1, 3])
def test_descent_approaches_flows_that_slide(loss, train, seed):
    network = unbalanced(5, 3, seed)
    run = gradient_flow(network, CLOUD, CLOUD_LABELS, loss, train=train, until=8.0)
    # Descent hops across a boundary that holds a unit: an error of some steps times the forces.
    close_to_descent(run, network, CLOUD, CLOUD_LABELS, loss, train, 2e-3, 1e-2)
    assert (np.diff(run.loss()) < 1e-9).all()
    gaps = np.exp(2 * run.log_norms) - np.exp(2 * run.log_outputs)
    assert train == "first" or np.ptp(gaps, axis=0).max() < 1e-8  # balance is conserved


@pytest.mark.parametrize("seed", range(6))
def test_coarse_steps_keep_the_balance_of_a_neuron_relative_to_its_own_size(seed):
    """Neurons shrink a thousandfold, then grow; a step may change ``a^2 - |w|^2`` by some tolerances."""
    rng = np.random.default_rng(seed)
    w = np.array([[0.5], [1.0], [0.2]]) * (np.eye(3)[0] + 1e-3 * rng.standard_normal((3, 3)))
    network = TwoLayer(w, -np.linalg.norm(w, axis=1) * (1 - 10 ** rng.uniform(-7, -5, 3)), 1.0)
    run = gradient_flow(network, [[1.0, 0, 0], [0.5, 0, 0]], [1.0, 1.5], SQUARE, until=12.0, rtol=1e-6)
    sizes = np.exp(np.maximum(run.log_norms, run.log_outputs))
    changes = np.diff(np.exp(2 * run.log_norms) - np.exp(2 * run.log_outputs), axis=0)
    assert (sizes.min(axis=0) < 5e-3 * sizes[0]).all() and (sizes[-1] > 10 * sizes.min(axis=0)).any()
    assert np.abs(changes / np.minimum(sizes[1:], sizes[:-1]) ** 2).max() < 5e-6


@pytest.mark.parametrize("label", [1, -1])
def test_neurons_that_die_and_turn_follow_the_flow_on_one_input(label):
    h, a = np.array([0.8, 0.3, 0.5, -0.4]), np.array([0.5, -0.9, -0.2, 0.7])
    times = np.linspace(0, 12, 25)

    def field(_, state):
        seen = np.tile(state[:4] > 0, 2) * state
        pull = label * expit(-label * (seen[:4] @ seen[4:]))
        return pull * np.append(seen[4:], seen[:4])

    exact = solve_ivp(field, (0, 12), np.append(h, a), "DOP853", t_eval=times, rtol=1e-11, atol=1e-13).y.T
    died, turned = exact[-1, :4] < 1e-9, exact[-1, 4:] * a < 0
    assert (died & (h > 0)).any() or turned.any()
    network = TwoLayer(h[:, None], a)
    at = gradient_flow(network, [[1.0]], [label], LOGISTIC, until=12.0).at(times)
    np.testing.assert_allclose(np.exp(at.log_norms) * at.directions[..., 0], exact[:, :4], atol=1e-8)
    np.testing.assert_allclose(at.signs * np.exp(at.log_outputs), exact[:, 4:], atol=1e-8)


@pytest.mark.parametrize("slope", [0.0, 1.0])
def test_a_unit_that_reaches_zero_dies_there_or_is_linear(slope):
    # Its weight obeys w' = -(1 + w) while it is positive, and with slope 1 below zero as well.
    run = gradient_flow(UNIT, [[1.0]], [-1.0], SQUARE, train="first", slope=slope, until=3.0)
    times = np.linspace(0, 3, 13)
    linear = -1 + 2 * np.exp(-times)
    np.testing.assert_allclose(run.outputs(times)[:, 0], np.maximum(linear, slope * linear), atol=1e-9)
    assert np.isneginf(run.log_norms[-1, 0]) == (slope == 0)
    assert run.events[0].time == pytest.approx(np.log(2), rel=1e-9)


@pytest.mark.parametrize("train", ["both", "first"])
@pytest.mark.parametrize("balanced", [True, False])
def test_data_of_many_dimensions_are_reduced_to_their_span(train, balanced):
    rng = np.random.default_rng(8)
    basis = np.linalg.qr(rng.standard_normal((40, 40)))[0]
    inputs, network = CLOUD @ basis[:3], unbalanced(5, 40, seed=8, scale=0.3)
    if balanced:
        network = TwoLayer(network.w, np.sign(network.a) * np.linalg.norm(network.w, axis=1))
    assert Span(inputs, network.w).inputs.shape == (6, 4)
    thin = np.outer([1.0, 1e-9, -2.0], basis[0]) + 1e-6 * rng.standard_normal((3, 40))  # all but on a line
    span = Span(thin, network.w)
    np.testing.assert_allclose(span.directions @ span.inputs.T, network.w @ thin.T, atol=1e-14)
    run = gradient_flow(network, inputs, CLOUD_LABELS, SQUARE, train=train, until=4.0)
    close_to_descent(run, network, inputs, CLOUD_LABELS, SQUARE, train, 1e-3, 5e-3)
    # What is orthogonal to the data does not move at all.
    across = basis[3:]
    np.testing.assert_allclose(run.network_at().w @ across.T, network.w @ across.T, atol=1e-12)


def test_permuting_neurons_and_data_changes_nothing():
    network, order = unbalanced(5, 3, seed=6), np.array([3, 1, 4, 0, 2])
    one = gradient_flow(network, CLOUD, CLOUD_LABELS, LOGISTIC, until=5.0)
    permuted = TwoLayer(network.w[order], network.a[order])
    other = gradient_flow(permuted, CLOUD[::-1], CLOUD_LABELS[::-1], LOGISTIC, until=5.0)
    np.testing.assert_allclose(other.log_norms[-1], one.log_norms[-1][order], atol=1e-7)
    np.testing.assert_allclose(other.outputs()[-1], one.outputs()[-1][::-1], atol=1e-8)


@pytest.mark.parametrize("loss", [SQUARE, LOGISTIC, EXPONENTIAL], ids=lambda loss: loss.name)
@pytest.mark.parametrize("slope", [0.0, 0.3])
@pytest.mark.parametrize("gaps", [(0, 0, 0, 0), (0, 2, 0, -0.5)], ids=["balanced", "some balanced"])
def test_a_flow_is_that_of_its_weights_by_another_integrator(loss, slope, gaps):
    rng = np.random.default_rng(7)
    # Orthonormal inputs: no unit slides, where the other integrator would take steps without end.
    x, y, rates = orthonormal_inputs(3, 3, rng=rng), rng.choice([-1.0, 1.0], 3), np.array([0.2, 0.4, 0.3])
    start = Start.gaussian(4, 3, -0.5, rng=rng)
    start = Start(start.directions, start.log_norms, start.signs, start.log_outputs - np.array(gaps))
    how = {"until": 2.0, "slope": slope, "weights": rates, "reduction": "sum"}
    run, times = gradient_flow(start, x, y, loss, **how), [0.0, 0.5, 2.0]
    other = weights_flow(start.network(slope), x, y, loss, times, rates=rates, rtol=1e-9, atol=1e-11)
    assert len(run.events) > 0
    # The reference crosses jumps of the field under its error control alone: about its tolerance per jump.
    np.testing.assert_allclose(run.outputs(times), other(x), atol=1e-7)
    for mine, theirs in zip((run.network_at().w, run.network_at().a), (other.w, other.a), strict=True):
        np.testing.assert_allclose(mine, theirs[-1], atol=1e-7)


@pytest.mark.parametrize("loss", [SQUARE, LOGISTIC, HINGE], ids=lambda loss: loss.name)
@pytest.mark.parametrize("reduction", ["mean", "sum"])
@pytest.mark.parametrize("train", ["both", "first"])
def test_whole_weights_repeat_the_data(loss, reduction, train):
    counts, network = np.array([1, 3, 2, 1, 1, 2]), unbalanced(5, 3, seed=3)
    options = {"until": 3.0, "reduction": reduction, "train": train}
    weighted = gradient_flow(network, CLOUD, CLOUD_LABELS, loss, weights=counts, **options)
    x, y = np.repeat(CLOUD, counts, axis=0), np.repeat(CLOUD_LABELS, counts)
    repeated = gradient_flow(network, x, y, loss, **options)
    np.testing.assert_allclose(weighted.network_at().w, repeated.network_at().w, atol=1e-7)
    assert weighted.reason is repeated.reason
    times = np.array([0.3, 0.9]) * min(weighted.times[-1], repeated.times[-1])
    np.testing.assert_allclose(weighted.loss(times), repeated.loss(times), rtol=1e-6)


def test_weights_on_the_examples_reach_late_times():
    network, x, y = unbalanced(4, 3, seed=2), CLOUD[:2], CLOUD_LABELS[:2]
    weighted = gradient_flow(network, x, y, LOGISTIC, weights=[2.0, 1.0], log_until=60.0)
    repeated = gradient_flow(network, x[[0, 0, 1]], y[[0, 0, 1]], LOGISTIC, log_until=60.0)
    np.testing.assert_allclose(weighted.outputs()[-1], repeated.outputs()[-1][1:], rtol=1e-7)
    even = gradient_flow(network, x, y, LOGISTIC, log_until=60.0)
    assert np.abs(weighted.outputs()[-1] - even.outputs()[-1]).max() > 0.1


@pytest.mark.parametrize("reduction", ["mean", "sum"])
def test_the_loss_of_a_run_is_that_of_its_networks_and_stops_it(reduction):
    network, x, y = unbalanced(4, 3, seed=2), CLOUD[:2], CLOUD_LABELS[:2]
    run = gradient_flow(network, x, y, LOGISTIC, log_until=1e3, loss_below=1e-10, reduction=reduction)
    assert run.reason is Reason.LOSS and run.stopped == "the loss reached 1e-10"
    assert run.loss()[-1] <= 1e-10 < run.loss()[-2]
    for time in (0.0, 1.0, 30.0):
        each = LOGISTIC.value(run.network_at(time)(x), y)
        total = each.mean() if reduction == "mean" else each.sum()
        assert run.loss([time])[0] == pytest.approx(total, rel=1e-10)


def test_every_way_to_stop_is_named():
    network, options = unbalanced(4, 3, seed=2), {"until": 5.0}
    few = gradient_flow(network, CLOUD, CLOUD_LABELS, SQUARE, max_steps=3, **options)
    assert few.reason is Reason.STEPS and few.stopped.startswith("3 steps were taken") and len(few.times) == 4
    low = gradient_flow(network, CLOUD, CLOUD_LABELS, SQUARE, loss_below=0.45, **options)
    assert low.reason is Reason.LOSS and low.stopped == "the loss reached 0.45"
    full = gradient_flow(network, CLOUD, CLOUD_LABELS, SQUARE, **options)
    assert full.reason is Reason.TIME and full.stopped == "time reached 5"
    late = gradient_flow(network, CLOUD[:2], CLOUD_LABELS[:2], LOGISTIC, log_until=1e3, loss_below=1e-30)
    assert late.reason is Reason.LOSS and 60 < late.log_times[-1] < 80


@pytest.mark.parametrize("ends", [{}, {"until": 1.0, "log_until": 5.0}])
def test_a_flow_has_one_end(ends):
    with pytest.raises(ValueError, match="allowed: exactly one of the two"):
        gradient_flow(UNIT, [[1.0]], [1.0], LOGISTIC, **ends)


def test_a_run_whose_solution_ends_has_failed():
    # The slope is infinite where the loss is zero, and is reached at a finite time.
    edge = Loss("edge", lambda f, y: np.sqrt(1 - f), lambda f, y: -0.5 / np.sqrt(1 - f), classifies=False)
    run = gradient_flow(TwoLayer([[0.5]], [0.5]), [[1.0]], [1.0], edge, until=10.0)
    assert run.reason is Reason.FAILED and run.stopped.startswith("the integrator failed at time 0.9")
    assert run.outputs()[-1, 0] == pytest.approx(1.0)


def test_a_run_stops_where_events_accumulate():
    """At a label that is fitted, a loss with a kink turns its force, and with it a held neuron, for ever."""
    absolute = Loss("absolute", lambda f, y: abs(f - y), lambda f, y: np.sign(f - y), classifies=False)
    reasons = []
    while Reason.EVENTS not in reasons and len(reasons) < 20:
        rng = np.random.default_rng(7 + len(reasons))
        x, y = rng.standard_normal((3, 2)), 0.3 * rng.standard_normal(3)
        start = Start.gaussian(4, 2, -0.5, rng=rng)
        reasons.append(gradient_flow(start, x, y, absolute, until=10.0, rtol=1e-3, max_steps=1500).reason)
    assert reasons[-1] is Reason.EVENTS


@pytest.mark.parametrize(("cosine", "seen"), [(0.0, False), (1e-16, False), (1e-13, False), (1e-10, True)])
def test_data_count_as_orthogonal_below_a_cosine_of_1e_12(cosine, seen):
    # The neuron that the second datum draws comes to see the first at t = ln(1 / cosine), about.
    start = Start([[-0.6, 0.8]], [-20 * np.log(10)], [1])
    run = gradient_flow(start, [[1.0, 0.0], [cosine, 1.0]], [1.0, 1.0], SQUARE, until=300.0)
    assert bool(run.events) == seen
    np.testing.assert_allclose(run.outputs()[-1], [float(seen), 1.0], atol=1e-9)
