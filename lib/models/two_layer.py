"""Two-layer networks with ReLU or leaky ReLU units, and the starts from which they learn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from lib import checks
from lib.checks import array, number, numbers, whole


@dataclass(frozen=True, eq=False)
class TwoLayer:
    """The network ``f(x) = sum_j a_j phi(<w_j, x>)`` with ``phi(z) = max(z, slope * z)``.

    ``w`` has shape (..., m, d) and ``a`` shape (..., m); leading axes (seeds, say) are independent networks.
    The network keeps copies in float64.  Without units (``m = 0``) it is zero everywhere.  ``slope`` in
    [0, 1] is the slope for negative pre-activations: 0 is ReLU, 1 a linear network.  At zero the derivative
    of ``phi`` is ``slope``.  Inputs have shape (n, d), or (..., n, d) with inputs for each network.
    Raises ``ValueError`` for other shapes of weights, non-finite ones, and slopes outside [0, 1].
    """

    w: np.ndarray
    a: np.ndarray
    slope: float = 0.0

    def __post_init__(self) -> None:
        for name in ("w", "a"):
            weights = np.array(getattr(self, name), dtype=float)
            if not np.isfinite(weights).all():
                raise ValueError(f"{name} holds {weights[~np.isfinite(weights)][0]}, allowed: finite numbers")
            object.__setattr__(self, name, weights)
        if self.w.ndim < 2 or self.w.shape[-1] == 0 or self.a.shape != self.w.shape[:-1]:
            raise ValueError(
                f"w has shape {self.w.shape}, a {self.a.shape}; allowed: (..., m, d) and (..., m)"
            )
        if not 0 <= self.slope <= 1:
            raise ValueError(f"slope is {self.slope}, allowed: real numbers in [0, 1]")

    @classmethod
    def balanced(cls, w: ArrayLike, signs: ArrayLike, slope: float = 0.0) -> TwoLayer:
        """Return the network with output weights ``a_j = s_j |w_j|``.

        ``w`` is (..., m, d), ``signs`` (m,) or (..., m) are +1 and -1.  Raises ``ValueError`` for other
        signs, and as the network itself does.
        """
        weights = numbers("w", w)
        norms = np.linalg.norm(weights, axis=-1)
        return cls(weights, _signs(signs, norms.shape) * norms, slope)

    def preactivations(self, inputs: ArrayLike) -> np.ndarray:
        """Return ``<w_j, x_i>``, shape (..., n, m)."""
        return np.asarray(inputs, dtype=float) @ np.swapaxes(self.w, -1, -2)

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
        z = self.preactivations(inputs)
        slopes = np.asarray(output_slopes(self._outputs(z)) if callable(output_slopes) else output_slopes)
        weights = np.where(z > 0, 1.0, self.slope) * slopes[..., None]
        in_w = np.swapaxes(weights * self.a[..., None, :], -1, -2) @ np.asarray(inputs, dtype=float)
        in_a = np.einsum("...nm,...nm->...m", weights, z)
        return in_w, in_a

    def with_weights(self, w: np.ndarray, a: np.ndarray) -> TwoLayer:
        """Return the same architecture with other weights."""
        return TwoLayer(w, a, self.slope)

    def _outputs(self, z: np.ndarray) -> np.ndarray:
        return np.einsum("...nm,...m->...n", np.maximum(z, self.slope * z), self.a)


@dataclass(frozen=True, eq=False)
class Start:
    """A network at any scale: ``w = exp(log_norms) directions`` and ``a = signs exp(log_outputs)``.

    ``directions`` (..., m, d) are unit vectors, ``log_norms`` (..., m) natural logarithms, -inf for ``w = 0``
    (whose direction may be zero), ``signs`` (m,) or (..., m) are +1 and -1, ``log_outputs`` (..., m) natural
    logarithms, by default those of the norms: a balanced start.  Leading axes are independent networks.
    Raises ``ValueError`` for other shapes, vectors and signs.
    """

    directions: np.ndarray
    log_norms: np.ndarray
    signs: np.ndarray
    log_outputs: np.ndarray = None  # type: ignore[assignment]  # set to the log-norms

    def __post_init__(self) -> None:
        v = numbers("directions", self.directions)
        if v.ndim < 2 or not v.size:
            raise ValueError(f"directions has shape {v.shape}, allowed: (..., m, d)")
        lengths, m = np.linalg.norm(v, axis=-1), v.shape[:-1]
        rho = array("log_norms", self.log_norms, m, ends="[)")
        absent = (lengths == 0) & np.isneginf(rho)
        if (wrong := (np.abs(lengths - 1) > 1e-9) & ~absent).any():
            raise ValueError(
                f"directions holds a vector of length {lengths[wrong].flat[0]:.6g}, allowed: 1; "
                "add its logarithm to log_norms"
            )
        s = _signs(self.signs, m)
        outputs = rho if self.log_outputs is None else array("log_outputs", self.log_outputs, m, ends="[)")
        parts = {"directions": v, "log_norms": rho, "signs": s, "log_outputs": outputs}
        for name, part in parts.items():
            object.__setattr__(self, name, np.array(part))

    @classmethod
    def gaussian(cls, m: int, d: int, log_scale: float, *, rng: np.random.Generator) -> Start:
        """Draw a balanced start: ``w_j`` Gaussian of deviation ``exp(log_scale)``, signs with equal odds.

        ``m`` neurons, ``d`` inputs; the draw does not depend on the scale.
        """
        g = rng.standard_normal((whole("m", m, 1), whole("d", d, 1)))
        signs = rng.choice([-1.0, 1.0], size=m)
        norms = np.linalg.norm(g, axis=1)
        return cls(g / norms[:, None], np.log(norms) + number("log_scale", log_scale), signs)

    @classmethod
    def two_sided(
        cls, k: int, d: int, log_scale: float, *, rng: np.random.Generator, v: float = 1.0
    ) -> Start:
        """Draw k neurons of output weight ``v``, then k of ``-v``; ``w_j`` as in `gaussian`."""
        g = rng.standard_normal((2 * whole("k", k, 1), whole("d", d, 1)))
        norms, outputs = np.linalg.norm(g, axis=1), np.full(2 * k, np.log(number("v", v, 0)))
        log_norms = np.log(norms) + number("log_scale", log_scale)
        return cls(g / norms[:, None], log_norms, np.repeat([1.0, -1.0], k), outputs)

    @classmethod
    def of(cls, network: TwoLayer) -> Start:
        """Return the start that is this network; one that is balanced up to rounding is balanced."""
        # The largest entry is divided out first: squares of weights below 1e-154 would underflow.
        largest = np.abs(network.w).max(axis=-1)
        v = network.w / np.where(largest > 0, largest, 1.0)[..., None]
        lengths = np.linalg.norm(v, axis=-1)
        with np.errstate(divide="ignore"):
            log_norms, log_outputs = np.log(largest) + np.log(lengths), np.log(np.abs(network.a))
        balanced = np.isclose(log_outputs, log_norms, rtol=1e-15, atol=1e-14)
        return cls(
            v / np.where(lengths > 0, lengths, 1.0)[..., None],
            log_norms,
            np.where(network.a < 0, -1.0, 1.0),
            np.where(balanced, log_norms, log_outputs),
        )

    @classmethod
    def stack(cls, starts: Sequence[Start]) -> Start:
        """Return independent networks as one start, with an axis for them in front.

        Raises ``ValueError`` for none, and unless all have directions of one shape.
        """
        if len(shapes := {start.directions.shape for start in starts}) != 1:
            raise ValueError(f"starts have directions of shapes {sorted(shapes)}, allowed: one shape")
        return cls(*(np.stack(parts) for parts in zip(*map(_parts, starts), strict=True)))

    def neurons(self, chosen: np.ndarray | slice) -> Start:
        """Return the start of some neurons: their indices (k,), a mask (m,), or a slice."""
        v, *others = _parts(self)
        return Start(v[..., chosen, :], *(part[..., chosen] for part in others))

    def scaled(self, log_factor: float) -> Start:
        """Return the start whose weights are ``exp(log_factor)`` times as large."""
        return Start(self.directions, self.log_norms + log_factor, self.signs, self.log_outputs + log_factor)

    def network(self, slope: float = 0.0) -> TwoLayer:
        """Return the network in floats, where weights below the smallest are zero.

        Raises ``ValueError`` for weights above the largest.
        """
        with np.errstate(over="ignore"):
            w = np.exp(self.log_norms)[..., None] * self.directions
            return TwoLayer(w, self.signs * np.exp(self.log_outputs), slope)


def _parts(start: Start) -> tuple[np.ndarray, ...]:
    return start.directions, start.log_norms, start.signs, start.log_outputs


def _signs(value: ArrayLike, m: tuple[int, ...]) -> np.ndarray:
    """Return signs of all neurons of all networks, (..., m), that were given for all or for one network."""
    s = numbers("signs", value)
    return np.broadcast_to(checks.signs("signs", s, m if s.ndim > 1 else m[-1:]), m)
