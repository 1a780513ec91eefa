"""One neuron: its orbits, how its output bends, and whether it learns or dies are those of the flow."""

import numpy as np
import pytest
from scipy.special import expit

from lib.flow import gradient_flow
from lib.models.two_layer import TwoLayer
from lib.training.losses import LOGISTIC
from tests.live.scripts import call, numbers, said


@pytest.mark.parametrize(("h", "a"), [(0.4, -0.2), (0.4, 0.9), (0.3, -0.5)])
def test_the_orbits_are_those_of_the_flow(h, a):
    orbit = np.array(call("live/neuron_orbits", "m.orbit", h, a, 10, 0.01))
    start = TwoLayer([[h]], [a])
    flow = gradient_flow(start, [[1.0]], [1], LOGISTIC, until=orbit[-1, 0]).at(orbit[:, 0])
    ours = np.column_stack([np.exp(flow.log_norms[:, 0]), (flow.signs * np.exp(flow.log_outputs))[:, 0]])
    alive = ours[:, 0] > 0.02
    np.testing.assert_allclose(orbit[alive, 1:], ours[alive], rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("norm", [0.5, 1.0, 2.0])
@pytest.mark.parametrize(("h", "a"), [(0.4, -0.1), (1.1, 0.9), (0.3, -1.9), (0.9, 0.05), (0.02, 0.03)])
def test_a_neuron_bends_passes_and_dies_when_the_flow_does(h, a, norm):
    [sentence] = said("neuron_orbits", {}, {"h": h, "a": a, "norm": norm})
    script = "(h, a, norm) => m.inflections(m.orbit(h, a, 20, 0.01, norm), norm).map(([t]) => t)"
    bends = call("live/neuron_orbits", script, h, a, norm)
    flow = gradient_flow(TwoLayer([[h / norm]], [a]), [[norm]], [1.0], LOGISTIC, until=20.0)
    times = np.linspace(0, 20, 2001)
    p, ended = expit(flow.outputs(times)[:, 0]), np.isneginf(flow.at(times).log_norms[:, 0])
    alive = times < (death := times[ended][0] if ended.any() else np.inf)
    turned = np.flatnonzero(np.diff(np.sign(np.diff(p[alive], 2))))
    np.testing.assert_allclose(bends, times[turned + 1], atol=0.03)
    fate = call("live/neuron_orbits", "m.fate", h, a, norm)
    assert (fate == "dies") == (h < -norm * a) and (fate == "learns" or "dies at time" in sentence)
    if ended.any():
        assert numbers(sentence)[0] == pytest.approx(death, abs=0.06)
    elif fate == "learns":
        assert ("only flattens", "is an S", "bends twice")[len(turned)] in sentence or p.max() < 0.9
        assert p.max() < 0.9 or numbers(sentence)[1] == pytest.approx(times[np.argmax(p >= 0.9)], abs=0.06)
