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
from lib.checks import array, filled, number
from lib.flow.boundaries import NO_MOTION, Contact, Lines, settle
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
    both sides, and ``finished`` (m,) says which units have no further event, however long one waits.
    """

    starts: np.ndarray
    directions: np.ndarray
    log_norms: np.ndarray
    drifts: np.ndarray
    stage_patterns: np.ndarray
    events: np.recarray
    sliding: np.ndarray
    finished: np.ndarray

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

        A unit that was stopped by ``until`` before its last event (not ``finished``) is continued with the
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
        if not self.finished.all():
            raise ValueError(
                f"until stopped neuron {int(np.argmin(self.finished))} before its last event: rates unknown"
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
    w = array("w", w, ("m", "d"))
    if (zero := np.flatnonzero(~w.any(axis=1))).size:
        raise ValueError(f"w of neuron {zero[0]} is zero; it stays zero and has no direction, leave it out")
    inputs = filled("inputs", inputs, ("n", w.shape[1]))
    signs, forces = checks.signs("signs", signs, (len(w),)), array("forces", forces, (len(inputs),))
    slope, until = number("slope", slope, 0, 1, "[]"), number("until", until, 0, ends="[]")
    lines = Lines(inputs)  # data on one line act as one, together with a drift that is always there
    pulls, rest = lines.merged(signs[:, None] * forces, slope)
    largest = np.abs(forces) @ np.linalg.norm(inputs, axis=1)
    field = _Field(lines, slope, pulls, rest, largest)
    units, m, stages = Start.of(TwoLayer(w, np.zeros(len(w)))), len(w), list[_Stage]()
    sides = field.sides(units.directions)
    stage = field.stage(np.arange(m), np.zeros(m), units.directions, units.log_norms, *sides)
    while stage.neurons.size:
        if len(stages) > 100 * (len(inputs) + 1):  # pragma: no cover
            raise RuntimeError(f"neuron {stage.neurons[0]} changes its pattern in {len(stages)} stages")
        if not sliding:
            _refuse_sliding(stage, lines)
        stages.append(stage)
        stage = field.after(stage, until)
    return _phase(lines, lines.on(*sides), stages)


@dataclass(frozen=True)
class _Stage:
    """A stage of neurons (k,): since when, from where, what then drives them, and how it ends.

    Of lines (k, l) some are ``active``, and some are ``bound`` at zero, where they hold neurons with their
    ``shares``; after ``waits`` (k,), which may be infinite, neurons come to the lines ``met`` (k,).
    """

    neurons: np.ndarray
    starts: np.ndarray
    directions: np.ndarray
    log_norms: np.ndarray
    active: np.ndarray
    bound: np.ndarray
    shares: np.ndarray
    drifts: np.ndarray
    waits: np.ndarray
    met: np.ndarray


@dataclass(frozen=True)
class _Field:
    """What drives neurons (m,): the pulls (m, l) of lines, and what is always there, ``rest`` (m, d).

    ``largest`` is the size of a drift to which all forces contribute.
    """

    lines: Lines
    slope: float
    pulls: np.ndarray
    rest: np.ndarray
    largest: float

    def sides(self, directions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return for which lines (m, l) directions (m, d) are above zero, and for which they are at zero."""
        heights = directions @ self.lines.inputs.T
        bound = np.abs(heights) <= _ON_BOUNDARY * self.lines.lengths
        return (heights > 0) & ~bound, bound

    def after(self, stage: _Stage, until: float) -> _Stage:
        """Return the next stage of those neurons that come to a boundary before the time ``until``."""
        starts = stage.starts + stage.waits
        going = np.flatnonzero(np.isfinite(starts) & (starts <= until))
        neurons, met, every = stage.neurons[going], stage.met[going], np.arange(len(going))
        moved = _advance(
            stage.directions[going], stage.log_norms[going], stage.drifts[going], stage.waits[going]
        )
        active, bound = stage.active[going], stage.bound[going]
        # An entering unit whose new datum would push it straight back is on the boundary; a leaving one is
        # put there too, and moves on if the others carry it away.
        change = (1 - self.slope) * self.pulls[neurons, met] * self.lines.lengths[met] ** 2
        crosses = (stage.drifts @ self.lines.inputs.T)[going, met] + change > 0
        active[every, met] = ~active[every, met] & crosses
        bound[every, met] = ~active[every, met]
        return self.stage(neurons, starts[going], *moved, active, bound)

    def stage(
        self, neurons: np.ndarray, starts: np.ndarray, directions: np.ndarray, log_norms: np.ndarray,
        active: np.ndarray, bound: np.ndarray,
    ) -> _Stage:  # fmt: skip
        """Return the stage that neurons come to: they settle at their boundaries, and wait for the next."""
        inputs, still = self.lines.inputs, NO_MOTION * self.lines.lengths * self.largest
        drifts = (np.where(active, 1.0, self.slope) * self.pulls[neurons]) @ inputs + self.rest[neurons]
        rates, shares = drifts @ inputs.T, np.zeros(active.shape)
        pushed = (bound & (rates > still)).any(axis=1)
        active, bound = active.copy(), bound & ((rates >= -still) | pushed[:, None])
        for k in np.flatnonzero(pushed):
            pulls, rest = self.pulls[neurons[k]], self.rest[neurons[k]]
            contact = Contact(pulls, active[k], bound[k], inputs, self.slope, rest)
            contact, shares[k], drifts[k] = settle(contact, still)
            active[k], bound[k] = contact.active, contact.bound
        drifts[np.linalg.norm(drifts, axis=1) <= NO_MOTION * self.largest] = 0.0
        rates = drifts @ inputs.T
        leaves = np.where(active, rates < -still, (rates > still) & ~bound)
        waits = np.where(leaves, _crossing_times(directions, drifts, inputs), np.inf)
        begins = neurons, starts, directions, log_norms, active, bound, shares, drifts
        return _Stage(*begins, waits.min(axis=1), waits.argmin(axis=1))


def _refuse_sliding(stage: _Stage, lines: Lines) -> None:
    """Raise ``ValueError``, with its neuron and datum, if a neuron of a stage slides."""
    if (slides := stage.shares.any(axis=1)).any():
        k = slides.argmax()
        datum = lines.first[stage.shares[k].argmax()]
        raise ValueError(
            f"neuron {stage.neurons[k]} slides along the boundary of datum {datum} from time "
            f"{stage.starts[k]:.6g} on: the datum pushes it out, the others push it in; pass sliding=True "
            "for the Filippov solution"
        )


def _phase(lines: Lines, before: np.ndarray, stages: list[_Stage]) -> AlignmentPhase:
    """Return the phase of some stages, with the patterns (m, n) before them."""

    def of_all(name: str) -> np.ndarray:
        """Return a part of the stages (K, m, ...): neurons that have come to their end keep their last."""
        parts = [getattr(stages[0], name)]
        for stage in stages[1:]:
            parts.append(parts[-1].copy())
            parts[-1][stage.neurons] = getattr(stage, name)
        return np.array(parts)

    starts = np.full((len(stages), len(before)), np.inf)
    for row, stage in zip(starts, stages, strict=True):
        row[stage.neurons] = stage.starts
    patterns = lines.on(of_all("active"), of_all("bound"))
    k, neuron, datum = np.nonzero(patterns != np.concatenate([before[None], patterns[:-1]]))
    columns = starts[k, neuron], neuron, datum, patterns[k, neuron, datum]
    order = np.lexsort((datum, neuron, columns[0]))
    fields = [("time", float), ("neuron", int), ("datum", int), ("entering", bool)]
    events = np.rec.fromarrays([column[order] for column in columns], dtype=fields)
    directions, log_norms, drifts = map(of_all, ("directions", "log_norms", "drifts"))
    slides, finished = (of_all("shares")[-1] > 0)[:, lines.index], np.isinf(of_all("waits")[-1])
    return AlignmentPhase(starts, directions, log_norms, drifts, patterns, events, slides, finished)


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
