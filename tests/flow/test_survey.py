"""The survey of alignment problems: the theorem on random data, and its measurements against brute force."""

import numpy as np
import pytest

from lib.data.synthetic import cone_data
from lib.flow import survey
from lib.training.losses import EXPONENTIAL, TWICE_LOGISTIC


def runs(count=8, **options):
    rng = np.random.default_rng(0)
    return [survey.draw_problem(rng=rng, m=20, **options) for _ in range(count)]


def test_separable_problems_obey_the_theorem():
    for run in runs() + runs(distances=np.array([1e-2, 1e-6])):
        assert survey.count_illegal(run) == 0
        assert survey.most_changes(run) <= len(run.labels)
        assert survey.count_wrong_ends(run) == (0, 0)
        assert max(survey.stage_ratios(run)) <= 1
        assert survey.crossing_rates(run).min(initial=np.inf) >= 1 - 1e-9


def test_gaussian_problems_do_not():
    broken = runs(separable=False)
    assert sum(survey.count_illegal(run) for run in broken) > 0
    assert sum(survey.count_wrong_ends(run)[0] for run in broken) > 0
    with pytest.raises(ValueError, match="Assumption 1"):
        _ = next(run.constants for run in broken if len(run.labels) > 4)


def test_adversaries_lie_near_the_repelling_sum():
    inputs, labels = cone_data(2, 3, 4, 0.1, rng=np.random.default_rng(1))
    w, signs = survey.adversaries(inputs, labels, np.array([1e-3, 1e-9]), rng=np.random.default_rng(2))
    assert signs.tolist() == [1, 1, -1, -1]
    plus, minus = inputs[:2].sum(axis=0), inputs[2:].sum(axis=0)
    for j, total in enumerate([minus, minus, plus, plus]):
        assert np.linalg.norm(w[j] - total / np.linalg.norm(total)) < 10 * [1e-3, 1e-9][j % 2]


def test_crossing_rates_against_finite_differences():
    run = survey.align(
        *cone_data(2, 2, 3, 0.2, rng=np.random.default_rng(3)), 10, rng=np.random.default_rng(4)
    )
    events, step = run.phase.events, 1e-6
    found = []
    for event in events:
        # From the inactive side of the boundary, where only the other active data pull.
        shift = step if not event.entering else -step
        x = run.inputs[event.datum] / np.linalg.norm(run.inputs[event.datum])
        value = run.phase.at(np.array([event.time + shift]))[0][0, event.neuron] @ x
        rate = run.signs[event.neuron] * run.labels[event.datum] * value / shift
        if run.phase.patterns_at(np.array([event.time + step]))[0, event.neuron].any():
            found.append(rate / 0.2**1.5)
    np.testing.assert_allclose(np.sort(survey.crossing_rates(run)), np.sort(found), rtol=1e-4)


@pytest.mark.parametrize("slope", [0.0, 0.3, 1.0])
def test_direction_error_against_a_difference_of_drifts(slope):
    """At a scale where subtraction still has digits, the error is the difference of the two drifts."""
    run = survey.align(
        *cone_data(2, 2, 3, 0.2, rng=np.random.default_rng(5)), 6, rng=np.random.default_rng(6)
    )
    flow = survey.flow_from(run, np.log(0.1), EXPONENTIAL, until=0.5, slope=slope)
    times = np.linspace(0, 0.5, 11)
    v, *_ = flow.at(times)
    slopes = -EXPONENTIAL.slope(flow.outputs(times), run.labels)
    active = np.where(v @ run.inputs.T > 0, 1.0, slope)
    drifts = [(active * force) @ run.inputs for force in (slopes[:, None], run.labels)]
    tangent = [drift - (drift * v).sum(axis=2, keepdims=True) * v for drift in drifts]
    expected = np.linalg.norm(tangent[0] - tangent[1], axis=2).max()
    error = survey.direction_error(flow, run.labels, lambda q: np.expm1(-q), times)
    assert error == pytest.approx(expected, rel=1e-9)


def test_flow_from_a_tiny_scale_is_the_exact_phase():
    run = survey.align(
        *cone_data(2, 2, 3, 0.2, rng=np.random.default_rng(7)), 6, rng=np.random.default_rng(8)
    )
    flow = survey.flow_from(run, -2000.0, TWICE_LOGISTIC, until=3.0)
    np.testing.assert_allclose(flow.at(np.array([3.0]))[0], run.phase.at(np.array([3.0]))[0], atol=1e-12)


@pytest.mark.parametrize("slope", [0.0, 0.3, 1.0])
def test_lemma_ratios_against_norms_by_hand(slope):
    """At time zero the output is known; a scale that the lemmas do not allow is refused."""
    inputs, labels = np.array([[1.0, 0.0], [0.0, 2.0]]), np.array([1.0, -1.0])
    run = survey.Aligned(np.array([[3.0, 0.0]]), np.array([1.0]), inputs, labels, None)
    scale = 1e-4
    exponential = (EXPONENTIAL, lambda q: np.expm1(-q))
    output, error = survey.lemma_ratios(run, np.log(scale), *exponential, slope=slope, stretch=1e-9)
    assert output == pytest.approx((3 * scale) ** 2 / (2 * scale * 2 * 9), rel=1e-6)
    # The only datum with an output lies along w and cannot turn it.
    assert error <= 1e-6 * output
    with pytest.raises(ValueError, match="allows at most"):
        survey.lemma_ratios(run, np.log(0.02), *exponential)
