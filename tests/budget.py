"""The time that a chapter may take: a last test after its cells, of the processor time of its kernel.

Seconds of the processor, not of the clock: they do not depend on what else the machine does, or on how many
chapters run beside each other.  They count the start of the kernel and its imports.
"""

from __future__ import annotations

import psutil
import pytest

SECONDS = 30.0  # half more than the 20 s that a chapter should take
# Pages that are still longer, with bounds of their own.
LONGER = {"comparison": 100.0}


def processor_seconds(pid: int) -> float:
    """Return the processor time, in seconds, that a process and its children have taken."""
    process = psutil.Process(pid)
    own = process.cpu_times()
    ended = own.children_user + own.children_system
    running = [child.cpu_times() for child in process.children(recursive=True)]
    return ended + sum(times.user + times.system for times in [own, *running])


def check_seconds(page: str, seconds: float) -> None:
    """Fail if a page, named by its path in the book, took more than it may."""
    allowed = LONGER.get(page, SECONDS)
    if seconds > allowed:
        pytest.fail(f"{page} took {seconds:.1f} s of processor time, allowed: {allowed:g} s", pytrace=False)


class TimeBudget(pytest.Item):
    """The test that stands after the cells of a page; it asks for the time of the kernel that ran them."""

    def __init__(self, page: str, **options) -> None:
        super().__init__(name="time", **options)
        self.page = page

    def runtest(self) -> None:
        seconds = processor_seconds(self.parent.kernel.km.provisioner.pid)
        self.user_properties.append(("seconds", round(seconds, 1)))
        check_seconds(self.page, seconds)
