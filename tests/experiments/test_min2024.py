"""Small starts on digits and in the plane: the measures of directions and norms, and what is conserved."""

import numpy as np
import pytest
import torch

from lib.experiments import min2024
from lib.experiments.min2024 import TwoPhases, _changes, drop_count, planar_flow, run_two_phases

SMALL = TwoPhases(images="digits", per_class=30, batch_size=20, step=4e-2, iterations=60, points=8)


def test_changes_are_those_of_a_short_step_of_gradient_descent():
    """As the paper defines them; a step of length h gives them up to O(h)."""
    generator = torch.Generator().manual_seed(0)
    x, y = (torch.tensor(part) for part in min2024._data(SMALL))
    w, v = (torch.randn(shape, generator=generator).double() for shape in ((3, 64, 5), (3, 5, 1)))
    network = min2024._TwoLayers(0.1 * w, 0.1 * v)
    min2024._exponential(network(x), y).sum().backward()
    start = network.w.detach()
    with torch.no_grad():
        found = np.array(_changes(network, x, y))
    errors = []
    for h in (1e-4, 5e-5):
        end = start - h * network.w.grad
        norms = (end.norm(dim=1) ** 2 - start.norm(dim=1) ** 2).sum(dim=-1) / h
        turned = end / end.norm(dim=1, keepdim=True) - start / start.norm(dim=1, keepdim=True)
        directions = turned.norm(dim=1).sum(dim=-1) / h
        errors.append(np.abs(torch.stack([norms, directions], dim=-1).numpy() - found[:, 1:]))
    np.testing.assert_allclose(errors[0] / errors[1], 2, rtol=0.02)
    np.testing.assert_allclose(found[:, 0], min2024._exponential(network(x), y).detach(), rtol=1e-12)


def test_points_are_the_steps_of_two_passes_and_then_the_ends_of_passes():
    [metrics] = run_two_phases(SMALL, [0])
    for name in ("both", "first"):
        seen = np.array(metrics[name]["iterations"])
        assert seen[:7].tolist() == [*range(7)] and not (seen[6:] % 3).any()
        assert len(metrics[name]["norm_change"]) == len(seen) > 9


@pytest.mark.parametrize("drops", [1, 2, 3])
def test_drops_are_counted_whatever_their_unit(drops):
    times = np.linspace(0, 30, 601)
    losses = drops - sum(np.tanh(times - 7 * (k + 1)) for k in range(drops))
    assert drop_count(times, losses) == drop_count(1e3 * times, 1e-3 * losses) == drops
    ripple = 1e-3 * np.sin(10 * times)
    assert drop_count(times, losses + ripple) == drops


@pytest.mark.parametrize("angle", [0.0, 0.7])
def test_every_neuron_keeps_the_difference_of_the_squares_of_its_layers(angle):
    inputs = [[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]]
    run = planar_flow(inputs, [1, -1], 5000, rng=np.random.default_rng(0))
    first, last = (np.exp(2 * part[[0, -1]]) for part in (run.log_norms, run.log_outputs))
    # The squares grow by exp(2 t |D|) < exp(10), with errors of 1e-6 of themselves at most.
    tolerance = 1e-6 * np.maximum(first, last).max(axis=0)
    assert (np.abs(np.diff(last - first, axis=0)[0]) <= 10 * tolerance).all()
