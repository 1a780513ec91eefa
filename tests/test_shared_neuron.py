"""One neuron on two classes: the saddle, the separating curve by two routes, the plane, and fates."""

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import solve_ivp

from lib.descent import gradient_descent
from lib.losses import LOGISTIC
from lib.networks import TwoLayer
from lib.theory.hyperbolic_neuron import death_time
from lib.theory.neuron_capture import captors, capture, plane_side
from lib.theory.shared_neuron import curve_end, invariant, saddle, separating_curve, velocity

SETTINGS = [
    (1.0, (1.0, 1.0), (1.0, 1.0)),
    (0.7, (1.5, 0.6), (1.0, 1.0)),
    (2.0, (0.8, 1.1), (0.3, 0.7)),
    (0.01, (1.0, 2.0), (1.0, 0.5)),
]
positive = st.floats(0.1, 2)


@pytest.mark.parametrize(("c", "norms", "rates"), SETTINGS)
def test_saddle_is_stationary_and_its_rates_are_eigenvalues(c, norms, rates):
    at = saddle(c, norms, rates)
    assert invariant(*at.point, norms) == pytest.approx(c, rel=1e-14)
    with mpmath.workdps(40):
        state = [mpmath.mpf(v) for v in at.point]
        (n1, n2), (r1, r2) = (tuple(map(mpmath.mpf, pair)) for pair in (norms, rates))

        def flow(h1, h2, a):
            g1, g2 = 1 / (1 + mpmath.exp(a * h1)), 1 / (1 + mpmath.exp(-a * h2))
            return r1 * n1**2 * a * g1, -r2 * n2**2 * a * g2, r1 * h1 * g1 - r2 * h2 * g2

        assert max(abs(v) for v in flow(*state)) < 1e-15
        jacobian = mpmath.matrix(3, 3)
        for j in range(3):
            shift = [mpmath.mpf("1e-15") * (j == k) for k in range(3)]
            up, down = (flow(*(v + s * d for v, d in zip(state, shift, strict=True))) for s in (1, -1))
            for i in range(3):
                jacobian[i, j] = (up[i] - down[i]) / mpmath.mpf("2e-15")
        values = sorted(float(mpmath.re(v)) for v in mpmath.eig(jacobian, left=False, right=False))
        for rate, direction in ((at.stable, at.stable_direction), (at.unstable, at.unstable_direction)):
            moved = jacobian * mpmath.matrix(direction.tolist())
            assert np.allclose([float(v) for v in moved], rate * direction, rtol=1e-12, atol=1e-14)
    assert np.allclose(values, [at.stable, 0, at.unstable], rtol=1e-12, atol=1e-13)
    assert np.linalg.norm(at.stable_direction) == pytest.approx(1)


@pytest.mark.parametrize(("c", "norms", "rates"), SETTINGS)
def test_separating_curve_is_where_bisection_finds_it(c, norms, rates):
    for a in np.array([0.3, -0.25]) * np.sqrt(c):
        h1, h2 = separating_curve(a, c, norms, rates)
        assert invariant(h1, h2, a, norms) == pytest.approx(c, rel=1e-11)
        low, high = (np.sqrt(c + a**2) * norms[0] * share for share in (1e-6, 1 - 1e-6))
        for _ in range(5):  # forward in time, 20 starts at once
            grid = np.linspace(low, high, 21)[1:-1]
            other = norms[1] * np.sqrt(c + a**2 - (grid / norms[0]) ** 2)
            fates = captors(grid, other, a, norms, rates, until=300 / np.min(rates) / np.min(norms))
            assert (np.diff(fates) >= 0).all() and (fates != 0).all()
            k = int(np.sum(fates < 0))
            low, high = np.concatenate([[low], grid, [high]])[k : k + 2]
        assert low - 1e-8 < h1 < high + 1e-8
        assert high - low < 1e-5 * h1 + 1e-5 * np.sqrt(c)


def test_separating_curve_flows_into_the_saddle():
    norms, rates, c = (1.5, 0.6), (0.4, 0.6), 0.7
    at = saddle(c, norms, rates)
    h1, h2 = separating_curve(0.2, c, norms, rates)
    run = solve_ivp(
        lambda _, s: velocity(s, np.array(norms), np.array(rates)),
        (0, 60),
        [float(h1), float(h2), 0.2],
        "DOP853",
        rtol=1e-12,
        atol=1e-14,
    )
    assert np.linalg.norm(run.y - at.point[:, None], axis=0).min() < 1e-5
    # The nearest approach is (error)^(unstable / (unstable - stable)) small: forward, the error grows.
    step = 1e-7
    assert (
        captors(h1 + step, norms[1] * np.sqrt(c + 0.04 - ((h1 + step) / norms[0]) ** 2), 0.2, norms, rates)
        == 1
    )
    assert (
        captors(h1 - step, norms[1] * np.sqrt(c + 0.04 - ((h1 - step) / norms[0]) ** 2), 0.2, norms, rates)
        == -1
    )


def test_symmetry_swaps_norms_and_rates():
    a = np.array([[-0.3, 0.0], [0.1, 0.5]])
    h1, h2 = separating_curve(a, 0.7, (1.5, 0.6), (0.4, 0.6))
    swapped = separating_curve(-a, 0.7, (0.6, 1.5), (0.6, 0.4))
    assert h1.shape == a.shape
    assert np.allclose(swapped, [h2, h1], rtol=1e-10)
    assert not np.allclose(separating_curve(-a, 0.7, (1.5, 0.6), (0.6, 0.4)), [h2, h1], rtol=1e-2)


def test_curve_ends_where_a_response_vanishes_or_never():
    end = curve_end(1.0)
    inside, outside = separating_curve(end * (1 - 1e-9), 1.0), separating_curve(end * (1 + 1e-9), 1.0)
    assert 0 < inside[0][0] < 1e-7 and 0 < inside[1][1] < 1e-7
    assert np.isnan(outside).all()
    assert inside[1][0] == pytest.approx(np.sqrt(1 + end[0] ** 2), rel=1e-7)
    for a in (1.0, 10.0, 100.0):
        h1, h2 = separating_curve(a, 9.0)
        assert 1 < h1 < saddle(9.0).point[0] and h2 > a
    assert curve_end(9.0)[0] == np.inf
    # Between the two regimes the end runs off: bisection gives 3.2722 for unit norms and rates.
    assert 90 < curve_end(3.2722)[0] < np.inf and np.isinf(curve_end(3.2723)).all()


def test_small_starts_obey_the_plane():
    rng = np.random.default_rng(5)
    for norms, rates in (((1.0, 1.0), (1.0, 1.0)), ((1.5, 0.6), (0.5, 0.5)), ((1.0, 1.0), (0.9, 0.1))):
        mismatches = []
        for scale in (1e-8, 0.05, 2.0):
            h1, h2 = np.abs(rng.normal(size=(2, 1000))) * scale
            a = rng.normal(size=1000) * scale
            fates = captors(h1, h2, a, norms, rates)
            mismatches.append(np.mean(fates != plane_side(h1, h2, a, norms, rates)))
        assert mismatches[0] == 0 and mismatches[1] <= 0.01 and mismatches[2] > 0


def test_plane_knows_rates_and_norms():
    assert plane_side(1.0, 1.0, 0.0).tolist() == 0
    assert np.array_equal(plane_side([[1.0], [2.0]], 1.5, 0.0, rates=(0.5, 0.5)), [[-1], [1]])
    assert plane_side(1.0, 2.0, 0.0, rates=(0.9, 0.1)) == 1
    norms, rates = np.array([1.5, 0.6]), np.array([0.4, 0.6])
    push = np.array([rates[0], -rates[1], np.hypot(*(rates * norms))])  # a left eigenvector at the origin
    for state in np.array([[1e-9, 2e-9, 1e-9], [3e-9, 1e-9, -1e-9]]):
        assert push @ velocity(state, norms, rates) == pytest.approx(push[2] / 2 * (push @ state), rel=1e-8)


@settings(max_examples=40, deadline=None)
@given(positive, positive, st.floats(-2, 2), positive, positive, st.floats(0.2, 1), st.floats(0.2, 1))
def test_fates_of_two_codes_agree_and_keep_the_invariant(h1, h2, a, n1, n2, r1, r2):
    fate = capture(h1, h2, a, (n1, n2), (r1, r2))
    c = invariant(h1, h2, a, (n1, n2))
    assert captors(h1, h2, a, (n1, n2), (r1, r2)) == fate.label
    size = (h1 / n1) ** 2 + (h2 / n2) ** 2 + a**2
    assert invariant(*fate.state, (n1, n2)) == pytest.approx(float(c), abs=1e-9 * size * (1 + fate.time))
    if fate.label:
        lost, kept = (1, 0) if fate.label == 1 else (0, 1)
        assert abs(fate.state[lost]) < 1e-12 and fate.state[kept] > 0 and fate.label * fate.state[2] > 0
    if c <= 0:
        assert fate.label == np.sign(a)
    if c > 0 and fate.label:
        curve, _ = separating_curve(a, c, (n1, n2), (r1, r2))
        if np.isnan(curve):
            assert fate.label == np.sign(a)
        elif abs(curve - h1) > 1e-8:
            assert fate.label == np.sign(h1 - curve)
    mirror = capture(h2, h1, -a, (n2, n1), (r2, r1))
    assert mirror.label == -fate.label


def test_known_orbits():
    assert capture(0.1, 0.1, 0.1).time == pytest.approx(1.62334, abs=1e-5)
    other = capture(0.2, 0.9, 0.2)
    assert other.label == -1 and other.time == pytest.approx(2.2465395545772972, rel=1e-11)  # by mpmath
    alone = capture(1.0, 1e-300, -1.1, norms=(1.0, 1e-9))  # without a second input: the dying neuron
    assert alone.label == -1 and alone.time == pytest.approx(death_time(1.0, -1.1), rel=1e-10)
    waiting = capture(0.5, 0.5, 0.0)
    assert waiting.label == 0 and waiting.time == 1e3 and np.allclose(waiting.state, [0.5, 0.5, 0])


def test_gradient_descent_on_the_mean_loss_follows_rates_of_one_half():
    x, start = np.diag([1.3, 0.9]), TwoLayer(np.array([[0.5, 0.3]]), np.array([0.2]))
    run = gradient_descent(start, x, [1, -1], LOGISTIC, step=0.002, steps=1000, reduction="mean")
    norms, rates = np.array([1.3, 0.9]), np.array([0.5, 0.5])
    state = np.array([*(x @ start.w[0]), start.a[0]])
    flow = solve_ivp(lambda _, s: velocity(s, norms, rates), (0, 2), state, rtol=1e-10, atol=1e-12).y[:, -1]
    assert flow[1] > 0
    assert np.allclose([*(x @ run.network.w[0]), run.network.a[0]], flow, atol=2e-3)


BAD = [
    (lambda: invariant(1.0, 1.0, 1.0, (1.0, 0.0)), "norms"),
    (lambda: invariant(1.0, 1.0, 1.0, (1.0, 1.0, 1.0)), "norms"),
    (lambda: invariant("x", 1.0, 1.0), "h1"),
    (lambda: saddle(0.0), "c holds"),
    (lambda: saddle(1.0, rates=(1.0, -1.0)), "rates"),
    (lambda: separating_curve(np.nan, 1.0), "a holds"),
    (lambda: separating_curve(0.1, -1.0), "c holds"),
    (lambda: curve_end(-1.0), "c holds"),
    (lambda: plane_side(0.0, 1.0, 1.0), "h1"),
    (lambda: capture(1.0, -1.0, 1.0), "h2"),
    (lambda: capture([1.0, 2.0], 1.0, 1.0), "h1"),
    (lambda: capture(1.0, 1.0, 1.0, until=0.0), "until"),
    (lambda: captors([1.0, 2.0], [1.0, 2.0, 3.0], 1.0), "shapes"),
]


@pytest.mark.parametrize(("call", "name"), BAD)
def test_bad_input_is_named(call, name):
    with pytest.raises(ValueError, match=f"{name}.*allowed"):
        call()


@settings(max_examples=60, deadline=None)
@given(st.floats(max_value=0) | st.sampled_from([np.nan, np.inf]))
def test_no_response_that_is_not_positive_passes(response):
    for function in (plane_side, capture, captors):
        with pytest.raises(ValueError, match="h2 holds"):
            function(1.0, response, 1.0)
