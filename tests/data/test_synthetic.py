"""The families of synthetic data against what they promise."""

import numpy as np
import pytest

from lib.data.synthetic import (
    SEPARABLE,
    antipodal_gaussians,
    circle,
    cone_data,
    orthonormal_classes,
    orthonormal_inputs,
    separable_data,
    simplex,
    two_moons_with_gap,
)
from lib.geometry.patterns import least_signed_cosine


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("mu", [-0.5, 1e-6, 0.9])
def test_cone_data_has_its_least_cosine_and_norms(seed, mu):
    inputs, labels = cone_data(3, 4, 5, mu, rng=np.random.default_rng(seed), norms=(0.5, 2.0))
    assert labels.tolist() == [1.0] * 3 + [-1.0] * 4
    lengths = np.linalg.norm(inputs, axis=1)
    assert lengths.min() >= 0.5 and lengths.max() <= 2 and np.ptp(lengths) > 0.1
    signed = labels[:, None] * inputs / lengths[:, None]
    assert (signed @ signed.T).min() == pytest.approx(mu, abs=1e-15)


@pytest.mark.parametrize("mu", [0.0, 1e-8, 0.5])
def test_a_simplex_has_one_cosine(mu):
    vectors = simplex(5, mu)
    np.testing.assert_allclose(vectors @ vectors.T, mu + (1 - mu) * np.eye(5), atol=1e-15)
    with pytest.raises(ValueError, match=r"mu holds 1\.0, allowed"):
        simplex(5, 1.0)


def test_a_circle_starts_to_the_right_and_goes_round_to_the_left():
    np.testing.assert_allclose(circle([0, 90, 225]), [[1, 0], [0, 1], [-(0.5**0.5)] * 2], atol=1e-15)


@pytest.mark.parametrize("family", SEPARABLE)
def test_separable_data_are_separable_and_spread_over_decades(family):
    for seed in range(20):
        inputs, labels = separable_data(family, 25, rng=np.random.default_rng(seed), decades=2)
        lengths = np.linalg.norm(inputs, axis=1)
        assert 0.1 <= lengths.min() < 0.3 and 3 < lengths.max() <= 10
        assert set(labels) == {-1, 1} and least_signed_cosine(inputs, labels) > 0


def test_gaussians_without_spread_are_antipodes():
    inputs, labels = antipodal_gaussians(4, (3.0, 0.0, 1.0), 0.0, rng=np.random.default_rng(0))
    np.testing.assert_array_equal(inputs, labels[:, None] * [3.0, 0.0, 1.0])
    wide, _ = antipodal_gaussians(40_000, (3.0, 0.0), 2.0, rng=np.random.default_rng(0))
    # The standard deviation of 20,000 draws, within five of its own, 2/sqrt(40,000).
    assert wide[:20_000].std(axis=0) == pytest.approx(2, abs=0.05)


@pytest.mark.parametrize("gap", [-0.1, 0.1])
def test_moons_have_their_gap(gap):
    inputs, labels = two_moons_with_gap(300, gap, rng=np.random.default_rng(0))
    assert (labels * inputs[:, 0]).min() == pytest.approx(gap, abs=0.03)
    assert labels.sum() == 0


def test_orthonormal_inputs_are_orthonormal_and_uniform():
    rng = np.random.default_rng(0)
    draws = np.array([orthonormal_inputs(2, 3, rng=rng) for _ in range(4000)])
    np.testing.assert_allclose(draws @ draws.mT, np.broadcast_to(np.eye(2), (4000, 2, 2)), atol=1e-14)
    # Each coordinate of a uniform direction in space is uniform on [-1, 1]: mean 0, mean square 1/3.
    assert draws.mean(axis=0) == pytest.approx(np.zeros((2, 3)), abs=5 / np.sqrt(3 * 4000))
    assert (draws**2).mean(axis=0) == pytest.approx(1 / 3, abs=5 * 0.3 / np.sqrt(4000))


@pytest.mark.parametrize("seed", range(4))
def test_orthonormal_classes_have_the_larger_class_first(seed):
    inputs, labels = orthonormal_classes(3, 2, 0.5, rng=np.random.default_rng(seed))
    np.testing.assert_allclose(inputs @ inputs.T, np.eye(5), atol=1e-14)
    assert np.sign(labels).tolist() == [1, 1, 1, -1, -1] and inputs.shape == (5, 7)
    assert (abs(labels[:3] - 1) <= 0.5).all() and labels[3] / labels[4] <= 3
    assert 0.4 <= np.linalg.norm(labels[3:]) / np.linalg.norm(labels[:3]) <= 0.8
