"""The synthetic families keep their own promises."""

import numpy as np
import pytest

from lib.data import synthetic as datasets
from lib.geometry.patterns import least_signed_cosine, require_orthogonally_separable, signed_cosines


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("mu", [1e-6, 0.1, 0.9])
def test_cone_data_has_its_mu(seed, mu):
    inputs, labels = datasets.cone_data(3, 4, 5, mu, rng=np.random.default_rng(seed), norms=(0.5, 2.0))
    assert labels.tolist() == [1.0] * 3 + [-1.0] * 4
    lengths = np.linalg.norm(inputs, axis=1)
    assert lengths.min() >= 0.5 and lengths.max() <= 2
    assert least_signed_cosine(inputs, labels) == pytest.approx(mu, abs=1e-15)
    assert require_orthogonally_separable(inputs, labels) == pytest.approx(mu, abs=1e-15)
    assert signed_cosines(inputs, labels)[0, -1] == pytest.approx(mu, abs=1e-15)


@pytest.mark.parametrize("mu", [-0.2, 0.0, 0.4, 1.0])
def test_simplex_data_has_all_cosines_equal(mu):
    x = datasets.simplex_data(6, mu)
    np.testing.assert_allclose(x @ x.T, np.where(np.eye(6), 1.0, mu), atol=1e-15)


def test_digits_are_centred():
    inputs, labels = datasets.digits_pair(1, 0)
    assert inputs.shape == (360, 64) and set(labels) == {-1.0, 1.0}
    plus, minus = (labels[:, None] * inputs)[labels > 0].sum(axis=0), inputs[labels < 0].sum(axis=0)
    np.testing.assert_allclose(plus, -minus, atol=1e-12)
    raw, _ = datasets.digits_pair(1, 0, centred=False)
    assert raw.min() == 0 and raw.max() == 1


def test_gaussians_without_spread_sit_at_their_means():
    inputs, labels = datasets.antipodal_gaussians(4, (3.0, 0.0, 0.0), 0.0, rng=np.random.default_rng(0))
    np.testing.assert_array_equal(inputs, labels[:, None] * [3.0, 0.0, 0.0])
