"""The end of a neural agreement regime, in which a network is decided by its two mean neurons."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq

from lib.flow.gradient import gradient_flow
from lib.models.two_layer import TwoLayer
from lib.training.losses import LOGISTIC

_LOOKS = 4  # in a step of the integrator
_BEFORE = -30.0  # logarithm of a time at which nothing has moved yet, relative to the first step


def agreement_end(
    network: TwoLayer, inputs: ArrayLike, labels: ArrayLike, *, log_until: float, rtol: float = 1e-9
) -> tuple[float, TwoLayer]:
    """Return when the flow of the first layer leaves a neural agreement regime, and the network there.

    In the regime all neurons of one output sign classify every input alike and move with one velocity: their
    offsets from their mean stay, and the two means, times the roots of their numbers of neurons, follow the
    flow of a network of two neurons.  It is followed on the mean logistic loss up to the time of natural
    logarithm ``log_until``, and left where the first neuron reaches a kink.  ``network`` has weights (m, d)
    and output weights +v and -v, both present; ``inputs`` are (n, d), ``labels`` (n,) +1 and -1.  The time is
    ``log(1 + t)``, infinite if the regime lasts, with the network at ``log_until`` then.  Raises
    ``ValueError`` for a network outside every agreement regime.  [sarussi2021, Definition 6.2 and App. F]
    """
    x = np.asarray(inputs, dtype=float)
    own = np.where(network.a > 0, 0, 1)
    means = np.array([network.w[own == side].mean(axis=0) for side in (0, 1)])
    roots = np.sqrt(np.bincount(own))
    offsets, sides = network.w - means[own], np.sign(means @ x.T)[own]
    if (wrong := np.argwhere(sides * network.preactivations(x).T <= 0)).size:
        neuron, datum = wrong[0]
        raise ValueError(
            f"network is in no agreement regime: neuron {neuron} classifies input {datum} otherwise than the "
            "mean of its type does"
        )
    pair = TwoLayer(roots[:, None] * means, roots * np.abs(network.a).max() * [1, -1], network.slope)
    run = gradient_flow(pair, x, labels, LOGISTIC, log_until=log_until, train="first", rtol=rtol)

    def neurons(log_time: float) -> np.ndarray:
        pair = run.at(log_times=log_time)
        return offsets + (np.exp(pair.log_norms[0] - np.log(roots))[:, None] * pair.directions[0])[own]

    # A neuron that slides along its kink has left too, on whichever side of it rounding puts it.
    hair = 1e-9 * np.abs(network.w).max() * np.abs(x).max()

    def room(log_time: float) -> float:
        return float((sides * (neurons(log_time) @ x.T)).min()) - hair

    before = run.log_times[1] + _BEFORE
    for step in run.log_times[1:]:
        for look in np.linspace(before, step, _LOOKS + 1)[1:]:
            if room(look) < 0:
                end = brentq(room, before, look, xtol=1e-12) if room(before) > 0 else before
                return float(np.logaddexp(0, end)), network.with_weights(neurons(end), network.a)
            before = look
    return np.inf, network.with_weights(neurons(run.log_times[-1]), network.a)
