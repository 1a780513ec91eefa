"""Bad arguments of the closed forms of sarussi2021."""

import numpy as np
from hypothesis import strategies as st

from lib.least_norm import ProgramSolution, least_norm
from lib.theory import clustering, margins, risk_convergence
from tests.bad_input.cases import (
    NEGATIVE,
    NOT_FINITE,
    NOT_NUMBERS,
    NOT_POSITIVE,
    NOT_WHOLE,
    Case,
    holding,
    misshapen,
    outside,
)

W = np.array([[1.0, 0.1], [1.0, -0.1]])
MATRIX = NOT_NUMBERS | holding(W, NOT_FINITE) | st.sampled_from([W[0], W[:0], W[None]])
NOT_A_SLOPE = NOT_NUMBERS | outside(0, 1) | st.just(0.0)
POSITIVE = NOT_NUMBERS | NOT_POSITIVE | st.just(np.inf)
FROM_ZERO = NOT_NUMBERS | NEGATIVE | st.just(np.inf)
FROM_ONE = NOT_NUMBERS | st.floats(max_value=1, exclude_max=True) | st.sampled_from([np.nan, np.inf])
REAL = NOT_NUMBERS | NOT_FINITE

DYNAMICS = {"slope": NOT_A_SLOPE, "k": FROM_ONE, "v": POSITIVE}
DESCENT = {
    "epsilon": POSITIVE,
    "n": FROM_ONE,
    **DYNAMICS,
    "step": POSITIVE,
    "radius": POSITIVE,
    "teacher": POSITIVE,
    "start": FROM_ZERO,
}
SETTING = dict.fromkeys(DESCENT, 0.5) | {"n": 4, "k": 2}
ROWS = np.array([[1.0, 0.2], [0.3, 1.0]])
MARGINS = np.array([1.0, 2.0])

CASES = [
    Case(
        clustering.sharp_factor,
        {"slope": 0.5, "k": [1, 2]},
        {"slope": NOT_A_SLOPE, "k": NOT_NUMBERS | st.sampled_from([0, -2, 1.5, np.nan, np.inf])},
    ),
    Case(
        clustering.largest_flip,
        {"slope": 0.5, "k": 1},
        {"slope": NOT_A_SLOPE | misshapen(0.5), "k": NOT_WHOLE | st.just(0)},
    ),
    Case(
        clustering.flipping_network,
        {"slope": 0.5, "k": 2, "excess": 0.1},
        {
            "slope": NOT_A_SLOPE | misshapen(0.5),
            "k": NOT_WHOLE | st.sampled_from([0, 1, 3]),
            "excess": REAL | misshapen(0.1),
        },
    ),
    Case(
        clustering.linear_region,
        {"w": W, "u": -W, "inputs": np.eye(2), "factor": 2.0},
        {"w": MATRIX, "u": MATRIX | st.just(W[:1]), "inputs": MATRIX, "factor": FROM_ZERO | misshapen(2.0)},
    ),
    Case(
        clustering.region_cosine,
        {"w": W, "u": -W, "factor": 2.0},
        {"w": MATRIX, "u": MATRIX | st.just(W[:1]), "factor": FROM_ZERO | misshapen(2.0)},
    ),
    Case(
        clustering.relu_zero_share,
        {"w": W, "u": -W},
        {
            name: REAL | holding(W, NOT_FINITE) | st.sampled_from([1.0, 0 * W, np.ones((2, 3))])
            for name in "wu"
        },
    ),
    Case(
        clustering.critical_slope, {"degrees": [100, 150]}, {"degrees": REAL | outside(91, 179) | st.just(90)}
    ),
    Case(
        clustering.symmetric_pair_margin,
        {"time": [0.0, 1.0], "q0": 0.3, "slope": 0.5, "k": 2, "v": 1.0, "norm": 2.0},
        {"time": FROM_ZERO, "q0": REAL, **DYNAMICS, "norm": POSITIVE},
    ),
    Case(margins.loss_exponent, {"margins": MARGINS}, {"margins": REAL | holding(MARGINS, NOT_FINITE)}),
    Case(
        margins.margin_of_exponent,
        {"exponent": 1.0},
        {"exponent": REAL | st.floats(max_value=-700, exclude_max=True)},
    ),
    *(
        Case(
            call,
            {"margins": MARGINS, "norm": 2.0},
            {"margins": REAL | st.sampled_from([1.0, []]), "norm": POSITIVE},
        )
        for call in (margins.smoothed_margin, margins.smoothed_margin_gap)
    ),
    Case(
        margins.required_smoothed_margin,
        {"slope": 0.5, "v": 1.0, "k": 2, "radius": 1.0, "beta": 0.0},
        {**DYNAMICS, "radius": POSITIVE, "beta": FROM_ZERO},
    ),
    Case(
        margins.largest_slope_for_assumption_three,
        {"relative_margin": 0.4},
        {"relative_margin": NOT_A_SLOPE},
    ),
    Case(
        margins.symmetric_data_margin,
        {"slope": 0.5, "v": 1.0, "k": 2, "linear_margin": 1.0},
        {**DYNAMICS, "linear_margin": POSITIVE},
    ),
    Case(
        margins.logarithmic_law,
        {"solution": least_norm(ROWS, np.ones(2)), "features": ROWS, "outside": np.zeros(2)},
        {
            "solution": st.just(ProgramSolution(np.array([np.nan, 1.0]), np.ones(2), 0.0, 0.0, 0.0)),
            "features": NOT_NUMBERS | holding(ROWS, NOT_FINITE) | misshapen(ROWS) | st.just(np.ones((2, 2))),
            "outside": st.just("abc") | holding(np.zeros(2), NOT_FINITE) | misshapen(np.zeros(2)),
        },
    ),
    Case(
        margins.logarithmic_law,
        {"solution": least_norm(ROWS[:1], np.ones(1)), "features": ROWS[:1], "outside": np.zeros(2)},
        {"outside": st.none()},
    ),
    Case(
        risk_convergence.risk_bound,
        {**SETTING, "product": 1.0},
        {**DESCENT, "product": REAL | outside(0.278, 1)},
    ),
    *(
        Case(call, SETTING, DESCENT)
        for call in (risk_convergence.improved_risk_bound, risk_convergence.polynomial_risk_bound)
    ),
]
