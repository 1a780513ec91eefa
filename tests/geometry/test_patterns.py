"""Patterns, cones and clusters against hand-made configurations, programs and a search."""

import cvxpy
import numpy as np
import pytest

from lib.data.synthetic import cone_data
from lib.geometry import patterns as geometry


def test_the_least_signed_cosine_is_that_of_two_different_data():
    inputs = np.array([[1.0, 0.0], [1.2, 1.6], [0.6, 0.8]])
    assert geometry.least_signed_cosine(inputs, [1, 1, -1]) == pytest.approx(-1)
    assert geometry.least_signed_cosine(inputs[:2], [-1, -1]) == pytest.approx(0.6)
    assert geometry.least_signed_cosine(inputs[:1], [1]) == 1.0


def test_regions():
    inputs, labels = np.array([[1.0, 0.0], [-1.0, 0.0]]), np.array([1.0, -1.0])
    w = np.array([[1.0, 5.0], [-1.0, 0.0], [0.0, 1.0]])
    assert geometry.regions(w @ inputs.T > 0, labels).tolist() == ["S+", "S-", "dead"]
    every = np.ones((2, 3, 2), dtype=bool)
    assert (geometry.regions(every, labels) == "other").all()
    for sign, region in ((1, "S+"), (-1, "S-")):  # dead also where the data are of one class
        found = geometry.regions([[False, False], [True, True]], [sign, sign])
        assert found.tolist() == ["dead", region]


@pytest.mark.parametrize("mu", [0.1, 0.5])
def test_largest_cosine_outside_is_that_of_lemma_9(mu):
    rng = np.random.default_rng(0)
    inputs, labels = cone_data(2, 2, 3, mu, rng=rng)
    found = geometry.largest_cosine_outside(inputs, labels, rng=rng)
    assert found == pytest.approx(np.sqrt(1 - mu**2), abs=1e-9)


def test_on_a_line_no_vector_outside_has_a_positive_cosine():
    for seed in range(5):
        rng = np.random.default_rng(seed)
        assert geometry.largest_cosine_outside([[1.0], [3.0]], [1, 1], rng=rng) == 0


@pytest.mark.parametrize("seed", range(4))
def test_the_distance_from_a_cone_is_that_of_an_interior_point_solver(seed):
    rng = np.random.default_rng(seed)
    generators, point = rng.standard_normal((4, 5)) + 0.5, rng.standard_normal(5)
    weights = cvxpy.Variable(4)
    distance = cvxpy.norm(weights @ generators - point)
    cvxpy.Problem(cvxpy.Minimize(distance), [weights >= 0]).solve(solver=cvxpy.CLARABEL)
    assert geometry.distance_to_cone(point, generators) == pytest.approx(distance.value, rel=1e-6)
    assert geometry.distance_to_cone(weights.value.clip(0) @ generators, generators) < 1e-12


@pytest.mark.parametrize("angle", [1e-9, 1e-4, 1.0, 90.0, 179.0, 180 - 1e-9])
def test_angles_are_exact_next_to_zero_and_to_a_half_turn(angle):
    turned = np.array([np.cos(np.radians(angle)), np.sin(np.radians(angle))])
    found = geometry.largest_angle(np.array([[1.0, 0.0], turned]))
    assert found == pytest.approx(angle, rel=1e-14, abs=1e-20)


def test_cluster_measures():
    group = np.array([[1.0, 0.0], [0.0, 1.0]])
    assert geometry.cluster_radius(group, 3 * group) == pytest.approx(3 * np.sqrt(0.5))
    signs, margin = geometry.agreement(group, np.array([[1.0, 2.0], [-1.0, -1.0]]))
    assert signs.tolist() == [1, -1] and margin == 1
    assert geometry.agreement(group, np.array([[1.0, -1.0]]))[1] < 0
    # Where they disagree, the side decides from which the farthest neuron is nearer: not their mean.
    assert geometry.agreement([[-1.0], [0.6], [0.6]], [[1.0]]) == (-1.0, pytest.approx(-0.6))


def test_the_margin_of_perfect_agreement_is_that_of_the_worst_neuron_of_either_type():
    x, y = np.array([[1.0, 2.0], [-1.0, 0.5]]), np.array([1.0, -1.0])
    w, u = np.array([[1.0, 0.1], [2.0, 0.3]]), np.array([[-0.3, 0.1], [-4.0, 0.0]])
    worst = min((y * (x @ neuron)).min() for neuron in np.vstack([w, -u]))
    norm = np.sqrt(np.sum(w**2) + np.sum(u**2))
    assert geometry.perfect_agreement_margin(w, u, x, y) == pytest.approx(worst / norm, rel=1e-14)
    assert geometry.perfect_agreement_margin(w[0], u[1], x, y) == pytest.approx(0.95 / np.sqrt(17.01))
