import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.special import expit

from lib.datasets import antipodal_gaussians, outlier_data, six_points, three_points
from lib.geometry import (
    agreement,
    cluster_radius,
    largest_angle,
    perfect_agreement_margin,
)
from lib.least_norm import least_norm
from lib.level_sets import boundary_angles, boundary_bend
from lib.networks import TwoLayer, two_sided_network
from lib.theory import clustering, risk_convergence


@pytest.mark.parametrize("slope", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("k", [1, 2, 3, 4, 5])
def test_the_sharp_factor_is_what_linear_programs_find(slope, k):
    assert clustering.largest_flip(slope, k) == pytest.approx(clustering.sharp_factor(slope, k), abs=1e-10)


def test_the_sharp_factor_of_odd_widths_tends_to_the_even_one_and_vanishes_for_one_pair():
    assert clustering.sharp_factor(0.3, 1) == 0
    assert clustering.sharp_factor(0.3, 100_001) == pytest.approx(clustering.sharp_factor(0.3, 2), rel=1e-4)
    assert clustering.sharp_factor(1.0, 6) == 0


@pytest.mark.parametrize("k", [2, 8])
def test_the_extremal_network_flips_at_the_sharp_factor(k):
    for excess, sign in ((1e-9, 1), (-1e-9, -1)):
        w, u = clustering.flipping_network(0.2, k, excess)
        output = np.maximum(w, 0.2 * w).sum() - np.maximum(u, 0.2 * u).sum()
        assert np.sign(output) == sign
        assert max(np.ptp(w), np.ptp(u)) / 2 == pytest.approx(1)


def test_smoothed_margin_equals_its_definition_and_stays_finite():
    margins = np.array([0.3, 2.0, 5.0])
    total = np.log1p(np.exp(-margins)).sum()
    assert clustering.smoothed_margin(margins, 2.0) == pytest.approx(-np.log(np.expm1(total)) / 2, rel=1e-13)
    assert clustering.smoothed_margin(np.array([1e6, 1e6]), 1e6) == pytest.approx(1, rel=1e-6)
    near = [clustering.smoothed_margin(np.array([30 + s, 40.0]), 1.0) for s in (-1e-9, 1e-9)]
    assert near[0] == pytest.approx(near[1], abs=1e-8)


def test_smoothed_margin_lies_below_the_margin_by_no_more_than_its_gap():
    rng = np.random.default_rng(0)
    for _ in range(200):
        margins = rng.uniform(0, 8, size=rng.integers(1, 9))
        gap = margins.min() - clustering.smoothed_margin(margins, 1.0)
        assert -1e-12 <= gap <= clustering.smoothed_margin_gap(margins, 1.0) + 1e-9


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


def test_the_slope_bound_is_where_symmetric_data_just_meet_assumption_three():
    rho, k, v = 0.38, 4, 0.5
    slope = clustering.largest_slope_for_assumption_three(rho)
    best = v * np.sqrt(k) * (1 + slope) * rho / np.sqrt(2)
    assert best == pytest.approx(clustering.required_smoothed_margin(slope, v, k, 1.0))


def test_the_logarithmic_law_solves_for_the_residual_and_asks_for_what_it_cannot_know():
    rows = np.array([[1.0, 0.2], [0.3, 1.0]])
    solution = least_norm(rows, np.ones(2))
    law = clustering.logarithmic_law(solution, rows)
    np.testing.assert_allclose(rows @ law.residual + np.log(solution.duals), 0, atol=1e-12)
    with pytest.raises(ValueError, match="1 dimensions free"):
        clustering.logarithmic_law(least_norm(rows[:1], np.ones(1)), rows[:1])


SETTING = {"n": 10, "k": 3, "slope": 0.3, "v": 0.5, "step": 0.1, "radius": 3.0, "teacher": 0.6, "start": 0.01}


def test_risk_bounds_scale_as_they_should():
    first, second = (risk_convergence.risk_bound(e, **SETTING).epochs for e in (1e-4, 1e-5))
    assert second / first == pytest.approx(100, rel=1e-3)
    first, second = (risk_convergence.improved_risk_bound(e, **SETTING).epochs for e in (1e-4, 1e-5))
    assert 10 < second / first < 15
    assert (
        risk_convergence.improved_risk_bound(0.1, **SETTING).steps
        < risk_convergence.risk_bound(0.1, **SETTING).steps
    )


@pytest.mark.parametrize("degrees", [100.0, 125.0, 150.0, 170.0])
def test_the_critical_slope_is_where_the_early_field_loses_an_attractor(degrees):
    inputs, labels = three_points(degrees)
    for factor, expected in ((0.99, 2), (1.01, 1)):
        slope = factor * clustering.critical_slope(degrees)
        angles = np.radians(np.linspace(0, 360, 3601))
        directions = np.column_stack([np.cos(angles), np.sin(angles)])
        on = np.unique(directions @ inputs.T > 0, axis=0)
        fields = (np.where(on, 1.0, slope) * labels) @ inputs
        attractors = np.count_nonzero(((fields @ inputs.T > 0) == on).all(axis=1))
        assert attractors == expected


def test_bad_theory_arguments_are_refused():
    for call, message in (
        (lambda: clustering.sharp_factor(0.0, 2), "slope is 0"),
        (lambda: two_sided_network(2, 2, -1.0, rng=np.random.default_rng(0)), "scale holds -1"),
        (lambda: clustering.sharp_factor(0.1, 0), "k is 0"),
        (lambda: clustering.flipping_network(0.1, 3, 0.0), "even"),
        (lambda: clustering.critical_slope(80.0), "degrees is 80"),
        (lambda: clustering.largest_slope_for_assumption_three(0.0), "relative_margin"),
    ):
        with pytest.raises(ValueError, match=message):
            call()


def test_boundary_angles_are_zeros_of_the_network():
    rng = np.random.default_rng(1)
    for _ in range(20):
        network = two_sided_network(5, 2, 1.0, rng=rng, slope=0.1)
        angles = np.radians(boundary_angles(network))
        if len(angles):
            assert np.abs(network(np.column_stack([np.cos(angles), np.sin(angles)]))).max() < 1e-12
        grid = np.linspace(0, 2 * np.pi, 20001)[:-1] + 1e-5
        signs = np.sign(network(np.column_stack([np.cos(grid), np.sin(grid)])))
        assert np.count_nonzero(signs != np.roll(signs, 1)) == len(angles)


def test_a_clustered_network_has_a_straight_boundary_and_a_bad_one_is_refused():
    clustered = TwoLayer(np.repeat([[1.0, 0.3], [-0.2, 1.0]], 3, axis=0), np.repeat([1.0, -1.0], 3), 0.1)
    assert boundary_bend(clustered) < 1e-12
    with pytest.raises(ValueError, match="4 rays"):
        boundary_bend(TwoLayer(np.vstack([np.eye(2), -np.eye(2)]), np.array([1.0, -1.0, 1.0, -1.0]), 0.0))
    with pytest.raises(ValueError, match=r"allowed: \(m, 2\)"):
        boundary_angles(TwoLayer(np.eye(3), np.ones(3), 0.0))


def test_cluster_measures():
    group = np.array([[1.0, 0.0], [0.0, 1.0]])
    assert cluster_radius(group, 3 * group) == pytest.approx(3 * np.sqrt(0.5))
    assert largest_angle(group) == pytest.approx(90)
    assert largest_angle(np.array([[1.0, 0.0], [-2.0, 0.0]])) == pytest.approx(180)
    signs, margin = agreement(group, np.array([[1.0, 2.0], [-1.0, -1.0]]))
    assert signs.tolist() == [1, -1] and margin == 1
    assert agreement(group, np.array([[1.0, -1.0]]))[1] < 0
    assert perfect_agreement_margin(group, -group, np.array([[1.0, 2.0]]), np.ones(1)) == 0.5


def test_data_sets_are_what_they_say():
    inputs, labels = antipodal_gaussians(4, (3.0, 0.0, 0.0), 0.0, rng=np.random.default_rng(0))
    np.testing.assert_array_equal(inputs, labels[:, None] * [3.0, 0.0, 0.0])
    inputs, labels = outlier_data(4.0, 140.0, rng=np.random.default_rng(0))
    assert np.linalg.norm(inputs[20]) == pytest.approx(4) and labels[20] == 1 and len(labels) == 41
    assert six_points()[0].shape == (6, 2) and three_points(150.0)[1].tolist() == [1, 1, -1]
    with pytest.raises(ValueError, match="n is 5"):
        antipodal_gaussians(5, (1.0,), 1.0, rng=np.random.default_rng(0))
