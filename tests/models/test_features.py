"""Tangent features against autograd."""

import numpy as np
import pytest
import torch

from lib.models.features import tangent_features
from lib.models.mlps import draw_mlps, seed_generators


@pytest.fixture(name="network")
def small_network():
    return draw_mlps((3, 8, 1), seed_generators(0, 1))


@pytest.fixture(name="inputs")
def some_inputs():
    return torch.randn((6, 3), generator=torch.Generator().manual_seed(1), dtype=torch.float64)


def test_features_are_the_jacobian(network, inputs):
    features = tangent_features(network, inputs)
    parameters = list(network.parameters())
    rows = [torch.autograd.grad(network(inputs)[0, i], parameters) for i in range(6)]
    expected = torch.stack([torch.cat([part.flatten() for part in row]) for row in rows])
    np.testing.assert_allclose(features, expected.numpy(), rtol=1e-12, atol=1e-14)
