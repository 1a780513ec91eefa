"""Two moons: the measures of a boundary, the draws, and the curves of the responses."""

import numpy as np
import pytest
import torch

from experiments import moons
from experiments.moons import TwoMoons, _boundary, _start
from experiments.registry import find
from lib.data.synthetic import two_moons_with_gap


def test_measures_of_a_straight_boundary():
    x, y = two_moons_with_gap(300, 0.1, rng=np.random.default_rng(5))
    measures = _boundary(lambda points: points[:, 0], x, y)
    assert measures["accuracy"] == 1 and measures["bend"] < 1e-12 and measures["slope_ratio"] < 1e-12
    # It lies between the moons, 0.1 from each but for the noise.
    assert measures["margin"] == pytest.approx(0.1, abs=0.02)
    assert 0.5 < measures["accuracy_without_gap"] < 1
    nowhere = _boundary(lambda points: np.ones(len(points)), x, y)
    assert (nowhere["margin"], nowhere["bend"], nowhere["slope_ratio"]) == (None, None, None)


def test_each_seed_draws_its_own_moons_and_start(monkeypatch):
    config = TwoMoons(examples=20, width=5, steps=1, points=1, features=())
    starts = [_start(config, "gap", seed) for seed in (0, 1)]
    assert not torch.equal(starts[0].weights[0], starts[1].weights[0])
    monkeypatch.setattr(moons, "_start", lambda *_: starts[0])
    one, other = (moons.run_two_moons(config, seed) for seed in (0, 1))
    assert one["gap"]["losses"][0] != other["gap"]["losses"][0]


def test_the_curves_of_the_responses_end_at_the_final_ones():
    experiment = find("pezeshki2021-figure-2")
    for metrics in experiment.run(experiment.quick, range(3), "cpu"):
        for setting in metrics.values():
            assert [curve[-1] for curve in setting["responses"]] == [
                setting["final_responses"][k] for k in (1, 6)
            ]
            assert all(curve[0] == 0 for curve in setting["responses"])
