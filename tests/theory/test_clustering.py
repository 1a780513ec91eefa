"""Clustered networks against programs, the risk bound against descent, the pair against many digits."""

import mpmath
import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.special import expit

from lib.geometry.programs import least_norm
from lib.models.two_layer import TwoLayer
from lib.theory import clustering


@pytest.mark.parametrize("slope", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("k", [1, 2, 3, 4, 5])
def test_the_sharp_factor_is_what_linear_programs_find(slope, k):
    assert clustering.largest_flip(slope, k) == pytest.approx(clustering.sharp_factor(slope, k), abs=1e-10)


def test_the_sharp_factor_of_odd_widths_tends_to_the_even_one_and_vanishes_for_one_pair():
    assert clustering.sharp_factor(0.3, 1) == 0
    assert clustering.sharp_factor(0.3, 100_001) == pytest.approx(clustering.sharp_factor(0.3, 2), rel=1e-4)
    assert clustering.sharp_factor(1.0, 6) == 0


def test_inputs_in_the_linear_region_are_called_by_the_means():
    rng, inside = np.random.default_rng(3), 0
    for _ in range(300):
        k, d, slope = rng.integers(1, 8), rng.integers(2, 6), rng.choice([0.05, 0.3, 0.8])
        spread, inputs = 10 ** rng.uniform(-2, 0.5), rng.standard_normal((40, d))
        w, u = (rng.standard_normal(d) + spread * rng.standard_normal((k, d)) for _ in range(2))
        network = TwoLayer(np.vstack([w, u]), np.repeat([1.0, -1.0], k), slope)
        gap = w.mean(axis=0) - u.mean(axis=0)
        for factor in (2.0, clustering.sharp_factor(slope, k) * (1 + 1e-9) + 1e-9):
            certain = clustering.linear_region(w, u, inputs, factor)
            inside += certain.sum()
            assert (np.sign(network(inputs)) == np.sign(inputs @ gap))[certain].all()
    assert inside > 5000


def test_a_smaller_factor_is_wrong_at_the_extremal_network():
    slope, k = 0.2, 4
    factor = clustering.sharp_factor(slope, k)
    # Half of the u products lie one radius above their mean and half below.
    w, u = np.zeros((k, 1)), np.repeat([1.0, -1.0], k // 2)[:, None] - (factor - 1e-3)
    network = TwoLayer(np.concatenate([w, u]), np.repeat([1.0, -1.0], k), slope)
    assert clustering.linear_region(w, u, np.ones((1, 1)), factor - 2e-3).all()
    assert network([[1.0]]) < 0 < (w - u).mean()


def test_the_symmetric_pair_solves_its_equation():
    setting = {"slope": 0.35, "k": 3, "v": 0.8, "norm": 1.3}
    rate = 0.5 * 0.8**2 * 3 * 1.35**2 * 1.3**2
    times = np.array([0.0, 1.0, 30.0, 1e4])
    answer = solve_ivp(
        lambda t, q: rate * expit(-q), (0, 1e4), [0.2], t_eval=times, method="Radau", rtol=1e-10, atol=1e-12
    )
    np.testing.assert_allclose(
        clustering.symmetric_pair_margin(times, 0.2, **setting), answer.y[0], rtol=1e-8
    )


@pytest.mark.parametrize("q0", [-30.0, -3.0, 0.0, 0.3, 30.0])
def test_the_symmetric_pair_against_many_digits(q0):
    setting = {"slope": 1.0, "k": 2, "v": 0.5, "norm": 1.0}  # the rate is 1
    times = [0.0, 1e-3, 1.0, 1e5, 1e300]
    for time, found in zip(times, clustering.symmetric_pair_margin(times, q0, **setting), strict=True):
        with mpmath.workdps(700):
            start = mpmath.mpf(q0)
            x = min(start + time / (1 + mpmath.exp(start)), mpmath.log(mpmath.exp(start) + time) + 1)
            for _ in range(40):
                x -= (x + mpmath.exp(x) - start - mpmath.exp(start) - time) / (1 + mpmath.exp(x))
        assert found == pytest.approx(float(x), abs=1e-14 * (1 + abs(q0) + abs(float(x))))


@pytest.mark.parametrize("outside", [0.0, 0.7])
def test_the_logarithmic_law_solves_for_the_residual(outside):
    rows = np.array([[1.0, 0.2, 0.0], [0.3, 1.0, 0.0]])
    solution, rest = least_norm(rows, np.ones(2)), np.array([0.0, 0.0, outside])
    law = clustering.logarithmic_law(solution, rows, rest)
    np.testing.assert_allclose(rows @ law.residual + np.log(solution.duals), 0, atol=1e-12)
    assert law.residual[2] == outside
    # The weights g x + residual have margins g - log(dual), hence log(n / L) = g + O(1).
    g = 1e6
    weights = g * solution.x + law.residual
    apart = weights / np.linalg.norm(weights) - solution.x / solution.norm
    assert np.linalg.norm(apart) * g == pytest.approx(law.constant, rel=1e-5)


SETTING = {"n": 10, "k": 3, "slope": 0.3, "v": 0.5, "step": 0.1, "radius": 3.0, "teacher": 0.6, "start": 0.01}
