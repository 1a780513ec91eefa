"""Ctrl-C that waits until what must not be cut in two is done."""

from __future__ import annotations

import signal
import threading
from types import FrameType, TracebackType


class Interrupts:
    """A context in which Ctrl-C waits for the end of a step.

    Between ``begin()`` and ``end()`` an interrupt is kept, and ``end()`` raises it as ``KeyboardInterrupt``;
    a second one meanwhile, and any outside of steps, is raised at once.  Outside the main thread, and where
    the program has a handler of its own, nothing is changed.

    Example: the step is done in full.

    >>> steps = 0
    >>> try:
    ...     with Interrupts() as interrupts:
    ...         interrupts.begin()
    ...         signal.raise_signal(signal.SIGINT)
    ...         steps += 1
    ...         interrupts.end()
    ... except KeyboardInterrupt:
    ...     print(f"interrupted after {steps} step")
    interrupted after 1 step
    """

    def __init__(self) -> None:
        self._stepping = self._pending = self._ours = False

    def begin(self) -> None:
        """Keep an interrupt from here on."""
        self._stepping = True

    def end(self) -> None:
        """Raise an interrupt that came since ``begin``."""
        self._stepping = False
        if self._pending:
            self._pending = False
            raise KeyboardInterrupt

    def __enter__(self) -> Interrupts:
        main = threading.current_thread() is threading.main_thread()
        if main and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            self._ours = True
            signal.signal(signal.SIGINT, self._handle)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._ours:
            self._ours = False
            signal.signal(signal.SIGINT, signal.default_int_handler)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if not self._stepping or self._pending:
            raise KeyboardInterrupt
        self._pending = True
