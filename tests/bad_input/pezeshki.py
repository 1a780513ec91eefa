"""Bad arguments of the duality and the closed forms of pezeshki2021, of tangent features and their flows."""

import numpy as np
import torch
from hypothesis import strategies as st

from lib import kernels
from lib.flow import responses
from lib.theory import decoupling, dual_forms, duality, starvation, two_cues
from tests.bad_input.cases import (
    NEGATIVE,
    NOT_FINITE,
    NOT_NUMBERS,
    NOT_POSITIVE,
    NOT_WHOLE,
    Case,
    holding,
    misshapen,
    outside,
)

PROBLEM = starvation.two_features(0.3, 2.0, 1.0, 0.5)
U, STRENGTHS, HALVES = PROBLEM.u, PROBLEM.strengths, np.full(2, 0.5)
REAL = NOT_NUMBERS | NOT_FINITE
POSITIVE = NOT_NUMBERS | NOT_POSITIVE | st.just(np.inf)
ONE_POSITIVE = POSITIVE | misshapen(1.0)
FROM_ZERO = NOT_NUMBERS | NEGATIVE | st.just(np.inf) | misshapen(1.0)
COUPLING = NOT_NUMBERS | outside(-1, 1) | st.sampled_from([-1.0, 1.0])
CHANCE = NOT_NUMBERS | outside(0, 1) | st.sampled_from([0.0, 1.0])
NOT_ORTHONORMAL = st.floats(0.01, 2).map(lambda x: np.add(U, [[x, 0], [0, 0]])) | st.just(np.ones((3, 2)))
BAD_U = NOT_NUMBERS | holding(U, NOT_FINITE) | st.sampled_from([U[0], U[:0]]) | NOT_ORTHONORMAL
SQUARE_U = BAD_U | st.just(np.eye(3)[:, :2])
VECTOR = NOT_NUMBERS | holding(HALVES, NOT_FINITE) | misshapen(HALVES)
SHARES = NOT_NUMBERS | holding(HALVES, outside(0, 1)) | misshapen(HALVES)
INSIDE = SHARES | holding(HALVES, st.sampled_from([0.0, 1.0]))
OFFSET = NOT_NUMBERS | holding(HALVES, NOT_FINITE) | st.just(np.ones(3)) | st.just(np.ones((1, 2)))
TOLERANCE = NOT_NUMBERS | outside(1e-15, 1) | misshapen(0.1)
TIMES = st.sampled_from([[], [1.0, 0.5], [0.0, 0.0], [-1.0, 1.0], 1.0, [0.0, np.inf], [np.nan], "abc"])
RTOL = NOT_NUMBERS | outside(1e-12, 1) | st.just(1.0)
FLOW = {"times": [0.0, 1.0], "rtol": 1e-8}
PAIR = {"delta": 0.3, "s1": [2.0, 3.0], "s2": 1.0, "ridge": 0.5}
ONE_FEATURE = duality.FeatureProblem(U[:, :1], STRENGTHS[:1], 0.5)
LINEAR = torch.nn.Linear(2, 1, dtype=torch.float64)


def is_given(value):
    return value is not None


CASES = [
    Case(
        duality.FeatureProblem,
        {"u": U, "strengths": STRENGTHS, "ridge": 0.5},
        {
            "u": BAD_U,
            "strengths": NOT_NUMBERS | holding(STRENGTHS, NEGATIVE) | misshapen(STRENGTHS),
            "ridge": ONE_POSITIVE,
        },
    ),
    Case(duality.primal_value, {"problem": PROBLEM, "coordinates": HALVES}, {"coordinates": VECTOR}),
    Case(
        duality.dual_value,
        {"problem": PROBLEM, "dual": HALVES, "offset": 0.0},
        {"dual": SHARES, "offset": OFFSET},
    ),
    *(
        Case(
            call,
            {"problem": PROBLEM, "offset": HALVES, "tolerance": 1e-10},
            {"offset": OFFSET, "tolerance": TOLERANCE},
        )
        for call in (duality.primal_fixed_point, duality.dual_fixed_point)
    ),
    Case(duality.dual_responses, {"problem": PROBLEM, "offset": HALVES}, {"offset": OFFSET}),
    Case(duality.truncated_fixed_point, {"problem": PROBLEM, "tolerance": 1e-10}, {"tolerance": TOLERANCE}),
    Case(dual_forms.entropy, {"probability": HALVES}, {"probability": NOT_NUMBERS | outside(0, 1)}),
    Case(
        dual_forms.tangent_bound,
        {"loss": "logistic", "slope": HALVES, "margin": 1.0},
        {"loss": st.sampled_from(["log", "", None, 1]), "slope": NOT_NUMBERS | outside(0, 1), "margin": REAL},
    ),
    *(
        Case(call, {"coupling": HALVES}, {"coupling": POSITIVE | holding(HALVES, NOT_POSITIVE)})
        for call in (dual_forms.lone_dual, dual_forms.truncation_error)
    ),
    Case(
        decoupling.decoupled_response,
        {"penalty": HALVES, "target": 0.0},
        {"penalty": POSITIVE, "target": REAL},
    ),
    Case(decoupling.decoupled_problem, {"u": U, "penalty": 0.5}, {"u": BAD_U, "penalty": ONE_POSITIVE}),
    Case(
        decoupling.decoupled_responses,
        {"u": U, "penalty": 0.5, "target": HALVES},
        {"u": BAD_U, "penalty": ONE_POSITIVE, "target": OFFSET},
    ),
    Case(starvation.rotation, {"delta": HALVES}, {"delta": COUPLING}),
    Case(
        starvation.two_features,
        {"delta": 0.3, "s1": 2.0, "s2": 1.0, "ridge": 0.5},
        {"delta": COUPLING | misshapen(0.3), "s1": FROM_ZERO, "s2": FROM_ZERO, "ridge": ONE_POSITIVE},
    ),
    Case(
        starvation.equal_strength_dual,
        {"strength": [1.0, 2.0], "ridge": 0.5},
        {"strength": POSITIVE, "ridge": POSITIVE},
    ),
    Case(
        starvation.equal_strength_responses,
        {"u": U, "strength": 1.0, "ridge": 0.5},
        {"u": SQUARE_U, "strength": ONE_POSITIVE, "ridge": ONE_POSITIVE},
    ),
    Case(
        starvation.permuted_dual,
        {"problem": duality.FeatureProblem(np.eye(2)[::-1], STRENGTHS, 0.5)},
        {"problem": st.floats(0.01, 0.99).map(lambda delta: starvation.two_features(delta, 2.0, 1.0, 0.5))},
    ),
    *(
        Case(call, PAIR, {"delta": REAL, "s1": POSITIVE, "s2": POSITIVE, "ridge": POSITIVE})
        for call in (starvation.perturbed_responses, starvation.perturbed_derivative)
    ),
    Case(
        starvation.response_derivatives,
        {"problem": PROBLEM, "dual": HALVES},
        {"dual": INSIDE.filter(is_given)},
    ),
    Case(
        starvation.starved_share,
        {"problem": PROBLEM, "raised": 0},
        {"raised": NOT_WHOLE | st.sampled_from([2, -1]), "problem": st.just(ONE_FEATURE)},
    ),
    Case(
        starvation.starvation_sign,
        {"delta": HALVES, "s1": 2.0, "s2": 1.0},
        {"delta": COUPLING, "s1": POSITIVE, "s2": POSITIVE},
    ),
    Case(
        responses.primal_flow,
        {"problem": PROBLEM, "start": HALVES, **FLOW},
        {"start": VECTOR.filter(is_given), "times": TIMES, "rtol": RTOL},
    ),
    Case(
        responses.decoupled_flow,
        {"u": U, "strengths": STRENGTHS, "penalty": 0.5, **FLOW},
        {
            "u": holding(U, NOT_FINITE) | NOT_ORTHONORMAL,
            "strengths": holding(STRENGTHS, NEGATIVE) | misshapen(STRENGTHS),
            "penalty": ONE_POSITIVE,
            "times": TIMES,
            "rtol": RTOL,
        },
    ),
    *(
        Case(
            call,
            {"problem": PROBLEM, "start": HALVES, **FLOW},
            {"start": INSIDE, "times": TIMES, "rtol": RTOL},
        )
        for call in (responses.dual_flow, responses.mirror_flow)
    ),
    Case(
        kernels.tangent_features,
        {"module": LINEAR, "inputs": torch.ones((1, 2), dtype=torch.float64)},
        {
            "module": st.just(torch.nn.Linear(2, 2, dtype=torch.float64)),
            "inputs": st.sampled_from(
                [torch.full((1, 2), torch.nan), torch.ones((0, 2)), np.ones((1, 2)), None]
            ),
        },
    ),
    Case(
        kernels.decompose,
        {"signed_features": U, "cutoff": 0.1},
        {
            "signed_features": NOT_NUMBERS | holding(U, NOT_FINITE) | st.sampled_from([U[0], 0 * U, U[:0]]),
            "cutoff": NOT_NUMBERS | outside(0, 1) | st.just(1.0),
        },
    ),
    Case(two_cues.cue_posteriors, {"colour": HALVES, "shape": 0.7}, {"colour": CHANCE, "shape": CHANCE}),
    Case(
        two_cues.penalised_weights,
        {"colour": 0.8, "shape": 0.7, "penalty": 1.0},
        {"colour": CHANCE | misshapen(0.5), "shape": CHANCE | misshapen(0.5), "penalty": FROM_ZERO},
    ),
    Case(
        two_cues.forgetting_flow,
        {"times": [0.0, 1.0], "ratio": 2.0, "colour": 0.8, "shape": 0.7, "penalty": 1.0},
        {
            "times": TIMES,
            "ratio": ONE_POSITIVE,
            "colour": CHANCE | misshapen(0.5),
            "shape": CHANCE | misshapen(0.5),
            "penalty": FROM_ZERO,
        },
    ),
    Case(
        two_cues.leading_ratio,
        {"colour": 0.8, "shape": 0.7, "penalty": 1.0},
        {
            "colour": CHANCE | misshapen(0.5) | st.floats(0.1, 0.7),
            "shape": CHANCE | misshapen(0.5) | st.floats(0.1, 0.5) | st.floats(0.8, 0.9),
            "penalty": FROM_ZERO | st.just(0.0),
        },
    ),
]
TAKES_A_PROBLEM = "takes nothing but a problem, which has been checked"
EXEMPT = {
    "lib.theory.duality.contraction_rate": TAKES_A_PROBLEM,
    "lib.theory.duality.relaxation_rates": TAKES_A_PROBLEM,
    "lib.theory.duality.primal_responses": TAKES_A_PROBLEM,
    "lib.theory.starvation.uncoupled_dual": TAKES_A_PROBLEM,
    "lib.theory.starvation.perturbed_dual": TAKES_A_PROBLEM,
    "lib.theory.starvation.square_loss_responses": TAKES_A_PROBLEM,
    "lib.theory.newton.damped_newton": "takes functions; called with checked problems",
    "lib.theory.newton.dual_newton": "called with checked problems",
}
