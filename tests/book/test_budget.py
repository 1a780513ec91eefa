"""Chapters that take too long fail, whatever else the machine does."""

import subprocess
import sys

import pytest

from tests.book.test_book import BOOK
from tests.budget import LONGER, SECONDS, check_seconds, processor_seconds

BUSY = "import time\nwhile time.process_time() < 1: pass"
CHILD = f"import subprocess, sys; command = [sys.executable, '-c', {BUSY!r} + '\\ninput()']"

UNTIL_BUSY = (
    "import psutil, time\nwhile sum(psutil.Process(child.pid).cpu_times()[:2]) < 0.95: time.sleep(0.05)"
)


@pytest.mark.parametrize(
    ("program", "low", "high"),
    [
        (BUSY, 0.9, 1.9),
        ("import time; time.sleep(1)", 0.0, 0.9),
        (f"{CHILD}; subprocess.run(command, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)", 0.9, 1.9),
        (f"{CHILD}; child = subprocess.Popen(command, stdin=subprocess.PIPE)\n{UNTIL_BUSY}", 0.9, 1.9),
    ],
    ids=["busy", "asleep", "child that has ended", "child that still runs"],
)
def test_the_time_is_that_of_the_processor_and_counts_children(program, low, high):
    with subprocess.Popen(
        [sys.executable, "-c", f"{program}\nprint('done', flush=True)\ninput()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout.readline() == "done\n"
        assert low <= processor_seconds(process.pid) <= high
        process.kill()


@pytest.mark.parametrize("page", ["early_alignment/another", *LONGER])
def test_a_chapter_may_take_half_more_than_its_time_and_no_more(page):
    allowed = LONGER.get(page, 1.5 * 20)
    check_seconds(page, 0.99 * allowed)
    with pytest.raises(pytest.fail.Exception, match=rf"{page} took .* allowed: {allowed:g} s"):
        check_seconds(page, 1.01 * allowed)


def test_every_longer_page_is_there_and_needs_more():
    assert all((BOOK / f"{page}.md").exists() and bound > SECONDS for page, bound in LONGER.items())
