"""Settings of all tests: hypothesis tries the same examples in every run, and interrupts can be tested."""

import signal

from hypothesis import settings

# The same examples in every run, and none fails because the machine is busy.
settings.register_profile("book", derandomize=True, deadline=None)
settings.load_profile("book")

# A shell lets what it runs in the background ignore Ctrl-C; the tests of interrupts need it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
