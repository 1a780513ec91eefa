"""Geometry of data and neurons: signed cosines, cones, activation patterns, stable rank."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.optimize import minimize, nnls

from lib.networks import TwoLayer


def signed_cosines(inputs: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return ``cos(y_i x_i, y_k x_k)``, shape (n, n), for inputs (n, d) and labels of either sign (n,).

    Raises ``ValueError`` for other shapes, a zero input or a zero label.
    """
    inputs, labels = np.asarray(inputs, dtype=float), np.asarray(labels, dtype=float)
    if inputs.ndim != 2 or labels.shape != inputs.shape[:1]:
        raise ValueError(f"inputs has shape {inputs.shape}, labels {labels.shape}; allowed: (n, d) and (n,)")
    for name, sizes in (("input", np.linalg.norm(inputs, axis=1)), ("label", np.abs(labels))):
        if (sizes == 0).any():
            raise ValueError(f"{name} {int(np.argmin(sizes))} is zero and has no direction")
    signed = np.sign(labels)[:, None] * inputs / np.linalg.norm(inputs, axis=1)[:, None]
    return signed @ signed.T


def least_signed_cosine(inputs: np.ndarray, labels: np.ndarray) -> float:
    """Return mu, the least signed cosine over pairs of different data; 1 for a single datum.

    Positive mu is Assumption 1 of min2024, orthogonal separability.
    """
    cosines = signed_cosines(inputs, labels)
    return float(cosines[~np.eye(len(cosines), dtype=bool)].min(initial=1.0))


def require_orthogonally_separable(inputs: np.ndarray, labels: np.ndarray) -> float:
    """Return mu, or raise ``ValueError`` naming the pair of data with a signed cosine of zero or less.

    [min2024, Assumption 1]
    """
    cosines = signed_cosines(inputs, labels)
    i, k = np.unravel_index(np.argmin(cosines), cosines.shape)
    if cosines[i, k] <= 0:
        raise ValueError(
            f"the data violate orthogonal separability (Assumption 1 of min2024): data {min(i, k)} and "
            f"{max(i, k)} have signed cosine {cosines[i, k]:.3g}, allowed: above 0"
        )
    return least_signed_cosine(inputs, labels)


def cosine(u: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Return the cosine of the angle between vectors along the last axis; leading axes broadcast."""
    u, v = np.asarray(u, dtype=float), np.asarray(v, dtype=float)
    return (u * v).sum(axis=-1) / (np.linalg.norm(u, axis=-1) * np.linalg.norm(v, axis=-1))


def distance_to_cone(point: np.ndarray, generators: np.ndarray) -> float:
    """Return the distance of a point (d,) from the conic hull of generators (n, d)."""
    return float(nnls(np.asarray(generators, dtype=float).T, np.asarray(point, dtype=float))[1])


def activation_patterns(w: np.ndarray, inputs: np.ndarray) -> np.ndarray:
    """Return whether ``<w_j, x_i> > 0``, shape (..., m, n), for neurons (..., m, d) and inputs (n, d)."""
    return np.asarray(w) @ np.asarray(inputs).T > 0


def regions(patterns: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return where neurons lie, given patterns (..., m, n) and labels (n,), as strings (..., m).

    "dead": no datum is active; "S+": exactly the positive data are; "S-": exactly the negative data are;
    "other": none of these.  With data of one sign only, a pattern without activity is "dead".
    [min2024, Sec. 3]
    """
    patterns, positive = np.asarray(patterns, dtype=bool), np.asarray(labels) > 0
    found = np.full(patterns.shape[:-1], "other", dtype="<U5")
    found[(patterns == positive).all(axis=-1)] = "S+"
    found[(patterns == ~positive).all(axis=-1)] = "S-"
    found[~patterns.any(axis=-1)] = "dead"
    return found


def illegal_changes(events: Sequence, signs: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return which activation changes gain a datum of the other class, or lose one of the own class.

    ``events`` is a sequence of records with fields ``neuron``, ``datum``, ``entering``; ``signs`` (m,) are
    the output signs of the neurons, ``labels`` (n,) those of the data.  Under Assumption 1 there is none.
    [min2024, Eqs. 7 and 8]
    """
    table = np.array([(event.neuron, event.datum, event.entering) for event in events], dtype=int).reshape(
        -1, 3
    )
    own = np.asarray(signs)[table[:, 0]] * np.sign(labels)[table[:, 1]] > 0
    return (table[:, 2] == 1) != own


def largest_cosine_outside(
    inputs: np.ndarray, labels: np.ndarray, *, rng: np.random.Generator, attempts: int = 3
) -> float:
    """Return the largest ``cos(z, w)`` over z in the cone of signed data and w with some ``<w, z_i> <= 0``.

    A numerical search (SLSQP from ``attempts`` random starts for each i) that uses no theory; its value is
    the ``sqrt(1 - xi)`` of Lemma 9.  [min2024, Lemma 9]
    """
    signed = np.sign(labels)[:, None] * inputs / np.linalg.norm(inputs, axis=1)[:, None]
    (n, d), best = signed.shape, 0.0
    for i in np.repeat(np.arange(n), attempts):
        found = minimize(
            lambda u: -cosine(u[:n] @ signed, u[n:]),
            np.append(rng.uniform(size=n), rng.standard_normal(d)),
            method="SLSQP",
            tol=1e-14,
            bounds=[(0, 1)] * n + [(-2, 2)] * d,
            constraints=[
                {"type": "ineq", "fun": lambda u, i=i: -u[n:] @ signed[i]},
                {"type": "ineq", "fun": lambda u: u[:n].sum() - 0.5},
            ],
        )
        best = max(best, -float(found.fun) if found.success else 0.0)
    return best


def stable_rank(w: np.ndarray) -> np.ndarray:
    """Return ``|W|_F^2 / |W|_2^2`` of matrices along the last two axes; at least 1, at most the rank."""
    return np.sum(np.square(w), axis=(-2, -1)) / np.linalg.norm(w, ord=2, axis=(-2, -1)) ** 2


def cluster_radius(*groups: np.ndarray) -> float:
    """Return the largest distance of a neuron from the mean of its own group; each group is (k, d).

    [sarussi2021, Sec. 5]
    """
    return max(float(np.linalg.norm(group - np.mean(group, axis=0), axis=1).max()) for group in groups)


def largest_angle(neurons: np.ndarray) -> float:
    """Return the largest angle between two of the neurons (k, d), in degrees."""
    unit = neurons / np.linalg.norm(neurons, axis=1)[:, None]
    apart = np.linalg.norm(unit[:, None] - unit[None], axis=-1).max()
    return float(np.degrees(2 * np.arcsin(min(apart / 2, 1.0))))


def agreement(neurons: np.ndarray, inputs: np.ndarray) -> tuple[np.ndarray, float]:
    """Return how neurons (k, d) call the inputs (n, d), and with which margin they agree.

    The second value is the margin of agreement: the least, over inputs, of ``max(min_j <w_j, x_i>,
    min_j -<w_j, x_i>)``, positive exactly when the neurons call every input alike.  The first holds the signs
    (n,) of the calls, by the larger of the two where neurons disagree.  Two groups that both agree form a
    neural agreement regime.  [sarussi2021, Definition 6.2]
    """
    responses = np.asarray(neurons) @ np.asarray(inputs).T
    above, below = responses.min(axis=0), -responses.max(axis=0)
    return np.where(above >= below, 1.0, -1.0), float(np.maximum(above, below).min())


def perfect_agreement_margin(w: np.ndarray, u: np.ndarray, inputs: np.ndarray, labels: np.ndarray) -> float:
    """Return the least of ``y_i <w_j, x_i>`` and ``-y_i <u_j, x_i>``, divided by the norm of all neurons.

    ``w`` and ``u`` are (k, d), or (d,) for one neuron of each type; ``inputs`` (n, d), ``labels`` (n,).
    Positive exactly in the perfect agreement regime.  [sarussi2021, Definition 6.3]
    """
    w, u = np.atleast_2d(w), np.atleast_2d(u)
    signed = np.asarray(labels)[:, None] * np.asarray(inputs)
    size = np.hypot(np.linalg.norm(w), np.linalg.norm(u))
    return float(min((w @ signed.T).min(), -(u @ signed.T).max()) / size)


def boundary_angles(network: TwoLayer) -> np.ndarray:
    """Return the polar angles, in degrees, at which the sign (+, 0, -) of a network in the plane changes.

    The network has no bias, so it is linear between the normals of its neurons and each root is exact.
    Angles closer than 1e-9 are not told apart.  Raises ``ValueError`` for inputs that are not planar.
    """
    if network.w.shape[-1] != 2 or network.w.ndim != 2:
        raise ValueError(f"the network has weights of shape {network.w.shape}, allowed: (m, 2)")
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

    Raises ``ValueError`` when the boundary does not consist of two rays.
    """
    angles = boundary_angles(network)
    if len(angles) != 2:
        raise ValueError(f"the boundary has {len(angles)} rays; a bend is defined for 2")
    return float(abs(180 - (angles[1] - angles[0])))
