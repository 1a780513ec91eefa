"""Event-driven gradient flow of two-layer (leaky) ReLU networks, one entry point: `gradient_flow`.

The field of the flow is smooth as long as no activation changes, so the algorithm follows smooth pieces and
finds their ends:

1. *Span.*  Only the span of the inputs and the distance of each neuron from it matter; data of many
   dimensions are reduced to it exactly.
2. *Early phase.*  While the outputs are too small to change the forces ``F_i = -dl/df(x_i)``, the flow has
   closed forms, activation changes included (`lib.flow.early`).  It is left when the neglected part reaches
   a tenth of the tolerance, which makes starts of size 1e-6 and 1e-1000 equally cheap.
3. *Smooth pieces.*  DOP853 integrates in coordinates that do not depend on the scale
   (`lib.flow.coordinates`).  After each step the dense output is looked at for pairs of a neuron and a
   datum that left the side on which their activation is.  The first of them is located by Brent's method,
   the state is cut there, `lib.flow.boundaries` chooses what the unit does on its boundary (cross, stay at
   zero, slide), and the integrator starts anew.  Kinks of the hinge loss are treated alike
   (`lib.flow.kinks`).
4. *Stiff phase.*  When thousands of steps are taken and left, an implicit method takes over, in the
   logarithm of time (`lib.flow.stiff`).
5. *Late phase.*  Towards ``log_until`` the loss is integrated out of time, ``ds = L dt``, by an implicit
   method (`lib.flow.late`): at the end of a classification, s is of order one for ever.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from lib.checks import choice, number, numbers, whole
from lib.flow.late import has_tail, late_flow
from lib.flow.run import Run
from lib.flow.span import Span
from lib.flow.stiff import plain_flow
from lib.flow.trajectory import Trajectory, Weights, checked_start
from lib.training.losses import Loss

_LARGEST = 300.0  # natural logarithm of products of weights at the start, at most


def gradient_flow(
    directions: ArrayLike,
    log_norms: ArrayLike,
    signs: ArrayLike,
    inputs: ArrayLike,
    labels: ArrayLike,
    loss: Loss,
    *,
    until: float | None = None,
    log_until: float | None = None,
    log_outputs: ArrayLike | None = None,
    train: str = "both",
    reduction: str = "mean",
    slope: float = 0.0,
    rtol: float = 1e-10,
    loss_below: float = 0.0,
    max_steps: int = 100_000,
) -> Trajectory:
    """Integrate the gradient flow of a two-layer network, and return its trajectory.

    The network is ``f(x) = sum_j a_j phi(<w_j, x>)`` with ``phi(z) = max(z, slope z)``, at the start
    ``w_j = exp(log_norms_j) directions_j`` and ``a_j = signs_j exp(log_outputs_j)``: ``directions`` (m, d)
    unit vectors, ``log_norms`` (m,) natural logarithms of any size, ``signs`` (m,) +1 or -1, and
    ``log_outputs`` (m,), by default those of the norms (a balanced start).  ``inputs`` (n, d), none of them
    zero; ``labels`` (n,), +1 and -1 unless the loss is that of a regression.  ``train`` is "both" layers, or
    "first", with ``a`` fixed (by default then at ``signs``).  The loss is the ``reduction`` "mean" or "sum"
    over data.

    The run goes to the time ``until``, or to the time of natural logarithm ``log_until``, up to about 1e8,
    for losses with an exponential tail.  It ends early when the total loss is at most ``loss_below``,
    after ``max_steps`` steps, if events accumulate, if the forces balance at a saddle at a late time, or but
    for some too faint to be followed, or if the integrator cannot reach its tolerance; ``stopped`` says
    which, and what was computed is returned.  Data that cannot be separated end at rest.  ``rtol`` bounds
    the local error of a step, as a root mean square over the coordinates, relative to the weights of each
    neuron; it is at least 1e-13, and counts as 1e-9 in late or stiff phases if it is below (as 1e-6 at most
    in a coordinate that rounding moves by more).

    A unit that starts on a boundary goes below it where both sides push away, and stays where below nothing
    moves it: ``phi'(0) = slope``.  Once the forces are as small as their error, a unit that meets a boundary
    stays there.  A pair that leaves its side and returns within a quarter of a step is not seen.  Raises
    ``ValueError`` naming a bad argument.
    [boursier2022, Eq. 9; min2024, Eq. 3; sarussi2021, Sec. 3]

    Example:

    >>> from lib.training.losses import LOGISTIC
    >>> diamond = [[1.0, 0.0], [0.0, 1.0]]
    >>> run = gradient_flow(diamond, [-2302.6] * 2, [1, -1], diamond, [1, -1], LOGISTIC, log_until=1e6)
    >>> run.stopped, run.log_norms[0].round(1), np.exp(2 * run.log_norms[-1]).round()
    ('log time reached 1e+06', array([-2302.6, -2302.6]), array([1000014., 1000014.]))
    """
    choice("train", train, ("both", "first"))
    v, rho, s, x, y = checked_start(directions, log_norms, signs, inputs, labels, reduction)
    if v.ndim != 2:
        raise ValueError(f"directions has shape {v.shape}, allowed: (m, d), one network at a time")
    if not isinstance(loss, Loss):
        raise ValueError(f"loss is {loss!r}, allowed: a Loss such as lib.training.losses.LOGISTIC")
    if loss.classifies and not np.isin(y, (-1, 1)).all():
        raise ValueError(
            f"labels holds {y[~np.isin(y, (-1, 1))][0]}, allowed: +1 and -1 for the {loss.name} loss"
        )
    outputs = _checked_outputs(log_outputs, rho, train)
    slope, rtol = number("slope", slope, 0, 1, "[]"), number("rtol", rtol, 1e-13, 1, "[)")
    loss_below, max_steps = number("loss_below", loss_below, 0, ends="[)"), whole("max_steps", max_steps, 1)
    if (until is None) == (log_until is None):
        raise ValueError(f"until is {until}, log_until is {log_until}, allowed: exactly one of the two")
    span = Span(x, v)
    start = Weights(span.directions, rho, s, outputs)
    run = Run(start, span, y, loss, train, reduction, slope, rtol)
    _check_loss(run)
    if until is not None:
        until = number("until", until, 0)
        return plain_flow(run, until, loss_below, max_steps)
    if not has_tail(loss):
        raise ValueError(
            f"log_until needs a loss with an exponential tail, not the {loss.name} loss; use until"
        )
    return late_flow(run, number("log_until", log_until), loss_below, max_steps)


def _checked_outputs(log_outputs: ArrayLike | None, log_norms: np.ndarray, train: str) -> np.ndarray:
    if log_outputs is None:
        log_outputs = log_norms if train == "both" else np.zeros_like(log_norms)
    outputs = numbers("log_outputs", log_outputs, ends="[)")
    if outputs.shape != log_norms.shape:
        raise ValueError(
            f"log_outputs is {log_outputs!r}, allowed: {len(log_norms)} numbers, or -inf for a zero"
        )
    if train == "both" and (far := outputs - log_norms > 300).any():
        raise ValueError(
            f"log_outputs exceeds log_norms by {(outputs - log_norms)[far][0]:.4g}, allowed: at most 300 "
            "when both layers are trained"
        )
    inner = np.maximum(log_norms, outputs) if train == "both" else outputs
    if (large := log_norms + inner > _LARGEST).any():
        raise ValueError(
            f"log_norms holds {log_norms[large][0]:g} with log_outputs {outputs[large][0]:g}, allowed: "
            f"products of weights, and squares when both layers are trained, up to exp({_LARGEST:g})"
        )
    return outputs


def _check_loss(run: Run) -> None:
    """Refuse a start whose loss is no number."""
    start = run.recorded[0]
    outputs = np.exp(start.log_norms + start.log_outputs) * start.signs
    z = start.directions @ run.inputs.T
    outputs = outputs @ np.maximum(z, run.slope * z)
    with np.errstate(over="ignore"):
        total = run.loss.value(outputs, run.labels).sum()
    if not np.isfinite(total):
        largest = start.log_norms.argmax()
        raise ValueError(
            f"log_norms holds {start.log_norms[largest]:g}: there the {run.loss.name} loss is {total}; "
            "allowed: a finite loss"
        )
