"""Steps of gradient descent and Adam, in place and for all parameters at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from lib.checks import number

Tensors = list[torch.Tensor]


@dataclass(frozen=True)
class Sgd:
    """Gradient descent with heavy-ball momentum and weight decay, as ``torch.optim.SGD`` does it.

    The gradient ``g + weight_decay p`` is added to ``momentum`` times the velocity, and ``step`` times the
    velocity taken off the parameters ``p``: weight decay is the penalty ``weight_decay/2 ||p||^2``.  Raises
    ``ValueError`` for a step that is not positive, a momentum outside [0, 1) and a negative weight decay.

    Example:

    >>> parameters, optimiser = [torch.tensor([1.0])], Sgd(0.5, momentum=0.9)
    >>> memory = optimiser.start(parameters)
    >>> for _ in range(2):
    ...     optimiser.update(parameters, [torch.tensor([0.1])], memory)
    >>> parameters
    [tensor([0.8550])]
    """

    step: float
    momentum: float = 0.0
    weight_decay: float = 0.0

    def __post_init__(self) -> None:
        number("step", self.step, 0)
        number("momentum", self.momentum, 0, 1, "[)")
        number("weight_decay", self.weight_decay, 0, ends="[)")

    def start(self, parameters: Tensors) -> dict[str, Any]:
        """Return the optimiser's memory before the first step."""
        return {"velocity": [torch.zeros_like(value) for value in parameters]}

    def update(self, parameters: Tensors, gradients: Tensors, memory: dict[str, Any]) -> None:
        """Make one step in place, on the parameters and on the memory."""
        if self.weight_decay:
            gradients = list(torch._foreach_add(gradients, parameters, alpha=self.weight_decay))
        torch._foreach_mul_(memory["velocity"], self.momentum)
        torch._foreach_add_(memory["velocity"], gradients)
        torch._foreach_add_(parameters, memory["velocity"], alpha=-self.step)


@dataclass(frozen=True)
class Adam:
    """Adam with weight decay added to the gradient, as ``torch.optim.Adam`` does it.

    ``betas`` are the rates at which the first and second moments are kept.  Raises ``ValueError`` for a step
    or an epsilon that is not positive, betas outside [0, 1) and a negative weight decay.

    Example: the first step has the length ``step``, however long the gradient.

    >>> parameters, optimiser = [torch.tensor([1.0, 1.0])], Adam(0.25)
    >>> optimiser.update(parameters, [torch.tensor([100.0, -0.01])], optimiser.start(parameters))
    >>> parameters
    [tensor([0.7500, 1.2500])]
    """

    step: float
    betas: tuple[float, float] = (0.9, 0.999)
    epsilon: float = 1e-8
    weight_decay: float = 0.0

    def __post_init__(self) -> None:
        number("step", self.step, 0)
        if not isinstance(self.betas, tuple) or len(self.betas) != 2:
            raise ValueError(f"betas is {self.betas!r}, allowed: two numbers in [0, 1)")
        for beta in self.betas:
            number("betas", beta, 0, 1, "[)")
        number("epsilon", self.epsilon, 0)
        number("weight_decay", self.weight_decay, 0, ends="[)")

    def start(self, parameters: Tensors) -> dict[str, Any]:
        """Return the optimiser's memory before the first step."""
        zeros = [[torch.zeros_like(value) for value in parameters] for _ in range(2)]
        return {"first": zeros[0], "second": zeros[1], "steps": 0}

    def update(self, parameters: Tensors, gradients: Tensors, memory: dict[str, Any]) -> None:
        """Make one step in place, on the parameters and on the memory."""
        memory["steps"] += 1
        first_bias, second_bias = (1 - beta ** memory["steps"] for beta in self.betas)
        first, second = memory["first"], memory["second"]
        if self.weight_decay:
            gradients = list(torch._foreach_add(gradients, parameters, alpha=self.weight_decay))
        torch._foreach_lerp_(first, gradients, 1 - self.betas[0])
        torch._foreach_mul_(second, self.betas[1])
        torch._foreach_addcmul_(second, gradients, gradients, 1 - self.betas[1])
        scale = torch._foreach_div(second, second_bias)
        torch._foreach_sqrt_(scale)
        torch._foreach_add_(scale, self.epsilon)
        torch._foreach_addcdiv_(parameters, first, scale, -self.step / first_bias)


Optimiser = Sgd | Adam
"""What makes the steps of :func:`lib.training.ensembles.train`."""
