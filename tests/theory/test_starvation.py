"""Duality, fixed points and flows of gradient starvation, against exact solutions and each other."""

import mpmath
import numpy as np
import pytest
from scipy.integrate import odeint
from scipy.special import expit, lambertw

from lib.theory.decoupling import decoupled_problem, decoupled_response, decoupled_responses
from lib.theory.dual_forms import entropy, lone_dual, tangent_bound, truncation_error
from lib.theory.duality import (
    FeatureProblem,
    contraction_rate,
    dual_fixed_point,
    dual_responses,
    dual_value,
    primal_fixed_point,
    primal_responses,
    primal_value,
    relaxation_rates,
    truncated_fixed_point,
)
from lib.theory.starvation import (
    equal_strength_dual,
    equal_strength_responses,
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


def integrate(velocity, start, times):
    return odeint(velocity, start, times, tfirst=True, rtol=1e-12, atol=1e-12, mxstep=100_000)


def primal_flow(problem, times):
    """Responses z of gradient flow on the parameters, from zero."""
    u, squares = problem.u, problem.strengths**2
    return integrate(
        lambda _, z: squares * (u.T @ expit(-u @ z)) - problem.ridge * z, np.zeros(len(squares)), times
    )


def dual_flow(problem, start, times):
    """The dual flow p' = log((1 - p) / p) - A p, integrated in log p."""

    def velocity(_, log_p):
        p = np.exp(log_p)
        return (np.log1p(-p) - log_p - problem.coupling @ p) / p

    return np.exp(integrate(velocity, np.log(start), times))


def random_problem(n, m, ridge, seed=0):
    return FeatureProblem.from_features(np.random.default_rng(seed).standard_normal((n, m)), ridge)


@pytest.mark.parametrize(("n", "m", "ridge"), [(8, 20, 0.1), (8, 20, 1e-5), (8, 5, 0.1), (30, 10, 0.05)])
def test_dual_and_primal_newton_agree(n, m, ridge):
    problem = random_problem(n, m, ridge)
    p, c = dual_fixed_point(problem), primal_fixed_point(problem)
    np.testing.assert_allclose(dual_responses(problem), primal_responses(problem), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(dual_value(problem, p), primal_value(problem, c), rtol=1e-13)
    np.testing.assert_allclose(p, expit(-problem.u @ problem.responses(p)), rtol=1e-9)


@pytest.mark.parametrize(("n", "m"), [(6, 4), (5, 5), (2, 1)])
@pytest.mark.parametrize("ridge", [1e-12, 1e-3, 1e3, 1e12])
def test_dual_responses_lose_no_digits_at_any_coupling(n, m, ridge):
    # Near 0 and 1 the dual has the responses only through a difference of its entries.
    rng = np.random.default_rng(n)
    u = np.linalg.qr(rng.standard_normal((n, m)))[0]
    problem = FeatureProblem(u, 10.0 ** rng.uniform(-2, 2, m), ridge)
    z = primal_responses(problem)
    np.testing.assert_allclose(dual_responses(problem), z, rtol=0, atol=1e-12 * np.abs(z).max())


def test_dual_with_initial_outputs_agrees_with_the_primal_only_when_they_are_kept():
    problem = random_problem(8, 20, 0.1)
    offset = np.random.default_rng(1).standard_normal(8)
    z = problem.strengths * primal_fixed_point(problem, offset)
    np.testing.assert_allclose(problem.responses(dual_fixed_point(problem, offset)), z, rtol=1e-9)
    np.testing.assert_allclose(dual_responses(problem, offset), z, rtol=1e-11)
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
    ]
    np.testing.assert_allclose(ends, np.tile(problem.responses(p), (2, 1)), rtol=1e-8)


def test_two_dual_solutions_contract_at_rate_four():
    problem, times = two_features(0.3, 1.5, 1.0, 0.5), np.linspace(0, 2, 21)
    a, b = (dual_flow(problem, np.array(start), times) for start in ([0.9, 0.05], [0.2, 0.7]))
    distance = np.linalg.norm(a - b, axis=1)
    assert (distance[1:] <= distance[0] * np.exp(-4 * times[1:]) + 1e-9).all()


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


def exact_responses(delta, squares, ridge):
    """Return z of two coupled features at 40 digits, by Newton's method in z."""
    root = mpmath.sqrt(1 - mpmath.mpf(delta) ** 2)
    u = mpmath.matrix([[root, -mpmath.mpf(delta)], [mpmath.mpf(delta), root]])
    weights, z = mpmath.diag([square / mpmath.mpf(ridge) for square in squares]), mpmath.matrix([0, 0])
    for _ in range(100):
        p = (u * z).apply(lambda q: 1 / (1 + mpmath.exp(q)))
        curvature = mpmath.eye(2) + weights * u.T * mpmath.diag([each * (1 - each) for each in p]) * u
        step = mpmath.lu_solve(curvature, z - weights * u.T * p)
        z -= step * min(1, 1 / mpmath.norm(step)) if mpmath.norm(step) else step
    return z


@pytest.mark.parametrize("ridge", [1e4, 10.0, 1e-3])
def test_exact_derivatives_against_mpmath(ridge):
    # At weak coupling the derivative across is a difference of nearly equal terms.
    with mpmath.workdps(40):
        high, low = (
            exact_responses(0.3, (mpmath.mpf(9) + sign * mpmath.mpf("1e-12"), mpmath.mpf(4)), ridge)
            for sign in (1, -1)
        )
        expected = [float(each) for each in (high - low) / mpmath.mpf("2e-12")]
    found = response_derivatives(two_features(0.3, 3.0, 2.0, ridge))[:, 0]
    np.testing.assert_allclose(found, expected, rtol=1e-11)


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
    u, squares = problem.u, problem.strengths**2
    reached = integrate(
        lambda _, z: squares * (u.T @ expit(-u @ z) - 0.1 * z), np.zeros(len(squares)), np.array([0.0, 500.0])
    )[-1]
    np.testing.assert_allclose(reached, expected, rtol=1e-7, atol=1e-8)
    if m > n:
        np.testing.assert_allclose(problem.u @ expected, decoupled_response(0.1), rtol=1e-11)


def test_decoupled_response_with_target():
    q = decoupled_response(0.012, 2.5)
    assert expit(-q) == pytest.approx(0.012 * (q - 2.5), rel=1e-11)
    assert decoupled_response(1e6) == pytest.approx(0.0, abs=1e-6)


def orthogonal(n, seed=0):
    return np.linalg.qr(np.random.default_rng(seed).standard_normal((n, n)))[0]


@pytest.mark.parametrize("loss", ["logistic", "hinge", "square"])
def test_tangent_bounds_lie_below_the_loss_and_touch_it(loss):
    q = np.linspace(-6, 6, 121)
    value, touching = {
        "logistic": (np.logaddexp(0, -q), expit(-q)),
        "hinge": (np.maximum(0, 1 - q), (q < 1).astype(float)),
        "square": ((1 - q) ** 2, 2 * (1 - q)),
    }[loss]
    slopes = np.linspace(*((-20, 20) if loss == "square" else (0, 1)), 201)[:, None]
    assert (tangent_bound(loss, slopes, q) <= value + 1e-14).all()
    np.testing.assert_allclose(tangent_bound(loss, touching, q), value, atol=1e-13)


def test_the_printed_bound_of_the_square_loss_belongs_to_half_of_it():
    p, q = np.linspace(-20, 20, 4001), 3.0
    assert (p - p**2 / 2 - p * q).max() == pytest.approx((1 - q) ** 2 / 2)
    assert tangent_bound("square", p, q).max() == pytest.approx((1 - q) ** 2)


def test_lone_dual_against_many_digits():
    for a in (1e-300, 1e-9, 0.3, 0.999999, 1.0, 7.0, 1e9, 1e300):
        with mpmath.workdps(40):
            exact = mpmath.lambertw(mpmath.mpf(a)).real / mpmath.mpf(a)
        assert lone_dual(a) == pytest.approx(float(exact), rel=1e-14)


def test_the_truncation_error_is_that_of_one_example():
    for a in (1e2, 1e4):
        problem = FeatureProblem(np.eye(1), np.array([np.sqrt(a)]), 1.0)
        exact = dual_fixed_point(problem)[0]
        error = truncated_fixed_point(problem)[0] / exact - 1
        assert error == pytest.approx(float(truncation_error(a)), rel=2 * exact)


@pytest.mark.parametrize("target", [-1000.0, -30.0, -1e-8, 0.0, 2.5, 700.0])
@pytest.mark.parametrize("penalty", [1e-300, 1e-10, 0.1, 1.0, 1e100])
def test_decoupled_responses_against_many_digits(penalty, target):
    q = mpmath.mpf(float(decoupled_response(penalty, target)))
    with mpmath.workdps(700):
        # One Newton step from the answer measures its error.
        p = 1 / (1 + mpmath.exp(q))
        error = (penalty * (q - target) - p) / (penalty + p * (1 - p))
    assert abs(float(error)) <= 2e-15 * max(abs(float(q)), abs(target))


def test_decoupled_responses_of_any_rank_and_target_minimise_their_loss():
    target, penalty = np.arange(6.0) - 2, 0.3
    u = orthogonal(6)[:, :3]
    z = decoupled_responses(u, penalty, target)
    gradient = u.T @ (-expit(-u @ z) + penalty * (u @ z - target))
    np.testing.assert_allclose(gradient, 0, atol=1e-14)
    full = orthogonal(4)
    alone = decoupled_response(penalty, np.arange(4.0))
    np.testing.assert_allclose(full @ decoupled_responses(full, penalty, np.arange(4.0)), alone, rtol=1e-13)


def test_equal_strengths_without_truncation():
    u = orthogonal(5, seed=3)
    problem = FeatureProblem(u, np.full(5, 2.5), 0.02)
    np.testing.assert_allclose(equal_strength_responses(u, 2.5, 0.02), dual_responses(problem), rtol=1e-12)


@pytest.mark.parametrize("delta", [0.1, 0.3, 0.6, 0.8])
def test_the_second_response_is_largest_where_the_strengths_are_equal(delta):
    peak = abs(equal_strength_responses(rotation(delta), 2.0, 0.01)[1])
    for s1 in (0.5, 1.9, 1.999, 2.001, 2.1, 20.0):
        assert abs(dual_responses(two_features(delta, s1, 2.0, 0.01))[1]) < peak
    assert abs(dual_responses(two_features(delta, 1e4, 2.0, 0.01))[1]) < 1e-3


def test_relaxation_rates_are_those_at_which_the_flow_arrives():
    problem = two_features(0.5, 4.0, 2.0, 0.01)
    slow, times = relaxation_rates(problem)[0], np.array([0.0, 300.0, 400.0])
    left = np.linalg.norm(primal_flow(problem, times)[1:] - primal_responses(problem), axis=1)
    assert np.log(left[0] / left[1]) / 100 == pytest.approx(slow, rel=0.01)
    rates = [relaxation_rates(two_features(0.5, s, 2.0, 0.01))[0] for s in (2.0, 3.0, 4.0, 5.0, 6.0)]
    np.testing.assert_allclose(rates, [0.054, 0.035, 0.026, 0.020, 0.0165], atol=5e-4)


def test_solutions_of_the_dual_flow_approach_at_the_contraction_rate():
    problem, times = two_features(0.3, 1.5, 1.0, 0.5), np.linspace(0, 2, 21)
    rate = contraction_rate(problem)
    assert rate == pytest.approx(4 + np.linalg.eigvalsh(problem.coupling)[0])
    a, b = (dual_flow(problem, np.array(start), times) for start in ([0.5, 0.5], [0.49, 0.51]))
    distance = np.linalg.norm(a - b, axis=1)
    assert (distance <= distance[0] * np.exp(-rate * times) + 1e-9).all()
    assert contraction_rate(random_problem(8, 5, 0.1)) == 4


def readable_dual(delta, s1, s2, ridge):
    """Lemma 1 with its 2 x 2 inverse written out, as in the appendix."""
    a, b = np.array([s1, s2]) ** 2, delta**2
    diagonal = np.array([(1 - b) * a[0] + b * a[1], b * a[0] + (1 - b) * a[1]])
    w = lambertw(diagonal / ridge + 1).real
    across = delta * np.sqrt(1 - b) * (a[0] - a[1])
    own = ridge + diagonal + ridge * np.exp(w)
    return ridge * ((w + 1) * own[::-1] - (w[::-1] + 1) * across) / (own[0] * own[1] - across**2)


def test_lemma_1_is_what_the_appendix_writes_out():
    for delta, s1 in ((0.3, 3.0), (-0.2, 5.0)):
        expected = readable_dual(delta, s1, 2.0, 0.01)
        np.testing.assert_allclose(perturbed_dual(two_features(delta, s1, 2.0, 0.01)), expected, rtol=1e-13)


@pytest.mark.parametrize("s1", [1e-3, 1.0, 2 * (1 - 1e-13), 2 * (1 + 1e-9), 2.5, 1e3])
@pytest.mark.parametrize("ridge", [1e-8, 1e-2, 1e4])
def test_perturbation_against_many_digits(s1, ridge):
    with mpmath.workdps(60):
        d, first, second, penalty = (mpmath.mpf(value) for value in (0.3, s1, 2.0, ridge))
        w1, w2 = (mpmath.lambertw(s**2 / penalty + 1).real for s in (first, second))
        own, other = mpmath.exp(-w1), mpmath.exp(-w2)
        z1 = first**2 / penalty * (own + d * (w2 * own + other) / (1 + w1))
        rest = mpmath.exp(w1) - mpmath.exp(w2)
        slope = -d * (second / penalty) ** 2 * rest * mpmath.exp(-2 * w1 - w2) / ((1 + w1) * (1 + w2))
    assert perturbed_responses(0.3, s1, 2.0, ridge)[0] == pytest.approx(float(z1), rel=1e-13)
    assert perturbed_derivative(0.3, s1, 2.0, ridge) == pytest.approx(float(slope), rel=1e-13)


def test_two_features_are_vectorised():
    deltas, s1 = np.array([[0.1], [0.3]]), np.array([1.0, 2.0, 5.0])
    for call in (perturbed_responses, perturbed_derivative):
        table = [[call(d, s, 2.0, 0.01) for s in s1] for d in deltas[:, 0]]
        np.testing.assert_allclose(call(deltas, s1, 2.0, 0.01), table, rtol=1e-14, atol=1e-300)
    assert rotation(deltas).shape == (2, 1, 2, 2)
    np.testing.assert_array_equal(starvation_sign(deltas, s1, 2.0), [[1, 0, -1]] * 2)


def test_the_exact_derivative_of_two_features_in_closed_form():
    for delta, s1, ridge in ((0.3, 3.0, 0.01), (-0.4, 1.0, 0.5), (0.8, 5.0, 2.0)):
        problem = two_features(delta, s1, 2.0, ridge)
        p = dual_fixed_point(problem)
        d = 1 / (p * (1 - p))
        turn = delta * np.sqrt(1 - delta**2) * (d[1] - d[0]) / np.linalg.det(np.diag(d) + problem.coupling)
        expected = 4 / ridge**2 * (problem.u[:, 0] @ p) * turn
        assert response_derivatives(problem)[1, 0] == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("seed", range(30))
def test_fixed_points_of_problems_on_all_scales(seed):
    rng = np.random.default_rng(seed)
    n, m = rng.integers(1, 12, size=2)
    ridge, sizes = 10 ** rng.uniform(-6, 6), 10 ** rng.uniform(-3, 1.5, size=m)
    problem = FeatureProblem.from_features(rng.standard_normal((n, m)) * sizes, ridge)
    offset = rng.choice([0, 1, 10]) * rng.standard_normal(n)
    q = problem.u * problem.strengths @ primal_fixed_point(problem, offset)
    np.testing.assert_allclose(dual_fixed_point(problem, offset), expit(-q - offset), rtol=1e-10)
    p = truncated_fixed_point(problem)
    root = problem.u * problem.strengths / np.sqrt(ridge)
    # The equation amplifies a rounding of p by the coupling.
    slack = 1e-11 * (1 + np.abs(root) @ np.abs(root.T) @ p)
    assert (np.abs(np.log(p) + p + root @ (root.T @ p)) <= slack).all()


@pytest.mark.parametrize("n", [8, 30])
def test_the_coupling_of_a_dual_fixed_point_may_be_huge(n):
    problem = random_problem(n, 10, 1e-9)
    q = problem.u * problem.strengths @ primal_fixed_point(problem)
    np.testing.assert_allclose(dual_fixed_point(problem), expit(-q), rtol=1e-9)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: FeatureProblem(np.ones((2, 2)), np.ones(2), 1.0), "u has columns"),
        (lambda: FeatureProblem(np.eye(2), np.ones(3), 1.0), "strengths"),
        (lambda: FeatureProblem(np.eye(2), -np.ones(2), 1.0), "strengths"),
        (lambda: FeatureProblem(np.eye(2), np.ones(2), 0.0), "ridge holds 0.0"),
        (lambda: FeatureProblem(np.eye(1), [1e200], 1e-5), "strengths go up to 1e\\+200 and ridge is 1e-05"),
        (lambda: rotation(1.0), "delta holds 1.0"),
        (lambda: starvation_sign(-1.0, 2.0, 1.0), "delta holds -1.0"),
        (lambda: decoupled_response(0.0), "penalty holds 0.0"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
