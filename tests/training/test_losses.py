"""Losses: against 40 digits, convexity, limits, relations between them, and what arguments may look like."""

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lib.training.losses import EXPONENTIAL, HINGE, LOGISTIC, SQUARE, TWICE_LOGISTIC

LOSSES = [LOGISTIC, TWICE_LOGISTIC, EXPONENTIAL, HINGE, SQUARE]
MARGIN_LOSSES = LOSSES[:4]
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


@EVERY_LOSS
@given(f=OUTPUTS, g=OUTPUTS, y=LABELS)
def test_losses_lie_above_their_tangents(loss, f, g, y):
    terms = [float(loss.value(f, y)), float(loss.slope(f, y)) * (g - f), float(loss.value(g, y))]
    if np.isfinite(terms).all():
        # Rounding: a few units in the last place of the largest term.
        assert terms[2] >= terms[0] + terms[1] - 1e-15 * max(map(abs, terms))


@pytest.mark.parametrize("loss", MARGIN_LOSSES, ids=lambda loss: loss.name)
@given(f=OUTPUTS)
def test_margin_losses_see_the_product_of_output_and_label(loss, f):
    assert loss.value(f, -1.0) == loss.value(-f, 1.0)
    assert loss.slope(f, -1.0) == -loss.slope(-f, 1.0)
    assert loss.value(f, 1.0) >= 0 >= loss.slope(f, 1.0)


@given(f=st.floats(-700, 700), y=LABELS)
def test_relations_between_the_losses(f, y):
    # log(1 + e^-m) - log(1 + e^m) = -m; the two probabilities add to one; log(1 + z) is at most z.
    assert LOGISTIC.value(f, y) - LOGISTIC.value(-f, y) == pytest.approx(-y * f, rel=1e-14)
    assert abs(LOGISTIC.slope(f, y)) + abs(LOGISTIC.slope(-f, y)) == pytest.approx(1, rel=1e-15)
    assert LOGISTIC.value(f, y) <= EXPONENTIAL.value(f, y) * (1 + 1e-15)
    assert abs(EXPONENTIAL.slope(f, y)) == EXPONENTIAL.value(f, y)
    assert TWICE_LOGISTIC.slope(f, y) == 2 * LOGISTIC.slope(f, y)
    # |slope| = 1 - exp(-value), [min2024, App. B] in both normalisations.
    assert abs(LOGISTIC.slope(f, y)) == pytest.approx(-np.expm1(-LOGISTIC.value(f, y)), rel=1e-13)


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
