"""The minimum-norm program against closed forms and other solvers, its certificate, and bad data."""

from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from lib.geometry.programs import MinimumNorm, SolverFailure, largest_response, minimum_norm_interpolation
from lib.models.two_layer import TwoLayer

LINE = np.column_stack([[-1.5, -1.0, 0.0, 0.25, 2.0], np.ones(5)]), np.array([0.7, -0.3, -0.3, 0.4, 0.2])
PAIR = np.array([[-0.5, 1.0], [2.0, 1.0]]), np.array([-1.0, 1.0])


@cache
def least_of_the_line():
    return minimum_norm_interpolation(*LINE).value


def orthonormal(n, d, seed=0):
    return np.linalg.qr(np.random.default_rng(seed).standard_normal((d, n)))[0].T


def least_cost(x, y):
    """Half of [boursier2022, Prop. 1]: the norms of y/R over the labels of either sign."""
    scaled = y / np.linalg.norm(x, axis=1)
    return np.linalg.norm(scaled[y > 0]) + np.linalg.norm(scaled[y < 0])


@pytest.mark.parametrize("n", [2, 3, 5])
def test_orthogonal_inputs_have_the_closed_form(n):
    rng = np.random.default_rng(n)
    x = orthonormal(n, n + 2) * rng.uniform(0.5, 2, n)[:, None]
    y = rng.uniform(0.5, 1.5, n) * np.where(np.arange(n) % 2, 1, -1)
    solved = minimum_norm_interpolation(x, y)
    np.testing.assert_allclose(solved.value, least_cost(x, y), rtol=1e-7)
    scaled = y / np.linalg.norm(x, axis=1)
    heights = np.where(y > 0, np.linalg.norm(scaled[y > 0]), np.linalg.norm(scaled[y < 0]))
    np.testing.assert_allclose(solved.duals, y / np.sum(x**2, axis=1) / heights, rtol=1e-5)


def test_norms_of_inputs_may_differ_by_decades_but_what_is_not_resolved_is_refused():
    x, y = np.diag([1e4, 1.0, 1e-3]), np.array([1e4, -1.0, 2e-3])
    np.testing.assert_allclose(minimum_norm_interpolation(x, y).value, least_cost(x, y), rtol=1e-7)
    with pytest.raises(SolverFailure, match="residual"):
        minimum_norm_interpolation(np.diag([1e10, 1.0]), [1.0, -1.0])


@pytest.mark.parametrize("data", [PAIR, LINE])
@pytest.mark.parametrize("slope", [0.0, 0.3])
def test_the_certificate_closes_the_gap(data, slope):
    solved = minimum_norm_interpolation(*data, slope=slope)
    assert solved.lower_bound <= solved.value * (1 + 1e-9)
    assert solved.value - solved.lower_bound < 1e-7 * solved.value
    assert solved.primal_residual < 1e-6


@given(st.lists(st.floats(-20, 20), min_size=5, max_size=5))
def test_no_multipliers_prove_more_than_the_value(duals):
    network = TwoLayer(np.array([[1.0, 0.0]]), np.ones(1))  # the bound asks for its slope alone
    assert MinimumNorm(*LINE, network, np.array(duals)).lower_bound <= least_of_the_line() + 1e-6


def test_the_largest_response_is_attained_and_not_exceeded():
    rng = np.random.default_rng(0)
    x, duals = rng.standard_normal((5, 3)), rng.standard_normal(5)
    units = rng.standard_normal((200_000, 3))
    units /= np.linalg.norm(units, axis=1, keepdims=True)
    sampled = np.abs(np.maximum(units @ x.T, 0) @ duals)
    best = largest_response(x, duals, 0.0)
    assert sampled.max() <= best + 1e-12
    refined = minimize(
        lambda w: -abs(np.maximum(w @ x.T, 0) @ duals) / np.linalg.norm(w),
        units[sampled.argmax()],
        method="Nelder-Mead",
        options={"xatol": 1e-10, "fatol": 1e-12},
    )
    np.testing.assert_allclose(-refined.fun, best, rtol=1e-6)


@pytest.mark.parametrize("slope", [0.0, 0.3])
def test_opposite_inputs_must_differ_by_a_linear_function(slope):
    # phi(z) - phi(-z) is a multiple of z, and three pairs in the plane are dependent.
    half = np.array([[1.0, 0.0], [0.0, 2.0], [1.0, 1.0]])
    inputs = np.vstack([half, -half])
    rng = np.random.default_rng(3)
    even, linear = rng.standard_normal(3), half @ rng.standard_normal(2)
    solved = minimum_norm_interpolation(inputs, np.concatenate([even + linear, even - linear]), slope=slope)
    assert solved.value == pytest.approx(solved.lower_bound, rel=1e-6)
    with pytest.raises(ValueError, match="at opposite inputs it differs by a linear function"):
        minimum_norm_interpolation(inputs, [1.0, 1.0, 1.0, 0.0, 0.0, 0.0], slope=slope)


def test_inputs_of_many_dimensions_are_reduced_to_their_span():
    x, y = LINE
    rotation = orthonormal(2, 300)
    lifted = minimum_norm_interpolation(x @ rotation, y)
    np.testing.assert_allclose(lifted.value, least_of_the_line(), rtol=1e-7)
    np.testing.assert_allclose(lifted.network(x @ rotation), y, atol=1e-7)


@pytest.mark.parametrize("second", [[3.0, 6.0], [0.0, 0.0]])
def test_inputs_of_one_ray_have_labels_in_proportion(second):
    x, y = np.array([[1.0, 2.0], [1.0, -1.0], second]), np.array([0.5, -0.3, 1.5 * any(second)])
    alone = minimum_norm_interpolation(x[:2], y[:2]).value
    assert minimum_norm_interpolation(x, y).value == pytest.approx(alone, rel=1e-6)
    with pytest.raises(ValueError, match="inputs 0 and 2 lie on one ray"):
        minimum_norm_interpolation(x, y + 1e-9 * np.eye(3)[2])
