"""Two inputs on one neuron: the network has the state that is asked for."""

import numpy as np

from lib.data.two_inputs import neuron, pair

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
