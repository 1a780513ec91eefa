"""Every public function refuses bad arguments by a ``ValueError`` that names the argument."""

import importlib
import pkgutil
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.database import InMemoryExampleDatabase

import tests.bad_input as areas

AREAS = [
    importlib.import_module(f"tests.bad_input.{module.name}")
    for module in pkgutil.iter_modules(areas.__path__)
]
CASES = [case for area in AREAS for case in getattr(area, "CASES", [])]


def dotted(case):
    return f"{case.call.__module__}.{case.call.__qualname__}"


def names(case):
    return [f"{dotted(case)}:{argument}" for argument in case.bad]


@pytest.mark.parametrize("case", CASES, ids=dotted)
def test_the_valid_arguments_are_taken(case):
    case.call(**case.valid)


@pytest.mark.parametrize(
    ("case", "argument"),
    [(case, argument) for case in CASES for argument in case.bad],
    ids=[name for case in CASES for name in names(case)],
)
# With a database, because hypothesis looks for a missing one through all tests before, and there are many.
@settings(max_examples=20, database=InMemoryExampleDatabase())
@given(data=st.data())
def test_bad_arguments_are_named(case, argument, data):
    value = data.draw(case.bad[argument])
    with pytest.raises(ValueError, match=rf"\b{re.escape(argument)}\b"):
        case.call(**{**case.valid, argument: value})
