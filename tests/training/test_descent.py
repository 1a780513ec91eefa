"""Descent: against torch step by step, batches of seeds, the order of Euler's method, records, divergence."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import solve_ivp

from lib.models.two_layer import TwoLayer, balanced_network
from lib.training.descent import Diverged, gradient_descent
from lib.training.losses import EXPONENTIAL, HINGE, LOGISTIC, SQUARE, TWICE_LOGISTIC

TORCH = {
    LOGISTIC: lambda f, y: torch.nn.functional.softplus(-y * f),
    TWICE_LOGISTIC: lambda f, y: 2 * torch.nn.functional.softplus(-y * f),
    EXPONENTIAL: lambda f, y: torch.exp(-y * f),
    HINGE: lambda f, y: torch.relu(1 - y * f),
    SQUARE: lambda f, y: (f - y) ** 2 / 2,
}
EVERY_LOSS = pytest.mark.parametrize("loss", TORCH, ids=lambda loss: loss.name)


def problem(seed=0, n=7, d=3, m=5, slope=0.2, scale=1.0, lead=()):
    rng = np.random.default_rng(seed)
    networks = [balanced_network(m, d, scale, rng=rng, slope=slope) for _ in range(int(np.prod(lead)))]
    network = TwoLayer(
        np.reshape([each.w for each in networks], (*lead, m, d)),
        np.reshape([each.a for each in networks], (*lead, m)),
        slope,
    )
    return network, rng.standard_normal((n, d)), rng.choice([-1.0, 1.0], n)


def torch_descent(network, inputs, labels, loss, *, step, batches, reduction, train_a=True):
    """Run torch's SGD without momentum on the examples of each batch; return the weights."""
    w, a = (torch.tensor(value, requires_grad=True) for value in (network.w, network.a))
    inputs, labels = torch.tensor(inputs), torch.tensor(labels)
    optimiser = torch.optim.SGD([w, a] if train_a else [w], lr=step)
    for batch in batches:
        outputs = torch.nn.functional.leaky_relu(inputs[batch] @ w.T, network.slope) @ a
        losses = TORCH[loss](outputs, labels[batch])
        optimiser.zero_grad()
        (losses.mean() if reduction == "mean" else losses.sum()).backward()
        optimiser.step()
    return w.detach().numpy(), a.detach().numpy()


@EVERY_LOSS
@pytest.mark.parametrize("reduction", ["mean", "sum"])
@pytest.mark.parametrize("train_a", [True, False])
def test_descent_is_that_of_torch(loss, reduction, train_a):
    network, inputs, labels = problem(scale=0.5)
    run = gradient_descent(
        network, inputs, labels, loss, step=0.02, steps=60, reduction=reduction, train_a=train_a
    )
    w, a = torch_descent(
        network, inputs, labels, loss, step=0.02, batches=[slice(None)] * 60, reduction=reduction,
        train_a=train_a,
    )  # fmt: skip
    # 60 steps add about 60 roundings, and neighbouring paths part by less than a factor 100.
    np.testing.assert_allclose(run.network.w, w, rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(run.network.a, a, rtol=1e-11, atol=1e-12)


@EVERY_LOSS
def test_stochastic_descent_is_that_of_torch_for_every_seed_of_a_batch(loss):
    network, inputs, labels = problem(scale=0.5, lead=(2, 2))
    samples = np.random.default_rng(5).integers(0, 7, (60, 2, 2))
    run = gradient_descent(network, inputs, labels, loss, step=0.02, steps=60, samples=samples)
    for index in np.ndindex(2, 2):
        one = TwoLayer(network.w[index], network.a[index], network.slope)
        batches = [[k] for k in samples[(slice(None), *index)]]
        w, a = torch_descent(one, inputs, labels, loss, step=0.02, batches=batches, reduction="sum")
        np.testing.assert_allclose(run.network.w[index], w, rtol=1e-11, atol=1e-12)
        np.testing.assert_allclose(run.network.a[index], a, rtol=1e-11, atol=1e-12)


def test_a_batch_of_seeds_equals_a_loop():
    batch, inputs, labels = problem(lead=(3,))
    together = gradient_descent(batch, inputs, labels, LOGISTIC, step=0.1, steps=40)
    for k in range(3):
        one = TwoLayer(batch.w[k], batch.a[k], batch.slope)
        alone = gradient_descent(one, inputs, labels, LOGISTIC, step=0.1, steps=40)
        np.testing.assert_allclose(together.network.w[k], alone.network.w, rtol=1e-12)


@pytest.mark.parametrize("reduction", ["mean", "sum"])
def test_one_sample_a_step_is_full_batch_when_there_is_one_example(reduction):
    network, inputs, labels = problem(n=1)
    options = {"step": 0.05, "steps": 30, "reduction": reduction}
    stochastic = gradient_descent(network, inputs, labels, SQUARE, samples=np.zeros(30, int), **options)
    full = gradient_descent(network, inputs, labels, SQUARE, **options)
    np.testing.assert_allclose(stochastic.network.w, full.network.w, rtol=1e-13)


@given(st.integers(0, 40), st.integers(0, 40))
def test_a_run_continues_where_another_stopped(first, second):
    network, inputs, labels = problem()
    whole = gradient_descent(network, inputs, labels, LOGISTIC, step=0.1, steps=first + second)
    half = gradient_descent(network, inputs, labels, LOGISTIC, step=0.1, steps=first).network
    rest = gradient_descent(half, inputs, labels, LOGISTIC, step=0.1, steps=second)
    np.testing.assert_array_equal(whole.network.w, rest.network.w)


@pytest.mark.parametrize("slope", [0.3, 1.0])
def test_descent_approaches_its_flow_at_first_order_and_loses_balance_at_that_order(slope):
    network, inputs, labels = problem(slope=slope, scale=0.3)

    def velocity(_, state):
        now = network.with_weights(state[:15].reshape(5, 3), state[15:])
        return -np.append(*now.gradients(inputs, lambda f: (f - labels) / 7))

    start = np.append(network.w, network.a)
    end = solve_ivp(velocity, (0, 1), start, method="DOP853", rtol=1e-9, atol=1e-12).y[:, -1]
    steps = np.array([1 / 100, 1 / 200, 1 / 400])
    runs = [
        gradient_descent(network, inputs, labels, SQUARE, step=h, steps=round(1 / h)).network for h in steps
    ]
    errors = [abs(np.append(run.w, run.a) - end).max() for run in runs]
    imbalance = [abs(run.a**2 - (run.w**2).sum(axis=1)).max() for run in runs]
    for quantity in (errors, imbalance):
        assert np.polyfit(np.log(steps), np.log(quantity), 1)[0] == pytest.approx(1, abs=0.05)


def test_the_square_loss_falls_at_each_short_step_and_its_minimum_is_reached():
    network, inputs, labels = problem(slope=1.0, n=3)
    run = gradient_descent(
        network, inputs, labels, SQUARE, step=0.02, steps=2000,
        record=lambda now: SQUARE.value(now(inputs), labels).mean(), record_at=range(2001),
    )  # fmt: skip
    losses = np.array(run.recorded)
    # Outputs are rounded at 1e-16: a loss of 1e-20 is known to one part in a million, less than it falls.
    assert (np.diff(losses)[losses[1:] > 1e-20] < 0).all() and losses[-1] < 1e-20


def test_records_are_taken_where_asked_and_the_second_layer_can_stay():
    network, inputs, labels = problem()
    run = gradient_descent(
        network, inputs, labels, LOGISTIC, step=0.1, steps=5, train_a=False,
        record=lambda now: (now.a, now(inputs)), record_at=[3, 0, 3.0],
    )  # fmt: skip
    assert run.steps.tolist() == [0, 3] and len(run.recorded) == 2
    np.testing.assert_array_equal(run.recorded[1][0], network.a)
    three = gradient_descent(network, inputs, labels, LOGISTIC, step=0.1, steps=3, train_a=False)
    np.testing.assert_array_equal(run.recorded[1][1], three.network(inputs))


def test_runs_without_steps_or_without_records():
    network, inputs, labels = problem()
    none = gradient_descent(network, inputs, labels, LOGISTIC, step=0.1, steps=0, record=lambda now: now.a)
    assert none.network is network and none.steps.tolist() == [0] and len(none.recorded) == 1
    quiet = gradient_descent(
        network, inputs, labels, LOGISTIC, step=0.1, steps=2, record=pytest.fail, record_at=[]
    )
    assert quiet.steps.tolist() == [] and quiet.recorded == ()


@pytest.mark.parametrize("loss", [SQUARE, EXPONENTIAL], ids=lambda loss: loss.name)
def test_a_run_that_diverges_stops_and_keeps_what_was_recorded(loss):
    network, inputs, labels = problem(slope=1.0, lead=(2,))
    tame = network.with_weights(network.w * [[[1e-9]], [[1.0]]], network.a * [[1e-9], [1.0]])
    arguments = (tame, inputs, labels, loss)
    with pytest.raises(
        Diverged, match=r"not finite after step \d+ of 300: take steps shorter than 30"
    ) as caught:
        gradient_descent(
            *arguments, step=30, steps=300, record=lambda now: abs(now.w).max(), record_at=range(301)
        )
    run, taken = caught.value.run, caught.value.taken
    assert run.steps.tolist() == list(range(taken + 1))
    assert len(run.recorded) == taken + 1 and np.isfinite(run.recorded).all()
    again = gradient_descent(*arguments, step=30, steps=taken)
    np.testing.assert_array_equal(again.network.w, run.network.w)
    with pytest.raises(Diverged):
        gradient_descent(*arguments, step=30, steps=taken + 1)


def test_arguments_may_be_lists_integers_and_single_precision():
    network, inputs, labels = problem()
    inputs = inputs.astype("float32")
    run = gradient_descent(network, inputs.tolist(), labels.astype(int).tolist(), LOGISTIC, step=1, steps=3.0)
    other = gradient_descent(network, inputs, labels.astype("int8"), LOGISTIC, step=1.0, steps=3)
    np.testing.assert_array_equal(run.network.w, other.network.w)
    assert other.network.w.dtype == float
