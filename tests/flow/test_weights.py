"""The flow of raw weights, which `test_gradient` compares with the event-driven one."""

import numpy as np
from scipy.integrate import quad
from scipy.special import expit

from lib.flow.weights import layers_flow, weights_flow
from lib.models.deep import balanced, outputs
from lib.models.two_layer import TwoLayer
from lib.training.losses import LOGISTIC


def test_networks_beside_each_other_do_not_see_each_other():
    rng = np.random.default_rng(1)
    w, a, x = rng.standard_normal((5, 2, 3)), rng.standard_normal((5, 2)), rng.standard_normal((5, 4, 3))
    y, times = np.array([1.0, -1.0, 1.0, -1.0]), [0.0, 1.0]
    together = weights_flow(TwoLayer(w, a, 1.0), x, y, LOGISTIC, times)
    for k in range(5):
        alone = weights_flow(TwoLayer(w[k], a[k], 1.0), x[k], y, LOGISTIC, times)
        np.testing.assert_allclose(together.w[:, k], alone.w, rtol=1e-8, atol=1e-9)


def test_a_balanced_chain_has_the_speed_of_its_logit():
    """N |x|^(2/N) u^(2 - 2/N) / (1 + e^u) [combes2018, Eq. 5], integrated."""
    x, goals = np.array([[0.7, 0.0]]), np.array([0.1, 0.5, 3.0])
    for depth in (2, 3, 7):

        def slowness(u, depth=depth):
            return u ** (2 / depth - 2) / expit(-u) / depth / 0.7 ** (2 / depth)

        times = np.cumsum([quad(slowness, *ends)[0] for ends in zip([0.1, 0.1, 0.5], goals, strict=True)])
        flow = layers_flow(balanced(0.1, depth, x, [1.0]), x, [1.0], times[-1])
        np.testing.assert_allclose(outputs(flow(times), x)[:, 0], goals, rtol=1e-8)
