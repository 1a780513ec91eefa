"""The kinks of the hinge loss along a flow: data beyond the margin, short of it, or held at it.

The force of datum i is ``y_i`` short of margin 1 and nothing beyond.  Where both pushes lead back, the
datum stays at margin 1 with a share of its force between none and all (Filippov), such that its margin rests.
When several meet, the shares are those that make the velocity shortest.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import lsq_linear

BEYOND, HELD, SHORT = -1, 0, 1
ROUNDING = 1e-12
"""Differences from margin 1, and shares below none or above all, that count as nothing."""


class HingeKinks:
    """The state (``BEYOND``, ``HELD``, ``SHORT``) of each datum, from its margin (n,) at the start."""

    def __init__(self, margins: np.ndarray) -> None:
        off = np.where(np.abs(margins - 1) <= ROUNDING, 0.0, 1 - margins)
        self.state = np.sign(off).astype(int)

    def shares(self, gradients: np.ndarray) -> np.ndarray:
        """Return the shares (n,) of the forces; ``gradients`` (n, size) are those of the margins."""
        shares = (self.state == SHORT).astype(float)
        held = self.state == HELD
        if held.any():
            rows = gradients[held]
            gram = rows @ rows.T
            if not np.isfinite(gram).all():  # a trial stage of a step that will be rejected
                return np.full(len(shares), np.nan)
            shares[held] = np.linalg.lstsq(gram, -rows @ (shares @ gradients), rcond=None)[0]
        return shares

    def distances(self, margins: np.ndarray, shares: np.ndarray) -> np.ndarray:
        """Return how far each datum (n,) is from changing its state; negative when it has to."""
        grip = np.minimum(shares, 1 - shares)
        return np.where(self.state == HELD, grip, self.state * (1 - margins)) + ROUNDING

    def settle(self, gradients: np.ndarray) -> None:
        """Decide the states of all held data, given the gradients (n, size) of the margins."""
        held = np.flatnonzero(self.state == HELD)
        if not held.size:
            return
        pull = (self.state == SHORT) @ gradients
        size = np.linalg.norm(gradients, axis=1).max() or 1.0
        shares = lsq_linear(gradients[held].T / size, -pull / size, bounds=(0, 1), method="bvls").x
        negative = self.shares(gradients)[held] < -ROUNDING / 2
        velocity = pull + shares @ gradients[held]
        rising = gradients[held] @ velocity > ROUNDING * size * (np.abs(pull).max() + size)
        self.state[held[shares >= 1 - ROUNDING]] = SHORT
        # Beyond the kink there is no force; a datum that nothing moves on stays, with no share.
        self.state[held[(shares <= ROUNDING) & (rising | negative)]] = BEYOND
