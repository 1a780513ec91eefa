"""The clock of a ReLU neuron on one input with the cross-entropy loss, wherever it starts.

Gradient flow of pre-activation ``h = <w, x>`` and output weight ``a`` (label +1) is ``h' = norm^2 a
sigmoid(-u)``, ``a' = h sigmoid(-u)`` with logit ``u = a h``.  In the coordinates

    rising = (h + norm a)^2 / (4 norm),     falling = (h - norm a)^2 / (4 norm)

the logit is ``rising - falling``; the one grows as the other decays, and their product is ``(c / (4
norm))^2`` with the invariant ``c = h^2 - norm^2 a^2`` [combes2018, Appendix A.3].
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike


def rising_and_falling(h: ArrayLike, a: ArrayLike, norm: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """Return ``(h + norm a)^2 / (4 norm)`` and ``(h - norm a)^2 / (4 norm)``, entry by entry."""
    if not (np.isfinite(norm) and norm > 0):
        raise ValueError(f"norm is {norm}, allowed: positive numbers")
    h, a = np.asarray(h, dtype=float), np.asarray(a, dtype=float)
    return (h + norm * a) ** 2 / (4 * norm), (h - norm * a) ** 2 / (4 * norm)


def equivalent_neuron(h: ArrayLike, a: ArrayLike, norm: float = 1.0) -> tuple[float, float]:
    """Return ``(h, a)`` of the one neuron whose logit is that of these active neurons, shape (m,), together.

    Rising and falling parts add.  Its invariant ``c`` is at least the sum of the neurons' own, with equality
    only if all ``(h_j - norm a_j) / (h_j + norm a_j)`` agree.  Valid while every neuron stays active.  Raises
    ``ValueError`` naming the first neuron that is not active.
    """
    h = np.asarray(h, dtype=float)
    if not (h > 0).all():
        j = int(np.argmin(h > 0))
        raise ValueError(
            f"h[{j}] is {h.flat[j]}: neuron {j} is not active, allowed: positive pre-activations"
        )
    rising, falling = (np.sqrt(4 * norm * part.sum()) for part in rising_and_falling(h, a, norm))
    return float(rising + falling) / 2, float(rising - falling) / (2 * norm)


def time_to_logit(u1: ArrayLike, h0: float, a0: float, norm: float = 1.0) -> np.ndarray:
    """Return the time at which the neuron started at ``(h0, a0)`` has logit ``u1``, by a convergent series.

    With rising part P and falling part Q, ``2 norm t`` is the increase of ``(1 + B_0) log P + sum_n
    B_n (P^n - (-Q)^n) / (n n!)``, ``B_n = 0F1(n + 1; -P Q)`` (a Bessel function, since ``P Q`` is constant);
    for c = 0 this is the increase of ``log u + Ei(u)``.  ``u1`` is at least the initial logit, and at most 0
    for a neuron that dies.  Raises ``ValueError`` for other ``u1`` and for a neuron that never moves.
    """
    rising, falling = rising_and_falling(h0, a0, norm)
    start = float(rising - falling)
    product = float(rising * falling)
    u1 = np.asarray(u1, dtype=float)
    if not h0 > 0 or rising == 0:
        raise ValueError(f"(h0, a0) is ({h0}, {a0}), allowed: h0 > 0 and h0 != -norm * a0")
    highest = np.inf if h0 > -norm * a0 else 0.0
    if not ((u1 >= start) & (u1 <= highest)).all():
        raise ValueError(f"u1 holds {u1}, allowed: from the initial logit {start} to {highest}")
    root = np.sqrt(u1**2 + 4 * product)
    # The larger of the two parts is computed without cancellation, the other from the product.
    larger = (np.abs(u1) + root) / 2
    smaller = product / np.maximum(larger, np.finfo(float).tiny)
    rising1, falling1 = np.where(u1 >= 0, larger, smaller), np.where(u1 >= 0, smaller, larger)
    size = float(np.max(np.concatenate([[rising, falling], np.ravel(rising1), np.ravel(falling1)])))
    factors = _bessel_factors(product, int(40 + 4 * size))
    total = (1 + factors[0]) * np.log(rising1 / rising)
    powers = np.array([rising1, np.broadcast_to(rising, u1.shape), -falling1, np.full(u1.shape, -falling)])
    terms = np.ones_like(powers)
    for n in range(1, len(factors)):
        terms = terms * powers / n  # P^n / n! and so on
        total = total + factors[n] / n * (terms[0] - terms[1] - terms[2] + terms[3])
    return total / (2 * norm)


def _bessel_factors(product: float, size: int) -> np.ndarray:
    """Return ``0F1(n + 1; -product) = n! J_n(2 r) / r^n`` with ``r^2 = product``, for n below ``size``.

    By the three-term recurrence downwards, which is stable, from where the power series loses no digits.
    """
    top = size + int(product) + 2
    k = np.arange(1, 30)
    factors = np.empty(top + 1)
    for n in (top, top - 1):
        factors[n] = 1 + np.cumprod(-product / (k * (n + k))).sum()
    for n in range(top - 1, 0, -1):
        factors[n - 1] = factors[n] - product / (n * (n + 1)) * factors[n + 1]
    return factors[:size]


def escape_time(h0: float, a0: float, norm: float = 1.0) -> float:
    """Return when the output weight of a neuron with ``a0 < 0`` and ``h0 > -norm a0`` changes sign.

    There ``h`` has its minimum, the square root of c.  Raises ``ValueError`` for other starts.
    """
    if not (a0 < 0 and h0 > -norm * a0):
        raise ValueError(f"(h0, a0) is ({h0}, {a0}), allowed: a0 < 0 and h0 > -norm * a0 (case 2)")
    return float(time_to_logit(0.0, h0, a0, norm))


def death_time(h0: float, a0: float, norm: float = 1.0) -> float:
    """Return when the pre-activation of a neuron with ``0 < h0 < -norm a0`` reaches zero, for good.

    Raises ``ValueError`` for other starts.
    """
    if not 0 < h0 < -norm * a0:
        raise ValueError(f"(h0, a0) is ({h0}, {a0}), allowed: 0 < h0 < -norm * a0 (case 3)")
    return float(time_to_logit(0.0, h0, a0, norm))
