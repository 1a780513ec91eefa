"""One neuron in closed form: against mpmath, DOP853, each other, and the laws that the curves obey."""

import mpmath
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.integrate import solve_ivp
from scipy.special import expit

from lib.theory import one_neuron as curves

mpmath.mp.dps = 40


def exact(u):
    return mpmath.log(abs(mpmath.mpf(u))) + mpmath.ei(mpmath.mpf(u))


def backward_error(values, arguments):
    """Relative change of u that would make F(u) equal to the value, from F'(u) = (1 + e^u) / u."""
    return [
        float(abs((exact(float(u)) - mpmath.mpf(float(v))) / (1 + mpmath.exp(mpmath.mpf(float(u))))))
        for v, u in zip(values, arguments, strict=True)
    ]


def test_log_integral_matches_mpmath():
    u = np.concatenate([-np.geomspace(1e-12, 700, 60), np.geomspace(1e-12, 700, 90), np.linspace(39, 50, 45)])
    reference = np.array([float(exact(x)) for x in u])
    # SciPy's Ei errs by 3e-14 just above 40.
    np.testing.assert_allclose(curves.log_integral(u), reference, rtol=5e-14, atol=2e-15)


def test_inverse_over_the_whole_range():
    values = np.concatenate([np.linspace(-60, 6, 133), [3.999999, 4.0], np.geomspace(4.0001, 1e300, 120)])
    assert max(backward_error(values, curves.inverse_log_integral(values))) < 4e-14


@given(
    logarithm=st.floats(-12, 1.4),
    sign=st.sampled_from([1, -1]),
    power=st.floats(-3, 3),
    norm=st.floats(0.01, 9),
)
def test_logit_solves_the_integrated_equation_from_any_start(logarithm, sign, power, norm):
    u0, time = sign * 10.0**logarithm, 10.0**power
    u = float(curves.logit(time, u0, norm))
    if u == 0:  # underflow of a decaying logit
        assert sign < 0 and norm * time > 300
        return
    rise = 2 * mpmath.mpf(norm) * mpmath.mpf(time)
    residual = (exact(u) - exact(u0) - sign * rise) / (1 + mpmath.exp(mpmath.mpf(u)))
    assert abs(residual) < 5e-14 * (1 + norm * time * (sign < 0)) + (abs(u) < 1e-300)


def test_logit_is_a_semigroup_and_scales_with_the_norm():
    times = np.linspace(0, 30, 50)
    once = curves.logit(times + 4, 0.02)
    np.testing.assert_allclose(once, curves.logit(times, curves.logit(4.0, 0.02)), rtol=1e-13)
    np.testing.assert_allclose(curves.logit(times, 0.02, 3.0), curves.logit(3 * times, 0.02), rtol=1e-13)
    decay = curves.logit([0.0, 1.0, 5.0], -1.0)
    assert decay[0] == pytest.approx(-1, rel=1e-14)
    assert (np.diff(decay) > 0).all() and (decay < 0).all()


def test_late_logits_keep_growing_like_the_logarithm():
    late = curves.logit([1e100, 1e300], [[1e-12], [30.0], [600.0]])
    assert (np.diff(late, axis=1) > 0).all() or late[2, 0] == 600
    rise = np.log(2) + 300 * np.log(10)  # u - log u + 1/u is the logarithm of the rise
    assert np.allclose(late[:2, 1] - np.log(late[:2, 1]) + 1 / late[:2, 1], rise, atol=1e-5)


@pytest.mark.parametrize(("count", "copies"), [(5, False), (3, True)])
def test_several_inputs_are_one_of_another_norm(count, copies):
    norm, u0, times = 0.8, 0.02, np.linspace(0, 12, 13)
    factor = count if copies else np.sqrt(count)
    inputs = norm * (np.eye(count)[[0] * count] if copies else np.eye(count))
    h0 = np.sqrt(u0 * norm * (1 if copies else 1 / np.sqrt(count)))
    w0 = np.linalg.pinv(inputs) @ np.full(count, h0)

    def velocity(_, state):
        h = inputs @ state[:-1]
        slopes = expit(-state[-1] * h)
        return np.append(state[-1] * inputs.T @ slopes, slopes @ h)

    run = solve_ivp(velocity, (0, 12), [*w0, u0 / h0], "DOP853", t_eval=times, rtol=1e-12, atol=1e-14)
    closed = curves.logit(count * times, u0, norm) if copies else curves.logit(times, u0, factor * norm)
    assert np.allclose(run.y[-1] * (inputs @ run.y[:-1])[0], closed, rtol=1e-10)


def test_inflections_are_sign_changes_of_second_differences():
    times = np.linspace(0, 400, 100_001)
    for u0, count in ((0.001, 1), (0.88, 1), (0.9, 0), (2.0, 0)):
        second = np.diff(expit(curves.logit(times, u0)), 2)
        signs = np.sign(second[np.abs(second) > 1e-13])
        assert np.sum(np.diff(signs) != 0) == count
    u = curves.CURVE_INFLECTION
    assert 1 / u + 1 == pytest.approx(3 * expit(u), rel=1e-14)
    inflection = curves.LOGIT_INFLECTION
    assert inflection == pytest.approx(1 + np.exp(-inflection), rel=1e-15)


def test_inflections_off_the_diagonal():
    assert curves.curve_inflections(0.0) == (curves.CURVE_INFLECTION,)
    low, high = curves.curve_inflections(0.2)
    assert curves.curvature(low / 2, 0.2) < 0 < curves.curvature((low + high) / 2, 0.2)
    limit = curves.LARGEST_SIGMOIDAL_INVARIANT
    assert len(curves.curve_inflections(limit * (1 - 1e-6))) == 2
    assert curves.curve_inflections(limit * (1 + 1e-6)) == ()


@pytest.mark.parametrize("b", [1e-8, 1e-3, 0.3, 0.58])
def test_inflections_match_mpmath(b):
    for found in curves.curve_inflections(b):
        root = mpmath.findroot(
            lambda x: 1 - 3 / (1 + mpmath.exp(-mpmath.exp(x))) + mpmath.exp(x) / (b**2 + mpmath.exp(2 * x)),
            mpmath.log(found),
        )
        assert found == pytest.approx(float(mpmath.exp(root)), rel=1e-13)


def start_at(u0, b, branch=1):
    """A neuron of norm 1 with logit u0 and ``c = 2 b branch``."""
    rising, falling = (np.hypot(b, u0) + u0) / 2, (np.hypot(b, u0) - u0) / 2
    large, small = np.sqrt(rising) + np.sqrt(falling), np.sqrt(rising) - np.sqrt(falling)
    return (large, small) if branch > 0 else (small, large)


def integral(u0, u1, b):
    """The defining integral in the angle, where the integrand is entire, with 30 digits."""
    with mpmath.workdps(30):
        u0, u1, b = map(mpmath.mpf, (u0, u1, b))
        ends = mpmath.asinh(u0 / b), mpmath.asinh(u1 / b)
        steep = [mpmath.asinh((u1 - 4**k) / b) for k in range(4) if u1 - 4**k > u0]
        points = sorted({*mpmath.linspace(*ends, int((ends[1] - ends[0]) / 4) + 3), *steep})
        return mpmath.quad(lambda s: 1 + mpmath.exp(b * mpmath.sinh(s)), points)


@pytest.mark.parametrize(
    "way",
    [(-3.0, 0.4, 1e-3), (0.01, 690.0, 1e-4), (-20.0, 60.0, 1.01), (1.5, 1.6, 30.0), (-0.01, 0.02, 10.0)],
)
def test_times_match_mpmath(way):
    u0, u1, b = way
    h0, a0 = start_at(u0, b)
    # The start knows b up to rounding of its square, and rounding u changes the integrand by |u| eps.
    found = 2 * float(curves.time_to_logit(u1, h0, a0))
    b = abs(mpmath.mpf(h0) ** 2 - mpmath.mpf(a0) ** 2) / 2
    assert found == pytest.approx(float(integral(h0 * a0, u1, b)), rel=2e-13)


@settings(max_examples=40)
@given(h0=st.floats(-3, 1), share=st.floats(-1.5, 2), norm=st.floats(-1, 1), u1=st.floats(0, 5))
def test_times_are_those_of_an_integrator(h0, share, norm, u1):
    h0, norm = 10.0**h0, 10.0**norm
    a0 = share * h0 / norm
    assume(abs(h0 + norm * a0) > 1e-2 * h0)
    target = u1 + h0 * a0 if h0 * a0 >= 0 else (u1 if h0 + norm * a0 > 0 else 0.0)
    time = float(curves.time_to_logit(target, h0, a0, norm))
    assume(time > 0)

    def velocity(_, state):
        h, a = state
        return [norm**2 * a * expit(-h * a), h * expit(-h * a)]

    options = {"rtol": 1e-12, "atol": 1e-14 * max(abs(h0), abs(a0))}
    h, a = solve_ivp(velocity, (0, time), [h0, a0], "DOP853", **options).y[:, -1]
    assert abs(h * a - target) < 1e-8 * max(1, h0 * abs(a0))


@pytest.mark.parametrize("a0", [0.4, -0.4])
def test_balanced_neurons_follow_their_closed_form(a0):
    times = np.array([0.0, 1e-3, 1.0, 30.0, 1e5])[: 5 if a0 > 0 else 4]
    closed = curves.logit(times, 0.25 * a0, 0.625)
    found = curves.time_to_logit(closed, 0.25, a0, 0.625)
    np.testing.assert_allclose(found, times, rtol=1e-11, atol=1e-14)


def test_a_neuron_on_the_line_between_never_arrives():
    assert curves.time_to_logit(0.0, 1.0, -1.0) == np.inf
    assert curves.time_to_logit(-1.0, 1.0, -1.0) == 0
    assert np.isfinite(curves.time_to_logit(0.0, 1.0, [-1 + 1e-9, -1 - 1e-9])).all()


def test_only_scaled_time_start_and_scaled_invariant_matter():
    h0, a0, norm = 0.7, np.array([0.3, -0.2]), 2.3
    # h -> h / sqrt(norm), a -> sqrt(norm) a keeps the logit and c / norm for the norm 1
    scaled = curves.time_to_logit(2.0, h0 / np.sqrt(norm), np.sqrt(norm) * a0)
    np.testing.assert_allclose(norm * curves.time_to_logit(2.0, h0, a0, norm), scaled, rtol=1e-13)


def test_equivalent_neuron_moves_as_its_neurons_do():
    rng = np.random.default_rng(3)
    for norm in (0.4, 1.0, 2.0):
        h, a = rng.uniform(0.5, 1, 5), rng.uniform(-0.2, 1, 5)
        one = curves.equivalent_neuron(h, a, norm)

        def velocity(_, state, norm=norm):
            h, a = state[:5], state[5:]
            return np.concatenate([norm**2 * a, h]) * expit(-h @ a)

        times = np.linspace(0, 10, 11)
        run = solve_ivp(velocity, (0, 10), [*h, *a], "DOP853", t_eval=times, rtol=1e-12, atol=1e-14).y
        logits = np.sum(run[:5] * run[5:], axis=0)
        np.testing.assert_allclose(curves.time_to_logit(logits, *one, norm), times, rtol=1e-8, atol=1e-9)
        own, together = (h**2 - (norm * a) ** 2).sum(), one[0] ** 2 - (norm * one[1]) ** 2
        assert abs(together) >= abs(own) - 1e-14
