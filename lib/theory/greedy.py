"""The limit of small scales without the hypothesis on the width: labels are fitted greedily, by groups."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from lib.checks import array, numbers, refuse_overflow
from lib.checks import signs as checked_signs
from lib.theory.orthogonal_data import active_inputs, check_orthogonal, lengths, same_length


@dataclass(frozen=True)
class GreedyLimit:
    """What the flow does as the scale tends to 0, in units of ``ln(1/lambda)`` of time.

    ``groups`` lists the G sets of labels in the order in which they are fitted, each by one direction, and
    ``times`` when.  The flow jumps from saddle to saddle: ``losses`` and ``squared_norms`` (G + 1,) are the
    mean loss and ``|theta|^2`` at the start and after each group, ``curvatures`` (G + 1,) the least curvature
    of the loss there over the directions that a neuron could take (0 only where all labels are fitted).
    ``squared_norm`` and ``loss`` are the limits, after the last group.  ``margin`` is how far, in log-norm,
    the nearest rival was from being first in some step: the flow follows the prediction when ``margin
    ln(1/lambda)`` is large.

    Example:

    >>> limit = greedy_limit([[0.6, 0.8], [0.8, -0.6]], [1, 1], np.eye(2), [2.0, 1.0])
    >>> limit.groups, limit.losses.round(12).tolist()
    (((0, 1),), [1.25, 0.0])
    """

    groups: tuple[tuple[int, ...], ...]
    times: tuple[float, ...]
    losses: np.ndarray
    squared_norms: np.ndarray
    curvatures: np.ndarray
    margin: float

    @property
    def squared_norm(self) -> float:
        """The limit of ``|theta|^2``."""
        return float(self.squared_norms[-1])

    @property
    def loss(self) -> float:
        """The limit of the mean loss, carried by the labels that no neuron sees."""
        return float(self.losses[-1])

    def loss_at(self, times: ArrayLike) -> np.ndarray:
        """Return the limit of the loss at times of any shape, in units of ``ln(1/lambda)``: a staircase.

        Raises ``ValueError`` for negative times.
        """
        steps = np.searchsorted(self.times, numbers("times", times, 0.0, ends="[)"), side="right")
        return self.losses[steps]


@refuse_overflow
def greedy_limit(
    directions: ArrayLike, signs: ArrayLike, inputs: ArrayLike, labels: ArrayLike
) -> GreedyLimit:
    """Follow the greedy saddle-to-saddle process of a start ``directions`` (m, d), ``signs`` (m,).

    Neuron j can fit the labels of its sign on which it is active; of these let ``A_j`` be the ones not
    fitted yet. Its log-norm, in units of ``ln(1/lambda)``, starts at -1 and grows at the rate ``|y_A|/n``.
    The first neuron to reach 0 fits all of ``A_j`` at once, with squared norm ``|y_A|``; the others lose
    these labels; and so on. Inputs (n, d) are orthonormal, labels (n,) not zero; norms of directions do not
    matter.  A heuristic, tested against the flow; neurons that reach 0 together with different ``A_j`` are
    not covered.  Raises ``ValueError`` for other data.  Ours; [boursier2022, Sec. 3.2] conjectures one
    saddle a kink.

    Example:

    >>> start = [[1, 0, 0], [1, 1, 0], [0, 0, 1]], [1, 1, -1]
    >>> limit = greedy_limit(*start, np.eye(3), [3.0, 4.0, -1.0])
    >>> limit.groups, [round(time, 12) for time in limit.times], limit.squared_norm
    (((0, 1), (2,)), [0.6, 3.0], 12.0)
    """
    x = check_orthogonal(inputs, unit=True)
    y = array("labels", labels, ("n",))
    if not np.all(y):
        raise ValueError(f"labels holds 0 at {int(np.argmin(np.abs(y)))}, allowed: labels other than zero")
    v, s = array("directions", directions, ("m", "d")), checked_signs("signs", signs, ("m",))
    same_length(inputs=len(x), labels=len(y))
    same_length(directions=len(v), signs=len(s))
    n = len(y)
    can_fit = active_inputs(v, x) & (np.sign(y) == s[:, None])
    log_norms, time, margin = np.full(len(s), -1.0), 0.0, np.inf
    unfitted = np.ones(n, dtype=bool)
    groups: list[tuple[int, ...]] = []
    times: list[float] = []
    left = [unfitted.copy()]
    while (can_fit & unfitted).any():
        rates = lengths((can_fit & unfitted) * y) / n
        waits = np.divide(-log_norms, rates, out=np.full(len(rates), np.inf), where=rates > 0)
        first = int(waits.argmin())
        log_norms, time = log_norms + rates * waits[first], time + waits[first]
        group = can_fit[first] & unfitted
        rivals = (can_fit & unfitted & group).any(axis=1) & ((can_fit & unfitted) != group).any(axis=1)
        margin = min(margin, float(-log_norms[rivals].max())) if rivals.any() else margin
        groups.append(tuple(np.flatnonzero(group).tolist()))
        times.append(float(time))
        unfitted &= ~group
        left.append(unfitted.copy())
    remaining = np.array(left) * y
    heights = [float(lengths(y[list(group)])) for group in groups]
    by_sign = np.maximum(lengths(np.maximum(remaining, 0.0)), lengths(np.minimum(remaining, 0.0)))
    with np.errstate(over="ignore"):
        losses = lengths(remaining) ** 2 / (2 * n)
    return GreedyLimit(
        groups=tuple(groups),
        times=tuple(times),
        losses=losses,
        squared_norms=2 * np.cumsum([0.0, *heights]),
        curvatures=0.0 - by_sign / n,
        margin=margin,
    )
