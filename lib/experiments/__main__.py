"""The command ``python -m lib.experiments``: run experiments, and see what is recorded of them."""

from __future__ import annotations

import argparse
import contextlib
import importlib
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import BrokenExecutor
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

import joblib
import numpy as np
from tqdm import tqdm

from lib.checks import choice, whole
from lib.experiments.records import (
    JOURNAL,
    RECORDS,
    NoRecord,
    command,
    commit,
    gather,
    journal_of,
    recorded,
    run_seed,
    save,
    seeds_in,
    seeds_in_words,
)
from lib.experiments.registry import DEVICES, Experiment, find, load

BACKENDS = ("loky", "dask", "sequential")


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise ValueError(message)


def _parser() -> argparse.ArgumentParser:
    top = _Parser(
        prog="python -m lib.experiments", description="Run the papers' experiments and record them."
    )
    commands = top.add_subparsers(dest="command", required=True)
    commands.add_parser("list", help="the experiments and their configurations")
    commands.add_parser("status", help="what is recorded, what is stale, what is unfinished")
    show = commands.add_parser("show", help="a record: provenance, and each metric over the seeds")
    run = commands.add_parser("run", help="run the seeds that have not finished, and record them")
    record = commands.add_parser("record", help="record the seeds that have finished of an interrupted run")
    for one in commands.choices.values():
        one.add_argument("--module", action="append", default=[], help="one of yours, with more experiments")
        one.add_argument("--records", type=Path, default=RECORDS, help="folder of the records")
        one.add_argument("--journal", type=Path, default=JOURNAL, help="folder of what is not yet on record")
    for one in (show, run, record):
        one.add_argument("name")
        one.add_argument("--variant", default="full", help="the configuration (default: full, the paper's)")
    run.add_argument("--seeds", type=int, help="how many, from 0 on (default: as the experiment says)")
    run.add_argument("--backend", default="loky", help=", ".join(BACKENDS))
    run.add_argument("--address", help="of a Dask scheduler (default: a cluster on this machine)")
    run.add_argument("--jobs", type=int, help="processes (default: one a core; with cuda: one)")
    run.add_argument("--device", default="cpu", help=", ".join(DEVICES))
    return top


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status.

    The status is 0 when all wanted seeds are on record, 1 when some are not or a record is missing, and 2 for
    arguments that cannot be.
    """
    try:
        options = _parser().parse_args(arguments)
        for module in options.module:
            importlib.import_module(module)
        act = {"list": _list, "status": _status, "show": _show, "run": _run, "record": _record}
        return act[options.command](options)
    except (ValueError, ImportError, OSError) as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 2
    except NoRecord as error:
        print(error, file=sys.stderr)
        return 1


def _list(options: argparse.Namespace) -> int:
    for name, experiment in load().items():
        print(f"{name}: {experiment.title}")
        for variant, config in experiment.configurations.items():
            print(f"    {variant}: {config}")
    return 0


def _status(options: argparse.Namespace) -> int:
    for name, experiment in load().items():
        for variant in experiment.configurations:
            if variant != "quick":
                print(f"{name}, {variant}: {_condition(experiment, variant, options)}")
    return 0


def _condition(experiment: Experiment, variant: str, options: argparse.Namespace) -> str:
    """Whether there is a record, and what else there is, in a line."""
    try:
        record = recorded(experiment.name, variant, options.records)
        parts = [f"{record.size} recorded", *(f"stale: {reason}" for reason in record.stale())]
    except NoRecord:
        parts = ["not recorded"]
    if any((options.journal / experiment.name).glob(f"{variant}-*")):
        entries = seeds_in(journal_of(experiment, variant, options.journal)).values()
        failed = sum("error" in one for one in entries)
        parts.append(f"{seeds_in_words(len(entries) - failed)} in the journal, {failed} failed")
    return ", ".join(parts)


def _show(options: argparse.Namespace) -> int:
    record = recorded(options.name, options.variant, options.records)
    print(record)
    print(f"  {'metric':<32}{'mean':>12}{'deviation':>12}{'least':>12}{'greatest':>12}")
    for name in record.known_metrics():
        values = record.values(name).tolist()
        if all(type(value) in (int, float) for value in values):
            spread = np.std(values, ddof=1) if len(values) > 1 else 0.0
            numbers = (np.mean(values), spread, min(values), max(values))
            print(f"  {name:<32}" + "".join(f"{number:>12.5g}" for number in numbers))
    return 0


def _record(options: argparse.Namespace) -> int:
    experiment = find(options.name)
    folder = journal_of(experiment, options.variant, options.journal)
    return _put_on_record(experiment, folder, command(options.name, options.variant), options)


def _put_on_record(experiment: Experiment, folder: Path, make: str, options: argparse.Namespace) -> int:
    """Record what has finished, tell what is on record now, and which seeds failed."""
    record = gather(experiment, options.variant, folder, options.records)
    failed = {seed: one["error"] for seed, one in seeds_in(folder).items() if "error" in one}
    print(
        f"{record.headline()}, in {record.path}" if record else f"no seed has finished; to run them: {make}"
    )
    for seed, error in failed.items():
        print(f"seed {seed} failed: {error}; the same command tries it again")
    return 1 if failed or not record else 0


def _run(options: argparse.Namespace) -> int:
    experiment, settings = find(options.name), {"--backend": "loky", "--jobs": None, "--device": "cpu"}
    experiment.config(options.variant)
    count = experiment.seeds if options.seeds is None else whole("seeds", options.seeds, 1)
    choice("backend", options.backend, BACKENDS)
    _check_device(experiment, options.device)
    if options.address is not None and options.backend != "dask":
        raise ValueError(f"address is {options.address!r}, allowed: the scheduler's, with backend dask")
    cores = 1 if options.device == "cuda" else joblib.cpu_count()
    jobs = cores if options.jobs is None else whole("jobs", options.jobs, 1)
    make = f"{command(options.name, options.variant)} --seeds {count}"
    for option, usual in settings.items():
        value = getattr(options, option.lstrip("-"))
        make += f" {option} {value}" * (value != usual)
    about = {"command": make, "commit": commit(), "device": options.device, "backend": options.backend}
    about["started"] = datetime.now(UTC).isoformat(timespec="seconds")

    folder = journal_of(experiment, options.variant, options.journal).absolute()
    folder.mkdir(parents=True, exist_ok=True)
    record = gather(experiment, options.variant, folder, options.records)
    to_do = [seed for seed in range(count) if record is None or seed not in record.seeds]
    with _workers(options.backend, options.address, jobs) as (backend, together):
        with joblib.parallel_config(**backend):
            results = joblib.Parallel(together, batch_size=1, return_as="generator_unordered")(
                joblib.delayed(run_seed)(experiment, options.variant, seed, options.device, about, folder)
                for seed in to_do
            )
        try:
            for entry in tqdm(results, total=len(to_do), unit="seed", disable=None):
                save(folder / f"{entry['seed']}.json", entry)  # again: a worker may share no disk with us
        except BrokenExecutor:
            print("a worker ended before its seed did, for lack of memory perhaps; the same command goes on")
            return 1
    return _put_on_record(experiment, folder, make, options)


def _check_device(experiment: Experiment, device: str) -> None:
    choice("device", device, experiment.devices)
    if device == "cuda":
        import torch

        if not torch.cuda.is_available():
            raise ValueError("device is 'cuda', but torch finds no graphics processor; allowed here: 'cpu'")


@contextlib.contextmanager
def _workers(backend: str, address: str | None, jobs: int) -> Iterator[tuple[dict[str, Any], int]]:
    """The settings of joblib for a backend, and how many seeds run at once."""
    if backend == "dask":
        try:
            from dask.distributed import Client
        except ImportError as error:
            raise ImportError(f"{error}; pip install -e '.[cluster]' installs what Dask needs") from error
        local = {"n_workers": jobs, "threads_per_worker": 1, "dashboard_address": None}
        with Client(address, timeout=30) if address else Client(**local) as client:
            client.wait_for_workers(1, timeout=60)
            yield {"backend": "dask"}, sum(client.ncores().values())
    elif backend == "loky" and jobs > 1:
        watch = {"initializer": _end_with, "initargs": (os.getpid(),)}
        yield {"backend": "loky", "inner_max_num_threads": 1, **watch}, jobs
    else:
        yield {"backend": "sequential"}, 1


def _end_with(parent: int) -> None:
    """Let this worker end when its parent has been killed, in the middle of a seed too."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.2)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _leave(number: int, frame: FrameType | None) -> None:
    """End workers and this process at once: what has finished is on the disk, nothing is to be put away."""
    for worker in multiprocessing.active_children():
        worker.terminate()
    os.write(2, b"\ninterrupted; what had finished is kept, the same command goes on from there\n")
    os._exit(128 + number)


if __name__ == "__main__":
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _leave)
    sys.exit(main())
