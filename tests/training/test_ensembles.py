"""Training of many seeds: against loops of torch over single ones; continued, recorded, lost."""

from copy import deepcopy
from functools import partial

import numpy as np
import pytest
import torch

from lib.models.mlps import draw_mlps, seed_generators
from lib.training.descent import Diverged
from lib.training.ensembles import train
from lib.training.objectives import cross_entropy, spectral_decoupling

SEEDS, N = 3, 20
RNG = np.random.default_rng(0)
INPUTS = torch.tensor(RNG.standard_normal((SEEDS, N, 2)))
LABELS = torch.where(INPUTS[..., 0] * INPUTS[..., 1] > 0, 1.0, -1.0).double()
START = draw_mlps((2, 8, 5, 1), seed_generators(0, SEEDS))
SGD, ADAM = (partial(kind, lr=lr) for kind, lr in ((torch.optim.SGD, 0.1), (torch.optim.Adam, 0.01)))
SETTINGS = {"objective": cross_entropy, "optimiser": partial(SGD, momentum=0.9)}
BATCHES = {"batch_size": 6, "generators": seed_generators(7, SEEDS)}
OPTIMISERS = [SGD, partial(SGD, momentum=0.9, weight_decay=0.1), partial(ADAM, weight_decay=0.1)]


class Dropping(torch.nn.Module):
    """Networks that draw masks with a generator of their own while they train."""

    def __init__(self):
        super().__init__()
        self.plain = deepcopy(START)
        self.generator = torch.Generator().manual_seed(3)

    def forward(self, inputs):
        mask = torch.rand(inputs.shape, generator=self.generator, dtype=inputs.dtype) if self.training else 1
        return self.plain(inputs * mask)


def logits_of(run):
    return run.network(INPUTS).detach()


def torch_loop(k, make, objective, parts, inputs=INPUTS, labels=LABELS):
    """The logits of one seed after steps of torch on parts of its examples, with torch's own layers."""
    layers = []
    for weight, bias in zip(START.weights, START.biases, strict=True):
        linear = torch.nn.Linear(*weight.shape[1:], dtype=weight.dtype)
        linear.weight.data, linear.bias.data = weight[k].T.detach().clone(), bias[k, 0].detach().clone()
        layers += [linear, torch.nn.ReLU()]
    network = torch.nn.Sequential(*layers[:-1])
    optimiser = make(network.parameters())
    for part in parts:
        optimiser.zero_grad()
        objective(network(inputs[k][part]).T, labels[k][part]).sum().backward()
        optimiser.step()
    return network(inputs[k]).detach()[:, 0]


@pytest.mark.parametrize("objective", [cross_entropy, spectral_decoupling(0.5)])
@pytest.mark.parametrize("optimiser", OPTIMISERS)
def test_a_stack_equals_a_loop_over_networks_of_torch(optimiser, objective):
    run = train(START, INPUTS, LABELS, objective=objective, optimiser=optimiser, steps=30)
    for k in range(SEEDS):
        expected = torch_loop(k, optimiser, objective, [slice(None)] * 30)
        np.testing.assert_allclose(logits_of(run)[k], expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("shared", [False, True])
def test_parts_of_the_examples_equal_a_loop_over_networks_of_torch(shared):
    rows = [0, 0, 0] if shared else [0, 1, 2]
    inputs, labels = INPUTS[rows], LABELS[rows]
    given = (inputs[0], labels[0]) if shared else (inputs, labels)
    run = train(START, *given, steps=9, **BATCHES, **SETTINGS)
    for k in range(SEEDS):
        draws = torch.Generator().manual_seed(7 + k)
        # Each pass meets each example once: 6, 6, 6 and 2 of them.
        parts = [part for _ in range(3) for part in torch.randperm(N, generator=draws).split(6)][:9]
        expected = torch_loop(k, SETTINGS["optimiser"], cross_entropy, parts, inputs, labels)
        np.testing.assert_allclose(run.network(inputs)[k].detach(), expected, rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize("start", [START, Dropping()])
def test_runs_go_on_as_often_as_wanted(start):
    settings = {"objective": cross_entropy, "optimiser": ADAM}
    once = train(start, INPUTS, LABELS, steps=11, **settings)
    first = train(start, INPUTS, LABELS, steps=5, **settings)
    for _ in range(2):
        assert torch.equal(logits_of(train(first, INPUTS, LABELS, steps=6, **settings)), logits_of(once))


def test_a_run_goes_on_with_another_objective_and_other_settings_of_its_optimiser():
    first = train(START, INPUTS, LABELS, steps=4, objective=cross_entropy, optimiser=ADAM)
    changed = {"objective": spectral_decoupling(1.0), "optimiser": partial(torch.optim.Adam, lr=0.003)}
    second = train(first, INPUTS, LABELS, steps=4, **changed)
    network = deepcopy(START)
    moving = ADAM(network.parameters())
    for k in range(8):
        moving.param_groups[0]["lr"] = 0.01 if k < 4 else 0.003
        moving.zero_grad()
        (cross_entropy if k < 4 else changed["objective"])(network(INPUTS), LABELS).sum().backward()
        moving.step()
    np.testing.assert_allclose(logits_of(second), network(INPUTS).detach(), rtol=1e-9, atol=1e-12)


def test_parameters_without_gradient_stay_as_they_are():
    start = deepcopy(START)
    start.weights[1].requires_grad_(False)
    run = train(start, INPUTS, LABELS, steps=4, objective=cross_entropy, optimiser=OPTIMISERS[1])
    assert torch.equal(run.network.weights[1], start.weights[1])
    assert all(value.grad is None for value in run.network.parameters())
    moving = OPTIMISERS[1]([value for value in start.parameters() if value.requires_grad])
    for _ in range(4):
        moving.zero_grad()
        cross_entropy(start(INPUTS), LABELS).sum().backward()
        moving.step()
    np.testing.assert_allclose(logits_of(run), start(INPUTS).detach(), rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize("start", [START, Dropping()])
def test_records_are_taken_in_evaluation_mode_and_change_nothing(start):
    def look(network):
        assert not network.training and not torch.is_grad_enabled()
        return network(INPUTS)

    before = deepcopy(start).eval()(INPUTS).detach()
    run = train(start, INPUTS, LABELS, steps=5, record=look, record_at=(3, 0, 5), **SETTINGS)
    assert run.steps.tolist() == [0, 3, 5]
    assert torch.equal(run.recorded[0], before) and torch.equal(run.recorded[2], logits_of(run))
    assert not run.recorded[2].requires_grad and not run.network.training
    assert torch.equal(deepcopy(start).eval()(INPUTS), before)
    # The seeds' own draws go on after a record as if there had been none.
    unseen = train(start, INPUTS, LABELS, steps=5, record_at=(), **SETTINGS)
    assert torch.equal(logits_of(run), logits_of(unseen)) and unseen.recorded == ()


def test_a_lost_seed_is_named_and_leaves_the_others_alone():
    start = deepcopy(START)
    with torch.no_grad():
        start.weights[1][1] *= 1e200
    settings = {**SETTINGS, "record": lambda network: network(INPUTS).detach(), "record_at": (0, 2, 6)}
    with pytest.raises(Diverged, match=r"the seeds \(1,\) are not finite") as caught:
        train(start, INPUTS, LABELS, steps=6, **settings)
    run = caught.value.run
    assert caught.value.seeds == (1,) and run.steps.tolist() == [0, 2, 6]
    for k in (0, 2):
        alone = train(start.seed(k), INPUTS[k], LABELS[k], steps=6, **SETTINGS)
        expected = alone.network(INPUTS[k])[0].detach()
        np.testing.assert_allclose(run.network(INPUTS)[k].detach(), expected, rtol=1e-10, atol=1e-13)


def test_a_seed_is_lost_with_its_logits_though_its_objective_is_finite():
    start = deepcopy(START)
    with torch.no_grad():
        for weight in start.weights:
            weight[2] *= 1e200
    settings = {"objective": lambda f, y: f.nan_to_num().tanh().mean(-1), "optimiser": partial(SGD, lr=0.1)}
    with pytest.raises(Diverged) as caught:
        train(start, INPUTS, LABELS, steps=1, **settings)
    assert caught.value.seeds == (2,)


@pytest.mark.parametrize("error", [OSError("disk full"), KeyboardInterrupt()])
def test_an_error_keeps_the_run_which_can_go_on(error):
    def record(network):
        if len(seen) == 2:
            raise error
        seen.append(network)
        return len(seen)

    seen = []
    with pytest.raises(type(error)) as caught:
        train(START, INPUTS, LABELS, steps=20, record=record, record_at=(0, 5, 10, 15), **SETTINGS)
    run = caught.value.run
    assert (run.made, run.steps.tolist(), run.recorded) == (10, [0, 5], (1, 2))
    rest = train(run, INPUTS, LABELS, steps=10, **SETTINGS)
    assert torch.equal(logits_of(rest), logits_of(train(START, INPUTS, LABELS, steps=20, **SETTINGS)))


WRONG = {
    "start is 'START'": {"start": "START"},
    r"start returns shape \(3, 1, 4\)": {"start": torch.nn.Linear(2, 4, dtype=torch.float64)},
    r"inputs is torch.float32 of shape \(3, 20, 2\), allowed: a torch.float64 tensor": {
        "inputs": INPUTS.float()
    },
    "optimiser is SGD": {"optimiser": torch.optim.SGD([torch.zeros(1)], lr=0.1)},
    r"labels has shape \(3, 19\), allowed: \(20,\) or \(3, 20\)": {"labels": LABELS[:, 1:]},
    r"labels holds 0.0, allowed: \+1 and -1": {"labels": (LABELS + 1) / 2},
    r"objective returns shape \(\), allowed: \(3,\)": {"objective": lambda f, y: f.mean()},
    "batch_size is None": {"generators": seed_generators(0, SEEDS)},
    "generators is None, allowed: one for each of 3 seeds": {"batch_size": 6},
}


@pytest.mark.parametrize("message", WRONG)
def test_bad_arguments_are_named(message):
    arguments = {"start": START, "inputs": INPUTS, "labels": LABELS, "steps": 2, **SETTINGS}
    with pytest.raises(ValueError, match=message):
        train(**arguments | WRONG[message])


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_a_gpu_gives_the_results_of_the_cpu():
    place = {"device": "cuda"}
    there = deepcopy(START).to(**place), INPUTS.to(**place), LABELS.to(**place)
    run = train(*there, steps=20, **SETTINGS, **BATCHES)
    here = train(START, INPUTS, LABELS, steps=20, **SETTINGS, **BATCHES)
    np.testing.assert_allclose(run.network.cpu()(INPUTS).detach(), logits_of(here), rtol=1e-8, atol=1e-10)
