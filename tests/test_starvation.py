"""Duality, fixed points and flows of gradient starvation, against exact solutions and each other."""

import mpmath
import numpy as np
import pytest
from scipy.special import expit, lambertw

from lib.flow.responses import decoupled_flow, dual_flow, mirror_flow, primal_flow
from lib.theory.duality import (
    FeatureProblem,
    dual_fixed_point,
    dual_responses,
    dual_value,
    entropy,
    lone_dual,
    primal_fixed_point,
    primal_responses,
    primal_value,
    truncated_fixed_point,
)
from lib.theory.starvation import (
    decoupled_problem,
    decoupled_response,
    equal_strength_dual,
    permuted_dual,
    perturbed_derivative,
    perturbed_dual,
    perturbed_responses,
    response_derivatives,
    rotation,
    square_loss_responses,
    starvation_sign,
    starved_share,
    two_features,
)


def random_problem(n, m, ridge, seed=0):
    return FeatureProblem.from_features(np.random.default_rng(seed).standard_normal((n, m)), ridge)


@pytest.mark.parametrize(("n", "m", "ridge"), [(8, 20, 0.1), (8, 20, 1e-5), (8, 5, 0.1), (30, 10, 0.05)])
def test_dual_and_primal_newton_agree(n, m, ridge):
    problem = random_problem(n, m, ridge)
    p, c = dual_fixed_point(problem), primal_fixed_point(problem)
    np.testing.assert_allclose(dual_responses(problem), primal_responses(problem), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(dual_value(problem, p), primal_value(problem, c), rtol=1e-13)
    np.testing.assert_allclose(p, expit(-problem.u @ problem.responses(p)), rtol=1e-9)


def test_dual_with_initial_outputs_agrees_with_the_primal_only_when_they_are_kept():
    problem = random_problem(8, 20, 0.1)
    offset = np.random.default_rng(1).standard_normal(8)
    z = problem.strengths * primal_fixed_point(problem, offset)
    np.testing.assert_allclose(problem.responses(dual_fixed_point(problem, offset)), z, rtol=1e-9)
    assert np.abs(problem.responses(dual_fixed_point(problem)) / z - 1).max() > 0.05


def test_dual_value_is_a_lower_bound():
    problem, rng = random_problem(8, 5, 0.3), np.random.default_rng(2)
    for _ in range(50):
        assert dual_value(problem, rng.uniform(size=8)) <= primal_value(problem, rng.standard_normal(5))


def test_lone_dual_solves_its_equation_for_any_size():
    a = np.array([1e-3, 1.0, np.e, 1e4, 1e300])
    p = lone_dual(a)
    np.testing.assert_allclose(-np.log(p), a * p, rtol=1e-13, atol=1e-15)
    np.testing.assert_allclose(lone_dual(7.0), lambertw(7.0).real / 7.0, rtol=1e-15)


def test_entropy_at_the_ends_and_the_middle():
    np.testing.assert_allclose(entropy(np.array([0.0, 0.5, 1.0])), [0, np.log(2), 0], rtol=1e-15)


def test_flows_end_at_the_fixed_point():
    problem = two_features(0.5, 4.0, 2.0, 0.01)
    p = dual_fixed_point(problem)
    ends = [
        primal_flow(problem, np.array([0.0, 3000.0]))[-1],
        problem.responses(dual_flow(problem, np.full(2, 1e-8), np.array([0.0, 5.0]))[-1]),
        problem.responses(mirror_flow(problem, np.full(2, 0.5), np.array([0.0, 50.0]))[-1]),
    ]
    np.testing.assert_allclose(ends, np.tile(problem.responses(p), (3, 1)), rtol=1e-8)


def test_primal_flow_agrees_with_small_steps_of_descent():
    problem, times = two_features(0.5, 3.0, 2.0, 0.01), np.array([0.0, 1.0])
    exact, errors = primal_flow(problem, times)[-1], []
    for steps in (1000, 2000):
        z = np.zeros(2)
        for _ in range(steps):
            z = z + (problem.strengths**2 * (problem.u.T @ expit(-problem.u @ z)) - 0.01 * z) / steps
        errors.append(np.abs(z - exact).max())
    assert errors[0] / errors[1] == pytest.approx(2, rel=0.05)  # Euler's method is of first order


def test_two_dual_solutions_contract_at_rate_four():
    problem, times = two_features(0.3, 1.5, 1.0, 0.5), np.linspace(0, 2, 21)
    a, b = (dual_flow(problem, np.array(start), times) for start in ([0.9, 0.05], [0.2, 0.7]))
    distance = np.linalg.norm(a - b, axis=1)
    assert (distance[1:] <= distance[0] * np.exp(-4 * times[1:]) + 1e-9).all()


def test_dual_flow_explains_where_it_cannot_go():
    problem = random_problem(8, 20, 1e-3)
    with pytest.raises(RuntimeError, match="start nearer to zero"):
        dual_flow(problem, np.full(8, 0.5), np.array([0.0, 1.0]))


def test_equal_strengths_and_permutation_solve_equation_19():
    u = np.linalg.qr(np.random.default_rng(3).standard_normal((5, 5)))[0]
    equal = FeatureProblem(u, np.full(5, 2.5), 0.02)
    np.testing.assert_allclose(truncated_fixed_point(equal), equal_strength_dual(2.5, 0.02), rtol=1e-11)
    permuted = FeatureProblem(np.eye(5)[[2, 0, 4, 1, 3]], np.array([3, 2, 1, 4, 0.5]), 0.02)
    np.testing.assert_allclose(truncated_fixed_point(permuted), permuted_dual(permuted), rtol=1e-11)
    with pytest.raises(ValueError, match="permutation"):
        permuted_dual(equal)


def test_perturbation_is_of_second_order():
    def error(delta):
        problem = two_features(delta, 3.0, 2.0, 0.01)
        return np.abs(perturbed_dual(problem) / truncated_fixed_point(problem) - 1).max()

    assert error(0.02) / error(0.01) == pytest.approx(4, rel=0.05)


def test_first_order_responses_are_the_derivative_of_lemma_1():
    def z(delta):
        problem = two_features(delta, 3.0, 2.0, 0.01)
        return problem.responses(perturbed_dual(problem))

    slope = (perturbed_responses(1e-4, 3.0, 2.0, 0.01) - perturbed_responses(0.0, 3.0, 2.0, 0.01)) / 1e-4
    np.testing.assert_allclose(slope, (z(1e-4) - z(-1e-4)) / 2e-4, rtol=1e-6)


def test_first_order_derivative_against_mpmath():
    def z2(square):
        w1, w2 = (mpmath.lambertw(s / mpmath.mpf("0.01") + 1).real for s in (square, 4))
        change = (w1 * mpmath.exp(-w2) + mpmath.exp(-w1)) / (1 + w2)
        return 400 * (mpmath.exp(-w2) - mpmath.mpf("0.05") * change)

    assert perturbed_derivative(0.05, 3.0, 2.0, 0.01) == pytest.approx(float(mpmath.diff(z2, 9)), rel=1e-9)


def test_exact_derivatives_against_finite_differences():
    problem = random_problem(5, 7, 0.2, seed=4)
    exact, small = response_derivatives(problem), 1e-5
    for j in range(5):
        ends = []
        for sign in (1, -1):
            squares = problem.strengths**2
            squares[j] += sign * small
            moved = FeatureProblem(problem.u, np.sqrt(squares), 0.2)
            ends.append(moved.responses(dual_fixed_point(moved)))
        np.testing.assert_allclose((ends[0] - ends[1]) / (2 * small), exact[:, j], rtol=1e-5, atol=1e-8)


def test_sign_law_on_random_problems():
    rng = np.random.default_rng(5)
    for _ in range(300):
        delta = rng.uniform(-0.99, 0.99)
        s1, s2 = np.exp(rng.uniform(-1, 2.5, size=2))
        problem = two_features(delta, s1, s2, 10 ** rng.uniform(-3, 1))
        z2 = problem.responses(dual_fixed_point(problem))[1]
        assert np.sign(z2 * response_derivatives(problem)[1, 0]) == starvation_sign(delta, s1, s2)


def test_nobody_starves_at_the_edges_of_the_sign_law():
    for delta, s1 in ((np.sqrt(0.5), 3.0), (-np.sqrt(0.5), 3.0), (0.0, 3.0), (0.3, 2.0)):
        assert response_derivatives(two_features(delta, s1, 2.0, 0.01))[1, 0] == pytest.approx(0, abs=1e-12)


def test_starved_share_counts_the_others():
    assert starved_share(two_features(0.3, 3.0, 2.0, 0.01), raised=0) == 1.0
    assert starved_share(two_features(-0.3, 3.0, 2.0, 0.01), raised=0) == 0.0


def test_square_loss_is_ridge_regression():
    problem = random_problem(6, 4, 0.3)
    features = problem.u * problem.strengths
    theta = np.linalg.solve(features.T @ features + 0.3 * np.eye(4), features.sum(axis=0))
    np.testing.assert_allclose(square_loss_responses(problem), problem.strengths * theta, rtol=1e-12)


@pytest.mark.parametrize(("n", "m"), [(6, 20), (6, 3)])
def test_decoupled_fixed_point_for_any_rank(n, m):
    problem = random_problem(n, m, 1.0, seed=6)
    reduced = decoupled_problem(problem.u, 0.1)
    expected = reduced.responses(dual_fixed_point(reduced))
    reached = decoupled_flow(problem.u, problem.strengths, 0.1, np.array([0.0, 500.0]))[-1]
    np.testing.assert_allclose(reached, expected, rtol=1e-7, atol=1e-8)
    if m > n:
        np.testing.assert_allclose(problem.u @ expected, decoupled_response(0.1), rtol=1e-11)


def test_decoupled_response_with_target():
    q = decoupled_response(0.012, 2.5)
    assert expit(-q) == pytest.approx(0.012 * (q - 2.5), rel=1e-11)
    assert decoupled_response(1e6) == pytest.approx(0.0, abs=1e-6)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: FeatureProblem(np.ones((2, 2)), np.ones(2), 1.0), "u has columns"),
        (lambda: FeatureProblem(np.eye(2), np.ones(3), 1.0), "strengths"),
        (lambda: FeatureProblem(np.eye(2), -np.ones(2), 1.0), "strengths"),
        (lambda: FeatureProblem(np.eye(2), np.ones(2), 0.0), "ridge is 0.0"),
        (lambda: rotation(1.0), "delta is 1.0"),
        (lambda: starvation_sign(-1.0, 2.0, 1.0), "delta is -1.0"),
        (lambda: decoupled_response(0.0), "penalty is 0.0"),
        (lambda: dual_flow(two_features(0.1, 1, 1, 1), np.array([0.0, 0.5]), np.array([0.0, 1.0])), "start"),
        (lambda: primal_flow(two_features(0.1, 1, 1, 1), np.array([1.0, 0.0])), "times"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
