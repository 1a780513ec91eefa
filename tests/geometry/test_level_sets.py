"""Zero sets of functions of the plane."""

import numpy as np
import pytest

from lib.geometry.level_sets import bend, distance_to_data, zero_level_set


def test_level_set_of_a_parabola():
    curves = zero_level_set(lambda points: points[:, 0] - points[:, 1] ** 2 + 0.5, points=401)
    vertices = np.concatenate(curves)
    np.testing.assert_allclose(vertices[:, 0], vertices[:, 1] ** 2 - 0.5, atol=1e-4)
    # The best line through a parabola on [-1, 1] is constant; the rest is sqrt(1/5 - 1/9).
    assert bend(curves) == pytest.approx(np.sqrt(4 / 45), rel=0.02)
    assert distance_to_data(curves, np.array([[-1.0, 0.0], [3.0, 0.0]])) == pytest.approx(0.5, abs=1e-3)


def test_what_has_no_boundary_is_refused():
    with pytest.raises(ValueError, match="does not change its sign"):
        zero_level_set(lambda points: np.ones(len(points)))
    with pytest.raises(ValueError, match="0 vertices"):
        bend([np.array([[0.0, 3.0]])])
