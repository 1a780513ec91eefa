"""Geometry against hand-made configurations, and the data families against their own promises."""

import numpy as np
import pytest

from lib.data import synthetic as datasets
from lib.geometry import patterns as geometry
from lib.geometry.level_sets import bend, distance_to_data, zero_level_set
from lib.geometry.separation import largest_cosine_outside


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("mu", [1e-6, 0.1, 0.9])
def test_cone_data_has_its_mu(seed, mu):
    inputs, labels = datasets.cone_data(3, 4, 5, mu, rng=np.random.default_rng(seed), norms=(0.5, 2.0))
    assert labels.tolist() == [1.0] * 3 + [-1.0] * 4
    lengths = np.linalg.norm(inputs, axis=1)
    assert lengths.min() >= 0.5 and lengths.max() <= 2
    assert geometry.least_signed_cosine(inputs, labels) == pytest.approx(mu, abs=1e-15)
    assert geometry.require_orthogonally_separable(inputs, labels) == pytest.approx(mu, abs=1e-15)
    assert geometry.signed_cosines(inputs, labels)[0, -1] == pytest.approx(mu, abs=1e-15)


def test_separability_names_the_offending_pair():
    inputs = np.array([[1.0, 0.0], [0.6, 0.8], [0.6, 0.8]])
    with pytest.raises(ValueError, match=r"Assumption 1.*data 1 and 2"):
        geometry.require_orthogonally_separable(inputs, [1, 1, -1])
    assert geometry.least_signed_cosine(inputs[:1], [1]) == 1.0


def test_regions_and_patterns():
    inputs, labels = np.array([[1.0, 0.0], [-1.0, 0.0]]), np.array([1.0, -1.0])
    w = np.array([[1.0, 5.0], [-1.0, 0.0], [0.0, 1.0]])
    assert geometry.regions(geometry.activation_patterns(w, inputs), labels).tolist() == ["S+", "S-", "dead"]
    every = np.ones((2, 3, 2), dtype=bool)
    assert (geometry.regions(every, labels) == "other").all()


@pytest.mark.parametrize("mu", [0.1, 0.5])
def test_largest_cosine_outside_is_that_of_lemma_9(mu):
    rng = np.random.default_rng(0)
    inputs, labels = datasets.cone_data(2, 2, 3, mu, rng=rng)
    assert largest_cosine_outside(inputs, labels, rng=rng) == pytest.approx(np.sqrt(1 - mu**2), abs=1e-9)


def test_on_a_line_no_vector_outside_has_a_positive_cosine():
    for seed in range(5):
        assert largest_cosine_outside([[1.0], [3.0]], [1, 1], rng=np.random.default_rng(seed)) == 0


def test_illegal_changes():
    events = np.array(
        [(0.0, 0, 0, True), (0.0, 0, 1, True), (0.0, 1, 0, False), (0.0, 1, 1, False)],
        dtype=[("time", float), ("neuron", int), ("datum", int), ("entering", bool)],
    ).view(np.recarray)
    assert geometry.illegal_changes(events, [1, -1], [1, -1]).tolist() == [False, True, False, True]


def test_stable_rank_and_cone_distance():
    assert geometry.stable_rank(np.diag([2.0, 1.0])) == pytest.approx(1.25)
    assert geometry.stable_rank(np.stack([np.eye(3), np.diag([1.0, 0, 0])])) == pytest.approx([3.0, 1.0])
    generators = np.array([[1.0, 0.0], [1.0, 1.0]])
    assert geometry.distance_to_cone([2.0, 1.0], generators) == pytest.approx(0, abs=1e-12)
    assert geometry.distance_to_cone([0.0, -1.0], generators) == pytest.approx(1.0)
    assert geometry.cosine([[1, 0], [1, 1]], [0, 2]) == pytest.approx([0.0, np.sqrt(0.5)])


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: geometry.signed_cosines(np.eye(2), [1, 0]), "labels holds 0 at index 1"),
        (lambda: geometry.signed_cosines(np.zeros((1, 2)), [1]), "inputs holds a zero vector.*number 0"),
        (lambda: geometry.signed_cosines(np.eye(2), [1]), "labels"),
    ],
)
def test_bad_input_is_named(call, name):
    with pytest.raises(ValueError, match=name):
        call()


@pytest.mark.parametrize("scale", [1e-300, 1.0, 1e300])
def test_directions_do_not_depend_on_the_size_of_vectors(scale):
    rng = np.random.default_rng(0)
    w, v = rng.standard_normal((4, 3)), rng.standard_normal(3)
    np.testing.assert_allclose(
        geometry.cosine(scale * w, v), w @ v / np.linalg.norm(w, axis=1) / np.linalg.norm(v)
    )
    assert geometry.stable_rank(scale * w) == pytest.approx(
        np.sum(w**2) / np.linalg.norm(w, 2) ** 2, rel=1e-14
    )
    assert geometry.largest_angle(scale * w) == pytest.approx(geometry.largest_angle(w), rel=1e-14)
    labels = [1.0, -1.0, 2.0, -0.1]
    np.testing.assert_allclose(
        geometry.signed_cosines(scale * w, labels), geometry.signed_cosines(w, labels), rtol=1e-14
    )


def test_neurons_of_any_size_have_patterns_and_clusters():
    assert geometry.activation_patterns([[1e-200, -1e-300]], [[1e-200, 0.0], [0.0, 1e-200]]).tolist() == [
        [True, False]
    ]
    assert geometry.cluster_radius(
        [[3e200, 0.0], [-3e200, 0.0]], [[0.0, 4e200], [0.0, 0.0]]
    ) == pytest.approx(3e200)
    with pytest.raises(ValueError, match="groups is empty"):
        geometry.cluster_radius()


@pytest.mark.parametrize("angle", [1e-9, 1e-4, 1.0, 90.0, 179.0, 180 - 1e-9])
def test_angles_are_exact_next_to_zero_and_to_a_half_turn(angle):
    turned = np.array([np.cos(np.radians(angle)), np.sin(np.radians(angle))])
    assert geometry.largest_angle(np.array([[1.0, 0.0], turned])) == pytest.approx(
        angle, rel=1e-14, abs=1e-20
    )


def test_a_curve_includes_the_segments_between_its_vertices():
    data = np.array([[0.3, 0.4], [5.0, 5.0]])
    assert distance_to_data([np.array([[-1.0, 0.0], [1.0, 0.0]])], data) == pytest.approx(0.4)
    assert distance_to_data([np.array([[-2.0, 0.4], [-0.7, 0.4]])], data) == pytest.approx(1.0)
    assert distance_to_data([np.array([[0.3, 0.0]]), np.array([[9.0, 9.0]])], data) == pytest.approx(0.4)


def test_the_level_set_of_a_circle_converges_with_the_square_of_the_spacing():
    def error(points):
        [curve] = zero_level_set(lambda x: (x**2).sum(axis=1) - 1, points=points)
        return abs(distance_to_data([curve], np.zeros((1, 2))) - 1)

    assert error(41) / error(161) == pytest.approx(16, rel=0.2)


def test_a_bend_is_that_of_the_residual_of_the_best_line():
    x2 = np.linspace(-2, 2, 41)
    assert bend([np.column_stack([3 - 0.5 * x2, x2])]) < 1e-14
    inside = x2[np.abs(x2) < 0.75]
    expected = np.std(inside**2)
    assert bend([np.column_stack([x2**2, x2])], reach=0.75) == pytest.approx(expected, rel=1e-12)
