"""Bad arguments of the papers' experiments."""

from hypothesis import strategies as st

from lib.experiments import boursier2022, min2024, pezeshki2021
from tests.bad_input.cases import NEGATIVE, NOT_POSITIVE, Case, outside

NOT_COUNTS = st.sampled_from([0, -2, 1.5, "many", None])
NOT_DEVICES = st.sampled_from(["gpu", 0, None])
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
    Case(
        min2024.TwoDigits,
        {"images": "digits"},
        dict.fromkeys(
            ("neurons", "iterations", "points", "per_class"), NOT_COUNTS.filter(lambda k: k is not None)
        )
        | dict.fromkeys(("deviation", "step"), NOT_POSITIVE)
        | {"images": st.sampled_from(["", "all", None]), "precision": st.sampled_from(["float16", 32])},
    ),
    Case(
        min2024.run_two_digits,
        {"config": min2024.TwoDigits(images="digits", iterations=2, points=1), "seeds": [0], "device": "cpu"},
        {"seeds": NOT_SEEDS, "device": NOT_DEVICES},
    ),
    Case(
        pezeshki2021.TwoMoons,
        {"settings": ("gap",)},
        dict.fromkeys(("examples", "width", "steps", "points"), NOT_COUNTS)
        | dict.fromkeys(("gap", "step"), NOT_POSITIVE)
        | dict.fromkeys(("weight_decay", "strength", "strong_decay"), NEGATIVE)
        | {
            "settings": st.sampled_from([("gap", "none"), ("",)]),
            "adam": st.sampled_from([(0.0, 1.0), (1.0, -1.0)]),
            "momentum": outside(0, 1) | st.just(1.0),
            "features": st.sampled_from([(-1,), (0, 0.5)]),
            "precision": st.sampled_from(["float16", 32]),
        },
    ),
    Case(
        pezeshki2021.run_two_moons,
        {
            "config": pezeshki2021.TwoMoons(("gap",), width=2, steps=1, points=1),
            "seeds": [0],
            "device": "cpu",
        },
        {"seeds": NOT_SEEDS, "device": NOT_DEVICES},
    ),
]
