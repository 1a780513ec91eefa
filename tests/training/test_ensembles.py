"""Runs of many seeds: minibatches, states, interrupts, lost seeds, devices and progress."""

import os
import pickle
import pty
import signal
import sys
import termios
import threading
import time
from copy import deepcopy

import numpy as np
import pytest
import torch

from lib.models.mlps import draw_mlps
from lib.training import ensembles as training
from lib.training.batches import Batches
from lib.training.ensembles import Diverged, train
from lib.training.environments import GroupDro, Irm, VRex
from lib.training.interrupts import Interrupts
from lib.training.objectives import cross_entropy
from lib.training.optimisers import Adam, Sgd
from lib.training.seeds import seed_generators

SEEDS, N = 3, 20
RNG = np.random.default_rng(0)
INPUTS = torch.tensor(RNG.standard_normal((SEEDS, N, 2)))
LABELS = torch.where(INPUTS[..., 0] * INPUTS[..., 1] > 0, 1.0, -1.0).double()
START = draw_mlps((2, 8, 1), seed_generators(0, SEEDS))
SETTINGS = {"objective": cross_entropy, "optimiser": Sgd(0.1, 0.9)}
GROUPS = torch.arange(N) % 3


def logits_of(run):
    return run.network(INPUTS).detach()


def test_each_pass_meets_each_example_once():
    batches = Batches(N, 6, seed_generators(0, SEEDS))
    passes = [torch.cat([batches.draw() for _ in range(4)], dim=-1) for _ in range(2)]
    for order in passes:
        assert torch.equal(order.sort().values, torch.arange(N).expand(SEEDS, N))
    assert not torch.equal(*passes)
    assert not torch.equal(passes[0][0], passes[0][1])


@pytest.mark.parametrize("shared", [False, True])
def test_minibatches_equal_a_loop_with_the_optimiser_of_torch(shared):
    inputs, labels = (INPUTS[0], LABELS[0]) if shared else (INPUTS, LABELS)
    generators = seed_generators(7, SEEDS)
    run = train(START, inputs, labels, steps=9, batch_size=6, generators=generators, **SETTINGS)
    for k in range(SEEDS):
        one, draws = START.seed(k), torch.Generator().manual_seed(7 + k)
        optimiser = torch.optim.SGD(one.parameters(), 0.1, momentum=0.9)
        x, y = (inputs, labels) if shared else (inputs[k], labels[k])
        parts = [part for _ in range(3) for part in torch.randperm(N, generator=draws).split(6)][:9]
        for part in parts:
            optimiser.zero_grad()
            cross_entropy(one(x[part]), y[part]).sum().backward()
            optimiser.step()
        np.testing.assert_allclose(
            run.network(inputs)[k].detach(), one(x)[0].detach(), rtol=1e-10, atol=1e-13
        )


def test_a_batch_of_all_examples_is_a_full_step():
    whole = train(START, INPUTS, LABELS, steps=6, **SETTINGS)
    parts = train(
        START, INPUTS, LABELS, steps=6, batch_size=N, generators=seed_generators(0, SEEDS), **SETTINGS
    )
    np.testing.assert_allclose(logits_of(parts), logits_of(whole), rtol=1e-11, atol=1e-13)


OBJECTIVES = [cross_entropy, Irm(GROUPS, 3.0), VRex(GROUPS, 3.0), GroupDro(GROUPS, 0.5)]


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("batch_size", [None, 6])
def test_seeds_train_as_alone_and_runs_continue(objective, batch_size):
    settings = {"objective": objective, "optimiser": Adam(0.01), "batch_size": batch_size}
    if batch_size:
        settings["generators"] = seed_generators(4, SEEDS)
    once = train(START, INPUTS, LABELS, steps=11, **settings)
    first = train(START, INPUTS, LABELS, steps=5, **settings)
    settings.pop("generators", None)
    second = train(first.network, INPUTS, LABELS, steps=6, memory=first.memory, **settings)
    assert torch.equal(logits_of(second), logits_of(once))
    if batch_size:
        settings["generators"] = seed_generators(5, 1)
    alone = train(START.seed(1), INPUTS[1], LABELS[1], steps=11, **settings)
    np.testing.assert_allclose(
        alone.network(INPUTS[1])[0].detach(), logits_of(once)[1], rtol=1e-8, atol=1e-11
    )


@pytest.mark.parametrize("labels", [LABELS, LABELS.float(), LABELS.long()])
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_single_precision_follows_double_precision(objective, labels):
    settings = {"objective": objective, "optimiser": Sgd(0.1), "steps": 5}
    double = train(START, INPUTS, LABELS, **settings)
    single = train(deepcopy(START).float(), INPUTS.float(), labels, **settings)
    logits = single.network(INPUTS.float()).detach()
    assert logits.dtype == torch.float32
    # Five short steps: rounding to 6e-8, amplified a little.
    np.testing.assert_allclose(logits, logits_of(double), rtol=1e-4, atol=1e-5)


def test_parameters_without_gradient_stay_as_they_are():
    start = deepcopy(START)
    start.weights[1].requires_grad_(False)
    run = train(start, INPUTS, LABELS, steps=4, objective=cross_entropy, optimiser=Sgd(0.1, weight_decay=0.1))
    assert torch.equal(run.network.weights[1], start.weights[1])
    one = start.seed(0)
    optimiser = torch.optim.SGD([p for p in one.parameters() if p.requires_grad], 0.1, weight_decay=0.1)
    for _ in range(4):
        optimiser.zero_grad()
        cross_entropy(one(INPUTS[0]), LABELS[0]).sum().backward()
        optimiser.step()
    np.testing.assert_allclose(logits_of(run)[0], one(INPUTS[0])[0].detach(), rtol=1e-10, atol=1e-13)


def test_groups_of_other_examples_are_refused_at_once():
    for batch in ({}, {"batch_size": 5, "generators": seed_generators(0, SEEDS)}):
        with pytest.raises(ValueError, match=r"logits has shape \(3, 20\), allowed: \(seeds, 6\)"):
            train(START, INPUTS, LABELS, steps=1, objective=Irm(GROUPS[:6], 1.0), optimiser=Sgd(0.1), **batch)


def test_a_run_and_its_error_survive_pickling():
    start = draw_mlps((2, 8, 1), seed_generators(0, SEEDS), dropout=0.3, batch_norm=True)
    settings = {**SETTINGS, "batch_size": 6}
    first = train(start, INPUTS, LABELS, steps=4, generators=seed_generators(0, SEEDS), **settings)
    copy = pickle.loads(pickle.dumps(first))
    rest = [
        train(run.network, INPUTS, LABELS, steps=4, memory=run.memory, **settings) for run in (first, copy)
    ]
    assert torch.equal(*(logits_of(run) for run in rest))
    error = Diverged("lost")
    error.training = first
    assert pickle.loads(pickle.dumps(error)).training.made == 4


def test_worst_group_runs_follow_the_plain_algorithm():
    objective, groups = GroupDro(GROUPS, 0.5), [g == GROUPS for g in range(3)]
    run = train(START, INPUTS, LABELS, steps=8, objective=objective, optimiser=Sgd(0.1))
    for k in range(SEEDS):
        one, q = START.seed(k), torch.ones(3, dtype=torch.float64) / 3
        optimiser = torch.optim.SGD(one.parameters(), 0.1)
        for _ in range(8):
            logits = one(INPUTS[k])[0]
            each = torch.nn.functional.softplus(-LABELS[k] * logits)
            risks = torch.stack([each[group].mean() for group in groups])
            q = q * torch.exp(0.5 * risks.detach())
            q = q / q.sum()
            optimiser.zero_grad()
            (q @ risks).backward()
            optimiser.step()
        np.testing.assert_allclose(run.memory["objective"][k].softmax(dim=-1), q, rtol=1e-12)
        np.testing.assert_allclose(logits_of(run)[k], one(INPUTS[k])[0].detach(), rtol=1e-10, atol=1e-13)


def test_a_run_can_go_on_with_another_objective():
    first = train(START, INPUTS, LABELS, steps=3, objective=GroupDro(GROUPS, 0.5), optimiser=Sgd(0.1))
    later = train(
        first.network,
        INPUTS,
        LABELS,
        steps=3,
        memory=first.memory,
        objective=cross_entropy,
        optimiser=Sgd(0.1),
    )
    again = train(
        later.network,
        INPUTS,
        LABELS,
        steps=1,
        memory=later.memory,
        objective=GroupDro(GROUPS % 2, 0.5),
        optimiser=Sgd(0.1),
    )
    assert later.memory["objective"] is None
    assert again.memory["objective"].shape == (SEEDS, 2)


def test_a_lost_seed_is_named_and_leaves_the_others_alone():
    start = draw_mlps((2, 8, 1), seed_generators(0, SEEDS))
    with torch.no_grad():
        start.weights[1][1] *= 1e200
    settings = {**SETTINGS, "record": lambda network: network(INPUTS).detach(), "record_at": (0, 2, 6)}
    with pytest.raises(Diverged, match=r"seeds \(1,\) are not finite after 6 steps") as caught:
        train(start, INPUTS, LABELS, steps=6, **settings)
    run = caught.value.training
    assert (run.stopped, run.diverged, run.steps, run.made) == ("diverged", (1,), (0, 2, 6), 6)
    for k in (0, 2):
        alone = train(start.seed(k), INPUTS[k], LABELS[k], steps=6, **SETTINGS)
        expected = alone.network(INPUTS[k])[0].detach()
        np.testing.assert_allclose(run.network(INPUTS)[k].detach(), expected, rtol=1e-10, atol=1e-13)
        np.testing.assert_array_equal(run.recorded[-1][k], run.network(INPUTS)[k].detach())


def test_a_run_stops_when_all_seeds_are_lost():
    seen = []
    with pytest.raises(Diverged) as caught:
        train(
            START,
            INPUTS * 1e200,
            LABELS,
            objective=lambda f, y: f.square().mean(-1),
            optimiser=Sgd(1.0),
            steps=1000,
            record=lambda network: seen.append(0),
            record_at=range(1001),
        )
    assert caught.value.training.diverged == (0, 1, 2)
    assert caught.value.training.made < 10


def test_an_error_while_recording_keeps_the_run():
    def record(network):
        if len(seen) == 2:
            raise OSError("disk full")
        seen.append(network(INPUTS).detach())
        return len(seen)

    seen = []
    with pytest.raises(OSError, match="disk full") as caught:
        train(START, INPUTS, LABELS, steps=20, record=record, record_at=(0, 5, 10, 15), **SETTINGS)
    run = caught.value.training
    assert (run.stopped, run.made, run.steps, run.recorded) == ("failed", 10, (0, 5), (1, 2))
    rest = train(run.network, INPUTS, LABELS, steps=10, memory=run.memory, **SETTINGS)
    assert torch.equal(logits_of(rest), logits_of(train(START, INPUTS, LABELS, steps=20, **SETTINGS)))


def test_a_real_interrupt_keeps_whole_steps_and_the_run_goes_on():
    started = threading.Event()

    def interrupt():
        started.wait()
        time.sleep(0.05)
        os.kill(os.getpid(), signal.SIGINT)

    def objective(logits, labels):
        started.set()
        return cross_entropy(logits, labels)

    thread = threading.Thread(target=interrupt)
    thread.start()
    settings = {"objective": objective, "optimiser": Adam(1e-3)}
    with pytest.raises(KeyboardInterrupt) as caught:
        train(
            START, INPUTS, LABELS, steps=10**7, record=logits_sum, record_at=range(0, 10**4, 10), **settings
        )
    thread.join()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    run = caught.value.training
    assert run.stopped == "interrupted" and 0 < run.made < 10**7
    assert run.steps == tuple(range(0, min(run.made, 10**4 - 10) + 1, 10))[: len(run.steps)]
    assert len(run.steps) in (run.made // 10, run.made // 10 + 1) or run.made >= 10**4
    rest = train(run.network, INPUTS, LABELS, steps=5, memory=run.memory, **settings)
    once = train(START, INPUTS, LABELS, steps=run.made + 5, **settings)
    assert torch.equal(logits_of(rest), logits_of(once))


def logits_sum(network):
    return network(INPUTS).sum(dim=-1)


def test_an_interrupt_in_the_middle_of_a_step_waits_for_its_end():
    def objective(logits, labels):
        calls.append(0)
        if len(calls) == 4:
            signal.raise_signal(signal.SIGINT)
        return cross_entropy(logits, labels)

    calls = []
    with pytest.raises(KeyboardInterrupt) as caught:
        train(START, INPUTS, LABELS, steps=9, objective=objective, optimiser=Sgd(0.1))
    four = train(START, INPUTS, LABELS, steps=4, objective=cross_entropy, optimiser=Sgd(0.1))
    assert caught.value.training.made == 4
    assert torch.equal(logits_of(caught.value.training), logits_of(four))


def test_a_second_interrupt_does_not_wait():
    done = []
    with pytest.raises(KeyboardInterrupt), Interrupts() as interrupts:
        interrupts.begin()
        signal.raise_signal(signal.SIGINT)
        done.append("first")
        signal.raise_signal(signal.SIGINT)
        done.append("second")
    assert done == ["first"]


def test_handlers_of_others_are_left_alone():
    seen = []
    previous = signal.signal(signal.SIGINT, lambda number, frame: seen.append(number))
    try:
        with Interrupts():
            signal.raise_signal(signal.SIGINT)
        assert seen == [signal.SIGINT]
    finally:
        signal.signal(signal.SIGINT, previous)
    outcome = []
    thread = threading.Thread(
        target=lambda: outcome.append(train(START, INPUTS, LABELS, steps=2, **SETTINGS).stopped)
    )
    thread.start()
    thread.join()
    assert outcome == ["finished"]


@pytest.mark.parametrize("layers", [{}, {"dropout": 0.3, "batch_norm": True}])
@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("optimiser", [Sgd(0.1, 0.9, 0.1), Adam(0.1, weight_decay=0.1)])
def test_everything_moves_to_the_device(monkeypatch, layers, objective, optimiser):
    """The device "meta" computes shapes only, and refuses to mix with tensors left on the CPU."""
    monkeypatch.setattr(training._Run, "check_the_end", lambda run: None)
    start = draw_mlps((2, 8, 1), seed_generators(0, SEEDS), **layers)
    settings = {
        "objective": objective,
        "optimiser": optimiser,
        "steps": 2,
        "batch_size": 6,
        "device": "meta",
        "record": lambda network: network(INPUTS.to("meta")).device.type,
        "record_at": (0,),
    }
    run = train(start, INPUTS, LABELS, generators=seed_generators(0, SEEDS), **settings)
    run = train(run.network, INPUTS, LABELS, memory=run.memory, **settings)
    assert run.recorded == ("meta",)
    tensors = [*run.network.parameters(), *run.network.buffers()]
    for part in run.memory["optimiser"].values():
        tensors += part if isinstance(part, list) else []
    assert {tensor.device.type for tensor in tensors} == {"meta"}
    assert next(start.parameters()).device.type == "cpu"
    if isinstance(objective, GroupDro):
        assert run.memory["objective"].device.type == "meta"


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_a_gpu_gives_the_results_of_the_cpu(objective):
    start = draw_mlps((2, 8, 1), seed_generators(0, SEEDS), dropout=0.2, batch_norm=True)
    runs = [
        train(
            start,
            INPUTS,
            LABELS,
            steps=20,
            objective=objective,
            optimiser=Sgd(0.05, 0.9),
            batch_size=6,
            generators=seed_generators(0, SEEDS),
            device=device,
        )
        for device in ("cpu", "cuda")
    ]
    on_gpu = runs[1].network.to("cpu")
    np.testing.assert_allclose(on_gpu(INPUTS).detach(), logits_of(runs[0]), rtol=1e-8, atol=1e-10)


def written(monkeypatch, patience, *, progress=True, terminal=True):
    """What a run of 0.3 seconds writes to the standard error, a terminal or a file."""
    monkeypatch.setattr(training, "PATIENCE", patience)
    ours, theirs = pty.openpty() if terminal else os.pipe()
    if terminal:
        termios.tcsetwinsize(theirs, (24, 80))

    def objective(logits, labels):
        time.sleep(0.01)
        return cross_entropy(logits, labels)

    with os.fdopen(ours, "rb", buffering=0) as screen:
        with os.fdopen(theirs, "w") as error:
            monkeypatch.setattr(sys, "stderr", error)
            settings = {"objective": objective, "optimiser": Sgd(0.1), "progress": progress}
            train(START, INPUTS, LABELS, steps=30, **settings)
            monkeypatch.undo()
            error.write("end")
        return screen.read(2**16).decode().removesuffix("end")


def test_progress_shows_on_a_terminal_and_leaves_nothing_behind(monkeypatch):
    shown = written(monkeypatch, 0.05)
    assert "/31" in shown
    assert shown.endswith("\r") and shown.split("\r")[-2].strip() == ""
    assert written(monkeypatch, 0.05, terminal=False) == ""
    assert written(monkeypatch, 0.05, progress=False) == ""
    assert written(monkeypatch, 60) == ""
