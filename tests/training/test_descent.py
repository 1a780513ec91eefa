"""Descent: against torch step by step, batches of seeds, order of convergence, records, errors, imports."""

import re
import subprocess
import sys

import numpy as np
import pytest
import torch

from lib.models.two_layer import Start, TwoLayer
from lib.training.descent import Diverged, gradient_descent, loss_scaled_descent, spherical_descent
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
    networks = [
        Start.gaussian(m, d, np.log(scale), rng=rng).network(slope) for _ in range(int(np.prod(lead)))
    ]
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


def test_records_are_taken_where_asked_and_do_not_depend_on_what_follows():
    network, *data = problem()
    options = {"step": 0.1, "record": lambda now: now.w}
    run = gradient_descent(network, *data, LOGISTIC, steps=5, record_at=[3, 0, 3.0], **options)
    assert run.steps.tolist() == [0, 3] and run.recorded[0] is network.w
    three = gradient_descent(network, *data, LOGISTIC, steps=3, **options)
    assert three.steps.tolist() == [0, 3]
    np.testing.assert_array_equal(run.recorded[1], three.network.w)


@pytest.mark.parametrize("loss", [SQUARE, EXPONENTIAL], ids=lambda loss: loss.name)
def test_a_run_that_diverges_names_the_step(loss):
    network, inputs, labels = problem(slope=1.0, lead=(2,))
    tame = network.with_weights(network.w * [[[1e-9]], [[1.0]]], network.a * [[1e-9], [1.0]])
    with pytest.raises(Diverged, match="shorter than 30") as caught:
        gradient_descent(tame, inputs, labels, loss, step=30, steps=300)
    step = int(re.search(r"not finite after step (\d+)", str(caught.value))[1])
    last = gradient_descent(tame, inputs, labels, loss, step=30, steps=step - 1)
    np.testing.assert_array_equal(caught.value.run.network.w, last.network.w)
    with pytest.raises(Diverged, match=f"step {step}:"):
        gradient_descent(tame, inputs, labels, loss, step=30, steps=step)


def balanced(network, shift=0.0):
    """The start of the network's first layer, times exp(shift), and of its signs."""
    norms = np.linalg.norm(network.w, axis=-1)
    return Start(network.w / norms[..., None], np.log(norms) + shift, np.sign(network.a))


@pytest.mark.parametrize("error", [OSError("disk full"), KeyboardInterrupt()])
@pytest.mark.parametrize("spherical", [False, True])
def test_an_error_keeps_the_run_which_can_go_on(error, spherical):
    def record(network):
        if len(seen) == 2:
            raise error
        seen.append(network)
        return len(seen)

    seen = []
    network, *data = problem()
    start, descend = (balanced(network), spherical_descent) if spherical else (network, gradient_descent)
    with pytest.raises(type(error)) as caught:
        descend(start, *data, LOGISTIC, step=0.1, steps=20, record=record, record_at=(0, 5, 10, 15))
    run = caught.value.run
    assert (run.made, run.steps.tolist(), run.recorded) == (10, [0, 5], (1, 2))
    rest = descend(run.network, *data, LOGISTIC, step=0.1, steps=10).network
    once = descend(start, *data, LOGISTIC, step=0.1, steps=20).network
    np.testing.assert_array_equal(*((one.directions if spherical else one.w) for one in (rest, once)))


@EVERY_LOSS
def test_spherical_steps_are_plain_steps_to_first_order_at_every_seed_of_a_batch(loss):
    """The distance of the two after one step falls with the square of the step."""
    network, inputs, labels = problem(scale=0.5, lead=(3,))
    start, apart = balanced(network), []
    network = start.network()
    for step in (7e-3, 3.5e-3):
        options = {"step": step, "steps": 1}
        plain = gradient_descent(network, inputs, labels, loss, **options).network
        end = spherical_descent(start, inputs, labels, loss, **options).network
        np.testing.assert_allclose(np.linalg.norm(end.directions, axis=-1), 1, rtol=1e-14)
        assert (end.signs == start.signs).all()
        end = end.network()
        apart.append([abs(end.w - plain.w), abs(end.a - plain.a)])
    for far, near in zip(*apart, strict=True):
        seen = far > 1e-12
        assert seen.any() and far[seen] / near[seen] == pytest.approx(4, rel=0.1)


def test_spherical_steps_shift_with_a_tiny_scale_and_record():
    network, inputs, labels = problem(lead=(2,))
    start = balanced(network, -300)
    options = {"step": 0.05, "steps": 40, "record": lambda now: now.log_norms, "record_at": [0, 10, 40]}
    one = spherical_descent(start, inputs, labels, LOGISTIC, **options)
    other = spherical_descent(balanced(network, -1300), inputs, labels, LOGISTIC, **options)
    np.testing.assert_allclose(other.network.log_norms, one.network.log_norms - 1000, rtol=1e-12)
    np.testing.assert_allclose(other.network.directions, one.network.directions, rtol=1e-12)
    assert one.steps.tolist() == [0, 10, 40] and one.recorded[1].shape == (2, 5)
    second = Start(start.directions[1], start.log_norms[1], start.signs[1])
    alone = spherical_descent(second, inputs, labels, LOGISTIC, **options)
    np.testing.assert_allclose(alone.network.log_norms, one.network.log_norms[1], rtol=1e-12)


def test_a_spherical_step_that_overflows_is_named():
    # The output is e^7 on the wrong side, where the exponential loss is infinite.
    with pytest.raises(Diverged, match=r"not finite after step 1: take steps shorter than 0.1"):
        spherical_descent(Start([[1.0]], [3.5], [1]), [[1.0]], [-1], EXPONENTIAL, step=0.1, steps=50)


def test_spherical_steps_ask_for_a_balanced_start():
    network, *data = problem()
    for start in (network, Start([[1.0, 0.0, 0.0]], [0.0], [1], [-1.0])):
        with pytest.raises(ValueError, match="allowed: a balanced Start"):
            spherical_descent(start, *data, LOGISTIC, step=0.1, steps=1)


def test_two_layer_networks_are_trained_without_torch():
    code = "import sys, lib.models.two_layer, lib.training.losses, lib.training.descent, lib.data.synthetic\n"
    code += "assert not {'torch', 'sklearn'} & set(sys.modules), 'they take seconds'"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_loss_scaled_step_is_a_plain_step_over_the_loss_and_time_is_their_sum():
    start, x, y = problem()
    now, time = start, 0.0
    for _ in range(5):
        step = 0.3 / LOGISTIC.value(now(x), y).mean()
        now = gradient_descent(now, x, y, LOGISTIC, step=step, steps=1, train_a=False).network
        time += step
    run = loss_scaled_descent(start, x, y, step=0.3, steps=5)
    np.testing.assert_allclose(run.network.w, now.w, rtol=1e-12)
    assert run.memory == pytest.approx(np.log(time), abs=1e-12)
    with pytest.raises(ValueError, match=r"network is TwoLayer \(2, 5, 3\), allowed: one TwoLayer"):
        loss_scaled_descent(problem(lead=(2,))[0], x, y, step=0.3, steps=5)
