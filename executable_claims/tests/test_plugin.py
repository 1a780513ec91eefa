"""Chapters that take too long fail, whatever else the machine does."""

import subprocess
import sys

import pytest

from executable_claims.configuration import Book, find_book
from executable_claims.plugin import check_seconds, processor_seconds

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


@pytest.mark.parametrize("page", ["part/short", "part/long"])
def test_a_page_may_take_its_time_and_no_more(tmp_path, page):
    book = Book(tmp_path, seconds=30.0, longer={"part/long": 100.0})
    allowed = {"part/short": 30.0, "part/long": 100.0}[page]
    check_seconds(book, page, 0.99 * allowed)
    with pytest.raises(pytest.fail.Exception, match=rf"{page} took .* allowed: {allowed:g} s"):
        check_seconds(book, page, 1.01 * allowed)


def test_a_book_is_found_from_a_folder_of_it_and_its_settings_are_checked(tmp_path):
    (tmp_path / "pyproject.toml").write_text('[tool.executable-claims]\nseconds = 5\nmodules = [".", "x"]\n')
    (tmp_path / "book" / "part").mkdir(parents=True)
    book = find_book(tmp_path / "book" / "part")
    assert (book.root, book.seconds, book.modules) == (tmp_path, 5, [".", "x"])
    assert book.folder("ledger") == tmp_path / "book" / "claims"
    other = tmp_path / "other"
    other.mkdir()
    (other / "pyproject.toml").write_text("[tool.executable-claims]\ncolour = 1\n")
    with pytest.raises(ValueError, match="has colour; allowed: attacks, by_name"):
        find_book(other)
    with pytest.raises(ValueError, match="allowed: one in a book"):
        find_book(tmp_path.parent)
