"""Generators of random numbers of torch, one a seed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from lib.checks import whole


def seed_generators(seed: int, count: int) -> list[torch.Generator]:
    """Return ``count`` independent generators, those of seeds ``seed``, ``seed + 1`` and so on.

    Raises ``ValueError`` for a negative seed, a count below 1, and seeds from ``2**63`` on.

    Example: the second of seed 4 is the first of seed 5.

    >>> torch.rand(1, generator=seed_generators(4, 2)[1]) == torch.rand(1, generator=seed_generators(5, 1)[0])
    tensor([True])
    """
    seed, count = whole("seed", seed), whole("count", count, 1)
    if seed + count > 2**63:
        raise ValueError(f"seed is {seed}, allowed: below 2**63 - count")
    return [torch.Generator().manual_seed(seed + k) for k in range(count)]


def checked_generators(generators: Any) -> list[torch.Generator]:
    """Return ``generators`` as a list if they are generators on the CPU, one or more.

    Raises ``ValueError`` with what they are instead.

    Example:

    >>> len(checked_generators(seed_generators(0, 3)))
    3
    """
    if not isinstance(generators, Sequence) or not generators:
        raise ValueError(f"generators is {generators!r}, allowed: one torch.Generator a seed")
    for each in generators:
        if not isinstance(each, torch.Generator) or each.device.type != "cpu":
            raise ValueError(f"generators holds {each!r}, allowed: torch.Generator on the CPU")
    return list(generators)
