"""What an experiment is, and the registry of all of them by name.

An experiment is a pure function of a frozen configuration and of seeds.  Each module of this package that is
named by a paper registers its experiments when it is imported.
"""

from __future__ import annotations

import copy
import dataclasses
import functools
import hashlib
import importlib
import json
import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import joblib

from lib.checks import choice
from lib.seeds import book_seed

ROOT = Path(__file__).resolve().parents[2]
DEVICES = ("cpu", "cuda")


def rounded(values: Any, digits: int = 4) -> Any:
    """Return numbers, in dictionaries, lists and arrays, with so many significant digits: records stay small.

    Arrays become lists; what is no float stays as it is.
    """
    if isinstance(values, Mapping):
        return {name: rounded(value, digits) for name, value in values.items()}
    if hasattr(values, "tolist"):
        return rounded(values.tolist(), digits)
    if isinstance(values, list | tuple):
        return [rounded(value, digits) for value in values]
    return float(f"{values:.{digits - 1}e}") if isinstance(values, float) else values


@dataclasses.dataclass(frozen=True)
class Experiment:
    """A named experiment: its configurations, and the function that runs seeds of one of them.

    ``full`` (the paper's size), ``quick`` (reduced; for chapters and tests) and the further ``variants``
    are instances of one frozen dataclass of plain values: finite numbers, words, ``None``, tuples of these.
    ``run(config, seeds, device)`` returns a dictionary of JSON values for each seed, in the order of the
    seeds; it draws, plots and writes nothing, and the metrics of a seed do not depend on the other seeds.
    ``fingerprint_of`` maps a configuration to one that takes about a second on the same paths of the code,
    without files of the reader: its metrics tell when the code has changed.  ``devices`` are those that
    ``run`` can use.
    """

    name: str
    title: str
    full: Any
    quick: Any
    run: Callable[[Any, Sequence[int], str], list[dict]]
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


def plain(config: Any) -> dict[str, Any]:
    """Return a configuration as JSON reads it back."""
    return json.loads(json.dumps(dataclasses.asdict(config)))


REGISTRY: dict[str, Experiment] = {}


def register(experiment: Experiment) -> None:
    """Put the experiment into the registry."""
    REGISTRY[experiment.name] = experiment


def load(paper: str = "") -> dict[str, Experiment]:
    """Import the modules of a paper, or of all papers; return the registry sorted by name."""
    for path in sorted(Path(__file__).parent.glob("[a-z]*[0-9]*.py")):
        if path.stem.startswith(paper):
            importlib.import_module(f"lib.experiments.{path.stem}")
    return dict(sorted(REGISTRY.items()))


def find(name: str) -> Experiment:
    """Return the experiment of that name, importing only its paper's modules.

    An unknown name raises ``ValueError`` with those there are.
    """
    load(name.partition("-")[0])
    return REGISTRY[name] if name in REGISTRY else REGISTRY[choice("name", name, load())]


def quick(name: str, seeds: Sequence[int] = (0, 1, 2)) -> list[dict]:
    """Return the metrics of the quick configuration for each seed, computed once per process.

    ``BOOK_SEED`` moves the seeds, :func:`lib.seeds.book_seed`.

    Raises ``ValueError`` for an unknown experiment and for seeds that are no whole numbers.
    """
    experiment = find(name)
    return copy.deepcopy(computed(experiment.run, experiment.quick, tuple(map(book_seed, seeds))))


@functools.cache
def computed(run: Callable, config: Any, seeds: tuple[int, ...]) -> list[dict]:
    """Return what ``run`` gives on the CPU for each seed, which is kept, so not to be changed."""
    with warnings.catch_warnings():
        # A busy disk is no news, and a page with anything on its standard error fails the build.
        warnings.filterwarnings("ignore", "Persisting input arguments")
        return _memory().cache(_run)(run, config, seeds)


def _run(run: Callable, config: Any, seeds: tuple[int, ...]) -> list[dict]:
    return run(config, seeds, "cpu")


@functools.cache
def _memory() -> joblib.Memory:
    """What the pages of a build share, in the folder that the variable names; without it nothing is kept."""
    folder = os.environ.get("LEARNING_DYNAMICS_COMPUTED")
    files = [ROOT / "constraints.txt", *sorted((ROOT / "lib").rglob("*.py"))]
    code = hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()[:16]
    return joblib.Memory(folder and Path(folder, code), verbose=0)
