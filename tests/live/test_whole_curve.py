"""The whole curve: a network on three data, and the two neurons that have its loss, are the library's."""

import numpy as np
import pytest

from lib.flow import gradient_flow
from lib.flow.alignment import alignment_phase
from lib.models.two_layer import Start
from lib.seeds import generator
from lib.training.losses import TWICE_LOGISTIC
from tests.live.scripts import call, numbers, said

CLASSES = np.array([1, 1, -1])
BOTH_CURVES = """(task, power, times) => {
  const paths = m.turn(task);
  const classes = { 1: m.memory(task, paths, 1), "-1": m.memory(task, paths, -1) };
  const logScale = -power * Math.LN10;
  const { losses, weightsAt } = m.network(task, paths, logScale, times);
  return [losses, m.theory(task, classes, logScale, times), times.map((_, k) => weightsAt(k))];
}"""
START = Start.gaussian(24, 2, 0.0, rng=generator(2))


def classes_of(inputs):
    """For each class the norm of its sum, and the logarithm of the size that the early phase gives it."""
    phase = alignment_phase(START.directions, START.signs, inputs, CLASSES)
    rate, gain = phase.asymptotics
    for label in (1, -1):
        total = np.linalg.norm(inputs[np.equal(CLASSES, label)].sum(axis=0))
        alive = (START.signs == label) & (rate > 0.99 * total)
        yield total, 0.5 * np.log(np.exp(2 * (START.log_norms + gain)[alive]).sum())


def both(power, share, inputs=((1.2, 0.2), (0.1, 0.7), (-0.4, -0.5))):
    """The figure's losses and first layers, and the library's flow of the same network."""
    inputs = np.array(inputs)
    angles = np.arctan2(*START.directions.T[::-1])
    parts = zip(angles, START.log_norms, START.signs, strict=True)
    neurons = [{"angle": angle, "logNorm": norm, "sign": float(sign)} for angle, norm, sign in parts]
    weights = [2 * share, 2 * share, 2 - 2 * share]
    task = {"inputs": inputs.tolist(), "labels": CLASSES.tolist(), "weights": weights, "neurons": neurons}
    times = np.geomspace(0.4, 900, 30)
    found = call("live/memory", BOTH_CURVES, task, power, times.tolist())
    options = {"until": 900, "reduction": "sum", "weights": np.array(weights)}
    run = gradient_flow(START.scaled(-power * np.log(10)), inputs, CLASSES, TWICE_LOGISTIC, **options)
    return times, found, run


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("power", [0.5, 2, 8, 30])
def test_the_network_of_the_whole_curve_is_that_of_the_library(power, share):
    times, (losses, _, layers), run = both(power, share)
    np.testing.assert_allclose(losses, run.loss(times), rtol=1e-4)
    found = run.at(times)
    w = found.directions * np.exp(found.log_norms - found.log_norms.max(axis=1)[:, None])[..., None]
    ours = np.array(layers) / np.linalg.norm(layers, axis=-1).max(axis=1)[:, None, None]
    np.testing.assert_allclose(ours, w, atol=2e-3)


def test_two_neurons_are_off_by_the_square_of_the_scale():
    gaps = []
    for power in (1, 1.5, 2):
        times, (_, theory, _), run = both(power, 0.4)
        gaps.append(np.abs(np.array(theory) / run.loss(times) - 1).max())
    assert gaps[0] < 0.05
    np.testing.assert_allclose(np.divide(gaps[1:], gaps[:-1]), 0.1, rtol=0.3)


DYING = [((1.0, 0.15), (1.2, 0.2), (-0.1, -0.6)), ((0.8, 0.8), (1.0, 0.9), (-0.6, -0.1))]


@pytest.mark.parametrize("inputs", DYING)
def test_two_neurons_remember_nothing_of_neurons_that_die(inputs):
    """Between the classes lie directions in which no datum is seen: a neuron there stays behind."""
    patterns = alignment_phase(START.directions, START.signs, inputs, CLASSES).patterns
    dead = ~patterns.any(axis=1)
    assert {*START.signs[dead]} == {-1, 1}
    gaps = []
    for power in (1, 1.5, 2):
        times, (_, theory, _), run = both(power, 0.4, inputs)
        gaps.append(np.abs(np.array(theory) / run.loss(times) - 1).max())
    np.testing.assert_allclose(np.divide(gaps[1:], gaps[:-1]), 0.1, rtol=0.3)


def test_the_sentence_says_the_losses_and_when_the_classes_are_due():
    inputs = np.array([[1, 0.3], [0.4, 0.8], [-0.3, -0.4]])
    given = {name: getattr(START, name).tolist() for name in ("directions", "log_norms", "signs")}
    cases = [(1, 0.0), (3, 0.8), (8, 1.5), (3, 0.8)]
    sentences = said("whole_curve", given, *({"power": power, "time": time} for power, time in cases))
    assert sentences[1] == sentences[3]
    for (power, time), sentence in zip(cases, sentences, strict=True):
        scaled = START.scaled(-power * np.log(10))
        run = gradient_flow(scaled, inputs, CLASSES, TWICE_LOGISTIC, until=40, reduction="sum")
        network, two, _, *due = numbers(sentence)
        assert network == pytest.approx(run.loss([10**time])[0], abs=6e-4)
        assert two == pytest.approx(network, rel=10.0 ** (1 - 2 * min(power, 2)))
        wanted = [max(0.0, power * np.log(10) - size) / total for total, size in classes_of(inputs)]
        np.testing.assert_allclose(due, wanted, atol=0.051)
