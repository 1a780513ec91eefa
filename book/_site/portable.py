"""Packs the book's code into one wheel, and writes the cell by which a downloaded notebook installs it.

The wheel holds one package: lib, experiments, the engine, the ledger and the records, as they lie in the
repository.  Importing it lets all of these be found.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from provenance import ROOT, web_address
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from wheel.wheelfile import WheelFile

from executable_claims.claims.configuration import START, find_book
from executable_claims.run.dependencies import dependencies, digest

PACKAGE = "learning_dynamics_executed"
FOLDER = "_static/wheels"
HELD = (
    "pyproject.toml",
    *("lib/**/*.py", "experiments/**/*.py", "experiments/*.html", "results/records/**/*.json"),
    *("executable_claims/*.py", "executable_claims/claims/*.py", "executable_claims/run/*.py"),
    *("book/claims/*.yml", "book/paper_values/*.yml"),
)
BEGIN = f'''"""The code of the book, its ledger and its records: importing this lets them be found."""

import os
import sys
from pathlib import Path

FOLDER = str(Path(__file__).parent)
sys.path.insert(0, FOLDER)
os.environ.setdefault("{START}", FOLDER)
'''
METADATA = "Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
TAGS = "Wheel-Version: 1.0\nGenerator: book\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
# What every Jupyter has.
THERE = {"ipython", "ipykernel", "matplotlib-inline"}
CELL = """# The book's code is here in a copy of its repository; elsewhere this installs it, with its needs.
from importlib.util import find_spec
from pathlib import Path

if find_spec("lib") is None:
    if find_spec("{package}") is None:
        wheel = "{wheel}"
        folders = [Path(), *(parent / "{folder}" for parent in Path.cwd().parents)]
        places = [str(folder / wheel) for folder in folders if (folder / wheel).exists()] + {addresses}
        assert places, f"beside this notebook has to lie {{wheel}}, from {folder} of the book"
        %pip install --quiet {{places[0]}} {needed}
    import {package}"""


@cache
def contents() -> dict[str, bytes]:
    """What the wheel's package holds, by its place there."""
    paths = sorted({path for pattern in HELD for path in ROOT.glob(pattern)})
    held = {path.relative_to(ROOT).as_posix(): path.read_bytes() for path in paths}
    return {"__init__.py": BEGIN.encode(), **held}


@cache
def version() -> str:
    """The version of the wheel, another one for every other content."""
    number = re.search(r'^version = "(.*)"', contents()["pyproject.toml"].decode(), re.M)
    assert number, "pyproject.toml names a version"
    return f"{number[1]}+{digest(repr(contents()))[:10]}"


def name() -> str:
    """The name of the wheel's file."""
    return f"{PACKAGE}-{version()}-py3-none-any.whl"


def pack(folder: Path) -> Path:
    """Write the wheel into a folder, the only one there, and return its path."""
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.whl"):
        old.unlink()
    noted, path = f"{PACKAGE}-{version()}.dist-info", folder / name()
    with WheelFile(path, "w") as wheel:
        for place, content in contents().items():
            wheel.writestr(f"{PACKAGE}/{place}", content)
        wheel.writestr(
            f"{noted}/METADATA", METADATA.format(name=PACKAGE.replace("_", "-"), version=version())
        )
        wheel.writestr(f"{noted}/WHEEL", TAGS)
    return path


def needed(page: Path) -> list[str]:
    """What a chapter asks for besides, in the versions of the lock."""
    lock = (ROOT / "constraints.txt").read_text(encoding="utf-8")
    locked = dict(re.findall(r"^([\w.-]+)==([^\s;]+)", lock, re.M))
    known = {re.sub(r"[._]", "-", name.lower()): number for name, number in locked.items()}
    packages = [each.removeprefix("package ") for each in dependencies(page, find_book(ROOT))]
    names = sorted({re.sub(r"[._]", "-", each.lower()) for each in packages} & known.keys() - THERE)
    return [f"{each}=={known[each]}" for each in names]


def installing_cell(env: BuildEnvironment, page: str) -> str:
    """The code of the first cell of a chapter's notebook."""
    address = web_address("BOOK_ADDRESS")
    return CELL.format(
        package=PACKAGE,
        folder=FOLDER,
        wheel=name(),
        addresses=[f"{address}/{FOLDER}/{name()}"] if address else [],
        needed=" ".join(needed(Path(env.doc2path(page)))),
    )


def write(app: Sphinx, exception: Exception | None) -> None:
    """Put the wheel beside the pages."""
    if exception is None and app.builder.format == "html":
        pack(Path(app.outdir, FOLDER))


def setup(app: Sphinx) -> None:
    app.connect("build-finished", write)
