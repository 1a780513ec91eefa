"""Draws with a rare feature: the neuron has the start, the families are what they are called."""

import numpy as np

from lib.theory.rare_feature import cases


def test_the_networks_have_the_starts_in_three_families():
    found = list(cases(lambda rng, family: family - 1.5, map(np.random.default_rng, range(15))))
    assert len(found) == 15
    for j, case in enumerate(found):
        alpha, beta, a = case.start
        np.testing.assert_allclose(case.features @ case.network.w[0], [alpha, beta], rtol=1e-10, atol=1e-15)
        assert case.network.a == [a] and a > 0 and alpha > 0
        np.testing.assert_allclose(beta, (j // 5 - 1.5) * case.k * case.rate * alpha, rtol=1e-12)
        gram = case.features @ case.features.T
        np.testing.assert_allclose(gram, case.norm**2 * np.diag([1, case.k]), atol=1e-12 * gram.max())
        assert 0 < case.rate < 1 and (case.norm == case.k == 1) == (j < 5)
