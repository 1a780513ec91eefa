"""A claim rests on a record only if the same check runs, in the tests, at reduced size."""

import ast
from dataclasses import replace
from types import SimpleNamespace

import pytest

from executable_claims import ClaimFailed, Clause, Variant
from executable_claims.claims import ledger
from executable_claims.claims.configuration import find_book
from executable_claims.claims.ledger import Claim, Paper
from executable_claims.run.inlining import inlined_statements
from experiments import claims
from tests.book import test_book

NOTEBOOKS = [
    path
    for path in sorted(test_book.BOOK.rglob("*.md"))
    if "format_name: myst" in path.read_text(encoding="utf-8")[:400]
]


# What is seen in a record: runs that show it only at their own size.
SEEN_IN_A_RECORD = {
    *("boursier2022-fig-6", "boursier2022-fig-6-direction", "boursier2022-fig-7b"),
    *("boursier2022-app-a2-exponential", "boursier2022-ours-turns-in-space"),
    *("pezeshki2021-fig-4-blank", "pezeshki2021-fig-4-blank-sd", "pezeshki2021-sec-4-shape"),
    *("pezeshki2021-tab-1-irm", "pezeshki2021-tab-1-rex", "pezeshki2021-ours-decay-alone"),
    *("min2024-sec4-start", "min2024-sec4-rank", "min2024-sec4-loss"),
    *("min2024-sec4-falling", "min2024-ours-digits-clocks", "min2024-sec4-iterations"),
    "sarussi2021-ours-disagreement",
    *("pezeshki2021-ours-kernel-responses", "pezeshki2021-ours-turn-network"),
    *("sarussi2021-small-init", "sarussi2021-ours-census", "sarussi2021-ours-bent-errors"),
    *("min2024-ours-default-geometry", "combes2018-ours-default-adam", "pezeshki2021-ours-default-margins"),
    *("combes2018-fig-5l", "pezeshki2021-fig-2b", "pezeshki2021-sec-2.1-confidence"),
}


def names_in(node):
    """The names that a node reads from outside of it: not what comprehensions and lambdas bind."""
    used = {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}
    for one in ast.walk(node):
        if isinstance(one, ast.comprehension):
            used -= {inner.id for inner in ast.walk(one.target) if isinstance(inner, ast.Name)}
        elif isinstance(one, ast.arg):
            used.discard(one.arg)
    return used


def bound_in(node):
    return {one.id for one in ast.walk(node) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}


def statements_of(path):
    """The statements of a page, and of the modules that are read with it."""
    return [statement.code for statement in inlined_statements(find_book(), path)]


def resting_on_a_record(statements):
    """The claims that plain `verify` decides by what was computed, in any number of steps, from a record."""
    tainted, functions, found = {"recorded", "read_record", "read_records"}, {}, []

    def touches(node):
        names, seen = names_in(node), set()
        while names - seen:
            name = (names - seen).pop()
            seen.add(name)
            names |= functions.get(name, set())
        return bool(names & tainted)

    def follow(statements):
        for one in statements:
            if isinstance(one, ast.FunctionDef):
                functions[one.name] = names_in(one) - bound_in(one)
                continue
            checks = [node for node in ast.walk(one) if isinstance(node, ast.Call)]
            found.extend(
                call.args[0].value for call in checks if names_in(call.func) == {"verify"} and touches(call)
            )
            value = one.iter if isinstance(one, ast.For) else getattr(one, "value", None)
            if value is not None and touches(value):
                tainted.update(bound_in(one))
            elif isinstance(one, ast.Assign):
                tainted.difference_update(bound_in(one))
            follow([*getattr(one, "body", []), *getattr(one, "orelse", [])])

    follow(statements)
    return sorted(set(found))


def test_a_claim_that_rests_on_a_record_alone_is_found():
    through = [
        "record = recorded('a')\nother = 3",
        "def largest():\n    return max(record.values('x'))",
        "for value in [largest()]:\n    total = value + 1",
        "verify('toy-a', measured=total, at_most=1)\nverify('toy-b', measured=other, at_most=1)",
        "verify_recorded('toy-c', check, 'a')",
    ]
    assert resting_on_a_record(ast.parse("\n".join(through)).body) == ["toy-a"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=test_book.name)
def test_no_claim_of_the_book_rests_on_a_record_alone(path):
    alone = set(resting_on_a_record(statements_of(path))) - SEEN_IN_A_RECORD
    assert not alone, "decide it by experiments.claims.verify_recorded"


BASE = Claim("toy-a", "toy", "Theorem 1", "Theorem 1", "identity", "A sentence.", "Statement.", "verified")


@pytest.mark.parametrize(
    ("quick", "full", "failure"),
    [
        ([1, 2], [3, 4], None),
        ([1, 5], [3, 4], r"^at the reduced size: toy-a .* fails: measured 5"),
        ([1, 1], [3, 4], r"^at the reduced size: toy-a .* the control passes"),
        ([1, 2], [3, 5], r"^on the record \(slow\): toy-a .* fails: measured 5"),
        ([1, 2], [1, 1], r"^on the record \(slow\): toy-a .* the control passes"),
    ],
)
def test_a_claim_that_rests_on_a_record_is_checked_at_the_reduced_size_too(monkeypatch, quick, full, failure):
    papers = (Paper("toy", "Title", "Authors", 2020, (BASE,), (), ()),)
    monkeypatch.setattr(ledger, "read_ledger", lambda: papers)
    metrics = {("squares", (5, 6)): quick, ("squares", "slow"): SimpleNamespace(metrics=full)}
    monkeypatch.setattr(claims, "quick", lambda *asked: metrics[asked])
    monkeypatch.setattr(claims, "recorded", lambda *asked: metrics[asked])

    def at_most_4(metrics):
        control = Variant("three times as much", measured=3 * max(metrics))
        return {"measured": max(metrics), "at_most": 4, "because": "they are counts", "control": control}

    def decide():
        return claims.verify_recorded("toy-a", at_most_4, "squares", "slow", seeds=(5, 6))

    if failure:
        with pytest.raises(ClaimFailed, match=failure):
            decide()
    else:
        assert decide().comparison.measured == 4


def test_a_sentence_that_says_several_things_is_decided_by_clauses(monkeypatch):
    several = replace(BASE, statement="It is small, and even.", says=("It is small", "even"))
    papers = (Paper("toy", "Title", "Authors", 2020, (several,), (), ()),)
    monkeypatch.setattr(ledger, "read_ledger", lambda: papers)
    monkeypatch.setattr(claims, "quick", lambda *asked: [4])
    monkeypatch.setattr(claims, "recorded", lambda *asked: SimpleNamespace(metrics=[2]))

    def small_and_even(metrics):
        (count,) = metrics
        small = {"measured": count, "at_most": 4, "control": Variant("twenty more", measured=count + 20)}
        even = {"measured": count % 2, "predicted": 0, "control": Variant("one more", measured=1)}
        return [
            Clause(says, because="a count", **one)
            for says, one in zip(several.says, (small, even), strict=True)
        ]

    verdict = claims.verify_recorded("toy-a", small_and_even, "squares")
    assert [one.clause for one in verdict.clauses] == ["It is small", "even"]


def test_the_list_of_claims_seen_in_a_record_holds_no_other():
    alone = {claim for path in NOTEBOOKS for claim in resting_on_a_record(statements_of(path))}
    assert alone == SEEN_IN_A_RECORD
