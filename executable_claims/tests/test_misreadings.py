"""What a piece of code that measures may be misread as."""

import ast

import pytest

from executable_claims.run.misreadings import misreadings
from executable_claims.run.moves import misread


@pytest.mark.parametrize(
    ("code", "others"),
    [
        ("run.network_at(end)", {"0.0 * end", "0.8 * end", "1.25 * end"}),
        ("run.network_at()", {"run.network_at(0.0)"}),
        ("run.at(log_times=late)", {"late + -0.223144", "late + 0.223144"}),
        ("problem.flow(until=3.0)", {"0.8 * 3.0", "1.25 * 3.0"}),
        ("problem.flow(until=lambda t: t > 1)", {"0.8 * (lambda t: t > 1)", "1.25 * (lambda t: t > 1)"}),
        ("np.max(apart, axis=0)", {"np.mean(apart, axis=0)"}),
        ("apart.mean()", {"apart.max()"}),
        ("max(apart)", set()),
        ("outputs[-1]", {"0"}),
        ("outputs[:, 0]", {"1"}),
        ("outputs[1:]", set()),
        ("outputs[neuron]", {"neuron - 1"}),
        ("def first(rows: list[int]) -> tuple[int, int]:\n    return rows[0]", {"1"}),
        ("outputs[0] = 2", set()),
        ("Row = dict[str, Any]", set()),
        ("Curve = Callable[[float], tuple[Any, Any]]", set()),
        ("seen = dict[Any, set[str]](rows[0])", {"1"}),
        ("SCALES[0]", {"1"}),
        ("table['measured']", set()),
    ],
)
def test_times_starts_indices_and_reductions_are_misread(code, others):
    [statement] = ast.parse(code).body
    assert {ast.unparse(form) for _, form in misreadings(statement)} == others


def run(measured, predicted, drawn=0.0):
    return [
        [" of a-law", {"measured": measured, "predicted": predicted}],
        [" of fig-a", {"curve 1": [drawn]}],
    ]


def test_a_misreading_moves_what_is_measured_alone():
    before = run([1.0, 2.0], [1.0, 2.0])
    assert misread(before, run([1.0, 2.5], [1.0, 2.0], drawn=3.0)) == "measured of a-law by 0.5 of 2"
    assert misread(before, run([1.0, 2.5], [1.0, 2.5])) == ""
    assert misread(before, run([1.0, 2.0], [1.0, 2.0], drawn=3.0)) == ""
    assert misread(before, before[:1]) == ""
