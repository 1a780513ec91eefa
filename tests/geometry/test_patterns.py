"""Patterns, directions and clusters against hand-made configurations."""

import numpy as np
import pytest

from lib.geometry import patterns as geometry


def test_the_least_signed_cosine_is_that_of_two_different_data():
    inputs = np.array([[1.0, 0.0], [1.2, 1.6], [0.6, 0.8]])
    assert geometry.least_signed_cosine(inputs, [1, 1, -1]) == pytest.approx(-1)
    assert geometry.least_signed_cosine(inputs[:2], [-1, -1]) == pytest.approx(0.6)
    assert geometry.least_signed_cosine(inputs[:1], [1]) == 1.0


def test_regions():
    inputs, labels = np.array([[1.0, 0.0], [-1.0, 0.0]]), np.array([1.0, -1.0])
    w = np.array([[1.0, 5.0], [-1.0, 0.0], [0.0, 1.0]])
    assert geometry.regions(w @ inputs.T > 0, labels).tolist() == ["S+", "S-", "dead"]
    every = np.ones((2, 3, 2), dtype=bool)
    assert (geometry.regions(every, labels) == "other").all()
    for sign, region in ((1, "S+"), (-1, "S-")):  # dead also where the data are of one class
        found = geometry.regions([[False, False], [True, True]], [sign, sign])
        assert found.tolist() == ["dead", region]


@pytest.mark.parametrize("scale", [1e-200, 1.0, 1e200])
def test_directions_do_not_depend_on_the_size_of_vectors(scale):
    rng = np.random.default_rng(0)
    w, v = rng.standard_normal((4, 3)), rng.standard_normal(3)
    expected = w @ v / np.linalg.norm(w, axis=1) / np.linalg.norm(v)
    np.testing.assert_allclose(geometry.cosine(scale * w, v), expected)
    assert geometry.largest_angle(scale * w) == pytest.approx(geometry.largest_angle(w), rel=1e-14)


@pytest.mark.parametrize("angle", [1e-9, 1e-4, 1.0, 90.0, 179.0, 180 - 1e-9])
def test_angles_are_exact_next_to_zero_and_to_a_half_turn(angle):
    turned = np.array([np.cos(np.radians(angle)), np.sin(np.radians(angle))])
    found = geometry.largest_angle(np.array([[1.0, 0.0], turned]))
    assert found == pytest.approx(angle, rel=1e-14, abs=1e-20)


def test_the_cluster_radius_is_that_of_the_widest_group():
    group = np.array([[1.0, 0.0], [0.0, 1.0]])
    assert geometry.cluster_radius(group, 3 * group) == pytest.approx(3 * np.sqrt(0.5))
