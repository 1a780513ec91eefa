"""A rare feature: the curve against natural time, exact cases and mpmath; its limit; the bounds."""

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import solve_ivp
from scipy.special import expit

from lib.theory.learning_curves import logit
from lib.theory.rare_feature import limit_response, starvation_curve
from lib.theory.rare_feature_laws import (
    bound_from_start,
    invariant,
    late_rare_logit,
    linear_rare_logit,
    rare_confidence_bound,
)

FREQUENCIES = [0.5, 0.2, 0.1, 0.01]


def natural_time(start, frequency, norms, target):
    """h1, h2, a and the time at which the frequent logit meets the target, by DOP853 in time."""

    def velocity(_, state):
        h1, h2, a = state
        both, alone = frequency * expit(-a * (h1 + h2)), (1 - frequency) * expit(-a * h1)
        return norms[0] ** 2 * a * (both + alone), norms[1] ** 2 * a * both, (h1 + h2) * both + h1 * alone

    def reached(_, state):
        return state[0] * state[2] - target

    reached.terminal = True
    run = solve_ivp(velocity, (0, 1e6), start, "DOP853", events=reached, rtol=1e-12, atol=1e-14)
    return (*run.y_events[0][0], run.t_events[0][0])


@pytest.mark.parametrize("frequency", FREQUENCIES)
@pytest.mark.parametrize(
    ("start", "ratio"), [((0.1, 0.02, 0.3), 1.0), ((0.3, -0.1, 0.05), 4.0), ((0.02, 0.02, 0.02), 0.3)]
)
def test_curve_matches_natural_time(frequency, start, ratio):
    h1, h2, a, time = natural_time(start, frequency, (1.0, np.sqrt(ratio)), 7.0)
    curve = starvation_curve(7.0, frequency, ratio, start)
    assert np.allclose([curve.h1, curve.h2, curve.a], [h1, h2, a], rtol=1e-9)
    assert curve.log_time == pytest.approx(np.log(time), abs=1e-9)
    s = 1.7  # the scaling of a frequent feature of another norm
    first = natural_time(
        (start[0] * s**0.5, start[1] * s**0.5, start[2] / s**0.5), frequency, (s, s * np.sqrt(ratio)), 7.0
    )
    assert np.allclose(first, [h1 * s**0.5, h2 * s**0.5, a / s**0.5, time / s], rtol=1e-8)


def test_curve_matches_mpmath():
    frequency, ratio, start = 0.3, 2.0, (0.5, 0.2, 0.4)
    with mpmath.workdps(18):
        f, k = mpmath.mpf(frequency), mpmath.mpf(ratio)

        def velocity(t, state):
            h1, h2, a = state
            both = f / (1 + mpmath.exp(a * (h1 + h2)))
            alone = (1 - f) / (1 + mpmath.exp(a * h1))
            return [a * (both + alone), k * a * both, (h1 + h2) * both + h1 * alone]

        h1, h2, a = (float(v) for v in mpmath.odefun(velocity, 0, [mpmath.mpf(v) for v in start])(4))
    curve = starvation_curve(a * h1, frequency, ratio, start)
    assert np.allclose([curve.h1, curve.h2, curve.a, np.exp(curve.log_time)], [h1, h2, a, 4], rtol=2e-12)


def test_exact_cases():
    always = starvation_curve([[0.5, 3.0], [8.0, 20.0]], 1 - 1e-13, 0.7, (0.1, 0.07, 0.2))
    assert np.allclose(always.rare_logit, 0.7 * always.frequent_logit, rtol=1e-6)
    without = starvation_curve([0.01, 1.0, 6.0, 40.0], 0.2, 1e-30, (0.1, 1e-30, 0.1))
    assert without.log_time[0] == -np.inf
    assert np.allclose(logit(np.exp(without.log_time), 0.01), without.frequent_logit, rtol=1e-9)


@settings(max_examples=15, deadline=None)
@given(st.floats(0.01, 0.99), st.floats(0.05, 20), st.floats(1e-3, 1), st.floats(-0.9, 1), st.floats(1e-3, 1))
def test_laws_of_the_curve(frequency, ratio, h1, share, a):
    start = (h1, share * h1, a)
    logits = a * h1 + np.array([0.0, 0.1, 5.0, 30.0, 120.0])
    curve = starvation_curve(logits, frequency, ratio, start)
    assert np.allclose(curve.a * curve.h1, logits, rtol=1e-9)
    size = curve.h1**2 + curve.h2**2 / ratio + curve.a**2
    kept = invariant(curve.h1, curve.h2, curve.a, ratio)
    assert (np.abs(kept - invariant(*start, ratio)) < 1e-9 * size).all()
    assert (np.diff(curve.h2) >= -1e-11 * np.abs(curve.h2).max()).all()
    bound = bound_from_start(logits, curve.a, h1, share * h1, frequency, ratio)
    assert (expit(curve.rare_logit) <= bound * (1 + 1e-9)).all()
    if 0 < share <= frequency * ratio:
        assert (bound <= rare_confidence_bound(logits, frequency, ratio) * (1 + 1e-12)).all()


def test_infinitesimal_start_is_the_limit_of_small_starts():
    logits = np.array([0.1, 4.6, 20.0])
    limit = starvation_curve(logits, 0.2, 1.5)
    gaps = []
    for scale in (1e-2, 1e-3, 1e-4):
        near = starvation_curve(logits, 0.2, 1.5, (scale, 0.3 * scale, 2 * scale))
        gaps.append(np.abs(near.h2 / limit.h2 - 1).max())
    assert gaps[-1] < 1e-2 and gaps[0] > 5 * gaps[1] > 25 * gaps[2]
    assert np.isinf(limit.log_time).all()


def test_extreme_confidence():
    delta = np.array([1e-12, 1e-300])
    logits = np.concatenate([np.log1p(-delta) - np.log(delta), [3000.0]])
    curve = starvation_curve(logits, 0.5, start=(0.02, 0.01, 0.02))
    assert np.allclose(curve.rare_logit[1:], late_rare_logit(logits[1:], curve.h2[-1]), rtol=1e-3)
    # dL/dt = (1 - f) (h1^2 + a^2) e^-L in the end, so that log t = L - log((1 - f) (h1^2 + a^2)) + O(1/L).
    late = logits - np.log(0.5 * (curve.h1**2 + curve.a**2))
    assert (np.abs(curve.log_time - late)[1:] < 3 / logits[1:]).all()


def test_time_is_continuous_where_its_method_changes():
    for start in ((0.3, 0.1, 0.2), (30.0, 1.0, 6.0)):
        middle = max(100.0, (np.sqrt(start[0] * start[2]) + 5) ** 2)
        times = starvation_curve(middle + np.array([-1e-9, 1e-9]), 0.3, 1.0, start).log_time
        assert abs(np.diff(times)[0]) < 1e-8


def test_limit_response():
    found = limit_response([[0.5], [0.05]], [1.0, 3.0])
    assert found.shape == (2, 2)
    for i, frequency in enumerate((0.5, 0.05)):
        for j, ratio in enumerate((1.0, 3.0)):
            last = starvation_curve(1e4, frequency, ratio)
            assert found[i, j] == pytest.approx(float(last.h2), rel=1e-10)
            for value in (1e3, 1e4):
                law = late_rare_logit(value, found[i, j], ratio)
                left = np.exp(-found[i, j] * np.sqrt(value))
                error = abs(float(starvation_curve(value, frequency, ratio).rare_logit / law) - 1)
                assert error < 1e-9 + 10 * left
    assert np.allclose(found, [[limit_response(f, k) for k in (1.0, 3.0)] for f in (0.5, 0.05)], rtol=1e-10)


def test_limit_of_very_rare_features_is_universal():
    # With h2 = sqrt(f ratio) b and s = sqrt(f ratio L) the equation becomes b' = exp(-b s) as f tends to 0.
    run = solve_ivp(lambda s, b: np.exp(-b * s), (0, 60), [0.0], "DOP853", rtol=1e-12, atol=1e-14)
    constant = run.y[0, -1]
    errors = np.array([limit_response(f, 2.0) / np.sqrt(2 * f) - constant for f in (1e-3, 1e-4, 1e-5)])
    assert (np.abs(errors) < 0.1 * np.sqrt([1e-3, 1e-4, 1e-5])).all()
    assert (np.abs(errors[1:]) < np.abs(errors[:-1])).all()


@pytest.mark.parametrize(("frequency", "ratio"), [(0.01, 1.0), (0.1, 0.2), (0.5, 1.0), (0.95, 7.0)])
def test_linear_model_without_a_hidden_neuron(frequency, ratio):
    def slope(tail):
        def of_logits(frequent, rare):
            both = frequency * tail(frequent + rare)
            return ratio * both / (both + (1 - frequency) * tail(frequent))

        return of_logits

    frequent = np.geomspace(1e-3, 200, 30)
    exact, softer = (
        solve_ivp(slope(tail), (0, 200), [0.0], "DOP853", rtol=1e-12, atol=1e-15, t_eval=frequent).y[0]
        for tail in (lambda q: np.exp(-q), lambda q: expit(-q))
    )
    found = linear_rare_logit(frequent, frequency, ratio)
    np.testing.assert_allclose(found, exact, rtol=1e-10)
    assert (softer <= frequency * ratio * frequent * (1 + 1e-9)).all()
    if ratio == 1:
        assert (softer >= found * (1 - 1e-9)).all() and (softer < found + 0.05).all()


def test_linear_model_against_mpmath():
    cases = [(1e-300, 0.3), (1e-8, 1e-6), (0.1, 0.999999), (3.0, 1.0), (700.0, 1e-12), (1e300, 0.5)]
    with mpmath.workdps(60):
        for frequent, frequency in cases:
            k = (1 - mpmath.mpf(frequency)) / mpmath.mpf(frequency)
            c = mpmath.mpf(frequent) + k
            b = mpmath.log(c) - mpmath.log(k) if k and c > 1e290 else mpmath.mpf(frequent) / (1 + k)
            for _ in range(200):
                b -= (b + k * mpmath.expm1(b) - frequent) / (1 + k * mpmath.exp(b))
            assert linear_rare_logit(frequent, frequency) == pytest.approx(float(b), rel=1e-14)


def test_bounds_reproduce_the_printed_table():
    bounds = rare_confidence_bound(np.log([[99], [9999]]), FREQUENCIES)
    assert np.array_equal(np.round(100 * bounds), [[91, 71, 61, 51], [99, 86, 72, 52]])
    assert np.array_equal(bound_from_start(3.0, 1.0, 0.5, -1.0, 0.2), rare_confidence_bound(3.0, 0.2))
    with mpmath.workdps(30):
        value = 1 / (
            1
            + mpmath.exp(
                -mpmath.mpf("0.3") * 5
                - mpmath.mpf(2) * (mpmath.mpf("0.4") - mpmath.mpf("0.3") * mpmath.mpf("0.7"))
            )
        )
    assert bound_from_start(5.0, 2.0, 0.7, 0.4, 0.3) == pytest.approx(float(value), rel=1e-14)


def test_bound_fails_without_its_hypotheses():
    target = np.log(99)
    bound = rare_confidence_bound(target, 0.1)
    assert expit(starvation_curve(target, 0.1, 1.5).rare_logit) > bound  # a longer rare feature
    assert expit(starvation_curve(target, 0.1, 1.5).rare_logit) < rare_confidence_bound(target, 0.1, 1.5)
    late = starvation_curve(target, 0.1, start=(0.1 * 0.5, 0.05, 0.05))  # h1 < h2 / frequency
    assert expit(late.rare_logit) > bound


BAD = [
    (lambda: rare_confidence_bound(-1.0, 0.5), "frequent_logit"),
    (lambda: rare_confidence_bound(1.0, 0.0), "frequency"),
    (lambda: rare_confidence_bound(1.0, 0.5, -1.0), "ratio"),
    (lambda: bound_from_start(1.0, -1.0, 1.0, 1.0, 0.5), "a holds"),
    (lambda: invariant(1.0, 1.0, np.nan), "a holds"),
    (lambda: starvation_curve(1.0, 1.5), "frequency"),
    (lambda: starvation_curve(0.0, 0.5), "frequent_logit"),
    (lambda: starvation_curve(0.1, 0.5, 1.0, (1.0, 0.0, 1.0)), "frequent_logit"),
    (lambda: starvation_curve(3.0, 0.5, 1.0, (1.0, -2.0, 1.0)), "start"),
    (lambda: starvation_curve(3.0, 0.5, 1.0, (1.0, 1.0)), "start"),
    (lambda: starvation_curve(3.0, [0.5, 0.4]), "frequency"),
    (lambda: limit_response(1.0), "frequency"),
    (lambda: late_rare_logit(1.0, -0.5), "limit"),
]


@pytest.mark.parametrize(("call", "name"), BAD)
def test_bad_input_is_named(call, name):
    with pytest.raises(ValueError, match=f"{name}.*allowed"):
        call()


@settings(max_examples=60, deadline=None)
@given(st.floats(max_value=0) | st.floats(min_value=1, exclude_min=True) | st.just(np.nan))
def test_no_frequency_outside_its_interval_passes(frequency):
    for function in (
        lambda f: rare_confidence_bound(1.0, f),
        lambda f: starvation_curve(1.0, f),
        limit_response,
    ):
        with pytest.raises(ValueError, match="frequency"):
            function(frequency)


@pytest.mark.parametrize("rest", [1e-3, 1e-9, 1e-15])
def test_a_feature_that_is_hardly_rare(rest):
    """Both features grow alike until the share of their gradient, e^-L, is down to the rest."""
    logits = np.array([1e-6, 1.0, 30.0, 400.0])
    curve = starvation_curve(logits, 1 - rest)
    size = curve.h1**2 + curve.h2**2 + curve.a**2
    assert (np.abs(invariant(curve.h1, curve.h2, curve.a)) < 1e-10 * size).all()
    assert np.allclose(curve.h2[:2], curve.h1[:2], rtol=10 * rest + 1e-9)
    limit = limit_response(1 - rest)
    # frozen where a h2 is about log(1 / rest): a^2 = h1^2 + h2^2 = 2 h2^2 there, or h1 = h2 at most
    assert limit > np.sqrt(np.log(1 / rest) / np.sqrt(2))
    assert limit**2 < np.log(1 / rest)
    assert curve.h2[-1] == pytest.approx(float(limit), rel=1e-3)
