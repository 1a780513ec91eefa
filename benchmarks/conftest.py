"""One thread for everything that is measured, and a small file of results that names no machine."""

from __future__ import annotations

import os
import platform
from datetime import UTC, datetime
from importlib import metadata

import pytest
import torch
from threadpoolctl import threadpool_limits

VERSIONS = ("numpy", "scipy", "torch", "pytest-benchmark")


def pytest_configure() -> None:
    torch.set_num_threads(1)
    threadpool_limits(1)


@pytest.hookimpl(optionalhook=True)
def pytest_benchmark_update_json(config: pytest.Config, benchmarks: list, output_json: dict) -> None:
    """Keep what the book shows; raw timings, host names and paths stay out of the file."""
    machine, commit = output_json["machine_info"], output_json["commit_info"]
    results = {
        entry["name"].removeprefix("test_"): entry["extra_info"] for entry in output_json["benchmarks"]
    }
    content = {
        "about": {
            "date": datetime.now(UTC).strftime("%Y-%m-%d"),
            "commit": str(commit.get("id"))[:12],
            "uncommitted_changes": bool(commit.get("dirty")),
            "processor": machine.get("cpu", {}).get("brand_raw") or platform.processor() or "unknown",
            "machine": platform.machine(),
            "cores": os.cpu_count(),
            "threads": 1,
            "system": platform.system(),
            "python": platform.python_version(),
            "versions": {name: metadata.version(name) for name in VERSIONS},
        },
        **results.pop("growth", {}),
        **results.pop("solvers", {}),
        "comparisons": list(results.values()),
    }
    output_json.clear()
    output_json.update(content)
