"""Objectives of the risks in several environments or groups: invariant risk, risk extrapolation, worst group.

The risk of a group is the mean cross-entropy over its examples.  Groups are given as indices, one an example.
Where a training step sees a part of the examples only, the objective is that of the groups present in it.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import torch
from torch.nn.functional import one_hot

from lib.checks import number
from lib.training.objectives import cross_entropies
from lib.training.tensors import tensor


class _Risks(NamedTuple):
    """Risks, their slopes in a factor of the logits, and which groups are there; all (seeds, groups)."""

    values: torch.Tensor
    slopes: torch.Tensor
    present: torch.Tensor

    def mean(self, each: torch.Tensor) -> torch.Tensor:
        """Return the mean over the groups that are present, shape (seeds,)."""
        return (each * self.present).sum(dim=-1) / self.present.sum(dim=-1)


@dataclass(frozen=True, eq=False)
class Grouped:
    """The mean risk over groups: cross-entropy in which each group counts the same.

    ``groups`` holds the group of each example, from 0 on, shape (n,) or (seeds, n); ``weights``, of the same
    shape, are zero or more and say how much an example counts within its group, all the same if left out.
    Called with logits (seeds, n) and labels, +1 and -1, that broadcast to them, it returns shape (seeds,).
    ``state`` is what the methods ``start`` and ``advance`` return; ``index`` (seeds, b) says which examples
    the logits belong to, if not all.  Raises ``ValueError`` for groups that are not whole numbers from 0 on,
    groups without examples or weight, negative weights, and logits of other shapes.

    Example: three examples of one group and one of the other.

    >>> logits, labels = torch.tensor([[0.0, 0.0, 0.0, 3.0]]), torch.tensor([1.0, 1.0, 1.0, -1.0])
    >>> Grouped(torch.tensor([0, 0, 0, 1]))(logits, labels)
    tensor([1.8709])
    """

    groups: torch.Tensor
    weights: torch.Tensor | None = field(default=None, kw_only=True)
    _member: torch.Tensor = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_member", _membership(self.groups, self.weights))

    def __call__(
        self,
        logits: torch.Tensor,
        labels: torch.Tensor,
        state: torch.Tensor | None = None,
        index: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """Return one number a seed, shape (seeds,)."""
        return self._combine(self._risks(logits, labels, index), state)

    def to(self, like: torch.Tensor) -> Any:
        """Return the same objective on the device and with the number type of ``like``."""
        moved = copy(self)
        object.__setattr__(moved, "_member", self._member.to(like))
        return moved

    def start(self, logits: torch.Tensor) -> torch.Tensor | None:
        """Return the state before the first step, or None where there is none."""
        return None

    def advance(
        self,
        state: torch.Tensor | None,
        logits: torch.Tensor,
        labels: torch.Tensor,
        index: torch.Tensor | None = None,
    ) -> torch.Tensor | None:
        """Return the state that a step at these logits uses."""
        return state

    def _combine(self, risks: _Risks, state: torch.Tensor | None) -> torch.Tensor:
        return risks.mean(risks.values)

    def _risks(self, logits: torch.Tensor, labels: torch.Tensor, index: torch.Tensor | None) -> _Risks:
        seeds, _, n = self._member.shape
        n = n if index is None else index.shape[-1]
        tensor("logits", logits, ("seeds" if seeds == 1 else seeds, n), finite=False)
        entropies = cross_entropies(logits, labels)
        member = self._member.to(logits)
        if index is not None:
            member = member.expand(len(index), -1, -1).take_along_dim(index.unsqueeze(-2), dim=-1)
        total = member.sum(dim=-1, keepdim=True)
        share = member / total.where(total > 0, 1)
        below = -labels.to(logits.dtype) * logits
        parts = (entropies, below * torch.sigmoid(below))
        values, slopes = ((share @ each.unsqueeze(-1)).squeeze(-1) for each in parts)
        return _Risks(values, slopes, (total > 0).squeeze(-1).to(logits))


@dataclass(frozen=True, eq=False)
class Irm(Grouped):
    """Invariant risk minimisation, version 1: mean over environments of risk plus penalty.

    The penalty of an environment is ``strength`` times the squared derivative of its risk ``R(s f)`` in a
    factor ``s`` of the logits at 1, that is ``mean(-y f / (1 + exp(y f)))^2``.  All is multiplied by
    ``scale``: the published code of IRM divides by the strength when that is above 1.  Its weight penalty
    ``c ||p||^2`` is an optimiser's weight decay ``2 c`` (and ``2 c scale`` where it is divided too).
    ``groups`` and ``weights`` are those of :class:`lib.training.environments.Grouped`.  Raises ``ValueError`` for a
    negative strength and a scale that is not positive.

    Example: the factor of a classifier without errors wants to grow in both environments.

    >>> logits, labels = torch.tensor([[1.0, 2.0]]), torch.tensor([1.0, 1.0])
    >>> Irm(torch.tensor([0, 1]), 10.0)(logits, labels) - Irm(torch.tensor([0, 1]), 0.0)(logits, labels)
    tensor([0.6458])
    """

    strength: float
    scale: float = field(default=1.0, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        number("strength", self.strength, 0, ends="[)")
        number("scale", self.scale, 0)

    def _combine(self, risks: _Risks, state: torch.Tensor | None) -> torch.Tensor:
        return self.scale * risks.mean(risks.values + self.strength * risks.slopes.square())


@dataclass(frozen=True, eq=False)
class VRex(Grouped):
    """Risk extrapolation: the mean risk over environments plus ``strength`` times the variance of the risks.

    The variance divides by the number of environments: for two of them it is ``(R_0 - R_1)^2/4``.  All is
    multiplied by ``scale``.  ``groups`` and ``weights`` are those of :class:`lib.training.environments.Grouped`.
    Raises ``ValueError`` for a negative strength and a scale that is not positive.

    Example:

    >>> logits, labels = torch.tensor([[1.0, 2.0]]), torch.tensor([1.0, 1.0])
    >>> VRex(torch.tensor([0, 1]), 100.0)(logits, labels) - VRex(torch.tensor([0, 1]), 0.0)(logits, labels)
    tensor([0.8680])
    """

    strength: float
    scale: float = field(default=1.0, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        number("strength", self.strength, 0, ends="[)")
        number("scale", self.scale, 0)

    def _combine(self, risks: _Risks, state: torch.Tensor | None) -> torch.Tensor:
        mean = risks.mean(risks.values)
        variance = risks.mean((risks.values - mean.unsqueeze(-1)).square())
        return self.scale * (mean + self.strength * variance)


@dataclass(frozen=True, eq=False)
class GroupDro(Grouped):
    """Distributional robustness over groups: risks weighted by ``q``, which grows where the risk is high.

    Before each step ``q`` of every group present is multiplied by ``exp(rate * risk)`` and ``q`` is
    normalised; the objective is the sum of ``q * risk``, with ``q`` held fixed.  It starts uniform.  The
    state holds ``log q`` up to a constant, shape (seeds, groups).  ``groups`` and ``weights`` are those of
    :class:`lib.training.environments.Grouped`.  Raises ``ValueError`` for a rate that is not positive.

    Example: after one step at these logits the group with an error counts most.

    >>> logits, labels = torch.tensor([[1.0, -2.0]]), torch.tensor([1.0, 1.0])
    >>> objective = GroupDro(torch.tensor([0, 1]), 1.0)
    >>> objective.advance(objective.start(logits), logits, labels).softmax(dim=-1)
    tensor([[0.1402, 0.8598]])
    """

    rate: float

    def __post_init__(self) -> None:
        super().__post_init__()
        number("rate", self.rate, 0)

    def start(self, logits: torch.Tensor) -> torch.Tensor:
        """Return the state before the first step, shape (seeds, groups)."""
        return logits.new_zeros(len(logits), self._member.shape[-2])

    def advance(
        self,
        state: torch.Tensor | None,
        logits: torch.Tensor,
        labels: torch.Tensor,
        index: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """Return the state that a step at these logits uses, shape (seeds, groups)."""
        risks = self._risks(logits, labels, index).values
        return (self.start(logits) if state is None else state) + self.rate * risks

    def _combine(self, risks: _Risks, state: torch.Tensor | None) -> torch.Tensor:
        weights = (self.start(risks.values) if state is None else state).softmax(dim=-1)
        return (weights * risks.values).sum(dim=-1)


def _membership(groups: torch.Tensor, weights: torch.Tensor | None) -> torch.Tensor:
    """Return the weight of each example in each group, shape (1 or seeds, groups, n)."""
    if not isinstance(groups, torch.Tensor) or groups.is_floating_point() or groups.is_complex():
        raise ValueError(f"groups is {groups!r}, allowed: a torch tensor of whole numbers")
    if groups.ndim not in (1, 2) or not groups.numel():
        raise ValueError(f"groups has shape {tuple(groups.shape)}, allowed: (n,) or (seeds, n)")
    least, largest, n = int(groups.min()), int(groups.max()), groups.shape[-1]
    if least < 0 or largest >= n:
        raise ValueError(
            f"groups holds {least if least < 0 else largest}, allowed: 0 to {n - 1}, none skipped"
        )
    member = one_hot(groups.long()).transpose(-1, -2).double()
    _refuse_empty("groups", member)
    if weights is not None:
        tensor("weights", weights, tuple(groups.shape))
        if (weights < 0).any():
            raise ValueError(f"weights holds {weights.min().item()}, allowed: zero or more")
        member = member * weights.double().unsqueeze(-2)
        _refuse_empty("weights", member)
    return member if member.ndim == 3 else member.unsqueeze(0)


def _refuse_empty(name: str, member: torch.Tensor) -> None:
    if (empty := (member.sum(dim=-1) == 0).nonzero()).numel():
        raise ValueError(f"{name} leaves group {int(empty[0, -1])} empty, allowed: none empty for any seed")
