"""Lets pytest run the chapters as they stand, in MyST Markdown, and compare them with recorded text.

A cell tagged ``nbval-check-output`` is compared with what is recorded of it; ``pytest --record`` writes that.
Figures and other rich output are never compared; text is, and so are the numbers behind a verdict (see
``drift``).  With shifted seeds the numbers are others, and only the line of a verdict is compared that says
what was decided.  After the cells of a page stands a test of the processor time of its kernel: seconds of the
processor do not depend on what else the machine does.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from copy import deepcopy
from functools import partial
from pathlib import Path
from unittest.mock import patch

import jupytext
import nbformat
import nbval.plugin
import psutil
import pytest

from executable_claims.chapters import CHECK_TAG, is_executed, mistakes, verdicts
from executable_claims.configuration import Book, NoBook, find_book
from executable_claims.drift import moved, values
from executable_claims.ledger import read_ledger
from executable_claims.verify import MIME

BOOK = pytest.StashKey[Book]()
NOT_COMPARED = (
    "stderr",
    "text/html",
    "text/latex",
    "image/svg+xml",
    MIME,
    "application/papermill.record/text/plain",
)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--record", action="store_true", help="record the chapters' text instead of comparing it"
    )


def pytest_configure(config: pytest.Config) -> None:
    try:
        book = find_book(config.rootpath)
        shifted = book.shift
        read_ledger(book.folder("ledger"))
    except NoBook:
        return  # the plugin does nothing
    except ValueError as error:
        raise pytest.UsageError(str(error)) from None
    if config.getoption("record") and shifted:
        raise pytest.UsageError(f"with a {book.seed} other than 0 nothing is recorded")
    config.stash[BOOK] = book
    os.environ["PYTHONPATH"] = book.python_path
    if config.getoption("dist", "no") != "no":
        config.option.dist = "loadfile"  # the cells of a page share a kernel


def recorded_path(book: Book, chapter: Path) -> Path:
    return book.folder("recorded") / chapter.relative_to(book.folder("pages")).with_suffix(".json")


def is_checked(cell: dict) -> bool:
    return CHECK_TAG in cell.metadata.get("tags", [])


def decided_only(outputs: Sequence[dict]) -> list[dict]:
    """The outputs, of verdicts only the lines that name claim and verdict, without any number."""
    kept = deepcopy(outputs)
    for data in (output["data"] for output in kept if verdicts([output])):
        lines = data["text/plain"].splitlines()
        data["text/plain"] = "\n".join(line for line in lines if not line.startswith(" "))
    return kept


def compare_outputs(item: nbval.plugin.IPyNbCell, test: list, ref: list) -> bool:
    """Compare the text of a cell as nbval does, and what its claims measured."""
    if not ref:
        item.comparison_traceback = ["its text is compared, but none is recorded; run: pytest --record"]
        return False
    if item.config.stash[BOOK].shift:
        return nbval.plugin.IPyNbCell.compare_outputs(item, decided_only(test), decided_only(ref))
    if not nbval.plugin.IPyNbCell.compare_outputs(item, test, ref):
        return False
    before, now = verdicts(ref), [values(record) for record in verdicts(test)]
    if [one["claim"] for one in before] != [one["claim"] for one in now]:
        found = ["what its claims measured is not recorded; run: pytest --record"]
    else:
        found = [text for old, new in zip(before, now, strict=True) for text in moved(old, new)]
    item.comparison_traceback += found
    return not found


class Chapter(nbval.plugin.IPyNbFile):
    """One chapter: a test for each code cell."""

    def __init__(self, *args, **kwargs) -> None:
        super().__init__(*args, **kwargs)
        self.skip_compare += NOT_COMPARED

    def collect(self) -> list:
        book = self.config.stash[BOOK]
        notebook, path = jupytext.read(self.path), recorded_path(book, self.path)
        recorded = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        for cell in filter(is_checked, notebook.cells):
            cell.outputs = [nbformat.from_dict(output) for output in recorded.get(cell.source, ())]
            cell.execution_count = 1  # nbval compares what has run
        with patch.object(nbval.plugin.nbformat, "read", return_value=notebook):
            items = list(super().collect())
        for item in items:
            item.compare_outputs = partial(compare_outputs, item)
            if self.config.getoption("record"):
                item.options["check"] = False
        return [*items, End.from_parent(self, cells=items)]


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> Chapter | None:
    book = parent.config.stash.get(BOOK, None)
    inside = book is not None and file_path.is_relative_to(book.folder("pages"))
    return Chapter.from_parent(parent, path=file_path) if inside and is_executed(file_path) else None


def pytest_collection_modifyitems(
    session: pytest.Session, config: pytest.Config, items: list[pytest.Item]
) -> None:
    """Before chapters run: read all of them, and say what is wrong with the claims that these decide."""
    pages = {item.path for item in items if isinstance(item, End)}
    if pages and (found := [text for wrong, text in mistakes(config.stash[BOOK]) if pages & wrong]):
        raise pytest.UsageError("\n".join(found))


def compared(outputs: list) -> list[dict]:
    """What is compared of a cell's outputs: their text, and what their claims measured."""
    kept = []
    for output in outputs:
        if output.output_type == "stream" and output.name == "stdout":
            kept.append({"output_type": "stream", "name": "stdout", "text": output.text})
        elif "text/plain" in output.get("data", {}):
            data = {"text/plain": output.data["text/plain"]}
            if found := verdicts([output]):
                data[MIME] = [values(record) for record in found]
            kept.append({"output_type": "display_data", "metadata": {}, "data": data})
    return kept


def record(path: Path, cells: Sequence[nbval.plugin.IPyNbCell]) -> None:
    """Write what is compared of a page's cells; fail if not all of them have run."""
    ran = all(cell.test_outputs is not None for cell in cells)
    if not ran or any(one.output_type == "error" for cell in cells for one in cell.test_outputs):
        pytest.fail("nothing is recorded of a page of which not all cells have run", pytrace=False)
    if checked := [cell for cell in cells if is_checked(cell.cell)]:
        found = {cell.cell.source: compared(cell.test_outputs) for cell in checked}
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def processor_seconds(pid: int) -> float:
    """Return the processor time, in seconds, that a process and its children have taken."""
    process = psutil.Process(pid)
    own = process.cpu_times()
    ended = own.children_user + own.children_system
    running = [child.cpu_times() for child in process.children(recursive=True)]
    return ended + sum(times.user + times.system for times in [own, *running])


def check_seconds(book: Book, page: str, seconds: float) -> None:
    """Fail if a page, named by its path in the book, took more than it may."""
    allowed = book.longer.get(page, book.seconds)
    if seconds > allowed:
        pytest.fail(f"{page} took {seconds:.1f} s of processor time, allowed: {allowed:g} s", pytrace=False)


class End(pytest.Item):
    """The test after the cells of a page: records them, and asks for the time of the kernel that ran them."""

    def __init__(self, cells: Sequence[nbval.plugin.IPyNbCell], **options) -> None:
        super().__init__(name="time", **options)
        self.cells = cells

    def runtest(self) -> None:
        book = self.config.stash[BOOK]
        if self.config.getoption("record"):
            record(recorded_path(book, self.path), self.cells)
        seconds = processor_seconds(self.parent.kernel.km.provisioner.pid)
        self.user_properties.append(("seconds", round(seconds, 1)))
        page = self.path.relative_to(book.folder("pages")).with_suffix("").as_posix()
        check_seconds(book, page, seconds)
