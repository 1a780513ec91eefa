"""What an experiment is, a pure function of a configuration and a seed, and where each is found."""

import copy
import dataclasses
import functools
import hashlib
import os
import pkgutil
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import joblib

from lib.checks import choice
from lib.seeds import book_seed

ROOT = Path(__file__).resolve().parents[1]
DEVICES = ("cpu", "cuda")
EXPERIMENTS = {  # where each is defined
    "boursier2022-figure-6": "experiments.high_dimension:FIGURE_6",
    "combes2018-figure-5": "experiments.adversarial:FIGURE_5",
    "combes2018-table-2": "experiments.light:TABLE_2",
    "min2024-fall": "experiments.alignment_fall:FALL",
    "min2024-figure-12": "experiments.two_digits:FIGURE_12",
    "min2024-figure-5": "experiments.two_digits:FIGURE_5",
    "ordinary-training": "experiments.ordinary_training:ORDINARY",
    "pezeshki2021-figure-2": "experiments.moons:FIGURE_2",
    "pezeshki2021-figure-3": "experiments.moons:FIGURE_3",
    "pezeshki2021-table-1": "experiments.coloured_digits:TABLE_1",
    "sarussi2021-census": "experiments.fates:CENSUS",
    "sarussi2021-figure-2": "experiments.clusters:FIGURE_2",
    "sarussi2021-figure-6": "experiments.clusters:FIGURE_6",
    "sarussi2021-figure-8": "experiments.regimes:FIGURE_8",
    "sarussi2021-figure-9": "experiments.regimes:FIGURE_9",
    "sarussi2021-table": "experiments.clusters:TABLE",
    "sarussi2021-waiting": "experiments.fates:WAITING",
}


@dataclasses.dataclass(frozen=True)
class Experiment:
    """A named experiment: its configurations, and the function that runs seeds of one of them.

    ``full`` (the paper's size), ``quick`` (reduced; for chapters and tests) and the further ``variants``
    are instances of one frozen dataclass of plain values: finite numbers, words, ``None``, tuples of these.
    ``metrics_of(config, seed, device)`` returns a dictionary of JSON values; it plots and writes nothing.
    ``fingerprint_of`` maps a configuration to one that takes about a second on the same paths of the code,
    without files of the reader: its metrics tell when the code has changed.  ``devices`` are those that
    this can use.
    """

    name: str
    title: str
    full: Any
    quick: Any
    metrics_of: Callable[[Any, int, str], dict]
    fingerprint_of: Callable[[Any], Any]
    variants: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    devices: tuple[str, ...] = DEVICES

    @property
    def configurations(self) -> dict[str, Any]:
        """All configurations by the name of the variant, ``full`` and ``quick`` first."""
        return {"full": self.full, "quick": self.quick, **self.variants}

    def config(self, variant: str = "full") -> Any:
        """The configuration of that variant; an unknown one raises ``ValueError`` with those there are."""
        return self.configurations[choice("variant", variant, self.configurations)]

    def run(self, config: Any, seeds: Iterable[int], device: str = "cpu") -> list[dict]:
        """The metrics of each seed, in their order."""
        return [self.metrics_of(config, seed, device) for seed in seeds]


def find(name: str) -> Experiment:
    """Return the experiment of that name, or raise ``ValueError`` with those there are."""
    return pkgutil.resolve_name(EXPERIMENTS[choice("name", name, EXPERIMENTS)])


def quick(name: str, seeds: Sequence[int] = (0, 1, 2)) -> list[dict]:
    """Return the metrics of the quick configuration for each seed, computed once per process.

    ``BOOK_SEED`` moves the seeds.  Raises ``ValueError`` for an unknown experiment and bad seeds.
    """
    experiment = find(name)
    return [copy.deepcopy(computed(experiment.metrics_of, experiment.quick, book_seed(k))) for k in seeds]


@functools.cache
def computed(metrics_of: Callable, config: Any, seed: int) -> dict:
    """Return the metrics of a seed on the CPU, which are kept, so not to be changed.

    The pages of a build share them in the folder ``LEARNING_DYNAMICS_COMPUTED``; without it none is written.
    """
    folder = os.environ.get("LEARNING_DYNAMICS_COMPUTED")
    memory = joblib.Memory(folder and Path(folder, _digest()), verbose=0)
    with warnings.catch_warnings():
        # A busy disk is no news, and a page with anything on its standard error fails the build.
        warnings.filterwarnings("ignore", "Persisting input arguments")
        return memory.cache(metrics_of)(config, seed, "cpu")


def _digest() -> str:
    """A digest of the code, and of the versions of packages."""
    code = [path for name in ("lib", "experiments") for path in sorted((ROOT / name).rglob("*.py"))]
    return hashlib.sha256(b"".join(map(Path.read_bytes, [ROOT / "constraints.txt", *code]))).hexdigest()[:16]
