"""Boundaries in the plane against circles, lines and fine grids."""

import numpy as np
import pytest

from lib.geometry.level_sets import bend, boundary_angles, boundary_bend, distance_to_data, zero_level_set
from lib.models.two_layer import TwoLayer


def test_a_curve_includes_the_segments_between_its_vertices():
    data = np.array([[0.3, 0.4], [5.0, 5.0]])
    assert distance_to_data([np.array([[-1.0, 0.0], [1.0, 0.0]])], data) == pytest.approx(0.4)
    assert distance_to_data([np.array([[-2.0, 0.4], [-0.7, 0.4]])], data) == pytest.approx(1.0)
    twice = np.array([[0.3, 0.0], [0.3, 0.0], [0.3, -1.0]])
    assert distance_to_data([twice, 9 + twice], data) == pytest.approx(0.4)


def test_the_level_set_of_a_circle_converges_with_the_square_of_the_spacing():
    centre = np.array([0.5, 0.0])

    def error(points):
        [curve] = zero_level_set(lambda x: ((x - centre) ** 2).sum(axis=1) - 1, points=points)
        return abs(distance_to_data([curve], [centre]) - 1)

    assert error(41) / error(161) == pytest.approx(16, rel=0.2)


def test_a_bend_is_that_of_the_residual_of_the_best_line():
    x2 = np.linspace(-2, 2, 41)
    assert bend([np.column_stack([3 - 0.5 * x2, x2])]) < 1e-14
    inside = x2[np.abs(x2) < 1]
    expected = np.std(inside**2)
    assert bend([np.column_stack([x2**2, x2])]) == pytest.approx(expected, rel=1e-12)


def test_no_boundary_is_said_so():
    with pytest.raises(ValueError, match="does not change its sign"):
        zero_level_set(lambda x: np.full(len(x), np.nan), points=5)
    with pytest.raises(ValueError, match="have 2 vertices"):
        bend([[[0.0, 0.0], [1.0, 0.5]]])


def test_boundary_angles_are_zeros_of_the_network():
    rng = np.random.default_rng(1)
    for _ in range(20):
        network = TwoLayer(rng.standard_normal((10, 2)), np.repeat([1.0, -1.0], 5), 0.1)
        angles = np.radians(boundary_angles(network))
        if len(angles):
            assert np.abs(network(np.column_stack([np.cos(angles), np.sin(angles)]))).max() < 1e-12
        grid = np.linspace(0, 2 * np.pi, 20001)[:-1] + 1e-5
        signs = np.sign(network(np.column_stack([np.cos(grid), np.sin(grid)])))
        assert np.count_nonzero(signs != np.roll(signs, 1)) == len(angles)


@pytest.mark.parametrize("turn", [0.0, 1e-12, -1e-12, 90.0, 123.4, 180.0, 270.0, 359.9999999])
def test_opposite_neurons_have_one_kink_wherever_it_lies(turn):
    w = [np.cos(np.radians(turn + 90)), np.sin(np.radians(turn + 90))]
    rays = boundary_angles(TwoLayer(np.outer([1.0, -1.0, 0.3, -2.0], w), [1.0, -1.0, 0.2, -0.5], 0.5))
    apart = (rays - [[turn], [turn + 180]] + 180) % 360 - 180
    assert len(rays) == 2 and (np.abs(apart) < 1e-8).any(axis=1).all()


def test_a_clustered_network_has_a_straight_boundary_and_another_a_right_angle():
    clustered = TwoLayer(np.repeat([[1.0, 0.3], [-0.2, 1.0]], 3, axis=0), np.repeat([1.0, -1.0], 3), 0.1)
    assert boundary_bend(clustered) < 1e-12
    assert boundary_bend(TwoLayer(np.eye(2), np.ones(2))) == pytest.approx(90)
    with pytest.raises(ValueError, match="4 rays"):
        boundary_bend(TwoLayer(np.vstack([np.eye(2), -np.eye(2)]), np.array([1.0, -1.0, 1.0, -1.0]), 0.0))
