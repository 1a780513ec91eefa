"""Lets pytest tell which claims its tests decide; in a book it brings ``run.plugin``, which runs chapters.

It is loaded in every run of an environment, so it imports nothing that is not asked for.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from executable_claims.claims.verdict import Verdict

DECIDED = "decided"  # the property of a test that says which claims it decides, and how sharply
HEAD = ["verdict", "resolution", "control, in tolerances", "claim"]


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("executable claims")
    group.addoption("--claims", action="store_true", help="list the claims that the tests decide")
    group.addoption("--record", action="store_true", help="record what a book's chapters say")


def pytest_configure(config: pytest.Config) -> None:
    from executable_claims.claims.configuration import NoBook, find_book

    try:
        find_book(config.rootpath)
    except NoBook:
        return
    except ValueError as error:
        raise pytest.UsageError(str(error)) from None
    try:
        chapters = import_module("executable_claims.run.plugin")
    except ImportError as error:
        raise pytest.UsageError(f"{error}; a book asks for: pip install 'executable-claims[book]'") from None
    config.pluginmanager.register(chapters)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Note what a test decides; a cell of a chapter does it in a process of its own, and shows it."""
    if not item.config.getoption("claims"):
        return (yield)
    from executable_claims.claims.verify import LISTENERS

    records: list[dict[str, Any]] = []

    def listener(verdict: Verdict) -> None:
        records.append(verdict.record())

    LISTENERS.append(listener)
    try:
        return (yield)
    finally:
        LISTENERS.remove(listener)
        records += shown_by(item)
        item.user_properties.append((DECIDED, [row for record in records for row in rows_of(record)]))


def shown_by(item: pytest.Item) -> list[dict[str, Any]]:
    """The records of the verdicts that a cell shows; of other tests none."""
    if not (outputs := getattr(item, "test_outputs", None)):
        return []
    return import_module("executable_claims.run.chapters").verdicts(outputs)


def rows_of(record: dict[str, Any]) -> Iterator[list[str]]:
    """Yield what the table says of a verdict, a row a clause."""
    for part in (record, *record["others"]):
        control = part["control"]
        distance = control["distance"]
        away = "exact" if distance is None else f"{float(f'{distance:.2g}'):g}"
        away += "" if control["believable"] else ", not believable"
        clause = f": {part['clause']}" if part["clause"] else ""
        yield [record["verdict"], part["notices"], away, f"{record['claim']['id']}{clause}"]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Write the claims that the tests have decided."""
    reports = [report for some in terminalreporter.stats.values() for report in some]
    calls = [report for report in reports if getattr(report, "when", "") == "call"]
    properties = [pair for report in calls for pair in report.user_properties]
    if not (rows := [row for name, decided in properties if name == DECIDED for row in decided]):
        return
    terminalreporter.section("claims")
    widths = [max(map(len, column)) for column in zip(HEAD, *rows, strict=True)]
    for row in [HEAD, *rows]:
        terminalreporter.line("  ".join(map(str.ljust, row, widths)).rstrip())
