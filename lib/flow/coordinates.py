"""Coordinates in which the flow of a two-layer network is integrated.

In all of them the flow is ``dw_j/dt = a_j D_j``, ``da_j/dt = <D_j, w_j>`` with the drives
``D_j = sum_i phi'(<w_j, x_i>) F_i x_i`` and forces ``F_i = -dl/df(x_i)`` [boursier2022, Eq. 9].

* `Balanced` (``a_j = s_j |w_j|``, both layers trained): directions and log-norms.  The size of a neuron
  leaves the field, so that a start of size 1e-1000 is as good as any, and balance is kept exactly.
* `Referred` (any other start, or the first layer alone): the weights in units of references, one for each
  neuron and layer, that are renewed when a neuron has grown or shrunk by a factor of ten.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from lib.flow.trajectory import Weights

TRIAL = 300.0  # logarithms of factors in trial stages, which will be rejected, must not overflow
_CHANGE = np.log(10)  # of a neuron or layer, in logarithms, until its reference is renewed
_VANISHED = 1e-9  # weights below this part of their reference, at a change of activation, are zero


class Span:
    """Coordinates of inputs (n, d) in their span, and of unit vectors ``directions`` (m, d) in it and across.

    The part of a weight vector across the span never moves, and of it only the length matters: it becomes
    one more coordinate, zero for all inputs.  Data that already fill their space are left as they are.
    """

    def __init__(self, inputs: np.ndarray, directions: np.ndarray) -> None:
        # Of unit vectors: a datum that is much shorter than others has a direction as well.
        units = inputs / np.linalg.norm(inputs, axis=1, keepdims=True)
        _, sizes, rows = np.linalg.svd(units, full_matrices=False)
        rank = int((sizes > sizes[0] * max(inputs.shape) * np.finfo(float).eps).sum())
        self.inputs, self.directions = inputs, directions
        self.basis: np.ndarray | None = None
        if rank + 1 >= inputs.shape[1]:
            return
        self.basis = rows[:rank]
        inside = directions @ self.basis.T
        across = directions - inside @ self.basis
        lengths = np.linalg.norm(across, axis=1)
        self.across = across / np.where(lengths > 0, lengths, 1.0)[:, None]
        self.inputs = np.hstack([inputs @ self.basis.T, np.zeros((len(inputs), 1))])
        self.directions = np.hstack([inside, lengths[:, None]])

    def lift(self, weights: Weights) -> Weights:
        """Return weights of reduced directions (..., m, r + 1) in the space of the data."""
        if self.basis is None:
            return weights
        inside, across = weights.directions[..., :-1], weights.directions[..., -1:]
        return weights._replace(directions=inside @ self.basis + across * self.across)


class Coordinates(Protocol):
    """What coordinates have to do; a state (size,) is what the integrator moves.

    They are such that one absolute tolerance of a state is relative to the weights of each neuron, and no
    method writes into anything.  A further kind is one that `fitting` returns.  ``trains_outputs`` says
    whether the output weights move.
    """

    trains_outputs: bool

    def pack(self, weights: Weights) -> np.ndarray:
        """Return the state of weights (m, ...), at any scale."""

    def weights(self, states: np.ndarray) -> Weights:
        """Return the weights (..., m, ...) of states (..., size)."""

    def split(self, states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return v (..., m, d) and c (..., m) with outputs ``sum_j c_j phi(<v_j, x>)``, v_j along w_j.

        The sign of c_j is that of a_j, even where c_j underflows.
        """

    def velocity(self, state: np.ndarray, v: np.ndarray, drive: np.ndarray) -> np.ndarray:
        """Return the velocity (size,) of a state with its v under the drives D (m, d), linear in these."""

    def gradients(self, state: np.ndarray, gates: np.ndarray, inputs: np.ndarray) -> np.ndarray:
        """Return the gradients (n, size) of the outputs in the state, given ``phi'`` (m, n)."""

    def outgrown(self, state: np.ndarray) -> bool:
        """Say whether the tolerance no longer fits, so that the coordinates should be renewed."""

    def renewed(self, weights: Weights) -> Coordinates:
        """Return coordinates of this kind that fit weights (m, ...)."""

    def vanished(self, log_norms: np.ndarray) -> np.ndarray:
        """Return which neurons (m,) that meet a boundary are as good as at ``w = 0``."""


def fitting(start: Weights, *, trains_outputs: bool) -> Coordinates:
    """Return the coordinates in which the flow from a start is followed."""
    if trains_outputs and start.balanced:
        return Balanced(start.signs, start.directions.shape[1])
    return Referred(start, trains_outputs=trains_outputs)


class Balanced:
    """Directions and log-norms of ``a_j = s_j |w_j|``; a state is (m d + m,)."""

    trains_outputs = True

    def __init__(self, signs: np.ndarray, d: int) -> None:
        self.signs, self.shape, self.cut = signs, (len(signs), d), len(signs) * d
        self.columns = signs[:, None]

    def renewed(self, weights: Weights) -> Balanced:
        return self

    def pack(self, weights: Weights) -> np.ndarray:
        return np.concatenate([weights.directions.ravel(), weights.log_norms])

    def weights(self, states: np.ndarray) -> Weights:
        v, log_norms = self._directions(states), states[..., self.cut :]
        return Weights(v, log_norms, np.broadcast_to(self.signs, log_norms.shape), log_norms)

    def _directions(self, states: np.ndarray) -> np.ndarray:
        v = states[..., : self.cut].reshape(*states.shape[:-1], *self.shape)
        return v / np.sqrt(np.vecdot(v, v))[..., None]

    def split(self, state: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return self._directions(state), self.signs * np.exp(2 * state[..., self.cut :])

    def velocity(self, state: np.ndarray, v: np.ndarray, drive: np.ndarray) -> np.ndarray:
        pull = self.columns * drive
        velocity, growth = np.empty(state.size), np.vecdot(pull, v)
        pull -= growth[:, None] * v
        velocity[: self.cut], velocity[self.cut :] = pull.ravel(), growth
        return velocity

    def gradients(self, state: np.ndarray, gates: np.ndarray, inputs: np.ndarray) -> np.ndarray:
        v, c = self.split(state)
        pulls = c[:, None] * gates
        # As if a direction could get longer: of errors, for which they are asked, a bound.
        return np.hstack([_outer(pulls, inputs), 2 * (pulls * (v @ inputs.T)).T])

    def outgrown(self, state: np.ndarray) -> bool:
        return False

    def vanished(self, log_norms: np.ndarray) -> np.ndarray:
        return np.zeros(len(log_norms), dtype=bool)


class Referred:
    """Weights in units of references; a state is (m d + m,), or (m d,) when the outputs are not trained.

    The velocity is linear in the drives and affine in the state, which the late phase needs; here it is also
    that (..., size) of states (..., size) or drives (..., m, d).
    """

    def __init__(
        self, weights: Weights, *, trains_outputs: bool, before: np.ndarray | float = -np.inf
    ) -> None:
        directions, log_norms, self.signs, log_outputs = weights
        self.shape, self.cut, self.trains_outputs = directions.shape, directions.size, trains_outputs
        # A neuron that passes zero keeps a hundredth of its last reference, ``before``; one at zero keeps all
        # of it, or has that of the other layer if there was none, but is never so small that `ratio` is cut.
        at_zero = np.isneginf(log_norms)
        sizes = np.maximum(log_norms, before - np.where(at_zero, 0.0, 2 * _CHANGE))
        sizes = np.where(np.isneginf(sizes), log_outputs if trains_outputs else 0.0, sizes)
        self.inner = np.where(at_zero, np.maximum(sizes, log_outputs - TRIAL), sizes)
        # Not below the inner one: so an output weight that passes zero is resolved as its neuron is.
        self.outer = np.maximum(log_outputs, self.inner) if trains_outputs else log_outputs
        self.scale = np.exp(np.minimum(self.inner + self.outer, TRIAL))
        self.factors = self.signs * self.scale
        # A drive would have moved a neuron to within this ratio long ago: beyond it there is none.
        self.ratio = np.exp(np.minimum(self.outer - self.inner, TRIAL))

    def renewed(self, weights: Weights) -> Referred:
        return Referred(weights, trains_outputs=self.trains_outputs, before=self.inner)

    def pack(self, weights: Weights) -> np.ndarray:
        directions, log_norms, signs, log_outputs = weights
        w = np.exp(log_norms - self.inner)[:, None] * directions
        if not self.trains_outputs:
            return w.ravel()
        return np.concatenate([w.ravel(), signs * np.exp(log_outputs - self.outer)])

    def _outputs(self, state: np.ndarray) -> np.ndarray:
        return state[..., self.cut :] if self.trains_outputs else self.signs

    def weights(self, states: np.ndarray) -> Weights:
        v, a = self._inner(states), self._outputs(states)
        norms = np.linalg.norm(v, axis=-1)
        a = np.broadcast_to(a, norms.shape)
        with np.errstate(divide="ignore"):
            log_norms, log_outputs = np.log(norms) + self.inner, np.log(np.abs(a)) + self.outer
        directions = v / np.where(norms > 0, norms, 1.0)[..., None]
        return Weights(directions, log_norms, np.sign(a), log_outputs)

    def _inner(self, states: np.ndarray) -> np.ndarray:
        return states[..., : self.cut].reshape(*states.shape[:-1], *self.shape)

    def split(self, state: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        v = self._inner(state)
        if self.trains_outputs:
            return v, state[..., self.cut :] * self.scale
        return v, self.factors if state.ndim == 1 else np.broadcast_to(self.factors, v.shape[:-1])

    def velocity(self, state: np.ndarray, v: np.ndarray, drive: np.ndarray) -> np.ndarray:
        in_w = (self.ratio * self._outputs(state))[..., None] * drive
        in_w = in_w.reshape(*in_w.shape[:-2], self.cut)
        if not self.trains_outputs:
            return in_w
        return np.concatenate([in_w, np.vecdot(drive, v) / self.ratio], axis=-1)

    def gradients(self, state: np.ndarray, gates: np.ndarray, inputs: np.ndarray) -> np.ndarray:
        v, c = self.split(state)
        in_v = _outer(c[:, None] * gates, inputs)
        if not self.trains_outputs:
            return in_v
        return np.hstack([in_v, (self.scale[:, None] * gates * (v @ inputs.T)).T])

    def outgrown(self, state: np.ndarray) -> bool:
        sizes = np.linalg.norm(self._inner(state), axis=-1)
        if self.trains_outputs:
            sizes = np.maximum(sizes, np.abs(self._outputs(state)))
            return bool((sizes > 10).any() or (sizes < 0.1).any())
        return bool((sizes > 10).any())

    def vanished(self, log_norms: np.ndarray) -> np.ndarray:
        return log_norms < self.inner + np.log(_VANISHED)


def _outer(pulls: np.ndarray, inputs: np.ndarray) -> np.ndarray:
    """Return ``pulls_ji x_i`` of pulls (m, n) and inputs (n, d) as rows (n, m d)."""
    return (pulls.T[:, :, None] * inputs[:, None]).reshape(len(inputs), -1)
