"""Training of small torch networks, all seeds in one batch."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from itertools import pairwise

import torch
from torch.nn.functional import softplus

Objective = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
"""Maps logits (seeds, n) and labels, broadcastable to them, to one number a seed."""


class MlpBatch(torch.nn.Module):
    """Independent multilayer perceptrons with scalar output, stacked along a leading axis of seeds.

    Weights are (seeds, inputs, outputs) and biases (seeds, 1, outputs), one pair a layer.  Called with inputs
    of shape (n, d), the same for all seeds, or (seeds, n, d), it returns logits of shape (seeds, n).
    """

    def __init__(
        self,
        weights: Sequence[torch.Tensor],
        biases: Sequence[torch.Tensor],
        activation: Callable[[torch.Tensor], torch.Tensor] = torch.relu,
    ) -> None:
        super().__init__()
        if weights[-1].shape[-1] != 1:
            raise ValueError(f"the last of weights has {weights[-1].shape[-1]} outputs, allowed: 1")
        self.weights = torch.nn.ParameterList(weights)
        self.biases = torch.nn.ParameterList(biases)
        self.activation = activation

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        """Return the logits, shape (seeds, n)."""
        hidden = inputs if inputs.ndim == 3 else inputs.expand(len(self.weights[0]), *inputs.shape)
        # No slices of a ParameterList: they wrap its entries anew, out of sight of torch.func.
        layers = list(zip(self.weights, self.biases, strict=True))
        for weight, bias in layers[:-1]:
            hidden = self.activation(torch.baddbmm(bias, hidden, weight))
        weight, bias = layers[-1]
        return torch.baddbmm(bias, hidden, weight).squeeze(-1)

    def seed(self, k: int) -> MlpBatch:
        """Return a copy of the network of one seed, as a batch of one."""
        pick = [[value[k : k + 1].detach().clone() for value in part] for part in (self.weights, self.biases)]
        return MlpBatch(*pick, activation=self.activation)


def draw_mlps(
    widths: Sequence[int], generators: Sequence[torch.Generator], *, dtype: torch.dtype = torch.float64
) -> MlpBatch:
    """Draw one perceptron for each generator, weights and biases uniform in ``+-1/sqrt(inputs)``.

    ``widths`` are the sizes of input, hidden layers and output, the last one 1.  Raises ``ValueError`` for
    another output size or no generators.  This is the default initialisation of ``torch.nn.Linear``.
    """
    if len(widths) < 2 or widths[-1] != 1:
        raise ValueError(f"widths is {tuple(widths)}, allowed: two or more sizes, the last of them 1")
    if not generators:
        raise ValueError("generators is empty, allowed: one torch.Generator a seed")

    def uniform(shape: tuple[int, ...], bound: float) -> torch.Tensor:
        draws = [torch.rand(shape, generator=generator, dtype=dtype) for generator in generators]
        return (2 * torch.stack(draws) - 1) * bound

    layers = [(uniform((a, b), a**-0.5), uniform((1, b), a**-0.5)) for a, b in pairwise(widths)]
    return MlpBatch([weight for weight, _ in layers], [bias for _, bias in layers])


def seed_generators(seed: int, count: int) -> list[torch.Generator]:
    """Return ``count`` independent generators, those of seeds ``seed``, ``seed + 1`` and so on."""
    return [torch.Generator().manual_seed(seed + k) for k in range(count)]


def cross_entropy(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Return the mean of ``log(1 + exp(-y f))`` over the examples for each seed; labels are +1 and -1."""
    return softplus(-labels * logits).mean(dim=-1)


def spectral_decoupling(strength: float) -> Objective:
    """Return cross-entropy plus ``strength/2`` times the mean squared logit [pezeshki2021, Eq. 25]."""
    if not strength >= 0:
        raise ValueError(f"strength is {strength}, allowed: zero or more")

    def objective(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        return cross_entropy(logits, labels) + strength / 2 * logits.square().mean(dim=-1)

    return objective


@dataclass(frozen=True)
class Sgd:
    """Gradient descent with momentum and weight decay, as ``torch.optim.SGD`` does it."""

    step: float
    momentum: float = 0.0
    weight_decay: float = 0.0

    def start(self, parameters: list[torch.Tensor]) -> dict:
        """Return the optimiser's memory before the first step."""
        return {"velocity": [torch.zeros_like(value) for value in parameters]}

    def update(self, parameters: list[torch.Tensor], gradients: list[torch.Tensor], memory: dict) -> None:
        """Make one step in place, on the parameters and on the memory."""
        if self.weight_decay:
            gradients = torch._foreach_add(gradients, parameters, alpha=self.weight_decay)
        torch._foreach_mul_(memory["velocity"], self.momentum)
        torch._foreach_add_(memory["velocity"], gradients)
        torch._foreach_add_(parameters, memory["velocity"], alpha=-self.step)


@dataclass(frozen=True)
class Adam:
    """Adam with weight decay added to the gradient, as ``torch.optim.Adam`` does it."""

    step: float
    betas: tuple[float, float] = (0.9, 0.999)
    epsilon: float = 1e-8
    weight_decay: float = 0.0

    def start(self, parameters: list[torch.Tensor]) -> dict:
        """Return the optimiser's memory before the first step."""
        zeros = [[torch.zeros_like(value) for value in parameters] for _ in range(2)]
        return {"first": zeros[0], "second": zeros[1], "steps": 0}

    def update(self, parameters: list[torch.Tensor], gradients: list[torch.Tensor], memory: dict) -> None:
        """Make one step in place, on the parameters and on the memory."""
        memory["steps"] += 1
        first_bias, second_bias = (1 - beta ** memory["steps"] for beta in self.betas)
        for value, gradient, first, second in zip(
            parameters, gradients, memory["first"], memory["second"], strict=True
        ):
            total = gradient + self.weight_decay * value
            first.lerp_(total, 1 - self.betas[0])
            second.mul_(self.betas[1]).addcmul_(total, total, value=1 - self.betas[1])
            scale = (second / second_bias).sqrt_().add_(self.epsilon)
            value.addcdiv_(first, scale, value=-self.step / first_bias)


@dataclass(frozen=True)
class Training:
    """A finished run: ``recorded[k]`` is what ``record`` returned after ``steps[k]`` steps.

    ``memory`` is the optimiser's; pass it on to continue the run, with another objective if wanted.
    """

    network: torch.nn.Module
    memory: dict = field(repr=False)
    steps: tuple[int, ...] = ()
    recorded: tuple = ()


def train(
    network: torch.nn.Module,
    inputs: torch.Tensor,
    labels: torch.Tensor,
    *,
    objective: Objective,
    optimiser: Sgd | Adam,
    steps: int,
    record: Callable[[torch.nn.Module], object] | None = None,
    record_at: Iterable[int] = (),
    memory: dict | None = None,
) -> Training:
    """Train a copy of a batch of networks by full-batch steps; the seeds do not see each other.

    ``objective`` returns one number a seed; their sum is differentiated, so that each seed follows its
    own gradient.  ``record`` is called, without tracking gradients, at the step counts ``record_at`` (0 is
    the start).  Raises ``ValueError`` for an objective that does not return one number a seed, or a negative
    number of steps, and ``RuntimeError`` when the objective is no longer finite at the end.
    """
    if not steps >= 0:
        raise ValueError(f"steps is {steps}, allowed: zero or more")
    network = deepcopy(network)
    parameters = list(network.parameters())
    memory = optimiser.start(parameters) if memory is None else deepcopy(memory)
    wanted = frozenset(record_at) if record is not None else frozenset()
    kept: list[tuple[int, object]] = []
    for k in range(steps + 1):
        if k in wanted:
            with torch.no_grad():
                kept.append((k, record(network)))
        if k == steps:
            break
        logits = network(inputs)
        values = objective(logits, labels)
        if values.shape != logits.shape[:1]:
            raise ValueError(
                f"objective returns shape {tuple(values.shape)}, allowed: {tuple(logits.shape[:1])}"
            )
        gradients = list(torch.autograd.grad(values.sum(), parameters))
        with torch.no_grad():
            optimiser.update(parameters, gradients, memory)
    with torch.no_grad():
        final = objective(network(inputs), labels)
    if not torch.isfinite(final).all():
        raise RuntimeError(f"the objective is {final.tolist()} after {steps} steps; a smaller step may help")
    return Training(network, memory, tuple(k for k, _ in kept), tuple(value for _, value in kept))
