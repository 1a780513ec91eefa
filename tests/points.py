"""Point sets of the papers' examples, for the tests of several packages."""

import numpy as np


def simplex(n, mu):
    """n unit vectors in n dimensions, any two of cosine mu."""
    small = np.sqrt(1 - mu)
    return small * np.eye(n) + (np.sqrt(max(1 + (n - 1) * mu, 0.0)) - small) / n


def six_points():
    """Six planar points whose agreement program and linear hard-margin classifier differ widely."""
    inputs = [(1, -0.7), (2.2, 1.7), (0.8, 0.2), (-1, 0.3), (-1, 0.8), (-0.5, 0.3)]
    return np.array(inputs), np.repeat([1.0, -1.0], 3)


def three_points(degrees=150.0):
    """(1, 0) and the unit vector at an angle, both positive, and (-1, 0), negative."""
    angle = np.radians(degrees)
    return np.array([(1, 0), (np.cos(angle), np.sin(angle)), (-1, 0)]), np.array([1.0, 1.0, -1.0])


def orthogonal_pair():
    """Two orthogonal points, a number and a constant 1 [boursier2022, Sec. 5]."""
    return np.array([(-0.5, 1.0), (2.0, 1.0)]), np.array([-1.0, 1.0])


def five_on_a_line():
    """Five numbers with a constant 1, far from orthogonal [boursier2022, Fig. 4]."""
    numbers = [-1.5, -1.0, 0.0, 0.25, 2.0]
    return np.column_stack([numbers, np.ones(5)]), np.array([0.7, -0.3, -0.3, 0.4, 0.2])
