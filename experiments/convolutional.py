"""Convolutional networks like VGG."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import nn

PART = 500  # images that a network sees at once, so that large sets fit into memory


class Convolutional(nn.Module):
    """A network like VGG, of one seed: inputs (n, pixels), levels from 0 to 1, to logits (1, n).

    The images have the ``shape`` (channels, side, side).  Each of the ``blocks`` is a row of convolutions by
    3 x 3 with so many channels, and a maximum over 2 x 2; ``dense`` are the widths of the hidden layers that
    follow.  Weights are drawn as by Kaiming He, biases are zero.
    """

    def __init__(
        self,
        shape: tuple[int, ...],
        blocks: Sequence[Sequence[int]],
        dense: Sequence[int],
        generator: torch.Generator,
    ) -> None:
        super().__init__()
        channels, side, _ = shape
        layers: list[nn.Module] = [nn.Unflatten(1, shape)]
        for block in blocks:
            for before, after in pairwise((channels, *block)):
                layers += [nn.Conv2d(before, after, 3, padding=1), nn.ReLU()]
            layers.append(nn.MaxPool2d(2))
            channels, side = block[-1], side // 2
        layers.append(nn.Flatten())
        for before, after in pairwise((channels * side**2, *dense, 1)):
            layers += [nn.Linear(before, after), nn.ReLU()]
        self.layers = nn.Sequential(*layers[:-1])
        for weight in self.parameters():
            if weight.ndim == 1:
                nn.init.zeros_(weight)
            else:
                nn.init.kaiming_normal_(weight, nonlinearity="relu", generator=generator)

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        """Return the logits, shape (1, n)."""
        levels = inputs.reshape(-1, inputs.shape[-1]) - 0.5
        return torch.cat([self.layers(part) for part in levels.split(PART)]).T
