"""Gradient flow inside a neural agreement regime, where a network reduces to its two mean neurons."""

from __future__ import annotations

import numpy as np

from lib.flow.rescaled import (
    RescaledFlow,
    checked,
    crossing,
    integrate,
    loss_weights,
    weight_slopes,
    with_clock,
)
from lib.geometry import agreement
from lib.networks import TwoLayer

LEFT = "a neuron reached a kink: the agreement regime ends"


def agreement_flow(
    network: TwoLayer,
    inputs: np.ndarray,
    labels: np.ndarray,
    *,
    times: np.ndarray,
    rtol: float = 1e-7,
    atol: float = 1e-9,
) -> RescaledFlow:
    """Integrate the flow from a network in a neural agreement regime, as a flow of its two mean neurons.

    In the regime all neurons of one output sign move with one velocity, so their offsets from their mean stay
    constant and only 2d numbers are integrated, without any smoothing.  ``network.a`` must hold +v and -v.
    The flow stops where a neuron reaches a kink, since the regime ends there.  Raises ``ValueError`` for a
    network outside every agreement regime, naming the neuron type and the input.
    Source: [sarussi2021, Definition 6.2 and App. F].
    """
    inputs, labels, times = checked(network, inputs, labels, times)
    sides = network.a > 0, network.a < 0
    v = np.abs(network.a).max()
    if not (np.abs(network.a) == v).all() or not all(side.any() for side in sides):
        raise ValueError("a must hold +v and -v, both present")
    signs = [
        _require_agreement(network.w[side], inputs, name) for side, name in zip(sides, "wu", strict=True)
    ]
    d = inputs.shape[1]
    # Velocities of the two means, and the gradients of the margins in them, which count every neuron.
    rows = v * np.hstack(
        [
            (y * np.where(sign > 0, 1.0, network.slope))[:, None] * inputs
            for y, sign in zip((labels, -labels), signs, strict=True)
        ]
    )
    by_mean = rows * np.repeat([side.sum() for side in sides], d)
    means = np.concatenate([network.w[side].mean(axis=0) for side in sides])
    offsets = network.w - np.where(sides[0][:, None], means[:d], means[d:])
    nearest = [
        (sign * (offsets[side] @ inputs.T)).min(axis=0) for side, sign in zip(sides, signs, strict=True)
    ]

    def velocity(s: float, state: np.ndarray) -> np.ndarray:
        weights, log_loss = loss_weights(by_mean @ state[:-1])
        return np.append(weights @ rows, np.exp(-log_loss - state[-1]))

    def jacobian(s: float, state: np.ndarray) -> np.ndarray:
        margins = by_mean @ state[:-1]
        weights, log_loss = loss_weights(margins)
        in_means = rows.T @ weight_slopes(weights, margins) @ by_mean
        return with_clock(in_means, weights @ by_mean, np.exp(-log_loss - state[-1]))

    def room(s: float, state: np.ndarray) -> float:
        halves = state[:-1].reshape(2, d) @ inputs.T
        return float(
            min((sign * half + near).min() for sign, half, near in zip(signs, halves, nearest, strict=True))
        )

    return integrate(
        network,
        inputs,
        labels,
        times,
        velocity,
        np.append(means, 0.0),
        jacobian=jacobian,
        method="Radau",
        event=crossing(room, -1),
        event_means=LEFT,
        weights=lambda states: (
            offsets + np.where(sides[0][:, None], states[:, None, :d], states[:, None, d:])
        ),
        rtol=rtol,
        atol=atol,
    )


def _require_agreement(neurons: np.ndarray, inputs: np.ndarray, name: str) -> np.ndarray:
    signs, margin = agreement(neurons, inputs)
    if margin <= 0:
        responses = signs * (neurons @ inputs.T)
        neuron, example = np.unravel_index(np.argmin(responses), responses.shape)
        raise ValueError(
            f"the network is in no agreement regime: {name} neuron {neuron} calls input {example} otherwise "
            f"than other {name} neurons do"
        )
    return signs
