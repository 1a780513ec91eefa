"""Fit of the classes and late convergence: closed forms at 30 digits and against plain integration."""

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import solve_ivp
from scipy.special import expit, logsumexp

from lib.datasets import cone_data
from lib.flow.alignment import alignment_phase
from lib.geometry import stable_rank
from lib.theory import class_fitting as fitting
from lib.theory import late_convergence as late
from lib.theory.alignment_bounds import alignment_constants, proved_time


def pulls(margins, loss):
    return np.exp(-margins) if loss == "exponential" else 2 * expit(-margins)


@pytest.mark.parametrize("loss", fitting.LOSSES)
@pytest.mark.parametrize(
    ("start", "end", "norm"), [(-2000.0, np.log(0.25), 0.3), (-3.0, 3.0, 2.0), (0.5, 6.5, 1e5)]
)
def test_one_datum_at_40_digits(loss, start, end, norm):
    found = fitting.datum_fitting_time(end, start, norm, loss=loss)
    with mpmath.workdps(40):

        def primitive(logarithm):
            q = mpmath.exp(mpmath.mpf(logarithm))
            return mpmath.ei(q) if loss == "exponential" else (mpmath.mpf(logarithm) + mpmath.ei(q)) / 2

        exact = (primitive(end) - primitive(start)) / (2 * mpmath.mpf(norm))
    # The rounding of a logarithm of 6.5 moves a margin of 665 by 665 * 1e-15, and its exponential with it.
    assert found == pytest.approx(float(exact), rel=2e-13 if end < 5 else 1e-11)


@pytest.mark.parametrize("loss", fitting.LOSSES)
@given(start=st.floats(-5000, 2), time=st.floats(0, 1e4), norm=st.floats(0.1, 10))
def test_margins_of_one_datum_invert_the_time(loss, start, time, norm):
    log_margin = fitting.datum_log_margin(time, start, norm, loss=loss)
    assert log_margin >= start
    back = fitting.datum_fitting_time(log_margin, start, norm, loss=loss)
    # A rounding of the logarithm of the margin by 1e-15 moves the time by e^q q times as much.
    slope = np.exp(min(np.exp(float(log_margin)), 700)) / norm
    assert abs(back - time) <= 1e-14 * (slope + 1) * (1 + abs(float(log_margin))) + 1e-12 * (
        time + abs(start) / norm
    )


def test_margins_at_extreme_times():
    logs = fitting.datum_log_margin([0.0, 1e300, 1e300], [-1e9, -1e9, 0.0], [1.0, 1.0, 1e4])
    with pytest.raises(ValueError, match="2 norm times up to 1e305"):
        fitting.datum_log_margin(1e300, 0.0, 1e6)
    assert logs[0] == -1e9 and np.isfinite(logs).all()
    with mpmath.workdps(30):
        for log_margin, log_time in ((logs[1], 2e300), (logs[2], 2e304)):
            assert mpmath.log(mpmath.ei(mpmath.exp(mpmath.mpf(float(log_margin))))) == pytest.approx(
                np.log(log_time), rel=1e-12
            )


@pytest.mark.parametrize("loss", fitting.LOSSES)
def test_one_datum_solves_its_flow(loss):
    """The balanced neuron ``w' = a p x, a' = p <w, x>`` on the datum x = 2, by plain integration."""
    run = solve_ivp(
        lambda t, s: 2 * pulls(2 * s[0] * s[1], loss) * s[::-1],
        (0, 20),
        [1e-3, 1e-3],
        rtol=1e-11,
        atol=1e-14,
        t_eval=[2, 5, 20],
    )
    exact = fitting.datum_log_margin(run.t, np.log(2e-6), 2.0, loss=loss)
    np.testing.assert_allclose(np.log(2 * run.y[0] * run.y[1]), exact, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("loss", fitting.LOSSES)
@pytest.mark.parametrize("level", [1e-3, 0.25, 3.0, 600.0])
def test_a_class_of_one_datum_has_the_closed_form(loss, level):
    log_squared = np.array([[-30.0], [-1e5]])
    found = fitting.class_fitting_time([[0.0, 3.0]], log_squared, level=level, loss=loss)
    margin = -300.0  # saturation is below every digit there
    waited = (margin - np.log(3.0) - log_squared) / 6
    exact = waited + fitting.datum_fitting_time(np.log(level), margin, 3.0, loss=loss)
    np.testing.assert_allclose(found, exact, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("seed", range(2))
def test_class_fitting_times_are_those_of_the_flow(seed):
    """From the exact alignment phase at scale 1e-8 by plain integration of all weights."""
    rng = np.random.default_rng(seed)
    inputs, labels = cone_data(2, 2, 3, 0.3, rng=rng, norms=(0.8, 1.2))
    shapes, signs = rng.standard_normal((6, 3)), np.array([1.0, -1.0] * 3)
    w = 1e-8 * shapes
    phase = alignment_phase(w, signs, inputs, labels)
    (_, offsets), positive = phase.asymptotics, labels > 0
    predicted = []
    for sign, inside in ((1, positive), (-1, ~positive)):
        group = (signs == sign) & (phase.patterns == inside).all(axis=1)
        assert group.any()
        log_squared = logsumexp(2 * (np.log(np.linalg.norm(w[group], axis=1)) + offsets[group]))
        predicted.append(float(fitting.class_fitting_time(inputs[inside], log_squared)))

    def outputs(state):
        neurons, a = state[:18].reshape(6, 3), state[18:]
        return np.maximum(inputs @ neurons.T, 0) @ a

    def velocity(t, state):
        neurons, a = state[:18].reshape(6, 3), state[18:]
        z = inputs @ neurons.T
        push = ((z > 0) * (labels * np.exp(-labels * outputs(state)))[:, None]) * 1.0
        return np.concatenate([((push.T @ inputs) * a[:, None]).ravel(), (push * z).sum(axis=0)])

    events = []
    for inside in (positive, ~positive):
        events.append(lambda t, s, inside=inside: np.abs(outputs(s)[inside]).max() - 0.25)
    start = np.concatenate([w.ravel(), signs * np.linalg.norm(w, axis=1)])
    end = 1.1 * max(predicted) + 1
    run = solve_ivp(velocity, (0, end), start, events=events, rtol=1e-8, atol=1e-17, max_step=0.05)
    found = [times[0] for times in run.t_events]
    # The alignment left over when a class is fitted is a power of the scale; kinks cost the integrator 1e-6.
    np.testing.assert_allclose(found, predicted, atol=1e-4)
    constants = alignment_constants(shapes, signs, inputs, labels)
    aligned = proved_time(4, constants.mu, min(constants.zeta, constants.xi), constants.x_min)
    least = np.linalg.norm(shapes, axis=1).min()
    assert max(found) < fitting.proved_fitting_time(constants, 2, least, np.log(1e-8), aligned)
    assert aligned + fitting.refined_alignment_time(2, constants.mu, constants.x_min) > 0


@pytest.mark.parametrize("power", [-150, 150])
def test_fitting_times_scale_with_the_data(power):
    z, size = cone_data(3, 0, 4, 0.2, rng=np.random.default_rng(0))[0], 10.0**power
    log_squared = -50.0
    # Data times s and squared norms over s: the same margins, times over s.
    plain = fitting.class_fitting_time(z, log_squared, level=1e-250)
    scaled = fitting.class_fitting_time(size * z, log_squared - np.log(size), level=1e-250)
    assert scaled * size == pytest.approx(float(plain), rel=1e-10)


def test_fitting_times_grow_by_the_leading_term():
    z = cone_data(3, 0, 4, 0.2, rng=np.random.default_rng(0))[0]
    times = fitting.class_fitting_time(z, [-200.0, -2e5])
    leading = fitting.fitting_time(z.sum(axis=0), np.array([-100.0, -1e5]))
    np.testing.assert_allclose(np.diff(times), np.diff(leading), rtol=1e-12)


def test_slope_errors_are_attained_and_no_more():
    margins = np.linspace(-2, 2, 4001)
    margins = margins[margins != 0]
    errors = {
        "exponential": np.abs(np.expm1(-margins)),
        "twice logistic": np.abs(np.tanh(margins / 2)),
        "square": np.abs(margins),
    }
    for loss, error in errors.items():
        constant = fitting.slope_error_constant(loss, 2.0)
        assert (error / np.abs(margins)).max() == pytest.approx(constant, rel=1e-6)
    # The paper's constant 2 for the exponential loss holds for outputs up to 1.256431.
    assert fitting.slope_error_constant("exponential", 1.2564312) == pytest.approx(2.0, rel=1e-7)


def test_stuck_neurons_reach_a_power_of_the_scale():
    total = np.sqrt(2)
    log_scale = np.log(1e-6)
    reached = log_scale + 1.0 * fitting.fitting_time([1.0, 1.0], log_scale)
    assert reached == pytest.approx(fitting.idle_exponent(1.0, total) * log_scale, rel=1e-12)


@given(st.floats(1.001, 1e300), st.floats(1e-6, 1e6))
def test_late_loss_solves_its_equation(level, constant):
    log_time = level + np.log(constant)
    if log_time - np.log(constant) <= 1:
        return
    found = late.late_log_loss(log_time, constant)
    with mpmath.workdps(40):
        y = -mpmath.mpf(float(found))
        gap = y - mpmath.log(y) - (mpmath.mpf(log_time) - mpmath.log(mpmath.mpf(constant)))
        # The level carries a rounding; near y = 1 the equation has a square-root singularity.
        assert abs(gap) < 4e-15 * (1 + abs(log_time) + abs(np.log(constant)))


def late_run(inputs, labels, log_time):
    """Two single neurons, one a class, on the exponential loss, in the time s with ``ds = L dt``."""
    groups = [inputs[labels > 0], inputs[labels < 0]]
    d = inputs.shape[1]

    def margins(state):
        parts = (state[:d], state[d : 2 * d])
        return [np.linalg.norm(w) * (z @ w) for w, z in zip(parts, groups, strict=True)]

    def velocity(s, state):
        found = margins(state)
        log_loss = logsumexp(-np.concatenate(found))
        moves = [
            np.linalg.norm(w) * (np.exp(-q - log_loss) @ z)
            for w, q, z in zip((state[:d], state[d : 2 * d]), found, groups, strict=True)
        ]
        return np.concatenate([*moves, [np.exp(-log_loss - state[-1])]])

    def arrived(s, state):
        return state[-1] - log_time

    arrived.terminal = True
    start = np.concatenate([*(0.3 * z.sum(axis=0) for z in groups), [0.0]])
    run = solve_ivp(velocity, (0, 1e5), start, method="LSODA", events=arrived, rtol=1e-9, atol=1e-9)
    state = run.y[:, -1]
    return np.vstack([state[:d], state[d : 2 * d]]), float(logsumexp(-np.concatenate(margins(state))))


@pytest.mark.parametrize("seed", range(3))
def test_late_limits_are_approached(seed):
    rng = np.random.default_rng(seed)
    inputs, labels = cone_data(3, 2, 3, 0.2, rng=rng, norms=(0.6, 1.4))
    constant, limit = late.late_constant(inputs, labels), late.stable_rank_limit(inputs, labels)
    rates, ranks, norms = [], [], []
    logs = (75.0, 300.0)
    for log_time in logs:
        w, log_loss = late_run(inputs, labels, log_time)
        rates.append(np.exp(log_loss + log_time) * -log_loss / constant - 1)
        ranks.append(float(stable_rank(w)) - limit)
        norms.append((w**2).sum())
        assert log_loss == pytest.approx(late.late_log_loss(log_time, constant), rel=0.01)
    assert abs(rates[1]) < abs(rates[0]) < 0.1 and abs(rates[1]) < 0.02
    # The rank's error halves when ln t grows fourfold: components across the normals stay while others grow.
    assert abs(ranks[1]) < 0.7 * abs(ranks[0]) + 1e-6
    assert (norms[1] - norms[0]) / (logs[1] - logs[0]) == pytest.approx(2 * constant, rel=0.03)


def test_the_loss_obeys_its_bounds():
    inputs, labels = cone_data(3, 2, 3, 0.2, rng=np.random.default_rng(5), norms=(0.6, 1.4))
    norms = np.linalg.norm(inputs, axis=1)
    printed = late.decay_rate(0.2, norms.min(), norms.max())
    sharper = late.decay_rate(0.2, norms.min(), norms.max(), loss="exponential")
    assert sharper == pytest.approx(4 * printed, rel=1e-15)
    for log_time in (5.0, 40.0):
        _, log_loss = late_run(inputs, labels, log_time)
        assert log_loss < np.log(late.loss_bound(np.exp(log_time), 0.0, 5.0, sharper))
    assert late.loss_bound(3.0, 3.0, 0.5, 0.1) == 0.5


@pytest.mark.parametrize("loss", late.LOSSES)
def test_decay_constants_are_attained_in_the_limit(loss):
    u = np.linspace(1e-6, 1, 10_001)[:, None] * np.array([1.0])
    ratio = {
        "exponential": u / u,
        "logistic": u / (1 + u) / np.log1p(u),
        "twice logistic": u / (1 + u) / np.log1p(u),
    }
    least = (ratio[loss] ** 2).min()
    assert least == pytest.approx(late.decay_constant(loss), rel=1e-12)
    assert least >= 0.25


def test_ranks_of_simple_data():
    assert late.stable_rank_limit([[1.0, 0.0], [3.0, 0.0]], [1, 1]) == 1.0
    # Margins 1 and 1/2 at a right angle: |W|_F^2 is to |W|_2^2 as 1 + 2 to 2.
    assert late.stable_rank_limit([[1.0, 0.0], [0.0, 0.5]], [1, -1]) == pytest.approx(1.5, rel=1e-12)
    assert late.log_rank_excess(9, 2.0, 0.0) == pytest.approx(np.log(48.0), rel=1e-15)
    bound = fitting.log_group_bound(4, 1.5, 2.0, -10.0)
    assert bound == -58.0
