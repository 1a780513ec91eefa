"""Agreement regimes: their end against the flow of all neurons; draws and measures of Gaussian classes."""

import dataclasses
from itertools import pairwise

import numpy as np
import pytest

from experiments import regimes
from experiments.regimes import agreement_end, perfect_agreement_margin
from experiments.registry import find
from lib.data.synthetic import antipodal_gaussians
from lib.flow import gradient_flow
from lib.models.two_layer import Start, TwoLayer
from lib.training.losses import LOGISTIC

INPUTS, LABELS = np.array([[1.0, 0.0], [-0.5, 1.0], [-1.0, 0.0]]), np.array([1.0, 1.0, -1.0])


def agreement_margin(neurons, x):
    """The least, over inputs, of max(min_j <w_j, x>, min_j -<w_j, x>): positive if all classify alike."""
    responses = neurons @ x.T
    return np.maximum(responses.min(axis=0), -responses.max(axis=0)).min()


def all_neurons(network, x, y, log_until):
    return gradient_flow(network, x, y, LOGISTIC, train="first", log_until=log_until)


def margin(run, log_time, x):
    """How far the neurons of the types are inside an agreement regime; not positive outside."""
    v = run.at(log_times=[log_time]).directions[0]
    sides = (v[run.signs[-1] == sign] for sign in (1, -1))
    return min(agreement_margin(side, x) for side in sides)


def network_inside(k, others, spread=0.02):
    """Neurons that agree now, in two types of any number; the second input will be called otherwise."""
    offsets = spread * np.random.default_rng(1).uniform(-1, 1, (k + others, 2))
    w = np.repeat([[0.3, 0.09], [-1.0, 0.3]], [k, others], axis=0) + offsets
    return TwoLayer(w, k**-0.5 * np.repeat([1.0, -1.0], [k, others]), 0.1)


@pytest.mark.parametrize(("k", "others"), [(1, 1), (3, 3), (8, 8), (4, 2)])
def test_the_nearest_of_unequal_neurons_ends_the_regime(k, others):
    network = network_inside(k, others)
    log_time, last = agreement_end(network, INPUTS, LABELS, log_until=10.0)
    end = np.log(np.expm1(log_time))
    run = all_neurons(network, INPUTS, LABELS, end + 1.0)
    before, after = (margin(run, end + shift, INPUTS) for shift in (-1e-6, 1e-6))
    assert before > 0 >= after - 1e-9
    assert abs(last.preactivations(INPUTS)).min() < 1e-8
    at = run.at(log_times=[end])
    np.testing.assert_allclose(last.w, at.w[0], atol=1e-8)


@pytest.mark.parametrize("factor", [4.0**k for k in (-33, -13, 13, 33)])
def test_the_end_is_that_of_the_network_in_any_units(factor):
    network = network_inside(3, 3)
    log_time, last = agreement_end(network, INPUTS, LABELS, log_until=10.0)
    size, unit = factor, factor**0.5  # of the first layer, which the second makes up for, and of inputs
    moved = TwoLayer(size * network.w, network.a / size / unit, network.slope)
    log_until = 10.0 + 2 * np.log(size)
    found, then = agreement_end(moved, unit * INPUTS, LABELS, log_until=log_until)
    assert np.expm1(found) / size**2 == pytest.approx(np.expm1(log_time), rel=1e-8)
    np.testing.assert_allclose(then.w / size, last.w, atol=1e-8)


def test_a_regime_that_lasts_is_followed_to_late_times():
    x, y = antipodal_gaussians(40, (2, 1.5), 0.6, rng=np.random.default_rng(3))
    offsets = Start.two_sided(3, 2, np.log(0.1), rng=np.random.default_rng(0), v=0.5).network(0.3)
    network = TwoLayer(np.repeat([[2.0, 1.5], [-2.0, -1.5]], 3, axis=0) + offsets.w, offsets.a, 0.3)
    log_time, last = agreement_end(network, x, y, log_until=1e4)
    assert log_time == np.inf
    np.testing.assert_allclose(last.w, all_neurons(network, x, y, 1e4).network_at().w, rtol=1e-7)


def test_a_network_outside_every_regime_is_refused():
    x, y = antipodal_gaussians(40, (2, 1.5), 0.6, rng=np.random.default_rng(3))
    start = Start.two_sided(3, 2, np.log(1e-2), rng=np.random.default_rng(0), v=0.5).network(0.3)
    with pytest.raises(ValueError, match=r"no agreement regime: neuron \d classifies input \d"):
        agreement_end(start, x, y, log_until=1.0)


def test_each_seed_draws_a_start_of_its_own():
    """Angles between neurons at the start depend on nothing else."""
    experiment = find("sarussi2021-figure-9")
    found = experiment.run(experiment.fingerprint_of(experiment.full), (0, 1))
    angles = [one["small-start"]["angle"][0] for one in found]
    assert angles[0] != angles[1]


def test_the_outlier_is_added_to_the_same_classes():
    config = find("sarussi2021-figure-9").full
    x, y = regimes._draw(config, 3)
    alone = regimes._draw(dataclasses.replace(config, outlier=None), 3)
    assert np.array_equal(x[:-1], alone[0]) and np.array_equal(y[:-1], alone[1])
    assert not np.array_equal(x, regimes._draw(config, 4)[0])
    assert np.linalg.norm(x[-1]) == pytest.approx(4, rel=1e-15)
    assert y[-1] == 1 and x[-1, 0] < 0 < x[-1, 1]


def test_the_margin_of_perfect_agreement_is_that_of_the_worst_neuron_of_either_type():
    x, y = np.array([[1.0, 2.0], [-1.0, 0.5]]), np.array([1.0, -1.0])
    w, u = np.array([[1.0, 0.1], [2.0, 0.3]]), np.array([[-0.3, 0.1], [-4.0, 0.0]])
    worst = min((y * (x @ neuron)).min() for neuron in np.vstack([w, -u]))
    norm = np.sqrt(np.sum(w**2) + np.sum(u**2))
    assert perfect_agreement_margin(w, u, x, y) == pytest.approx(worst / norm, rel=1e-14)
    assert perfect_agreement_margin(w[0], u[1], x, y) == pytest.approx(0.95 / np.sqrt(17.01))


def test_what_is_looked_at_agrees_with_the_margins_of_the_regimes():
    """On networks of few neurons, random or drawn to a teacher; some agree, some are right."""
    rng = np.random.default_rng(5)
    x, teacher = rng.standard_normal((3, 2)), rng.standard_normal(2)
    y, seen = np.sign(x @ teacher), set()
    for pull in np.linspace(0, 5, 200):
        network = Start.two_sided(2, 2, 0.0, rng=rng).network(0.5)
        network = network.with_weights(network.w + pull * np.outer(network.a, teacher), network.a)
        look = regimes._look_at_regimes(network, x, y)
        w, u = np.split(network.w, 2)
        for neurons, name in ((w, "w"), (u, "u")):
            assert (look[f"disagreements_{name}"] == 0) == (agreement_margin(neurons, x) > 0)
        perfect = perfect_agreement_margin(w, u, x, y) > 0
        assert (look["share_w"] == look["share_u"] == 1) == perfect
        seen.add((perfect, look["disagreements_w"] == 0))
    assert seen == {(False, False), (False, True), (True, True)}


def test_where_clustered_networks_end_is_known_in_three_cases():
    """Symmetric classes; three points whose w neurons stay on the normal of the second; no program."""
    x = np.array([[1.0, 0.2], [-1.0, -0.2]])
    assert regimes._limit(x, np.array([1.0, -1.0]), 0.5)["limit"] == "perfect"
    x = np.array([[1.0, 0.0], [-np.sqrt(0.75), 0.5], [-1.0, 0.0]])
    found = regimes._limit(x, np.array([1.0, 1.0, -1.0]), 0.1)
    assert found["certificate"] <= 0 and found["limit"] == "kink"
    x = np.array([[1.0, 0.0], [-1.0, 0.0], [2.0, 1.0]])
    nothing = {"certificate": None, "limit": None}
    assert regimes._limit(x, np.array([1.0, 1.0, -1.0]), 0.5) == nothing


def dipping(seed):
    """Networks of two equal types but for a neuron that is beyond its kink for a third of some step alone."""
    rng = np.random.default_rng(seed)
    x, means, y = rng.standard_normal((3, 3)), rng.standard_normal((2, 3)), np.array([1.0, 1.0, -1.0])
    sides, root = np.sign(means @ x.T), np.sqrt(2)
    pair = TwoLayer(root * means, root * np.array([1.0, -1.0]), 1.0)
    run = gradient_flow(pair, x, y, LOGISTIC, log_until=5.0, train="first", rtol=1e-6)
    lowest = np.abs(means @ x.T)
    for begin, end in pairwise(run.log_times[1:]):
        v = run.at(log_times=np.linspace(begin, end, 41))
        heights = sides * (np.exp(v.log_norms)[..., None] * v.directions / root @ x.T)
        if (heights <= 0).any():
            return
        for j, i in np.ndindex(2, 3):
            level = np.sort(heights[:, j, i])[14]
            if level < min(heights[0, j, i], heights[-1, j, i], lowest[j, i]):
                offsets = np.zeros((4, 3))
                offsets[2 * j : 2 * j + 2] = np.outer([1, -1], np.linalg.solve(x, level * np.eye(3)[i]))
                yield (
                    TwoLayer(np.repeat(means, 2, axis=0) + offsets, np.repeat([1.0, -1.0], 2), 1.0),
                    x,
                    y,
                    end,
                )
        lowest = np.minimum(lowest, heights.min(axis=0))


def test_a_neuron_that_leaves_within_a_step_and_comes_back_has_left():
    """The regime ends with the first event of the flow of all neurons, though a step ends inside."""
    cases = [case for seed in range(20) for case in dipping(seed)]
    for network, x, y, log_until in cases:
        log_time, _ = agreement_end(network, x, y, log_until=log_until, rtol=1e-6)
        run = all_neurons(network, x, y, log_until)
        # Near the lowest point of a dip an error of 1e-6 of the heights is one of 1e-3 of the time.
        assert np.expm1(log_time) == pytest.approx(run.events[0].time, rel=1e-3)
    assert len(cases) > 3
