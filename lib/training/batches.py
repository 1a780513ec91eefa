"""Parts of the examples for steps that do not use all of them."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy

import torch

from lib.checks import whole
from lib.training.seeds import checked_generators


class Batches:
    """Parts of ``n`` examples, ``size`` at a time, in an order that each seed draws anew for each pass.

    Each seed has its own of the ``generators``, which are copied.  The last part of a pass is smaller where
    ``size`` does not divide ``n``.  Raises ``ValueError`` for counts below 1 and for no generators.

    Example: two seeds, each of which meets all of five examples.

    >>> from lib.training.seeds import seed_generators
    >>> batches = Batches(5, 3, seed_generators(0, 2))
    >>> torch.cat([batches.draw(), batches.draw()], dim=-1).sort().values
    tensor([[0, 1, 2, 3, 4],
            [0, 1, 2, 3, 4]])
    """

    def __init__(self, n: int, size: int, generators: Sequence[torch.Generator]) -> None:
        self.n, self.size = whole("n", n, 1), whole("size", size, 1)
        self.generators = deepcopy(checked_generators(generators))
        self._rest = torch.empty(len(self.generators), 0, dtype=torch.long)

    def draw(self) -> torch.Tensor:
        """Return the indices of the next part, shape (seeds, at most ``size``), on the CPU."""
        if not self._rest.shape[-1]:
            self._rest = torch.stack([torch.randperm(self.n, generator=each) for each in self.generators])
        part, self._rest = self._rest[:, : self.size], self._rest[:, self.size :]
        return part
