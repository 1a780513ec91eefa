"""Runs seeds of experiments on the processes of one machine or on a cluster, and records them.

Each job is a chunk of seeds of one configuration.  What a job returns goes into the journal at once
(:mod:`lib.experiments.journal`), and from there into a record (:mod:`lib.experiments.records`) when the configuration is finished.
What is recorded or in the journal already is not computed again.
"""

from __future__ import annotations

import contextlib
import dataclasses
import shlex
import time
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lib.checks import choice, whole
from lib.experiments.jobs import DEVICES, Job, check_seeds
from lib.experiments.journal import JOURNAL, Journal, now
from lib.experiments.pools import BACKENDS, Pool, run_all
from lib.experiments.progress import Progress
from lib.experiments.record import Record, planned
from lib.experiments.records import RECORDS, command, latest
from lib.experiments.registry import Experiment


@dataclasses.dataclass(frozen=True)
class Task:
    """Seeds of one configuration that are wanted.

    Raises ``ValueError`` for what is no experiment, an unknown variant, and seeds that are not one or more
    different whole numbers.

    Example:

    >>> from lib.experiments.registry import find
    >>> Task("die", "full", (0, 1))
    Traceback (most recent call last):
    ValueError: experiment is 'die', allowed: an Experiment
    """

    experiment: Experiment
    variant: str
    seeds: tuple[int, ...]

    def __post_init__(self) -> None:
        if not isinstance(self.experiment, Experiment):
            raise ValueError(f"experiment is {self.experiment!r}, allowed: an Experiment")
        self.experiment.config(self.variant)
        check_seeds(self.seeds)


@dataclasses.dataclass(frozen=True)
class Settings:
    """How tasks are run; none of it changes the results.

    ``backend`` is ``loky`` (processes of this machine), ``dask`` or ``ray`` (a cluster, at ``address`` or
    started on this machine), or ``sequential`` (this process, for a debugger).  ``workers`` is the number of
    processes, by default as many as there are cores; ``threads`` those of each; ``chunk`` the number of seeds
    in a job, by default what the experiment says; ``retries`` how often a failed seed is tried again at once.
    Raises ``ValueError`` for unknown words and for numbers that are not whole or too small.

    Example:

    >>> Settings(workers=2).arguments()
    ['--workers', '2']
    """

    backend: str = "loky"
    address: str | None = None
    workers: int | None = None
    threads: int = 1
    chunk: int | None = None
    device: str = "cpu"
    retries: int = 0

    def __post_init__(self) -> None:
        choice("backend", self.backend, BACKENDS)
        choice("device", self.device, DEVICES)
        whole("threads", self.threads, 1)
        whole("retries", self.retries, 0)
        for name in ("workers", "chunk"):
            if getattr(self, name) is not None:
                whole(name, getattr(self, name), 1)
        if self.address is not None and (
            not isinstance(self.address, str) or self.backend not in ("dask", "ray")
        ):
            raise ValueError(
                f"address is {self.address!r}, allowed: the scheduler's, with backend dask or ray"
            )

    def arguments(self) -> list[str]:
        """The options of the command for these settings, without the cluster's address."""
        options = []
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if value != field.default and field.name != "address":
                options += [f"--{field.name}", str(value)]
        return options


@dataclasses.dataclass(frozen=True)
class State:
    """How far a task is: its record, seeds in the journal, seeds still to do, failures, damaged files.

    Example:

    >>> from lib.experiments.record import Record
    >>> state = State(None, Journal(Record("die", "A die", "full", {}, {})), None, (0, 1), (4,), (), {})
    >>> state.recorded
    ()
    """

    task: Task
    journal: Journal
    record: Record | None
    journaled: tuple[int, ...]
    to_do: tuple[int, ...]
    failures: tuple[dict, ...]
    damaged: dict[Path, str]

    @property
    def recorded(self) -> tuple[int, ...]:
        """The seeds, wanted or not, that are on record for the present configuration and code."""
        return self.record.seeds if self.record else ()


def state_of(task: Task, records: Path = RECORDS, journal: Path = JOURNAL) -> State:
    """Return how far a task is; reads files and writes none.

    Raises ``ValueError`` for what is no task, and if a file of the records is damaged.

    Example:

    >>> state_of("die")
    Traceback (most recent call last):
    ValueError: task is 'die', allowed: a Task
    """
    if not isinstance(task, Task):
        raise ValueError(f"task is {task!r}, allowed: a Task")
    plan = planned(task.experiment, task.variant)
    notes = Journal(plan, Path(journal))
    # The journal first: what another process puts on record meanwhile is then seen at least once.
    journaled, failures, damaged = notes.finished(), notes.failures(), notes.damaged()
    record = latest(plan, records)
    known = {*journaled, *(record.seeds if record else ())}
    to_do = tuple(seed for seed in task.seeds if seed not in known)
    failed = tuple(one for one in failures if one["seed"] not in known)
    return State(task, notes, record, tuple(journaled), to_do, failed, damaged)


def sweep(
    tasks: Sequence[Task],
    settings: Settings | None = None,
    records: Path = RECORDS,
    journal: Path = JOURNAL,
    progress: Progress | None = None,
) -> list[State]:
    """Run what is still to do of the tasks, record it, and return how far each task is now.

    A seed that fails is noted with its traceback and left to the next sweep, or tried again at once as often
    as the settings say; the others go on.  An interrupted sweep loses no job that has returned.
    Raises ``ValueError`` for anything else than tasks, settings that fit no backend, and damaged records.

    Example:

    >>> @dataclasses.dataclass(frozen=True)
    ... class Config:
    ...     sides: int
    >>> def roll(config, seeds, device):
    ...     return [{"eyes": 1 + seed % config.sides} for seed in seeds]
    >>> die = Experiment("die", "A die", Config(20), Config(6), roll)
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     places = {"records": Path(folder, "records"), "journal": Path(folder, "journal")}
    ...     [state] = sweep([Task(die, "quick", (0, 7))], Settings("sequential"), **places)
    >>> state.record.values("eyes"), state.to_do
    (array([1, 2]), ())
    """
    settings = Settings() if settings is None else settings
    if not isinstance(settings, Settings):
        raise ValueError(f"settings is {settings!r}, allowed: Settings")
    states = [state_of(task, records, journal) for task in _check_tasks(tasks)]
    progress = progress or Progress(None)
    for state in states:
        for path, what in state.damaged.items():
            progress.say(f"{what}; it is set aside as {path.stem}.damaged, and its seeds are computed again")
        state.journal.set_aside(state.damaged)
    begun, runs = time.monotonic(), [_run(state, settings) for state in states]
    progress.begin(sum(len(state.to_do) for state in states))
    with Pool.open(settings.backend, settings.address, settings.workers, settings.threads) as pool:
        for attempt in range(1 + settings.retries):
            origin, jobs = _jobs(states, settings)
            last = attempt == settings.retries
            left = [len(state.to_do) for state in states]
            failed = [0] * len(states)
            # Closed at once when something comes between, so that the workers end before all else.
            with contextlib.closing(run_all(jobs, pool)) as results:
                for number, result in results:
                    which = origin[number]
                    states[which].journal.add(result, runs[which], time.monotonic() - begun)
                    failed[which] += len(result["failures"])
                    left[which] -= len(result["seeds"]) + len(result["failures"])
                    if not left[which] and (last or not failed[which]):
                        states[which].journal.put_on_record(records)
                    name = states[which].task.experiment.name
                    progress.step(len(result["seeds"]), result["failures"], last, name)
            states = [state_of(state.task, records, journal) for state in states]
            if not any(state.to_do for state in states):
                break
    for state in states:
        state.journal.put_on_record(records)
    progress.end()
    return [state_of(state.task, records, journal) for state in states]


def _check_tasks(tasks: Sequence[Task]) -> list[Task]:
    if isinstance(tasks, str) or not all(isinstance(task, Task) for task in tasks):
        raise ValueError(f"tasks is {tasks!r}, allowed: a list of Task")
    named = [(task.experiment.name, task.variant) for task in tasks]
    if len(set(named)) < len(named):
        raise ValueError(f"tasks hold a configuration twice: {named}")
    return list(tasks)


def _jobs(states: Sequence[State], settings: Settings) -> tuple[list[int], list[Job]]:
    """The jobs still to do, each with the number of its task.

    Chunks are cut from all wanted seeds, so that a resumed run has the same ones.
    """
    origin, jobs = [], []
    for which, state in enumerate(states):
        task = state.task
        chunk = settings.chunk or task.experiment.chunk
        modules = tuple(state.journal.plan.modules.items())
        for first in range(0, len(task.seeds), chunk):
            seeds = tuple(seed for seed in task.seeds[first : first + chunk] if seed in state.to_do)
            if seeds:
                job = Job(task.experiment, task.variant, seeds, settings.device, settings.threads, modules)
                origin.append(which)
                jobs.append(job)
    return origin, jobs


def _run(state: State, settings: Settings) -> dict[str, Any]:
    """What the journal says of this run of a task."""
    return {
        "id": uuid.uuid4().hex,
        "command": command_of(state.task, settings),
        "started": now(),
        "device": settings.device,
        "backend": settings.backend,
        "threads": settings.threads,
        "chunk": settings.chunk or state.task.experiment.chunk,
    }


def command_of(task: Task, settings: Settings) -> str:
    """Return the command that runs the task with these settings, without addresses and folders.

    Raises ``ValueError`` for what is no task or no settings.

    Example:

    >>> command_of("die", Settings())
    Traceback (most recent call last):
    ValueError: task is 'die', allowed: a Task
    """
    if not isinstance(task, Task):
        raise ValueError(f"task is {task!r}, allowed: a Task")
    if not isinstance(settings, Settings):
        raise ValueError(f"settings is {settings!r}, allowed: Settings")
    first = min(task.seeds)
    seeds = ["--seeds", str(max(task.seeds) - first + 1), *(["--first-seed", str(first)] if first else [])]
    return f"{command(task.experiment.name, task.variant)} {shlex.join([*seeds, *settings.arguments()])}"
