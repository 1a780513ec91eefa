"""Gradient flow inside a neural agreement regime, where a network reduces to its two mean neurons."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from lib.checks import number
from lib.flow.crossings import Crossing
from lib.flow.loss_time import LossTimeFlow, checked_data, steepness
from lib.flow.rescaled import RescaledFlow
from lib.geometry.patterns import agreement
from lib.models.two_layer import TwoLayer

LEFT = "a neuron reached a kink: the agreement regime ends"


def agreement_flow(
    network: TwoLayer,
    inputs: ArrayLike,
    labels: ArrayLike,
    *,
    times: ArrayLike,
    rtol: float = 1e-7,
    atol: float = 1e-9,
) -> RescaledFlow:
    """Integrate the flow from a network in a neural agreement regime, as a flow of its two mean neurons.

    In the regime all neurons of one output sign move with one velocity, so their offsets from their mean stay
    constant and only 2d numbers are integrated, without any smoothing.  ``network.a`` must hold +v and -v.
    The flow stops where a neuron reaches a kink, since the regime ends there.  Other arguments as in
    :func:`lib.flow.rescaled.rescaled_flow`.  Raises ``ValueError`` for a network outside every agreement
    regime, naming the neuron type and the input, and for other bad arguments.
    [sarussi2021, Definition 6.2 and App. F]

    Example: until ``log(1 + t)`` is a million, along the direction of largest margin.

    >>> network = TwoLayer([[0.9, 0.2], [-0.9, 0.1]], [1.0, -1.0], slope=0.5)
    >>> flow = agreement_flow(network, [[1.0, 0.3], [1.0, -0.3]], [1, 1], times=[0, 8e5])
    >>> flow.log_time[-1].round(-4), (flow.w[-1, 0] / np.linalg.norm(flow.w[-1, 0])).round(5)
    (np.float64(1000000.0), array([1., 0.]))
    """
    inputs, labels, times = checked_data(network, inputs, labels, times)
    rtol, atol = number("rtol", rtol, 1e-13, 1, "[)"), number("atol", atol, 0)
    sides = network.a > 0, network.a < 0
    v, d = np.abs(network.a).max(), inputs.shape[1]
    if not (np.abs(network.a) == v).all() or not all(side.any() for side in sides):
        raise ValueError(f"network.a is {network.a}, allowed: +v and -v, both present")
    signs = [
        _require_agreement(network.w[side], inputs, name) for side, name in zip(sides, "wu", strict=True)
    ]
    # In means times the roots of their numbers of neurons the flow is a gradient flow.
    roots = np.sqrt([side.sum() for side in sides])
    gradients = np.hstack(
        [
            (root * v * y * np.where(sign > 0, 1.0, network.slope))[:, None] * inputs
            for root, y, sign in zip(roots, (labels, -labels), signs, strict=True)
        ]
    )
    means = np.array([network.w[side].mean(axis=0) for side in sides])
    own = np.where(sides[0], 0, 1)
    offsets = network.w - means[own]
    nearest = [
        (sign * (offsets[side] @ inputs.T)).min(axis=0) for side, sign in zip(sides, signs, strict=True)
    ]

    def room(state: np.ndarray) -> float:
        heights = (state[:-1].reshape(2, d) / roots[:, None]) @ inputs.T
        return float(
            min(
                (sign * height + near).min()
                for sign, height, near in zip(signs, heights, nearest, strict=True)
            )
        )

    path = LossTimeFlow(lambda theta: (gradients @ theta, gradients), steepness(network, inputs)).solve(
        (roots[:, None] * means).ravel(), times, "Radau", Crossing(room, -1), LEFT, rtol=rtol, atol=atol
    )
    w = offsets + (path.theta.reshape(-1, 2, d) / roots[:, None])[:, own]
    return RescaledFlow.along(path, w, network, inputs, labels)


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
