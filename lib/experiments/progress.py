"""How far a long run is: a bar with the time left on a terminal, plain lines in a file, nothing elsewhere."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TextIO

from tqdm import tqdm

from lib.checks import whole


class Progress:
    """Shows on ``stream`` how many seeds are finished and about how long the rest will take.

    Without a stream it shows nothing.  Plain lines come ``every`` so many seconds at most.

    Example:

    >>> import sys
    >>> progress = Progress(sys.stdout)
    >>> progress.begin(1)
    >>> progress.step(1, [], True, "die")  # doctest: +ELLIPSIS
    1 of 1 seeds, 0 failed, 00:00 so far...
    """

    def __init__(self, stream: TextIO | None, every: float = 5.0) -> None:
        self.stream, self.every = stream, every
        self.bar: tqdm | None = None
        self.total = self.done = self.failed = 0
        self.begun = self.shown = 0.0

    def begin(self, total: int) -> None:
        """Start with that many seeds to do."""
        self.total, self.done, self.failed = whole("total", total), 0, 0
        self.begun, self.shown = time.monotonic(), -float("inf")
        if self.stream is not None and self.stream.isatty() and total:
            self.bar = tqdm(total=total, unit="seed", file=self.stream, leave=False, dynamic_ncols=True)

    def step(self, finished: int, failures: Sequence[dict], last: bool, name: str) -> None:
        """Count seeds that finished, and those that failed in what is or is not their ``last`` try."""
        self.done += finished
        self.failed += len(failures) if last else 0
        for one in failures:
            self.say(f"{name}, seed {one['seed']}: {one['error']}")
        if self.bar is not None:
            self.bar.update(finished)
            return
        passed = time.monotonic() - self.begun
        over = self.done + self.failed >= self.total
        if self.stream is not None and self.done and (over or passed - self.shown >= self.every):
            self.shown = passed
            left = passed / self.done * (self.total - self.done - self.failed)
            about = "" if over else f", about {tqdm.format_interval(left)} left"
            so_far = tqdm.format_interval(passed)
            self.say(f"{self.done} of {self.total} seeds, {self.failed} failed, {so_far} so far{about}")

    def say(self, line: str) -> None:
        """Show one line."""
        if self.bar is not None:
            self.bar.write(line, file=self.stream)
        elif self.stream is not None:
            print(line, file=self.stream, flush=True)

    def end(self) -> None:
        """Take the bar away."""
        if self.bar is not None:
            self.bar.close()
            self.bar = None
