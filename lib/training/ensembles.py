"""Training of small torch networks, all seeds in one batch."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import torch
from tqdm import tqdm

from lib.checks import whole
from lib.models.mlps import gradient_function, trainable
from lib.training.batches import Batches
from lib.training.environments import Grouped
from lib.training.interrupts import Interrupts
from lib.training.objectives import Objective
from lib.training.optimisers import Optimiser
from lib.training.tensors import shaped, tensor, usable_device

PATIENCE = 3.0  # seconds after which a run shows its progress


@dataclass(frozen=True)
class Training:
    """A run of :func:`lib.training.ensembles.train`: ``recorded[k]`` is what ``record`` said after ``steps[k]`` steps.

    ``network`` is the network after ``made`` steps, in evaluation mode.  ``memory`` is that of the optimiser,
    of the shuffling and of an objective with a state; pass it on to continue the run, with another objective
    if wanted.  ``stopped`` says why the run ended: ``"finished"``, or, on the run attached to an error,
    ``"interrupted"``, ``"failed"`` or ``"diverged"``; then ``diverged`` names the seeds whose objective is
    not finite.  The others are as good as ever.

    Example:

    >>> Training(torch.nn.Identity()).stopped
    'finished'
    """

    network: torch.nn.Module
    memory: dict[str, Any] = field(repr=False, default_factory=dict)
    steps: tuple[int, ...] = ()
    recorded: tuple[Any, ...] = ()
    made: int = 0
    stopped: str = "finished"
    diverged: tuple[int, ...] = ()


class Diverged(RuntimeError):
    """Some seeds have no finite objective any more; the run, with the other seeds, is in ``training``.

    Example: the first seed starts in vain.

    >>> from lib.training.objectives import cross_entropy
    >>> from lib.training.optimisers import Sgd
    >>> weights = [torch.tensor([[[1e308]], [[1.0]]], dtype=torch.float64)]
    >>> from lib.models.mlps import MlpBatch
    >>> network = MlpBatch(weights, [torch.zeros(2, 1, 1, dtype=torch.float64)])
    >>> inputs, labels = torch.tensor([[9.0]], dtype=torch.float64), torch.tensor([-1.0])
    >>> try:
    ...     train(network, inputs, labels, objective=cross_entropy, optimiser=Sgd(0.1), steps=5)
    ... except Diverged as error:
    ...     error.training.diverged, error.training.network.seed(1)(inputs).item() < 9
    ((0,), True)
    """

    training: Training


def train(
    network: torch.nn.Module,
    inputs: torch.Tensor,
    labels: torch.Tensor,
    *,
    objective: Objective,
    optimiser: Optimiser,
    steps: int,
    record: Callable[[torch.nn.Module], Any] | None = None,
    record_at: Iterable[int] = (),
    memory: dict[str, Any] | None = None,
    batch_size: int | None = None,
    generators: Sequence[torch.Generator] | None = None,
    device: torch.device | str | None = None,
    progress: bool = True,
) -> Training:
    """Train a copy of a batch of networks; the seeds do not see each other.

    ``network`` maps inputs (n, d) or (seeds, n, d), of the number type of its parameters, to logits
    (seeds, n), for instance a :class:`lib.models.mlps.MlpBatch`; parameters that require no gradient stay as they
    are.  Labels are (n,) or (seeds, n).  ``objective`` returns one number a seed; their sum is
    differentiated, so that each seed follows its own gradient.

    The steps use all examples, or, with a ``batch_size``, as many at a time, in an order that each seed draws
    anew for each pass from its own of the ``generators``, which are copied; the last part of a pass may be
    smaller.  ``record`` is called with the network in evaluation mode, without tracking gradients, at the
    step counts ``record_at``, from 0, the start, to ``steps``; what it returns must not be a view of
    parameters, which change later.  ``device`` says where to compute, if not where the network is; what is
    given is moved there, and random draws are the same everywhere.  ``progress`` allows a bar for runs over a
    few seconds, where the standard error is a terminal.

    Raises ``ValueError`` for arguments that do not fit, and an objective that does not return one number a
    seed; :class:`lib.training.ensembles.Diverged` if the objective of a seed is not finite at the end, or of all seeds
    when recording.  Any error in the course of the run, ``KeyboardInterrupt`` too, comes with the run until
    then as its attribute ``training``: an interrupt waits for the end of a step, so that the run can go on.

    Example: ten networks learn "or", five steps and then five more.

    >>> from lib.models.mlps import draw_mlps
    >>> from lib.training.objectives import cross_entropy
    >>> from lib.training.optimisers import Sgd
    >>> from lib.training.seeds import seed_generators
    >>> inputs = torch.tensor([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], dtype=torch.float64)
    >>> data = inputs, torch.tensor([-1.0, 1.0, 1.0, 1.0])
    >>> start = draw_mlps((2, 20, 1), seed_generators(0, 10))
    >>> settings = {"objective": cross_entropy, "optimiser": Sgd(0.5, momentum=0.9)}
    >>> first = train(start, *data, steps=5, **settings)
    >>> def accuracy(network):
    ...     return ((network(inputs) > 0) == (data[1] > 0)).double().mean()
    >>> settings |= {"memory": first.memory, "record": accuracy, "record_at": [0, 95]}
    >>> run = train(first.network, *data, steps=95, **settings)
    >>> run.steps, [round(float(value), 2) for value in run.recorded]
    ((0, 95), [0.75, 1.0])
    """
    steps = whole("steps", steps)
    wanted = _checked_times(record_at, steps)
    if record is not None and not callable(record):
        raise ValueError(f"record is {record!r}, allowed: a function of the network")
    run = _Run(network, inputs, labels, objective, optimiser, memory, device)
    run.choose_batches(batch_size, generators)
    quiet = None if progress else True  # None: where the standard error is no terminal
    bar = tqdm(range(steps + 1), unit=" steps", delay=PATIENCE, leave=False, disable=quiet)
    try:
        with Interrupts() as interrupts, bar:
            for k in bar:
                if record is not None and k in wanted:
                    run.show(record)
                if k < steps:
                    interrupts.begin()
                    run.step()
                    interrupts.end()
            run.check_the_end()
    except BaseException as error:
        reasons = {KeyboardInterrupt: "interrupted", Diverged: "diverged"}
        error.training = run.result(reasons.get(type(error), "failed"))  # type: ignore[attr-defined]
        error.add_note(f"the attribute training of this error has the run until step {run.made} of {steps}")
        raise
    return run.result("finished")


class _Run:
    """A network being trained, and all that changes with it."""

    def __init__(
        self,
        network: torch.nn.Module,
        inputs: torch.Tensor,
        labels: torch.Tensor,
        objective: Objective,
        optimiser: Optimiser,
        memory: dict[str, Any] | None,
        device: torch.device | str | None,
    ) -> None:
        if not callable(objective):
            raise ValueError(f"objective is {objective!r}, allowed: a function of logits and labels")
        if not isinstance(optimiser, Optimiser):
            raise ValueError(f"optimiser is {optimiser!r}, allowed: Sgd or Adam of lib.training.optimisers")
        first = trainable(network)[0]
        device = usable_device("device", first.device if device is None else device)
        tensor("inputs", inputs, ("n", "d"), ("seeds", "n", "d"), dtype=first.dtype)
        self.network = deepcopy(network).to(device).eval()
        self.inputs, self.n = inputs.to(device), inputs.shape[-2]
        self.seeds = self._count_seeds()
        shaped("labels", labels, (self.n,), (self.seeds, self.n))
        self.parameters = trainable(self.network.train())
        self.differentiate = gradient_function(self.network)
        self.labels = labels.to(self.inputs) if labels.is_floating_point() else labels.to(device)
        self.objective, self.optimiser, self.made = objective, optimiser, 0
        fresh: dict[str, Any] = {"optimiser": optimiser.start(self.parameters), "batches": None}
        self.grouped = objective.to(self.inputs) if isinstance(objective, Grouped) else None
        logits = self.inputs.new_zeros(self.seeds, self.n)
        fresh["objective"] = self.grouped and self.grouped.start(logits)
        if self.grouped:
            self.grouped(logits, self.labels)
        self.memory = fresh if memory is None else _continued(memory, fresh, device)
        self.values = torch.zeros(self.seeds)
        self.diverged: tuple[int, ...] = ()
        self.kept: dict[int, Any] = {}

    @torch.no_grad()
    def _count_seeds(self) -> int:
        logits = self.network(self.inputs[..., :1, :])
        seeds = len(logits) if logits.ndim else 0
        if logits.shape != (seeds, 1) or (self.inputs.ndim == 3 and len(self.inputs) != seeds):
            raise ValueError(f"network returns shape {tuple(logits.shape)} for n = 1, allowed: (seeds, 1)")
        return seeds

    def choose_batches(self, size: int | None, generators: Sequence[torch.Generator] | None) -> None:
        """Use parts of ``size`` examples, in the order of the memory where no generators are given."""
        old, self.memory["batches"] = self.memory["batches"], None
        if size is None:
            if generators is not None:
                raise ValueError(
                    "batch_size is None with generators given, allowed: a whole number from 1 on"
                )
            return
        size = whole("batch_size", size, 1)
        batches = old if generators is None and old else Batches(self.n, size, generators or ())
        batches.size, got = size, (len(batches.generators), batches.n)
        if got != (self.seeds, self.n):
            raise ValueError(
                f"generators or memory are for (seeds, n) = {got}, allowed: {self.seeds, self.n}"
            )
        self.memory["batches"] = batches

    def step(self) -> None:
        """Make one step of the optimiser."""
        index, inputs, labels = None, self.inputs, self.labels
        if self.memory["batches"] is not None:
            index = self.memory["batches"].draw().to(inputs.device)
            inputs = inputs.expand(self.seeds, -1, -1).take_along_dim(index.unsqueeze(-1), dim=1)
            labels = labels.expand(self.seeds, -1).take_along_dim(index, dim=-1)
        value = partial(self.value, labels=labels, index=index, advance=True)
        self.values, slopes = self.differentiate(inputs, value)
        with torch.no_grad():
            self.optimiser.update(self.parameters, slopes, self.memory["optimiser"])
        self.made += 1

    def value(
        self, logits: torch.Tensor, labels: torch.Tensor, index: torch.Tensor | None, *, advance: bool
    ) -> torch.Tensor:
        """Return the objective, one number a seed."""
        if self.grouped is None:
            return self.objective(logits, labels)
        state = self.memory["objective"]
        if advance:
            state = self.grouped.advance(state, logits.detach(), labels, index)
            self.memory["objective"] = state
        return self.grouped(logits, labels, state, index)

    @torch.no_grad()
    def show(self, record: Callable[[torch.nn.Module], Any]) -> None:
        """Keep what ``record`` says of the network as it is."""
        self.name_the_lost(~torch.isfinite(self.values), some=False)
        self.kept[self.made] = record(self.network.eval())
        self.network.train()

    @torch.no_grad()
    def check_the_end(self) -> None:
        """Raise an error if logits or objective of a seed are not finite."""
        logits = self.network.eval()(self.inputs)
        values = self.value(logits, self.labels, None, advance=False)
        self.name_the_lost(~(torch.isfinite(values) & torch.isfinite(logits).all(dim=-1)), some=True)

    def name_the_lost(self, lost: torch.Tensor, *, some: bool) -> None:
        """Raise an error that names the lost seeds, if there are ``some``, otherwise only if all are."""
        if lost.any() if some else lost.all():
            self.diverged = tuple(lost.nonzero().flatten().tolist())
            raise Diverged(
                f"seeds {self.diverged} are not finite after {self.made} steps; try a smaller step"
            )

    def result(self, stopped: str) -> Training:
        """Return the run until now."""
        counts, values = tuple(self.kept), tuple(self.kept.values())
        return Training(self.network.eval(), self.memory, counts, values, self.made, stopped, self.diverged)


def _checked_times(record_at: Iterable[int], steps: int) -> frozenset[int]:
    if not isinstance(record_at, Iterable):
        raise ValueError(f"record_at is {record_at!r}, allowed: step counts")
    times = frozenset(whole("record_at", k) for k in record_at)
    if times and max(times) > steps:
        raise ValueError(f"record_at holds {max(times)}, allowed: 0 to steps, {steps}")
    return times


def _continued(memory: dict[str, Any], fresh: dict[str, Any], device: torch.device) -> dict[str, Any]:
    """Return a copy of the memory on the device, without the state of an objective of another shape."""

    def shapes(part: dict[str, Any]) -> dict[str, Any]:
        return {name: [v.shape for v in part[name]] for name in part if isinstance(part[name], list)}

    fits = isinstance(memory, dict) and memory.keys() == fresh.keys()
    if not fits or shapes(memory["optimiser"]) != shapes(fresh["optimiser"]):
        raise ValueError("memory does not fit, allowed: that of a run of the same network and optimiser")
    memory, state = _moved(deepcopy(memory), device), fresh["objective"]
    if state is None or memory["objective"] is None or memory["objective"].shape != state.shape:
        memory["objective"] = state
    return memory


def _moved(part: Any, device: torch.device) -> Any:
    """Return nested dictionaries and lists with all tensors in them on the device."""
    if isinstance(part, dict):
        return {name: _moved(value, device) for name, value in part.items()}
    if isinstance(part, list):
        return [_moved(value, device) for value in part]
    return part.to(device) if isinstance(part, torch.Tensor) else part
