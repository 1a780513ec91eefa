import numpy as np
import pytest

from lib.data.synthetic import antipodal_gaussians
from lib.flow.agreement import LEFT, agreement_flow
from lib.flow.rescaled import AGREED, REACHED, rescaled_flow
from lib.geometry.patterns import agreement, cluster_radius
from lib.models.two_layer import TwoLayer, two_sided_network
from lib.theory.clustering import symmetric_pair_margin
from lib.training.descent import gradient_descent
from lib.training.losses import LOGISTIC


def data(seed=3):
    return antipodal_gaussians(40, (2, 1.5), 0.6, rng=np.random.default_rng(seed))


def start(k=3, scale=1e-2, slope=0.3, seed=0):
    return two_sided_network(k, 2, scale, rng=np.random.default_rng(seed), v=0.5, slope=slope)


def test_the_symmetric_pair_follows_its_closed_form_in_plain_time():
    x = np.array([[0.8, 0.6], [-0.8, -0.6]])
    labels, k, v, slope = np.array([1.0, -1.0]), 3, 0.8, 0.35
    w = np.array([0.1, 0.05])
    network = TwoLayer(np.repeat([w, -w], k, axis=0), v * np.repeat([1.0, -1.0], k), slope)
    q0 = network(x)[0]
    options = {"times": np.linspace(0, 20, 6), "rtol": 1e-9, "atol": 1e-12}
    for flow in (
        rescaled_flow(network, x, labels, width=1e-4, **options),
        agreement_flow(network, x, labels, **options),
    ):
        assert flow.stopped == REACHED
        exact = symmetric_pair_margin(np.expm1(flow.log_time), q0, slope=slope, k=k, v=v, norm=1.0)
        measured = [flow.network(i)(x)[0] for i in range(len(flow.s))]
        np.testing.assert_allclose(measured, exact, rtol=1e-6)
        np.testing.assert_allclose(flow.log_loss, np.log(np.log1p(np.exp(-exact))), atol=1e-5)


def test_small_gradient_descent_steps_approach_the_flow_at_first_order():
    inputs, labels = data()
    offsets = start(scale=0.05).w
    network = TwoLayer(np.repeat([[0.4, 0.3], [-0.4, -0.3]], 3, axis=0) + offsets, start().a, 0.3)
    flow = rescaled_flow(network, inputs, labels, times=np.linspace(0, 0.3, 2), width=1e-6, rtol=1e-9)
    time = np.expm1(flow.log_time[-1])
    errors = []
    for steps in (200, 400, 800):
        run = gradient_descent(
            network, inputs, labels, LOGISTIC, step=time / steps, steps=steps, train_a=False
        )
        errors.append(np.abs(run.network.w - flow.w[-1]).max())
    assert errors[2] < 2e-3
    np.testing.assert_allclose(np.divide(errors[:-1], errors[1:]), 2, rtol=0.05)


def test_the_reduction_equals_the_full_flow_and_conserves_differences():
    inputs, labels = data()
    entry = rescaled_flow(
        start(scale=0.3), inputs, labels, times=np.linspace(0, 60, 2), width=1e-4, until_agreement=True
    )
    assert entry.stopped == AGREED
    inside = rescaled_flow(
        entry.network(), inputs, labels, times=np.array([0, entry.s[-1] + 1.0]), width=1e-4
    ).network()
    times = np.linspace(0, 30, 4)
    reduced = agreement_flow(inside, inputs, labels, times=times, rtol=1e-9)
    full = rescaled_flow(inside, inputs, labels, times=times, width=1e-6, rtol=1e-9)
    np.testing.assert_allclose(reduced.w, full.w, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(reduced.log_time[-1], full.log_time[-1], rtol=1e-6)
    radii = [cluster_radius(w[:3], w[3:]) for w in full.w]
    np.testing.assert_allclose(radii, radii[0], rtol=1e-6)


def test_the_smoothing_width_moves_the_flow_by_its_own_size():
    inputs, labels = data()
    ends = [
        rescaled_flow(
            start(), inputs, labels, times=np.array([0, 0.5]), width=width, rtol=1e-9, atol=1e-12
        ).w[-1]
        for width in (1e-2, 1e-3, 1e-5)
    ]
    first, second = (np.abs(end - ends[-1]).max() for end in ends[:-1])
    assert second < first / 4 < 1e-3
    assert second < first / 5


def test_a_regime_that_ends_is_reported():
    inputs = np.array([[1.0, 0.0], [-0.5, 1.0], [-1.0, 0.0]])
    labels = np.array([1.0, 1.0, -1.0])
    w = np.array([[0.2, 0.09], [-1.0, 0.3]])
    assert agreement(w[:1], inputs)[0].tolist() == [1, -1, -1]
    flow = agreement_flow(TwoLayer(w, np.array([1.0, -1.0]), 0.1), inputs, labels, times=np.array([0, 50.0]))
    assert flow.stopped == LEFT
    assert abs(min(agreement(w[None], inputs)[1] for w in flow.w[-1])) < 1e-6


def test_the_clock_survives_times_beyond_floating_point():
    inputs, labels = data()
    network = TwoLayer(np.array([[2.0, 1.5], [-2.0, -1.5]]), np.array([1.0, -1.0]), 0.3)
    flow = agreement_flow(network, inputs, labels, times=np.array([0, 1e2, 1e4]))
    assert flow.stopped == REACHED
    assert flow.log_time[-1] > 1e4
    np.testing.assert_allclose(-flow.log_loss[-1] / flow.log_time[-1], 1, rtol=1e-3)


@pytest.mark.parametrize("margin", [1.0, 1e3, 1e6])
@pytest.mark.parametrize("longer", [1.0, 1e4, 1e7])
def test_the_clock_follows_the_symmetric_pair_at_any_margin(margin, longer):
    """There ``exp(q) + q`` grows at the rate ``k v^2 (1 + slope)^2 / 2``, so the time is known from q."""
    x, labels, k, v, slope = np.array([[0.8, 0.6], [-0.8, -0.6]]), np.array([1.0, -1.0]), 2, 0.8, 0.35
    rate = k * v**2 * (1 + slope) ** 2 / 2
    w = margin / (k * v * (1 + slope)) * x[0]
    network = TwoLayer(np.repeat([w, -w], k, axis=0), v * np.repeat([1.0, -1.0], k), slope)
    times = np.array([0.0, longer])
    for flow in (
        agreement_flow(network, x, labels, times=times),
        rescaled_flow(network, x, labels, times=times, width=1e-4),
    ):
        assert flow.log_time[0] == 0
        q0, q = network(x)[0], flow.network()(x)[0]
        gained = q + np.log(-np.expm1(q0 - q) + (q - q0) * np.exp(-q)) - np.log(rate)
        # A relative error of q is one of log t, and that of the weights adds to it where log t is small.
        assert flow.log_time[-1] == pytest.approx(np.logaddexp(0, gained), rel=1e-6, abs=1e-4)


def test_a_network_outside_every_regime_is_refused():
    inputs, labels = data()
    with pytest.raises(ValueError, match="no agreement regime: w neuron"):
        agreement_flow(start(), inputs, labels, times=np.array([0, 1.0]))


def test_means_of_one_sign_only_are_refused():
    network = TwoLayer(np.array([[2.0, 1.5]]), np.array([1.0]), 0.3)
    flow = rescaled_flow(network, *data(), times=np.array([0, 0.1]), width=1e-4)
    with pytest.raises(ValueError, match="both signs"):
        flow.mean_neurons()


def test_an_agreeing_start_is_refused_when_agreement_is_the_end():
    inputs, labels = data()
    network = TwoLayer(np.array([[2.0, 1.5], [-2.0, -1.5]]), np.array([1.0, -1.0]), 0.3)
    with pytest.raises(ValueError, match="agree at the start"):
        rescaled_flow(network, inputs, labels, times=np.array([0, 1.0]), width=1e-4, until_agreement=True)
