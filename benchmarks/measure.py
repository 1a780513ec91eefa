"""A comparison of two ways to one result, and the peak memory of either in a process of its own."""

from __future__ import annotations

import importlib
import json
import resource
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, Literal, TypeVar

ROOT = Path(__file__).parents[1]
MODULES = ("two_points", "responses", "scales", "training", "alignment", "inverse", "growth")


Result = TypeVar("Result")


@dataclass(frozen=True)
class Comparison(Generic[Result]):
    """Two ways to one result.

    ``ours`` and ``plain`` do the work and return what ``error`` compares with the reference; ``error`` takes
    such a result and returns its distance from the reference, which is computed when first needed, outside
    the measured time.  ``share`` is the part of the work that ``plain`` does: its time is divided by it.
    ``sound`` is an error that counts as exact, so that two ways at rounding are not ranked.  ``goal`` says
    what was aimed at: with ``by="ratio"`` a time of the plain way over ours of at least ``needed``, with
    ``by="seconds"`` a time of ours below it.
    """

    title: str
    plain_title: str
    ours: Callable[[], Result]
    plain: Callable[[], Result]
    error: Callable[[Result], float]
    error_of: str
    goal: str
    needed: float
    by: Literal["ratio", "seconds"] = "ratio"
    share: float = 1.0
    sound: float = 0.0
    plain_rounds: int = 3


def find_comparison(name: str) -> Any:
    """Return what stands in this package as ``module.name``."""
    module, _, variable = name.partition(".")
    return getattr(importlib.import_module(f"benchmarks.{module}"), variable)


def peak_memory(work: str) -> dict[str, float]:
    """Run the work ``module.name.way`` of this package in a fresh process; return its memory in MiB.

    ``imports`` is the peak when everything is imported, ``peak`` that at the end.
    """
    command = [sys.executable, "-m", "benchmarks.measure", work]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def peak_of_this_process() -> float:
    """Return the peak resident memory of this process so far, in MiB."""
    status = Path("/proc/self/status")
    if status.exists():
        # Linux hands ru_maxrss of the parent down to a new process; the high-water mark starts afresh.
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2


def main(work: str) -> None:
    import torch

    torch.set_num_threads(1)
    for module in MODULES:
        importlib.import_module(f"benchmarks.{module}")
    name, _, way = work.rpartition(".")
    run = getattr(find_comparison(name), way)
    imports = peak_of_this_process()
    run()
    print(json.dumps({"imports": imports, "peak": peak_of_this_process()}))


if __name__ == "__main__":
    main(sys.argv[1])
