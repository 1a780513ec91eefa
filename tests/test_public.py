"""Every public name of lib has an example, and every public function a case of bad input."""

import importlib
import inspect
import pkgutil

import pytest

import lib
from tests.test_bad_input import AREAS, CASES, dotted

# Functions without bad input of their own, with the reason.
EXEMPT = {name: why for area in AREAS for name, why in getattr(area, "EXEMPT", {}).items()}


def public():
    """Return all public functions and classes of lib by dotted name."""
    found = {}
    for module in pkgutil.walk_packages(lib.__path__, "lib."):
        for name, value in vars(importlib.import_module(module.name)).items():
            kind = inspect.isfunction(value) or inspect.isclass(value)
            if kind and not name.startswith("_") and value.__module__ == module.name:
                found[f"{module.name}.{name}"] = value
    return found


PUBLIC = public()
CHECKING = {
    name for name, value in PUBLIC.items() if inspect.isfunction(value) or "__post_init__" in vars(value)
}


@pytest.mark.parametrize("name", sorted(PUBLIC))
def test_every_public_name_has_an_example(name):
    assert ">>> " in (PUBLIC[name].__doc__ or "")


@pytest.mark.parametrize("name", sorted(CHECKING))
def test_every_public_function_has_a_case_or_a_reason(name):
    assert name in EXEMPT or name in {dotted(case) for case in CASES}


def test_reasons_are_given_for_what_exists():
    assert set(EXEMPT) <= set(PUBLIC) and all(len(why) > 10 for why in EXEMPT.values())
