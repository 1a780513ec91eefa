"""The folder of records: one file a configuration, written at once or not at all, and never overwritten.

When more seeds are added, a new file with the next number holds the old and the new ones.  Chapters show
what is recorded by :func:`lib.experiments.records.recorded`; in a notebook a record displays its provenance folded away.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

from lib.experiments.digests import ROOT
from lib.experiments.record import Record, planned
from lib.experiments.registry import NAME, find
from lib.experiments.sealed import as_json, seal, unseal

RECORDS = ROOT / "results" / "records"
FORMAT = 1


class NoRecord(LookupError):
    """There is no record of that configuration; the message says which command makes it.

    Example:

    >>> issubclass(NoRecord, LookupError)
    True
    """


def write_record(record: Record, folder: Path = RECORDS) -> Record:
    """Write the record, united with the one of the same key if there is one; return what is recorded now.

    Of a seed that both have, the values written first stay.  Nothing is written if no seed is new.  Two
    processes that write at once both succeed, and the later record holds the seeds of both.  Raises
    ``ValueError`` for a record without seeds, or with values that JSON cannot hold.

    Example:

    >>> import tempfile
    >>> one = Record("die", "A die", "full", {"sides": 6}, {}, (0,), ({"eyes": 4},))
    >>> two = dataclasses.replace(one, seeds=(1,), metrics=({"eyes": 2},))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     written = write_record(one, Path(folder)), write_record(two, Path(folder))
    >>> [record.seeds for record in written]
    [(0,), (0, 1)]
    """
    if not isinstance(record, Record) or not record.seeds or len(record.seeds) != len(record.metrics):
        raise ValueError(f"record is {record!r}, allowed: a Record with metrics for at least one seed")
    as_json("record", [record.config, record.metrics, record.runs, record.failures])
    while True:
        known = latest(record, folder)
        united = record if known is None else _union(known, record)
        if known is not None and united.seeds == known.seeds:
            return known
        number = 1 if known is None or known.path is None else int(known.path.stem.rpartition("-")[2]) + 1
        path = Path(folder) / record.name / f"{record.variant}-{record.key}-{number}.json"
        content = {"format": FORMAT, "key": record.key, **dataclasses.asdict(united)}
        del content["path"]
        try:
            return dataclasses.replace(united, path=seal(path, content))
        except FileExistsError:  # another process was faster: unite with its record too
            continue


def _union(first: Record, second: Record) -> Record:
    """The seeds of both, in ascending order, with the runs that computed them."""
    metrics = dict(zip(second.seeds, second.metrics, strict=True))
    metrics |= dict(zip(first.seeds, first.metrics, strict=True))
    new = set(second.seeds) - set(first.seeds)
    runs = [*first.runs]
    for run in second.runs:
        if seeds := [seed for seed in run["seeds"] if seed in new]:
            runs.append({**run, "seeds": seeds})
    failures = {one["seed"]: one for one in (*first.failures, *second.failures) if one["seed"] not in metrics}
    return dataclasses.replace(
        second,
        seeds=tuple(sorted(metrics)),
        metrics=tuple(metrics[seed] for seed in sorted(metrics)),
        runs=tuple(runs),
        failures=tuple(failures[seed] for seed in sorted(failures)),
    )


def read_record(path: Path) -> Record:
    """Return the record in a file.

    Raises ``ValueError`` that names the ``path`` if it is damaged, was changed by hand, or is no record.

    Example:

    >>> read_record(ROOT / "results" / "benchmarks.json")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: path ...benchmarks.json is damaged: it has no checksum
    """
    content = unseal(path)
    kept = {field.name for field in dataclasses.fields(Record)} - {"path"}
    if content.get("format") != FORMAT or not kept <= set(content):
        raise ValueError(f"path {path} is no record of format {FORMAT}")
    lists = ("seeds", "metrics", "runs", "failures")
    fields: dict[str, Any] = {name: tuple(content[name]) if name in lists else content[name] for name in kept}
    record = Record(**fields, path=Path(path))
    if content["key"] != record.key:
        raise ValueError(f"path {path} is damaged: its key is not that of its configuration and code")
    return record


def read_records(name: str, variant: str, folder: Path = RECORDS) -> list[Record]:
    """Return all records of that variant of an experiment, for the present code or not, the newest last.

    An empty list if there are none.  Raises ``ValueError`` that names the first file that is damaged.

    Example:

    >>> read_records("no-such-experiment", "full")
    []
    """
    _word("name", name)
    _word("variant", variant)
    records = [
        (read_record(path), int(path.stem.rpartition("-")[2]))
        for path in Path(folder, name).glob("*.json")
        if path.stem.rsplit("-", 2)[0] == variant
    ]
    finished = {id(one): max((run["finished"] for run in one.runs), default="") for one, _ in records}
    return [one for one, _ in sorted(records, key=lambda pair: (finished[id(pair[0])], pair[1]))]


def _word(name: str, value: Any) -> str:
    if not isinstance(value, str) or not NAME.fullmatch(value):
        raise ValueError(f"{name} is {value!r}, allowed: small letters and digits, with - or . between")
    return value


def latest(record: Record, folder: Path = RECORDS) -> Record | None:
    """Return the record in ``folder`` that has the key of ``record`` and most seeds; ``None`` without one.

    Raises ``ValueError`` for what is no record, and if a file is damaged.

    Example:

    >>> latest(Record("die", "A die", "full", {"sides": 6}, {})) is None
    True
    """
    if not isinstance(record, Record):
        raise ValueError(f"record is {record!r}, allowed: a Record")
    same = [one for one in read_records(record.name, record.variant, folder) if one.key == record.key]
    return max(same, key=lambda one: len(one.seeds), default=None)


def recorded(name: str, variant: str = "full", folder: Path = RECORDS) -> Record:
    """Return the record of that variant of an experiment: for the present code, or else the newest one.

    A record of other code or another configuration is returned too, and says itself that it is stale.
    Raises :class:`NoRecord` with the command that makes one if there is none, and ``ValueError`` for an
    unknown experiment or variant and for a damaged file.

    Example:

    >>> recorded("no-such-experiment")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: name is 'no-such-experiment', which is no experiment; ...
    """
    wanted = planned(find(name), variant)
    records = read_records(name, variant, folder)
    if not records:
        raise NoRecord(
            f"there is no record of {name}, variant {variant}; to make it: {command(name, variant)}"
        )
    return latest(wanted, folder) or records[-1]


def command(name: str, variant: str = "full") -> str:
    """Return the command that runs and records that variant of an experiment.

    Raises ``ValueError`` for what cannot be the name of an experiment or a variant.

    Example:

    >>> command("die", "quick")
    'python -m lib.experiments run die --quick'
    """
    option = {"full": "", "quick": " --quick"}.get(variant, f" --variant {_word('variant', variant)}")
    return f"python -m lib.experiments run {_word('name', name)}{option}"
