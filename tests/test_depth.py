"""Deep diagonal networks: the clock against mpmath, its inverse against an integrator, depth break-even."""

from itertools import pairwise

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import solve_ivp
from scipy.special import expit

from lib.theory import depth, depth_break_even, learning_curves
from lib.theory.log_integral import log_integral

DEPTHS = (2, 2.0001, 2.5, 3, 4, 8, 64, 1e4, np.inf)
LOGITS = np.concatenate([np.geomspace(1e-6, 39.99, 18), [40.0, 40.01, 150.0, 700.0]])


def exact_clock(u, layers):
    """G in another form, at 40 digits: the series from k = 2 summed as a hypergeometric function."""
    e = mpmath.mpf(2) / mpmath.mpf(layers) - 1 if np.isfinite(layers) else mpmath.mpf(-1)

    def integral(power):
        return mpmath.log(u) if power == 0 else (u**power - 1) / power

    rest = u ** (2 + e) / (2 * (2 + e)) * mpmath.hyp2f2(1, 2 + e, 3, 3 + e, u)
    return 2 * integral(e) + integral(1 + e) + rest


def speed(u, layers):
    e = 2 / layers - 1
    return u**e * (1 + np.exp(u))  # u G'(u)


@pytest.mark.parametrize("layers", DEPTHS)
def test_clock_matches_mpmath(layers):
    found = depth.clock(LOGITS, layers)
    with mpmath.workdps(40):
        errors = [
            float(exact_clock(mpmath.mpf(u), layers) - mpmath.mpf(g))
            for u, g in zip(LOGITS, found, strict=True)
        ]
    assert (np.abs(errors) <= 2e-15 * (speed(LOGITS, layers) * (1 + np.abs(np.log(LOGITS))))).all()


def test_clock_survives_the_ends_of_its_range():
    for layers in DEPTHS:
        g = depth.clock([1e-300, 1e-200, 1.0, 700.0], layers)
        assert np.isfinite(g).all() and (np.diff(g) > 0).all()
        with mpmath.workdps(60):
            reference = float(exact_clock(mpmath.mpf(1e-300), layers))
        assert g[0] == pytest.approx(reference, rel=1e-13)


def test_special_depths():
    u = np.geomspace(1e-3, 30, 40)
    assert np.allclose(np.diff(depth.clock(u, 2)), np.diff(log_integral(u)), rtol=1e-12)
    with mpmath.workdps(30):
        four = [
            -2 * (1 + mpmath.exp(v)) / mpmath.sqrt(v)
            + 2 * mpmath.sqrt(mpmath.pi) * mpmath.erfi(mpmath.sqrt(v))
            for v in map(mpmath.mpf, u)
        ]
        endless = [-(1 + mpmath.exp(v)) / v + mpmath.ei(v) for v in map(mpmath.mpf, u)]
        e = mpmath.mpf(-2) / 3
        six = [v**e / e * (1 + mpmath.hyp1f1(e, 1 + e, v)) for v in map(mpmath.mpf, u)]
        for layers, form in ((4, four), (6, six), (np.inf, endless)):
            rises = [float(b - a) for a, b in pairwise(form)]
            assert np.allclose(np.diff(depth.clock(u, layers)), rises, rtol=1e-11)


@pytest.mark.parametrize("layers", DEPTHS)
def test_inverse_has_small_backward_error(layers):
    values = np.concatenate(
        [
            depth.clock(np.geomspace(1e-12, 699, 150), layers),
            depth.clock(1.0, layers) + np.array([-1e-9, 0, 1e-9]),
        ]
    )
    found = depth.inverse_clock(values, layers)
    with mpmath.workdps(40):
        for value, u in zip(values[::6], found[::6], strict=True):
            error = float(abs(exact_clock(mpmath.mpf(u), layers) - mpmath.mpf(value)))
            assert error <= 5e-15 * (speed(u, layers) * (1 + abs(np.log(u))) + abs(value))


def test_inverse_takes_few_steps(monkeypatch):
    # Newton's method on a nearly linear function: a dozen steps, for every entry, down to rounding.
    calls, exact = [], depth._clock
    monkeypatch.setattr(depth, "_clock", lambda u, e: calls.append(1) or exact(u, e))
    rng = np.random.default_rng(0)
    times, u0 = 10.0 ** rng.uniform(-5, 5, 4000), 10.0 ** rng.uniform(-8, 0, 4000)
    depth.deep_logit(times, u0, rng.uniform(2, 60, 4000))
    assert len(calls) < 20


def test_two_layers_are_the_shallow_learning_curve():
    times = np.linspace(0, 1e3, 50)
    for u0, norm in ((1e-5, 1.0), (0.3, 2.5), (30.0, 0.4)):
        assert np.allclose(
            depth.deep_logit(times, u0, 2, norm), learning_curves.logit(times, u0, norm), rtol=1e-12
        )


@pytest.mark.parametrize(
    ("layers", "u0", "norm"), [(3, 0.01, 1.7), (4, 0.3, 0.5), (8, 1.5, 2.0), (5.5, 0.1, 1.0)]
)
def test_curve_solves_its_equation(layers, u0, norm):
    times = np.linspace(0, 60, 40)
    rate = layers * norm ** (2 / layers)
    solution = solve_ivp(
        lambda _, u: rate * u ** (2 - 2 / layers) * expit(-u),
        (0, 60),
        [u0],
        "DOP853",
        times,
        rtol=1e-12,
        atol=1e-14,
    )
    found = depth.deep_logit(times, u0, layers, norm)
    assert np.allclose(found, solution.y[0], rtol=2e-10)
    assert np.allclose(depth.time_to_logit(found, u0, layers, norm), times, rtol=1e-11, atol=1e-11)


def test_curve_is_the_product_of_balanced_factors():
    layers, norm, size = 4, 1.3, 0.6

    def velocity(_, factors):
        u = norm * np.prod(factors)
        return norm * expit(-u) * np.prod(factors) / factors

    times = np.linspace(0, 10, 11)
    scaled = solve_ivp(velocity, (0, 10), np.full(layers, size), "DOP853", times, rtol=1e-12, atol=1e-14)
    u = norm * np.prod(scaled.y, axis=0)
    assert np.allclose(depth.deep_logit(times, norm * size**layers, layers, norm), u, rtol=1e-10)


@settings(max_examples=80, deadline=None)
@given(st.floats(2, 200), st.floats(1e-3, 30), st.floats(0.1, 10), st.floats(0, 100), st.floats(0, 100))
def test_curve_is_a_semigroup_and_norm_rescales_time(layers, u0, norm, first, second):
    half = depth.deep_logit(first, u0, layers, norm)
    whole = depth.deep_logit(first + second, u0, layers, norm)
    assert half >= u0 * (1 - 1e-12)
    assert whole == pytest.approx(float(depth.deep_logit(second, half, layers, norm)), rel=1e-8)
    scaled = depth.deep_logit((first + second) * norm ** (2 / layers), u0, layers)
    assert whole == pytest.approx(float(scaled), rel=1e-8)


def test_pointwise_break_even_is_where_speeds_agree():
    deep, shallow = np.array([3.0, 4, 8, 100, 8, 2.001]), np.array([2.0, 2, 2, 2, 4, 2])
    u = depth_break_even.pointwise_break_even(deep, shallow, 0.7)
    speeds = [n * 0.7 ** (2 / n) * u ** (2 - 2 / n) for n in (deep, shallow)]
    assert np.allclose(*speeds, rtol=1e-13)
    with mpmath.workdps(40):
        for layers in (2 + 1e-9, 3.0, 16.0, 1e6):
            n = mpmath.mpf(layers)
            reference = float((2 / n) ** (n / (n - 2)))
            assert depth_break_even.pointwise_break_even(layers) == pytest.approx(reference, rel=1e-13)


def test_confidence_break_even_matches_mpmath():
    for confidence, deep, shallow, norm in (
        (0.9, 4, 2, 1.0),
        (0.999, 8, 2, 1.0),
        (0.6, 8, 4, 1.0),
        (0.99, 3, 2, 0.5),
        (0.999999, 4, 2, 1.0),
    ):
        found = float(depth_break_even.confidence_break_even(confidence, deep, shallow, norm))
        with mpmath.workdps(40):
            goal = mpmath.log(mpmath.mpf(confidence) / (1 - mpmath.mpf(confidence)))

            def lead(w, goal=goal, deep=deep, shallow=shallow, norm=norm):
                times = [
                    (exact_clock(goal, n) - exact_clock(mpmath.exp(w), n))
                    / n
                    / mpmath.mpf(norm) ** (mpmath.mpf(2) / n)
                    for n in (deep, shallow)
                ]
                return times[0] - times[1]

            root = mpmath.exp(mpmath.findroot(lead, mpmath.log(found) + mpmath.mpf("1e-5")))
        assert found == pytest.approx(float(root), rel=1e-12)


def test_confidence_break_even_decides_who_is_first():
    confidence = np.array([0.6, 0.9, 0.99, 0.999])[:, None]
    goal = np.log(confidence / (1 - confidence))
    even = depth_break_even.confidence_break_even(confidence, [4, 8])
    assert even.shape == (4, 2)
    for factor, sign in ((0.99, 1), (1.01, -1)):
        times = [depth.time_to_logit(goal, factor * even, layers) for layers in ([4, 8], 2)]
        assert (sign * (times[0] - times[1]) > 0).all()


@pytest.mark.parametrize("layers", [2, 3, 8, 1e3])
def test_late_logits_follow_the_growth_law(layers):
    times = np.geomspace(1e10, 1e290, 8)
    gap = depth.deep_logit(times, 0.3, layers, 0.7) - depth.growth_law(times, layers, 0.7)
    power = 2 - 2 / layers  # u = log T + power log u + O(1 / u), and log u - log log T = O(log u / u)
    bound = (power * power * np.log(np.log(times)) + power + 2) / np.log(times)
    assert (gap > 0).all() and (np.diff(gap) < 0).all() and (gap < bound).all()


def test_inflection_is_a_sign_change_of_the_second_difference():
    assert depth.inflection_logit(2) == pytest.approx(learning_curves.CURVE_INFLECTION, rel=1e-14)
    for layers in (3, 8):
        times = np.linspace(0, 30, 30_001)
        u = depth.deep_logit(times, 0.2, layers)
        bend = np.diff(expit(u), 2)
        turn = np.flatnonzero((bend[:-1] > 0) & (bend[1:] <= 0))
        assert len(turn) == 1
        assert u[turn[0] + 1] == pytest.approx(float(depth.inflection_logit(layers)), abs=2e-3)
        fastest = np.diff(u).argmax()
        assert u[fastest] == pytest.approx(float(depth.fastest_logit(layers)), abs=0.01)
    assert depth.fastest_logit(2) == pytest.approx(1.2784645427610738, rel=1e-15)  # 1 + W(1/e)
    power = 2.0
    u = float(depth.inflection_logit(np.inf))
    assert power / u + 1 == pytest.approx(3 * expit(u), rel=1e-14)


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: depth.clock(1.0, 1.5), "depth"),
        (lambda: depth.clock(0.0, 3), "u holds"),
        (lambda: depth.clock(701.0, 3), "u holds"),
        (lambda: depth.inverse_clock(1e305, 2), "value"),
        (lambda: depth.inverse_clock(np.nan, 2), "value"),
        (lambda: depth.time_to_logit(0.1, 0.2, 3), "u1"),
        (lambda: depth.time_to_logit(0.3, 0.2, np.inf), "depth"),
        (lambda: depth.deep_logit(-1.0, 0.2, 3), "times"),
        (lambda: depth.deep_logit(1.0, -0.2, 3), "u0 holds"),
        (lambda: depth.deep_logit(1.0, 0.2, 3, 0.0), "norm"),
        (lambda: depth_break_even.pointwise_break_even(2), "depth"),
        (lambda: depth_break_even.pointwise_break_even(4, 1), "against"),
        (lambda: depth_break_even.confidence_break_even(0.51, 4), "confidence"),
        (lambda: depth_break_even.confidence_break_even(1.0, 4), "confidence"),
        (lambda: depth_break_even.confidence_break_even(1 - 1e-15, 2.01), "confidence"),
        (lambda: depth.inflection_logit("deep"), "depth"),
    ],
)
def test_bad_input_is_named(call, name):
    with pytest.raises(ValueError, match=f"{name}.*allowed"):
        call()


@settings(max_examples=60, deadline=None)
@given(st.floats(max_value=2, exclude_max=True) | st.just(np.nan))
def test_no_depth_below_two_passes(layers):
    for function in (
        depth.inflection_logit,
        lambda n: depth.clock(1.0, n),
        depth_break_even.pointwise_break_even,
    ):
        with pytest.raises(ValueError, match="depth"):
            function(layers)
