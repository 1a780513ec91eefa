"""Data and starts that several tests of the flow share."""

import numpy as np

from lib.models.two_layer import Start, TwoLayer

TWO_POINTS, TWO_LABELS = np.array([[-0.5, 1.0], [2.0, 1.0]]), np.array([-1.0, 1.0])
CLOUD = np.random.default_rng(5).standard_normal((6, 3))
CLOUD_LABELS = np.array([1.0, -1.0, 1.0, 1.0, -1.0, -1.0])
DIRECTIONS, SIGNS = np.random.default_rng(0).standard_normal((9, 3))[4:], np.array([1.0, -1, 1, -1, 1])
DIRECTIONS /= np.linalg.norm(DIRECTIONS, axis=1)[:, None]
UNIT = Start([[1.0]], [0.0], [1])


def unbalanced(m, d, seed, scale=0.4, slope=0.0):
    rng = np.random.default_rng(seed)
    return TwoLayer(scale * rng.standard_normal((m, d)), scale * rng.standard_normal(m), slope)
