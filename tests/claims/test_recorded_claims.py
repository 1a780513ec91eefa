"""A claim rests on a record only if the same check runs, in the tests, at reduced size."""

import ast

import pytest

from tests.book import test_book

NOTEBOOKS = [
    path
    for path in sorted(test_book.BOOK.rglob("*.md"))
    if "format_name: myst" in path.read_text(encoding="utf-8")[:400]
]


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
