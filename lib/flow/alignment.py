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
from lib.flow.boundaries import NO_MOTION, Lines, settle
from lib.models.two_layer import Start, TwoLayer

_ON_BOUNDARY = 1e-15  # |<w, x>| below this, relative to |w||x|, at the start: on the boundary of the unit
_EXACTLY_OPPOSITE = 1e-14  # distance to the unstable direction -e below which a unit is on it


@dataclass(frozen=True)
class AlignmentPhase:
    """The exact path of every unit, as stages of constant activation pattern.

    Stage ``k`` of unit ``j`` starts at ``starts[k, j]`` (infinite when there is none), with
    ``directions[k, j]`` and ``log_norms[k, j]``, and has ``drifts[k, j]`` and ``stage_patterns[k, j]``.
    ``events`` is a record array sorted by time with fields ``time``, ``neuron``, ``datum`` and ``entering``
    (True when the datum becomes active).  ``sliding`` (m, n) marks final pre-activations held at zero from
    both sides, and ``settled`` (m,) says which units have no further event, however long one waits.
    """

    starts: np.ndarray
    directions: np.ndarray
    log_norms: np.ndarray
    drifts: np.ndarray
    stage_patterns: np.ndarray
    events: np.recarray
    sliding: np.ndarray
    settled: np.ndarray

    @property
    def last(self) -> tuple[np.ndarray, np.ndarray]:
        """The last stage of each unit, and its number, (m,) each: an index into the arrays of the stages."""
        return np.isfinite(self.starts).sum(axis=0) - 1, np.arange(self.starts.shape[1])

    @property
    def patterns(self) -> np.ndarray:
        """The final activation patterns (m, n)."""
        return self.stage_patterns[self.last]

    def at(self, times: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
        """Return unit directions (T, m, d) and log-norms (T, m) at ``times`` (T,), without overflow.

        A unit that was stopped by ``until`` before its last event (``settled`` says so) is continued with the
        pattern that it had then.  Raises ``ValueError`` for times below 0.
        """
        times = array("times", times, ("T",), 0, ends="[)")
        stage = (self.starts <= times[:, None, None]).sum(axis=1) - 1
        k = stage, np.arange(self.starts.shape[1])
        waits = times[:, None] - self.starts[k]
        return _advance(self.directions[k], self.log_norms[k], self.drifts[k], waits)

    @property
    def asymptotics(self) -> tuple[np.ndarray, np.ndarray]:
        """Return rates omega and offsets kappa: ``log|w_j(t)| - omega_j t -> log|w_j(0)| + kappa_j``, (m,).

        Raises ``ValueError`` when the phase was stopped before a unit's last event.
        """
        if not self.settled.all():
            raise ValueError(
                f"until stopped neuron {int(np.argmin(self.settled))} before its last event: rates unknown"
            )
        last = self.last
        speed, _, cosine, sine = _split(self.directions[last], self.drifts[last])
        log_plus, log_minus = _halves(cosine, sine)
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
    ``signs`` (m,) those of ``a_j = s_j |w_j|``, ``inputs`` (n, d) the data, and ``forces`` (n,) the values of
    ``-dl/df`` at ``f = 0`` of either sign (divided by n for a mean loss).  ``slope`` in [0, 1] is the leaky
    slope, and ``phi'(0) = slope``: a unit on a boundary counts as inactive there.  It enters if the other
    data push it in; it stays frozen at zero if they do not move it.

    If a datum pushes a unit back from its active side while the others push it in, no classical solution
    exists, which cannot happen under Assumption 1 of min2024 or on orthogonal data.  It raises ``ValueError``
    naming neuron and datum, or with ``sliding=True`` follows the Filippov solution, which slides along the
    boundary.  Raises ``ValueError`` naming any other bad argument.
    [min2024, Sec. 3; boursier2022, App. B; closed form ours]
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
    units = Start.of(TwoLayer(w, np.zeros(m)))
    start, direction, log_norm, drift = np.zeros(m), units.directions, units.log_norms, np.zeros(w.shape)
    height = direction @ inputs.T
    bound = np.abs(height) <= _ON_BOUNDARY * lengths
    active = (height > 0) & ~bound
    shares, settled = np.zeros((m, n)), np.zeros(m, dtype=bool)
    patterns, stages = [_patterns(lines, active, bound)], list[list[np.ndarray]]()
    running = np.arange(m)
    while running.size:
        if len(stages) > 100 * (n + 1):  # pragma: no cover
            raise RuntimeError(f"neuron {running[0]} still changes its pattern after {len(stages)} stages")
        shares[running] = 0.0
        weights = np.where(active[running], 1.0, slope)
        drift[running] = (weights * pulls[running]) @ inputs + rest[running]
        velocity = drift[running] @ inputs.T
        pushed = (bound[running] & (velocity > still)).any(axis=1)
        bound[running] &= (velocity >= -still) | pushed[:, None]
        for j in running[pushed]:
            held = settle(pulls[j], active[j], bound[j], inputs, slope, rest[j], still)
            active[j], bound[j], shares[j], drift[j] = held
            if shares[j].any() and not sliding:
                datum = lines.first[np.argmax(shares[j])]
                raise ValueError(
                    f"neuron {j} slides along the boundary of datum {datum} from time "
                    f"{start[j]:.6g} on: the datum pushes it out, the others push it in; pass sliding=True "
                    "for the Filippov solution"
                )
        drift[np.linalg.norm(drift, axis=1) <= NO_MOTION * largest] = 0.0
        patterns.append(_patterns(lines, active, bound))
        stages.append([part.copy() for part in (start, direction, log_norm, drift)])
        velocity = drift[running] @ inputs.T
        can_switch = np.where(active[running], velocity < -still, (velocity > still) & ~bound[running])
        wait = np.where(can_switch, _crossing_times(direction[running], drift[running], inputs), np.inf)
        datum = wait.argmin(axis=1)
        wait = wait[np.arange(running.size), datum]
        settled[running] = np.isinf(wait)
        start[running] += wait
        goes_on = np.isfinite(start[running]) & (start[running] <= until)
        start[running[~goes_on]] = np.inf
        running, datum, wait, velocity = running[goes_on], datum[goes_on], wait[goes_on], velocity[goes_on]
        moved = _advance(direction[running], log_norm[running], drift[running], wait)
        direction[running], log_norm[running] = moved
        entering = ~active[running, datum]
        # An entering unit whose new datum would push it straight back is on the boundary; a leaving one is
        # put there too, and moves on if the others carry it away.
        change = (1 - slope) * pulls[running, datum] * lengths[datum] ** 2
        crosses = velocity[np.arange(running.size), datum] + change > 0
        active[running, datum] = entering & crosses
        bound[running, datum] = ~active[running, datum]
    starts, directions, log_norms, drifts = map(np.array, zip(*stages, strict=True))
    stage_patterns, slides = np.array(patterns[1:]), (shares > 0)[:, lines.index]
    stage, neuron, datum = np.nonzero(stage_patterns != np.array(patterns[:-1]))
    columns = starts[stage, neuron], neuron, datum, stage_patterns[stage, neuron, datum]
    order = np.lexsort((datum, neuron, columns[0]))
    fields = [("time", float), ("neuron", int), ("datum", int), ("entering", bool)]
    events = np.rec.fromarrays([column[order] for column in columns], dtype=fields)
    return AlignmentPhase(starts, directions, log_norms, drifts, stage_patterns, events, slides, settled)


def _patterns(lines: Lines, active: np.ndarray, bound: np.ndarray) -> np.ndarray:
    """Return the activation patterns (m, n) of the data of which some lines (m, l) are active or at zero."""
    return lines.states(np.where(bound, 0, 2 * active - 1)) > 0


def _split(
    directions: np.ndarray, drifts: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return ``|g|`` of drifts g (..., d), their directions e, and cosine and sine of the angles to these."""
    speed = np.linalg.norm(drifts, axis=-1)
    e = drifts / np.where(speed > 0, speed, 1.0)[..., None]
    cosine = np.einsum("...d,...d->...", directions, e)
    sine = np.linalg.norm(directions - cosine[..., None] * e, axis=-1)
    return speed, e, cosine, np.where((cosine < 0) & (sine < _EXACTLY_OPPOSITE), 0.0, sine)


def _halves(cosine: np.ndarray, sine: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return log((1+c)/2) and log((1-c)/2) without the cancellation near c = -1 and c = 1."""
    large = (1 + np.abs(cosine)) / 2
    with np.errstate(divide="ignore"):
        log_large, log_small = np.log(large), np.log(sine**2 / (4 * large))
    return np.where(cosine >= 0, log_large, log_small), np.where(cosine >= 0, log_small, log_large)


def _advance(
    directions: np.ndarray, log_norms: np.ndarray, drifts: np.ndarray, durations: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return directions (..., d) and log-norms (...) after ``durations`` of one stage with given drifts."""
    speed, e, cosine, sine = _split(directions, drifts)
    log_plus, log_minus = _halves(cosine, sine)
    growing, shrinking = log_plus + speed * durations, log_minus - speed * durations
    log_growth = np.logaddexp(growing, shrinking)
    across = (directions - cosine[..., None] * e) * np.exp(-np.where(sine > 0, log_growth, np.inf))[..., None]
    along = np.exp(growing - log_growth) - np.exp(shrinking - log_growth)
    moved = across + along[..., None] * e
    still = speed == 0
    moved /= np.where(still, 1.0, np.linalg.norm(moved, axis=-1))[..., None]
    return np.where(still[..., None], directions, moved), log_norms + np.where(still, 0.0, log_growth)


def _crossing_times(directions: np.ndarray, drifts: np.ndarray, inputs: np.ndarray) -> np.ndarray:
    """Return the times (m, n) to ``<w, x_i> = 0`` of pairs that move: infinite if none, 0 if passed."""
    speed, e, cosine, sine = _split(directions, drifts)
    log_plus, log_minus = _halves(cosine, sine)
    with np.errstate(divide="ignore", invalid="ignore"):
        across = (directions - cosine[:, None] * e) @ inputs.T
        ratio = -across / (e @ inputs.T)
        root = np.hypot(ratio, sine[:, None])
        # E = exp(|g| t) solves ratio = (1+c)/2 E - (1-c)/2 / E; the form without cancellation is taken.
        log_time = np.where(
            ratio >= 0,
            np.log(ratio + root) - np.log(2) - log_plus[:, None],
            np.log(2) + log_minus[:, None] - np.log(root - ratio),
        )
        times = log_time / speed[:, None]
    times[np.isnan(times) | (sine == 0)[:, None]] = np.inf
    return np.maximum(times, 0.0)
