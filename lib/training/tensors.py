"""Arguments that are torch tensors: the checks of :mod:`lib.checks` without leaving torch."""

from __future__ import annotations

from typing import Any

import torch


def shaped(name: str, value: Any, *shapes: tuple[int | str, ...]) -> torch.Tensor:
    """Return ``value`` if it is a tensor of numbers, of any type, of one of the ``shapes``.

    Each entry of a shape is a length, or a letter for any length; a letter that comes twice in one shape
    means the same length.  Without shapes any shape will do; no axis may be empty.  Raises ``ValueError``
    with the name, the shape and the allowed ones.

    Example:

    >>> shaped("labels", torch.tensor([3, 1]), ("n",)).shape
    torch.Size([2])
    """
    if not isinstance(value, torch.Tensor):
        raise ValueError(f"{name} is {value!r}, allowed: a torch tensor")
    if not value.numel() or (shapes and not any(_fits(value.shape, shape) for shape in shapes)):
        allowed = " or ".join(_written(shape) for shape in shapes) or "no empty axis"
        raise ValueError(f"{name} has shape {tuple(value.shape)}, allowed: {allowed}")
    return value


def tensor(
    name: str,
    value: Any,
    *shapes: tuple[int | str, ...],
    finite: bool = True,
    dtype: torch.dtype | None = None,
) -> torch.Tensor:
    """Return ``value`` if it is a tensor of finite real floats, shaped as in :func:`lib.training.tensors.shaped`.

    ``finite=False`` lets infinities and NaN through, ``dtype`` asks for one type.  Raises ``ValueError`` with
    the name, what is wrong and what is allowed.

    Example:

    >>> tensor("inputs", torch.zeros(3, 2), ("n", 2), ("seeds", "n", 2)).shape
    torch.Size([3, 2])
    >>> tensor("inputs", torch.zeros(3), ("n", 2), ("seeds", "n", 2))
    Traceback (most recent call last):
    ...
    ValueError: inputs has shape (3,), allowed: (n, 2) or (seeds, n, 2)
    """
    shaped(name, value, *shapes)
    if not value.is_floating_point() or dtype not in (None, value.dtype):
        raise ValueError(f"{name} holds {value.dtype}, allowed: {dtype or 'real floats'}")
    if finite and not value.is_meta and not (good := torch.isfinite(value)).all():
        raise ValueError(f"{name} holds {value[~good][0].item()}, allowed: finite numbers")
    return value


def signed(name: str, value: Any, like: torch.Tensor) -> torch.Tensor:
    """Return ``value`` if it is a tensor of signs +1 and -1 that broadcasts to the shape of ``like``.

    Raises ``ValueError`` with the name and the shape or the first entry that is neither.

    Example:

    >>> signed("labels", torch.tensor([1.0, -1.0]), like=torch.zeros(5, 2))
    tensor([ 1., -1.])
    """
    if not isinstance(value, torch.Tensor):
        raise ValueError(f"{name} is {value!r}, allowed: a torch tensor")
    lengths = zip(reversed(value.shape), reversed(like.shape), strict=False)
    if value.ndim > like.ndim or any(mine not in (1, theirs) for mine, theirs in lengths):
        raise ValueError(
            f"{name} has shape {tuple(value.shape)}, allowed: one that broadcasts to {tuple(like.shape)}"
        )
    if not value.is_meta and (other := value.abs() != 1).any():
        raise ValueError(f"{name} holds {value[other][0].item()}, allowed: +1 and -1")
    return value


def usable_device(name: str, value: Any) -> torch.device:
    """Return ``value`` as a device of torch that works here.

    Raises ``ValueError`` with the name and what torch says, for instance if there is no CUDA.

    Example:

    >>> usable_device("device", "cpu")
    device(type='cpu')
    """
    try:
        device = torch.device(value)
        torch.empty(1, device=device)
    except (AssertionError, NotImplementedError, RuntimeError, TypeError) as error:
        reason = str(error).splitlines()[0]
        raise ValueError(
            f"{name} is {value!r}, allowed: a device of torch that works here; {reason}"
        ) from None
    return device


def _fits(lengths: torch.Size, shape: tuple[int | str, ...]) -> bool:
    known: dict[str, int] = {}
    return len(lengths) == len(shape) and all(
        length == (known.setdefault(wanted, length) if isinstance(wanted, str) else wanted)
        for wanted, length in zip(shape, lengths, strict=True)
    )


def _written(shape: tuple[int | str, ...]) -> str:
    return "(" + ", ".join(str(length) for length in shape) + "," * (len(shape) == 1) + ")"
