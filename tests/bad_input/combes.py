"""Bad arguments of the closed forms of learning curves."""

import numpy as np
from hypothesis import strategies as st

from lib.theory import learning_curves, log_integral
from tests.bad_input.cases import (
    NOT_FINITE,
    NOT_NUMBERS,
    NOT_POSITIVE,
    Case,
    misshapen,
    outside,
)

HUGE = np.finfo(float).max
NOT_REAL = NOT_FINITE | NOT_NUMBERS
NO_TIME = NOT_REAL | outside(0, HUGE)
NO_SIZE = NOT_POSITIVE | NOT_NUMBERS
NO_PAIR = NO_SIZE | st.sampled_from([(1.0,), (1.0, 0.0), (1.0, 1.0, 1.0)])
NO_FREQUENCY = NO_SIZE | outside(0, 1)
BALANCED = {"times": np.linspace(0, 2, 3), "u0": 0.1, "norm": 1.5}
TWO = {"confidence": [0.9, 0.99], "u01": 0.1, "u02": 0.2, "norms": (1, 2), "frequencies": (0.5, 0.5)}

CASES = [
    Case(log_integral.log_integral, {"u": 1.0}, {"u": NOT_REAL | st.just(0.0)}),
    Case(log_integral.log_of_log_integral, {"u": 1.0}, {"u": NOT_REAL | outside(1, HUGE)}),
    Case(log_integral.inverse_log_integral, {"value": 1.0}, {"value": NOT_REAL}),
    Case(
        log_integral.inverse_from_logarithm,
        {"logarithm": 2.0},
        {"logarithm": NOT_REAL | outside(float(np.log(4)), HUGE)},
    ),
    Case(
        log_integral.inverse_log_integral_negative, {"value": 1.0}, {"value": NOT_REAL | outside(-HUGE, 700)}
    ),
    Case(
        learning_curves.logit,
        BALANCED,
        {"times": NO_TIME, "u0": NOT_REAL | st.just(0.0) | st.just(np.ones(4)), "norm": NO_SIZE},
    ),
    Case(
        learning_curves.probability,
        BALANCED | {"frequency": 0.3},
        {"times": NO_TIME, "u0": NOT_REAL, "norm": NO_SIZE, "frequency": NO_FREQUENCY},
    ),
    Case(
        learning_curves.growth_law,
        {"times": [10.0, 20.0], "norm": 1.0},
        {"times": NOT_REAL | outside(0.5, HUGE), "norm": NO_SIZE},
    ),
    Case(learning_curves.loose_bound, BALANCED, {"times": NO_TIME, "u0": NO_SIZE, "norm": NO_SIZE}),
    Case(learning_curves.sharp_bound, BALANCED, {"times": NO_TIME, "u0": NO_SIZE, "norm": NO_SIZE}),
    Case(
        learning_curves.curvature, {"u": [0.0, 1.0], "b": 0.3}, {"u": NOT_REAL, "b": NO_TIME | st.just(0.0)}
    ),
    Case(learning_curves.curve_inflections, {"b": 0.3}, {"b": NO_TIME | st.just(1e-200) | misshapen(0.3)}),
    Case(
        learning_curves.time_ratio,
        TWO,
        {
            "confidence": NOT_REAL | outside(0.5, 1) | st.just(0.54),
            "u01": NO_SIZE | st.just(5.0),
            "u02": NO_SIZE | st.just(5.0),
            "norms": NO_PAIR,
            "frequencies": NO_PAIR | st.just((0.5, 1.5)),
        },
    ),
]
