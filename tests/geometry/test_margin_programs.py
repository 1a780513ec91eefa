"""Margin programs against an interior-point solver, exact relations between them, and false proofs."""

import cvxpy
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from lib.data.synthetic import antipodal_gaussians
from lib.geometry.programs import (
    Infeasible,
    Separation,
    SolverFailure,
    agreement_program,
    cell_program,
    extended_agreement_program,
    least_norm,
    linear_svm,
    separation,
)
from lib.models.two_layer import TwoLayer


def classes(seed=3, mean=(2, 1.5), spread=0.6, n=40):
    return antipodal_gaussians(n, mean, spread, rng=np.random.default_rng(seed))


def calls_all_points_rightly(solution, inputs, labels):
    """Whether both vectors of a solution lie in the regime of perfect agreement."""
    return (labels * (solution.x.reshape(2, -1) @ inputs.T) * [[1], [-1]] > 0).all()


def violation(program, x):
    """The largest violation of a constraint."""
    return max(0.0, (program.bounds - program.rows @ x).max())


def gap(program, x, duals):
    """The value |x|^2 / 2 minus the lower bound of the multipliers; no large terms cancel."""
    slack = program.rows @ x - program.bounds
    return np.sum((x - program.rows.T @ duals) ** 2) / 2 + duals @ slack


def proven_gap(solution):
    return gap(solution, solution.x, solution.duals)


def solve_elsewhere(rows, bounds):
    x = cvxpy.Variable(rows.shape[1])
    problem = cvxpy.Problem(cvxpy.Minimize(cvxpy.sum_squares(x)), [rows @ x >= bounds])
    problem.solve(solver=cvxpy.CLARABEL, tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-11)
    return x.value


@pytest.mark.parametrize("seed", range(5))
def test_least_norm_agrees_with_an_interior_point_solver_and_proves_it(seed):
    rng = np.random.default_rng(seed)
    rows, bounds = rng.standard_normal((12, 6)) + 1.0, rng.uniform(-1, 3, size=12)
    solution = least_norm(rows, bounds)
    np.testing.assert_allclose(solution.x, solve_elsewhere(rows, bounds), atol=1e-7)
    assert violation(solution, solution.x) < 1e-12 and abs(proven_gap(solution)) < 1e-12
    assert solution.duals.min() >= 0
    assert violation(solution, 0.9 * solution.x) == pytest.approx(0.1 * bounds.max(), rel=1e-9)


def test_constraints_that_are_met_without_a_force_have_no_negative_multiplier():
    for seed in range(200):
        rng = np.random.default_rng(seed)
        rows = rng.integers(-2, 3, (9, 4)).astype(float)
        rows = rows[rows.any(axis=1)]
        x = rng.integers(0, 3, 2) @ rows[:2]
        solution = least_norm(rows, rows @ x)
        assert solution.duals.min() >= 0 and proven_gap(solution) < 1e-12 * (1 + x @ x)
        np.testing.assert_allclose(solution.x, x, atol=1e-12 * (1 + np.abs(x).max()))


@pytest.mark.parametrize("seed", range(30))
def test_solutions_a_million_times_as_long_as_their_bounds_are_found(seed):
    """Two rows nearly opposite, and one that the solution meets with a bound of zero."""
    turn = np.linalg.qr(np.random.default_rng(seed).standard_normal((3, 3)))[0]
    rows = np.array([[1.0, 1e-6, 0.0], [-1.0, 1e-6, 0.0], [0.6, 0.0, 0.8]]) @ turn
    solution = least_norm(rows, [1.0, 1.0, 0.0])
    assert solution.norm == pytest.approx(1e6, rel=1e-9)


def test_the_gap_bounds_the_distance_from_the_optimal_value():
    rows, bounds = np.random.default_rng(0).standard_normal((8, 5)) + 1.0, np.ones(8)
    program, longer = least_norm(rows, bounds), least_norm(rows, 1.1 * bounds).x
    optimal = program.norm**2 / 2
    # The multipliers prove bounds.duals - |rows.T duals|^2 / 2, here 0.9 * 2 - 0.81 times the optimum.
    assert gap(program, longer, 0.9 * program.duals) == pytest.approx((1.1**2 - 0.99) * optimal, rel=1e-9)


def test_a_linear_network_has_the_linear_margin():
    inputs, labels = classes()
    w, u = np.split(agreement_program(inputs, labels, 1.0).x, 2)
    np.testing.assert_allclose(w, -u, atol=1e-14)
    np.testing.assert_allclose(w - u, linear_svm(inputs, labels).x, rtol=1e-10)


def test_the_extended_program_keeps_a_solution_in_the_regime_and_corrects_one_outside():
    inputs, labels = classes()
    inside = agreement_program(inputs, labels, 0.1)
    assert calls_all_points_rightly(inside, inputs, labels)
    np.testing.assert_allclose(extended_agreement_program(inputs, labels, 0.1).x, inside.x, atol=1e-12)
    inputs, labels = classes(seed=5, mean=(1, 0.6), spread=0.5)
    outside = agreement_program(inputs, labels, 0.1)
    assert not calls_all_points_rightly(outside, inputs, labels)
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
    angle = np.radians(150)
    inputs, labels = np.array([[1.0, 0.0], [np.cos(angle), np.sin(angle)], [-1.0, 0.0]]), [1, 1, -1]
    w = np.array([[1.0, 0.1], [-0.2, 1.0], [-1.0, 0.2]])
    network = TwoLayer(w, np.array([1.0, 1.0, -1.0]), 0.1)
    solution = cell_program(network, inputs, labels)
    assert abs(proven_gap(solution)) < 1e-9
    z = inputs @ solution.x.reshape(3, 2).T
    assert (z * np.where(network.preactivations(inputs) > 0, 1, -1) > -1e-10).all()
    # The second neuron's response to the first input is zero, and counts as negative: it cannot help there.
    at_zero = cell_program(TwoLayer([[1.0, 0.2], [0.0, 1.0]], [1.0, 1.0], 0.1), np.eye(2), [1.0, 1.0])
    np.testing.assert_allclose(at_zero.x, [1.0, 0.5, 0.0, 0.5], atol=1e-12)


def test_a_network_that_is_constant_at_a_datum_has_no_margin_there():
    network = TwoLayer(np.array([[1.0, 0.0]]), np.ones(1), 0.0)
    with pytest.raises(Infeasible, match="network is constant near input 1"):
        cell_program(network, np.array([[1.0, 0.0], [-1.0, 0.0]]), np.array([1.0, -1.0]))


NOT_SEPARABLE = (np.array([[1.0, 0.0], [1.0, 0.1], [1.0, -0.1]]), np.array([-1.0, 1.0, 1.0]))


@pytest.mark.parametrize("solve", [linear_svm, agreement_program, extended_agreement_program])
def test_data_that_are_not_separable_are_refused_with_a_proof(solve):
    with pytest.raises(Infeasible, match="contradict each other"):
        solve(*NOT_SEPARABLE, *([0.5] * (solve is not linear_svm)))
    with pytest.raises(Infeasible) as refusal:
        linear_svm(*NOT_SEPARABLE)
    np.testing.assert_allclose(refusal.value.weights, [0.5, 0.25, 0.25], rtol=1e-12)


@pytest.mark.parametrize("bound", [-1e20, -1e10, -1e-20, 0.0, 1e-20, 1e3, 1e6, 1e9])
def test_a_contradiction_is_found_beside_a_bound_of_any_size(bound):
    rows = np.array([[2.0, 0.0], [-3.0, 0.0], [0.0, 0.5]])
    with pytest.raises((Infeasible, SolverFailure)) as refusal:
        least_norm(rows, [1.0, 1.0, bound])
    assert bound > 1 or np.abs(refusal.value.weights @ rows).max() < 1e-15
    apart = least_norm(rows, [1.0, -6.0, bound])  # the first coordinate from 1/2 to 2
    np.testing.assert_allclose(apart.x, [0.5, max(2 * bound, 0.0)], rtol=1e-12, atol=1e-15)


coordinates = st.floats(-10, 10).map(lambda value: round(value, 3))


@settings(max_examples=60)
@given(
    arrays(float, st.tuples(st.integers(1, 8), st.integers(1, 4)), elements=coordinates),
    st.lists(st.floats(0.05, 1), min_size=8, max_size=8),
)
def test_points_that_surround_the_origin_are_refused_with_weights_that_show_it(points, weights):
    points = points[np.abs(points).max(axis=1) > 0.01]
    closing = -np.array(weights[: len(points)]) @ points
    if not len(points) or np.abs(closing).max() < 0.01:
        return
    surrounding = np.vstack([points, closing])
    with pytest.raises(Infeasible) as refusal:
        least_norm(surrounding, np.ones(len(surrounding)))
    certificate = refusal.value.weights
    assert (certificate >= 0).all() and certificate.sum() == pytest.approx(1)
    assert np.abs(certificate @ surrounding).max() < 1e-12 * np.abs(surrounding).max()
    found = separation(surrounding, np.ones(len(surrounding)))
    assert not found.separable and found.bound < 1e-12 * np.abs(surrounding).max()


@settings(max_examples=60)
@given(arrays(float, st.tuples(st.integers(1, 8), st.integers(1, 4)), elements=coordinates))
def test_every_margin_comes_with_its_proof(points):
    points = points[np.abs(points).max(axis=1) > 0.01]
    if not len(points):
        return
    found, size = separation(points, np.ones(len(points))), np.abs(points).max()
    assert (found.weights >= 0).all() and found.weights.sum() == pytest.approx(1)
    assert np.linalg.norm(found.weights @ points) == pytest.approx(found.bound, abs=1e-12 * size)
    assert abs(found.bound - found.margin) < 1e-10 * size
    # What the weights of another problem prove is weaker, and what another normal reaches is less.
    false = Separation(points, np.roll(found.normal, 1), np.full(len(points), 1 / len(points)))
    assert false.bound == pytest.approx(np.linalg.norm(points.mean(axis=0)), abs=1e-12 * size)
    assert false.margin <= found.margin + 1e-10 * size and found.bound <= false.bound + 1e-10 * size
    if found.separable:
        assert np.linalg.norm(found.normal) == pytest.approx(1)
        assert (points @ found.normal).min() == pytest.approx(found.margin, abs=1e-12 * size)


def test_a_solver_that_does_not_settle_says_so(monkeypatch):
    def unsettled(*_, **__):
        raise RuntimeError("Maximum number of iterations reached.")

    monkeypatch.setattr("lib.geometry.programs.nnls", unsettled)
    with pytest.raises(SolverFailure, match=r"Maximum number.*scale the data"):
        least_norm(np.eye(2), np.ones(2))
    monkeypatch.setattr(
        "lib.geometry.programs.nnls", lambda matrix, *_, **__: (np.zeros(matrix.shape[1]), 1.0)
    )
    with pytest.raises(SolverFailure, match="a constraint is violated by 1"):
        least_norm(np.eye(2), np.ones(2))
