"""Closed forms on orthogonal inputs: alignment, starts, interpolators, phases, convergence."""

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lib.data.synthetic import orthonormal_inputs
from lib.flow.alignment import alignment_phase
from lib.models.two_layer import TwoLayer
from lib.theory import orthogonal_data as data
from lib.theory import start_probabilities as starts
from lib.theory.greedy import greedy_limit
from lib.theory.orthogonal_alignment import orthogonal_alignment
from lib.theory.plateaus import largest_epsilon, two_plateaus

LABELS = np.array([1.2, 1.1, -0.8, -0.75])


def start(seed, m=60, n=6, d=8):
    rng = np.random.default_rng(seed)
    inputs = orthonormal_inputs(n, d, rng=rng) * rng.uniform(0.5, 2, n)[:, None]
    directions = rng.standard_normal((m, d))
    directions /= np.linalg.norm(directions, axis=1)[:, None]
    return directions, rng.choice([-1.0, 1.0], m), inputs, rng.standard_normal(n)


@pytest.mark.parametrize("seed", range(4))
def test_alignment_agrees_with_the_event_driven_phase(seed):
    directions, signs, inputs, forces = start(seed)
    phase = orthogonal_alignment(directions, signs, inputs, forces)
    other = alignment_phase(directions, signs, inputs, forces)
    times = np.full(phase.times.shape, np.inf)
    for event in other.events:
        times[event.neuron, event.datum] = event.time
    rates, offsets = other.asymptotics
    # Both are exact; the tolerance is some hundred roundings of numbers of order 1 to 10.
    np.testing.assert_allclose(phase.times, times, rtol=1e-12)
    np.testing.assert_allclose(phase.rates, rates, rtol=1e-13)
    np.testing.assert_allclose(phase.offsets, offsets, rtol=1e-12, atol=1e-13)
    assert (phase.active == other.patterns).all()
    late = np.array([phase.last.max() + 0.5])
    final = np.where(phase.active, signs[:, None] * forces, 0) @ inputs
    alive = phase.rates > 0
    final = final[alive] / np.linalg.norm(final[alive], axis=1)[:, None]
    apart = ((other.at(late)[0][0, alive] - final) ** 2).sum(axis=1) / 2
    np.testing.assert_allclose(np.exp(phase.log_misalignment(late)[0, alive]), apart, rtol=1e-10, atol=1e-14)


def test_alignment_against_mpmath_with_many_losses():
    """The time is the integral of ``1/|w|`` over the path length S, by quadrature at 40 digits."""
    directions, signs, inputs, forces = start(7, m=6)
    phase = orthogonal_alignment(directions, signs, inputs, forces)
    norms = np.linalg.norm(inputs, axis=1)
    with mpmath.workdps(40):
        for j in range(len(signs)):
            place = [mpmath.fsum(map(mpmath.mpf, directions[j] * inputs[k])) / norms[k] for k in range(6)]
            push = [
                mpmath.mpf(signs[j] * forces[k] * norms[k]) if place[k] > 0 else mpmath.mpf(0)
                for k in range(6)
            ]
            rest = 1 - mpmath.fsum(u**2 for u in place)
            ends = {k: -place[k] / push[k] for k in range(6) if push[k] < 0}

            def speed(s, place=place, push=push, rest=rest, ends=ends):
                coordinates = (0 if k in ends and s >= ends[k] else place[k] + push[k] * s for k in range(6))
                return 1 / mpmath.sqrt(rest + mpmath.fsum(u**2 for u in coordinates))

            knots = [mpmath.mpf(0), *sorted(ends.values())]
            for k, end in ends.items():
                time = mpmath.quad(speed, [knot for knot in knots if knot <= end])
                # Float inputs: their dot products carry 1e-16.
                assert abs(phase.times[j, k] / time - 1) < 1e-12


def test_misalignment_below_the_smallest_float():
    phase = orthogonal_alignment([[0.6, 0.8], [1.0, 0.0], [0.0, 1.0]], [1, 1, -1], np.eye(2), [1.0, 0.5])
    logs = phase.log_misalignment([0.0, 1e4])
    rate = np.hypot(1.0, 0.5)
    cosine = (0.6 + 0.4) / rate
    assert logs[0, 0] == pytest.approx(np.log(1 - cosine), rel=1e-13)
    # c/|w| = tanh(rate t + artanh c0), so 1 - cos tends to 2 exp(-2 (rate t + artanh c0)).
    assert logs[1, 0] == pytest.approx(np.log(2) - 2 * (1e4 * rate + np.arctanh(cosine)), rel=1e-14)
    assert logs[1, 1] == -np.inf and phase.offsets[1] == 0
    # Exactly opposite to its force: it shrinks for ever and loses nothing.
    assert phase.rates[2] == -0.5 and logs[1, 2] == np.log(2) and np.isinf(phase.times[2]).all()
    with pytest.raises(ValueError, match="times holds -1"):
        phase.log_misalignment([-1.0])


def test_misalignment_is_unknown_before_the_last_loss():
    phase = orthogonal_alignment([[0.6, 0.8]], [1], np.eye(2), [1.0, -1.0])
    assert np.isnan(phase.log_misalignment([phase.last[0] * 0.99])).all()


def test_gap_times_invert_the_logistic_functions():
    theory = two_plateaus([[0.6, 0.8], [1.0, 0.0]], [-9.0, -9.0], [-1, 1], np.eye(2), [2.0, -1.0])
    logs = np.array([-3.0, -0.5, -1e-3])
    times = theory.log_gap_times(logs)
    np.testing.assert_allclose(
        theory.heights.positive - theory.squared_norms(times.positive).positive, np.exp(logs)
    )
    np.testing.assert_allclose(
        theory.heights.negative - theory.squared_norms(times.negative).negative, np.exp(logs)
    )
    with pytest.raises(ValueError, match=r"log_gaps holds 0\.1"):
        theory.log_gap_times(0.1)
    assert theory.log_loss(1e6) < -1e6 and theory.loss(1e6) == 0


@pytest.mark.parametrize(
    ("plus", "minus", "m"), [(10, 7, 2), (40, 30, 3), (3, 3, 1000), (1, 1, 5), (60, 60, 2), (1, 300, 7)]
)
def test_probability_of_the_groups_at_60_digits(plus, minus, m):
    with mpmath.workdps(60 + plus + minus):
        p, q = mpmath.mpf(2) ** -(plus + 1), mpmath.mpf(2) ** -(minus + 1)
        exact = 1 - (1 - p) ** m - (1 - q) ** m + (1 - p - q) ** m
        assert abs(starts.groups_probability(plus, minus, m) / exact - 1) < 1e-12
    assert starts.groups_probability(plus, minus, 1) == 0


@given(st.integers(1, 9), st.integers(1, 9), st.integers(1, 12))
def test_coverage_counts_its_complement(plus, minus, m):
    """By inclusion and exclusion over sets of missed labels."""
    exact = sum(
        (-1) ** (i + j)
        * float(mpmath.binomial(plus, i) * mpmath.binomial(minus, j))
        * (0.5 * (2.0**-i + 2.0**-j)) ** m
        for i in range(plus + 1)
        for j in range(minus + 1)
    )
    # The alternating sum of 2^(plus + minus) terms loses digits; the function under test adds positive ones.
    assert starts.coverage_probability(plus, minus, m) == pytest.approx(
        exact, abs=2.0 ** (plus + minus) * 1e-14
    )


def test_extreme_arguments_give_limits_without_warnings():
    assert starts.groups_probability(1, 1, 1e15) == 1 and starts.groups_probability(2000, 1, 10) == 0
    assert largest_epsilon([1e200, -1e-200]) == 0
    assert largest_epsilon([1e200, -0.9e200]) == pytest.approx(
        largest_epsilon([1e-200, -0.9e-200]), rel=1e-14
    )
    theory = two_plateaus(np.eye(2), [-1e5, -1e5], [1, -1], np.eye(2), [1e200, -1e-200])
    assert theory.loss(0.0) == np.inf and theory.log_loss(0.0) == pytest.approx(400 * np.log(10) - np.log(4))


def test_coverage_of_wide_starts():
    found = starts.coverage_probability([[10], [1000]], 3, [50, 3999, 4000, 4001, 10**9])
    assert (
        found.shape == (2, 5)
        and (np.abs(found[:, 1:] - 1) < 1e-11).all()
        and (np.diff(found) >= -1e-11).all()
    )


def test_no_probability_exceeds_one():
    assert starts.coverage_probability([[1], [50], [10**6]], 1, np.arange(1, 400)).max() <= 1


def test_coverage_of_many_starts_takes_blocks(monkeypatch):
    rng = np.random.default_rng(4)
    counts = rng.integers(1, 20, (2, 30)), rng.integers(1, 20, 30), rng.integers(1, 60, (2, 30))
    whole = starts.coverage_probability(*counts)
    monkeypatch.setattr(starts, "_BLOCK", 200)
    np.testing.assert_allclose(starts.coverage_probability(*counts), whole, rtol=1e-13)
    assert starts.coverage_probability([], [], []).shape == (0,)


def test_a_neuron_on_a_boundary_is_inactive_up_to_rounding():
    inputs = orthonormal_inputs(4, 4, rng=np.random.default_rng(1))
    on_first = np.vstack([inputs[0], (inputs[0] + inputs[1]) / np.sqrt(2)])
    phase = orthogonal_alignment(on_first, [1, 1], inputs, [1.0, 2.0, -1.0, 1.0])
    assert phase.active.tolist() == [[True, False, False, False], [True, True, False, False]]
    assert np.isinf(phase.times).all()
    assert greedy_limit(on_first[:1], [1], inputs, [1.0, 2.0, -1.0, 1.0]).groups == ((0,),)


def test_half_times_and_limit_at_30_digits():
    """Without losses: squared norms grow as ``(|g| + <g, D>/|D|)^2/4 lambda^2 exp(2 |D| t)``."""
    g = np.array(
        [[3.0, 1.0, -2.0, -1.0], [1.0, 2.0, -1.0, -5.0], [-1.0, -0.5, 2.0, 1.0], [-3.0, -1.0, 0.3, 4.0]]
    )
    signs, norms = np.array([1.0, 1.0, -1.0, -1.0]), np.linalg.norm(g, axis=1)
    log_scale = -1000 * np.log(10)
    theory = two_plateaus(g / norms[:, None], np.log(norms) + log_scale, signs, np.eye(4), LABELS)
    with mpmath.workdps(30):
        for sign, half, rows in (
            (1, theory.half_times.positive, (0, 1)),
            (-1, theory.half_times.negative, (2, 3)),
        ):
            y = [max(sign * mpmath.mpf(value), 0) for value in LABELS]
            height = mpmath.sqrt(mpmath.fsum(value**2 for value in y))
            shares = [
                (
                    mpmath.mpf(norms[j])
                    + mpmath.fsum(a * mpmath.mpf(b) for a, b in zip(y, g[j], strict=True)) / height
                )
                ** 2
                / 4
                for j in rows
            ]
            exact = (
                2
                * (mpmath.log(height) - 2 * mpmath.mpf(log_scale) - mpmath.log(mpmath.fsum(shares)))
                / height
            )
            # n = 4: the rate is height/4.
            assert half == pytest.approx(float(exact), rel=1e-14)
            for j, share in zip(rows, shares, strict=True):
                exact_norm = mpmath.log(height * share / mpmath.fsum(shares)) / 2
                assert theory.log_norms[j] == pytest.approx(float(exact_norm), rel=1e-12)


def test_widths_are_the_least_ones():
    for width, probability in (
        (starts.width_needed, starts.groups_probability),
        (starts.coverage_width, starts.coverage_probability),
    ):
        m = width(5, 3, 0.9)
        assert probability(5, 3, m) >= 0.9 > probability(5, 3, m - 1)


def test_seen_probability():
    angle = 0.3
    pair = [[1.0, 0.0, 0.0], [2 * np.cos(angle), 2 * np.sin(angle), 0.0]]
    assert starts.seen_probability(pair) == pytest.approx((np.pi + angle) / (2 * np.pi), rel=1e-14)
    assert starts.seen_probability(np.eye(3)) == pytest.approx(7 / 8, rel=1e-15)
    opposite = [[1.0, 0.0], [-1.0, 0.0]]
    assert starts.seen_probability(opposite) == 1.0
    rng = np.random.default_rng(0)
    three = rng.standard_normal((3, 4))
    draws = 40_000
    seen = (rng.standard_normal((draws, 4)) @ three.T > 0).any(axis=1).mean()
    assert abs(seen - starts.seen_probability(three)) < 4 * np.sqrt(0.25 / draws)


def problem(seed, n=5):
    rng = np.random.default_rng(seed)
    inputs = orthonormal_inputs(n, n + 2, rng=rng) * rng.uniform(0.5, 2, n)[:, None]
    return inputs, rng.uniform(0.5, 1.5, n) * np.where(np.arange(n) % 2, 1, -1)


@pytest.mark.parametrize("seed", range(3))
def test_the_minimum_norm_network_interpolates_at_the_least_norm(seed):
    inputs, labels = problem(seed)
    net = data.minimum_norm_network(inputs, labels)
    np.testing.assert_allclose(net(inputs), labels, rtol=1e-13)
    squared = data.minimum_squared_norm(inputs, labels)
    assert (net.w**2).sum() + (net.a**2).sum() == pytest.approx(squared, rel=1e-14)
    # Its multipliers prove the value: they reproduce it, and no unit vector responds with more than 1.
    duals = data.minimum_norm_multipliers(inputs, labels)
    assert 2 * duals @ labels == pytest.approx(squared, rel=1e-14)
    units = np.random.default_rng(0).standard_normal((20_000, 7))
    units /= np.linalg.norm(units, axis=1)[:, None]
    assert np.abs(np.maximum(units @ inputs.T, 0) @ duals).max() <= 1


def test_norms_of_any_size():
    inputs, labels = problem(0)
    value = data.minimum_squared_norm(inputs, labels)
    for power in (-200, 200):
        scale = 10.0**power
        assert data.minimum_squared_norm(scale * inputs, scale * labels) == pytest.approx(value, rel=1e-13)
        heights = data.class_heights(inputs, scale * labels)
        assert 2 * sum(heights) == pytest.approx(scale * value, rel=1e-13)


def test_neurons_turn_only_where_norms_differ():
    inputs, labels = problem(1)
    angles = data.turning_angles(inputs, labels)
    directions = data.class_directions(inputs, labels)
    net = data.minimum_norm_network(inputs, labels)
    for angle, aligned, final, sign in zip(angles, directions, net.w, (1, -1), strict=True):
        cosine = sign * aligned @ final / np.linalg.norm(aligned) / np.linalg.norm(final)
        assert angle == pytest.approx(np.arccos(cosine), rel=1e-10)
    equal = data.turning_angles(inputs / np.linalg.norm(inputs, axis=1)[:, None], labels)
    assert max(equal) < 1e-15


def test_one_leaky_cluster_fits_all_labels():
    slope = 0.3
    w = np.where(LABELS > 0, LABELS, LABELS / slope)
    net = TwoLayer(w[None] / np.sqrt(np.linalg.norm(w)), [np.sqrt(np.linalg.norm(w))], slope)
    np.testing.assert_allclose(net(np.eye(4)), LABELS, rtol=1e-14)
    squared = (net.w**2).sum() + (net.a**2).sum()
    assert data.single_cluster_squared_norm(LABELS, slope) == pytest.approx(squared, rel=1e-14)
    assert data.single_cluster_squared_norm(-LABELS, slope) == pytest.approx(squared, rel=1e-14)


def off_the_boundaries(net, inputs, labels):
    """Turn the two neurons a little away from the inputs of the other class, which they touch."""
    others = [inputs[labels < 0].sum(axis=0), inputs[labels > 0].sum(axis=0)]
    return TwoLayer(net.w - 1e-13 * np.array(others), net.a)
