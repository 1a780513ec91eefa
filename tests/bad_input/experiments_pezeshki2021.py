"""Bad arguments of the coloured digits and of the experiment with them."""

import numpy as np
from hypothesis import strategies as st

from lib import coloured
from lib.experiments import pezeshki2021_coloured
from lib.experiments.pezeshki2021_coloured import METHODS
from tests.bad_input.cases import (
    NEGATIVE,
    NOT_NUMBERS,
    NOT_POSITIVE,
    NOT_SIGNS,
    NOT_WHOLE,
    Case,
    holding,
    misshapen,
    outside,
)

SIX = len(METHODS)
IMAGES, LABELS, NOISE = np.full((1, 4, 3), 0.5), np.array([[1.0, -1.0, 1.0, -1.0]]), np.full(4, 0.1)
TINY = pezeshki2021_coloured.ColouredDigits(
    images="digits", training=4, tests=2, widths=(2,) * SIX, steps=(1,) * SIX, annealing=(0,) * SIX, points=1
)
NOT_COUNTS = (NOT_WHOLE | st.just(0)).filter(lambda value: value is not None)
NOT_SIX = st.sampled_from([(), (1,) * (SIX - 1), [1] * SIX, 1, None])


def with_one(value):
    """Six numbers, one for each method, of which one is the forbidden one."""
    return (1, value, *(1,) * (SIX - 2))


CASES = [
    Case(
        coloured.colour_images,
        {"images": IMAGES, "labels": LABELS, "colour_noise": NOISE, "rngs": [np.random.default_rng(0)]},
        {
            "images": st.sampled_from([IMAGES[0], IMAGES[:, :0], np.full((1, 4, 3), np.nan)]) | NOT_NUMBERS,
            "labels": holding(LABELS, NOT_SIGNS) | misshapen(LABELS) | NOT_NUMBERS,
            "colour_noise": holding(NOISE, outside(0, 1)) | st.just(NOISE[1:]) | NOT_NUMBERS,
            "label_noise": outside(0, 1) | NOT_NUMBERS,
            "rngs": st.sampled_from([[], [0], [np.random.default_rng(0)] * 2, 0, np.random.default_rng(0)]),
        },
    ),
    Case(
        pezeshki2021_coloured.ColouredDigits,
        {"images": "digits", "training": 4, "tests": 2, "steps": (500,) * SIX},
        dict.fromkeys(("training", "tests", "points"), NOT_COUNTS)
        | dict.fromkeys(("widths", "steps"), NOT_SIX | NOT_COUNTS.filter(lambda k: k != 0).map(with_one))
        | dict.fromkeys(("rates", "strengths"), NOT_SIX | NOT_POSITIVE.map(with_one))
        | {
            "images": st.sampled_from(["", "all", None]),
            "training": NOT_COUNTS | st.just(3),
            "noise": st.sampled_from(["", "none", None, 0]),
            "decays": NOT_SIX | NEGATIVE.map(with_one),
            "annealing": NOT_SIX | NOT_COUNTS.filter(lambda k: k != 0).map(with_one) | st.just((501,) * SIX),
            "precision": st.sampled_from(["float16", 32]),
        },
    ),
    Case(
        pezeshki2021_coloured.run_coloured_digits,
        {"config": TINY, "seeds": [0], "device": "cpu"},
        {
            "seeds": st.sampled_from([(0.5,), (-1,), ("a",), (None,), (True,)]),
            "device": st.sampled_from(["gpu", "tpu", "", None]),
        },
    ),
]
