"""Constants and bounds of early alignment: two routes to each, and against the exact flow."""

import numpy as np
import pytest

from lib.data.synthetic import cone_data
from lib.geometry.patterns import regions
from lib.theory import alignment as bounds


def problem(seed, mu=0.1, m=200):
    rng = np.random.default_rng(seed)
    inputs, labels = cone_data(2, 3, 4, mu, rng=rng, norms=(0.7, 1.4))
    return rng.standard_normal((m, 4)), np.resize([1.0, -1.0], m), inputs, labels


@pytest.mark.parametrize("seed", range(4))
def test_caps_of_lemma_8(seed):
    _, _, inputs, labels = problem(seed)
    rng = np.random.default_rng(seed)
    zeta = bounds.cap_constant(inputs, labels)
    assert zeta >= 0.1**2
    for total, name in zip(bounds.class_sums(inputs, labels), ("S+", "S-"), strict=True):
        across = rng.standard_normal((20_000, 4))
        unit = total / np.linalg.norm(total)
        across -= (across @ unit)[:, None] * unit
        across /= np.linalg.norm(across, axis=1)[:, None]
        inside = np.sqrt(1 - 0.999 * zeta) * unit + np.sqrt(0.999 * zeta) * across
        assert (regions(inside @ inputs.T > 0, labels) == name).all()


def test_start_constant_keeps_its_digits_near_the_repelling_sum():
    inputs, labels = np.array([[1.0, 0.01], [-1.0, 0.01]]), np.array([1.0, -1.0])
    minus = inputs[1] / np.linalg.norm(inputs[1])
    angle = 1e-12
    w = np.cos(angle) * minus + np.sin(angle) * np.array([-minus[1], minus[0]])
    assert bounds.start_constant(w[None], [1], inputs, labels) == pytest.approx(angle**2, rel=1e-3)
    assert bounds.start_constant(w[None], [-1], inputs, labels) == 1.0
    assert bounds.start_constant(w[None], [1], inputs[:1], labels[:1]) == 1.0


def test_the_start_constant_is_the_least_over_neurons_of_either_sign():
    inputs, labels = np.array([[1.0, 0.0], [-1.0, 0.0]]), np.array([1.0, -1.0])
    w = np.array([[-3.0, 4.0], [-4.0, 3.0], [4.0, 3.0]])
    assert bounds.start_constant(w[:1], [1], inputs, labels) == pytest.approx(0.64)
    assert bounds.start_constant(w, [1, -1, 1], inputs, labels) == pytest.approx(0.64)
    assert bounds.start_constant(w, [1, 1, -1], inputs, labels) == pytest.approx(0.36)
