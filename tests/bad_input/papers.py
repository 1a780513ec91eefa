"""Bad arguments of the papers' experiments."""

from hypothesis import strategies as st

from lib.experiments import boursier2022
from tests.bad_input.cases import NOT_POSITIVE, Case

NOT_COUNTS = st.sampled_from([0, -2, 1.5, "many", None])
NOT_SEEDS = st.sampled_from([[-1], [0, 0.5], ["first"]])
SMALL = {
    "examples": 3,
    "dimension": 4,
    "neurons": 2,
    "teacher": 1,
    "iterations": 4,
    "stages": (0, 4),
    "points": 2,
}

CASES = [
    Case(
        boursier2022.HighDimension,
        SMALL,
        dict.fromkeys(("examples", "dimension", "neurons", "teacher", "iterations", "points"), NOT_COUNTS)
        | dict.fromkeys(("scale", "step"), NOT_POSITIVE)
        | {"stages": st.sampled_from([(5,), (-1,), (0.5,)])},
    ),
    Case(
        boursier2022.run_high_dimension,
        {"config": boursier2022.HighDimension(**SMALL), "seeds": [0], "device": "cpu"},
        {"seeds": NOT_SEEDS, "device": st.sampled_from(["cuda", "gpu", 0, None])},
    ),
]
