"""The census of ends: where a network is, crossings that the integrator does not see, and draws."""

import dataclasses

import numpy as np
import pytest
from scipy.stats import norm

from experiments import fates
from experiments.registry import find
from lib.data.synthetic import antipodal_gaussians
from lib.geometry.level_sets import boundary_bend
from lib.models.two_layer import TwoLayer

CORNERS, CLASSES = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]]), np.array([1.0, 1.0, -1.0])


def pair(w, u):
    return TwoLayer(np.array([w, u]), np.array([1.0, -1.0]), 0.1)


@pytest.mark.parametrize(
    ("w", "u", "where"),
    [
        ((1, 1), (-1, -1), "perfect"),
        ((1, 1), (-1, 0), "kink"),
        ((1, 1), (-1, 1), "other"),
        ((1, -1), (-1, -1), "outside"),
        ((1, 1), (1, -1), "outside"),
    ],
)
def test_where_a_network_is(w, u, where):
    assert fates.side(pair(w, u), CORNERS, CLASSES) == where


def test_the_chance_of_error_is_that_of_the_best_line_and_the_share_of_errors_at_fresh_points():
    mean, spread, draws = (1.0, 0.6), 0.6, np.random.default_rng(0)
    line = fates.chance_of_error(pair(mean, (-1.0, -0.6)), mean, spread)
    assert line == pytest.approx(norm.cdf(-np.hypot(*mean) / spread), abs=1e-5)
    x, y = antipodal_gaussians(200_000, mean, spread, rng=draws)
    # Rays of both signs are not opposite to each other: the boundary is bent.
    bent = TwoLayer(
        np.array([[1.0, 0.3], [-1.0, 1.0], [0.2, 1.0], [-1.0, -1.0]]), np.array([1.0, 1, -1, -1]), 0.1
    )
    assert boundary_bend(bent) > 10
    assert fates.chance_of_error(bent, mean, spread) == pytest.approx(np.mean(y * bent(x) < 0), abs=4e-3)


def test_samples_are_separable_and_starts_of_all_scales_are_the_same():
    config = find("sarussi2021-census").quick
    draws = np.random.default_rng(0)
    x, y, margin = fates._sample(config, draws)
    assert margin > 0 and sorted(set(y)) == [-1, 1] and x.shape == (config.examples, 2)
    found = fates.run_census(config, 1)
    assert found == fates.run_census(config, 1) != fates.run_census(config, 2)
    assert len(found["margins"]) == len(found["foretold"]) == config.samples
    assert all(len(one) == config.samples for one in found["fates"]["2"].values())


def test_the_neuron_arrives_at_the_kink_later_for_a_lower_point():
    experiment = find("sarussi2021-waiting")
    found = experiment.run(dataclasses.replace(experiment.full, heights=(0.4, 0.3)), (0,))[0]
    assert 0 < found["times"][0] < found["times"][1]
    for height, w in zip((0.4, 0.3), found["neurons"], strict=True):
        assert -1e-6 < w[0] @ np.array([-np.sqrt(1 - height**2), height]) < 0 < w[0][0]
