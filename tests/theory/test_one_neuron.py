"""The clock of one neuron: against mpmath, the flow of weights, and the laws that it obeys."""

import mpmath
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from lib.flow.weights import weights_flow
from lib.models.two_layer import TwoLayer
from lib.theory import one_neuron as curves
from lib.training.losses import LOGISTIC

mpmath.mp.dps = 40


def exact(u):
    return mpmath.log(mpmath.mpf(u)) + mpmath.ei(mpmath.mpf(u))


def backward_error(values, arguments):
    """Relative change of u that would make F(u) equal to the value, from F'(u) = (1 + e^u) / u."""
    return [
        float(abs((exact(float(u)) - mpmath.mpf(float(v))) / (1 + mpmath.exp(mpmath.mpf(float(u))))))
        for v, u in zip(values, arguments, strict=True)
    ]


def test_log_integral_matches_mpmath():
    u = np.concatenate([np.geomspace(1e-12, 700, 90), np.linspace(39, 50, 45)])
    reference = np.array([float(exact(x)) for x in u])
    # SciPy's Ei errs by 3e-14 just above 40.
    np.testing.assert_allclose(curves.log_integral(u), reference, rtol=5e-14, atol=2e-15)


def test_inverse_over_the_whole_range():
    values = np.concatenate([np.linspace(-60, 6, 133), [3.999999, 4.0], np.geomspace(4.0001, 1e300, 120)])
    assert max(backward_error(values, curves.inverse_log_integral(values))) < 4e-14


def logit(times, u0, norm):
    """The logit of a balanced neuron that starts at u0."""
    return curves.inverse_log_integral(curves.log_integral(u0) + 2 * norm * times)


@given(logarithm=st.floats(-12, 1.4), power=st.floats(-3, 3), norm=st.floats(0.01, 9))
def test_logit_solves_the_integrated_equation_from_any_start(logarithm, power, norm):
    u0, time = 10.0**logarithm, 10.0**power
    u = float(logit(time, u0, norm))
    rise = 2 * mpmath.mpf(norm) * mpmath.mpf(time)
    assert abs((exact(u) - exact(u0) - rise) / (1 + mpmath.exp(mpmath.mpf(u)))) < 5e-14


def test_late_logits_keep_growing_like_the_logarithm():
    late = logit(np.array([1e100, 1e300]), [[1e-12], [30.0], [600.0]], 1.0)
    assert (np.diff(late, axis=1) > 0).all() or late[2, 0] == 600
    rise = np.log(2) + 300 * np.log(10)  # u - log u + 1/u is the logarithm of the rise
    assert np.allclose(late[:2, 1] - np.log(late[:2, 1]) + 1 / late[:2, 1], rise, atol=1e-5)


def test_the_logit_is_that_of_the_flow_of_weights():
    times, norm, u0 = np.linspace(0, 12, 13), 0.8, 0.02
    a = np.sqrt(u0 / norm)
    run = weights_flow(TwoLayer([[a, 1.0]], [a]), [[norm, 0.0]], [1.0], LOGISTIC, times)
    assert np.allclose(run([[norm, 0.0]])[:, 0], logit(times, u0, norm), rtol=1e-8)
