"""What a result was computed with: versions, hardware and memory, without the name of a machine."""

from __future__ import annotations

import os
import platform
import re
import sys
from importlib import metadata
from pathlib import Path

from lib.checks import choice

try:
    import resource
except ImportError:  # Windows has no such module
    resource = None  # type: ignore[assignment]

PACKAGES = ("numpy", "scipy", "torch", "scikit-learn", "joblib", "dask", "ray")


def versions() -> dict[str, str]:
    """Return the versions of Python, and of those installed packages that numbers can depend on.

    Example:

    >>> set(versions()) >= {"python", "numpy", "scipy", "torch"}
    True
    """
    found = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return found


def hardware(device: str = "cpu") -> dict[str, str | int | float]:
    """Return system, processor, number of cores and memory in GiB of this machine.

    With ``device="cuda"`` also the name of the graphics processor.  Raises ``ValueError`` for any other
    device than these two, and if torch finds no graphics processor.

    Example:

    >>> sorted(hardware())
    ['cores', 'memory_gib', 'processor', 'system']
    """
    found: dict[str, str | int | float] = {
        "system": f"{platform.system()} {platform.machine()}",
        "processor": _processor(),
        "cores": os.cpu_count() or 1,
    }
    if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        found["memory_gib"] = round(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30, 1)
    if choice("device", device, ("cpu", "cuda")) == "cuda":
        import torch

        if not torch.cuda.is_available():
            raise ValueError("device is 'cuda', but torch finds no graphics processor; allowed here: 'cpu'")
        found["graphics"] = torch.cuda.get_device_name()
    return found


def _processor() -> str:
    """The processor as it calls itself, else its architecture."""
    about = Path("/proc/cpuinfo")
    lines = about.read_text(encoding="utf-8").splitlines() if about.exists() else []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor() or platform.machine())


def peak_memory() -> float | None:
    """Return the largest resident memory that this process has had, in MiB; ``None`` where none is told.

    Example:

    >>> 10 < peak_memory() < 10**6
    True
    """
    status = Path("/proc/self/status")
    if status.exists():
        # Linux hands ru_maxrss of the parent down to a new process; the high-water mark starts afresh.
        lines = status.read_text(encoding="utf-8").splitlines()
        marks = [line.split()[1] for line in lines if line.startswith("VmHWM")]
        if marks:
            return round(int(marks[0]) / 1024, 1)
    if resource is None:
        return None
    unit = 2**20 if sys.platform == "darwin" else 2**10
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit, 1)


def without_paths(text: str) -> str:
    """Return ``text``, such as a traceback, without folders of the book, Python and home, and addresses.

    Raises ``ValueError`` for anything else than text.

    Example:

    >>> without_paths(f'File "{Path(__file__)}", line 3')
    'File "lib/experiments/provenance.py", line 3'
    """
    if not isinstance(text, str):
        raise ValueError(f"text is {text!r}, allowed: text")
    book = Path(__file__).resolve().parents[2]
    site = [folder for folder in sys.path if folder.endswith("site-packages")]
    library = Path(os.__file__).resolve().parent
    for folder in (*site, str(library), str(book)):
        text = text.replace(folder.rstrip(os.sep) + os.sep, "")
    text = re.sub(r"\b(tcp|tls|ucx|ws|wss)://[\w.:\[\]-]*\w", r"\1://...", text)
    return text.replace(str(Path.home()) + os.sep, "~" + os.sep)
