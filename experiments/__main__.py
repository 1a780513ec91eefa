"""The command ``python -m experiments``: run experiments, and see what is recorded of them."""

import argparse
import fcntl
import multiprocessing
import os
import signal
import sys
from collections.abc import Sequence
from concurrent.futures import BrokenExecutor
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType
from typing import Any

import joblib
from tqdm import tqdm

from experiments.records import RECORDS, NoRecord, command, current, recorded
from experiments.registry import DEVICES, EXPERIMENTS, find
from experiments.runs import commit, run_seed
from lib.checks import choice, whole


def _parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(
        prog="python -m experiments", description="Run the papers' experiments, record them."
    )
    top.add_argument("--records", type=Path, default=RECORDS, metavar="FOLDER", help="where records are")
    commands = top.add_subparsers(required=True)
    commands.add_parser("list", help="what is recorded, and what is stale").set_defaults(act=_list)
    run = commands.add_parser("run", help="run the seeds that are not on record, and record them")
    run.set_defaults(act=_run)
    run.add_argument("name")
    run.add_argument("--variant", default="full", help="the configuration (default: full, the paper's)")
    run.add_argument("--seeds", type=int, default=10, help="how many, from 0 on (default: 10)")
    run.add_argument("--jobs", type=int, help="processes (default: one a core; with cuda: one)")
    dask = "run on Dask, by the scheduler of that address (default: by a cluster on this machine)"
    run.add_argument("--dask", metavar="ADDRESS", nargs="?", const="", help=dask)
    run.add_argument("--device", default="cpu", help=", ".join(DEVICES))
    return top


def main(arguments: Sequence[str] | None = None) -> int:
    """Return 0 when all wanted seeds are on record, 1 when not; exit with 2 for arguments that cannot be."""
    parser = _parser()
    options = parser.parse_args(arguments)
    try:
        return options.act(options)
    except (ValueError, ImportError, OSError) as error:
        parser.error(str(error))


def _list(options: argparse.Namespace) -> int:
    for experiment in map(find, EXPERIMENTS):
        print(f"{experiment.name}: {experiment.title}")
        for variant in experiment.configurations:
            try:
                record = recorded(experiment.name, variant, options.records)
                print(f"    {variant}: {'; stale: '.join([str(record), *record.stale()[:1]])}")
            except NoRecord:
                print(f"    {variant}: not recorded")
    return 0


def _run(options: argparse.Namespace) -> int:
    experiment = find(options.name)
    experiment.config(options.variant)
    count = whole("seeds", options.seeds, 1)
    device = choice("device", options.device, experiment.devices)
    cores = 1 if device == "cuda" else joblib.cpu_count()
    jobs = whole("jobs", cores if options.jobs is None else options.jobs, 1)
    path = options.records / options.name / f"{options.variant}.lock"
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "w") as lock, joblib.parallel_config(**_workers(options.dask, jobs)):
        fcntl.flock(lock, fcntl.LOCK_EX)  # after a run of the same: what that leaves need not be run again
        record = current(options.name, options.variant, options.records)
        to_do = [seed for seed in range(count) if seed not in record.seeds]
        about = {
            "command": f"{command(options.name, options.variant)} --seeds {count}",
            "commit": commit(),
            "device": device,
            "backend": "loky" if options.dask is None else "dask",
            "started": datetime.now(UTC).isoformat(timespec="milliseconds"),
        }
        results = joblib.Parallel(batch_size=1, return_as="generator_unordered")(
            joblib.delayed(run_seed)(experiment, options.variant, seed, device) for seed in to_do
        )
        try:
            for result in tqdm(results, total=len(to_do), unit="seed", disable=None):
                if "traceback" in result:
                    print(
                        f"{result['traceback']}seed {result['seed']} failed; the same command tries it again"
                    )
                else:
                    record = record.with_seed(about, **result)
                    record.save(options.records)
        except BrokenExecutor:
            print("a worker ended before its seed did, for lack of memory perhaps; the same command goes on")
    print(record)
    return int(not set(range(count)) <= set(record.seeds))


def _workers(dask: str | None, jobs: int) -> dict[str, Any]:
    """Where the seeds run: in processes here, or by the scheduler of an address, or by one of our own."""
    if dask is None:
        return {"backend": "loky", "n_jobs": jobs, "inner_max_num_threads": 1}
    from dask.distributed import Client  # pip install -e '.[cluster]'

    local = {"n_workers": jobs, "threads_per_worker": 1, "dashboard_address": None}
    client = Client(dask, timeout=30) if dask else Client(**local)
    client.wait_for_workers(1, timeout=60)
    return {"backend": "dask", "n_jobs": -1}


def _leave(number: int, frame: FrameType | None) -> None:
    """End workers and this process at once: what has finished is on record, nothing is to be put away."""
    for worker in multiprocessing.active_children():
        worker.terminate()
    os.write(2, b"\ninterrupted; what had finished is kept, the same command goes on from there\n")
    os._exit(128 + number)


if __name__ == "__main__":
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _leave)
    sys.exit(main())
