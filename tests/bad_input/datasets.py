"""Bad arguments of the data sets and of the minimum-norm program."""

import numpy as np
from hypothesis import strategies as st

from lib import datasets, minimum_norm
from tests.bad_input.cases import (
    NEGATIVE,
    NOT_FINITE,
    NOT_GENERATORS,
    NOT_NUMBERS,
    NOT_POSITIVE,
    NOT_WHOLE,
    Case,
    holding,
    misshapen,
    outside,
)

INPUTS, LABELS = np.array([[1.0, 0.2], [0.5, 1.0], [-1.0, 0.3]]), np.array([1.0, -0.5, 2.0])
NOT_COUNTS = NOT_NUMBERS | NOT_WHOLE
NOT_DIGITS = NOT_COUNTS | st.integers(min_value=10)
ANGLES = NOT_NUMBERS | NOT_FINITE | misshapen(1.0)
RNG = np.random.default_rng(0)
ON_ONE_RAY = np.array([[1.0, 0.2], [2.0, 0.4], [-1.0, 0.3]])
NOT_INPUTS = (
    NOT_NUMBERS | holding(INPUTS, NOT_FINITE) | st.sampled_from([INPUTS[0], INPUTS[None], np.ones((9, 2))])
)
NOT_REAL = NOT_NUMBERS | holding(LABELS, NOT_FINITE) | misshapen(LABELS)

CASES = [
    Case(
        datasets.cone_data,
        {"positive": 2, "negative": 1, "d": 3, "mu": 0.2, "rng": RNG, "norms": (0.5, 2.0)},
        {
            "positive": NOT_COUNTS | st.just(0),
            "negative": NOT_COUNTS,
            "d": NOT_COUNTS | st.sampled_from([0, 1]),
            "mu": NOT_NUMBERS | outside(-1, 1) | st.sampled_from([-1.0, 1.0]),
            "rng": NOT_GENERATORS,
            "norms": st.sampled_from([(0.0, 1.0), (2.0, 1.0), (1.0, np.inf), (1.0,), 1.0, None]),
        },
    ),
    Case(
        datasets.simplex_data,
        {"n": 3, "mu": 0.2},
        {"n": NOT_COUNTS | st.just(0), "mu": NOT_NUMBERS | outside(-0.5, 1)},
    ),
    Case(
        datasets.digits_pair,
        {"positive": 1, "negative": 0},
        {"positive": NOT_DIGITS | st.just(0), "negative": NOT_DIGITS | st.just(1)},
    ),
    Case(
        datasets.antipodal_gaussians,
        {"n": 4, "mean": [1.0, 0.0], "spread": 0.5, "rng": RNG},
        {
            "n": NOT_COUNTS | st.sampled_from([0, 1, 3]),
            "mean": NOT_NUMBERS | st.sampled_from([1.0, [], [[1.0]], [np.nan, 0.0]]),
            "spread": NOT_NUMBERS | NEGATIVE,
            "rng": NOT_GENERATORS,
        },
    ),
    Case(
        datasets.outlier_data,
        {"distance": 2.0, "degrees": 30.0, "rng": RNG, "per_class": 3},
        {
            "distance": NOT_NUMBERS | NEGATIVE,
            "degrees": ANGLES,
            "rng": NOT_GENERATORS,
            "per_class": NOT_COUNTS | st.just(0),
        },
    ),
    Case(datasets.three_points, {"degrees": 90.0}, {"degrees": ANGLES}),
    Case(
        datasets.two_moons_with_gap,
        {"n": 10, "gap": 0.1, "rng": RNG, "noise": 0.1},
        {
            "n": NOT_COUNTS | st.sampled_from([0, 1]),
            "gap": ANGLES,
            "rng": NOT_GENERATORS,
            "noise": NOT_NUMBERS | NEGATIVE,
        },
    ),
    Case(
        datasets.orthonormal_inputs,
        {"n": 2, "d": 3, "rng": RNG},
        {
            "n": NOT_COUNTS | st.sampled_from([0, 4]),
            "d": NOT_COUNTS | st.sampled_from([0, 1]),
            "rng": NOT_GENERATORS,
        },
    ),
    Case(
        minimum_norm.minimum_norm_interpolation,
        {"inputs": INPUTS[:2], "labels": LABELS[:2], "slope": 0.1},
        {"slope": NOT_NUMBERS | outside(0, 1) | st.just(1.0)},
    ),
    Case(
        minimum_norm.minimum_norm_interpolation,
        {"inputs": INPUTS, "labels": LABELS},
        {
            "inputs": NOT_INPUTS | st.sampled_from([INPUTS * [[1.0], [0.0], [1.0]], ON_ONE_RAY]),
            "labels": NOT_REAL | st.just(np.zeros(3)),
        },
    ),
    Case(
        minimum_norm.largest_response,
        {"inputs": INPUTS, "duals": LABELS, "slope": 0.1},
        {
            "inputs": NOT_INPUTS,
            "duals": NOT_REAL,
            "slope": NOT_NUMBERS | outside(0, 1) | NOT_POSITIVE.filter(bool),
        },
    ),
]
EXEMPT = {
    "lib.datasets.six_points": "it takes no argument",
    "lib.datasets.orthogonal_pair": "it takes no argument",
    "lib.datasets.five_on_a_line": "it takes no argument",
}
