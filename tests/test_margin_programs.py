import cvxpy
import numpy as np
import pytest

from lib.datasets import antipodal_gaussians, six_points, three_points
from lib.geometry import distance_to_cone, perfect_agreement_margin
from lib.networks import TwoLayer
from lib.programs import (
    agreement_features,
    agreement_program,
    cell_program,
    extended_agreement_program,
    flippable_points,
    least_norm,
    linear_svm,
)


def classes(seed=3, mean=(2, 1.5), spread=0.6, n=40):
    return antipodal_gaussians(n, mean, spread, rng=np.random.default_rng(seed))


def solve_elsewhere(rows, bounds):
    x = cvxpy.Variable(rows.shape[1])
    problem = cvxpy.Problem(cvxpy.Minimize(cvxpy.sum_squares(x)), [rows @ x >= bounds])
    problem.solve(solver=cvxpy.CLARABEL, tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-11)
    return x.value


@pytest.mark.parametrize("seed", range(5))
def test_least_norm_agrees_with_an_interior_point_solver(seed):
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((12, 6)) + 1.0
    bounds = rng.uniform(-1, 3, size=12)
    solution = least_norm(rows, bounds)
    np.testing.assert_allclose(solution.x, solve_elsewhere(rows, bounds), atol=1e-7)
    assert solution.primal_residual < 1e-12
    assert solution.dual_residual < 1e-12


def test_a_satisfied_constraint_costs_nothing():
    assert least_norm(np.eye(2), np.array([-1.0, -2.0])).norm < 1e-15


def test_the_residuals_see_a_wrong_solution():
    inputs, labels = classes()
    right = linear_svm(inputs, labels)
    gram = labels[:, None] * inputs
    assert np.abs(gram @ (1.01 * right.x) - 1)[right.duals > 0].max() > 5e-3
    np.testing.assert_allclose(right.duals.sum(), right.norm**2, rtol=1e-12)


def test_scaling_the_data_scales_the_solution():
    inputs, labels = classes()
    for solve in (linear_svm, lambda x, y: agreement_program(x, y, 0.3)):
        np.testing.assert_allclose(solve(1000 * inputs, labels).x * 1000, solve(inputs, labels).x, rtol=1e-10)


def test_a_linear_network_has_the_linear_margin():
    inputs, labels = classes()
    w, u = np.split(agreement_program(inputs, labels, 1.0).x, 2)
    np.testing.assert_allclose(w, -u, atol=1e-14)
    np.testing.assert_allclose(w - u, linear_svm(inputs, labels).x, rtol=1e-10)


def test_the_extended_program_keeps_a_solution_in_the_regime_and_corrects_one_outside():
    inputs, labels = classes()
    inside = agreement_program(inputs, labels, 0.1)
    assert perfect_agreement_margin(*np.split(inside.x, 2), inputs, labels) > 0
    np.testing.assert_allclose(extended_agreement_program(inputs, labels, 0.1).x, inside.x, atol=1e-12)
    inputs, labels = classes(seed=5, mean=(1, 0.6), spread=0.5)
    outside = agreement_program(inputs, labels, 0.1)
    assert perfect_agreement_margin(*np.split(outside.x, 2), inputs, labels) < 0
    assert extended_agreement_program(inputs, labels, 0.1).norm > outside.norm


def test_the_program_of_an_agreement_cell_is_program_8_for_every_neuron():
    inputs, labels = classes()
    rng = np.random.default_rng(0)
    a = 0.5 * np.repeat([1.0, -1.0], 3)
    network = TwoLayer(a[:, None] * [2.0, 1.5] + 0.1 * rng.standard_normal((6, 2)), a, 0.3)
    neurons = cell_program(network, inputs, labels).x.reshape(6, 2)
    w, u = np.split(agreement_program(inputs, labels, 0.3).x / (3 * 0.5), 2)
    np.testing.assert_allclose(neurons, np.repeat([w, u], 3, axis=0), atol=1e-10)


def test_a_cell_program_keeps_the_signs_of_its_cell():
    inputs, labels = three_points()
    w = np.array([[1.0, 0.1], [-0.2, 1.0], [-1.0, 0.2]])
    network = TwoLayer(w, np.array([1.0, 1.0, -1.0]), 0.1)
    solution = cell_program(network, inputs, labels)
    z = inputs @ solution.x.reshape(3, 2).T
    assert (z * np.where(network.preactivations(inputs) > 0, 1, -1) > -1e-10).all()
    assert solution.dual_residual < 1e-9


def test_stacked_points_give_the_margins_of_the_regime():
    inputs, labels = six_points()
    w, u = np.array([2.0, 0.3]), np.array([-1.5, 0.4])
    assert perfect_agreement_margin(w, u, inputs, labels) > 0
    output = np.maximum(inputs @ w, 0.2 * inputs @ w) - np.maximum(inputs @ u, 0.2 * inputs @ u)
    features = agreement_features(inputs, labels, 0.2)
    np.testing.assert_allclose(features @ np.concatenate([w, u]), labels * output, atol=1e-15)


@pytest.mark.parametrize("d", [1, 2, 4])
def test_flippable_points_agree_with_the_cone_condition(d):
    inputs, labels = classes(mean=(2.0,) + (0.5,) * (d - 1), n=20)
    by_cone = [distance_to_cone(-x, inputs[labels != y]) > 1e-9 for x, y in zip(inputs, labels, strict=True)]
    np.testing.assert_array_equal(flippable_points(inputs, labels), by_cone)


def test_symmetric_data_have_no_flippable_point():
    inputs, labels = classes()
    half = inputs[:20]
    assert not flippable_points(np.vstack([half, -half]), labels).any()


def test_data_that_are_not_separable_are_refused_by_name():
    inputs = np.array([[1.0, 0.0], [1.0, 0.1], [1.0, -0.1]])
    labels = np.array([-1.0, 1.0, 1.0])
    for solve, name in (
        (linear_svm, "the linear hard-margin problem"),
        (lambda x, y: agreement_program(x, y, 0.5), "hard-margin"),
        (lambda x, y: extended_agreement_program(x, y, 0.5), "extended"),
    ):
        with pytest.raises(ValueError, match=name):
            solve(inputs, labels)


def test_program_8_alone_does_not_see_that_data_are_not_separable():
    inputs = np.array([[1.0, 0.0], [1.0, 0.1], [1.0, -0.1]])
    features = agreement_features(inputs, np.array([-1.0, 1.0, 1.0]), 0.5)
    assert least_norm(features, np.ones(3)).primal_residual < 1e-14


@pytest.mark.parametrize(
    ("rows", "bounds", "message"),
    [
        (np.zeros((0, 2)), np.zeros(0), "shape"),
        (np.eye(2), np.ones(3), "shape"),
        (np.diag([1.0, 0.0]), np.ones(2), "zero row, at index 1"),
        (np.full((1, 1), np.nan), np.ones(1), "finite"),
    ],
)
def test_bad_programs_are_refused(rows, bounds, message):
    with pytest.raises(ValueError, match=message):
        least_norm(rows, bounds)


def test_bad_labels_and_slopes_are_refused():
    inputs, labels = six_points()
    with pytest.raises(ValueError, match="both present"):
        linear_svm(inputs, np.ones(6))
    with pytest.raises(ValueError, match=r"slope is 1\.5"):
        agreement_program(inputs, labels, 1.5)
