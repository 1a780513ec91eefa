"""The processor of this process: the kernels that libraries choose for it, and how slow it is at present.

Kernels, loops for another generation of processors, add in another order, so that the last digits are others.
"""

from __future__ import annotations

import sys
import time

import numpy as np

try:
    from threadpoolctl import threadpool_info
except ImportError:  # of NumPy alone it is known what it uses

    def threadpool_info() -> list[dict]:
        return []


UNIT = 0.01  # seconds


def features() -> list[str]:
    """What this processor has and NumPy's loops use beyond their baseline, in NumPy's names."""
    return list(np.show_config(mode="dicts").get("SIMD Extensions", {}).get("found", []))


def kernels() -> dict[str, str]:
    """Return by library what its loops are written for, of those libraries that are loaded and say so."""
    pools = {pool["architecture"] for pool in threadpool_info() if pool["internal_api"] == "openblas"}
    known = {"numpy": " ".join(features()) or "baseline", "openblas": " ".join(sorted(pools))}
    if torch := sys.modules.get("torch"):
        known["torch"] = torch.backends.cpu.get_cpu_capability()
    return {library: name for library, name in known.items() if name}


def slowness() -> float:
    """Return how much processor time a fixed computation takes now, in units of that on an idle core.

    Other work on the machine takes from a process not only its turns, but caches and memory too.
    """
    times = []
    for _ in range(5):
        begun = time.process_time()
        _compute()
        times.append(time.process_time() - begun)
    return float(np.median(times)) / UNIT


def _compute() -> None:
    matrix, vector, total = np.sin(np.arange(10_000.0)).reshape(100, 100), np.ones(100), 0.0
    for step in range(3000):
        vector = np.tanh(matrix @ vector)
        total += vector[step % 100] * sum(range(step % 100))
