"""Two-layer networks with ReLU or leaky ReLU units."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from lib.checks import generator, number, numbers, whole
from lib.checks import signs as checked_signs


@dataclass(frozen=True, eq=False)
class TwoLayer:
    """The network ``f(x) = sum_j a_j phi(<w_j, x>)`` with ``phi(z) = max(z, slope * z)``.

    ``w`` has shape (..., m, d) and ``a`` shape (..., m); leading axes (seeds, say) are independent networks.
    The network keeps copies in float64.  Without units (``m = 0``) it is zero everywhere.  ``slope`` in
    [0, 1] is the slope for negative pre-activations: 0 is ReLU, 1 a linear network.  At zero the derivative
    of ``phi`` is ``slope``.  Inputs have shape (n, d), or (..., n, d) with inputs for each network.
    Raises ``ValueError`` for other shapes, non-finite weights, and slopes outside [0, 1].

    Example: ``|x|`` from two units.

    >>> network = TwoLayer(w=[[1.0], [-1.0]], a=[1.0, 1.0])
    >>> network([[-3.0], [0.5]])
    array([3. , 0.5])
    """

    w: np.ndarray
    a: np.ndarray
    slope: float = 0.0

    def __post_init__(self) -> None:
        for name in ("w", "a"):
            object.__setattr__(self, name, _copy(name, getattr(self, name)))
        if not (isinstance(self.slope, float) and 0 <= self.slope <= 1):
            object.__setattr__(self, "slope", number("slope", self.slope, 0, 1, "[]"))
        if self.w.ndim < 2 or self.w.shape[-1] == 0 or self.a.shape != self.w.shape[:-1]:
            raise ValueError(
                f"w has shape {self.w.shape}, a {self.a.shape}; allowed: (..., m, d) and (..., m)"
            )

    def preactivations(self, inputs: ArrayLike) -> np.ndarray:
        """Return ``<w_j, x_i>``, shape (..., n, m)."""
        return self._points(inputs) @ np.swapaxes(self.w, -1, -2)

    def __call__(self, inputs: ArrayLike) -> np.ndarray:
        """Return the outputs, shape (..., n)."""
        return self._outputs(self.preactivations(inputs))

    def gradients(
        self, inputs: ArrayLike, output_slopes: ArrayLike | Callable[[np.ndarray], np.ndarray]
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the gradients of ``sum_i l_i`` in w and a.

        ``output_slopes`` is ``dl_i/df``, shape (..., n), or a function that returns it for the outputs.  ::

            dl/dw_j = a_j sum_i l_i' phi'(z_ij) x_i,    dl/da_j = sum_i l_i' phi(z_ij)
        """
        points = self._points(inputs)
        z = points @ np.swapaxes(self.w, -1, -2)
        given = output_slopes(self._outputs(z)) if callable(output_slopes) else output_slopes
        slopes = np.asarray(given, dtype=float)
        if slopes.ndim == 0 or slopes.shape[-1] != z.shape[-2]:
            raise ValueError(f"output_slopes has shape {slopes.shape}, allowed: (..., {z.shape[-2]})")
        weights = np.where(z > 0, 1.0, self.slope) * slopes[..., None]
        in_w = np.swapaxes(weights * self.a[..., None, :], -1, -2) @ points
        in_a = np.einsum("...nm,...nm->...m", weights, z)
        return in_w, in_a

    def with_weights(self, w: np.ndarray, a: np.ndarray) -> TwoLayer:
        """Return the same architecture with other weights."""
        return TwoLayer(w, a, self.slope)

    def _outputs(self, z: np.ndarray) -> np.ndarray:
        return np.einsum("...nm,...m->...n", np.maximum(z, self.slope * z), self.a)

    def _points(self, inputs: ArrayLike) -> np.ndarray:
        points = np.asarray(inputs, dtype=float)
        if points.ndim < 2 or points.shape[-1] != self.w.shape[-1]:
            raise ValueError(f"inputs has shape {points.shape}, allowed: (..., n, {self.w.shape[-1]})")
        return points


def _copy(name: str, weights: ArrayLike) -> np.ndarray:
    # Descent makes a network a step: arrays of finite floats pass by the shorter way.
    if isinstance(weights, np.ndarray) and weights.dtype == float and np.isfinite(weights).all():
        return np.array(weights)
    return np.array(numbers(name, weights))


def balanced_network(
    m: int,
    d: int,
    scale: float,
    *,
    rng: np.random.Generator,
    signs: ArrayLike | None = None,
    slope: float = 0.0,
) -> TwoLayer:
    """Draw ``w_j = scale * g_j`` with standard Gaussian ``g_j``, and ``a_j = +-|w_j|``.

    ``m`` units, ``d`` inputs.  ``signs`` (m entries of +1 or -1) are the output signs, drawn with equal odds
    after ``w`` when not given.  The network is balanced to rounding at every scale that a float holds.
    Raises ``ValueError`` for sizes below 1, a negative scale or other signs.

    Example:

    >>> network = balanced_network(4, 3, 1e-200, rng=np.random.default_rng(0), signs=[1, 1, -1, -1])
    >>> (network.a * 1e200).round(3)
    array([ 0.666,  0.655, -1.759, -1.411])
    """
    m, d, scale = whole("m", m, 1), whole("d", d, 1), number("scale", scale, 0, ends="[)")
    directions = generator("rng", rng).standard_normal((m, d))
    chosen = rng.choice([-1.0, 1.0], size=m) if signs is None else checked_signs("signs", signs, (m,))
    # The norm is taken before the scale: squares of weights below 1e-162 would be zero.
    return TwoLayer(scale * directions, chosen * (scale * np.linalg.norm(directions, axis=1)), slope)


def two_sided_network(
    k: int, d: int, scale: float, *, rng: np.random.Generator, v: float = 1.0, slope: float = 0.0
) -> TwoLayer:
    """Draw ``w_j = scale * g_j`` with standard Gaussian ``g_j``: k neurons of output weight +v, then k of -v.

    ``d`` is the number of inputs.  Raises ``ValueError`` for sizes below 1, a negative scale, or an output
    weight that is not positive.

    Example:

    >>> network = two_sided_network(2, 3, 0.1, rng=np.random.default_rng(0), v=0.5)
    >>> network.w.shape, network.a
    ((4, 3), array([ 0.5,  0.5, -0.5, -0.5]))
    """
    k, d = whole("k", k, 1), whole("d", d, 1)
    scale, v = number("scale", scale, 0, ends="[)"), number("v", v, 0)
    return TwoLayer(
        scale * generator("rng", rng).standard_normal((2 * k, d)), v * np.repeat([1.0, -1.0], k), slope
    )
