"""Chapters run as other generations of processors would, and how far each claim moves is noted once."""

import json
from math import inf

import pytest

from executable_claims.claims.configuration import find_book
from executable_claims.run import kernels
from executable_claims.run.kernels import GENERATIONS, compute_as_others, largest_movements, moves
from executable_claims.run.results import read_results

NAME = "logistic_map/two_cycle"
KNOWN = ["X86_V3", "X86_V4", "AVX512_ICL"]


@pytest.fixture
def page(demo):
    return demo / "book" / f"{NAME}.md"


def test_only_what_a_processor_has_is_switched_off_and_what_it_needs_is_left():
    oldest, newest = GENERATIONS["SSE4"], GENERATIONS["AVX-512"]
    assert oldest.variables(KNOWN, {})["NPY_DISABLE_CPU_FEATURES"] == ",".join(KNOWN)
    assert GENERATIONS["AVX2"].variables(KNOWN, {})["NPY_DISABLE_CPU_FEATURES"] == "X86_V4,AVX512_ICL"
    assert newest.variables(KNOWN, {})["NPY_DISABLE_CPU_FEATURES"] == ""
    assert oldest.variables(KNOWN, {})["OPENBLAS_CORETYPE"] == "Nehalem"
    for name in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE"):
        assert "OPENBLAS_CORETYPE" not in oldest.variables(KNOWN, {name: "needed"})


def test_the_generation_of_the_record_is_not_run(page, monkeypatch):
    monkeypatch.setattr(kernels, "features", lambda: ["X86_V3"])
    monkeypatch.setattr(kernels, "moves", lambda *given: {"may1976-two-cycle": 0.01})
    book = find_book(page.parent)
    record = book.folder("recorded") / f"{NAME}.json"
    known = json.loads(record.read_text()) | {"kernels": {"numpy": "X86_V3", "openblas": "Haswell"}}
    record.write_text(json.dumps(known))
    compute_as_others(book, NAME, page)
    ran = read_results(book.folder("kernels"))[NAME]["ran"]
    assert ran == {"SSE4": {"may1976-two-cycle": 0.01}, "AVX2": {}}


@pytest.mark.parametrize(
    ("features", "names"),
    [
        (KNOWN, ["SSE4", "AVX2", "AVX-512"]),
        (["AVX2", "FMA3"], ["SSE4", "AVX2"]),
        (["NEON", "ASIMD"], []),
    ],
)
def test_a_processor_computes_as_the_generations_before_it(monkeypatch, features, names):
    monkeypatch.setattr(kernels, "features", lambda: features)
    assert [*kernels.possible()] == names


def test_what_moves_is_noted_in_units_of_its_tolerance_and_a_failure_is_an_error(page, monkeypatch):
    monkeypatch.setattr(kernels.os, "environ", dict(kernels.os.environ))
    book = find_book(page.parent)
    record = book.folder("recorded") / f"{NAME}.json"
    known = json.loads(record.read_text())
    for claim, apart in (("may1976-two-cycle", 0.3), ("may1976-fixed-point", 0.0)):
        entry = known["claims"][claim]
        entry["quartiles"] = [x + apart * entry["tolerance"] for x in entry["quartiles"]]
    record.write_text(json.dumps(known))
    moved = moves(book, page, {})
    assert moved["may1976-two-cycle"] == pytest.approx(0.3, rel=0.1)
    assert moved.get("may1976-fixed-point", 0.0) < 0.1
    page.write_text(page.read_text().replace("edge = 1 +", "edge = 1.01 +"))
    assert moves(book, page, {})["error"].startswith("ClaimFailed: may1976-two-cycle ")


def test_a_generation_runs_once_and_the_largest_movement_counts(page, monkeypatch):
    movements = iter([{"may1976-two-cycle": 0.2}, {"may1976-two-cycle": 0.01, "may1976-fixed-point": None}])
    monkeypatch.setattr(kernels, "features", lambda: ["X86_V3"])
    monkeypatch.setattr(kernels, "moves", lambda *given: next(movements))
    book = find_book(page.parent)
    for _ in range(2):
        assert "may1976-fixed-point moves by inf" in compute_as_others(book, NAME, page)
    assert [*read_results(book.folder("kernels"))[NAME]["ran"]] == ["SSE4", "AVX2"]
    assert largest_movements(book) == {"may1976-two-cycle": 0.2, "may1976-fixed-point": inf}


def test_a_check_that_fails_as_another_processor_is_said(page, monkeypatch):
    monkeypatch.setattr(kernels, "features", lambda: ["X86_V3"])
    monkeypatch.setattr(kernels, "moves", lambda *given: {"error": "ClaimFailed: no"})
    with pytest.raises(ValueError, match="SSE4: ClaimFailed: no; AVX2: "):
        compute_as_others(find_book(page.parent), NAME, page)
