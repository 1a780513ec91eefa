"""The flow with many solutions: the closed form against quadrature at 30 digits and plain integration."""

import mpmath
import numpy as np
import pytest
from scipy.integrate import solve_ivp

from lib.theory.boundary_departure import departing_neuron, time_since_departure


@pytest.mark.parametrize("angle", [1e-9, 0.3, 1.7, 2.5])
def test_the_time_at_30_digits(angle):
    with mpmath.workdps(30):
        pieces = [mpmath.mpf(angle) * k / 8 for k in range(9)]
        exact = mpmath.quad(lambda u: mpmath.exp(mpmath.sinh(2 * u) / 2), pieces)
    assert time_since_departure(angle) == pytest.approx(float(exact), rel=2e-12)


def test_each_departure_solves_the_flow():
    run = solve_ivp(
        lambda t, s: np.exp(-s[0] * s[1]) * s[::-1], (0, 4), [0, 1], method="DOP853", rtol=1e-12, atol=1e-14,
        t_eval=np.linspace(0, 4, 9),
    )  # fmt: skip
    for departure in (0.0, 0.7, 1e6):
        first, output = departing_neuron(departure + run.t, departure)
        # A departure at 1e6 leaves 1e-10 of the time since.
        np.testing.assert_allclose(first, run.y[0], rtol=1e-10, atol=1e-9 if departure == 1e6 else 1e-12)
        np.testing.assert_allclose(output**2 - first**2, 1, rtol=1e-12)


def test_before_the_departure_nothing_moves():
    first, output = departing_neuron([0.0, 1.0, 2.0], 2.0)
    assert (first == 0).all() and (output == 1).all()


def test_the_inverse_to_the_longest_time():
    times = np.array([1e-300, 1e-5, 1.0, 1e5, 1e12])
    first, _ = departing_neuron(times, 0.0)
    s = np.arcsinh(first)
    # A rounding of s moves the time by exp(sinh(2s)/2 + ...), relative to the time by up to cosh(2s) < 50.
    np.testing.assert_allclose(time_since_departure(s), times, rtol=1e-12)
