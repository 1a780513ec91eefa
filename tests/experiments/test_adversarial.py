"""Adversarial networks on eight Gaussians: what is counted, and that the settings do not see each other."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from experiments.adversarial import LOSSES, _coverage, run_eight_gaussians
from experiments.registry import find

FIGURE_5 = find("combes2018-figure-5")
SMALL = FIGURE_5.fingerprint_of(FIGURE_5.full)


def test_a_mode_is_held_by_one_point_in_a_hundred_within_three_deviations():
    places = torch.eye(2, dtype=torch.float64)
    points = places[[0] * 198 + [1, 1]][None] + torch.tensor([0.0, 0.29])
    held, near, distance = _coverage(points, places, torch.tensor([[[0.1]]]))
    assert (held.item(), near.item(), distance.item()) == (2, 1, pytest.approx(0.29))
    held, near, _ = _coverage(points[:, :199], places, torch.tensor([[[0.1]]]))
    assert (held.item(), near.item()) == (1, 1)
    assert _coverage(points, places, torch.tensor([[[0.09]]]))[1].item() == 0


def test_losses_at_points_that_are_told_apart():
    real, made = torch.tensor([3.0]), torch.tensor([-3.0])
    small, large = np.log1p(np.exp([-3, 3]))
    expected = {
        "cross-entropy": (2 * small, large),
        "zero-sum": (2 * small, -small),
        "hinge": (0, 3),
    }
    for name, (of_both, of_made) in LOSSES.items():
        found = of_both(real, made).item(), of_made(made).item()
        assert found == pytest.approx(expected[name]), name


def test_each_setting_is_trained_as_if_it_were_alone():
    both = run_eight_gaussians(replace(SMALL, schedules=((20, 2), (10, 1))), 3)
    alone = run_eight_gaussians(replace(SMALL, deviations=(0.2,)), 3)
    assert both["batch_20_steps_2"]["width_20"] == alone["batch_20_steps_2"]["width_20"]
    assert both["batch_20_steps_2"] != both["batch_10_steps_1"]


def test_the_losses_begin_alike_and_part():
    metrics = run_eight_gaussians(replace(SMALL, looks=20), 0)["batch_20_steps_2"]["width_10"]
    first, last = ({metrics[loss]["distance"][k] for loss in LOSSES} for k in (0, -1))
    assert max(first) - min(first) < 1e-3 and len(last) == 3
