"""Bad arguments of the closed forms of learning curves."""

import numpy as np
from hypothesis import strategies as st

from lib.theory import hyperbolic_clock, hyperbolic_neuron, learning_curves, log_integral, roots
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
NEURON = {"h": np.ones(2), "a": [-0.5, 0.5], "norm": 1.5}
START = {"h0": np.ones(2), "a0": [-0.5, 0.5], "norm": 1.5}
NO_NEURON = {"h": NOT_REAL | st.just(np.ones(3)), "a": NOT_REAL, "norm": NO_SIZE}
NO_START = {"h0": NOT_REAL | st.just(np.ones(3)), "a0": NOT_REAL, "norm": NO_SIZE}
ARRAYS = np.array([0.5, 2.0])

CASES = [
    Case(
        roots.increasing_root,
        {"function": lambda x: (x - 1, np.ones_like(x)), "low": np.zeros(2), "high": np.full(2, 3.0)},
        {
            "low": NOT_REAL | misshapen(ARRAYS) | st.just(np.full(2, 4.0)),
            "high": NOT_REAL | misshapen(ARRAYS),
        },
    ),
    Case(
        hyperbolic_clock.clock,
        {"u0": 0.5, "u1": np.ones(2), "b": 0.3},
        {"u0": NOT_REAL | st.just(np.zeros(3)), "u1": NOT_REAL | outside(0.5, 700), "b": NO_TIME},
    ),
    Case(hyperbolic_neuron.rising_and_falling, NEURON, NO_NEURON),
    Case(hyperbolic_neuron.invariant, NEURON, NO_NEURON),
    Case(hyperbolic_neuron.fate, NEURON, NO_NEURON),
    Case(
        hyperbolic_neuron.equivalent_neuron,
        NEURON,
        {
            "h": NOT_REAL | misshapen(ARRAYS) | st.just(-ARRAYS),
            "a": NOT_REAL | misshapen(ARRAYS),
            "norm": NO_SIZE,
        },
    ),
    Case(
        hyperbolic_neuron.time_to_logit,
        START | {"u1": 2.0},
        NO_START | {"h0": NOT_REAL | NOT_POSITIVE, "u1": NOT_REAL | outside(0.5, 700)},
    ),
    Case(
        hyperbolic_neuron.escape_time,
        {"h0": 1.0, "a0": -0.5, "norm": 1.5},
        NO_START | {"h0": NOT_REAL | outside(0.75, 1e100), "a0": NOT_REAL | outside(-0.66, 0)},
    ),
    Case(
        hyperbolic_neuron.death_time,
        {"h0": 1.0, "a0": -2.0, "norm": 1.5},
        NO_START | {"h0": NOT_REAL | outside(0.0, 3.0), "a0": NOT_REAL | outside(-1e100, -0.67)},
    ),
    Case(
        hyperbolic_neuron.logit,
        START | {"times": 1.0},
        NO_START | {"times": NO_TIME | st.just(1e308), "h0": NOT_REAL | st.just(3000.0)},
    ),
    Case(hyperbolic_neuron.weights, START | {"times": 1.0}, NO_START | {"times": NO_TIME | st.just(1e308)}),
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
EXEMPT = {
    "lib.theory.hyperbolic_clock.angle": "a step of clock, which checks its arguments",
    "lib.theory.hyperbolic_clock.excess": "a step of clock, which checks its arguments",
}
