"""A claim rests on a record only if the same check runs, in the tests, at reduced size."""

import ast

import pytest

from lib.claims.recorded import verify_recorded
from lib.claims.verify import ClaimFailed, Variant
from lib.experiments import registry
from lib.experiments.records import NoRecord
from tests.book import test_book
from tests.claims.test_claims import TOY
from tests.experiments.test_records import filled, write

NOTEBOOKS = [
    path
    for path in sorted(test_book.BOOK.rglob("*.md"))
    if "format_name: myst" in path.read_text(encoding="utf-8")[:400]
]


def at_most(bound):
    """A check of the largest square."""
    return lambda metrics: {
        "measured": max(one["square"] for one in metrics),
        "at_most": bound,
        "because": "squares are exact",
        "control": Variant("a million more", measured=1e6),
    }


@pytest.fixture
def counting(tmp_path, monkeypatch):
    """A folder with a record of the squares of 0, 1 and 2; the quick squares are a tenth of them."""
    monkeypatch.setenv("COUNTING", str(tmp_path))
    monkeypatch.delenv("BOOK_SEED", raising=False)
    registry.computed.cache_clear()
    write(filled((0, 1, 2)), tmp_path / "records")
    return tmp_path


def decide(folder, check, **changes):
    return verify_recorded("toy-a", check, "counting", folder=folder / "records", ledger=TOY, **changes)


def test_the_verdict_is_that_of_the_record_and_the_reduced_size_has_been_run(counting):
    verdict = decide(counting, at_most(4))
    assert (verdict.verdict, verdict.comparison.measured) == ("verified", 4)
    assert sorted(path.name[0] for path in counting.glob("*.call")) == ["0", "1", "2"]


def test_the_quick_experiment_runs_once_however_many_claims_rest_on_it(counting):
    for bound in (4, 5, 6):
        decide(counting, at_most(bound))
    assert len([*counting.glob("*.call")]) == 3


def test_a_check_that_fails_at_either_size_fails(counting):
    with pytest.raises(ClaimFailed, match=r"^on the record \(full\): toy-a"):
        decide(counting, at_most(1))
    with pytest.raises(ClaimFailed, match=r"^at the reduced size: toy-a"):
        decide(counting, at_most(4), seeds=[9])


def test_a_control_that_passes_at_the_reduced_size_fails(counting):
    def weak(metrics):
        squares = [one["square"] for one in metrics]
        return {**at_most(4)(metrics), "control": Variant("ten times as much", measured=10 * max(squares))}

    with pytest.raises(ClaimFailed, match=r"^at the reduced size: .*the control passes"):
        decide(counting, weak)


def test_what_is_missing_or_wrong_is_named(counting):
    with pytest.raises(NoRecord, match="variant slow"):
        decide(counting, at_most(4), variant="slow")
    for seeds in ([0.5], "012"):
        with pytest.raises(ValueError, match="whole numbers"):
            decide(counting, at_most(4), seeds=seeds)


def names_in(node):
    return {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}


def resting_on_a_record(sources):
    """The claims that plain `verify` decides by what was computed, in any number of steps, from a record."""
    tree = ast.parse("\n".join(sources))
    tainted, size = {"recorded", "read_record", "read_records"}, 0
    while len(tainted) > size:
        size = len(tainted)
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef) and names_in(node) & tainted:
                tainted.add(node.name)
            elif isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign | ast.NamedExpr | ast.For):
                value = node.iter if isinstance(node, ast.For) else node.value
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                if value is not None and names_in(value) & tainted:
                    tainted |= set().union(*map(names_in, targets))
    checks = [
        node for node in ast.walk(tree) if isinstance(node, ast.Call) and names_in(node.func) == {"verify"}
    ]
    return [call.args[0].value for call in checks if names_in(call) & tainted]


def test_a_claim_that_rests_on_a_record_alone_is_found():
    through = [
        "record = recorded('a')\nother = 3",
        "def largest():\n    return max(record.values('x'))",
        "for value in [largest()]:\n    total = value + 1",
        "verify('toy-a', measured=total, at_most=1)\nverify('toy-b', measured=other, at_most=1)",
        "verify_recorded('toy-c', check, 'a')",
    ]
    assert resting_on_a_record(through) == ["toy-a"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=test_book.name)
def test_no_claim_of_the_book_rests_on_a_record_alone(path):
    sources = [cell.source for cell in test_book.code_cells(path)]
    assert resting_on_a_record(sources) == [], "decide it by lib.claims.recorded.verify_recorded"
