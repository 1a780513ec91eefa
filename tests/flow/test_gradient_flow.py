"""The one entry point of the flow: unbalanced starts, the first layer alone, hinge, late times, reduction."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.special import expi, expit, logsumexp

from lib.data.synthetic import orthonormal_inputs
from lib.flow import gradient_flow
from lib.flow.coordinates import Span
from lib.models.two_layer import Start, TwoLayer
from lib.theory.clustering import symmetric_pair_margin
from lib.training.descent import gradient_descent
from lib.training.losses import EXPONENTIAL, HINGE, LOGISTIC, SQUARE, TWICE_LOGISTIC

ALL = (SQUARE, LOGISTIC, TWICE_LOGISTIC, EXPONENTIAL, HINGE)
CLOUD = np.random.default_rng(5).standard_normal((6, 3))
UNIT = Start([[1.0]], [0.0], [1])
CLOUD_LABELS = np.array([1.0, -1.0, 1.0, 1.0, -1.0, -1.0])


def unbalanced(m, d, seed, scale=0.4):
    rng = np.random.default_rng(seed)
    return TwoLayer(scale * rng.standard_normal((m, d)), scale * rng.standard_normal(m))


def scaled(network, log_scale, train):
    """Return the start of a network times exp(log_scale), of its first layer alone if that is trained."""
    start = Start.of(network)
    outputs = start.log_outputs + (log_scale if train == "both" else 0.0)
    return Start(start.directions, start.log_norms + log_scale, start.signs, outputs)


@pytest.mark.parametrize("loss", ALL, ids=lambda loss: loss.name)
@pytest.mark.parametrize("train", ["both", "first"])
@pytest.mark.parametrize("slope", [0.0, 0.3])
def test_descent_converges_to_the_flow_at_first_order(loss, train, slope):
    # Orthonormal inputs: no unit slides, so that the error of descent is smooth in the step.
    x, y = orthonormal_inputs(4, 4, rng=np.random.default_rng(2)), np.array([1.0, -1.0, 1.0, -1.0])
    start = unbalanced(7, 4, seed=3)
    start = TwoLayer(start.w, start.a, slope)
    end = gradient_flow(start, x, y, loss, train=train, until=3.0).network_at()

    def error(steps):
        run = gradient_descent(start, x, y, loss, step=3.0 / steps, steps=steps, train_a=train == "both")
        return np.linalg.norm(np.append(run.network.w - end.w, run.network.a - end.a))

    steps = 250 * 2 ** np.arange(5)
    errors = [error(count) for count in steps]
    assert errors[-1] < 3e-3
    # Kinks are passed at any fraction of a step: the slope holds on average.
    assert np.polyfit(np.log(steps), np.log(errors), 1)[0] == pytest.approx(-1, abs=0.4)


@pytest.mark.parametrize("loss", ALL, ids=lambda loss: loss.name)
@pytest.mark.parametrize("train", ["both", "first"])
@pytest.mark.parametrize("seed", [0, 1, 3])
def test_descent_approaches_flows_that_slide(loss, train, seed):
    network = unbalanced(5, 3, seed)
    run = gradient_flow(network, CLOUD, CLOUD_LABELS, loss, train=train, until=8.0)
    descent = gradient_descent(
        network, CLOUD, CLOUD_LABELS, loss, step=2e-3, steps=4000, train_a=train == "both"
    ).network
    # Descent hops across a boundary that holds a unit: an error of some steps times the forces.
    np.testing.assert_allclose(run.network_at().w, descent.w, atol=1e-2)
    np.testing.assert_allclose(run.network_at().a, descent.a, atol=1e-2)
    losses = loss.value(run.outputs(), CLOUD_LABELS).mean(axis=1)
    assert (np.diff(losses) < 1e-9).all()


@pytest.mark.parametrize("loss", [SQUARE, LOGISTIC, EXPONENTIAL], ids=lambda loss: loss.name)
def test_balance_is_conserved_from_any_start(loss):
    run = gradient_flow(unbalanced(6, 3, seed=1), CLOUD, CLOUD_LABELS, loss, until=6.0)
    gaps = np.exp(2 * run.log_norms) - np.exp(2 * run.log_outputs)
    np.testing.assert_allclose(gaps, np.broadcast_to(gaps[0], gaps.shape), atol=1e-8)
    assert len(run.events) > 3


@pytest.mark.parametrize("label", [1, -1])
def test_neurons_that_die_and_turn_follow_the_flow_on_one_input(label):
    h, a = np.array([0.8, 0.3, 0.5, -0.4]), np.array([0.5, -0.9, -0.2, 0.7])
    times = np.linspace(0, 12, 25)

    def field(_, state):
        seen = np.tile(state[:4] > 0, 2) * state
        pull = label * expit(-label * (seen[:4] @ seen[4:]))
        return pull * np.append(seen[4:], seen[:4])

    exact = solve_ivp(field, (0, 12), np.append(h, a), "DOP853", t_eval=times, rtol=1e-11, atol=1e-13).y.T
    died, turned = exact[-1, :4] < 1e-9, exact[-1, 4:] * a < 0
    assert (died & (h > 0)).any() or turned.any()
    network = TwoLayer(h[:, None], a)
    run = gradient_flow(network, np.ones((1, 1)), np.array([float(label)]), LOGISTIC, until=12.0)
    weights = run.at(times)
    np.testing.assert_allclose(
        np.exp(weights.log_norms) * weights.directions[..., 0], exact[:, :4], atol=1e-8
    )
    np.testing.assert_allclose(weights.signs * np.exp(weights.log_outputs), exact[:, 4:], atol=1e-8)


@pytest.mark.parametrize(("train", "power"), [("both", 8), ("first", 8), ("both", 1000), ("first", 1000)])
def test_the_early_phase_of_unbalanced_starts_is_exact(train, power):
    """In units of the start, and of its time, the early phase is the flow under constant forces."""
    network = unbalanced(6, 3, seed=4, scale=1.0)
    forces = CLOUD_LABELS / (2 * len(CLOUD_LABELS))
    times = np.linspace(0.0, 4.0, 9)[1:]
    log_scale = -power * np.log(10)
    run = gradient_flow(
        scaled(network, log_scale, train), CLOUD, CLOUD_LABELS, LOGISTIC, train=train, until=5.0
    )

    def field(_t, state):
        w, a = state[:18].reshape(6, 3), state[18:]
        drive = ((w @ CLOUD.T > 0) * forces) @ CLOUD
        return np.append((a[:, None] * drive).ravel(), (drive * w).sum(1) * (train == "both"))

    start = np.append(network.w.ravel(), network.a)
    end = solve_ivp(field, (0, 4), start, t_eval=times, rtol=1e-9, atol=1e-11, max_step=0.01)
    # With the first layer alone a time is of the size of the weights.
    at = run.at(times) if train == "both" else run.at(log_times=np.log(times) + log_scale)
    reached = np.exp(at.log_norms - log_scale)[..., None] * at.directions
    np.testing.assert_allclose(reached, end.y[:18].T.reshape(-1, 6, 3), atol=1e-6)


@pytest.mark.parametrize("train", ["both", "first"])
def test_the_scale_of_a_tiny_start_only_shifts_time(train):
    network = unbalanced(6, 3, seed=4, scale=1.0)
    ends = []
    for power in (6, 100, 1000):
        start = scaled(network, -power * np.log(10), train)
        run = gradient_flow(start, CLOUD, CLOUD_LABELS, LOGISTIC, train=train, until=8 * power + 50)
        passed = np.abs(run.outputs()).max(axis=1) > 1e-3
        # The time until outputs are noticed grows with the scale; afterwards all runs are alike.
        ends.append(run.outputs([run.times[np.argmax(passed)] + 10.0])[0])
    np.testing.assert_allclose(ends[1], ends[2], rtol=0.05, atol=1e-4)
    np.testing.assert_allclose(ends[0], ends[2], rtol=0.05, atol=1e-4)


def test_a_linear_unit_through_zero_is_the_exact_solution():
    # One leaky unit of slope 1 is a linear model: w' = a (y - a w), through w = 0 without a trace.
    run = gradient_flow(UNIT, [[1.0]], [-1.0], SQUARE, train="first", slope=1.0, until=3.0)
    times = np.linspace(0, 3, 13)
    np.testing.assert_allclose(run.outputs(times)[:, 0], -1 + 2 * np.exp(-times), atol=1e-9)


def test_a_relu_unit_dies_at_zero_and_stays():
    run = gradient_flow(UNIT, [[1.0]], [-1.0], SQUARE, train="first", until=3.0)
    times = np.linspace(0, 3, 13)
    np.testing.assert_allclose(run.outputs(times)[:, 0], np.maximum(-1 + 2 * np.exp(-times), 0), atol=1e-9)
    assert np.isneginf(run.log_norms[-1, 0]) and run.events[0].time == pytest.approx(np.log(2), rel=1e-9)


@pytest.mark.parametrize("train", ["both", "first"])
@pytest.mark.parametrize("balanced", [True, False])
def test_data_of_many_dimensions_are_reduced_to_their_span(train, balanced):
    rng = np.random.default_rng(8)
    basis = np.linalg.qr(rng.standard_normal((40, 40)))[0]
    inputs, network = CLOUD @ basis[:3], unbalanced(5, 40, seed=8, scale=0.3)
    if balanced:
        network = TwoLayer(network.w, np.sign(network.a) * np.linalg.norm(network.w, axis=1))
    assert Span(inputs, network.w).inputs.shape == (6, 4)
    run = gradient_flow(network, inputs, CLOUD_LABELS, SQUARE, train=train, until=4.0)

    descent = gradient_descent(
        network, inputs, CLOUD_LABELS, SQUARE, step=1e-3, steps=4000, train_a=train == "both"
    ).network
    np.testing.assert_allclose(run.network_at().w, descent.w, atol=5e-3)
    np.testing.assert_allclose(run.network_at().a, descent.a, atol=5e-3)
    # What is orthogonal to the data does not move at all.
    across = basis[3:]
    np.testing.assert_allclose(run.network_at().w @ across.T, network.w @ across.T, atol=1e-12)


@pytest.mark.parametrize("log_until", [5.0, 50.0, 1e4, 1e8])
def test_a_balanced_neuron_at_late_times_is_the_exponential_integral(log_until):
    # q' = 2 q exp(-q), so that 2 t = Ei(q) - Ei(q_0); beyond 700 by the asymptotic series of Ei.
    run = gradient_flow(UNIT, [[1.0]], [1.0], EXPONENTIAL, log_until=log_until)
    q = run.outputs()[-1, 0]
    assert run.stopped == f"log time reached {log_until:.6g}" and run.log_times[-1] == pytest.approx(
        log_until
    )
    terms = np.cumprod(np.concatenate([[1.0], np.arange(1, 11) / q]))
    log_time = q - np.log(2 * q) + np.log(terms.sum()) if q > 40 else np.log((expi(q) - expi(1.0)) / 2)
    # One step's error is 1e-9 of the weights; they make q, and what is to be compared is its excess.
    assert log_time == pytest.approx(log_until, abs=1e-6, rel=1e-7)


@pytest.mark.parametrize("loss", [LOGISTIC, TWICE_LOGISTIC])
@pytest.mark.parametrize("log_until", [3.0, 12.0])
def test_the_symmetric_pair_follows_its_closed_form_into_late_times(loss, log_until):
    x, v = np.array([[0.8, 0.6], [-0.8, -0.6]]), 0.8
    w = np.repeat([[0.1, 0.05], [-0.1, -0.05]], 3, axis=0)
    network = TwoLayer(w, v * np.repeat([1.0, -1.0], 3), 0.35)
    run = gradient_flow(network, x, np.array([1.0, -1.0]), loss, train="first", log_until=log_until)
    speed = 2.0 if loss is TWICE_LOGISTIC else 1.0
    exact = symmetric_pair_margin(speed * np.exp(log_until), network(x)[0], slope=0.35, k=3, v=v, norm=1.0)
    np.testing.assert_allclose(run.outputs()[-1] * [1, -1], exact, rtol=1e-8)


def test_late_times_agree_with_the_flow_of_mean_neurons():
    rng = np.random.default_rng(3)
    x = np.concatenate(
        [rng.standard_normal((5, 2)) * 0.3 + [1, 1], rng.standard_normal((5, 2)) * 0.3 - [1, 1]]
    )
    y = np.repeat([1.0, -1.0], 5)
    offsets = Start.two_sided(3, 2, np.log(0.01), rng=rng, v=0.5).network()
    network = TwoLayer(np.repeat([[0.5, 0.5], [-0.5, -0.5]], 3, axis=0) + offsets.w, offsets.a, 0.3)
    # The margins are linear in the two means; in units with ds = L dt their flow has no small numbers.
    gates = [np.where(x @ w.mean(axis=0) > 0, 1.0, 0.3) for w in np.split(network.w, 2)]
    rows = 0.5 * np.sqrt(3) * y[:, None] * np.hstack([gates[0][:, None] * x, -gates[1][:, None] * x])

    def field(_, state):
        q = rows @ state[:-1]
        total = logsumexp(np.where(q > 36, -q, np.log(np.logaddexp(0, -np.minimum(q, 36)))))
        return np.append(
            np.exp(-np.logaddexp(0, q) - total) @ rows, np.exp(np.log(len(y)) - total - state[-1])
        )

    means = np.array([w.mean(axis=0) for w in np.split(network.w, 2)])
    start = np.append(np.sqrt(3) * means, 0.0)
    end = solve_ivp(field, (0, 1e3), start, "Radau", rtol=1e-10, atol=1e-12).y[:, -1]
    run = gradient_flow(network, x, y, LOGISTIC, train="first", log_until=end[-1])
    moved = np.repeat(end[:-1].reshape(2, 2) / np.sqrt(3) - means, 3, axis=0)
    np.testing.assert_allclose(run.network_at().w, network.w + moved, rtol=1e-6)


def test_a_late_run_meets_the_plain_one_and_is_dense():
    network = unbalanced(4, 3, seed=2)
    x, y = CLOUD[:2], CLOUD_LABELS[:2]
    late = gradient_flow(network, x, y, LOGISTIC, log_until=8.0)
    plain = gradient_flow(network, x, y, LOGISTIC, until=np.exp(8.0))
    assert plain.stopped.startswith("time reached") and late.stopped == "log time reached 8"
    times = np.exp(np.linspace(-2, 8, 21))[:-1]
    np.testing.assert_allclose(late.outputs(times), plain.outputs(times), atol=1e-7)
    np.testing.assert_array_equal(late.at(log_times=np.log(times)).signs, late.at(times).signs)


def test_hinge_data_are_held_at_their_margin():
    # Two data of one class, close to each other: the first to reach its margin is pushed over by the other.
    x, y = np.array([[1.0, 0.0], [-0.9, 0.5]]), np.array([1.0, 1.0])
    network = TwoLayer(np.array([[0.5, 0.1]]), np.array([1.0]), slope=1.0)
    run = gradient_flow(network, x, y, HINGE, train="first", until=200.0)
    margins = run.outputs(np.linspace(0, run.times[-1], 200)) * y
    held = np.abs(margins - 1) < 1e-9
    # A linear model: with both margins short, the second wins; then the first recovers, the second held.
    assert held.sum() > 20 and run.stopped == "the loss reached 0"
    np.testing.assert_allclose(margins[-1], np.maximum(margins[-1], 1.0), atol=1e-9)
    inside = np.flatnonzero(held.any(axis=1) & ~held.all(axis=1))
    short = margins[inside].min(axis=1)
    # Held at the margin, the other datum moves on by the part of its gradient that leaves the first alone.
    rate = np.diff(short) / (run.times[-1] / 199)
    gram = x @ x.T / 2
    expected = gram[0, 0] - gram[0, 1] ** 2 / gram[1, 1], gram[1, 1] - gram[0, 1] ** 2 / gram[0, 0]
    assert np.abs(rate[1:-1, None] - expected).min(axis=1).max() < 1e-6


def test_permuting_neurons_and_data_changes_nothing():
    network, order = unbalanced(5, 3, seed=6), np.array([3, 1, 4, 0, 2])
    one = gradient_flow(network, CLOUD, CLOUD_LABELS, LOGISTIC, until=5.0)
    other = gradient_flow(
        TwoLayer(network.w[order], network.a[order]), CLOUD[::-1], CLOUD_LABELS[::-1], LOGISTIC, until=5.0
    )
    np.testing.assert_allclose(other.log_norms[-1], one.log_norms[-1][order], atol=1e-7)
    np.testing.assert_allclose(other.outputs()[-1], one.outputs()[-1][::-1], atol=1e-8)


def test_every_way_to_stop_is_named():
    network, options = unbalanced(4, 3, seed=2), {"until": 5.0}
    few = gradient_flow(network, CLOUD, CLOUD_LABELS, SQUARE, max_steps=3, **options)
    assert few.stopped.startswith("3 steps were taken") and len(few.times) == 4
    low = gradient_flow(network, CLOUD, CLOUD_LABELS, SQUARE, loss_below=0.45, **options)
    assert low.stopped == "the loss reached 0.45"
    assert gradient_flow(network, CLOUD, CLOUD_LABELS, SQUARE, **options).stopped == "time reached 5"
    late = gradient_flow(network, CLOUD[:2], CLOUD_LABELS[:2], LOGISTIC, log_until=1e3, loss_below=1e-30)
    assert late.stopped == "the loss reached 1e-30" and 60 < late.log_times[-1] < 80


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"until": None}, "until"),
        ({"log_until": 3.0}, "log_until"),
        ({"until": None, "log_until": 3.0}, "log_until needs a loss with an exponential tail"),
        ({"train": "second"}, "train is 'second'"),
        ({"start": Start([[1.0, 0.0]], [0.0], [1], [400.0])}, "log_outputs exceeds log_norms"),
        ({"start": TwoLayer([[0.0, 0.0]], [1.0])}, "start has w = 0 in neuron 0"),
        ({"start": TwoLayer([[[1.0, 0.0]]], [[1.0]])}, "start has directions of shape"),
        ({"start": TwoLayer([[1.0, 0.0]], [1.0]), "slope": 0.5}, "slope is 0.5, allowed: none"),
        ({"start": [[1.0, 0.0]]}, "allowed: a Start or a TwoLayer"),
        ({"inputs": [[0.0, 0.0]]}, "zero vector"),
        ({"inputs": [[1.0, 0.0, 0.0]]}, "inputs"),
        ({"labels": [1.0, 2.0]}, "labels has shape"),
        ({"labels": [np.nan]}, "labels holds nan"),
        ({"weights": [0.0]}, "weights holds 0"),
        ({"weights": [1.0, 1.0]}, "weights has shape"),
        ({"until": -1.0}, "until holds -1.0"),
        ({"rtol": 2.0}, "rtol holds 2.0"),
        ({"slope": -0.1}, "slope holds -0.1"),
        ({"reduction": "max"}, "reduction is 'max'"),
        ({"loss": LOGISTIC}, "labels holds 2.0"),
        ({"max_steps": 0}, "max_steps is 0"),
    ],
)
def test_bad_input_is_named(change, message):
    start = Start([[1.0, 0.0]], [0.0], [1])
    good = {"start": start, "inputs": [[1.0, 0.0]], "labels": [2.0], "loss": SQUARE, "until": 1.0}
    with pytest.raises(ValueError, match=message):
        gradient_flow(**{**good, **change})


def test_a_held_unit_whose_output_changes_its_sign_has_two_ways_on():
    """Both sides then push away from the boundary: the flow goes below it, the mirrored one goes above."""
    network = unbalanced(5, 3, seed=2)
    run = gradient_flow(network, CLOUD, CLOUD_LABELS, HINGE, until=0.7)
    turned = run.signs[:, 0] != run.signs[0, 0]
    at_zero = np.abs(run.directions[:, 0] @ CLOUD[2]) < 1e-9
    assert turned.any() and at_zero[~turned].any() and not at_zero[-1]
    assert run.directions[-1, 0] @ CLOUD[2] < 0
    ahead = network.w.copy()
    ahead[0] += 2e-2 * CLOUD[2]  # never held: it is above the boundary when its output turns
    above = gradient_flow(TwoLayer(ahead, network.a), CLOUD, CLOUD_LABELS, HINGE, until=0.7)
    assert above.directions[-1, 0] @ CLOUD[2] > 0
