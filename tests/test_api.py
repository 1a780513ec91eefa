"""The page of the library: what its tables name exists, and every function that they name is shown."""

import importlib
import re
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[1] / "book" / "api.md").read_text(encoding="utf-8")
NAMED = sorted(set(re.findall(r"\{py:func\}`~(lib\.[\w.]+)`", PAGE)))
SHOWN = re.findall(r"automodule:: (\S+)", PAGE)


@pytest.mark.parametrize("name", NAMED)
def test_what_the_tables_name_is_shown(name):
    module, function = name.rsplit(".", 1)
    assert module in SHOWN
    assert getattr(importlib.import_module(module), function).__module__ == module


def test_a_module_s_heading_is_its_name():
    assert re.findall(r"^### (\S+)\n\n```\{eval-rst\}\n\.\. automodule:: (\S+)", PAGE, re.M) == [
        (name, name) for name in SHOWN
    ]
