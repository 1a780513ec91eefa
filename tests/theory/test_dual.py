"""Fixed points of gradient starvation: the dual against the loss, closed forms, and 40 digits."""

import mpmath
import numpy as np
import pytest
from scipy.special import entr, expit

from lib.theory.dual import (
    FeatureProblem,
    dual_fixed_point,
    lone_dual,
    primal_responses,
    truncated_fixed_point,
)


def random_problem(n, m, ridge, sizes=1.0, seed=0):
    features = np.random.default_rng(seed).standard_normal((n, m)) * sizes
    return FeatureProblem(*np.linalg.svd(features, full_matrices=False)[:2], ridge)


def orthogonal(n, r, seed=0):
    return np.linalg.qr(np.random.default_rng(seed).standard_normal((n, r)))[0]


def dual_value(problem, dual):
    """The dual function, which no value of the primal problem lies below."""
    along = problem.strengths * (dual @ problem.u)
    return (entr(dual) + entr(1 - dual)).sum() - along @ along / (2 * problem.ridge)


def primal_value(problem, z):
    """The loss where the features respond with z, cost of the parameters included."""
    c = z / problem.strengths
    return np.logaddexp(0, -problem.u @ z).sum() + problem.ridge * c @ c / 2


@pytest.mark.parametrize(("n", "m", "ridge"), [(8, 20, 0.1), (8, 20, 1e-5), (8, 5, 0.1), (30, 10, 0.05)])
def test_dual_and_primal_agree(n, m, ridge):
    problem = random_problem(n, m, ridge)
    p, z = dual_fixed_point(problem), primal_responses(problem)
    np.testing.assert_allclose(problem.responses(p), z, rtol=1e-7)
    np.testing.assert_allclose(dual_value(problem, p), primal_value(problem, z), rtol=1e-13)


def test_the_dual_value_is_a_lower_bound():
    problem, rng = random_problem(8, 5, 0.3), np.random.default_rng(2)
    for _ in range(50):
        z = problem.strengths * rng.standard_normal(5)
        assert dual_value(problem, rng.uniform(size=8)) <= primal_value(problem, z)


def test_a_problem_that_is_too_hard_says_so():
    problem = FeatureProblem(orthogonal(6, 4), 10.0 ** np.arange(-2, 2), 1e-14)
    with pytest.raises(RuntimeError, match="a larger ridge"):
        dual_fixed_point(problem)


@pytest.mark.parametrize("seed", range(30))
def test_fixed_points_of_problems_of_many_sizes(seed):
    rng = np.random.default_rng(seed)
    n, m = rng.integers(1, 12, size=2)
    ridge, sizes = 10 ** rng.uniform(-2, 4), 10 ** rng.uniform(-2, 1, size=m)
    problem = random_problem(n, m, ridge, sizes, seed)
    q = problem.u @ primal_responses(problem)
    np.testing.assert_allclose(dual_fixed_point(problem), expit(-q), rtol=1e-9)
    p = truncated_fixed_point(problem)
    # The equation amplifies a rounding of p by the coupling.
    slack = 1e-11 * (1 + np.abs(problem.coupling) @ p)
    assert (np.abs(np.log(p) + p + problem.coupling @ p) <= slack).all()


def test_lone_dual_against_many_digits():
    for a in (1e-30, 1e-9, 0.3, 1.0, 7.0, 1e9, 1e300):
        with mpmath.workdps(40):
            exact = mpmath.lambertw(mpmath.mpf(a)).real / mpmath.mpf(a)
        assert lone_dual(a) == pytest.approx(float(exact), rel=1e-14)
