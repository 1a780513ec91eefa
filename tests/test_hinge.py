"""The hinge loss on one input: closed forms against mpmath, an integrator with events, and their own laws."""

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import solve_ivp
from scipy.special import expit

from lib.arguments import broadcast, numbers
from lib.descent import gradient_descent
from lib.losses import HINGE
from lib.networks import TwoLayer
from lib.theory import confidence_times, hinge
from lib.theory.roots import increasing_root

STARTS = [  # h0, a0, norm: every quadrant, both sides of the failing diagonal, starts above 1
    (0.5, 0.3, 1.0),
    (0.2, 0.9, 0.7),
    (0.5, -0.2, 1.0),
    (0.2, -0.5, 1.0),
    (0.3, -0.4, 0.7),
    (0.3, -0.42, 0.75),
    (1.0, -1.0, 1.0),
    (2.0, 1.5, 1.3),
    (-0.5, 2.0, 1.0),
    (-0.5, -2.0, 1.0),
    (0.0, 1.0, 1.0),
    (0.7, 0.0, 0.4),
]
TIMES = np.linspace(0, 9, 37)
number = st.floats(-3, 3).filter(lambda x: x == 0 or abs(x) > 1e-3)
positive = st.floats(0.05, 5)


def integrated(h0, a0, norm, frequency, label):
    """h, a and margin at TIMES by DOP853, stopped by events at death and at margin 1."""

    def velocity(_, state):
        return frequency * label * np.array([norm**2 * state[1], state[0]])

    def death(_, state):
        return state[0]

    def trained(_, state):
        return label * state[0] * state[1] - 1

    death.terminal = trained.terminal = True
    death.direction, trained.direction = -1, 1
    if h0 <= 0 or label * h0 * a0 >= 1:
        state = np.repeat([[h0], [a0]], len(TIMES), axis=1)
    else:
        solution = solve_ivp(
            velocity,
            (0, TIMES[-1]),
            (h0, a0),
            "DOP853",
            TIMES,
            events=(death, trained),
            rtol=1e-12,
            atol=1e-14,
        )
        left = len(TIMES) - solution.y.shape[1]
        last = np.concatenate([end for end in solution.y_events if len(end)]) if left else np.empty((0, 2))
        state = np.concatenate([solution.y, np.repeat(last[:1].T, left, axis=1)], axis=1)
    return state[0], state[1], label * state[1] * np.maximum(state[0], 0)


@pytest.mark.parametrize(("h0", "a0", "norm"), STARTS)
@pytest.mark.parametrize(("frequency", "label"), [(1.0, 1), (0.3, -1)])
def test_curve_matches_the_integrator_from_everywhere(h0, a0, norm, frequency, label):
    h, a, q = integrated(h0, label * a0, norm, frequency, label)
    arguments = (TIMES, h0, label * a0, norm, frequency, label)
    found_h, found_a = hinge.weights(*arguments)
    if h0 == -norm * a0:  # the integrator leaves this stable manifold as exp(rate t)
        h, a, q = found_h[:20], found_a[:20], q[:20]
        assert np.allclose(hinge.margin(*arguments)[:20], q, rtol=1e-6)
        assert (found_h > 0).all()
        return
    assert np.allclose(found_h, h, rtol=1e-10, atol=1e-11)
    assert np.allclose(found_a, a, rtol=1e-10, atol=1e-11)
    assert np.allclose(hinge.margin(*arguments), q, rtol=1e-10, atol=1e-11)


def exact(time, h0, a0, norm):
    """h, a, margin of a living neuron, label +1, at 40 digits."""
    h, b, norm = mpmath.mpf(h0), mpmath.mpf(a0) * mpmath.mpf(norm), mpmath.mpf(norm)
    s = norm * mpmath.mpf(time)
    h, b = h * mpmath.cosh(s) + b * mpmath.sinh(s), b * mpmath.cosh(s) + h * mpmath.sinh(s)
    return h, b / norm, h * b / norm


@pytest.mark.parametrize(
    ("h0", "a0", "norm"),
    [(0.5, 1e-20, 1.0), (1e-20, 0.5, 1.0), (1e-3, -1e-5, 2.0), (1e-90, 1e-95, 1e-3), (1e-6, -3e-7, 3.0)],
)
def test_curve_matches_mpmath_over_many_orders_of_magnitude(h0, a0, norm):
    with mpmath.workdps(60):
        end = float(hinge.time_to_margin(1.0, h0, a0, norm))
        for share in (0.0, 1e-9, 0.1, 0.5, 0.999):
            reference = [float(value) for value in exact(share * end, h0, a0, norm)]
            found = [*hinge.weights(share * end, h0, a0, norm), hinge.margin(share * end, h0, a0, norm)]
            # A relative error e of the time is one of rate t e in the weights and twice that in the margin.
            assert np.allclose(found, reference, rtol=1e-14 * (1 + norm * end), atol=0)
        assert abs(exact(end, h0, a0, norm)[2] - 1) < 1e-14 * (1 + norm * end)


@pytest.mark.parametrize(("h0", "a0", "norm"), [(1.0, -1.1, 1.0), (1e-30, -2.0, 0.3), (1.0, -1.0001, 1.0)])
def test_death_matches_mpmath(h0, a0, norm):
    with mpmath.workdps(40):
        reference = mpmath.atanh(mpmath.mpf(h0) / (-mpmath.mpf(a0) * mpmath.mpf(norm))) / mpmath.mpf(norm)
        death = hinge.time_to_margin(0.0, h0, a0, norm)
        assert float(death) == pytest.approx(float(reference), rel=1e-12)
    h, a = hinge.weights(death * (1 + 1e-12), h0, a0, norm)
    assert h == 0 and a == pytest.approx(-np.sqrt(a0**2 - (h0 / norm) ** 2), rel=1e-12)
    assert hinge.weights(1e300, h0, a0, norm)[1] == pytest.approx(float(a), rel=1e-12)
    assert hinge.margin(1e300, h0, a0, norm) == 0
    assert hinge.time_to_margin(0.1, h0, a0, norm) == np.inf


def test_balanced_start_is_the_printed_formula_and_the_diagonal_never_dies():
    for u0, norm, frequency in ((1e-8, 0.7, 0.4), (0.3, 2.0, 1.0)):
        h0, a0 = np.sqrt(u0 * norm), np.sqrt(u0 / norm)
        predicted = np.minimum(1, u0 * np.exp(2 * frequency * norm * TIMES))
        assert np.allclose(hinge.margin(TIMES, h0, a0, norm, frequency), predicted, rtol=1e-13)
    h, a = hinge.weights([0.0, 1.0, 300.0, 1e300], 1.0, -1.0)
    assert np.allclose(h, [1, np.exp(-1), np.exp(-300), 0], rtol=1e-13) and np.array_equal(a, -h)
    assert hinge.time_to_margin([-0.5, 0.0, 0.5], 1.0, -1.0) == pytest.approx([np.log(2) / 2, np.inf, np.inf])


@settings(max_examples=150, deadline=None)
@given(number, number, positive, st.floats(0.05, 1), st.sampled_from([-1, 1]), st.floats(0, 30))
def test_laws_of_the_curve(h0, a0, norm, frequency, label, time):
    arguments = (h0, a0, norm, frequency, label)
    h, a = hinge.weights(time, *arguments)
    q = float(hinge.margin(time, *arguments))
    size = h0**2 + norm**2 * a0**2 + h**2 + norm**2 * a**2
    assert h**2 - norm**2 * a**2 == pytest.approx(h0**2 - norm**2 * a0**2, abs=1e-13 * size)
    assert q == pytest.approx(float(label * a * max(h, 0)), abs=1e-13 * size / norm)
    start = label * a0 * max(h0, 0)
    assert start <= q + 1e-13 * size / norm and q <= max(1, start * (1 + 1e-15))
    later = hinge.margin(2 * time, *arguments)
    again = hinge.margin(time, h, a, norm, frequency, label)
    assert later == pytest.approx(float(again), rel=1e-9, abs=1e-9 * size / norm)
    mirrored = hinge.weights(time, h0, -a0, norm, frequency, -label)
    assert np.array_equal(mirrored, [h, -a])
    if start < q - 1e-6 < 1 - 2e-6 and abs(h0 + label * norm * a0) > 1e-3:
        assert hinge.time_to_margin(q, *arguments) == pytest.approx(
            min(time, float(hinge.time_to_margin(0.0 if q <= 0 else 1.0, *arguments))), rel=1e-6, abs=1e-6
        )


def test_nothing_overflows_at_the_ends_of_the_range():
    sizes = np.array([0.0, 1e-100, 1.0, 1e100])
    h0, b0 = np.meshgrid(np.concatenate([sizes, -sizes]), np.concatenate([sizes, -sizes]))
    for norm in (1e-50, 1.0, 1e50):
        for time in (0.0, 1.0, 1e300):
            assert np.isfinite(hinge.weights(time, h0, b0 / norm, norm)).all()
            assert np.isfinite(hinge.margin(time, h0, b0 / norm, norm)).all()
        assert not np.isnan(hinge.time_to_margin(0.5, h0, b0 / norm, norm)).any()


def test_shapes_broadcast():
    result = hinge.margin(np.zeros((3, 1, 1)), np.ones((4, 1)), 1.0, np.ones(5), 0.5, [1, -1, 1, 1, -1])
    assert result.shape == (3, 4, 5)
    assert hinge.weights(0.0, 1.0, np.ones(2))[0].shape == (2,)


def test_gradient_descent_converges_at_first_order_to_the_moving_margin():
    x, errors = np.array([[0.6, 0.8]]), []
    start = TwoLayer(np.array([[0.3, -0.1]]), np.array([-0.05]))
    target = hinge.margin(1.2, (start.w @ x[0])[0], start.a[0])
    assert 0 < target < 1
    for steps in (50, 100, 200):
        run = gradient_descent(start, x, [1], HINGE, step=1.2 / steps, steps=steps)
        errors.append(abs(run.network(x)[0] - target))
    assert np.allclose(np.log2(np.array(errors[:-1]) / errors[1:]), 1, atol=0.1)


def test_times_to_confidence_by_both_conventions():
    confidence = np.array([0.5, 0.7, 0.999, 1.0])
    output = confidence_times.time_to_confidence(confidence, 0.1, 0.1)
    affine = confidence_times.time_to_confidence(confidence, 0.1, 0.1, convention="affine")
    assert np.allclose(output, np.log(confidence / 0.01) / 2, rtol=1e-13)
    assert np.allclose(affine[1:], np.log((2 * confidence[1:] - 1) / 0.01) / 2, rtol=1e-13)
    assert affine[0] == 0 and output[-1] == affine[-1]


def test_cross_entropy_time_matches_mpmath():
    with mpmath.workdps(40):
        for d, u0, norm in ((0.9, 0.01, 1.0), (0.999999, 1e-9, 2.0), (0.6, 0.3, 0.5)):
            u = mpmath.log(mpmath.mpf(d) / (1 - mpmath.mpf(d)))
            start = mpmath.mpf(u0)
            reference = (mpmath.log(u) + mpmath.ei(u) - mpmath.log(start) - mpmath.ei(start)) / 2 / norm / 0.5
            found = confidence_times.cross_entropy_time(d, u0, norm, 0.5)
            assert float(found) == pytest.approx(float(reference), rel=1e-13)
    assert confidence_times.cross_entropy_time(0.6, 5.0) == 0


def test_crossover_matches_mpmath_and_is_where_the_two_times_agree():
    u0 = np.concatenate([np.geomspace(1e-300, 0.65, 40), [0.3725074107813666, 0.659]])
    found = confidence_times.crossover_confidence(u0)
    with mpmath.workdps(40):
        for start, d in zip(u0[::4], found[::4], strict=True):
            right = mpmath.ei(mpmath.mpf(start))
            root = mpmath.exp(
                mpmath.findroot(
                    lambda v, right=right: (
                        v + mpmath.ei(mpmath.exp(v)) + mpmath.log1p(mpmath.exp(-mpmath.exp(v))) - right
                    ),
                    (right - mpmath.euler - mpmath.log(2)) / 2,
                )
            )
            assert d == pytest.approx(float(1 / (1 + mpmath.exp(-root))), rel=1e-14)
    u0 = np.geomspace(1e-6, 0.65, 30)
    for factor, sign in ((1 - 1e-4, -1), (1 + 1e-4, 1)):
        d = confidence_times.crossover_confidence(u0) * factor
        hinge_time = confidence_times.time_to_confidence(d, np.sqrt(u0), np.sqrt(u0))
        assert (sign * (confidence_times.cross_entropy_time(d, u0) - hinge_time) > 0).all()
    small = np.array([1e-6, 1e-8])
    assert np.allclose(
        (found[0], *confidence_times.crossover_confidence(small)),
        (0.5, *expit(np.sqrt(small / 2))),
        atol=1e-6,
    )


def test_by_the_affine_convention_the_hinge_loss_is_always_faster():
    u0 = np.geomspace(1e-8, 0.99, 30)[:, None]
    d = 0.5 + (u0 + np.geomspace(1e-9, 1, 40) * (1 - 1e-9 - u0)) / 2
    side = np.sqrt(u0)
    affine = confidence_times.time_to_confidence(d, side, side, convention="affine")
    assert (confidence_times.cross_entropy_time(d, u0) - affine > np.log(2) * (1 - 1e-9)).all()


BAD = [
    (hinge.margin, {"times": -1.0}, "times"),
    (hinge.margin, {"times": "soon"}, "times"),
    (hinge.margin, {"h0": np.nan}, "h0"),
    (hinge.margin, {"a0": np.inf}, "a0"),
    (hinge.margin, {"a0": 1j}, "a0"),
    (hinge.weights, {"norm": 0.0}, "norm"),
    (hinge.weights, {"frequency": 1.5}, "frequency"),
    (hinge.weights, {"label": 2}, "label"),
    (hinge.weights, {"times": np.zeros(2), "h0": np.ones(3)}, r"times \(2,\), h0 \(3,\)"),
    (hinge.time_to_margin, {"target": 1.5}, "target"),
    (confidence_times.time_to_confidence, {"confidence": 0.4}, "confidence"),
    (confidence_times.time_to_confidence, {"convention": "logit"}, "convention"),
    (confidence_times.cross_entropy_time, {"confidence": 1.0}, "confidence"),
    (confidence_times.cross_entropy_time, {"u0": 0.0}, "u0"),
    (confidence_times.crossover_confidence, {"u0": 0.7}, "u0"),
]
GOOD = {
    hinge.margin: {"times": 1.0, "h0": 1.0, "a0": 1.0},
    hinge.weights: {"times": 1.0, "h0": 1.0, "a0": 1.0},
    hinge.time_to_margin: {"target": 0.5, "h0": 1.0, "a0": 1.0},
    confidence_times.time_to_confidence: {"confidence": 0.9, "h0": 1.0, "a0": 1.0},
    confidence_times.cross_entropy_time: {"confidence": 0.9, "u0": 0.1},
    confidence_times.crossover_confidence: {"u0": 0.1},
}


@pytest.mark.parametrize(("function", "change", "name"), BAD)
def test_bad_input_is_named(function, change, name):
    with pytest.raises(ValueError, match=f"{name}.*allowed"):
        function(**(GOOD[function] | change))


@settings(max_examples=100, deadline=None)
@given(st.floats(allow_nan=True, allow_infinity=True), st.sampled_from(["[]", "()", "[)", "(]"]))
def test_numbers_takes_exactly_its_interval(value, ends):
    inside = (0 < value < 1) or (value == 0 and ends[0] == "[") or (value == 1 and ends[1] == "]")
    if inside:
        assert numbers("share", value, 0, 1, ends) == value
    else:
        with pytest.raises(ValueError, match=r"share holds .* allowed: real numbers in"):
            numbers("share", [0.5, value], 0, 1, ends)


def test_broadcast_and_roots():
    with pytest.raises(ValueError, match=r"first \(2,\), second \(3,\); allowed"):
        broadcast(first=np.zeros(2), second=np.zeros(3))
    targets = np.geomspace(1e-3, 1e3, 50)
    root = increasing_root(lambda x: (x**3 - targets, 3 * x**2), np.zeros(50), np.full(50, 1e4))
    assert np.allclose(root, np.cbrt(targets), rtol=1e-15)
    assert increasing_root(lambda x: (x - 2, np.ones(1)), np.zeros(1), np.ones(1)) == pytest.approx(1)


def test_roots_of_logarithms_rest_at_the_rounding_of_what_they_are_of():
    # exp(x) - 1 rounds to 1e-16, and so says nothing of the digits of a smaller x.
    steps = []

    def gap(x):
        steps.append(1)
        return np.exp(x) - np.exp(roots), np.exp(x)

    roots = np.geomspace(1e-12, 1e-3, 200)
    found = increasing_root(gap, roots - 1, roots + 2, unit=1.0)
    assert np.abs(found - roots).max() < 1e-15 and len(steps) < 12


def test_a_weight_that_has_crossed_zero_from_afar_keeps_its_digits():
    h, a = hinge.weights(1e16, 8e80, [-2e88, -3.0], 2e-14)
    np.testing.assert_allclose(h * a, 1.0, rtol=1e-13)
