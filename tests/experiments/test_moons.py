"""Two moons: the measures of a boundary, the draws, the votes of features, and the responses."""

import numpy as np
import pytest
import torch

from experiments import moons
from experiments.moons import TwoMoons, _boundary, _start, votes
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


def test_votes_are_of_decreasing_strength_and_for_the_labels():
    matrix = np.random.default_rng(0).standard_normal((5, 9))
    u, other = votes(matrix), votes(matrix @ np.linalg.qr(matrix.T, mode="complete")[0])
    np.testing.assert_allclose(u, other, atol=1e-12)  # a rotation of the parameters changes V only
    assert (u.sum(axis=0) >= 0).all()
    squares = u.T @ matrix @ matrix.T @ u  # those of the strengths
    np.testing.assert_allclose(squares, np.diag(np.diag(squares)), atol=1e-12)
    assert (np.diff(np.diag(squares)) < 0).all()


@pytest.mark.parametrize("shape", [(9, 2), (9, 4), (5, 9)])
def test_the_coordinates_of_the_labels_among_the_features_are_their_part_in_the_span(shape):
    matrix = np.random.default_rng(0).standard_normal(shape)
    labels = np.full(shape[0], shape[0] ** -0.5)  # of length 1
    u, seen = votes(matrix), matrix @ np.linalg.lstsq(matrix, labels)[0]
    assert u.shape == (shape[0], min(shape))
    assert np.linalg.norm(labels @ u) == pytest.approx(np.linalg.norm(seen), rel=1e-12)


@pytest.mark.parametrize("size", [1e-20, 1.0, 1e20])
def test_a_feature_that_cancels_is_oriented_by_its_largest_entry_and_one_too_weak_is_dropped(size):
    u = votes(size * np.array([[2.0, 0.0], [-2.0, 0.0], [0.0, 1e-14]]))
    assert u.shape == (3, 1) and u.max() == pytest.approx(np.sqrt(0.5))


@pytest.mark.parametrize("seed", range(5))
def test_features_whose_votes_cancel_have_their_largest_entry_positive(seed):
    """Columns of sum zero have only such features; which sign the decomposition gives these is no matter."""
    matrix = np.random.default_rng(seed).standard_normal((7, 4))
    matrix -= matrix.mean(axis=0)
    u = votes(matrix)
    assert u.sum(axis=0).max() < 1e-13 and (u[np.abs(u).argmax(axis=0), range(4)] > 0).all()
    np.testing.assert_allclose(u, votes(-matrix), atol=1e-12)


def test_coherences_are_shares_of_the_labels():
    config = TwoMoons(examples=60, width=5, steps=1, points=1, settings=("gap",))  # 21 features
    coherences = moons.run_two_moons(config, 0)["gap"]["coherences"]
    assert max(coherences) > 0.5 and sum(part**2 for part in coherences) <= 1


def test_the_curves_of_the_responses_end_at_the_final_ones():
    experiment = find("pezeshki2021-figure-2")
    for metrics in experiment.run(experiment.quick, range(3), "cpu"):
        for setting in metrics.values():
            assert [curve[-1] for curve in setting["responses"]] == [
                setting["final_responses"][k] for k in (1, 6)
            ]
            assert all(curve[0] == 0 for curve in setting["responses"])
