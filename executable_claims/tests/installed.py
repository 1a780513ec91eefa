"""The engine as others have it: installed, not linked, and nothing of another book beside it."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

ENGINE = Path(__file__).parents[1]
# Loaded by every Python of the environment: what belongs to another book cannot be imported.
ALONE = """
import sys

class Refused:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("lib", "experiments", "book", "torch"):
            raise ModuleNotFoundError(f"{name} is not part of the engine")

sys.meta_path.insert(0, Refused())
"""


def copy_sources(folder):
    """Copy what the engine is made from."""
    left_out = shutil.ignore_patterns("__pycache__", "*.egg-info", "build")
    shutil.copytree(ENGINE, folder, ignore=left_out)
    shutil.rmtree(folder / "tests")


def install(source, folder):
    """Install a copy of the engine, made in one folder, into another; return the environment's variables."""
    copy_sources(source)
    command = ["-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    subprocess.run([sys.executable, *command, "--target", folder, source], check=True, timeout=280)
    (folder / "sitecustomize.py").write_text(ALONE)
    return {**os.environ, "PYTHONPATH": str(folder), "OMP_NUM_THREADS": "1"}


def run(environment, folder, *command):
    done = subprocess.run(
        [sys.executable, *command], cwd=folder, env=environment, capture_output=True, text=True, timeout=280
    )
    return done.returncode, done.stdout + done.stderr
