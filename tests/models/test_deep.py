"""Deep networks: gradients by differences, two layers by the other class, batches."""

from itertools import pairwise

import numpy as np
import pytest

from lib.models import deep
from lib.models.two_layer import TwoLayer
from lib.training.losses import LOGISTIC

Y = np.array([1.0, -1.0, 1.0, -1.0, -1.0])


def drawn(widths, lead=(), seed=0):
    """Layers of these widths, inputs and labels."""
    rng = np.random.default_rng(seed)
    layers = [rng.standard_normal((*lead, m, d)) for d, m in pairwise(widths)]
    return layers, rng.standard_normal((5, widths[0])), Y


@pytest.mark.parametrize("widths", [(3, 1), (3, 4, 1), (2, 3, 5, 1), (3, 4, 4, 4, 1)])
def test_gradients_are_derivatives_by_differences(widths):
    layers, x, y = drawn(widths)
    step = 1e-6
    for i, found in enumerate(deep.gradients(layers, x, y, LOGISTIC.slope)):
        for place in np.ndindex(found.shape):
            losses = []
            for sign in (1, -1):
                moved = [w.copy() for w in layers]
                moved[i][place] += sign * step
                losses.append(LOGISTIC.value(deep.outputs(moved, x), y).sum())
            assert (losses[0] - losses[1]) / (2 * step) == pytest.approx(found[place], rel=1e-6, abs=1e-8)


def test_two_layers_are_the_two_layer_network():
    (w, a), x, y = drawn((3, 6, 1), lead=(2,))
    network = TwoLayer(w, a[:, 0])
    np.testing.assert_allclose(deep.outputs([w, a], x), network(x), rtol=1e-12)
    in_w, in_a = network.gradients(x, lambda f: LOGISTIC.slope(f, y))
    found = deep.gradients([w, a], x, y, LOGISTIC.slope)
    np.testing.assert_allclose(found[0], in_w, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(found[1][:, 0], in_a, rtol=1e-12, atol=1e-14)


def test_leading_axes_are_networks():
    layers, x, y = drawn((3, 4, 2, 1), lead=(2, 3))
    together = deep.gradients(layers, x, y, LOGISTIC.slope)
    for k in np.ndindex(2, 3):
        alone = deep.gradients([w[k] for w in layers], x, y, LOGISTIC.slope)
        for one, all_of_them in zip(alone, together, strict=True):
            np.testing.assert_allclose(all_of_them[k], one, rtol=1e-12, atol=1e-15)


def test_at_zero_the_relu_has_no_slope():
    in_w, in_a = deep.gradients([np.zeros((1, 1)), np.array([[3.0]])], [[2.0]], [1.0], LOGISTIC.slope)
    assert in_w.item() == in_a.item() == 0
