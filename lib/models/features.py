"""Tangent features of a network."""

from __future__ import annotations

import numpy as np
import torch
from torch.func import functional_call, jacrev, vmap


def tangent_features(module: torch.nn.Module, inputs: torch.Tensor) -> np.ndarray:
    """Return the Jacobian of a scalar network in all its parameters, shape (n, parameters).

    ``module`` maps ``inputs``, a tensor of shape (n, ...), to n outputs; the parameters are flattened in the
    order of ``named_parameters``.
    """
    parameters = {name: value.detach() for name, value in module.named_parameters()}

    def output(values: dict[str, torch.Tensor], x: torch.Tensor) -> torch.Tensor:
        return functional_call(module, values, (x[None],)).reshape(())

    jacobian = vmap(jacrev(output), in_dims=(None, 0))(parameters, inputs)
    return torch.cat([block.flatten(start_dim=1) for block in jacobian.values()], dim=1).double().numpy()
