"""Lets nbval collect the chapters as they stand, in MyST Markdown, and compare them with recorded text.

A cell tagged ``nbval-check-output`` is compared with its entry in ``tests/recorded``; these are written by
``pytest --record book``.  Figures and other rich output are never compared; text is, and so are the numbers
behind a verdict (``tests/moved.py``).  With another ``BOOK_SEED`` the numbers are others, and only the line
of a verdict is compared that says what was decided.
"""

from __future__ import annotations

import json
import signal
from functools import partial
from pathlib import Path
from unittest.mock import patch

import jupytext
import nbformat
import nbval.plugin
import pytest
from hypothesis import settings

from lib.claims.verify import MIME
from lib.seeds import shift
from tests.budget import TimeBudget
from tests.moved import moved, values

ROOT = Path(__file__).parent
RECORDED = ROOT / "tests" / "recorded"
CHECK_TAG = "nbval-check-output"
RECORDS: dict[str, dict[str, list]] = {}

# The same examples in every run, and none fails because the machine is busy.
settings.register_profile("book", derandomize=True, deadline=None)
settings.load_profile("book")
NOT_COMPARED = (
    "text/html",
    "text/latex",
    "image/svg+xml",
    MIME,
    "application/papermill.record/text/plain",
)


# A shell lets what it runs in the background ignore Ctrl-C; the tests of interrupts need it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--record", action="store_true", help="record the chapters' text instead of comparing it"
    )


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("record") and shift():
        raise pytest.UsageError("with a BOOK_SEED other than 0 nothing is recorded")


def recorded_path(chapter: Path) -> Path:
    return RECORDED / chapter.relative_to(ROOT / "book").with_suffix(".json")


def is_checked(cell: dict) -> bool:
    return CHECK_TAG in cell.metadata.get("tags", [])


def verdicts(outputs: list) -> list[dict]:
    """The verdicts, or what is recorded of them, in a cell's outputs: one, or a table of several."""
    found = [output["data"][MIME] for output in outputs if MIME in output.get("data", {})]
    return [one for part in found for one in (part if isinstance(part, list) else [part])]


def decided_only(outputs: list) -> list:
    """The outputs, of verdicts only the lines that name claim and verdict, without any number."""
    kept = []
    for output in outputs:
        output = nbformat.from_dict(output)
        if MIME in output.get("data", {}):
            lines = output.data["text/plain"].splitlines()
            output.data["text/plain"] = "\n".join(line for line in lines if not line.startswith(" "))
        kept.append(output)
    return kept


def compare_outputs(item: nbval.plugin.IPyNbCell, test: list, ref: list) -> bool:
    """Compare the text of a cell as nbval does, and what its claims measured."""
    if shift():
        return nbval.plugin.IPyNbCell.compare_outputs(item, decided_only(test), decided_only(ref))
    if not nbval.plugin.IPyNbCell.compare_outputs(item, test, ref):
        return False
    before, now = verdicts(ref), [values(record) for record in verdicts(test)]
    if [one["claim"] for one in before] != [one["claim"] for one in now]:
        found = ["what its claims measured is not recorded; run: make record"]
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
        notebook = jupytext.read(self.path)
        path = recorded_path(self.path)
        recorded = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        for cell in notebook.cells:
            if cell.cell_type == "code" and is_checked(cell) and cell.source in recorded:
                cell.outputs = [nbformat.from_dict(output) for output in recorded[cell.source]]
                cell.execution_count = 1
        with patch.object(nbval.plugin.nbformat, "read", return_value=notebook):
            items = list(super().collect())
        for item in items:
            item.compare_outputs = partial(compare_outputs, item)
            item.recording = self.config.getoption("record")
            if item.recording:
                item.options["check"] = False
        page = self.path.relative_to(ROOT / "book").with_suffix("").as_posix()
        return [*items, TimeBudget.from_parent(self, page=page)]


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> Chapter | None:
    if file_path.suffix == ".md" and "format_name: myst" in file_path.read_text(encoding="utf-8")[:400]:
        return Chapter.from_parent(parent, path=file_path)
    return None


def pytest_runtest_setup(item: pytest.Item) -> None:
    if (
        isinstance(item, nbval.plugin.IPyNbCell)
        and is_checked(item.cell)
        and not item.recording
        and not item.cell.outputs
    ):
        pytest.fail("this cell's text is compared, but none is recorded; run: make record", pytrace=False)


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


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Collect, in the main process, what each chapter's cells printed."""
    for chapter, source, outputs in getattr(report, "recorded_cells", []):
        RECORDS.setdefault(chapter, {})[source] = outputs


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo):
    outcome = yield
    report = outcome.get_result()
    recording = isinstance(item, nbval.plugin.IPyNbCell) and item.recording and is_checked(item.cell)
    if recording and call.when == "call" and report.passed:
        report.recorded_cells = [(str(item.parent.path), item.cell.source, compared(item.test_outputs))]


def pytest_sessionfinish(session: pytest.Session) -> None:
    if not session.config.getoption("record") or hasattr(session.config, "workerinput"):
        return
    for chapter, cells in RECORDS.items():
        path = recorded_path(Path(chapter))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(cells, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
