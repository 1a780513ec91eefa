"""The end of training on orthogonal inputs: tangent eigenvalues, the local gradient inequality, Lemma 16."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from lib.arguments import broadcast, numbers, refuse_overflow
from lib.networks import TwoLayer
from lib.theory.orthogonal_data import check_labels, check_orthogonal, class_heights, lengths, same_length


@refuse_overflow
def tangent_eigenvalues(inputs: ArrayLike, labels: ArrayLike) -> np.ndarray:
    """Return the eigenvalues (n,), ascending, at which residuals decay near the minimum-norm interpolator.

    They are those of ``J J^T / n``, J the Jacobian of the outputs on orthogonal ``inputs`` (n, d) in all
    weights: for equal norms in a class ``2 |D|`` once, along the labels, and ``|D|`` otherwise.  The mean
    square loss decays at twice the least one that is excited.  ``labels`` (n,) of both signs.  Raises
    ``ValueError`` for other data.  Ours; [boursier2022, Lemma 5] proves the rate ``|D_-|`` of the loss.

    Example:

    >>> tangent_eigenvalues(np.eye(3), [3.0, 4.0, -6.0]).round(12).tolist()
    [1.666666666667, 3.333333333333, 4.0]
    """
    x, y = check_orthogonal(inputs), check_labels(labels)
    same_length(inputs=len(x), labels=len(y))
    heights = class_heights(x, y)
    found = []
    for height, inside in zip(heights, (y > 0, y < 0), strict=True):
        scaled = y[inside] / np.sqrt(height)
        block = np.diag(height * lengths(x[inside]) ** 2) + np.outer(scaled, scaled)
        found.append(np.linalg.eigvalsh(block))
    return np.sort(np.concatenate(found)) / len(y)


@refuse_overflow
def local_gradient_constant(inputs: ArrayLike, labels: ArrayLike) -> float:
    """Return the limit of the least ``|grad L|^2 / L`` at the minimum-norm interpolator: twice the least
    eigenvalue of :func:`lib.theory.local_convergence.tangent_eigenvalues`.

    For orthonormal inputs it is ``2 |D|`` of the smaller class, or ``4 |D|`` if that decides and has one
    label; the paper proves ``|D_-|``.  ``inputs`` (n, d) orthogonal, ``labels`` (n,) of both signs.  Raises
    ``ValueError`` for other data.  Ours, for [boursier2022, Lemma 5].

    Example:

    >>> local_gradient_constant(np.eye(3), [3.0, 4.0, -6.0]) * 3 / (2 * 5.0)
    1.0
    """
    return float(2 * tangent_eigenvalues(inputs, labels)[0])


@refuse_overflow
def gradient_inequality(network: TwoLayer, inputs: ArrayLike, labels: ArrayLike) -> tuple[float, float]:
    """Return ``|grad L|^2 / L`` of a network and the lower bound of Lemma 14, as repaired.

    The bound is ``(2/n) min(sum_(S_+) |w_j|^2, sum_(S_-) |w_j|^2)``, where ``S_+`` and ``S_-`` hold the
    neurons of ``network`` itself that have the sign of a class and are active on all its labels (at the
    initialisation, as printed, the inequality is false).  It holds for a balanced ReLU network on
    orthonormal ``inputs`` (n, d), ``labels`` (n,) of both signs.  Raises ``ValueError`` for a network
    that is not balanced to 1e-9 or fits exactly, and for other data.  Source: [boursier2022, Lemma 14].

    Example:

    >>> net = TwoLayer([[1.0, 0.0], [0.0, 1.0]], [1.0, -1.0])
    >>> gradient_inequality(net, np.eye(2), [2.0, -1.5])
    (2.0, 1.0)
    """
    x, y = check_orthogonal(inputs, unit=True), check_labels(labels)
    same_length(inputs=len(x), labels=len(y))
    if network.w.ndim != 2 or network.w.shape[1] != x.shape[1] or network.slope != 0:
        raise ValueError(
            f"network has weights of shape {network.w.shape} and slope {network.slope}, allowed: "
            f"(m, {x.shape[1]}) and slope 0"
        )
    norms = lengths(network.w)
    if (np.abs(np.abs(network.a) - norms) > 1e-9 * norms).any():
        raise ValueError("network is not balanced, allowed: |a_j| = |w_j| for all neurons")
    residual = network(x) - y
    if not residual.any():
        raise ValueError("network fits the labels exactly, allowed: a loss above zero")
    in_w, in_a = network.gradients(x, residual / len(y))
    ratio = ((in_w**2).sum() + (in_a**2).sum()) * 2 * len(y) / (residual**2).sum()
    seen = network.preactivations(x).T > 0
    sums = [
        (norms[(sign * network.a > 0) & seen[:, sign * y > 0].all(axis=1)] ** 2).sum() for sign in (1, -1)
    ]
    return float(ratio), float(2 * min(sums) / len(y))


def integral_inequality_bound(
    times: ArrayLike, start: ArrayLike, a: ArrayLike, b: ArrayLike, c: ArrayLike, *, as_printed: bool = False
) -> np.ndarray:
    """Return a bound on every ``f >= 0`` with ``f' <= -a f + b int_0^t f + c`` and ``f(0) = start``.

    The bound is ``(start + c/a) exp(b t / a)``; ``as_printed`` gives ``(start + a c) (1 + exp(b t /
    a))``, the paper's with its ``c/a`` for our c, which is false for small a.  ``times``, ``start``,
    ``b``, ``c`` are zero or more, ``a`` positive; all broadcast.  Infinite where it overflows. Raises
    ``ValueError`` for other values.  Source: [boursier2022, Lemma 16].

    Example:

    >>> [float(integral_inequality_bound(50, 0, 0.1, 0, 10, as_printed=printed)) for printed in (False, True)]
    [100.0, 2.0]
    """
    t, f, a, b, c = _inequality(times, start, a, b, c)
    with np.errstate(over="ignore"):
        growth = np.exp(b * t / a)
        return (f + a * c) * (1 + growth) if as_printed else (f + c / a) * growth


@refuse_overflow
def integral_inequality_solution(
    times: ArrayLike, start: ArrayLike, a: ArrayLike, b: ArrayLike, c: ArrayLike
) -> np.ndarray:
    """Return the extremal function of Lemma 16: ``f' = -a f + b int_0^t f + c`` and ``f(0) = start``.

    A sum of exponentials of rates ``(-a +- sqrt(a^2 + 4b))/2``.  ``times``, ``start``, ``b``, ``c`` are zero
    or more, ``a`` positive; all broadcast.  Relative accuracy 1e-13, divided by the decay ``a t`` where c is
    zero.  Raises ``ValueError`` for other values.  Ours, for [boursier2022, Lemma 16].

    Example:

    >>> float(integral_inequality_solution(50.0, 0.0, 0.1, 1e-6, 10.0).round(2))
    99.36
    """
    t, f, a, b, c = _inequality(times, start, a, b, c)
    gap = np.hypot(a, 2 * np.sqrt(b))
    down = -(a + gap) / 2
    up = -b / down
    with np.errstate(over="ignore", under="ignore"):
        rise, fall = np.exp(up * t), np.exp(down * t)
        return (f * (up * rise - down * fall) + c * rise * -np.expm1(-gap * t)) / gap


def _inequality(
    times: ArrayLike, start: ArrayLike, a: ArrayLike, b: ArrayLike, c: ArrayLike
) -> tuple[np.ndarray, ...]:
    others = {"times": times, "start": start, "b": b, "c": c}
    checked = {name: numbers(name, value, 0.0, ends="[)") for name, value in others.items()}
    t, f, b, c, a = broadcast(**checked, a=numbers("a", a, 0.0))
    return t, f, a, b, c
