"""What an experiment is, and the registry of all of them by name.

An experiment is a pure function of a frozen configuration and of seeds.  Each module of this package
registers those of one paper when it is imported::

    @dataclass(frozen=True)
    class Config:
        neurons: int
        scale: float

    def run(config, seeds, device):
        return [{"loss": one_run(config, seed)} for seed in seeds]

    register(Experiment("boursier2022-figure-6", "Loss of ...", Config(60, 1e-6), Config(6, 1e-3), run))
"""

from __future__ import annotations

import dataclasses
import difflib
import importlib
import inspect
import math
import pkgutil
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from lib.checks import whole

NAME = re.compile(r"[a-z0-9]+([-.][a-z0-9]+)*")
PACKAGE = __name__.rpartition(".")[0]
CARRIERS = ("registry", "__main__")  # modules of this package that define no experiment


@dataclasses.dataclass(frozen=True)
class Experiment:
    """A named experiment: its configurations, and the function that runs seeds of one of them.

    ``full`` (the paper's size), ``quick`` (reduced; for chapters and tests) and the further ``variants``
    are instances of one frozen dataclass of plain values: numbers, words, ``None`` and tuples of these.
    ``run(config, seeds, device)`` returns a dictionary of plain JSON values for each seed, in the order of
    the seeds; it draws, plots and writes nothing else, and the metrics of a seed do not depend on the
    other seeds.  ``seeds`` is how many seeds a full run has, ``chunk`` how many of them one call of
    ``run`` takes (those that train all seeds in one batch profit from more).

    Raises ``ValueError`` for a name that cannot be a file name, an empty title, and configurations
    that are no frozen dataclasses of plain values or differ in type.

    Example:

    >>> @dataclasses.dataclass(frozen=True)
    ... class Config:
    ...     sides: int
    >>> def roll(config, seeds, device):
    ...     return [{"eyes": 1 + seed % config.sides} for seed in seeds]
    >>> die = Experiment("die", "A die", Config(sides=20), Config(sides=6), roll)
    >>> die.run(die.quick, [0, 7], "cpu")
    [{'eyes': 1}, {'eyes': 2}]
    >>> sorted(die.configurations)
    ['full', 'quick']
    """

    name: str
    title: str
    full: Any
    quick: Any
    run: Callable[[Any, Sequence[int], str], list[dict]]
    variants: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    seeds: int = 10
    chunk: int = 1

    def __post_init__(self) -> None:
        for name, value in (("name", self.name), *(("variants", variant) for variant in self.variants)):
            if not (isinstance(value, str) and NAME.fullmatch(value)):
                raise ValueError(
                    f"{name} is {value!r}, allowed: small letters and digits, with - or . between"
                )
        if taken := {"full", "quick", "all"} & set(self.variants):
            raise ValueError(f"variants holds {min(taken)!r}, which has a meaning of its own")
        if not (isinstance(self.title, str) and self.title.strip() and "\n" not in self.title):
            raise ValueError(f"title is {self.title!r}, allowed: one line")
        if not inspect.isfunction(self.run):
            raise ValueError(f"run is {self.run!r}, allowed: a function of config, seeds and device")
        for variant, config in self.configurations.items():
            argument = variant if variant in ("full", "quick") else f"variants[{variant!r}]"
            _check_config(argument, config)
            if type(config) is not type(self.full):
                raise ValueError(
                    f"{argument} is a {type(config).__name__}, full a {type(self.full).__name__}"
                )
        whole("seeds", self.seeds, 1)
        whole("chunk", self.chunk, 1)

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


def _check_config(name: str, config: Any) -> None:
    """Raise ``ValueError`` unless ``config`` is a frozen dataclass whose fields JSON can hold."""
    parameters = getattr(type(config), "__dataclass_params__", None)
    if parameters is None or not parameters.frozen:
        raise ValueError(f"{name} is {config!r}, allowed: an instance of a frozen dataclass")
    for field in dataclasses.fields(config):
        value = getattr(config, field.name)
        if not _is_plain(value):
            raise ValueError(
                f"{name}.{field.name} is {value!r}, allowed: finite numbers, words, None, tuples of these"
            )


def _is_plain(value: Any) -> bool:
    if type(value) is tuple:
        return all(_is_plain(entry) for entry in value)
    return type(value) in (bool, int, str, type(None)) or (type(value) is float and math.isfinite(value))


REGISTRY: dict[str, Experiment] = {}


def register(experiment: Experiment) -> Experiment:
    """Put the experiment into the registry, and return it.

    The same name may be registered again from the same module (which happens when it is reloaded); from
    another module it raises ``ValueError`` that names the experiment, and so does anything else than an
    :class:`Experiment`.

    Example:

    >>> @dataclasses.dataclass(frozen=True)
    ... class Config:
    ...     sides: int = 6
    >>> def roll(config, seeds, device):
    ...     return [{"eyes": 1 + seed % config.sides} for seed in seeds]
    >>> die = register(Experiment("die", "A die", Config(), Config(), roll))
    >>> die is REGISTRY.pop("die")
    True
    """
    if not isinstance(experiment, Experiment):
        raise ValueError(f"experiment is {experiment!r}, allowed: an Experiment")
    known = REGISTRY.get(experiment.name)
    if known is not None and known.run.__module__ != experiment.run.__module__:
        raise ValueError(
            f"experiment {experiment.name!r} is registered by {known.run.__module__} already, "
            f"and again by {experiment.run.__module__}"
        )
    REGISTRY[experiment.name] = experiment
    return experiment


def find(name: str) -> Experiment:
    """Return the experiment of that name; an unknown one raises ``ValueError`` with the nearest names.

    Example:

    >>> find("boursier")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: name is 'boursier', which is no experiment; ...
    """
    if isinstance(name, str):
        if name not in REGISTRY:
            _import(module for module in _modules() if name.startswith(f"{module.partition('_')[0]}-"))
        if name in REGISTRY:
            return REGISTRY[name]
    nearest = difflib.get_close_matches(str(name), load(), n=3, cutoff=0.0)
    raise ValueError(f"name is {name!r}, which is no experiment; nearest: {', '.join(nearest) or 'none'}")


def load() -> dict[str, Experiment]:
    """Import every module of this package that registers experiments; return the registry sorted by name.

    Example:

    >>> all(name == experiment.name for name, experiment in load().items())
    True
    """
    _import(_modules())
    return dict(sorted(REGISTRY.items()))


def _modules() -> list[str]:
    """The modules of this package that register experiments; their names begin with the key of the paper."""
    found = pkgutil.iter_modules(importlib.import_module(PACKAGE).__path__)
    return [module.name for module in found if module.name not in CARRIERS]


def _import(modules: Iterable[str]) -> None:
    for module in modules:
        importlib.import_module(f"{PACKAGE}.{module}")
