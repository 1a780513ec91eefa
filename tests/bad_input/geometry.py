"""Bad arguments of the geometry of data, neurons and decision boundaries."""

from types import SimpleNamespace

import numpy as np
from hypothesis import strategies as st

from lib import geometry, level_sets, separation
from lib.networks import TwoLayer
from tests.bad_input.cases import (
    NOT_FINITE,
    NOT_GENERATORS,
    NOT_NUMBERS,
    NOT_POSITIVE,
    NOT_SIGNS,
    NOT_WHOLE,
    Case,
    holding,
    misshapen,
)
from tests.bad_input.programs import BAD_INPUTS, BAD_LABELS, DATA, INPUTS, LABELS, matrices, vectors

SEPARABLE = {"inputs": np.array([[1.0, 0.1], [1.0, 0.5], [-1.0, 0.2]]), "labels": LABELS}
NEURONS = np.array([[1.0, 0.5], [0.5, 1.0]])
NOT_LABELS = NOT_NUMBERS | holding(LABELS, NOT_FINITE | st.just(0.0)) | misshapen(LABELS)
EVENTS = [SimpleNamespace(neuron=0, datum=2, entering=True)]
STRANGE = [
    SimpleNamespace(neuron=neuron, datum=datum, entering=True) for neuron, datum in ((2, 0), (0, 3), (-1, 0))
]
PATTERNS = np.array([[True, False, True]])
CURVE = np.array([[-1.0, 0.0], [0.5, 0.1], [1.0, 0.0]])
# Matrices that may have zero rows.
UNEVEN = NOT_NUMBERS | holding(NEURONS, NOT_FINITE) | st.just(NEURONS[0])
TOO_LONG = st.just(np.ones((2, 3)))
CURVES = st.sampled_from([[], [CURVE[0]], [CURVE[:, :1]], [CURVE, np.zeros((0, 2))]]) | holding(
    CURVE, NOT_FINITE
).map(lambda curve: [curve])
NOT_PLANAR = st.sampled_from(
    [TwoLayer(np.ones((2, 3)), np.ones(2)), TwoLayer(np.ones((1, 2, 2)), np.ones((1, 2)))]
)


def line(points):
    return points[:, 0]


CASES = [
    *(
        Case(call, SEPARABLE, {"inputs": BAD_INPUTS, "labels": NOT_LABELS})
        for call in (geometry.signed_cosines, geometry.least_signed_cosine)
    ),
    Case(
        geometry.require_orthogonally_separable,
        SEPARABLE,
        {
            "inputs": BAD_INPUTS
            | st.floats(1.0, 5.0).map(lambda x: np.array([[1.0, 0.1], [x, 0.5], [1.0, 0.2]])),
            "labels": NOT_LABELS | st.just(np.array([1.0, -1.0, 1.0])),
        },
    ),
    Case(
        geometry.cosine,
        {"u": NEURONS, "v": NEURONS[0]},
        {
            name: NOT_NUMBERS | holding(NEURONS, NOT_FINITE) | st.sampled_from([0 * NEURONS, np.ones(3), 1.0])
            for name in "uv"
        },
    ),
    Case(
        geometry.distance_to_cone,
        {"point": np.ones(2), "generators": INPUTS},
        {"point": vectors(np.ones(2)), "generators": BAD_INPUTS},
    ),
    Case(
        geometry.activation_patterns,
        {"w": NEURONS, "inputs": INPUTS},
        {"w": UNEVEN | TOO_LONG, "inputs": UNEVEN | TOO_LONG},
    ),
    Case(
        geometry.regions,
        {"patterns": PATTERNS, "labels": LABELS},
        {
            "patterns": NOT_NUMBERS | holding(PATTERNS, st.sampled_from([0.5, 2, np.nan])),
            "labels": NOT_LABELS,
        },
    ),
    Case(
        geometry.illegal_changes,
        {"events": EVENTS, "output_signs": np.array([1, -1]), "labels": LABELS},
        {
            "events": st.sampled_from(STRANGE).map(lambda event: [*EVENTS, event]),
            "output_signs": holding(np.ones(2), NOT_SIGNS) | NOT_NUMBERS,
            "labels": NOT_NUMBERS | holding(LABELS, NOT_FINITE | st.just(0.0)),
        },
    ),
    Case(
        separation.largest_cosine_outside,
        {**DATA, "rng": np.random.default_rng(0), "attempts": 1},
        {
            "inputs": BAD_INPUTS,
            "labels": BAD_LABELS,
            "rng": NOT_GENERATORS,
            "attempts": NOT_WHOLE | st.just(0),
        },
    ),
    Case(
        geometry.stable_rank,
        {"w": NEURONS},
        {
            "w": NOT_NUMBERS
            | holding(NEURONS, NOT_FINITE)
            | st.sampled_from([0 * NEURONS, NEURONS[0], NEURONS[:0]])
        },
    ),
    Case(geometry.largest_angle, {"neurons": NEURONS}, {"neurons": matrices(NEURONS)}),
    Case(
        geometry.agreement,
        {"neurons": NEURONS, "inputs": INPUTS},
        {"neurons": UNEVEN | TOO_LONG, "inputs": UNEVEN},
    ),
    Case(
        geometry.perfect_agreement_margin,
        {"w": NEURONS, "u": -NEURONS, **DATA},
        {
            "w": NOT_NUMBERS | holding(NEURONS, NOT_FINITE) | TOO_LONG,
            "u": NOT_NUMBERS | holding(NEURONS, NOT_FINITE) | TOO_LONG,
            "inputs": BAD_INPUTS,
            "labels": BAD_LABELS,
        },
    ),
    Case(
        level_sets.zero_level_set,
        {"function": line, "half_width": 1.0, "points": 5},
        {
            "function": st.sampled_from(
                [lambda x: x, lambda x: x[:, 0] + np.nan, lambda x: 1 + x[:, 0] ** 2]
            ),
            "half_width": NOT_POSITIVE | NOT_NUMBERS,
            "points": NOT_WHOLE | st.just(1),
        },
    ),
    Case(
        level_sets.distance_to_data,
        {"curves": [CURVE], "data": INPUTS},
        {
            "curves": CURVES,
            "data": NOT_NUMBERS | holding(INPUTS, NOT_FINITE) | st.sampled_from([INPUTS[0], INPUTS[:, :1]]),
        },
    ),
    Case(
        level_sets.bend,
        {"curves": [CURVE], "reach": 1.0},
        {"curves": CURVES | st.just([CURVE[:2]]), "reach": NOT_POSITIVE | NOT_NUMBERS},
    ),
    Case(
        level_sets.boundary_angles, {"network": TwoLayer(NEURONS, [1.0, -1.0], 0.5)}, {"network": NOT_PLANAR}
    ),
    Case(
        level_sets.boundary_bend,
        {"network": TwoLayer(NEURONS, [1.0, -1.0], 0.5)},
        {"network": NOT_PLANAR | st.just(TwoLayer(np.vstack([NEURONS, -NEURONS]), [1.0, -1.0, 1.0, -1.0]))},
    ),
]
EXEMPT = {"lib.geometry.cluster_radius": "its groups come without names; tested in test_clustering"}
