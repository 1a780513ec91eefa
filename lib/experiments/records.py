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
import os
import platform
import re
import resource
import subprocess
import sys
import time
import traceback
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from lib.experiments.registry import NAME, ROOT, WORDS, Experiment, computed, find, plain, rounded

RECORDS = ROOT / "results" / "records"
JOURNAL = ROOT / "results" / "journal"
PACKAGES = ("numpy", "scipy", "torch", "scikit-learn", "joblib", "dask")  # numbers can depend on these
DIGITS = 4  # of a fingerprint's numbers


class NoRecord(LookupError):
    """There is no record of that configuration; the message says which command makes it."""


def seeds_in_words(count: int) -> str:
    """Return a number of seeds with its noun."""
    return f"{count} seed{'s' * (count != 1)}"


@dataclasses.dataclass(frozen=True)
class Record:
    """The results of one configuration: ``metrics`` holds a dictionary for each of ``seeds``, in their order.

    ``runs`` says with what each part was computed (seeds, command, commit, date, versions, hardware, wall
    time in seconds, peak memory of a process in MiB), ``failures`` which seeds failed.  ``fingerprint`` holds
    the metrics of a short run with the same code.  ``modules`` are digests of the code, in records from
    before there were fingerprints.  ``path`` is the file that it was read from.
    """

    name: str
    title: str
    variant: str
    config: Mapping[str, Any]
    seeds: tuple[int, ...]
    metrics: tuple[dict, ...]
    runs: tuple[dict, ...]
    failures: tuple[dict, ...]
    fingerprint: Mapping[str, Any]
    modules: Mapping[str, str] = dataclasses.field(default_factory=dict)
    path: Path | None = dataclasses.field(default=None, compare=False)

    @property
    def anchor(self) -> str:
        """The id of the record on a page that displays it; a link to it unfolds the provenance."""
        return f"record-{self.name}-{self.variant}"

    @property
    def size(self) -> str:
        """How many seeds it has, in words."""
        return seeds_in_words(len(self.seeds))

    def values(self, metric: str) -> np.ndarray:
        """The values of a metric, an array with the seeds as first axis.

        A metric inside a dictionary is named with a dot, as ``gap.accuracy``.  Of lists that differ in
        length from seed to seed it is an array of lists.  Raises ``ValueError`` with the metrics there are
        for an unknown one.
        """
        if metric not in (known := self.known_metrics()):
            raise ValueError(f"metric is {metric!r}, allowed for {self.name}: {', '.join(known)}")
        values = [_flat(one).get(metric) for one in self.metrics]
        try:
            return np.array(values)
        except ValueError:
            ragged = np.empty(len(values), dtype=object)
            ragged[:] = values
            return ragged

    def known_metrics(self) -> list[str]:
        """The names of all metrics that some seed has."""
        return list(dict.fromkeys(name for one in self.metrics for name in _flat(one)))

    def stale(self) -> tuple[str, ...]:
        """What would no longer be as it was when this was recorded, a reason each; runs the fingerprint."""
        try:
            experiment = find(self.name)
            config = plain(experiment.config(self.variant))
        except ValueError as error:
            return (str(error),)
        if changed := tuple(differences(self.config, config)):
            return changed
        reasons = [*differences(self.fingerprint, fingerprint(experiment, self.variant))]
        return tuple(f"fingerprint: {reason}" for reason in reasons[:3])

    def __str__(self) -> str:
        return "\n".join([self.headline(), *(f"  {name}: {text}" for name, text in self.facts())])

    def _repr_html_(self) -> str:
        rows = "".join(f"<tr><th>{name}</th><td>{html.escape(text)}</td></tr>" for name, text in self.facts())
        return (
            f'<details class="record"><summary>{html.escape(self.headline())}</summary>'
            f'<table id="{self.anchor}">{rows}</table></details>'
        )

    def headline(self) -> str:
        """One line: what is recorded, of how many seeds, when, and whether it is stale."""
        variant = f" ({self.variant})" * (self.variant != "full")
        failed = f", {len(self.failures)} failed" * bool(self.failures)
        dates = "".join(f", {date}" for date in sorted({run["finished"][:10] for run in self.runs}))
        stale = "; stale: the code or the configuration has changed since" * bool(self.stale())
        return f"Recorded {self.name}{variant}: {self.size}{failed}{dates}{stale}"

    def facts(self) -> list[tuple[str, str]]:
        """The provenance, as pairs of a name and a text."""
        facts: list[tuple[str, str | None]] = [("Experiment", self.title)]
        facts += [("Configuration", _listed(self.config)), ("Stale because", "; ".join(self.stale()))]
        for run in self.runs:
            spent = f"{run['wall_time_s']:.1f} s; all processes together {run['compute_s']:.1f} s"
            facts += [
                ("Seeds", ", ".join(map(str, run["seeds"]))),
                ("Command", run["command"]),
                ("Commit", run.get("commit")),
                ("Finished", run["finished"]),
                ("Time", spent),
                ("Peak memory", f"{run['peak_memory_mib']:.0f} MiB a process"),
                ("Device", run["device"]),
                ("Hardware", "; ".join(map(_listed, run["hardware"]))),
                ("Versions", "; ".join(map(_listed, run["versions"]))),
            ]
        facts += [(f"Failed, seed {one['seed']}", one["error"]) for one in self.failures]
        facts.append(("Code", _listed(self.modules)))
        facts.append(("File", f"results/records/{self.name}/{self.path.name}" if self.path else None))
        return [(name, text) for name, text in facts if text]


def _flat(metrics: Mapping[str, Any], above: str = "") -> dict[str, Any]:
    """Dictionaries within the metrics taken apart, their keys joined by dots."""
    flat: dict[str, Any] = {}
    for name, value in metrics.items():
        flat |= _flat(value, f"{above}{name}.") if isinstance(value, dict) else {above + name: value}
    return flat


def _listed(entries: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in entries.items())


# Fingerprints


def fingerprint(experiment: Experiment, variant: str) -> dict[str, Any]:
    """Return the metrics of a short run with today's code: ``config``, ``seed`` and rounded ``metrics``."""
    config = experiment.fingerprint_of(experiment.config(variant))
    [metrics] = computed(experiment.run, config, (0,))
    return {"config": plain(config), "seed": 0, "metrics": rounded(metrics, DIGITS)}


def differences(before: Any, after: Any, place: str = "") -> Iterator[str]:
    """Yield in words where two structures of JSON differ; floats may by a unit of the last of four digits.

    Repeated in double precision, the fingerprints recorded in single precision differ by no more, where the
    random draws are the same: so do sums in another order, as another version of a library may form them.
    """
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for name in dict.fromkeys((*before, *after)):
            inner = f"{place}.{name}".lstrip(".")
            yield from differences(before.get(name, "not there"), after.get(name, "not there"), inner)
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for k, pair in enumerate(zip(before, after, strict=True)):
            yield from differences(*pair, f"{place}[{k}]")
    elif not (before == after or (type(before) is type(after) is float and _close(before, after))):
        yield f"{place} was {before}, is {after}"


def _close(one: float, other: float) -> bool:
    unit = 10.0 ** (math.floor(math.log10(max(abs(one), abs(other)))) + 1 - DIGITS)
    return abs(one - other) <= 1.01 * unit


# Files


def save(path: Path, content: Mapping[str, Any]) -> None:
    """Write JSON with a line for each entry, at once or not at all, in the place of what is there.

    Raises ``ValueError`` or ``TypeError`` for what JSON cannot hold, numbers that are not finite among it.
    """
    dump = functools.partial(json.dumps, allow_nan=False, ensure_ascii=False)
    entries = []
    for name, value in content.items():
        text = dump(value)
        if isinstance(value, list | tuple) and value and all(isinstance(one, Mapping) for one in value):
            text = "[\n  " + ",\n  ".join(map(dump, value)) + "\n ]"
        entries.append(f" {dump(name)}: {text}")
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(f".{os.getpid()}.partial")
    partial.write_text("{\n" + ",\n".join(entries) + "\n}\n", encoding="utf-8")
    os.replace(partial, path)


def read_record(path: Path) -> Record:
    """Return the record in a file; raise ``ValueError`` that names the ``path`` for a damaged one."""
    lists = ("seeds", "metrics", "runs", "failures")
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        fields: dict[str, Any] = {
            name: tuple(value) if name in lists else value for name, value in content.items()
        }
        record = Record(**fields, path=path)
        if len(record.seeds) != len(record.metrics):
            raise ValueError("it has not as many metrics as seeds")
    except (ValueError, TypeError, AttributeError) as error:
        raise ValueError(f"path {path} is no record: {error}") from None
    return record


def recorded(name: str, variant: str = "full", folder: Path = RECORDS) -> Record:
    """Return the record of that variant of an experiment; a stale one says itself that it is.

    Raises :class:`NoRecord` with the command that makes one if there is none, and ``ValueError`` for an
    unknown experiment or variant and for a damaged file.
    """
    find(name).config(variant)
    path = folder / name / f"{variant}.json"
    if not path.exists():
        raise NoRecord(
            f"there is no record of {name}, variant {variant}; to make it: {command(name, variant)}"
        )
    return read_record(path)


def command(name: str, variant: str = "full") -> str:
    """Return the command that runs and records that variant of an experiment.

    Raises ``ValueError`` for what cannot be the name of an experiment or a variant.
    """
    for argument, value in (("name", name), ("variant", variant)):
        if not isinstance(value, str) or not NAME.fullmatch(value):
            raise ValueError(f"{argument} is {value!r}, allowed: {WORDS}")
    return f"python -m lib.experiments run {name}" + f" --variant {variant}" * (variant != "full")


# Seeds that have finished, and how they come on record


def journal_of(experiment: Experiment, variant: str, journal: Path = JOURNAL) -> Path:
    """Return the folder of the finished seeds of a configuration, with today's code; runs the fingerprint."""
    about = [plain(experiment.config(variant)), fingerprint(experiment, variant)]
    key = hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()[:12]
    return journal / experiment.name / f"{variant}-{key}"


def seeds_in(folder: Path) -> dict[int, dict]:
    """Return what the journal holds of each seed: its ``metrics`` or its ``error``, and how it was run."""
    entries = [json.loads(path.read_text(encoding="utf-8")) for path in folder.glob("*.json")]
    return {entry["seed"]: entry for entry in sorted(entries, key=lambda entry: entry["seed"])}


def run_seed(
    experiment: Experiment, variant: str, seed: int, device: str, run: dict, folder: Path
) -> dict[str, Any]:
    """Run one seed, write what it gives into the journal, and return that.

    A seed that raises leaves its ``error`` and ``traceback``.  On a machine that does not have the ``folder``
    nothing is written.
    """
    begun, entry = time.time(), {"seed": seed, "run": run}
    try:
        [metrics] = experiment.run(experiment.config(variant), [seed], device)
        json.dumps(metrics, allow_nan=False)
        entry["metrics"] = metrics
    except Exception as error:
        summary = traceback.format_exception_only(error)[-1].strip().partition("\n")[0]
        entry |= {"error": _without_folders(summary), "traceback": traceback.format_exc()}
    entry |= {"begun": begun, "ended": time.time(), "peak_memory_mib": _peak_memory()}
    entry |= {"hardware": _hardware(device), "versions": versions()}
    if folder.is_dir():
        save(folder / f"{seed}.json", entry)
    return entry


def gather(experiment: Experiment, variant: str, folder: Path, records: Path = RECORDS) -> Record | None:
    """Put the seeds in a folder of the journal on record; return that record, ``None`` if there is none.

    Of a seed that is on record the values stay.  A record of other code or another configuration is replaced.
    """
    entries = seeds_in(folder)
    path = records / experiment.name / f"{variant}.json"
    known = read_record(path) if path.exists() else None
    if known is not None and known.stale():
        known = None
    before = dict(zip(known.seeds, known.metrics, strict=True)) if known else {}
    new = {seed: one for seed, one in entries.items() if "metrics" in one and seed not in before}
    metrics = before | {seed: one["metrics"] for seed, one in new.items()}
    failed = [one for one in known.failures if one["seed"] not in entries] if known else []
    failed += [{"seed": seed, "error": one["error"]} for seed, one in entries.items() if "error" in one]
    record = Record(
        name=experiment.name,
        title=experiment.title,
        variant=variant,
        config=plain(experiment.config(variant)),
        seeds=tuple(sorted(metrics)),
        metrics=tuple(metrics[seed] for seed in sorted(metrics)),
        runs=(*(known.runs if known else ()), *_runs(new.values())),
        failures=tuple(one for one in failed if one["seed"] not in metrics),
        fingerprint=known.fingerprint if known else fingerprint(experiment, variant),
        modules=known.modules if known else {},
        path=path,
    )
    if not metrics or record == known:
        return known
    content = {field.name: getattr(record, field.name) for field in dataclasses.fields(record)}
    save(path, {name: value for name, value in content.items() if name != "path" and value != {}})
    return record


def _runs(entries: Iterable[dict]) -> list[dict]:
    """What a record says of each run, from the seeds that it computed."""
    runs: dict[str, list[dict]] = {}
    for entry in entries:
        runs.setdefault(json.dumps(entry["run"]), []).append(entry)
    return [_run(parts) for parts in runs.values()]


def _run(parts: list[dict]) -> dict[str, Any]:
    begun, ended = min(part["begun"] for part in parts), max(part["ended"] for part in parts)
    different = {
        name: list({json.dumps(part[name]): part[name] for part in parts}.values())
        for name in ("hardware", "versions")
    }
    return {
        **parts[0]["run"],
        "seeds": [part["seed"] for part in parts],
        "finished": datetime.fromtimestamp(ended, UTC).isoformat(timespec="seconds"),
        "wall_time_s": round(ended - begun, 3),
        "compute_s": round(sum(part["ended"] - part["begun"] for part in parts), 3),
        "peak_memory_mib": max(part["peak_memory_mib"] for part in parts),
        **different,
    }


# What a result was computed with, without the name of a machine or a folder


def versions() -> dict[str, str]:
    """Return the versions of Python, and of those installed packages that numbers can depend on."""
    installed = {one.name.lower(): one.version for one in metadata.distributions()}
    return {"python": platform.python_version()} | {
        name: installed[name] for name in PACKAGES if name in installed
    }


def commit() -> str | None:
    """Return the commit of the book's repository, with ``+`` if it is changed; ``None`` outside of one."""
    git = ["git", "describe", "--always", "--exclude=*", "--dirty=+"]
    try:
        return subprocess.run(git, cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None


def _hardware(device: str) -> dict[str, str | int]:
    about = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    name = re.search(r"model name\s*: (.*)", about)
    found: dict[str, str | int] = {
        "system": f"{platform.system()} {platform.machine()}",
        "processor": name[1] if name else platform.processor() or platform.machine(),
        "cores": os.cpu_count() or 1,
    }
    if device == "cuda":
        # The experiment has computed with torch; a page that shows its record need not load it.
        found["graphics"] = sys.modules["torch"].cuda.get_device_name()
    return found


def _peak_memory() -> float:
    """The largest resident memory that this process has had, in MiB."""
    unit = 2**20 if sys.platform == "darwin" else 2**10
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit, 1)


def _without_folders(text: str) -> str:
    return text.replace(f"{ROOT}{os.sep}", "").replace(str(Path.home()), "~")
