"""Directions and norms under stochastic gradient descent: their definition, and what the figures show."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch

from lib.experiments import min2024
from lib.experiments.min2024 import TwoPhases, _changes, run_two_phases
from lib.experiments.registry import find

QUICK = find("min2024-figure-12").quick
SMALL = TwoPhases(images="digits", per_class=30, batch_size=20, step=4e-2, iterations=60, points=8)


@pytest.fixture(scope="module")
def quick():
    return run_two_phases(QUICK, range(2))


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


def test_metrics_are_plain_and_a_seed_alone_gives_what_it_gives_among_others():
    together, [alone] = run_two_phases(SMALL, range(2)), run_two_phases(SMALL, [1])
    assert json.loads(json.dumps(together, allow_nan=False)) == together
    for name in ("both", "first"):
        for key in ("loss", "norm_change", "direction_change"):
            np.testing.assert_allclose(alone[name][key], together[1][name][key], rtol=2e-3)


def test_ten_seeds_of_a_record_stay_below_a_hundred_kilobytes():
    config = replace(QUICK, iterations=find("min2024-figure-12").full.iterations, points=TwoPhases.points)
    passes = {round(k) for k in np.geomspace(1, config.iterations // 7, config.points)}
    # Six curves a seed, a comma, a blank and at most nine characters a number; a kilobyte for the rest.
    assert 10 * (len(passes) * 2 * (3 * 11 + 6) + 1000) < 100_000


def test_points_are_at_the_ends_of_passes(quick):
    x, _ = min2024._data(QUICK)
    in_a_pass = -(-len(x) // QUICK.batch_size)
    assert in_a_pass == 7  # as with the paper's 12,665 images, 2000 at a time
    for metrics in quick:
        for name in ("both", "first"):
            assert all(k % in_a_pass == 0 for k in metrics[name]["iterations"])
            assert metrics[name]["iterations"][0] == in_a_pass


def test_both_layers_turn_first_and_the_first_alone_does_both_at_once(quick):
    """As Figures 12 and 13 show it."""
    for metrics in quick:
        both, first = metrics["both"], metrics["first"]
        assert 4 * 7 < both["direction_peak"] < both["norms_start"] / 2
        assert both["directions_when_norms_start"] < 0.1
        assert first["norms_start"] == first["direction_peak"] == first["iterations"][0]
        # Nothing is fitted when directions turn fastest, if both layers are trained.
        at_peak = both["iterations"].index(both["direction_peak"])
        assert both["loss"][at_peak] > 0.999 and first["loss"][0] < 0.9
        assert both["loss"][-1] < 0.5
