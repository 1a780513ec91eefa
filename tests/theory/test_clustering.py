import mpmath
import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.special import expit

from lib.data.synthetic import antipodal_gaussians
from lib.geometry.least_norm import least_norm
from lib.geometry.level_sets import boundary_angles, boundary_bend
from lib.geometry.patterns import (
    agreement,
    cluster_radius,
    largest_angle,
    perfect_agreement_margin,
)
from lib.geometry.programs import agreement_program, linear_svm
from lib.models.two_layer import TwoLayer, two_sided_network
from lib.theory import clustering, margins, risk_convergence
from tests.points import three_points


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
    q = np.array([0.3, 2.0, 5.0])
    total = np.log1p(np.exp(-q)).sum()
    assert margins.smoothed_margin(q, 2.0) == pytest.approx(-np.log(np.expm1(total)) / 2, rel=1e-13)
    assert margins.smoothed_margin(np.array([1e6, 1e6]), 1e6) == pytest.approx(1, rel=1e-6)
    near = [margins.smoothed_margin(np.array([30 + s, 40.0]), 1.0) for s in (-1e-9, 1e-9)]
    assert near[0] == pytest.approx(near[1], abs=1e-8)


def test_smoothed_margin_lies_below_the_margin_by_no_more_than_its_gap():
    rng = np.random.default_rng(0)
    for _ in range(200):
        q = rng.uniform(0, 8, size=rng.integers(1, 9))
        gap = q.min() - margins.smoothed_margin(q, 1.0)
        assert -1e-14 <= gap <= margins.smoothed_margin_gap(q, 1.0) + 1e-14


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
    slope = margins.largest_slope_for_assumption_three(rho)
    best = v * np.sqrt(k) * (1 + slope) * rho / np.sqrt(2)
    assert best == pytest.approx(margins.required_smoothed_margin(slope, v, k, 1.0))


def test_the_logarithmic_law_solves_for_the_residual_and_asks_for_what_it_cannot_know():
    rows = np.array([[1.0, 0.2], [0.3, 1.0]])
    solution = least_norm(rows, np.ones(2))
    law = margins.logarithmic_law(solution, rows)
    np.testing.assert_allclose(rows @ law.residual + np.log(solution.duals), 0, atol=1e-12)
    with pytest.raises(ValueError, match="1 dimensions free"):
        margins.logarithmic_law(least_norm(rows[:1], np.ones(1)), rows[:1])


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
        (lambda: clustering.sharp_factor(0.0, 2), "slope holds 0"),
        (lambda: two_sided_network(2, 2, -1.0, rng=np.random.default_rng(0)), "scale holds -1"),
        (lambda: clustering.sharp_factor(0.1, 0), "k holds 0"),
        (lambda: clustering.flipping_network(0.1, 3, 0.0), "even"),
        (lambda: clustering.critical_slope(80.0), "degrees holds 80"),
        (lambda: margins.largest_slope_for_assumption_three(0.0), "relative_margin"),
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


def decimal(*values):
    return [mpmath.mpf(float(value)) for value in values]


@pytest.mark.parametrize(
    "q", [[-300.0, 3.0], [-5.0], [-0.3, 0.1, 40.0], [0.54, 0.55], [36.9, 37.1], [800.0, 801.0]]
)
def test_smoothed_margins_against_many_digits(q):
    with mpmath.workdps(800):
        exact = -mpmath.log(mpmath.expm1(mpmath.fsum(mpmath.log1p(mpmath.exp(-x)) for x in decimal(*q))))
        size = max(1, abs(float(exact)))
        assert margins.smoothed_margin(q, 1.0) == pytest.approx(float(exact), abs=1e-14 * size)
    assert margins.smoothed_margin(np.array([q, q]), [1.0, 2.0])[1] == margins.smoothed_margin(q, 2.0)


@pytest.mark.parametrize("q", [-1e300, -700.0, -3.0, -1e-3, 0.5, 36.0, 38.0, 690.0])
def test_the_exponent_of_the_loss_and_its_inverse_against_many_digits(q):
    with mpmath.workdps(700):
        exact = (
            -mpmath.log(mpmath.log1p(mpmath.exp(-mpmath.mpf(q)))) if q > -1e4 else -mpmath.log(-mpmath.mpf(q))
        )
    assert margins.loss_exponent(q) == pytest.approx(float(exact), rel=1e-14)
    # The inverse amplifies a rounding of the exponent by q/f f'(q).
    assert margins.margin_of_exponent(margins.loss_exponent(q)) == pytest.approx(q, rel=1e-12)


def test_the_smoothed_margin_is_the_inverse_exponent_of_the_summed_loss():
    q = np.array([0.3, -2.0, 5.0])
    total = np.exp(-margins.loss_exponent(q)).sum()
    assert margins.smoothed_margin(q, 1.0) == pytest.approx(
        margins.margin_of_exponent(-np.log(total)), rel=1e-14
    )


@pytest.mark.parametrize("q0", [-700.0, -3.0, 0.0, 1e-12, 0.3, 700.0])
def test_the_symmetric_pair_against_many_digits(q0):
    setting = {"slope": 1.0, "k": 2, "v": 0.5, "norm": 1.0}  # the rate is 1
    times = [0.0, 1e-14, 1e-3, 1.0, 1e5, 1e300]
    for time, found in zip(times, clustering.symmetric_pair_margin(times, q0, **setting), strict=True):
        with mpmath.workdps(700):
            start = mpmath.mpf(q0)
            x = min(start + time / (1 + mpmath.exp(start)), mpmath.log(mpmath.exp(start) + time) + 1)
            for _ in range(40):
                x -= (x + mpmath.exp(x) - start - mpmath.exp(start) - time) / (1 + mpmath.exp(x))
            assert found == pytest.approx(float(x), abs=1e-15 * max(abs(q0), abs(float(x))))


def test_inputs_in_the_linear_region_are_called_by_the_means():
    rng, inside = np.random.default_rng(3), 0
    for _ in range(300):
        k, d, slope = rng.integers(1, 8), rng.integers(2, 6), rng.choice([0.05, 0.3, 0.8])
        spread, inputs = 10 ** rng.uniform(-2, 0.5), rng.standard_normal((40, d))
        w, u = (rng.standard_normal(d) + spread * rng.standard_normal((k, d)) for _ in range(2))
        network = TwoLayer(np.vstack([w, u]), np.repeat([1.0, -1.0], k), slope)
        gap = w.mean(axis=0) - u.mean(axis=0)
        for factor in (2.0, clustering.sharp_factor(slope, k) * (1 + 1e-9) + 1e-9):
            certain = clustering.linear_region(w, u, inputs, float(factor))
            inside += certain.sum()
            assert (np.sign(network(inputs)) == np.sign(inputs @ gap))[certain].all()
            cosines = np.abs(inputs @ gap) / np.linalg.norm(inputs, axis=1) / np.linalg.norm(gap)
            np.testing.assert_array_equal(certain, cosines >= clustering.region_cosine(w, u, float(factor)))
    assert inside > 5000


def test_a_smaller_factor_is_wrong_at_the_extremal_network():
    w, u = clustering.flipping_network(0.2, 4, excess=-1e-3)
    network = TwoLayer(np.concatenate([w, u])[:, None], np.repeat([1.0, -1.0], 4), 0.2)
    x = np.ones((1, 1))
    smaller = clustering.sharp_factor(0.2, 4) - 2e-3
    assert clustering.linear_region(w[:, None], u[:, None], x, smaller).all()
    assert network(x) < 0 < (w - u).mean()
    assert clustering.region_cosine(w[:, None], w[:, None]) == np.inf


def test_relu_networks_vanish_on_the_share_of_the_cone():
    w, u = np.array([1.0, 0.3]), np.array([-0.2, 1.0])
    angles = np.linspace(0, 2 * np.pi, 100_001)[:-1]
    directions = np.column_stack([np.cos(angles), np.sin(angles)])
    vanishing = np.mean(TwoLayer(np.array([w, u]), np.array([1.0, -1.0]))(directions) == 0)
    assert clustering.relu_zero_share(w, u) == pytest.approx(vanishing, abs=2 / 100_000)
    assert clustering.relu_zero_share(1e-300 * w, [w, -1e200 * w]) == pytest.approx([0.5, 0.0], abs=1e-16)


def test_critical_slope_is_exact_at_the_ends_of_its_range():
    for degrees in (90 + 1e-9, 100.0, 120.0, 180 - 1e-9):
        with mpmath.workdps(40):
            c = -mpmath.cos(mpmath.mpf(degrees) * mpmath.pi / 180)
            exact = min(c / (1 - c), (1 - c) / c)
        assert clustering.critical_slope(degrees) == pytest.approx(float(exact), rel=1e-13)


def test_symmetric_data_end_at_their_margin():
    inputs, labels = antipodal_gaussians(10, (2.0, 1.0), 0.3, rng=np.random.default_rng(0))
    inputs, labels = np.vstack([inputs[:5], -inputs[:5]]), np.repeat([1.0, -1.0], 5)
    linear = 1 / linear_svm(inputs, labels).norm
    for slope in (0.1, 0.6):
        found = 1 / agreement_program(inputs, labels, slope).norm
        # k neurons of each type share the pair (w, u) of the program: sqrt(k) v times its margin.
        expected = margins.symmetric_data_margin(slope, 0.7, 3, linear)
        assert 0.7 * np.sqrt(3) * found == pytest.approx(float(expected), rel=1e-12)


def test_the_sharp_factor_is_vectorised():
    slopes, widths = np.array([[0.1], [0.5]]), np.array([2, 3, 7])
    table = [[clustering.sharp_factor(s, k) for k in widths] for s in slopes[:, 0]]
    np.testing.assert_array_equal(clustering.sharp_factor(slopes, widths), table)
    assert clustering.sharp_factor(0.1, 3) == pytest.approx(0.9 / 1.2)


def test_risk_bounds_solve_their_inequality_and_are_ordered():
    with mpmath.workdps(40):
        n, k, slope, v, step, radius, teacher, start = decimal(*SETTING.values())
        loss = mpmath.mpf(0.1) / (1 + 2 * k * step * v**2 * radius**2 * n)
        large = 1 - mpmath.exp(-loss)
        a = 2 * k * step * slope * v * large
        b = mpmath.sqrt(2 * k * n * (2 * step + 2 * k * step**2 * v**2 * radius**2)) * teacher
        c = 4 * k * start * teacher
        exact = ((b + mpmath.sqrt(b**2 + 4 * a * c)) / (2 * a)) ** 2
    bound = risk_convergence.risk_bound(0.1, **SETTING)
    assert bound.epochs == pytest.approx(float(exact), rel=1e-13)
    assert bound.loss == pytest.approx(float(loss), rel=1e-14)
    assert bound.steps == SETTING["n"] * (bound.epochs + 1)
    epsilon = np.geomspace(1e-8, 10, 30)
    sharper = risk_convergence.risk_bound(epsilon, **SETTING, product=risk_convergence.LARGEST_PRODUCT)
    printed = risk_convergence.risk_bound(epsilon, **SETTING)
    relaxed = risk_convergence.polynomial_risk_bound(epsilon, **SETTING)
    assert (sharper.epochs < printed.epochs).all() and (printed.epochs < relaxed.epochs).all()


def test_the_largest_product_is_the_maximum():
    z = np.linspace(0, 5, 100_001)
    assert (z / (1 + np.exp(z))).max() == pytest.approx(risk_convergence.LARGEST_PRODUCT, rel=1e-9)


@pytest.mark.parametrize("seed", range(6))
def test_descent_has_fewer_epochs_with_a_large_loss_than_every_bound(seed):
    rng = np.random.default_rng(seed)
    inputs, labels = antipodal_gaussians(6, (2.0, 1.0), 0.5, rng=rng)
    k, v, step, slope, start = 3, rng.uniform(0.3, 1), rng.uniform(0.05, 0.5), rng.uniform(0.1, 1), 0.1
    w, outputs = rng.standard_normal((2 * k, 2)), v * np.repeat([1.0, -1.0], k)
    w *= start / np.linalg.norm(w, axis=1).max()
    setting = {"n": 6, "k": k, "slope": slope, "v": v, "step": step, "start": start}
    setting |= {"radius": np.linalg.norm(inputs, axis=1).max(), "teacher": linear_svm(inputs, labels).norm}
    bounds = [
        risk_convergence.risk_bound(0.3, **setting, product=risk_convergence.LARGEST_PRODUCT),
        risk_convergence.improved_risk_bound(0.3, **setting),
    ]
    bad_epochs = 0
    for _ in range(150):
        bad = False
        for i in rng.permutation(6):
            z = w @ inputs[i]
            q = labels[i] * outputs @ np.maximum(z, slope * z)
            bad |= np.logaddexp(0, -q) > bounds[0].loss
            pull = step * expit(-q) * labels[i] * outputs * np.where(z > 0, 1, slope)
            w = w + pull[:, None] * inputs[i]
        bad_epochs += bad
    assert 0 < bad_epochs <= min(bound.epochs for bound in bounds)
