"""Two balanced neurons, one example a step: each class follows its clock."""

import numpy as np
from scipy.special import expit

from lib.theory.one_neuron import logit
from lib.training.balanced import balanced_runs


def test_a_class_that_is_never_drawn_stays_and_the_other_follows_its_clock():
    times = np.array([0.0, 3.0, 6.0])
    for k, norms in enumerate([(1.5, 0.8), (0.7, 2.0)]):
        samples = np.full((6000, 2), k)
        runs = balanced_runs(samples, norms, 0.1, 1e-3, np.round(times / 1e-3).astype(int))
        np.testing.assert_allclose(runs[:, :, 1 - k], expit(0.1), rtol=1e-14)
        np.testing.assert_allclose(runs[:, 0, k], expit(logit(times, 0.1, norms[k])), atol=2e-3)
