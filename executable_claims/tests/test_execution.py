"""Pages are executed again when, and only when, something that they reach has changed: a real build."""

import re
import subprocess
import sys
import time

import pytest

from executable_claims.claims.configuration import find_book
from executable_claims.run.chapters import cells, trees
from executable_claims.run.dependencies import key, reach


def run(*command, **options):
    return subprocess.run([sys.executable, *command], capture_output=True, text=True, timeout=280, **options)


def test_names_are_followed_through_packages_functions_and_attributes(tmp_path):
    (tmp_path / "pyproject.toml").write_text("[tool.executable-claims]\n")
    package = tmp_path / "lib" / "part"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("from .inner import f")
    (package / "inner.py").write_text(
        "from dataclasses import dataclass\nimport lib.late as late\nA, B = 1, 2\n"
        "def f():\n    from torch import nn\n    return late.g(A)\n"
        "def unused():\n    return lib.other\n@dataclass\nclass C:\n    x: int = B\n"
    )
    (tmp_path / "lib" / "late.py").write_text("def g(x):\n    return h(x)\nh = abs\ndef k(): pass\nprint()\n")
    (tmp_path / "lib" / "other.py").write_text("import numpy")
    page = tmp_path / "page.md"
    page.write_text(
        PAGE.replace("from lib.NAME import VALUE", "%matplotlib inline\nfrom lib.part import f\nf()")
    )
    code = reach(page, find_book(tmp_path))
    reached = {("lib.part.inner", name) for name in ("f", "A", "B")} | {("lib.late", "g"), ("lib.late", "h")}
    reached |= {("lib.part", "f"), ("lib.part.inner", "late")}
    assert code.names == reached, "A and B are bound in one statement"
    assert set(code.modules) == {"lib.part", "lib.part.inner", "lib.late"}
    assert code.outside >= {"torch"} and "numpy" not in code.outside
    (tmp_path / "lib" / "late.py").write_text("from math import ceil as h\ndef g(x):\n    return h(x)\n")
    changed = reach(page, find_book(tmp_path)).modules["lib.late"]["h"]
    assert changed != code.modules["lib.late"]["h"], "where a name comes from counts"


@pytest.mark.parametrize(
    ("module", "before", "after", "code"),
    [
        ("one", "def f(): return 1", "def f(): return 2", "import one\n\ngetattr(one, 'f')()"),
        ("one", "def __getattr__(n): return 1", "def __getattr__(n): return 2", "import one\n\none.g"),
        ("one", "import two\nclass A(two.B): x = 1", "import two\nclass A(two.B): x = 2", "import one"),
        ("part/beside", "X = 1", "X = 2", "from beside import X"),
        ("part/beside", "X = 1", "X = 1  # a remark\ndef f(): pass", ""),
    ],
    ids=["by a text", "by the module's own function", "by a base", "beside the page", "not at all"],
)
def test_what_a_page_reaches_in_less_plain_ways_is_in_its_key(tmp_path, module, before, after, code):
    (tmp_path / "pyproject.toml").write_text("[tool.executable-claims]\n")
    (tmp_path / "part").mkdir()
    (tmp_path / "two.py").write_text("class B:\n    def __init_subclass__(cls): print(cls.x)\n")
    page, path = tmp_path / "part" / "page.md", tmp_path / f"{module}.py"
    page.write_text(PAGE.replace("from lib.NAME import VALUE", code))
    path.write_text(f"{before}\n")
    first = key(page, find_book(tmp_path))
    path.write_text(f"{after}\n")
    assert (key(page, find_book(tmp_path)) != first) == bool(code)


def test_the_versions_of_the_packages_that_a_page_imports_are_in_its_key(tmp_path, monkeypatch):
    (tmp_path / "pyproject.toml").write_text("[tool.executable-claims]\n")
    page = tmp_path / "page.md"
    for imported, changes in (("import numpy", True), ("import json", False)):
        page.write_text(PAGE.replace("from lib.NAME import VALUE", imported))
        trees.cache_clear()
        cells.cache_clear()
        with monkeypatch.context() as patch:
            first = key(page, find_book(tmp_path))
            patch.setattr("executable_claims.run.dependencies.version", lambda name: "0.0")
            assert (key(page, find_book(tmp_path)) != first) == changes


# A real build

PAGE = """---
jupytext:
  text_representation:
    extension: .md
    format_name: myst
    format_version: 0.13
kernelspec:
  display_name: Python 3
  language: python
  name: python3
---
# Page

```{code-cell} python3
from lib.NAME import VALUE

print("outcome", VALUE)
```
"""
CONF = """
extensions = ["myst_nb", "executable_claims.site"]
nb_execution_mode = "cache"
nb_execution_raise_on_error = True
exclude_patterns = ["_build"]
"""
TELL = """
from executable_claims.run.execution import seconds_taken


def setup(app):
    app.connect("build-finished", lambda app, failed: print("took", seconds_taken(app.env, "one")))
"""


@pytest.fixture
def tiny(tmp_path):
    """A book of two pages, each with a module of its own; building it returns what was executed and shown."""
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "__init__.py").write_text("")
    (tmp_path / "conf.py").write_text(CONF)
    (tmp_path / "pyproject.toml").write_text('[tool.executable-claims]\npages = "."\n')
    (tmp_path / "index.md").write_text("# Book\n\n```{toctree}\none\ntwo\n```\n")
    for page in ("one", "two"):
        (tmp_path / "lib" / f"{page}.py").write_text("VALUE = 1\n")
        (tmp_path / f"{page}.md").write_text(PAGE.replace("NAME", page))

    def build(*options):
        done = run("-m", "sphinx", "-W", "-b", "html", *options, ".", "_build/html", cwd=tmp_path)
        pages = [tmp_path / "_build" / "html" / f"{page}.html" for page in ("one", "two")]
        text = "".join(page.read_text() for page in pages if page.exists())
        return sorted(re.findall(r"executed (\w+) in", done.stdout)), re.findall(r"outcome (\d)", text), done

    build.root = tmp_path
    return build


def test_only_the_pages_that_import_what_has_changed_are_executed_again(tiny):
    executed, shown, done = tiny()
    assert (executed, shown, done.returncode) == (["one", "two"], ["1", "1"], 0), done.stderr
    assert "TCP" not in done.stderr
    (tiny.root / "lib" / "two.py").write_text("VALUE = 2\n")
    assert tiny()[:2] == (["two"], ["1", "2"])
    (tiny.root / "one.md").write_text(PAGE.replace("NAME", "one") + "\nMore prose.\n")
    assert tiny("-E")[:2] == ([], ["1", "2"])
    (tiny.root / "lib" / "two.py").write_text('"""A remark."""\nVALUE = 2  # two\n\n\ndef unused(): ...\n')
    assert tiny()[:2] == ([], ["1", "2"]), "a remark and what is not reached change nothing"
    (tiny.root / "lib" / "two.py").write_text("VALUE = 1\n")
    assert tiny()[:2] == ([], ["1", "1"]), "what was there before is not executed again"


def test_the_time_of_a_page_is_that_of_its_last_execution(tiny):
    (tiny.root / "conf.py").write_text(CONF + TELL)
    (tiny.root / "one.md").write_text(PAGE.replace("print", "import time\n\ntime.sleep(2)\nprint"))
    (tiny.root / "lib" / "NAME.py").write_text("VALUE = 1\n")

    def took(*options):
        return float(re.search(r"^took ([\d.]+)$", tiny(*options)[2].stdout, re.M)[1])

    start = time.perf_counter()
    first = took()
    assert 2 < first < time.perf_counter() - start
    assert took("-E") == first, "the second build only reads the outcome"


def test_all_pages_run_and_every_failure_is_shown(tiny):
    broken = PAGE.replace("print", "1 / 0\nprint").replace("NAME", "one")
    (tiny.root / "one.md").write_text(broken)
    executed, shown, done = tiny("--keep-going")
    assert (executed, shown) == (["two"], []) and done.returncode
    assert "ZeroDivisionError" in done.stderr and "execution failed of one" in done.stderr


def test_an_outcome_is_not_kept_if_what_it_depends_on_changed_meanwhile(tiny):
    touches = "from pathlib import Path\n\nPath('lib/one.py').write_text('VALUE = 3')\nprint"
    (tiny.root / "one.md").write_text(PAGE.replace("print", touches).replace("NAME", "one"))
    executed, _, done = tiny()
    assert executed == ["two"] and done.returncode and "changed while it was executed" in done.stderr
    executed, shown, done = tiny()
    assert (executed, shown, done.returncode) == (["one"], ["3", "1"], 0)
