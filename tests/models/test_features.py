"""Tangent features against autograd, and the exact solution of a linear network."""

from functools import partial

import numpy as np
import pytest
import torch

from lib.models.features import decompose, tangent_features
from lib.models.mlps import draw_mlps, seed_generators
from lib.theory.dual import FeatureProblem, dual_fixed_point
from lib.training.ensembles import train
from lib.training.objectives import cross_entropy


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


def test_features_of_an_ordinary_module(inputs):
    linear = torch.nn.Linear(3, 1, dtype=torch.float64)
    expected = np.column_stack([inputs.numpy(), np.ones(6)])
    np.testing.assert_allclose(tangent_features(linear, inputs), expected, rtol=1e-15)


def test_decomposition_recovers_the_matrix_and_fixes_the_signs():
    matrix = np.random.default_rng(0).standard_normal((5, 9))
    one, other = decompose(matrix), decompose(matrix @ np.linalg.qr(matrix.T, mode="complete")[0])
    np.testing.assert_allclose(one.u * one.strengths @ one.v.T, matrix, atol=1e-13)
    np.testing.assert_allclose(one.u, other.u, atol=1e-12)  # a rotation of the parameters changes V only
    assert (one.coherences >= 0).all()
    assert (one.coherences <= 1 + 1e-15).all()


def test_cancelling_column_is_oriented_by_its_largest_entry():
    features = decompose(np.array([[2.0, 0.0], [-2.0, 0.0], [0.0, 1e-14]]))
    assert features.strengths.shape == (1,)
    assert features.u.max() == pytest.approx(np.sqrt(0.5))


def test_responses_are_strength_times_parameters():
    matrix, theta = np.random.default_rng(1).standard_normal((5, 9)), np.arange(9.0)
    features = decompose(matrix)
    np.testing.assert_allclose(
        features.responses(matrix @ theta), features.strengths * (features.v.T @ theta)
    )


def test_linear_network_ends_at_the_dual_fixed_point(inputs):
    """A network without hidden layer is its own linearisation."""
    network = draw_mlps((3, 1), seed_generators(2, 1))
    with torch.no_grad():
        for part in network.parameters():
            part.zero_()
    labels = np.array([1.0, -1, 1, -1, 1, -1])
    ridge = 0.3
    run = train(
        network,
        inputs,
        torch.tensor(labels),
        objective=cross_entropy,
        optimiser=partial(torch.optim.SGD, lr=0.5, momentum=0.9, weight_decay=ridge / 6),
        steps=2000,
    )
    phi = tangent_features(network, inputs)
    features = decompose(labels[:, None] * phi)
    p = dual_fixed_point(FeatureProblem(features.u, features.strengths, ridge))
    expected = phi @ phi.T @ (labels * p) / ridge
    np.testing.assert_allclose(run.network(inputs).detach().numpy()[0], expected, rtol=1e-9)
