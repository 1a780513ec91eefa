"""The command ``python -m lib.experiments``: run experiments, and see what is recorded of them."""

from __future__ import annotations

import argparse
import multiprocessing
import os
import signal
import sys
from collections.abc import Sequence
from concurrent.futures import BrokenExecutor
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType

import joblib
from tqdm import tqdm

from lib.checks import choice, whole
from lib.experiments.records import (
    RESULTS,
    NoRecord,
    command,
    commit,
    gather,
    journal_of,
    recorded,
    run_seed,
    save,
    seeds_in,
)
from lib.experiments.registry import DEVICES, find, load


def _parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(
        prog="python -m lib.experiments", description="Run the papers' experiments, record them."
    )
    top.add_argument("--results", type=Path, default=RESULTS, help="folder of records and journal")
    commands = top.add_subparsers(required=True)
    listing = commands.add_parser("list", help="the experiments, and what is recorded of them")
    listing.set_defaults(act=_list)
    run = commands.add_parser("run", help="run the seeds that have not finished, and record them")
    run.set_defaults(act=_run)
    run.add_argument("name")
    run.add_argument("--variant", default="full", help="the configuration (default: full, the paper's)")
    run.add_argument("--seeds", type=int, default=10, help="how many, from 0 on (default: 10)")
    run.add_argument("--jobs", type=int, help="processes (default: one a core; with cuda: one)")
    run.add_argument(
        "--dask",
        metavar="ADDRESS",
        nargs="?",
        const="",
        help="run on Dask, by the scheduler of that address (default: by a cluster on this machine)",
    )
    run.add_argument("--device", default="cpu", help=", ".join(DEVICES))
    return top


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return 0 when all wanted seeds are on record, 1 when some are not.

    Exits with status 2 and a line that helps for arguments that cannot be.
    """
    parser = _parser()
    options = parser.parse_args(arguments)
    try:
        return options.act(options)
    except (ValueError, ImportError, OSError) as error:
        parser.error(str(error))


def _list(options: argparse.Namespace) -> int:
    for name, experiment in load().items():
        print(f"{name}: {experiment.title}")
        for variant in experiment.configurations:
            try:
                print(f"    {variant}: {recorded(name, variant, options.results / 'records')}")
            except NoRecord:
                print(f"    {variant}: not recorded")
    return 0


def _run(options: argparse.Namespace) -> int:
    experiment = find(options.name)
    count = whole("seeds", options.seeds, 1)
    device = choice("device", options.device, experiment.devices)
    cores = 1 if device == "cuda" else joblib.cpu_count()
    jobs = whole("jobs", cores if options.jobs is None else options.jobs, 1)
    journal = journal_of(experiment, options.variant, options.results / "journal").absolute()
    journal.mkdir(parents=True, exist_ok=True)
    make = f"{command(options.name, options.variant)} --seeds {count}"
    about = {"command": make, "commit": commit(), "device": device}
    about["backend"] = "loky" if options.dask is None else "dask"
    about["started"] = datetime.now(UTC).isoformat(timespec="seconds")

    record = gather(experiment, options.variant, journal, options.results / "records")
    to_do = [seed for seed in range(count) if seed not in record.seeds]
    workers = {"backend": "loky", "n_jobs": jobs, "inner_max_num_threads": 1}
    if options.dask is not None:
        from dask.distributed import Client  # pip install -e '.[cluster]'

        local = {"n_workers": jobs, "threads_per_worker": 1, "dashboard_address": None}
        client = Client(options.dask, timeout=30) if options.dask else Client(**local)
        client.wait_for_workers(1, timeout=60)
        workers = {"backend": "dask", "n_jobs": -1}
    with joblib.parallel_config(**workers):
        results = joblib.Parallel(batch_size=1, return_as="generator_unordered")(
            joblib.delayed(run_seed)(experiment, options.variant, seed, device, about, journal)
            for seed in to_do
        )
        try:
            for entry in tqdm(results, total=len(to_do), unit="seed", disable=None):
                save(journal / f"{entry['seed']}.json", entry)  # again: a worker may share no disk with us
        except BrokenExecutor:
            print("a worker ended before its seed did, for lack of memory perhaps; the same command goes on")
            return 1
    print(gather(experiment, options.variant, journal, options.results / "records"))
    failed = {seed: one["error"] for seed, one in seeds_in(journal).items() if "error" in one}
    for seed, error in failed.items():
        print(f"seed {seed} failed: {error}; the same command tries it again")
    return 1 if failed else 0


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
