"""Objectives over two environments against the formulas of the published codes."""

import numpy as np
import pytest
import torch
from torch.nn.functional import binary_cross_entropy_with_logits

from experiments.colours import colour_images
from experiments.environments import over_environments

LIKE = torch.empty(0, dtype=torch.float64)


def risks_and_penalties(world, logits):
    """The risk of a network in each environment, and its squared slope in a factor of the logits."""
    risks, penalties = [], []
    for environment in range(2):
        weights = world.chances[:, environment::2].flatten()
        both = logits[environment::2].repeat(2)
        targets = torch.tensor([1.0, 0.0], dtype=torch.float64).repeat_interleave(len(both) // 2)
        factor = torch.ones((), dtype=torch.float64, requires_grad=True)
        each = binary_cross_entropy_with_logits(factor * both, targets, reduction="none")
        risk = (weights * each).sum() / weights.sum()
        penalties.append(torch.autograd.grad(risk, factor)[0].square().item())
        risks.append(risk.item())
    return np.array(risks), np.array(penalties)


@pytest.mark.parametrize("noise", ["drawn", "expected"])
@pytest.mark.parametrize("method", ["decoupled", "extrapolation", "invariant"])
def test_objectives_are_those_of_the_published_codes(method, noise):
    rng = np.random.default_rng(7)
    images, labels = rng.random((60, 3)), rng.choice([-1.0, 1.0], 60)
    world = colour_images(images, labels, 0.1, LIKE, rng if noise == "drawn" else None)
    n = len(world.colours)
    logits = torch.randn((2, n), generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    objective = over_environments(method, 0.03, world.chances)
    values = [objective(logits, torch.ones(n), weight=weight).numpy() for weight in (1.0, 40.0)]
    for k in range(2):
        (first, second), penalties = risks_and_penalties(world, logits[k])
        counts = world.chances.sum(0).numpy()
        square = (counts * logits[k].numpy() ** 2).sum() / counts.sum()
        for weight, value in zip((1, 40), values, strict=True):
            expected = weight * (first + second) / 2 + 0.03 * square
            if method == "invariant":
                expected = (first + second) / 2 / weight + penalties.mean()
            elif method == "extrapolation":
                expected = (first + second) / weight + (first - second) ** 2
            # Sums of 240 numbers at most, in another order.
            np.testing.assert_allclose(value[k], expected, rtol=1e-13)


def test_an_unknown_method_is_refused_by_name():
    with pytest.raises(ValueError, match="method is 'invarient', allowed: 'cross-entropy', 'decoupled'"):
        over_environments("invarient", 0.03, torch.ones(2, 4))
