"""Bad arguments of the experiments of min2024 on directions and norms."""

from dataclasses import replace

from hypothesis import strategies as st

from lib.experiments.min2024_two_phases import TwoPhases, run_two_phases
from tests.bad_input.cases import NOT_POSITIVE, Case

NOT_COUNTS = st.sampled_from([0, -2, 1.5, "many"])
SMALL = TwoPhases(images="digits", per_class=4, batch_size=4, iterations=2, points=2)

CASES = [
    Case(
        TwoPhases,
        {"images": "digits"},
        dict.fromkeys(("neurons", "iterations", "points", "per_class", "batch_size"), NOT_COUNTS)
        | dict.fromkeys(("deviation", "step"), NOT_POSITIVE)
        | {"images": st.sampled_from(["", "all", None]), "precision": st.sampled_from(["float16", 32])},
    ),
    Case(
        run_two_phases,
        {"config": SMALL, "seeds": [0], "device": "cpu"},
        {
            "config": st.just(replace(SMALL, iterations=1)),
            "seeds": st.sampled_from([[-1], [0, 0.5], ["first"]]),
            "device": st.sampled_from(["gpu", 0, None]),
        },
    ),
]
