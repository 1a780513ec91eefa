"""Two features: where their responses end, on which way, and which strength starves which."""

from itertools import product

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.special import expit

from lib.theory.dual import FeatureProblem, primal_responses, rotation, two_features
from tests.live.scripts import call, numbers, said

STRENGTHS = [(0.5, 5.0), (1.0, 2.0), (2.0, 2.0), (3.0, 2.0), (5.0, 0.5)]
COUPLINGS = [-0.65, -0.3, 0.0, 0.01, 0.5, 0.65]
WEIGHTS = [-2.0, -1.0, 0.0]


def states(penalty):
    for (s1, s2), delta, weight in product(STRENGTHS, COUPLINGS, WEIGHTS):
        yield {"s1": s1, "s2": s2, "delta": delta, "weight": weight, "penalty": penalty}


def end(state, factor=1.0):
    """Where the responses end, with the first strength a little changed."""
    weight = 10 ** state["weight"]
    if state["penalty"] == "decoupling":
        return primal_responses(FeatureProblem(rotation(state["delta"]), np.ones(2), weight))
    return primal_responses(two_features(state["delta"], factor * state["s1"], state["s2"], weight))


def effect(state, step=1e-4):
    """By how much the second response grows with the first strength, both relative."""
    more, less = (end(state, np.exp(by))[1] for by in (step, -step))
    return (more - less) / (2 * step * end(state)[1])


def way(state, times):
    """The responses at some times of the gradient flow of all parameters from zero."""
    features, weight = rotation(state["delta"]) * [state["s1"], state["s2"]], 10 ** state["weight"]
    ridge = state["penalty"] == "ridge"

    def velocity(_, theta):
        q = features @ theta
        return features.T @ (expit(-q) - (0.0 if ridge else weight * q)) - (weight * theta if ridge else 0.0)

    options = {"method": "LSODA", "rtol": 1e-11, "atol": 1e-13, "t_eval": times}
    return solve_ivp(velocity, (0, times[-1]), np.zeros(2), **options).y.T * [state["s1"], state["s2"]]


def test_the_ends_are_those_of_the_library():
    for one in (*states("ridge"), *states("decoupling")):
        np.testing.assert_allclose(call("live/two_features", "m.end", one), end(one), rtol=1e-10)
    for weight in WEIGHTS:
        lone = FeatureProblem(np.eye(1), np.ones(1), 10**weight)
        margin = call("live/two_features", "m.commonMargin", 10**weight)
        assert margin == pytest.approx(primal_responses(lone)[0], rel=1e-10)


def test_starving_or_feeding_is_the_library_s():
    clear = 0
    for state in states("ridge"):
        slope = effect(state)
        assert call("live/two_features", "m.effect", state) == pytest.approx(slope, abs=1e-6)
        if abs(slope) > 1e-7:
            sign = call("live/two_features", "m.signAt", state["delta"], end(state).tolist())
            corollary = -np.sign(state["delta"] * (state["s1"] - state["s2"]))
            assert sign == corollary == np.sign(slope)
            clear += 1
    assert clear > 0.6 * len([*states("ridge")])
    assert not any(call("live/two_features", "m.effect", state) for state in states("decoupling"))


@pytest.mark.parametrize("penalty", ["ridge", "decoupling"])
def test_the_way_is_that_of_the_flow(penalty):
    clock = np.linspace(-2, 4, 25)
    for state in states(penalty):
        if state["delta"] in (-0.3, 0.5) and state["weight"] < 0:
            path = call("live/two_features", "m.path", state, clock.tolist())
            np.testing.assert_allclose(path, way(state, 10**clock), atol=1e-6)


FEATURES = [(3, 2, 0.5, -2.0), (1, 4, 0.3, -1.0), (3, 2, -0.4, -1.5), (2, 2, 0.5, -1.0), (1, 3, 0.0, -2.0)]


@pytest.mark.parametrize("time", [-1.0, 1.0])
def test_the_sentence_says_the_ends_and_what_a_little_more_strength_does(time):
    for s1, s2, delta, weight in FEATURES:
        state = {"s1": s1, "s2": s2, "delta": delta, "weight": weight, "time": time, "penalty": "ridge"}
        [sentence] = said("starving", {}, state)
        left = np.linalg.norm(way(state, [10**time])[0] - end(state))
        np.testing.assert_allclose(numbers(sentence)[:3], [*end(state), left], atol=0.00501)
        slope = effect(state)
        if abs(slope) < 1e-7:
            assert ("not coupled" if delta == 0 else "strengths are equal") in sentence
        else:
            words = ("falls by", "starves") if slope < 0 else ("grows by", "feeds")
            assert all(word in sentence for word in words)
            assert numbers(sentence)[3] == pytest.approx(abs(slope), rel=0.05)


@pytest.mark.parametrize(("s1", "delta"), [(3.0, 0.5), (1.0, -0.4), (2.0, 0.3)])
def test_decoupled_responses_end_alike_on_ways_that_bend_or_not(s1, delta):
    state = {"s1": s1, "s2": 2.0, "delta": delta, "weight": -1.0, "penalty": "decoupling", "time": 4.0}
    [sentence] = said("starving", {}, state)
    assert "less than a millionth away" in sentence
    first, second = end(state)
    bent = np.abs(way(state, 10 ** np.linspace(-2, 4, 241)) @ [second, -first]).max()
    assert ("the way is straight" in sentence) == (s1 == 2.0)
    said_of_it = [first, second, *([bent / np.hypot(first, second)] * (s1 != 2.0))]
    np.testing.assert_allclose(numbers(sentence), said_of_it, atol=0.00501)
