"""Two cues in the population, against Bayes' rule, the optimality conditions and a second solver."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import logit

from lib.theory.two_cues import cue_posteriors, forgetting_flow, leading_ratio, penalised_weights


def mean_loss(w, colour, shape, penalty):
    total = 0.0
    for c, first in ((1, colour), (-1, 1 - colour)):
        for s, second in ((1, shape), (-1, 1 - shape)):
            f = w[0] * c + w[1] * s
            total += first * second * (np.logaddexp(0, -f) + penalty * f**2 / 2)
    return total


def test_posteriors_are_those_of_bayes():
    colour, shape = 0.85, 0.75
    agree = colour * shape / (colour * shape + (1 - colour) * (1 - shape))
    differ = shape * (1 - colour) / (shape * (1 - colour) + (1 - shape) * colour)
    np.testing.assert_allclose(cue_posteriors(colour, shape), [agree, differ], rtol=1e-14)
    assert cue_posteriors([[0.6], [0.7]], [0.6, 0.7, 0.8]).shape == (2, 3, 2)


@pytest.mark.parametrize("colour", [0.6, 0.85, 0.999])
@pytest.mark.parametrize("penalty", [0.01, 0.5, 10.0])
def test_weights_minimise_the_loss_and_the_stronger_cue_leads_at_every_penalty(colour, penalty):
    w = penalised_weights(colour, 0.75, penalty)
    other = minimize(mean_loss, np.zeros(2), args=(colour, 0.75, penalty), tol=1e-14).x
    np.testing.assert_allclose(w, other, atol=1e-6)
    assert (w[0] > w[1]) == (colour > 0.75)
    np.testing.assert_allclose(penalised_weights(colour, 0.75, 0.0), logit([colour, 0.75]), rtol=1e-12)


def test_the_flow_ends_at_the_penalised_weights_and_its_first_step_follows_the_gradient():
    path = forgetting_flow([0.0, 1e-6, 100.0], 3.0)
    np.testing.assert_allclose(path[-1], penalised_weights(0.85, 0.75, 2.0), rtol=1e-8)
    steps = np.eye(2) * 1e-5
    slope = [
        (mean_loss(path[0] + h, 0.85, 0.75, 2.0) - mean_loss(path[0] - h, 0.85, 0.75, 2.0)) / 2e-5
        for h in steps
    ]
    np.testing.assert_allclose((path[1] - path[0]) / 1e-6, -np.array([3.0, 1.0]) * slope, rtol=1e-4)


@pytest.mark.parametrize(("ratio", "leads"), [(1.0, False), (1.54, False), (1.552, True), (50.0, True)])
def test_the_weaker_cue_leads_for_a_while_above_a_critical_ratio(ratio, leads):
    path = forgetting_flow(np.linspace(0, 3, 3001), ratio)
    assert (path[:, 1] > path[:, 0]).any() == leads
    assert path[-1, 0] > path[-1, 1]


@pytest.mark.parametrize(
    ("colour", "shape", "penalty"), [(0.85, 0.75, 2.0), (0.94, 0.6, 3.0), (0.9, 0.85, 50.0)]
)
def test_at_the_leading_ratio_the_flow_touches_the_diagonal(colour, shape, penalty):
    cues = {"colour": colour, "shape": shape, "penalty": penalty}
    critical, times = leading_ratio(**cues), np.linspace(0, 10 / penalty, 20_001)
    for share in (1e-4, -1e-4):
        path = forgetting_flow(times, critical * (1 + share), **cues)
        lead = (path[:, 1] - path[:, 0]).max()
        assert np.sign(lead) == np.sign(share) and abs(lead) < 1e-3


def test_without_enough_penalty_no_ratio_lets_the_shape_lead():
    with pytest.raises(ValueError, match=r"penalty is 0\.01, with these cues the shape leads at no ratio"):
        leading_ratio(penalty=0.01)


def test_the_lead_of_the_weaker_cue_lasts_as_long_as_it_should():
    for ratio, begin, end in ((10.0, 0.020, 1.52), (50.0, 0.0037, 1.53)):
        times = np.linspace(0, 2, 40_001)
        path = forgetting_flow(times, ratio)
        lead = times[path[:, 1] > path[:, 0]]
        assert lead[0] == pytest.approx(begin, rel=0.05) and lead[-1] == pytest.approx(end, rel=0.01)
