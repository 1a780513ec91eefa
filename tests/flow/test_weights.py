"""The flow of raw weights against the event-driven one, and what both conserve."""

import numpy as np
import pytest

from lib.flow import gradient_flow
from lib.flow.weights import weights_flow
from lib.models.two_layer import TwoLayer
from lib.training.losses import LOGISTIC, SQUARE


@pytest.mark.parametrize(("loss", "slope"), [(LOGISTIC, 0.0), (SQUARE, 1.0)])
def test_two_flows_agree_while_no_activation_changes(loss, slope):
    rng = np.random.default_rng(0)
    x, y, rates = np.abs(rng.standard_normal((3, 4))), np.array([1.0, 1.0, 1.0]), np.array([0.5, 1.0, 2.0])
    network = TwoLayer(np.abs(rng.standard_normal((2, 4))), [0.3, 0.7], slope)
    times = [0.0, 0.5, 4.0]
    run = weights_flow(network, x, y, loss, times, rates=rates)
    other = gradient_flow(network, x, y, loss, until=4.0, reduction="sum", weights=rates)
    np.testing.assert_allclose(run(x), other.outputs(times), rtol=1e-8)
    balance = run.a**2 - (run.w**2).sum(axis=-1)
    np.testing.assert_allclose(balance, np.broadcast_to(balance[0], balance.shape), atol=1e-8)


def test_networks_beside_each_other_do_not_see_each_other():
    rng = np.random.default_rng(1)
    w, a, x = rng.standard_normal((5, 2, 3)), rng.standard_normal((5, 2)), rng.standard_normal((5, 4, 3))
    y, times = np.array([1.0, -1.0, 1.0, -1.0]), [0.0, 1.0]
    together = weights_flow(TwoLayer(w, a, 1.0), x, y, LOGISTIC, times)
    for k in range(5):
        alone = weights_flow(TwoLayer(w[k], a[k], 1.0), x[k], y, LOGISTIC, times)
        np.testing.assert_allclose(together.w[:, k], alone.w, rtol=1e-8, atol=1e-9)
