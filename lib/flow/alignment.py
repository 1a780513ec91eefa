"""Exact gradient flow of a balanced two-layer network while its outputs are negligible.

A unit then obeys ``dw/dt = s |w| sum_i F_i phi'(<w, x_i>) x_i`` with constant forces ``F_i = -dl/df`` at
``f = 0``.  Between two activation changes the sum is a constant vector ``g``, and with ``e`` its direction::

    w(t) = q + p(t) e,  q orthogonal to e and constant,  p(t) = |q| sinh(|g| t + const),

so a unit's whole path is a chain of closed forms.  Nothing here depends on the scale of ``w``: directions and
log-norms are kept apart, which is why a start of size 1e-1000 costs the same as one of size 1.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from lib import checks
from lib.checks import array, number
from lib.flow.boundaries import NO_MOTION, settle
from lib.flow.lines import Lines
from lib.flow.stages import advance, crossing_times, halves, split

ON_BOUNDARY = 1e-15  # |<w, x>| below this, relative to |w||x|, at the start: on the boundary of the unit


@dataclass(frozen=True)
class AlignmentPhase:
    """The exact path of every unit, as stages of constant activation pattern.

    ``events`` is a record array sorted by time with fields ``time``, ``neuron``, ``datum`` and ``entering``
    (True when the datum becomes active).  ``patterns`` (m, n) are the final activation patterns, ``sliding``
    (m, n) marks final pre-activations held at zero from both sides, ``stages`` (m,) counts stages, and
    ``settled`` (m,) says which units have no further event, however long one waits.  Stage ``k`` of unit
    ``j`` starts at ``starts[k, j]`` (infinite when there is no such stage), with the direction
    ``directions[k, j]`` and ``log_norms[k, j]``; its drift is ``drifts[k, j]``, its pattern
    ``stage_patterns[k, j]``.

    Example: a unit between two orthogonal data, one of which pulls and one of which pushes.

    >>> phase = alignment_phase([[1.0, 1.0]], [1], np.eye(2), [1.0, -1.0])
    >>> phase.events.time.round(6), phase.patterns, phase.settled
    (array([0.623225]), array([[ True, False]]), array([ True]))
    >>> directions, log_norms = phase.at([0.0, 0.3, 1e6])
    >>> directions[:, 0].round(3)
    array([[0.707, 0.707],
           [0.931, 0.365],
           [1.   , 0.   ]])
    """

    events: np.recarray
    patterns: np.ndarray
    sliding: np.ndarray
    stages: np.ndarray
    settled: np.ndarray
    starts: np.ndarray
    directions: np.ndarray
    log_norms: np.ndarray
    drifts: np.ndarray
    stage_patterns: np.ndarray

    def _stage_of(self, times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        stage = (self.starts[None] <= times[:, None, None]).sum(axis=1) - 1
        return stage, np.arange(self.starts.shape[1])[None]

    def at(self, times: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
        """Return unit directions (T, m, d) and log-norms (T, m) at ``times`` (T,), without overflow.

        Times are finite, from 0 on, in any order.  A unit that was stopped by ``until`` before its last event
        (``settled`` says so) is continued with the pattern that it had then.  Raises ``ValueError`` for other
        times.
        """
        times = array("times", times, ("T",), 0, ends="[)")
        chosen = self._stage_of(times)
        return advance(
            self.directions[chosen],
            self.log_norms[chosen],
            self.drifts[chosen],
            times[:, None] - self.starts[chosen],
        )

    def patterns_at(self, times: ArrayLike) -> np.ndarray:
        """Return the activation patterns (T, m, n) at ``times`` as in `at`; at an event, those after it."""
        return self.stage_patterns[self._stage_of(array("times", times, ("T",), 0, ends="[)"))]

    @property
    def asymptotics(self) -> tuple[np.ndarray, np.ndarray]:
        """Return growth rates omega and offsets kappa, each (m,).

        They are defined by ``log|w_j(t)| - omega_j t -> log|w_j(0)| + kappa_j`` as t grows.  Raises
        ``ValueError`` when the phase was stopped before a unit's last event.
        """
        if not self.settled.all():
            raise ValueError(
                f"until stopped neuron {int(np.argmin(self.settled))} before its last event: rates unknown"
            )
        last = (self.stages - 1, np.arange(len(self.stages)))
        speed, _, cosine, sine = split(self.directions[last], self.drifts[last])
        log_plus, log_minus = halves(cosine, sine)
        stuck = np.isneginf(log_plus)
        omega = np.where(stuck, -speed, speed)
        offset = np.where(speed == 0, 0.0, np.where(stuck, log_minus, log_plus))
        return omega, self.log_norms[last] - self.log_norms[0] + offset - omega * self.starts[last]


def alignment_phase(
    w: ArrayLike,
    signs: ArrayLike,
    inputs: ArrayLike,
    forces: ArrayLike,
    *,
    slope: float = 0.0,
    until: float = np.inf,
    sliding: bool = False,
) -> AlignmentPhase:
    """Follow ``dw_j/dt = s_j |w_j| sum_i forces_i phi'(<w_j, x_i>) x_i`` exactly, up to the time ``until``.

    ``w`` (m, d) are the weights at time 0 (only their directions matter, and their norms as a constant),
    ``signs`` (m,) the signs +1 or -1 of ``a_j = s_j |w_j|``, ``inputs`` (n, d) the data, and ``forces`` (n,)
    the values of ``-dl/df`` at ``f = 0`` of either sign (divided by n for a mean loss).  ``slope`` in [0, 1]
    is the leaky slope, and ``phi'(0) = slope``: a unit on a boundary counts as inactive there.  It enters if
    the other data push it in; it stays frozen at zero if they do not move it, as happens to a coordinate
    whose own datum has pushed it down to zero on orthonormal data.

    If a datum pushes a unit back from its active side while the others push it in, no classical solution
    exists.  This cannot happen under Assumption 1 of min2024 or on orthonormal data.  It raises
    ``ValueError`` naming neuron and datum, or with ``sliding=True`` follows the Filippov solution, which
    slides along the boundary.  Raises ``ValueError`` naming any other bad argument.
    [min2024, Sec. 3; boursier2022, App. B; closed form ours]

    Example: growth rate and offset of two units, of which the second is repelled and dies.

    >>> phase = alignment_phase([[0.6, 0.8], [2.0, 0.0]], [1, -1], [[2.0, 0.0]], [1.0])
    >>> phase.patterns, [part.round(6) for part in phase.asymptotics]
    (array([[ True],
           [ True]]), [array([ 2., -2.]), array([-0.223144,  0.      ])])
    """
    w, inputs = array("w", w, ("m", "d")), array("inputs", inputs, ("n", "d"))
    if (zero := np.flatnonzero(~w.any(axis=1))).size:
        raise ValueError(f"w of neuron {zero[0]} is zero; it stays zero and has no direction, leave it out")
    if inputs.shape[1] != w.shape[1]:
        raise ValueError(f"inputs has shape {inputs.shape}, allowed: (n, {w.shape[1]})")
    if (zero := np.flatnonzero(~inputs.any(axis=1))).size:
        raise ValueError(f"inputs holds the zero vector at row {zero[0]}: no unit ever sees it, leave it out")
    signs = checks.signs("signs", signs, (len(w),))
    forces = array("forces", forces, (len(inputs),))
    slope, until = number("slope", slope, 0, 1, "[]"), number("until", until, 0, ends="[]")
    # Data on one line act as one, together with a drift that is always there.
    lines, largest = Lines(inputs), np.abs(forces) @ np.linalg.norm(inputs, axis=1)
    pulls, rest = lines.merged(signs[:, None] * forces, slope)
    inputs = lines.inputs
    m, n = len(w), len(inputs)
    lengths = np.linalg.norm(inputs, axis=1)
    still = NO_MOTION * lengths * largest
    # The largest entry is divided out first: squares of entries below 1e-154 would underflow.
    sizes = np.abs(w).max(axis=1)
    direction = w / sizes[:, None]
    log_norm = np.log(sizes) + np.log(np.linalg.norm(direction, axis=1))
    direction /= np.linalg.norm(direction, axis=1)[:, None]
    start, count = np.zeros(m), np.zeros(m, dtype=int)
    height = direction @ inputs.T
    bound = np.abs(height) <= ON_BOUNDARY * lengths
    active = (height > 0) & ~bound
    shares, settled = np.zeros((m, n)), np.zeros(m, dtype=bool)
    first = lines.active(active, bound)
    running, history = np.arange(m), list[tuple[np.ndarray, ...]]()
    while running.size:
        if len(history) > 100 * (n + 1):  # pragma: no cover
            raise RuntimeError(f"neuron {running[0]} still changes its pattern after {len(history)} stages")
        shares[running] = 0.0
        weights = np.where(active[running], 1.0, slope)
        drift = (weights * pulls[running]) @ inputs + rest[running]
        pushed = (bound[running] & (drift @ inputs.T > still)).any(axis=1)
        bound[running] &= (drift @ inputs.T >= -still) | pushed[:, None]
        for row in np.flatnonzero(pushed):
            j = running[row]
            active[j], bound[j], shares[j], drift[row] = settle(
                pulls[j], active[j], bound[j], inputs, slope, still, rest[j]
            )
            if shares[j].any() and not sliding:
                datum = lines.first[np.argmax(shares[j])]
                raise ValueError(
                    f"neuron {j} slides along the boundary of datum {datum} from time "
                    f"{start[j]:.6g} on: the datum pushes it out, the others push it in; pass sliding=True "
                    "for the Filippov solution"
                )
        drift[np.linalg.norm(drift, axis=1) <= NO_MOTION * largest] = 0.0
        history.append((running, start[running], direction[running], log_norm[running], drift,
                        lines.active(active[running], bound[running])))  # fmt: skip
        count[running] += 1
        velocity = drift @ inputs.T
        can_switch = np.where(active[running], velocity < -still, (velocity > still) & ~bound[running])
        wait = np.where(can_switch, crossing_times(direction[running], drift, inputs), np.inf)
        datum = wait.argmin(axis=1)
        wait = wait[np.arange(running.size), datum]
        settled[running] = np.isinf(wait)
        goes_on = start[running] + wait <= until
        goes_on &= np.isfinite(wait)
        rows, running, datum, wait = np.flatnonzero(goes_on), running[goes_on], datum[goes_on], wait[goes_on]
        direction[running], log_norm[running] = advance(
            direction[running], log_norm[running], drift[rows], wait
        )
        start[running] += wait
        entering = ~active[running, datum]
        # An entering unit whose new datum would push it straight back is on the boundary; a leaving one is
        # put there too, and moves on if the others carry it away.
        change = (1 - slope) * pulls[running, datum] * lengths[datum] ** 2
        crosses = velocity[rows, datum] + change > 0
        active[running, datum] = entering & crosses
        bound[running, datum] = ~active[running, datum]
    return _assemble(first, w.shape[1], history, (shares > 0)[:, lines.index], count, settled)


def _assemble(
    first: np.ndarray,
    d: int,
    history: list[tuple[np.ndarray, ...]],
    slides: np.ndarray,
    count: np.ndarray,
    settled: np.ndarray,
) -> AlignmentPhase:
    """Lay the stages of all units out in padded arrays; events are changes of the ``first`` patterns."""
    depth, (m, n) = int(count.max()), first.shape
    starts = np.full((depth, m), np.inf)
    directions, drifts = np.zeros((depth, m, d)), np.zeros((depth, m, d))
    log_norms, patterns = np.zeros((depth, m)), np.zeros((depth, m, n), dtype=bool)
    for k, (running, start, direction, log_norm, drift, pattern) in enumerate(history):
        starts[k, running], log_norms[k, running] = start, log_norm
        directions[k, running], drifts[k, running], patterns[k, running] = direction, drift, pattern
    changed = (patterns != np.concatenate([first[None], patterns[:-1]])) & np.isfinite(starts)[..., None]
    stage, neuron, datum = np.nonzero(changed)
    fields = [("time", float), ("neuron", int), ("datum", int), ("entering", bool)]
    columns = starts[stage, neuron], neuron, datum, patterns[changed]
    order = np.lexsort((datum, neuron, columns[0]))
    events = np.rec.fromarrays([column[order] for column in columns], dtype=fields)
    return AlignmentPhase(
        events=events,
        patterns=patterns[count - 1, np.arange(m)],
        sliding=slides,
        stages=count,
        settled=settled,
        starts=starts,
        directions=directions,
        log_norms=log_norms,
        drifts=drifts,
        stage_patterns=patterns,
    )
