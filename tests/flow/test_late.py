"""Late stretches of a flow: exact solutions, other integrators, and where it rests."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import brentq
from scipy.special import expi, logsumexp, wrightomega

from lib.flow import gradient_flow
from lib.flow.coordinates import Span, fitting
from lib.flow.late import Late, TailForces
from lib.flow.methods import Explicit
from lib.flow.run import Run
from lib.flow.trajectory import Reason, Task, Weights
from lib.geometry.level_sets import boundary_bend
from lib.models.two_layer import Start, TwoLayer
from lib.training.losses import EXPONENTIAL, HINGE, LOGISTIC, TWICE_LOGISTIC
from tests.flow.problems import CLOUD, CLOUD_LABELS, DIRECTIONS, SIGNS, UNIT, unbalanced

FOUR, LABELS = np.random.default_rng(0).standard_normal((4, 3)), np.array([1.0, -1.0, 1.0, -1.0])


@pytest.mark.parametrize("log_until", [5.0, 50.0, 1e4, 1e8])
def test_a_balanced_neuron_at_late_times_is_the_exponential_integral(log_until):
    # q' = 2 q exp(-q), so that 2 t = Ei(q) - Ei(q_0); beyond 700 by the asymptotic series of Ei.
    run = gradient_flow(UNIT, [[1.0]], [1.0], EXPONENTIAL, log_until=log_until)
    q = run.outputs()[-1, 0]
    assert run.stopped == f"log time reached {log_until:.6g}" and run.log_times[-1] == log_until
    terms = np.cumprod(np.concatenate([[1.0], np.arange(1, 11) / q]))
    log_time = q - np.log(2 * q) + np.log(terms.sum()) if q > 40 else np.log((expi(q) - expi(1.0)) / 2)
    # One step's error is 1e-9 of the weights; they make q, and what is to be compared is its excess.
    assert log_time == pytest.approx(log_until, abs=1e-6, rel=1e-7)


@pytest.mark.parametrize("loss", [LOGISTIC, TWICE_LOGISTIC])
@pytest.mark.parametrize("log_until", [3.0, 12.0])
def test_the_symmetric_pair_follows_its_closed_form_into_late_times(loss, log_until):
    x, v = np.array([[0.8, 0.6], [-0.8, -0.6]]), 0.8
    w = np.repeat([[0.1, 0.05], [-0.1, -0.05]], 3, axis=0)
    network = TwoLayer(w, v * np.repeat([1.0, -1.0], 3), 0.35)
    run = gradient_flow(network, x, np.array([1.0, -1.0]), loss, train="first", log_until=log_until)
    speed = 2.0 if loss is TWICE_LOGISTIC else 1.0
    q0, rate = network(x)[0], 3 * (v * 1.35) ** 2 / 2  # q + exp(q) grows at this rate
    exact = np.log(wrightomega(q0 + np.exp(q0) + rate * speed * np.exp(log_until)))
    np.testing.assert_allclose(run.outputs()[-1] * [1, -1], exact, rtol=1e-8)


@pytest.mark.parametrize("slope", [0.3, 1.0])
def test_late_times_agree_with_another_integrator_in_rescaled_time(slope):
    rng = np.random.default_rng(3)
    x = np.vstack([0.3 * rng.standard_normal((5, 2)) + 1, 0.3 * rng.standard_normal((5, 2)) - 1])
    y = np.repeat([1.0, -1.0], 5)
    # One neuron on each side: the margins are linear in both, whose flow with ds = L dt has no small numbers.
    network = TwoLayer([[0.5, 0.5], [-0.5, -0.6]], [0.9, -0.8], slope)
    gates = np.where(x @ network.w.T > 0, 1.0, slope)
    rows = y[:, None] * np.hstack([a * gate[:, None] * x for a, gate in zip(network.a, gates.T, strict=True)])

    def field(_, state):
        q = rows @ state[:-1]
        total = logsumexp(np.where(q > 36, -q, np.log(np.logaddexp(0, -np.minimum(q, 36)))))
        clock = np.exp(np.log(len(y)) - total - state[-1])
        return np.append(np.exp(-np.logaddexp(0, q) - total) @ rows, clock)

    start = np.append(network.w, 0.0)
    end = solve_ivp(field, (0, 1e3), start, "Radau", rtol=1e-10, atol=1e-12).y[:, -1]
    run = gradient_flow(network, x, y, LOGISTIC, train="first", log_until=end[-1])
    np.testing.assert_allclose(run.network_at().w.ravel(), end[:-1], rtol=1e-6)


def test_a_late_run_meets_the_plain_one_and_is_dense():
    network = unbalanced(4, 3, seed=2)
    x, y = CLOUD[:2], CLOUD_LABELS[:2]
    late = gradient_flow(network, x, y, LOGISTIC, log_until=8.0)
    plain = gradient_flow(network, x, y, LOGISTIC, until=np.exp(8.0))
    assert plain.stopped.startswith("time reached") and late.stopped == "log time reached 8"
    times = np.exp(np.linspace(-2, 8, 21))[:-1]
    np.testing.assert_allclose(late.outputs(times), plain.outputs(times), atol=1e-7)
    np.testing.assert_array_equal(late.at(log_times=np.log(times)).signs, late.at(times).signs)


@pytest.mark.parametrize("log_until", [1.1, 3.3, 7.7, 33.0, 720.0, 1234.5])
def test_the_last_log_time_is_the_one_asked_for(log_until):
    run = gradient_flow(UNIT, [[1.0]], [1.0], LOGISTIC, log_until=log_until)
    assert run.log_times[-1] == log_until and run.stopped == f"log time reached {log_until:g}"
    assert run.at(log_times=[log_until]).log_norms[0, 0] == pytest.approx(run.log_norms[-1, 0], abs=1e-9)
    if log_until < 700:
        rounded = np.exp(np.float64(log_until)) * (1 + 1e-15)
        np.testing.assert_allclose(run.outputs([rounded])[0], run.outputs()[-1], rtol=1e-9)
        with pytest.raises(ValueError, match="times holds"):
            run.at([1.0001 * rounded])


@pytest.mark.parametrize("reduction", ["mean", "sum"])
def test_a_late_run_ends_with_the_step_in_which_its_loss_falls_below_what_was_asked(reduction):
    network, x, y = unbalanced(4, 3, seed=2), CLOUD[:2], CLOUD_LABELS[:2]
    options = {"weights": [3.0, 2.0], "reduction": reduction, "log_until": 60.0, "loss_below": 1e-8}
    run = gradient_flow(network, x, y, TWICE_LOGISTIC, **options)
    assert run.reason is Reason.LOSS and run.loss()[-1] <= 1e-8 < run.loss()[-2]


def test_a_last_plain_step_to_a_tenth_of_the_loss_stops_for_what_was_asked():
    """The late phase would begin there: with the run's end, its time; with a loss asked for, that loss."""
    plain = gradient_flow(UNIT, [[1.0]], [1.0], EXPONENTIAL, until=10.0)
    step = int(np.argmax(plain.loss() <= 0.1))
    early, late = plain.times[step - 1 : step + 1]
    fallen = brentq(lambda time: plain.loss([time])[0] - 0.1, early, late)
    run = gradient_flow(UNIT, [[1.0]], [1.0], EXPONENTIAL, log_until=np.log(1.001 * fallen))
    assert run.reason is Reason.TIME and run.loss()[-1] < 0.1 < run.loss()[-2]
    asked = (plain.loss()[step] + 0.1) / 2
    run = gradient_flow(UNIT, [[1.0]], [1.0], EXPONENTIAL, log_until=9.0, loss_below=asked)
    assert run.stopped == f"the loss reached {asked:.3g}" and run.loss()[-1] <= asked


@pytest.mark.parametrize("loss", [LOGISTIC, EXPONENTIAL])
def test_a_start_whose_loss_underflows_goes_on(loss):
    """``q' = 2 q exp(-q)`` from q = 900, which is no longer seen at log times beyond that."""
    run = gradient_flow(TwoLayer([[30.0]], [30.0]), [[1.0]], [1.0], loss, log_until=1000.0)
    q = run.outputs()[-1, 0]
    assert run.stopped == "log time reached 1000"
    assert q - np.log(2 * q) + 1 / q == pytest.approx(1000.0, abs=1e-5)  # 2 t = Ei(q) - Ei(900)


@pytest.mark.parametrize("log_until", [1e2, 1e6])
def test_an_early_moment_of_the_late_phase_is_as_exact_however_long_the_run(log_until):
    run = gradient_flow(UNIT, [[1.0]], [1.0], EXPONENTIAL, log_until=log_until, rtol=1e-6)
    log_times = np.array([3.0, 5.0, 10.0, 20.0])
    found = np.log((expi(run.outputs(np.exp(log_times))[:, 0]) - expi(1.0)) / 2)
    np.testing.assert_allclose(found, log_times, rtol=1e-5)


LINEAR = {"train": "first", "slope": 1.0}  # one neuron is then a linear model


def test_what_cannot_be_separated_comes_to_rest_at_the_least_loss():
    # One unit of slope 1 is logistic regression, whose loss is strictly convex here.
    x, y = np.array([[1.0, 0.2], [-0.5, 1.0], [0.3, -1.0], [-1.0, -0.4], [0.9, 0.8]]), [1, 1, -1, 1, -1]
    run = gradient_flow(Start([[0.6, 0.8]], [-2.0], [1], [0.0]), x, y, LOGISTIC, log_until=1e8, **LINEAR)
    pull = LOGISTIC.slope(run.outputs()[-1], y) @ x
    assert run.stopped == "log time reached 1e+08" and np.abs(pull).max() < 1e-9


@pytest.mark.parametrize("unit", [1e-10, 1e10])
def test_a_late_run_is_the_same_in_any_units_of_the_inputs(unit):
    """A first layer in their inverse units has the same outputs, at times in the square of these units."""
    x, y = np.array([[1.0, 0.2], [-0.5, 1.0], [0.3, -1.0], [-1.0, -0.4], [0.9, 0.8]]), [1, -1, 1, -1, 1]
    ends = []
    for size in (1.0, unit):
        start, log_until = Start([[0.6, 0.8]], [-2.0 - np.log(size)], [1], [0.0]), 100.0 - 2 * np.log(size)
        run = gradient_flow(start, size * x, y, LOGISTIC, log_until=log_until, **LINEAR)
        assert run.reason is Reason.TIME
        ends.append(run.outputs()[-1])
    np.testing.assert_allclose(ends[1], ends[0], rtol=1e-7)


def test_a_datum_that_no_neuron_sees_does_not_hold_the_others_up():
    start, inputs = Start([[1.0, 0.0]], [-1.0], [1], [0.0]), [[1.0, 0.2], [0.8, -0.3], [-1.0, 0.0]]
    how = {"train": "first", "reduction": "sum", "log_until": 1e5}
    ends = [gradient_flow(start, inputs[:n], np.ones(n), LOGISTIC, **how).outputs()[-1] for n in (3, 2)]
    assert ends[0][:2].min() == pytest.approx(1e5, rel=1e-3) and ends[0][2] == 0
    np.testing.assert_allclose(ends[0][:2], ends[1], rtol=1e-7)


def test_a_unit_slides_for_ever_along_the_boundary_of_a_datum_that_no_neuron_sees():
    """It grows as if its own datum were projected on the boundary, up to late times."""
    angle = np.radians(60)
    inputs, along = [[1.0, 0.0], [np.cos(angle), np.sin(angle)]], [np.sin(angle), -np.cos(angle)]
    run = gradient_flow(Start([along], [-0.5], [1]), inputs, [1, -1], LOGISTIC, log_until=1e4)
    assert not run.events and run.reason is Reason.TIME
    q, zero = run.outputs()[-1]
    # Ei(q) = |x| t, with half of the mean loss, and Ei(q) is (1 + 1/q) exp(q) / q.
    assert q - np.log(q) + 1 / q == pytest.approx(1e4 + np.log(np.sin(angle)), abs=1e-4)
    assert abs(zero) < 1e-9


def test_a_crossing_soon_after_an_event_is_seen():
    """Two small neurons come to a late kink nearly together; both pass, and the boundary stays straight."""
    angle = np.radians(170)
    x = np.array([[1.0, 0.0], [np.cos(angle), np.sin(angle)], [-1.0, 0.0]])
    start = Start.two_sided(2, 2, np.log(1e-6), rng=np.random.default_rng(3), v=0.5**0.5).network(0.1)
    y = np.array([1.0, 1.0, -1.0])
    run = gradient_flow(start, x, y, LOGISTIC, log_until=60, train="first", rtol=1e-7)
    assert boundary_bend(run.network_at()) < 1e-9


def test_forces_that_balance_but_for_faint_ones_are_named():
    # The first two data are one, with both labels; the margin of the third grows as log t for ever.
    start, inputs = Start([[0.6, 0.8]], [-1.0], [1], [0.0]), [[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]
    run = gradient_flow(start, inputs, [1, -1, 1], LOGISTIC, log_until=1e4, **LINEAR)
    assert run.stopped.startswith("the forces balanced at log time") and run.log_times[-1] < 1e4
    # w' = exp(-w) / 3 at the end.
    assert run.outputs()[-1, 2] == pytest.approx(run.log_times[-1] - np.log(3), rel=1e-3)


@pytest.mark.parametrize("unit", [1e-20, 1e-8, 1.0, 1e8, 1e20])
def test_forces_that_balance_up_to_rounding_at_weights_of_zero_are_a_saddle(unit):
    # 0.1 + 0.2 - 0.3 is 6e-17: a drive that makes the neuron grow, however late.
    start, weights = Start([[1.0]], [-1e5], [1]), unit * np.array([0.1, 0.2, 0.3])
    options = {"weights": weights, "reduction": "sum", "log_until": 1e3 - np.log(unit)}
    run = gradient_flow(start, [[1.0]] * 3, [1, 1, -1], LOGISTIC, **options)
    assert run.reason is Reason.SADDLE and run.stopped.endswith("at a saddle")


def run_to_one(train, loss):
    """Return a run of five unbalanced units on four data up to the time 1."""
    start = Weights(DIRECTIONS, np.full(5, -0.5), SIGNS * 1.0, np.linspace(-1.0, 0.0, 5))
    coordinates = fitting(start, trains_outputs=train == "both")
    task = Task(FOUR, LABELS, loss, np.full(4, 0.25))
    run = Run(start, coordinates, Span(FOUR, DIRECTIONS), task, 0.2, 1e-10)
    run.align(1.0)
    run.integrate(Explicit(1.0), 0.0, 1000)
    return run


@pytest.mark.parametrize("train", ["both", "first"])
def test_the_jacobian_of_the_late_phase_is_the_derivative(train):
    run = run_to_one(train, LOGISTIC)
    method = Late(30.0, TailForces(run.field.task, LOGISTIC.tail))
    field, s = method.enters(run.field, run.now)
    field, solver, *_ = method.start(field, run.now._replace(s=s), None)
    state = solver.y
    steps = 1e-6 * np.eye(len(state))
    sides = ([method.velocity(field, 1.0, state + sign * step) for step in steps] for sign in (1, -1))
    changes = np.subtract(*sides)
    np.testing.assert_allclose(method.jacobian(field, 1.0, state), changes.T / 2e-6, atol=1e-8)


def test_a_long_rest_at_the_margin_survives_huge_trial_steps():
    start = Start(DIRECTIONS, np.full(5, -1e5), SIGNS)
    run = gradient_flow(start, FOUR, LABELS, HINGE, until=1e12, max_steps=2000)
    assert run.stopped == "time reached 1e+12"
    assert (np.diff(run.loss()) < 1e-12).all()
