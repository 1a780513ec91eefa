"""What an experiment is, and the registry of all of them by name.

An experiment is a pure function of a frozen configuration and of seeds.  Each module of this package that is
named by a paper registers its experiments when it is imported.
"""

from __future__ import annotations

import copy
import dataclasses
import difflib
import functools
import hashlib
import importlib
import json
import math
import os
import pkgutil
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import joblib

from lib.checks import whole
from lib.seeds import book_seed

ROOT = Path(__file__).resolve().parents[2]
NAME, WORDS = re.compile(r"[a-z0-9]+([-.][a-z0-9]+)*"), "small letters and digits, with - or . between"
PACKAGE = __name__.rpartition(".")[0]
PAPERS = re.compile(r"[a-z]+\d{4}")  # how the names of the modules begin that hold experiments
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


def _itself(config: Any) -> Any:
    return config


@dataclasses.dataclass(frozen=True)
class Experiment:
    """A named experiment: its configurations, and the function that runs seeds of one of them.

    ``full`` (the paper's size), ``quick`` (reduced; for chapters and tests) and the further ``variants``
    are instances of one frozen dataclass of plain values: finite numbers, words, ``None``, tuples of these.
    ``run(config, seeds, device)`` returns a dictionary of JSON values for each seed, in the order of the
    seeds; it draws, plots and writes nothing, and the metrics of a seed do not depend on the other seeds.
    ``fingerprint_of`` maps a configuration to one that takes about a second on the same paths of the code,
    without files of the reader: its metrics tell when the code has changed.  ``seeds`` is how many seeds a
    full run has, ``devices`` those that ``run`` can use.

    Raises ``ValueError`` for a name that cannot be a file name, and for other configurations.
    """

    name: str
    title: str
    full: Any
    quick: Any
    run: Callable[[Any, Sequence[int], str], list[dict]]
    fingerprint_of: Callable[[Any], Any] = _itself
    variants: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    seeds: int = 10
    devices: tuple[str, ...] = DEVICES

    def __post_init__(self) -> None:
        for name, value in (("name", self.name), *(("variants", variant) for variant in self.variants)):
            if not (isinstance(value, str) and NAME.fullmatch(value)):
                raise ValueError(f"{name} is {value!r}, allowed: {WORDS}")
        for variant, config in self.configurations.items():
            parameters = getattr(type(config), "__dataclass_params__", None)
            if parameters is None or not parameters.frozen or type(config) is not type(self.full):
                raise ValueError(f"{variant} is {config!r}, allowed: instances of one frozen dataclass")
            for field in dataclasses.fields(config):
                if not _is_plain(value := getattr(config, field.name)):
                    raise ValueError(
                        f"{variant}.{field.name} is {value!r}, allowed: finite numbers, words, None, tuples"
                    )

    @property
    def configurations(self) -> dict[str, Any]:
        """All configurations by the name of the variant, ``full`` and ``quick`` first."""
        return {"full": self.full, "quick": self.quick, **self.variants}

    def config(self, variant: str = "full") -> Any:
        """The configuration of that variant; an unknown one raises ``ValueError`` with those there are."""
        if variant not in self.configurations:
            raise ValueError(
                f"variant is {variant!r}, allowed for {self.name}: {', '.join(self.configurations)}"
            )
        return self.configurations[variant]


def _is_plain(value: Any) -> bool:
    if type(value) is tuple:
        return all(map(_is_plain, value))
    return type(value) in (bool, int, str, type(None)) or (type(value) is float and math.isfinite(value))


def plain(config: Any) -> dict[str, Any]:
    """Return a configuration as JSON reads it back."""
    return json.loads(json.dumps(dataclasses.asdict(config)))


REGISTRY: dict[str, Experiment] = {}


def register(experiment: Experiment) -> Experiment:
    """Put the experiment into the registry, and return it.

    The same name may be registered again from the same module (which happens when it is reloaded); from
    another one it raises ``ValueError`` that names both.
    """
    known = REGISTRY.get(experiment.name)
    if known is not None and known.run.__module__ != experiment.run.__module__:
        raise ValueError(
            f"experiment {experiment.name!r} is registered by {known.run.__module__} already, "
            f"and again by {experiment.run.__module__}"
        )
    REGISTRY[experiment.name] = experiment
    return experiment


def find(name: str) -> Experiment:
    """Return the experiment of that name; an unknown one raises ``ValueError`` with the nearest names."""
    if name not in REGISTRY:
        _import(lambda module: str(name).startswith(f"{module.partition('_')[0]}-"))
    if name in REGISTRY:
        return REGISTRY[name]
    nearest = difflib.get_close_matches(str(name), load(), n=3, cutoff=0.0)
    raise ValueError(f"name is {name!r}, which is no experiment; nearest: {', '.join(nearest) or 'none'}")


def load() -> dict[str, Experiment]:
    """Import every module of this package that registers experiments; return the registry sorted by name."""
    _import(lambda module: True)
    return dict(sorted(REGISTRY.items()))


def _import(wanted: Callable[[str], bool]) -> None:
    """Import the modules of this package that are named by the key of a paper, as far as they are wanted."""
    for module in pkgutil.iter_modules([str(Path(__file__).parent)]):
        if PAPERS.match(module.name) and wanted(module.name):
            importlib.import_module(f"{PACKAGE}.{module.name}")


def quick(name: str, seeds: Sequence[int] = (0, 1, 2)) -> list[dict]:
    """Return the metrics of the quick configuration for each seed, computed once per process.

    ``BOOK_SEED`` moves the seeds, :func:`lib.seeds.book_seed`.

    Raises ``ValueError`` for an unknown experiment and for seeds that are not one or more whole numbers.
    """
    experiment = find(name)
    if isinstance(seeds, str) or not isinstance(seeds, Sequence) or not seeds:
        raise ValueError(f"seeds is {seeds!r}, allowed: a sequence of at least one seed")
    chosen = [book_seed(whole("seeds", seed)) for seed in seeds]
    return copy.deepcopy(computed(experiment.run, experiment.quick, chosen))


_COMPUTED: dict[tuple[Callable, Any], dict[int, dict]] = {}


def computed(run: Callable, config: Any, seeds: Sequence[int]) -> list[dict]:
    """Return what ``run`` gives on the CPU for each seed, which is kept, so not to be changed."""
    known = _COMPUTED.setdefault((run, config), {})
    if missing := tuple(seed for seed in seeds if seed not in known):
        with warnings.catch_warnings():
            # A busy disk is no news, and a page with anything on its standard error fails the build.
            warnings.filterwarnings("ignore", "Persisting input arguments")
            known.update(zip(missing, _runner()(run, config, missing), strict=True))
    return [known[seed] for seed in seeds]


def _run(run: Callable, config: Any, seeds: tuple[int, ...]) -> list[dict]:
    return run(config, seeds, "cpu")


@functools.cache
def _runner() -> Callable:
    """What runs seeds: once for all pages where the variable names a folder, as in a build of the book."""
    folder = os.environ.get("LEARNING_DYNAMICS_COMPUTED")
    if not folder:
        return _run
    files = [ROOT / "constraints.txt", *sorted((ROOT / "lib").rglob("*.py"))]
    code = hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()[:16]
    return joblib.Memory(Path(folder, code), verbose=0).cache(_run)
