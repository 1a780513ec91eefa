"""Orthogonal inputs with real labels: their hypotheses, directions, heights and minimum-norm interpolators.

With orthogonal inputs of norms ``R_k`` the labels of one sign act as one: the positive ones through the
vector ``D_+ = sum_k y_k x_k / n``, the negative ones through ``D_-``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from lib.checks import array, number, refuse_overflow
from lib.models.two_layer import TwoLayer


class Pair(NamedTuple):
    """One value, of any type, for the positive labels and one for the negative ones.

    Example:

    >>> Pair(2.0, 1.0).negative
    1.0
    """

    positive: Any
    negative: Any


def lengths(vectors: np.ndarray) -> np.ndarray:
    """Return the norms along the last axis, shape (..., d) to (...); no square overflows or underflows.

    Raises ``ValueError`` for entries that are not finite.

    Example:

    >>> lengths([[3e-200, 4e-200], [0.0, 0.0]]).tolist()
    [5e-200, 0.0]
    """
    vectors = np.asarray(vectors, dtype=float)
    if not vectors.ndim or not vectors.shape[-1] or not np.isfinite(vectors).all():
        raise ValueError(f"vectors is {vectors!r}, allowed: finite numbers, one axis or more, none empty")
    sizes = np.abs(vectors).max(axis=-1)
    return sizes * np.linalg.norm(vectors / np.where(sizes > 0, sizes, 1.0)[..., None], axis=-1)


def same_length(**found: int) -> None:
    """Raise ``ValueError`` with all names and lengths unless the named lengths are equal.

    Example:

    >>> same_length(inputs=3, labels=2)
    Traceback (most recent call last):
    ValueError: the lengths are inputs 3, labels 2; allowed: equal lengths
    """
    if len(set(found.values())) > 1:
        shown = ", ".join(f"{name} {length}" for name, length in found.items())
        raise ValueError(f"the lengths are {shown}; allowed: equal lengths")


def check_orthogonal(inputs: ArrayLike, *, unit: bool = False, rtol: float = 1e-9) -> np.ndarray:
    """Return the inputs (n, d) as floats; raise ``ValueError`` naming the hypothesis and the offending pair
    unless all cosines are at most ``rtol``.

    ``unit`` asks for norms 1 too, up to ``rtol`` [boursier2022, Assumption 1].

    Example:

    >>> check_orthogonal([[3, 0], [0, 2]]).shape
    (2, 2)
    >>> check_orthogonal([[1, 0], [0.6, 0.8]])
    Traceback (most recent call last):
    ValueError: Assumption 1 (orthogonal inputs) fails for inputs 0 and 1: their cosine is 0.6
    """
    x = array("inputs", inputs, ("n", "d"))
    rtol = number("rtol", rtol, 0.0, 1.0, "[)")
    norms = lengths(x)
    if not norms.all():
        raise ValueError(
            f"inputs holds a zero vector at row {norms.argmin()}, allowed: vectors other than zero"
        )
    units = x / np.abs(x).max(axis=1)[:, None]
    units /= np.linalg.norm(units, axis=1)[:, None]
    cosines = np.abs(units @ units.T)
    np.fill_diagonal(cosines, 0.0)
    if cosines.max() > rtol:
        i, k = np.unravel_index(cosines.argmax(), cosines.shape)
        raise ValueError(
            f"Assumption 1 (orthogonal inputs) fails for inputs {i} and {k}: "
            f"their cosine is {units[i] @ units[k]:.3g}"
        )
    if unit and np.abs(norms - 1).max() > rtol:
        k = np.abs(norms - 1).argmax()
        raise ValueError(f"Assumption 1 (inputs of norm 1) fails for input {k}: its norm is {norms[k]:.6g}")
    return x


def active_inputs(directions: np.ndarray, inputs: np.ndarray) -> np.ndarray:
    """Return whether ``<w_j, x_k> > 0``, shape (m, n), for neurons (m, d) and inputs (n, d) of any norms.

    Products below 1e-15 of ``|w_j||x_k|`` count as zero: what rounding makes of a neuron on a boundary.  A
    neuron there is inactive, and on orthogonal inputs remains so.  Raises ``ValueError`` for other shapes.

    Example:

    >>> active_inputs([[0.6, 0.8], [-1.0, 1e-20]], [[1.0, 0.0], [0.0, 1.0]]).tolist()
    [[True, True], [False, False]]
    """
    w, x = array("directions", directions, ("m", "d")), array("inputs", inputs, ("n", "d"))
    same_length(**{"axis 1 of directions": w.shape[1], "axis 1 of inputs": x.shape[1]})
    first, second = (part / np.maximum(np.abs(part).max(axis=1), 1e-300)[:, None] for part in (w, x))
    return first @ second.T > 1e-15 * np.outer(np.linalg.norm(first, axis=1), np.linalg.norm(second, axis=1))


def check_labels(labels: ArrayLike) -> np.ndarray:
    """Return the labels (n,) as floats; raise ``ValueError`` unless no label is zero and both signs occur.

    Example:

    >>> check_labels([1.5, -2])
    array([ 1.5, -2. ])
    """
    y = array("labels", labels, ("n",))
    if not np.all(y):
        raise ValueError(f"Assumption 2 (no label zero) fails: labels holds 0 at {int(np.argmin(np.abs(y)))}")
    if not ((y > 0).any() and (y < 0).any()):
        raise ValueError("labels are of one sign only, allowed: both signs, since there are two plateaus")
    return y


def _data(inputs: ArrayLike, labels: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    x, y = check_orthogonal(inputs), array("labels", labels, ("n",))
    same_length(inputs=len(x), labels=len(y))
    return x, y


@refuse_overflow
def class_directions(inputs: ArrayLike, labels: ArrayLike) -> Pair:
    """Return ``D_+`` and ``D_-``, each (d,): the sums of ``y_k x_k / n`` over the labels of one sign.

    ``inputs`` (n, d) need not be orthogonal, ``labels`` (n,) are real.  Raises ``ValueError`` for other
    shapes and entries that are not finite.  Source: [boursier2022, Sec. 3].

    Example:

    >>> class_directions([[1, 0], [0, 1]], [3, -1]).positive.tolist()
    [1.5, 0.0]
    """
    x, y = array("inputs", inputs, ("n", "d")), array("labels", labels, ("n",))
    same_length(inputs=len(x), labels=len(y))
    weighted = y[:, None] * x / len(y)
    return Pair(weighted[y > 0].sum(axis=0), weighted[y < 0].sum(axis=0))


@refuse_overflow
def class_heights(inputs: ArrayLike, labels: ArrayLike) -> Pair:
    """Return the norms of ``y_k/|x_k|`` over the positive and over the negative labels.

    They are the squared norms that the two groups of a minimum-norm interpolator of orthogonal inputs (n, d)
    have; ``labels`` (n,) are real.  Raises ``ValueError`` for inputs that are not orthogonal.

    Example:

    >>> class_heights([[1, 0, 0], [0, 2, 0], [0, 0, 1]], [3, 8, -1])
    Pair(positive=5.0, negative=1.0)
    """
    x, y = _data(inputs, labels)
    scaled = y / lengths(x)
    positive, negative = (float(lengths(np.append(part, 0.0))) for part in (scaled[y > 0], scaled[y < 0]))
    return Pair(positive, negative)


@refuse_overflow
def minimum_squared_norm(inputs: ArrayLike, labels: ArrayLike) -> float:
    """Return the least ``|theta|^2`` of an interpolator of orthogonal inputs of any norms.

    This is ``2 (|(y/R)_+| + |(y/R)_-|)`` with ``R_k = |x_k|``; for unit norms it is [boursier2022, Prop. 1].
    ``inputs`` is (n, d), ``labels`` (n,) real.  Raises ``ValueError`` for inputs that are not orthogonal.

    Example:

    >>> minimum_squared_norm([[1, 0, 0], [0, 1, 0], [0, 0, 1]], [3, 4, -1])
    12.0
    """
    return 2 * sum(class_heights(inputs, labels))


@refuse_overflow
def minimum_norm_multipliers(inputs: ArrayLike, labels: ArrayLike) -> np.ndarray:
    """Return the multipliers (n,) of ``f(x_k) = y_k`` in the problem of least ``|theta|^2 / 2``.

    They are ``y_k / (R_k^2 h)``, h the height of the label's class, and certify the minimum: no unit vector w
    has ``|sum_k multiplier_k max(<w, x_k>, 0)|`` above 1.  ``inputs`` (n, d) are orthogonal, ``labels`` (n,)
    real.  Raises ``ValueError`` for other inputs.  Source: [boursier2022, Eq. 35-37] for unit norms.

    Example:

    >>> minimum_norm_multipliers([[1, 0, 0], [0, 1, 0], [0, 0, 2]], [3, 4, -1]).tolist()
    [0.6, 0.8, -0.5]
    """
    x, y = _data(inputs, labels)
    heights, norms = class_heights(x, y), lengths(x)
    return y / norms / np.where(y > 0, heights.positive, heights.negative or 1.0) / norms


@refuse_overflow
def minimum_norm_network(inputs: ArrayLike, labels: ArrayLike) -> TwoLayer:
    """Return the interpolator of least ``|theta|^2`` of orthogonal inputs: one neuron a sign of the labels.

    Each neuron is balanced and points to the sum of ``|y_k| x_k / R_k^2`` over its class.  ``inputs`` is (n,
    d), ``labels`` (n,) real and not all zero.  Raises ``ValueError`` for other data.  Source: [boursier2022,
    Prop. 1] for unit norms.

    Example:

    >>> net = minimum_norm_network([[1, 0], [0, 1]], [4, -1])
    >>> net.w.tolist(), net.a.tolist()
    ([[2.0, 0.0], [0.0, 1.0]], [2.0, -1.0])
    """
    x, y = _data(inputs, labels)
    if not y.any():
        raise ValueError("labels are all zero, allowed: some label other than zero")
    scaled = (np.abs(y) / lengths(x))[:, None] * (x / lengths(x)[:, None])
    chosen = [sign for sign in (1.0, -1.0) if (sign * y > 0).any()]
    sums = np.array([scaled[sign * y > 0].sum(axis=0) for sign in chosen])
    roots = np.sqrt(lengths(sums))
    return TwoLayer(sums / roots[:, None], np.array(chosen) * roots)


@refuse_overflow
def turning_angles(inputs: ArrayLike, labels: ArrayLike) -> Pair:
    """Return by how many radians the neurons of each class turn between alignment and interpolation.

    They align to the sum of ``|y_k| x_k`` of their class, and the minimum-norm interpolator points to the sum
    of ``|y_k| x_k / R_k^2``; the angle between is 0 exactly when the norms ``R_k`` in the class are equal (or
    the class is empty).  ``inputs`` (n, d) are orthogonal, ``labels`` (n,) real.  Raises ``ValueError`` for
    other inputs.  Ours; [boursier2022, Lemma 3 (i)] holds for equal norms only.

    Example:

    >>> angles = turning_angles([[2, 0, 0], [0, 0.5, 0], [0, 0, 1]], [1.2, 1.1, -0.8])
    >>> round(angles.positive, 4), angles.negative
    (1.0793, 0.0)
    """
    x, y = _data(inputs, labels)
    norms = lengths(x)

    def angle(inside: np.ndarray) -> float:
        if not inside.any():
            return 0.0
        first, last = np.abs(y[inside]) * norms[inside], np.abs(y[inside]) / norms[inside]
        first, last = first / lengths(first), last / lengths(last)
        return float(2 * np.arctan2(np.linalg.norm(first - last), np.linalg.norm(first + last)))

    return Pair(angle(y > 0), angle(y < 0))


@refuse_overflow
def single_cluster_squared_norm(labels: ArrayLike, slope: float) -> float:
    """Return ``|theta|^2`` of a leaky network whose neurons all point one way and fit orthonormal inputs.

    A positive cluster fits the negative labels through the leaky ``slope`` in (0, 1], which costs ``2
    sqrt(|y_+|^2 + |y_-|^2 / slope^2)``; the class of larger norm wins the race for the cluster and comes
    first.  Flows of leaky networks converge here as the scale vanishes (a numerical finding, for slopes
    from 0.1 on), far above :func:`lib.theory.orthogonal_data.minimum_squared_norm` when the slope is
    small. ``labels`` is (n,), real, of both signs.  Raises ``ValueError`` for other arguments.  Ours;
    [boursier2022, Sec. 3.2] leaves it open.

    Example:

    >>> round(single_cluster_squared_norm([1.2, 1.1, -0.8, -0.75], 0.3), 3)
    8.003
    """
    y = check_labels(labels)
    slope = number("slope", slope, 0.0, 1.0, "(]")
    small, large = sorted((float(lengths(y[y > 0])), float(lengths(y[y < 0]))))
    return float(2 * np.hypot(large, small / slope))
