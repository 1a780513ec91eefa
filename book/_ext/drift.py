"""The drift log: what every claim measured at each release, and what moved between two of them.

``results/drift.jsonl`` has one line a release.  ``python -m drift claims.json`` appends one, made from
what the build of the book has written beside its pages; nothing is appended if nothing has changed.
"""

from __future__ import annotations

import argparse
import ast
import dataclasses
import hashlib
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from lib.claims.ledger import read_ledger
from lib.experiments.records import versions

ROOT = Path(__file__).resolve().parents[2]
LOG = ROOT / "results" / "drift.jsonl"


@dataclass(frozen=True)
class Measured:
    """What one claim measured: the worst entry, what it was compared with, and the ``tolerance`` there.

    Example:

    >>> close = Measured("verified", measured=1.75, predicted=2.0, at_most=None, at_least=None, tolerance=0.5)
    >>> close.room, close.used
    (0.25, 0.5)
    """

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
    """What was measured at one release, by claim, with the ``digest`` of the code of lib and the versions.

    ``listed`` counts the claims of the ledger; those without an entry were not decided.

    Example:

    >>> Release("2026-01-31", "0123456789abcdef", {"python": "3.13.1"}, 2, {}).listed
    2
    """

    date: str
    digest: str
    versions: Mapping[str, str]
    listed: int
    claims: Mapping[str, Measured]

    def state(self) -> str:
        """All but the date, as text."""
        return json.dumps({**dataclasses.asdict(self), "date": ""}, sort_keys=True)


def code_digest() -> str:
    """Return the digest of the code of all of lib, comments and docstrings aside.

    Example:

    >>> len(code_digest())
    16
    """
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    found = hashlib.sha256()
    for path in sorted((ROOT / "lib").rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, documented) and ast.get_docstring(node) is not None:
                del node.body[0]
        found.update(f"{path.relative_to(ROOT).as_posix()} {ast.dump(tree)}".encode())
    return found.hexdigest()[:16]


def release_of(verdicts: Sequence[Mapping[str, Any]], date: str) -> Release:
    """Return the release of what :meth:`lib.claims.verify.Verdict.record` says of each claim, on a date.

    Raises ``ValueError`` for no verdicts, and for what are none.

    Example:

    >>> from lib.claims.verify import Variant, verify
    >>> verdict = verify("combes2018-tab-1", measured=90.9, predicted=91, atol=0.5, because="rounded",
    ...                  control=Variant("half of it", measured=45.4))
    >>> release_of([verdict.record()], "2026-01-31").claims["combes2018-tab-1"].measured
    90.9
    """
    names = [field.name for field in dataclasses.fields(Measured)][1:]
    try:
        claims = {
            one["claim"]["id"]: Measured(one["verdict"], **{name: one["comparison"][name] for name in names})
            for one in verdicts
        }
    except (TypeError, KeyError) as error:
        raise ValueError(f"verdicts is no list of records of verdicts: {error!r}") from None
    if not claims:
        raise ValueError("verdicts is empty, allowed: at least one record of a verdict")
    listed = sum(len(paper.claims) for paper in read_ledger())
    return Release(date, code_digest(), versions(), listed, dict(sorted(claims.items())))


def read_releases(path: Path = LOG) -> tuple[Release, ...]:
    """Return the releases in the log, the oldest first; none if there is no log.

    Raises ``ValueError`` that names the ``path`` and the line that is no release.

    Example:

    >>> read_releases(Path("no-such-file.jsonl"))
    ()
    """
    path = Path(path)
    releases = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines() if path.exists() else [], 1):
        try:
            content = json.loads(line)
            claims = {name: Measured(**one) for name, one in content.pop("claims").items()}
            releases.append(Release(**content, claims=claims))
        except (json.JSONDecodeError, TypeError, KeyError, AttributeError) as error:
            raise ValueError(f"path {path}: line {number} is no release: {error}") from None
    return tuple(releases)


def append_release(release: Release, path: Path = LOG) -> bool:
    """Append the release to the log, unless the last one there says the same; return whether it was appended.

    Raises ``ValueError`` for what is no release or cannot be written as JSON, and if the log is damaged.

    Example:

    >>> import tempfile
    >>> release = Release("2026-01-31", "0123456789abcdef", {"python": "3.13.1"}, 2, {})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     log = Path(folder, "drift.jsonl")
    ...     appended = append_release(release, log), append_release(release, log)
    >>> appended
    (True, False)
    """
    if not isinstance(release, Release):
        raise ValueError(f"release is {release!r}, allowed: a Release")
    line = json.dumps(dataclasses.asdict(release), allow_nan=False, ensure_ascii=False, sort_keys=True)
    known = read_releases(path)
    if known and known[-1].state() == release.state():
        return False
    with Path(path).open("a", encoding="utf-8") as log:
        log.write(line + "\n")
    return True


def movement(old: Measured, new: Measured) -> float:
    """Return how far a claim moved: its deviation from the prediction, in units of the old tolerance.

    For bounds it is the change of the room that is left, relative to the old room.  Infinite if what had to
    be equal has moved, or if the kind of comparison has changed.  Raises ``ValueError`` for anything else.

    Example:

    >>> old = Measured("verified", 1.75, predicted=2.0, at_most=None, at_least=None, tolerance=0.5)
    >>> movement(old, dataclasses.replace(old, measured=2.125))
    0.75
    """
    for name, one in (("old", old), ("new", new)):
        if not isinstance(one, Measured):
            raise ValueError(f"{name} is {one!r}, allowed: a Measured")
    if _kind(old) != _kind(new):
        return float("inf")
    if old.predicted is not None and new.predicted is not None:
        shift, unit = (new.measured - new.predicted) - (old.measured - old.predicted), old.tolerance
    else:
        shift, unit = new.room - old.room, old.room
    return abs(shift) / unit if unit > 0 else float("inf") if shift else 0.0


def _kind(one: Measured) -> tuple[bool, ...]:
    return tuple(target is not None for target in (one.predicted, one.at_most, one.at_least))


def movements(old: Release, new: Release) -> dict[str, float]:
    """Return the movement of every claim that both releases decide, the largest first.

    Raises ``ValueError`` for what are no releases.

    Example:

    >>> one = Measured("verified", 1.75, predicted=2.0, at_most=None, at_least=None, tolerance=0.5)
    >>> old = Release("2026-01-31", "0123456789abcdef", {}, 1, {"toy-1": one})
    >>> movements(old, old)
    {'toy-1': 0.0}
    """
    for name, release in (("old", old), ("new", new)):
        if not isinstance(release, Release):
            raise ValueError(f"{name} is {release!r}, allowed: a Release")
    moved = {name: movement(old.claims[name], one) for name, one in new.claims.items() if name in old.claims}
    return dict(sorted(moved.items(), key=lambda pair: -pair[1]))


def main(arguments: Sequence[str] | None = None) -> int:
    """Append a release made from the file that the build writes; return the exit status.

    The status is 0, also if nothing has changed, and 2 for a file that holds no verdicts.

    Example:

    >>> main(["no-such-file.json"])
    2
    """
    parser = argparse.ArgumentParser(prog="python -m drift", description="Append a release to the log.")
    parser.add_argument("claims", type=Path, help="claims.json, as the build writes it")
    parser.add_argument("--log", type=Path, default=LOG)
    options = parser.parse_args(arguments)
    try:
        verdicts = json.loads(options.claims.read_text(encoding="utf-8"))
        release = release_of(verdicts, f"{datetime.now(UTC):%Y-%m-%d}")
        appended = append_release(release, options.log)
    except (OSError, ValueError) as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 2
    done = "appended" if appended else "unchanged since the last release, nothing appended"
    print(f"{len(release.claims)} of {release.listed} claims decided, code {release.digest}: {done}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
