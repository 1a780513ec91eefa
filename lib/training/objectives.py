"""What networks are trained for: cross-entropy with penalties, one number for each seed.

All take logits ``f`` of shape (seeds, n) and labels ``y``, +1 and -1, of a shape that broadcasts to it, and
return shape (seeds,).  Logits that are not finite give a value that is not finite for their seed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf

import torch
from torch.nn.functional import softplus

from lib.checks import choice, number
from lib.training.tensors import signed, tensor

Objective = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
"""Maps logits (seeds, n) and labels, broadcastable to them, to one number a seed."""


def cross_entropies(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Return ``log(1 + exp(-y f))`` of each example, the shape of the logits.

    Raises ``ValueError`` for labels other than +1 and -1, or that do not broadcast to the logits.

    Example:

    >>> cross_entropies(torch.tensor([[0.0, 3.0]]), torch.tensor([1.0, -1.0]))
    tensor([[0.6931, 3.0486]])
    """
    tensor("logits", logits, finite=False)
    return softplus(-signed("labels", labels, like=logits).to(logits.dtype) * logits)


def cross_entropy(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Return the mean of ``log(1 + exp(-y f))`` over the examples for each seed.

    Raises ``ValueError`` for labels other than +1 and -1, or that do not broadcast to the logits.

    Example:

    >>> cross_entropy(torch.tensor([[0.0, 0.0], [0.0, 3.0]]), torch.tensor([1.0, -1.0]))
    tensor([0.6931, 1.8709])
    """
    return cross_entropies(logits, labels).mean(dim=-1)


def spectral_decoupling(strength: float, *, reduction: str = "mean") -> Objective:
    """Return cross-entropy plus ``strength/2 f^2``, the mean or the sum over examples [pezeshki2021, Eq. 25].

    The paper's theory has the sum, its code the mean: there ``coefficient * mean(f^2)`` is twice the
    coefficient as ``strength``.  Raises ``ValueError`` for a negative strength, or another reduction than
    ``"mean"`` and ``"sum"``.

    Example:

    >>> logits, labels = torch.tensor([[1.0, 3.0]]), torch.tensor([1.0, 1.0])
    >>> spectral_decoupling(0.1)(logits, labels) - cross_entropy(logits, labels)
    tensor([0.2500])
    """
    number("strength", strength, 0, ends="[)")
    choice("reduction", reduction, ("mean", "sum"))

    def objective(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        each = cross_entropies(logits, labels) + strength / 2 * logits.square()
        return each.mean(dim=-1) if reduction == "mean" else each.sum(dim=-1)

    return objective


def spectral_decoupling_as_coded(coefficient: float) -> Objective:
    """Return ``coefficient`` times the sum of cross-entropy and mean square logit.

    This is what the authors' code for the coloured digits minimises from its annealing step on, with the
    coefficient 2e-5: relative to the cross-entropy the strength is 2, not 4e-5 [pezeshki2021, Table 3].
    Before that step the code minimises ``spectral_decoupling(2 * coefficient)``.  Raises ``ValueError`` for a
    coefficient that is not positive.

    Example:

    >>> logits, labels = torch.tensor([[1.0, 3.0]]), torch.tensor([1.0, 1.0])
    >>> spectral_decoupling_as_coded(0.01)(logits, labels) / spectral_decoupling(2)(logits, labels)
    tensor([0.0100])
    """
    number("coefficient", coefficient, 0)
    decoupled = spectral_decoupling(2.0)
    return lambda logits, labels: coefficient * decoupled(logits, labels)


def targeted_decoupling(strengths: Sequence[float], targets: Sequence[float]) -> Objective:
    """Return cross-entropy plus the mean of ``strength/2 (f - target)^2`` [pezeshki2021, Eq. 28].

    ``strengths`` and ``targets`` are pairs: first that of the class -1, then that of +1; targets are logits,
    of either sign.  The paper's own are (0.088, 0.012) and (0.44, 2.5).  Raises ``ValueError`` for negative
    strengths, and for anything but pairs of finite numbers.

    Example:

    >>> logits, labels = torch.tensor([[0.5, 3.0]]), torch.tensor([-1.0, 1.0])
    >>> targeted_decoupling((2, 4), (-1, 2))(logits, labels) - cross_entropy(logits, labels)
    tensor([2.1250])
    """
    strength = _pair("strengths", strengths, 0, "[)")
    target = _pair("targets", targets)

    def objective(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        entropies = cross_entropies(logits, labels)
        distance = (logits - _of_class(target, labels, logits)).square()
        return (entropies + _of_class(strength, labels, logits) / 2 * distance).mean(dim=-1)

    return objective


def targeted_decoupling_as_coded(coefficient: float, targets: Sequence[float] = (0.44, 2.5)) -> Objective:
    """Return cross-entropy plus ``coefficient`` times the class means of ``(f - target)^2``, added up.

    This is what the authors' code for the portraits minimises [pezeshki2021, Table 2]: one coefficient for
    both classes, no half, and each class counts the same however rare it is.  ``targets`` are logits, first
    that of the class -1, then that of +1.  A class without examples adds nothing.  Raises ``ValueError`` for
    a negative coefficient, and for anything but a pair of finite targets.

    Example:

    >>> logits, labels = torch.tensor([[0.5, 1.5, 3.0]]), torch.tensor([-1.0, -1.0, 1.0])
    >>> targeted_decoupling_as_coded(1.0, (0, 2))(logits, labels) - cross_entropy(logits, labels)
    tensor([2.2500])
    """
    number("coefficient", coefficient, 0, ends="[)")
    target = _pair("targets", targets)

    def objective(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        entropy = cross_entropy(logits, labels)
        distance = (logits - _of_class(target, labels, logits)).square()
        positive = (labels > 0).to(logits).expand_as(logits)
        penalty = sum(
            (member * distance).sum(dim=-1) / member.sum(dim=-1).clamp(min=1)
            for member in (positive, 1 - positive)
        )
        return entropy + coefficient * penalty

    return objective


def _pair(name: str, values: Sequence[float], low: float = -inf, ends: str = "()") -> tuple[float, float]:
    if not isinstance(values, Sequence) or isinstance(values, str) or len(values) != 2:
        raise ValueError(f"{name} is {values!r}, allowed: a pair of numbers, of the class -1 and of +1")
    negative, positive = (number(name, value, low, ends=ends) for value in values)
    return negative, positive


def _of_class(pair: tuple[float, float], labels: torch.Tensor, logits: torch.Tensor) -> torch.Tensor:
    negative, positive = (logits.new_tensor(value) for value in pair)
    return torch.where(labels > 0, positive, negative)
