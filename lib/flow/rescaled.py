"""Gradient flow of the first layer in loss-rescaled time ``ds = L dt``: it reaches times like ``exp(1e8)``.

The mean logistic loss L of a separating network decays like 1/t, so plain time stretches without end.  In s
the velocity ``dtheta/ds = sum_i |l'_i| grad q_i / sum_i l_i`` is of order one for ever; ``log(1 + t)`` is
carried along.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.integrate import BDF, solve_ivp
from scipy.special import expit, logsumexp

from lib.geometry import agreement
from lib.networks import TwoLayer

REACHED = "reached the last time asked for"
AGREED = "the neurons of either output sign agree on all inputs"


@dataclass(frozen=True)
class RescaledFlow:
    """A computed flow at rescaled times ``s`` (T,), with weights ``w`` (T, m, d) and ``log_loss = log L``.

    ``log_time`` is ``log(1 + t)``, t counted from the start.
    ``a`` and ``slope`` complete the networks; ``stopped`` says why the flow ends where it does; ``calls``
    counts evaluations of the velocity.
    """

    s: np.ndarray
    log_time: np.ndarray
    log_loss: np.ndarray
    w: np.ndarray
    a: np.ndarray
    slope: float
    stopped: str
    calls: int

    def network(self, index: int = -1) -> TwoLayer:
        """Return the network at one recorded time, by default the last."""
        return TwoLayer(self.w[index], self.a, self.slope)

    def mean_neurons(self) -> np.ndarray:
        """Return the mean positive-output neuron followed by the mean negative-output neuron, (T, 2d)."""
        return np.hstack([self.w[:, self.a > 0].mean(axis=1), self.w[:, self.a < 0].mean(axis=1)])


def rescaled_flow(
    network: TwoLayer,
    inputs: np.ndarray,
    labels: np.ndarray,
    *,
    times: np.ndarray,
    width: float,
    until_agreement: bool = False,
    rtol: float = 1e-7,
    atol: float = 1e-10,
) -> RescaledFlow:
    """Integrate the flow of ``network.w``, with ``network.a`` fixed, on the mean logistic loss.

    ``times`` are the increasing rescaled times to record, the first is the start.  The activation's slope is
    smoothed to ``slope + (1 - slope) * expit(z / width)``: at a kink that attracts, the exact flow slides,
    and a positive ``width`` lets a stiff method follow it.  The smoothing amounts to moving a response by at
    most ``(1 - slope) * width * log 2``; choose ``width`` well below the differences between neurons that
    matter.  With ``until_agreement`` the flow stops, and records its end, where all neurons of one output
    sign first call every input alike.  Raises ``ValueError`` naming a bad argument.
    """
    inputs, labels, times = checked(network, inputs, labels, times)
    if not width > 0:
        raise ValueError(f"width is {width}, allowed: positive numbers")
    shape, a, slope = network.w.shape, network.a, network.slope
    signed_inputs = labels[:, None] * inputs

    def gradients(state: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return margins (n,), their gradients (n, m d), and how fast the activation slopes change (n, m)."""
        z = inputs @ state[:-1].reshape(shape).T
        margins = labels * (np.maximum(z, slope * z) @ a)
        on = expit(z / width)
        slopes = (slope + (1 - slope) * on) * a
        return margins, (slopes[:, :, None] * signed_inputs[:, None]).reshape(len(z), -1), on * (1 - on)

    def velocity(s: float, state: np.ndarray) -> np.ndarray:
        margins, rows, _ = gradients(state)
        weights, log_loss = loss_weights(margins)
        return np.append(weights @ rows, np.exp(-log_loss - state[-1]))

    def jacobian(s: float, state: np.ndarray) -> np.ndarray:
        margins, rows, bumps = gradients(state)
        weights, log_loss = loss_weights(margins)
        in_weights = rows.T @ weight_slopes(weights, margins) @ rows
        curving = (1 - slope) / width * a * bumps * (weights * labels)[:, None]
        blocks = np.einsum("nm,nc,nd->mcd", curving, inputs, inputs)
        for j, block in enumerate(blocks):
            own = slice(j * shape[1], (j + 1) * shape[1])
            in_weights[own, own] += block
        return with_clock(in_weights, weights @ rows, np.exp(-log_loss - state[-1]))

    def disagreement(s: float, state: np.ndarray) -> float:
        # A hair inside the regime, so that the recorded end lies in it whatever the rounding.
        w = state[:-1].reshape(shape)
        hair = 1e-9 * np.abs(w).max() * np.abs(inputs).max()
        return min(agreement(w[side], inputs)[1] for side in (a > 0, a < 0) if side.any()) - hair

    start = np.append(network.w.ravel(), 0.0)
    if until_agreement and disagreement(times[0], start) > 0:
        raise ValueError("until_agreement: the neurons agree at the start already")
    return integrate(
        network,
        inputs,
        labels,
        times,
        velocity,
        start,
        jacobian=jacobian,
        method=CleanBDF,
        event=crossing(disagreement, +1) if until_agreement else None,
        event_means=AGREED,
        weights=lambda states: states.reshape(len(states), *shape),
        rtol=rtol,
        atol=atol,
    )


class CleanBDF(BDF):
    """SciPy's BDF with zeros where its table of differences is not yet in use.

    SciPy leaves arbitrary memory there and computes with it, which changes no result but can warn.
    """

    def __init__(self, *arguments, **options) -> None:
        super().__init__(*arguments, **options)
        self.D[2:] = 0


def integrate(
    network: TwoLayer,
    inputs: np.ndarray,
    labels: np.ndarray,
    times: np.ndarray,
    velocity: Callable,
    start: np.ndarray,
    *,
    event: Callable | None,
    event_means: str,
    weights: Callable[[np.ndarray], np.ndarray],
    **options: object,
) -> RescaledFlow:
    jacobian = options.pop("jacobian")
    answer = solve_ivp(
        velocity, (times[0], times[-1]), start, t_eval=times, events=event, jac=jacobian, **options
    )
    s, states, stopped = answer.t, answer.y.T, REACHED
    if answer.status < 0:
        stopped = f"the integrator failed: {answer.message}"
    if answer.status == 1:
        stopped = event_means
        s, states = np.append(s, answer.t_events[0]), np.vstack([states, answer.y_events[0]])
    w = weights(states[:, :-1])
    margins = [labels * TwoLayer(each, network.a, network.slope)(inputs) for each in w]
    return RescaledFlow(
        s=s,
        log_time=states[:, -1],
        log_loss=np.array([loss_weights(each)[1] for each in margins]),
        w=w,
        a=network.a,
        slope=network.slope,
        stopped=stopped,
        calls=answer.nfev,
    )


def loss_weights(margins: np.ndarray) -> tuple[np.ndarray, float]:
    """Return ``|l'_i| / sum_j l_j`` (n,) and ``log L``, for margins of any size."""
    # Above 30 the loss is exp(-q) to rounding, and its logarithm no longer needs the exponential.
    log_losses = np.where(margins > 30, -margins, np.log(np.logaddexp(0, -np.minimum(margins, 30))))
    log_total = logsumexp(log_losses)
    return np.exp(-np.logaddexp(0, margins) - log_total), float(log_total - np.log(len(margins)))


def weight_slopes(weights: np.ndarray, margins: np.ndarray) -> np.ndarray:
    """Return the derivatives (n, n) of the first value of :func:`loss_weights` in the margins."""
    return np.outer(weights, weights) - np.diag(weights * expit(margins))


def with_clock(block: np.ndarray, log_loss_fall: np.ndarray, speed: float) -> np.ndarray:
    """Border a Jacobian with the row of ``log(1 + t)``, whose speed is ``exp(-log L - log(1 + t))``."""
    return np.block(
        [[block, np.zeros((len(block), 1))], [speed * log_loss_fall[None], np.full((1, 1), -speed)]]
    )


def crossing(function: Callable, direction: int) -> Callable:
    """Turn a function of the state into an event that ends the integration at its sign change."""

    def event(s: float, state: np.ndarray) -> float:
        return function(s, state)

    event.terminal, event.direction = True, direction
    return event


def checked(
    network: TwoLayer, inputs: np.ndarray, labels: np.ndarray, times: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    inputs, labels, times = (np.asarray(value, dtype=float) for value in (inputs, labels, times))
    if network.w.ndim != 2:
        raise ValueError(f"network has weights of shape {network.w.shape}, allowed: one network, (m, d)")
    if inputs.ndim != 2 or inputs.shape[1] != network.w.shape[1]:
        raise ValueError(f"inputs has shape {inputs.shape}, allowed: (n, {network.w.shape[1]})")
    if labels.shape != inputs.shape[:1] or not np.isin(labels, (-1, 1)).all():
        raise ValueError("labels must hold +1 or -1, one an input")
    if times.ndim != 1 or len(times) < 2 or not (np.diff(times) > 0).all():
        raise ValueError("times must be two or more increasing numbers")
    return inputs, labels, times
