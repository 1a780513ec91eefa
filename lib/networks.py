"""Two-layer networks with ReLU or leaky ReLU units."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np


@dataclass(frozen=True)
class TwoLayer:
    """The network ``f(x) = sum_j a_j phi(<w_j, x>)`` with ``phi(z) = max(z, slope * z)``.

    ``w`` has shape (..., m, d) and ``a`` shape (..., m); leading axes (seeds, say) are independent networks.
    ``slope`` in [0, 1] is the slope for negative pre-activations: 0 is ReLU, 1 a linear network.  At zero the
    derivative of ``phi`` is ``slope``.  Raises ``ValueError`` for other shapes, non-finite weights or slopes.
    """

    w: np.ndarray
    a: np.ndarray
    slope: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "w", np.asarray(self.w, dtype=float))
        object.__setattr__(self, "a", np.asarray(self.a, dtype=float))
        if self.w.ndim < 2 or self.a.shape != self.w.shape[:-1]:
            raise ValueError(
                f"w has shape {self.w.shape}, a {self.a.shape}; allowed: (..., m, d) and (..., m)"
            )
        if not (np.isfinite(self.w).all() and np.isfinite(self.a).all()):
            raise ValueError("w or a holds values that are not finite")
        if not 0 <= self.slope <= 1:
            raise ValueError(f"slope is {self.slope}, allowed: 0 (ReLU) to 1 (linear)")

    def preactivations(self, inputs: np.ndarray) -> np.ndarray:
        """Return ``<w_j, x_i>``, shape (..., n, m), for inputs of shape (n, d)."""
        return np.asarray(inputs) @ np.swapaxes(self.w, -1, -2)

    def __call__(self, inputs: np.ndarray) -> np.ndarray:
        """Return the outputs, shape (..., n), for inputs of shape (n, d)."""
        z = self.preactivations(inputs)
        return np.einsum("...nm,...m->...n", np.maximum(z, self.slope * z), self.a)

    def gradients(self, inputs: np.ndarray, output_slopes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the gradients of ``sum_i l_i`` in w and a; ``output_slopes`` is ``dl_i/df``, (..., n)."""
        z = self.preactivations(inputs)
        weights = np.where(z > 0, 1.0, self.slope) * np.asarray(output_slopes)[..., None]
        in_w = np.einsum("...nm,nd->...md", weights, inputs) * self.a[..., None]
        in_a = np.einsum("...nm,...nm->...m", weights, z)
        return in_w, in_a

    def with_weights(self, w: np.ndarray, a: np.ndarray) -> TwoLayer:
        """Return the same architecture with other weights."""
        return replace(self, w=w, a=a)


def balanced_network(
    m: int,
    d: int,
    scale: float,
    *,
    rng: np.random.Generator,
    signs: np.ndarray | None = None,
    slope: float = 0.0,
) -> TwoLayer:
    """Draw ``w_j = scale * g_j`` with standard Gaussian ``g_j``, and ``a_j = +-|w_j|``.

    ``signs`` (m entries of +1 or -1) are the output signs, drawn with equal odds after ``w`` when not given.
    Raises ``ValueError`` for a negative scale or other signs.
    """
    if not scale >= 0:
        raise ValueError(f"scale is {scale}, allowed: zero or more")
    w = scale * rng.standard_normal((m, d))
    chosen = rng.choice([-1.0, 1.0], size=m) if signs is None else np.asarray(signs, dtype=float)
    if chosen.shape != (m,) or not np.isin(chosen, (-1, 1)).all():
        raise ValueError(f"signs is {signs!r}, allowed: {m} entries of +1 or -1")
    return TwoLayer(w, chosen * np.linalg.norm(w, axis=1), slope)


def two_sided_network(
    k: int, d: int, scale: float, *, rng: np.random.Generator, v: float = 1.0, slope: float = 0.0
) -> TwoLayer:
    """Draw ``w_j = scale * g_j`` with standard Gaussian ``g_j``: k neurons of output weight +v, then k of -v.

    Raises ``ValueError`` for a negative scale or an output weight that is not positive.
    """
    if not (scale >= 0 and v > 0):
        raise ValueError(f"scale is {scale}, v is {v}; allowed: zero or more, and positive")
    return TwoLayer(scale * rng.standard_normal((2 * k, d)), v * np.repeat([1.0, -1.0], k), slope)
