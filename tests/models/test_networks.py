"""Two-layer networks: the formula, gradients by complex steps, batches, and starts at every scale."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lib.models.two_layer import Start, TwoLayer


def drawn(seed=0, lead=(), m=4, d=3, slope=0.3):
    rng = np.random.default_rng(seed)
    return TwoLayer(rng.standard_normal((*lead, m, d)), rng.standard_normal((*lead, m)), slope)


@pytest.mark.parametrize("slope", [0.0, 0.3, 1.0])
def test_outputs_and_gradients_are_those_of_the_formula(slope):
    network, inputs = drawn(slope=slope), np.random.default_rng(3).standard_normal((5, 3))
    slopes, step = np.linspace(-1, 1, 5), 1e-30
    in_w, in_a = network.gradients(inputs, slopes)

    def outputs(w, a):
        z = inputs @ w.T
        return np.where(z.real > 0, z, slope * z) @ a

    np.testing.assert_allclose(network(inputs), outputs(network.w, network.a), rtol=1e-13)
    for j in range(4):
        for k in range(3):
            w = network.w.astype(complex)
            w[j, k] += 1j * step
            assert slopes @ outputs(w, network.a).imag / step == pytest.approx(in_w[j, k], rel=1e-12)
        a = network.a.astype(complex)
        a[j] += 1j * step
        assert slopes @ outputs(network.w, a).imag / step == pytest.approx(in_a[j], rel=1e-12)


def test_networks_and_starts_keep_copies():
    """What happens to the arrays that they were made from changes nothing."""
    w, a, log_norms = np.eye(2), np.ones(2), np.zeros(2)
    network, start = TwoLayer(w, a), Start(w, log_norms, a, a)
    for array in (w, a, log_norms):
        array[...] = 5.0
    np.testing.assert_array_equal(network.w, np.eye(2))
    np.testing.assert_array_equal(start.directions, np.eye(2))
    kept = (network.a, start.signs, start.log_outputs, start.log_norms + 1)
    assert (np.array(kept) == 1).all()


def test_at_zero_the_derivative_is_the_slope():
    in_w, in_a = TwoLayer([[0.0]], [2.0], 0.25).gradients([[3.0]], [1.0])
    assert in_w.item() == 2 * 0.25 * 3 and in_a.item() == 0


def test_leading_axes_of_networks_and_of_inputs():
    batch, rng = drawn(lead=(2, 3)), np.random.default_rng(4)
    shared, own = rng.standard_normal((5, 3)), rng.standard_normal((2, 3, 5, 3))
    assert batch(shared).shape == batch(own).shape == (2, 3, 5)
    slopes = rng.standard_normal((2, 3, 5))
    in_w, in_a = batch.gradients(own, slopes)
    for index in np.ndindex(2, 3):
        one = TwoLayer(batch.w[index], batch.a[index], batch.slope)
        np.testing.assert_allclose(batch(shared)[index], one(shared), rtol=1e-12)
        np.testing.assert_allclose(batch(own)[index], one(own[index]), rtol=1e-12)
        for whole, part in zip((in_w, in_a), one.gradients(own[index], slopes[index]), strict=True):
            np.testing.assert_allclose(whole[index], part, rtol=1e-12, atol=1e-13)


@given(st.integers(-300, 300), st.integers(1, 5), st.integers(1, 5))
def test_gaussian_starts_are_balanced_at_every_scale(exponent, m, d):
    start = Start.gaussian(m, d, exponent * np.log(10), rng=np.random.default_rng(0))
    np.testing.assert_array_equal(start.log_norms, start.log_outputs)
    network, scale = start.network(0.2), 10.0**exponent
    # The exponential of a logarithm of size 700 keeps 13 digits.
    np.testing.assert_allclose(network.w / scale, gaussian(m, d), rtol=1e-12)
    np.testing.assert_allclose(abs(network.a) / scale, np.linalg.norm(gaussian(m, d), axis=1), rtol=1e-12)
    assert network.slope == 0.2


def gaussian(m, d):
    return np.random.default_rng(0).standard_normal((m, d))


def test_two_sided_starts_are_gaussians_below_fixed_outputs():
    start = Start.two_sided(3, 2, np.log(0.5), rng=np.random.default_rng(0), v=0.25)
    network = start.network()
    np.testing.assert_allclose(network.w, 0.5 * gaussian(6, 2), rtol=1e-14)
    np.testing.assert_allclose(network.a, [0.25, 0.25, 0.25, -0.25, -0.25, -0.25], rtol=1e-15)


@given(st.integers(-150, 150), st.integers(-150, 150), st.integers(0, 9))
def test_a_start_of_a_network_is_the_network(inner, outer, seed):
    rng = np.random.default_rng(seed)
    network = TwoLayer(
        10.0**inner * rng.standard_normal((2, 4, 3)), 10.0**outer * rng.standard_normal((2, 4))
    )
    again = Start.of(network).network()
    np.testing.assert_allclose(again.w, network.w, rtol=1e-12)
    np.testing.assert_allclose(again.a, network.a, rtol=1e-12)


def test_a_scaled_start_is_the_scaled_network():
    start = Start.two_sided(2, 3, -1.0, rng=np.random.default_rng(0), v=2.0)
    once, more = start.network(), start.scaled(np.log(3)).network()
    np.testing.assert_allclose(more.w, 3 * once.w, rtol=1e-14)
    np.testing.assert_allclose(more.a, 3 * once.a, rtol=1e-14)


def test_rounding_does_not_unbalance_a_network_and_one_neuron_of_two_may_be_balanced():
    for seed in range(50):
        network = Start.gaussian(20, 30, -seed, rng=np.random.default_rng(seed)).network()
        start = Start.of(network)
        np.testing.assert_array_equal(start.log_norms, start.log_outputs)
    half = Start.of(TwoLayer([[3.0, 4.0], [3.0, 4.0]], [-5.0, 5.0 * (1 + 1e-13)]))
    assert (half.log_norms == half.log_outputs).tolist() == [True, False]
    assert half.signs.tolist() == [-1.0, 1.0]


def test_absent_weights_have_log_norm_minus_infinity():
    network = TwoLayer([[0.0, 0.0], [3.0, 4.0]], [0.0, 0.0])
    start = Start.of(network)
    assert np.isneginf(start.log_norms).tolist() == [True, False] and np.isneginf(start.log_outputs).all()
    np.testing.assert_allclose(start.network().w, network.w, rtol=1e-15)


@given(st.integers(-100, 100), st.sampled_from([(), (3,), (2, 3)]))
def test_a_balanced_network_has_output_weights_as_large_as_its_inputs(exponent, lead):
    rng = np.random.default_rng(0)
    w, signs = 10.0**exponent * rng.standard_normal((*lead, 4, 3)), rng.choice([-1, 1], (*lead, 4))
    network = TwoLayer.balanced(w, signs, 0.3)
    assert network.slope == 0.3 and (network.w == w).all() and (np.sign(network.a) == signs).all()
    np.testing.assert_allclose(network.a**2, (w**2).sum(axis=-1), rtol=1e-13)
    start = Start.of(network)
    np.testing.assert_array_equal(start.log_norms, start.log_outputs)
    common = TwoLayer.balanced(w, signs.reshape(-1, 4)[0])
    assert (np.sign(common.a) == signs.reshape(-1, 4)[0]).all(), "signs (m,) are those of all networks"


@pytest.mark.parametrize("signs", [[1, 0], [1, -2], [1], [[1], [1]]])
def test_a_balanced_network_has_one_sign_a_neuron(signs):
    with pytest.raises(ValueError, match=r"^signs .*allowed"):
        TwoLayer.balanced(np.eye(2), signs)


def test_neurons_are_chosen_by_indices_masks_and_slices_in_every_network():
    start = Start.of(drawn(lead=(2,), m=4))
    for chosen in ([3, 0], np.array([True, False, False, True]), slice(1, None)):
        part, whole = start.neurons(chosen).network(0.3), start.network(0.3)
        np.testing.assert_array_equal(part.w, whole.w[:, chosen])
        np.testing.assert_array_equal(part.a, whole.a[:, chosen])


def test_a_stack_of_starts_is_their_networks_side_by_side():
    starts = [Start.of(drawn(k)) for k in range(3)] + [
        Start.gaussian(4, 3, -9.0, rng=np.random.default_rng(1))
    ]
    whole = Start.stack(starts).network(0.3)
    for k, start in enumerate(starts):
        np.testing.assert_array_equal(whole.w[k], start.network().w)
        np.testing.assert_array_equal(whole.a[k], start.network().a)
    again = Start.stack([Start.stack(starts), Start.stack(starts[::-1])])
    np.testing.assert_array_equal(again.log_outputs[0], again.log_outputs[1, ::-1])


@pytest.mark.parametrize("sizes", [[], [3, 4]])
def test_a_stack_needs_starts_of_one_shape(sizes):
    starts = [Start.gaussian(m, 2, 0.0, rng=np.random.default_rng(0)) for m in sizes]
    with pytest.raises(ValueError, match=r"^starts have directions of shapes .*allowed: one shape"):
        Start.stack(starts)
