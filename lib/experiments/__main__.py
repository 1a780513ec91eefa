"""The command ``python -m lib.experiments``: run experiments, and see what is recorded of them."""

from __future__ import annotations

import argparse
import contextlib
import importlib
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import FrameType

import numpy as np

from lib.experiments.engine import Settings, State, Task, command_of, state_of, sweep
from lib.experiments.jobs import DEVICES
from lib.experiments.journal import JOURNAL
from lib.experiments.pools import BACKENDS
from lib.experiments.progress import Progress
from lib.experiments.record import Record, seeds_in_words
from lib.experiments.records import RECORDS, NoRecord, read_records, recorded
from lib.experiments.registry import Experiment, find, load


def _parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(
        prog="python -m lib.experiments", description="Run the papers' experiments and record them."
    )
    commands = top.add_subparsers(dest="command", required=True)
    commands.add_parser("list", help="the experiments and their configurations")
    commands.add_parser("status", help="what is recorded, what is stale, what is unfinished")
    show = commands.add_parser("show", help="a record: provenance, and each metric over the seeds")
    run = commands.add_parser("run", help="run what is not yet recorded, and record it")
    for one in commands.choices.values():
        one.add_argument("--module", action="append", default=[], help="one of yours, with more experiments")
        one.add_argument("--records", type=Path, default=RECORDS, help="folder of the records")
        one.add_argument("--journal", type=Path, default=JOURNAL, help="folder of what is not yet on record")
    show.add_argument("name")
    show.add_argument("--traceback", action="store_true", help="also the tracebacks of seeds that failed")
    run.add_argument("name", nargs="+")
    for one in (show, run):
        one.add_argument("--quick", action="store_true", help="the reduced size")
        one.add_argument("--variant", action="append", default=[], help="another configuration; or: all")
    run.add_argument("--seeds", type=int, help="how many seeds (default: as many as the experiment says)")
    run.add_argument("--first-seed", type=int, default=0)
    run.add_argument("--chunk", type=int, help="seeds a job (default: as many as the experiment says)")
    run.add_argument("--backend", choices=BACKENDS, default="loky")
    run.add_argument("--address", help="of a Dask scheduler or a Ray cluster (default: one on this machine)")
    run.add_argument("--device", choices=DEVICES, default="cpu")
    run.add_argument("--workers", type=int, help="processes (default: one a core; with cuda: one)")
    run.add_argument("--threads", type=int, default=1, help="threads of each process (default: 1)")
    run.add_argument("--retries", type=int, default=0, help="how often a failed seed is tried again at once")
    run.add_argument("--dry-run", action="store_true", help="say what would be computed, and write nothing")
    return top


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status.

    The status is 0 when all wanted seeds are on record, 1 when some failed or a record is missing, 2 for
    arguments that cannot be, 130 when it was interrupted, 143 when it was asked to terminate.

    Example:

    >>> main(["show", "no-such-experiment"])
    2
    """
    options = _parser().parse_args(arguments)
    came = [signal.SIGINT]
    try:
        with _termination_interrupts(came):
            for module in options.module:
                importlib.import_module(module)
            act = {"list": _list, "status": _status, "show": _show, "run": _run}[options.command]
            return act(options)
    except (ValueError, ImportError, OSError) as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 2
    except NoRecord as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(
            "\ninterrupted; what had finished is kept, the same command goes on from there", file=sys.stderr
        )
        return 128 + came[-1]


@contextlib.contextmanager
def _termination_interrupts(came: list[signal.Signals]) -> Iterator[None]:
    """Let SIGTERM do what Ctrl-C does at that moment, and add it to the signals that ``came``."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        came.append(signal.SIGTERM)
        handle = signal.getsignal(signal.SIGINT)
        # Shells let commands in the background ignore Ctrl-C, but not SIGTERM.
        (handle if callable(handle) else signal.default_int_handler)(number, frame)

    if threading.current_thread() is not threading.main_thread():  # only that one may change handlers
        yield
        return
    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _variants(experiment: Experiment, options: argparse.Namespace) -> list[str]:
    """The configurations that the options name, by default the paper's size."""
    if "all" in options.variant:
        return [name for name in experiment.configurations if name != "quick" or options.quick]
    named = [*(["quick"] if options.quick else []), *options.variant]
    for name in named:
        experiment.config(name)
    return list(dict.fromkeys(named)) or ["full"]


def _list(options: argparse.Namespace) -> int:
    for name, experiment in load().items():
        print(f"{name}: {experiment.title}")
        for variant, config in experiment.configurations.items():
            print(f"    {variant}: {config}")
    return 0


def _status(options: argparse.Namespace) -> int:
    for name, experiment in load().items():
        for variant in experiment.configurations:
            seeds = tuple(range(experiment.seeds))
            state = state_of(Task(experiment, variant, seeds), options.records, options.journal)
            print(f"{name}, {variant}: {_condition(state, options.records)}")
    return 0


def _condition(state: State, records: Path) -> str:
    """Whether there is a record, and what else there is, in a line."""
    task = state.task
    old = read_records(task.experiment.name, task.variant, records)
    if state.record is not None:
        parts = [f"{state.record.size} recorded, {_date(state.record)}"]
    elif old:
        parts = [f"stale ({'; '.join(old[-1].stale())}), {old[-1].size} recorded, {_date(old[-1])}"]
    else:
        parts = ["not recorded"]
    if state.journaled:
        parts.append(f"{seeds_in_words(len(state.journaled))} in the journal")
    if state.failures:
        parts.append(f"{seeds_in_words(len(state.failures))} failed")
    return ", ".join([*parts, *state.damaged.values()])


def _date(record: Record) -> str:
    return max(run["finished"][:10] for run in record.runs)


def _show(options: argparse.Namespace) -> int:
    experiment = find(options.name)
    for variant in _variants(experiment, options):
        record = recorded(options.name, variant, options.records)
        print(record)
        print("\n".join(_summary(record)))
        for one in record.failures if options.traceback else ():
            print(f"seed {one['seed']}, tried {one['attempts']} times, last on {one['date']}")
            print(one["traceback"])
    return 0


def _summary(record: Record) -> list[str]:
    """Mean, standard deviation and range over the seeds of each metric that is a number."""
    lines = [f"  {'metric':<32}{'mean':>12}{'deviation':>12}{'least':>12}{'greatest':>12}"]
    for name in record.known_metrics():
        values = record.values(name).tolist()
        if all(type(value) in (int, float) for value in values):
            spread = np.std(values, ddof=1) if len(values) > 1 else 0.0
            numbers = (np.mean(values), spread, min(values), max(values))
            lines.append(f"  {name:<32}" + "".join(f"{number:>12.5g}" for number in numbers))
    return lines


def _run(options: argparse.Namespace) -> int:
    settings = Settings(
        backend=options.backend,
        address=options.address,
        workers=options.workers or (1 if options.device == "cuda" and not options.address else None),
        threads=options.threads,
        chunk=options.chunk,
        device=options.device,
        retries=options.retries,
    )
    tasks = []
    for experiment in map(find, dict.fromkeys(options.name)):
        count = experiment.seeds if options.seeds is None else options.seeds
        seeds = tuple(range(options.first_seed, options.first_seed + count))
        tasks += [Task(experiment, variant, seeds) for variant in _variants(experiment, options)]
    if options.dry_run:
        for task in tasks:
            _say_plan(state_of(task, options.records, options.journal), settings)
        return 0
    states = sweep(tasks, settings, options.records, options.journal, Progress(sys.stderr))
    for state in states:
        name = f"{state.task.experiment.name}, {state.task.variant}"
        if state.record is not None:
            print(f"{name}: {state.record.size} in {_short(state.record.path)}")
        for one in state.failures:
            print(f"{name}: seed {one['seed']} failed, {one['error']}")
        if state.to_do:
            print(f"{name}: {seeds_in_words(len(state.to_do))} missing; the same command tries again")
    return 1 if any(state.to_do for state in states) else 0


def _say_plan(state: State, settings: Settings) -> None:
    chunk = settings.chunk or state.task.experiment.chunk
    done = len(state.task.seeds) - len(state.to_do)
    print(f"{command_of(state.task, settings)}\n    configuration: {dict(state.journal.plan.config)}")
    print(
        f"    {done} of {len(state.task.seeds)} seeds are finished; to do, {chunk} a job: {list(state.to_do)}"
    )
    for what in state.damaged.values():
        print(f"    {what}")


def _short(path: Path | None) -> str:
    """A file by its path from here, if it is below."""
    here = Path.cwd()
    return str(path.relative_to(here) if path is not None and path.is_relative_to(here) else path)


if __name__ == "__main__":
    sys.exit(main())
