"""The flow of raw weights, which `test_gradient` compares with the event-driven one."""

import numpy as np

from lib.flow.weights import weights_flow
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
