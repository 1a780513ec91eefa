"""Losses: against 40 digits, at large margins, and at the kink."""

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lib.training.losses import EXPONENTIAL, HINGE, LOGISTIC, SQUARE, TWICE_LOGISTIC

LOSSES = [LOGISTIC, TWICE_LOGISTIC, EXPONENTIAL, HINGE, SQUARE]
EXACT = {
    "logistic": lambda f, y: mpmath.log1p(mpmath.exp(-y * f)),
    "twice logistic": lambda f, y: 2 * mpmath.log1p(mpmath.exp(-y * f)),
    "exponential": lambda f, y: mpmath.exp(-y * f),
    "hinge": lambda f, y: max(mpmath.mpf(0), 1 - y * f),
    "square": lambda f, y: (f - y) ** 2 / 2,
}
TINY, HUGE = np.finfo(float).tiny, np.finfo(float).max
EVERY_LOSS = pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.name)
OUTPUTS = st.floats(-1e4, 1e4) | st.floats(-30, 30)
LABELS = st.sampled_from([-1.0, 1.0])


def same(found, exact):
    """Say whether a float is the number: infinite above the largest float, small below the normal ones."""
    if exact > HUGE:
        return found == np.inf
    return abs(found - exact) <= max(1e-15 * abs(exact), TINY)


@EVERY_LOSS
@given(f=OUTPUTS, y=LABELS)
def test_values_and_slopes_against_forty_digits(loss, f, y):
    with mpmath.workdps(40):
        at, label = mpmath.mpf(f), mpmath.mpf(y)
        assert same(loss.value(f, y), EXACT[loss.name](at, label))
        # The slope by a complex step, which cancels nothing; its square is beyond the digits.
        shifted = (
            EXACT[loss.name](mpmath.mpc(at, 1e-30), label) if loss is not HINGE else -label * (y * f < 1)
        )
        slope = shifted.imag / mpmath.mpf(1e-30) if loss is not HINGE else shifted
        assert same(abs(loss.slope(f, y)), abs(slope))
        assert np.sign(loss.slope(f, y)) == mpmath.sign(slope) or abs(slope) < TINY


@pytest.mark.parametrize("loss", [loss for loss in LOSSES if loss.tail], ids=lambda loss: loss.name)
@given(q=OUTPUTS)
def test_tails_are_the_logarithms_of_values_and_slopes_against_forty_digits(loss, q):
    tail, at = loss.tail, np.array(q)
    with mpmath.workdps(40):
        value = EXACT[loss.name](mpmath.mpf(q), 1)
        slope = EXACT[loss.name](mpmath.mpc(q, 1e-30), 1).imag / mpmath.mpf(-1e-30)
        rate = mpmath.diff(lambda x: mpmath.log(-mpmath.diff(lambda z: EXACT[loss.name](z, 1), x)), q)
        # The relative error of the loss: a logarithm has it where the loss is near one.
        assert tail.log_value(at) + tail.log_factor == pytest.approx(float(mpmath.log(value)), 1e-14, 1e-14)
        assert tail.log_slope(at) + tail.log_factor == pytest.approx(float(mpmath.log(slope)), 1e-14, 1e-14)
        assert tail.slope_rate(at) == pytest.approx(float(rate), 1e-6, 1e-12)


@EVERY_LOSS
def test_a_kink_is_where_the_slope_of_a_loss_jumps_between_two_constants(loss):
    slopes = loss.slope(np.linspace(-9.0, 9.0, 1801), 1.0)
    jumps = np.flatnonzero(np.abs(np.diff(slopes)) > 0.1 * np.ptp(slopes))
    if loss.kink is None:
        assert not jumps.size
    else:
        assert jumps.size == 1 and abs(-9.0 + 0.01 * (jumps[0] + 1) - loss.kink) < 0.011
        assert np.unique(slopes).size == 2


def test_limits_at_large_margins():
    for margin in (800.0, 1e4, 1e300):
        assert LOGISTIC.value(-margin, 1) == margin and LOGISTIC.value(margin, 1) == 0
        assert LOGISTIC.slope(-margin, 1) == -1 and LOGISTIC.slope(margin, 1) == 0
        assert EXPONENTIAL.value(-margin, 1) == np.inf and EXPONENTIAL.slope(-margin, -1) == 0
        assert EXPONENTIAL.slope(-margin, 1) == -np.inf and EXPONENTIAL.value(margin, 1) == 0
    assert SQUARE.value(1e300, 1) == np.inf and SQUARE.slope(1e300, 1) == 1e300


def test_the_hinge_has_slope_zero_at_its_kink_and_its_full_slope_one_float_below():
    assert HINGE.slope(1.0, 1.0) == 0 and HINGE.slope(np.nextafter(1, 0), 1.0) == -1
    assert HINGE.slope(-1.0, -1.0) == 0 and HINGE.slope(np.nextafter(-1, 0), -1.0) == 1
