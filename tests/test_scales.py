"""Right at every scale: how results grow with each argument, with all of it and with each row by itself.

A law says by which powers of a factor some arguments are multiplied, and by which the results then are.
Factors are powers of four, whose roots are exact too.
"""

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lib.data.synthetic import cone_data, orthonormal_inputs
from lib.flow import gradient_flow
from lib.flow.alignment import alignment_phase
from lib.flow.weights import weights_flow
from lib.geometry import level_sets, patterns, programs
from lib.models import deep
from lib.models.two_layer import Start, TwoLayer
from lib.theory import alignment, dual, orthogonal
from lib.training.descent import gradient_descent, loss_scaled_descent, spherical_descent
from lib.training.losses import EXPONENTIAL, HINGE, LOGISTIC, SQUARE

LIB = Path(__file__).parents[1] / "lib"
FACTORS = [4.0**k for k in (-33, -13, 13, 33)]  # 1e-20 to 1e20
DECADES = np.tile(4.0 ** np.array([-33, 0, 33, 13, -13, 5, -5, 20]), 5)  # of rows beside each other
HUNDREDS = np.tile(4.0 ** np.array([-333, 0, 13, -33, 333, -300, 5, -20]), 5)  # 1e-200 beside 1 and 1e200


@dataclass(frozen=True)
class Law:
    """The powers of arguments and of results, and the factors of rows where these may differ."""

    powers: Mapping[str, float]
    results: Sequence[float]
    rows: np.ndarray | None


def law(results, rows=None, /, **powers):
    return Law(powers, [results] if np.isscalar(results) else results, rows)


@dataclass(frozen=True)
class Case:
    """A function of named arguments, an instance in general position, laws, and the results if not all."""

    function: Callable[..., Any]
    arguments: Mapping[str, Any]
    laws: Sequence[Law]
    fields: str = ""
    rtol: float = 1e-12

    def results(self, arguments):
        found = self.function(**arguments)
        if self.fields:
            found = [getattr(found, name) for name in self.fields.split()]
        return [np.asarray(each, float) for each in (found if isinstance(found, tuple | list) else [found])]


def times(factor, power, value):
    """The value, or each of its rows, times a power of the factor, or of that of the row."""
    value = np.asarray(value, dtype=float)
    if power and np.ndim(factor):
        factor = factor[: len(value)].reshape(-1, *[1] * (value.ndim - 1))
    return value * factor**power if power else value


RNG = np.random.default_rng(0)
X, Y = cone_data(3, 2, 4, 0.2, rng=RNG, norms=(0.5, 2.0))
W, A, SIGNS = RNG.standard_normal((6, 4)), RNG.standard_normal(6), np.array([1.0, -1, 1, 1, -1, -1])
U, FORCES = RNG.standard_normal((7, 4)) + 0.4, RNG.standard_normal(5)
ROWS, BOUNDS = RNG.standard_normal((9, 5)) + 1, RNG.uniform(-1, 3, 9)
CELL = np.vstack([X.T @ Y + 0.3 * W[0], -X.T @ Y + 0.3 * W[1], X.T @ Y])  # each sees data of its side alone
FIRST, SECOND, THIRD = (RNG.standard_normal(shape) for shape in ((5, 4), (3, 5), (1, 3)))
MANY, MANY_SIGNS = RNG.standard_normal((40, 7)), np.resize([1.0, -1.0], 40)
CLOUD, CLASSES, SHARES = RNG.standard_normal((6, 3)), SIGNS[::-1], RNG.uniform(0.3, 2, 6)
LINE = {
    "inputs": np.column_stack([[-1.5, -1, 0, 0.25, 2], np.ones(5)]),
    "labels": np.array([0.7, -0.3, -0.3, 0.4, 0.2]),
}
FRAME = {
    "inputs": orthonormal_inputs(5, 7, rng=RNG) * [[2.0], [2.0], [0.5], [0.5], [0.5]],
    "labels": np.array([1.0, 0.7, -0.6, -0.8, -0.3]),
}


def boundary(function):
    arguments = {"w": RNG.standard_normal((6, 2)), "a": np.repeat([1.0, -1.0], 3)}
    laws = [law(0, w=1), law(0, a=1), law(0, DECADES, w=1, a=-1)]
    return Case(lambda w, a: function(TwoLayer(w, a, 0.1)), arguments, laws)


def plateaus(norms, inputs, labels):
    start = Start(patterns.unit_vectors(MANY), np.log(norms), MANY_SIGNS)
    found = orthogonal.two_plateaus(start, inputs, labels)
    return found.rates, found.heights, found.half_times, np.exp(found.idle_log_norms), found.idle_distance


def grouped(**arguments):
    groups = orthogonal.aligned_groups(signs=MANY_SIGNS, **arguments)
    return [np.isin(np.arange(40), group) for group in groups]


def fixed_points(strengths, ridge):
    problem = dual.FeatureProblem(np.linalg.svd(U)[0][:, :4], strengths, ridge)
    return problem.coupling, dual.primal_responses(problem)


def network(w, a, inputs, slopes):
    found = TwoLayer(w, a, 0.3)
    return found(inputs), *found.gradients(inputs, slopes)


def start(w, a):
    found = Start.of(TwoLayer(w, a))
    return found.directions, np.exp(found.log_norms), np.exp(found.log_outputs)


def descent(w, a, inputs, labels, step):
    run = gradient_descent(TwoLayer(w, a, 0.3), inputs, labels, SQUARE, step=step, steps=30)
    return run.network.w, run.network.a


def loss_scaled(w, a, inputs, step):
    run = loss_scaled_descent(TwoLayer(w, a, 0.3), inputs, Y, step=step, steps=30)
    return run.network.w, np.exp(run.memory)


def spherical(norms, inputs, labels, step):
    start = Start(patterns.unit_vectors(W), np.log(norms), SIGNS)
    end = spherical_descent(start, inputs, labels, SQUARE, step=step, steps=30).network
    return end.directions, np.exp(end.log_norms)


def phase(w, inputs, forces):
    found = alignment_phase(w, SIGNS, inputs, forces, sliding=True)
    return found.events.time, *found.asymptotics, found.patterns


def flow(loss, train="both", slope=0.0, *, balanced=False):
    """The end of a flow by its weights, outputs and loss, and the pairs that changed."""

    def results(w, a, inputs, labels, weights, until):
        network = TwoLayer(w, np.sign(a) * patterns.lengths(w) if balanced else a, slope)
        options = {"train": train, "weights": weights, "reduction": "sum", "until": float(until)}
        run = gradient_flow(network, inputs, labels, loss, **options)
        assert run.events and run.reason.name in ("TIME", "LOSS"), run.stopped
        pairs, end = sorted(event[1:] for event in run.events), run.network_at()
        return end.w, end.a, run.outputs()[-1], run.loss()[-1], pairs

    arguments = {"w": 0.4 * W[:, :3], "a": 0.4 * A, "inputs": CLOUD, "labels": CLASSES, "weights": SHARES}
    laws = [law([0, 0, 0, 1, 0], weights=1, until=-1)]
    if train == "both":
        laws.append(law([-0.5, -0.5, 0, 0, 0], inputs=1, w=-0.5, a=-0.5, until=-1))
    else:
        laws.append(law([-1, 0, 0, 0, 0], inputs=1, w=-1, until=-2))
        laws.append(law([1, -1, 0, 0, 0], w=1, a=-1, until=2))
    if loss is SQUARE:
        laws.append(law([0, 0, 1, 0, 0], DECADES, inputs=1, labels=1, weights=-2))
    if loss is SQUARE and train == "both":
        laws.append(law([1, 1, 2, 4, 0], w=1, a=1, labels=2, until=-2))
    # Steps err by 1e-10 of the weights, and losses may be some 1e-4 of what they were.
    return Case(results, {**arguments, "until": 1.0}, laws, rtol=1e-6)


def flow_in_a_span(inputs, labels, weights):
    network, options = TwoLayer(0.2 * MANY[:5], 0.4 * A[:5]), {"weights": weights, "reduction": "sum"}
    run = gradient_flow(network, inputs, labels, SQUARE, until=2.0, **options)
    return run.network_at().w, run.outputs()[-1]


def late_flow(w, a, inputs, end):
    run = gradient_flow(TwoLayer(w, a), inputs, [1, -1], LOGISTIC, log_until=float(np.log(end)))
    return run.network_at().w, run.outputs()[-1], run.reason.name == "TIME"


def plain_flow(w, a, inputs, times, atol):
    end = weights_flow(TwoLayer(w, a, 0.3), inputs, Y, LOGISTIC, times, atol=atol)
    return end.w[-1], end.a[-1]


CASES = {
    "lengths": Case(patterns.lengths, {"vectors": W}, [law(1, HUNDREDS, vectors=1)]),
    "unit_vectors": Case(patterns.unit_vectors, {"vectors": W}, [law(0, HUNDREDS, vectors=1)]),
    "least_signed_cosine": Case(
        partial(patterns.least_signed_cosine, labels=Y), {"inputs": X}, [law(0, HUNDREDS, inputs=1)]
    ),
    "cosine": Case(patterns.cosine, {"u": W, "v": U[0]}, [law(0, HUNDREDS, u=1), law(0, v=1)]),
    "cluster_radius": Case(lambda w, u: patterns.cluster_radius(w, u), {"w": W, "u": U}, [law(1, w=1, u=1)]),
    "largest_angle": Case(patterns.largest_angle, {"neurons": W}, [law(0, HUNDREDS, neurons=1)]),
    "least_norm": Case(
        programs.least_norm,
        {"rows": ROWS, "bounds": BOUNDS},
        [
            law([-1, -2, -1], rows=1),
            law([1, 1, 1], bounds=1),
            law([0, -1, 0], HUNDREDS, rows=1, bounds=1),
        ],
        "x duals norm",
    ),
    "separation": Case(
        partial(programs.separation, labels=Y),
        {"inputs": X},
        [law([0, 1, 0, 1], inputs=1)],
        "normal margin weights bound",
    ),
    **{
        solve.func.__name__: Case(solve, {"inputs": X}, [law([-1, -2, -1], inputs=1)], "x duals norm")
        for solve in (
            partial(programs.linear_svm, labels=Y),
            partial(programs.agreement_program, labels=Y, slope=0.3),
            partial(programs.extended_agreement_program, labels=Y, slope=0.3),
        )
    },
    "agreement_features": Case(
        partial(programs.agreement_features, labels=Y, slope=0.3),
        {"inputs": X},
        [law(1, HUNDREDS, inputs=1)],
    ),
    "cell_program": Case(
        lambda w, a, inputs: programs.cell_program(TwoLayer(w, a, 0.3), inputs, Y),
        {"w": CELL, "a": np.array([1.0, -0.7, 0.4]), "inputs": X},
        [law([0, 0], HUNDREDS, w=1), law([-1, -1], a=1), law([-1, -1], inputs=1)],
        "x norm",
    ),
    "minimum_norm_interpolation": Case(
        programs.minimum_norm_interpolation,
        LINE,
        [law([-1, -1], inputs=1), law([1, 1], labels=1), law([0, 0], DECADES, inputs=1, labels=1)],
        "value lower_bound",
        1e-6,
    ),
    "largest_response": Case(
        partial(programs.largest_response, slope=0.3),
        {"inputs": X, "duals": FORCES},
        [law(1, inputs=1), law(1, duals=1), law(0, DECADES, inputs=1, duals=-1)],
    ),
    "boundary_angles": boundary(level_sets.boundary_angles),
    "boundary_bend": boundary(level_sets.boundary_bend),
    "distance_to_data": Case(
        lambda curve, data: level_sets.distance_to_data([curve, 3 * curve], data),
        {"curve": CLOUD[:4, :2], "data": CLOUD[4:, :2]},
        [law(1, curve=1, data=1)],
    ),
    "bend": Case(
        lambda x1: level_sets.bend([np.column_stack([x1, np.linspace(-1.2, 1.2, 6)])]),
        {"x1": A},
        [law(1, x1=1)],
    ),
    "zero_level_set": Case(
        lambda size, half_width: level_sets.zero_level_set(
            lambda x: size * ((x / half_width) ** 2 @ [1.0, 2.0] - 0.7), half_width=half_width
        ),
        {"size": 1.0, "half_width": 2.0},
        [law(0, size=1), law(1, half_width=1)],
    ),
    "TwoLayer": Case(
        network,
        {"w": W, "a": A, "inputs": X, "slopes": FORCES},
        [
            law([1, 0, 1], w=1),
            law([1, 1, 0], a=1),
            law([1, 1, 1], inputs=1),
            law([0, 1, 1], slopes=1),
            law([0, -1, 1], DECADES, w=1, a=-1),
        ],
    ),
    "Start": Case(start, {"w": W, "a": A}, [law([0, 1, 0], HUNDREDS, w=1), law([0, 0, 1], HUNDREDS, a=1)]),
    "outputs": Case(
        lambda inputs, **layers: deep.outputs([*layers.values()], inputs),
        {"inputs": X, "a": FIRST, "b": SECOND, "c": THIRD},
        [law(1, **{name: 1}) for name in ("inputs", "a", "b", "c")],
    ),
    "gradients": Case(
        lambda inputs, **layers: deep.gradients([*layers.values()], inputs, Y, LOGISTIC.slope),
        {"inputs": X, "a": FIRST, "b": SECOND, "c": THIRD},
        [law([1, 0, 0], inputs=1, a=-1), law([0, -1, 1], b=1, c=-1)],
    ),
    "class_sums": Case(partial(alignment.class_sums, labels=Y), {"inputs": X}, [law([1, 1], inputs=1)]),
    "cap_constant": Case(partial(alignment.cap_constant, labels=Y), {"inputs": X}, [law(0, inputs=1)]),
    "start_constant": Case(
        partial(alignment.start_constant, signs=SIGNS, labels=Y),
        {"w": W, "inputs": X},
        [law(0, HUNDREDS, w=1), law(0, inputs=1)],
    ),
    "FeatureProblem": Case(
        fixed_points,
        {"strengths": np.linalg.svd(U)[1], "ridge": 0.3},
        [law([0] * 2, strengths=1, ridge=2)],
        rtol=1e-9,
    ),
    "class_directions": Case(
        orthogonal.class_directions,
        LINE,
        [law([1, 1], inputs=1), law([1, 1], labels=1), law([0, 0], DECADES, inputs=1, labels=-1)],
    ),
    "class_heights": Case(
        orthogonal.class_heights,
        LINE,
        [law([-1, -1], inputs=1), law([1, 1], labels=1), law([0, 0], HUNDREDS, inputs=1, labels=1)],
    ),
    "minimum_squared_norm": Case(
        orthogonal.minimum_squared_norm, LINE, [law(-1, inputs=1), law(1, labels=1)]
    ),
    "aligned_groups": Case(
        grouped,
        {"directions": MANY, **FRAME},
        [law([0, 0], HUNDREDS, **{name: 1}) for name in ("directions", "inputs", "labels")],
    ),
    "two_plateaus": Case(
        plateaus,
        {"norms": np.full(40, 1e-10), **FRAME},
        [
            law([1, -1, -1, -0.5, -0.5], inputs=1, norms=-0.5),
            law([1, 1, -1, 0.5, 0.5], labels=1, norms=0.5),
        ],
    ),
    "largest_epsilon": Case(orthogonal.largest_epsilon, {"labels": FRAME["labels"]}, [law(0, labels=1)]),
    "gradient_descent": Case(
        descent,
        {"w": W, "a": A, "inputs": X, "labels": Y, "step": 0.05},
        [law([1, 1], w=1, a=1, labels=2, step=-2), law([0, 0], inputs=1, labels=1, step=-2)],
    ),
    "loss_scaled_descent": Case(
        loss_scaled,
        {"w": W, "a": A, "inputs": X, "step": 0.05},
        [law([1, 2], w=1, a=-1, step=2), law([-1, -2], w=-1, inputs=1, step=-2)],
    ),
    "spherical_descent": Case(
        spherical,
        {"norms": np.abs(A), "inputs": X, "labels": Y, "step": 0.05},
        [law([0, 1], norms=1, labels=2, step=-2), law([0, -0.5], norms=-0.5, inputs=1, step=-1)],
    ),
    "alignment_phase": Case(
        phase,
        {"w": W, "inputs": X, "forces": FORCES},
        [
            law([0, 0, 0, 0], HUNDREDS, w=1),
            law([-1, 1, 0, 0], inputs=1),
            law([-1, 1, 0, 0], forces=1),
            law([0, 0, 0, 0], DECADES, inputs=1, forces=-1),
        ],
    ),
    "gradient_flow": flow(SQUARE, slope=0.3),
    "gradient_flow of one layer": flow(SQUARE, "first"),
    "gradient_flow of a balanced start": flow(EXPONENTIAL, balanced=True),
    "gradient_flow of the hinge loss": flow(HINGE),
    "gradient_flow of one layer and the logistic loss": flow(LOGISTIC, "first", slope=0.3),
    "gradient_flow in the span of data": Case(
        flow_in_a_span,
        {"inputs": RNG.standard_normal((3, 7)), "labels": A[3:], "weights": SHARES[:3]},
        [law([0, 1], DECADES, inputs=1, labels=1, weights=-2)],
        rtol=1e-8,
    ),
    "gradient_flow up to late times": Case(
        late_flow,
        {"w": [[1, 0.2], [-0.3, -1]], "a": [1.0, -1.0], "inputs": [[1, 0.3], [0.2, 1]], "end": 1e30},
        [law([-0.5, 0, 0], inputs=1, w=-0.5, a=-0.5, end=-1)],
        rtol=1e-7,
    ),
    "weights_flow": Case(
        plain_flow,
        {"w": W, "a": A, "inputs": X, "times": [0.0, 0.5, 1.0], "atol": 1e-13},
        [law([-0.5, -0.5], inputs=1, w=-0.5, a=-0.5, times=-1, atol=-0.5)],
        rtol=1e-8,
    ),
}


@pytest.mark.parametrize(
    ("name", "k"), [(name, k) for name, case in CASES.items() for k in range(len(case.laws))]
)
def test_results_grow_with_the_arguments_by_their_powers(name, k):
    case, law = CASES[name], CASES[name].laws[k]
    before = case.results(case.arguments)
    for factor in [*FACTORS, *([] if law.rows is None else [law.rows])]:
        moved = {key: times(factor, law.powers.get(key, 0), value) for key, value in case.arguments.items()}
        for result, power, wanted in zip(case.results(moved), law.results, before, strict=True):
            slack = case.rtol * np.abs(wanted).max(initial=0.0)
            np.testing.assert_allclose(times(factor, -power, result), wanted, rtol=case.rtol, atol=slack)


def test_hundreds_of_events_in_a_row_are_no_accumulation_in_any_unit_of_time():
    angles = np.radians(np.append(80.0, np.linspace(50, 130, 210)))  # of data whose boundaries are passed
    inputs, weights = np.column_stack([np.cos(angles), np.sin(angles)]), np.append(1.0, np.full(210, 1e-6))
    first = TwoLayer([[0.1 * np.cos(angles[0]), -0.1 * np.sin(angles[0])]], [0.1], 1.0)
    options = {"weights": 1e20 * weights, "reduction": "sum", "until": 6e-20}
    run = gradient_flow(first, inputs, np.ones(211), SQUARE, **options)
    assert run.stopped == "time reached 6e-20" and len(run.events) > 200


# They have no scale, draw, do not compute, or stand in a case of another name.
WITHOUT = """
cross_entropy examples largest_flip linear_region draw_mlps gradient_function
grouped_start inverse_log_integral log_integral log_logistic of_margin over_environments polished_root
primal_responses regions rotation run_steps seed_generators sharp_factor spectral_decoupling
tangent_features train two_features
"""


def test_every_public_function_has_a_law_or_a_reason_to_have_none():
    """Of the flow, those that one calls; the end of an agreement regime has its law in its own tests."""
    files = [
        path for part in ("geometry", "models", "theory", "training") for path in (LIB / part).glob("*.py")
    ]
    files += [LIB / "flow" / name for name in ("gradient.py", "alignment.py", "weights.py")]
    bodies = [node for path in files for node in ast.parse(path.read_text(encoding="utf-8")).body]
    public = {node.name for node in bodies if isinstance(node, ast.FunctionDef) and node.name[0] != "_"}
    assert public <= {*CASES, *WITHOUT.split()}
