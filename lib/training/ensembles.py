"""Training of small torch networks by ``torch.optim``, all seeds in one stack."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import Any

import torch

from lib.checks import whole
from lib.models.mlps import gradient_function
from lib.training.descent import Diverged, Reason, Run, run_steps
from lib.training.objectives import Objective

Optimiser = Callable[[Iterable[torch.nn.Parameter]], torch.optim.Optimizer]
"""Makes an optimiser of parameters, as ``partial(torch.optim.SGD, lr=0.1, momentum=0.9)`` does."""


@dataclass
class _Order:
    """Parts of n examples, ``size`` at a time, in an order that each seed draws anew for each pass."""

    n: int
    size: int
    generators: list[torch.Generator]
    left: torch.Tensor = field(init=False)

    def __post_init__(self) -> None:
        self.left = torch.empty(len(self.generators), 0, dtype=torch.long)

    def draw(self) -> torch.Tensor:
        """Return the indices of the next part, shape (seeds, at most ``size``)."""
        if not self.left.shape[-1]:
            self.left = torch.stack([torch.randperm(self.n, generator=each) for each in self.generators])
        part, self.left = self.left[:, : self.size], self.left[:, self.size :]
        return part


def train(
    start: torch.nn.Module | Run,
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
) -> Run:
    """Train a copy of a stack of networks; the seeds do not see each other.

    ``start`` is a network that maps inputs (n, d) or (seeds, n, d) to logits (seeds, n), such as a
    :class:`lib.models.mlps.MlpBatch`, or a run of ``train`` to go on from: with the memory of its optimiser
    and the rest of its pass over the examples, and with what ``objective`` and ``optimiser`` say now.  What
    is given stays as it is.  Labels are +1 and -1, (n,) or (seeds, n).  ``objective`` returns one number a
    seed; their sum is differentiated, so that each seed follows its own gradient.  Parameters that require no
    gradient stay as they are.

    The steps use all examples, or, with a ``batch_size``, as many at a time, in an order that each seed draws
    anew for each pass from its own of the ``generators``, which are copied; the last part of a pass may be
    smaller.  ``record`` is called with the network in evaluation mode, without gradients, at the step counts
    ``record_at`` (default: start and end); it must not return views of parameters, which change later.

    Raises ``ValueError`` naming a bad argument, and :class:`lib.training.descent.Diverged` with the lost
    ``seeds`` if logits or objective of some are not finite at the end, or the objective of all when
    recording.  Every error has the run until then as its attribute ``run``; Ctrl-C may cut a step in two.

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
    before = start if isinstance(start, Run) else None
    given = before.network if before else start
    if not isinstance(given, torch.nn.Module) or not any(one.requires_grad for one in given.parameters()):
        raise ValueError(
            f"start is {given!r}, allowed: a torch.nn.Module with parameters to train, or its run"
        )
    network, steps = deepcopy(given), whole("steps", steps)
    parameters = [value for value in network.parameters() if value.requires_grad]
    labels, seeds = _checked_data(network.eval(), inputs, labels, parameters[0], objective)
    order = _checked_order(before, batch_size, generators, (seeds, labels.shape[-1]))
    if not callable(optimiser) or not isinstance(moving := optimiser(parameters), torch.optim.Optimizer):
        raise ValueError(f"optimiser is {optimiser!r}, allowed: one as partial(torch.optim.SGD, lr=0.1)")
    if before:
        # The memory of the steps before, with the lengths and decays that the optimiser has now.
        memory = {"state": deepcopy(before.state["optimiser"])}
        moving.load_state_dict(memory | {"param_groups": moving.state_dict()["param_groups"]})
    differentiate, values = gradient_function(network), torch.zeros(seeds)

    def step(network: torch.nn.Module, k: int) -> torch.nn.Module:
        nonlocal values
        some, signs = inputs, labels
        if order is not None:
            index = order.draw().to(inputs.device)
            some = inputs.expand(seeds, -1, -1).take_along_dim(index.unsqueeze(-1), dim=1)
            signs = labels.expand(seeds, -1).take_along_dim(index, dim=-1)
        values, slopes = differentiate(some, lambda logits: objective(logits, signs))
        for parameter, slope in zip(parameters, slopes, strict=True):
            parameter.grad = slope
        moving.step()
        return network

    @torch.no_grad()
    def look(network: torch.nn.Module) -> Any:
        lost = ~torch.isfinite(values)
        if lost.all():
            raise _diverged(lost)
        seen = record(network.eval())
        network.train()
        return seen

    def state() -> dict[str, Any]:
        return {"optimiser": moving.state_dict()["state"], "order": order}

    try:
        run = run_steps(network.train(), step, steps, look, record_at, state)
    finally:
        network.eval()
        for parameter in parameters:
            parameter.grad = None
    with torch.no_grad():
        logits = network(inputs)
        lost = ~(torch.isfinite(objective(logits, labels)) & torch.isfinite(logits).all(dim=-1))
    if lost.any():
        error = _diverged(lost)
        error.run = replace(run, reason=Reason.DIVERGED)
        raise error
    return run


def _diverged(lost: torch.Tensor) -> Diverged:
    seeds = tuple(lost.nonzero().flatten().tolist())
    error = Diverged(f"logits or objective of the seeds {seeds} are not finite: take shorter steps")
    error.seeds = seeds
    return error


@torch.no_grad()
def _checked_data(
    network: torch.nn.Module,
    inputs: torch.Tensor,
    labels: torch.Tensor,
    like: torch.Tensor,
    objective: Objective,
) -> tuple[torch.Tensor, int]:
    """Return the labels in the number type of the inputs, and how many seeds there are."""
    if not isinstance(inputs, torch.Tensor) or inputs.ndim not in (2, 3) or inputs.dtype != like.dtype:
        raise ValueError(f"inputs is {_told(inputs)}, allowed: a {like.dtype} tensor (n, d) or (seeds, n, d)")
    shape, n = tuple(network(inputs[..., :1, :]).shape), inputs.shape[-2]
    if len(shape) != 2 or shape[1] != 1 or inputs.shape[:-2] not in ((), shape[:1]):
        raise ValueError(
            f"start returns shape {shape} for one of inputs {tuple(inputs.shape)}, allowed: (seeds, 1)"
        )
    if not isinstance(labels, torch.Tensor) or tuple(labels.shape) not in ((n,), (shape[0], n)):
        raise ValueError(f"labels is {_told(labels)}, allowed: a tensor of shape {(n,)} or {(shape[0], n)}")
    if (other := labels[labels.abs() != 1]).numel():
        raise ValueError(f"labels holds {other[0].item()}, allowed: +1 and -1")
    signs = labels.to(inputs)
    value = objective(inputs.new_zeros(shape[0], n), signs)
    if not isinstance(value, torch.Tensor) or value.shape != shape[:1]:
        raise ValueError(f"objective returns {_told(value)}, allowed: a tensor of shape {shape[:1]}")
    return signs, shape[0]


def _told(value: Any) -> str:
    """Say what is there in place of a tensor that was wanted."""
    return f"a {value.dtype} tensor {tuple(value.shape)}" if isinstance(value, torch.Tensor) else repr(value)


def _checked_order(
    before: Run | None,
    batch_size: int | None,
    generators: Sequence[torch.Generator] | None,
    sizes: tuple[int, int],
) -> _Order | None:
    """Return the order of the examples, that of the run before where no generators are given."""
    if batch_size is None:
        if generators is not None:
            raise ValueError("batch_size is None with generators given, allowed: a whole number from 1 on")
        return None
    old = before.state["order"] if before else None
    order = deepcopy(old) if generators is None else _Order(sizes[1], 1, deepcopy([*generators]))
    if order is None or (len(order.generators), order.n) != sizes:
        raise ValueError(
            f"generators is {generators!r}, allowed: a torch.Generator for each of {sizes[0]} seeds"
        )
    order.size = whole("batch_size", batch_size, 1)
    return order
