"""Closed forms of the learning curve: against mpmath, quadrature, each other, and the laws they obey."""

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import solve_ivp
from scipy.special import expit

from lib.theory import learning_curves
from lib.theory.log_integral import (
    inverse_from_logarithm,
    inverse_log_integral,
    inverse_log_integral_negative,
    log_integral,
    log_of_log_integral,
)

mpmath.mp.dps = 40


def exact_of(u):
    return mpmath.log(abs(u)) + mpmath.ei(u)


def exact(u):
    return exact_of(mpmath.mpf(float(u)))


def backward_error(values, arguments):
    """Relative change of u that would make F(u) equal to the value, from F'(u) = (1 + e^u) / u."""
    return [
        float(abs((exact(u) - mpmath.mpf(float(v))) / (1 + mpmath.exp(mpmath.mpf(float(u))))))
        for v, u in zip(values, arguments, strict=True)
    ]


def test_log_integral_matches_mpmath():
    u = np.concatenate([-np.geomspace(1e-12, 700, 60), np.geomspace(1e-12, 700, 90), np.linspace(39, 50, 45)])
    reference = np.array([float(exact(x)) for x in u])
    assert np.allclose(log_integral(u), reference, rtol=2e-15, atol=2e-15)


def test_log_of_log_integral_matches_mpmath():
    u = np.concatenate([np.linspace(1, 60, 80), [1e3, 1e5]])
    reference = [float(mpmath.log(exact(x))) for x in u]
    assert np.allclose(log_of_log_integral(u), reference, rtol=3e-15, atol=1e-14)


def test_inverse_over_the_whole_range():
    values = np.concatenate([np.linspace(-60, 6, 133), [3.999999, 4.0], np.geomspace(4.0001, 1e300, 120)])
    assert max(backward_error(values, inverse_log_integral(values))) < 1e-14


def test_inverses_solve_their_equations_on_dense_grids():
    values = np.linspace(-60, 4, 20_001)
    u = inverse_log_integral(values)
    condition = np.maximum(1 + np.exp(u), np.abs(values))
    assert np.max(np.abs(log_integral(u) - values) / condition) < 2e-15  # that of log_integral
    logarithms = np.concatenate([np.linspace(np.log(4), 60, 20_000), np.geomspace(60, 1e15, 2_000)])
    u = inverse_from_logarithm(logarithms)
    assert np.max(np.abs(log_of_log_integral(u) - logarithms) / u) < 2e-15
    values = np.linspace(-60, 30, 20_001)
    residual = log_integral(inverse_log_integral_negative(values)) - values
    assert np.max(np.abs(residual) / np.maximum(1, np.abs(values))) < 2e-15


def test_negative_inverse_over_the_whole_range():
    values = np.concatenate([np.linspace(-120, 20, 120), [0.0, 600.0]])
    assert max(backward_error(values, inverse_log_integral_negative(values))) < 1e-14


def test_inverse_keeps_shape_and_survives_the_extremes():
    assert inverse_log_integral(np.zeros((3, 1, 2))).shape == (3, 1, 2)
    assert inverse_log_integral(-1300.0) == pytest.approx(1e-283, rel=10)
    far = np.array([1e3, 1e5, 1e10])
    assert np.array_equal(inverse_from_logarithm(log_of_log_integral(far)), far)
    assert inverse_log_integral_negative(-1e4) == 0


def test_logit_matches_mpmath():
    for u0 in (1e-12, 1e-3, 0.3, 5.0, 30.0):
        for time in (0.0, 1.0, 1e3, 1e6):
            target = 2 * mpmath.mpf(0.7) * mpmath.mpf(time) + exact(u0)
            found = float(learning_curves.logit(time, u0, 0.7))
            u = mpmath.mpf(found)
            for _ in range(3):  # Newton's steps at 40 digits
                u -= (exact_of(u) - target) * u / (1 + mpmath.exp(u))
            assert found == pytest.approx(float(u), rel=1e-13)


def test_logit_is_a_semigroup_and_scales_with_the_norm():
    times = np.linspace(0, 30, 50)
    once = learning_curves.logit(times + 4, 0.02)
    twice = learning_curves.logit(times, learning_curves.logit(4.0, 0.02))
    assert np.allclose(once, twice, rtol=1e-13)
    assert np.allclose(
        learning_curves.logit(times, 0.02, 3.0), learning_curves.logit(3 * times, 0.02), rtol=1e-13
    )
    decay = learning_curves.logit([0.0, 1.0, 5.0], -1.0)
    assert decay[0] == pytest.approx(-1, rel=1e-14)
    assert (np.diff(decay) > 0).all() and (decay < 0).all()


@given(
    logarithm=st.floats(-250, 2.8),
    sign=st.sampled_from([1, -1]),
    time=st.floats(0, 1e3),
    norm=st.floats(0.01, 9),
)
def test_logit_solves_the_integrated_equation_from_any_start(logarithm, sign, time, norm):
    u0 = sign * 10.0**logarithm
    u = mpmath.mpf(float(learning_curves.logit(time, u0, norm)))
    if u == 0:  # underflow of a decaying logit
        assert sign < 0 and norm * time > 300
        return
    rise = 2 * mpmath.mpf(norm) * mpmath.mpf(time)
    residual = (exact_of(u) - exact(u0) - sign * rise) / (1 + mpmath.exp(u))
    size = max(10, abs(np.log(abs(u0))))
    assert abs(residual) < 1e-15 * (size if sign > 0 else size * (1 + norm * time)) + (abs(u) < 1e-300)


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
    closed = (
        learning_curves.logit(count * times, u0, norm)
        if copies
        else learning_curves.logit(times, u0, factor * norm)
    )
    assert np.allclose(run.y[-1] * (inputs @ run.y[:-1])[0], closed, rtol=1e-10)


def test_logit_of_large_starts_does_not_overflow():
    extreme = learning_curves.logit([0.0, 1e308], [[1e-300], [20.0], [1e5], [1e300], [-1e300]], 1e5)
    assert np.isfinite(extreme).all() and (np.diff(extreme) >= 0).all()
    late = np.log(2e5) + 308 * np.log(10)  # u - log u + 1/u is the logarithm of the rise
    assert np.allclose(extreme[:2, 1] - np.log(extreme[:2, 1]) + 1 / extreme[:2, 1], late, atol=1e-5)
    assert np.array_equal(learning_curves.logit([0.0, 1e300], 800.0), [800.0, 800.0])
    assert learning_curves.logit(1e300, 0.1) == pytest.approx(698.0, abs=0.1)


def test_logit_solves_its_equation():
    times, step = np.linspace(1, 60, 40), 1e-4
    for sign, u0 in ((1, 0.05), (-1, -2.0)):
        u = learning_curves.logit(times, u0, 0.8)
        slope = (
            learning_curves.logit(times + step, u0, 0.8) - learning_curves.logit(times - step, u0, 0.8)
        ) / (2 * step)
        assert np.allclose(slope, sign * 2 * 0.8 * u * expit(-u), rtol=1e-6, atol=1e-11)


def test_probability_only_rescales_time():
    times = np.linspace(0, 40, 9)
    slow = learning_curves.probability(times, 0.01, 1.5, frequency=0.25)
    assert np.allclose(slow, expit(learning_curves.logit(times / 4, 0.01, 1.5)), rtol=1e-14)


def test_bounds_and_growth_law():
    times = np.geomspace(1e-3, 1e12, 200)
    for u0 in (1e-3, 0.1, 1.0, 4.0):
        for norm in (0.2, 1.0, 5.0):
            u = learning_curves.logit(times, u0, norm)
            assert (u <= learning_curves.loose_bound(times, u0, norm)).all()
            assert (u <= learning_curves.sharp_bound(times, u0, norm) * (1 + 1e-14)).all()
    for bound in (learning_curves.loose_bound, learning_curves.sharp_bound):
        assert np.allclose(bound(0.0, [1e-9, 3.0, 1e4]), [1e-9, 3.0, 1e4], rtol=1e-14)
        assert np.isfinite(bound(1e300, [1e-9, 3.0, 1e4], 1e8)).all()
    late = np.geomspace(1e10, 1e300, 20)
    residual = learning_curves.logit(late, 0.1) - learning_curves.growth_law(late)
    assert (np.diff(residual) < 0).all() and 0 < residual[-1] < 0.01
    with pytest.raises(ValueError, match="times holds"):
        learning_curves.growth_law(0.1)


def test_inflections_are_sign_changes_of_second_differences():
    times = np.linspace(0, 400, 100_001)
    for u0, count in ((0.001, 1), (0.88, 1), (0.9, 0), (2.0, 0)):
        second = np.diff(learning_curves.probability(times, u0), 2)
        signs = np.sign(second[np.abs(second) > 1e-13])
        assert np.sum(np.diff(signs) != 0) == count
    u = learning_curves.CURVE_INFLECTION
    assert 1 / u + 1 == pytest.approx(3 * expit(u), rel=1e-14)
    inflection = learning_curves.LOGIT_INFLECTION
    assert inflection == pytest.approx(1 + np.exp(-inflection), rel=1e-15)


def test_inflections_off_the_diagonal():
    assert learning_curves.curve_inflections(0.0) == (learning_curves.CURVE_INFLECTION,)
    low, high = learning_curves.curve_inflections(0.2)
    assert learning_curves.curvature(low / 2, 0.2) < 0 < learning_curves.curvature((low + high) / 2, 0.2)
    limit = learning_curves.LARGEST_SIGMOIDAL_INVARIANT
    assert len(learning_curves.curve_inflections(limit * (1 - 1e-6))) == 2
    assert learning_curves.curve_inflections(limit * (1 + 1e-6)) == ()


@pytest.mark.parametrize("b", [1e-100, 1e-8, 1e-3, 0.3, 0.58])
def test_inflections_match_mpmath(b):
    for found in learning_curves.curve_inflections(b):
        root = mpmath.findroot(
            lambda x: 1 - 3 / (1 + mpmath.exp(-mpmath.exp(x))) + mpmath.exp(x) / (b**2 + mpmath.exp(2 * x)),
            mpmath.log(found),
        )
        assert found == pytest.approx(float(mpmath.exp(root)), rel=1e-13)


def test_time_ratio_is_exact_for_equal_starts_and_refuses_what_is_reached():
    ratio = learning_curves.time_ratio([0.9, 0.999], 0.01, 0.01, (1.5, 0.8), (0.3, 0.7))
    assert np.allclose(ratio, 1.5 * 0.3 / (0.8 * 0.7), rtol=1e-14)
    with pytest.raises(ValueError, match="confidence holds"):
        learning_curves.time_ratio(0.6, 0.01, 1.0, (1.0, 1.0), (0.5, 0.5))
