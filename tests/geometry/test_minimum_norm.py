"""The minimum-norm program against closed forms, its certificate, and data it must refuse."""

import numpy as np
import pytest
from scipy.optimize import linprog, minimize

from lib.data.synthetic import orthonormal_inputs
from lib.geometry.least_norm import SolverFailure
from lib.geometry.minimum_norm import largest_response, minimum_norm_interpolation
from lib.models.two_layer import TwoLayer
from lib.theory.orthogonal_data import class_heights, minimum_squared_norm
from tests.points import five_on_a_line, orthogonal_pair


@pytest.mark.parametrize("n", [2, 3, 5])
def test_orthogonal_inputs_have_the_closed_form(n):
    rng = np.random.default_rng(n)
    x = orthonormal_inputs(n, n + 2, rng=rng) * rng.uniform(0.5, 2, n)[:, None]
    y = rng.uniform(0.5, 1.5, n) * np.where(np.arange(n) % 2, 1, -1)
    solved = minimum_norm_interpolation(x, y)
    np.testing.assert_allclose(2 * solved.value, minimum_squared_norm(x, y), rtol=1e-7)
    heights = class_heights(x, y)
    np.testing.assert_allclose(solved.duals, y / np.sum(x**2, axis=1) / np.where(y > 0, *heights), rtol=1e-5)


def test_norms_of_inputs_may_differ_by_decades_but_what_is_not_resolved_is_refused():
    x, y = np.diag([1e4, 1.0, 1e-3]), np.array([1e4, -1.0, 2e-3])
    np.testing.assert_allclose(
        2 * minimum_norm_interpolation(x, y).value, minimum_squared_norm(x, y), rtol=1e-7
    )
    with pytest.raises(SolverFailure, match="residual"):
        minimum_norm_interpolation(np.diag([1e10, 1.0]), [1.0, -1.0])


@pytest.mark.parametrize("data", [orthogonal_pair, five_on_a_line])
def test_the_certificate_closes_the_gap(data):
    x, y = data()
    solved = minimum_norm_interpolation(x, y)
    squared = (solved.network.w**2).sum() + (solved.network.a**2).sum()
    np.testing.assert_allclose(squared / 2, solved.value, rtol=1e-6)
    assert solved.lower_bound <= solved.value * (1 + 1e-9)
    assert solved.value - solved.lower_bound < 1e-7 * solved.value
    assert max(solved.primal_residual, solved.stationarity, solved.complementarity) < 1e-6


def test_a_linear_program_over_many_directions_agrees():
    x, y = five_on_a_line()
    angles = np.linspace(0, 2 * np.pi, 3000, endpoint=False)
    units = np.column_stack([np.cos(angles), np.sin(angles)])
    response = np.maximum(units @ x.T, 0).T
    result = linprog(
        np.ones(6000), A_eq=np.hstack([response, -response]), b_eq=y, bounds=(0, None), method="highs"
    )
    value = minimum_norm_interpolation(x, y).value
    # Restricting the directions can only cost more; the grid of 3000 costs about (spacing)^2 more.
    assert value - 1e-7 <= result.fun < value * (1 + 1e-4)


def test_the_largest_response_is_attained_and_not_exceeded():
    rng = np.random.default_rng(0)
    x, duals = rng.standard_normal((5, 3)), rng.standard_normal(5)
    units = rng.standard_normal((200_000, 3))
    units /= np.linalg.norm(units, axis=1, keepdims=True)
    sampled = np.abs(np.maximum(units @ x.T, 0) @ duals)
    best = largest_response(x, duals)
    assert sampled.max() <= best + 1e-12
    refined = minimize(
        lambda w: -abs(np.maximum(w @ x.T, 0) @ duals) / np.linalg.norm(w),
        units[sampled.argmax()],
        method="Nelder-Mead",
        options={"xatol": 1e-10, "fatol": 1e-12},
    )
    np.testing.assert_allclose(-refined.fun, best, rtol=1e-6)


def test_no_interpolator_beats_it():
    x, y = orthogonal_pair()
    value = minimum_norm_interpolation(x, y).value
    rng = np.random.default_rng(0)
    for _ in range(50):
        w = rng.standard_normal((6, 2))
        a = np.linalg.lstsq(np.maximum(x @ w.T, 0), y, rcond=None)[0]
        net = TwoLayer(w, a)
        if np.abs(net(x) - y).max() < 1e-9:
            assert (np.abs(a) * np.linalg.norm(w, axis=1)).sum() >= value - 1e-9


@pytest.mark.parametrize(
    ("inputs", "labels", "message"),
    [
        ([[1.0, 0.0], [2.0, 0.0]], [1.0, 1.0], "inputs 0 and 1 lie on one ray"),
        ([[0.0, 0.0], [1.0, 0.0]], [1.0, 1.0], "zero vector at row 0"),
        ([[1.0, 0.0]], [0.0], "all zero"),
        (np.ones((9, 2)), np.ones(9), "up to 8"),
        ([[1.0, 0.0]], [1.0, 2.0], "labels"),
        ([[np.inf, 0.0]], [1.0], "inputs holds inf"),
    ],
)
def test_bad_data_are_refused(inputs, labels, message):
    with pytest.raises(ValueError, match=message):
        minimum_norm_interpolation(inputs, labels)


@pytest.mark.parametrize("slope", [0.0, 0.3])
def test_opposite_inputs_must_differ_by_a_linear_function(slope):
    # phi(z) - phi(-z) is a multiple of z, and three pairs in the plane are dependent.
    half = np.array([[1.0, 0.0], [0.0, 2.0], [1.0, 1.0]])
    inputs = np.vstack([half, -half])
    rng = np.random.default_rng(3)
    even, linear = rng.standard_normal(3), half @ rng.standard_normal(2)
    solved = minimum_norm_interpolation(inputs, np.concatenate([even + linear, even - linear]), slope=slope)
    assert solved.value == pytest.approx(solved.lower_bound, rel=1e-6)
    with pytest.raises(ValueError, match="opposite pairs, 0 and 3, 1 and 4, 2 and 5"):
        minimum_norm_interpolation(inputs, [1.0, 1.0, 1.0, 0.0, 0.0, 0.0], slope=slope)


def test_nearly_equal_rays_are_no_ray():
    solved = minimum_norm_interpolation([[1.0, 0.0], [1.0, 1e-6]], [1.0, -1.0])
    assert solved.value == pytest.approx(2e6, rel=1e-5)


def test_proportional_labels_on_a_ray_are_fine():
    solved = minimum_norm_interpolation([[1.0, 0.0], [2.0, 0.0]], [1.0, 2.0])
    np.testing.assert_allclose(solved.value, 1.0, rtol=1e-6)


@pytest.mark.parametrize("slope", [0.0, 0.3])
def test_the_leaky_program_is_certified(slope):
    rng = np.random.default_rng(2)
    x, y = rng.standard_normal((4, 3)), np.array([1.0, -0.5, 0.7, -1.2])
    solved = minimum_norm_interpolation(x, y, slope=slope)
    assert solved.value - solved.lower_bound < 1e-7 * solved.value
    np.testing.assert_allclose(solved.network(x), y, atol=1e-7)
    with pytest.raises(ValueError, match=r"slope holds 1\.0"):
        minimum_norm_interpolation(x, y, slope=1.0)


@pytest.mark.parametrize(("size", "height"), [(1e-9, 1e-9), (1e150, 1e-150), (1e9, 1e-9)])
def test_data_of_any_size(size, height):
    x, y = five_on_a_line()
    plain, scaled = minimum_norm_interpolation(x, y), minimum_norm_interpolation(size * x, height * y)
    np.testing.assert_allclose(scaled.value, height / size * plain.value, rtol=1e-7)
    np.testing.assert_allclose(scaled.network(size * x), height * y, atol=1e-7 * height)
    assert scaled.stationarity < 1e-6


def test_inputs_of_many_dimensions_are_reduced_to_their_span():
    x, y = five_on_a_line()
    rotation = orthonormal_inputs(2, 300, rng=np.random.default_rng(0))
    plain, lifted = minimum_norm_interpolation(x, y), minimum_norm_interpolation(x @ rotation, y)
    np.testing.assert_allclose(lifted.value, plain.value, rtol=1e-7)
    np.testing.assert_allclose(lifted.network(x @ rotation), y, atol=1e-7)
