"""Activation boundaries of a flow: which units are on, off, or held at zero, and when that changes.

The field of a (leaky) ReLU network jumps where a pre-activation ``<w_j, x_i>`` crosses zero.  Write ``off``
and ``on`` for the rate of ``<w_j, x_i>`` computed with the two one-sided slopes.  The selection made here
is

* ``off < 0``: the unit goes (or stays) below zero;
* ``off > 0`` and ``on > 0``: it goes above zero;
* ``off > 0 > on``: both sides push towards the boundary, and it slides along it (Filippov);
* ``off = 0``: it stays at zero for ever, whatever ``on`` is.  This is the choice ``sigma'(0) = 0`` of
  [boursier2022, App. D], and with orthogonal inputs it is the only case that a ReLU unit arriving from
  above can meet.

A unit that is held moves only along its boundary: its force is projected on the complement of the inputs
that hold it.
"""

from __future__ import annotations

import numpy as np

OFF, HELD, ON = -1, 0, 1
ROUNDING = 1e-12
"""Pre-activations of unit vectors, and rates relative to the forces, count as zero below this size."""


class Boundaries:
    """The state (``OFF``, ``HELD``, ``ON``) of each pair of a neuron and a datum, and the rule that changes
    it.

    ``inputs`` is (n, d), ``signs`` (m,), ``slope`` the leaky slope.  ``state`` is an integer array (m, n).
    """

    def __init__(self, inputs: np.ndarray, signs: np.ndarray, slope: float) -> None:
        self.inputs, self.signs, self.slope = inputs, signs, slope
        self.norms = np.linalg.norm(inputs, axis=1)
        gram = inputs @ inputs.T
        off_diagonal = np.abs(gram - np.diag(np.diag(gram)))
        self.orthogonal = bool((off_diagonal <= ROUNDING * np.outer(self.norms, self.norms)).all())
        self.state = np.full((len(signs), len(inputs)), OFF)
        self._refresh()

    def start(self, directions: np.ndarray, forces: np.ndarray) -> None:
        """Set every state from unit vectors (m, d); those at zero follow the selection rule."""
        z = directions @ self.inputs.T / self.norms
        self.state = np.where(z > ROUNDING, ON, np.where(z < -ROUNDING, OFF, HELD))
        self._refresh()
        for neuron, datum in np.argwhere(self.state == HELD):
            self.settle(neuron, datum, forces)

    def _refresh(self) -> None:
        self.gates = np.where(self.state == ON, 1.0, self.slope)
        self.held = np.flatnonzero((self.state == HELD).any(axis=1)) if not self.orthogonal else np.arange(0)
        self.projections = np.array([self._complement(self.state[j] == HELD) for j in self.held])

    def _complement(self, rows: np.ndarray) -> np.ndarray:
        x = self.inputs[rows]
        return np.eye(self.inputs.shape[1]) - np.linalg.pinv(x) @ x

    def drive(self, forces: np.ndarray) -> np.ndarray:
        """Return ``s_j D_j``, the velocity of neuron j per unit of its norm, shape (m, d); forces (n,)."""
        drive = self.signs[:, None] * ((self.gates * forces) @ self.inputs)
        if self.held.size:
            drive[self.held] = np.einsum("kde,ke->kd", self.projections, drive[self.held])
        return drive

    def crossed(self, directions: np.ndarray) -> np.ndarray:
        """Return which pairs have left the side of their state: directions (..., m, d) to (..., m, n)."""
        z = directions @ self.inputs.T / self.norms
        return self.state * z < -ROUNDING

    def distance(self, direction: np.ndarray, neuron: int, datum: int) -> float:
        """Return how far a pair is from being reported by :meth:`crossed`, positive before."""
        z = direction @ self.inputs[datum] / self.norms[datum]
        return float(self.state[neuron, datum] * z + ROUNDING)

    def released(self, forces: np.ndarray) -> np.ndarray:
        """Return which held pairs the field no longer holds, as (neuron, datum) rows."""
        if not self.held.size:
            return np.empty((0, 2), dtype=int)
        return np.array(
            [pair for pair in np.argwhere(self.state == HELD) if self._choice(*pair, forces) != HELD],
            dtype=int,
        ).reshape(-1, 2)

    def settle(self, neuron: int, datum: int, forces: np.ndarray) -> int:
        """Choose the state of a pair that is at zero, and return it."""
        self.state[neuron, datum] = self._choice(neuron, datum, forces)
        self._refresh()
        return int(self.state[neuron, datum])

    def project(self, directions: np.ndarray) -> np.ndarray:
        """Return the unit vectors with the pre-activations of held pairs removed."""
        projected = directions.copy()
        for j in np.flatnonzero((self.state == HELD).any(axis=1)):
            projected[j] = self._complement(self.state[j] == HELD) @ directions[j]
        return projected / np.linalg.norm(projected, axis=1, keepdims=True)

    def _choice(self, neuron: int, datum: int, forces: np.ndarray) -> int:
        """Apply the rule of the module to one pair, the neuron's other held data staying held."""
        others = self.state[neuron] == HELD
        others[datum] = False
        gates = np.where(self.state[neuron] == ON, 1.0, self.slope)
        gates[datum] = self.slope
        pushed = self.inputs[datum]
        if others.any():
            pushed = self._complement(others) @ pushed
        sign = self.signs[neuron]
        off = sign * (gates * forces) @ (self.inputs @ pushed)
        on = off + sign * (1 - self.slope) * forces[datum] * (pushed @ pushed)
        if abs(off) <= ROUNDING * np.abs(forces) @ self.norms * self.norms[datum]:
            return HELD
        if off < 0:
            return OFF
        return ON if on > 0 else HELD
