"""A neuron off the balanced diagonal: its clock against mpmath, its path against DOP853, and exact laws."""

import mpmath
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.integrate import solve_ivp
from scipy.special import expit

from lib.theory import hyperbolic_clock, hyperbolic_neuron, learning_curves
from lib.theory.hyperbolic_clock import clock
from lib.theory.log_integral import log_integral

logits = st.builds(
    lambda sign, power: sign * 10.0**power, st.sampled_from([1, -1]), st.floats(-12, np.log10(690))
)
norms = st.floats(-1, 1).map(lambda power: 10.0**power)
pre_activations = st.floats(-3, 1).map(lambda power: 10.0**power)


def integral(u0, u1, b):
    """The defining integral in the angle, where the integrand is entire, with 30 digits."""
    with mpmath.workdps(30):
        u0, u1, b = map(mpmath.mpf, (u0, u1, b))
        ends = mpmath.asinh(u0 / b), mpmath.asinh(u1 / b)
        steep = [mpmath.asinh((u1 - 4**k) / b) for k in range(4) if u1 - 4**k > u0]
        points = sorted({*mpmath.linspace(*ends, int((ends[1] - ends[0]) / 4) + 3), *steep})
        return mpmath.quad(lambda s: 1 + mpmath.exp(b * mpmath.sinh(s)), points)


WAYS = [
    (-1e-6, 1e-9, 1e-12),
    (-3.0, 0.4, 1e-3),
    (0.01, 690.0, 1e-8),
    (-400.0, -0.2, 0.99),
    (-20.0, 60.0, 1.01),
    (1.5, 1.6, 30.0),
    (-70.0, 130.0, 700.0),
    (-1e-6, 2e-6, 1e8),
]


@pytest.mark.parametrize("way", WAYS)
def test_clock_matches_mpmath(way):
    # rounding u changes the integrand by |u| eps
    assert clock(*way) == pytest.approx(float(integral(*way)), rel=1e-14 + 1e-16 * abs(way[1]))


def series(u0, u1, b):
    """The increase of the series, with 50 digits."""
    with mpmath.workdps(50):
        b = mpmath.mpf(b)

        def sums(u):
            larger = (abs(mpmath.mpf(u)) + mpmath.hypot(u, b)) / 2
            parts = larger, b**2 / 4 / larger
            rising, falling = parts if u >= 0 else parts[::-1]
            return rising, [rising**n - (-falling) ** n for n in range(1, terms)]

        terms = int(40 + 4 * max(abs(u0), abs(u1), b))
        (rising0, first), (rising1, last) = sums(u0), sums(u1)
        total = (1 + mpmath.hyp0f1(1, -(b**2) / 4)) * mpmath.log(rising1 / rising0)
        return total + sum(
            mpmath.hyp0f1(n + 1, -(b**2) / 4) * (last[n - 1] - first[n - 1]) / n / mpmath.factorial(n)
            for n in range(1, terms)
        )


@settings(max_examples=40)
@given(u0=logits, u1=logits, power=st.floats(-12, 0.5))
def test_clock_matches_the_series(u0, u1, power):
    u0, u1 = sorted((u0, u1))
    assume(u0 < u1 and u0 > -12 and u1 < 12)
    gap = (u1 - u0) / max(abs(u0), abs(u1), 10.0**power)
    exact = float(series(u0, u1, 10.0**power))
    assert clock(u0, u1, 10.0**power) == pytest.approx(exact, rel=1e-14 + 1e-15 / gap)


@given(u0=logits, ratio=st.floats(1e-6, 20))
def test_clock_of_a_balanced_neuron_is_the_log_integral(u0, ratio):
    u1 = u0 * (1 + ratio) if u0 > 0 else u0 / (1 + ratio)
    assume(u1 < 690)
    exact = abs(mpmath.log(abs(u1 / u0)) + mpmath.ei(u1) - mpmath.ei(u0))
    if u0 < 0:
        exact = mpmath.log(abs(u0 / u1)) + mpmath.ei(u0) - mpmath.ei(u1)
    assert clock(u0, u1, 0.0) == pytest.approx(float(exact), rel=1e-14 + 1e-15 * (1 + abs(u1)) / ratio)


def test_clock_at_its_extremes():
    # 1 / v and E_1
    assert clock(-1e300, -1e-300, 0.0) == pytest.approx(900 * np.log(10) - np.euler_gamma, rel=1e-14)
    assert clock(0.0, 1.0, 1e100) == pytest.approx(np.e / 1e100, rel=1e-14)
    assert clock(3.0, 3.0, 0.0) == 0
    assert clock(0.0, 0.0, 0.0) == 0
    assert np.isinf(clock(-1.0, 1.0, 0.0))
    with pytest.raises(ValueError, match="u1 holds"):
        clock(2.0, 1.0, 0.5)


@pytest.mark.parametrize("x", [0.0, 1e-4, 0.25])
def test_factors_of_the_series_are_bessel_functions(x):
    for n in range(24):
        assert hyperbolic_clock._bessel(n, np.array(x)) == pytest.approx(
            float(mpmath.hyp0f1(n + 1, -x)), rel=1e-15
        )


def integrated(times, h0, a0, norm):
    def velocity(_, state):
        h, a = state
        return [norm**2 * a * expit(-h * a), h * expit(-h * a)]

    options = {"t_eval": times, "rtol": 1e-12, "atol": 1e-14 * max(abs(h0), abs(a0))}
    return solve_ivp(velocity, (0, times[-1]), [h0, a0], "DOP853", **options).y


@settings(max_examples=30)
@given(h0=pre_activations, a0=st.floats(-2, 2), norm=norms)
def test_path_matches_an_integrator(h0, a0, norm):
    assume(abs(h0 + norm * a0) > 1e-2 * h0)
    last = 20 / norm
    if hyperbolic_neuron.fate(h0, a0, norm) < 0:
        last = min(last, 0.99 * float(hyperbolic_neuron.death_time(h0, a0, norm)))
    times = np.linspace(0, last, 9)
    h, a = hyperbolic_neuron.weights(times, h0, a0, norm)
    path = integrated(times, h0, a0, norm)
    assert np.allclose(h, path[0], rtol=1e-8, atol=1e-9 * np.abs(h).max())
    assert np.allclose(a, path[1], rtol=1e-8, atol=1e-9 * np.abs(a).max())


@settings(max_examples=50)
@given(h0=pre_activations, a0=st.floats(-3, 3), norm=norms, share=st.floats(1e-6, 300))
def test_logit_inverts_the_clock_and_keeps_the_invariant(h0, a0, norm, share):
    assume(abs(h0 + norm * a0) > 1e-8 * h0)
    time = share / norm
    u = hyperbolic_neuron.logit(time, h0, a0, norm)
    h, a = hyperbolic_neuron.weights(time, h0, a0, norm)
    size = h**2 + (norm * a) ** 2 + h0**2 + (norm * a0) ** 2
    c = hyperbolic_neuron.invariant(h0, a0, norm)
    assert abs(hyperbolic_neuron.invariant(h, a, norm) - c) < 1e-12 * size
    assert abs(h * a - u) < 1e-12 * size / norm
    if hyperbolic_neuron.fate(h0, a0, norm) < 0 and time >= hyperbolic_neuron.death_time(h0, a0, norm):
        assert u == h == 0
        assert a == pytest.approx(-np.sqrt(-c) / norm, rel=1e-7)
    else:
        again = hyperbolic_neuron.time_to_logit(np.maximum(u, h0 * a0), h0, a0, norm)
        slope = (1 + np.exp(u)) / (2 * norm * np.hypot(u, abs(c) / (2 * norm)))
        rounding = (abs(u) + abs(h0 * a0) + abs(c) / norm) * 1e-15
        assert abs(again - time) < 1e-12 * time + 10 * rounding * slope


@pytest.mark.parametrize("a0", [0.4, -0.4])
def test_balanced_neurons_follow_their_closed_form(a0):
    times = np.array([0.0, 1e-3, 1.0, 30.0, 1e5, 1e100])[: 6 if a0 > 0 else 4]
    closed = learning_curves.logit(times, 0.25 * a0, 0.625)
    assert np.allclose(hyperbolic_neuron.logit(times, 0.25, a0, 0.625), closed, rtol=1e-13)
    h, a = hyperbolic_neuron.weights(times, 0.25, a0, 0.625)
    assert np.allclose(h * a, closed, rtol=1e-12)
    assert np.allclose(h, 0.625 * np.abs(a), rtol=1e-14)
    series = hyperbolic_neuron.time_to_logit(closed, 0.25, a0, 0.625)
    assert np.allclose(series, times, rtol=1e-12, atol=1e-14)


@settings(max_examples=50)
@given(h0=pre_activations, a0=st.floats(-3, 3), norm=norms, time=st.floats(0, 50))
def test_only_scaled_time_start_and_scaled_invariant_matter(h0, a0, norm, time):
    u = hyperbolic_neuron.logit(time / norm, h0, a0, norm)
    # h -> h / sqrt(norm), a -> sqrt(norm) a keeps the logit and c / norm for the norm 1
    root = np.sqrt(norm)
    other = hyperbolic_neuron.logit(time, h0 / root, a0 * root)
    distance = abs(h0 + norm * a0) / h0
    assert abs(u - other) <= 1e-10 * abs(u) + 1e-12 * (1 + h0**2 / norm) / max(distance, 1e-4)


def test_logit_at_extreme_starts():
    scale = np.array([1e-100, 1e-30, 1.0])
    for sign in (1, -0.5):
        u = hyperbolic_neuron.logit([[0.0], [1.0], [1e3], [1e150]], scale, sign * scale)
        assert np.isfinite(u).all() and (np.diff(u, axis=0) >= 0).all()
        assert (u[3] > 300).all()
    large = hyperbolic_neuron.logit([0.0, 1e-100], 1e100, 0.0)  # u = h0^2 t / 2 at first, log t later
    assert large[1] == pytest.approx(np.log(1e100) - np.log(1), rel=0.01)


def test_a_dying_neuron_and_its_mirror_share_their_clock():
    h, a, norm = np.array([0.3, 1.0]), np.array([-0.43, -1.6]), 0.7
    assert np.allclose(
        hyperbolic_neuron.death_time(h, a, norm),
        hyperbolic_neuron.escape_time(-norm * a, -h / norm, norm),
        rtol=1e-14,
    )


def test_equivalent_neuron_moves_as_its_neurons_do():
    rng = np.random.default_rng(3)
    for norm in (0.4, 1.0, 2.0):
        h, a = rng.uniform(0.5, 1, 5), rng.uniform(-0.2, 1, 5)
        one = hyperbolic_neuron.equivalent_neuron(h, a, norm)

        def velocity(_, state, norm=norm):
            h, a = state[:5], state[5:]
            return np.concatenate([norm**2 * a, h]) * expit(-h @ a)

        times = np.linspace(0, 10, 11)
        run = solve_ivp(velocity, (0, 10), [*h, *a], "DOP853", t_eval=times, rtol=1e-12, atol=1e-14).y
        assert np.allclose(
            hyperbolic_neuron.logit(times, *one, norm), np.sum(run[:5] * run[5:], axis=0), rtol=1e-9
        )
        own = np.abs(np.sum(hyperbolic_neuron.invariant(h, a, norm)))
        assert abs(hyperbolic_neuron.invariant(*one, norm)) >= own - 1e-14


def test_gradient_descent_shrinks_the_invariant_by_its_law():
    h, a, norm, step = 0.6, 0.2, 1.3, 0.3
    for _ in range(50):
        kick = step * norm * expit(-h * a)
        new = h + step * norm**2 * a * expit(-h * a), a + step * h * expit(-h * a)
        law = hyperbolic_neuron.invariant(h, a, norm) * (1 - kick**2)
        assert hyperbolic_neuron.invariant(*new, norm) == pytest.approx(law, rel=1e-12)
        h, a = new


def test_series_reaches_large_logits():
    balanced = (log_integral([50.0, 600.0]) - log_integral(0.05)) / 2
    assert np.allclose(hyperbolic_neuron.time_to_logit([50.0, 600.0], 0.3, 0.05 / 0.3), balanced, rtol=1e-3)


def test_a_weight_that_has_crossed_zero_from_afar_keeps_its_digits():
    h, a = hyperbolic_neuron.weights(6e-18, 5e55, [-7e-36, -1e-20, -3.0], 8e-31)
    logit = hyperbolic_neuron.logit(6e-18, 5e55, [-7e-36, -1e-20, -3.0], 8e-31)
    np.testing.assert_allclose(h * a, logit, rtol=1e-12)
