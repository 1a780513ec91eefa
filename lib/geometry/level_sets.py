"""Decision boundaries in the plane: where a function vanishes, how near the data, how far from a line."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from contourpy import contour_generator
from numpy.typing import ArrayLike

from lib.checks import array, number, whole
from lib.models.two_layer import TwoLayer


def zero_level_set(
    function: Callable[[np.ndarray], np.ndarray], *, half_width: float = 2.0, points: int = 161
) -> list[np.ndarray]:
    """Return the curves on which a function vanishes, in the square ``[-half_width, half_width]^2``.

    ``function`` maps points (k, 2) to values (k,), and is sampled on a grid of ``points`` (at least 2) a side
    and interpolated linearly, so that vertices of the curves are off by the square of the spacing times the
    curvature of the function.  Each curve has shape (vertices, 2), in the units of the square.  Raises
    ``ValueError`` when there is none, and for a function with other values.

    Example:

    >>> [curve] = zero_level_set(lambda x: x[:, 0] - 0.5 * x[:, 1], points=5)
    >>> bool(abs(curve[:, 0] - 0.5 * curve[:, 1]).max() < 1e-15)
    True
    """
    half_width, points = number("half_width", half_width, 0), whole("points", points, 2)
    axis = np.linspace(-half_width, half_width, points)
    grid = np.stack(np.meshgrid(axis, axis), axis=-1)
    values = array("values of function", function(grid.reshape(-1, 2)), (points**2,))
    curves = contour_generator(axis, axis, values.reshape(points, points)).lines(0.0)
    if not curves:
        raise ValueError(f"function does not change its sign in the square of half width {half_width}")
    return [np.asarray(curve) for curve in curves]


def distance_to_data(curves: Sequence[ArrayLike], data: ArrayLike) -> float:
    """Return the distance between ``curves`` and ``data``, shape (n, 2): that of the nearest datum.

    Each curve holds its vertices, shape (vertices, 2), and includes the segments between them.  Raises
    ``ValueError`` for other shapes, values that are not finite and when there is no curve.

    Example:

    >>> distance_to_data([[[-1.0, 0.0], [1.0, 0.0]]], [[0.0, 2.0], [4.0, 4.0]])
    2.0
    """
    lines, points = _curves(curves), array("data", data, ("n", 2))
    return min(float(_distances_to_curve(line, points).min()) for line in lines)


def _distances_to_curve(line: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Return the distance of each point from each segment of the curve, shape (points, segments)."""
    starts, along = line[:-1], np.diff(line, axis=0)
    if not len(along):
        starts, along = line, np.zeros((1, 2))
    offset, squares = points[:, None] - starts, (along**2).sum(axis=1)
    share = np.clip((offset * along).sum(axis=2) / np.where(squares > 0, squares, 1), 0, 1)
    return np.linalg.norm(offset - share[..., None] * along, axis=2)


def bend(curves: Sequence[ArrayLike], *, reach: float = 1.0) -> float:
    """Return the root mean square distance, along the first axis, from the best line ``x1 = a + b x2``.

    Each of the ``curves`` holds its vertices, shape (vertices, 2); only those with ``|x2| < reach`` count.
    Raises ``ValueError`` when there are fewer than three of them, and for other shapes and values.

    Example:

    >>> bend([[[0.0, -0.5], [0.3, 0.0], [0.0, 0.5]]])
    0.1414213562373095
    """
    reach, vertices = number("reach", reach, 0, ends="(]"), np.concatenate(_curves(curves))
    vertices = vertices[np.abs(vertices[:, 1]) < reach]
    if len(vertices) < 3:
        raise ValueError(f"curves have {len(vertices)} vertices with |x2| < {reach}, allowed: three or more")
    design = np.column_stack([np.ones(len(vertices)), vertices[:, 1]])
    fit = np.linalg.lstsq(design, vertices[:, 0], rcond=None)[0]
    return float(np.sqrt(np.mean((vertices[:, 0] - design @ fit) ** 2)))


def _curves(curves: Sequence[ArrayLike]) -> list[np.ndarray]:
    if not len(curves):
        raise ValueError("curves is empty, allowed: one or more curves")
    return [array("curves", curve, ("vertices", 2)) for curve in curves]


def boundary_angles(network: TwoLayer) -> np.ndarray:
    """Return the polar angles, in degrees, at which the sign (+, 0, -) of a network in the plane changes.

    The network, with weights (m, 2), has no bias, so it is linear between the normals of its neurons and each
    root is exact.  Angles, in increasing order from 0 to 360, closer than 1e-9 radians are not told apart.
    Raises ``ValueError`` for inputs that are not planar.

    Example:

    >>> boundary_angles(TwoLayer([[1.0, 0.0], [-1.0, 1.0]], [1.0, -1.0], slope=0.5)).round(3)
    array([ 63.435, 243.435])
    """
    if network.w.shape[-1] != 2 or network.w.ndim != 2:
        raise ValueError(f"network has weights of shape {network.w.shape}, allowed: (m, 2)")
    normals = np.arctan2(network.w[:, 1], network.w[:, 0])[:, None] + np.array([0.5, 1.5]) * np.pi
    kinks = _distinct(normals.ravel())
    slopes = np.where(_around(_middles(kinks)) @ network.w.T > 0, 1.0, network.slope)
    gradients = (slopes * network.a) @ network.w
    roots = np.arctan2(gradients[:, 1], gradients[:, 0])[:, None] + np.array([0.5, 1.5]) * np.pi
    # A root counts if the sign differs on its two sides; roots outside their own cell then drop out.
    candidates = _distinct(np.concatenate([kinks, roots.ravel()]))
    values = network(_around(_middles(candidates)))
    rounding = 1e-15 * np.abs(network.w).max() * np.abs(network.a).sum()
    signs = np.where(np.abs(values) > rounding, np.sign(values), 0)
    return np.degrees(candidates[signs != np.roll(signs, 1)])


def _distinct(angles: np.ndarray) -> np.ndarray:
    angles = np.sort(angles % (2 * np.pi))
    return angles[np.diff(angles, prepend=angles[-1] - 2 * np.pi) > 1e-9]


def _middles(angles: np.ndarray) -> np.ndarray:
    return angles + np.diff(angles, append=angles[0] + 2 * np.pi) / 2


def _around(angles: np.ndarray) -> np.ndarray:
    return np.column_stack([np.cos(angles), np.sin(angles)])


def boundary_bend(network: TwoLayer) -> float:
    """Return by how many degrees the decision boundary of a network in the plane deviates from a line.

    Zero for a straight boundary, up to 180.  Raises ``ValueError`` when the boundary does not consist of two
    rays, and for a network with weights of another shape than (m, 2).

    Example:

    >>> round(boundary_bend(TwoLayer([[1.0, 0.0], [0.0, 1.0]], [1.0, -1.0], slope=0.5)), 9)
    0.0
    """
    angles = boundary_angles(network)
    if len(angles) != 2:
        raise ValueError(f"the boundary of network has {len(angles)} rays; a bend is defined for 2")
    return float(abs(180 - (angles[1] - angles[0])))
