"""The end of an agreement regime, against the flow of all neurons."""

import numpy as np
import pytest

from lib.data.synthetic import antipodal_gaussians
from lib.flow import gradient_flow
from lib.flow.agreement import agreement_end
from lib.geometry.patterns import agreement
from lib.models.two_layer import Start, TwoLayer
from lib.training.losses import LOGISTIC

INPUTS, LABELS = np.array([[1.0, 0.0], [-0.5, 1.0], [-1.0, 0.0]]), np.array([1.0, 1.0, -1.0])


def all_neurons(network, x, y, log_until):
    return gradient_flow(network, x, y, LOGISTIC, train="first", log_until=log_until)


def margin(run, log_time, x):
    """How far the neurons of the types are inside an agreement regime; not positive outside."""
    v = run.at(log_times=[log_time]).directions[0]
    sides = (v[run.signs[-1] == sign] for sign in (1, -1))
    return min(agreement(side, x)[1] for side in sides)


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
    np.testing.assert_allclose(last.w, (np.exp(at.log_norms)[..., None] * at.directions)[0], atol=1e-8)


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
