"""Objectives over two environments, of examples that count with both labels [pezeshki2021, Sec. 4].

Spectral decoupling beside two methods that know the environments: risk extrapolation and invariant risk
minimisation.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch.nn.functional import softplus

from lib.checks import choice

# The weight times the risk, and the strength times the mean squared logit.
PENALISED = ("cross-entropy", "decoupled", "decoupled-as-printed", "decay-alone", "grey")


def over_environments(method: str, strength: float, chances: torch.Tensor) -> Callable[..., torch.Tensor]:
    """Return what is minimised, a function of logits (seeds, n), labels that it does not use, and a weight.

    ``chances`` (2, n) are the weights with which an example counts as one with the label +1 and as one with
    -1; every second one belongs to the second environment.  By ``method``: "extrapolation" (V-REx) is the
    sum of the risks, the cross-entropies of the environments, over the weight, and their squared difference;
    "invariant" (IRM, version 1) their mean over the weight, and the mean of their squared slopes in a factor
    of the logits; those in ``PENALISED`` the weight times their mean, and ``strength`` times the mean squared
    logit.  Raises ``ValueError`` for another one.
    """
    odd = torch.arange(chances.shape[1], device=chances.device) % 2
    # Labels, networks, environments, examples.
    member = chances[:, None, None] * torch.stack([1 - odd, odd])
    share = member / member.sum((0, -1), keepdim=True)
    of_all = chances.sum(0) / chances.sum()

    def risks(f: torch.Tensor, each: Callable[[torch.Tensor], torch.Tensor] = softplus) -> torch.Tensor:
        """Cross-entropy, or the mean of another function of -y f, in each environment, (seeds, 2)."""
        return (share * each(torch.stack([-f, f])[:, :, None])).sum((0, -1))

    def penalised(f: torch.Tensor, _: torch.Tensor, weight: float) -> torch.Tensor:
        return weight * risks(f).mean(-1) + strength * (of_all * f.square()).sum(-1)

    def extrapolated(f: torch.Tensor, _: torch.Tensor, weight: float) -> torch.Tensor:
        return risks(f).sum(-1) / weight + risks(f).diff().squeeze(-1).square()

    def invariant(f: torch.Tensor, _: torch.Tensor, weight: float) -> torch.Tensor:
        slopes = risks(f, lambda below: below * torch.sigmoid(below))
        return (risks(f) / weight + slopes.square()).mean(-1)

    others = {"extrapolation": extrapolated, "invariant": invariant}
    return others.get(choice("method", method, (*PENALISED, *others)), penalised)
