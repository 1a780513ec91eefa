"""Decision boundaries in the plane: zero level sets, how near the data they pass, how far they bend."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from contourpy import contour_generator


def zero_level_set(
    function: Callable[[np.ndarray], np.ndarray], *, half_width: float = 2.0, points: int = 161
) -> list[np.ndarray]:
    """Return the curves on which a function vanishes, in the square ``[-half_width, half_width]^2``.

    ``function`` maps points (k, 2) to values (k,), and is sampled on a grid of ``points`` a side and
    interpolated linearly.  Each curve has shape (vertices, 2).  Raises ``ValueError`` when there is none.
    """
    axis = np.linspace(-half_width, half_width, points)
    grid = np.stack(np.meshgrid(axis, axis), axis=-1)
    values = np.asarray(function(grid.reshape(-1, 2))).reshape(points, points)
    curves = contour_generator(axis, axis, values).lines(0.0)
    if not curves:
        raise ValueError(f"function does not change its sign in the square of half width {half_width}")
    return curves


def distance_to_data(curves: list[np.ndarray], data: np.ndarray) -> float:
    """Return the distance of the ``data``, shape (n, 2), from ``curves``: that of the nearest point."""
    return min(np.linalg.norm(curve[:, None] - np.asarray(data)[None], axis=-1).min() for curve in curves)


def bend(curves: list[np.ndarray], *, reach: float = 1.0) -> float:
    """Return the root mean square distance, along the first axis, from the best line ``x1 = a + b x2``.

    Only vertices with ``|x2| < reach`` count.  Raises ``ValueError`` when there are fewer than three of them.
    """
    vertices = np.concatenate(curves)
    vertices = vertices[np.abs(vertices[:, 1]) < reach]
    if len(vertices) < 3:
        raise ValueError(f"curves have {len(vertices)} vertices with |x2| < {reach}, allowed: three or more")
    design = np.column_stack([np.ones(len(vertices)), vertices[:, 1]])
    fit = np.linalg.lstsq(design, vertices[:, 0], rcond=None)[0]
    return float(np.sqrt(np.mean((vertices[:, 0] - design @ fit) ** 2)))
