"""Bad arguments of the experiment of combes2018 on brightness that reveals the class."""

from hypothesis import strategies as st

from lib.experiments.combes2018 import LightEffect, run_light_effect
from tests.bad_input.cases import NOT_POSITIVE, Case, outside

NOT_COUNTS = st.sampled_from([0, -2, 1.5, "many"])
NOT_WIDTHS = NOT_COUNTS.map(lambda width: (8, width))
SMALL = LightEffect(images="digits", per_class=5, lit=(1.0,), blocks=((2,),), dense=(), epochs=1)

CASES = [
    Case(
        LightEffect,
        {"images": "digits"},
        dict.fromkeys(("side", "per_class", "batch", "epochs"), NOT_COUNTS)
        | {
            "images": st.sampled_from(["", "birds", None]),
            "test_share": outside(0.0, 1.0) | st.sampled_from([0.0, 1.0, "half"]),
            "lit": (outside(0.0, 1.0) | st.just("all")).map(lambda share: (1.0, share)),
            "blocks": NOT_WIDTHS.map(lambda block: ((4,), block)) | st.just(((4,), ())),
            "dense": NOT_WIDTHS,
            "step": NOT_POSITIVE,
            "betas": st.sampled_from([(0.9,), (0.9, 1.0), (-0.1, 0.9), 0.9]),
        },
    ),
    Case(
        run_light_effect,
        {"config": SMALL, "seeds": [0], "device": "cpu"},
        {
            "seeds": st.sampled_from([[-1], [0, 0.5], ["first"]]),
            "device": st.sampled_from(["gpu", 0, None]),
        },
    ),
]
