"""Losses of a user's own: what a `Loss` says of itself is all that the flow needs, in all of its phases."""

import numpy as np
import pytest
from scipy.integrate import quad

from lib.flow import gradient_flow
from lib.flow.trajectory import Reason
from lib.flow.weights import weights_flow
from lib.models.two_layer import Start, TwoLayer
from lib.training.descent import gradient_descent
from lib.training.losses import HINGE, Tail, log_logistic, of_margin
from tests.flow.problems import CLOUD, CLOUD_LABELS, TWO_LABELS, TWO_POINTS, UNIT, unbalanced

SQUARED_HINGE = of_margin(
    "squared hinge", lambda s: np.maximum(0, 1 + s) ** 2, lambda s: 2 * np.maximum(0, 1 + s)
)
WIDE_HINGE = of_margin("wide hinge", lambda s: 3 * np.maximum(0, 2 + s), lambda s: 3.0 * (s > -2), kink=2.0)
DISTANCE = of_margin("distance", lambda s: np.abs(1 + s), lambda s: np.sign(1 + s), kink=1.0)


def _log_slope(q):
    return np.logaddexp(-np.logaddexp(0, q), -q)


BOTH_TAILS = of_margin(
    "logistic and exponential",
    lambda s: np.logaddexp(0, s) + np.exp(s),
    lambda s: 1 / (1 + np.exp(-s)) + np.exp(s),
    tail=Tail(
        lambda q: np.logaddexp(log_logistic(q), -q),
        _log_slope,
        # -l'' / l' with l'' = sigma (1 - sigma) + exp(-q).
        lambda q: -np.exp(np.logaddexp(-np.logaddexp(0, q) - np.logaddexp(0, -q), -q) - _log_slope(q)),
    ),
)


@pytest.mark.parametrize("log_until", [20.0, 40.0, 60.0, 1e4])
def test_a_loss_with_a_tail_runs_from_the_smallest_start_to_the_latest_time(log_until):
    """One neuron with its datum: ``q' = 2 q |l'(q)|`` from q = e^-60, so that t is an integral over log q."""
    run = gradient_flow(Start([[1.0]], [-30.0], [1]), [[1.0]], [1.0], BOTH_TAILS, log_until=log_until)
    q = run.outputs()[-1, 0]
    assert run.reason is Reason.TIME
    if q < 500:
        # Where q > 1 the integrand grows as exp(q): its logarithm at q is taken out.
        time = quad(lambda u: np.exp(-_log_slope(np.exp(u)) + _log_slope(q)) / 2, -60.0, np.log(q), limit=500)
        assert np.log(time[0]) - _log_slope(q) == pytest.approx(log_until, abs=1e-6)
    else:
        assert q - np.log(4 * q) == pytest.approx(log_until, abs=1e-3)  # l' = 2 exp(-q): t = exp(q) / (4 q)


def test_a_smooth_loss_needs_no_word_and_has_no_late_phase():
    start = unbalanced(5, 3, 0)
    run = gradient_flow(start, CLOUD[:3], CLOUD_LABELS[:3], SQUARED_HINGE, until=3.0)
    plain = weights_flow(start, CLOUD[:3], CLOUD_LABELS[:3], SQUARED_HINGE, [0.0, 3.0], rates=1 / 3)
    np.testing.assert_allclose(run.outputs([3.0])[0], plain(CLOUD[:3])[-1], atol=1e-7)
    tiny = Start.gaussian(20, 2, -500.0, rng=np.random.default_rng(1))
    tiny = gradient_flow(tiny, TWO_POINTS, TWO_LABELS, SQUARED_HINGE, until=2000.0)
    assert tiny.reason is Reason.LOSS and tiny.evaluations > 0 and not tiny.loss()[-1]
    with pytest.raises(ValueError, match="not the squared hinge loss"):
        gradient_flow(UNIT, [[1.0]], [1.0], SQUARED_HINGE, log_until=5.0)


@pytest.mark.parametrize("log_scale", [0.0, -40.0])
def test_a_hinge_of_another_margin_and_size_is_the_hinge_in_other_units(log_scale):
    """``3 max(0, 2 - q)`` at root-two times the weights is the hinge, in a time three times as fast."""
    rng = np.random.default_rng(3)
    x, y = rng.standard_normal((8, 4)), rng.choice([-1.0, 1.0], 8)
    start = Start.gaussian(6, 4, log_scale - 0.5, rng=rng)
    larger = Start(start.directions, start.log_norms + np.log(2) / 2, start.signs)
    until = 12.0 - 20 * log_scale
    run = gradient_flow(start, x, y, HINGE, until=until)
    wide = gradient_flow(larger, x, y, WIDE_HINGE, until=until / 3)
    times = np.linspace(0.0, 1.0, 30) * min(run.times[-1], 3 * wide.times[-1]) * (1 - 1e-9)
    np.testing.assert_allclose(wide.outputs(times / 3), 2 * run.outputs(times), atol=1e-6)
    assert (np.abs(wide.outputs() * y - 2) < 1e-9).sum() > 10  # data that are held at their margin


@pytest.mark.parametrize("seed", [9, 34])
def test_a_datum_leaves_a_wide_hinge_as_it_leaves_the_hinge(seed):
    """What is noticed of its push is acted on as well, whatever the size of the push."""
    rng = np.random.default_rng(seed)
    x, y = rng.standard_normal((6, 2)), rng.choice([-1.0, 1.0], 6)
    w, a = 0.5 * rng.standard_normal((4, 2)), 0.5 * rng.standard_normal(4)
    run = gradient_flow(TwoLayer(w, a), x, y, HINGE, until=6.0)
    wide = gradient_flow(TwoLayer(np.sqrt(2) * w, np.sqrt(2) * a), x, y, WIDE_HINGE, until=2.0)
    assert run.reason is wide.reason is Reason.TIME
    np.testing.assert_allclose(wide.outputs([2.0]), 2 * run.outputs([6.0]), atol=1e-6)


def test_a_loss_may_push_back_from_beyond_its_kink():
    """The distance of labels and outputs: each datum that is fitted is held, and the loss falls to zero."""
    x, y, start = CLOUD[:3], CLOUD_LABELS[:3], unbalanced(8, 3, 1)
    run = gradient_flow(start, x, y, DISTANCE, until=40.0)
    assert run.reason is Reason.LOSS and (np.diff(run.loss()) < 1e-12).all()
    time = run.times[np.argmax((np.abs(run.outputs() * y - 1) < 1e-9).any(axis=1)) + 1]
    descent = gradient_descent(start, x, y, DISTANCE, step=time / 40_000, steps=40_000).network
    np.testing.assert_allclose(run.network_at(time).w, descent.w, atol=1e-3)
