"""The journal of unfinished work: a file for every result as it arrives, until all go into a record.

Files are sealed (:mod:`lib.experiments.sealed`), so that a process killed at any moment leaves whole results; the next
run goes on from there.  The folder is not kept under version control.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from lib.experiments.digests import ROOT
from lib.experiments.record import Record
from lib.experiments.records import RECORDS, write_record
from lib.experiments.sealed import digest, seal, unseal

JOURNAL = ROOT / "results" / "journal"


@dataclass(frozen=True)
class Journal:
    """The results so far of the configuration that ``plan`` describes, below ``folder``.

    Raises ``ValueError`` for a plan that is no :class:`lib.experiments.record.Record`.

    Example:

    >>> Journal(Record("die", "A die", "full", {"sides": 6}, {})).finished()
    []
    """

    plan: Record
    folder: Path = JOURNAL

    def __post_init__(self) -> None:
        if not isinstance(self.plan, Record):
            raise ValueError(f"plan is {self.plan!r}, allowed: a Record")

    @property
    def place(self) -> Path:
        """The folder of this configuration and this code."""
        return Path(self.folder, self.plan.name, f"{self.plan.variant}-{self.plan.key}")

    def add(self, result: Mapping[str, Any], run: Mapping[str, Any], elapsed: float) -> None:
        """Write down what a job returned, ``elapsed`` seconds after its run began."""
        about = {name: value for name, value in result.items() if name != "failures"}
        stamp = {"run": dict(run), "elapsed": round(elapsed, 3), "finished": now()}
        if result["seeds"]:
            name = f"seeds-{min(result['seeds'])}-{digest([result['seeds'], run['id']])}.json"
            seal(self.place / name, {**about, **stamp}, replace=True)
        for seed in result["seeds"]:
            self._failure_file(seed).unlink(missing_ok=True)
        before = {one["seed"]: one["attempts"] for one in self.failures()}
        for one in result["failures"]:
            attempts = before.get(one["seed"], 0) + 1
            content = {**one, "attempts": attempts, "date": now()}
            seal(self._failure_file(one["seed"]), content, replace=True)

    def _failure_file(self, seed: int) -> Path:
        return self.place / f"failure-{seed}.json"

    def finished(self) -> list[int]:
        """The seeds whose results are here, in ascending order."""
        return sorted({seed for _, entry in self._entries("seeds-*.json") for seed in entry["seeds"]})

    def failures(self) -> list[dict]:
        """The seeds that failed when they were last tried: error, traceback, attempts and date of each."""
        return sorted((one for _, one in self._entries("failure-*.json")), key=lambda one: one["seed"])

    def damaged(self) -> dict[Path, str]:
        """The files that cannot be used, with what is wrong with them."""
        found = {}
        for path in sorted(self.place.glob("*.json")):
            try:
                unseal(path)
            except ValueError as error:
                found[path] = str(error)
            except FileNotFoundError:  # another process has just put it into a record
                continue
        return found

    def set_aside(self, paths: Iterable[Path]) -> None:
        """Rename damaged files, so that they are kept but not read again."""
        for path in paths:
            with contextlib.suppress(FileNotFoundError):  # another process was faster
                path.replace(path.with_suffix(".damaged"))

    def _entries(self, pattern: str) -> Iterator[tuple[Path, dict]]:
        for path in sorted(self.place.glob(pattern)):
            try:
                yield path, unseal(path)
            except (ValueError, FileNotFoundError):  # damaged ones are named by damaged()
                continue

    def put_on_record(self, records: Path = RECORDS) -> Record | None:
        """Put all results that are here into a record and out of the journal; ``None`` if there are none."""
        entries = list(self._entries("seeds-*.json"))
        if not entries:
            return None
        metrics: dict[int, dict] = {}
        runs: dict[str, list[dict]] = {}
        for _, entry in entries:
            new = [seed for seed in entry["seeds"] if seed not in metrics]
            metrics |= dict(zip(entry["seeds"], entry["metrics"], strict=True))
            runs.setdefault(entry["run"]["id"], []).append({**entry, "seeds": new})
        record = write_record(
            replace(
                self.plan,
                seeds=tuple(sorted(metrics)),
                metrics=tuple(metrics[seed] for seed in sorted(metrics)),
                runs=tuple(_run(parts) for parts in runs.values() if any(part["seeds"] for part in parts)),
                failures=tuple(one for one in self.failures() if one["seed"] not in metrics),
            ),
            records,
        )
        for path, _ in entries:
            path.unlink(missing_ok=True)
        return record


def _run(parts: list[dict]) -> dict[str, Any]:
    """What a record says of one run, from the parts that it computed."""
    about = {name: value for name, value in parts[0]["run"].items() if name != "id"}
    peaks = [part["peak_memory_mib"] for part in parts if part["peak_memory_mib"] is not None]
    begun = min(part["elapsed"] - part["seconds"] for part in parts)
    return {
        **about,
        "seeds": sorted(seed for part in parts for seed in part["seeds"]),
        "finished": max(part["finished"] for part in parts),
        "wall_time_s": round(max(part["elapsed"] for part in parts) - begun, 3),
        "compute_s": round(sum(part["seconds"] for part in parts), 3),
        "peak_memory_mib": max(peaks, default=None),
        "hardware": _different(part["hardware"] for part in parts),
        "versions": _different(part["versions"] for part in parts),
    }


def _different(entries: Iterable[dict]) -> list[dict]:
    return list({digest(entry): entry for entry in entries}.values())


def now() -> str:
    """Return the present time of the world, to the second, as in ``2026-11-30T12:00:00+00:00``.

    Example:

    >>> now().endswith("+00:00")
    True
    """
    return datetime.now(UTC).isoformat(timespec="seconds")
