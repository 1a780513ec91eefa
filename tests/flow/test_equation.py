"""Equations of a few unknowns against exact solutions, at every scale, and passages of levels."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lib.flow.equation import first_passage, solution

TIMES = np.linspace(0, 3, 13)
ROTATION = np.array([[0.0, 2.0], [-2.0, 0.0]])


@pytest.mark.parametrize("scale", [1e-200, 1.0, 1e200])
def test_a_rotation_is_solved_at_every_scale(scale):
    states = solution(lambda x: ROTATION @ x, [scale, 0.0], TIMES, scale=scale)
    exact = np.column_stack([np.cos(2 * TIMES), -np.sin(2 * TIMES)])
    np.testing.assert_allclose(states / scale, exact, atol=1e-8)


@pytest.mark.parametrize("method", ["LSODA", "DOP853"])
def test_states_keep_their_shape_and_the_tolerance_counts(method):
    start = np.arange(1.0, 7.0).reshape(2, 3)
    errors = []
    for rtol in (1e-5, 1e-9):
        states = solution(lambda x: -(x**2), start, TIMES, rtol=rtol, method=method)
        exact = start / (1 + start * TIMES[:, None, None])
        errors.append(np.abs(states / exact - 1).max())
    assert states.shape == (13, 2, 3) and errors[1] < 1e-7 and errors[1] < errors[0] / 30


def test_a_solution_that_ends_before_its_times_says_when():
    with pytest.raises(ArithmeticError, match=r"gave up after time .* of 2"), np.errstate(over="ignore"):
        solution(lambda x: x**2, [1.0], [0.0, 0.5, 2.0], method="DOP853")


@given(st.floats(0.01, 0.99), st.sampled_from([1.0, -1.0]), st.integers(-100, 100))
def test_a_passage_of_a_logistic_curve_is_its_inverse(level, side, decades):
    unit = 10.0**decades

    def value(time):
        return side / (1 + np.exp(-time / unit))

    found = first_passage(value, side * level, unit * np.linspace(-6, 6, 7))
    assert found / unit == pytest.approx(np.log(level / (1 - level)), abs=1e-9)


def test_the_first_of_several_passages_counts_and_none_is_an_error():
    grid = np.linspace(0.1, 20, 200)
    assert first_passage(np.sin, 0.5, grid) == pytest.approx(np.pi / 6, rel=1e-12)
    assert first_passage(np.sin, float(np.sin(grid[0])), grid) == grid[0]
    with pytest.raises(ValueError, match=r"level is 2\.0, allowed: one that is reached from 0\.1 to 20"):
        first_passage(np.sin, 2.0, grid)


@pytest.mark.parametrize("times", [[0.0, 2.0, 1.0], [-1.0, 0.0], []])
def test_times_increase_from_zero_on(times):
    with pytest.raises(ValueError, match="times"):
        solution(lambda x: x, [1.0], times)
