"""Data on common lines through the origin, at whose boundaries several activations change at once.

Inputs that are multiples of each other share one boundary.  Where the first of a line has the gate g, which
is 1 above zero and the leaky slope below, its positive multiples have the gate g as well, and its negative
ones ``1 + slope - g``.  So a line acts like one datum and a force that is always there.
"""

from __future__ import annotations

import numpy as np

_COLLINEAR = 1e-12  # distance of unit vectors that counts as none, as for pre-activations


class Lines:
    """The lines of inputs (n, d), none of them zero.

    ``first`` (l,) are the data that stand for their lines, ``inputs`` (l, d) theirs, ``index`` (n,) the line
    of each datum, and ``ratios`` (n,) its multiple of the first.
    """

    def __init__(self, inputs: np.ndarray) -> None:
        lengths = np.linalg.norm(inputs, axis=1)
        units = inputs / lengths[:, None]
        cosines = units @ units.T
        signs, firsts = np.ones(len(inputs)), np.arange(len(inputs))
        for i, j in np.argwhere(np.triu(np.abs(cosines) > 1 - 1e-9, 1)):
            sign = np.sign(cosines[i, j])
            if firsts[j] == j and np.linalg.norm(units[i] - sign * units[j]) <= _COLLINEAR:
                signs[j], firsts[j] = sign * signs[i], firsts[i]
        self.data = inputs
        self.first, self.index = np.unique(firsts, return_inverse=True)
        self.inputs, self.ratios = inputs[self.first], signs * lengths / lengths[firsts]
        self.single = len(self.first) == len(inputs)

    def merged(self, pulls: np.ndarray, slope: float) -> tuple[np.ndarray, np.ndarray]:
        """Return the pulls of lines (..., l) and the drift (..., d) always there, of pulls (..., n)."""
        if self.single:
            return pulls, np.zeros((*pulls.shape[:-1], self.inputs.shape[1]))
        sizes = np.where(self.index[:, None] == np.arange(len(self.first)), np.abs(self.ratios)[:, None], 0.0)
        return pulls @ sizes, (1 + slope) * (pulls * (self.ratios < 0)) @ self.data

    def states(self, of_lines: np.ndarray) -> np.ndarray:
        """Return the states -1, 0, 1 of data (..., n) from those of their lines (..., l)."""
        return np.where(self.ratios > 0, 1, -1) * of_lines[..., self.index]

    def active(self, of_lines: np.ndarray, bound: np.ndarray) -> np.ndarray:
        """Return the patterns (..., n) of data from those of their lines (..., l), where not at zero."""
        return self.states(np.where(bound, 0, np.where(of_lines, 1, -1))) > 0
