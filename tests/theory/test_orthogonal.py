"""The closed forms of the two plateaus against the flow and draws."""

import numpy as np
import pytest
from scipy.special import expit

from lib.data.synthetic import orthonormal_inputs
from lib.flow import gradient_flow
from lib.models.two_layer import Start
from lib.theory.orthogonal import (
    aligned_groups,
    class_directions,
    class_heights,
    grouped_start,
    largest_epsilon,
    minimum_squared_norm,
    two_plateaus,
)
from lib.training.losses import SQUARE
from tests.flow.problems import TWO_LABELS, TWO_POINTS

SIX = np.array([1, 0.8, -0.7, -0.5, 0.6, -0.3])
FOUR = np.array([1.2, 1.1, -0.8, -0.75])


def six_orthonormal(power, seed=3):
    inputs = orthonormal_inputs(6, 8, rng=np.random.default_rng(seed))
    return Start.gaussian(100, 8, -power * np.log(10), rng=np.random.default_rng(seed)), inputs


@pytest.mark.parametrize("log_scale", [-16.0, -2000.0])
def test_the_loss_of_the_pair_is_two_logistic_functions(log_scale):
    x, y = TWO_POINTS, TWO_LABELS
    start = Start.gaussian(60, 2, log_scale, rng=np.random.default_rng(0))
    theory = two_plateaus(start, x, y)
    end = theory.half_times.negative + 30
    run = gradient_flow(start, x, y, SQUARE, until=end)
    times = np.concatenate([half + np.linspace(-10, 10, 150) for half in theory.half_times])
    losses = SQUARE.value(run.outputs(times), y).mean(axis=1)
    np.testing.assert_allclose(losses, theory.loss(times), atol=1e-8)
    squares = np.exp(2 * run.at(times)[1])
    for group, height, rate, half, part in zip(
        theory.groups, theory.heights, theory.rates, theory.half_times, theory.fitted(times), strict=True
    ):
        logistic = height * expit(2 * rate * (times - half))
        np.testing.assert_allclose(squares[:, group].sum(axis=1), logistic, atol=1e-8)
        np.testing.assert_allclose(height * part, logistic, rtol=1e-12)


@pytest.mark.parametrize("power", [60, 1000])
def test_the_limit_and_its_distance_are_predicted(power):
    start, x = six_orthonormal(power)
    theory = two_plateaus(start, x, SIX)
    end = theory.half_times.negative + 60 / theory.rates.negative
    net = gradient_flow(start, x, SIX, SQUARE, until=end).network_at(end)
    limit = theory.limit.network()
    w, a = limit.w, limit.a
    distance = np.sqrt(((net.w - w) ** 2).sum() + ((net.a - a) ** 2).sum())
    assert abs(distance - theory.idle_distance) < 1e-4 * theory.idle_distance + 1e-9
    np.testing.assert_allclose((w**2).sum() + (a**2).sum(), minimum_squared_norm(x, SIX), rtol=1e-12)
    np.testing.assert_allclose(np.maximum(x @ w.T, 0) @ a, SIX, atol=1e-12)


def test_a_grouped_start_has_both_groups():
    """With one neuron in eight in each group, three neurons have both in one draw of fifteen or so."""
    for seed in range(3):
        start = grouped_start(3, np.eye(4), FOUR, rng=np.random.default_rng(seed))
        groups = aligned_groups(start.directions, start.signs, np.eye(4), FOUR)
        assert groups.positive.size and groups.negative.size and start.signs.shape == (3,)


def test_heights_and_directions_of_inputs_of_any_norms():
    rng = np.random.default_rng(1)
    sizes = rng.uniform(0.5, 2, 4)
    x = orthonormal_inputs(4, 6, rng=rng) * sizes[:, None]
    positive, negative = class_heights(x, FOUR)
    assert positive == pytest.approx(np.hypot(1.2 / sizes[0], 1.1 / sizes[1]), rel=1e-14)
    assert minimum_squared_norm(x, FOUR) == 2 * (positive + negative)
    total = class_directions(x, FOUR)
    np.testing.assert_allclose(total.positive + total.negative, FOUR @ x / 4, rtol=1e-13, atol=1e-15)
    assert total.negative @ x[0] == pytest.approx(0, abs=1e-15)


def test_a_neuron_on_a_boundary_is_inactive_up_to_rounding():
    inputs = orthonormal_inputs(4, 4, rng=np.random.default_rng(1))
    on_first, labels = np.vstack([inputs[0], (inputs[0] + inputs[1]) / np.sqrt(2)]), [1.0, 2.0, -1.0, -1.0]
    assert aligned_groups(on_first, [1, 1], inputs, labels).positive.tolist() == [1]


def test_epsilon_is_the_largest_admissible_one():
    epsilon = largest_epsilon(FOUR)
    r = np.hypot(1.2, 1.1) / np.hypot(0.8, 0.75)
    alpha, beta = 1.1**2 / (2 * (1.2**2 + 1.1**2)), 0.75**2 / (2 * (0.8**2 + 0.75**2))
    first = (1 - epsilon) - (1 + 3 * epsilon) * max(1 - alpha, 1 / r)
    second = (1 - epsilon) - (1 + 3 * r * epsilon) * (1 - beta)
    np.testing.assert_allclose(min(first, second), 0, atol=1e-12)
    np.testing.assert_allclose([largest_epsilon(-FOUR), largest_epsilon(3 * FOUR)], epsilon, rtol=1e-12)
    assert largest_epsilon(FOUR, as_printed=True) > epsilon
    second_decides = largest_epsilon([3.0, 3.0, -0.1, -1.0, -1.0])
    r, beta = np.sqrt(18 / 2.01), 0.01 / (2 * 2.01)
    assert second_decides == pytest.approx(beta / (1 + 3 * r * (1 - beta)), rel=1e-12)
