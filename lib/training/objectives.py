"""What torch networks are trained for: one number a seed, of logits (seeds, n) and labels +1 and -1."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch.nn.functional import softplus

Objective = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
"""Maps logits (seeds, n) and labels (n,) or (seeds, n) to one number a seed, shape (seeds,)."""


def cross_entropy(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Return the mean of ``log(1 + exp(-y f))`` over the examples for each seed, shape (seeds,)."""
    return softplus(-labels * logits).mean(dim=-1)


def spectral_decoupling(strength: float) -> Objective:
    """Return the objective of cross-entropy plus ``strength/2`` times the mean of ``f^2``.

    The paper's theory has the sum over the examples, its code ``coefficient * mean(f^2)``, which is twice the
    coefficient as ``strength`` [pezeshki2021, Eq. 25].
    """

    def objective(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        return (softplus(-labels * logits) + strength / 2 * logits.square()).mean(dim=-1)

    return objective
