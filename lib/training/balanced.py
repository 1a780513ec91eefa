"""Two balanced neurons, one for each class, trained on one example a step [combes2018, Section 3.2]."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from scipy.special import expit

from lib.models.two_layer import TwoLayer
from lib.training.descent import gradient_descent
from lib.training.losses import LOGISTIC


def balanced_runs(
    samples: np.ndarray, norms: tuple[float, float], u0: float, step: float, record_at: Iterable[int]
) -> np.ndarray:
    """Return the probabilities of the true class in runs of one example a step, (len(record_at), seeds, 2).

    Classes +1 and -1 are one input each, of these norms, at an obtuse angle; each has its balanced neuron,
    of initial logit ``u0``.  ``samples`` (steps, seeds) says which of the two is drawn, 0 or 1.
    """
    labels, directions = np.array([1.0, -1.0]), np.array([[1.0, 0.0], [-0.375, np.sqrt(1 - 0.375**2)]])
    inputs, sizes = directions * np.array(norms)[:, None], np.sqrt(u0 / np.array(norms))
    start = TwoLayer(directions * sizes[:, None], labels * sizes)
    steps, seeds = samples.shape
    run = gradient_descent(
        TwoLayer(np.tile(start.w, (seeds, 1, 1)), np.tile(start.a, (seeds, 1))),
        inputs,
        labels,
        LOGISTIC,
        step=step,
        steps=steps,
        samples=samples,
        record=lambda network: expit(labels * network(inputs)),
        record_at=record_at,
    )
    return np.array(run.recorded)
