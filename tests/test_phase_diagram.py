"""Fates at random starts by counting, decay on the line by its exact time, and who captures small neurons."""

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lib.theory.hyperbolic_neuron import fate, time_to_logit
from lib.theory.neuron_capture import capture, capture_probability, capture_time_bound, plane_side
from lib.theory.phase_diagram import decay_time_bounds, failure_probability, fate_probabilities

DRAWS = 400_000
FIVE_SIGMA = 5 * 0.5 / np.sqrt(DRAWS)


@pytest.mark.parametrize(("spread", "norm"), [(1.0, 1.0), (0.3, 0.7), (4.0, 2.0)])
def test_fates_are_as_frequent_as_predicted(spread, norm):
    rng = np.random.default_rng(5)
    h, a = spread * rng.standard_normal(DRAWS), rng.standard_normal(DRAWS)
    learns, dies, inactive = fate_probabilities(spread / norm)
    assert learns + dies + inactive == pytest.approx(1, rel=1e-15)
    fates = fate(h, a, norm)
    assert np.mean(fates == 1) == pytest.approx(learns, abs=FIVE_SIGMA)
    assert np.mean((fates == -1) & (h > 0)) == pytest.approx(dies, abs=FIVE_SIGMA)
    groups = np.mean((fates.reshape(-1, 4) < 1).all(axis=1))
    assert groups == pytest.approx(failure_probability(4, spread / norm), abs=2 * FIVE_SIGMA)


def test_fates_at_the_extremes():
    assert np.allclose(fate_probabilities([1e-300, 1.0, 1e300])[0], [0.25, 0.375, 0.5], rtol=1e-15)
    assert fate_probabilities(1e20)[1] == pytest.approx(1e-20 / (2 * np.pi))


@given(u0=st.floats(-50, -1e-3), share=st.floats(1e-12, 1), norm=st.floats(0.1, 10))
def test_decay_times_lie_between_their_bounds(u0, share, norm):
    root = np.sqrt(-u0 / norm)  # h = norm |a|
    low, high = decay_time_bounds(u0 * share, u0, norm)
    exact = time_to_logit(max(u0 * share, -norm * root * root), norm * root, -root, norm)
    assert low * (1 - 1e-9) - 1e-12 / norm <= exact <= high * (1 + 1e-9) + 1e-12 / norm


@pytest.mark.parametrize(
    ("norms", "rates", "ratio"),
    [((1.0, 1.0), (0.7, 0.3), 1.0), ((1.5, 0.6), (1.0, 1.0), 0.5), ((0.4, 3.0), (0.2, 0.1), 3.0)],
)
def test_capture_probability_is_a_share_of_starts(norms, rates, ratio):
    rng = np.random.default_rng(6)
    h1, h2 = np.abs(rng.standard_normal((2, DRAWS))) * np.array(norms)[:, None]
    sides = plane_side(h1, h2, ratio * rng.standard_normal(DRAWS), norms, rates)
    assert np.mean(sides == 1) == pytest.approx(
        float(capture_probability(norms, rates, ratio)), abs=FIVE_SIGMA
    )
    other = capture_probability(norms[::-1], rates[::-1], ratio)
    assert capture_probability(norms, rates, ratio) == pytest.approx(1 - other, rel=1e-14)


@pytest.mark.parametrize(("first", "second"), [(1e-8, 1.0), (1.0, 1e-8), (3.0, 3.0), (1e-3, 50.0)])
def test_rare_captures_keep_their_digits(first, second):
    for ratio in (1e-6, 1.0, 1e6):
        with mpmath.workdps(50):
            x, y, q = (mpmath.mpf(each) for each in (first, second, ratio))
            size = mpmath.sqrt((1 + q**2) * (x**2 + y**2))
            exact = 0.5 + (mpmath.asin(x / size) - mpmath.asin(y / size)) / mpmath.pi
        assert capture_probability((first, second), ratio=ratio) == pytest.approx(float(exact), rel=2e-15)


@pytest.mark.parametrize("excess", [0.0, 0.1, 2.0])
def test_captures_come_before_their_bound(excess):
    rng = np.random.default_rng(7)
    for h1, h2, n1, n2, r1, r2 in rng.uniform(0.1, 2, (10, 6)):
        a = np.hypot(h1 / n1, h2 / n2) * (1 + 1e-12) + excess
        found = capture(h1, h2, a, (n1, n2), (r1, r2))
        assert found.label == 1
        assert found.time <= capture_time_bound(h1, h2, a, (n1, n2), (r1, r2))
