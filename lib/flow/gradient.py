"""Event-driven gradient flow of two-layer (leaky) ReLU networks, one entry point: `gradient_flow`.

The field of the flow is smooth as long as no activation changes, so the algorithm follows smooth pieces and
finds their ends:

1. *Span.*  Data of many dimensions are reduced to their span and each neuron's distance from it, exactly.
2. *Early phase.*  While the outputs are too small to change the forces ``F_i = -dl/df(x_i)``, the flow has
   closed forms, activation changes included (`lib.flow.early`), so that starts of size 1e-6 and 1e-1000 are
   equally cheap.
3. *Smooth pieces.*  DOP853 integrates in coordinates that do not depend on the scale
   (`lib.flow.coordinates`).  Pairs of a neuron and a datum that leave the side of their activation within a
   step are located by Brent's method (`lib.flow.events`), the state is cut there, `lib.flow.boundaries`
   chooses what the unit does on its boundary (cross, stay at zero, slide), and the integrator starts anew.
4. *Late phase.*  Towards ``log_until`` an implicit method takes over, in a time without the loss
   (`lib.flow.late`).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from lib.checks import array, choice, filled, number, whole
from lib.flow.coordinates import TRIAL, Span, fitting
from lib.flow.late import late_flow
from lib.flow.methods import Explicit
from lib.flow.run import Run
from lib.flow.trajectory import Task, Trajectory, Weights
from lib.models.two_layer import Start, TwoLayer
from lib.training.losses import Loss, examples


def gradient_flow(
    start: Start | TwoLayer,
    inputs: ArrayLike,
    labels: ArrayLike,
    loss: Loss,
    *,
    until: float | None = None,
    log_until: float | None = None,
    train: str = "both",
    reduction: str = "mean",
    weights: ArrayLike | None = None,
    slope: float | None = None,
    rtol: float = 1e-10,
    loss_below: float = 0.0,
    max_steps: int = 100_000,
) -> Trajectory:
    """Integrate the gradient flow of a two-layer network, and return its trajectory.

    ``start`` is one network, of any scale; its leaky ``slope`` is that of a `TwoLayer`, and an argument
    (default 0) for a `Start`.  ``inputs`` (n, d), none of them zero; ``labels`` (n,), +1 and -1 unless the
    loss is that of a regression.  ``train`` is "both" layers, or "first", with the outputs' weights fixed.
    The loss is the ``reduction`` "mean" or "sum" over data, in which datum i counts ``weights[i]`` times
    (n,), any positive number.

    The run goes to the time ``until``, or to the time of natural logarithm ``log_until``, up to about 1e8,
    for losses with an exponential tail, where ``rtol`` times it is at most 1.  It ends early when the total
    loss is at most ``loss_below``, after ``max_steps`` steps, if events accumulate, if the forces balance at
    a saddle at a late time, or but for some too faint to be followed, or if the integrator cannot reach its
    tolerance; ``reason`` and ``stopped`` say which, and what was computed is returned.  Steps on a plateau
    are a few units of time long, so that from below exp(-1e5) they may be too many.  ``rtol`` bounds the
    local error of a step, as a root mean square over the coordinates, relative to the weights of each neuron;
    it is at least 1e-13, and counts as 1e-9 in late phases if it is below.

    A neuron whose pre-activation is zero up to rounding (1e-12 of the unit vectors, 1e-15 at a tiny balanced
    start) is on the boundary of that datum, where ``phi'(0) = slope``; `lib.flow.boundaries` says how it goes
    on.  So data whose cosine is below 1e-12 count as orthogonal, even from starts so small that the flow has
    the time to tell them from those (at 1e-20 it does from cosines of 1e-16).  A unit on a boundary that is
    pushed by less than the error of the forces stays there; relative to the forces this is some ten times
    ``rtol`` times the margins, so late runs with units on boundaries need a finer ``rtol`` than others.  A
    pair that leaves its side and returns within a quarter of a step is seen where parabolas through its
    activations show a dip.
    Raises ``ValueError`` naming a bad argument.
    [boursier2022, Eq. 9; min2024, Eq. 3; sarussi2021, Sec. 3]

    Example: from the scale 1e-1000 to the time exp(1e6).

    >>> from lib.training.losses import LOGISTIC
    >>> diamond = [[1.0, 0.0], [0.0, 1.0]]
    >>> start = Start(diamond, [-2302.6, -2302.6], signs=[1, -1])
    >>> run = gradient_flow(start, diamond, [1, -1], LOGISTIC, log_until=1e6)
    >>> run.stopped, run.log_norms[0].round(1), np.exp(2 * run.log_norms[-1]).round()
    ('log time reached 1e+06', array([-2302.6, -2302.6]), array([1000014., 1000014.]))
    """
    choice("train", train, ("both", "first"))
    first, slope = _checked_start(start, slope, train)
    x, y = examples(filled("inputs", inputs, ("n", "d")), labels, first.directions.shape[1], loss)
    share = np.ones(len(y)) if weights is None else array("weights", weights, y.shape, 0)
    if choice("reduction", reduction, ("mean", "sum")) == "mean":
        share = share / share.sum()
    task = Task(x, y, loss, share)
    rtol, loss_below = number("rtol", rtol, 1e-13, 1, "[)"), number("loss_below", loss_below, 0, ends="[)")
    max_steps = whole("max_steps", max_steps, 1)
    if (until is None) == (log_until is None):
        raise ValueError(f"until is {until}, log_until is {log_until}, allowed: exactly one of the two")
    z = first.directions @ task.inputs.T
    outputs = (np.exp(first.log_norms + first.log_outputs) * first.signs) @ np.maximum(z, slope * z)
    with np.errstate(over="ignore"):
        total = loss.value(outputs, task.labels).sum()
    if not np.isfinite(total):
        raise ValueError(
            f"log_norms holds {first.log_norms.max():g}: there the {loss.name} loss is {total}; "
            "allowed: a finite loss"
        )
    span = Span(task.inputs, first.directions)
    first = first._replace(directions=span.directions)
    coordinates = fitting(first, trains_outputs=train == "both")
    run = Run(first, coordinates, span, task, slope, rtol)
    if until is not None:
        until = number("until", until, 0)
        run.align(until)
        return run.trajectory(run.integrate(Explicit(until), loss_below, max_steps))
    if loss.tail is None:
        raise ValueError(
            f"log_until needs a loss with an exponential tail, not the {loss.name} loss; use until"
        )
    late = number("log_until", log_until)
    if rtol * late > 1 + 1e-9:
        raise ValueError(
            f"log_until is {late:g} with rtol {rtol:g}, allowed: a product of at most 1, for margins "
            "grow like the logarithm of time, and their errors, rtol times as large, pass for forces"
        )
    return late_flow(run, loss.tail, late, loss_below, max_steps)


def _checked_start(start: Start | TwoLayer, slope: float | None, train: str) -> tuple[Weights, float]:
    if isinstance(start, TwoLayer):
        if slope is not None:
            raise ValueError(f"slope is {slope}, allowed: none for a TwoLayer, which has its own")
        slope, start = start.slope, Start.of(start)
    if not isinstance(start, Start):
        raise ValueError(f"start is {start!r}, allowed: a Start or a TwoLayer")
    v, log_norms, log_outputs = start.directions, start.log_norms, start.log_outputs
    if v.ndim != 2:
        raise ValueError(f"start has directions of shape {v.shape}, allowed: (m, d), one network at a time")
    if (absent := np.isneginf(log_norms)).any():
        raise ValueError(f"start has w = 0 in neuron {absent.argmax()}, allowed: neurons with a direction")
    # What exceeds TRIAL is cut in the coordinates: there only as it will be rejected, here it would stay.
    if train == "both" and (far := log_outputs - log_norms > TRIAL).any():
        raise ValueError(
            f"log_outputs exceeds log_norms by {(log_outputs - log_norms)[far][0]:.4g}, allowed: at most "
            f"{TRIAL:g} when both layers are trained"
        )
    inner = np.maximum(log_norms, log_outputs) if train == "both" else log_outputs
    if (large := log_norms + inner > TRIAL).any():
        raise ValueError(
            f"log_norms holds {log_norms[large][0]:g} with log_outputs {log_outputs[large][0]:g}, allowed: "
            f"products of weights, and squares when both layers are trained, up to exp({TRIAL:g})"
        )
    slope = number("slope", 0.0 if slope is None else slope, 0, 1, "[]")
    return Weights(v, log_norms, start.signs, log_outputs), slope
