"""Training of small torch networks by ``torch.optim``, all seeds in one stack."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import deepcopy
from itertools import repeat
from typing import Any

import torch

from lib.checks import whole
from lib.models.mlps import gradient_function
from lib.training.descent import Diverged, TrainingRun, run_steps
from lib.training.objectives import Objective

Optimiser = Callable[[Iterable[torch.nn.Parameter]], torch.optim.Optimizer]
"""Makes an optimiser of parameters, as ``partial(torch.optim.SGD, lr=0.1, momentum=0.9)`` does."""


def _batches(
    inputs: torch.Tensor, labels: torch.Tensor, size: int, generators: Sequence[torch.Generator]
) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """Yield inputs and labels of ``size`` examples or, at the end of a pass, fewer.

    Each seed draws the order of each pass anew, from its own generator.
    """
    seeds, n = len(generators), labels.shape[-1]
    while True:
        order = torch.stack([torch.randperm(n, generator=each) for each in generators]).to(inputs.device)
        for part in order.split(size, dim=-1):
            some = inputs.expand(seeds, -1, -1).take_along_dim(part.unsqueeze(-1), dim=1)
            yield some, labels.expand(seeds, -1).take_along_dim(part, dim=-1)


def train(
    start: torch.nn.Module | TrainingRun,
    inputs: torch.Tensor,
    labels: torch.Tensor,
    *,
    objective: Objective,
    optimiser: Optimiser,
    steps: int,
    record: Callable[[torch.nn.Module], Any] = lambda network: None,
    record_at: Iterable[int] | None = None,
    batch_size: int | None = None,
    generators: Sequence[torch.Generator] | None = None,
) -> TrainingRun:
    """Train a copy of a stack of networks; the seeds do not see each other.

    ``start`` is a network that maps inputs (n, d) or (seeds, n, d) to logits (seeds, n), such as a
    :class:`lib.models.mlps.MlpBatch`, or a run of ``train`` to go on from: with the memory of its optimiser,
    and with what ``objective`` and ``optimiser`` say now.  What is given stays as it is.  Labels are +1 and
    -1, (n,) or (seeds, n).  ``objective`` returns one number a seed; their sum is differentiated, so that
    each seed follows its own gradient.  Parameters that require no gradient stay as they are.

    The steps use all examples, or, with a ``batch_size``, as many at a time, in an order that each seed draws
    anew for each pass from its own of the ``generators``, which are copied; the last part of a pass may be
    smaller.  ``record`` is called with the network in evaluation mode, without gradients, at the step counts
    ``record_at`` (default: start and end); it must not return views of parameters, which change later.

    Raises ``ValueError`` naming a bad argument, and :class:`lib.training.descent.Diverged` with the lost
    ``seeds`` if logits or objective of some are not finite at the end.  Every error has the run until then as
    its attribute ``run``; Ctrl-C may cut a step in two.

    Example: ten networks learn "or", five steps and then five more.

    >>> from functools import partial
    >>> from lib.models.mlps import draw_mlps, seed_generators
    >>> from lib.training.objectives import cross_entropy
    >>> inputs = torch.tensor([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], dtype=torch.float64)
    >>> data = inputs, torch.tensor([-1.0, 1.0, 1.0, 1.0])
    >>> start = draw_mlps((2, 20, 1), seed_generators(0, 10))
    >>> settings = {"objective": cross_entropy, "optimiser": partial(torch.optim.SGD, lr=0.5, momentum=0.9)}
    >>> first = train(start, *data, steps=5, **settings)
    >>> def accuracy(network):
    ...     return round(((network(inputs) > 0) == (data[1] > 0)).double().mean().item(), 2)
    >>> run = train(first, *data, steps=95, record=accuracy, **settings)
    >>> run.steps, run.recorded
    (array([ 0, 95]), (0.75, 1.0))
    """
    network = deepcopy(start.network if isinstance(start, TrainingRun) else start)
    steps = whole("steps", steps)
    if not isinstance(network, torch.nn.Module):
        raise ValueError(f"start is {start!r}, allowed: a torch.nn.Module, or its run")
    labels, seeds = _checked(network.eval(), inputs, labels, objective)
    parameters = [value for value in network.parameters() if value.requires_grad]
    if not callable(optimiser):
        raise ValueError(f"optimiser is {optimiser!r}, allowed: one as partial(torch.optim.SGD, lr=0.1)")
    moving = optimiser(parameters)
    if isinstance(start, TrainingRun):
        # The memory of the steps before, with the lengths and decays that the optimiser has now.
        memory = {"state": deepcopy(start.memory)}
        moving.load_state_dict(memory | {"param_groups": moving.state_dict()["param_groups"]})
    differentiate = gradient_function(network)
    batches: Iterator[tuple[torch.Tensor, torch.Tensor]] = repeat((inputs, labels))
    if batch_size is not None or generators is not None:
        draws = deepcopy([*(generators or ())])
        if len(draws) != seeds:
            raise ValueError(f"generators is {generators!r}, allowed: one for each of {seeds} seeds")
        batches = _batches(inputs, labels, whole("batch_size", batch_size, 1), draws)

    def step(network: torch.nn.Module, k: int) -> torch.nn.Module:
        some, signs = next(batches)
        slopes = differentiate(some, lambda logits: objective(logits, signs))
        for parameter, slope in zip(parameters, slopes, strict=True):
            parameter.grad = slope
        moving.step()
        return network

    @torch.no_grad()
    def look(network: torch.nn.Module) -> Any:
        seen = record(network.eval())
        network.train()
        return seen

    try:
        run = run_steps(
            network.train(), step, steps, look, record_at, memory=lambda: moving.state_dict()["state"]
        )
    finally:
        network.eval()
        moving.zero_grad()
    with torch.no_grad():
        logits = network(inputs)
        lost = ~(torch.isfinite(objective(logits, labels)) & torch.isfinite(logits).all(dim=-1))
    if lost.any():
        diverged = tuple(lost.nonzero().flatten().tolist())
        error = Diverged(f"logits or objective of the seeds {diverged} are not finite: take shorter steps")
        error.seeds, error.run = diverged, run
        raise error
    return run


@torch.no_grad()
def _checked(
    network: torch.nn.Module, inputs: torch.Tensor, labels: torch.Tensor, objective: Objective
) -> tuple[torch.Tensor, int]:
    """Return the labels in the number type of the inputs, and how many seeds there are."""
    kind = next(network.parameters()).dtype
    if not isinstance(inputs, torch.Tensor) or inputs.dtype != kind or inputs.ndim < 2:
        told = f"{getattr(inputs, 'dtype', type(inputs))} of shape {tuple(getattr(inputs, 'shape', ()))}"
        raise ValueError(f"inputs is {told}, allowed: a {kind} tensor (n, d) or (seeds, n, d)")
    seeds, *rest = network(inputs[..., :1, :]).shape
    if rest != [1]:
        raise ValueError(f"start returns shape {(seeds, *rest)} for one of the inputs, allowed: (seeds, 1)")
    n = inputs.shape[-2]
    if tuple(labels.shape) not in ((n,), (seeds, n)):
        raise ValueError(f"labels has shape {tuple(labels.shape)}, allowed: {(n,)} or {(seeds, n)}")
    if (other := labels[labels.abs() != 1]).numel():
        raise ValueError(f"labels holds {other[0].item()}, allowed: +1 and -1")
    signs = labels.to(inputs)
    if (shape := tuple(objective(inputs.new_zeros(seeds, n), signs).shape)) != (seeds,):
        raise ValueError(f"objective returns shape {shape}, allowed: {(seeds,)}")
    return signs, seeds
