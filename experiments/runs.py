"""The run of one seed, and with what it was computed, without the name of a machine or a folder."""

import json
import os
import platform
import re
import resource
import subprocess
import sys
import time
import traceback
from importlib import metadata
from pathlib import Path
from typing import Any

from experiments.registry import ROOT, Experiment

PACKAGES = ("numpy", "scipy", "torch", "scikit-learn", "joblib")  # numbers can depend on these


def run_seed(experiment: Experiment, variant: str, seed: int, device: str) -> dict[str, Any]:
    """Return the ``metrics`` of a ``seed``, or the ``traceback`` of its failure.

    With the metrics come the ``machine``, the ``seconds``, and the ``memory`` (MiB) of this process.
    """
    start = time.perf_counter()
    try:
        metrics = experiment.metrics_of(experiment.config(variant), seed, device)
        json.dumps(metrics, allow_nan=False)
    except Exception:
        return {"seed": seed, "traceback": traceback.format_exc()}
    unit = 2**20 if sys.platform == "darwin" else 2**10
    memory = round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit, 1)
    spent = {"seconds": time.perf_counter() - start, "memory": memory}
    return {"seed": seed, "metrics": metrics, "machine": _machine(device), **spent}


def commit() -> str:
    """Return the commit of the book's repository, with ``+`` if it is changed; nothing outside of one."""
    git = "git describe --always --exclude='*' --dirty=+"
    return subprocess.run(git, shell=True, cwd=ROOT, capture_output=True, text=True).stdout.strip()


def _machine(device: str) -> dict[str, dict]:
    """The hardware of this machine, and the versions of Python and of packages."""
    about = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    name = re.search(r"model name\s*: (.*)", about)
    hardware = {
        "system": f"{platform.system()} {platform.machine()}",
        "processor": name[1] if name else platform.processor(),
        "cores": os.cpu_count(),
    }
    if device == "cuda":
        # The experiment has computed with torch; a page that shows its record need not load it.
        hardware["graphics"] = sys.modules["torch"].cuda.get_device_name()
    versions = {"python": platform.python_version()} | {name: metadata.version(name) for name in PACKAGES}
    return {"hardware": hardware, "versions": versions}
