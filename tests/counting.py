"""Experiments that count their calls in a folder, for the tests of records and of the command.

The folder is that of the environment variable COUNTING.  A seed that was called leaves a file a call, with
the number of the process.
"""

import os
import time
import uuid
from dataclasses import dataclass, replace
from pathlib import Path

from experiments.registry import EXPERIMENTS, Experiment

POWER = 2


@dataclass(frozen=True)
class Counting:
    """What happens to which seeds: slow ones take ``pause`` seconds; only ``counted`` calls leave a file."""

    scale: float = 1.0
    pause: float = 0.0
    failing_once: tuple[int, ...] = ()
    dying_once: tuple[int, ...] = ()
    counted: bool = True


def calls(seed, folder=None):
    """The numbers of the processes that were asked for this seed."""
    folder = Path(folder or os.environ["COUNTING"])
    return [int(path.read_text()) for path in sorted(folder.glob(f"{seed}-*.call"))]


def metrics_of(config, seed, device):
    metrics = {"square": config.scale * seed**POWER, "curve": [seed, config.scale / (1 + POWER)]}
    if not config.counted:
        return metrics
    before = len(calls(seed))
    name = f"{seed}-{uuid.uuid4().hex}"
    folder = Path(os.environ["COUNTING"])
    (folder / f"{name}.writing").write_text(str(os.getpid()))
    (folder / f"{name}.writing").rename(folder / f"{name}.call")
    time.sleep(config.pause)
    if seed in config.dying_once and not before:
        os._exit(3)
    if seed in config.failing_once and not before:
        raise ArithmeticError(f"seed {seed} fails")
    return metrics


COUNT = Experiment(
    "counting",
    "Counts its calls",
    full=Counting(),
    quick=Counting(scale=0.1),
    metrics_of=metrics_of,
    fingerprint_of=lambda config: replace(config, counted=False),
    variants={
        "slow": Counting(pause=0.3),
        "failing-once": Counting(failing_once=(1, 2)),
        "dying-once": Counting(dying_once=(1,)),
    },
    devices=("cpu",),
)
EXPERIMENTS["counting"] = "tests.counting:COUNT"
