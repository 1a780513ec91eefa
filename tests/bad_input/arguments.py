"""Bad arguments of `lib.arguments`, the checks that the other functions use."""

import numpy as np
from hypothesis import strategies as st

from lib import arguments
from tests.bad_input.cases import (
    NOT_FINITE,
    NOT_GENERATORS,
    NOT_NUMBERS,
    NOT_SIGNS,
    NOT_WHOLE,
    Case,
    holding,
    misshapen,
    outside,
)

HALVES = np.full((3, 2), 0.5)

CASES = [
    Case(
        arguments.numbers,
        {"name": "value", "value": HALVES, "low": 0, "high": 1},
        {"value": NOT_NUMBERS | holding(HALVES, outside(0, 1))},
    ),
    Case(
        arguments.array,
        {"name": "value", "value": HALVES, "shape": ("n", "d")},
        {"value": NOT_NUMBERS | holding(HALVES, NOT_FINITE) | st.just(HALVES[0])},
    ),
    Case(
        arguments.number,
        {"name": "value", "value": 0.5, "low": 0, "high": 1},
        {"value": NOT_NUMBERS | outside(0, 1) | misshapen(0.5)},
    ),
    Case(arguments.whole, {"name": "value", "value": 3}, {"value": NOT_WHOLE}),
    Case(
        arguments.wholes,
        {"name": "value", "value": [3, 4], "low": 1, "high": 8},
        {"value": NOT_NUMBERS | holding([3, 4], NOT_FINITE | st.sampled_from([0.5, 0, -1, 9]))},
    ),
    Case(
        arguments.generator, {"name": "value", "value": np.random.default_rng(0)}, {"value": NOT_GENERATORS}
    ),
    Case(arguments.signs, {"name": "value", "value": 1.0}, {"value": NOT_SIGNS | misshapen(1.0)}),
    Case(
        arguments.choice,
        {"name": "value", "value": "mean", "allowed": ("mean", "sum")},
        {"value": st.text().filter(lambda word: word not in ("mean", "sum")) | NOT_NUMBERS},
    ),
]
EXEMPT = {
    "lib.arguments.broadcast": "its arguments are named by the caller; tested in test_hinge",
    "lib.arguments.refuse_overflow": "it decorates functions, whose arguments test_extremes tests",
}
