"""Where the field of a flow jumps: which units are on, off or held at zero, and when that changes.

Write ``off`` and ``on`` for the rate of a pre-activation ``<w_j, x_i>`` at zero, computed with the two
one-sided slopes.  The selection made here is

* ``off < 0``: the unit goes (or stays) below zero, even if ``on > 0``, when both sides push away and going
  above would be a solution as well (so it is for a held unit whose output weight changes its sign);
* ``off > 0`` and ``on > 0``: it goes above zero;
* ``off > 0 > on``: both sides push towards the boundary, and it slides along it (Filippov);
* ``off = 0``: it stays at zero, whatever ``on`` is: the choice ``sigma'(0) = 0`` of [boursier2022, App. D],
  and with orthogonal inputs the only case that a ReLU unit arriving from above can meet.

A unit on the boundaries of several data is decided for all of them at once, since each datum that lets go
or takes hold changes the rates of the others: :func:`settle` looks for the shares in [0, 1] of their forces
that make the drift shortest.  The unit is let go when no shares keep it on all its boundaries.  Until then it
moves only along them: its force is projected on the complement of the inputs that hold it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.optimize import lsq_linear

from lib.training.losses import Loss

OFF, HELD, ON = -1, 0, 1  # of a pair of a neuron and a datum
BEYOND, SHORT = -1, 1  # of a datum and the kink of its loss, where it may be HELD as well
ROUNDING = 1e-12  # of pre-activations of unit vectors, of margins, and of shares: as good as none
NO_MOTION = 1e-12  # rates below this, relative to the largest that the forces could cause, are zero
_COLLINEAR = 1e-12  # distance of unit vectors that counts as none, as for pre-activations


class Lines:
    """The lines of inputs (n, d), none of them zero: data on one share a boundary.

    Where the first of a line has the gate g, which is 1 above zero and the leaky slope below, its positive
    multiples have the gate g as well, and its negative ones ``1 + slope - g``.  So a line acts like one datum
    and a force that is always there.

    ``first`` (l,) are the data that stand for their lines, ``inputs`` (l, d) theirs, ``index`` (n,) the line
    of each datum, and ``ratios`` (n,) its multiple of the first.  Nothing of it ever changes.
    """

    def __init__(self, inputs: np.ndarray) -> None:
        self.norms = np.linalg.norm(inputs, axis=1)
        self.units = units = inputs / self.norms[:, None]
        cosines = units @ units.T
        signs, firsts = np.ones(len(inputs)), np.arange(len(inputs))
        for i, j in np.argwhere(np.triu(np.abs(cosines) > 1 - 1e-9, 1)):
            sign = np.sign(cosines[i, j])
            if firsts[j] == j and np.linalg.norm(units[i] - sign * units[j]) <= _COLLINEAR:
                signs[j], firsts[j] = sign * signs[i], firsts[i]
        self.data = inputs
        self.first, self.index = np.unique(firsts, return_inverse=True)
        self.inputs, self.lengths = inputs[self.first], self.norms[self.first]
        self.ratios = signs * self.norms / self.norms[firsts]
        self.sizes = np.abs(self.ratios)[:, None] * (self.index[:, None] == np.arange(len(self.first)))
        gram = units[self.first] @ units[self.first].T
        # With orthogonal inputs nothing moves what is held, unless a line reaches to both sides.
        self.orthogonal = bool((np.abs(gram - np.eye(len(gram))) <= ROUNDING).all())
        self.orthogonal &= bool((self.ratios > 0).all())

    def merged(self, pulls: np.ndarray, slope: float) -> tuple[np.ndarray, np.ndarray]:
        """Return the pulls of lines (..., l) and the drift (..., d) always there, of pulls (..., n)."""
        return pulls @ self.sizes, (1 + slope) * (pulls * (self.ratios < 0)) @ self.data

    def states(self, of_lines: np.ndarray) -> np.ndarray:
        """Return the states -1, 0, 1 of data (..., n) from those of their lines (..., l)."""
        return np.where(self.ratios > 0, 1, -1) * of_lines[..., self.index]

    def on(self, active: np.ndarray, bound: np.ndarray) -> np.ndarray:
        """Return which data (..., n) are above zero where lines (..., l) are above it, and at it."""
        return self.states(np.where(bound, 0, 2 * active - 1)) > 0

    def complement(self, held: np.ndarray) -> np.ndarray:
        """Return the projection (d, d) on the complement of those data (n,) that hold a unit."""
        x, d = self.units[held], self.data.shape[1]
        if len(x) == 1 < d:
            return np.eye(d) - x.T @ x
        if len(x) >= d and np.linalg.matrix_rank(x) == d:
            return np.zeros((d, d))  # without rounding: a unit at the origin stays there
        return np.eye(d) - np.linalg.pinv(x) @ x

    def complements(self, state: np.ndarray, neurons: Iterable[int]) -> dict[int, np.ndarray]:
        """Return those of the neurons that some datum holds in a state (m, n), unless nothing moves them."""
        if self.orthogonal:
            return {}
        held = {neuron: state[neuron] == HELD for neuron in neurons}
        return {neuron: self.complement(data) for neuron, data in held.items() if data.any()}


class Contact(NamedTuple):
    """What moves units (...), and the boundaries with which they are in contact.

    ``pulls`` (..., n) are the forces times the unit's sign, ``active`` and ``bound`` (..., n) the data above
    and at zero, ``inputs`` (n, d), no two of them on one line, ``slope`` the leaky slope, ``rest`` (..., d) a
    drift that is always there.
    """

    pulls: np.ndarray
    active: np.ndarray
    bound: np.ndarray
    inputs: np.ndarray
    slope: float
    rest: np.ndarray


def held_drift(at: Contact) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the shares (..., n) in [0, 1], drift (..., d) and rates (..., n) of units at their boundaries.

    A datum that attracts (its own active side pushes back) takes the share of its force that makes the drift
    shortest, every other one on a boundary counts as inactive.
    """
    lengths = np.sqrt(np.vecdot(at.inputs, at.inputs))
    pushes, largest = (1 - at.slope) * at.pulls, (np.abs(at.pulls) @ lengths)[..., None]
    drift = (np.where(at.active, 1.0, at.slope) * at.pulls) @ at.inputs + at.rest
    # Unit inputs and a relative drift: forces of very different size are resolved equally well.
    units, relative = at.inputs / lengths[:, None], drift / np.where(largest > 0, largest, 1.0)
    most = np.where(at.bound, np.maximum(-pushes * lengths, 0.0), 0.0) / np.where(largest > 0, largest, 1.0)
    used = np.clip(relative @ units.T, 0.0, most)
    for unit in map(tuple, np.argwhere((most > 0).sum(axis=-1) > 1)):
        several = most[unit] > 0
        used[unit][several] = _bounded_least_squares(units[several].T, relative[unit], most[unit][several])
    shares = np.divide(used, most, out=np.zeros_like(most), where=used > NO_MOTION * most)
    shares = np.minimum(shares, 1.0)
    drift = drift + (shares * pushes) @ at.inputs
    return shares, drift, drift @ at.inputs.T


def _bounded_least_squares(matrix: np.ndarray, target: np.ndarray, most: np.ndarray) -> np.ndarray:
    """Return the x between 0 and ``most`` (k,) that brings ``matrix @ x`` nearest to the target."""
    free = np.linalg.lstsq(matrix, target)[0]
    if ((free >= 0) & (free <= most)).all():  # mostly, and ten times as fast
        return free
    return lsq_linear(matrix, target, (0, most), method="bvls", tol=1e-15).x


def settle(at: Contact, still: np.ndarray) -> tuple[Contact, np.ndarray, np.ndarray]:
    """Decide what a unit does at the boundaries it sits on: enter, leave, stay frozen, or slide.

    Rates up to ``still`` (n,) count as zero.  Returns the contact that is left, the shares (n,) of the data
    that hold the unit, and its drift (d,).
    """
    while True:
        shares, drift, rates = held_drift(at)
        enters = at.bound & (rates > still)
        if not enters.any():
            bound = at.bound & (rates >= -still)
            return at._replace(bound=bound), np.where(bound, shares, 0.0), drift
        at = at._replace(active=at.active | enters, bound=at.bound & ~enters)


class Boundaries:
    """The state (m, n) of pairs of a neuron and a datum, ``OFF``, ``HELD`` or ``ON``, and what changes it.

    Nothing of it ever changes: an event returns other boundaries.  ``slope`` is the leaky one, ``gates``
    (m, n) are the derivatives of the activation; data that are ``seen`` move some neuron, and of those that
    are not some ``decide``, since they hold one.  ``complements`` are the projections (d, d) by which held
    neurons move, if something can move them.  In the methods ``signs`` (m,) are those of the output weights,
    ``forces`` and their ``errors`` (n,); a rate that these errors can explain counts as zero, so that a unit
    rests on its boundaries when there is nothing left to decide by.  Weights have any scale.
    """

    def __init__(
        self, lines: Lines, slope: float, state: np.ndarray, complements: dict[int, np.ndarray]
    ) -> None:
        state.setflags(write=False)
        self.lines, self.slope, self.state, self.complements = lines, slope, state, complements
        self.gates = np.where(state == ON, 1.0, slope)
        self.seen = (state == ON).any(axis=0) | (slope > 0)
        self.decides = self.seen | (state == HELD).any(axis=0)
        self.all_seen = bool(self.seen.all())
        self.held = np.array(list(complements), dtype=int)
        self.projections = np.array(list(complements.values()))

    @classmethod
    def at(cls, w: np.ndarray, lines: Lines, slope: float) -> Boundaries:
        """Return the boundaries of weights (m, d); neurons at zero have yet to be settled."""
        z = w @ lines.units[lines.first].T
        small = ROUNDING * np.linalg.norm(w, axis=1)[:, None]
        state = lines.states(np.where(z > small, ON, np.where(z < -small, OFF, HELD)))
        return cls(lines, slope, state, lines.complements(state, range(len(w))))

    def _changed(self, neurons: list[int], states: np.ndarray | int) -> Boundaries:
        """Return the boundaries with other ``states`` (k, n) of some neurons."""
        state, changed = self.state.copy(), set(neurons)
        state[neurons] = states
        others = {neuron: part for neuron, part in self.complements.items() if neuron not in changed}
        return Boundaries(self.lines, self.slope, state, others | self.lines.complements(state, neurons))

    def drive(self, forces: np.ndarray) -> np.ndarray:
        """Return ``D_j``, the velocity of neuron j per unit of its output weight, (m, d)."""
        drive = (self.gates * forces) @ self.lines.data
        if self.complements:
            drive[self.held] = np.matvec(self.projections, drive[self.held])
        return drive

    def drives(self) -> np.ndarray:
        """Return what a force of one at each of the data drives, (n, m, d)."""
        drives = self.gates.T[:, :, None] * self.lines.data[:, None]
        if self.complements:
            drives[:, self.held] = np.matvec(self.projections, drives[:, self.held])
        return drives

    def steady(self, v: np.ndarray, signs: np.ndarray, drive: np.ndarray) -> np.ndarray:
        """Return weights (m, d) with held neurons that shrink under ``drive`` (m, d) on their boundaries."""
        # Shrinking turns a neuron away from its boundary, by the growth of a rounding error.
        held = v[self.held]
        shrinking = signs[self.held] * np.vecdot(drive[self.held], held) < 0
        if not shrinking.any():
            return v
        steady = v.copy()
        steady[self.held[shrinking]] = np.matvec(self.projections[shrinking], held[shrinking])
        return steady

    def distances(self, w: np.ndarray) -> np.ndarray:
        """Return how far pairs (..., m, n) are from leaving their side, for weights (..., m, d)."""
        small = ROUNDING * np.sqrt(np.vecdot(w, w))
        return self.state * (w @ self.lines.units.T) + small[..., None]

    def _still(self, forces: np.ndarray, errors: np.ndarray) -> np.ndarray:
        return ((NO_MOTION * np.abs(forces) + errors) @ self.lines.norms)[..., None] * self.lines.norms

    def _contact(self, neurons: int | np.ndarray, signs: np.ndarray, forces: np.ndarray) -> Contact:
        """Return the contact of neurons with the boundaries of lines."""
        state = self.state[neurons][..., self.lines.first]
        pulls, rest = self.lines.merged(signs[..., neurons, None] * forces, self.slope)
        return Contact(pulls, state == ON, state == HELD, self.lines.inputs, self.slope, rest)

    def grip(
        self, neurons: np.ndarray, signs: np.ndarray, forces: np.ndarray, errors: np.ndarray
    ) -> np.ndarray:
        """Return by how much the rates at zero of neurons' held pairs miss being noticeable, (..., k, n).

        ``neurons`` is (k,), ``signs`` (..., m) and ``forces`` (..., n); of other pairs it is infinite.
        """
        still = self._still(forces, errors)[..., None, :]
        *_, rates = held_drift(self._contact(neurons, signs, forces[..., None, :]))
        # Noticed at twice the size at which `settle` acts, so that it does act.
        of_lines = (2 * still[..., self.lines.first] - np.abs(rates))[..., self.lines.index]
        return np.where(self.state[neurons] == HELD, of_lines, np.inf)

    def arrived(self, neuron: int, datum: int, w: np.ndarray) -> tuple[Boundaries, np.ndarray]:
        """Return the boundaries with a pair at zero, and the neuron's weights (d,), with its data there."""
        along = self.lines.index == self.lines.index[datum]
        there = self._changed([neuron], np.where(along, HELD, self.state[neuron]))
        return there, self.lines.complement(there.state[neuron] == HELD) @ w

    def settled(
        self, neurons: list[int], signs: np.ndarray, forces: np.ndarray, errors: np.ndarray
    ) -> Boundaries:
        """Return the boundaries with the states of all pairs of some neurons chosen that are at zero."""
        still, of_lines = self._still(forces, errors)[self.lines.first], []
        for neuron in neurons:
            contact, *_ = settle(self._contact(neuron, signs, forces), still)
            of_lines.append(np.where(contact.active, ON, np.where(contact.bound, HELD, OFF)))
        return self._changed(neurons, self.lines.states(np.array(of_lines))) if neurons else self

    def past_origin(
        self, neuron: int, signs: np.ndarray, forces: np.ndarray, errors: np.ndarray
    ) -> Boundaries:
        """Return the boundaries with a neuron past ``w = 0``, where it comes when layers are not balanced.

        It goes straight on if its opposite pattern carries it away, held data staying held; otherwise all its
        data are at zero, and are settled as such.
        """
        ahead = self._changed([neuron], -self.state[neuron]).settled([neuron], signs, forces, errors)
        rates = signs[neuron] * self.lines.data @ ahead.drive(forces)[neuron]
        state = ahead.state[neuron]
        if (state * rates > self._still(forces, errors))[state != HELD].all():
            return ahead
        return ahead._changed([neuron], HELD).settled([neuron], signs, forces, errors)


@dataclass(frozen=True)
class Kinks:
    """The kinks of a loss: each datum (n,) is ``BEYOND`` its margin, ``HELD`` there, or ``SHORT`` of it.

    Its push is ``-dl/dq`` with the margin ``q = y f``: ``short`` and ``beyond`` on the sides of ``margin``.
    Where both lead back to it, a datum stays there with a push in between (Filippov), such that its margin
    rests; when several meet, with those that make the velocity shortest.
    """

    margin: float
    short: float
    beyond: float
    state: np.ndarray

    @property
    def rounding(self) -> float:
        """By how much a push may miss its bounds and count as at them."""
        return ROUNDING * (self.short - self.beyond)

    @classmethod
    def at(cls, margins: np.ndarray, loss: Loss, kink: float) -> Kinks:
        """Return the kinks of a loss at the margin ``kink``, where the data have given ``margins`` (n,)."""
        off = np.where(np.abs(margins - kink) <= ROUNDING, 0.0, kink - margins)
        short, beyond = np.negative(loss.slope(np.array([kink - 1, kink + 1]), 1)).tolist()
        return cls(kink, short, beyond, np.sign(off).astype(int))

    def pushes(self, gradients: np.ndarray) -> np.ndarray:
        """Return the pushes (n,); ``gradients`` (n, size) are those of the margins."""
        pushes = np.where(self.state == SHORT, self.short, self.beyond)
        held = self.state == HELD
        if held.any():
            rows = gradients[held]
            gram = rows @ rows.T
            if not np.isfinite(gram).all():  # a trial stage of a step that will be rejected
                return np.full(len(pushes), np.nan)
            pull = np.where(held, 0.0, pushes) @ gradients
            pushes[held] = np.linalg.lstsq(gram, -rows @ pull, rcond=None)[0]
        return pushes

    def distances(self, margins: np.ndarray, pushes: np.ndarray) -> np.ndarray:
        """Return how far each datum (n,) is from changing its state; negative when it has to."""
        grip = np.minimum(pushes - self.beyond, self.short - pushes)
        gap = self.state * (self.margin - margins)
        return np.where(self.state == HELD, grip + self.rounding, gap + ROUNDING)

    def clipped(self, margins: np.ndarray) -> np.ndarray:
        """Return margins (n,) on the side that each datum is on, whatever rounding says."""
        low = np.where(self.state == SHORT, -np.inf, self.margin)
        return np.clip(margins, low, np.where(self.state == BEYOND, np.inf, self.margin))

    def crossed(self, data: list[int], gradients: np.ndarray) -> Kinks:
        """Return the kinks with some data put at their margin, and all that are there decided anew."""
        state = self.state.copy()
        state[data] = HELD
        return replace(self, state=state).settled(gradients)

    def settled(self, gradients: np.ndarray) -> Kinks:
        """Return the kinks with all held data decided, given the gradients (n, size) of the margins."""
        held = np.flatnonzero(self.state == HELD)
        if not held.size:
            return self
        free = self.pushes(gradients)
        pull = np.where(self.state == HELD, 0.0, free) @ gradients
        size = np.linalg.norm(gradients, axis=1).max() or 1.0
        bounds = self.beyond, self.short
        pushes = lsq_linear(gradients[held].T / size, -pull / size, bounds, method="bvls").x
        velocity = pull + pushes @ gradients[held]
        rising = gradients[held] @ velocity > ROUNDING * size * (np.abs(pull).max() + size)
        # `distances` notices at twice this size, so that what is noticed is let go, and not noticed again.
        too_weak = free[held] < self.beyond - self.rounding / 2
        state = self.state.copy()
        state[held[pushes >= self.short - self.rounding]] = SHORT
        # A datum that nothing moves on stays, with the push beyond its margin.
        state[held[(pushes <= self.beyond + self.rounding) & (rising | too_weak)]] = BEYOND
        return replace(self, state=state)
