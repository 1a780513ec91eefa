"""Two inputs on one neuron: the network has the state that is asked for, and rests at the saddle."""

import numpy as np
import pytest
from scipy.special import expit

from lib.theory.one_neuron import logit
from lib.theory.two_inputs import balanced_runs, cases, neuron, pair, saddle
from lib.training.losses import LOGISTIC

N1, N2 = np.array([[0.1, 1.5], [3.0, 8.0]]), np.array([[2.0, 0.6], [3.0, 0.9]])


def test_inputs_are_orthogonal_and_of_the_norms():
    inputs = pair(N1, N2, rng=np.random.default_rng(1))
    gram = inputs @ np.swapaxes(inputs, -1, -2)
    np.testing.assert_allclose(gram[..., 0, 1], 0, atol=1e-13)
    np.testing.assert_allclose(np.einsum("...ii->...i", gram), np.stack([N1, N2], axis=-1) ** 2)


def test_the_network_has_the_state():
    rng = np.random.default_rng(2)
    state = rng.standard_normal((3, 2, 2))
    inputs = pair(N1, N2, rng=rng)
    network = neuron(state, inputs, rng=rng, slope=1.0)
    np.testing.assert_allclose(np.moveaxis(network.preactivations(inputs)[..., 0], -1, 0), state[:2])
    np.testing.assert_array_equal(network.a[..., 0], state[2])
    one = neuron(state[:, 0, 0], inputs[0, 0], rng=rng)
    assert one.w.shape == (1, 3) and one.a.shape == (1,)


def test_the_flow_rests_at_the_saddle_and_leaves_it_at_the_rates():
    rng, step = np.random.default_rng(3), 1e-5
    for n1, n2, c in ((1.0, 1.0, 2.0), (0.2, 1.5, 30.0), (4.0, 0.7, 0.1)):
        inputs = pair(n1, n2, rng=rng)
        s, stable, unstable = saddle(c, n1, n2)
        for any_c in (1e-20 * c, c, 1e20 * c):
            assert np.prod(saddle(any_c, n1, n2)[1:]) == pytest.approx(-(n1**2 + n2**2) / 4, rel=1e-14)

        def velocity(state, inputs=inputs):
            network = neuron(state, inputs, rng=rng)
            in_w, in_a = network.gradients(inputs, lambda f: LOGISTIC.slope(f, np.array([1.0, -1.0])))
            return -np.append(inputs @ in_w[0], in_a)

        rest = np.array([s, s, 0.0])
        assert abs(np.sum(rest[:2] ** 2 / [n1**2, n2**2]) - c) < 1e-12 * c
        assert abs(velocity(rest)).max() < 1e-15
        jacobian = [(velocity(rest + e) - velocity(rest - e)) / (2 * step) for e in step * np.eye(3)]
        rates = np.sort(np.linalg.eigvals(np.transpose(jacobian)).real)
        np.testing.assert_allclose(rates, [stable, 0, unstable], atol=1e-7)


def test_a_class_that_is_never_drawn_stays_and_the_other_follows_its_clock():
    times = np.array([0.0, 3.0, 6.0])
    for k, norms in enumerate([(1.5, 0.8), (0.7, 2.0)]):
        samples = np.full((6000, 2), k)
        runs = balanced_runs(samples, norms, 0.1, 1e-3, np.round(times / 1e-3).astype(int))
        np.testing.assert_allclose(runs[:, :, 1 - k], expit(0.1), rtol=1e-14)
        np.testing.assert_allclose(runs[:, 0, k], expit(logit(times, 0.1, norms[k])), atol=2e-3)


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
    # From the same draws, the third family has four times the output weight of the second.
    again = [case.start for case in cases(lambda *_: 1.0, (np.random.default_rng(0) for _ in range(15)))]
    np.testing.assert_allclose(again[10], np.array(again[5]) * [1, 1, 4], rtol=1e-14)
