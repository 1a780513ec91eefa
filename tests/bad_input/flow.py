"""Bad arguments of the gradient flows."""

import numpy as np
from hypothesis import strategies as st

from lib.flow import (
    agreement,
    alignment,
    gradient,
    loss_time,
    neuron,
    planar,
    rescaled,
    spherical,
    survey,
    trajectory,
)
from lib.losses import EXPONENTIAL, SQUARE
from lib.networks import TwoLayer
from tests.bad_input.cases import (
    NEGATIVE,
    NOT_FINITE,
    NOT_GENERATORS,
    NOT_NUMBERS,
    NOT_POSITIVE,
    NOT_SIGNS,
    NOT_WHOLE,
    Case,
    holding,
    misshapen,
    outside,
)

RNG = np.random.default_rng(0)
NOT_GIVEN = NOT_NUMBERS.filter(lambda value: value is not None)  # where None stands for a default
SLOPES = outside(0, 1) | NOT_NUMBERS | misshapen(0.5)
POSITIVE_ONLY = NOT_POSITIVE | NOT_FINITE | NOT_NUMBERS
TOLERANCES = outside(1e-13, 1) | st.just(1.0) | NOT_NUMBERS
SIZES = NOT_WHOLE | st.just(0)
ANY_NUMBER = NOT_FINITE | NOT_NUMBERS
WORDS = st.text().filter(lambda word: word not in ("mean", "sum", "both", "first")) | NOT_NUMBERS


def vectors(valid, values=NOT_FINITE):
    return NOT_NUMBERS | holding(valid, values) | misshapen(valid)


def rows(valid):
    """Return what cannot stand for any number of vectors that are not zero."""
    zero = np.vstack([valid[:-1], 0 * valid[:1]])
    return (
        NOT_NUMBERS | holding(valid, NOT_FINITE) | st.sampled_from([valid[0], valid[None], valid[:0], zero])
    )


INPUTS, LABELS = np.array([[1.0, 0.5], [-1.0, 0.5], [0.2, 2.0]]), np.array([1.0, -1.0, 1.0])
WIDER = st.just(np.ones((3, 3)))
BAD_LABELS = vectors(LABELS, NOT_SIGNS)
TIMES = np.array([0.0, 0.1, 0.2])
BAD_TIMES = (
    NOT_NUMBERS
    | holding(TIMES, NOT_FINITE)
    | st.sampled_from([[], 1.0, [TIMES], [1.0, 0.5], [1.0, 1.0], [0.0, 2.0, 1.0]])
)

DIRECTIONS = np.array([[0.6, 0.8], [1.0, 0.0]])
LOG_NORMS, SIGNS = np.array([-9.0, -8.0]), np.array([1.0, -1.0])
START = {
    "directions": DIRECTIONS,
    "log_norms": LOG_NORMS,
    "signs": SIGNS,
    "inputs": INPUTS,
    "labels": LABELS,
    "reduction": "sum",
}
BAD_START = {
    "directions": NOT_NUMBERS
    | holding(DIRECTIONS, NOT_FINITE | st.floats(2, 9))
    | st.sampled_from([DIRECTIONS[0], DIRECTIONS[:0], DIRECTIONS[:, :1]]),
    "log_norms": vectors(LOG_NORMS),
    "signs": NOT_NUMBERS | holding(SIGNS, NOT_SIGNS) | misshapen(SIGNS),
    "inputs": rows(INPUTS) | WIDER,
    "labels": vectors(LABELS),
    "reduction": WORDS,
}
W = np.array([[1.0, 0.4], [-0.3, 1.0]])

NETWORK = TwoLayer([[0.9, 0.6], [-0.9, 0.4]], [1.0, -1.0], slope=0.2)
LOSS_TIME = {"network": NETWORK, "inputs": [[1.0, 0.5], [-1.0, 0.2]], "labels": [1, -1], "times": TIMES}
BAD_LOSS_TIME = {
    "network": NOT_NUMBERS
    | st.sampled_from(
        [TwoLayer(np.ones((2, 1, 2)), np.ones((2, 1))), TwoLayer(np.ones((0, 2)), np.ones(0)), NETWORK.w]
    ),
    "inputs": NOT_NUMBERS
    | holding(LOSS_TIME["inputs"], NOT_FINITE)
    | st.sampled_from([np.ones(2), np.ones((2, 3)), np.ones((0, 2))]),
    "labels": vectors(LOSS_TIME["labels"], NOT_SIGNS),
    "times": BAD_TIMES | st.just([0.0]),
}
STEPS = {"rtol": TOLERANCES, "atol": POSITIVE_ONLY}
NO_REGIME = (
    st.floats(0.1, 9).map(lambda v: TwoLayer(NETWORK.w, [v, -2 * v]))
    | st.floats(0.1, 9).map(lambda v: TwoLayer(NETWORK.w, [v, v]))
    | st.floats(0.1, 9).map(lambda x: TwoLayer([[x, 0.1], [-x, 0.1], [0.1, 1.0]], [1.0, 1.0, -1.0]))
)

NEURONS = {"h0": np.array([0.5, 0.2]), "a0": np.array([0.1, 0.3]), "times": TIMES, "norm": 1.3, "label": -1}
BAD_NEURONS = {
    "h0": NOT_NUMBERS | holding(NEURONS["h0"], NOT_FINITE) | st.sampled_from([np.ones((2, 1)), []]),
    "a0": vectors(NEURONS["a0"]),
    "times": BAD_TIMES | holding(TIMES, NEGATIVE),
    "norm": POSITIVE_ONLY,
    "label": NOT_SIGNS | NOT_NUMBERS,
}

ALIGNED = survey.align(INPUTS, LABELS, 4, rng=np.random.default_rng(1))
FLOW = survey.flow_from(ALIGNED, -9.0, EXPONENTIAL, until=0.5)
FLOWING = {"run": ALIGNED, "log_scale": -9.0, "loss": EXPONENTIAL, "slope": 0.5}
DISTANCES = np.array([1e-3, 1e-6])
# Any number of distances from 0 on is allowed.
BAD_DISTANCES = holding(DISTANCES, NEGATIVE | NOT_FINITE) | st.sampled_from([[], 0.1, [DISTANCES]])


def shortfall(margins):
    return np.expm1(-margins)


CASES = [
    Case(
        gradient.gradient_flow,
        {
            **START,
            "loss": SQUARE,
            "until": 0.1,
            "log_outputs": LOG_NORMS,
            "train": "both",
            "slope": 0.5,
            "rtol": 1e-6,
            "loss_below": 0.0,
            "max_steps": 9,
        },
        {
            **BAD_START,
            "until": POSITIVE_ONLY.filter(lambda value: value is not None) | st.none(),
            "log_outputs": holding(LOG_NORMS, st.sampled_from([np.nan, np.inf, 1e3])) | misshapen(LOG_NORMS),
            "train": WORDS,
            "slope": SLOPES,
            "rtol": TOLERANCES,
            "loss_below": NEGATIVE | ANY_NUMBER,
            "max_steps": SIZES,
        },
    ),
    Case(
        gradient.gradient_flow,
        {**START, "loss": EXPONENTIAL, "log_until": 2.0},
        {"labels": BAD_LABELS, "log_until": ANY_NUMBER, "loss": st.just(SQUARE)},
    ),
    Case(trajectory.checked_start, START, BAD_START),
    Case(
        trajectory.gaussian_start,
        {"m": 3, "d": 2, "log_scale": -9.0, "rng": RNG},
        {"m": SIZES, "d": SIZES, "log_scale": ANY_NUMBER},
    ),
    Case(
        planar.planar_flow,
        {"inputs": np.eye(2), "labels": [1, 1], "iterations": 10, "rng": RNG, "rtol": 1e-6},
        {
            "inputs": rows(np.eye(2)) | WIDER,
            "labels": vectors([1.0, 1.0]),
            "iterations": SIZES,
            "rng": NOT_GENERATORS,
            "rtol": TOLERANCES,
        },
    ),
    Case(
        planar.drop_count,
        {"times": [0.0, 1.0, 2.0], "losses": [1.0, 0.5, 0.2]},
        {"times": vectors([0.0, 1.0, 2.0]) | st.just([0.0, 0.0, 1.0]), "losses": vectors([1.0, 0.5, 0.2])},
    ),
    Case(
        trajectory.network,
        {"directions": DIRECTIONS, "log_norms": LOG_NORMS, "signs": SIGNS, "slope": 0.5},
        {
            "directions": NOT_NUMBERS | holding(DIRECTIONS, NOT_FINITE),
            "log_norms": NOT_NUMBERS
            | holding(LOG_NORMS, st.sampled_from([np.nan, np.inf, 1e3]))
            | misshapen(LOG_NORMS),
            "signs": NOT_NUMBERS | holding(SIGNS, NOT_SIGNS) | misshapen(SIGNS),
            "slope": SLOPES,
        },
    ),
    Case(
        alignment.alignment_phase,
        {
            "w": W,
            "signs": SIGNS,
            "inputs": INPUTS,
            "forces": LABELS,
            "slope": 0.1,
            "until": 5.0,
            "sliding": True,
        },
        {
            "w": rows(W),
            "signs": vectors(SIGNS, NOT_SIGNS),
            "inputs": rows(INPUTS) | WIDER,
            "forces": vectors(LABELS),
            "slope": SLOPES,
            "until": NEGATIVE | NOT_NUMBERS,
        },
    ),
    # A unit that two data hold on a boundary from both sides: there is no classical solution.
    Case(
        alignment.alignment_phase,
        {
            "w": [[1.0, -0.5]],
            "signs": [1],
            "inputs": [[1.0, 0.6], [0.0, 1.0]],
            "forces": [1, -2],
            "sliding": True,
        },
        {"sliding": st.just(False)},
    ),
    *(
        Case(
            call,
            {"times": TIMES},
            {"times": holding(TIMES, NEGATIVE | NOT_FINITE) | st.sampled_from([[], 1.0]) | NOT_NUMBERS},
        )
        for call in (ALIGNED.phase.at, ALIGNED.phase.patterns_at)
    ),
    Case(
        spherical.spherical_descent,
        {**START, "loss": EXPONENTIAL, "step": 0.1, "steps": 3, "slope": 0.5, "record_at": [0, 2]},
        {
            **BAD_START,
            "labels": BAD_LABELS,
            "loss": NOT_NUMBERS | st.sampled_from([1.0, "square"]),
            "step": POSITIVE_ONLY,
            "steps": NOT_WHOLE,
            "slope": SLOPES,
            "record_at": holding([0, 2], outside(0, 3) | st.just(0.5)) | NOT_GIVEN,
        },
    ),
    Case(loss_time.checked_data, LOSS_TIME, BAD_LOSS_TIME),
    Case(
        rescaled.rescaled_flow,
        {**LOSS_TIME, "width": 1e-3, "rtol": 1e-4, "atol": 1e-6},
        # The neurons of either sign agree at the start.
        {**BAD_LOSS_TIME, **STEPS, "width": POSITIVE_ONLY, "until_agreement": st.just(True)},
    ),
    Case(
        agreement.agreement_flow,
        {**LOSS_TIME, "rtol": 1e-4, "atol": 1e-6},
        {**BAD_LOSS_TIME, **STEPS, "network": BAD_LOSS_TIME["network"] | NO_REGIME},
    ),
    Case(neuron.neuron_flow, NEURONS, BAD_NEURONS),
    Case(
        neuron.angle_flow,
        NEURONS,
        {**BAD_NEURONS, "h0": BAD_NEURONS["h0"] | holding(NEURONS["h0"], NOT_POSITIVE)},
    ),
    # A neuron that dies before the last time.
    Case(
        neuron.angle_flow,
        {"h0": 1.0, "a0": -0.5, "times": [0.0, 9.0]},
        {"a0": st.floats(-9, -1.1)},
    ),
    Case(
        survey.align,
        {"inputs": INPUTS, "labels": LABELS, "rng": RNG, "m": 3, "extra": (W, SIGNS)},
        {
            "inputs": rows(INPUTS),
            "labels": BAD_LABELS,
            "rng": NOT_GENERATORS,
            "m": SIZES,
            "extra": rows(W).map(lambda w: (w, SIGNS))
            | vectors(SIGNS, NOT_SIGNS).map(lambda signs: (W, signs)),
        },
    ),
    Case(
        survey.adversaries,
        {"inputs": INPUTS, "labels": LABELS, "rng": RNG, "distances": DISTANCES},
        {
            "inputs": rows(INPUTS),
            "labels": BAD_LABELS | st.just(np.ones(3)),
            "rng": NOT_GENERATORS,
            "distances": BAD_DISTANCES | NOT_NUMBERS,
        },
    ),
    Case(
        survey.draw_problem,
        {"rng": RNG, "m": 2, "distances": DISTANCES},
        {"m": SIZES, "rng": NOT_GENERATORS, "distances": BAD_DISTANCES | NOT_GIVEN},
    ),
    Case(
        survey.flow_from,
        {**FLOWING, "until": 0.1},
        {"log_scale": ANY_NUMBER, "until": POSITIVE_ONLY, "slope": SLOPES},
    ),
    Case(
        survey.direction_error,
        {"flow": FLOW, "labels": LABELS, "shortfall": shortfall, "times": TIMES},
        {"labels": BAD_LABELS, "times": holding(TIMES, outside(0, 0.5))},
    ),
    Case(
        survey.lemma_ratios,
        {**FLOWING, "shortfall": shortfall, "stretch": 0.1},
        {"log_scale": ANY_NUMBER | st.floats(0, 9), "slope": SLOPES, "stretch": POSITIVE_ONLY},
    ),
]

MACHINERY = (
    "boundaries.held_drift",
    "boundaries.settle",
    "early.balanced_phase",
    "early.general_phase",
    "early.log_output_bound",
    "late.has_tail",
    "late.late_flow",
    "late.log_logistic",
    "late.log_time",
    "stiff.plain_flow",
    "stages.advance",
    "stages.crossing_times",
    "stages.halves",
    "stages.split",
)
MEASURES = ("count_illegal", "count_wrong_ends", "crossing_rates", "most_changes", "stage_ratios")
EXEMPT = {
    **{f"lib.flow.{name}": "arguments come checked from gradient_flow" for name in MACHINERY},
    **{f"lib.flow.survey.{name}": "takes a run of align, which has checked it" for name in MEASURES},
    "lib.flow.loss_time.loss_weights": "the margins are those of networks that were checked",
    "lib.flow.loss_time.steepness": "arguments come checked from checked_data",
}
