"""Bad arguments of the closed forms for square loss on orthogonal inputs."""

import numpy as np
from hypothesis import strategies as st

from lib.networks import TwoLayer
from lib.theory import (
    greedy,
    local_convergence,
    orthogonal_alignment,
    orthogonal_data,
    plateau_phases,
    plateaus,
    start_probabilities,
)
from tests.bad_input.cases import (
    NEGATIVE,
    NOT_FINITE,
    NOT_NUMBERS,
    NOT_POSITIVE,
    NOT_SIGNS,
    Case,
    holding,
    misshapen,
    outside,
)

INPUTS, LABELS = np.eye(3), np.array([2.0, 1.0, -1.0])
DIRECTIONS = np.array([[0.6, 0.8, 0.0], [0.6, 0.0, 0.8]])
LOG_NORMS, SIGNS = np.array([-50.0, -60.0]), np.array([1.0, -1.0])
NETWORK = TwoLayer([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]], [1.0, -1.0])

TILTED = st.builds(
    lambda size, sign: INPUTS + sign * size * np.eye(3, k=1), st.floats(1e-6, 5), st.sampled_from([-1, 1])
)
NOT_DATA = (
    NOT_NUMBERS | holding(INPUTS, NOT_FINITE) | st.sampled_from([INPUTS[0], INPUTS[None], np.eye(4, 3)])
)
NOT_ORTHOGONAL = NOT_DATA | TILTED | st.just(INPUTS * np.array([1.0, 0.0, 1.0]))
NOT_ORTHONORMAL = NOT_ORTHOGONAL | st.just(INPUTS * np.array([1.0, 1.01, 1.0]))
NOT_REAL = NOT_NUMBERS | holding(LABELS, NOT_FINITE) | misshapen(LABELS)
NOT_LABELS = NOT_REAL | holding(LABELS, st.just(0.0)) | st.just(np.abs(LABELS))
ONLY_LABELS = NOT_NUMBERS | holding(LABELS, NOT_FINITE | st.just(0.0)) | st.just(np.abs(LABELS))
NOT_VECTORS = NOT_NUMBERS | holding(DIRECTIONS, NOT_FINITE) | misshapen(DIRECTIONS)
NOT_UNIT = NOT_VECTORS | st.builds(lambda size: size * DIRECTIONS, st.floats(0, 0.999) | st.floats(1.001, 9))
NOT_ALL_SIGNS = NOT_NUMBERS | holding(SIGNS, NOT_SIGNS) | misshapen(SIGNS)
NOT_COUNTS = NOT_NUMBERS | st.sampled_from([0, -3, 2.5, np.nan, np.inf])
NOT_EPSILON = outside(0, 1) | st.just(0.0) | st.just(1.0) | NOT_NUMBERS
NOT_LOG_SCALE = st.floats(min_value=0) | NOT_NUMBERS | st.just(np.nan)

DATA = {"inputs": INPUTS, "labels": LABELS}
START = {"directions": DIRECTIONS, "signs": SIGNS}
COUNTS = {"n_positive": 3, "n_negative": 2, "m": 10}
WIDTH = {"n_positive": 3, "n_negative": 2, "probability": 0.9}
LEMMA_16 = {"times": 1.0, "start": 1.0, "a": 1.0, "b": 1.0, "c": 1.0}

CASES = [
    Case(orthogonal_data.lengths, {"vectors": INPUTS}, {"vectors": holding(INPUTS, NOT_FINITE)}),
    Case(
        orthogonal_data.check_orthogonal,
        {"inputs": INPUTS, "rtol": 1e-9},
        {"inputs": NOT_ORTHOGONAL, "rtol": NEGATIVE | st.just(1.0) | NOT_NUMBERS},
    ),
    Case(
        orthogonal_data.active_inputs,
        {"directions": DIRECTIONS, "inputs": INPUTS},
        {
            "directions": NOT_NUMBERS | holding(DIRECTIONS, NOT_FINITE) | st.just(DIRECTIONS[0]),
            "inputs": NOT_NUMBERS | holding(INPUTS, NOT_FINITE) | st.sampled_from([INPUTS[0], np.eye(2)]),
        },
    ),
    Case(orthogonal_data.check_labels, {"labels": LABELS}, {"labels": ONLY_LABELS}),
    Case(orthogonal_data.class_directions, DATA, {"inputs": NOT_DATA, "labels": NOT_REAL}),
    *(
        Case(call, DATA, {"inputs": NOT_ORTHOGONAL, "labels": NOT_REAL})
        for call in (
            orthogonal_data.class_heights,
            orthogonal_data.minimum_squared_norm,
            orthogonal_data.minimum_norm_multipliers,
            orthogonal_data.turning_angles,
        )
    ),
    Case(
        orthogonal_data.minimum_norm_network,
        DATA,
        {"inputs": NOT_ORTHOGONAL, "labels": NOT_REAL | st.just(np.zeros(3))},
    ),
    Case(
        orthogonal_data.single_cluster_squared_norm,
        {"labels": LABELS, "slope": 0.5},
        {"labels": ONLY_LABELS, "slope": outside(0, 1) | st.just(0.0)},
    ),
    Case(
        orthogonal_alignment.orthogonal_alignment,
        {**START, "inputs": INPUTS, "forces": LABELS},
        {"directions": NOT_UNIT, "signs": NOT_ALL_SIGNS, "inputs": NOT_ORTHOGONAL, "forces": NOT_REAL},
    ),
    Case(
        plateaus.aligned_groups,
        {**START, **DATA},
        {"directions": NOT_VECTORS, "signs": NOT_ALL_SIGNS, "inputs": NOT_DATA, "labels": NOT_REAL},
    ),
    Case(
        plateaus.two_plateaus,
        {**START, **DATA, "log_norms": LOG_NORMS},
        {
            "directions": NOT_UNIT,
            "log_norms": NOT_NUMBERS | holding(LOG_NORMS, NOT_FINITE) | misshapen(LOG_NORMS),
            "signs": NOT_ALL_SIGNS,
            "inputs": NOT_ORTHOGONAL | st.just(INPUTS * np.array([1.0, 1.5, 1.0])),
            "labels": NOT_LABELS,
        },
    ),
    Case(plateaus.largest_epsilon, {"labels": LABELS}, {"labels": ONLY_LABELS}),
    Case(
        greedy.greedy_limit,
        {**START, **DATA},
        {
            "directions": NOT_VECTORS,
            "signs": NOT_ALL_SIGNS,
            "inputs": NOT_ORTHONORMAL,
            "labels": NOT_REAL | holding(LABELS, st.just(0.0)),
        },
    ),
    *(
        Case(
            call,
            {"labels": LABELS, "epsilon": 0.1, "log_scale": [-10.0, -100.0]},
            {"labels": ONLY_LABELS, "epsilon": NOT_EPSILON, "log_scale": NOT_LOG_SCALE},
        )
        for call in (plateau_phases.phase_times, plateau_phases.lemma_bounds)
    ),
    Case(
        plateau_phases.lemma_bounds,
        {"labels": LABELS, "epsilon": 0.1, "log_scale": -10.0, "largest": 2.0, "least": 0.5},
        {"largest": NOT_POSITIVE, "least": NOT_POSITIVE},
    ),
    Case(
        plateau_phases.sharp_exponents,
        {"labels": LABELS, "epsilon": 0.1},
        {"labels": ONLY_LABELS, "epsilon": NOT_EPSILON},
    ),
    Case(
        plateau_phases.saddle_loss,
        {"labels": LABELS, "log_gap": -1.0},
        {"labels": ONLY_LABELS, "log_gap": NOT_NUMBERS | st.sampled_from([np.nan, np.inf])},
    ),
    Case(plateau_phases.saddle_curvature, {"labels": LABELS}, {"labels": ONLY_LABELS}),
    *(
        Case(call, DATA, {"inputs": NOT_ORTHOGONAL, "labels": NOT_LABELS})
        for call in (local_convergence.tangent_eigenvalues, local_convergence.local_gradient_constant)
    ),
    Case(
        local_convergence.gradient_inequality,
        {"network": NETWORK, **DATA},
        {
            "network": st.sampled_from(
                [
                    TwoLayer(NETWORK.w, 2 * NETWORK.a),
                    TwoLayer(NETWORK.w, NETWORK.a, 0.5),
                    TwoLayer(NETWORK.w[:, :2], NETWORK.a),
                ]
            ),
            "inputs": NOT_ORTHONORMAL,
            "labels": NOT_LABELS,
        },
    ),
    *(
        Case(
            call,
            LEMMA_16,
            {name: (NOT_POSITIVE if name == "a" else NEGATIVE) | NOT_NUMBERS for name in LEMMA_16},
        )
        for call in (
            local_convergence.integral_inequality_bound,
            local_convergence.integral_inequality_solution,
        )
    ),
    *(
        Case(call, COUNTS, dict.fromkeys(COUNTS, NOT_COUNTS))
        for call in (start_probabilities.groups_probability, start_probabilities.coverage_probability)
    ),
    *(
        Case(
            call,
            WIDTH,
            {
                "n_positive": NOT_COUNTS,
                "n_negative": NOT_COUNTS,
                "probability": NOT_NUMBERS | outside(0, 1) | st.sampled_from([0.0, 1.0]),
            },
        )
        for call in (start_probabilities.width_needed, start_probabilities.coverage_width)
    ),
    Case(
        start_probabilities.seen_probability,
        {"inputs": INPUTS},
        {"inputs": NOT_NUMBERS | holding(INPUTS, NOT_FINITE) | st.just(np.eye(4)) | st.just(0 * INPUTS)},
    ),
]
EXEMPT = {"lib.theory.orthogonal_data.same_length": "its arguments are named by the caller"}
