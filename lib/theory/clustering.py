"""Clustered leaky networks: where clusters make the sign linear.

The network is ``f(x) = v sum_j (phi(<w_j, x>) - phi(<u_j, x>))`` with k neurons of each type, ``phi`` the
leaky ReLU, ``slope`` in (0, 1] its slope for negative arguments.  The cluster radius is the largest distance
of a neuron from the mean of its type.
"""

from __future__ import annotations

from itertools import product

import numpy as np
from scipy.optimize import linprog

from lib.geometry.patterns import cluster_radius


def sharp_factor(slope: float, k: int) -> float:
    """Return the best factor C in: ``|<w_mean - u_mean, x>| > C r |x|`` implies that a network has that sign.

    r is the cluster radius.  With ``m = floor(k/2)`` it is ``(1 - slope) m / (m + slope (k - m))``, which for
    even k is ``(1 - slope) / (1 + slope)``.  The paper proves it with C = 2.  [sarussi2021, Theorem 5.1]
    """
    half = k // 2
    return (1 - slope) * half / (half + slope * (k - half))


def largest_flip(slope: float, k: int) -> float:
    """Return the largest ``<w_mean - u_mean, x> / (r |x|)`` at which a network is not positive, by programs.

    Only the 2k products with x matter, each within 1 of the mean of its group (``r = |x| = 1``).  For every
    number of positive products in either group the problem is linear; the answer is the largest of those
    ``(k + 1)^2`` optima.  It uses no theory, and is that of :func:`sharp_factor`.
    """
    spread = np.kron(np.eye(2), np.eye(k) - 1 / k)
    best = -np.inf
    for active_w, active_u in product(range(k + 1), repeat=2):
        on = np.concatenate([np.arange(k) < active_w, np.arange(k) < active_u])
        output = np.where(on, 1.0, slope) * np.repeat([1.0, -1.0], k)
        answer = linprog(
            -np.repeat([1.0, -1.0], k) / k,
            A_ub=np.vstack([spread, -spread, output]),
            b_ub=np.append(np.ones(4 * k), 0.0),
            bounds=[(0, None) if positive else (None, 0) for positive in on],
            method="highs",
        )
        if answer.status == 0:
            best = max(best, -answer.fun)
    return float(best)


def linear_region(w: np.ndarray, u: np.ndarray, inputs: np.ndarray, factor: float) -> np.ndarray:
    """Tell which inputs a network calls as ``<w_mean - u_mean, x>`` does, because of its clusters.

    Returns ``|<w_mean - u_mean, x_i>| >= factor r |x_i|``, booleans (n,), for neurons ``w`` and ``u`` (k, d)
    and inputs (n, d).  The statement is proved for any leaky slope with the ``factor`` 2, and for one slope
    with any factor above :func:`sharp_factor`.  [sarussi2021, Theorem 5.1]
    """
    gap = w.mean(axis=0) - u.mean(axis=0)
    return np.abs(inputs @ gap) >= factor * cluster_radius(w, u) * np.linalg.norm(inputs, axis=1)
