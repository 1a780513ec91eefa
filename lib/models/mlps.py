"""Multilayer perceptrons of many seeds in one stack, and their gradients."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise

import torch

from lib.checks import choice

Values = Callable[[torch.Tensor], torch.Tensor]
"""Maps logits (seeds, n) to one number a seed."""


def seed_generators(seed: int, count: int) -> list[torch.Generator]:
    """Return generators of the seeds ``seed``, ``seed + 1`` and so on, ``count`` of them."""
    return [torch.Generator().manual_seed(seed + k) for k in range(count)]


class MlpBatch(torch.nn.Module):
    """Independent ReLU perceptrons with scalar output, stacked along a leading axis of seeds.

    Weights are (seeds, inputs, outputs) and biases (seeds, 1, outputs), one pair a layer.  Called with inputs
    of shape (n, d), the same for all seeds, or (seeds, n, d), it returns logits of shape (seeds, n).
    """

    def __init__(self, weights: Sequence[torch.Tensor], biases: Sequence[torch.Tensor]) -> None:
        super().__init__()
        self.weights = torch.nn.ParameterList(weights)
        self.biases = torch.nn.ParameterList(biases)

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        """Return the logits, shape (seeds, n)."""
        hidden = inputs.expand(len(self.weights[0]), -1, -1)
        # No slices of a ParameterList: they wrap its entries anew, out of sight of torch.func.
        layers = list(zip(self.weights, self.biases, strict=True))
        for weight, bias in layers[:-1]:
            hidden = torch.relu(torch.baddbmm(bias, hidden, weight))
        weight, bias = layers[-1]
        return torch.baddbmm(bias, hidden, weight).squeeze(-1)

    def seed(self, k: int) -> MlpBatch:
        """Return a copy of the network of one seed, as a stack of one."""
        weights, biases = (
            [value.detach()[[k]].clone() for value in part] for part in (self.weights, self.biases)
        )
        return MlpBatch(weights, biases)


def gradient_function(network: torch.nn.Module) -> Callable[[torch.Tensor, Values], list[torch.Tensor]]:
    """Return the function that differentiates a number a seed in all parameters that require gradients.

    The function takes inputs as the network does, and ``value``, which maps logits (seeds, n) to one number a
    seed.  It returns the gradients of their sum, each seed's own, in the order of ``network.parameters()``.
    It follows the parameters when they are changed in place.
    """
    parameters: list[torch.Tensor] = [value for value in network.parameters() if value.requires_grad]
    if isinstance(network, MlpBatch) and len(parameters) == 2 * len(network.weights) > 2:
        return partial(_by_hand, list(network.weights), list(network.biases))
    return lambda inputs, value: list(torch.autograd.grad(value(network(inputs)).sum(), parameters))


def _by_hand(
    weights: list[torch.Tensor], biases: list[torch.Tensor], inputs: torch.Tensor, value: Values
) -> list[torch.Tensor]:
    """Differentiate networks with hidden layers: half the memory traffic of autograd decides the time."""
    layers = [inputs.expand(len(weights[0]), -1, -1)]
    with torch.no_grad():
        for weight, bias in zip(weights[:-1], biases[:-1], strict=True):
            layers.append(torch.baddbmm(bias, layers[-1], weight).relu_())
        logits = torch.baddbmm(biases[-1], layers[-1], weights[-1]).squeeze(-1)
    (slopes,) = torch.autograd.grad(value(logits.requires_grad_()).sum(), [logits])
    back = slopes.unsqueeze(-1)
    with torch.no_grad():
        # A unit of the last hidden layer adds active * (hidden W + b) * out to the logit: sums over the
        # examples where it is active give the gradients in W, b and out at once.
        active, hidden, out = layers.pop().sign_(), layers[-1], weights[-1].mT
        linear, constant = torch.bmm(torch.cat([back * hidden, back], dim=-1).mT, active).split(
            [hidden.shape[-1], 1], dim=1
        )
        level = (weights[-2] * linear).sum(dim=1, keepdim=True) + biases[-2] * constant
        slopes_of = [(level.mT, back.sum(dim=1, keepdim=True)), (linear * out, constant * out)]
        if len(layers) > 1:
            back = torch.bmm(active, (weights[-2] * out).mT).mul_(back)
        for weight in weights[-3::-1]:
            torch.ops.aten.threshold_backward.grad_input(back, layers.pop(), 0, grad_input=back)
            slopes_of.append((torch.bmm(layers[-1].mT, back), back.sum(dim=1, keepdim=True)))
            if len(layers) > 1:
                back = torch.bmm(back, weight.mT)
    in_weights, in_biases = zip(*reversed(slopes_of), strict=True)
    return [*in_weights, *in_biases]


def draw_mlps(
    widths: Sequence[int],
    generators: Sequence[torch.Generator],
    *,
    dtype: torch.dtype = torch.float64,
    initialisation: str = "uniform",
) -> MlpBatch:
    """Draw one ReLU perceptron with each of the ``generators``.

    ``widths`` are the sizes of input, hidden layers and output, the last one 1.  With ``initialisation``
    ``"uniform"``, the default of ``torch.nn.Linear``, weights and biases are uniform in ``+-1/sqrt(inputs)``;
    with ``"xavier"`` the weights are uniform in ``+-sqrt(6/(inputs + outputs))`` and the biases zero.  Raises
    ``ValueError`` for another initialisation.
    """
    xavier = choice("initialisation", initialisation, ("uniform", "xavier")) == "xavier"

    def uniform(shape: tuple[int, int], bound: float) -> torch.Tensor:
        draws = [torch.rand(shape, generator=generator, dtype=dtype) for generator in generators]
        return (2 * torch.stack(draws) - 1) * bound

    weights, biases = [], []
    for inputs, outputs in pairwise(widths):
        weights.append(
            uniform((inputs, outputs), (6 / (inputs + outputs)) ** 0.5 if xavier else inputs**-0.5)
        )
        biases.append(uniform((1, outputs), 0.0 if xavier else inputs**-0.5))
    return MlpBatch(weights, biases)
