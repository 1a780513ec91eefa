"""The planar examples of an unbalanced small start."""

import numpy as np
import pytest

from lib.experiments.min2024 import drop_count, planar_flow


@pytest.mark.parametrize("drops", [1, 2, 3])
def test_drops_are_counted_whatever_their_unit(drops):
    times = np.linspace(0, 30, 601)
    losses = drops - sum(np.tanh(times - 7 * (k + 1)) for k in range(drops))
    assert drop_count(times, losses) == drop_count(1e3 * times, 1e-3 * losses) == drops
    ripple = 1e-3 * np.sin(10 * times)
    assert drop_count(times, losses + ripple) == drops


@pytest.mark.parametrize("angle", [0.0, 0.7])
def test_every_neuron_keeps_the_difference_of_the_squares_of_its_layers(angle):
    inputs = [[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]]
    run = planar_flow(inputs, [1, -1], 5000, rng=np.random.default_rng(0))
    first, last = (np.exp(2 * part[[0, -1]]) for part in (run.log_norms, run.log_outputs))
    # The squares grow by exp(2 t |D|) < exp(10), with errors of 1e-6 of themselves at most.
    tolerance = 1e-6 * np.maximum(first, last).max(axis=0)
    assert (np.abs(np.diff(last - first, axis=0)[0]) <= 10 * tolerance).all()
