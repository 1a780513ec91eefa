"""Neurons on orthogonal inputs while the outputs are negligible, in closed form.

With ``S(t)`` the integral of ``|w|``, the coordinate of ``w`` along an active input moves linearly in
``S``, and stays once it has come down to zero.  So each neuron loses the inputs whose forces push it away
in an order that is known in advance, and between two losses ``|w| + c`` and ``|w| - c`` grow and decay
exponentially with the rate omega, where c is the component of w along the sum of its forces and omega the
length of that sum. [boursier2022, Eq. 28; the closed form is ours]
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from lib.checks import array, refuse_overflow
from lib.checks import signs as checked_signs
from lib.theory.orthogonal_data import active_inputs, check_orthogonal, lengths, same_length


@dataclass(frozen=True)
class OrthogonalAlignment:
    """When neurons lose inputs, how they grow afterwards, and how well they are aligned.

    ``times`` (m, n) are the times at which neuron j loses input k, infinite if it does not (inactive
    inputs are lost at no time); ``active`` (m, n) are the final activation patterns.  ``rates`` (m,) and
    ``offsets`` (m,) describe the growth: ``log|w_j(t)| - rate t`` tends to ``log|w_j(0)| + offset``.
    ``log_plus`` and ``log_across`` (m,) are the logarithms, after the last loss at ``last`` (m,), of
    ``|w| + c`` and of the part of w orthogonal to its forces, for ``|w(0)| = 1``.

    Example:

    >>> phase = orthogonal_alignment([[0.6, 0.8]], [1], [[1, 0], [0, 1]], [1.0, -1.0])
    >>> phase.times.round(4).tolist(), phase.active.tolist(), phase.rates.tolist()
    ([[inf, 0.7239]], [[True, False]], [1.0])
    """

    times: np.ndarray
    active: np.ndarray
    rates: np.ndarray
    offsets: np.ndarray
    last: np.ndarray
    log_plus: np.ndarray
    log_across: np.ndarray

    def log_misalignment(self, times: ArrayLike) -> np.ndarray:
        """Return ``log(1 - cos)`` of the angles to the final directions at times (T,), shape (T, m).

        Exact at all times, however small; ``nan`` before a neuron's last loss.  Neurons without forces keep
        their direction: 0 (their final direction is arbitrary).  Raises ``ValueError`` for negative times.
        """
        times = array("times", times, ("T",), 0.0, ends="[)")
        waits = times[:, None] - self.last
        # 1 - cos = 2 / (1 + P^2 / q^2) with P = |w| + c and q the part across; opposite to the forces P = 0.
        opposite, aligned = np.isneginf(self.log_plus), np.isneginf(self.log_across)
        across = np.where(aligned, 0.0, self.log_across)
        grown = np.where(opposite, 0.0, self.log_plus) + self.rates * np.maximum(waits, 0) - across
        logs = np.where(aligned, -np.inf, np.log(2) - np.logaddexp(0, 2 * grown))
        logs = np.where(opposite, np.log(2), logs)
        return np.where(waits < 0, np.nan, np.where(self.rates == 0, 0.0, logs))


@refuse_overflow
def orthogonal_alignment(
    directions: ArrayLike, signs: ArrayLike, inputs: ArrayLike, forces: ArrayLike
) -> OrthogonalAlignment:
    """Solve ``dw_j/dt = s_j |w_j| sum_(k active) forces_k x_k`` on orthogonal inputs exactly, for all times.

    ``directions`` (m, d) are the unit vectors ``w_j/|w_j|`` at time 0, ``signs`` (m,) the signs of
    the output weights, ``inputs`` (n, d) the data, ``forces`` (n,) the values of ``-dl/df`` at output zero:
    ``labels / n`` for the mean square loss.  An input is active while ``<w, x_k> > 0``.  At most n + 1 passes
    over arrays of shape (m, n).  Relative accuracy of times and offsets 1e-12, but for neurons that point
    away from the sum of their forces up to an angle of 1e-12.  Raises ``ValueError`` for other shapes,
    directions whose norms differ from 1 by more than 1e-9, and inputs that are not orthogonal.

    Example:

    >>> phase = orthogonal_alignment([[0.6, 0.8], [0.8, -0.6]], [1, 1], [[1, 0], [0, 1]], [1.0, -1.0])
    >>> np.exp(phase.log_misalignment([1.0, 5.0])[:, 1]).round(6).tolist()
    [0.029629, 1e-05]
    """
    x = check_orthogonal(inputs)
    v, s = array("directions", directions, ("m", "d")), checked_signs("signs", signs, ("m",))
    force = array("forces", forces, ("n",))
    same_length(inputs=len(x), forces=len(force))
    same_length(directions=len(v), signs=len(s))
    same_length(**{"axis 1 of directions": v.shape[1], "axis 1 of inputs": x.shape[1]})
    sizes = lengths(v)
    if (error := np.abs(sizes - 1)).max() > 1e-9:
        raise ValueError(
            f"directions holds a vector of norm {sizes[error.argmax()]:.12g}, allowed: unit vectors"
        )
    norms = lengths(x)
    units = x / norms[:, None]
    place = v @ units.T
    beyond = lengths(v - place @ units)
    push = s[:, None] * (force * norms)
    active = active_inputs(v, x)
    place = np.where(active, place, np.minimum(place, 0.0))
    times, clock = np.full(active.shape, np.inf), np.zeros(len(v))
    running = np.arange(len(v))
    log_plus, log_across = np.zeros(len(v)), np.zeros(len(v))
    while running.size:
        on, pushes = active[running], np.where(active[running], push[running], 0.0)
        rate, plus, across = _halves(place[running], beyond[running], pushes)
        log_plus[running], log_across[running] = plus, across
        # A neuron exactly opposite to its forces only shrinks: it takes for ever to lose anything.
        pushed = on & (pushes < 0) & ~np.isneginf(plus)[:, None]
        path = np.divide(place[running], -pushes, out=np.full(on.shape, np.inf), where=pushed)
        first = path.argmin(axis=1)
        length = path[np.arange(running.size), first]
        ends = np.isfinite(length)
        running, first, length, rate, plus, pushes, path = (
            part[ends] for part in (running, first, length, rate, plus, pushes, path)
        )
        # Inputs that are lost at the same length of path go together; the others stay above zero.
        lost = path <= length[:, None]
        moved = place[running] + pushes * length[:, None]
        place[running] = np.where(lost, 0.0, np.where(active[running], np.maximum(moved, 0.0), moved))
        _, plus_after, _ = _halves(place[running], beyond[running], pushes)
        clock[running] += (plus_after - plus) / rate
        times[running] = np.where(lost, clock[running][:, None], times[running])
        active[running] &= ~lost
    rates = lengths(np.where(active, push, 0.0))
    falling = np.isneginf(log_plus)
    grown = np.where(falling, 0.0, log_plus) - np.log(2) - rates * clock
    shrunk = np.log(np.hypot(lengths(place), beyond)) + rates * clock
    offsets = np.where(rates == 0, log_plus, np.where(falling, shrunk, grown))
    rates = np.where(falling, -rates, rates)
    return OrthogonalAlignment(times, active, rates, offsets, clock, log_plus, log_across)


def _halves(place: np.ndarray, beyond: np.ndarray, pushes: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return the rate, ``log(|w| + c)`` (without pushes ``log|w|``) and ``log q``, c along them, q across."""
    rate = lengths(pushes)
    towards = pushes / np.where(rate > 0, rate, 1.0)[:, None]
    along = (place * towards).sum(axis=1)
    across = np.hypot(lengths(place - along[:, None] * towards), beyond)
    size = np.hypot(along, across)
    with np.errstate(divide="ignore"):
        log_across = np.log(across)
    # |w| + c = q^2 / (|w| - c) where c is negative.
    sum_or_difference = np.log(size + np.abs(along))
    plus = np.where(along >= 0, sum_or_difference, 2 * log_across - sum_or_difference)
    return rate, np.where(rate > 0, plus, np.log(size)), log_across
