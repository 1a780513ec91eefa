"""Bad arguments of the closed forms of learning curves."""

import numpy as np
from hypothesis import strategies as st

from lib.theory import (
    confidence_times,
    depth,
    depth_break_even,
    hinge,
    hinge_batch,
    hyperbolic_clock,
    hyperbolic_neuron,
    learning_curves,
    log_integral,
    neuron_capture,
    phase_diagram,
    rare_feature,
    rare_feature_hinge,
    rare_feature_laws,
    roots,
    shared_neuron,
)
from tests.bad_input.cases import (
    NOT_FINITE,
    NOT_NUMBERS,
    NOT_POSITIVE,
    NOT_SIGNS,
    Case,
    holding,
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
HINGE = {"h0": np.ones(2), "a0": [-0.5, 0.5], "norm": 1.5, "frequency": 0.3, "label": 1}
NO_HINGE = {
    "h0": NOT_REAL | st.just(np.ones(3)),
    "a0": NOT_REAL,
    "norm": NO_SIZE,
    "frequency": NO_FREQUENCY,
    "label": NOT_SIGNS | NOT_NUMBERS,
}
NO_LOGIT = NO_SIZE | outside(1e-300, 700)
NO_DEPTH = NOT_NUMBERS | outside(2, HUGE).filter(lambda depth: depth != np.inf)
DEPTHS = {"depth": np.full(2, 3.0), "against": 2.5, "norm": 1.5}
TWO_CLASSES = {"norms": (1.0, 2.0), "rates": (0.3, 0.7)}
NO_CLASSES = {"norms": NO_PAIR, "rates": NO_PAIR}
RESPONSES = {"h1": np.full(2, 0.1), "h2": np.full(2, 0.2), "a": 0.3}
NO_SHARE = NO_FREQUENCY | st.just(1.0)

CASES = [
    Case(
        roots.increasing_root,
        {
            "function": lambda x: (x - 1, np.ones_like(x)),
            "low": np.zeros(2),
            "high": np.full(2, 3.0),
            "unit": 0.0,
        },
        {
            "low": NOT_REAL | misshapen(ARRAYS) | st.just(np.full(2, 4.0)),
            "high": NOT_REAL | misshapen(ARRAYS),
            "unit": NO_TIME | misshapen(0.5),
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
    Case(hinge.weights, HINGE | {"times": 1.0}, NO_HINGE | {"times": NO_TIME}),
    Case(hinge.margin, HINGE | {"times": 1.0}, NO_HINGE | {"times": NO_TIME}),
    Case(hinge.time_to_margin, HINGE | {"target": 0.5}, NO_HINGE | {"target": NOT_REAL | outside(-HUGE, 1)}),
    Case(
        confidence_times.time_to_confidence,
        HINGE | {"confidence": 0.75, "convention": "affine"},
        NO_HINGE
        | {"confidence": NOT_REAL | outside(0.5, 1), "convention": st.sampled_from(["Output", "", 1])},
    ),
    Case(
        confidence_times.cross_entropy_time,
        {"confidence": np.full(2, 0.9), "u0": 0.1, "norm": 1.5, "frequency": 0.3},
        {
            "confidence": NOT_REAL | outside(0.5, 1) | st.just(1.0),
            "u0": NO_SIZE | outside(0, 700) | st.just(np.ones(3)),
            "norm": NO_SIZE,
            "frequency": NO_FREQUENCY,
        },
    ),
    Case(
        confidence_times.crossover_confidence,
        {"u0": 0.1},
        {"u0": NO_SIZE | outside(0, confidence_times.LARGEST_CROSSOVER_START)},
    ),
    Case(depth.clock, {"u": np.ones(2), "depth": 3.0}, {"u": NO_LOGIT, "depth": NO_DEPTH}),
    Case(
        depth.inverse_clock,
        {"value": np.ones(2), "depth": 3.0},
        {"value": NOT_REAL | st.just(1e308), "depth": NO_DEPTH},
    ),
    Case(
        depth.clock_rate,
        {"depth": 3.0, "norm": 1.5},
        {"depth": NO_DEPTH | st.just(np.inf), "norm": NO_SIZE},
    ),
    Case(
        depth.time_to_logit,
        {"u1": 2.0, "u0": np.full(2, 0.5), "depth": 3.0, "norm": 1.5},
        {
            "u1": NO_LOGIT | outside(0.5, 700),
            "u0": NO_LOGIT | outside(0, 2) | st.just(np.full(3, 0.5)),
            "depth": NO_DEPTH | st.just(np.inf),
            "norm": NO_SIZE,
        },
    ),
    Case(
        depth.deep_logit,
        {"times": np.full(2, 2.0), "u0": 0.5, "depth": 3.0, "norm": 1.5},
        {
            "times": NO_TIME | st.just(1e306),
            "u0": NO_LOGIT | st.just(np.full(3, 0.5)),
            "depth": NO_DEPTH | st.just(np.inf),
            "norm": NO_SIZE,
        },
    ),
    Case(
        depth.growth_law,
        {"times": np.full(2, 9.0), "depth": 3.0, "norm": 1.5},
        {
            "times": NOT_REAL | outside(0.3, HUGE) | st.just(0.2),
            "depth": NO_DEPTH | st.just(np.inf),
            "norm": NO_SIZE | st.just(np.ones(3)),
        },
    ),
    Case(depth.fastest_logit, {"depth": 3.0}, {"depth": NO_DEPTH}),
    Case(depth.inflection_logit, {"depth": 3.0}, {"depth": NO_DEPTH}),
    Case(
        depth_break_even.pointwise_break_even,
        DEPTHS,
        {
            "depth": NO_DEPTH | st.just(np.inf) | outside(2.5, HUGE),
            "against": NO_DEPTH | outside(2, 3),
            "norm": NO_SIZE,
        },
    ),
    Case(
        depth_break_even.confidence_break_even,
        DEPTHS | {"confidence": 0.9},
        {
            "confidence": NOT_REAL | outside(0.7, 1) | st.just(1.0),
            "depth": NO_DEPTH | st.just(np.inf) | outside(2.5, HUGE),
            "against": NO_DEPTH | outside(2, 3),
            "norm": NO_SIZE,
        },
    ),
    Case(
        shared_neuron.invariant,
        {"h1": np.ones(2), "h2": np.ones(2), "a": 0.5, "norms": (1.0, 2.0)},
        {
            "h1": NOT_REAL | st.just(np.ones(3)),
            "h2": NOT_REAL,
            "a": NOT_REAL | st.just(np.ones(3)),
            "norms": NO_PAIR,
        },
    ),
    Case(shared_neuron.saddle, TWO_CLASSES | {"c": 1.0}, NO_CLASSES | {"c": NO_SIZE | misshapen(1.0)}),
    Case(
        shared_neuron.separating_curve,
        TWO_CLASSES | {"c": 1.0, "a": [0.1, 0.2]},
        NO_CLASSES | {"c": NO_SIZE | misshapen(1.0), "a": NOT_REAL},
    ),
    Case(shared_neuron.curve_end, TWO_CLASSES | {"c": 1.0}, NO_CLASSES | {"c": NO_SIZE | misshapen(1.0)}),
    Case(
        neuron_capture.plane_side,
        TWO_CLASSES | RESPONSES,
        NO_CLASSES | {"h1": NO_SIZE | st.just(np.ones(3)), "h2": NO_SIZE, "a": NOT_REAL},
    ),
    Case(
        neuron_capture.capture,
        TWO_CLASSES | {"h1": 0.1, "h2": 0.2, "a": 0.3, "until": 2.0},
        NO_CLASSES
        | {"h1": NO_SIZE | misshapen(1.0), "h2": NO_SIZE | misshapen(1.0), "a": NOT_REAL | misshapen(1.0)}
        | {"until": NO_SIZE | misshapen(1.0)},
    ),
    Case(
        neuron_capture.captors,
        TWO_CLASSES | RESPONSES | {"until": 2.0},
        NO_CLASSES
        | {
            "h1": NO_SIZE | st.just(np.ones(3)),
            "h2": NO_SIZE,
            "a": NOT_REAL,
            "until": NO_SIZE | misshapen(1.0),
        },
    ),
    Case(
        rare_feature.starvation_curve,
        {"frequent_logit": np.full(2, 3.0), "frequency": 0.3, "ratio": 1.5, "start": (1.0, -0.5, 1.0)},
        {
            "frequent_logit": NOT_REAL | outside(1, HUGE),
            "frequency": NO_SHARE | misshapen(0.3),
            "ratio": NO_SIZE | misshapen(1.0),
            "start": st.sampled_from(
                [(1, -2, 1), (0, 1, 1), (1, 1, 0), (1, 1), (1, 1, np.nan), np.ones((3, 2)), "abc"]
            ),
        },
    ),
    Case(
        rare_feature.limit_response,
        {"frequency": np.full(2, 0.3), "ratio": 1.5},
        {"frequency": NO_SHARE, "ratio": NO_SIZE | st.just(np.ones(3))},
    ),
    Case(
        rare_feature_laws.rare_confidence_bound,
        {"frequent_logit": np.ones(2), "frequency": 0.3, "ratio": 1.5},
        {"frequent_logit": NO_TIME, "frequency": NO_FREQUENCY, "ratio": NO_SIZE | st.just(np.ones(3))},
    ),
    Case(
        rare_feature_laws.bound_from_start,
        {"frequent_logit": np.ones(2), "a": 1.0, "h1": 0.1, "h2": 0.1, "frequency": 0.3, "ratio": 1.5},
        {
            "frequent_logit": NO_TIME,
            "a": NO_TIME,
            "h1": NOT_REAL | st.just(np.ones(3)),
            "h2": NOT_REAL,
            "frequency": NO_FREQUENCY,
            "ratio": NO_SIZE,
        },
    ),
    Case(
        rare_feature_laws.linear_rare_logit,
        {"frequent_logit": np.ones(2), "frequency": 0.3, "ratio": 1.5},
        {"frequent_logit": NO_TIME, "frequency": NO_FREQUENCY, "ratio": NO_SIZE | st.just(np.ones(3))},
    ),
    Case(
        rare_feature_laws.invariant,
        {"h1": np.ones(2), "h2": np.ones(2), "a": 0.5, "ratio": 2.0},
        {"h1": NOT_REAL | st.just(np.ones(3)), "h2": NOT_REAL, "a": NOT_REAL, "ratio": NO_SIZE},
    ),
    Case(
        rare_feature_laws.late_rare_logit,
        {"frequent_logit": np.ones(2), "limit": np.full(2, 0.5), "ratio": 2.0},
        {"frequent_logit": NO_TIME | st.just(np.ones(3)), "limit": NO_TIME, "ratio": NO_SIZE},
    ),
    Case(phase_diagram.fate_probabilities, {"ratio": 1.5}, {"ratio": NO_SIZE}),
    Case(
        phase_diagram.failure_probability,
        {"width": np.arange(3), "ratio": 1.5},
        {"width": NO_TIME, "ratio": NO_SIZE | st.just(np.ones(2))},
    ),
    Case(
        phase_diagram.decay_time_bounds,
        {"u1": np.full(2, -0.5), "u0": -1.0, "norm": 1.5},
        {
            "u1": NOT_REAL | outside(-1, 0) | st.just(0.0),
            "u0": NOT_REAL | outside(-HUGE, -0.5) | st.just(-np.ones(3)),
            "norm": NO_SIZE,
        },
    ),
    Case(
        neuron_capture.capture_probability,
        TWO_CLASSES | {"ratio": 1.5},
        NO_CLASSES | {"ratio": NO_SIZE},
    ),
    Case(
        neuron_capture.capture_time_bound,
        TWO_CLASSES | RESPONSES,
        NO_CLASSES
        | {"h1": NO_SIZE | st.just(np.ones(3)), "h2": NO_SIZE}
        | {"a": NOT_REAL | outside(0.15, HUGE)},
    ),
    Case(
        neuron_capture.hinge_capture,
        TWO_CLASSES | RESPONSES,
        NO_CLASSES | {"h1": NO_SIZE | st.just(np.ones(3)), "h2": NO_SIZE, "a": NOT_REAL},
    ),
    Case(
        rare_feature_hinge.hinge_rare_margin,
        {"frequency": np.full(2, 0.3), "ratio": 1.5},
        {"frequency": NO_SHARE, "ratio": NO_SIZE | st.just(np.ones(3))},
    ),
    Case(
        rare_feature_hinge.hinge_training,
        {"h1": np.full(2, 0.1), "h2": np.full(2, 0.2), "a": 0.3, "frequency": 0.3, "ratio": 1.5},
        {
            "h1": NO_SIZE | st.just(np.full(3, 0.1)),
            "h2": NO_TIME,
            "a": NO_SIZE | outside(0, 4) | st.just(5.0),
            "frequency": NO_SHARE,
            "ratio": NO_SIZE,
        },
    ),
    Case(
        hinge_batch.batch_path,
        {"times": np.ones(2), "inputs": np.eye(3), "w0": np.ones(3), "a0": 0.5},
        {
            "times": NO_TIME | st.sampled_from([1.0, np.ones((1, 1))]),
            "inputs": NOT_REAL
            | holding(np.eye(3), NOT_FINITE)
            | st.sampled_from(
                [np.eye(3)[0], -np.eye(3), np.zeros((0, 3)), np.array([[3.0, 0, 0], [-1, 0.5, 0]])]
            ),
            "w0": NOT_REAL | st.sampled_from([np.ones(2), np.ones((3, 1))]),
            "a0": NO_TIME | misshapen(0.5),
        },
    ),
]
EXEMPT = {
    "lib.theory.shared_neuron.pair": "its argument is named by the caller, whose cases cover it",
    "lib.theory.hyperbolic_clock.angle": "a step of clock, which checks its arguments",
    "lib.theory.hyperbolic_clock.excess": "a step of clock, which checks its arguments",
    "lib.theory.shared_neuron.velocity": "called in every step of integrators, with checked arguments",
}
