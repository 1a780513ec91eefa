"""The factor of clustered networks against programs and networks."""

import numpy as np
import pytest

from lib.models.two_layer import TwoLayer
from lib.theory import clustering


@pytest.mark.parametrize("slope", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("k", [1, 2, 3, 4, 5])
def test_the_sharp_factor_is_what_linear_programs_find(slope, k):
    assert clustering.largest_flip(slope, k) == pytest.approx(clustering.sharp_factor(slope, k), abs=1e-10)


def test_the_sharp_factor_of_odd_widths_tends_to_the_even_one_and_vanishes_for_one_pair():
    assert clustering.sharp_factor(0.3, 1) == 0
    assert clustering.sharp_factor(0.3, 100_001) == pytest.approx(clustering.sharp_factor(0.3, 2), rel=1e-4)
    assert clustering.sharp_factor(1.0, 6) == 0


def test_inputs_in_the_linear_region_are_called_by_the_means():
    rng, inside = np.random.default_rng(3), 0
    for _ in range(300):
        k, d, slope = rng.integers(1, 8), rng.integers(2, 6), rng.choice([0.05, 0.3, 0.8])
        spread, inputs = 10 ** rng.uniform(-2, 0.5), rng.standard_normal((40, d))
        w, u = (rng.standard_normal(d) + spread * rng.standard_normal((k, d)) for _ in range(2))
        network = TwoLayer(np.vstack([w, u]), np.repeat([1.0, -1.0], k), slope)
        gap = w.mean(axis=0) - u.mean(axis=0)
        for factor in (2.0, clustering.sharp_factor(slope, k) * (1 + 1e-9) + 1e-9):
            certain = clustering.linear_region(w, u, inputs, factor)
            inside += certain.sum()
            assert (np.sign(network(inputs)) == np.sign(inputs @ gap))[certain].all()
    assert inside > 5000


def test_a_smaller_factor_is_wrong_at_the_extremal_network():
    slope, k = 0.2, 4
    factor = clustering.sharp_factor(slope, k)
    # Half of the u products lie one radius above their mean and half below.
    w, u = np.zeros((k, 1)), np.repeat([1.0, -1.0], k // 2)[:, None] - (factor - 1e-3)
    network = TwoLayer(np.concatenate([w, u]), np.repeat([1.0, -1.0], k), slope)
    assert clustering.linear_region(w, u, np.ones((1, 1)), factor - 2e-3).all()
    assert network([[1.0]]) < 0 < (w - u).mean()
