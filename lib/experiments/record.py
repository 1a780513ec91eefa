"""What a record of an experiment is: metrics of every seed, and what is needed to believe and repeat them.

Its key is a digest of the experiment's name, its configuration and the code that it depends on
(:mod:`lib.experiments.digests`).  A record whose configuration or code is not what it would be computed with today is
stale; it says so, and why.
"""

from __future__ import annotations

import dataclasses
import html
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from lib.checks import whole
from lib.experiments.digests import digests_at_first_use
from lib.experiments.registry import Experiment, find
from lib.experiments.sealed import as_json, digest


def seeds_in_words(count: int) -> str:
    """Return a number of seeds, from 0 on, with its noun; raises ``ValueError`` for what is none.

    Example:

    >>> seeds_in_words(1), seeds_in_words(10)
    ('1 seed', '10 seeds')
    """
    return f"{whole('count', count)} seed{'s' * (count != 1)}"


@dataclasses.dataclass(frozen=True)
class Record:
    """The results of one configuration: ``metrics`` holds a dictionary for each of ``seeds``, in their order.

    ``modules`` are the digests of the code by module, ``runs`` says with what each part was computed
    (seeds, command, dates, versions, hardware, wall time in seconds, peak memory of a process in MiB), and
    ``failures`` which seeds failed, with their tracebacks.  ``path`` is the file it was read from.

    Example:

    >>> record = Record("die", "A die", "full", {"sides": 6}, {}, (0, 1), ({"eyes": 4}, {"eyes": 2}))
    >>> record.values("eyes")
    array([4, 2])
    """

    name: str
    title: str
    variant: str
    config: Mapping[str, Any]
    modules: Mapping[str, str]
    seeds: tuple[int, ...] = ()
    metrics: tuple[dict, ...] = ()
    runs: tuple[dict, ...] = ()
    failures: tuple[dict, ...] = ()
    path: Path | None = dataclasses.field(default=None, compare=False)

    @property
    def key(self) -> str:
        """The digest of name, configuration and code, 16 hexadecimal digits."""
        return digest({"name": self.name, "config": self.config, "modules": self.modules})

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
        each = [_flat(one) for one in self.metrics]
        if metric not in (known := self.known_metrics()):
            raise ValueError(f"metric is {metric!r}, allowed for {self.name}: {', '.join(known)}")
        values = [one.get(metric) for one in each]
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
        """What is no longer as it was when this was recorded, a reason each; empty if everything still is."""
        try:
            experiment = find(self.name)
        except ValueError:
            return (f"there is no experiment {self.name} any more",)
        if self.variant not in experiment.configurations:
            return (f"{self.name} has no variant {self.variant} any more",)
        return changes(self, experiment)

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
        facts = [("Experiment", self.title), ("Configuration", _listed(self.config))]
        facts += [("Stale because", "; ".join(self.stale()))] * bool(self.stale())
        for run in self.runs:
            peak = run["peak_memory_mib"]
            facts += [
                ("Seeds", ", ".join(map(str, run["seeds"]))),
                ("Command", run["command"]),
                ("Finished", run["finished"]),
                ("Time", f"{run['wall_time_s']:.1f} s; all processes together {run['compute_s']:.1f} s"),
                ("Peak memory", "unknown" if peak is None else f"{peak:.0f} MiB a process"),
                ("Device", run["device"]),
                ("Hardware", "; ".join(map(_listed, run["hardware"]))),
                ("Versions", "; ".join(map(_listed, run["versions"]))),
            ]
        facts += [(f"Failed, seed {one['seed']}", one["error"]) for one in self.failures]
        file = [("File", f"results/records/{self.name}/{self.path.name}")] if self.path else []
        return [*facts, ("Code", _listed(self.modules)), ("Key", self.key), *file]


def _flat(metrics: Mapping[str, Any], above: str = "") -> dict[str, Any]:
    """Dictionaries within the metrics taken apart, their keys joined by dots."""
    flat: dict[str, Any] = {}
    for name, value in metrics.items():
        flat |= _flat(value, f"{above}{name}.") if isinstance(value, dict) else {above + name: value}
    return flat


def _listed(entries: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in entries.items())


def planned(experiment: Experiment, variant: str = "full") -> Record:
    """Return the record, still without seeds, of a configuration with the present code.

    Raises ``ValueError`` for an unknown variant, and for an experiment defined in an interactive session.

    Example:

    >>> @dataclasses.dataclass(frozen=True)
    ... class Config:
    ...     sides: int
    >>> def roll(config, seeds, device):
    ...     return [{"eyes": 1 + seed % config.sides} for seed in seeds]
    >>> planned(Experiment("die", "A die", Config(20), Config(6), roll), "quick").config
    {'sides': 6}
    """
    _check_experiment(experiment)
    config = json.loads(as_json("config", dataclasses.asdict(experiment.config(variant))))
    modules = digests_at_first_use(experiment.run.__module__)
    return Record(experiment.name, experiment.title, variant, config, modules)


def _check_experiment(experiment: Experiment) -> None:
    if not isinstance(experiment, Experiment):
        raise ValueError(f"experiment is {experiment!r}, allowed: an Experiment")


def changes(record: Record, experiment: Experiment) -> tuple[str, ...]:
    """Return how configuration and code of the experiment now differ from those of the record, in words.

    Raises ``ValueError`` for what is no experiment, and if it lacks the record's variant.

    Example:

    >>> @dataclasses.dataclass(frozen=True)
    ... class Config:
    ...     sides: int
    >>> def roll(config, seeds, device):
    ...     return [{"eyes": 1 + seed % config.sides} for seed in seeds]
    >>> die = Experiment("die", "A die", Config(20), Config(6), roll)
    >>> changes(planned(die), dataclasses.replace(die, full=Config(12)))
    ('sides was 20, is 12',)
    """
    if not isinstance(record, Record):
        raise ValueError(f"record is {record!r}, allowed: a Record")
    now = planned(experiment, record.variant)
    reasons = [
        f"{name} was {record.config.get(name, 'not there')}, is {now.config.get(name, 'not there')}"
        for name in dict.fromkeys((*record.config, *now.config))
        if (name in record.config, record.config.get(name)) != (name in now.config, now.config.get(name))
    ]
    for module in sorted({*record.modules, *now.modules}):
        before, after = record.modules.get(module), now.modules.get(module)
        if before != after:
            word = "changed" if before and after else "is used now" if after else "is not used now"
            reasons.append(f"{module} {word}")
    return tuple(reasons)
