"""Runs the chapters with the kernels of other generations of processors: how far do their numbers move?

``python -m executable_claims.run.kernels [part/name ...] [--jobs N]`` runs every chapter once for each
generation that this processor can compute as, and notes for each claim how far what it measured is from the
record, in units of its tolerance (see ``drift``).  NumPy, OpenBLAS, PyTorch, MKL and oneDNN choose their
kernels by environment variables, which they read when they are loaded: each run has a process of its own.
Where the environment tells OpenBLAS already how to compute, the processor needs it, and the other libraries
vary alone.  What was run of a chapter whose code, and what it reaches, is the same is not run again; nor is
the generation of the record.
"""

from __future__ import annotations

import os
from argparse import ArgumentParser
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from importlib import import_module
from math import isfinite
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import executable_claims
from executable_claims.claims.configuration import Book
from executable_claims.claims.processor import features
from executable_claims.run.drift import movement, values
from executable_claims.run.recorded import read_record, record_path
from executable_claims.run.results import change_result, code_key, read_results, run_chapters
from executable_claims.run.script import enter, execute, read_statements

OPENBLAS = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")  # where they are set, the processor needs them
NUMPY = "NPY_DISABLE_CPU_FEATURES"


@dataclass(frozen=True)
class Generation:
    """The kernels of a generation of processors.

    NumPy's names of the features that it ``needs``, one of which suffices, how those ``above`` it begin, and
    the variables of the other libraries.
    """

    needs: tuple[str, ...]
    above: tuple[str, ...]
    openblas: str
    torch: str
    mkl: str
    onednn: str

    def without(self, known: Sequence[str]) -> list[str]:
        """Which of a processor's features it has not, of those that NumPy lists."""
        return [feature for feature in known if feature.startswith(self.above)]

    def is_of(self, kernels: Mapping[str, str], known: Sequence[str]) -> bool:
        """Whether a record on these kernels is of this generation, as this processor computes as it."""
        left = " ".join(feature for feature in known if feature not in self.without(known)) or "baseline"
        return (kernels.get("numpy"), kernels.get("openblas")) == (left, self.openblas)

    def variables(self, known: Sequence[str], environment: Mapping[str, str]) -> dict[str, str]:
        """The variables to set for a processor with these features; OpenBLAS' only if it has none yet."""
        # NumPy refuses to start without a feature that the processor lacks anyway.
        without = ",".join(self.without(known))
        own = {"ATEN_CPU_CAPABILITY": self.torch, "MKL_CBWR": self.mkl, "ONEDNN_MAX_CPU_ISA": self.onednn}
        blas = {} if set(OPENBLAS) & set(environment) else {"OPENBLAS_CORETYPE": self.openblas}
        return {NUMPY: without, **own, **blas}


AVX512 = ("AVX512", "X86_V4")
AVX2 = ("AVX2", "X86_V3")
GENERATIONS = {
    # Everything that is not part of NumPy's baseline.
    "SSE4": Generation((), ("",), "Nehalem", "default", "COMPATIBLE", "SSE41"),
    "AVX2": Generation(AVX2, AVX512, "Haswell", "avx2", "AVX2", "AVX2"),
    "AVX-512": Generation(AVX512, (), "SkylakeX", "avx512", "AVX512", "AVX512_CORE"),
}


def possible() -> dict[str, Generation]:
    """The generations that this processor can compute as; none if it is of another family."""
    known = features()
    if not any(feature.startswith(("X86", "AVX", "SSE")) for feature in known):
        return {}
    return {
        name: generation
        for name, generation in GENERATIONS.items()
        if not generation.needs or any(feature.startswith(generation.needs) for feature in known)
    }


def noting(verify: Callable, records: list[dict]) -> Callable:
    """Return a ``verify`` that notes the records of its verdicts."""

    def noted(*given: Any, **named: Any) -> Any:
        verdict = verify(*given, **named)
        records.append(verdict.record())
        return verdict

    return noted


def measured(book: Book, page: Path) -> dict[str, dict]:
    """Return by claim what a chapter, run in this process, measures; raises what a check raises."""
    records: list[dict] = []
    home = import_module("executable_claims.claims.verify")
    executable_claims.verify = home.verify = noting(home.verify, records)  # type: ignore[attr-defined]
    variables = enter(book, page)
    execute((statement.code for statement in read_statements(page)), variables)
    return {record["claim"]["id"]: values(record) for record in records}


def moves(book: Book, page: Path, variables: Mapping[str, str]) -> dict[str, Any]:
    """Return how far each claim of a chapter moves with these variables, or the error that comes up."""
    os.environ |= variables
    known = read_record(record_path(book, page))["claims"]
    try:
        with ProcessPoolExecutor(1, get_context("spawn")) as pool:
            now = pool.submit(measured, book, page).result()
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"[:300]}
    moved = {claim: movement(known[claim], now[claim]).by for claim in now if claim in known}
    return {claim: float(f"{by:.2g}") if isfinite(by) else None for claim, by in moved.items() if by}


def runs_of(entry: Mapping[str, Any], key: str) -> dict[str, dict]:
    """What was found of a chapter whose code has that key, by generation."""
    return entry["ran"] if entry.get("key") == key else {}


def with_generation(entry: dict, key: str, name: str, moved: dict) -> dict:
    """An entry to which a generation is added; what was found of other code is dropped."""
    return {"key": key, "ran": {**runs_of(entry, key), name: moved}}


def largest_movements(book: Book) -> dict[str, float]:
    """Return by claim of the book the largest movement that has been seen, of those that moved."""
    entries = read_results(book.folder("kernels")).values()
    return {claim: by for entry in entries for claim, by in largest(entry["ran"]).items()}


def largest(ran: Mapping[str, Mapping[str, Any]]) -> dict[str, float]:
    """Return by claim the largest movement under all generations; infinite where equal numbers moved."""
    by: dict[str, float] = {}
    for moved in ran.values():
        for claim, units in moved.items():
            if claim != "error":
                by[claim] = max(by.get(claim, 0.0), float("inf") if units is None else units)
    return by


def compute_as_others(book: Book, name: str, page: Path) -> str:
    """Run a chapter as the generations that it was not run as; ``ValueError`` if a check fails."""
    path, key, known = book.folder("kernels"), code_key(book, page), features()
    ran, before = runs_of(read_results(path).get(name, {}), key), dict(os.environ)
    for generation, kind in possible().items():
        if generation not in ran:
            recorded = read_record(record_path(book, page))["kernels"]
            moved = {} if kind.is_of(recorded, known) else moves(book, page, kind.variables(known, before))
            change_result(path, name, with_generation, key, generation, moved)
    ran = runs_of(read_results(path).get(name, {}), key)
    if errors := [f"{generation}: {moved['error']}" for generation, moved in ran.items() if "error" in moved]:
        raise ValueError("; ".join(errors))
    by = largest(ran)
    worst = max(by, key=by.__getitem__, default="")
    return f"{name}: " + (f"{worst} moves by {by[worst]:.2g} of its tolerance" if worst else "nothing moves")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the chapters named, or all, and exit with 1 if a check fails."""
    description = "Run the chapters with the kernels of other generations of processors."
    run_chapters(compute_as_others, "kernels", ArgumentParser(description=description), arguments)


if __name__ == "__main__":
    main()
