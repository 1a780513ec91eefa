"""Records of experiments: metrics of every seed, where they come from, and a fingerprint of the code.

``results/records/NAME/VARIANT.json`` is committed.  Seeds that have finished lie in the working folder
``results/journal``, a file each, written at once or not at all, until they are put on record.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import html
import json
import math
import operator
import os
import platform
import re
import resource
import subprocess
import sys
import time
import traceback
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from lib.experiments.comparison import differences, to_scale
from lib.experiments.registry import ROOT, Experiment, computed, find, plain

RESULTS = ROOT / "results"
RECORDS = RESULTS / "records"
PACKAGES = ("numpy", "scipy", "torch", "scikit-learn", "joblib")  # numbers can depend on these
DIGITS = 4  # of the scale of a fingerprint's numbers
SHOWN_AS = {  # on pages, what a record names otherwise
    "wall_time_s": "Time, s",
    "compute_s": "All processes together, s",
    "peak_memory_mib": "Peak memory of a process, MiB",
}


class NoRecord(LookupError):
    """There is no record of that configuration; the message says which command makes it."""


@dataclasses.dataclass(frozen=True)
class Record:
    """The results of one configuration: ``metrics`` holds a dictionary for each of ``seeds``, in their order.

    ``runs`` says with what each part was computed (seeds, command, commit, date, versions, hardware, wall
    time in seconds, peak memory of a process in MiB).  ``fingerprint`` holds the metrics of a short run with
    the same code.
    """

    name: str
    title: str
    variant: str
    config: Mapping[str, Any]
    seeds: Sequence[int]
    metrics: Sequence[dict]
    runs: Sequence[dict]
    fingerprint: Mapping[str, Any]

    @property
    def anchor(self) -> str:
        """The id of the record on a page that displays it; a link to it unfolds the provenance."""
        return f"record-{self.name}-{self.variant}"

    @property
    def size(self) -> str:
        """How many seeds it has, in words."""
        return f"{len(self.seeds)} seed{'s' * (len(self.seeds) != 1)}"

    def values(self, metric: str) -> np.ndarray:
        """The values of a metric, an array with the seeds as first axis.

        A metric inside a dictionary is named with a dot, as ``gap.accuracy``.
        """
        return np.array([functools.reduce(operator.getitem, metric.split("."), one) for one in self.metrics])

    def stale(self) -> list[str]:
        """What would no longer be as it was when this was recorded, a reason each; runs the fingerprint."""
        experiment = find(self.name)
        config = plain(experiment.config(self.variant))
        if reasons := [*differences(self.config, config)]:
            return reasons
        return [*changes(self.fingerprint, fingerprint(experiment, self.variant))][:3]

    def __str__(self) -> str:
        variant = f" ({self.variant})" * (self.variant != "full")
        dates = "".join(f", {date}" for date in sorted({run["finished"][:10] for run in self.runs}))
        stale = "; stale: the code or the configuration has changed since" * bool(self.stale())
        return f"Recorded {self.name}{variant}: {self.size}{dates}{stale}"

    def _repr_html_(self) -> str:
        file = f"results/records/{self.name}/{self.variant}.json"
        facts = [("Experiment", self.title), ("Configuration", self.config), ("Stale because", self.stale())]
        facts += [
            (SHOWN_AS.get(name, name.capitalize()), what) for run in self.runs for name, what in run.items()
        ]
        rows = "".join(
            f"<tr><th>{name}</th><td>{html.escape(_in_words(what))}</td></tr>"
            for name, what in [*facts, ("File", file)]
            if what
        )
        return (
            f'<details class="record"><summary>{html.escape(str(self))}</summary>'
            f'<table id="{self.anchor}">{rows}</table></details>'
        )


def _in_words(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {entry}" for name, entry in value.items())
    return ", ".join(map(_in_words, value)) if isinstance(value, list) else str(value)


# Fingerprints


def fingerprint(experiment: Experiment, variant: str) -> dict[str, Any]:
    """Return the metrics of a short run with today's code: ``config``, ``seed``, and ``metrics`` to scale."""
    config = experiment.fingerprint_of(experiment.config(variant))
    [metrics] = computed(experiment.run, config, (0,))
    return {"config": plain(config), "seed": 0, "metrics": to_scale(metrics, DIGITS)}


def changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[str]:
    """Yield in words where two fingerprints differ: what is set exactly, metrics by a unit of their scale.

    Repeated in double precision, the fingerprints recorded in single precision differ by no more, where the
    random draws are the same: so do sums in another order, as another processor or another version of a
    library may form them.
    """
    for part, value in before.items():
        digits = DIGITS if part == "metrics" else math.inf
        yield from differences(value, after[part], f"fingerprint.{part}", digits)


# Files


def save(path: Path, content: Mapping[str, Any]) -> None:
    """Write JSON with a line for each entry, at once or not at all, in the place of what is there.

    Raises ``ValueError`` or ``TypeError`` for what JSON cannot hold, numbers that are not finite among it.
    """
    dump = functools.partial(json.dumps, allow_nan=False, ensure_ascii=False)
    entries = []
    for name, value in content.items():
        text = dump(value)
        if isinstance(value, list) and value and isinstance(value[0], Mapping):
            text = "[\n  " + ",\n  ".join(map(dump, value)) + "\n ]"
        entries.append(f" {dump(name)}: {text}")
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(f".{os.getpid()}.partial")
    partial.write_text("{\n" + ",\n".join(entries) + "\n}\n", encoding="utf-8")
    os.replace(partial, path)


def recorded(name: str, variant: str = "full", folder: Path = RECORDS) -> Record:
    """Return the record of that variant of an experiment; a stale one says itself that it is.

    Raises :class:`NoRecord` with the command that makes one if there is none, and ``ValueError`` for an
    unknown experiment or variant.
    """
    find(name).config(variant)
    path = folder / name / f"{variant}.json"
    if not path.exists():
        raise NoRecord(
            f"there is no record of {name}, variant {variant}; to make it: {command(name, variant)}"
        )
    return Record(**json.loads(path.read_text(encoding="utf-8")))


def command(name: str, variant: str = "full") -> str:
    """Return the command that runs and records that variant of an experiment."""
    return f"python -m lib.experiments run {name}" + f" --variant {variant}" * (variant != "full")


# Seeds that have finished, and how they come on record


def journal_of(experiment: Experiment, variant: str, folder: Path) -> Path:
    """Return the folder of the finished seeds of a configuration, with today's code; runs the fingerprint."""
    about = [plain(experiment.config(variant)), fingerprint(experiment, variant)]
    key = hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()[:12]
    return folder / experiment.name / f"{variant}-{key}"


def seeds_in(journal: Path) -> dict[int, dict]:
    """Return what the journal holds of each seed: its ``metrics`` or its ``error``, and how it was run."""
    entries = [json.loads(path.read_text(encoding="utf-8")) for path in journal.glob("*.json")]
    return {entry["seed"]: entry for entry in sorted(entries, key=operator.itemgetter("seed"))}


def run_seed(
    experiment: Experiment, variant: str, seed: int, device: str, run: dict, journal: Path
) -> dict[str, Any]:
    """Run one seed, write what it gives into the journal, and return that.

    A seed that raises leaves its ``error`` and ``traceback``.  On a machine that does not have the folder
    nothing is written.
    """
    entry: dict[str, Any] = {"seed": seed, "begun": time.time()}
    try:
        [metrics] = experiment.run(experiment.config(variant), [seed], device)
        json.dumps(metrics, allow_nan=False)
        entry |= {"metrics": metrics, "run": run | _machine(device), "peak_memory_mib": _peak_memory()}
    except Exception as error:
        entry |= {"error": f"{type(error).__name__}: {error}", "traceback": traceback.format_exc()}
    entry["ended"] = time.time()
    if journal.is_dir():
        save(journal / f"{seed}.json", entry)
    return entry


def gather(experiment: Experiment, variant: str, journal: Path, folder: Path = RECORDS) -> Record:
    """Put the seeds in the journal on record, and return that; without any it is empty, and not written.

    Of a seed that is on record the values stay.  A record of other code or another configuration is replaced.
    """
    config = plain(experiment.config(variant))
    empty = Record(
        experiment.name, experiment.title, variant, config, [], [], [], fingerprint(experiment, variant)
    )
    try:
        known = recorded(experiment.name, variant, folder)
    except NoRecord:
        known = empty
    if known.stale():
        known = empty
    metrics = dict(zip(known.seeds, known.metrics, strict=True))
    entries = seeds_in(journal).items()
    new = {seed: one for seed, one in entries if "metrics" in one and seed not in metrics}
    if not new:
        return known
    metrics |= {seed: one["metrics"] for seed, one in new.items()}
    seeds = sorted(metrics)
    runs = [*known.runs, *_runs(new.values())]
    record = dataclasses.replace(known, seeds=seeds, metrics=[metrics[seed] for seed in seeds], runs=runs)
    save(folder / experiment.name / f"{variant}.json", vars(record))
    return record


def _runs(entries: Iterable[dict]) -> list[dict]:
    """What a record says of each run, machine by machine, from the seeds that it computed."""
    groups: dict[str, list[dict]] = {}
    for entry in entries:
        groups.setdefault(json.dumps(entry["run"]), []).append(entry)
    runs = []
    for parts in groups.values():
        begun, ended = min(part["begun"] for part in parts), max(part["ended"] for part in parts)
        spent = {
            "seeds": [part["seed"] for part in parts],
            "finished": datetime.fromtimestamp(ended, UTC).isoformat(timespec="seconds"),
            "wall_time_s": round(ended - begun, 3),
            "compute_s": round(sum(part["ended"] - part["begun"] for part in parts), 3),
            "peak_memory_mib": max(part["peak_memory_mib"] for part in parts),
        }
        runs.append(parts[0]["run"] | spent)
    return runs


# What a result was computed with, without the name of a machine or a folder


def commit() -> str:
    """Return the commit of the book's repository, with ``+`` if it is changed; nothing outside of one."""
    git = "git describe --always --exclude='*' --dirty=+"
    return subprocess.run(git, shell=True, cwd=ROOT, capture_output=True, text=True).stdout.strip()


def _machine(device: str) -> dict[str, dict]:
    """The hardware of this machine, and the versions of Python and of packages."""
    about = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    name = re.search(r"model name\s*: (.*)", about)
    hardware = {
        "system": f"{platform.system()} {platform.machine()}",
        "processor": name[1] if name else platform.processor(),
        "cores": os.cpu_count(),
    }
    if device == "cuda":
        # The experiment has computed with torch; a page that shows its record need not load it.
        hardware["graphics"] = sys.modules["torch"].cuda.get_device_name()
    versions = {"python": platform.python_version()} | {name: metadata.version(name) for name in PACKAGES}
    return {"hardware": hardware, "versions": versions}


def _peak_memory() -> float:
    """The largest resident memory that this process has had, in MiB."""
    unit = 2**20 if sys.platform == "darwin" else 2**10
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit, 1)
