"""Small starts on digits: the measures of directions and norms, and what they depend on."""

import dataclasses

import numpy as np
import pytest
import torch

from experiments import two_digits
from experiments.registry import find
from lib.models.mlps import MlpBatch

NAME = "min2024-figure-5"


@pytest.mark.parametrize("seed", range(3))
def test_changes_are_those_of_a_short_step_of_gradient_descent(seed):
    """As the paper defines them; a step of length h gives them up to O(h)."""
    generator = torch.Generator().manual_seed(seed)
    config = two_digits.TwoPhases(images="digits", per_class=30)
    x, y = (torch.tensor(part) for part in two_digits._data(config))
    w, v = (0.1 * torch.randn((1, *shape), generator=generator).double() for shape in ((64, 5), (5, 1)))
    network = MlpBatch([w, v], [torch.zeros(1, 1, 5), torch.zeros(1, 1, 1)]).double()
    loss = two_digits._exponential(network(x), y)
    loss.sum().backward()
    start, move = network.weights[0][0].detach(), network.weights[0].grad[0]
    with torch.no_grad():
        found = two_digits._changes(network, x, y)
    errors = []
    for h in (1e-4, 5e-5):
        end = start - h * move
        norms = (end.norm(dim=0) ** 2 - start.norm(dim=0) ** 2).sum() / h
        directions = (end / end.norm(dim=0) - start / start.norm(dim=0)).norm(dim=0).sum() / h
        errors.append([norms - found["norm_change"], directions - found["direction_change"]])
    np.testing.assert_allclose(np.divide(*errors), 2, rtol=0.02)
    assert found["loss"] == pytest.approx(loss.item(), rel=1e-12)


def test_the_time_to_fit_grows_with_the_logarithm_of_the_scale_and_the_alignment_does_not():
    config = dataclasses.replace(find(NAME).quick, per_class=60, points=210, iterations=2100)
    small, smaller = (
        two_digits.run_two_digits(dataclasses.replace(config, deviation=deviation), 0)
        for deviation in (1e-6, 1e-12)
    )
    assert abs(smaller["all_aligned"] - small["all_aligned"]) <= 10  # one point of the curves
    # Along x_+ weights grow by e in n/(eta |x_+|) iterations, of both signs since x_- = -x_+.
    x, y = two_digits._data(config)
    fold = len(y) / config.step / np.linalg.norm((y > 0) @ x)
    delay = smaller["loss_falls"] - small["loss_falls"]
    assert delay == pytest.approx(fold * np.log(1e6), rel=0.02)


def test_facts_of_data_agree_with_all_pairs_at_once():
    x, y = two_digits._data(two_digits.TwoDigits(images="digits", positive=3, negative=8, per_class=120))
    facts = two_digits._facts(x, y)
    pairs = ~np.eye(len(y), dtype=bool)
    obeys = (np.outer(y, y) * (x @ x.T) > 0)[pairs]
    assert facts["examples"] == [120, 120]
    np.testing.assert_allclose(facts["inner_products"], [(x @ x.T).min(), (x @ x.T).max()])
    assert facts["pairs_of_right_sign"] == pytest.approx(obeys.mean(), abs=1e-15)
    assert facts["pairs_of_right_sign_by_class"]["same"] == pytest.approx(
        obeys[(np.outer(y, y) > 0)[pairs]].mean(), abs=1e-15
    )
    # Centred: the class sums are opposite up to rounding of sums of 120 numbers below 1.
    assert facts["cosine_of_class_sums"] == pytest.approx(-1, abs=1e-12)
