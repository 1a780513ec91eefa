"""Decision boundaries in the plane: where a function vanishes, how near the data, how far from a line.

A curve is an array of its vertices, shape (vertices, 2).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from contourpy import contour_generator
from numpy.typing import ArrayLike

from lib.models.two_layer import TwoLayer


def zero_level_set(
    function: Callable[[np.ndarray], np.ndarray], *, half_width: float = 2.0, points: int = 161
) -> list[np.ndarray]:
    """Return the curves on which a function vanishes, in the square ``[-half_width, half_width]^2``.

    ``function`` maps points (k, 2) to values (k,), and is sampled on a grid of ``points`` a side and
    interpolated linearly, so that vertices are off by the square of the spacing times the curvature of the
    function.  Raises ``ValueError`` when it does not change its sign there.
    """
    axis = np.linspace(-half_width, half_width, points)
    grid = np.stack(np.meshgrid(axis, axis), axis=-1)
    values = np.asarray(function(grid.reshape(-1, 2)), dtype=float).reshape(points, points)
    curves = contour_generator(axis, axis, values).lines(0.0)
    if not curves:
        raise ValueError(f"function does not change its sign in the square of half width {half_width}")
    return [np.asarray(curve) for curve in curves]


def distance_to_data(curves: Sequence[ArrayLike], data: ArrayLike) -> float:
    """Return the distance of curves, segments between vertices included, from the nearest of data (n, 2)."""
    points = np.asarray(data, dtype=float)
    return min(_distance(np.asarray(curve, dtype=float), points) for curve in curves)


def _distance(line: np.ndarray, points: np.ndarray) -> float:
    starts, along = line[:-1], np.diff(line, axis=0)
    offset, squares = points[:, None] - starts, (along**2).sum(axis=1)
    share = np.clip((offset * along).sum(axis=2) / np.where(squares > 0, squares, 1), 0, 1)
    return float(np.linalg.norm(offset - share[..., None] * along, axis=2).min())


def bend(curves: Sequence[ArrayLike]) -> float:
    """Return the root mean square distance, along the first axis, from the best line ``x1 = a + b x2``.

    Only vertices with ``|x2| < 1`` count.  Raises ``ValueError`` when there are fewer than three.
    """
    vertices = np.concatenate([np.asarray(curve, dtype=float) for curve in curves])
    vertices = vertices[np.abs(vertices[:, 1]) < 1]
    if len(vertices) < 3:
        raise ValueError(f"curves have {len(vertices)} vertices with |x2| < 1, allowed: three or more")
    design = np.column_stack([np.ones(len(vertices)), vertices[:, 1]])
    fit = np.linalg.lstsq(design, vertices[:, 0], rcond=None)[0]
    return float(np.sqrt(np.mean((vertices[:, 0] - design @ fit) ** 2)))


def boundary_angles(network: TwoLayer) -> np.ndarray:
    """Return the polar angles, in degrees, at which the sign (+, 0, -) of a network in the plane changes.

    The network, with weights (m, 2), has no bias, so it is linear between the normals of its neurons and each
    root is exact.  Angles, in increasing order from 0 to 360, closer than 1e-9 radians are not told apart.
    """
    normals = np.arctan2(network.w[:, 1], network.w[:, 0])[:, None] + np.array([0.5, 1.5]) * np.pi
    kinks = _distinct(normals.ravel())
    slopes = np.where(_around(_middles(kinks)) @ network.w.T > 0, 1.0, network.slope)
    gradients = (slopes * network.a) @ network.w
    roots = np.arctan2(gradients[:, 1], gradients[:, 0])[:, None] + np.array([0.5, 1.5]) * np.pi
    # A root counts if the sign differs on its two sides; roots outside their own cell then drop out.
    candidates = _distinct(np.concatenate([kinks, roots.ravel()]))
    values = network(_around(_middles(candidates)))
    rounding = 1e-15 * np.abs(network.a) @ np.linalg.norm(network.w, axis=1)
    signs = np.where(np.abs(values) > rounding, np.sign(values), 0)
    return np.degrees(candidates[signs != np.roll(signs, 1)])


def boundary_bend(network: TwoLayer) -> float:
    """Return by how many degrees, 0 to 180, the boundary of a network in the plane deviates from a line.

    Raises ``ValueError`` when the boundary does not consist of two rays.
    """
    angles = boundary_angles(network)
    if len(angles) != 2:
        raise ValueError(f"the boundary of network has {len(angles)} rays; a bend is defined for 2")
    return float(abs(180 - (angles[1] - angles[0])))


def _distinct(angles: np.ndarray) -> np.ndarray:
    angles = np.sort(angles % (2 * np.pi))
    return angles[np.diff(angles, prepend=angles[-1] - 2 * np.pi) > 1e-9]


def _middles(angles: np.ndarray) -> np.ndarray:
    return angles + np.diff(angles, append=angles[0] + 2 * np.pi) / 2


def _around(angles: np.ndarray) -> np.ndarray:
    return np.column_stack([np.cos(angles), np.sin(angles)])
