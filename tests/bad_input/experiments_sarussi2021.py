"""Bad arguments of the experiments of sarussi2021."""

from hypothesis import strategies as st

from lib.experiments.sarussi2021 import DigitPairs, run_digit_pairs
from lib.experiments.sarussi2021_gaussians import GaussianClasses, run_gaussian_classes
from tests.bad_input.cases import NOT_POSITIVE, Case, outside

NOT_COUNTS = st.sampled_from([0, -2, 1.5, "many", None])
SEEDS_AND_DEVICE = {
    "seeds": st.sampled_from([[-1], [0, 0.5], ["first"]]),
    "device": st.sampled_from(["gpu", "cuda", 0, None]),
}

CASES = [
    Case(
        DigitPairs,
        {"images": "digits"},
        dict.fromkeys(("neurons", "epochs", "points"), NOT_COUNTS)
        | dict.fromkeys(("scale", "large_scale", "step", "long_step"), NOT_POSITIVE)
        | {
            "images": st.sampled_from(["", "all", None]),
            "pairs": st.sampled_from(
                [((3, 3),), ((0, 1), (2,)), ((1, 2, 3),), ((9, 10),), ((-1, 2),), (3, 5)]
            ),
            "settings": st.sampled_from([("small-start", "none"), ("",)]),
            "held_out": outside(0, 1) | st.sampled_from([0.0, 1.0]),
            "slope": outside(0, 1) | st.just(0.0),
        },
    ),
    Case(
        run_digit_pairs,
        {
            "config": DigitPairs("digits", ((0, 1),), ("small-start",), neurons=2, epochs=1),
            "seeds": [0],
            "device": "cpu",
        },
        SEEDS_AND_DEVICE,
    ),
    Case(
        GaussianClasses,
        {"dimension": 2},
        dict.fromkeys(("neurons", "epochs", "points", "dimension"), NOT_COUNTS)
        | dict.fromkeys(("mean", "spread", "scale", "large_scale", "step", "horizon"), NOT_POSITIVE)
        | {
            "settings": st.sampled_from([("small-start", "none"), ("",)]),
            "examples": NOT_COUNTS | st.just(7),
            "outlier": st.sampled_from([4.0, (4.0,), (0.0, 90.0), (-1.0, 90.0), (1.0, float("nan")), "far"]),
            "slope": outside(0, 1) | st.just(0.0),
        },
    ),
    Case(
        run_gaussian_classes,
        {
            "config": GaussianClasses(dimension=2, examples=4, neurons=2, epochs=1, horizon=1.0),
            "seeds": [0],
            "device": "cpu",
        },
        SEEDS_AND_DEVICE,
    ),
]
