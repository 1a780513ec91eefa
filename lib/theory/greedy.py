"""The limit of small scales without the hypothesis on the width: labels are fitted greedily, group by
group."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lib.theory.plateaus import check_orthogonal


@dataclass(frozen=True)
class GreedyLimit:
    """What the flow does as the scale tends to 0, in units of ``ln(1/lambda)`` of time.

    ``groups`` lists the sets of labels in the order in which they are fitted, each by one direction,
    ``times`` when; ``squared_norm`` is the limit of ``|theta|^2`` and ``loss`` the limit of the mean loss.
    """

    groups: tuple[tuple[int, ...], ...]
    times: tuple[float, ...]
    squared_norm: float
    loss: float
    margin: float


def greedy_limit(
    directions: np.ndarray, signs: np.ndarray, inputs: np.ndarray, labels: np.ndarray
) -> GreedyLimit:
    """Follow the greedy saddle-to-saddle process of a start ``directions`` (m, d), ``signs`` (m,).

    Neuron j can fit the labels of its sign on which it is active; of these let ``A_j`` be the ones not
    fitted yet. Its log-norm, in units of ``ln(1/lambda)``, starts at -1 and grows at the rate ``|y_A|/n``.
    The first neuron to reach 0 fits all of ``A_j`` at once, with squared norm ``|y_A|``; the others lose
    these labels; and so on. Inputs (n, d) are orthonormal, labels (n,) not zero.  A heuristic, tested
    against the flow; neurons that reach 0 together with different ``A_j`` are not covered.  Raises
    ``ValueError`` for other data.
    """
    check_orthogonal(inputs, unit=True)
    if not np.all(labels):
        raise ValueError(f"label {int(np.argmin(np.abs(labels)))} is zero, allowed: labels other than zero")
    n = len(labels)
    can_fit = (directions @ inputs.T > 0) & (np.sign(labels) == np.asarray(signs)[:, None])
    log_norms, time = np.full(len(signs), -1.0), 0.0
    unfitted = np.ones(n, dtype=bool)
    groups, times, margin = [], [], np.inf
    while (can_fit & unfitted).any():
        rates = np.linalg.norm((can_fit & unfitted) * labels, axis=1) / n
        waits = np.divide(-log_norms, rates, out=np.full(len(rates), np.inf), where=rates > 0)
        first = int(waits.argmin())
        log_norms, time = log_norms + rates * waits[first], time + waits[first]
        group = can_fit[first] & unfitted
        rivals = (can_fit & unfitted & group).any(axis=1) & ((can_fit & unfitted) != group).any(axis=1)
        margin = min(margin, float(-log_norms[rivals].max())) if rivals.any() else margin
        groups.append(tuple(np.flatnonzero(group).tolist()))
        times.append(float(time))
        unfitted &= ~group
    squared_norm = 2 * sum(float(np.linalg.norm(labels[list(group)])) for group in groups)
    return GreedyLimit(
        tuple(groups), tuple(times), squared_norm, float((labels[unfitted] ** 2).sum() / (2 * n)), margin
    )
