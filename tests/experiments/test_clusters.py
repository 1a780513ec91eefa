"""Clusters on pairs of digits: splits and settings, and the factor of clustered networks against networks."""

import numpy as np
import pytest

from experiments import clusters
from experiments.registry import find
from lib.data.digits import digits_pair
from lib.models.two_layer import TwoLayer


def test_each_seed_draws_a_start_of_its_own():
    """Angles between neurons at the start depend on nothing else."""
    experiment = find("sarussi2021-figure-2")
    found = experiment.run(experiment.fingerprint_of(experiment.full), (0, 1))
    angles = [one["0-1"]["small-start"]["angle"][0] for one in found]
    assert angles[0] != angles[1]


def test_examples_are_split_without_loss_or_repetition():
    config = clusters.DigitPairs(images="digits")
    training, test = clusters._split(config, (0, 1), 3)
    x, y = digits_pair(0, 1, centred=False)
    assert len(test[1]) == round(0.3 * len(y))
    together = np.vstack([np.column_stack(part) for part in (training, test)])
    expected = np.column_stack([x, y])
    assert np.array_equal(together[np.lexsort(together.T)], expected[np.lexsort(expected.T)])
    assert not np.array_equal(test[0], clusters._split(config, (0, 1), 4)[1][0])


def test_a_field_of_a_table_is_the_setting_of_these_sizes():
    """And its count does not depend on step and scale."""
    settings = "small-start", "0.3 0.02 1e-06", "0.3 0.5 0.1"
    config = clusters.DigitPairs(images="digits", pairs=((3, 5),), settings=settings, step=0.02, epochs=2)
    metrics = clusters.run_digit_pairs(config, 7)
    named, same, other = (metrics["3-5"][setting] for setting in settings)
    count = same.pop("count")
    assert same == named and other["count"] == pytest.approx(count, rel=1e-3)


def test_the_sharp_factor_of_odd_widths_tends_to_the_even_one_and_vanishes_for_one_pair():
    assert clusters.sharp_factor(0.3, 1) == 0
    assert clusters.sharp_factor(0.3, 100_001) == pytest.approx(clusters.sharp_factor(0.3, 2), rel=1e-4)
    assert clusters.sharp_factor(1.0, 6) == 0


def test_inputs_in_the_linear_region_are_called_by_the_means():
    rng, inside = np.random.default_rng(3), 0
    for _ in range(300):
        k, d, slope = rng.integers(1, 8), rng.integers(2, 6), rng.choice([0.05, 0.3, 0.8])
        spread, inputs = 10 ** rng.uniform(-2, 0.5), rng.standard_normal((40, d))
        w, u = (rng.standard_normal(d) + spread * rng.standard_normal((k, d)) for _ in range(2))
        network = TwoLayer(np.vstack([w, u]), np.repeat([1.0, -1.0], k), slope)
        gap = w.mean(axis=0) - u.mean(axis=0)
        for factor in (2.0, clusters.sharp_factor(slope, k) * (1 + 1e-9) + 1e-9):
            certain = ~clusters.outside(network, inputs, factor)
            inside += certain.sum()
            assert (np.sign(network(inputs)) == np.sign(inputs @ gap))[certain].all()
    assert inside > 5000


def test_a_smaller_factor_is_wrong_at_the_extremal_network():
    slope, k = 0.2, 4
    factor = clusters.sharp_factor(slope, k)
    # Half of the u products lie one radius above their mean and half below.
    w, u = np.zeros((k, 1)), np.repeat([1.0, -1.0], k // 2)[:, None] - (factor - 1e-3)
    network = TwoLayer(np.concatenate([w, u]), np.repeat([1.0, -1.0], k), slope)
    assert not clusters.outside(network, np.ones((1, 1)), factor - 2e-3).any()
    assert network([[1.0]]) < 0 < (w - u).mean()
