"""The checkers of arguments, and bad input at the doors: errors name the argument and what is allowed."""

import re
from decimal import Decimal

import numpy as np
import pytest

from experiments.registry import find
from lib import checks
from lib.data.synthetic import cone_data, orthonormal_inputs, separable_data
from lib.flow import gradient_flow
from lib.flow.alignment import alignment_phase
from lib.geometry import programs
from lib.models.mlps import draw_mlps, seed_generators
from lib.models.two_layer import Start, TwoLayer
from lib.training.descent import gradient_descent
from lib.training.losses import EXPONENTIAL, LOGISTIC, SQUARE

HALF = {"low": 0, "high": 1, "ends": "[)"}


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (checks.numbers("x", [True, 2], 0, 2, "[]"), [1.0, 2.0]),
        (checks.numbers("x", []), []),
        (checks.array("x", [[1, 2]], ("n", 2)), [[1.0, 2.0]]),
        (checks.array("x", np.eye(3), ("n", "n")), np.eye(3)),
        (checks.number("x", Decimal("0.5"), **HALF), 0.5),
        (checks.whole("x", np.float32(3.0)), 3),
        (checks.wholes("x", [[0], [7.0]], 0, 7), [[0.0], [7.0]]),
        (checks.signs("x", [1, -1.0], ("n",)), [1.0, -1.0]),
    ],
)
def test_what_is_allowed_is_returned_as_floats(found, expected):
    np.testing.assert_array_equal(found, expected)
    assert np.asarray(found).dtype == (int if isinstance(found, int) else float)


@pytest.mark.parametrize(
    ("check", "message"),
    [
        (lambda: checks.numbers("x", [0, 2], 0, 1, "[)"), "x holds 2.0, allowed: real numbers in [0, 1)"),
        (lambda: checks.numbers("x", [0.5, 0], 0, 1), "x holds 0.0, allowed: real numbers in (0, 1)"),
        (lambda: checks.numbers("x", [1, np.nan]), "x holds nan"),
        (lambda: checks.numbers("x", np.inf), "x holds inf"),
        (lambda: checks.numbers("x", [1, "3"]), "x is [1, '3']"),
        (lambda: checks.numbers("x", [[1], [1, 2]]), "x is [[1], [1, 2]]"),
        (lambda: checks.numbers("x", None), "x holds nan"),
        (lambda: checks.array("x", [1.0, 2.0], ("n", 2)), "x has shape (2,), allowed: (n, 2)"),
        (lambda: checks.array("x", [], ("n",)), "x has shape (0,), allowed: (n,)"),
        (lambda: checks.array("x", np.ones((2, 3)), ("n", "n")), "x has shape (2, 3), allowed: (n, n)"),
        (lambda: checks.filled("x", np.diag([1, 0, 0]), ("n", 3)), "x holds a zero row, at index 1"),
        (lambda: checks.number("x", [1.0]), "x has shape (1,), allowed: ()"),
        (lambda: checks.whole("x", 2.5), "x is 2.5, allowed: whole numbers from 0 on"),
        (lambda: checks.whole("x", 0, 1), "x is 0, allowed: whole numbers from 1 on"),
        (lambda: checks.whole("x", True), "x is True"),
        (lambda: checks.whole("x", np.inf), "x is inf"),
        (lambda: checks.wholes("x", [1, 9], 0, 8), "x holds 9.0, allowed: whole numbers from 0 to 8"),
        (lambda: checks.signs("x", [1, 0], ("n",)), "x holds 0.0, allowed: +1 and -1"),
        (lambda: checks.choice("x", "c", ("a", "b")), "x is 'c', allowed: 'a', 'b'"),
    ],
)
def test_what_is_not_allowed_is_named(check, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        check()


X, Y = np.eye(2), np.array([1.0, -1.0])
START = Start(X, [-1.0, -1.0], [1, -1])
NETWORK = TwoLayer(X, [1.0, -1.0])
RNG = np.random.default_rng(0)


def flow(start=START, inputs=X, labels=Y, loss=LOGISTIC, **options):
    return gradient_flow(start, inputs, labels, loss, **{"until": 1.0} | options)


def descend(network=NETWORK, inputs=X, labels=Y, loss=LOGISTIC, **options):
    return gradient_descent(network, inputs, labels, loss, **{"step": 0.1, "steps": 2} | options)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: flow(start=X), "start is"),
        (lambda: flow(inputs=np.zeros((2, 2))), "inputs holds a zero row, at index 0"),
        (lambda: flow(inputs=np.ones((2, 3))), r"inputs has shape \(2, 3\)"),
        (lambda: flow(labels=[1.0, 0.5]), r"labels holds 0\.5"),
        (lambda: flow(loss="logistic"), "loss is 'logistic'"),
        (lambda: flow(rtol=2.0), r"rtol holds 2\.0"),
        (lambda: flow(train="second"), "train is 'second'"),
        (lambda: flow(loss=SQUARE, until=None, log_until=5.0), "log_until needs a loss"),
        (lambda: flow(until=None, log_until=1e7, rtol=1e-6), r"log_until is 1e\+07 with rtol 1e-06"),
        (lambda: flow(weights=[1.0, 0.0]), "weights holds 0"),
        (lambda: flow(reduction="max"), "reduction is 'max'"),
        (lambda: flow(start=NETWORK, slope=0.5), r"slope is 0\.5, allowed: none"),
        (lambda: flow(start=TwoLayer(0 * X, Y)), "start has w = 0 in neuron 0"),
        (lambda: flow(start=Start(X, [0.0, 0.0], Y, [400.0, 0.0])), "log_outputs exceeds log_norms"),
        (lambda: flow(start=Start(X, [200.0, 0.0], Y)), "log_norms holds 200 with log_outputs 200"),
        (lambda: flow(start=Start(X, [4.0, 0.0], -Y), loss=EXPONENTIAL), "loss is inf"),
        (lambda: alignment_phase([[0.0, 0.0]], [1], X, Y), "neuron 0"),
        (lambda: alignment_phase(X, Y, X, Y).at([-1.0]), "times"),
        (lambda: descend(network=X), "network is"),
        (lambda: descend(inputs=np.eye(3)), r"inputs has shape \(3, 3\)"),
        (lambda: descend(step=0.0), r"step holds 0\.0"),
        (lambda: descend(reduction="median"), "reduction is 'median'"),
        (lambda: descend(samples=[0, 7]), r"samples holds 7\.0, allowed: whole numbers from 0 to 1"),
        (lambda: descend(samples=[0, 1, 1]), r"samples has shape \(3,\), allowed: \(2,\)"),
        (lambda: descend(record_at=[3]), r"record_at holds 3\.0, allowed: whole numbers from 0 to 2"),
        (lambda: draw_mlps((2, 1), seed_generators(0, 1), initialisation="he"), "initialisation is 'he'"),
        (lambda: Start(2 * X, [0.0, 0.0], [1, -1]), "directions holds a vector of length 2"),
        (lambda: Start(X, [0.0], [1, -1]), "log_norms has shape"),
        (lambda: Start(X, [0.0, 0.0], [1, 2]), r"signs holds 2\.0"),
        (lambda: Start.gaussian(0, 2, 0.0, rng=RNG), "m is 0"),
        (lambda: TwoLayer(X, [1.0]), "w has shape"),
        (lambda: TwoLayer(X, Y, slope=1.5), r"slope is 1\.5"),
        (lambda: Start([[1.0]], [800.0], [1]).network(), "w holds inf"),
        (lambda: programs.least_norm(np.zeros((0, 2)), []), "rows has shape"),
        (lambda: programs.least_norm(np.eye(2), np.ones(3)), "bounds has shape"),
        (lambda: programs.least_norm(np.diag([1.0, 0.0]), np.ones(2)), "rows holds a zero row, at index 1"),
        (lambda: programs.least_norm([[np.nan]], [1.0]), "rows holds nan"),
        (lambda: programs.separation([[0.0, 0.0]], [1]), "inputs holds a zero row, at index 0"),
        (lambda: programs.separation(X, [1, 3]), r"labels holds 3\.0"),
        (lambda: programs.agreement_program(X, Y, 1.5), r"slope holds 1\.5"),
        (
            lambda: programs.cell_program(NETWORK, np.eye(3), [1, 1, -1]),
            r"network\.w has shape \(2, 2\), allowed: \(m, 3\)",
        ),
        (lambda: programs.minimum_norm_interpolation([[1, 0], [2, 0]], [1, 1]), "0 and 1 lie on one ray"),
        (lambda: programs.minimum_norm_interpolation([[0.0, 0.0]], [1.0]), "it is zero at zero"),
        (lambda: programs.minimum_norm_interpolation([[1.0, 0.0]], [0.0]), "all zero"),
        (lambda: programs.minimum_norm_interpolation(np.ones((9, 2)), np.ones(9)), "up to 8"),
        (lambda: programs.minimum_norm_interpolation([[1.0, 0.0]], [1.0, 2.0]), "labels has shape"),
        (lambda: programs.minimum_norm_interpolation([[np.inf, 0.0]], [1.0]), "inputs holds inf"),
        (lambda: programs.minimum_norm_interpolation(X, Y, slope=1.0), r"slope holds 1\.0"),
        (lambda: cone_data(1, 1, 3, 1.0, rng=RNG), r"mu holds 1\.0"),
        (lambda: separable_data("wider", 3, rng=RNG), "allowed: 'circular', 'wide', 'orthant'"),
        (lambda: orthonormal_inputs(3, 2, rng=RNG), "n is 3, d 2; allowed: n up to d"),
        (lambda: find("no-such-experiment"), "no-such-experiment"),
    ],
)
def test_bad_input_at_the_doors_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
