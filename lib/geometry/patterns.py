"""Geometry of data and neurons: signed cosines, cones, activation patterns, stable rank, clusters.

Vectors are scaled by their longest entry before squares are taken: neurons of any size have directions.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from lib.checks import array, numbers, refuse_overflow, signs
from lib.geometry.separation import labelled_data, project_on_cone


def signed_cosines(inputs: ArrayLike, labels: ArrayLike) -> np.ndarray:
    """Return ``cos(y_i x_i, y_k x_k)``, shape (n, n), for inputs (n, d) and non-zero labels (n,).

    Raises ``ValueError`` for other shapes, values that are not finite, a zero input or a zero label.

    Example:

    >>> signed_cosines([[2.0, 0.0], [-3.0, 3.0]], [1, -0.5]).round(4)
    array([[1.    , 0.7071],
           [0.7071, 1.    ]])
    """
    signed = _signed_directions(inputs, labels)
    return signed @ signed.T


def least_signed_cosine(inputs: ArrayLike, labels: ArrayLike) -> float:
    """Return mu, the least signed cosine over pairs of different data; 1 for a single datum.

    Positive mu is Assumption 1 of min2024, orthogonal separability.  Arguments and errors as of
    :func:`lib.geometry.patterns.signed_cosines`.

    Example:

    >>> round(least_signed_cosine([[1.0, 0.0], [3.0, 4.0], [-1.0, 0.0]], [1, 1, -1]), 12)
    0.6
    """
    cosines = signed_cosines(inputs, labels)
    return float(cosines[~np.eye(len(cosines), dtype=bool)].min(initial=1.0))


def require_orthogonally_separable(inputs: ArrayLike, labels: ArrayLike) -> float:
    """Return mu, or raise ``ValueError`` naming the pair of data with a signed cosine of zero or less.

    Arguments and other errors as of :func:`lib.geometry.patterns.signed_cosines`.  [min2024, Assumption 1]

    Example:

    >>> require_orthogonally_separable([[1.0, 0.0], [1.0, 1.0]], [1, -1])  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: inputs and labels violate orthogonal separability (Assumption 1 of min2024): ...
    """
    cosines = signed_cosines(inputs, labels)
    i, k = np.unravel_index(np.argmin(cosines), cosines.shape)
    if cosines[i, k] <= 0:
        raise ValueError(
            "inputs and labels violate orthogonal separability (Assumption 1 of min2024): data "
            f"{min(i, k)} and {max(i, k)} have signed cosine {cosines[i, k]:.3g}, allowed: above 0"
        )
    return least_signed_cosine(inputs, labels)


def cosine(u: ArrayLike, v: ArrayLike) -> np.ndarray:
    """Return the cosine of the angle between vectors along the last axis; leading axes broadcast.

    ``u`` and ``v`` have shapes (..., d), the cosines (...).  Raises ``ValueError`` for shapes that do not
    fit, zero vectors and values that are not finite.

    Example:

    >>> cosine([[1.0, 0.0], [1e-200, 1e-200]], [0.0, 2.0]).round(4)
    array([0.    , 0.7071])
    """
    first, second = _directions("u", u), _directions("v", v)
    if first.shape[-1] != second.shape[-1]:
        raise ValueError(f"u has shape {first.shape}, v {second.shape}; allowed: (..., d) and (..., d)")
    return (first * second).sum(axis=-1)


@refuse_overflow
def distance_to_cone(point: ArrayLike, generators: ArrayLike) -> float:
    """Return the distance of a point (d,) from the cone of non-negative combinations of generators (n, d).

    Errors as of :func:`lib.geometry.separation.project_on_cone`, which also returns the nearest point and the proof.

    Example:

    >>> round(distance_to_cone([0.0, -1.0], [[1.0, 0.0], [1.0, 1.0]]), 12)
    1.0
    """
    return project_on_cone(point, generators).distance


@refuse_overflow
def activation_patterns(w: ArrayLike, inputs: ArrayLike) -> np.ndarray:
    """Return whether ``<w_j, x_i> > 0``, shape (..., m, n), for neurons (..., m, d) and inputs (n, d).

    Raises ``ValueError`` for other shapes and values that are not finite.

    Example:

    >>> activation_patterns([[1.0, 1.0]], [[1.0, 0.0], [0.0, 0.0], [-2.0, 1.0]])
    array([[ True, False, False]])
    """
    data, neurons = array("inputs", inputs, ("n", "d")), numbers("w", w)
    if neurons.ndim < 2 or neurons.shape[-1] != data.shape[1]:
        raise ValueError(f"w has shape {neurons.shape}, inputs {data.shape}; allowed: (..., m, d) and (n, d)")
    return _scaled(neurons) @ _scaled(data).T > 0


def regions(patterns: ArrayLike, labels: ArrayLike) -> np.ndarray:
    """Return where neurons lie, given patterns (..., m, n) and labels (n,), as strings (..., m).

    "dead": no datum is active; "S+": exactly the positive data are; "S-": exactly the negative data are;
    "other": none of these.  With data of one sign only, a pattern without activity is "dead".  Raises
    ``ValueError`` for patterns that are not true or false, other shapes, and zero labels.  [min2024, Sec. 3]

    Example:

    >>> regions([[True, False], [False, False], [True, True]], [1, -1])
    array(['S+', 'dead', 'other'], dtype='<U5')
    """
    on, positive = numbers("patterns", patterns), _nonzero_labels(labels, "n") > 0
    if on.ndim < 1 or on.shape[-1] != len(positive) or not np.isin(on, (0, 1)).all():
        raise ValueError(
            f"patterns has shape {on.shape}, labels {positive.shape}; allowed: booleans (..., m, n) and (n,)"
        )
    active = on == 1
    found = np.full(active.shape[:-1], "other", dtype="<U5")
    found[(active == positive).all(axis=-1)] = "S+"
    found[(active == ~positive).all(axis=-1)] = "S-"
    found[~active.any(axis=-1)] = "dead"
    return found


def illegal_changes(events: Iterable[Any], output_signs: ArrayLike, labels: ArrayLike) -> np.ndarray:
    """Return which activation changes gain a datum of the other class, or lose one of the own class.

    ``events`` is a sequence of records with fields ``neuron``, ``datum``, ``entering``; ``output_signs`` (m,)
    are the signs of the neurons, +1 or -1, ``labels`` (n,) those of the data, not zero.  Returns booleans,
    one an event; under Assumption 1 none is true.  Raises ``ValueError`` for other signs and labels, and for
    events of a neuron or datum that does not exist.  [min2024, Eqs. 7 and 8]

    Example:

    >>> from types import SimpleNamespace
    >>> gain, loss = (SimpleNamespace(neuron=0, datum=1, entering=entering) for entering in (True, False))
    >>> illegal_changes([gain, loss], [1], [1, -1])
    array([ True, False])
    """
    own, classes = signs("output_signs", output_signs, ("m",)), np.sign(_nonzero_labels(labels, "n"))
    table = np.array([(event.neuron, event.datum, event.entering) for event in events], dtype=int)
    neuron, datum, entering = table.reshape(-1, 3).T
    if ((neuron < 0) | (neuron >= len(own)) | (datum < 0) | (datum >= len(classes))).any():
        raise ValueError(f"events names others than the {len(own)} neurons and {len(classes)} data given")
    return (entering == 1) != (own[neuron] * classes[datum] > 0)


def stable_rank(w: ArrayLike) -> np.ndarray:
    """Return ``|W|_F^2 / |W|_2^2`` of matrices along the last two axes; at least 1, at most the rank.

    ``w`` has shape (..., m, d), the ranks (...).  Raises ``ValueError`` for other shapes, zero matrices and
    values that are not finite.

    Example:

    >>> stable_rank([[2e-200, 0.0], [0.0, 1e-200]])
    np.float64(1.25)
    """
    matrices = numbers("w", w)
    if matrices.ndim < 2 or not matrices.size:
        raise ValueError(f"w has shape {matrices.shape}, allowed: (..., m, d)")
    longest = np.abs(matrices).max(axis=(-2, -1), keepdims=True)
    if not longest.all():
        raise ValueError("w holds a zero matrix, which has no stable rank")
    values = np.linalg.svd(matrices / longest, compute_uv=False)
    return np.sum((values / values[..., :1]) ** 2, axis=-1)


def cluster_radius(*groups: ArrayLike) -> float:
    """Return the largest distance of a neuron from the mean of its own group; each group is (k, d).

    Raises ``ValueError`` for no group, other shapes and values that are not finite.  [sarussi2021, Sec. 5]

    Example:

    >>> cluster_radius([[0.0, 0.0], [2.0, 0.0]], [[5.0, 5.0]])
    1.0
    """
    if not groups:
        raise ValueError("groups is empty, allowed: one group (k, d) or more")
    arrays = [array("groups", group, ("k", "d")) for group in groups]
    size = max(float(np.abs(group).max()) for group in arrays) or 1.0
    units = [group / size for group in arrays]
    return size * max(float(np.linalg.norm(group - group.mean(axis=0), axis=1).max()) for group in units)


def largest_angle(neurons: ArrayLike) -> float:
    """Return the largest angle between two of the neurons (k, d), in degrees; zero for one neuron.

    Raises ``ValueError`` for other shapes, zero neurons and values that are not finite.

    Example:

    >>> round(largest_angle([[1.0, 0.0], [3.0, 3.0], [2.0, 0.0]]), 9)
    45.0
    """
    unit = _directions("neurons", array("neurons", neurons, ("k", "d")))
    apart = np.linalg.norm(unit[:, None] - unit, axis=-1).max()
    together = np.linalg.norm(unit[:, None] + unit, axis=-1).min()
    return float(np.degrees(2 * np.arctan2(apart, together)))


@refuse_overflow
def agreement(neurons: ArrayLike, inputs: ArrayLike) -> tuple[np.ndarray, float]:
    """Return how neurons (k, d) call the inputs (n, d), and with which margin they agree.

    The second value is the margin of agreement: the least, over inputs, of ``max(min_j <w_j, x_i>,
    min_j -<w_j, x_i>)``, positive exactly when the neurons call every input alike.  The first holds the signs
    (n,) of the calls, by the larger of the two where neurons disagree.  Two groups that both agree form a
    neural agreement regime.  Raises ``ValueError`` for other shapes and values that are not finite.
    [sarussi2021, Definition 6.2]

    Example:

    >>> agreement([[1.0, 0.0], [1.0, 1.0]], [[2.0, 1.0], [-3.0, 1.0]])
    (array([ 1., -1.]), 2.0)
    """
    inputs = array("inputs", inputs, ("n", "d"))
    responses = array("neurons", neurons, ("k", inputs.shape[1])) @ inputs.T
    above, below = responses.min(axis=0), -responses.max(axis=0)
    return np.where(above >= below, 1.0, -1.0), float(np.maximum(above, below).min())


def perfect_agreement_margin(w: ArrayLike, u: ArrayLike, inputs: ArrayLike, labels: ArrayLike) -> float:
    """Return the least of ``y_i <w_j, x_i>`` and ``-y_i <u_j, x_i>``, divided by the norm of all neurons.

    ``w`` and ``u`` are (k, d), or (d,) for one neuron of each type; ``inputs`` (n, d) without zero rows,
    ``labels`` (n,) of +1 and -1.  Positive exactly in the perfect agreement regime.  Raises ``ValueError``
    for other shapes and values, and for neurons that are all zero.  [sarussi2021, Definition 6.3]

    Example:

    >>> round(perfect_agreement_margin([3.0, 0.0], [-4.0, 0.0], [[1.0, 1.0], [-2.0, 1.0]], [1, -1]), 12)
    0.6
    """
    inputs, labels = labelled_data(inputs, labels)
    signed = labels[:, None] * inputs
    given = {"w": numbers("w", w), "u": numbers("u", u)}
    first, second = (
        array(name, value, ("k", inputs.shape[1]) if value.ndim != 1 else (inputs.shape[1],))
        for name, value in given.items()
    )
    if not (longest := max(np.abs(first).max(), np.abs(second).max())):
        raise ValueError("w and u are all zero, they have no direction")
    first, second = first / longest, second / longest
    least = min((first @ signed.T).min(), -(second @ signed.T).max())
    return float(least / np.hypot(np.linalg.norm(first), np.linalg.norm(second)))


def _directions(name: str, vectors: ArrayLike) -> np.ndarray:
    """Return unit vectors along the last axis."""
    entries = numbers(name, vectors)
    if entries.ndim < 1 or not entries.shape[-1]:
        raise ValueError(f"{name} has shape {entries.shape}, allowed: (..., d)")
    longest = np.abs(entries).max(axis=-1, initial=0)
    if not longest.all():
        place = int(np.argmin(longest))
        raise ValueError(f"{name} holds a zero vector, which has no direction, number {place} of them")
    scaled = _scaled(entries)
    return scaled / np.linalg.norm(scaled, axis=-1, keepdims=True)


def _scaled(vectors: np.ndarray) -> np.ndarray:
    """Return vectors along the last axis over the size of their longest entry; zero vectors stay."""
    longest = np.abs(vectors).max(axis=-1, keepdims=True)
    return vectors / np.where(longest > 0, longest, 1.0)


def _nonzero_labels(labels: ArrayLike, n: int | str) -> np.ndarray:
    given = array("labels", labels, (n,))
    if not given.all():
        raise ValueError(f"labels holds 0 at index {int(np.argmin(np.abs(given)))}, allowed: other numbers")
    return given


def _signed_directions(inputs: ArrayLike, labels: ArrayLike) -> np.ndarray:
    directions = _directions("inputs", array("inputs", inputs, ("n", "d")))
    return np.sign(_nonzero_labels(labels, len(directions)))[:, None] * directions
