"""Tangent features against autograd, and the exact solution of a linear network."""

import numpy as np
import pytest
import torch

from lib.models.features import decompose, tangent_features
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


def test_decomposition_recovers_the_matrix_and_fixes_the_signs():
    matrix = np.random.default_rng(0).standard_normal((5, 9))
    one, other = decompose(matrix), decompose(matrix @ np.linalg.qr(matrix.T, mode="complete")[0])
    np.testing.assert_allclose(one.u * one.strengths @ one.v.T, matrix, atol=1e-13)
    np.testing.assert_allclose(one.u, other.u, atol=1e-12)  # a rotation of the parameters changes V only
    assert (one.coherences >= 0).all()


@pytest.mark.parametrize("shape", [(9, 2), (9, 4), (5, 9)])
def test_coherences_are_the_coordinates_of_the_labels_among_the_features(shape):
    matrix = np.random.default_rng(0).standard_normal(shape)
    labels = np.full(shape[0], shape[0] ** -0.5)  # of length 1
    seen = matrix @ np.linalg.lstsq(matrix, labels)[0]
    coherences = decompose(matrix).coherences
    assert len(coherences) == min(shape) and np.linalg.norm(coherences) <= 1 + 1e-12
    assert np.linalg.norm(coherences) == pytest.approx(np.linalg.norm(seen), rel=1e-12)


def test_cancelling_column_is_oriented_by_its_largest_entry():
    features = decompose(np.array([[2.0, 0.0], [-2.0, 0.0], [0.0, 1e-14]]))
    assert features.strengths.shape == (1,)
    assert features.u.max() == pytest.approx(np.sqrt(0.5))


@pytest.mark.parametrize("seed", range(5))
def test_features_whose_votes_cancel_have_their_largest_entry_positive(seed):
    """Columns of sum zero have only such features; which sign the decomposition gives these is no matter."""
    matrix = np.random.default_rng(seed).standard_normal((7, 4))
    matrix -= matrix.mean(axis=0)
    features, opposite = decompose(matrix), decompose(-matrix)
    assert features.coherences.max() < 1e-14 and features.strengths.size == 4
    largest = np.abs(features.u).argmax(axis=0)
    assert (features.u[largest, range(4)] > 0).all()
    np.testing.assert_allclose(features.u, opposite.u, atol=1e-12)
    np.testing.assert_allclose(features.u * features.strengths @ features.v.T, matrix, atol=1e-13)


def test_responses_are_strength_times_parameters():
    matrix, theta = np.random.default_rng(1).standard_normal((5, 9)), np.arange(9.0)
    features = decompose(matrix)
    np.testing.assert_allclose(
        features.responses(matrix @ theta), features.strengths * (features.v.T @ theta)
    )
