"""Bad arguments of networks, losses and descent."""

import numpy as np
from hypothesis import strategies as st

from lib.descent import gradient_descent
from lib.losses import LOGISTIC, Loss
from lib.networks import TwoLayer, balanced_network, two_sided_network
from tests.bad_input.cases import (
    NEGATIVE,
    NOT_FINITE,
    NOT_GENERATORS,
    NOT_NUMBERS,
    NOT_POSITIVE,
    NOT_SIGNS,
    NOT_WHOLE,
    Case,
    holding,
    misshapen,
    outside,
)

RNG = np.random.default_rng(0)
W, A = np.arange(6.0).reshape(2, 3), np.array([1.0, -2.0])
INPUTS, LABELS = np.eye(4, 3), np.array([1.0, -1.0, 1.0, -1.0])
NOT_SIZES = NOT_WHOLE | st.just(0)
NOT_CALLED = NOT_NUMBERS | st.just(1.0)
UNIT = outside(0, 1) | NOT_NUMBERS
DESCENT = {"network": TwoLayer(W, A), "inputs": INPUTS, "labels": LABELS, "loss": LOGISTIC, "step": 0.1}

CASES = [
    Case(
        TwoLayer,
        {"w": W, "a": A, "slope": 0.5},
        {
            "w": NOT_NUMBERS | holding(W, NOT_FINITE) | st.sampled_from([W[0], W[:1], np.empty((2, 0))]),
            "a": NOT_NUMBERS | holding(A, NOT_FINITE) | misshapen(A),
            "slope": UNIT | misshapen(0.5),
        },
    ),
    Case(
        balanced_network,
        {"m": 2, "d": 3, "scale": 1.0, "rng": RNG, "signs": [1, -1], "slope": 0.0},
        {
            "m": NOT_SIZES,
            "d": NOT_SIZES,
            "scale": NEGATIVE | NOT_FINITE | NOT_NUMBERS,
            "rng": NOT_GENERATORS,
            "signs": holding([1, -1], NOT_SIGNS) | misshapen([1, -1]),
            "slope": UNIT,
        },
    ),
    Case(
        two_sided_network,
        {"k": 2, "d": 3, "scale": 1.0, "rng": RNG, "v": 1.0, "slope": 0.0},
        {
            "k": NOT_SIZES,
            "d": NOT_SIZES,
            "scale": NEGATIVE | NOT_FINITE | NOT_NUMBERS,
            "rng": NOT_GENERATORS,
            "v": NOT_POSITIVE | NOT_FINITE | NOT_NUMBERS,
            "slope": UNIT,
        },
    ),
    Case(
        Loss,
        {"name": "linear", "value": lambda f, y: -y * f, "slope": lambda f, y: -y},
        {"name": st.sampled_from(["", " ", None, 1.0]), "value": NOT_CALLED, "slope": NOT_CALLED},
    ),
    Case(
        gradient_descent,
        {**DESCENT, "steps": 2, "reduction": "sum", "samples": [0, 3], "record_at": [1]},
        {
            "network": NOT_NUMBERS,
            "loss": NOT_NUMBERS | st.just("logistic"),
            "inputs": NOT_NUMBERS | holding(INPUTS, NOT_FINITE) | st.sampled_from([INPUTS[0], INPUTS[:, :2]]),
            "labels": NOT_NUMBERS | holding(LABELS, NOT_SIGNS) | misshapen(LABELS),
            "step": NOT_POSITIVE | NOT_FINITE | NOT_NUMBERS,
            "steps": NOT_WHOLE,
            "reduction": st.text().filter(lambda word: word not in ("mean", "sum")) | NOT_NUMBERS,
            "samples": holding([0, 3], outside(0, 3) | st.just(0.5)) | misshapen([0, 3]),
            "record_at": holding([0, 2], outside(0, 2) | st.just(0.5))
            | NOT_NUMBERS.filter(lambda value: value is not None),
        },
    ),
]
