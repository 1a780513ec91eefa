"""The minimum of gradient starvation: the dual against the loss, and the root behind both."""

import numpy as np
import pytest
from scipy.special import entr, expit

from lib.theory.dual import FeatureProblem, polished_root, primal_responses


def random_problem(n, m, ridge, sizes=1.0, seed=0):
    features = np.random.default_rng(seed).standard_normal((n, m)) * sizes
    return FeatureProblem(*np.linalg.svd(features, full_matrices=False)[:2], ridge)


def dual_value(problem, dual):
    """The dual function, which no value of the primal problem lies below."""
    along = problem.strengths * (dual @ problem.u)
    return (entr(dual) + entr(1 - dual)).sum() - along @ along / (2 * problem.ridge)


def primal_value(problem, z):
    """The loss where the features respond with z, cost of the parameters included."""
    c = z / problem.strengths
    return np.logaddexp(0, -problem.u @ z).sum() + problem.ridge * c @ c / 2


@pytest.mark.parametrize(("n", "m", "ridge"), [(8, 20, 0.1), (8, 20, 1e-5), (8, 5, 0.1), (30, 10, 0.05)])
def test_at_the_minimum_the_chances_of_the_wrong_label_solve_the_dual(n, m, ridge):
    problem = random_problem(n, m, ridge)
    z = primal_responses(problem)
    p = expit(-problem.u @ z)
    np.testing.assert_allclose(problem.responses(p), z, rtol=1e-7)
    np.testing.assert_allclose(dual_value(problem, p), primal_value(problem, z), rtol=1e-13)


def test_the_dual_value_is_a_lower_bound():
    problem, rng = random_problem(8, 5, 0.3), np.random.default_rng(2)
    for _ in range(50):
        z = problem.strengths * rng.standard_normal(5)
        assert dual_value(problem, rng.uniform(size=8)) <= primal_value(problem, z)


@pytest.mark.parametrize("seed", range(30))
def test_the_minimum_of_problems_of_many_sizes_is_at_rest(seed):
    rng = np.random.default_rng(seed)
    n, m = rng.integers(1, 12, size=2)
    ridge, sizes = 10 ** rng.uniform(-2, 4), 10 ** rng.uniform(-2, 1, size=m)
    problem = random_problem(n, m, ridge, sizes, seed)
    q = problem.u @ primal_responses(problem)
    # The equation of the dual, log((1 - p)/p) = A p; it amplifies a rounding of p by the coupling.
    slack = 1e-11 * (1 + np.abs(problem.coupling) @ expit(-q))
    assert (np.abs(q - problem.coupling @ expit(-q)) <= slack).all()


def test_a_root_that_spans_many_decades_is_found_to_rounding_and_one_that_is_not_there_says_so():
    targets = 10.0 ** np.arange(-12, 3)
    found = polished_root(
        lambda w: w + np.exp(w) - np.log(targets) - targets,
        lambda w: np.eye(w.size) + np.diag(np.exp(w)),
        np.zeros(targets.size),
    )
    np.testing.assert_allclose(np.exp(found), targets, rtol=1e-13)
    with pytest.raises(RuntimeError, match="a larger ridge"):
        polished_root(lambda w: w**2 + 1, lambda w: np.diag(2 * w), np.array([0.5]))
