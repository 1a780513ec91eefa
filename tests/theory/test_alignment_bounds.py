"""Constants and bounds of early alignment: two routes to each, and against the exact flow."""

import mpmath
import numpy as np
import pytest
from scipy.optimize import minimize

from lib.data.synthetic import cone_data
from lib.flow.alignment import alignment_phase
from lib.geometry.patterns import activation_patterns, cosine, regions
from lib.theory import alignment_bounds as bounds
from lib.theory import alignment_paths as paths
from lib.theory import cone_constants as cones
from tests.points import simplex


def problem(seed, mu=0.1, m=200):
    rng = np.random.default_rng(seed)
    inputs, labels = cone_data(2, 3, 4, mu, rng=rng, norms=(0.7, 1.4))
    return rng.standard_normal((m, 4)), np.resize([1.0, -1.0], m), inputs, labels


@pytest.mark.parametrize("seed", range(4))
def test_cone_margin_against_a_direct_search(seed):
    _, _, inputs, labels = problem(seed)
    signed = labels[:, None] * inputs / np.linalg.norm(inputs, axis=1)[:, None]

    def shortest(logits):
        weights = np.exp(logits - logits.max())
        return np.linalg.norm(weights @ signed / weights.sum())

    starts = np.random.default_rng(0).standard_normal((4, len(signed)))
    found = min(minimize(shortest, start, method="BFGS", options={"gtol": 1e-9}).fun for start in starts)
    kappa = cones.cone_margin(inputs, labels)
    assert kappa == pytest.approx(found, abs=1e-5)
    assert kappa >= np.sqrt(0.1 + 0.9 / len(labels)) - 1e-12


@pytest.mark.parametrize("mu", [0.0, 0.3, 0.9])
def test_cone_margin_of_a_simplex_is_tight(mu):
    assert cones.cone_margin(simplex(5, mu), np.ones(5)) == pytest.approx(np.sqrt(mu + (1 - mu) / 5))


def test_cone_margin_is_zero_without_separability():
    assert cones.cone_margin(np.array([[1.0, 0.0], [-1.0, 0.0]]), np.ones(2)) == pytest.approx(0, abs=1e-7)


@pytest.mark.parametrize("seed", range(4))
def test_caps_of_lemma_8(seed):
    _, _, inputs, labels = problem(seed)
    rng = np.random.default_rng(seed)
    zeta = cones.cap_constant(inputs, labels)
    assert zeta >= 0.1**2
    for total, name in zip(cones.class_sums(inputs, labels), ("S+", "S-"), strict=True):
        across = rng.standard_normal((20_000, 4))
        unit = total / np.linalg.norm(total)
        across -= (across @ unit)[:, None] * unit
        across /= np.linalg.norm(across, axis=1)[:, None]
        inside = np.sqrt(1 - 0.999 * zeta) * unit + np.sqrt(0.999 * zeta) * across
        assert (regions(activation_patterns(inside, inputs), labels) == name).all()


def test_start_constant_keeps_its_digits_near_the_repelling_sum():
    inputs, labels = np.array([[1.0, 0.01], [-1.0, 0.01]]), np.array([1.0, -1.0])
    minus = inputs[1] / np.linalg.norm(inputs[1])
    angle = 1e-12
    w = np.cos(angle) * minus + np.sin(angle) * np.array([-minus[1], minus[0]])
    assert cones.start_constant(w[None], [1], inputs, labels) == pytest.approx(angle**2, rel=1e-3)
    assert cones.start_constant(w[None], [-1], inputs, labels) == 1.0
    assert cones.start_constant(w[None], [1], inputs[:1], labels[:1]) == 1.0


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("mu", [1e-4, 0.3])
def test_both_times_bound_the_exact_flow(seed, mu):
    w, signs, inputs, labels = problem(seed, mu)
    constants = bounds.alignment_constants(w, signs, inputs, labels)
    last = alignment_phase(w, signs, inputs, labels).events.time.max()
    assert last <= bounds.repaired_time(constants) <= bounds.headline_time(constants)
    assert last <= bounds.proved_time(5, mu, min(constants.zeta, constants.xi), constants.x_min)
    assert constants.kappa >= np.sqrt(mu)


@pytest.mark.parametrize("n", [1, 2, 3, 30, 3000])
def test_the_headline_bounds_the_repaired_time_for_the_narrowest_margin(n):
    for mu in np.geomspace(1e-12, 1, 200):
        for zeta in (1.0, 1e-9):
            least = np.sqrt(mu + (1 - mu) / n)
            constants = bounds.AlignmentConstants(n, mu, 1.0, zeta, least, 1.0, 1.0)
            assert bounds.repaired_time(constants) <= bounds.headline_time(constants)


def test_turning_time_is_that_of_the_flow():
    mu = 0.01
    inputs = np.array([[1.0, 0.0], [mu, np.sqrt(1 - mu**2)]])
    w = np.array([[np.cos(np.pi / 3), -np.sin(np.pi / 3)]])
    phase = alignment_phase(w, [1], inputs, [1.0, 1.0])
    expected = bounds.turning_time(np.pi / 3, np.arcsin(mu), 1.0)
    assert phase.events.time == pytest.approx([expected], rel=1e-13)


def test_maximal_path_is_the_longest():
    for positive in range(1, 9):
        for negative in range(9):
            longest = paths.longest_path_sum(positive, negative)
            assert paths.maximal_path_sum(positive, negative) == pytest.approx(longest, rel=1e-14)


def test_worst_path_includes_the_dying():
    assert paths.worst_path_sum(1) == 1.0
    for n in range(2, 60):
        splits = [paths.longest_path_sum(positive, n - positive) for positive in range(1, n + 1) if n < 9]
        dying = sum(1 / k for k in range(1, n + 1))
        assert paths.worst_path_sum(n) >= dying
        if splits:
            assert paths.worst_path_sum(n) == pytest.approx(max(*splits, dying))


def test_path_sums_of_many_data():
    # Longest paths are those of the even split, and grow like 2 ln(n/2) + 2 gamma + 1/2.
    assert paths.worst_path_sum(10**15) == pytest.approx(
        2 * np.log(5e14) + 2 * np.euler_gamma + 0.5, rel=1e-14
    )
    assert paths.longest_path_sum(350, 250) == pytest.approx(paths.maximal_path_sum(350, 250), rel=1e-13)
    for counts in ((10**10, 1), (1, 10**10), (10**5, 10**5)):
        with pytest.raises(ValueError, match=r"positive is .*, negative .*; allowed: at most 100000 pairs"):
            paths.longest_path_sum(*counts)


def test_stage_times():
    assert bounds.stage_time(2, 0.25, 0.25, 1.0) == pytest.approx(16.0)
    # The exact solution turns from -sqrt(1 - c) to +sqrt(1 - c) in the sharp time.
    w = np.array([[-np.sqrt(0.75), 0.5]])
    duration = bounds.sharp_stage_time(np.array([2.0]), 0.25)
    directions, _ = alignment_phase(w, [1], [[2.0, 0.0], [0.0, 1e-9]], [1.0, 0.0], slope=1.0).at(duration)
    assert cosine(directions[0, 0], [1.0, 0.0]) == pytest.approx(np.sqrt(0.75), rel=1e-12)


def test_scales_in_logarithms():
    constants = bounds.AlignmentConstants(4, 0.5, 0.5, 0.4, 0.8, 1.0, 1.2)
    assert constants.zeta == 0.4 and constants.xi == 0.25
    least = bounds.log_largest_scale(constants, 6, 2.0)
    assert bounds.negligible_window(4, 6, 1.2, least) == pytest.approx(bounds.proved_time(4, 0.5, 0.25, 1.0))
    assert bounds.log_norm_bound(4, 2.0, 0.0) == pytest.approx(np.log(4.0))
    assert bounds.log_output_bound(4, 3.0, 2.0, 0.0) == pytest.approx(np.log(48.0))
    assert bounds.log_direction_error_bound(5, 4, 3.0, 2.0, -10.0) == pytest.approx(np.log(1440.0) - 10)


def test_assumption_is_named():
    with pytest.raises(ValueError, match="Assumption 1"):
        bounds.alignment_constants(np.eye(2), [1, 1], np.eye(2), [1, 1])


@pytest.mark.parametrize("power", [-1, 0, 1])
def test_constants_of_tiny_and_huge_data_and_neurons(power):
    w, signs, inputs, labels = problem(0)
    scale = 10.0 ** (200 * power)
    constants = bounds.alignment_constants(scale * w, signs, scale * inputs, labels)
    plain = bounds.alignment_constants(w, signs, inputs, labels)
    found = [constants.mu, constants.zeta_1, constants.zeta_2, constants.kappa, constants.x_max / scale]
    expected = [plain.mu, plain.zeta_1, plain.zeta_2, plain.kappa, plain.x_max]
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_drifts_and_crossing_speeds_are_bounded_below(seed):
    w, signs, inputs, labels = problem(seed, mu=0.05)
    active = w @ inputs.T > 0
    drift = np.linalg.norm((active * labels) @ inputs, axis=1)
    x_min = np.linalg.norm(inputs, axis=1).min()
    count = active.sum(axis=1)
    sharp = cones.least_drift(count, 0.05, x_min)
    assert (drift >= sharp * (1 - 1e-12)).all()
    assert (sharp >= cones.least_drift(count, 0.05, x_min, as_printed=True)).all()
    tight = np.linalg.norm(simplex(4, 0.05).sum(axis=0))
    assert cones.least_drift(4, 0.05, 1.0) == pytest.approx(tight, rel=1e-13)
    phase = alignment_phase(w, signs, inputs, labels)
    units = labels[:, None] * inputs / np.linalg.norm(inputs, axis=1)[:, None]
    least = cones.least_crossing_speed(0.05, x_min)
    for event in phase.events:
        pattern = phase.patterns_at([event.time])[0, event.neuron].copy()
        pattern[event.datum] = False
        if pattern.any():
            speed = (pattern * labels) @ inputs @ units[event.datum]
            assert speed >= least * (1 - 1e-12)
    assert least >= cones.least_crossing_speed(0.05, x_min, as_printed=True)


def test_stage_times_are_ordered():
    constants = np.geomspace(1e-8, 1, 9)[:, None]
    active, mu = np.arange(1, 5), 0.01
    printed, repaired = (
        call(active, constants, mu, 0.7) for call in (bounds.stage_time, bounds.repaired_stage_time)
    )
    sharp = bounds.sharp_stage_time(cones.least_drift(active, mu, 0.7), constants)
    assert (sharp <= repaired).all() and (repaired[:-1] <= printed[:-1]).all()
    with mpmath.workdps(40):
        exact = 2 * mpmath.atanh(mpmath.sqrt(1 - mpmath.mpf(constants[0, 0])))
    assert bounds.sharp_stage_time(1.0, constants[0, 0]) == pytest.approx(float(exact), rel=1e-14)


def test_turning_time_at_40_digits():
    for start, end, drift in [(3.1, 1e-9, 2.0), (1e-300, 1e-200, 0.3), (0.5, 0.5000001, 1e-9)]:
        with mpmath.workdps(40):
            halves = (mpmath.tan(mpmath.mpf(angle) / 2) for angle in (start, end))
            exact = (mpmath.log(next(halves)) - mpmath.log(next(halves))) / mpmath.mpf(drift)
        # Two logarithms are subtracted: the error is that of the larger.
        size = max(abs(np.log(np.tan(angle / 2))) for angle in (start, end)) / drift
        assert abs(bounds.turning_time(start, end, drift) - exact) < 1e-15 * (size + 1 / drift) * 4


def test_the_window_ends_too_early_by_the_slack():
    """Outputs on one class, at the leading order scale^2 exp(2 |x_+| t), against the bound of Lemma 3."""
    _, _, inputs, labels = problem(1)
    norms = np.linalg.norm(inputs, axis=1)
    rate = max(np.linalg.norm(total) for total in cones.class_sums(inputs, labels))
    for log_scale in (-1e4, -1e8):
        reached = (bounds.log_output_bound(7, norms.max(), 1.0, log_scale) - 2 * log_scale) / (2 * rate)
        window = bounds.negligible_window(len(labels), 7, norms.max(), log_scale)
        assert reached / window == pytest.approx(cones_slack := bounds.window_slack(inputs, labels), rel=1e-3)
        assert cones_slack >= 2


def test_a_neuron_on_the_repelling_sum_is_promised_nothing():
    inputs, labels = np.array([[1.0, 0.01], [-1.0, 0.01]]), np.array([1.0, -1.0])
    constants = bounds.alignment_constants(inputs[1:], [1], inputs, labels)
    if constants.zeta_2 == 0:
        assert bounds.repaired_time(constants) == bounds.headline_time(constants) == np.inf
        assert bounds.log_largest_scale(constants, 1, 1.0) == -np.inf
    else:
        assert constants.zeta_2 < 1e-30 and bounds.repaired_time(constants) > 60
