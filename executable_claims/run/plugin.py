"""Lets pytest, in a book, run the chapters as they stand, and compare them with what is recorded.

What a cell tagged ``nbval-check-output`` says is compared: of a claim, which its id finds in the record, the
text of its verdict; of other cells the text that they print.  How far the numbers behind the verdicts have
moved is told at the end of the run, and a failure only if it is too far (see ``drift``).  With shifted seeds
the numbers are others, and only the line of a verdict is compared that says what was decided.  On kernels
other than those of the record the numbers in what was drawn over are not compared either.  ``pytest
--record`` writes the record.  After the cells of a page stands a test of the processor time of its kernel; it
also keeps the outcome of the page, from which the site is built without executing the page again.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator, Sequence
from difflib import ndiff
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import jupytext
import nbformat
import nbval.plugin
import psutil
import pytest

from executable_claims.claims.configuration import Book, find_book
from executable_claims.claims.ledger import read_ledger
from executable_claims.run.chapters import (
    CHECK_TAG,
    executed,
    is_executed,
    mistakes,
    undecided,
    verdicts,
)
from executable_claims.run.dependencies import key
from executable_claims.run.drift import SAID, movement, too_far
from executable_claims.run.recorded import (
    claims_of,
    printed_by,
    read_record,
    record_of,
    record_path,
    write_record,
)

BOOK = pytest.StashKey[Book]()
MOVED = "moved"  # the property of a test that says which claims have moved, by how much, on which kernels
DRAWN, NUMBER = "  drawn: ", re.compile(r"\d[\d.]*(?:e[+-]?\d+)?")
SLOWNESS = "__import__('executable_claims.claims.processor', fromlist=['slowness']).slowness()"


def pytest_configure(config: pytest.Config) -> None:
    try:
        book = find_book(config.rootpath)
        shifted = book.shift
        read_ledger(book.folder("ledger"))
    except ValueError as error:
        raise pytest.UsageError(str(error)) from None
    if config.getoption("record") and shifted:
        raise pytest.UsageError(f"with a {book.seed} other than 0 nothing is recorded")
    config.stash[BOOK] = book
    os.environ["PYTHONPATH"] = book.python_path
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    if config.getoption("dist", "no") == "load":
        config.option.dist = "loadfile"  # the cells of a page share a kernel


def is_checked(cell: nbformat.NotebookNode) -> bool:
    return CHECK_TAG in cell.metadata.get("tags", [])


def differences(known: dict[str, Any], outputs: Sequence[dict], shifted: bool) -> list[str]:
    """In words, in what the verdicts among a cell's outputs differ too much from the record of the page."""
    words = []
    kernels = {verdict["claim"]["id"]: verdict["kernels"] for verdict in verdicts(outputs)}
    for claim, now in claims_of(outputs).items():
        if (before := known["claims"].get(claim)) is None:
            words.append(f"{claim}: nothing is recorded of it; run: pytest --record")
            continue
        same = kernels[claim] == known["kernels"]
        was, says = (compared(entry["text"], shifted, same) for entry in (before, now))
        if was != says:
            changed = [line for line in ndiff(was, says) if line[0] in "+-"]
            words.append("\n".join([f"{claim}: its text is another one; was -, is +", *changed]))
        if not shifted:
            words += [f"{claim}: {text}" for text in too_far(before, now, known["kernels"], kernels[claim])]
    return words


def compared(text: list[str], shifted: bool, same: bool) -> list[str]:
    """The lines of a verdict that have to be those of its record: with other draws what was decided.

    On other kernels than those of the record the numbers that were drawn over may round to others.
    """
    lines = text[:1] if shifted else text
    return lines if same else [NUMBER.sub("#", line) if line.startswith(DRAWN) else line for line in lines]


def movements(known: dict[str, Any], outputs: Sequence[dict]) -> Iterator[list]:
    """Yield the claims of a cell that moved: by how much, how, and on which kernels, then and now."""
    kernels = {verdict["claim"]["id"]: verdict["kernels"] for verdict in verdicts(outputs)}
    for claim, now in claims_of(outputs).items():
        before = known["claims"].get(claim)
        if before and (moved := movement(before, now)).by > SAID:
            yield [claim, *moved, said(known["kernels"]), said(kernels[claim])]


def said(kernels: dict[str, str]) -> str:
    """Kernels in words."""
    return ", ".join(f"{library} {name}" for library, name in kernels.items()) or "unknown kernels"


def compare_outputs(
    item: nbval.plugin.IPyNbCell, known: dict[str, Any], printed: Iterator[str], outputs: list, _: object
) -> bool:
    """Compare what a cell says with the record of its page: of claims, or else the next text printed."""
    shifted, words = bool(item.config.stash[BOOK].shift), []
    if verdicts(outputs):
        words = differences(known, outputs, shifted)
        if not shifted:
            item.user_properties.append((MOVED, [*movements(known, outputs)]))
    elif (before := next(printed, None)) is None:
        words = ["its text is compared, but none is recorded; run: pytest --record"]
    elif before != (now := printed_by(outputs)):
        words = [f"it printed\n{before}\nand prints\n{now}"]
    item.comparison_traceback = words
    return not words


class Chapter(nbval.plugin.IPyNbFile):
    """One chapter: a test for each code cell."""

    key = ""
    begun = 0.0

    def collect(self) -> list:
        book = self.config.stash[BOOK]
        notebook, known = jupytext.read(self.path), read_record(record_path(book, self.path))
        printed = iter(known["printed"])
        for cell in filter(is_checked, notebook.cells):
            cell.execution_count = 1  # nbval compares what has run
        with patch.object(nbval.plugin.nbformat, "read", return_value=notebook):
            items = list(super().collect())
        for item in items:
            item.compare_outputs = partial(compare_outputs, item, known, printed)
            if self.config.getoption("record"):
                item.options["check"] = False
        return [*items, End.from_parent(self, cells=items)]

    def setup(self) -> None:
        self.key, self.begun = key(self.path, self.config.stash[BOOK]), time.perf_counter()
        super().setup()


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> Chapter | None:
    book = parent.config.stash.get(BOOK, None)
    inside = book is not None and file_path.is_relative_to(book.folder("pages"))
    return Chapter.from_parent(parent, path=file_path) if inside and is_executed(file_path) else None


def pytest_collection_modifyitems(
    session: pytest.Session, config: pytest.Config, items: list[pytest.Item]
) -> None:
    """Before chapters run: read all of them, and say what is wrong with the claims that these decide."""
    pages = {item.path for item in items if isinstance(item, End)}
    if not pages:
        return
    texts = [text for wrong, text in mistakes(config.stash[BOOK]) if pages & wrong]
    if pages.issuperset(executed(config.stash[BOOK])):
        texts += undecided(config.stash[BOOK])
    if texts:
        raise pytest.UsageError("\n".join(texts))


def processor_seconds(pid: int) -> float:
    """Return the processor time, in seconds, that a process and its children have taken."""
    process = psutil.Process(pid)
    own = process.cpu_times()
    ended = own.children_user + own.children_system
    running = [child.cpu_times() for child in process.children(recursive=True)]
    return ended + sum(times.user + times.system for times in [own, *running])


def check_seconds(book: Book, page: str, seconds: float, slowness: float) -> None:
    """Fail if a page, named by its path in the book, took more than it may, where a machine is that slow."""
    allowed = book.longer.get(page, book.seconds)
    if seconds > allowed * slowness:
        times = f"where a fixed computation takes {slowness:.2g} times its usual time"
        pytest.fail(
            f"{page} took {seconds:.1f} s of processor time {times}, allowed: {allowed:g} s", pytrace=False
        )


class End(pytest.Item):
    """The test after the cells of a page: records and keeps what they say, and asks for their time."""

    parent: Chapter

    def __init__(self, cells: Sequence[nbval.plugin.IPyNbCell], **options: Any) -> None:
        super().__init__(name="time", **options)
        self.cells = cells

    @property
    def complete(self) -> bool:
        """Whether all cells have run, without an error."""
        outputs = [cell.test_outputs for cell in self.cells]
        return None not in outputs and all(each.output_type != "error" for some in outputs for each in some)

    def runtest(self) -> None:
        book = self.config.stash[BOOK]
        if self.config.getoption("record"):
            self.record(book)
        self.keep(book)
        seconds = processor_seconds(self.parent.kernel.km.provisioner.pid)
        self.user_properties.append(("seconds", round(seconds, 1)))
        page = self.path.relative_to(book.folder("pages")).with_suffix("").as_posix()
        check_seconds(book, page, seconds, self.slowness())

    def record(self, book: Book) -> None:
        """Write what the checked cells say; fail if not all cells have run."""
        if not self.complete:
            pytest.fail("nothing is recorded of a page of which not all cells have run", pytrace=False)
        checked = [cell.test_outputs for cell in self.cells if is_checked(cell.cell)]
        write_record(record_path(book, self.path), record_of(checked))

    def keep(self, book: Book) -> None:
        """Keep the outcome for the site, if all cells have run and nothing they depend on was changed."""
        from executable_claims.run.cache import keep_outcome, read_page  # brings Sphinx

        seconds = time.perf_counter() - self.parent.begun
        if self.complete and key(self.path, book) == self.parent.key:
            page, client = read_page(self.path), self.parent.kernel.kc
            language = client.kernel_info(reply=True, timeout=60)["content"]["language_info"]
            page.metadata.language_info = nbformat.from_dict(language)
            executed = [cell for cell in page.cells if cell.cell_type == "code"]
            for count, (cell, run) in enumerate(zip(executed, self.cells, strict=True), 1):
                cell.execution_count = count
                cell.outputs = [output_node(output, count) for output in run.test_outputs]
            keep_outcome(book, self.path, self.parent.key, page, seconds)

    def slowness(self) -> float:
        """How slow the processor is for the kernel of the page, which has just been busy."""
        answer = self.parent.kernel.kc.execute_interactive(
            "", silent=True, user_expressions={"slowness": SLOWNESS}, timeout=60
        )
        return float(answer["content"]["user_expressions"]["slowness"]["data"]["text/plain"])


def output_node(output: dict, count: int) -> nbformat.NotebookNode:
    """What a cell shows, as a notebook that is executed from the top holds it."""
    node = nbformat.from_dict(output)
    if node.output_type == "execute_result":
        node.execution_count = count
    return node


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say which claims have moved from the record, by how much of their tolerance, on which kernels."""
    reports = [report for some in terminalreporter.stats.values() for report in some]
    calls = [report for report in reports if getattr(report, "when", "") == "call"]
    properties = [pair for report in calls for pair in report.user_properties]
    rows = sorted((row for name, moved in properties if name == MOVED for row in moved), key=lambda r: -r[1])
    if not rows:
        return
    terminalreporter.section("moved since the record, in units of the tolerance")
    for claim, by, words, then, now in rows:
        kernels = "" if then == now else f"; recorded with {then}, now {now}"
        terminalreporter.line(f"{by:8.2g}  {claim}: {words}{kernels}")
