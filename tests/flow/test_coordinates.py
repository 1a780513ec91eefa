"""What the contract of coordinates asks, of those that there are and of a kind that only this test has."""

from __future__ import annotations

import numpy as np
import pytest

from lib.flow import gradient_flow
from lib.flow.coordinates import Balanced, Referred, Span
from lib.flow.late import late_flow
from lib.flow.methods import Explicit
from lib.flow.run import Run
from lib.flow.trajectory import Task, Weights
from lib.models.two_layer import Start
from lib.training.losses import HINGE, LOGISTIC, SQUARE
from tests.flow.problems import CLOUD, CLOUD_LABELS, DIRECTIONS, SIGNS


class Layered:
    """Weights in units of one size for each layer, that of its largest; a state is (m d + m,)."""

    trains_outputs = True

    def __init__(self, weights: Weights) -> None:
        self.shape, self.cut = weights.directions.shape, weights.directions.size
        self.inner, self.outer = weights.log_norms.max(), weights.log_outputs.max()
        self.scale = np.exp(self.inner + self.outer)
        self.ratio = np.exp(self.outer - self.inner)

    def renewed(self, weights):
        return Layered(weights)

    def pack(self, weights):
        w = np.exp(weights.log_norms - self.inner)[:, None] * weights.directions
        return np.append(w, weights.signs * np.exp(weights.log_outputs - self.outer))

    def _parts(self, states):
        w = states[..., : self.cut].reshape(*states.shape[:-1], *self.shape)
        return w, states[..., self.cut :]

    def weights(self, states):
        w, a = self._parts(states)
        norms = np.linalg.norm(w, axis=-1)
        with np.errstate(divide="ignore"):
            logs = np.log(norms) + self.inner, np.sign(a), np.log(np.abs(a)) + self.outer
        return Weights(w / np.where(norms > 0, norms, 1.0)[..., None], *logs)

    def split(self, state):
        w, a = self._parts(state)
        return w, a * self.scale

    def velocity(self, state, v, drive):
        in_w = self.ratio * self._parts(state)[1][..., None] * drive
        in_w = in_w.reshape(*in_w.shape[:-2], self.cut)
        return np.concatenate([in_w, np.vecdot(drive, v) / self.ratio], axis=-1)

    def gradients(self, state, gates, inputs):
        w, a = self._parts(state)
        in_w = a[:, None, None] * gates[:, :, None] * inputs
        in_w = in_w.transpose(1, 0, 2).reshape(len(inputs), -1)
        return self.scale * np.hstack([in_w, (gates * (w @ inputs.T)).T])

    def outgrown(self, state):
        return bool(np.abs(state).max() > 10)

    def vanished(self, log_norms):
        return log_norms < self.inner + np.log(1e-9)


def start_of(log_scale, gap=0.3):
    """Return five neurons whose output weights are smaller by a factor, some of opposite sign."""
    return Start(DIRECTIONS, np.full(5, log_scale), SIGNS, np.full(5, log_scale - gap))


def run_in(kind, start, loss, inputs=CLOUD, labels=CLOUD_LABELS):
    """Return a run that is to be followed in coordinates of a kind, and its weights."""
    weights = Weights(start.directions, start.log_norms, start.signs, start.log_outputs)
    task = Task(inputs, labels, loss, np.full(len(labels), 1 / len(labels)))
    return Run(weights, kind(weights), Span(inputs, start.directions), task, 0.2, 1e-11), weights


@pytest.mark.parametrize("loss", [SQUARE, LOGISTIC, HINGE], ids=lambda loss: loss.name)
@pytest.mark.parametrize("log_scale", [-1.0, -20.0])
@pytest.mark.parametrize("gap", [0.0, 0.3])
def test_a_kind_of_coordinates_of_ones_own_follows_the_same_flow(loss, log_scale, gap):
    """It needs no line but its own class: from early closed forms, over events, to the end."""
    start, until = start_of(log_scale, gap), 4.0 - 4 * log_scale
    run, _ = run_in(Layered, start, loss)
    run.align(until)
    mine = run.trajectory(run.integrate(Explicit(until), 0.0, 20_000))
    theirs = gradient_flow(start, CLOUD, CLOUD_LABELS, loss, until=until, slope=0.2, rtol=1e-11)
    assert mine.reason is theirs.reason and len(theirs.events) > 3
    assert [event[1:] for event in mine.events] == [event[1:] for event in theirs.events]
    np.testing.assert_allclose(*([event.time for event in run.events] for run in (mine, theirs)), atol=1e-6)
    times = np.linspace(0.0, 1.0, 30) * min(mine.times[-1], theirs.times[-1])
    np.testing.assert_allclose(mine.outputs(times), theirs.outputs(times), atol=1e-7)


def test_a_kind_of_coordinates_of_ones_own_reaches_late_times():
    start, data = start_of(-1.0), (CLOUD[:2], CLOUD_LABELS[:2])
    run, _ = run_in(Layered, start, LOGISTIC, *data)
    mine = late_flow(run, LOGISTIC.tail, 1e3, 0.0, 20_000)
    theirs = gradient_flow(start, *data, LOGISTIC, log_until=1e3, slope=0.2, rtol=1e-11)
    assert mine.stopped == theirs.stopped == "log time reached 1000"
    np.testing.assert_allclose(mine.outputs()[-1], theirs.outputs()[-1], rtol=1e-7)


KINDS = {
    "balanced": lambda weights: Balanced(weights.signs, weights.directions.shape[1]),
    "referred": lambda weights: Referred(weights, trains_outputs=True),
    "of the first layer": lambda weights: Referred(weights, trains_outputs=False),
    "of one's own": Layered,
}


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_coordinates_do_what_their_contract_says(kind):
    run, weights = run_in(kind, start_of(-40.0, gap=0.0), LOGISTIC)
    coordinates, boundaries = run.field.coordinates, run.field.boundaries
    state = coordinates.pack(weights)
    for part, same in zip(coordinates.weights(np.array([state, state])), weights, strict=True):
        np.testing.assert_allclose(part, [same, same], atol=1e-13)
    v, c = coordinates.split(state)
    along = (v * weights.directions).sum(axis=1)
    np.testing.assert_allclose(v, along[:, None] * weights.directions, atol=1e-15)
    products = weights.signs * np.exp(weights.log_norms + weights.log_outputs)
    np.testing.assert_allclose(along * c, products, rtol=1e-12)
    # In those of the late phase, velocities are linear in the drives and affine in the state.
    affine = Referred(weights, trains_outputs=coordinates.trains_outputs)
    drives, states = (
        np.random.default_rng(0).standard_normal((3, 5, 3)),
        affine.pack(weights) * [[1], [3], [2]],
    )
    low, high, middle = np.broadcast_to(
        affine.velocity(states, affine.split(states)[0], drives[0]), states.shape
    )
    np.testing.assert_allclose(middle, (low + high) / 2, atol=1e-13)
    drives[2] = 2 * drives[0] - drives[1]
    under = affine.velocity(states[0], affine.split(states[0])[0], drives)
    np.testing.assert_allclose(under[2], 2 * under[0] - under[1], atol=1e-13)
    # And the gradients are those of the outputs.
    steps = 1e-6 * np.eye(len(states[0]))
    outputs = [run.field.outputs(*affine.split(states[0] + sign * steps)) for sign in (1, -1)]
    gradients = affine.gradients(states[0], boundaries.gates, CLOUD)
    np.testing.assert_allclose(
        gradients, (outputs[0] - outputs[1]).T / 2e-6, rtol=1e-6, atol=1e-9 * np.abs(gradients).max()
    )
