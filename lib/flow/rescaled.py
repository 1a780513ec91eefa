"""Gradient flow of the first layer in loss-rescaled time: it reaches times like ``exp(1e8)``.

`lib.flow.loss_time` holds the equation and the integration.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit

from lib.checks import number
from lib.flow.crossings import Crossing
from lib.flow.loss_time import (
    REACHED,
    CleanBDF,
    LossTimeFlow,
    LossTimePath,
    checked_data,
    loss_weights,
    steepness,
)
from lib.geometry.patterns import agreement
from lib.models.two_layer import TwoLayer

__all__ = ["AGREED", "REACHED", "RescaledFlow", "rescaled_flow"]

AGREED = "the neurons of either output sign agree on all inputs"


@dataclass(frozen=True)
class RescaledFlow:
    """A computed flow at rescaled times ``s`` (T,), with weights ``w`` (T, m, d) and ``log_loss = log L``.

    ``log_time`` is ``log(1 + t)``, t counted from the start.
    ``a`` and ``slope`` complete the networks; ``stopped`` says why the flow ends where it does; ``calls``
    counts evaluations of the velocity.

    Example:

    >>> network = TwoLayer([[1.0, 0.2], [-1.0, 0.1]], [1.0, -1.0], slope=0.1)
    >>> flow = rescaled_flow(network, [[1.0, 0.0], [-1.0, 0.5]], [1, -1], times=[0, 50], width=1e-6)
    >>> flow.stopped, flow.w.shape, flow.network()([[1.0, 0.0], [-1.0, 0.5]]).round(3)
    ('reached the last time asked for', (2, 2, 2), array([ 33.825, -34.097]))
    """

    s: np.ndarray
    log_time: np.ndarray
    log_loss: np.ndarray
    w: np.ndarray
    a: np.ndarray
    slope: float
    stopped: str
    calls: int

    @classmethod
    def along(
        cls, path: LossTimePath, w: np.ndarray, network: TwoLayer, inputs: np.ndarray, labels: np.ndarray
    ) -> RescaledFlow:
        """Return the flow of a network whose weights along a path are ``w`` (T, m, d)."""
        margins = labels * TwoLayer(w, np.broadcast_to(network.a, w.shape[:-1]), network.slope)(inputs)
        return cls(
            s=path.s,
            log_time=path.log_time,
            log_loss=np.array([loss_weights(each)[1] for each in margins]),
            w=w,
            a=network.a,
            slope=network.slope,
            stopped=path.stopped,
            calls=path.calls,
        )

    def network(self, index: int = -1) -> TwoLayer:
        """Return the network at one recorded time, by default the last."""
        return TwoLayer(self.w[index], self.a, self.slope)

    def mean_neurons(self) -> np.ndarray:
        """Return the mean positive-output neuron followed by the mean negative-output neuron, (T, 2d).

        Raises ``ValueError`` for a network without outputs of both signs.
        """
        positive, negative = self.a > 0, self.a < 0
        if not (positive.any() and negative.any()):
            raise ValueError(f"a is {self.a}, allowed: output weights of both signs")
        return np.hstack([self.w[:, positive].mean(axis=1), self.w[:, negative].mean(axis=1)])


def rescaled_flow(
    network: TwoLayer,
    inputs: ArrayLike,
    labels: ArrayLike,
    *,
    times: ArrayLike,
    width: float,
    until_agreement: bool = False,
    rtol: float = 1e-7,
    atol: float = 1e-10,
) -> RescaledFlow:
    """Integrate the flow of ``network.w``, with ``network.a`` fixed, on the mean logistic loss.

    ``network`` is one network of m neurons, ``inputs`` (n, d), ``labels`` (n,) are +1 and -1; ``times`` (T,)
    are the increasing rescaled times to record, two or more, of which the first is the start.  The activation
    is smoothed to ``slope z + (1 - slope) width log(1 + exp(z / width))``: at a kink that attracts, the exact
    flow slides, and a positive ``width`` lets a stiff method follow it.  The smoothing moves a response by at
    most ``(1 - slope) * width * log 2``; choose ``width`` well below the differences between neurons that
    matter.  With ``until_agreement`` the flow stops, and records its end, where all neurons of one output
    sign first call every input alike.  ``rtol``, at least 1e-13, and ``atol`` are the integrator's.  Raises
    ``ValueError`` naming a bad argument.  [sarussi2021, Sec. 3]

    Example: two neurons that disagree at first.

    >>> network = TwoLayer([[0.1, 0.0], [0.0, -0.1], [-0.1, 0.0]], [1.0, 1.0, -1.0], slope=0.2)
    >>> data = [[2.0, 0.5], [-1.0, -0.5]], [1, -1]
    >>> flow = rescaled_flow(network, *data, times=[0, 20], width=1e-5, until_agreement=True)
    >>> flow.stopped
    'the neurons of either output sign agree on all inputs'
    >>> agreement(flow.network().w[:2], data[0])[1] > 0
    True
    """
    inputs, labels, times = checked_data(network, inputs, labels, times)
    width, rtol, atol = (
        number("width", width, 0),
        number("rtol", rtol, 1e-13, 1, "[)"),
        number("atol", atol, 0),
    )
    shape, a, slope = network.w.shape, network.a, network.slope
    signed_inputs = labels[:, None] * inputs

    def margins(theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        z = inputs @ theta.reshape(shape).T
        responses = slope * z + (1 - slope) * width * np.logaddexp(0, z / width)
        gates = (slope + (1 - slope) * expit(z / width)) * a
        return labels * (responses @ a), (gates[:, :, None] * signed_inputs[:, None]).reshape(len(z), -1)

    def bending(theta: np.ndarray, weights: np.ndarray) -> np.ndarray:
        on = expit(inputs @ theta.reshape(shape).T / width)
        curving = (1 - slope) / width * a * on * (1 - on) * (weights * labels)[:, None]
        blocks = np.einsum("nm,nc,nd->mcd", curving, inputs, inputs)
        return np.einsum("mcd,mk->mckd", blocks, np.eye(shape[0])).reshape(theta.size, theta.size)

    def disagreement(state: np.ndarray) -> float:
        # A hair inside the regime, so that the recorded end lies in it whatever the rounding.
        w = state[:-1].reshape(shape)
        hair = 1e-9 * np.abs(w).max() * np.abs(inputs).max()
        return min(agreement(w[side], inputs)[1] for side in (a > 0, a < 0) if side.any()) - hair

    if until_agreement and disagreement(np.append(network.w, 0.0)) > 0:
        raise ValueError("until_agreement: the neurons agree at the start already")
    event = Crossing(disagreement, +1) if until_agreement else None
    path = LossTimeFlow(margins, steepness(network, inputs), bending).solve(
        network.w.ravel(), times, CleanBDF, event, AGREED, rtol=rtol, atol=atol
    )
    return RescaledFlow.along(path, path.theta.reshape(-1, *shape), network, inputs, labels)
