"""The records that the claims of a chapter rest on, read off its code."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from executable_claims.claims.configuration import find_book
from executable_claims.run.inlining import inlined_statements
from experiments.records import RECORDS, Record, recorded
from experiments.registry import EXPERIMENTS

READERS = ("recorded", "verify_recorded")


def remade(record: Record) -> str:
    """The command that makes a record anew, in a folder of its own, with the time that it took."""
    variant = f" --variant {record.variant}" * (record.variant != "full")
    seconds = sum(run["compute_s"] for run in record.runs)
    took = f"{seconds / 3600:.1f} hours" if seconds > 5400 else f"{max(1, round(seconds / 60))} minutes"
    run = f"run {record.name}{variant} --seeds {max(record.seeds) + 1}"
    return f".venv/bin/python -m experiments --records _build/anew {run}  # {took} of a core"


def _calls_in(node: ast.AST, *names: str) -> list[ast.Call]:
    """The calls of functions whose names begin so."""
    calls = (child for child in ast.walk(node) if isinstance(child, ast.Call))
    return [call for call in calls if getattr(call.func, "id", "").startswith(names)]


def _pairs_of(statement: ast.stmt) -> Iterator[tuple[ast.AST, ast.AST]]:
    """What a statement binds, and what to, one by one where it says so."""
    value = getattr(statement, "value", None)
    for target in getattr(statement, "targets", [statement]):
        parts, values = getattr(target, "elts", [target]), getattr(value, "elts", [])
        yield from zip(
            parts, values if len(parts) == len(values) else [value or statement] * len(parts), strict=True
        )


@cache
def records_behind(page: Path) -> dict[str, tuple[str, ...]]:
    """The commands for the records that each claim of a page rests on, through any number of names."""
    texts: dict[str, str] = {}
    behind: dict[str, set[str]] = {}  # of each name, the commands for what it was computed from
    of_claims: dict[str, set[str]] = {}

    def said(call: ast.Call) -> list[str | None]:
        """The texts among the arguments, also those that a name stands for; ``None`` for what is no text."""
        return [getattr(node, "value", None) or texts.get(getattr(node, "id", "")) for node in call.args]

    def rests_on(node: ast.AST) -> set[str]:
        names = {child.id for child in ast.walk(node) if isinstance(child, ast.Name)}
        records = set().union(*(behind.get(name, set()) for name in names))
        for call in _calls_in(node, *READERS):
            for name, variant in zip(said(call), [*said(call)[1:], "full"], strict=True):
                if name in EXPERIMENTS:
                    known = {path.stem for path in (RECORDS / name).glob("*.json")}
                    records |= {remade(recorded(name, each)) for each in known & {variant} or known}
        return records

    for statement in (read.code for read in inlined_statements(find_book(), page)):
        for call in _calls_in(statement, "verify"):
            if call.args and isinstance(claim := said(call)[0], str):
                of_claims.setdefault(claim, set()).update(rests_on(call))
        if isinstance(statement, ast.FunctionDef):
            behind[statement.name] = rests_on(statement)
            continue
        for target, value in _pairs_of(statement):
            records = rests_on(value)
            stored = (name for name in ast.walk(target) if isinstance(getattr(name, "ctx", None), ast.Store))
            behind |= {name.id: records for name in stored if isinstance(name, ast.Name)}
            if isinstance(target, ast.Name) and isinstance(value, ast.Constant):
                texts[target.id] = str(value.value)
    return {claim: tuple(sorted(commands)) for claim, commands in of_claims.items()}
