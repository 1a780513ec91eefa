"""Flows of a linearised network and of its dual, against fixed points, descent, and each other."""

import numpy as np
import pytest
from scipy.special import expit

from lib.flow.responses import decoupled_flow, dual_flow, mirror_flow, primal_flow
from lib.theory.dual import FeatureProblem, dual_fixed_point, dual_responses, two_features


def random_problem(n, m, ridge, seed=0):
    return FeatureProblem.from_features(np.random.default_rng(seed).standard_normal((n, m)), ridge)


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


def test_two_dual_solutions_contract_at_least_at_rate_four():
    problem, times = two_features(0.3, 1.5, 1.0, 0.5), np.linspace(0, 2, 21)
    rate = 4 + np.linalg.eigvalsh(problem.coupling)[0]
    for starts in (([0.9, 0.05], [0.2, 0.7]), ([0.5, 0.5], [0.49, 0.51])):
        a, b = (dual_flow(problem, np.array(start), times) for start in starts)
        distance = np.linalg.norm(a - b, axis=1)
        assert (distance <= distance[0] * np.exp(-rate * times) + 1e-9).all()


def test_dual_flow_explains_where_it_cannot_go():
    problem = random_problem(8, 20, 1e-3)
    with pytest.raises(RuntimeError, match="start nearer to zero"):
        dual_flow(problem, np.full(8, 0.5), np.array([0.0, 1.0]))


@pytest.mark.parametrize(("n", "m"), [(6, 20), (6, 3)])
def test_decoupled_fixed_point_for_any_rank(n, m):
    problem = random_problem(n, m, 1.0, seed=6)
    expected = dual_responses(FeatureProblem(problem.u, np.ones(problem.u.shape[1]), 0.1))
    reached = decoupled_flow(problem.u, problem.strengths, 0.1, np.array([0.0, 500.0]))[-1]
    np.testing.assert_allclose(reached, expected, rtol=1e-7, atol=1e-8)
    if m > n:
        q = problem.u @ expected  # every example alone: sigma(-q) = 0.1 q
        np.testing.assert_allclose(expit(-q), 0.1 * q, rtol=1e-10)


def test_flows_may_start_elsewhere_and_end_at_once():
    problem = two_features(0.3, 2.0, 1.0, 0.1)
    whole = primal_flow(problem, [1.0, 3.0])
    np.testing.assert_allclose(primal_flow(problem, [2.0], start=whole[0])[0], whole[1], rtol=1e-8)
    np.testing.assert_array_equal(primal_flow(problem, [0.0], start=[1.0, 2.0]), [[1.0, 2.0]])
