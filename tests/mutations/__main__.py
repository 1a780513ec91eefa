"""Seeded bugs: each is put into a scratch copy of the project, and a test or a claim must notice it.

``python -m tests.mutations`` runs all, ``python -m tests.mutations T01 F07`` some; ``--jobs 2`` runs two at a
time.  The bugs stand in ``bugs.yml``: the line that is changed, what it becomes, and the tests that are run.
The exit status is 1 if a bug survives or could not be tried, which is told and stops no other.
"""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from tempfile import TemporaryDirectory

import yaml

ROOT = Path(__file__).resolve().parents[2]
BUGS = Path(__file__).with_name("bugs.yml")
LIMIT = 900  # seconds; a bug that makes its tests hang is noticed as well


@dataclass(frozen=True)
class Bug:
    """One wrong line: in ``file``, ``line`` becomes ``wrong``; ``tests`` are pytest's arguments."""

    id: str
    what: str
    file: str
    line: str
    wrong: str
    tests: tuple[str, ...]

    def applied(self, source: str) -> str:
        """Return the source with the bug; ``ValueError`` unless the line stands there exactly once."""
        if (count := source.count(self.line)) != 1:
            raise ValueError(f"{self.id}: {self.file} holds its line {count} times, allowed: once")
        return source.replace(self.line, self.wrong)


def read_bugs(path: Path = BUGS) -> list[Bug]:
    """Return the bugs of the list, in its order."""
    listed = yaml.safe_load(path.read_text(encoding="utf-8"))
    return [Bug(**{**fields, "tests": tuple(shlex.split(fields["tests"]))}) for fields in listed]


def survives(bug: Bug, copy: Path) -> bool:
    """Say whether the tests of a bug pass in a copy of the project that holds it."""
    path = copy / bug.file
    source = path.read_text(encoding="utf-8")
    path.write_text(bug.applied(source), encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-W", "error", *bug.tests]
    environment = {**os.environ, "PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        done = subprocess.run(command, cwd=copy, env=environment, capture_output=True, timeout=LIMIT)
    except subprocess.TimeoutExpired:
        return False
    finally:
        path.write_text(source, encoding="utf-8")
    last = done.stdout.decode().strip().rpartition("\n")[2]
    # Passed, a test failed, or one could not be collected; without pytest's own word it has not run at all.
    if done.returncode and not (done.returncode in (1, 2) and ("failed" in last or "error" in last)):
        told = (done.stdout + done.stderr).decode()[-2000:]
        raise RuntimeError(f"{bug.id}: pytest ended with {done.returncode}\n{told}")
    return done.returncode == 0


@contextmanager
def copies(count: int) -> Iterator[SimpleQueue[Path]]:
    """Give a queue of scratch copies of the files that git knows."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
    files = [name for name in listed.decode().split("\0") if name and (ROOT / name).is_file()]
    with TemporaryDirectory(prefix="mutations-") as folder:
        queue: SimpleQueue[Path] = SimpleQueue()
        for k in range(count):
            copy = Path(folder, str(k))
            for name in files:
                (copy / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, copy / name)
            queue.put(copy)
        yield queue


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutations", description=__doc__.splitlines()[0])
    parser.add_argument("ids", nargs="*", help="the bugs to try, all by default")
    parser.add_argument("--jobs", type=int, default=1, help="how many at a time")
    options = parser.parse_args(arguments)
    bugs = [bug for bug in read_bugs() if not options.ids or bug.id in options.ids]
    if unknown := set(options.ids) - {bug.id for bug in bugs}:
        parser.error(f"unknown bugs: {', '.join(sorted(unknown))}")
    with copies(options.jobs) as free, ThreadPoolExecutor(options.jobs) as pool:

        def fate(bug: Bug) -> str:
            copy, started, told = free.get(), time.monotonic(), ""
            try:
                fate = "SURVIVED" if survives(bug, copy) else "noticed"
            except (OSError, RuntimeError, ValueError) as error:
                fate, told = "BROKEN", f"\n{error}"
            finally:
                free.put(copy)
            seconds = time.monotonic() - started
            print(f"{fate:8} {bug.id} {seconds:5.0f} s  {bug.file}: {bug.what}{told}", flush=True)
            return fate

        fates = dict(zip([bug.id for bug in bugs], pool.map(fate, bugs), strict=True))
    others = [f"{id} {fate}" for id, fate in fates.items() if fate != "noticed"]
    print(f"{len(bugs) - len(others)} of {len(bugs)} seeded bugs noticed", *others, sep="; ")
    return 1 if others else 0


if __name__ == "__main__":
    sys.exit(main())
