"""Initial logits from which a deeper network learns faster than a shallower one, and below which slower.

Deep balanced diagonal networks, in the notation of `lib.theory.depth`; that depth always accelerates
[combes2018, Section 4] holds for large initial logits only.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, logit

from lib.arguments import broadcast, numbers, refuse_overflow
from lib.theory.depth import clock, clock_rate
from lib.theory.roots import increasing_root


def pointwise_break_even(depth: ArrayLike, against: ArrayLike = 2.0, norm: ArrayLike = 1.0) -> np.ndarray:
    """Return the logit above which the network of larger depth is the faster one at that logit.

    ``norm (N/M)^(-N M / (2 (N - M)))`` for depths N and M < N, ``norm (2/N)^(N / (N - 2))`` against two
    layers.  Relative accuracy 1e-15 times the larger of 10 and the logarithm of ``norm`` over it.  Raises
    ``ValueError`` unless ``2 <= against < depth``.

    Example:

    >>> pointwise_break_even([3, 4, 8, 16]).round(4).tolist()
    [0.2963, 0.25, 0.1575, 0.0929]
    """
    depth, other = _two_depths(depth, against)
    excess = (depth - other) / other
    return numbers("norm", norm, 0.0) * np.exp(-depth / (2 * excess) * np.log1p(excess))


def _two_depths(depth: ArrayLike, against: ArrayLike) -> tuple[np.ndarray, ...]:
    depth, other = broadcast(
        depth=numbers("depth", depth), against=numbers("against", against, 2.0, ends="[)")
    )
    if not (depth > other).all():
        raise ValueError(
            f"depth holds {depth[depth <= other][0]}, allowed: above against, {other[depth <= other][0]}"
        )
    return depth, other


@refuse_overflow
def confidence_break_even(
    confidence: ArrayLike, depth: ArrayLike, against: ArrayLike = 2.0, norm: ArrayLike = 1.0
) -> np.ndarray:
    """Return the initial logit above which the larger depth is the first to reach this confidence.

    Starts below it are learnt faster by the shallower network.  Up to confidence 1 - 1e-6 the relative error
    of a result u is below 1e-13 times ``1 + |log u|``, over ``depth / against - 1`` where that is below 1.
    Raises ``ValueError`` unless ``2 <= against < depth`` and unless the confidence, below 1, exceeds that of
    the pointwise break-even logit, below which no start favours depth, or if the break-even is below 1e-290.

    Example:

    >>> confidence_break_even([0.9, 0.99, 0.999], 4).round(5).tolist()
    [0.02656, 0.00332, 0.00016]
    """
    depth, other = _two_depths(depth, against)
    fastest = pointwise_break_even(depth, other, norm)
    goal = logit(numbers("confidence", confidence, 0.0, 1.0))
    goal, depth, other, fastest, norm = broadcast(
        confidence=goal, depth=depth, against=other, fastest=fastest, norm=np.asarray(norm, dtype=float)
    )
    if not (goal > fastest).all():
        raise ValueError(
            f"confidence holds {expit(goal[goal <= fastest][0])}, allowed: above sigmoid of the pointwise "
            f"break-even logit, {expit(fastest[goal <= fastest][0])}"
        )
    scales = clock_rate(depth, norm), clock_rate(other, norm)
    at_goal = clock(goal, depth) / scales[0] - clock(goal, other) / scales[1]

    def lead(logarithm: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The time saved by depth, increasing in the initial logit up to the pointwise break-even."""
        u = np.exp(logarithm)
        deep, shallow = clock(u, depth) / scales[0], clock(u, other) / scales[1]
        slope = (1 + np.exp(u)) * (u ** (2 / depth - 1) / scales[0] - u ** (2 / other - 1) / scales[1])
        return deep - shallow - at_goal, np.maximum(slope, np.finfo(float).tiny)

    high, lowest = np.log(fastest), np.log(1e-290)
    width = np.ones_like(high)
    for _ in range(10):  # up to 2^10 > 667 = -log(1e-290)
        width = np.where(lead(np.maximum(high - width, lowest))[0] > 0, 2 * width, width)
    low = np.maximum(high - width, lowest)
    if (lead(low)[0] > 0).any():
        raise ValueError(f"confidence holds {expit(goal.max())}, allowed: break-even logits above 1e-290")
    return np.exp(increasing_root(lead, low, high, unit=1.0))
