"""The closed forms of the two plateaus and the greedy limit against the flow, and their hypotheses."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from lib.data.synthetic import orthonormal_inputs
from lib.flow import gradient_flow
from lib.flow.trajectory import gaussian_start, network
from lib.theory.greedy import greedy_limit
from lib.theory.orthogonal_data import minimum_squared_norm, single_cluster_squared_norm
from lib.theory.plateaus import aligned_groups, largest_epsilon, two_plateaus
from lib.theory.start_probabilities import groups_probability, width_needed
from lib.training.losses import SQUARE
from tests.points import five_on_a_line, orthogonal_pair

LABELS = np.array([1, 0.8, -0.7, -0.5, 0.6, -0.3])


def six_orthonormal(power, seed=3):
    inputs = orthonormal_inputs(6, 8, rng=np.random.default_rng(seed))
    return gaussian_start(100, 8, -power * np.log(10), rng=np.random.default_rng(seed)), inputs


def test_the_loss_of_the_pair_is_two_logistic_functions():
    x, y = orthogonal_pair()
    start = gaussian_start(60, 2, -16.0, rng=np.random.default_rng(0))
    theory = two_plateaus(*start, x, y)
    end = theory.half_times.negative + 30
    run = gradient_flow(*start, x, y, SQUARE, until=end)
    times = np.linspace(0, end, 300)
    losses = SQUARE.value(run.outputs(times), y).mean(axis=1)
    np.testing.assert_allclose(losses, theory.loss(times), atol=1e-8)
    squares = np.exp(2 * run.at(times)[1])
    for group, u in zip(theory.groups, theory.squared_norms(times), strict=True):
        np.testing.assert_allclose(squares[:, group].sum(axis=1), u, atol=1e-8)


def test_squared_norms_solve_the_logistic_equation():
    start, x = six_orthonormal(20)
    theory = two_plateaus(*start, x, LABELS)
    for k in (0, 1):
        rate, height, half = theory.rates[k], theory.heights[k], theory.half_times[k]
        times = np.linspace(half - 5, half + 5, 11)
        solution = solve_ivp(
            lambda t, u: 2 * rate * (1 - u / height) * u,  # noqa: B023
            (times[0], times[-1]),
            [theory.squared_norms(times[:1])[k][0]],
            t_eval=times,
            rtol=1e-11,
            atol=1e-13,
        )
        np.testing.assert_allclose(theory.squared_norms(times)[k], solution.y[0], rtol=1e-8)


@pytest.mark.parametrize("power", [60, 1000])
def test_the_limit_and_its_distance_are_predicted(power):
    start, x = six_orthonormal(power)
    theory = two_plateaus(*start, x, LABELS)
    end = theory.half_times.negative + 60 / theory.rates.negative
    net = gradient_flow(*start, x, LABELS, SQUARE, until=end).network(-1)
    limit = network(theory.directions, theory.log_norms, start[2])
    distance = np.sqrt(((net.w - limit.w) ** 2).sum() + ((net.a - limit.a) ** 2).sum())
    assert abs(distance - theory.idle_distance) < 1e-4 * theory.idle_distance + 1e-9
    squared = (limit.w**2).sum() + (limit.a**2).sum()
    np.testing.assert_allclose(squared, minimum_squared_norm(x, LABELS), rtol=1e-12)
    np.testing.assert_allclose(limit(x), LABELS, atol=1e-12)


def test_scaling_labels_scales_heights_and_rates():
    start, x = six_orthonormal(20)
    one, three = (two_plateaus(*start, x, c * LABELS) for c in (1, 3))
    np.testing.assert_allclose(3 * np.array(one.heights), three.heights)
    np.testing.assert_allclose(3 * np.array(one.rates), three.rates)
    assert three.half_times.positive < one.half_times.positive


def test_probability_counts_draws():
    rng = np.random.default_rng(0)
    inputs, labels = np.eye(5), np.array([1, 1, 1, -1, -1.0])
    draws = 3000
    hits = 0
    for _ in range(draws):
        v, _, s = gaussian_start(20, 5, 0.0, rng=rng)
        hits += all(group.size for group in aligned_groups(v, s, inputs, labels))
    expected = groups_probability(3, 2, 20)
    # Four standard errors of a frequency over 3000 draws.
    assert abs(hits / draws - expected) < 4 * np.sqrt(expected * (1 - expected) / draws)


def test_width_needed_is_the_least_one():
    for n in (1, 3, 6):
        m = width_needed(n, n, 0.95)
        assert groups_probability(n, n, m) >= 0.95 > groups_probability(n, n, m - 1)
    with pytest.raises(ValueError, match=r"probability holds 1\.5"):
        width_needed(2, 2, 1.5)


@pytest.mark.parametrize("seed", [104, 106, 109])
def test_the_greedy_limit_is_the_flow_from_a_tiny_scale(seed):
    rng = np.random.default_rng(seed)
    m = int(rng.integers(8, 25))
    x = orthonormal_inputs(8, 10, rng=rng)
    y = rng.uniform(0.4, 1.6, 8) * rng.choice([-1, 1], 8)
    v, rho, s = gaussian_start(m, 10, 0.0, rng=rng)
    limit = greedy_limit(v, s, x, y)
    log_scale = 400 * np.log(10)
    run = gradient_flow(v, rho - log_scale, s, x, y, SQUARE, until=1.02 * limit.times[-1] * log_scale + 400)
    np.testing.assert_allclose(2 * np.exp(2 * run.log_norms[-1]).sum(), limit.squared_norm, rtol=1e-6)
    np.testing.assert_allclose(SQUARE.value(run.outputs()[-1], y).mean(), limit.loss, atol=1e-9)


def test_greedy_and_two_plateaus_agree_where_both_apply():
    (v, rho, s), x = six_orthonormal(1000)
    theory = two_plateaus(v, rho, s, x, LABELS)
    limit = greedy_limit(v, s, x, LABELS)
    assert [len(group) for group in limit.groups] == [3, 3] and limit.loss == 0
    np.testing.assert_allclose(limit.squared_norm, 2 * sum(theory.heights))
    np.testing.assert_allclose(
        np.array(theory.half_times) / (1000 * np.log(10)), limit.times, rtol=0.01
    )  # corrections are O(1/ln(1/lambda))


@pytest.mark.parametrize("slope", [0.1, 0.5])
def test_leaky_networks_end_as_one_cluster(slope):
    """At scale 1e-60; the larger class comes first, and its neurons fit the other through the leak."""
    start, inputs = gaussian_start(20, 5, -60 * np.log(10), rng=np.random.default_rng(0)), np.eye(4, 5)
    labels = np.array([1.2, 1.1, -0.8, -0.75])
    run = gradient_flow(*start, inputs, labels, SQUARE, until=2000.0, slope=slope)
    squared = 2 * np.exp(2 * run.log_norms[-1]).sum()
    # When the first cluster fits, the neurons of the other sign are far behind, and they grow no more.
    assert squared == pytest.approx(single_cluster_squared_norm(labels, slope), rel=1e-6)


def test_an_unseen_label_is_never_fitted():
    limit = greedy_limit(np.array([[0.6, 0.8]]), np.array([1.0]), np.eye(2), np.array([1.0, -2.0]))
    assert limit.groups == ((0,),) and limit.loss == 1.0 and limit.squared_norm == 2.0


def test_violated_hypotheses_are_named():
    start, x = six_orthonormal(20)
    tilted = x.copy()
    tilted[4] += 0.2 * x[1]
    with pytest.raises(ValueError, match=r"Assumption 1 \(orthogonal inputs\) fails for inputs 1 and 4"):
        two_plateaus(*start, tilted, LABELS)
    with pytest.raises(ValueError, match="Assumption 1"):
        minimum_squared_norm(*five_on_a_line())
    with pytest.raises(ValueError, match="inputs of norm 1"):
        greedy_limit(start[0], start[2], 2 * x, LABELS)
    with pytest.raises(ValueError, match="equal norms within a class fail for inputs 0 and 4"):
        two_plateaus(*start, x * np.array([1, 1, 1, 1, 2, 1])[:, None], LABELS)
    with pytest.raises(ValueError, match="Assumption 2"):
        two_plateaus(*start, x, LABELS * np.array([1, 0, 1, 1, 1, 1]))
    with pytest.raises(ValueError, match="labels are of one sign"):
        two_plateaus(*start, x, np.abs(LABELS))
    few = tuple(part[:3] for part in start)
    with pytest.raises(ValueError, match="Assumption 3 fails: S_"):
        two_plateaus(*few, x, LABELS)


def test_epsilon_is_the_largest_admissible_one():
    labels = np.array([1.2, 1.1, -0.8, -0.75])
    epsilon = largest_epsilon(labels)
    r = np.hypot(1.2, 1.1) / np.hypot(0.8, 0.75)
    alpha, beta = 1.1**2 / (2 * (1.2**2 + 1.1**2)), 0.75**2 / (2 * (0.8**2 + 0.75**2))
    first = (1 - epsilon) - (1 + 3 * epsilon) * max(1 - alpha, 1 / r)
    second = (1 - epsilon) - (1 + 3 * r * epsilon) * (1 - beta)
    np.testing.assert_allclose(min(first, second), 0, atol=1e-12)
    np.testing.assert_allclose([largest_epsilon(-labels), largest_epsilon(3 * labels)], epsilon, rtol=1e-12)
    assert largest_epsilon(labels, as_printed=True) > epsilon


def test_margin_warns_of_ties():
    even = np.array([[0.6, 0.8, 0.1], [0.8, 0.6, -0.1]])
    limit = greedy_limit(even, np.array([1.0, 1.0]), np.eye(3), np.array([1.0, 1.0, 1e-6]))
    assert 0 <= limit.margin < 1e-9
