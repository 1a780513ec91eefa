"""How far what the claims measured has moved: from the record, in a test, and between two releases, in a log.

A verdict says that numbers are within a tolerance; a bug that moves them inside it changes no text.  So what
the claims measured at ``BOOK_SEED`` 0 is recorded.  Which entry is the worst is chance when all errors are
rounding, so two things are compared that do not depend on it: the worst deviation in units of its tolerance,
and five order statistics of the entries (of a single number, the number).  Against the record they may move

* for a prediction, by a tenth of the tolerance;
* for bounds, which mostly have none, by a tenth of the distance to the bound, and the order statistics by no
  more than a tenth of themselves: under a generous bound a small number could otherwise grow manyfold;
* in any case by rounding.  Counts and what else is compared without a tolerance may not move beyond that.

A resolution may at most double.  The log has one line a release; ``python -m executable_claims.drift
claims.json`` appends one, made from what a build writes beside the pages, unless nothing has changed.
"""

from __future__ import annotations

import argparse
import ast
import json
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from datetime import UTC, datetime
from importlib import metadata
from math import inf
from pathlib import Path
from typing import Any

from executable_claims.comparison import MISSED, targets_of
from executable_claims.configuration import find_book
from executable_claims.dependencies import code_of, digest
from executable_claims.ledger import read_ledger

SHARE = 0.1
ROUNDING = 1e-12


@dataclass(frozen=True)
class Measured:
    """What one claim measured: the worst entry, what it was compared with, and the ``tolerance`` there."""

    verdict: str
    measured: float
    predicted: float | None
    at_most: float | None
    at_least: float | None
    tolerance: float

    def distance(self, value: float) -> float:
        """How far a number is from the prediction, or from the nearer bound."""
        return min(abs(value - target) for target in targets_of(vars(self)).values())

    @property
    def used(self) -> float | None:
        """The part of the tolerance that is used; ``None`` for bounds, and for numbers that must be equal."""
        if self.predicted is None or not self.tolerance:
            return None
        return self.distance(self.measured) / self.tolerance


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


def measured(verdict: str, values: Mapping[str, Any]) -> Measured:
    """Return what stands of one claim in a comparison, or in what is recorded of one."""
    return Measured(verdict, *(values.get(field.name) for field in fields(Measured)[1:]))  # type: ignore[arg-type]


def movement(old: Measured, new: Measured) -> float:
    """Return how far a claim moved: its deviation from the prediction, in units of the old tolerance.

    For bounds it is the change of the distance to the bound, relative to the old one or the tolerance.
    Infinite if what had to be equal has moved, or if the kind of comparison has changed.
    """
    if set(targets_of(vars(old))) != set(targets_of(vars(new))):
        return inf
    before = old.distance(old.measured)
    shift = abs(new.distance(new.measured) - before)
    unit = max(old.tolerance, before) if old.predicted is None else old.tolerance
    return shift / unit if unit else inf if shift else 0.0


def movements(old: Release, new: Release) -> dict[str, float]:
    """Return the movement of every claim that both releases decide, the largest first."""
    moved = {name: movement(old.claims[name], one) for name, one in new.claims.items() if name in old.claims}
    return dict(sorted(moved.items(), key=lambda pair: -pair[1]))


# Against the record


def values(record: Mapping[str, Any]) -> dict[str, Any]:
    """What is recorded of a verdict: the claim, its tolerances, the worst entry and the order statistics."""
    comparison = record["comparison"]
    kept = ("measured", *MISSED, "tolerance")
    worst = {name: comparison[name] for name in kept if comparison[name] is not None}
    others = {name: record[name] for name in ("rtol", "atol", "resolution")}
    return {"claim": record["claim"]["id"], **worst, **others, "quartiles": [*comparison["quartiles"]]}


def rounding(value: float) -> float:
    """How far a number, or a sum of numbers of order one, may be off by rounding."""
    return ROUNDING * max(1.0, abs(value))


def moved(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """In words, what has moved too far between two records of one claim."""
    old, new = measured("", before), measured("", now)
    if (old.predicted is None) != (new.predicted is None):
        return [f"{before['claim']}: a prediction became a bound, or a bound a prediction"]
    found = []
    for one, other in dict.fromkeys(zip(before["quartiles"], now["quartiles"], strict=True)):
        tolerance = before["atol"] + before["rtol"] * abs(one)
        if old.predicted is None:
            tolerance = max(tolerance, min(abs(one), old.distance(one)))
        if abs(other - one) > (may := max(SHARE * tolerance, rounding(one))):
            found.append(f"{one:.10g} became {other:.10g}, which may move by {may:.2g}")
    first, last = old.distance(old.measured), new.distance(new.measured)
    before_used, used = old.used, new.used  # of entries that may have other tolerances
    by = movement(old, new) if before_used is None or used is None else abs(used - before_used)
    if abs(last - first) > rounding(old.measured) and by > SHARE:
        found.append(f"the worst deviation moved by {by:.2g} of its tolerance, and may by {SHARE}")
    resolution, coarser = before["resolution"], now["resolution"]
    if resolution is not None and (coarser is None or coarser > 2 * resolution + ROUNDING):
        found.append(
            f"the resolution {resolution:.2g} became {coarser and f'{coarser:.2g}'}, which may double"
        )
    return [f"{before['claim']}: {text}" for text in found]


# The log


def code_digest(folder: Path | None = None) -> str:
    """Return a digest of the Python code in a folder, the book's own, comments and docstrings aside."""
    folder = folder or find_book().folder("code")
    modules = {path: code_of(path.read_text(encoding="utf-8")) for path in sorted(folder.rglob("*.py"))}
    code = (f"{path.relative_to(folder).as_posix()} {ast.dump(tree)}\n" for path, tree in modules.items())
    return digest("".join(code))[:16]


def release_of(verdicts: Sequence[Mapping[str, Any]], date: str) -> Release:
    """Return the release, on a date, of what :meth:`.verify.Verdict.record` says of each claim.

    Claims that are not decided have nothing that could move; the log leaves them out.
    """
    decided = {one["claim"]["id"]: one for one in verdicts if one["comparison"]}
    claims = {name: measured(one["verdict"], one["comparison"]) for name, one in sorted(decided.items())}
    versions = {name: metadata.version(name) for name in find_book().versions}
    listed = sum(len(paper.claims) for paper in read_ledger())
    return Release(date, code_digest(), {"python": platform.python_version(), **versions}, listed, claims)


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
