"""Max-margin programs that name the limits of training, solved exactly and returned with certificates."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from lib.checks import number, refuse_overflow
from lib.geometry.least_norm import Infeasible, ProgramSolution, least_norm
from lib.geometry.separation import Separation, labelled_data, largest_margin
from lib.models.two_layer import TwoLayer


@refuse_overflow
def linear_svm(inputs: ArrayLike, labels: ArrayLike) -> ProgramSolution:
    """Solve the linear hard-margin problem ``min |w|^2 / 2`` subject to ``y_i <w, x_i> >= 1``, without bias.

    ``inputs`` is (n, d) without zero rows, ``labels`` (n,) of +1 and -1, both present; the margin is ``1 /
    norm``, the support vectors have positive ``duals`` (n,).  Raises ``ValueError`` for other shapes and
    values; for data that no hyperplane through the origin separates it is a
    :class:`lib.geometry.least_norm.Infeasible` with the weights that prove it.

    Example:

    >>> solution = linear_svm([[2.0, 0.0], [3.0, 1.0], [-1.0, 0.0]], [1, 1, -1])
    >>> solution.x, solution.duals
    (array([1., 0.]), array([0., 0., 1.]))
    """
    inputs, labels = _two_classes(inputs, labels)
    return least_norm(
        labels[:, None] * inputs, np.ones(len(labels)), name="the linear hard-margin problem of these inputs"
    )


def agreement_features(inputs: ArrayLike, labels: ArrayLike, slope: float) -> np.ndarray:
    """Return the stacked points ``(x, -slope x)`` of positive, ``(-slope x, x)`` of negative ones, (n, 2d).

    Their products with ``(w, u)`` are the margins ``y_i f(x_i)`` of a clustered network, ``f(x) = phi(<w,
    x>) - phi(<u, x>)``, in the perfect agreement regime.  ``inputs`` is (n, d) without zero rows, ``labels``
    (n,) of +1 and -1, both present, ``slope`` in [0, 1] that of ``phi``.  Raises ``ValueError`` for other
    shapes and values.  [sarussi2021, App. G.2]

    Example:

    >>> agreement_features([[1.0, 2.0], [-4.0, 0.0]], [1, -1], slope=0.5)
    array([[ 1. ,  2. , -0.5, -1. ],
           [ 2. , -0. , -4. ,  0. ]])
    """
    inputs, labels = _two_classes(inputs, labels)
    slope = number("slope", slope, 0, 1, "[]")
    first, second = np.where(labels > 0, 1.0, -slope), np.where(labels > 0, -slope, 1.0)
    return np.hstack([first[:, None] * inputs, second[:, None] * inputs])


@refuse_overflow
def agreement_gram(inputs: ArrayLike, labels: ArrayLike, slope: float) -> np.ndarray:
    """Return the products (n, n) of the rows of :func:`lib.geometry.programs.agreement_features`.

    The dual of program (8) sees nothing else.  They are ``(1 + slope^2) <x_i, x_k>`` for equal labels and
    ``-2 slope <x_i, x_k>`` for different ones, so that program (8) is no support vector machine with a
    kernel on inputs, unless ``slope`` is 1.  Arguments and errors as there.  [sarussi2021, App. G.2]

    Example:

    >>> agreement_gram([[1.0], [-2.0]], [1, -1], slope=0.5)
    array([[1.25, 2.  ],
           [2.  , 5.  ]])
    """
    inputs, labels = _two_classes(inputs, labels)
    slope = number("slope", slope, 0, 1, "[]")
    return np.where(np.equal.outer(labels, labels), 1 + slope**2, -2 * slope) * (inputs @ inputs.T)


@refuse_overflow
def agreement_program(inputs: ArrayLike, labels: ArrayLike, slope: float) -> ProgramSolution:
    """Solve program (8): the limit direction ``(w, u)`` of a network in the perfect agreement regime.

    ``min (|w|^2 + |u|^2) / 2`` subject to ``<w - slope u, x> >= 1`` on positive and ``<u - slope w, x> >=
    1`` on negative points; ``x`` of the solution is ``w`` followed by ``u``, ``duals`` (n,) has a multiplier
    a point.  The limit of training where the solution lies in that regime itself: where
    :func:`lib.geometry.patterns.perfect_agreement_margin` of it is positive.

    ``inputs`` is (n, d) without zero rows, ``labels`` (n,) of +1 and -1, both present, ``slope`` in [0, 1].
    Raises ``ValueError`` for other shapes and values, and for data that no hyperplane through the origin
    separates (:class:`lib.geometry.least_norm.Infeasible`), although the program itself asks less: with ``slope < 1``
    it is feasible as soon as each class lies in a half-space of its own.  [sarussi2021, Eq. 8]

    Example:

    >>> solution = agreement_program([[1.0, 0.0], [-1.0, 0.0]], [1, -1], slope=0.25)
    >>> solution.x, abs(solution.gap) < 1e-15
    (array([ 0.8,  0. , -0.8,  0. ]), True)
    """
    linear_svm(inputs, labels)
    features = agreement_features(inputs, labels, slope)
    return least_norm(features, np.ones(len(features)), name="program (8) of these inputs")


@refuse_overflow
def extended_agreement_program(inputs: ArrayLike, labels: ArrayLike, slope: float) -> ProgramSolution:
    """Solve program (8) without its assumption on how a neuron type calls the points of the opposite class.

    ``min (|w|^2 + |u|^2) / 2`` subject to ``<w, x> - phi(<u, x>) >= 1`` on positive and
    ``<u, x> - phi(<w, x>) >= 1`` on negative points, ``phi`` the leaky ReLU; two linear rows a point, the
    first n for the branch of slope ``slope``.  ``x`` of the solution is ``w`` followed by ``u``, ``duals``
    (2n,) has a multiplier a row.  Its margin ``1 / norm`` is at most that of program (8), and equal where
    the solution of (8) lies in the perfect agreement regime.

    ``inputs`` is (n, d) without zero rows, ``labels`` (n,) of +1 and -1, both present, ``slope`` in [0, 1].
    Raises ``ValueError`` for other shapes and values, :class:`lib.geometry.least_norm.Infeasible` for data that no
    hyperplane through the origin separates.

    Example:

    >>> inputs, labels = [[1.0, 0.8], [0.6, -0.4], [-0.4, 1.0]], [1, 1, -1]
    >>> round(1 / agreement_program(inputs, labels, 0.1).norm, 4)
    0.6182
    >>> round(1 / extended_agreement_program(inputs, labels, 0.1).norm, 4)
    0.6156
    """
    rows = np.vstack([agreement_features(inputs, labels, branch) for branch in (slope, 1.0)])
    return least_norm(rows, np.ones(len(rows)), name="the extended program (8) of these inputs")


@refuse_overflow
def cell_program(network: TwoLayer, inputs: ArrayLike, labels: ArrayLike) -> ProgramSolution:
    """Maximise the normalised margin over first-layer weights with the activation pattern of ``network``.

    ``min |w|^2 / 2`` subject to margins of at least 1 (the first n rows), where no neuron changes the sign
    of its response to any input (the other m n rows, neuron by neuron, which are the kinks); ``x`` of the
    solution, shaped (m, d), lists the neurons.  A response of zero counts as negative.

    ``network`` has weights (m, d), ``inputs`` is (n, d) without zero rows, ``labels`` (n,) of +1 and -1, both
    present.  Raises ``ValueError`` for other shapes and values, and (:class:`lib.geometry.least_norm.Infeasible`) if
    no weights with that pattern have positive margins.  [sarussi2021, App. F]

    Example:

    >>> network = TwoLayer([[1.0, 0.0], [-1.0, 0.0]], [1.0, -1.0], slope=0.25)
    >>> cell_program(network, [[1.0, 0.0], [-1.0, 0.0]], [1, -1]).x.reshape(2, 2)
    array([[ 0.8,  0. ],
           [-0.8,  0. ]])
    """
    inputs, labels = _two_classes(inputs, labels)
    if network.w.ndim != 2 or network.w.shape[1] != inputs.shape[1]:
        raise ValueError(
            f"network has weights of shape {network.w.shape}, inputs has shape {inputs.shape}; "
            "allowed: (m, d) and (n, d)"
        )
    on = network.preactivations(inputs) > 0
    slopes = np.where(on, 1.0, network.slope) * network.a * labels[:, None]
    if (silent := np.flatnonzero(~slopes.any(axis=1))).size:
        raise Infeasible(
            f"network is constant near input {silent[0]}, whose margin is zero in all of its cell",
            np.eye(len(inputs))[silent[0]],
        )
    margins = (slopes[:, :, None] * inputs[:, None]).reshape(len(inputs), -1)
    kinks = [
        np.kron(np.eye(len(network.a))[j], np.where(on[:, j : j + 1], inputs, -inputs))
        for j in range(on.shape[1])
    ]
    rows = np.vstack([margins, *kinks])
    bounds = np.repeat([1.0, 0.0], [len(inputs), len(rows) - len(inputs)])
    return least_norm(rows, bounds, name="the program of the cell of this network")


@refuse_overflow
def flipping_margins(inputs: ArrayLike, labels: ArrayLike) -> tuple[Separation, ...]:
    """Return, for each point, how a vector can call the opposite class rightly and this point wrongly.

    The i-th entry belongs to the points of the other class together with ``x_i``: its margin is the largest
    ``beta`` for which a unit vector has products of at least ``beta`` (at a negative ``x_i``; at most
    ``-beta`` at a positive one, where the vector is ``-normal``) with all of them.  ``V+_beta``, restricted
    to vectors of norm rho or less, is empty exactly if ``beta`` exceeds rho times the margins of all negative
    points, ``V-_beta`` likewise with the positive ones; without a bound on the norm, if these margins are
    zero.  Then the ``weights``, (n',) for the n' points of the other class in their order followed by
    ``x_i``, prove it.

    ``inputs`` is (n, d) without zero rows, ``labels`` (n,) of +1 and -1, both present.  Raises ``ValueError``
    for other shapes and values.  [sarussi2021, Sec. 6.2]

    Example:

    >>> margins = flipping_margins([[1.0, 1.0], [1.0, -1.0], [-1.0, 0.0]], [1, 1, -1])
    >>> [round(each.margin, 3) for each in margins]
    [0.447, 0.447, 0.0]
    """
    inputs, labels = _two_classes(inputs, labels)
    return tuple(
        largest_margin(-label * np.vstack([inputs[labels != label], x]))
        for x, label in zip(inputs, labels, strict=True)
    )


@refuse_overflow
def flippable_points(inputs: ArrayLike, labels: ArrayLike) -> np.ndarray:
    """Tell for each point whether some vector calls the opposite class rightly and this point wrongly.

    Returns booleans (n,): True at a negative point ``x`` if some ``v`` has ``<v, x'> >= 1`` on all positive
    points and ``<v, x> >= 1`` (then ``V+`` is not empty), and the same with the classes exchanged; the margin
    asked for is immaterial, since ``v`` can be scaled.  No point is flippable exactly if the cone of the
    positive points is the reflected cone of the negative ones.  Margins below some 1e-7 of the points' norms
    count as none.  Arguments and errors as of :func:`lib.geometry.programs.flipping_margins`, which also returns the
    vectors and the proofs.  [sarussi2021, Sec. 6.2]

    Example:

    >>> flippable_points([[1.0, 1.0], [1.0, -1.0], [-1.0, 0.0]], [1, 1, -1])
    array([ True,  True, False])
    """
    return np.array([each.separable for each in flipping_margins(inputs, labels)])


def _two_classes(inputs: ArrayLike, labels: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    inputs, labels = labelled_data(inputs, labels)
    if len(set(labels)) < 2:
        raise ValueError(f"labels are all {labels[0]:+g}, allowed: +1 and -1, both present")
    return inputs, labels
