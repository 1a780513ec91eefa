"""Where jobs run: the processes of this machine, or a Dask or Ray cluster, all through joblib.

A job that takes its worker down with it (out of memory, killed) must neither stop the others nor be tried
for ever.  joblib does not say which job it was; but jobs are handed out in order, so it is among the first
that have not returned, as many as there are workers.  These are run again one by one, and one that fails
alone is given up.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
import warnings
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import joblib

from lib.checks import choice, whole
from lib.experiments.jobs import Job, failure, run_job

BACKENDS = ("loky", "dask", "ray", "sequential")


@dataclass(frozen=True)
class Pool:
    """Workers: a function that maps :func:`lib.experiments.jobs.run_job` over numbered jobs, and how many there are.

    ``check`` raises ``ConnectionError`` when the cluster cannot be reached any more.

    Example:

    >>> with Pool.open("sequential") as pool:
    ...     pool.workers
    1
    """

    backend: str
    joblib_backend: Any
    workers: int
    check: Callable[[], Any] = lambda: None

    @staticmethod
    @contextlib.contextmanager
    def open(
        backend: str = "loky", address: str | None = None, workers: int | None = None, threads: int = 1
    ) -> Iterator[Pool]:
        """Workers inside the ``with`` block: of the cluster at ``address``, else on this machine.

        Raises ``ValueError`` for an unknown backend and numbers below one, ``ImportError`` that says what to
        install when the backend is not, and ``OSError`` when no cluster answers.
        """
        choice("backend", backend, BACKENDS)
        workers = workers if workers is None else whole("workers", workers, 1)
        cores = max(1, joblib.cpu_count() // whole("threads", threads, 1))
        if backend == "dask":
            with _dask(address, workers or cores) as pool:
                yield pool
        elif backend == "ray":
            with _ray(address, workers or cores) as pool:
                yield pool
        elif backend == "loky":
            watch = {"initializer": _end_with, "initargs": (os.getpid(),)}
            loky = {"backend": "loky", "inner_max_num_threads": threads, **watch}
            yield Pool(backend, loky, workers or cores)
        else:
            yield Pool(backend, {"backend": "sequential"}, 1)

    def results(self, jobs: dict[int, Job], together: int) -> Iterator[tuple[int, dict]]:
        """Run numbered jobs, at most ``together`` at a time; yield number and result as they return."""
        # joblib takes one worker to mean this process; with two, of which one gets work, a crash stays apart.
        processes = max(2, self.workers) if self.backend == "loky" else self.workers
        # Ray's backend cannot hand over results as they arrive: there jobs go in rounds.
        if self.backend == "ray":
            numbers = list(jobs)
            for first in range(0, len(numbers), together):
                some = numbers[first : first + together]
                with joblib.parallel_config(**self.joblib_backend):
                    yield from joblib.Parallel(n_jobs=processes, batch_size=1)(
                        joblib.delayed(_numbered)(number, jobs[number]) for number in some
                    )
            return
        with joblib.parallel_config(**self.joblib_backend):
            parallel = joblib.Parallel(
                n_jobs=processes, batch_size=1, pre_dispatch=together, return_as="generator_unordered"
            )
        with warnings.catch_warnings():
            # On an early end joblib advises programs that hand out too much by themselves.
            warnings.filterwarnings("ignore", "[0-9]+ tasks which were still being processed")
            yield from parallel(joblib.delayed(_numbered)(number, job) for number, job in jobs.items())


def _numbered(number: int, job: Job) -> tuple[int, dict]:
    return number, run_job(job)


def _end_with(parent: int) -> None:
    """Let this worker end when its parent has, in the middle of a job too: nobody would take the result."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def run_all(jobs: Sequence[Job], pool: Pool) -> Generator[tuple[int, dict], None, None]:
    """Run all jobs on the pool; yield each one's place in ``jobs`` and its result, as they return.

    A job whose worker dies twice gives a result in which all its seeds failed.  Raises ``ValueError`` for
    what are no jobs or no pool.

    Example:

    >>> with Pool.open("sequential") as pool:
    ...     list(run_all([], pool))
    []
    """
    if not isinstance(pool, Pool):
        raise ValueError(f"pool is {pool!r}, allowed: a Pool")
    if isinstance(jobs, str) or not all(isinstance(job, Job) for job in jobs):
        raise ValueError(f"jobs is {jobs!r}, allowed: a list of Job")
    return _run_all(jobs, pool)


def _run_all(jobs: Sequence[Job], pool: Pool) -> Generator[tuple[int, dict], None, None]:
    waiting = dict(enumerate(jobs))
    while waiting:
        try:
            for number, result in pool.results(waiting.copy(), pool.workers):
                del waiting[number]
                yield number, result
        except Exception:  # run_job returns what goes wrong in an experiment: this is a worker's end
            pool.check()
            for number in list(waiting)[: pool.workers]:
                job = waiting.pop(number)
                yield number, _alone(job, pool)


def _alone(job: Job, pool: Pool) -> dict:
    """The result of a job that runs while no other does."""
    try:
        [(_, result)] = pool.results({0: job}, 1)
        return result
    except Exception as error:
        pool.check()
        about = failure(error)
        about["error"] = f"the worker ended before the job did: {about['error']}"
        failures = [{"seed": seed, **about} for seed in job.seeds]
        return {"seeds": [], "metrics": [], "failures": failures}


@contextlib.contextmanager
def _installed(backend: str, extra: str) -> Iterator[None]:
    """Say what to install when an import inside the ``with`` block fails."""
    try:
        yield
    except ImportError as error:
        raise ImportError(
            f"backend is {backend!r}, which cannot be imported: {error}; in the book's repository, "
            f"pip install -e '.[{extra}]' installs it; backend loky needs nothing more"
        ) from error


@contextlib.contextmanager
def _dask(address: str | None, workers: int) -> Iterator[Pool]:
    with _installed("dask", "cluster"):
        from dask.distributed import Client
        from joblib._dask import DaskDistributedBackend

    class Backend(DaskDistributedBackend):
        """joblib's, which waits for ever for a task that Dask has given up; here the error comes through."""

        def submit(self, func: Any, callback: Any = None) -> Any:
            future = super().submit(func, callback)
            future.add_done_callback(lambda done: done.exception() and callback(done.exception()))
            return future

        def retrieve_result_callback(self, out: Any) -> Any:
            if isinstance(out, BaseException):
                raise out
            return super().retrieve_result_callback(out)

    if address:
        client = Client(address, timeout=30, set_as_default=False)
    else:
        local = {"n_workers": workers, "threads_per_worker": 1, "dashboard_address": None}
        client = Client(set_as_default=False, **local)
    with client:
        client.wait_for_workers(1, timeout=60)
        yield Pool(
            "dask",
            {"backend": Backend(client=client)},
            sum(client.ncores().values()),
            client.scheduler_info,
        )


@contextlib.contextmanager
def _ray(address: str | None, workers: int) -> Iterator[Pool]:
    with _installed("ray", "ray"):
        import ray
        from ray.util.joblib import register_ray

    local = {} if address else {"num_cpus": workers, "include_dashboard": False}
    ray.init(address=address or "local", log_to_driver=False, **local)
    try:
        register_ray()
        cores = int(ray.cluster_resources()["CPU"])
        yield Pool("ray", {"backend": "ray"}, cores, ray.cluster_resources)
    finally:
        ray.shutdown()
