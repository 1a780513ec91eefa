"""What one worker does: some seeds of one configuration, with a fixed number of threads.

Whatever goes wrong in an experiment comes back as a result too, with its traceback.  When several seeds that
run in one batch fail together, each is tried alone, so that those that can finish do.
"""

from __future__ import annotations

import contextlib
import json
import sys
import time
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from threadpoolctl import threadpool_limits

from lib.checks import choice, whole
from lib.experiments.digests import digests_at_first_use
from lib.experiments.provenance import hardware, peak_memory, versions, without_paths
from lib.experiments.registry import Experiment
from lib.experiments.sealed import as_json

DEVICES = ("cpu", "cuda")


@dataclass(frozen=True)
class Job:
    """Some seeds of a configuration: what is sent to a worker.

    ``modules`` are the digests of the code that the sender has; a worker that has other code refuses.
    Raises ``ValueError`` for what is no experiment, an unknown variant or device, seeds that are no whole
    numbers, and less than one thread.

    Example:

    >>> from lib.experiments.registry import Experiment
    >>> def double(config, seeds, device):
    ...     return [{"twice": 2 * seed} for seed in seeds]
    >>> @dataclass(frozen=True)
    ... class Config:
    ...     pass
    >>> Job(Experiment("twice", "Twice", Config(), Config(), double), "quick", (1, 2)).seeds
    (1, 2)
    """

    experiment: Experiment
    variant: str
    seeds: tuple[int, ...]
    device: str = "cpu"
    threads: int = 1
    modules: tuple[tuple[str, str], ...] | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.experiment, Experiment):
            raise ValueError(f"experiment is {self.experiment!r}, allowed: an Experiment")
        self.experiment.config(self.variant)
        check_seeds(self.seeds)
        choice("device", self.device, DEVICES)
        whole("threads", self.threads, 1)


def check_seeds(seeds: Sequence[int]) -> tuple[int, ...]:
    """Return ``seeds`` as a tuple; raise ``ValueError`` unless they are one or more different whole numbers.

    Example:

    >>> check_seeds(range(3))
    (0, 1, 2)
    """
    try:
        numbers = tuple(whole("seeds", seed) for seed in seeds)
    except TypeError:
        raise ValueError(f"seeds is {seeds!r}, allowed: a sequence of whole numbers") from None
    if not numbers or len(set(numbers)) < len(numbers):
        raise ValueError(f"seeds is {seeds!r}, allowed: at least one whole number, each once")
    return numbers


def run_job(job: Job) -> dict[str, Any]:
    """Run the seeds of a job in this process.

    Returns a dictionary of JSON values: ``seeds`` that finished and their ``metrics``, ``failures`` (seed,
    error, traceback), ``seconds``, ``peak_memory_mib`` of the process, ``hardware`` and ``versions``.
    Raises ``ValueError`` for what is no job; all else that goes wrong is among the failures.

    Example:

    >>> from lib.experiments.registry import Experiment
    >>> def inverse(config, seeds, device):
    ...     return [{"inverse": 1 / seed} for seed in seeds]
    >>> @dataclass(frozen=True)
    ... class Config:
    ...     pass
    >>> result = run_job(Job(Experiment("inverse", "1/n", Config(), Config(), inverse), "full", (0, 4)))
    >>> result["seeds"], result["metrics"], result["failures"][0]["error"]
    ([4], [{'inverse': 0.25}], 'ZeroDivisionError: division by zero')
    """
    if not isinstance(job, Job):
        raise ValueError(f"job is {job!r}, allowed: a Job")
    begun = time.perf_counter()
    finished: dict[int, dict] = {}
    failures = []
    about: dict[str, Any] = {}
    with fixed_threads(job.threads):
        groups = [job.seeds] if len(job.seeds) == 1 else [job.seeds, *((seed,) for seed in job.seeds)]
        for seeds in groups:
            try:
                about = about or hardware(job.device)
                finished |= dict(zip(seeds, _metrics(job, seeds), strict=True))
            except Exception as error:
                if len(seeds) == 1:
                    failures.append({"seed": seeds[0], **failure(error)})
            if len(finished) == len(job.seeds):
                break
    return {
        "seeds": list(finished),
        "metrics": list(finished.values()),
        "failures": failures,
        "seconds": round(time.perf_counter() - begun, 3),
        "peak_memory_mib": peak_memory(),
        "hardware": about,
        "versions": versions(),
    }


def _metrics(job: Job, seeds: tuple[int, ...]) -> list[dict]:
    """The metrics of the seeds as they will be read back from a file."""
    experiment = job.experiment
    if job.modules is not None:
        here = digests_at_first_use(experiment.run.__module__)
        if other := sorted({name for name, _ in set(job.modules) ^ set(here.items())}):
            raise RuntimeError(
                f"this worker has other code than the command began with: {', '.join(other)}; either "
                "files changed since, or another machine has others: run again with the same code everywhere"
            )
    metrics = experiment.run(experiment.config(job.variant), seeds, job.device)
    if not isinstance(metrics, list) or [type(one) for one in metrics] != [dict] * len(seeds):
        raise TypeError(
            f"{experiment.name} returned {metrics!r:.200}, expected {len(seeds)} dictionaries in a list"
        )
    return json.loads(as_json(f"what {experiment.name} returned", metrics))


def failure(error: BaseException) -> dict[str, str]:
    """Return what is kept of an exception: ``error``, its last line, and ``traceback``, without folders.

    Raises ``ValueError`` for what is no exception.

    Example:

    >>> failure(KeyError("scale"))["error"]
    "KeyError: 'scale'"
    """
    if not isinstance(error, BaseException):
        raise ValueError(f"error is {error!r}, allowed: an exception")
    lines = "".join(traceback.format_exception(error))
    summary = traceback.format_exception_only(error)[-1].strip().partition("\n")[0]
    return {"error": without_paths(summary), "traceback": without_paths(lines)}


@contextlib.contextmanager
def fixed_threads(threads: int) -> Iterator[None]:
    """Let linear algebra, and torch if it is loaded, use that many threads inside the ``with`` block.

    Raises ``ValueError`` unless ``threads`` is a whole number from 1 on.

    Example:

    >>> import torch
    >>> with fixed_threads(1):
    ...     torch.get_num_threads()
    1
    """
    threads = whole("threads", threads, 1)
    torch = sys.modules.get("torch")
    before = torch.get_num_threads() if torch else threads
    with threadpool_limits(threads):
        if torch:
            torch.set_num_threads(threads)
        try:
            yield
        finally:
            if torch:
                torch.set_num_threads(before)
