"""Fixtures of the engine's tests: a copy of the demo book to be in."""

import os
import shutil
from pathlib import Path

import pytest
from hypothesis import settings
from installed import install

DEMO = Path(__file__).parent / "demo"

# The same examples in every run, and none fails because the machine is busy.
settings.register_profile("engine", derandomize=True, deadline=None)
settings.load_profile("engine")


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    """An environment in which the engine is installed, not linked, and the rest of a book is not."""
    return install(
        tmp_path_factory.mktemp("source") / "executable_claims", tmp_path_factory.mktemp("installed")
    )


@pytest.fixture
def demo(tmp_path, monkeypatch):
    """A copy of the demo book, as the current folder."""
    folder = tmp_path / "demo"
    shutil.copytree(DEMO, folder, ignore=shutil.ignore_patterns("_build", "__pycache__"))
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture(scope="module")
def in_demo():
    """The demo book is the current one; nothing is written there."""
    before = os.getcwd()
    os.chdir(DEMO)
    yield
    os.chdir(before)
