"""Small starts on digits: the measures of directions and norms."""

import numpy as np
import torch

from lib.experiments import min2024
from lib.models.mlps import MlpBatch


def test_changes_are_those_of_a_short_step_of_gradient_descent():
    """As the paper defines them; a step of length h gives them up to O(h)."""
    generator = torch.Generator().manual_seed(0)
    x, y = (torch.tensor(part) for part in min2024._data(min2024.TwoPhases(images="digits", per_class=30)))
    w, v = (torch.randn(shape, generator=generator).double() for shape in ((3, 64, 5), (3, 5, 1)))
    network = MlpBatch([0.1 * w, 0.1 * v], [torch.zeros(3, 1, 5), torch.zeros(3, 1, 1)]).double()
    min2024._exponential(network(x), y).sum().backward()
    start = network.weights[0].detach()
    with torch.no_grad():
        found = np.array(min2024._changes(network, x, y))
    errors = []
    for h in (1e-4, 5e-5):
        end = start - h * network.weights[0].grad
        norms = (end.norm(dim=1) ** 2 - start.norm(dim=1) ** 2).sum(dim=-1) / h
        turned = end / end.norm(dim=1, keepdim=True) - start / start.norm(dim=1, keepdim=True)
        directions = turned.norm(dim=1).sum(dim=-1) / h
        errors.append(np.abs(torch.stack([norms, directions], dim=-1).numpy() - found[:, 1:]))
    np.testing.assert_allclose(errors[0] / errors[1], 2, rtol=0.02)
    np.testing.assert_allclose(found[:, 0], min2024._exponential(network(x), y).detach(), rtol=1e-12)
