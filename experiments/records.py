"""Records of experiments: metrics of every seed, where they come from, and a fingerprint of the code.

``results/records/NAME/VARIANT.json`` is committed.
"""

from __future__ import annotations

import dataclasses
import functools
import html
import json
import operator
import os
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from executable_claims.configuration import read_json
from experiments.comparison import differences, to_scale
from experiments.registry import ROOT, find

RECORDS = ROOT / "results" / "records"
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

    ``runs`` says what computed each part: command, commit, date, versions, hardware, time and memory.
    ``fingerprint`` holds the metrics of a short run with the same code.
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
        return np.array(
            [functools.reduce(operator.getitem, metric.split("."), of_seed) for of_seed in self.metrics]
        )

    def stale(self) -> list[str]:
        """Run the fingerprint; return what is no longer as it was recorded, up to three reasons.

        What is set is compared exactly, metrics by a unit of the last of ``DIGITS`` digits of their scale:
        sums in another order, as another processor or version of a library forms them, differ by no more.
        """
        now = begun(self.name, self.variant)
        before, after = self.fingerprint, now.fingerprint
        return [
            *differences(self.config, now.config),
            *differences(before["config"], after["config"], "fingerprint.config"),
            *differences(before["metrics"], after["metrics"], "fingerprint.metrics", DIGITS),
        ][:3]

    def with_seed(
        self, command: Mapping, seed: int, metrics: dict, machine: Mapping, seconds: float, memory: float
    ) -> Record:
        """Return the record with one more seed, which took so many seconds and so much memory (MiB).

        What the same ``command`` has computed on the same ``machine`` is one run, from its start until now.
        """
        by_seed = dict(zip(self.seeds, self.metrics, strict=True)) | {seed: metrics}
        seeds, now, how = sorted(by_seed), datetime.now(UTC), {**command, **machine}
        before = next((run for run in self.runs if how.items() <= run.items()), {})
        run = how | {
            "seeds": sorted([*before.get("seeds", ()), seed]),
            "finished": now.isoformat(timespec="seconds"),
            "wall_time_s": round((now - datetime.fromisoformat(how["started"])).total_seconds(), 3),
            "compute_s": round(before.get("compute_s", 0.0) + seconds, 3),
            "peak_memory_mib": max(before.get("peak_memory_mib", 0.0), memory),
        }
        runs = [*(other for other in self.runs if other is not before), run]
        return dataclasses.replace(self, seeds=seeds, metrics=[by_seed[k] for k in seeds], runs=runs)

    def save(self, folder: Path = RECORDS) -> None:
        """Write the record, at once or not at all, in the place of what is there.

        Raises ``ValueError`` or ``TypeError`` for what JSON cannot hold, such as numbers that are not finite.
        """
        dump = functools.partial(json.dumps, allow_nan=False, ensure_ascii=False)
        entries = []
        for name, value in vars(self).items():
            text = dump(value)
            if isinstance(value, list) and value and isinstance(value[0], Mapping):
                text = "[\n  " + ",\n  ".join(map(dump, value)) + "\n ]"
            entries.append(f" {dump(name)}: {text}")
        path = folder / self.name / f"{self.variant}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_suffix(f".{os.getpid()}.partial")
        partial.write_text("{\n" + ",\n".join(entries) + "\n}\n", encoding="utf-8")
        os.replace(partial, path)

    def __str__(self) -> str:
        variant = f" ({self.variant})" * (self.variant != "full")
        dates = "".join(f", {date}" for date in sorted({run["finished"][:10] for run in self.runs}))
        return f"Recorded {self.name}{variant}: {self.size}{dates}"

    def _repr_html_(self) -> str:
        facts = [("Experiment", self.title), ("Configuration", self.config)]
        facts += [
            (SHOWN_AS.get(name, name.capitalize()), what) for run in self.runs for name, what in run.items()
        ]
        facts.append(("File", f"results/records/{self.name}/{self.variant}.json"))
        rows = "".join(
            f"<tr><th>{name}</th><td>{html.escape(_in_words(what))}</td></tr>" for name, what in facts if what
        )
        return (
            f'<details class="record"><summary>{html.escape(str(self))}</summary>'
            f'<table id="{self.anchor}">{rows}</table></details>'
        )


def _in_words(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {entry}" for name, entry in value.items())
    return ", ".join(map(_in_words, value)) if isinstance(value, list) else str(value)


def begun(name: str, variant: str = "full") -> Record:
    """Return the record of that variant before its first seed, with today's code; runs the fingerprint.

    Raises ``ValueError`` for an unknown experiment or variant.
    """
    experiment = find(name)
    config = experiment.config(variant)
    short = experiment.fingerprint_of(config)
    [metrics] = experiment.run(short, (0,), "cpu")
    fingerprint = {"config": _plain(short), "seed": 0, "metrics": to_scale(metrics, DIGITS)}
    return Record(name, experiment.title, variant, _plain(config), [], [], [], fingerprint)


def _plain(config: Any) -> dict[str, Any]:
    """The configuration as JSON reads it back."""
    return json.loads(json.dumps(dataclasses.asdict(config)))


def recorded(name: str, variant: str = "full", folder: Path = RECORDS) -> Record:
    """Return the record of that variant of an experiment.

    Raises :class:`NoRecord` with the command that makes one if there is none, and ``ValueError`` for an
    unknown experiment or variant, and for a file that is no record, with the line where it breaks off.
    """
    path = folder / name / f"{variant}.json"
    if not path.exists():
        find(name).config(variant)
        raise NoRecord(
            f"there is no record of {name}, variant {variant}; to make it: {command(name, variant)}"
        )
    content, known = read_json(path), {field.name for field in dataclasses.fields(Record)}
    if set(content) != known:
        raise ValueError(f"{path}: has {', '.join(content)}, allowed: {', '.join(sorted(known))}")
    return Record(**content)


def current(name: str, variant: str = "full", folder: Path = RECORDS) -> Record:
    """Return the record to go on with: the one on file if it is not stale, else one without seeds."""
    try:
        record = recorded(name, variant, folder)
    except NoRecord:
        return begun(name, variant)
    return begun(name, variant) if record.stale() else record


def command(name: str, variant: str = "full") -> str:
    """Return the command that runs and records that variant of an experiment."""
    return f"python -m experiments run {name}" + f" --variant {variant}" * (variant != "full")
