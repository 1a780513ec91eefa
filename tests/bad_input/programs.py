"""Bad arguments of the programs, of separability and of cones."""

import numpy as np
from hypothesis import strategies as st

from lib import least_norm, programs, separation
from lib.networks import TwoLayer
from tests.bad_input.cases import NOT_FINITE, NOT_NUMBERS, NOT_SIGNS, Case, holding, misshapen, outside

INPUTS = np.array([[1.0, 0.2], [2.0, 1.0], [-1.0, 0.3]])
LABELS = np.array([1.0, 1.0, -1.0])
DATA = {"inputs": INPUTS, "labels": LABELS}


def matrices(valid):
    """Return what no function takes for a matrix: other numbers, other shapes, none, and a zero row."""
    zero_row = np.vstack([valid[:-1], 0 * valid[:1]])
    bad = NOT_NUMBERS | holding(valid, NOT_FINITE) | st.sampled_from([valid[0], valid[:0], zero_row])
    return bad | st.just(valid[None])


def vectors(valid):
    return NOT_NUMBERS | holding(valid, NOT_FINITE) | misshapen(valid)


def surrounding(weights):
    """Return inputs that no hyperplane separates under the labels above."""
    return LABELS[:, None] * np.vstack([INPUTS[:2], -np.array(weights) @ INPUTS[:2]])


NOT_SEPARABLE = st.lists(st.floats(0.1, 1), min_size=2, max_size=2).map(surrounding)
BAD_INPUTS = matrices(INPUTS)
BAD_LABELS = holding(LABELS, NOT_SIGNS) | misshapen(LABELS) | NOT_NUMBERS
ONE_CLASS = st.sampled_from([np.ones(3), -np.ones(3)])
PROGRAM = {"inputs": BAD_INPUTS | NOT_SEPARABLE, "labels": BAD_LABELS | ONE_CLASS}
SLOPES = NOT_NUMBERS | outside(0, 1) | misshapen(0.5)
NETWORK = TwoLayer(np.array([[1.0, 0.1], [-1.0, 0.2]]), np.array([1.0, -1.0]), 0.1)

CASES = [
    Case(
        least_norm.least_norm,
        {"rows": INPUTS * LABELS[:, None], "bounds": np.ones(3)},
        {
            "rows": matrices(INPUTS) | NOT_SEPARABLE.map(lambda x: LABELS[:, None] * x),
            "bounds": vectors(LABELS),
        },
    ),
    Case(
        least_norm.certify,
        {"rows": INPUTS, "bounds": np.ones(3), "x": np.ones(2), "duals": np.ones(3)},
        {
            "rows": NOT_NUMBERS | holding(INPUTS, NOT_FINITE) | st.just(INPUTS[0]),
            "bounds": vectors(LABELS),
            "x": vectors(np.ones(2)),
            "duals": vectors(LABELS),
        },
    ),
    Case(
        least_norm.nonnegative_least_squares,
        {"matrix": INPUTS, "target": np.ones(3)},
        {"matrix": NOT_NUMBERS | holding(INPUTS, NOT_FINITE) | st.just(INPUTS[0]), "target": vectors(LABELS)},
    ),
    Case(separation.largest_margin, {"points": INPUTS}, {"points": BAD_INPUTS}),
    Case(separation.separation, DATA, {"inputs": BAD_INPUTS, "labels": BAD_LABELS}),
    Case(separation.labelled_data, DATA, {"inputs": BAD_INPUTS, "labels": BAD_LABELS}),
    Case(
        separation.project_on_cone,
        {"point": np.ones(2), "generators": INPUTS},
        {"point": vectors(np.ones(2)), "generators": BAD_INPUTS},
    ),
    Case(programs.linear_svm, DATA, PROGRAM),
    *(
        Case(
            call,
            {**DATA, "slope": 0.3},
            {"inputs": BAD_INPUTS, "labels": BAD_LABELS | ONE_CLASS, "slope": SLOPES},
        )
        for call in (programs.agreement_features, programs.agreement_gram)
    ),
    *(
        Case(call, {**DATA, "slope": 0.3}, {**PROGRAM, "slope": SLOPES})
        for call in (programs.agreement_program, programs.extended_agreement_program)
    ),
    Case(
        programs.cell_program,
        {"network": NETWORK, **DATA},
        {
            **PROGRAM,
            "inputs": BAD_INPUTS,
            "network": st.sampled_from(
                [
                    TwoLayer(np.ones((2, 3)), np.ones(2)),
                    TwoLayer(np.ones((1, 2, 2)), np.ones((1, 2))),
                    TwoLayer(-np.ones((2, 2)), np.ones(2)),
                    TwoLayer(np.array([[1.0, 0.1]]), -np.ones(1), 0.1),
                ]
            ),
        },
    ),
    *(
        Case(call, DATA, {"inputs": BAD_INPUTS, "labels": BAD_LABELS | ONE_CLASS})
        for call in (programs.flipping_margins, programs.flippable_points)
    ),
]
