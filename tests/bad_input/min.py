"""Bad arguments of the constants and bounds of early alignment, and of the phases after it."""

import numpy as np
from hypothesis import strategies as st

from lib.theory import (
    alignment_bounds,
    alignment_paths,
    boundary_departure,
    class_fitting,
    cone_constants,
    late_convergence,
)
from tests.bad_input.cases import (
    NEGATIVE,
    NOT_FINITE,
    NOT_NUMBERS,
    NOT_POSITIVE,
    NOT_SIGNS,
    NOT_WHOLE,
    Case,
    holding,
    misshapen,
    outside,
)

INPUTS = np.array([[1.0, 0.2], [2.0, 1.0], [-1.0, 0.1]])
LABELS = np.array([1.0, 1.0, -1.0])
W, SIGNS = np.array([[0.5, 1.0], [1.0, -3.0]]), np.array([1.0, -1.0])
CONSTANTS = cone_constants.AlignmentConstants(4, 0.5, 0.5, 0.4, 0.8, 1.0, 1.2)

ZERO_ROW = INPUTS * np.array([[1.0], [0.0], [1.0]])
NOT_INPUTS = NOT_NUMBERS | holding(INPUTS, NOT_FINITE) | st.sampled_from([INPUTS[0], INPUTS[None], ZERO_ROW])
NOT_LABELS = NOT_NUMBERS | holding(LABELS, NOT_SIGNS) | misshapen(LABELS)
NOT_SEPARABLE = NOT_INPUTS | st.just(np.array([INPUTS[0], -2 * INPUTS[0], INPUTS[2]]))
NOT_NEURONS = NOT_NUMBERS | holding(W, NOT_FINITE) | misshapen(W) | st.just(W * [[0.0], [1.0]])
NOT_ALL_SIGNS = NOT_NUMBERS | holding(SIGNS, NOT_SIGNS) | misshapen(SIGNS)
NOT_SHARES = NOT_NUMBERS | outside(0, 1) | st.just(0.0)
NOT_MU = NOT_NUMBERS | outside(0, 1)
NOT_LENGTHS = NOT_NUMBERS | NOT_POSITIVE
BELOW_ONE = st.floats(max_value=1, exclude_max=True) | NOT_FINITE
NOT_TIMES = NOT_NUMBERS | NEGATIVE
NOT_REAL = NOT_NUMBERS | NOT_FINITE
NOT_COUNTS = NOT_NUMBERS | NOT_WHOLE | st.just(0)
NOT_WORDS = st.sampled_from(["hinge", "", None, 3])

DATA, BAD_DATA = {"inputs": INPUTS, "labels": LABELS}, {"inputs": NOT_INPUTS, "labels": NOT_LABELS}
START = {"w": W, "signs": SIGNS}
STAGE = {"active": 2, "constant": 0.1, "mu": 0.2, "x_min": 1.0}
BAD_STAGE = {"active": NOT_LENGTHS, "constant": NOT_SHARES, "mu": NOT_SHARES, "x_min": NOT_LENGTHS}
SCALE = {"m": 5, "w_max": 2.0, "log_scale": -50.0}
BAD_SCALE = {"m": NOT_COUNTS, "w_max": NOT_LENGTHS, "log_scale": NOT_REAL}
BAD_CONSTANTS = {
    "n": NOT_COUNTS,
    "mu": NOT_NUMBERS | NOT_POSITIVE | st.floats(1.001),
    "zeta_1": NOT_NUMBERS | NOT_POSITIVE | st.floats(1.001),
    "zeta_2": NOT_NUMBERS | NEGATIVE | st.floats(1.001),
    "kappa": NOT_NUMBERS | NOT_POSITIVE | st.floats(1.001),
    "x_min": NOT_LENGTHS,
    "x_max": NOT_LENGTHS | st.floats(0, 0.99),
}
TOO_LATE = st.floats(min_value=6.6)  # logarithms of margins above 709

CASES = [
    Case(cone_constants.AlignmentConstants, vars(CONSTANTS), BAD_CONSTANTS),
    Case(cone_constants.class_sums, DATA, BAD_DATA),
    Case(cone_constants.cap_constant, DATA, BAD_DATA),
    Case(cone_constants.cone_margin, DATA, BAD_DATA),
    Case(
        cone_constants.start_constant,
        {**START, **DATA},
        {"w": NOT_NEURONS, "signs": NOT_ALL_SIGNS, **BAD_DATA},
    ),
    Case(
        alignment_bounds.alignment_constants,
        {**START, **DATA},
        {"w": NOT_NEURONS, "signs": NOT_ALL_SIGNS, "inputs": NOT_SEPARABLE, "labels": NOT_LABELS},
    ),
    Case(
        cone_constants.least_drift,
        {"active": 2, "mu": 0.1, "x_min": 1.0},
        {"active": NOT_TIMES, "mu": NOT_MU, "x_min": NOT_LENGTHS},
    ),
    Case(
        cone_constants.least_crossing_speed, {"mu": 0.1, "x_min": 1.0}, {"mu": NOT_MU, "x_min": NOT_LENGTHS}
    ),
    Case(alignment_bounds.stage_time, STAGE, BAD_STAGE),
    Case(alignment_bounds.repaired_stage_time, STAGE, BAD_STAGE),
    Case(
        alignment_bounds.sharp_stage_time,
        {"drift": 2.0, "constant": 0.1},
        {"drift": NOT_LENGTHS, "constant": NOT_SHARES},
    ),
    Case(
        alignment_bounds.proved_time,
        {"n": 3, "mu": 0.1, "constant": 0.1, "x_min": 1.0},
        {"n": BELOW_ONE, "mu": NOT_SHARES, "constant": NOT_SHARES, "x_min": NOT_LENGTHS},
    ),
    Case(
        alignment_bounds.turning_time,
        {"start": 1.0, "end": 0.5, "drift": 2.0},
        {"start": NOT_LENGTHS | st.floats(3.15), "end": NOT_LENGTHS | st.floats(3.15), "drift": NOT_LENGTHS},
    ),
    Case(
        alignment_bounds.negligible_window,
        {"n": 3, "m": 5, "x_max": 1.0, "log_scale": -50.0},
        {"n": NOT_COUNTS, "m": NOT_COUNTS, "x_max": NOT_LENGTHS, "log_scale": NOT_REAL},
    ),
    Case(alignment_bounds.window_slack, DATA, BAD_DATA),
    Case(alignment_bounds.log_norm_bound, SCALE, BAD_SCALE),
    Case(alignment_bounds.log_output_bound, {**SCALE, "x_max": 1.0}, {**BAD_SCALE, "x_max": NOT_LENGTHS}),
    Case(
        alignment_bounds.log_direction_error_bound,
        {**SCALE, "x_max": 1.0, "n": 3},
        {**BAD_SCALE, "x_max": NOT_LENGTHS, "n": NOT_COUNTS},
    ),
    Case(
        alignment_bounds.log_largest_scale,
        {"constants": CONSTANTS, "m": 5, "w_max": 2.0},
        {"m": NOT_COUNTS, "w_max": NOT_LENGTHS},
    ),
    Case(
        alignment_paths.maximal_path_sum,
        {"positive": 3, "negative": [0, 2]},
        {
            "positive": NOT_NUMBERS | st.sampled_from([0, 1.5, -1]),
            "negative": NOT_NUMBERS | st.sampled_from([-1, 0.5]),
        },
    ),
    Case(
        alignment_paths.longest_path_sum,
        {"positive": 3, "negative": 2},
        {"positive": NOT_COUNTS, "negative": NOT_WHOLE},
    ),
    Case(alignment_paths.worst_path_sum, {"n": 3}, {"n": NOT_COUNTS}),
    Case(
        class_fitting.slope_error_constant,
        {"loss": "square", "radius": 1.0},
        {"loss": NOT_WORDS, "radius": NOT_LENGTHS},
    ),
    Case(
        class_fitting.refined_alignment_time,
        {"n_class": 2, "mu": 0.1, "x_min": 1.0},
        {"n_class": NOT_NUMBERS | BELOW_ONE, "mu": NOT_SHARES, "x_min": NOT_LENGTHS},
    ),
    Case(
        class_fitting.proved_fitting_time,
        {"constants": CONSTANTS, "n_class": 2, "w_min": 1.0, "log_scale": -50.0, "aligned": 3.0},
        {
            "n_class": NOT_NUMBERS | outside(1, 4),
            "w_min": NOT_LENGTHS,
            "log_scale": NOT_REAL,
            "aligned": NOT_TIMES,
        },
    ),
    Case(
        class_fitting.log_group_bound,
        {"n": 3, "x_max": 1.0, "aligned": 2.0, "log_squared_norm": -50.0},
        {
            "n": NOT_NUMBERS | BELOW_ONE,
            "x_max": NOT_LENGTHS,
            "aligned": NOT_TIMES,
            "log_squared_norm": NOT_REAL,
        },
    ),
    Case(
        class_fitting.fitting_time,
        {"total": [1.0, 2.0], "log_scale": -50.0},
        {"total": NOT_NUMBERS | st.sampled_from([[0.0, 0.0], [np.nan, 1.0], 2.0]), "log_scale": NOT_REAL},
    ),
    Case(
        class_fitting.idle_exponent,
        {"drift": 1.0, "total": 2.0},
        {"drift": NOT_TIMES | st.floats(2.01), "total": NOT_LENGTHS | st.floats(0.1, 0.9)},
    ),
    Case(
        class_fitting.class_fitting_time,
        {"signed_inputs": INPUTS[:2], "log_squared_norm": -50.0, "level": 0.25, "loss": "exponential"},
        {
            "signed_inputs": NOT_SEPARABLE | st.just(INPUTS),
            "log_squared_norm": NOT_REAL,
            "level": NOT_LENGTHS | st.floats(701),
            "loss": NOT_WORDS,
        },
    ),
    Case(
        class_fitting.datum_fitting_time,
        {"log_margin": 0.0, "log_start": -10.0, "norm": 1.0, "loss": "exponential"},
        {
            "log_margin": NOT_REAL | TOO_LATE,
            "log_start": NOT_REAL | TOO_LATE,
            "norm": NOT_LENGTHS,
            "loss": NOT_WORDS,
        },
    ),
    Case(
        class_fitting.datum_log_margin,
        {"times": 1.0, "log_start": -10.0, "norm": 1.0, "loss": "exponential"},
        {"times": NOT_TIMES, "log_start": NOT_REAL | TOO_LATE, "norm": NOT_LENGTHS, "loss": NOT_WORDS},
    ),
    Case(late_convergence.decay_constant, {"loss": "logistic"}, {"loss": NOT_WORDS}),
    Case(
        late_convergence.decay_rate,
        {"mu": 0.1, "x_min": 1.0, "x_max": 2.0, "loss": "logistic"},
        {
            "mu": NOT_SHARES,
            "x_min": NOT_LENGTHS | st.floats(2.1),
            "x_max": NOT_LENGTHS | st.floats(0.1, 0.9),
            "loss": NOT_WORDS.filter(lambda word: word is not None),
        },
    ),
    Case(
        late_convergence.loss_bound,
        {"times": 3.0, "start": 2.0, "start_loss": 1.0, "rate": 0.1},
        {
            "times": NOT_REAL | st.floats(max_value=1.9),
            "start": NOT_REAL | st.floats(3.1),
            "start_loss": NOT_LENGTHS,
            "rate": NOT_LENGTHS,
        },
    ),
    *(
        Case(call, DATA, {"inputs": NOT_SEPARABLE, "labels": NOT_LABELS})
        for call in (
            late_convergence.class_margins,
            late_convergence.late_constant,
            late_convergence.stable_rank_limit,
        )
    ),
    Case(
        late_convergence.late_log_loss,
        {"log_times": 10.0, "constant": 1.0},
        {"log_times": NOT_REAL | st.floats(max_value=1.0), "constant": NOT_LENGTHS},
    ),
    Case(late_convergence.log_rank_excess, SCALE, BAD_SCALE),
    Case(boundary_departure.time_since_departure, {"angle": 1.0}, {"angle": NOT_NUMBERS | outside(0, 2.5)}),
    Case(
        boundary_departure.departing_neuron,
        {"times": 2.0, "departure": 1.0},
        {"times": NOT_NUMBERS | outside(0, 1e12), "departure": NOT_NUMBERS | outside(0, 1e12)},
    ),
]
EXEMPT = {
    "lib.theory.alignment_bounds.repaired_time": "its constants are checked where they are made",
    "lib.theory.alignment_bounds.headline_time": "its constants are checked where they are made",
}
