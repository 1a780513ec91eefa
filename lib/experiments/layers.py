"""Dropout and batch normalisation of many seeds in one batch, each seed with its own masks and statistics."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy

import torch
from torch.nn.functional import batch_norm as normalise

from lib.checks import number, whole
from lib.training.seeds import checked_generators
from lib.training.tensors import tensor


class BatchNorm(torch.nn.Module):
    """Batch normalisation of each seed by its own statistics, as ``torch.nn.BatchNorm1d`` does it.

    Maps hidden units (seeds, n, features) to the same shape.  In training mode it uses mean and variance of
    the n examples, at least 2, and moves the running ones by ``momentum`` towards them (the variance with
    ``n - 1``); in evaluation mode it uses the running ones.  The running ``mean`` and ``variance`` and the
    parameters ``weight`` and ``bias`` are (seeds, 1, features).  Raises ``ValueError`` for counts below 1, a
    momentum outside [0, 1] and an epsilon that is not positive.

    Example: each seed has mean 0 for itself.

    >>> norm = BatchNorm(2, 1)
    >>> hidden = torch.tensor([[[1.0], [3.0]], [[10.0], [10.2]]], dtype=torch.float64)
    >>> norm(hidden).detach().squeeze(-1).round(decimals=2)
    tensor([[-1.,  1.],
            [-1.,  1.]], dtype=torch.float64)
    >>> norm.mean.flatten()
    tensor([0.2000, 1.0100], dtype=torch.float64)
    """

    mean: torch.Tensor
    variance: torch.Tensor

    def __init__(
        self,
        seeds: int,
        features: int,
        *,
        momentum: float = 0.1,
        epsilon: float = 1e-5,
        dtype: torch.dtype = torch.float64,
    ) -> None:
        super().__init__()
        shape = (whole("seeds", seeds, 1), 1, whole("features", features, 1))
        self.momentum = number("momentum", momentum, 0, 1, "[]")
        self.epsilon = number("epsilon", epsilon, 0)
        self.weight = torch.nn.Parameter(torch.ones(shape, dtype=dtype))
        self.bias = torch.nn.Parameter(torch.zeros(shape, dtype=dtype))
        self.register_buffer("mean", torch.zeros(shape, dtype=dtype))
        self.register_buffer("variance", torch.ones(shape, dtype=dtype))

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        """Return the normalised units, of the same shape."""
        seeds, _, features = self.weight.shape
        tensor("hidden", hidden, (seeds, "n", features), finite=False)
        n = hidden.shape[1]
        if self.training and n < 2:
            raise ValueError(f"hidden has {n} example, allowed: two or more while training")
        # Seeds and features are channels alike.
        columns = hidden.transpose(0, 1).reshape(n, seeds * features)
        mean, variance, weight, bias = (
            value.view(-1) for value in (self.mean, self.variance, self.weight, self.bias)
        )
        normal = normalise(columns, mean, variance, weight, bias, self.training, self.momentum, self.epsilon)
        return normal.view(n, seeds, features).transpose(0, 1)


class Dropout(torch.nn.Module):
    """Dropout of hidden units (seeds, n, features), the masks of each seed from its own generator.

    In training mode each unit is 0 with the ``probability`` and otherwise divided by one minus it; in
    evaluation mode nothing happens.  The draws are made on the CPU, so that they are the same on any device.
    The layer works on copies of the ``generators``, one a seed.  Raises ``ValueError`` for a probability
    outside [0, 1) and for no generators.

    Example:

    >>> from lib.training.seeds import seed_generators
    >>> dropout = Dropout(0.5, seed_generators(0, 2))
    >>> dropout(torch.ones(2, 1, 4))
    tensor([[[0., 2., 0., 0.]],
    <BLANKLINE>
            [[2., 0., 0., 2.]]])
    >>> dropout.eval()(torch.ones(2, 1, 4)).sum()
    tensor(8.)
    """

    def __init__(self, probability: float, generators: Sequence[torch.Generator]) -> None:
        super().__init__()
        self.probability = number("probability", probability, 0, 1, "[)")
        self.generators = deepcopy(checked_generators(generators))

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        """Return the units that are kept, scaled, and zeros; the same shape."""
        if not self.training or not self.probability:
            return hidden
        tensor("hidden", hidden, (len(self.generators), "n", "features"), finite=False)
        draws = [torch.rand(hidden.shape[1:], generator=each, dtype=hidden.dtype) for each in self.generators]
        mask = (torch.stack(draws) >= self.probability).to(hidden) / (1 - self.probability)
        return hidden * mask
