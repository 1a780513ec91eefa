"""Tangent features of a network, their singular decomposition and the responses to them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import ArrayLike
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


@dataclass(frozen=True)
class Features:
    """The decomposition ``Y Phi = U S V^T`` with the signs fixed [pezeshki2021, Definition 1].

    ``u`` is (n, r), ``strengths`` (r,) in decreasing order, ``v`` (parameters, r).
    """

    u: np.ndarray
    strengths: np.ndarray
    v: np.ndarray

    @property
    def coherences(self) -> np.ndarray:
        """How far each feature agrees with the labels: ``sum_i u_ij / sqrt(n)``, from 0 to 1; shape (r,)."""
        return self.u.sum(axis=0) / np.sqrt(self.u.shape[0])

    def responses(self, signed_outputs: ArrayLike) -> np.ndarray:
        """Return ``z = U^T q`` for signed outputs q of shape (..., n): the responses, shape (..., r)."""
        return np.asarray(signed_outputs, dtype=float) @ self.u


def decompose(signed_features: ArrayLike) -> Features:
    """Decompose ``Y Phi``, shape (n, parameters), into features of decreasing strength.

    A singular decomposition leaves the sign of each pair ``(u_j, v_j)`` open.  Here each feature votes for
    the labels on the whole: the entries of ``u_j`` sum to zero or more, and if they cancel, the largest is
    positive.  Strengths below 1e-10 times the largest are dropped.
    """
    u, strengths, v = np.linalg.svd(np.asarray(signed_features, dtype=float), full_matrices=False)
    present = strengths > 1e-10 * strengths[0]
    u, strengths, v = u[:, present], strengths[present], v[present]
    total = u.sum(axis=0)
    largest = u[np.abs(u).argmax(axis=0), np.arange(u.shape[1])]
    sign = np.where(np.abs(total) > 1e-12 * np.sqrt(len(u)), np.sign(total), np.sign(largest))
    return Features(u * sign, strengths, (v * sign[:, None]).T)
