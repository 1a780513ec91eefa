"""Dropout and batch normalisation, in the place of the activation of a network [pezeshki2021, App. A.1]."""

from __future__ import annotations

import torch

from lib.models.mlps import MlpBatch


class Dropout(torch.nn.Module):
    """Drop each unit with a probability, by draws of a generator on the CPU.

    In training the others are divided by the chance to be kept; in evaluation nothing is dropped.
    """

    def __init__(self, probability: float, generator: torch.Generator) -> None:
        super().__init__()
        self.probability, self.generator = probability, generator

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        """Return hidden units, in the shape given."""
        if not self.training:
            return hidden
        draws = torch.rand(hidden.shape, generator=self.generator, dtype=hidden.dtype)
        mask = (draws >= self.probability).to(hidden)
        return hidden * (mask / (1 - self.probability))


class Regularised(torch.nn.Module):
    """The perceptron of one hidden layer and one seed ``plain``, other layers in the place of its activation.

    ``between`` map hidden units (n, width) to such, as ``torch.nn.BatchNorm1d`` and an activation do.
    """

    def __init__(self, plain: MlpBatch, *between: torch.nn.Module) -> None:
        super().__init__()
        self.plain, self.between = plain, torch.nn.Sequential(*between)

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        """Return the logits, shape (1, n)."""
        (first, last), (inner, outer) = self.plain.weights, self.plain.biases
        hidden = self.between(torch.addmm(inner[0], inputs, first[0]))
        return torch.addmm(outer[0], hidden, last[0]).mT
