"""Two inputs on one neuron: the network has the state that is asked for."""

import numpy as np

from lib.data.two_inputs import cases, neuron, pair

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
