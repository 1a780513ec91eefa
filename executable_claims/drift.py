"""The log of the releases: what every claim measured at each, and what moved between two of them.

The log has one line a release.  ``python -m executable_claims.drift claims.json`` appends one, made from what
the build of the book writes beside its pages; nothing is appended if nothing has changed.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import json
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from datetime import UTC, datetime
from importlib import metadata
from math import inf
from pathlib import Path
from typing import Any

from executable_claims.configuration import find_book
from executable_claims.dependencies import without_docstrings
from executable_claims.ledger import read_ledger


@dataclass(frozen=True)
class Measured:
    """What one claim measured: the worst entry, what it was compared with, and the ``tolerance`` there."""

    verdict: str
    measured: float
    predicted: float | None
    at_most: float | None
    at_least: float | None
    tolerance: float

    @property
    def room(self) -> float:
        """How far the measured number is from the nearest limit of what is allowed."""
        inside = [] if self.predicted is None else [-abs(self.measured - self.predicted)]
        inside += [] if self.at_most is None else [self.at_most - self.measured]
        inside += [] if self.at_least is None else [self.measured - self.at_least]
        return min(inside) + self.tolerance

    @property
    def used(self) -> float | None:
        """The part of the tolerance that is used; ``None`` for bounds, and for numbers that must be equal."""
        if self.predicted is None or not self.tolerance:
            return None
        return abs(self.measured - self.predicted) / self.tolerance


@dataclass(frozen=True)
class Release:
    """What was measured at one release, by claim, with the ``digest`` of the book's code and the versions.

    ``listed`` counts the claims of the ledger; those without an entry were not decided.
    """

    date: str
    digest: str
    versions: Mapping[str, str]
    listed: int
    claims: Mapping[str, Measured]


def code_digest(folder: Path | None = None) -> str:
    """Return a digest of the Python code in a folder, the book's own, comments and docstrings aside."""
    folder, digest = folder or find_book().folder("code"), hashlib.sha256()
    for path in sorted(folder.rglob("*.py")):
        tree = without_docstrings(ast.parse(path.read_text(encoding="utf-8")))
        digest.update(f"{path.relative_to(folder).as_posix()} {ast.dump(tree)}\n".encode())
    return digest.hexdigest()[:16]


def release_of(verdicts: Sequence[Mapping[str, Any]], date: str) -> Release:
    """Return the release, on a date, of what :meth:`.verify.Verdict.record` says of each claim.

    Claims that are not decided have nothing that could move; the log leaves them out.
    """
    names = [field.name for field in fields(Measured)][1:]
    claims = {
        one["claim"]["id"]: Measured(one["verdict"], **{name: one["comparison"][name] for name in names})
        for one in verdicts
        if one["comparison"]
    }
    versions = {name: metadata.version(name) for name in find_book().versions}
    versions = {"python": platform.python_version()} | versions
    listed = sum(len(paper.claims) for paper in read_ledger())
    return Release(date, code_digest(), versions, listed, dict(sorted(claims.items())))


def read_releases(path: Path | None = None) -> tuple[Release, ...]:
    """Return the releases in a log, the book's own, the oldest first; none if there is no log."""
    path = path or find_book().folder("log")
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    releases = [json.loads(line) for line in lines]
    return tuple(
        Release(**{**each, "claims": {name: Measured(**one) for name, one in each["claims"].items()}})
        for each in releases
    )


def append_release(release: Release, path: Path) -> bool:
    """Append the release to a log, unless the last one there says the same; return whether it was."""
    known = read_releases(path)
    if known and replace(known[-1], date=release.date) == release:
        return False
    with path.open("a", encoding="utf-8") as log:
        log.write(json.dumps(asdict(release), sort_keys=True, allow_nan=False) + "\n")
    return True


def movement(old: Measured, new: Measured) -> float:
    """Return how far a claim moved: its deviation from the prediction, in units of the old tolerance.

    For bounds it is the change of the room that is left, relative to the old room.  Infinite if what had to
    be equal has moved, or if the kind of comparison has changed.
    """
    kinds = [[bound is None for bound in (one.predicted, one.at_most, one.at_least)] for one in (old, new)]
    if kinds[0] != kinds[1]:
        return inf
    if old.predicted is not None and new.predicted is not None:
        shift, unit = (new.measured - new.predicted) - (old.measured - old.predicted), old.tolerance
    else:
        shift, unit = new.room - old.room, old.room
    return abs(shift) / unit if unit > 0 else inf if shift else 0.0


def movements(old: Release, new: Release) -> dict[str, float]:
    """Return the movement of every claim that both releases decide, the largest first."""
    moved = {name: movement(old.claims[name], one) for name, one in new.claims.items() if name in old.claims}
    return dict(sorted(moved.items(), key=lambda pair: -pair[1]))


def main(arguments: Sequence[str] | None = None) -> None:
    """Append a release made from the file that the build writes, and say so."""
    parser = argparse.ArgumentParser(description="Append a release to the log.")
    parser.add_argument("claims", type=Path, help="claims.json, as the build writes it")
    parser.add_argument("--log", type=Path, default=find_book().folder("log"))
    options = parser.parse_args(arguments)
    verdicts = json.loads(options.claims.read_text(encoding="utf-8"))["claims"]
    release = release_of(verdicts, f"{datetime.now(UTC):%Y-%m-%d}")
    done = "appended" if append_release(release, options.log) else "nothing has changed, nothing appended"
    print(f"{len(release.claims)} of {release.listed} claims decided, code {release.digest}: {done}")


if __name__ == "__main__":
    main()
