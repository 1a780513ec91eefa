"""Stacks of perceptrons: their draws, their seeds one by one, and the gradient by hand."""

import numpy as np
import pytest
import torch

from lib.models.mlps import draw_mlps, gradient_function, seed_generators
from lib.training.objectives import cross_entropy

INPUTS = torch.randn((3, 24, 2), generator=torch.Generator().manual_seed(0), dtype=torch.float64)
LABELS = torch.where(INPUTS[..., 0] * INPUTS[..., 1] > 0, 1.0, -1.0).double()


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("widths", [(2, 9, 1), (2, 9, 7, 5, 1)])
def test_gradients_by_hand_equal_those_of_autograd(widths, shared):
    network = draw_mlps(widths, seed_generators(0, 3))
    inputs, labels = (INPUTS[0], LABELS[0]) if shared else (INPUTS, LABELS)
    by_hand = gradient_function(network)(inputs, lambda logits: cross_entropy(logits, labels))
    slopes = torch.autograd.grad(cross_entropy(network(inputs), labels).sum(), list(network.parameters()))
    for ours, theirs in zip(by_hand, slopes, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-16)


def test_a_frozen_layer_has_no_gradient():
    network = draw_mlps((2, 9, 1), seed_generators(0, 3))
    network.weights[1].requires_grad_(False)
    slopes = gradient_function(network)(INPUTS, lambda logits: cross_entropy(logits, LABELS))
    assert [slope.shape for slope in slopes] == [
        value.shape for value in network.parameters() if value.requires_grad
    ]


def test_a_seed_is_the_plain_network_of_its_weights():
    network = draw_mlps((2, 7, 5, 1), seed_generators(0, 3))
    for k in range(3):
        hidden = INPUTS[k]
        for weight, bias in list(zip(network.weights, network.biases, strict=True))[:-1]:
            hidden = torch.relu(hidden @ weight[k] + bias[k])
        expected = (hidden @ network.weights[-1][k] + network.biases[-1][k])[:, 0].detach()
        np.testing.assert_allclose(network(INPUTS)[k].detach(), expected, rtol=1e-12, atol=1e-15)
        alone = network.seed(k)
        np.testing.assert_allclose(alone(INPUTS[k])[0].detach(), expected, rtol=1e-12, atol=1e-15)
        with torch.no_grad():
            alone.weights[0].zero_()  # a copy
        assert network.weights[0][k].any()


def test_draws_depend_on_their_generator_only():
    many, few = draw_mlps((30, 50, 1), seed_generators(5, 4)), draw_mlps((30, 50, 1), seed_generators(6, 1))
    for one, other in zip(many.parameters(), few.parameters(), strict=True):
        assert torch.equal(one[1], other[0])


@pytest.mark.parametrize(
    ("initialisation", "bounds", "biases"),
    [("uniform", (30**-0.5, 50**-0.5), True), ("xavier", ((6 / 80) ** 0.5, (6 / 51) ** 0.5), False)],
)
def test_draws_are_uniform_within_their_bounds(initialisation, bounds, biases):
    network = draw_mlps((30, 50, 1), seed_generators(0, 4), initialisation=initialisation)
    for weight, bias, bound in zip(network.weights, network.biases, bounds, strict=True):
        assert 0.9 * bound < weight.abs().max() <= bound
        assert bias.any() == biases and bias.abs().max() <= bound
    # The variance of a uniform draw is bound^2 / 3; five standard deviations of its estimate.
    first = network.weights[0].detach()
    error = 5 * np.sqrt(4 / 5 / first.numel())
    assert first.square().mean().item() == pytest.approx(bounds[0] ** 2 / 3, rel=error)
